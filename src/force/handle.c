// handle: a spring from a point of a body to one that the user moves; between two moves it moves on
// with its velocity.
//     force = -k (p - p_h) - d (pdot - pdot_h)
// Softened like targets: K = k, D = d along the world axes, with the far end at the step's end.
#include "force/derive.h"
#include "force/soft.h"

static const tni_handle* handle_of(const tni_scene_view* at, int i)
{
    const tni_handle* handle = at->inputs != NULL ? &at->inputs->handles[i] : NULL;
    return handle != NULL && handle->body > 0 ? handle : NULL;
}

// From the far end at a time to the point, and its rate.
static tni_motion offset_of(const tni_scene_view* at, const tni_handle* handle, double time)
{
    tni_view   scratch;
    tni_motion p = tni_point_motion(&at->model->bodies[handle->body],
                                    tni_view_of(at, handle->body, &scratch), handle->p);
    p.at   = tni_sub(p.at, tni_add_scaled(handle->position, time - handle->time, handle->velocity));
    p.rate = tni_sub(p.rate, handle->velocity);
    return p;
}

static tn_vec3 force_of(const tni_handle* h, const tni_motion* o)
{
    return tni_add_scaled(tni_scale(-h->stiffness, o->at), -h->damping, o->rate);
}

static void add(const tni_scene_view* at, double* f)
{
    const tn_vec3 none = {0, 0, 0};
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const tni_handle* h = handle_of(at, i);
        if (h == NULL) continue;
        const tni_motion o = offset_of(at, h, at->time);
        tni_apply_wrench(&at->model->bodies[h->body], &at->views[h->body], h->p, force_of(h, &o),
                         none, f);
    }
}

bool tn_state_handle(const tn_state* state, int handle, tn_handle* what)
{
    const tni_scene_view at = tni_state_scene(state);
    const tni_handle*    h = handle < 0 || handle >= TN_HANDLES_MAX ? NULL : handle_of(&at, handle);
    if (h == NULL) return false;
    const tni_motion o = offset_of(&at, h, at.time);
    what->body.bits    = (uint32_t)h->body;
    what->target       = tni_add_scaled(h->position, at.time - h->time, h->velocity);
    what->point        = tni_add(what->target, o.at);
    what->force        = force_of(h, &o);
    return true;
}

tn_vec3 tn_state_handle_force(const tn_state* state, int handle)
{
    tn_handle what = {.force = {0, 0, 0}};
    tn_state_handle(state, handle, &what);
    return what.force;
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const tni_handle* h = handle_of(at, i);
        if (h == NULL) continue;
        const tn_vec3 d = offset_of(at, h, at->time).at;
        sum += 0.5 * h->stiffness * tni_dot(d, d);
    }
    return sum;
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    tni_soft soft;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const tni_handle* h = handle_of(at, i);
        if (h == NULL) continue;
        soft.index         = i;
        const tni_motion o = offset_of(at, h, predicted->time);
        tni_soft_point_spring(
            at, h->body, h->p,
            tni_add_scaled(tni_scale(-h->stiffness, o.at), h->damping, h->velocity), h->stiffness,
            h->damping, false, &soft);
        tni_write3(soft.known, tni_scale(at->time - predicted->time, h->velocity));
        take(user, &soft);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const tni_handle* h = handle_of(at, i);
        if (h == NULL) continue;
        const tni_motion o     = offset_of(at, h, at->time);
        const tn_vec3    force = force_of(h, &o);
        const double     k = h->stiffness, c = h->damping;
        const double     K[9] = {k, 0, 0, 0, k, 0, 0, 0, k}, D[9] = {c, 0, 0, 0, c, 0, 0, 0, c};
        tni_derivation   d;
        tni_derivation_begin(&d, at, 0, h->body);
        for (int j = 0; j < 3; ++j) {
            const tni_derived_row row = tni_derived_point(h->p, j);
            tni_derivation_add(&d, &row, tni_at(force, j));
        }
        tni_derivation_end(&d, K, D, take, user);
    }
}

const tni_force tni_force_handle = {
    .place = TNI_FORCE_EXTERNAL, .add = add, .energy = energy, .soften = soften, .derive = derive};
