// The implicit method converges to the motion that the multiplier method finds: backward Euler at
// first order, two-step backward differences at second, in trees and loops, by every solve that
// promises it. A step depends on the state alone.
#include "support/implicit_rig.h"

typedef struct scheme {
    tn_implicit_solve      solve;
    tn_implicit_integrator integrator;
    int                    order;
} scheme;

static rig made(const char* spec, tn_method method, const scheme* how)
{
    rig r                         = rig_builtin(spec);
    r.settings.method             = method;
    r.settings.implicit.tolerance = 1e-12;
    if (how != NULL) {
        r.settings.implicit.solve      = how->solve;
        r.settings.implicit.integrator = how->integrator;
    }
    rig_restart(&r);
    impulse_start(&r);
    return r;
}

static void check_order(const char* spec, const scheme* how, double time, int steps)
{
    enum { SIZES = 3, FINER = 8 };
    rig           exact = made(spec, TN_METHOD_MULTIPLIER, NULL);
    impulse_apart error[SIZES];
    rig_run(&exact, time / (FINER * steps), FINER * steps);
    for (int i = 0; i < SIZES; ++i) {
        rig r = made(spec, TN_METHOD_IMPLICIT, how);
        rig_run(&r, time / (steps << i), steps << i);
        error[i] = impulse_difference(r.state, exact.state);
        rig_free(&r);
    }
    const double q = rig_order(error[1].q, error[2].q), u = rig_order(error[1].u, error[2].u);
    test_check(fabs(q - how->order) < 0.12 && u > how->order - 0.15, __FILE__, __LINE__,
               "%s, solve %d, integrator %d: orders %.3f of positions, %.3f of velocities", spec,
               (int)how->solve, (int)how->integrator, q, u);
    CHECK(error[SIZES - 1].q > 1e-8);
    CHECK_LESS(error[SIZES - 1].q, 2e-2);
    rig_free(&exact);
}

static const scheme schemes[] = {
    {TN_IMPLICIT_LINEAR, TN_IMPLICIT_EULER, 1}, {TN_IMPLICIT_CORRECTED, TN_IMPLICIT_EULER, 1},
    {TN_IMPLICIT_NEWTON, TN_IMPLICIT_EULER, 1}, {TN_IMPLICIT_CORRECTED, TN_IMPLICIT_BDF2, 2},
    {TN_IMPLICIT_NEWTON, TN_IMPLICIT_BDF2, 2},
};

static void check_orders(const char* spec, double time, int steps)
{
    for (int i = 0; i < (int)(sizeof schemes / sizeof *schemes); ++i)
        check_order(spec, &schemes[i], time, steps);
}

TEST(trees_converge_to_the_multiplier_method)
{
    check_orders("chain:n=1", 0.2, 100);
    check_orders("chain:n=5", 0.2, 100);
    check_orders("chain:n=3,joint=hinge,stiffness=0.05", 0.2, 100);
    check_orders("tree:depth=2", 0.2, 100);
}

TEST(loops_converge_to_the_multiplier_method)
{
    check_orders("fourbar", 0.2, 50);
    check_orders("slider_crank", 0.2, 50);
}

// Long and short steps in turn: two-step formulas weigh the history by the length of the last step.
TEST(two_step_differences_keep_their_order_when_steps_change)
{
    const scheme  two   = {TN_IMPLICIT_CORRECTED, TN_IMPLICIT_BDF2, 2};
    const double  time  = 0.2;
    rig           exact = made("chain:n=3", TN_METHOD_MULTIPLIER, NULL);
    impulse_apart error[2];
    rig_run(&exact, time / 1600, 1600);
    for (int fine = 0; fine < 2; ++fine) {
        rig       r     = made("chain:n=3", TN_METHOD_IMPLICIT, &two);
        const int pairs = 100 << fine;
        for (int i = 0; i < pairs; ++i) {
            CHECK(rig_step(&r, 0.6 * time / pairs));
            CHECK(rig_step(&r, 0.4 * time / pairs));
        }
        error[fine] = impulse_difference(r.state, exact.state);
        rig_free(&r);
    }
    CHECK_NEAR(rig_order(error[0].q, error[1].q), 2, 0.12);
    CHECK_NEAR(rig_order(error[0].u, error[1].u), 2, 0.2);
    CHECK_LESS(error[1].q, 1e-4);
    rig_free(&exact);
}

