// bench impulse: the impulse method on the examples of Tomcin, Sibbing, Kobbelt 2014 ("T").
//     figure3    Peaucellier's linkage: iterations of the joint correction against the regularisation
//     figure5    spider and tree: factorisation and solve against rows            (bench_figures.c)
//     figure6    scissor, strandbeest, tube, cube: fill against rows              (bench_figures.c)
//     realtime   simulated time over wall time, at 60 steps a second
//     load       a strandbeest of 100 legs that carries k times its own mass
//     energy     how far energy strays in 1e5 steps, and Bricard's ring at several steps
//     large      a tube of 150 rings and a cube of 4,913 octahedra: a few steps, and the memory
// What is compared takes turns, so that a slow spell of the machine hits all alike.
#define _DEFAULT_SOURCE

#include "bench_impulse.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char* const tnc_form_words[TNC_FORM_COUNT] = {"kkt",         "spd",           "split",
                                                    "spd_cholmod", "split_cholmod", "auto"};

void tnc_bench_say(const tnc_bench_run* run, const char* format, ...)
{
    va_list args;
    if (!run->progress.shown) return;
    va_start(args, format);
    fprintf(stderr, "\r");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\033[K");
    fflush(stderr);
    va_end(args);
}

void tnc_bench_tell(const tnc_bench_run* run, const char* format, ...)
{
    va_list args;
    FILE*   file = run->to->table.file;
    if (!file) return;
    if (run->progress.shown) fprintf(stderr, "\r\033[K");
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fflush(file);
}

bool tnc_bench_has_part(const char* bench, const tnc_bench_part* parts, int count, const char* name)
{
    enum { PARTS_MAX = 16 };
    const char* names[PARTS_MAX];
    char        all[200] = "";
    for (int i = 0; i < count && i < PARTS_MAX; ++i) {
        names[i] = parts[i].name;
        if (strcmp(name, names[i]) == 0) return true;
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char* near = tn_nearest_word(name, names, count);
    if (near)
        tnc_complain("bench %s: unknown part '%.200s' (did you mean '%s'?)", bench, name, near);
    else tnc_complain("bench %s: unknown part '%.200s'; there are %s", bench, name, all);
    return false;
}

bool tnc_bench_run_parts(tnc_bench_run* run, const tnc_bench_part* parts, int count,
                         const char* name)
{
    bool good = true;
    for (int i = 0; i < count; ++i) {
        if (name ? strcmp(name, parts[i].name) != 0 : parts[i].alone) continue;
        good = parts[i].run(run) && good;
        tnc_progress_end(&run->progress);
    }
    return good;
}

double tnc_log_slope(const double* x, const double* y, int count)
{
    const int first = count > 3 ? count / 2 : 0;
    double    n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = first; i < count; ++i) {
        const double u = log(x[i]), v = log(y[i]);
        n += 1, sx += u, sy += v, sxx += u * u, sxy += u * v;
    }
    return n > 1 ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : 0;
}

// ---- Machines ------------------------------------------------------------------------------------

// Three quarters of what the machine has.
static size_t memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages / 4 * 3 * (size_t)size : SIZE_MAX;
}

static void* take(void* user, size_t bytes)
{
    tnc_purse* purse = user;
    if (bytes > purse->limit - purse->bytes) return NULL;
    void* block = malloc(bytes ? bytes : 1);
    if (!block) return NULL;
    purse->bytes += bytes;
    if (purse->bytes > purse->peak) purse->peak = purse->bytes;
    return block;
}

static void give_back(void* user, void* block, size_t bytes)
{
    tnc_purse* purse = user;
    if (block) purse->bytes -= bytes;
    free(block);
}

