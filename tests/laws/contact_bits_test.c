// Same state, same step, whichever stepper takes it: states during contacts, slides and impacts are
// copied and stepped by steppers with different histories. What a stepper keeps from one step to
// the next (memory, warm starts) must not change results.
#include "support/contact_rig.h"

static void check_bits(const char* spec, double h, int before, int after)
{
    rig         r     = rig_builtin(spec);
    tn_state*   copy  = NULL;
    tn_stepper *fresh = NULL, *used = NULL;
    tn_why      why = {.text = ""};
    rig_must(tn_state_create(r.model, &copy), "state", &why);
    rig_must(tn_stepper_create(r.model, &r.settings, &used, &why), "stepper", &why);
    for (int i = 0; i < before + after; ++i) {
        if (i >= before) {
            tn_state_copy(copy, r.state);
            rig_must(tn_stepper_create(r.model, &r.settings, &fresh, &why), "stepper", &why);
            CHECK_OK(tn_stepper_step(fresh, copy, h, NULL, &why));
            tn_stepper_free(fresh);
            const uint64_t by_fresh = tn_state_hash(copy);
            tn_state_copy(copy, r.state);
            CHECK_OK(tn_stepper_step(used, copy, h, NULL, &why)); // it skipped all the others
            CHECK(tn_state_hash(copy) == by_fresh);
            if (!rig_step(&r, h)) break;
            CHECK(tn_state_hash(r.state) == by_fresh);
        } else if (!rig_step(&r, h)) {
            break;
        }
    }
    tn_stepper_free(used);
    tn_state_free(copy);
    rig_free(&r);
}

TEST(a_step_depends_on_the_state_alone)
{
    check_bits("ladder:friction=0.2", 2e-3, 250, 150);
    check_bits("incline:friction=0.6,speed=2", 4e-3, 20, 60);
    check_bits("incline:shape=sphere,friction=0.1,speed=2", 4e-3, 0, 80);
    check_bits("bounce", 5e-3, 60, 120);
    check_bits("cradle", 2e-3, 240, 60);
    check_bits("painleve", 2e-3, 0, 200);
    check_bits("heap:links=8,friction=0", 2e-3, 120, 80);
    check_bits("heap:links=6,friction=0.5", 2e-3, 120, 80);
}

TEST(a_run_repeats_itself)
{
    const char* specs[] = {"ladder",      "incline:speed=2", "bounce",
                           "cradle:in=2", "painleve",        "heap:links=6"};
    for (int i = 0; i < 6; ++i) {
        uint64_t hash[2];
        for (int k = 0; k < 2; ++k) {
            rig r = rig_builtin(specs[i]);
            rig_run(&r, 2e-3, 250);
            hash[k] = tn_state_hash(r.state);
            rig_free(&r);
        }
        CHECK(hash[0] == hash[1]);
    }
}
