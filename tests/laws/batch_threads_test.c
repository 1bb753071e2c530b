// Any number of threads, of a pool or another host: the same bits in every copy.
#include "support/batch_rig.h"

#include <pthread.h>

#ifdef TENON_TEST_LIGHT
enum { STEPS = 3 };
#else
enum { STEPS = 6 };
#endif

static void run(const char* spec, const char* settings, int count, const tn_host* host)
{
    batch_rig r = batch_rig_make(spec, settings, count, host);
    batch_rig_scatter(&r, 11, 0.5, 3);
    for (int i = 0; i < STEPS && batch_rig_step(&r, 1 / 60.0, spec); ++i) {}
    batch_rig_free(&r);
}

TEST(pools)
{
    for (int threads = 1; threads <= 3; ++threads) {
        tn_pool* pool = tn_pool_create(threads);
        tn_host  host = tn_default_host();
        host.each = tn_pool_each, host.workers = pool;
        run("humanoid", "method=implicit", 75, &host);
        run("humanoid:joints=anatomical", "method=implicit", 40, &host);
        run("ragdoll_pile:n=2", "method=impulse", 33, &host);
        tn_pool_free(pool);
    }
}

TEST(contacts_by_the_default_method)
{
    for (int threads = 1; threads <= 3; ++threads) {
        tn_pool* pool = tn_pool_create(threads);
        tn_host  host = tn_default_host();
        host.each = tn_pool_each, host.workers = pool;
        batch_rig      r = batch_rig_make("gripper", "method=auto", 40, &host);
        tn_step_report report;
        int            contacts = 0;
        batch_rig_scatter(&r, 5, 0.005, 0.2);
        for (int i = 0; i < STEPS && batch_rig_step(&r, 1 / 60.0, "gripper"); ++i) {}
        for (int i = 0; i < r.count; ++i) {
            CHECK_OK(tn_batch_outcome(r.batch, i, &report));
            contacts += report.contact_count;
        }
        CHECK(contacts >= r.count);
        batch_rig_free(&r);
        tn_pool_free(pool);
    }
}

// More threads than there are workspaces, each with one task.
typedef struct job {
    tn_task* task;
    void*    data;
    int      index;
} job;

static void* do_job(void* user)
{
    const job* j = user;
    j->task(j->data, j->index);
    return NULL;
}

static void each_its_own(void* workers, int count, tn_task* task, void* data)
{
    pthread_t threads[64];
    job       jobs[64];
    int*      calls = workers;
    ++*calls;
    for (int first = 0; first < count; first += 64) {
        const int n = count - first < 64 ? count - first : 64;
        for (int i = 0; i < n; ++i) {
            jobs[i] = (job){task, data, first + i};
            CHECK_INT(pthread_create(&threads[i], NULL, do_job, &jobs[i]), 0);
        }
        for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
    }
}

TEST(threads_of_another_host)
{
    int     calls = 0;
    tn_host host  = tn_default_host();
    host.each = each_its_own, host.workers = &calls;
    run("humanoid", "method=implicit", 190, &host);
    CHECK(calls == STEPS || tn_processor_count() == 1);
}
