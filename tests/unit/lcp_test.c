// One-sided rows and boxes: against enumeration of all active sets, against closed forms, and by
// the conditions themselves.
#include "linalg/lcp.h"

#include "linalg/dense.h"
#include "linalg/lemke.h"
#include "test.h"

#include <stdlib.h>

enum { CAP = 200, SMALL = 8 };

typedef struct problem {
    tni_complementarity p;
    double              W[CAP * CAP], b[CAP], lower[CAP], upper[CAP], f[CAP], a[CAP];
    uint8_t             condition[CAP];
    int                 pivots;
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
                                       .f         = q->f,
                                       .a         = q->a};
    for (int i = 0; i < n; ++i) {
        q->condition[i] = TNI_ONE_SIDED;
        q->upper[i]     = HUGE_VAL;
    }
    return q;
}

static bool solve(problem* q)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_lcp*      lcp   = NULL;
    CHECK_OK(tni_lcp_create(&arena, q->p.n, &lcp));
    const bool solved = tni_lcp_solve(lcp, &q->p, &q->pivots);
    tni_arena_free(&arena);
    return solved;
}

static bool solve_by_lemke(problem* q)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_lemke*    lemke = NULL;
    q->pivots           = 0;
    CHECK_OK(tni_lemke_create(&arena, q->p.n, &lemke));
    const bool solved =
        tni_lemke_solve(lemke, q->p.n, q->W, q->b, q->lower, q->upper, q->f, &q->pivots);
    tni_arena_free(&arena);
    return solved;
}

static double row_value(const problem* q, int i, const double* f)
{
    double sum = q->b[i];
    for (int j = 0; j < q->p.n; ++j) sum += q->W[q->p.n * i + j] * f[j];
    return sum;
}

// By how much f fails its conditions, in units of a; f itself must be within bounds.
static double violation(const problem* q, const double* f)
{
    double worst = 0;
    for (int i = 0; i < q->p.n; ++i) {
        const double a = row_value(q, i, f), w = q->W[(q->p.n + 1) * i];
        if (!(f[i] >= q->lower[i] && f[i] <= q->upper[i])) return HUGE_VAL;
        const double up   = q->upper[i] < HUGE_VAL ? w * (q->upper[i] - f[i]) : HUGE_VAL;
        const double down = q->lower[i] > -HUGE_VAL ? w * (f[i] - q->lower[i]) : HUGE_VAL;
        worst             = fmax(worst, a > 0 ? fmin(a, down) : fmin(-a, up));
    }
    return worst;
}

static double scale_of(const problem* q)
{
    double scale = 0;
    for (int i = 0; i < q->p.n; ++i) {
        scale = fmax(scale, fabs(q->b[i]));
        if (q->condition[i] == TNI_BOX) scale = fmax(scale, fabs(q->W[(q->p.n + 1) * i] * q->f[i]));
    }
    return scale;
}

// The library promises 1e-10 of the scale. What remains here is the rounding of one fresh solve:
// relative to the scale, and to the sums in a where f is large.
static double rounding_of(const problem* q)
{
    double size = 0;
    for (int i = 0; i < q->p.n; ++i) {
        double sum = 0;
        for (int j = 0; j < q->p.n; ++j) sum += fabs(q->W[q->p.n * i + j] * q->f[j]);
        size = fmax(size, sum);
    }
    return 1e-12 * scale_of(q) + 1e-14 * size + 1e-300;
}

static void check_solved(problem* q)
{
    CHECK(solve(q));
    CHECK_LESS(violation(q, q->f), rounding_of(q));
    for (int i = 0; i < q->p.n; ++i) CHECK_NEAR(q->a[i], row_value(q, i, q->f), rounding_of(q));
}

// ---- Enumeration --------------------------------------------------------------------------------

