// external_force: forces on limbs that come from neither gravity nor joints: springs, targets, handles, loads, drag. They
// act as in all other methods (force.h), on bodies that are seen where their clusters are; no other body is looked at.
//
// All but loads are linearly implicit, as in the implicit method: along its rows such a force is, at the end of h,
//     f - (h K + D) J (u + h u')
// so its body is pushed by J^T (f - (h K + D) J u) and resists u' with the inertia h J^T (h K + D) J. A spring between
// two limbs is explicit: it would tie them together across the tree. Choices, the tree solver, the bounded mode and
// Runge and Kutta's stages see the push alone.
#include "adaptive/adaptive.h"

static const tni_force* const stiff[] = {&tni_force_spring, &tni_force_target, &tni_force_handle,
                                         &tni_force_drag};
enum { STIFF_COUNT = sizeof stiff / sizeof *stiff };

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
    for (int i = 0; model->shape_count > 1 && i < model->shape_count;
         ++i) // contacts: link_contact.c
        mark(adaptive, pushed, model->shapes[i].body);
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
    const tni_joint_trees* limbs  = adaptive->limbs;
    uint8_t*               pushed = TNI_TAKE(arena, uint8_t, limbs->count);
    adaptive->views               = TNI_TAKE(arena, tni_view, adaptive->model->body_count);
    adaptive->f                   = TNI_TAKE(arena, double, adaptive->model->u_count);
    adaptive->force               = TNI_TAKE(arena, tni_six, limbs->count);
    adaptive->pushed_of           = TNI_TAKE(arena, int, limbs->count);
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
        for (int i = limbs->first[t]; i < limbs->first[t + 1]; ++i) {
            adaptive->pushed_of[i] = pushed[i] ? adaptive->pushed_count : -1;
            if (pushed[i]) adaptive->pushed[adaptive->pushed_count++].limb = i;
        }
        adaptive->figures[t].last_pushed = adaptive->pushed_count;
        const int room =
            adaptive->pushed_count - adaptive->figures[t].first_pushed + TN_HANDLES_MAX;
        adaptive->figures[t].now.resistances  = TNI_TAKE(arena, tni_resistance, room);
        adaptive->figures[t].next.resistances = TNI_TAKE(arena, tni_resistance, room);
    }
    if (arena->failed) return TN_ERR_MEMORY;
    return TN_OK;
}

// Hands may take hold of any limb, for a time.
static void find_held(tni_adaptive* adaptive, const tni_inputs* inputs)
{
    adaptive->held_count = 0;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const int limb = adaptive->limbs->of_body[inputs->handles[i].body];
        if (inputs->handles[i].body <= 0 || limb < 0 || adaptive->pushed_of[limb] >= 0) continue;
        const int tree            = adaptive->limbs->limbs[limb].tree;
        adaptive->pushed_of[limb] = adaptive->pushed_count + adaptive->held_count;
        tni_pushed_limb* pushed =
            &adaptive->pushed[adaptive->pushed_count + adaptive->held_count++];
        pushed->limb = limb;
        pushed->seat = tni_hybrid_seat(&adaptive->figures[tree].now, limb, adaptive->touched,
                                       adaptive->frames);
    }
}

static void see(tni_adaptive* adaptive, tni_pushed_limb* pushed)
{
    const tni_tree_link* limb  = &adaptive->limbs->limbs[pushed->limb];
    const tni_body*      body  = &adaptive->model->bodies[limb->body];
    const tni_cluster* cluster = &adaptive->figures[limb->tree].now.clusters[pushed->seat.cluster];
    const tni_shift    world   = tni_shift_then(&cluster->world, &pushed->seat.way);
    tni_view*          view    = &adaptive->views[limb->body];
    tni_tree_link_view(adaptive->limbs, pushed->limb, &world,
                       tni_shift_motion(&pushed->seat.way, cluster->v), view);
    memset(adaptive->f + body->u_start, 0, sizeof *adaptive->f * (size_t)body->dim);
    tni_write3(pushed->u, view->v);
    tni_write3(pushed->u + 3, view->w);
    if (body->kind == TN_BODY_PLANAR) pushed->u[2] = view->w.z;
    view->u          = pushed->u;
    pushed->resisted = false;
    pushed->I        = (tni_articulated){{0}, {0}, {0}};
}

// ---- Stiff forces --------------------------------------------------------------------------------

static tni_pushed_limb* pushed_of(tni_adaptive* adaptive, int body)
{
    const int limb = adaptive->limbs->of_body[body];
    return limb < 0 || adaptive->pushed_of[limb] < 0 ? NULL
                                                     : &adaptive->pushed[adaptive->pushed_of[limb]];
}

