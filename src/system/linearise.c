// linearise: masses, momenta, geometric stiffness and rows of an implicit step (implicit_system.h),
// in common to the forms rows, blocks and exact. They differ in what they put between bodies.
#include "system/linearise.h"

#include "force/soft.h"
#include "system/geometric_stiffness.h"

tni_linear tni_linear_begin(tni_system* system, tni_implicit_contacts* contacts,
                            const tni_step_start* start, const tni_step_scheme* scheme,
                            tni_mat3* K_g)
{
    const tn_model*         model = system->model;
    const tni_configuration at    = start->at;
    tni_views(model, at.time, at.q, at.u, system->views);
    if (start->multipliers != NULL)
        tni_geometric_stiffness(model, system->views, at.time, at.z, start->multipliers, K_g);
    return (tni_linear){.model     = model,
                        .system    = system,
                        .contacts  = contacts,
                        .start     = start,
                        .scheme    = scheme,
                        .reach     = scheme->share * scheme->h,
                        .K_g       = K_g,
                        .scene     = {.model  = model,
                                      .time   = at.time,
                                      .z      = at.z,
                                      .views  = system->views,
                                      .flying = true,
                                      .inputs = system->inputs},
                        .predicted = {scheme->h, scheme->time, start->predicted}};
}

static void add_geometric(const tni_linear* l, int index, double* A, double* b)
{
    const tni_body* body  = &l->model->bodies[index];
    const tni_mat3* K     = &l->K_g[index];
    const double *  drift = l->scheme->drift, e = l->reach, h = l->scheme->h;
    if (body->kind == TN_BODY_PLANAR) {
        A[8] += e * e * K->m[8];
        if (drift != NULL) b[2] -= e * h * K->m[8] * drift[body->u_start + 2];
    }
    if (body->kind != TN_BODY_RIGID) return;
    for (int k = 0; k < 9; ++k) A[6 * (3 + k / 3) + 3 + k % 3] += e * e * K->m[k];
    if (drift == NULL) return;
    const tn_vec3 turned = tni_scale(h, tni_read3(drift + body->u_start + 3));
    tni_accumulate(b + 3, tni_scale(-e, tni_mul(K, turned)));
}

void tni_linear_body(const tni_linear* l, int index, double* A, double* b)
{
    const tni_body* body = &l->model->bodies[index];
    const tni_view* view = &l->system->views[index];
    double          Mu[TNI_DIM_MAX];
    const double*   p = Mu;
    tni_mass_block(body, view, A);
    if (l->start->momentum != NULL) p = l->start->momentum + body->u_start;
    else tni_mass_times(body, view, l->start->at.u + body->u_start, Mu);
    for (int k = 0; k < body->dim; ++k) b[k] = p[k] + l->reach * b[k];
    if (l->start->multipliers != NULL) add_geometric(l, index, A, b);
}

void tni_linear_rows(const tni_linear* l, int constraint, double** J, bool written, double* r)
{
    const tn_model*       model  = l->model;
    const tni_system*     system = l->system;
    const tni_constraint* of     = &model->constraints[constraint];
    const double *        u = l->start->at.u, *drift = l->scheme->drift;
    double *              C = system->C + of->row_start, *rate = system->rate + of->row_start,
           *gamma          = system->gamma + of->row_start;
    const tni_rows_out out = {C, rate, gamma, J, NULL};
    if (!written)
        tni_constraint_rows(model, of, system->views, l->scheme->time, l->start->at.z, &out);
    for (int k = 0; k < of->row_count; ++k) {
        double own = 0, drifting = 0;
        for (int e = 0; e < of->edge_count; ++e) {
            const tni_body* body = &model->bodies[model->edge_body[of->edge_start + e]];
            const double*   row  = J[e] + k * body->dim;
            own += tni_row_dot(row, u + body->u_start, body->dim);
            if (drift != NULL) drifting += tni_row_dot(row, drift + body->u_start, body->dim);
        }
        r[k] = tni_row_target(l->start, l->scheme, k < of->held_count, C[k], rate[k] - own,
                              drifting, gamma[k]);
    }
}

void tni_linear_distance(const tni_linear* l, const tni_joint* joint, double lambda, tni_soft* soft)
{
    const tni_body* bodies = l->model->bodies;
    const tni_sides sides  = tni_sides_of(joint, l->system->views);
    const tni_mat3  K      = tni_geometric_stiffness_between(l->model, joint, sides, lambda);
    tni_soft_clear(soft, 3);
    soft->kind    = TNI_SOFT_SPRING;
    soft->index   = -1;
    soft->body[0] = joint->body1;
    soft->body[1] = joint->body2;
    memcpy(soft->K, K.m, sizeof K.m);
    if (bodies[joint->body1].node >= 0)
        tni_soft_point(&bodies[joint->body1], sides.view1, joint->p1, -1, soft->J[0]);
    if (bodies[joint->body2].node >= 0)
        tni_soft_point(&bodies[joint->body2], sides.view2, joint->p2, 1, soft->J[1]);
}

bool tni_linear_soft(const tni_linear* l, const tni_soft* soft, double* W, double* g, double* b)
{
    tni_soft_impulse(l->model, soft, l->scheme, W, g);
    if (soft->kind != TNI_SOFT_CONTACT) return true;
    (void)tni_woodbury_add(&l->contacts->woodbury, soft, W, g, b); // it notes when it is full
    return false;
}

tn_result tni_linear_contacts(const tni_linear* l, tni_take_soft* take, void* user, tn_why* why)
{
    if (tni_implicit_contacts_soften(l->contacts, &l->scene, &l->predicted,
                                     l->start->keep_active_set, take, user))
        return TN_OK;
    return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
}
