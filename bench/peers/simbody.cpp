// simbody: a mechanism in Simbody (libsimbody-dev, Apache-2.0): the forest as mobilizers, joints that
// close loops as constraints, which its integrators project. Springs of balls, which it does not have,
// are a custom force. Contact is left out here: its own is compliant.
//     integrator  0: Runge-Kutta-Merson, fourth order, at a fixed step; 1: semi-explicit Euler
extern "C" {
#include "peer.h"
}

#include <Simbody.h>
#include <memory>
#include <vector>

namespace
{

using namespace SimTK;

struct simbody_world {
    const peer_plain*           p;
    int                         kind;
    double                      h = 0;
    MultibodySystem             system;
    SimbodyMatterSubsystem      matter{system};
    GeneralForceSubsystem       forces{system};
    std::vector<MobilizedBody>  bodies; ///< fixed ones are the ground
    State                       start;
    std::unique_ptr<Integrator> integrator;

    const State& state() const { return integrator ? integrator->getState() : start; }
};

Vec3 vector(const double* v)
{
    return Vec3(v[0], v[1], v[2]);
}

Rotation turn(const double* q)
{
    return Rotation(Quaternion(q[0], q[1], q[2], q[3]));
}

void numbers(double* to, const Vec3& v)
{
    for (int k = 0; k < 3; ++k) to[k] = v[k];
}

void numbers(double* to, const Rotation& R)
{
    const Quaternion q = R.convertRotationToQuaternion();
    for (int k = 0; k < 4; ++k) to[k] = q[k];
}

Transform frame_of(const peer_plain* p, int i)
{
    const peer_pose& at = p->bodies[i].start;
    return p->bodies[i].fixed ? Transform() : Transform(turn(at.q), vector(at.x));
}

class Springs : public Force::Custom::Implementation
{
  public:
    explicit Springs(const simbody_world* world) : w(world) {}
    void calcForce(const State& state, Vector_<SpatialVec>& on_bodies, Vector_<Vec3>&,
                   Vector&) const override
    {
        for (int i = 0; i < w->p->joint_count; ++i) {
            const peer_joint& j = w->p->joints[i];
            if (j.stiffness == 0) continue;
            const MobilizedBody &a = w->bodies[j.body1], &b = w->bodies[j.body2];
            double               q1[4], q2[4], torque[3];
            numbers(q1, a.getBodyRotation(state));
            numbers(q2, b.getBodyRotation(state));
            peer_spring(w->p, &j, q1, q2, torque);
            on_bodies[a.getMobilizedBodyIndex()][0] -= vector(torque);
            on_bodies[b.getMobilizedBodyIndex()][0] += vector(torque);
        }
    }
    Real calcPotentialEnergy(const State&) const override { return 0; } // nobody asks

