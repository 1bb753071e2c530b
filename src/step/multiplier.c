// multiplier: Baraff's method. Accelerations (or velocities, with f = m v) are exact at each
// configuration; explicit integrators connect them; a projection removes the joint error that the
// integrator leaves.
//
// Runge-Kutta methods on rotations (Munthe-Kaas): all stages live in the tangent at the step's
// start,
//     d_i = h sum a_ij k_j,  u_i = u_0 + h sum a_ij udot_j,  k_i = rate of d for motion with u_i
// and the pose at d is exp(d) of the start's, so quaternions stay unit by construction and the
// order of the method is kept. The pair is Dormand-Prince 5(4) without reuse of its last stage: a
// step must depend on the state alone.
#include "math/elementary.h"
#include "step/stepper.h"

typedef struct tableau {
    int           stages, order;
    const double* a; ///< stages x stages, row-major, lower triangle
    const double *b, *c;
    const double* error; ///< b less the embedded b; NULL: none
} tableau;

static const double  rk4_a[16] = {0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0};
static const double  rk4_b[4]  = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
static const double  rk4_c[4]  = {0, 0.5, 0.5, 1};
static const tableau rk4       = {4, 4, rk4_a, rk4_b, rk4_c, NULL};

// clang-format off
static const double dp_a[49] = {
    0,              0,               0,              0,            0,               0,         0,
    1.0 / 5,        0,               0,              0,            0,               0,         0,
    3.0 / 40,       9.0 / 40,        0,              0,            0,               0,         0,
    44.0 / 45,      -56.0 / 15,      32.0 / 9,       0,            0,               0,         0,
    19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729, 0,               0,         0,
    9017.0 / 3168,  -355.0 / 33,     46732.0 / 5247, 49.0 / 176,   -5103.0 / 18656, 0,         0,
    35.0 / 384,     0,               500.0 / 1113,   125.0 / 192,  -2187.0 / 6784,  11.0 / 84, 0,
};
// clang-format on
static const double  dp_b[7]        = {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784,
                                       11.0 / 84,  0};
static const double  dp_c[7]        = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
static const double  dp_error[7]    = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                       -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
static const tableau dormand_prince = {7, 5, dp_a, dp_b, dp_c, dp_error};

// Velocities or accelerations at a configuration, in system->answer.
static tn_result evaluate(const tn_stepper* s, tni_system* system, const tni_configuration* at,
                          tn_step_report* report, tn_why* why)
{
    const double    T     = s->settings.multiplier.baumgarte;
    const bool      first = s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST;
    const tn_result result =
        first ? tni_system_drift(system, at, T, why) : tni_system_accelerate(system, at, T, why);
    if (result == TN_OK) tni_system_report(system, report);
    return result;
}

// to = from + h sum over j < count of weight[j] k[j], or without from.
static void combine(int n, double* to, const double* from, double h, const double* weight,
                    double* const* k, int count)
{
    for (int i = 0; i < n; ++i) to[i] = from != NULL ? from[i] : 0;
    for (int j = 0; j < count; ++j) {
        if (weight[j] == 0) continue;
        const double w = h * weight[j];
        for (int i = 0; i < n; ++i) to[i] += w * k[j][i];
    }
}

static double largest(int n, const double* numbers)
{
    double most = 0;
    for (int i = 0; i < n; ++i) most = fmax(most, fabs(numbers[i]));
    return most;
}

