// compliant: stiff forces between bodies as rows with a compliance (dynamics.md 6.3).
//
// A soft force (force.h) pushes along its rows with the impulse g - W J u over a step, W = e^2 K +
// e D, g = e (f - K J h drift). Where W > 0 this is the row
//
//     J u - E mu = E g,     E = W^-1,   mu = -(impulse)
//
// which becomes the hard row as K grows, and stands in the node of its joint: the tree stays the
// tree of the joints, and linear time with it. W of rotation vectors is not diagonal: its rows are
// turned into its eigenvectors. A direction without stiffness has no row (J = 0, E = 1), and its
// force is an ordinary one. Springs between bodies that a joint joins stand in that joint's node;
// others are nodes of their own, and may close loops: then there is fill, and the plan counts it.
//
// Hard limits and ropes are rows of one sign: J u = -C/e while they would be passed and push.
#include "system/compliant.h"

#include "force/force.h"
#include "system/geometric.h"

/// The rows of a B node: those of the constraint first.
typedef struct node {
    int id;    ///< in the plan; -1: nothing can be pushed
    int hard;  ///< rows of the constraint
    int soft;  ///< first row of its soft coordinates, or of the stiffness of a distance
    int count; ///< all rows
    int row;   ///< first row in the plan
    int edge;  ///< first edge in the plan, of `bodies`
    int body[2];
} node;

/// Where the three rows of a spring stand.
typedef struct place {
    int node, row; ///< node -1: on one body, or on none
} place;

struct tni_compliant {
    const tn_model* model;
    tni_system*     system;
    tni_touching*   touching;
    tni_plan*       plan;
    tni_saddle*     saddle;
    int*            plan_edge; ///< by edge of the model
    int             node_count;
    node*           nodes; ///< constraints first, then springs on their own
    place*          springs;
    place*          limits;
    uint8_t*        limit_on;
    double*         limit_C;
    tni_mat3*       K_g;
    double *        rhs, *once, *answer; ///< of the step itself; of a solve
    double          reach;
};

// ---- Plan ----------------------------------------------------------------------------------------

static void mark_actuated(const tn_model* model, uint8_t* actuated)
{
    for (int i = 0; i < model->actuation_count; ++i) actuated[model->actuations[i].joint] = 1;
}

static bool can_push(const tn_model* model, int body)
{
    return model->bodies[body].node >= 0;
}

static void add_constraint_nodes(tni_compliant* c, const uint8_t* actuated)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* of = &model->constraints[i];
        node*                 n  = &c->nodes[c->node_count++];
        *n                       = (node){.hard = of->row_count, .body = {-1, -1}};
        n->soft = n->count = of->row_count;
        if (of->kind != TNI_CONSTRAINT_JOINT) continue;
        const tni_joint* joint = &model->joints[of->index];
        n->body[0]             = joint->body1;
        n->body[1]             = joint->body2;
        if (tni_holds_distance(joint) || of->row_count == 0) n->count += 3; // or a rope
        else if (actuated[of->index]) n->count += joint->coordinate_count;
    }
}

// A row for each kind of end of a joint: the lower and the upper one are never met at once.
static void add_limits(tni_compliant* c)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->limit_count; ++i) {
        const tni_limit* limit = &model->limits[i];
        const int        of    = model->joints[limit->joint].constraint;
        c->limits[i]           = (place){of, c->nodes[of].count++};
        if (i == 0 || model->limits[i - 1].joint != limit->joint) continue;
        const bool pair =
            (limit->kind == TNI_LIMIT_UPPER && model->limits[i - 1].kind == TNI_LIMIT_LOWER) ||
            (limit->kind == TNI_LIMIT_TWIST_UPPER &&
             model->limits[i - 1].kind == TNI_LIMIT_TWIST_LOWER);
        if (!pair) continue;
        c->limits[i].row = c->limits[i - 1].row;
        --c->nodes[of].count;
    }
}

/// Nodes by their bodies, in lists.
typedef struct lists {
    int *head, *next; ///< by body; by 2 * node + side
} lists;

static void list_node(const tni_compliant* c, lists* l, int i)
{
    for (int side = 0; side < 2; ++side) {
        const int body = c->nodes[i].body[side];
        if (body < 0) continue;
        l->next[2 * i + side] = l->head[body];
        l->head[body]         = 2 * i + side;
    }
}

