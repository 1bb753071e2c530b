// step_matrix: contacts and limits as nodes of the matrix, beside bodies and joints.
//
// The contacts of one pair of bodies are one B node between these; a limit is one more row in the node of its
// joint. The rows of unilateral constraints are written by linalg/cone_newton.c, as its active sets want them;
// what it factors is bodies, joints and contacts together:
//
//     [ A   J^T  J_c^T ]          fill comes where contacts close loops between bodies, and nowhere else
//     [ J   -E         ]
//     [ J_c       -1/g ]
//
// Which pairs touch is known at run time only. The symbolic analysis (linalg/plan.h) is made anew where a step has
// other pairs, or other numbers of points, than the plan; memory for it is one block that grows between steps.
// Within a step the plan stays as long as all that touches has room in it: rows that are not used are empty. So what
// a step computes, to the last bit, depends on its start alone, not on the plans of steps before.
#include "system/step_matrix.h"

#include "base/sort.h"

#include <math.h>

enum { FIRST_BYTES = 1 << 16, PAIR_ROWS = 48, ITERATIONS = 60, FURTHER = 4, FEW = 16 };

// Residuals of the laws beside approaches of 1 [m/s or rad/s]: where steps that no longer help end a solve, beside the
// tolerance; and by splitting.
static const double ACCEPTED = 100, SPLIT = 1e-3;

/// Memory that is given out from one block and taken back all at once.
typedef struct region {
    char*  base;
    size_t size, used;
    bool   full;
} region;

/// Where the rows of a unilateral stand.
typedef struct slot {
    int node, first, edge; ///< edge: the first of its node
    int joint_rows;        ///< of a joint and its springs, before those of elements
} slot;

/// A node with room for unilaterals: of one pair of bodies, or of one joint.
typedef struct room {
    uint64_t key;
    int      node, edge;       ///< of the plan; its first edge
    int      first, end, used; ///< rows of the node
} room;

struct tni_step_matrix {
    tni_arena         arena;
    const tn_model*   model;
    tni_soft_rows*    soft;
    tni_bounded_rows* bounded;
    region            region;
    tni_plan*         plan; ///< in the region, as all below
    tni_saddle*       saddle;
    tni_cone_newton   newton;
    double *          rhs, *x;
    int               unilateral_capacity;
    uint64_t*         key;   ///< by unilateral: its pair, or its joint
    slot*             slots; ///< by unilateral
    int *             order, *spare;
    room*             rooms; ///< of the plan, by key
    int               room_count;
    uint8_t*          asleep; ///< by component
    bool              taut;   ///< the plan has rows of cords
    bool              anew;   ///< a step begins: the plan must have no more than it needs
    unsigned          steps;  ///< that have begun
    bool              warm;   ///< x is the answer of a solve since the last begin
    double*           last;   ///< u of the last solve
    bool              near;   ///< it tells about the next one
    bool              exact;  ///< the next solve is refined through loops
};

// ---- Memory ----------------------------------------------------------------------------------------

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static void* region_allocate(void* user, size_t bytes)
{
    region*      r    = user;
    const size_t need = rounded(bytes);
    if (r->used + need > r->size) {
        r->full = true;
        return NULL;
    }
    void* block = r->base + r->used;
    r->used += need;
    return block;
}

static void region_release(void* user, void* block, size_t bytes)
{
    region* r = user;
    if ((char*)block + rounded(bytes) == r->base + r->used) r->used -= rounded(bytes);
}

static tn_result take(tni_step_matrix* m, int unilaterals, size_t bytes)
{
    tni_arena arena = tni_arena_make(&m->model->arena.host);
    uint64_t* key   = TNI_TAKE(&arena, uint64_t, unilaterals);
    room*     rooms = TNI_TAKE(&arena, room, unilaterals);
    slot*     slots = TNI_TAKE(&arena, slot, unilaterals);
    int *   order = TNI_TAKE(&arena, int, unilaterals), *spare = TNI_TAKE(&arena, int, unilaterals);
    char*   base = TNI_TAKE(&arena, char, bytes);
    double* last = TNI_TAKE(&arena, double, m->model->u_count);
    if (arena.failed) {
        tni_arena_free(&arena);
        return TN_ERR_MEMORY;
    }
    tni_arena_free(&m->arena);
    m->arena               = arena;
    m->region              = (region){.base = base, .size = bytes};
    m->plan                = NULL;
    m->unilateral_capacity = unilaterals;
    m->key = key, m->rooms = rooms, m->slots = slots, m->order = order, m->spare = spare;
    m->room_count = 0;
    m->last       = last;
    m->near       = false;
    return TN_OK;
}

