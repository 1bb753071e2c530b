// Equal rows besides one-sided rows, boxes and cones: against enumeration, by the conditions, and
// rank by construction.
#include "linalg/mixed_complementarity.h"

#include "linalg/dense.h"
#include "test.h"

#include <stdlib.h>

enum { CAP = 64, SMALL = 7 };

typedef struct problem {
    tni_complementarity p;
    double              W[CAP * CAP], b[CAP], lower[CAP], upper[CAP], mu[CAP], f[CAP], a[CAP];
    uint8_t             condition[CAP], dependent[CAP];
    tni_mixed_report    report;
} problem;

static problem* problem_make(int n)
{
    problem* q = calloc(1, sizeof *q);
    q->p       = (tni_complementarity){.n         = n,
                                       .symmetric = true,
                                       .W         = q->W,
                                       .b         = q->b,
                                       .condition = q->condition,
                                       .lower     = q->lower,
                                       .upper     = q->upper,
                                       .mu        = q->mu,
                                       .f         = q->f,
                                       .a         = q->a};
    return q; // all equal rows
}

static bool solve(problem* q)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_mixed*    mixed = NULL;
    CHECK_OK(tni_mixed_create(&arena, q->p.n, &mixed));
    const bool solved = tni_mixed_solve(mixed, &q->p, &q->report);
    for (int i = 0; i < q->p.n; ++i) q->dependent[i] = tni_mixed_dependent(mixed, i);
    tni_arena_free(&arena);
    return solved;
}

static double row_value(const problem* q, int i, const double* f)
{
    double sum = q->b[i];
    for (int j = 0; j < q->p.n; ++j) sum += q->W[q->p.n * i + j] * f[j];
    return sum;
}

static double row_violation(const problem* q, int i, const double* f)
{
    const double a = row_value(q, i, f), w = fabs(q->W[(q->p.n + 1) * i]);
    if (q->condition[i] == TNI_EQUAL) return fabs(a);
    if (q->condition[i] == TNI_ONE_SIDED) return fabs(fmin(a, w * f[i]));
    if (!(f[i] >= q->lower[i] && f[i] <= q->upper[i])) return HUGE_VAL;
    return a > 0 ? fmin(a, w * (f[i] - q->lower[i])) : fmin(-a, w * (q->upper[i] - f[i]));
}

// No cones.
static double violation(const problem* q, const double* f)
{
    double worst = 0;
    for (int i = 0; i < q->p.n; ++i) worst = fmax(worst, row_violation(q, i, f));
    return worst;
}

// Rounding of the terms of a.
static double rounding_of(const problem* q)
{
    double size = 0;
    for (int i = 0; i < q->p.n; ++i) {
        double sum = fabs(q->b[i]);
        for (int j = 0; j < q->p.n; ++j) sum += fabs(q->W[q->p.n * i + j] * q->f[j]);
        size = fmax(size, sum);
    }
    return 1e-13 * size + 1e-300;
}

// ---- Enumeration --------------------------------------------------------------------------------

// state[i]: 0 at lower, 1 at upper, 2 with a = 0 (equal rows too), 3 left out with f = 0.
static bool try_states(const problem* q, const int* state, double* f)
{
    const int n = q->p.n;
    int       in[SMALL], exchange[SMALL], m = 0;
    double    A[SMALL * SMALL], x[SMALL];
    for (int i = 0; i < n; ++i) {
        const bool one = q->condition[i] == TNI_ONE_SIDED, equal = q->condition[i] == TNI_EQUAL;
        if ((equal && state[i] < 2) || (!equal && state[i] == 3) || (one && state[i] == 1))
            return false;
        f[i] = one || equal ? 0 : state[i] == 0 ? q->lower[i] : state[i] == 1 ? q->upper[i] : 0;
        if (state[i] == 2) in[m++] = i;
    }
    for (int k = 0; k < m; ++k) {
        x[k] = -row_value(q, in[k], f);
        for (int l = 0; l < m; ++l) A[m * k + l] = q->W[n * in[k] + in[l]];
    }
    if (tni_dense_lu(m, A, exchange) != TN_OK) return false;
    for (int k = 0; k < m; ++k) {
        if (fabs(A[(m + 1) * k]) < 1e-9) return false;
    }
    tni_dense_lu_solve(m, A, exchange, x);
    for (int k = 0; k < m; ++k) f[in[k]] = x[k];
    for (int k = 0; k < m; ++k) {
        if (q->condition[in[k]] == TNI_ONE_SIDED && f[in[k]] < -1e-9) return false;
    }
    return violation(q, f) < 1e-8;
}

