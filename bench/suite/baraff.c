// baraff: the two examples of Baraff 1996, beside the times that the paper reports.
#include "mechanism.h"

#include <stdlib.h>

enum { PHASE_KINEMATICS, PHASE_ASSEMBLE, PHASE_FACTOR, PHASE_SOLVE, PHASE_ALL, PHASE_COUNT };

typedef struct paper_case {
    const char* spec;
    const char* told; ///< by the paper
} paper_case;

static const paper_case paper_cases[] = {
    {"@planar_web", "54 joints, 108 multipliers: 7.75 ms in all, of which 2.75 ms in J"},
    {"@tree", "127 joints, 381 multipliers: 44.6 ms in all, of which 4 ms in J"},
};

static bool open_case(tnb_trial* t, const char* spec)
{
    if (!tnb_trial_load(t, spec, NULL)) return false;
    tnb_set_method(&t->settings, TN_METHOD_MULTIPLIER);
    return tnb_trial_ready(t);
}

static bool measure_phases(tnb_trial* trial, int repeat, tnc_times* times)
{
    for (int i = 0; i < PHASE_COUNT; ++i) tnc_times_clear(&times[i]);
    tn_stepper_set_clock(trial->stepper, tnc_clock, NULL);
    for (int i = -repeat / 10 - 1; i < repeat; ++i) { // the first few only warm up
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnc_clock(NULL);
        if (tn_stepper_evaluate(trial->stepper, trial->state, &report, &why) != TN_OK)
            return tnb_failed(trial->spec, &why);
        const double ended = tnc_clock(NULL);
        if (i < 0) continue;
        tnc_times_add(&times[PHASE_KINEMATICS], report.phases.kinematics);
        tnc_times_add(&times[PHASE_ASSEMBLE], report.phases.assemble);
        tnc_times_add(&times[PHASE_FACTOR], report.phases.factor);
        tnc_times_add(&times[PHASE_SOLVE], report.phases.solve);
        tnc_times_add(&times[PHASE_ALL], ended - begun);
    }
    return true;
}

static void tell_paper_case(const paper_case* c, const tnb_trial* trial, tnc_times* times,
                            tnb_run* run)
{
    static const char* const phase_words[PHASE_COUNT] = {"kinematics", "assemble", "factor",
                                                         "solve", "all"};
    const tn_counts          n                        = trial->counts;
    tnb_tell(run, "%-12s %5d joints %5d multipliers      min [us]  median [us]\n", c->spec + 1,
             n.joints, n.rows);
    for (int p = 0; p < PHASE_COUNT; ++p) {
        const double median = tnc_times_median(&times[p]);
        tnb_tell(run, "%44s %10.2f %12.2f\n", phase_words[p], 1e6 * times[p].min, 1e6 * median);
        tnc_put(&run->to->csv, "baraff,%s,%d,%s_us,%.3f,%.3f\n", c->spec + 1, n.bodies,
                phase_words[p], 1e6 * times[p].min, 1e6 * median);
    }
    const double ratio = times[PHASE_FACTOR].min / times[PHASE_SOLVE].min;
    tnb_tell(run, "%44s %10.2f   (the paper: about 4)\n", "factor : solve", ratio);
    tnc_put(&run->to->csv, "baraff,%s,%d,factor_to_solve,%.3f,\n", c->spec + 1, n.bodies, ratio);
    tnb_tell(run, "    the paper, on a 250 MHz R4400: %s\n\n", c->told);
}

static bool bench_baraff(tnb_run* run)
{
    const int  repeat = run->repeat ? run->repeat : 2000;
    tnc_times* times  = malloc(PHASE_COUNT * sizeof *times);
    bool       good   = times != NULL;
    tnb_tell(run, "baraff: one evaluation of accelerations and multipliers, %d times\n\n", repeat);
    for (int i = 0; good && i < (int)(sizeof paper_cases / sizeof *paper_cases); ++i) {
        tnb_trial trial = {0};
        good = open_case(&trial, paper_cases[i].spec) && measure_phases(&trial, repeat, times);
        if (good) tell_paper_case(&paper_cases[i], &trial, times, run);
        tnb_trial_close(&trial);
    }
    free(times);
    return good;
}

const tnb_suite tnb_baraff = {
    "baraff", "the two examples of Baraff 1996: microseconds to assemble, factor, solve", NULL,
    bench_baraff, NULL};
