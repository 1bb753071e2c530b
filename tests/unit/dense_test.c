#include "test.h"

#include "linalg/dense.h"

enum { N_MAX = 24 };

static void random_matrix(test_random* random, int rows, int cols, double* a)
{
    for (int i = 0; i < rows * cols; ++i) a[i] = test_random_between(random, -1, 1);
}

static double residual(int n, const double* a, const double* x, const double* b)
{
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        double sum = -b[i];
        for (int k = 0; k < n; ++k) sum += a[n * i + k] * x[k];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

TEST(dense_lu_solves_any_square_system)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        test_random random = {seed};
        const int   n      = test_random_int(&random, 1, N_MAX);
        double      a[N_MAX * N_MAX], lu[N_MAX * N_MAX];
        double      b[N_MAX] = {0}, x[N_MAX];
        int         exchange[N_MAX];
        random_matrix(&random, n, n, a);
        if (n > 1) a[0] = 0; // forces an exchange
        random_matrix(&random, n, 1, b);
        memcpy(lu, a, sizeof a);
        memcpy(x, b, sizeof b);
        CHECK_OK(tni_dense_lu(n, lu, exchange));
        tni_dense_lu_solve(n, lu, exchange, x);
        CHECK_LESS(residual(n, a, x, b), 1e-10);
    }
}

TEST(dense_lu_refuses_a_singular_matrix_and_nan)
{
    int    exchange[2];
    double singular[4] = {1, 2, 2, 4}, bad[4] = {1, (double)NAN, 2, 3};
    CHECK_INT(tni_dense_lu(2, singular, exchange), TN_ERR_SINGULAR);
    CHECK_INT(tni_dense_lu(2, bad, exchange), TN_ERR_SINGULAR);
}

TEST(dense_ldl_solves_positive_definite_systems_and_refuses_others)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        test_random random = {seed};
        const int   n      = test_random_int(&random, 1, N_MAX);
        double      r[N_MAX * N_MAX], a[N_MAX * N_MAX], f[N_MAX * N_MAX];
        double      b[N_MAX] = {0}, x[N_MAX];
        random_matrix(&random, n, n, r);
        random_matrix(&random, n, 1, b);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                a[n * i + j] = i == j;
                for (int k = 0; k < n; ++k) a[n * i + j] += r[n * i + k] * r[n * j + k];
            }
        }
        memcpy(f, a, sizeof a);
        memcpy(x, b, sizeof b);
        CHECK_OK(tni_dense_ldl(n, f));
        tni_dense_ldl_solve(n, f, x);
        CHECK_LESS(residual(n, a, x, b), 1e-11);
        a[(n + 1) * (n - 1)] = -1;
        CHECK_INT(tni_dense_ldl(n, a), TN_ERR_SINGULAR);
    }
}

TEST(dense_rank_finds_dependent_rows)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random random = {seed};
        const int cols = test_random_int(&random, 4, 20), rank = test_random_int(&random, 1, cols);
        const int rows = rank + test_random_int(&random, 0, 6);
        double    base[20 * 20], a[26 * 20], kept[26 * 20];
        uint8_t   dependent[26];
        random_matrix(&random, rank, cols, base);
        memset(a, 0, sizeof a);
        for (int i = 0; i < rows; ++i) { // rows of very different lengths, shuffled dependence
            const double size = i % 3 == 0 ? 1e6 : 1e-12;
            for (int k = 0; k < rank; ++k) {
                const double share = i < rank ? i == k : test_random_between(&random, -1, 1);
                for (int c = 0; c < cols; ++c) a[cols * i + c] += size * share * base[cols * k + c];
            }
        }
        memcpy(kept, a, sizeof a);
        CHECK_INT(tni_dense_rank(rows, cols, a, 1e-9, dependent), rank);
        int left = 0;
        for (int i = 0; i < rows; ++i) {
            if (dependent[i]) continue;
            memmove(kept + cols * left++, kept + cols * i, sizeof(double) * (size_t)cols);
        }
        CHECK_INT(left, rank);
        CHECK_INT(tni_dense_rank(left, cols, kept, 1e-9, NULL), rank);
    }
}

TEST(dense_rank_of_zero_rows_is_zero)
{
    double  a[6] = {0};
    uint8_t dependent[2];
    CHECK_INT(tni_dense_rank(2, 3, a, 1e-9, dependent), 0);
    CHECK(dependent[0] && dependent[1]);
}
