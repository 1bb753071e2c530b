// impulse: bodies fly freely between instants; impulses at the instants keep the joints closed.
// After Tomcin, Sibbing, Kobbelt 2014, with the velocity that is stored synchronised.
//
// A step of h from (q, u) at t, M and J being those at q:
//
//     kick     M (u+ - u) = h/2 f + J^T p1,  J u+ = -h/2 gamma     (velocity correction)
//     close    (q', u') = fly(q, u+, h);  while |C(q')| > tolerance:
//              M du = J^T p2,  J du = -C(q') / h,  u+ += du        (joint correction)
//     land     M' (u_end - u') = h/2 f' + J'^T p3,  J' u_end = 0
//
// Newton's method with the derivative h J M^-1 J^T of the start (modified Newton): one
// factorisation a step, since M', J' at the end are those of the next step's start. Kicks of h/2 at
// both ends make this velocity Verlet, of second order and symplectic; the paper stores u' instead
// of u_end: the same motion, but half a kick off when it is read, and a step would depend on the
// one before. Here a step depends on the state alone: what is kept from one step to the next is
// only what would be computed again, bit for bit.
//
// J u+ = -h/2 gamma, not 0 as in the paper, is the velocity in the middle of the step: the first
// prediction is then closed up to h^3. Rounds a step with 0 and with gamma, h = 20 ms, 2 s: fourbar
// 4.7, 3.3; peaucellier 3.3, 2.5; strandbeest 7.9, 7.7; chain 24.9, 5.5.
//
// Velocity-only rows (motors, gears, rolling) ask for the mean of their rates at both ends.
// Velocity-dependent forces at the end use a predicted velocity, so that the order stays two. Joint
// damping is clamped so that it cannot reverse the motion within a step. Light bodies under heavy
// load: see stiffen.c; with h^2 K' from there,
//     (M + h^2 K') (u+ - u) = h/2 f - h^2 K' w + J^T p1
//
// When the joints do not close, or only by a correction that is no small part of the motion (a
// linkage that passes near a singular configuration: measured, 85 % of the energy lost in one step
// of 5 ms that takes a Strandbeest through its toggle), the step is halved, four times at most.
// Then every body in tension is stiffened and the solves get more regularisation, a hundred times
// more each time, which damps what a singular configuration demands. The best of these is taken if
// no joint is open by more than the setting `accept`, and counted in the report. Otherwise the step
// fails and names the joint. If a body would rotate by more than 0.5 rad in a step, the step is cut
// into equal substeps first.
#include "step/stepper.h"

#include "system/step_matrix.h"

enum {
    HALVINGS_MAX = 4,
    SUBSTEPS_MAX = 1000,
    PATIENCE     = 8,
    SAFER_MAX    = 4,
    UNCLOSED_MAX = 16,
    CROWD        = 100
};

static const double turn_max       = 0.5; // rotation of a body in one substep [rad]
static const double crowd_turn_max = 1;   // the same where many contacts push
static const double aim            = 0.2; // of the tolerance: lever arms magnify joint errors
// Of the kinetic energy that corrections may change; usually < 0.002.
static const double share = 0.02;
// Closure error of the prediction up to which no energy check is needed [m or rad].
static const double rough          = 1e-6;
static const double helped         = 0.7;   // of the gain of a substep that is left by half of it
static const double slack          = 1e-10; // relative velocity error that is worth another solve
static const double safer          = 100;   // factor on the regularisation, each time
static const double safe_tolerance = 1e-6;
// Residual of the laws of contacts beside approaches of 1 [m/s or rad/s], with explicit springs: rounding.
static const double exact_laws = 1e-12;

// ---- Memory -------------------------------------------------------------------------------------

