// Inputs: target poses set by the user, handles, and what is read back; wind and joint friction
// from a scene to the motion.
#include "state/state.h"
#include "support/rig.h"
#include "tenon/io.h"

static const tn_vec3  origin = {0, 0, 0}, still = {0, 0, 0};
static const double   pi       = 3.141592653589793;
static const tn_frame no_turn  = {.orientation = {1, 0, 0, 0}};
static const double   no_value = (double)NAN;

static double component(tn_vec3 a, int k)
{
    return k == 0 ? a.x : k == 1 ? a.y : a.z;
}

static void check_vector(tn_vec3 a, tn_vec3 b, double tolerance)
{
    for (int k = 0; k < 3; ++k) CHECK_NEAR(component(a, k), component(b, k), tolerance);
}

// A free body with a target whose keys hold it where it starts.
static rig one_body(tn_body_def def, tn_target_def target, tn_vec3 gravity)
{
    static const tn_key key = {0, {.orientation = {1, 0, 0, 0}}};
    rig                 r   = rig_make(gravity);
    target.body             = tn_scene_add_body(r.scene, &def);
    target.keys             = &key;
    target.key_count        = 1;
    CHECK_OK(tn_scene_add_target(r.scene, &target));
    return r;
}

static tn_body_def brick(void)
{
    return rig_body(2, (tn_vec3){0.3, 0.4, 0.5}, origin);
}

static tn_target_def follower(double stiffness, double damping)
{
    tn_target_def def     = tn_default_target_def();
    def.stiffness         = stiffness;
    def.damping           = damping;
    def.angular_stiffness = stiffness;
    def.angular_damping   = damping;
    return def;
}

// ---- Valid and invalid inputs
// --------------------------------------------------------------------

static bool nothing_said(const tn_state* state)
{
    static const tni_handle      none[TN_HANDLES_MAX];
    static const tni_target_pose never;
    return memcmp(state->inputs.handles, none, sizeof none) == 0 &&
           memcmp(state->inputs.targets, &never, sizeof never) == 0;
}

TEST(invalid_inputs_are_refused_and_change_nothing)
{
    rig         r          = one_body(brick(), follower(10, 1), still);
    tn_body_def wall       = tn_default_body_def();
    wall.kind              = TN_BODY_STATIC;
    const tn_body_id fixed = tn_scene_add_body(r.scene, &wall), body = {1};
    rig_ready(&r);
    tn_state*      s   = r.state;
    const tn_frame far = {{no_value, 0, 0}, {1, 0, 0, 0}}, flat = {origin, {0, 0, 0, 0}},
                   torn = {origin, {1, (double)INFINITY, 0, 0}};
    const tn_twist rush = {{0, 0, HUGE_VAL}, {0, 0, 0}}, whirl = {{0, 0, 0}, {no_value, 0, 0}};
    CHECK_INT(tn_state_set_target(s, -1, &no_turn, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 1, &no_turn, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 1, NULL, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &far, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &flat, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &torn, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &no_turn, &rush), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &no_turn, &whirl), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, -1, body, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, TN_HANDLES_MAX, body, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, (tn_body_id){0}, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, fixed, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, (tn_body_id){3}, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, (tn_body_id){UINT32_MAX}, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, far.position, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, origin, -1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, origin, no_value, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, origin, HUGE_VAL, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, origin, 1, -1), TN_ERR_MODEL);
    CHECK_INT(tn_state_grab(s, 0, body, origin, 1, no_value), TN_ERR_MODEL);
    CHECK_INT(tn_state_move(s, -1, origin, still), TN_ERR_MODEL);
    CHECK_INT(tn_state_move(s, TN_HANDLES_MAX, origin, still), TN_ERR_MODEL);
    CHECK_INT(tn_state_move(s, 0, origin, still), TN_ERR_MODEL); // the handle is not in use
    tn_state_release(s, -1);
    tn_state_release(s, TN_HANDLES_MAX);
    tn_state_release(s, 0);
    CHECK(nothing_said(s));
    check_vector(tn_state_handle_force(s, -1), origin, 0);
    check_vector(tn_state_handle_force(s, TN_HANDLES_MAX), origin, 0);
    check_vector(tn_state_handle_force(s, 3), origin, 0);
    check_vector(tn_state_target_force(s, -1).force, origin, 0);
    check_vector(tn_state_target_force(s, 1).torque, origin, 0);

    CHECK_OK(tn_state_grab(s, 0, body, origin, 5, 0));
    CHECK_OK(tn_state_set_target(s, 0, &no_turn, NULL));
    const tni_handle      held   = s->inputs.handles[0];
    const tni_target_pose pushed = s->inputs.targets[0];
    CHECK_INT(tn_state_grab(s, 0, fixed, origin, 1, 0), TN_ERR_MODEL);
    CHECK_INT(tn_state_move(s, 0, far.position, still), TN_ERR_MODEL);
    CHECK_INT(tn_state_move(s, 0, origin, far.position), TN_ERR_MODEL);
    CHECK_INT(tn_state_set_target(s, 0, &no_turn, &rush), TN_ERR_MODEL);
    CHECK(memcmp(&held, &s->inputs.handles[0], sizeof held) == 0);
    CHECK(memcmp(&pushed, &s->inputs.targets[0], sizeof pushed) == 0);
    rig_free(&r);
}

