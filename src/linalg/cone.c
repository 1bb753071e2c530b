// cone: one-sided rows with Coulomb friction: sweeps over the cones, Newton, two roundabout ways.
//
//     a = W f + b,   per cone (n, t), t of one or two rows:
//     a_n >= 0, f_n >= 0, a_n f_n = 0;   |f_t| <= mu f_n;   a_t = -s f_t, s >= 0, s = 0 inside
//
// and one-sided and box rows beside them. With y = f - rho a, rho = 1/trace of the cone's block
// of W, these conditions are F(f) = f - P(y) = 0 [1]:
//
//     P_n = max(y_n, 0)      P_t = y_t, shortened to mu P_n where it is longer
//
// (box rows: y brought within the bounds). The residual is |F| / rho, in units of a: it is of the
// same size for any mu. Four means, each taking up where the one before it failed:
//
// 1. Sweeps (block Gauss-Seidel), one cone at a time, the others fixed. Let B be its block and q
//    its a at f = 0. q_n >= 0: f = 0. Else the f that makes a = 0, if it is within the cone. Else
//    it slides: f_t = mu f_n d, |d| = 1, with a_n = 0 and a_t = -s d, that is
//
//        f_n = -q_n / (B_nn + mu B_nt d)
//        (A + s' I) d = -c,   A = mu (q_t B_nt - q_n B_tt),   c = B_nn q_t - q_n B_tn,
//
//    s' being s times a positive number. |d| = 1 is a quartic in s' whose coefficients do not
//    change when the tangents are turned; its roots lie between those of its derivatives.
// 2. Newton on F, for where sweeps are slow (heavy on light). With C a derivative of P at y, a row
//    of it is G = E - C (E - rho W); the step solves (G + delta I) step = -F and is halved while
//    it makes the residual worse. delta > 0 since W is often singular; where f goes along the
//    null space does not matter.
// 3. Newton on F with its corners rounded off by e: max(x, 0) becomes (x + sqrt(x^2 + 4 e^2)) / 2.
//    Rows on their own then have f rho a = e^2, the central path of an interior point method. e
//    goes down a ladder, each rung starting at the last one's answer. What Newton trips over,
//    many contacts each changing between open, stick and slip, is not met on this way.
// 4. Newton with mu going up a ladder from 0, where the problem is an ordinary complementarity
//    problem, for the few where 3 has a fold in its way. Last of all 3 again, in smaller steps.
//
// None is sure to arrive (there may be no solution where W is not symmetric, Painleve: B_nn <= 0),
// so all loops are bounded and the best f of all is kept. Measured on problems of up to 120 rows
// (stacks with masses 1:1000 either way up, more contacts than W has rank, mu up to 3): above
// 1e-10 are left 455 of 3,200 by 1. and 2., 13 of 3,200 with 3., 2 of 24,000 by all together.
// Cost: n^2 a sweep, 2/3 m^3 a Newton step, m the rows that are not held at zero. A guess that is
// near goes to Newton before any sweep.
// [1] P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton
// like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
#include "linalg/cone.h"

#include "linalg/dense.h"

#include <float.h>
#include <math.h>

static const double TARGET   = 1e-11; // residual at which the work stops
static const double ACCEPTED = 1e-10; // residual that counts as solved
static const double NEAR     = 1e-2;  // residual from which Newton may arrive at once
static const double NOTHING  = 1e-14; // of a trace: zero but for rounding
enum { NEWTON_STEPS = 20, HALVINGS = 8, FEW_SWEEPS = 20, MANY_SWEEPS = 100 };

// A cone, or a row by itself.
typedef struct group {
    int    first, size;
    double mu, rho;
} group;

// delta of a Newton step: fixed + share * residual.
typedef struct damping {
    double fixed, share;
} damping;

struct tni_cone {
    int              capacity, rounds;
    const tni_pairs* p; // the problem being solved
    group*           groups;
    int              count;
    double           scale;   // of a residual: the largest |b|
    double           corner;  // e of rounded corners, over scale * rho; 0: sharp
    double           mu_part; // of the mu that is asked for
    double           best;    // residual of best_f
    double *         best_f, *F, *G, *step, *from, *row, *known;
    int *            exchange, *moving;
};

