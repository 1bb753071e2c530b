// impulse_contact: contacts, limits and ropes in a step of the impulse method. After Tomcin,
// Sibbing, Kobbelt 2014, section 7, and Guendelman, Bridson, Fedkiw 2003, with all contacts of a
// mechanism solved for together with its joints and springs (step_matrix.c).
//
//     look      along a ballistic flight: which contacts and limits ("unilaterals") matter on it
//     impacts   on the velocities of the start, before any kick: unilaterals with restitution that
//               are approached and would be hit get w_n = -e w_n. A resting one has no such
//               velocity and is left alone: no threshold tells impact from rest. Then again from
//               the look.
//     close     with P >= 0 the impulse of each unilateral, friction in its cone,
//                   M (u+ - u) = h/2 f + J^T p + J_c^T P,  J u+ = r,  J_n u+ >= r_n,  P (..) = 0
//               until joints close and gaps at the end are what they may be,
//                   r -= C(q') / h,       r_n += (g - gap(q')) / h,     g = min(gap(q), 0)
//               and slip is the mean of that at both ends. It is the modified Newton iteration of
//               the joints, over contacts too: they are met as exactly as joints are, whatever the
//               lever or the mass ratio
//     more      whatever else is penetrated at the end joins the set, and it closes again
//     separate  bodies that overlapped at the start are pushed apart in their positions, not in
//               their velocities, so that no energy is added
//     land      at the end, with what touches there,
//                   M' (u_end - u') = h/2 f' + J'^T p' + J_c'^T P',  J_n' u_end >= 0
//               and friction in its cone
//
// So velocities at the end fit joints and contacts alike, and the next step starts from consistent
// velocities. Friction acts on both halves of the kick with the normal impulse of that half;
// sliding is of second order, and so is everything while the active set does not change.
#include "step/stepper.h"

#include "system/step_matrix.h"

enum {
    MORE_MAX     = 5,
    ROUNDS_MAX   = 50,
    PART_ROUNDS  = 10,
    JOINT_ROUNDS = 10,
    STALLED      = 4,
    CROWD        = 100, // contacts and limits
    HASTY_CROWD  = 50,  // where something approaches fast
    CROWD_MORE   = 2,
    CROWD_PARTS  = 5,
    FREEZE_ROUND = 0,   // of a crowd: after it, active sets stay as they are
    LOOK_ROUND   = 1,   // of a crowd: after it, contacts are looked for again
    CROWD_STEPS  = 60,  // of the Newton method for contacts, all rounds together
    STEPS_MAX    = 600, // the same without a crowd
    FAR          = 1000 // joint tolerances: farther off, springs may wait
};

// A gap [m or rad], or a speed [m/s or rad/s], that counts as zero.
static const double resolution = 1e-9;
// Closure error that rounds may add after the last solve with least-norm multipliers [m or rad].
static const double spoiled_max = 1e-8;
// Gap at the end of the flight up to which a contact or limit is active [m or rad].
static const double landing_gap = 1e-5;
// Unpredicted slip in a step that is left alone [m or rad].
static const double slip_tolerance = 1e-6;
// Growth of the penetration in a step beyond which the step is too long [m or rad].
static const double penetration_growth = 2e-4;
static const double crowd_growth       = 2e-2; // the same in a crowd
static const double lost               = 1e-2; // error of rounds that run away, likewise
static const double gap_accepted = 1e-4; // error of gaps at the end, likewise, with few contacts
static const double share        = 0.02; // of the kinetic energy that contacts and limits may add
static const double near_enough  = 1e-7; // of gaps and slips, with implicit springs [m]
static const double creep        = 1e-9; // of what friction holds, or a motor, in a step [m or rad]
static const double soft_enough  = 1e-7; // of displacements by springs, likewise [m or rad]
static const double lawful = 10; // residual of contact laws that will do, beside their tolerance
static const double hasty  = 2;  // approach, in a violent motion [m/s or rad/s]
static const double crowd_depth   = 1e-4; // penetration that is left alone among many contacts [m]
static const double removed_share = 0.8;  // of a penetration that is removed in one step

