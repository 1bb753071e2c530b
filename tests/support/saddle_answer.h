// Right-hand sides for a saddle_case, and what the answer should be: dense elimination.
#ifndef SADDLE_ANSWER_H
#define SADDLE_ANSWER_H

#include "support/saddle_case.h"

/// The answer of the dense system with all rows, or, where `independent` is set, without the rows
/// that follow from others. Returns x by plan rows, mu of dropped rows zero.
static inline double* saddle_dense_answer(saddle_case* s, const double* rhs, bool independent)
{
    int        rows, cols;
    const int* at = saddle_dense_rows(s, &cols);
    double *   J = saddle_dense_j(s, &rows, &cols), *copy = TNI_TAKE(&s->arena, double, rows* cols);
    const int  all     = rows + cols;
    uint8_t*   dropped = TNI_TAKE(&s->arena, uint8_t, rows);
    double *   K       = TNI_TAKE(&s->arena, double, (size_t)all*(size_t)all),
           *y          = TNI_TAKE(&s->arena, double, all);
    int* exchange      = TNI_TAKE(&s->arena, int, all);
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
        for (int j = 0; !dropped[i] && j < cols; ++j)
            K[all * (cols + i) + j] = K[all * j + cols + i] = J[cols * i + j];
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

/// Largest difference on rows of a sign (0: all), relative to the largest value.
static inline double saddle_difference(const saddle_case* s, int sign, const double* x,
                                       const double* y)
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

static inline double* saddle_random_rhs(saddle_case* s)
{
    double* x = TNI_TAKE(&s->arena, double, s->plan->row_count);
    for (int i = 0; i < s->plan->row_count; ++i) x[i] = test_random_between(&s->random, -1, 1);
    return x;
}

/// As above, but with B rows that some u fulfils; A rows in proportion to the weights.
static inline double* saddle_consistent_rhs(saddle_case* s)
{
    double *x = saddle_random_rhs(s), *u = saddle_random_rhs(s);
    for (int v = 0; v < s->graph.count; ++v) {
        for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i)
            x[i] *= s->weight[v];
    }
    tni_saddle_mul_j(s->saddle, -1, u, x);
    return x;
}

static inline double* saddle_solve_in(saddle_case* s, tni_saddle* saddle, const double* rhs,
                                      bool refine)
{
    double* x = TNI_TAKE(&s->arena, double, s->plan->row_count);
    CHECK_OK(tni_saddle_solve(saddle, rhs, x, refine));
    return x;
}

static inline double* saddle_solve(saddle_case* s, const double* rhs, bool refine)
{
    return saddle_solve_in(s, s->saddle, rhs, refine);
}

#endif
