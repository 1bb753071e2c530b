// bench_impulse.h: what the benchmarks of the impulse method share.
#ifndef TNC_BENCH_IMPULSE_H
#define TNC_BENCH_IMPULSE_H

#include "bench.h"

/// Ways to solve for the impulses.
enum {
    TNC_FORM_KKT,
    TNC_FORM_SPD,
    TNC_FORM_SPLIT,
    TNC_FORM_SPD_CHOLMOD,
    TNC_FORM_SPLIT_CHOLMOD,
    TNC_FORM_AUTO,
    TNC_FORM_COUNT
};
extern const char* const tnc_form_words[TNC_FORM_COUNT];
static const double      tnc_frame = 1.0 / 60; ///< the step where speed counts [s]

/// What a benchmark gets and where it tells.
typedef struct tnc_bench_run {
    tnc_sheet*   to;
    int          repeat; ///< 0: the benchmark chooses
    bool         large;
    bool         cholmod; ///< built in
    tnc_progress progress;
} tnc_bench_run;

/// A benchmark by itself, as part of one that is named.
typedef struct tnc_bench_part {
    const char* name;
    bool (*run)(tnc_bench_run* run);
    bool alone; ///< only when asked for
} tnc_bench_part;
/// Whether a benchmark has such a part; complains when not.
bool tnc_bench_has_part(const char* bench, const tnc_bench_part* parts, int count,
                        const char* name);
/// The part of that name; NULL: all but those that are to be asked for.
bool tnc_bench_run_parts(tnc_bench_run* run, const tnc_bench_part* parts, int count,
                         const char* name);

/// One line on the terminal, written over by the next one. Nothing elsewhere.
void tnc_bench_say(const tnc_bench_run* run, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/// Of the table, the line on the terminal being wiped away first.
void tnc_bench_tell(const tnc_bench_run* run, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/// Memory of the library, refused beyond a limit: so a form that needs too much is told, not fatal.
typedef struct tnc_purse {
    size_t bytes, peak, limit;
} tnc_purse;

/// A scene, compiled. Zero it, open it, close it whether or not that went well; it must not move.
typedef struct tnc_machine {
    char      spec[96];
    tnc_purse purse;
    tn_host   host;
    tn_scene* scene;
    tn_model* model;
    tn_counts counts;
    double    compile_seconds;
} tnc_machine;

/// Already complained when false.
bool tnc_machine_open(tnc_machine* machine, const char* spec);
void tnc_machine_close(tnc_machine* machine);

/// A machine stepped in one way, with what came out so far.
typedef struct tnc_runner {
    const tnc_machine* machine;
    tn_settings        settings;
    tn_stepper*        stepper; ///< NULL: this way is not possible; see why
    tn_state*          state;
    tn_solver          solver;
    tn_why             why;
    double             create_seconds;
    tnc_times *        factor, *solve, *step;
    int                steps;
    double             time; ///< simulated [s]
    long long          iterations, refinements;
    int                iterations_max;
    long long          pieces, unclosed;
    double             error; ///< of joints, the largest [m or rad]
} tnc_runner;

/// The settings of the scene, with this method, form and step.
tn_settings tnc_runner_settings(const tnc_machine* machine, int form, double h);
/// False when it cannot be done, runner->why having the reason; nothing is complained.
bool tnc_runner_open(tnc_runner* runner, const tnc_machine* machine, const tn_settings* settings);
void tnc_runner_close(tnc_runner* runner);
void tnc_runner_clear(tnc_runner* runner); ///< what came out so far
/// One step of settings.h, timed. False: already complained.
bool tnc_runner_step(tnc_runner* runner);
/// One factorisation and one exact solve at the initial state, timed. False: already complained.
bool tnc_runner_evaluate(tnc_runner* runner);

/// Slope of log(y) over log(x) by least squares, over the upper half of the points (at least two).
double tnc_log_slope(const double* x, const double* y, int count);

bool tnc_bench_figure5(tnc_bench_run* run); ///< bench_figures.c
bool tnc_bench_figure6(tnc_bench_run* run);

#endif
