// Fronts and their kernels against scalar loops in the same order of elimination.
#include "test.h"

#include "linalg/front.h"
#include "linalg/front_lanes.h"
#include "linalg/tile.h"
#include "math/simd.h"

#include <float.h>
#include <stdlib.h>

// --- kernels ------------------------------------------------------------------------------------

static double* random_numbers(test_random* random, size_t count)
{
    double* x = malloc(sizeof *x * (count + 1));
    for (size_t i = 0; i < count; ++i) x[i] = test_random_between(random, -1, 1);
    return x;
}

static double* copy_of(const double* x, size_t count)
{
    double* y = malloc(sizeof *y * (count + 1));
    memcpy(y, x, sizeof *y * count);
    return y;
}

static size_t at(int width, int row, int column)
{
    return (size_t)(row / 8 * 8 * width + 8 * column + row % 8);
}

static bool same(const double* x, const double* y, size_t count)
{
    return memcmp(x, y, sizeof *x * count) == 0;
}

static void check_update(const tni_tiles* tiles, test_random* random)
{
    const int    width = test_random_int(random, 1, 64), columns = test_random_int(random, 1, 64);
    const int    least = (columns + 7) / 8, panels = least + test_random_int(random, 0, 5);
    const int    rows = 8 * panels;
    const size_t n = (size_t)(rows * width), size = (size_t)(rows * columns);
    double *     X = random_numbers(random, n), *Y = random_numbers(random, n);
    double *     C = random_numbers(random, size), *wanted = copy_of(C, size);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns && j <= i; ++j) {
            for (int k = 0; k < width; ++k) {
                const double product = X[at(width, i, k)] * Y[at(width, j, k)];
                wanted[at(columns, i, j)] -= product;
            }
        }
    }
    tiles->update(width, columns, panels, X, Y, C);
    int wrong = 0;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns && j <= i; ++j)
            wrong += C[at(columns, i, j)] != wanted[at(columns, i, j)];
    }
    CHECK_INT(wrong, 0);
    free(X), free(Y), free(C), free(wanted);
}

static void check_rows(const tni_tiles* tiles, test_random* random)
{
    const int    width = test_random_int(random, 1, 64), panels = test_random_int(random, 0, 4);
    const int    first = 4 * test_random_int(random, 0, (width - 1) / 4), rows = 8 * panels;
    const int    group = first + 4 < width ? first + 4 : width;
    const int    end   = test_random_int(random, 0, 1) ? width : group;
    const size_t n = (size_t)(rows * width), size = (size_t)((width + 7) / 8 * 8 * width);
    double *     T = random_numbers(random, size), *inverse = random_numbers(random, 64);
    double *     X = random_numbers(random, n), *Y = random_numbers(random, n);
    double *     x = copy_of(X, n), *y = copy_of(Y, n);
    for (int i = 0; i < rows; ++i) {
        for (int k = first; k < end; ++k) {
            for (int j = 0; j < k; ++j) {
                const double product = x[at(width, i, j)] * T[at(width, k, j)];
                x[at(width, i, k)] -= product;
            }
            y[at(width, i, k)] = x[at(width, i, k)] * inverse[k];
        }
    }
    tiles->rows(width, first, end, panels, T, inverse, X, Y);
    CHECK(same(X, x, n) && same(Y, y, n));
    free(T), free(inverse), free(X), free(Y), free(x), free(y);
}

static void check_column(const tni_tiles* tiles, test_random* random)
{
    const int    width = test_random_int(random, 1, 64);
    const int    first = 4 * test_random_int(random, 0, (width - 1) / 4);
    const size_t n     = (size_t)(8 * width);
    double *     X = random_numbers(random, n), *Y = random_numbers(random, n);
    double*      x = copy_of(X, n);
    for (int i = 0; i < 8; ++i) {
        for (int k = first; k < width && k < first + 4; ++k) {
            for (int j = 0; j < first; ++j) {
                const double product = x[at(width, i, j)] * Y[at(width, k % 8, j)];
                x[at(width, i, k)] -= product;
            }
        }
    }
    tiles->column(width, first, Y, X);
    CHECK(same(X, x, n));
    free(X), free(Y), free(x);
}

// A slab as the factorisation leaves it: zeros on and above the diagonal, and in padding rows.
static double* random_slab(test_random* random, int width, int rows)
{
    double* X = random_numbers(random, (size_t)(rows * width));
    for (int i = 0; i < (width + 7) / 8 * 8; ++i) {
        for (int k = 0; k < width; ++k) {
            if (i <= k || i >= width) X[at(width, i, k)] = 0;
        }
    }
    return X;
}

