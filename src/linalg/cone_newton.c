// cone_newton: contacts and limits in the matrix, by an augmented Lagrangian Newton method.
//
//     A u + J^T mu - sum J_c^T f_c = b
//     J u - E mu                   = r
//     w_c = J_c u + c_c            K* contains w_c + s n,  K contains f_c,  f_c . (w_c + s n) = 0
//
// K = { |f_t| <= friction f_n } and s = friction |w_t| (De Saxce): the shift makes the convex law exact
// Coulomb friction. With multiplier estimates p and penalties 1/R, R = kappa W, W = J_c A^-1 J_c^T,
//
//     y = p - (w + s n) / R,   f(w) = P_K(y)                 G = -df/dw = P_K'(y) / R
//
// and a Newton step solves the system with f = f(w_k) - G (w - w_k). G = sum of g v v^T:
//
//     inside K (stick)    I / R
//     on its side (slip)  v = (n + friction t)/sqrt(1 + friction^2), g = 1/R;   across t, g = friction f_n / (R |y_t|)
//     apart               nothing
//
// Bounded rows (dry friction, motors) have y = p - w/R, too, and an interval or a ball for K. A compliance e, w + e f
// for w, has y = (R p - w)/(R + e) with the penalty R + e, in whose metric P projects. Behind joints W is far less than
// that of bodies alone: R begins at 1e-4 of it, and is loosened where kinks of many bounded rows cut steps short.
//
// So each element is a B node of the saddle system with rows v^T J_c and compliances 1/g: the matrix stays
// quasi-definite, whatever the contacts do. f(w) is the gradient of a convex function for fixed p and s: a step
// is cut by a line search on
//
//     phi'(a) = dw . f_lin - (1 - a)(du.A du + dmu.E dmu) - dw . f(w + a dw)
//
// that needs no more solves. After each step p <- f and s <- friction |w_t|: moving them at once, while kappa
// is large, takes half the steps of converging the convex problem first. kappa shrinks when steps no longer
// help. Where active sets and slip directions are as in the matrix, it is not factored again.
//
// Islands of many elements are solved by splitting (ADMM): every row grips with the penalty 1/R in one
// factored matrix, about rates z and impulses p that fulfil the law, and each solve moves these. A solve is a fifth
// of a factorisation or less, so this meets the laws to some 1e-3 at a third of the cost, and any iterate meets
// momentum and joints exactly.
//
// Discs of spin and roll have the radius of the last normal impulse. Components of the plan are islands: each
// has its own kappa, line search and end, and is solved to that end on its own. Islands write to rows, elements and
// blocks of their own only, so that threads may share them, in any order: each has scratch of its own for the
// factorisation.
// Prototype and figures: docs/theory/implicit-springs.md, section 3.
#include "linalg/cone_newton.h"

#include "base/sort.h"
#include "linalg/ldl.h"

#include <math.h>

static const double KAPPA       = 0.1;  // to begin with
static const double KAPPA_WARM  = 0.1;  // where a solve that differs little has been done
static const double KAPPA_MOST  = 0.3;  // where line searches cut steps short
static const double KAPPA_HOLD  = 0.01; // below, estimates wait for the step to converge
static const double KAPPA_LEAST = 1e-6; // heavy loads on light parts need it
static const double STILL =
    1e-3; // of the tolerance: bounded rows alone, which a few solves more hold still
static const double BEHIND =
    1e-4; // of bounded rows' penalties: behind joints they move less than bodies alone
// Factors on these penalties: where line searches cut steps short, and after whole steps.
static const double LOOSEN = 1e4, TIGHTEN = 0.5;
static const double SUFFICIENT = 0.01; // of the slope: where a line search ends

static const double LEAST_ROW   = 1e-8; // length of a normal row: a shorter one moves nothing
static const double LEAST_SHARE = 1e-3; // of W that a joint leaves

static const double KAPPA_SPLIT = 1.0 / 3; // splitting: inverse of the penalty, to begin with
static const double HELD        = 0.999;   // of friction: less is no slip
static const double OVER        = 1.6;     // splitting: over-relaxation

enum {
    SPLIT_FROM    = 200, // elements of an island beyond which it is solved by splitting
    SMALL         = 16,  // elements of an island that is solved by Newton steps even in a crowd
    SMALL_AFTER   = 6,   // Newton steps that larger ones are given there
    BALANCE_EVERY = 15,
    BALANCE_MAX   = 3,
    FREE_TASK     = 64, // components without elements that are one task
    SHARE_FROM    = 16, // elements that are worth waking a thread
    HANDS_MAX     = 64
};

