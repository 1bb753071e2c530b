// motion: small sums over a run. The median of the step times needs them all; past a fixed number
// every second one is dropped and from there on only every second one is kept, so memory stays
// bounded and the sample even.
#include "motion.h"

#include <stdlib.h>

void tnc_times_clear(tnc_times* times)
{
    times->count  = 0;
    times->stride = 1;
    times->seen   = 0;
    times->total  = 0;
    times->min    = 0;
    times->max    = 0;
}

static void thin(tnc_times* times)
{
    for (int i = 0; 2 * i < times->count; ++i) times->seconds[i] = times->seconds[2 * i];
    times->count /= 2;
    times->stride *= 2;
}

void tnc_times_add(tnc_times* times, double seconds)
{
    if (times->seen == 0 || seconds < times->min) times->min = seconds;
    if (seconds > times->max) times->max = seconds;
    times->total += seconds;
    if (times->seen++ % times->stride != 0) return;
    times->seconds[times->count++] = seconds;
    if (times->count == TNC_TIMES_ROOM) thin(times);
}

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double tnc_times_median(tnc_times* times)
{
    if (times->count == 0) return 0;
    qsort(times->seconds, (size_t)times->count, sizeof(double), compare);
    const int half = times->count / 2;
    if (times->count % 2) return times->seconds[half];
    return 0.5 * (times->seconds[half - 1] + times->seconds[half]);
}

double tnc_motion_time(const tnc_motion* motion)
{
    return (double)motion->done * motion->h;
}

double tnc_energy(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

int tnc_motion_mobility(const tnc_job* job, const tnc_motion* motion)
{
    const tn_counts counts = tn_model_counts(job->model);
    return motion->checked ? motion->check.mobility : counts.freedoms - counts.rows;
}
