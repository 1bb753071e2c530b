// stage: a simulation at the pace of the wall clock, while users watch and change it.
//
// Simulated time becomes due as wall time passes; advance() takes whole steps until nothing more is
// due or its budget is spent. More than a tenth of a second of wall time is not made up for; the
// real-time factor then drops. After a failed step the state is the last good one, and the stage is
// paused and reports why.
//
// A change of the scene (gravity, a joint) compiles a new model and keeps the motion; a change of
// the method makes a new stepper. Both replace the old ones only when they are complete.
#include "stage/inside.h"

#include "scenes/scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double meets    = 1e-9; // joint errors below this need no assembly [m or rad]
static const double debt_max = 0.1;  // largest wall time to be made up for [s]

// ---- Opening -----------------------------------------------------------------------------------

tn_result tng_scene_open(const tn_host* host, const char* text, size_t length, tn_scene** scene,
                         tn_why* why)
{
    char spec[512];
    if (length == 0 || text[0] != '@') return tn_scene_read(host, text, length, scene, why);
    if (length >= sizeof spec || memchr(text, '\0', length)) {
        *scene = NULL;
        *why   = (tn_why){.result = TN_ERR_PARSE,
                          .text   = "name of a scene is too long, or contains a NUL"};
        return why->result;
    }
    memcpy(spec, text, length);
    spec[length] = '\0';
    return tns_build(host, spec, scene, why);
}

static void free_machine(tng_machine* machine)
{
    tn_stepper_free(machine->stepper);
    tn_state_free(machine->before);
    tn_state_free(machine->state);
    tn_model_free(machine->model);
    *machine = (tng_machine){0};
}

static int count_dofs(const tng_machine* machine)
{
    enum { ROWS_MAX = 5000 }; // the rank of more rows takes too long to wait for
    tn_check        check;
    const tn_counts counts = tn_model_counts(machine->model);
    if (counts.loops == 0 || counts.rows > ROWS_MAX) return -1;
    const tn_result result = tn_stepper_check(machine->stepper, machine->state, &check, NULL);
    return result == TN_OK ? check.mobility : -1;
}

static tn_result make_machine(const tn_scene* scene, const tn_settings* settings,
                              tng_machine* machine, tn_why* why)
{
    *machine         = (tng_machine){.dofs = -1};
    tn_result result = tn_scene_compile(scene, &machine->model, why);
    if (result == TN_OK)
        result = tn_stepper_create(machine->model, settings, &machine->stepper, why);
    if (result != TN_OK) return result;
    result = tn_state_create(machine->model, &machine->state);
    if (result == TN_OK) result = tn_state_create(machine->model, &machine->before);
    if (result != TN_OK) why->result = result;
    return result;
}

static double worst_error(const tng_machine* machine)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(machine->model).joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i};
        if (tn_model_joint_rows(machine->model, joint) > 0) // a rope has no rows
            worst = fmax(worst, tn_state_joint_error(machine->state, joint));
    }
    return worst;
}

tn_result tng_restart(tng_stage* stage, tn_why* why)
{
    tng_machine* m       = &stage->machine;
    const bool   project = stage->settings.multiplier.project;
    const bool   bare    = tn_stepper_method(m->stepper) == TN_METHOD_MULTIPLIER && !project;
    tn_state_copy(m->before, m->state);
    tn_state_reset(m->state);
    tn_assembly report;
    tn_result   result = TN_OK;
    if (!bare && worst_error(m) > meets)
        result = tn_stepper_assemble(m->stepper, m->state, &report, why);
    if (result == TN_OK && project) result = tn_stepper_project(m->stepper, m->state, NULL, why);
    if (result != TN_OK) {
        tn_state_copy(m->state, m->before);
        return result;
    }
    stage->now     = (tng_measures){.joint_error = worst_error(m)};
    stage->steps   = 0;
    stage->stopped = false;
    stage->owed    = 0;
    stage->fresh   = true;
    return TN_OK;
}

