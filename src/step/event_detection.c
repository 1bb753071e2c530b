// event_detection: steps of a mechanism with unilaterals (hard limits, ropes, contacts), event by
// event.
//
// A step is cut into substeps at its events. Within a substep the set of unilaterals that are
// reached is fixed and accelerations obey them: a_n >= 0, f_n >= 0, a_n f_n = 0, with friction in
// the cone where the point sticks and of full size against the slip where it slides. These are
// smooth but for kinks, so the integrator keeps its order. A substep ends when
//     a new unilateral is reached: its gap is zero, and an impact follows, solved as an impulse;
//     a slide comes to rest: its slip is zero, and from now on it may stick.
// Both are zeros of a function of the substep's length, found to 1e-9 by regula falsi with
// integrations from the substep's start. Separation and the start of sliding need no search: forces
// are continuous there.
//
// Impacts. Rows that approach get w_n >= -e w_n^-, p_n >= 0, with friction impulses in the cone;
// those that touch and do not approach are left out until the impact reaches them: so a row of
// balls passes it on (Newton's cradle). Where nothing has restitution (e = 0) all take part at
// once. A unilateral that is hit for the third time within one step has no restitution any more:
// this ends infinite sequences of smaller and smaller bounces.
//
// Friction at the level of accelerations may have no solution (Painleve 1895), and events may be
// too many. Then a substep is taken with impulses over its whole length (Moreau's time stepping),
// which always exist: u = u_free + response to p, w_n + gap / dt >= 0, cone on w_t. It is of first
// order, and counted in the report. Semi-implicit Euler steps are all of this kind.
#include "step/stepper.h"

// A gap [m or rad] or speed [m/s or rad/s] that counts as zero.
static const double resolution = 1e-9;
static const double impact_gain =
    1e-9;                              // of the kinetic energy: what an impact may gain by rounding
static const double rest_speed = 1e-6; // the same after steps that are solved in rounds [m/s]

enum {
    EVENTS_MAX   = 200,  // in a step; then time stepping with impulses
    SLIDES_MAX   = 8,    // events of these that end a slide
    FRICTION_MAX = 12,   // contacts with friction: with more, slow slides are left to impulses
    HITS_MAX     = 2,    // hits of a unilateral in a step that have restitution
    SEARCH_MAX   = 60,   // integrations for one event
    SUBSTEPS_MAX = 10000 // in a step, including rejected ones
};

// ---- The set of unilaterals ---------------------------------------------------------------------

static void evaluate(tn_stepper* s, const tni_configuration_buffer* place)
{
    const tni_configuration at = {place->time, place->q, place->u, s->now.z};
    tni_system_evaluate(s->system, &at);
}

// Rule of a unilateral that is reached, from its rates; `still` counts as none [m/s]. With first-order
// dynamics rates do not matter, and there is no friction.
static void choose_rule(tni_unilateral* unilateral, bool second, double still)
{
    const double slip = tni_unilateral_slip(unilateral);
    unilateral->rule  = TNI_UNILATERAL_PUSHES;
    if (second && unilateral->rate[0] > still) {
        unilateral->rule = TNI_UNILATERAL_OPEN;
    } else if (second && unilateral->friction > 0 && unilateral->row_count > 1) {
        unilateral->rule = slip > still ? TNI_UNILATERAL_SLIDES : TNI_UNILATERAL_GRIPS;
        unilateral->slip = tni_vec3(0, 0, 0);
        for (int i = 1; i <= unilateral->slip_count && slip > still; ++i)
            unilateral->slip = tni_add_scaled(unilateral->slip, unilateral->rate[i] / slip,
                                              unilateral->across[i - 1]);
    }
}

static void choose_rules(tn_stepper* s, double still)
{
    tni_unilaterals* a      = tni_stops_of(s);
    const bool       second = s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND;
    for (int i = 0; i < a->unilateral_count; ++i) {
        choose_rule(&a->unilaterals[i], second, still);
        a->unilaterals[i].fixed_slip = false;
    }
}

// Finds what is reached at the last evaluation. False: no room.
static bool find_within(tn_stepper* s, double reach)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const bool       room  = tni_unilaterals_find(a, s->system->views, s->now.z, reach);
    s->system->phases.collide += tni_clock_of(s) - start;
    return room;
}

