// tenon/step.h: advancing a state, and one exact evaluation of forces and accelerations.
#ifndef TENON_STEP_H
#define TENON_STEP_H

#include "tenon/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_stepper tn_stepper; ///< a method with its workspace, for one model

/// Allocates all that the method needs: steps allocate nothing. Contacts are the exception: where
/// there is too little room for them, it is doubled and the step started again. settings NULL:
/// those of the scene. The model must outlive the stepper.
TN_NODISCARD TN_API tn_result tn_stepper_create(const tn_model* model, const tn_settings* settings,
                                                tn_stepper** stepper, tn_why* why);
TN_API void                   tn_stepper_free(tn_stepper* stepper);         ///< NULL is allowed
TN_API tn_method              tn_stepper_method(const tn_stepper* stepper); ///< what `auto` became
TN_API const tn_model*        tn_stepper_model(const tn_stepper* stepper);
TN_API size_t                 tn_stepper_bytes(const tn_stepper* stepper); ///< memory held

/// The linear algebra that a stepper uses.
typedef struct tn_solver {
    tn_formulation   formulation; ///< what `auto` became
    tn_implicit_form form;    ///< method implicit: what `auto` became; the tree form has no matrix
    tn_springs       springs; ///< method impulse: what method `auto` chose
    double           factor_flops;   ///< of one factorisation and what it needs, predicted
    double           matrix_numbers; ///< of what is factored: one triangle with its diagonal
    double           factor_numbers; ///< likewise of the factor: the rest is fill
} tn_solver;
/// TN_ERR_MEMORY only.
TN_NODISCARD TN_API tn_result tn_stepper_solver(const tn_stepper* stepper, tn_solver* solver);

/// Wall time of the parts of a step [s]; 0 unless a clock was given.
typedef struct tn_phases {
    double kinematics, assemble, factor, solve;
    double collide; ///< collision detection
    double columns; ///< building the matrix of auxiliary rows, W = J M^-1 J^T
    double contact; ///< solving for their forces: contacts, limits, loops beside the tree
} tn_phases;
/// A function that gives the seconds of a monotonic clock. Only tn_phases depend on it, never the
/// motion, unless adaptive.budget is set, which needs it.
TN_API void tn_stepper_set_clock(tn_stepper* stepper, double (*clock)(void* user), void* user);

/// What only the multiplier method counts.
typedef struct tn_multiplier_report {
    int event_count;  ///< times at which the step was split, for an impact or the end of a slide
    int coarse_count; ///< substeps taken with impulses over their whole length instead
} tn_multiplier_report;

/// What only the impulse method counts.
typedef struct tn_impulse_report {
    int stiffened_count; ///< bodies whose tension was treated implicitly, the most of any substep
} tn_impulse_report;

/// What `auto` found in a step, the most of any part of it.
typedef struct tn_auto_report {
    int loop_count;  ///< independent closed loops of joints, those through the ground included
    int stiff_count; ///< rows of springs, dampers, targets, handles and soft limits that an explicit
                     ///< step of h could not follow: h omega > 2, or h times damping over mass > 2
    int contact_count; ///< contact points, hard limits and ropes that pushed
} tn_auto_report;

/// What only the implicit method counts.
typedef struct tn_implicit_report {
    int factor_count; ///< factorisations
} tn_implicit_report;

/// What only the adaptive method counts.
typedef struct tn_adaptive_report {
    int    active_count; ///< joints that were simulated in the step
    int    visit_count;  ///< nodes of assembly trees that were visited
    int    choice_count; ///< articulated bodies whose active joints were chosen anew
    double left_out;     ///< accelerations neglected by the last choices: root of the summed
                         ///< squares
    double kinetic_loss; ///< energy that joints lost by no longer being active [J]
} tn_adaptive_report;

