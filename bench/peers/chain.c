// chain: the chain of rods (@chain) in Tenon and in engines of articulated bodies, side by side.
//     peers_chain time [h]            time a step against links
//     peers_chain stiff [links [h]]   which stiffness of the joints survives 10 s of falling
//     peers_chain swing [links [h]]   the same where it hangs and swings gently, by 6 degrees
//     peers_chain fall                the chain without springs, released from the horizontal
//     peers_chain row ENGINE LINKS STIFFNESS H STEPS      one run, ENGINE as in the tables
//
// The ruler is Tenon's energy of the state that an engine reports: kinetic, gravity and elastic.
// Nothing drives the chain, so its energy must not grow. Growth is max(E - E0) over weight times
// length, all that gravity could ever give twice over:
//     yes     never above 1 %, and no joint out by more than 1 cm, a tenth of a rod
//     ~       worse, but bounded: the motion is not to be trusted
//     -       above 100 %, not finite, a joint out by more than half a rod, or the engine gave up
#include "links.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double FRAME = 1.0 / 60, DURATION = 10, SWOLLEN = 0.01, LOST = 1, LOOSE = 0.01,
                    APART = 0.05;

/// Engines, and up to which number of links each table is worth its time. MuJoCo's mass matrix of a
/// chain is full, n^2 numbers and n^3 work (minutes to compile 1,000 links), as is ODE's matrix of
/// all joints; DART takes minutes to build 1,000 links; Pinocchio takes 1.7 GB for 100, four times
/// that for 200. stiff 0: no springs in ball joints.
typedef struct rival {
    const peer_engine* engine;
    int                time, stiff, fall;
} rival;

static const rival rivals[] = {
    {&peer_tenon_implicit, 1000, 1000, 1000}, {&peer_tenon_impulse, 1000, 10, 1000},
    {&peer_mujoco_euler, 300, 100, 100},      {&peer_mujoco_rk4, 300, 100, 100},
    {&peer_mujoco_implicit, 300, 100, 100},   {&peer_mujoco_implicitfast, 300, 100, 100},
    {&peer_mujoco_discrete, 300, 100, 100},   {&peer_bullet, 1000, 1000, 1000},
    {&peer_bullet_rk4, 1000, 1000, 1000},     {&peer_dart, 300, 100, 100},
#ifdef PEERS_PINOCCHIO
    {&peer_pinocchio, 100, 100, 100},
#endif
    {&peer_ode_quick, 1000, 0, 100},          {&peer_ode_direct, 100, 0, 50},
};
enum { RIVALS = sizeof rivals / sizeof *rivals };
static const peer_options options = {.erp = 0.1, .cfm = 1e-10, .iterations = 100};

static double energy(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

static double joint_error(const peer_scene* s, const tn_state* state)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(s->model).joints; ++i)
        worst = fmax(worst, tn_state_joint_error(state, (tn_joint_id){(uint32_t)i}));
    return worst;
}

// The chain lies along x. Hanging: gravity is along x as well, and a tenth of it along -z.
static bool open_chain(peer_scene* s, int links, double stiffness, bool hanging)
{
    static const double g = 9.81, aside = 0.1;
    char                spec[96];
    tn_why              why   = {0};
    tn_scene*           scene = NULL;
    snprintf(spec, sizeof spec, "chain:n=%d,stiffness=%.17g", links, stiffness);
    if (tns_build(NULL, spec, &scene, &why) == TN_OK) {
        if (hanging)
            tn_scene_set_gravity(scene, (tn_vec3){g * sqrt(1 - aside * aside), 0, -g * aside});
        if (peer_scene_open(s, scene, &why)) return true;
    }
    fprintf(stderr, "peers_chain: %s: %s\n", spec, why.text);
    return false;
}

// ---- One run -------------------------------------------------------------------------------------

typedef struct outcome {
    int    taken;         ///< steps
    double growth;        ///< largest
    double left;          ///< E - E0 at the end, over weight times length
    double error;         ///< of joints, largest [m]
    int    swollen, lost; ///< step (from 1) at which it became so; 0: never
    tn_why why;
} outcome;

typedef struct trial {
    int    links;
    double stiffness, h;
    int    steps;
    bool   hanging;
} trial;

static outcome run(const peer_engine* engine, trial t)
{
    outcome    o = {0};
    peer_scene s;
    tn_state*  state = NULL;
    if (!open_chain(&s, t.links, t.stiffness, t.hanging)) return o.lost = 1, o;
    const double E0 = energy(s.start), scale = s.weight * 0.1 * t.links;
    void*        world = engine->open(s.model, s.start, &options, &o.why);
    if (!world || tn_state_create(s.model, &state) != TN_OK) o.lost = 1;
    while (!o.lost && o.taken < t.steps) {
        const bool good = engine->step(world, t.h, &o.why);
        ++o.taken;
        engine->read(world, state);
        o.left   = (energy(state) - E0) / scale;
        o.growth = fmax(o.growth, o.left);
        o.error  = fmax(o.error, joint_error(&s, state));
        if (!o.swollen && !(o.left <= SWOLLEN && o.error <= LOOSE)) o.swollen = o.taken;
        if (!good || !(o.left <= LOST && o.error <= APART)) o.lost = o.taken;
    }
    if (world) engine->close(world);
    tn_state_free(state);
    peer_scene_close(&s);
    return o;
}

