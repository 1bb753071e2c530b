// stepper: a method with its workspace. Methods compute the next place into `next`; the stepper commits it.
#ifndef TNI_STEPPER_H
#define TNI_STEPPER_H

#include "adaptive/adaptive.h"
#include "system/implicit_system.h"

/// Of a step: somebody was woken, and it is to be taken anew.
#define TNI_WOKEN ((tn_result)1000)

static const double tni_contact_gap = 1e-6; ///< what people would call touching [m]

enum { TNI_STAGES_MAX = 7, TNI_BOUNCES_MAX = 256 };

/// How often a stop was hit within a step.
typedef struct tni_bounce {
    uint64_t id;
    int      count;
} tni_bounce;

/// Memory for one place.
typedef struct tni_configuration_buffer {
    double  time;
    double *q, *u, *z;
} tni_configuration_buffer;

/// Principal moments of a body, rising, and their axes as columns; infinite where it does not turn.
typedef struct tni_principal {
    tn_vec3  moments;
    tni_mat3 axes;
    bool     thin;  ///< a rod: next to no moment about its axis
    double   least; ///< moment, that about the axis of a rod aside
} tni_principal;

/// What joints are left open by at the end of a step, at most, and which.
typedef struct tni_closing {
    double error; ///< largest |C|, or h times a mean rate
    int    worst; ///< the constraint that has it, or -1
    double begun; ///< the error before any correction
} tni_closing;

/// Workspace of the impulse method.
typedef struct tni_impulse_work {
    double *  plus, *first, *best; ///< u+: now, predicted, and that which came nearest to closing
    double*   force;               ///< laid out as u
    double*   asked;               ///< by row, of the next solve
    double*   goal;                ///< by row, of all solves of a kick together
    double*   past[4];             ///< by row: goals of the two rounds before, and what they left
    tni_view* views;               ///< where the step starts
    tni_warm_start pressed;        ///< of the step before, then of this one
    double*        drive;          ///< by row without a position: what its rate has besides J u
    tni_principal* principal;      ///< by body
    double*        load;           ///< by body
    double*        part_work;      ///< by part of the mechanism, twice; scratch of stiffen.c
    tni_mat3*      stiffness;      ///< by body: h^2 K'
    tni_mat3*      tension;        ///< by body: h^2 K, thrust and all
    bool           loops;          ///< rows may be redundant
    bool           careful;        ///< all tension counts
    bool           damped;         ///< forces depend on velocities
    int            jams;           ///< in this step
    double         inside; ///< the deepest that anything was beyond a stop where the piece starts
    bool           last;   ///< no shorter piece will be tried
} tni_impulse_work;

/// Workspace of the implicit method.
typedef struct tni_implicit_work {
    tni_implicit_system* stiff;
    double *             u, *du, *best, *ahead, *linear; ///< laid out as u
    double *    drift, *momentum;      ///< likewise: what the integrator takes from the step before
    double *    mu, *dmu, *r;          ///< by row
    double *    force, *first, *again; ///< likewise: joint forces that K_g is made of
    tni_memory  before, after;         ///< of the steps that end at s->now and at s->next
    tni_closing end;
    double      goal;    ///< joint error that the correction aims at
    bool        rescue;  ///< the usual way has failed
    bool        lenient; ///< corrections may be as large as they like
    bool        moved;   ///< s->now is no longer the start of the step: s->stage is
    bool        last;    ///< no shorter piece is worth trying
    bool        begun;   ///< the momentum at the start is known
    bool        sided;   ///< some forces, or limits, have one side only
} tni_implicit_work;

/// Who sleeps, in the impulse method. By part of the mechanism, but for bodies.
typedef struct tni_sleep_work {
    bool     on, any; ///< any: somebody sleeps
    double*  still;   ///< how long it has been at rest [s]; asleep: -1 - its island
    uint8_t *asleep, *bodies;
    uint8_t* restless; ///< something acts on it that changes
    uint8_t* wake;     ///< to be woken when the step is taken anew
    int*     up;
    double * mass, *energy; ///< scratch
} tni_sleep_work;

struct tn_stepper {
    tni_arena       arena;
    const tn_model* model;
    tn_settings     settings; ///< method is never auto here
    tni_system*     system;
    tni_system*     start; ///< factored at the step's start; apart from system where loops need it
    tni_configuration_buffer now, next; ///< a step goes from now to next
    tni_configuration_buffer stage;
    double*                  stage_d;             ///< tangent from now to the stage
    double*                  k_d[TNI_STAGES_MAX]; ///< its rate at each stage
    double*                  k_u[TNI_STAGES_MAX]; ///< accelerations at each stage
    double *                 scratch, *scratch2;  ///< u_count numbers
    tni_impulse_work         impulse;
    tni_implicit_work        implicit;
    tni_sleep_work           sleep;
    tni_adaptive*            adaptive;  ///< NULL in other methods
    const tn_state*          from;      ///< the state of this call
    bool                     kept;      ///< the system is factored and looked at where s->now is
    bool                     kept_next; ///< likewise s->next, since the last call
    bool                     followed;  ///< angles of s->next are counted on already
    bool                     has_stops; ///< limits, ropes, or shapes that may touch
    tni_bounce*              bounces;   ///< of this step
    int                      bounce_count;

