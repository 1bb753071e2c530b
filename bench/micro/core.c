// core: the block LDL^T of a chain by itself, ns a link. A link is an A node of 6 rows with a B
// node of `rows` rows to the link before it.
//     core [rows [links [repeats]]]
#define _POSIX_C_SOURCE 200809L
#include "linalg/saddle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double number(uint64_t* state) // in (-1, 1), the same for every run
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) * 0x1p-31;
}

static tni_saddle* chain(tni_arena* arena, int rows, int links)
{
    int*        dim    = TNI_TAKE(arena, int, 2 * links);
    int8_t*     sign   = TNI_TAKE(arena, int8_t, 2 * links);
    int*        row    = TNI_TAKE(arena, int, 2 * links);
    int*        col    = TNI_TAKE(arena, int, 2 * links);
    uint8_t*    strong = TNI_TAKE(arena, uint8_t, 2 * links);
    tni_graph   graph  = {2 * links, dim, sign, 0, row, col, strong, NULL};
    tni_plan*   plan;
    tni_saddle* s;
    if (arena->failed) return NULL;
    for (int i = 0; i < links; ++i) {
        dim[i] = 6, sign[i] = 1, dim[links + i] = rows, sign[links + i] = -1;
        for (int side = i > 0 ? 0 : 1; side < 2; ++side) { // the first one holds to the ground
            row[graph.edge_count]      = links + i;
            col[graph.edge_count]      = i - 1 + side;
            strong[graph.edge_count++] = 1;
        }
    }
    if (tni_plan_create(arena, &graph, &plan) != TN_OK ||
        tni_saddle_create(arena, plan, &s) != TN_OK)
        return NULL;
    uint64_t seed = 1;
    for (int i = 0; i < links; ++i) {
        double* A = tni_saddle_a(s, i);
        for (int k = 0; k < 6; ++k) A[7 * k] = 1 + 0.5 * number(&seed);
    }
    for (int e = 0; e < graph.edge_count; ++e) {
        double* J = tni_saddle_j(s, e);
        for (int k = 0; k < 6 * rows; ++k) J[k] = number(&seed) + (k % 7 == 0 ? 2 : 0);
    }
    return s;
}

int main(int count, char** arguments)
{
    const int rows    = count > 1 ? atoi(arguments[1]) : 3;
    const int links   = count > 2 ? atoi(arguments[2]) : 1000;
    const int repeats = count > 3 ? atoi(arguments[3]) : 200;
    if (rows < 1 || rows > 6 || links < 1 || repeats < 1) return 2;
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_saddle*   s     = chain(&arena, rows, links);
    double*       rhs   = TNI_TAKE(&arena, double, (6 + rows) * links);
    double*       x     = TNI_TAKE(&arena, double, (6 + rows) * links);
    if (s == NULL || arena.failed) return 1;
    for (int i = 0; i < (6 + rows) * links; ++i) rhs[i] = 1;
    double factor = HUGE_VAL, solve = HUGE_VAL;
    for (int i = 0; i < repeats; ++i) {
        const double t0 = seconds();
        if (tni_saddle_factor(s) != TN_OK) return 1;
        const double t1 = seconds();
        if (tni_saddle_solve(s, rhs, x, true) != TN_OK) return 1;
        const double t2 = seconds();
        factor          = t1 - t0 < factor ? t1 - t0 : factor;
        solve           = t2 - t1 < solve ? t2 - t1 : solve;
    }
    printf(
        "rows %d links %d: factor %.1f ns, solve %.1f ns a link (best of %d); flops %.0f, %.0f\n",
        rows, links, 1e9 * factor / links, 1e9 * solve / links, repeats,
        s->plan->factor_flops / links, s->plan->solve_flops / links);
    tni_arena_free(&arena);
    return 0;
}
