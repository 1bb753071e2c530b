#include "step/stepper.h"

#include "model/settings.h"
#include "system/mobility.h"

void tni_copy_numbers(double* to, const double* from, int count)
{
    memcpy(to, from, sizeof *to * (size_t)count);
}

double tni_time_after(double time, double h)
{
    const double k = floor(time / h + 0.5);
    return fabs(time - k * h) <= 1e-9 * h ? (k + 1) * h : time + h;
}

static void take_configuration(tn_stepper* s, tni_configuration_buffer* configuration)
{
    configuration->q = TNI_TAKE(&s->arena, double, s->model->q_count);
    configuration->u = TNI_TAKE(&s->arena, double, s->model->u_count);
    configuration->z = TNI_TAKE(&s->arena, double, s->model->coordinate_count);
}

static int stages_of(const tn_stepper* s)
{
    if (s->settings.method != TN_METHOD_MULTIPLIER) return 0;
    return s->settings.multiplier.integrator == TN_INTEGRATOR_ADAPTIVE ? 7 : 4;
}

static tn_result take_all(tn_stepper* s, tni_impulse_variant variant, tn_why* why)
{
    const tn_model* model = s->model;
    take_configuration(s, &s->now);
    take_configuration(s, &s->next);
    take_configuration(s, &s->stage);
    s->stage_d       = TNI_TAKE(&s->arena, double, model->u_count);
    s->scratch       = TNI_TAKE(&s->arena, double, model->u_count);
    s->scratch2      = TNI_TAKE(&s->arena, double, model->u_count);
    const int stages = stages_of(s);
    for (int i = 0; i < stages; ++i) {
        s->k_d[i] = TNI_TAKE(&s->arena, double, model->u_count);
        s->k_u[i] = TNI_TAKE(&s->arena, double, model->u_count);
    }
    s->multipliers      = TNI_TAKE(&s->arena, double, model->row_count);
    s->rates            = TNI_TAKE(&s->arena, double, model->u_count);
    s->reactions        = TNI_TAKE(&s->arena, tn_wrench, model->named_count);
    s->accelerations    = TNI_TAKE(&s->arena, tn_twist, model->body_count);
    s->redundant        = TNI_TAKE(&s->arena, tn_row_name, model->row_count);
    const bool implicit = s->settings.method == TN_METHOD_IMPULSE &&
                          s->settings.impulse.springs == TN_SPRINGS_IMPLICIT;
    s->has_unilaterals = tni_has_unilaterals(model) || implicit;
    s->hits            = TNI_TAKE(&s->arena, tni_hit_count, s->has_unilaterals ? TNI_HITS_MAX : 0);
    if (s->arena.failed) return TN_ERR_MEMORY;
    const bool               impulse = s->settings.method == TN_METHOD_IMPULSE;
    const tn_loops           loops   = impulse ? TN_LOOPS_CORE : s->settings.multiplier.loops;
    const tni_impulse_matrix matrix  = {&s->settings.impulse, variant};
    TRY(tni_system_create(&s->arena, model, loops, impulse ? &matrix : NULL, &s->system));
    s->start = s->system;
    if (impulse) {
        TRY(tni_sleep_create(s));
        return tni_impulse_create(s);
    }
    if (s->settings.method == TN_METHOD_IMPLICIT) return tni_implicit_create(s, why);
    if (s->settings.method == TN_METHOD_ADAPTIVE) return tni_adaptive_method_create(s, why);
    const bool apart =
        tni_system_has_loops(s->system) || (s->has_unilaterals && model->row_count > 0);
    if (!apart) return TN_OK;
    return tni_system_create(&s->arena, model, loops, NULL, &s->start);
}