TEST(inputs_are_copied_and_cleared_with_the_state)
{
    rig r = one_body(brick(), follower(10, 1), still);
    rig_ready(&r);
    tn_state* other;
    CHECK_OK(tn_state_create(r.model, &other));
    const uint64_t hash = tn_state_hash(r.state);
    const tn_frame pose = {{1, 2, 3}, {1, 0, 0, 0}};
    CHECK_OK(tn_state_set_target(r.state, 0, &pose, NULL));
    CHECK_OK(tn_state_grab(r.state, 7, (tn_body_id){1}, (tn_vec3){0, 1, 0}, 4, 0));
    CHECK_OK(tn_state_move(r.state, 7, (tn_vec3){0, 1, 0.5}, still));
    CHECK(tn_state_hash(r.state) == hash);
    tn_state_copy(other, r.state);
    check_vector(tn_state_handle_force(other, 7), (tn_vec3){0, 0, 2}, 1e-15);
    check_vector(tn_state_target_force(other, 0).force, (tn_vec3){10, 20, 30}, 1e-14);
    tn_state_reset(r.state);
    CHECK(nothing_said(r.state));
    check_vector(tn_state_target_force(r.state, 0).force, origin, 0);
    check_vector(tn_state_handle_force(other, 7), (tn_vec3){0, 0, 2}, 1e-15); // its own
    tn_state_release(other, 7);
    check_vector(tn_state_handle_force(other, 7), origin, 0);
    CHECK_INT(tn_state_move(other, 7, origin, still), TN_ERR_MODEL);
    CHECK_OK(tn_state_set_target(other, 0, NULL, NULL)); // back to its keys
    check_vector(tn_state_target_force(other, 0).force, origin, 0);
    tn_state_free(other);
    rig_free(&r);
}

// ---- The far end, and its force
// ------------------------------------------------------------------

TEST(user_set_poses_move_on_with_their_velocity)
{
    rig r = one_body(brick(), follower(7, 0.5), still);
    rig_ready(&r);
    tn_state*      s    = r.state;
    const double   rate = 0.8;
    const tn_frame pose = {{1, 0, 0}, {2 * cos(0.15), 0, 0, 2 * sin(0.15)}}; // 0.3 rad, not unit
    const tn_twist move = {{0, 2, 0}, {0, 0, rate}};
    s->time             = 0.25;
    CHECK_OK(tn_state_set_target(s, 0, &pose, &move));
    for (int i = 0; i < 5; ++i) {
        const double    since = 0.3 * i, angle = 0.3 + rate * since;
        const tn_wrench pull = (s->time = 0.25 + since, tn_state_target_force(s, 0));
        check_vector(pull.force, (tn_vec3){7, 7 * 2 * since + 0.5 * 2, 0}, 1e-14);
        check_vector(pull.torque, (tn_vec3){0, 0, 7 * angle + 0.5 * rate}, 1e-13);
    }
    CHECK_OK(tn_state_set_target(s, 0, &pose, NULL)); // rests
    s->time = 9;
    check_vector(tn_state_target_force(s, 0).force, (tn_vec3){7, 0, 0}, 1e-14);
    check_vector(tn_state_target_force(s, 0).torque, (tn_vec3){0, 0, 7 * 0.3}, 1e-13);
    rig_free(&r);
}

