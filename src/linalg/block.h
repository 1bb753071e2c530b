// block: small dense kernels of ldl.c, row-major, dimensions as arguments.
//
// Written once for any size and inlined; ldl.c calls them with constants for the common sizes,
// where the compiler unrolls them, and with variables for the rest. The order of operations on each
// entry is the same in both, so the bits agree. SIMD runs along rows, over independent entries: no
// sum is split.
//
// D is n x n and holds the factor of a node: below the diagonal the unit lower triangle L, on the
// diagonal the reciprocal pivots; entries above it are stale and never read.
#ifndef TNI_BLOCK_H
#define TNI_BLOCK_H

#include "linalg/order.h"

/// One step of D = L d L^T: column j, with its reciprocal pivot `inverse`.
TNI_INLINE void tni_block_column(int n, int j, double inverse, double* restrict D)
{
    double column[TNI_DIM_MAX];
    for (int i = j + 1; i < n; ++i) column[i] = D[n * i + j];
    for (int i = j + 1; i < n; ++i) {
        const double l = column[i] * inverse;
        for (int k = j + 1; k <= i; ++k) D[n * i + k] -= l * column[k];
        D[n * i + j] = l;
    }
    D[n * j + j] = inverse;
}

/// X <- L^-1 X, X being n x m.
TNI_INLINE void tni_block_lower(int n, int m, const double* restrict D, double* restrict X)
{
    for (int i = 1; i < n; ++i) {
        double row[TNI_DIM_MAX]; // stays in registers
        for (int c = 0; c < m; ++c) row[c] = X[m * i + c];
        for (int k = 0; k < i; ++k) {
            const double l = D[n * i + k];
            for (int c = 0; c < m; ++c) row[c] -= l * X[m * k + c];
        }
        for (int c = 0; c < m; ++c) X[m * i + c] = row[c];
    }
}

/// X <- L^-T X, X being n x m.
TNI_INLINE void tni_block_upper(int n, int m, const double* restrict D, double* restrict X)
{
    for (int i = n - 2; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) {
            const double l = D[n * k + i];
            for (int c = 0; c < m; ++c) X[m * i + c] -= l * X[m * k + c];
        }
    }
}

/// P <- P - Xk^T d^-1 Xl, Xk being n x mk and Xl n x ml. The whole square even when k = l, although
/// only its lower half is read later: equal trip counts vectorise.
TNI_INLINE void tni_block_update(int n, int mk, int ml, const double* restrict D, const double* Xk,
                                 const double* Xl, double* restrict P)
{
    for (int a = 0; a < mk; ++a) {
        double row[TNI_DIM_MAX]; // stays in registers
        for (int b = 0; b < ml; ++b) row[b] = P[ml * a + b];
        for (int r = 0; r < n; ++r) {
            const double y = Xk[mk * r + a] * D[(n + 1) * r];
            for (int b = 0; b < ml; ++b) row[b] -= y * Xl[ml * r + b];
        }
        for (int b = 0; b < ml; ++b) P[ml * a + b] = row[b];
    }
}

/// z <- z - X^T d^-1 w, X being n x m; `count` right-hand sides.
TNI_INLINE void tni_block_push(int n, int m, int count, const double* restrict D,
                               const double* restrict X, const double* restrict w,
                               double* restrict z)
{
    for (int r = 0; r < n; ++r) {
        const double inverse = D[(n + 1) * r];
        for (int a = 0; a < m; ++a) {
            for (int c = 0; c < count; ++c) {
                z[count * a + c] -= X[m * r + a] * (inverse * w[count * r + c]);
            }
        }
    }
}

/// w <- w - X z.
TNI_INLINE void tni_block_pull(int n, int m, int count, const double* restrict X,
                               const double* restrict z, double* restrict w)
{
    for (int a = 0; a < m; ++a) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < count; ++c) w[count * r + c] -= X[m * r + a] * z[count * a + c];
        }
    }
}

/// w <- d^-1 w.
TNI_INLINE void tni_block_scale(int n, int count, const double* restrict D, double* restrict w)
{
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < count; ++c) w[count * r + c] *= D[(n + 1) * r];
    }
}

/// out <- out + J x and out <- out + J^T y, J being n x m.
TNI_INLINE void tni_block_mul(int n, int m, const double* restrict J, const double* restrict x,
                              double* restrict out)
{
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; ++r) out[r] += J[m * r + c] * x[c];
    }
}
TNI_INLINE void tni_block_mul_t(int n, int m, const double* restrict J, const double* restrict y,
                                double* restrict out)
{
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < m; ++c) out[c] += J[m * r + c] * y[r];
    }
}

#endif