// state[i]: 0 at lower, 1 at upper, 2 inside. False when W_AA is singular or a condition fails.
static bool try_states(const problem* q, const int* state, double* f)
{
    const int n = q->p.n;
    int       in[SMALL], exchange[SMALL], m = 0;
    double    A[SMALL * SMALL], x[SMALL];
    for (int i = 0; i < n; ++i) {
        f[i] = state[i] == 0 ? q->lower[i] : state[i] == 1 ? q->upper[i] : 0;
        if (fabs(f[i]) >= HUGE_VAL) return false;
        if (state[i] == 2) in[m++] = i;
    }
    for (int k = 0; k < m; ++k) {
        x[k] = -row_value(q, in[k], f);
        for (int l = 0; l < m; ++l) A[m * k + l] = q->W[n * in[k] + in[l]];
    }
    if (tni_dense_lu(m, A, exchange) != TN_OK) return false;
    for (int k = 0; k < m; ++k) { // nearly singular: f is inaccurate, and another set will do
        if (fabs(A[(m + 1) * k]) < 1e-9) return false;
    }
    tni_dense_lu_solve(m, A, exchange, x);
    for (int k = 0; k < m; ++k) f[in[k]] = x[k];
    for (int i = 0; i < n; ++i) {
        const double slack = 1e-9 * (1 + fabs(f[i]));
        if (!(f[i] >= q->lower[i] - slack && f[i] <= q->upper[i] + slack)) return false;
        f[i] = fmin(fmax(f[i], q->lower[i]), q->upper[i]);
    }
    return violation(q, f) < 1e-8 * (1 + scale_of(q));
}

static bool enumerate(const problem* q, double* f)
{
    int total = 1;
    for (int i = 0; i < q->p.n; ++i) total *= 3;
    for (int code = 0; code < total; ++code) {
        int state[SMALL];
        for (int i = 0, c = code; i < q->p.n; ++i, c /= 3) state[i] = c % 3;
        if (try_states(q, state, f)) return true;
    }
    return false;
}

// a is unique for every semidefinite W; f where W is definite.
static void check_against_enumeration(problem* q, bool unique_f, double tolerance)
{
    double     f[SMALL];
    const bool exists = enumerate(q, f);
    const bool solved = solve(q);
    CHECK_INT(solved, exists);
    if (q->p.symmetric) CHECK(q->pivots <= 6 * q->p.n); // Lemke's method was not needed
    if (!solved || !exists) return;
    CHECK_LESS(violation(q, q->f), rounding_of(q));
    for (int i = 0; i < q->p.n; ++i) {
        CHECK_NEAR(q->a[i], row_value(q, i, f), tolerance);
        if (unique_f) CHECK_NEAR(q->f[i], f[i], tolerance);
    }
}

// ---- Families -----------------------------------------------------------------------------------

static void random_numbers(test_random* r, int count, double* x)
{
    for (int i = 0; i < count; ++i) x[i] = test_random_between(r, -1, 1);
}

// W = R R^T + shift I, R n x rank.
static problem* random_semidefinite(test_random* r, int n, int rank, double shift)
{
    problem* q = problem_make(n);
    double*  R = calloc((size_t)(n * rank + 1), sizeof *R);
    random_numbers(r, n * rank, R);
    random_numbers(r, n, q->b);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < rank; ++k) q->W[n * i + j] += R[rank * i + k] * R[rank * j + k];
            if (i == j) q->W[n * i + j] += shift;
        }
    }
    free(R);
    return q;
}

// b = -W x with x >= 0 and some slack: there is a solution, whatever the rank.
static void make_feasible(test_random* r, problem* q)
{
    const int n = q->p.n;
    double    x[CAP];
    for (int i = 0; i < n; ++i) x[i] = fmax(0, test_random_between(r, -1, 1));
    for (int i = 0; i < n; ++i) {
        q->b[i] = x[i] > 0 ? 0 : fmax(0, test_random_between(r, -1, 1));
        for (int j = 0; j < n; ++j) q->b[i] -= q->W[n * i + j] * x[j];
    }
}

// Boxes of all kinds: two bounds, one, none of width.
static void make_boxes(test_random* r, problem* q)
{
    for (int i = 0; i < q->p.n; ++i) {
        const int kind = test_random_int(r, 0, 5);
        if (kind == 0) continue; // one-sided
        q->condition[i] = TNI_BOX;
        q->lower[i]     = kind == 1 ? -HUGE_VAL : test_random_between(r, -1, 0.5);
        q->upper[i]     = kind == 1   ? test_random_between(r, -1, 1)
                          : kind == 2 ? HUGE_VAL
                          : kind == 3 ? q->lower[i]
                                      : q->lower[i] + test_random_between(r, 0, 2);
    }
}

// Skew part and scaling on both sides: a P-matrix, neither symmetric nor definite.
static void make_p_matrix(test_random* r, problem* q, double spread)
{
    const int n    = q->p.n;
    q->p.symmetric = false;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            const double skew = test_random_between(r, -2, 2);
            q->W[n * i + j] += skew;
            q->W[n * j + i] -= skew;
        }
    }
    for (int i = 0; i < n; ++i) {
        const double row = pow(spread, test_random_between(r, -1, 1));
        const double col = pow(spread, test_random_between(r, -1, 1));
        for (int j = 0; j < n; ++j) {
            q->W[n * i + j] *= row;
            q->W[n * j + i] *= col;
        }
    }
}

