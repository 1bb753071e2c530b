// graph: the constraint graph of a model (model.h), handed to the symbolic analysis, and what can
// be counted on it: loops, and groups of bodies that hang together.
#include "model/model.h"

// The distinct bodies of a constraint that can be pushed.
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

// Whether the rows of a constraint are independent on this body alone. Where this is too hopeful
// the factorisation finds a vanishing pivot and regularises (saddle.h).
static bool is_strong(const tn_model* model, const tni_constraint* constraint, int body)
{
    const tni_body* b = &model->bodies[body];
    if (constraint->row_count > b->dim) return false;
    if (constraint->kind != TNI_CONSTRAINT_JOINT || b->kind != TN_BODY_PLANAR) return true;
    const tni_joint* joint = &model->joints[constraint->index];
    return constraint->row_count == 1 ||
           (tni_is_flat(&model->bodies[joint->body1]) && tni_is_flat(&model->bodies[joint->body2]));
}

tn_result tni_analyse_graph(tn_model* model)
{
    tni_arena scratch = tni_arena_make(&model->arena.host);
    const int count   = model->free_count + model->constraint_count;
    int       bodies[TNI_CONSTRAINT_BODIES_MAX];
    for (int i = 0; i < model->constraint_count; ++i) {
        tni_constraint* constraint = &model->constraints[i];
        constraint->edge_start     = model->edge_count;
        constraint->edge_count     = free_bodies_of(model, constraint, bodies);
        model->edge_count += constraint->edge_count;
    }
    model->edge_body = TNI_TAKE(&model->arena, int, model->edge_count);
    int*      dim    = TNI_TAKE(&scratch, int, count);
    int8_t*   sign   = TNI_TAKE(&scratch, int8_t, count);
    int*      row    = TNI_TAKE(&scratch, int, model->edge_count);
    int*      col    = TNI_TAKE(&scratch, int, model->edge_count);
    uint8_t*  strong = TNI_TAKE(&scratch, uint8_t, model->edge_count);
    tn_result result = TN_ERR_MEMORY;
    if (!scratch.failed && !model->arena.failed) {
        for (int i = 0; i < model->free_count; ++i) {
            dim[i]  = model->bodies[model->free_bodies[i]].dim;
            sign[i] = 1;
        }
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* constraint = &model->constraints[i];
            dim[constraint->node]            = constraint->row_count;
            sign[constraint->node]           = -1;
            free_bodies_of(model, constraint, bodies);
            for (int j = 0; j < constraint->edge_count; ++j) {
                const int edge         = constraint->edge_start + j;
                model->edge_body[edge] = bodies[j];
                row[edge]              = constraint->node;
                col[edge]              = model->bodies[bodies[j]].node;
                strong[edge]           = is_strong(model, constraint, bodies[j]);
            }
        }
        const tni_graph graph = {count, dim, sign, model->edge_count, row, col, strong};
        result                = tni_plan_create(&model->arena, &graph, &model->plan);
    }
    tni_arena_free(&scratch);
    return result;
}

// ---- Loops and parts, by union-find --------------------------------------------------------------

static int root_of(int* up, int i)
{
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

// Joins two groups; false when they were one already.
static bool join(int* up, int a, int b)
{
    a = root_of(up, a);
    b = root_of(up, b);
    if (a == b) return false;
    up[a > b ? a : b] = a > b ? b : a; // the ground, 0, stays a root
    return true;
}

tn_result tni_count_groups(tn_model* model)
{
    tni_arena scratch = tni_arena_make(&model->arena.host);
    int* world = TNI_TAKE(&scratch, int, model->body_count); // groups, the ground one of the bodies
    int* apart = TNI_TAKE(&scratch, int, model->body_count); // groups, the ground left out
    if (scratch.failed) {
        tni_arena_free(&scratch);
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < model->body_count; ++i) world[i] = apart[i] = i;
    for (int i = 0; i < model->named_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        int                   bodies[8], count = 0;
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
            if (!join(world, bodies[0], bodies[j])) ++model->loop_count;
            if (bodies[0] != 0 && bodies[j] != 0) (void)join(apart, bodies[0], bodies[j]);
        }
    }
    for (int i = 1; i < model->body_count; ++i) {
        if (model->bodies[i].node < 0 || root_of(apart, i) != i) continue;
        ++model->part_count;
        model->floating_count += root_of(world, i) != 0;
    }
    tni_arena_free(&scratch);
    return TN_OK;
}
