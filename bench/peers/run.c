#define _GNU_SOURCE
#include "run.h"

#include "state/state.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double LOST = 0.5; // [m, or the sine of an angle]
enum { MEASURES = 256, GIGABYTES = 10 };

double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- Measures ------------------------------------------------------------------------------------

static double energy_of(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

// Written so that a NaN of any joint stays.
static double joint_error(const tn_state* state)
{
    double worst = 0;
    for (int i = 1; i <= state->model->joint_count && !isnan(worst); ++i) {
        const double error = tn_state_joint_error(state, (tn_joint_id){(uint32_t)i});
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static double anchor_error(const peer_plain* p, const tn_state* state)
{
    double worst = 0;
    for (int i = 0; i < p->joint_count; ++i) {
        const tn_joint_id id = {(uint32_t)i + 1};
        const tn_vec3     a  = tn_state_joint_anchor(state, id, 0),
                      b      = tn_state_joint_anchor(state, id, 1);
        const double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
        if (p->joints[i].type != PEER_SLIDER) worst = fmax(worst, sqrt(x * x + y * y + z * z));
    }
    return worst;
}

static double distance_from(const peer_plain* p, const peer_pose* poses, const double* x)
{
    double worst = 0;
    for (int i = 1; i < p->body_count; ++i) {
        double sum = 0;
        for (int k = 0; k < 3; ++k)
            sum += (poses[i].x[k] - x[3 * i + k]) * (poses[i].x[k] - x[3 * i + k]);
        if (!(sum <= worst)) worst = sum;
    }
    return sqrt(worst);
}

/// A run on its way.
typedef struct runner {
    const run_task* task;
    void*           world;
    tn_state*       state;
    peer_pose*      poses;
    double          E0;
    int             count; ///< steps to take
    run_result      result;
    tn_why          why;
} runner;

static void look(runner* r)
{
    const peer_case* c    = r->task->on;
    const double     time = r->result.steps * r->task->h;
    r->task->setup->engine->read(r->world, r->state);
    r->state->time = time;
    peer_get(&c->plain, r->state, r->poses);
    const double error = joint_error(r->state), depth = peer_depth(&c->plain, r->poses),
                 rise =
                     (energy_of(r->state) - r->E0) / (c->scene.weight * c->work->size);
    run_result* o = &r->result;
    o->joint      = fmax(o->joint, error);
    o->anchors    = fmax(o->anchors, anchor_error(&c->plain, r->state));
    o->energy     = fmax(o->energy, fabs(rise));
    o->rise       = fmax(o->rise, rise);
    o->deepest    = fmax(o->deepest, depth);
    const bool sound = error <= LOST && isfinite(rise) && (c->plain.shape_count == 0 || depth <= LOST);
    const bool grown = c->work->kind != WORK_CONTACT && rise > 1;
    if (!sound || grown) o->end = RUN_LOST, o->lost_at = time;
}

// At a quarter of the duration?
static void compare(runner* r)
{
    const run_task* t = r->task;
    if (!t->reference || !t->reference->x) return;
    const int all = r->count, step = r->result.steps;
    if (step * RUN_SAMPLES % all != 0) return;
    const int at = step * RUN_SAMPLES / all - 1;
    if (at < 0 || at >= RUN_SAMPLES) return;
    const double far = distance_from(&t->on->plain, r->poses,
                                     t->reference->x + (size_t)at * 3 * (size_t)t->on->plain.body_count);
    if (!(far <= r->result.motion)) r->result.motion = far;
}

// ---- Steps ---------------------------------------------------------------------------------------

static bool take(runner* r, int count)
{
    const peer_engine* engine = r->task->setup->engine;
    const double       begun  = run_seconds();
    bool               good   = true;
    int                taken  = 0;
    while (good && taken < count) {
        good = r->task->forward ? engine->evaluate(r->world, NULL, &r->why)
                                : engine->step(r->world, r->task->h, &r->why);
        ++taken;
    }
    r->result.seconds += run_seconds() - begun;
    r->result.steps += taken;
    return good;
}

static void go(runner* r)
{
    const int segments = r->task->measure ? MEASURES : 16;
    const int a_time   = r->count > segments ? r->count / segments : 1;
    while (r->result.end == RUN_DONE && r->result.steps < r->count) {
        const int left = r->count - r->result.steps;
        if (!take(r, left < a_time ? left : a_time)) {
            r->result.end = RUN_LOST, r->result.lost_at = r->result.steps * r->task->h;
            return;
        }
        if (r->task->measure) look(r), compare(r);
        if (r->result.end == RUN_DONE && r->result.seconds > r->task->patience &&
            r->result.steps < r->count)
            r->result.end = RUN_CUT;
    }
    if (!r->task->measure && !r->task->forward) look(r);
}

static void run(const run_task* t, run_result* out)
{
    runner           r = {.task = t};
    const peer_case* c = t->on;
    r.count      = t->steps > 0 ? t->steps : (int)ceil(c->work->duration / t->h - 1e-9);
    r.E0         = energy_of(c->scene.start);
    r.poses      = calloc((size_t)c->plain.body_count, sizeof *r.poses);
    const double begun = run_seconds();
    r.world            = t->setup->engine->open(&c->plain, &t->setup->options, &r.why);
    r.result.opening   = run_seconds() - begun;
    if (!r.world || tn_state_create(c->scene.model, &r.state) != TN_OK) {
        r.result.end = RUN_REFUSED;
    } else {
        go(&r);
        if (c->work->stood && r.result.end == RUN_DONE)
            r.result.stood = c->work->stood(&c->plain, r.poses);
    }
    snprintf(r.result.why, sizeof r.result.why, "%s", r.why.text);
    *out = r.result;
}

// ---- The process of its own ----------------------------------------------------------------------

static void confine(double patience)
{
    const rlim_t       bytes = (rlim_t)GIGABYTES << 30, time = (rlim_t)(3 * patience + 60);
    const struct rlimit memory = {bytes, bytes}, processor = {time, time}, none = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &processor);
    setrlimit(RLIMIT_CORE, &none);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

run_result run_trial(const run_task* task)
{
    run_result result = {.end = RUN_CRASHED};
    int        ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0) return result;
    const pid_t child = fork();
    if (child == 0) {
        confine(task->patience);
        run(task, &result);
        if (write(ends[1], &result, sizeof result) != (ssize_t)sizeof result) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t got = read(ends[0], &result, sizeof result);
    close(ends[0]);
    waitpid(child, &status, 0);
    if (got == (ssize_t)sizeof result) return result;
    result = (run_result){.end = RUN_CRASHED};
    if (WIFSIGNALED(status))
        snprintf(result.why, sizeof result.why, "ended by signal %d (%s)", WTERMSIG(status),
                 WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "time" : "its own");
    return result;
}

// ---- The reference -------------------------------------------------------------------------------

static const peer_setup exact = {
    "Tenon", "reference", &peer_tenon, {.settings = "method=multiplier multiplier.tolerance=1e-11"}, 0, NULL};

// Where bodies are at the quarters; false when it cannot go on.
static bool sample(const peer_case* c, double h, double* x, tn_why* why)
{
    void*      world = peer_tenon.open(&c->plain, &exact.options, why);
    tn_state*  state = NULL;
    peer_pose* poses = calloc((size_t)c->plain.body_count, sizeof *poses);
    bool       good  = world && tn_state_create(c->scene.model, &state) == TN_OK;
    const int  steps = (int)(c->work->duration / h / RUN_SAMPLES + 0.5);
    for (int s = 0; good && s < RUN_SAMPLES; ++s) {
        for (int i = 0; good && i < steps; ++i) good = peer_tenon.step(world, h, why);
        peer_tenon.read(world, state);
        peer_get(&c->plain, state, poses);
        for (int i = 0; i < c->plain.body_count; ++i)
            memcpy(x + 3 * ((size_t)s * (size_t)c->plain.body_count + (size_t)i), poses[i].x,
                   sizeof poses[i].x);
    }
    if (world) peer_tenon.close(world);
    tn_state_free(state);
    free(poses);
    return good;
}

static double apart(const double* a, const double* b, size_t count)
{
    double worst = 0;
    for (size_t i = 0; i < count; ++i)
        if (!(fabs(a[i] - b[i]) <= worst)) worst = fabs(a[i] - b[i]);
    return worst;
}

static bool refine(run_reference* r, const peer_case* c, double patience, tn_why* why)
{
    const size_t count = (size_t)RUN_SAMPLES * 3 * (size_t)c->plain.body_count;
    double *     x = calloc(count, sizeof *x), *next = calloc(count, sizeof *next);
    const double begun = run_seconds();
    double       h     = 1.0 / 1024;
    bool         known = sample(c, h, x, why);
    r->x               = next;
    for (;;) {
        h /= 2;
        const bool   good = sample(c, h, next, why);
        const double gap  = good && known ? apart(x, next, count) : HUGE_VAL;
        r->error = gap, r->h = h;
        memcpy(x, next, count * sizeof *x);
        known = good;
        if (gap <= 0.1 * c->work->bar) break;
        if (3 * (run_seconds() - begun) > patience) break;
    }
    free(x);
    return r->error <= 0.1 * c->work->bar;
}

bool run_reference_make(run_reference* r, const peer_case* c, double patience, tn_why* why)
{
    peer_work rigid = *c->work;
    peer_case other;
    *r = (run_reference){0};
    if (!c->work->rigid) return refine(r, c, patience, why);
    rigid.spec = NULL, rigid.build = c->work->rigid;
    if (!peer_case_open(&other, &rigid, why)) return false;
    const bool good = refine(r, &other, patience, why);
    peer_case_close(&other);
    return good;
}