TEST(definite_problems_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 1 + (int)seed % 7;
        problem*    q = random_semidefinite(&r, n, n, 0.1);
        random_numbers(&r, n, q->f);
        check_against_enumeration(q, true, 1e-9);
        free(q);
    }
}

TEST(semidefinite_problems_agree_with_enumeration_solvable_or_not)
{
    int solvable = 0, count = 300;
    for (int seed = 1; seed <= count; ++seed) {
        test_random r = {(uint64_t)seed};
        const int   n = 2 + seed % 6;
        problem*    q = random_semidefinite(&r, n, test_random_int(&r, 1, n - 1), 0);
        if (seed % 2) make_feasible(&r, q);
        check_against_enumeration(q, false, 1e-8);
        double f[SMALL];
        solvable += enumerate(q, f);
        free(q);
    }
    CHECK(solvable > count / 2 && solvable < count); // both kinds were seen
}

// Equal rows, zeros in b, b = 0: ties everywhere.
TEST(degenerate_problems_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 3 + (int)seed % 5;
        problem*    q = random_semidefinite(&r, n, 3, 0);
        make_feasible(&r, q);
        for (int i = 0; i < n; ++i) { // row 1 is row 0 again
            q->W[n * 1 + i] = q->W[i];
        }
        for (int i = 0; i < n; ++i) q->W[n * i + 1] = q->W[n * i];
        q->b[1] = q->b[0];
        for (int i = 0; i < n; ++i) {
            if (seed % 3 == 0) q->b[i] = (double)test_random_int(&r, 0, 1);
            if (seed % 7 == 0) q->b[i] = 0;
        }
        check_against_enumeration(q, false, 1e-8);
        free(q);
    }
}

TEST(boxes_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 1 + (int)seed % 6;
        problem*    q = random_semidefinite(&r, n, n, 0.1);
        make_boxes(&r, q);
        random_numbers(&r, n, q->f);
        check_against_enumeration(q, true, 1e-9);
        free(q);
    }
}

TEST(boxes_on_a_singular_matrix_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 2 + (int)seed % 5;
        problem*    q = random_semidefinite(&r, n, 1 + n / 3, 0);
        make_boxes(&r, q);
        check_against_enumeration(q, false, 1e-8);
        free(q);
    }
}

TEST(p_matrices_agree_with_enumeration)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 1 + (int)seed % 6;
        problem*    q = random_semidefinite(&r, n, n, 0.1);
        make_p_matrix(&r, q, 3);
        if (seed % 2) make_boxes(&r, q);
        random_numbers(&r, n, q->f);
        check_against_enumeration(q, true, 1e-8);
        free(q);
    }
}

TEST(skew_semidefinite_problems_are_solved)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 2 + (int)seed % 5;
        problem*    q = random_semidefinite(&r, n, 1, 0);
        make_p_matrix(&r, q, 1);
        make_feasible(&r, q);
        CHECK(solve(q)); // neither a nor f need be unique
        CHECK_LESS(violation(q, q->f), 1e-10 * scale_of(q) + 1e-300);
        free(q);
    }
}

// ---- Known to be hard ---------------------------------------------------------------------------

// Murty 1978: 1 on the diagonal, 2 below it (or above), b = -1. Closed form: f = (1, 0, ..., 0).
static problem* murty(int n, bool below)
{
    problem* q = problem_make(n);
    for (int i = 0; i < n; ++i) {
        q->b[i] = -1;
        for (int j = 0; j < n; ++j) q->W[n * i + j] = i == j ? 1 : (j < i) == below ? 2 : 0;
    }
    q->p.symmetric = false;
    return q;
}

// Fathi 1979: L L^T of it, f = (1, 0, ..., 0) again; from the last row up when it is U U^T.
static problem* fathi(int n, bool below)
{
    problem *q = problem_make(n), *m = murty(n, below);
    for (int i = 0; i < n; ++i) {
        q->b[i] = -1;
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < n; ++k) q->W[n * i + j] += m->W[n * i + k] * m->W[n * j + k];
        }
    }
    free(m);
    return q;
}

