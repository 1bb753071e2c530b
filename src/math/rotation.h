// rotation: unit quaternions, rotation matrices, rotation vectors.
//
// Increments multiply from the left: R <- exp([d]x) R, q <- qexp(d) q, qdot = (0, w) q / 2.
//     qexp(d) = (cos(|d|/2), sin(|d|/2) d/|d|)
//     log R   = theta with |theta| <= pi, from the quaternion with w >= 0
//     Jl^-1(theta) = I - [theta]x / 2 + g [theta]x^2,  g = (1 - (phi/2) cot(phi/2)) / phi^2
// Jl^-1 turns the angular velocity of exp(theta) R into the rate of theta, so that Runge-Kutta
// methods keep their order on rotations (Munthe-Kaas).
#ifndef TNI_ROTATION_H
#define TNI_ROTATION_H

#include "math/vec3.h"

TNI_INLINE tn_quat tni_quat_mul(tn_quat a, tn_quat b)
{
    return (tn_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

TNI_INLINE tn_quat tni_quat_conjugate(tn_quat a)
{
    return (tn_quat){a.w, -a.x, -a.y, -a.z};
}

/// q must be of unit length.
TNI_INLINE tni_mat3 tni_quat_matrix(tn_quat q)
{
    const double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z,
                 yz = q.y * q.z;
    const double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (tni_mat3){{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy), 2 * (xy + wz),
                       1 - 2 * (xx + zz), 2 * (yz - wx), 2 * (xz - wy), 2 * (yz + wx),
                       1 - 2 * (xx + yy)}};
}

TNI_INLINE tn_vec3 tni_rotate(tn_quat q, tn_vec3 v)
{
    const tni_mat3 R = tni_quat_matrix(q);
    return tni_mul(&R, v);
}

tn_quat tni_quat_normalised(tn_quat a);
tn_quat tni_quat_exp(tn_vec3 d);
tn_vec3 tni_quat_log(tn_quat q);
tn_quat tni_matrix_quat(const tni_mat3* R);
tn_vec3 tni_left_jacobian_inverse(tn_vec3 theta, tn_vec3 w); ///< Jl^-1(theta) w
/// The rotation nearest to A (polar decomposition); A must have a positive determinant.
tni_mat3 tni_nearest_rotation(const tni_mat3* A);
/// Eigenvalues of a symmetric matrix in ascending order, and unit eigenvectors as the columns of
/// *vectors (may be NULL), by Jacobi's method.
tn_vec3 tni_symmetric_eigen(const tni_mat3* A, tni_mat3* vectors);

#endif