// Many contacts in one matrix, or not so few in a violent motion: what is wrong with some of them may wait for the
// next step.
static void find_whether_crowded(tn_stepper* s)
{
    const tni_unilaterals* a       = tni_stops_of(s);
    double                 fastest = 0;
    for (int i = 0; i < a->unilateral_count; ++i)
        fastest = fmax(fastest, -a->unilaterals[i].rate[0]);
    const int border             = fastest > hasty ? HASTY_CROWD : CROWD;
    s->system->auxiliary.crowded = s->impulse.soft != NULL && a->unilateral_count > border;
}

bool tni_is_crowded(const tn_stepper* s)
{
    return s->system->auxiliary.crowded;
}

double tni_tolerated_depth(const tn_stepper* s)
{
    return fmax(tni_is_crowded(s) ? crowd_depth : 1e-6, 0.01 * s->settings.impulse.tolerance);
}

// ---- The set of unilaterals ---------------------------------------------------------------------

// Warm start: impulses of the last step, of its flight or its landing.
static void set_warm_start(tn_stepper* s, bool landing, double h)
{
    tni_unilaterals* a  = tni_stops_of(s);
    int              at = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const double*   force = tni_warm_start_find(&s->impulse.warm_start, unilateral->id, &at);
        if (force == NULL) continue;
        if (landing) force += TNI_WARM_START_ROWS;
        for (int r = 0; r < TNI_WARM_START_ROWS; ++r) unilateral->force[r] = h * force[r];
    }
}

void tni_impulse_start_bounded(tn_stepper* s, bool landing, double h)
{
    int at = 0;
    for (int i = 0; i < s->impulse.bounded.count; ++i) {
        tni_bounded*  b     = &s->impulse.bounded.rows[i];
        const double* force = tni_warm_start_find(&s->impulse.warm_start, tni_bounded_id(i), &at);
        for (int r = 0; r < 3; ++r)
            b->force[r] = force != NULL ? h * force[r + (landing ? TNI_WARM_START_ROWS : 0)] : 0;
    }
}

// Contacts and limits on the way from the start to the end of the predicted flight, evaluated last.
static tn_result find_on_path(tn_stepper* s, double h, tn_why* why)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const bool room = tni_unilaterals_find_ahead(a, s->impulse.views, s->system->views, s->now.z);
    s->system->phases.collide += tni_clock_of(s) - start;
    if (!room) return tni_fail_full(why);
    if (tni_sleep_disturbed(s)) return TNI_WOKEN;
    set_warm_start(s, false, h);
    find_whether_crowded(s);
    return TN_OK;
}

static bool has_friction(const tni_unilateral* unilateral)
{
    return unilateral->friction > 0 || unilateral->spinning > 0 || unilateral->rolling > 0;
}

// Right-hand sides of a unilateral for the kick, from its gap and rates at the start: slip, spin
// and roll are to be zero in the middle of the step.
static void set_targets(tni_unilateral* unilateral, double h)
{
    unilateral->rule      = has_friction(unilateral) && unilateral->row_count > 1
                                ? TNI_UNILATERAL_GRIPS
                                : TNI_UNILATERAL_PUSHES;
    unilateral->target[0] = -unilateral->rate[0] - fmax(unilateral->start_gap, 0) / h;
    for (int k = 0; k < unilateral->row_count; ++k) unilateral->start[k] = unilateral->rate[k];
    for (int k = 1; k < unilateral->row_count; ++k)
        unilateral->target[k] =
            -unilateral->rate[k] - (h < HUGE_VAL ? 0.5 * h * unilateral->gamma[k] : 0);
    if (unilateral->soft && h < HUGE_VAL) tni_impulse_kick_soft(unilateral, h);
}

static void set_all_targets(tn_stepper* s, double h)
{
    tni_unilaterals* a = tni_stops_of(s);
    tni_impulse_weigh_soft(s);
    for (int i = 0; i < a->unilateral_count; ++i) set_targets(&a->unilaterals[i], h);
}

// ---- Impacts ------------------------------------------------------------------------------------

// Whether something with restitution is hit within the step. Others take part in impacts only where
// they touch.
static bool any_hit(tn_stepper* s, double h)
{
    tni_unilaterals* a   = tni_stops_of(s);
    bool             any = false;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const bool      comes =
            unilateral->rate[0] < -resolution && unilateral->gap + h * unilateral->rate[0] < 0;
        const bool hit            = unilateral->restitution > 0 && comes;
        unilateral->skips_impacts = unilateral->soft || (!hit && !(unilateral->gap <= resolution));
        any                       = any || hit;
    }
    return any;
}

