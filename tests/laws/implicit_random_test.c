// Random mechanisms by the implicit method: bodies of all kinds, joints of all types, loads, drag,
// springs, targets, motors and kinematic bodies. By every solve, form and integrator that supports
// them: a step that succeeds is finite, has closed its joints and depends on the state alone,
// whatever the stepper did before and however long the last step was; one that fails has changed
// nothing and gives the reason; the forms agree. And cases that failed once.
#include "support/implicit_rig.h"
#include "support/random_scene.h"

enum { STEPS = 6, SOLVES = 3, INTEGRATORS = 2 };

static const tn_implicit_form forms[] = {TN_IMPLICIT_ROWS, TN_IMPLICIT_BLOCKS,
                                         TN_IMPLICIT_NULLSPACE, TN_IMPLICIT_EXACT};
enum { FORMS = sizeof forms / sizeof forms[0] };

/// One mechanism, one way to step it.
typedef struct trial {
    const random_mechanism* m;
    tn_implicit_settings    settings;
    unsigned                seed;
    char                    name[60];
} trial;

static tn_stepper* stepper_of(const trial* t)
{
    tn_settings settings = tn_default_settings();
    tn_stepper* stepper  = NULL;
    tn_why      why      = {.text = ""};
    settings.method      = TN_METHOD_IMPLICIT;
    settings.implicit    = t->settings;
    const tn_result made = tn_stepper_create(t->m->model, &settings, &stepper, &why);
    // Unsupported models are refused: which setting, and why.
    test_check(made == TN_OK ||
                   (made == TN_ERR_UNSUPPORTED && strstr(why.text, "implicit.form") != NULL),
               __FILE__, __LINE__, "%s: %s", t->name, why.text);
    return stepper;
}

static bool is_finite(const tn_state* s)
{
    double sum = 0; // x - x is 0, or NaN
    for (int i = 0; i < tn_state_coordinate_count(s); ++i)
        sum += tn_state_coordinates(s)[i] - tn_state_coordinates(s)[i];
    for (int i = 0; i < tn_state_velocity_count(s); ++i)
        sum += tn_state_velocities(s)[i] - tn_state_velocities(s)[i];
    return sum == 0;
}

// A step of the state by a stepper with a history, and of a copy of it by a new one.
static bool step_twice(const trial* t, tn_stepper* used, tn_stepper* fresh, tn_state* state,
                       tn_state* copy, double h)
{
    tn_step_report report;
    tn_why         why    = {.text = ""};
    const uint64_t before = tn_state_hash(state);
    tn_state_copy(copy, state);
    const tn_result result = tn_stepper_step(used, state, h, &report, &why),
                    again  = tn_stepper_step(fresh, copy, h, NULL, NULL);
    test_check(result == again && tn_state_hash(state) == tn_state_hash(copy), __FILE__, __LINE__,
               "%s: a stepper with a past steps otherwise (%d, %d)", t->name, result, again);
    if (result != TN_OK) {
        test_check(tn_state_hash(state) == before && why.text[0] != '\0', __FILE__, __LINE__,
                   "%s: a failed step has changed the state, or does not say why", t->name);
        return false;
    }
    test_check(is_finite(state), __FILE__, __LINE__, "%s: not finite", t->name);
    test_check(t->settings.solve == TN_IMPLICIT_LINEAR ||
                   report.joint_error <= t->settings.tolerance,
               __FILE__, __LINE__, "%s: joints open by %.3g", t->name, report.joint_error);
    return true;
}

// From the start, with steps of changing length. False: unsupported, or it failed.
static bool run(const trial* t, tn_state* state)
{
    tn_stepper *used = stepper_of(t), *fresh = used != NULL ? stepper_of(t) : NULL;
    tn_state*   copy = NULL;
    test_random r    = {t->seed};
    bool        good = fresh != NULL;
    CHECK_OK(tn_state_create(t->m->model, &copy));
    tn_state_reset(state);
    for (int i = 0; good && i < STEPS; ++i) {
        const double h = 0.005 * test_random_between(&r, 0.5, 1.5);
        if (i % 3 == 2) {
            tn_stepper_free(fresh);
            fresh = stepper_of(t);
        }
        good = step_twice(t, used, fresh, state, copy, h);
    }
    tn_state_free(copy);
    tn_stepper_free(fresh);
    tn_stepper_free(used);
    return good;
}

