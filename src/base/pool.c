// pool: worker threads, and tn_pool_each(), which shares the tasks 0 .. count - 1 of a call among
// them and the calling thread.
//
// The tasks of a call are published by one number, `open`: how many have not been taken. A thread
// that lowers it from r to r - 1 has taken task count - r, and only then reads `task` and `data`:
// they do not change until every task has been subtracted from `unfinished`, which each thread does
// once, when there is nothing more to take. So a call waits for tasks, never for threads: a thread
// that wakes too late finds open = 0 and sleeps again, or takes tasks of the next call.
//
// An idle thread spins on the number for a few microseconds, then sleeps on a condition variable.
// To sleep: count oneself as a sleeper, then check the number again. To wake: change the number,
// then check for sleepers. All four accesses are sequentially consistent, so one of the two sides
// always sees the other, and a caller without sleepers takes no lock.
//
// A call that finds the pool busy, from within a task or from another thread, runs all of its tasks
// on its own thread. So a call only ever waits for tasks that are running, and there is no
// deadlock.
//
// Cost, 2 threads on two cores (gcc 12 -O3, virtual machine): a call of two tasks 0.05 us for the
// caller, 0.2 to 0.6 us when a spinning helper takes one of them. Waking a sleeping helper costs
// the caller 8 to 16 us, and the helper starts 20 to 30 us later: shorter work is not worth
// sharing. Spinning for about as long as a wake-up costs wastes at most as much as it may save;
// SPINS take some 8 us. Calls of one task, and pools of one thread: some ns.
#define _GNU_SOURCE // sched_getaffinity

#include "base/base.h"

#include <stdlib.h>

// TENON_NO_THREADS is defined by CMake for TENON_THREADS=OFF.
#if defined(TENON_NO_THREADS) || defined(__STDC_NO_ATOMICS__) || defined(_WIN32) || \
    (defined(__wasm__) && !defined(__EMSCRIPTEN_PTHREADS__))
#define ALONE
#endif

static void do_alone(int count, tn_task* task, void* data)
{
    for (int i = 0; i < count; ++i) task(data, i);
}

#ifdef ALONE

struct tn_pool {
    int threads;
};

tn_pool* tn_pool_create(int threads)
{
    TN_ASSERT(threads >= 1);
    (void)threads;
    tn_pool* pool = malloc(sizeof *pool);
    if (pool != NULL) pool->threads = 1;
    return pool;
}

void tn_pool_free(tn_pool* pool)
{
    free(pool);
}

void tn_pool_each(void* pool, int count, tn_task* task, void* data)
{
    (void)pool;
    do_alone(count, task, data);
}

int tn_processor_count(void)
{
    return 1;
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LINE = 64, SPINS = 300 };

struct tn_pool {
    // The call in progress. Fields that several threads write have a cache line each.
    _Alignas(LINE) atomic_int open; ///< tasks not yet taken
    int      count;
    tn_task* task;
    void*    data;
    _Alignas(LINE) atomic_int unfinished; ///< tasks not yet finished
    _Alignas(LINE) atomic_bool busy;      ///< a call is in progress
    // Sleep.
    _Alignas(LINE) atomic_int sleepers; ///< helpers that sleep or are about to
    atomic_bool     caller_sleeps;      ///< or is about to
    bool            stop;               ///< true: helpers return; guarded by lock
    pthread_mutex_t lock;
    pthread_cond_t  work, done;
    int             threads; ///< including the caller's
    pthread_t       helpers[];
};

static void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Spins until the number is zero (zero) or nonzero (!zero). False if it took too long.
static bool spin(atomic_int* number, bool zero)
{
    for (int i = 0; i < SPINS; ++i) {
        if ((atomic_load_explicit(number, memory_order_acquire) == 0) == zero) return true;
        rest();
    }
    return false;
}

static void wake(tn_pool* pool, pthread_cond_t* condition, int count)
{
    pthread_mutex_lock(&pool->lock); // after this, a thread that counted itself as a sleeper is
                                     // waiting
    pthread_mutex_unlock(&pool->lock);
    if (count >= pool->threads - 1) pthread_cond_broadcast(condition);
    else
        for (int i = 0; i < count; ++i) pthread_cond_signal(condition);
}

static bool take(tn_pool* pool, int* index)
{
    int open = atomic_load_explicit(&pool->open, memory_order_relaxed);
    while (open > 0) {
        if (!atomic_compare_exchange_weak(&pool->open, &open, open - 1)) continue;
        *index = pool->count - open;
        return true;
    }
    return false;
}

// Runs tasks until none is open. True if this thread finished the call's last task.
static bool work(tn_pool* pool)
{
    int finished = 0;
    for (int i; take(pool, &i); ++finished) pool->task(pool->data, i);
    return finished > 0 && atomic_fetch_sub(&pool->unfinished, finished) == finished;
}

// False: the pool is being freed.
static bool wait_for_work(tn_pool* pool)
{
    if (spin(&pool->open, false)) return true;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->open) == 0 && !pool->stop)
        pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    const bool go = pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return !go;
}

static void* help(void* user)
{
    tn_pool* pool = user;
    while (wait_for_work(pool))
        if (work(pool) && atomic_load(&pool->caller_sleeps)) wake(pool, &pool->done, 1);
    return NULL;
}

static void wait_for_helpers(tn_pool* pool)
{
    if (spin(&pool->unfinished, true)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->unfinished) != 0) pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

void tn_pool_each(void* workers, int count, tn_task* task, void* data)
{
    tn_pool* pool = workers;
    if (count < 2 || pool == NULL || pool->threads < 2 || atomic_exchange(&pool->busy, true)) {
        do_alone(count, task, data);
        return;
    }
    pool->count = count;
    pool->task  = task;
    pool->data  = data;
    atomic_store_explicit(&pool->unfinished, count, memory_order_relaxed);
    atomic_store(&pool->open, count);
    const int sleepers = atomic_load(&pool->sleepers);
    if (sleepers > 0) wake(pool, &pool->work, sleepers < count - 1 ? sleepers : count - 1);
    if (!work(pool)) wait_for_helpers(pool);
    atomic_store_explicit(&pool->busy, false, memory_order_release);
}

// Starts up to count helpers, with all signals blocked: they are for the host's threads. Returns
// the number started.
static int start_helpers(tn_pool* pool, int count)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0;
    while (started < count && pthread_create(&pool->helpers[started], NULL, help, pool) == 0)
        ++started;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

tn_pool* tn_pool_create(int threads)
{
    TN_ASSERT(threads >= 1);
    const size_t bytes = sizeof(tn_pool) + sizeof(pthread_t) * (size_t)(threads - 1);
    tn_pool*     pool  = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (pool == NULL) return NULL;
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    const int started = start_helpers(pool, threads - 1);
    if (started == threads - 1) return pool;
    pool->threads = started + 1;
    tn_pool_free(pool);
    return NULL;
}

void tn_pool_free(tn_pool* pool)
{
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    for (int i = 0; i < pool->threads - 1; ++i) pthread_join(pool->helpers[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

int tn_processor_count(void)
{
#ifdef __linux__ // processors this process may use, as nproc reports
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count < 1 << 16 ? (int)count : 1;
}

#endif

int tn_pool_threads(const tn_pool* pool)
{
    return pool != NULL ? pool->threads : 1;
}
