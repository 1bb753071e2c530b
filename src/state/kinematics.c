// kinematics: positions of points and axes of each kind of body, and the generalised force of a
// force on a point.
//
//     kind      dim  u                    point p from the centre of mass     J_p
//     rigid     6    v, w                 x + R p                             [I, -[Rp]x]
//     planar    3    vx, vy, wz           the same, turning about z           in-plane columns
//     particle  3    v                    x + p                               I
//     affine    12   v, columns of Adot   x + A p                             [I, p1 I, p2 I, p3 I]
//     user           what its table says
// Axes rotate like points without the x. J^T f is written from f directly; J itself is never
// formed.
#include "math/elementary.h"
#include "state/state.h"

enum { USER_DIM_MAX = 64, USER_COORDINATES_MAX = 256 };

static tni_mat3 turn_about_z(double angle)
{
    double s, c;
    tni_sincos(angle, &s, &c);
    return (tni_mat3){{c, -s, 0, s, c, 0, 0, 0, 1}};
}

static void view_body(const tni_body* body, double time, const double* q, const double* u,
                      tni_view* view)
{
    static const double rest[USER_DIM_MAX] = {0};
    view->q                                = q;
    view->u = u = u != NULL ? u : rest;
    view->v = view->w = tni_vec3(0, 0, 0);
    switch (body->kind) {
    case TN_BODY_RIGID:
        view->x = tni_read3(q);
        view->R = tni_quat_matrix((tn_quat){q[3], q[4], q[5], q[6]});
        view->v = tni_read3(u);
        view->w = tni_read3(u + 3);
        break;
    case TN_BODY_PARTICLE:
        view->x = tni_read3(q);
        view->R = tni_identity3();
        view->v = tni_read3(u);
        break;
    case TN_BODY_PLANAR:
        view->x = tni_vec3(q[0], q[1], body->start.position.z);
        view->R = turn_about_z(q[2]);
        view->v = tni_vec3(u[0], u[1], 0);
        view->w = tni_vec3(0, 0, u[2]);
        break;
    case TN_BODY_AFFINE:
        view->x = tni_read3(q);
        view->R = tni_columns(tni_read3(q + 3), tni_read3(q + 6), tni_read3(q + 9));
        view->v = tni_read3(u);
        break;
    case TN_BODY_KINEMATIC: {
        tn_frame pose;
        tn_twist velocity;
        tni_keys_at(body->keys, body->key_count, time, &pose, &velocity);
        view->x = pose.position;
        view->R = tni_quat_matrix(pose.orientation);
        view->v = velocity.linear;
        view->w = velocity.angular;
        break;
    }
    default: // static; user-defined bodies have a frame at the start only
        view->x = body->start.position;
        view->R = tni_quat_matrix(body->start.orientation);
    }
}

void tni_view_body(const tn_model* model, int index, double time, const double* q, const double* u,
                   tni_view* view)
{
    const tni_body* body = &model->bodies[index];
    view_body(body, time, q + body->q_start, u != NULL ? u + body->u_start : NULL, view);
}

void tni_views(const tn_model* model, double time, const double* q, const double* u,
               tni_view* views)
{
    for (int i = 0; i < model->body_count; ++i) tni_view_body(model, i, time, q, u, &views[i]);
}

tni_view tni_state_view(const tn_state* state, int index)
{
    const tni_body* body = &state->model->bodies[index];
    tni_view        view;
    view_body(body, state->time, state->q + body->q_start, state->u + body->u_start, &view);
    return view;
}

static tni_motion user_motion(const tni_body* body, const tni_view* view, tn_vec3 p, bool axis)
{
    double     J[3 * USER_DIM_MAX];
    tni_motion m;
    (axis ? body->table->direction : body->table->point)(body->data, view->q, view->u, p, &m.at, J,
                                                         &m.bias);
    double rate[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < body->dim; ++j) rate[i] += J[i * body->dim + j] * view->u[j];
    m.rate = tni_read3(rate);
    return m;
}

static tn_vec3 affine_rate(const tni_view* view, tn_vec3 p)
{
    const tni_mat3 Adot =
        tni_columns(tni_read3(view->u + 3), tni_read3(view->u + 6), tni_read3(view->u + 9));
    return tni_mul(&Adot, p);
}

tni_motion tni_axis_motion(const tni_body* body, const tni_view* view, tn_vec3 d)
{
    if (body->kind == TN_BODY_USER) return user_motion(body, view, d, true);
    tni_motion m;
    m.at = tni_mul(&view->R, d);
    if (body->kind == TN_BODY_AFFINE) {
        m.rate = affine_rate(view, d);
        m.bias = tni_vec3(0, 0, 0);
    } else {
        m.rate = tni_cross(view->w, m.at);
        m.bias = tni_cross(view->w, m.rate);
    }
    return m;
}

