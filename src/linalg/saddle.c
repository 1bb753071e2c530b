// saddle: the quasi-definite saddle system, solved exactly or by regularisation and refinement.
//
//     A u + J^T mu = b        A  block diagonal, positive definite     (A nodes)
//     J u - E mu   = r        E  block diagonal, positive semidefinite (B nodes); zero: hard rows
//
// Trees (order.c decides which components are): the core factors [A J^T; J -E] directly, and its
// solution is exact. If a pivot is lost nevertheless, because a block marked strong is not, the
// component is treated as a loop in this factorisation.
//
// Loops may have redundant rows. The core gets E_ii raised to alpha_i = eps_T (J A^-1 J^T)_ii,
// which makes it factorable in the order of the plan. Only mu is taken from it;
//
//     u = A^-1 (b - J^T mu)
//
// is recomputed, because the core's u has rounding errors of 1e-16 / eps_T. Then preconditioned
// conjugate gradients on the multipliers, S = J A^-1 J^T + E with the true E, the factor as
// preconditioner, res = J u - E mu - r the true residual:
//
//     z = -mu_part(core(0, res)),  p = z,  rz = res.z
//     q = A^-1 J^T p,  a = rz / p.(J q + E p),  mu += a p,  u -= a q,  p = z + (rz'/rz) p
//
// until rz <= 1e-26 |mu.(J A^-1 b - r)|, or rz has grown 100 times, or refinement_max steps, or p
// is in a nearly dependent direction (a > 1000) where the residual is noise; the iterate with the
// smallest rz is returned. Contradictory rows: u tends to the weighted least squares solution, the
// residual stays and is reported, mu is meaningless. Redundant rows: u and J^T mu are unique, mu is
// not.
//
// Forms (schur.c). mu may also come from the Schur complement S of the saddle system with E raised
// by the same alpha, of A nodes whole (SPD) or split (SPLIT). Then all components are treated as
// loops: mu = S^-1 (J A^-1 b - r), u and the refinement as above. If a pivot of S is lost to
// rounding, alpha is multiplied by a hundred, up to three times.
//
// [T] (schur.c) regularises all rows alike, alpha = eps_T |S|_1 (by_norm). S is not formed in the
// KKT form, so in all forms the norm is bounded by the largest row sum of |J| |A^-1| |J^T|: less
// than twice |S|_1 in linkages.
//
// The pivots of loops do not show redundancy: in the order of the plan a B node may be eliminated
// before A nodes it is coupled to, and has small pivots for that reason. See rank.c.
//
// Vectors have all rows; a call touches the A rows or the B rows of one component. These are a few
// ranges (one each if all A nodes come first in the graph and are connected), found once.
//
// Cost: trees as ldl.c; loops one core solve and four products with J a refinement step. Only
// creation allocates.
#include "linalg/saddle.h"

#include "linalg/block.h"
#include "linalg/cholmod.h"

#include <float.h>
#include <math.h>

#define COUNT_MAX      20000 // models with more nodes are not tried in other forms
#define EPS_T          1e-11 // regularisation of loops, relative to (J A^-1 J^T)_ii
#define TREE_TOLERANCE 1e-13 // relative to its diagonal: a B pivot of a tree below this is lost
#define LOOP_TOLERANCE 1e-2  // relative to alpha: a B pivot of a loop below this is rounding
#define FILTER         1e-3  // no refinement where regularisation dominates more than this

enum { WORK_VECTORS = 6, REFINEMENT_MAX = 6, TRIES = 4 };

// --- creation -----------------------------------------------------------------------------------

static tn_result create_core(tni_arena* arena, tni_saddle* s)
{
    const tni_formulation* f       = &s->formulation;
    const bool             cholmod = f->backend == TNI_BACKEND_CHOLMOD;
    if (f->form != TNI_FORM_KKT)
        return tni_schur_create(arena, s->plan, f->form == TNI_FORM_SPD ? TNI_WHOLE : f->part_edges,
                                cholmod, &s->schur);
    if (cholmod) return TN_ERR_UNSUPPORTED;
    const tn_result result = tni_ldl_create(arena, s->plan, &s->ldl);
    return result != TN_OK ? result : tni_ldl_group_fronts(arena, s->ldl, s->diagonal_at, s->j_at);
}

static int kind_of(int component, int sign) // index of a list of row ranges
{
    return 2 * component + (sign < 0);
}

static bool list_rows(tni_arena* arena, tni_saddle* s)
{
    const tni_plan* plan  = s->plan;
    const int       kinds = 2 * plan->component_count;
    s->rows               = TNI_TAKE(arena, tni_saddle_rows, plan->count);
    s->rows_start         = TNI_TAKE(arena, int, kinds + 1);
    s->rows_end           = TNI_TAKE(arena, int, kinds);
    if (arena->failed) return false;
    for (int v = 0; v < plan->count; ++v)
        ++s->rows_start[kind_of(plan->component_of[v], plan->sign[v]) + 1];
    for (int k = 0; k < kinds; ++k) {
        s->rows_start[k + 1] += s->rows_start[k];
        s->rows_end[k] = s->rows_start[k];
    }
    for (int v = 0; v < plan->count; ++v) {
        const int        k = kind_of(plan->component_of[v], plan->sign[v]), at = s->rows_end[k];
        tni_saddle_rows* last  = at > s->rows_start[k] ? &s->rows[at - 1] : NULL;
        const int        first = plan->row_start[v], end = plan->row_start[v + 1];
        if (last != NULL && last->end == first) last->end = end;
        else if (end > first) s->rows[s->rows_end[k]++] = (tni_saddle_rows){first, end};
    }
    return true;
}

