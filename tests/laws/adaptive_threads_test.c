// Workers share trees, and nodes of one tree: the same bits for any number of them.
#include "support/adaptive_rig.h"
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { STEPS = 12 };
#else
enum { STEPS = 45 };
#endif

static tn_state* run_with(int threads, const char* spec, const tn_adaptive_settings* settings,
                          rig* r)
{
    tn_pool* pool = threads > 0 ? tn_pool_create(threads) : NULL;
    tn_host  host = tn_default_host();
    tn_why   why  = {.text = ""};
    CHECK(threads == 0 || pool != NULL);
    if (pool != NULL) host.each = tn_pool_each, host.workers = pool;
    *r = (rig){.settings = tn_default_settings()};
    rig_must(tns_build(&host, spec, &r->scene, &why), spec, &why);
    r->settings.method   = TN_METHOD_ADAPTIVE;
    r->settings.adaptive = *settings;
    rig_ready(r);
    CHECK_OK(tn_stepper_run(r->stepper, r->state, 1e-3, STEPS, &r->report, &why));
    tn_stepper_free(r->stepper);
    r->stepper = NULL;
    tn_pool_free(pool);
    return r->state;
}

static void compare(const char* spec, const tn_adaptive_settings* settings)
{
    rig             alone, shared;
    const tn_state* wanted = run_with(0, spec, settings, &alone);
    for (int threads = 1; threads <= 3; ++threads) {
        const tn_state* state = run_with(threads, spec, settings, &shared);
        test_check(adaptive_same(state, wanted), __FILE__, __LINE__, "%s: %d threads", spec,
                   threads);
        CHECK_INT(shared.report.adaptive.visit_count, alone.report.adaptive.visit_count);
        CHECK_INT(shared.report.adaptive.choice_count, alone.report.adaptive.choice_count);
        CHECK(shared.report.adaptive.kinetic_loss == alone.report.adaptive.kinetic_loss);
        CHECK(shared.report.adaptive.left_out == alone.report.adaptive.left_out);
        rig_free(&shared);
    }
    rig_free(&alone);
}

TEST(one_queue_for_many_trees)
{
    tn_adaptive_settings s = adaptive_settings();
    s.period               = 4;
    s.active               = 60;
    compare("crowd:n=5", &s);
    s.choice = TN_CHOICE_MIXED;
    s.active = 12;
    compare("crowd:n=5", &s);
    s.choice = TN_CHOICE_FIXED;
    compare("crowd:n=5", &s);
}

TEST(one_queue_for_each_tree)
{
    tn_adaptive_settings s = adaptive_settings();
    s.period               = 4;
    s.active               = 60;
    s.pixels               = 1000;
    s.weights              = TN_WEIGHTS_PIXELS;
    s.camera_x             = 6;
    s.detail               = 3;
    compare("crowd:n=5", &s);
    s.bounded            = true;
    s.acceleration_error = 1;
    compare("crowd:n=5", &s);
}

TEST(all_joints_of_one_tree_by_divide_and_conquer)
{
    tn_adaptive_settings s = adaptive_settings();
    s.solver               = TN_ADAPTIVE_TREE;
    compare("pendulum:n=90", &s);
    compare("tree:depth=6", &s);
    compare("crowd:n=4", &s);
}

TEST(runge_kutta_stages_of_many_trees)
{
    tn_adaptive_settings s = adaptive_settings();
    s.integrator           = TN_ADAPTIVE_RK4;
    compare("crowd:n=4", &s);
    s.period = 4, s.active = 40;
    compare("crowd:n=4", &s);
    s.solver = TN_ADAPTIVE_TREE;
    compare("crowd:n=4", &s);
}

TEST(some_joints_of_one_tree_by_divide_and_conquer)
{
    tn_adaptive_settings s = adaptive_settings();
    s.solver               = TN_ADAPTIVE_TREE;
    s.period               = 5;
    s.active               = 40;
    compare("pendulum:n=90", &s);
    compare("tree:depth=6", &s);
    compare("spring_pendulum:n=50", &s);
}
