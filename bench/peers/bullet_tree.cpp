// bullet_tree: a mechanism as btMultiBody of Bullet (libbullet-dev, double precision): Featherstone's
// articulated bodies, one for all that is tied to the ground and one for each tree that floats. Links
// stand in their principal axes. A joint that closes a loop is a point-to-point constraint, a hinge two
// of them along its axis; these, contacts and motors are solved by sweeps, over islands of what can
// collide: so links of a mechanism with loops or motors have an empty shape. It has no springs: they
// are torques before each step. Damping, sleeping and the bound on speeds are off.
//     integrator  0: its semi-implicit Euler, 1: its RK4
extern "C" {
#include "peer.h"
}

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointMotor.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <BulletDynamics/Featherstone/btMultiBodyPoint2Point.h>
#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <memory>
#include <vector>

namespace
{

/// Where a body is found: a tree, and a link of it; -1: its base.
struct spot {
    int tree = 0, link = -1;
};

struct tree_world {
    const peer_plain*               p;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher           dispatcher{&configuration};
    btDbvtBroadphase                broadphase;
    btMultiBodyConstraintSolver     solver;
    btMultiBodyDynamicsWorld        world{&dispatcher, &broadphase, &solver, &configuration};
    std::vector<std::unique_ptr<btMultiBody>>           trees; ///< the first is tied to the ground
    std::vector<spot>                                   spots; ///< by body
    std::vector<std::unique_ptr<btCollisionShape>>      shapes;
    std::vector<std::unique_ptr<btCollisionObject>>     colliders;
    std::vector<std::unique_ptr<btMultiBodyConstraint>> ties;
    btAlignedObjectArray<btScalar>                      scratch_r;
    btAlignedObjectArray<btVector3>                     scratch_v;
    btAlignedObjectArray<btMatrix3x3>                   scratch_m;

