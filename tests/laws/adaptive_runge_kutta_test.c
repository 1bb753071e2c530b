// Runge-Kutta steps in joint coordinates: fourth order with every kind of joint and force, against
// the multiplier method; held joints against welds; both solvers agree; hard limits and contacts
// are refused by name.
#include "support/adaptive_rig.h"
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { CASES = 8 };
#else
enum { CASES = 24 };
#endif

static const double duration = 0.16;

static tn_adaptive_settings runge(tn_adaptive_solver solver)
{
    tn_adaptive_settings s = adaptive_settings();
    s.integrator           = TN_ADAPTIVE_RK4;
    s.solver               = solver;
    return s;
}

// At rest or moving, some joints held, two steps into a period.
static random_mechanism* random_case(uint64_t seed, int what, bool held)
{
    test_random          r        = {seed};
    const int            n        = test_random_int(&r, 1, 12);
    random_mechanism*    m        = adaptive_scene(&r, n, test_random_int(&r, 1, 4), what);
    tn_adaptive_settings settings = adaptive_settings();
    adaptive_rig*        g        = adaptive_rig_make(m->model, &settings);
    adaptive_disturb(g, m, &r, 0.5, 1);
    if (held) adaptive_hold(g, m, &r, 0.4, 2);
    adaptive_rig_free(g);
    return m;
}

static tn_state* run(const random_mechanism* m, const tn_adaptive_settings* settings, double h)
{
    tn_stepper* stepper = adaptive_stepper(m->model, settings);
    tn_state*   state   = adaptive_copy(m->state);
    adaptive_go(stepper, state, h, (int)(duration / h + 0.5));
    tn_stepper_free(stepper);
    return state;
}

static tn_state* run_multipliers(const random_mechanism* m, double h)
{
    tn_settings settings = tn_default_settings();
    tn_stepper* stepper;
    tn_state*   state = adaptive_copy(m->state);
    tn_why      why   = {.text = ""};
    settings.method   = TN_METHOD_MULTIPLIER;
    CHECK_OK(tn_stepper_create(m->model, &settings, &stepper, &why));
    for (int i = 0; i < (int)(duration / h + 0.5); ++i)
        CHECK_OK(tn_stepper_step(stepper, state, h, NULL, &why));
    tn_stepper_free(stepper);
    return state;
}

static double apart(const tn_state* a, const tn_state* b)
{
    double most = 0;
    for (int i = 0; i < a->model->q_count; ++i) most = fmax(most, fabs(a->q[i] - b->q[i]));
    for (int i = 0; i < a->model->u_count; ++i) most = fmax(most, fabs(a->u[i] - b->u[i]));
    return most;
}

// Halving h divides the error by sixteen: the mean of the logarithms over all cases is that of
// order 4. Cases already at rounding are left out.
static double order_of(int what, tn_adaptive_solver solver)
{
    const tn_adaptive_settings settings = runge(solver);
    double                     sum      = 0;
    int                        count    = 0;
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_mechanism* m     = random_case(seed, what, false);
        tn_state *        exact = run_multipliers(m, duration / 1280),
                 *coarse        = run(m, &settings, duration / 20),
                 *fine          = run(m, &settings, duration / 40);
        const double one = apart(coarse, exact), two = apart(fine, exact);
        test_check(two < 1e-3, __FILE__, __LINE__, "%g off in case %d", two, (int)seed);
        if (two > 1e-9) sum += log2(one / two), ++count;
        tn_state_free(exact);
        tn_state_free(coarse);
        tn_state_free(fine);
        random_mechanism_free(m);
    }
    CHECK(count >= CASES / 4);
    return sum / count;
}

TEST(steps_are_of_fourth_order_with_all_joints)
{
    CHECK_NEAR(order_of(ADAPTIVE_PLANAR, TN_ADAPTIVE_CLUSTERS), 4, 0.25);
}

TEST(steps_are_of_fourth_order_with_all_forces)
{
    CHECK_NEAR(order_of(ADAPTIVE_ALL, TN_ADAPTIVE_CLUSTERS), 4, 0.25);
}

TEST(steps_are_of_fourth_order_by_divide_and_conquer)
{
    CHECK_NEAR(order_of(ADAPTIVE_ALL, TN_ADAPTIVE_TREE), 4, 0.25);
}

// Against welds in their place.
TEST(held_joints_are_welds)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_mechanism*    m        = random_case(seed, ADAPTIVE_ALL, true);
        tn_adaptive_settings settings = runge(TN_ADAPTIVE_CLUSTERS);
        settings.active = 1000, settings.period = 100000;
        adaptive_rig*     g     = adaptive_rig_make(m->model, &settings);
        random_mechanism* w     = adaptive_welded(g, m);
        tn_state *        state = run(m, &settings, duration / 160),
                 *exact         = run_multipliers(w, duration / 640);
        const double error      = apart(state, exact);
        test_check(error < 1e-4, __FILE__, __LINE__, "%g off in case %d", error, (int)seed);
        tn_state_free(state);
        tn_state_free(exact);
        random_mechanism_free(w);
        adaptive_rig_free(g);
        random_mechanism_free(m);
    }
}

static double energy_error(double h)
{
    rig r               = rig_builtin("pendulum:n=3");
    r.settings.method   = TN_METHOD_ADAPTIVE;
    r.settings.adaptive = runge(TN_ADAPTIVE_CLUSTERS);
    rig_restart(&r);
    const tn_energy start = tn_state_energy(r.state);
    rig_run(&r, h, (int)(4 / h + 0.5));
    const tn_energy end = tn_state_energy(r.state);
    CHECK_LESS(r.report.joint_error, 1e-14);
    rig_free(&r);
    return fabs(end.kinetic + end.gravity - start.kinetic - start.gravity);
}

// A triple pendulum with about 0.4 J: the energy error falls at least with h^4.
TEST(energy_error_falls_with_the_fourth_power)
{
    const double coarse = energy_error(2e-3), fine = energy_error(1e-3);
    CHECK_LESS(coarse, 1e-4);
    CHECK_LESS(fine, coarse / 12);
}

static void refused(rig* r, const char* says)
{
    tn_stepper* stepper  = NULL;
    tn_why      why      = {.text = ""};
    r->settings.method   = TN_METHOD_ADAPTIVE;
    r->settings.adaptive = runge(TN_ADAPTIVE_CLUSTERS);
    CHECK_INT(tn_stepper_create(r->model, &r->settings, &stepper, &why), TN_ERR_UNSUPPORTED);
    CHECK(stepper == NULL);
    test_check(strstr(why.text, says) != NULL, __FILE__, __LINE__, "says '%s'", why.text);
    rig_free(r);
}

TEST(hard_limits_and_contacts_are_refused_by_name)
{
    rig r = rig_builtin("ragdoll_pile:n=1");
    refused(&r, "contacts");
    r                     = rig_make((tn_vec3){0, 0, -9.81});
    tn_body_def      body = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){1, 0, 0});
    const tn_body_id a    = tn_scene_add_body(r.scene, &body);
    tn_joint_def     def =
        tns_joint(TN_JOINT_HINGE, (tn_body_id){0}, a, (tn_vec3){0, 0, 0}, (tn_vec3){0, 1, 0});
    def.name = "knee", def.limit.given = def.limit.hard = true;
    def.limit.lower = -1, def.limit.upper = 1;
    (void)tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    refused(&r, "knee");
}
