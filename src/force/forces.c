#include "force/force.h"

#define ENTRY(name) &tni_force_##name,
static const tni_force* const forces[] = {TNI_FORCE_LIST(ENTRY)};
#undef ENTRY
enum { FORCE_COUNT = sizeof forces / sizeof forces[0] };

double tni_sum_bodies(const tni_scene_view* at,
                      double (*one)(const tni_scene_view* at, const tni_body* body,
                                    const tni_view* view))
{
    double sum = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        tni_view  scratch;
        const int body = at->model->free_bodies[i];
        sum += one(at, &at->model->bodies[body], tni_view_of(at, body, &scratch));
    }
    return sum;
}

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
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (forces[i]->damps != NULL && forces[i]->damps(model)) return true;
    return false;
}

static bool is_external(const tni_force* force, bool stiff)
{
    return force->place == TNI_FORCE_EXTERNAL && (force->soften != NULL) == stiff;
}

void tni_external_forces(const tni_scene_view* at, bool stiff, double* f)
{
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (is_external(forces[i], stiff)) forces[i]->add(at, f);
}

void tni_soften_external(const tni_scene_view* at, const tni_prediction* ahead, tni_take_soft* take,
                         void* user)
{
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (is_external(forces[i], true)) forces[i]->soften(at, ahead, take, user);
}

void tni_external_pushed(const tn_model* model, tni_take_pushed* take, void* user)
{
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (forces[i]->pushed != NULL) forces[i]->pushed(model, take, user);
}

static void count_one(void* user, int body1, int body2)
{
    (void)body1, (void)body2;
    ++*(int*)user;
}

int tni_external_count(const tn_model* model, bool stiff)
{
    int count = 0;
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (is_external(forces[i], stiff) && forces[i]->pushed != NULL)
            forces[i]->pushed(model, count_one, &count);
    return count;
}

void tni_nonstiff_forces(const tni_scene_view* at, double* f)
{
    memset(f, 0, sizeof *f * (size_t)at->model->u_count);
    for (int i = 0; i < FORCE_COUNT; ++i)
        if (forces[i]->soften == NULL && forces[i]->place != TNI_FORCE_MOTION)
            tni_force_add(forces[i], at, f);
}

double tni_elastic_energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < FORCE_COUNT; ++i) {
        if (forces[i] != &tni_force_gravity && forces[i]->energy != NULL)
            sum += forces[i]->energy(at);
    }
    return sum;
}

tn_energy tni_energy(const tni_scene_view* at)
{
    tn_energy energy = {.gravity = tni_force_gravity.energy(at), .elastic = tni_elastic_energy(at)};
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