/// What a step may leave that is worth a look: it went on, but not as it should.
// name, word, what it means and what to do about it
#define TN_SUSPECT_LIST(X)                                                                       \
    X(TN_SUSPECT_ENERGY, "energy",                                                               \
      "it gained energy that no load, drive or spring gave it: take a smaller step")             \
    X(TN_SUSPECT_PENETRATION, "penetration",                                                     \
      "bodies overlap, or a hard limit or rope is exceeded: at the start, or by an impact too "  \
      "fast for the step")                                                                       \
    X(TN_SUSPECT_OPEN, "open",                                                                   \
      "the joint does not close: it passes a dead centre, or is asked for what it cannot do")    \
    X(TN_SUSPECT_CLAMPED, "clamped",                                                             \
      "its damping is too strong for an explicit step and was cut: use method auto or implicit") \
    X(TN_SUSPECT_JAM, "jam",                                                                     \
      "friction left no finite force that meets all conditions: impulses of first order in the " \
      "step were taken instead")

typedef enum tn_suspect_kind {
#define TN_SUSPECT_ENUM(name, word, why) name,
    TN_SUSPECT_LIST(TN_SUSPECT_ENUM)
#undef TN_SUSPECT_ENUM
        TN_SUSPECT_COUNT
} tn_suspect_kind;

TN_API const char* tn_suspect_word(tn_suspect_kind kind); ///< "energy"
TN_API const char* tn_suspect_why(tn_suspect_kind kind);  ///< what it means and what to do about it

/// One kind of them, in one step.
typedef struct tn_suspect {
    int    count;      ///< how often in this step; 0: nothing of the kind
    double amount;     ///< the largest: energy [J]; depth or joint error [m or rad]; share of the
                       ///< damping that was cut; violated contact condition [m/s]
    tn_joint_id joint; ///< the element at fault; null: it is the body
    tn_body_id  body;  ///< likewise; where both are null, it is the whole mechanism
} tn_suspect;

/// How the step went: first what all methods report, then a part for each method, all zero in the
/// others. `automatic` is of TN_METHOD_AUTO, which fills the part of what it became, too. Filled
/// whether or not the step succeeded.
typedef struct tn_step_report {
    double      h_taken;         ///< time advanced [s]
    double      joint_error;     ///< largest joint position error after the step [m or rad]
    tn_joint_id worst_joint;     ///< the joint that has it, or that failed
    double      velocity_error;  ///< largest joint velocity error after the step [m/s or rad/s]
    int         iteration_count; ///< iterations of the projection or of the joint correction
    int         substep_count;   ///< parts that the step was split into, rejected ones included
    int         unclosed_count;  ///< substeps accepted although a joint did not close
    // Linear algebra.
    double rank_margin;          ///< smallest relative pivot of parts that are trees; 1: rows far
                                 ///< from dependent, or no such part. Loops: tn_stepper_check()
    tn_joint_id rank_joint;      ///< the joint that has it
    int         redundant_count; ///< dependent rows the last tn_stepper_check() found; -1: no check
    int         regularised_count; ///< pivots that had to be replaced
    int         refinement_count;  ///< refinement steps spent, largest over the solves
    double      residual;          ///< largest row residual of the linear solves
    tn_joint_id residual_joint;    ///< the joint that has it
    // Contacts, hard limits and ropes.
    int    contact_count; ///< points in contact at the end
    double deepest;       ///< largest penetration of contacts, and largest excess over hard limits
                          ///< and lengths of ropes, at the end [m or rad]
    int    impact_count;  ///< impacts in this step: contacts, limits and ropes that were hit
    int    jam_count;     ///< substeps in which friction left no finite force
    int    auxiliary_count; ///< rows solved beside the tree, the most of any solve
    int    dependent_count; ///< of them equalities that follow from others, the most of any solve
    double complementarity; ///< largest violation of the conditions on them
    // What is worth a look.
    double energy_gain; ///< energy from nowhere: its change less the work of loads, drives, keys
                        ///< and handles; negative: lost [J]. Method auto, and impulse with
                        ///< implicit springs, only; 0 with user-defined bodies
    tn_suspect suspects[TN_SUSPECT_COUNT]; ///< by kind
    tn_phases  phases;                     ///< of this step

    tn_multiplier_report multiplier;
    tn_impulse_report    impulse;
    tn_implicit_report   implicit;
    tn_adaptive_report   adaptive;
    tn_auto_report       automatic;
} tn_step_report;

