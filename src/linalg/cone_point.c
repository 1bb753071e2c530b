// cone_point: solves one contact, the others fixed. Let B be its block of W, and q its a at f = 0.
//
//     a_n >= 0, f_n >= 0, a_n f_n = 0
//     per disc:  |f_d| <= mu_d f_n,   a_d = -s f_d, s >= 0, s = 0 inside
//
// With y = f - rho a these conditions are F(f) = f - P(y) = 0 [1]:
//
//     P_n = max(y_n, 0)      P_d = y_d, shortened to mu_d P_n where it is longer
//
// (box rows: y clamped to the bounds; equal rows: P = y.) rho may be any positive number for each
// disc: one over the trace of its block, which does not depend on the choice of tangents. Slip,
// spin and roll have different units, hence each its own rho.
//
// q_n >= 0: f = 0. Otherwise the f that makes a = 0, if it is within its discs (sticking).
// Otherwise, with tangents alone, the contact slides: f_t = mu f_n d, |d| = 1, with a_n = 0 and a_t
// = -s d, that is
//
//     f_n = -q_n / (B_nn + mu B_nt d)
//     (A + s' I) d = -c,   A = mu (q_t B_nt - q_n B_tt),   c = B_nn q_t - q_n B_tn,
//
// s' being s times a positive number. |d| = 1 is a quartic in s' whose coefficients do not depend
// on the choice of tangents; its roots lie between those of its derivatives.
//
// With spin and roll: alternate between normal and tangents as above and each other disc by itself,
// r = mu f_n fixed, (B_d + s I) f_d = -q_d with s >= 0 such that |f_d| <= r; then Newton on F. In a
// rolling ball slip and roll are strongly coupled, and the alternation alone converges slowly.
// [1] P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton
// like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
#include "linalg/cone_point.h"

#include "linalg/dense.h"

#include <float.h>
#include <math.h>

static const double NEGLIGIBLE = 1e-14; // relative to a trace: rounding
enum { ROWS = TNI_CONE_POINT_ROWS, ROUNDS = 6, NEWTON_STEPS = 10, HALVINGS = 6 };

// ---- The conditions -----------------------------------------------------------------------------

static int count_rows(int n, int i, const uint8_t* condition, tni_condition kind, int most)
{
    int count = 0;
    while (count < most && i + count < n && condition[i + count] == kind) ++count;
    return count;
}

tni_cone_point tni_cone_point_find(int n, int i, const uint8_t* condition, const double* lower,
                                   const double* upper, const double* mu)
{
    static const tni_condition kinds[TNI_CONE_POINT_DISCS] = {TNI_TANGENT, TNI_SPIN, TNI_ROLL};
    static const int           most[TNI_CONE_POINT_DISCS]  = {2, 1, 2};
    tni_cone_point g = {.first = i, .size = 1, .condition = condition[i], .upper = HUGE_VAL};
    if (g.condition == TNI_BOX) {
        g.lower = lower[i];
        g.upper = upper[i];
    }
    for (int k = 0; g.condition == TNI_NORMAL && k < TNI_CONE_POINT_DISCS; ++k) {
        const int count = count_rows(n, i + g.size, condition, kinds[k], most[k]);
        if (count == 0) continue;
        const double own       = mu[kinds[k] == TNI_TANGENT ? i : i + g.size];
        g.disc[g.disc_count++] = (tni_disc){g.size, count, own};
        if (kinds[k] == TNI_TANGENT) g.tangents = count;
        g.size += count;
    }
    return g;
}

static void weigh_rows(tni_cone_point* g, int first, int end, const double* diagonal,
                       double largest)
{
    double trace = 0;
    for (int k = first; k < end; ++k) trace += diagonal[k];
    if (!(trace > NEGLIGIBLE * largest)) trace = largest > 0 ? largest : 1;
    for (int k = first; k < end; ++k) g->rho[k] = 1 / trace;
}

