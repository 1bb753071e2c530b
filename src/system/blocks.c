// blocks: stiff forces as blocks between bodies [1], in two forms.
//
//     A u + J^T mu = b,   J u = r
//
// blocks: a soft force (force.h) acts along its rows with the impulse g - W J u over a step, W =
// e^2 K + e D (tni_soft_impulse). W goes into A: J_a^T W J_a and J_b^T W J_b on the diagonal, J_a^T
// W J_b between the bodies; J^T g into b. This is the matrix of the form rows with its compliant
// rows eliminated, hence the same answer; but stiffness is added to masses, which lose digits when
// W is much larger. Measured: 1e-15 difference to the form rows on random forests with springs of
// 1e3 N/m, 1e-10 with 1e8 N/m; 3e-14 on a chain of 1000 with 1e8 N m/rad in its joints.
//
// exact: with the derivatives of all forces F at the start, in poses and velocities,
//
//     A = M - e dF/du - e^2 dF/dq,     b = p + e F - e (dF/du) u0 + e (dF/dq) h drift
//
// A is not symmetric: rotating a body rotates the forces on it. F and its derivatives are evaluated
// with movable bodies at the start of the step and prescribed motion at its end: one step of
// Newton's method for backward Euler. Rotating bodies keep their momentum in free flight (tni_fly),
// so F has no gyroscopic forces. One-sided limits are active where the start exceeds them.
// User-defined bodies have no derivatives (tni_derive): their forces are those of the start.
// Geometric stiffness K_g and contacts are treated as in the other forms.
//
// Both are factored in the tree of the joints with blocks between neighbours
// (linalg/grandparent.h), in linear time. A spring between two bodies without a joint is a node
// without rows, as long as it closes no loop; others are refused, and so are hard limits: the form
// rows supports them.
//
// [1] F. Hernandez, C. Garre, R. Casillas, M. A. Otaduy, Linear-Time Dynamics of Characters with
//     Stiff Joints, V Ibero-American Symposium in Computer Graphics 2011.
#include "system/blocks.h"

#include "base/groups.h"
#include "force/soft.h"
#include "linalg/grandparent.h"
#include "system/geometric_stiffness.h"
#include "system/linearise.h"

#include <float.h>
#include <math.h>

struct tni_block_form {
    const tn_model*        model;
    tni_system*            system;
    tni_implicit_contacts* contacts;
    bool                   exact;
    tni_plan*              plan;
    tni_grandparent*       grand;
    int*                   edge;        ///< by constraint: its first edge in the plan
    size_t*                diagonal_at; ///< by node; the nodes of constraints have no block here
    size_t*                edge_at;     ///< by edge
    double *               A, *J;
    tni_mat3*              K_g;
    tni_view*              views; ///< exact: bodies at the start, prescribed motion at the end
    double *               rhs, *once;
};

// ---- Creation -----------------------------------------------------------------------------------

/// The graph of bodies, constraints, and springs without a joint, while it is built.
typedef struct graph_builder {
    const tn_model* model;
    tni_graph       graph;
    int *           dim, *row, *col;
    int8_t*         sign;
    uint8_t *       strong, *coupled;
    int*            up;          ///< union-find forest, by body; the ground is one
    int *           head, *next; ///< lists of constraint nodes by body: heads by body, links by
                                 ///< edge
} graph_builder;

