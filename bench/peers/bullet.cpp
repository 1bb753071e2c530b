// bullet: a tree of rods as a btMultiBody of Bullet (libbullet-dev, the libraries in double
// precision): Featherstone's articulated bodies with spherical joints. It has no spring for them; its
// motors are servos without a stiffness. So the spring is a torque that is added before each
// step, as its users do it. Damping, sleeping and the bound on speeds are off.
extern "C" {
#include "links.h"
}

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <vector>

namespace
{

struct bullet_world {
    peer_links                      links = {};
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher           dispatcher{&configuration};
    btDbvtBroadphase                broadphase;
    btMultiBodyConstraintSolver     solver;
    btMultiBodyDynamicsWorld        world{&dispatcher, &broadphase, &solver, &configuration};
    btMultiBody*                    body = nullptr;

    ~bullet_world()
    {
        if (body) world.removeMultiBody(body);
        delete body;
        peer_links_close(&links);
    }
};

btVector3 vector(const double* v)
{
    return btVector3(v[0], v[1], v[2]);
}

btMultiBody* make_body(const peer_links& l)
{
    btMultiBody* body = new btMultiBody(l.count, 0, btVector3(0, 0, 0), true, false);
    for (int i = 0; i < l.count; ++i) {
        const peer_link&   link = l.links[i];
        const btQuaternion turn(link.turn[1], link.turn[2], link.turn[3], link.turn[0]);
        body->setupSpherical(i, link.mass, vector(link.inertia), link.parent, turn.inverse(),
                             vector(link.pivot1), -vector(link.pivot2), true);
    }
    body->finalizeMultiDof();
    body->setBasePos(btVector3(0, 0, 0));
    body->setLinearDamping(0);
    body->setAngularDamping(0);
    body->setUseGyroTerm(true);
    body->setMaxCoordinateVelocity(BT_LARGE_FLOAT);
    body->setMaxAppliedImpulse(BT_LARGE_FLOAT);
    body->setCanSleep(false);
    return body;
}

void* open_world(const tn_model* model, const tn_state* start, bool rk4, tn_why* why)
{
    bullet_world* w = new bullet_world;
    if (!peer_links_open(&w->links, "Bullet", model, start, why)) {
        delete w;
        return nullptr;
    }
    w->world.setGravity(vector(w->links.gravity));
    w->body = make_body(w->links);
    w->body->useRK4Integration(rk4);
    w->world.addMultiBody(w->body);
    return w;
}

void* open_euler(const tn_model* model, const tn_state* start, const peer_options*, tn_why* why)
{
    return open_world(model, start, false, why);
}

void* open_rk4(const tn_model* model, const tn_state* start, const peer_options*, tn_why* why)
{
    return open_world(model, start, true, why);
}

// -k times the rotation vector of the joint.
void add_spring(btMultiBody* body, int i, double stiffness)
{
    const btScalar* p      = body->getJointPosMultiDof(i);
    const double    length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (stiffness == 0 || length == 0) return;
    const double angle = 2 * std::atan2(p[3] < 0 ? -length : length, std::fabs(p[3]));
    btScalar     torque[3];
    for (int k = 0; k < 3; ++k) torque[k] = -stiffness * angle / length * p[k];
    body->addJointTorqueMultiDof(i, torque);
}

bool step(void* world, double h, tn_why*)
{
    bullet_world* w = static_cast<bullet_world*>(world);
    for (int i = 0; i < w->links.count; ++i) add_spring(w->body, i, w->links.links[i].stiffness);
    w->world.stepSimulation(h, 0);
    w->links.time += h;
    return true;
}

void copy(double* to, const btVector3& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, tn_state* state)
{
    bullet_world*                      w = static_cast<bullet_world*>(const_cast<void*>(world));
    btAlignedObjectArray<btQuaternion> turns;
    btAlignedObjectArray<btVector3>    places;
    std::vector<btVector3>             omega(w->links.count + 1), velocity(w->links.count + 1);
    w->body->forwardKinematics(turns, places);
    w->body->compTreeLinkVelocities(omega.data(), velocity.data());
    for (int i = 0; i < w->links.count; ++i) {
        const btTransform& t = w->body->getLink(i).m_cachedWorldTransform;
        const btQuaternion q = t.getRotation();
        peer_pose          pose;
        copy(pose.x, t.getOrigin());
        copy(pose.v, t.getBasis() * velocity[i + 1]);
        copy(pose.w, t.getBasis() * omega[i + 1]);
        pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
        peer_links_write(&w->links, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<bullet_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_bullet     = {"Bullet multibody", open_euler, step, read_world, close_world};
const peer_engine peer_bullet_rk4 = {"Bullet multibody, RK4", open_rk4, step, read_world,
                                     close_world};
}
