// system: the one door between mechanics and algebra. Bodies, joints and forces at a place go in;
// velocities or accelerations, multipliers and reactions come out, with a word on how well the
// solve went.
//
//     M u + J^T mu = b,   J u = r        lambda = -mu
// is solved for accelerations (b = F, r = -c), for velocities where f = m v, for velocity changes
// under impulses, and for the smallest displacement that closes the joints. c = gamma + 2/T rate +
// 1/T^2 C with Baumgarte's time T, gamma alone without.
#ifndef TNI_SYSTEM_H
#define TNI_SYSTEM_H

#include "system/auxiliary.h"
#include "tenon/step.h"

/// A place in state space. u NULL: all that can be pushed is at rest.
typedef struct tni_configuration {
    double        time;
    const double *q, *u;
    const double* z; ///< joint coordinates a moment ago
} tni_configuration;

typedef struct tni_system {
    const tn_model*   model;
    const tni_split*  split; ///< what is factored, and what is solved beside it
    tni_saddle*       saddle;
    tni_auxiliary     auxiliary;        ///< constraints beside the matrix, and stops
    tni_view*         views;            ///< at the place last looked at
    tni_common_joints commons;          ///< joints whose rows are written four at a time
    double *          C, *rate, *gamma; ///< of all rows there
    double*           rhs;              ///< b, then r
    double*           answer;           ///< u, then mu
    const tni_inputs* inputs;           ///< what is done to the state from outside; NULL: nothing
    const double*     extra;            ///< more forces on all bodies, laid out as u; NULL: none
    double            regularisation;   ///< as created
    const uint8_t*    asleep;           ///< by body: left out; NULL: nobody is
    double            within;           ///< as in tni_scene_view
    const tni_mat3*   stiffness;        ///< by body: added to the inertia; NULL: none
    double (*clock)(void* user);
    void*     clock_user;
    tn_phases phases;
} tni_system;

/// impulse: what is factored, and how loops are regularised; NULL: bodies and joints in one matrix,
/// as single-shot solves want it.
TN_NODISCARD tn_result tni_system_create(tni_arena* arena, const tn_model* model, tn_loops loops,
                                         const tn_impulse_settings* impulse, tni_system** system);
/// More regularisation by a factor, of trees too, from the next factorisation on; 1: as created.
void tni_system_damp(tni_system* system, double factor);
/// Whether rows may be redundant, or are solved as if they were.
bool tni_system_regularises(const tni_system* system);
/// What the linear algebra is made of. TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_system_solver(const tni_system* system, tn_solver* solver);
/// What does not lie in the arena. NULL is allowed.
void tni_system_free(tni_system* system);

/// Looks at a place: views and rows, nothing is factored.
void tni_system_evaluate(tni_system* system, const tni_configuration* at);
/// The same with J, for tni_system_push_back and the rates.
void tni_system_look_whole(tni_system* system, const tni_configuration* at);
/// f -= J^T mu, J being the one last looked at whole or factored.
void tni_system_push_back(const tni_system* system, const double* mu, double* f);
/// p = M u at the place last looked at.
void tni_system_momentum(const tni_system* system, const double* u, double* p);
/// Looks at a place and factors M and J there.
TN_NODISCARD tn_result tni_system_factor(tni_system* system, const tni_configuration* at,
                                         tn_why* why);
/// With the last factorisation, and the stops as they are; b NULL: zero. The answer is u (u_count) and mu (row_count) in
/// system->answer. exact: loops are refined to the hard answer. An iteration that measures its own
/// error does without: rows that depend on each other only at the goal would be told apart on the
/// way.
TN_NODISCARD tn_result tni_system_solve(tni_system* system, const double* b, const double* r,
                                        bool exact, tn_why* why);

/// Fails with a row of the linear system in words.
TN_NODISCARD tn_result tni_system_fail_at(const tni_system* system, int row, tn_why* why);

/// f = all forces at the place last looked at. flying: but those that turning bodies feel from
/// their own turning.
void tni_system_forces(tni_system* system, const tni_configuration* at, bool flying, double* f);
/// Energy at a place, which it looks at without rows.
tn_energy tni_system_energy(tni_system* system, const tni_configuration* at);
/// Whether any of them may depend on velocities, handles that hold something now among them.
bool tni_system_damps(const tni_system* system);
/// The part of the mechanism, a component of the graph, that a body belongs to.
int tni_system_part(const tni_system* system, int body);
/// u^T M u / 2 with the masses last factored.
double tni_system_kinetic(const tni_system* system, const double* u);
/// out = J u, J being the one last factored: the rows of one constraint, or all of them.
void tni_system_row_rates(const tni_system* system, const tni_constraint* constraint,
                          const double* u, double* out);
void tni_system_all_rates(const tni_system* system, const double* u, double* out);
/// Errors of all rows where the system looks, as they are along the rows of where the views `start`
/// are: see tni_joint_rotate_errors.
void tni_system_rotate_errors(const tni_system* system, const tni_view* start, double* values);

/// Whether the bodies of a constraint are left out.
TNI_INLINE bool tni_system_sleeps(const tni_system* system, const tni_constraint* constraint)
{
    return system->asleep != NULL && constraint->edge_count > 0 &&
           system->asleep[system->model->edge_body[constraint->edge_start]];
}

/// The block of an edge of the constraint graph, wherever it is kept.
double* tni_system_j(const tni_system* system, int edge);

/// Whether some part of the mechanism closes loops.
bool tni_system_has_loops(const tni_system* system);
/// Accelerations at a place: factors, gathers the forces, solves. Stops ask for no acceleration of
/// their own. baumgarte: T, or 0.
TN_NODISCARD tn_result tni_system_accelerate(tni_system* system, const tni_configuration* at,
                                             double baumgarte, tn_why* why);
/// Velocities at a place where f = m v; at->u is not used.
TN_NODISCARD tn_result tni_system_drift(tni_system* system, const tni_configuration* at,
                                        double baumgarte, tn_why* why);

/// Largest |C| over rows that hold a position, largest |rate| over all rows, at the place last
/// looked at. *worst is the constraint that has it.
double tni_system_position_error(const tni_system* system, int* worst);
double tni_system_velocity_error(const tni_system* system, int* worst);

/// Angles counted on from z to the place last looked at.
void tni_system_follow(const tni_system* system, double* z);
/// Constraint wrenches of the last answer, at the place last looked at, of all joints of the model.
void tni_system_reactions(const tni_system* system, const tni_configuration* at,
                          tn_wrench* reactions);
/// Accelerations of body frames' origins from the last answer, of all bodies of the model, the
/// ground first.
void tni_system_accelerations(const tni_system* system, tn_twist* accelerations);
/// Adds impulses at body frames' origins (by body, without the ground) to b.
void tni_system_add_impulses(const tni_system* system, const tn_wrench* impulses, double* b);

/// What row k of a stop would do to itself, at most, at the place last factored.
double tni_system_free_response(const tni_system* system, int unilateral, int k);
/// Largest residual of a row of the last solve, and which (of all rows of the linear system).
double tni_system_residual(const tni_system* system, int* row);
/// The worst of the last factorisation and solve is kept in the report.
void tni_system_report(const tni_system* system, tn_step_report* report);
/// The joint that a constraint is to the user; null for couplings.
tn_joint_id tni_constraint_id(const tn_model* model, int constraint);

#endif
