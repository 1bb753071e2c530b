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

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        tni_view        scratch;
        if (body->kind == TN_BODY_USER && body->table->energy != NULL)
            sum += body->table->energy(body->data, tni_view_of(at, index, &scratch)->q);
    }
    return sum;
}

const tni_force tni_force_user = {.add_body = add_body, .energy = energy};
