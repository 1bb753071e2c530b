// peers: Tenon and other engines on the same mechanisms, side by side.
//     peers hung [repeats [pairs]]       the table of Tomcin et al. 2014, section 7, hung by feet
//     peers falling [repeats [pairs]]    the same, falling freely
//     peers row hung|falling K ENGINE H [STEPS]    one row of these, ENGINE as in the tables
//     peers rod                          a 7.5 t block on a 50 kg rod, h from 2 to 250 ms
//     peers largest [pairs]              the largest step that keeps every joint within 1 mm
//     peers run SCENE H DURATION         any built-in scene in all engines
#include "peer.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 15, REPEATED = 250, TRIALS_MAX = 64 };

// An engine with its options, by a name for the tables.
typedef struct tuning {
    const char*        name;
    const peer_engine* engine;
    peer_options       options;
} tuning;

static const tuning quick20    = {"ODE QuickStep 20", &peer_ode_quick, {0.1, 1e-10, 20, 0}};
static const tuning quick500   = {"ODE QuickStep 500", &peer_ode_quick, {0.1, 1e-10, 500, 0}};
static const tuning direct     = {"ODE WorldStep", &peer_ode_direct, {0.1, 1e-10, 0, 0}};
static const tuning direct0    = {"ODE WorldStep, ERP 0", &peer_ode_direct, {0, 1e-10, 0, 0}};
static const tuning impulse    = {"Tenon impulse", &peer_tenon_impulse, {0, 0, 0, 1e-9}};
static const tuning multiplier = {"Tenon multiplier", &peer_tenon_multiplier, {0, 0, 0, 1e-9}};

// A row of a table: one run, and its time a step measured again.
typedef struct trial {
    double        k; ///< times the machine's mass on its frame
    const tuning* setup;
    double        h;
    int           steps_max;
    peer_scene*   scene;
    peer_run      run;
    double        a_step[REPEATS_MAX]; ///< [s]
    int           repeats;
} trial;

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// Motion is the same in every repetition, times are not: REPEATED steps (all that Tenon takes at
// 20 ms), again and again in turn with the other trials, give times; one whole run gives the rest.
static void time_once(trial* t, double duration)
{
    const peer_task task    = {t->scene, t->setup->engine, t->setup->options,
                               t->h,     duration,         t->steps_max > 0 ? 1 : REPEATED};
    const peer_run  run     = peer_measure(&task);
    t->a_step[t->repeats++] = run.seconds / fmax(run.step_count, 1);
}

static void run_whole(trial* t, double duration)
{
    const peer_task task    = {t->scene, t->setup->engine, t->setup->options,
                               t->h,     duration,         t->steps_max};
    t->run                  = peer_measure(&task);
    t->a_step[t->repeats++] = t->run.seconds / fmax(t->run.step_count, 1);
}

static void print_head(void)
{
    printf(
        "   k  engine                  h [ms]  ms a step   time [s]  joint error     drift  lost\n");
}

// The time is that of all steps, * where they were not all taken.
static void print_trial(trial* t, double duration)
{
    const double a_step = median(t->a_step, t->repeats), all = ceil(duration / t->h - 1e-9);
    const bool   cut      = t->run.step_count < all;
    char         lost[64] = "no";
    if (t->run.lost_at >= 0) {
        snprintf(lost, sizeof lost, "at %.3g s", t->run.lost_at);
    } else if (cut) {
        snprintf(lost, sizeof lost, "(%d steps)", t->run.step_count);
    }
    printf("%4g  %-22s %7.3g %10.4f %9.3g%c %12.1e %9.1e  %s%s%s\n", t->k, t->setup->name,
           1e3 * t->h, 1e3 * a_step, a_step * all, cut ? '*' : ' ', t->run.joint_error,
           t->run.drift, lost, t->run.why.text[0] ? ": " : "", t->run.why.text);
    fflush(stdout);
}

static bool open_spec(peer_scene* s, const char* spec)
{
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    if (tns_build(NULL, spec, &scene, &why) == TN_OK && peer_scene_open(s, scene, &why)) {
        return true;
    }
    fprintf(stderr, "peers: %s: %s\n", spec, why.text);
    return false;
}

// ---- The walking machine -------------------------------------------------------------------------

// The foot is where the second rod of the lower triangle ends (scenes/strandbeest.c).
static tn_vec3 foot_of(const tn_body_def* lower)
{
    const tn_shape_def* rod = &lower->shapes[1];
    const tn_quat       o   = rod->pose.orientation;
    const tn_vec3       z   = {2 * (o.x * o.z + o.w * o.y), 2 * (o.y * o.z - o.w * o.x),
                               1 - 2 * (o.x * o.x + o.y * o.y)};
    const tn_vec3       c = rod->pose.position, at = lower->pose.position;
    const double        l = rod->half_length;
    return (tn_vec3){at.x + c.x + l * z.x, at.y + c.y + l * z.y, at.z + c.z + l * z.z};
}

