#include "test.h"

#include "linalg/dense.h"
#include "linalg/grandparent.h"

#include <stdlib.h>

#ifdef TENON_TEST_LIGHT
enum { SEEDS = 40 };
#else
enum { SEEDS = 200 };
#endif
enum { NODES_MAX = 200 };

// A matrix on a forest: as blocks, and as a full matrix.
typedef struct forest_case {
    tn_host          host;
    tni_arena        arena;
    test_random      random;
    int              dim[NODES_MAX], row[NODES_MAX], col[NODES_MAX];
    int8_t           sign[NODES_MAX];
    uint8_t          strong[NODES_MAX], coupled[NODES_MAX];
    tni_graph        graph;
    tni_plan*        plan;
    tni_grandparent* grand;
    int              rows;
    double*          full; // rows x rows
    size_t           diagonal_at[NODES_MAX], edge_at[NODES_MAX];
    tni_blocks       blocks;
} forest_case;

static forest_case* case_make(uint64_t seed)
{
    forest_case* s = calloc(1, sizeof *s);
    s->host        = tn_default_host();
    s->arena       = tni_arena_make(&s->host);
    s->random      = (test_random){seed};
    s->graph       = (tni_graph){.dim      = s->dim,
                                 .sign     = s->sign,
                                 .row_node = s->row,
                                 .col_node = s->col,
                                 .strong   = s->strong};
    return s;
}

static void case_free(forest_case* s)
{
    tni_arena_free(&s->arena);
    free(s);
}

static int add_a(forest_case* s, int dim)
{
    const int v = s->graph.count++;
    s->sign[v]  = 1;
    s->dim[v]   = dim;
    return v;
}

// A B node between two A nodes, or on one (b < 0).
static void add_b(forest_case* s, int rows, int a, int b, bool coupled)
{
    const int v       = s->graph.count++;
    s->sign[v]        = -1;
    s->dim[v]         = rows;
    s->coupled[v]     = coupled && b >= 0;
    const int ends[2] = {a, b};
    for (int i = 0; i < 2 && ends[i] >= 0; ++i) {
        const int e  = s->graph.edge_count++;
        s->row[e]    = v;
        s->col[e]    = ends[i];
        s->strong[e] = rows <= s->dim[ends[i]];
    }
}

// ---- Matrices -----------------------------------------------------------------------------------

static double number(forest_case* s)
{
    return test_random_between(&s->random, -1, 1);
}

static double* full_at(forest_case* s, int row, int col)
{
    return s->full + (size_t)s->plan->row_start[row] * (size_t)s->rows + s->plan->row_start[col];
}

// Between two A nodes: K^T K of 1 to 6 rows over both of them, so that A stays positive definite;
// skew: plus a nonsymmetric term that does not change the symmetric part.
static void couple(forest_case* s, int a, int b, double skew)
{
    const int n = s->dim[a], m = s->dim[b], rows = test_random_int(&s->random, 1, 6);
    double    K[6][2 * TNI_DIM_MAX];
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < n + m; ++i) K[r][i] = number(s);
    for (int i = 0; i < n + m; ++i) {
        for (int j = 0; j < n + m; ++j) {
            double* to = full_at(s, i < n ? a : b, j < n ? a : b);
            double* at = to + (size_t)(i < n ? i : i - n) * (size_t)s->rows + (j < n ? j : j - n);
            for (int r = 0; r < rows; ++r) *at += K[r][i] * K[r][j];
            if (j <= i) continue;
            const double w    = skew * number(s);
            double*      back = full_at(s, j < n ? a : b, i < n ? a : b);
            const size_t k    = (size_t)(j < n ? j : j - n);
            back[k * (size_t)s->rows + (size_t)(i < n ? i : i - n)] -= w;
            *at += w;
        }
    }
}

static void fill_diagonals(forest_case* s, double soft, double skew)
{
    for (int v = 0; v < s->graph.count; ++v) {
        const int n  = s->dim[v];
        double *  to = full_at(s, v, v), R[TNI_DIM_MAX * TNI_DIM_MAX];
        for (int i = 0; i < n * n; ++i) R[i] = number(s);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                double sum = i == j;
                for (int k = 0; k < n; ++k) sum += R[n * i + k] * R[n * j + k];
                to[(size_t)i * (size_t)s->rows + (size_t)j] = s->sign[v] > 0 ? sum : -soft * sum;
            }
        }
        for (int i = 0; s->sign[v] > 0 && i < n; ++i) {
            for (int j = 0; j < i; ++j) {
                const double w = skew * number(s);
                to[(size_t)i * (size_t)s->rows + (size_t)j] += w;
                to[(size_t)j * (size_t)s->rows + (size_t)i] -= w;
            }
        }
    }
}