tn_result tni_impulse_create(tn_stepper* s)
{
    const tn_model*   model = s->model;
    tni_impulse_work* work  = &s->impulse;
    work->plus              = TNI_TAKE(&s->arena, double, model->u_count);
    work->first             = TNI_TAKE(&s->arena, double, model->u_count);
    work->best              = TNI_TAKE(&s->arena, double, model->u_count);
    work->force             = TNI_TAKE(&s->arena, double, model->u_count);
    work->target_rates      = TNI_TAKE(&s->arena, double, model->row_count);
    work->goal              = TNI_TAKE(&s->arena, double, model->row_count);
    for (int i = 0; i < 4; ++i)
        work->past[i] = TNI_TAKE(&s->arena, double, s->has_unilaterals ? model->row_count : 0);
    work->warm_start = tni_warm_start_take(&s->arena, model);
    work->views      = TNI_TAKE(&s->arena, tni_view, s->has_unilaterals ? model->body_count : 0);
    work->prescribed_rates = TNI_TAKE(&s->arena, double, model->row_count);
    work->principal        = TNI_TAKE(&s->arena, tni_principal, model->body_count);
    work->load             = TNI_TAKE(&s->arena, double, model->body_count);
    work->part_work        = TNI_TAKE(&s->arena, double, 2 * (size_t)model->body_count);
    work->apart            = TNI_TAKE(&s->arena, double, s->has_unilaterals ? model->q_count : 0);
    work->group            = TNI_TAKE(&s->arena, int, model->body_count);
    work->pull             = TNI_TAKE(&s->arena, double, model->joint_count);
    work->turn             = TNI_TAKE(&s->arena, tn_vec3, model->body_count);
    work->own_turn         = TNI_TAKE(&s->arena, tn_vec3, model->body_count);
    work->first_push       = TNI_TAKE(&s->arena, double, model->row_count);
    work->tension          = TNI_TAKE(&s->arena, tni_mat3, model->body_count);
    work->stiffness        = TNI_TAKE(&s->arena, tni_mat3, model->body_count);
    if (s->arena.failed) return TN_ERR_MEMORY;
    tni_stiffen_prepare(s);
    tni_auxiliary* a        = &s->system->auxiliary;
    const bool     implicit = s->settings.impulse.springs == TN_SPRINGS_IMPLICIT;
    a->tolerance = implicit ? fmax(1e-7, 0.1 * s->settings.impulse.tolerance) : exact_laws;
    s->system->unilaterals.spin_and_roll = true;
    a->loops = work->loops = tni_system_regularises(s->system);
    TRY(tni_accuracy_create(s));
    work->touches = tni_has_unilaterals(model);
    // Rows that push otherwise than along themselves, and J M^-1 J^T, have no place for contacts in their matrix.
    const bool dense =
        model->core.auxiliary_rows > 0 || (tni_system_is_schur(s->system) && !implicit);
    if (dense || !s->has_unilaterals) return TN_OK;
    if (implicit) {
        work->contact_stiffness = TNI_TAKE(&s->arena, double, model->body_count);
        work->contact_damping   = TNI_TAKE(&s->arena, double, model->body_count);
        if (s->arena.failed) return TN_ERR_MEMORY;
        TRY(tni_soft_rows_create(&s->arena, model, &work->soft));
        TRY(tni_energy_create(s));
        s->system->soft = work->soft;
        TRY(tni_bounded_rows_create(&s->arena, model, work->soft, &work->bounded));
        s->system->bounded = true;
    }
    return tni_step_matrix_create(model, work->soft, &work->bounded, &a->matrix);
}

// ---- Kick ---------------------------------------------------------------------------------------

static tn_result factor(tn_stepper* s, const tni_configuration_buffer* place,
                        tn_step_report* report, tn_why* why)
{
    const tni_configuration at     = tni_configuration_of(place);
    const tn_result         result = tni_system_factor(s->system, &at, why);
    if (result == TN_OK) tni_system_report(s->system, report);
    return result;
}

// Velocity-only rows: prescribed rate = rate - J u.
static void set_prescribed_rates(tn_stepper* s)
{
    for (int i = 0; i < s->model->constraint_count; ++i) {
        const tni_constraint* constraint = &s->model->constraints[i];
        double                own[TNI_DIM_MAX];
        if (constraint->held_count == constraint->row_count) continue;
        tni_system_row_rates(s->system, constraint, s->now.u, own);
        for (int k = constraint->held_count; k < constraint->row_count; ++k)
            s->impulse.prescribed_rates[constraint->row_start + k] =
                s->system->rate[constraint->row_start + k] - own[k];
    }
}

tn_result tni_impulse_solve(tn_stepper* s, const double* b, bool exact, tn_why* why)
{
    const tn_result result = tni_system_solve(s->system, b, s->impulse.target_rates, exact, why);
    if (result != TN_ERR_DIVERGED || !s->system->auxiliary.report.jammed) return result;
    ++s->impulse.jam_count;
    return TN_OK;
}

tn_result tni_impulse_correct(tn_stepper* s, tn_why* why)
{
    const tn_result result = tni_impulse_solve(s, NULL, false, why);
    for (int i = 0; result == TN_OK && i < s->model->u_count; ++i)
        s->impulse.plus[i] += s->system->answer[i];
    for (int i = 0; result == TN_OK && s->impulse.soft != NULL && i < s->model->row_count; ++i)
        s->impulse.past[0][i] += s->system->answer[s->model->u_count + i];
    return result;
}

