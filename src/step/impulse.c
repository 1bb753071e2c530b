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
// factorisation a step, since M', J' at the end are those of the next step's start. Kicks of h/2
// at both ends make this velocity Verlet, of second order and symplectic; the paper stores u'
// instead of u_end, which is the same motion, but half a kick off when it is looked at, and a step
// would depend on the one before. Here it depends on the state alone: what is kept from one step
// to the next is only what would be computed again, bit for bit.
//
// J u+ = -h/2 gamma, not 0 as in the paper, is the velocity in the middle of the step: the first
// prediction is then closed up to h^3. Rounds a step with 0 and with gamma, h = 20 ms, 2 s: fourbar
// 4.7, 3.3; peaucellier 3.3, 2.5; strandbeest 7.9, 7.7; chain 24.9, 5.5.
//
// Rows without a position (motors, gears, rolling) ask for the mean of their rates at both ends.
// Velocity-dependent forces at the end are those of a predicted velocity, so that the order stays
// two. Dampers of joints are bounded by what there is to take away in a step. Light bodies under
// heavy load: see stiffen.c; with h^2 K' from there,
//     (M + h^2 K') (u+ - u) = h/2 f - h^2 K' w + J^T p1
//
// When the joints do not close, or only by a correction that is no small part of the motion (a
// linkage that flies through a nearly singular place: measured, 85 % of the energy lost in one step
// of 5 ms that a Strandbeest takes through its toggle): the step is halved, four times at most. Then
// every body in tension is stiffened and the solves get more regularisation, a hundred times more
// each time, which damps what a singular place demands. The best of these is taken if no joint is
// off by more than the setting `accept`, and counted in the report. Otherwise the step fails and
// names the joint. A body that would turn by more than 0.5 rad in a step makes it shorter pieces to
// begin with.
#include "step/stepper.h"

enum { HALVINGS_MAX = 4, PIECES_MAX = 1000, PATIENCE = 8, SAFER_MAX = 4, UNCLOSED_MAX = 16 };

static const double turn_max = 0.5;   // [rad], of a body in one piece
static const double aim      = 0.2;   // of the tolerance: levers magnify joint errors
static const double share    = 0.02;  // of the kinetic energy in corrections; usually < 0.002
static const double rough    = 1e-6;  // joint error of the prediction that is not worth a thought
static const double slack    = 1e-10; // velocity error, of the largest velocity, worth more solves
static const double diverged = 1e6;   // joint error [m or rad] that no correction comes back from
static const double safer    = 100;   // more regularisation, each time
static const double safe_tolerance = 1e-6;

// ---- Memory --------------------------------------------------------------------------------------

tn_result tni_impulse_create(tn_stepper* s)
{
    const tn_model*   model = s->model;
    tni_impulse_work* work  = &s->impulse;
    work->plus              = TNI_TAKE(&s->arena, double, model->u_count);
    work->first             = TNI_TAKE(&s->arena, double, model->u_count);
    work->best              = TNI_TAKE(&s->arena, double, model->u_count);
    work->force             = TNI_TAKE(&s->arena, double, model->u_count);
    work->asked             = TNI_TAKE(&s->arena, double, model->row_count);
    work->goal              = TNI_TAKE(&s->arena, double, model->row_count);
    for (int i = 0; i < 4; ++i)
        work->past[i] = TNI_TAKE(&s->arena, double, s->has_stops ? model->row_count : 0);
    const int pressed    = tni_warm_start_capacity(model);
    work->pressed.ids    = TNI_TAKE(&s->arena, uint64_t, pressed);
    work->pressed.forces = TNI_TAKE(&s->arena, double, TNI_PRESS_NUMBERS*(size_t)pressed);
    work->views          = TNI_TAKE(&s->arena, tni_view, s->has_stops ? model->body_count : 0);
    work->drive          = TNI_TAKE(&s->arena, double, model->row_count);
    work->principal      = TNI_TAKE(&s->arena, tni_principal, model->body_count);
    work->load           = TNI_TAKE(&s->arena, double, model->body_count);
    work->part_work      = TNI_TAKE(&s->arena, double, 2 * (size_t)model->body_count);
    work->tension        = TNI_TAKE(&s->arena, tni_mat3, model->body_count);
    work->stiffness      = TNI_TAKE(&s->arena, tni_mat3, model->body_count);
    if (s->arena.failed) return TN_ERR_MEMORY;
    tni_stiffen_prepare(s);
    tni_auxiliary* a = &s->system->auxiliary;
    if (s->settings.impulse.contacts == TN_CONTACTS_DIRECT) a->direct_rows = INT32_MAX;
    if (s->settings.impulse.contacts == TN_CONTACTS_SWEEPS) a->direct_rows = 0;
    // Of speeds: what comes of it is corrected in places.
    a->enough   = fmax(1e-9, 0.1 * s->settings.impulse.tolerance);
    a->turns    = true;
    a->sweeps   = s->settings.impulse.sweeps;
    a->shock    = s->settings.impulse.shock;
    work->loops = tni_system_regularises(s->system);
    return TN_OK;
}

