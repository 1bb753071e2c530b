// contact: the same drops in ODE, Bullet, MuJoCo and Tenon, side by side.
//     peers_contact [-x NAME] [-e NAME] rod | stack | chain | pile | beast [PAIRS]
//     peers_contact beast_at PAIRS K H     one load, one step
//     peers_contact run SCENE H DURATION   any built-in scene that all can have; stood: drops_rests
//     peers_contact json SCENE FILE        a drop as a scene for `tenon run`
// -e: only engines whose name has this in it; -x: all but these.
//
// Columns. depth: how deep anything ever was in what it may not enter, and at the end [mm];
// anchors: how far the two ends of a joint ever were apart [m]; joint error: the same with the
// tilt of axes (its sine), Tenon's definition; rise: largest E - E0 over weight times one metre
// (nothing here may raise it, but a motor); stood: the scene's own question, asked at the end
// (drops.h). A run is lost when a number is not finite, a joint is out by 0.5, or something is in
// something by 0.5 m. It is cut when its steps have taken half a minute (strandbeest: ten times
// that).
#include "drops.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LOST = 0.5, FRAME = 1.0 / 60, PATIENCE = 30;

typedef struct setup {
    const char*        name;
    const drop_engine* engine;
    drop_options       options;
} setup;

static const setup quick20   = {"ODE QuickStep 20", &drop_ode, {20, 0.1, 1e-10, 0, 0}};
static const setup quick500  = {"ODE QuickStep 500", &drop_ode, {500, 0.1, 1e-10, 0, 0}};
static const setup direct0   = {"ODE WorldStep, ERP 0", &drop_ode, {0, 0, 1e-10, 0, 0}};
static const setup direct    = {"ODE WorldStep, ERP 0.1", &drop_ode, {0, 0.1, 1e-10, 0, 0}};
static const setup bullet10  = {"Bullet, 10 sweeps", &drop_bullet, {10, 0, 0, 0, 0}};
static const setup bullet500 = {"Bullet, 500 sweeps", &drop_bullet, {500, 0, 0, 0, 0}};
static const setup dantzig   = {"Bullet, Dantzig", &drop_bullet, {0, 0, 0, 0, 0}};
static const setup mujoco    = {"MuJoCo", &drop_mujoco, {0, 0, 0, 0, 0}};
static const setup mujoco2   = {"MuJoCo, solref 2 h", &drop_mujoco, {0, 0, 0, 2, 0}};
static const setup tenon     = {"Tenon impulse", &drop_tenon, {0, 0, 0, 0, 1e-9}};

static const char *only = "", *never = NULL;

static bool wanted(const setup* s)
{
    return strstr(s->name, only) && !(never && strstr(s->name, never));
}

// ---- One run -------------------------------------------------------------------------------------

typedef bool stands(const drop* d, const drop_pose* end);

typedef struct outcome {
    int    steps;
    double seconds;
    double deepest, deep_end, anchors, joint_error, rise; ///< depths 0 where nothing touches
    double lost_at;                                       ///< < 0: never
    bool   stood, cut;
    tn_why why;
} outcome;

static double energy(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity;
}