static bool enumerate(const problem* q, double* f)
{
    for (int code = 0; code < 1 << (2 * q->p.n); ++code) {
        int state[SMALL];
        for (int i = 0; i < q->p.n; ++i) state[i] = (code >> (2 * i)) & 3;
        if (try_states(q, state, f)) return true;
    }
    return false;
}

// ---- Families -----------------------------------------------------------------------------------

// W = R R^T, R n x rank; W_ij = 0 where rank is 0.
static problem* random_problem(test_random* r, int n, int rank)
{
    problem* q = problem_make(n);
    double   R[CAP * CAP];
    for (int i = 0; i < n * rank; ++i) R[i] = test_random_between(r, -1, 1);
    for (int i = 0; i < n; ++i) {
        q->b[i] = test_random_between(r, -1, 1);
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < rank; ++k) q->W[n * i + j] += R[rank * i + k] * R[rank * j + k];
        }
    }
    return q;
}

static void random_conditions(test_random* r, problem* q)
{
    for (int i = 0; i < q->p.n; ++i) {
        q->condition[i] = (uint8_t)test_random_int(r, TNI_EQUAL, TNI_BOX);
        q->lower[i]     = test_random_between(r, -1, 0);
        q->upper[i]     = q->lower[i] + test_random_between(r, 0, 1);
    }
}

// b from an f that meets the conditions with it.
static void make_solvable(test_random* r, problem* q)
{
    double f[CAP], a[CAP];
    for (int i = 0; i < q->p.n; ++i) {
        f[i] = test_random_between(r, -1, 1);
        a[i] = 0;
        if (q->condition[i] == TNI_ONE_SIDED && f[i] < 0) {
            a[i] = -f[i];
            f[i] = 0;
        }
        if (q->condition[i] != TNI_BOX) continue;
        const double inside = fmin(fmax(f[i], q->lower[i]), q->upper[i]);
        a[i]                = inside - f[i];
        f[i]                = inside;
    }
    for (int i = 0; i < q->p.n; ++i) q->b[i] = 0;
    for (int i = 0; i < q->p.n; ++i) q->b[i] = a[i] - row_value(q, i, f);
}

TEST(mixed_rows_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        test_random r = {seed};
        const int   n = 1 + (int)seed % 5;
        problem*    q = random_problem(&r, n, seed % 2 ? n + 1 : 1 + n / 2);
        double      f[SMALL];
        random_conditions(&r, q);
        if (seed % 4 == 0) make_solvable(&r, q);
        const bool exists = enumerate(q, f), solved = solve(q);
        CHECK_INT(solved, exists);
        if (solved && exists) {
            CHECK_LESS(violation(q, q->f), rounding_of(q));
            for (int i = 0; i < n; ++i) CHECK_NEAR(q->a[i], row_value(q, i, f), 1e-8);
        }
        free(q);
    }
}

TEST(large_mixed_rows_of_any_rank)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        test_random r = {seed};
        const int   n = 3 + (int)seed % 40;
        problem*    q = random_problem(&r, n, test_random_int(&r, 1, n + 3));
        random_conditions(&r, q);
        make_solvable(&r, q);
        if (seed % 3 == 0) { // skew part: still semidefinite
            q->p.symmetric = false;
            for (int i = 0; i < n; ++i) {
                q->W[(n + 1) * i] += 0.1;
                for (int j = 0; j < i; ++j) {
                    const double skew = test_random_between(&r, -1, 1);
                    q->W[n * i + j] += skew;
                    q->W[n * j + i] -= skew;
                }
            }
            make_solvable(&r, q);
        }
        CHECK(solve(q));
        CHECK_LESS(violation(q, q->f), rounding_of(q));
        CHECK_LESS(q->report.residual, rounding_of(q));
        // Again, from the answer.
        CHECK(solve(q));
        CHECK(q->report.pivot_count <= 1);
        free(q);
    }
}