tn_result tni_cone_create(tni_arena* arena, int capacity, tni_cone** cone)
{
    tni_cone* c = TNI_TAKE(arena, tni_cone, 1);
    *cone       = c;
    if (c == NULL) return TN_ERR_MEMORY;
    c->capacity = capacity;
    c->groups   = TNI_TAKE(arena, group, capacity);
    c->best_f   = TNI_TAKE(arena, double, capacity);
    c->F        = TNI_TAKE(arena, double, capacity);
    c->G        = TNI_TAKE(arena, double, (size_t)capacity*(size_t)capacity);
    c->step     = TNI_TAKE(arena, double, capacity);
    c->from     = TNI_TAKE(arena, double, capacity);
    c->row      = TNI_TAKE(arena, double, capacity);
    c->known    = TNI_TAKE(arena, double, capacity);
    c->exchange = TNI_TAKE(arena, int, capacity);
    c->moving   = TNI_TAKE(arena, int, capacity);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// ---- The conditions -----------------------------------------------------------------------------

static const double* row_of(const tni_pairs* p, int i)
{
    return p->W + (size_t)p->n * (size_t)i;
}

static double a_of(const tni_pairs* p, int i)
{
    const double* row = row_of(p, i);
    double        sum = 0;
    for (int k = 0; k < p->n; ++k) sum += row[k] * p->f[k];
    return sum + p->b[i];
}

static void find_groups(tni_cone* c)
{
    const tni_pairs* p       = c->p;
    double           largest = 0;
    for (int i = 0; i < p->n; ++i) largest = fmax(largest, row_of(p, i)[i]);
    c->count = 0;
    for (int i = 0; i < p->n; i += c->groups[c->count++].size) {
        group* g     = &c->groups[c->count];
        double trace = row_of(p, i)[i];
        *g           = (group){.first = i, .size = 1};
        while (p->condition[i] == TNI_NORMAL && g->size < 3 && i + g->size < p->n &&
               p->condition[i + g->size] == TNI_TANGENT) {
            trace += row_of(p, i + g->size)[i + g->size];
            g->size += 1;
        }
        if (!(trace > NOTHING * largest)) trace = largest > 0 ? largest : 1;
        g->rho = 1 / trace;
    }
}

static void set_mu_part(tni_cone* c, double part)
{
    c->mu_part = part;
    for (int k = 0; k < c->count; ++k) {
        group* g = &c->groups[k];
        g->mu    = g->size > 1 ? part * c->p->mu[g->first] : 0;
    }
}

static double within(double x, double lower, double upper)
{
    return x < lower ? lower : x > upper ? upper : x;
}

// max(x, 0), the corner rounded off; *d: its derivative.
static double positive_part(double x, double e, double* d)
{
    const double root = e > 0 ? sqrt(x * x + 4 * e * e) : fabs(x);
    *d                = root > 0 ? 0.5 * (1 + x / root) : 0;
    return x > 0 ? 0.5 * (x + root) : e > 0 ? 2 * e * e / (root - x) : 0;
}

static void project_box(double y, double l, double u, double e, double* P, double* C)
{
    double at_l, at_u;
    *P = within(y, l, u);
    *C = y > l && y < u;
    if (e == 0 || !(l > -HUGE_VAL && u < HUGE_VAL)) return;
    *P = l + positive_part(y - l, e, &at_l) - positive_part(y - u, e, &at_u);
    *C = at_l - at_u;
}

// P_t = (r / m) y_t,  r = mu P_n,  m = max(r, |y_t|), corners rounded off.
static void project_tangents(const group* g, const double* y, double e, double P[3], double C[3][3])
{
    double square = e * e;
    for (int k = 1; k < g->size; ++k) square += y[k] * y[k];
    const double r = g->mu * P[0], length = sqrt(square),
                 root = sqrt((r - length) * (r - length) + 4 * e * e);
    const double m    = 0.5 * (r + length + root);
    if (!(length > 0 && m > 0)) { // y_t = 0, no corners
        for (int k = 1; k < g->size; ++k) P[k] = 0, C[k][k] = r > 0;
        return;
    }
    const double m_r =
        root > 0 ? 0.5 * (1 + (r - length) / root) : 0.5; // dm/dr, dm/dlength = 1 - m_r
    const double dr = g->mu * C[0][0];
    for (int i = 1; i < g->size; ++i) {
        P[i]    = y[i] * (r / m);
        C[i][0] = y[i] / m * (1 - r * m_r / m) * dr;
        for (int j = 1; j < g->size; ++j)
            C[i][j] = r / m * ((i == j) - (1 - m_r) * (y[i] / m) * (y[j] / length));
    }
}

// P and its derivative C at y = f - rho a. f and a: of this group.
static void project(const tni_cone* c, const group* g, const double* f, const double* a,
                    double P[3], double C[3][3])
{
    const tni_pairs* p = c->p;
    const double     e = c->corner * c->scale * g->rho;
    double           y[3];
    for (int k = 0; k < g->size; ++k) y[k] = f[k] - g->rho * a[k];
    memset(C, 0, 9 * sizeof(double));
    if (p->condition[g->first] == TNI_BOX) {
        project_box(y[0], p->lower[g->first], p->upper[g->first], e, P, &C[0][0]);
        return;
    }
    P[0] = positive_part(y[0], e, &C[0][0]);
    if (g->size > 1) project_tangents(g, y, e, P, C);
}

// Square of the relative residual of one group; F of it.
static double group_residual(const tni_cone* c, const group* g, const double* f, const double* a,
                             double F[3])
{
    double P[3], C[3][3], sum = 0;
    project(c, g, f, a, P, C);
    for (int k = 0; k < g->size; ++k) {
        F[k]           = f[k] - P[k];
        const double r = F[k] / (g->rho * c->scale);
        sum += r * r;
    }
    return sum;
}

// a and F at f. Returns the relative residual, in the 2-norm; where the problem is the one that
// was asked for, the best f is remembered.
static double evaluate(tni_cone* c)
{
    const tni_pairs* p   = c->p;
    double           sum = 0;
    for (int i = 0; i < p->n; ++i) p->a[i] = a_of(p, i);
    for (int k = 0; k < c->count; ++k) {
        const group* g = &c->groups[k];
        sum += group_residual(c, g, p->f + g->first, p->a + g->first, c->F + g->first);
    }
    const double residual = sum <= DBL_MAX ? sqrt(sum) : HUGE_VAL; // NaN too
    if (c->corner == 0 && c->mu_part == 1 && residual < c->best) {
        c->best = residual;
        memcpy(c->best_f, p->f, sizeof(double) * (size_t)p->n);
    }
    return residual;
}

// ---- One cone, the others fixed -----------------------------------------------------------------

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

// The root between l and u, where p has opposite signs and is monotone: secants, held by halving.
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
    int    count    = 0; // of roots found for the last derivative, in knots[1 .. count]
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

// f <- the sliding impulse along d, if it pushes.
static bool slide_along(const block* b, const double* d, double f[3])
{
    double den = b->B[0][0];
    for (int k = 1; k < 3 && k < b->size; ++k) den += b->mu * b->B[0][k] * d[k - 1];
    if (!(den > NOTHING * b->B[0][0])) return false;
    f[0] = -b->q[0] / den;
    for (int k = 1; k < b->size; ++k) f[k] = b->mu * f[0] * d[k - 1];
    return true;
}

// A and c of the top comment, over their common size.
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

// Of two sliding directions the one f points to.
static bool slide_line(const block* b, double f[3])
{
    double A[2][2], c[2], d[2] = {f[1] < 0 ? -1 : 1, 0};
    if (!slide_terms(b, A, c)) return false;
    for (int k = 0; k < 2; ++k, d[0] = -d[0]) {
        if (A[0][0] + c[0] * d[0] <= 0 && slide_along(b, d, f)) return true; // A d + c = -s' d
    }
    return false;
}

// Of several sliding directions the one nearest to where f points.
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

// f <- the f that makes a = 0. Where the block is singular, the one next to the old f.
static bool stick(const block* b, const group* g, const double* a, double f[3])
{
    double m[9], x[3];
    int    exchange[3];
    for (int i = 0; i < b->size; ++i) {
        for (int j = 0; j < b->size; ++j)
            m[b->size * i + j] = b->B[i][j] + (i == j ? NOTHING / g->rho : 0);
        x[i] = -a[i];
    }
    if (tni_dense_lu(b->size, m, exchange) != TN_OK) return false;
    tni_dense_lu_solve(b->size, m, exchange, x);
    for (int k = 0; k < b->size; ++k) f[k] += x[k];
    const double length = b->size < 2    ? 0
                          : b->size == 2 ? fabs(f[1])
                                         : sqrt(f[1] * f[1] + f[2] * f[2]);
    return f[0] >= 0 && length <= g->mu * f[0];
}

static void solve_cone(const tni_cone* c, const group* g, double* f, const double* a)
{
    const size_t bytes = sizeof(double) * (size_t)g->size;
    block        b     = {.size = g->size, .mu = g->mu};
    double       x[3], C[3][3];
    for (int i = 0; i < b.size; ++i) {
        b.q[i] = a[i];
        for (int j = 0; j < b.size; ++j) {
            b.B[i][j] = row_of(c->p, g->first + i)[g->first + j];
            b.q[i] -= b.B[i][j] * f[j];
        }
    }
    if (b.q[0] >= 0) {
        memset(f, 0, bytes);
        return;
    }
    memcpy(x, f, bytes);
    if (!stick(&b, g, a, x)) {
        memcpy(x, f, bytes);
        if (!(b.B[0][0] * g->rho > NOTHING && slide(&b, x))) project(c, g, f, a, x, C);
    }
    memcpy(f, x, bytes);
}

static void solve_row(const tni_cone* c, const group* g, double* f, double a)
{
    const tni_pairs* p     = c->p;
    const int        i     = g->first;
    const bool       box   = p->condition[i] == TNI_BOX;
    const double     lower = box ? p->lower[i] : 0, upper = box ? p->upper[i] : HUGE_VAL;
    const double     W = row_of(p, i)[i], q = a - W * *f; // q: a at f = 0
    if (W * g->rho > NOTHING) {
        *f = within(-q / W, lower, upper);
    } else if (lower > -HUGE_VAL && q + W * lower >= 0) {
        *f = lower;
    } else if (upper < HUGE_VAL && q + W * upper <= 0) {
        *f = upper;
    }
}

// Up to count sweeps. True when f is a solution.
static bool sweeps(tni_cone* c, int count)
{
    const tni_pairs* p = c->p;
    for (int s = 0; s < count; ++s) {
        double sum = 0; // of residuals, each just before its group changes
        c->rounds += 1;
        for (int k = 0; k < c->count; ++k) {
            const group* g = &c->groups[k];
            double *     f = p->f + g->first, a[3], F[3];
            for (int i = 0; i < g->size; ++i) a[i] = a_of(p, g->first + i);
            sum += group_residual(c, g, f, a, F);
            if (p->condition[g->first] == TNI_NORMAL) {
                solve_cone(c, g, f, a);
            } else {
                solve_row(c, g, f, a[0]);
            }
        }
        if (!(sum > TARGET * TARGET && sum <= DBL_MAX)) break;
    }
    return evaluate(c) <= TARGET;
}

// ---- Newton -------------------------------------------------------------------------------------

// A row of G of a group: E - C (E - rho W).
static void jacobian(const tni_cone* c, const group* g, int i, const double C[3][3], double* row)
{
    const tni_pairs* p = c->p;
    memset(row, 0, sizeof(double) * (size_t)p->n);
    for (int j = 0; j < g->size; ++j) {
        const double  share = g->rho * C[i][j];
        const double* W     = row_of(p, g->first + j);
        for (int k = 0; k < p->n && share != 0; ++k) row[k] += share * W[k];
    }
    for (int j = 0; j < g->size; ++j) row[g->first + j] += (i == j) - C[i][j];
}

// Rows that P holds fast have G = E: their steps are known, and only the others are solved for.
static int find_moving(tni_cone* c, double delta)
{
    int moving = 0;
    for (int k = 0; k < c->count; ++k) {
        const group* g     = &c->groups[k];
        bool         moves = false;
        double       P[3], C[3][3];
        project(c, g, c->p->f + g->first, c->p->a + g->first, P, C);
        for (int i = 0; i < g->size; ++i)
            for (int j = 0; j < g->size; ++j) moves = moves || C[i][j] != 0;
        for (int i = 0; i < g->size; ++i) {
            c->step[g->first + i] = moves ? 0 : -c->F[g->first + i] / (1 + delta);
            if (moves) c->moving[moving++] = g->first + i;
        }
    }
    return moving;
}

static bool newton_step(tni_cone* c, double delta)
{
    const int n = c->p->n, m = find_moving(c, delta);
    int       at = 0;
    for (int k = 0; k < c->count; ++k) {
        const group* g = &c->groups[k];
        if (at == m || c->moving[at] != g->first) continue;
        double P[3], C[3][3];
        project(c, g, c->p->f + g->first, c->p->a + g->first, P, C);
        for (int i = 0; i < g->size; ++i, ++at) {
            double* G = c->G + (size_t)m * (size_t)at;
            jacobian(c, g, i, C, c->row);
            for (int j = 0; j < m; ++j) G[j] = c->row[c->moving[j]];
            G[at] += delta;
            c->known[at] = -c->F[g->first + i];
            for (int j = 0; j < n; ++j) c->known[at] -= c->row[j] * c->step[j];
        }
    }
    c->rounds += 1;
    if (tni_dense_lu(m, c->G, c->exchange) != TN_OK) return false;
    tni_dense_lu_solve(m, c->G, c->exchange, c->known);
    for (int i = 0; i < m; ++i) c->step[c->moving[i]] = c->known[i];
    return true;
}

// From f on, up to `steps` steps. True when the residual is down to the goal.
static bool newton(tni_cone* c, int steps, double goal, damping damp)
{
    const tni_pairs* p        = c->p;
    double           residual = evaluate(c);
    for (int k = 0; k < steps && residual > goal && residual < HUGE_VAL; ++k) {
        const double before = residual;
        memcpy(c->from, p->f, sizeof(double) * (size_t)p->n);
        if (!newton_step(c, damp.fixed + damp.share * fmin(residual, 1))) return false;
        double t = 1;
        for (int halving = 0; halving <= HALVINGS; ++halving, t *= 0.5) {
            for (int i = 0; i < p->n; ++i) p->f[i] = c->from[i] + t * c->step[i];
            residual = evaluate(c);
            if (residual < (1 - 1e-4 * t) * before) break;
        }
    }
    return residual <= goal;
}

// ---- Starts -------------------------------------------------------------------------------------

static const damping EVEN = {1e-6, 0}, SLIGHT = {1e-10, 0}, FALLING = {1e-14, 1e-3};

static void restart(tni_cone* c, const double* f)
{
    const size_t bytes = sizeof(double) * (size_t)c->p->n;
    if (f != NULL) memcpy(c->p->f, f, bytes);
    else memset(c->p->f, 0, bytes);
}

// From a good guess; a bad one is left as it was.
static bool at_once(tni_cone* c)
{
    if (newton(c, 3, TARGET, EVEN)) return true;
    restart(c, c->best_f);
    return false;
}

// From f on, as it is.
static bool directly(tni_cone* c, int sweep_count, damping damp)
{
    return sweeps(c, sweep_count) || newton(c, NEWTON_STEPS, TARGET, damp);
}

// With the corners rounded off, less and less.
static bool round_the_corners(tni_cone* c, double ratio, int steps, damping damp)
{
    restart(c, NULL);
    for (c->corner = 30; c->corner > 1e-6; c->corner *= ratio)
        (void)newton(c, steps, 0.3 * c->corner, SLIGHT);
    c->corner = 0;
    return newton(c, NEWTON_STEPS, TARGET, damp);
}

// With mu from nothing to all of it.
static bool raise_mu(tni_cone* c)
{
    enum { RUNGS = 20 };
    restart(c, NULL);
    for (int k = 0; k < RUNGS; ++k) {
        set_mu_part(c, (double)k / RUNGS);
        if (newton(c, NEWTON_STEPS, TARGET, FALLING)) continue;
        (void)directly(c, 5, FALLING);
    }
    set_mu_part(c, 1);
    return newton(c, NEWTON_STEPS, TARGET, FALLING);
}

static bool from_best(tni_cone* c, damping damp)
{
    restart(c, c->best_f);
    return directly(c, MANY_SWEEPS, damp);
}

// Brings f within its bounds. Solutions are.
static void keep_bounds(tni_cone* c)
{
    const double zero[3] = {0};
    for (int k = 0; k < c->count; ++k) {
        const group* g = &c->groups[k];
        double       P[3], C[3][3];
        project(c, g, c->p->f + g->first, zero, P, C);
        memcpy(c->p->f + g->first, P, sizeof(double) * (size_t)g->size);
    }
}

static void prepare(tni_cone* c, const tni_pairs* p)
{
    TN_ASSERT(p->n <= c->capacity);
    c->p      = p;
    c->rounds = 0;
    c->corner = 0;
    c->best   = HUGE_VAL;
    c->scale  = 0;
    memset(c->best_f, 0, sizeof(double) * (size_t)p->n);
    for (int i = 0; i < p->n; ++i) c->scale = fmax(c->scale, fabs(p->b[i]));
    if (c->scale == 0) { // then f = 0, boxes willing
        c->scale = 1;
        restart(c, NULL);
    }
    find_groups(c);
    set_mu_part(c, 1);
}

bool tni_cone_solve(tni_cone* cone, const tni_pairs* p, int* rounds)
{
    prepare(cone, p);
    const double start = evaluate(cone);
    if (!(start < HUGE_VAL)) restart(cone, NULL);
    if (start > TARGET) {
        (void)((start < NEAR && at_once(cone)) || directly(cone, FEW_SWEEPS, EVEN) ||
               round_the_corners(cone, 0.4, 8, EVEN) || from_best(cone, EVEN) || raise_mu(cone) ||
               from_best(cone, FALLING) || round_the_corners(cone, 0.7, 12, FALLING) ||
               from_best(cone, FALLING));
    }
    const bool solved = cone->best <= ACCEPTED;
    restart(cone, cone->best_f);
    if (!solved) keep_bounds(cone);
    (void)evaluate(cone);
    *rounds = cone->rounds;
    return solved;
}
