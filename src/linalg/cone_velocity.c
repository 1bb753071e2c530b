// cone_velocity: friction problems with slightly compliant contacts, solved for velocities.
//
//     a = W f + b,   f in K:  f_n >= 0, |f_t| <= mu f_n,   W = R^T R of rank r
//
// W often has a rank far below n: a machine on many feet has six degrees of freedom. Forces are
// then not unique, and Newton's method on them (friction_cone.c) converges badly. Velocities are
// unique, and there are fewer: x with a = R^T x + b, x = R f. A contact with compliance e/rho about
// a force c answers a velocity with one force,
//
//     f = P_K(c - rho a^ / e),     a^_n = a_n + s,  a^_t = a_t,   s = mu |a_t|
//
// where P_K projects onto the cone [1], and the shift s turns Coulomb's law into an associated one,
// with a^ normal to the cone (de Saxce [2]). For fixed s, x minimises a smooth convex function
//
//     |x|^2 / 2 + sum e/rho |f|^2 / 2,     gradient G = x - R f,     H = E + R (rho/e P_K') R^T
//
// so that Newton's method with a line search converges from anywhere. With the derivative of s in H
// it converges quadratically near the solution: that step is taken if it decreases |G|, the other
// one if not. e is decreased stepwise, each solution being the next starting point; then c <- f
// repeatedly (the method of multipliers [3]), which reduces the error by e/(e + W): two or three
// times. Starting with c = 0 it ends close to the smallest forces.
//
// Cost: n^2 r to factor W, n r^2 + r^3/3 a step, less if contacts are open. May fail to converge:
// the caller checks the residual.
// [1] J. Moreau, Proximite et dualite dans un espace hilbertien, Bull. Soc. Math. France 93 (1965).
// [2] G. De Saxce, Z. Feng, The bipotential method, Math. Comput. Modelling 28 (1998).
// [3] R. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control 14,
//     1976.
#include "linalg/cone_velocity.h"

#include "linalg/dense.h"

#include <float.h>
#include <math.h>

static const double FIRST_E  = 1e-2;
static const double NEAR_E   = 1e-3;
static const double LAST_E   = 1e-5;
static const double ENOUGH   = 1e-2;  // |G| relative to |x|: before e is decreased,
static const double NEARLY   = 1e-8;  // before c is moved,
static const double EXACTLY  = 1e-14; // and after that
static const double ROUNDING = 1e-8;  // relative to |x|: |G| below this may be rounding, which is
                                      // amplified by 1/e
enum { STEPS = 20, SEARCHES = 12, HALVINGS = 3, ROWS = 3 };

