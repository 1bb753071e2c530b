// state: coordinates, velocities, joint coordinates and time; views of the bodies at a
// configuration.
#ifndef TNI_STATE_H
#define TNI_STATE_H

#include "model/model.h"
#include "state/warm_start.h"
#include "tenon/state.h"

/// Pose of a target set by the user at `time`; afterwards it moves on with `velocity`.
typedef struct tni_target_pose {
    bool     given;
    double   time;
    tn_frame pose;
    tn_twist velocity;
} tni_target_pose;

/// Spring and damper from a point of a body to a point that the user moves.
typedef struct tni_handle {
    int     body; ///< 0: the handle is not in use
    tn_vec3 p;    ///< attachment point, from the centre of mass, body axes [m]
    double  stiffness, damping;
    double  time; ///< when it was last moved [s]; afterwards it moves on with `velocity`
    tn_vec3 position, velocity;
} tni_handle;

/// Inputs from outside the simulation. They stay until the user changes them.
typedef struct tni_inputs {
    tni_target_pose* targets; ///< by target of the model
    tni_handle       handles[TN_HANDLES_MAX];
    bool             camera_given;
    tn_vec3          camera;
} tni_inputs;

/// What multistep methods and warm starts keep of the last step. h: length of that step [s]; 0:
/// nothing is known.
typedef struct tni_step_history {
    double  h;
    bool    two;         ///< mean and momentum are known too: two-step formulas (BDF2) may be used
    bool    struck;      ///< something was met in it: velocities have jumped
    double* multipliers; ///< joint forces: by row, then by limit
    double* mean;        ///< mean velocity of the step, laid out as u
    double* momentum;    ///< M u at its start, laid out as u
} tni_step_history;

/// Capacity for the joint coordinates and joint velocities of one tree link. See
/// adaptive/joint_tree.h.
enum { TNI_TREE_LINK_NUMBERS = 11, TNI_TREE_LINK_FREEDOMS = 6 };

/// State of the adaptive method: trees in joint coordinates and the set of simulated joints.
typedef struct tni_reduced {
    bool    known; ///< false: bodies were moved from outside since, so q and v are stale
    bool    kept;  ///< trees exist, and some may still match the bodies
    int     step;  ///< steps taken since it became known
    double *q,
        *v; ///< TNI_TREE_LINK_NUMBERS (q) and TNI_TREE_LINK_FREEDOMS (v) for each movable body
    uint8_t* active; ///< by joint: 1 if simulated
} tni_reduced;

/// One block: the arrays lie behind the struct.
struct tn_state {
    const tn_model*  model;
    size_t           bytes;
    tni_inputs       inputs;
    tni_step_history history;
    tni_warm_start   warm_start;
    tni_reduced      reduced;
    double           time;
    double*          q; ///< rigid: x y z of the centre of mass, qw qx qy qz; planar: x y angle;
                        ///< particle: x y z; affine: x y z, then the columns of A
    double* u;          ///< rigid: velocity of the centre of mass, angular velocity, ...
    double*
        rest_time; ///< by part of the mechanism: how long it has been at rest [s]; asleep: below 0.
                   ///< See step/sleep.c
    double* z;     ///< joint coordinates of the last step, so that angles count full turns
};

/// Position and velocity of a body in world axes, derived from its numbers in q and u.
typedef struct tni_view {
    tn_vec3       x; ///< centre of mass
    tni_mat3      R; ///< body axes to world; affine: A
    tn_vec3       v; ///< of the centre of mass
    tn_vec3       w; ///< affine: unused
    const double* q; ///< the body's own numbers
    const double* u;
} tni_view;

/// One body, or all of them, at (time, q, u). u NULL: at rest.
void tni_view_body(const tn_model* model, int index, double time, const double* q, const double* u,
                   tni_view* view);
void tni_views(const tn_model* model, double time, const double* q, const double* u,
               tni_view* views);

/// A point or an axis of a body: position, velocity, and acceleration at zero udot (velocity
/// terms).
typedef struct tni_motion {
    tn_vec3 at, rate, bias;
} tni_motion;
tni_motion tni_point_motion(const tni_body* body, const tni_view* view, tn_vec3 p);
tni_motion tni_axis_motion(const tni_body* body, const tni_view* view, tn_vec3 d);

/// A generalised force on a body: a force at a point, covectors on the three axes of a frame, and a
/// torque; what a constraint row multiplies its multiplier with.
typedef struct tni_push {
    tn_vec3 force;
    tn_vec3 axis[3]; ///< covector on each axis of the frame
    tn_vec3 torque;
    bool    on_axis[3];
} tni_push;

/// row[0 .. dim) = (Jacobian)^T push, for a frame (p, F) in the body.
void tni_push_row(const tni_body* body, const tni_view* view, tn_vec3 p, const tni_mat3* F,
                  const tni_push* push, double* row);
/// f += scale * (Jacobian)^T push
void tni_push_add(const tni_body* body, const tni_view* view, tn_vec3 p, const tni_mat3* F,
                  const tni_push* push, double scale, double* f);
/// A force at a point and a torque.
void tni_apply_wrench(const tni_body* body, const tni_view* view, tn_vec3 p, tn_vec3 force,
                      tn_vec3 torque, double* f);

/// Mass matrix of a body, dim x dim, row-major.
void tni_mass_block(const tni_body* body, const tni_view* view, double* M);
/// M u
void tni_mass_times(const tni_body* body, const tni_view* view, const double* u, double* out);

/// q_out = q moved by the tangent vector d (laid out as u); may be in place.
void tni_advance(const tn_model* model, const double* q, const double* d, double* q_out);
/// Free flight: coordinates and velocities after h [s] without forces; rotating bodies keep their
/// angular momentum. Bodies marked in asleep (NULL: none) stay put. Not in place. See flight.c.
void tni_fly(const tn_model* model, const uint8_t* asleep, double h, const double* q,
             const double* u, double* q_out, double* u_out);
/// One body: its turning and angular velocity after h.
void tni_turn_freely(const tni_mat3* inertia, double h, tn_quat* at, tn_vec3* w);
/// The same with vectors of `width` numbers (math/simd.h).
void tni_fly_as(const tn_model* model, const uint8_t* asleep, double h, const double* q,
                const double* u, int width, double* q_out, double* u_out);
/// Free flight with the mean velocity share * u1 + drift (drift NULL: 0), u1 being the velocity at
/// the end: u is the velocity at the start that has the momentum of the end.
void tni_fly_mean(const tn_model* model, double h, double share, const double* drift,
                  const double* q, const double* u, double* q_out, double* u_out);
/// The velocity, constant in world axes, that leads from q to q1 in h [s].
void tni_mean_velocity(const tn_model* model, double h, const double* q, const double* q1,
                       double* u);
/// Rate of the tangent vector d when the configuration q + d moves with u.
void tni_tangent_rate(const tn_model* model, const double* d, const double* u, double* rate);

/// Pose of the body frame, velocity of its origin.
tn_frame tni_view_pose(const tni_body* body, const tni_view* view);
tn_twist tni_view_velocity(const tni_body* body, const tni_view* view);

/// Drops what was kept of the last step (history, warm start): call it after moving anything from
/// outside.
void tni_state_forget(tn_state* state);
/// The view of one body of a state.
tni_view tni_state_view(const tn_state* state, int body);

#endif