static void check_one(problem* q, int one)
{
    check_solved(q);
    for (int i = 0; i < q->p.n; ++i) CHECK_NEAR(q->f[i], i == one, 1e-12);
    free(q);
}

TEST(exponential_families_end_at_their_closed_form)
{
    for (int n = 1; n <= 12; ++n) {
        check_one(murty(n, true), 0);
        check_one(murty(n, false), n - 1);
        check_one(fathi(n, true), 0);
        check_one(fathi(n, false), n - 1);
    }
}

// Block pivoting cycles here: 1 on the diagonal, 2 beside it, n odd; b = -1, f = 1/3. The
// lexicographic rule decides between rows that are all alike.
TEST(cycling_families_end_at_their_closed_form)
{
    for (int n = 3; n <= 25; n += 2) {
        problem* q = problem_make(n);
        for (int i = 0; i < n; ++i) {
            q->b[i]                   = -1;
            q->W[(n + 1) * i]         = 1;
            q->W[n * i + (i + 1) % n] = 2;
        }
        q->p.symmetric = false;
        check_solved(q);
        for (int i = 0; i < n; ++i) CHECK_NEAR(q->f[i], 1.0 / 3, 1e-13);
        free(q);
    }
}

// ---- No solution, bad numbers, small sizes ------------------------------------------------------

static problem* problem_of(int n, const double* W, const double* b)
{
    problem* q = problem_make(n);
    memcpy(q->W, W, sizeof *W * (size_t)(n * n));
    memcpy(q->b, b, sizeof *b * (size_t)n);
    return q;
}

TEST(problems_without_a_solution_are_refused)
{
    const double minus[1] = {-1}, zero[1] = {0}, b[2] = {-1, -2}, squeeze[4] = {1, -1, -1, 1};
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        problem* cases[] = {problem_of(1, minus, b), problem_of(1, zero, b),
                            problem_of(2, squeeze, b)};
        for (int k = 0; k < 3; ++k) {
            cases[k]->p.symmetric = symmetric;
            CHECK(!solve(cases[k]));
            for (int i = 0; i < cases[k]->p.n; ++i)
                CHECK(cases[k]->f[i] >= 0 && cases[k]->f[i] < 9);
            free(cases[k]);
        }
    }
}

TEST(nan_is_refused)
{
    for (int where = 0; where < 4; ++where) {
        test_random r = {7};
        problem*    q = random_semidefinite(&r, 5, 5, 0.1);
        make_boxes(&r, q);
        if (where == 0) q->b[3] = (double)NAN;
        if (where == 1) q->W[7] = (double)NAN;
        if (where == 2) q->b[0] = HUGE_VAL;
        if (where == 3) q->condition[2] = TNI_BOX, q->upper[2] = (double)NAN;
        CHECK(!solve(q));
        free(q);
        q       = random_semidefinite(&r, 5, 5, 0.1);
        q->f[2] = (double)NAN; // a guess may be anything
        q->f[3] = HUGE_VAL;
        check_solved(q);
        free(q);
    }
}

TEST(none_and_one_row)
{
    const double W[1] = {2}, up[1] = {3}, down[1] = {-3};
    problem*     none = problem_make(0);
    problem *    rest = problem_of(1, W, up), *push = problem_of(1, W, down);
    CHECK(solve(none));
    check_solved(rest);
    check_solved(push);
    CHECK(rest->f[0] == 0 && rest->a[0] == 3);
    CHECK(push->f[0] == 1.5 && push->a[0] == 0);
    free(none);
    free(rest);
    free(push);
}

// Two rows without weight besides three with: feasible ones stay so; infeasible ones cannot be made
// feasible, and the others still are.
TEST(rows_without_weight_do_no_harm)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        test_random r = {11};
        problem*    q = random_semidefinite(&r, 5, 5, 0.1);
        for (int i = 0; i < 5; ++i) {
            for (int j = 3; j < 5; ++j) q->W[5 * i + j] = q->W[5 * j + i] = 1e-21 * (i == j);
        }
        q->b[3] = sign;
        q->b[4] = 0;
        CHECK_INT(solve(q), sign > 0);
        for (int i = 0; i < 5; ++i) {
            if (i == 3) continue;
            CHECK(q->f[i] >= 0 && q->f[i] < 100);
            CHECK_LESS(fmin(q->a[i], q->f[i]), 1e-12);
            CHECK_LESS(-1e-12, q->a[i]);
        }
        free(q);
    }
}