TEST(dependent_equal_rows_are_counted_and_named)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random r = {seed};
        const int   n = 2 + (int)seed % 12, rank = test_random_int(&r, 1, n);
        problem*    q     = random_problem(&r, n, rank);
        int         named = 0;
        make_solvable(&r, q);
        CHECK(solve(q));
        CHECK_LESS(violation(q, q->f), rounding_of(q));
        CHECK_INT(q->report.dependent_count, n - rank);
        for (int i = 0; i < n; ++i) {
            named += q->dependent[i];
            if (q->dependent[i]) CHECK(q->f[i] == 0);
        }
        CHECK_INT(named, n - rank);
        free(q);
    }
}

// A contradiction: refused; the residual is in a dependent row, of its known size.
TEST(contradicting_equal_rows_are_reported)
{
    problem*     q    = problem_make(4);
    const double W[4] = {5, 1, 1, 2}, b[4] = {-5, 1, 1.25, 4};
    for (int i = 0; i < 4; ++i) {
        q->W[5 * i] = W[i];
        q->b[i]     = b[i];
    }
    q->W[6] = q->W[9] = 1; // rows 1 and 2 are the same
    q->condition[0]   = TNI_ONE_SIDED;
    CHECK(!solve(q));
    CHECK_INT(q->report.dependent_count, 1);
    CHECK_INT(q->dependent[1] + q->dependent[2], 1);
    CHECK(q->dependent[q->report.residual_row]);
    CHECK_NEAR(q->report.residual, 0.25, 1e-15);
    CHECK_NEAR(q->f[0], 1, 1e-15); // the rest is as it should be
    CHECK_NEAR(q->f[3], -2, 1e-15);
    free(q);
}

// A one-sided row that is determined by equal rows: no f of it changes anything. Its a is given by
// them: here 0, then 1, then -1 (no solution).
TEST(a_one_sided_row_that_equal_rows_determine)
{
    test_random r = {3};
    for (int shift = -1; shift <= 1; ++shift) {
        double   J[3][4], x[4];
        problem* q = problem_make(3);
        for (int k = 0; k < 4; ++k) {
            J[0][k] = test_random_between(&r, -1, 1);
            J[1][k] = test_random_between(&r, -1, 1);
            J[2][k] = J[0][k] / 3 + J[1][k] * 0.7;
            x[k]    = test_random_between(&r, -1, 1);
        }
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                for (int k = 0; k < 4; ++k) q->W[3 * i + j] += J[i][k] * J[j][k];
            }
            for (int k = 0; k < 4; ++k) q->b[i] += J[i][k] * x[k];
        }
        q->b[2] += shift;
        q->condition[2] = TNI_ONE_SIDED;
        CHECK_INT(solve(q), shift >= 0);
        CHECK_NEAR(q->a[2], shift, 1e-13);
        for (int i = 0; i < 3; ++i) CHECK(fabs(q->f[i]) < 100);
        free(q);
    }
}

// An equal row is a box without bounds.
TEST(a_box_without_bounds_is_an_equal_row)
{
    test_random r = {9};
    problem *   q = random_problem(&r, 6, 6), *box = problem_make(6);
    for (int i = 0; i < 6; ++i) {
        q->condition[i]   = i % 2 ? TNI_EQUAL : TNI_ONE_SIDED;
        box->condition[i] = i % 2 ? TNI_BOX : TNI_ONE_SIDED;
        box->lower[i]     = -HUGE_VAL;
        box->upper[i]     = HUGE_VAL;
    }
    memcpy(box->W, q->W, sizeof q->W);
    memcpy(box->b, q->b, sizeof q->b);
    CHECK(solve(q));
    CHECK(solve(box));
    CHECK(memcmp(q->f, box->f, sizeof q->f) == 0);
    free(q);
    free(box);
}

