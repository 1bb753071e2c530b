// A saddle system for tests: A nodes with blocks, B nodes tied to them, the dense matrices beside.
//
//     saddle_case* s = saddle_grid(seed, 4, 1e6); // or saddle_make, add nodes and edges,
//     CHECK_OK(tni_saddle_factor(s->saddle));     // saddle_finish
//     saddle_free(s);
//
// Links are A nodes of 6 rows: velocity of a point, angular velocity. Ties hold a point of two
// links together (3 rows), and two directions of turning as well where they are hinges (5 rows).
// A closed loop of such hinges makes rows redundant where axes are parallel.
#ifndef SADDLE_CASE_H
#define SADDLE_CASE_H

#include "linalg/dense.h"
#include "linalg/saddle.h"
#include "test.h"

#include <stdlib.h>

typedef struct saddle_case {
    tn_host   host;
    tni_arena arena;
    tni_graph graph;
    int *     dim, *row_node, *col_node;
    int8_t*   sign;
    uint8_t*  strong;
    double (*place)[3]; ///< of links
    double**    block;  ///< by edge
    double*     weight; ///< by node
    tni_plan*   plan;
    tni_saddle* saddle;
    test_random random;
} saddle_case;

enum { SADDLE_CAP = 2048 }; // nodes, and edges

static inline saddle_case* saddle_make(uint64_t seed)
{
    saddle_case* s = calloc(1, sizeof *s);
    s->host        = tn_default_host();
    s->arena       = tni_arena_make(&s->host);
    s->random      = (test_random){seed};
    s->dim         = TNI_TAKE(&s->arena, int, SADDLE_CAP);
    s->sign        = TNI_TAKE(&s->arena, int8_t, SADDLE_CAP);
    s->row_node    = TNI_TAKE(&s->arena, int, SADDLE_CAP);
    s->col_node    = TNI_TAKE(&s->arena, int, SADDLE_CAP);
    s->strong      = TNI_TAKE(&s->arena, uint8_t, SADDLE_CAP);
    s->block       = TNI_TAKE(&s->arena, double*, SADDLE_CAP);
    s->weight      = TNI_TAKE(&s->arena, double, SADDLE_CAP);
    s->place       = tni_arena_take(&s->arena, sizeof *s->place * SADDLE_CAP);
    s->graph       = (tni_graph){.dim      = s->dim,
                                 .sign     = s->sign,
                                 .row_node = s->row_node,
                                 .col_node = s->col_node,
                                 .strong   = s->strong};
    return s;
}

static inline void saddle_free(saddle_case* s)
{
    tni_arena_free(&s->arena);
    free(s);
}

static inline int saddle_add_node(saddle_case* s, int sign, int dim)
{
    const int v  = s->graph.count++;
    s->sign[v]   = (int8_t)sign;
    s->dim[v]    = dim;
    s->weight[v] = 1;
    return v;
}

/// Returns the block, to be filled.
static inline double* saddle_add_edge(saddle_case* s, int row, int col)
{
    const int e        = s->graph.edge_count++;
    s->row_node[e]     = row;
    s->col_node[e]     = col;
    s->strong[e]       = s->dim[row] <= s->dim[col];
    return s->block[e] = TNI_TAKE(&s->arena, double, s->dim[row] * s->dim[col]);
}

/// Random rows with a diagonal, so that they are independent.
static inline void saddle_add_random_edge(saddle_case* s, int row, int col)
{
    double* J = saddle_add_edge(s, row, col);
    for (int i = 0; i < s->dim[row] * s->dim[col]; ++i) {
        J[i] = i % s->dim[col] == i / s->dim[col] ? 3 : test_random_between(&s->random, -1, 1);
    }
}

// R R^T + 1, times the weight of the node.
static inline void saddle_fill_a(saddle_case* s, int v)
{
    const int n = s->dim[v];
    double *  A = tni_saddle_a(s->saddle, v), *R = TNI_TAKE(&s->arena, double, n* n);
    for (int i = 0; i < n * n; ++i) R[i] = test_random_between(&s->random, -0.5, 0.5);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = i == j;
            for (int k = 0; k < n; ++k) sum += R[n * i + k] * R[n * j + k];
            A[n * i + j] = s->weight[v] * sum;
        }
    }
}

/// Plan, saddle, A and J blocks.
static inline void saddle_finish(saddle_case* s)
{
    CHECK_OK(tni_plan_create(&s->arena, &s->graph, &s->plan));
    CHECK_OK(tni_saddle_create(&s->arena, s->plan, &s->saddle));
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] > 0) saddle_fill_a(s, v);
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int size = s->dim[s->row_node[e]] * s->dim[s->col_node[e]];
        memcpy(tni_saddle_j(s->saddle, e), s->block[e], sizeof(double) * (size_t)size);
    }
}

