// cholmod: a positive definite matrix on a plan, factored by CHOLMOD instead of ldl.c.
//
// Each component is a matrix of its own: lower triangle, compressed columns, rows in elimination
// order of the plan. Only the graph of the plan is used: CHOLMOD finds its own order (AMD) once, at
// creation, and chooses between simplicial and supernodal itself. L L^T, so that a pivot that is
// not positive is detected.
//
// Column k of node v holds rows k.. of its diagonal block, then the blocks of its edges to later
// nodes, one below the other: an entry is found from the start of its column and the offset of its
// edge.
#include "linalg/cholmod.h"

#ifndef TENON_HAS_CHOLMOD

tn_result tni_cholmod_create(tni_arena* arena, const tni_plan* plan, tni_cholmod** cholmod)
{
    (void)arena, (void)plan;
    *cholmod = NULL;
    return TN_ERR_UNSUPPORTED;
}

void tni_cholmod_free(tni_cholmod* cholmod)
{
    (void)cholmod;
}

tn_result tni_cholmod_factor(tni_cholmod* cholmod, int component, const tni_blocks* blocks,
                             const double* raise, tni_pivot_report* report)
{
    (void)cholmod, (void)component, (void)blocks, (void)raise, (void)report;
    return TN_ERR_UNSUPPORTED;
}

void tni_cholmod_solve(tni_cholmod* cholmod, int component, double* x)
{
    (void)cholmod, (void)component, (void)x;
}

double tni_cholmod_numbers(const tni_cholmod* cholmod)
{
    (void)cholmod;
    return 0;
}

#else

#include <cholmod.h>
#include <math.h>

typedef struct matrix {
    cholmod_sparse* A;
    cholmod_factor* L;
    cholmod_dense * x, *y, *e; // workspace of solves, reused
} matrix;

struct tni_cholmod {
    const tni_plan* plan;
    cholmod_common  common;
    int*            local;  // by first row of a node: its row in the component's matrix
    int*            offset; // by edge: its first row within a column, after the diagonal block
    matrix*         of;     // by component
    double*         rhs;    // right-hand side
    double          numbers;
};

// Index of the first entry of column k of node v.
static int column(const tni_cholmod* m, const matrix* a, int v, int k)
{
    return ((const int*)a->A->p)[m->local[m->plan->row_start[v]] + k];
}

static bool earlier(const tni_plan* plan, int e)
{
    return plan->place[plan->row_node[e]] < plan->place[plan->col_node[e]];
}

// Sets the start of each column, and of each edge within one; returns the number of rows. below: by
// node, the number of rows of its edges; zero on entry.
static int lay_columns(tni_cholmod* m, int component, int* start, int* below)
{
    const tni_plan* plan = m->plan;
    int             rows = 0;
    for (int k = plan->edge_start[component]; k < plan->edge_start[component + 1]; ++k) {
        const int e  = plan->edge_list[k];
        const int v  = earlier(plan, e) ? plan->row_node[e] : plan->col_node[e];
        m->offset[e] = below[v];
        below[v] += plan->dim[earlier(plan, e) ? plan->col_node[e] : plan->row_node[e]];
    }
    start[0] = 0;
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int v                  = plan->order[p];
        m->local[plan->row_start[v]] = rows;
        for (int k = 0; k < plan->dim[v]; ++k, ++rows)
            start[rows + 1] = start[rows] + plan->dim[v] - k + below[v];
    }
    return rows;
}

static void lay_rows(const tni_cholmod* m, int component, const matrix* a)
{
    const tni_plan* plan = m->plan;
    int*            row  = a->A->i;
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int v = plan->order[p], first = m->local[plan->row_start[v]];
        for (int k = 0; k < plan->dim[v]; ++k) {
            for (int i = k; i < plan->dim[v]; ++i) row[column(m, a, v, k) + i - k] = first + i;
        }
    }
    for (int k = plan->edge_start[component]; k < plan->edge_start[component + 1]; ++k) {
        const int e = plan->edge_list[k];
        const int v = earlier(plan, e) ? plan->row_node[e] : plan->col_node[e];
        const int w = earlier(plan, e) ? plan->col_node[e] : plan->row_node[e];
        for (int j = 0; j < plan->dim[v]; ++j) {
            int* to = row + column(m, a, v, j) + plan->dim[v] - j + m->offset[e];
            for (int i = 0; i < plan->dim[w]; ++i) to[i] = m->local[plan->row_start[w]] + i;
        }
    }
}

static bool make_matrix(tni_cholmod* m, int component, int* start, int* below)
{
    matrix*      a    = &m->of[component];
    const size_t rows = (size_t)lay_columns(m, component, start, below);
    if (rows == 0) return true;
    a->A = cholmod_allocate_sparse(rows, rows, (size_t)start[rows], false, true, -1, CHOLMOD_REAL,
                                   &m->common);
    if (a->A == NULL) return false;
    memcpy(a->A->p, start, sizeof(int) * (rows + 1));
    lay_rows(m, component, a);
    a->L = cholmod_analyze(a->A, &m->common);
    m->numbers += m->common.lnz;
    return a->L != NULL;
}

