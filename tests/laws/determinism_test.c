// The same run gives the same bits: twice, from a copy, and in two parts.
#include "support/rig.h"

static const char* const specs[] = {
    "chain:n=20",  "tree:depth=4", "planar_web", "hand:limit=0.3,tracking=300", "fourbar",
    "peaucellier", "differential", "bricard",    "strandbeest:legs=2"};
enum { SPECS = sizeof specs / sizeof specs[0], STEPS = 60 };

static rig make(int n, tn_integrator integrator)
{
    rig r                            = rig_multiplier(specs[n]);
    r.settings.multiplier.integrator = integrator;
    rig_restart(&r);
    return r;
}

static uint64_t hash_of_run(int n, tn_integrator integrator)
{
    rig r = make(n, integrator);
    rig_run(&r, r.settings.h, STEPS);
    const uint64_t hash = tn_state_hash(r.state);
    CHECK_NEAR(tn_state_time(r.state), STEPS * r.settings.h, 1e-12);
    rig_free(&r);
    return hash;
}

TEST(the_same_run_twice_gives_the_same_bits)
{
    for (int n = 0; n < SPECS; ++n) {
        for (int i = 0; i < 3; ++i)
            CHECK(hash_of_run(n, (tn_integrator)i) == hash_of_run(n, (tn_integrator)i));
        CHECK(hash_of_run(n, TN_INTEGRATOR_EULER) != hash_of_run(n, TN_INTEGRATOR_RK4));
    }
}

TEST(a_reset_state_runs_again_with_the_same_bits) // what the stepper did before does not matter
{
    for (int n = 0; n < SPECS; ++n) {
        rig r = make(n, TN_INTEGRATOR_RK4);
        rig_run(&r, r.settings.h, STEPS);
        const uint64_t hash = tn_state_hash(r.state);
        rig_run(&r, 2 * r.settings.h, 7);
        CHECK(tn_state_hash(r.state) != hash);
        tn_state_reset(r.state);
        rig_run(&r, r.settings.h, STEPS);
        CHECK(tn_state_hash(r.state) == hash);
        rig_free(&r);
    }
}

TEST(a_copy_goes_on_with_the_same_bits)
{
    for (int n = 0; n < SPECS; ++n) {
        rig       r = make(n, TN_INTEGRATOR_RK4);
        tn_state* copy;
        rig_run(&r, r.settings.h, STEPS / 2);
        CHECK_OK(tn_state_create(r.model, &copy));
        tn_state_copy(copy, r.state);
        CHECK(tn_state_hash(copy) == tn_state_hash(r.state));
        rig_run(&r, r.settings.h, STEPS / 2);
        CHECK(tn_state_hash(copy) != tn_state_hash(r.state));
        for (int i = 0; i < STEPS / 2; ++i) // the same stepper, whose history must not matter
            CHECK_OK(tn_stepper_step(r.stepper, copy, r.settings.h, NULL, NULL));
        CHECK(tn_state_hash(copy) == tn_state_hash(r.state));
        CHECK(tn_state_hash(copy) == hash_of_run(n, TN_INTEGRATOR_RK4));
        tn_state_free(copy);
        rig_free(&r);
    }
}

TEST(a_run_in_two_parts_is_one_run)
{
    for (int n = 0; n < SPECS; ++n) {
        for (int i = 0; i < 3; ++i) {
            rig r = make(n, (tn_integrator)i);
            rig_run(&r, r.settings.h, STEPS / 3);
            tn_stepper_free(r.stepper); // a new one in the middle
            CHECK_OK(tn_stepper_create(r.model, &r.settings, &r.stepper, NULL));
            rig_run(&r, r.settings.h, STEPS - STEPS / 3);
            CHECK(tn_state_hash(r.state) == hash_of_run(n, (tn_integrator)i));
            rig_free(&r);
        }
    }
}

// Evaluation and check between steps leave the motion as it is.
TEST(evaluation_does_not_change_the_motion)
{
    for (int n = 0; n < SPECS; ++n) {
        rig      r = make(n, TN_INTEGRATOR_RK4);
        tn_check check;
        for (int i = 0; i < STEPS && rig_step(&r, r.settings.h); ++i) {
            const uint64_t hash = tn_state_hash(r.state);
            rig_evaluate(&r);
            CHECK_OK(tn_stepper_check(r.stepper, r.state, &check, NULL));
            CHECK(tn_state_hash(r.state) == hash);
        }
        CHECK(tn_state_hash(r.state) == hash_of_run(n, TN_INTEGRATOR_RK4));
        rig_free(&r);
    }
}
