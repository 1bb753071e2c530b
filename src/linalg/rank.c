// rank: redundant rows among the hard B rows of a saddle system.
//
// The pivots of the saddle's own factorisation do not show it: there a B node may be eliminated
// before all of its A nodes, and a row that still misses an A node has a vanishing pivot as well.
// So the loops are ordered and factored once more, every B node after all of its A nodes. Then a
// pivot is
//
//     S_ii - the part explained by the rows before i,    S = J M^-1 J^T
//
// and vanishes exactly where row i depends on the rows before it. Rows with E are soft: they are
// independent of all others, so they are left out.
//
// M stands for A: weights do not change ranks, they only blur pivots. It is diagonal, M_kk =
// sqrt(A_kk / largest of its block), halfway between A, which may be nearly singular in a
// direction, and the unit matrix, which mixes metres and radians.
//
// A pivot is a squared length: the rounding in a dependent row, 1e-8 and more in large systems,
// hides independent rows whose remainder is 1e-4 of their length. Hence two rounds. Rows with
// pivots above KEPT, relative to S_ii, are kept; the others get an infinite pivot, which removes
// them from the rest of the elimination. Then each row in doubt, with a pivot above
// TNI_RANK_DEPENDENT in magnitude, is projected onto the null space of the kept rows K, repeatedly
// as long as that makes it shorter, since each projection removes rounding of the last one (twice
// in linkages; by 1e-3 each time in a cube of 10^3 octahedra):
//
//     [ M  K^T ] [ u  ]   [ w ]
//     [ K   0  ] [ mu ] = [ 0 ]      w = J_i^T, then w = M u
//
// and u^T M u / S_ii replaces the pivot. Remainders that are not zero are compared with each other
// by a dense rank. Most rows in doubt turn out dependent, and large meshes have thousands of them:
// so groups of them are projected as two sums with random weights, and a group is bisected only if
// one of these sums is not zero.
//
// Measured against dense rank, seven classes (planar linkages, scissors, grids of 4 x 4 and 8 x 8,
// closed chains, 3d with few and with many loops), weights up to 1e8 apart. Wrong counts: none of
// 2598 with lengths of about 1, one of 3464 with lengths of 1e-3, 1e-2, 1e2, 1e3 (3d, many loops).
// Built-in scenes, up to a tube of 8 x 20 octahedra with 19206 rows, in their size and scaled by
// 1e-2, 1e-3, 1e3: none. The values of the second round are well separated: at most 1e-23 for
// dependent rows, at least 1e-7 for others, 1e-10 with lengths far from 1. KEPT = 1e-8, 1e-7, 1e-6,
// 1e-5, 1e-4: 33, 12, 3, 1, 0 wrong of 4330; 1e-4 puts twice as many rows in doubt. One round, with
// 2e-8 as the limit, has 16 wrong of 1008 with M = A, 1 with A blocks normalised, and that tube is
// wrong by 7 and 1.
//
// Cost: a factorisation of S, which can be much more than the saddle's (a node with m neighbours
// makes a clique of all of their rows), and four solves for 8 groups of rows in doubt, more if some
// of them are independent. So this is done once a model, not each step. Memory is released on
// return.
#include "linalg/rank.h"

#include "linalg/dense.h"

#include <math.h>

#define INFINITE 1e200
#define KEPT     1e-5 // relative pivots above this are not rounding
#define ALIKE    1e-5 // relative remainder below which a row depends on the other rows in doubt

#define NOTHING 1e-20 // squared length that counts as zero

enum { TESTS = 8, COLUMNS = 2 * TESTS, ROUNDS_MAX = 8 };

// The nodes and edges of loops, renumbered, and their system.
typedef struct loops {
    int       count, edge_count, row_count;
    int *     node, *edge; ///< their nodes and edges in the saddle's plan
    int*      index;       ///< by node of the saddle: number here; -1: in a tree
    int *     row_node, *col_node, *dim;
    int8_t*   sign;
    double*   metric;   ///< by row: M, 0 on B rows
    double*   scale;    ///< by row: S_ii, 0 on soft rows, 1 on A rows
    double*   infinite; ///< by row
    double*   zeros;    ///< as large as the largest diagonal block
    size_t*   zeros_at; ///< by node
    size_t*   edge_at;  ///< by edge, into the saddle's J
    tni_plan* plan;
    tni_ldl*  ldl;
} loops;