static char* copy_text(const char* text)
{
    const size_t size = strlen(text) + 1;
    char*        copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

tn_result tng_stage_create(const tn_host* host, const char* origin, tn_scene* scene,
                           const tn_settings* settings, tng_clock clock, tng_stage** out,
                           tn_why* why)
{
    tn_why     unheard = {0};
    tng_stage* stage   = calloc(1, sizeof *stage);
    *out               = NULL;
    why                = why ? why : &unheard;
    if (!stage) {
        tn_scene_free(scene);
        why->result = TN_ERR_MEMORY;
        return TN_ERR_MEMORY;
    }
    *stage           = (tng_stage){.host     = host ? *host : tn_default_host(),
                                   .clock    = clock,
                                   .origin   = copy_text(origin),
                                   .scene    = scene,
                                   .settings = settings ? *settings : tn_scene_settings(scene),
                                   .speed    = 1,
                                   .parts    = TNG_ERRORS | TNG_ACTIVE | TNG_CONTACTS};
    tn_result result = stage->origin ? TN_OK : TN_ERR_MEMORY;
    if (result == TN_OK) result = make_machine(scene, &stage->settings, &stage->machine, why);
    if (result == TN_OK) result = tng_restart(stage, why);
    if (result != TN_OK) {
        why->result = result;
        tng_stage_free(stage);
        return result;
    }
    stage->machine.dofs = count_dofs(&stage->machine);
    tn_stepper_set_clock(stage->machine.stepper, clock.now, clock.user);
    tng_set_playing(stage, false);
    *out = stage;
    return TN_OK;
}

void tng_stage_free(tng_stage* stage)
{
    if (!stage) return;
    free_machine(&stage->machine);
    tn_scene_free(stage->scene);
    tng_text_free(&stage->waiting);
    tng_text_free(&stage->mechanism);
    tng_text_free(&stage->frame);
    free(stage->origin);
    free(stage);
}

// ---- Changes -----------------------------------------------------------------------------------

tn_result tng_rebuild(tng_stage* stage, tn_why* why)
{
    tng_machine made;
    tn_result   result = make_machine(stage->scene, &stage->settings, &made, why);
    if (result == TN_OK) result = tn_state_carry(made.state, stage->machine.state);
    if (result != TN_OK) {
        free_machine(&made);
        return result;
    }
    made.dofs = stage->machine.dofs;
    free_machine(&stage->machine);
    stage->machine = made;
    stage->stopped = false;
    stage->fresh   = true;
    tn_stepper_set_clock(made.stepper, stage->clock.now, stage->clock.user);
    return TN_OK;
}

tn_result tng_restep(tng_stage* stage, const tn_settings* settings, tn_why* why)
{
    tn_stepper*     made   = NULL;
    const tn_result result = tn_stepper_create(stage->machine.model, settings, &made, why);
    if (result != TN_OK) return result;
    tn_stepper_free(stage->machine.stepper);
    stage->machine.stepper = made;
    stage->settings        = *settings;
    stage->stopped         = false;
    stage->fresh           = true;
    stage->step_guess      = 0;
    tn_stepper_set_clock(made, stage->clock.now, stage->clock.user);
    return TN_OK;
}

// ---- Stepping ----------------------------------------------------------------------------------

static double wall(const tng_stage* stage)
{
    return stage->clock.now(stage->clock.user);
}

void tng_set_playing(tng_stage* stage, bool playing)
{
    stage->playing     = playing && !stage->stopped;
    stage->asked       = 0;
    stage->fresh       = true;
    stage->owed        = 0;
    stage->seen        = wall(stage);
    stage->window_wall = stage->seen;
    stage->window_time = tn_state_time(stage->machine.state);
}

static void put_stopped(tng_stage* stage, tn_joint_id joint, const char* text)
{
    tng_text* out = &stage->waiting;
    tng_put(out, "{\"type\":\"stopped\",\"step\":%lld,\"time\":", stage->steps + 1);
    tng_put_number(out, tn_state_time(stage->machine.state));
    tng_put(out, ",\"joint\":");
    tng_put_text(out, joint.bits ? tn_model_joint_name(stage->machine.model, joint) : "");
    tng_put(out, ",\"text\":");
    tng_put_text(out, text);
    tng_put(out, "}");
    tng_put_bytes(out, "", 1);
}

static void stop(tng_stage* stage, tn_joint_id joint, const char* text)
{
    tng_set_playing(stage, false);
    stage->stopped = true;
    put_stopped(stage, joint, text);
}

static void note(tng_stage* stage, const tn_step_report* report, int count, double spent)
{
    tng_measures* now   = &stage->now;
    now->joint_error    = fmax(now->joint_error, report->joint_error);
    now->velocity_error = fmax(now->velocity_error, report->velocity_error);
    now->active         = report->adaptive.active_count;
    stage->error_max    = fmax(stage->error_max, report->joint_error);
    stage->steps += count;
    stage->step_count += count;
    stage->stepping += spent;
    stage->step_guess =
        stage->step_guess > 0 ? 0.9 * stage->step_guess + 0.1 * spent / count : spent / count;
    stage->fresh = true;
}

bool tng_step(tng_stage* stage, int count)
{
    tng_machine*   m      = &stage->machine;
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = wall(stage);
    tn_state_copy(m->before, m->state);
    const tn_result result =
        tn_stepper_run(m->stepper, m->state, stage->settings.h, count, &report, &why);
    if (result != TN_OK) {
        stage->steps += (long long)(report.h_taken / stage->settings.h + 0.5);
        stop(stage, report.worst_joint, why.text[0] ? why.text : tn_result_text(result));
        return false;
    }
    const tn_energy e = tn_state_energy(m->state);
    if (!isfinite(e.kinetic + e.gravity + e.elastic) || !isfinite(report.joint_error)) {
        tn_state_copy(m->state, m->before);
        stop(stage, report.worst_joint, "the motion is no longer finite");
        return false;
    }
    note(stage, &report, count, wall(stage) - begun);
    return true;
}

// Number of steps to take in one call. Between them the adaptive method need not compute body
// poses.
static int chunk(const tng_stage* stage, double due, double budget)
{
    if (tn_stepper_method(stage->machine.stepper) != TN_METHOD_ADAPTIVE) return 1;
    const double most = fmax(1, fmin(1000, 0.25 * budget / fmax(stage->step_guess, 1e-7)));
    return (int)fmin(due, most);
}

static void measure_real_time(tng_stage* stage, double now)
{
    const double span = now - stage->window_wall;
    const double time = tn_state_time(stage->machine.state);
    if (span < 0.5) return;
    stage->now.real_time = (time - stage->window_time) / span;
    stage->played_wall += span;
    stage->played_time += time - stage->window_time;
    stage->window_wall = now;
    stage->window_time = time;
}

// Takes pending single steps.
static bool advance_paused(tng_stage* stage, double budget)
{
    const double end = wall(stage) + budget;
    while (stage->asked > 0 && tng_step(stage, 1) && --stage->asked > 0 && wall(stage) < end) {}
    return stage->fresh;
}

bool tng_stage_advance(tng_stage* stage, double budget)
{
    if (!stage->playing) return advance_paused(stage, budget);
    const double h   = stage->settings.h;
    double       now = wall(stage);
    const double end = now + budget;
    stage->owed += (now - stage->seen) * stage->speed;
    stage->owed = fmin(stage->owed, fmax(h, debt_max * stage->speed));
    stage->seen = now;
    while (stage->playing && stage->owed >= h && now < end) {
        const int count = chunk(stage, floor(stage->owed / h), budget);
        if (!tng_step(stage, count)) break;
        stage->owed -= count * h;
        now = wall(stage);
    }
    measure_real_time(stage, now);
    return stage->fresh;
}

double tng_stage_wait(const tng_stage* stage)
{
    if (!stage->playing) return stage->asked > 0 ? 0 : HUGE_VAL;
    const double due = (stage->settings.h - stage->owed) / stage->speed;
    return fmax(0, due - (wall(stage) - stage->seen));
}

// ---- Messages and frames -----------------------------------------------------------------------

tng_cast tng_cast_of(const tng_stage* stage)
{
    const tng_machine* m = &stage->machine;
    return (tng_cast){.origin   = stage->origin,
                      .scene    = stage->scene,
                      .model    = m->model,
                      .settings = &stage->settings,
                      .stepper  = m->stepper,
                      .state    = m->state,
                      .dofs     = m->dofs};
}

static const char* whole(const tng_text* text, size_t* length)
{
    *length = text->failed ? 0 : text->length;
    return text->failed ? NULL : text->bytes;
}

const char* tng_stage_mechanism(tng_stage* stage, size_t* length)
{
    const tng_cast cast = tng_cast_of(stage);
    tng_text_clear(&stage->mechanism);
    tng_put_mechanism(&stage->mechanism, &cast, stage->speed, stage->playing);
    return whole(&stage->mechanism, length);
}

const char* tng_stage_frame(tng_stage* stage, size_t* length)
{
    const tng_cast cast = tng_cast_of(stage);
    tng_measures*  now  = &stage->now;
    now->step           = (double)stage->steps;
    now->step_seconds   = stage->step_count > 0 ? stage->stepping / stage->step_count : 0;
    now->playing        = stage->playing;
    now->stopped        = stage->stopped;
    if (tn_stepper_method(cast.stepper) != TN_METHOD_ADAPTIVE)
        now->active = tng_moving_joints(cast.model);
    tng_text_clear(&stage->frame);
    tng_put_frame(&stage->frame, &cast, now, stage->parts);
    now->joint_error    = 0;
    now->velocity_error = 0;
    stage->stepping     = 0;
    stage->step_count   = 0;
    stage->fresh        = false;
    return whole(&stage->frame, length);
}

const char* tng_stage_message(tng_stage* stage, size_t* length)
{
    tng_text* waiting = &stage->waiting;
    if (waiting->failed || stage->read >= waiting->length) {
        tng_text_clear(waiting);
        stage->read = 0;
        *length     = 0;
        return NULL;
    }
    const char* message = waiting->bytes + stage->read;
    *length             = strlen(message);
    stage->read += *length + 1;
    return message;
}

void tng_say_settings(tng_stage* stage, bool joints)
{
    const tng_cast cast = tng_cast_of(stage);
    tng_put_settings(&stage->waiting, &cast, stage->speed, stage->playing, joints);
    tng_put_bytes(&stage->waiting, "", 1);
}

void tng_put_notice(tng_text* text, const char* level, const tn_why* why)
{
    tng_put(text, "{\"type\":\"notice\",\"level\":\"%s\",\"text\":", level);
    tng_put_text(text, why->text[0] ? why->text : tn_result_text(why->result));
    if (why->line > 0) tng_put(text, ",\"line\":%d,\"column\":%d", why->line, why->column);
    tng_put(text, "}");
}

void tng_say_notice(tng_stage* stage, const char* level, const tn_why* why)
{
    tng_put_notice(&stage->waiting, level, why);
    tng_put_bytes(&stage->waiting, "", 1);
}

void tng_stage_complain(tng_stage* stage, const tn_why* why)
{
    tng_say_notice(stage, "error", why);
}

tng_summary tng_stage_summary(const tng_stage* stage)
{
    const double span      = stage->playing ? wall(stage) - stage->window_wall : 0;
    const double time      = tn_state_time(stage->machine.state);
    const double more      = stage->playing ? time - stage->window_time : 0;
    const double wall_time = stage->played_wall + span;
    return (tng_summary){.steps       = stage->steps,
                         .time        = time,
                         .joint_error = stage->error_max,
                         .real_time   = wall_time > 0 ? (stage->played_time + more) / wall_time : 0,
                         .playing     = stage->playing};
}

const tn_state* tng_stage_state(const tng_stage* stage)
{
    return stage->machine.state;
}

const tn_model* tng_stage_model(const tng_stage* stage)
{
    return stage->machine.model;
}
