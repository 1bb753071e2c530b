// soft: stiff forces linearised as f - K (J d) - D (J u), K and D symmetric and positive
// semidefinite: compliant rows, or blocks, of an implicit step. Each force's own part is in its
// file.
//
// Deliberately inexact where the exact derivative would be indefinite or would violate action =
// reaction: the rotation of the rows is left out, rotation vectors use the symmetric part of Jl^-1,
// springs under pressure have no negative stiffness, nor have bodies under pressure. The force
// itself is exact at d = 0. derive.c has the exact derivatives.
//
// Kinematic bodies are no unknowns. Their motion until the end of the step goes into f, as -K (J d)
// - D (J u) of their side.
#include "force/soft.h"

#include "math/elementary.h"

static const double torsion_min = 0.05; // of (phi/2) cot(phi/2), which is 0 at phi = pi

void tni_soft_clear(tni_soft* soft, int row_count)
{
    soft->line          = tni_vec3(0, 0, 0);
    const size_t square = sizeof(double) * (size_t)(row_count * row_count);
    soft->row_count     = row_count;
    soft->active_limits = 0;
    memset(soft->f, 0, sizeof(double) * (size_t)row_count);
    memset(soft->known, 0, sizeof(double) * (size_t)row_count);
    memset(soft->drive, 0, sizeof(double) * (size_t)row_count);
    memset(soft->K, 0, square);
    memset(soft->D, 0, square);
}

void tni_soft_point(const tni_body* body, const tni_view* view, tn_vec3 p, double sign, double* J)
{
    const tni_mat3 none = {{0}};
    const int      dim  = body->dim > 0 ? body->dim : 6;
    for (int k = 0; k < 3; ++k) {
        const tni_push push = {.force = {sign * (k == 0), sign * (k == 1), sign * (k == 2)}};
        tni_push_row(body, view, p, &none, &push, J + k * dim);
    }
}

void tni_soft_rotation(const tni_body* body, const tni_view* view, double* J)
{
    const tni_mat3 none = {{0}};
    for (int k = 0; k < 3; ++k) {
        const tni_push push = {.torque = {k == 0, k == 1, k == 2}};
        tni_push_row(body, view, tni_vec3(0, 0, 0), &none, &push, J + k * body->dim);
    }
}

void tni_soft_block(double* K, int n, int first, double scale, const tni_mat3* M)
{
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) K[(first + i) * n + first + j] += scale * M->m[3 * i + j];
}

tni_mat3 tni_soft_torsion(tn_vec3 theta)
{
    const double phi2 = tni_dot(theta, theta);
    double       c = 1 - phi2 * (1.0 / 12 + phi2 * (1.0 / 720 + phi2 / 30240)), over = 0;
    if (phi2 >= 1e-4) {
        const double half = 0.5 * sqrt(phi2);
        double       sine, cosine;
        tni_sincos(half, &sine, &cosine);
        c = half * cosine / sine;
    }
    c = fmax(c, torsion_min);
    if (phi2 > 0) over = (1 - c) / phi2;
    const double t[3] = {theta.x, theta.y, theta.z};
    tni_mat3     S;
    for (int i = 0; i < 9; ++i) S.m[i] = over * t[i / 3] * t[i % 3] + (i % 4 == 0 ? c : 0);
    return S;
}

void tni_soft_add_force(const tn_model* model, const tni_soft* soft, const double* v, double* b)
{
    for (int side = 0; side < 2; ++side) {
        if (soft->body[side] < 0 || model->bodies[soft->body[side]].node < 0) continue;
        const tni_body* body = &model->bodies[soft->body[side]];
        for (int i = 0; i < soft->row_count; ++i)
            for (int k = 0; k < body->dim; ++k)
                b[body->u_start + k] += v[i] * soft->J[side][i * body->dim + k];
    }
}

const double* tni_predicted_velocity(const tni_scene_view* at, const tni_prediction* predicted,
                                     int body)
{
    return predicted->u != NULL ? predicted->u + at->model->bodies[body].u_start
                                : at->views[body].u;
}

