// crowds: many contacts by the default method at 1/60 s, without a setting: what a step costs in processor time, and
// how well every single step keeps joints, contacts and energy.
#include "mechanism.h"

#include <math.h>
#include <stdlib.h>

static const double deep   = 1e-3; // penetration that lasts no longer than a step [m or rad]
static const double closed = 1e-6; // joint error that no step exceeds [m or rad]

typedef struct crowd {
    const char* spec;
    double      duration; // [s]
} crowd;

static const crowd crowds[] = {
    {"@ragdoll_pile:n=20", 8},  {"@ragdoll_pile:n=50", 8}, {"@marbles", 3},
    {"@heap:links=100", 3},     {"@gripper", 2},           {"@boxes:n=55,arrangement=pyramid", 3},
    {"@strandbeest:walk=on", 3}};

typedef struct quality {
    double joint_error, deepest,
        rise;                ///< largest of all steps; rise: of energy, over its lowest so far [J]
    int open, deep, lasting; ///< steps; lasting: deep ones that follow a deep one
} quality;

static void note(quality* q, const tn_step_report* report, bool* was_deep, double* least,
                 double energy)
{
    const bool is_deep = report->deepest > deep;
    q->joint_error     = fmax(q->joint_error, report->joint_error);
    q->deepest         = fmax(q->deepest, report->deepest);
    q->rise            = fmax(q->rise, energy - *least);
    q->open += report->joint_error > closed;
    q->deep += is_deep;
    q->lasting += is_deep && *was_deep;
    *least    = fmin(*least, energy);
    *was_deep = is_deep;
}

static bool step_crowd(tnb_run* run, tnb_trial* t, const crowd* c, tnc_times* times, quality* q)
{
    const double h        = t->settings.h;
    const int    count    = (int)lround(c->duration / h);
    double       least    = HUGE_VAL;
    bool         was_deep = false;
    for (int i = 0; i < count; ++i) {
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnb_processor_time();
        if (tn_stepper_step(t->stepper, t->state, h, &report, &why) != TN_OK)
            return tnb_failed(t->spec, &why);
        tnc_times_add(times, tnb_processor_time() - begun);
        const tn_energy e = tn_state_energy(t->state);
        note(q, &report, &was_deep, &least, e.kinetic + e.gravity + e.elastic);
        tnb_say(run, "%s: step %d of %d", c->spec, i + 1, count);
    }
    return true;
}

static bool bench_crowd(tnb_run* run, const crowd* c, tnc_times* times)
{
    tnb_trial t    = {0};
    quality   q    = {0};
    bool      good = tnb_trial_load(&t, c->spec, NULL);
    if (good) tnb_set_method(&t.settings, TN_METHOD_AUTO);
    t.settings.h = tnb_frame;
    good         = good && tnb_trial_ready(&t);
    tnc_times_clear(times);
    good = good && step_crowd(run, &t, c, times, &q);
    if (good) {
        const double mean   = 1e3 * times->total / (c->duration / t.settings.h);
        const double median = 1e3 * tnc_times_median(times), most = 1e3 * times->max;
        tnb_tell(run, "%-32s %5g %8.2f %8.2f %8.2f %12.1e %5d %10.1e %5d %7d %10.1e\n", c->spec,
                 c->duration, mean, median, most, q.joint_error, q.open, q.deepest, q.deep,
                 q.lasting, q.rise);
        tnc_put(&run->to->csv,
                "crowds,%s,%d,mean_ms,%.3f,\ncrowds,%s,%d,step_ms,%.3f,%.3f\n"
                "crowds,%s,%d,joint_error,%.3e,\ncrowds,%s,%d,deepest,%.3e,\n",
                c->spec, t.counts.bodies, mean, c->spec, t.counts.bodies, median, most, c->spec,
                t.counts.bodies, q.joint_error, c->spec, t.counts.bodies, q.deepest);
    }
    tnb_trial_close(&t);
    return good;
}

static bool bench_crowds(tnb_run* run)
{
    tnc_times* times = malloc(sizeof *times);
    bool       good  = times != NULL;
    tnb_tell(
        run,
        "crowds: the default method at 1/60 s. Processor time of a step [ms]; steps with a joint "
        "open by more than %g, or anything deeper\nthan %g [m or rad], and how many of these "
        "follow another; how far energy rises above its lowest so far [J]\n\n",
        closed, deep);
    tnb_tell(run, "%-32s %5s %8s %8s %8s %12s %5s %10s %5s %7s %10s\n", "scene", "s", "mean",
             "median", "worst", "joint error", "open", "deepest", "deep", "lasting", "rise");
    for (size_t i = 0; times && i < sizeof crowds / sizeof crowds[0]; ++i)
        good = bench_crowd(run, &crowds[i], times) && good;
    tnb_tell(run, "\n");
    free(times);
    return good;
}

const tnb_suite tnb_crowds = {
    "crowds", "piles, marbles, a chain and machines: milliseconds and quality of every step", NULL,
    bench_crowds, NULL};