// Solves with b = h/2 f - h^2 K' w and the rates asked for: u+ = u + answer.
tn_result tni_impulse_solve_kick(tn_stepper* s, double h, tn_why* why)
{
    const tn_model* model  = s->model;
    tni_system*     system = s->system;
    double*         b      = s->scratch;
    for (int i = 0; i < model->u_count; ++i) b[i] = 0.5 * h * s->impulse.force[i];
    for (int i = 0; system->stiffness != NULL && i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->kind != TN_BODY_RIGID || body->node < 0) continue;
        const tn_vec3 w = tni_sub(tni_read3(s->now.u + body->u_start + 3), s->impulse.turn[i]);
        tni_accumulate(b + body->u_start + 3, tni_neg(tni_mul(&system->stiffness[i], w)));
    }
    const tn_result result = tni_impulse_solve(s, b, false, why);
    for (int i = 0; i < model->u_count; ++i) s->impulse.plus[i] = s->now.u[i] + system->answer[i];
    return result;
}

// Solves for the same u+ again, asking for exactly the rates that it has. Where rows are redundant
// this gives the multipliers of least norm. Those of the rounds are not: what a round asks for lies
// a little outside the range of J, and the regularised solve answers that part with multipliers of
// that part / alpha. They have no effect while joints are closed, but where joints are open by the
// tolerance they turn the bodies: 4e-6 of the angular momentum in 1000 steps of a ring of rods.
static tn_result least_multipliers(tn_stepper* s, double h, tn_why* why)
{
    for (int i = 0; i < s->model->u_count; ++i) s->scratch[i] = s->impulse.plus[i] - s->now.u[i];
    tni_system_all_rates(s->system, s->scratch, s->impulse.target_rates);
    return tni_impulse_solve_kick(s, h, why);
}

static void set_first_goal(tn_stepper* s, double h)
{
    const tni_system* system = s->system;
    for (int i = 0; i < s->model->row_count; ++i)
        s->impulse.target_rates[i] = -system->rate[i] - 0.5 * h * system->gamma[i];
    tni_copy_numbers(s->impulse.goal, s->impulse.target_rates, s->model->row_count);
}

static tn_result first_kick(tn_stepper* s, double h, tn_why* why)
{
    set_first_goal(s, h);
    return tni_impulse_solve_kick(s, h, why);
}

// The velocity of a flight in which only weight acts.
static void throw_bodies(tn_stepper* s, double h)
{
    const tn_model* model = s->model;
    tni_copy_numbers(s->impulse.plus, s->now.u, model->u_count);
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const int       n    = body->kind == TN_BODY_PLANAR ? 2 : body->dim < 3 ? 0 : 3;
        for (int k = 0; k < n && body->mass > 0; ++k)
            s->impulse.plus[body->u_start + k] +=
                h * s->impulse.force[body->u_start + k] / body->mass;
    }
}

// With implicit springs, joints, springs and contacts are solved together, once the contacts of the step are known.
// These are looked for along a ballistic flight: velocities of the start, and weight.
static tn_result ballistic_kick(tn_stepper* s, double h)
{
    const tni_configuration at    = tni_configuration_of(&s->now);
    tni_scene_view          scene = tni_system_scene(s->system, &at);
    scene.flying                  = true;
    throw_bodies(s, h);
    set_first_goal(s, h);
    s->system->auxiliary.softens = s->system->auxiliary.binds = true;
    if (s->impulse.soft == NULL) return TN_OK;
    tni_bounded_kick(&s->impulse.bounded, &scene, h);
    tni_impulse_start_bounded(s, false, h);
    tni_soft_kick(s->impulse.soft, &scene, h, s->impulse.frame, s->now.u, s->now.u);
    return TN_OK;
}

tn_result tni_impulse_kick(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tni_configuration at   = tni_configuration_of(&s->now);
    s->system->stiffness         = NULL;
    s->system->within            = h;
    s->system->auxiliary.crowded = false;
    if (s->system->auxiliary.matrix != NULL) tni_step_matrix_renew(s->system->auxiliary.matrix);
    const bool factored = s->now_factored;
    s->now_factored     = false;
    if (!factored) TRY(factor(s, &s->now, report, why));
    if (s->has_unilaterals) tni_views(s->model, s->now.time, s->now.q, s->now.u, s->impulse.views);
    tni_system_forces(s->system, &at, true, s->impulse.force);
    set_prescribed_rates(s);
    return s->has_unilaterals ? ballistic_kick(s, h) : first_kick(s, h, why);
}