bool tnc_machine_open(tnc_machine* m, const char* spec)
{
    tn_why       why   = {0};
    const double begun = tnc_clock(NULL);
    snprintf(m->spec, sizeof m->spec, "%s", spec);
    m->purse.limit = memory_limit();
    m->host        = (tn_host){.allocate = take, .release = give_back, .user = &m->purse};
    if (tnc_scene_load(&m->host, m->spec, &m->scene) != TNC_DONE) return false;
    if (tn_scene_compile(m->scene, &m->model, &why) != TN_OK) return tnc_bench_failed(spec, &why);
    m->counts          = tn_model_counts(m->model);
    m->compile_seconds = tnc_clock(NULL) - begun;
    return true;
}

void tnc_machine_close(tnc_machine* m)
{
    tn_model_free(m->model);
    tn_scene_free(m->scene);
}

tn_settings tnc_runner_settings(const tnc_machine* machine, int form, double h)
{
    static const tn_formulation formulations[TNC_FORM_COUNT] = {
        TN_FORMULATION_KKT, TN_FORMULATION_SPD,   TN_FORMULATION_SPLIT,
        TN_FORMULATION_SPD, TN_FORMULATION_SPLIT, TN_FORMULATION_AUTO};
    const bool  cholmod   = form == TNC_FORM_SPD_CHOLMOD || form == TNC_FORM_SPLIT_CHOLMOD;
    tn_settings s         = tn_scene_settings(machine->scene);
    s.method              = TN_METHOD_IMPULSE;
    s.h                   = h;
    s.impulse.formulation = formulations[form];
    s.impulse.backend     = cholmod ? TN_BACKEND_CHOLMOD : TN_BACKEND_CORE;
    return s;
}

static bool take_times(tnc_times** times)
{
    *times = malloc(sizeof **times);
    if (*times) tnc_times_clear(*times);
    return *times != NULL;
}

bool tnc_runner_open(tnc_runner* r, const tnc_machine* machine, const tn_settings* settings)
{
    const double begun = tnc_clock(NULL);
    *r                 = (tnc_runner){.machine = machine, .settings = *settings};
    if (!take_times(&r->factor) || !take_times(&r->solve) || !take_times(&r->step)) return false;
    if (tn_state_create(machine->model, &r->state) != TN_OK) return false;
    if (tn_stepper_create(machine->model, settings, &r->stepper, &r->why) != TN_OK) return false;
    r->create_seconds = tnc_clock(NULL) - begun;
    tn_stepper_set_clock(r->stepper, tnc_clock, NULL);
    return tn_stepper_solver(r->stepper, &r->solver) == TN_OK;
}

void tnc_runner_close(tnc_runner* r)
{
    free(r->factor);
    free(r->solve);
    free(r->step);
    tn_stepper_free(r->stepper);
    tn_state_free(r->state);
    *r = (tnc_runner){0};
}

void tnc_runner_clear(tnc_runner* r)
{
    tnc_times_clear(r->factor);
    tnc_times_clear(r->solve);
    tnc_times_clear(r->step);
    r->steps = r->iterations_max = 0;
    r->iterations = r->refinements = r->pieces = r->unclosed = 0;
    r->time = r->error = 0;
}

static void note(tnc_runner* r, const tn_step_report* report, double seconds)
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

bool tnc_runner_step(tnc_runner* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = tnc_clock(NULL);
    if (tn_stepper_step(r->stepper, r->state, r->settings.h, &report, &why) != TN_OK)
        return tnc_bench_failed(r->machine->spec, &why);
    note(r, &report, tnc_clock(NULL) - begun);
    return true;
}

bool tnc_runner_evaluate(tnc_runner* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = tnc_clock(NULL);
    if (tn_stepper_evaluate(r->stepper, r->state, &report, &why) != TN_OK)
        return tnc_bench_failed(r->machine->spec, &why);
    note(r, &report, tnc_clock(NULL) - begun);
    return true;
}

static double mean_iterations(const tnc_runner* r)
{
    return r->steps > 0 ? (double)r->iterations / r->steps : 0;
}