tn_result tni_cholmod_create(tni_arena* arena, const tni_plan* plan, tni_cholmod** cholmod)
{
    *cholmod           = NULL;
    tni_arena    work  = tni_arena_make(&arena->host);
    tni_cholmod* m     = TNI_TAKE(arena, tni_cholmod, 1);
    int*         start = TNI_TAKE(&work, int, plan->row_count + 1);
    int*         below = TNI_TAKE(&work, int, plan->count);
    if (m != NULL) {
        m->plan   = plan;
        m->local  = TNI_TAKE(arena, int, plan->row_count);
        m->offset = TNI_TAKE(arena, int, plan->edge_count);
        m->of     = TNI_TAKE(arena, matrix, plan->component_count);
        m->rhs    = TNI_TAKE(arena, double, plan->row_count);
    }
    bool good = !arena->failed && !work.failed;
    if (good) {
        cholmod_start(&m->common);
        m->common.print              = 0;
        m->common.final_ll           = true;
        m->common.nmethods           = 1;
        m->common.method[0].ordering = CHOLMOD_AMD;
        for (int c = 0; good && c < plan->component_count; ++c)
            good = make_matrix(m, c, start, below);
        if (!good) tni_cholmod_free(m);
    }
    tni_arena_free(&work);
    if (!good) return TN_ERR_MEMORY;
    *cholmod = m;
    return TN_OK;
}

void tni_cholmod_free(tni_cholmod* m)
{
    if (m == NULL) return;
    for (int c = 0; c < m->plan->component_count; ++c) {
        matrix* a = &m->of[c];
        cholmod_free_factor(&a->L, &m->common);
        cholmod_free_sparse(&a->A, &m->common);
        cholmod_free_dense(&a->x, &m->common);
        cholmod_free_dense(&a->y, &m->common);
        cholmod_free_dense(&a->e, &m->common);
    }
    cholmod_finish(&m->common);
}

static void load(const tni_cholmod* m, int component, const matrix* a, const tni_blocks* blocks,
                 const double* raise)
{
    const tni_plan* plan  = m->plan;
    double*         value = a->A->x;
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int     v = plan->order[p], n = plan->dim[v];
        const double* D = blocks->diagonal + blocks->diagonal_at[v];
        for (int k = 0; k < n; ++k) {
            double* to = value + column(m, a, v, k);
            for (int i = k; i < n; ++i) to[i - k] = D[n * i + k];
            to[0] += raise[plan->row_start[v] + k];
        }
    }
    for (int k = plan->edge_start[component]; k < plan->edge_start[component + 1]; ++k) {
        const int     e = plan->edge_list[k], r = plan->row_node[e], c = plan->col_node[e];
        const int     n = plan->dim[r], l = plan->dim[c];
        const bool    straight = earlier(plan, e); // the columns belong to the row node
        const int     v = straight ? r : c, size = straight ? l : n;
        const double* from = blocks->edge + blocks->edge_at[e];
        for (int j = 0; j < plan->dim[v]; ++j) {
            double* to = value + column(m, a, v, j) + plan->dim[v] - j + m->offset[e];
            for (int i = 0; i < size; ++i) to[i] = straight ? from[l * j + i] : from[l * i + j];
        }
    }
}

tn_result tni_cholmod_factor(tni_cholmod* m, int component, const tni_blocks* blocks,
                             const double* raise, tni_pivot_report* report)
{
    matrix* a       = &m->of[component];
    report->bad_row = -1;
    if (a->A == NULL) return TN_OK;
    load(m, component, a, blocks, raise);
    m->common.status = CHOLMOD_OK;
    cholmod_factorize(a->A, a->L, &m->common);
    if (m->common.status == CHOLMOD_OUT_OF_MEMORY) return TN_ERR_MEMORY;
    if (m->common.status == CHOLMOD_OK && a->L->minor == a->L->n) return TN_OK;
    // Perm[minor] is the row of the matrix; find the row of the plan.
    const tni_plan* plan = m->plan;
    const int       bad  = ((const int*)a->L->Perm)[a->L->minor < a->L->n ? a->L->minor : 0];
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int first = plan->row_start[plan->order[p]];
        const int k     = bad - m->local[first];
        if (k >= 0 && k < plan->dim[plan->order[p]]) report->bad_row = first + k;
    }
    return TN_ERR_SINGULAR;
}

void tni_cholmod_solve(tni_cholmod* m, int component, double* x)
{
    const tni_plan* plan = m->plan;
    matrix*         a    = &m->of[component];
    if (a->A == NULL) return;
    const int first = plan->component_start[component], end = plan->component_start[component + 1];
    for (int p = first; p < end; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        memcpy(m->rhs + m->local[v->row], x + v->row, sizeof *x * (size_t)v->dim);
    }
    cholmod_dense b = {.nrow  = a->A->nrow,
                       .ncol  = 1,
                       .nzmax = a->A->nrow,
                       .d     = a->A->nrow,
                       .x     = m->rhs,
                       .xtype = CHOLMOD_REAL,
                       .dtype = CHOLMOD_DOUBLE};
    const bool    solved =
        cholmod_solve2(CHOLMOD_A, a->L, &b, NULL, &a->x, NULL, &a->y, &a->e, &m->common);
    const double* answer = solved ? a->x->x : NULL;
    for (int p = first; p < end; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        for (int k = 0; k < v->dim; ++k) // out of memory: return values that are not finite
            x[v->row + k] = solved ? answer[m->local[v->row] + k] : HUGE_VAL;
    }
}

double tni_cholmod_numbers(const tni_cholmod* m)
{
    return m->numbers;
}

#endif
