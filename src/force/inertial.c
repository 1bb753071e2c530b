// inertial: -w x (I w), the gyroscopic torque of a rotating body. The other kinds of bodies have
// constant mass in their own velocities and no such torque. With L = I w:
//     -dT/dw = [w]x I - [L]x,     -dT/dtheta = [w]x (I [w]x - [L]x)
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

static tni_mat3 cross_of(tn_vec3 a)
{
    return (tni_mat3){{0, -a.z, a.y, a.z, 0, -a.x, -a.y, a.x, 0}};
}

static tni_mat3 less(tni_mat3 A, const tni_mat3* B)
{
    for (int k = 0; k < 9; ++k) A.m[k] -= B->m[k];
    return A;
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; !at->flying && i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        const tni_view* view  = &at->views[index];
        double          K[36] = {0}, D[36] = {0};
        if (body->kind != TN_BODY_RIGID) continue;
        const tni_mat3 I = tni_rotate_symmetric(&view->R, &body->inertia), w = cross_of(view->w),
                       L  = cross_of(tni_mul(&I, view->w));
        const tni_mat3 wI = tni_mat_mul(&w, &I), Iw = tni_mat_mul(&I, &w), Iw_L = less(Iw, &L);
        const tni_mat3 by_w = less(wI, &L), by_theta = tni_mat_mul(&w, &Iw_L);
        for (int k = 0; k < 9; ++k) {
            K[(3 + k / 3) * 6 + 3 + k % 3] = by_theta.m[k];
            D[(3 + k / 3) * 6 + 3 + k % 3] = by_w.m[k];
        }
        take(user, index, index, K, D);
    }
}

const tni_force tni_force_inertial = {.add_body = add_body, .derive = derive};
