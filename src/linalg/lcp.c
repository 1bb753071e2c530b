// lcp: LCP with bounds on both sides, by principal pivoting (Cottle and Dantzig).
//
//     a = W f + b,     l <= f <= u,     a_i = 0 inside, a_i >= 0 at l, a_i <= 0 at u
//
// Rows strictly inside their bounds are the active set A; the others are at a bound. A determines
// everything:
//
//     settle:   W_AA f_A = -(b + W f_rest)_A,   a = W f + b
//
// A is correct when f_A is within bounds and the other a have the right signs. The guess gives the
// first A; rows of it that come out beyond a bound are moved to that bound. Then all rows whose a
// has the wrong sign are added to A at once, as long as that leaves fewer of them each time (block
// pivoting). It often finds the solution, but may cycle. Then they are driven one by one, the
// others kept feasible:
//
//     drive d:  f_d += s t,  f_A -= s t W_AA^-1 W_Ad,   a_d += s t (W_dd - W_dA W_AA^-1 W_Ad)
//
// s being the sign that brings a_d towards zero; t grows until a_d = 0 (d joins A), f_d is at its
// other bound, some f_j of A is at a bound (j leaves A), or some a_j = 0 (j joins A).
//
// W is symmetric and positive semidefinite here, often singular. It is factored with REGULAR of its
// diagonal added: W_AA is then definite for any A, and f does not drift along the null space
// because of rounding in W. (Without: 5 of 1000 singular problems of up to 40 rows with rounding of
// 1e-14 in W remain above 1e-10; with: none.) Settling removes the effect of the addition: f_A is
// corrected by the residual of W itself. Which of the solutions f for redundant rows is found
// depends on the start. If the Schur complement of d in brackets is only the addition, and a_d far
// above rounding, the motion is in the null space: no a changes, and f moves until some bound stops
// it. If none does, b f decreases without bound along it: there is no solution.
//
// A feasible row stays feasible, hence at most n drives; |a_d| decreases within each, and with ties
// resolved by least index no A occurs twice in it [1]. Rounding may break that. Therefore: the
// result is settled again, rows that are then infeasible are driven again a few times, pivots are
// counted, and after too many of them, or when W is not symmetric or not semidefinite, Lemke's
// method takes over (lemke.c). Its result is settled as well. The best result is kept.
//
// W_AA = L D L^T is updated by rows: a row that joins is appended, one that leaves is a positive
// rank-one update of the rows behind it, which is as stable as a new factorisation. A pivot costs
// |A| (|A| + n). W not symmetric: L U, factored anew for each A.
// [1] R. W. Cottle, Y.-Y. Chang, Least-index resolution of degeneracy in linear complementarity
// problems with sufficient matrices, SIAM J. Matrix Anal. Appl. 13 (1992).
#include "linalg/lcp.h"

#include "linalg/dense.h"
#include "linalg/lemke.h"

#include <math.h>

static const double REGULAR    = 1e-12; // relative to W_ii: added to it
static const double NULL_PIVOT = 1e-11; // relative to W_dd: rounding in a Schur complement,
static const double FAR        = 100;   // unless W_dd f_d is below this factor of the sum in a_d
static const double LAST_PIVOT = 1e-13; // relative to W_jj: smallest pivot of a row that joins A
static const double NULL_RATE  = 1e-9;  // relative to sqrt(W_jj W_dd): a_j does not change
static const double NO_WEIGHT  = 1e-20; // relative to the largest W_ii: f_i has no effect
static const double ROUNDING   = 1e-13; // relative to the magnitudes summed in a_i
static const double DIVERGED   = 1e8; // relative to the scale: a W_ii f_i that indicates divergence
enum { ROUNDS = 4, PASSES = 3 };

typedef enum place {
    AT_LOWER,
    AT_UPPER,
    INSIDE,
    STUCK
} place; // STUCK: driven, and no row blocked it