// Projects a stage onto the constraints. Where loops make rows dependent, rows off the constraints
// are nearly dependent: their independence and their contradiction both shrink with the distance,
// but the motion that they demand, their quotient, does not. Only accelerations are evaluated at
// the projected configuration, and all stages are projected along the same directions, those of the
// step's start: so the accelerations are a smooth function of the stage, and the order is kept. A
// unilateral that follows from joints (a rope along a link) is such a row too. Unilaterals
// themselves are not projected.
static tn_result close_loops(tn_stepper* s, double time, tn_why* why)
{
    enum { ROUNDS_MAX = 4 };
    const tni_configuration at = {time, s->stage.q, s->stage.u, s->now.z};
    tni_unilaterals*        a  = &s->start->unilaterals;
    double*                 r  = s->start->gamma;
    for (int i = 0; i < a->unilateral_count; ++i) a->unilaterals[i].rule = TNI_UNILATERAL_OPEN;
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        int worst;
        tni_system_evaluate(s->start, &at);
        if (tni_system_position_error(s->start, &worst) <= 0.01 * s->settings.multiplier.tolerance)
            break;
        for (int k = 0; k < s->model->row_count; ++k) r[k] = -s->start->C[k];
        TRY(tni_system_solve(s->start, NULL, r, false, why));
        tni_advance(s->model, s->stage.q, s->start->answer, s->stage.q);
    }
    return TN_OK;
}

static tn_result stage(tn_stepper* s, const tableau* t, int i, double h, tn_step_report* report,
                       tn_why* why)
{
    const int     n = s->model->u_count;
    const double* a = t->a + i * t->stages;
    combine(n, s->stage_d, NULL, h, a, s->k_d, i);
    combine(n, s->stage.u, s->now.u, h, a, s->k_u, i);
    tni_advance(s->model, s->now.q, s->stage_d, s->stage.q);
    const int unilaterals = s->system->unilaterals.unilateral_count;
    if (s->start != s->system && i == 0 &&
        !tni_unilaterals_copy(&s->start->unilaterals, &s->system->unilaterals))
        return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
    if (s->start != s->system && i > 0 && (unilaterals > 0 || tni_system_has_loops(s->system))) {
        TRY(close_loops(s, s->now.time + t->c[i] * h, why));
    }
    tni_system*             system = i == 0 ? s->start : s->system;
    const tni_configuration at     = {s->now.time + t->c[i] * h, s->stage.q, s->stage.u, s->now.z};
    system->auxiliary.off_joints   = i > 0;
    const tn_result result         = evaluate(s, system, &at, report, why);
    system->auxiliary.off_joints   = false;
    if (result != TN_OK) return result;
    const bool first = s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST;
    if (first) { // velocities follow from positions; they are not integrated
        memset(s->k_u[i], 0, sizeof(double) * (size_t)n);
        tni_tangent_rate(s->model, s->stage_d, system->answer, s->k_d[i]);
    } else {
        tni_copy_numbers(s->k_u[i], system->answer, n);
        tni_tangent_rate(s->model, s->stage_d, s->stage.u, s->k_d[i]);
    }
    return TN_OK;
}

// From s->now to s->next, not yet projected. *error: the embedded estimate, largest of |d| and h
// |u|.
static tn_result runge_kutta(tn_stepper* s, const tableau* t, double h, double* error,
                             tn_step_report* report, tn_why* why)
{
    const int n = s->model->u_count;
    for (int i = 0; i < t->stages; ++i) {
        TRY(stage(s, t, i, h, report, why));
    }
    combine(n, s->stage_d, NULL, h, t->b, s->k_d, t->stages);
    combine(n, s->next.u, s->now.u, h, t->b, s->k_u, t->stages);
    tni_advance(s->model, s->now.q, s->stage_d, s->next.q);
    s->next.time = tni_time_after(s->now.time, h);
    *error       = 0;
    if (t->error == NULL) return TN_OK;
    combine(n, s->scratch, NULL, h, t->error, s->k_d, t->stages);
    *error = fmax(*error, largest(n, s->scratch));
    combine(n, s->scratch, NULL, h * h, t->error, s->k_u, t->stages);
    *error = fmax(*error, largest(n, s->scratch));
    return TN_OK;
}

// u first, then q with the new u: first order, and symplectic where there are no constraints.
static tn_result semi_implicit_euler(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const int               n     = s->model->u_count;
    const bool              first = s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST;
    const tni_configuration at    = tni_configuration_of(&s->now);
    TRY(evaluate(s, s->system, &at, report, why));
    const double* a = s->system->answer;
    for (int i = 0; i < n; ++i) {
        s->next.u[i]  = first ? a[i] : s->now.u[i] + h * a[i];
        s->stage_d[i] = h * s->next.u[i];
    }
    tni_advance(s->model, s->now.q, s->stage_d, s->next.q);
    s->next.time = tni_time_after(s->now.time, h);
    return TN_OK;
}

