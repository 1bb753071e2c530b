// linear: time and memory a body, from a thousand bodies to a million: linear when it stays the same.
#include "mechanism.h"

#include <stdlib.h>

enum { SIZE_COUNT = 4 };

typedef struct family {
    const char* name;
    const char* specs[SIZE_COUNT]; ///< about 1e3, 1e4, 1e5, 1e6 bodies
} family;

static const family families[] = {
    {"chain", {"@chain:n=1000", "@chain:n=10000", "@chain:n=100000", "@chain:n=1000000"}},
    {"tree", {"@tree:depth=10", "@tree:depth=13", "@tree:depth=17", "@tree:depth=20"}},
};

typedef struct sized {
    tnb_trial  trial;
    int        bodies;
    size_t     bytes; ///< model and stepper
    tnc_times *evaluate, *step;
} sized;

static bool time_evaluate(sized* s)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    if (tn_stepper_evaluate(s->trial.stepper, s->trial.state, NULL, &why) != TN_OK)
        return tnb_failed(s->trial.spec, &why);
    tnc_times_add(s->evaluate, tnc_clock(NULL) - begun);
    return true;
}

static bool time_step(sized* s)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    if (tn_stepper_step(s->trial.stepper, s->trial.state, s->trial.settings.h, NULL, &why) != TN_OK)
        return tnb_failed(s->trial.spec, &why);
    tnc_times_add(s->step, tnc_clock(NULL) - begun);
    tn_state_reset(s->trial.state);
    return true;
}

static bool open_sized(sized* s, const char* spec)
{
    if (!tnb_trial_load(&s->trial, spec, NULL)) return false;
    tnb_set_method(&s->trial.settings, TN_METHOD_MULTIPLIER);
    s->trial.settings.multiplier.integrator = TN_INTEGRATOR_RK4;
    if (!tnb_trial_ready(&s->trial)) return false;
    s->bodies   = s->trial.counts.bodies;
    s->bytes    = s->trial.counts.bytes + tn_stepper_bytes(s->trial.stepper);
    s->evaluate = malloc(sizeof *s->evaluate);
    s->step     = malloc(sizeof *s->step);
    if (!s->evaluate || !s->step) return false;
    tnc_times_clear(s->evaluate);
    tnc_times_clear(s->step);
    return true;
}

static void close_sized(sized* s)
{
    free(s->evaluate);
    free(s->step);
    tnb_trial_close(&s->trial);
}

// Small sizes are timed several times a turn, so that all sizes get about the same attention.
static bool take_turns(sized* sizes, int count, int repeat)
{
    for (int turn = -1; turn < repeat; ++turn) {
        for (int i = 0; i < count; ++i) {
            sized*    s     = &sizes[i];
            const int times = s->bodies < 20000 ? 20000 / s->bodies : 1;
            for (int k = 0; k < times; ++k)
                if (!time_evaluate(s) || !time_step(s)) return false;
        }
        for (int i = 0; turn < 0 && i < count; ++i) { // the first turn only warms up
            tnc_times_clear(sizes[i].evaluate);
            tnc_times_clear(sizes[i].step);
        }
    }
    return true;
}

static void tell_times(const family* f, const sized* s, const sized* first, tnc_times* times,
                       double first_min, const char* what, tnb_run* run)
{
    const double ns = 1e9 / s->bodies, median = tnc_times_median(times);
    const double ratio = times->min / s->bodies / (first_min / first->bodies);
    tnb_tell(run, "%-8s %9d  %-9s %12.1f %14.1f %8.2f %12.0f\n", f->name, s->bodies, what,
             ns * times->min, ns * median, ratio, (double)s->bytes / s->bodies);
    tnc_put(&run->to->csv, "linear,%s,%d,%s_ns_per_body,%.2f,%.2f\n", f->name, s->bodies, what,
            ns * times->min, ns * median);
    tnc_put(&run->to->csv, "linear,%s,%d,%s_ratio,%.4f,\n", f->name, s->bodies, what, ratio);
}

static void tell_family(const family* f, sized* sizes, int count, tnb_run* run)
{
    const double evaluate_min = sizes[0].evaluate->min, step_min = sizes[0].step->min;
    for (int i = 0; i < count; ++i) {
        sized* s = &sizes[i];
        tell_times(f, s, &sizes[0], s->evaluate, evaluate_min, "evaluate", run);
        tell_times(f, s, &sizes[0], s->step, step_min, "rk4_step", run);
        tnc_put(&run->to->csv, "linear,%s,%d,bytes_per_body,%.1f,\n", f->name, s->bodies,
                (double)s->bytes / s->bodies);
    }
}

static bool bench_family(const family* f, int count, int repeat, tnb_run* run)
{
    sized sizes[SIZE_COUNT] = {0};
    bool  good              = true;
    for (int i = 0; good && i < count; ++i) good = open_sized(&sizes[i], f->specs[i]);
    if (good) good = take_turns(sizes, count, repeat);
    if (good) tell_family(f, sizes, count, run);
    for (int i = 0; i < count; ++i) close_sized(&sizes[i]);
    return good;
}

static bool bench_linear(tnb_run* run)
{
    const int repeat = run->repeat ? run->repeat : 5;
    bool      good   = true;
    tnb_tell(run,
             "linear: time and memory a body; the ratio is to the first size, 1 is linear\n\n");
    tnb_tell(run, "%-8s %9s  %-9s %12s %14s %8s %12s\n", "scene", "bodies", "what", "min [ns]",
             "median [ns]", "ratio", "bytes");
    for (int i = 0; good && i < (int)(sizeof families / sizeof *families); ++i)
        good = bench_family(&families[i], run->large ? SIZE_COUNT : SIZE_COUNT - 1, repeat, run);
    tnb_tell(run, "\n");
    return good;
}

const tnb_suite tnb_linear = {
    "linear", "time and memory a body, from a thousand bodies up: linear when it stays put", NULL,
    bench_linear, NULL};
