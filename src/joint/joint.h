// joint: the rows of every constraint at a state, and the free coordinates of joints.
#ifndef TNI_JOINT_H
#define TNI_JOINT_H

#include "state/state.h"

/// 1 + z1.z2 of axes that are opposite.
#define TNI_OPPOSITE_MAX 1e-9

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
/// All of them; those of a rotation vector at the price of one.
void tni_joint_coordinates(const tn_model* model, const tni_joint* joint, tni_sides sides,
                           const double* z, tni_row* rows);
/// Rows are written in the axes of body 1, which turn with it. values: errors of a joint's rows where
/// body 1's axes are R; changed to what they are along the rows of where they were R0, so that the
/// derivatives of there mean the same directions. Rows in world axes, or in none, stay.
void tni_joint_turn_back(const tn_model* model, const tni_joint* joint, const tni_mat3* R0,
                         const tni_mat3* R, double* values);
/// Force and torque on body 2, at its anchor, of one row's multiplier, and of all of a joint's.
tn_wrench tni_row_wrench(const tn_model* model, const tni_joint* joint, tni_sides sides,
                         const tni_row* row, double lambda);
tn_wrench tni_joint_reaction(const tn_model* model, const tni_joint* joint, tni_sides sides,
                             double time, const double* z, const double* lambda);
/// The force of it alone, which joints of points and square axes need no rows for.
tn_vec3 tni_joint_reaction_force(const tn_model* model, const tni_joint* joint, tni_sides sides,
                                 double time, const double* z, const double* lambda);
/// Adds the generalized force tau along a row: f += tau J^T.
void tni_joint_push(const tn_model* model, const tni_joint* joint, tni_sides sides,
                    const tni_row* row, double tau, double* f);

/// A hard limit as a row: C is what is left before it is reached (negative: beyond), so that C >= 0
/// is asked for and a positive force pushes inward. Pushes are for the joint's frames.
tni_row tni_limit_row(const tn_model* model, const tni_limit* limit, const tni_view* views,
                      const double* z);

/// Two bodies that meet at a point, which moves over both. Body 2 has a round shape, or a vertex,
/// about its anchor. For bodies that have an angular velocity, or do not turn.
typedef struct tni_meeting {
    tni_motion D;             ///< from the anchor on body 1 to the one on body 2
    tn_vec3    arm, arm_rate; ///< from the anchor on body 2 to the point
    tn_vec3    w1, w2;        ///< angular velocities
} tni_meeting;
/// Fills the arm: to the lowest point, seen along n, of a sphere, or of the rim of a disc about an
/// axis that is not along n. Of n and axis, no second rates are used.
void tni_meet_round(const tni_motion* n, const tni_motion* axis, double radius,
                    tni_meeting* meeting);
/// The velocity along the unit vector a of body 2's matter at the point less that of body 1's, as a
/// row: rate, gamma, pushes at the anchors; C is 0. Of a, no second rate is used.
void tni_meeting_row(const tni_meeting* meeting, const tni_motion* a, tni_row* row);

/// All joints' coordinates, angles counted on from z.
void tni_follow_coordinates(const tn_model* model, const tni_view* views, double* z);
/// forward_kinematics.c: whether joints say where their bodies are, by numbers that are finite. velocities: NULL if there are none.
TN_NODISCARD tn_result tni_check_coordinates(const tn_model* model, const double* positions,
                                             const double* velocities, tn_why* why);

/// Where the values of a constraint go; each may be NULL.
typedef struct tni_rows_out {
    double*  C;
    double*  rate;
    double*  gamma;
    double** J; ///< a block for each edge of the constraint, row_count x dim, row-major
    double** K; ///< of constraints that push otherwise: the directions of their force, as J
} tni_rows_out;

enum { TNI_COMMON_LANES = 4, TNI_COMMON_KINDS = 16 };

/// Four joints with the same parts between bodies that are rigid or stand still: see common_joints.c.
typedef struct tni_common_group {
    int          row_count;
    tni_row_part part[TNI_JOINT_ROWS_MAX];
    int          constraint[TNI_COMMON_LANES];
    int          edge[TNI_COMMON_LANES][2]; ///< to body 1 and body 2; -1: it stands still
} tni_common_group;

typedef struct tni_commons {
    int               count;
    tni_common_group* group;
    uint8_t*          in;    ///< by constraint: it is in a group
    int               width; ///< of vectors (math/simd.h); the bits are the same
} tni_commons;

TN_NODISCARD tn_result tni_commons_create(tni_arena* arena, const tn_model* model,
                                          tni_commons* commons);
/// The rows of four joints, as tni_constraint_rows has them, to their places in C, rate and gamma
/// of all constraints. block: by lane and side, J of its body, 6 numbers a row; NULL: none of them.
void tni_common_values(const tn_model* model, const tni_commons* commons,
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