// One side of rows that resist with R = h (h K + D): I += J^T R J, in the six freedoms of the body.
static void resist(const tni_body* body, int n, const double* J, const double* R,
                   tni_pushed_limb* pushed)
{
    static const int planar[3] = {0, 1, 5}, rigid[6] = {0, 1, 2, 3, 4, 5};
    static const int symmetric[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    const int*       at              = body->kind == TN_BODY_PLANAR ? planar : rigid;
    double           M[36]           = {0};
    for (int k = 0; k < n; ++k)
        for (int j = 0; j < body->dim; ++j) {
            double RJ = 0;
            for (int l = 0; l < n; ++l) RJ += R[k * n + l] * J[l * body->dim + j];
            for (int i = 0; i < body->dim; ++i) M[6 * at[i] + at[j]] += J[k * body->dim + i] * RJ;
        }
    for (int k = 0; k < 6; ++k) {
        const int i = symmetric[k][0], j = symmetric[k][1];
        pushed->I.M[k] += M[6 * i + j];
        pushed->I.A[k] += M[6 * (3 + i) + 3 + j];
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) pushed->I.H[3 * i + j] += M[6 * (3 + i) + j];
    pushed->resisted = true;
}

static void take_soft(void* user, const tni_soft* soft)
{
    tni_adaptive* adaptive = user;
    const int     n = soft->row_count, first = soft->kind == TNI_SOFT_BODY;
    const double  h                       = adaptive->h;
    double        rate[TNI_SOFT_ROWS_MAX] = {0}, push[TNI_SOFT_ROWS_MAX],
           R[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX];
    for (int side = first; side < 2; ++side) {
        const tni_body* body = &adaptive->model->bodies[soft->body[side]];
        const double*   u    = adaptive->views[soft->body[side]].u;
        for (int k = 0; k < n; ++k)
            for (int i = 0; i < body->dim; ++i) rate[k] += soft->J[side][k * body->dim + i] * u[i];
    }
    const bool pair = first == 0 && pushed_of(adaptive, soft->body[0]) != NULL &&
                      pushed_of(adaptive, soft->body[1]) != NULL;
    const double ahead = pair ? 0 : h;
    for (int k = 0; k < n; ++k) {
        push[k] = soft->f[k];
        for (int l = 0; l < n; ++l) {
            const double c = ahead * soft->K[k * n + l] + soft->D[k * n + l];
            R[k * n + l]   = h * c;
            push[k] -= c * rate[l];
        }
    }
    for (int side = first; side < 2; ++side) {
        const tni_body*  body   = &adaptive->model->bodies[soft->body[side]];
        tni_pushed_limb* pushed = pushed_of(adaptive, soft->body[side]);
        if (pushed == NULL) continue;
        double* f = adaptive->f + body->u_start;
        for (int k = 0; k < n; ++k)
            for (int i = 0; i < body->dim; ++i) f[i] += soft->J[side][k * body->dim + i] * push[k];
        if (!pair) resist(body, n, soft->J[side], R, pushed);
    }
}

// ---- All of them ---------------------------------------------------------------------------------

// From a force in the world, about the centre of mass, to the limb's frame.
static void take(tni_adaptive* adaptive, tni_pushed_limb* pushed)
{
    const tni_tree_link* limb     = &adaptive->limbs->limbs[pushed->limb];
    const tni_body*      body     = &adaptive->model->bodies[limb->body];
    const double*        f        = adaptive->f + body->u_start;
    const tni_mat3*      R        = &adaptive->views[limb->body].R;
    const bool           flat     = body->kind == TN_BODY_PLANAR;
    const tn_vec3        force    = flat ? tni_vec3(f[0], f[1], 0) : tni_read3(f);
    const tn_vec3        torque   = flat ? tni_vec3(0, 0, f[2]) : tni_read3(f + 3);
    const tn_vec3        v        = tni_rotate(limb->attitude, tni_mul_t(R, force));
    const tn_vec3        w        = tni_rotate(limb->attitude, tni_mul_t(R, torque));
    adaptive->force[pushed->limb] = (tni_six){tni_add(w, tni_cross(limb->com, v)), v};
    pushed->pushed                = false;
    for (int k = 0; k < body->dim; ++k) pushed->pushed = pushed->pushed || f[k] != 0;
}

void tni_outside_push(tni_adaptive* adaptive, const tni_inputs* inputs)
{
    const tn_model* model = adaptive->model;
    for (int i = 0; i < adaptive->held_count; ++i) {
        const int limb            = adaptive->pushed[adaptive->pushed_count + i].limb;
        adaptive->force[limb]     = tni_six_zero();
        adaptive->pushed_of[limb] = -1;
    }
    find_held(adaptive, inputs);
    const int count = adaptive->pushed_count + adaptive->held_count;
    if (count == 0) return;
    const tni_scene_view at = {.model  = model,
                               .time   = adaptive->time,
                               .z      = adaptive->z,
                               .views  = adaptive->views,
                               .inputs = inputs};
    for (int i = 0; adaptive->keyed && i < model->body_count; ++i) // springs may lead to them
        if (model->bodies[i].kind == TN_BODY_KINEMATIC) view_still(adaptive, i);
    for (int i = 0; i < count; ++i) see(adaptive, &adaptive->pushed[i]);
    const tni_prediction ahead = {.h = adaptive->h, .time = adaptive->time + adaptive->h};
    if (adaptive->pass != NULL || adaptive->settings.bounded || adaptive->runge) {
        for (int i = 0; i < STIFF_COUNT; ++i) stiff[i]->add(&at, adaptive->f);
    } else {
        for (int i = 0; i < STIFF_COUNT; ++i) stiff[i]->soften(&at, &ahead, take_soft, adaptive);
    }
    tni_force_load.add(&at, adaptive->f);
    for (int i = 0; i < count; ++i) take(adaptive, &adaptive->pushed[i]);
}