/// Advances the state by h. On failure the state is as it was before, and *why (optional) says at
/// which joint and why. report may be NULL.
TN_NODISCARD TN_API tn_result tn_stepper_step(tn_stepper* stepper, tn_state* state, double h,
                                              tn_step_report* report, tn_why* why);

/// count steps of h, the same as so many calls of tn_stepper_step(), bit for bit. Method adaptive
/// computes the poses of bodies only once, at the end. The report is of the last step, but h_taken
/// and, in method adaptive, visits, choices and losses are sums over all. On failure the state is
/// that after the last good step.
TN_NODISCARD TN_API tn_result tn_stepper_run(tn_stepper* stepper, tn_state* state, double h,
                                             int count, tn_step_report* report, tn_why* why);

/// Accelerations, multipliers and reactions at this state, exactly as Baraff 1996 (or velocities
/// where the settings say f = m v). Results are read with the functions below.
TN_NODISCARD TN_API tn_result tn_stepper_evaluate(tn_stepper* stepper, const tn_state* state,
                                                  tn_step_report* report, tn_why* why);
/// Acceleration of the body frame's origin, and angular acceleration, of the last evaluation.
TN_API tn_twist tn_stepper_acceleration(const tn_stepper* stepper, tn_body_id body);
/// Constraint force [N] and torque [N m] of the last evaluation on the joint's second body, at its
/// anchor.
TN_API tn_wrench tn_stepper_reaction(const tn_stepper* stepper, tn_joint_id joint);
/// The multipliers themselves, tn_model_joint_rows() numbers; valid until the stepper is used
/// again.
TN_API const double* tn_stepper_multipliers(const tn_stepper* stepper, tn_joint_id joint);
/// The rate of every velocity, laid out as tn_state_velocities(); valid likewise.
TN_API const double* tn_stepper_accelerations(const tn_stepper* stepper);

/// Applies impulses: velocities change at once, those of bodies connected by joints, too. impulses:
/// one wrench for each body of the model, in order (impulse [N s] and angular impulse [N m s] at
/// the body frame's origin, world axes); NULL: only makes the velocities satisfy the joints. On
/// failure nothing changes.
TN_NODISCARD TN_API tn_result tn_stepper_impulse(tn_stepper* stepper, tn_state* state,
                                                 const tn_wrench* impulses, tn_step_report* report,
                                                 tn_why* why);

/// Moves the state onto the constraints (positions, then velocities) by the smallest change.
TN_NODISCARD TN_API tn_result tn_stepper_project(tn_stepper* stepper, tn_state* state,
                                                 tn_step_report* report, tn_why* why);

/// A point where two bodies touch, after the last step or evaluation. Contacts of bodies that sleep
/// are not listed.
typedef struct tn_contact {
    tn_body_id body1, body2; ///< null: the world's floor
    tn_vec3    position;     ///< in the world
    tn_vec3    normal;       ///< unit, from body 1 to body 2
    double     gap;          ///< [m]; negative: penetration
    tn_vec3    force;        ///< on body 2: normal part and friction [N]
    double     slip;         ///< speed of body 2 along the surface [m/s]
} tn_contact;
TN_API int tn_stepper_contact_count(const tn_stepper* stepper);
/// Fills the first `capacity` of them and returns how many there are; contacts NULL, with capacity
/// 0: only counts. Takes time in proportion to their number.
TN_API int tn_stepper_contacts(const tn_stepper* stepper, tn_contact* contacts, int capacity);
/// Force of the hard limits on the joint's first coordinate [N m or N], or tension of a rope (>= 0)
/// [N], of the last step or evaluation. 0: no limit is reached.
TN_API double tn_stepper_limit_force(const tn_stepper* stepper, tn_joint_id joint);

