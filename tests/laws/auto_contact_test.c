// The laws of contact by the default method.
#include "support/auto_rig.h"
#include "support/contact_rig.h"

// Nobody sleeps: forces on sleeping bodies are not reported.
static rig law_make(tn_vec3 gravity)
{
    rig r                    = auto_make(gravity);
    r.settings.impulse.sleep = 0;
    return r;
}

static rig law_builtin(const char* spec)
{
    rig r                    = auto_builtin(spec);
    r.settings.impulse.sleep = 0;
    rig_restart(&r);
    return r;
}

#define law_left        1e-7
#define law_finest      2e-3
#define law_counts_rest false
#include "support/contact_laws.h"

// ---- Without a setting, at 1/60 s ----------------------------------------------------------------

typedef struct block {
    rig        r;
    tn_body_id body;
} block;

// A box on a plane that leans so far that tan of its angle is share times friction.
static block make_block(double share, double friction, double speed)
{
    const double angle  = atan(share * friction);
    block        b      = {.r = auto_make(tns_vec(rig_g * sin(angle), 0, -rig_g * cos(angle)))};
    tn_shape_def ground = tn_default_shape_def(TN_SHAPE_PLANE),
                 box    = rig_box(tns_vec(0.2, 0.2, 0.1));
    ground.friction = box.friction = friction;
    box.density                    = 1000;
    tn_body_def floor = tn_default_body_def(), def = tn_default_body_def();
    floor.kind = TN_BODY_STATIC, floor.shapes = &ground, floor.shape_count = 1;
    def.shapes = &box, def.shape_count = 1, def.pose.position = tns_vec(0, 0, 0.1);
    def.velocity.linear = tns_vec(speed, 0, 0);
    CHECK(tn_scene_add_body(b.r.scene, &floor).bits != 0);
    b.body = tn_scene_add_body(b.r.scene, &def);
    rig_ready(&b.r);
    return b;
}

static double speed_of(const block* b)
{
    return tn_state_velocities(b->r.state)[0];
}

static double place_of(const block* b)
{
    return tn_state_coordinates(b->r.state)[0];
}

// The figures are g (sin - friction cos) times 1 s.
TEST(a_block_on_an_incline_sticks_below_friction_and_slides_above)
{
    static const double shares[] = {0.98, 0.999, 1.001, 1.02},
                        speeds[] = {0, 0, 0.005046, 0.100409};
    for (int i = 0; i < 4; ++i) {
        const double angle = atan(shares[i] * 0.6);
        block        b     = make_block(shares[i], 0.6, 0);
        rig_run(&b.r, auto_h, 60);
        CHECK_NEAR(speed_of(&b), fmax(0, rig_g * (sin(angle) - 0.6 * cos(angle))), 1e-7);
        CHECK_NEAR(speed_of(&b), speeds[i], 5e-7);
        CHECK_NEAR(place_of(&b), speeds[i] / 2, 5e-7);
        CHECK_LESS(b.r.report.deepest, 1e-7);
        rig_free(&b.r);
    }
}

TEST(a_sliding_block_slows_down_and_stops_by_coulombs_law)
{
    block b = make_block(0, 0.5, 3);
    rig_run(&b.r, auto_h, 30);
    CHECK_NEAR(speed_of(&b), 0.54750, 1e-6); // 3 - 0.5 g 0.5
    CHECK_NEAR(place_of(&b), 1.5 - 0.5 * 0.5 * rig_g * 0.25, 1e-6);
    rig_run(&b.r, auto_h, 30);
    CHECK_LESS(fabs(speed_of(&b)), 1e-9);
    CHECK_NEAR(place_of(&b), 9 / rig_g, 0.5 * rig_g * auto_h * auto_h); // v^2 / 2 mu g
    rig_free(&b.r);
}

// ---- A gripper -----------------------------------------------------------------------------------

// Two pads of 0.1 kg hang from the ground by parallelograms of upright cranks, which are redundant in
// space, and hold a box between them. A torque on a crank presses its pad to the box: torque / length.
// The box hangs as long as 2 friction force >= m g, and slides with g - 2 friction force / m else.
static const double crank = 0.2, pad_half = 0.01, box_half = 0.15, grip_friction = 0.5;

typedef struct gripper {
    rig        r;
    tn_body_id box;
} gripper;

