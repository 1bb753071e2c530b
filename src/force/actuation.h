// actuation: what the force of joints and its derivative both look at.
#ifndef TNI_ACTUATION_H
#define TNI_ACTUATION_H

#include "force/force.h"

TNI_INLINE bool tni_is_rotation(const tni_joint* joint, int k)
{
    return joint->type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
}

TNI_INLINE bool tni_has_soft_limit(const tn_limit* limit)
{
    return limit->given && !limit->hard;
}

/// Free coordinates of an actuated joint, and how far they are from rest.
void tni_actuated_coordinates(const tni_scene_view* at, const tni_actuation* a, tni_sides sides,
                              tni_row* rows, double* stretch);
/// Friction on coordinate k is -secant * rate[k]; rotation vectors go by the length of theirs.
double tni_friction_secant(const tni_joint* joint, const tni_actuation* a, const double* rate,
                           int k);

/// Swing and twist of frame 2 in frame 1, with the directions that they grow in.
typedef struct tni_swing_twist {
    double  swing, twist;
    tn_vec3 swing_axis, twist_axis;
} tni_swing_twist;
tni_swing_twist tni_swing_twist_of(const tni_joint* joint, tni_sides sides);

/// actuation_derive.c
void tni_derive_actuations(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