    ~tree_world()
    {
        for (auto& tie : ties) world.removeMultiBodyConstraint(tie.get());
        for (auto& collider : colliders)
            if (collider) world.removeCollisionObject(collider.get());
        for (auto& tree : trees) world.removeMultiBody(tree.get());
    }
};

btVector3 vector(const double* v)
{
    return btVector3(v[0], v[1], v[2]);
}

btQuaternion quaternion(const double* q)
{
    return btQuaternion(q[1], q[2], q[3], q[0]);
}

// Of the principal axes at the start, in the world; what is fixed is part of the ground.
btTransform frame_of(const peer_plain* p, int i)
{
    const peer_body& b = p->bodies[i];
    if (b.fixed) return btTransform::getIdentity();
    return btTransform(quaternion(b.start.q) * quaternion(b.axes), vector(b.start.x));
}

void place_all(tree_world* w)
{
    const peer_plain* p = w->p;
    std::vector<int>  counts(1, 0);
    w->spots.resize(p->body_count);
    for (int k = 0; k + 1 < p->body_count; ++k) {
        const int        i = p->order[k];
        const peer_body& b = p->bodies[i];
        if (b.fixed) continue;
        if (b.joint < 0) {
            w->spots[i].tree = (int)counts.size();
            counts.push_back(0);
        } else {
            w->spots[i].tree = w->spots[b.parent].tree;
            w->spots[i].link = counts[w->spots[i].tree]++;
        }
    }
    for (size_t t = 0; t < counts.size(); ++t) w->trees.emplace_back(nullptr);
    w->trees[0].reset(new btMultiBody(counts[0], 0, btVector3(0, 0, 0), true, false));
    for (int i = 1; i < p->body_count; ++i) {
        const peer_body& b = p->bodies[i];
        if (b.fixed || b.joint >= 0) continue;
        const int t = w->spots[i].tree;
        w->trees[t].reset(new btMultiBody(counts[t], b.mass, vector(b.moments), false, false));
    }
}

void add_link(tree_world* w, int i)
{
    const peer_plain*  p  = w->p;
    const peer_body&   b  = p->bodies[i];
    const peer_joint&  j  = p->joints[b.joint];
    const btTransform  me = frame_of(p, i), up = frame_of(p, b.parent);
    btMultiBody*       tree = w->trees[w->spots[i].tree].get();
    const int          link = w->spots[i].link, parent = w->spots[b.parent].link;
    const btQuaternion turn   = me.getRotation().inverse() * up.getRotation();
    const btVector3    pivot1 = up.inverse() * vector(j.anchor),
                    pivot2    = -(me.inverse() * vector(j.anchor)),
                    axis = me.getBasis().transpose() * vector(j.axis), I = vector(b.moments);
    if (j.type == PEER_BALL)
        tree->setupSpherical(link, b.mass, I, parent, turn, pivot1, pivot2, true);
    else if (j.type == PEER_WELD)
        tree->setupFixed(link, b.mass, I, parent, turn, pivot1, pivot2, true);
    else if (j.type == PEER_HINGE)
        tree->setupRevolute(link, b.mass, I, parent, turn, axis, pivot1, pivot2, true);
    else tree->setupPrismatic(link, b.mass, I, parent, turn, axis, pivot1, pivot2, true);
}

// Of a ball in the child's principal axes.
void set_rates(tree_world* w, int i)
{
    const peer_body& b        = w->p->bodies[i];
    btMultiBody*     tree     = w->trees[w->spots[i].tree].get();
    double           rates[6] = {0};
    peer_rates(w->p, i, rates);
    if (b.joint < 0) {
        tree->setBaseWorldTransform(frame_of(w->p, i));
        tree->setBaseVel(vector(rates));
        tree->setBaseOmega(vector(rates + 3));
    } else if (w->p->joints[b.joint].type == PEER_BALL) {
        const btVector3 r       = quatRotate(quaternion(b.axes).inverse(), vector(rates));
        const btScalar  rate[3] = {r[0], r[1], r[2]};
        tree->setJointVelMultiDof(w->spots[i].link, rate);
    } else if (w->p->joints[b.joint].type != PEER_WELD) {
        tree->setJointVel(w->spots[i].link, rates[0]);
    }
}

void finish(btMultiBody* tree, bool rk4)
{
    tree->finalizeMultiDof();
    tree->setLinearDamping(0);
    tree->setAngularDamping(0);
    tree->setUseGyroTerm(true);
    tree->setMaxCoordinateVelocity(BT_LARGE_FLOAT);
    tree->setMaxAppliedImpulse(BT_LARGE_FLOAT);
    tree->setCanSleep(false);
    tree->setHasSelfCollision(true);
    tree->useRK4Integration(rk4);
}

btCollisionShape* shape_of(const peer_shape& s)
{
    switch (s.type) {
    case TN_SHAPE_SPHERE: return new btSphereShape(s.size[0]);
    case TN_SHAPE_BOX: return new btBoxShape(vector(s.size));
    case TN_SHAPE_CAPSULE: return new btCapsuleShapeZ(s.size[0], 2 * s.size[1]);
    case TN_SHAPE_CYLINDER: return new btCylinderShapeZ(btVector3(s.size[0], s.size[0], s.size[1]));
    default: return new btStaticPlaneShape(btVector3(0, 0, 1), 0);
    }
}

// One for each body that has shapes; NULL: none. A plane stands alone.
btCollisionShape* shapes_of(tree_world* w, int body, int* group, int* mask)
{
    const peer_body&   b    = w->p->bodies[body];
    btCompoundShape*   all  = new btCompoundShape();
    const btQuaternion back = b.fixed ? btQuaternion::getIdentity() : quaternion(b.axes).inverse();
    w->shapes.emplace_back(all);
    for (int i = 0; i < w->p->shape_count; ++i) {
        const peer_shape& s = w->p->shapes[i];
        if (s.body != body) continue;
        *group = 1 << s.group, *mask = (int)s.with;
        w->shapes.emplace_back(shape_of(s));
        if (s.type == TN_SHAPE_PLANE) return w->shapes.back().get();
        all->addChildShape(btTransform(back * quaternion(s.q), quatRotate(back, vector(s.x))),
                           w->shapes.back().get());
    }
    return all->getNumChildShapes() > 0 || !b.fixed ? all : nullptr;
}

void add_collider(tree_world* w, int i)
{
    const peer_body&   b     = w->p->bodies[i];
    const spot&        s     = w->spots[i];
    int                group = 0, mask = 0;
    btCollisionShape*  shape = shapes_of(w, i, &group, &mask);
    btCollisionObject* collider;
    w->colliders.emplace_back(nullptr);
    if (!shape) return;
    if (b.fixed) {
        collider = new btCollisionObject();
        collider->setWorldTransform(btTransform(quaternion(b.start.q), vector(b.start.x)));
    } else {
        btMultiBody*             tree = w->trees[s.tree].get();
        btMultiBodyLinkCollider* mine = new btMultiBodyLinkCollider(tree, s.link);
        if (s.link < 0) tree->setBaseCollider(mine);
        else tree->getLink(s.link).m_collider = mine;
        mine->setWorldTransform(frame_of(w->p, i));
        collider = mine;
    }
    w->colliders.back().reset(collider);
    collider->setCollisionShape(shape);
    if (w->p->shape_count > 0)
        collider->setFriction(std::sqrt(w->p->friction)); // of a pair: the product
    w->world.addCollisionObject(collider, group, mask);
}

void add_colliders(tree_world* w)
{
    const peer_plain* p = w->p;
    for (int i = 0; i < p->body_count; ++i) add_collider(w, i);
    for (int i = 0; p->apart && i < p->body_count; ++i)
        for (int k = i + 1; k < p->body_count; ++k)
            if (p->apart[i * p->body_count + k] && w->colliders[i] && w->colliders[k])
                w->colliders[i]->setIgnoreCollisionCheck(w->colliders[k].get(), true);
}

void add_tie(tree_world* w, btMultiBodyConstraint* tie)
{
    tie->finalizeMultiDof();
    w->ties.emplace_back(tie);
    w->world.addMultiBodyConstraint(tie);
}

void tie(tree_world* w, const peer_joint& j, double along)
{
    const spot &    a = w->spots[j.body1], &b = w->spots[j.body2];
    const btVector3 at            = vector(j.anchor) + along * vector(j.axis);
    const btVector3 pivot1        = frame_of(w->p, j.body1).inverse() * at,
                    pivot2        = frame_of(w->p, j.body2).inverse() * at;
    btMultiBodyPoint2Point* point = new btMultiBodyPoint2Point(
        w->trees[a.tree].get(), a.link, w->trees[b.tree].get(), b.link, pivot1, pivot2);
    point->setMaxAppliedImpulse(BT_LARGE_FLOAT);
    add_tie(w, point);
}

bool add_ties(tree_world* w, tn_why* why)
{
    for (int i = 0; i < w->p->joint_count; ++i) {
        const peer_joint& j = w->p->joints[i];
        if (j.closes && (j.driven || j.type == PEER_WELD || j.type == PEER_SLIDER))
            return peer_refuse(why, "Bullet multibody", "such a joint in a loop");
        if (j.closes) tie(w, j, j.type == PEER_BALL ? 0 : -0.05);
        if (j.closes && j.type == PEER_HINGE) tie(w, j, 0.05);
    }
    for (int i = 1; i < w->p->body_count; ++i) {
        const peer_body& b = w->p->bodies[i];
        if (b.fixed || b.joint < 0 || !w->p->joints[b.joint].driven) continue;
        const peer_joint& j     = w->p->joints[b.joint];
        const double      speed = j.body2 == i ? j.speed : -j.speed;
        add_tie(w, new btMultiBodyJointMotor(w->trees[w->spots[i].tree].get(), w->spots[i].link,
                                             speed, BT_LARGE_FLOAT));
    }
    return true;
}

void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    tree_world* w = new tree_world;
    w->p          = p;
    w->world.setGravity(vector(p->gravity));
    if (options->iterations > 0) w->world.getSolverInfo().m_numIterations = options->iterations;
    place_all(w);
    for (int k = 0; k + 1 < p->body_count; ++k) {
        const int i = p->order[k];
        if (!p->bodies[i].fixed && p->bodies[i].joint >= 0) add_link(w, i);
    }
    for (auto& tree : w->trees) finish(tree.get(), options->integrator == 1);
    for (int i = 1; i < p->body_count; ++i)
        if (!p->bodies[i].fixed) set_rates(w, i);
    for (auto& tree : w->trees) w->world.addMultiBody(tree.get());
    bool tied = p->shape_count > 0 || p->loop_count > 0;
    for (int i = 0; i < p->joint_count; ++i) tied = tied || p->joints[i].driven;
    if (tied) add_colliders(w);
    if (add_ties(w, why)) return w;
    delete w;
    return nullptr;
}

