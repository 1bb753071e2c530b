// tree_form_tree: which models the null-space form supports, and the tree that it makes of one:
// roots, the order of elimination, and slots in which children accumulate their articulated
// inertia.
//
// Roots are the links with a joint to something immovable; of a floating tree, the middle of its
// longest path. Parents come before children and branches are contiguous; backwards this is the
// order of elimination, and few slots are in use at a time, so that they stay in the cache.
#include "system/tree_form_link.h"

// ---- What is supported --------------------------------------------------------------------------

static bool can_push(const tn_model* model, int body)
{
    return model->bodies[body].node >= 0;
}

static const char* unsupported(const tn_model* model)
{
    if (model->loop_count > 0) return "joints close loops";
    if (model->coupling_count > 0) return "there are couplings";
    if (model->user_count > 0) return "there are user-defined constraints";
    if (model->limit_count > 0) return "there are hard limits or ropes";
    if (model->shape_count > 1) return "there are shapes that may touch";
    for (int i = 0; i < model->free_count; ++i)
        if (model->bodies[model->free_bodies[i]].kind != TN_BODY_RIGID)
            return "there are bodies that are not rigid";
    for (int i = 0; i < model->joint_count; ++i)
        if (!can_push(model, model->joints[i].body1) && !can_push(model, model->joints[i].body2))
            return "a joint connects two immovable bodies";
    for (int i = 0; i < model->spring_count; ++i)
        if (can_push(model, model->springs[i].body1) && can_push(model, model->springs[i].body2))
            return "there are springs between bodies";
    return NULL;
}

bool tni_tree_form_supports(const tn_model* model, const char** why_not)
{
    const char* why = unsupported(model);
    if (why_not != NULL) *why_not = why;
    return why == NULL;
}

// ---- Building it ---------------------------------------------------------------------------------

/// Scratch while the tree is built. By body.
typedef struct builder {
    const tn_model* model;
    int *           start, *joints; ///< joints of each body: ranges of `joints`; free bodies only
    int *           up, *far;       ///< joint towards the root (-1: none); distance in a search
    int *           queue, *order;
    int*            actuation; ///< 1 + index of the joint force, by joint; 0: none
    uint8_t*        done;
} builder;

static int other_side(const tn_model* model, int joint, int body)
{
    const tni_joint* j = &model->joints[joint];
    return j->body1 == body ? j->body2 : j->body1;
}

static void list_joints(builder* g)
{
    const tn_model* model = g->model;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < model->joint_count; ++i)
            for (int side = 0; side < 2; ++side) {
                const int body = side == 0 ? model->joints[i].body1 : model->joints[i].body2;
                if (!can_push(model, body)) continue;
                if (pass == 0) ++g->start[body + 1];
                else g->joints[g->start[body]++] = i;
            }
        for (int i = 0; pass == 0 && i < model->body_count; ++i) g->start[i + 1] += g->start[i];
        for (int i = model->body_count; pass == 1 && i > 0; --i) g->start[i] = g->start[i - 1];
    }
    g->start[0] = 0;
}

// The body farthest from `from` in its tree; `up` leads back. *held: the body with a joint to
// something immovable, if any.
static int farthest(builder* g, int from, int* held)
{
    int head = 0, tail = 0;
    g->queue[tail++] = from;
    g->up[from]      = -1;
    while (head < tail) {
        const int body = g->queue[head++];
        for (int i = g->start[body]; i < g->start[body + 1]; ++i) {
            const int joint = g->joints[i], next = other_side(g->model, joint, body);
            if (!can_push(g->model, next)) *held = body;
            if (joint == g->up[body] || !can_push(g->model, next)) continue;
            g->up[next]      = joint;
            g->far[next]     = g->far[body] + 1;
            g->queue[tail++] = next;
        }
    }
    return g->queue[tail - 1];
}

// The body with a joint to something immovable, or the middle of the longest path.
static int root_of(builder* g, int body)
{
    int held = -1, end = farthest(g, body, &held);
    if (held >= 0) return held;
    g->far[end] = 0;
    end         = farthest(g, end, &held);
    for (int steps = g->far[end] / 2; steps > 0; --steps)
        end = other_side(g->model, g->up[end], end);
    return end;
}

