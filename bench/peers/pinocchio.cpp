// pinocchio: a tree as a model of Pinocchio (PyPI libpinocchio: headers and libraries). It is a library
// of algorithms without an integrator: its articulated-body algorithm (aba) gives the accelerations
// in steps that are ours. Springs are torques. Loops and contact are left out here.
//     integrator  0: the semi-implicit step of its own examples, with its integrate()
//                 1: classical Runge-Kutta in its coordinates, quaternions made unit at the end
extern "C" {
#include "peer.h"
}

#include <cmath>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <string>
#include <vector>

namespace
{

using pinocchio::SE3;

/// Where a body is found: a joint, and its place in the joint's frame. Welded bodies share one.
struct spot {
    pinocchio::JointIndex joint = 0;
    SE3                   place = SE3::Identity();
};

struct pinocchio_world {
    const peer_plain* p;
    bool              rk4;
    pinocchio::Model  model;
    pinocchio::Data   data;
    std::vector<spot> spots; ///< by body
    std::vector<SE3>  seats; ///< of joints, in the world at the start
    Eigen::VectorXd   q, v, tau, next, rate[4], force[4];
};

Eigen::Vector3d vector(const double* v)
{
    return Eigen::Vector3d(v[0], v[1], v[2]);
}

SE3 frame_of(const peer_plain* p, int i)
{
    const peer_pose& at = p->bodies[i].start;
    if (p->bodies[i].fixed) return SE3::Identity();
    return SE3(Eigen::Quaterniond(at.q[0], at.q[1], at.q[2], at.q[3]).toRotationMatrix(),
               vector(at.x));
}

// A joint's frame has its body's axes and stands in the joint; of one that floats, in the body.
pinocchio::JointIndex add_joint(pinocchio_world* w, int i)
{
    const peer_body&            b    = w->p->bodies[i];
    const pinocchio::JointIndex up   = w->spots[b.parent].joint;
    const std::string           name = "j" + std::to_string(i);
    SE3                         seat = frame_of(w->p, i);
    if (b.joint >= 0) seat.translation(vector(w->p->joints[b.joint].anchor));
    const SE3 place = w->seats[up].actInv(seat);
    w->seats.push_back(seat);
    if (b.joint < 0) return w->model.addJoint(up, pinocchio::JointModelFreeFlyer(), place, name);
    const peer_joint&     j    = w->p->joints[b.joint];
    const Eigen::Vector3d axis = seat.rotation().transpose() * vector(j.axis);
    if (j.type == PEER_BALL)
        return w->model.addJoint(up, pinocchio::JointModelSpherical(), place, name);
    if (j.type == PEER_HINGE)
        return w->model.addJoint(up, pinocchio::JointModelRevoluteUnaligned(axis), place, name);
    return w->model.addJoint(up, pinocchio::JointModelPrismaticUnaligned(axis), place, name);
}

void add_body(pinocchio_world* w, int i)
{
    const peer_body& b  = w->p->bodies[i];
    const double*    in = b.inertia;
    if (b.fixed) return;
    const bool welded = b.joint >= 0 && w->p->joints[b.joint].type == PEER_WELD;
    w->spots[i].joint = welded ? w->spots[b.parent].joint : add_joint(w, i);
    w->spots[i].place = w->seats[w->spots[i].joint].actInv(frame_of(w->p, i));
    Eigen::Matrix3d I;
    I << in[0], in[3], in[4], in[3], in[1], in[5], in[4], in[5], in[2];
    w->model.appendBodyToJoint(w->spots[i].joint,
                               pinocchio::Inertia(b.mass, Eigen::Vector3d::Zero(), I),
                               w->spots[i].place);
}

bool expressible(const peer_plain* p, tn_why* why)
{
    if (p->shape_count > 0) return peer_refuse(why, "Pinocchio", "contact");
    if (p->loop_count > 0) return peer_refuse(why, "Pinocchio", "loops");
    for (int i = 0; i < p->joint_count; ++i)
        if (p->joints[i].driven) return peer_refuse(why, "Pinocchio", "a drive");
    return true;
}

void set_rates(pinocchio_world* w)
{
    for (int i = 1; i < w->p->body_count; ++i) {
        const peer_body& b = w->p->bodies[i];
        if (b.fixed || (b.joint >= 0 && w->p->joints[b.joint].type == PEER_WELD)) continue;
        double       rates[6] = {0};
        const double at       = w->model.joints[w->spots[i].joint].idx_v();
        peer_rates(w->p, i, rates);
        if (b.joint < 0)
            for (int k = 0; k < 2; ++k) peer_turn_back(b.start.q, rates + 3 * k, rates + 3 * k);
        const int n = w->model.joints[w->spots[i].joint].nv();
        for (int k = 0; k < n; ++k) w->v[static_cast<int>(at) + k] = rates[k];
    }
}

void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    if (!expressible(p, why)) return nullptr;
    pinocchio_world* w = new pinocchio_world;
    w->p               = p;
    w->rk4             = options->integrator == 1;
    w->spots.resize(p->body_count);
    w->seats.push_back(SE3::Identity());
    for (int k = 0; k + 1 < p->body_count; ++k) add_body(w, p->order[k]);
    w->model.gravity.linear(vector(p->gravity));
    w->data = pinocchio::Data(w->model);
    w->q    = pinocchio::neutral(w->model);
    w->v = w->tau = Eigen::VectorXd::Zero(w->model.nv);
    w->next       = w->q;
    for (int s = 0; s < 4; ++s) w->rate[s] = w->q, w->force[s] = w->v;
    set_rates(w);
    return w;
}

