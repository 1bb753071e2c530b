// tenon/state.h: positions and velocities of everything at one time. One block, copied whole.
#ifndef TENON_STATE_H
#define TENON_STATE_H

#include "tenon/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_state tn_state; ///< positions, velocities, time; one block, copied whole

/// A state at the scene's initial configuration. The model must outlive it. TN_ERR_MEMORY only.
TN_NODISCARD TN_API tn_result tn_state_create(const tn_model* model, tn_state** state);
TN_API void                   tn_state_free(tn_state* state);  ///< NULL is allowed
TN_API void tn_state_copy(tn_state* to, const tn_state* from); ///< both of the same model
TN_API void tn_state_reset(tn_state* state); ///< back to the initial configuration
/// Copies into a state of another model with the same bodies, joints and targets, as when a scene
/// was changed a little and compiled anew: time, positions, velocities, pushed targets and handles,
/// but not what methods remember of the last step (warm starts). TN_ERR_MODEL, and nothing changes,
/// where the models do not fit.
TN_NODISCARD TN_API tn_result tn_state_carry(tn_state* to, const tn_state* from);
TN_API double                 tn_state_time(const tn_state* state);  ///< [s]
TN_API const tn_model*        tn_state_model(const tn_state* state); ///< that it was created for

/// Pose of the body frame and velocity of its origin. Affine bodies: the nearest rotation (the
/// identity when turned inside out), and as angular velocity the skew part of Adot A^-1.
TN_API tn_frame tn_state_pose(const tn_state* state, tn_body_id body);
TN_API tn_twist tn_state_velocity(const tn_state* state, tn_body_id body);
/// TN_ERR_MODEL, and nothing changes: static and kinematic bodies, and poses or velocities that
/// this kind of body cannot have.
TN_NODISCARD TN_API tn_result tn_state_set_pose(tn_state* state, tn_body_id body, tn_frame pose);
TN_NODISCARD TN_API tn_result tn_state_set_velocity(tn_state* state, tn_body_id body,
                                                    tn_twist velocity);

/// Method impulse: whether a body sleeps, that is rests and is not simulated until something
/// touches it; and waking it, with all that fell asleep together with it.
TN_API bool tn_state_asleep(const tn_state* state, tn_body_id body);
TN_API void tn_state_wake(tn_state* state, tn_body_id body);

/// Method adaptive: whether a joint was simulated in the last step. Always true by other methods.
TN_API bool tn_state_joint_active(const tn_state* state, tn_joint_id joint);
/// Method adaptive: where the camera is from now on; NULL: where the settings say.
TN_NODISCARD TN_API tn_result tn_state_set_camera(tn_state* state, const tn_vec3* position);

/// 64-bit hash of time, positions and velocities: equal bits, equal hash, on every machine.
TN_API uint64_t tn_state_hash(const tn_state* state);

/// All coordinates and velocities, body after body; docs/state.md has the layout of each kind. The
/// arrays are valid as long as the state; what changes the state changes them.
TN_API int           tn_state_coordinate_count(const tn_state* state);
TN_API int           tn_state_velocity_count(const tn_state* state);
TN_API const double* tn_state_coordinates(const tn_state* state);
TN_API const double* tn_state_velocities(const tn_state* state);

// ---- From outside: poses of targets, and handles --------------------------------------------------

enum { TN_HANDLES_MAX = 8 };

/// Where a target is from now on, instead of its keys, until it is set again. It moves on with the
/// velocity (NULL: it rests). pose NULL: back to its keys. TN_ERR_MODEL, and nothing changes: no
/// such target, or numbers that are no pose.
TN_NODISCARD TN_API tn_result tn_state_set_target(tn_state* state, tn_target_id target,
                                                  const tn_frame* pose, const tn_twist* velocity);
/// Force [N] and torque [N m] of a target on its body, at its point, world axes; zero: no such
/// target.
TN_API tn_wrench tn_state_target_force(const tn_state* state, tn_target_id target);

/// Attaches a handle, a spring [N/m] and damper [N s/m] for a mouse or a haptic device, to a point
/// of a body (in its frame [m]). handle: 0 .. TN_HANDLES_MAX - 1. Its other end starts where the
/// point is.
TN_NODISCARD TN_API tn_result tn_state_grab(tn_state* state, int handle, tn_body_id body,
                                            tn_vec3 point, double stiffness, double damping);
/// Moves the other end of a handle to this position (world); it goes on with the velocity until it
/// is moved again.
TN_NODISCARD TN_API tn_result tn_state_move(tn_state* state, int handle, tn_vec3 position,
                                            tn_vec3 velocity);
TN_API void                   tn_state_release(tn_state* state, int handle); ///< detaches it
TN_API tn_vec3 tn_state_handle_force(const tn_state* state, int handle);     ///< on the body [N]
/// A handle as it is now, in the world.
typedef struct tn_handle {
    tn_body_id body;
    tn_vec3    point;  ///< of the body, where it is attached [m]
    tn_vec3    target; ///< its other end [m]
    tn_vec3    force;  ///< on the body [N]
} tn_handle;
/// False, and *what is untouched, where the handle is not attached.
TN_API bool tn_state_handle(const tn_state* state, int handle, tn_handle* what);

// ---- Measures ------------------------------------------------------------------------------------

typedef struct tn_energy {
    double kinetic; ///< [J]
    double gravity; ///< [J]; 0 at the world's origin
    double elastic; ///< [J]: springs, also of joints and targets; affine and user-defined bodies
} tn_energy;
TN_API tn_energy tn_state_energy(const tn_state* state);

/// Of all bodies that can move.
typedef struct tn_momentum {
    tn_vec3 linear;  ///< [kg m/s]
    tn_vec3 angular; ///< about the world's origin [kg m^2/s]
} tn_momentum;
TN_API tn_momentum tn_state_momentum(const tn_state* state);

/// Largest violation of the joint's rows: of position [m or rad], and of velocity [m/s or rad/s].
TN_API double tn_state_joint_error(const tn_state* state, tn_joint_id joint);
TN_API double tn_state_joint_velocity_error(const tn_state* state, tn_joint_id joint);
/// Free coordinates [rad or m] and their rates, tn_model_joint_coordinates() numbers each. Angles
/// count full turns.
TN_API void tn_state_joint_position(const tn_state* state, tn_joint_id joint, double* position);
TN_API void tn_state_joint_velocity(const tn_state* state, tn_joint_id joint, double* velocity);
/// Places the bodies of trees so that the joints have these coordinates and rates, joint after
/// joint, tn_model_coordinate_count() numbers each; velocities NULL: at rest. Floating roots, and
/// bodies without joints, stay as they are. On failure (a loop, a joint whose coordinates do not
/// determine the pose of its body, a number that is not finite) nothing changes.
TN_NODISCARD TN_API tn_result tn_state_set_joints(tn_state* state, const double* positions,
                                                  const double* velocities, tn_why* why);
/// World position of the joint's anchor on its first (side 0) or second body (side 1).
TN_API tn_vec3 tn_state_joint_anchor(const tn_state* state, tn_joint_id joint, int side);

#ifdef __cplusplus
}
#endif
#endif