// ---- Kick ----------------------------------------------------------------------------------------

static tn_result factor(tn_stepper* s, const tni_configuration_buffer* place,
                        tn_step_report* report, tn_why* why)
{
    const tni_configuration at     = tni_configuration_of(place);
    const tn_result         result = tni_system_factor(s->system, &at, why);
    if (result == TN_OK) tni_system_note(s->system, report);
    return result;
}

// Of rows without a position: what their rates have besides J u.
static void note_drives(tn_stepper* s)
{
    for (int i = 0; i < s->model->constraint_count; ++i) {
        const tni_constraint* constraint = &s->model->constraints[i];
        double                own[TNI_DIM_MAX];
        if (constraint->held_count == constraint->row_count) continue;
        tni_system_row_rates(s->system, constraint, s->now.u, own);
        for (int k = constraint->held_count; k < constraint->row_count; ++k)
            s->impulse.drive[constraint->row_start + k] =
                s->system->rate[constraint->row_start + k] - own[k];
    }
}

tn_result tni_impulse_solve(tn_stepper* s, const double* b, bool exact, tn_why* why)
{
    const tn_result result = tni_system_solve(s->system, b, s->impulse.asked, exact, why);
    if (result != TN_ERR_DIVERGED || !s->system->auxiliary.report.jammed) return result;
    ++s->impulse.jams;
    return TN_OK;
}

tn_result tni_impulse_improve(tn_stepper* s, tn_why* why)
{
    const tn_result result = tni_impulse_solve(s, NULL, false, why);
    for (int i = 0; result == TN_OK && i < s->model->u_count; ++i)
        s->impulse.plus[i] += s->system->answer[i];
    return result;
}

// u+ from the solve with b = h/2 f - h^2 K' w, and the rates asked for.
tn_result tni_impulse_solve_kick(tn_stepper* s, double h, tn_why* why)
{
    const tn_model* model  = s->model;
    tni_system*     system = s->system;
    double*         b      = s->scratch;
    for (int i = 0; i < model->u_count; ++i) b[i] = 0.5 * h * s->impulse.force[i];
    for (int i = 0; system->stiffness != NULL && i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->kind != TN_BODY_RIGID || body->node < 0) continue;
        const tn_vec3 w = tni_read3(s->now.u + body->u_start + 3);
        tni_accumulate(b + body->u_start + 3, tni_neg(tni_mul(&system->stiffness[i], w)));
    }
    const tn_result result = tni_impulse_solve(s, b, false, why);
    for (int i = 0; i < model->u_count; ++i) s->impulse.plus[i] = s->now.u[i] + system->answer[i];
    return result;
}

