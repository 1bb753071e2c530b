// dart: a tree of rods as a Skeleton of DART (libdart-dev): Featherstone's articulated bodies, ball
// joints with their own springs, which it treats implicitly (the articulated inertia of a joint has
// h^2 k added). Nothing collides and nothing is constrained. The distribution's build has its
// assertions on and ends the program where a number is not finite, so such a state is left first.
extern "C" {
#include "links.h"
}

#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/simulation/World.hpp>

namespace
{

using dart::dynamics::BallJoint;
using dart::dynamics::BodyNode;

struct dart_world {
    peer_links                  links = {};
    dart::dynamics::SkeletonPtr skeleton;
    dart::simulation::WorldPtr  world;
    bool                        broken = false;

    ~dart_world() { peer_links_close(&links); }
};

Eigen::Vector3d vector(const double* v)
{
    return Eigen::Vector3d(v[0], v[1], v[2]);
}

// The joint's frame has the axes of the child.
void add_link(dart_world* w, const peer_link& link)
{
    BallJoint::Properties joint;
    BodyNode::Properties  body;
    joint.mName = "j" + std::to_string(w->skeleton->getNumBodyNodes());
    joint.mT_ParentBodyToJoint.setIdentity();
    joint.mT_ParentBodyToJoint.linear() =
        Eigen::Quaterniond(link.turn[0], link.turn[1], link.turn[2], link.turn[3])
            .toRotationMatrix();
    joint.mT_ParentBodyToJoint.translation() = vector(link.pivot1);
    joint.mT_ChildBodyToJoint.setIdentity();
    joint.mT_ChildBodyToJoint.translation() = vector(link.pivot2);
    joint.mSpringStiffnesses                = Eigen::Vector3d::Constant(link.stiffness);
    body.mName = "link" + std::to_string(w->skeleton->getNumBodyNodes());
    body.mInertia.setMass(link.mass);
    body.mInertia.setMoment(link.inertia[0], link.inertia[1], link.inertia[2], 0, 0, 0);
    BodyNode* parent = link.parent < 0 ? nullptr : w->skeleton->getBodyNode(link.parent);
    w->skeleton->createJointAndBodyNodePair<BallJoint>(parent, joint, body);
}

void* open_world(const tn_model* model, const tn_state* start, const peer_options*, tn_why* why)
{
    dart_world* w = new dart_world;
    if (!peer_links_open(&w->links, "DART", model, start, why)) {
        delete w;
        return nullptr;
    }
    w->skeleton = dart::dynamics::Skeleton::create("chain");
    for (int i = 0; i < w->links.count; ++i) add_link(w, w->links.links[i]);
    w->skeleton->disableSelfCollisionCheck();
    w->world = dart::simulation::World::create();
    w->world->setGravity(vector(w->links.gravity));
    w->world->addSkeleton(w->skeleton);
    return w;
}

bool step(void* world, double h, tn_why*)
{
    dart_world* w = static_cast<dart_world*>(world);
    if (w->world->getTimeStep() != h) w->world->setTimeStep(h);
    if (w->broken) return false;
    w->world->step();
    w->links.time += h;
    const Eigen::VectorXd speeds = w->skeleton->getVelocities();
    w->broken                    = !speeds.allFinite() || speeds.cwiseAbs().maxCoeff() > 1e8;
    return !w->broken;
}

void copy(double* to, const Eigen::Vector3d& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, tn_state* state)
{
    const dart_world* w = static_cast<const dart_world*>(world);
    if (w->broken) return;
    for (int i = 0; i < w->links.count; ++i) {
        const BodyNode*          body = w->skeleton->getBodyNode(i);
        const Eigen::Isometry3d& t    = body->getWorldTransform();
        const Eigen::Quaterniond q(t.linear());
        peer_pose                pose;
        copy(pose.x, t.translation());
        copy(pose.v, body->getCOMLinearVelocity());
        copy(pose.w, body->getAngularVelocity());
        pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
        peer_links_write(&w->links, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<dart_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_dart = {"DART", open_world, step, read_world, close_world};
}
