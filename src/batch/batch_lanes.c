// batch_lanes: a few copies of one model stepped in the lanes of vectors, by the implicit method in its null-space form
// (step/implicit.c, system/tree_form.c: the mathematics is theirs). A lane is a copy. Every number of a lane is
// computed by the operations, in the order, that those files have for one copy, so a lane has the bits of a copy
// that is stepped alone, and vectors of any length give the same.
//
// What is different is what surrounds the numbers. Links of a tree wait for each other, copies do not: here every
// operation is a vector's. What depends on the place alone (springs of joints, ends, targets) is found once a step,
// not in every linearisation of it. Joints have rows of a known shape: nothing is looked up, nothing multiplied that
// is known to be zero, but where a zero's sign could be seen.
//
// Lanes go together through a step: where one needs another linearisation (its ends are not those that were expected)
// or another round of the correction, all do it, and the others get the same numbers again, or keep theirs. A copy
// whose step needs more than that (pieces, Newton's method, handles) is left to the
// stepper, which begins its step anew.
//
// Files: lanes.h, lanes_angle.h numbers in lanes; batch_joint.h actuations and targets; batch_tree.h elimination and
// solution; batch_universal.h universal joints and free roots; batch_flight.h the end of a step; batch_step.h the step;
// batch_baseline.c, batch_avx2.c the lengths.
#include "batch/batch_lanes.h"

#include "batch/batch_plan.h"

struct tni_batch_lanes {
    const tni_batch_plan* plan;
    void*                 work;
};

// ---- What it serves ------------------------------------------------------------------------------

static bool is_method(const tn_settings* settings)
{
    const tn_implicit_settings* s = &settings->implicit;
    return settings->method == TN_METHOD_IMPLICIT && s->solve == TN_IMPLICIT_CORRECTED &&
           s->integrator == TN_IMPLICIT_EULER &&
           (s->form == TN_IMPLICIT_FORM_AUTO || s->form == TN_IMPLICIT_NULLSPACE);
}

static tni_batch_joint joint_of(const tn_model* model, const tni_link* a)
{
    if (a->joint < 0) return TNI_BATCH_FREE;
    if (a->kind == TNI_LINK_TURNS) return TNI_BATCH_BALL;
    if (a->kind == TNI_LINK_AXIS) return TNI_BATCH_HINGE;
    if (a->kind == TNI_LINK_FIXED) return TNI_BATCH_WELD;
    const tni_joint* joint = &model->joints[a->joint];
    return joint->type == tni_joint_type_of(TN_JOINT_UNIVERSAL, TN_JOINT_HINGE) &&
                   model->constraints[joint->constraint].row_count == 4
               ? TNI_BATCH_UNIVERSAL
               : TNI_BATCH_FREE;
}

// Coordinates that a joint of this kind has where all of its rows are there.
static bool is_joint(const tn_model* model, const tni_link* a, tni_batch_joint between)
{
    static const int coordinates[] = {[TNI_BATCH_BALL]      = 3,
                                      [TNI_BATCH_HINGE]     = 1,
                                      [TNI_BATCH_WELD]      = 0,
                                      [TNI_BATCH_UNIVERSAL] = 2};
    if (between == TNI_BATCH_FREE) return a->joint < 0;
    const tni_joint* joint = &model->joints[a->joint];
    if (joint->coordinate_count != coordinates[between]) return false;
    if (model->bodies[a->other].node < 0 && model->bodies[a->other].kind == TN_BODY_KINEMATIC)
        return false;
    if (a->actuation < 0) return true;
    return between != TNI_BATCH_WELD && model->actuations[a->actuation].friction == 0;
}

static bool is_model(const tn_model* model)
{
    bool driven = false;
    for (int i = 0; i < model->constraint_count; ++i)
        driven = driven || model->constraints[i].held_count < model->constraints[i].row_count;
    return tni_tree_form_supports(model, NULL) && !driven && model->load_count == 0 &&
           model->drag_count == 0 && model->spring_count == 0;
}

static bool is_tree(const tn_model* model, const tni_tree_form* tree)
{
    for (int i = 0; i < tree->count; ++i)
        if (!is_joint(model, &tree->links[i], joint_of(model, &tree->links[i]))) return false;
    for (int i = 0; i < model->target_count; ++i)
        if (model->bodies[model->targets[i].body].node < 0) return false;
    return true;
}