tn_result tni_stepper_create_variant(const tn_model* model, const tn_settings* settings,
                                     tni_impulse_variant variant, tn_stepper** out, tn_why* why)
{
    *out = NULL;
    if (settings == NULL) settings = &model->settings;
    *out = NULL;
    if (tni_settings_made(settings, why) != TN_OK) return TN_ERR_MODEL;
    const tn_method asked = settings->method;
    tn_settings     automatic;
    if (asked == TN_METHOD_AUTO) {
        automatic        = *settings;
        automatic.method = TN_METHOD_IMPULSE;
        if (model->core.auxiliary_rows == 0) automatic.impulse.springs = TN_SPRINGS_IMPLICIT;
        settings = &automatic;
    }
    const tn_method method = settings->method;
    TRY(tni_is_possible(model, settings, asked == TN_METHOD_AUTO, why));
    tn_result   result = TN_ERR_MEMORY;
    tni_arena   arena  = tni_arena_make(&model->arena.host);
    tn_stepper* s      = TNI_TAKE(&arena, tn_stepper, 1);
    if (s != NULL) {
        *s                 = (tn_stepper){.arena = arena, .model = model, .settings = *settings};
        s->automatic       = asked == TN_METHOD_AUTO;
        s->redundant_count = -1;
        result             = take_all(s, variant, why);
        if (result == TN_OK) {
            *out = s;
            return TN_OK;
        }
    }
    tn_stepper_free(s);
    if ((result == TN_ERR_UNSUPPORTED || result == TN_ERR_MODEL) &&
        (method == TN_METHOD_IMPLICIT || method == TN_METHOD_ADAPTIVE))
        return result; // why is filled in already
    if (result == TN_ERR_UNSUPPORTED)
        return tni_fail(why, result,
                        "CHOLMOD serves spd and split only, and only if "
                        "built in (TENON_CHOLMOD)");
    return tni_fail(why, TN_ERR_MEMORY, "out of memory for a stepper of '%s'", model->name);
}

tn_result tn_stepper_create(const tn_model* model, const tn_settings* settings, tn_stepper** out,
                            tn_why* why)
{
    return tni_stepper_create_variant(model, settings, (tni_impulse_variant){0}, out, why);
}

void tn_stepper_free(tn_stepper* stepper)
{
    if (stepper == NULL) return;
    if (stepper->start != stepper->system) tni_system_free(stepper->start);
    tni_implicit_system_free(stepper->implicit.implicit_system);
    tni_adaptive_free(stepper->adaptive);
    tni_system_free(stepper->system);
    tni_arena arena = stepper->arena; // the stepper lies in its own arena
    tni_arena_free(&arena);
}

tn_result tn_stepper_solver(const tn_stepper* stepper, tn_solver* solver)
{
    if (stepper->implicit.implicit_system != NULL)
        return tni_implicit_system_solver(stepper->implicit.implicit_system, solver);
    const tn_result result = tni_system_solver(stepper->system, solver);
    solver->springs        = stepper->settings.impulse.springs;
    return result;
}

tn_method tn_stepper_method(const tn_stepper* stepper)
{
    return stepper->settings.method;
}

const tn_model* tn_stepper_model(const tn_stepper* stepper)
{
    return stepper->model;
}

size_t tn_stepper_bytes(const tn_stepper* stepper)
{
    const size_t start = stepper->start != stepper->system ? tni_system_bytes(stepper->start) : 0;
    const size_t stiff = stepper->implicit.implicit_system != NULL
                             ? tni_implicit_system_bytes(stepper->implicit.implicit_system)
                             : 0;
    const size_t contacts = stepper->adaptive != NULL && stepper->adaptive->contacts != NULL
                                ? stepper->adaptive->contacts->arena.bytes
                                : 0;
    return stepper->arena.bytes + tni_system_bytes(stepper->system) + start + stiff + contacts;
}

void tn_stepper_set_clock(tn_stepper* stepper, double (*clock)(void* user), void* user)
{
    stepper->system->clock = stepper->start->clock = clock;
    stepper->system->clock_user = stepper->start->clock_user = user;
    stepper->system->auxiliary.clock = stepper->start->auxiliary.clock = clock;
    stepper->system->auxiliary.clock_user = stepper->start->auxiliary.clock_user = user;
}

// ---- Capacity for contacts: grows between steps, or before a step is repeated -------------------

