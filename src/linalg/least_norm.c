// least_norm: the solution of least norm. Where W is singular the solution f is not unique: a table
// on four legs can be carried in many ways, and a solver returns the one its pivots lead to, which
// may jump from one problem to the next. The least-norm solution is unique and continuous.
//
// Rows F with a = 0 (up to the solver's tolerance) whose f is strictly inside its bounds may
// change. With y the value of W_FF f_F that makes a zero, given the other rows, and D the diagonal
// of W,
//     min g^T D g  with  W_FF g = y:      g <- g + (W_FF + e D)^-1 (y - W_FF g)   from g = 0
// All iterates lie in D^-1 times the range of W_FF, so the limit is the least-norm solution; a
// component with eigenvalue s of W_FF (relative to D) converges by a factor e / (s + e) an
// iteration. If the residual after ROUNDS is not rounding, f is left unchanged. If bounds prevent
// g, f moves from its feasible value towards g as far as they allow.
//
// Contacts at their friction bound and equal rows do not change. Cost: |F|^3 / 3 + O(|F|^2).
#include "linalg/least_norm.h"

#include "linalg/cone_point.h"
#include "linalg/dense.h"

#include <math.h>

static const double SMALL = 1e-6;  // e; rounding in the null space grows by its inverse
static const double ZERO  = 1e-9;  // relative to the magnitudes summed: accuracy of a solver's a
static const double EQUAL = 1e-12; // relative to the magnitudes summed: rounding

enum { ROUNDS = 10 };