struct tni_lcp {
    int                        capacity;
    const tni_complementarity* p; // the problem being solved
    double *                   lower, *upper;
    uint8_t *                  place, *feasible, *skipped;
    int*                       active; // rows of A, in the order of L
    int                        count;
    double *                   L, *D; // L: row k at stride n; not symmetric: L U, packed
    int*                       exchange;
    double *                   df, *da, *x, *size; // directions; scratch; magnitudes in a
    double *                   best_f, best, largest;
    bool                       infeasible; // infeasibility has been proved
    tni_lemke*                 lemke;
};

tn_result tni_lcp_create(tni_arena* arena, int capacity, tni_lcp** lcp)
{
    const int n = capacity;
    tni_lcp*  s = TNI_TAKE(arena, tni_lcp, 1);
    if (s == NULL) return TN_ERR_MEMORY;
    *s   = (tni_lcp){.capacity = n,
                     .lower    = TNI_TAKE(arena, double, n),
                     .upper    = TNI_TAKE(arena, double, n),
                     .place    = TNI_TAKE(arena, uint8_t, n),
                     .feasible = TNI_TAKE(arena, uint8_t, n),
                     .skipped  = TNI_TAKE(arena, uint8_t, n),
                     .active   = TNI_TAKE(arena, int, n),
                     .L        = TNI_TAKE(arena, double, n* n),
                     .D        = TNI_TAKE(arena, double, n),
                     .exchange = TNI_TAKE(arena, int, n),
                     .df       = TNI_TAKE(arena, double, n),
                     .da       = TNI_TAKE(arena, double, n),
                     .x        = TNI_TAKE(arena, double, n),
                     .size     = TNI_TAKE(arena, double, n),
                     .best_f   = TNI_TAKE(arena, double, n)};
    *lcp = s;
    return tni_lemke_create(arena, n, &s->lemke);
}

static const double* row_of(const tni_lcp* s, int i)
{
    return s->p->W + s->p->n * i;
}

// ---- The factor of W_AA -------------------------------------------------------------------------

// Adds row j to A unless its pivot is below `least` of W_jj.
static bool join(tni_lcp* s, int j, double least)
{
    const int     n = s->p->n, m = s->count;
    const double* W   = row_of(s, j);
    double*       row = s->L + n * m;
    double        d   = W[j] + REGULAR * W[j];
    for (int k = 0; k < m; ++k) {
        const double* L   = s->L + n * k;
        double        sum = W[s->active[k]];
        for (int q = 0; q < k; ++q) sum -= L[q] * row[q];
        row[k] = sum;
    }
    for (int k = 0; k < m; ++k) {
        const double l = row[k] / s->D[k];
        d -= l * row[k];
        row[k] = l;
    }
    if (!(d > least * W[j] && d > NO_WEIGHT * s->largest)) return false;
    s->D[m]             = d;
    s->active[s->count] = j;
    ++s->count;
    return true;
}

// Removes the k-th row of A: adds the contribution of its column, alpha x x^T, to the rows behind
// it, which move up by one.
static void leave(tni_lcp* s, int k)
{
    const int n     = s->p->n;
    double    alpha = s->D[k], *x = s->x, *beta = s->da;
    for (int i = k + 1; i < s->count; ++i) {
        double *      to = s->L + n * (i - 1), y = to[n + k];
        const double* from = to + n;
        for (int q = 0; q < k; ++q) to[q] = from[q];
        for (int q = k + 1; q < i; ++q) {
            y -= x[q] * from[q];
            to[q - 1] = from[q] + beta[q] * y;
        }
        const double d = s->D[i] + alpha * y * y;
        x[i]           = y;
        beta[i]        = alpha * y / d;
        alpha *= s->D[i] / d;
        s->D[i - 1]      = d;
        s->active[i - 1] = s->active[i];
    }
    --s->count;
}