static tn_result make_plan(tni_step_matrix* m, const tni_unilaterals* a);

tn_result tni_step_matrix_create(const tn_model* model, tni_soft_rows* soft,
                                 tni_bounded_rows* bounded, tni_step_matrix** out)
{
    tni_step_matrix* m = tni_host_take(&model->arena.host, sizeof *m);
    *out               = m;
    if (m == NULL) return TN_ERR_MEMORY;
    m->model                     = model;
    m->soft                      = soft;
    m->bounded                   = bounded;
    m->arena                     = tni_arena_make(&model->arena.host);
    const tni_unilaterals none   = {.model = model};
    const size_t          nodes  = (size_t)(model->free_count + model->constraint_count);
    tn_result             result = take(m, 64, FIRST_BYTES + 4096 * nodes);
    while (result == TN_OK) { // without contacts a step takes no memory
        result = make_plan(m, &none);
        if (result != TN_ERR_MEMORY || !m->region.full) break;
        result = tni_step_matrix_grow(m, 0);
    }
    if (result != TN_OK) tni_step_matrix_free(m), *out = NULL;
    return result;
}

void tni_step_matrix_free(tni_step_matrix* m)
{
    if (m == NULL) return;
    const tn_host host = m->model->arena.host;
    tni_arena_free(&m->arena);
    tni_host_give(&host, m, sizeof *m);
}

tn_result tni_step_matrix_grow(tni_step_matrix* m, int unilaterals)
{
    int more = m->unilateral_capacity;
    while (more < unilaterals) more *= 2;
    if (more == m->unilateral_capacity && !m->region.full) return TN_OK;
    return take(m, more, m->region.full ? 2 * m->region.size : m->region.size);
}

// ---- The plan --------------------------------------------------------------------------------------

void tni_step_matrix_renew(tni_step_matrix* m)
{
    m->anew = true;
    m->near = false;
    ++m->steps;
}

unsigned tni_step_matrix_begun(const tni_step_matrix* m)
{
    return m->steps + (m->soft != NULL ? tni_soft_stamp(m->soft) : 0);
}

void tni_step_matrix_cool(tni_step_matrix* m)
{
    m->near = false;
}

void tni_step_matrix_forget(tni_step_matrix* m)
{
    m->warm = m->near = false;
    m->exact          = true;
}

static uint64_t key_of(const tni_unilaterals* a, int i)
{
    static const uint64_t limits = UINT64_C(1) << 63;
    int                   bodies[2];
    const tni_unilateral* unilateral = &a->unilaterals[i];
    if (unilateral->limit >= 0)
        return limits |
               (uint64_t)a->model->joints[a->model->limits[unilateral->limit].joint].constraint;
    tni_unilateral_bodies(a, unilateral, bodies);
    const int low = bodies[0] < bodies[1] ? bodies[0] : bodies[1];
    return (uint64_t)low << 31 | (uint64_t)(bodies[0] + bodies[1] - low);
}

static bool is_limit(uint64_t key)
{
    return key >> 63 != 0;
}

static bool key_before(const void* user, int a, int b)
{
    const uint64_t* key = user;
    return key[a] < key[b];
}

static void sort_unilaterals(tni_step_matrix* m, const tni_unilaterals* a)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        m->key[i]   = key_of(a, i);
        m->order[i] = i;
    }
    tni_sort(m->order, m->spare, a->unilateral_count, key_before, m->key);
}

static int bounded_rows_of(const tni_step_matrix* m, int constraint)
{
    return m->bounded->count > 0 ? m->bounded->rows_of[constraint] : 0;
}

