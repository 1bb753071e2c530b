// stepper: a method with its workspace. Methods compute the next place into `next`; the stepper commits it.
#ifndef TNI_STEPPER_H
#define TNI_STEPPER_H

#include "system/system.h"

static const double tni_contact_gap = 1e-6; ///< what people would call touching [m]

enum { TNI_STAGES_MAX = 7, TNI_BOUNCES_MAX = 256 };

/// How often a stop was hit within a step.
typedef struct tni_bounce {
    uint64_t id;
    int      count;
} tni_bounce;

/// Memory for one place.
typedef struct tni_place_buffer {
    double  time;
    double *q, *u, *z;
} tni_place_buffer;

struct tn_stepper {
    tni_arena        arena;
    const tn_model*  model;
    tn_settings      settings; ///< method is never auto here
    tni_system*      system;
    tni_system*      start; ///< factored at the step's start; apart from system where loops need it
    tni_place_buffer now, next; ///< a step goes from now to next
    tni_place_buffer stage;
    double*          stage_d;             ///< tangent from now to the stage
    double*          k_d[TNI_STAGES_MAX]; ///< its rate at each stage
    double*          k_u[TNI_STAGES_MAX]; ///< accelerations at each stage
    double*          scratch;             ///< u_count numbers
    bool             has_stops;           ///< limits, ropes, or shapes that may touch
    tni_bounce*      bounces;             ///< of this step
    int              bounce_count;

    double*      multipliers;   ///< of the last evaluation, by row
    double*      rates;         ///< likewise, laid out as u
    tn_wrench*   reactions;     ///< by joint
    tn_twist*    accelerations; ///< by body, the ground first
    tn_row_name* redundant;     ///< of the last check
    int          redundant_count;
};

TNI_INLINE tni_place tni_place_of(const tni_place_buffer* buffer)
{
    return (tni_place){buffer->time, buffer->q, buffer->u, buffer->z};
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

/// events.c: a step of a mechanism that may hit stops.
TN_NODISCARD tn_result tni_eventful_step(tn_stepper* s, double h, tn_step_report* report,
                                         tn_why* why);
/// Finds the stops that are reached at s->now, and says what they do there by their rates.
TN_NODISCARD tn_result tni_find_stops(tn_stepper* s, tn_why* why);
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

void tni_copy_numbers(double* to, const double* from, int count);

#endif
