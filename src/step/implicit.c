// implicit: steps with the forces and constraints of their end. After Hernandez, Garre, Casillas,
// Otaduy 2011, with the direction of joint forces implicit too.
//
// A step of h from (q, u) asks for the velocity u1 and the impulses e lambda with
//
//     M (u1 - u) = e F(q1, u1) + e J(q1)^T lambda,   C(q1) = 0,   q1 = fly(q, u1, h),   e = h
//
// (backward Euler). Linearised at the start this is one linear system (implicit_system.h), the
// paper's with the geometric stiffness of the joint forces added: `linear`. The joint error that
// remains, about (h w)^2 L / 2, is removed by a few rounds with the same factorisation:
// `corrected`,
//
//     A du + J^T dmu = 0,   J du = -C(q1)/e,   u1 += du
//
// which is modified Newton for C(q1) = 0; the rows are closed to second order from the start, which
// saves a round. `newton` solves the equations above themselves: factored at (q1, lambda) again and
// again.
//
// Second order, `bdf2`: with r = h / (h of the last step), share = (1 + r)/(1 + 2 r),
//
//     e = share h,   q1 = fly(q, share u1 + share r/(1 + r) d, h),
//     M u -> share ((1 + r) M u - r^2/(1 + r) m)
//
// d being the mean velocity of the last step, m the momentum at its start; both are part of the
// state, so a step depends on the state alone. Velocities jump where something is met (a contact, a
// hard limit, a rope): no difference may reach across, or the body that is stopped goes on by what
// it had before. So that step, which lands, and the next two, of which the first stops, are taken by
// backward Euler. The first round of the correction then solves for
// the residual of the equations above, not just for C = 0: second order depends on the direction of
// the joint forces at the end. After any other change of the state it begins with backward Euler.
//
// K_g uses the multipliers of the last step. For a state without them (the first step, or after a
// body was moved from outside) one solve without K_g gives them.
//
// Where the correction does not close the joints (forces have changed so much that the old K_g is
// useless) it is repeated with the forces just found, then Newton's method is tried; two-step
// differences are replaced by backward Euler. A step whose joints do not close even then is halved,
// six times at most; then one linear solve is taken for all of it, and counted (unclosed_count), if
// no joint is open by more than 0.1; otherwise the step fails and names the joint.
#include "step/stepper.h"

enum { HALVINGS_MAX = 6, STIFFER_MAX = 4 };

static const double gain_max = 1e-6; // of the kinetic energy: energy that a step may gain
// Factor on the joint forces that K_g is made of; both signs.
static const double stiffen_factor = -100;
// Closure error [m or rad] up to which a failed step is accepted at last.
static const double loose = 0.1;

// Rows of the joints, then the limits.
static int rows_of(const tn_model* model)
{
    return model->row_count + model->limit_count;
}

tn_result tni_implicit_create(tn_stepper* s, tn_why* why)
{
    const tn_model*    model = s->model;
    tni_implicit_work* work  = &s->implicit;
    const int          rows  = rows_of(model);
    work->u                  = TNI_TAKE(&s->arena, double, model->u_count);
    work->du                 = TNI_TAKE(&s->arena, double, model->u_count);
    work->best               = TNI_TAKE(&s->arena, double, model->u_count);
    work->linear             = TNI_TAKE(&s->arena, double, model->u_count);
    work->predicted          = TNI_TAKE(&s->arena, double, model->u_count);
    work->drift              = TNI_TAKE(&s->arena, double, model->u_count);
    work->momentum           = TNI_TAKE(&s->arena, double, model->u_count);
    work->mu                 = TNI_TAKE(&s->arena, double, rows);
    work->dmu                = TNI_TAKE(&s->arena, double, rows);
    work->r                  = TNI_TAKE(&s->arena, double, model->row_count);
    work->first              = TNI_TAKE(&s->arena, double, rows);
    work->again              = TNI_TAKE(&s->arena, double, rows);
    work->one_sided          = tni_implicit_system_is_one_sided(model);
    work->force              = TNI_TAKE(&s->arena, double, rows);
    for (int i = 0; i < 2; ++i) {
        tni_step_history* memory = i == 0 ? &work->before : &work->after;
        memory->multipliers      = TNI_TAKE(&s->arena, double, rows);
        memory->mean             = TNI_TAKE(&s->arena, double, model->u_count);
        memory->momentum         = TNI_TAKE(&s->arena, double, model->u_count);
    }
    if (s->arena.failed) return TN_ERR_MEMORY;
    return tni_implicit_system_create(&s->arena, s->system, &s->settings.implicit,
                                      &work->implicit_system, why);
}