// Gives each unilateral its rows. False: the plan has no room for some, or, for a step that begins, too much.
static bool fit(tni_step_matrix* m, const tni_unilaterals* a)
{
    int at = 0;
    if (m->plan == NULL) return false;
    if (m->soft != NULL && m->taut != tni_soft_is_taut(m->soft)) return false;
    for (int k = 0; k < m->room_count; ++k) m->rooms[k].used = m->rooms[k].first;
    for (int k = 0; k < a->unilateral_count; ++k) {
        const int i = m->order[k], rows = a->unilaterals[i].row_count;
        while (at < m->room_count &&
               (m->rooms[at].key < m->key[i] ||
                (m->rooms[at].key == m->key[i] && m->rooms[at].used + rows > m->rooms[at].end)))
            ++at;
        if (at == m->room_count || m->rooms[at].key != m->key[i]) return false;
        room*     own    = &m->rooms[at];
        const int joint  = own->node - m->model->free_count;
        const int before = is_limit(own->key) ? own->first - bounded_rows_of(m, joint) : 0;
        m->slots[i]      = (slot){own->node, own->used, own->edge, before};
        own->used += rows;
    }
    for (int k = 0; m->anew && k < m->room_count; ++k)
        if (m->rooms[k].used < m->rooms[k].end) return false;
    return true;
}

/// The graph while it grows.
typedef struct building {
    int      count, edges;
    int *    dim, *hard, *row, *col;
    int8_t*  sign;
    uint8_t* strong;
} building;

static void add_edge(building* g, int node, int to, bool strong)
{
    g->row[g->edges]      = node;
    g->col[g->edges]      = to;
    g->strong[g->edges++] = strong;
}

static void add_mechanism(const tni_step_matrix* m, building* g)
{
    const tn_model* model = m->model;
    for (int i = 0; i < model->free_count; ++i) {
        g->dim[g->count]    = model->bodies[model->free_bodies[i]].dim;
        g->sign[g->count++] = 1;
    }
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        for (int k = 0; k < c->edge_count; ++k) {
            const int body = model->edge_body[c->edge_start + k];
            add_edge(g, g->count, model->bodies[body].node, tni_is_strong(model, c, body));
        }
        const int soft      = m->soft != NULL ? tni_soft_rows_of(m->soft, i) : 0;
        const int rows      = c->row_count + soft + bounded_rows_of(m, i);
        g->dim[g->count]    = c->edge_count > 0 ? rows : 0;
        g->hard[g->count]   = c->row_count;
        g->sign[g->count++] = -1;
    }
    for (int i = 0; m->soft != NULL && i < tni_soft_node_count(m->soft); ++i) {
        const tni_soft_node node = tni_soft_node_at(m->soft, i);
        for (int side = 0; side < 2; ++side)
            add_edge(g, g->count, model->bodies[node.body[side]].node, true);
        g->dim[g->count]    = TNI_SOFT_NODE_ROWS;
        g->sign[g->count++] = -1;
    }
}

// In the order of their keys.
static void add_rooms(tni_step_matrix* m, const tni_unilaterals* a, building* g)
{
    const tn_model* model = m->model;
    room*           last  = NULL;
    m->room_count         = 0;
    m->taut               = m->soft != NULL && tni_soft_is_taut(m->soft);
    for (int k = 0; k < a->unilateral_count; ++k) {
        const int  i = m->order[k], rows = a->unilaterals[i].row_count;
        const bool limit = is_limit(m->key[i]);
        if (last == NULL || last->key != m->key[i] || (!limit && last->end + rows > PAIR_ROWS)) {
            last  = &m->rooms[m->room_count++];
            *last = (room){.key = m->key[i], .node = g->count, .edge = g->edges};
            if (limit) {
                const int constraint = (int)(m->key[i] & INT32_MAX);
                last->node           = model->free_count + constraint;
                last->edge           = model->constraints[constraint].edge_start;
                last->first = last->end = g->dim[last->node];
            } else {
                int bodies[2];
                tni_unilateral_bodies(a, &a->unilaterals[i], bodies);
                const int low =
                    bodies[0] < bodies[1] ? 0 : 1; // points of a pair may have either body first
                for (int side = 0; side < 2; ++side) {
                    const int node = model->bodies[bodies[side == 0 ? low : 1 - low]].node;
                    if (node >= 0) add_edge(g, g->count, node, true);
                }
                g->sign[g->count++] = -1;
            }
        }
        last->end += rows;
        g->dim[last->node] = last->end;
    }
}

