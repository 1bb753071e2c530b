// geometric_stiffness: how the torques of joint forces change when bodies rotate. See
// geometric_stiffness.c.
#ifndef TNI_GEOMETRIC_STIFFNESS_H
#define TNI_GEOMETRIC_STIFFNESS_H

#include "joint/joint.h"

/// K (by body) of all joints and ropes under the forces `multipliers`, by row, then by limit.
void tni_geometric_stiffness(const tn_model* model, const tni_view* views, double time,
                             const double* z, const double* multipliers, tni_mat3* K);
/// For a distance joint or a rope with the force lambda along its line: the stiffness between the
/// anchors, world axes. Zero under compression (lambda > 0).
tni_mat3 tni_geometric_stiffness_between(const tn_model* model, const tni_joint* joint,
                                         tni_sides sides, double lambda);
/// Whether a joint has such a stiffness.
bool tni_holds_distance(const tni_joint* joint);

#endif