// The same u+ once more, by what it does to the rows: of many multipliers, where rows are
// redundant, these are the least. Those of the rounds are not: what a round asks for lies a little
// outside of what the rows can do, and the regularised solve answers that part with multipliers of
// that part / alpha. They push nothing while joints are closed, but where they are open by the
// tolerance they turn the bodies: 4e-6 of the angular momentum in 1000 steps of a ring of rods.
static tn_result clean(tn_stepper* s, double h, tn_why* why)
{
    for (int i = 0; i < s->model->u_count; ++i) s->scratch[i] = s->impulse.plus[i] - s->now.u[i];
    tni_system_all_rates(s->system, s->scratch, s->impulse.asked);
    return tni_impulse_solve_kick(s, h, why);
}

static tn_result first_kick(tn_stepper* s, double h, tn_why* why)
{
    const tni_system* system = s->system;
    for (int i = 0; i < s->model->row_count; ++i)
        s->impulse.asked[i] = -system->rate[i] - 0.5 * h * system->gamma[i];
    tni_copy_numbers(s->impulse.goal, s->impulse.asked, s->model->row_count);
    return tni_impulse_solve_kick(s, h, why);
}

tn_result tni_impulse_kick(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tni_configuration at      = tni_configuration_of(&s->now);
    tn_result               result  = TN_OK;
    s->system->auxiliary.stop_count = 0; // those of the landing before
    s->system->auxiliary.ready      = false;
    s->system->stiffness            = NULL;
    s->system->within               = h;
    if (!s->kept) result = factor(s, &s->now, report, why);
    s->kept = false;
    if (result != TN_OK) return result;
    if (s->has_stops) tni_views(s->model, s->now.time, s->now.q, s->now.u, s->impulse.views);
    tni_system_forces(s->system, &at, true, s->impulse.force);
    note_drives(s);
    return first_kick(s, h, why);
}

// By the multipliers last solved for: is there tension that is too stiff? Then kicks again with it.
static tn_result stiffen(tn_stepper* s, double h, bool* again, tn_step_report* report, tn_why* why)
{
    const int count = s->settings.impulse.stiffen ? tni_stiffen(s, h) : 0;
    *again          = count > 0;
    if (count == 0) return TN_OK;
    if (count > report->impulse.stiffened_count) report->impulse.stiffened_count = count;
    s->system->stiffness            = s->impulse.stiffness;
    s->system->auxiliary.stop_count = 0; // they are met anew
    const tn_result result          = factor(s, &s->now, report, why);
    return result == TN_OK ? first_kick(s, h, why) : result;
}

// ---- Close ---------------------------------------------------------------------------------------

// Flies to the end and looks there; r <- what the correction is asked for.
tni_closing tni_impulse_fly(tn_stepper* s, double h)
{
    const tn_model* model  = s->model;
    tni_system*     system = s->system;
    double*         r      = s->impulse.asked;
    tni_fly(model, s->system->asleep, h, s->now.q, s->impulse.plus, s->next.q, s->next.u);
    const tni_configuration at = tni_configuration_of(&s->next);
    tni_system_look(system, &at);
    tni_closing c = {.worst = -1};
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        double                start[TNI_DIM_MAX];
        const int             first = constraint->row_start, held = constraint->held_count;
        if (tni_system_sleeps(system, constraint)) continue;
        if (held < constraint->row_count)
            tni_system_row_rates(system, constraint, s->impulse.plus, start);
        for (int k = 0; k < constraint->row_count; ++k) {
            const double rate =
                k < held ? system->C[first + k] / h
                         : 0.5 * (system->rate[first + k] + start[k] + s->impulse.drive[first + k]);
            r[first + k]   = -rate;
            const double e = fabs(h * rate);
            if (e <= c.error) continue; // so written, a NaN counts as largest
            c.error = isnan(e) ? HUGE_VAL : e;
            c.worst = i;
        }
    }
    if (s->has_stops) tni_system_turn_back(system, s->impulse.views, r);
    return c;
}

