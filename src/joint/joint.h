// joint: the rows of every constraint at a state, and the free coordinates of joints.
#ifndef TNI_JOINT_H
#define TNI_JOINT_H

#include "state/state.h"

/// One scalar relation between two bodies: C = 0, its rate, gamma = Jdot u, and J as the push that
/// a unit force along it gives each side.
typedef struct tni_row {
    double   C, rate, gamma;
    tni_push push[2];
} tni_row;

/// The two bodies of a joint, as they stand.
typedef struct tni_sides {
    const tni_view *view1, *view2;
} tni_sides;
TNI_INLINE tni_sides tni_sides_of(const tni_joint* joint, const tni_view* views)
{
    return (tni_sides){&views[joint->body1], &views[joint->body2]};
}

/// A joint's rows; returns how many. z: all joints' coordinates a moment ago, so that angles count
/// turns.
int tni_joint_rows(const tn_model* model, const tni_joint* joint, tni_sides sides, double time,
                   const double* z, tni_row* rows);
/// Free coordinate k as a row: C its value, near the earlier one in z where it is an angle.
tni_row tni_joint_coordinate(const tn_model* model, const tni_joint* joint, int k, tni_sides sides,
                             const double* z);
/// Force and torque of multipliers on body 2, at its anchor.
tn_wrench tni_joint_reaction(const tn_model* model, const tni_joint* joint, tni_sides sides,
                             double time, const double* z, const double* lambda);
/// Adds the generalized force tau along a row: f += tau J^T.
void tni_joint_push(const tn_model* model, const tni_joint* joint, tni_sides sides,
                    const tni_row* row, double tau, double* f);

/// All joints' coordinates, angles counted on from z.
void tni_follow_coordinates(const tn_model* model, const tni_view* views, double* z);

/// Where the values of a constraint go; each may be NULL.
typedef struct tni_rows_out {
    double*  C;
    double*  rate;
    double*  gamma;
    double** J; ///< a block for each edge of the constraint, row_count x dim, row-major
} tni_rows_out;
/// A user-defined constraint, its bodies' views in its own order.
void tni_user_rows(const tn_model* model, const tni_constraint* constraint,
                   const tni_view* const* views, double time, const tni_rows_out* out);
/// The rows of any constraint: joint, user-defined or coupling.
void tni_constraint_rows(const tn_model* model, const tni_constraint* constraint,
                         const tni_view* views, double time, const double* z,
                         const tni_rows_out* out);

#endif
