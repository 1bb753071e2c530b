// adaptive: the adaptive method on the examples of Redon, Galoppo, Lin 2005 ("R").
//     table1     the pendulum of 300 hinges: time and nodes visited a step against active joints and forces
//     figure5    its fall with 300 to 1 active joints                          (adaptive_figures.c)
//     figure6    the equilibrium of a chain drawn aside by a spring            (adaptive_figures.c)
//     crowd      200 people: time a frame against active joints, and how far off they end
//     threads    one thread and two: a long chain, the crowd
// What is compared takes turns, so that a slow spell of the machine hits all alike. Times are the processor's, not
// the wall's, but of threads.
#include "adaptive.h"

#include <math.h>
#include <stdlib.h>

// ---- Table 1 -------------------------------------------------------------------------------------

enum { FORCES = 6, ACTIVES = 7, LINKS = 300, WAYS = 4, CELLS = WAYS * FORCES * ACTIVES };

static const int forces[FORCES]   = {1, 5, 10, 20, 50, 250};
static const int actives[ACTIVES] = {1, 50, 100, 150, 200, 250, 300};

// R, table 1, in milliseconds, on a Pentium of 2.8 GHz; the last column is the full DCA.
static const double told[FORCES][ACTIVES] = {
    {0.02, 0.51, 1.71, 2.97, 4.04, 5.40, 5.89}, {0.07, 0.49, 1.54, 3.21, 4.34, 5.19, 5.89},
    {0.16, 0.73, 1.47, 3.03, 4.22, 5.16, 5.88}, {0.40, 0.90, 1.60, 3.00, 4.72, 5.56, 5.90},
    {0.98, 1.40, 2.16, 3.58, 4.99, 5.59, 5.92}, {1.83, 2.30, 2.97, 4.28, 5.43, 6.31, 6.04}};

// Clusters and tree at every number of active joints; multipliers with and without projection at the last alone.
static const char* const way_words[WAYS] = {"clusters", "tree", "euler", "euler_projected"};

typedef struct table1 {
    tnb_trial trials[WAYS][FORCES][ACTIVES];
} table1;

// Links in a fixed order that looks like chance.
static void shuffle_links(int* links)
{
    uint32_t seed = 2005;
    for (int i = 0; i < LINKS; ++i) links[i] = i;
    for (int i = LINKS - 1; i > 0; --i) {
        seed            = seed * 1664525u + 1013904223u;
        const int k     = (int)((seed >> 8) % (uint32_t)(i + 1));
        const int other = links[k];
        links[k]        = links[i];
        links[i]        = other;
    }
}

static void add_loads(tn_scene* scene, int count)
{
    int links[LINKS];
    shuffle_links(links);
    for (int i = 0; i < count; ++i) {
        char        name[32];
        tn_load_def load = tn_default_load_def();
        snprintf(name, sizeof name, "load%d", i + 1);
        load.name  = name;
        load.body  = (tn_body_id){(uint32_t)links[i] + 1};
        load.force = (tn_vec3){0.02, 0, 0.02};
        tn_scene_add_load(scene, &load);
    }
}

static bool open_cell(tnb_trial* t, int way, int loads, int active)
{
    if (!tnb_trial_load(t, "@pendulum", NULL)) return false;
    tnb_set_method(&t->settings, TN_METHOD_ADAPTIVE);
    add_loads(t->scene, loads);
    tn_settings* s = &t->settings;
    if (way >= 2) {
        s->method                = TN_METHOD_MULTIPLIER;
        s->multiplier.integrator = TN_INTEGRATOR_EULER;
        s->multiplier.project    = way == 3;
    }
    s->adaptive.active = s->adaptive.update = active < LINKS ? active : 0;
    s->adaptive.period                      = 20;
    s->adaptive.weights                     = TN_WEIGHTS_ONE;
    s->adaptive.integrator                  = TN_ADAPTIVE_EULER;
    s->adaptive.choice                      = TN_CHOICE_CLOSED;
    s->adaptive.solver                      = way == 1 ? TN_ADAPTIVE_TREE : TN_ADAPTIVE_CLUSTERS;
    return tnb_trial_ready(t);
}