static const char* word(const outcome* o)
{
    return o->lost ? "-" : o->swollen ? "~" : "yes";
}

static const char* verdict(const outcome* o, double h, char* text, size_t size)
{
    if (o->why.text[0]) snprintf(text, size, "gives up at %.3g s: %s", o->lost * h, o->why.text);
    else if (o->lost && o->error > APART)
        snprintf(text, size, "comes apart at %.3g s", o->lost * h);
    else if (o->lost) snprintf(text, size, "explodes at %.3g s", o->lost * h);
    else if (o->error > LOOSE) snprintf(text, size, "joints loose from %.3g s", o->swollen * h);
    else if (o->swollen) snprintf(text, size, "energy up from %.3g s", o->swollen * h);
    else snprintf(text, size, "yes");
    return text;
}

// ---- Time ----------------------------------------------------------------------------------------

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

enum { TIMES_MAX = 200, SIZES = 4, TURN = 10 };
static const int sizes[SIZES] = {10, 100, 300, 1000};

/// An engine at work on one chain.
typedef struct racer {
    void*  world; ///< NULL: it does not take part, or no more
    double times[TIMES_MAX], all;
    int    count;
} racer;

// The first step only warms up, unless it takes all the time there is.
static void race_turn(const rival* r, racer* who, double h, double limit)
{
    tn_why why = {0};
    for (int i = 0; who->world && i < TURN; ++i) {
        if (who->count == TIMES_MAX || who->all > limit) return;
        const double begun = peer_seconds();
        const bool   good  = r->engine->step(who->world, h, &why);
        const double took  = peer_seconds() - begun;
        if (who->all > 0 || took > limit / 2) who->times[who->count++] = took;
        who->all += took;
        if (good) continue;
        r->engine->close(who->world);
        who->world = NULL;
    }
}

/// Median and least time of a step [s].
typedef struct pace {
    double median, least;
} pace;

// All engines take turns, so that a slow spell of the machine hits all alike. A spring of 0.01
// N m/rad: enough to be computed, too little to decide who explodes.
static void race(int links, double h, double limit, pace* paces)
{
    static racer racers[RIVALS];
    peer_scene   s[2];
    tn_why       why = {0};
    if (!open_chain(&s[0], links, 0, false) || !open_chain(&s[1], links, 0.01, false)) exit(1);
    for (int i = 0; i < RIVALS; ++i) {
        const peer_scene* mine = &s[rivals[i].stiff > 0];
        racers[i]              = (racer){0};
        if (links <= rivals[i].time)
            racers[i].world = rivals[i].engine->open(mine->model, mine->start, &options, &why);
    }
    for (int turn = 0; turn <= TIMES_MAX / TURN; ++turn)
        for (int i = 0; i < RIVALS; ++i) race_turn(&rivals[i], &racers[i], h, limit);
    for (int i = 0; i < RIVALS; ++i) {
        racer* r = &racers[i];
        qsort(r->times, (size_t)r->count, sizeof *r->times, by_size);
        paces[i] = r->count ? (pace){r->times[r->count / 2], r->times[0]} : (pace){0, 0};
        if (r->world) rivals[i].engine->close(r->world);
    }
    peer_scene_close(&s[0]);
    peer_scene_close(&s[1]);
}

static void time_table(double h, double limit)
{
    static pace paces[SIZES][RIVALS];
    printf(
        "\ntime a step [us], median and least of up to %d steps from the start, h = %.3g ms, k = "
        "0.01 N m/rad (ODE: 0)\n\n%-22s",
        (int)TIMES_MAX, 1e3 * h, "engine");
    for (int i = 0; i < SIZES; ++i) printf(" %14d links", sizes[i]);
    printf("\n");
    for (int i = 0; i < SIZES; ++i) race(sizes[i], h, limit, paces[i]);
    for (int r = 0; r < RIVALS; ++r) {
        printf("%-22s", rivals[r].engine->name);
        for (int i = 0; i < SIZES; ++i) {
            const pace* p = &paces[i][r];
            if (p->median > 0) printf(" %10.1f %9.1f", 1e6 * p->median, 1e6 * p->least);
            else printf(" %10s %9s", "-", "-");
        }
        printf("\n");
    }
}

// ---- Stiffness -----------------------------------------------------------------------------------

static bool survives(const outcome* o)
{
    return !o->lost && !o->swollen;
}

