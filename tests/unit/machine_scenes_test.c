// Built-in machines, as they come: by the default method, at its step. Against ratios, kinematics and rolling.
#include "support/auto_rig.h"

static double rate_of(const rig* r, const char* joint)
{
    return rig_rate(r, tn_model_find_joint(r->model, joint));
}

static tn_body_id body_of(const rig* r, const char* name)
{
    return tn_model_find_body(r->model, name);
}

TEST(a_planetary_gear_turns_by_its_ratio)
{
    rig r = auto_builtin("planetary:torque=2,brake=3");
    rig_run(&r, auto_h, 120);
    const double carrier = rate_of(&r, "output");
    CHECK_NEAR(carrier * 3, 2 * 4.5, 1e-3); // 1 + 70 / 20; the brake takes all
    CHECK_NEAR(rate_of(&r, "sun_shaft"), 4.5 * carrier, 1e-8);
    CHECK_NEAR(rate_of(&r, "pin1"), -3.5 * carrier * 20 / 25, 1e-8);
    CHECK_NEAR(rate_of(&r, "ring_mount"), 0, 1e-9);
    rig_free(&r);
}

// Where three spheres about the elbows meet is seen by their distances; the platform is back where it was in the end.
TEST(a_delta_robot_keeps_its_platform_level_and_brings_it_back)
{
    rig              r        = auto_builtin("delta");
    const tn_body_id platform = body_of(&r, "platform");
    const tn_vec3    start    = tn_state_pose(r.state, platform).position;
    double           far      = 0;
    for (int i = 0; i < 240 && rig_step(&r, auto_h); ++i) {
        const tn_frame at = tn_state_pose(r.state, platform);
        far               = fmax(far, rig_distance(at.position, start));
        CHECK_NEAR(at.orientation.w * at.orientation.w, 1, 1e-9);
        CHECK_LESS(r.report.joint_error, 1.001e-9);
    }
    CHECK(far > 0.1);
    CHECK_LESS(rig_distance(tn_state_pose(r.state, platform).position, start), 1e-5);
    rig_free(&r);
}

TEST(a_car_stands_as_it_is_drawn)
{
    rig              r       = auto_builtin("car:torque=0,drop=0");
    const tn_body_id chassis = body_of(&r, "chassis");
    rig_run(&r, auto_h, 120);
    CHECK_NEAR(tn_state_pose(r.state, chassis).position.z, 0.55, 1e-4);
    CHECK_LESS(tns_length(tn_state_velocity(r.state, chassis).linear), 1e-4);
    rig_free(&r);
}

// Work and energy: two torques, all masses, four wheels that turn and roll.
TEST(a_car_drives_as_fast_as_its_torque_says)
{
    const double wheel = 20 * 0.3 * 0.3 / 2, mass = 1200 + 4 * (4 + 4 + 1 + 8 + 20);
    rig          r = auto_builtin("car:drop=0");
    rig_run(&r, auto_h, 180);
    const tn_vec3 v = tn_state_velocity(r.state, body_of(&r, "chassis")).linear;
    CHECK_NEAR(v.x, 2 * 300 / 0.3 / (mass + 4 * wheel / 0.09) * 3, 1e-3 * v.x);
    CHECK_NEAR(rate_of(&r, "front_left_axle") * 0.3, v.x, 1e-4 * v.x);
    CHECK_NEAR(rate_of(&r, "rear_right_axle") * 0.3, v.x, 1e-4 * v.x);
    CHECK_NEAR(tn_state_pose(r.state, body_of(&r, "chassis")).position.y, 0, 1e-3);
    rig_free(&r);
}
