#include "test.h"

#include "linalg/dense.h"
#include "linalg/saddle.h"

#include <stdlib.h>

// A saddle system: A nodes with blocks, B nodes tied to them, and the dense matrices beside.
typedef struct saddle_case {
    tn_host     host;
    tni_arena   arena;
    tni_graph   graph;
    int *       dim, *row_node, *col_node;
    int8_t*     sign;
    uint8_t*    strong;
    double (*   place)[2]; // of A nodes of a linkage
    double**    block;     // by edge
    double*     weight;    // by node
    tni_plan*   plan;
    tni_saddle* saddle;
    test_random random;
} saddle_case;

enum { CAP = 2048 };

static saddle_case* case_make(uint64_t seed)
{
    saddle_case* s = calloc(1, sizeof *s);
    s->host        = tn_default_host();
    s->arena       = tni_arena_make(&s->host);
    s->random      = (test_random){seed};
    s->dim         = TNI_TAKE(&s->arena, int, CAP);
    s->sign        = TNI_TAKE(&s->arena, int8_t, CAP);
    s->row_node    = TNI_TAKE(&s->arena, int, CAP);
    s->col_node    = TNI_TAKE(&s->arena, int, CAP);
    s->strong      = TNI_TAKE(&s->arena, uint8_t, CAP);
    s->block       = TNI_TAKE(&s->arena, double*, CAP);
    s->weight      = TNI_TAKE(&s->arena, double, CAP);
    s->place       = tni_arena_take(&s->arena, sizeof *s->place * CAP);
    s->graph       = (tni_graph){.dim = s->dim, .sign = s->sign, .row_node = s->row_node,
                                 .col_node = s->col_node, .strong = s->strong};
    return s;
}

static void case_free(saddle_case* s)
{
    tni_arena_free(&s->arena);
    free(s);
}

static int add_node(saddle_case* s, int sign, int dim)
{
    const int v  = s->graph.count++;
    s->sign[v]   = (int8_t)sign;
    s->dim[v]    = dim;
    s->weight[v] = 1;
    return v;
}

static double* add_edge(saddle_case* s, int row, int col)
{
    const int e    = s->graph.edge_count++;
    s->row_node[e] = row;
    s->col_node[e] = col;
    s->strong[e]   = s->dim[row] <= s->dim[col];
    return s->block[e] = TNI_TAKE(&s->arena, double, s->dim[row] * s->dim[col]);
}

// Random rows with a diagonal, so that they are independent.
static void add_random_edge(saddle_case* s, int row, int col)
{
    double* J = add_edge(s, row, col);
    for (int i = 0; i < s->dim[row] * s->dim[col]; ++i) {
        J[i] = i % s->dim[col] == i / s->dim[col] ? 3 : test_random_between(&s->random, -1, 1);
    }
}

// Plan, saddle, A and J blocks. A: R R^T + 1 times the weight of the node.
static void finish(saddle_case* s)
{
    CHECK_OK(tni_plan_create(&s->arena, &s->graph, &s->plan));
    CHECK_OK(tni_saddle_create(&s->arena, s->plan, &s->saddle));
    for (int v = 0; v < s->graph.count; ++v) {
        const int n = s->dim[v];
        if (s->sign[v] < 0) continue;
        double *A = tni_saddle_a(s->saddle, v), *R = TNI_TAKE(&s->arena, double, n * n);
        for (int i = 0; i < n * n; ++i) R[i] = test_random_between(&s->random, -0.5, 0.5);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                double sum = i == j;
                for (int k = 0; k < n; ++k) sum += R[n * i + k] * R[n * j + k];
                A[n * i + j] = s->weight[v] * sum;
            }
        }
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int size = s->dim[s->row_node[e]] * s->dim[s->col_node[e]];
        memcpy(tni_saddle_j(s->saddle, e), s->block[e], sizeof(double) * (size_t)size);
    }
}

