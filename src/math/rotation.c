#include "math/rotation.h"

#include "math/elementary.h"

tn_quat tni_quat_normalised(tn_quat a)
{
    const double s = 1 / sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return (tn_quat){s * a.w, s * a.x, s * a.y, s * a.z};
}

// Below one radian by power series in x = (|d|/2)^2, whose next terms are below 1e-18: most
// rotations are increments of one time step, and small.
tn_quat tni_quat_exp(tn_vec3 d)
{
    const double x = 0.25 * tni_dot(d, d);
    double       c, s; // cos(|d|/2), sin(|d|/2)/|d|
    if (x < 0.25) {
        c = 1 - x * (1.0 / 2) *
                    (1 - x * (1.0 / 12) *
                             (1 - x * (1.0 / 30) *
                                      (1 - x * (1.0 / 56) *
                                               (1 - x * (1.0 / 90) *
                                                        (1 - x * (1.0 / 132) * (1 - x / 182))))));
        s = 0.5 - x * (1.0 / 12) *
                      (1 - x * (1.0 / 20) *
                               (1 - x * (1.0 / 42) *
                                        (1 - x * (1.0 / 72) *
                                                 (1 - x * (1.0 / 110) *
                                                          (1 - x * (1.0 / 156) * (1 - x / 210))))));
        return (tn_quat){c, s * d.x, s * d.y, s * d.z};
    }
    const double half = sqrt(x);
    tni_sincos(half, &s, &c);
    s /= 2 * half;
    return tni_quat_normalised((tn_quat){c, s * d.x, s * d.y, s * d.z});
}

tn_vec3 tni_quat_log(tn_quat q)
{
    if (q.w < 0) q = (tn_quat){-q.w, -q.x, -q.y, -q.z};
    const tn_vec3 v = {q.x, q.y, q.z};
    const double  n = tni_norm(v);
    if (n < 1e-8) return tni_scale(2 / q.w, v);
    return tni_scale(2 * tni_atan2(n, q.w) / n, v);
}

// Shepperd's method: divide by the largest of the four components.
tn_quat tni_matrix_quat(const tni_mat3* R)
{
    const double* m     = R->m;
    const double  trace = m[0] + m[4] + m[8];
    tn_quat       q;
    if (trace >= m[0] && trace >= m[4] && trace >= m[8])
        q = (tn_quat){1 + trace, m[7] - m[5], m[2] - m[6], m[3] - m[1]};
    else if (m[0] >= m[4] && m[0] >= m[8])
        q = (tn_quat){m[7] - m[5], 1 + m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6]};
    else if (m[4] >= m[8])
        q = (tn_quat){m[2] - m[6], m[1] + m[3], 1 + m[4] - m[0] - m[8], m[5] + m[7]};
    else q = (tn_quat){m[3] - m[1], m[2] + m[6], m[5] + m[7], 1 + m[8] - m[0] - m[4]};
    q = tni_quat_normalised(q);
    return q.w < 0 ? (tn_quat){-q.w, -q.x, -q.y, -q.z} : q;
}

tn_vec3 tni_left_jacobian_inverse(tn_vec3 theta, tn_vec3 w)
{
    const double phi2 = tni_dot(theta, theta);
    double       g;
    if (phi2 < 1e-4) { // series: 1/12 + phi^2/720 + phi^4/30240
        g = 1.0 / 12 + phi2 * (1.0 / 720 + phi2 / 30240);
    } else {
        const double half = 0.5 * sqrt(phi2);
        double       s, c;
        tni_sincos(half, &s, &c);
        g = (1 - half * c / s) / phi2;
    }
    const tn_vec3 tw = tni_cross(theta, w);
    return tni_add_scaled(tni_add_scaled(w, -0.5, tw), g, tni_cross(theta, tw));
}

// Newton's iteration for the polar factor, R <- (R + R^-T)/2; converges quadratically.
tni_mat3 tni_nearest_rotation(const tni_mat3* A)
{
    tni_mat3 R = *A;
    for (int i = 0; i < 60; ++i) {
        const tn_vec3  x = tni_column(&R, 0), y = tni_column(&R, 1), z = tni_column(&R, 2);
        const double   s = 1 / tni_det(&R);
        const tni_mat3 inverse_t =
            tni_columns(tni_scale(s, tni_cross(y, z)), tni_scale(s, tni_cross(z, x)),
                        tni_scale(s, tni_cross(x, y)));
        double change = 0;
        for (int k = 0; k < 9; ++k) {
            const double next = 0.5 * (R.m[k] + inverse_t.m[k]);
            change            = fmax(change, fabs(next - R.m[k]));
            R.m[k]            = next;
        }
        if (!(change > 1e-15)) break;
    }
    return R;
}

// One Jacobi rotation: makes entry (i, j) of B zero; V accumulates the rotations.
static void rotate_away(tni_mat3* B, tni_mat3* V, int i, int j)
{
    const double b = B->m[3 * i + j];
    if (b == 0) return;
    const double half = 0.5 * (B->m[4 * j] - B->m[4 * i]);
    const double t    = (half >= 0 ? b : -b) / (fabs(half) + sqrt(half * half + b * b));
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int k = 0; k < 3; ++k) {
        const double x = B->m[3 * k + i], y = B->m[3 * k + j];
        B->m[3 * k + i] = c * x - s * y;
        B->m[3 * k + j] = s * x + c * y;
        const double v = V->m[3 * k + i], w = V->m[3 * k + j];
        V->m[3 * k + i] = c * v - s * w;
        V->m[3 * k + j] = s * v + c * w;
    }
    for (int k = 0; k < 3; ++k) {
        const double x = B->m[3 * i + k], y = B->m[3 * j + k];
        B->m[3 * i + k] = c * x - s * y;
        B->m[3 * j + k] = s * x + c * y;
    }
    B->m[3 * i + j] = B->m[3 * j + i] = 0;
}

tn_vec3 tni_symmetric_eigen(const tni_mat3* A, tni_mat3* vectors)
{
    enum { SWEEPS_MAX = 30 };
    tni_mat3 B = *A, V = tni_identity3();
    for (int sweep = 0; sweep < SWEEPS_MAX; ++sweep) {
        const double off  = fabs(B.m[1]) + fabs(B.m[2]) + fabs(B.m[5]);
        const double size = fabs(B.m[0]) + fabs(B.m[4]) + fabs(B.m[8]);
        if (!(off > 1e-16 * size)) break;
        rotate_away(&B, &V, 0, 1);
        rotate_away(&B, &V, 0, 2);
        rotate_away(&B, &V, 1, 2);
    }
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2 - i; ++j)
            if (B.m[4 * order[j]] > B.m[4 * order[j + 1]]) {
                const int k  = order[j];
                order[j]     = order[j + 1];
                order[j + 1] = k;
            }
    if (vectors != NULL)
        *vectors = tni_columns(tni_column(&V, order[0]), tni_column(&V, order[1]),
                               tni_column(&V, order[2]));
    return tni_vec3(B.m[4 * order[0]], B.m[4 * order[1]], B.m[4 * order[2]]);
}
