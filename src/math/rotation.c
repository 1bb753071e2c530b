#include "math/rotation.h"

#include "math/elementary.h"

tn_quat tni_quat_mul(tn_quat a, tn_quat b)
{
    return (tn_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

tn_quat tni_quat_conjugate(tn_quat a)
{
    return (tn_quat){a.w, -a.x, -a.y, -a.z};
}

tn_quat tni_quat_normalised(tn_quat a)
{
    const double s = 1 / sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return (tn_quat){s * a.w, s * a.x, s * a.y, s * a.z};
}

tn_quat tni_quat_exp(tn_vec3 d)
{
    const double half2 = 0.25 * tni_dot(d, d); // (|d|/2)^2
    double       c, s;                         // cos(|d|/2), sin(|d|/2)/|d|
    if (half2 < 0.25e-8) {                     // |d| < 1e-4: the next terms are below 1 ulp
        c = 1 - half2 / 2 + half2 * half2 / 24;
        s = 0.5 - half2 / 12 + half2 * half2 / 240;
    } else {
        const double half = sqrt(half2);
        tni_sincos(half, &s, &c);
        s /= 2 * half;
    }
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

tni_mat3 tni_quat_matrix(tn_quat q)
{
    const double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z,
                 yz = q.y * q.z;
    const double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (tni_mat3){{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy), 2 * (xy + wz),
                       1 - 2 * (xx + zz), 2 * (yz - wx), 2 * (xz - wy), 2 * (yz + wx),
                       1 - 2 * (xx + yy)}};
}

// Shepperd: divide by the largest of the four.
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

tn_vec3 tni_rotate(tn_quat q, tn_vec3 v)
{
    const tni_mat3 R = tni_quat_matrix(q);
    return tni_mul(&R, v);
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

// Newton's iteration for the polar factor, R <- (R + R^-T)/2: quadratic, stops when it rests.
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
