// batch: 1,000 copies of a character stepped together (tn_batch) beside the same ones stepped one by one by one
// stepper: characters a second, by the implicit method at 60 steps a second. Every copy starts in another pose.
// Turns of a few steps are taken by all in turn, so that a slow spell of the machine hits them alike. Times of one
// thread are the processor's, those of several the wall's. At the end all copies must have the same bits.
#include "mechanism.h"

#include "tenon/batch.h"

#include <stdlib.h>

enum { COPIES = 1000, TURNS = 9, TURN_STEPS = 4 };

typedef struct actor {
    const char* spec;
    double      angle, rate; ///< scattered by as much, either way [rad, rad/s]
} actor;

static const actor actors[] = {{"@humanoid", 0.3, 1},
                               {"@humanoid:joints=anatomical", 0.3, 1},
                               {"@humanoid:joints=anatomical", 0.8, 4},
                               {"@hand", 0.3, 1},
                               {"@chain:n=20,stiffness=10,damping=0.1", 0.3, 1}};

/// A way to step all copies.
typedef struct troupe {
    int         threads; ///< 0: one by one
    tn_pool*    pool;
    tn_batch*   batch;
    tn_stepper* stepper;
    tn_state**  states;
    tnc_times*  times; ///< of a turn
    long long   alone; ///< copies that left their lanes
    double      error; ///< of joints, the largest
} troupe;

static tn_state* state_of(const troupe* t, int copy)
{
    return t->batch != NULL ? tn_batch_state(t->batch, copy) : t->states[copy];
}

