// score: one workload in every engine, as lines of CSV on standard output.
//     peers WORKLOAD [--quick] [--cpu N] [--engine WORD] [--case WORD]
//     peers list                  workloads, cases and setups
//     peers columns               the first line of the CSV
//     peers run CASE SETUP H      one run, in words: `peers run "W4 300 hinges" "MuJoCo RK4" 0.001`
//     peers profile CASE SETUP H STEPS     the steps alone, in this process, for a profiler
//
// Kinds of lines:
//     equal     the largest step h = 2^-2 (contact: 2^-4), 2^-3, ... [s], at most a quarter of the duration, at which the case's error is within its bar, and what a
//               simulated second costs there; or why there is none
//     pace      the first steps at 2^-10 s, whatever their error: time a step
//     forward   one evaluation of the accelerations
//     long      100,000 steps (quick: 10,000) of 2^-10 s: joint and energy error
//     stiff     value: the largest stiffness of a decade that lives through 4 s at 1/64 s, energy never
//               up by more than 10 % of weight times size, joints within 1 cm
// All setups take turns, several times; cost_median and cost_min are over these, in seconds of
// processor time for a simulated second. `slow`: the bar was not met at steps that already cost so much;
// `never`: not at any step; `lost`: no step kept it together; `refused`: the note says what is missing.
#define _GNU_SOURCE
#include "run.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETUPS_MAX = 64, TIMES_MAX = 32, FINEST = 18 };

typedef struct plan {
    bool        quick;
    int         repeats;
    double      patience; ///< of one trial [s]
    double      pruned; ///< a setup is given up when a run takes so many times the best one's time
    const char *engine, *only;
} plan;

static plan the_plan(bool quick)
{
    return quick ? (plan){true, 3, 1.5, 20, "", ""} : (plan){false, 5, 6, 50, "", ""};
}

// ---- Lines ---------------------------------------------------------------------------------------

typedef struct line {
    const peer_work*  work;
    const char*       kind;
    const peer_setup* setup;
    double            h, value;
    run_result        result; ///< of the run that was measured
    double            a_step[TIMES_MAX];
    int               times;
    const char*       status;
} line;

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void print_columns(void)
{
    printf(
        "workload,case,kind,family,engine,h,steps,duration,us_median,us_min,cost_median,cost_min,motion,joint,"
        "anchors,energy,depth,value,status,note\n");
}

static void print_line(line* l)
{
    double median = 0, least = 0;
    if (l->times > 0) {
        qsort(l->a_step, (size_t)l->times, sizeof *l->a_step, by_size);
        median = l->a_step[l->times / 2], least = l->a_step[0];
    } else if (l->result.steps > 0) {
        median = least = l->result.seconds / l->result.steps;
    }
    for (char* c = l->result.why; *c; ++c)
        if (*c == ',' || *c == '"' || *c == '\n') *c = ';';
    const run_result* r        = &l->result;
    const double      a_second = l->h > 0 ? 1 / l->h : 0;
    printf("%s,%s,%s,%s,%s,%.9g,%d,%g,%.5g,%.5g,%.5g,%.5g,%.3g,%.3g,%.3g,%.3g,%.3g,%.3g,%s,%s\n",
           l->work->workload, l->work->name, l->kind, l->setup->family, l->setup->name, l->h,
           r->steps, l->work->duration, 1e6 * median, 1e6 * least, median * a_second,
           least * a_second, r->motion, r->joint, r->anchors, r->energy, r->deepest, l->value,
           l->status, r->why);
    fflush(stdout);
}

static const char* word(run_end end)
{
    static const char* const words[] = {"ok", "slow", "lost", "refused", "crashed"};
    return words[end];
}

// ---- The stage -----------------------------------------------------------------------------------

/// A case with all engines that take part in it, opened.
typedef struct stage {
    const plan*   plan;
    peer_case     on;
    run_reference reference;
    run_host      hosts[SETUPS_MAX]; ///< by setup
    bool          shut[SETUPS_MAX];  ///< does not take part
} stage;

static bool stage_open(stage* s, const plan* p, const peer_work* w)
{
    tn_why why = {0};
    *s         = (stage){.plan = p};
    fprintf(stderr, "%s %s\n", w->workload, w->name);
    if (!peer_case_open(&s->on, w, &why))
        return fprintf(stderr, "peers: %s: %s\n", w->name, why.text), false;
    if (w->kind == WORK_MOTION &&
        !run_reference_make(&s->reference, &s->on, p->quick ? 20 : 120, &why))
        fprintf(stderr, "   the reference is known to %.2g only (h = %g) %s\n", s->reference.error,
                s->reference.h, why.text);
    for (int i = 0; i < peer_setup_count; ++i) {
        const peer_setup* setup = &peer_setups[i];
        s->shut[i]              = !strstr(setup->name, p->engine) ||
                     (setup->forward && w->kind != WORK_FORWARD) ||
                     (setup->bodies_max > 0 && s->on.plain.body_count - 1 > setup->bodies_max);
        if (!s->shut[i]) s->hosts[i] = run_open(&s->on, setup, &s->reference);
    }
    return true;
}

