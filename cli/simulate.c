// simulate: steps a mechanism through its duration, for every command that wants its motion. What becomes of
// the motion is the business of an audience: it opens its files before the first step, so that a bad path
// costs no simulation, sees the start and every step, and writes in the end.
//
// A step may fail (the library leaves the state as it was), may end in a state that is not finite
// (then the state before it is taken back), or the user may interrupt: in each case everything before
// is kept and written.
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tnc_is_console(const char* path)
{
    return path && strcmp(path, "-") == 0;
}

bool tnc_paths_are_apart(const tnc_options* options)
{
    enum { PATH_COUNT = 5 };
    static const char* const names[PATH_COUNT] = {"SCENE", "--report", "--trajectory", "--html",
                                                  "--out"};
    const char* const paths[PATH_COUNT] = {options->argument, options->report, options->trajectory,
                                           options->html, options->out};
    for (int i = 1; i < PATH_COUNT; ++i) {
        if (i > 1 && tnc_is_console(paths[i])) {
            tnc_complain("%s: only --report can go to standard output", names[i]);
            return false;
        }
        for (int j = 0; j < i; ++j) {
            if (!paths[i] || !paths[j] || tnc_is_console(paths[i]) ||
                strcmp(paths[i], paths[j]) != 0)
                continue;
            tnc_complain("%s: %s", paths[i],
                         j == 0 ? "would be overwritten: it is the scene"
                                : "is given for two outputs");
            return false;
        }
    }
    return true;
}

// ---- Steps ---------------------------------------------------------------------------------------

// The number of steps, or -1 when they cannot be counted.
static long long step_count(const tn_settings* settings)
{
    const double steps = floor(settings->duration / settings->h + 0.5);
    return steps <= 1e15 ? (long long)steps : -1;
}

static void stop(tnc_motion* m, tn_result result, tn_joint_id joint, const char* text)
{
    m->stop = (tnc_stop){.stopped = true, .result = result, .joint = joint};
    snprintf(m->stop.text, sizeof m->stop.text, "%s", text[0] ? text : tn_result_text(result));
}

static void add_phases(tn_phases* sum, const tn_phases* p)
{
    sum->kinematics += p->kinematics;
    sum->assemble += p->assemble;
    sum->factor += p->factor;
    sum->solve += p->solve;
    sum->collide += p->collide;
    sum->columns += p->columns;
    sum->contact += p->contact;
}

static void note_error(tnc_motion* m, double error, tn_joint_id joint, double velocity_error)
{
    m->error_now          = error;
    m->velocity_error_now = velocity_error;
    if (error > m->error_max || m->error_joint.bits == 0) {
        m->error_max   = error;
        m->error_joint = joint;
    }
    m->velocity_error_max = fmax(m->velocity_error_max, velocity_error);
}

static void take_larger(int* most, int count)
{
    if (count > *most) *most = count;
}

// Contacts, limits and ropes, and the rows that are solved beside the tree.
static void note_stops(tnc_motion* m, const tn_step_report* r)
{
    m->contact_now = r->contact_count;
    take_larger(&m->contact_max, r->contact_count);
    take_larger(&m->auxiliary_max, r->auxiliary_count);
    take_larger(&m->dependent_max, r->dependent_count);
    m->deepest         = fmax(m->deepest, r->deepest);
    m->complementarity = fmax(m->complementarity, r->complementarity);
    m->impacts += r->impact_count;
    m->events += r->multiplier.event_count;
    m->coarse += r->multiplier.coarse_count;
    m->jams += r->jam_count;
}

// How much of the mechanism was simulated.
static void note_detail(tnc_motion* m, const tn_step_report* r, int count)
{
    m->active_now = r->adaptive.active_count;
    take_larger(&m->active_max, r->adaptive.active_count);
    take_larger(&m->visit_max, r->adaptive.visit_count / count);
    m->active_sum += (double)count * r->adaptive.active_count;
    m->visit_sum += r->adaptive.visit_count;
    m->choices += r->adaptive.choice_count;
    m->left_out = fmax(m->left_out, r->adaptive.left_out);
    m->kinetic_loss += r->adaptive.kinetic_loss;
}

