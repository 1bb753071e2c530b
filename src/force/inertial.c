// inertial: -w x (I w), the torque that a turning body feels from its own turning. The other kinds
// have constant mass in their own velocities and feel none.
#include "force/force.h"

static void add_body(const tni_scene_view* at, int index, double* f)
{
    const tni_body* body = &at->model->bodies[index];
    if (body->kind != TN_BODY_RIGID || at->flying) return;
    const tni_view* view = &at->views[index];
    const tn_vec3   w    = tni_mul_t(&view->R, view->w); // in body axes
    const tn_vec3   t    = tni_cross(tni_mul(&body->inertia, w), w);
    tni_accumulate(f + body->u_start + 3, tni_mul(&view->R, t));
}

const tni_force tni_force_inertial = {.add_body = add_body};