static int node_between(const tni_compliant* c, const lists* l, int body1, int body2)
{
    for (int at = l->head[body1]; at >= 0; at = l->next[at])
        if (c->nodes[at / 2].body[1 - at % 2] == body2) return at / 2;
    return -1;
}

static void add_springs(tni_compliant* c, lists* l)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->body_count; ++i) l->head[i] = -1;
    for (int i = 0; i < c->node_count; ++i) list_node(c, l, i);
    for (int i = 0; i < model->spring_count; ++i) {
        const tni_spring* spring = &model->springs[i];
        c->springs[i]            = (place){-1, 0};
        if (!can_push(model, spring->body1) || !can_push(model, spring->body2) ||
            spring->body1 == spring->body2)
            continue;
        int at = node_between(c, l, spring->body1, spring->body2);
        if (at < 0 || c->nodes[at].count + 3 > TNI_DIM_MAX) {
            at           = c->node_count++;
            c->nodes[at] = (node){.body = {spring->body1, spring->body2}};
            list_node(c, l, at);
        }
        c->springs[i] = (place){at, c->nodes[at].count};
        c->nodes[at].count += 3;
    }
}

// Edges of a node: as its constraint has them, or the two bodies of a spring.
static int edges_of(const tni_compliant* c, int i, const int** bodies)
{
    const tn_model* model = c->model;
    *bodies               = c->nodes[i].body;
    if (i >= model->constraint_count) return 2;
    *bodies = model->edge_body + model->constraints[i].edge_start;
    return model->constraints[i].edge_count;
}

static tn_result make_plan(tni_compliant* c, tni_arena* arena, tni_arena* scratch)
{
    const tn_model* model = c->model;
    const int       count = model->free_count + c->node_count;
    const int       edges = model->edge_count + 2 * model->spring_count;
    int *           dim = TNI_TAKE(scratch, int, count), *row = TNI_TAKE(scratch, int, edges),
        *col        = TNI_TAKE(scratch, int, edges);
    int8_t*  sign   = TNI_TAKE(scratch, int8_t, count);
    uint8_t* strong = TNI_TAKE(scratch, uint8_t, edges);
    if (scratch->failed) return TN_ERR_MEMORY;
    int edge = 0;
    for (int i = 0; i < model->free_count; ++i) {
        dim[i]  = model->bodies[model->free_bodies[i]].dim;
        sign[i] = 1;
    }
    for (int i = 0; i < c->node_count; ++i) {
        const int* bodies;
        const int  n                = edges_of(c, i, &bodies);
        c->nodes[i].id              = model->free_count + i;
        c->nodes[i].edge            = edge;
        dim[model->free_count + i]  = n > 0 ? c->nodes[i].count : 0;
        sign[model->free_count + i] = -1;
        for (int k = 0; k < n && c->nodes[i].count > 0; ++k, ++edge) {
            row[edge]    = c->nodes[i].id;
            col[edge]    = model->bodies[bodies[k]].node;
            strong[edge] = i >= model->constraint_count ||
                           tni_is_strong(model, &model->constraints[i], bodies[k]);
        }
    }
    const tni_graph graph  = {count, dim, sign, edge, row, col, strong};
    tn_result       result = tni_plan_create(arena, &graph, &c->plan);
    for (int i = 0; result == TN_OK && i < c->node_count; ++i) {
        c->nodes[i].row = c->plan->row_start[c->nodes[i].id];
        if (c->plan->dim[c->nodes[i].id] == 0) c->nodes[i].id = -1;
    }
    return result == TN_OK ? tni_saddle_create(arena, c->plan, &c->saddle) : result;
}

