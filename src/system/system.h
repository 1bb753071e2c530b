// system: the only interface between mechanics and algebra. A configuration of bodies, joints and
// forces goes in; velocities or accelerations, multipliers and reactions come out, with the
// accuracy of the solve.
//
//     M u + J^T mu = b,   J u = r        lambda = -mu
// is solved for accelerations (b = F, r = -c), for velocities where f = m v, for velocity changes
// under impulses, and for the smallest displacement that closes the joints. c = gamma + 2/T rate +
// 1/T^2 C with Baumgarte's time T, gamma alone without.
#ifndef TNI_SYSTEM_H
#define TNI_SYSTEM_H

#include "force/force.h"
#include "system/auxiliary.h"
#include "tenon/step.h"

/// A configuration with velocities. u NULL: all movable bodies are at rest.
typedef struct tni_configuration {
    double        time;
    const double *q, *u;
    const double* z; ///< last joint coordinates, so that angles count full turns
} tni_configuration;

typedef struct tni_system {
    const tn_model*   model;
    const tni_split*  split; ///< what is factored, and which rows are auxiliary
    tni_saddle*       saddle;
    tni_auxiliary     auxiliary;        ///< solves for auxiliary constraints and unilaterals
    tni_unilaterals   unilaterals;      ///< what was found, evaluated where the system is
    tni_view*         views;            ///< at the last evaluation
    tni_common_joints commons;          ///< joints whose rows are computed four at a time
    double *          C, *rate, *gamma; ///< of all rows at the last evaluation
    double*           rhs;              ///< b, then r
    double*           answer;           ///< u, then mu
    const tni_inputs* inputs;           ///< targets and handles set by the user; NULL: none
    const double*     extra;            ///< additional forces, laid out as u; NULL: none
    double            regularisation;   ///< as created
    const uint8_t*    asleep;           ///< by body: sleeping, not evaluated; NULL: none
    double            within;           ///< as in tni_scene_view [s]
    tni_cut_damper    cut;              ///< by this, since it was cleared
    bool bounded; ///< dry friction, and forces of joints with bounds, are rows of the matrix
    struct tni_soft_rows*
        soft; ///< forces that are rows of the matrix, not of tni_system_forces; NULL: none
    const tni_mat3* stiffness; ///< by body: added to the inertia; NULL: none
    double (*clock)(void* user);
    void*     clock_user;
    tn_phases phases;
} tni_system;

/// What benchmarks compare the impulse method with; no setting asks for it. All zero: none of it.
typedef struct tni_impulse_variant {
    bool cholmod; ///< CHOLMOD factors spd and split, where it was built in (TENON_CHOLMOD)
    bool by_norm; ///< all rows are regularised by the norm of the matrix, as in Tomcin et al. 2014
} tni_impulse_variant;

/// The matrix of the impulse method.
typedef struct tni_impulse_matrix {
    const tn_impulse_settings* settings;
    tni_impulse_variant        variant;
} tni_impulse_matrix;

/// impulse: the formulation and how loops are regularised; NULL: bodies and joints in one matrix,
/// as single solves need it. TN_ERR_UNSUPPORTED: CHOLMOD cannot do it.
TN_NODISCARD tn_result tni_system_create(tni_arena* arena, const tn_model* model, tn_loops loops,
                                         const tni_impulse_matrix* impulse, tni_system** system);
/// Multiplies the regularisation by a factor, of trees too, from the next factorisation on; 1: as
/// created.
void tni_system_scale_regularisation(tni_system* system, double factor);
/// Whether rows may be redundant, or are solved as if they were.
bool tni_system_regularises(const tni_system* system);
/// Whether the matrix is J M^-1 J^T, or that of bodies split.
bool tni_system_is_schur(const tni_system* system);
/// Fills in what tn_stepper_solver reports. TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_system_solver(const tni_system* system, tn_solver* solver);
/// Memory for contacts and limits, outside the arena; whether it was too small.
size_t tni_system_bytes(const tni_system* system);
bool   tni_system_is_full(const tni_system* system);
/// Frees what is not in the arena. NULL is allowed.
void tni_system_free(tni_system* system);

/// Evaluates views and rows at a configuration; factors nothing.
void tni_system_evaluate(tni_system* system, const tni_configuration* at);
/// The same with J, for tni_system_add_joint_forces and the rates.
void tni_system_evaluate_whole(tni_system* system, const tni_configuration* at);
/// f -= J^T mu, J being that of the last whole evaluation or factorisation.
void tni_system_add_joint_forces(const tni_system* system, const double* mu, double* f);
/// p = M u at the last evaluation.
void tni_system_momentum(const tni_system* system, const double* u, double* p);
/// Evaluates a configuration and factors M and J there.
TN_NODISCARD tn_result tni_system_factor(tni_system* system, const tni_configuration* at,
                                         tn_why* why);