static void plain_forward(int width, int rows, const double* X, const double* inverse, double* z)
{
    for (int k = 0; k < width; ++k) {
        const double t = z[k] * inverse[k];
        for (int i = k + 1; i < rows; ++i) {
            const double product = X[at(width, i, k)] * t;
            z[i] -= product;
        }
    }
}

// Rows of panels below in lanes, the last panel first; then those of its own, the last one first.
static void plain_backward(int width, int rows, const double* X, const double* inverse, double* z)
{
    for (int k = width - 1; k >= 0; --k) {
        const int below = (k / 8 + 1) * 8;
        double    s[8]  = {0};
        for (int panel = rows - 8; panel >= below; panel -= 8) {
            for (int i = 0; i < 8; ++i) {
                const double product = X[at(width, panel + i, k)] * z[panel + i];
                s[i] += product;
            }
        }
        z[k] -= ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        for (int i = (below < width ? below : width) - 1; i > k; --i) {
            const double product = X[at(width, i, k)] * z[i];
            z[k] -= product;
        }
        z[k] *= inverse[k];
    }
}

static void check_solves(const tni_tiles* tiles, test_random* random)
{
    const int    width = test_random_int(random, 1, 64), own = (width + 7) / 8;
    const int    panels = own + test_random_int(random, 0, 40), rows = 8 * panels;
    const int    sides  = test_random_int(random, 1, 16);
    const int    stride = rows + test_random_int(random, 0, 3);
    const size_t n      = (size_t)(stride * sides);
    double *     X = random_slab(random, width, rows), *inverse = random_numbers(random, 64);
    double *     z = random_numbers(random, n), *wanted;
    for (int c = 0; c < sides; ++c) {
        for (int i = width; i < 8 * own; ++i) z[stride * c + i] = 0;
    }
    wanted = copy_of(z, n);
    for (int c = 0; c < sides; ++c) plain_forward(width, rows, X, inverse, wanted + stride * c);
    tiles->forward(width, panels, sides, stride, X, inverse, z);
    CHECK(same(z, wanted, n));
    for (int c = 0; c < sides; ++c) plain_backward(width, rows, X, inverse, wanted + stride * c);
    tiles->backward(width, panels, sides, stride, X, inverse, z);
    CHECK(same(z, wanted, n));
    free(X), free(inverse), free(z), free(wanted);
}

TEST(every_set_of_kernels_has_the_bits_of_one_number_at_a_time)
{
    const tni_tiles* sets[] = {tni_tiles_of(TNI_SIMD_NARROW), tni_tiles_of(tni_simd_width())};
    for (int k = 0; k < 2; ++k) {
        test_random random = {7};
        for (int trial = 0; trial < 150; ++trial) {
            check_update(sets[k], &random);
            check_rows(sets[k], &random);
            check_column(sets[k], &random);
            check_solves(sets[k], &random);
        }
    }
}

// --- a matrix with loops ------------------------------------------------------------------------

typedef struct loop_case {
    tn_host     host;
    tni_arena   arena;
    test_random random;
    tni_graph   graph;
    int *       dim, *row_node, *col_node;
    int8_t*     sign;
    uint8_t*    strong;
    tni_blocks  blocks;
    double*     raise;
    tni_plan*   plan;
    tni_ldl*    ldl;
} loop_case;

static void tie(loop_case* s, int row, int col)
{
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int r = s->row_node[e], c = s->col_node[e];
        if ((r == row && c == col) || (r == col && c == row)) return;
    }
    s->row_node[s->graph.edge_count]   = row;
    s->col_node[s->graph.edge_count++] = col;
}