// -k times the angle, or the rotation vector of a ball.
void add_spring(btMultiBody* tree, int link, bool ball, double stiffness)
{
    if (!ball) return tree->addJointTorque(link, -stiffness * tree->getJointPos(link));
    const btScalar* q      = tree->getJointPosMultiDof(link);
    const double    length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    if (length == 0) return;
    const double angle = 2 * std::atan2(q[3] < 0 ? -length : length, std::fabs(q[3]));
    btScalar     torque[3];
    for (int k = 0; k < 3; ++k) torque[k] = -stiffness * angle / length * q[k];
    tree->addJointTorqueMultiDof(link, torque);
}

void add_springs(tree_world* w)
{
    for (int i = 1; i < w->p->body_count; ++i) {
        const int joint = w->p->bodies[i].joint;
        if (joint < 0 || w->p->joints[joint].stiffness == 0) continue;
        add_spring(w->trees[w->spots[i].tree].get(), w->spots[i].link,
                   w->p->joints[joint].type == PEER_BALL, w->p->joints[joint].stiffness);
    }
}

bool step(void* world, double h, tn_why*)
{
    tree_world* w = static_cast<tree_world*>(world);
    add_springs(w);
    w->world.stepSimulation(h, 0);
    return true;
}

// As its world does it in a step; nothing moves in no time.
bool evaluate(void* world, double* a, tn_why* why)
{
    tree_world* w = static_cast<tree_world*>(world);
    if (a) return peer_refuse(why, "Bullet multibody", "reading accelerations");
    for (auto& tree : w->trees) {
        const int n = tree->getNumLinks();
        tree->clearForcesAndTorques();
        tree->addBaseForce(w->world.getGravity() * tree->getBaseMass());
        for (int k = 0; k < n; ++k)
            tree->addLinkForce(k, w->world.getGravity() * tree->getLinkMass(k));
        w->scratch_r.resize(n + 1);
        w->scratch_v.resize(n + 1);
        w->scratch_m.resize(n + 1);
        tree->computeAccelerationsArticulatedBodyAlgorithmMultiDof(
            0, w->scratch_r, w->scratch_v, w->scratch_m, false, false, false);
    }
    return true;
}