// --- links and ties -----------------------------------------------------------------------------

/// One A node with two B nodes of the same three rows. A's rows come first.
static inline saddle_case* saddle_twins(int* first, int* second)
{
    saddle_case* s = saddle_make(4);
    const int    a = saddle_add_node(s, 1, 6);
    *first         = saddle_add_node(s, -1, 3);
    *second        = saddle_add_node(s, -1, 3);
    saddle_add_random_edge(s, *first, a);
    saddle_add_random_edge(s, *second, a);
    memcpy(s->block[1], s->block[0], sizeof(double) * 18);
    saddle_finish(s);
    return s;
}

static inline int saddle_add_link(saddle_case* s, double x, double y, double z, double weight)
{
    const int a    = saddle_add_node(s, 1, 6);
    s->place[a][0] = x;
    s->place[a][1] = y;
    s->place[a][2] = z;
    s->weight[a]   = weight;
    return a;
}

// axes: the two directions about which a hinge does not turn, or NULL.
static inline void saddle_tie_side(saddle_case* s, int tie, int a, const double point[3],
                                   const double axes[6], double sign)
{
    double*      J = saddle_add_edge(s, tie, a);
    const double x = point[0] - s->place[a][0], y = point[1] - s->place[a][1],
                 z         = point[2] - s->place[a][2];
    const double lever[18] = {1, 0, 0, 0, z, -y, 0, 1, 0, -z, 0, x, 0, 0, 1, y, -x, 0};
    for (int i = 0; i < 18; ++i) J[i] = sign * lever[i];
    for (int i = 0; axes != NULL && i < 6; ++i) J[18 + 6 * (i / 3) + 3 + i % 3] = sign * axes[i];
}

/// b < 0: to the ground.
static inline void saddle_tie(saddle_case* s, int a, int b, const double point[3],
                              const double axes[6])
{
    const int tie = saddle_add_node(s, -1, axes == NULL ? 3 : 5);
    saddle_tie_side(s, tie, a, point, axes, 1);
    if (b >= 0) saddle_tie_side(s, tie, b, point, axes, -1);
}

static inline void saddle_ball(saddle_case* s, int a, int b, const double point[3])
{
    saddle_tie(s, a, b, point, NULL);
}

/// A hinge about z.
static inline void saddle_pin(saddle_case* s, int a, int b, double x, double y)
{
    const double point[3] = {x, y, 0}, axes[6] = {1, 0, 0, 0, 1, 0};
    saddle_tie(s, a, b, point, axes);
}

/// A hinge about a random axis.
static inline void saddle_hinge(saddle_case* s, int a, int b, const double point[3])
{
    double axes[6];
    for (int i = 0; i < 6; ++i) axes[i] = test_random_between(&s->random, -1, 1);
    saddle_tie(s, a, b, point, axes);
}

static inline double saddle_random_weight(saddle_case* s, double range)
{
    return pow(range, test_random_unit(&s->random));
}

static inline void saddle_random_point(saddle_case* s, double point[3])
{
    for (int k = 0; k < 3; ++k) point[k] = test_random_between(&s->random, -1, 1);
}

// --- families -----------------------------------------------------------------------------------

static inline saddle_case* saddle_tree(uint64_t seed, double weight_range)
{
    static const int dims[] = {6, 6, 3, 12, 1};
    saddle_case*     s      = saddle_make(seed);
    const int        size   = test_random_int(&s->random, 1, 14);
    for (int i = 0; i < size; ++i) {
        const int a  = saddle_add_node(s, 1, dims[test_random_int(&s->random, 0, 4)]);
        s->weight[a] = saddle_random_weight(s, weight_range);
    }
    for (int i = 0; i < size; ++i) {
        if (i == 0 && test_random_int(&s->random, 0, 1) == 0) continue;
        const int most = s->dim[i] < 6 ? s->dim[i] : 6;
        const int tie  = saddle_add_node(s, -1, test_random_int(&s->random, 1, most));
        saddle_add_random_edge(s, tie, i);
        if (i > 0) saddle_add_random_edge(s, tie, test_random_int(&s->random, 0, i - 1));
    }
    saddle_finish(s);
    return s;
}

/// side x side links in a plane, pinned to their neighbours: every cell has 3 redundant rows.
static inline saddle_case* saddle_grid(uint64_t seed, int side, double weight_range)
{
    saddle_case* s = saddle_make(seed);
    for (int i = 0; i < side * side; ++i) {
        saddle_add_link(s, i % side, i / side, 0, saddle_random_weight(s, weight_range));
    }
    for (int i = 0; i < side * side; ++i) {
        if (i % side + 1 < side) saddle_pin(s, i, i + 1, i % side + 0.5, i / side);
        if (i / side + 1 < side) saddle_pin(s, i, i + side, i % side, i / side + 0.5);
    }
    saddle_pin(s, 0, -1, -0.3, -0.2);
    saddle_finish(s);
    return s;
}