tn_result tni_cone_newton_create(tni_arena* arena, int elements, int rows, int components,
                                 tni_cone_newton* newton)
{
    *newton = (tni_cone_newton){.capacity  = elements,
                                .elements  = TNI_TAKE(arena, tni_cone_element, elements),
                                .order     = TNI_TAKE(arena, int, elements),
                                .islands   = TNI_TAKE(arena, tni_cone_island, elements),
                                .largest   = TNI_TAKE(arena, int, elements),
                                .spare     = TNI_TAKE(arena, int, elements),
                                .island_of = TNI_TAKE(arena, int, components),
                                .free      = TNI_TAKE(arena, int, components),
                                .asleep    = TNI_TAKE(arena, uint8_t, components),
                                .rhs       = TNI_TAKE(arena, double, rows),
                                .next      = TNI_TAKE(arena, double, rows),
                                .work      = TNI_TAKE(arena, double, rows),
                                .left      = TNI_TAKE(arena, double, rows)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_cone_newton_share(tni_arena* arena, const tn_host* host, int threads,
                                const tni_saddle* saddle, tni_cone_newton* newton)
{
    const int components = saddle->plan->component_count;
    int       count      = threads < HANDS_MAX ? threads : HANDS_MAX;
    if (count > components) count = components;
    if (count < 2) return TN_OK;
    newton->host  = host;
    newton->hands = TNI_TAKE(arena, tni_cone_hand, count);
    for (int i = 0; !arena->failed && i < count; ++i)
        TRY(tni_ldl_share(arena, saddle->ldl, &newton->hands[i].ldl));
    newton->hand_count = count;
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// ---- Islands ---------------------------------------------------------------------------------------

static bool is_larger(const void* user, int a, int b)
{
    const tni_cone_island* islands = user;
    return islands[a].end - islands[a].first > islands[b].end - islands[b].first;
}

static void find_islands(tni_cone_newton* n, const uint8_t* asleep)
{
    const tni_plan* plan = n->saddle->plan;
    n->island_count      = 0;
    for (int c = 0; c < plan->component_count; ++c) {
        n->island_of[c] = -1;
        n->asleep[c]    = asleep != NULL && asleep[c];
    }
    for (int i = 0; i < n->count; ++i) {
        const int c = plan->component_of[n->elements[i].node];
        if (n->island_of[c] < 0) {
            n->island_of[c] = n->island_count;
            n->islands[n->island_count++] =
                (tni_cone_island){.component = c, .kappa = KAPPA, .bounded = true};
        }
        tni_cone_island* island = &n->islands[n->island_of[c]];
        const int        kind   = n->elements[i].kind;
        island->bounded = island->bounded && (kind == TNI_CONE_BOUNDED || kind == TNI_CONE_OPEN);
        island->bounded_count += kind == TNI_CONE_BOUNDED;
        ++island->end;
    }
    int at = 0;
    for (int i = 0; i < n->island_count; ++i) {
        const int size      = n->islands[i].end;
        n->islands[i].first = n->islands[i].end = at;
        at += size;
    }
    for (int i = 0; i < n->count; ++i) {
        tni_cone_island* island =
            &n->islands[n->island_of[plan->component_of[n->elements[i].node]]];
        n->order[island->end++] = i;
    }
    n->free_count = 0;
    for (int c = 0; c < plan->component_count; ++c)
        if (n->island_of[c] < 0 && n->asleep[c] == 0) n->free[n->free_count++] = c;
    for (int i = 0; i < n->island_count; ++i) n->largest[i] = i;
    if (n->hand_count > 0) tni_sort(n->largest, n->spare, n->island_count, is_larger, n->islands);
}

/// What rows of an element and of the joint in its node do through one A node.
typedef struct passage {
    double own[TNI_CONE_ROWS]; ///< by row of the element: J A^-1 J^T
    double mixed[TNI_CONE_ROWS][TNI_DIM_MAX];
    double joint[TNI_DIM_MAX * TNI_DIM_MAX];
} passage;

static void pass_through(tni_cone_newton* n, const tni_cone_element* e, const tni_cone_side* side,
                         int joint_rows, passage* sum)
{
    const int     dim = side->dim;
    const double* J   = joint_rows > 0 ? tni_saddle_j(n->saddle, side->edge) : NULL;
    double        A[TNI_DIM_MAX * TNI_DIM_MAX], x[TNI_DIM_MAX];
    memcpy(A, tni_saddle_a(n->saddle, n->saddle->plan->col_node[side->edge]),
           sizeof *A * (size_t)(dim * dim));
    if (tni_block_factor(dim, A) >= 0) return;
    for (int i = 0; i < e->count + joint_rows; ++i) {
        const double* row = i < e->count ? side->J + i * dim : J + (i - e->count) * dim;
        memcpy(x, row, sizeof *x * (size_t)dim);
        tni_block_solve(dim, A, x);
        for (int k = 0; k < dim && i < e->count; ++k) sum->own[i] += row[k] * x[k];
        for (int r = 0; r < joint_rows; ++r) {
            double dot = 0;
            for (int k = 0; k < dim; ++k) dot += J[r * dim + k] * x[k];
            if (i < e->count) sum->mixed[i][r] += dot;
            else sum->joint[(i - e->count) * joint_rows + r] += dot;
        }
    }
}

static void set_weights(tni_cone_element* e)
{
    const int first = tni_cone_first_rows(e);
    double    all   = 0;
    for (int i = 0; i < first; ++i) all += e->W[i];
    e->weight[0] = all / first;
    if (e->kind == TNI_CONE_BOUNDED) {
        e->weight[1] = e->weight[0];
        return;
    }
    e->weight[1] = e->spin_count > 0 ? e->W[tni_cone_spin_row(e)] : 0;
    e->weight[2] = 0;
    for (int i = 0; i < e->roll_count; ++i)
        e->weight[2] += e->W[tni_cone_roll_row(e) + i] / e->roll_count;
}

// W by row: what each row does to itself through the A nodes, and through the joint of its node: a limit has to
// do with all that the joint swings, not with a body on its own.
static void weigh(tni_cone_newton* n, tni_cone_element* e)
{
    const int joint_rows = e->joint_rows <= TNI_DIM_MAX ? e->joint_rows : 0;
    passage   sum        = {0};
    double    length     = 0;
    for (int s = 0; s < e->side_count; ++s)
        for (int k = 0; k < e->side[s].dim; ++k) length += e->side[s].J[k] * e->side[s].J[k];
    if (!(length > LEAST_ROW * LEAST_ROW)) e->kind = TNI_CONE_OPEN;
    for (int s = 0; s < e->side_count; ++s) pass_through(n, e, &e->side[s], joint_rows, &sum);
    for (int i = 0; i < e->count; ++i) e->W[i] = sum.own[i];
    if (joint_rows > 0) {
        const int     dim = n->saddle->plan->dim[e->node];
        const double* E   = tni_saddle_e(n->saddle, e->node);
        for (int i = 0; i < joint_rows; ++i)
            for (int k = 0; k < joint_rows; ++k) sum.joint[i * joint_rows + k] += E[i * dim + k];
        if (tni_block_factor(joint_rows, sum.joint) < 0) {
            for (int i = 0; i < e->count; ++i) {
                double x[TNI_DIM_MAX], through = 0;
                memcpy(x, sum.mixed[i], sizeof x);
                tni_block_solve(joint_rows, sum.joint, x);
                for (int k = 0; k < joint_rows; ++k) through += sum.mixed[i][k] * x[k];
                e->W[i] = fmax(e->W[i] - through, LEAST_SHARE * e->W[i]);
            }
        }
    }
    set_weights(e);
}

void tni_cone_newton_weigh(tni_cone_newton* n, int element, const double* W)
{
    tni_cone_element* e = &n->elements[element];
    for (int i = 0; i < e->count; ++i) e->W[i] = fmin(e->W[i], fmax(W[i], LEAST_SHARE * e->W[i]));
    set_weights(e);
}

void tni_cone_newton_begin(tni_cone_newton* n, tni_saddle* saddle, const uint8_t* asleep)
{
    n->saddle        = saddle;
    n->free_factored = false;
    find_islands(n, asleep);
    if (n->count > 0) saddle->soft = true; // islands write their elements' compliances
    for (int i = 0; i < n->count; ++i) weigh(n, &n->elements[i]);
}

// ---- A Newton step ---------------------------------------------------------------------------------

static void write_blocks(tni_cone_newton* n, const tni_cone_element* e)
{
    const tni_plan* plan = n->saddle->plan;
    const int       dim  = plan->dim[e->node];
    double*         E    = n->saddle->diagonal + n->saddle->diagonal_at[e->node];
    for (int i = 0; i < e->count; ++i)
        E[(e->first + i) * (dim + 1)] = i < e->basis_count ? 1 / e->stiffness[i] : 1;
    for (int s = 0; s < e->side_count; ++s) {
        const tni_cone_side* side = &e->side[s];
        double*              J    = tni_saddle_j(n->saddle, side->edge) + e->first * side->dim;
        for (int i = 0; i < e->count; ++i, J += side->dim) {
            for (int k = 0; k < side->dim; ++k) {
                double sum = 0;
                for (int r = 0; r < e->count && i < e->basis_count; ++r)
                    sum += e->basis[i][r] * side->J[r * side->dim + k];
                J[k] = sum;
            }
        }
    }
}

// w = J u + c
static void rates(const tni_cone_element* e, const double* x, double* w)
{
    for (int i = 0; i < e->count; ++i) {
        double sum = e->c[i];
        for (int s = 0; s < e->side_count; ++s) {
            const double *J = e->side[s].J + i * e->side[s].dim, *u = x + e->side[s].row;
            for (int k = 0; k < e->side[s].dim; ++k) sum += J[k] * u[k];
        }
        w[i] = sum;
    }
}

static void push(const tni_cone_element* e, const double* f, double* b)
{
    for (int s = 0; s < e->side_count; ++s)
        for (int i = 0; i < e->count; ++i)
            for (int k = 0; k < e->side[s].dim; ++k)
                b[e->side[s].row + k] += e->side[s].J[i * e->side[s].dim + k] * f[i];
}

// What f(w_k) - G (w - w_k) adds to the right-hand side: G (w_k - c) + f in the span of the basis goes to the
// element's rows, what of f lies outside of it to b.
static void write_rhs(tni_cone_newton* n, tni_cone_element* e)
{
    double* r = n->rhs + n->saddle->plan->row_start[e->node] + e->first;
    double  rest[TNI_CONE_ROWS];
    bool    any = false;
    for (int i = 0; i < e->count; ++i) rest[i] = e->trial[i];
    for (int i = 0; i < e->count; ++i) r[i] = 0;
    for (int i = 0; i < e->basis_count; ++i) {
        const double* v    = e->basis[i];
        double        rate = 0, force = 0;
        for (int k = 0; k < e->count; ++k) {
            rate += v[k] * (e->w[k] - e->c[k]);
            force += v[k] * e->trial[k];
        }
        r[i] = rate + force / e->stiffness[i];
        for (int k = 0; k < e->count; ++k) rest[k] -= force * v[k];
    }
    for (int i = 0; i < e->count; ++i) any = any || rest[i] != 0;
    if (any) push(e, rest, n->rhs);
}

// w and forces of the linear model at the end of the step.
static void look_ahead(const tni_cone_newton* n, tni_cone_element* e)
{
    rates(e, n->next, e->next_w);
    for (int k = 0; k < e->count; ++k) e->linear[k] = e->trial[k];
    for (int i = 0; i < e->basis_count; ++i) {
        double change = 0;
        for (int k = 0; k < e->count; ++k) change += e->basis[i][k] * (e->next_w[k] - e->w[k]);
        for (int k = 0; k < e->count; ++k)
            e->linear[k] -= e->stiffness[i] * change * e->basis[i][k];
    }
}

// sum of dw . (f_lin - f(w + a dw))
static double slope_at(const tni_cone_newton* n, const tni_cone_island* island, double a)
{
    double sum = 0;
    for (int k = island->first; k < island->end; ++k) {
        const tni_cone_element* e = &n->elements[n->order[k]];
        double                  w[TNI_CONE_ROWS], f[TNI_CONE_ROWS];
        for (int i = 0; i < e->count; ++i) w[i] = e->w[i] + a * (e->next_w[i] - e->w[i]);
        (void)tni_cone_force(e, island->kappa, w, f);
        for (int i = 0; i < e->count; ++i) sum += (e->next_w[i] - e->w[i]) * (e->linear[i] - f[i]);
    }
    return sum;
}

// du . A du + dmu . E dmu over the nodes of a component that are no element's.
static double curvature_of(const tni_cone_newton* n, int component, const double* x)
{
    tni_saddle*     s    = n->saddle;
    const tni_plan* plan = s->plan;
    double          sum  = 0;
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int     v = plan->order[p], dim = plan->dim[v], row = plan->row_start[v];
        const double* B = s->diagonal + s->diagonal_at[v];
        for (int i = 0; i < dim; ++i) {
            if (plan->sign[v] < 0 && n->work[row + i] < 0) continue; // a row of an element
            double line = 0;
            for (int k = 0; k < dim; ++k) line += B[i * dim + k] * (n->next[row + k] - x[row + k]);
            sum += line * (n->next[row + i] - x[row + i]);
        }
    }
    return sum;
}

static double search(const tni_cone_newton* n, const tni_cone_island* island, const double* x)
{
    double at_one = slope_at(n, island, 1);
    if (!(at_one > 0)) return 1;
    const double q       = curvature_of(n, island->component, x);
    const double at_zero = slope_at(n, island, 0) - q;
    if (!(at_zero < 0) || at_one <= SUFFICIENT * -at_zero) return 1;
    double low = 0, high = 1, below = at_zero, above = at_one, a = 1;
    for (int i = 0; i < 20; ++i) {
        a                  = low + (high - low) * fmin(0.9, fmax(0.1, below / (below - above)));
        const double slope = slope_at(n, island, a) - (1 - a) * q;
        if (fabs(slope) <= 0.05 * -at_zero) break;
        if (slope < 0) low = a, below = slope;
        else high = a, above = slope;
    }
    return a;
}

static void move_rows(const tni_plan* plan, int component, double a, const double* to, double* x)
{
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        for (int i = v->row; i < v->row + v->dim; ++i)
            x[i] = a == 1 ? to[i] : x[i] + a * (to[i] - x[i]);
    }
}

static double take_step(tni_cone_newton* n, tni_cone_island* island, bool whole, double* x)
{
    for (int k = island->first; k < island->end; ++k) look_ahead(n, &n->elements[n->order[k]]);
    const double a = whole ? 1 : search(n, island, x);
    move_rows(n->saddle->plan, island->component, a, n->next, x);
    island->residual = 0;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        for (int i = 0; i < e->count; ++i) {
            e->moved[i] = a * (e->next_w[i] - e->w[i]);
            e->w[i]     = a == 1 ? e->next_w[i] : e->w[i] + a * (e->next_w[i] - e->w[i]);
            e->f[i]     = a == 1 ? e->linear[i] : e->f[i] + a * (e->linear[i] - e->f[i]);
        }
        island->residual = fmax(island->residual, tni_cone_residual(e));
    }
    return a;
}