static gripper make_gripper(double mass, double share)
{
    gripper      g     = {.r = auto_make(tns_vec(0, 0, -rig_g))};
    const double force = share * mass * rig_g / (2 * grip_friction);
    g.box =
        tns_solid(g.r.scene, "box", tns_frame(tns_vec(0, 0, 0)), TNS_AT_REST, mass,
                  rig_box(tns_vec(box_half, box_half, box_half)), (tns_surface){grip_friction, 0});
    for (int side = -1; side <= 1; side += 2) {
        const tn_vec3    at = {side * (box_half + pad_half), 0, 0};
        const tn_body_id pad =
            tns_solid(g.r.scene, NULL, tns_frame(at), TNS_AT_REST, 0.1,
                      rig_box(tns_vec(pad_half, 0.08, 0.08)), (tns_surface){grip_friction, 0});
        for (int i = 0; i < 2; ++i) {
            const tn_vec3 low    = tns_vec(at.x + side * 0.05 * i, 0, 0.1),
                          high   = tns_above(low, crank);
            const tn_body_id rod = tns_rod(g.r.scene, NULL, high, low, 0.005, 0.01);
            tn_joint_def     pin = tns_joint(TN_JOINT_HINGE, TNS_GROUND, rod, high, TNS_Y);
            if (i == 0) pin.force[0] = side * force * crank; // a turn about y takes -z to -x
            CHECK(tn_scene_add_joint(g.r.scene, &pin).bits != 0);
            rig_add_joint(&g.r, TN_JOINT_HINGE, rod, pad, low, TNS_Y);
        }
    }
    rig_ready(&g.r);
    return g;
}

TEST(a_gripper_holds_by_friction_and_lets_go_below_it)
{
    static const double masses[] = {1, 100, 1000}, shares[] = {1.1, 1.001, 0.999, 0.9};
    for (int i = 0; i < 12; ++i) {
        const double share = shares[i % 4], mass = masses[i / 4];
        gripper      g = make_gripper(mass, share);
        rig_run(&g.r, auto_h, 15); // 0.25 s: at 0.9 -0.2452 m/s
        const double a = rig_g * fmin(0, share - 1), v = contact_velocity(&g.r, g.box).linear.z;
        CHECK_NEAR(v, a / 4, 1e-5 + 1e-8 * mass);
        CHECK_NEAR(contact_place(&g.r, g.box).z, a / 32, 1e-6);
        CHECK_LESS(g.r.joint_error, 1.001e-9);
        rig_free(&g.r);
    }
}

TEST(a_gripper_does_not_creep)
{
    for (double mass = 1; mass < 2000; mass *= 1000) {
        gripper g = make_gripper(mass, 1.1);
        rig_run(&g.r, auto_h, 600);
        CHECK_LESS(fabs(contact_place(&g.r, g.box).z), 1e-6);
        rig_free(&g.r);
    }
}

// ---- A ladder ------------------------------------------------------------------------------------

// An even rod of 3 m without friction between floor and wall, let go at 1.2 rad:
//     th'^2 = 2 A (sin th_0 - sin th),   A = 3 g / 2 L,   and it leaves the wall at 2/3 sin th_0
// with L/3 sin th_0 sqrt(2/3 A sin th_0), which its middle keeps.
typedef struct ladder_error {
    double turning, speed; ///< of th'^2 on the wall; of the middle after it [m/s]
} ladder_error;

static ladder_error slide_ladder(double h)
{
    const double length = 3, radius = 0.01, start = 1.2, mass = 10, A = 1.5 * rig_g / length;
    const double I = mass * length * length / 12, s0 = sin(start), left = 2.0 / 3 * s0;
    rig          r = auto_make(tns_vec(0, 0, -rig_g));
    tn_scene_set_ground(r.scene, 0, 0);
    tns_wall(r.scene, "wall", tns_vec(0, 0, 0), TNS_X, (tns_surface){0, 0});
    const tn_vec3 foot = {radius + length * cos(start), 0, radius},
                  top  = {radius, 0, radius + length * s0};
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius = radius, shape.half_length = length / 2, shape.friction = 0;
    tn_body_def body      = rig_body(mass, tns_vec(I, I, I), tns_mix(foot, top, 0.5));
    body.pose.orientation = tns_turn(TNS_Z, tns_unit(tns_sub(top, foot)));
    body.shapes = &shape, body.shape_count = 1;
    const tn_body_id rod = tn_scene_add_body(r.scene, &body);
    rig_ready(&r);
    const double E = rig_energy(&r);
    ladder_error e = {0};
    for (double s = s0; s > 0.2 && rig_step(&r, h); s = rig_axis(&r, rod, TNS_Z).z) {
        const double w  = tn_state_velocity(r.state, rod).angular.y;
        const double sn = rig_axis(&r, rod, TNS_Z).z;
        if (sn > left) e.turning = fmax(e.turning, fabs(w * w - 2 * A * (s0 - sn)));
        CHECK_NEAR(rig_energy(&r), E, 40 * h * h); // of 411 J
        CHECK_LESS(r.report.deepest, 1e-6);
    }
    e.speed = fabs(contact_velocity(&r, rod).linear.x - length / 3 * s0 * sqrt(A * left));
    rig_free(&r);
    return e;
}