static tn_result make_plan(tni_step_matrix* m, const tni_unilaterals* a)
{
    const tn_model* model = m->model;
    tn_host         host  = {region_allocate, region_release, NULL, &m->region, NULL, NULL};
    m->plan               = NULL;
    m->region.used        = 0;
    m->region.full        = false;
    tni_arena    arena    = tni_arena_make(&host);
    const int    pairs = (m->soft != NULL ? tni_soft_node_count(m->soft) : 0) + a->unilateral_count;
    const size_t nodes = (size_t)(model->free_count + model->constraint_count + pairs);
    const size_t edges = (size_t)(model->edge_count + 2 * pairs);
    building     g     = {.dim    = TNI_TAKE(&arena, int, nodes),
                          .row    = TNI_TAKE(&arena, int, edges),
                          .col    = TNI_TAKE(&arena, int, edges),
                          .sign   = TNI_TAKE(&arena, int8_t, nodes),
                          .strong = TNI_TAKE(&arena, uint8_t, edges),
                          .hard   = TNI_TAKE(&arena, int, nodes)};
    if (arena.failed) return TN_ERR_MEMORY;
    add_mechanism(m, &g);
    add_rooms(m, a, &g);
    const tni_graph graph  = {g.count, g.dim, g.sign, g.edges, g.row, g.col, g.strong, g.hard};
    tni_plan*       plan   = NULL;
    tn_result       result = tni_plan_create(&arena, &graph, &plan);
    if (result == TN_OK) result = tni_saddle_create(&arena, plan, &m->saddle);
    if (result != TN_OK) return result;
    m->rhs    = TNI_TAKE(&arena, double, plan->row_count);
    m->x      = TNI_TAKE(&arena, double, plan->row_count);
    m->asleep = TNI_TAKE(&arena, uint8_t, plan->component_count);
    result    = tni_cone_newton_create(&arena, a->unilateral_count + m->bounded->count,
                                       plan->row_count, plan->component_count, &m->newton);
    if (result == TN_OK)
        result = tni_cone_newton_share(&arena, &model->arena.host, tni_hands_of(&model->arena.host),
                                       m->saddle, &m->newton);
    if (result == TN_OK && !arena.failed) m->plan = plan;
    return m->plan != NULL ? TN_OK : TN_ERR_MEMORY;
}

// ---- Loading ---------------------------------------------------------------------------------------

// Edges of constraints come first, in the model's order.
static void load_mechanism(tni_step_matrix* m, tni_saddle* joints)
{
    const tn_model*  model = m->model;
    const tni_split* split = &model->core;
    for (int i = 0; i < model->free_count; ++i) {
        const size_t dim = (size_t)m->plan->dim[i];
        memcpy(tni_saddle_a(m->saddle, i), tni_saddle_a(joints, i), sizeof(double) * dim * dim);
    }
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c    = &model->constraints[i];
        const int             node = model->free_count + i;
        if (c->row_count == 0 || c->edge_count == 0) continue;
        for (int k = c->edge_start; k < c->edge_start + c->edge_count; ++k) {
            const size_t numbers = (size_t)c->row_count *
                                   (size_t)m->plan->dim[model->bodies[model->edge_body[k]].node];
            memcpy(tni_saddle_j(m->saddle, k), tni_saddle_j(joints, split->plan_edge[k]),
                   sizeof(double) * numbers);
        }
        if (!joints->soft) continue;
        const double* from = joints->diagonal + joints->diagonal_at[node];
        double*       to   = tni_saddle_e(m->saddle, node);
        for (int r = 0; r < c->row_count; ++r)
            memcpy(to + r * m->plan->dim[node], from + r * c->row_count,
                   sizeof(double) * (size_t)c->row_count);
    }
}

