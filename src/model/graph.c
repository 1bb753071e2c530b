// graph: the constraint graph of a model (model.h), passed to the symbolic analysis; counts of
// loops and of connected parts.
#include "model/model.h"

#include "base/groups.h"

// The distinct free bodies of a constraint.
static int free_bodies_of(const tn_model* model, const tni_constraint* constraint, int* bodies)
{
    int all[TNI_CONSTRAINT_BODIES_MAX], all_count = 0, count = 0;
    if (constraint->kind == TNI_CONSTRAINT_JOINT) {
        const tni_joint* joint = &model->joints[constraint->index];
        all[all_count++]       = joint->body1;
        all[all_count++]       = joint->body2;
    } else if (constraint->kind == TNI_CONSTRAINT_USER) {
        const tni_user_constraint* user = &model->users[constraint->index];
        for (int i = 0; i < user->body_count; ++i) all[all_count++] = user->bodies[i];
    } else {
        const tni_coupling* coupling = &model->couplings[constraint->index];
        for (int i = 0; i < coupling->body_count; ++i) all[all_count++] = coupling->bodies[i];
        for (int i = 0; i < coupling->joint_count; ++i) {
            all[all_count++] = model->joints[coupling->joints[i]].body1;
            all[all_count++] = model->joints[coupling->joints[i]].body2;
        }
    }
    for (int i = 0; i < all_count; ++i) {
        bool known = model->bodies[all[i]].node < 0;
        for (int j = 0; j < count; ++j) known = known || bodies[j] == all[i];
        if (!known) bodies[count++] = all[i];
    }
    return count;
}

bool tni_is_strong(const tn_model* model, const tni_constraint* constraint, int body)
{
    const tni_body* b = &model->bodies[body];
    if (constraint->row_count > b->dim) return false;
    if (constraint->kind != TNI_CONSTRAINT_JOINT || b->kind != TN_BODY_PLANAR) return true;
    const tni_joint* joint = &model->joints[constraint->index];
    return constraint->row_count == 1 ||
           (tni_is_flat(&model->bodies[joint->body1]) && tni_is_flat(&model->bodies[joint->body2]));
}

// ---- Primary and auxiliary constraints ----------------------------------------------------------

// A plan without the constraints that are marked in `apart`.
static tn_result make_split(tn_model* model, const uint8_t* apart, tni_split* split)
{
    tni_arena scratch = tni_arena_make(&model->arena.host);
    const int count   = model->free_count + model->constraint_count;
    for (int i = 0; i < model->constraint_count; ++i) {
        split->auxiliary_count += apart[i];
        split->auxiliary_rows += apart[i] ? model->constraints[i].row_count : 0;
    }
    split->plan_edge = TNI_TAKE(&model->arena, int, model->edge_count);
    split->auxiliary = TNI_TAKE(&model->arena, int, split->auxiliary_count);
    int*      dim    = TNI_TAKE(&scratch, int, count);
    int8_t*   sign   = TNI_TAKE(&scratch, int8_t, count);
    int*      row    = TNI_TAKE(&scratch, int, model->edge_count);
    int*      col    = TNI_TAKE(&scratch, int, model->edge_count);
    uint8_t*  strong = TNI_TAKE(&scratch, uint8_t, model->edge_count);
    tn_result result = TN_ERR_MEMORY;
    if (!scratch.failed && !model->arena.failed) {
        int edges = 0, auxiliary_edges = 0, auxiliary = 0;
        for (int i = 0; i < model->free_count; ++i) {
            dim[i]  = model->bodies[model->free_bodies[i]].dim;
            sign[i] = 1;
        }
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* constraint = &model->constraints[i];
            dim[constraint->node]            = constraint->row_count;
            sign[constraint->node]           = apart[i] ? 1 : -1;
            if (apart[i]) split->auxiliary[auxiliary++] = i;
            for (int j = 0; j < constraint->edge_count; ++j) {
                const int edge         = constraint->edge_start + j;
                const int body         = model->edge_body[edge];
                split->plan_edge[edge] = apart[i] ? -1 - auxiliary_edges++ : edges;
                if (apart[i]) continue;
                row[edges]      = constraint->node;
                col[edges]      = model->bodies[body].node;
                strong[edges++] = tni_is_strong(model, constraint, body);
            }
        }
        const tni_graph graph = {count, dim, sign, edges, row, col, strong, NULL};
        result                = tni_plan_create(&model->arena, &graph, &split->plan);
    }
    tni_arena_free(&scratch);
    return result;
}

// True for constraints that are auxiliary in any plan.
static bool is_always_auxiliary(const tni_constraint* constraint)
{
    return constraint->role == TN_ROLE_AUXILIARY || constraint->pushes_otherwise ||
           constraint->row_count == 0;
}