tn_result tni_find_unilaterals(tn_stepper* s, tn_why* why)
{
    const bool rough =
        s->settings.method == TN_METHOD_IMPULSE; // it leaves gaps and rates of rounds
    evaluate(s, &s->now);
    if (!find_within(s, rough ? tni_contact_gap : resolution)) return tni_fail_full(why);
    choose_rules(s, rough ? rest_speed : resolution);
    return TN_OK;
}

// ---- Impacts ------------------------------------------------------------------------------------

// Counts the hit; whether it has restitution.
static bool has_restitution(tn_stepper* s, const tni_unilateral* unilateral)
{
    for (int i = 0; i < s->hit_count; ++i) {
        if (s->hits[i].id == unilateral->id) return ++s->hits[i].count <= HITS_MAX;
    }
    if (s->hit_count == TNI_HITS_MAX) return false;
    s->hits[s->hit_count++] = (tni_hit_count){unilateral->id, 1};
    return true;
}

// Right-hand sides of an impact. last: no restitution, all take part. Returns how many are hit;
// *restitution: whether any has it.
static int set_impact_targets(tn_stepper* s, bool last, bool* restitution)
{
    tni_unilaterals* a    = tni_stops_of(s);
    int              hits = 0;
    bool             any  = false;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const bool      hit = unilateral->rate[0] < -resolution && !unilateral->skips_impacts;
        const double    e =
            hit && !last && unilateral->restitution > 0 && has_restitution(s, unilateral)
                   ? unilateral->restitution
                   : 0;
        const bool grips      = unilateral->friction > 0 && unilateral->row_count > 1;
        unilateral->rule      = !hit    ? TNI_UNILATERAL_OPEN
                                : grips ? TNI_UNILATERAL_GRIPS
                                        : TNI_UNILATERAL_PUSHES;
        unilateral->target[0] = -(1 + e) * unilateral->rate[0];
        for (int k = 1; k < unilateral->row_count; ++k)
            unilateral->target[k] = -unilateral->rate[k];
        hits += hit;
        any = any || e > 0;
    }
    for (int i = 0; i < a->unilateral_count && !any && hits > 0; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        if (unilateral->rule == TNI_UNILATERAL_OPEN && unilateral->rate[0] <= resolution &&
            !unilateral->skips_impacts)
            unilateral->rule = unilateral->friction > 0 && unilateral->row_count > 1
                                   ? TNI_UNILATERAL_GRIPS
                                   : TNI_UNILATERAL_PUSHES;
    }
    *restitution = any;
    return hits;
}

static void drop_friction(tni_unilaterals* a)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        if (a->unilaterals[i].rule == TNI_UNILATERAL_GRIPS)
            a->unilaterals[i].rule = TNI_UNILATERAL_PUSHES;
    }
}

// The change of velocities, in system->answer, that makes those of the last evaluation fit joints
// and unilaterals.
static tn_result solve_velocities(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    double* r = s->system->gamma;
    for (int i = 0; i < s->model->row_count; ++i) r[i] = -s->system->rate[i];
    tn_result result = tni_system_solve(s->system, NULL, r, true, why);
    if (result == TN_ERR_DIVERGED) { // rather without friction than without an answer
        ++report->jam_count;
        drop_friction(tni_stops_of(s));
        for (int i = 0; i < s->model->row_count; ++i) r[i] = -s->system->rate[i];
        result = tni_system_solve(s->system, NULL, r, true, why);
    }
    if (result == TN_OK) tni_system_report(s->system, report);
    return result;
}

static double energy_after(tn_stepper* s, const double* change)
{
    for (int i = 0; i < s->model->u_count; ++i) s->scratch[i] = s->now.u[i] + change[i];
    return tni_system_kinetic(s->system, s->scratch);
}

// Newton's restitution with friction may gain energy (Kane and Levinson 1985): the change of velocities d is then
// mixed with that without restitution, d0, which never does. Both fit joints, contacts and friction cones, which are
// convex, so their mixture does:
//     d0 + x (d - d0),   x <= 1 the largest that gains nothing: a quadratic equation
static tn_result keep_energy(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_system_kinetic(s->system, s->now.u),
                 end       = energy_after(s, s->system->answer);
    if (!(end > (1 + impact_gain) * start) || tni_energy_may_come(s)) return TN_OK;
    tni_copy_numbers(s->impulse.best, s->system->answer, s->model->u_count);
    for (int i = 0; i < a->unilateral_count; ++i)
        a->unilaterals[i].target[0] = -a->unilaterals[i].rate[0];
    TRY(solve_velocities(s, report, why));
    double*      d    = s->system->answer;
    const double less = energy_after(s, d);
    for (int i = 0; i < s->model->u_count; ++i) s->impulse.best[i] -= d[i];
    const double A = tni_system_kinetic(s->system, s->impulse.best), C = less - start,
                 B = end - less - A;
    const double x = C < 0 && A > 0 ? (sqrt(B * B - 4 * A * C) - B) / (2 * A) : 0;
    for (int i = 0; i < s->model->u_count; ++i) d[i] += fmin(x, 1) * s->impulse.best[i];
    return TN_OK;
}