static void find_loops(tni_arena* arena, const tni_saddle* s, loops* l)
{
    const tni_plan* plan = s->plan;
    const size_t    n = (size_t)plan->count, m = (size_t)plan->edge_count;
    *l = (loops){.node     = TNI_TAKE(arena, int, n),
                 .edge     = TNI_TAKE(arena, int, m),
                 .index    = TNI_TAKE(arena, int, n),
                 .row_node = TNI_TAKE(arena, int, m),
                 .col_node = TNI_TAKE(arena, int, m),
                 .dim      = TNI_TAKE(arena, int, n),
                 .sign     = TNI_TAKE(arena, int8_t, n)};
    if (arena->failed) return;
    for (int v = 0; v < plan->count; ++v) {
        l->index[v] = -1;
        const int c = plan->component_of[v];
        if (!s->refined[c] || (s->schur != NULL && plan->tree[c])) continue;
        l->index[v]         = l->count;
        l->node[l->count]   = v;
        l->dim[l->count]    = plan->dim[v];
        l->sign[l->count++] = plan->sign[v];
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        if (l->index[plan->row_node[e]] < 0) continue;
        l->edge[l->edge_count]       = e;
        l->row_node[l->edge_count]   = l->index[plan->row_node[e]];
        l->col_node[l->edge_count++] = l->index[plan->col_node[e]];
    }
}

static tn_result plan_loops(tni_arena* arena, const tni_saddle* s, loops* l)
{
    find_loops(arena, s, l);
    const uint8_t*  weak  = TNI_TAKE(arena, uint8_t, l->edge_count); // none: B after its A nodes
    const tni_graph graph = {l->count,    l->dim,      l->sign, l->edge_count,
                             l->row_node, l->col_node, weak,    NULL};
    if (arena->failed || tni_plan_create(arena, &graph, &l->plan) != TN_OK) return TN_ERR_MEMORY;
    l->row_count = l->plan->row_count;
    l->metric    = TNI_TAKE(arena, double, l->row_count);
    l->scale     = TNI_TAKE(arena, double, l->row_count);
    l->infinite  = TNI_TAKE(arena, double, l->row_count);
    l->zeros     = TNI_TAKE(arena, double, l->plan->dim_max * l->plan->dim_max);
    l->zeros_at  = TNI_TAKE(arena, size_t, l->count);
    l->edge_at   = TNI_TAKE(arena, size_t, l->edge_count);
    for (int e = 0; !arena->failed && e < l->edge_count; ++e) l->edge_at[e] = s->j_at[l->edge[e]];
    if (arena->failed || tni_ldl_create(arena, l->plan, &l->ldl) != TN_OK) return TN_ERR_MEMORY;
    for (int i = 0; i < l->row_count; ++i) l->infinite[i] = INFINITE;
    return TN_OK;
}

static void choose_metric(const tni_saddle* s, loops* l)
{
    for (int v = 0; v < l->count; ++v) {
        const int     n    = l->dim[v];
        const double* A    = s->diagonal + s->diagonal_at[l->node[v]];
        double        most = 0;
        for (int k = 0; k < n; ++k) most = fmax(most, A[(n + 1) * k]);
        for (int k = 0; l->sign[v] > 0 && k < n; ++k)
            l->metric[l->plan->row_start[v] + k] = sqrt(A[(n + 1) * k] / most);
    }
}

static bool is_soft(const tni_saddle* s, const loops* l, int v, int k)
{
    return s->diagonal[s->diagonal_at[l->node[v]] + (size_t)((l->dim[v] + 1) * k)] > 0;
}

static void measure_rows(tni_saddle* s, loops* l)
{
    for (int i = 0; i < l->row_count; ++i) l->scale[i] = l->metric[i] > 0;
    for (int e = 0; e < l->edge_count; ++e) {
        const int     r = l->row_node[e], m = l->dim[l->col_node[e]];
        const double* J = tni_saddle_j(s, l->edge[e]);
        const double* M = l->metric + l->plan->row_start[l->col_node[e]];
        double*       S = l->scale + l->plan->row_start[r];
        for (int i = 0; i < l->dim[r]; ++i) {
            for (int k = 0; !is_soft(s, l, r, i) && k < m; ++k)
                S[i] += J[m * i + k] * J[m * i + k] / M[k];
        }
    }
}