static void gather(tnc_motion* m, const tn_step_report* r, double energy, int count)
{
    add_phases(&m->phases, &r->phases);
    note_error(m, r->joint_error, r->worst_joint, r->velocity_error);
    note_stops(m, r);
    note_detail(m, r, count);
    m->iteration_sum += r->iteration_count;
    take_larger(&m->iteration_max, r->iteration_count);
    take_larger(&m->stiffened_max, r->impulse.stiffened_count);
    take_larger(&m->refinement_max, r->refinement_count);
    m->pieces += r->substep_count;
    m->factors += r->implicit.factor_count;
    m->unclosed += r->unclosed_count;
    m->energy_last  = energy;
    m->energy_drift = fmax(m->energy_drift, fabs(energy - m->energy_first));
    m->done += count;
    take_larger(&m->found.loop_count, r->automatic.loop_count);
    take_larger(&m->found.stiff_count, r->automatic.stiff_count);
    take_larger(&m->found.contact_count, r->automatic.contact_count);
    tnc_suspects_add(&m->suspects, r->suspects, tnc_motion_time(m));
}

// Steps to be taken at once: the adaptive method need not place bodies that nobody looks at in between.
static int stride(const tnc_job* job, const tnc_motion* m, long long every)
{
    enum { STRIDE_MAX = 1000 }; // somebody may want to stop it
    if (tn_stepper_method(job->stepper) != TN_METHOD_ADAPTIVE) return 1;
    long long count = every - m->done % every;
    if (count > m->steps - m->done) count = m->steps - m->done;
    return count < STRIDE_MAX ? (int)count : STRIDE_MAX;
}

// False: the motion ends here, and the state is the last good one.
static bool step(tnc_job* job, tnc_motion* m, int count, tn_state* before)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    tn_state_copy(before, job->state);
    const uint64_t  allocations = job->meter.allocations;
    const double    begun       = tnc_clock(NULL);
    const tn_result result = tn_stepper_run(job->stepper, job->state, m->h, count, &report, &why);
    const double    spent  = tnc_clock(NULL) - begun;
    m->allocations_in_steps += job->meter.allocations - allocations;
    if (result != TN_OK) {
        m->done += (long long)(report.h_taken / m->h + 0.5);
        stop(m, result, report.worst_joint, why.text);
        return false;
    }
    const double energy = tnc_energy(job->state);
    if (!isfinite(energy) || !isfinite(report.joint_error)) {
        tn_state_copy(job->state, before);
        stop(m, TN_ERR_DIVERGED, report.worst_joint, "the motion is no longer finite");
        return false;
    }
    for (int i = 0; i < count; ++i) tnc_times_add(&m->times, spent / count);
    m->seconds_now = spent / count;
    gather(m, &report, energy, count);
    return true;
}

// False: the audience cannot take more.
static bool show(tnc_audience* audience, tnc_job* job, tnc_motion* m)
{
    tn_why why = {0};
    tnc_series_add(m->series, job->state, m);
    const tn_result result = audience->see ? audience->see(audience->user, job, m, &why) : TN_OK;
    if (result != TN_OK) stop(m, result, (tn_joint_id){0}, why.text);
    return result == TN_OK;
}

static void advance(tnc_job* job, tnc_motion* m, tnc_audience* audience, const tnc_options* options,
                    tn_state* before)
{
    tnc_progress progress = tnc_progress_begin(options->quiet);
    tnc_catch_interrupt();
    bool going = show(audience, job, m);
    while (going && m->done < m->steps) {
        going = step(job, m, stride(job, m, audience->every), before) && show(audience, job, m);
        if (going && m->done < m->steps && tnc_interrupted()) {
            stop(m, TN_OK, (tn_joint_id){0}, "interrupted");
            going = false;
        }
        tnc_progress_show(&progress, m);
    }
    tnc_progress_end(&progress);
}

// Parts that the scene leaves a little apart are brought together, and velocities made to fit the
// joints and motors, before the clock starts.
static void settle(tnc_job* job, tnc_motion* m)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    if (!job->settings.multiplier.project) return;
    const tn_result result = tn_stepper_project(job->stepper, job->state, &report, &why);
    if (result != TN_OK) stop(m, result, report.worst_joint, why.text);
}

// What is known before the first step: mobility, energy, and whether the joints meet.
static void begin(tnc_job* job, tnc_motion* m)
{
    enum { ROWS_MAX = 50000 }; // of meshes with more, ranks take minutes: `tenon check` tells them
    const tn_counts counts = tn_model_counts(job->model);
    m->checked             = (counts.loops == 0 || counts.rows <= ROWS_MAX) &&
                 tn_stepper_check(job->stepper, job->state, &m->check, NULL) == TN_OK;
    settle(job, m);
    tnc_times_clear(&m->times);
    m->energy_first = tnc_energy(job->state);
    m->energy_last  = m->energy_first;
    if (!isfinite(m->energy_first))
        stop(m, TN_ERR_DIVERGED, (tn_joint_id){0}, "the energy at the start is not finite");
    tn_stepper_set_clock(job->stepper, tnc_clock, NULL);
}