static bool create_builder(tni_arena* scratch, const tn_model* model, graph_builder* s)
{
    const int nodes = model->free_count + model->constraint_count + model->spring_count;
    const int edges = model->edge_count + 2 * model->spring_count;
    *s              = (graph_builder){.model   = model,
                                      .dim     = TNI_TAKE(scratch, int, nodes),
                                      .row     = TNI_TAKE(scratch, int, edges),
                                      .col     = TNI_TAKE(scratch, int, edges),
                                      .sign    = TNI_TAKE(scratch, int8_t, nodes),
                                      .strong  = TNI_TAKE(scratch, uint8_t, edges),
                                      .coupled = TNI_TAKE(scratch, uint8_t, nodes),
                                      .up      = TNI_TAKE(scratch, int, model->body_count),
                                      .head    = TNI_TAKE(scratch, int, model->body_count),
                                      .next    = TNI_TAKE(scratch, int, edges)};
    if (scratch->failed) return false;
    s->graph = (tni_graph){0, s->dim, s->sign, 0, s->row, s->col, s->strong, NULL};
    for (int i = 0; i < model->body_count; ++i) {
        s->up[i]   = model->bodies[i].node >= 0 ? i : 0;
        s->head[i] = -1;
    }
    for (int i = 0; i < model->free_count; ++i) {
        s->dim[i]  = model->bodies[model->free_bodies[i]].dim;
        s->sign[i] = 1;
    }
    s->graph.count = model->free_count;
    return true;
}

static void add_edge(graph_builder* s, int body, bool strong)
{
    const int e   = s->graph.edge_count++;
    s->row[e]     = s->graph.count - 1;
    s->col[e]     = s->model->bodies[body].node;
    s->strong[e]  = strong;
    s->next[e]    = s->head[body];
    s->head[body] = e;
}

static void add_node(graph_builder* s, int rows, bool coupled)
{
    const int v   = s->graph.count++;
    s->dim[v]     = rows;
    s->sign[v]    = -1;
    s->coupled[v] = coupled;
}

// One node for each constraint, so that rows are numbered as in the model. False: there is a loop.
static bool add_constraints(graph_builder* s, const uint8_t* actuated, int* first_edge)
{
    const tn_model* model = s->model;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* of     = &model->constraints[i];
        const int*            bodies = model->edge_body + of->edge_start;
        const int             count  = of->edge_count;
        add_node(s, of->row_count,
                 of->kind == TNI_CONSTRAINT_JOINT &&
                     (actuated[of->index] || tni_holds_distance(&model->joints[of->index])));
        first_edge[i] = s->graph.edge_count;
        for (int k = 0; k < count; ++k) add_edge(s, bodies[k], tni_is_strong(model, of, bodies[k]));
        if (count < 1 || count > 2 || !tni_tie(s->up, bodies[0], count == 2 ? bodies[1] : 0))
            return false;
    }
    return true;
}

static int node_between(const graph_builder* s, int body1, int body2)
{
    const int node2 = s->model->bodies[body2].node;
    for (int e = s->head[body1]; e >= 0; e = s->next[e]) { // the two edges of a node are neighbours
        if (e > 0 && s->row[e - 1] == s->row[e] && s->col[e - 1] == node2) return s->row[e];
        if (e + 1 < s->graph.edge_count && s->row[e + 1] == s->row[e] && s->col[e + 1] == node2)
            return s->row[e];
    }
    return -1;
}

// The first spring that closes a loop; -1: none.
static int add_springs(graph_builder* s)
{
    const tn_model* model = s->model;
    for (int i = 0; i < model->spring_count; ++i) {
        const int body1 = model->springs[i].body1, body2 = model->springs[i].body2;
        if (model->bodies[body1].node < 0 || model->bodies[body2].node < 0) continue;
        const int node = node_between(s, body1, body2);
        if (node >= 0) s->coupled[node] = 1;
        if (node >= 0) continue;
        if (!tni_tie(s->up, body1, body2)) return i;
        add_node(s, 0, true);
        add_edge(s, body1, true);
        add_edge(s, body2, true);
    }
    return -1;
}

static tn_result refuse(const tni_block_form* f, tn_why* why, const char* reason)
{
    return tni_fail(why, TN_ERR_UNSUPPORTED,
                    "setting 'implicit.form': %s does not support '%s': %s",
                    f->exact ? "exact" : "blocks", f->model->name, reason);
}

