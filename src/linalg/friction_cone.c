// friction_cone: one-sided rows with Coulomb friction: block Gauss-Seidel, Newton, continuation.
//
//     a = W f + b,   per cone (n, t), t of one or two rows:
//     a_n >= 0, f_n >= 0, a_n f_n = 0;   |f_t| <= mu f_n;   a_t = -s f_t, s >= 0, s = 0 inside
//
// the same for spin and roll with discs of their own; one-sided and box rows are allowed besides.
// With y = f - rho a, rho = 1/trace of the cone's block of W, these conditions are F(f) = f - P(y)
// = 0 [1]:
//
//     P_n = max(y_n, 0)      P_t = y_t, shortened to mu P_n where it is longer
//
// (box rows: y clamped to the bounds; cone_point.c). The residual is |F| / rho, in units of a, and
// does not grow with mu. Five methods, each applied where the previous one failed:
//
// 1. Sweeps (block Gauss-Seidel), one cone at a time, the others fixed: cone_point.c.
// 2. Newton on F, for where sweeps converge slowly (heavy on light). With C a derivative of P at y,
//    a row of it is G = E - C (E - rho W); the step solves (G + delta I) step = -F and is halved
//    while the residual grows. delta > 0 since W is often singular; the part of f in the null space
//    of W does not matter.
// 3. Newton on F smoothed with width e: max(x, 0) becomes (x + sqrt(x^2 + 4 e^2)) / 2. Single rows
//    then have f rho a = e^2, the central path of an interior point method. e is decreased in
//    steps, each starting from the previous solution. This avoids the combinatorial difficulty of
//    2: many contacts each changing between open, stick and slip.
// 4. Newton with mu increasing from 0, where the problem is an ordinary complementarity problem,
//    for the few cases in which the path of 3 has a fold. Then 3 again with smaller steps.
// 5. Where W is given as an operator and Newton would be too expensive: sweeps with Anderson
//    acceleration only.
//
// Convergence is not guaranteed (where W is not symmetric there may be no solution, Painleve: B_nn
// <= 0), so all loops are bounded and the best f of all is kept. Measured on problems of up to 120
// rows (stacks with masses 1:1000 either way up, more contacts than W has rank, mu up to 3): a
// residual above 1e-10 remained in 455 of 3,200 with 1. and 2., in 13 of 3,200 with 3., in 2 of
// 24,000 with all. Cost: n^2 a sweep, 2/3 m^3 a Newton step, m the rows that are not fixed at zero.
// A good guess is given to Newton before any sweep.
// [1] P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton
// like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
#include "linalg/friction_cone.h"

#include "linalg/dense.h"

#include <float.h>
#include <limits.h>
#include <math.h>

static const double TARGET   = 1e-11; // residual at which iteration stops
static const double ACCEPTED = 1e-10; // residual that counts as solved
static const double NEAR     = 1e-2;  // residual below which Newton is tried at once
static const double ROUNDING = 1e-14; // relative to the sum of magnitudes in a
enum { ROWS = TNI_CONE_POINT_ROWS, HISTORY = 8 };
enum { NEWTON_STEPS = 20, HALVINGS = 8, FEW_SWEEPS = 20, MANY_SWEEPS = 100 };

// delta of a Newton step: fixed + share * residual.
typedef struct damping {
    double fixed, share;
} damping;

struct tni_cone {
    int                        capacity, rounds, limit; // limit: of rounds
    double                     target, accepted;        // residuals: stop; solved
    const tni_complementarity* p;                       // the problem being solved
    const tni_operator*        op;                      // its W, if p->W is NULL
    tni_cone_point*            groups;                  // cones and single rows
    int                        count;
    double                     scale; // of a residual: the largest |b|
    double  smoothing;                // smoothing width e, relative to scale * rho; 0: not smoothed
    double  mu_part;                  // factor on mu
    double  best;                     // residual of best_f
    double *best_f, *F, *G, *step, *from, *row, *rhs;
    double *moves, *gains; // for Anderson acceleration: HISTORY of each
    int *   exchange, *moving;
};