// x <- W_AA^-1 x.
static void solve_active(const tni_lcp* s, double* x)
{
    const int n = s->p->n, m = s->count;
    if (!s->p->symmetric) {
        tni_dense_lu_solve(m, s->L, s->exchange, x);
        return;
    }
    for (int k = 0; k < m; ++k) {
        const double* L = s->L + n * k;
        for (int q = 0; q < k; ++q) x[k] -= L[q] * x[q];
    }
    for (int k = 0; k < m; ++k) x[k] /= s->D[k];
    for (int k = m - 1; k > 0; --k) {
        const double *L = s->L + n * k, y = x[k];
        for (int q = 0; q < k; ++q) x[q] -= L[q] * y;
    }
}

// ---- Settling: f and a for a given A ------------------------------------------------------------

static void go_to_bound(tni_lcp* s, int i, bool upper)
{
    s->place[i] = upper ? AT_UPPER : AT_LOWER;
    s->p->f[i]  = upper ? s->upper[i] : s->lower[i];
}

// Moves row i to the bound nearest to f.
static void go_to_nearest_bound(tni_lcp* s, int i)
{
    go_to_bound(s, i, s->upper[i] - s->p->f[i] < s->p->f[i] - s->lower[i]);
}

static void read_places(tni_lcp* s)
{
    const double* f = s->p->f;
    for (int i = 0; i < s->p->n; ++i) {
        s->place[i] = INSIDE;
        if (!(f[i] > s->lower[i])) go_to_bound(s, i, !(s->lower[i] > -HUGE_VAL));
        else if (!(f[i] < s->upper[i])) go_to_bound(s, i, s->upper[i] < HUGE_VAL);
    }
}

static void factor_general(tni_lcp* s)
{
    const int m = s->count;
    for (int k = 0; k < m; ++k) {
        for (int q = 0; q < m; ++q) s->L[m * k + q] = row_of(s, s->active[k])[s->active[q]];
    }
    if (tni_dense_lu(m, s->L, s->exchange) == TN_OK) return;
    for (int k = 0; k < m; ++k) go_to_nearest_bound(s, s->active[k]);
    s->count = 0;
}

static void factor_active(tni_lcp* s)
{
    s->count = 0;
    for (int i = 0; i < s->p->n; ++i) {
        if (s->place[i] != INSIDE) continue;
        if (!s->p->symmetric) s->active[s->count++] = i;
        else if (!join(s, i, LAST_PIVOT)) go_to_nearest_bound(s, i);
    }
    if (!s->p->symmetric) factor_general(s);
}

// f_A from the other rows, then iterative refinement with the residual a_A.
static void solve_inside(tni_lcp* s)
{
    const tni_complementarity* p = s->p;
    for (int k = 0; k < s->count; ++k) p->f[s->active[k]] = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        for (int k = 0; k < s->count; ++k) {
            const double* W   = row_of(s, s->active[k]);
            double        sum = p->b[s->active[k]];
            for (int j = 0; j < p->n; ++j) sum += W[j] * p->f[j];
            s->x[k] = -sum;
        }
        solve_active(s, s->x);
        for (int k = 0; k < s->count; ++k) p->f[s->active[k]] += s->x[k];
    }
}

// Moves rows of A that are beyond a bound to it. Returns how many.
static int clamp_active(tni_lcp* s)
{
    int count = 0;
    for (int k = s->count - 1; k >= 0; --k) {
        const int    i = s->active[k];
        const double f = s->p->f[i];
        if (f >= s->lower[i] && f <= s->upper[i]) continue;
        go_to_bound(s, i, f > s->upper[i]);
        if (s->p->symmetric) leave(s, k);
        ++count;
    }
    if (count > 0 && !s->p->symmetric) factor_active(s);
    return count;
}

static void take_a(tni_lcp* s)
{
    const tni_complementarity* p = s->p;
    for (int i = 0; i < p->n; ++i) {
        const double* W   = row_of(s, i);
        double        sum = p->b[i], size = fabs(p->b[i]);
        for (int j = 0; j < p->n; ++j) {
            sum += W[j] * p->f[j];
            size += fabs(W[j] * p->f[j]);
        }
        p->a[i]    = sum;
        s->size[i] = size;
    }
}