static void fill_numbers(loop_case* s)
{
    const size_t n = (size_t)s->graph.count, m = (size_t)s->graph.edge_count;
    size_t *diagonal_at = TNI_TAKE(&s->arena, size_t, n), *edge_at = TNI_TAKE(&s->arena, size_t, m);
    size_t  size = 0;
    int     rows = 0;
    for (size_t v = 0; v < n; ++v) {
        diagonal_at[v] = size;
        size += (size_t)(s->dim[v] * s->dim[v]);
        rows += s->dim[v];
    }
    for (size_t e = 0; e < m; ++e) {
        edge_at[e] = size;
        size += (size_t)(s->dim[s->row_node[e]] * s->dim[s->col_node[e]]);
    }
    double* numbers = TNI_TAKE(&s->arena, double, size);
    s->raise        = TNI_TAKE(&s->arena, double, rows);
    for (size_t i = 0; i < size; ++i) numbers[i] = test_random_between(&s->random, -1, 1);
    for (size_t v = 0; v < n; ++v) {
        double*   D   = numbers + diagonal_at[v];
        const int dim = s->dim[v];
        for (int i = 0; i < dim; ++i) {
            for (int j = 0; j < i; ++j) D[dim * j + i] = D[dim * i + j];
            D[(dim + 1) * i] += 2 * dim;
        }
    }
    for (size_t e = 0; e < m;
         ++e) { // between nodes of one sign: small, so that A and B stay definite
        const int r = s->row_node[e], c = s->col_node[e];
        for (int k = 0; s->sign[r] == s->sign[c] && k < s->dim[r] * s->dim[c]; ++k)
            numbers[edge_at[e] + (size_t)k] *= 0.02;
    }
    for (int i = 0; i < rows; ++i) s->raise[i] = test_random_unit(&s->random);
    s->blocks = (tni_blocks){numbers, diagonal_at, numbers, edge_at, false};
}

// A ring of A nodes with B nodes between them, and more edges: the denser, the larger the fronts.
static loop_case* random_loops(uint64_t seed, int nodes, int more, int widest)
{
    loop_case* s = calloc(1, sizeof *s);
    s->host      = tn_default_host();
    s->arena     = tni_arena_make(&s->host);
    s->random    = (test_random){seed};
    s->dim       = TNI_TAKE(&s->arena, int, nodes);
    s->sign      = TNI_TAKE(&s->arena, int8_t, nodes);
    s->row_node  = TNI_TAKE(&s->arena, int, nodes + more);
    s->col_node  = TNI_TAKE(&s->arena, int, nodes + more);
    s->strong    = TNI_TAKE(&s->arena, uint8_t, nodes + more);
    s->graph = (tni_graph){nodes, s->dim, s->sign, 0, s->row_node, s->col_node, s->strong, NULL};
    const bool zero = seed % 5 == 0; // a node without rows
    for (int v = 0; v < nodes; ++v) {
        s->sign[v] = v % 2 == 0 ? 1 : -1;
        s->dim[v]  = zero && v == 1 ? 0 : test_random_int(&s->random, 1, widest);
        tie(s, v, (v + 1) % nodes);
    }
    for (int k = 0; k < more; ++k) {
        const int a = test_random_int(&s->random, 0, nodes - 1),
                  b = test_random_int(&s->random, 0, nodes - 1);
        if (a != b) tie(s, a, b);
    }
    fill_numbers(s);
    return s;
}

static void case_free(loop_case* s)
{
    tni_arena_free(&s->arena);
    free(s);
}

static void make_plan(loop_case* s, double front_cost)
{
    CHECK_OK(tni_plan_create_merged(&s->arena, &s->graph, front_cost, &s->plan));
    CHECK_OK(tni_ldl_create(&s->arena, s->plan, &s->ldl));
    CHECK(s->plan->front_count > 0);
}

// --- the same, dense ----------------------------------------------------------------------------

typedef struct dense_case {
    int              rows;
    double*          H;        // in the order of elimination
    int*             position; // of a row of the graph in that order
    int*             row;      // and back
    double *         d, *relative;
    tni_pivot_report report;
} dense_case;

static void dense_load(loop_case* s, dense_case* d)
{
    const tni_plan* plan = s->plan;
    const size_t    n    = (size_t)plan->row_count;
    *d                   = (dense_case){.rows     = plan->row_count,
                                        .H        = TNI_TAKE(&s->arena, double, n* n),
                                        .position = TNI_TAKE(&s->arena, int, n),
                                        .row      = TNI_TAKE(&s->arena, int, n),
                                        .d        = TNI_TAKE(&s->arena, double, n),
                                        .relative = TNI_TAKE(&s->arena, double, n)};
    int next             = 0;
    for (int p = 0; p < plan->count; ++p) {
        for (int k = 0; k < plan->pivot[p].dim; ++k, ++next) {
            d->row[next]                        = plan->pivot[p].row + k;
            d->position[plan->pivot[p].row + k] = next;
        }
    }
    for (int v = 0; v < plan->count; ++v) {
        for (int i = 0; i < s->dim[v]; ++i) {
            const size_t r = (size_t)d->position[plan->row_start[v] + i];
            for (int j = 0; j < s->dim[v]; ++j) {
                const size_t c = (size_t)d->position[plan->row_start[v] + j];
                d->H[n * r + c] =
                    s->sign[v] *
                    s->blocks.diagonal[s->blocks.diagonal_at[v] + (size_t)(s->dim[v] * i + j)];
            }
            d->H[n * r + r] += s->sign[v] * s->raise[plan->row_start[v] + i];
        }
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        const int a = plan->row_node[e], b = plan->col_node[e];
        for (int i = 0; i < s->dim[a]; ++i) {
            for (int j = 0; j < s->dim[b]; ++j) {
                const size_t r  = (size_t)d->position[plan->row_start[a] + i],
                             c  = (size_t)d->position[plan->row_start[b] + j];
                d->H[n * r + c] = d->H[n * c + r] =
                    s->blocks.edge[s->blocks.edge_at[e] + (size_t)(s->dim[b] * i + j)];
            }
        }
    }
}