// A rows first, in graph order, then B rows: position of each row in the dense system.
static int* dense_rows(saddle_case* s, int* a_rows)
{
    int *rows = TNI_TAKE(&s->arena, int, s->plan->row_count), next = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int v = 0; v < s->graph.count; ++v) {
            for (int k = 0; s->sign[v] == sign && k < s->dim[v];
                    ++k) rows[s->plan->row_start[v] + k] = next++;
        }
        if (sign > 0) *a_rows = next;
    }
    return rows;
}

// J as B rows x A columns.
static double* dense_j(saddle_case* s, int* row_count, int* col_count)
{
    const int* at = dense_rows(s, col_count);
    *row_count    = s->plan->row_count - *col_count;
    double* J     = TNI_TAKE(&s->arena, double, *row_count * *col_count);
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int r = s->row_node[e], c = s->col_node[e];
        for (int i = 0; i < s->dim[r]; ++i) {
            for (int j = 0; j < s->dim[c]; ++j) {
                J[(at[s->plan->row_start[r] + i] - *col_count) * *col_count +
                    at[s->plan->row_start[c] + j]] =
                    tni_saddle_j(s->saddle, e)[s->dim[c] * i + j];
            }
        }
    }
    return J;
}

// The answer of the dense system with all rows, or, where `independent` is set, without the rows
// that follow from others. Returns x by plan rows, mu of dropped rows zero.
static double* dense_answer(saddle_case* s, const double* rhs, bool independent)
{
    int        rows, cols;
    const int* at  = dense_rows(s, &cols);
    double *   J   = dense_j(s, &rows, &cols), *copy = TNI_TAKE(&s->arena, double, rows * cols);
    const int  all = rows + cols;
    uint8_t*   dropped = TNI_TAKE(&s->arena, uint8_t, rows);
    double *   K = TNI_TAKE(&s->arena, double, (size_t)all * (size_t)all), *y =
        TNI_TAKE(&s->arena, double, all);
    int*       exchange = TNI_TAKE(&s->arena, int, all);
    memcpy(copy, J, sizeof *J * (size_t)(rows * cols));
    if (independent) tni_dense_rank(rows, cols, copy, 1e-9, dropped);
    for (int v = 0; v < s->graph.count; ++v) {
        const double* D = s->sign[v] > 0 ? tni_saddle_a(s->saddle, v) : tni_saddle_e(s->saddle, v);
        for (int i = 0; i < s->dim[v]; ++i) {
            for (int j = 0; j < s->dim[v]; ++j) {
                K[all * at[s->plan->row_start[v] + i] + at[s->plan->row_start[v] + j]] =
                    s->sign[v] * D[s->dim[v] * i + j];
            }
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; !dropped[i] && j < cols; ++j) K[all * (cols + i) + j] = K[all * j +
                cols + i] = J[cols * i + j];
        if (dropped[i]) K[(all + 1) * (cols + i)] = 1;
    }
    for (int i = 0; i < all; ++i) y[at[i]] = rhs[i];
    for (int i = 0; i < rows; ++i) y[cols + i] = dropped[i] ? 0 : y[cols + i];
    CHECK_OK(tni_dense_lu(all, K, exchange));
    tni_dense_lu_solve(all, K, exchange, y);
    double* x = TNI_TAKE(&s->arena, double, all);
    for (int i = 0; i < all; ++i) x[i] = y[at[i]];
    return x;
}

// Largest difference on rows of a sign (0: all), relative to the largest value.
static double difference(const saddle_case* s, int sign, const double* x, const double* y)
{
    double size = 0, error = 0;
    for (int v = 0; v < s->graph.count; ++v) {
        for (int i = s->plan->row_start[v]; s->sign[v] != -sign && i < s->plan->row_start[v + 1];
                ++i) {
            size  = fmax(size, fabs(y[i]));
            error = fmax(error, fabs(x[i] - y[i]));
        }
    }
    return error / size;
}

static double* random_rhs(saddle_case* s)
{
    double* x = TNI_TAKE(&s->arena, double, s->plan->row_count);
    for (int i = 0; i < s->plan->row_count; ++i) x[i] = test_random_between(&s->random, -1, 1);
    return x;
}

