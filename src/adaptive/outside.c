// outside: forces on limbs that come from neither gravity nor joints: springs, targets, handles, loads, drag. They
// act as in all other methods (force.h), on bodies that are seen where their clusters are; no other body is looked at.
#include "adaptive/adaptive.h"

static const tni_force* const forces[] = {&tni_force_spring, &tni_force_target, &tni_force_handle,
                                          &tni_force_load, &tni_force_drag};

static void mark(const tni_adaptive* adaptive, uint8_t* pushed, int body)
{
    if (adaptive->limbs->of_body[body] >= 0) pushed[adaptive->limbs->of_body[body]] = 1;
}

static void mark_all(const tni_adaptive* adaptive, uint8_t* pushed)
{
    const tn_model* model = adaptive->model;
    for (int i = 0; i < model->spring_count; ++i) {
        mark(adaptive, pushed, model->springs[i].body1);
        mark(adaptive, pushed, model->springs[i].body2);
    }
    for (int i = 0; i < model->target_count; ++i) mark(adaptive, pushed, model->targets[i].body);
    for (int i = 0; i < model->load_count; ++i) mark(adaptive, pushed, model->loads[i].body);
    for (int i = 0; i < model->drag_count; ++i) mark(adaptive, pushed, model->drags[i].body);
}

// A body that nothing pushes.
static void view_still(tni_adaptive* adaptive, int body)
{
    static const double none[1] = {0};
    adaptive->keyed = adaptive->keyed || adaptive->model->bodies[body].kind == TN_BODY_KINEMATIC;
    tni_view_body(adaptive->model, body, adaptive->time, none, NULL, &adaptive->views[body]);
}

tn_result tni_outside_create(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_limbs* limbs  = adaptive->limbs;
    uint8_t*         pushed = TNI_TAKE(arena, uint8_t, limbs->count);
    adaptive->views         = TNI_TAKE(arena, tni_view, adaptive->model->body_count);
    adaptive->f             = TNI_TAKE(arena, double, adaptive->model->u_count);
    adaptive->force         = TNI_TAKE(arena, tni_six, limbs->count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < adaptive->model->body_count; ++i)
        if (limbs->of_body[i] < 0) view_still(adaptive, i);
    mark_all(adaptive, pushed);
    int count = 0;
    for (int i = 0; i < limbs->count; ++i) count += pushed[i];
    adaptive->pushed = TNI_TAKE(arena, tni_pushed_limb, count + TN_HANDLES_MAX);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int t = 0; t < limbs->tree_count; ++t) {
        adaptive->figures[t].first_pushed = adaptive->pushed_count;
        for (int i = limbs->first[t]; i < limbs->first[t + 1]; ++i)
            if (pushed[i]) adaptive->pushed[adaptive->pushed_count++].limb = i;
        adaptive->figures[t].last_pushed = adaptive->pushed_count;
    }
    return TN_OK;
}

// Hands may take hold of any limb, for a time.
static void find_held(tni_adaptive* adaptive, const tni_outside* outside)
{
    adaptive->held_count = 0;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const int limb = adaptive->limbs->of_body[outside->handles[i].body];
        bool      more = outside->handles[i].body > 0 && limb >= 0;
        if (!more) continue;
        const int tree = adaptive->limbs->limbs[limb].tree;
        for (int k = adaptive->figures[tree].first_pushed; k < adaptive->figures[tree].last_pushed;
             ++k)
            more = more && adaptive->pushed[k].limb != limb;
        for (int k = 0; k < adaptive->held_count; ++k)
            more = more && adaptive->pushed[adaptive->pushed_count + k].limb != limb;
        if (!more) continue;
        tni_pushed_limb* pushed =
            &adaptive->pushed[adaptive->pushed_count + adaptive->held_count++];
        pushed->limb = limb;
        pushed->seat = tni_hybrid_seat(&adaptive->figures[tree].now, limb, adaptive->active,
                                       adaptive->touched, adaptive->frames);
    }
}

static void see(tni_adaptive* adaptive, const tni_pushed_limb* pushed)
{
    const tni_limb*    limb    = &adaptive->limbs->limbs[pushed->limb];
    const tni_body*    body    = &adaptive->model->bodies[limb->body];
    const tni_cluster* cluster = &adaptive->figures[limb->tree].now.clusters[pushed->seat.cluster];
    const tni_shift    world   = tni_shift_then(&cluster->world, &pushed->seat.way);
    tni_limb_view(adaptive->limbs, pushed->limb, &world,
                  tni_shift_motion(&pushed->seat.way, cluster->v), &adaptive->views[limb->body]);
    memset(adaptive->f + body->u_start, 0, sizeof *adaptive->f * (size_t)body->dim);
}

// From a force in the world, about the centre of mass, to the limb's frame.
static void take(tni_adaptive* adaptive, tni_pushed_limb* pushed)
{
    const tni_limb* limb          = &adaptive->limbs->limbs[pushed->limb];
    const tni_body* body          = &adaptive->model->bodies[limb->body];
    const double*   f             = adaptive->f + body->u_start;
    const tni_mat3* R             = &adaptive->views[limb->body].R;
    const bool      flat          = body->kind == TN_BODY_PLANAR;
    const tn_vec3   force         = flat ? tni_vec3(f[0], f[1], 0) : tni_read3(f);
    const tn_vec3   torque        = flat ? tni_vec3(0, 0, f[2]) : tni_read3(f + 3);
    const tn_vec3   v             = tni_rotate(limb->attitude, tni_mul_t(R, force));
    const tn_vec3   w             = tni_rotate(limb->attitude, tni_mul_t(R, torque));
    adaptive->force[pushed->limb] = (tni_six){tni_add(w, tni_cross(limb->com, v)), v};
    pushed->pushed                = false;
    for (int k = 0; k < body->dim; ++k) pushed->pushed = pushed->pushed || f[k] != 0;
}

void tni_outside_push(tni_adaptive* adaptive, const tni_outside* outside)
{
    const tn_model* model = adaptive->model;
    for (int i = 0; i < adaptive->held_count; ++i) {
        const int limb        = adaptive->pushed[adaptive->pushed_count + i].limb;
        adaptive->force[limb] = tni_six_zero();
    }
    find_held(adaptive, outside);
    const int count = adaptive->pushed_count + adaptive->held_count;
    if (count == 0) return;
    const tni_scene_view at = {.model   = model,
                               .time    = adaptive->time,
                               .z       = adaptive->z,
                               .views   = adaptive->views,
                               .outside = outside};
    for (int i = 0; adaptive->keyed && i < model->body_count; ++i) // springs may lead to them
        if (model->bodies[i].kind == TN_BODY_KINEMATIC) view_still(adaptive, i);
    for (int i = 0; i < count; ++i) see(adaptive, &adaptive->pushed[i]);
    for (int i = 0; i < (int)(sizeof forces / sizeof *forces); ++i)
        forces[i]->add(&at, adaptive->f);
    for (int i = 0; i < count; ++i) take(adaptive, &adaptive->pushed[i]);
}