tni_motion tni_point_motion(const tni_body* body, const tni_view* view, tn_vec3 p)
{
    if (body->kind == TN_BODY_USER) return user_motion(body, view, p, false);
    tni_motion m = tni_axis_motion(body, view, p);
    m.at         = tni_add(m.at, view->x);
    m.rate       = tni_add(m.rate, view->v);
    return m;
}

static void user_push(const tni_body* body, const tni_view* view, tn_vec3 p, const tni_mat3* F,
                      const tni_push* push, double* row)
{
    double  J[3 * USER_DIM_MAX];
    tn_vec3 at;
    for (int part = -1; part < 3; ++part) { // the point, then the axes
        if (part >= 0 && !push->on_axis[part]) continue;
        const tn_vec3 g = part < 0 ? push->force : push->axis[part];
        if (part < 0) body->table->point(body->data, view->q, view->u, p, &at, J, NULL);
        else
            body->table->direction(body->data, view->q, view->u, tni_column(F, part), &at, J, NULL);
        for (int j = 0; j < body->dim; ++j) {
            row[j] += J[j] * g.x + J[body->dim + j] * g.y + J[2 * body->dim + j] * g.z;
        }
    }
}

static void affine_push(tn_vec3 p, const tni_mat3* F, const tni_push* push, double* row)
{
    tni_write3(row, push->force);
    for (int j = 0; j < 3; ++j) {
        tn_vec3 column = tni_scale(tni_at(p, j), push->force);
        for (int k = 0; k < 3; ++k) {
            if (push->on_axis[k]) column = tni_add_scaled(column, F->m[3 * j + k], push->axis[k]);
        }
        tni_write3(row + 3 + 3 * j, column);
    }
}

void tni_push_row(const tni_body* body, const tni_view* view, tn_vec3 p, const tni_mat3* F,
                  const tni_push* push, double* row)
{
    if (body->kind == TN_BODY_PARTICLE) {
        tni_write3(row, push->force);
        return;
    }
    if (body->kind == TN_BODY_AFFINE) {
        affine_push(p, F, push, row);
        return;
    }
    if (body->kind == TN_BODY_USER) {
        memset(row, 0, sizeof *row * (size_t)body->dim);
        user_push(body, view, p, F, push, row);
        return;
    }
    tn_vec3 torque = tni_add(tni_cross(tni_mul(&view->R, p), push->force), push->torque);
    for (int k = 0; k < 3; ++k) {
        if (push->on_axis[k])
            torque = tni_add(torque, tni_cross(tni_mul(&view->R, tni_column(F, k)), push->axis[k]));
    }
    if (body->kind == TN_BODY_PLANAR) {
        row[0] = push->force.x, row[1] = push->force.y, row[2] = torque.z;
    } else {
        tni_write3(row, push->force);
        tni_write3(row + 3, torque);
    }
}

void tni_push_add(const tni_body* body, const tni_view* view, tn_vec3 p, const tni_mat3* F,
                  const tni_push* push, double scale, double* f)
{
    double row[USER_DIM_MAX];
    if (body->dim == 0) return;
    tni_push_row(body, view, p, F, push, row);
    for (int i = 0; i < body->dim; ++i) f[body->u_start + i] += scale * row[i];
}

void tni_apply_wrench(const tni_body* body, const tni_view* view, tn_vec3 p, tn_vec3 force,
                      tn_vec3 torque, double* f)
{
    const tni_push push = {.force = force, .torque = torque};
    const tni_mat3 none = {{0}};
    tni_push_add(body, view, p, &none, &push, 1, f);
}

void tni_mass_block(const tni_body* body, const tni_view* view, double* M)
{
    const int n = body->dim;
    if (body->kind == TN_BODY_USER) {
        body->table->mass(body->data, view->q, M);
        return;
    }
    memset(M, 0, sizeof *M * (size_t)(n * n));
    const int linear = body->kind == TN_BODY_PLANAR ? 2 : 3;
    for (int i = 0; i < linear; ++i) M[i * n + i] = body->mass;
    if (body->kind == TN_BODY_PLANAR) {
        M[8] = body->inertia.m[8];
    } else if (body->kind == TN_BODY_RIGID) {
        const tni_mat3 I = tni_rotate_symmetric(&view->R, &body->inertia);
        for (int i = 0; i < 3; ++i) // computed, I is symmetric only up to rounding
            for (int j = 0; j < 3; ++j)
                M[(3 + i) * 6 + 3 + j] = i >= j ? I.m[3 * i + j] : I.m[3 * j + i];
    } else if (body->kind == TN_BODY_AFFINE) { // Q kron I3
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                for (int k = 0; k < 3; ++k)
                    M[(3 + 3 * i + k) * 12 + 3 + 3 * j + k] = body->inertia.m[3 * i + j];
    }
}

