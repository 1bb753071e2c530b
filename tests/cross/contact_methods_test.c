// The same scene by the multiplier method and by the impulse method. They share the rows of
// contacts and limits, and nothing of the stepping: the first finds the times of events and
// integrates accelerations, the second solves velocities and gaps with impulses over the whole
// step. Both converge to the same motion as h -> 0, at a known rate: second order while the active
// set does not change, first order through an impact, which the impulse method applies at the start
// of its step.
#include "support/contact_rig.h"

enum { BODIES_MAX = 16 };

typedef struct motion {
    int      count;
    tn_frame pose[BODIES_MAX];
    tn_twist velocity[BODIES_MAX];
    double   deepest, joint_error, limit_force;
} motion;

/// Builds a scene into a rig.
typedef void builder(rig* r);

static motion move(builder* build, tn_method method, double h, double time)
{
    motion m = {.count = 0};
    rig    r = contact_make(tns_vec(0, 0, -rig_g));
    build(&r);
    r.settings.method = method;
    rig_ready(&r);
    const int steps = (int)floor(time / h + 0.5);
    for (int i = 0; i < steps && rig_step(&r, time / steps); ++i)
        m.deepest = fmax(m.deepest, r.report.deepest);
    m.count = tn_model_counts(r.model).bodies;
    CHECK(m.count <= BODIES_MAX);
    for (int i = 0; i < m.count; ++i) {
        const tn_body_id id = {(uint32_t)i + 1};
        m.pose[i]           = tn_state_pose(r.state, id);
        m.velocity[i]       = tn_state_velocity(r.state, id);
    }
    m.joint_error = r.joint_error;
    if (tn_model_counts(r.model).joints > 0)
        m.limit_force = tn_stepper_limit_force(r.stepper, (tn_joint_id){1});
    rig_free(&r);
    return m;
}

// Largest error of a body: of its frame's origin and of points one metre along its axes.
static double motions_apart(const motion* a, const motion* b)
{
    double most = 0;
    for (int i = 0; i < a->count; ++i) {
        const tn_frame *p = &a->pose[i], *q = &b->pose[i];
        most = fmax(most, rig_distance(p->position, q->position));
        most = fmax(most, rig_distance(tns_rotate(p->orientation, TNS_X),
                                       tns_rotate(q->orientation, TNS_X)));
        most = fmax(most, rig_distance(tns_rotate(p->orientation, TNS_Z),
                                       tns_rotate(q->orientation, TNS_Z)));
    }
    return most;
}

// Errors against the fine multiplier run are below factor h^order, for all h: the phase of the step
// at an impact is arbitrary, so slopes would show little.
typedef struct promise {
    const char* name;
    double      time, factor;
    int         order;
} promise;

static void check_methods(builder* build, promise p)
{
    const motion fine = move(build, TN_METHOD_MULTIPLIER, 5e-4, p.time);
    for (double h = 0.02; h > 0.002; h /= 2) {
        const motion m     = move(build, TN_METHOD_IMPULSE, h, p.time);
        const double error = motions_apart(&m, &fine);
        if (contact_tells())
            printf("%s h %.4g: apart by %.3g = %.3g h^%d, joints %.2g, passed %.2g\n", p.name, h,
                   error, error / pow(h, p.order), p.order, m.joint_error, m.deepest);
        test_check(error < p.factor * pow(h, p.order) + 1e-9, __FILE__, __LINE__,
                   "%s, h = %g: methods are %g apart", p.name, h, error);
        test_check(m.deepest < 1e-6, __FILE__, __LINE__, "%s: penetration %g m", p.name, m.deepest);
        test_check(m.joint_error < 1e-9, __FILE__, __LINE__, "%s: joint error %g", p.name,
                   m.joint_error);
    }
}

// ---- Limits and ropes ----------------------------------------------------------------------------

// A door about y, at rest with its free end up and to the side, hard ends.
static void add_door(rig* r, double restitution, double lower)
{
    const tn_body_id leaf = rig_add_body(r, 5, tns_vec(0.1, 0.5, 0.4), tns_vec(0.5, 0, 0));
    tn_joint_def     def =
        tns_joint(TN_JOINT_HINGE, TNS_GROUND, leaf, tns_vec(0, 0, 0), tns_vec(0, -1, 0));
    def.name        = "hinge";
    def.restitution = restitution;
    def.limit.given = true;
    def.limit.hard  = true;
    def.limit.lower = lower;
    def.limit.upper = 3;
    tn_scene_add_joint(r->scene, &def);
}
static void build_door(rig* r)
{
    add_door(r, 0, -0.7);
}
static void build_bouncing_door(rig* r)
{
    add_door(r, 0.6, -0.7);
}
static void build_free_door(rig* r)
{
    add_door(r, 0, -2.9);
}

static void build_rope(rig* r) // taut from the start: a pendulum
{
    const tn_body_id bob = rig_add_body(r, 2, tns_vec(0.01, 0.01, 0.01), tns_vec(0.6, 0, -0.8));
    tn_joint_def     def = tns_joint(TN_JOINT_ROPE, TNS_GROUND, bob, tns_vec(0, 0, 0), TNS_Z);
    def.form             = TN_JOINT_BY_POINTS;
    def.length           = 1;
    tn_scene_add_joint(r->scene, &def);
}

