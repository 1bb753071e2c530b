// run: one engine, one case, one step size, in a process of its own: what an engine does to itself
// (asserts, exhausts memory, never returns) is an outcome and ends nobody else's run. A host opens the
// engine's world once; every run is a copy of that process, so it begins at the start however long
// opening took.
//
// Time is the processor's, of the steps alone. Measures are taken at up to 256 times of a run, outside
// of the time. A run is lost when the engine gives up, when a number is not finite, when a joint is
// out by more than 0.5 or something is in something by 0.5 m, or when energy has risen by more than
// weight times size.
#ifndef TENON_PEER_RUN_H
#define TENON_PEER_RUN_H

#include "works.h"

enum { RUN_SAMPLES = 4 }; ///< times at which motions are compared: the quarters of the duration

/// Where bodies are at these times, 3 numbers each; NULL: not known.
typedef struct run_reference {
    double* x;
    double  error; ///< how far two reference runs were apart [m]
    double  h;     ///< of the finer one
} run_reference;

typedef struct run_task {
    double h;
    int    steps;    ///< 0: to the end of the case
    double patience; ///< processor time that the steps may take [s]
    bool   measure;  ///< else only time is taken, and whether it was lost at the end
    bool   forward;  ///< evaluations instead of steps
} run_task;

typedef enum run_end { RUN_DONE, RUN_CUT, RUN_LOST, RUN_REFUSED, RUN_CRASHED } run_end;

typedef struct run_result {
    run_end end;
    int     steps;
    double  seconds; ///< of these steps
    double  opening; ///< [s]
    double  motion;  ///< largest distance from the reference [m]
    double  joint;   ///< largest violation of a joint [m, or the sine of an angle]
    double  anchors; ///< largest distance of a joint's two ends [m]
    double  energy;  ///< largest |E - E0| over weight times size
    double  rise;    ///< largest E - E0 over the same
    double  deepest; ///< [m]
    double  lost_at; ///< [s]
    bool    stood;
    double  went[3]; ///< of body 1, from the start to the end [m]
    char    why[256];
} run_result;

/// A process that holds an engine's world of a case.
typedef struct run_host {
    int pid; ///< 0: none
    int to, from;
} run_host;
/// reference: NULL, or what motions are compared with.
run_host   run_open(const peer_case* c, const peer_setup* setup, const run_reference* reference);
run_result run_trial(run_host* host, const run_task* task);
void       run_close(run_host* host);

double run_seconds(void); ///< processor time of this thread
/// By Tenon's multiplier method, Runge-Kutta, at falling steps until two agree to a tenth of the bar.
/// False: they do not within `patience` seconds.
bool run_reference_make(run_reference* r, const peer_case* c, double patience, tn_why* why);

#endif