static tn_result create(tni_arena* arena, int capacity, tni_cone** cone)
{
    tni_cone* c = TNI_TAKE(arena, tni_cone, 1);
    *cone       = c;
    if (c == NULL) return TN_ERR_MEMORY;
    c->capacity = capacity;
    c->groups   = TNI_TAKE(arena, tni_cone_point, capacity);
    c->best_f   = TNI_TAKE(arena, double, capacity);
    c->F        = TNI_TAKE(arena, double, capacity);
    c->step     = TNI_TAKE(arena, double, capacity);
    c->from     = TNI_TAKE(arena, double, capacity);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_cone_create_operator(tni_arena* arena, int capacity, tni_cone** cone)
{
    if (create(arena, capacity, cone) != TN_OK) return TN_ERR_MEMORY;
    (*cone)->moves = TNI_TAKE(arena, double, (HISTORY + 1) * (size_t)capacity);
    (*cone)->gains = TNI_TAKE(arena, double, (HISTORY + 1) * (size_t)capacity);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_cone_create(tni_arena* arena, int capacity, tni_cone** cone)
{
    if (create(arena, capacity, cone) != TN_OK) return TN_ERR_MEMORY;
    tni_cone* c = *cone;
    c->G        = TNI_TAKE(arena, double, (size_t)capacity*(size_t)capacity);
    c->row      = TNI_TAKE(arena, double, capacity);
    c->rhs      = TNI_TAKE(arena, double, capacity);
    c->exchange = TNI_TAKE(arena, int, capacity);
    c->moving   = TNI_TAKE(arena, int, capacity);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// ---- The conditions -----------------------------------------------------------------------------

static const double* row_of(const tni_complementarity* p, int i)
{
    return p->W + (size_t)p->n * (size_t)i;
}

static double a_of(const tni_complementarity* p, int i)
{
    const double* row = row_of(p, i);
    double        sum = 0;
    for (int k = 0; k < p->n; ++k) sum += row[k] * p->f[k];
    return sum + p->b[i];
}

static void find_groups(tni_cone* c)
{
    const tni_complementarity* p       = c->p;
    double                     largest = 0, diagonal[ROWS];
    if (c->op != NULL) {
        c->count = c->op->find(c->op->user, p, c->groups);
        return;
    }
    for (int i = 0; i < p->n; ++i) largest = fmax(largest, row_of(p, i)[i]);
    c->count = 0;
    for (int i = 0; i < p->n; i += c->groups[c->count++].size) {
        tni_cone_point* g = &c->groups[c->count];
        *g                = tni_cone_point_find(p->n, i, p->condition, p->lower, p->upper, p->mu);
        for (int k = 0; k < g->size; ++k) diagonal[k] = row_of(p, i + k)[i + k];
        tni_cone_point_weigh(g, diagonal, largest);
    }
}

static void set_mu_part(tni_cone* c, double part)
{
    const tni_complementarity* p = c->p;
    c->mu_part                   = part;
    for (int k = 0; k < c->count; ++k) {
        tni_cone_point* g = &c->groups[k];
        for (int d = 0; d < g->disc_count; ++d) {
            const int row = g->disc[d].first > g->tangents ? g->disc[d].first : 0;
            g->disc[d].mu = part * p->mu[g->first + row];
        }
    }
}

static void project(const tni_cone* c, const tni_cone_point* g, const double* f, const double* a,
                    double P[ROWS], double C[ROWS][ROWS])
{
    tni_cone_point_project(g, c->smoothing * c->scale, f, a, P, C);
}

// Square of the relative residual of one group; sets its F.
static double group_residual(const tni_cone* c, const tni_cone_point* g, const double* f,
                             const double* a, double* F)
{
    double P[ROWS], C[ROWS][ROWS], sum = 0;
    project(c, g, f, a, P, C);
    for (int k = 0; k < g->size; ++k) {
        F[k]           = f[k] - P[k];
        const double r = F[k] / (g->rho[k] * c->scale);
        sum += r * r;
    }
    return sum;
}

// Sets a and F at f. Returns the relative residual in the 2-norm; remembers the best f of the
// original problem (no smoothing, full mu).
static double evaluate(tni_cone* c)
{
    const tni_complementarity* p   = c->p;
    double                     sum = 0;
    if (c->op != NULL) {
        c->op->apply(c->op->user, p->f, p->a);
        for (int i = 0; i < p->n; ++i) p->a[i] += p->b[i];
    } else {
        for (int i = 0; i < p->n; ++i) p->a[i] = a_of(p, i);
    }
    for (int k = 0; k < c->count; ++k) {
        const tni_cone_point* g = &c->groups[k];
        sum += group_residual(c, g, p->f + g->first, p->a + g->first, c->F + g->first);
    }
    const double residual = sum <= DBL_MAX ? sqrt(sum) : HUGE_VAL; // NaN too
    if (c->smoothing == 0 && c->mu_part == 1 && residual < c->best) {
        c->best = residual;
        memcpy(c->best_f, p->f, sizeof(double) * (size_t)p->n);
    }
    return residual;
}

// ---- Sweeps -------------------------------------------------------------------------------------

// One sweep. Returns the sum of squared relative residuals, each just before its group is solved.
static double one_sweep(tni_cone* c)
{
    const tni_complementarity* p   = c->p;
    double                     sum = 0;
    if (c->op != NULL)
        return c->op->sweep(c->op->user, p, c->groups, c->count) / (c->scale * c->scale);
    for (int k = 0; k < c->count; ++k) {
        const tni_cone_point* g = &c->groups[k];
        double *              f = p->f + g->first, a[ROWS], F[ROWS];
        for (int i = 0; i < g->size; ++i) a[i] = a_of(p, g->first + i);
        sum += group_residual(c, g, f, a, F);
        tni_cone_point_solve(g, row_of(p, g->first) + g->first, p->n, f, a);
    }
    return sum;
}

// Up to count sweeps. True if f is a solution.
static bool sweeps(tni_cone* c, int count)
{
    for (int s = 0; s < count && c->rounds < c->limit; ++s) {
        c->rounds += 1;
        const double sum = one_sweep(c);
        if (!(sum > c->target * c->target && sum <= DBL_MAX)) break;
    }
    return evaluate(c) <= c->target;
}

// ---- Newton -------------------------------------------------------------------------------------

// Row i of a group in G = E - C (E - rho W).
static void jacobian(const tni_cone* c, const tni_cone_point* g, int i, const double C[ROWS][ROWS],
                     double* row)
{
    const tni_complementarity* p = c->p;
    memset(row, 0, sizeof(double) * (size_t)p->n);
    for (int j = 0; j < g->size; ++j) {
        const double  share = g->rho[j] * C[i][j];
        const double* W     = row_of(p, g->first + j);
        for (int k = 0; k < p->n && share != 0; ++k) row[k] += share * W[k];
    }
    for (int j = 0; j < g->size; ++j) row[g->first + j] += (i == j) - C[i][j];
}

// Rows in groups with C = 0 have G = E: their step is set here, only the others are solved for.
// Returns the number of those.
static int find_moving(tni_cone* c, double delta)
{
    int moving = 0;
    for (int k = 0; k < c->count; ++k) {
        const tni_cone_point* g     = &c->groups[k];
        bool                  moves = false;
        double                P[ROWS], C[ROWS][ROWS];
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
        const tni_cone_point* g = &c->groups[k];
        if (at == m || c->moving[at] != g->first) continue;
        double P[ROWS], C[ROWS][ROWS];
        project(c, g, c->p->f + g->first, c->p->a + g->first, P, C);
        for (int i = 0; i < g->size; ++i, ++at) {
            double* G = c->G + (size_t)m * (size_t)at;
            jacobian(c, g, i, C, c->row);
            for (int j = 0; j < m; ++j) G[j] = c->row[c->moving[j]];
            G[at] += delta;
            c->rhs[at] = -c->F[g->first + i];
            for (int j = 0; j < n; ++j) c->rhs[at] -= c->row[j] * c->step[j];
        }
    }
    c->rounds += 1;
    if (tni_dense_lu(m, c->G, c->exchange) != TN_OK) return false;
    tni_dense_lu_solve(m, c->G, c->exchange, c->rhs);
    for (int i = 0; i < m; ++i) c->step[c->moving[i]] = c->rhs[i];
    return true;
}

// Up to `steps` Newton steps from f. True if the residual reached the goal.
static bool newton(tni_cone* c, int steps, double goal, damping damp)
{
    const tni_complementarity* p        = c->p;
    double                     residual = evaluate(c);
    for (int k = 0; k < steps && residual > goal && residual < HUGE_VAL; ++k) {
        if (c->rounds >= c->limit) return false;
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

// Newton from a good guess; restores the best f on failure.
static bool newton_from_guess(tni_cone* c)
{
    if (newton(c, 3, c->target, EVEN)) return true;
    restart(c, c->best_f);
    return false;
}

// True if the best f is accepted, or as good as rounding allows: with heavy on light bodies, a is a
// small difference of large terms.
static bool is_accepted(tni_cone* c)
{
    const tni_complementarity* p    = c->p;
    double                     most = 0;
    if (c->best <= c->accepted) return true;
    if (c->op != NULL || !(c->best < HUGE_VAL)) return false;
    for (int i = 0; i < p->n; ++i) {
        const double* row = row_of(p, i);
        double        sum = 0;
        for (int k = 0; k < p->n; ++k) sum += fabs(row[k] * c->best_f[k]);
        most = fmax(most, sum);
    }
    const double floor = ROUNDING * most / c->scale;
    if (!(c->best <= floor)) return false;
    c->accepted = fmax(c->accepted, floor);
    return true;
}

// Sweeps, then Newton, from f.
static bool sweep_then_newton(tni_cone* c, int sweep_count, damping damp)
{
    return sweeps(c, sweep_count) || newton(c, NEWTON_STEPS, c->target, damp);
}

// Method 3: Newton with decreasing smoothing.
static bool decrease_smoothing(tni_cone* c, double ratio, int steps, damping damp)
{
    restart(c, NULL);
    for (c->smoothing = 30; c->smoothing > 1e-6; c->smoothing *= ratio)
        (void)newton(c, steps, 0.3 * c->smoothing, SLIGHT);
    c->smoothing = 0;
    return newton(c, NEWTON_STEPS, c->target, damp);
}

// Method 4: Newton with mu increasing from 0.
static bool increase_mu(tni_cone* c)
{
    enum { RUNGS = 20 };
    restart(c, NULL);
    for (int k = 0; k < RUNGS; ++k) {
        set_mu_part(c, (double)k / RUNGS);
        if (newton(c, NEWTON_STEPS, c->target, FALLING)) continue;
        (void)sweep_then_newton(c, 5, FALLING);
    }
    set_mu_part(c, 1);
    return newton(c, NEWTON_STEPS, c->target, FALLING);
}

static bool from_best(tni_cone* c, damping damp)
{
    restart(c, c->best_f);
    return sweep_then_newton(c, MANY_SWEEPS, damp);
}

// ---- Anderson acceleration ----------------------------------------------------------------------

// Sum of x y / rho: inner product of forces in units of a.
static double weighed(const tni_cone* c, const double* x, const double* y)
{
    double sum = 0;
    for (int k = 0; k < c->count; ++k) {
        const tni_cone_point* g = &c->groups[k];
        for (int i = 0; i < g->size; ++i) sum += x[g->first + i] * y[g->first + i] / g->rho[i];
    }
    return sum;
}

// f -= sum y_k moves_k over the last `past` sweeps, with y minimising |gain - sum y_k gains_k|.
static bool anderson_mix(tni_cone* c, int past, const double* gain)
{
    const int n = c->p->n;
    double    A[HISTORY * HISTORY], y[HISTORY], size[HISTORY];
    for (int i = 0; i < past; ++i) {
        const double* row = c->gains + n * i;
        size[i]           = sqrt(weighed(c, row, row));
        if (!(size[i] > 0)) return false;
        y[i] = weighed(c, row, gain) / size[i];
        for (int j = 0; j <= i; ++j)
            A[past * i + j] = weighed(c, row, c->gains + n * j) / (size[i] * size[j]);
        A[(past + 1) * i] += 1e-10;
    }
    if (tni_dense_ldl(past, A) != TN_OK) return false;
    tni_dense_ldl_solve(past, A, y);
    for (int i = 0; i < past; ++i)
        for (int k = 0; k < n; ++k) c->p->f[k] -= y[i] / size[i] * c->moves[n * i + k];
    return true;
}

// Anderson acceleration of the fixed-point iteration f <- g(f), g being a sweep: takes the
// combination of the last few iterates that would minimise |g(f) - f| if g were linear. Restarts
// when the residual grows.
static bool anderson_sweeps(tni_cone* c)
{
    const int n    = c->p->n;
    double *  gain = c->step, *last = c->F;   // F is not needed until the end
    double*   moved = c->moves + n * HISTORY; // result of the last sweep
    double    least = HUGE_VAL;
    int       past  = -1;
    while (c->rounds < c->limit) {
        memcpy(c->from, c->p->f, sizeof(double) * (size_t)n);
        c->rounds += 1;
        const double sum = one_sweep(c);
        if (!(sum > c->target * c->target && sum <= DBL_MAX)) break;
        if (sum > 4 * least) past = -1;
        least = fmin(least, sum);
        for (int i = 0; i < n; ++i) gain[i] = c->p->f[i] - c->from[i];
        if (past >= 0) {
            const int at = past < HISTORY ? past : HISTORY - 1;
            if (past >= HISTORY) {
                memmove(c->moves, c->moves + n, sizeof(double) * (size_t)(n * at));
                memmove(c->gains, c->gains + n, sizeof(double) * (size_t)(n * at));
            }
            for (int i = 0; i < n; ++i) {
                c->moves[n * at + i] = c->p->f[i] - moved[i];
                c->gains[n * at + i] = gain[i] - last[i];
            }
            past = at;
        }
        past += 1;
        memcpy(last, gain, sizeof(double) * (size_t)n);
        memcpy(moved, c->p->f, sizeof(double) * (size_t)n);
        if (past > 0 && !anderson_mix(c, past, gain)) past = 0;
    }
    return evaluate(c) <= c->target;
}

// Projects f onto its bounds. Solutions are within them already.
static void project_to_bounds(tni_cone* c)
{
    const double zero[ROWS] = {0};
    for (int k = 0; k < c->count; ++k) {
        const tni_cone_point* g = &c->groups[k];
        double                P[ROWS], C[ROWS][ROWS];
        project(c, g, c->p->f + g->first, zero, P, C);
        memcpy(c->p->f + g->first, P, sizeof(double) * (size_t)g->size);
    }
}

static void prepare(tni_cone* c, const tni_complementarity* p)
{
    TN_ASSERT(p->n <= c->capacity);
    c->p         = p;
    c->rounds    = 0;
    c->smoothing = 0;
    c->best      = HUGE_VAL;
    c->scale     = 0;
    memset(c->best_f, 0, sizeof(double) * (size_t)p->n);
    for (int i = 0; i < p->n; ++i) c->scale = fmax(c->scale, fabs(p->b[i]));
    if (c->scale == 0) { // then f = 0 solves it, unless box bounds exclude 0
        c->scale = 1;
        restart(c, NULL);
    }
    find_groups(c);
    set_mu_part(c, 1);
}

static bool solve(tni_cone* cone, const tni_complementarity* p)
{
    prepare(cone, p);
    const double start = evaluate(cone);
    if (!(start < HUGE_VAL)) restart(cone, NULL);
    if (start > cone->target && cone->op != NULL) {
        (void)anderson_sweeps(cone);
    } else if (start > cone->target) {
        const bool soon = start < NEAR && (newton_from_guess(cone) || is_accepted(cone));
        const bool done = soon || sweep_then_newton(cone, FEW_SWEEPS, EVEN) || is_accepted(cone) ||
                          decrease_smoothing(cone, 0.4, 8, EVEN) || from_best(cone, EVEN);
        if (!done && !is_accepted(cone))
            (void)(increase_mu(cone) || from_best(cone, FALLING) ||
                   decrease_smoothing(cone, 0.7, 12, FALLING) || from_best(cone, FALLING));
    }
    const bool solved = cone->best <= cone->accepted;
    restart(cone, cone->best_f);
    if (!solved) project_to_bounds(cone);
    (void)evaluate(cone);
    return solved;
}

bool tni_cone_solve(tni_cone* cone, const tni_complementarity* p, int* rounds)
{
    cone->op          = NULL;
    cone->limit       = INT_MAX;
    cone->target      = TARGET;
    cone->accepted    = ACCEPTED;
    const bool solved = solve(cone, p);
    *rounds           = cone->rounds;
    return solved;
}

bool tni_cone_solve_operator(tni_cone* cone, const tni_complementarity* p, const tni_operator* op,
                             int limit, double goal, double* residual)
{
    cone->op          = op;
    cone->limit       = limit;
    cone->target      = 0.1 * goal;
    cone->accepted    = goal;
    const bool solved = solve(cone, p);
    *residual         = -1;
    for (int k = 0; k < cone->count; ++k) {
        const tni_cone_point* g = &cone->groups[k];
        const double off = sqrt(group_residual(cone, g, p->f + g->first, p->a + g->first, cone->F));
        if (!(off * cone->scale <= *residual)) *residual = off * cone->scale;
    }
    return solved;
}