// ---- Close --------------------------------------------------------------------------------------

// Whether a unilateral is active, by the last solve: one of force and residual is 0 up to rounding.
static bool pushes(const tni_unilateral* unilateral)
{
    if (unilateral->soft) return unilateral->force[0] > 0;
    return unilateral->force[0] * unilateral->response[0] > fabs(unilateral->residual[0]);
}

// Corrects the right-hand sides so that the residual of each row is the mean of its rates at both
// ends. Returns the largest deviation [m/s].
static double correct_slip(tni_unilateral* unilateral)
{
    double error = 0;
    for (int k = 1; k < unilateral->row_count; ++k) {
        const double first = unilateral->start[k] + unilateral->target[k] + unilateral->residual[k];
        const double off   = unilateral->residual[k] - 0.5 * (first + unilateral->rate[k]);
        unilateral->target[k] += off;
        error = fmax(error, fabs(off));
    }
    return error;
}

// The largest error of the gaps at the end [m or rad]; corrects what is asked for. Active ones end
// at the gap they may have, others at it or beyond.
static double correct_gaps(tn_stepper* s, double h)
{
    tni_unilaterals* a     = tni_stops_of(s);
    double           error = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const double    off        = fmin(unilateral->start_gap, 0) - unilateral->gap;
        const bool      on         = pushes(unilateral);
        if (unilateral->soft) error = fmax(error, tni_impulse_correct_soft(unilateral, h));
        if (unilateral->rule == TNI_UNILATERAL_OPEN || (off <= 0 && !on)) continue;
        if (unilateral->rule == TNI_UNILATERAL_GRIPS && on) {
            const double slip = h * correct_slip(unilateral);
            if (slip > slip_tolerance) error = fmax(error, slip);
        }
        if (unilateral->soft || (off <= 0 && unilateral->start_gap < -tni_tolerated_depth(s)))
            continue; // separating: nothing to correct
        unilateral->target[0] += off / h;
        error = fmax(error, fabs(off));
    }
    return error;
}

// Stores u+ if it is the best so far.
static bool keep(tn_stepper* s, const tni_closure_error* c, double error, double* least,
                 tni_closure_error* nearest)
{
    if (!(error < *least) && nearest->worst >= 0) return false;
    *least         = error;
    nearest->error = c->error;
    nearest->worst = c->worst;
    tni_copy_numbers(s->impulse.best, s->impulse.plus, s->model->u_count);
    tni_energy_keep(s);
    return true;
}

// The next goal. A round leaves the residual r of its goal g, because its derivatives are those of
// the start and not of the end. Anderson acceleration over the last two rounds, `count` of which
// are known, extrapolates the residual:
//     min |r - x (r - r0) - y (r0 - r1)|
//     g' = g + r - x (g - g0 + r - r0) - y (g0 - g1 + r0 - r1)
// Without it the tilts of a Strandbeest's hinges kept up to 0.95 of their error each round.
static void anderson_step(tn_stepper* s, int count)
{
    double *g = s->impulse.goal, *r = s->impulse.target_rates, **past = s->impulse.past;
    double *g0 = past[0], *r0 = past[1], *g1 = past[2], *r1 = past[3];
    double  aa = 0, ab = 0, bb = 0, ar = 0, br = 0, x = 0, y = 0;
    for (int i = 0; i < s->model->row_count && count > 0; ++i) {
        const double a = r[i] - r0[i], b = count > 1 ? r0[i] - r1[i] : 0;
        aa += a * a, ab += a * b, bb += b * b, ar += a * r[i], br += b * r[i];
    }
    const double det = aa * bb - ab * ab;
    if (det > 1e-6 * aa * bb) {
        x = (bb * ar - ab * br) / det;
        y = (aa * br - ab * ar) / det;
    } else if (aa > 0) {
        x = ar / aa;
    }
    for (int i = 0; i < s->model->row_count; ++i) {
        double next = g[i] + r[i];
        if (count > 0) next -= x * ((g[i] - g0[i]) + (r[i] - r0[i]));
        if (count > 1) next -= y * ((g0[i] - g1[i]) + (r0[i] - r1[i]));
        g1[i] = g[i], r1[i] = r[i], g[i] = next;
    }
    past[0] = g1, past[1] = r1, past[2] = g0, past[3] = r0;
}