// Whether the multipliers of the last solve make some tension too stiff; if so, kicks again with
// h^2 K'.
static tn_result stiffen(tn_stepper* s, double h, bool* again, tn_step_report* report, tn_why* why)
{
    int (*find)(tn_stepper*, double) = s->impulse.soft != NULL ? tni_tension : tni_stiffen;
    const int count                  = s->settings.impulse.stiffen ? find(s, h) : 0;
    *again                           = count > 0;
    if (count == 0) return TN_OK;
    if (count > report->impulse.stiffened_count) report->impulse.stiffened_count = count;
    s->system->stiffness = s->impulse.stiffness;
    TRY(factor(s, &s->now, report, why));
    if (!s->has_unilaterals) return first_kick(s, h, why);
    set_first_goal(s, h);
    return TN_OK;
}

// ---- Close --------------------------------------------------------------------------------------

// Flies to s->next and evaluates it; r <- the rates that would close the joints.
tni_closure_error tni_impulse_fly(tn_stepper* s, double h)
{
    const tn_model* model  = s->model;
    tni_system*     system = s->system;
    double*         r      = s->impulse.target_rates;
    tni_fly(model, s->system->asleep, h, s->now.q, s->impulse.plus, s->next.q, s->next.u);
    const tni_configuration at = tni_configuration_of(&s->next);
    tni_system_evaluate(system, &at);
    tni_closure_error c = {.worst = -1};
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        double                start[TNI_DIM_MAX];
        const int             first = constraint->row_start, held = constraint->held_count;
        if (tni_system_sleeps(system, constraint)) continue;
        if (held < constraint->row_count)
            tni_system_row_rates(system, constraint, s->impulse.plus, start);
        for (int k = 0; k < constraint->row_count; ++k) {
            const double rate = k < held ? system->C[first + k] / h
                                         : 0.5 * (system->rate[first + k] + start[k] +
                                                  s->impulse.prescribed_rates[first + k]);
            r[first + k]      = -rate;
            const double e    = fabs(h * rate);
            if (e <= c.error) continue; // so written, a NaN counts as largest
            c.error = isnan(e) ? HUGE_VAL : e;
            c.worst = i;
        }
    }
    if (s->has_unilaterals) tni_system_rotate_errors(system, s->impulse.views, r);
    return c;
}

// Newton's method; the u+ with the smallest error is in s->impulse.best. False: not within the
// tolerance.
static bool correct(tn_stepper* s, double h, double tolerance, tni_closure_error* nearest,
                    tn_step_report* report)
{
    int since = 0;
    *nearest  = (tni_closure_error){.error = HUGE_VAL, .worst = -1};
    tni_copy_numbers(s->impulse.first, s->impulse.plus, s->model->u_count);
    for (int round = 0;; ++round) {
        const tni_closure_error c = tni_impulse_fly(s, h);
        ++since;
        if (round == 0) nearest->initial = c.error;
        if (c.error < nearest->error || nearest->worst < 0) {
            nearest->error = c.error;
            nearest->worst = c.worst;
            since          = 0;
            tni_copy_numbers(s->impulse.best, s->impulse.plus, s->model->u_count);
        }
        if (c.error <= tolerance) return true;
        if (round == s->settings.impulse.iterations || since > PATIENCE ||
            !(c.error < TNI_DIVERGED))
            return false;
        if (tni_impulse_correct(s, NULL) != TN_OK) return false;
        ++report->iteration_count;
    }
}

// Multipliers of least norm, where joints stay closed with them; they do except near singular
// configurations.
static void least_multipliers_if_closed(tn_stepper* s, double h, double tolerance)
{
    const bool cleaned = least_multipliers(s, h, NULL) == TN_OK;
    if (cleaned && tni_impulse_fly(s, h).error <= fmax(tolerance, 1e-13)) return;
    tni_copy_numbers(s->impulse.plus, s->impulse.best, s->model->u_count);
    (void)tni_impulse_fly(s, h);
}