// LDL^T of the full matrix with the pivot rule, row by row.
static void dense_factor(loop_case* s, dense_case* d, const tni_pivot_rule* rule)
{
    const size_t n   = (size_t)d->rows;
    size_t       k   = 0;
    d->report        = (tni_pivot_report){.smallest = HUGE_VAL, .smallest_row = -1, .bad_row = -1};
    double scale[64] = {0};
    for (int p = 0; p < s->plan->count; ++p) {
        const tni_pivot* v = &s->plan->pivot[p];
        for (int i = 0; i < v->dim; ++i) {
            scale[i] = fabs(d->H[(n + 1) * (k + (size_t)i)]);
            if (rule->scale != NULL) scale[i] = rule->scale[v->row + i];
        }
        for (int i = 0; i < v->dim; ++i, ++k) {
            double pivot   = d->H[(n + 1) * k];
            d->relative[k] = v->sign > 0 && rule->scale == NULL ? 1 : v->sign * pivot / scale[i];
            if (v->sign < 0 && d->relative[k] < d->report.smallest) {
                d->report.smallest     = d->relative[k];
                d->report.smallest_row = v->row + i;
            }
            if (v->sign < 0 && d->relative[k] <= rule->tolerance) {
                pivot = -(rule->alpha != NULL ? rule->alpha[v->row + i] : scale[i]);
                ++d->report.replaced;
            }
            d->d[k] = pivot;
            for (size_t r = k + 1; r < n; ++r) {
                const double l = d->H[n * r + k] / pivot;
                for (size_t c = k + 1; l != 0 && c <= r; ++c)
                    d->H[n * r + c] -= l * d->H[n * c + k];
            }
            for (size_t r = k + 1; r < n; ++r) d->H[n * r + k] /= pivot;
        }
    }
}

static void dense_solve(const dense_case* d, double* x)
{
    const size_t n = (size_t)d->rows;
    double*      z = malloc(sizeof *z * (n + 1));
    for (size_t i = 0; i < n; ++i) {
        z[i] = x[d->row[i]];
        for (size_t k = 0; k < i; ++k) z[i] -= d->H[n * i + k] * z[k];
    }
    for (size_t i = n; i-- > 0;) {
        z[i] /= d->d[i];
        for (size_t k = i + 1; k < n; ++k) z[i] -= d->H[n * k + i] * z[k];
        x[d->row[i]] = z[i];
    }
    free(z);
}

static double difference(const double* x, const double* y, int count)
{
    double most = 0, size = 0;
    for (int i = 0; i < count; ++i) {
        most = fmax(most, fabs(x[i] - y[i]));
        size = fmax(size, fabs(y[i]));
    }
    return most / size;
}

static double* random_vector(loop_case* s, int count)
{
    double* x = TNI_TAKE(&s->arena, double, count);
    for (int i = 0; i < count; ++i) x[i] = test_random_between(&s->random, -1, 1);
    return x;
}

