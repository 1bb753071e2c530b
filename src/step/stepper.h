// stepper: a method with its workspace. Methods compute the next configuration into `next`; the
// stepper commits it to the state.
#ifndef TNI_STEPPER_H
#define TNI_STEPPER_H

#include "adaptive/adaptive.h"
#include "system/bounded_rows.h"
#include "system/implicit_system.h"

/// Result of a step: a sleeping island was touched; restart the step with it awake.
#define TNI_WOKEN ((tn_result)1000)

static const double tni_contact_gap = 1e-6; ///< gap up to which a contact is reported as touching
                                            ///< [m]

enum { TNI_STAGES_MAX = 7, TNI_HITS_MAX = 256 };

/// How often a contact or limit was hit within a step.
typedef struct tni_hit_count {
    uint64_t id;
    int      count;
} tni_hit_count;

/// Memory for one configuration.
typedef struct tni_configuration_buffer {
    double  time;
    double *q, *u, *z;
} tni_configuration_buffer;

/// Principal moments of inertia of a body, rising, and their axes as columns; infinite where it
/// does not rotate.
typedef struct tni_principal {
    tn_vec3  moments;
    tni_mat3 axes;
    bool     thin;  ///< a rod: next to no moment about its axis
    double   least; ///< smallest moment; for a rod, that across its axis
} tni_principal;

/// Closure error of the joints at the end of a step.
typedef struct tni_closure_error {
    double error;   ///< largest |C|, or h times the mean rate of a velocity-only row [m or rad]
    int    worst;   ///< index of the constraint that has it; -1: none
    double initial; ///< the error before any correction
} tni_closure_error;

/// Energy balance of a substep (energy.c).
typedef struct tni_energy_watch {
    bool           on;
    bool           any_driven;
    uint8_t*       driven;      ///< by constraint: it may bring energy
    double*        bodies;      ///< by body: kinetic energy and that of weight, at the start [J]
    double*        load;        ///< laid out as u: loads alone
    double*        multipliers; ///< by row: of the kick's best round
    double*        velocity;    ///< laid out as u: at the start, before impacts
    tni_hit_count* hits;        ///< hits that this step counted until then
    int            hit_count;
    double         start, kinetic; ///< energy, and its kinetic part, at the start [J]
    double         work, moved;    ///< of what may bring energy: sum, and sum of sizes [J]
    double         fast;           ///< elastic energy of what oscillates too fast for the step [J]
    double*        after;          ///< by body: likewise at the end
    double         end, end_kinetic;
    bool           known; ///< the energies of the end are those of the next start
    double *       before, *plus,
        *landing;  ///< laid out as u: before and after the first half kick, before the second
    int    gainer; ///< body that gained most; -1: none
    int    count;  ///< substeps of this step that gained energy from nowhere
    double most;   ///< the largest of them [J]
    int    body;   ///< and its body that gained most
} tni_energy_watch;

/// Where a piece began, and where it led when taken whole (accuracy.c).
typedef struct tni_accuracy_work {
    double*                  reach; ///< by body [m]
    double                   size;  ///< of the mechanism [m]
    tni_configuration_buffer from;
    double *                 q, *u;
    tni_warm_start           warm_start;
    tni_hit_count*           hits;
    int                      hit_count, energy_count, energy_body;
    double                   energy_most;
} tni_accuracy_work;