// Written so that a NaN of any joint stays.
static double joint_error(const drop* d, const tn_state* state)
{
    double worst = 0;
    for (int i = 1; i <= d->joint_count && !isnan(worst); ++i) {
        const double error = tn_state_joint_error(state, (tn_joint_id){(uint32_t)i});
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static double anchor_error(const drop* d, const tn_state* state)
{
    double worst = 0;
    for (int i = 1; i <= d->joint_count; ++i) {
        const tn_joint_id id = {(uint32_t)i};
        const tn_vec3     a  = tn_state_joint_anchor(state, id, 0),
                      b      = tn_state_joint_anchor(state, id, 1);
        const double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
        worst = fmax(worst, sqrt(x * x + y * y + z * z));
    }
    return worst;
}

static bool good_pose(const drop* d, const drop_pose* poses)
{
    for (int i = 1; i < d->body_count; ++i)
        for (int k = 0; k < 3; ++k)
            if (!isfinite(poses[i].x[k]) || !isfinite(poses[i].v[k]) || !isfinite(poses[i].w[k]))
                return false;
    return true;
}

static void measure(const drop* d, const drop_pose* poses, tn_state* state, double E0, outcome* o,
                    double time)
{
    drop_write(d, poses, time, state);
    const double depth = drop_depth(d, poses), error = joint_error(d, state),
                 rise = (energy(state) - E0) / d->scene->weight;
    if (!(depth <= LOST && error <= LOST) || !isfinite(rise)) o->lost_at = time;
    o->deep_end    = fmax(0, depth);
    o->deepest     = fmax(o->deepest, depth);
    o->joint_error = fmax(o->joint_error, error);
    o->anchors     = fmax(o->anchors, anchor_error(d, state));
    o->rise        = fmax(o->rise, rise);
}

static outcome run(const drop* d, const setup* s, double h, double duration, double patience,
                   stands* question)
{
    outcome      o     = {.lost_at = -1};
    tn_state*    state = NULL;
    drop_pose*   poses = calloc((size_t)d->body_count, sizeof *poses);
    void*        world = s->engine->open(d, &s->options, &o.why);
    const double E0    = energy(d->scene->start);
    const int    count = (int)ceil(duration / h - 1e-9);
    for (int i = 0; i < d->body_count; ++i) poses[i] = d->bodies[i].start;
    if (!world || tn_state_create(d->scene->model, &state) != TN_OK) o.lost_at = 0;
    while (o.lost_at < 0 && o.steps < count && o.seconds < patience) {
        const double begun = peer_seconds();
        const bool   good  = s->engine->step(world, h, &o.why);
        o.seconds += peer_seconds() - begun;
        s->engine->read(world, poses);
        ++o.steps;
        if (good && good_pose(d, poses)) measure(d, poses, state, E0, &o, h * o.steps);
        else o.lost_at = h * o.steps;
    }
    o.cut   = o.lost_at < 0 && o.steps < count;
    o.stood = o.lost_at < 0 && !o.cut && question(d, poses);
    if (world) s->engine->close(world);
    tn_state_free(state);
    free(poses);
    return o;
}

static void print_head(void)
{
    printf("%-24s %8s %11s %11s %9s %12s %12s %9s  %s\n", "engine", "h [ms]", "us a step",
           "depth [mm]", "at end", "anchors [m]", "joint error", "rise", "stood");
    fflush(stdout);
}

static void print(const setup* s, double h, const outcome* o)
{
    printf("%-24s %8.3g %11.1f %11.3g %9.2g %12.1e %12.1e %9.1e  ", s->name, 1e3 * h,
           1e6 * o->seconds / fmax(o->steps, 1), 1e3 * o->deepest, 1e3 * o->deep_end, o->anchors,
           o->joint_error, o->rise);
    if (o->cut) printf("cut at %.3g s", h * o->steps);
    else if (o->lost_at < 0) printf("%s", o->stood ? "yes" : "no");
    else printf("lost at %.3g s", o->lost_at);
    printf("%s%s\n", o->why.text[0] ? ": " : "", o->why.text);
    fflush(stdout);
}

static void open_drop(peer_scene* scene, drop* d, tn_scene* from)
{
    tn_why why = {0};
    if (peer_scene_open(scene, from, &why) && drop_open(d, scene, &why)) return;
    fprintf(stderr, "peers_contact: %s\n", why.text);
    exit(1);
}

static void close_drop(peer_scene* scene, drop* d)
{
    drop_close(d);
    peer_scene_close(scene);
}

// ---- Tables --------------------------------------------------------------------------------------

typedef struct table {
    tn_scene*           scene;
    stands*             question;
    double              duration;
    const double*       steps;
    int                 step_count;
    const setup* const* setups;
    int                 setup_count;
} table;

static void fill(const char* title, table t)
{
    peer_scene scene;
    drop       d;
    open_drop(&scene, &d, t.scene);
    printf("\n%s; %d bodies, %d joints, %d shapes; %g s simulated\n", title, d.body_count - 1,
           d.joint_count, d.shape_count, t.duration);
    print_head();
    for (int s = 0; s < t.setup_count; ++s) {
        for (int i = 0; wanted(t.setups[s]) && i < t.step_count; ++i) {
            const outcome o = run(&d, t.setups[s], t.steps[i], t.duration, PATIENCE, t.question);
            print(t.setups[s], t.steps[i], &o);
        }
    }
    close_drop(&scene, &d);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static void rod_table(void)
{
    static const double       steps[]  = {2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 250e-3};
    static const setup* const setups[] = {&quick500, &direct0, &direct,  &bullet10, &bullet500,
                                          &dantzig,  &mujoco,  &mujoco2, &tenon};
    fill("rod and block, figure 1d: a 50 kg rod with 7.5 t at its end falls on a stop",
         (table){drops_rod(), drops_rod_stands, 5, steps, COUNT(steps), setups, COUNT(setups)});
}

static const double       free_steps[]  = {FRAME, 5e-3, 1e-3};
static const setup* const free_setups[] = {&quick20, &quick500, &direct,  &bullet10,
                                           &dantzig, &mujoco,   &mujoco2, &tenon};

static void stack_table(void)
{
    fill("stack of 20 cubes of 0.2 m", (table){drops_stack(20), drops_stack_stands, 10, free_steps,
                                               COUNT(free_steps), free_setups, COUNT(free_setups)});
}

static void chain_table(void)
{
    fill("chain of 100 links dropped on the floor",
         (table){drops_chain(100), drops_rests, 5, free_steps, COUNT(free_steps), free_setups,
                 COUNT(free_setups)});
}

static void pile_table(void)
{
    static const setup* const setups[] = {&quick20,   &quick500, &direct,  &bullet10,
                                          &bullet500, &mujoco,   &mujoco2, &tenon};
    fill("pile of 8 ragdolls", (table){drops_pile(8), drops_rests, 8, free_steps, COUNT(free_steps),
                                       setups, COUNT(setups)});
}

// ---- The walking machine -------------------------------------------------------------------------

static const double ladder[] = {20e-3, 10e-3, 5e-3, 3e-3, 2e-3, 1e-3, 0.75e-3, 0.5e-3, 0.3e-3};

// As the paper's own runs of ODE, which were out by 2.0 to 2.6 cm.
static bool stable(const outcome* o)
{
    return o->lost_at < 0 && o->stood && o->anchors <= 0.03;
}

// The largest stable step of the ladder, by bisection: 0 is not known to be stable, COUNT(ladder)
// is taken to be.
static void beast_largest(const drop* d, const setup* s, double duration)
{
    int     low = -1, high = COUNT(ladder);
    outcome best = {0};
    while (high - low > 1) {
        const int     mid = (low + high) / 2;
        const outcome o   = run(d, s, ladder[mid], duration, 10 * PATIENCE, drops_beast_stands);
        print(s, ladder[mid], &o);
        if (stable(&o)) high = mid, best = o;
        else low = mid;
    }
    if (high == COUNT(ladder)) printf("   largest stable step: none\n");
    else
        printf("   largest stable step: %g ms, anchors %.1e m, time %.3g s\n", 1e3 * ladder[high],
               best.anchors, best.seconds);
    fflush(stdout);
}

static void beast_table(int pairs)
{
    static const setup* const setups[] = {&quick20, &bullet10, &mujoco2, &tenon};
    for (int e = 0; e < COUNT(setups); ++e) {
        for (int i = 0; wanted(setups[e]) && i < 4; ++i) {
            static const double loads[4] = {0, 5, 10, 20};
            peer_scene          scene;
            drop                d;
            open_drop(&scene, &d, drops_beast(pairs, loads[i]));
            printf("\nstrandbeest, %d pairs of legs, %d rows, dropped from 0.4 m, k = %g; 5 s; "
                   "stable: stood, no anchors ever apart by 3 cm\n",
                   pairs, tn_model_counts(scene.model).rows, loads[i]);
            print_head();
            beast_largest(&d, setups[e], 5);
            close_drop(&scene, &d);
        }
    }
}

static void beast_at(int pairs, double k, double h)
{
    static const setup* const setups[] = {&quick20, &quick500, &bullet10, &bullet500,
                                          &mujoco,  &mujoco2,  &tenon};
    peer_scene                scene;
    drop                      d;
    open_drop(&scene, &d, drops_beast(pairs, k));
    print_head();
    for (int e = 0; e < COUNT(setups); ++e) {
        if (!wanted(setups[e])) continue;
        const outcome o = run(&d, setups[e], h, 5, 10 * PATIENCE, drops_beast_stands);
        print(setups[e], h, &o);
    }
    close_drop(&scene, &d);
}

static int run_all(const char* spec, double h, double duration)
{
    static const setup* const setups[] = {&quick20, &quick500, &direct,  &bullet10,
                                          &dantzig, &mujoco,   &mujoco2, &tenon};
    tn_why                    why      = {0};
    tn_scene*                 scene    = NULL;
    if (tns_build(NULL, spec, &scene, &why) != TN_OK) {
        fprintf(stderr, "peers_contact: %s: %s\n", spec, why.text);
        return 1;
    }
    fill(spec, (table){scene, drops_rests, duration, &h, 1, setups, COUNT(setups)});
    return 0;
}

// ---- Words ---------------------------------------------------------------------------------------

static int write_json(const char* name, const char* path)
{
    tn_why    why   = {0};
    tn_scene* scene = strcmp(name, "rod") == 0     ? drops_rod()
                      : strcmp(name, "beast") == 0 ? drops_beast(6, 0)
                      : strcmp(name, "stack") == 0 ? drops_stack(20)
                      : strcmp(name, "chain") == 0 ? drops_chain(100)
                      : strcmp(name, "pile") == 0  ? drops_pile(8)
                                                   : NULL;
    if (scene && tn_scene_write_file(scene, path, &why) == TN_OK) return tn_scene_free(scene), 0;
    fprintf(stderr, "peers_contact: %s: %s\n", name, scene ? why.text : "no such scene");
    return 1;
}

int main(int argc, char** argv)
{
    int at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (argv[at][1] == 'e') only = argv[at + 1];
        else never = argv[at + 1];
    }
    const char* what = at < argc ? argv[at] : "";
    char**      rest = argv + at + 1;
    const int   more = argc - at - 1;
    if (strcmp(what, "rod") == 0) rod_table();
    else if (strcmp(what, "stack") == 0) stack_table();
    else if (strcmp(what, "chain") == 0) chain_table();
    else if (strcmp(what, "pile") == 0) pile_table();
    else if (strcmp(what, "beast") == 0) beast_table(more > 0 ? atoi(rest[0]) : 50);
    else if (strcmp(what, "beast_at") == 0 && more == 3)
        beast_at(atoi(rest[0]), atof(rest[1]), atof(rest[2]));
    else if (strcmp(what, "run") == 0 && more == 3)
        return run_all(rest[0], atof(rest[1]), atof(rest[2]));
    else if (strcmp(what, "json") == 0 && more == 2) return write_json(rest[0], rest[1]);
    else {
        fprintf(stderr,
                "usage: peers_contact [-e NAME] [-x NAME] rod | stack | chain | pile | beast "
                "[PAIRS] | beast_at PAIRS K H | run SCENE H DURATION | "
                "json SCENE FILE\n");
        return 2;
    }
    return 0;
}
