// compliant: stiff forces between bodies as rows with a compliance
// (docs/theory/implicit.md 2).
//
// A soft force (force.h) acts along its rows with the impulse g - W J u over a step, W = e^2 K + e
// D, g = e (f - K J h drift). Where W > 0 this is the row
//
//     J u - E mu = E g,     E = W^-1,   mu = -(impulse)
//
// which becomes the hard row as K grows, and belongs to the node of its joint: the tree stays the
// tree of the joints, with linear time. W of rotation vectors is not diagonal: its rows are
// transformed to its eigenvectors. A direction without stiffness has no row (J = 0, E = 1), and its
// force is an ordinary one. Springs between bodies with a joint belong to that joint's node; others
// are nodes of their own, and may close loops: then there is fill-in, which the plan counts.
//
// Hard limits and ropes are unilateral rows: J u = -C/e while they are active.
#include "force/soft.h"
#include "system/compliant_node.h"
#include "system/geometric_stiffness.h"

// ---- Rows ---------------------------------------------------------------------------------------

double* tni_compliant_block(tni_compliant* c, int node, int body)
{
    const int* bodies;
    const int  n = tni_compliant_edges(c, node, &bodies);
    for (int k = 0; k < n; ++k)
        if (bodies[k] == body) return tni_saddle_j(c->saddle, c->nodes[node].edge + k);
    return NULL;
}

// Makes rows from `from` on of node i inactive: J = 0, E = 1.
static void clear_rows(tni_compliant* c, int i, int from)
{
    const tni_compliant_node* n = &c->nodes[i];
    const int*                bodies;
    const int                 edges = tni_compliant_edges(c, i, &bodies);
    double*                   E     = tni_compliant_e(c, i);
    for (int k = 0; k < edges; ++k) {
        const int dim = c->model->bodies[bodies[k]].dim;
        memset(tni_saddle_j(c->saddle, n->edge + k) + from * dim, 0,
               sizeof(double) * (size_t)((n->count - from) * dim));
    }
    memset(E, 0, sizeof *E * (size_t)(n->count * n->count));
    for (int k = from; k < n->count; ++k) {
        E[k * n->count + k] = 1;
        c->rhs[n->row + k]  = 0;
    }
}

// Row `row` of node i <- the combination v of the soft force's rows, with stiffness w and impulse
// g.
void tni_compliant_row(tni_compliant* c, int i, int row, const tni_soft* soft, int first, int count,
                       const double* v, double w, double g)
{
    const tni_compliant_node* n = &c->nodes[i];
    for (int side = 0; side < 2; ++side) {
        if (soft->body[side] < 0 || c->model->bodies[soft->body[side]].node < 0) continue;
        const int dim = c->model->bodies[soft->body[side]].dim;
        double*   J   = tni_compliant_block(c, i, soft->body[side]) + row * dim;
        for (int j = 0; j < dim; ++j) {
            double sum = 0;
            for (int k = 0; k < count; ++k) sum += v[k] * soft->J[side][(first + k) * dim + j];
            J[j] = sum;
        }
    }
    tni_compliant_e(c, i)[row * n->count + row] = 1 / w;
    c->rhs[n->row + row]                        = g / w;
}

// Three rows with a full 3x3 W, from row `first` of the soft force on.
static void set_three(tni_compliant* c, int i, int row, const tni_soft* soft, int first,
                      const double* W, double* g)
{
    const int m = soft->row_count;
    tni_mat3  B, V = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int k = 0; k < 9; ++k) B.m[k] = W[(first + k / 3) * m + first + k % 3];
    const bool    plain   = B.m[1] == 0 && B.m[2] == 0 && B.m[5] == 0;
    const tn_vec3 w       = plain ? tni_vec3(B.m[0], B.m[4], B.m[8]) : tni_symmetric_eigen(&B, &V);
    const double  most    = fmax(fabs(w.x), fmax(fabs(w.y), fabs(w.z)));
    double        left[3] = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 a    = tni_column(&V, k);
        const double  v[3] = {a.x, a.y, a.z}, wk = tni_at(w, k),
                     gk = tni_dot(a, tni_read3(g + first));
        if (wk > 1e-12 * most) {
            tni_compliant_row(c, i, row + k, soft, first, 3, v, wk, gk);
            continue;
        }
        for (int j = 0; j < 3; ++j) left[j] += gk * v[j];
    }
    for (int k = 0; k < 3; ++k) g[first + k] = left[k];
}

// Sets the rows of a soft force; the impulse of directions without a row stays in g.
static void set_rows(tni_compliant* c, int i, int row, const tni_soft* soft, const double* W,
                     double* g)
{
    static const double one   = 1;
    const bool          joint = soft->kind == TNI_SOFT_JOINT;
    const uint8_t*      of =
        joint ? c->model->joints[soft->index].type->coordinates : NULL; // three rows of a spring
    for (int k = 0; k < soft->row_count; ++k) {
        if (of == NULL || of[k] == TNI_COORDINATE_ROTATION_X) {
            set_three(c, i, row + k, soft, k, W, g);
            k += 2;
            continue;
        }
        const double w = W[k * soft->row_count + k];
        if (!(w > 0)) continue;
        tni_compliant_row(c, i, row + k, soft, k, 1, &one, w, g[k]);
        g[k] = 0;
    }
}