// M u at s->now.
static void momentum_of(tn_stepper* s, double* p)
{
    tni_views(s->model, s->now.time, s->now.q, s->now.u, s->system->views);
    tni_system_momentum(s->system, s->now.u, p);
}

// The integration scheme of the step; *momentum <- that it begins with, NULL: M u.
static tni_step_scheme scheme_of(tn_stepper* s, double h, const double** momentum)
{
    tni_implicit_work*      work   = &s->implicit;
    const tni_step_history* before = &work->before;
    tni_step_scheme         scheme = {.h = h, .share = 1, .time = tni_time_after(s->now.time, h)};
    *momentum                      = NULL;
    const bool two                 = s->settings.implicit.integrator == TN_IMPLICIT_BDF2;
    if (two || s->settings.implicit.solve == TN_IMPLICIT_NEWTON)
        momentum_of(s, work->after.momentum);
    if (!two) return scheme;
    const double r = before->h > 0 && before->two ? h / before->h : 0;
    if (!(r > 0) || r > 2) return scheme; // faster growth of steps is not stable
    scheme.share = (1 + r) / (1 + 2 * r);
    for (int i = 0; i < s->model->u_count; ++i) {
        work->drift[i]    = scheme.share * r / (1 + r) * before->mean[i];
        work->momentum[i] = scheme.share * ((1 + r) * work->after.momentum[i] -
                                            r * r / (1 + r) * before->momentum[i]);
    }
    scheme.drift = work->drift;
    *momentum    = work->momentum;
    return scheme;
}

// ---- Solving ------------------------------------------------------------------------------------

static void mean_of(const tn_stepper* s, const tni_step_scheme* scheme, double* mean)
{
    for (int i = 0; i < s->model->u_count; ++i)
        mean[i] = scheme->share * s->implicit.u[i] + (scheme->drift != NULL ? scheme->drift[i] : 0);
}

// Solves the linear step repeatedly, until its active set is the one predicted.
static tn_result solve_linear(tn_stepper* s, tni_step_start* start, const tni_step_scheme* scheme,
                              tn_step_report* report, tn_why* why)
{
    tni_implicit_work* work   = &s->implicit;
    tn_result          result = TN_OK;
    for (int round = 0; round < TNI_IMPLICIT_SETS_MAX; ++round) {
        result =
            tni_implicit_system_begin(work->implicit_system, start, scheme, work->u, work->mu, why);
        ++report->implicit.factor_count;
        if (result == TN_OK) tni_implicit_system_report(work->implicit_system, report);
        if (result != TN_OK || !work->one_sided) return result;
        mean_of(s, scheme, work->best);
        if (tni_implicit_system_active_set_holds(work->implicit_system, start, scheme, work->best))
            break;
        start->keep_active_set = true;
        tni_copy_numbers(work->predicted, work->best, s->model->u_count);
        start->predicted = work->predicted;
    }
    return result;
}

// Multipliers for a state that has none.
static tn_result find_multipliers(tn_stepper* s, tni_step_start* start,
                                  const tni_step_scheme* scheme, tn_step_report* report,
                                  tn_why* why)
{
    tni_implicit_work* work = &s->implicit;
    start->multipliers      = NULL;
    const tn_result result =
        tni_implicit_system_begin(work->implicit_system, start, scheme, work->u, work->mu, why);
    ++report->implicit.factor_count;
    const double e = scheme->h * scheme->share;
    for (int i = 0; i < rows_of(s->model); ++i) work->before.multipliers[i] = -work->mu[i] / e;
    start->multipliers = work->before.multipliers;
    return result;
}

// Stores the answer of the linear step, before the first round changes it.
static void keep_linear(tn_stepper* s, const tni_step_scheme* scheme)
{
    const double e = scheme->h * scheme->share;
    for (int i = 0; i < rows_of(s->model); ++i) s->implicit.first[i] = -s->implicit.mu[i] / e;
    tni_copy_numbers(s->implicit.linear, s->implicit.u, s->model->u_count);
}

