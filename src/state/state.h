// state: coordinates, velocities, joint coordinates, time; and bodies seen at such a state.
#ifndef TNI_STATE_H
#define TNI_STATE_H

#include "model/model.h"
#include "tenon/state.h"

/// The pose of a target that was set from outside, at a time; it moves on with the velocity.
typedef struct tni_pushed {
    bool     given;
    double   time;
    tn_frame pose;
    tn_twist velocity;
} tni_pushed;

/// A spring from a point of a body to a point that somebody moves.
typedef struct tni_handle {
    int     body; ///< 0: the handle is free
    tn_vec3 p;    ///< from the centre of mass, body axes
    double  stiffness, damping;
    double  time; ///< at which it was moved last; it moves on with the velocity
    tn_vec3 position, velocity;
} tni_handle;

/// What is done to a state from outside, until it is changed.
typedef struct tni_outside {
    tni_pushed* targets; ///< by target of the model
    tni_handle  handles[TN_HANDLES_MAX];
    bool        camera_given;
    tn_vec3     camera;
} tni_outside;

/// What a method with a memory keeps of the step before. h: of that step; 0: nothing is known.
typedef struct tni_memory {
    double  h;
    bool    two;         ///< the rest is known too, as two-step differences need it
    double* multipliers; ///< forces: by row, then by limit
    double* mean;        ///< velocity of the step, laid out as u
    double* momentum;    ///< M u at its start, laid out as u
} tni_memory;

/// Room for the configuration and the velocities of a body against its parent. See adaptive/joint_tree.h.
enum { TNI_TREE_LINK_NUMBERS = 11, TNI_TREE_LINK_FREEDOMS = 6 };

/// Trees in joint coordinates, and which joints are simulated, as the adaptive method left them.
typedef struct tni_reduced {
    bool    known; ///< else bodies were moved by others since
    bool    kept;  ///< trees are there that were left, and some may still be as they were
    int     step;  ///< how many were taken since it became known
    double *q,
        *v; ///< TNI_TREE_LINK_NUMBERS, TNI_TREE_LINK_FREEDOMS for each body that can be pushed, at most
    uint8_t* active; ///< by joint
} tni_reduced;

enum { TNI_PRESS_ROWS = 6, TNI_PRESS_NUMBERS = 12 }; ///< forces of a point in contact, twice

/// What pressed in the step before, by rising id: where the next step begins to look for
/// forces. The first of them, if there is no room for all.
typedef struct tni_warm_start {
    int       count;
    uint64_t* ids;
    double*   forces; ///< TNI_PRESS_ROWS each of its flight, then of its landing
} tni_warm_start;

/// One block: the arrays lie behind the struct.
struct tn_state {
    const tn_model* model;
    size_t          bytes;
    tni_outside     outside;
    tni_memory      memory;
    tni_warm_start  pressed;
    tni_reduced     reduced;
    double          time;
    double*         q; ///< rigid: x y z of the centre of mass, qw qx qy qz; planar: x y angle;
                       ///< particle: x y z; affine: x y z, then the columns of A
    double* u;         ///< rigid: velocity of the centre of mass, angular velocity, ...
    double* still; ///< by part: how long it has been at rest [s]; asleep: below 0. See step/sleep.c
    double* z;     ///< free coordinates of all joints at the last step, so that angles count turns
};

/// A body at a place, ready for geometry.
typedef struct tni_view {
    tn_vec3       x; ///< centre of mass
    tni_mat3      R; ///< body axes to world; affine: A
    tn_vec3       v; ///< of the centre of mass
    tn_vec3       w; ///< affine: unused
    const double* q; ///< the body's own numbers
    const double* u;
} tni_view;

/// One body, or all of them, at (time, q, u); u may be NULL: at rest.
void tni_view_body(const tn_model* model, int index, double time, const double* q, const double* u,
                   tni_view* view);
void tni_views(const tn_model* model, double time, const double* q, const double* u,
               tni_view* views);

/// A point or an axis of a body: where it is, its rate, and its second rate at zero udot.
typedef struct tni_motion {
    tn_vec3 at, rate, bias;
} tni_motion;
tni_motion tni_point_motion(const tni_body* body, const tni_view* view, tn_vec3 p);
tni_motion tni_axis_motion(const tni_body* body, const tni_view* view, tn_vec3 d);

/// What a generalized force does to a body: a force at a point, covectors on the three axes of a
/// frame, and a torque. The transposed Jacobian, in parts.
typedef struct tni_push {
    tn_vec3 force;
    tn_vec3 axis[3]; ///< on each axis of the frame
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

/// M of a body, dim x dim, row-major.
void tni_mass_block(const tni_body* body, const tni_view* view, double* M);
/// M u
void tni_mass_times(const tni_body* body, const tni_view* view, const double* u, double* out);

/// q_out = q moved by the tangent vector d (laid out as u); may be in place.
void tni_advance(const tn_model* model, const double* q, const double* d, double* q_out);
/// Where bodies that nothing pushes are after h, and how they move there: turning bodies keep their
/// angular momentum. Those asleep (by body; NULL: none) stay. Not in place. See flight.c.
void tni_fly(const tn_model* model, const uint8_t* asleep, double h, const double* q,
             const double* u, double* q_out, double* u_out);
/// One body: its turning and angular velocity after h.
void tni_turn_freely(const tni_mat3* inertia, double h, tn_quat* at, tn_vec3* w);
/// The same with vectors of `width` numbers (math/simd.h).
void tni_fly_as(const tn_model* model, const uint8_t* asleep, double h, const double* q,
                const double* u, int width, double* q_out, double* u_out);
/// The same for a step that goes with the mean velocity share u1 + drift (NULL: 0), u1 being that at the
/// end: u is the velocity at the start that has the momentum of the end.
void tni_fly_mean(const tn_model* model, double h, double share, const double* drift,
                  const double* q, const double* u, double* q_out, double* u_out);
/// The velocity, constant in world axes, that leads from q to q1 in h.
void tni_mean_velocity(const tn_model* model, double h, const double* q, const double* q1,
                       double* u);
/// Rate of d when a state moved by d moves with u.
void tni_tangent_rate(const tn_model* model, const double* d, const double* u, double* rate);

/// Pose of the body frame, velocity of its origin.
tn_frame tni_view_pose(const tni_body* body, const tni_view* view);
tn_twist tni_view_velocity(const tni_body* body, const tni_view* view);

int  tni_warm_start_capacity(const tn_model* model);
void tni_warm_start_copy(tni_warm_start* to, const tni_warm_start* from);
/// The step before counts no more: somebody moved something.
void tni_state_forget(tn_state* state);
/// The view of one body of a state.
tni_view tni_state_view(const tn_state* state, int body);

#endif
