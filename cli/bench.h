// bench.h: what the benchmarks share.
#ifndef TNC_BENCH_H
#define TNC_BENCH_H

#include "motion.h"

/// Where results go: a table for people, CSV for programs. Either may be closed.
typedef struct tnc_sheet {
    tnc_out table, csv;
} tnc_sheet;

/// Options of a job; what is NULL stays as the scene has it.
tnc_options tnc_bench_options(const char* spec, const char* integrator, const char* loops);
/// Complains. False.
bool tnc_bench_failed(const char* spec, const tn_why* why);

/// Rows beside the tree: the paper's examples, loops in two ways, contact.
bool tnc_bench_auxiliary(const tnc_options* options, tnc_sheet* to);
/// The impulse method on the examples of Tomcin et al. 2014; part NULL: all but what takes long.
bool tnc_bench_impulse(const tnc_options* options, const char* part, tnc_sheet* to);
/// Whether there is such a part; complains when not.
bool tnc_bench_impulse_has(const char* part);
/// The implicit method on the examples of Hernandez et al. 2011, or the one part that options name.
bool tnc_bench_implicit(const tnc_options* options, tnc_sheet* to);
/// Whether there is such a part; complains when not.
bool tnc_bench_implicit_has(const char* part);
/// The adaptive method on the examples of Redon et al. 2005, or the one part that options name.
bool tnc_bench_adaptive(const tnc_options* options, tnc_sheet* to);
bool tnc_bench_adaptive_has(const char* part); ///< likewise
/// Characters stepped together beside one by one.
bool tnc_bench_batch(const tnc_options* options, tnc_sheet* to);

#endif