static void stage_close(stage* s)
{
    for (int i = 0; i < peer_setup_count; ++i) run_close(&s->hosts[i]);
    peer_case_close(&s->on);
    free(s->reference.x);
}

// ---- The largest step ----------------------------------------------------------------------------

static bool within(const peer_work* w, const run_result* r)
{
    if (r->end != RUN_DONE) return false;
    switch (w->kind) {
    case WORK_MOTION: return r->motion <= w->bar;
    case WORK_ENERGY: return r->energy <= w->bar && r->joint <= 1e-4;
    case WORK_CONTACT:
        return r->stood && r->anchors <= w->bar && r->deepest <= w->bar && r->joint <= 10 * w->bar;
    default: return true;
    }
}

// A step that is too large may cost more than one of half its size, where a method cuts it up: two in a
// row must be too slow. The line is then that of the first of them: the least that it would cost.
static void search(stage* s, int setup, double best, line* l)
{
    const double most     = fmax(s->plan->patience, s->on.work->patience),
                 patience = fmin(most, fmax(0.1, s->plan->pruned * best));
    bool held             = false; // at some step
    int  k = l->work->kind == WORK_CONTACT ? 4 : 2, slow = 0;
    while (ldexp(RUN_SAMPLES, -k) > l->work->duration) ++k;
    line first = {0};
    for (l->status = "never"; k <= FINEST; ++k) {
        const run_task task    = {.h = ldexp(1, -k), .patience = patience, .measure = true};
        l->result              = run_trial(&s->hosts[setup], &task);
        l->h                   = task.h;
        const run_result* r    = &l->result;
        const bool        done = r->end == RUN_DONE,
                   spent       = r->end == RUN_CUT || (done && 2 * r->seconds > patience);
        held                   = held || done;
        slow                   = spent ? slow + 1 : 0;
        if (slow == 1) first = *l;
        if (within(l->work, r)) l->status = "ok";
        else if (r->end == RUN_REFUSED) l->status = "refused";
        else if (slow == 2) *l = first, l->status = "slow";
        else if (s->hosts[setup].pid == 0) l->status = "crashed";
        else continue;
        return;
    }
    if (!held) l->status = word(l->result.end);
}

// ---- Times ---------------------------------------------------------------------------------------

// Short runs more than once: many short times have a good median. With contact, steps of the fall say nothing of those of
// the pile: whole runs, and of crowds the one that was measured.
static void time_turn(stage* s, int setup, line* l, double limit)
{
    const double   a_step = l->result.steps > 0 ? l->result.seconds / l->result.steps : 1;
    const double   whole  = l->h > 0 ? l->work->duration / l->h : 0;
    const bool     all    = l->work->kind == WORK_CONTACT;
    const int      steps  = (int)fmax(8, all ? whole : fmin(whole, limit / fmax(a_step, 1e-7)));
    const run_task task   = {.h = l->h, .steps = steps, .patience = 10 * limit + 20};
    for (int i = 0; i < 4 && (i == 0 || (i + 1) * steps * a_step < 0.1 * limit); ++i) {
        const run_result t = run_trial(&s->hosts[setup], &task);
        if (t.steps > 0 && t.end <= RUN_CUT && l->times < TIMES_MAX)
            l->a_step[l->times++] = t.seconds / t.steps;
    }
}

static void tell(const line* l)
{
    const run_result* r = &l->result;
    fprintf(
        stderr,
        "   %-24s %-8s h %-10.3g %9.3g s, motion %.1e, joint %.1e, energy %.1e, depth %.1e  %s\n",
        l->setup->name, l->status, l->h, r->seconds, r->motion, r->joint, r->energy, r->deepest,
        r->why);
}

