// lemke: Lemke's complementary pivoting method for bounds on both sides.
//
//     a = W f + b + d z,     l <= f <= u,     a_i = 0 inside, a_i >= 0 at l, a_i <= 0 at u
//
// Start: every f_i at a finite bound, d_i = 1 at lower ones, -1 at upper ones, and z >= 0 the
// smallest that makes all signs of a feasible. Some a_r is then zero and its f_r may leave its
// bound. From then on one variable enters, the basic ones follow, until one of them reaches a
// bound: it leaves the basis and its complement (f_i for a_i, a_i for f_i) enters next. If an f_i
// moves from bound to bound, a_i enters without a pivot. The path ends with z = 0, a solution, or
// on a ray.
//
// This is Lemke's method [1] for the complementarity problem
//     (W x + v + q, u - l - x)  beside  (x, v),     f = l + x,  v the part of a below zero,
// with rows of v kept implicitly. Finite: ties are broken as if b were b + (e, e^2, ...) with e
// tiny (lexicographic rule), so no basis occurs twice. The end of the path:
// - W a P-matrix, or positive definite: there is no ray but the first. On a ray (x', v', z') every
//   x'_i (W x')_i <= 0, so x' = 0; z' > 0 would make all a grow, so f stays at its start; and
//   v'_i > 0 would need f_i = u_i with a_i fixed.
// - W positive semidefinite, symmetric or not: a ray has W x' + W^T x' = 0, b x' < 0, x' >= 0,
//   which proves that there is no solution.
// - any other W: a ray proves nothing.
// Paths may be exponential in n (tests have such families), so their length is bounded.
//
// Rows and columns are scaled to |W_ii| = 1. Dictionary of n x (n + 1) numbers; n^2 a step.
// [1] R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem, 1992, ch. 4.
#include "linalg/lemke.h"

#include <math.h>

// Variables: f_i is i, a_i is n + i, z is 2 n. Row r of D: how basic[r] depends on moving[c].
struct tni_lemke {
    int      capacity, n;
    double*  D;
    double * value, *scale;   // values of basic variables by row; f_i = scale_i (scaled f_i)
    double * lower, *upper;   // scaled
    double*  sign;            // of d
    int *    basic, *moving;  // variables by row; nonbasic variables by column
    int*     place;           // by variable: row, or -1 - column
    uint8_t *at_upper, *held; // by row i, when f_i is nonbasic; lower = upper
};

