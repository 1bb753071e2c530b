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

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        tni_view        scratch;
        if (has_weight(body))
            sum -= body->mass * tni_dot(at->model->gravity, tni_view_of(at, index, &scratch)->x);
    }
    return sum;
}

const tni_force tni_force_gravity = {.add_body = add_body, .energy = energy};