tn_result tni_cone_velocity_create(tni_arena* arena, int capacity, tni_cone_velocity* solver)
{
    const size_t n = (size_t)capacity;
    *solver        = (tni_cone_velocity){.capacity = capacity,
                                         .R        = TNI_TAKE(arena, double, n* n),
                                         .T        = TNI_TAKE(arena, double, n* n),
                                         .H        = TNI_TAKE(arena, double, n* n),
                                         .x        = TNI_TAKE(arena, double, n),
                                         .dx       = TNI_TAKE(arena, double, n),
                                         .a        = TNI_TAKE(arena, double, n),
                                         .da       = TNI_TAKE(arena, double, n),
                                         .f        = TNI_TAKE(arena, double, n),
                                         .centre   = TNI_TAKE(arena, double, n),
                                         .G        = TNI_TAKE(arena, double, n),
                                         .tried    = TNI_TAKE(arena, double, n),
                                         .slip     = TNI_TAKE(arena, double, n),
                                         .held     = TNI_TAKE(arena, double, n),
                                         .b        = TNI_TAKE(arena, double, n),
                                         .groups   = TNI_TAKE(arena, tni_cone_point, n),
                                         .row      = TNI_TAKE(arena, int, n),
                                         .exchange = TNI_TAKE(arena, int, n)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

bool tni_cone_velocity_serves(const tni_cone_point* groups, int count)
{
    for (int i = 0; i < count; ++i) {
        const tni_cone_point* g = &groups[i];
        if (g->condition != TNI_ONE_SIDED && g->condition != TNI_NORMAL) return false;
        if (g->size != 1 + g->tangents) return false;
    }
    return true;
}

// ---- W = R^T R ----------------------------------------------------------------------------------

// Pivoted Cholesky, the row with the largest remainder relative to `own` first; left is
// overwritten. Returns the rank, -1 if above most_rank.
static int factor(int n, int most_rank, const double* own, double negligible, double* left,
                  double* R)
{
    for (int rank = 0; rank <= most_rank; ++rank) {
        int    best = -1;
        double most = negligible;
        for (int i = 0; i < n; ++i) {
            const double part = left[(n + 1) * i] / own[i];
            if (part > most) best = i, most = part; // 0/0 is not above
        }
        if (best < 0) return rank;
        if (rank == most_rank) break;
        tni_dense_take_pivot(n, best, left, R + n * rank);
    }
    return -1;
}

static double dot(int n, const double* x, const double* y)
{
    double sum[4] = {0};
    int    i      = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; ++k) sum[k] += x[i + k] * y[i + k];
    for (int k = 0; i + k < n; ++k) sum[k] += x[i + k] * y[i + k];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// out <- R^T x
static void mul_rt(const tni_cone_velocity* g, const double* x, double* out)
{
    memset(out, 0, sizeof *out * (size_t)g->n);
    for (int k = 0; k < g->rank; ++k) {
        const double* row = g->R + g->n * k;
        for (int j = 0; j < g->n; ++j) out[j] += x[k] * row[j];
    }
}

// ---- A contact ----------------------------------------------------------------------------------

// Force f of a contact at a, and, if Q is not NULL, Q = -df/da^. False: the contact is open.
static bool force_at(const tni_cone_velocity* solver, const tni_cone_point* g, double slip,
                     const double* a, double* f, double Q[ROWS][ROWS])
{
    const double by = g->rho[0] / solver->e, *c = solver->centre + g->first;
    const double mu    = g->tangents > 0 ? g->disc[0].mu : 0;
    const int    n     = g->size;
    const double yn    = c[0] - by * (a[0] + slip),
                 yt[2] = {n > 1 ? c[1] - by * a[1] : 0, n > 2 ? c[2] - by * a[2] : 0};
    const double size  = sqrt(yt[0] * yt[0] + yt[1] * yt[1]);
    for (int i = 0; Q != NULL && i < ROWS; ++i)
        for (int j = 0; j < ROWS; ++j) Q[i][j] = i == j && i < n ? by : 0;
    if (size <= mu * yn || (n == 1 && yn > 0)) { // sticking
        f[0] = yn;
        for (int k = 1; k < n; ++k) f[k] = yt[k - 1];
        return true;
    }
    for (int k = 0; k < n; ++k) f[k] = 0;
    if (!(mu * size > -yn)) return false; // written this way it catches NaN
    const double d[2] = {yt[0] / size, yt[1] / size}, one = 1 / (1 + mu * mu);
    f[0] = one * (yn + mu * size);
    for (int k = 1; k < n; ++k) f[k] = mu * f[0] * d[k - 1];
    if (Q == NULL) return true;
    const double w[3] = {1, mu * d[0], mu * d[1]}, across = mu * f[0] / size;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            Q[i][j] = one * w[i] * w[j];
            if (i > 0 && j > 0) Q[i][j] += across * ((i == j) - d[i - 1] * d[j - 1]);
            Q[i][j] *= by;
        }
    return true;
}

static double length_of(const tni_cone_point* g, const double* a)
{
    return g->tangents == 2 ? sqrt(a[1] * a[1] + a[2] * a[2]) : g->tangents == 1 ? fabs(a[1]) : 0;
}

static double slip_of(const tni_cone_point* g, const double* a)
{
    return g->tangents > 0 ? g->disc[0].mu * length_of(g, a) : 0;
}

// ---- All of them --------------------------------------------------------------------------------

// a, f and G at x. moving: slip follows a; otherwise it is kept. Returns |G|^2.
static double evaluate(tni_cone_velocity* g, const double* x, bool moving)
{
    mul_rt(g, x, g->a);
    for (int j = 0; j < g->n; ++j) g->a[j] += g->b[j];
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        if (moving) g->slip[i] = slip_of(of, g->a + of->first);
        (void)force_at(g, of, g->slip[i], g->a + of->first, g->f + of->first, NULL);
    }
    double sum = 0;
    for (int k = 0; k < g->rank; ++k) {
        g->G[k] = x[k] - dot(g->n, g->R + g->n * k, g->f);
        sum += g->G[k] * g->G[k];
    }
    return sum <= DBL_MAX ? sum : HUGE_VAL; // NaN too
}