// As above, but with B rows that some u fulfils; A rows in proportion to the weights.
static double* consistent_rhs(saddle_case* s)
{
    double *x = random_rhs(s), *u = random_rhs(s);
    for (int v = 0; v < s->graph.count; ++v) {
        for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1];
                ++i) x[i] *= s->weight[v];
    }
    tni_saddle_mul_j(s->saddle, -1, u, x);
    return x;
}

static double* solve(saddle_case* s, const double* rhs, bool refine)
{
    double* x = TNI_TAKE(&s->arena, double, s->plan->row_count);
    CHECK_OK(tni_saddle_solve(s->saddle, rhs, x, refine));
    return x;
}

static const int a_dims[] = {6, 6, 3, 12, 1};

static saddle_case* random_tree(uint64_t seed, double weight_range)
{
    saddle_case* s    = case_make(seed);
    const int    size = test_random_int(&s->random, 1, 14);
    for (int i = 0; i < size; ++i) {
        const int a  = add_node(s, 1, a_dims[test_random_int(&s->random, 0, 4)]);
        s->weight[a] = pow(weight_range, test_random_unit(&s->random));
    }
    for (int i = 0; i < size; ++i) {
        if (i == 0 && test_random_int(&s->random, 0, 1) == 0) continue;
        const int tie = add_node(s, -1, test_random_int(&s->random, 1, s->dim[i] < 6
            ? s->dim[i] : 6));
        add_random_edge(s, tie, i);
        if (i > 0) add_random_edge(s, tie, test_random_int(&s->random, 0, i - 1));
    }
    return s;
}

TEST(trees_agree_with_dense_without_refinement)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        saddle_case* s = random_tree(seed, 1);
        finish(s);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = random_rhs(s), *x = solve(s, rhs, true);
        CHECK_INT(s->saddle->report.loop_count, 0);
        CHECK_INT(s->saddle->report.refinement_count, 0);
        CHECK_INT(s->saddle->report.redundant_count, 0);
        CHECK_LESS(difference(s, 0, x, dense_answer(s, rhs, false)), 1e-11);
        CHECK_LESS(s->saddle->report.residual, 1e-12);
        case_free(s);
    }
}

TEST(trees_with_weights_a_million_apart_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        saddle_case* s = random_tree(seed, 1e6);
        finish(s);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = consistent_rhs(s), *x = solve(s, rhs, true);
        CHECK_LESS(difference(s, 1, x, dense_answer(s, rhs, false)), 1e-10);
        CHECK_LESS(s->saddle->report.residual, 1e-10); // 1e-16 times the range of weights
        case_free(s);
    }
}

// Links in a plane, pinned to each other by 5 rows in space: each loop makes 3 rows redundant.
static void pin_side(saddle_case* s, int tie, int a, double x, double y, double sign)
{
    double*      J  = add_edge(s, tie, a);
    const double rx = x - s->place[a][0], ry = y - s->place[a][1];
    const double rows[30] = {1, 0, 0, 0, 0, -ry, 0, 1, 0, 0, 0, rx, 0, 0, 1, ry, -rx, 0,
                             0, 0, 0, 1, 0, 0,   0, 0, 0, 0, 1, 0};
    for (int i = 0; i < 30; ++i) J[i] = sign * rows[i];
}

static void pin(saddle_case* s, int a, int b, double x, double y)
{
    const int tie = add_node(s, -1, 5);
    pin_side(s, tie, a, x, y, 1);
    if (b >= 0) pin_side(s, tie, b, x, y, -1);
}

static int add_link(saddle_case* s, double x, double y, double weight)
{
    const int a    = add_node(s, 1, 6);
    s->place[a][0] = x;
    s->place[a][1] = y;
    s->weight[a]   = weight;
    return a;
}

static saddle_case* grid(uint64_t seed, int side, double weight_range)
{
    saddle_case* s = case_make(seed);
    for (int i = 0; i < side * side; ++i) {
        add_link(s, i % side, i / side, pow(weight_range, test_random_unit(&s->random)));
    }
    for (int i = 0; i < side * side; ++i) {
        if (i % side + 1 < side) pin(s, i, i + 1, i % side + 0.5, i / side);
        if (i / side + 1 < side) pin(s, i, i + side, i % side, i / side + 0.5);
    }
    pin(s, 0, -1, -0.3, -0.2);
    finish(s);
    return s;
}

