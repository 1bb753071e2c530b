// inertial: -w x (I w), the torque that a turning body feels from its own turning. The other kinds have
// constant mass in their own velocities and feel none.
#include "force/force.h"

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        if (body->kind != TN_BODY_RIGID) continue;
        const tni_view* view = &at->views[index];
        const tn_vec3   w    = tni_mul_t(&view->R, view->w); // in body axes
        const tn_vec3   t    = tni_cross(tni_mul(&body->inertia, w), w);
        tni_accumulate(f + body->u_start + 3, tni_mul(&view->R, t));
    }
}

const tni_force tni_force_inertial = {add, NULL};
