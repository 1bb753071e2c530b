// event_detection: steps of a mechanism that may run into stops: hard limits, ropes, contacts.
//
// A step is cut into pieces at its events. Within a piece the set of stops that are reached is
// fixed and accelerations obey them: a_n >= 0, f_n >= 0, a_n f_n = 0, with friction in the cone
// where the point rests (it grips) and of full size against the slip where it slides. These are
// smooth but for kinks, so the integrator keeps its order. A piece ends when
//     a stop is reached that was not: its gap is zero, and the blow is an impulse;
//     a slide comes to rest: its slip is zero, and from now on it may grip.
// Both are found by the sign of a function of the piece's length, and met to 1e-9 by regula falsi
// on integrations from the piece's start. Lifting off and breaking away need no search: forces go
// through them without a jump.
//
// Blows. Rows that approach get w_n >= -e w_n^-, p_n >= 0, with friction impulses in the cone; those
// that touch and do not approach are left out and get their turn when the blow arrives at them: so
// a row of balls passes it on (Newton's cradle). Where nothing bounces (e = 0) all take part at
// once. A stop that is hit for the third time within one step no longer bounces: what would be an
// endless row of ever smaller bounces comes to rest.
//
// Friction at the level of accelerations may leave no solution (Painleve 1895), and events may come
// too thick. Then a piece is taken with impulses over its whole length (Moreau), which exist always:
// u = u_free + response to p, w_n + gap / dt >= 0, cone on w_t. It is of first order, and counted in
// the report. Semi-implicit Euler steps are all taken so.
#include "step/stepper.h"

static const double touch = 1e-9; // a gap [m or rad] or speed [m/s or rad/s] that is none

enum {
    EVENTS_MAX  = 200,  // in a step; then impulses
    SLIDES_MAX  = 8,    // of them slides that end
    CROWD       = 12,   // stops that rub: more are left to impulses when one is slow
    BOUNCES_MAX = 2,    // of a stop in a step; then it lies
    SEARCH_MAX  = 60,   // integrations for one event
    PIECES_MAX  = 10000 // in a step, refused ones among them
};

// ---- Stops at a place ----------------------------------------------------------------------------

static tn_result fail_full(tn_why* why)
{
    return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
}

static tni_auxiliary* stops_of(tn_stepper* s)
{
    return &s->system->auxiliary;
}

static void look(tn_stepper* s, const tni_configuration_buffer* place)
{
    const tni_configuration at = {place->time, place->q, place->u, s->now.z};
    tni_system_look(s->system, &at);
}

// What a stop that is reached does, by its rates. Where f = m v rates say nothing, and nothing rubs.
static void choose_rule(tni_unilateral* stop, bool second)
{
    const double slip = tni_unilateral_slip(stop);
    stop->rule        = TNI_UNILATERAL_PUSHES;
    if (second && stop->rate[0] > touch) {
        stop->rule = TNI_UNILATERAL_OPEN;
    } else if (second && stop->friction > 0 && stop->row_count > 1) {
        stop->rule = slip > touch ? TNI_UNILATERAL_SLIDES : TNI_UNILATERAL_GRIPS;
        stop->slip = tni_vec3(0, 0, 0);
        for (int i = 1; i <= stop->slip_count && slip > touch; ++i)
            stop->slip = tni_add_scaled(stop->slip, stop->rate[i] / slip, stop->across[i - 1]);
    }
}

static void choose_rules(tn_stepper* s)
{
    tni_auxiliary* a      = stops_of(s);
    const bool     second = s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND;
    for (int i = 0; i < a->stop_count; ++i) {
        choose_rule(&a->stops[i], second);
        a->stops[i].steady = false;
    }
    a->ready = false;
}

// Finds what is reached at the place last looked at. False: no room.
static bool find_within(tn_stepper* s, double reach)
{
    tni_auxiliary* a     = stops_of(s);
    const double   start = tni_auxiliary_now(a);
    const bool     room  = tni_stops_find(a, s->system->views, s->now.z, reach);
    s->system->phases.collide += tni_auxiliary_now(a) - start;
    return room;
}