// Direction in which f_i has to move: +1, -1, or 0 if row i is feasible up to rounding.
static double needed_direction(const tni_lcp* s, int i)
{
    const double a = s->p->a[i], least = ROUNDING * s->size[i];
    if (s->place[i] == AT_LOWER && a < -least && s->lower[i] < s->upper[i]) return 1;
    if (s->place[i] == AT_UPPER && a > least && s->lower[i] < s->upper[i]) return -1;
    return 0;
}

// Sets f and a from the places. True if all rows are feasible.
static bool settle(tni_lcp* s)
{
    bool all = true;
    factor_active(s);
    do solve_inside(s);
    while (clamp_active(s) > 0);
    take_a(s);
    for (int i = 0; i < s->p->n; ++i) {
        s->feasible[i] = needed_direction(s, i) == 0;
        all            = all && s->feasible[i] && s->place[i] != STUCK;
    }
    return all;
}

// ---- Driving one row to feasibility -------------------------------------------------------------

// df and da for f_d moving in direction `sign`.
static void find_motion(tni_lcp* s, int d, double sign)
{
    const int n = s->p->n;
    for (int k = 0; k < s->count; ++k) s->x[k] = -sign * row_of(s, s->active[k])[d];
    solve_active(s, s->x);
    for (int i = 0; i < n; ++i) s->df[i] = 0;
    for (int i = 0; i < n; ++i) s->da[i] = sign * row_of(s, d)[i];
    for (int k = 0; k < s->count; ++k) {
        const double* W = row_of(s, s->active[k]);
        const double  x = s->x[k];
        for (int i = 0; i < n; ++i) s->da[i] += x * W[i];
        s->df[s->active[k]] = x;
    }
    s->df[d] = sign;
    s->da[d] += sign * REGULAR * row_of(s, d)[d];
}

// How far until the feasible row j blocks the motion.
static double find_room(const tni_lcp* s, int j, double weight_d)
{
    const tni_complementarity* p  = s->p;
    const double               df = s->df[j], da = s->da[j];
    if (s->place[j] == INSIDE) {
        if (df == 0) return HUGE_VAL;
        return fmax(0, df > 0 ? s->upper[j] - p->f[j] : p->f[j] - s->lower[j]) / fabs(df);
    }
    if (s->place[j] == STUCK || s->skipped[j] || !(s->lower[j] < s->upper[j])) return HUGE_VAL;
    if ((da > 0) != (s->place[j] == AT_UPPER)) return HUGE_VAL;
    if (!(da * da > NULL_RATE * NULL_RATE * (row_of(s, j)[j] * weight_d))) return HUGE_VAL;
    return fmax(0, da > 0 ? -p->a[j] : p->a[j]) / fabs(da);
}

// The row that blocks d first, possibly d itself; -1: none. *t <- the step length.
static int find_stop(const tni_lcp* s, int d, double sign, double* t)
{
    const tni_complementarity* p    = s->p;
    const double               W_dd = row_of(s, d)[d], left = sign * s->da[d];
    int                        stop = -1;
    *t                              = sign > 0 ? s->upper[d] - p->f[d] : p->f[d] - s->lower[d];
    if (left > NO_WEIGHT * s->largest) {
        const double zero = -sign * p->a[d] / left; // step to a_d = 0
        if (left > NULL_PIVOT * W_dd || zero * W_dd < FAR * s->size[d]) *t = fmin(*t, zero);
    }
    if (*t < HUGE_VAL) stop = d;
    for (int j = 0; j < p->n; ++j) {
        if (j == d || !s->feasible[j]) continue;
        const double far = find_room(s, j, W_dd);
        if (!(far < *t)) continue;
        *t   = far;
        stop = j;
    }
    return stop;
}