// Steps of all runners in turns of a few, until each has gone as far as it shall or has had its
// share of wall time; one that fails is left where it is.
static bool go(const tnc_bench_run* run, const char* what, tnc_runner* runners, int count,
               double duration, double seconds)
{
    enum { TURN = 10 };
    bool good = true, more = true;
    while (more) {
        more = false;
        for (int i = 0; i < count; ++i) {
            tnc_runner* r     = &runners[i];
            const int   steps = r->stepper ? (int)(duration / r->settings.h + 0.5) : 0;
            bool        fine  = true;
            tnc_bench_say(run, "%s: %d of %d, step %d of %d", what, i + 1, count, r->steps, steps);
            for (int k = 0; fine && k < TURN && r->steps < steps && r->step->total < seconds; ++k)
                fine = tnc_runner_step(r);
            if (!fine) {
                tn_stepper_free(r->stepper);
                r->stepper = NULL;
                good       = false;
                continue;
            }
            more = more || (r->steps < steps && r->step->total < seconds);
        }
    }
    return good;
}

// ---- Figure 3 ------------------------------------------------------------------------------------

// T: speed tuned so that the singular position is nearly reached; the tip's line is level.
static const char   figure3_spec[] = "@peaucellier:speed=2.2678";
static const double figure3_line   = 4 - 5 / 1.8;

typedef struct swing {
    const char* name;
    const char* spec;
    double      eps, tolerance, duration;
    bool        paper; ///< S + eps |S|_1, else our own
} swing;

static bool bench_swing(tnc_bench_run* run, const swing* w)
{
    tnc_machine machine = {0};
    tnc_runner  r       = {0};
    double      off     = 0;
    bool        good    = tnc_machine_open(&machine, w->spec);
    if (good) {
        tn_settings s = tnc_runner_settings(&machine, w->paper ? TNC_FORM_SPD : TNC_FORM_KKT, 0.03);
        s.impulse.alpha          = w->paper ? TN_ALPHA_NORM : TN_ALPHA_ROWS;
        s.impulse.regularisation = w->eps;
        s.impulse.tolerance      = w->tolerance;
        s.impulse.iterations     = 500;
        good                     = tnc_runner_open(&r, &machine, &s);
        if (!good) tnc_bench_failed(w->name, &r.why);
    }
    const tn_joint_id tip   = good ? tn_model_find_joint(machine.model, "tip") : (tn_joint_id){0};
    const int         steps = (int)(w->duration / 0.03 + 0.5);
    while (good && r.steps < steps) {
        if (r.steps % 64 == 0)
            tnc_bench_say(run, "figure3: %s, step %d of %d", w->name, r.steps, steps);
        good = tnc_runner_step(&r);
        off  = fmax(off, fabs(tn_state_joint_anchor(r.state, tip, 1).z - figure3_line));
    }
    if (good) {
        tnc_bench_tell(run, "%-22s %7.0e %9.0e %9.0f %10.2f %8d %8lld %8lld %11.1e %11.1e %10.1f\n",
                       w->name, w->eps, w->tolerance, w->duration, mean_iterations(&r),
                       r.iterations_max, r.pieces - r.steps, r.unclosed, r.error, off,
                       1e6 * r.step->total / r.steps);
        tnc_put(&run->to->csv,
                "figure3,%s_%.0e,%d,iterations,%.3f,%d\nfigure3,%s_%.0e,%d,tip,%.3e,\n", w->name,
                w->eps, machine.counts.bodies, mean_iterations(&r), r.iterations_max, w->name,
                w->eps, machine.counts.bodies, off);
    }
    tnc_runner_close(&r);
    tnc_machine_close(&machine);
    return good;
}

