// inertia: mass, centre and moments of a body, from what its def gives and what its shapes give.
#ifndef TNI_INERTIA_H
#define TNI_INERTIA_H

#include "tenon/scene.h"

/// Inertia about the centre of mass, body axes, xx yy zz xy xz yz. Static, kinematic and
/// user-defined bodies get zeros; particles a mass only. *volume, of affine bodies: the def's, or
/// else that of all shapes. Fails with TN_ERR_MODEL if something is missing, with TN_ERR_MEMORY if
/// a hull or mesh cannot be allocated.
tn_result tni_body_inertia(const tn_host* host, const tn_body_def* def, double* mass, tn_vec3* com,
                           double inertia[6], double* volume, tn_why* why);

/// True if a rigid body can have this inertia: positive definite, and no principal moment larger
/// than the sum of the other two (with a tolerance of 1e-9). strict: smaller than that sum, so that
/// the body extends in every direction.
bool tni_inertia_is_possible(const double inertia[6], bool strict);

#endif