// Penalties of bounded rows: times a factor, within what is allowed. Whether any has changed.
static bool weigh_bounded(tni_cone_newton* n, tni_cone_island* island, double factor)
{
    const double behind  = fmin(1, fmax(BEHIND, factor * island->behind));
    bool         changed = false;
    island->behind       = behind;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        if (e->kind != TNI_CONE_BOUNDED || e->weight[0] == behind * e->weight[1]) continue;
        e->weight[0] = behind * e->weight[1];
        changed      = true;
    }
    return changed;
}

// Estimates and shifts follow at once while kappa is large; later when a step no longer moves much. Returns whether
// the matrix has to be made anew.
static bool move_on(tni_cone_newton* n, tni_cone_island* island, double a)
{
    double moved = 0;
    bool   anew  = false;
    for (int k = island->first; k < island->end; ++k) {
        const tni_cone_element* e = &n->elements[n->order[k]];
        for (int i = 0; i < tni_cone_first_rows(e); ++i) moved = fmax(moved, fabs(e->moved[i]));
    }
    const bool still = a == 1 && moved <= 0.1 * island->residual;
    ++island->iterations;
    ++island->held;
    if (island->kappa > KAPPA_HOLD || still || island->held >= 3) {
        for (int k = island->first; k < island->end; ++k) {
            tni_cone_element* e = &n->elements[n->order[k]];
            (void)tni_cone_force(e, island->kappa, e->w, e->trial);
            for (int i = 0; i < e->count; ++i) e->p[i] = e->trial[i];
            e->radius = e->trial[0];
            e->shift  = e->kind == TNI_CONE_FRICTION
                            ? e->friction * tni_cone_length(e->w + 1, e->slip_count)
                            : 0;
        }
        island->held = 0;
    }
    const bool better = island->residual < 0.5 * island->best;
    island->best      = fmin(island->best, island->residual);
    island->stalled   = better ? 0 : island->stalled + 1;
    if (!better) island->refine = true;
    if (a < 0.3 && island->kappa < KAPPA_MOST) {
        island->kappa = fmin(KAPPA_MOST, 2 * island->kappa);
        anew          = true;
    } else if (a == 1 && island->iterations >= 6 && !better && island->kappa > KAPPA_HOLD) {
        island->kappa = fmax(KAPPA_HOLD, 0.65 * island->kappa);
        anew          = true;
    } else if (still && island->stalled >= 4 && island->kappa > KAPPA_LEAST) {
        island->kappa   = fmax(KAPPA_LEAST, 0.1 * island->kappa);
        island->stalled = 0;
        anew            = true;
    }
    const double factor = a < 0.5 && !better ? LOOSEN : a == 1 ? TIGHTEN : 1;
    anew                = weigh_bounded(n, island, factor) || anew;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        anew                = anew || !tni_cone_stands(e, island->kappa);
        (void)tni_cone_force(e, island->kappa, e->w, e->trial);
    }
    return anew;
}