static tn_result grow(tn_stepper* s, tn_why* why)
{
    if (s->implicit.implicit_system != NULL &&
        tni_implicit_system_is_full(s->implicit.implicit_system)) {
        const tn_result grown = tni_implicit_system_grow(s->implicit.implicit_system);
        return grown == TN_OK ? TN_OK : tni_fail(why, grown, "out of memory for contacts");
    }
    if (s->adaptive != NULL && s->adaptive->contacts != NULL && s->adaptive->contacts->full) {
        const tn_result grown = tni_link_contacts_grow(s->adaptive->contacts);
        return grown == TN_OK ? TN_OK : tni_fail(why, grown, "out of memory for contacts");
    }
    tn_result result = tni_auxiliary_grow(&s->system->auxiliary, &s->system->unilaterals);
    if (result == TN_OK && s->start != s->system)
        result = tni_auxiliary_grow(&s->start->auxiliary, &s->start->unilaterals);
    return result == TN_OK ? TN_OK : tni_fail(why, result, "out of memory for contacts");
}

static bool is_full(const tn_stepper* s)
{
    return tni_system_is_full(s->system) || tni_system_is_full(s->start) ||
           (s->implicit.implicit_system != NULL &&
            tni_implicit_system_is_full(s->implicit.implicit_system)) ||
           (s->adaptive != NULL && s->adaptive->contacts != NULL && s->adaptive->contacts->full);
}

// ---- Between the state and the workspace --------------------------------------------------------

static void clear_report(const tn_stepper* s, tn_step_report* report)
{
    *report = (tn_step_report){.rank_margin = 1, .redundant_count = s->redundant_count};
}