// H += R_i Q R_i^T of one contact.
static void add_group(const tni_cone_velocity* g, const tni_cone_point* of,
                      const double Q[ROWS][ROWS], double* restrict H)
{
    const int r                 = g->rank;
    const double* restrict T[3] = {g->T + r * of->first, g->T + r * of->first,
                                   g->T + r * of->first};
    double v[ROWS];
    for (int i = 1; i < of->size; ++i) T[i] += r * i;
    for (int k = 0; k < r; ++k) {
        double* row = H + r * k;
        for (int j = 0; j < ROWS; ++j) // Q is 0 where there is no row
            v[j] = T[0][k] * Q[0][j] + T[1][k] * Q[1][j] + T[2][k] * Q[2][j];
        for (int l = 0; l < r; ++l) row[l] += v[0] * T[0][l] + v[1] * T[1][l] + v[2] * T[2][l];
    }
}

// dx <- -H^-1 G at the last evaluated a and f. whole: including the derivative of slip.
static bool find_step(tni_cone_velocity* g, bool whole)
{
    const int r = g->rank;
    memset(g->H, 0, sizeof *g->H * (size_t)(r * r));
    for (int k = 0; k < r; ++k) g->H[(r + 1) * k] = 1;
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        const double*         a  = g->a + of->first;
        double                Q[ROWS][ROWS], unused[ROWS];
        if (!force_at(g, of, g->slip[i], a, unused, Q)) continue;
        const double length = length_of(of, a);
        for (int m = 0; whole && length > 0 && m < of->size; ++m) // a^_n contains mu |a_t|
            for (int k = 1; k < of->size; ++k) Q[m][k] += Q[m][0] * of->disc[0].mu * a[k] / length;
        add_group(g, of, Q, g->H);
    }
    for (int k = 0; k < r; ++k) g->dx[k] = -g->G[k];
    if (whole) {
        if (tni_dense_lu(r, g->H, g->exchange) != TN_OK) return false;
        tni_dense_lu_solve(r, g->H, g->exchange, g->dx);
    } else {
        if (tni_dense_ldl(r, g->H) != TN_OK) return false;
        tni_dense_ldl_solve(r, g->H, g->dx);
    }
    return true;
}

// The derivative of the function along dx at x + t dx, slip fixed.
static double slope(tni_cone_velocity* g, double t)
{
    double sum = 0;
    for (int k = 0; k < g->rank; ++k) sum += (g->x[k] + t * g->dx[k]) * g->dx[k];
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        double                a[ROWS], f[ROWS];
        for (int k = 0; k < of->size; ++k) a[k] = g->a[of->first + k] + t * g->da[of->first + k];
        if (!force_at(g, of, g->slip[i], a, f, NULL)) continue;
        for (int k = 0; k < of->size; ++k) sum -= f[k] * g->da[of->first + k];
    }
    return sum;
}

// Line search: the slope is monotone; stops where it is a small part of the first one.
static double search(tni_cone_velocity* g)
{
    double       low = 0, high = 1, at_low = slope(g, 0), at_high = slope(g, 1);
    const double small = 0.05 * fabs(at_low);
    for (int k = 0; k < SEARCHES && at_high < -small; ++k) { // the minimum is farther
        low = high, at_low = at_high;
        high *= 2, at_high = slope(g, high);
    }
    for (int k = 0; k < SEARCHES && fabs(at_high) > small; ++k) {
        double t =
            k % 3 == 2 ? 0.5 * (low + high) : low - at_low * (high - low) / (at_high - at_low);
        if (!(t > low && t < high)) t = 0.5 * (low + high);
        const double at_t = slope(g, t);
        if (fabs(at_t) <= small) return t;
        if (at_t < 0) low = t, at_low = at_t;
        else high = t, at_high = at_t;
    }
    return high;
}

// Minimises for fixed slip. Returns the number of steps.
static int minimise(tni_cone_velocity* g, double part)
{
    double left  = evaluate(g, g->x, false);
    int    steps = 0;
    for (; steps < STEPS && left > part * part * dot(g->rank, g->x, g->x); ++steps) {
        const double before = left;
        if (!(left < HUGE_VAL) || !find_step(g, false)) break;
        mul_rt(g, g->dx, g->da);
        const double t = search(g);
        for (int k = 0; k < g->rank; ++k) g->x[k] += t * g->dx[k];
        left = evaluate(g, g->x, false);
        if (left <= ROUNDING * ROUNDING * dot(g->rank, g->x, g->x) && left > 0.25 * before) break;
    }
    return steps;
}