// Sets the goal to the rates that u+ has already. What rounds ask for lies a little outside the
// range of redundant rows; the regularised solve answers that part with multipliers of that part /
// alpha, and where joints are open by the tolerance these turn bodies: a Strandbeest with a
// tolerance of 1e-6 hopped on them. A kick that asks for exactly the rates that result has
// multipliers of least norm.
static void set_goal_from_rates(tn_stepper* s)
{
    for (int i = 0; i < s->model->u_count; ++i) s->scratch[i] = s->impulse.plus[i] - s->now.u[i];
    tni_system_all_rates(s->system, s->scratch, s->impulse.goal);
}

// Forces of springs where the flight has led; how far that moves anything, as the tolerance of joints measures it.
static double correct_soft(tn_stepper* s, double tolerance)
{
    const tni_configuration at    = tni_configuration_of(&s->next);
    tni_scene_view          scene = tni_system_scene(s->system, &at);
    bool                    met;
    if (s->impulse.soft == NULL) return 0;
    scene.flying       = true;
    const double moved = tni_soft_correct(s->impulse.soft, &scene, s->impulse.plus, &met);
    return moved * fmin(1, tolerance / soft_enough);
}

// The same of what has bounds on its force.
static double correct_bounded(tn_stepper* s, double h, double tolerance)
{
    const tni_configuration at    = tni_configuration_of(&s->next);
    const tni_scene_view    scene = tni_system_scene(s->system, &at);
    return tni_bounded_correct(&s->impulse.bounded, &scene, h) * fmax(1, tolerance / creep);
}

// ---- Separate -----------------------------------------------------------------------------------

static double deepest(const tni_unilaterals* a)
{
    double most = 0;
    for (int i = 0; i < a->unilateral_count; ++i)
        if (!a->unilaterals[i].soft) most = fmax(most, -a->unilaterals[i].gap);
    return most;
}

// Moves s->next by the position correction that closes the joints and, unless these are alone, does what the
// unilaterals want.
static tn_result move_positions(tn_stepper* s, bool alone, tn_why* why)
{
    const tn_model* model = s->model;
    tn_result       result;
    for (int i = 0; i < model->row_count; ++i) s->impulse.target_rates[i] = -s->system->C[i];
    for (int i = 0; i < model->constraint_count; ++i) { // velocity-only rows have no position error
        const tni_constraint* c = &model->constraints[i];
        for (int k = c->held_count; k < c->row_count; ++k)
            s->impulse.target_rates[c->row_start + k] = 0;
    }
    if (alone) {
        result = tni_system_solve_joints(s->system, NULL, s->impulse.target_rates, false, why);
    } else {
        result = tni_impulse_solve(s, NULL, false, why);
    }
    if (result == TN_OK) tni_advance(model, s->next.q, s->system->answer, s->next.q);
    return result;
}

// Closes the joints of s->next alone, by the smallest correction, after bodies were pushed apart.
static tn_result close_positions(tn_stepper* s, double tolerance, tn_step_report* report,
                                 tn_why* why)
{
    const tni_configuration at     = tni_configuration_of(&s->next);
    tn_result               result = TN_OK;
    int                     worst;
    for (int round = 0; round < JOINT_ROUNDS && result == TN_OK; ++round) {
        if (!(tni_system_position_error(s->system, &worst) > tolerance)) break;
        result = move_positions(s, true, why);
        if (result == TN_OK) tni_system_evaluate(s->system, &at);
    }
    report->unclosed_count += tni_system_position_error(s->system, &worst) > fmax(tolerance, 1e-9);
    return result;
}

// What a crowd has run into that no solve of this step knew of.
static tn_result find_deep(tn_stepper* s, tn_why* why)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const int        more =
        tni_unilaterals_find_more(a, s->system->views, s->now.z, 5 * tni_tolerated_depth(s));
    s->system->phases.collide += tni_clock_of(s) - start;
    if (more < 0) return tni_fail_full(why);
    if (more == 0) return TN_OK;
    if (tni_sleep_disturbed(s)) return TNI_WOKEN;
    tni_unilaterals_evaluate(a, s->system->views, s->now.z, true);
    for (int i = 0; i < a->unilateral_count; ++i) a->unilaterals[i].is_new = false;
    return TN_OK;
}