TEST(the_rotation_of_a_user_set_pose_is_about_world_axes)
{
    rig r = one_body(brick(), follower(1, 0), still);
    rig_ready(&r);
    // A quarter turn about x, then a quarter turn about the world's z in one second: together a third
    // of a turn about (1, 1, 1).
    const double   c    = sqrt(0.5);
    const tn_frame pose = {origin, {c, c, 0, 0}};
    const tn_twist move = {still, {0, 0, pi / 2}};
    CHECK_OK(tn_state_set_target(r.state, 0, &pose, &move));
    r.state->time  = 1;
    const double a = 2 * pi / 3 / sqrt(3);
    check_vector(tn_state_target_force(r.state, 0).torque, (tn_vec3){a, a, a}, 1e-14);
    rig_free(&r);
}

// All kinds of bodies that a handle can take.
static tn_body_def of_kind(tn_body_kind kind)
{
    tn_body_def def = brick();
    def.kind        = kind;
    if (kind != TN_BODY_PARTICLE) def.com = (tn_vec3){0.1, -0.2, 0};
    if (kind == TN_BODY_AFFINE) def.young = 10, def.volume = 1;
    def.pose.position    = (tn_vec3){1, 2, 3};
    def.pose.orientation = (tn_quat){0.8, 0, 0, 0.6};
    def.velocity.linear  = (tn_vec3){0.5, 0.25, 0};
    if (kind != TN_BODY_PARTICLE) def.velocity.angular.z = 2;
    return def;
}

TEST(a_handle_starts_where_the_point_is_on_every_kind_of_body)
{
    const tn_body_kind kinds[] = {TN_BODY_RIGID, TN_BODY_PARTICLE, TN_BODY_PLANAR, TN_BODY_AFFINE};
    for (int i = 0; i < 4; ++i) {
        rig               r     = rig_make(still);
        const bool        turns = kinds[i] != TN_BODY_PARTICLE;
        const tn_body_def def   = of_kind(kinds[i]);
        const tn_body_id  body  = tn_scene_add_body(r.scene, &def);
        rig_ready(&r);
        // (0.8, 0, 0, 0.6): a turn about z by atan2(0.96, 0.28)
        const tn_vec3 point = {0.5 * turns, 0, 0}, // a particle has but one
            arm             = {0.28 * point.x, 0.96 * point.x, 0};
        const tn_vec3 at    = {1 + arm.x, 2 + arm.y, 3};
        const tn_vec3 rate  = {0.5 - turns * 2 * arm.y, 0.25 + turns * 2 * arm.x, 0};
        CHECK_OK(tn_state_grab(r.state, 2, body, point, 100, 0));
        check_vector(tn_state_handle_force(r.state, 2), origin, 1e-13);
        CHECK_OK(tn_state_grab(r.state, 2, body, point, 0, 3)); // set again: the damper alone
        check_vector(tn_state_handle_force(r.state, 2), tns_scale(-3, rate), 1e-13);
        CHECK_OK(tn_state_grab(r.state, 2, body, point, 100, 3));
        r.state->time = 0.75; // it moves on from then
        CHECK_OK(tn_state_move(r.state, 2, tns_add(at, (tn_vec3){0, 0, 0.5}), rate));
        check_vector(tn_state_handle_force(r.state, 2), (tn_vec3){0, 0, 50}, 1e-12);
        r.state->time += 0.1; // moved by its velocity only
        check_vector(tn_state_handle_force(r.state, 2),
                     tns_add((tn_vec3){0, 0, 50}, tns_scale(10, rate)), 1e-12);
        rig_free(&r);
    }
}

// ---- Motion -------------------------------------------------------------------------------------

static const tn_method methods[] = {TN_METHOD_MULTIPLIER, TN_METHOD_IMPULSE, TN_METHOD_IMPLICIT};
enum { METHODS = sizeof methods / sizeof *methods };