void tni_cone_point_weigh(tni_cone_point* g, const double* diagonal, double largest)
{
    const bool equal = g->condition == TNI_EQUAL;
    weigh_rows(g, 0, equal ? g->size : 1 + g->tangents, diagonal, largest);
    for (int k = 0; k < g->disc_count; ++k) {
        const tni_disc* d = &g->disc[k];
        if (d->first > g->tangents) weigh_rows(g, d->first, d->first + d->count, diagonal, largest);
    }
}

static double clamp(double x, double lower, double upper)
{
    return x < lower ? lower : x > upper ? upper : x;
}

// max(x, 0), smoothed with width e; *d: its derivative.
static double positive_part(double x, double e, double* d)
{
    const double root = e > 0 ? sqrt(x * x + 4 * e * e) : fabs(x);
    *d                = root > 0 ? 0.5 * (1 + x / root) : 0;
    return x > 0 ? 0.5 * (x + root) : e > 0 ? 2 * e * e / (root - x) : 0;
}

static void project_box(double y, double l, double u, double e, double* P, double* C)
{
    double at_l, at_u;
    *P = clamp(y, l, u);
    *C = y > l && y < u;
    if (e == 0 || !(l > -HUGE_VAL && u < HUGE_VAL)) return;
    *P = l + positive_part(y - l, e, &at_l) - positive_part(y - u, e, &at_u);
    *C = at_l - at_u;
}

// P_d = (r / m) y_d,  r = mu P_n,  m = max(r, |y_d|), smoothed with width e.
static void project_disc(const tni_disc* d, const double* y, double e, double* P, double C[][ROWS])
{
    const int first = d->first, end = d->first + d->count;
    double    square = e * e;
    for (int k = first; k < end; ++k) square += y[k] * y[k];
    const double r = d->mu * P[0], length = sqrt(square),
                 root = sqrt((r - length) * (r - length) + 4 * e * e);
    const double m    = 0.5 * (r + length + root);
    if (!(length > 0 && m > 0)) { // y_d = 0, not smoothed
        for (int k = first; k < end; ++k) P[k] = 0, C[k][k] = r > 0;
        return;
    }
    const double m_r =
        root > 0 ? 0.5 * (1 + (r - length) / root) : 0.5; // dm/dr, dm/dlength = 1 - m_r
    const double dr = d->mu * C[0][0];
    for (int i = first; i < end; ++i) {
        P[i]    = y[i] * (r / m);
        C[i][0] = y[i] / m * (1 - r * m_r / m) * dr;
        for (int j = first; j < end; ++j)
            C[i][j] = r / m * ((i == j) - (1 - m_r) * (y[i] / m) * (y[j] / length));
    }
}

void tni_cone_point_project(const tni_cone_point* g, double e, const double* f, const double* a,
                            double P[ROWS], double C[ROWS][ROWS])
{
    double y[ROWS];
    for (int k = 0; k < g->size; ++k) y[k] = f[k] - g->rho[k] * a[k];
    memset(C, 0, ROWS * ROWS * sizeof(double));
    if (g->condition == TNI_EQUAL) {
        for (int k = 0; k < g->size; ++k) P[k] = y[k], C[k][k] = 1;
    } else if (g->condition == TNI_BOX) {
        project_box(y[0], g->lower, g->upper, e * g->rho[0], P, &C[0][0]);
    } else {
        P[0] = positive_part(y[0], e * g->rho[0], &C[0][0]);
        for (int k = 0; k < g->disc_count; ++k)
            project_disc(&g->disc[k], y, e * g->rho[g->disc[k].first], P, C);
    }
}

double tni_cone_point_residual(const tni_cone_point* g, double e, const double* f, const double* a,
                               double F[ROWS])
{
    double P[ROWS], C[ROWS][ROWS], sum = 0;
    tni_cone_point_project(g, e, f, a, P, C);
    for (int k = 0; k < g->size; ++k) {
        F[k]           = f[k] - P[k];
        const double r = F[k] / g->rho[k];
        sum += r * r;
    }
    return sum;
}

// ---- Normal and tangents ------------------------------------------------------------------------