// Lists the edges of each A node, in the order of summation in products with J^T.
static bool list_near(tni_arena* arena, tni_saddle* s)
{
    const tni_plan* plan = s->plan;
    s->near_start        = TNI_TAKE(arena, int, plan->count + 1);
    s->near              = TNI_TAKE(arena, int, plan->edge_count);
    s->path              = TNI_TAKE(arena, int, plan->count);
    s->seen              = TNI_TAKE(arena, int, plan->count);
    if (arena->failed) return false;
    for (int k = 0; k < plan->edge_count; ++k) ++s->near_start[plan->col_node[k] + 1];
    for (int i = 0; i < plan->count; ++i) {
        s->near_start[i + 1] += s->near_start[i];
        s->path[i] = s->near_start[i];
    }
    for (int k = 0; k < plan->edge_count; ++k)
        s->near[s->path[plan->col_node[plan->edge_list[k]]]++] = k;
    return true;
}

static bool list_parts(tni_arena* arena, tni_saddle* s)
{
    const tni_plan* plan = s->plan;
    int             a    = 0;
    s->a_node            = TNI_TAKE(arena, tni_saddle_node, plan->count);
    s->a_start           = TNI_TAKE(arena, int, plan->component_count + 1);
    s->edge              = TNI_TAKE(arena, tni_saddle_edge, plan->edge_count);
    if (arena->failed || !list_rows(arena, s)) return false;
    for (int c = 0; c < plan->component_count; ++c) {
        for (int p = plan->component_start[c]; p < plan->component_start[c + 1]; ++p) {
            const tni_pivot* v = &plan->pivot[p];
            if (v->sign > 0)
                s->a_node[a++] = (tni_saddle_node){v->row, v->dim, s->diagonal_at[plan->order[p]]};
        }
        s->a_start[c + 1] = a;
    }
    for (int k = 0; k < plan->edge_count; ++k) {
        const int e = plan->edge_list[k], r = plan->row_node[e], c = plan->col_node[e];
        s->edge[k] =
            (tni_saddle_edge){plan->row_start[r], plan->row_start[c], plan->dim[r], plan->dim[c]};
    }
    return list_near(arena, s);
}

tn_result tni_saddle_create(tni_arena* arena, const tni_plan* plan, tni_saddle** saddle)
{
    const tni_formulation usual = {.form = TNI_FORM_KKT};
    return tni_saddle_create_as(arena, plan, &usual, saddle);
}

tn_result tni_saddle_create_as(tni_arena* arena, const tni_plan* plan,
                               const tni_formulation* formulation, tni_saddle** saddle)
{
    *saddle       = NULL;
    tni_saddle* s = TNI_TAKE(arena, tni_saddle, 1);
    if (s == NULL) return TN_ERR_MEMORY;
    const size_t n = (size_t)plan->count, m = (size_t)plan->edge_count,
                 rows = (size_t)plan->row_count;
    s->plan           = plan;
    s->formulation    = *formulation;
    s->regularisation = EPS_T;
    s->refinement_max = REFINEMENT_MAX;
    s->diagonal_at    = TNI_TAKE(arena, size_t, n);
    s->j_at           = TNI_TAKE(arena, size_t, m);
    s->refined        = TNI_TAKE(arena, uint8_t, plan->component_count);
    s->a_ready        = TNI_TAKE(arena, uint8_t, plan->component_count);
    s->scale          = TNI_TAKE(arena, double, rows);
    s->alpha          = TNI_TAKE(arena, double, rows);
    s->raise          = TNI_TAKE(arena, double, rows);
    s->work           = TNI_TAKE(arena, double, WORK_VECTORS* rows);
    s->deferred_rhs   = TNI_TAKE(arena, double, rows);
    s->deferred_x     = TNI_TAKE(arena, double, rows);
    if (arena->failed) return TN_ERR_MEMORY;
    size_t diagonal = 0, j = 0;
    for (size_t p = 0; p < n; ++p) { // in elimination order, so that sweeps read contiguously
        const int v       = plan->order[p];
        s->diagonal_at[v] = diagonal;
        diagonal += (size_t)(plan->dim[v] * plan->dim[v]);
    }
    for (size_t k = 0; k < m; ++k) {
        const int e = plan->edge_list[k], r = plan->row_node[e], c = plan->col_node[e];
        TN_ASSERT(plan->sign[r] < 0 && plan->sign[c] > 0);
        s->j_at[e] = j;
        j += (size_t)(plan->dim[r] * plan->dim[c]);
    }
    s->diagonal = TNI_TAKE(arena, double, diagonal);
    s->a_factor = TNI_TAKE(arena, double, diagonal);
    s->j        = TNI_TAKE(arena, double, j);
    if (arena->failed || !list_parts(arena, s)) return TN_ERR_MEMORY;
    const tn_result result = create_core(arena, s);
    if (result == TN_OK) *saddle = s;
    return result;
}

void tni_saddle_release(tni_saddle* saddle)
{
    if (saddle != NULL) tni_schur_free(saddle->schur);
}

double* tni_saddle_a(tni_saddle* s, int node)
{
    TN_ASSERT(s->plan->sign[node] > 0);
    return s->diagonal + s->diagonal_at[node];
}

double* tni_saddle_e(tni_saddle* s, int node)
{
    s->soft = true;
    TN_ASSERT(s->plan->sign[node] < 0);
    return s->diagonal + s->diagonal_at[node];
}

double* tni_saddle_j(tni_saddle* s, int edge)
{
    return s->j + s->j_at[edge];
}

// --- products -----------------------------------------------------------------------------------

static tni_range edges_of(const tni_plan* plan, int component)
{
    if (component < 0) return (tni_range){0, plan->edge_count};
    return (tni_range){plan->edge_start[component], plan->edge_start[component + 1]};
}

