// The formulations of the impulse method give the same motion: KKT, J M^-1 J^T, the same with split
// bodies, whatever the parts and the regularisation of redundant rows.
#include "support/impulse_rig.h"

static const char* const specs[] = {"chain:n=6",
                                    "spider:legs=6,segments=2",
                                    "planar_web",
                                    "robot:stiffness=5,damping=0.3",
                                    "fourbar",
                                    "slider_crank:motor=5",
                                    "peaucellier",
                                    "bricard",
                                    "strandbeest:legs=2",
                                    "octahedron",
                                    "rod_and_block:rods=5,rod_mass=1",
                                    "scissor:segments=1"};
enum { SPECS = sizeof specs / sizeof specs[0], STEPS = 50 };

static rig run(const char* spec, const tn_impulse_settings* settings)
{
    rig r              = impulse_builtin(spec, 1e-12);
    r.settings.impulse = *settings;
    rig_restart(&r);
    impulse_start(&r);
    tn_solver solver;
    CHECK_OK(tn_stepper_solver(r.stepper, &solver));
    if (settings->formulation != TN_FORMULATION_AUTO)
        CHECK_INT(solver.formulation, settings->formulation);
    for (int i = 0; i < STEPS && rig_step(&r, 2e-3); ++i) CHECK_INT(r.report.unclosed_count, 0);
    CHECK_LESS(r.joint_error, 1.001e-12);
    CHECK_LESS(r.velocity_error, 1e-9);
    return r;
}

static void check_same(const char* spec, const rig* exact, const tn_impulse_settings* settings)
{
    rig                 r     = run(spec, settings);
    const impulse_apart apart = impulse_difference(r.state, exact->state);
    // The tolerance a step, amplified by the motion in a tenth of a second.
    test_check(apart.q < 1e-9 && apart.u < 1e-7, __FILE__, __LINE__,
               "%s, formulation %d, alpha %d, parts of %d: off by %.3g and %.3g", spec,
               (int)settings->formulation, (int)settings->alpha, settings->part_joints, apart.q,
               apart.u);
    rig_free(&r);
}

static tn_impulse_settings plain(void)
{
    tn_impulse_settings settings = tn_default_settings().impulse;
    settings.tolerance           = 1e-12;
    settings.formulation         = TN_FORMULATION_KKT;
    return settings;
}

TEST(all_formulations_give_the_same_motion)
{
    for (int n = 0; n < SPECS; ++n) {
        tn_impulse_settings settings = plain();
        rig                 exact    = run(specs[n], &settings);
        settings.formulation         = TN_FORMULATION_AUTO;
        check_same(specs[n], &exact, &settings);
        settings.formulation = TN_FORMULATION_SPD;
        check_same(specs[n], &exact, &settings);
        settings.formulation = TN_FORMULATION_SPLIT;
        check_same(specs[n], &exact, &settings);
        for (settings.part_joints = 1; settings.part_joints <= 4; settings.part_joints *= 2)
            check_same(specs[n], &exact, &settings);
        rig_free(&exact);
    }
}

TEST(both_kinds_of_regularisation_give_the_same_motion)
{
    for (int n = 0; n < SPECS; ++n) {
        tn_impulse_settings settings = plain();
        rig                 exact    = run(specs[n], &settings);
        settings.alpha               = TN_ALPHA_NORM;
        for (int i = TN_FORMULATION_KKT; i <= TN_FORMULATION_SPLIT; ++i) {
            settings.formulation = (tn_formulation)i;
            check_same(specs[n], &exact, &settings);
        }
        rig_free(&exact);
    }
}

TEST(a_new_stepper_for_every_step_gives_the_same_bits_in_every_formulation)
{
    for (int n = 0; n < SPECS; ++n) {
        for (int i = TN_FORMULATION_KKT; i <= TN_FORMULATION_SPLIT; ++i) {
            tn_impulse_settings settings = plain();
            settings.formulation         = (tn_formulation)i;
            rig one = run(specs[n], &settings), many = run(specs[n], &settings);
            rig_restart(&many);
            impulse_start(&many);
            for (int k = 0; k < STEPS; ++k) {
                tn_stepper_free(many.stepper);
                CHECK_OK(tn_stepper_create(many.model, &many.settings, &many.stepper, NULL));
                rig_step(&many, 2e-3);
            }
            CHECK(tn_state_hash(one.state) == tn_state_hash(many.state));
            rig_free(&one);
            rig_free(&many);
        }
    }
}
