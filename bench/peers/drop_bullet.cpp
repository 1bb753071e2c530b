// drop_bullet: a drop in Bullet (libbullet-dev, double precision): rigid bodies and constraints,
// the way its users build ragdolls and machines with loops; solved by sweeps
// (btSequentialImpulse) or by Dantzig's pivoting over all rows (btMLCPSolver). Bodies stand in
// their principal axes. Damping and sleeping are off; all else is its default.
extern "C" {
#include "drop.h"
}

#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <memory>
#include <vector>

namespace
{

struct world_of_bullet {
    const drop*                                     d;
    btDefaultCollisionConfiguration                 configuration;
    btCollisionDispatcher                           dispatcher{&configuration};
    btDbvtBroadphase                                broadphase;
    btDantzigSolver                                 dantzig;
    std::unique_ptr<btConstraintSolver>             solver;
    std::unique_ptr<btDiscreteDynamicsWorld>        world;
    std::vector<std::unique_ptr<btCollisionShape>>  shapes;
    std::vector<std::unique_ptr<btRigidBody>>       bodies;
    std::vector<std::unique_ptr<btTypedConstraint>> joints;

    ~world_of_bullet()
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
btTransform frame_of(const drop_body& b)
{
    return btTransform(quaternion(b.start.q) * quaternion(b.axes), vector(b.start.x));
}

btCollisionShape* shape_of(const drop_shape& s)
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
btCollisionShape* shapes_of(world_of_bullet* w, int body, int* group, int* mask)
{
    const drop_body&   b     = w->d->bodies[body];
    btCompoundShape*   all   = new btCompoundShape();
    btCollisionShape*  alone = nullptr;
    const btQuaternion back  = quaternion(b.axes).inverse();
    w->shapes.emplace_back(all);
    *group = *mask = 0;
    for (int i = 0; i < w->d->shape_count; ++i) {
        const drop_shape& s = w->d->shapes[i];
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

void add_body(world_of_bullet* w, int i)
{
    const drop_body&                         b = w->d->bodies[i];
    int                                      group, mask;
    btCollisionShape*                        shape = shapes_of(w, i, &group, &mask);
    btRigidBody::btRigidBodyConstructionInfo info(b.fixed ? 0 : b.mass, nullptr, shape,
                                                  b.fixed ? btVector3(0, 0, 0) : vector(b.moments));
    info.m_startWorldTransform = frame_of(b);
    info.m_friction            = std::sqrt(w->d->friction); // a pair has their product
    btRigidBody* body          = new btRigidBody(info);
    body->setLinearVelocity(vector(b.start.v));
    body->setAngularVelocity(vector(b.start.w));
    body->setActivationState(DISABLE_DEACTIVATION);
    w->bodies.emplace_back(body);
    w->world->addRigidBody(body, group, mask);
}

btTypedConstraint* joint_of(world_of_bullet* w, const drop_joint& j)
{
    btRigidBody &     a = *w->bodies[j.body1], &b = *w->bodies[j.body2];
    const btTransform to_a = a.getWorldTransform().inverse(),
                      to_b = b.getWorldTransform().inverse();
    const btVector3 p = vector(j.anchor), z = vector(j.axis);
    if (j.type == DROP_BALL) return new btPoint2PointConstraint(a, b, to_a * p, to_b * p);
    if (j.type == DROP_WELD) {
        const btTransform at(btQuaternion::getIdentity(), p);
        return new btFixedConstraint(a, b, to_a * at, to_b * at);
    }
    btHingeConstraint* hinge =
        new btHingeConstraint(a, b, to_a * p, to_b * p, to_a.getBasis() * z, to_b.getBasis() * z);
    if (j.driven) hinge->enableAngularMotor(true, -j.speed, BT_LARGE_FLOAT);
    return hinge;
}

void* open_world(const drop* d, const drop_options* options, tn_why*)
{
    world_of_bullet* w = new world_of_bullet;
    w->d               = d;
    if (options->iterations > 0) w->solver.reset(new btSequentialImpulseConstraintSolver);
    else w->solver.reset(new btMLCPSolver(&w->dantzig));
    w->world.reset(new btDiscreteDynamicsWorld(&w->dispatcher, &w->broadphase, w->solver.get(),
                                               &w->configuration));
    w->world->setGravity(vector(d->gravity));
    if (options->iterations > 0) w->world->getSolverInfo().m_numIterations = options->iterations;
    else w->world->getSolverInfo().m_minimumSolverBatchSize = 1;
    for (int i = 0; i < d->body_count; ++i) add_body(w, i);
    for (int i = 0; i < d->joint_count; ++i) {
        w->joints.emplace_back(joint_of(w, d->joints[i]));
        w->world->addConstraint(w->joints.back().get(), true);
    }
    for (int i = 0; i < d->body_count; ++i)
        for (int k = i + 1; k < d->body_count; ++k)
            if (d->apart[i * d->body_count + k])
                w->bodies[i]->setIgnoreCollisionCheck(w->bodies[k].get(), true);
    return w;
}

bool step(void* world, double h, tn_why*)
{
    static_cast<world_of_bullet*>(world)->world->stepSimulation(h, 0);
    return true;
}

void copy(double* to, const btVector3& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, drop_pose* poses)
{
    const world_of_bullet* w = static_cast<const world_of_bullet*>(world);
    for (int i = 0; i < w->d->body_count; ++i) {
        if (w->d->bodies[i].fixed) continue;
        const btRigidBody& b = *w->bodies[i];
        const btQuaternion q =
            b.getWorldTransform().getRotation() * quaternion(w->d->bodies[i].axes).inverse();
        copy(poses[i].x, b.getWorldTransform().getOrigin());
        copy(poses[i].v, b.getLinearVelocity());
        copy(poses[i].w, b.getAngularVelocity());
        poses[i].q[0] = q.w(), poses[i].q[1] = q.x(), poses[i].q[2] = q.y(), poses[i].q[3] = q.z();
    }
}

void close_world(void* world)
{
    delete static_cast<world_of_bullet*>(world);
}

} // namespace

extern "C" {
const drop_engine drop_bullet = {"Bullet", open_world, step, read_world, close_world};
}
