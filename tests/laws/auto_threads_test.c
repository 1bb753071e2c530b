// Contacts in the matrix: threads share their islands. The same bits for any number of threads, and for any order.
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { PART = 2 };
#else
enum { PART = 1 };
#endif

static uint64_t run_on(const tn_host* host, const char* spec, int steps)
{
    tn_why why = {.text = ""};
    rig    r   = {.settings = tn_default_settings()};
    rig_must(tns_build(host, spec, &r.scene, &why), spec, &why);
    rig_ready(&r);
    for (int i = 0; i < steps; ++i)
        CHECK_OK(tn_stepper_step(r.stepper, r.state, 1.0 / 60, &r.report, &why));
    const uint64_t hash = tn_state_hash(r.state);
    rig_free(&r);
    return hash;
}

static int calls; // of the host below

static void backwards(void* workers, int count, tn_task* task, void* data)
{
    (void)workers;
    calls += count > 1;
    for (int i = count - 1; i >= 0; --i) task(data, i);
}

static void compare(const char* spec, int steps)
{
    tn_host        host = tn_default_host();
    const uint64_t one  = run_on(&host, spec, steps);
    host.each           = backwards;
    calls               = 0;
    test_check(run_on(&host, spec, steps) == one, __FILE__, __LINE__, "%s: backwards", spec);
    test_check(calls > steps / 4 || tn_processor_count() == 1, __FILE__, __LINE__,
               "%s: %d calls with several islands", spec, calls);
    for (int threads = 2; threads <= 4; threads += 2) {
        tn_pool* pool = tn_pool_create(threads);
        host.each = tn_pool_each, host.workers = pool;
        test_check(run_on(&host, spec, steps) == one, __FILE__, __LINE__, "%s: %d threads", spec,
                   threads);
        tn_pool_free(pool);
    }
}

TEST(people_that_fall)
{
    compare("ragdoll_pile:n=5", 90 / PART);
}

TEST(marbles)
{
    compare("marbles", 50 / PART);
}