// Appends a tree to the order, parents first, branches contiguous.
static int walk(builder* g, int root, int count)
{
    int depth         = 0;
    g->queue[depth++] = root;
    g->up[root]       = -1;
    while (depth > 0) {
        const int body    = g->queue[--depth];
        g->done[body]     = 1;
        g->order[count++] = body;
        for (int i = g->start[body]; i < g->start[body + 1]; ++i) {
            const int joint = g->joints[i], next = other_side(g->model, joint, body);
            if (!can_push(g->model, next)) g->up[body] = joint;
            else if (!g->done[next]) g->up[next] = joint, g->queue[depth++] = next;
        }
    }
    return count;
}

static tni_link_kind kind_of(const tn_model* model, const tni_joint* joint)
{
    static const uint8_t dots[3][2] = {{0, 2}, {1, 2}, {0, 1}}; // as in joint_types.c
    const int            rows       = model->constraints[joint->constraint].row_count;
    if (rows != 3 && rows != 5 && rows != 6) return TNI_LINK_OTHER;
    for (int i = 0; i < rows; ++i) {
        const tni_row_part* part = &joint->type->parts[joint->parts[i]];
        if (i < 3 && (part->op != TNI_ROW_POINT || part->k != i)) return TNI_LINK_OTHER;
        if (i < 3) continue;
        if (part->op != TNI_ROW_DOT || part->k != dots[i - 3][0] || part->l != dots[i - 3][1])
            return TNI_LINK_OTHER;
    }
    return rows == 3 ? TNI_LINK_TURNS : rows == 5 ? TNI_LINK_AXIS : TNI_LINK_FIXED;
}

// Whether the joint force is spring and damper only, between bodies without prescribed motion.
static bool is_plain(const tn_model* model, const tni_link* a, const tni_joint_force* act)
{
    for (int k = 0; k < model->joints[act->joint].coordinate_count; ++k)
        if (a->kind == TNI_LINK_TURNS && act->force[k] != 0) return false;
    return (a->kind == TNI_LINK_TURNS || a->kind == TNI_LINK_AXIS) && act->friction == 0 &&
           !act->limit.given && model->bodies[a->other].kind != TN_BODY_KINEMATIC;
}

static void set_actuation(tni_tree_form* ns, tni_link* a, tni_link_form* form, int actuation)
{
    const tni_joint_force* act   = &ns->model->actuations[actuation];
    const tni_joint*       joint = &ns->model->joints[act->joint];
    const tn_quat          rest  = tni_quat_exp(tni_neg(tni_read3(act->rest))),
                  F1             = tni_quat_conjugate(tni_matrix_quat(&joint->F1)),
                  F2             = tni_matrix_quat(&joint->F2);
    a->actuation                 = actuation;
    a->plain                     = is_plain(ns->model, a, act);
    form->twist                  = tni_quat_mul(F2, tni_quat_mul(rest, F1));
    form->stiffness              = act->stiffness;
    form->damping                = act->damping;
    ns->needs_views              = ns->needs_views || !a->plain;
}

static void set_joint(tni_tree_form* ns, tni_link* a, tni_link_form* form, int index)
{
    const tn_model*  model  = ns->model;
    const tni_joint* joint  = &model->joints[index];
    const bool       second = joint->body2 == a->body;
    a->joint                = index;
    a->constraint           = joint->constraint;
    a->row                  = model->constraints[joint->constraint].row_start;
    a->kind                 = (uint8_t)kind_of(model, joint);
    a->other                = second ? joint->body1 : joint->body2;
    a->points               = joint->type->parts[0].op == TNI_ROW_POINT;
    form->sign              = second ? 1 : -1;
    form->anchor            = second ? joint->p1 : joint->p2;
    if (a->kind != TNI_LINK_OTHER) form->ref = second ? joint->p2 : joint->p1;
    for (int k = 0; k < 5 && a->kind != TNI_LINK_TURNS; ++k)
        form->axes[k] = k < 2 ? tni_column(&joint->F1, k) : tni_column(&joint->F2, k - 2);
    ns->needs_views = ns->needs_views || a->kind == TNI_LINK_OTHER;
    ns->holds_rotation =
        ns->holds_rotation || a->kind == TNI_LINK_AXIS || a->kind == TNI_LINK_FIXED;
}