static tn_result refuse_spring(const tni_block_form* f, tn_why* why, int index)
{
    const tn_model*   model  = f->model;
    const tni_spring* spring = &model->springs[index];
    return tni_fail(why, TN_ERR_UNSUPPORTED,
                    "setting 'implicit.form': %s: spring %d ('%s' to '%s') closes a loop",
                    f->exact ? "exact" : "blocks", index, model->bodies[spring->body1].name,
                    model->bodies[spring->body2].name);
}

static tn_result make_plan(tni_block_form* f, tni_arena* arena, tni_arena* scratch, tn_why* why)
{
    const tn_model* model    = f->model;
    uint8_t*        actuated = TNI_TAKE(scratch, uint8_t, model->joint_count);
    graph_builder   s;
    if (!create_builder(scratch, model, &s)) return TN_ERR_MEMORY;
    if (model->limit_count > 0) return refuse(f, why, "it has hard limits or ropes");
    for (int i = 0; i < model->actuation_count; ++i) actuated[model->actuations[i].joint] = 1;
    if (!add_constraints(&s, actuated, f->edge))
        return refuse(f, why, "it has loops, or constraints of more than two bodies");
    const int spring = add_springs(&s);
    if (spring >= 0) return refuse_spring(f, why, spring);
    if (tni_plan_create(arena, &s.graph, &f->plan) != TN_OK) return TN_ERR_MEMORY;
    const tn_result result = tni_grandparent_create(
        arena, f->plan, s.coupled, f->exact ? TNI_GRANDPARENT_GENERAL : TNI_GRANDPARENT_SYMMETRIC,
        &f->grand);
    if (result != TN_ERR_UNSUPPORTED) return result;
    return refuse(f, why, "the rows of some joint cannot be eliminated by one of its bodies");
}

static tn_result take_numbers(tni_block_form* f, tni_arena* arena)
{
    const tni_plan* plan = f->plan;
    size_t          A = 0, J = 0;
    f->diagonal_at = TNI_TAKE(arena, size_t, plan->count);
    f->edge_at     = TNI_TAKE(arena, size_t, plan->edge_count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < f->model->free_count; ++i) {
        f->diagonal_at[i] = A;
        A += (size_t)(plan->dim[i] * plan->dim[i]);
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        f->edge_at[e] = J;
        J += (size_t)(plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]]);
    }
    f->A    = TNI_TAKE(arena, double, A);
    f->J    = TNI_TAKE(arena, double, J);
    f->rhs  = TNI_TAKE(arena, double, plan->row_count);
    f->once = TNI_TAKE(arena, double, plan->row_count);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_blocks_create(tni_arena* arena, tni_system* system, tn_implicit_form form,
                            tni_implicit_contacts* contacts, tni_block_form** out, tn_why* why)
{
    const tn_model* model = system->model;
    tni_block_form* f     = TNI_TAKE(arena, tni_block_form, 1);
    *out                  = f;
    if (f == NULL) return TN_ERR_MEMORY;
    *f = (tni_block_form){.model    = model,
                          .system   = system,
                          .contacts = contacts,
                          .exact    = form == TN_IMPLICIT_EXACT,
                          .edge     = TNI_TAKE(arena, int, model->constraint_count),
                          .K_g      = TNI_TAKE(arena, tni_mat3, model->body_count),
                          .views    = TNI_TAKE(arena, tni_view, model->body_count)};
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; f->exact && i < model->free_count; ++i) {
        if (model->bodies[model->free_bodies[i]].kind == TN_BODY_USER)
            return refuse(f, why, "user-defined bodies have no derivatives");
    }
    tni_arena scratch = tni_arena_make(&model->arena.host);
    tn_result result  = make_plan(f, arena, &scratch, why);
    tni_arena_free(&scratch);
    return result == TN_OK ? take_numbers(f, arena) : result;
}

