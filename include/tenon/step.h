// tenon/step.h: advancing a state, and one exact evaluation of forces and accelerations.
#ifndef TENON_STEP_H
#define TENON_STEP_H

#include "tenon/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_stepper tn_stepper; ///< a method with its workspace, for one model

/// Allocates all that the method will ever need: nothing is allocated within a step. Room for contacts
/// is an exception: where there is too little, it is doubled and the step begun anew.
/// settings NULL: those of the scene. The model must outlive it.
TN_NODISCARD TN_API tn_result tn_stepper_create(const tn_model* model, const tn_settings* settings,
                                                tn_stepper** stepper, tn_why* why);
TN_API void                   tn_stepper_free(tn_stepper* stepper);         ///< NULL is allowed
TN_API tn_method              tn_stepper_method(const tn_stepper* stepper); ///< what `auto` became
TN_API size_t                 tn_stepper_bytes(const tn_stepper* stepper);

/// What the linear algebra of a stepper is made of.
typedef struct tn_solver {
    tn_formulation   formulation; ///< what `auto` became
    tn_implicit_form form; ///< method implicit: what `auto` became; then nullspace has no matrix
    double           factor_flops;   ///< of one factorisation and what it needs, predicted
    double           matrix_numbers; ///< of what is factored: one triangle with its diagonal
    double           factor_numbers; ///< likewise of the factor: the rest is fill
} tn_solver;
/// TN_ERR_MEMORY only.
TN_NODISCARD TN_API tn_result tn_stepper_solver(const tn_stepper* stepper, tn_solver* solver);

/// Wall time of the parts of a step [s]. Zero unless a clock was given. columns: responses of rows
/// beside the tree; contact: the problem between these rows.
typedef struct tn_phases {
    double kinematics, assemble, factor, solve, collide, columns, contact;
} tn_phases;
/// Seconds on any steady clock. Only phases depend on it, never the motion, unless adaptive.budget is set: which
/// then needs it.
TN_API void tn_stepper_set_clock(tn_stepper* stepper, double (*clock)(void* user), void* user);

/// How the step went. Filled whether or not the step succeeded. rank_margin is that of the parts
/// that are trees, 1 where there are none: loops are judged by tn_stepper_check.
typedef struct tn_step_report {
    double      h_taken;           ///< [s]; the time advanced
    double      joint_error;       ///< largest joint position error after the step [m or rad]
    tn_joint_id worst_joint;       ///< the joint that has it (or that failed)
    double      velocity_error;    ///< largest joint velocity error after the step [m/s or rad/s]
    double      rank_margin;       ///< smallest relative pivot over trees: 1 well apart
    tn_joint_id rank_joint;        ///< the joint that has it
    int         redundant_count;   ///< dependent rows the last tn_stepper_check found; -1: no check
    int         regularised_count; ///< pivots that had to be replaced
    int         refinement_count;  ///< refinement steps spent, largest over the solves
    int         iteration_count;   ///< projection iterations, or those of the joint correction
    int         substep_count;     ///< pieces of the step: adaptive integrator, rejected ones too
    int         factor_count;      ///< implicit: factorisations
    int         unclosed_count;    ///< of them taken although a joint did not close
    int         stiffened_count;   ///< bodies whose tension was treated implicitly, the most
    int         contact_count;     ///< points in contact at the end
    double deepest; ///< largest penetration of contacts, limits and ropes at the end [m or rad]
    int    auxiliary_count; ///< rows solved beside the tree, the most of any solve
    int    dependent_count; ///< of them equalities that follow from others, the most of any solve
    double complementarity; ///< largest violation of the conditions on them
    int    impact_count;    ///< blows in this step: contacts, limits and ropes that were hit
    int    event_count;     ///< times at which the step was split, for a blow or a slide that ends
    int    coarse_count;    ///< pieces of it taken with impulses over their whole length
    int    jam_count;       ///< of them because friction left no finite force
    double residual;        ///< largest row residual of the linear solves
    tn_joint_id residual_joint; ///< the joint that has it
    // Method adaptive.
    int active_count; ///< joints that were simulated in the step
    int visit_count;  ///< nodes of assembly trees that were visited
    int choice_count; ///< articulated bodies whose active joints were chosen anew
    double
        left_out; ///< by the last choices: root of the summed squares of accelerations not looked at
    double    kinetic_loss; ///< energy that joints lost by no longer being active [J]
    tn_phases phases;       ///< of this step
} tn_step_report;

/// Advances the state by h. On failure the state is as it was before, and *why (optional) says at
/// which joint and why. report may be NULL.
TN_NODISCARD TN_API tn_result tn_stepper_step(tn_stepper* stepper, tn_state* state, double h,
                                              tn_step_report* report, tn_why* why);

/// count steps of h, the same as so many calls of tn_stepper_step, bit for bit. Method adaptive places
/// bodies only once, at the end: what nobody looks at in between costs nothing. The report is of the last
/// step; method adaptive: visits, choices and losses are of all. On failure the state is where the last
/// good step left it, and h_taken says how far that is.
TN_NODISCARD TN_API tn_result tn_stepper_run(tn_stepper* stepper, tn_state* state, double h,
                                             int count, tn_step_report* report, tn_why* why);

/// Accelerations, multipliers and reactions at this state, exactly as Baraff 1996 (or velocities where
/// the settings say f = m v). Results are read with the functions below.
TN_NODISCARD TN_API tn_result tn_stepper_evaluate(tn_stepper* stepper, const tn_state* state,
                                                  tn_step_report* report, tn_why* why);