// Residual of the equations of motion at the end of the flight, as an impulse.
static void residual(tn_stepper* s, const tni_step_start* start, const tni_step_scheme* scheme,
                     double* b)
{
    tni_implicit_work*      work = &s->implicit;
    const tni_configuration end  = {scheme->time, s->next.q, s->next.u, s->now.z};
    const double*           p    = start->momentum != NULL ? start->momentum : work->after.momentum;
    if (!work->history_known) momentum_of(s, work->after.momentum);
    work->history_known = true;
    tni_system_evaluate_whole(s->system, &end);
    tni_implicit_system_forces(work->implicit_system, &end, scheme->h, b);
    tni_system_momentum(s->system, s->next.u, s->scratch);
    for (int i = 0; i < s->model->u_count; ++i)
        b[i] = p[i] + scheme->h * scheme->share * b[i] - s->scratch[i];
    tni_system_add_joint_forces(s->system, work->mu, b);
}

// Adds the multipliers of a round. The residual does not contain limits: with it their forces are
// replaced.
static void add_forces(tn_stepper* s, bool whole)
{
    tni_implicit_work* work = &s->implicit;
    const int          rows = s->model->row_count, limits = s->model->limit_count;
    for (int i = 0; i < rows + limits; ++i)
        work->mu[i] = (i >= rows && whole ? 0 : work->mu[i]) + work->dmu[i];
}

// Closes the joints with the present factorisation.
static tni_closure_error correct(tn_stepper* s, const tni_step_start* start,
                                 const tni_step_scheme* scheme, tn_step_report* report)
{
    tni_implicit_work* work    = &s->implicit;
    const tn_model*    model   = s->model;
    const double       e       = scheme->h * scheme->share;
    tni_closure_error  nearest = {.error = HUGE_VAL, .worst = -1};
    for (int round = 0, since = 0;; ++round) {
        tni_closure_error c;
        c.error = tni_implicit_system_fly(work->implicit_system, start, scheme, work->u, s->next.q,
                                          s->next.u, work->r, &c.worst);
        ++since;
        if (c.error < nearest.error || nearest.worst < 0) {
            nearest = c;
            since   = 0;
        }
        const bool whole = round == 0 && scheme->drift != NULL;
        if (round == 0 && (whole || !(c.error <= s->implicit.goal))) keep_linear(s, scheme);
        if ((c.error <= s->implicit.goal && !whole) || round == s->settings.implicit.iterations ||
            since > (scheme->drift != NULL ? 1 : TNI_IMPLICIT_PATIENCE) ||
            !(c.error < TNI_DIVERGED))
            return nearest.error < c.error ? c : nearest;
        if (whole) residual(s, start, scheme, work->best);
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* of = &model->constraints[i];
            for (int k = 0; k < of->row_count; ++k)
                work->r[of->row_start + k] *= k < of->held_count ? -1 / e : -1;
        }
        if (tni_implicit_system_correct(work->implicit_system, whole ? work->best : NULL, work->r,
                                        work->du, work->dmu, NULL) != TN_OK)
            return (tni_closure_error){.error = HUGE_VAL, .worst = c.worst};
        for (int i = 0; i < model->u_count; ++i) work->u[i] += work->du[i];
        add_forces(s, whole);
        ++report->iteration_count;
    }
}

static double longest(const tn_stepper* s, const double* u)
{
    double most = 0;
    for (int i = 0; i < s->model->u_count; ++i) {
        if (!(fabs(u[i]) <= most)) most = fabs(u[i]); // so written, a NaN counts as largest
    }
    return isnan(most) ? HUGE_VAL : most;
}

