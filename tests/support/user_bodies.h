// User-defined bodies for tests: a point, and a rigid body that may also grow.
//
//     point, dim 3:   q = x, u = v, M = m I3, force m g
//     scaled, dim 7:  q = (x, quaternion, s), u = (v, w, sdot), M = (m I3, s^2 I_w, tr(I)/2),
//                     force (m g, -s^2 w x I_w w - 2 s sdot I_w w, s w.I_w w - k (s - 1))
// A scaled body's point p lies at x + s R p; its directions only turn.
#ifndef USER_BODIES_H
#define USER_BODIES_H

#include "math/rotation.h"
#include "tenon/scene.h"

typedef struct user_body {
    double   mass;
    tni_mat3 inertia; ///< at s = 1, body axes
    tn_vec3  gravity;
    double   stiffness; ///< of the scale, about 1 [J]
} user_body;

// ---- A point ------------------------------------------------------------------------------------

static inline void user_point_mass(const void* data, const double* q, double* M)
{
    (void)q;
    for (int i = 0; i < 9; ++i) M[i] = i % 4 == 0 ? ((const user_body*)data)->mass : 0;
}

static inline void user_point_force(const void* data, const double* q, const double* u, double* f)
{
    const user_body* b = data;
    (void)q, (void)u;
    tni_write3(f, tni_scale(b->mass, b->gravity));
}

static inline void user_point_advance(const void* data, const double* q, const double* d,
                                      double* q_out)
{
    (void)data;
    for (int k = 0; k < 3; ++k) q_out[k] = q[k] + d[k];
}

static inline void user_point_point(const void* data, const double* q, const double* u, tn_vec3 p,
                                    tn_vec3* position, double* jacobian, tn_vec3* bias)
{
    (void)data, (void)u;
    *position = tni_add(tni_read3(q), p);
    for (int i = 0; jacobian != NULL && i < 9; ++i) jacobian[i] = i % 4 == 0;
    if (bias != NULL) *bias = tni_vec3(0, 0, 0);
}

static inline double user_point_energy(const void* data, const double* q)
{
    const user_body* b = data;
    return -b->mass * tni_dot(b->gravity, tni_read3(q));
}

static const tn_body_table user_point_table = {.coordinate_count = 3,
                                               .dim              = 3,
                                               .mass             = user_point_mass,
                                               .force            = user_point_force,
                                               .advance          = user_point_advance,
                                               .point            = user_point_point,
                                               .energy           = user_point_energy};

// ---- A rigid body that may grow -----------------------------------------------------------------

enum { USER_SCALED_COORDINATES = 8, USER_SCALED_DIM = 7 };

static inline tni_mat3 user_scaled_matrix(const double* q)
{
    return tni_quat_matrix((tn_quat){q[3], q[4], q[5], q[6]});
}

static inline void user_scaled_mass(const void* data, const double* q, double* M)
{
    const user_body* b = data;
    const tni_mat3   R = user_scaled_matrix(q), I = tni_rotate_symmetric(&R, &b->inertia);
    for (int i = 0; i < 49; ++i) M[i] = 0;
    for (int i = 0; i < 3; ++i) {
        M[8 * i] = b->mass;
        for (int j = 0; j < 3; ++j)
            M[7 * (3 + i) + 3 + j] = q[7] * q[7] * 0.5 * (I.m[3 * i + j] + I.m[3 * j + i]);
    }
    M[48] = 0.5 * (b->inertia.m[0] + b->inertia.m[4] + b->inertia.m[8]);
}

static inline void user_scaled_force(const void* data, const double* q, const double* u, double* f)
{
    const user_body* b = data;
    const tni_mat3   R = user_scaled_matrix(q), I = tni_rotate_symmetric(&R, &b->inertia);
    const tn_vec3    w = tni_read3(u + 3), L = tni_mul(&I, w);
    const double     s = q[7], sdot = u[6];
    tni_write3(f, tni_scale(b->mass, b->gravity));
    tni_write3(f + 3, tni_add_scaled(tni_scale(-s * s, tni_cross(w, L)), -2 * s * sdot, L));
    f[6] = s * tni_dot(w, L) - b->stiffness * (s - 1);
}