TEST(none_and_what_is_not_a_number)
{
    problem* none = problem_make(0);
    CHECK(solve(none));
    CHECK_INT(none->report.residual_row, -1);
    CHECK(none->report.residual == 0);
    free(none);
    for (int where = 0; where < 6; ++where) {
        test_random r = {4};
        problem*    q = random_problem(&r, 5, 5);
        for (int i = 0; i < 5; ++i) q->condition[i] = i < 2 ? TNI_EQUAL : TNI_ONE_SIDED;
        if (where == 0) q->b[0] = (double)NAN;
        if (where == 1) q->b[4] = (double)NAN;
        if (where == 2) q->W[0] = (double)NAN;
        if (where == 3) q->W[1] = q->W[5] = (double)NAN;
        if (where == 4) q->W[24] = (double)NAN;
        if (where == 5) q->b[0] = HUGE_VAL;
        CHECK(!solve(q));
        CHECK(q->report.residual > 0);
        free(q);
    }
}

// A cone whose load is carried by an equal row: the row's share must not reach the cone, and the
// tangent row slides with a_t against f_t.
TEST(cones_beside_equal_rows)
{
    for (int slide = 0; slide < 2; ++slide) {
        // Coordinates x, y, z of unit weight; rows: y equal, then the cone (z; x).
        problem* q      = problem_make(3);
        q->condition[0] = TNI_EQUAL;
        q->condition[1] = TNI_NORMAL;
        q->condition[2] = TNI_TANGENT;
        for (int i = 0; i < 3; ++i) q->W[4 * i] = 1;
        q->W[1] = q->W[3] = 0.5; // the normal leans on the equal row
        q->mu[1]          = 0.5;
        q->b[0]           = -1;
        q->b[1]           = -2;
        q->b[2]           = slide ? 3 : 0.25;
        CHECK(solve(q));
        // By hand: f_0 = 1 - f_1 / 2, a_1 = 0.75 f_1 - 1.5 = 0, f_1 = 2, f_0 = 0.
        CHECK_NEAR(q->f[0], 0, 1e-10);
        CHECK_NEAR(q->f[1], 2, 1e-10);
        CHECK_NEAR(q->f[2], slide ? -1 : -0.25, 1e-10);
        CHECK_NEAR(q->a[2], slide ? 2 : 0, 1e-10);
        CHECK_LESS(q->report.residual, 1e-9);
        free(q);
    }
}

// ---- The residual -------------------------------------------------------------------------------

static double residual_weighing(double weight, tni_condition condition, double a, double f)
{
    const double        W[1] = {weight}, b[1] = {0}, lower[1] = {-1}, upper[1] = {3};
    const uint8_t       c   = (uint8_t)condition;
    int                 row = -5;
    tni_complementarity p   = {
          .n = 1, .W = W, .b = b, .condition = &c, .lower = lower, .upper = upper};
    p.a                   = &a;
    p.f                   = &f;
    const double residual = tni_complementarity_residual(&p, &row);
    CHECK_INT(row, 0);
    return residual;
}

static double residual_of(tni_condition condition, double a, double f)
{
    return residual_weighing(2, condition, a, f);
}

TEST(residuals_without_weight)
{
    CHECK(residual_weighing(0, TNI_ONE_SIDED, 4, 0) == 0);
    CHECK(residual_weighing(0, TNI_ONE_SIDED, -4, 0) == 4);
    CHECK(residual_weighing(0, TNI_ONE_SIDED, 4, 1) == 4);
    CHECK(residual_weighing(0, TNI_BOX, 4, -1) == 0);
    CHECK(residual_weighing(0, TNI_BOX, -4, -1) == 4);
    CHECK(residual_weighing(0, TNI_BOX, 4, 3) == 4);
    CHECK(residual_weighing(0, TNI_BOX, -4, 3) == 0);
    CHECK(residual_weighing(0, TNI_BOX, -4, 0) == 4);
}