// ---- Splitting --------------------------------------------------------------------------------------

// All rows of all elements grip, with the penalty 1/R.
static void grip(tni_cone_element* e, double kappa)
{
    e->basis_count = 0;
    if (e->kind == TNI_CONE_OPEN) return;
    for (int i = 0; i < e->count; ++i) {
        const double W = i < tni_cone_first_rows(e) ? e->weight[0]
                         : i < tni_cone_roll_row(e) ? e->weight[1]
                                                    : e->weight[2];
        if (i > 0 && e->kind == TNI_CONE_ONE_SIDED) break;
        if (W > 0) tni_cone_add_basis(e, 1 / (kappa * W))[i] = 1;
    }
}

static double radius_of(const tni_cone_element* e, int row, double kappa)
{
    return kappa * (row < tni_cone_first_rows(e) ? e->weight[0]
                    : row < tni_cone_roll_row(e) ? e->weight[1]
                                                 : e->weight[2]);
}

// A step of ADMM, after a solve in which every row grips about (z, p): the answer meets momentum and joints, then
// the laws give new impulses p.
static void split_step(tni_cone_newton* n, tni_cone_island* island, double* x)
{
    double apart = 0, moved = 0;
    move_rows(n->saddle->plan, island->component, 1, n->next, x);
    island->residual = 0;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        double            v[TNI_CONE_ROWS], f[TNI_CONE_ROWS];
        look_ahead(n, e);
        for (int i = 0; i < e->count; ++i) {
            v[i]    = OVER * e->next_w[i] + (1 - OVER) * e->z[i];
            e->w[i] = e->next_w[i];
            e->f[i] = e->linear[i];
        }
        island->residual = fmax(island->residual, tni_cone_residual(e));
        e->shift         = e->kind == TNI_CONE_FRICTION
                               ? e->friction * tni_cone_length(e->z + 1, e->slip_count)
                               : 0;
        e->radius        = fmax(0, e->p[0]);
        (void)tni_cone_force(e, island->kappa, v, f);
        for (int i = 0; i < e->count; ++i) {
            const double z = v[i] + radius_of(e, i, island->kappa) * (f[i] - e->p[i]);
            apart += (e->next_w[i] - z) * (e->next_w[i] - z);
            moved += (z - e->z[i]) * (z - e->z[i]);
            e->z[i] = z;
            e->p[i] = f[i];
        }
    }
    ++island->iterations;
    if (island->iterations % BALANCE_EVERY != 0 || island->balanced == BALANCE_MAX) return;
    const double q = sqrt(apart / fmax(moved, 1e-300));
    if (q < 4 && q > 0.25) return;
    ++island->balanced;
    island->kappa /= fmax(0.2, fmin(5, sqrt(q)));
    island->factored = false;
}

