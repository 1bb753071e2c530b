// bench: the benchmark suite. Each measurement is repeated; the smallest and the median time are
// told, the smallest being the machine at its quietest. Repetitions of different sizes take turns, so
// that a slow spell of the machine hits all of them alike.
#include "bench.h"

#include "scenes/scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set(tnc_options* options, const char* key, const char* value)
{
    tnc_setting* s = &options->settings[options->setting_count++];
    *s             = (tnc_setting){.option = "bench", .value = value};
    snprintf(s->key, sizeof s->key, "%s", key);
}

tnc_options tnc_bench_options(const char* spec, const char* integrator, const char* loops)
{
    static const tnc_command bench   = {.name = "bench"};
    tnc_options              options = {.command = &bench, .argument = spec};
    if (integrator || loops) set(&options, "method", "multiplier");
    if (integrator) set(&options, "multiplier.integrator", integrator);
    if (loops) set(&options, "multiplier.loops", loops);
    return options;
}

bool tnc_bench_failed(const char* spec, const tn_why* why)
{
    tnc_complain_why(spec, why);
    return false;
}

// A scene made ready, from its name alone.
static bool open_job(tnc_job* job, const char* spec, const char* integrator)
{
    const tnc_options options = tnc_bench_options(spec, integrator, NULL);
    *job                      = (tnc_job){0};
    return tnc_job_open(job, &options) == TNC_DONE;
}

// ---- baraff: the two examples of the paper -------------------------------------------------------

enum { PHASE_KINEMATICS, PHASE_ASSEMBLE, PHASE_FACTOR, PHASE_SOLVE, PHASE_ALL, PHASE_COUNT };

typedef struct paper_case {
    const char* spec;
    const char* told; ///< by the paper
} paper_case;

static const paper_case paper_cases[] = {
    {"@planar_web", "54 joints, 108 multipliers: 7.75 ms in all, of which 2.75 ms in J"},
    {"@tree", "127 joints, 381 multipliers: 44.6 ms in all, of which 4 ms in J"},
};

static bool measure_phases(tnc_job* job, int repeat, tnc_times* times)
{
    for (int i = 0; i < PHASE_COUNT; ++i) tnc_times_clear(&times[i]);
    tn_stepper_set_clock(job->stepper, tnc_clock, NULL);
    for (int i = -repeat / 10 - 1; i < repeat; ++i) { // the first few only warm up
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnc_clock(NULL);
        if (tn_stepper_evaluate(job->stepper, job->state, &report, &why) != TN_OK)
            return tnc_bench_failed(job->origin, &why);
        const double ended = tnc_clock(NULL);
        if (i < 0) continue;
        tnc_times_add(&times[PHASE_KINEMATICS], report.phases.kinematics);
        tnc_times_add(&times[PHASE_ASSEMBLE], report.phases.assemble);
        tnc_times_add(&times[PHASE_FACTOR], report.phases.factor);
        tnc_times_add(&times[PHASE_SOLVE], report.phases.solve);
        tnc_times_add(&times[PHASE_ALL], ended - begun);
    }
    return true;
}

static void tell_paper_case(const paper_case* c, const tnc_job* job, tnc_times* times,
                            tnc_sheet* to)
{
    static const char* const phase_words[PHASE_COUNT] = {"kinematics", "assemble", "factor",
                                                         "solve", "all"};
    const tn_counts          n                        = tn_model_counts(job->model);
    tnc_put(&to->table, "%-12s %5d joints %5d multipliers      min [us]  median [us]\n",
            c->spec + 1, n.joints, n.rows);
    for (int p = 0; p < PHASE_COUNT; ++p) {
        const double median = tnc_times_median(&times[p]);
        tnc_put(&to->table, "%44s %10.2f %12.2f\n", phase_words[p], 1e6 * times[p].min,
                1e6 * median);
        tnc_put(&to->csv, "baraff,%s,%d,%s_us,%.3f,%.3f\n", c->spec + 1, n.bodies, phase_words[p],
                1e6 * times[p].min, 1e6 * median);
    }
    const double ratio = times[PHASE_FACTOR].min / times[PHASE_SOLVE].min;
    tnc_put(&to->table, "%44s %10.2f   (the paper: about 4)\n", "factor : solve", ratio);
    tnc_put(&to->csv, "baraff,%s,%d,factor_to_solve,%.3f,\n", c->spec + 1, n.bodies, ratio);
    tnc_put(&to->table, "    the paper, on a 250 MHz R4400: %s\n\n", c->told);
}

static bool bench_baraff(const tnc_options* options, tnc_sheet* to)
{
    const int  repeat = options->repeat ? (int)options->repeat : 2000;
    tnc_times* times  = malloc(PHASE_COUNT * sizeof *times);
    bool       good   = times != NULL;
    tnc_put(&to->table, "baraff: one evaluation of accelerations and multipliers, %d times\n\n",
            repeat);
    for (int i = 0; good && i < (int)(sizeof paper_cases / sizeof *paper_cases); ++i) {
        tnc_job job;
        good = open_job(&job, paper_cases[i].spec, NULL) && measure_phases(&job, repeat, times);
        if (good) tell_paper_case(&paper_cases[i], &job, times, to);
        tnc_job_close(&job);
    }
    free(times);
    return good;
}