static void fill_edges(forest_case* s)
{
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int n = s->dim[s->row[e]], m = s->dim[s->col[e]];
        double *  J = full_at(s, s->row[e], s->col[e]), *T = full_at(s, s->col[e], s->row[e]);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < m; ++j) {
                J[(size_t)i * (size_t)s->rows + (size_t)j] =
                    T[(size_t)j * (size_t)s->rows + (size_t)i] = i == j ? 3 : number(s);
            }
        }
    }
}

static void copy_block(forest_case* s, int row, int col, double scale, double* to)
{
    const double* from = full_at(s, row, col);
    for (int i = 0; i < s->dim[row]; ++i) {
        for (int j = 0; j < s->dim[col]; ++j)
            to[s->dim[col] * i + j] = scale * from[(size_t)i * (size_t)s->rows + (size_t)j];
    }
}

static void gather_blocks(forest_case* s)
{
    double* numbers = TNI_TAKE(&s->arena, double, s->rows * s->rows);
    size_t  at      = 0;
    for (int v = 0; v < s->graph.count; ++v) {
        s->diagonal_at[v] = at;
        copy_block(s, v, v, s->sign[v], numbers + at);
        at += (size_t)(s->dim[v] * s->dim[v]);
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        s->edge_at[e] = at;
        copy_block(s, s->row[e], s->col[e], 1, numbers + at);
        at += (size_t)(s->dim[s->row[e]] * s->dim[s->col[e]]);
    }
    for (int a = 0; a < s->graph.count; ++a) {
        for (int b = 0; b < s->graph.count; ++b) {
            double* to = tni_grandparent_between(s->grand, a, b);
            if (to != NULL) copy_block(s, a, b, 1, to);
        }
    }
    s->blocks = (tni_blocks){numbers, s->diagonal_at, numbers, s->edge_at, false};
}

// Plan, numbers and blocks. soft: size of E; skew: 0 makes a symmetric matrix. Returns whether it
// is all trees.
static bool case_fill(forest_case* s, double soft, double skew, tni_grandparent_kind kind)
{
    CHECK_OK(tni_plan_create(&s->arena, &s->graph, &s->plan));
    s->rows = s->plan->row_count;
    s->full = TNI_TAKE(&s->arena, double, s->rows * s->rows);
    const tn_result result =
        tni_grandparent_create(&s->arena, s->plan, s->coupled, kind, &s->grand);
    if (result != TN_OK) return false;
    fill_diagonals(s, soft, skew);
    fill_edges(s);
    for (int e = 0; e + 1 < s->graph.edge_count; ++e) {
        if (s->row[e] == s->row[e + 1] && s->coupled[s->row[e]])
            couple(s, s->col[e], s->col[e + 1], skew);
    }
    gather_blocks(s);
    return true;
}

// The largest difference from the dense solution, against its largest number, of `count` sides.
static double difference(forest_case* s, int count)
{
    const size_t n = (size_t)s->rows, m = (size_t)count;
    double *     full = TNI_TAKE(&s->arena, double, n* n), *x = TNI_TAKE(&s->arena, double, n* m),
           *y       = TNI_TAKE(&s->arena, double, n);
    int*   exchange = TNI_TAKE(&s->arena, int, n);
    double worst    = 0;
    memcpy(full, s->full, sizeof(double) * n * n);
    CHECK_OK(tni_dense_lu((int)n, full, exchange));
    for (size_t i = 0; i < n * m; ++i) x[i] = number(s);
    double* b = TNI_TAKE(&s->arena, double, n* m);
    memcpy(b, x, sizeof(double) * n * m);
    tni_grandparent_solve(s->grand, count, x);
    for (size_t k = 0; k < m; ++k) {
        double size = 0, error = 0;
        for (size_t i = 0; i < n; ++i) y[i] = b[m * i + k];
        tni_dense_lu_solve((int)n, full, exchange, y);
        for (size_t i = 0; i < n; ++i) {
            size  = fmax(size, fabs(y[i]));
            error = fmax(error, fabs(y[i] - x[m * i + k]));
            if (!(fabs(x[m * i + k]) < 1e300)) error = HUGE_VAL;
        }
        worst = fmax(worst, error / size);
    }
    return worst;
}

// ---- Shapes -------------------------------------------------------------------------------------