// Forms by one solve and integrator; those that solve the same equations against rows.
static int run_forms(trial* t)
{
    tn_state *state = NULL, *rows = NULL;
    int       count = 0;
    bool      known = false;
    CHECK_OK(tn_state_create(t->m->model, &state));
    CHECK_OK(tn_state_create(t->m->model, &rows));
    for (int i = 0; i < FORMS; ++i) {
        t->settings.form = forms[i];
        snprintf(t->name, sizeof t->name, "seed %u, solve %d, integrator %d, form %d", t->seed,
                 (int)t->settings.solve, (int)t->settings.integrator, (int)forms[i]);
        const bool good = run(t, state);
        count += good;
        if (i == 0) known = good, tn_state_copy(rows, state);
        // Rows close stretched springs as they close joints, in corrections; blocks do not.
        const bool other =
            t->settings.solve == TN_IMPLICIT_CORRECTED && tn_scene_spring_count(t->m->scene) > 0;
        if (!good || !known || other || forms[i] == TN_IMPLICIT_EXACT) continue;
        // Joints closed to 1e-12, rounding of six steps, and what the motion makes of both.
        const impulse_apart apart = impulse_difference(state, rows);
        test_check(apart.q < 1e-8 && apart.u < 1e-5, __FILE__, __LINE__, "%s: off by %.3g and %.3g",
                   t->name, apart.q, apart.u);
    }
    tn_state_free(rows);
    tn_state_free(state);
    return count;
}

// iterations: of corrections and of Newton's method; with few, many fallbacks are used, and may
// fail.
static double run_all(unsigned last, int iterations, bool only_corrected)
{
    int good = 0, all = 0;
    for (unsigned seed = 1; seed <= last; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, 1 + (int)seed % 7);
        for (int k = 0; k < SOLVES * INTEGRATORS; ++k) {
            if (only_corrected && k % SOLVES != TN_IMPLICIT_CORRECTED) continue;
            trial t          = {.m = m, .settings = tn_default_settings().implicit, .seed = seed};
            t.settings.solve = (tn_implicit_solve)(k % SOLVES);
            t.settings.integrator = (tn_implicit_integrator)(k / SOLVES);
            t.settings.tolerance  = 1e-11;
            t.settings.iterations = iterations;
            good += run_forms(&t);
            ++all;
        }
        random_mechanism_free(m);
    }
    return (double)good / all;
}

TEST(random_mechanisms_by_the_implicit_method)
{
    CHECK(run_all(40, tn_default_settings().implicit.iterations, false) >
          2); // forms that supported it
}

TEST(random_mechanisms_with_few_iterations)
{
    CHECK(run_all(40, 2, true) > 0.5);
}

// ---- Cases that failed once
// ------------------------------------------------------------------------

static rig weightless(tn_joint_type type, tn_implicit_form form)
{
    rig              r   = rig_make((tn_vec3){0, 0, 0});
    const tn_body_id rod = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){1, 0, 0});
    tn_joint_def     joint =
        tns_joint(type, (tn_body_id){0}, rod, (tn_vec3){0, 0, 0}, (tn_vec3){0, 0, 1});
    joint.damping = 200;
    (void)tn_scene_add_joint(r.scene, &joint);
    r.settings.method        = TN_METHOD_IMPLICIT;
    r.settings.implicit.form = form;
    rig_ready(&r);
    CHECK_OK(tn_state_set_velocity(r.state, rod, (tn_twist){{0, 1, 0}, {0, 0, 1}}));
    return r;
}

TEST(underflowing_forces_do_not_end_the_motion) // products of what is left of them underflow
{
    static const tn_joint_type types[] = {TN_JOINT_BALL, TN_JOINT_HINGE, TN_JOINT_UNIVERSAL};
    for (int i = 0; i < 3 * FORMS; ++i) {
        rig r = weightless(types[i % 3], forms[i / 3]);
        rig_run(&r, 1.0 / 60, 400);
        CHECK_LESS(tn_state_energy(r.state).kinetic, 1e-200);
        rig_free(&r);
    }
}

// A target pulls a point beside the centre of a body that is far from it: a violent start.
static rig pulled(double stiffness)
{
    rig           r      = rig_make((tn_vec3){0, 0, 0});
    tn_target_def target = tn_default_target_def();
    const tn_key  key    = {0, {{2.4, 0.72, -0.48}, {1, 0, 0, 0}}};
    target.body          = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){0, 0, 0});
    target.keys          = &key;
    target.key_count     = 1;
    target.point         = (tn_vec3){0.1, 0.15, -0.1};
    target.stiffness     = stiffness;
    CHECK_OK(tn_scene_add_target(r.scene, &target));
    r.settings.method = TN_METHOD_IMPLICIT;
    return r;
}

TEST(a_far_and_stiff_target_loses_energy_by_every_method)
{
    for (int k = 0; k < SOLVES * INTEGRATORS; ++k) {
        rig r                          = pulled(4.7e8);
        r.settings.implicit.solve      = (tn_implicit_solve)(k % SOLVES);
        r.settings.implicit.integrator = (tn_implicit_integrator)(k / SOLVES);
        rig_ready(&r);
        const double       start = rig_energy(&r);
        const implicit_run run   = implicit_go(&r, 1.0 / 60, 60);
        CHECK_INT(run.steps, 60);
        CHECK_LESS(run.above, 1e-9 * start);
        CHECK_LESS(rig_energy(&r), 1e-3 * start);
        rig_free(&r);
    }
}