// ---- The plan ------------------------------------------------------------------------------------

static void set_link(tni_batch_plan* p, int i)
{
    const tni_link* a  = &p->tree->links[i];
    tni_batch_link* to = &p->links[i];
    tni_view        view;
    *to = (tni_batch_link){.link    = a,
                           .form    = a->form,
                           .between = joint_of(p->model, a),
                           .parent  = a->parent,
                           .soft    = -1,
                           .second  = a->form->sign > 0};
    if (a->slot >= p->slot_count) p->slot_count = a->slot + 1;
    if (a->parent < 0) {
        static const double none[7] = {0};
        tni_view_body(p->model, a->joint < 0 ? 0 : a->other, 0, none, NULL, &view);
        to->x        = view.x;
        to->R        = view.R;
        to->attitude = tni_matrix_quat(&view.R);
        to->turned   = tni_quat_matrix(to->attitude);
    }
    int* most = a->kind == TNI_LINK_OTHER ? &p->dense_count : &p->more_count;
    if (a->more >= *most) *most = a->more + 1;
    if (a->joint < 0) return;
    to->joint = &p->model->joints[a->joint];
    to->z     = to->joint->coordinate_start;
    if (a->actuation < 0) return;
    to->act  = &p->model->actuations[a->actuation];
    to->back = tni_quat_exp(tni_neg(tni_read3(to->act->rest)));
    if (!a->plain || a->kind == TNI_LINK_OTHER) to->soft = p->soft_count++;
    p->sided = p->sided || (to->act->limit.given && !to->act->limit.hard);
}

static void set_targets(tni_batch_plan* p)
{
    for (int i = 0; i < p->target_count; ++i) {
        const tni_target* of   = &p->model->targets[i];
        const int         link = p->tree->link_of[of->body];
        p->targets[i]          = (tni_batch_target){of, i, link, p->links[link].target};
        p->links[link].target  = i + 1;
    }
}

tn_result tni_batch_plan_create(tni_arena* arena, const tn_model* model,
                                const tn_settings* settings, tni_batch_plan** out)
{
    *out = NULL;
    if (tni_batch_baseline() == NULL || !is_method(settings) || !is_model(model)) return TN_OK;
    tni_batch_plan* p = TNI_TAKE(arena, tni_batch_plan, 1);
    if (p == NULL) return TN_ERR_MEMORY;
    p->model               = model;
    p->settings            = settings->implicit;
    p->system.model        = model;
    p->set                 = tni_batch_avx2() != NULL ? tni_batch_avx2() : tni_batch_baseline();
    const tn_result result = tni_tree_form_create(arena, &p->system, &p->tree);
    if (result != TN_OK) return result;
    if (!is_tree(model, p->tree)) return TN_OK;
    p->count        = p->tree->count;
    p->links        = TNI_TAKE(arena, tni_batch_link, p->count);
    p->target_count = model->target_count;
    p->targets      = TNI_TAKE(arena, tni_batch_target, p->target_count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < p->count; ++i) set_link(p, i);
    set_targets(p);
    *out = p;
    return TN_OK;
}

// ---- A flock -------------------------------------------------------------------------------------

tn_result tni_batch_create(tni_arena* arena, const tni_batch_plan* plan, tni_batch_lanes** out)
{
    tni_batch_lanes* f = TNI_TAKE(arena, tni_batch_lanes, 1);
    *out               = f;
    if (f == NULL) return TN_ERR_MEMORY;
    f->plan = plan;
    f->work = plan->set->create(arena, plan);
    return f->work != NULL ? TN_OK : TN_ERR_MEMORY;
}

void tni_batch_narrow(tni_batch_plan* plan)
{
    plan->set = tni_batch_baseline();
}

int tni_batch_lane_count(const tni_batch_plan* plan)
{
    return plan->set->lanes;
}

unsigned tni_batch_step(tni_batch_lanes* flock, tn_state* const* states, int count, double h,
                        tn_step_report* const* reports)
{
    return flock->plan->set->step(flock->work, states, count, h, reports);
}
