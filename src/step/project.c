// project: the nearest place on the constraints.
//
// Positions: Newton's method for the displacement d with the least d^T M d,
//     M d + J^T mu = 0,  J d = -C
// with one factorisation for as long as each round divides the error by ten, a new one else. A
// factorisation from very near the place (the last stage of the integrator) serves to begin with.
// Velocities: the same for the change of u with J du = -rate: an impulse of the joints alone, so
// momentum stays. Both are measured with the true C and rate of the final place, not with what the
// linear algebra promised. Stops take part: those that push are held to no gap and no rate, others
// are pushed out of what they are in.
#include "step/stepper.h"

#include <stdio.h>

enum { ROUNDS_MAX = 25, VELOCITY_ROUNDS_MAX = 6 };

// What a joint may be off by when no round helps any more: [m or rad], and per unit of speed.
static const double give_up_position = 1e-6, give_up_velocity = 1e-6;

static void look_at_next(tn_stepper* s)
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

// The change that takes away what is left of rates, or of positions.
static tn_result solve_against(tn_stepper* s, bool rates, tn_why* why)
{
    tni_auxiliary* a = &s->system->auxiliary;
    double*        r = s->system->gamma;
    for (int i = 0; i < s->model->row_count; ++i)
        r[i] = rates ? -s->system->rate[i] : -s->system->C[i];
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        for (int k = 0; k < unilateral->row_count; ++k)
            unilateral->target[k] = rates ? -unilateral->rate[k] : k == 0 ? -unilateral->gap : 0;
    }
    a->keep_forces         = true;
    const tn_result result = tni_system_solve(s->system, NULL, r, false, why);
    a->keep_forces         = false;
    // What stops ask for and do not get is measured by the rounds, not by the solve.
    return result == TN_ERR_DIVERGED ? TN_OK : result;
}

// Joints and stops together. *worst: the constraint, -1 where a stop is worst.
static double position_error(const tn_stepper* s, int* worst)
{
    const double error      = tni_system_position_error(s->system, worst);
    const double unilateral = tni_unilaterals_position_error(&s->system->auxiliary);
    if (unilateral > error) *worst = -1;
    return fmax(error, unilateral);
}

static double velocity_error(const tn_stepper* s, int* worst)
{
    const double error      = tni_system_velocity_error(s->system, worst);
    const double unilateral = tni_unilaterals_velocity_error(&s->system->auxiliary);
    if (unilateral > error) *worst = -1;
    return fmax(error, unilateral);
}

void tni_measure_errors(tn_stepper* s, tn_step_report* report)
{
    int worst;
    look_at_next(s);
    report->velocity_error = tni_system_velocity_error(s->system, &worst);
    report->joint_error    = tni_system_position_error(s->system, &worst);
    report->worst_joint    = tni_constraint_id(s->model, worst);
    tni_report_unilaterals(s, report);
}

static const char* name_of(const tn_stepper* s, int constraint)
{
    return constraint >= 0 ? tni_constraint_name(s->model, &s->model->constraints[constraint])
                           : "none";
}

// The stop that is passed most, or driven on fastest, in words.
static const char* worst_unilateral(const tn_stepper* s, bool rates, char* text, size_t size)
{
    const tni_auxiliary* a     = &s->system->auxiliary;
    int                  worst = 0;
    for (int i = 1; i < a->unilateral_count; ++i) {
        const tni_unilateral *one = &a->unilaterals[i], *most = &a->unilaterals[worst];
        if (rates ? one->rate[0] < most->rate[0] : one->gap < most->gap) worst = i;
    }
    snprintf(text, size, "a limit or contact");
    if (a->unilateral_count > 0) tni_unilateral_text(a, &a->unilaterals[worst], text, size);
    return text;
}

// Leaves the system factored near the place it arrives at, and looked at there.
static tn_result project_positions(tn_stepper* s, bool factored, tn_step_report* report,
                                   tn_why* why)
{
    const double tolerance = s->settings.multiplier.tolerance;
    tn_result    result    = TN_OK;
    if (factored) look_at_next(s);
    else result = factor_next(s, report, why);
    if (result == TN_OK) tni_unilaterals_renew(&s->system->auxiliary, s->system->views, s->next.z);
    tni_hold_positions(&s->system->auxiliary);
    int    worst, stalled = 0;
    double error = position_error(s, &worst);
    for (int round = 0; result == TN_OK && error > 0 && round < ROUNDS_MAX; ++round) {
        if (round > 0 && (error <= tolerance || stalled > 2)) break;
        result = solve_against(s, false, why);
        if (result != TN_OK) break;
        tni_advance(s->model, s->next.q, s->system->answer, s->next.q);
        look_at_next(s);
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
            return tni_fail(why, TN_ERR_SINGULAR,
                            "%s: violated by %.3g, and the joints allow no correction in %d rounds",
                            worst_unilateral(s, false, text, sizeof text), error,
                            report->iteration_count);
        }
        return tni_fail(why, TN_ERR_SINGULAR,
                        "joint '%s' does not close: it is off by %.3g after %d rounds",
                        name_of(s, worst), error, report->iteration_count);
    }
    return TN_OK;
}

// The system is factored at, or very near, s->next, and looked at there.
static tn_result correct_velocities(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    const double tolerance = s->settings.multiplier.tolerance;
    int          worst;
    tni_hold_velocities(&s->system->auxiliary);
    double error = velocity_error(s, &worst), speed = 1;
    for (int round = 0; round < VELOCITY_ROUNDS_MAX && error > 0; ++round) {
        if (round > 0 && error <= 0.01 * tolerance) break;
        const tn_result result = solve_against(s, true, why);
        if (result != TN_OK) return result;
        for (int i = 0; i < s->model->u_count; ++i) s->next.u[i] += s->system->answer[i];
        look_at_next(s);
        const double before = error;
        error               = velocity_error(s, &worst);
        if (error > 0.5 * before && error <= tolerance) break; // as good as rounding lets it be
        if (error > 0.1 * before && error > tolerance) {       // factored too far from here
            const tn_result again = factor_next(s, report, why);
            if (again != TN_OK) return again;
        }
    }
    for (int i = 0; i < s->model->u_count; ++i) speed = fmax(speed, fabs(s->next.u[i]));
    if (error > tolerance && !(error <= give_up_velocity * speed)) {
        report->worst_joint = tni_constraint_id(s->model, worst);
        char text[120];
        if (worst < 0) {
            return tni_fail(why, TN_ERR_SINGULAR, "%s: the joints drive it on at %.3g",
                            worst_unilateral(s, true, text, sizeof text), error);
        }
        return tni_fail(why, TN_ERR_SINGULAR,
                        "joint '%s' cannot move as the others ask: its velocity is off by %.3g",
                        name_of(s, worst), error);
    }
    report->velocity_error = tni_system_velocity_error(s->system, &worst);
    return TN_OK;
}

tn_result tni_project(tn_stepper* s, bool factored, tn_step_report* report, tn_why* why)
{
    tn_result result = project_positions(s, factored, report, why);
    if (result == TN_OK) result = correct_velocities(s, report, why);
    if (result != TN_OK) return result;
    int worst;
    report->joint_error = tni_system_position_error(s->system, &worst);
    report->worst_joint = tni_constraint_id(s->model, worst);
    tni_report_unilaterals(s, report);
    return TN_OK;
}
