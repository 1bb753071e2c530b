// scenes: every built-in scene at its default size, by the method that it asks for.
#include "mechanism.h"

#include "scenes/scenes.h"

#include <math.h>
#include <stdlib.h>

enum { SCENE_STEPS = 100 };

static const double seconds_max = 10; ///< of wall time for the steps of a scene

static bool step_scene(tnb_trial* t, tnc_times* times, double* error, long long most)
{
    *error = 0;
    for (int i = 0; i < most && times->total < seconds_max; ++i) {
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnc_clock(NULL);
        if (tn_stepper_step(t->stepper, t->state, t->settings.h, &report, &why) != TN_OK)
            return tnb_failed(t->spec, &why);
        tnc_times_add(times, tnc_clock(NULL) - begun);
        *error = fmax(*error, report.joint_error);
    }
    return true;
}

static bool bench_scene(const char* name, int repeat, tnc_times* times, tnb_run* run)
{
    tnb_trial t = {0};
    char      spec[80];
    double    error = 0;
    snprintf(spec, sizeof spec, "@%s", name);
    bool good = tnb_trial_load(&t, spec, NULL);
    good      = good && tnb_trial_ready(&t);
    tnc_times_clear(times);
    for (int i = 0; good && i < repeat; ++i) {
        tn_state_reset(t.state);
        good = step_scene(&t, times, &error, SCENE_STEPS);
    }
    if (good) {
        const tn_counts n      = t.counts;
        const double    median = tnc_times_median(times);
        tnb_tell(run, "%-16s %7d %7d %7d  %-10s %10.1f %12.1f %12.1e\n", name, n.bodies, n.joints,
                 n.rows, tn_method_word(tn_stepper_method(t.stepper)), 1e6 * times->min,
                 1e6 * median, error);
        tnc_put(&run->to->csv, "scenes,%s,%d,step_us,%.3f,%.3f\nscenes,%s,%d,joint_error,%.3e,\n",
                name, n.bodies, 1e6 * times->min, 1e6 * median, name, n.bodies, error);
    }
    tnb_trial_close(&t);
    return good;
}

static bool bench_scenes(tnb_run* run)
{
    const int  repeat = run->repeat ? run->repeat : 1;
    tnc_times* times  = malloc(sizeof *times);
    bool       good   = times != NULL;
    tnb_tell(run, "scenes: %d steps of each built-in scene, or as many as take %g s\n\n",
             (int)SCENE_STEPS, seconds_max);
    tnb_tell(run, "%-16s %7s %7s %7s  %-10s %10s %12s %12s\n", "scene", "bodies", "joints", "rows",
             "method", "min [us]", "median [us]", "joint error");
    // A scene that cannot be stepped is told; the others still run.
    for (int i = 0; times && tns_at(i); ++i)
        good = bench_scene(tns_at(i)->name, repeat, times, run) && good;
    tnb_tell(run, "\n");
    free(times);
    return good;
}

const tnb_suite tnb_scenes = {
    "scenes", "every built-in scene: microseconds a step, joint error after 100 steps", NULL,
    bench_scenes, NULL};
