// job: a scene named on the command line becomes a model, a state and a stepper. The host counts what
// the library takes, so that reports can say how much memory a mechanism needs, and that none was
// taken within a step.
#include "cli.h"

#include "mocap.h"
#include "scenes/scenes.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1024 }; ///< more is a slip of the hand

static void* meter_allocate(void* user, size_t bytes)
{
    tnc_meter* meter = user;
    void*      block = malloc(bytes ? bytes : 1);
    if (!block) return NULL;
    meter->allocations++;
    meter->bytes += bytes;
    if (meter->bytes > meter->peak) meter->peak = meter->bytes;
    return block;
}

static void meter_release(void* user, void* block, size_t bytes)
{
    tnc_meter* meter = user;
    if (block) meter->bytes -= bytes;
    free(block);
}

static tn_host meter_host(tnc_meter* meter)
{
    return (tn_host){.allocate = meter_allocate, .release = meter_release, .user = meter};
}

int tnc_exit_code(tn_result result)
{
    switch (result) {
    case TN_OK: return TNC_DONE;
    case TN_ERR_MEMORY:
    case TN_ERR_SINGULAR:
    case TN_ERR_DIVERGED: return TNC_STOPPED;
    default: return TNC_WRONG;
    }
}

// Standard input, whole. NULL: no memory, or it cannot be read.
static char* read_input(size_t* length)
{
    size_t room = 1 << 16;
    char*  text = malloc(room);
    *length     = 0;
    while (text) {
        *length += fread(text + *length, 1, room - *length, stdin);
        if (*length < room) break;
        char* larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    if (text && ferror(stdin)) {
        free(text);
        text = NULL;
    }
    return text;
}

static tn_result read_scene(const tn_host* host, const char* origin, tn_scene** scene, tn_why* why)
{
    if (origin[0] == '@') return tns_build(host, origin, scene, why);
    if (strcmp(origin, "-") != 0) return tn_scene_read_file(host, origin, scene, why);
    size_t length;
    char*  text = read_input(&length);
    if (!text) {
        why->result = TN_ERR_FILE;
        snprintf(why->text, sizeof why->text, "cannot be read");
        return TN_ERR_FILE;
    }
    const tn_result result = tn_scene_read(host, text, length, scene, why);
    free(text);
    return result;
}

static const char* origin_name(const char* origin)
{
    return strcmp(origin, "-") == 0 ? "<stdin>" : origin;
}

// "fourbar", or "chain:n=3", where "@..." was meant.
static bool is_builtin(const char* origin)
{
    const size_t length = strcspn(origin, ":");
    for (int i = 0; tns_at(i); ++i) {
        const char* name = tns_at(i)->name;
        if (strlen(name) == length && strncmp(name, origin, length) == 0) return true;
    }
    return false;
}

static int read_named(const tn_host* host, const char* origin, tn_scene** scene)
{
    tn_why          why    = {0};
    const tn_result result = read_scene(host, origin, scene, &why);
    if (result == TN_ERR_FILE && is_builtin(origin))
        tnc_complain("cannot read '%s'; did you mean the built-in scene '@%s'?", origin, origin);
    else if (result != TN_OK) tnc_complain_why(origin_name(origin), &why);
    return tnc_exit_code(result);
}

// The method that is named, or everything else.
static bool apply_options(tnc_job* job, const tnc_options* options, bool method)
{
    for (int i = 0; i < options->setting_count; ++i) {
        const tnc_setting* s   = &options->settings[i];
        tn_why             why = {0};
        if ((strcmp(s->key, "method") == 0) != method) continue;
        if (tn_settings_set(&job->settings, s->key, s->value, &why) != TN_OK) {
            why.line = 0;
            tnc_complain_why(s->option, &why);
            return false;
        }
    }
    return true;
}

static bool apply_settings(tnc_job* job, const tnc_options* options)
{
    job->settings = tn_scene_settings(job->scene);
    // Accelerations and checks are the same for every method: the one whose matrix is theirs.
    if (!(options->command->traits & TNC_SIMULATES)) job->settings.method = TN_METHOD_MULTIPLIER;
    if (job->mocap && tn_mocap_duration(job->mocap->motion) > 0)
        job->settings.duration = tn_mocap_duration(job->mocap->motion);
    // The method first: a step may follow from it.
    return apply_options(job, options, true) && apply_options(job, options, false);
}

static tn_result prepare(tnc_job* job, bool simulates, tn_why* why)
{
    tn_result result = tn_scene_compile(job->scene, &job->model, why);
    if (result == TN_OK) result = tn_stepper_create(job->model, &job->settings, &job->stepper, why);
    if (result == TN_ERR_UNSUPPORTED && !simulates) { // forces with bounds: only the default method
        job->settings.method = TN_METHOD_AUTO;
        result               = tn_stepper_create(job->model, &job->settings, &job->stepper, why);
    }
    if (result != TN_OK) return result;
    result = tn_state_create(job->model, &job->state);
    if (result != TN_OK) why->result = result;
    return result;
}

static int prepare_job(tnc_job* job, const tnc_options* options)
{
    tn_why why = {0};
    if (!apply_settings(job, options)) return TNC_WRONG;
    const int code =
        tnc_exit_code(prepare(job, (options->command->traits & TNC_SIMULATES) != 0, &why));
    if (code != TNC_DONE) tnc_complain_why(job->origin, &why);
    return code;
}

// Gives the scene the targets of the recorded motion, when one is asked for.
static int open_mocap(tnc_job* job, const tnc_options* options)
{
    const tnc_mocap_choice choice = {options->mocap, options->mocap_scale, options->mocap_up};
    const char* const paths[] = {options->report, options->trajectory, options->html, options->out};
    for (int i = 0; i < 4; ++i) {
        if (!options->mocap || !paths[i] || strcmp(options->mocap, paths[i]) != 0) continue;
        tnc_complain("%s: would be overwritten: it is the recorded motion", paths[i]);
        return TNC_WRONG;
    }
    const int  code    = tnc_mocap_open(&job->host, job->scene, &choice, &job->mocap);
    const bool console = options->report && strcmp(options->report, "-") == 0;
    if (job->mocap && !options->quiet && !console) tnc_mocap_print(job->mocap, job->scene);
    return code;
}

// The host of the job, with as many threads as were asked for.
static int open_host(tnc_job* job, const tnc_options* options)
{
    job->host = meter_host(&job->meter);
    if (options->threads < 2) return TNC_DONE;
    if (options->threads <= THREADS_MAX) job->pool = tn_pool_create((int)options->threads);
    if (!job->pool) {
        tnc_complain("--threads: %lld threads cannot be had", options->threads);
        return TNC_WRONG;
    }
    job->host.each    = tn_pool_each;
    job->host.workers = job->pool;
    return TNC_DONE;
}

static int load_scene(tnc_job* job, const tnc_options* options)
{
    if (!options->argument) {
        tnc_complain("tenon %s needs a scene: a path, '-', or a built-in such as @chain "
                     "(tenon scene --list shows them)",
                     options->command->name);
        return TNC_WRONG;
    }
    job->origin = origin_name(options->argument);
    int code    = open_host(job, options);
    if (code == TNC_DONE) code = read_named(&job->host, options->argument, &job->scene);
    return code == TNC_DONE ? open_mocap(job, options) : code;
}

int tnc_job_load(tnc_job* job, const tnc_options* options)
{
    const int code = load_scene(job, options);
    if (code != TNC_DONE) return code;
    return apply_settings(job, options) ? TNC_DONE : TNC_WRONG;
}

int tnc_job_open(tnc_job* job, const tnc_options* options)
{
    const int code = load_scene(job, options);
    return code == TNC_DONE ? prepare_job(job, options) : code;
}

void tnc_job_close(tnc_job* job)
{
    tn_state_free(job->state);
    tn_stepper_free(job->stepper);
    tn_model_free(job->model);
    tn_scene_free(job->scene);
    tnc_mocap_close(job->mocap);
    tn_pool_free(job->pool);
}

tn_contact* tnc_job_contacts(const tnc_job* job, int* count)
{
    *count               = tn_stepper_contact_count(job->stepper);
    tn_contact* contacts = *count > 0 ? malloc(sizeof *contacts * (size_t)*count) : NULL;
    if (*count > 0 && !contacts) tnc_complain("%d contacts: out of memory", *count);
    *count = contacts ? tn_stepper_contacts(job->stepper, contacts, *count) : 0;
    return contacts;
}

const char* tnc_job_title(const tnc_job* job)
{
    const char* name = tn_model_name(job->model);
    return name && name[0] ? name : job->origin;
}