static tni_cone_kind kind_of(const tni_unilateral* unilateral)
{
    switch (unilateral->rule) {
    case TNI_UNILATERAL_OPEN: return TNI_CONE_OPEN;
    case TNI_UNILATERAL_STUCK: return TNI_CONE_EQUAL;
    case TNI_UNILATERAL_GRIPS: return TNI_CONE_FRICTION;
    default: return TNI_CONE_ONE_SIDED;
    }
}

// Rows that no unilateral has do nothing.
static void clear_rooms(tni_step_matrix* m)
{
    for (int k = 0; k < m->room_count; ++k) {
        const room* own = &m->rooms[k];
        const int   dim = m->plan->dim[own->node];
        double*     E   = tni_saddle_e(m->saddle, own->node);
        for (int i = own->used; i < own->end; ++i) E[i * (dim + 1)] = 1;
        for (int e = own->edge;
             own->used < own->end && e < m->plan->edge_count && m->plan->row_node[e] == own->node;
             ++e) {
            const int cols = m->plan->dim[m->plan->col_node[e]];
            memset(tni_saddle_j(m->saddle, e) + own->used * cols, 0,
                   sizeof(double) * (size_t)((own->end - own->used) * cols));
        }
    }
}

static void load_unilaterals(tni_step_matrix* m, const tni_unilaterals* a, bool keep_forces)
{
    const tn_model* model = m->model;
    clear_rooms(m);
    m->newton.count = a->unilateral_count + m->bounded->count;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        tni_cone_element*     e          = &m->newton.elements[i];
        int                   bodies[2];
        *e = (tni_cone_element){.kind       = kind_of(unilateral),
                                .node       = m->slots[i].node,
                                .first      = m->slots[i].first,
                                .joint_rows = m->slots[i].joint_rows,
                                .count      = unilateral->row_count,
                                .slip_count = unilateral->slip_count,
                                .spin_count = unilateral->spin_count,
                                .roll_count = unilateral->roll_count,
                                .friction   = unilateral->friction,
                                .spinning   = unilateral->spinning,
                                .rolling    = unilateral->rolling,
                                .compliance = unilateral->soft ? unilateral->compliance : 0};
        if (unilateral->rule == TNI_UNILATERAL_HELD) e->kind = TNI_CONE_EQUAL;
        tni_unilateral_bodies(a, unilateral, bodies);
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &model->bodies[bodies[side]];
            if (body->node < 0) continue;
            int at = m->slots[i].edge;
            while (m->plan->col_node[at] != body->node) ++at;
            e->side[e->side_count++] =
                (tni_cone_side){at, body->u_start, body->dim, a->j + a->block_at[2 * i + side]};
        }
        if (!keep_forces) memcpy(e->f, unilateral->force, sizeof e->f);
    }
}

// After the unilaterals.
static void load_bounded(tni_step_matrix* m, const tni_auxiliary* a, const tni_unilaterals* with)
{
    const tn_model* model = m->model;
    for (int i = 0; i < m->bounded->count; ++i) {
        const tni_bounded* b        = &m->bounded->rows[i];
        tni_cone_element*  e        = &m->newton.elements[with->unilateral_count + i];
        const tni_joint*   joint    = &model->joints[b->of->joint];
        const int          bodies[] = {joint->body1, joint->body2};
        const bool         open     = b->is_open || !a->binds || a->keep_forces;
        *e = (tni_cone_element){.kind  = open ? TNI_CONE_OPEN : TNI_CONE_BOUNDED,
                                .node  = model->free_count + b->constraint,
                                .first = b->first,
                                .count = b->of->row_count,
                                .low   = b->low,
                                .high  = b->high};
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &model->bodies[bodies[side]];
            int             at   = model->constraints[b->constraint].edge_start;
            if (body->node < 0) continue;
            while (m->plan->col_node[at] != body->node) ++at;
            e->side[e->side_count++] = (tni_cone_side){at, body->u_start, body->dim, b->J[side]};
        }
        if (!open) memcpy(e->f, b->force, sizeof b->force);
    }
}

bool tni_step_matrix_is_idle(const tni_step_matrix* m, const tni_auxiliary* a,
                             const tni_unilaterals* with)
{
    const bool soft =
        m->soft != NULL && a->softens && (tni_soft_count(m->soft) > 0 || tni_soft_is_taut(m->soft));
    return with->unilateral_count == 0 && !soft && (!a->binds || m->bounded->count == 0);
}