// ---- linear: time and memory a body --------------------------------------------------------------

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
    tnc_job    job;
    int        bodies;
    size_t     bytes; ///< model and stepper
    tnc_times *evaluate, *step;
} sized;

static bool time_evaluate(sized* s)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    if (tn_stepper_evaluate(s->job.stepper, s->job.state, NULL, &why) != TN_OK)
        return tnc_bench_failed(s->job.origin, &why);
    tnc_times_add(s->evaluate, tnc_clock(NULL) - begun);
    return true;
}

static bool time_step(sized* s)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    if (tn_stepper_step(s->job.stepper, s->job.state, s->job.settings.h, NULL, &why) != TN_OK)
        return tnc_bench_failed(s->job.origin, &why);
    tnc_times_add(s->step, tnc_clock(NULL) - begun);
    tn_state_reset(s->job.state);
    return true;
}

static bool open_sized(sized* s, const char* spec)
{
    if (!open_job(&s->job, spec, "rk4")) return false;
    s->bodies   = tn_model_counts(s->job.model).bodies;
    s->bytes    = tn_model_counts(s->job.model).bytes + tn_stepper_bytes(s->job.stepper);
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
    tnc_job_close(&s->job);
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
                       double first_min, const char* what, tnc_sheet* to)
{
    const double ns = 1e9 / s->bodies, median = tnc_times_median(times);
    const double ratio = times->min / s->bodies / (first_min / first->bodies);
    tnc_put(&to->table, "%-8s %9d  %-9s %12.1f %14.1f %8.2f %12.0f\n", f->name, s->bodies, what,
            ns * times->min, ns * median, ratio, (double)s->bytes / s->bodies);
    tnc_put(&to->csv, "linear,%s,%d,%s_ns_per_body,%.2f,%.2f\n", f->name, s->bodies, what,
            ns * times->min, ns * median);
    tnc_put(&to->csv, "linear,%s,%d,%s_ratio,%.4f,\n", f->name, s->bodies, what, ratio);
}

static void tell_family(const family* f, sized* sizes, int count, tnc_sheet* to)
{
    const double evaluate_min = sizes[0].evaluate->min, step_min = sizes[0].step->min;
    for (int i = 0; i < count; ++i) {
        sized* s = &sizes[i];
        tell_times(f, s, &sizes[0], s->evaluate, evaluate_min, "evaluate", to);
        tell_times(f, s, &sizes[0], s->step, step_min, "rk4_step", to);
        tnc_put(&to->csv, "linear,%s,%d,bytes_per_body,%.1f,\n", f->name, s->bodies,
                (double)s->bytes / s->bodies);
    }
}

static bool bench_family(const family* f, int count, int repeat, tnc_sheet* to)
{
    sized sizes[SIZE_COUNT] = {0};
    bool  good              = true;
    for (int i = 0; good && i < count; ++i) good = open_sized(&sizes[i], f->specs[i]);
    if (good) good = take_turns(sizes, count, repeat);
    if (good) tell_family(f, sizes, count, to);
    for (int i = 0; i < count; ++i) close_sized(&sizes[i]);
    return good;
}

static bool bench_linear(const tnc_options* options, tnc_sheet* to)
{
    const int repeat = options->repeat ? (int)options->repeat : 5;
    bool      good   = true;
    tnc_put(&to->table,
            "linear: time and memory a body; the ratio is to the first size, 1 is linear\n\n");
    tnc_put(&to->table, "%-8s %9s  %-9s %12s %14s %8s %12s\n", "scene", "bodies", "what",
            "min [ns]", "median [ns]", "ratio", "bytes");
    for (int i = 0; good && i < (int)(sizeof families / sizeof *families); ++i)
        good = bench_family(&families[i], options->large ? SIZE_COUNT : SIZE_COUNT - 1, repeat, to);
    tnc_put(&to->table, "\n");
    return good;
}

// ---- scenes: every built-in at its default size --------------------------------------------------

enum { SCENE_STEPS = 100 };

static bool step_scene(tnc_job* job, tnc_times* times, double* error, long long most)
{
    *error = 0;
    for (int i = 0; i < most; ++i) {
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnc_clock(NULL);
        if (tn_stepper_step(job->stepper, job->state, job->settings.h, &report, &why) != TN_OK)
            return tnc_bench_failed(job->origin, &why);
        tnc_times_add(times, tnc_clock(NULL) - begun);
        *error = fmax(*error, report.joint_error);
    }
    return true;
}