// Errors of a method that is accurate to 1e-3 relative at first order, in the scenes below.
static double allowed(tn_method method)
{
    return method == TN_METHOD_MULTIPLIER ? 1e-10 : method == TN_METHOD_IMPULSE ? 1e-5 : 2e-2;
}

// A free body pulled by the spring of a handle whose far end leaves at speed v: it oscillates about
// that end, x = v t - v sin(w t)/w, w^2 = k/m. Pulled at its centre of mass it does not rotate.
TEST(a_handle_pulls_a_body_by_every_method)
{
    for (int i = 0; i < METHODS; ++i) {
        rig         r      = rig_make(still);
        tn_body_def def    = brick();
        def.com            = (tn_vec3){0.2, 0, 0.1};
        const tn_body_id b = tn_scene_add_body(r.scene, &def);
        r.settings.method  = methods[i];
        rig_ready(&r);
        const double k = 8, v = 0.5, w = sqrt(k / 2);
        CHECK_OK(tn_state_grab(r.state, 0, b, def.com, k, 0));
        CHECK_OK(tn_state_move(r.state, 0, def.com, (tn_vec3){0, v, 0}));
        rig_run(&r, 1e-3, 1500);
        const double t = 1.5, x = v * t - v * sin(w * t) / w;
        check_vector(tn_state_pose(r.state, b).position, (tn_vec3){0, x, 0}, allowed(methods[i]));
        check_vector(tn_state_handle_force(r.state, 0),
                     (tn_vec3){0, k * (v * t - tn_state_pose(r.state, b).position.y), 0}, 1e-12);
        rig_free(&r);
    }
}

// A body that can only rotate, about its principal axis z, follows a user-set orientation that
// rotates on: angle = W t - W sin(w t)/w, w^2 = k/I.
TEST(a_user_set_orientation_turns_a_body_by_every_method)
{
    for (int i = 0; i < METHODS; ++i) {
        tn_target_def target     = tn_default_target_def();
        target.angular_stiffness = 2;
        rig r                    = one_body(brick(), target, still);
        r.settings.method        = methods[i];
        rig_ready(&r);
        const double   W = 1.5, w = sqrt(2 / 0.5), t = 1.2;
        const tn_twist turn = {still, {0, 0, W}};
        CHECK_OK(tn_state_set_target(r.state, 0, &no_turn, &turn));
        rig_run(&r, 1e-3, 1200);
        const tn_quat o     = tn_state_pose(r.state, (tn_body_id){1}).orientation;
        const double  angle = 2 * atan2(o.z, o.w);
        CHECK_NEAR(angle, W * t - W * sin(w * t) / w, allowed(methods[i]));
        CHECK_NEAR(tn_state_target_force(r.state, 0).torque.z, 2 * (W * t - angle), 1e-12);
        rig_free(&r);
    }
}

// A target set by the user pulls a weight up to rest: the force that is read back is its weight,
// and that is stiffness times its distance below.
TEST(at_rest_the_reaction_is_the_weight_and_stiffness_times_distance)
{
    for (int i = 0; i < METHODS; ++i) {
        tn_target_def target = tn_default_target_def();
        target.stiffness     = 200;
        target.damping       = 40; // critical
        rig r                = one_body(brick(), target, (tn_vec3){0, 0, -9.81});
        r.settings.method    = methods[i];
        rig_ready(&r);
        const tn_frame up = {{0.3, 0, 0.5}, {1, 0, 0, 0}};
        CHECK_OK(tn_state_set_target(r.state, 0, &up, NULL));
        rig_run(&r, 1e-3, 4000); // exp(-10 * 4) (1 + 10 * 4) = 1.7e-16
        const tn_vec3 at = tn_state_pose(r.state, (tn_body_id){1}).position;
        check_vector(tn_state_target_force(r.state, 0).force, (tn_vec3){0, 0, 2 * 9.81}, 1e-10);
        check_vector(at, (tn_vec3){0.3, 0, 0.5 - 2 * 9.81 / 200}, 1e-12);
        CHECK_OK(tn_state_set_target(r.state, 0, NULL, NULL)); // and back down to its keys
        rig_run(&r, 1e-3, 4000);
        check_vector(tn_state_pose(r.state, (tn_body_id){1}).position,
                     (tn_vec3){0, 0, -2 * 9.81 / 200}, 1e-12);
        rig_free(&r);
    }
}