// Repeats impacts on s->now.u until nothing approaches any more.
tn_result tni_solve_impacts(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    tni_unilaterals* a    = tni_stops_of(s);
    const int        most = 8 + 4 * a->unilateral_count, jam_count = report->jam_count;
    int              settled = 0;
    for (int pass = 0; pass <= most + 1; ++pass) {
        bool      restitution;
        const int hits = set_impact_targets(s, pass >= most, &restitution);
        if (hits == 0 || settled == 2)
            break; // all took part twice: the rest is a contradiction with the joints
        settled += !restitution;
        report->impact_count += hits;
        if (report->jam_count > jam_count)
            drop_friction(a); // after one friction jam: without
                              // friction
        if (pass == 0) {
            const tni_configuration at = tni_configuration_of(&s->now);
            TRY(tni_system_factor(s->system, &at, why));
        }
        TRY(solve_velocities(s, report, why));
        if (restitution && s->impulse.energy.on) TRY(keep_energy(s, report, why));
        for (int i = 0; i < s->model->u_count; ++i) s->now.u[i] += s->system->answer[i];
        evaluate(s, &s->now);
    }
    return TN_OK;
}

// Unilaterals that are reached at s->now, after their impacts, with the rules for the substep.
static tn_result find_and_strike(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    TRY(tni_find_unilaterals(s, why));
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND &&
        tni_stops_of(s)->unilateral_count > 0) {
        TRY(tni_solve_impacts(s, report, why));
        choose_rules(s, resolution);
    }
    return TN_OK;
}

// ---- Many contacts with friction ----------------------------------------------------------------

// Contacts with friction. The order in which many together stick and slip means little: with more
// than CROWD of them, a slide that is slow or ends is left to impulses.
static int friction_count(tn_stepper* s)
{
    const tni_unilaterals* a     = tni_stops_of(s);
    int                    count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) count += a->unilaterals[i].friction > 0;
    return count;
}

// Whether the last substep ended with the end of a slide.
static bool ends_a_slide(tn_stepper* s)
{
    const tni_unilaterals* a   = tni_stops_of(s);
    bool                   any = false;
    for (int i = 0; i < a->watched_count; ++i)
        any = any || a->watched[i].rule == TNI_UNILATERAL_SLIDES;
    return any;
}

// ---- Slow slides --------------------------------------------------------------------------------

// Friction follows the direction of slip: perpendicular to the slip this damps with the rate mu f_n
// W / |slip|, too stiff for explicit integrators when the slip is small. Such a slide gets a fixed
// direction for the whole substep: that of its slip at the substep's end, found implicitly (a
// sticking point whose target is not zero acceleration but zero slip at the end). If it would stop
// or reverse, it keeps its present direction until that event. push: the normal force it may carry.
static void fix_direction(tni_unilateral* unilateral, double dt, double push)
{
    double slip = 0, along = 0, length = 0, weight = 0, end[3] = {0};
    for (int i = 1; i <= unilateral->slip_count; ++i) {
        end[i] = dt * unilateral->residual[i];
        slip += unilateral->rate[i] * unilateral->rate[i];
        along += end[i] * unilateral->rate[i];
        length += end[i] * end[i];
        weight = fmax(weight, unilateral->response[i]);
    }
    slip                   = sqrt(slip);
    length                 = sqrt(length);
    unilateral->rule       = TNI_UNILATERAL_SLIDES;
    unilateral->fixed_slip = unilateral->friction * push * weight * dt > slip;
    if (!unilateral->fixed_slip || !(along > 0) || !(length > fmax(resolution, 1e-3 * slip)))
        return;
    unilateral->slip = tni_vec3(0, 0, 0);
    for (int i = 1; i <= unilateral->slip_count; ++i)
        unilateral->slip =
            tni_add_scaled(unilateral->slip, end[i] / length, unilateral->across[i - 1]);
}