/// The same without the factorisation.
void tni_system_fill(tni_system* system, const tni_configuration* at);
/// What forces see at the last evaluation.
tni_scene_view tni_system_scene(const tni_system* system, const tni_configuration* at);
/// Solves with the last factorisation and the current unilaterals; b NULL: zero. The answer is u
/// (u_count) and mu (row_count) in system->answer. exact: loops are refined to the unregularised
/// answer. An iteration that measures its own error does without: its rows are consistent only at
/// the solution, and exact solves on the way would amplify the difference.
TN_NODISCARD tn_result tni_system_solve(tni_system* system, const double* b, const double* r,
                                        bool exact, tn_why* why);
/// The same with joints alone, whatever touches.
TN_NODISCARD tn_result tni_system_solve_joints(tni_system* system, const double* b, const double* r,
                                               bool exact, tn_why* why);

/// Fails with the name of the joint or body of a row of the linear system.
TN_NODISCARD tn_result tni_system_fail_at(const tni_system* system, int row, tn_why* why);

/// f = all forces at the last evaluation. flying: without gyroscopic forces, which free flight
/// contains.
void tni_system_forces(tni_system* system, const tni_configuration* at, bool flying, double* f);
/// Energy at a configuration; evaluates the views only.
tn_energy tni_system_energy(tni_system* system, const tni_configuration* at);
/// Whether any force depends on velocities, handles in use included.
bool tni_system_has_damping(const tni_system* system);
/// The component of the constraint graph that a body belongs to.
int tni_system_part(const tni_system* system, int body);
/// u^T M u / 2 with the last factored masses.
double tni_system_kinetic(const tni_system* system, const double* u);
/// out = J u with the last factored J: the rows of one constraint, or all.
void tni_system_row_rates(const tni_system* system, const tni_constraint* constraint,
                          const double* u, double* out);
void tni_system_all_rates(const tni_system* system, const double* u, double* out);
/// Errors of all rows at the last evaluation, converted to the row directions at the views `start`:
/// see tni_joint_rotate_errors.
void tni_system_rotate_errors(const tni_system* system, const tni_view* start, double* values);

/// Whether the bodies of a constraint are asleep.
TNI_INLINE bool tni_system_sleeps(const tni_system* system, const tni_constraint* constraint)
{
    return system->asleep != NULL && constraint->edge_count > 0 &&
           system->asleep[system->model->edge_body[constraint->edge_start]];
}

/// The block of an edge of the constraint graph, in the matrix or auxiliary.
double* tni_system_j(const tni_system* system, int edge);

/// Whether some component closes loops.
bool tni_system_has_loops(const tni_system* system);
/// Accelerations at a configuration: factors, adds up the forces, solves. Unilaterals ask for the
/// acceleration in their target_acceleration. baumgarte: T [s], or 0.
TN_NODISCARD tn_result tni_system_accelerate(tni_system* system, const tni_configuration* at,
                                             double baumgarte, tn_why* why);
/// Velocities at a configuration under first-order dynamics, f = m v; at->u is not used.
TN_NODISCARD tn_result tni_system_drift(tni_system* system, const tni_configuration* at,
                                        double baumgarte, tn_why* why);

/// Largest |C| over position rows, largest |rate| over all rows, at the last evaluation. *worst is
/// its constraint.
double tni_system_position_error(const tni_system* system, int* worst);
double tni_system_velocity_error(const tni_system* system, int* worst);

/// Updates the joint coordinates z from the last evaluation; angles count full turns.
void tni_system_follow(const tni_system* system, double* z);
/// Constraint wrenches of the last answer, at the last evaluation, of all joints of the model.
void tni_system_reactions(const tni_system* system, const tni_configuration* at,
                          tn_wrench* reactions);
/// Accelerations of the origins of body frames from the last answer, of all bodies, the ground
/// first.
void tni_system_accelerations(const tni_system* system, tn_twist* accelerations);
/// Adds impulses at the origins of body frames (by body, without the ground) to b.
void tni_system_add_impulses(const tni_system* system, const tn_wrench* impulses, double* b);

/// Upper estimate of the response of row k of a unilateral to its own unit force, as last factored.
double tni_system_free_response(const tni_system* system, int unilateral, int k);
/// Largest residual of a row of the last solve; *row: its index in the linear system.
double tni_system_residual(const tni_system* system, int* row);
/// Accuracy of the last factorisation and solve; the report keeps the worst.
void tni_system_report(const tni_system* system, tn_step_report* report);
/// The joint id of a constraint; null for couplings.
tn_joint_id tni_constraint_id(const tn_model* model, int constraint);

#endif