// About the far end, y = v t - x: y'' + 2 y' + 4 y = 0. The model itself has no damping: methods
// must find it in the state.
TEST(a_damped_handle_keeps_the_order_of_the_methods)
{
    for (int i = 0; i < METHODS; ++i) {
        double error[2];
        for (int fine = 0; fine < 2; ++fine) {
            rig              r = rig_make(still);
            const tn_body_id b = rig_add_body(&r, 2, (tn_vec3){1, 1, 1}, origin);
            const int        n = fine ? 200 : 100;
            r.settings.method  = methods[i];
            rig_ready(&r);
            CHECK_OK(tn_state_grab(r.state, 0, b, origin, 8, 4));
            CHECK_OK(tn_state_move(r.state, 0, origin, (tn_vec3){0, 0.5, 0}));
            rig_run(&r, 1.0 / n, n);
            const double w = sqrt(3), x = 0.5 - 0.5 * exp(-1) * sin(w) / w;
            error[fine] = fabs(tn_state_pose(r.state, b).position.y - x);
            rig_free(&r);
        }
        CHECK_NEAR(rig_order(error[0], error[1]), tn_method_order(methods[i]), 0.15);
    }
}

// An arm of two rods whose hand is moved slowly, with a stiff handle at the elbow, at frame-rate
// steps.
static rig led_arm(tn_implicit_form form, int steps)
{
    rig              r     = rig_make((tn_vec3){0, 0, -9.81});
    const tn_vec3    elbow = {0.5, 0, 0}, hand = {0.7, 0, 0.45};
    const tn_body_id upper = tns_rod(r.scene, NULL, origin, elbow, 0.02, 1),
                     lower = tns_rod(r.scene, NULL, elbow, hand, 0.02, 1);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, upper, origin, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, upper, lower, elbow, TNS_Y);
    const tn_frame start  = tn_scene_body(r.scene, 1)->pose;
    const tn_key   key    = {0, start};
    tn_target_def  target = follower(3000, 100);
    target.body           = lower;
    target.keys           = &key;
    target.key_count      = 1;
    CHECK_OK(tn_scene_add_target(r.scene, &target));
    r.settings.method             = TN_METHOD_IMPLICIT;
    r.settings.implicit.form      = form;
    r.settings.implicit.tolerance = 1e-12;
    rig_ready(&r);
    CHECK_OK(tn_state_grab(r.state, 0, upper, (tn_vec3){0, 0, 0.2}, 1e5, 300));
    const tn_vec3 point = r.state->inputs.handles[0].position;
    for (int i = 0; i < steps; ++i) {
        const double   t   = tn_state_time(r.state);
        const tn_vec3  way = {0, 0.02, 0.01}, up = {0, 0, 0.015};
        const tn_frame pose = {tns_add(start.position, tns_scale(t, way)), start.orientation};
        const tn_twist move = {way, {0, 0, 0.03}};
        CHECK_OK(tn_state_set_target(r.state, 0, &pose, &move));
        CHECK_OK(tn_state_move(r.state, 0, tns_add(point, tns_scale(t, up)), up));
        if (!rig_step(&r, 1.0 / 60)) break;
    }
    return r;
}

// The forms solve the same equations: they differ by rounding, and by the joint error within 1e-12.
TEST(every_form_of_the_implicit_step_applies_inputs)
{
    const tn_implicit_form forms[] = {TN_IMPLICIT_BLOCKS, TN_IMPLICIT_NULLSPACE};
    rig                    rows    = led_arm(TN_IMPLICIT_ROWS, 120);
    const double*          q       = tn_state_coordinates(rows.state);
    const double           rise    = tn_state_pose(rows.state, (tn_body_id){1}).position.z;
    CHECK_NEAR(rise, 0.03 * 0.25 / 0.45, 1e-3); // a lever, after the stiff handle
    for (int i = 0; i < 2; ++i) {
        rig r = led_arm(forms[i], 120);
        for (int k = 0; k < tn_state_coordinate_count(r.state); ++k)
            CHECK_NEAR(tn_state_coordinates(r.state)[k], q[k], 1e-10);
        rig_free(&r);
    }
    rig_free(&rows);
}