static bool bench_scene(const char* name, int repeat, tnc_times* times, tnc_sheet* to)
{
    tnc_job job;
    char    spec[80];
    double  error = 0;
    snprintf(spec, sizeof spec, "@%s", name);
    bool good = open_job(&job, spec, NULL);
    tnc_times_clear(times);
    for (int i = 0; good && i < repeat; ++i) {
        tn_state_reset(job.state);
        good = step_scene(&job, times, &error, SCENE_STEPS);
    }
    if (good) {
        const tn_counts n      = tn_model_counts(job.model);
        const double    median = tnc_times_median(times);
        tnc_put(&to->table, "%-16s %7d %7d %7d  %-10s %10.1f %12.1f %12.1e\n", name, n.bodies,
                n.joints, n.rows, tn_method_word(tn_stepper_method(job.stepper)), 1e6 * times->min,
                1e6 * median, error);
        tnc_put(&to->csv, "scenes,%s,%d,step_us,%.3f,%.3f\nscenes,%s,%d,joint_error,%.3e,\n", name,
                n.bodies, 1e6 * times->min, 1e6 * median, name, n.bodies, error);
    }
    tnc_job_close(&job);
    return good;
}

static bool bench_scenes(const tnc_options* options, tnc_sheet* to)
{
    const int  repeat = options->repeat ? (int)options->repeat : 1;
    tnc_times* times  = malloc(sizeof *times);
    bool       good   = times != NULL;
    tnc_put(&to->table, "scenes: %d steps of each built-in scene\n\n", (int)SCENE_STEPS);
    tnc_put(&to->table, "%-16s %7s %7s %7s  %-10s %10s %12s %12s\n", "scene", "bodies", "joints",
            "rows", "method", "min [us]", "median [us]", "joint error");
    // A scene that cannot be stepped is told; the others still run.
    for (int i = 0; times && tns_at(i); ++i)
        good = bench_scene(tns_at(i)->name, repeat, times, to) && good;
    tnc_put(&to->table, "\n");
    free(times);
    return good;
}

// ---- The command ---------------------------------------------------------------------------------

static bool bench_impulse(const tnc_options* options, tnc_sheet* to)
{
    return tnc_bench_impulse(options, options->part, to);
}

typedef struct suite {
    const char* name;
    bool (*run)(const tnc_options* options, tnc_sheet* to);
} suite;

static const suite suites[] = {{"baraff", bench_baraff},         {"linear", bench_linear},
                               {"scenes", bench_scenes},         {"auxiliary", tnc_bench_auxiliary},
                               {"impulse", bench_impulse},       {"implicit", tnc_bench_implicit},
                               {"adaptive", tnc_bench_adaptive}, {"batch", tnc_bench_batch}};
enum { SUITE_COUNT = sizeof suites / sizeof suites[0] };

static bool is_known(const char* name)
{
    const char* names[SUITE_COUNT];
    for (int i = 0; i < SUITE_COUNT; ++i) {
        names[i] = suites[i].name;
        if (strcmp(name, names[i]) == 0) return true;
    }
    const char* near = tn_nearest_word(name, names, SUITE_COUNT);
    if (near) tnc_complain("unknown benchmark '%.200s' (did you mean '%s'?)", name, near);
    else tnc_complain("unknown benchmark '%.200s'; tenon bench --list shows them", name);
    return false;
}

static bool is_known_part(const char* name, const char* part)
{
    if (strcmp(name, "impulse") == 0) return tnc_bench_impulse_has(part);
    if (strcmp(name, "implicit") == 0) return tnc_bench_implicit_has(part);
    if (strcmp(name, "adaptive") == 0) return tnc_bench_adaptive_has(part);
    tnc_complain("unexpected argument '%.200s': benchmark '%s' has no parts", part, name);
    return false;
}

static bool open_sheet(tnc_sheet* to, const tnc_options* options)
{
    *to = (tnc_sheet){0};
    if (options->csv && !tnc_out_open(&to->csv, options->csv)) return false;
    tnc_put(&to->csv, "suite,scene,bodies,quantity,min,median\n");
    const bool console = to->csv.file == stdout;
    return console || options->quiet || tnc_out_open(&to->table, "-");
}

int tnc_bench(const tnc_options* options)
{
    if (options->list) {
        for (int i = 0; i < SUITE_COUNT; ++i) printf("%s\n", suites[i].name);
        return TNC_DONE;
    }
    tnc_sheet to;
    if (options->argument && !is_known(options->argument)) return TNC_WRONG;
    if (options->part && !is_known_part(options->argument, options->part)) return TNC_WRONG;
    if (!open_sheet(&to, options)) return TNC_WRONG;
    bool good = true;
    for (int i = 0; i < SUITE_COUNT; ++i) {
        if (options->argument && strcmp(options->argument, suites[i].name) != 0) continue;
        good = suites[i].run(options, &to) && good;
    }
    return tnc_out_close(&to.csv) && tnc_out_close(&to.table) && good ? TNC_DONE : TNC_STOPPED;
}