/// Workspace of the impulse method.
typedef struct tni_impulse_work {
    double *plus, *first, *best;     ///< u+: current, predicted, and the one with the smallest
                                     ///< closure error
    double* force;                   ///< laid out as u
    double* target_rates;            ///< by row: rates that the next solve asks for
    double* goal;                    ///< by row: rates that all solves of this substep asked for
                                     ///< together
    double* past[4];                 ///< by row: goals and residuals of the two previous rounds
                                     ///< (Anderson acceleration)
    tni_view*      views;            ///< bodies at the start of the step
    tni_warm_start warm_start;       ///< warm start: of the last step, then of this one
    double*        prescribed_rates; ///< by velocity-only row: prescribed rate = rate - J u
    tni_principal* principal;        ///< by body
    double*        load;       ///< by body: bound of h^2 times the largest eigenvalue of its K
    double*        part_work;  ///< by part of the mechanism, twice; scratch of stiffen.c
    int*           group;      ///< by part, likewise: parts that cords couple
    double*        first_push; ///< by row: multipliers of the first solve of a flight
    double*        pull;       ///< by joint, likewise
    tni_mat3*      stiffness;  ///< by body: h^2 K', the stiffness in use
    tni_mat3*      tension;    ///< by body: h^2 K, compression included
    tn_vec3*       turn;       ///< by body: angular velocity with which forces on it turn
    tn_vec3*       own_turn;   ///< by body, likewise: those of its own contacts
    bool           loops;      ///< the mechanism has loops: rows may be redundant
    bool           touches;    ///< it has contacts, limits or ropes
    bool           safer_mode; ///< safer mode: the tension of all bodies counts
    bool           damped;     ///< forces depend on velocities
    int            jam_count;  ///< friction jams in this step: no finite impulse met all
                               ///< conditions
    double* apart;             ///< laid out as q: where push_apart came from
    double  start_penetration; ///< largest penetration at the start of the substep [m or rad]
    bool    final_try;         ///< the step will not be halved any more
    double *contact_stiffness, *contact_damping; ///< by body: sums over soft contacts
    tni_bounded_rows bounded; ///< with soft: dry friction of joints, motors and springs with bounds
    tni_soft_rows*   soft;  ///< impulse.springs = implicit: they are rows of the matrix; else NULL
    double           frame; ///< the step that was asked for [s]
    tni_energy_watch energy;
    tni_accuracy_work accuracy;
} tni_impulse_work;

/// Workspace of the implicit method. Forces and multipliers are by row unless said otherwise.
// Of an implicit step, alone (implicit.c) or in lanes (batch_step.h).
enum { TNI_IMPLICIT_SETS_MAX = 8, TNI_IMPLICIT_PATIENCE = 6, TNI_IMPLICIT_ROUNDS_USUAL = 6 };
#define TNI_IMPLICIT_AIM   0.2  // of the tolerance
#define TNI_IMPLICIT_SHARE 0.02 // of the kinetic energy in a correction
#define TNI_DIVERGED       1e6  // joint error [m or rad] that no correction comes back from

typedef struct tni_implicit_work {
    tni_implicit_system* implicit_system;
    double *             u, *du, *best, *predicted, *linear; ///< laid out as u
    double *drift, *momentum;       ///< laid out as u: what the integrator takes from the last
                                    ///< step
    double *          mu, *dmu, *r; ///< by row
    double *          force, *first, *again; ///< joint forces that K_g is made of
    tni_step_history  before, after; ///< history for the steps that end at s->now and at s->next
    tni_closure_error end;
    double            goal;      ///< closure error that the correction aims at
    bool              rescue;    ///< the usual Newton iteration has failed; the rescue is running
    bool              lenient;   ///< corrections are not limited in size
    bool              moved;     ///< s->now is no longer the start of the step: s->stage is
    bool              final_try; ///< no shorter substep is worth trying
    bool              history_known; ///< the momentum at the start is known
    bool              one_sided;     ///< the model has one-sided forces or limits
} tni_implicit_work;

/// Sleep, in the impulse method. By part of the mechanism, except `bodies` (by body).
typedef struct tni_sleep_work {
    bool     on, any;   ///< any: at least one part sleeps
    double*  rest_time; ///< how long a part has been at rest [s]; asleep: -1 - its island
    uint8_t *asleep, *bodies;
    uint8_t* restless;      ///< a changing input acts on it: it may not fall asleep
    uint8_t* wake;          ///< to be woken when the step is restarted
    int*     island;        ///< union-find forest of islands
    double * mass, *energy; ///< scratch
} tni_sleep_work;