// Moving the far end does the work F.v, F being the force that is read back. What dampers do not
// dissipate increases the energy of the mechanism, springs of handles and targets included.
// Simpson's rule over two steps, and a fourth-order method: the balance holds to h^4 of the
// accelerations in it.
TEST(the_work_done_on_a_handle_is_what_the_energy_grows_by)
{
    rig              r     = rig_make((tn_vec3){0, 0, -9.81});
    const tn_body_id upper = tns_rod(r.scene, NULL, origin, (tn_vec3){0.5, 0, 0}, 0.02, 1),
                     lower =
                         tns_rod(r.scene, NULL, (tn_vec3){0.5, 0, 0}, (tn_vec3){1, 0, 0}, 0.02, 1);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, upper, origin, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, upper, lower, (tn_vec3){0.5, 0, 0}, TNS_Y);
    r.settings.method = TN_METHOD_MULTIPLIER;
    rig_ready(&r);
    const tn_vec3 way = {-0.3, 0.2, 0.6};
    CHECK_OK(tn_state_grab(r.state, 1, lower, (tn_vec3){0, 0, 0.2}, 60, 0));
    CHECK_OK(tn_state_move(r.state, 1, tn_state_pose(r.state, lower).position, way));
    const double before = rig_energy(&r);
    double       work   = 0;
    for (int i = 0; i < 1000; ++i) {
        const double h = 1e-3, power = tns_dot(tn_state_handle_force(r.state, 1), way);
        work += (i == 0 ? 1 : i % 2 == 1 ? 4 : 2) * h / 3 * power;
        if (!rig_step(&r, h)) break;
    }
    work += 1e-3 / 3 * tns_dot(tn_state_handle_force(r.state, 1), way);
    CHECK(fabs(work) > 1);
    CHECK_NEAR(rig_energy(&r) - before, work, 1e-8);
    rig_free(&r);
}

// Poses set each step, as the keys have them at that time, equal the keys. Without damping: at a
// key the velocity jumps, and a step that ends there uses that of before, or of after.
TEST(setting_keyed_poses_step_by_step_equals_the_keys)
{
    tn_key keys[4] = {{0, no_turn}, {0.1, no_turn}, {0.25, no_turn}, {0.5, no_turn}};
    keys[1].pose   = (tn_frame){{0.2, 0, 0}, {0.8, 0.6, 0, 0}};
    keys[2].pose   = (tn_frame){{0.2, 0.3, 0}, {0.8, 0, 0.6, 0}};
    keys[3].pose   = (tn_frame){{0, 0, -0.1}, {0.6, 0, 0, -0.8}};
    for (int i = 0; i < METHODS; ++i) {
        rig           keyed  = rig_make((tn_vec3){0, 0, -9.81}), pushed;
        tn_target_def target = follower(300, 0);
        tn_body_def   def    = brick();
        target.body          = tn_scene_add_body(keyed.scene, &def);
        target.point         = (tn_vec3){0.1, 0, 0.2};
        target.keys          = keys;
        target.key_count     = 4;
        CHECK_OK(tn_scene_add_target(keyed.scene, &target));
        keyed.settings.method = methods[i];
        pushed                = one_body(def, target, (tn_vec3){0, 0, -9.81});
        pushed.settings       = keyed.settings;
        rig_ready(&keyed);
        rig_ready(&pushed);
        for (int step = 0; step < 600; ++step) {
            const double time = tn_state_time(pushed.state);
            tn_frame     pose;
            tn_twist     velocity;
            tni_keys_at(keys, 4, time + 1e-9, &pose, &velocity); // of the segment that begins
            tni_keys_at(keys, 4, time, &pose, &(tn_twist){still, still});
            CHECK_OK(tn_state_set_target(pushed.state, 0, &pose, &velocity));
            if (!rig_step(&pushed, 1e-3) || !rig_step(&keyed, 1e-3)) break;
        }
        for (int k = 0; k < 7; ++k) // rounding, over 600 steps
            CHECK_NEAR(tn_state_coordinates(pushed.state)[k], tn_state_coordinates(keyed.state)[k],
                       1e-11);
        rig_free(&pushed);
        rig_free(&keyed);
    }
}

