// stepper: a method with its workspace. Methods compute the next place into `next`; the stepper commits it.
#ifndef TNI_STEPPER_H
#define TNI_STEPPER_H

#include "system/system.h"

enum { TNI_STAGES_MAX = 7 };

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