tn_result tni_least_norm_create(tni_arena* arena, int capacity, tni_least_norm* least)
{
    const size_t n = (size_t)capacity;
    *least         = (tni_least_norm){.capacity = capacity,
                                      .free     = TNI_TAKE(arena, int, n),
                                      .A        = TNI_TAKE(arena, double, n* n),
                                      .y        = TNI_TAKE(arena, double, n),
                                      .g        = TNI_TAKE(arena, double, n),
                                      .r        = TNI_TAKE(arena, double, n),
                                      .a        = TNI_TAKE(arena, double, n),
                                      .exchange = TNI_TAKE(arena, int, n)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

static tni_cone_point point_at(const tni_complementarity* p, int i)
{
    return tni_cone_point_find(p->n, i, p->condition, p->lower, p->upper, p->mu);
}

static bool is_zero(const tni_complementarity* p, int i)
{
    double size = fabs(p->b[i]);
    for (int j = 0; j < p->n; ++j) size += fabs(p->W[p->n * i + j] * p->f[j]);
    return fabs(p->a[i]) <= ZERO * size;
}

static int find_free(const tni_least_norm* least, const tni_complementarity* p)
{
    int count = 0;
    for (int i = 0, size = 1; i < p->n; i += size) {
        bool inside = p->condition[i] != TNI_EQUAL;
        size        = point_at(p, i).size;
        for (int k = 0; k < size; ++k)
            inside = inside && p->W[(p->n + 1) * (i + k)] > 0 && is_zero(p, i + k);
        if (p->condition[i] == TNI_BOX)
            inside = inside && p->f[i] > p->lower[i] && p->f[i] < p->upper[i];
        for (int k = 0; inside && k < size; ++k) least->free[count++] = i + k;
    }
    return count;
}

// r <- y - W_FF g. Returns its largest entry relative to the magnitudes summed.
static double leave(const tni_least_norm* least, const tni_complementarity* p, int n)
{
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        const double* W   = p->W + p->n * least->free[i];
        double        sum = 0, size = fabs(least->y[i]);
        for (int j = 0; j < n; ++j) {
            const double term = W[least->free[j]] * least->g[j];
            sum += term;
            size += fabs(term);
        }
        least->r[i] = least->y[i] - sum;
        if (size > 0) worst = fmax(worst, fabs(least->r[i]) / size);
    }
    return worst;
}

static bool factor(const tni_least_norm* least, const tni_complementarity* p, int n)
{
    for (int i = 0; i < n; ++i) {
        const double* W = p->W + p->n * least->free[i];
        for (int j = 0; j < n; ++j) least->A[n * i + j] = W[least->free[j]];
        least->A[(n + 1) * i] *= 1 + SMALL;
    }
    return p->symmetric ? tni_dense_ldl(n, least->A) == TN_OK
                        : tni_dense_lu(n, least->A, least->exchange) == TN_OK;
}

// How far f may move towards g within a disc of the contact; f and g from its normal row on.
static double way_in_disc(const tni_disc* disc, const double* row_f, const double* row_g,
                          double most)
{
    const double mu = disc->mu, fn = row_f[0], dn = row_g[0] - fn;
    double       a = -mu * mu * dn * dn, b = -2 * mu * mu * fn * dn, c = -mu * mu * fn * fn;
    for (int k = disc->first; k < disc->first + disc->count; ++k) {
        const double f = row_f[k], d = row_g[k] - f;
        a += d * d;
        b += 2 * f * d;
        c += f * f;
    }
    if (fn + most * dn < 0) most = fn / -dn;
    c = fmin(c, 0);                                       // feasible up to rounding
    if (c == 0 && (b > 0 || (b == 0 && a > 0))) return 0; // second case: from the apex
    if ((a * most + b) * most + c <= 0) return most;
    // The first positive root of a t^2 + b t + c: c <= 0, the value at `most` is > 0.
    const double q   = -0.5 * (b + copysign(sqrt(fmax(0, b * b - 4 * a * c)), b));
    const double one = a != 0 ? q / a : most, two = q != 0 ? c / q : most;
    double       t = most;
    if (one > 0) t = fmin(t, one);
    if (two > 0) t = fmin(t, two);
    return (1 - 1e-12) * t;
}

static double way(const tni_least_norm* least, const tni_complementarity* p, int n)
{
    double t = 1;
    for (int i = 0; i < n; ++i) {
        const int            row = least->free[i];
        const double         f = p->f[row], g = least->g[i];
        const tni_cone_point point = point_at(p, row);
        switch (p->condition[row]) {
        case TNI_ONE_SIDED:
            if (g < 0) t = fmin(t, f / (f - g));
            break;
        case TNI_BOX:
            if (g < p->lower[row]) t = fmin(t, (f - p->lower[row]) / (f - g));
            if (g > p->upper[row]) t = fmin(t, (p->upper[row] - f) / (g - f));
            break;
        case TNI_NORMAL:
            if (g < 0) t = fmin(t, f / (f - g));
            for (int d = 0; d < point.disc_count; ++d)
                t = fmin(t, way_in_disc(&point.disc[d], p->f + row, least->g + i, t));
            break;
        default: break;
        }
    }
    return t > 0 ? t : 0; // NaN too
}

// True if a_i is unchanged, or closer to zero.
static bool is_same(const tni_least_norm* least, const tni_complementarity* p, int i)
{
    double size = fabs(p->b[i]);
    for (int j = 0; j < p->n; ++j) size += fabs(p->W[p->n * i + j] * p->f[j]);
    return fabs(p->a[i] - least->a[i]) <= EQUAL * size || fabs(p->a[i]) <= fabs(least->a[i]);
}

void tni_least_norm_answer(tni_least_norm* least, const tni_complementarity* p)
{
    TN_ASSERT(p->n <= least->capacity);
    // If W is not symmetric, null vectors of W_FF may still act on equal rows.
    for (int i = 0; i < p->n && !p->symmetric; ++i) {
        if (p->condition[i] == TNI_EQUAL) return;
    }
    const int n = find_free(least, p);
    if (n < 2 || !factor(least, p, n)) return;
    for (int i = 0; i < n; ++i) { // so that a becomes zero exactly
        const double* W = p->W + p->n * least->free[i];
        least->y[i]     = -p->a[least->free[i]];
        least->g[i]     = 0;
        for (int j = 0; j < n; ++j) least->y[i] += W[least->free[j]] * p->f[least->free[j]];
    }
    double left = leave(least, p, n);
    for (int round = 0; round < ROUNDS && left > 0.1 * EQUAL; ++round) {
        if (p->symmetric) tni_dense_ldl_solve(n, least->A, least->r);
        else tni_dense_lu_solve(n, least->A, least->exchange, least->r);
        for (int i = 0; i < n; ++i) least->g[i] += least->r[i];
        left = leave(least, p, n);
    }
    if (!(left <= EQUAL)) return;
    const double t = way(least, p, n);
    for (int i = 0; i < n; ++i) {
        double* f   = &p->f[least->free[i]];
        least->r[i] = *f;
        *f += t * (least->g[i] - *f);
    }
    memcpy(least->a, p->a, sizeof *p->a * (size_t)p->n);
    tni_complementarity_apply(p);
    bool same = true;
    for (int i = 0; i < p->n; ++i) same = same && is_same(least, p, i);
    for (int i = 0; !same && i < n; ++i) p->f[least->free[i]] = least->r[i];
    if (!same) tni_complementarity_apply(p);
}