static inline saddle_case* saddle_scissor(uint64_t seed, int segments, double weight_range)
{
    saddle_case* s       = saddle_make(seed);
    int          last[2] = {-1, -1};
    for (int i = 0; i < segments; ++i) {
        const int a = saddle_add_link(s, i + 0.5, 0.5, 0, saddle_random_weight(s, weight_range));
        const int b = saddle_add_link(s, i + 0.5, 0.5, 0, saddle_random_weight(s, weight_range));
        saddle_pin(s, a, b, i + 0.5, 0.5);
        saddle_pin(s, a, last[1], i, 0);
        if (i > 0) saddle_pin(s, b, last[0], i, 1);
        last[0] = a;
        last[1] = b;
    }
    saddle_finish(s);
    return s;
}

/// A random planar linkage, pinned to the ground at one or more links, with extra pins.
static inline saddle_case* saddle_linkage(uint64_t seed, double weight_range)
{
    saddle_case* s    = saddle_make(seed);
    const int    size = test_random_int(&s->random, 4, 14);
    double       p[3];
    for (int i = 0; i < size; ++i) {
        saddle_random_point(s, p);
        saddle_add_link(s, p[0], p[1], 0, saddle_random_weight(s, weight_range));
    }
    for (int i = 0; i < size; ++i) {
        saddle_random_point(s, p);
        saddle_pin(s, i, i > 0 ? test_random_int(&s->random, 0, i - 1) : -1, p[0], p[1]);
    }
    for (int k = test_random_int(&s->random, 1, 3); k > 0; --k) {
        saddle_random_point(s, p);
        saddle_pin(s, test_random_int(&s->random, 1, size - 1), -1, p[0], p[1]);
    }
    saddle_finish(s);
    return s;
}

/// A closed chain of `size` hinges in space. Below 6, 6 - size rows are redundant.
static inline saddle_case* saddle_ring(uint64_t seed, int size, double weight_range)
{
    saddle_case* s = saddle_make(seed);
    double       p[3];
    for (int i = 0; i < size; ++i) {
        saddle_random_point(s, p);
        saddle_add_link(s, p[0], p[1], p[2], saddle_random_weight(s, weight_range));
    }
    for (int i = 0; i < size; ++i) {
        saddle_random_point(s, p);
        saddle_hinge(s, i, (i + 1) % size, p);
    }
    saddle_finish(s);
    return s;
}

/// Links in space, a tree of random hinges and balls with `extra` more of them.
static inline saddle_case* saddle_spatial(uint64_t seed, int size, int extra, double weight_range)
{
    saddle_case* s = saddle_make(seed);
    double       p[3];
    for (int i = 0; i < size; ++i) {
        saddle_random_point(s, p);
        saddle_add_link(s, p[0], p[1], p[2], saddle_random_weight(s, weight_range));
    }
    for (int i = 0; i < size + extra; ++i) {
        const int a = i < size ? i : test_random_int(&s->random, 1, size - 1);
        const int b = test_random_int(&s->random, -1, a - 1);
        saddle_random_point(s, p);
        (test_random_int(&s->random, 0, 1) == 0 ? saddle_hinge : saddle_ball)(s, a, b, p);
    }
    saddle_finish(s);
    return s;
}

// --- the same, dense ----------------------------------------------------------------------------

/// A rows first, in graph order, then B rows: position of each row in the dense system.
static inline int* saddle_dense_rows(saddle_case* s, int* a_rows)
{
    int *rows = TNI_TAKE(&s->arena, int, s->plan->row_count), next = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int v = 0; v < s->graph.count; ++v) {
            for (int k = 0; s->sign[v] == sign && k < s->dim[v]; ++k)
                rows[s->plan->row_start[v] + k] = next++;
        }
        if (sign > 0) *a_rows = next;
    }
    return rows;
}

/// J as B rows x A columns.
static inline double* saddle_dense_j(saddle_case* s, int* row_count, int* col_count)
{
    const int* at = saddle_dense_rows(s, col_count);
    *row_count    = s->plan->row_count - *col_count;
    double* J     = TNI_TAKE(&s->arena, double, *row_count** col_count);
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int     r = s->row_node[e], c = s->col_node[e];
        const double* block = tni_saddle_j(s->saddle, e);
        for (int k = 0; k < s->dim[r] * s->dim[c]; ++k) {
            const int i = at[s->plan->row_start[r] + k / s->dim[c]] - *col_count;
            J[i * *col_count + at[s->plan->row_start[c] + k % s->dim[c]]] = block[k];
        }
    }
    return J;
}

#endif
