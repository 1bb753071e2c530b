// external_force: forces on links from neither gravity nor joints: springs, targets, handles,
// loads, drag. They act as in all other methods (force.h), on views of the loaded bodies computed
// from their clusters; no other body is evaluated.
//
// All but loads are linearly implicit, as in the implicit method: along its rows such a force, at
// the end of h, is
//     f - (h K + D) J (u + h u')
// so its body gets the force J^T (f - (h K + D) J u) and the added inertia h J^T (h K + D) J. A
// spring between two links is explicit, because it would couple them across the tree. Choices, the
// divide-and-conquer solver, bounded mode and Runge-Kutta stages use the force without the added
// inertia.
#include "adaptive/adaptive.h"

typedef struct marking {
    const int* link_of; ///< by body; -1: none
    uint8_t*   loaded;  ///< by link
} marking;

static void mark(void* user, int body1, int body2)
{
    const marking* m = user;
    if (m->link_of[body1] >= 0) m->loaded[m->link_of[body1]] = 1;
    if (body2 >= 0 && m->link_of[body2] >= 0) m->loaded[m->link_of[body2]] = 1;
}

static void mark_all(const tni_adaptive* adaptive, uint8_t* loaded)
{
    const tn_model* model = adaptive->model;
    marking         m     = {adaptive->trees->of_body, loaded};
    tni_external_pushed(model, mark, &m);
    for (int i = 0; model->shape_count > 1 && i < model->shape_count;
         ++i) // contacts: link_contact.c
        mark(&m, model->shapes[i].body, -1);
}

// View of a static or kinematic body.
static void view_static(tni_adaptive* adaptive, int body)
{
    static const double none[1] = {0};
    adaptive->has_kinematic =
        adaptive->has_kinematic || adaptive->model->bodies[body].kind == TN_BODY_KINEMATIC;
    tni_view_body(adaptive->model, body, adaptive->time, none, NULL, &adaptive->views[body]);
}

tn_result tni_external_force_create(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_joint_trees* trees  = adaptive->trees;
    uint8_t*               loaded = TNI_TAKE(arena, uint8_t, trees->count);
    adaptive->views               = TNI_TAKE(arena, tni_view, adaptive->model->body_count);
    adaptive->f                   = TNI_TAKE(arena, double, adaptive->model->u_count);
    adaptive->force               = TNI_TAKE(arena, tni_spatial, trees->count);
    adaptive->loaded_of           = TNI_TAKE(arena, int, trees->count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < adaptive->model->body_count; ++i)
        if (trees->of_body[i] < 0) view_static(adaptive, i);
    mark_all(adaptive, loaded);
    int count = 0;
    for (int i = 0; i < trees->count; ++i) count += loaded[i];
    adaptive->loaded = TNI_TAKE(arena, tni_loaded_link, count + TN_HANDLES_MAX);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int t = 0; t < trees->tree_count; ++t) {
        adaptive->figures[t].first_loaded = adaptive->loaded_count;
        for (int i = trees->first[t]; i < trees->first[t + 1]; ++i) {
            adaptive->loaded_of[i] = loaded[i] ? adaptive->loaded_count : -1;
            if (loaded[i]) adaptive->loaded[adaptive->loaded_count++].link = i;
        }
        adaptive->figures[t].last_loaded = adaptive->loaded_count;
        const int room =
            adaptive->loaded_count - adaptive->figures[t].first_loaded + TN_HANDLES_MAX;
        adaptive->figures[t].now.resistances  = TNI_TAKE(arena, tni_resistance, room);
        adaptive->figures[t].next.resistances = TNI_TAKE(arena, tni_resistance, room);
    }
    if (arena->failed) return TN_ERR_MEMORY;
    return TN_OK;
}

// Grabbed links: a handle may hold any link, for a time.
static void find_grabbed(tni_adaptive* adaptive, const tni_inputs* inputs)
{
    adaptive->grabbed_count = 0;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const int link = adaptive->trees->of_body[inputs->handles[i].body];
        if (inputs->handles[i].body <= 0 || link < 0 || adaptive->loaded_of[link] >= 0) continue;
        const int tree            = adaptive->trees->links[link].tree;
        adaptive->loaded_of[link] = adaptive->loaded_count + adaptive->grabbed_count;
        tni_loaded_link* loaded =
            &adaptive->loaded[adaptive->loaded_count + adaptive->grabbed_count++];
        loaded->link  = link;
        loaded->place = tni_hybrid_locate(&adaptive->figures[tree].now, link, adaptive->touched,
                                          adaptive->frames);
    }
}

