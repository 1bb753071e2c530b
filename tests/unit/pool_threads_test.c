// The pool: every task is done once, and its results are visible to the caller when the call
// returns; several threads work at once where that is promised, the caller alone if the pool is
// busy.
#define _POSIX_C_SOURCE 200809L

#include "base/base.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS_MAX = 5, COUNT_MAX = 300 };
#ifdef TENON_TEST_LIGHT
enum { CALLS = 2000 };
#else
enum { CALLS = 20000 };
#endif

static void nap(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000 * microseconds}, NULL);
}

// ---- Every task once ----------------------------------------------------------------------------

typedef struct tally {
    tn_pool* pool;
    int      salt;             ///< of the call
    long     value[COUNT_MAX]; ///< not atomic: reading too early is a race
    int      times[COUNT_MAX];
} tally;

static long answer(int salt, int i)
{
    return 1000L * salt + i;
}

static void count_one(void* data, int i)
{
    tally* t    = data;
    t->value[i] = answer(t->salt, i);
    t->times[i]++;
}

// A call of count tasks; returns the number of wrong results.
static int wrong_after_call(tally* t, int count)
{
    for (int i = 0; i < COUNT_MAX; ++i) t->times[i] = 0;
    ++t->salt;
    tn_pool_each(t->pool, count, count_one, t);
    int wrong = 0;
    for (int i = 0; i < COUNT_MAX; ++i)
        wrong += t->times[i] != (i < count) || (i < count && t->value[i] != answer(t->salt, i));
    return wrong;
}

TEST(every_task_is_done_once)
{
    for (int threads = 1; threads <= THREADS_MAX; ++threads) {
        tally t = {.pool = tn_pool_create(threads)};
        CHECK(t.pool != NULL);
        for (int count = 0; count <= COUNT_MAX; count += count < 20 ? 1 : 35)
            CHECK_INT(wrong_after_call(&t, count), 0);
        tn_pool_free(t.pool);
    }
}

TEST(many_short_calls) // threads that come late find the next call
{
    test_random r     = {7};
    tally       t     = {.pool = tn_pool_create(3)};
    int         wrong = 0;
    for (int k = 0; k < CALLS; ++k) {
        wrong += wrong_after_call(&t, test_random_int(&r, 0, 6));
        if (k % 500 == 0) nap(200); // all asleep
    }
    CHECK_INT(wrong, 0);
    tn_pool_free(t.pool);
}

TEST(without_a_pool_the_caller_does_all_tasks)
{
    tally t = {0};
    CHECK_INT(wrong_after_call(&t, 17), 0);
    CHECK_INT(tn_pool_threads(NULL), 1);
    tn_pool_free(NULL);
}

// ---- At the same time ---------------------------------------------------------------------------

typedef struct meeting {
    int        wanted;
    atomic_int here, met;
} meeting;

// Each task waits until all are running: only as many threads can do that at once. Gives up after
// ten seconds.
static void meet(void* data, int i)
{
    meeting*     m     = data;
    const time_t start = time(NULL);
    (void)i;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < m->wanted && time(NULL) - start < 10) sched_yield();
    if (atomic_load(&m->here) == m->wanted) atomic_fetch_add(&m->met, 1);
}

TEST(as_many_threads_as_promised_work_at_once)
{
    for (int threads = 1; threads <= THREADS_MAX; ++threads) {
        tn_pool*  pool = tn_pool_create(threads);
        const int n    = tn_pool_threads(pool);
        CHECK(n == threads || n == 1); // 1: there are no threads here
        bool met = true;
        for (int k = 0; k < 20 && met; ++k) {
            if (k % 2 == 0) nap(500); // asleep by now
            meeting m = {.wanted = n};
            tn_pool_each(pool, n, meet, &m);
            met = atomic_load(&m.met) == n;
            CHECK(met);
        }
        tn_pool_free(pool);
    }
}

typedef struct lingering {
    meeting   meeting;
    pthread_t caller;
    int       done[2];
} lingering;

static void meet_and_linger(void* data, int i) // the helper so long that the caller goes to sleep
{
    lingering* l = data;
    meet(&l->meeting, i);
    if (!pthread_equal(pthread_self(), l->caller)) nap(2000);
    l->done[i] = 1;
}