// A step begins about rates and impulses by the law. An island ends with these rates, too: where a contact holds they
// are 0, while those of the answer are off by what splitting leaves, and would look like slips.
static void aim(tni_cone_newton* n, const tni_cone_island* island)
{
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        memcpy(e->w, e->z, sizeof e->w);
        memcpy(e->trial, e->p, sizeof e->trial);
    }
}

// Rates that go with impulses by the law, where the island would move with w.
static void aside(tni_cone_element* e)
{
    const bool opens = !(e->p[0] > 0);
    const bool slips = tni_cone_length(e->p + 1, e->slip_count) >= HELD * e->friction * e->p[0];
    if (e->kind == TNI_CONE_BOUNDED) e->weight[0] = e->weight[1];
    for (int i = 0; i < e->count; ++i) {
        const bool free =
            e->kind == TNI_CONE_BOUNDED || opens || (slips && i > 0 && i <= e->slip_count);
        e->z[i] = free && e->kind != TNI_CONE_EQUAL ? e->w[i] : 0;
    }
}

static void start_split(tni_cone_newton* n, tni_cone_island* island, bool warm)
{
    island->active     = true;
    island->refine     = false;
    island->iterations = island->balanced = 0;
    if (!warm) island->kappa = KAPPA_SPLIT, island->factored = false;
    for (int k = island->first; k < island->end && !warm; ++k) aside(&n->elements[n->order[k]]);
}