static const double* first_j(const tni_saddle* s, tni_range edges)
{
    return edges.first < edges.end ? s->j + s->j_at[s->plan->edge_list[edges.first]] : s->j;
}

// The ranges of A rows (sign 1) or B rows (-1) of a component, and their end.
static const tni_saddle_rows* rows_of(const tni_saddle* s, int component, int sign)
{
    return s->rows + s->rows_start[kind_of(component, sign)];
}

static const tni_saddle_rows* rows_end(const tni_saddle* s, int component, int sign)
{
    return s->rows + s->rows_end[kind_of(component, sign)];
}

static void zero_rows(const tni_saddle* s, int component, int sign, double* out)
{
    const int first = component < 0 ? 0 : component;
    const int end   = component < 0 ? s->plan->component_count : component + 1;
    for (int c = first; c < end; ++c) {
        for (const tni_saddle_rows* r = rows_of(s, c, sign); r < rows_end(s, c, sign); ++r)
            memset(out + r->first, 0, sizeof *out * (size_t)(r->end - r->first));
    }
}

// Common sizes with A nodes of 6 rows, compiled with constants.
#define EDGE_SIZES(X) X(1, 6) X(2, 6) X(3, 6) X(4, 6) X(5, 6) X(6, 6)

static void mul_edge(const tni_saddle_edge* e, const double* J, const double* u, double* out)
{
    switch (e->n << 8 | e->m) {
#define SIZE(n, m) \
    case (n) << 8 | (m): tni_block_mul(n, m, J, u, out); break;
        EDGE_SIZES(SIZE)
#undef SIZE
    default: tni_block_mul(e->n, e->m, J, u, out);
    }
}

static void mul_edge_t(const tni_saddle_edge* e, const double* J, const double* mu, double* out)
{
    switch (e->n << 8 | e->m) {
#define SIZE(n, m) \
    case (n) << 8 | (m): tni_block_mul_t(n, m, J, mu, out); break;
        EDGE_SIZES(SIZE)
#undef SIZE
    default: tni_block_mul_t(e->n, e->m, J, mu, out);
    }
}

void tni_saddle_mul_j(const tni_saddle* s, int component, const double* u, double* out)
{
    const tni_range all = edges_of(s->plan, component);
    const double*   J   = first_j(s, all);
    zero_rows(s, component, -1, out);
    for (const tni_saddle_edge* e = s->edge + all.first; e < s->edge + all.end; ++e) {
        mul_edge(e, J, u + e->col, out + e->row);
        J += e->n * e->m;
    }
}

void tni_saddle_mul_jt(const tni_saddle* s, int component, const double* mu, double* out)
{
    const tni_range all = edges_of(s->plan, component);
    const double*   J   = first_j(s, all);
    zero_rows(s, component, 1, out);
    for (const tni_saddle_edge* e = s->edge + all.first; e < s->edge + all.end; ++e) {
        mul_edge_t(e, J, mu + e->row, out + e->col);
        J += e->n * e->m;
    }
}

// Factors the A blocks of a component. Returns the failing row, or -1.
static int factor_a(tni_saddle* s, int component)
{
    for (int i = s->a_start[component]; i < s->a_start[component + 1]; ++i) {
        const tni_saddle_node* v = &s->a_node[i];
        memcpy(s->a_factor + v->at, s->diagonal + v->at,
               sizeof(double) * (size_t)(v->dim * v->dim));
        const int bad = tni_block_factor(v->dim, s->a_factor + v->at);
        if (bad >= 0) return v->row + bad;
    }
    s->a_ready[component] = 1;
    return -1;
}

// A rows of out <- A^-1 (b - less); less may be NULL or out itself.
static void solve_a(const tni_saddle* s, int component, const double* b, const double* less,
                    double* out)
{
    for (int i = s->a_start[component]; i < s->a_start[component + 1]; ++i) {
        const tni_saddle_node* v = &s->a_node[i];
        double*                x = out + v->row;
        for (int k = 0; k < v->dim; ++k)
            x[k] = less != NULL ? b[v->row + k] - less[v->row + k] : b[v->row + k];
        tni_block_solve(v->dim, s->a_factor + v->at, x);
    }
}

void tni_saddle_solve_a(tni_saddle* s, int component, const double* b, double* out)
{
    const int first = component < 0 ? 0 : component;
    const int end   = component < 0 ? s->plan->component_count : component + 1;
    for (int c = first; c < end; ++c) {
        // Trees factor A on demand only. It cannot fail: the core has factored the same blocks.
        if (!s->a_ready[c]) (void)factor_a(s, c);
        solve_a(s, c, b, NULL, out);
    }
}

// --- factor -------------------------------------------------------------------------------------

// scale_i += (J A^-1 J^T)_ii of one edge, with A = L d L^T, from L^-1 J^T.
TNI_INLINE void measure_edge(int n, int m, const double* J, const double* D, double* scale)
{
    for (int i = 0; i < n; ++i, J += m) {
        double x[TNI_DIM_MAX], sum = scale[i];
        for (int j = 0; j < m; ++j) {
            x[j] = J[j];
            for (int k = 0; k < j; ++k) x[j] -= D[m * j + k] * x[k];
            sum += x[j] * x[j] * D[(m + 1) * j];
        }
        scale[i] = sum;
    }
}