// Hung upside down by the left feet of every third pair, whose legs stand alike, so that two
// freedoms are left and the load goes through these legs and their loops.
static void hang(tn_scene* scene, int pairs)
{
    tn_scene_set_gravity(scene, (tn_vec3){0, 0, 9.81});
    for (int pair = 0; pair < pairs; pair += 3) {
        char name[32];
        bool found = false;
        snprintf(name, sizeof name, "leg%d.lower", 2 * pair);
        const tn_body_id   lower = tn_scene_find_body(scene, name, &found);
        const tn_body_def* def   = tn_scene_body(scene, (int)lower.bits - 1);
        tn_joint_def       joint = tn_default_joint_def(TN_JOINT_HINGE);
        joint.body2              = lower;
        joint.anchor             = foot_of(def);
        joint.axis               = (tn_vec3){0, 1, 0};
        tn_scene_add_joint(scene, &joint);
    }
}

static bool open_beast(peer_scene* s, int pairs, double k, bool hung)
{
    char      spec[96];
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    snprintf(spec, sizeof spec, "strandbeest:legs=%d,frame=free,motor=%d,load=%g", 2 * pairs,
             hung ? 0 : 3, k);
    if (tns_build(NULL, spec, &scene, &why) == TN_OK) {
        if (hung) hang(scene, pairs);
        if (peer_scene_open(s, scene, &why)) return true;
    }
    fprintf(stderr, "peers: %s: %s\n", spec, why.text);
    return false;
}

// The paper's steps for QuickStep, the same at 2 and 20 ms, and Tenon at the paper's 20 ms.
static int beast_trials(trial* trials, peer_scene* s, double k, double h)
{
    int count       = 0;
    trials[count++] = (trial){.k = k, .setup = &quick20, .h = h, .scene = s};
    if (h != 2e-3) trials[count++] = (trial){.k = k, .setup = &quick20, .h = 2e-3, .scene = s};
    trials[count++] = (trial){.k = k, .setup = &quick20, .h = 20e-3, .scene = s};
    if (k == 0 || k == 20) {
        trials[count++] = (trial){.k = k, .setup = &quick500, .h = 20e-3, .scene = s};
    }
    trials[count++] = (trial){.k = k, .setup = &impulse, .h = 20e-3, .scene = s};
    trials[count++] = (trial){.k = k, .setup = &multiplier, .h = 20e-3, .scene = s};
    return count;
}

static void beast_table(int repeats, int pairs, bool hung)
{
    static const double loads[4] = {0, 5, 10, 20}, steps[4] = {2e-3, 0.75e-3, 0.5e-3, 0.3e-3};
    const double        duration = 5;
    peer_scene          scenes[4];
    trial               trials[TRIALS_MAX];
    int                 count = 0;
    for (int i = 0; i < 4; ++i) {
        if (!open_beast(&scenes[i], pairs, loads[i], hung)) return;
        count += beast_trials(trials + count, &scenes[i], loads[i], steps[i]);
    }
    trials[count++]   = (trial){.setup = &direct, .h = 2e-3, .steps_max = 2, .scene = &scenes[0]};
    const tn_counts n = tn_model_counts(scenes[0].model);
    printf("\nstrandbeest, %d pairs of legs, %d bodies, %d joints, %d rows; %s; %g s simulated\n",
           pairs, n.bodies, n.joints, n.rows,
           hung ? "hung by the feet of every third pair, crank free"
                : "falling freely, crank driven at 3 rad/s (drift: the motor works)",
           duration);
    for (int r = 1; r < repeats; ++r) {
        for (int i = 0; i < count; ++i) time_once(&trials[i], duration);
    }
    print_head();
    for (int i = 0; i < count; ++i) {
        run_whole(&trials[i], duration);
        print_trial(&trials[i], duration);
    }
    for (int i = 0; i < 4; ++i) peer_scene_close(&scenes[i]);
}

static const tuning* tuning_of(const char* name)
{
    const tuning* all[] = {&quick20, &quick500, &direct, &direct0, &impulse, &multiplier};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (strcmp(all[i]->name, name) == 0) return all[i];
    }
    return NULL;
}

static bool beast_row(bool hung, double k, const char* engine, double h, int steps_max)
{
    peer_scene s;
    trial t = {.k = k, .setup = tuning_of(engine), .h = h, .steps_max = steps_max, .scene = &s};
    if (t.setup == NULL || !open_beast(&s, 50, k, hung)) return false;
    run_whole(&t, 5);
    print_trial(&t, 5);
    peer_scene_close(&s);
    return true;
}