static tnb_trial* cell_of(table1* t, int i) // NULL: not measured
{
    const int way = i / (FORCES * ACTIVES), row = i / ACTIVES % FORCES, column = i % ACTIVES;
    return way < 2 || column == ACTIVES - 1 ? &t->trials[way][row][column] : NULL;
}

// From the start each time. The first choices, and what they find the first time, are not counted.
static bool time_cell(tnb_trial* t, bool cheap)
{
    enum { WARM = 40, STEPS = 2000, FEW = 400 };
    tn_state_reset(t->state);
    return tnb_trial_warm(t, WARM) && tnb_trial_go(t, cheap ? STEPS : FEW);
}

static bool time_table1(const tnb_run* run, table1* t)
{
    const int turns = run->repeat > 0 ? run->repeat : 5;
    for (int turn = 0; turn < turns; ++turn) {
        for (int i = 0; i < CELLS; ++i) {
            tnb_trial* cell = cell_of(t, i);
            if (i % ACTIVES == 0)
                tnb_say(run, "table1: turn %d of %d, cell %d of %d", turn + 1, turns, i + 1,
                        (int)CELLS);
            if (cell && !time_cell(cell, i % ACTIVES == 0)) return false;
        }
    }
    return true;
}

static void tell_line(const tnb_run* run, table1* t, int way, int row, const char* what)
{
    const double full = t->trials[way][row][ACTIVES - 1].times->min;
    tnb_tell(run, "%5.0d %-9s", what[0] == 'u' ? forces[row] : 0, what);
    for (int i = 0; i < ACTIVES; ++i) {
        tnb_trial*   cell   = &t->trials[way][row][i];
        const double visits = cell->visits / (double)cell->steps;
        if (what[0] == 'u') tnb_tell(run, " %9.3f", 1e6 * cell->times->min);
        else if (what[0] == 'n') tnb_tell(run, " %9.1f", visits);
        else if (what[0] == 'f') tnb_tell(run, " %9.1f", full / cell->times->min);
        else tnb_tell(run, " %9.2f", told[row][i]);
        if (what[0] != 'u') continue;
        tnc_put(&run->to->csv,
                "adaptive_table1,%s_forces%d_active%d,%d,step_us,%.4f,%.4f\n"
                "adaptive_table1,%s_forces%d_active%d,%d,visits,%.3f,\n",
                way_words[way], forces[row], actives[i], (int)LINKS, 1e6 * cell->times->min,
                1e6 * tnc_times_median(cell->times), way_words[way], forces[row], actives[i],
                (int)LINKS, visits);
    }
    tnb_tell(run, "\n");
}

static void tell_way(const tnb_run* run, table1* t, int way)
{
    tnb_tell(run, "adaptive.solver=%s\n%5s %-9s", way_words[way], "N_F", "N_A");
    for (int i = 0; i < ACTIVES; ++i) tnb_tell(run, " %9d", actives[i]);
    tnb_tell(run, "\n");
    for (int row = 0; row < FORCES; ++row) {
        tell_line(run, t, way, row, "us");
        tell_line(run, t, way, row, "nodes");
        tell_line(run, t, way, row, "full/this");
        tell_line(run, t, way, row, "R [ms]");
    }
    tnb_tell(run, "\n");
}

static void tell_multipliers(const tnb_run* run, table1* t)
{
    tnb_tell(run,
             "all joints active beside multipliers, semi-implicit Euler, us a step\n"
             "%5s %10s %10s %10s %10s %16s %12s\n",
             "N_F", "clusters", "tree", "euler", "projected", "clusters/euler", "tree/euler");
    for (int row = 0; row < FORCES; ++row) {
        double us[WAYS];
        for (int way = 0; way < WAYS; ++way)
            us[way] = 1e6 * t->trials[way][row][ACTIVES - 1].times->min;
        tnb_tell(run, "%5d %10.2f %10.2f %10.2f %10.2f %16.2f %12.2f\n", forces[row], us[0], us[1],
                 us[2], us[3], us[0] / us[2], us[1] / us[2]);
        for (int way = 2; way < WAYS; ++way)
            tnc_put(&run->to->csv, "adaptive_table1,%s_forces%d,%d,step_us,%.4f,%.4f\n",
                    way_words[way], forces[row], (int)LINKS, us[way],
                    1e6 * tnc_times_median(t->trials[way][row][ACTIVES - 1].times));
    }
    tnb_tell(run, "\n");
}

