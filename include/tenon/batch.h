// tenon/batch.h: many copies of one model, stepped together. Copies know nothing of each other.
#ifndef TENON_BATCH_H
#define TENON_BATCH_H

#include "tenon/step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_batch tn_batch; ///< many states of one model, and what steps them

/// So many copies, each at the scene's initial configuration. settings NULL: those of the scene. The host's threads
/// (tn_host.each) share the copies; host NULL: that of the model. The model must outlive it. Everything that steps
/// will ever need is allocated here, with the exception that tn_stepper_create makes.
TN_NODISCARD TN_API tn_result tn_batch_create(const tn_model* model, const tn_settings* settings,
                                              int count, const tn_host* host, tn_batch** batch,
                                              tn_why* why);
TN_API void                   tn_batch_free(tn_batch* batch); ///< NULL is allowed
TN_API int                    tn_batch_count(const tn_batch* batch);
TN_API tn_method              tn_batch_method(const tn_batch* batch); ///< what `auto` became
TN_API size_t                 tn_batch_bytes(const tn_batch* batch);
/// How many copies are stepped by one instruction, where the method can; 1: it cannot, they go one by one.
TN_API int tn_batch_lanes(const tn_batch* batch);

/// The state of one copy itself: to be read and changed between steps by all functions of tenon/state.h (poses,
/// velocities, targets, handles, tn_state_copy in and out). It stays the batch's.
TN_API tn_state*       tn_batch_state(tn_batch* batch, int copy);
TN_API const tn_state* tn_batch_view(const tn_batch* batch, int copy);

/// How a step went. Errors are those of the copies that were stepped; the first copy of several that are alike.
typedef struct tn_batch_report {
    int         stepped_count;  ///< copies that were advanced
    int         failed_count;   ///< that were not: they are as they were
    int         failed_copy;    ///< the first of them; -1: none
    int         alone_count;    ///< copies that left their lanes, to be stepped by themselves
    double      joint_error;    ///< largest joint position error after the step [m or rad]
    int         worst_copy;     ///< that has it; -1: no copy was stepped
    tn_joint_id worst_joint;    ///< likewise
    double      velocity_error; ///< largest joint velocity error [m/s or rad/s]
    int         iteration_most; ///< iterations, of any copy
    int         substep_most;   ///< pieces of the step, likewise
    int         unclosed_count; ///< of them taken although a joint did not close, of all copies
} tn_batch_report;

/// Advances every copy by h: each gets the bits that tn_stepper_step would give it alone, whatever its neighbours,
/// the number of threads and the length of vectors. A copy that fails keeps its state, and the others go on; then
/// the result, and *why, are those of the first that failed. report may be NULL.
TN_NODISCARD TN_API tn_result tn_batch_step(tn_batch* batch, double h, tn_batch_report* report,
                                            tn_why* why);
/// How the last step of one copy went, and (NULL: never mind) all that tn_stepper_step reports of it but
/// phases and rank margins.
TN_API tn_result tn_batch_outcome(const tn_batch* batch, int copy, tn_step_report* report);

// ---- All copies at once, in flat arrays: copy after copy, then body, joint or target ---------------------------

enum { TN_BATCH_POSE = 7, TN_BATCH_VELOCITY = 6 };

/// Of every body of the scene, static and kinematic ones too: position of its frame, and its orientation (w x y z);
/// TN_BATCH_POSE numbers each.
TN_API void tn_batch_poses(const tn_batch* batch, double* poses);
/// Likewise velocity of the frame's origin and angular velocity; TN_BATCH_VELOCITY numbers each.
TN_API void tn_batch_velocities(const tn_batch* batch, double* velocities);
/// Free coordinates of all joints and their rates, tn_model_coordinate_count() of a copy. Either may be NULL.
TN_API void tn_batch_joints(const tn_batch* batch, double* positions, double* velocities);
/// The other way round, as tn_state_set_joints: velocities NULL: at rest. A copy that cannot be placed stays as it
/// was; then the result, and *why, are those of the first such one.
TN_NODISCARD TN_API tn_result tn_batch_set_joints(tn_batch* batch, const double* positions,
                                                  const double* velocities, tn_why* why);
/// Where all targets of all copies are from now on, as tn_state_set_target: TN_BATCH_POSE numbers a target, and
/// TN_BATCH_VELOCITY (velocities NULL: they rest). Poses that are none are refused, and theirs stay as they were.
TN_NODISCARD TN_API tn_result tn_batch_set_targets(tn_batch* batch, const double* poses,
                                                   const double* velocities, tn_why* why);

#ifdef __cplusplus
}
#endif
#endif
