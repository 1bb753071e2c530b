// impulse: the impulse method on the examples of Tomcin, Sibbing, Kobbelt 2014 ("T").
//     figure3    Peaucellier's linkage: iterations of the joint correction against the regularisation
//     figure5    spider and tree: factorisation and solve against rows            (impulse_figures.c)
//     figure6    scissor, strandbeest, tube, cube: fill against rows              (impulse_figures.c)
//     realtime   simulated time over wall time, at 60 steps a second
//     load       a strandbeest of 100 legs that carries k times its own mass
//     energy     how far energy strays in 1e5 steps, and Bricard's ring at several steps
//     large      a tube of 150 rings and a cube of 4,913 octahedra: a few steps, and the memory
// What is compared takes turns, so that a slow spell of the machine hits all alike.
#include "impulse.h"

#include <math.h>

static double mean_iterations(const tnb_runner* r)
{
    return r->steps > 0 ? (double)r->iterations / r->steps : 0;
}

// Steps of all runners in turns of a few, until each has gone as far as it shall or has had its
// share of wall time; one that fails is left where it is.
static bool go(const tnb_run* run, const char* what, tnb_runner* runners, int count,
               double duration, double seconds)
{
    enum { TURN = 10 };
    bool good = true, more = true;
    while (more) {
        more = false;
        for (int i = 0; i < count; ++i) {
            tnb_runner* r     = &runners[i];
            const int   steps = r->stepper ? (int)(duration / r->settings.h + 0.5) : 0;
            bool        fine  = true;
            tnb_say(run, "%s: %d of %d, step %d of %d", what, i + 1, count, r->steps, steps);
            for (int k = 0; fine && k < TURN && r->steps < steps && r->step->total < seconds; ++k)
                fine = tnb_runner_step(r);
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

static bool bench_swing(tnb_run* run, const swing* w)
{
    tnb_machine machine = {0};
    tnb_runner  r       = {0};
    double      off     = 0;
    bool        good    = tnb_machine_open(&machine, w->spec);
    if (good) {
        tn_settings s = tnb_runner_settings(&machine, w->paper ? TNB_FORM_SPD : TNB_FORM_KKT, 0.03);
        s.impulse.regularisation = w->eps;
        s.impulse.tolerance      = w->tolerance;
        s.impulse.iterations     = 500;
        good = tnb_runner_open(&r, &machine, &s, (tnb_variant){.by_norm = w->paper});
        if (!good) tnb_failed(w->name, &r.why);
    }
    const tn_joint_id tip   = good ? tn_model_find_joint(machine.model, "tip") : (tn_joint_id){0};
    const int         steps = (int)(w->duration / 0.03 + 0.5);
    while (good && r.steps < steps) {
        if (r.steps % 64 == 0) tnb_say(run, "figure3: %s, step %d of %d", w->name, r.steps, steps);
        good = tnb_runner_step(&r);
        off  = fmax(off, fabs(tn_state_joint_anchor(r.state, tip, 1).z - figure3_line));
    }
    if (good) {
        tnb_tell(run, "%-22s %7.0e %9.0e %9.0f %10.2f %8d %8lld %8lld %11.1e %11.1e %10.1f\n",
                 w->name, w->eps, w->tolerance, w->duration, mean_iterations(&r), r.iterations_max,
                 r.pieces - r.steps, r.unclosed, r.error, off, 1e6 * r.step->total / r.steps);
        tnc_put(&run->to->csv,
                "figure3,%s_%.0e,%d,iterations,%.3f,%d\nfigure3,%s_%.0e,%d,tip,%.3e,\n", w->name,
                w->eps, machine.counts.bodies, mean_iterations(&r), r.iterations_max, w->name,
                w->eps, machine.counts.bodies, off);
    }
    tnb_runner_close(&r);
    tnb_machine_close(&machine);
    return good;
}

static bool bench_figure3(tnb_run* run)
{
    static const double eps[]  = {1e-8, 1e-10, 1e-12, 1e-14, 1e-16};
    const swing         last[] = {{"kkt_from_rest", "@peaucellier", 1e-11, 1e-9, 60, false},
                                  {"kkt_from_rest_tight", "@peaucellier", 1e-11, 1e-12, 60, false},
                                  {"kkt_near_singular", figure3_spec, 1e-11, 1e-9, 60, false},
                                  {"kkt_near_tight", figure3_spec, 1e-11, 1e-12, 60, false}};
    bool                good   = true;
    tnb_tell(
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
    tnb_tell(run, "\n");
    return good;
}

// ---- Real time -----------------------------------------------------------------------------------

static void tell_realtime(tnb_run* run, const char* name, int form, tnb_runner* r)
{
    const double             factor = r->time / r->step->total, median = tnc_times_median(r->step);
    static const char* const became[] = {"auto", "kkt", "spd", "split"};
    tnb_tell(run, "%-32s %6d %-14s %-6s %8.2f %9.2f %9.2f %9.2f %9.2f %8.2f %8.2f %8.1e\n", name,
             r->machine->counts.rows, tnb_form_words[form], became[r->solver.formulation], r->time,
             factor, 1e3 * r->step->min, 1e3 * median, 1e3 * r->factor->total / r->steps,
             1e3 * r->solve->total / r->steps, mean_iterations(r), r->error);
    tnc_put(&run->to->csv, "realtime,%s,%d,%s_step_us,%.1f,%.1f\nrealtime,%s,%d,%s_factor,%.3f,\n",
            name, r->machine->counts.bodies, tnb_form_words[form], 1e6 * r->step->min, 1e6 * median,
            name, r->machine->counts.bodies, tnb_form_words[form], factor);
}

static bool realtime_scene(tnb_run* run, const char* name, const char* spec)
{
    tnb_machine machine                 = {0};
    tnb_runner  runners[TNB_FORM_COUNT] = {0};
    bool        good                    = tnb_machine_open(&machine, spec);
    for (int form = 0; good && form < TNB_FORM_COUNT; ++form) {
        (void)tnb_runner_open_form(&runners[form], &machine, form, tnb_frame);
    }
    if (good) good = go(run, name, runners, TNB_FORM_COUNT, 3, 15);
    for (int form = 0; form < TNB_FORM_COUNT; ++form) {
        if (runners[form].stepper) tell_realtime(run, name, form, &runners[form]);
        tnb_runner_close(&runners[form]);
    }
    tnb_machine_close(&machine);
    return good;
}

static bool bench_realtime(tnb_run* run)
{
    tnb_tell(
        run,
        "real time: 3 s at 60 steps a second, or as far as 15 s of wall time go; factor: simulated\n"
        "over wall time; milliseconds a step, factorisation and solves of it on the mean\n\n"
        "%-32s %6s %-14s %-6s %8s %9s %9s %9s %9s %8s %8s %8s\n",
        "", "rows", "form", "", "seconds", "factor", "min", "median", "factor.", "solves",
        "iterat.", "error");
    bool good = realtime_scene(run, "scissor_50", "@scissor:segments=50");
    good      = realtime_scene(run, "strandbeest_12", "@strandbeest:legs=12") && good;
    good = realtime_scene(run, "octahedron_tube_8", "@octahedron_tube:rings=8,around=20") && good;
    tnb_tell(run, "\n");
    return good;
}

// ---- Load ----------------------------------------------------------------------------------------

enum { LOADS = 4 };

static void tell_load(const tnb_run* run, tnb_runner* r, int load)
{
    const double median = tnc_times_median(r->step);
    tnb_tell(run, "%6d %6d %9.0f %9.2f %9.2f %10.2f %8d %11.1e\n", load, r->machine->counts.rows,
             1e3 * r->step->total, 1e3 * r->step->min, 1e3 * median, mean_iterations(r),
             r->iterations_max, r->error);
    tnc_put(
        &run->to->csv,
        "load,strandbeest_k%d,%d,step_us,%.1f,%.1f\nload,strandbeest_k%d,%d,joint_error,%.3e,\n",
        load, r->machine->counts.bodies, 1e6 * r->step->min, 1e6 * median, load,
        r->machine->counts.bodies, r->error);
}

static bool bench_load(tnb_run* run)
{
    static const int loads[LOADS]    = {0, 5, 10, 20};
    tnb_machine      machines[LOADS] = {0};
    tnb_runner       runners[LOADS]  = {0};
    bool             good            = true;
    tnb_tell(
        run,
        "load: a strandbeest of 100 legs falls with its crank driven at 3 rad/s, and k times its\n"
        "mass on its frame; h = 20 ms, 5 s. The paper's drops on a floor and takes 7730, 9790, 10078,\n"
        "8924 ms, error < 1e-6. Held by its feet, beside ODE: bench/peers\n\n"
        "%6s %6s %9s %9s %9s %10s %8s %11s\n",
        "k", "rows", "ms in all", "min [ms]", "median", "iterations", "at most", "joint error");
    for (int i = 0; good && i < LOADS; ++i) {
        char spec[96];
        snprintf(spec, sizeof spec, "@strandbeest:legs=100,frame=free,motor=3,load=%d", loads[i]);
        good = tnb_machine_open(&machines[i], spec);
        if (!good) break;
        good = tnb_runner_open_form(&runners[i], &machines[i], TNB_FORM_AUTO, 0.02);
        if (!good) tnb_failed(spec, &runners[i].why);
    }
    if (good) good = go(run, "load", runners, LOADS, 5, HUGE_VAL);
    for (int i = 0; i < LOADS; ++i) {
        if (good) tell_load(run, &runners[i], loads[i]);
        tnb_runner_close(&runners[i]);
        tnb_machine_close(&machines[i]);
    }
    tnb_tell(run, "\n");
    return good;
}

// ---- Energy --------------------------------------------------------------------------------------

enum { WINDOWS = 10 };

/// Total energy less that of the start, over the largest kinetic energy so far.
typedef struct envelope {
    double first, kinetic;
    double lowest[WINDOWS], highest[WINDOWS], mean[WINDOWS];
} envelope;

static bool follow_energy(tnb_run* run, tnb_runner* r, int steps, envelope* e)
{
    *e = (envelope){.first = tnc_energy(r->state)};
    for (int w = 0; w < WINDOWS; ++w) e->lowest[w] = HUGE_VAL, e->highest[w] = -HUGE_VAL;
    for (int i = 0; i < steps; ++i) {
        const int w = (int)((long long)i * WINDOWS / steps);
        if (i % 4096 == 0)
            tnb_say(run, "energy: %s, step %d of %d", r->machine->spec + 1, i, steps);
        if (!tnb_runner_step(r)) return false;
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

static bool open_energy(tnb_machine* machine, tnb_runner* r, const char* spec, double h)
{
    if (!tnb_machine_open(machine, spec)) return false;
    tn_settings s       = tnb_runner_settings(machine, TNB_FORM_AUTO, h);
    s.impulse.tolerance = 1e-12; // what is left of joint errors must not look like energy
    return tnb_runner_open(r, machine, &s, (tnb_variant){0}) || tnb_failed(spec, &r->why);
}

static bool bench_windows(tnb_run* run, const char* name, const char* spec, double h)
{
    enum { STEPS = 100000 };
    tnb_machine machine = {0};
    tnb_runner  r       = {0};
    envelope    e;
    const bool  good = open_energy(&machine, &r, spec, h) && follow_energy(run, &r, STEPS, &e);
    for (int w = 0; good && w < WINDOWS; ++w) {
        const double from = w * (STEPS / WINDOWS) * h, to = (w + 1) * (STEPS / WINDOWS) * h;
        const double low = e.lowest[w] / e.kinetic, high = e.highest[w] / e.kinetic;
        tnb_tell(run, "%-12s %7.3g %7.0f to %5.0f s %11.2e %11.2e %11.2e\n", w ? "" : name, h, from,
                 to, low, high, e.mean[w] / e.kinetic);
        tnc_put(&run->to->csv, "energy,%s_window%d,%d,energy_error,%.4e,%.4e\n", name, w,
                machine.counts.bodies, low, high);
    }
    tnb_runner_close(&r);
    tnb_machine_close(&machine);
    return good;
}

static bool bench_bricard(tnb_run* run, double h, double* before)
{
    tnb_machine machine = {0};
    tnb_runner  r       = {0};
    envelope    e;
    const int   steps = (int)(10 / h + 0.5);
    const bool good = open_energy(&machine, &r, "@bricard", h) && follow_energy(run, &r, steps, &e);
    if (good) {
        const double most = farthest(&e) / e.kinetic, start = farthest(&e) / fabs(e.first);
        char         order[16] = "";
        if (*before > 0) snprintf(order, sizeof order, "%.2f", log2(*before / most));
        tnb_tell(run, "%-12s %7.3g %8d %13.2e %13.2e %11.1e %7s\n", "bricard", h, steps, most,
                 start, r.error, order);
        tnc_put(&run->to->csv, "energy,bricard_%g,%d,energy_error,%.4e,\n", h,
                machine.counts.bodies, most);
        *before = most;
    }
    tnb_runner_close(&r);
    tnb_machine_close(&machine);
    return good;
}

static bool bench_energy(tnb_run* run)
{
    bool   good   = true;
    double before = 0;
    tnb_tell(
        run,
        "energy: how far it strays in 100,000 steps of frictionless loops, over the largest\n"
        "kinetic energy; least, most and mean in ten windows\n\n%-12s %7s %18s %11s %11s %11s\n",
        "", "h [s]", "window", "least", "most", "mean");
    good = bench_windows(run, "fourbar", "@fourbar", 0.005) && good;
    good = bench_windows(run, "peaucellier", "@peaucellier", 0.01) && good;
    tnb_tell(run,
             "\nBricard's ring, 10 s: the farthest from the start, over the largest "
             "kinetic energy and over\nthe energy of the start\n\n"
             "%-12s %7s %8s %13s %13s %11s %7s\n",
             "", "h [s]", "steps", "over kinetic", "over start", "joint error", "order");
    for (double h = 0.008; h > 0.0004; h *= 0.5) good = bench_bricard(run, h, &before) && good;
    tnb_tell(run, "\n");
    return good;
}

// ---- Large ---------------------------------------------------------------------------------------

static bool bench_giant(tnb_run* run, const char* name, const char* spec, double eps)
{
    enum { STEPS = 2 };
    tnb_machine machine = {0};
    tnb_runner  r       = {0};
    tnb_say(run, "large: %s, compiling", name);
    bool good = tnb_machine_open(&machine, spec);
    if (good) {
        tn_settings s            = tnb_runner_settings(&machine, TNB_FORM_AUTO, tnb_frame);
        s.impulse.regularisation = eps;
        tnb_say(run, "large: %s, %d rows, preparing", name, machine.counts.rows);
        good = tnb_runner_open(&r, &machine, &s, (tnb_variant){0});
        if (!good) tnb_failed(name, &r.why);
    }
    for (int i = 0; good && i < STEPS; ++i) {
        tnb_say(run, "large: %s, %d rows, step %d of %d", name, machine.counts.rows, i + 1,
                (int)STEPS);
        good = tnb_runner_step(&r);
    }
    if (good) {
        const double median = tnc_times_median(r.step);
        tnb_tell(run,
                 "%-20s %7d %8.1f %8.1f %9.2e %9.2e %9.1e %9.2f %9.2f %9.2f %7.1f %9.1e %6.2f\n",
                 name, machine.counts.rows, machine.compile_seconds, r.create_seconds,
                 r.solver.matrix_numbers, r.solver.factor_numbers, r.solver.factor_flops,
                 r.factor->min, r.solve->min, r.step->min, mean_iterations(&r), r.error,
                 (double)machine.purse.peak / (1 << 30));
        tnc_put(&run->to->csv, "large,%s,%d,step_us,%.1f,%.1f\nlarge,%s,%d,bytes,%.0f,\n", name,
                machine.counts.bodies, 1e6 * r.step->min, 1e6 * median, name, machine.counts.bodies,
                (double)machine.purse.peak);
    }
    tnb_runner_close(&r);
    tnb_machine_close(&machine);
    return good;
}

static bool bench_large(tnb_run* run)
{
    tnb_tell(
        run,
        "large: 2 steps of 1/60 s, the fastest told [s]; factorisation and solves in it; memory: the\n"
        "most that the library held [GiB]\n\n"
        "%-20s %7s %8s %8s %9s %9s %9s %9s %9s %9s %7s %9s %6s\n",
        "", "rows", "compile", "prepare", "matrix", "factor", "flops", "factor.", "solves", "step",
        "iterat.", "error", "memory");
    bool good =
        bench_giant(run, "octahedron_tube_150", "@octahedron_tube:rings=150,around=20", 1e-12);
    good = bench_giant(run, "octahedron_cube_17", "@octahedron_cube:n=17", 1e-12) && good;
    tnb_tell(run, "\n");
    return good;
}

// ---- The suite -----------------------------------------------------------------------------------

static const tnb_part parts[] = {
    {"figure3", "Peaucellier's linkage: iterations against the regularisation", bench_figure3,
     false},
    {"figure5", "spider and tree: time of factorisation and solve against rows", tnb_figure5,
     false},
    {"figure6", "scissor, strandbeest, tube, cube: fill against rows, time a step", tnb_figure6,
     false},
    {"realtime", "simulated time over wall time at 60 steps a second", bench_realtime, false},
    {"load", "a strandbeest of 100 legs with up to 20 times its mass on top", bench_load, false},
    {"energy", "four-bar, Peaucellier, Bricard: how far energy strays", bench_energy, false},
    {"large", "360,006 and 589,566 rows: minutes, some 4 GB of memory", bench_large, true},
    {0}};

static bool has_cholmod(void)
{
    tnb_machine machine = {0};
    tnb_runner  r       = {0};
    const bool  has     = tnb_machine_open(&machine, "@fourbar") &&
                     tnb_runner_open_form(&r, &machine, TNB_FORM_SPD_CHOLMOD, tnb_frame);
    tnb_runner_close(&r);
    tnb_machine_close(&machine);
    return has;
}

static void begin(tnb_run* run)
{
    run->cholmod = has_cholmod();
    if (!run->cholmod)
        tnb_tell(run, "CHOLMOD is not built in (cmake -DTENON_CHOLMOD=ON): without it\n\n");
}

const tnb_suite tnb_impulse = {
    "impulse", "the impulse method on the examples of Tomcin et al. 2014; some minutes", parts,
    NULL, begin};