// Clears the result first: whoever hands in the same array twice loses the start.
static inline void user_scaled_advance(const void* data, const double* q, const double* d,
                                       double* q_out)
{
    (void)data;
    for (int k = 0; k < USER_SCALED_COORDINATES; ++k) q_out[k] = 0;
    const tn_quat turned = tni_quat_normalised(
        tni_quat_mul(tni_quat_exp(tni_read3(d + 3)), (tn_quat){q[3], q[4], q[5], q[6]}));
    for (int k = 0; k < 3; ++k) q_out[k] = q[k] + d[k];
    q_out[3] = turned.w, q_out[4] = turned.x, q_out[5] = turned.y, q_out[6] = turned.z;
    q_out[7] = q[7] + d[6];
}

static inline void user_scaled_tangent_rate(const void* data, const double* d, const double* u,
                                            double* d_rate)
{
    (void)data;
    for (int k = 0; k < USER_SCALED_DIM; ++k) d_rate[k] = u[k];
    tni_write3(d_rate + 3, tni_left_jacobian_inverse(tni_read3(d + 3), tni_read3(u + 3)));
}

// jacobian = [linear I, -[arm]x, growth]
static inline void user_scaled_jacobian(double* jacobian, double linear, tn_vec3 arm,
                                        tn_vec3 growth)
{
    const double minus_cross[9] = {0, arm.z, -arm.y, -arm.z, 0, arm.x, arm.y, -arm.x, 0};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            jacobian[7 * i + j]     = i == j ? linear : 0;
            jacobian[7 * i + 3 + j] = minus_cross[3 * i + j];
        }
        jacobian[7 * i + 6] = tni_at(growth, i);
    }
}

static inline void user_scaled_point(const void* data, const double* q, const double* u, tn_vec3 p,
                                     tn_vec3* position, double* jacobian, tn_vec3* bias)
{
    (void)data;
    const tni_mat3 R  = user_scaled_matrix(q);
    const tn_vec3  Rp = tni_mul(&R, p), r = tni_scale(q[7], Rp), w = tni_read3(u + 3);
    *position = tni_add(tni_read3(q), r);
    if (jacobian != NULL) user_scaled_jacobian(jacobian, 1, r, Rp);
    if (bias != NULL)
        *bias = tni_add_scaled(tni_cross(w, tni_cross(w, r)), 2 * u[6], tni_cross(w, Rp));
}

static inline void user_scaled_direction(const void* data, const double* q, const double* u,
                                         tn_vec3 d, tn_vec3* direction, double* jacobian,
                                         tn_vec3* bias)
{
    (void)data;
    const tni_mat3 R  = user_scaled_matrix(q);
    const tn_vec3  Rd = tni_mul(&R, d), w = tni_read3(u + 3);
    *direction = Rd;
    if (jacobian != NULL) user_scaled_jacobian(jacobian, 0, Rd, tni_vec3(0, 0, 0));
    if (bias != NULL) *bias = tni_cross(w, tni_cross(w, Rd));
}

static inline double user_scaled_energy(const void* data, const double* q)
{
    const user_body* b = data;
    return -b->mass * tni_dot(b->gravity, tni_read3(q)) +
           0.5 * b->stiffness * (q[7] - 1) * (q[7] - 1);
}

static const tn_body_table user_scaled_table = {.coordinate_count = USER_SCALED_COORDINATES,
                                                .dim              = USER_SCALED_DIM,
                                                .mass             = user_scaled_mass,
                                                .force            = user_scaled_force,
                                                .advance          = user_scaled_advance,
                                                .tangent_rate     = user_scaled_tangent_rate,
                                                .point            = user_scaled_point,
                                                .direction        = user_scaled_direction,
                                                .energy           = user_scaled_energy};

#endif