static saddle_case* scissor(uint64_t seed, int segments, double weight_range)
{
    saddle_case* s       = case_make(seed);
    int          last[2] = {-1, -1};
    for (int i = 0; i < segments; ++i) {
        const int a = add_link(s, i + 0.5, 0.5, pow(weight_range, test_random_unit(&s->random)));
        const int b = add_link(s, i + 0.5, 0.5, pow(weight_range, test_random_unit(&s->random)));
        pin(s, a, b, i + 0.5, 0.5);
        pin(s, a, last[1], i, 0);
        if (i > 0) pin(s, b, last[0], i, 1);
        last[0] = a;
        last[1] = b;
    }
    finish(s);
    return s;
}

// A random linkage, pinned to the ground at one or more links, with extra pins.
static saddle_case* linkage(uint64_t seed)
{
    saddle_case* s    = case_make(seed);
    const int    size = test_random_int(&s->random, 4, 14);
    for (int i = 0; i < size; ++i) {
        add_link(s, test_random_between(&s->random, -1, 1), test_random_between(&s->random, -1,
            1), 1);
    }
    for (int i = 0; i < size; ++i) {
        pin(s, i, i > 0 ? test_random_int(&s->random, 0, i - 1) : -1,
            test_random_between(&s->random, -1, 1),
            test_random_between(&s->random, -1, 1));
    }
    for (int k = test_random_int(&s->random, 1, 3); k > 0; --k) {
        pin(s, test_random_int(&s->random, 1, size - 1), -1, test_random_between(&s->random, -1, 1),
            test_random_between(&s->random, -1, 1));
    }
    finish(s);
    return s;
}

static void check_loop(saddle_case* s, double tolerance)
{
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double *rhs = consistent_rhs(s), *x = solve(s, rhs, true), *y = dense_answer(s, rhs,
        true);
    CHECK_INT(s->saddle->report.loop_count, 1);
    CHECK_LESS(difference(s, 1, x, y), tolerance); // u
    double *f = TNI_TAKE(&s->arena, double, s->plan->row_count), *g = TNI_TAKE(&s->arena, double,
        s->plan->row_count);
    tni_saddle_mul_jt(s->saddle, -1, x, f);
    tni_saddle_mul_jt(s->saddle, -1, y, g);
    CHECK_LESS(difference(s, 1, f, g), tolerance); // J^T mu, never mu
    CHECK_LESS(s->saddle->report.residual, 1e-9);
    CHECK(s->saddle->report.refinement_count > 0);
}

TEST(loops_with_redundant_rows_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        saddle_case* cases[] = {grid(seed, 2 + (int)seed % 4, 1), scissor(seed, 2 +
            (int)seed % 7, 1)};
        for (int k = 0; k < 2; ++k) {
            check_loop(cases[k], 1e-9);
            case_free(cases[k]);
        }
    }
}

TEST(loops_with_weights_a_million_apart_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        saddle_case* cases[] = {grid(seed, 4, 1e6), scissor(seed, 6, 1e6)};
        for (int k = 0; k < 2; ++k) {
            CHECK_OK(tni_saddle_factor(cases[k]->saddle));
            const double *rhs = consistent_rhs(cases[k]), *x = solve(cases[k], rhs, true);
            CHECK_LESS(difference(cases[k], 1, x, dense_answer(cases[k], rhs, true)), 1e-8);
            case_free(cases[k]);
        }
    }
}