// Newton's method on the equations of the step: factored again at the end of each round.
static tni_closure_error newton(tn_stepper* s, const tni_step_start* start,
                                const tni_step_scheme* scheme, tn_step_report* report)
{
    tni_implicit_work* work  = &s->implicit;
    const tn_model*    model = s->model;
    const double       e     = scheme->h * scheme->share;
    double             step  = HUGE_VAL;
    for (int round = 0;; ++round) {
        tni_closure_error c;
        c.error = tni_implicit_system_fly(work->implicit_system, start, scheme, work->u, s->next.q,
                                          s->next.u, work->r, &c.worst);
        if (round == 0) keep_linear(s, scheme);
        if (step <= s->implicit.goal && c.error <= s->implicit.goal) return c;
        if (round == s->settings.implicit.iterations || !(c.error < TNI_DIVERGED))
            return (tni_closure_error){.error = HUGE_VAL, .worst = c.worst};
        residual(s, start, scheme, work->best);
        for (int i = 0; i < rows_of(model); ++i) work->force[i] = -work->mu[i] / e;
        const tni_step_start there = {.at = {scheme->time, s->next.q, s->next.u, s->now.z},
                                      .multipliers =
                                          start->multipliers != NULL ? work->force : NULL,
                                      .predicted       = s->next.u,
                                      .keep_active_set = true};
        for (int i = 0; i < model->constraint_count; ++i) {
            const tni_constraint* of = &model->constraints[i];
            for (int k = 0; k < of->row_count; ++k)
                work->r[of->row_start + k] *= k < of->held_count ? -1 / e : -1;
        }
        const tni_step_scheme here = {.h = scheme->h, .share = scheme->share, .time = scheme->time};
        ++report->implicit.factor_count;
        ++report->iteration_count;
        if (tni_implicit_system_begin(work->implicit_system, &there, &here, work->du, work->dmu,
                                      NULL) != TN_OK ||
            tni_implicit_system_correct(work->implicit_system, work->best, work->r, work->du,
                                        work->dmu, NULL) != TN_OK)
            return (tni_closure_error){.error = HUGE_VAL, .worst = c.worst};
        for (int i = 0; i < model->u_count; ++i) work->u[i] += work->du[i];
        add_forces(s, true);
        step = scheme->h * longest(s, work->du);
    }
}

// Tolerance of the correction, or rounding for coordinates so far from the origin.
static double goal_of(const tn_stepper* s)
{
    double far = 1;
    for (int i = 0; i < s->model->q_count; ++i) far = fmax(far, fabs(s->now.q[i]));
    return fmax(TNI_IMPLICIT_AIM * s->settings.implicit.tolerance, 1e-14 * far);
}

// ---- A step -------------------------------------------------------------------------------------

static void store_history(tn_stepper* s, const tni_step_scheme* scheme)
{
    tni_implicit_work* work = &s->implicit;
    const double       e    = scheme->h * scheme->share;
    work->after.h           = scheme->h;
    for (int i = 0; i < rows_of(s->model); ++i) work->after.multipliers[i] = -work->mu[i] / e;
    work->after.two = s->settings.implicit.integrator == TN_IMPLICIT_BDF2 && !work->after.struck &&
                      !(work->before.h > 0 && work->before.struck);
    if (!work->after.two) return;
    tni_mean_velocity(s->model, scheme->h, s->now.q, s->next.q, work->after.mean);
}

static double kinetic(tn_stepper* s, const double* u)
{
    double sum = 0;
    tni_system_momentum(s->system, u, s->scratch);
    for (int i = 0; i < s->model->u_count; ++i) sum += 0.5 * s->scratch[i] * u[i];
    return sum;
}

// The equations have other roots, in which a light link has flipped over: these gain energy. It is
// checked when a correction took many rounds, or changed the motion itself (residual) with
// derivatives of the start, and has a good part of the energy. (Light links under heavy load have
// large corrections too, but lose energy.)
static bool has_gained(tn_stepper* s)
{
    const tni_configuration now  = tni_configuration_of(&s->now),
                            next = tni_configuration_of(&s->next);
    const tn_energy was          = tni_system_energy(s->system, &now),
                    is           = tni_system_energy(s->system, &next);
    return is.kinetic + is.gravity + is.elastic >
           was.kinetic + was.gravity + was.elastic + gain_max * is.kinetic;
}

static bool has_other_root(tn_stepper* s)
{
    tni_implicit_work* work = &s->implicit;
    if (work->rescue) return has_gained(s);
    tni_views(s->model, s->next.time, s->next.q, s->next.u, s->system->views);
    for (int i = 0; i < s->model->u_count; ++i) work->du[i] = work->u[i] - work->linear[i];
    return kinetic(s, work->du) > TNI_IMPLICIT_SHARE * kinetic(s, work->u) && has_gained(s);
}

// After a linear solve: two-step differences must not reach across a jump of the velocities.
static bool strikes(const tn_stepper* s)
{
    const tni_implicit_work* work = &s->implicit;
    return work->one_sided && s->settings.implicit.integrator == TN_IMPLICIT_BDF2 &&
           tni_implicit_system_meets(work->implicit_system,
                                     work->before.h > 0 ? work->before.multipliers : NULL);
}