TEST(a_caller_that_sleeps_is_woken_and_not_before)
{
    tn_pool* pool = tn_pool_create(2);
    for (int k = 0; k < 20; ++k) {
        lingering l = {.meeting.wanted = tn_pool_threads(pool), .caller = pthread_self()};
        tn_pool_each(pool, 2, meet_and_linger, &l);
        CHECK_INT(l.done[0] + l.done[1], 2);
    }
    tn_pool_free(pool);
}

TEST(pools_come_and_go) // with helpers awake, asleep, and not yet started
{
    for (int k = 0; k < 60; ++k) {
        tally t = {.pool = tn_pool_create(1 + k % 4)};
        if (k % 3 > 0) CHECK_INT(wrong_after_call(&t, 10), 0);
        if (k % 3 > 1) nap(300);
        tn_pool_free(t.pool);
    }
}

// ---- Busy ---------------------------------------------------------------------------------------

enum { OUTER = 12, INNER = 30 };

typedef struct nest {
    tn_pool* pool;
    int      strangers[OUTER]; ///< tasks done by another thread than the one that called
    int      sum[OUTER];
} nest;

typedef struct egg {
    nest*     nest;
    int       place;
    pthread_t owner;
} egg;

static void lay(void* data, int i)
{
    const egg* e = data;
    e->nest->strangers[e->place] += !pthread_equal(pthread_self(), e->owner);
    e->nest->sum[e->place] += i;
}

static void call_again(void* data, int i)
{
    egg e = {data, i, pthread_self()};
    tn_pool_each(e.nest->pool, INNER, lay, &e);
}

TEST(nested_calls_run_on_the_calling_thread)
{
    nest n = {.pool = tn_pool_create(3)};
    for (int k = 0; k < 50; ++k) tn_pool_each(n.pool, OUTER, call_again, &n);
    for (int i = 0; i < OUTER; ++i) {
        CHECK_INT(n.strangers[i], 0);
        CHECK_INT(n.sum[i], 50 * INNER * (INNER - 1) / 2);
    }
    tn_pool_free(n.pool);
}

static void add_one(void* data, int i)
{
    (void)i;
    atomic_fetch_add((atomic_int*)data, 1);
}

typedef struct ring {
    tn_pool*   pools[2];
    atomic_int tasks;
} ring;

static void call_first(void* data, int i)
{
    ring* r = data;
    (void)i;
    tn_pool_each(r->pools[0], 7, add_one, &r->tasks);
}

static void call_second(void* data, int i)
{
    ring* r = data;
    (void)i;
    tn_pool_each(r->pools[1], 5, call_first, r);
}

TEST(pools_that_call_each_other_do_not_deadlock)
{
    ring r = {.pools = {tn_pool_create(3), tn_pool_create(3)}};
    for (int k = 0; k < 100; ++k) tn_pool_each(r.pools[0], 4, call_second, &r);
    CHECK_INT(atomic_load(&r.tasks), 100 * 4 * 5 * 7);
    tn_pool_free(r.pools[0]);
    tn_pool_free(r.pools[1]);
}

typedef struct caller {
    tally     tally;
    int       wrong;
    pthread_t thread;
} caller;

static void* call_often(void* user)
{
    caller* c = user;
    for (int k = 0; k < CALLS / 10; ++k) c->wrong += wrong_after_call(&c->tally, k % 40);
    return NULL;
}

TEST(several_threads_call_at_once)
{
    caller   callers[4] = {0};
    tn_pool* pool       = tn_pool_create(3);
    for (int i = 0; i < 4; ++i) {
        callers[i].tally.pool = pool;
        CHECK_INT(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; ++i) {
        CHECK_INT(pthread_join(callers[i].thread, NULL), 0);
        CHECK_INT(callers[i].wrong, 0);
    }
    tn_pool_free(pool);
}

// ---- The host -----------------------------------------------------------------------------------

TEST(there_are_no_threads_by_default)
{
    const tn_host plain = tn_default_host(), missing = tni_host_or_default(NULL);
    CHECK(plain.each == NULL && plain.workers == NULL);
    CHECK(missing.each == NULL && missing.workers == NULL);
}

TEST(a_host_lends_its_pool)
{
    tn_host host        = tn_default_host();
    host.workers        = tn_pool_create(2);
    host.each           = tn_pool_each;
    atomic_int    tasks = 0;
    const tn_host copy  = tni_host_or_default(&host);
    copy.each(copy.workers, 9, add_one, &tasks);
    CHECK_INT(atomic_load(&tasks), 9);
    tn_pool_free(host.workers);
}

TEST(there_is_a_processor)
{
    CHECK(tn_processor_count() >= 1);
}
