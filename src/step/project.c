// project: the nearest configuration on the constraints.
//
// Positions: Newton's method for the displacement d with the least d^T M d,
//     M d + J^T mu = 0,  J d = -C
// with one factorisation as long as each round divides the error by ten, otherwise a new one. A
// factorisation near the configuration (the last stage of the integrator) is used to begin with.
// Velocities: the same for the change of u with J du = -rate: an impulse of the joints alone, so
// momentum is kept. Errors are measured with C and rate at the final configuration, not predicted
// by the linear solve. Unilaterals take part: active ones are held at zero gap and rate, others are
// pushed out of penetration.
#include "step/stepper.h"

#include <stdio.h>

enum { ROUNDS_MAX = 25, VELOCITY_ROUNDS_MAX = 6 };

// Errors up to which a stalled projection is accepted: [m or rad], and relative to the speed.
static const double give_up_position = 1e-6, give_up_velocity = 1e-6;

static void evaluate_next(tn_stepper* s)
{
    const tni_configuration at = tni_configuration_of(&s->next);
    tni_system_evaluate(s->system, &at);
}

static tn_result factor_next(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    const tni_configuration at     = tni_configuration_of(&s->next);
    const tn_result         result = tni_system_factor(s->system, &at, why);
    if (result == TN_OK) tni_system_report(s->system, report);
    return result;
}

// Solves for the correction of rates, or of positions.
static tn_result solve_against(tn_stepper* s, bool rates, tn_why* why)
{
    tni_unilaterals* a = &s->system->unilaterals;
    double*          r = s->system->gamma;
    for (int i = 0; i < s->model->row_count; ++i)
        r[i] = rates ? -s->system->rate[i] : -s->system->C[i];
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        for (int k = 0; k < unilateral->row_count; ++k)
            unilateral->target[k] = rates ? -unilateral->rate[k] : k == 0 ? -unilateral->gap : 0;
    }
    s->system->auxiliary.keep_forces = true;
    const tn_result result           = tni_system_solve(s->system, NULL, r, false, why);
    s->system->auxiliary.keep_forces = false;
    // Unilaterals whose targets cannot be met are measured by the rounds, not by the solve.
    return result == TN_ERR_DIVERGED ? TN_OK : result;
}

// Joints and unilaterals together. *worst: the constraint, -1 if a unilateral is worst.
static double position_error(const tn_stepper* s, int* worst)
{
    const double error      = tni_system_position_error(s->system, worst);
    const double unilateral = tni_unilaterals_position_error(&s->system->unilaterals);
    if (unilateral > error) *worst = -1;
    return fmax(error, unilateral);
}

static double velocity_error(const tn_stepper* s, int* worst)
{
    const double error      = tni_system_velocity_error(s->system, worst);
    const double unilateral = tni_unilaterals_velocity_error(&s->system->unilaterals);
    if (unilateral > error) *worst = -1;
    return fmax(error, unilateral);
}

void tni_measure_errors(tn_stepper* s, tn_step_report* report)
{
    int worst;
    evaluate_next(s);
    report->velocity_error = tni_system_velocity_error(s->system, &worst);
    report->joint_error    = tni_system_position_error(s->system, &worst);
    report->worst_joint    = tni_constraint_id(s->model, worst);
    tni_report_unilaterals(s, report);
}

// Name of the unilateral with the largest penetration, or the largest approach speed.
static const char* worst_unilateral(const tn_stepper* s, bool rates, char* text, size_t size)
{
    const tni_unilaterals* a     = &s->system->unilaterals;
    int                    worst = 0;
    for (int i = 1; i < a->unilateral_count; ++i) {
        const tni_unilateral *one = &a->unilaterals[i], *most = &a->unilaterals[worst];
        if (rates ? one->rate[0] < most->rate[0] : one->gap < most->gap) worst = i;
    }
    snprintf(text, size, "a limit or contact");
    if (a->unilateral_count > 0) tni_unilateral_text(a, &a->unilaterals[worst], text, size);
    return text;
}