bool tni_prescribed_motion_of(const tni_scene_view* at, const tni_prediction* predicted, int body,
                              tni_prescribed_motion* prescribed)
{
    const tni_body* b = &at->model->bodies[body];
    if (b->kind != TN_BODY_KINEMATIC) return false;
    const tni_view* view = &at->views[body];
    const double    span = predicted->time - at->time;
    tn_frame        pose;
    tn_twist        velocity;
    tni_keys_at(b->keys, b->key_count, predicted->time, &pose, &velocity);
    const tni_mat3 R = tni_quat_matrix(pose.orientation), back = tni_transposed(&view->R),
                   turn = tni_mat_mul(&R, &back);
    tni_write3(prescribed->d, tni_sub(pose.position, view->x));
    tni_write3(prescribed->d + 3, tni_quat_log(tni_matrix_quat(&turn)));
    tni_write3(prescribed->rate, view->v);
    tni_write3(prescribed->rate + 3, view->w);
    for (int k = 0; k < 6 && span > 0; ++k) prescribed->rate[k] = prescribed->d[k] / span;
    return true;
}

// ---- A force on an arm --------------------------------------------------------------------------
//
// A force f of fixed direction at the arm r of a body has the torque r x f. When the body rotates
// by t, r moves by t x r, so the torque changes by -K t with the symmetric part
//
//     K = (f.r) I - (f r^T + r f^T)/2
//
// whose eigenvalues are c along f x r and (c +- m)/2 along f/|f| -+ r/|r|, c = f.r, m = |f||r|.
// Tension (c > 0) is stiff; compression makes K negative, and its negative part is left out, so
// that the system stays definite: buckling is treated explicitly. In closed form, with the unit
// vector b along |r| f + |f| r, whose eigenvalue (c - m)/2 is never positive:
//
//     c >= 0:  K+ = (c + m)/2 (I - b b^T) - (f x r)(f x r)^T / (2 (m + c))
//     c <  0:  K+ = (c + m)/2 e e^T,   e along |r| f - |f| r
//
void tni_soft_outer(double s, tn_vec3 a, tni_mat3* K)
{
    const double v[3] = {a.x, a.y, a.z};
    for (int i = 0; i < 9; ++i) K->m[i] += s * v[i / 3] * v[i % 3];
}

void tni_soft_geometric(tn_vec3 f, tn_vec3 r, tni_mat3* K)
{
    const double F = tni_norm(f), L = tni_norm(r), m = F * L, c = tni_dot(f, r), s = 0.5 * (c + m);
    if (!(s > 1e-14 * m && m > 1e-100)) return; // no force, no arm, or pure compression
    if (c < 0) {                                // |L f - F r|^2 = 2 m (m - c)
        tni_soft_outer(s / (2 * m * (m - c)), tni_sub(tni_scale(L, f), tni_scale(F, r)), K);
        return;
    }
    for (int i = 0; i < 9; i += 4) K->m[i] += s;
    tni_soft_outer(-0.25 / m, tni_add(tni_scale(L, f), tni_scale(F, r)),
                   K); // |L f + F r|^2 = 4 m s
    tni_soft_outer(-0.25 / s, tni_cross(f, r), K);
}

void tni_soft_point_spring(const tni_scene_view* at, int index, tn_vec3 p, tn_vec3 f,
                           double stiffness, double damping, bool turns, tni_soft* soft)
{
    const tni_body* body = &at->model->bodies[index];
    const tni_view* view = &at->views[index];
    const tni_mat3  one  = tni_identity3();
    const bool      arm  = body->kind == TN_BODY_RIGID;
    const int       n    = turns || arm ? 6 : 3;
    soft->kind           = TNI_SOFT_BODY;
    soft->body[0]        = 0;
    soft->body[1]        = index;
    tni_soft_clear(soft, n);
    tni_soft_point(body, view, p, 1, soft->J[1]);
    tni_write3(soft->f, f);
    tni_soft_block(soft->K, n, 0, stiffness, &one);
    tni_soft_block(soft->D, n, 0, damping, &one);
    if (n == 6) tni_soft_rotation(body, view, soft->J[1] + 3 * body->dim);
    if (!arm) return;
    tni_mat3 K = {{0}};
    tni_soft_geometric(f, tni_mul(&view->R, p), &K);
    tni_soft_block(soft->K, n, 3, 1, &K);
}