struct tn_stepper {
    tni_arena       arena;
    const tn_model* model;
    tn_settings     settings;  ///< method is never auto here
    bool            automatic; ///< it was auto before
    tni_system*     system;
    tni_system*     start; ///< factored at the start of the step; separate from `system` only where
                           ///< loops need both
    tni_configuration_buffer now, next; ///< a step goes from now to next
    tni_configuration_buffer stage;
    double*                  stage_d;             ///< tangent from now to the stage
    double*                  k_d[TNI_STAGES_MAX]; ///< time derivative of stage_d at each stage
    double*                  k_u[TNI_STAGES_MAX]; ///< accelerations at each stage
    double *                 scratch, *scratch2;  ///< u_count numbers
    tni_impulse_work         impulse;
    tni_implicit_work        implicit;
    tni_sleep_work           sleep;
    tni_adaptive*            adaptive;        ///< NULL in other methods
    const tn_state*          from;            ///< the caller's state
    bool                     now_factored;    ///< `system` is factored and evaluated at s->now
    bool                     next_factored;   ///< likewise at s->next, since the last call
    bool                     angles_followed; ///< angles of s->next count full turns already
    bool           has_unilaterals; ///< the model has limits, ropes, or shapes that may touch
    tni_hit_count* hits;            ///< contacts and limits hit in this step
    int            hit_count;

    double*      multipliers;   ///< of the last evaluation, by row
    double*      rates;         ///< joint accelerations, laid out as u
    tn_wrench*   reactions;     ///< by joint
    tn_twist*    accelerations; ///< by body, the ground first
    tn_row_name* redundant;     ///< of the last check
    int          redundant_count;
};

TNI_INLINE tni_configuration tni_configuration_of(const tni_configuration_buffer* buffer)
{
    return (tni_configuration){buffer->time, buffer->q, buffer->u, buffer->z};
}

/// multiplier.c: from s->now to s->next, by h.
TN_NODISCARD tn_result tni_multiplier_step(tn_stepper* s, double h, tn_step_report* report,
                                           tn_why* why);
/// Integrates one substep of dt <= *wish [s] from s->now to s->next, without projecting. The
/// adaptive integrator may refuse it (*accepted false); *wish is the length to try next.
TN_NODISCARD tn_result tni_integrate(tn_stepper* s, double dt, double* wish, bool* accepted,
                                     tn_step_report* report, tn_why* why);
/// After each substep: projects s->next onto the constraints and measures the errors.
TN_NODISCARD tn_result tni_project_and_measure(tn_stepper* s, bool near, tn_step_report* report,
                                               tn_why* why);
/// Accepts a substep: s->next becomes s->now.
void tni_accept_substep(tn_stepper* s);

/// impulse.c: from s->now to s->next, by h.
TN_NODISCARD tn_result tni_impulse_create(tn_stepper* s);
TN_NODISCARD tn_result tni_impulse_step(tn_stepper* s, double h, tn_step_report* report,
                                        tn_why* why);
/// First kick from s->now: u+ into s->impulse.plus, the rates asked for into s->impulse.goal.
TN_NODISCARD tn_result tni_impulse_kick(tn_stepper* s, double h, tn_step_report* report,
                                        tn_why* why);
/// Solves M u + J^T p = b for the rates s->impulse.target_rates. Contact impulses that do not quite
/// meet all conditions (a friction jam) are accepted: counted, and the residual reported.
TN_NODISCARD tn_result tni_impulse_solve(tn_stepper* s, const double* b, bool exact, tn_why* why);
/// u+ with the rates s->impulse.target_rates and the current set of contacts and limits.
TN_NODISCARD tn_result tni_impulse_solve_kick(tn_stepper* s, double h, tn_why* why);
/// u+ += the response to the rates s->impulse.target_rates, without any force.
TN_NODISCARD tn_result tni_impulse_correct(tn_stepper* stepper, tn_why* why);
/// Flies to s->next with u+ and evaluates it; s->impulse.target_rates <- the rates that would close
/// the joints.
tni_closure_error tni_impulse_fly(tn_stepper* s, double h);

/// Penetration that is left alone [m]: invisible, and small beside the joint tolerance.
double tni_tolerated_depth(const tn_stepper* s);
/// Many contacts in one matrix: what is wrong with a few of them may wait for the next step.
bool tni_is_crowded(const tn_stepper* s);

