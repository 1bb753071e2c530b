// bullet: a mechanism in Bullet (libbullet-dev, double precision): rigid bodies and constraints,
// the way its users build ragdolls and machines with loops; solved by sweeps
// (btSequentialImpulse) or by Dantzig's pivoting over all rows (btMLCPSolver). Bodies stand in
// their principal axes. Damping and sleeping are off; all else is its default. Springs of joints,
// which it does not have, are torques before each step.
extern "C" {
#include "peer.h"
}

#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <memory>
#include <vector>

namespace
{

struct bullet_world {
    const peer_plain*                               p;
    btDefaultCollisionConfiguration                 configuration;
    btCollisionDispatcher                           dispatcher{&configuration};
    btDbvtBroadphase                                broadphase;
    btDantzigSolver                                 dantzig;
    std::unique_ptr<btConstraintSolver>             solver;
    std::unique_ptr<btDiscreteDynamicsWorld>        world;
    std::vector<std::unique_ptr<btCollisionShape>>  shapes;
    std::vector<std::unique_ptr<btRigidBody>>       bodies;
    std::vector<std::unique_ptr<btTypedConstraint>> joints;

    ~bullet_world()
    {
        for (auto& joint : joints) world->removeConstraint(joint.get());
        for (auto& body : bodies) world->removeRigidBody(body.get());
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

// Of the principal axes, in the world.
btTransform frame_of(const peer_body& b)
{
    return btTransform(quaternion(b.start.q) * quaternion(b.axes), vector(b.start.x));
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

// A compound, unless the body is one shape in its own frame.
btCollisionShape* shapes_of(bullet_world* w, int body, int* group, int* mask)
{
    const peer_body&   b     = w->p->bodies[body];
    btCompoundShape*   all   = new btCompoundShape();
    btCollisionShape*  alone = nullptr;
    const btQuaternion back  = quaternion(b.axes).inverse();
    w->shapes.emplace_back(all);
    *group = *mask = 0;
    for (int i = 0; i < w->p->shape_count; ++i) {
        const peer_shape& s = w->p->shapes[i];
        if (s.body != body) continue;
        btCollisionShape* shape = shape_of(s);
        const btTransform at(back * quaternion(s.q), quatRotate(back, vector(s.x)));
        w->shapes.emplace_back(shape);
        all->addChildShape(at, shape);
        alone  = at.getOrigin().length() == 0 && at.getRotation().getAngle() == 0 ? shape : nullptr;
        *group = 1 << s.group;
        *mask  = (int)s.with;
    }
    return all->getNumChildShapes() == 1 && alone ? alone : all;
}

void add_body(bullet_world* w, int i)
{
    const peer_body&                         b = w->p->bodies[i];
    int                                      group, mask;
    btCollisionShape*                        shape = shapes_of(w, i, &group, &mask);
    btRigidBody::btRigidBodyConstructionInfo info(b.fixed ? 0 : b.mass, nullptr, shape,
                                                  b.fixed ? btVector3(0, 0, 0) : vector(b.moments));
    info.m_startWorldTransform = frame_of(b);
    if (w->p->shape_count > 0)
        info.m_friction = std::sqrt(w->p->friction); // of a pair: the product
    btRigidBody* body = new btRigidBody(info);
    body->setLinearVelocity(vector(b.start.v));
    body->setAngularVelocity(vector(b.start.w));
    body->setActivationState(DISABLE_DEACTIVATION);
    w->bodies.emplace_back(body);
    w->world->addRigidBody(body, group, mask);
}

// Along x of its frames, without a bound; it may not turn.
btTypedConstraint* slider_of(btRigidBody& a, btRigidBody& b, const btVector3& at,
                             const btVector3& along)
{
    const btTransform   frame(shortestArcQuat(btVector3(1, 0, 0), along), at);
    btSliderConstraint* slider =
        new btSliderConstraint(a, b, a.getWorldTransform().inverse() * frame,
                               b.getWorldTransform().inverse() * frame, true);
    slider->setLowerLinLimit(1);
    slider->setUpperLinLimit(-1);
    slider->setLowerAngLimit(0);
    slider->setUpperAngLimit(0);
    return slider;
}

btTypedConstraint* joint_of(bullet_world* w, const peer_joint& j)
{
    btRigidBody &     a = *w->bodies[j.body1], &b = *w->bodies[j.body2];
    const btTransform to_a = a.getWorldTransform().inverse(),
                      to_b = b.getWorldTransform().inverse();
    const btVector3 at = vector(j.anchor), z = vector(j.axis);
    if (j.type == PEER_BALL) return new btPoint2PointConstraint(a, b, to_a * at, to_b * at);
    if (j.type == PEER_SLIDER) return slider_of(a, b, at, z);
    if (j.type == PEER_WELD) {
        const btTransform frame(btQuaternion::getIdentity(), at);
        return new btFixedConstraint(a, b, to_a * frame, to_b * frame);
    }
    btHingeConstraint* hinge =
        new btHingeConstraint(a, b, to_a * at, to_b * at, to_a.getBasis() * z, to_b.getBasis() * z);
    if (j.driven) hinge->enableAngularMotor(true, -j.speed, BT_LARGE_FLOAT);
    return hinge;
}

void* open_world(const peer_plain* p, const peer_options* options, tn_why*)
{
    bullet_world* w = new bullet_world;
    w->p            = p;
    if (options->iterations > 0) w->solver.reset(new btSequentialImpulseConstraintSolver);
    else w->solver.reset(new btMLCPSolver(&w->dantzig));
    w->world.reset(new btDiscreteDynamicsWorld(&w->dispatcher, &w->broadphase, w->solver.get(),
                                               &w->configuration));
    w->world->setGravity(vector(p->gravity));
    if (options->iterations > 0) w->world->getSolverInfo().m_numIterations = options->iterations;
    else w->world->getSolverInfo().m_minimumSolverBatchSize = 1;
    for (int i = 0; i < p->body_count; ++i) add_body(w, i);
    for (int i = 0; i < p->joint_count; ++i) {
        w->joints.emplace_back(joint_of(w, p->joints[i]));
        w->world->addConstraint(w->joints.back().get(), true);
    }
    for (int i = 0; p->apart && i < p->body_count; ++i)
        for (int k = i + 1; k < p->body_count; ++k)
            if (p->apart[i * p->body_count + k])
                w->bodies[i]->setIgnoreCollisionCheck(w->bodies[k].get(), true);
    return w;
}

btQuaternion turn_of(const bullet_world* w, int i)
{
    return w->bodies[i]->getWorldTransform().getRotation() *
           quaternion(w->p->bodies[i].axes).inverse();
}

void numbers(double* to, const btQuaternion& q)
{
    to[0] = q.w(), to[1] = q.x(), to[2] = q.y(), to[3] = q.z();
}

void push(const bullet_world* w, const peer_joint& j)
{
    double q1[4], q2[4], torque[3];
    if (j.stiffness == 0) return;
    numbers(q1, turn_of(w, j.body1));
    numbers(q2, turn_of(w, j.body2));
    peer_spring(w->p, &j, q1, q2, torque);
    w->bodies[j.body1]->applyTorque(-vector(torque));
    w->bodies[j.body2]->applyTorque(vector(torque));
}

bool step(void* world, double h, tn_why*)
{
    bullet_world* w = static_cast<bullet_world*>(world);
    for (int i = 0; i < w->p->joint_count; ++i) push(w, w->p->joints[i]);
    w->world->stepSimulation(h, 0);
    return true;
}

void copy(double* to, const btVector3& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, tn_state* state)
{
    const bullet_world* w = static_cast<const bullet_world*>(world);
    for (int i = 0; i < w->p->body_count; ++i) {
        const btRigidBody& b = *w->bodies[i];
        peer_pose          pose;
        copy(pose.x, b.getWorldTransform().getOrigin());
        copy(pose.v, b.getLinearVelocity());
        copy(pose.w, b.getAngularVelocity());
        numbers(pose.q, turn_of(w, i));
        peer_put(w->p, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<bullet_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_bullet = {"Bullet", open_world, step, read_world, close_world, nullptr};
}