tn_result tni_project_and_measure(tn_stepper* s, bool near, tn_step_report* report, tn_why* why)
{
    tni_copy_numbers(s->next.z, s->now.z, s->model->coordinate_count);
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST) {
        const tni_configuration at = tni_configuration_of(&s->next);
        TRY(evaluate(s, s->system, &at, report, why));
        tni_copy_numbers(s->next.u, s->system->answer, s->model->u_count);
        near = true;
    }
    if (s->settings.multiplier.project) return tni_project(s, near, report, why);
    tni_measure_errors(s, report);
    return TN_OK;
}

void tni_accept_substep(tn_stepper* s)
{
    tni_system_follow(s->system, s->next.z);
    const tni_configuration_buffer now = s->now;
    s->now                             = s->next;
    s->next                            = now;
}

// Length of the next substep from the error estimate of fifth order.
static double next_substep(double dt, double ratio)
{
    if (!isfinite(ratio)) return 0.2 * dt;
    const double factor = ratio > 0 ? 0.9 * tni_exp(-0.2 * tni_log(ratio)) : 5;
    return dt * fmin(5, fmax(0.2, factor));
}

tn_result tni_integrate(tn_stepper* s, double dt, double* wish, bool* accepted,
                        tn_step_report* report, tn_why* why)
{
    double error;
    *accepted = true;
    switch (s->settings.multiplier.integrator) {
    case TN_INTEGRATOR_EULER: return semi_implicit_euler(s, dt, report, why);
    case TN_INTEGRATOR_RK4: return runge_kutta(s, &rk4, dt, &error, report, why);
    default: break;
    }
    // A substep that fails is too long; friction jams and missing memory are not cured by shorter
    // ones.
    const tn_result result = runge_kutta(s, &dormand_prince, dt, &error, report, why);
    const bool jammed = s->system->auxiliary.report.jammed || s->start->auxiliary.report.jammed;
    if (result != TN_OK && (jammed || result == TN_ERR_MEMORY)) return result;
    const double ratio =
        result == TN_OK ? error / s->settings.multiplier.error_tolerance : HUGE_VAL;
    ++report->substep_count;
    *wish     = next_substep(dt, ratio);
    *accepted = ratio <= 1;
    return TN_OK;
}

// Substeps as long as the error estimate allows, the last one ending where the step ends.
static tn_result adaptive(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    enum { SUBSTEPS_MAX = 100000 };
    const double end     = tni_time_after(s->now.time, h);
    double       substep = h, left = h;
    for (int i = 0; i < SUBSTEPS_MAX && substep >= 1e-9 * h; ++i) {
        const bool   last = substep >= left;
        const double dt   = last ? left : substep;
        bool         accepted;
        TRY(tni_integrate(s, dt, &substep, &accepted, report, why));
        if (!accepted) continue;
        if (last) s->next.time = end;
        const tn_result result = tni_project_and_measure(s, true, report, why);
        if (result == TN_OK && last) return TN_OK;
        if (result == TN_OK) {
            left -= dt;
            tni_accept_substep(s);
        } else {
            substep = 0.2 * dt;
        }
    }
    return tni_fail(why, TN_ERR_DIVERGED, "at time %g s no substep meets the error tolerance %g",
                    s->now.time, s->settings.multiplier.error_tolerance);
}

tn_result tni_multiplier_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_integrator integrator = s->settings.multiplier.integrator;
    if (s->has_unilaterals) return tni_event_step(s, h, report, why);
    if (integrator == TN_INTEGRATOR_ADAPTIVE) return adaptive(s, h, report, why);
    double          wish;
    bool            accepted;
    const tn_result result = tni_integrate(s, h, &wish, &accepted, report, why);
    // The last factorisation was at the last stage, the step's end; with Euler at its start.
    return result == TN_OK
               ? tni_project_and_measure(s, integrator == TN_INTEGRATOR_RK4, report, why)
               : result;
}