// Pushes bodies apart: moves s->next, where the system was evaluated last, and nothing else.
static tn_result push_apart(tn_stepper* s, double tolerance, tn_step_report* report, tn_why* why)
{
    tni_unilaterals*        a      = tni_stops_of(s);
    tni_auxiliary*          by     = &s->system->auxiliary;
    const tni_configuration at     = tni_configuration_of(&s->next);
    const double            alone  = (tni_is_crowded(s) ? 8 : 1) * tni_tolerated_depth(s);
    tn_result               result = TN_OK;
    if (tni_is_crowded(s)) TRY(find_deep(s, why));
    if (!(deepest(a) > alone)) return TN_OK;
    if (by->matrix != NULL) TRY(tni_system_factor(s->system, &at, why)); // rows as they are here
    for (int i = 0; i < a->unilateral_count; ++i) {
        a->unilaterals[i].start_gap = a->unilaterals[i].gap;
        a->unilaterals[i].rule =
            a->unilaterals[i].soft ? TNI_UNILATERAL_OPEN : TNI_UNILATERAL_PUSHES;
    }
    by->softens = by->binds = false;
    by->keep_forces         = true;
    if (by->matrix != NULL) tni_step_matrix_cool(by->matrix);
    const double before = tni_energy_of_place(s);
    const int    rounds = tni_is_crowded(s) ? CROWD_PARTS : PART_ROUNDS;
    for (int round = 0; round < rounds && result == TN_OK; ++round) {
        int  worst;
        bool done = tni_system_position_error(s->system, &worst) <= tolerance;
        for (int i = 0; i < a->unilateral_count; ++i) {
            tni_unilateral* unilateral = &a->unilaterals[i];
            if (unilateral->soft) continue;
            const double goal     = unilateral->start_gap < -alone
                                        ? (1 - removed_share) * unilateral->start_gap
                                        : fmin(unilateral->start_gap, 0);
            unilateral->target[0] = goal - unilateral->gap;
            done                  = done &&
                   unilateral->target[0] <= 0.5 * alone; // without the factor, penetrations just
                                                         // above it would stay
        }
        if (done) break;
        const double deep = deepest(a);
        tni_copy_numbers(s->impulse.apart, s->next.q, s->model->q_count);
        result = move_positions(s, false, why);
        if (result != TN_OK) break;
        tni_system_evaluate(s->system, &at);
        if (deepest(a) < 2 * deep) continue;
        // Too far for a linear step.
        tni_copy_numbers(s->next.q, s->impulse.apart, s->model->q_count);
        tni_system_evaluate(s->system, &at);
        break;
    }
    by->keep_forces = false;
    if (result == TN_OK) result = close_positions(s, tolerance, report, why);
    tni_energy_brought(s, tni_energy_of_place(s) - before);
    return result;
}

// A row of balls passes an impact on, one contact a time.
static int impact_rounds_max(tn_stepper* s)
{
    return 8 + 2 * tni_stops_of(s)->unilateral_count;
}

// ---- All of it ----------------------------------------------------------------------------------

// Impacts of the current set, if something is hit; then kicks again. *hit: something was.
static tn_result solve_impacts(tn_stepper* s, double h, bool* hit, tn_step_report* report,
                               tn_why* why)
{
    *hit = any_hit(s, h);
    if (!*hit) return TN_OK;
    s->system->auxiliary.softens = s->system->auxiliary.binds = false;
    const double before                                       = tni_energy_of_impact(s);
    tn_result    result                                       = tni_solve_impacts(s, report, why);
    tni_energy_brought(s, tni_energy_of_impact(s) - before);
    if (result == TN_OK) result = tni_impulse_kick(s, h, report, why);
    return result;
}

// Finds the set for the step and solves its impacts; the rates of the kick are in
// s->impulse.goal.
static tn_result find_and_strike(tn_stepper* s, double h, int* impacts, tn_step_report* report,
                                 tn_why* why)
{
    bool      hit    = true;
    tn_result result = TN_OK;
    while (hit && result == TN_OK) {
        tni_copy_numbers(s->impulse.first, s->impulse.plus, s->model->u_count);
        if (s->impulse.touches) (void)tni_impulse_fly(s, h);
        result = find_on_path(s, h, why);
        hit    = false;
        if (result == TN_OK && ++*impacts <= impact_rounds_max(s))
            result = solve_impacts(s, h, &hit, report, why);
    }
    if (result == TN_OK) set_all_targets(s, h);
    return result;
}