// The joint errors of the final state, by the state's own measure.
static void end(tnc_job* job, tnc_motion* m)
{
    double      error = 0, velocity_error = 0;
    tn_joint_id worst = {0};
    const int   count = tn_model_counts(job->model).joints;
    for (int i = 0; i < count; ++i) {
        const tn_joint_id joint = {(uint32_t)i + 1};
        const double      e     = tn_state_joint_error(job->state, joint);
        velocity_error = fmax(velocity_error, tn_state_joint_velocity_error(job->state, joint));
        if (e > error || worst.bits == 0) {
            error = e;
            worst = joint;
        }
    }
    note_error(m, error, worst, velocity_error);
    m->evaluated = tn_stepper_evaluate(job->stepper, job->state, NULL, NULL) == TN_OK;
}

// ---- From the first step to the last --------------------------------------------------------------

static void complain_stop(const tnc_job* job, const tnc_motion* m)
{
    const bool late = (m->stop.result == TN_ERR_DIVERGED || m->stop.result == TN_ERR_SINGULAR) &&
                      m->done > 0; // it began well
    const bool  met   = m->contact_max > 0 || m->impacts > 0;
    const bool  stiff = tn_stepper_method(job->stepper) != TN_METHOD_IMPLICIT;
    const char* hint =
        !late   ? ""
        : met   ? "; no mechanism moves through a limit or a contact, and fast motion wants a "
                  "smaller --h"
        : stiff ? "; stiff springs and fast motion want a smaller --h, or --method implicit"
                : "; fast motion wants a smaller --h";
    tnc_complain("%s: step %lld, t = %.9g s: %s%s", job->origin, m->done + 1, tnc_motion_time(m),
                 m->stop.text, hint);
}

static int simulate(tnc_job* job, tnc_motion* m, tnc_audience* audience, const tnc_options* options)
{
    tn_state* before;
    if (tn_state_create(job->model, &before) != TN_OK) {
        tnc_complain("%s: %s", job->origin, tn_result_text(TN_ERR_MEMORY));
        return TNC_STOPPED;
    }
    begin(job, m);
    if (!m->stop.stopped) advance(job, m, audience, options, before);
    tn_state_free(before);
    end(job, m);
    const bool written = audience->close(audience->user, job, m);
    if (!options->quiet && !tnc_is_console(options->report)) tnc_summary(job, m, options);
    if (m->stop.stopped) complain_stop(job, m);
    if (m->stop.result == TN_ERR_UNSUPPORTED) return TNC_WRONG;
    return m->stop.stopped || !written ? TNC_STOPPED : TNC_DONE;
}

// Without projection a run begins where the scene says, joints open or not.
static int assemble(tnc_job* job, tnc_motion* m)
{
    tn_why why = {0};
    if (tn_stepper_method(job->stepper) == TN_METHOD_MULTIPLIER &&
        !job->settings.multiplier.project)
        return TNC_DONE;
    const tn_result result = tnc_job_assemble(job, &m->assembly, &why);
    if (result != TN_OK) tnc_complain_why(job->origin, &why);
    return tnc_exit_code(result);
}

static int run(tnc_job* job, tnc_motion* m, tnc_audience* audience, const tnc_options* options)
{
    m->steps = step_count(&job->settings);
    m->h     = job->settings.h;
    if (m->steps < 0) {
        tnc_complain("%s: duration / h is more steps than can be counted", job->origin);
        return TNC_WRONG;
    }
    const int code = assemble(job, m);
    if (code != TNC_DONE) return code;
    audience->every = options->every > 0 ? options->every : 1;
    if (!audience->open(audience->user, job, m)) return TNC_WRONG;
    return simulate(job, m, audience, options);
}

int tnc_simulate(const tnc_options* options, tnc_audience* audience)
{
    tnc_job     job  = {0};
    tnc_motion* m    = calloc(1, sizeof *m);
    int         code = TNC_STOPPED;
    if (!m) tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
    else if (!tnc_paths_are_apart(options)) code = TNC_WRONG;
    else code = tnc_job_open(&job, options);
    if (m && code == TNC_DONE) code = run(&job, m, audience, options);
    if (audience->free) audience->free(audience->user);
    if (m) tnc_series_free(m->series);
    tnc_job_close(&job);
    free(m);
    return code;
}