tn_result tni_find_stops(tn_stepper* s, tn_why* why)
{
    look(s, &s->now);
    if (!find_within(s, touch)) return fail_full(why);
    choose_rules(s);
    return TN_OK;
}

// ---- Blows ---------------------------------------------------------------------------------------

// Whether a stop that is hit bounces, and counts the hit.
static bool may_bounce(tn_stepper* s, const tni_unilateral* stop)
{
    for (int i = 0; i < s->bounce_count; ++i) {
        if (s->bounces[i].id == stop->id) return ++s->bounces[i].count <= BOUNCES_MAX;
    }
    if (s->bounce_count == TNI_BOUNCES_MAX) return false;
    s->bounces[s->bounce_count++] = (tni_bounce){stop->id, 1};
    return true;
}

// What each stop asks of a blow. last: nothing bounces, all take part. Returns how many are hit;
// *bounces: whether any of them does.
static int ask_for_blow(tn_stepper* s, bool last, bool* bounces)
{
    tni_auxiliary* a    = stops_of(s);
    int            hits = 0;
    bool           any  = false;
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop = &a->stops[i];
        const bool      hit  = stop->rate[0] < -touch && !stop->away;
        const double    e =
            hit && !last && stop->restitution > 0 && may_bounce(s, stop) ? stop->restitution : 0;
        const bool grips = stop->friction > 0 && stop->row_count > 1;
        stop->rule       = !hit    ? TNI_UNILATERAL_OPEN
                           : grips ? TNI_UNILATERAL_GRIPS
                                   : TNI_UNILATERAL_PUSHES;
        stop->want[0]    = -(1 + e) * stop->rate[0];
        for (int k = 1; k < stop->row_count; ++k) stop->want[k] = -stop->rate[k];
        hits += hit;
        any = any || e > 0;
    }
    for (int i = 0; i < a->stop_count && !any && hits > 0; ++i) {
        tni_unilateral* stop = &a->stops[i];
        if (stop->rule == TNI_UNILATERAL_OPEN && stop->rate[0] <= touch && !stop->away)
            stop->rule = stop->friction > 0 && stop->row_count > 1 ? TNI_UNILATERAL_GRIPS
                                                                   : TNI_UNILATERAL_PUSHES;
    }
    a->ready = false;
    *bounces = any;
    return hits;
}

static void forget_friction(tni_auxiliary* a)
{
    for (int i = 0; i < a->stop_count; ++i) {
        if (a->stops[i].rule == TNI_UNILATERAL_GRIPS) a->stops[i].rule = TNI_UNILATERAL_PUSHES;
    }
    a->ready = false;
}

// The velocities that the joints and the stops leave of those at the place last looked at, b and
// all: du in system->answer.
static tn_result solve_velocities(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    double* r = s->system->gamma;
    for (int i = 0; i < s->model->row_count; ++i) r[i] = -s->system->rate[i];
    tn_result result = tni_system_solve(s->system, NULL, r, true, why);
    if (result == TN_ERR_DIVERGED) { // rather no friction than no answer
        ++report->jam_count;
        forget_friction(stops_of(s));
        for (int i = 0; i < s->model->row_count; ++i) r[i] = -s->system->rate[i];
        result = tni_system_solve(s->system, NULL, r, true, why);
    }
    if (result == TN_OK) tni_system_note(s->system, report);
    return result;
}

// Changes s->now.u until nothing approaches any more.
tn_result tni_pass_blows_on(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    tni_auxiliary* a    = stops_of(s);
    const int      most = 8 + 4 * a->stop_count, jams = report->jam_count;
    int            still = 0;
    for (int pass = 0; pass <= most + 1; ++pass) {
        bool      bounces;
        const int hits = ask_for_blow(s, pass >= most, &bounces);
        if (hits == 0 || still == 2)
            break; // all took part twice: what is left, the joints drive on
        still += !bounces;
        report->impact_count += hits;
        if (report->jam_count > jams) forget_friction(a); // one jam is dear enough
        if (pass == 0) {
            const tni_configuration at     = tni_configuration_of(&s->now);
            const tn_result         result = tni_system_factor(s->system, &at, why);
            if (result != TN_OK) return result;
        }
        const tn_result result = solve_velocities(s, report, why);
        if (result != TN_OK) return result;
        for (int i = 0; i < s->model->u_count; ++i) s->now.u[i] += s->system->answer[i];
        look(s, &s->now);
    }
    return TN_OK;
}

