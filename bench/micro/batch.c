// batch: characters stepped together beside the same ones stepped one by one, microseconds a character and step.
//     batch [SCENE [COPIES [STEPS [THREADS]]]]     interleaved repetitions; medians and least times
//     batch SCENE COPIES STEPS single|batch        that and nothing else, for instruction counters
//     batch peak                                   products and sums of vectors, what the processor can do
// The method is the implicit one, h = 1/60 s. Every copy starts in another pose. Times are the processor's where one
// thread works, the wall's else. bench/flops counts the operations of a step.
#define _POSIX_C_SOURCE 200809L
#include "tenon/batch.h"
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double h = 1 / 60.0;

enum { REPEATS = 7 };

static double seconds(bool wall)
{
    struct timespec t;
    clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double unit(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

// Joints up to 0.3 rad from where they were, with up to 1 rad/s.
static void scatter(const tn_model* model, tn_state* state, int copy)
{
    const int n    = tn_model_coordinate_count(model);
    double*   z    = malloc(sizeof *z * 2 * (size_t)(n + 1));
    uint64_t  seed = (uint64_t)copy + 1;
    for (int k = 0; k < n; ++k) {
        z[k]     = 0.6 * (unit(&seed) - 0.5);
        z[n + k] = 2 * (unit(&seed) - 0.5);
    }
    if (tn_state_set_joints(state, z, z + n, NULL) != TN_OK) tn_state_reset(state);
    free(z);
}

typedef struct bench {
    tn_model*   model;
    tn_settings settings;
    int         copies, steps;
    tn_stepper* stepper;
    tn_state**  states;
    tn_batch*   batch;
} bench;

static void restart(bench* b)
{
    for (int i = 0; i < b->copies; ++i) {
        if (b->states != NULL) tn_state_reset(b->states[i]), scatter(b->model, b->states[i], i);
        if (b->batch == NULL) continue;
        tn_state_reset(tn_batch_state(b->batch, i));
        scatter(b->model, tn_batch_state(b->batch, i), i);
    }
}

// Seconds of all steps.
static double run_singles(bench* b)
{
    const double from = seconds(false);
    for (int s = 0; s < b->steps; ++s)
        for (int i = 0; i < b->copies; ++i)
            if (tn_stepper_step(b->stepper, b->states[i], h, NULL, NULL) != TN_OK) exit(1);
    return seconds(false) - from;
}

static double run_batch(bench* b, bool wall, long* alone)
{
    const double    from = seconds(wall);
    tn_batch_report report;
    *alone = 0;
    for (int s = 0; s < b->steps; ++s) {
        if (tn_batch_step(b->batch, h, &report, NULL) != TN_OK) exit(1);
        *alone += report.alone_count;
    }
    return seconds(wall) - from;
}

static bool make_singles(bench* b)
{
    b->states = calloc((size_t)b->copies, sizeof *b->states);
    if (tn_stepper_create(b->model, &b->settings, &b->stepper, NULL) != TN_OK) return false;
    for (int i = 0; i < b->copies; ++i)
        if (tn_state_create(b->model, &b->states[i]) != TN_OK) return false;
    return true;
}

// ---- What the processor can do -------------------------------------------------------------------

#if defined(__GNUC__) && defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
enum { WIDTH = 4 };
#else
#define TARGET
enum { WIDTH = 2 };
#endif
typedef double vec __attribute__((vector_size(8 * WIDTH)));

enum { CHAINS = 6, ROUNDS = 1000000 };

// Sums and products side by side, each waiting for its own alone.
TARGET static double multiply_and_add(double* sum)
{
    vec          a[CHAINS], b[CHAINS];
    const double x = 1 + 1e-16, y = 1e-9;
    const double from = seconds(false);
    for (int k = 0; k < CHAINS; ++k) a[k] = b[k] = (vec){0} + k;
    for (int i = 0; i < ROUNDS; ++i) {
#pragma GCC unroll 6
        for (int k = 0; k < CHAINS; ++k) a[k] *= x, b[k] += y;
    }
    const double took = seconds(false) - from;
    for (int k = 0; k < CHAINS; ++k) *sum += a[k][0] + b[k][0];
    return took;
}

static int print_peak(void)
{
    double least = 1e9, sum = 0;
#if defined(__GNUC__) && defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) return 1;
#endif
    for (int i = 0; i < 20; ++i) {
        const double took = multiply_and_add(&sum);
        if (took < least) least = took;
    }
    printf("products and sums of %d numbers, none fused: %.1f Gflop/s%s\n", (int)WIDTH,
           2e-9 * CHAINS * ROUNDS * WIDTH / least, sum > 0 ? "" : "?");
    return 0;
}

// ---- The comparison ------------------------------------------------------------------------------

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void print(const bench* b, const char* what, double* times)
{
    const double each = 1e6 / (double)b->steps / (double)b->copies;
    qsort(times, REPEATS, sizeof *times, compare);
    printf("%-28s %8.2f %8.2f us   %9.0f a second\n", what, each * times[0],
           each * times[REPEATS / 2], (double)b->steps * b->copies / times[REPEATS / 2]);
}

static void compare_both(bench* b, tn_batch* const* batches, const int* threads, int count)
{
    double times[4][REPEATS];
    long   alone[4] = {0};
    for (int i = 0; i < REPEATS; ++i) {
        b->batch = NULL;
        restart(b);
        times[0][i] = run_singles(b);
        for (int k = 0; k < count; ++k) {
            b->batch = batches[k];
            restart(b);
            times[k + 1][i] = run_batch(b, threads[k] > 1, &alone[k]);
        }
    }
    print(b, "one by one", times[0]);
    for (int k = 0; k < count; ++k) {
        char text[60];
        snprintf(text, sizeof text, "batch, %d thread%s", threads[k], threads[k] > 1 ? "s" : "");
        print(b, text, times[k + 1]);
    }
    printf("copies that left their lanes: %ld of %ld\n", alone[0], (long)b->copies * b->steps);
}

int main(int count, char** arguments)
{
    const char* spec       = count > 1 ? arguments[1] : "humanoid";
    const char* what       = count > 4 ? arguments[4] : "2";
    bench       b          = {.copies = count > 2 ? atoi(arguments[2]) : 1000,
                              .steps  = count > 3 ? atoi(arguments[3]) : 20};
    const int   most       = atoi(what) > 1 ? atoi(what) : 1;
    tn_pool*    pool       = tn_pool_create(most);
    tn_host     host       = tn_default_host();
    tn_scene*   scene      = NULL;
    tn_batch*   both[2]    = {NULL, NULL};
    const int   threads[2] = {1, most};
    tn_why      why        = {0};
    if (strcmp(spec, "peak") == 0) return print_peak();
    if (tns_build(NULL, spec, &scene, &why) != TN_OK ||
        tn_scene_compile(scene, &b.model, &why) != TN_OK) {
        fprintf(stderr, "batch: %s\n", why.text);
        return 1;
    }
    b.settings        = tn_scene_settings(scene);
    b.settings.method = TN_METHOD_IMPLICIT;
    const bool single = strcmp(what, "single") == 0, batch = strcmp(what, "batch") == 0;
    if (!batch && !make_singles(&b)) return 1;
    for (int i = 0; i < 2 && !single; ++i) {
        if (i == 1) host.each = tn_pool_each, host.workers = pool;
        if (tn_batch_create(b.model, &b.settings, b.copies, &host, &both[i], &why) != TN_OK)
            return 1;
    }
    long alone;
    b.batch = both[0];
    restart(&b);
    if (single) (void)run_singles(&b);
    else if (batch) (void)run_batch(&b, false, &alone);
    else {
        printf("%s, %d copies, %d steps of 1/60 s\n", spec, b.copies, b.steps);
        compare_both(&b, both, threads, most > 1 ? 2 : 1);
    }
    for (int i = 0; i < 2; ++i) tn_batch_free(both[i]);
    for (int i = 0; b.states != NULL && i < b.copies; ++i) tn_state_free(b.states[i]);
    free(b.states);
    tn_stepper_free(b.stepper);
    tn_pool_free(pool);
    tn_model_free(b.model);
    tn_scene_free(scene);
    return 0;
}