// Adds what is penetrated at the end and not in the set yet. *again: the set has changed.
static tn_result find_more(tn_stepper* s, double h, int* impacts, bool* again,
                           tn_step_report* report, tn_why* why)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const int        more =
        tni_unilaterals_find_more(a, s->system->views, s->now.z, tni_tolerated_depth(s));
    bool      hit    = false;
    tn_result result = TN_OK;
    s->system->phases.collide += tni_clock_of(s) - start;
    *again = more != 0;
    if (more < 0) return tni_fail_full(why);
    if (more == 0) return TN_OK;
    if (tni_sleep_disturbed(s)) return TNI_WOKEN;
    tni_unilaterals_evaluate(a, s->impulse.views, s->now.z, true);
    find_whether_crowded(s);
    for (int i = 0; i < a->unilateral_count; ++i)
        if (a->unilaterals[i].is_new) a->unilaterals[i].weighed = false;
    tni_impulse_weigh_soft(s);
    for (int i = 0; i < a->unilateral_count; ++i) {
        if (!a->unilaterals[i].is_new) continue;
        a->unilaterals[i].start_gap = a->unilaterals[i].gap;
        a->unilaterals[i].is_new    = false;
        set_targets(&a->unilaterals[i], h);
    }
    if (++*impacts <= impact_rounds_max(s)) result = solve_impacts(s, h, &hit, report, why);
    return hit && result == TN_OK ? find_and_strike(s, h, impacts, report, why) : result;
}

// Forces of the first solve of a flight. Where its rounds run away those of the last one mean nothing.
static void keep_first_forces(tn_stepper* s)
{
    tni_unilaterals* a = tni_stops_of(s);
    tni_copy_numbers(s->impulse.first_push, s->system->answer + s->model->u_count,
                     s->model->row_count);
    for (int i = 0; i < a->unilateral_count; ++i)
        memcpy(a->unilaterals[i].force_before, a->unilaterals[i].force,
               sizeof a->unilaterals[i].force);
}

void tni_impulse_take_first_forces(tn_stepper* s)
{
    tni_unilaterals* a = tni_stops_of(s);
    tni_copy_numbers(s->system->answer + s->model->u_count, s->impulse.first_push,
                     s->model->row_count);
    for (int i = 0; i < a->unilateral_count; ++i)
        memcpy(a->unilaterals[i].force, a->unilaterals[i].force_before,
               sizeof a->unilaterals[i].force);
}

