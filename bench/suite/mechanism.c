// mechanism: opening, stepping and closing what is measured.
#define _DEFAULT_SOURCE

#include "mechanism.h"

#include "scenes/scenes.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

// ---- Memory --------------------------------------------------------------------------------------

// Three quarters of what the computer has.
static size_t memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages / 4 * 3 * (size_t)size : SIZE_MAX;
}

static void* take(void* user, size_t bytes)
{
    tnb_purse* purse = user;
    if (bytes > purse->limit - purse->bytes) return NULL;
    void* block = malloc(bytes ? bytes : 1);
    if (!block) return NULL;
    purse->bytes += bytes;
    if (purse->bytes > purse->peak) purse->peak = purse->bytes;
    return block;
}

static void give_back(void* user, void* block, size_t bytes)
{
    tnb_purse* purse = user;
    if (block) purse->bytes -= bytes;
    free(block);
}

static tn_host host_of(tnb_purse* purse)
{
    purse->limit = memory_limit();
    return (tn_host){.allocate = take, .release = give_back, .user = purse};
}

// ---- Trials --------------------------------------------------------------------------------------

static bool open_trial(tnb_trial* t, const char* spec, tn_pool* pool)
{
    *t       = (tnb_trial){.spec = spec};
    t->host  = host_of(&t->purse);
    t->times = malloc(sizeof *t->times);
    if (pool) {
        t->host.each    = tn_pool_each;
        t->host.workers = pool;
    }
    if (!t->times) return tnb_failed(spec, &(tn_why){.result = TN_ERR_MEMORY});
    tnc_times_clear(t->times);
    return true;
}

bool tnb_trial_load(tnb_trial* t, const char* spec, tn_pool* pool)
{
    tn_why why = {0};
    if (!open_trial(t, spec, pool)) return false;
    if (tns_build(&t->host, spec, &t->scene, &why) != TN_OK) return tnb_failed(spec, &why);
    t->settings = tn_scene_settings(t->scene);
    return true;
}

bool tnb_trial_create(tnb_trial* t, const char* name)
{
    if (!open_trial(t, name, NULL)) return false;
    if (tn_scene_create(&t->host, &t->scene) != TN_OK)
        return tnb_failed(name, &(tn_why){.result = TN_ERR_MEMORY});
    t->settings = tn_scene_settings(t->scene);
    return true;
}

bool tnb_trial_ready(tnb_trial* t)
{
    tn_why why = {.result = TN_ERR_MEMORY, .text = "out of memory"};
    if (tn_scene_compile(t->scene, &t->model, &why) != TN_OK ||
        tn_stepper_create(t->model, &t->settings, &t->stepper, &why) != TN_OK ||
        tn_state_create(t->model, &t->state) != TN_OK)
        return tnb_failed(t->spec, &why);
    t->counts = tn_model_counts(t->model);
    return true;
}

static bool walk(tnb_trial* t, int steps, tn_step_report* report)
{
    tn_why why = {0};
    *report    = (tn_step_report){0};
    return tn_stepper_run(t->stepper, t->state, t->settings.h, steps, report, &why) == TN_OK ||
           tnb_failed(t->spec, &why);
}

bool tnb_trial_warm(tnb_trial* t, int steps)
{
    tn_step_report report;
    return walk(t, steps, &report);
}

bool tnb_trial_go(tnb_trial* t, int steps)
{
    tn_step_report report;
    const double   wall = tnc_clock(NULL), begun = tnb_processor_time();
    if (!walk(t, steps, &report)) return false;
    const double own = tnb_processor_time() - begun;
    t->own += own;
    tnc_times_add(t->times, (t->host.each ? tnc_clock(NULL) - wall : own) / steps);
    t->steps += steps;
    t->visits += report.adaptive.visit_count;
    t->choices += report.adaptive.choice_count;
    t->kinetic_loss += report.adaptive.kinetic_loss;
    t->active = report.adaptive.active_count;
    return true;
}

void tnb_trial_close(tnb_trial* t)
{
    tn_state_free(t->state);
    tn_stepper_free(t->stepper);
    tn_model_free(t->model);
    tn_scene_free(t->scene);
    free(t->times);
    *t = (tnb_trial){0};
}

// ---- Machines ------------------------------------------------------------------------------------

const char* const tnb_form_words[TNB_FORM_COUNT] = {"kkt",         "spd",           "split",
                                                    "spd_cholmod", "split_cholmod", "auto"};