tn_result tni_compliant_create(tni_arena* arena, tni_system* system, tni_touching* touching,
                               tni_compliant** out)
{
    const tn_model* model = system->model;
    tni_compliant*  c     = TNI_TAKE(arena, tni_compliant, 1);
    if (c == NULL) return TN_ERR_MEMORY;
    tni_arena scratch  = tni_arena_make(&model->arena.host);
    uint8_t*  actuated = TNI_TAKE(&scratch, uint8_t, model->joint_count);
    const int nodes    = model->constraint_count + model->spring_count;
    lists     l        = {TNI_TAKE(&scratch, int, model->body_count),
                          TNI_TAKE(&scratch, int, 2 * (size_t)nodes)};
    c->model           = model;
    c->system          = system;
    c->touching        = touching;
    c->nodes           = TNI_TAKE(arena, node, nodes);
    c->springs         = TNI_TAKE(arena, place, model->spring_count);
    c->limits          = TNI_TAKE(arena, place, model->limit_count);
    c->limit_on        = TNI_TAKE(arena, uint8_t, model->limit_count);
    c->limit_C         = TNI_TAKE(arena, double, model->limit_count);
    c->K_g             = TNI_TAKE(arena, tni_mat3, model->body_count);
    tn_result result   = arena->failed || scratch.failed ? TN_ERR_MEMORY : TN_OK;
    if (result == TN_OK) {
        mark_actuated(model, actuated);
        add_constraint_nodes(c, actuated);
        add_limits(c);
        add_springs(c, &l);
        result = make_plan(c, arena, &scratch);
    }
    tni_arena_free(&scratch);
    if (result != TN_OK) return result;
    c->rhs    = TNI_TAKE(arena, double, c->plan->row_count);
    c->once   = TNI_TAKE(arena, double, c->plan->row_count);
    c->answer = TNI_TAKE(arena, double, c->plan->row_count);
    *out      = c;
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

const tni_saddle* tni_compliant_saddle(const tni_compliant* c)
{
    return c->saddle;
}

// ---- Rows ----------------------------------------------------------------------------------------

// The block of node i over a body; NULL where that cannot be pushed.
static double* block_of(tni_compliant* c, int i, int body)
{
    const int* bodies;
    const int  n = edges_of(c, i, &bodies);
    for (int k = 0; k < n; ++k)
        if (bodies[k] == body) return tni_saddle_j(c->saddle, c->nodes[i].edge + k);
    return NULL;
}

static double* compliance_of(tni_compliant* c, int i)
{
    return tni_saddle_e(c->saddle, c->nodes[i].id);
}

// Rows of node i from `from` on: not there.
static void clear_rows(tni_compliant* c, int i, int from)
{
    const node* n = &c->nodes[i];
    const int*  bodies;
    const int   edges = edges_of(c, i, &bodies);
    double*     E     = compliance_of(c, i);
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

// b += J^T v on both sides.
static void push(tni_compliant* c, const tni_soft* soft, const double* v)
{
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &c->model->bodies[soft->body[side] < 0 ? 0 : soft->body[side]];
        if (soft->body[side] < 0 || body->node < 0) continue;
        for (int k = 0; k < soft->row_count; ++k)
            for (int j = 0; j < body->dim; ++j)
                c->rhs[body->u_start + j] += v[k] * soft->J[side][k * body->dim + j];
    }
}

// Row `row` of node i <- the combination v of the soft force's rows, with stiffness w and impulse g.
static void set_row(tni_compliant* c, int i, int row, const tni_soft* soft, int first, int count,
                    const double* v, double w, double g)
{
    const node* n = &c->nodes[i];
    for (int side = 0; side < 2; ++side) {
        if (soft->body[side] < 0 || !can_push(c->model, soft->body[side])) continue;
        const int dim = c->model->bodies[soft->body[side]].dim;
        double*   J   = block_of(c, i, soft->body[side]) + row * dim;
        for (int j = 0; j < dim; ++j) {
            double sum = 0;
            for (int k = 0; k < count; ++k) sum += v[k] * soft->J[side][(first + k) * dim + j];
            J[j] = sum;
        }
    }
    compliance_of(c, i)[row * n->count + row] = 1 / w;
    c->rhs[n->row + row]                      = g / w;
}

// Three rows with a full W between them, from `first` of the soft force on.
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
            set_row(c, i, row + k, soft, first, 3, v, wk, gk);
            continue;
        }
        for (int j = 0; j < 3; ++j) left[j] += gk * v[j];
    }
    for (int k = 0; k < 3; ++k) g[first + k] = left[k];
}

// What has no row stays in g.
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
        set_row(c, i, row + k, soft, k, 1, &one, w, g[k]);
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
    tni_compliant*  c;
    const tni_lead* lead;
} taking;