    double*      multipliers;   ///< of the last evaluation, by row
    double*      rates;         ///< likewise, laid out as u
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
/// One piece of time dt <= *wish from s->now to s->next, not yet on the constraints. The adaptive
/// integrator may refuse (*accepted false); *wish is the piece to try next.
TN_NODISCARD tn_result tni_integrate(tn_stepper* s, double dt, double* wish, bool* accepted,
                                     tn_step_report* report, tn_why* why);
/// What comes after each piece: back onto the constraints, errors measured.
TN_NODISCARD tn_result tni_settle(tn_stepper* s, bool near, tn_step_report* report, tn_why* why);
/// s->next becomes s->now.
void tni_go_on(tn_stepper* s);

/// impulse.c: from s->now to s->next, by h.
TN_NODISCARD tn_result tni_impulse_create(tn_stepper* s);
TN_NODISCARD tn_result tni_impulse_step(tn_stepper* s, double h, tn_step_report* report,
                                        tn_why* why);
/// Kicks from s->now: u+ in s->impulse.plus, and what was asked of rows in s->impulse.goal.
TN_NODISCARD tn_result tni_impulse_kick(tn_stepper* s, double h, tn_step_report* report,
                                        tn_why* why);
/// Solves with the rates s->impulse.asked. Forces of stops that do not quite meet all conditions are an
/// answer, too: counted, and what is left of them reported.
TN_NODISCARD tn_result tni_impulse_solve(tn_stepper* s, const double* b, bool exact, tn_why* why);
/// u+ that has the rates s->impulse.asked, with the stops as they are.
TN_NODISCARD tn_result tni_impulse_solve_kick(tn_stepper* s, double h, tn_why* why);
/// u+ += the answer to what is asked of the rows, with no other force.
TN_NODISCARD tn_result tni_impulse_improve(tn_stepper* stepper, tn_why* why);
/// Flies to s->next with u+ and looks there; s->impulse.asked <- what a correction is asked for.
tni_closing tni_impulse_fly(tn_stepper* s, double h);

/// impulse_contact.c: the same with contacts, limits and ropes, after the first kick.
TN_NODISCARD tn_result tni_impulse_close(tn_stepper* s, double h, double tolerance,
                                         tni_closing* nearest, bool* closed, tn_step_report* report,
                                         tn_why* why);
/// Stops at s->next, which was looked at last; what they ask for, once it is factored there; what
/// they did, with h the length of the flight.
TN_NODISCARD tn_result tni_impulse_find_landing(tn_stepper* s, double h, tn_why* why);
void                   tni_impulse_ask_landing(tn_stepper* s);
void                   tni_impulse_note_contacts(tn_stepper* s, double h, tn_step_report* report);

/// sleep.c: at creation; from a state; whether a stop wakes somebody, in which case the step is to be
/// taken anew (others that sleepers have are dropped); once a step is taken; at its end.
TN_NODISCARD tn_result tni_sleep_create(tn_stepper* s);
void                   tni_sleep_begin(tn_stepper* s, const tn_state* state);
bool                   tni_sleep_disturbed(tn_stepper* s);
void                   tni_sleep_settle(tn_stepper* s);
void                   tni_sleep_end(tn_stepper* s, double h);

/// stiffen.c: h^2 K' of bodies whose tension is too stiff for h, by the multipliers of the last answer, into
/// s->impulse.stiffness; returns how many bodies have some.
void tni_stiffen_prepare(tn_stepper* s);
int  tni_stiffen(tn_stepper* s, double h);

/// As tn_stepper_create, which takes no variant of the impulse method.
TN_NODISCARD tn_result tni_stepper_create_variant(const tn_model*     model,
                                                  const tn_settings*  settings,
                                                  tni_impulse_variant variant, tn_stepper** stepper,
                                                  tn_why* why);

/// implicit.c: from s->now to s->next, by h.
TN_NODISCARD tn_result tni_implicit_create(tn_stepper* s, tn_why* why);
TN_NODISCARD tn_result tni_implicit_step(tn_stepper* s, double h, tn_step_report* report,
                                         tn_why* why);

/// adaptive.c: count steps of h from s->from to s->next; *taken: how many went well.
TN_NODISCARD tn_result tni_adaptive_method_create(tn_stepper* s, tn_why* why);
TN_NODISCARD tn_result tni_adaptive_run(tn_stepper* s, double h, int count, int* taken,
                                        tn_step_report* report, tn_why* why);

/// event_detection.c: a step of a mechanism that may hit stops.
TN_NODISCARD tn_result tni_eventful_step(tn_stepper* s, double h, tn_step_report* report,
                                         tn_why* why);
/// Finds the stops that are reached at s->now, and says what they do there by their rates.
TN_NODISCARD tn_result tni_find_stops(tn_stepper* s, tn_why* why);
/// Changes s->now.u until nothing approaches any more of what is reached, or is not away.
TN_NODISCARD tn_result tni_pass_blows_on(tn_stepper* s, tn_step_report* report, tn_why* why);
/// How the stops take part in a projection: of positions, of velocities.
void tni_hold_positions(tni_auxiliary* a);
void tni_hold_velocities(tni_auxiliary* a);
/// Contacts and penetration at the place last looked at.
void tni_note_stops(const tn_stepper* s, tn_step_report* report);

/// project.c: s->next onto the constraints, positions then velocities. Fills the errors of the report.
/// factored: the system is factored at a place very near s->next.
TN_NODISCARD tn_result tni_project(tn_stepper* s, bool factored, tn_step_report* report,
                                   tn_why* why);

/// Looks at s->next and fills the errors of the report.
void tni_measure_errors(tn_stepper* s, tn_step_report* report);

/// time + h; the next multiple of h where time is one, so that a long run ends when it says.
double tni_time_after(double time, double h);

void tni_copy_place(const tn_model* model, tni_configuration_buffer* to,
                    const tni_configuration_buffer* from);
void tni_copy_numbers(double* to, const double* from, int count);

#endif
