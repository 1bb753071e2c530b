// dart: a mechanism as Skeletons of DART (libdart-dev): Featherstone's articulated bodies, one
// skeleton for all that is tied to the ground and one for each tree that floats; joints have their own
// springs, which it treats implicitly (the articulated inertia of a joint has h^2 k added). A hinge
// that closes a loop is two ball constraints along its axis. Contact is left out here. The
// distribution's build has its assertions on and ends the program where a number is not finite, so
// such a state is left first.
extern "C" {
#include "peer.h"
}

#include <dart/constraint/BallJointConstraint.hpp>
#include <dart/constraint/ConstraintSolver.hpp>
#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>

namespace
{

using namespace dart::dynamics;

struct dart_world {
    const peer_plain*          p;
    std::vector<SkeletonPtr>   skeletons; ///< the first is tied to the ground
    std::vector<BodyNode*>     nodes;     ///< by body; null: fixed
    dart::simulation::WorldPtr world;
    bool                       broken = false;
};

Eigen::Vector3d vector(const double* v)
{
    return Eigen::Vector3d(v[0], v[1], v[2]);
}

Eigen::Isometry3d frame_of(const peer_plain* p, int i)
{
    const peer_pose&  at = p->bodies[i].start;
    Eigen::Isometry3d t  = Eigen::Isometry3d::Identity();
    if (p->bodies[i].fixed) return t;
    t.linear()      = Eigen::Quaterniond(at.q[0], at.q[1], at.q[2], at.q[3]).toRotationMatrix();
    t.translation() = vector(at.x);
    return t;
}

BodyNode::Properties body_of(const peer_plain* p, int i)
{
    const peer_body&     b = p->bodies[i];
    BodyNode::Properties body;
    body.mName = "b" + std::to_string(i);
    body.mInertia.setMass(b.mass);
    body.mInertia.setMoment(b.inertia[0], b.inertia[1], b.inertia[2], b.inertia[3], b.inertia[4],
                            b.inertia[5]);
    return body;
}

// The joint stands at its anchor and has the axes of the child.
template <typename Joint> typename Joint::Properties joint_of(const peer_plain* p, int i)
{
    const peer_body&           b  = p->bodies[i];
    const Eigen::Isometry3d    me = frame_of(p, i), up = frame_of(p, b.parent);
    Eigen::Isometry3d          at = me;
    typename Joint::Properties joint;
    if (b.joint >= 0) at.translation() = vector(p->joints[b.joint].anchor);
    joint.mName                = "j" + std::to_string(i);
    joint.mT_ParentBodyToJoint = up.inverse() * at;
    joint.mT_ChildBodyToJoint  = me.inverse() * at;
    return joint;
}

template <typename Joint> Joint* add(dart_world* w, int i, typename Joint::Properties joint)
{
    const peer_body& b      = w->p->bodies[i];
    BodyNode*        parent = w->nodes[b.parent];
    SkeletonPtr      tree   = w->skeletons[0];
    if (b.joint < 0) {
        tree = Skeleton::create("tree" + std::to_string(i));
        w->skeletons.push_back(tree);
    } else if (parent) {
        tree = parent->getSkeleton();
    }
    const auto pair = tree->createJointAndBodyNodePair<Joint>(parent, joint, body_of(w->p, i));
    w->nodes[i]     = pair.second;
    return pair.first;
}

template <typename Joint> void add_along(dart_world* w, int i, double rate)
{
    const peer_joint& j = w->p->joints[w->p->bodies[i].joint];
    double            axis[3];
    peer_seen_axis(w->p, i, j.axis, axis);
    auto joint                  = joint_of<Joint>(w->p, i);
    joint.mAxis                 = vector(axis);
    joint.mSpringStiffnesses[0] = j.stiffness;
    add<Joint>(w, i, joint)->setVelocity(0, rate);
}

void add_body(dart_world* w, int i)
{
    const peer_body& b        = w->p->bodies[i];
    double           rates[6] = {0};
    if (b.fixed) return;
    peer_rates(w->p, i, rates);
    if (b.joint < 0) {
        FreeJoint* joint = add<FreeJoint>(w, i, joint_of<FreeJoint>(w->p, i));
        joint->setLinearVelocity(vector(rates));
        joint->setAngularVelocity(vector(rates + 3));
        return;
    }
    const peer_joint& j = w->p->joints[b.joint];
    if (j.type == PEER_HINGE) return add_along<RevoluteJoint>(w, i, rates[0]);
    if (j.type == PEER_SLIDER) return add_along<PrismaticJoint>(w, i, rates[0]);
    if (j.type == PEER_WELD) {
        add<WeldJoint>(w, i, joint_of<WeldJoint>(w->p, i));
        return;
    }
    auto joint               = joint_of<BallJoint>(w->p, i);
    joint.mSpringStiffnesses = Eigen::Vector3d::Constant(j.stiffness);
    add<BallJoint>(w, i, joint)->setVelocities(vector(rates));
}

void tie(dart_world* w, const peer_joint& j, double along)
{
    const Eigen::Vector3d at = vector(j.anchor) + along * vector(j.axis);
    BodyNode *            a = w->nodes[j.body1], *b = w->nodes[j.body2];
    if (!a) std::swap(a, b);
    w->world->getConstraintSolver()->addConstraint(
        b ? std::make_shared<dart::constraint::BallJointConstraint>(a, b, at)
          : std::make_shared<dart::constraint::BallJointConstraint>(a, at));
}

bool expressible(const peer_plain* p, tn_why* why)
{
    if (p->shape_count > 0) return peer_refuse(why, "DART", "contact");
    for (int i = 0; i < p->joint_count; ++i) {
        const peer_joint& j = p->joints[i];
        if (j.driven) return peer_refuse(why, "DART", "a drive");
        if (j.closes && (j.type == PEER_WELD || j.type == PEER_SLIDER))
            return peer_refuse(why, "DART", "such a joint in a loop");
    }
    return true;
}

void* open_world(const peer_plain* p, const peer_options*, tn_why* why)
{
    if (!expressible(p, why)) return nullptr;
    dart_world* w = new dart_world;
    w->p          = p;
    w->nodes.resize(p->body_count);
    w->skeletons.push_back(Skeleton::create("ground"));
    for (int k = 0; k + 1 < p->body_count; ++k) add_body(w, p->order[k]);
    w->world = dart::simulation::World::create();
    w->world->setGravity(vector(p->gravity));
    for (const SkeletonPtr& tree : w->skeletons) {
        tree->disableSelfCollisionCheck();
        w->world->addSkeleton(tree);
    }
    for (int i = 0; i < p->joint_count; ++i) {
        const peer_joint& j = p->joints[i];
        if (j.closes) tie(w, j, j.type == PEER_BALL ? 0 : -0.05);
        if (j.closes && j.type == PEER_HINGE) tie(w, j, 0.05);
    }
    return w;
}

bool sound(const dart_world* w)
{
    for (const SkeletonPtr& tree : w->skeletons) {
        if (tree->getNumDofs() == 0) continue;
        const Eigen::VectorXd speeds = tree->getVelocities();
        if (!speeds.allFinite() || speeds.cwiseAbs().maxCoeff() > 1e8) return false;
    }
    return true;
}

bool step(void* world, double h, tn_why*)
{
    dart_world* w = static_cast<dart_world*>(world);
    if (w->world->getTimeStep() != h) w->world->setTimeStep(h);
    if (w->broken) return false;
    w->world->step();
    w->broken = !sound(w);
    return !w->broken;
}

bool evaluate(void* world, double* a, tn_why*)
{
    dart_world* w = static_cast<dart_world*>(world);
    for (const SkeletonPtr& tree : w->skeletons) {
        if (tree->getNumDofs() == 0) continue;
        tree->dirtyArticulatedInertia(0); // as if it had moved
        tree->computeForwardDynamics();
    }
    for (int i = 1; a && i < w->p->body_count; ++i) {
        const Eigen::Vector3d linear  = w->nodes[i]->getCOMLinearAcceleration(),
                              angular = w->nodes[i]->getAngularAcceleration();
        for (int k = 0; k < 3; ++k) a[6 * i + k] = linear[k], a[6 * i + 3 + k] = angular[k];
    }
    return true;
}

void copy(double* to, const Eigen::Vector3d& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, tn_state* state)
{
    const dart_world* w = static_cast<const dart_world*>(world);
    for (int i = 1; !w->broken && i < w->p->body_count; ++i) {
        const BodyNode* body = w->nodes[i];
        if (!body) continue;
        const Eigen::Isometry3d& t = body->getWorldTransform();
        const Eigen::Quaterniond q(t.linear());
        peer_pose                pose;
        copy(pose.x, t.translation());
        copy(pose.v, body->getCOMLinearVelocity());
        copy(pose.w, body->getAngularVelocity());
        pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
        peer_put(w->p, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<dart_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_dart = {"DART", open_world, step, read_world, close_world, evaluate};
}