// W of few unilaterals as the mechanism has it, but for its springs, which the matrix of the joints does not have: light
// parts that carry heavy ones need it.
static tn_result weigh_behind_joints(tni_step_matrix* m, const tni_auxiliary* with,
                                     tni_saddle* joints)
{
    enum { COLUMNS = 3 };
    const size_t all = (size_t)(m->model->u_count + m->model->row_count);
    TRY(tni_saddle_factor(joints));
    for (int i = 0; i < m->newton.count - m->bounded->count; ++i) {
        const tni_cone_element* e                = &m->newton.elements[i];
        double                  W[TNI_CONE_ROWS] = {0};
        int                     given[2];
        for (int s = 0; s < e->side_count; ++s) given[s] = m->plan->col_node[e->side[s].edge];
        for (int first = 0; first < e->count; first += COLUMNS) {
            const int count = e->count - first < COLUMNS ? e->count - first : COLUMNS;
            for (int s = 0; s < e->side_count; ++s)
                for (int c = 0; c < count; ++c)
                    for (int k = 0; k < e->side[s].dim; ++k)
                        with->x[(e->side[s].row + k) * count + c] =
                            e->side[s].J[(first + c) * e->side[s].dim + k];
            tni_saddle_respond(joints, given, e->side_count, given, e->side_count, count, with->x,
                               false, with->x + COLUMNS * all);
            for (int s = 0; s < e->side_count; ++s)
                for (int c = 0; c < count; ++c)
                    for (int k = 0; k < e->side[s].dim; ++k)
                        W[first + c] += e->side[s].J[(first + c) * e->side[s].dim + k] *
                                        with->x[(e->side[s].row + k) * count + c];
        }
        tni_cone_newton_weigh(&m->newton, i, W);
    }
    return TN_OK;
}

tn_result tni_step_matrix_begin(tni_step_matrix* m, const tni_auxiliary* with,
                                const tni_unilaterals* a, tni_saddle* joints, const uint8_t* asleep)
{
    if (a->unilateral_count > m->unilateral_capacity) {
        m->region.full = false;
        return TN_ERR_MEMORY;
    }
    sort_unilaterals(m, a);
    if (!fit(m, a)) {
        const tn_result result = make_plan(m, a);
        if (result != TN_OK) return result;
        (void)fit(m, a);
    }
    m->anew                   = false;
    m->saddle->regularisation = joints->regularisation;
    m->saddle->refinement_max = joints->refinement_max;
    m->saddle->later          = joints->later;
    m->saddle->damped         = joints->damped;
    load_mechanism(m, joints);
    if (m->soft != NULL && with->softens) tni_soft_write(m->soft, m->saddle);
    else if (m->soft != NULL) tni_soft_leave_out(m->soft, m->saddle);
    load_unilaterals(m, a, with->keep_forces);
    load_bounded(m, with, a);
    memset(m->asleep, 0, (size_t)m->plan->component_count);
    for (int i = 0; asleep != NULL && i < m->model->free_count; ++i)
        if (asleep[m->model->free_bodies[i]]) m->asleep[m->plan->component_of[i]] = 1;
    tni_cone_newton_begin(&m->newton, m->saddle, m->asleep);
    if (a->unilateral_count > 0 && a->unilateral_count <= FEW)
        TRY(weigh_behind_joints(m, with, joints));
    m->warm = false;
    return TN_OK;
}

// ---- Solving ---------------------------------------------------------------------------------------