// What the kick and its corrections pushed is left in the answer: tension is found from it.
tn_result tni_impulse_close_alone(tn_stepper* s, double h, double tolerance,
                                  tni_closure_error* nearest, bool* closed, tn_step_report* report,
                                  tn_why* why)
{
    const int rows   = s->model->row_count;
    double *  pushed = s->impulse.past[0], *mu = s->system->answer + s->model->u_count;
    tni_copy_numbers(s->impulse.target_rates, s->impulse.goal, rows);
    TRY(tni_impulse_solve_kick(s, h, why));
    tni_copy_numbers(pushed, mu, rows);
    tni_copy_numbers(s->impulse.first_push, mu, rows);
    *closed = correct(s, h, tolerance, nearest, report) ||
              nearest->error <= s->settings.impulse.tolerance;
    tni_copy_numbers(mu, pushed, rows);
    tni_energy_keep(s);
    return TN_OK;
}

// Contacts first: the tension depends on them.
static tn_result close_with_unilaterals(tn_stepper* s, double h, double tolerance,
                                        tni_closure_error* nearest, bool* closed,
                                        tn_step_report* report, tn_why* why)
{
    const bool implicit = s->impulse.soft != NULL;
    bool       again    = false;
    TRY(tni_impulse_close(s, h, tolerance, nearest, closed, report, why));
    if (!*closed && tni_is_crowded(s) && !s->impulse.final_try) return TN_OK; // a shorter step
    if (!*closed && implicit && !s->impulse.final_try) tni_impulse_take_first_forces(s);
    TRY(stiffen(s, h, &again, report, why));
    if (!again) return TN_OK;
    if (!*closed && implicit) throw_bodies(s, h); // not where the first try has gone
    return tni_impulse_close(s, h, tolerance, nearest, closed, report, why);
}

static tn_result close_joints(tn_stepper* s, double h, double tolerance, tni_closure_error* nearest,
                              bool* closed, tn_step_report* report, tn_why* why)
{
    bool again = false;
    if (s->has_unilaterals)
        return close_with_unilaterals(s, h, tolerance, nearest, closed, report, why);
    // Without loops the multipliers of the kick give the tension.
    if (!s->impulse.loops) TRY(stiffen(s, h, &again, report, why));
    *closed = correct(s, h, tolerance, nearest, report);
    if (!s->impulse.loops) return TN_OK;
    if (*closed) least_multipliers_if_closed(s, h, tolerance);
    else TRY(least_multipliers(s, h, why));
    TRY(stiffen(s, h, &again, report, why));
    if (!again) return TN_OK;
    *closed = correct(s, h, tolerance, nearest, report);
    if (*closed) least_multipliers_if_closed(s, h, tolerance);
    return TN_OK;
}

// Contacts, limits and ropes that push.
static int pushing_count(const tn_stepper* s)
{
    const tni_unilaterals* a     = &s->system->unilaterals;
    int                    count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) count += a->unilaterals[i].force[0] > 0;
    return count;
}

// False if the correction is a large part of the motion. Where a linkage is thrown through a nearly
// singular configuration the joints do close, but the energy is lost.
static bool correction_is_small(tn_stepper* s, const tni_closure_error* c)
{
    double* change = s->scratch;
    if (!(c->initial > rough) || pushing_count(s) > 0) return true;
    for (int i = 0; i < s->model->u_count; ++i)
        change[i] = s->impulse.plus[i] - s->impulse.first[i];
    return tni_system_kinetic(s->system, change) <=
           share * tni_system_kinetic(s->system, s->impulse.plus);
}

// ---- Land ---------------------------------------------------------------------------------------

// Adds the second half of the kick to s->next.u and makes the velocities fit the joints.
static tn_result second_kick(tn_stepper* s, double h, bool exact, tn_why* why)
{
    const tn_model* model = s->model;
    for (int i = 0; i < model->u_count; ++i) s->scratch[i] = 0.5 * h * s->impulse.force[i];
    if (s->system->stiffness != NULL) tni_tension_push(s, s->scratch);
    const tn_result result = tni_impulse_solve(s, s->scratch, exact, why);
    for (int i = 0; i < model->u_count; ++i)
        s->next.u[i] = s->impulse.plus[i] + s->system->answer[i];
    return result;
}

static double fastest(const tn_stepper* s)
{
    double most = 1;
    for (int i = 0; i < s->model->u_count; ++i) most = fmax(most, fabs(s->next.u[i]));
    return most;
}