// A box without weight goes to the bound that the sign of its a requires, in one move.
TEST(boxes_without_weight_go_to_the_right_bound)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        const double W[1] = {0}, b[1] = {sign};
        problem*     q  = problem_of(1, W, b);
        q->condition[0] = TNI_BOX;
        q->lower[0]     = -2;
        q->upper[0]     = 3;
        q->f[0]         = 0.5 + 2 * sign; // nearer to the other one
        check_solved(q);
        CHECK(q->f[0] == (sign < 0 ? 3 : -2));
        CHECK(q->pivots <= 2);
        free(q);
    }
}

// ---- Starts, repetition, size -------------------------------------------------------------------

TEST(starts_matter_to_the_pivots_only)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random r = {seed};
        const int   n = 5 + (int)seed % 25;
        problem*    q = random_semidefinite(&r, n, n, 0.1);
        double      cold[CAP];
        if (seed % 2) make_boxes(&r, q);
        if (seed % 3 == 0) make_p_matrix(&r, q, 2);
        check_solved(q);
        CHECK(q->pivots <= 6 * n);
        memcpy(cold, q->f, sizeof cold);
        check_solved(q);
        CHECK_INT(q->pivots, 0);
        for (int i = 0; i < n; ++i) CHECK_NEAR(q->f[i], cold[i], 1e-10);
        for (int i = 0; i < n; ++i) q->f[i] = test_random_between(&r, -1e6, 1e6);
        check_solved(q);
        for (int i = 0; i < n; ++i) CHECK_NEAR(q->f[i], cold[i], 1e-10);
        free(q);
    }
}

// Rounding in W with many redundant rows: f must not drift along the null space.
TEST(rounding_in_a_singular_matrix_does_no_harm)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        test_random r = {seed};
        const int   n = 25 + (int)seed % 15;
        problem*    q = random_semidefinite(&r, n, 5 + (int)seed % 5, 0);
        make_feasible(&r, q);
        for (int i = 0; i < n * n; ++i) q->W[i] *= 1 + test_random_between(&r, -1e-14, 1e-14);
        CHECK(solve(q));
        CHECK_LESS(violation(q, q->f), 1e-11 * scale_of(q));
        free(q);
    }
}

TEST(same_bits_again)
{
    test_random r = {5};
    problem *   q = random_semidefinite(&r, 40, 20, 0), *again = problem_make(40);
    make_feasible(&r, q);
    memcpy(again->W, q->W, sizeof q->W);
    memcpy(again->b, q->b, sizeof q->b);
    check_solved(q);
    check_solved(again);
    CHECK(memcmp(q->f, again->f, sizeof q->f) == 0);
    CHECK(memcmp(q->a, again->a, sizeof q->a) == 0);
    CHECK_INT(q->pivots, again->pivots);
    free(q);
    free(again);
}

// Rows of many units, half of them dependent; pivots stay few.
TEST(large_problems_of_uneven_rows)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        test_random r = {seed};
        const int   n = 20 * (int)seed;
        problem*    q = random_semidefinite(&r, n, n / 2, 0);
        make_feasible(&r, q);
        for (int i = 0; i < n; ++i) {
            const double unit = pow(10, test_random_between(&r, -2, 2));
            for (int j = 0; j < n; ++j) q->W[n * i + j] *= unit;
            for (int j = 0; j < n; ++j) q->W[n * j + i] *= unit;
            q->b[i] *= unit;
        }
        CHECK(solve(q));
        CHECK_LESS(violation(q, q->f), rounding_of(q));
        CHECK(q->pivots < 20 * n);
        free(q);
    }
}

// Lemke's method by itself: its solutions must be those of principal pivoting.
TEST(lemke_finds_what_driving_finds)
{
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        test_random r = {seed};
        const int   n = 1 + (int)seed % 30;
        problem*    q = random_semidefinite(&r, n, seed % 4 ? n : (n + 1) / 2, seed % 4 ? 0.1 : 0);
        double      a[CAP];
        if (seed % 4 == 0) make_feasible(&r, q);
        else if (seed % 2) make_boxes(&r, q);
        check_solved(q);
        for (int i = 0; i < n; ++i) a[i] = q->a[i];
        CHECK(solve_by_lemke(q));
        CHECK_LESS(violation(q, q->f), 1e-10 * scale_of(q) + 1e-300);
        for (int i = 0; i < n; ++i) CHECK_NEAR(row_value(q, i, q->f), a[i], 1e-9);
        free(q);
    }
}
