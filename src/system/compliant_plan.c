// compliant_plan: assigns rows to the nodes of the form `rows`, and plans its matrix.
#include "system/compliant_node.h"
#include "system/geometric_stiffness.h"

static void mark_actuated(const tn_model* model, uint8_t* actuated)
{
    for (int i = 0; i < model->actuation_count; ++i) actuated[model->actuations[i].joint] = 1;
}

static void add_constraint_nodes(tni_compliant* c, const uint8_t* actuated)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* of = &model->constraints[i];
        tni_compliant_node*   n  = &c->nodes[c->node_count++];
        *n                       = (tni_compliant_node){.hard = of->row_count, .body = {-1, -1}};
        n->soft = n->count = of->row_count;
        if (of->kind != TNI_CONSTRAINT_JOINT) continue;
        const tni_joint* joint = &model->joints[of->index];
        n->body[0]             = joint->body1;
        n->body[1]             = joint->body2;
        if (tni_holds_distance(joint) || of->row_count == 0) n->count += 3; // or a rope
        else if (actuated[of->index]) n->count += joint->coordinate_count;
    }
}

// A row for each kind of limit of a joint: lower and upper share one, they are never active
// together.
static void add_limits(tni_compliant* c)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->limit_count; ++i) {
        const tni_limit* limit = &model->limits[i];
        const int        of    = model->joints[limit->joint].constraint;
        c->limits[i]           = (tni_compliant_place){of, c->nodes[of].count++};
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

/// Lists of nodes by their bodies.
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
    // Walks both lists at once: as many steps as the shorter one has nodes.
    for (int at = l->head[body1], to = l->head[body2]; at >= 0 && to >= 0;
         at = l->next[at], to = l->next[to]) {
        if (c->nodes[at / 2].body[1 - at % 2] == body2) return at / 2;
        if (c->nodes[to / 2].body[1 - to % 2] == body1) return to / 2;
    }
    return -1;
}

static void add_springs(tni_compliant* c, lists* l)
{
    const tn_model* model = c->model;
    for (int i = 0; i < model->body_count; ++i) l->head[i] = -1;
    for (int i = 0; i < c->node_count; ++i) list_node(c, l, i);
    for (int i = 0; i < model->spring_count; ++i) {
        const tni_spring* spring = &model->springs[i];
        c->springs[i]            = (tni_compliant_place){-1, 0};
        if (!tni_can_push(model, spring->body1) || !tni_can_push(model, spring->body2) ||
            spring->body1 == spring->body2)
            continue;
        int at = node_between(c, l, spring->body1, spring->body2);
        if (at < 0 || c->nodes[at].count + 3 > TNI_DIM_MAX) {
            at           = c->node_count++;
            c->nodes[at] = (tni_compliant_node){.body = {spring->body1, spring->body2}};
            list_node(c, l, at);
        }
        c->springs[i] = (tni_compliant_place){at, c->nodes[at].count};
        c->nodes[at].count += 3;
    }
}

// Edges of a node: those of its constraint, or the two bodies of a spring.
int tni_compliant_edges(const tni_compliant* c, int i, const int** bodies)
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
        const int  n                = tni_compliant_edges(c, i, &bodies);
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
    const tni_graph graph  = {count, dim, sign, edge, row, col, strong, NULL};
    tn_result       result = tni_plan_create(arena, &graph, &c->plan);
    for (int i = 0; result == TN_OK && i < c->node_count; ++i) {
        c->nodes[i].row = c->plan->row_start[c->nodes[i].id];
        if (c->plan->dim[c->nodes[i].id] == 0) c->nodes[i].id = -1;
    }
    return result == TN_OK ? tni_saddle_create(arena, c->plan, &c->saddle) : result;
}

tn_result tni_compliant_create(tni_arena* arena, tni_system* system,
                               tni_implicit_contacts* contacts, tni_compliant** out)
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
    c->contacts        = contacts;
    c->nodes           = TNI_TAKE(arena, tni_compliant_node, nodes);
    c->springs         = TNI_TAKE(arena, tni_compliant_place, model->spring_count);
    c->stretches       = TNI_TAKE(arena, tni_compliant_stretch, model->spring_count);
    c->limits          = TNI_TAKE(arena, tni_compliant_place, model->limit_count);
    c->limit_active    = TNI_TAKE(arena, uint8_t, model->limit_count);
    c->limit_C         = TNI_TAKE(arena, double, model->limit_count);
    c->limit_mu        = TNI_TAKE(arena, double, model->limit_count);
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