// The second half of the kick, then evaluates the result. The regularisation leaves an error in the
// rates: solve again for what is left, usually down to rounding; exactly where that is not enough.
// Near a singular configuration the exact answer would throw bodies, so the damped one has to do.
static tn_result fit_velocities(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model* model = s->model;
    double*         r     = s->system->gamma; // which every evaluation overwrites
    TRY(second_kick(s, h, false, why));
    tni_measure_errors(s, report);
    if (!s->impulse.loops) return TN_OK;
    for (double before = HUGE_VAL;
         report->velocity_error > 1e-14 * fastest(s) && report->velocity_error < 0.1 * before;) {
        before = report->velocity_error;
        for (int i = 0; i < model->row_count; ++i) r[i] = -s->system->rate[i];
        TRY(tni_system_solve(s->system, NULL, r, false, why));
        for (int i = 0; i < model->u_count; ++i) s->next.u[i] += s->system->answer[i];
        tni_measure_errors(s, report);
        if (report->velocity_error <= slack * fastest(s)) break;
    }
    if (s->impulse.safer_mode || !(report->velocity_error > slack * fastest(s))) return TN_OK;
    const tn_result result = second_kick(s, h, true, why);
    tni_measure_errors(s, report);
    return result;
}

// Velocity error that is not worth another solve, with contacts or limits: rounding, or what moves
// joints by less than their tolerance.
static double slack_of(const tn_stepper* s, double h)
{
    return fmax(slack * fastest(s), aim * s->settings.impulse.tolerance / h);
}

// The same with contacts and limits, whose right-hand sides are set already. Again where loops
// leave an error, at last exactly. All rates asked for are J times something, so redundant rows are
// consistent and the multipliers have least norm.
static tn_result fit_with_unilaterals(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model*         model  = s->model;
    const tni_configuration at     = tni_configuration_of(&s->next);
    double                  before = HUGE_VAL;
    for (int round = 0; round < 4; ++round) {
        const bool exact = round > 1 && s->impulse.loops && !s->impulse.safer_mode;
        if (round > 0 && s->system->auxiliary.report.split)
            s->system->auxiliary.effort = TNI_CONES_FROZEN; // the joints only
        else if (tni_is_crowded(s))
            s->system->auxiliary.effort = TNI_CONES_FURTHER; // the next flight goes on with them
        const tn_result result      = second_kick(s, h, exact, why);
        s->system->auxiliary.effort = TNI_CONES_MET;
        TRY(result);
        tni_system_evaluate(s->system, &at);
        int worst;
        report->velocity_error = tni_system_velocity_error(s->system, &worst);
        report->joint_error    = tni_system_position_error(s->system, &worst);
        report->worst_joint    = tni_constraint_id(model, worst);
        if (report->velocity_error <= slack_of(s, h) || !(report->velocity_error < 0.5 * before))
            break;
        before = report->velocity_error;
        for (int i = 0; i < model->row_count; ++i) s->impulse.target_rates[i] -= s->system->rate[i];
    }
    return TN_OK;
}

// What auto found so far in this substep: rows of springs, and of contacts, limits and ropes that push.
static void note_found(const tn_stepper* s, tn_step_report* report)
{
    tn_auto_report* found = &report->automatic;
    if (!s->automatic) return;
    const int stiff    = s->impulse.soft != NULL ? tni_soft_stiff_count(s->impulse.soft) : 0,
              contacts = pushing_count(s);
    found->loop_count  = s->model->loop_count;
    if (stiff > found->stiff_count) found->stiff_count = stiff;
    if (contacts > found->contact_count) found->contact_count = contacts;
}

// From the end of the flight, s->next: leaves the system factored and evaluated there.
static tn_result land(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model*         model  = s->model;
    tni_system*             system = s->system;
    const tni_configuration at     = tni_configuration_of(&s->next);
    const bool              tense  = s->impulse.soft != NULL && system->stiffness != NULL;
    system->stiffness              = NULL;
    note_found(s, report);
    if (tense) tni_tension_land(s, h);
    if (tense) system->stiffness = s->impulse.stiffness;
    system->auxiliary.softens = system->auxiliary.binds = s->impulse.soft != NULL;
    tni_copy_numbers(s->impulse.plus, s->next.u, model->u_count);
    if (s->has_unilaterals) TRY(tni_impulse_find_landing(s, h, why));
    TRY(factor(s, &s->next, report, why));
    if (s->has_unilaterals) tni_impulse_set_landing_targets(s, h);
    for (int i = 0; i < model->row_count; ++i) s->impulse.target_rates[i] = -system->rate[i];
    tni_system_forces(system, &at, true, s->impulse.force);
    if (s->impulse.soft != NULL) {
        tni_scene_view scene = tni_system_scene(system, &at);
        scene.flying         = true;
        tni_soft_land(s->impulse.soft, &scene, s->impulse.plus);
        tni_bounded_land(&s->impulse.bounded, &scene, h);
        tni_impulse_start_bounded(s, true, h);
    }
    tn_result (*fit)(tn_stepper*, double, tn_step_report*, tn_why*) =
        s->has_unilaterals && !tni_auxiliary_is_idle(&system->auxiliary, &system->unilaterals)
            ? fit_with_unilaterals
            : fit_velocities;
    TRY(fit(s, h, report, why));
    if (s->impulse.damped && s->impulse.soft == NULL) {
        tni_system_forces(system, &at, true, s->impulse.force);
        TRY(fit(s, h, report, why));
    }
    note_found(s, report);
    tni_energy_landed(s, h);
    if (s->has_unilaterals) tni_impulse_report_contacts(s, h, report);
    tni_system_report(system, report);
    s->now_factored = !tense; // the next kick weighs tension anew
    return TN_OK;
}