// Joints, gaps and springs, all in the matrix: each round takes a few Newton steps on the laws of contacts too.
// When many have been taken, active sets stay as they are while the joints close: rounds are linear solves then.
static tn_result correct(tn_stepper* s, double h, double tolerance, tni_closure_error* nearest,
                         bool* closed, int* impacts, tn_step_report* report, tn_why* why)
{
    tni_auxiliary* a         = &s->system->auxiliary;
    const bool     crowded   = tni_is_crowded(s);
    const bool     exact     = s->impulse.soft == NULL; // as far as it takes
    const int      steps_max = crowded ? CROWD_STEPS : STEPS_MAX;
    int            since = 0, known = 0, spent = 0, looks = 0;
    bool           least_multipliers = !s->impulse.loops, frozen = false, anew = true;
    double         least = HUGE_VAL, last = HUGE_VAL;
    const double   ease = exact ? 1 : fmin(1, tolerance / near_enough);
    if (tni_auxiliary_is_idle(a, tni_stops_of(s)))
        return tni_impulse_close_alone(s, h, tolerance, nearest, closed, report, why);
    *nearest = (tni_closure_error){.error = HUGE_VAL, .worst = -1};
    for (int round = 0; round <= ROUNDS_MAX; ++round) {
        tni_copy_numbers(s->impulse.target_rates, s->impulse.goal, s->model->row_count);
        const bool first = round == 0 && looks == 0 && s->system->stiffness == NULL;
        const bool full  = crowded ? first : anew || spent < steps_max;
        a->effort        = frozen ? TNI_CONES_FROZEN : full ? TNI_CONES_MET : TNI_CONES_FURTHER;
        const tn_result result = tni_impulse_solve_kick(s, h, why);
        a->effort              = TNI_CONES_MET;
        anew                   = false;
        if (result != TN_OK) return result;
        if (round == 0) tni_copy_numbers(s->impulse.first, s->impulse.plus, s->model->u_count);
        if (round == 0 && !exact) keep_first_forces(s);
        spent += a->report.rounds;
        const bool met = a->report.residual <= lawful * a->tolerance || frozen;
        anew           = !met && !s->impulse.loops; // through loops each would begin too far away
        const tni_closure_error c    = tni_impulse_fly(s, h);
        const double            gaps = frozen ? 0 : correct_gaps(s, h) * ease, before = least;
        const bool far  = frozen && c.error > FAR * tolerance; // springs may wait for the joints
        double     soft = 0;
        if (!far) soft = correct_soft(s, tolerance);
        if (!frozen) soft = fmax(soft, correct_bounded(s, h, tolerance));
        const double error = fmax(c.error, fmax(gaps, soft));
        if (round == 0) nearest->initial = c.error;
        (void)keep(s, &c, met ? error : fmax(error, 2 * tolerance), &least, nearest);
        since = least < 0.5 * before ? 0 : since + 1;
        least_multipliers =
            !s->impulse.loops || (least_multipliers && error <= fmax(tolerance, spoiled_max));
        if (!(error < 1e6) || (error <= tolerance && met && least_multipliers)) break;
        if (!exact && !crowded && !frozen && since > 1 && fmax(c.error, gaps / ease) > lost)
            break; // another try, with tension or a shorter step
        if (round == LOOK_ROUND && tni_is_crowded(s) && looks < CROWD_MORE) {
            bool again; // before the joints are closed for good
            ++looks;
            TRY(find_more(s, h, impacts, &again, report, why));
            if (again) {
                round  = -1;
                frozen = false;
                anew   = true;
                since = known = spent = 0;
                least = last = HUGE_VAL;
                *nearest     = (tni_closure_error){.error = HUGE_VAL, .worst = -1};
                continue;
            }
        }
        if (!frozen &&
            (spent > steps_max || since > STALLED || (a->report.split && round >= FREEZE_ROUND))) {
            frozen = true;
            since = known = 0;
            least = last = HUGE_VAL;
        } else if (since > STALLED) {
            break;
        }
        if (error <= tolerance && met) {
            set_goal_from_rates(s);
            if (a->matrix != NULL)
                tni_step_matrix_forget(a->matrix); // from nothing: a few steps would not do
            least_multipliers = anew = true;
            since = known = 0;
            least         = HUGE_VAL;
        } else if (error > tolerance) {
            if (error > 2 * last) known = 0;
            anderson_step(s, known);
            known = known < 2 ? known + 1 : 2;
            ++report->iteration_count;
        }
        last = error;
    }
    *closed = nearest->error <= fmax(tolerance, s->settings.impulse.tolerance);
    if (least > tolerance) { // the last round is not the best one
        tni_copy_numbers(s->impulse.plus, s->impulse.best, s->model->u_count);
        (void)tni_impulse_fly(s, h);
    }
    return TN_OK;
}

// Whether contacts and limits have added energy, by pushing back what had turned too far for their
// linearisation.
static bool gains_energy(tn_stepper* s)
{
    const tni_unilaterals* a = tni_stops_of(s);
    if (a->unilateral_count == 0) return false;
    double sum = 0, scale = tni_system_kinetic(s->system, s->impulse.plus);
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        if (unilateral->soft || !pushes(unilateral)) continue;
        sum += unilateral->force[0] *
               fmax(0, unilateral->start[0] + unilateral->target[0] + unilateral->residual[0]);
        scale += 0.5 * unilateral->force[0] * unilateral->response[0] * unilateral->force[0];
    }
    return sum > share * scale;
}

static double deepest_at_start(const tni_unilaterals* a)
{
    double most = 0;
    for (int i = 0; i < a->unilateral_count; ++i)
        if (!a->unilaterals[i].soft) most = fmax(most, -a->unilaterals[i].start_gap);
    return most;
}

// How far from its gap at the end anything is that pushes, or beyond it anything else [m or rad].
static double gap_error(const tn_stepper* s)
{
    const tni_unilaterals* a    = &s->system->unilaterals;
    double                 most = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        const double          off        = fmin(unilateral->start_gap, 0) - unilateral->gap;
        const bool            leaves = off <= 0 && unilateral->start_gap < -tni_tolerated_depth(s);
        if (unilateral->soft || unilateral->rule == TNI_UNILATERAL_OPEN || leaves) continue;
        if (off > 0 || pushes(unilateral)) most = fmax(most, fabs(off));
    }
    return most;
}