// Largest normal force of a contact between the same two bodies: it may move among these.
static double push_of(const tni_unilaterals* a, const tni_unilateral* unilateral)
{
    double most = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* other = &a->unilaterals[i];
        if (other->limit < 0 && other->contact.body1 == unilateral->contact.body1 &&
            other->contact.body2 == unilateral->contact.body2)
            most = fmax(most, other->force[0]);
    }
    return most;
}

// Number of slides that may be slow, by the forces at s->now. -1: the evaluation failed.
static int count_slow(tn_stepper* s, double dt, tn_result* result, tn_why* why)
{
    tni_unilaterals*        a      = tni_stops_of(s);
    const tni_configuration at     = tni_configuration_of(&s->now);
    int                     slides = 0, slow = 0;
    for (int i = 0; i < a->unilateral_count; ++i)
        slides += a->unilaterals[i].rule == TNI_UNILATERAL_SLIDES;
    if (slides == 0) return 0;
    *result = tni_system_accelerate(s->system, &at, 0, why);
    for (int i = 0; *result == TN_OK && i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        if (unilateral->rule != TNI_UNILATERAL_SLIDES) continue;
        double weight = 0;
        for (int k = 1; k <= unilateral->slip_count; ++k)
            weight = fmax(weight, tni_system_free_response(s->system, i, k));
        slow += unilateral->friction * push_of(a, unilateral) * weight * dt >
                tni_unilateral_slip(unilateral);
    }
    return *result == TN_OK ? slow : -1;
}

// Fixes the directions of slow slides. *crowded: there is a slow one among too many contacts.
static tn_result fix_slides(tn_stepper* s, double dt, bool* too_many, tn_why* why)
{
    tni_unilaterals*        a      = tni_stops_of(s);
    const tni_configuration at     = tni_configuration_of(&s->now);
    tn_result               result = TN_OK;
    const int               slow   = count_slow(s, dt, &result, why);
    *too_many                      = slow > 0 && friction_count(s) > FRICTION_MAX;
    if (slow <= 0 || *too_many) return result;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        unilateral->fixed_slip     = unilateral->rule == TNI_UNILATERAL_SLIDES;
        for (int k = 1; k < 3; ++k)
            unilateral->target_acceleration[k] =
                unilateral->fixed_slip ? unilateral->rate[k] / dt : 0;
        if (unilateral->fixed_slip) unilateral->rule = TNI_UNILATERAL_GRIPS;
    }
    result = tni_system_accelerate(s->system, &at, 0, why);
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        for (int k = 1; k < 3; ++k) unilateral->target_acceleration[k] = 0;
        if (unilateral->fixed_slip && result == TN_OK)
            fix_direction(unilateral, dt, push_of(a, unilateral));
        else if (unilateral->fixed_slip)
            unilateral->rule = TNI_UNILATERAL_SLIDES, unilateral->fixed_slip = false;
    }
    return result == TN_ERR_DIVERGED ? TN_OK : result;
}

// ---- Substeps -----------------------------------------------------------------------------------

static bool is_jammed(const tn_stepper* s)
{
    return s->system->auxiliary.report.jammed || s->start->auxiliary.report.jammed;
}

// Integrates a substep that is known to be short enough for the integrator.
static tn_result integrate(tn_stepper* s, double dt, tn_step_report* report, tn_why* why)
{
    double          wish;
    bool            accepted;
    const tn_result result = tni_integrate(s, dt, &wish, &accepted, report, why);
    if (result == TN_OK) evaluate(s, &s->next);
    return result;
}

// s->next is beyond an event: finds the substep that ends with it; *dt is its length.
static tn_result find_event(tn_stepper* s, double* dt, tn_step_report* report, tn_why* why)
{
    const tni_unilaterals* a  = tni_stops_of(s);
    double                 lo = 0, hi = *dt, below = 0;
    double                 above = tni_unilaterals_event(a, s->system->views, s->now.z);
    for (int i = 0; i < SEARCH_MAX; ++i) {
        // Regula falsi with its stale end halved (Illinois); bisection while the value at the start
        // is of no use.
        double t = below > resolution ? lo + (hi - lo) * below / (below - above) : 0.5 * (lo + hi);
        if (!(t > lo && t < hi) || i % 4 == 3) t = 0.5 * (lo + hi);
        TRY(integrate(s, t, report, why));
        const double g = tni_unilaterals_event(a, s->system->views, s->now.z);
        *dt            = t;
        if (fabs(g) <= resolution || hi - lo <= 1e-15 * (fabs(s->now.time) + hi)) break;
        if (g > 0) {
            if (below > 0 && i > 0) above *= 0.5;
            lo    = t;
            below = g;
        } else {
            if (below > resolution) below *= 0.5;
            hi    = t;
            above = g;
        }
    }
    ++report->multiplier.event_count;
    return TN_OK;
}

