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
enum { MEASURES = 256, GIGABYTES = 10, SECONDS = 120 };

// Of the thread: engines here have one, and the clock of a process that RLIMIT_CPU watches is read at
// ticks only.
double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

/// A run on its way. A host holds the first lines of it.
typedef struct runner {
    const peer_case*     on;
    const peer_setup*    setup;
    const run_reference* reference; ///< NULL: motion is not compared
    const run_task*      task;
    void*                world;
    tn_state*            state;
    peer_pose*           poses;
    double               E0;
    int                  count; ///< steps to take
    run_result           result;
    tn_why               why;
} runner;

static void look(runner* r)
{
    const peer_case* c    = r->on;
    const double     time = r->result.steps * r->task->h;
    r->setup->engine->read(r->world, r->state);
    r->state->time = time;
    peer_get(&c->plain, r->state, r->poses);
    const double error = joint_error(r->state), depth = peer_depth(&c->plain, r->poses),
                 rise = (energy_of(r->state) - r->E0) / (c->scene.weight * c->work->size);
    run_result* o     = &r->result;
    o->joint          = fmax(o->joint, error);
    o->anchors        = fmax(o->anchors, anchor_error(&c->plain, r->state));
    o->energy         = fmax(o->energy, fabs(rise));
    o->rise           = fmax(o->rise, rise);
    o->deepest        = fmax(o->deepest, depth);
    const bool sound =
        error <= LOST && isfinite(rise) && (c->plain.shape_count == 0 || depth <= LOST);
    const bool grown = c->work->kind != WORK_CONTACT && rise > 1;
    if (!sound || grown) o->end = RUN_LOST, o->lost_at = time;
}

// At a quarter of the duration?
static void compare(runner* r)
{
    if (!r->reference || !r->reference->x) return;
    const int all = r->count, step = r->result.steps;
    if (step * RUN_SAMPLES % all != 0) return;
    const int at = step * RUN_SAMPLES / all - 1;
    if (at < 0 || at >= RUN_SAMPLES) return;
    const double far =
        distance_from(&r->on->plain, r->poses,
                      r->reference->x + (size_t)at * 3 * (size_t)r->on->plain.body_count);
    if (!(far <= r->result.motion)) r->result.motion = far;
}

// ---- Steps ---------------------------------------------------------------------------------------

static bool take(runner* r, int count)
{
    const peer_engine* engine = r->setup->engine;
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

static void run(runner* r)
{
    const peer_work* w = r->on->work;
    r->count = r->task->steps > 0 ? r->task->steps : (int)ceil(w->duration / r->task->h - 1e-9);
    go(r);
    if (w->stood && r->result.end == RUN_DONE) r->result.stood = w->stood(&r->on->plain, r->poses);
    for (int k = 0; k < 3 && r->on->plain.body_count > 1; ++k)
        r->result.went[k] = r->poses[1].x[k] - r->on->plain.bodies[1].start.x[k];
    snprintf(r->result.why, sizeof r->result.why, "%s", r->why.text);
}

// ---- Processes -----------------------------------------------------------------------------------

static void confine(void)
{
    const rlim_t        bytes  = (rlim_t)GIGABYTES << 30;
    const struct rlimit memory = {bytes, bytes}, processor = {SECONDS, SECONDS}, none = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &processor);
    setrlimit(RLIMIT_CORE, &none);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static bool open_world(runner* r)
{
    const double begun = run_seconds();
    r->E0              = energy_of(r->on->scene.start);
    r->poses           = calloc((size_t)r->on->plain.body_count, sizeof *r->poses);
    r->world           = r->setup->engine->open(&r->on->plain, &r->setup->options, &r->why);
    r->result.opening  = run_seconds() - begun;
    return r->world && tn_state_create(r->on->scene.model, &r->state) == TN_OK;
}

static void ended(int status, run_result* result)
{
    *result = (run_result){.end = RUN_CRASHED};
    if (!WIFSIGNALED(status)) return;
    const int  signal = WTERMSIG(status);
    const bool time   = signal == SIGXCPU || signal == SIGKILL;
    snprintf(result->why, sizeof result->why, "ended by signal %d%s", signal,
             time ? ": time or memory" : "");
}

// One run in a copy of this process.
static void answer(runner* r, const run_task* task, int to)
{
    int        ends[2], status = 0;
    run_result result = {.end = RUN_CRASHED};
    if (pipe(ends) != 0) _exit(1);
    const pid_t child = fork();
    if (child == 0) {
        r->task = task;
        run(r);
        _exit(write(ends[1], &r->result, sizeof r->result) != (ssize_t)sizeof r->result);
    }
    close(ends[1]);
    const bool got = read(ends[0], &result, sizeof result) == (ssize_t)sizeof result;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (!got) ended(status, &result);
    if (write(to, &result, sizeof result) != (ssize_t)sizeof result) _exit(1);
}

static void serve(runner* r, int from, int to)
{
    run_task task;
    confine();
    const bool good = open_world(r);
    while (read(from, &task, sizeof task) == (ssize_t)sizeof task) {
        if (good) {
            answer(r, &task, to);
            continue;
        }
        r->result.end = RUN_REFUSED;
        snprintf(r->result.why, sizeof r->result.why, "%s", r->why.text);
        if (write(to, &r->result, sizeof r->result) != (ssize_t)sizeof r->result) _exit(1);
    }
    _exit(0);
}

run_host run_open(const peer_case* c, const peer_setup* setup, const run_reference* reference)
{
    int      there[2], back[2];
    runner   r    = {.on = c, .setup = setup, .reference = reference};
    run_host host = {0};
    fflush(NULL);
    signal(SIGPIPE, SIG_IGN);
    if (pipe(there) != 0 || pipe(back) != 0) return host;
    host = (run_host){fork(), there[1], back[0]};
    if (host.pid == 0) {
        for (int fd = 3; fd < 512;
             ++fd) // those of other hosts too: they end when theirs are closed
            if (fd != there[0] && fd != back[1]) close(fd);
        serve(&r, there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    return host;
}

run_result run_trial(run_host* host, const run_task* task)
{
    run_result result = {.end = RUN_CRASHED, .why = "it did not open"};
    if (host->pid <= 0) return result;
    if (write(host->to, task, sizeof *task) == (ssize_t)sizeof *task &&
        read(host->from, &result, sizeof result) == (ssize_t)sizeof result)
        return result;
    int status = 0;
    waitpid(host->pid, &status, 0);
    ended(status, &result);
    close(host->to);
    close(host->from);
    host->pid = 0;
    return result;
}

void run_close(run_host* host)
{
    if (host->pid <= 0) return;
    close(host->to);
    close(host->from);
    waitpid(host->pid, NULL, 0);
    host->pid = 0;
}

// ---- The reference -------------------------------------------------------------------------------

static const peer_setup exact = {
    "Tenon", "reference", &peer_tenon, {.settings = "method=multiplier multiplier.tolerance=1e-11"},
    0,       NULL,        false};

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
