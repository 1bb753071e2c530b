// inertia: mass, centre and moments of a body, from what its def gives and what its shapes give.
#ifndef TNI_INERTIA_H
#define TNI_INERTIA_H

#include "tenon/scene.h"

/// Inertia about the centre of mass, body axes, xx yy zz xy xz yz. Static, kinematic and
/// user-defined bodies have none: all zero. Particles have mass only. *volume, of affine bodies, is
/// the def's, or else that of all shapes. Fails with TN_ERR_MODEL when something is missing, with
/// TN_ERR_MEMORY when a hull or mesh finds none.
tn_result tni_body_inertia(const tn_host* host, const tn_body_def* def, double* mass, tn_vec3* com,
                           double inertia[6], double* volume, tn_why* why);

/// Can a rigid body have this inertia? Positive definite, and no principal moment larger than the
/// sum of the two others (to a billionth). strict: smaller than that sum, so that the body has an
/// extent in every direction.
bool tni_inertia_is_possible(const double inertia[6], bool strict);

#endif
