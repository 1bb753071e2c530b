// least_norm: where W is singular the answer is not one. Four legs carry a table in many ways, and a
// solver ends with whichever its pivots led to: it may change from one problem to the next like it
// without reason. The least answer is one, and does not jump.
//
// Rows F with a = 0, to what the solver leaves, whose f is inside its bounds may change. With y
// what makes a zero, given the other rows, and D the diagonal of W,
//     min g^T D g  with  W_FF g = y:      g <- g + (W_FF + e D)^-1 (y - W_FF g)   from g = 0
// All iterates lie in D^-1 times the range of W_FF, so the limit is the least answer; a part that
// W_FF weakens to s (relative to D) comes nearer by e / (s + e) each time. If what is left after
// ROUNDS is not rounding, f stays. The bounds may be in the way: from f, which keeps them, towards
// g, as far as they go.
//
// A contact at its friction bound stays as it is, and so do equal rows. Cost: |F|^3 / 3 and some
// |F|^2.
#include "linalg/least_norm.h"

#include "linalg/cone_point.h"
#include "linalg/dense.h"

#include <math.h>

static const double SMALL = 1e-6;  // e; rounding along what W does not see grows by its inverse
static const double ZERO  = 1e-9;  // of what is added up: as good as a solver leaves a
static const double EQUAL = 1e-12; // of what is added up: rounding

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

static tni_cone_point grip_at(const tni_complementarity* p, int i)
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
        size        = grip_at(p, i).size;
        for (int k = 0; k < size; ++k)
            inside = inside && p->W[(p->n + 1) * (i + k)] > 0 && is_zero(p, i + k);
        if (p->condition[i] == TNI_BOX)
            inside = inside && p->f[i] > p->lower[i] && p->f[i] < p->upper[i];
        for (int k = 0; inside && k < size; ++k) least->free[count++] = i + k;
    }
    return count;
}

// r <- y - W_FF g; the largest of it beside what was added up.
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

// How far f may go towards g before a disc of the grip at p->f ends; f and g are its rows'.
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
    c = fmin(c, 0);                                       // a bound is met but for rounding
    if (c == 0 && (b > 0 || (b == 0 && a > 0))) return 0; // the second: from the tip
    if ((a * most + b) * most + c <= 0) return most;
    // The root of a t^2 + b t + c that is passed first: c <= 0, the value at `most` is > 0.
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
        const tni_cone_point grip = grip_at(p, row);
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
            for (int d = 0; d < grip.disc_count; ++d)
                t = fmin(t, way_in_disc(&grip.disc[d], p->f + row, least->g + i, t));
            break;
        default: break;
        }
    }
    return t > 0 ? t : 0; // NaN too
}

// Whether a is what it was, or nearer to zero.
static bool is_same(const tni_least_norm* least, const tni_complementarity* p, int i)
{
    double size = fabs(p->b[i]);
    for (int j = 0; j < p->n; ++j) size += fabs(p->W[p->n * i + j] * p->f[j]);
    return fabs(p->a[i] - least->a[i]) <= EQUAL * size || fabs(p->a[i]) <= fabs(least->a[i]);
}

void tni_least_norm_answer(tni_least_norm* least, const tni_complementarity* p)
{
    TN_ASSERT(p->n <= least->capacity);
    // What a W that is not symmetric does not see in its rows it may see in equal ones.
    for (int i = 0; i < p->n && !p->symmetric; ++i) {
        if (p->condition[i] == TNI_EQUAL) return;
    }
    const int n = find_free(least, p);
    if (n < 2 || !factor(least, p, n)) return;
    for (int i = 0; i < n; ++i) { // what makes a zero, not nearly so
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
