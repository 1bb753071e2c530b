#include "force/force.h"

static bool has_weight(const tni_body* body)
{
    return body->kind != TN_BODY_USER; // their tables add it
}

static void add_body(const tni_scene_view* at, int index, double* f)
{
    const tn_vec3   g    = at->model->gravity;
    const tni_body* body = &at->model->bodies[index];
    if (!has_weight(body)) return;
    double* force = f + body->u_start;
    force[0] += body->mass * g.x;
    force[1] += body->mass * g.y;
    if (body->kind != TN_BODY_PLANAR) force[2] += body->mass * g.z;
}

static double energy_of(const tni_scene_view* at, const tni_body* body, const tni_view* view)
{
    return has_weight(body) ? -(body->mass * tni_dot(at->model->gravity, view->x)) : 0;
}

static double energy(const tni_scene_view* at)
{
    return tni_sum_bodies(at, energy_of);
}

const tni_force tni_force_gravity = {.add_body = add_body, .energy = energy};
