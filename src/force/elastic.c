// elastic: the energy inside bodies that deform. Affine bodies are St. Venant-Kirchhoff: with the
// Green strain G = (A^T A - I)/2 and Lame's constants times the volume,
//     W = mu tr(G^2) + lambda/2 tr(G)^2,     dW/dA = A (2 mu G + lambda tr(G) I)
// so a rigid motion costs nothing. User-defined bodies answer for themselves.
#include "force/force.h"

static tni_mat3 green_strain(const tni_mat3* A)
{
    const tni_mat3 At = tni_transposed(A);
    tni_mat3       G  = tni_mat_mul(&At, A);
    for (int i = 0; i < 9; ++i) G.m[i] = 0.5 * (G.m[i] - (i % 4 == 0 ? 1 : 0));
    return G;
}

static double trace(const tni_mat3* G)
{
    return G->m[0] + G->m[4] + G->m[8];
}

static void add_body(const tni_scene_view* at, int index, double* f)
{
    const tni_body* body  = &at->model->bodies[index];
    const tni_view* view  = &at->views[index];
    double*         force = f + body->u_start;
    if (body->kind == TN_BODY_USER && body->table->force != NULL) {
        double own[64] = {0};
        body->table->force(body->data, view->q, view->u, own);
        for (int k = 0; k < body->dim; ++k) force[k] += own[k];
    }
    if (body->kind != TN_BODY_AFFINE) return;
    tni_mat3     G        = green_strain(&view->R);
    const double pressure = body->lame_lambda * trace(&G);
    for (int k = 0; k < 9; ++k) {
        G.m[k] = 2 * body->lame_mu * G.m[k] + (k % 4 == 0 ? pressure : 0);
    }
    const tni_mat3 P = tni_mat_mul(&view->R, &G);
    for (int k = 0; k < 3; ++k) tni_accumulate(force + 3 + 3 * k, tni_neg(tni_column(&P, k)));
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        tni_view        scratch;
        if (body->kind == TN_BODY_USER && body->table->energy != NULL) {
            sum += body->table->energy(body->data, tni_look(at, index, &scratch)->q);
        }
        if (body->kind != TN_BODY_AFFINE) continue;
        const tni_mat3 G      = green_strain(&tni_look(at, index, &scratch)->R);
        double         square = 0;
        for (int k = 0; k < 9; ++k) square += G.m[k] * G.m[k];
        sum += body->lame_mu * square + 0.5 * body->lame_lambda * trace(&G) * trace(&G);
    }
    return sum;
}

const tni_force tni_force_elastic = {.add_body = add_body, .energy = energy};