tn_result tni_lemke_create(tni_arena* arena, int capacity, tni_lemke** lemke)
{
    const int  n = capacity;
    tni_lemke* s = TNI_TAKE(arena, tni_lemke, 1);
    if (s == NULL) return TN_ERR_MEMORY;
    s->capacity = n;
    s->D        = TNI_TAKE(arena, double, n*(n + 1));
    s->value    = TNI_TAKE(arena, double, n);
    s->scale    = TNI_TAKE(arena, double, n);
    s->lower    = TNI_TAKE(arena, double, n);
    s->upper    = TNI_TAKE(arena, double, n);
    s->sign     = TNI_TAKE(arena, double, n);
    s->basic    = TNI_TAKE(arena, int, n);
    s->moving   = TNI_TAKE(arena, int, n + 1);
    s->place    = TNI_TAKE(arena, int, 2 * n + 1);
    s->at_upper = TNI_TAKE(arena, uint8_t, n);
    s->held     = TNI_TAKE(arena, uint8_t, n);
    *lemke      = s;
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

static double rest(const tni_lemke* s, int i)
{
    return s->at_upper[i] ? s->upper[i] : s->lower[i];
}

static void take_scales(tni_lemke* s, const double* W, const double* lower, const double* upper)
{
    const int n = s->n;
    for (int i = 0; i < n; ++i) {
        double size = fabs(W[(n + 1) * i]), largest = 0;
        for (int j = 0; j < n; ++j) largest = fmax(largest, fabs(W[n * i + j]));
        if (!(size > 1e-12 * largest)) size = largest;
        s->scale[i]    = size > 0 ? 1 / sqrt(size) : 1;
        s->lower[i]    = lower[i] / s->scale[i];
        s->upper[i]    = upper[i] / s->scale[i];
        s->held[i]     = !(lower[i] < upper[i]);
        s->at_upper[i] = !(lower[i] > -HUGE_VAL);
        s->sign[i]     = s->held[i] ? 0 : s->at_upper[i] ? -1 : 1;
    }
}

static void set_up(tni_lemke* s, const double* W, const double* b)
{
    const int n = s->n;
    for (int i = 0; i < n; ++i) {
        double* D   = s->D + (n + 1) * i;
        double  sum = s->scale[i] * b[i];
        for (int j = 0; j < n; ++j) D[j] = s->scale[i] * W[n * i + j] * s->scale[j];
        for (int j = 0; j < n; ++j) sum += D[j] * rest(s, j);
        D[n]            = s->sign[i];
        s->value[i]     = sum;
        s->basic[i]     = n + i;
        s->moving[i]    = i;
        s->place[n + i] = i;
        s->place[i]     = -1 - i;
    }
    s->moving[n]    = 2 * n;
    s->place[2 * n] = -1 - n;
}

// Distance of basic variable r to its bound when it increases (rate > 0) or decreases.
static double room(const tni_lemke* s, int r, double rate)
{
    const int v = s->basic[r], n = s->n, i = v - n;
    if (v < n) return rate > 0 ? s->upper[v] - s->value[r] : s->value[r] - s->lower[v];
    if (v == 2 * n) return rate > 0 ? HUGE_VAL : s->value[r];
    if (s->held[i] || (rate > 0) != s->at_upper[i]) return HUGE_VAL;
    return fabs(s->value[r]);
}

// Coefficient of e^k in the value of basic variable r.
static double shift(const tni_lemke* s, int r, int k)
{
    const int at = s->place[s->n + k];
    if (at >= 0) return at == r ? s->sign[k] : 0;
    return -s->sign[k] * s->D[(s->n + 1) * r + (-1 - at)];
}

// Of two rows that block at the same step: true if q comes before r, b being b + (e, e^2, ...).
static bool comes_first(const tni_lemke* s, int q, int r, double rate_q, double rate_r)
{
    for (int k = 0; k < s->n; ++k) {
        const double difference = shift(s, q, k) / rate_q - shift(s, r, k) / rate_r;
        if (difference != 0) return difference > 0; // the distance changes by -sign(rate) shift
    }
    return false;
}

// The row that blocks variable c in direction dir; -1: none. *t <- the step length.
static int find_stop(const tni_lemke* s, int c, double dir, double* t)
{
    const int     n     = s->n;
    const double* D     = s->D + c;
    double        least = 0, rate_stop = 0;
    int           stop = -1;
    for (int r = 0; r < n; ++r) least = fmax(least, 1e-11 * fabs(D[(n + 1) * r]));
    for (int r = 0; r < n; ++r) {
        const double rate = dir * D[(n + 1) * r];
        if (!(fabs(rate) > least)) continue;
        const double far = fmax(0, room(s, r, rate)) / fabs(rate);
        if (!(far < HUGE_VAL)) continue;
        const double near = 1e-13 * *t;
        if (stop >= 0 && fabs(far - *t) <= near) {
            if (s->basic[stop] == 2 * n) continue; // z leaves: done
            if (s->basic[r] != 2 * n && !comes_first(s, r, stop, rate, rate_stop)) continue;
        } else if (!(far < *t)) {
            continue;
        }
        stop      = r;
        rate_stop = rate;
        *t        = far;
    }
    return stop;
}

static void advance(tni_lemke* s, int c, double step)
{
    for (int r = 0; r < s->n; ++r) s->value[r] += step * s->D[(s->n + 1) * r + c];
}

// Exchanges basic[r] and moving[c].
static void pivot(tni_lemke* s, int r, int c)
{
    const int n = s->n, w = n + 1, leaving = s->basic[r];
    double* restrict R = s->D + w * r;
    const double one   = 1 / R[c];
    for (int j = 0; j < w; ++j) R[j] *= -one;
    R[c] = one;
    for (int i = 0; i < n; ++i) {
        double* restrict D = s->D + w * i;
        const double x     = D[c];
        if (i == r || x == 0) continue;
        D[c] = 0;
        for (int j = 0; j < w; ++j) D[j] += x * R[j];
    }
    s->basic[r]           = s->moving[c];
    s->moving[c]          = leaving;
    s->place[s->basic[r]] = r;
    s->place[leaving]     = -1 - c;
}

// z enters. Returns the row whose sign becomes feasible last; -1: none is infeasible.
static int first_row(const tni_lemke* s)
{
    int    row   = -1;
    double worst = 0;
    for (int i = 0; i < s->n; ++i) {
        const double off = -s->sign[i] * s->value[i];
        if (!(off > 0) || off < worst) continue;
        worst = off;
        row   = i;
    }
    return row;
}

// Follows the path after the pivot of z. v enters next, in direction dir.
static bool follow(tni_lemke* s, int v, double dir, long limit, int* pivots)
{
    const int    n    = s->n;
    const double gone = 1e-14 * s->value[s->place[2 * n]]; // z below this is rounding
    for (long count = 0; count < limit; ++count) {
        if (s->value[s->place[2 * n]] <= gone) return true;
        const int    c = -1 - s->place[v], own = v < n ? v : v - n;
        const double span = v < n ? s->upper[v] - s->lower[v] : HUGE_VAL;
        double       t    = span;
        const int    r    = find_stop(s, c, dir, &t);
        ++*pivots;
        if (r < 0 && !(t < HUGE_VAL)) return false; // a ray
        advance(s, c, dir * t);
        if (r < 0) { // from bound to bound
            s->at_upper[own] = dir > 0;
            v                = n + own;
            dir              = dir > 0 ? -1 : 1;
            continue;
        }
        const int    leaving = s->basic[r], i = leaving < n ? leaving : leaving - n;
        const double rate = dir * s->D[(n + 1) * r + c];
        pivot(s, r, c);
        s->value[r] = (v < n ? rest(s, v) : 0) + dir * t;
        if (leaving == 2 * n) return true;
        if (leaving < n) s->at_upper[i] = rate > 0;
        v   = leaving < n ? n + i : i;
        dir = s->at_upper[i] ? -1 : 1;
    }
    return false;
}

bool tni_lemke_solve(tni_lemke* s, int n, const double* W, const double* b, const double* lower,
                     const double* upper, double* f, int* pivots)
{
    const long limit = 5 * n + 2000000000L / (1 + (long)n * n);
    TN_ASSERT(n <= s->capacity);
    s->n = n;
    take_scales(s, W, lower, upper);
    set_up(s, W, b);
    const int first = first_row(s);
    if (first >= 0) {
        const double z = fabs(s->value[first]);
        advance(s, n, z);
        pivot(s, first, n);
        s->value[first] = z;
        ++*pivots;
        if (!follow(s, first, s->sign[first], limit, pivots)) return false;
    }
    for (int i = 0; i < n; ++i) {
        const int at = s->place[i];
        f[i]         = at >= 0 ? s->scale[i] * s->value[at] : s->at_upper[i] ? upper[i] : lower[i];
        f[i]         = fmin(fmax(f[i], lower[i]), upper[i]);
    }
    return true;
}