// From s->now to the next event, or for the wished length; *dt is what was taken, 0: rejected by
// the error estimate.
static tn_result take_substep(tn_stepper* s, double* dt, double* wish, bool* too_many,
                              tn_step_report* report, tn_why* why)
{
    bool accepted;
    TRY(fix_slides(s, *dt, too_many, why));
    if (*too_many) return TN_OK;
    TRY(tni_integrate(s, *dt, wish, &accepted, report, why));
    if (!accepted) {
        *dt = 0;
        return TN_OK;
    }
    evaluate(s, &s->next);
    tni_unilaterals* a     = tni_stops_of(s);
    const double     start = tni_clock_of(s);
    const bool       room  = tni_unilaterals_watch(a, s->system->views, s->now.z, resolution);
    s->system->phases.collide += tni_clock_of(s) - start;
    if (!room) return tni_fail_full(why);
    *too_many = ends_a_slide(s) && friction_count(s) > FRICTION_MAX;
    return a->watched_count > 0 && !*too_many ? find_event(s, dt, report, why) : TN_OK;
}

// ---- Impulses over a substep --------------------------------------------------------------------

// Upper estimate of how far surfaces move within dt [m].
static double reach_within(const tn_stepper* s, double dt)
{
    double speed = 0, turn = 0, size = 0;
    for (int i = 0; i < s->model->body_count; ++i) {
        speed = fmax(speed, tni_norm(s->system->views[i].v));
        turn  = fmax(turn, tni_norm(s->system->views[i].w));
    }
    for (int i = 0; i < s->model->shape_count; ++i) {
        const tni_shape* shape  = &s->model->shapes[i];
        const double     extent = tni_extent(&shape->geometry);
        if (extent < HUGE_VAL) size = fmax(size, extent + tni_norm(shape->p));
    }
    return resolution + 2 * dt * (speed + turn * (1 + size));
}

// w_n + gap / dt >= 0: at most until it touches. With restitution an impact within the substep
// happens at its start, with e times the approach speed without this substep's forces: otherwise
// nothing would ever come to rest.
static void set_step_targets(tn_stepper* s, double dt, tn_step_report* report)
{
    tni_unilaterals* a = tni_stops_of(s);
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const double    end        = unilateral->rate[0] + fmax(unilateral->gap, 0) / dt;
        const bool      grip       = unilateral->friction > 0 && unilateral->row_count > 1;
        const double    before     = unilateral->residual[0]; // its rate without this substep's
                                                              // forces
        const bool hit =
            unilateral->restitution > 0 && unilateral->gap > resolution && end < 0 && before < 0;
        unilateral->rule = grip ? TNI_UNILATERAL_GRIPS : TNI_UNILATERAL_PUSHES;
        unilateral->target[0] =
            hit ? -unilateral->rate[0] - unilateral->restitution * before : -end;
        report->impact_count += hit;
        for (int k = 1; k < unilateral->row_count; ++k)
            unilateral->target[k] = -unilateral->rate[k];
        for (int k = 0; k < unilateral->row_count; ++k)
            unilateral->force[k] *= dt; // a first guess of the impulse
    }
}

static tn_result take_impulses(tn_stepper* s, double dt, tn_step_report* report, tn_why* why)
{
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST) return integrate(s, dt, report, why);
    const int               n  = s->model->u_count;
    tni_unilaterals*        a  = tni_stops_of(s);
    const tni_configuration at = tni_configuration_of(&s->now);
    for (int i = 0; i < a->unilateral_count; ++i) a->unilaterals[i].rule = TNI_UNILATERAL_OPEN;
    s->system->auxiliary.keep_forces = true;
    tn_result result                 = tni_system_accelerate(s->system, &at, 0, why);
    s->system->auxiliary.keep_forces = false;
    if (result != TN_OK) return result;
    for (int i = 0; i < n; ++i) s->next.u[i] = s->now.u[i] + dt * s->system->answer[i];
    const tni_configuration free = {s->now.time, s->now.q, s->next.u, s->now.z};
    tni_system_evaluate(s->system, &free);
    const double reach = reach_within(s, dt);
    if (!find_within(s, reach)) return tni_fail_full(why);
    tni_system_evaluate(s->system, &at);
    for (int i = 0; i < a->unilateral_count; ++i)
        a->unilaterals[i].residual[0] = a->unilaterals[i].rate[0];
    tni_system_evaluate(s->system, &free);
    tni_unilaterals_evaluate(a, s->system->views, s->now.z, true);
    set_step_targets(s, dt, report);
    TRY(solve_velocities(s, report, why));
    for (int i = 0; i < n; ++i) {
        s->next.u[i] += s->system->answer[i];
        s->stage_d[i] = dt * s->next.u[i];
    }
    for (int i = 0; i < a->unilateral_count; ++i) { // solved for as impulses; users read forces
        for (int k = 0; k < a->unilaterals[i].row_count; ++k) a->unilaterals[i].force[k] /= dt;
    }
    tni_advance(s->model, s->now.q, s->stage_d, s->next.q);
    s->next.time = tni_time_after(s->now.time, dt);
    return TN_OK;
}

