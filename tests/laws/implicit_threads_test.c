// Workers share the branches of large trees in the implicit method: the same bits for any number of them.
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { STEPS = 3 };
#else
enum { STEPS = 12 };
#endif

static uint64_t run_with(int threads, const char* spec, const char* key, const char* value)
{
    tn_pool* pool = threads > 0 ? tn_pool_create(threads) : NULL;
    tn_host  host = tn_default_host();
    tn_why   why  = {.text = ""};
    CHECK(threads == 0 || pool != NULL);
    if (pool != NULL) host.each = tn_pool_each, host.workers = pool;
    rig r = {.settings = tn_default_settings()};
    rig_must(tns_build(&host, spec, &r.scene, &why), spec, &why);
    r.settings.method = TN_METHOD_IMPLICIT;
    rig_must(tn_settings_set(&r.settings, key, value, &why), key, &why);
    rig_ready(&r);
    for (int i = 0; i < STEPS; ++i)
        CHECK_OK(tn_stepper_step(r.stepper, r.state, 1.0 / 60, &r.report, &why));
    const uint64_t hash = tn_state_hash(r.state);
    rig_free(&r);
    tn_pool_free(pool);
    return hash;
}

static void compare(const char* spec, const char* key, const char* value)
{
    const uint64_t alone = run_with(0, spec, key, value);
    for (int threads = 1; threads <= 3; ++threads)
        test_check(run_with(threads, spec, key, value) == alone, __FILE__, __LINE__,
                   "%s, %s = %s: %d threads", spec, key, value, threads);
}

TEST(branches_of_a_tree)
{
    compare("tree:depth=11", "implicit.solve", "corrected");
    compare("tree:depth=11", "implicit.integrator", "bdf2");
}

TEST(trees_of_a_forest)
{
    compare("crowd:n=13", "implicit.solve", "corrected");
    compare("crowd:n=70,detail=0", "implicit.solve", "linear");
}