// Joint 1 stands before all others, and a free one is placed by the ground's frame: the neutral
// configuration is the start.
const Eigen::VectorXd& accelerations(pinocchio_world* w, const Eigen::VectorXd& q,
                                     const Eigen::VectorXd& v)
{
    for (int i = 1; i < w->p->body_count; ++i) {
        const int joint = w->p->bodies[i].joint;
        if (joint < 0 || w->p->joints[joint].stiffness == 0) continue;
        const double  k  = w->p->joints[joint].stiffness;
        const auto&   me = w->model.joints[w->spots[i].joint];
        const double* x  = q.data() + me.idx_q();
        if (me.nq() == 1) {
            w->tau[me.idx_v()] = -k * x[0];
            continue;
        }
        const Eigen::Vector3d axis(x[0], x[1], x[2]);
        const double          length = axis.norm();
        const double          angle  = 2 * std::atan2(x[3] < 0 ? -length : length, std::fabs(x[3]));
        w->tau.segment<3>(me.idx_v()) = -k * (length > 0 ? angle / length : 2.0) * axis;
    }
    return pinocchio::aba(w->model, w->data, q, v, w->tau, pinocchio::Convention::LOCAL);
}

// dq/dt of quaternions (x y z w, turning in body axes), positions (moving in body axes) and angles.
void rates_of(const pinocchio_world* w, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
              Eigen::VectorXd& rate)
{
    for (size_t j = 1; j < w->model.joints.size(); ++j) {
        const auto& me = w->model.joints[j];
        int         at = me.idx_q(), from = me.idx_v();
        if (me.nq() == 1) {
            rate[at] = v[from];
            continue;
        }
        if (me.nq() == 7) {
            const Eigen::Quaterniond turn(q[at + 6], q[at + 3], q[at + 4], q[at + 5]);
            rate.segment<3>(at) = turn * v.segment<3>(from).eval();
            at += 3, from += 3;
        }
        const Eigen::Vector3d a = q.segment<3>(at), o = v.segment<3>(from);
        rate.segment<3>(at) = 0.5 * (q[at + 3] * o + a.cross(o));
        rate[at + 3]        = -0.5 * a.dot(o);
    }
}

void step_rk4(pinocchio_world* w, double h)
{
    static const double reach[4] = {0, 0.5, 0.5, 1};
    Eigen::VectorXd     q = w->q, v = w->v;
    for (int s = 0; s < 4; ++s) {
        if (s > 0) {
            q = w->q + reach[s] * h * w->rate[s - 1];
            v = w->v + reach[s] * h * w->force[s - 1];
            pinocchio::normalize(w->model, q);
        }
        w->force[s] = accelerations(w, q, v);
        rates_of(w, q, v, w->rate[s]);
    }
    w->q += h / 6 * (w->rate[0] + 2 * w->rate[1] + 2 * w->rate[2] + w->rate[3]);
    w->v += h / 6 * (w->force[0] + 2 * w->force[1] + 2 * w->force[2] + w->force[3]);
    pinocchio::normalize(w->model, w->q);
}

bool step(void* world, double h, tn_why*)
{
    pinocchio_world* w = static_cast<pinocchio_world*>(world);
    if (w->rk4) return step_rk4(w, h), true;
    w->v += h * accelerations(w, w->q, w->v);
    pinocchio::integrate(w->model, w->q, h * w->v, w->next);
    w->q.swap(w->next);
    return true;
}

void copy(double* to, const Eigen::Vector3d& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

bool evaluate(void* world, double* a, tn_why*)
{
    pinocchio_world* w = static_cast<pinocchio_world*>(world);
    accelerations(w, w->q, w->v);
    if (!a) return true;
    const Eigen::VectorXd rates = w->data.ddq;
    pinocchio::forwardKinematics(w->model, w->data, w->q, w->v, rates);
    for (int i = 1; i < w->p->body_count; ++i) {
        const spot&              s   = w->spots[i];
        const pinocchio::Motion& A   = w->data.a[s.joint];
        const pinocchio::Motion& V   = w->data.v[s.joint];
        const Eigen::Vector3d    arm = s.place.translation(), o = V.angular();
        const Eigen::Vector3d    linear =
            A.linear() + o.cross(V.linear()) + A.angular().cross(arm) + o.cross(o.cross(arm));
        copy(a + 6 * i, w->data.oMi[s.joint].rotation() * linear);
        copy(a + 6 * i + 3, w->data.oMi[s.joint].rotation() * A.angular());
    }
    return true;
}

void read_world(const void* world, tn_state* state)
{
    pinocchio_world* w = static_cast<pinocchio_world*>(const_cast<void*>(world));
    pinocchio::forwardKinematics(w->model, w->data, w->q, w->v);
    for (int i = 1; i < w->p->body_count; ++i) {
        const spot&              s     = w->spots[i];
        const SE3&               place = w->data.oMi[s.joint];
        const pinocchio::Motion& speed = w->data.v[s.joint]; // of the joint's frame, in its axes
        const Eigen::Vector3d    arm   = s.place.translation();
        const Eigen::Quaterniond q(place.rotation() * s.place.rotation());
        peer_pose                pose;
        copy(pose.x, place.act(arm));
        copy(pose.w, place.rotation() * speed.angular());
        copy(pose.v, place.rotation() * (speed.linear() + speed.angular().cross(arm)));
        pose.q[0] = q.w(), pose.q[1] = q.x(), pose.q[2] = q.y(), pose.q[3] = q.z();
        peer_put(w->p, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<pinocchio_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_pinocchio = {"Pinocchio", open_world,  step,
                                    read_world,  close_world, evaluate};
}