void tni_blocks_flops(const tni_block_form* form, double* factor, double* solve)
{
    *factor = form->grand->factor_flops;
    *solve  = form->grand->solve_flops;
}

// ---- Blocks -------------------------------------------------------------------------------------

static bool can_push(const tn_model* model, int body)
{
    return body >= 0 && tni_can_push(model, body);
}

static double* block_of(tni_block_form* f, int row_body, int col_body)
{
    const int row = f->model->bodies[row_body].node, col = f->model->bodies[col_body].node;
    return row == col ? f->A + f->diagonal_at[row] : tni_grandparent_between(f->grand, row, col);
}

// B += Ja^T X, Ja and X having `rows` rows.
static void add_product(int rows, int n, int m, const double* Ja, const double* X, double* B)
{
    for (int k = 0; k < rows; ++k) {
        for (int i = 0; i < n; ++i) {
            const double a = Ja[k * n + i];
            if (a == 0) continue; // J has many zeros
            for (int j = 0; j < m; ++j) B[i * m + j] += a * X[k * m + j];
        }
    }
}

// A += J^T W J, between all bodies of the force. Blocks without storage are transposes of stored
// ones.
static void add_stiffness(tni_block_form* f, const tni_soft* soft, const double* W)
{
    const tn_model* model = f->model;
    const int       m     = soft->row_count;
    double          WJ[TNI_SOFT_ROWS_MAX * TNI_DIM_MAX];
    for (int b = 0; b < 2; ++b) {
        if (!can_push(model, soft->body[b])) continue;
        const int n = model->bodies[soft->body[b]].dim;
        memset(WJ, 0, sizeof *WJ * (size_t)(m * n));
        add_product(m, m, n, W, soft->J[b], WJ); // W is symmetric
        for (int a = 0; a < 2; ++a) {
            if (!can_push(model, soft->body[a])) continue;
            double* B = block_of(f, soft->body[a], soft->body[b]);
            if (B != NULL) add_product(m, model->bodies[soft->body[a]].dim, n, soft->J[a], WJ, B);
        }
    }
}

typedef struct taking {
    tni_block_form*   f;
    const tni_linear* l;
} taking;

static void take_soft(void* user, const tni_soft* soft)
{
    const taking*   t = user;
    tni_block_form* f = t->f;
    double          W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
    if (!tni_linear_soft(t->l, soft, W, g, f->rhs)) return;
    add_stiffness(f, soft, W);
    tni_soft_add_force(f->model, soft, g, f->rhs);
}

// A += e D + e^2 K, b += e (D u0 - K h drift)
static void take_derivative(void* user, int row_body, int col_body, const double* K,
                            const double* D)
{
    const taking*   t     = user;
    const tn_model* model = t->f->model;
    const tni_body *row = &model->bodies[row_body], *col = &model->bodies[col_body];
    const double    e = t->l->reach, h = t->l->scheme->h;
    if (row->node < 0 || col->node < 0) return;
    double *      B = block_of(t->f, row_body, col_body), *b = t->f->rhs + row->u_start;
    const double *u = t->l->start->at.u + col->u_start, *drift = t->l->scheme->drift;
    TN_ASSERT(B != NULL);
    for (int i = 0; i < row->dim; ++i) {
        for (int j = 0; j < col->dim; ++j) {
            const int k = i * col->dim + j;
            B[k] += e * D[k] + e * e * K[k];
            b[i] += e * D[k] * u[j];
            if (drift != NULL) b[i] -= e * h * K[k] * drift[col->u_start + j];
        }
    }
}

// ---- A step -------------------------------------------------------------------------------------

