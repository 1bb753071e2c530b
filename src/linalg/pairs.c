// pairs: how far (a, f) is from meeting its conditions.
//
// Every condition says that f is in a convex set K and -a in its normal cone there, which holds
// just where the projection leaves f in place:
//
//     w f = proj_wK (w f - a),     w > 0 any weight, here W_ii, so that the difference has a's unit
//
// An interval [l, u]:  w f - proj(w f - a) = min(w (f - l), max(w (f - u), a)), without the
// cancellation of the left side. A friction cone: its normal row is the interval [0, infinity), its
// tangent rows are held to the disc of radius mu max(w f_n - a_n, 0) [1], w being the trace of its
// block, so that turned tangents give the same residual.
// [1] P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton
// like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
#include "linalg/pairs.h"

#include <math.h>

void tni_pairs_apply(const tni_pairs* p)
{
    for (int i = 0; i < p->n; ++i) {
        const double* W   = p->W + p->n * i;
        double        sum = p->b[i];
        for (int j = 0; j < p->n; ++j) sum += W[j] * p->f[j];
        p->a[i] = sum;
    }
}

static double square(double x)
{
    return x * x;
}

static double diagonal(const tni_pairs* p, int i)
{
    return fabs(p->W[(p->n + 1) * i]);
}

// An infinite bound is no bound, and without weight every way to a bound is too far.
static double interval_residual(double w, double a, double f, double lower, double upper)
{
    const bool   no_upper = !(upper < HUGE_VAL) || (w == 0 && f < upper);
    const bool   no_lower = !(lower > -HUGE_VAL) || (w == 0 && f > lower);
    const double above    = no_upper ? -HUGE_VAL : w * (f - upper);
    const double below    = no_lower ? HUGE_VAL : w * (f - lower);
    const double inner    = a > above ? a : above;
    return inner < below ? fabs(inner) : fabs(below);
}

// Rows i .. i + count - 1 are a normal and its tangents. *row <- the one that is furthest off.
static double cone_residual(const tni_pairs* p, int i, int count, int* row)
{
    const double *a = p->a + i, *f = p->f + i;
    double        trace = 0, length = 0, off[3] = {0}, size = 0;
    int           worst = 0;
    for (int k = 0; k < count; ++k) trace += diagonal(p, i + k);
    for (int k = 1; k < count; ++k) length += square(trace * f[k] - a[k]);
    length              = sqrt(length);
    const double radius = p->mu[i] * fmax(0, trace * f[0] - a[0]);
    const double share  = length > radius ? radius / length : 1;
    off[0]              = interval_residual(trace, a[0], f[0], 0, HUGE_VAL);
    for (int k = 1; k < count; ++k) {
        off[k] = share < 1 ? trace * f[k] - share * (trace * f[k] - a[k]) : a[k];
    }
    for (int k = 0; k < count; ++k) {
        if (!(fabs(off[k]) <= fabs(off[worst]))) worst = k;
        size += square(off[k]);
    }
    *row = i + worst;
    return sqrt(size);
}

static double row_residual(const tni_pairs* p, int i)
{
    switch (p->condition[i]) {
    case TNI_EQUAL: return fabs(p->a[i]);
    case TNI_BOX:
        return interval_residual(diagonal(p, i), p->a[i], p->f[i], p->lower[i], p->upper[i]);
    default: return interval_residual(diagonal(p, i), p->a[i], p->f[i], 0, HUGE_VAL);
    }
}

double tni_pairs_residual(const tni_pairs* p, int* row)
{
    double worst = -1;
    *row         = -1;
    for (int i = 0, count = 1; i < p->n; i += count, count = 1) {
        int at = i;
        if (p->condition[i] == TNI_NORMAL) {
            while (count < 3 && i + count < p->n && p->condition[i + count] == TNI_TANGENT) ++count;
        }
        double off = count > 1 ? cone_residual(p, i, count, &at) : row_residual(p, i);
        if (!(off <= HUGE_VAL) || isnan(p->f[i])) off = HUGE_VAL;
        if (!(off > worst)) continue;
        worst = off;
        *row  = at;
    }
    return worst > 0 ? worst : 0;
}

double tni_pairs_scale(const tni_pairs* p)
{
    double scale = 0;
    for (int i = 0; i < p->n; ++i) {
        scale = fmax(scale, fabs(p->b[i]));
        if (p->condition[i] != TNI_BOX) continue;
        if (p->f[i] > p->lower[i] && p->f[i] < p->upper[i]) continue;
        scale = fmax(scale, diagonal(p, i) * fabs(p->f[i]));
    }
    return scale;
}