static void move(tni_lcp* s, int d, double t)
{
    const tni_complementarity* p = s->p;
    for (int k = 0; k < s->count; ++k) p->f[s->active[k]] += t * s->df[s->active[k]];
    p->f[d] += t * s->df[d];
    for (int i = 0; i < p->n; ++i) {
        p->a[i] = s->place[i] == INSIDE ? 0 : p->a[i] + t * s->da[i];
    }
}

// Row j blocked: it goes to its bound if it is in A, else joins A.
static void stop_row(tni_lcp* s, int j)
{
    if (s->place[j] == INSIDE) {
        int k = 0;
        while (s->active[k] != j) ++k;
        leave(s, k);
        go_to_bound(s, j, s->df[j] > 0);
        return;
    }
    if (join(s, j, LAST_PIVOT)) s->place[j] = INSIDE;
    else s->skipped[j] = 1;
}

// The driven row is feasible: at its other bound, or with a_d = 0.
static void arrive(tni_lcp* s, int d, double sign, double t, double span)
{
    if (t >= span) go_to_bound(s, d, sign > 0);
    else if (join(s, d, LAST_PIVOT)) s->place[d] = INSIDE;
    else s->place[d] = STUCK;
    s->feasible[d] = 1;
}

// Nothing blocks the motion of d. True if it is in the null space of a semidefinite W, so that
// there is no solution. |da_j| is bounded by a square root, hence the squares.
static bool proves_infeasible(const tni_lcp* s, int d)
{
    const double W_dd = fabs(row_of(s, d)[d]);
    if (fabs(s->da[d]) > fmax(NULL_PIVOT * W_dd, NO_WEIGHT * s->largest)) return false;
    for (int j = 0; j < s->p->n; ++j) {
        const double da = s->da[j], W_jj = fabs(row_of(s, j)[j]);
        if (j != d && s->place[j] != INSIDE && !(da * da <= NULL_PIVOT * W_jj * W_dd)) return false;
    }
    return true;
}

static void drive(tni_lcp* s, int d, long limit, int* pivots)
{
    const double sign = needed_direction(s, d);
    for (int i = 0; i < s->p->n; ++i) s->skipped[i] = 0;
    while (*pivots < limit) {
        double t;
        find_motion(s, d, sign);
        const double span = sign > 0 ? s->upper[d] - s->p->f[d] : s->p->f[d] - s->lower[d];
        const int    stop = find_stop(s, d, sign, &t);
        ++*pivots;
        if (stop < 0) {
            s->infeasible  = s->infeasible || proves_infeasible(s, d);
            s->place[d]    = STUCK;
            s->feasible[d] = 1;
            return;
        }
        move(s, d, t);
        if (stop == d) {
            arrive(s, d, sign, t, span);
            return;
        }
        stop_row(s, stop);
    }
    go_to_nearest_bound(s, d); // will be settled and checked again
}

// The infeasible row with the largest a^2 / W_ii; -1: none.
static int find_infeasible(tni_lcp* s)
{
    double worst = -1;
    int    row   = -1;
    for (int i = 0; i < s->p->n; ++i) {
        if (s->feasible[i] || needed_direction(s, i) == 0) s->feasible[i] = 1;
        if (s->feasible[i]) continue;
        const double a = s->p->a[i], W = fmax(row_of(s, i)[i], NO_WEIGHT * s->largest);
        const double off = W > 0 ? a * a / W : HUGE_VAL;
        if (!(off > worst)) continue;
        worst = off;
        row   = i;
    }
    return row;
}

// Adds all infeasible rows to A. Returns how many.
static int add_infeasible(tni_lcp* s)
{
    int count = 0;
    for (int i = 0; i < s->p->n; ++i) {
        if (s->feasible[i]) continue;
        s->place[i] = INSIDE;
        ++count;
    }
    return count;
}

static void drive_all(tni_lcp* s, int* pivots)
{
    const long limit = *pivots + 100 + 20L * s->p->n;
    for (int d = find_infeasible(s); d >= 0 && *pivots < limit; d = find_infeasible(s)) {
        drive(s, d, limit, pivots);
    }
}