// ---- A step -------------------------------------------------------------------------------------

// Tolerance of the correction, or rounding for coordinates so far from the origin.
static double tolerance_of(const tn_stepper* s)
{
    double far = 1;
    for (int i = 0; i < s->model->q_count; ++i) far = fmax(far, fabs(s->now.q[i]));
    return fmax(aim * s->settings.impulse.tolerance, 1e-14 * far);
}

// With more and more regularisation; the best of it is landed with the same regularisation.
static tn_result try_regularised(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    tni_closure_error best   = {.error = HUGE_VAL, .worst = -1};
    tn_result         result = TN_OK;
    double            factor = 1;
    s->impulse.safer_mode    = true;
    for (int i = 0; i < SAFER_MAX && !(best.error <= safe_tolerance); ++i) {
        tni_closure_error c;
        tni_system_scale_regularisation(s->system, factor *= safer);
        s->now_factored = false;
        result          = tni_impulse_kick(s, h, report, why);
        if (result != TN_OK) break;
        bool closed;
        result =
            close_joints(s, h, fmax(safe_tolerance, tolerance_of(s)), &c, &closed, report, why);
        if (result != TN_OK) break;
        if (!(c.error < best.error)) continue;
        best = c;
        tni_copy_numbers(s->scratch2, s->impulse.best, s->model->u_count);
    }
    if (result != TN_OK) return result;
    if (!(best.error <= s->settings.impulse.accept) || report->unclosed_count == UNCLOSED_MAX) {
        report->worst_joint = tni_constraint_id(s->model, best.worst);
        report->joint_error = best.error;
        return tni_fail(why, TN_ERR_DIVERGED,
                        "joint '%s' does not close: it stays open by %.3g m or rad",
                        tni_name_of(s, best.worst), best.error);
    }
    ++report->unclosed_count;
    tni_copy_numbers(s->impulse.plus, s->scratch2, s->model->u_count);
    (void)tni_impulse_fly(s, h);
    tni_energy_kicked(s, h);
    result          = land(s, h, report, why);
    s->now_factored = false; // factored with other regularisation than the next step wants
    return result;
}

static tn_result safer_substep(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_result result = try_regularised(s, h, report, why);
    s->impulse.safer_mode  = false;
    tni_system_scale_regularisation(s->system, 1);
    return result;
}

// Whether the whole step is to be tried again: there was no room, or a sleeper woke.
static bool is_of_step(tn_result result)
{
    return result == TN_ERR_MEMORY || result == TNI_WOKEN;
}

// What a try that is not taken has counted.
static void forget_try(tn_step_report* report, const tn_step_report* before)
{
    report->unclosed_count = before->unclosed_count;
    report->impact_count   = before->impact_count;
}

// What a substep that gains energy from nowhere may do.
typedef enum gaining {
    GAINING_SPLITS, // be split
    GAINING_ASKS, // the same, if it gains less than what it is the first half of; else the whole is to be taken
    GAINING_TAKEN // be taken and told
} gaining;

#define WORSE ((tn_result)1001) // result of a first half that gains more than the whole

// Whether the substep that has landed is taken. before: what the whole gained that this is half of [J]; *gain: what this
// gains.
static tn_result judge(tn_stepper* s, int level, gaining may, double before, double* gain,
                       tn_step_report* report)
{
    double excess;
    *gain           = tni_energy_gain(s, tni_tolerated_depth(s), &excess);
    const bool much = excess > 0, helps = *gain < helped * before;
    if (much && may == GAINING_ASKS && !helps) return WORSE;
    if (much && may != GAINING_TAKEN && helps && level < HALVINGS_MAX && !tni_is_crowded(s))
        return TN_ERR_DIVERGED;
    report->energy_gain += *gain;
    if (much) tni_energy_tell(s, *gain);
    return TN_OK;
}