// Rows that are independent on either side; none now and then.
static int fitting(forest_case* s, int a, int b)
{
    int most = s->dim[a] < 12 ? s->dim[a] : 12;
    if (b >= 0 && s->dim[b] < most) most = s->dim[b];
    return test_random_int(&s->random, b >= 0 ? 0 : 1, most);
}

static int random_dim(forest_case* s)
{
    static const int deck[] = {6, 6, 6, 6, 3, 3, 1, 2, 12, 7, 15};
    return deck[test_random_int(&s->random, 0, sizeof deck / sizeof deck[0] - 1)];
}

// near: how far back a parent may lie: 1 makes chains.
static void grow_tree(forest_case* s, int count, int near, bool held)
{
    int nodes[NODES_MAX];
    for (int i = 0; i < count; ++i) {
        nodes[i] = add_a(s, random_dim(s));
        if (i == 0) {
            if (held) add_b(s, fitting(s, nodes[0], -1), nodes[0], -1, false);
            continue;
        }
        const int to = nodes[test_random_int(&s->random, near > i ? 0 : i - near, i - 1)];
        add_b(s, fitting(s, nodes[i], to), to, nodes[i], test_random_unit(&s->random) < 0.8);
    }
}

static void check_random(uint64_t seed, tni_grandparent_kind kind)
{
    forest_case* s     = case_make(seed);
    const double skew  = kind == TNI_GRANDPARENT_GENERAL ? 1 : 0;
    const int    trees = test_random_int(&s->random, 1, 3);
    for (int i = 0; i < trees; ++i) {
        grow_tree(s, test_random_int(&s->random, 1, 12), test_random_int(&s->random, 1, 4),
                  test_random_unit(&s->random) < 0.5);
    }
    const double soft = test_random_unit(&s->random) < 0.5 ? 0 : 0.3;
    CHECK(case_fill(s, soft, skew, kind));
    CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
    CHECK_LESS(difference(s, 1), 1e-12);
    CHECK_LESS(difference(s, 5), 1e-12);
    case_free(s);
}

TEST(random_forests_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        check_random(seed, TNI_GRANDPARENT_SYMMETRIC);
        check_random(seed, TNI_GRANDPARENT_GENERAL);
    }
}