// Solves with one of the methods; *c: the closure error.
static tn_result solve(tn_stepper* s, tn_implicit_solve how, tni_step_start* start,
                       const tni_step_scheme* scheme, tni_closure_error* c, tn_step_report* report,
                       tn_why* why)
{
    tni_implicit_work* work = &s->implicit;
    start->second_order     = how == TN_IMPLICIT_CORRECTED;
    start->keep_active_set  = false;
    start->predicted        = s->now.u;
    TRY(solve_linear(s, start, scheme, report, why));
    work->after.struck = strikes(s);
    c->error           = HUGE_VAL;
    if (work->after.struck && scheme->drift != NULL) return TN_OK; // by backward Euler
    const int  rounds = report->iteration_count;
    const bool whole  = how == TN_IMPLICIT_CORRECTED && scheme->drift != NULL;
    if (how == TN_IMPLICIT_NEWTON) *c = newton(s, start, scheme, report);
    else if (how == TN_IMPLICIT_CORRECTED) *c = correct(s, start, scheme, report);
    else
        c->error = tni_implicit_system_fly(work->implicit_system, start, scheme, work->u, s->next.q,
                                           s->next.u, work->r, &c->worst);
    if (how != TN_IMPLICIT_LINEAR && !work->final_try &&
        (whole || work->rescue || report->iteration_count - rounds > TNI_IMPLICIT_ROUNDS_USUAL) &&
        has_other_root(s))
        c->error = HUGE_VAL;
    return TN_OK;
}

static bool is_closed(const tn_stepper* s, const tni_closure_error* c)
{
    return s->settings.implicit.solve == TN_IMPLICIT_LINEAR ? c->error < TNI_DIVERGED
                                                            : c->error <= s->implicit.goal;
}

// Everything that may be tried with this step. Where joint forces have changed too much for the old
// K_g: with those of this step, then by Newton's method, then the correction again.
static tn_result try_all(tn_stepper* s, tni_step_start* start, const tni_step_scheme* scheme,
                         tni_closure_error* c, tn_step_report* report, tn_why* why)
{
    tni_implicit_work*      work = &s->implicit;
    const tn_implicit_solve how  = s->settings.implicit.solve;
    work->rescue                 = false;
    tn_result result             = solve(s, how, start, scheme, c, report, why);
    if (result != TN_OK || is_closed(s, c) || how == TN_IMPLICIT_LINEAR) return result;
    if (how == TN_IMPLICIT_NEWTON && !work->final_try)
        return result;                        // a shorter step is the better remedy
    if (scheme->drift != NULL) return result; // so is backward Euler
    work->rescue = true;
    if (start->multipliers != NULL) {
        tni_copy_numbers(work->again, work->first, rows_of(s->model));
        start->multipliers = work->again;
    }
    result = solve(s, TN_IMPLICIT_CORRECTED, start, scheme, c, report, why);
    if (result != TN_OK || is_closed(s, c) || how == TN_IMPLICIT_NEWTON) return result;
    result = solve(s, TN_IMPLICIT_NEWTON, start, scheme, c, report, why);
    // Light links between tension and compression are stiffened strongly for this step: that costs
    // energy.
    for (int i = 0; i < STIFFER_MAX && start->multipliers != NULL; ++i) {
        if (result != TN_OK || is_closed(s, c)) return result;
        for (int k = 0; k < rows_of(s->model); ++k) work->again[k] *= stiffen_factor;
        result = solve(s, TN_IMPLICIT_CORRECTED, start, scheme, c, report, why);
    }
    return result;
}

static tn_result attempt(tn_stepper* s, double h, tni_closure_error* c, tn_step_report* report,
                         tn_why* why)
{
    tni_implicit_work* work    = &s->implicit;
    tni_step_start     start   = {.at = tni_configuration_of(&s->now), .predicted = s->now.u};
    tni_step_scheme    scheme  = scheme_of(s, h, &start.momentum);
    tn_result          result  = TN_OK;
    const bool         stiffen = s->settings.implicit.stiffen && rows_of(s->model) > 0;
    s->next.time               = scheme.time;
    work->history_known        = false;
    tni_copy_numbers(s->next.z, s->now.z, s->model->coordinate_count);
    if (stiffen) start.multipliers = work->before.multipliers;
    if (stiffen && !(work->before.h > 0))
        result = find_multipliers(s, &start, &scheme, report, why);
    if (result == TN_OK) result = try_all(s, &start, &scheme, c, report, why);
    if (result == TN_OK && !is_closed(s, c) && scheme.drift != NULL) { // by backward Euler
        start.momentum = NULL;
        scheme         = (tni_step_scheme){.h = h, .share = 1, .time = scheme.time};
        if (stiffen) start.multipliers = work->before.multipliers;
        result = try_all(s, &start, &scheme, c, report, why);
    }
    if (result == TN_OK) store_history(s, &scheme);
    return result;
}