typedef struct block {
    int    size;
    double mu, B[3][3], q[3];
} block;

static double poly(const double* p, int degree, double x)
{
    double value = p[degree];
    for (int k = degree - 1; k >= 0; --k) value = value * x + p[k];
    return value;
}

// The root in [l, u], where p is monotone and changes sign: secants, every third step a bisection.
static double poly_root(const double* p, int degree, double l, double u)
{
    double at_l = poly(p, degree, l), at_u = poly(p, degree, u);
    for (int k = 0; k < 100 && u - l > 1e-16 * u; ++k) {
        double x = (at_u * l - at_l * u) / (at_u - at_l);
        if (k % 3 == 2 || !(x > l && x < u)) x = 0.5 * (l + u);
        const double at_x = poly(p, degree, x);
        if (at_x == 0) return x;
        if ((at_x > 0) == (at_u > 0)) {
            u = x, at_u = at_x;
        } else {
            l = x, at_l = at_x;
        }
    }
    return 0.5 * (l + u);
}

// Roots of a quartic in [0, 1], ascending: those of each derivative lie between the roots of the
// next. Double roots may be lost to rounding.
static int quartic_roots(const double p[5], double roots[4])
{
    double knots[6] = {0, 1};
    int    count    = 0; // number of roots of the last derivative, in knots[1 .. count]
    for (int degree = 1; degree <= 4; ++degree) {
        double d[5], found[4];
        int    found_count = 0;
        for (int k = 0; k <= degree; ++k) { // the derivative of order 4 - degree
            d[k] = p[k + 4 - degree];
            for (int m = 1; m <= 4 - degree; ++m) d[k] *= k + m;
        }
        for (int k = 0; k <= count; ++k) {
            const double at_l = poly(d, degree, knots[k]), at_u = poly(d, degree, knots[k + 1]);
            if ((at_l > 0) == (at_u > 0)) continue;
            found[found_count++] = poly_root(d, degree, knots[k], knots[k + 1]);
        }
        count = found_count;
        for (int k = 0; k < count; ++k) knots[k + 1] = found[k];
        knots[count + 1] = 1;
    }
    for (int k = 0; k < count; ++k) roots[k] = knots[k + 1];
    return count;
}

// f <- the force that slides along d. False if it would not push.
static bool slide_along(const block* b, const double* d, double f[3])
{
    double den = b->B[0][0];
    for (int k = 1; k < 3 && k < b->size; ++k) den += b->mu * b->B[0][k] * d[k - 1];
    if (!(den > NEGLIGIBLE * b->B[0][0])) return false;
    f[0] = -b->q[0] / den;
    for (int k = 1; k < b->size; ++k) f[k] = b->mu * f[0] * d[k - 1];
    return true;
}

// A and c of the top comment, divided by their size to avoid overflow.
static bool slide_terms(const block* b, double A[2][2], double c[2])
{
    const int n    = b->size - 1;
    double    size = 0;
    for (int i = 0; i < n; ++i) {
        c[i] = b->B[0][0] * b->q[i + 1] - b->q[0] * b->B[i + 1][0];
        size += fabs(c[i]);
        for (int j = 0; j < n; ++j) {
            A[i][j] = b->mu * (b->q[i + 1] * b->B[0][j + 1] - b->q[0] * b->B[i + 1][j + 1]);
            size += fabs(A[i][j]);
        }
    }
    if (!(size > 0 && size <= DBL_MAX)) return false;
    for (int i = 0; i < n; ++i) {
        c[i] /= size;
        for (int j = 0; j < n; ++j) A[i][j] /= size;
    }
    return true;
}

// The sliding force on a line; of two solutions the one in the direction of f.
static bool slide_line(const block* b, double f[3])
{
    double A[2][2], c[2], d[2] = {f[1] < 0 ? -1 : 1, 0};
    if (!slide_terms(b, A, c)) return false;
    for (int k = 0; k < 2; ++k, d[0] = -d[0]) {
        if (A[0][0] + c[0] * d[0] <= 0 && slide_along(b, d, f)) return true; // A d + c = -s' d
    }
    return false;
}

