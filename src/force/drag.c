// drag: force -(linear + quadratic |v|) v at a point, v its velocity relative to the air, and
// torque -angular w.
//
// Softened, along the world axes of the point and of the rotation: K = 0 and D = P, the derivative
// of the force at the predicted velocity, which is positive semidefinite:
//     P = (linear + quadratic |v|) 1 + quadratic v v^T/|v|
#include "force/derive.h"
#include "force/soft.h"

static tn_vec3 wind_at(const tni_drag* drag, double time)
{
    return drag->wind_count > 0 ? tni_vector_at(drag->wind, drag->wind_count, time)
                                : tni_vec3(0, 0, 0);
}

static tn_vec3 air_speed(const tni_scene_view* at, const tni_drag* drag)
{
    const tni_body* body = &at->model->bodies[drag->body];
    const tni_view* view = &at->views[drag->body];
    return tni_sub(tni_point_motion(body, view, drag->p).rate, wind_at(drag, at->time));
}

static tn_vec3 force_at(const tni_drag* drag, tn_vec3 v)
{
    return tni_scale(-(drag->linear + drag->quadratic * tni_norm(v)), v);
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->drag_count; ++i) {
        const tni_drag* drag  = &at->model->drags[i];
        const tni_body* body  = &at->model->bodies[drag->body];
        const tni_view* view  = &at->views[drag->body];
        const tn_vec3   force = force_at(drag, air_speed(at, drag));
        tni_apply_wrench(body, view, drag->p, force, tni_scale(-drag->angular, view->w), f);
    }
}

static tni_mat3 slope(const tni_drag* drag, tn_vec3 v)
{
    const double speed = tni_norm(v), c = drag->linear + drag->quadratic * speed;
    const double q = drag->quadratic * speed, a[3] = {v.x / speed, v.y / speed, v.z / speed};
    tni_mat3     P;
    for (int i = 0; i < 9; ++i)
        P.m[i] = (speed > 0 ? q * a[i / 3] * a[i % 3] : 0) + (i % 4 == 0 ? c : 0);
    return P;
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    const tni_mat3 one = tni_identity3();
    tni_soft       soft;
    soft.kind = TNI_SOFT_BODY, soft.body[0] = 0;
    for (int i = 0; i < at->model->drag_count; ++i) {
        const tni_drag* drag = &at->model->drags[i];
        const tni_body* body = &at->model->bodies[drag->body];
        const double*   u    = tni_predicted_velocity(at, predicted, drag->body);
        const int       n = drag->angular != 0 ? 6 : 3, dim = body->dim;
        soft.index = i, soft.body[1] = drag->body;
        tni_soft_clear(&soft, n);
        tni_soft_point(body, &at->views[drag->body], drag->p, 1, soft.J[1]);
        const tn_vec3  go = {tni_row_dot(soft.J[1], u, dim), tni_row_dot(soft.J[1] + dim, u, dim),
                             tni_row_dot(soft.J[1] + 2 * dim, u, dim)};
        const tn_vec3  v  = tni_sub(go, wind_at(drag, predicted->time));
        const tni_mat3 P  = slope(drag, v);
        tni_write3(soft.f, tni_add(force_at(drag, v), tni_mul(&P, go)));
        tni_soft_block(soft.D, n, 0, 1, &P);
        tni_write3(soft.known,
                   tni_scale(at->time - predicted->time, wind_at(drag, predicted->time)));
        if (n == 6) {
            tni_soft_rotation(body, &at->views[drag->body], soft.J[1] + 3 * dim);
            tni_soft_block(soft.D, n, 3, drag->angular, &one);
        }
        take(user, &soft);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->drag_count; ++i) {
        const tni_drag* drag = &at->model->drags[i];
        const tn_vec3   v = air_speed(at, drag), force = force_at(drag, v);
        const tni_mat3  P     = slope(drag, v);
        double          D[36] = {0};
        tni_derivation  d;
        tni_derivation_begin(&d, at, 0, drag->body);
        for (int k = 0; k < 6; ++k) {
            const tni_derived_row row =
                k < 3 ? tni_derived_point(drag->p, k) : tni_derived_rotation(k - 3);
            tni_derivation_add(&d, &row, k < 3 ? tni_at(force, k) : 0);
            D[7 * k] = drag->angular;
            for (int j = 0; k < 3 && j < 3; ++j) D[6 * k + j] = P.m[3 * k + j];
        }
        tni_derivation_end(&d, NULL, D, take, user);
    }
}

static bool damps(const tn_model* model)
{
    return model->drag_count > 0;
}

static void pushed(const tn_model* model, tni_take_pushed* take, void* user)
{
    for (int i = 0; i < model->drag_count; ++i) take(user, model->drags[i].body, -1);
}

const tni_force tni_force_drag = {.place  = TNI_FORCE_EXTERNAL,
                                  .add    = add,
                                  .soften = soften,
                                  .derive = derive,
                                  .damps  = damps,
                                  .pushed = pushed};