// Newton's method; u+ that came nearest is in s->impulse.best. False: not within the tolerance.
static bool correct(tn_stepper* s, double h, double tolerance, tni_closing* nearest,
                    tn_step_report* report)
{
    int since = 0;
    *nearest  = (tni_closing){.error = HUGE_VAL, .worst = -1};
    tni_copy_numbers(s->impulse.first, s->impulse.plus, s->model->u_count);
    for (int round = 0;; ++round) {
        const tni_closing c = tni_impulse_fly(s, h);
        ++since;
        if (round == 0) nearest->begun = c.error;
        if (c.error < nearest->error || nearest->worst < 0) {
            nearest->error = c.error;
            nearest->worst = c.worst;
            since          = 0;
            tni_copy_numbers(s->impulse.best, s->impulse.plus, s->model->u_count);
        }
        if (c.error <= tolerance) return true;
        if (round == s->settings.impulse.iterations || since > PATIENCE || !(c.error < diverged))
            return false;
        if (tni_impulse_improve(s, NULL) != TN_OK) return false;
        ++report->iteration_count;
    }
}

// The least multipliers where joints stay closed with them, as they do but next to singular places.
static void clean_if_closed(tn_stepper* s, double h, double tolerance)
{
    const bool cleaned = clean(s, h, NULL) == TN_OK;
    if (cleaned && tni_impulse_fly(s, h).error <= fmax(tolerance, 1e-13)) return;
    tni_copy_numbers(s->impulse.plus, s->impulse.best, s->model->u_count);
    (void)tni_impulse_fly(s, h);
}

// Tension is known once contacts are.
static tn_result close_with_stops(tn_stepper* s, double h, double tolerance, tni_closing* nearest,
                                  bool* closed, tn_step_report* report, tn_why* why)
{
    bool      again  = false;
    tn_result result = tni_impulse_close(s, h, tolerance, nearest, closed, report, why);
    if (result == TN_OK) result = stiffen(s, h, &again, report, why);
    if (result != TN_OK || !again) return result;
    return tni_impulse_close(s, h, tolerance, nearest, closed, report, why);
}

static tn_result close_joints(tn_stepper* s, double h, double tolerance, tni_closing* nearest,
                              bool* closed, tn_step_report* report, tn_why* why)
{
    bool      again  = false;
    tn_result result = TN_OK;
    if (s->has_stops) return close_with_stops(s, h, tolerance, nearest, closed, report, why);
    // Without loops the multipliers of the kick are those of the tension.
    if (!s->impulse.loops) result = stiffen(s, h, &again, report, why);
    if (result != TN_OK) return result;
    *closed = correct(s, h, tolerance, nearest, report);
    if (!s->impulse.loops) return TN_OK;
    if (*closed) clean_if_closed(s, h, tolerance);
    else result = clean(s, h, why);
    if (result == TN_OK) result = stiffen(s, h, &again, report, why);
    if (result != TN_OK || !again) return result;
    *closed = correct(s, h, tolerance, nearest, report);
    if (*closed) clean_if_closed(s, h, tolerance);
    return TN_OK;
}

// Whether the correction was one, and not the better part of the motion. Where a linkage is thrown
// through a place that is nearly singular, the joints close all right, but the energy is gone.
static bool is_resolved(tn_stepper* s, const tni_closing* c)
{
    double* change = s->scratch;
    if (!(c->begun > rough) || s->system->auxiliary.stop_count > 0) return true;
    for (int i = 0; i < s->model->u_count; ++i)
        change[i] = s->impulse.plus[i] - s->impulse.first[i];
    return tni_system_kinetic(s->system, change) <=
           share * tni_system_kinetic(s->system, s->impulse.plus);
}

// ---- Land ----------------------------------------------------------------------------------------

