// grand: the factorisation with blocks between A nodes two steps apart, on a chain by itself, ns a
// link; beside it the plain one with the same springs as `soft` more rows of the B nodes. A link is
// an A node of 6 rows with a B node of `rows` rows to the link before it.
//     grand [rows [soft [links [repeats]]]]
#define _POSIX_C_SOURCE 200809L
#include "linalg/grandparent.h"

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

typedef struct chain {
    int        rows, hard, links;
    tni_plan*  plan;
    tni_blocks blocks;
    double*    x;
} chain;

static bool make_plan(tni_arena* arena, chain* c)
{
    const int n      = c->links;
    int*      dim    = TNI_TAKE(arena, int, 2 * n);
    int8_t*   sign   = TNI_TAKE(arena, int8_t, 2 * n);
    int*      row    = TNI_TAKE(arena, int, 2 * n);
    int*      col    = TNI_TAKE(arena, int, 2 * n);
    uint8_t*  strong = TNI_TAKE(arena, uint8_t, 2 * n);
    tni_graph graph  = {2 * n, dim, sign, 0, row, col, strong, NULL};
    if (arena->failed) return false;
    for (int i = 0; i < n; ++i) {
        dim[i] = 6, sign[i] = 1, dim[n + i] = c->rows, sign[n + i] = -1;
        for (int side = i > 0 ? 0 : 1; side < 2; ++side) { // the first one holds to the ground
            row[graph.edge_count]      = n + i;
            col[graph.edge_count]      = i - 1 + side;
            strong[graph.edge_count++] = 1;
        }
    }
    return tni_plan_create(arena, &graph, &c->plan) == TN_OK;
}

// Rows from `hard` on have a compliance.
static bool make_chain(tni_arena* arena, chain* c)
{
    if (!make_plan(arena, c)) return false;
    const int n = c->links, rows = c->rows, edges = c->plan->edge_count;
    double*   diagonal    = TNI_TAKE(arena, double, n * (36 + rows * rows));
    double*   edge        = TNI_TAKE(arena, double, edges * 6 * rows);
    size_t*   diagonal_at = TNI_TAKE(arena, size_t, 2 * n);
    size_t*   edge_at     = TNI_TAKE(arena, size_t, edges);
    uint64_t  seed        = 1;
    c->x                  = TNI_TAKE(arena, double, (6 + rows) * n);
    if (arena->failed) return false;
    for (int i = 0; i < n; ++i) {
        diagonal_at[i]     = (size_t)i * 36;
        diagonal_at[n + i] = (size_t)n * 36 + (size_t)(i * rows * rows);
        for (int k = 0; k < 6; ++k) diagonal[diagonal_at[i] + 7 * k] = 1 + 0.5 * number(&seed);
        for (int k = c->hard; k < rows; ++k) diagonal[diagonal_at[n + i] + (rows + 1) * k] = 0.1;
    }
    for (int e = 0; e < edges; ++e) {
        edge_at[e] = (size_t)(6 * rows * e);
        for (int k = 0; k < 6 * rows; ++k)
            edge[edge_at[e] + k] = number(&seed) + (k % 7 == 0 ? 2 : 0);
    }
    c->blocks = (tni_blocks){diagonal, diagonal_at, edge, edge_at, c->hard == rows};
    return true;
}

static void say(const char* what, const chain* c, double factor, double solve, double flops[2])
{
    printf("%-10s rows %d links %d: factor %.1f ns, solve %.1f ns a link; flops %.0f, %.0f\n", what,
           c->rows, c->links, 1e9 * factor / c->links, 1e9 * solve / c->links, flops[0] / c->links,
           flops[1] / c->links);
}

static bool time_grand(tni_arena* arena, chain* c, tni_grandparent_kind kind, int repeats)
{
    tni_grandparent* grand;
    double           factor = HUGE_VAL, solve = HUGE_VAL;
    uint64_t         seed = 2;
    if (tni_grandparent_create(arena, c->plan, NULL, kind, &grand) != TN_OK) return false;
    for (size_t i = 0; i < grand->given_count; ++i) grand->given[i] = 0.02 * number(&seed);
    for (int i = 0; i < repeats; ++i) {
        for (int k = 0; k < (6 + c->rows) * c->links; ++k) c->x[k] = 1;
        const double t0 = seconds();
        if (tni_grandparent_factor(grand, &c->blocks) != TN_OK) return false;
        const double t1 = seconds();
        tni_grandparent_solve(grand, 1, c->x);
        const double t2 = seconds();
        factor          = fmin(factor, t1 - t0);
        solve           = fmin(solve, t2 - t1);
    }
    say(kind == TNI_GRANDPARENT_GENERAL ? "general" : "symmetric", c, factor, solve,
        (double[]){grand->factor_flops, grand->solve_flops});
    return true;
}

static bool time_plain(tni_arena* arena, chain* c, int repeats)
{
    tni_ldl*             ldl;
    tni_pivot_report     report;
    const tni_pivot_rule rule   = {NULL, NULL, 1e-13};
    double               factor = HUGE_VAL, solve = HUGE_VAL;
    if (tni_ldl_create(arena, c->plan, &ldl) != TN_OK) return false;
    for (int i = 0; i < repeats; ++i) {
        for (int k = 0; k < (6 + c->rows) * c->links; ++k) c->x[k] = 1;
        const double t0 = seconds();
        if (tni_ldl_factor(ldl, -1, &c->blocks, NULL, &rule, &report) != TN_OK) return false;
        const double t1 = seconds();
        tni_ldl_solve(ldl, -1, 1, c->x);
        const double t2 = seconds();
        factor          = fmin(factor, t1 - t0);
        solve           = fmin(solve, t2 - t1);
    }
    say("rows", c, factor, solve, (double[]){c->plan->factor_flops, c->plan->solve_flops});
    return true;
}

int main(int count, char** arguments)
{
    const int rows    = count > 1 ? atoi(arguments[1]) : 3;
    const int soft    = count > 2 ? atoi(arguments[2]) : 3;
    const int links   = count > 3 ? atoi(arguments[3]) : 1000;
    const int repeats = count > 4 ? atoi(arguments[4]) : 200;
    if (rows < 1 || soft < 0 || rows + soft > 6 || links < 1 || repeats < 1) return 2;
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    chain         hard = {.rows = rows, .hard = rows, .links = links}, all = hard;
    all.rows        = rows + soft;
    const bool good = make_chain(&arena, &hard) && make_chain(&arena, &all) &&
                      time_grand(&arena, &hard, TNI_GRANDPARENT_SYMMETRIC, repeats) &&
                      time_grand(&arena, &hard, TNI_GRANDPARENT_GENERAL, repeats) &&
                      time_plain(&arena, &all, repeats);
    tni_arena_free(&arena);
    return good ? 0 : 1;
}