// Factor and solve against the dense ones.
static void check_case(loop_case* s, const tni_pivot_rule* rule, double tolerance)
{
    dense_case       d;
    tni_pivot_report report;
    const int        rows = s->plan->row_count;
    dense_load(s, &d);
    dense_factor(s, &d, rule);
    CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, rule, &report));
    CHECK_INT(report.replaced, d.report.replaced);
    CHECK_INT(report.smallest_row, d.report.smallest_row);
    CHECK_INT(report.bad_row, -1);
    for (int k = 0; k < rows; ++k)
        CHECK_NEAR(s->ldl->relative[d.row[k]], d.relative[k],
                   tolerance * (1 + fabs(d.relative[k])));
    double *x = random_vector(s, rows), *y = copy_of(x, (size_t)rows);
    tni_ldl_solve(s->ldl, -1, 1, x);
    dense_solve(&d, y);
    CHECK_LESS(difference(x, y, rows), tolerance);
    for (int p = 0; p < s->plan->count; ++p) { // reciprocal pivots where half_solve.c reads them
        int           step;
        const double* reciprocal = tni_ldl_reciprocals(s->ldl, p, &step);
        for (int k = 0; k < s->plan->pivot[p].dim; ++k) {
            const double wanted = 1 / d.d[d.position[s->plan->pivot[p].row + k]];
            CHECK_NEAR(reciprocal[step * k], wanted, tolerance * fabs(wanted));
        }
    }
    free(y);
}

static const double prices[] = {-1, 200, HUGE_VAL}; // never merged, as usual, one front

TEST(fronts_agree_with_dense_elimination)
{
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        loop_case* s = random_loops(seed, 3 + (int)seed % 20, (int)seed % 9, 1 + (int)seed % 13);
        const tni_pivot_rule rule = {.tolerance = 1e-13}; // scale: the reduced diagonal
        make_plan(s, prices[seed % 3]);
        check_case(s, &rule, 1e-11); // 1e-16 times the conditions of up to 100 rows
        case_free(s);
    }
}

TEST(nodes_of_every_width_and_fronts_of_hundreds_of_rows_agree_with_dense_elimination)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        loop_case*           s    = random_loops(seed, 14, 30, 64);
        const tni_pivot_rule rule = {.tolerance = 1e-13};
        make_plan(s, prices[seed % 3]);
        CHECK(s->plan->front_rows_max > 200);
        check_case(s, &rule, 1e-10);
        case_free(s);
    }
}

TEST(pivots_are_replaced_where_dense_elimination_replaces_them)
{
    int replaced = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        loop_case* s     = random_loops(seed, 5 + (int)seed % 12, 6, 1 + (int)seed % 20);
        const int  rows  = 20 * 40;
        double *   scale = TNI_TAKE(&s->arena, double, rows),
               *alpha    = TNI_TAKE(&s->arena, double, rows);
        for (int i = 0; i < rows; ++i) {
            scale[i] = test_random_between(&s->random, 50, 60);
            alpha[i] = test_random_between(&s->random, 70, 90);
        }
        // Pivots of B rows are near 2 dim: some are below this fraction of the scale, which is
        // large enough to replace them.
        const tni_pivot_rule rule = {scale, seed % 2 == 0 ? alpha : NULL,
                                     0.03 * (1 + (int)seed % 20)};
        make_plan(s, prices[seed % 3]);
        check_case(s, &rule, 1e-11);
        tni_pivot_report report;
        CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
        replaced += report.replaced;
        case_free(s);
    }
    CHECK(replaced > 100);
}

TEST(merging_changes_nothing_but_rounding)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        double* x[3];
        int     fronts[3];
        for (int k = 0; k < 3; ++k) {
            loop_case* s = random_loops(seed, 40, 10, 7);
            make_plan(s, prices[k]);
            const tni_pivot_rule rule = {.tolerance = 1e-13};
            tni_pivot_report     report;
            CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
            double* b = random_vector(s, s->plan->row_count);
            tni_ldl_solve(s->ldl, -1, 1, b);
            x[k]      = copy_of(b, (size_t)s->plan->row_count);
            fronts[k] = s->plan->front_count;
            if (k == 2) {
                CHECK_LESS(difference(x[0], x[2], s->plan->row_count), 1e-12);
                CHECK_LESS(difference(x[1], x[2], s->plan->row_count), 1e-12);
            }
            case_free(s);
        }
        CHECK_INT(fronts[2], 1);
        CHECK(fronts[0] > fronts[1]);
        for (int k = 0; k < 3; ++k) free(x[k]);
    }
}