// Stops that are reached at s->now, after the blows there, with their rules for what comes.
static tn_result meet(tn_stepper* s, tn_step_report* report, tn_why* why)
{
    tn_result result = tni_find_stops(s, why);
    if (result != TN_OK) return result;
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND && stops_of(s)->stop_count > 0) {
        result = tni_pass_blows_on(s, report, why);
        if (result != TN_OK) return result;
        choose_rules(s);
    }
    return TN_OK;
}

// ---- Crowds --------------------------------------------------------------------------------------

// Stops with friction. Many together come to rest and break away in an order that means little:
// where more than CROWD rub, a slide that is slow or ends is left to impulses.
static int rubbing(tn_stepper* s)
{
    const tni_auxiliary* a     = stops_of(s);
    int                  count = 0;
    for (int i = 0; i < a->stop_count; ++i) count += a->stops[i].friction > 0;
    return count;
}

// Whether the last piece ended with a slide.
static bool ends_a_slide(tn_stepper* s)
{
    const tni_auxiliary* a   = stops_of(s);
    bool                 any = false;
    for (int i = 0; i < a->watched_count; ++i)
        any = any || a->watched[i].rule == TNI_UNILATERAL_SLIDES;
    return any;
}

// ---- Slow slides ---------------------------------------------------------------------------------

// Friction turns with the slip: across it, it damps with the rate mu f_n W / |slip|, and no explicit
// integrator stands that for long as the slip is small. Such a slide gets one direction for the
// whole piece: that of its slip at the piece's end, found implicitly (a point that grips, of which
// is asked not that it does not accelerate but that it does not slip at the end). If it would come
// to rest or turn back, it keeps the direction it has until the event that is its end.
// push: the normal force it may get to bear.
static void steady(tni_unilateral* stop, double dt, double push)
{
    double slip = 0, along = 0, length = 0, weight = 0, end[3] = {0};
    for (int i = 1; i <= stop->slip_count; ++i) {
        end[i] = dt * stop->left[i];
        slip += stop->rate[i] * stop->rate[i];
        along += end[i] * stop->rate[i];
        length += end[i] * end[i];
        weight = fmax(weight, stop->weight[i]);
    }
    slip         = sqrt(slip);
    length       = sqrt(length);
    stop->rule   = TNI_UNILATERAL_SLIDES;
    stop->steady = stop->friction * push * weight * dt > slip;
    if (!stop->steady || !(along > 0) || !(length > fmax(touch, 1e-3 * slip))) return;
    stop->slip = tni_vec3(0, 0, 0);
    for (int i = 1; i <= stop->slip_count; ++i)
        stop->slip = tni_add_scaled(stop->slip, end[i] / length, stop->across[i - 1]);
}

// The largest normal force of a stop of the same two things: they may shift it among them.
static double push_of(const tni_auxiliary* a, const tni_unilateral* stop)
{
    double most = 0;
    for (int i = 0; i < a->stop_count; ++i) {
        const tni_unilateral* other = &a->stops[i];
        if (other->limit < 0 && other->touch.body1 == stop->touch.body1 &&
            other->touch.body2 == stop->touch.body2)
            most = fmax(most, other->force[0]);
    }
    return most;
}