/// Acceleration of the body frame's origin, and angular acceleration, of the last evaluation.
TN_API tn_twist tn_stepper_acceleration(const tn_stepper* stepper, tn_body_id body);
/// Constraint force and torque of the last evaluation on the joint's second body, at its anchor.
TN_API tn_wrench tn_stepper_reaction(const tn_stepper* stepper, tn_joint_id joint);
/// The tn_model_joint_rows() multipliers themselves.
TN_API const double* tn_stepper_multipliers(const tn_stepper* stepper, tn_joint_id joint);
/// The rate of every velocity, laid out as tn_state_velocities().
TN_API const double* tn_stepper_accelerations(const tn_stepper* stepper);

/// A blow: body_count wrenches (impulse and angular impulse at the body frame's origin, world axes;
/// in the order of the model's bodies; NULL: none) change the velocities at once, and the joints pass
/// them on. With no wrench it makes velocities satisfy the joints. On failure nothing changes.
TN_NODISCARD TN_API tn_result tn_stepper_impulse(tn_stepper* stepper, tn_state* state,
                                                 const tn_wrench* impulses, tn_step_report* report,
                                                 tn_why* why);

/// Moves the state onto the constraints (positions, then velocities) by the smallest change.
TN_NODISCARD TN_API tn_result tn_stepper_project(tn_stepper* stepper, tn_state* state,
                                                 tn_step_report* report, tn_why* why);

/// A point where two bodies touch, after the last step or evaluation.
typedef struct tn_contact {
    tn_body_id body1, body2; ///< null: the world's floor
    tn_vec3    position;     ///< in the world
    tn_vec3    normal;       ///< unit, from body 1 to body 2
    double     gap;          ///< [m]; negative: penetration
    tn_vec3    force;        ///< on body 2: normal part and friction [N]
    double     slip;         ///< speed of body 2 along the surface [m/s]
} tn_contact;
TN_API int        tn_stepper_contact_count(const tn_stepper* stepper);
TN_API tn_contact tn_stepper_contact(const tn_stepper* stepper, int index);
/// Forces of hard limits on the joint's first coordinate, or of a rope (>= 0 when it pulls), of the last
/// step or evaluation. 0 where nothing is reached.
TN_API double tn_stepper_limit_force(const tn_stepper* stepper, tn_joint_id joint);

// ---- Joint coordinates in, joint accelerations out (Baraff 1996, section 2.2) ---------------------

/// Accelerations of the free coordinates, tn_model_joint_coordinates() numbers, of the last evaluation:
/// the rates of what tn_state_joint_velocity() gives.
TN_API void tn_stepper_joint_acceleration(const tn_stepper* stepper, tn_joint_id joint,
                                          double* acceleration);
/// Forward dynamics of trees: the state is placed by the joints (tn_state_set_joints), forces act on
/// the free coordinates, and the accelerations of these come out. All arrays have
/// tn_model_coordinate_count() numbers, joint after joint; forces NULL: none beyond the scene's own. Fastest by
/// TN_METHOD_ADAPTIVE, which may leave accelerations of bodies and reactions as the last evaluation had them.
TN_NODISCARD TN_API tn_result tn_stepper_forward(tn_stepper* stepper, tn_state* state,
                                                 const double* positions, const double* velocities,
                                                 const double* forces, double* accelerations,
                                                 tn_why* why);

// ---- Assembly: onto the joints from afar ----------------------------------------------------------

typedef struct tn_assembly {
    double      error_before, error_after; ///< largest joint position error [m or rad]
    tn_joint_id worst_joint;               ///< the joint that has it, or that cannot close
    int         round_count;
    double      moved, turned; ///< the most that a body's frame moved and turned [m], [rad]
    tn_body_id  moved_body;
} tn_assembly;

/// Moves a state whose joints are far from closing onto them, by as little as it can, and makes the
/// velocities fit. On failure the state is as it was, and *why names a joint that cannot close.
TN_NODISCARD TN_API tn_result tn_stepper_assemble(tn_stepper* stepper, tn_state* state,
                                                  tn_assembly* assembly, tn_why* why);

// ---- Is this mechanism what its author meant? ----------------------------------------------------

typedef struct tn_row_name {
    tn_joint_id joint;    ///< null: a coupling
    int         coupling; ///< index of the coupling when joint is null
    int         row;      ///< which row of it
} tn_row_name;

typedef struct tn_check {
    int         mobility;        ///< degrees of freedom left: freedoms - rows + redundant
    int         redundant_count; ///< dependent rows
    double      assembly_error;  ///< largest joint error at this state [m or rad]
    tn_joint_id assembly_joint;
    double      velocity_error;
    tn_joint_id velocity_joint;
    bool        contradictory; ///< the rows that depend on each other cannot all be met
    tn_row_name contradiction;
    double
        rank_margin; ///< smallest pivot that is not called redundant: small is near a singularity
    tn_joint_id rank_joint;
    double      mass_min, mass_max; ///< [kg]
    tn_body_id  mass_min_body, mass_max_body;
    int         part_count;     ///< groups of bodies that no joint ties together
    int         floating_count; ///< of them, not tied to the ground
} tn_check;

TN_NODISCARD TN_API tn_result tn_stepper_check(tn_stepper* stepper, const tn_state* state,
                                               tn_check* check, tn_why* why);
/// The redundant rows found by the last check, index < redundant_count.
TN_API tn_row_name tn_stepper_redundant_row(const tn_stepper* stepper, int index);

#ifdef __cplusplus
}
#endif
#endif