TEST(plain_and_wide_kernels_make_the_same_factor_and_the_same_answer)
{
    if (tni_simd_width() == TNI_SIMD_NARROW) return;
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        loop_case*           s    = random_loops(seed, 20 + (int)seed, 20, seed % 2 == 0 ? 30 : 6);
        const tni_pivot_rule rule = {.tolerance = 1e-13};
        tni_pivot_report     report;
        make_plan(s, prices[seed % 3]);
        const size_t size = s->plan->value_count, rows = (size_t)s->plan->row_count;
        double *     kept[2], *x[2], *rhs = random_vector(s, (int)rows);
        for (int k = 0; k < 2; ++k) {
            s->ldl->tiles = tni_tiles_of(k == 0 ? TNI_SIMD_NARROW : tni_simd_width());
            CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
            kept[k] = copy_of(s->ldl->value, size);
            x[k]    = copy_of(rhs, rows);
            tni_ldl_solve(s->ldl, -1, 1, x[k]);
        }
        CHECK(same(kept[0], kept[1], size) && same(x[0], x[1], rows));
        free(kept[0]), free(kept[1]), free(x[0]), free(x[1]);
        case_free(s);
    }
}

TEST(more_right_hand_sides_than_are_taken_together_give_the_bits_of_one)
{
    enum { COUNT = 37 };
    loop_case*           s    = random_loops(3, 60, 40, 9);
    const tni_pivot_rule rule = {.tolerance = 1e-13};
    tni_pivot_report     report;
    make_plan(s, 200);
    CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
    const int rows = s->plan->row_count;
    double *  many = random_numbers(&s->random, (size_t)(rows * COUNT)),
           *one    = TNI_TAKE(&s->arena, double, rows* COUNT);
    for (int c = 0; c < COUNT; ++c) {
        for (int i = 0; i < rows; ++i) one[rows * c + i] = many[COUNT * i + c];
        tni_ldl_solve(s->ldl, -1, 1, one + rows * c);
    }
    tni_ldl_solve(s->ldl, -1, COUNT, many);
    int wrong = 0;
    for (int c = 0; c < COUNT; ++c) {
        for (int i = 0; i < rows; ++i) wrong += one[rows * c + i] != many[COUNT * i + c];
    }
    CHECK_INT(wrong, 0);
    free(many);
    case_free(s);
}

TEST(a_right_hand_side_that_is_not_finite_leaves_nothing_behind)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        loop_case*           s    = random_loops(seed, 30, 20, 11);
        const tni_pivot_rule rule = {.tolerance = 1e-13};
        tni_pivot_report     report;
        make_plan(s, prices[seed % 3]);
        CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
        const int rows = s->plan->row_count;
        double *  x = random_vector(s, rows), *again = copy_of(x, (size_t)rows);
        double*   bad = TNI_TAKE(&s->arena, double, rows);
        for (int i = 0; i < rows; ++i) bad[i] = NAN;
        tni_ldl_solve(s->ldl, -1, 1, x);
        tni_ldl_solve(s->ldl, -1, 1, bad);
        tni_ldl_solve(s->ldl, -1, 1, again);
        CHECK(same(x, again, (size_t)rows));
        free(again);
        case_free(s);
    }
}

// Operations counted as in elimination and solves, column by column.
TEST(predicted_flops_are_those_that_are_counted)
{
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        loop_case* s = random_loops(seed, 3 + (int)seed, (int)seed / 2, 6);
        make_plan(s, prices[seed % 3]);
        double factor = 0, solve = 0;
        for (int f = 0; f < s->plan->front_count; ++f) {
            const tni_front* front = &s->plan->front[f];
            int              own   = 0;
            for (int p = front->first; p < front->end; ++p) own += s->plan->pivot[p].dim;
            for (int k = 0; k < own; ++k) {
                ++factor; // reciprocal
                solve += 2;
                for (int j = k + 1; j < own + front->rows; ++j) {
                    ++factor; // y
                    solve += 4;
                    for (int i = j; i < own + front->rows; ++i) factor += 2;
                }
            }
        }
        CHECK_NEAR(s->plan->factor_flops, factor, 1e-9 * factor);
        CHECK_NEAR(s->plan->solve_flops, solve, 1e-9 * solve);
        case_free(s);
    }
}

static size_t end_of_update(const tni_front* front)
{
    size_t    end  = front->update;
    const int rows = (front->rows + 7) / 8 * 8;
    for (int j = 0; j < front->rows; ++j) end += (size_t)(rows - j / TNI_SLAB * TNI_SLAB);
    return end;
}

TEST(waiting_updates_do_not_overlap_on_the_stack)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        loop_case* s = random_loops(seed, 80, (int)seed, 8);
        make_plan(s, prices[seed % 2]);
        const tni_plan* plan = s->plan;
        for (int f = 0; f < plan->front_count; ++f) {
            for (int g = 0; g <= f; ++g) { // g waits for its parent
                const tni_front *one = &plan->front[g], *other = &plan->front[f];
                CHECK(end_of_update(one) <= plan->stack_count);
                if (g == f || one->parent < f) continue;
                CHECK(end_of_update(one) <= other->update || end_of_update(other) <= one->update);
            }
        }
        case_free(s);
    }
}

