// LU with complete pivoting: solutions by their residual, ranks by Gram-Schmidt.
#include "linalg/full_pivoting.h"

#include "linalg/dense.h"
#include "test.h"

enum { N_MAX = 16 };

typedef struct matrix {
    int    n;
    double W[N_MAX * N_MAX];
} matrix;

// R S^T of the given rank, S = R when it is to be semidefinite.
static matrix random_matrix(test_random* r, int n, int rank, bool semidefinite)
{
    matrix m = {.n = n};
    double R[N_MAX * N_MAX], S[N_MAX * N_MAX];
    for (int i = 0; i < n * rank; ++i) {
        R[i] = test_random_between(r, -1, 1);
        S[i] = semidefinite ? R[i] : test_random_between(r, -1, 1);
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < rank; ++k) m.W[n * i + j] += R[rank * i + k] * S[rank * j + k];
        }
    }
    return m;
}

static void apply(const matrix* m, const double* x, double* y)
{
    for (int i = 0; i < m->n; ++i) {
        y[i] = 0;
        for (int j = 0; j < m->n; ++j) y[i] += m->W[m->n * i + j] * x[j];
    }
}

// Factors, and solves for y. Returns the rank; dependent[] by row.
static int solve(const matrix* m, bool semidefinite, const double* y, double* x, uint8_t* dependent)
{
    const tn_host     host  = tn_default_host();
    tni_arena         arena = tni_arena_make(&host);
    tni_full_pivoting p;
    CHECK_OK(tni_full_pivoting_create(&arena, m->n, &p));
    memcpy(p.W, m->W, sizeof *p.W * (size_t)(m->n * m->n));
    memcpy(x, y, sizeof *x * (size_t)m->n);
    tni_full_pivoting_factor(&p, m->n, semidefinite, NULL);
    tni_full_pivoting_solve(&p, x);
    memcpy(dependent, p.dependent, (size_t)m->n);
    tni_arena_free(&arena);
    return p.rank;
}

// The rows reported independent have the full rank, by another method.
static void check_rows(const matrix* m, int rank, const uint8_t* dependent)
{
    double kept[N_MAX * N_MAX];
    int    count = 0;
    for (int i = 0; i < m->n; ++i) {
        if (dependent[i]) continue;
        memcpy(kept + m->n * count++, m->W + m->n * i, sizeof *kept * (size_t)m->n);
    }
    CHECK_INT(count, rank);
    CHECK_INT(tni_dense_rank(count, m->n, kept, 1e-9, NULL), rank);
}

TEST(consistent_systems_of_any_rank_are_solved)
{
    for (int seed = 1; seed <= 400; ++seed) {
        test_random r            = {(uint64_t)seed};
        const bool  semidefinite = seed % 2;
        const int   n = test_random_int(&r, 1, 12), rank = test_random_int(&r, 0, n);
        matrix      m = random_matrix(&r, n, rank, semidefinite);
        double      x[N_MAX], y[N_MAX], z[N_MAX], size = 0;
        uint8_t     dependent[N_MAX];
        int         zeros = 0;
        for (int i = 0; i < n; ++i) x[i] = test_random_between(&r, -1, 1);
        apply(&m, x, y);
        CHECK_INT(solve(&m, semidefinite, y, x, dependent), rank);
        check_rows(&m, rank, dependent);
        apply(&m, x, z);
        for (int i = 0; i < n; ++i) size = fmax(size, fabs(x[i]));
        for (int i = 0; i < n; ++i) { // backward stable: rounding times the size of x
            CHECK_NEAR(z[i], y[i], 1e-13 * n * (1 + size));
            if (semidefinite && dependent[i]) CHECK(x[i] == 0);
            zeros += x[i] == 0;
        }
        CHECK(zeros >= n - rank);
    }
}

// Units of 1e-6 to 1e6 by row: the dependencies are the same.
TEST(units_change_nothing)
{
    for (int seed = 1; seed <= 100; ++seed) {
        test_random r            = {(uint64_t)seed};
        const bool  semidefinite = seed % 2;
        const int   n = test_random_int(&r, 2, 12), rank = test_random_int(&r, 1, n);
        matrix      m        = random_matrix(&r, n, rank, semidefinite);
        double      y[N_MAX] = {0}, x[N_MAX];
        uint8_t     dependent[N_MAX], scaled[N_MAX];
        CHECK_INT(solve(&m, semidefinite, y, x, dependent), rank);
        for (int i = 0; i < n; ++i) {
            const double unit = ldexp(1, test_random_int(&r, -20, 20));
            for (int j = 0; j < n; ++j) m.W[n * i + j] *= unit;
            for (int j = 0; semidefinite && j < n; ++j) m.W[n * j + i] *= unit;
        }
        CHECK_INT(solve(&m, semidefinite, y, x, scaled), rank);
        if (semidefinite) CHECK(memcmp(dependent, scaled, (size_t)n) == 0);
    }
}

TEST(dependent_rows_are_named)
{
    // Row 2 is the sum of rows 0 and 1, row 3 is zero, row 4 is independent.
    const double J[5][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 0}, {0, 0, 3}};
    matrix       m       = {.n = 5};
    const double y[5]    = {1, 2, 3, 0, 9};
    double       x[5], z[5];
    uint8_t      dependent[5];
    for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 5; ++j) {
            for (int k = 0; k < 3; ++k) m.W[5 * i + j] += J[i][k] * J[j][k];
        }
    }
    CHECK_INT(solve(&m, true, y, x, dependent), 3);
    CHECK_INT(dependent[0] + dependent[1] + dependent[2], 1);
    CHECK(dependent[3] && !dependent[4]);
    apply(&m, x, z);
    for (int i = 0; i < 5; ++i) CHECK_NEAR(z[i], y[i], 1e-14);
    // A contradiction remains in the dependent row; the others hold.
    const double contrary[5] = {1, 2, 4, 5, 9};
    solve(&m, true, contrary, x, dependent);
    apply(&m, x, z);
    for (int i = 0; i < 5; ++i) {
        if (dependent[i]) CHECK(fabs(z[i] - contrary[i]) > 0.5);
        else CHECK_NEAR(z[i], contrary[i], 1e-14);
    }
}

// No pivot on the diagonal at all.
TEST(an_exchange_matrix_needs_pivots_from_anywhere)
{
    matrix       m    = {.n = 3, .W = {0, 0, 2, 4, 0, 0, 0, 8, 0}};
    const double y[3] = {2, 8, 24};
    double       x[3];
    uint8_t      dependent[3];
    CHECK_INT(solve(&m, false, y, x, dependent), 3);
    CHECK(x[0] == 2 && x[1] == 3 && x[2] == 1);
}

TEST(nan_is_not_a_pivot)
{
    for (int semidefinite = 0; semidefinite < 2; ++semidefinite) {
        matrix       m    = {.n = 2, .W = {(double)NAN, 0, 0, 4}};
        const double y[2] = {1, 8};
        double       x[2];
        uint8_t      dependent[2];
        CHECK_INT(solve(&m, semidefinite, y, x, dependent), 1);
        CHECK(dependent[0] && !dependent[1]);
        CHECK(x[1] == 2 && x[0] == 0);
    }
}