// ---- The rod and the block -----------------------------------------------------------------------

static void rod_table(const char* spec)
{
    static const double        steps[]  = {2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 250e-3};
    static const tuning* const setups[] = {&quick20, &quick500, &direct0,
                                           &direct,  &impulse,  &multiplier};
    const double               duration = 5;
    peer_scene                 s;
    if (!open_spec(&s, spec)) return;
    printf("\n%s, %g s simulated\n", spec, duration);
    print_head();
    for (size_t e = 0; e < sizeof setups / sizeof *setups; ++e) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
            trial t = {.setup = setups[e], .h = steps[i], .scene = &s};
            for (int r = 0; r < 3; ++r) run_whole(&t, duration);
            print_trial(&t, duration);
        }
    }
    peer_scene_close(&s);
}

// ---- The largest step ----------------------------------------------------------------------------

// From 256 ms down by halves, until every joint stays within a millimetre.
static void largest_step(const char* name, peer_scene* s, double k, const tuning* setup,
                         double duration)
{
    for (double h = 0.256; h > 1e-4; h /= 2) {
        const peer_task task = {s, setup->engine, setup->options, h, duration, 0};
        const peer_run  run  = peer_measure(&task);
        if (run.lost_at >= 0 || !(run.joint_error < 1e-3)) continue;
        printf("%-14s %4g  %-22s %8.4g ms  joint error %.1e  drift %.1e  time %.3g s\n", name, k,
               setup->name, 1e3 * h, run.joint_error, run.drift, run.seconds);
        fflush(stdout);
        return;
    }
    printf("%-14s %4g  %-22s none down to 0.125 ms\n", name, k, setup->name);
    fflush(stdout);
}

static void largest(int pairs)
{
    static const tuning* const setups[] = {&quick20, &quick500, &direct, &impulse, &multiplier};
    peer_scene                 s;
    printf("\nlargest step, of 256 ms / 2^n, at which no joint is ever out by 1e-3\n");
    if (!open_spec(&s, "rod_and_block")) return;
    for (int i = 0; i < 5; ++i) largest_step("rod_and_block", &s, 0, setups[i], 5);
    peer_scene_close(&s);
    for (double k = 0; k <= 20; k += 20) {
        if (!open_beast(&s, pairs, k, true)) return;
        for (int i = 0; i < 5; ++i) {
            if (setups[i] == &direct || setups[i] == &quick500) continue; // hours
            largest_step("hung beast, 1 s", &s, k, setups[i], 1);
        }
        peer_scene_close(&s);
    }
}

static void run_all(const char* spec, double h, double duration)
{
    static const tuning* const setups[] = {&quick20, &quick500, &direct0,
                                           &direct,  &impulse,  &multiplier};
    peer_scene                 s;
    if (!open_spec(&s, spec)) return;
    print_head();
    for (size_t e = 0; e < sizeof setups / sizeof *setups; ++e) {
        trial t = {.setup = setups[e], .h = h, .scene = &s};
        run_whole(&t, duration);
        print_trial(&t, duration);
    }
    peer_scene_close(&s);
}

int main(int argc, char** argv)
{
    const char* what  = argc > 1 ? argv[1] : "";
    const int   pairs = argc > 3 ? atoi(argv[3]) : 50;
    if (strcmp(what, "hung") == 0 || strcmp(what, "falling") == 0) {
        const int repeats = argc > 2 ? atoi(argv[2]) : 3;
        beast_table(repeats < 1             ? 1
                    : repeats > REPEATS_MAX ? REPEATS_MAX
                                            : repeats,
                    pairs, what[0] == 'h');
    } else if (strcmp(what, "row") == 0 && argc >= 6) {
        const bool hung = strcmp(argv[2], "hung") == 0;
        return !beast_row(hung, atof(argv[3]), argv[4], atof(argv[5]),
                          argc > 6 ? atoi(argv[6]) : 0);
    } else if (strcmp(what, "rod") == 0) {
        rod_table("rod_and_block");
        rod_table("rod_and_block:rods=5,rod_mass=1");
    } else if (strcmp(what, "largest") == 0) {
        largest(argc > 2 ? atoi(argv[2]) : 50);
    } else if (strcmp(what, "run") == 0 && argc == 5) {
        run_all(argv[2], atof(argv[3]), atof(argv[4]));
    } else {
        fprintf(stderr, "usage: peers hung|falling [repeats [pairs]] | rod | largest [pairs] | "
                        "row hung|falling K ENGINE H [STEPS] | "
                        "run SCENE H DURATION\n");
        return 2;
    }
    return 0;
}