// A pendulum of one rod: how much energy a second of swinging costs.
static double energy_left(const scheme* how, double h)
{
    rig          r     = made("chain:n=1", TN_METHOD_IMPLICIT, how);
    const double floor = -0.1 * 9.81 * 0.05; // hanging down
    rig_run(&r, h, (int)(2 / h + 0.5));
    const double left = (rig_energy(&r) - floor) / -floor;
    rig_free(&r);
    return left;
}

TEST(backward_differences_keep_energy_that_backward_euler_damps)
{
    const scheme euler     = {TN_IMPLICIT_CORRECTED, TN_IMPLICIT_EULER, 1},
                 two       = {TN_IMPLICIT_CORRECTED, TN_IMPLICIT_BDF2, 2};
    const double coarse[2] = {1 - energy_left(&euler, 1.0 / 240), 1 - energy_left(&two, 1.0 / 240)},
                 fine[2]   = {1 - energy_left(&euler, 1.0 / 480), 1 - energy_left(&two, 1.0 / 480)};
    test_check(coarse[0] > 10 * coarse[1] && fine[0] > 30 * fine[1], __FILE__, __LINE__,
               "%g %g %g %g", coarse[0], coarse[1], fine[0], fine[1]);
    // It damps, a little: by h^3 a second, and by h^2 in its first step, which is backward Euler's.
    CHECK(fine[1] > 0);
    CHECK_NEAR(log2(coarse[1] / fine[1]), 2.5, 0.5);
}

// ---- A step depends on the state alone ----------------------------------------------------------

static void check_state_alone(const char* spec, tn_implicit_integrator integrator)
{
    rig r                          = rig_builtin(spec);
    r.settings.method              = TN_METHOD_IMPLICIT;
    r.settings.implicit.integrator = integrator;
    rig_restart(&r);
    tn_state*   copy;
    tn_stepper* other;
    CHECK_OK(tn_state_create(r.model, &copy));
    CHECK_OK(tn_stepper_create(r.model, &r.settings, &other, NULL));
    for (int i = 0; i < 20; ++i) {
        const double h = i % 3 == 0 ? 1.0 / 60 : 1.0 / 90;
        tn_state_copy(copy, r.state);
        CHECK(rig_step(&r, h));
        CHECK_OK(tn_stepper_step(other, copy, h, NULL, NULL));
        CHECK(tn_state_hash(copy) == tn_state_hash(r.state));
        if (i % 5 == 4) { // another configuration in between
            tn_state_reset(copy);
            CHECK_OK(tn_stepper_step(other, copy, 0.01, NULL, NULL));
        }
    }
    tn_stepper_free(other);
    tn_state_free(copy);
    rig_free(&r);
}

TEST(a_step_depends_on_the_state_alone)
{
    check_state_alone("chain:n=10", TN_IMPLICIT_EULER);
    check_state_alone("chain:n=10", TN_IMPLICIT_BDF2);
    check_state_alone("humanoid", TN_IMPLICIT_BDF2);
    check_state_alone("fourbar", TN_IMPLICIT_BDF2);
}

// The history of backward Euler is not enough for two-step formulas: they restart.
TEST(two_step_differences_restart_after_backward_euler)
{
    rig r             = rig_builtin("chain:n=5");
    r.settings.method = TN_METHOD_IMPLICIT;
    rig_restart(&r);
    rig_run(&r, 1.0 / 60, 5);
    tn_state*   fresh;
    tn_stepper *two, *one;
    tn_settings settings = r.settings;
    CHECK_OK(tn_stepper_create(r.model, &settings, &one, NULL));
    settings.implicit.integrator = TN_IMPLICIT_BDF2;
    CHECK_OK(tn_stepper_create(r.model, &settings, &two, NULL));
    CHECK_OK(tn_state_create(r.model, &fresh));
    tn_state_copy(fresh, r.state);
    CHECK_OK(tn_stepper_step(two, r.state, 1.0 / 60, NULL, NULL));
    CHECK_OK(tn_stepper_step(one, fresh, 1.0 / 60, NULL, NULL));
    CHECK(tn_state_hash(fresh) == tn_state_hash(r.state)); // its first step is backward Euler's
    CHECK_OK(tn_stepper_step(two, r.state, 1.0 / 60, NULL, NULL));
    CHECK_OK(tn_stepper_step(one, fresh, 1.0 / 60, NULL, NULL));
    CHECK(tn_state_hash(fresh) != tn_state_hash(r.state));
    tn_stepper_free(one), tn_stepper_free(two);
    tn_state_free(fresh);
    rig_free(&r);
}