// A += J^T W J, of the body on side 1.
static void add_to_body(tni_compliant* c, const tni_soft* soft, const double* W)
{
    const tni_body* body = &c->model->bodies[soft->body[1]];
    double*         A    = tni_saddle_a(c->saddle, body->node);
    const double*   J    = soft->J[1];
    const int       n = body->dim, m = soft->row_count;
    for (int k = 0; k < m; ++k) {
        double WJ[TNI_DIM_MAX] = {0};
        for (int l = 0; l < m; ++l)
            for (int j = 0; j < n; ++j) WJ[j] += W[k * m + l] * J[l * n + j];
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) A[i * n + j] += J[k * n + i] * WJ[j];
    }
}

typedef struct taking {
    tni_compliant*    c;
    const tni_linear* l;
} taking;

static void take(void* user, const tni_soft* soft)
{
    const taking*  t = user;
    tni_compliant* c = t->c;
    double         W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
    if (!tni_linear_soft(t->l, soft, W, g, c->rhs)) return;
    if (soft->kind == TNI_SOFT_BODY) {
        add_to_body(c, soft, W);
    } else if (soft->kind == TNI_SOFT_JOINT) {
        const int of = c->model->joints[soft->index].constraint;
        if (c->nodes[of].id >= 0) set_rows(c, of, c->nodes[of].soft, soft, W, g);
    } else if (soft->kind == TNI_SOFT_SPRING && c->springs[soft->index].node >= 0) {
        tni_compliant_spring(c, soft, W, g);
    }
    tni_soft_add_force(c->model, soft, g, c->rhs);
}

// The stiffness between the anchors of a distance joint under tension.
static void set_distance(tni_compliant* c, int i, double lambda, const tni_linear* l)
{
    tni_soft soft;
    double   W[9], g[3];
    tni_linear_distance(l, &c->model->joints[c->model->constraints[i].index], lambda, &soft);
    tni_soft_impulse(c->model, &soft, l->scheme, W, g);
    set_rows(c, i, c->nodes[i].soft, &soft, W, g);
    tni_soft_add_force(c->model, &soft, g, c->rhs);
}

// ---- Accuracy -----------------------------------------------------------------------------------

// The constraint that a row of the plan belongs to; -1: none, or a spring.
static int constraint_of(const tni_compliant* c, int row)
{
    for (int i = 0; row >= c->model->u_count && i < c->model->constraint_count; ++i) {
        const tni_compliant_node* n = &c->nodes[i];
        if (n->id >= 0 && row >= n->row && row < n->row + n->count) return i;
    }
    return -1;
}

static tn_result fail_at(const tni_compliant* c, int row, tn_why* why)
{
    const int i = constraint_of(c, row);
    if (i >= 0) row = c->model->u_count + c->model->constraints[i].row_start;
    return tni_system_fail_at(c->system, i >= 0 || row < c->model->u_count ? row : -1, why);
}

void tni_compliant_report(const tni_compliant* c, tn_step_report* report)
{
    const tni_saddle_report* s      = &c->saddle->report;
    const double             margin = fmin(1, s->pivot_min);
    if (margin < report->rank_margin || report->rank_joint.bits == 0) {
        report->rank_margin = margin;
        report->rank_joint  = tni_constraint_id(c->model, constraint_of(c, s->pivot_row));
    }
    if (s->replaced_count > report->regularised_count)
        report->regularised_count = s->replaced_count;
    if (s->refinement_count > report->refinement_count)
        report->refinement_count = s->refinement_count;
    if (s->residual > report->residual) {
        report->residual       = s->residual;
        report->residual_joint = tni_constraint_id(c->model, constraint_of(c, s->residual_row));
    }
}

// ---- A step -------------------------------------------------------------------------------------

static void fill_bodies(tni_compliant* c, const tni_linear* l)
{
    tni_nonstiff_forces(&l->scene, c->rhs);
    for (int i = 0; i < c->model->free_count; ++i) {
        const int       index = c->model->free_bodies[i];
        const tni_body* body  = &c->model->bodies[index];
        tni_linear_body(l, index, tni_saddle_a(c->saddle, body->node), c->rhs + body->u_start);
    }
}

// Joints whose rows are computed four at a time.
static void fill_common_joints(tni_compliant* c, const tni_linear* l)
{
    const tn_model*          model   = c->model;
    const tni_system*        system  = l->system;
    const tni_common_joints* commons = &system->commons;
    for (const tni_common_group* g = commons->group; g < commons->group + commons->count; ++g) {
        double* block[TNI_COMMON_LANES][2];
        for (int k = 0; k < 2 * TNI_COMMON_LANES; ++k) {
            const int  i = g->constraint[k / 2], edge = g->edge[k / 2][k % 2];
            const int  at       = c->nodes[i].edge + edge - model->constraints[i].edge_start;
            const bool is       = edge >= 0 && c->nodes[i].id >= 0;
            block[k / 2][k % 2] = is ? tni_saddle_j(c->saddle, at) : NULL;
        }
        tni_common_values(model, commons, g, system->views, system->C, system->rate, system->gamma,
                          block);
    }
}