static void take(void* user, const tni_soft* soft)
{
    const taking*  t = user;
    tni_compliant* c = t->c;
    double         W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
    tni_soft_impulse(c->model, soft, t->lead, W, g);
    if (soft->kind == TNI_SOFT_TOUCH) {
        (void)tni_beside_add(&c->touching->beside, soft, W, g, c->rhs); // it knows when it is full
        return;
    }
    if (soft->kind == TNI_SOFT_BODY) {
        add_to_body(c, soft, W);
    } else if (soft->kind == TNI_SOFT_JOINT) {
        const int of = c->model->joints[soft->index].constraint;
        if (c->nodes[of].id >= 0) set_rows(c, of, c->nodes[of].soft, soft, W, g);
    } else if (soft->kind == TNI_SOFT_SPRING && c->springs[soft->index].node >= 0) {
        set_rows(c, c->springs[soft->index].node, c->springs[soft->index].row, soft, W, g);
    }
    push(c, soft, g);
}

// The stiffness between the ends of a distance under tension: no force of its own.
static void set_distance(tni_compliant* c, int i, double lambda, const tni_lead* lead)
{
    const tn_model*  model = c->model;
    const tni_joint* joint = &model->joints[model->constraints[i].index];
    const tni_sides  sides = tni_sides_of(joint, c->system->views);
    const tni_mat3   K     = tni_geometric_between(model, joint, sides, lambda);
    const tni_mat3   F     = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    tni_soft soft = {.kind = TNI_SOFT_SPRING, .body = {joint->body1, joint->body2}, .row_count = 3};
    double   W[9], g[3];
    memcpy(soft.K, K.m, sizeof K.m);
    for (int k = 0; k < 3; ++k) {
        const tn_vec3   axis = tni_vec3(k == 0, k == 1, k == 2);
        const tni_push  to = {.force = axis}, from = {.force = tni_neg(axis)};
        const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
        if (body1->node >= 0)
            tni_push_row(body1, sides.view1, joint->p1, &F, &from, soft.J[0] + k * body1->dim);
        if (body2->node >= 0)
            tni_push_row(body2, sides.view2, joint->p2, &F, &to, soft.J[1] + k * body2->dim);
    }
    tni_soft_impulse(model, &soft, lead, W, g); // none but what it has turned by drifting
    set_rows(c, i, c->nodes[i].soft, &soft, W, g);
    push(c, &soft, g);
}

// ---- Hard limits ---------------------------------------------------------------------------------

static double along(const tni_compliant* c, int body, const double* J, const double* u)
{
    double sum = 0;
    for (int k = 0; J != NULL && k < c->model->bodies[body].dim; ++k)
        sum += J[k] * u[c->model->bodies[body].u_start + k];
    return sum;
}

/// A limit seen from the start of a step.
typedef struct outlook {
    double C, led; ///< and the part of its rate that moves of itself
    double drift;
    double J[2][TNI_DIM_MAX];
} outlook;

static double both(const tni_compliant* c, const tni_joint* joint, const outlook* o,
                   const double* u)
{
    double sum = 0;
    if (u == NULL) return 0;
    if (can_push(c->model, joint->body1)) sum += along(c, joint->body1, o->J[0], u);
    if (can_push(c->model, joint->body2)) sum += along(c, joint->body2, o->J[1], u);
    return sum;
}

static outlook look_at(const tni_compliant* c, int i, const tni_start* start, const tni_lead* lead)
{
    const tn_model*  model = c->model;
    const tni_joint* joint = &model->joints[model->limits[i].joint];
    const tni_view*  views = c->system->views;
    const tni_row    row   = tni_limit_row(model, &model->limits[i], views, start->at.z);
    const tni_body * body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    outlook          o = {.C = row.C};
    if (body1->node >= 0)
        tni_push_row(body1, &views[joint->body1], joint->p1, &joint->F1, &row.push[0], o.J[0]);
    if (body2->node >= 0)
        tni_push_row(body2, &views[joint->body2], joint->p2, &joint->F2, &row.push[1], o.J[1]);
    o.led   = row.rate - both(c, joint, &o, start->at.u);
    o.drift = both(c, joint, &o, lead->drift);
    return o;
}

// What would be left before limit i at the end of a step with the mean velocity u.
static double gap_after(const tni_compliant* c, int i, const outlook* o, const tni_lead* lead,
                        const double* u)
{
    const tni_joint* joint = &c->model->joints[c->model->limits[i].joint];
    return o->C + lead->h * (both(c, joint, o, u) + o->led);
}

