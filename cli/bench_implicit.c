// bench implicit: the implicit method on the examples of Hernandez, Garre, Casillas, Otaduy 2011
// ("H").
//     figure4       a hanging chain with springs in its joints, swinging gently: time a frame
//                   against links, 10 to 100,000, for each form of the step
//     characters    hand, robot, humanoid: microseconds a step
// Sizes of a chain take turns, so that a slow spell of the machine hits all alike. Times are the
// processor's, not the wall's: long steps would count what other programs do meanwhile.
#define _POSIX_C_SOURCE 200809L
#include "bench_impulse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct way {
    tn_implicit_form  form;
    tn_implicit_solve solve;
    const char*       form_word;
    const char*       solve_word;
} way;

static const way ways[] = {
    {TN_IMPLICIT_NULLSPACE, TN_IMPLICIT_LINEAR, "nullspace", "linear"},
    {TN_IMPLICIT_NULLSPACE, TN_IMPLICIT_CORRECTED, "nullspace", "corrected"},
    {TN_IMPLICIT_ROWS, TN_IMPLICIT_LINEAR, "rows", "linear"},
    {TN_IMPLICIT_ROWS, TN_IMPLICIT_CORRECTED, "rows", "corrected"},
    {TN_IMPLICIT_BLOCKS, TN_IMPLICIT_LINEAR, "blocks", "linear"},
    {TN_IMPLICIT_BLOCKS, TN_IMPLICIT_CORRECTED, "blocks", "corrected"},
    {TN_IMPLICIT_EXACT, TN_IMPLICIT_LINEAR, "exact", "linear"},
    {TN_IMPLICIT_EXACT, TN_IMPLICIT_CORRECTED, "exact", "corrected"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static tn_settings settings_of(const tnc_machine* machine, const way* w, double h)
{
    tn_settings s    = tn_scene_settings(machine->scene);
    s.method         = TN_METHOD_IMPLICIT;
    s.h              = h;
    s.implicit.form  = w->form;
    s.implicit.solve = w->solve;
    return s;
}

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool open_way(tnc_runner* r, const tnc_machine* machine, const way* w)
{
    const tn_settings s = settings_of(machine, w, tnc_frame);
    return tnc_runner_open(r, machine, &s);
}

static bool step(tnc_runner* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = processor_time();
    if (tn_stepper_step(r->stepper, r->state, r->settings.h, &report, &why) != TN_OK)
        return tnc_bench_failed(r->machine->spec, &why);
    const double took = processor_time() - begun;
    if (took > 0) tnc_times_add(r->step, took); // virtual machines have been seen to say 0
    tnc_times_add(r->factor, report.phases.factor);
    tnc_times_add(r->solve, report.phases.solve);
    ++r->steps;
    r->iterations += report.iteration_count;
    r->error = fmax(r->error, report.joint_error);
    return true;
}

// ---- Figure 4 ------------------------------------------------------------------------------------

static const int sizes[] = {10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/// One way at all sizes.
typedef struct board {
    tnc_machine machines[SIZES];
    tnc_runner  runners[SIZES];
} board;

// The built-in chain lies along x: it hangs where gravity does. A tenth aside makes it swing.
static bool open_hanging(tnc_machine* m, int links)
{
    static const double aside = 0.1, g = 9.81;
    char                spec[96];
    tn_why              why = {0};
    snprintf(spec, sizeof spec, "@chain:n=%d,stiffness=1", links);
    if (!tnc_machine_open(m, spec)) return false;
    tn_scene_set_gravity(m->scene, (tn_vec3){g * sqrt(1 - aside * aside), 0, -g * aside});
    tn_model_free(m->model);
    m->model = NULL;
    if (tn_scene_compile(m->scene, &m->model, &why) != TN_OK) return tnc_bench_failed(spec, &why);
    return true;
}

static bool step_turn(tnc_runner* r, int links)
{
    const int steps = links < 20000 ? 20000 / links : 1;
    for (int k = 0; k < steps; ++k)
        if (!step(r)) return false;
    return true;
}

static bool time_way(const tnc_bench_run* run, const way* w, board* b)
{
    const int turns = run->repeat > 0 ? run->repeat : 15;
    for (int turn = -1; turn < turns; ++turn) { // the first one only warms up
        tnc_bench_say(run, "figure4: %s, %s, turn %d of %d", w->form_word, w->solve_word, turn + 1,
                      turns);
        for (int i = 0; i < SIZES; ++i)
            if (!step_turn(&b->runners[i], sizes[i])) return false;
        for (int i = 0; turn < 0 && i < SIZES; ++i) tnc_runner_clear(&b->runners[i]);
    }
    return true;
}

/// What is kept of a way.
typedef struct line {
    bool   there;
    double microseconds[SIZES];             ///< a step, median
    double factor[SIZES], solve[SIZES];     ///< of it [us]
    double least[SIZES], iterations[SIZES]; ///< [us]; a step
} line;

static void keep(board* b, line* l)
{
    l->there = true;
    for (int i = 0; i < SIZES; ++i) {
        tnc_runner* r      = &b->runners[i];
        l->microseconds[i] = 1e6 * tnc_times_median(r->step);
        l->least[i]        = 1e6 * r->step->min;
        l->factor[i]       = 1e6 * tnc_times_median(r->factor);
        l->solve[i]        = 1e6 * tnc_times_median(r->solve);
        l->iterations[i]   = (double)r->iterations / r->steps;
    }
}

static void tell_way(const tnc_bench_run* run, const way* w, const board* b, const line* l)
{
    for (int i = 0; i < SIZES; ++i) {
        const tnc_runner* r  = &b->runners[i];
        const double      ns = 1e3 / sizes[i];
        tnc_bench_tell(run, "%-10s %-10s %7d %12.1f %9.1f %9.1f %9.1f %9.1f %8.2f %9.1e %7.0f\n",
                       w->form_word, w->solve_word, sizes[i], l->microseconds[i],
                       ns * l->microseconds[i], ns * l->least[i], ns * l->factor[i],
                       ns * l->solve[i], l->iterations[i], r->error,
                       (double)tn_stepper_bytes(r->stepper) / sizes[i]);
        tnc_put(&run->to->csv, "figure4,chain,%d,%s_%s_step_us,%.3f,%.3f\n", sizes[i], w->form_word,
                w->solve_word, l->least[i], l->microseconds[i]);
    }
}

// Slope of log time over log links by least squares over all sizes from one on.
static double slope(const double* time, int first)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = first; i < SIZES; ++i) {
        const double u = log(sizes[i]), v = log(time[i]);
        n += 1, sx += u, sy += v, sxx += u * u, sxy += u * v;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static bool bench_way(tnc_bench_run* run, const way* w, board* b, line* l)
{
    bool good = true;
    *b        = (board){0};
    for (int i = 0; good && i < SIZES; ++i) {
        tnc_bench_say(run, "figure4: %s, %s, preparing %d links", w->form_word, w->solve_word,
                      sizes[i]);
        good = open_hanging(&b->machines[i], sizes[i]);
        if (!good) break;
        good = open_way(&b->runners[i], &b->machines[i], w);
        if (!good)
            tnc_bench_tell(run, "%-10s %-10s not there: %s\n", w->form_word, w->solve_word,
                           b->runners[i].why.text);
    }
    if (good && time_way(run, w, b)) {
        keep(b, l);
        tell_way(run, w, b, l);
    }
    for (int i = 0; i < SIZES; ++i) {
        tnc_runner_close(&b->runners[i]);
        tnc_machine_close(&b->machines[i]);
    }
    return good && l->there;
}

static void tell_slopes(const tnc_bench_run* run, const line* lines)
{
    tnc_bench_tell(run,
                   "\ngrowth with links, least squares in the log plot: over all sizes, from 100 "
                   "on, and of the least\ntimes; and beside H\n"
                   "%-10s %-10s %9s %9s %9s %13s %8s %13s %8s\n",
                   "", "", "all", "from 100", "least", "1,000 [ms]", "22 ms:", "10,000 [ms]",
                   "285 ms:");
    for (int k = 0; k < WAYS; ++k) {
        const line* l = &lines[k];
        if (!l->there) continue;
        const double all = slope(l->microseconds, 0), most = slope(l->microseconds, 2);
        const double a = 1e-3 * l->microseconds[4], b = 1e-3 * l->microseconds[6];
        tnc_bench_tell(run, "%-10s %-10s %9.3f %9.3f %9.3f %13.3f %7.0fx %13.3f %7.0fx\n",
                       ways[k].form_word, ways[k].solve_word, all, most, slope(l->least, 0), a,
                       22 / a, b, 285 / b);
        tnc_put(&run->to->csv,
                "figure4,chain,0,%s_%s_slope,%.4f,\nfigure4,chain,0,%s_%s_slope_from_100,%.4f,\n",
                ways[k].form_word, ways[k].solve_word, all, ways[k].form_word, ways[k].solve_word,
                most);
    }
    tnc_put(&run->to->csv,
            "figure4,paper,1000,step_us,22000,\nfigure4,paper,10000,step_us,285000,\n");
}

/// Of docs/theory/linear-systems.md 7: a ball joint and its body.
typedef struct cost {
    const char* form_word;
    double      factor, solve; ///< flops
    double      bytes;         ///< of state, touched about twice
} cost;

static const cost costs[] = {{"nullspace", 260, 100, 480},
                             {"rows", 1097, 432, 720},
                             {"blocks", 1143, 378, 720},
                             {"exact", 2286, 756, 720}};

static void tell_costs(const tnc_bench_run* run, const line* lines)
{
    tnc_bench_tell(
        run,
        "\na link at 1,000 links, one linear solve, beside the limits: flops of factorisation and "
        "solve, at 16 a cycle\nand 2.5 GHz; bytes of state touched twice, from a level-2 "
        "cache at 50 GB/s [ns]\n%-10s %6s %6s %8s %8s %10s %10s %10s\n",
        "", "factor", "solve", "flops", "bytes", "factor", "solve", "step");
    for (int k = 0; k < WAYS; ++k) {
        if (!lines[k].there || ways[k].solve != TN_IMPLICIT_LINEAR) continue;
        for (int c = 0; c < (int)(sizeof costs / sizeof *costs); ++c) {
            if (strcmp(costs[c].form_word, ways[k].form_word) != 0) continue;
            tnc_bench_tell(run, "%-10s %6.0f %6.0f %8.1f %8.1f %10.1f %10.1f %10.1f\n",
                           costs[c].form_word, costs[c].factor, costs[c].solve,
                           (costs[c].factor + costs[c].solve) / 40, 2 * costs[c].bytes / 50,
                           lines[k].factor[4], lines[k].solve[4], lines[k].microseconds[4]);
        }
    }
    tnc_bench_tell(run, "\n");
}

static bool bench_figure4(tnc_bench_run* run)
{
    board* b     = malloc(sizeof *b);
    line*  lines = calloc(WAYS, sizeof *lines);
    bool   any   = false;
    tnc_bench_tell(
        run,
        "figure 4: a chain hangs, springs of 1 N m/rad in its ball joints, and swings; h = 1/60 s, "
        "median times.\nH on one core of 2.4 GHz: 22 ms a frame for 1,000 links, 285 ms for 10,000\n\n"
        "%-10s %-10s %7s %12s %9s %9s %9s %9s %8s %9s %7s\n",
        "form", "solve", "links", "step [us]", "ns a link", "least", "factor", "solve", "iterat.",
        "error", "bytes");
    for (int k = 0; b && lines && k < WAYS; ++k)
        any = bench_way(run, &ways[k], b, &lines[k]) || any;
    if (any) tell_slopes(run, lines);
    if (any) tell_costs(run, lines);
    free(lines);
    free(b);
    return any;
}

// ---- Characters ----------------------------------------------------------------------------------

static const way auto_ways[] = {{TN_IMPLICIT_FORM_AUTO, TN_IMPLICIT_LINEAR, "auto", "linear"},
                                {TN_IMPLICIT_FORM_AUTO, TN_IMPLICIT_CORRECTED, "auto", "corrected"},
                                {TN_IMPLICIT_FORM_AUTO, TN_IMPLICIT_NEWTON, "auto", "newton"}};
enum { AUTO_WAYS = sizeof auto_ways / sizeof *auto_ways };

static void tell_character(const tnc_bench_run* run, const char* name, const way* w, tnc_runner* r)
{
    const double median = tnc_times_median(r->step);
    tnc_bench_tell(run, "%-10s %6d %6d %6d  %-10s %9.1f %9.1f %9.1f %9.1f %8.2f %9.1e\n", name,
                   r->machine->counts.bodies, r->machine->counts.joints, r->machine->counts.rows,
                   w->solve_word, 1e6 * r->step->min, 1e6 * median,
                   1e6 * tnc_times_median(r->factor), 1e6 * tnc_times_median(r->solve),
                   (double)r->iterations / r->steps, r->error);
    tnc_put(&run->to->csv, "characters,%s,%d,%s_step_us,%.2f,%.2f\n", name,
            r->machine->counts.bodies, w->solve_word, 1e6 * r->step->min, 1e6 * median);
}

static bool bench_character(tnc_bench_run* run, const char* name)
{
    enum { STEPS = 600 };
    tnc_machine machine            = {0};
    tnc_runner  runners[AUTO_WAYS] = {0};
    char        spec[32];
    snprintf(spec, sizeof spec, "@%s", name);
    bool good = tnc_machine_open(&machine, spec);
    for (int k = 0; good && k < AUTO_WAYS; ++k)
        good = open_way(&runners[k], &machine, &auto_ways[k]) ||
               tnc_bench_failed(spec, &runners[k].why);
    bool going[AUTO_WAYS] = {good, good, good};
    for (int i = 0; i < STEPS; ++i) { // one that gives up does not stop the others
        if (i % 64 == 0) tnc_bench_say(run, "characters: %s, step %d of %d", name, i, (int)STEPS);
        for (int k = 0; k < AUTO_WAYS; ++k) going[k] = going[k] && step(&runners[k]);
    }
    for (int k = 0; k < AUTO_WAYS; ++k) {
        if (going[k]) tell_character(run, name, &auto_ways[k], &runners[k]);
        tnc_runner_close(&runners[k]);
        good = good && going[k];
    }
    tnc_machine_close(&machine);
    return good;
}

static bool bench_characters(tnc_bench_run* run)
{
    static const char* const names[] = {"hand", "robot", "humanoid"};
    bool                     good    = true;
    tnc_bench_tell(run,
                   "characters: 600 steps of 1/60 s, [us]; factorisations and solves of it. H: 360 "
                   "us for its hand,\n16 bones, 15 joints\n\n"
                   "%-10s %6s %6s %6s  %-10s %9s %9s %9s %9s %8s %9s\n",
                   "", "bodies", "joints", "rows", "solve", "min", "median", "factor", "solves",
                   "iterat.", "error");
    for (int i = 0; i < (int)(sizeof names / sizeof *names); ++i)
        good = bench_character(run, names[i]) && good;
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- The benchmark -------------------------------------------------------------------------------

static const tnc_bench_part parts[] = {{"figure4", bench_figure4, false},
                                       {"characters", bench_characters, false}};
enum { PARTS = sizeof parts / sizeof parts[0] };

bool tnc_bench_implicit_has(const char* name)
{
    return tnc_bench_has_part("implicit", parts, PARTS, name);
}

bool tnc_bench_implicit(const tnc_options* options, tnc_sheet* to)
{
    tnc_bench_run run = {.to       = to,
                         .repeat   = (int)options->repeat,
                         .large    = options->large,
                         .progress = tnc_progress_begin(options->quiet)};
    return tnc_bench_run_parts(&run, parts, PARTS, options->part);
}