static void fill_rows(tni_compliant* c, const tni_linear* l)
{
    const tn_model* model       = c->model;
    const double*   multipliers = l->start->multipliers;
    for (int i = 0; i < c->node_count; ++i) {
        if (c->nodes[i].id >= 0) clear_rows(c, i, c->nodes[i].hard);
    }
    fill_common_joints(c, l);
    for (int i = 0; i < model->constraint_count; ++i) {
        if (c->nodes[i].id < 0) continue;
        const tni_constraint* of = &model->constraints[i];
        double*               J[TNI_CONSTRAINT_BODIES_MAX];
        for (int k = 0; k < of->edge_count; ++k)
            J[k] = tni_saddle_j(c->saddle, c->nodes[i].edge + k);
        tni_linear_rows(l, i, J, l->system->commons.in[i] != 0, c->rhs + c->nodes[i].row);
        if (multipliers != NULL && of->kind == TNI_CONSTRAINT_JOINT &&
            tni_holds_distance(&model->joints[of->index]))
            set_distance(c, i, multipliers[of->row_start], l);
    }
    for (int i = 0; i < model->limit_count && multipliers != NULL; ++i) {
        const int of = c->limits[i].node;
        if (model->limits[i].kind == TNI_LIMIT_ROPE && c->nodes[of].id >= 0)
            set_distance(c, of, -multipliers[model->row_count + i], l);
    }
}

// Without the contact forces of the Woodbury correction.
static tn_result solve(tni_compliant* c, const double* rhs, bool exact, double* u, double* mu,
                       tn_why* why)
{
    const tn_model* model  = c->model;
    const tn_result result = tni_saddle_solve(c->saddle, rhs, c->answer, exact);
    if (result != TN_OK) return fail_at(c, c->saddle->report.bad_row, why);
    memcpy(u, c->answer, sizeof *u * (size_t)model->u_count);
    for (int i = 0; i < model->constraint_count; ++i)
        for (int k = 0; k < c->nodes[i].hard; ++k)
            mu[model->constraints[i].row_start + k] =
                c->nodes[i].id >= 0 ? c->answer[c->nodes[i].row + k] : 0;
    for (int i = 0; i < model->limit_count; ++i)
        mu[model->row_count + i] =
            c->limit_active[i] ? c->answer[c->nodes[c->limits[i].node].row + c->limits[i].row] : 0;
    return TN_OK;
}

// Response of the factored system to these.
static tn_result solve_factored(void* user, const double* b, double* u, double* mu, tn_why* why)
{
    tni_compliant* c = user;
    memset(c->once, 0, sizeof *c->once * (size_t)c->plan->row_count);
    memcpy(c->once, b, sizeof *c->once * (size_t)c->model->u_count);
    return solve(c, c->once, true, u, mu, why);
}

tn_result tni_compliant_factor(tni_compliant* c, const tni_step_start* start,
                               const tni_step_scheme* scheme, tn_why* why)
{
    const tni_linear l = tni_linear_begin(c->system, c->contacts, start, scheme, c->K_g);
    taking           t = {c, &l};
    c->reach           = l.reach;
    c->closes          = start->second_order;
    fill_bodies(c, &l);
    fill_rows(c, &l);
    tni_compliant_limits(c, &l);
    tni_soften(&l.scene, &l.predicted, take, &t);
    TRY(tni_linear_contacts(&l, take, &t, why));
    if (tni_saddle_factor(c->saddle) != TN_OK) return fail_at(c, c->saddle->report.bad_row, why);
    return tni_woodbury_factor(&c->contacts->woodbury, solve_factored, c, why);
}

tn_result tni_compliant_solve(tni_compliant* c, bool whole, const double* b, const double* r,
                              double* u, double* mu, tn_why* why)
{
    const tn_model* model = c->model;
    double*         rhs   = whole ? c->rhs : c->once;
    if (!whole) {
        memset(rhs, 0, sizeof *rhs * (size_t)c->plan->row_count);
        if (b != NULL) memcpy(rhs, b, sizeof *rhs * (size_t)model->u_count);
        for (int i = 0; i < model->constraint_count; ++i)
            for (int k = 0; c->nodes[i].id >= 0 && k < c->nodes[i].hard; ++k)
                rhs[c->nodes[i].row + k] = r[model->constraints[i].row_start + k];
        for (int i = 0; i < model->limit_count; ++i)
            if (c->limit_active[i])
                rhs[c->nodes[c->limits[i].node].row + c->limits[i].row] = -c->limit_C[i] / c->reach;
        tni_compliant_set_targets(c, b != NULL, rhs);
    }
    tn_result result = solve(c, rhs, whole, u, mu, why);
    if (result == TN_OK)
        result = tni_woodbury_apply(&c->contacts->woodbury, whole, solve_factored, c, u, mu, why);
    for (int i = 0; i < model->limit_count && whole; ++i) c->limit_mu[i] = mu[model->row_count + i];
    return result;
}