// Adds the second half of the kick to s->next.u and makes the velocities fit the joints.
static tn_result second_kick(tn_stepper* s, double h, bool exact, tn_why* why)
{
    const tn_model* model = s->model;
    for (int i = 0; i < model->u_count; ++i) s->scratch[i] = 0.5 * h * s->impulse.force[i];
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

// The second half of the kick, and a look at what has come of it. What the regularisation leaves of
// rates: once more by what is left, usually to rounding; the exact answer where that is not enough.
// Next to a singular place that would throw bodies, and the damped one must do.
static tn_result fit_velocities(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model* model  = s->model;
    double*         r      = s->system->gamma; // which the look after each solve renews
    tn_result       result = second_kick(s, h, false, why);
    if (result != TN_OK) return result;
    tni_measure_errors(s, report);
    if (!s->impulse.loops) return TN_OK;
    for (double before = HUGE_VAL;
         report->velocity_error > 1e-14 * fastest(s) && report->velocity_error < 0.1 * before;) {
        before = report->velocity_error;
        for (int i = 0; i < model->row_count; ++i) r[i] = -s->system->rate[i];
        result = tni_system_solve(s->system, NULL, r, false, why);
        if (result != TN_OK) return result;
        for (int i = 0; i < model->u_count; ++i) s->next.u[i] += s->system->answer[i];
        tni_measure_errors(s, report);
        if (report->velocity_error <= slack * fastest(s)) break;
    }
    if (s->impulse.careful || !(report->velocity_error > slack * fastest(s))) return TN_OK;
    result = second_kick(s, h, true, why);
    tni_measure_errors(s, report);
    return result;
}

// Velocity error that is not worth another solve, with stops: what rounding leaves, or what moves
// joints by less than they may be open.
static double slack_of(const tn_stepper* s, double h)
{
    return fmax(slack * fastest(s), aim * s->settings.impulse.tolerance / h);
}

// The same with stops: what they ask for is in them. Once more where loops leave something, at last
// with the exact answer. Rates, and what is left of them, are J times something: nothing here asks
// for what redundant rows cannot do, and multipliers are the least ones.
static tn_result fit_with_stops(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model*         model  = s->model;
    const tni_configuration at     = tni_configuration_of(&s->next);
    double                  before = HUGE_VAL;
    for (int round = 0; round < 4; ++round) {
        const bool exact = round > 1 && s->impulse.loops && !s->impulse.careful;
        if (round == 2 && exact) s->system->auxiliary.ready = false; // responses too
        const tn_result result = second_kick(s, h, exact, why);
        if (result != TN_OK) return result;
        tni_system_look(s->system, &at);
        int worst;
        report->velocity_error = tni_system_velocity_error(s->system, &worst);
        report->joint_error    = tni_system_position_error(s->system, &worst);
        report->worst_joint    = tni_constraint_id(model, worst);
        if (report->velocity_error <= slack_of(s, h) || !(report->velocity_error < 0.5 * before))
            break;
        before = report->velocity_error;
        for (int i = 0; i < model->row_count; ++i) s->impulse.asked[i] -= s->system->rate[i];
    }
    return TN_OK;
}

// From the end of the flight, where s->next is: leaves the system factored and looked at there.
static tn_result land(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_model*         model  = s->model;
    tni_system*             system = s->system;
    const tni_configuration at     = tni_configuration_of(&s->next);
    system->stiffness              = NULL;
    tni_copy_numbers(s->impulse.plus, s->next.u, model->u_count);
    tn_result result = s->has_stops ? tni_impulse_find_landing(s, h, why) : TN_OK;
    if (result == TN_OK) result = factor(s, &s->next, report, why);
    if (result != TN_OK) return result;
    if (s->has_stops) tni_impulse_ask_landing(s);
    for (int i = 0; i < model->row_count; ++i) s->impulse.asked[i] = -system->rate[i];
    tni_system_forces(system, &at, true, s->impulse.force);
    tn_result (*fit)(tn_stepper*, double, tn_step_report*, tn_why*) =
        s->has_stops ? fit_with_stops : fit_velocities;
    result = fit(s, h, report, why);
    if (result == TN_OK && s->impulse.damped) {
        tni_system_forces(system, &at, true, s->impulse.force);
        result = fit(s, h, report, why);
    }
    if (result != TN_OK) return result;
    if (s->has_stops) tni_impulse_note_contacts(s, h, report);
    tni_system_note(system, report);
    s->kept = true;
    return TN_OK;
}

// ---- A step --------------------------------------------------------------------------------------

// What the correction aims at, or what rounding allows so far from the origin.
static double tolerance_of(const tn_stepper* s)
{
    double far = 1;
    for (int i = 0; i < s->model->q_count; ++i) far = fmax(far, fabs(s->now.q[i]));
    return fmax(aim * s->settings.impulse.tolerance, 1e-14 * far);
}

static const char* name_of(const tn_stepper* s, int constraint)
{
    return constraint >= 0 ? tni_constraint_name(s->model, &s->model->constraints[constraint])
                           : "none";
}

// With more regularisation, as often as it takes; then the best of it, landed as gently.
static tn_result try_safer(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    tni_closing best   = {.error = HUGE_VAL, .worst = -1};
    tn_result   result = TN_OK;
    double      factor = 1;
    s->impulse.careful = true;
    for (int i = 0; i < SAFER_MAX && !(best.error <= safe_tolerance); ++i) {
        tni_closing c;
        tni_system_damp(s->system, factor *= safer);
        s->kept = false;
        result  = tni_impulse_kick(s, h, report, why);
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
        return tni_fail(why, TN_ERR_DIVERGED, "joint '%s' does not close: it stays open by %.3g",
                        name_of(s, best.worst), best.error);
    }
    ++report->unclosed_count;
    tni_copy_numbers(s->impulse.plus, s->scratch2, s->model->u_count);
    (void)tni_impulse_fly(s, h);
    result  = land(s, h, report, why);
    s->kept = false; // not as the next step wants it
    return result;
}

static tn_result safer_piece(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const tn_result result = try_safer(s, h, report, why);
    s->impulse.careful     = false;
    tni_system_damp(s->system, 1);
    return result;
}

static tn_result piece(tn_stepper* s, double h, int level, tn_step_report* report, tn_why* why)
{
    tni_closing c;
    bool        closed = false;
    s->impulse.last    = level == HALVINGS_MAX;
    s->next.time       = tni_time_after(s->now.time, h);
    tni_copy_numbers(s->next.z, s->now.z, s->model->coordinate_count);
    tn_result result = tni_impulse_kick(s, h, report, why);
    if (result == TN_OK) result = close_joints(s, h, tolerance_of(s), &c, &closed, report, why);
    if (result == TN_OK && closed && (level == HALVINGS_MAX || is_resolved(s, &c))) {
        ++report->substep_count;
        result = land(s, h, report, why);
    } else if (level == HALVINGS_MAX) {
        ++report->substep_count;
        return safer_piece(s, h, report, why);
    } else {
        result = TN_ERR_DIVERGED;
    }
    if (result == TN_OK || level == HALVINGS_MAX) return result;
    s->kept = false;
    result  = piece(s, 0.5 * h, level + 1, report, why);
    if (result != TN_OK) return result;
    tni_go_on(s);
    return piece(s, 0.5 * h, level + 1, report, why);
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

static tn_result pieces(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const double end   = tni_time_after(s->now.time, h);
    const double turns = ceil(h * fastest_turn(s) / turn_max);
    if (!(turns <= PIECES_MAX))
        return tni_fail(why, TN_ERR_DIVERGED,
                        "a body turns by %.3g rad in a step: take a smaller one", turns * turn_max);
    const int count = turns > 1 ? (int)turns : 1;
    for (int i = 0; i < count; ++i) {
        if (i > 0) tni_go_on(s);
        const tn_result result = piece(s, h / count, 0, report, why);
        if (result != TN_OK) return result;
    }
    if (s->next.time != end) s->kept = false; // pieces add up to it but for rounding
    s->next.time = end;
    return TN_OK;
}

tn_result tni_impulse_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    s->impulse.damped      = tni_system_damps(s->system);
    s->bounce_count        = 0;
    s->impulse.jams        = 0;
    const tn_result result = pieces(s, h, report, why);
    s->system->stiffness   = NULL;
    report->jam_count += s->impulse.jams;
    if (result != TN_OK) s->kept = false;
    else tni_sleep_end(s, h);
    return result;
}