// Longest substep with impulses in place of a better integrator: rotations of a quarter radian, and
// at most what the adaptive one would take.
static double impulse_substep(const tn_stepper* s, double wish, double h)
{
    double turn = 0;
    for (int i = 0; i < s->model->body_count; ++i)
        turn = fmax(turn, tni_norm(s->system->views[i].w));
    const double longest = wish >= 1e-9 * h ? wish : h;
    return turn * longest > 0.25 ? 0.25 / turn : longest;
}

// ---- Projection ---------------------------------------------------------------------------------

void tni_hold_positions(tni_unilaterals* a)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        const bool      held       = unilateral->force[0] > 0 && unilateral->gap < tni_contact_gap;
        unilateral->rule           = held ? TNI_UNILATERAL_HELD : TNI_UNILATERAL_PUSHES;
    }
}

// Those that only came near may separate or approach.
void tni_hold_velocities(tni_unilaterals* a)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        if (unilateral->rule != TNI_UNILATERAL_HELD && !(unilateral->gap <= resolution))
            unilateral->rule = TNI_UNILATERAL_OPEN;
        else if (unilateral->rule == TNI_UNILATERAL_HELD && unilateral->friction > 0 &&
                 tni_unilateral_slip(unilateral) <= 4 * resolution)
            unilateral->rule = TNI_UNILATERAL_STUCK;
    }
}

void tni_report_unilaterals(const tn_stepper* s, tn_step_report* report)
{
    tni_unilaterals* a    = &s->system->unilaterals;
    report->contact_count = 0;
    report->deepest       = tni_unilaterals_penetration(a, s->system->views, s->now.z);
    for (int i = 0; i < a->unilateral_count; ++i)
        report->contact_count +=
            a->unilaterals[i].limit < 0 && a->unilaterals[i].gap <= tni_contact_gap;
}

// ---- The step -----------------------------------------------------------------------------------

tn_result tni_event_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const bool euler = s->settings.multiplier.integrator == TN_INTEGRATOR_EULER &&
                       s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND;
    const double end  = tni_time_after(s->now.time, h);
    double       left = h, wish = h;
    bool         coarse = euler;
    int          slides = 0;
    s->hit_count        = 0;
    for (int substep = 0; substep < SUBSTEPS_MAX; ++substep) {
        TRY(find_and_strike(s, report, why));
        tn_result result = TN_OK;
        double    dt     = fmin(left, wish);
        coarse = coarse || report->multiplier.event_count >= EVENTS_MAX || slides >= SLIDES_MAX ||
                 !(wish >= 1e-9 * h);
        if (!coarse) {
            result = take_substep(s, &dt, &wish, &coarse, report, why);
            slides += !coarse && ends_a_slide(s);
        }
        const bool jammed = result != TN_OK && is_jammed(s);
        if (result != TN_OK && !jammed) return result;
        if (dt == 0) continue;
        report->jam_count += jammed;
        if (jammed) coarse = true;
        if (coarse) {
            dt     = euler ? left : fmin(left, impulse_substep(s, wish, h));
            result = take_impulses(s, dt, report, why);
            ++report->multiplier.coarse_count;
        }
        const bool last = left - dt <= 1e-12 * h;
        if (last) s->next.time = end;
        if (result == TN_OK) result = tni_project_and_measure(s, !coarse, report, why);
        if (result != TN_OK || last) return result;
        coarse = euler;
        left -= dt;
        tni_accept_substep(s);
    }
    return tni_fail(why, TN_ERR_DIVERGED, "at time %g s no substep meets the error tolerance %g",
                    s->now.time, s->settings.multiplier.error_tolerance);
}