// ---- Solving ------------------------------------------------------------------------------------

// Sets bounds. False if they or the numbers of the problem are invalid.
static bool prepare(tni_lcp* s)
{
    const tni_complementarity* p    = s->p;
    bool                       good = true;
    s->largest                      = 0;
    for (int i = 0; i < p->n; ++i) {
        const bool box = p->condition[i] == TNI_BOX;
        s->lower[i]    = box ? p->lower[i] : 0;
        s->upper[i]    = box ? p->upper[i] : HUGE_VAL;
        s->largest     = fmax(s->largest, row_of(s, i)[i]);
        good           = good && fabs(p->b[i]) < HUGE_VAL && s->lower[i] <= s->upper[i];
        good           = good && fmin(fabs(s->lower[i]), fabs(s->upper[i])) < HUGE_VAL;
        for (int j = 0; j < p->n; ++j) good = good && fabs(row_of(s, i)[j]) < HUGE_VAL;
    }
    return good;
}

// True if f has diverged along the null space, for lack of a solution.
static bool has_diverged(const tni_lcp* s, double scale)
{
    for (int i = 0; i < s->p->n; ++i) {
        if (!(row_of(s, i)[i] * fabs(s->p->f[i]) <= DIVERGED * scale)) return true;
    }
    return false;
}

// Keeps f if it is the best so far. True if it is a solution.
static bool keep_best(tni_lcp* s)
{
    int          row;
    const double residual = tni_complementarity_residual(s->p, &row),
                 scale    = tni_complementarity_scale(s->p);
    const bool good       = residual <= TNI_COMPLEMENTARITY_SOLVED * scale;
    if (residual < s->best && (good || !has_diverged(s, scale))) {
        s->best = residual;
        memcpy(s->best_f, s->p->f, sizeof *s->best_f * (size_t)s->p->n);
    }
    return good;
}

static int count_infeasible(const tni_lcp* s)
{
    int count = 0;
    for (int i = 0; i < s->p->n; ++i) count += !s->feasible[i];
    return count;
}

static bool solve_by_driving(tni_lcp* s, int* pivots)
{
    for (int round = 0, fewest = s->p->n + 1;;) {
        const bool all = settle(s), good = keep_best(s);
        const int  count = count_infeasible(s);
        if (all || !s->p->symmetric || round == ROUNDS) return good;
        if (count == 0) return false; // some are stuck
        if (count < fewest) {
            fewest = count;
            *pivots += add_infeasible(s);
        } else {
            drive_all(s, pivots);
            ++round;
        }
    }
}

static bool solve_by_lemke(tni_lcp* s, int* pivots)
{
    const tni_complementarity* p = s->p;
    if (!tni_lemke_solve(s->lemke, p->n, p->W, p->b, s->lower, s->upper, p->f, pivots))
        return false;
    tni_complementarity_apply(p);
    keep_best(s);
    read_places(s);
    return solve_by_driving(s, pivots);
}

bool tni_lcp_solve(tni_lcp* s, const tni_complementarity* p, int* pivots)
{
    TN_ASSERT(p->n <= s->capacity);
    *pivots       = 0;
    s->p          = p;
    s->best       = HUGE_VAL;
    s->infeasible = false;
    if (!prepare(s)) {
        for (int i = 0; i < p->n; ++i) p->f[i] = 0;
        tni_complementarity_apply(p);
        return false;
    }
    for (int i = 0; i < p->n; ++i) s->best_f[i] = fmin(fmax(0, s->lower[i]), s->upper[i]);
    read_places(s);
    if (solve_by_driving(s, pivots) || (!s->infeasible && solve_by_lemke(s, pivots))) return true;
    memcpy(p->f, s->best_f, sizeof *p->f * (size_t)p->n);
    tni_complementarity_apply(p);
    int row;
    return tni_complementarity_residual(p, &row) <=
           TNI_COMPLEMENTARITY_SOLVED * tni_complementarity_scale(p);
}
