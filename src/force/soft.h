// soft: what the linearised stiff forces share (force.h, tni_soft).
#ifndef TNI_SOFT_H
#define TNI_SOFT_H

#include "force/force.h"

/// Clears f, K and D and sets the number of rows.
void tni_soft_clear(tni_soft* soft, int row_count);
/// Rows at J: the velocity of a point of a body along the three world axes, times sign; and its
/// angular velocity, for rigid and planar bodies only.
void tni_soft_point(const tni_body* body, const tni_view* view, tn_vec3 p, double sign, double* J);
void tni_soft_rotation(const tni_body* body, const tni_view* view, double* J);
/// The 3x3 block of K or D (n x n) at (first, first) += scale M.
void tni_soft_block(double* K, int n, int first, double scale, const tni_mat3* M);
/// K += s a a^T
void tni_soft_outer(double s, tn_vec3 a, tni_mat3* K);
/// K += the geometric stiffness of a force f at the arm r against rotation; its negative part is
/// left out.
void tni_soft_geometric(tn_vec3 f, tn_vec3 r, tni_mat3* K);
/// S = sym(Jl^-1(theta)) = c (1 - u u^T) + u u^T with c = (phi/2) cot(phi/2), c kept above 0.05:
/// the stiffness of a rotation vector's spring, safe near a rotation by pi.
tni_mat3 tni_soft_torsion(tn_vec3 theta);

/// A spring and damper from a point p of a body to a fixed far end: three rows, the world axes, f
/// being the force without the damping of the body's velocity. On a rigid body the arm rotates with
/// it: three rotation rows follow, as they do where turns is set.
void tni_soft_point_spring(const tni_scene_view* at, int body, tn_vec3 p, tn_vec3 f,
                           double stiffness, double damping, bool turns, tni_soft* soft);
/// b += J^T v, on the movable sides.
void tni_soft_add_force(const tn_model* model, const tni_soft* soft, const double* v, double* b);

/// The predicted mean velocity of a body.
const double* tni_predicted_velocity(const tni_scene_view* at, const tni_prediction* predicted,
                                     int body);
/// Motion of a kinematic body until the end of the step: displacement d (v and w in order, of its
/// frame) and mean rate.
typedef struct tni_prescribed_motion {
    double d[6], rate[6];
} tni_prescribed_motion;
bool tni_prescribed_motion_of(const tni_scene_view* at, const tni_prediction* predicted, int body,
                              tni_prescribed_motion* prescribed);

TNI_INLINE double tni_row_dot(const double* row, const double* u, int n)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += row[k] * u[k];
    return sum;
}

#endif
