// pool: threads that wait for work, and tn_pool_each(), which shares the tasks 0 .. count - 1 of a call
// among them and the caller.
//
// A call shows its tasks by one number, `open`: how many of them nobody has taken. Who lowers it from r
// to r - 1 has taken task count - r, and only then reads what the tasks are: that stands still until
// every task is counted off `unfinished`, which each thread does once, when it finds nothing more to
// take. So a call waits for tasks and never for threads: one that wakes too late finds open = 0 and
// sleeps again, and whatever call it finds instead, it serves.
//
// Who has nothing to do looks at the number for a few microseconds, then sleeps on a condition. To sleep:
// say so, then look once more. To wake: change the number, then look for sleepers. All four are
// sequentially consistent, so one of the two always sees the other, and a waker that sees nobody takes
// no lock.
//
// A call that finds the pool busy, from within a task or from another thread, is done by its caller
// alone. So nothing waits but for tasks that run, and nothing can lock up.
//
// Cost, 2 threads on two cores (gcc 12 -O3, virtual machine): a call of two tasks 0.05 us for the caller,
// 0.2 to 0.6 us when a helper that still looks takes one of them. Waking one that sleeps costs the
// caller 8 to 16 us, and it takes 20 to 30 us to come: work of less is not worth sharing. Looking for
// about as long as waking costs loses at most as much again as it may win; SPINS are some 8 us.
// Calls of one task, and pools of one thread: some ns.
#define _GNU_SOURCE // sched_getaffinity

#include "base/base.h"

#include <stdlib.h>

// TENON_NO_THREADS: by choice (CMake: TENON_THREADS=OFF).
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
    // The call that is served. Every part that many write has a cache line of its own.
    _Alignas(LINE) atomic_int open; ///< tasks that nobody has taken
    int      count;
    tn_task* task;
    void*    data;
    _Alignas(LINE) atomic_int unfinished; ///< tasks that nobody has counted off
    _Alignas(LINE) atomic_bool busy;      ///< a call is served
    // Sleep.
    _Alignas(LINE) atomic_int sleepers; ///< helpers that sleep or are about to
    atomic_bool     caller_sleeps;      ///< likewise
    bool            stop;               ///< under the lock
    pthread_mutex_t lock;
    pthread_cond_t  work, done;
    int             threads; ///< with the caller's
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

// Whether the number becomes zero (else: anything else) soon.
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
    pthread_mutex_lock(&pool->lock); // who is about to sleep now sleeps
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

// Does what is left. True: this finished the last task of all.
static bool work(tn_pool* pool)
{
    int finished = 0;
    for (int i; take(pool, &i); ++finished) pool->task(pool->data, i);
    return finished > 0 && atomic_fetch_sub(&pool->unfinished, finished) == finished;
}

// False: it is time to go.
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

// Starts the helpers, deaf to signals: those are for the threads of the host. How many there are.
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
#ifdef __linux__ // those that this process is let run on, as nproc says
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