// One size, so that the kernels with constants are used; even floating chains have a B node as
// root, with two coupled A nodes.
TEST(chains_agree_with_dense)
{
    for (int rows = 0; rows <= 6; ++rows) {
        for (int count = 2; count <= 9; ++count) {
            for (int kind = 0; kind < 4; ++kind) {
                forest_case* s     = case_make((uint64_t)(100 * rows + 10 * count + kind));
                const bool   whole = kind % 2 == 1;
                for (int i = 0; i < count; ++i) add_a(s, 6);
                if (rows > 0 && count % 3 == 0) add_b(s, rows, 0, -1, false);
                for (int i = 1; i < count; ++i) add_b(s, rows, i - 1, i, i != 3);
                CHECK(case_fill(s, kind < 2 ? 0 : 0.1, whole ? 2 : 0,
                                whole ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
                CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
                CHECK_LESS(difference(s, 1), 1e-12);
                CHECK_LESS(difference(s, 3), 1e-12);
                case_free(s);
            }
        }
    }
}

TEST(stars_and_wide_nodes_agree_with_dense)
{
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(7 + (uint64_t)kind);
        add_a(s, TNI_DIM_MAX);
        for (int i = 1; i <= 10; ++i) add_a(s, i % 2 == 0 ? 6 : 12);
        for (int i = 1; i <= 10; ++i) add_b(s, i == 1 ? 12 : 5, 0, i, true);
        CHECK(case_fill(s, 0, kind == 1,
                        kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
        CHECK_LESS(difference(s, 2), 1e-12);
        case_free(s);
    }
}

TEST(blocks_survive_a_factorisation)
{
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(11);
        grow_tree(s, 9, 3, true);
        CHECK(
            case_fill(s, 0, kind, kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
        double *x = TNI_TAKE(&s->arena, double, s->rows), *y = TNI_TAKE(&s->arena, double, s->rows);
        for (int i = 0; i < s->rows; ++i) x[i] = y[i] = i % 5 - 2;
        tni_grandparent_solve(s->grand, 1, x);
        CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
        tni_grandparent_solve(s->grand, 1, y);
        CHECK(memcmp(x, y, sizeof(double) * (size_t)s->rows) == 0);
        case_free(s);
    }
}

// All right-hand sides are solved by the same sums.
TEST(several_right_hand_sides_have_the_same_bits)
{
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(12);
        grow_tree(s, 12, 2, false);
        for (int i = 0; i < 4; ++i) {
            add_a(s, 6);
            if (i > 0) add_b(s, 3, s->graph.count - (i == 1 ? 2 : 3), s->graph.count - 1, true);
        }
        CHECK(case_fill(s, 0.1, kind,
                        kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
        double *all = TNI_TAKE(&s->arena, double, 3 * s->rows), one[3][600];
        for (int i = 0; i < 3 * s->rows; ++i) one[i % 3][i / 3] = all[i] = number(s);
        tni_grandparent_solve(s->grand, 3, all);
        for (int k = 0; k < 3; ++k) tni_grandparent_solve(s->grand, 1, one[k]);
        for (int i = 0; i < 3 * s->rows; ++i) CHECK(one[i % 3][i / 3] == all[i]);
        case_free(s);
    }
}

// Both kinds factor a symmetric matrix, by different methods.
TEST(the_general_kind_agrees_on_symmetric_matrices)
{
    double answer[2][600];
    int    rows = 0;
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(13);
        grow_tree(s, 14, 3, true);
        CHECK(case_fill(s, 0, 0, kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
        rows = s->rows;
        for (int i = 0; i < rows; ++i) answer[kind][i] = i % 7 - 3;
        tni_grandparent_solve(s->grand, 1, answer[kind]);
        case_free(s);
    }
    for (int i = 0; i < rows; ++i) CHECK_NEAR(answer[0][i], answer[1][i], 1e-12);
}

// ---- Failures -----------------------------------------------------------------------------------

TEST(rows_are_exchanged_inside_a_node)
{
    forest_case* s = case_make(3);
    for (int i = 0; i < 4; ++i) add_a(s, 6);
    for (int i = 1; i < 4; ++i) add_b(s, 3, i - 1, i, true);
    CHECK(case_fill(s, 0, 0.5, TNI_GRANDPARENT_GENERAL));
    for (int i = 0; i < 6; ++i) { // a permutation: nothing on the diagonal, and not definite
        for (int j = 0; j < 6; ++j) {
            full_at(s, 0, 0)[(size_t)i * (size_t)s->rows + (size_t)j] = i == (j + 1) % 6 ? 2 : 0;
        }
    }
    gather_blocks(s);
    CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
    CHECK_LESS(difference(s, 2), 1e-12);
    case_free(s);
}

// Rows are compared relative to their size: otherwise, as second pivot, the first row would swamp
// the third.
TEST(rows_of_different_sizes_are_compared_by_their_own)
{
    static const double D[9] = {1, 100, 1e12, 1e-6, 1e-6, 0, 0, 1, 1};
    forest_case*        s    = case_make(4);
    add_a(s, 3);
    CHECK(case_fill(s, 0, 1, TNI_GRANDPARENT_GENERAL));
    for (int i = 0; i < 9; ++i) s->full[i] = D[i];
    gather_blocks(s);
    CHECK_OK(tni_grandparent_factor(s->grand, &s->blocks));
    double x[3] = {0, 0, 0}, wanted[3] = {1.1, 2.3, 3.7};
    for (int i = 0; i < 9; ++i) x[i / 3] += D[i] * wanted[i % 3];
    tni_grandparent_solve(s->grand, 1, x);
    for (int i = 0; i < 3; ++i) CHECK_NEAR(x[i], wanted[i], 1e-12);
    case_free(s);
}

TEST(dependent_rows_are_found)
{
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(5);
        for (int i = 0; i < 3; ++i) add_a(s, 6);
        add_b(s, 3, 0, 1, true);
        add_b(s, 3, 1, 2, true);
        CHECK(
            case_fill(s, 0, kind, kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        for (int j = 0; j < 18;
             ++j) { // the third row of the second B node is the sum of the others
            const size_t rows       = (size_t)s->rows;
            double*      J          = full_at(s, 4, 0);
            J[2 * rows + (size_t)j] = J[(size_t)j] + J[rows + (size_t)j];
        }
        gather_blocks(s);
        CHECK_INT(tni_grandparent_factor(s->grand, &s->blocks), TN_ERR_SINGULAR);
        CHECK(s->grand->report.bad_row >= s->plan->row_start[4] &&
              s->grand->report.bad_row < s->plan->row_start[5]);
        CHECK_LESS(s->grand->report.smallest, 1e-13);
        case_free(s);
    }
}

// Row 2 of an A node is zero, NaN, infinite, or has a negative pivot; the general kind accepts the
// last.
TEST(what_is_not_definite_or_not_finite_is_found)
{
    static const double row2[] = {0, (double)NAN, HUGE_VAL, -1000};
    for (int i = 0; i < 8; ++i) {
        const int    kind = i / 4, what = i % 4;
        forest_case* s = case_make(6);
        for (int k = 0; k < 4; ++k) add_a(s, 6);
        for (int k = 1; k < 4; ++k) add_b(s, 3, k - 1, k, true);
        CHECK(
            case_fill(s, 0, kind, kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        for (int j = 0; j < 6; ++j) {
            full_at(s, 3, 3)[2 * (size_t)s->rows + (size_t)j] =
                j == 2 || what == 0 ? row2[what] : 0.1;
            full_at(s, 3, 3)[(size_t)j * (size_t)s->rows + 2] =
                j == 2 || what == 0 ? row2[what] : 0.1;
        }
        gather_blocks(s);
        const bool good = kind == 1 && what == 3;
        CHECK_INT(tni_grandparent_factor(s->grand, &s->blocks), good ? TN_OK : TN_ERR_SINGULAR);
        const int row = s->grand->report.bad_row - s->plan->row_start[3];
        if (good) CHECK_LESS(difference(s, 1), 1e-12);
        else CHECK(row >= 0 && row < 6 && (kind == 1 || row == 2));
        case_free(s);
    }
}

TEST(loops_are_refused)
{
    forest_case* s = case_make(8);
    for (int i = 0; i < 3; ++i) add_a(s, 6);
    for (int i = 0; i < 3; ++i) add_b(s, 3, i, (i + 1) % 3, true);
    CHECK_OK(tni_plan_create(&s->arena, &s->graph, &s->plan));
    CHECK_INT(tni_grandparent_create(&s->arena, s->plan, NULL, TNI_GRANDPARENT_GENERAL, &s->grand),
              TN_ERR_UNSUPPORTED);
    case_free(s);
}

// ---- What is kept, and cost ---------------------------------------------------------------------

TEST(blocks_exist_where_two_a_nodes_share_a_b_node)
{
    for (int kind = 0; kind < 2; ++kind) {
        forest_case* s = case_make(9);
        for (int i = 0; i < 4; ++i) add_a(s, 6);
        for (int i = 1; i < 4; ++i) add_b(s, 3, i - 1, i, i != 2);
        CHECK(
            case_fill(s, 0, kind, kind == 1 ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC));
        for (int a = 0; a < 7; ++a) {
            for (int b = 0; b < 7; ++b) {
                const bool tied = (a == 0 && b == 1) || (a == 1 && b == 0) || (a == 2 && b == 3) ||
                                  (a == 3 && b == 2);
                const double *there = tni_grandparent_between(s->grand, a, b),
                             *back  = tni_grandparent_between(s->grand, b, a);
                CHECK((there != NULL || back != NULL) == tied);
                CHECK(!tied || (there != NULL && back != NULL) == (kind == 1));
                CHECK(there == NULL || there != back);
            }
        }
        case_free(s);
    }
}

static void chain_flops(int links, int rows, bool coupled, double* factor, double* solve)
{
    forest_case* s = case_make(1);
    for (int k = 0; k < links; ++k) add_a(s, 6);
    add_b(s, rows, 0, -1, false);
    for (int k = 1; k < links; ++k) add_b(s, rows, k - 1, k, coupled);
    CHECK(case_fill(s, 0, 0, TNI_GRANDPARENT_SYMMETRIC));
    *factor = s->grand->factor_flops;
    *solve  = s->grand->solve_flops;
    case_free(s);
}

// The design's table has m (m + 1) / 2 less, since E = 0 is not added there.
TEST(flops_are_those_of_the_design)
{
    const double wanted[2][4] = {{1143 + 6, 378, 459 + 6, 234}, {1679 + 15, 506, 851 + 15, 362}};
    for (int i = 0; i < 4; ++i) {
        double factor[2], solve[2];
        for (int k = 0; k < 2; ++k)
            chain_flops(20 + k, 3 + i / 2 * 2, i % 2 == 0, &factor[k], &solve[k]);
        CHECK_NEAR(factor[1] - factor[0], wanted[i / 2][i % 2 * 2], 1e-9);
        CHECK_NEAR(solve[1] - solve[0], wanted[i / 2][i % 2 * 2 + 1], 1e-9);
    }
}