// Slides that may be slow, by the forces at s->now. -1: the evaluation failed.
static int count_slow(tn_stepper* s, double dt, tn_result* result, tn_why* why)
{
    tni_auxiliary*          a      = stops_of(s);
    const tni_configuration at     = tni_configuration_of(&s->now);
    int                     slides = 0, slow = 0;
    for (int i = 0; i < a->stop_count; ++i) slides += a->stops[i].rule == TNI_UNILATERAL_SLIDES;
    if (slides == 0) return 0;
    *result = tni_system_accelerate(s->system, &at, 0, why);
    for (int i = 0; *result == TN_OK && i < a->stop_count; ++i) {
        const tni_unilateral* stop = &a->stops[i];
        if (stop->rule != TNI_UNILATERAL_SLIDES) continue;
        double weight = 0;
        for (int k = 1; k <= stop->slip_count; ++k)
            weight = fmax(weight, tni_system_free_response(s->system, i, k));
        slow += stop->friction * push_of(a, stop) * weight * dt > tni_unilateral_slip(stop);
    }
    return *result == TN_OK ? slow : -1;
}

// *crowded: there is a slow one, among too many.
static tn_result steady_slides(tn_stepper* s, double dt, bool* crowded, tn_why* why)
{
    tni_auxiliary*          a      = stops_of(s);
    const tni_configuration at     = tni_configuration_of(&s->now);
    tn_result               result = TN_OK;
    const int               slow   = count_slow(s, dt, &result, why);
    *crowded                       = slow > 0 && rubbing(s) > CROWD;
    if (slow <= 0 || *crowded) return result;
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop = &a->stops[i];
        stop->steady         = stop->rule == TNI_UNILATERAL_SLIDES;
        for (int k = 1; k < 3; ++k) stop->lead[k] = stop->steady ? stop->rate[k] / dt : 0;
        if (stop->steady) stop->rule = TNI_UNILATERAL_GRIPS;
    }
    a->ready = false;
    result   = tni_system_accelerate(s->system, &at, 0, why);
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop = &a->stops[i];
        for (int k = 1; k < 3; ++k) stop->lead[k] = 0;
        if (stop->steady && result == TN_OK) steady(stop, dt, push_of(a, stop));
        else if (stop->steady) stop->rule = TNI_UNILATERAL_SLIDES, stop->steady = false;
    }
    a->ready = false;
    return result == TN_ERR_DIVERGED ? TN_OK : result;
}

// ---- Pieces --------------------------------------------------------------------------------------

static bool is_jammed(const tn_stepper* s)
{
    return s->system->auxiliary.report.jammed || s->start->auxiliary.report.jammed;
}

// Integrates a piece that is known to be short enough for the integrator.
static tn_result integrate(tn_stepper* s, double dt, tn_step_report* report, tn_why* why)
{
    double          wish;
    bool            accepted;
    const tn_result result = tni_integrate(s, dt, &wish, &accepted, report, why);
    if (result == TN_OK) look(s, &s->next);
    return result;
}

// s->next lies beyond an event: finds the piece that ends with it. *dt is its length.
static tn_result find_event(tn_stepper* s, double* dt, tn_step_report* report, tn_why* why)
{
    const tni_auxiliary* a  = stops_of(s);
    double               lo = 0, hi = *dt, below = 0;
    double               above = tni_stops_watched(a, s->system->views, s->now.z);
    for (int i = 0; i < SEARCH_MAX; ++i) {
        // Regula falsi with its stale end halved; in the middle as long as the start is no help.
        double t = below > touch ? lo + (hi - lo) * below / (below - above) : 0.5 * (lo + hi);
        if (!(t > lo && t < hi) || i % 4 == 3) t = 0.5 * (lo + hi);
        const tn_result result = integrate(s, t, report, why);
        if (result != TN_OK) return result;
        const double g = tni_stops_watched(a, s->system->views, s->now.z);
        *dt            = t;
        if (fabs(g) <= touch || hi - lo <= 1e-15 * (fabs(s->now.time) + hi)) break;
        if (g > 0) {
            if (below > 0 && i > 0) above *= 0.5;
            lo    = t;
            below = g;
        } else {
            if (below > touch) below *= 0.5;
            hi    = t;
            above = g;
        }
    }
    ++report->multiplier.event_count;
    return TN_OK;
}