static void swap_history(tni_implicit_work* work)
{
    const tni_step_history before = work->before;
    work->before                  = work->after;
    work->after                   = before;
}

static tn_result substep(tn_stepper* s, double h, int level, tn_step_report* report, tn_why* why)
{
    tni_closure_error c;
    s->implicit.final_try = level == HALVINGS_MAX || s->implicit.lenient;
    TRY(attempt(s, h, &c, report, why));
    s->implicit.end = c;
    if (is_closed(s, &c)) {
        ++report->substep_count;
        return TN_OK;
    }
    if (level == HALVINGS_MAX) {
        report->worst_joint = tni_constraint_id(s->model, c.worst);
        report->joint_error = c.error;
        if (!isfinite(c.error))
            return tni_fail(why, TN_ERR_DIVERGED,
                            "joint '%s' does not close: the step is too long for its motion",
                            tni_name_of(s, c.worst));
        return tni_fail(why, TN_ERR_DIVERGED,
                        "joint '%s' does not close: it stays open by %.3g m or rad",
                        tni_name_of(s, c.worst), c.error);
    }
    TRY(substep(s, 0.5 * h, level + 1, report, why));
    if (!s->implicit.moved) tni_copy_configuration(s->model, &s->stage, &s->now);
    s->implicit.moved = true;
    tni_accept_substep(s);
    swap_history(&s->implicit);
    return substep(s, 0.5 * h, level + 1, report, why);
}

// Errors at s->next, and its angles.
static void measure(tn_stepper* s, tn_step_report* report)
{
    const tni_configuration at = tni_configuration_of(&s->next);
    s->angles_followed = tni_implicit_system_measure(s->implicit.implicit_system, &at, s->next.z,
                                                     &report->velocity_error);
    if (!s->angles_followed) {
        tni_measure_errors(s, report);
        return;
    }
    report->joint_error = s->implicit.end.error;
    report->worst_joint = tni_constraint_id(s->model, s->implicit.end.worst);
}

// Back to the start of the step, after substeps.
static void restore_start(tn_stepper* s)
{
    if (!s->implicit.moved) return;
    tni_copy_configuration(s->model, &s->now, &s->stage);
    s->implicit.before.h = 0; // its forces are those of a substep
    s->implicit.moved    = false;
}

// Nothing closes the joints, not even with short substeps: a violent start, or contradicting
// joints. One linear solve for the whole step damps the motion, and the next steps close the
// joints.
static tn_result last_resort(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_implicit_solve asked = s->settings.implicit.solve;
    s->settings.implicit.solve    = TN_IMPLICIT_LINEAR;
    tni_closure_error c;
    const tn_result   result   = attempt(s, h, &c, report, why);
    s->settings.implicit.solve = asked;
    if (result != TN_OK) return result;
    if (!(c.error <= loose)) return TN_ERR_DIVERGED;
    s->implicit.end = c;
    ++report->substep_count;
    ++report->unclosed_count;
    return TN_OK;
}

tn_result tni_implicit_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const double end  = tni_time_after(s->now.time, h);
    s->implicit.goal  = goal_of(s);
    s->implicit.moved = s->implicit.lenient = false;
    tn_result result                        = substep(s, h, 0, report, why);
    if (result == TN_ERR_DIVERGED) { // light links under heavy load: large corrections are right
        restore_start(s);
        s->implicit.lenient = true;
        result              = substep(s, h, 0, report, why);
    }
    if (result == TN_ERR_DIVERGED) {
        tn_why own;
        restore_start(s);
        if (last_resort(s, h, report, &own) == TN_OK) result = TN_OK;
    }
    if (result != TN_OK) return result;
    s->next.time = end;
    measure(s, report);
    report->deepest =
        tni_implicit_system_penetration(s->implicit.implicit_system, &report->contact_count);
    return TN_OK;
}
