// front: the factorisation of a built-in scene's graph by itself, with random numbers in its blocks.
//     front SCENE [repeats]
// One line: rows, fill, memory of plan and factor, time of plan, factor and solve (best of all
// repeats), Gflop/s of the factor, bytes a second of the solve, and the residual of the answer.
#define _POSIX_C_SOURCE 200809L
#include "linalg/ldl.h"
#include "model/model.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) // of this process: others on the machine count less
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double number(uint64_t* state) // in (-1, 1), the same for every run
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) * 0x1p-31;
}

typedef struct matrix {
    const tni_plan* plan;
    tni_blocks      blocks;
    double *        numbers, *raise, *scale;
    size_t *        diagonal_at, *edge_at;
} matrix;

static void fill(tni_arena* arena, const tni_plan* plan, matrix* s)
{
    size_t   at    = 0;
    uint64_t seed  = 1;
    s->plan        = plan;
    s->diagonal_at = TNI_TAKE(arena, size_t, plan->count);
    s->edge_at     = TNI_TAKE(arena, size_t, plan->edge_count);
    s->raise       = TNI_TAKE(arena, double, plan->row_count);
    s->scale       = TNI_TAKE(arena, double, plan->row_count);
    if (arena->failed) return;
    for (int v = 0; v < plan->count; ++v) {
        s->diagonal_at[v] = at;
        at += (size_t)(plan->dim[v] * plan->dim[v]);
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        s->edge_at[e] = at;
        at += (size_t)(plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]]);
    }
    s->numbers = TNI_TAKE(arena, double, at);
    if (arena->failed) return;
    for (size_t i = s->edge_at[0]; i < at; ++i) s->numbers[i] = number(&seed);
    for (int v = 0; v < plan->count; ++v) {
        for (int k = 0; k < plan->dim[v]; ++k) {
            if (plan->sign[v] > 0)
                s->numbers[s->diagonal_at[v] + (size_t)((plan->dim[v] + 1) * k)] = 4;
            else s->raise[plan->row_start[v] + k] = 0.1;
            s->scale[plan->row_start[v] + k] = 1;
        }
    }
    s->blocks = (tni_blocks){s->numbers, s->diagonal_at, s->numbers, s->edge_at, true};
}

// Largest |H x - 1|.
static double residual(const matrix* s, const double* x, double* r)
{
    const tni_plan* plan = s->plan;
    for (int v = 0; v < plan->count; ++v) {
        for (int i = plan->row_start[v]; i < plan->row_start[v + 1]; ++i)
            r[i] = (plan->sign[v] > 0 ? 4 : -0.1) * x[i] - 1;
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        const int     a = plan->row_node[e], b = plan->col_node[e], m = plan->dim[b];
        const double* J = s->numbers + s->edge_at[e];
        for (int i = 0; i < plan->dim[a]; ++i) {
            for (int j = 0; j < m; ++j) {
                r[plan->row_start[a] + i] += J[m * i + j] * x[plan->row_start[b] + j];
                r[plan->row_start[b] + j] += J[m * i + j] * x[plan->row_start[a] + i];
            }
        }
    }
    double worst = 0;
    for (int i = 0; i < plan->row_count; ++i) worst = fmax(worst, fabs(r[i]));
    return worst;
}

int main(int count, char** arguments)
{
    const int     repeats = count > 2 ? atoi(arguments[2]) : 5;
    const tn_host host    = tn_default_host();
    tni_arena     arena   = tni_arena_make(&host);
    tn_scene*     scene;
    tn_model*     model;
    tn_why        why = {0};
    if (count < 2 || repeats < 1) return 2;
    if (tns_build(NULL, arguments[1], &scene, &why) != TN_OK ||
        tn_scene_compile(scene, &model, &why) != TN_OK) {
        fprintf(stderr, "front: %s\n", why.text);
        return 1;
    }
    const tni_plan* given  = model->core.plan;
    tni_graph       graph  = {given->count,    given->dim,      given->sign, given->edge_count,
                              given->row_node, given->col_node, NULL,        NULL};
    uint8_t*        strong = TNI_TAKE(&arena, uint8_t, given->edge_count);
    tni_plan*       plan;
    tni_ldl*        ldl;
    matrix          s;
    for (int e = 0; e < given->edge_count; ++e)
        strong[e] = given->dim[given->row_node[e]] <= given->dim[given->col_node[e]];
    graph.strong       = strong;
    const size_t empty = arena.bytes;
    const double t0    = seconds();
    if (tni_plan_create(&arena, &graph, &plan) != TN_OK) return 1;
    const double t1        = seconds();
    const size_t plan_size = arena.bytes - empty;
    if (tni_ldl_create(&arena, plan, &ldl) != TN_OK) return 1;
    const size_t ldl_size = arena.bytes - empty - plan_size;
    fill(&arena, plan, &s);
    double* x = TNI_TAKE(&arena, double, 2 * (size_t)plan->row_count);
    if (arena.failed) return 1;
    double    factor = HUGE_VAL, solve = HUGE_VAL;
    const int often = 1 + (int)(1e6 / plan->factor_flops); // small ones several times a measurement
    for (int i = 0; i < repeats; ++i) {
        const tni_pivot_rule rule = {.scale = s.scale, .alpha = s.raise, .tolerance = 1e-13};
        tni_pivot_report     report;
        const double         t2 = seconds();
        for (int k = 0; k < often; ++k) {
            if (tni_ldl_factor(ldl, -1, &s.blocks, s.raise, &rule, &report) != TN_OK) return 1;
        }
        const double t3 = seconds();
        for (int k = 0; k < often; ++k) {
            for (int r = 0; r < plan->row_count; ++r) x[r] = 1;
            tni_ldl_solve(ldl, -1, 1, x);
        }
        solve  = fmin(solve, (seconds() - t3) / often);
        factor = fmin(factor, (t3 - t2) / often);
    }
    printf("%-34s rows %7d fill %8d plan %.4g MB %.3g s, factor %.4g MB %.6g us %.3g Gflop %.3g "
           "Gflop/s, solve %.6g us, residual %.2g\n",
           arguments[1], plan->row_count, plan->fill_blocks, 1e-6 * (double)plan_size, t1 - t0,
           1e-6 * (double)ldl_size, 1e6 * factor, 1e-9 * plan->factor_flops,
           1e-9 * plan->factor_flops / factor, 1e6 * solve, residual(&s, x, x + plan->row_count));
    tn_model_free(model);
    tn_scene_free(scene);
    tni_arena_free(&arena);
    return 0;
}