// The sliding force in a plane; of several solutions the one closest to the direction of f.
static bool slide_plane(const block* b, double f[3])
{
    double A[2][2], c[2], roots[4], best = -HUGE_VAL, old[2] = {f[1], f[2]};
    if (!slide_terms(b, A, c)) return false;
    const double w[2] = {A[1][1] * c[0] - A[0][1] * c[1], A[0][0] * c[1] - A[1][0] * c[0]};
    const double T = A[0][0] + A[1][1], D = A[0][0] * A[1][1] - A[0][1] * A[1][0];
    const double cc = c[0] * c[0] + c[1] * c[1], cw = c[0] * w[0] + c[1] * w[1];
    const double p[5]  = {D * D - (w[0] * w[0] + w[1] * w[1]), 2 * (T * D - cw), T * T + 2 * D - cc,
                          2 * T, 1}; // det(A + s I)^2 - |adj(A + s I) c|^2
    const int    count = quartic_roots(p, roots);
    for (int k = count - 1; k >= 0; --k) {
        const double s = roots[k], det = (s + T) * s + D;
        double       d[2]   = {-(s * c[0] + w[0]) / det, -(s * c[1] + w[1]) / det}, tried[3];
        const double length = sqrt(d[0] * d[0] + d[1] * d[1]);
        if (!(length > 0.5 && length < 2)) continue;
        d[0] /= length, d[1] /= length;
        const double near = d[0] * old[0] + d[1] * old[1];
        if (near > best && slide_along(b, d, tried)) {
            best = near;
            memcpy(f, tried, sizeof tried);
        }
    }
    return best > -HUGE_VAL;
}

static bool slide(const block* b, double f[3])
{
    if (b->size == 1) return slide_along(b, NULL, f);
    return b->size == 2 ? slide_line(b, f) : slide_plane(b, f);
}

// ---- All discs ----------------------------------------------------------------------------------

static bool is_inside(const tni_cone_point* g, const double* f)
{
    bool inside = f[0] >= 0;
    for (int k = 0; k < g->disc_count; ++k) {
        const double* d      = f + g->disc[k].first;
        const double  length = g->disc[k].count == 1 ? fabs(d[0]) : sqrt(d[0] * d[0] + d[1] * d[1]);
        inside               = inside && length <= g->disc[k].mu * f[0];
    }
    return inside;
}

// f <- the f that makes a = 0. If the block is singular, the one closest to the old f.
static bool stick(const tni_cone_point* g, const double* B, int stride, const double* a, double* f)
{
    double m[ROWS * ROWS], x[ROWS];
    int    exchange[ROWS];
    for (int i = 0; i < g->size; ++i) {
        for (int j = 0; j < g->size; ++j)
            m[g->size * i + j] = B[i * stride + j] + (i == j ? NEGLIGIBLE / g->rho[i] : 0);
        x[i] = -a[i];
    }
    if (tni_dense_lu(g->size, m, exchange) != TN_OK) return false;
    tni_dense_lu_solve(g->size, m, exchange, x);
    for (int k = 0; k < g->size; ++k) f[k] += x[k];
    return true;
}

// f <- the sliding force of normal and tangents; if there is none, a projected gradient step.
static void slide_or_project(const tni_cone_point* g, const double* B, int stride, const double* q,
                             double* f, const double* a)
{
    double x[3] = {0}, P[ROWS], C[ROWS][ROWS];
    block  b    = {.size = 1 + g->tangents, .mu = g->tangents > 0 ? g->disc[0].mu : 0};
    for (int i = 0; i < b.size; ++i) {
        b.q[i] = q[i];
        x[i]   = f[i];
        for (int j = 0; j < b.size; ++j) b.B[i][j] = B[i * stride + j];
    }
    if (b.B[0][0] * g->rho[0] > NEGLIGIBLE && slide(&b, x)) {
        memcpy(f, x, sizeof(double) * (size_t)b.size);
    } else {
        tni_cone_point_project(g, 0, f, a, P, C);
        memcpy(f, P, sizeof(double) * (size_t)b.size);
    }
}

