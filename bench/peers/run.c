// run: one engine, one scene, one step size, measured after every step.
//
// Time is the processor's, of the steps alone: machines are shared. A run is lost when the engine
// gives up, when a number is not finite, or when a joint is out by more than LOST.
#define _POSIX_C_SOURCE 200809L
#include "peer.h"

#include <math.h>
#include <time.h>

static const double LOST = 0.5; // [m, or the sine of an angle]

double peer_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double energy(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

// Written so that a NaN of any joint stays.
static double joint_error(const tn_model* model, const tn_state* state)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(model).joints; ++i) {
        const double error = tn_state_joint_error(state, (tn_joint_id){(uint32_t)i});
        if (!(error <= worst)) worst = error;
        if (isnan(worst)) break;
    }
    return worst;
}

static double weight(const tn_scene* scene, const tn_model* model)
{
    const tn_vec3 g    = tn_scene_gravity(scene);
    double        mass = 0;
    for (int i = 1; i <= tn_model_counts(model).bodies; ++i) {
        mass += tn_model_body_mass(model, (tn_body_id){(uint32_t)i});
    }
    return mass * sqrt(g.x * g.x + g.y * g.y + g.z * g.z);
}

bool peer_scene_open(peer_scene* s, tn_scene* scene, tn_why* why)
{
    const tn_settings settings = tn_default_settings();
    tn_stepper*       stepper  = NULL;
    *s                         = (peer_scene){.scene = scene};
    const bool good            = tn_scene_compile(scene, &s->model, why) == TN_OK &&
                      tn_state_create(s->model, &s->start) == TN_OK &&
                      tn_stepper_create(s->model, &settings, &stepper, why) == TN_OK &&
                      tn_stepper_project(stepper, s->start, NULL, why) == TN_OK;
    tn_stepper_free(stepper);
    if (good) {
        s->weight = weight(scene, s->model);
    } else {
        peer_scene_close(s);
    }
    return good;
}

void peer_scene_close(peer_scene* s)
{
    tn_state_free(s->start);
    tn_model_free(s->model);
    tn_scene_free(s->scene);
    *s = (peer_scene){0};
}

static int step_count(const peer_task* task)
{
    const int all = (int)ceil(task->duration / task->h - 1e-9);
    return task->steps_max > 0 && task->steps_max < all ? task->steps_max : all;
}

static void measure(const peer_task* task, const tn_state* state, double E0, peer_run* run)
{
    const double error = joint_error(task->scene->model, state);
    const double drift = fabs(energy(state) - E0) / task->scene->weight;
    if (!(error <= LOST) || !isfinite(drift)) run->lost_at = tn_state_time(state);
    if (error > run->joint_error) run->joint_error = error;
    if (drift > run->drift) run->drift = drift;
}

peer_run peer_measure(const peer_task* task)
{
    const peer_scene* s     = task->scene;
    peer_run          run   = {.lost_at = -1};
    tn_state*         state = NULL;
    void*             world = task->engine->open(s->model, s->start, &task->options, &run.why);
    if (world == NULL || tn_state_create(s->model, &state) != TN_OK) return run.lost_at = 0, run;
    const int    count = step_count(task);
    const double E0    = energy(s->start);
    while (run.step_count < count && run.lost_at < 0) {
        const double begin = peer_seconds();
        const bool   good  = task->engine->step(world, task->h, &run.why);
        run.seconds += peer_seconds() - begin;
        task->engine->read(world, state);
        if (good) {
            ++run.step_count;
            measure(task, state, E0, &run);
        } else {
            run.lost_at = tn_state_time(state);
        }
    }
    task->engine->close(world);
    tn_state_free(state);
    return run;
}

bool peer_end(const peer_task* task, tn_state* end, tn_why* why)
{
    const peer_scene* s     = task->scene;
    void*             world = task->engine->open(s->model, s->start, &task->options, why);
    if (world == NULL) return false;
    bool good = true;
    for (int i = step_count(task); i > 0 && good; --i) {
        good = task->engine->step(world, task->h, why);
    }
    task->engine->read(world, end);
    task->engine->close(world);
    return good;
}