tn_result tni_impulse_close(tn_stepper* s, double h, double tolerance, tni_closure_error* nearest,
                            bool* closed, tn_step_report* report, tn_why* why)
{
    int       impacts            = 0;
    bool      again              = true;
    tn_result result             = find_and_strike(s, h, &impacts, report, why);
    s->impulse.start_penetration = deepest_at_start(tni_stops_of(s));
    for (int pass = 0; again && result == TN_OK; ++pass) {
        result         = correct(s, h, tolerance, nearest, closed, &impacts, report, why);
        const bool few = s->impulse.soft != NULL && !tni_is_crowded(s);
        if (result == TN_OK && *closed && few && !s->impulse.final_try)
            *closed = gap_error(s) <= gap_accepted;
        if (result != TN_OK || !*closed || pass == (tni_is_crowded(s) ? 0 : MORE_MAX)) break;
        result = find_more(s, h, &impacts, &again, report, why);
    }
    if (result == TN_OK && *closed && !s->impulse.final_try && gains_energy(s)) *closed = false;
    return result == TN_OK && *closed ? push_apart(s, tolerance, report, why) : result;
}

// ---- Land ---------------------------------------------------------------------------------------

tn_result tni_impulse_find_landing(tn_stepper* s, double h, tn_why* why)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const bool       room  = tni_unilaterals_find(a, s->system->views, s->now.z, landing_gap);
    s->system->phases.collide += tni_clock_of(s) - start;
    if (!room) return tni_fail_full(why);
    if (tni_sleep_disturbed(s)) return TNI_WOKEN;
    // Contact features may change so fast that the rounds do not converge: then the step is too
    // long.
    if (!s->impulse.final_try &&
        deepest(a) >
            s->impulse.start_penetration + (tni_is_crowded(s) ? crowd_growth : penetration_growth))
        return TN_ERR_DIVERGED;
    set_warm_start(s, true, h);
    return TN_OK;
}

void tni_impulse_set_landing_targets(tn_stepper* s, double h)
{
    tni_unilaterals* a = tni_stops_of(s);
    if (s->system->auxiliary.matrix != NULL) tni_step_matrix_cool(s->system->auxiliary.matrix);
    tni_impulse_weigh_soft(s);
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        set_targets(unilateral, HUGE_VAL);
        if (unilateral->soft) tni_impulse_land_soft(unilateral, h);
        // What approaches and has restitution is left to the impact phase of the next step.
        if (unilateral->restitution > 0 && !unilateral->was_active &&
            unilateral->rate[0] < -resolution)
            unilateral->rule = TNI_UNILATERAL_OPEN;
    }
}

void tni_impulse_report_contacts(tn_stepper* s, double h, tn_step_report* report)
{
    tni_unilaterals* a          = tni_stops_of(s);
    report->contact_count       = 0;
    report->deepest             = deepest(a);
    s->impulse.warm_start.count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        report->contact_count += unilateral->limit < 0 && unilateral->gap <= tni_contact_gap;
        double* force = NULL;
        if (unilateral->force[0] > 0 || unilateral->force_before[0] > 0)
            force = tni_warm_start_add(&s->impulse.warm_start, s->model, unilateral->id);
        for (int r = 0; force != NULL && r < unilateral->row_count; ++r) {
            force[r]                       = unilateral->force_before[r] / h;
            force[TNI_WARM_START_ROWS + r] = unilateral->force[r] / h;
        }
        for (int r = 0; r < unilateral->row_count; ++r) // solved for as impulses; users read forces
            unilateral->force[r] = (unilateral->force[r] + unilateral->force_before[r]) / h;
    }
    for (int i = 0; i < s->impulse.bounded.count; ++i) {
        const tni_bounded* b = &s->impulse.bounded.rows[i];
        double* force = tni_warm_start_add(&s->impulse.warm_start, s->model, tni_bounded_id(i));
        for (int r = 0; force != NULL && r < 3; ++r) {
            force[r]                       = b->force_before[r] / h;
            force[TNI_WARM_START_ROWS + r] = b->force[r] / h;
        }
    }
}