// A^-1 of a symmetric matrix.
static tni_sym inverse_of(const tni_mat3* A)
{
    const tn_vec3 x = tni_solve3(A, tni_vec3(1, 0, 0)), y = tni_solve3(A, tni_vec3(0, 1, 0)),
                  z = tni_solve3(A, tni_vec3(0, 0, 1));
    return (tni_sym){x.x, y.x, z.x, y.y, z.y, z.z};
}

static void set_link(tni_tree_form* ns, const builder* g, int i, tni_link_form* form)
{
    tni_link*       a    = &ns->links[i];
    const int       body = g->order[ns->count - 1 - i];
    const tni_body* b    = &ns->model->bodies[body];
    const double*   I    = b->inertia.m;
    *a                   = (tni_link){.kind        = TNI_LINK_OTHER,
                                      .body        = body,
                                      .joint       = -1,
                                      .constraint  = -1,
                                      .actuation   = -1,
                                      .parent      = -1,
                                      .slot        = -1,
                                      .parent_slot = -1,
                                      .more        = -1,
                                      .q           = b->q_start,
                                      .u           = b->u_start};
    memset(form, 0, sizeof *form);
    form->mass        = b->mass;
    form->inertia     = (tni_sym){I[0], I[3], I[6], I[4], I[7], I[8]};
    form->inverse     = inverse_of(&b->inertia);
    form->sign        = 1;
    ns->link_of[body] = i;
    if (g->up[body] < 0) return;
    set_joint(ns, a, form, g->up[body]);
    if (g->actuation[g->up[body]] > 0) set_actuation(ns, a, form, g->actuation[g->up[body]] - 1);
}