// A stepper that took the last step and a new one use the same inputs.
TEST(a_step_depends_on_the_state_and_its_inputs_alone)
{
    for (int i = 0; i < METHODS; ++i) {
        rig r = one_body(brick(), follower(50, 2), (tn_vec3){0, 0, -9.81}), fresh = {0};
        r.settings.method = methods[i];
        rig_ready(&r);
        fresh = r;
        CHECK_OK(tn_state_create(r.model, &fresh.state));
        for (int step = 0; step < 20; ++step) {
            const tn_frame pose = {{0.1 * (step % 3), 0, 0.05 * step}, {1, 0, 0, 0.1 * (step % 2)}};
            const tn_body_id body = {1};
            if (step % 4 == 1)
                CHECK_OK(tn_state_grab(r.state, 0, body, (tn_vec3){0.1, 0, 0}, 80, 4));
            if (step % 4 == 2) CHECK_OK(tn_state_move(r.state, 0, pose.position, TNS_X));
            if (step % 4 == 3) tn_state_release(r.state, 0);
            CHECK_OK(tn_state_set_target(r.state, 0, &pose, NULL));
            tn_state_copy(fresh.state, r.state);
            tn_why why;
            CHECK_OK(tn_stepper_create(r.model, &r.settings, &fresh.stepper, &why));
            rig_step(&r, 5e-3);
            rig_step(&fresh, 5e-3);
            CHECK(tn_state_hash(r.state) == tn_state_hash(fresh.state));
            tn_stepper_free(fresh.stepper);
        }
        tn_state_free(fresh.state);
        rig_free(&r);
    }
}

// ---- Wind and friction, from a scene ------------------------------------------------------------

TEST(vectors_run_straight_between_keys)
{
    const tn_vector_key keys[3] = {{1, {1, 0, -1}}, {3, {5, 2, -1}}, {4, {0, 0, 8}}};
    check_vector(tni_vector_at(keys, 3, -HUGE_VAL), (tn_vec3){1, 0, -1}, 0);
    check_vector(tni_vector_at(keys, 3, 1), (tn_vec3){1, 0, -1}, 0);
    check_vector(tni_vector_at(keys, 3, 1.5), (tn_vec3){2, 0.5, -1}, 0);
    check_vector(tni_vector_at(keys, 3, 3), (tn_vec3){5, 2, -1}, 0);
    check_vector(tni_vector_at(keys, 3, 3.5), (tn_vec3){2.5, 1, 3.5}, 0);
    check_vector(tni_vector_at(keys, 3, 4), (tn_vec3){0, 0, 8}, 0);
    check_vector(tni_vector_at(keys, 3, 99), (tn_vec3){0, 0, 8}, 0);
    check_vector(tni_vector_at(keys, 1, 0), (tn_vec3){1, 0, -1}, 0);
    check_vector(tni_vector_at(keys, 1, 2), (tn_vec3){1, 0, -1}, 0);
}

static rig from_text(const char* text, tn_method method)
{
    rig    r   = {.settings = tn_default_settings()};
    tn_why why = {.text = ""};
    rig_must(tn_scene_read(NULL, text, strlen(text), &r.scene, &why), "scene", &why);
    r.settings.method = method;
    rig_ready(&r);
    return r;
}