TEST(residuals_by_hand)
{
    CHECK(residual_of(TNI_EQUAL, -3, 7) == 3);
    CHECK(residual_of(TNI_ONE_SIDED, 5, 0) == 0);
    CHECK(residual_of(TNI_ONE_SIDED, 0, 5) == 0);
    CHECK(residual_of(TNI_ONE_SIDED, -5, 0) == 5);
    CHECK(residual_of(TNI_ONE_SIDED, 5, 1) == 2);
    CHECK(residual_of(TNI_ONE_SIDED, 5, -1) == 2);
    CHECK(residual_of(TNI_NORMAL, -5, 0) == 5);
    CHECK(residual_of(TNI_BOX, 4, -1) == 0);
    CHECK(residual_of(TNI_BOX, -4, 3) == 0);
    CHECK(residual_of(TNI_BOX, -4, -1) == 4);
    CHECK(residual_of(TNI_BOX, 4, 0) == 2);
    CHECK(residual_of(TNI_BOX, 0, 4) == 2);
    CHECK(residual_of(TNI_BOX, 0, 1) == 0);
    CHECK(residual_of(TNI_ONE_SIDED, (double)NAN, 1) == HUGE_VAL);
    CHECK(residual_of(TNI_ONE_SIDED, 1, (double)NAN) == HUGE_VAL);
}

TEST(residuals_of_a_cone_by_hand)
{
    const double        W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 2}, b[3] = {0}, mu[3] = {0.5};
    const uint8_t       c[3] = {TNI_NORMAL, TNI_TANGENT, TNI_TANGENT};
    double              a[3], f[3];
    int                 row;
    tni_complementarity p = {.n = 3, .W = W, .b = b, .condition = c, .mu = mu, .f = f, .a = a};
    // a, f, residual, row. The trace is 4.
    const double cases[][8] = {
        {0, 0, 0, 10, 3, 4, 0, 0},   // sticks at the edge
        {0, -6, -8, 10, 3, 4, 0, 0}, // slides against f
        {0, 6, 8, 10, 3, 4, 10, 2},  // slides along f: brought back inside by a
        {1, 2, 3, 0, 0, 0, 0, 0},    // apart
        {-1, 0, 0, 0, 0, 0, 1, 0},   // closes
        {0, 0, 0, 10, 6, 8, 20, 2},  // beyond the edge: 4 (10 - 5)
    };
    for (int k = 0; k < 6; ++k) {
        for (int i = 0; i < 3; ++i) {
            a[i] = cases[k][i];
            f[i] = cases[k][3 + i];
        }
        CHECK_NEAR(tni_complementarity_residual(&p, &row), cases[k][6], 1e-14);
        if (cases[k][6] > 0) CHECK_INT(row, (int)cases[k][7]);
    }
}

// Spin and roll have discs and weights of their own: W_ss = 2, W_rr = 4 + 4, against 1 + 1 + 1.
TEST(residuals_of_spin_and_roll_by_hand)
{
    const uint8_t kinds[6] = {TNI_NORMAL, TNI_TANGENT, TNI_TANGENT, TNI_SPIN, TNI_ROLL, TNI_ROLL};
    const double  diagonal[6] = {1, 1, 1, 2, 4, 4};
    problem*      q           = problem_make(6);
    int           row;
    for (int i = 0; i < 6; ++i) {
        q->condition[i] = kinds[i];
        q->W[7 * i]     = diagonal[i];
    }
    q->mu[0] = 0.5, q->mu[3] = 0.1, q->mu[4] = 0.2, q->mu[5] = 1e9; // the last one is not used
    q->f[0] = 10;
    CHECK_NEAR(tni_complementarity_residual(&q->p, &row), 0, 0);
    q->f[3] = 1, q->a[3] = -7; // at its bound, turning the other way
    CHECK_NEAR(tni_complementarity_residual(&q->p, &row), 0, 1e-15);
    q->f[3] = 1.5; // beyond it: to 1, times W_ss
    CHECK_NEAR(tni_complementarity_residual(&q->p, &row), 1, 1e-14);
    CHECK_INT(row, 3);
    q->f[3] = 0, q->a[3] = 0;
    q->f[4] = 1.2, q->f[5] = 1.6, q->a[4] = -3, q->a[5] = -4; // at 2 = 0.2 * 10
    CHECK_NEAR(tni_complementarity_residual(&q->p, &row), 0, 1e-14);
    q->a[4] = 3, q->a[5] = 4; // it would push on: 2 * 8 - 5 is within 2 * 8, so a counts
    CHECK_NEAR(tni_complementarity_residual(&q->p, &row), 5, 1e-14);
    CHECK_INT(row, 5);
    free(q);
}