static void equal_lines(stage* s)
{
    static line lines[SETUPS_MAX];
    double      best = HUGE_VAL;
    for (int i = 0; i < peer_setup_count; ++i) {
        line* l = &lines[i];
        *l      = (line){.work  = s->on.work,
                         .kind  = "equal",
                         .setup = &peer_setups[i],
                         .value = s->reference.error};
        if (s->shut[i]) {
            l->status = "refused";
            snprintf(l->result.why, sizeof l->result.why, "%s",
                     l->setup->limit ? l->setup->limit : "");
            continue;
        }
        search(s, i, best, l);
        if (strcmp(l->status, "ok") == 0) best = fmin(best, l->result.seconds);
        tell(l);
    }
    for (int r = 0; r < s->plan->repeats; ++r)
        for (int i = 0; i < peer_setup_count; ++i)
            if (strcmp(lines[i].status, "ok") == 0 && s->on.work->patience == 0)
                time_turn(s, i, &lines[i], s->plan->quick ? 0.1 : 0.4);
    for (int i = 0; i < peer_setup_count; ++i)
        if (!s->shut[i] || lines[i].result.why[0]) print_line(&lines[i]);
}

// The first steps, or evaluations, of all in turn.
static void turns(stage* s, const char* kind, run_task task)
{
    static line lines[SETUPS_MAX];
    for (int r = 0; r < s->plan->repeats; ++r) {
        for (int i = 0; i < peer_setup_count; ++i) {
            line* l = &lines[i];
            if (r == 0)
                *l =
                    (line){.work = s->on.work, .kind = kind, .setup = &peer_setups[i], .h = task.h};
            if (s->shut[i] || (task.forward && !l->setup->engine->evaluate)) continue;
            l->result = run_trial(&s->hosts[i], &task);
            l->status =
                l->result.end == RUN_CUT ? "ok" : word(l->result.end); // enough steps all the same
            if (l->result.steps > 0 && l->result.end <= RUN_CUT)
                l->a_step[l->times++] = l->result.seconds / l->result.steps;
        }
    }
    for (int i = 0; i < peer_setup_count; ++i)
        if (lines[i].times > 0) print_line(&lines[i]);
}

static void long_lines(stage* s)
{
    const bool     quick = s->plan->quick;
    const run_task task  = {1.0 / 1024, quick ? 10000 : 100000, quick ? 5 : 60, true, false};
    for (int i = 0; i < peer_setup_count; ++i) {
        line l = {.work = s->on.work, .kind = "long", .setup = &peer_setups[i], .h = task.h};
        if (s->shut[i]) continue;
        l.result = run_trial(&s->hosts[i], &task);
        l.status = word(l.result.end);
        if (l.result.end != RUN_REFUSED) print_line(&l);
    }
}

// ---- Stiffness -----------------------------------------------------------------------------------

static bool survives(const plan* p, const peer_work* w, const peer_setup* s, double k)
{
    peer_work work = *w;
    peer_case c;
    tn_why    why = {0};
    work.value = k, work.rigid = NULL;
    if (!peer_case_open(&c, &work, &why)) return false;
    run_host         host = run_open(&c, s, NULL);
    const run_task   task = {1.0 / 64, 256, p->patience, true, false};
    const run_result r    = run_trial(&host, &task);
    run_close(&host);
    peer_case_close(&c);
    return r.end == RUN_DONE && r.rise <= 0.1 && r.joint <= 0.01;
}

static void stiff_lines(const plan* p, const peer_work* w)
{
    for (int s = 0; s < peer_setup_count; ++s) {
        line l = {
            .work = w, .kind = "stiff", .setup = &peer_setups[s], .h = 1.0 / 64, .status = "none"};
        if (!strstr(l.setup->name, p->engine) || l.setup->forward) continue;
        for (int e = -2; e <= 8; e += p->quick ? 2 : 1)
            if (survives(p, w, l.setup, pow(10, e))) l.value = pow(10, e), l.status = "ok";
        print_line(&l);
    }
}

// ---- Words ---------------------------------------------------------------------------------------

static void one_case(const plan* p, const peer_work* w)
{
    static stage s;
    if (!stage_open(&s, p, w)) exit(1);
    if (w->kind == WORK_FORWARD)
        turns(&s, "forward", (run_task){.steps = 4000, .patience = 1, .forward = true});
    else equal_lines(&s);
    if (w->kind == WORK_MOTION)
        turns(&s, "pace",
              (run_task){.h = 1.0 / 1024, .steps = 100, .patience = p->quick ? 0.05 : 0.2});
    if (w->kind == WORK_ENERGY) long_lines(&s);
    stage_close(&s);
}

static int workload(const char* name, const plan* p)
{
    int              count = 0;
    const peer_work* stiff = NULL;
    for (int i = 0; i < peer_work_count; ++i) {
        const peer_work* w = &peer_works[i];
        if (strcmp(w->workload, name) != 0 || (p->quick && !w->quick) || !strstr(w->name, p->only))
            continue;
        one_case(p, w);
        if (w->rigid) stiff = w;
        ++count;
    }
    if (stiff && !p->only[0]) stiff_lines(p, stiff);
    if (count == 0) fprintf(stderr, "peers: no workload '%s'; see `peers list`\n", name);
    return count == 0;
}