// scale_i <- (J A^-1 J^T)_ii on B rows and A_ii on A rows.
static void measure_rows(tni_saddle* s, int component)
{
    const tni_plan* plan  = s->plan;
    const tni_range nodes = tni_plan_places(plan, component), edges = edges_of(plan, component);
    for (int p = nodes.first; p < nodes.end; ++p) {
        const tni_pivot* v    = &plan->pivot[p];
        const double*    from = s->diagonal + s->diagonal_at[plan->order[p]];
        for (int k = 0; k < v->dim; ++k)
            s->scale[v->row + k] = v->sign > 0 ? from[(v->dim + 1) * k] : 0;
    }
    const double* J = first_j(s, edges);
    for (int k = edges.first; k < edges.end; ++k) {
        const tni_saddle_edge* e = &s->edge[k];
        const double*          D = s->a_factor + s->diagonal_at[plan->col_node[plan->edge_list[k]]];
        if (e->m == 6) measure_edge(e->n, 6, J, D, s->scale + e->row);
        else measure_edge(e->n, e->m, J, D, s->scale + e->row);
        J += e->n * e->m;
    }
}

// An upper bound of |J A^-1 J^T|_1 over one component: the largest row of |J| |A^-1| |J^T|.
static double norm_of(tni_saddle* s, int component)
{
    const tni_plan* plan  = s->plan;
    const tni_range nodes = tni_plan_places(plan, component), edges = edges_of(plan, component);
    double *        t = s->work, *y = s->work + plan->row_count, most = 0;
    zero_rows(s, component, 1, t);
    zero_rows(s, component, 1, y);
    zero_rows(s, component, -1, y);
    for (int k = edges.first; k < edges.end; ++k) {
        const int     e = plan->edge_list[k], r = plan->row_node[e], c = plan->col_node[e];
        const double* J = s->j + s->j_at[e];
        for (int i = 0; i < plan->dim[r] * plan->dim[c]; ++i)
            t[plan->row_start[c] + i % plan->dim[c]] += fabs(J[i]);
    }
    for (int p = nodes.first; p < nodes.end; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        for (int k = 0; v->sign > 0 && k < v->dim; ++k) {
            double x[TNI_DIM_MAX] = {0};
            x[k]                  = 1;
            tni_block_solve(v->dim, s->a_factor + s->diagonal_at[plan->order[p]], x);
            for (int i = 0; i < v->dim; ++i) y[v->row + i] += fabs(x[i]) * t[v->row + k];
        }
    }
    for (int k = edges.first; k < edges.end; ++k) {
        const int     e = plan->edge_list[k], r = plan->row_node[e], c = plan->col_node[e];
        const double* J = s->j + s->j_at[e];
        for (int i = 0; i < plan->dim[r] * plan->dim[c]; ++i) {
            double* sum = &y[plan->row_start[r] + i / plan->dim[c]];
            *sum += fabs(J[i]) * y[plan->row_start[c] + i % plan->dim[c]];
            most = fmax(most, *sum);
        }
    }
    return most;
}

// Sets raise so that E_ii is at least alpha_i in the core; a row without J gets scale 1. same:
// alpha of all rows; 0: each row has its own.
static void regularise(tni_saddle* s, int component, double eps, double same)
{
    const tni_plan* plan  = s->plan;
    const tni_range nodes = tni_plan_places(plan, component);
    for (int p = nodes.first; p < nodes.end; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        const double*    E = s->diagonal + s->diagonal_at[plan->order[p]];
        for (int k = 0; k < v->dim; ++k) {
            const double given   = E[(v->dim + 1) * k];
            double*      scale   = &s->scale[v->row + k];
            double       alpha   = same > 0 ? same : eps * *scale;
            s->raise[v->row + k] = 0;
            if (v->sign > 0) continue;
            if (!(alpha > 0 && *scale > 0) && given == 0) {
                alpha  = same > 0 ? same : eps;
                *scale = 1;
            }
            s->alpha[v->row + k] = alpha;
            *scale += given;
            if (given < alpha) s->raise[v->row + k] = alpha - given;
        }
    }
}

static tni_blocks blocks_of(const tni_saddle* s)
{
    return (tni_blocks){s->diagonal, s->diagonal_at, s->j, s->j_at, !s->soft};
}

static tn_result factor_loop(tni_saddle* s, int component)
{
    s->refined[component] = 1;
    ++s->report.loop_count;
    s->report.bad_row = factor_a(s, component);
    if (s->report.bad_row >= 0) return TN_ERR_SINGULAR;
    measure_rows(s, component);
    const double eps = s->regularisation;
    regularise(s, component, eps, s->formulation.by_norm ? eps * norm_of(s, component) : 0);
    const tni_blocks     blocks = blocks_of(s);
    const tni_pivot_rule rule   = {
          .scale = s->scale, .alpha = s->alpha, .tolerance = LOOP_TOLERANCE * s->regularisation};
    tni_pivot_report report;
    const tn_result  result = tni_ldl_factor(s->ldl, component, &blocks, s->raise, &rule, &report);
    s->report.bad_row       = report.bad_row;
    s->report.replaced_count += report.replaced;
    return result;
}

// The first row of the component with a scale that is not finite, or -1.
static int row_not_finite(const tni_saddle* s, int component)
{
    const tni_range all = tni_plan_places(s->plan, component);
    for (int p = all.first; p < all.end; ++p) {
        const tni_pivot* v = &s->plan->pivot[p];
        for (int k = v->row; k < v->row + v->dim; ++k) {
            if (!(fabs(s->scale[k]) <= DBL_MAX)) return k;
        }
    }
    return -1;
}

static tn_result factor_schur(tni_saddle* s, int component)
{
    s->refined[component] = 1;
    ++s->report.loop_count;
    s->report.bad_row = factor_a(s, component);
    if (s->report.bad_row >= 0) return TN_ERR_SINGULAR;
    const tni_schur_blocks blocks = {s->a_factor, s->soft ? s->diagonal : NULL, s->diagonal_at,
                                     s->j, s->j_at};
    const double           norm   = s->formulation.by_norm ? norm_of(s, component) : 0;
    tn_result              result = TN_ERR_SINGULAR;
    double                 eps    = s->regularisation;
    for (int tries = 0; tries < TRIES && result == TN_ERR_SINGULAR; ++tries, eps *= 100) {
        tni_pivot_report report;
        zero_rows(s, component, 1, s->scale);
        tni_schur_load(s->schur, component, &blocks, s->scale);
        s->report.bad_row = row_not_finite(s, component);
        if (s->report.bad_row >= 0) return TN_ERR_SINGULAR;
        regularise(s, component, eps, eps * norm);
        result = tni_schur_factor(s->schur, component, s->raise, eps, eps * norm, &report);
        s->report.bad_row = report.bad_row;
        s->report.replaced_count += result != TN_OK;
    }
    return result;
}