// The row of limit i, if it is on, or is passed on the way ahead.
static void set_limit(tni_compliant* c, int i, const tni_start* start, const tni_lead* lead)
{
    const tni_joint* joint = &c->model->joints[c->model->limits[i].joint];
    const node*      n     = &c->nodes[c->limits[i].node];
    const int        row   = c->limits[i].row;
    if (n->id < 0) return;
    const outlook o = look_at(c, i, start, lead);
    if (!start->keep) c->limit_on[i] = gap_after(c, i, &o, lead, start->ahead) < 0;
    if (!c->limit_on[i]) return;
    for (int side = 0; side < 2; ++side) {
        const int body  = side == 0 ? joint->body1 : joint->body2;
        double*   block = block_of(c, c->limits[i].node, body);
        const int dim   = c->model->bodies[body].dim;
        if (block != NULL) memcpy(block + row * dim, o.J[side], sizeof *block * (size_t)dim);
    }
    compliance_of(c, c->limits[i].node)[row * (n->count + 1)] = 0;
    c->rhs[n->row + row] = (-o.C / lead->h - o.drift - o.led) / lead->share;
}

double tni_compliant_look(tni_compliant* c, const double* z)
{
    double most = 0;
    for (int i = 0; i < c->model->limit_count; ++i) {
        c->limit_C[i] = tni_limit_row(c->model, &c->model->limits[i], c->system->views, z).C;
        if (c->limit_on[i]) most = fmax(most, fabs(c->limit_C[i]));
    }
    return most;
}

bool tni_compliant_reconsider(tni_compliant* c, const tni_start* start, const tni_lead* lead,
                              const double* u)
{
    bool changed = false;
    for (int i = 0; i < c->model->limit_count; ++i) {
        const node* n = &c->nodes[c->limits[i].node];
        if (n->id < 0) continue;
        bool on = c->limit_on[i] && c->answer[n->row + c->limits[i].row] <= 0; // it pushes
        if (!c->limit_on[i]) {
            const outlook o = look_at(c, i, start, lead);
            on              = gap_after(c, i, &o, lead, u) < 0;
        }
        changed        = changed || on != c->limit_on[i];
        c->limit_on[i] = on;
    }
    return changed;
}