TEST(b_nodes_on_many_a_nodes_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        saddle_case* s    = case_make(seed);
        const int    size = test_random_int(&s->random, 5, 10);
        for (int i = 0; i < size; ++i) add_node(s, 1, i % 3 == 2 ? 12 : 6);
        for (int k = test_random_int(&s->random, 1, 5); k > 0; --k) {
            const int tie = add_node(s, -1, test_random_int(&s->random, 1, 6)), ends =
                test_random_int(&s->random, 3, 5);
            const int first = test_random_int(&s->random, 0, size - ends);
            for (int i = first; i < first + ends; ++i) add_random_edge(s, tie, i);
        }
        finish(s);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = random_rhs(s), *x = solve(s, rhs, true);
        CHECK_LESS(difference(s, 1, x, dense_answer(s, rhs, false)), 1e-10);
        CHECK_INT(s->saddle->report.redundant_count, 0);
        case_free(s);
    }
}

TEST(soft_rows_in_loops_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        saddle_case* s = grid(seed, 3, 10);
        for (int v = 0; v < s->graph.count; ++v) { // every row soft, from hardly to very
            if (s->sign[v] > 0) continue;
            double* E = tni_saddle_e(s->saddle, v);
            for (int k = 0; k < 5; ++k) E[6 * k] = pow(10, test_random_between(&s->random, -6, 2));
            E[1] = E[5] = 0.5 * sqrt(E[0] * E[6]);
        }
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = random_rhs(s), *x = solve(s, rhs, true);
        CHECK_LESS(difference(s, 0, x, dense_answer(s, rhs, false)), 1e-9);
        CHECK_INT(s->saddle->report.redundant_count, 0);
        case_free(s);
    }
}

TEST(soft_rows_below_the_regularisation_are_refined_to_their_own_softness)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        saddle_case* s            = grid(seed, 3, 1);
        s->saddle->regularisation = 1e-3;
        s->saddle->refinement_max = 400;
        for (int v = 0; v < s->graph.count; ++v) {
            if (s->sign[v] > 0) continue;
            for (int k = 0; k < 5; ++k) tni_saddle_e(s->saddle, v)[6 * k] =
                    test_random_between(&s->random, 1e-4, 1e-3);
        }
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = random_rhs(s), *x = solve(s, rhs, true);
        CHECK(s->saddle->report.refinement_count > 1);
        CHECK_LESS(s->saddle->report.refinement_count, 60);
        CHECK_LESS(difference(s, 1, x, dense_answer(s, rhs, false)), 1e-9);
        case_free(s);
    }
}

TEST(refinement_removes_what_regularisation_leaves)
{
    saddle_case* s                  = scissor(3, 8, 100);
    s->saddle->regularisation       = 1e-8;
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double *rhs = consistent_rhs(s), *y = dense_answer(s, rhs, true);
    const double  plain = difference(s, 1, solve(s, rhs, false), y);
    CHECK_INT(s->saddle->report.refinement_count, 0);
    const double refined = difference(s, 1, solve(s, rhs, true), y);
    CHECK(plain > 1e-8);
    CHECK_LESS(refined, 1e-4 * plain);
    case_free(s);
}

// Without the rows marked, the rest must be independent and of full rank.
static void check_redundant(saddle_case* s, bool quick)
{
    int        rows, cols, left = 0;
    const int* at   = dense_rows(s, &cols);
    double *   J    = dense_j(s, &rows, &cols), *kept = TNI_TAKE(&s->arena, double, rows * cols);
    double*    copy = TNI_TAKE(&s->arena, double, rows * cols);
    memcpy(copy, J, sizeof *J * (size_t)(rows * cols));
    const int rank = tni_dense_rank(rows, cols, copy, 1e-9, NULL);
    CHECK_OK(tni_saddle_factor(s->saddle));
    if (quick) CHECK_INT(s->saddle->report.redundant_count, rows - rank);
    CHECK_OK(tni_saddle_find_redundant(s->saddle, &s->arena));
    CHECK_INT(s->saddle->report.redundant_count, rows - rank);
    for (int i = 0; i < s->plan->row_count; ++i) {
        if (at[i] < cols || s->saddle->redundant[i]) continue;
        memcpy(kept + cols * left++, J + cols * (at[i] - cols), sizeof *J * (size_t)cols);
    }
    CHECK_INT(left, rank);
    CHECK_INT(tni_dense_rank(left, cols, kept, 1e-9, NULL), rank);
}