TEST(an_unusable_pivot_is_reported)
{
    for (int kind = 0; kind < 4; ++kind) {
        loop_case*           s    = random_loops(2, 20, 10, 6);
        const tni_pivot_rule rule = {.tolerance = 1e-13};
        tni_pivot_report     report;
        make_plan(s, 200);
        const int v    = s->plan->order[7];
        double*   last = (double*)s->blocks.diagonal + s->blocks.diagonal_at[v] +
                       (size_t)(s->dim[v] * s->dim[v] - 1);
        const double old = *last;
        *last            = kind == 0 ? (double)NAN : kind == 1 ? (double)INFINITY : -1e9;
        if (kind < 2 || s->sign[v] > 0) {
            CHECK_INT(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report),
                      TN_ERR_SINGULAR);
            CHECK_INT(report.bad_row, s->plan->row_start[v] + s->dim[v] - 1);
        }
        *last = old;
        CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
        case_free(s);
    }
}

TEST(zero_b_blocks_need_not_be_read)
{
    loop_case*           s    = random_loops(4, 30, 15, 5);
    const tni_pivot_rule rule = {.tolerance = 1e-13};
    tni_pivot_report     report;
    make_plan(s, 200);
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] < 0)
            memset((double*)s->blocks.diagonal + s->blocks.diagonal_at[v], 0,
                   sizeof(double) * (size_t)(s->dim[v] * s->dim[v]));
    }
    CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
    double* kept = copy_of(s->ldl->value, s->plan->value_count);
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] < 0) ((double*)s->blocks.diagonal)[s->blocks.diagonal_at[v]] = (double)NAN;
    }
    s->blocks.hard = true;
    CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &report));
    CHECK(same(kept, s->ldl->value, s->plan->value_count));
    free(kept);
    case_free(s);
}

// --- groups in lanes ----------------------------------------------------------------------------

// A second factorisation of the same plan, in groups.
static tni_ldl* grouped(loop_case* s)
{
    tni_ldl* ldl;
    CHECK_OK(tni_ldl_create(&s->arena, s->plan, &ldl));
    CHECK_OK(
        tni_front_groups_create(&s->arena, ldl, s->blocks.diagonal_at, s->blocks.edge_at, true));
    CHECK(ldl->front_groups != NULL);
    return ldl;
}

// Long rings have independent branches of the elimination tree; fronts of a group differ in size,
// and are padded. The scale makes some pivots be replaced by something larger.
static loop_case* group_case(uint64_t seed, tni_pivot_rule* rule)
{
    loop_case* s = random_loops(seed, 6 + 3 * ((int)seed % 30), (int)seed % 11, 1 + (int)seed % 7);
    double*    scale = TNI_TAKE(&s->arena, double, 1000);
    for (int i = 0; i < 1000; ++i) scale[i] = test_random_between(&s->random, 50, 60);
    *rule = (tni_pivot_rule){scale, seed % 2 == 0 ? scale : NULL, seed % 3 == 0 ? 0.1 : 1e-13};
    make_plan(s, prices[seed % 2]);
    return s;
}

static bool same_reciprocals(const tni_ldl* a, const tni_ldl* b)
{
    for (int p = 0; p < a->plan->count; ++p) {
        int           i, j;
        const double *x = tni_ldl_reciprocals(a, p, &i), *y = tni_ldl_reciprocals(b, p, &j);
        for (int k = 0; k < a->plan->pivot[p].dim; ++k) {
            if (x[i * k] != y[j * k]) return false;
        }
    }
    return true;
}