// The constraint that a row of the plan belongs to; -1: none, or a spring.
static int constraint_of(const tni_compliant* c, int row)
{
    for (int i = 0; row >= c->model->u_count && i < c->model->constraint_count; ++i) {
        const node* n = &c->nodes[i];
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

void tni_compliant_note(const tni_compliant* c, tn_step_report* report)
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

// ---- A step --------------------------------------------------------------------------------------

static void fill_bodies(tni_compliant* c, const tni_start* start, const tni_lead* lead)
{
    const tn_model* model = c->model;
    tni_view*       views = c->system->views;
    const double    ee    = c->reach * c->reach;
    if (start->multipliers != NULL)
        tni_geometric(model, views, start->at.time, start->at.z, start->multipliers, c->K_g);
    for (int i = 0; i < model->free_count; ++i) {
        const int       index = model->free_bodies[i];
        const tni_body* body  = &model->bodies[index];
        double*         A     = tni_saddle_a(c->saddle, body->node);
        double*         b     = c->rhs + body->u_start;
        tni_mass_block(body, &views[index], A);
        if (start->momentum == NULL) {
            double Mu[TNI_DIM_MAX];
            tni_mass_times(body, &views[index], start->at.u + body->u_start, Mu);
            for (int k = 0; k < body->dim; ++k) b[k] += Mu[k];
        }
        if (start->multipliers == NULL) continue;
        for (int k = 0; body->kind == TN_BODY_RIGID && k < 9; ++k)
            A[6 * (3 + k / 3) + 3 + k % 3] += ee * c->K_g[index].m[k];
        if (body->kind == TN_BODY_PLANAR) A[8] += ee * c->K_g[index].m[8];
        if (lead->drift == NULL) continue;
        if (body->kind == TN_BODY_PLANAR)
            b[2] -= c->reach * lead->h * c->K_g[index].m[8] * lead->drift[body->u_start + 2];
        if (body->kind != TN_BODY_RIGID) continue;
        const tn_vec3 turned = tni_scale(lead->h, tni_read3(lead->drift + body->u_start + 3));
        tni_accumulate(b + 3, tni_scale(-c->reach, tni_mul(&c->K_g[index], turned)));
    }
}

static void fill_rows(tni_compliant* c, const tni_start* start, const tni_lead* lead)
{
    const tn_model* model  = c->model;
    tni_system*     system = c->system;
    for (int i = 0; i < c->node_count; ++i) {
        if (c->nodes[i].id < 0) continue;
        clear_rows(c, i, c->nodes[i].hard);
        if (i >= model->constraint_count) continue;
        const tni_constraint* of  = &model->constraints[i];
        const int             row = of->row_start;
        double*               J[TNI_CONSTRAINT_BODIES_MAX];
        for (int k = 0; k < of->edge_count; ++k)
            J[k] = tni_saddle_j(c->saddle, c->nodes[i].edge + k);
        const tni_rows_out out = {system->C + row, system->rate + row, system->gamma + row, J,
                                  NULL};
        tni_constraint_rows(model, of, system->views, lead->time, start->at.z, &out);
        for (int k = 0; k < of->row_count; ++k) {
            double own = 0, drift = 0;
            for (int e = 0; e < of->edge_count; ++e) {
                const int body = model->edge_body[of->edge_start + e];
                own += along(c, body, J[e] + k * model->bodies[body].dim, start->at.u);
                if (lead->drift != NULL)
                    drift += along(c, body, J[e] + k * model->bodies[body].dim, lead->drift);
            }
            c->rhs[c->nodes[i].row + k] =
                tni_row_wanted(start, lead, k < of->held_count, system->C[row + k],
                               system->rate[row + k] - own, drift, system->gamma[row + k]);
        }
        if (start->multipliers != NULL && of->kind == TNI_CONSTRAINT_JOINT &&
            tni_holds_distance(&model->joints[of->index]))
            set_distance(c, i, start->multipliers[row], lead);
    }
    for (int i = 0; i < model->limit_count && start->multipliers != NULL; ++i) {
        const int of = c->limits[i].node;
        if (model->limits[i].kind == TNI_LIMIT_ROPE && c->nodes[of].id >= 0)
            set_distance(c, of, -start->multipliers[model->row_count + i], lead);
    }
}

// Without the forces that stand in no row.
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
            c->limit_on[i] ? c->answer[c->nodes[c->limits[i].node].row + c->limits[i].row] : 0;
    return TN_OK;
}

// Their response.
static tn_result solve_beside(void* user, const double* b, double* u, double* mu, tn_why* why)
{
    tni_compliant* c = user;
    memset(c->once, 0, sizeof *c->once * (size_t)c->plan->row_count);
    memcpy(c->once, b, sizeof *c->once * (size_t)c->model->u_count);
    return solve(c, c->once, true, u, mu, why);
}

tn_result tni_compliant_factor(tni_compliant* c, const tni_start* start, const tni_lead* lead,
                               tn_why* why)
{
    const tn_model* model  = c->model;
    tni_system*     system = c->system;
    c->reach               = lead->share * lead->h;
    tni_views(model, start->at.time, start->at.q, start->at.u, system->views);
    const tni_scene_view scene = {.model   = model,
                                  .time    = start->at.time,
                                  .z       = start->at.z,
                                  .views   = system->views,
                                  .flying  = true,
                                  .outside = system->outside};
    tni_plain_forces(&scene, c->rhs);
    for (int i = 0; i < model->u_count; ++i)
        c->rhs[i] = c->reach * c->rhs[i] + (start->momentum != NULL ? start->momentum[i] : 0);
    fill_bodies(c, start, lead);
    fill_rows(c, start, lead);
    for (int i = 0; i < model->limit_count; ++i) set_limit(c, i, start, lead);
    const tni_ahead ahead = {lead->h, lead->time, start->ahead};
    tni_soften(&scene, &ahead, take, &(taking){c, lead});
    if (!tni_touching_soften(c->touching, &scene, &ahead, start->keep, take, &(taking){c, lead}))
        return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
    const tn_result result = tni_saddle_factor(c->saddle);
    if (result != TN_OK) return fail_at(c, c->saddle->report.bad_row, why);
    return tni_beside_factor(&c->touching->beside, solve_beside, c, why);
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
            if (c->limit_on[i])
                rhs[c->nodes[c->limits[i].node].row + c->limits[i].row] = -c->limit_C[i] / c->reach;
    }
    const tn_result result = solve(c, rhs, whole, u, mu, why);
    if (result != TN_OK || c->touching->beside.row_count == 0) return result;
    return tni_beside_apply(&c->touching->beside, whole, solve_beside, c, u, mu, why);
}