static tn_result factor_tree(tni_saddle* s, int component, bool* lost)
{
    const tni_pivot_rule rule   = {.tolerance = TREE_TOLERANCE};
    const tni_blocks     blocks = blocks_of(s);
    tni_pivot_report     report;
    const tn_result      result = tni_ldl_factor(s->ldl, component, &blocks, NULL, &rule, &report);
    *lost                       = result == TN_OK && report.replaced > 0;
    s->report.bad_row           = report.bad_row;
    if (!*lost && report.smallest < s->report.pivot_min) {
        s->report.pivot_min = report.smallest;
        s->report.pivot_row = report.smallest_row;
    }
    return result;
}

static void clear_report(tni_saddle* s)
{
    s->deferred = false;
    s->report   = (tni_saddle_report){
          .pivot_min = HUGE_VAL, .pivot_row = -1, .residual_row = -1, .bad_row = -1};
}

static tn_result factor_component(tni_saddle* s, int c)
{
    bool       lost  = false;
    const bool exact = s->plan->tree[c] && !s->damped;
    s->a_ready[c] = s->refined[c] = 0;
    if (s->schur != NULL) return factor_schur(s, c);
    if (exact && factor_tree(s, c, &lost) != TN_OK) return TN_ERR_SINGULAR;
    return exact && !lost ? TN_OK : factor_loop(s, c);
}

tn_result tni_saddle_factor(tni_saddle* s)
{
    clear_report(s);
    for (int c = 0; c < s->plan->component_count; ++c) {
        if (s->asleep != NULL && s->asleep[c]) continue;
        TRY(factor_component(s, c));
    }
    return TN_OK;
}

tn_result tni_saddle_factor_one(tni_saddle* s, int component)
{
    clear_report(s);
    return factor_component(s, component);
}

// --- solve --------------------------------------------------------------------------------------