static bool bench_table1(tnb_run* run)
{
    table1* t    = calloc(1, sizeof *t);
    bool    good = t != NULL;
    tnb_tell(
        run,
        "table 1: the pendulum of 300 hinges let go from the horizontal, h = 1 ms, N_A active joints chosen every 20\n"
        "steps by the accelerations of as many, N_F constant forces on links spread by chance. us: a step, the least of\n"
        "several runs of 2000 steps (N_A = 1) or 400; nodes: visited a step; full/this: how many times cheaper than with\n"
        "all joints active; R: Redon et al. 2005, in milliseconds on a Pentium of 2.8 GHz\n\n");
    for (int i = 0; good && i < CELLS; ++i) {
        tnb_trial* cell = cell_of(t, i);
        if (cell)
            good = open_cell(cell, i / (FORCES * ACTIVES), forces[i / ACTIVES % FORCES],
                             actives[i % ACTIVES]);
    }
    good = good && time_table1(run, t);
    if (good) {
        tell_way(run, t, 0);
        tell_way(run, t, 1);
        tell_multipliers(run, t);
    }
    for (int i = 0; t && i < CELLS; ++i)
        if (cell_of(t, i)) tnb_trial_close(cell_of(t, i));
    free(t);
    return good;
}

// ---- Crowd ---------------------------------------------------------------------------------------

enum { FRAMES = 60, LOOKS = 2, FINE = -1 }; // a second; looked at after half of it and at its end

typedef struct crowd {
    tnb_trial trial;
    tn_state* reference[LOOKS]; ///< of all joints active
} crowd;

// The scene means 2,000 joints: how near one must be for all of them goes with their number. FINE: all, in short steps.
static bool open_crowd(tnb_trial* t, int active)
{
    if (!tnb_trial_load(t, "@crowd", NULL)) return false;
    tnb_set_method(&t->settings, TN_METHOD_ADAPTIVE);
    const int steps             = active == FINE ? 16 : (int)ceil(tnb_frame / t->settings.h - 1e-9);
    t->settings.h               = tnb_frame / steps;
    t->settings.adaptive.active = active > 0 ? active : 0;
    t->settings.adaptive.detail *= t->settings.adaptive.active / 2000.0;
    return tnb_trial_ready(t);
}

static int steps_a_frame(const tnb_trial* t)
{
    return (int)(tnb_frame / t->settings.h + 0.5);
}

/// How far the bodies are from where they should be: root mean square, in metres and on the screen.
typedef struct stray {
    double metres, pixels;
} stray;

static stray stray_of(const tnb_trial* t, const tn_state* from)
{
    const tn_adaptive_settings* s     = &t->settings.adaptive;
    double                      space = 0, screen = 0;
    for (int i = 1; i <= t->counts.bodies; ++i) {
        const tn_vec3 a      = tn_state_pose(t->state, (tn_body_id){(uint32_t)i}).position;
        const tn_vec3 b      = tn_state_pose(from, (tn_body_id){(uint32_t)i}).position;
        const tn_vec3 d      = {a.x - b.x, a.y - b.y, a.z - b.z};
        const tn_vec3 e      = {b.x - s->camera_x, b.y - s->camera_y, b.z - s->camera_z};
        const double  square = d.x * d.x + d.y * d.y + d.z * d.z;
        space += square;
        screen += square * s->pixels * s->pixels / (e.x * e.x + e.y * e.y + e.z * e.z);
    }
    return (stray){sqrt(space / t->counts.bodies), sqrt(screen / t->counts.bodies)};
}

static bool run_crowd(const tnb_run* run, crowd* c, int active, stray* off)
{
    tnb_trial* t = &c->trial;
    for (int frame = 1; frame <= FRAMES; ++frame) {
        tnb_say(run, "crowd: %d active, frame %d of %d", active, frame, (int)FRAMES);
        if (!tnb_trial_go(t, steps_a_frame(t))) return false;
        if (frame % (FRAMES / LOOKS) != 0) continue;
        tn_state** kept = &c->reference[frame / (FRAMES / LOOKS) - 1];
        if (active == 0 && tn_state_create(t->model, kept) != TN_OK) return false;
        if (active == 0) tn_state_copy(*kept, t->state);
        off[frame / (FRAMES / LOOKS) - 1] = stray_of(t, *kept);
    }
    return true;
}