/// impulse_contact.c: the same with contacts, limits and ropes, after the first kick.
/// Kicks towards s->impulse.goal and closes the joints, where nothing touches and nothing is soft, in a tree.
TN_NODISCARD tn_result tni_impulse_close_alone(tn_stepper* s, double h, double tolerance,
                                               tni_closure_error* nearest, bool* closed,
                                               tn_step_report* report, tn_why* why);
TN_NODISCARD tn_result tni_impulse_close(tn_stepper* s, double h, double tolerance,
                                         tni_closure_error* nearest, bool* closed,
                                         tn_step_report* report, tn_why* why);
/// After a close that failed: forces of its first solve in place of those of the last.
void tni_impulse_take_first_forces(tn_stepper* s);
/// Contacts and limits at s->next, which was evaluated last; their right-hand sides, once the
/// system is factored there; report of their forces, h being the length of the flight [s].
TN_NODISCARD tn_result tni_impulse_find_landing(tn_stepper* s, double h, tn_why* why);
void                   tni_impulse_set_landing_targets(tn_stepper* s, double h);
/// impulse_soft.c: contacts with a stiffness of their own. What they do to their bodies, before all else.
void tni_impulse_weigh_soft(tn_stepper* s);
/// What the kick of a step of h asks of one; and on landing.
void tni_impulse_kick_soft(tni_unilateral* unilateral, double h);
void tni_impulse_land_soft(tni_unilateral* unilateral, double h);
/// The flight of h has led to where it is now. Returns how far that is from where it was expected [m].
double tni_impulse_correct_soft(tni_unilateral* unilateral, double h);
/// Guesses of forces with bounds, from the last step: of its flight or its landing.
void tni_impulse_start_bounded(tn_stepper* s, bool landing, double h);
void tni_impulse_report_contacts(tn_stepper* s, double h, tn_step_report* report);

/// sleep.c: at creation; from a state; whether a contact or limit touches a sleeping island: then
/// restart the step with it awake (those between sleepers only are dropped); after a step was
/// accepted; at its end.
TN_NODISCARD tn_result tni_sleep_create(tn_stepper* s);
void                   tni_sleep_begin(tn_stepper* s, const tn_state* state);
bool                   tni_sleep_disturbed(tn_stepper* s);
void                   tni_sleep_accept(tn_stepper* s);
void                   tni_sleep_end(tn_stepper* s, double h);

/// A substep of h, halved where it fails.
TN_NODISCARD tn_result tni_impulse_substep(tn_stepper* s, double h, tn_step_report* report,
                                           tn_why* why);

/// accuracy.c: a substep of dt within a step of h, cut until its error is as small as the settings ask for.
TN_NODISCARD tn_result tni_accuracy_create(tn_stepper* s);
TN_NODISCARD tn_result tni_accurate_substep(tn_stepper* s, double dt, double h,
                                            tn_step_report* report, tn_why* why);

/// energy.c: the energy balance of a substep, with implicit springs. Where it begins, after the first kick (continued: where the last one ended); after each
/// solve of the kick that is kept; once joints are closed; after the landing; [J] that came otherwise. The gain, and
/// by how much it is more than a healthy step's [J]; depth: penetration that is left alone [m].
TN_NODISCARD tn_result tni_energy_create(tn_stepper* s);
void                   tni_energy_begin(tn_stepper* s, bool continued);
void                   tni_energy_keep(tn_stepper* s);
void                   tni_energy_kicked(tn_stepper* s, double h);
void                   tni_energy_landed(tn_stepper* s, double h);
void                   tni_energy_brought(tn_stepper* s, double work);
double                 tni_energy_gain(tn_stepper* s, double depth, double* excess);
/// Undoes the impacts of a substep that is not taken.
void tni_energy_back(tn_stepper* s);
/// Counts the substep as one that gained energy from nowhere.
void tni_energy_tell(tn_stepper* s, double gain);
/// Whether drives, or contacts with what is moved, may bring energy at once.
bool tni_energy_may_come(const tn_stepper* s);
/// Kinetic energy at the start, where impacts may bring some, else 0; energy of weight and springs at s->next.
double tni_energy_of_impact(tn_stepper* s);
double tni_energy_of_place(const tn_stepper* s);

