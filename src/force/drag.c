// drag: -(linear + quadratic |v|) v at a point, -angular w on the turning.
#include "force/force.h"

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->drag_count; ++i) {
        const tni_drag* drag = &at->model->drags[i];
        const tni_body* body = &at->model->bodies[drag->body];
        const tni_view* view = &at->views[drag->body];
        const tn_vec3   v    = tni_point_motion(body, view, drag->p).rate;
        const double    c    = drag->linear + drag->quadratic * tni_norm(v);
        tni_apply_wrench(body, view, drag->p, tni_scale(-c, v), tni_scale(-drag->angular, view->w),
                         f);
    }
}

const tni_force tni_force_drag = {.add = add};
