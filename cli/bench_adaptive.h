// bench_adaptive.h: what the benchmarks of the adaptive method share.
#ifndef TNC_BENCH_ADAPTIVE_H
#define TNC_BENCH_ADAPTIVE_H

#include "bench_impulse.h"

/// A mechanism, stepped in one way. Zero it, load it, change scene and settings, make it ready, close it whether or
/// not that went well; it must not move.
typedef struct tnc_trial {
    const char* spec;
    tnc_meter   meter;
    tn_host     host;
    tn_scene*   scene;
    tn_settings settings; ///< from the scene, with the adaptive method
    tn_model*   model;
    tn_counts   counts;
    tn_stepper* stepper;
    tn_state*   state;
    tnc_times*  times;           ///< of what tnc_trial_go did, seconds a step
    double      own;             ///< processor time of the thread that calls, sum of them [s]
    long long   steps;           ///< in all
    double      visits, choices; ///< sums over all steps
    double      kinetic_loss;    ///< likewise [J]
    int         active;          ///< in the last step
} tnc_trial;

/// pool: NULL: nobody helps. Already complained when false, here and below.
bool tnc_trial_load(tnc_trial* trial, const char* spec, tn_pool* pool);
bool tnc_trial_ready(tnc_trial* trial);
bool tnc_trial_go(tnc_trial* trial, int steps);
bool tnc_trial_warm(tnc_trial* trial, int steps); ///< the same, but nothing of it is counted
void tnc_trial_close(tnc_trial* trial);

bool tnc_bench_pendulum(tnc_bench_run* run); ///< figure 5: bench_adaptive_figures.c
bool tnc_bench_spring(tnc_bench_run* run);   ///< figure 6

#endif