TEST(front_groups_have_the_bits_of_fronts_and_solve_as_they_do)
{
    int shared = 0, replaced = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        tni_pivot_rule   rule;
        tni_pivot_report want, got;
        loop_case*       s    = group_case(seed, &rule);
        tni_ldl*         ldl  = grouped(s);
        const int        rows = s->plan->row_count;
        for (int i = 0; i < 2; ++i) { // again over the first one's values
            CHECK_OK(tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &want));
            CHECK_OK(tni_ldl_factor(ldl, -1, &s->blocks, s->raise, &rule, &got));
        }
        CHECK(same_reciprocals(s->ldl, ldl));
        CHECK(same(s->ldl->relative, ldl->relative, (size_t)rows));
        CHECK_INT(got.replaced, want.replaced);
        CHECK_INT(got.smallest_row, want.smallest_row);
        CHECK(got.smallest == want.smallest && got.bad_row == -1);
        double *x = random_vector(s, rows), *y = copy_of(x, (size_t)rows);
        tni_ldl_solve(s->ldl, -1, 1, x);
        tni_ldl_solve(ldl, -1, 1, y);
        CHECK_LESS(difference(x, y, rows), 1e-11);
        shared += ldl->front_groups->count < s->plan->front_count;
        replaced += got.replaced;
        free(y);
        case_free(s);
    }
    CHECK(shared > 50);
    CHECK(replaced > 100);
}

TEST(front_groups_solve_several_sides_and_paths_with_the_same_bits)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        tni_pivot_rule   rule;
        tni_pivot_report report;
        loop_case*       s    = group_case(seed, &rule);
        tni_ldl*         ldl  = grouped(s);
        const int        rows = s->plan->row_count, count = 1 + (int)seed % 11;
        CHECK_OK(tni_ldl_factor(ldl, -1, &s->blocks, s->raise, &rule, &report));
        const int given  = test_random_int(&s->random, 0, s->plan->count - 1);
        const int wanted = test_random_int(&s->random, 0, s->plan->count - 1);
        double*   all    = TNI_TAKE(&s->arena, double, rows* count);
        for (int i = s->plan->row_start[given]; i < s->plan->row_start[given + 1]; ++i) {
            for (int k = 0; k < count; ++k)
                all[i * count + k] = test_random_between(&s->random, -1, 1);
        }
        double *path = copy_of(all, (size_t)(rows * count)),
               *one  = calloc((size_t)rows, sizeof *one);
        for (int i = 0; i < rows; ++i) one[i] = all[i * count + count - 1];
        tni_ldl_solve(ldl, -1, count, all);
        tni_ldl_solve(ldl, -1, 1, one);
        (void)tni_ldl_solve_path(ldl, &given, 1, &wanted, 1, count, path);
        for (int i = 0; i < rows; ++i) CHECK(one[i] == all[i * count + count - 1]);
        for (int i = s->plan->row_start[wanted] * count; i < s->plan->row_start[wanted + 1] * count;
             ++i)
            CHECK(path[i] == all[i]);
        free(path);
        free(one);
        case_free(s);
    }
}

TEST(plain_and_wide_front_groups_have_the_same_bits)
{
    if (tni_simd_width() == TNI_SIMD_NARROW) return;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        tni_pivot_rule   rule;
        tni_pivot_report report;
        loop_case*       s     = group_case(seed, &rule);
        tni_ldl *        plain = grouped(s), *wide = grouped(s);
        plain->front_groups->set = tni_front_kernels_of(TNI_SIMD_NARROW);
        wide->front_groups->set  = tni_front_kernels_of(tni_simd_width());
        const int rows           = s->plan->row_count;
        double *  x = random_vector(s, rows), *y = copy_of(x, (size_t)rows);
        CHECK_OK(tni_ldl_factor(plain, -1, &s->blocks, s->raise, &rule, &report));
        CHECK_OK(tni_ldl_factor(wide, -1, &s->blocks, s->raise, &rule, &report));
        tni_ldl_solve(plain, -1, 1, x);
        tni_ldl_solve(wide, -1, 1, y);
        CHECK(same(x, y, (size_t)rows));
        free(y);
        case_free(s);
    }
}

TEST(front_groups_report_the_same_bad_pivot)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        tni_pivot_rule   rule;
        tni_pivot_report want, got;
        loop_case*       s   = group_case(seed, &rule);
        tni_ldl*         ldl = grouped(s);
        for (int k = 0; k < 3; ++k) { // several: the first one counts
            const int v = test_random_int(&s->random, 0, s->plan->count - 1);
            if (s->dim[v] > 0)
                ((double*)s->blocks.diagonal)[s->blocks.diagonal_at[v]] =
                    k == 0 ? (double)NAN : -1e9;
        }
        const tn_result a = tni_ldl_factor(s->ldl, -1, &s->blocks, s->raise, &rule, &want);
        const tn_result b = tni_ldl_factor(ldl, -1, &s->blocks, s->raise, &rule, &got);
        CHECK_INT(b, a);
        CHECK_INT(got.bad_row, want.bad_row);
        case_free(s);
    }
}
