// joint_force: what the force of joints and its derivative share.
#ifndef TNI_JOINT_FORCE_H
#define TNI_JOINT_FORCE_H

#include "force/force.h"

TNI_INLINE bool tni_is_rotation(const tni_joint* joint, int k)
{
    return joint->type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
}

TNI_INLINE bool tni_has_soft_limit(const tn_limit* limit)
{
    return limit->given && !limit->hard;
}

/// Swing and twist limits of balls; other joints are limited along their first coordinate.
TNI_INLINE bool tni_has_ball_limit(const tni_joint* joint, const tn_limit* limit)
{
    return tni_has_soft_limit(limit) && joint->coordinate_count > 0 && tni_is_rotation(joint, 0);
}

/// Free coordinates of a joint, and their distances from the rest position.
void tni_actuated_coordinates(const tni_scene_view* at, const tni_joint_force* a, tni_sides sides,
                              tni_row* rows, double* stretch);
/// Friction on coordinate k is -secant * rate[k]; for rotation vectors by the length of theirs.
double tni_friction_secant(const tni_joint* joint, const tni_joint_force* a, const double* rate,
                           int k);

/// Swing and twist of frame 2 in frame 1, with their gradients.
typedef struct tni_swing_twist {
    double  swing, twist;
    tn_vec3 swing_axis, twist_axis;
} tni_swing_twist;
tni_swing_twist tni_swing_twist_of(const tni_joint* joint, tni_sides sides);

/// Force of two one-sided limits; of a ball's cone and twist limits along their gradients.
double tni_limit_force(const tn_limit* limit, double lower, double upper, double z, double rate);
void   tni_ball_limit(const tni_joint* joint, tni_sides sides, const tn_limit* limit, double* push);

/// joint_force_derive.c
void tni_derive_actuations(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
