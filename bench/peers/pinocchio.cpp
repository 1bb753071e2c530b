// pinocchio: a tree of rods as a model of Pinocchio (PyPI pin: headers and libraries). It is a
// library of algorithms without an integrator: here its articulated-body algorithm (aba) gives the
// accelerations, and its integrate() the positions, in the semi-implicit step of its own examples.
// Springs are torques before each step.
extern "C" {
#include "links.h"
}

#include <cmath>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <string>

namespace
{

struct pinocchio_world {
    peer_links       links = {};
    pinocchio::Model model;
    pinocchio::Data  data;
    Eigen::VectorXd  q, v, tau, next;

    ~pinocchio_world() { peer_links_close(&links); }
};

Eigen::Vector3d vector(const double* v)
{
    return Eigen::Vector3d(v[0], v[1], v[2]);
}

// A joint's frame has its body's axes and stands in the joint; joint 0 is the ground, link i is
// joint i + 1.
void add_link(pinocchio_world* w, int i)
{
    const peer_link&         link = w->links.links[i];
    const Eigen::Quaterniond turn(link.turn[0], link.turn[1], link.turn[2], link.turn[3]);
    Eigen::Vector3d          at = vector(link.pivot1);
    if (link.parent >= 0) at -= vector(w->links.links[link.parent].pivot2);
    const pinocchio::SE3     place(turn.toRotationMatrix(), at);
    const Eigen::Matrix3d    inertia = vector(link.inertia).asDiagonal();
    const pinocchio::Inertia body(link.mass, -vector(link.pivot2), inertia);
    const auto               joint =
        w->model.addJoint(static_cast<pinocchio::JointIndex>(link.parent + 1),
                          pinocchio::JointModelSpherical(), place, "j" + std::to_string(i));
    w->model.appendBodyToJoint(joint, body, pinocchio::SE3::Identity());
}

void* open_world(const tn_model* model, const tn_state* start, const peer_options*, tn_why* why)
{
    pinocchio_world* w = new pinocchio_world;
    if (!peer_links_open(&w->links, "Pinocchio", model, start, why)) {
        delete w;
        return nullptr;
    }
    for (int i = 0; i < w->links.count; ++i) add_link(w, i);
    w->model.gravity.linear(vector(w->links.gravity));
    w->data = pinocchio::Data(w->model);
    w->q    = pinocchio::neutral(w->model);
    w->v = w->tau = Eigen::VectorXd::Zero(w->model.nv);
    w->next       = w->q;
    return w;
}

// -k times the rotation vector of the joint, in the body's axes as its velocity is.
void set_springs(pinocchio_world* w)
{
    for (int i = 0; i < w->links.count; ++i) {
        const double*         p = w->q.data() + 4 * i;
        const Eigen::Vector3d axis(p[0], p[1], p[2]);
        const double          length = axis.norm(), k = w->links.links[i].stiffness;
        const double          angle = 2 * std::atan2(p[3] < 0 ? -length : length, std::fabs(p[3]));
        w->tau.segment<3>(3 * i)    = -k * (length > 0 ? angle / length : 2.0) * axis;
    }
}

bool step(void* world, double h, tn_why*)
{
    pinocchio_world* w = static_cast<pinocchio_world*>(world);
    set_springs(w);
    pinocchio::aba(w->model, w->data, w->q, w->v, w->tau, pinocchio::Convention::LOCAL);
    w->v += h * w->data.ddq;
    pinocchio::integrate(w->model, w->q, h * w->v, w->next);
    w->q.swap(w->next);
    w->links.time += h;
    return true;
}

void copy(double* to, const Eigen::Vector3d& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void read_world(const void* world, tn_state* state)
{
    pinocchio_world* w = static_cast<pinocchio_world*>(const_cast<void*>(world));
    pinocchio::forwardKinematics(w->model, w->data, w->q, w->v);
    for (int i = 0; i < w->links.count; ++i) {
        const pinocchio::SE3&    place = w->data.oMi[i + 1];
        const pinocchio::Motion& speed = w->data.v[i + 1]; // of the joint's frame, in its axes
        const Eigen::Vector3d    arm   = -vector(w->links.links[i].pivot2);
        const Eigen::Quaterniond q(place.rotation());
        peer_pose                pose;
        copy(pose.x, place.act(arm));
        copy(pose.w, place.rotation() * speed.angular());
        copy(pose.v, place.rotation() * (speed.linear() + speed.angular().cross(arm)));
        pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
        peer_links_write(&w->links, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<pinocchio_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_pinocchio = {"Pinocchio, Euler", open_world, step, read_world, close_world};
}