// Leaves the system factored near the final configuration, and evaluated there.
static tn_result project_positions(tn_stepper* s, bool factored, tn_step_report* report,
                                   tn_why* why)
{
    const double tolerance = s->settings.multiplier.tolerance;
    tn_result    result    = TN_OK;
    if (factored) evaluate_next(s);
    else result = factor_next(s, report, why);
    if (result == TN_OK)
        tni_unilaterals_renew(&s->system->unilaterals, s->system->views, s->next.z);
    tni_hold_positions(&s->system->unilaterals);
    int    worst, stalled = 0;
    double error = position_error(s, &worst);
    for (int round = 0; result == TN_OK && error > 0 && round < ROUNDS_MAX; ++round) {
        if (round > 0 && (error <= tolerance || stalled > 2)) break;
        result = solve_against(s, false, why);
        if (result != TN_OK) break;
        tni_advance(s->model, s->next.q, s->system->answer, s->next.q);
        evaluate_next(s);
        ++report->iteration_count;
        const double before = error;
        error               = position_error(s, &worst);
        if (!(error < HUGE_VAL)) break;
        stalled = error > 0.5 * before ? stalled + 1 : 0;
        if (error > 0.1 * before && error > tolerance) result = factor_next(s, report, why);
    }
    if (result != TN_OK) return result;
    if (error > tolerance && !(error <= give_up_position)) {
        report->worst_joint = tni_constraint_id(s->model, worst);
        char text[120];
        if (worst < 0) {
            return tni_fail(
                why, TN_ERR_SINGULAR,
                "%s: exceeded by %.3g m or rad; %d rounds of projection did not correct it",
                worst_unilateral(s, false, text, sizeof text), error, report->iteration_count);
        }
        return tni_fail(why, TN_ERR_SINGULAR,
                        "joint '%s' does not close: error %.3g m or rad after %d rounds",
                        tni_name_of(s, worst), error, report->iteration_count);
    }
    return TN_OK;
}

// The system is factored at, or very near, s->next, and evaluated there.
static tn_result correct_velocities(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    const double tolerance = s->settings.multiplier.tolerance;
    int          worst;
    tni_hold_velocities(&s->system->unilaterals);
    double error = velocity_error(s, &worst), speed = 1;
    for (int round = 0; round < VELOCITY_ROUNDS_MAX && error > 0; ++round) {
        if (round > 0 && error <= 0.01 * tolerance) break;
        TRY(solve_against(s, true, why));
        for (int i = 0; i < s->model->u_count; ++i) s->next.u[i] += s->system->answer[i];
        evaluate_next(s);
        const double before = error;
        error               = velocity_error(s, &worst);
        if (error > 0.5 * before && error <= tolerance) break; // down to rounding
        if (error > 0.1 * before && error > tolerance) {       // factored too far from here
            TRY(factor_next(s, report, why));
        }
    }
    for (int i = 0; i < s->model->u_count; ++i) speed = fmax(speed, fabs(s->next.u[i]));
    if (error > tolerance && !(error <= give_up_velocity * speed)) {
        report->worst_joint = tni_constraint_id(s->model, worst);
        char text[120];
        if (worst < 0) {
            return tni_fail(why, TN_ERR_SINGULAR, "%s: the joints drive it on at %.3g m/s or rad/s",
                            worst_unilateral(s, true, text, sizeof text), error);
        }
        return tni_fail(why, TN_ERR_SINGULAR,
                        "joint '%s' contradicts the others: velocity error %.3g m/s or rad/s",
                        tni_name_of(s, worst), error);
    }
    report->velocity_error = tni_system_velocity_error(s->system, &worst);
    return TN_OK;
}

tn_result tni_project(tn_stepper* s, bool factored, tn_step_report* report, tn_why* why)
{
    TRY(project_positions(s, factored, report, why));
    TRY(correct_velocities(s, report, why));
    int worst;
    report->joint_error = tni_system_position_error(s->system, &worst);
    report->worst_joint = tni_constraint_id(s->model, worst);
    tni_report_unilaterals(s, report);
    return TN_OK;
}