static tn_result substep(tn_stepper* s, double h, int level, gaining may, double before,
                         tn_step_report* report, tn_why* why)
{
    const tn_step_report found = *report; // before it was tried
    double               gain  = HUGE_VAL;
    tni_closure_error    c;
    bool                 closed = false;
    s->impulse.final_try        = level == HALVINGS_MAX;
    s->next.time                = tni_time_after(s->now.time, h);
    tni_copy_numbers(s->next.z, s->now.z, s->model->coordinate_count);
    const bool continued = s->now_factored;
    tn_result  result    = tni_impulse_kick(s, h, report, why);
    if (result == TN_OK) tni_energy_begin(s, continued);
    if (result == TN_OK) result = close_joints(s, h, tolerance_of(s), &c, &closed, report, why);
    if (is_of_step(result)) return result;
    if (result == TN_OK && closed && (level == HALVINGS_MAX || correction_is_small(s, &c))) {
        ++report->substep_count;
        tni_energy_kicked(s, h);
        result = land(s, h, report, why);
        if (result == TN_OK) {
            result = judge(s, level, may, before, &gain, report);
            if (result != TN_OK) {
                forget_try(report, &found);
                tni_energy_back(s);
                s->now_factored = false;
            }
            if (result == WORSE) return result;
        }
    } else if (level == HALVINGS_MAX) {
        ++report->substep_count;
        result = safer_substep(s, h, report, why);
        if (result == TN_OK) (void)judge(s, level, GAINING_TAKEN, before, &gain, report);
        return result;
    } else {
        result = TN_ERR_DIVERGED;
    }
    if (result == TN_OK || is_of_step(result) || level == HALVINGS_MAX) return result;
    s->now_factored   = false;
    const bool gained = gain < HUGE_VAL;
    result = substep(s, 0.5 * h, level + 1, gained ? GAINING_ASKS : may, gain, report, why);
    if (gained && result == WORSE) return substep(s, h, level, GAINING_TAKEN, before, report, why);
    if (result != TN_OK) return result;
    tni_accept_substep(s);
    return substep(s, 0.5 * h, level + 1, may == GAINING_TAKEN ? may : GAINING_SPLITS, gain, report,
                   why);
}

tn_result tni_impulse_substep(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    return substep(s, h, 0, GAINING_SPLITS, HUGE_VAL, report, why);
}

static double fastest_turn(const tn_stepper* s)
{
    double most = 0;
    for (int i = 0; i < s->model->free_count; ++i) {
        const tni_body* body = &s->model->bodies[s->model->free_bodies[i]];
        const double*   u    = s->now.u + body->u_start;
        if (body->kind == TN_BODY_RIGID) most = fmax(most, tni_norm(tni_read3(u + 3)));
        if (body->kind == TN_BODY_PLANAR) most = fmax(most, fabs(u[2]));
    }
    return most;
}

static tn_result substeps(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const double end   = tni_time_after(s->now.time, h);
    const bool   crowd = s->impulse.soft != NULL && s->impulse.warm_start.count > CROWD;
    const double turn  = crowd ? crowd_turn_max : turn_max;
    const double turns = ceil(h * fastest_turn(s) / turn);
    if (!(turns <= SUBSTEPS_MAX))
        return tni_fail(why, TN_ERR_DIVERGED,
                        "a body rotates by %.3g rad in one step: take a smaller step",
                        turns * turn);
    const int count = turns > 1 ? (int)turns : 1;
    for (int i = 0; i < count; ++i) {
        if (i > 0) tni_accept_substep(s);
        if (s->settings.accuracy > 0) TRY(tni_accurate_substep(s, h / count, h, report, why));
        else TRY(tni_impulse_substep(s, h / count, report, why));
    }
    if (s->next.time != end) s->now_factored = false; // substeps add up to it only up to rounding
    s->next.time = end;
    return TN_OK;
}

tn_result tni_impulse_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    s->impulse.damped       = tni_system_has_damping(s->system);
    s->impulse.frame        = h;
    s->hit_count            = 0;
    s->impulse.jam_count    = 0;
    s->impulse.energy.count = 0;
    s->impulse.energy.most  = 0;
    const tn_result result  = substeps(s, h, report, why);
    s->system->stiffness    = NULL;
    report->jam_count += s->impulse.jam_count;
    if (result != TN_OK) s->now_factored = false;
    else tni_sleep_end(s, h);
    return result;
}
