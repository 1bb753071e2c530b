// suite.h: what the benchmarks of the suite share. From the program they take its way of writing files, messages
// and progress (cli/cli.h, cli/motion.h); they measure the library as users have it, by its public headers.
#ifndef TNB_SUITE_H
#define TNB_SUITE_H

#include "cli/motion.h"

/// Where results go: a table for people, CSV for programs. Either may be closed.
typedef struct tnb_sheet {
    tnc_out table, csv;
} tnb_sheet;

/// What a benchmark gets and where it writes.
typedef struct tnb_run {
    tnb_sheet*   to;
    int          repeat; ///< 0: the benchmark chooses
    bool         large;
    bool         cholmod; ///< built in
    tnc_progress progress;
} tnb_run;

/// A part of a benchmark, which can be run by itself.
typedef struct tnb_part {
    const char* name; ///< NULL ends the list
    const char* help;
    bool (*run)(tnb_run* run);
    bool alone; ///< only when asked for
} tnb_part;

typedef struct tnb_suite {
    const char*     name;
    const char*     help;
    const tnb_part* parts;       ///< NULL: it has none
    bool (*run)(tnb_run* run);   ///< of a suite without parts
    void (*begin)(tnb_run* run); ///< before the first part; may be NULL
} tnb_suite;

extern const tnb_suite tnb_baraff, tnb_linear, tnb_scenes, tnb_auxiliary, tnb_impulse, tnb_implicit,
    tnb_adaptive, tnb_batch, tnb_crowds;

/// Writes the reason on standard error. False.
bool tnb_failed(const char* spec, const tn_why* why);

/// One line on the terminal, replaced by the next one. Nothing elsewhere.
void tnb_say(const tnb_run* run, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// A piece of the table; the line on the terminal is removed first.
void tnb_tell(const tnb_run* run, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Processor time of the thread that calls [s].
double tnb_processor_time(void);
/// Slope of log(y) over log(x) by least squares, over the upper half of the points (at least two).
double tnb_log_slope(const double* x, const double* y, int count);

#endif