// M is passed as the diagonal added to zero blocks.
static tn_result factor(tni_saddle* s, loops* l)
{
    const tni_blocks     blocks = {l->zeros, l->zeros_at, s->j, l->edge_at, true};
    const tni_pivot_rule rule   = {.scale = l->scale, .alpha = l->infinite, .tolerance = KEPT};
    tni_pivot_report     report;
    return tni_ldl_factor(l->ldl, -1, &blocks, l->metric, &rule, &report);
}

// Rows projected together: COLUMNS right-hand sides, two for each of TESTS groups of rows.
typedef struct test {
    int*    group;  ///< by row: its group, -1: none
    double* weight; ///< by row, two of them
    double* x;      ///< COLUMNS a row
} test;

// left <- u^T M u of each column.
static void measure_columns(const loops* l, const double* x, double* left)
{
    for (int k = 0; k < COLUMNS; ++k) left[k] = 0;
    for (int i = 0; i < l->row_count; ++i) {
        for (int k = 0; k < COLUMNS; ++k)
            left[k] += l->metric[i] * x[i * COLUMNS + k] * x[i * COLUMNS + k];
    }
}

// A rows of x <- u, the projection of the groups' sums onto the null space of the kept rows.
static void project(tni_saddle* s, const loops* l, const test* t)
{
    const tni_plan* plan = l->plan;
    double*         x    = t->x;
    memset(x, 0, sizeof *x * (size_t)l->row_count * COLUMNS);
    for (int e = 0; e < l->edge_count; ++e) {
        const int     r = plan->row_start[l->row_node[e]], n = l->dim[l->row_node[e]];
        const int     c = plan->row_start[l->col_node[e]], m = l->dim[l->col_node[e]];
        const double* J = tni_saddle_j(s, l->edge[e]);
        for (int i = 0; i < n; ++i) {
            if (t->group[r + i] < 0) continue;
            for (int k = 0; k < 2; ++k) {
                double* column = x + (size_t)c * COLUMNS + 2 * t->group[r + i] + k;
                for (int j = 0; j < m; ++j)
                    column[j * COLUMNS] += t->weight[2 * (r + i) + k] * J[m * i + j];
            }
        }
    }
    double before[COLUMNS], left[COLUMNS] = {0};
    for (int round = 0, falls = 1; round < ROUNDS_MAX && falls; ++round) {
        for (int i = 0; round > 0 && i < l->row_count; ++i) {
            for (int k = 0; k < COLUMNS; ++k) x[i * COLUMNS + k] *= l->metric[i];
        }
        memcpy(before, left, sizeof left);
        tni_ldl_solve(l->ldl, -1, COLUMNS, x);
        measure_columns(l, x, left);
        falls = round == 0;
        for (int k = 0; round > 0 && k < COLUMNS; ++k)
            falls |= left[k] > NOTHING && left[k] < 0.5 * before[k];
    }
}

// The larger of the remainders of a group's two sums.
static double left_of(const loops* l, const test* t, int group)
{
    double left[COLUMNS];
    measure_columns(l, t->x, left);
    return fmax(left[2 * group], left[2 * group + 1]);
}

// Pseudo-random numbers in -1 .. 1.
static double scatter(uint64_t* seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-52 - 1;
}

static int find_doubts(const loops* l, int* rows)
{
    int count = 0;
    for (int i = 0; i < l->row_count; ++i) {
        const double left = l->ldl->relative[i];
        if (l->metric[i] == 0 && left <= KEPT && fabs(left) > TNI_RANK_DEPENDENT) rows[count++] = i;
    }
    return count;
}

// Makes a single row group 0, with weight 1 in column 0.
static void test_single(const test* t, int row)
{
    t->group[row]      = 0;
    t->weight[2 * row] = 1, t->weight[2 * row + 1] = 0;
}

// Finds rows in doubt that depend on each other.
static tn_result compare(tni_saddle* s, tni_arena* arena, const loops* l, int count,
                         const int* rows, const test* t)
{
    const size_t n         = (size_t)l->row_count;
    double*      rest      = TNI_TAKE(arena, double, (size_t)count* n);
    uint8_t*     dependent = TNI_TAKE(arena, uint8_t, count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int k = 0; k < count; ++k) {
        test_single(t, rows[k]);
        project(s, l, t);
        t->group[rows[k]] = -1;
        for (size_t i = 0; i < n; ++i)
            rest[n * (size_t)k + i] = sqrt(l->metric[i]) * t->x[i * COLUMNS];
    }
    (void)tni_dense_rank(count, l->row_count, rest, ALIKE, dependent);
    for (int k = 0; k < count; ++k) {
        if (dependent[k]) l->ldl->relative[rows[k]] = 0;
    }
    return TN_OK;
}