// a <- q + B f. Returns the residual.
static double evaluate(const tni_cone_point* g, const double* B, int stride, const double* q,
                       const double* f, double* a, double* F)
{
    for (int i = 0; i < g->size; ++i) {
        a[i] = q[i];
        for (int j = 0; j < g->size; ++j) a[i] += B[i * stride + j] * f[j];
    }
    const double sum = tni_cone_point_residual(g, 0, f, a, F);
    return sum <= DBL_MAX ? sum : HUGE_VAL; // NaN too
}

// Solves normal and tangents with the other discs fixed.
static void update_cone(const tni_cone_point* g, const double* B, int stride, double* f, double* a)
{
    tni_cone_point part = *g;
    double         q[3], x[3];
    const int      n = 1 + g->tangents;
    part.size        = n;
    part.disc_count  = g->tangents > 0;
    for (int i = 0; i < n; ++i) {
        q[i] = a[i];
        x[i] = f[i];
        for (int j = 0; j < n; ++j) q[i] -= B[i * stride + j] * f[j];
    }
    if (q[0] >= 0) memset(f, 0, sizeof(double) * (size_t)n);
    else if (stick(&part, B, stride, a, x) && is_inside(&part, x))
        memcpy(f, x, sizeof(double) * (size_t)n);
    else slide_or_project(&part, B, stride, q, f, a);
}

// Solves one disc of radius r by itself: min f (B/2 f + q) over |f| <= r, W symmetric.
static void update_disc(const tni_disc* d, const double* B, int stride, double r, double* f,
                        const double* a)
{
    const double* D = B + d->first * (stride + 1);
    double *      x = f + d->first, q[2] = {0};
    for (int i = 0; i < d->count; ++i) {
        q[i] = a[d->first + i];
        for (int j = 0; j < d->count; ++j) q[i] -= D[i * stride + j] * x[j];
    }
    const double xx = D[0], yy = d->count > 1 ? D[stride + 1] : xx,
                 xy   = d->count > 1 ? 0.5 * (D[1] + D[stride]) : 0;
    const double size = sqrt(q[0] * q[0] + q[1] * q[1]);
    double       low = 0, high = r > 0 ? size / r : 0; // |f| <= |q| / s
    for (int k = 0; k < 60; ++k) {
        const double s = k == 0 ? 0 : 0.5 * (low + high), det = (xx + s) * (yy + s) - xy * xy;
        x[0] = -((yy + s) * q[0] - xy * q[1]) / det;
        if (d->count > 1) x[1] = -((xx + s) * q[1] - xy * q[0]) / det;
        const double length = d->count > 1 ? sqrt(x[0] * x[0] + x[1] * x[1]) : fabs(x[0]);
        if (length <= r) {
            if (k == 0) return;
            high = s;
        } else {
            low = s;
        }
    }
    double length = 0;
    for (int i = 0; i < d->count; ++i) length += x[i] * x[i];
    length = sqrt(length);
    for (int i = 0; i < d->count; ++i) x[i] = length > 0 && r > 0 ? x[i] * (r / length) : 0;
}

// G = E - C (E - rho B), step <- -G^-1 F.
static bool newton_step(const tni_cone_point* g, const double* B, int stride, const double* f,
                        const double* a, const double* F, double* step)
{
    const int n = g->size;
    double    P[ROWS], C[ROWS][ROWS], G[ROWS * ROWS];
    int       exchange[ROWS];
    tni_cone_point_project(g, 0, f, a, P, C);
    for (int i = 0; i < n; ++i) {
        step[i] = -F[i];
        for (int j = 0; j < n; ++j) {
            double sum = (i == j) - C[i][j];
            for (int k = 0; k < n; ++k) sum += C[i][k] * g->rho[k] * B[k * stride + j];
            G[n * i + j] = sum + (i == j ? NEGLIGIBLE : 0);
        }
    }
    if (tni_dense_lu(n, G, exchange) != TN_OK) return false;
    tni_dense_lu_solve(n, G, exchange, step);
    return true;
}

