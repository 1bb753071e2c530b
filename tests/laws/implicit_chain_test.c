// A chain that explodes in explicit methods: ball joints, released from the horizontal, steps of a
// sixtieth of a second. Backward Euler with the geometric stiffness of the joints loses energy in
// every step, whatever the length, the load and the stiffness, and keeps the joints closed; without
// it the same chain explodes.
#include "support/implicit_rig.h"

static const double frame = 1.0 / 60;

// Energy never grows, up to rounding of its terms.
static void check_calm(const implicit_run* run, int steps, const char* what)
{
    test_check(run->steps == steps && run->finite, __FILE__, __LINE__, "%s: %d steps of %d", what,
               run->steps, steps);
    test_check(run->rise <= 1e-12 * run->scale + 1e-14, __FILE__, __LINE__,
               "%s: energy grows by %.3g J in a step, of %.3g", what, run->rise, run->scale);
    test_check(run->joint_error < 1e-8, __FILE__, __LINE__, "%s: joints open by %.3g", what,
               run->joint_error);
}

static void check_chain(const char* spec, double h, int steps)
{
    rig                r   = implicit_builtin(spec, NULL);
    const implicit_run run = implicit_go(&r, h, steps);
    check_calm(&run, steps, spec);
    rig_free(&r);
}

TEST(a_falling_chain_of_any_length_loses_energy_and_keeps_its_joints)
{
    check_chain("chain:n=1", frame, 600);
    check_chain("chain:n=2", frame, 600);
    check_chain("chain:n=10", frame, 600);
    check_chain("chain:n=10,joint=hinge", frame, 600);
    check_chain("chain:n=100", frame, 600);
    check_chain("chain:n=1000", frame, 30);
    check_chain("chain:n=10", 2 * frame, 600);
    check_chain("chain:n=100", 2 * frame, 300);
}

TEST(light_links_carry_seven_and_a_half_tonnes)
{
    check_chain("chain:n=20,tip_mass=7500", frame, 600);
    check_chain("chain:n=20,tip_mass=7500", 2 * frame, 600);
}

TEST(mass_ratios_to_a_million_and_any_stiffness)
{
    check_chain("chain:n=10,tip_mass=1e5", frame, 600);
    check_chain("chain:n=10,tip_mass=1e5,stiffness=100", 2 * frame, 600);
    static const char* const stiff[] = {
        "chain:n=10,stiffness=1",   "chain:n=10,stiffness=100",
        "chain:n=10,stiffness=1e4", "chain:n=10,stiffness=1e6",
        "chain:n=10,stiffness=1e8", "chain:n=10,joint=hinge,stiffness=1e8"};
    for (int i = 0; i < (int)(sizeof stiff / sizeof *stiff); ++i) {
        check_chain(stiff[i], frame, 600);
        check_chain(stiff[i], 2 * frame, 600);
    }
}

static void unstiffened(tn_implicit_settings* settings)
{
    settings->solve   = TN_IMPLICIT_LINEAR;
    settings->stiffen = false;
}

static void linear(tn_implicit_settings* settings)
{
    settings->solve = TN_IMPLICIT_LINEAR;
}

TEST(without_geometric_stiffness_the_same_chain_explodes)
{
    rig                r   = implicit_builtin("chain:n=100", unstiffened);
    const implicit_run run = implicit_go(&r, frame, 300);
    CHECK(!run.finite || run.steps < 300 || run.above > 1e3);
    rig_free(&r);
}

// docs/theory/implicit.md 4: the worst joint error of the fall falls from 0.18 m to 0.0045 m.
TEST(one_linear_solve_leaves_what_the_prototype_measured)
{
    rig                with = implicit_builtin("chain:n=10", linear);
    const implicit_run a    = implicit_go(&with, frame, 600);
    CHECK_NEAR(a.joint_error, 0.0045, 1e-4);
    CHECK(a.rise <= 1e-12 * a.scale);
    rig                without = implicit_builtin("chain:n=10", unstiffened);
    const implicit_run b       = implicit_go(&without, frame, 600);
    CHECK(b.joint_error > 0.15); // and more when rounding is otherwise: it is not stable
    rig_free(&with);
    rig_free(&without);
}

static void newton(tn_implicit_settings* settings)
{
    settings->solve = TN_IMPLICIT_NEWTON;
}

TEST(newton_closes_joints_to_rounding)
{
    rig                r   = implicit_builtin("chain:n=100", newton);
    const implicit_run run = implicit_go(&r, frame, 300);
    check_calm(&run, 300, "newton");
    CHECK_LESS(run.joint_error, 1e-13);
    CHECK_LESS(run.rounds, 5 * 300);
    rig_free(&r);
}

// The hanging chain, disturbed: docs/theory/implicit.md 8.
TEST(a_hanging_chain_stays_hanging)
{
    rig             r     = rig_make((tn_vec3){0, 0, -9.81});
    const tns_links links = {.count  = 1000,
                             .step   = {0, 0, -0.1},
                             .radius = 0.01,
                             .mass   = 0.1,
                             .joint  = TN_JOINT_BALL,
                             .axis   = TNS_Y};
    tns_add_links(r.scene, &links);
    r.settings.method = TN_METHOD_IMPLICIT;
    rig_ready(&r);
    for (uint32_t i = 1; i <= 1000; ++i)
        CHECK_OK(tn_state_set_velocity(r.state, (tn_body_id){i},
                                       (tn_twist){{i % 2 ? 1e-3 : -1e-3, 0, 0}, {0, 0, 0}}));
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
    const double       kinetic = tn_state_energy(r.state).kinetic;
    const implicit_run run     = implicit_go(&r, frame, 60);
    check_calm(&run, 60, "hanging");
    CHECK_LESS(tn_state_energy(r.state).kinetic, kinetic);
    rig_free(&r);
}

static void two_step(tn_implicit_settings* settings)
{
    settings->integrator = TN_IMPLICIT_BDF2;
}

// BDF2 keeps what backward Euler damps, and stores some of it in its history: a step may gain a
// little, but energy never rises above the start.
TEST(two_step_differences_never_rise_above_the_start)
{
    static const char* const specs[] = {"chain:n=10", "chain:n=50", "chain:n=100",
                                        "chain:n=20,tip_mass=7500", "chain:n=10,stiffness=1e6"};
    for (int i = 0; i < (int)(sizeof specs / sizeof *specs); ++i) {
        for (int coarse = 1; coarse <= 2; ++coarse) {
            rig                r   = implicit_builtin(specs[i], two_step);
            const implicit_run run = implicit_go(&r, coarse * frame, 300);
            test_check(run.steps == 300 && run.above <= 1e-9 * run.scale, __FILE__, __LINE__,
                       "%s: %d steps, %.3g J above the start", specs[i], run.steps, run.above);
            CHECK_LESS(run.joint_error, 1e-8);
            rig_free(&r);
        }
    }
}
