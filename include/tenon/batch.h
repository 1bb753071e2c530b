// tenon/batch.h: many copies of one model, stepped together. Copies do not act on each other.
#ifndef TENON_BATCH_H
#define TENON_BATCH_H

#include "tenon/step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_batch tn_batch; ///< many states of one model, and what steps them

/// `count` copies, each at the scene's initial configuration. settings NULL: those of the scene.
/// The host's threads (tn_host.each) share the copies; host NULL: that of the model. The model must
/// outlive the batch. All memory that steps need is allocated here, but for contacts: see
/// tn_stepper_create().
TN_NODISCARD TN_API tn_result tn_batch_create(const tn_model* model, const tn_settings* settings,
                                              int count, const tn_host* host, tn_batch** batch,
                                              tn_why* why);
TN_API void                   tn_batch_free(tn_batch* batch); ///< NULL is allowed
TN_API int                    tn_batch_count(const tn_batch* batch);
TN_API tn_method              tn_batch_method(const tn_batch* batch); ///< what `auto` became
TN_API size_t                 tn_batch_bytes(const tn_batch* batch);  ///< memory held
/// Copies that share one vector instruction; 1: the method steps this model's copies one by one.
TN_API int tn_batch_lanes(const tn_batch* batch);

/// The state of one copy, to be read and changed between steps by all functions of tenon/state.h
/// (poses, velocities, targets, handles, tn_state_copy in and out). It belongs to the batch and is
/// valid as long as that is.
TN_API tn_state*       tn_batch_state(tn_batch* batch, int copy);
TN_API const tn_state* tn_batch_view(const tn_batch* batch, int copy);

/// How a step went, over all copies. Errors are those of the copies that were stepped; of several
/// copies with the same error, the first is named.
typedef struct tn_batch_report {
    int    stepped_count; ///< copies that were advanced
    int    failed_count;  ///< copies whose step failed: their states are as before
    int    failed_copy;   ///< the first of them; -1: none
    int    alone_count; ///< copies that were stepped one by one after all, outside the vector lanes
    double joint_error; ///< largest joint position error after the step [m or rad]
    int    worst_copy;  ///< the copy that has it; -1: no copy was stepped
    tn_joint_id worst_joint;    ///< the joint that has it
    double      velocity_error; ///< largest joint velocity error [m/s or rad/s]
    int         iteration_most; ///< iterations, the most of any copy
    int         substep_most;   ///< parts that the step was split into, the most of any copy
    int         unclosed_count; ///< substeps accepted although a joint did not close, of all copies
} tn_batch_report;

/// Advances every copy by h: each gets the bits that tn_stepper_step would give it alone, whatever
/// its neighbours, the number of threads and the length of vectors. A copy that fails keeps its
/// state, and the others go on; then the result, and *why, are those of the first that failed.
/// report may be NULL.
TN_NODISCARD TN_API tn_result tn_batch_step(tn_batch* batch, double h, tn_batch_report* report,
                                            tn_why* why);
/// The result of one copy's last step. report (may be NULL): all that tn_stepper_step() reports but
/// phases and rank margins.
TN_API tn_result tn_batch_outcome(const tn_batch* batch, int copy, tn_step_report* report);

// ---- All copies at once, in flat arrays: copy after copy, in each its bodies, joints or targets ----

enum { TN_BATCH_POSE = 7, TN_BATCH_VELOCITY = 6 };

/// Of every body of the scene, static and kinematic ones too: position of its frame [m] and
/// orientation (w x y z); TN_BATCH_POSE numbers each.
TN_API void tn_batch_poses(const tn_batch* batch, double* poses);
/// Of every body: velocity of the frame's origin [m/s] and angular velocity [rad/s];
/// TN_BATCH_VELOCITY numbers each.
TN_API void tn_batch_velocities(const tn_batch* batch, double* velocities);
/// Free coordinates of all joints and their rates, tn_model_coordinate_count() of a copy. Either
/// may be NULL.
TN_API void tn_batch_joints(const tn_batch* batch, double* positions, double* velocities);
/// Places all copies by their joints, as tn_state_set_joints(). velocities NULL: at rest. A copy
/// that cannot be placed stays as it was; then the result, and *why, are those of the first such
/// copy.
TN_NODISCARD TN_API tn_result tn_batch_set_joints(tn_batch* batch, const double* positions,
                                                  const double* velocities, tn_why* why);
/// Where all targets of all copies are from now on, as tn_state_set_target(): TN_BATCH_POSE numbers
/// a target, and TN_BATCH_VELOCITY (velocities NULL: they rest). A target whose numbers are no pose
/// stays as it was; then the result, and *why, are those of the first such target.
TN_NODISCARD TN_API tn_result tn_batch_set_targets(tn_batch* batch, const double* poses,
                                                   const double* velocities, tn_why* why);

#ifdef __cplusplus
}
#endif
#endif
