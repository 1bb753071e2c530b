// soft: what the stiff forces share when they are linearised (force.h, tni_soft).
#ifndef TNI_SOFT_H
#define TNI_SOFT_H

#include "force/force.h"

/// Empties f, K and D of an element with so many rows.
void tni_soft_clear(tni_soft* soft, int row_count);
/// Rows at J: the velocity of a point of a body along the three world axes, times sign; and its
/// angular velocity, which only rigid and planar bodies have.
void tni_soft_point(const tni_body* body, const tni_view* view, tn_vec3 p, double sign, double* J);
void tni_soft_turn(const tni_body* body, const tni_view* view, double* J);
/// The 3x3 block of K or D (n x n) at (first, first) += scale M.
void tni_soft_block(double* K, int n, int first, double scale, const tni_mat3* M);
/// K += s a a^T
void tni_soft_outer(double s, tn_vec3 a, tni_mat3* K);
/// K += the stiffness against turning of a force f at the arm r, both fixed in the world; its
/// negative part left out.
void tni_soft_arm(tn_vec3 f, tn_vec3 r, tni_mat3* K);
/// S = sym(Jl^-1(theta)) = c (1 - u u^T) + u u^T with c = (phi/2) cot(phi/2), c kept above 0.05:
/// what a rotation vector's spring resists with, made safe near a turn by pi.
tni_mat3 tni_soft_torsion(tn_vec3 theta);

/// A spring and damper on a body alone, from its point p to where nothing reacts: three rows, the world
/// axes, f being the force without what the body's velocity damps. Of a rigid body the arm turns
/// with it: its turning are three more rows, as they are where turns is set.
void tni_soft_pull(const tni_scene_view* at, int body, tn_vec3 p, tn_vec3 f, double stiffness,
                   double damping, bool turns, tni_soft* soft);
/// b += J^T v, on the sides that can be pushed.
void tni_soft_push(const tn_model* model, const tni_soft* soft, const double* v, double* b);

/// The velocity that a body is expected to have on the way.
const double* tni_predicted_velocity(const tni_scene_view* at, const tni_prediction* predicted,
                                     int body);
/// How a kinematic body moves until the end: by d (v and w in order, of its frame), at a mean rate.
typedef struct tni_known {
    double d[6], rate[6];
} tni_known;
bool tni_known_motion(const tni_scene_view* at, const tni_prediction* predicted, int body,
                      tni_known* known);

TNI_INLINE double tni_row_dot(const double* row, const double* u, int n)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += row[k] * u[k];
    return sum;
}

#endif