static void tell_crowd(const tnb_run* run, crowd* c, int active, const stray* off)
{
    const tnb_trial* t     = &c->trial;
    const double     frame = steps_a_frame(t), median = frame * tnc_times_median(t->times);
    const double     least = frame * t->times->min, worst = frame * t->times->max;
    const int        n = t->counts.bodies;
    char             allowed[16];
    snprintf(allowed, sizeof allowed, "%d", active);
    tnb_tell(run, "%8s %7d %9.2f %9.2f %9.2f %9.2f %9.0f %10.2e %9.2f %10.2e %9.2f\n",
             active == FINE ? "all, /16"
             : active == 0  ? "all"
                            : allowed,
             t->active, 1e3 * frame * t->times->total / FRAMES, 1e3 * median, 1e3 * least,
             1e3 * worst, t->visits / (double)t->steps, off[0].metres, off[0].pixels, off[1].metres,
             off[1].pixels);
    tnc_put(&run->to->csv,
            "adaptive_crowd,active%d,%d,frame_us,%.1f,%.1f\n"
            "adaptive_crowd,active%d,%d,worst_frame_us,%.1f,\n"
            "adaptive_crowd,active%d,%d,error_half,%.4e,%.4f\n"
            "adaptive_crowd,active%d,%d,error,%.4e,%.4f\n",
            active, n, 1e6 * least, 1e6 * median, active, n, 1e6 * worst, active, n, off[0].metres,
            off[0].pixels, active, n, off[1].metres, off[1].pixels);
}

// The first one stays: the states that the others are compared with belong to its model.
static bool bench_crowd(tnb_run* run)
{
    static const int counts[] = {0, FINE, 8000, 4000, 2000, 1000, 500, 200};
    enum { COUNTS = sizeof counts / sizeof *counts };
    crowd* c    = calloc(COUNTS, sizeof *c);
    bool   good = c != NULL;
    stray  off[LOOKS];
    tnb_tell(
        run,
        "crowd: 200 people pushed row by row, 17,800 bodies, one second at 60 frames a second, one thread; ms a\n"
        "frame; nodes: visited a step; error: of the places of bodies, root mean square, against all joints active,\n"
        "after half a second and after a second, in metres and in pixels of the scene's camera; /16: in 16 steps a frame\n\n"
        "%8s %7s %9s %9s %9s %9s %9s %10s %9s %10s %9s\n",
        "allowed", "active", "mean", "median", "least", "worst", "nodes", "m, 0.5 s", "pixels",
        "m, 1 s", "pixels");
    for (int i = 0; good && i < COUNTS; ++i) {
        good = open_crowd(&c[i].trial, counts[i]);
        for (int k = 0; i > 0 && k < LOOKS; ++k) c[i].reference[k] = c[0].reference[k];
        good = good && run_crowd(run, &c[i], counts[i], off);
        if (good) tell_crowd(run, &c[i], counts[i], off);
        if (i > 0) tnb_trial_close(&c[i].trial);
    }
    for (int k = 0; c && k < LOOKS; ++k) tn_state_free(c[0].reference[k]);
    if (c) tnb_trial_close(&c[0].trial);
    free(c);
    tnb_tell(run, "\n");
    return good;
}

// ---- Threads -------------------------------------------------------------------------------------

typedef struct shared {
    const char*        name;
    const char*        spec;
    int                active; ///< 0: all
    tn_adaptive_solver solver;
} shared;

static bool open_shared(tnb_trial* t, const shared* s, tn_pool* pool)
{
    if (!tnb_trial_load(t, s->spec, pool)) return false;
    tnb_set_method(&t->settings, TN_METHOD_ADAPTIVE);
    t->settings.adaptive.active     = s->active;
    t->settings.adaptive.solver     = s->solver;
    t->settings.adaptive.integrator = TN_ADAPTIVE_EULER;
    if (s->active == 0) t->settings.adaptive.detail = 0;
    return tnb_trial_ready(t);
}