static int list(void)
{
    for (int i = 0; i < peer_work_count; ++i)
        printf("%s %s%s\n", peer_works[i].workload, peer_works[i].name,
               peer_works[i].quick ? "" : " (not quick)");
    for (int i = 0; i < peer_setup_count; ++i)
        printf("%-18s %s\n", peer_setups[i].family, peer_setups[i].name);
    return 0;
}

static const peer_work* find_work(const char* name)
{
    char text[96];
    for (int i = 0; i < peer_work_count; ++i) {
        snprintf(text, sizeof text, "%s %s", peer_works[i].workload, peer_works[i].name);
        if (strcmp(text, name) == 0) return &peer_works[i];
    }
    return NULL;
}

static const peer_setup* find_setup(const char* name)
{
    for (int i = 0; i < peer_setup_count; ++i)
        if (strcmp(peer_setups[i].name, name) == 0) return &peer_setups[i];
    return NULL;
}

static int profile(const peer_case* c, const peer_setup* s, double h, int steps)
{
    tn_why why   = {0};
    void*  world = s->engine->open(&c->plain, &s->options, &why);
    bool   good  = world != NULL;
    for (int i = 0; good && i < steps; ++i)
        good = h > 0 ? s->engine->step(world, h, &why) : s->engine->evaluate(world, NULL, &why);
    if (!good) fprintf(stderr, "peers: %s\n", why.text);
    return !good;
}

static int one_run(const char* name, const char* engine, double h, int steps, bool bare)
{
    const peer_work*  w   = find_work(name);
    const peer_setup* s   = find_setup(engine);
    tn_why            why = {0};
    peer_case         c;
    run_reference     ref = {0};
    if (!w || !s || !peer_case_open(&c, w, &why)) {
        fprintf(stderr, "peers: no such case or setup; see `peers list` %s\n", why.text);
        return 2;
    }
    if (bare) return profile(&c, s, h, steps);
    if (w->kind == WORK_MOTION) {
        const bool good = run_reference_make(&ref, &c, 120, &why);
        printf("reference: %s, %.2g at h = %g\n", good ? "good" : "poor", ref.error, ref.h);
    }
    run_host         host = run_open(&c, s, ref.x ? &ref : NULL);
    const run_task   task = {h, steps, 600, true, w->kind == WORK_FORWARD};
    const run_result r    = run_trial(&host, &task);
    run_close(&host);
    printf(
        "%s: %d steps, %.3g us each, motion %.3g, joint %.3g, anchors %.3g, energy %.3g, rise %.3g, depth %.3g, "
        "stood %d, body 1 went %.3g %.3g %.3g; opening %.3g s %s\n",
        word(r.end), r.steps, 1e6 * r.seconds / fmax(r.steps, 1), r.motion, r.joint, r.anchors,
        r.energy, r.rise, r.deepest, r.stood, r.went[0], r.went[1], r.went[2], r.opening, r.why);
    return 0;
}

// On one processor, the last one unless told otherwise.
static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)(cpu >= 0 ? cpu : (int)sysconf(_SC_NPROCESSORS_ONLN) - 1), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fprintf(stderr, "peers: cannot be pinned to a processor\n");
}

int main(int argc, char** argv)
{
    const char* what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "list") == 0) return list();
    if (strcmp(what, "columns") == 0) return print_columns(), 0;
    if (strcmp(what, "run") == 0 && argc >= 5)
        return one_run(argv[2], argv[3], atof(argv[4]), argc > 5 ? atoi(argv[5]) : 0, false);
    if (strcmp(what, "profile") == 0 && argc == 6)
        return one_run(argv[2], argv[3], atof(argv[4]), atoi(argv[5]), true);
    plan p   = the_plan(false);
    int  cpu = -1;
    for (int i = 2; i < argc; ++i) {
        const char* next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quick") == 0) {
            const plan old = p;
            p              = the_plan(true);
            p.engine = old.engine, p.only = old.only;
        } else if (strcmp(argv[i], "--cpu") == 0) cpu = atoi(next), ++i;
        else if (strcmp(argv[i], "--engine") == 0) p.engine = next, ++i;
        else if (strcmp(argv[i], "--case") == 0) p.only = next, ++i;
        else what = "";
    }
    if (what[0] != 'W') {
        fprintf(
            stderr,
            "usage: peers WORKLOAD [--quick] [--cpu N] [--engine WORD] [--case WORD] | list | columns |\n"
            "       run CASE SETUP H [STEPS] | profile CASE SETUP H STEPS\n");
        return 2;
    }
    pin(cpu);
    return workload(what, &p);
}
