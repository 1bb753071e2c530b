// A hundred thousand steps: chains with joints of any stiffness and any load, hit again and again,
// stay finite, keep their joints and lose energy between the impulses.
#include "support/implicit_rig.h"

enum { STEPS = 100000, BETWEEN = 250 };

// Another direction each time.
static void strike(rig* r, int n, int blow, double strength)
{
    tn_wrench blows[16] = {{{0, 0, 0}, {0, 0, 0}}};
    const int at        = blow % n;
    blows[at].force     = (tn_vec3){strength * sin(blow), strength * cos(2.0 * blow), strength};
    CHECK_OK(tn_stepper_impulse(r->stepper, r->state, blows, NULL, NULL));
}

// load: weight on the joints [N]; with joints open by the tolerance it may gain so much energy.
static void check_long(const char* spec, double h, double strength, double load)
{
    enum { LINKS = 10 };
    rig    r    = implicit_builtin(spec, NULL);
    double rise = 0, scale = 0, error = 0;
    bool   whole = true;
    for (int blow = 0; whole && blow < STEPS / BETWEEN; ++blow) {
        strike(&r, LINKS, blow, strength);
        const implicit_run run = implicit_go(&r, h, BETWEEN);
        whole                  = run.steps == BETWEEN && run.finite;
        rise = fmax(rise, run.rise), scale = fmax(scale, run.scale);
        error = fmax(error, run.joint_error);
    }
    test_check(whole, __FILE__, __LINE__, "%s at %g: it did not last", spec, h);
    test_check(rise <= 1e-10 * scale + 1e-8 * load, __FILE__, __LINE__,
               "%s at %g: energy grows by %.3g J in a step, of %.3g", spec, h, rise, scale);
    test_check(error < 1e-8, __FILE__, __LINE__, "%s at %g: joints open by %.3g", spec, h, error);
    rig_free(&r);
}

TEST(a_hundred_thousand_steps_at_any_stiffness)
{
    static const char* const specs[] = {"chain:n=10", "chain:n=10,stiffness=1",
                                        "chain:n=10,stiffness=1e4", "chain:n=10,stiffness=1e8",
                                        "chain:n=10,joint=hinge,stiffness=100"};
    for (int i = 0; i < (int)(sizeof specs / sizeof *specs); ++i)
        check_long(specs[i], i % 2 ? 1.0 / 30 : 1.0 / 60, 0.05, 1e-5);
}

TEST(a_hundred_thousand_steps_under_a_million_times_the_mass)
{
    check_long("chain:n=10,tip_mass=1e5", 1.0 / 60, 0.02, 1e6);
    check_long("chain:n=10,tip_mass=1e5,stiffness=1e3", 1.0 / 30, 1, 1e6);
}