static double newton(const tni_cone_point* g, const double* B, int stride, const double* q,
                     double* f, double goal)
{
    double a[ROWS], F[ROWS], step[ROWS], residual = evaluate(g, B, stride, q, f, a, F);
    for (int k = 0; k < NEWTON_STEPS && residual > goal; ++k) {
        double t = 1, x[ROWS], tried = HUGE_VAL;
        if (!newton_step(g, B, stride, f, a, F, step)) break;
        for (int halving = 0; halving <= HALVINGS && !(tried < residual); ++halving, t *= 0.5) {
            for (int i = 0; i < g->size; ++i) x[i] = f[i] + t * step[i];
            tried = evaluate(g, B, stride, q, x, a, F);
        }
        if (!(tried < residual)) break;
        residual = tried;
        memcpy(f, x, sizeof(double) * (size_t)g->size);
    }
    return residual;
}

// A contact with spin or roll, not sticking: alternation, then Newton; up to three passes.
static void solve_all_discs(const tni_cone_point* g, const double* B, int stride, const double* q,
                            double* f)
{
    double a[ROWS], F[ROWS], x[ROWS], size = 0, best = HUGE_VAL;
    memcpy(x, f, sizeof(double) * (size_t)g->size);
    for (int i = 0; i < g->size; ++i) size += q[i] * q[i];
    const double goal = 1e-28 * size;
    for (int pass = 0; pass < 3 && best > goal; ++pass) {
        for (int k = 0; k < ROUNDS; ++k) {
            (void)evaluate(g, B, stride, q, x, a, F);
            update_cone(g, B, stride, x, a);
            for (int d = g->tangents > 0; d < g->disc_count; ++d) {
                (void)evaluate(g, B, stride, q, x, a, F);
                update_disc(&g->disc[d], B, stride, g->disc[d].mu * x[0], x, a);
            }
        }
        const double residual = newton(g, B, stride, q, x, goal);
        if (!(residual < best)) continue;
        best = residual;
        memcpy(f, x, sizeof(double) * (size_t)g->size);
    }
}

static void solve_row(const tni_cone_point* g, double W, double* f, double a)
{
    const double q = a - W * *f; // a at f = 0
    if (W * g->rho[0] > NEGLIGIBLE) {
        *f = clamp(-q / W, g->lower, g->upper);
    } else if (g->lower > -HUGE_VAL && q + W * g->lower >= 0) {
        *f = g->lower;
    } else if (g->upper < HUGE_VAL && q + W * g->upper <= 0) {
        *f = g->upper;
    }
}

static void solve_cone(const tni_cone_point* g, const double* B, int stride, double* f,
                       const double* a)
{
    const size_t bytes = sizeof(double) * (size_t)g->size;
    double       x[ROWS], q[ROWS];
    for (int i = 0; i < g->size; ++i) {
        q[i] = a[i];
        for (int j = 0; j < g->size; ++j) q[i] -= B[i * stride + j] * f[j];
    }
    if (q[0] >= 0) {
        memset(f, 0, bytes);
        return;
    }
    memcpy(x, f, bytes);
    if (stick(g, B, stride, a, x) && is_inside(g, x)) memcpy(f, x, bytes);
    else if (g->size == 1 + g->tangents) slide_or_project(g, B, stride, q, f, a);
    else solve_all_discs(g, B, stride, q, f);
}

void tni_cone_point_solve(const tni_cone_point* g, const double* B, int stride, double* f,
                          const double* a)
{
    double x[ROWS];
    if (g->condition == TNI_NORMAL) {
        solve_cone(g, B, stride, f, a);
    } else if (g->condition == TNI_EQUAL) {
        memcpy(x, f, sizeof(double) * (size_t)g->size);
        if (stick(g, B, stride, a, x)) memcpy(f, x, sizeof(double) * (size_t)g->size);
    } else {
        solve_row(g, B[0], f, a[0]);
    }
}
