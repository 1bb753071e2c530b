#include "linalg/dense.h"

#include <float.h>

tn_result tni_dense_ldl(int n, double* a)
{
    for (int j = 0; j < n; ++j) {
        double d = a[n * j + j];
        for (int k = 0; k < j; ++k) d -= a[n * j + k] * a[n * j + k] * a[n * k + k];
        if (!(d > 0 && d <= DBL_MAX)) return TN_ERR_SINGULAR;
        a[n * j + j] = d;
        for (int i = j + 1; i < n; ++i) {
            double sum = a[n * i + j];
            for (int k = 0; k < j; ++k) sum -= a[n * i + k] * a[n * j + k] * a[n * k + k];
            a[n * i + j] = sum / d;
        }
    }
    return TN_OK;
}

void tni_dense_ldl_solve(int n, const double* a, double* x)
{
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= a[n * i + k] * x[k];
    }
    for (int i = 0; i < n; ++i) x[i] /= a[n * i + i];
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= a[n * k + i] * x[k];
    }
}

void tni_dense_take_pivot(int n, int p, double* a, double* row)
{
    const double root = sqrt(a[(n + 1) * p]);
    for (int j = 0; j < n; ++j) row[j] = a[n * p + j] / root;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n && row[i] != 0; ++j) a[n * i + j] -= row[i] * row[j];
    for (int j = 0; j < n; ++j) a[n * p + j] = a[n * j + p] = 0;
}

static void swap_rows(int n, double* a, int i, int j)
{
    if (i == j) return;
    for (int k = 0; k < n; ++k) {
        const double old = a[n * i + k];
        a[n * i + k]     = a[n * j + k];
        a[n * j + k]     = old;
    }
}

tn_result tni_dense_lu(int n, double* a, int* exchange)
{
    for (int j = 0; j < n; ++j) {
        int best = j;
        for (int i = j + 1; i < n; ++i) {
            if (!(fabs(a[n * best + j]) >= fabs(a[n * i + j]))) best = i;
        }
        exchange[j] = best;
        swap_rows(n, a, j, best);
        const double pivot = a[n * j + j];
        if (!(fabs(pivot) > 0 && fabs(pivot) <= DBL_MAX)) return TN_ERR_SINGULAR;
        for (int i = j + 1; i < n; ++i) {
            const double l = a[n * i + j] /= pivot;
            for (int k = j + 1; k < n; ++k) a[n * i + k] -= l * a[n * j + k];
        }
    }
    return TN_OK;
}

void tni_dense_lu_solve(int n, const double* a, const int* exchange, double* x)
{
    for (int i = 0; i < n; ++i) swap_rows(1, x, i, exchange[i]);
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= a[n * i + k] * x[k];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= a[n * i + k] * x[k];
        x[i] /= a[n * i + i];
    }
}

static double dot(int n, const double* a, const double* b)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

static void scale_row(int n, double* row, double factor)
{
    for (int k = 0; k < n; ++k) row[k] *= factor;
}

// Modified Gram-Schmidt over the rows. A chosen row is projected out of all others and zeroed, so
// that it is not chosen again.
int tni_dense_rank(int rows, int cols, double* a, double tolerance, uint8_t* dependent)
{
    const size_t stride = (size_t)cols;
    for (int i = 0; i < rows; ++i) {
        double*      row    = a + stride * (size_t)i;
        const double length = sqrt(dot(cols, row, row));
        scale_row(cols, row, length > 0 ? 1 / length : 0);
        if (dependent != NULL) dependent[i] = 1;
    }
    for (int rank = 0;; ++rank) {
        int    best   = -1;
        double length = tolerance;
        for (int i = 0; i < rows; ++i) {
            const double left = sqrt(dot(cols, a + stride * (size_t)i, a + stride * (size_t)i));
            if (left > length) {
                length = left;
                best   = i;
            }
        }
        if (best < 0) return rank;
        double* chosen = a + stride * (size_t)best;
        scale_row(cols, chosen, 1 / length);
        for (int i = 0; i < rows; ++i) {
            double* row = a + stride * (size_t)i;
            if (i == best) continue;
            const double share = dot(cols, row, chosen);
            for (int k = 0; k < cols; ++k) row[k] -= share * chosen[k];
        }
        scale_row(cols, chosen, 0);
        if (dependent != NULL) dependent[best] = 0;
    }
}