// From s->now to the next event, or for the wish; *dt is what was taken, 0: too long for the error.
static tn_result take_piece(tn_stepper* s, double* dt, double* wish, bool* crowded,
                            tn_step_report* report, tn_why* why)
{
    bool      accepted;
    tn_result result = steady_slides(s, *dt, crowded, why);
    if (result != TN_OK || *crowded) return result;
    result = tni_integrate(s, *dt, wish, &accepted, report, why);
    if (result != TN_OK) return result;
    if (!accepted) {
        *dt = 0;
        return TN_OK;
    }
    look(s, &s->next);
    tni_auxiliary* a     = stops_of(s);
    const double   start = tni_auxiliary_now(a);
    const bool     room  = tni_stops_watch(a, s->system->views, s->now.z, touch);
    s->system->phases.collide += tni_auxiliary_now(a) - start;
    if (!room) return fail_full(why);
    *crowded = ends_a_slide(s) && rubbing(s) > CROWD;
    return a->watched_count > 0 && !*crowded ? find_event(s, dt, report, why) : TN_OK;
}

// ---- Impulses over a piece -----------------------------------------------------------------------

// How far shapes may come in a time, roughly and from above.
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
    return touch + 2 * dt * (speed + turn * (1 + size));
}

// w_n + gap / dt >= 0: it may come just as near as it touches. What would hit and bounce does so at
// once, from where it is, with e of the speed it comes with: not of what this step's forces add, or
// nothing would ever lie still.
static void ask_for_step(tn_stepper* s, double dt, tn_step_report* report)
{
    tni_auxiliary* a = stops_of(s);
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop   = &a->stops[i];
        const double    end    = stop->rate[0] + fmax(stop->gap, 0) / dt;
        const bool      grip   = stop->friction > 0 && stop->row_count > 1;
        const double    before = stop->left[0]; // its rate without this step's forces
        const bool      hit = stop->restitution > 0 && stop->gap > touch && end < 0 && before < 0;
        stop->rule          = grip ? TNI_UNILATERAL_GRIPS : TNI_UNILATERAL_PUSHES;
        stop->want[0]       = hit ? -stop->rate[0] - stop->restitution * before : -end;
        report->impact_count += hit;
        for (int k = 1; k < stop->row_count; ++k) stop->want[k] = -stop->rate[k];
        for (int k = 0; k < stop->row_count; ++k) stop->force[k] *= dt; // a guess at the impulse
    }
    a->ready = false;
}

static tn_result take_impulses(tn_stepper* s, double dt, tn_step_report* report, tn_why* why)
{
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST) return integrate(s, dt, report, why);
    const int               n  = s->model->u_count;
    tni_auxiliary*          a  = stops_of(s);
    const tni_configuration at = tni_configuration_of(&s->now);
    for (int i = 0; i < a->stop_count; ++i) a->stops[i].rule = TNI_UNILATERAL_OPEN;
    a->ready         = false;
    a->quiet         = true;
    tn_result result = tni_system_accelerate(s->system, &at, 0, why);
    a->quiet         = false;
    if (result != TN_OK) return result;
    for (int i = 0; i < n; ++i) s->next.u[i] = s->now.u[i] + dt * s->system->answer[i];
    const tni_configuration free = {s->now.time, s->now.q, s->next.u, s->now.z};
    tni_system_look(s->system, &free);
    const double reach = reach_within(s, dt);
    if (!find_within(s, reach)) return fail_full(why);
    tni_system_look(s->system, &at);
    for (int i = 0; i < a->stop_count; ++i) a->stops[i].left[0] = a->stops[i].rate[0];
    tni_system_look(s->system, &free);
    tni_stops_look(a, s->system->views, s->now.z, true);
    ask_for_step(s, dt, report);
    result = solve_velocities(s, report, why);
    if (result != TN_OK) return result;
    for (int i = 0; i < n; ++i) {
        s->next.u[i] += s->system->answer[i];
        s->stage_d[i] = dt * s->next.u[i];
    }
    for (int i = 0; i < a->stop_count; ++i) { // impulses were solved for; people ask for forces
        for (int k = 0; k < a->stops[i].row_count; ++k) a->stops[i].force[k] /= dt;
    }
    tni_advance(s->model, s->now.q, s->stage_d, s->next.q);
    s->next.time = tni_time_after(s->now.time, dt);
    return TN_OK;
}

