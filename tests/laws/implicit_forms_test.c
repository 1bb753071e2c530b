// The forms of an implicit step give the same motion, by every solve and integrator. With exact
// derivatives it differs by what the clamped ones leave out, which vanishes with h.
#include "support/implicit_rig.h"

static const char* const specs[] = {"chain:n=12",
                                    "chain:n=12,joint=hinge,stiffness=5",
                                    "chain:n=8,stiffness=1e6",
                                    "tree:depth=3",
                                    "spider:legs=4,segments=3,fixed=0",
                                    "humanoid",
                                    "robot",
                                    "hand",
                                    "hair:n=8",
                                    "plant:depth=2"};
enum { SPECS = sizeof specs / sizeof specs[0] };

static rig run(const char* spec, const tn_implicit_settings* settings, double h, int steps)
{
    rig r                         = rig_builtin(spec);
    r.settings.method             = TN_METHOD_IMPLICIT;
    r.settings.implicit           = *settings;
    r.settings.implicit.tolerance = 1e-12;
    rig_restart(&r);
    tn_solver solver;
    CHECK_OK(tn_stepper_solver(r.stepper, &solver));
    CHECK_INT(solver.form, settings->form);
    rig_run(&r, h, steps);
    return r;
}

static void check_same(const char* spec, tn_implicit_settings settings)
{
    settings.form                         = TN_IMPLICIT_ROWS;
    rig                           exact   = run(spec, &settings, 1.0 / 60, 20);
    static const tn_implicit_form forms[] = {TN_IMPLICIT_NULLSPACE, TN_IMPLICIT_BLOCKS};
    for (int i = 0; i < 2; ++i) {
        settings.form             = forms[i];
        rig                 r     = run(spec, &settings, 1.0 / 60, 20);
        const impulse_apart apart = impulse_difference(r.state, exact.state);
        // Rounding of one step, about 1e-13, and what the motion makes of it in twenty.
        test_check(apart.q < 1e-9 && apart.u < 1e-7, __FILE__, __LINE__,
                   "%s, solve %d, integrator %d, form %d: off by %.3g and %.3g", spec,
                   (int)settings.solve, (int)settings.integrator, (int)forms[i], apart.q, apart.u);
        rig_free(&r);
    }
    rig_free(&exact);
}

TEST(all_forms_give_the_same_motion)
{
    for (int i = 0; i < SPECS; ++i) {
        tn_implicit_settings settings = tn_default_settings().implicit;
        check_same(specs[i], settings);
        settings.integrator = TN_IMPLICIT_BDF2;
        check_same(specs[i], settings);
        settings.solve = TN_IMPLICIT_LINEAR;
        check_same(specs[i], settings);
        if (i > 3) continue;
        settings.solve = TN_IMPLICIT_NEWTON;
        check_same(specs[i], settings);
    }
}

TEST(exact_derivatives_lead_to_the_same_motion_as_the_step_falls)
{
    static const char* const turning[] = {"spider:legs=4,segments=3,fixed=0", "robot"};
    for (int i = 0; i < 2; ++i) {
        impulse_apart apart[2];
        for (int fine = 0; fine < 2; ++fine) {
            const int            steps    = fine ? 200 : 100;
            tn_implicit_settings settings = tn_default_settings().implicit;
            settings.form                 = TN_IMPLICIT_ROWS;
            rig a                         = run(turning[i], &settings, 0.2 / steps, steps);
            settings.form                 = TN_IMPLICIT_EXACT;
            rig b                         = run(turning[i], &settings, 0.2 / steps, steps);
            apart[fine]                   = impulse_difference(a.state, b.state);
            rig_free(&a);
            rig_free(&b);
        }
        test_check(apart[1].q > 0 && apart[1].q < 0.6 * apart[0].q, __FILE__, __LINE__,
                   "%s: apart by %.3g, then %.3g", turning[i], apart[0].q, apart[1].q);
    }
}