TEST(friction_alone_makes_a_joint_force_and_wind_alone_a_key)
{
    rig r = from_text(
        "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"a\", \"mass\": 2, \"inertia\": [1,1,1]}],"
        " \"joints\": [{\"type\": \"ball\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0,0,0], \"friction\": 3, \"friction_speed\": 0.5}],"
        " \"drag\": [{\"body\": \"a\", \"linear\": 1}, {\"body\": \"a\", \"linear\": 1, \"wind\": [1,2,3]},"
        " {\"body\": \"a\", \"linear\": 1, \"wind\": {\"keys\": [{\"time\": 1, \"velocity\": [4,5,6]}, {\"time\": 2, \"velocity\": [7,8,9]}]}}]}",
        TN_METHOD_MULTIPLIER);
    CHECK_INT(r.model->actuation_count, 1);
    CHECK(r.model->actuations[0].friction == 3 && r.model->actuations[0].friction_speed == 0.5);
    CHECK(r.model->actuations[0].stiffness == 0 && r.model->actuations[0].damping == 0);
    const tni_drag* drags = r.model->drags;
    CHECK(drags[0].wind_count == 1 && drags[1].wind_count == 1 && drags[2].wind_count == 2);
    check_vector(tni_vector_at(drags[0].wind, 1, 7), origin, 0);
    check_vector(tni_vector_at(drags[1].wind, 1, 7), (tn_vec3){1, 2, 3}, 0);
    check_vector(tni_vector_at(drags[2].wind, 2, 1.5), (tn_vec3){5.5, 6.5, 7.5}, 0);
    rig_free(&r);
}

// m v' = c (a t - v): v = a (t - T + T exp(-t/T)), T = m/c.
TEST(a_growing_wind_carries_a_body_along)
{
    for (int i = 0; i < METHODS; ++i) {
        rig r = from_text(
            "{\"tenon_scene\": 1, \"gravity\": [0,0,0],"
            " \"bodies\": [{\"name\": \"a\", \"mass\": 2, \"inertia\": [1,1,1]}],"
            " \"drag\": [{\"body\": \"a\", \"linear\": 4, \"wind\": {\"keys\": [{\"time\": 0, \"velocity\": [0,0,0]}, {\"time\": 10, \"velocity\": [30,0,-10]}]}}]}",
            methods[i]);
        rig_run(&r, 1e-3, 1000);
        const double T = 0.5, share = 1 - T + T * exp(-1 / T);
        check_vector(tn_state_velocity(r.state, (tn_body_id){1}).linear,
                     (tn_vec3){3 * share, 0, -share}, allowed(methods[i]));
        rig_free(&r);
    }
}

// m v' = -f v/sqrt(v^2 + s^2): G(v) = G(v0) - f t/m with G = sqrt(v^2 + s^2) + s log(v/(s +
// sqrt(v^2 + s^2))).
static double dry(double v, double s)
{
    const double r = sqrt(v * v + s * s);
    return r + s * log(v / (s + r));
}

TEST(dry_friction_brings_a_slider_and_a_ball_to_rest)
{
    for (int i = 0; i < METHODS; ++i) {
        rig r = from_text(
            "{\"tenon_scene\": 1, \"gravity\": [0,0,0],"
            " \"bodies\": [{\"name\": \"a\", \"mass\": 2, \"inertia\": [1,1,1], \"velocity\": [0,1,0]},"
            " {\"name\": \"b\", \"mass\": 1, \"inertia\": [0.5,0.5,0.5], \"angular_velocity\": [0.36,0.48,0.8]}],"
            " \"joints\": [{\"type\": \"slider\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0,0,0], \"axis\": [0,2,0], \"friction\": 1.2, \"friction_speed\": 0.2},"
            " {\"type\": \"ball\", \"bodies\": [\"ground\", \"b\"], \"anchor\": [0,0,0], \"friction\": 0.3, \"friction_speed\": 0.2}]}",
            methods[i]);
        rig_run(&r, 1e-3, 1500);
        const double  v = tn_state_velocity(r.state, (tn_body_id){1}).linear.y;
        const tn_vec3 w = tn_state_velocity(r.state, (tn_body_id){2}).angular;
        CHECK(v > 0.1 && v < 0.5);
        CHECK_NEAR(dry(v, 0.2), dry(1, 0.2) - 1.2 / 2 * 1.5, allowed(methods[i]));
        CHECK_NEAR(dry(tns_length(w), 0.2), dry(1, 0.2) - 0.3 / 0.5 * 1.5, allowed(methods[i]));
        check_vector(w, tns_scale(tns_length(w), (tn_vec3){0.36, 0.48, 0.8}), 1e-9); // on the whole
        rig_free(&r);
    }
}