TEST(redundant_rows_are_counted_and_found)
{
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        saddle_case* cases[] = {grid(seed, 2 + (int)seed % 4, 1), scissor(seed, 2 +
            (int)seed % 7, 10),
                                linkage(seed)};
        for (int k = 0; k < 3; ++k) {
            check_redundant(cases[k], true);
            case_free(cases[k]);
        }
    }
}

TEST(redundant_rows_do_not_depend_on_weights)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        saddle_case* cases[] = {grid(seed, 4, 1e7), scissor(seed, 7, 1e7)};
        for (int k = 0; k < 2; ++k) {
            check_redundant(cases[k], false);
            const double *rhs = consistent_rhs(cases[k]), *x = solve(cases[k], rhs, true);
            CHECK_OK(tni_saddle_factor(cases[k]->saddle)); // the search has left all as it was
            CHECK(difference(cases[k], 0, solve(cases[k], rhs, true), x) == 0);
            case_free(cases[k]);
        }
    }
}

TEST(a_tree_with_a_row_twice_is_treated_as_a_loop)
{
    saddle_case* s   = case_make(4);
    const int    a = add_node(s, 1, 6), b = add_node(s, 1, 6), tie = add_node(s, -1, 4), ground =
        add_node(s, -1, 3);
    add_random_edge(s, tie, a);
    add_random_edge(s, tie, b);
    add_random_edge(s, ground, a);
    for (int e = 0; e < 2; ++e) { // row 2 of the tie is minus row 1
        for (int k = 0; k < 6; ++k) s->block[e][12 + k] = -s->block[e][6 + k];
    }
    finish(s);
    CHECK(s->plan->tree[0]);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_INT(s->saddle->report.loop_count, 1);
    CHECK_INT(s->saddle->report.redundant_count, 1);
    CHECK(s->saddle->redundant[s->plan->row_start[tie] + 2]);
    CHECK_INT(s->saddle->report.pivot_row, s->plan->row_start[tie] + 2);
    const double *rhs = consistent_rhs(s), *x = solve(s, rhs, true);
    CHECK_LESS(difference(s, 1, x, dense_answer(s, rhs, true)), 1e-10);
    case_free(s);
}

TEST(a_contradiction_is_no_failure_but_shows_in_the_residual)
{
    saddle_case* s = case_make(4);
    const int    a = add_node(s, 1, 6), first = add_node(s, -1, 3), second = add_node(s, -1, 3);
    add_random_edge(s, first, a);
    add_random_edge(s, second, a);
    memcpy(s->block[1], s->block[0], sizeof(double) * 18);
    finish(s);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_INT(s->saddle->report.redundant_count, 3);
    double* rhs                         = consistent_rhs(s);
    rhs[s->plan->row_start[second] + 1] += 0.25; // two rows disagree by that much: half each
    solve(s, rhs, true);
    // mu is residual / alpha, so u carries rounding of 1e-16 / eps_T.
    CHECK_NEAR(s->saddle->report.residual, 0.125, 1e-16 / s->saddle->regularisation);
    const int row = s->saddle->report.residual_row;
    CHECK(row == s->plan->row_start[first] + 1 || row == s->plan->row_start[second] + 1);
    case_free(s);
}

TEST(an_empty_row_is_redundant_and_harmless)
{
    saddle_case* s = grid(2, 3, 1);
    const int    e = 0, row = s->plan->row_start[s->row_node[e]] + 3;
    for (int k = 0; k < s->graph.edge_count; ++k) {
        if (s->row_node[k] != s->row_node[e]) continue;
        for (int i = 18; i < 24; ++i) tni_saddle_j(s->saddle, k)[i] = 0;
    }
    check_loop(s, 1e-9);
    CHECK_OK(tni_saddle_find_redundant(s->saddle, &s->arena));
    CHECK(s->saddle->redundant[row]);
    case_free(s);
}