TEST(a_ladder_leaves_the_wall_at_two_thirds)
{
    for (int i = 0; i < 3; ++i) {
        const double       h = auto_h / (1 << i);
        const ladder_error e = slide_ladder(h);
        if (contact_tells()) printf("ladder h %g: %.3g %.3g\n", h, e.turning, e.speed);
        CHECK_LESS(e.turning, 2 * h * h);
        CHECK_LESS(e.speed, 2 * h * h);
    }
}

// With friction mu at both ends it stays above cot th = 2 mu / (1 - mu^2) = 0.952.
TEST(a_rough_ladder_stays_above_the_angle_of_friction)
{
    for (int falls = 0; falls < 2; ++falls) { // cot 1.2 = 0.389, cot 0.8 = 0.971
        rig r =
            auto_builtin(falls ? "ladder:friction=0.4,angle=0.8" : "ladder:friction=0.4,angle=1.2");
        const tn_body_id rod = contact_body(&r, "ladder");
        const tn_vec3    at  = contact_place(&r, rod);
        rig_run(&r, auto_h, 60);
        const double moved = rig_distance(contact_place(&r, rod), at);
        if (falls) CHECK(moved > 0.01);
        else CHECK_LESS(moved, 1e-8);
        rig_free(&r);
    }
}

// ---- Cradle, ball and coin -----------------------------------------------------------------------

TEST(a_cradle_lets_as_many_out_as_come_in_at_60_steps_a_second)
{
    const double most = sqrt(2 * rig_g * 0.2 / (1 + 0.4 * 0.05 * 0.05));
    for (int in = 1; in <= 3; ++in) {
        rig    r = auto_builtin(tns_name("cradle:in=%d", in).text);
        double E = rig_energy(&r), out = 0, middle = 0;
        for (int n = 0; n < 60 && rig_step(&r, auto_h); ++n) {
            CHECK_NEAR(rig_energy(&r), E, 1e-3 * in); // of 0.98 J a ball: the pendulum's own
            for (int i = in; i < 5; ++i) {
                const double v =
                    tns_length(contact_velocity(&r, (tn_body_id){(uint32_t)i + 1}).linear);
                if (i >= 5 - in) out = fmax(out, v);
                else middle = fmax(middle, v);
            }
        }
        CHECK_NEAR(out, most, 5e-3 * most); // seen at a step's end, not at the bottom
        CHECK_LESS(middle, 1e-3);
        CHECK_LESS(r.joint_error, 1.001e-9);
        rig_free(&r);
    }
}

// sqrt(2 H / g) (1 + e) / (1 - e) = 4.06 s; impacts a step early make it longer.
TEST(a_bouncing_ball_comes_to_rest)
{
    rig              r    = auto_builtin("bounce");
    const tn_body_id ball = contact_body(&r, "ball");
    rig_run(&r, auto_h, 180);
    CHECK(tns_length(contact_velocity(&r, ball).linear) > 0.1);
    rig_run(&r, auto_h, 180);
    CHECK_NEAR(contact_place(&r, ball).z, 0.1, 1e-6);
    CHECK_LESS(tns_length(contact_velocity(&r, ball).linear), 1e-6);
    rig_free(&r);
}

// The circle that it rolls in is a solution of its equations: lean and energy stay.
TEST(a_coin_rolls_in_its_circle_for_five_seconds)
{
    rig              r    = auto_builtin("coin");
    const tn_body_id coin = contact_body(&r, "coin");
    const double     E    = rig_energy(&r);
    for (int i = 0; i < 300 && rig_step(&r, auto_h); ++i) {
        CHECK_NEAR(rig_energy(&r), E, 2e-5 * E);
        CHECK_NEAR(-rig_axis(&r, coin, TNS_Z).z, sin(0.3), 5e-3);
        CHECK_LESS(r.report.deepest, 2e-6);
    }
    rig_free(&r);
}

TEST(a_coin_that_spins_on_its_rim_only_loses_energy)
{
    rig              r    = auto_builtin("coin:speed=0,spin=40,lean=0.01");
    const tn_body_id coin = contact_body(&r, "coin");
    const double     E    = rig_energy(&r);
    rig_fall         fall = rig_fall_begin(&r);
    for (int i = 0; i < 300 && rig_step(&r, auto_h); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_LESS(r.report.deepest, 2e-6);
    }
    CHECK_LESS(fall.growth, 1e-5 * E);
    CHECK_NEAR(contact_place(&r, coin).z, 0.05, 1e-4); // it has not fallen over
    rig_free(&r);
}
