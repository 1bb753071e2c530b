// Joints stay closed: after every step with projection, boundedly with Baumgarte's terms, not at
// all with neither.
#include "support/rig.h"

TEST(projection_keeps_every_joint_closed)
{
    static const char* const specs[] = {
        "chain:n=30",
        "chain:n=30,joint=hinge",
        "pendulum:n=20",
        "tree:depth=4",
        "spider:legs=6,segments=3",
        "planar_web",
        "hand",
        "robot",
        "humanoid",
        "fourbar",
        "fourbar:motor=3",
        "slider_crank",
        "peaucellier",
        "scissor:segments=3",
        "strandbeest:legs=2",
        "strandbeest:legs=2,motor=0",
        "bricard",
        "octahedron_cube:n=1",
        "octahedron_tube:rings=1,around=4",
        "rod_and_block",
        "differential",
    };
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        rig r = rig_multiplier(specs[n]);
        CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
        rig_run(&r, r.settings.h, 250);
        test_check(r.joint_error <= 1e-10, __FILE__, __LINE__, "%s: joint error %g", specs[n],
                   r.joint_error);
        test_check(r.velocity_error <= 1e-9, __FILE__, __LINE__, "%s: velocity error %g", specs[n],
                   r.velocity_error);
        double worst = 0; // from the state, not from the stepper's report
        for (int i = 1; i <= tn_model_counts(r.model).joints; ++i)
            worst = fmax(worst, tn_state_joint_error(r.state, (tn_joint_id){(uint32_t)i}));
        test_check(worst <= 1e-10, __FILE__, __LINE__, "%s: joint error %g", specs[n], worst);
        rig_free(&r);
    }
}

// Which rows are redundant may change along the motion: loops must pass all their configurations,
// with large steps, and without losing energy.
TEST(loops_with_redundant_rows_run_through_all_their_places)
{
    static const struct {
        const char* spec;
        int         steps;
    } runs[] = {{"bricard", 700},
                {"octahedron_cube:n=1", 625},
                {"octahedron_tube:rings=1,around=4", 250},
                {"peaucellier", 500},
                {"scissor:segments=2", 500}};
    for (size_t n = 0; n < sizeof runs / sizeof runs[0]; ++n) {
        rig          r     = rig_builtin(runs[n].spec);
        const double E     = rig_energy(&r);
        double       worst = 0, fastest = 0;
        for (int i = 0; i < runs[n].steps && rig_step(&r, 4e-3); ++i) {
            worst   = fmax(worst, fabs(rig_energy(&r) - E));
            fastest = fmax(fastest, tn_state_energy(r.state).kinetic);
        }
        test_check(worst <= 1e-4 * fastest, __FILE__, __LINE__, "%s: energy off by %g of %g",
                   runs[n].spec, worst, fastest);
        CHECK_LESS(r.joint_error, 1e-10);
        rig_free(&r);
    }
}

typedef struct drift {
    double first, last; ///< largest joint error in the first and in the last fifth of the run
} drift;

static drift drift_of(const char* spec, double h, int steps, double baumgarte)
{
    rig r                           = rig_builtin(spec);
    r.settings.multiplier.project   = false;
    r.settings.multiplier.baumgarte = baumgarte;
    rig_restart(&r);
    drift d = {0, 0};
    for (int i = 0; i < steps && rig_step(&r, h); ++i) {
        if (i < steps / 5) d.first = fmax(d.first, r.report.joint_error);
        if (i >= steps - steps / 5) d.last = fmax(d.last, r.report.joint_error);
    }
    rig_free(&r);
    return d;
}

TEST(baumgarte_bounds_the_drift_that_grows_without)
{
    static const char* const specs[] = {"chain:n=6", "fourbar", "slider_crank"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        const drift held = drift_of(specs[n], 2e-3, 2500, 0.02),
                    free = drift_of(specs[n], 2e-3, 2500, 0);
        CHECK_LESS(10 * free.first, free.last); // grows
        CHECK_LESS(held.last, 0.1 * free.last); // and would not have to
        CHECK_LESS(held.last, 1e-4);
    }
}