static void build_slack_rope(rig* r) // falls, is caught, and swings
{
    const tn_body_id bob = rig_add_body(r, 2, tns_vec(0.01, 0.01, 0.01), tns_vec(0.6, 0, -0.3));
    tn_joint_def     def = tns_joint(TN_JOINT_ROPE, TNS_GROUND, bob, tns_vec(0, 0, 0), TNS_Z);
    def.form             = TN_JOINT_BY_POINTS;
    def.length           = 1;
    tn_scene_add_joint(r->scene, &def);
}

TEST(limits_and_ropes_agree)
{
    check_methods(build_free_door, (promise){"free door", 0.5, 8, 2});
    check_methods(build_door, (promise){"door", 1, 0, 1});
    check_methods(build_bouncing_door, (promise){"bouncing door", 0.7, 3, 1});
    check_methods(build_rope, (promise){"rope", 1, 0.2, 2});
    check_methods(build_slack_rope, (promise){"slack rope", 1, 0.05, 1});
}

// ---- Contacts ------------------------------------------------------------------------------------

static void build_slide(rig* r) // a box slides, a ball slides and rolls, a box is pushed round
{
    const tns_surface s = {0.3, 0};
    tn_scene_set_ground(r->scene, 0.3, 0);
    tns_solid(r->scene, "ball", tns_frame(tns_vec(0, 0, 0.1)), (tn_twist){{2, 1, 0}, {3, -2, 1}}, 1,
              rig_sphere(0.1), s);
    tns_solid(r->scene, "box", tns_frame(tns_vec(0, 2, 0.1)), (tn_twist){{2, 0, 0}, {0, 0, 0}}, 1,
              rig_box(tns_vec(0.3, 0.2, 0.1)), s);
}

static void build_log(rig* r) // rolls down a ramp
{
    const tn_vec3 normal = tns_unit(tns_vec(-0.3, 0, 1));
    tns_wall(r->scene, "ramp", tns_vec(0, 0, 0), normal, (tns_surface){0.6, 0});
    tn_shape_def log = tn_default_shape_def(TN_SHAPE_CYLINDER);
    log.radius = 0.1, log.half_length = 0.3;
    tns_solid(r->scene, "log", (tn_frame){tns_scale(0.1, normal), tns_turn(TNS_Z, TNS_Y)},
              TNS_AT_REST, 3, log, (tns_surface){0.6, 0});
}

static void build_ball(rig* r) // bounces with spin
{
    tn_scene_set_ground(r->scene, 0.4, 0.7);
    tns_solid(r->scene, "ball", tns_frame(tns_vec(0, 0, 0.5)), (tn_twist){{1, 0, 0}, {0, 10, 0}}, 1,
              rig_sphere(0.1), (tns_surface){0.4, 0.7});
}

static void build_drop(rig* r) // a box falls on its edge, tilted about y, and lies down
{
    const tn_quat tilt = tns_turn(TNS_Z, tns_unit(tns_vec(0.3, 0, 1)));
    tn_scene_set_ground(r->scene, 0.5, 0);
    tns_solid(r->scene, "box", (tn_frame){{0, 0, 0.4}, tilt}, TNS_AT_REST, 1,
              rig_box(tns_vec(0.2, 0.1, 0.1)), (tns_surface){0.5, 0});
}

static void build_arm(rig* r) // two rods on hinges fall on the floor, and slide on it
{
    tn_scene_set_ground(r->scene, 0.3, 0);
    const tns_surface s     = {0.3, 0};
    const tn_body_id  upper = tns_capsule(r->scene, "upper", tns_vec(0, 0, 0.6),
                                          tns_vec(0.5, 0, 0.6), 0.03, TNS_AT_REST, 2, s);
    const tn_body_id  lower = tns_capsule(r->scene, "lower", tns_vec(0.5, 0, 0.6),
                                          tns_vec(1, 0, 0.6), 0.03, TNS_AT_REST, 1, s);
    rig_add_joint(r, TN_JOINT_HINGE, TNS_GROUND, upper, tns_vec(0, 0, 0.6), TNS_Y);
    rig_add_joint(r, TN_JOINT_HINGE, upper, lower, tns_vec(0.5, 0, 0.6), TNS_Y);
}

TEST(sliding_and_rolling_agree)
{
    check_methods(build_slide, (promise){"slide", 0.5, 0.3, 1});
    check_methods(build_log, (promise){"log", 0.5, 0, 2});
}

TEST(falls_agree)
{
    check_methods(build_ball, (promise){"ball", 1, 4, 1});
    check_methods(build_drop, (promise){"drop", 0.8, 0.1, 1});
    check_methods(build_arm, (promise){"arm", 0.5, 0.1, 1});
}

// ---- Forces --------------------------------------------------------------------------------------

// The force of a limit at rest: the torque of the weight.
TEST(forces_of_limits_agree)
{
    const motion a      = move(build_door, TN_METHOD_IMPULSE, 1.0 / 60, 2),
                 b      = move(build_door, TN_METHOD_MULTIPLIER, 1e-3, 2);
    const double torque = 5 * rig_g * 0.5 * cos(0.7);
    CHECK_NEAR(a.limit_force, torque, 1e-7);
    CHECK_NEAR(b.limit_force, torque, 1e-7);
}