static bool same(const double* a, const double* b, int count)
{
    return memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

// Whether the system is still factored where the last step left it, and this is that state.
static bool is_factored(const tn_stepper* s, const tn_state* state)
{
    return s->next_factored && state->time == s->next.time &&
           same(state->q, s->next.q, s->model->q_count) &&
           same(state->u, s->next.u, s->model->u_count) &&
           same(state->z, s->next.z, s->model->coordinate_count);
}

static bool two_steps(const tn_stepper* s)
{
    return s->settings.implicit.integrator == TN_IMPLICIT_BDF2;
}

// two: also copies what two-step differences need.
static void copy_history(const tn_model* model, bool two, tni_step_history* to,
                         const tni_step_history* from)
{
    to->h      = from->h;
    to->two    = two && from->two;
    to->struck = two && from->struck;
    if (!(from->h > 0)) return;
    tni_copy_numbers(to->multipliers, from->multipliers, model->row_count + model->limit_count);
    if (!to->two) return;
    tni_copy_numbers(to->mean, from->mean, model->u_count);
    tni_copy_numbers(to->momentum, from->momentum, model->u_count);
}

static void begin(tn_stepper* s, const tn_state* state, tn_step_report* report)
{
    TN_ASSERT(state->model == s->model);
    s->from            = state;
    s->angles_followed = false;
    s->now_factored    = is_factored(s, state);
    s->next_factored   = false;
    s->now.time        = state->time;
    tni_copy_numbers(s->now.q, state->q, s->model->q_count);
    tni_copy_numbers(s->now.u, state->u, s->model->u_count);
    tni_copy_numbers(s->now.z, state->z, s->model->coordinate_count);
    if (s->settings.method == TN_METHOD_IMPLICIT)
        copy_history(s->model, two_steps(s), &s->implicit.before, &state->history);
    if (s->settings.method == TN_METHOD_IMPULSE)
        tni_warm_start_copy(&s->impulse.warm_start, &state->warm_start);
    clear_report(s, report);
    s->system->inputs = s->start->inputs = &state->inputs;
    s->system->phases = s->start->phases = (tn_phases){0};
    s->system->cut                       = (tni_cut_damper){0};
    tni_unilaterals_clear(&s->system->unilaterals);
    tni_unilaterals_clear(&s->start->unilaterals);
    s->system->auxiliary.softens = s->system->auxiliary.binds = false; // until a kick says so
    s->system->auxiliary.report = s->start->auxiliary.report = (tni_auxiliary_report){.unit = -1};
    tni_sleep_begin(s, state);
}

static tn_phases phases_of(const tn_stepper* s)
{
    tn_phases        sum  = s->system->phases;
    const tn_phases* more = &s->start->phases;
    if (s->start == s->system) return sum;
    sum.kinematics += more->kinematics;
    sum.assemble += more->assemble;
    sum.factor += more->factor;
    sum.solve += more->solve;
    sum.columns += more->columns;
    sum.contact += more->contact;
    return sum;
}

void tni_copy_configuration(const tn_model* model, tni_configuration_buffer* to,
                            const tni_configuration_buffer* from)
{
    to->time = from->time;
    tni_copy_numbers(to->q, from->q, model->q_count);
    tni_copy_numbers(to->u, from->u, model->u_count);
    tni_copy_numbers(to->z, from->z, model->coordinate_count);
}

// The system's last evaluation was at s->next.
static tn_result commit(tn_stepper* s, tn_state* state, tn_why* why)
{
    if (!tni_all_finite(s->next.q, s->model->q_count) ||
        !tni_all_finite(s->next.u, s->model->u_count)) {
        return tni_fail(why, TN_ERR_DIVERGED,
                        "the motion is no longer finite: take a smaller step");
    }
    if (!s->angles_followed) tni_system_follow(s->system, s->next.z);
    s->angles_followed = false;
    tni_state_forget(state);
    state->time = s->next.time;
    tni_copy_numbers(state->q, s->next.q, s->model->q_count);
    tni_copy_numbers(state->u, s->next.u, s->model->u_count);
    tni_copy_numbers(state->z, s->next.z, s->model->coordinate_count);
    return TN_OK;
}

// What a call does with the prepared workspace.
typedef struct attempt {
    tn_result (*what)(tn_stepper* s, const struct attempt* how, tn_step_report* report,
                      tn_why* why);
    double           h;
    int              count; ///< number of steps
    int*             taken;
    const tn_wrench* impulses;
} attempt;

// Runs an attempt; repeats it from the state with more capacity for contacts as long as there was
// too little, or with woken islands.
static tn_result try_with_room(tn_stepper* s, const tn_state* state, const attempt* how,
                               tn_step_report* report, tn_why* why)
{
    begin(s, state, report);
    const bool tight  = tni_auxiliary_is_tight(&s->system->auxiliary, &s->system->unilaterals);
    tn_result  result = tight ? grow(s, why) : TN_OK;
    if (result == TN_OK) result = how->what(s, how, report, why);
    while ((result == TN_ERR_MEMORY && is_full(s)) || result == TNI_WOKEN) {
        result = result == TNI_WOKEN ? TN_OK : grow(s, why);
        if (result != TN_OK) break;
        begin(s, state, report);
        result = how->what(s, how, report, why);
    }
    if (result == TN_OK && why != NULL) *why = (tn_why){0}; // of failed tries
    report->phases = phases_of(s);
    return result;
}

static tn_result step(tn_stepper* s, const attempt* how, tn_step_report* report, tn_why* why)
{
    switch (s->settings.method) {
    case TN_METHOD_IMPULSE: return tni_impulse_step(s, how->h, report, why);
    case TN_METHOD_IMPLICIT: return tni_implicit_step(s, how->h, report, why);
    case TN_METHOD_ADAPTIVE:
        return tni_adaptive_run(s, how->h, how->count, how->taken, report, why);
    default: return tni_multiplier_step(s, how->h, report, why);
    }
}

// Stores what the method needs for the next step in the state.
static void store(const tn_stepper* s, tn_state* state)
{
    if (s->settings.method == TN_METHOD_IMPLICIT)
        copy_history(s->model, two_steps(s), &state->history, &s->implicit.after);
    if (s->settings.method == TN_METHOD_IMPULSE)
        tni_warm_start_copy(&state->warm_start, &s->impulse.warm_start);
    if (s->settings.method == TN_METHOD_ADAPTIVE) {
        tni_adaptive_store(s->adaptive, &state->reduced);
        if (s->adaptive->contacts != NULL)
            tni_link_contacts_store(s->adaptive->contacts, &state->warm_start);
    }
    if (s->sleep.on)
        tni_copy_numbers(state->rest_time, s->sleep.rest_time,
                         s->model->core.plan->component_count);
}

static tn_result take_steps(tn_stepper* s, tn_state* state, const attempt* how,
                            tn_step_report* report, tn_why* why)
{
    clear_report(s, report);
    tn_result result = try_with_room(s, state, how, report, why);
    tni_sleep_accept(s);
    if (result == TN_OK) result = commit(s, state, why);
    if (result != TN_OK) return result;
    store(s, state);
    tni_find_suspects(s, report);
    report->h_taken  = how->h * how->count;
    s->next_factored = s->now_factored;
    return TN_OK;
}

static tn_result check_h(double h, tn_why* why)
{
    if (h > 0 && isfinite(h)) return TN_OK;
    return tni_fail(why, TN_ERR_MODEL, "step %g: must be positive", h);
}

tn_result tn_stepper_step(tn_stepper* s, tn_state* state, double h, tn_step_report* report,
                          tn_why* why)
{
    tn_step_report own;
    int            taken = 0;
    const attempt  how   = {.what = step, .h = h, .count = 1, .taken = &taken};
    if (report == NULL) report = &own;
    clear_report(s, report);
    const tn_result result = check_h(h, why);
    return result == TN_OK ? take_steps(s, state, &how, report, why) : result;
}

// If one of many steps fails, they are repeated one by one, up to that one.
static tn_result run_adaptive(tn_stepper* s, tn_state* state, double h, int count,
                              tn_step_report* report, tn_why* why)
{
    int       taken  = 0;
    attempt   how    = {.what = step, .h = h, .count = count, .taken = &taken};
    tn_result result = take_steps(s, state, &how, report, why);
    if ((result != TN_ERR_DIVERGED && result != TN_ERR_SINGULAR) || count == 1) return result;
    tn_step_report sum       = *report, one;
    sum.adaptive.visit_count = sum.adaptive.choice_count = 0;
    sum.adaptive.kinetic_loss = sum.h_taken = 0;
    how.count                               = 1;
    for (int i = 0; i < count; ++i) {
        result = take_steps(s, state, &how, &one, why);
        if (result != TN_OK) break;
        one.adaptive.visit_count += sum.adaptive.visit_count;
        one.adaptive.choice_count += sum.adaptive.choice_count;
        one.adaptive.kinetic_loss += sum.adaptive.kinetic_loss;
        one.h_taken += sum.h_taken;
        sum = one;
    }
    *report = sum;
    return result;
}

tn_result tn_stepper_run(tn_stepper* s, tn_state* state, double h, int count,
                         tn_step_report* report, tn_why* why)
{
    tn_step_report own;
    if (report == NULL) report = &own;
    clear_report(s, report);
    tn_result result = check_h(h, why);
    if (result != TN_OK || count < 1) return result;
    if (s->settings.method == TN_METHOD_ADAPTIVE)
        return run_adaptive(s, state, h, count, report, why);
    double taken = 0;
    for (int i = 0; i < count && result == TN_OK; ++i) {
        result = tn_stepper_step(s, state, h, report, why);
        taken += report->h_taken;
    }
    report->h_taken = taken;
    return result;
}

static tn_result project(tn_stepper* s, const attempt* how, tn_step_report* report, tn_why* why)
{
    (void)how;
    tni_copy_configuration(s->model, &s->next, &s->now);
    const tn_result  result = s->has_unilaterals ? tni_find_unilaterals(s, why) : TN_OK;
    tni_unilaterals* a      = &s->system->unilaterals;
    for (int i = 0; i < a->unilateral_count; ++i)
        if (a->unilaterals[i].soft) a->unilaterals[i].rule = TNI_UNILATERAL_OPEN;
    return result == TN_OK ? tni_project(s, false, report, why) : result;
}

tn_result tn_stepper_project(tn_stepper* s, tn_state* state, tn_step_report* report, tn_why* why)
{
    tn_step_report own;
    const attempt  how = {.what = project};
    if (report == NULL) report = &own;
    const tn_result result = try_with_room(s, state, &how, report, why);
    return result == TN_OK ? commit(s, state, why) : result;
}

// Contacts and limits are ignored: an impulse into them is resolved in the next step.
static tn_result apply_impulse(tn_stepper* s, const attempt* how, tn_step_report* report,
                               tn_why* why)
{
    tni_copy_configuration(s->model, &s->next, &s->now);
    const tni_configuration at = tni_configuration_of(&s->next);
    TRY(tni_system_factor(s->system, &at, why));
    memset(s->scratch, 0, sizeof(double) * (size_t)s->model->u_count);
    if (how->impulses != NULL) tni_system_add_impulses(s->system, how->impulses, s->scratch);
    double* r = s->system->gamma;
    for (int i = 0; i < s->model->row_count; ++i) r[i] = -s->system->rate[i];
    TRY(tni_system_solve_joints(s->system, s->scratch, r, true, why));
    tni_system_report(s->system, report);
    for (int i = 0; i < s->model->u_count; ++i) s->next.u[i] += s->system->answer[i];
    tni_measure_errors(s, report);
    return TN_OK;
}

tn_result tn_stepper_impulse(tn_stepper* s, tn_state* state, const tn_wrench* impulses,
                             tn_step_report* report, tn_why* why)
{
    tn_step_report own;
    const attempt  how = {.what = apply_impulse, .impulses = impulses};
    if (report == NULL) report = &own;
    const tn_result result = try_with_room(s, state, &how, report, why);
    return result == TN_OK ? commit(s, state, why) : result;
}

// ---- One evaluation -----------------------------------------------------------------------------

static tn_result evaluate(tn_stepper* s, const attempt* how, tn_step_report* report, tn_why* why)
{
    (void)how;
    const bool              first = s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST;
    const double            T     = s->settings.multiplier.baumgarte;
    const tni_configuration at    = tni_configuration_of(&s->now);
    if (s->has_unilaterals) TRY(tni_find_unilaterals(s, why));
    if (s->system->bounded) {
        tni_system_evaluate(s->system, &at);
        const tni_scene_view scene = tni_system_scene(s->system, &at);
        tni_bounded_accelerate(&s->impulse.bounded, &scene);
    }
    s->system->auxiliary.binds = s->system->bounded && !first;
    TRY((first ? tni_system_drift : tni_system_accelerate)(s->system, &at, T, why));
    tni_system_report(s->system, report);
    int worst;
    report->joint_error    = tni_system_position_error(s->system, &worst);
    report->worst_joint    = tni_constraint_id(s->model, worst);
    report->velocity_error = tni_system_velocity_error(s->system, &worst);
    tni_report_unilaterals(s, report);
    return TN_OK;
}

tn_result tn_stepper_evaluate(tn_stepper* s, const tn_state* state, tn_step_report* report,
                              tn_why* why)
{
    tn_step_report own;
    const attempt  how = {.what = evaluate};
    if (report == NULL) report = &own;
    TRY(try_with_room(s, state, &how, report, why));
    const tni_configuration at = tni_configuration_of(&s->now);
    tni_copy_numbers(s->rates, s->system->answer, s->model->u_count);
    for (int i = 0; i < s->model->row_count; ++i)
        s->multipliers[i] = -s->system->answer[s->model->u_count + i];
    tni_system_reactions(s->system, &at, s->reactions);
    if (s->system->bounded) {
        const tni_scene_view scene = tni_system_scene(s->system, &at);
        tni_bounded_add_reactions(&s->impulse.bounded, &scene, s->reactions);
    }
    tni_system_accelerations(s->system, s->accelerations);
    return TN_OK;
}

tn_twist tn_stepper_acceleration(const tn_stepper* stepper, tn_body_id body)
{
    return stepper->accelerations[body.bits];
}

tn_wrench tn_stepper_reaction(const tn_stepper* stepper, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0);
    return stepper->reactions[joint.bits - 1];
}

const double* tn_stepper_multipliers(const tn_stepper* stepper, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0);
    return stepper->multipliers + stepper->model->constraints[joint.bits - 1].row_start;
}

const double* tn_stepper_accelerations(const tn_stepper* stepper)
{
    return stepper->rates;
}

// ---- Check --------------------------------------------------------------------------------------

tn_result tn_stepper_check(tn_stepper* s, const tn_state* state, tn_check* check, tn_why* why)
{
    tn_step_report report;
    begin(s, state, &report);
    const tni_configuration at     = tni_configuration_of(&s->now);
    const tn_result         result = tni_system_check(s->system, &at, check, s->redundant, why);
    s->redundant_count             = result == TN_OK ? check->redundant_count : -1;
    return result;
}

tn_row_name tn_stepper_redundant_row(const tn_stepper* stepper, int index)
{
    TN_ASSERT(index >= 0 && index < stepper->redundant_count);
    return stepper->redundant[index];
}