tn_result tni_step_matrix_solve(tni_step_matrix* m, tni_auxiliary* a, tni_unilaterals* with,
                                const double* rhs, double* x, bool refine)
{
    const tn_model* model = m->model;
    double          scale = 0, residual;
    int             worst;
    memset(m->rhs, 0, sizeof *m->rhs * (size_t)m->plan->row_count);
    memcpy(m->rhs, rhs, sizeof *m->rhs * (size_t)model->u_count);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        if (c->edge_count > 0)
            memcpy(m->rhs + m->plan->row_start[model->free_count + i],
                   rhs + model->u_count + c->row_start, sizeof *rhs * (size_t)c->row_count);
    }
    if (a->keep_forces && with->unilateral_count == 0)
        m->warm = false; // it is about something else
    if (m->soft != NULL && a->softens && !a->keep_forces) tni_soft_rhs(m->soft, m->saddle, m->rhs);
    bool heavy =
        true; // ropes and limits alone: what hangs from them may weigh a million times more
    for (int i = 0; i < with->unilateral_count; ++i) {
        tni_cone_element* e = &m->newton.elements[i];
        heavy               = heavy && with->unilaterals[i].limit >= 0;
        for (int k = 0; k < e->count; ++k) e->c[k] = -with->unilaterals[i].target[k];
        e->compliance = with->unilaterals[i].soft ? with->unilaterals[i].compliance : 0;
        if (e->kind != TNI_CONE_OPEN && !with->unilaterals[i].soft) scale = fmax(scale, -e->c[0]);
    }
    if (m->soft != NULL) tni_bounded_take_springs(m->bounded, m->soft);
    for (int i = 0; i < m->bounded->count; ++i) {
        tni_cone_element*  e = &m->newton.elements[with->unilateral_count + i];
        const tni_bounded* b = &m->bounded->rows[i];
        memcpy(e->c, b->c, sizeof b->c);
        e->compliance = b->compliance;
    }
    const bool             crowded = a->crowded;
    const int              most    = a->effort == TNI_CONES_FURTHER ? FURTHER : ITERATIONS;
    const tni_cone_options options = {.tolerance        = a->tolerance * fmax(1, scale),
                                      .accepted         = ACCEPTED * a->tolerance * fmax(1, scale),
                                      .iterations       = most,
                                      .split_tolerance  = SPLIT * fmax(1, scale),
                                      .split_iterations = a->effort == TNI_CONES_FURTHER ? 10 : 20,
                                      .refine           = refine || m->exact,
                                      .warm             = m->warm,
                                      .near             = m->near && !m->warm && crowded,
                                      .crowded          = crowded,
                                      .heavy            = heavy,
                                      .frozen           = a->effort == TNI_CONES_FROZEN};
    if (options.near) {
        memset(m->x, 0, sizeof *m->x * (size_t)m->plan->row_count);
        memcpy(m->x, m->last, sizeof *m->x * (size_t)model->u_count);
    }
    const tn_result result =
        tni_cone_newton_solve(&m->newton, m->rhs, &options, m->x, &residual, &worst);
    if (result != TN_OK) return result;
    m->warm = m->near = true;
    m->exact          = false;
    memcpy(m->last, m->x, sizeof *m->x * (size_t)model->u_count);
    a->report.residual = residual;
    a->report.rounds   = m->newton.factor_count;
    for (int i = 0; i < m->newton.island_count; ++i)
        a->report.split =
            a->report.split ||
            (m->newton.islands[i].splits && m->newton.asleep[m->newton.islands[i].component] == 0);
    memcpy(x, m->x, sizeof *x * (size_t)model->u_count);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        if (c->edge_count > 0)
            memcpy(x + model->u_count + c->row_start,
                   m->x + m->plan->row_start[model->free_count + i],
                   sizeof *x * (size_t)c->row_count);
    }
    for (int i = 0; i < with->unilateral_count; ++i) {
        const tni_cone_element* e          = &m->newton.elements[i];
        tni_unilateral*         unilateral = &with->unilaterals[i];
        for (int k = 0; k < e->count; ++k) {
            unilateral->residual[k] = e->w[k];
            unilateral->response[k] = e->W[k];
            if (!a->keep_forces) unilateral->force[k] = e->f[k];
        }
    }
    for (int i = 0; i < m->bounded->count; ++i) {
        const tni_cone_element* e = &m->newton.elements[with->unilateral_count + i];
        tni_bounded*            b = &m->bounded->rows[i];
        if (e->kind == TNI_CONE_OPEN) continue;
        memcpy(b->w, e->w, sizeof b->w);
        memcpy(b->force, e->f, sizeof b->force);
    }
    return TN_OK;
}