// Bodies, whose forces are in rhs, and constraints.
static void fill(tni_block_form* f, const tni_linear* l)
{
    const tn_model* model = f->model;
    for (int i = 0; i < model->free_count; ++i) {
        const int body = model->free_bodies[i];
        tni_linear_body(l, body, f->A + f->diagonal_at[i], f->rhs + model->bodies[body].u_start);
    }
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* of = &model->constraints[i];
        double*               J[TNI_CONSTRAINT_BODIES_MAX];
        for (int k = 0; k < of->edge_count; ++k) J[k] = f->J + f->edge_at[f->edge[i] + k];
        tni_linear_rows(l, i, J, false, f->rhs + model->u_count + of->row_start);
    }
}

static void fill_distances(taking* t)
{
    const tn_model* model       = t->f->model;
    const double*   multipliers = t->l->start->multipliers;
    for (int i = 0; multipliers != NULL && i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        tni_soft         soft;
        if (!tni_holds_distance(joint)) continue;
        const int row = model->constraints[joint->constraint].row_start;
        tni_linear_distance(t->l, joint, multipliers[row], &soft);
        take_soft(t, &soft);
    }
}

static tn_result solve(tni_block_form* f, double* x, double* u, double* mu, tn_why* why)
{
    const tn_model* model = f->model;
    tni_grandparent_solve(f->grand, 1, x);
    for (int i = 0; i < model->u_count; ++i)
        if (!(fabs(x[i]) <= DBL_MAX)) return tni_system_fail_at(f->system, i, why);
    memcpy(u, x, sizeof *u * (size_t)model->u_count);
    memcpy(mu, x + model->u_count, sizeof *mu * (size_t)model->row_count);
    return TN_OK;
}

// Response of the factored system to other forces.
static tn_result solve_factored(void* user, const double* b, double* u, double* mu, tn_why* why)
{
    tni_block_form* f = user;
    memset(f->once, 0, sizeof *f->once * (size_t)f->plan->row_count);
    memcpy(f->once, b, sizeof *f->once * (size_t)f->model->u_count);
    return solve(f, f->once, u, mu, why);
}

tn_result tni_blocks_factor(tni_block_form* f, const tni_step_start* start,
                            const tni_step_scheme* scheme, tn_why* why)
{
    const tn_model*  model  = f->model;
    const tni_linear l      = tni_linear_begin(f->system, f->contacts, start, scheme, f->K_g);
    tni_scene_view   ending = l.scene;
    taking           t      = {f, &l};
    ending.time             = scheme->time;
    ending.views            = f->views;
    if (f->exact) tni_views(model, scheme->time, start->at.q, start->at.u, f->views);
    if (f->exact) tni_forces(&ending, f->rhs);
    else tni_nonstiff_forces(&l.scene, f->rhs);
    tni_grandparent_clear(f->grand);
    fill(f, &l);
    fill_distances(&t);
    if (f->exact) tni_derive(&ending, take_derivative, &t);
    else tni_soften(&l.scene, &l.predicted, take_soft, &t);
    TRY(tni_linear_contacts(&l, take_soft, &t, why));
    const tni_blocks blocks = {f->A, f->diagonal_at, f->J, f->edge_at, true};
    if (tni_grandparent_factor(f->grand, &blocks) != TN_OK)
        return tni_system_fail_at(f->system, f->grand->report.bad_row, why);
    return tni_woodbury_factor(&f->contacts->woodbury, solve_factored, f, why);
}

tn_result tni_blocks_solve(tni_block_form* f, bool whole, const double* b, const double* r,
                           double* u, double* mu, tn_why* why)
{
    const size_t u_count = (size_t)f->model->u_count, rows = (size_t)f->model->row_count;
    if (whole) {
        memcpy(f->once, f->rhs, sizeof *f->once * (u_count + rows));
    } else {
        if (b != NULL) memcpy(f->once, b, sizeof *b * u_count);
        else memset(f->once, 0, sizeof *f->once * u_count);
        memcpy(f->once + u_count, r, sizeof *r * rows);
    }
    TRY(solve(f, f->once, u, mu, why));
    return tni_woodbury_apply(&f->contacts->woodbury, whole, solve_factored, f, u, mu, why);
}