  private:
    const simbody_world* w;
};

// The joint's frame seen from a body: at the anchor, its z (of a slider x) along the axis, or with the
// axes of the child.
Transform seat(const peer_plain* p, int child, int seen_from)
{
    const peer_body&  b  = p->bodies[child];
    const peer_joint& j  = p->joints[b.joint];
    const Transform   me = frame_of(p, child);
    Rotation          R  = me.R();
    if (j.type == PEER_HINGE) R = Rotation(UnitVec3(vector(j.axis)), ZAxis);
    if (j.type == PEER_SLIDER) R = Rotation(UnitVec3(vector(j.axis)), XAxis);
    return frame_of(p, seen_from).invert() * Transform(R, vector(j.anchor));
}

void add_body(simbody_world* w, int i)
{
    const peer_plain* p = w->p;
    const peer_body&  b = p->bodies[i];
    const double*     I = b.inertia;
    if (b.fixed) return;
    const Body::Rigid body(
        MassProperties(b.mass, Vec3(0), Inertia(I[0], I[1], I[2], I[3], I[4], I[5])));
    MobilizedBody& up = w->bodies[b.parent];
    if (b.joint < 0) {
        w->bodies[i] = MobilizedBody::Free(up, frame_of(p, i), body, Transform());
        return;
    }
    const Transform   F = seat(p, i, b.parent), M = seat(p, i, i);
    const peer_joint& j = p->joints[b.joint];
    if (j.type == PEER_BALL) w->bodies[i] = MobilizedBody::Ball(up, F, body, M);
    else if (j.type == PEER_HINGE) w->bodies[i] = MobilizedBody::Pin(up, F, body, M);
    else if (j.type == PEER_SLIDER) w->bodies[i] = MobilizedBody::Slider(up, F, body, M);
    else w->bodies[i] = MobilizedBody::Weld(up, F, body, M);
    if (j.driven) Motion::Steady(w->bodies[i], j.body2 == i ? j.speed : -j.speed);
}

void close_loop(simbody_world* w, const peer_joint& j)
{
    MobilizedBody & a = w->bodies[j.body1], &b = w->bodies[j.body2];
    const Transform A = frame_of(w->p, j.body1), B = frame_of(w->p, j.body2);
    const Vec3      at = vector(j.anchor);
    Constraint::Ball(a, ~A * at, b, ~B * at);
    if (j.type != PEER_HINGE) return;
    const UnitVec3 z(vector(j.axis)), x = z.perp(), y(z % x);
    Constraint::ConstantAngle(a, ~A.R() * z, b, ~B.R() * x);
    Constraint::ConstantAngle(a, ~A.R() * z, b, ~B.R() * y);
}

bool expressible(const peer_plain* p, tn_why* why)
{
    if (p->shape_count > 0) return peer_refuse(why, "Simbody", "contact");
    for (int i = 0; i < p->joint_count; ++i) {
        const peer_joint& j = p->joints[i];
        if (j.closes && (j.type == PEER_WELD || j.type == PEER_SLIDER || j.driven))
            return peer_refuse(why, "Simbody", "such a joint in a loop");
    }
    return true;
}

void set_rates(simbody_world* w, int i)
{
    const peer_body& b        = w->p->bodies[i];
    double           rates[6] = {0};
    if (b.fixed || (b.joint >= 0 && w->p->joints[b.joint].type == PEER_WELD)) return;
    peer_rates(w->p, i, rates);
    if (b.joint < 0) {
        const Rotation R = turn(b.start.q);
        w->bodies[i].setUToFitVelocity(w->start,
                                       SpatialVec(~R * vector(rates + 3), ~R * vector(rates)));
    } else {
        const int n = w->p->joints[b.joint].type == PEER_BALL ? 3 : 1;
        for (int k = 0; k < n; ++k) w->bodies[i].setOneU(w->start, k, rates[k]);
    }
}

void build(simbody_world* w)
{
    const peer_plain* p       = w->p;
    bool              springs = false;
    w->bodies.assign(p->body_count, w->matter.Ground());
    for (int k = 0; k + 1 < p->body_count; ++k) add_body(w, p->order[k]);
    for (int i = 0; i < p->joint_count; ++i) {
        if (p->joints[i].closes) close_loop(w, p->joints[i]);
        springs = springs || p->joints[i].stiffness > 0;
    }
    Force::Gravity(w->forces, w->matter, vector(p->gravity));
    if (springs) Force::Custom(w->forces, new Springs(w));
    w->start = w->system.realizeTopology();
    w->system.realizeModel(w->start);
    for (int i = 1; i < p->body_count; ++i) set_rates(w, i);
    w->system.realize(w->start, Stage::Velocity);
}

void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    if (!expressible(p, why)) return nullptr;
    simbody_world* w = new simbody_world;
    w->p             = p;
    w->kind          = options->integrator;
    try {
        build(w);
        return w;
    } catch (const std::exception&) {
        peer_refuse(why, "Simbody", "this: it throws");
    }
    delete w;
    return nullptr;
}

// Error control is off: h is h. Projection brings constraints to 1e-6 where they are left by more.
void begin(simbody_world* w, double h)
{
    const State now = w->state();
    w->h            = h;
    if (w->kind == 0) w->integrator.reset(new RungeKuttaMersonIntegrator(w->system));
    else w->integrator.reset(new SemiExplicitEulerIntegrator(w->system, h));
    if (w->kind == 0) w->integrator->setFixedStepSize(h);
    w->integrator->setConstraintTolerance(1e-6);
    w->integrator->initialize(now);
}

bool step(void* world, double h, tn_why* why)
{
    simbody_world* w = static_cast<simbody_world*>(world);
    try {
        if (w->h != h) begin(w, h);
        const double end = w->integrator->getTime() + h;
        while (w->integrator->getTime() < end - 1e-6 * h) w->integrator->stepTo(end);
        return true;
    } catch (const std::exception&) {
        return peer_refuse(why, "Simbody", "such a step: it throws");
    }
}

bool evaluate(void* world, double* a, tn_why*)
{
    simbody_world* w = static_cast<simbody_world*>(world);
    w->start.invalidateAllCacheAtOrAbove(Stage::Position);
    w->system.realize(w->start, Stage::Acceleration);
    for (int i = 1; a && i < w->p->body_count; ++i) {
        const SpatialVec& A = w->bodies[i].getBodyAcceleration(w->start);
        numbers(a + 6 * i, A[1]);
        numbers(a + 6 * i + 3, A[0]);
    }
    return true;
}

void read_world(const void* world, tn_state* state)
{
    const simbody_world* w   = static_cast<const simbody_world*>(world);
    const State&         now = w->state();
    w->system.realize(now, Stage::Velocity);
    for (int i = 1; i < w->p->body_count; ++i) {
        if (w->p->bodies[i].fixed) continue;
        const SpatialVec& V = w->bodies[i].getBodyVelocity(now);
        const Transform&  X = w->bodies[i].getBodyTransform(now);
        peer_pose         pose;
        numbers(pose.x, X.p());
        numbers(pose.q, X.R());
        numbers(pose.v, V[1]);
        numbers(pose.w, V[0]);
        peer_put(w->p, i, &pose, state);
    }
}

void close_world(void* world)
{
    delete static_cast<simbody_world*>(world);
}

} // namespace

extern "C" {
const peer_engine peer_simbody = {"Simbody", open_world, step, read_world, close_world, evaluate};
}