static void view_link(tni_adaptive* adaptive, tni_loaded_link* loaded)
{
    const tni_tree_link* link  = &adaptive->trees->links[loaded->link];
    const tni_body*      body  = &adaptive->model->bodies[link->body];
    const tni_cluster* cluster = &adaptive->figures[link->tree].now.clusters[loaded->place.cluster];
    const tni_transform world  = tni_transform_then(&cluster->world, &loaded->place.to_link);
    tni_view*           view   = &adaptive->views[link->body];
    tni_tree_link_view(adaptive->trees, loaded->link, &world,
                       tni_transform_motion(&loaded->place.to_link, cluster->v), view);
    memset(adaptive->f + body->u_start, 0, sizeof *adaptive->f * (size_t)body->dim);
    tni_write3(loaded->u, view->v);
    tni_write3(loaded->u + 3, view->w);
    if (body->kind == TN_BODY_PLANAR) loaded->u[2] = view->w.z;
    view->u          = loaded->u;
    loaded->resisted = false;
    loaded->I        = (tni_articulated_inertia){{0}, {0}, {0}};
}

// ---- Stiff forces ------------------------------------------------------------------------------

static tni_loaded_link* loaded_of(tni_adaptive* adaptive, int body)
{
    const int link = adaptive->trees->of_body[body];
    return link < 0 || adaptive->loaded_of[link] < 0 ? NULL
                                                     : &adaptive->loaded[adaptive->loaded_of[link]];
}

// One side of rows with R = h (h K + D): adds J^T R J, in the six freedoms of the body.
static void resist(const tni_body* body, int n, const double* J, const double* R,
                   tni_loaded_link* loaded)
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
        loaded->I.M[k] += M[6 * i + j];
        loaded->I.A[k] += M[6 * (3 + i) + 3 + j];
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) loaded->I.H[3 * i + j] += M[6 * (3 + i) + j];
    loaded->resisted = true;
}

static void add_soft(void* user, const tni_soft* soft)
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
    const bool pair = first == 0 && loaded_of(adaptive, soft->body[0]) != NULL &&
                      loaded_of(adaptive, soft->body[1]) != NULL;
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
        tni_loaded_link* loaded = loaded_of(adaptive, soft->body[side]);
        if (loaded == NULL) continue;
        double* f = adaptive->f + body->u_start;
        for (int k = 0; k < n; ++k)
            for (int i = 0; i < body->dim; ++i) f[i] += soft->J[side][k * body->dim + i] * push[k];
        if (!pair) resist(body, n, soft->J[side], R, loaded);
    }
}

// ---- All forces --------------------------------------------------------------------------------

// From a force in the world, about the centre of mass, to one in the link's frame.
static void set_link_force(tni_adaptive* adaptive, tni_loaded_link* loaded)
{
    const tni_tree_link* link     = &adaptive->trees->links[loaded->link];
    const tni_body*      body     = &adaptive->model->bodies[link->body];
    const double*        f        = adaptive->f + body->u_start;
    const tni_mat3*      R        = &adaptive->views[link->body].R;
    const bool           flat     = body->kind == TN_BODY_PLANAR;
    const tn_vec3        force    = flat ? tni_vec3(f[0], f[1], 0) : tni_read3(f);
    const tn_vec3        torque   = flat ? tni_vec3(0, 0, f[2]) : tni_read3(f + 3);
    const tn_vec3        v        = tni_rotate(link->attitude, tni_mul_t(R, force));
    const tn_vec3        w        = tni_rotate(link->attitude, tni_mul_t(R, torque));
    adaptive->force[loaded->link] = (tni_spatial){tni_add(w, tni_cross(link->com, v)), v};
    loaded->loaded                = false;
    for (int k = 0; k < body->dim; ++k) loaded->loaded = loaded->loaded || f[k] != 0;
}

void tni_external_force_apply(tni_adaptive* adaptive, const tni_inputs* inputs)
{
    const tn_model* model = adaptive->model;
    for (int i = 0; i < adaptive->grabbed_count; ++i) {
        const int link            = adaptive->loaded[adaptive->loaded_count + i].link;
        adaptive->force[link]     = tni_spatial_zero();
        adaptive->loaded_of[link] = -1;
    }
    find_grabbed(adaptive, inputs);
    const int count = adaptive->loaded_count + adaptive->grabbed_count;
    if (count == 0) return;
    const tni_scene_view at = {.model  = model,
                               .time   = adaptive->time,
                               .z      = adaptive->z,
                               .views  = adaptive->views,
                               .inputs = inputs};
    for (int i = 0; adaptive->has_kinematic && i < model->body_count;
         ++i) // springs may be attached to them
        if (model->bodies[i].kind == TN_BODY_KINEMATIC) view_static(adaptive, i);
    for (int i = 0; i < count; ++i) view_link(adaptive, &adaptive->loaded[i]);
    const tni_prediction ahead = {.h = adaptive->h, .time = adaptive->time + adaptive->h};
    if (adaptive->pass != NULL || adaptive->settings.bounded || adaptive->rk4)
        tni_external_forces(&at, true, adaptive->f);
    else tni_soften_external(&at, &ahead, add_soft, adaptive);
    tni_external_forces(&at, false, adaptive->f);
    for (int i = 0; i < count; ++i) set_link_force(adaptive, &adaptive->loaded[i]);
}