/// stiffen.c: h^2 K' of the bodies whose tension is too stiff for h, from the multipliers of the
/// last answer, into s->impulse.stiffness; returns how many bodies have some.
void tni_stiffen_prepare(tn_stepper* s);
int  tni_stiffen(tn_stepper* s, double h);
/// The same with implicit springs, for the kick; for the landing at s->next, after a kick that had some; and what it
/// adds to the right-hand side there.
int  tni_tension(tn_stepper* s, double h);
void tni_tension_land(tn_stepper* s, double h);
void tni_tension_push(const tn_stepper* s, double* b);

/// suspect.c: what is worth a look in the report of a finished step.
void tni_find_suspects(const tn_stepper* s, tn_step_report* report);

/// possible.c: whether the method of these settings can do all that the model asks for. automatic: auto chose it.
TN_NODISCARD tn_result tni_is_possible(const tn_model* model, const tn_settings* settings,
                                       bool automatic, tn_why* why);

/// As tn_stepper_create, which takes no variant of the impulse method.
TN_NODISCARD tn_result tni_stepper_create_variant(const tn_model*     model,
                                                  const tn_settings*  settings,
                                                  tni_impulse_variant variant, tn_stepper** stepper,
                                                  tn_why* why);

/// implicit.c: from s->now to s->next, by h.
TN_NODISCARD tn_result tni_implicit_create(tn_stepper* s, tn_why* why);
TN_NODISCARD tn_result tni_implicit_step(tn_stepper* s, double h, tn_step_report* report,
                                         tn_why* why);

/// adaptive.c: count steps of h from s->from to s->next; *taken: how many succeeded.
TN_NODISCARD tn_result tni_adaptive_method_create(tn_stepper* s, tn_why* why);
TN_NODISCARD tn_result tni_adaptive_run(tn_stepper* s, double h, int count, int* taken,
                                        tn_step_report* report, tn_why* why);

/// event_detection.c: one step of a mechanism with contacts or limits.
TN_NODISCARD tn_result tni_event_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why);
/// Finds the contacts and limits that are reached at s->now; their rates decide which are active.
TN_NODISCARD tn_result tni_find_unilaterals(tn_stepper* s, tn_why* why);
/// Impacts: changes s->now.u until nothing approaches any more at the contacts and limits that take
/// part.
TN_NODISCARD tn_result tni_solve_impacts(tn_stepper* s, tn_step_report* report, tn_why* why);
/// Which contacts and limits a projection holds: of positions, of velocities.
void tni_hold_positions(tni_unilaterals* a);
void tni_hold_velocities(tni_unilaterals* a);
/// Contact count and penetration at the configuration that was evaluated last.
void tni_report_unilaterals(const tn_stepper* s, tn_step_report* report);

/// project.c: projects s->next onto the constraints, positions first, then velocities; fills the
/// errors of the report. factored: the system is factored very near s->next.
TN_NODISCARD tn_result tni_project(tn_stepper* s, bool factored, tn_step_report* report,
                                   tn_why* why);

/// Evaluates s->next and fills the errors of the report.
void tni_measure_errors(tn_stepper* s, tn_step_report* report);

/// time + h; snapped to a multiple of h where time is one, so that a long run ends exactly.
double tni_time_after(double time, double h);

void tni_copy_configuration(const tn_model* model, tni_configuration_buffer* to,
                            const tni_configuration_buffer* from);
void tni_copy_numbers(double* to, const double* from, int count);

TNI_INLINE const char* tni_name_of(const tn_stepper* s, int constraint)
{
    return constraint >= 0 ? tni_constraint_name(s->model, &s->model->constraints[constraint])
                           : "none";
}

TNI_INLINE tni_unilaterals* tni_stops_of(tn_stepper* s)
{
    return &s->system->unilaterals;
}

/// Seconds on the host's clock; 0 without one.
TNI_INLINE double tni_clock_of(const tn_stepper* s)
{
    return tni_auxiliary_now(&s->system->auxiliary);
}

TNI_INLINE tn_result tni_fail_full(tn_why* why)
{
    return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
}

#endif
