// grab: stiffness of the spring of a handle. It should move the whole mechanism, so it follows from
// the mass of all bodies connected with the grabbed one: k = M (2 pi f)^2, well damped. The
// implicit and the adaptive method, and the impulse method with implicit springs, as `auto` has
// them, are stable for any spring; in the others a spring on a mass m is stable only for
// h^2 k / m < 4. The effective mass of the point, including its joints, is measured: by an impulse
// along each axis, on a copy of the state; the largest response gives the smallest mass.
#include "stage/inside.h"

#include <math.h>
#include <stdlib.h>

static const double frequency   = 1.5; // of the whole mechanism on the spring [Hz]
static const double share       = 0.1; // h^2 k / m used; stable below 4
static const double damping_one = 0.7; // damping ratio

// ---- Connected bodies --------------------------------------------------------------------------

static int root_of(int* up, int body)
{
    while (up[body] != body) body = up[body] = up[up[body]];
    return body;
}

// Union-find: connects two bodies if both have mass.
static void tie(const tn_model* model, int* up, uint32_t a, uint32_t b)
{
    if (tn_model_body_mass(model, (tn_body_id){a}) > 0 &&
        tn_model_body_mass(model, (tn_body_id){b}) > 0)
        up[root_of(up, (int)a)] = root_of(up, (int)b);
}

// Mass of all bodies connected by joints [kg]; out of memory: the body's own.
static double mass_of_part(const tng_stage* stage, tn_body_id body)
{
    const tn_model* model = stage->machine.model;
    const int       count = tn_model_counts(model).bodies + 1;
    double          mass  = 0;
    int*            up    = malloc(sizeof *up * (size_t)count);
    if (!up) return tn_model_body_mass(model, body);
    for (int i = 0; i < count; ++i) up[i] = i;
    for (int i = 0; i < tn_scene_joint_count(stage->scene); ++i) {
        const tn_joint_def* def = tn_scene_joint(stage->scene, i);
        if (def->body1.bits && def->body2.bits) tie(model, up, def->body1.bits, def->body2.bits);
    }
    for (int i = 1; i < count; ++i)
        if (root_of(up, i) == root_of(up, (int)body.bits))
            mass += tn_model_body_mass(model, (tn_body_id){(uint32_t)i});
    free(up);
    return mass;
}

// ---- Effective mass ----------------------------------------------------------------------------

static tn_vec3 cross(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Velocity along the axis of a point at r from the origin of its body.
static double speed_at(const tn_state* state, tn_body_id body, tn_vec3 r, tn_vec3 axis)
{
    const tn_twist v = tn_state_velocity(state, body);
    const tn_vec3  w = cross(v.angular, r);
    return (v.linear.x + w.x) * axis.x + (v.linear.y + w.y) * axis.y + (v.linear.z + w.z) * axis.z;
}

// Largest velocity response of the point to a unit impulse along an axis [1/kg]; 0: unknown.
static double largest_answer(tng_stage* stage, tn_body_id body, tn_vec3 r)
{
    const tng_machine* m      = &stage->machine;
    const tn_vec3      axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    tn_wrench*         blows  = calloc((size_t)tn_model_counts(m->model).bodies, sizeof *blows);
    double             most   = 0;
    tn_state_copy(m->before,
                  m->state); // velocities that do not quite fit the joints must not count
    if (!blows || tn_stepper_impulse(m->stepper, m->before, NULL, NULL, NULL) != TN_OK) {
        free(blows);
        return 0;
    }
    const double size = 1e-3 * tn_model_body_mass(m->model, body);
    for (int i = 0; i < 3; ++i) {
        const tn_vec3 p      = {size * axes[i].x, size * axes[i].y, size * axes[i].z};
        const double  before = speed_at(m->before, body, r, axes[i]);
        blows[body.bits - 1] = (tn_wrench){p, cross(r, p)};
        if (tn_stepper_impulse(m->stepper, m->before, blows, NULL, NULL) == TN_OK)
            most = fmax(most, fabs(speed_at(m->before, body, r, axes[i]) - before) / size);
    }
    free(blows);
    return most;
}

// Grabbed point from the origin of the body's frame, world axes.
static tn_vec3 arm_of(const tn_state* state, int handle)
{
    tn_handle held;
    if (!tn_state_handle(state, handle, &held)) return (tn_vec3){0, 0, 0};
    const tn_vec3 x = tn_state_pose(state, held.body).position;
    return (tn_vec3){held.point.x - x.x, held.point.y - x.y, held.point.z - x.z};
}

static bool is_explicit(const tn_stepper* stepper)
{
    const tn_method method = tn_stepper_method(stepper);
    tn_solver       solver;
    if (method != TN_METHOD_IMPULSE) return method == TN_METHOD_MULTIPLIER;
    return tn_stepper_solver(stepper, &solver) != TN_OK || solver.springs == TN_SPRINGS_EXPLICIT;
}

tn_result tng_grab(tng_stage* stage, int handle, tn_body_id body, tn_vec3 point)
{
    tn_state*    state = stage->machine.state;
    const double omega = 2 * 3.14159265358979323846 * frequency, h = stage->settings.h;
    double       mass = mass_of_part(stage, body), k = mass * omega * omega;
    tn_result    result = tn_state_grab(state, handle, body, point, k, 0);
    if (result != TN_OK) return result;
    if (is_explicit(stage->machine.stepper)) {
        const double answer = largest_answer(stage, body, arm_of(state, handle));
        mass = answer > 0 ? fmin(mass, 1 / answer) : tn_model_body_mass(stage->machine.model, body);
        k    = fmin(k, share * mass / (h * h));
    }
    tn_state_wake(state, body);
    return tn_state_grab(state, handle, body, point, k, 2 * damping_one * sqrt(k * mass));
}