// Whether an island is better solved by splitting: at once where it is large, or, among many, where Newton steps
// have not met its laws soon.
static bool is_crowd(const tni_cone_island* island, bool crowded)
{
    const int size = island->end - island->first - island->bounded_count;
    return crowded && size > (island->iterations < SMALL_AFTER ? SPLIT_FROM : SMALL);
}

// ---- The solve --------------------------------------------------------------------------------------

// Rates that belong to the impulses given: 0 where these are within their bounds.
static void guess_rates(tni_cone_element* e)
{
    static const double within = 1 - 1e-12;
    bool                held   = e->p[0] > 0;
    if (e->kind == TNI_CONE_BOUNDED && e->count == 1)
        held = e->p[0] != 0 && e->p[0] > within * e->low && e->p[0] < within * e->high;
    else if (e->kind == TNI_CONE_BOUNDED)
        held = tni_cone_length(e->p, e->count) > 0 &&
               tni_cone_length(e->p, e->count) < within * e->high;
    for (int i = 0; i < e->count; ++i) e->w[i] = held ? 0 : e->c[i];
    if (!held || !(e->compliance > 0)) return;
    for (int i = 0; i < (e->kind == TNI_CONE_BOUNDED ? e->count : 1); ++i)
        e->w[i] = -e->compliance * e->p[i];
}