static bool bench_figure3(tnc_bench_run* run)
{
    static const double eps[]  = {1e-8, 1e-10, 1e-12, 1e-14, 1e-16};
    const swing         last[] = {{"kkt_from_rest", "@peaucellier", 1e-11, 1e-9, 60, false},
                                  {"kkt_from_rest_tight", "@peaucellier", 1e-11, 1e-12, 60, false},
                                  {"kkt_near_singular", figure3_spec, 1e-11, 1e-9, 60, false},
                                  {"kkt_near_tight", figure3_spec, 1e-11, 1e-12, 60, false}};
    bool                good   = true;
    tnc_bench_tell(
        run,
        "figure 3: Peaucellier's linkage, 9 redundant rows, h = 0.03 s, swings nearly to its\n"
        "singular position; spd_norm regularises S by eps |S|_1 as in the paper, kkt each row by\n"
        "its own size. unclosed: pieces taken although a joint stayed open; tip: how far it\n"
        "leaves its straight line [m]. Over time, with the\n"
        "condition number: bench_peaucellier\n\n%-22s %7s %9s %9s %10s %8s %8s %8s %11s %11s %10s\n",
        "", "eps", "tolerance", "seconds", "iterations", "at most", "halvings", "unclosed",
        "joint error", "tip", "us a step");
    for (int i = 0; i < 10; ++i) {
        const swing w = {i < 5 ? "spd_norm" : "kkt", figure3_spec, eps[i % 5], 1e-9, 12, i < 5};
        good          = bench_swing(run, &w) && good;
    }
    for (int i = 0; i < (int)(sizeof last / sizeof *last); ++i)
        good = bench_swing(run, &last[i]) && good;
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- Real time -----------------------------------------------------------------------------------

static void tell_realtime(tnc_bench_run* run, const char* name, int form, tnc_runner* r)
{
    const double             factor = r->time / r->step->total, median = tnc_times_median(r->step);
    static const char* const became[] = {"auto", "kkt", "spd", "split"};
    tnc_bench_tell(run, "%-32s %6d %-14s %-6s %8.2f %9.2f %9.2f %9.2f %9.2f %8.2f %8.2f %8.1e\n",
                   name, r->machine->counts.rows, tnc_form_words[form],
                   became[r->solver.formulation], r->time, factor, 1e3 * r->step->min, 1e3 * median,
                   1e3 * r->factor->total / r->steps, 1e3 * r->solve->total / r->steps,
                   mean_iterations(r), r->error);
    tnc_put(&run->to->csv, "realtime,%s,%d,%s_step_us,%.1f,%.1f\nrealtime,%s,%d,%s_factor,%.3f,\n",
            name, r->machine->counts.bodies, tnc_form_words[form], 1e6 * r->step->min, 1e6 * median,
            name, r->machine->counts.bodies, tnc_form_words[form], factor);
}

static bool realtime_scene(tnc_bench_run* run, const char* name, const char* spec)
{
    tnc_machine machine                 = {0};
    tnc_runner  runners[TNC_FORM_COUNT] = {0};
    bool        good                    = tnc_machine_open(&machine, spec);
    for (int form = 0; good && form < TNC_FORM_COUNT; ++form) {
        const tn_settings s = tnc_runner_settings(&machine, form, tnc_frame);
        (void)tnc_runner_open(&runners[form], &machine, &s);
    }
    if (good) good = go(run, name, runners, TNC_FORM_COUNT, 3, 15);
    for (int form = 0; form < TNC_FORM_COUNT; ++form) {
        if (runners[form].stepper) tell_realtime(run, name, form, &runners[form]);
        tnc_runner_close(&runners[form]);
    }
    tnc_machine_close(&machine);
    return good;
}

static bool bench_realtime(tnc_bench_run* run)
{
    tnc_bench_tell(
        run,
        "real time: 3 s at 60 steps a second, or as far as 15 s of wall time go; factor: simulated\n"
        "over wall time; milliseconds a step, factorisation and solves of it on the mean\n\n"
        "%-32s %6s %-14s %-6s %8s %9s %9s %9s %9s %8s %8s %8s\n",
        "", "rows", "form", "", "seconds", "factor", "min", "median", "factor.", "solves",
        "iterat.", "error");
    bool good = realtime_scene(run, "scissor_50", "@scissor:segments=50");
    good      = realtime_scene(run, "strandbeest_12", "@strandbeest:legs=12") && good;
    good = realtime_scene(run, "octahedron_tube_8", "@octahedron_tube:rings=8,around=20") && good;
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- Load ----------------------------------------------------------------------------------------

enum { LOADS = 4 };

static void tell_load(const tnc_bench_run* run, tnc_runner* r, int load)
{
    const double median = tnc_times_median(r->step);
    tnc_bench_tell(run, "%6d %6d %9.0f %9.2f %9.2f %10.2f %8d %11.1e\n", load,
                   r->machine->counts.rows, 1e3 * r->step->total, 1e3 * r->step->min, 1e3 * median,
                   mean_iterations(r), r->iterations_max, r->error);
    tnc_put(
        &run->to->csv,
        "load,strandbeest_k%d,%d,step_us,%.1f,%.1f\nload,strandbeest_k%d,%d,joint_error,%.3e,\n",
        load, r->machine->counts.bodies, 1e6 * r->step->min, 1e6 * median, load,
        r->machine->counts.bodies, r->error);
}

static bool bench_load(tnc_bench_run* run)
{
    static const int loads[LOADS]    = {0, 5, 10, 20};
    tnc_machine      machines[LOADS] = {0};
    tnc_runner       runners[LOADS]  = {0};
    bool             good            = true;
    tnc_bench_tell(
        run,
        "load: a strandbeest of 100 legs falls with its crank driven at 3 rad/s, and k times its\n"
        "mass on its frame; h = 20 ms, 5 s. The paper's drops on a floor and takes 7730, 9790, 10078,\n"
        "8924 ms, error < 1e-6. Held by its feet, beside ODE: bench/peers\n\n"
        "%6s %6s %9s %9s %9s %10s %8s %11s\n",
        "k", "rows", "ms in all", "min [ms]", "median", "iterations", "at most", "joint error");
    for (int i = 0; good && i < LOADS; ++i) {
        char spec[96];
        snprintf(spec, sizeof spec, "@strandbeest:legs=100,frame=free,motor=3,load=%d", loads[i]);
        good = tnc_machine_open(&machines[i], spec);
        if (!good) break;
        const tn_settings s = tnc_runner_settings(&machines[i], TNC_FORM_AUTO, 0.02);
        good                = tnc_runner_open(&runners[i], &machines[i], &s);
        if (!good) tnc_bench_failed(spec, &runners[i].why);
    }
    if (good) good = go(run, "load", runners, LOADS, 5, HUGE_VAL);
    for (int i = 0; i < LOADS; ++i) {
        if (good) tell_load(run, &runners[i], loads[i]);
        tnc_runner_close(&runners[i]);
        tnc_machine_close(&machines[i]);
    }
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- Energy --------------------------------------------------------------------------------------

enum { WINDOWS = 10 };

/// Total energy less that of the start, over the largest kinetic energy so far.
typedef struct envelope {
    double first, kinetic;
    double lowest[WINDOWS], highest[WINDOWS], mean[WINDOWS];
} envelope;

static bool follow_energy(tnc_bench_run* run, tnc_runner* r, int steps, envelope* e)
{
    *e = (envelope){.first = tnc_energy(r->state)};
    for (int w = 0; w < WINDOWS; ++w) e->lowest[w] = HUGE_VAL, e->highest[w] = -HUGE_VAL;
    for (int i = 0; i < steps; ++i) {
        const int w = (int)((long long)i * WINDOWS / steps);
        if (i % 4096 == 0)
            tnc_bench_say(run, "energy: %s, step %d of %d", r->machine->spec + 1, i, steps);
        if (!tnc_runner_step(r)) return false;
        const double off = tnc_energy(r->state) - e->first;
        e->kinetic       = fmax(e->kinetic, tn_state_energy(r->state).kinetic);
        e->lowest[w]     = fmin(e->lowest[w], off);
        e->highest[w]    = fmax(e->highest[w], off);
        e->mean[w] += off * WINDOWS / steps;
    }
    return true;
}

static double farthest(const envelope* e)
{
    double most = 0;
    for (int w = 0; w < WINDOWS; ++w)
        most = fmax(most, fmax(fabs(e->lowest[w]), fabs(e->highest[w])));
    return most;
}

static bool open_energy(tnc_machine* machine, tnc_runner* r, const char* spec, double h)
{
    if (!tnc_machine_open(machine, spec)) return false;
    tn_settings s       = tnc_runner_settings(machine, TNC_FORM_AUTO, h);
    s.impulse.tolerance = 1e-12; // what is left of joint errors must not look like energy
    return tnc_runner_open(r, machine, &s) || tnc_bench_failed(spec, &r->why);
}

static bool bench_windows(tnc_bench_run* run, const char* name, const char* spec, double h)
{
    enum { STEPS = 100000 };
    tnc_machine machine = {0};
    tnc_runner  r       = {0};
    envelope    e;
    const bool  good = open_energy(&machine, &r, spec, h) && follow_energy(run, &r, STEPS, &e);
    for (int w = 0; good && w < WINDOWS; ++w) {
        const double from = w * (STEPS / WINDOWS) * h, to = (w + 1) * (STEPS / WINDOWS) * h;
        const double low = e.lowest[w] / e.kinetic, high = e.highest[w] / e.kinetic;
        tnc_bench_tell(run, "%-12s %7.3g %7.0f to %5.0f s %11.2e %11.2e %11.2e\n", w ? "" : name, h,
                       from, to, low, high, e.mean[w] / e.kinetic);
        tnc_put(&run->to->csv, "energy,%s_window%d,%d,energy_error,%.4e,%.4e\n", name, w,
                machine.counts.bodies, low, high);
    }
    tnc_runner_close(&r);
    tnc_machine_close(&machine);
    return good;
}

static bool bench_bricard(tnc_bench_run* run, double h, double* before)
{
    tnc_machine machine = {0};
    tnc_runner  r       = {0};
    envelope    e;
    const int   steps = (int)(10 / h + 0.5);
    const bool good = open_energy(&machine, &r, "@bricard", h) && follow_energy(run, &r, steps, &e);
    if (good) {
        const double most = farthest(&e) / e.kinetic, start = farthest(&e) / fabs(e.first);
        char         order[16] = "";
        if (*before > 0) snprintf(order, sizeof order, "%.2f", log2(*before / most));
        tnc_bench_tell(run, "%-12s %7.3g %8d %13.2e %13.2e %11.1e %7s\n", "bricard", h, steps, most,
                       start, r.error, order);
        tnc_put(&run->to->csv, "energy,bricard_%g,%d,energy_error,%.4e,\n", h,
                machine.counts.bodies, most);
        *before = most;
    }
    tnc_runner_close(&r);
    tnc_machine_close(&machine);
    return good;
}

static bool bench_energy(tnc_bench_run* run)
{
    bool   good   = true;
    double before = 0;
    tnc_bench_tell(
        run,
        "energy: how far it strays in 100,000 steps of frictionless loops, over the largest\n"
        "kinetic energy; least, most and mean in ten windows\n\n%-12s %7s %18s %11s %11s %11s\n",
        "", "h [s]", "window", "least", "most", "mean");
    good = bench_windows(run, "fourbar", "@fourbar", 0.005) && good;
    good = bench_windows(run, "peaucellier", "@peaucellier", 0.01) && good;
    tnc_bench_tell(run,
                   "\nBricard's ring, 10 s: the farthest from the start, over the largest "
                   "kinetic energy and over\nthe energy of the start\n\n"
                   "%-12s %7s %8s %13s %13s %11s %7s\n",
                   "", "h [s]", "steps", "over kinetic", "over start", "joint error", "order");
    for (double h = 0.008; h > 0.0004; h *= 0.5) good = bench_bricard(run, h, &before) && good;
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- Large ---------------------------------------------------------------------------------------

static bool bench_giant(tnc_bench_run* run, const char* name, const char* spec, double eps)
{
    enum { STEPS = 2 };
    tnc_machine machine = {0};
    tnc_runner  r       = {0};
    tnc_bench_say(run, "large: %s, compiling", name);
    bool good = tnc_machine_open(&machine, spec);
    if (good) {
        tn_settings s            = tnc_runner_settings(&machine, TNC_FORM_AUTO, tnc_frame);
        s.impulse.regularisation = eps;
        tnc_bench_say(run, "large: %s, %d rows, preparing", name, machine.counts.rows);
        good = tnc_runner_open(&r, &machine, &s);
        if (!good) tnc_bench_failed(name, &r.why);
    }
    for (int i = 0; good && i < STEPS; ++i) {
        tnc_bench_say(run, "large: %s, %d rows, step %d of %d", name, machine.counts.rows, i + 1,
                      (int)STEPS);
        good = tnc_runner_step(&r);
    }
    if (good) {
        const double median = tnc_times_median(r.step);
        tnc_bench_tell(
            run, "%-20s %7d %8.1f %8.1f %9.2e %9.2e %9.1e %9.2f %9.2f %9.2f %7.1f %9.1e %6.2f\n",
            name, machine.counts.rows, machine.compile_seconds, r.create_seconds,
            r.solver.matrix_numbers, r.solver.factor_numbers, r.solver.factor_flops, r.factor->min,
            r.solve->min, r.step->min, mean_iterations(&r), r.error,
            (double)machine.purse.peak / (1 << 30));
        tnc_put(&run->to->csv, "large,%s,%d,step_us,%.1f,%.1f\nlarge,%s,%d,bytes,%.0f,\n", name,
                machine.counts.bodies, 1e6 * r.step->min, 1e6 * median, name, machine.counts.bodies,
                (double)machine.purse.peak);
    }
    tnc_runner_close(&r);
    tnc_machine_close(&machine);
    return good;
}

static bool bench_large(tnc_bench_run* run)
{
    tnc_bench_tell(
        run,
        "large: 2 steps of 1/60 s, the fastest told [s]; factorisation and solves in it; memory: the\n"
        "most that the library held [GiB]\n\n"
        "%-20s %7s %8s %8s %9s %9s %9s %9s %9s %9s %7s %9s %6s\n",
        "", "rows", "compile", "prepare", "matrix", "factor", "flops", "factor.", "solves", "step",
        "iterat.", "error", "memory");
    bool good =
        bench_giant(run, "octahedron_tube_150", "@octahedron_tube:rings=150,around=20", 1e-12);
    good = bench_giant(run, "octahedron_cube_17", "@octahedron_cube:n=17", 1e-12) && good;
    tnc_bench_tell(run, "\n");
    return good;
}

// ---- The benchmark -------------------------------------------------------------------------------

static const tnc_bench_part parts[] = {
    {"figure3", bench_figure3, false},     {"figure5", tnc_bench_figure5, false},
    {"figure6", tnc_bench_figure6, false}, {"realtime", bench_realtime, false},
    {"load", bench_load, false},           {"energy", bench_energy, false},
    {"large", bench_large, true}};
enum { PARTS = sizeof parts / sizeof parts[0] };

bool tnc_bench_impulse_has(const char* name)
{
    return tnc_bench_has_part("impulse", parts, PARTS, name);
}

static bool has_cholmod(void)
{
    tnc_machine machine = {0};
    tnc_runner  r       = {0};
    bool        has     = tnc_machine_open(&machine, "@fourbar");
    if (has) {
        const tn_settings s = tnc_runner_settings(&machine, TNC_FORM_SPD_CHOLMOD, tnc_frame);
        has                 = tnc_runner_open(&r, &machine, &s);
    }
    tnc_runner_close(&r);
    tnc_machine_close(&machine);
    return has;
}

bool tnc_bench_impulse(const tnc_options* options, const char* name, tnc_sheet* to)
{
    tnc_bench_run run = {.to       = to,
                         .repeat   = (int)options->repeat,
                         .large    = options->large,
                         .cholmod  = has_cholmod(),
                         .progress = tnc_progress_begin(options->quiet)};
    if (!run.cholmod)
        tnc_put(&to->table, "CHOLMOD is not built in (cmake -DTENON_CHOLMOD=ON): without it\n\n");
    return tnc_bench_run_parts(&run, parts, PARTS, name);
}