void tni_mass_times(const tni_body* body, const tni_view* view, const double* u, double* out)
{
    double M[USER_DIM_MAX * USER_DIM_MAX];
    tni_mass_block(body, view, M);
    for (int i = 0; i < body->dim; ++i) {
        out[i] = 0;
        for (int j = 0; j < body->dim; ++j) out[i] += M[i * body->dim + j] * u[j];
    }
}

void tni_advance(const tn_model* model, const double* q, const double* d, double* q_out)
{
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const double *  a = q + body->q_start, *step = d + body->u_start;
        double*         out = q_out + body->q_start;
        if (body->kind == TN_BODY_RIGID) {
            const tn_quat turned = tni_quat_normalised(
                tni_quat_mul(tni_quat_exp(tni_read3(step + 3)), (tn_quat){a[3], a[4], a[5], a[6]}));
            for (int k = 0; k < 3; ++k) out[k] = a[k] + step[k];
            out[3] = turned.w, out[4] = turned.x, out[5] = turned.y, out[6] = turned.z;
        } else if (body->kind == TN_BODY_USER) {
            double from[USER_COORDINATES_MAX]; // table functions may assume that q_out is not q
            memcpy(from, a, sizeof *from * (size_t)body->q_count);
            body->table->advance(body->data, from, step, out);
        } else {
            for (int k = 0; k < body->dim; ++k) out[k] = a[k] + step[k];
        }
    }
}

void tni_tangent_rate(const tn_model* model, const double* d, const double* u, double* rate)
{
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const int       s    = body->u_start;
        if (body->kind == TN_BODY_USER && body->table->tangent_rate != NULL) {
            body->table->tangent_rate(body->data, d + s, u + s, rate + s);
            continue;
        }
        memcpy(rate + s, u + s, sizeof *rate * (size_t)body->dim);
        if (body->kind == TN_BODY_RIGID) {
            tni_write3(rate + s + 3,
                       tni_left_jacobian_inverse(tni_read3(d + s + 3), tni_read3(u + s + 3)));
        }
    }
}

// Axes of a body; those of user-defined bodies come from their table.
static tni_mat3 axes_of(const tni_body* body, const tni_view* view)
{
    if (body->kind != TN_BODY_AFFINE && body->kind != TN_BODY_USER) return view->R;
    if (!body->turns) return tni_identity3();
    const tni_mat3 A = tni_columns(tni_axis_motion(body, view, tni_vec3(1, 0, 0)).at,
                                   tni_axis_motion(body, view, tni_vec3(0, 1, 0)).at,
                                   tni_axis_motion(body, view, tni_vec3(0, 0, 1)).at);
    return tni_det(&A) > 0 ? tni_nearest_rotation(&A) : tni_identity3();
}

tn_frame tni_view_pose(const tni_body* body, const tni_view* view)
{
    const tni_mat3 R = axes_of(body, view);
    tn_frame       pose;
    pose.position = tni_point_motion(body, view, tni_neg(body->com)).at;
    if (body->kind == TN_BODY_RIGID)
        pose.orientation = (tn_quat){view->q[3], view->q[4], view->q[5], view->q[6]};
    else pose.orientation = tni_matrix_quat(&R);
    return pose;
}

tn_twist tni_view_velocity(const tni_body* body, const tni_view* view)
{
    tn_twist twist = {tni_point_motion(body, view, tni_neg(body->com)).rate, view->w};
    if (body->kind == TN_BODY_AFFINE || (body->kind == TN_BODY_USER && body->turns)) {
        // w from the axes' rates: the skew part of Adot A^-1
        tn_vec3 at[3], rate[3];
        for (int k = 0; k < 3; ++k) {
            const tni_motion m = tni_axis_motion(body, view, tni_vec3(k == 0, k == 1, k == 2));
            at[k] = m.at, rate[k] = m.rate;
        }
        const tni_mat3 A    = tni_columns(at[0], at[1], at[2]),
                       Adot = tni_columns(rate[0], rate[1], rate[2]);
        tni_mat3 L;
        for (int j = 0; j < 3; ++j) { // column j of Adot A^-1
            const tn_vec3 column = tni_mul(&Adot, tni_solve3(&A, tni_vec3(j == 0, j == 1, j == 2)));
            L.m[j] = column.x, L.m[3 + j] = column.y, L.m[6 + j] = column.z;
        }
        twist.angular = tni_scale(0.5, tni_vec3(L.m[7] - L.m[5], L.m[2] - L.m[6], L.m[3] - L.m[1]));
    }
    return twist;
}