// How long a piece may be that is taken with impulses in place of a better integrator: turns of a
// quarter radian, and what the adaptive one would take.
static double impulse_piece(const tn_stepper* s, double wish, double h)
{
    double turn = 0;
    for (int i = 0; i < s->model->body_count; ++i)
        turn = fmax(turn, tni_norm(s->system->views[i].w));
    const double longest = wish >= 1e-9 * h ? wish : h;
    return turn * longest > 0.25 ? 0.25 / turn : longest;
}

// ---- Projection ----------------------------------------------------------------------------------

void tni_hold_positions(tni_auxiliary* a)
{
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop = &a->stops[i];
        const bool      held = stop->force[0] > 0 && stop->gap < tni_contact_gap;
        stop->rule           = held ? TNI_UNILATERAL_HELD : TNI_UNILATERAL_PUSHES;
    }
    a->ready = false;
}

// What only came near may go on.
void tni_hold_velocities(tni_auxiliary* a)
{
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral* stop = &a->stops[i];
        if (stop->rule != TNI_UNILATERAL_HELD && !(stop->gap <= touch))
            stop->rule = TNI_UNILATERAL_OPEN;
        else if (stop->rule == TNI_UNILATERAL_HELD && stop->friction > 0 &&
                 tni_unilateral_slip(stop) <= 4 * touch)
            stop->rule = TNI_UNILATERAL_STUCK;
    }
    a->ready = false;
}

void tni_note_stops(const tn_stepper* s, tn_step_report* report)
{
    tni_auxiliary* a      = &s->system->auxiliary;
    report->contact_count = 0;
    report->deepest       = tni_stops_deepest(a, s->system->views, s->now.z);
    for (int i = 0; i < a->stop_count; ++i)
        report->contact_count += a->stops[i].limit < 0 && a->stops[i].gap <= tni_contact_gap;
}

// ---- The step ------------------------------------------------------------------------------------

tn_result tni_eventful_step(tn_stepper* s, double h, tn_step_report* report, tn_why* why)
{
    const bool euler = s->settings.multiplier.integrator == TN_INTEGRATOR_EULER &&
                       s->settings.multiplier.dynamics == TN_DYNAMICS_SECOND;
    const double end  = tni_time_after(s->now.time, h);
    double       left = h, wish = h;
    bool         coarse = euler;
    int          slides = 0;
    s->bounce_count     = 0;
    for (int piece = 0; piece < PIECES_MAX; ++piece) {
        tn_result result = meet(s, report, why);
        if (result != TN_OK) return result;
        double dt = fmin(left, wish);
        coarse = coarse || report->multiplier.event_count >= EVENTS_MAX || slides >= SLIDES_MAX ||
                 !(wish >= 1e-9 * h);
        if (!coarse) {
            result = take_piece(s, &dt, &wish, &coarse, report, why);
            slides += !coarse && ends_a_slide(s);
        }
        const bool jammed = result != TN_OK && is_jammed(s);
        if (result != TN_OK && !jammed) return result;
        if (dt == 0) continue;
        report->jam_count += jammed;
        if (jammed) coarse = true;
        if (coarse) {
            dt     = euler ? left : fmin(left, impulse_piece(s, wish, h));
            result = take_impulses(s, dt, report, why);
            ++report->multiplier.coarse_count;
        }
        const bool last = left - dt <= 1e-12 * h;
        if (last) s->next.time = end;
        if (result == TN_OK) result = tni_settle(s, !coarse, report, why);
        if (result != TN_OK || last) return result;
        coarse = euler;
        left -= dt;
        tni_go_on(s);
    }
    return tni_fail(why, TN_ERR_DIVERGED, "at time %g no step meets the error tolerance %g",
                    s->now.time, s->settings.multiplier.error_tolerance);
}
