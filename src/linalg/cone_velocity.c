// cone_velocity: cones whose contacts give a little, solved by velocities.
//
//     a = W f + b,   f in K:  f_n >= 0, |f_t| <= mu f_n,   W = R^T R of rank r
//
// W is often of a rank far below its n: a machine on many feet moves in six ways. Forces are not
// unique then, and Newton's method on them (friction_cone.c) loses its way among them. Velocities are unique,
// and there are fewer: x with a = R^T x + b, x = R f. Contacts that give by e/rho for each unit of
// force about a centre c answer a velocity with one force,
//
//     f = P_K(c - rho a^ / e),     a^_n = a_n + s,  a^_t = a_t,   s = mu |a_t|
//
// P_K the nearest point of the cone [1], a^ what makes the law of friction normal to it (de Saxce
// [2]). For s fixed x is the minimum of a convex function without corners,
//
//     |x|^2 / 2 + sum e/rho |f|^2 / 2,     gradient G = x - R f,     H = E + R (rho/e P_K') R^T
//
// so that Newton's method with a search along its steps arrives from anywhere. With the derivative of
// s in H it converges quadratically, near the end: that step is taken where it makes |G| smaller, the
// other one where not. From the answer for a large e to that for a smaller one; then c <- f again and
// again (the method of multipliers [3]), which takes e/(e + W) of what is left: two or three times.
// Begun with c = 0 it ends next to the smallest forces.
//
// Cost: n^2 r to factor W, n r^2 + r^3/3 a step, r^2 and less where contacts are open. Fails by not
// arriving: the caller looks at what has come of it.
// [1] J. Moreau, Proximite et dualite dans un espace hilbertien, Bull. Soc. Math. France 93 (1965).
// [2] G. De Saxce, Z. Feng, The bipotential method, Math. Comput. Modelling 28 (1998).
// [3] R. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control 14 (1976).
#include "linalg/cone_velocity.h"

#include "linalg/dense.h"

#include <float.h>
#include <math.h>

static const double FIRST_E  = 1e-2;
static const double NEAR_E   = 1e-3;
static const double LAST_E   = 1e-5;
static const double ENOUGH   = 1e-2;  // |G| of |x|, before e gets smaller,
static const double NEARLY   = 1e-8;  // the same, before c is moved,
static const double EXACTLY  = 1e-14; // and after
static const double ROUNDING = 1e-8;  // of |x|: here |G| may be all rounding, over e
enum { STEPS = 20, SEARCHES = 12, HALVINGS = 3, ROWS = 3 };