// Where an island begins: at impulses given, and rates of x, if that is an answer to something near.
static void start(tni_cone_newton* n, tni_cone_island* island, const tni_cone_options* options,
                  const double* x)
{
    const bool   warm = options->warm && island->started, known = warm || options->near;
    const double kappa = !warm ? KAPPA
                         : options->heavy && island->kappa < KAPPA_HOLD
                             ? island->kappa
                             : fmax(island->kappa, KAPPA_WARM);
    bool         anew  = !island->factored || island->kappa != kappa;
    island->kappa      = kappa;
    island->refine     = false;
    if (!warm) island->behind = BEHIND;
    anew = weigh_bounded(n, island, 1) || anew;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        for (int i = 0; i < e->count; ++i) e->p[i] = e->kind == TNI_CONE_OPEN ? 0 : e->f[i];
        e->radius = fmax(0, e->p[0]);
        if (known) rates(e, x, e->w);
        else guess_rates(e);
        if (!known && e->kind == TNI_CONE_FRICTION && is_crowd(island, options->crowded))
            for (int i = 1; i < e->count; ++i) e->w[i] = e->c[i];
        e->shift = e->kind == TNI_CONE_FRICTION
                       ? e->friction * tni_cone_length(e->w + 1, e->slip_count)
                       : 0;
        (void)tni_cone_force(e, island->kappa, e->w, e->trial);
    }
    for (int k = island->first; k < island->end && !anew; ++k)
        anew = !tni_cone_stands(&n->elements[n->order[k]], island->kappa);
    island->factored   = !anew;
    island->active     = true;
    island->iterations = island->stalled = island->held = 0;
    island->best = island->residual = HUGE_VAL;
    island->splits                  = is_crowd(island, options->crowded);
    if (island->splits) start_split(n, island, false);
}

// Where an island goes on with the active sets it has: at the rates, and the impulses, of the last answer.
static void follow(tni_cone_newton* n, tni_cone_island* island)
{
    if (!island->splits && island->kappa < KAPPA) island->kappa = KAPPA, island->factored = false;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        for (int i = 0; i < e->count; ++i) e->trial[i] = e->f[i];
    }
    island->active = true;
    island->refine = false;
}

static tn_result factor(tni_cone_newton* n, tni_saddle* saddle, tni_cone_island* island)
{
    if (island->factored) return TN_OK;
    for (int k = island->first; k < island->end; ++k) {
        tni_cone_element* e = &n->elements[n->order[k]];
        if (island->splits) grip(e, island->kappa);
        else tni_cone_linearise(e, island->kappa);
        write_blocks(n, e);
    }
    ++island->factor_count;
    TRY(tni_saddle_factor_one(saddle, island->component));
    island->factored = true;
    return TN_OK;
}

// out <- rhs - H x on the rows of a component, H being what was factored.
static void find_residual(const tni_cone_newton* n, int component, const double* rhs,
                          const double* x, double* out)
{
    tni_saddle*     s    = n->saddle;
    const tni_plan* plan = s->plan;
    tni_saddle_mul_j(s, component, x, out);
    tni_saddle_mul_jt(s, component, x, out);
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const int     v = plan->order[p], dim = plan->dim[v], row = plan->row_start[v];
        const double* B = s->diagonal + s->diagonal_at[v];
        for (int i = 0; i < dim; ++i) {
            double sum = 0;
            for (int k = 0; k < dim; ++k) sum += B[i * dim + k] * x[row + k];
            out[row + i] = rhs[row + i] - out[row + i] - (plan->sign[v] > 0 ? sum : -sum);
        }
    }
}

// A tree without elements: its factor is that of the matrix itself.
static bool is_direct(const tni_cone_newton* n, int component)
{
    return n->island_of[component] < 0 && !n->saddle->refined[component];
}

// next <- x + H^-1 (rhs - H x) on the rows of a component: what rounding and regularisation leave in x is taken out
// again.
static tn_result solve_from(tni_cone_newton* n, tni_saddle* saddle, int component,
                            const double* rhs, const double* x, bool refine)
{
    const tni_plan* plan = saddle->plan;
    if (is_direct(n, component))
        return tni_saddle_solve_one(saddle, component, rhs, n->next, refine);
    find_residual(n, component, rhs, x, n->left);
    TRY(tni_saddle_solve_one(saddle, component, n->left, n->next, refine));
    for (int p = plan->component_start[component]; p < plan->component_start[component + 1]; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        for (int i = v->row; i < v->row + v->dim; ++i) n->next[i] += x[i];
    }
    return TN_OK;
}

/// One solve of all islands, by any number of threads.
typedef struct job {
    tni_cone_newton*        n;
    const double*           rhs;
    const tni_cone_options* options;
    double*                 x;
    atomic_int              failed;
} job;

// A component without elements: one solve, of a tree directly.
static tn_result solve_free(const job* j, tni_saddle* saddle, int component)
{
    tni_cone_newton* n = j->n;
    if (!n->free_factored) TRY(tni_saddle_factor_one(saddle, component));
    TRY(solve_from(n, saddle, component, j->rhs, j->x, j->options->refine));
    move_rows(saddle->plan, component, 1, n->next, j->x);
    return TN_OK;
}

static void begin(const job* j, tni_cone_island* island)
{
    island->factor_count = 0;
    if (j->options->frozen && island->started) follow(j->n, island);
    else if (island->splits) start_split(j->n, island, j->options->warm && island->started);
    else start(j->n, island, j->options, j->x);
}