static double unit(uint64_t* seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

// The same for a copy in every troupe.
static bool scatter(const tnb_machine* m, const actor* a, const troupe* t)
{
    const int n    = tn_model_coordinate_count(m->model);
    double*   z    = malloc(sizeof *z * 2 * (size_t)n);
    bool      good = z != NULL;
    tn_why    why  = {0};
    for (int i = 0; good && i < COPIES; ++i) {
        uint64_t seed = (uint64_t)i + 1;
        for (int k = 0; k < n; ++k) {
            z[k]     = 2 * a->angle * (unit(&seed) - 0.5);
            z[n + k] = 2 * a->rate * (unit(&seed) - 0.5);
        }
        good = tn_state_set_joints(state_of(t, i), z, z + n, &why) == TN_OK;
    }
    free(z);
    return good || tnb_failed(m->spec, &why);
}

static bool open_singles(troupe* t, const tnb_machine* m, const tn_settings* s)
{
    t->states = calloc(COPIES, sizeof *t->states);
    bool good =
        t->states != NULL && tn_stepper_create(m->model, s, &t->stepper, &(tn_why){0}) == TN_OK;
    for (int i = 0; good && i < COPIES; ++i)
        good = tn_state_create(m->model, &t->states[i]) == TN_OK;
    return good;
}

static bool open_troupe(troupe* t, const tnb_machine* m, int threads)
{
    tn_settings s    = tn_scene_settings(m->scene);
    tn_host     host = tn_default_host();
    tn_why      why  = {.text = "out of memory"};
    s.method         = TN_METHOD_IMPLICIT;
    *t               = (troupe){.threads = threads, .times = malloc(sizeof *t->times)};
    if (t->times == NULL) return tnb_failed(m->spec, &why);
    tnc_times_clear(t->times);
    if (threads == 0) return open_singles(t, m, &s) || tnb_failed(m->spec, &why);
    t->pool   = tn_pool_create(threads);
    host.each = tn_pool_each, host.workers = t->pool;
    return tn_batch_create(m->model, &s, COPIES, &host, &t->batch, &why) == TN_OK ||
           tnb_failed(m->spec, &why);
}

static void close_troupe(troupe* t)
{
    for (int i = 0; t->states != NULL && i < COPIES; ++i) tn_state_free(t->states[i]);
    free(t->states);
    tn_stepper_free(t->stepper);
    tn_batch_free(t->batch);
    tn_pool_free(t->pool);
    free(t->times);
}

static bool step_singles(troupe* t, tn_why* why)
{
    tn_step_report report;
    for (int i = 0; i < COPIES; ++i) {
        if (tn_stepper_step(t->stepper, t->states[i], tnb_frame, &report, why) != TN_OK)
            return false;
        if (report.joint_error > t->error) t->error = report.joint_error;
    }
    return true;
}

static bool step_batch(troupe* t, tn_why* why)
{
    tn_batch_report report;
    if (tn_batch_step(t->batch, tnb_frame, &report, why) != TN_OK) return false;
    t->alone += report.alone_count;
    if (report.joint_error > t->error) t->error = report.joint_error;
    return true;
}

static bool take_turn(troupe* t, const char* spec)
{
    const bool   wall  = t->threads > 1;
    const double begun = wall ? tnc_clock(NULL) : tnb_processor_time();
    tn_why       why   = {0};
    for (int i = 0; i < TURN_STEPS; ++i)
        if (!(t->batch != NULL ? step_batch : step_singles)(t, &why)) return tnb_failed(spec, &why);
    tnc_times_add(t->times, (wall ? tnc_clock(NULL) : tnb_processor_time()) - begun);
    return true;
}

static bool same_bits(const troupe* a, const troupe* b)
{
    for (int i = 0; i < COPIES; ++i)
        if (tn_state_hash(state_of(a, i)) != tn_state_hash(state_of(b, i))) return false;
    return true;
}

static void tell(const tnb_run* run, const actor* a, const tnb_machine* m, troupe* t,
                 const troupe* first)
{
    const double each = 1e6 / COPIES / TURN_STEPS, least = each * t->times->min,
                 median   = each * tnc_times_median(t->times),
                 speed_up = first->times->min / t->times->min;
    char way[40];
    snprintf(way, sizeof way, "batch, %d thread%s", t->threads, t->threads > 1 ? "s" : "");
    tnb_tell(run, "  %-18s %9.2f %9.2f %11.0f %9.2f %9.2f %9.1e  %s\n",
             t->threads == 0 ? "one by one" : way, least, median, 1e6 / median, speed_up,
             100.0 * (double)t->alone / COPIES / TURN_STEPS / TURNS, t->error,
             same_bits(t, first) ? "same" : "OTHER");
    tnc_put(&run->to->csv, "batch,%s_%g,%d,%s_%d_us,%.3f,%.3f\n", m->spec + 1, a->angle,
            m->counts.bodies, t->threads == 0 ? "single" : "batch", t->threads, least, median);
}

static bool bench_actor(tnb_run* run, const actor* a, int ways)
{
    tnb_machine m          = {0};
    troupe      troupes[3] = {{0}, {0}, {0}};
    bool        good       = tnb_machine_open(&m, a->spec);
    for (int k = 0; good && k < ways; ++k)
        good = open_troupe(&troupes[k], &m, k) && scatter(&m, a, &troupes[k]);
    for (int turn = 0; turn < TURNS; ++turn) {
        tnb_say(run, "batch: %s, turn %d of %d", a->spec, turn + 1, (int)TURNS);
        for (int k = 0; good && k < ways; ++k) good = take_turn(&troupes[k], a->spec);
    }
    if (good)
        tnb_tell(run, "%s, %d bodies, scattered by %g rad and %g rad/s; %d lanes\n", m.spec + 1,
                 m.counts.bodies, a->angle, a->rate, tn_batch_lanes(troupes[1].batch));
    for (int k = 0; good && k < ways; ++k) tell(run, a, &m, &troupes[k], &troupes[0]);
    for (int k = 0; good && k < ways; ++k) good = same_bits(&troupes[k], &troupes[0]);
    for (int k = 0; k < 3; ++k) close_troupe(&troupes[k]);
    tnb_machine_close(&m);
    return good;
}

static bool bench_batch(tnb_run* run)
{
    const int ways = tn_processor_count() > 1 ? 3 : 2;
    bool      good = true;
    tnb_tell(run,
             "batch: %d copies, steps of 1/60 s by the implicit method; microseconds a character "
             "and step,\ncharacters a second; alone: left their lanes, of 100\n\n"
             "  %-18s %9s %9s %11s %9s %9s %9s  %s\n",
             (int)COPIES, "", "min [us]", "median", "a second", "speed-up", "alone", "error",
             "bits");
    for (int i = 0; i < (int)(sizeof actors / sizeof *actors); ++i)
        good = bench_actor(run, &actors[i], ways) && good;
    tnb_tell(run, "\n");
    return good;
}

const tnb_suite tnb_batch = {
    "batch", "1,000 characters stepped together, on one thread and two, beside one by one", NULL,
    bench_batch, NULL};