// ---- Joint coordinates in, joint accelerations out (Baraff 1996, section 2.2) ---------------------

/// Accelerations of the free coordinates, tn_model_joint_coordinates() numbers [rad/s^2 or m/s^2],
/// of the last evaluation: the rates of what tn_state_joint_velocity() gives.
TN_API void tn_stepper_joint_acceleration(const tn_stepper* stepper, tn_joint_id joint,
                                          double* acceleration);
/// Forward dynamics of trees: sets the joints' positions and velocities (tn_state_set_joints()),
/// applies forces to the free coordinates, and gives the accelerations of these. All arrays have
/// tn_model_coordinate_count() numbers, joint after joint; forces NULL: none beyond the scene's
/// own. Fastest by TN_METHOD_ADAPTIVE, which may leave tn_stepper_acceleration() and
/// tn_stepper_reaction() as the last evaluation had them.
TN_NODISCARD TN_API tn_result tn_stepper_forward(tn_stepper* stepper, tn_state* state,
                                                 const double* positions, const double* velocities,
                                                 const double* forces, double* accelerations,
                                                 tn_why* why);

// ---- Assembly: closing joints that are far from closed ---------------------------------------------

typedef struct tn_assembly {
    double      error_before, error_after; ///< largest joint position error [m or rad]
    tn_joint_id worst_joint;               ///< the joint that has it, or that cannot close
    int         round_count;               ///< iterations
    double      moved, turned; ///< largest displacement [m] and rotation [rad] of a body's frame
    tn_body_id  moved_body;    ///< the body that was displaced most
} tn_assembly;

/// Closes joints that are far from closed, moving bodies as little as possible, and makes the
/// velocities satisfy the joints. On failure the state is as it was, and *why names a joint that
/// cannot close.
TN_NODISCARD TN_API tn_result tn_stepper_assemble(tn_stepper* stepper, tn_state* state,
                                                  tn_assembly* assembly, tn_why* why);

// ---- Mobility, redundant rows, and other checks of a mechanism -------------------------------------

typedef struct tn_row_name {
    tn_joint_id    joint;    ///< null: a coupling
    tn_coupling_id coupling; ///< null: a joint
    int            row;      ///< which row of it, from 0
} tn_row_name;

typedef struct tn_check {
    int         mobility;        ///< degrees of freedom: freedoms - rows + redundant rows
    int         redundant_count; ///< dependent rows
    double      assembly_error;  ///< largest joint error at this state [m or rad]
    tn_joint_id assembly_joint;  ///< the joint that has it
    double      velocity_error;  ///< largest joint velocity error at this state [m/s or rad/s]
    tn_joint_id velocity_joint;  ///< the joint that has it
    bool        contradictory;   ///< dependent rows cannot all be satisfied
    tn_row_name contradiction;   ///< one of them
    double
        rank_margin; ///< smallest relative pivot of independent rows; near 0: a singularity is near
    tn_joint_id rank_joint;         ///< the joint that has it
    double      mass_min, mass_max; ///< [kg]
    tn_body_id  mass_min_body, mass_max_body;
    int         part_count;     ///< groups of bodies that are connected by joints
    int         floating_count; ///< of them, not connected to the ground
} tn_check;

TN_NODISCARD TN_API tn_result tn_stepper_check(tn_stepper* stepper, const tn_state* state,
                                               tn_check* check, tn_why* why);
/// The redundant rows found by the last check, index < redundant_count.
TN_API tn_row_name tn_stepper_redundant_row(const tn_stepper* stepper, int index);

#ifdef __cplusplus
}
#endif
#endif