void copy(double* to, const btVector3& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void write(const tree_world* w, int i, const btTransform& t, const btVector3& v,
           const btVector3& omega, tn_state* state)
{
    const btQuaternion q = t.getRotation() * quaternion(w->p->bodies[i].axes).inverse();
    peer_pose          pose;
    copy(pose.x, t.getOrigin());
    copy(pose.v, t.getBasis() * v);
    copy(pose.w, t.getBasis() * omega);
    pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
    peer_put(w->p, i, &pose, state);
}

void read_world(const void* world, tn_state* state)
{
    const tree_world*                   w = static_cast<const tree_world*>(world);
    btAlignedObjectArray<btQuaternion>  turns;
    btAlignedObjectArray<btVector3>     places;
    std::vector<std::vector<btVector3>> omega(w->trees.size()), velocity(w->trees.size());
    for (size_t t = 0; t < w->trees.size(); ++t) {
        omega[t].resize(w->trees[t]->getNumLinks() + 1);
        velocity[t].resize(w->trees[t]->getNumLinks() + 1);
        w->trees[t]->forwardKinematics(turns, places);
        w->trees[t]->compTreeLinkVelocities(omega[t].data(), velocity[t].data());
    }
    for (int i = 1; i < w->p->body_count; ++i) {
        if (w->p->bodies[i].fixed) continue;
        const spot&        s    = w->spots[i];
        const btMultiBody* tree = w->trees[s.tree].get();
        const btTransform  t    = s.link < 0 ? tree->getBaseWorldTransform()
                                             : tree->getLink(s.link).m_cachedWorldTransform;
        write(w, i, t, velocity[s.tree][s.link + 1], omega[s.tree][s.link + 1], state);
    }
}

void close_world(void* world)
{
    delete static_cast<tree_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_bullet_tree = {"Bullet multibody", open_world,  step,
                                      read_world,         close_world, evaluate};
}
