// complementarity: how far (a, f) is from meeting its conditions: the natural residual.
//
// Every condition says that f is in a convex set K and -a in the normal cone of K at f. This holds
// if and only if f is a fixed point of
//
//     w f = proj_wK (w f - a),     w > 0 any weight, here W_ii, so that the difference has a's unit
//
// An interval [l, u]:  w f - proj(w f - a) = min(w (f - l), max(w (f - u), a)), without the
// cancellation of the left side. A friction cone: its normal row is the interval [0, infinity), its
// tangent rows are limited to the disc of radius mu max(w f_n - a_n, 0) [1], w being the trace of
// its block, so that the residual does not depend on the choice of tangents. Spin and roll
// (torsional and rolling friction) likewise, each with its own w and the radius in its own units.
// [1] P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton
// like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
#include "linalg/complementarity.h"

#include "linalg/cone_point.h"

#include <math.h>

void tni_complementarity_apply(const tni_complementarity* p)
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

static double diagonal(const tni_complementarity* p, int i)
{
    return fabs(p->W[(p->n + 1) * i]);
}

// An infinite bound is absent. With weight 0 a bound that is not reached is infinitely far.
static double interval_residual(double w, double a, double f, double lower, double upper)
{
    const bool   no_upper = !(upper < HUGE_VAL) || (w == 0 && f < upper);
    const bool   no_lower = !(lower > -HUGE_VAL) || (w == 0 && f > lower);
    const double above    = no_upper ? -HUGE_VAL : w * (f - upper);
    const double below    = no_lower ? HUGE_VAL : w * (f - lower);
    const double inner    = a > above ? a : above;
    return inner < below ? fabs(inner) : fabs(below);
}

// Residual of the cone point at rows i ... *row: the row with the largest part of it.
static double point_residual(const tni_complementarity* p, int i, const tni_cone_point* g, int* row)
{
    const double *a = p->a + i, *f = p->f + i;
    double        trace = 0, off[TNI_CONE_POINT_ROWS] = {0}, size = 0;
    int           worst = 0;
    for (int k = 0; k <= g->tangents; ++k) trace += diagonal(p, i + k);
    off[0]              = interval_residual(trace, a[0], f[0], 0, HUGE_VAL);
    const double normal = fmax(0, trace * f[0] - a[0]);
    for (int d = 0; d < g->disc_count; ++d) {
        const int first = g->disc[d].first, end = first + g->disc[d].count;
        double    length = 0, weight = 0;
        for (int k = first; k < end; ++k) weight += diagonal(p, i + k);
        if (first <= g->tangents) weight = trace;
        for (int k = first; k < end; ++k) length += square(weight * f[k] - a[k]);
        length              = sqrt(length);
        const double radius = g->disc[d].mu * (first <= g->tangents ? normal
                                               : trace > 0          ? normal / trace * weight
                                                                    : f[0] * weight);
        const double share  = length > radius ? radius / length : 1;
        for (int k = first; k < end; ++k)
            off[k] = share < 1 ? weight * f[k] - share * (weight * f[k] - a[k]) : a[k];
    }
    for (int k = 0; k < g->size; ++k) {
        if (!(fabs(off[k]) <= fabs(off[worst]))) worst = k;
        size += square(off[k]);
    }
    *row = i + worst;
    return sqrt(size);
}

static double row_residual(const tni_complementarity* p, int i)
{
    switch (p->condition[i]) {
    case TNI_EQUAL: return fabs(p->a[i]);
    case TNI_BOX:
        return interval_residual(diagonal(p, i), p->a[i], p->f[i], p->lower[i], p->upper[i]);
    default: return interval_residual(diagonal(p, i), p->a[i], p->f[i], 0, HUGE_VAL);
    }
}

double tni_complementarity_residual(const tni_complementarity* p, int* row)
{
    double worst = -1;
    *row         = -1;
    for (int i = 0, count = 1; i < p->n; i += count) {
        const tni_cone_point g =
            tni_cone_point_find(p->n, i, p->condition, p->lower, p->upper, p->mu);
        int at     = i;
        count      = g.size;
        double off = count > 1 ? point_residual(p, i, &g, &at) : row_residual(p, i);
        if (!(off <= HUGE_VAL) || isnan(p->f[i])) off = HUGE_VAL;
        if (!(off > worst)) continue;
        worst = off;
        *row  = at;
    }
    return worst > 0 ? worst : 0;
}

double tni_complementarity_scale(const tni_complementarity* p)
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
