// Contact in first-order dynamics, f = m v, and with semi-implicit Euler steps.
#include "support/contact_rig.h"

static rig ball_over_floor(double height, double restitution)
{
    char spec[80];
    snprintf(spec, sizeof spec, "bounce:height=%g,restitution=%g", height, restitution);
    return rig_builtin(spec);
}

// f = m v: a ball sinks at the speed g, lands, and rests under its weight.
TEST(first_order_dynamics_let_a_ball_sink_and_rest)
{
    for (int i = 0; i < 3; ++i) {
        rig r                            = ball_over_floor(0.5, 0);
        r.settings.multiplier.dynamics   = TN_DYNAMICS_FIRST;
        r.settings.multiplier.integrator = (tn_integrator)i;
        rig_restart(&r);
        const tn_body_id ball = tn_model_find_body(r.model, "ball");
        const double     h    = 0.007;
        for (int k = 1; k <= 20; ++k) {
            rig_run(&r, h, 1);
            const double z = fmax(0.5 - rig_g * k * h, 0);
            CHECK_NEAR(tn_state_pose(r.state, ball).position.z, 0.1 + z, 2e-9);
            CHECK_INT(r.report.contact_count, z == 0);
        }
        rig_evaluate(&r);
        CHECK_NEAR(rig_contact_force(&r, TNS_GROUND, ball).z,
                   rig_g * tn_model_body_mass(r.model, ball), 1e-9);
        rig_free(&r);
    }
}

// Euler's step lands and bounces at the ends of steps: of first order, and no bounce is lost.
TEST(euler_steps_bounce_to_first_order)
{
    const double e = 0.8, g = rig_g, fall = sqrt(2 / g);
    double       error[2];
    for (int i = 0; i < 2; ++i) {
        const double h                   = i == 0 ? 2e-3 : 5e-4;
        rig          r                   = ball_over_floor(1, e);
        r.settings.multiplier.integrator = TN_INTEGRATOR_EULER;
        rig_restart(&r);
        const tn_body_id ball = tn_model_find_body(r.model, "ball");
        double           top  = 0;
        int              hits = 0;
        for (int k = 0; k * h < fall * (1 + 1.9 * e); ++k) { // short of the second landing
            rig_run(&r, h, 1);
            hits += r.report.impact_count;
            if (hits == 1) top = fmax(top, tn_state_pose(r.state, ball).position.z - 0.1);
        }
        CHECK_INT(hits, 1);
        error[i] = fabs(top - e * e);
        CHECK_LESS(error[i], 8 * h);
        rig_free(&r);
    }
    CHECK_LESS(error[1], 0.6 * error[0]);
}

// A box at rest with Euler steps: nothing moves, and the floor carries its weight evenly.
TEST(euler_steps_let_a_box_rest)
{
    rig r                            = rig_builtin("incline:angle=0.3,friction=0.5");
    r.settings.multiplier.integrator = TN_INTEGRATOR_EULER;
    rig_restart(&r);
    const tn_body_id box   = tn_model_find_body(r.model, "box");
    const tn_vec3    start = tn_state_pose(r.state, box).position;
    rig_run(&r, 0.01, 200);
    CHECK_LESS(tns_length(tns_sub(tn_state_pose(r.state, box).position, start)), 1e-9);
    CHECK_INT(tn_stepper_contact_count(r.stepper), 4);
    rig_free(&r);
}

// One call gives all contacts; too little room is filled, and no more, and the count is still that of all.
TEST(contacts_come_as_an_array)
{
    rig r = rig_builtin("incline:angle=0.3,friction=0.5");
    rig_run(&r, 0.01, 20);
    tn_contact all[6], some[6];
    memset(all, 0x55, sizeof all);
    memset(some, 0x55, sizeof some);
    CHECK_INT(tn_stepper_contacts(r.stepper, NULL, 0), 4);
    CHECK_INT(tn_stepper_contacts(r.stepper, all, 6), 4);
    CHECK_INT(tn_stepper_contacts(r.stepper, some, 3), 4);
    CHECK(memcmp(all, some, 3 * sizeof *all) == 0);
    CHECK(memcmp(&some[3], &some[4], sizeof *some) == 0); // untouched
    CHECK(memcmp(&all[4], &all[5], sizeof *all) == 0);
    const tn_body_id box = tn_model_find_body(r.model, "box");
    for (int i = 0; i < 4; ++i) {
        CHECK(all[i].body1.bits == box.bits || all[i].body2.bits == box.bits);
        CHECK_NEAR(tns_length(all[i].normal), 1, 1e-12);
        for (int k = 0; k < i; ++k)
            CHECK(tns_length(tns_sub(all[i].position, all[k].position)) > 0.01);
    }
    rig_free(&r);
}
