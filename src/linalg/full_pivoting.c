// full_pivoting: rank-revealing LU with complete pivoting; diagonal pivoting if semidefinite.
//
//     P W Q = [ L  0 ] [ U  V ]     rank rows and columns first; the remainder is rounding
//             [ M  I ] [ 0  0 ]
//
// A basic solution is zero in the remaining columns: x = Q (U^-1 L^-1 y_1, 0). The remaining rows
// are dependent; a right-hand side that contradicts them leaves a residual there.
//
// Each step takes the entry that is largest relative to the scale of its row and column, |W_ij| /
// (r_i c_j), and stops when none is above TNI_FULL_PIVOTING_DEPENDENT. W positive semidefinite:
// only diagonal entries, r_i c_i = W_ii or a given scale. This is L D L^T with U = D L^T: the
// exchanges are symmetric, no entry grows, and the remainder of W_ii is the squared length of the
// part of row i (as a vector whose Gram matrix is W) that is orthogonal to the chosen rows.
// Otherwise: complete pivoting, r_i = max_j |W_ij| and c_j = max_i |W_ij| / r_i, which makes the
// choice independent of the units of rows and columns.
//
// The whole square is updated in both cases: rows of equal length vectorise, and one loop serves
// both. Cost 2/3 n^3. NaN is never chosen as a pivot.
#include "linalg/full_pivoting.h"

#include <math.h>

tn_result tni_full_pivoting_create(tni_arena* arena, int capacity, tni_full_pivoting* pivoted)
{
    const int n = capacity;
    *pivoted    = (tni_full_pivoting){.W         = TNI_TAKE(arena, double, n* n),
                                      .row       = TNI_TAKE(arena, int, n),
                                      .col       = TNI_TAKE(arena, int, n),
                                      .dependent = TNI_TAKE(arena, uint8_t, n),
                                      .work      = TNI_TAKE(arena, double, 2 * n)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// Sets r_i and c_j in the current order of rows and columns.
static void take_scales(const tni_full_pivoting* p, bool semidefinite, const double* scale,
                        double* r, double* c)
{
    const int n = p->n;
    for (int i = 0; i < n; ++i) {
        r[i] = semidefinite ? p->W[n * i + i] : 0;
        if (semidefinite && scale != NULL) r[i] = fmax(r[i], scale[i]);
        c[i] = semidefinite;
        for (int j = 0; !semidefinite && j < n; ++j) r[i] = fmax(r[i], fabs(p->W[n * i + j]));
    }
    for (int i = 0; !semidefinite && i < n; ++i) {
        if (!(r[i] > 0)) continue;
        for (int j = 0; j < n; ++j) c[j] = fmax(c[j], fabs(p->W[n * i + j]) / r[i]);
    }
}

// The pivot of step k; false when no entry is large enough.
static bool choose(const tni_full_pivoting* p, int k, bool semidefinite, int* row, int* col)
{
    const double *r = p->work, *c = p->work + p->n;
    double        best = TNI_FULL_PIVOTING_DEPENDENT;
    for (int i = k; i < p->n; ++i) {
        const double* W = p->W + p->n * i;
        for (int j = semidefinite ? i : k; j < (semidefinite ? i + 1 : p->n); ++j) {
            const double size = semidefinite ? W[j] : fabs(W[j]);
            if (!(size > best * (r[i] * c[j]) && r[i] * c[j] > 0)) continue;
            best = size / (r[i] * c[j]);
            *row = i;
            *col = j;
        }
    }
    return best > TNI_FULL_PIVOTING_DEPENDENT;
}

static void swap_numbers(double* x, double* y)
{
    const double old = *x;
    *x               = *y;
    *y               = old;
}

static void swap_ints(int* x, int* y)
{
    const int old = *x;
    *x            = *y;
    *y            = old;
}

static void exchange(tni_full_pivoting* p, int k, int row, int col)
{
    const int n = p->n;
    for (int s = 0; row != k && s < n; ++s) swap_numbers(&p->W[n * k + s], &p->W[n * row + s]);
    for (int s = 0; col != k && s < n; ++s) swap_numbers(&p->W[n * s + k], &p->W[n * s + col]);
    swap_ints(&p->row[k], &p->row[row]);
    swap_ints(&p->col[k], &p->col[col]);
    swap_numbers(&p->work[k], &p->work[row]);
    swap_numbers(&p->work[n + k], &p->work[n + col]);
}

static void eliminate(tni_full_pivoting* p, int k)
{
    const int n                = p->n;
    const double* restrict top = p->W + n * k;
    for (int i = k + 1; i < n; ++i) {
        double* restrict W = p->W + n * i;
        const double l     = W[k] /= top[k];
        for (int j = k + 1; j < n; ++j) W[j] -= l * top[j];
    }
}

void tni_full_pivoting_factor(tni_full_pivoting* p, int n, bool semidefinite, const double* scale)
{
    int row = 0, col = 0;
    p->n    = n;
    p->rank = 0;
    take_scales(p, semidefinite, scale, p->work, p->work + n);
    for (int i = 0; i < n; ++i) p->row[i] = p->col[i] = i;
    while (choose(p, p->rank, semidefinite, &row, &col)) {
        exchange(p, p->rank, row, col);
        eliminate(p, p->rank++);
    }
    for (int k = 0; k < n; ++k) p->dependent[p->row[k]] = k >= p->rank;
}

void tni_full_pivoting_solve(tni_full_pivoting* p, double* x)
{
    double*   y = p->work;
    const int n = p->n;
    for (int k = 0; k < p->rank; ++k) {
        const double* W = p->W + n * k;
        y[k]            = x[p->row[k]];
        for (int j = 0; j < k; ++j) y[k] -= W[j] * y[j];
    }
    for (int k = p->rank - 1; k >= 0; --k) {
        const double* W = p->W + n * k;
        for (int j = k + 1; j < p->rank; ++j) y[k] -= W[j] * y[j];
        y[k] /= W[k];
    }
    for (int k = 0; k < p->n; ++k) x[p->col[k]] = k < p->rank ? y[k] : 0;
}
