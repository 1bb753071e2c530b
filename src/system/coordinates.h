// coordinates: generalised forces and accelerations in the free coordinates of joints.
#ifndef TNI_COORDINATES_H
#define TNI_COORDINATES_H

#include "system/system.h"

/// f += J_z^T forces: generalised forces along the free coordinates of all joints, joint by joint,
/// as forces on the bodies, laid out as u.
void tni_coordinate_forces(const tn_model* model, const tni_configuration* at, const double* forces,
                           double* f);
/// zdd = J_z udot + Jdot_z u of a joint's coordinates, udot laid out as u.
void tni_coordinate_accelerations(const tn_model* model, const tni_joint* joint,
                                  const tni_configuration* at, const double* udot, double* out);
/// zd = J_z u of a joint's coordinates, with the u of the configuration.
void tni_coordinate_velocities(const tn_model* model, const tni_joint* joint,
                               const tni_configuration* at, double* out);

#endif