TEST(what_is_not_finite_or_not_positive_is_refused_by_row)
{
    for (int kind = 0; kind < 10; ++kind) {
        saddle_case*  s     = kind < 5 ? grid(1, 3, 1) : random_tree(6, 1);
        if (kind >= 5) finish(s);
        const double  evils[] = {(double)NAN, (double)INFINITY};
        const int     last = s->dim[0] - 1;
        double*       rhs  = NULL;
        switch (kind % 5) {
        case 0: tni_saddle_a(s->saddle, 0)[(s->dim[0] + 1) * last] = -1; break;
        case 1: tni_saddle_a(s->saddle, 0)[(s->dim[0] + 1) * last] = evils[0]; break;
        case 2: tni_saddle_j(s->saddle, 0)[0] = evils[0]; break;
        case 3: tni_saddle_j(s->saddle, 0)[0] = evils[1]; break;
        default:
            rhs                         = random_rhs(s);
            rhs[s->plan->row_count / 2] = evils[0];
        }
        if (rhs == NULL) {
            CHECK_INT(tni_saddle_factor(s->saddle), TN_ERR_SINGULAR);
        } else {
            CHECK_OK(tni_saddle_factor(s->saddle));
            CHECK_INT(tni_saddle_solve(s->saddle, rhs, TNI_TAKE(&s->arena, double,
                s->plan->row_count), true),
                      TN_ERR_SINGULAR);
        }
        CHECK(s->saddle->report.bad_row >= 0);
        if (kind % 5 < 2) CHECK_INT(s->saddle->report.bad_row, last);
        case_free(s);
    }
}

TEST(products_fit_together)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        saddle_case* s = seed % 2 == 0 ? grid(seed, 3, 10) : random_tree(seed, 10);
        if (seed % 2 == 1) finish(s);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const int rows = s->plan->row_count;
        double *  x = random_rhs(s), *y = TNI_TAKE(&s->arena, double, rows), *z =
            TNI_TAKE(&s->arena, double, rows);
        tni_saddle_mul_j(s->saddle, -1, x, y);
        tni_saddle_mul_jt(s->saddle, -1, x, y);
        double sum = 0; // mu . J u = u . J^T mu
        for (int v = 0; v < s->graph.count; ++v) {
            for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1];
                    ++i) sum += s->sign[v] * x[i] * y[i];
        }
        CHECK_NEAR(sum, 0, 1e-12);
        tni_saddle_solve_a(s->saddle, -1, x, z);
        for (int v = 0; v < s->graph.count; ++v) { // A z = x
            const int n = s->dim[v], at = s->plan->row_start[v];
            for (int i = 0; s->sign[v] > 0 && i < n; ++i) {
                double back = -x[at + i];
                for (int j = 0; j < n; ++j) back += tni_saddle_a(s->saddle, v)[n * i +
                        j] * z[at + j];
                CHECK_NEAR(back, 0, 1e-12);
            }
        }
        case_free(s);
    }
}

TEST(same_input_same_bits)
{
    saddle_case* s   = grid(7, 5, 100);
    double*      rhs = consistent_rhs(s);
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double* first = solve(s, rhs, true);
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double* second = solve(s, rhs, true);
    CHECK(memcmp(first, second, sizeof(double) * (size_t)s->plan->row_count) == 0);
    case_free(s);
}

TEST(components_do_not_disturb_each_other)
{
    saddle_case* s = case_make(12); // a loop and a tree: the tree stays exact
    for (int i = 0; i < 4; ++i) add_link(s, i % 2, i / 2, 1);
    pin(s, 0, 1, 0.5, 0);
    pin(s, 1, 3, 1, 0.5);
    pin(s, 3, 2, 0.5, 1);
    pin(s, 2, 0, 0, 0.5);
    const int a = add_node(s, 1, 6), tie = add_node(s, -1, 5);
    add_random_edge(s, tie, a);
    finish(s);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_INT(s->saddle->report.loop_count, 1);
    CHECK_INT(s->saddle->report.redundant_count, 3);
    const double *rhs = consistent_rhs(s), *x = solve(s, rhs, true);
    CHECK_LESS(difference(s, 1, x, dense_answer(s, rhs, true)), 1e-10);
    case_free(s);
}