// Newton's method at one e, until |G| is down to `part` of |x|, or to the level of rounding.
static int solve_at_e(tni_cone_velocity* g, double part)
{
    double left  = evaluate(g, g->x, true);
    int    steps = 0, minima = 0;
    while (steps < STEPS && left > 0 && left < HUGE_VAL) {
        const double size = dot(g->rank, g->x, g->x), before = left;
        double       tried = HUGE_VAL;
        if (left <= part * part * size) break;
        double t = 1;
        for (int half = find_step(g, true) ? 0 : HALVINGS; half < HALVINGS; ++half, t *= 0.5) {
            for (int k = 0; k < g->rank; ++k) g->tried[k] = g->x[k] + t * g->dx[k];
            tried = evaluate(g, g->tried, true);
            if (tried < (1 - 0.75 * t) * left) break;
        }
        ++steps;
        if (tried < (1 - 0.75 * t) * left) {
            memcpy(g->x, g->tried, sizeof *g->x * (size_t)g->rank);
            left = tried;
            continue;
        }
        left = evaluate(g, g->x, true);
        if (left <= ROUNDING * ROUNDING * size) break;
        for (int i = 0; i < g->count; ++i) // averaged, or slip may oscillate
            g->slip[i] = g->held[i] = minima > 0 ? 0.5 * (g->held[i] + g->slip[i]) : g->slip[i];
        ++minima;
        steps += minimise(g, fmax(part, 0.01 * ENOUGH));
        left = evaluate(g, g->x, true);
        if (left <= ROUNDING * ROUNDING * size && left > 0.25 * before) break;
    }
    return steps;
}

// Copies the contacts to solve for; those without force that separate fast are left out.
static void select_groups(tni_cone_velocity* solver, const tni_complementarity* p,
                          const tni_cone_point* groups, int count, double far)
{
    solver->n = solver->count = 0;
    for (int i = 0; i < count; ++i) {
        const tni_cone_point* g = &groups[i];
        if (!(p->f[g->first] > 0) && p->a[g->first] > far) continue;
        solver->groups[solver->count]         = *g;
        solver->groups[solver->count++].first = solver->n;
        for (int k = 0; k < g->size; ++k) solver->row[solver->n++] = g->first + k;
    }
}

bool tni_cone_velocity_begin(tni_cone_velocity* solver, const tni_complementarity* p,
                             const tni_cone_point* groups, int count, double negligible, double far,
                             bool near)
{
    TN_ASSERT(p->n <= solver->capacity && p->symmetric);
    select_groups(solver, p, groups, count, far);
    const int n = solver->n;
    double*   f = solver->tried;
    for (int i = 0; i < n; ++i) {
        const double* W = p->W + (size_t)p->n * (size_t)solver->row[i];
        for (int j = 0; j < n; ++j) solver->H[n * i + j] = W[solver->row[j]];
        solver->b[i]      = p->b[solver->row[i]];
        solver->a[i]      = W[solver->row[i]];
        f[i]              = p->f[solver->row[i]];
        solver->centre[i] = near ? f[i] : 0;
    }
    solver->all  = p->n;
    solver->e    = near ? NEAR_E : FIRST_E;
    solver->rank = factor(n, n / 2, solver->a, negligible, solver->H, solver->R);
    if (solver->rank < 0) return false;
    for (int k = 0; k < solver->rank; ++k) {
        for (int i = 0; i < n; ++i) solver->T[solver->rank * i + k] = solver->R[n * k + i];
        solver->x[k] = dot(n, solver->R + n * k, f);
    }
    return true;
}

int tni_cone_velocity_solve(tni_cone_velocity* solver, double* f)
{
    int        steps = 0;
    const bool first = solver->e > LAST_E;
    for (; solver->e > 2 * LAST_E; solver->e *= 0.1) steps += solve_at_e(solver, ENOUGH);
    solver->e = LAST_E;
    steps += solve_at_e(solver, first ? NEARLY : EXACTLY);
    memcpy(solver->centre, solver->f, sizeof *f * (size_t)solver->n);
    memset(f, 0, sizeof *f * (size_t)solver->all);
    for (int i = 0; i < solver->n; ++i) f[solver->row[i]] = solver->f[i];
    return steps;
}
