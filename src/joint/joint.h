// joint: the constraint rows of all joints, couplings and user-defined constraints; joint
// coordinates.
#ifndef TNI_JOINT_H
#define TNI_JOINT_H

#include "state/state.h"

/// One scalar constraint between two bodies: C = 0, its rate, gamma = Jdot u, and J as the
/// generalised force of a unit multiplier on each side.
typedef struct tni_row {
    double   C, rate, gamma;
    tni_push push[2];
} tni_row;

/// Views of the two bodies of a joint.
typedef struct tni_sides {
    const tni_view *view1, *view2;
} tni_sides;
TNI_INLINE tni_sides tni_sides_of(const tni_joint* joint, const tni_view* views)
{
    return (tni_sides){&views[joint->body1], &views[joint->body2]};
}

/// A joint's rows; returns how many. z: the last coordinates of all joints, so that angles count
/// full turns.
int tni_joint_rows(const tn_model* model, const tni_joint* joint, tni_sides sides, double time,
                   const double* z, tni_row* rows);
/// Free coordinate k as a row: C is its value; an angle is taken nearest to that in z.
tni_row tni_joint_coordinate(const tn_model* model, const tni_joint* joint, int k, tni_sides sides,
                             const double* z);
/// All free coordinates of a joint; cheaper than one by one where they form a rotation vector.
void tni_joint_coordinates(const tn_model* model, const tni_joint* joint, tni_sides sides,
                           const double* z, tni_row* rows);
/// Rows are written in the axes of body 1, which rotate with it. values: errors of a joint's rows
/// where body 1 has the axes R; converted to the row directions where it had R0, so that the
/// Jacobian at R0 fits them. Rows in world axes or without direction do not change.
void tni_joint_rotate_errors(const tn_model* model, const tni_joint* joint, const tni_mat3* R0,
                             const tni_mat3* R, double* values);
/// Force and torque on body 2, at its anchor: of one row's multiplier, and of all rows of a joint.
tn_wrench tni_row_wrench(const tn_model* model, const tni_joint* joint, tni_sides sides,
                         const tni_row* row, double lambda);
tn_wrench tni_joint_reaction(const tn_model* model, const tni_joint* joint, tni_sides sides,
                             double time, const double* z, const double* lambda);
/// The force alone; joints made of point and perpendicular-axes rows need not compute their rows
/// for it.
tn_vec3 tni_joint_reaction_force(const tn_model* model, const tni_joint* joint, tni_sides sides,
                                 double time, const double* z, const double* lambda);
/// Adds the generalised force tau along a row: f += tau J^T.
void tni_joint_push(const tn_model* model, const tni_joint* joint, tni_sides sides,
                    const tni_row* row, double tau, double* f);

/// A hard limit as a row: C is the distance to the limit (negative: exceeded), so that C >= 0 is
/// the constraint and a positive multiplier pushes back. Pushes are in the joint's frames.
tni_row tni_limit_row(const tn_model* model, const tni_limit* limit, const tni_view* views,
                      const double* z);

/// Two bodies that touch at a point, which moves over both. Body 2 has a round surface, or a
/// vertex, about its anchor. For bodies with an angular velocity, or that do not rotate.
typedef struct tni_rolling_contact {
    tni_motion D;             ///< from the anchor on body 1 to the one on body 2
    tn_vec3    arm, arm_rate; ///< from the anchor on body 2 to the point
    tn_vec3    w1, w2;        ///< angular velocities
} tni_rolling_contact;
/// Sets the arm to the lowest point, along n, of a sphere, or of the rim of a disc about an axis
/// that is not parallel to n. Second derivatives of n and axis are not used.
void tni_rolling_arm(const tni_motion* n, const tni_motion* axis, double radius,
                     tni_rolling_contact* rolling);
/// Relative velocity at the contact point (body 2 less body 1) along the unit vector a, as a row:
/// rate, gamma, pushes at the anchors; C is 0. The second derivative of a is not used.
void tni_rolling_row(const tni_rolling_contact* rolling, const tni_motion* a, tni_row* row);

/// Updates all joints' coordinates; angles count full turns from those in z.
void tni_follow_coordinates(const tn_model* model, const tni_view* views, double* z);
/// forward_kinematics.c: whether the given joint coordinates are finite and determine the poses of
/// the bodies. velocities may be NULL.
TN_NODISCARD tn_result tni_check_coordinates(const tn_model* model, const double* positions,
                                             const double* velocities, tn_why* why);

/// Where the values of a constraint go; each may be NULL.
typedef struct tni_rows_out {
    double*  C;
    double*  rate;
    double*  gamma;
    double** J; ///< a block for each edge of the constraint, row_count x dim, row-major
    double** K; ///< of constraints with force directions of their own: these, as J
} tni_rows_out;

enum { TNI_COMMON_LANES = 4, TNI_COMMON_KINDS = 16 };

/// Four joints with equal row types between rigid or immovable bodies: see common_joints.c.
typedef struct tni_common_group {
    int          row_count;
    tni_row_part part[TNI_JOINT_ROWS_MAX];
    int          constraint[TNI_COMMON_LANES];
    int          edge[TNI_COMMON_LANES][2]; ///< to body 1 and body 2; -1: immovable
} tni_common_group;

typedef struct tni_common_joints {
    int               count;
    tni_common_group* group;
    uint8_t*          in;   ///< by constraint: 1 if it is in a group
    bool              wide; ///< uses the widest vectors of the processor; the same bits
} tni_common_joints;

TN_NODISCARD tn_result tni_common_joints_create(tni_arena* arena, const tn_model* model,
                                                tni_common_joints* commons);
/// The rows of four joints, as tni_constraint_rows has them, into C, rate and gamma of all
/// constraints. block: by lane and side, J of the body, 6 numbers a row; NULL: values only.
void tni_common_values(const tn_model* model, const tni_common_joints* commons,
                       const tni_common_group* group, const tni_view* views, double* C,
                       double* rate, double* gamma, double* (*block)[2]);

/// A user-defined constraint, its bodies' views in its own order.
void tni_user_rows(const tn_model* model, const tni_constraint* constraint,
                   const tni_view* const* views, double time, const tni_rows_out* out);
/// The rows of any constraint: joint, user-defined or coupling.
void tni_constraint_rows(const tn_model* model, const tni_constraint* constraint,
                         const tni_view* views, double time, const double* z,
                         const tni_rows_out* out);

#endif
