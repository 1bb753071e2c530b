// A step of the adaptive method: second order; energy changes only by rigidification; substeps
// where joints rotate fast; and changes of a state from outside affect only the trees concerned.
#include "support/adaptive_rig.h"
#include "support/rig.h"

static rig adaptive_builtin(const char* spec, double h, int active)
{
    rig r                      = rig_builtin(spec);
    r.settings.method          = TN_METHOD_ADAPTIVE;
    r.settings.adaptive        = adaptive_settings();
    r.settings.adaptive.active = active;
    r.settings.h               = h;
    rig_restart(&r);
    return r;
}

static double energy_of(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

// 12 rods of 0.1 kg in a chain of 1.2 m: 0.72 m of fall, about 8 J, in free whipping motion for 10
// s. Euler's method, and steps of 1/60 s without substeps, diverge.
TEST(energy_stays_at_any_step)
{
    static const double h[] = {1.0 / 60, 5e-3, 2e-3};
    for (int i = 0; i < 3; ++i) {
        rig          r     = adaptive_builtin("pendulum:n=12", h[i], 0);
        const double start = energy_of(r.state);
        int          split = 0;
        for (double t = 0; t < 10; t += h[i]) {
            CHECK_OK(tn_stepper_step(r.stepper, r.state, h[i], &r.report, NULL));
            split += r.report.substep_count > 1;
        }
        CHECK_LESS(fabs(energy_of(r.state) - start), 6);
        CHECK(i > 0 || split > 100);
        rig_free(&r);
    }
}

// The energy lost is the sum of the reported losses by rigidification.
TEST(energy_is_lost_by_rigidification_alone)
{
    rig          r     = adaptive_builtin("pendulum:n=60", 5e-4, 12);
    const double start = energy_of(r.state);
    double       lost  = 0;
    for (int i = 0; i < 4000; ++i) {
        CHECK_OK(tn_stepper_step(r.stepper, r.state, 5e-4, &r.report, NULL));
        lost += r.report.adaptive.kinetic_loss;
    }
    CHECK(lost > 0.1);
    CHECK_NEAR(energy_of(r.state), start - lost, 0.05 * lost);
    rig_free(&r);
}

static double tip_error(double h, const tn_state* exact)
{
    rig       r     = adaptive_builtin("pendulum:n=6", h, 0);
    const int steps = (int)(0.5 / h + 0.5);
    CHECK_OK(tn_stepper_run(r.stepper, r.state, h, steps, NULL, NULL));
    const tn_vec3 d = tni_sub(tn_state_pose(r.state, (tn_body_id){6}).position,
                              tn_state_pose(exact, (tn_body_id){6}).position);
    rig_free(&r);
    return tni_norm(d);
}

TEST(steps_are_of_second_order)
{
    rig exact             = rig_builtin("pendulum:n=6"); // rk4
    exact.settings.method = TN_METHOD_MULTIPLIER;
    rig_restart(&exact);
    rig_run(&exact, 2.5e-4, 2000);
    const double coarse = tip_error(2e-3, exact.state), fine = tip_error(1e-3, exact.state);
    CHECK_NEAR(coarse / fine, 4, 0.4);
    rig_free(&exact);
}

// ---- Changes from outside -----------------------------------------------------------------------

static void count_active(const tn_model* model, const tn_state* state, int* first, int* second)
{
    const int half = tn_model_counts(model).joints / 2;
    *first = *second = 0;
    for (int i = 1; i <= 2 * half; ++i) {
        const bool active = tn_state_joint_active(state, (tn_joint_id){(uint32_t)i});
        *(i <= half ? first : second) +=
            active && tn_model_joint_rows(model, (tn_joint_id){(uint32_t)i}) < 6;
    }
}

// Two people before a camera, so that each has a quota; one is pushed.
TEST(changes_from_outside_affect_only_their_tree)
{
    rig r                      = rig_builtin("crowd:n=2");
    r.settings.adaptive.active = 20;
    r.settings.adaptive.period = 1000; // only the first choice
    rig_restart(&r);
    rig_run(&r, 1.0 / 120, 10);
    tn_state* untouched;
    CHECK_OK(tn_state_create(r.model, &untouched));
    tn_state_copy(untouched, r.state);
    CHECK_OK(tn_stepper_step(r.stepper, untouched, 1.0 / 120, &r.report, NULL));
    int one[2], two[2];
    count_active(r.model, untouched, &one[0], &one[1]);

    const int        bodies = tn_model_counts(r.model).bodies;
    const tn_body_id last   = {(uint32_t)bodies};
    tn_twist         push   = tn_state_velocity(r.state, last);
    push.linear.x += 0.5;
    CHECK_OK(tn_state_set_velocity(r.state, last, push));
    CHECK_OK(tn_stepper_step(r.stepper, r.state, 1.0 / 120, &r.report, NULL));
    CHECK_INT(r.report.adaptive.choice_count, 1);
    count_active(r.model, r.state, &two[0], &two[1]);
    CHECK_INT(two[0], one[0]);
    // The first one's bodies come first in the state: unchanged to the last bit.
    const size_t half = (size_t)tn_state_coordinate_count(r.state) / 2;
    CHECK(memcmp(tn_state_coordinates(r.state), tn_state_coordinates(untouched),
                 sizeof(double) * half) == 0);
    CHECK(memcmp(tn_state_coordinates(r.state) + half, tn_state_coordinates(untouched) + half,
                 sizeof(double) * half) != 0);
    tn_state_free(untouched);
    rig_free(&r);
}

// ---- Bounds -------------------------------------------------------------------------------------

TEST(one_error_bounds_the_other)
{
    for (int i = 0; i < 3; ++i) {
        rig r = adaptive_builtin("pendulum:n=40", 1e-3, 0);
        if (i != 1) r.settings.adaptive.velocity_error = 0.5;
        if (i != 0) r.settings.adaptive.acceleration_error = 20;
        if (i == 2) r.settings.adaptive.choice = TN_CHOICE_MIXED;
        rig_restart(&r);
        rig_run(&r, 1e-3, 100);
        CHECK(r.report.adaptive.active_count > 0 && r.report.adaptive.active_count < 40);
        rig_free(&r);
    }
}

TEST(joints_of_a_crowd_are_no_more_than_allowed)
{
    rig r                      = rig_builtin("crowd:n=9");
    r.settings.adaptive.active = 90;
    rig_restart(&r);
    for (int i = 0; i < 200; ++i) {
        CHECK_OK(tn_stepper_step(r.stepper, r.state, 1.0 / 60, &r.report, NULL));
        CHECK(r.report.adaptive.active_count <= 90);
    }
    rig_free(&r);
}

static void refused(const char* key, const char* value, const char* says)
{
    rig    r          = rig_builtin("pendulum:n=3");
    tn_why why        = {0};
    r.settings.method = TN_METHOD_ADAPTIVE;
    CHECK_OK(tn_settings_set(&r.settings, key, value, &why));
    tn_stepper* stepper = NULL;
    CHECK_INT(tn_stepper_create(r.model, &r.settings, &stepper, &why), TN_ERR_MODEL);
    CHECK(stepper == NULL && strstr(why.text, says) != NULL);
    rig_free(&r);
}

TEST(settings_without_effect_are_refused)
{
    refused("adaptive.pixel_error", "1", "adaptive.pixels");
    refused("adaptive.weights", "pixels", "adaptive.pixels");
    refused("adaptive.detail", "5", "adaptive.pixels");
}