// x . y over B rows: four partial sums, row i of a range in sum i % 4.
static double dot_b(const tni_saddle* s, int component, const double* x, const double* y)
{
    double sum[4] = {0};
    for (const tni_saddle_rows* r = rows_of(s, component, -1); r < rows_end(s, component, -1);
         ++r) {
        int i = r->first;
        for (; i + 4 <= r->end; i += 4) {
            for (int k = 0; k < 4; ++k) sum[k] += x[i + k] * y[i + k];
        }
        for (int k = 0; i + k < r->end; ++k) sum[k] += x[i + k] * y[i + k];
    }
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// y <- y + factor * x on the rows of one sign.
static void add(const tni_saddle* s, int component, int sign, double factor,
                const double* restrict x, double* restrict y)
{
    for (const tni_saddle_rows* r = rows_of(s, component, sign); r < rows_end(s, component, sign);
         ++r) {
        for (int i = r->first; i < r->end; ++i) y[i] += factor * x[i];
    }
}

// y <- x on the rows of one sign.
static void copy(const tni_saddle* s, int component, int sign, const double* x, double* y)
{
    for (const tni_saddle_rows* r = rows_of(s, component, sign); r < rows_end(s, component, sign);
         ++r)
        memcpy(y + r->first, x + r->first, sizeof *y * (size_t)(r->end - r->first));
}

static void copy_all(const tni_saddle* s, int component, const double* x, double* y)
{
    copy(s, component, 1, x, y);
    copy(s, component, -1, x, y);
}

// out <- out + factor * E mu on B rows.
static void add_e(const tni_saddle* s, int component, double factor, const double* mu, double* out)
{
    const tni_range all = tni_plan_places(s->plan, component);
    for (int p = all.first; s->soft && p < all.end; ++p) {
        const tni_pivot* v = &s->plan->pivot[p];
        if (v->sign > 0) continue;
        const double* E = s->diagonal + s->diagonal_at[s->plan->order[p]];
        for (int i = 0; i < v->dim; ++i) {
            double sum = 0;
            for (int j = 0; j < v->dim; ++j) sum += E[v->dim * i + j] * mu[v->row + j];
            out[v->row + i] += factor * sum;
        }
    }
}

// B rows of res <- J u - E mu - r.
static void find_residual(const tni_saddle* s, int component, const double* rhs, const double* x,
                          double* res)
{
    tni_saddle_mul_j(s, component, x, res);
    add_e(s, component, -1, x, res);
    add(s, component, -1, -1, rhs, res);
}

// B rows of z <- -mu_part(core(0, res)); A rows are overwritten.
static void precondition(const tni_saddle* s, int component, const double* res, double* z)
{
    copy(s, component, -1, res, z);
    if (s->schur != NULL) {
        tni_schur_solve(s->schur, component, z);
        return;
    }
    zero_rows(s, component, 1, z);
    tni_ldl_solve(s->ldl, component, 1, z);
    for (const tni_saddle_rows* r = rows_of(s, component, -1); r < rows_end(s, component, -1);
         ++r) {
        for (int i = r->first; i < r->end; ++i) z[i] = -z[i];
    }
}

// B rows of x <- mu from the core; A rows are overwritten. x is the right-hand side on entry.
static void first_guess(const tni_saddle* s, int component, const double* rhs, double* x)
{
    if (s->schur == NULL) {
        tni_ldl_solve(s->ldl, component, 1, x);
        return;
    }
    solve_a(s, component, rhs, NULL, x);
    tni_saddle_mul_j(s, component, x, x);
    add(s, component, -1, -1, rhs, x);
    tni_schur_solve(s->schur, component, x);
}

static int refine_loop(const tni_saddle* s, int c, const double* rhs, double reference, double* x)
{
    const size_t rows = (size_t)s->plan->row_count;
    double *res = s->work, *z = s->work + rows, *p = s->work + 2 * rows, *q = s->work + 3 * rows;
    double *best = s->work + 4 * rows, *jq = s->work + 5 * rows;
    find_residual(s, c, rhs, x, res);
    precondition(s, c, res, z);
    copy(s, c, -1, z, p);
    copy_all(s, c, x, best);
    double rz = dot_b(s, c, res, z), smallest = rz;
    int    steps = 0;
    while (steps < s->refinement_max && rz > 1e-26 * reference) {
        tni_saddle_mul_jt(s, c, p, q);
        solve_a(s, c, q, NULL, q);
        tni_saddle_mul_j(s, c, q, jq);
        add_e(s, c, 1, p, jq);
        const double curvature = dot_b(s, c, p, jq);
        if (!(curvature > FILTER * rz)) break;
        ++steps;
        const double a = rz / curvature;
        add(s, c, -1, a, p, x);
        add(s, c, 1, -a, q, x);
        find_residual(s, c, rhs, x, res);
        precondition(s, c, res, z);
        const double next = dot_b(s, c, res, z);
        if (next < smallest) {
            smallest = next;
            copy_all(s, c, x, best);
        }
        if (!(next <= 100 * smallest)) break;
        const double b = next / rz;
        rz             = next;
        add(s, c, -1, b, p, z);
        copy(s, c, -1, z, p);
    }
    copy_all(s, c, best, x);
    return steps;
}

// x is the right-hand side on entry.
static void solve_loop(tni_saddle* s, int c, const double* rhs, double* x, bool refine)
{
    double *ua = s->work, *res = s->work + s->plan->row_count, reference = 0;
    first_guess(s, c, rhs, x);
    if (refine) {
        solve_a(s, c, rhs, NULL, ua);
        tni_saddle_mul_j(s, c, ua, res);
        add(s, c, -1, -1, rhs, res);
        reference = fabs(dot_b(s, c, x, res));
    }
    tni_saddle_mul_jt(s, c, x, x);
    solve_a(s, c, rhs, x, x);
    if (!refine) return;
    const int steps = refine_loop(s, c, rhs, reference, x);
    if (steps > s->report.refinement_count) s->report.refinement_count = steps;
}

// Updates the largest residual, for a loop. Trees are solved directly; their residual is rounding
// and not worth another pass over J.
static void find_loop_residual(tni_saddle* s, int component, const double* rhs, const double* x)
{
    tni_saddle_report* report = &s->report;
    double*            res    = s->work;
    find_residual(s, component, rhs, x, res);
    for (const tni_saddle_rows* r = rows_of(s, component, -1); r < rows_end(s, component, -1);
         ++r) {
        for (int i = r->first; i < r->end; ++i) {
            if (fabs(res[i]) <= report->residual && report->residual_row >= 0) continue;
            report->residual     = fabs(res[i]);
            report->residual_row = i;
        }
    }
}

const tni_saddle_report* tni_saddle_judge(tni_saddle* s)
{
    for (int c = 0; s->deferred && c < s->plan->component_count; ++c) {
        if (s->refined[c] && (s->asleep == NULL || !s->asleep[c]))
            find_loop_residual(s, c, s->deferred_rhs, s->deferred_x);
    }
    s->deferred = false;
    return &s->report;
}

// Index of the first number that is not finite, or -1.
static int first_not_finite(const double* x, int count)
{
    double sum[8] = {0}; // x - x is 0, or NaN if x is not finite
    bool   finite = true;
    int    i      = 0;
    for (; i + 8 <= count; i += 8) {
        for (int k = 0; k < 8; ++k) sum[k] += x[i + k] - x[i + k];
    }
    for (int k = 0; i + k < count; ++k) sum[k] += x[i + k] - x[i + k];
    for (int k = 0; k < 8; ++k) finite = finite && sum[k] == 0;
    for (i = 0; !finite && i < count; ++i) {
        if (!(fabs(x[i]) <= DBL_MAX)) return i;
    }
    return -1;
}

tn_result tni_saddle_solve(tni_saddle* s, const double* rhs, double* x, bool refine)
{
    const tni_plan* plan       = s->plan;
    const bool      now        = refine || !s->later;
    s->deferred                = false;
    s->report.refinement_count = 0;
    s->report.residual         = 0;
    s->report.residual_row = s->report.bad_row = -1;
    memcpy(x, rhs, sizeof(double) * (size_t)plan->row_count);
    for (int c = 0; c < plan->component_count; ++c) {
        if (s->asleep != NULL && s->asleep[c]) {
            zero_rows(s, c, 1, x);
            zero_rows(s, c, -1, x);
        } else if (s->refined[c]) {
            solve_loop(s, c, rhs, x, refine);
            if (now) find_loop_residual(s, c, rhs, x);
        } else {
            tni_ldl_solve(s->ldl, c, 1, x);
        }
    }
    if (!now) {
        memcpy(s->deferred_rhs, rhs, sizeof(double) * (size_t)plan->row_count);
        memcpy(s->deferred_x, x, sizeof(double) * (size_t)plan->row_count);
        s->deferred = true;
    }
    s->report.bad_row = first_not_finite(x, plan->row_count);
    return s->report.bad_row < 0 ? TN_OK : TN_ERR_SINGULAR;
}

tn_result tni_saddle_solve_one(tni_saddle* s, int c, const double* rhs, double* x, bool refine)
{
    copy_all(s, c, rhs, x);
    if (s->refined[c]) solve_loop(s, c, rhs, x, refine);
    else tni_ldl_solve(s->ldl, c, 1, x);
    s->report.bad_row = -1;
    for (int k = kind_of(c, 1); k <= kind_of(c, -1); ++k) {
        for (int i = s->rows_start[k]; i < s->rows_end[k]; ++i) {
            const tni_saddle_rows r   = s->rows[i];
            const int             bad = first_not_finite(x + r.first, r.end - r.first);
            if (bad < 0) continue;
            s->report.bad_row = r.first + bad;
            return TN_ERR_SINGULAR;
        }
    }
    return TN_OK;
}

// --- response -----------------------------------------------------------------------------------

static void move_rows(const tni_plan* plan, int node, double* to, int to_stride, const double* from,
                      int from_stride)
{
    for (int k = plan->row_start[node]; k < plan->row_start[node + 1]; ++k)
        to[k * to_stride] = from != NULL ? from[k * from_stride] : 0;
}

// One right-hand side, one component.
static void respond_in(tni_saddle* s, int c, const int* given, int given_count, const int* wanted,
                       int wanted_count, int count, double* x, bool refine, double* work)
{
    const tni_plan* plan = s->plan;
    double *        rhs = work, *answer = work + plan->row_count;
    zero_rows(s, c, 1, rhs);
    zero_rows(s, c, -1, rhs);
    for (int i = 0; i < given_count; ++i) {
        if (plan->component_of[given[i]] == c) move_rows(plan, given[i], rhs, 1, x, count);
    }
    copy_all(s, c, rhs, answer);
    if (s->refined[c]) solve_loop(s, c, rhs, answer, refine);
    else tni_ldl_solve(s->ldl, c, 1, answer);
    for (int i = 0; i < wanted_count; ++i) {
        if (plan->component_of[wanted[i]] == c) move_rows(plan, wanted[i], x, count, answer, 1);
    }
}

// True if a node is seen for the first time since raise_stamp().
static bool is_new(tni_saddle* s, int node)
{
    const bool first = s->seen[node] != s->stamp;
    s->seen[node]    = s->stamp;
    return first;
}

static void raise_stamp(tni_saddle* s)
{
    if (s->stamp == INT32_MAX) {
        s->stamp = 0;
        memset(s->seen, 0, sizeof *s->seen * (size_t)s->plan->count);
    }
    ++s->stamp;
}

// u on one A node from mu on its neighbours, for one of `count` right-hand sides; b NULL: 0.
static void recompute(const tni_saddle* s, int node, const double* b, int count, double* x)
{
    const tni_plan* plan = s->plan;
    const int       dim = plan->dim[node], row = plan->row_start[node];
    double          t[TNI_DIM_MAX] = {0}, mu[TNI_DIM_MAX];
    for (int k = s->near_start[node]; k < s->near_start[node + 1]; ++k) {
        const tni_saddle_edge* e = &s->edge[s->near[k]];
        for (int i = 0; i < e->n; ++i) mu[i] = x[(e->row + i) * count];
        mul_edge_t(e, s->j + s->j_at[plan->edge_list[s->near[k]]], mu, t);
    }
    for (int i = 0; i < dim; ++i) t[i] = (b != NULL ? b[(row + i) * count] : 0) - t[i];
    tni_block_solve(dim, s->a_factor + s->diagonal_at[node], t);
    for (int i = 0; i < dim; ++i) x[(row + i) * count] = t[i];
}

// All right-hand sides at once, one component with loops, unrefined: the core gives mu on the B
// nodes adjacent to the wanted nodes, along paths, and u follows from it. Same bits as solve_loop.
static void respond_near(tni_saddle* s, int c, const int* given, int given_count, const int* wanted,
                         int wanted_count, int count, double* x)
{
    const tni_plan* plan = s->plan;
    int *           from = s->path, from_count = 0, *near, near_count = 0;
    for (int i = 0; i < given_count; ++i) {
        if (plan->component_of[given[i]] != c) continue;
        const size_t at = (size_t)(plan->row_start[given[i]] * count);
        memcpy(s->work + at, x + at, sizeof *x * (size_t)(plan->dim[given[i]] * count));
        from[from_count++] = given[i];
    }
    near = from + from_count;
    raise_stamp(s);
    for (int i = 0; i < wanted_count; ++i) {
        const int node = wanted[i];
        if (plan->component_of[node] != c || !is_new(s, node)) continue;
        for (int k = s->near_start[node]; k < s->near_start[node + 1]; ++k) {
            const int other = plan->row_node[plan->edge_list[s->near[k]]];
            if (is_new(s, other)) near[near_count++] = other;
        }
    }
    (void)tni_ldl_solve_path(s->ldl, from, from_count, near, near_count, count, x);
    raise_stamp(s);
    for (int i = 0; i < wanted_count; ++i) {
        const int node  = wanted[i];
        bool      known = false;
        if (plan->component_of[node] != c || !is_new(s, node)) continue;
        for (int k = 0; k < from_count; ++k) known = known || from[k] == node;
        for (int k = 0; k < count; ++k)
            recompute(s, node, known ? s->work + k : NULL, count, x + k);
    }
}

void tni_saddle_respond(tni_saddle* s, const int* given, int given_count, const int* wanted,
                        int wanted_count, int count, double* x, bool refine, double* work)
{
    const tni_plan* plan  = s->plan;
    bool            loops = s->schur != NULL;
    for (int i = 0; i < given_count; ++i) loops = loops || s->refined[plan->component_of[given[i]]];
    if (!loops) {
        (void)tni_ldl_solve_path(s->ldl, given, given_count, wanted, wanted_count, count, x);
        return;
    }
    for (int i = 0; i < wanted_count; ++i) { // they may be given nodes
        bool reached = false;
        for (int j = 0; j < given_count && !reached; ++j)
            reached = plan->component_of[given[j]] == plan->component_of[wanted[i]];
        for (int k = 0; k < count && !reached; ++k)
            move_rows(plan, wanted[i], x + k, count, NULL, 0);
    }
    for (int i = 0; i < given_count; ++i) {
        const int c = plan->component_of[given[i]];
        bool new    = true;
        for (int j = 0; j < i; ++j) new = new && plan->component_of[given[j]] != c;
        if (!new) continue;
        const bool core = s->schur == NULL && s->refined[c] && !refine;
        if (core && count <= WORK_VECTORS)
            respond_near(s, c, given, given_count, wanted, wanted_count, count, x);
        for (int k = 0; k < count && !(core && count <= WORK_VECTORS); ++k)
            respond_in(s, c, given, given_count, wanted, wanted_count, count, x + k, refine, work);
    }
}

// --- forms --------------------------------------------------------------------------------------

// Flops of the factorisation, of factoring A and of the scales, the latter two on loops.
static double kkt_flops(const tni_plan* plan)
{
    double sum = plan->factor_flops;
    for (int v = 0; v < plan->count; ++v) {
        const double m = plan->dim[v];
        if (plan->sign[v] > 0 && !plan->tree[plan->component_of[v]])
            sum += m * (2 * m * m + 3 * m - 1) / 6;
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        const double m = plan->dim[plan->col_node[e]], n = plan->dim[plan->row_node[e]];
        if (!plan->tree[plan->component_of[plan->col_node[e]]]) sum += n * m * (m + 2);
    }
    return sum;
}

static double flops_below(const tn_host* host, const tni_plan* plan, const tni_formulation* f,
                          double limit)
{
    switch (f->form) {
    case TNI_FORM_SPD: return tni_schur_flops(host, plan, TNI_WHOLE, limit);
    case TNI_FORM_SPLIT: return tni_schur_flops(host, plan, f->part_edges, limit);
    default: return kkt_flops(plan);
    }
}

double tni_saddle_flops(const tni_saddle* s)
{
    return s->schur != NULL ? s->schur->flops : kkt_flops(s->plan);
}

double tni_form_flops(const tn_host* host, const tni_plan* plan, const tni_formulation* f)
{
    return flops_below(host, plan, f, HUGE_VAL);
}

tni_form tni_form_choose(const tn_host* host, const tni_plan* plan, unsigned allowed)
{
    bool     loops = false;
    tni_form best  = TNI_FORM_KKT;
    double   least = HUGE_VAL;
    for (int c = 0; c < plan->component_count; ++c) loops = loops || !plan->tree[c];
    const bool kkt = (allowed & 1U << TNI_FORM_KKT) != 0, spd = (allowed & 1U << TNI_FORM_SPD) != 0;
    if (kkt && (!loops || plan->count > COUNT_MAX)) return TNI_FORM_KKT;
    for (int form = TNI_FORM_KKT; form <= TNI_FORM_SPLIT; ++form) {
        const tni_formulation f = {.form = (tni_form)form};
        if ((allowed & 1U << form) == 0) continue;
        if (form == TNI_FORM_SPLIT && spd && !tni_schur_splits(host, plan)) continue; // same as SPD
        const double flops = flops_below(host, plan, &f, least);
        if (flops < least) least = flops, best = (tni_form)form;
    }
    return best;
}

// Nonzeros of matrix and factor on a plan: traverses each row's subtree in the elimination tree of
// blocks, not the plan's own tree, in which blocks are merged.
static void count_numbers(const tni_plan* plan, const tni_adjacency* graph, int* parent, int* seen,
                          double* matrix, double* factor)
{
    tni_order_parents(graph, plan->order, plan->place, parent, seen);
    for (int p = 0; p < plan->count; ++p) seen[p] = -1;
    for (int p = 0; p < plan->count; ++p) {
        const int    v = plan->order[p];
        const double n = plan->dim[v];
        seen[p]        = p;
        *matrix += n * (n + 1) / 2;
        *factor += n * (n + 1) / 2;
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            int i = plan->place[graph->node[k]];
            if (i < p) *matrix += n * plan->dim[graph->node[k]];
            for (; i < p && seen[i] != p; i = parent[i]) {
                seen[i] = p;
                *factor += n * plan->dim[plan->order[i]];
            }
        }
    }
}

tn_result tni_saddle_numbers(const tni_saddle* s, const tn_host* host, double* matrix,
                             double* factor)
{
    const tni_plan* plan    = s->schur != NULL ? s->schur->plan : s->plan;
    tni_arena       scratch = tni_arena_make(host);
    uint8_t*        strong  = TNI_TAKE(&scratch, uint8_t, plan->edge_count);
    int*            parent  = TNI_TAKE(&scratch, int, plan->count);
    int*            seen    = TNI_TAKE(&scratch, int, plan->count);
    const tni_graph graph   = {plan->count,    plan->dim,      plan->sign, plan->edge_count,
                               plan->row_node, plan->col_node, strong,     NULL};
    *matrix = *factor = 0;
    if (!scratch.failed) {
        const tni_adjacency adjacency = tni_adjacency_make(&scratch, &graph);
        if (!scratch.failed) count_numbers(plan, &adjacency, parent, seen, matrix, factor);
    }
    const bool failed = scratch.failed;
    tni_arena_free(&scratch);
    if (s->schur != NULL && s->schur->cholmod != NULL)
        *factor = tni_cholmod_numbers(s->schur->cholmod);
    return failed ? TN_ERR_MEMORY : TN_OK;
}
