#include "force/force.h"

static const tni_force* const forces[] = {
    &tni_force_gravity, &tni_force_inertial, &tni_force_actuation, &tni_force_spring,
    &tni_force_target,  &tni_force_handle,   &tni_force_load,      &tni_force_drag,
    &tni_force_elastic, &tni_force_user,
};
enum { FORCE_COUNT = sizeof forces / sizeof forces[0] };

void tni_force_add(const tni_force* force, const tni_scene_view* at, double* f)
{
    for (int i = 0; force->add_body != NULL && i < at->model->free_count; ++i) {
        force->add_body(at, at->model->free_bodies[i], f);
    }
    if (force->add != NULL) force->add(at, f);
}

void tni_body_forces(const tni_scene_view* at, int body, double* f)
{
    const tni_body* b = &at->model->bodies[body];
    memset(f + b->u_start, 0, sizeof *f * (size_t)b->dim);
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i]->add_body != NULL) forces[i]->add_body(at, body, f);
    }
}

void tni_other_forces(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i]->add != NULL) forces[i]->add(at, f);
    }
}

void tni_forces(const tni_scene_view* at, double* f)
{
    memset(f, 0, sizeof *f * (size_t)at->model->u_count);
    for (int i = 0; i < FORCE_COUNT; ++i) tni_force_add(forces[i], at, f);
}

void tni_soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                void* user)
{
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i]->soften != NULL) forces[i]->soften(at, predicted, take, user);
    }
}

void tni_derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i]->derive != NULL) forces[i]->derive(at, take, user);
    }
}

bool tni_forces_have_damping(const tn_model* model)
{
    bool damp = model->drag_count > 0;
    for (int i = 0; i < model->actuation_count; ++i)
        damp = damp || model->actuations[i].damping > 0 || model->actuations[i].friction > 0 ||
               model->actuations[i].limit.damping > 0;
    for (int i = 0; i < model->spring_count; ++i) damp = damp || model->springs[i].damping > 0;
    for (int i = 0; i < model->target_count; ++i)
        damp = damp || model->targets[i].damping > 0 || model->targets[i].angular_damping > 0;
    for (int i = 0; i < model->free_count; ++i)
        damp = damp || model->bodies[model->free_bodies[i]].kind == TN_BODY_USER;
    return damp;
}

tn_energy tni_energy(const tni_scene_view* at)
{
    tn_energy energy = {.gravity = tni_force_gravity.energy(at)};
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i] != &tni_force_gravity && forces[i]->energy != NULL)
            energy.elastic += forces[i]->energy(at);
    }
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        tni_view        scratch;
        const tni_view* view = tni_view_of(at, index, &scratch);
        double          Mu[64];
        tni_mass_times(body, view, view->u, Mu);
        for (int k = 0; k < body->dim; ++k) energy.kinetic += 0.5 * view->u[k] * Mu[k];
    }
    return energy;
}

tn_energy tn_state_energy(const tn_state* state)
{
    const tni_scene_view at = tni_state_scene(state);
    return tni_energy(&at);
}