// Neighbours share a form when they are equal.
static tn_result set_links(tni_tree_form* ns, const builder* g, tni_arena* arena)
{
    const tni_link_form* last = NULL;
    int                  more = 0, denses = 0;
    for (int i = 0; i < ns->count; ++i) {
        tni_link*     a = &ns->links[i];
        tni_link_form form;
        set_link(ns, g, i, &form);
        if (last == NULL || memcmp(last, &form, sizeof form) != 0) {
            tni_link_form* own = TNI_TAKE(arena, tni_link_form, 1);
            if (own == NULL) return TN_ERR_MEMORY;
            *own = form;
            last = own;
        }
        a->form = last;
        if (a->kind == TNI_LINK_OTHER) a->more = denses++;
        else if (a->kind != TNI_LINK_TURNS || a->actuation >= 0) a->more = more++;
        if (!can_push(ns->model, a->other)) ns->fixed[ns->fixed_count++] = a->other;
    }
    for (int i = 0; i < ns->count; ++i) {
        tni_link* a = &ns->links[i];
        if (a->joint >= 0 && can_push(ns->model, a->other)) a->parent = ns->link_of[a->other];
        else ns->roots[ns->root_count++] = i;
    }
    ns->mores  = TNI_TAKE(arena, tni_link_more, more);
    ns->denses = TNI_TAKE(arena, tni_link_dense, denses);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// Children accumulate in their parent's slot, which is free again once the parent is processed: for
// links of the same part only, otherwise threads would share it.
static int set_slots(tni_tree_form* ns, int* unused)
{
    int count = 0;
    for (int p = 0; p < ns->part_count; ++p) {
        int unused_count = 0;
        for (int i = ns->parts[p].first; i < ns->parts[p].end; ++i) {
            tni_link* a = &ns->links[i];
            if (a->slot >= 0) unused[unused_count++] = a->slot;
            if (a->parent < 0) continue;
            tni_link*  b   = &ns->links[a->parent];
            const bool own = a->parent < ns->parts[p].end;
            a->first       = b->slot < 0;
            if (a->first) b->slot = own && unused_count > 0 ? unused[--unused_count] : count++;
            a->parent_slot = b->slot;
            b->single      = a->first && a->parent == i + 1;
        }
    }
    return count;
}

// ---- Parts --------------------------------------------------------------------------------------

enum { SHARED_FROM = 1024, LEAST = 64, SHARES = 8 };

// Parts from the last link down; parts NULL: returns only their number. Branches of at most an
// eighth of all links are shared if they are large enough; whole trees are merged as long as they
// fit.
static int cut(const tni_tree_form* ns, const int* size, tni_part* parts)
{
    const int most  = ns->count / SHARES;
    int       count = 0;
    bool      whole = false; // the last part consists of whole trees
    tni_part  last  = {.first = ns->count};
    for (int i = ns->count - 1; i >= 0; i = last.first - 1) {
        const bool root   = ns->links[i].parent < 0;
        const bool shared = size[i] <= most && (size[i] >= LEAST || root);
        const int  first  = shared ? i + 1 - size[i] : i;
        const bool joins  = count > 0 && last.shared == shared &&
                           (!shared || (whole && root && last.end - first <= most));
        if (joins) last.first = first;
        else last = (tni_part){.first = first, .end = i + 1, .shared = shared}, ++count;
        whole = root;
        if (parts != NULL) parts[count - 1] = last;
    }
    return count;
}

static tn_result set_parts(tni_tree_form* ns, tni_arena* arena, int* size)
{
    int count = ns->count >= SHARED_FROM ? 0 : 1;
    for (int i = 0; i < ns->count; ++i) size[i] = 1;
    for (int i = 0; i < ns->count; ++i)
        if (ns->links[i].parent >= 0) size[ns->links[i].parent] += size[i];
    if (count == 0) count = cut(ns, size, NULL);
    ns->parts  = TNI_TAKE(arena, tni_part, count);
    ns->shares = TNI_TAKE(arena, int, count);
    if (arena->failed) return TN_ERR_MEMORY;
    ns->part_count = count;
    ns->parts[0]   = (tni_part){.end = ns->count};
    if (count == 1) return TN_OK;
    (void)cut(ns, size, ns->parts);
    for (int i = 0; i < count / 2; ++i) {
        const tni_part part      = ns->parts[i];
        ns->parts[i]             = ns->parts[count - 1 - i];
        ns->parts[count - 1 - i] = part;
    }
    for (int i = 0; i < count; ++i) {
        if (!ns->parts[i].shared) continue;
        ns->shares[ns->share_count++]         = i;
        ns->links[ns->parts[i].end - 1].share = i + 1;
    }
    return TN_OK;
}

static tn_result build(tni_tree_form* ns, tni_arena* arena, tni_arena* scratch)
{
    const tn_model* model  = ns->model;
    const int       bodies = model->body_count;
    builder         g      = {.model     = model,
                              .start     = TNI_TAKE(scratch, int, bodies + 1),
                              .joints    = TNI_TAKE(scratch, int, 2 * model->joint_count),
                              .up        = TNI_TAKE(scratch, int, bodies),
                              .far       = TNI_TAKE(scratch, int, bodies),
                              .queue     = TNI_TAKE(scratch, int, bodies),
                              .order     = TNI_TAKE(scratch, int, bodies),
                              .actuation = TNI_TAKE(scratch, int, model->joint_count),
                              .done      = TNI_TAKE(scratch, uint8_t, bodies)};
    int             count  = 0;
    if (scratch->failed) return TN_ERR_MEMORY;
    list_joints(&g);
    for (int i = 0; i < model->actuation_count; ++i)
        g.actuation[model->actuations[i].joint] = i + 1;
    for (int i = 0; i < model->free_count; ++i)
        if (!g.done[model->free_bodies[i]])
            count = walk(&g, root_of(&g, model->free_bodies[i]), count);
    tn_result result = set_links(ns, &g, arena);
    if (result == TN_OK) result = set_parts(ns, arena, g.far);
    if (result == TN_OK)
        ns->slots = TNI_TAKE(arena, tni_articulated_inertia, set_slots(ns, g.queue));
    return arena->failed ? TN_ERR_MEMORY : result;
}

tn_result tni_tree_form_build(tni_tree_form* ns, tni_arena* arena)
{
    tni_arena       scratch = tni_arena_make(&ns->model->arena.host);
    const tn_result result  = build(ns, arena, &scratch);
    tni_arena_free(&scratch);
    return result;
}