bool tnb_machine_open(tnb_machine* m, const char* spec)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    snprintf(m->spec, sizeof m->spec, "%s", spec);
    m->host = host_of(&m->purse);
    if (tns_build(&m->host, m->spec, &m->scene, &why) != TN_OK ||
        tn_scene_compile(m->scene, &m->model, &why) != TN_OK)
        return tnb_failed(spec, &why);
    m->counts          = tn_model_counts(m->model);
    m->compile_seconds = tnc_clock(NULL) - begun;
    return true;
}

void tnb_machine_close(tnb_machine* m)
{
    tn_model_free(m->model);
    tn_scene_free(m->scene);
}

tn_settings tnb_runner_settings(const tnb_machine* machine, int form, double h)
{
    static const tn_formulation formulations[TNB_FORM_COUNT] = {
        TN_FORMULATION_KKT, TN_FORMULATION_SPD,   TN_FORMULATION_SPLIT,
        TN_FORMULATION_SPD, TN_FORMULATION_SPLIT, TN_FORMULATION_AUTO};
    tn_settings s         = tn_scene_settings(machine->scene);
    s.method              = TN_METHOD_IMPULSE;
    s.h                   = h;
    s.impulse.formulation = formulations[form];
    return s;
}

static bool take_times(tnc_times** times)
{
    *times = malloc(sizeof **times);
    if (*times) tnc_times_clear(*times);
    return *times != NULL;
}

bool tnb_runner_open(tnb_runner* r, const tnb_machine* machine, const tn_settings* settings,
                     tnb_variant variant)
{
    const double begun = tnc_clock(NULL);
    *r                 = (tnb_runner){.machine = machine, .settings = *settings};
    if (!take_times(&r->factor) || !take_times(&r->solve) || !take_times(&r->step)) return false;
    if (tn_state_create(machine->model, &r->state) != TN_OK) return false;
    if (tnb_stepper_create(machine->model, settings, variant, &r->stepper, &r->why) != TN_OK)
        return false;
    r->create_seconds = tnc_clock(NULL) - begun;
    tn_stepper_set_clock(r->stepper, tnc_clock, NULL);
    return tn_stepper_solver(r->stepper, &r->solver) == TN_OK;
}

bool tnb_runner_open_form(tnb_runner* r, const tnb_machine* machine, int form, double h)
{
    const bool        cholmod  = form == TNB_FORM_SPD_CHOLMOD || form == TNB_FORM_SPLIT_CHOLMOD;
    const tn_settings settings = tnb_runner_settings(machine, form, h);
    return tnb_runner_open(r, machine, &settings, (tnb_variant){.cholmod = cholmod});
}

void tnb_runner_close(tnb_runner* r)
{
    free(r->factor);
    free(r->solve);
    free(r->step);
    tn_stepper_free(r->stepper);
    tn_state_free(r->state);
    *r = (tnb_runner){0};
}

void tnb_runner_clear(tnb_runner* r)
{
    tnc_times_clear(r->factor);
    tnc_times_clear(r->solve);
    tnc_times_clear(r->step);
    r->steps = r->iterations_max = 0;
    r->iterations = r->refinements = r->pieces = r->unclosed = 0;
    r->time = r->error = 0;
}

static void note(tnb_runner* r, const tn_step_report* report, double seconds)
{
    tnc_times_add(r->factor, report->phases.factor);
    tnc_times_add(r->solve, report->phases.solve);
    tnc_times_add(r->step, seconds);
    ++r->steps;
    r->time += report->h_taken;
    r->iterations += report->iteration_count;
    r->refinements += report->refinement_count;
    r->pieces += report->substep_count;
    r->unclosed += report->unclosed_count;
    r->error = fmax(r->error, report->joint_error);
    if (report->iteration_count > r->iterations_max) r->iterations_max = report->iteration_count;
}

bool tnb_runner_step(tnb_runner* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = tnc_clock(NULL);
    if (tn_stepper_step(r->stepper, r->state, r->settings.h, &report, &why) != TN_OK)
        return tnb_failed(r->machine->spec, &why);
    note(r, &report, tnc_clock(NULL) - begun);
    return true;
}

bool tnb_runner_evaluate(tnb_runner* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = tnc_clock(NULL);
    if (tn_stepper_evaluate(r->stepper, r->state, &report, &why) != TN_OK)
        return tnb_failed(r->machine->spec, &why);
    note(r, &report, tnc_clock(NULL) - begun);
    return true;
}