static int priority_of(
    const tni_constraint* constraint) // the higher, the earlier it joins the forest
{
    return constraint->row_count + (constraint->role == TN_ROLE_PRIMARY ? 1000 : 0);
}

// Kruskal's algorithm: the spanning forest with the most rows. The ground is a node like others, so
// that a second path to it is a loop. Marks the constraints left over in `apart`; returns whether
// there are any.
static bool mark_forest(const tn_model* model, int* up, uint8_t* apart)
{
    int  most = 0;
    bool any  = false;
    for (int i = 0; i < model->body_count; ++i) up[i] = i;
    for (int i = 0; i < model->constraint_count; ++i) {
        const int priority = priority_of(&model->constraints[i]);
        most               = priority > most ? priority : most;
    }
    for (int priority = most, next; priority > 0; priority = next) {
        next = 0;
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* constraint = &model->constraints[i];
            const int*            bodies     = model->edge_body + constraint->edge_start;
            const int             own        = priority_of(constraint);
            if (own < priority && own > next) next = own;
            if (own != priority || apart[i]) continue;
            const bool wide  = constraint->edge_count > 2;
            const int  other = constraint->edge_count == 2 ? bodies[1] : 0;
            if (!wide && tni_tie(up, bodies[0], other)) continue;
            apart[i] = 1;
            any      = true;
        }
    }
    return any;
}

tn_result tni_analyse_graph(tn_model* model)
{
    int bodies[TNI_CONSTRAINT_BODIES_MAX];
    for (int i = 0; i < model->constraint_count; ++i) {
        tni_constraint* constraint = &model->constraints[i];
        constraint->edge_start     = model->edge_count;
        constraint->edge_count     = free_bodies_of(model, constraint, bodies);
        model->edge_count += constraint->edge_count;
    }
    tni_arena scratch = tni_arena_make(&model->arena.host);
    uint8_t*  apart   = TNI_TAKE(&scratch, uint8_t, model->constraint_count);
    int*      up      = TNI_TAKE(&scratch, int, model->body_count);
    model->edge_body  = TNI_TAKE(&model->arena, int, model->edge_count);
    tn_result result  = TN_ERR_MEMORY;
    if (!scratch.failed && !model->arena.failed) {
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* constraint = &model->constraints[i];
            free_bodies_of(model, constraint, model->edge_body + constraint->edge_start);
            apart[i] = is_always_auxiliary(constraint);
        }
        result = make_split(model, apart, &model->core);
        if (result == TN_OK) {
            if (mark_forest(model, up, apart)) result = make_split(model, apart, &model->forest);
            else model->forest = model->core;
        }
    }
    tni_arena_free(&scratch);
    return result;
}

bool tn_model_joint_auxiliary(const tn_model* model, tn_joint_id joint, tn_loops loops)
{
    TN_ASSERT(joint.bits > 0 && (int)joint.bits <= model->named_count);
    const tni_split* split = loops == TN_LOOPS_AUXILIARY ? &model->forest : &model->core;
    for (int i = 0; i < split->auxiliary_count; ++i) {
        if (split->auxiliary[i] == (int)joint.bits - 1) return true;
    }
    return false;
}

// ---- Loops and parts ----------------------------------------------------------------------------

tn_result tni_count_groups(tn_model* model)
{
    tni_arena scratch = tni_arena_make(&model->arena.host);
    int* world = TNI_TAKE(&scratch, int, model->body_count); // union-find with the ground as a node
    int* apart = TNI_TAKE(&scratch, int, model->body_count); // union-find without the ground
    if (scratch.failed) {
        tni_arena_free(&scratch);
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < model->body_count; ++i) world[i] = apart[i] = i;
    for (int i = 0; i < model->named_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        int                   bodies[8], count = 0;
        if (constraint->row_count == 0) continue; // a rope connects nothing
        if (constraint->kind == TNI_CONSTRAINT_JOINT) {
            bodies[count++] = model->joints[constraint->index].body1;
            bodies[count++] = model->joints[constraint->index].body2;
        } else {
            const tni_user_constraint* user = &model->users[constraint->index];
            for (int j = 0; j < user->body_count; ++j) bodies[count++] = user->bodies[j];
            if (count == 1) bodies[count++] = 0;
        }
        for (int j = 0; j < count; ++j)
            bodies[j] = model->bodies[bodies[j]].node >= 0 ? bodies[j] : 0;
        for (int j = 1; j < count; ++j) {
            if (!tni_tie(world, bodies[0], bodies[j])) ++model->loop_count;
            if (bodies[0] != 0 && bodies[j] != 0) (void)tni_tie(apart, bodies[0], bodies[j]);
        }
    }
    for (int i = 1; i < model->body_count; ++i) {
        if (model->bodies[i].node < 0 || tni_root_of(apart, i) != i) continue;
        ++model->part_count;
        model->floating_count += tni_root_of(world, i) != 0;
    }
    tni_arena_free(&scratch);
    return TN_OK;
}