static bool time_shared(const tnb_run* run, const shared* s, tnb_trial* trials, int threads)
{
    const int turns = run->repeat > 0 ? run->repeat : 10;
    for (int turn = -1; turn < turns; ++turn) {
        for (int i = 0; i < threads; ++i) {
            tnb_say(run, "threads: %s, turn %d of %d", s->name, turn + 1, turns);
            if (!(turn < 0 ? tnb_trial_warm(&trials[i], 20) : tnb_trial_go(&trials[i], 20)))
                return false;
        }
    }
    return true;
}

static void tell_shared(const tnb_run* run, const shared* s, tnb_trial* trials, int threads)
{
    const uint64_t hash = tn_state_hash(trials[0].state);
    for (int i = 0; i < threads; ++i) {
        tnb_trial*   t      = &trials[i];
        const double median = tnc_times_median(t->times);
        const bool   same   = tn_state_hash(t->state) == hash;
        tnb_tell(run, "%-28s %8d %8d %11.1f %11.1f %9.2f %9.2f %9.2f  %s\n", i ? "" : s->name,
                 i + 1, t->active, 1e6 * t->times->min, 1e6 * median,
                 trials[0].times->min / t->times->min, tnc_times_median(trials[0].times) / median,
                 trials[0].own / t->own, same ? "same" : "DIFFERENT");
        tnc_put(&run->to->csv, "adaptive_threads,%s_threads%d,%d,step_us,%.2f,%.2f\n", s->name,
                i + 1, t->counts.bodies, 1e6 * t->times->min, 1e6 * median);
    }
}

static bool bench_shared(tnb_run* run, const shared* s)
{
    enum { THREADS = 2 };
    tnb_trial trials[THREADS] = {0};
    tn_pool*  pools[THREADS]  = {0};
    bool      good            = true;
    for (int i = 0; good && i < THREADS; ++i) {
        pools[i] = tn_pool_create(i + 1);
        good     = pools[i] && open_shared(&trials[i], s, pools[i]);
    }
    good = good && time_shared(run, s, trials, THREADS);
    if (good) tell_shared(run, s, trials, THREADS);
    for (int i = 0; i < THREADS; ++i) {
        tnb_trial_close(&trials[i]);
        tn_pool_free(pools[i]);
    }
    return good;
}

static bool bench_threads(tnb_run* run)
{
    static const shared all[] = {
        {"chain_10000_tree", "@pendulum:n=10000", 0, TN_ADAPTIVE_TREE},
        {"chain_10000_tree_1000", "@pendulum:n=10000", 1000, TN_ADAPTIVE_TREE},
        {"crowd_tree", "@crowd", 0, TN_ADAPTIVE_TREE},
        {"crowd_clusters", "@crowd", 0, TN_ADAPTIVE_CLUSTERS},
        {"crowd_clusters_2000", "@crowd", 2000, TN_ADAPTIVE_CLUSTERS},
    };
    bool good = true;
    tnb_tell(
        run,
        "threads: us a step, least and median of runs of 20 steps that take turns; speed-up by these, "
        "and by the\nprocessor time of the thread that calls (on a machine with nothing else to do they are alike); "
        "bits of the\nfinal state beside those of one thread\n\n"
        "%-28s %8s %8s %11s %11s %9s %9s %9s  %s\n",
        "", "threads", "active", "min [us]", "median", "speed-up", "median", "own", "bits");
    for (int i = 0; i < (int)(sizeof all / sizeof *all); ++i)
        good = bench_shared(run, &all[i]) && good;
    tnb_tell(run, "\n");
    return good;
}

// ---- The suite -----------------------------------------------------------------------------------

static const tnb_part parts[] = {
    {"table1", "300 hinges: time and nodes visited a step against active joints and forces",
     bench_table1, false},
    {"figure5", "their fall with 300 to 1 of them active; poses in the CSV", tnb_pendulum, false},
    {"figure6", "a chain drawn aside by a spring comes to rest: 5 and 10 joints of 50", tnb_spring,
     false},
    {"crowd", "200 people: time a frame and error against active joints", bench_crowd, false},
    {"threads", "one and two: a long chain, the crowd", bench_threads, false},
    {0}};

const tnb_suite tnb_adaptive = {
    "adaptive", "the adaptive method on the examples of Redon et al. 2005; some minutes", parts,
    NULL, NULL};
