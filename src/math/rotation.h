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

tn_quat  tni_quat_mul(tn_quat a, tn_quat b);
tn_quat  tni_quat_conjugate(tn_quat a);
tn_quat  tni_quat_normalised(tn_quat a);
tn_quat  tni_quat_exp(tn_vec3 d);
tn_vec3  tni_quat_log(tn_quat q);
tni_mat3 tni_quat_matrix(tn_quat q); ///< q must be unit
tn_quat  tni_matrix_quat(const tni_mat3* R);
tn_vec3  tni_rotate(tn_quat q, tn_vec3 v);
tn_vec3  tni_left_jacobian_inverse(tn_vec3 theta, tn_vec3 w); ///< Jl^-1(theta) w
/// The rotation nearest to A (polar decomposition); A must have a positive determinant.
tni_mat3 tni_nearest_rotation(const tni_mat3* A);
/// Eigenvalues of a symmetric matrix, rising, and unit eigenvectors as columns (or NULL), by
/// Jacobi's rotations.
tn_vec3 tni_symmetric_eigen(const tni_mat3* A, tni_mat3* vectors);

#endif
