// user: forces of user-defined bodies, from their tables.
#include "force/force.h"

static void add_body(const tni_scene_view* at, int index, double* f)
{
    const tni_body* body = &at->model->bodies[index];
    const tni_view* view = &at->views[index];
    if (body->kind != TN_BODY_USER || body->table->force == NULL) return;
    double own[TNI_DIM_MAX] = {0};
    body->table->force(body->data, view->q, view->u, own);
    for (int k = 0; k < body->dim; ++k) f[body->u_start + k] += own[k];
}

static double energy_of(const tni_scene_view* at, const tni_body* body, const tni_view* view)
{
    (void)at;
    const bool known = body->kind == TN_BODY_USER && body->table->energy != NULL;
    return known ? body->table->energy(body->data, view->q) : 0;
}

static double energy(const tni_scene_view* at)
{
    return tni_sum_bodies(at, energy_of);
}

static bool damps(const tn_model* model)
{
    for (int i = 0; i < model->free_count; ++i)
        if (model->bodies[model->free_bodies[i]].kind == TN_BODY_USER) return true;
    return false;
}

const tni_force tni_force_user = {.add_body = add_body, .energy = energy, .damps = damps};