// From a stiffness that survives to one ten times that, which does not.
static double between(const peer_engine* engine, trial t, double low)
{
    double high = 10 * low;
    while (high / low > 1.05) {
        t.stiffness     = sqrt(low * high);
        const outcome o = run(engine, t);
        if (survives(&o)) low = t.stiffness;
        else high = t.stiffness;
    }
    return low;
}

enum { LOWEST = -3, HIGHEST = 8 };

static void stiff_row(const peer_engine* engine, trial t)
{
    double best = -1;
    printf("%-22s", engine->name);
    for (int e = LOWEST - 1; e <= HIGHEST; ++e) {
        t.stiffness     = e < LOWEST ? 0 : pow(10, e);
        const outcome o = run(engine, t);
        if (survives(&o)) best = t.stiffness;
        printf(" %5s", word(&o));
        fflush(stdout);
    }
    if (best > 0 && best < 0.99 * pow(10, HIGHEST)) best = between(engine, t, best);
    if (best < 0) printf("   %10s\n", "none");
    else printf("   %10.2g\n", best);
    fflush(stdout);
}

static void stiff_table(int links, double h, bool hanging)
{
    const trial t = {links, 0, h, (int)(DURATION / h + 0.5), hanging};
    printf("\nstiffness k of every joint [N m/rad], %d links, h = %.3g ms, %g s; %s\n\n", links,
           1e3 * h, DURATION,
           hanging ? "hanging, swings by 6 degrees" : "released from the horizontal");
    printf("%-22s %5s", "engine", "0");
    for (int e = LOWEST; e <= HIGHEST; ++e) printf("  1e%+d", e);
    printf("   largest k\n");
    for (int r = 0; r < RIVALS; ++r)
        if (links <= rivals[r].stiff) stiff_row(rivals[r].engine, t);
}

// ---- The falling chain ---------------------------------------------------------------------------

static void fall_row(const peer_engine* engine, int links, double h)
{
    char          text[320];
    const outcome o = run(engine, (trial){links, 0, h, (int)(DURATION / h + 0.5), false});
    printf("%-22s %6d %8.3g %11.1e %9.3f %11.1e  %s\n", engine->name, links, 1e3 * h, o.growth,
           o.lost ? (double)NAN : o.left, o.error, verdict(&o, h, text, sizeof text));
    fflush(stdout);
}

static void fall_table(void)
{
    static const int links[] = {1, 2, 3, 5, 10, 20, 50, 100, 1000};
    printf("\nreleased from the horizontal, no springs, 10 s; growth and energy left at the end:\n"
           "of weight times length\n\n");
    printf("%-22s %6s %8s %11s %9s %11s  %s\n", "engine", "links", "h [ms]", "growth", "left",
           "joint error", "survives");
    for (int r = 0; r < RIVALS; ++r) {
        for (int i = 0; i < (int)(sizeof links / sizeof *links); ++i)
            if (links[i] <= rivals[r].fall) fall_row(rivals[r].engine, links[i], FRAME);
    }
    printf("\nthe same, 10 links, smaller steps\n\n");
    for (int r = 0; r < RIVALS; ++r) {
        fall_row(rivals[r].engine, 10, 4e-3);
        fall_row(rivals[r].engine, 10, 1e-3);
    }
}

static bool one_row(char** a)
{
    for (int r = 0; r < RIVALS; ++r) {
        if (strcmp(rivals[r].engine->name, a[0]) != 0) continue;
        char          text[320];
        const double  h = atof(a[3]);
        const outcome o =
            run(rivals[r].engine, (trial){atoi(a[1]), atof(a[2]), h, atoi(a[4]), false});
        printf("%s: %d steps, growth %.3g, left %.3g, joint error %.1e: %s\n", a[0], o.taken,
               o.growth, o.left, o.error, verdict(&o, h, text, sizeof text));
        return true;
    }
    return false;
}

int main(int argc, char** argv)
{
    const char*  what  = argc > 1 ? argv[1] : "";
    const int    links = argc > 2 ? atoi(argv[2]) : 10;
    const double h     = argc > 3 ? atof(argv[3]) : FRAME;
    if (strcmp(what, "time") == 0) time_table(argc > 2 ? atof(argv[2]) : FRAME, 10);
    else if (strcmp(what, "stiff") == 0) stiff_table(links, h, false);
    else if (strcmp(what, "swing") == 0) stiff_table(links, h, true);
    else if (strcmp(what, "fall") == 0) fall_table();
    else if (strcmp(what, "row") == 0 && argc == 7) return !one_row(argv + 2);
    else {
        fprintf(stderr, "usage: peers_chain time [h] | stiff [links [h]] | swing [links [h]] "
                        "| fall | row ENGINE LINKS STIFFNESS H STEPS\n");
        return 2;
    }
    return 0;
}