tn_result tni_cone_velocity_create(tni_arena* arena, int capacity, tni_cone_velocity* give)
{
    const size_t n = (size_t)capacity;
    *give          = (tni_cone_velocity){.capacity = capacity,
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

// ---- W = R^T R -----------------------------------------------------------------------------------

// The rows of which most is left, beside what they had, come first; left is scratch. Returns the rank; -1: more than most.
static int factor(int n, int most_rank, const double* own, double nothing, double* left, double* R)
{
    for (int rank = 0; rank <= most_rank; ++rank) {
        int    best = -1;
        double most = nothing;
        for (int i = 0; i < n; ++i) {
            const double part = left[(n + 1) * i] / own[i];
            if (part > most) best = i, most = part; // of 0/0 nothing is
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

// ---- A contact -----------------------------------------------------------------------------------

// f of a group at a, and, where Q is given, what it falls by for each unit of a^; false: it is open.
static bool answer(const tni_cone_velocity* give, const tni_cone_point* g, double slip,
                   const double* a, double* f, double Q[ROWS][ROWS])
{
    const double by = g->rho[0] / give->e, *c = give->centre + g->first;
    const double mu    = g->tangents > 0 ? g->disc[0].mu : 0;
    const int    n     = g->size;
    const double yn    = c[0] - by * (a[0] + slip),
                 yt[2] = {n > 1 ? c[1] - by * a[1] : 0, n > 2 ? c[2] - by * a[2] : 0};
    const double size  = sqrt(yt[0] * yt[0] + yt[1] * yt[1]);
    for (int i = 0; Q != NULL && i < ROWS; ++i)
        for (int j = 0; j < ROWS; ++j) Q[i][j] = i == j && i < n ? by : 0;
    if (size <= mu * yn || (n == 1 && yn > 0)) { // it sticks
        f[0] = yn;
        for (int k = 1; k < n; ++k) f[k] = yt[k - 1];
        return true;
    }
    for (int k = 0; k < n; ++k) f[k] = 0;
    if (!(mu * size > -yn)) return false; // so written, it catches NaN too
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

// ---- All of them ---------------------------------------------------------------------------------

// a, f and G at x. moving: slip goes with a; else it is as it was. Returns |G|^2.
static double look(tni_cone_velocity* g, const double* x, bool moving)
{
    mul_rt(g, x, g->a);
    for (int j = 0; j < g->n; ++j) g->a[j] += g->b[j];
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        if (moving) g->slip[i] = slip_of(of, g->a + of->first);
        (void)answer(g, of, g->slip[i], g->a + of->first, g->f + of->first, NULL);
    }
    double sum = 0;
    for (int k = 0; k < g->rank; ++k) {
        g->G[k] = x[k] - dot(g->n, g->R + g->n * k, g->f);
        sum += g->G[k] * g->G[k];
    }
    return sum <= DBL_MAX ? sum : HUGE_VAL; // NaN too
}

// H += R_i Q R_i^T of one group.
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

// dx <- -H^-1 G at the a and f last looked at. whole: with the derivative of slip.
static bool find_step(tni_cone_velocity* g, bool whole)
{
    const int r = g->rank;
    memset(g->H, 0, sizeof *g->H * (size_t)(r * r));
    for (int k = 0; k < r; ++k) g->H[(r + 1) * k] = 1;
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        const double*         a  = g->a + of->first;
        double                Q[ROWS][ROWS], unused[ROWS];
        if (!answer(g, of, g->slip[i], a, unused, Q)) continue;
        const double length = length_of(of, a);
        for (int m = 0; whole && length > 0 && m < of->size; ++m) // a^_n has mu |a_t|
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

// The derivative along dx at x + t dx, slip fixed.
static double slope(tni_cone_velocity* g, double t)
{
    double sum = 0;
    for (int k = 0; k < g->rank; ++k) sum += (g->x[k] + t * g->dx[k]) * g->dx[k];
    for (int i = 0; i < g->count; ++i) {
        const tni_cone_point* of = &g->groups[i];
        double                a[ROWS], f[ROWS];
        for (int k = 0; k < of->size; ++k) a[k] = g->a[of->first + k] + t * g->da[of->first + k];
        if (!answer(g, of, g->slip[i], a, f, NULL)) continue;
        for (int k = 0; k < of->size; ++k) sum -= f[k] * g->da[of->first + k];
    }
    return sum;
}

// How far to go: to where the slope is a small part of the first one. It rises all the way.
static double search(tni_cone_velocity* g)
{
    double       low = 0, high = 1, at_low = slope(g, 0), at_high = slope(g, 1);
    const double small = 0.05 * fabs(at_low);
    for (int k = 0; k < SEARCHES && at_high < -small; ++k) { // a corner lies behind
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

// The minimum for slip as it is. Returns the steps taken.
static int minimise(tni_cone_velocity* g, double part)
{
    double left  = look(g, g->x, false);
    int    steps = 0;
    for (; steps < STEPS && left > part * part * dot(g->rank, g->x, g->x); ++steps) {
        const double before = left;
        if (!(left < HUGE_VAL) || !find_step(g, false)) break;
        mul_rt(g, g->dx, g->da);
        const double t = search(g);
        for (int k = 0; k < g->rank; ++k) g->x[k] += t * g->dx[k];
        left = look(g, g->x, false);
        if (left <= ROUNDING * ROUNDING * dot(g->rank, g->x, g->x) && left > 0.25 * before) break;
    }
    return steps;
}

// Newton's method at one e, until |G| is down to `part` of |x|, or to what rounding leaves of it.
static int settle(tni_cone_velocity* g, double part)
{
    double left  = look(g, g->x, true);
    int    steps = 0, minima = 0;
    while (steps < STEPS && left > 0 && left < HUGE_VAL) {
        const double size = dot(g->rank, g->x, g->x), before = left;
        double       tried = HUGE_VAL;
        if (left <= part * part * size) break;
        double t = 1;
        for (int half = find_step(g, true) ? 0 : HALVINGS; half < HALVINGS; ++half, t *= 0.5) {
            for (int k = 0; k < g->rank; ++k) g->tried[k] = g->x[k] + t * g->dx[k];
            tried = look(g, g->tried, true);
            if (tried < (1 - 0.75 * t) * left) break;
        }
        ++steps;
        if (tried < (1 - 0.75 * t) * left) {
            memcpy(g->x, g->tried, sizeof *g->x * (size_t)g->rank);
            left = tried;
            continue;
        }
        left = look(g, g->x, true);
        if (left <= ROUNDING * ROUNDING * size) break;
        for (int i = 0; i < g->count; ++i) // by halves: else it may go to and fro
            g->slip[i] = g->held[i] = minima > 0 ? 0.5 * (g->held[i] + g->slip[i]) : g->slip[i];
        ++minima;
        steps += minimise(g, fmax(part, 0.01 * ENOUGH));
        left = look(g, g->x, true);
        if (left <= ROUNDING * ROUNDING * size && left > 0.25 * before) break;
    }
    return steps;
}

// Which groups are taken along.
static void pick(tni_cone_velocity* give, const tni_complementarity* p,
                 const tni_cone_point* groups, int count, double far)
{
    give->n = give->count = 0;
    for (int i = 0; i < count; ++i) {
        const tni_cone_point* g = &groups[i];
        if (!(p->f[g->first] > 0) && p->a[g->first] > far) continue;
        give->groups[give->count]         = *g;
        give->groups[give->count++].first = give->n;
        for (int k = 0; k < g->size; ++k) give->row[give->n++] = g->first + k;
    }
}

bool tni_cone_velocity_begin(tni_cone_velocity* give, const tni_complementarity* p,
                             const tni_cone_point* groups, int count, double nothing, double far,
                             bool near)
{
    TN_ASSERT(p->n <= give->capacity && p->symmetric);
    pick(give, p, groups, count, far);
    const int n = give->n;
    double*   f = give->tried;
    for (int i = 0; i < n; ++i) {
        const double* W = p->W + (size_t)p->n * (size_t)give->row[i];
        for (int j = 0; j < n; ++j) give->H[n * i + j] = W[give->row[j]];
        give->b[i]      = p->b[give->row[i]];
        give->a[i]      = W[give->row[i]];
        f[i]            = p->f[give->row[i]];
        give->centre[i] = near ? f[i] : 0;
    }
    give->all  = p->n;
    give->e    = near ? NEAR_E : FIRST_E;
    give->rank = factor(n, n / 2, give->a, nothing, give->H, give->R);
    if (give->rank < 0) return false;
    for (int k = 0; k < give->rank; ++k) {
        for (int i = 0; i < n; ++i) give->T[give->rank * i + k] = give->R[n * k + i];
        give->x[k] = dot(n, give->R + n * k, f);
    }
    return true;
}

int tni_cone_velocity_solve(tni_cone_velocity* give, double* f)
{
    int        steps = 0;
    const bool first = give->e > LAST_E;
    for (; give->e > 2 * LAST_E; give->e *= 0.1) steps += settle(give, ENOUGH);
    give->e = LAST_E;
    steps += settle(give, first ? NEARLY : EXACTLY);
    memcpy(give->centre, give->f, sizeof *f * (size_t)give->n);
    memset(f, 0, sizeof *f * (size_t)give->all);
    for (int i = 0; i < give->n; ++i) f[give->row[i]] = give->f[i];
    return steps;
}