// After a solve of its matrix.
static void advance(const job* j, tni_cone_island* island)
{
    const tni_cone_options* options = j->options;
    const bool              frozen  = options->frozen && island->started;
    if (island->splits && !frozen) {
        split_step(j->n, island, j->x);
        island->started = true;
        island->active  = !(island->residual <= options->split_tolerance) &&
                         island->iterations < options->split_iterations;
        return;
    }
    const double a  = take_step(j->n, island, frozen || island->iterations == 0, j->x);
    island->started = true;
    if (frozen) {
        island->active = false;
        return;
    }
    if (move_on(j->n, island, a)) island->factored = false;
    const double least = island->bounded ? STILL : 1;
    const bool   done  = island->residual <= least * options->tolerance ||
                      (island->stalled > 1 && island->residual <= least * options->accepted);
    if (done || island->iterations >= options->iterations) island->active = false;
    else if (is_crowd(island, options->crowded))
        island->splits = true, start_split(j->n, island, false);
}

static tn_result solve_island(const job* j, tni_saddle* saddle, tni_cone_island* island)
{
    tni_cone_newton* n = j->n;
    begin(j, island);
    while (island->active) {
        TRY(factor(n, saddle, island));
        move_rows(saddle->plan, island->component, 1, j->rhs, n->rhs);
        if (island->splits && !j->options->frozen) aim(n, island);
        for (int k = island->first; k < island->end; ++k) write_rhs(n, &n->elements[n->order[k]]);
        TRY(solve_from(n, saddle, island->component, n->rhs, j->x,
                       j->options->refine || island->refine));
        advance(j, island);
    }
    if (island->splits && !j->options->frozen) aim(n, island);
    return TN_OK;
}

// Task i: an island, or some of the components without elements.
static void do_task(job* j, int i, tni_saddle* saddle)
{
    tni_cone_newton* n      = j->n;
    tn_result        result = TN_OK;
    if (i < n->island_count) {
        tni_cone_island* island = &n->islands[n->largest[i]];
        island->active          = false;
        if (n->asleep[island->component] == 0) result = solve_island(j, saddle, island);
    } else {
        const int first = (i - n->island_count) * FREE_TASK, left = n->free_count - first;
        for (int k = 0; k < left && k < FREE_TASK; ++k)
            if (solve_free(j, saddle, n->free[first + k]) != TN_OK) result = TN_ERR_SINGULAR;
    }
    if (result != TN_OK) atomic_store(&j->failed, 1);
}

static void take_task(void* data, int i)
{
    job*             j = data;
    tni_cone_newton* n = j->n;
    int              k = 0;
    while (atomic_exchange(&n->hands[k].taken, 1) != 0) k = k + 1 < n->hand_count ? k + 1 : 0;
    do_task(j, i, &n->hands[k].saddle);
    atomic_store(&n->hands[k].taken, 0);
}

static void mark_rows(tni_cone_newton* n)
{
    memset(n->work, 0, sizeof *n->work * (size_t)n->saddle->plan->row_count);
    for (int i = 0; i < n->count; ++i) {
        const tni_cone_element* e = &n->elements[i];
        for (int k = 0; k < e->count; ++k)
            n->work[n->saddle->plan->row_start[e->node] + e->first + k] = -1;
    }
}

// All of them, also where some fail: so what is left behind does not depend on their order.
static tn_result do_tasks(job* j)
{
    tni_cone_newton* n     = j->n;
    const int        tasks = n->island_count + (n->free_count + FREE_TASK - 1) / FREE_TASK;
    if (tasks < 2 || n->hand_count == 0 || n->count < SHARE_FROM) {
        for (int i = 0; i < tasks; ++i) do_task(j, i, n->saddle);
    } else {
        for (int k = 0; k < n->hand_count; ++k) {
            n->hands[k].saddle     = *n->saddle;
            n->hands[k].saddle.ldl = n->hands[k].ldl;
        }
        n->host->each(n->host->workers, tasks, take_task, j);
    }
    n->factor_count = 0;
    for (int i = 0; i < n->island_count; ++i)
        if (n->islands[i].factor_count > n->factor_count)
            n->factor_count = n->islands[i].factor_count;
    return atomic_load(&j->failed) != 0 ? TN_ERR_SINGULAR : TN_OK;
}

tn_result tni_cone_newton_solve(tni_cone_newton* n, const double* rhs,
                                const tni_cone_options* options, double* x, double* residual,
                                int* worst)
{
    job j = {.n = n, .rhs = rhs, .options = options, .x = x};
    if (!options->warm && !options->near)
        memset(x, 0, sizeof *x * (size_t)n->saddle->plan->row_count);
    mark_rows(n);
    const tn_result result = do_tasks(&j);
    n->free_factored       = result == TN_OK;
    *residual              = 0;
    *worst                 = -1;
    for (int i = 0; i < n->count && result == TN_OK; ++i) {
        const double r = tni_cone_residual(&n->elements[i]);
        if (!(r <= *residual)) *residual = r, *worst = i;
    }
    return result;
}