typedef struct span {
    int first, count;
} span;

// Tests up to TESTS spans of rows together. A span without remainder is dependent; the remainder of
// a single row is known; the others are bisected and put at the end of the queue.
static int test_spans(tni_saddle* s, const loops* l, const test* t, const int* rows, span* queue,
                      int head, int tail, uint64_t* seed)
{
    const int count = tail - head < TESTS ? tail - head : TESTS;
    for (int g = 0; g < count; ++g) {
        const span p = queue[head + g];
        for (int k = p.first; k < p.first + p.count; ++k) {
            const double size          = p.count == 1 ? 1 : 1 / sqrt(l->scale[rows[k]]);
            t->group[rows[k]]          = g;
            t->weight[2 * rows[k]]     = p.count == 1 ? 1 : size * scatter(seed);
            t->weight[2 * rows[k] + 1] = p.count == 1 ? 0 : size * scatter(seed);
        }
    }
    project(s, l, t);
    for (int g = 0; g < count; ++g) {
        const span   p    = queue[head + g];
        const double left = left_of(l, t, g);
        for (int k = p.first; k < p.first + p.count; ++k) t->group[rows[k]] = -1;
        if (p.count == 1) {
            l->ldl->relative[rows[p.first]] = left / l->scale[rows[p.first]];
        } else if (left <= 1e-3 * TNI_RANK_DEPENDENT) {
            for (int k = p.first; k < p.first + p.count; ++k) l->ldl->relative[rows[k]] = left;
        } else {
            const int half = p.count / 2;
            queue[tail++]  = (span){p.first, half};
            queue[tail++]  = (span){p.first + half, p.count - half};
        }
    }
    return tail;
}

static tn_result resolve_doubts(tni_saddle* s, tni_arena* arena, const loops* l)
{
    int*      rows   = TNI_TAKE(arena, int, l->row_count);
    test      t      = {.group  = TNI_TAKE(arena, int, l->row_count),
                        .weight = TNI_TAKE(arena, double, 2 * (size_t)l->row_count),
                        .x      = TNI_TAKE(arena, double, (size_t)l->row_count* COLUMNS)};
    const int doubts = arena->failed ? 0 : find_doubts(l, rows);
    span*     queue  = TNI_TAKE(arena, span, 2 * (size_t)doubts + TESTS);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < l->row_count; ++i) t.group[i] = -1;
    uint64_t seed = 1;
    int      tail = 0, left = 0;
    for (int g = 0; g < TESTS; ++g) {
        const int first = (int)((long long)doubts * g / TESTS),
                  end   = (int)((long long)doubts * (g + 1) / TESTS);
        if (end > first) queue[tail++] = (span){first, end - first};
    }
    for (int head = 0; head < tail;) {
        const int taken = tail - head < TESTS ? tail - head : TESTS;
        tail            = test_spans(s, l, &t, rows, queue, head, tail, &seed);
        head += taken;
    }
    for (int k = 0; k < doubts; ++k) {
        if (l->ldl->relative[rows[k]] > TNI_RANK_DEPENDENT) rows[left++] = rows[k];
    }
    return left > 1 ? compare(s, arena, l, left, rows, &t) : TN_OK;
}

tn_result tni_rank_rows(tni_saddle* s, tni_arena* scratch, double* margin)
{
    loops l;
    for (int i = 0; i < s->plan->row_count; ++i) margin[i] = 1;
    if (plan_loops(scratch, s, &l) != TN_OK) return TN_ERR_MEMORY;
    choose_metric(s, &l);
    measure_rows(s, &l);
    if (factor(s, &l) != TN_OK) return TN_ERR_SINGULAR;
    if (resolve_doubts(s, scratch, &l) != TN_OK) return TN_ERR_MEMORY;
    for (int v = 0; v < l.count; ++v) {
        for (int k = 0; l.sign[v] < 0 && k < l.dim[v]; ++k) {
            const double left = l.ldl->relative[l.plan->row_start[v] + k];
            if (!is_soft(s, &l, v, k)) margin[s->plan->row_start[l.node[v]] + k] = left;
        }
    }
    return TN_OK;
}
