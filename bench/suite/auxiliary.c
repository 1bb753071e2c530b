// auxiliary: rows that are solved beside the tree. Three tables:
//     paper     the examples of Baraff 1996, section 9, that have auxiliary rows: one evaluation, in parts
//     loops     joints that close loops, in the matrix or beside a forest: a step of each
//     contact   things that lie on a floor: a step
// All entries of a table take turns, so that a slow spell of the machine hits them alike. How the
// columns grow with their number is in bench/micro/auxiliary.c.
#include "mechanism.h"

#include <stdlib.h>

enum { PART_J, PART_TREE, PART_COLUMNS, PART_PAIRS, PART_ALL, PART_COUNT };

/// One line of a table: a mechanism that is timed again and again.
typedef struct entry {
    const char* name;
    const char* spec; ///< NULL: build
    void (*build)(tn_scene* scene, int count);
    int         count;
    tn_loops    loops;
    const char* told; ///< by the paper
    // What comes out:
    tnb_trial      trial;
    tnc_times*     parts; ///< PART_COUNT of them
    tn_step_report most;  ///< largest numbers of rows, points, iterations
    long long      iterations, steps;
} entry;

// ---- Scenes that only serve here -----------------------------------------------------------------

static tn_body_id add_solid(tn_scene* scene, tn_vec3 at, tn_quat turn, tn_shape_def shape,
                            double density)
{
    tn_body_def def = tn_default_body_def();
    shape.density   = density;
    def.pose        = (tn_frame){at, turn};
    def.shapes      = &shape;
    def.shape_count = 1;
    return tn_scene_add_body(scene, &def);
}

static void add_ball_joint(tn_scene* scene, tn_body_id one, tn_body_id two, tn_vec3 at)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_BALL);
    def.body1        = one;
    def.body2        = two;
    def.anchor       = at;
    tn_scene_add_joint(scene, &def);
}

// 32 rods in the plane z = 0.05, each by a ball joint to the one before it in a binary tree, the
// first to the ground. The last `count` end in spheres that touch the floor; the rest are held up
// by these and the ground.
static void build_tree(tn_scene* scene, int count)
{
    enum { RODS = 32 };
    const double  radius = 0.05;
    const tn_quat turn   = {1, 0, 0, 0};
    tn_scene_set_ground(scene, 0, 0);
    for (int i = 0; i < RODS; ++i) {
        const int     parent = (i + 1) / 2 - 1;
        const int     level  = i < 1 ? 0 : i < 3 ? 1 : i < 7 ? 2 : i < 15 ? 3 : i < 31 ? 4 : 5;
        const double  y      = i + 1.5 - 1.5 * (1 << level); // levels lie side by side
        const tn_vec3 at     = {0.2 * level + 0.1, 0.1 * y, radius};
        tn_shape_def  shape  = tn_default_shape_def(TN_SHAPE_SPHERE);
        shape.radius         = radius;
        shape.friction       = 0;
        shape.collide        = i >= RODS - count;
        const tn_body_id rod = add_solid(scene, at, turn, shape, 1000);
        const tn_vec3    pin = {at.x - 0.1, at.y, radius};
        add_ball_joint(scene, (tn_body_id){(uint32_t)(parent + 1)}, rod, pin);
    }
}

static void build_boxes(tn_scene* scene, int count)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_BOX);
    shape.half_size    = (tn_vec3){0.1, 0.1, 0.1};
    tn_scene_set_ground(scene, 0.5, 0);
    for (int i = 0; i < count; ++i)
        add_solid(scene, (tn_vec3){0.5 * i, 0, 0.1}, (tn_quat){1, 0, 0, 0}, shape, 1000);
}

// Capsules with ball joints, lying straight along x.
static void build_chain(tn_scene* scene, int count)
{
    const tn_quat along_x = {0.70710678118654757, 0, 0.70710678118654757, 0};
    const double  radius = 0.02, length = 0.2;
    tn_shape_def  shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius        = radius;
    shape.half_length   = 0.5 * length;
    tn_scene_set_ground(scene, 0.5, 0);
    tn_body_id last = {0};
    for (int i = 0; i < count; ++i) {
        const tn_vec3    at  = {length * (i + 0.5), 0, radius};
        const tn_vec3    pin = {length * i, 0, radius};
        const tn_body_id rod = add_solid(scene, at, along_x, shape, 1000);
        if (i > 0) add_ball_joint(scene, last, rod, pin);
        last = rod;
    }
}

// ---- Opening and timing --------------------------------------------------------------------------

static bool open_entry(entry* e)
{
    e->parts = malloc(PART_COUNT * sizeof *e->parts);
    if (!e->parts) return false;
    for (int i = 0; i < PART_COUNT; ++i) tnc_times_clear(&e->parts[i]);
    if (e->spec ? !tnb_trial_load(&e->trial, e->spec, NULL) : !tnb_trial_create(&e->trial, e->name))
        return false;
    if (e->build) e->build(e->trial.scene, e->count);
    tnb_set_method(&e->trial.settings, TN_METHOD_MULTIPLIER);
    e->trial.settings.multiplier.loops = e->loops;
    if (!tnb_trial_ready(&e->trial)) return false;
    tn_stepper_set_clock(e->trial.stepper, tnc_clock, NULL);
    return true;
}

static void close_entry(entry* e)
{
    free(e->parts);
    tnb_trial_close(&e->trial);
}

static void take_larger(int* most, int count)
{
    if (count > *most) *most = count;
}

static void note(entry* e, const tn_step_report* r, double seconds, bool counts)
{
    take_larger(&e->most.auxiliary_count, r->auxiliary_count);
    take_larger(&e->most.dependent_count, r->dependent_count);
    take_larger(&e->most.contact_count, r->contact_count);
    if (!counts) return;
    tnc_times_add(&e->parts[PART_J], r->phases.kinematics + r->phases.assemble);
    tnc_times_add(&e->parts[PART_TREE], r->phases.factor + r->phases.solve);
    tnc_times_add(&e->parts[PART_COLUMNS], r->phases.columns);
    tnc_times_add(&e->parts[PART_PAIRS], r->phases.contact);
    tnc_times_add(&e->parts[PART_ALL], seconds);
    e->iterations += r->iteration_count;
    e->steps++;
}

static bool evaluate(entry* e, bool counts)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    const double   begun  = tnc_clock(NULL);
    if (tn_stepper_evaluate(e->trial.stepper, e->trial.state, &report, &why) != TN_OK)
        return tnb_failed(e->name, &why);
    note(e, &report, tnc_clock(NULL) - begun, counts);
    return true;
}

enum { STEPS = 20 };
#define TURN_SECONDS  0.1
#define TABLE_SECONDS 10.0

static bool steps(entry* e, bool counts)
{
    const double start = tnc_clock(NULL);
    tn_state_reset(e->trial.state);
    for (int i = 0; i < STEPS && (i == 0 || tnc_clock(NULL) - start < TURN_SECONDS); ++i) {
        tn_step_report report = {0};
        tn_why         why    = {0};
        const double   begun  = tnc_clock(NULL);
        const double   h      = e->trial.settings.h;
        if (tn_stepper_step(e->trial.stepper, e->trial.state, h, &report, &why) != TN_OK)
            return tnb_failed(e->name, &why);
        note(e, &report, tnc_clock(NULL) - begun, counts);
    }
    return true;
}

typedef bool measure(entry* e, bool counts);

// All take turns; the first few turns only warm up. What is slow gets fewer of them.
static bool take_turns(entry* entries, int count, int repeat, measure* once)
{
    bool   good  = true;
    double begun = tnc_clock(NULL);
    for (int i = 0; good && i < count; ++i) good = open_entry(&entries[i]);
    for (int turn = -repeat / 10 - 1; good && turn < repeat; ++turn) {
        if (turn > 0 && tnc_clock(NULL) - begun > TABLE_SECONDS) break;
        for (int i = 0; good && i < count; ++i) good = once(&entries[i], turn >= 0);
    }
    return good;
}

static void close_all(entry* entries, int count)
{
    for (int i = 0; i < count; ++i) close_entry(&entries[i]);
}

// Microseconds. Tables tell the smallest, the machine at its quietest.
static double least(const entry* e, int part)
{
    return 1e6 * e->parts[part].min;
}

static double middle(entry* e, int part)
{
    return 1e6 * tnc_times_median(&e->parts[part]);
}

static void put_csv(entry* e, const char* name, const char* quantity, int part, tnb_run* run)
{
    tnc_put(&run->to->csv, "auxiliary,%s,%d,%s_us,%.3f,%.3f\n", name, e->trial.counts.bodies,
            quantity, least(e, part), middle(e, part));
}

// ---- The paper -----------------------------------------------------------------------------------

static bool bench_paper(int repeat, tnb_run* run)
{
    entry entries[] = {
        {.name  = "web, 108 primary",
         .spec  = "@planar_web",
         .loops = TN_LOOPS_AUXILIARY,
         .told  = "7.75 ms, of which 2.75 ms in J"},
        {.name  = "web, 96 + 12 auxiliary",
         .spec  = "@planar_web:joints=48,loops=6",
         .loops = TN_LOOPS_AUXILIARY,
         .told  = "about 17 ms more, virtually all of it in the columns"},
        {.name  = "the same, loops in core",
         .spec  = "@planar_web:joints=48,loops=6",
         .loops = TN_LOOPS_CORE,
         .told  = "-"},
        {.name = "3D tree, 96 primary", .build = build_tree, .count = 0, .told = "-"},
        {.name  = "3D tree, 96 + 3 contacts",
         .build = build_tree,
         .count = 3,
         .told  = "18 ms, of which 4.4 ms in J"},
    };
    enum { COUNT = sizeof entries / sizeof entries[0] };
    static const char* const words[PART_COUNT] = {"J", "tree", "columns", "k_x_k", "all"};
    const bool               good              = take_turns(entries, COUNT, repeat, evaluate);
    tnb_tell(
        run,
        "auxiliary, the paper: one evaluation, least of %d [us]; J: kinematics and assembly, tree:\n"
        "factor and solve; beside it what the paper told of a 250 MHz R4400\n\n%-25s",
        repeat, "");
    for (int p = 0; p < PART_COUNT; ++p) tnb_tell(run, " %8s", words[p]);
    tnb_tell(run, "\n");
    for (int i = 0; good && i < COUNT; ++i) {
        tnb_tell(run, "%-25s", entries[i].name);
        for (int p = 0; p < PART_COUNT; ++p) {
            static const char* const names[COUNT] = {"web108", "web96+12", "web96+12core", "tree96",
                                                     "tree96+3"};
            tnb_tell(run, " %8.2f", least(&entries[i], p));
            put_csv(&entries[i], names[i], words[p], p, run);
        }
        tnb_tell(run, "   %s\n", entries[i].told);
    }
    tnb_tell(run, "\n");
    close_all(entries, COUNT);
    return good;
}

// ---- Loops in two ways ---------------------------------------------------------------------------

static bool bench_loop(const char* spec, const char* name, int repeat, tnb_run* run)
{
    entry      both[] = {{.name = name, .spec = spec, .loops = TN_LOOPS_CORE},
                         {.name = name, .spec = spec, .loops = TN_LOOPS_AUXILIARY}};
    const bool good   = take_turns(both, 2, repeat, steps);
    if (good) {
        const tn_counts n    = both[0].trial.counts;
        const double    core = least(&both[0], PART_ALL), beside = least(&both[1], PART_ALL);
        tnb_tell(run, "%-16s %6d %6d %6d %6d %10.1f %10.1f %10.1f %10.1f %7.2f\n", name, n.bodies,
                 n.rows, both[1].most.auxiliary_count, both[1].most.dependent_count, core,
                 middle(&both[0], PART_ALL), beside, middle(&both[1], PART_ALL), beside / core);
        put_csv(&both[0], name, "core_step", PART_ALL, run);
        put_csv(&both[1], name, "auxiliary_step", PART_ALL, run);
    }
    close_all(both, 2);
    return good;
}

static bool bench_loops(int repeat, tnb_run* run)
{
    static const char* const scenes[][2] = {
        {"@fourbar", "fourbar"},
        {"@slider_crank", "slider_crank"},
        {"@peaucellier", "peaucellier"},
        {"@bricard", "bricard"},
        {"@planar_web:joints=48,loops=6", "planar_web"},
        {"@scissor", "scissor"},
        {"@strandbeest", "strandbeest"},
        {"@octahedron_tube:rings=1,around=6", "octahedron_tube"},
        {"@octahedron_cube", "octahedron_cube"}};
    bool good = true;
    tnb_tell(
        run,
        "auxiliary, loops: a step with joints that close loops in the matrix (core) or beside a "
        "forest (auxiliary) [us]; ratio of the least\n\n");
    tnb_tell(run, "%-16s %6s %6s %6s %6s %10s %10s %10s %10s %7s\n", "scene", "bodies", "rows",
             "beside", "depend", "core min", "median", "aux. min", "median", "ratio");
    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); ++i)
        good = bench_loop(scenes[i][0], scenes[i][1], repeat, run) && good;
    tnb_tell(run, "\n");
    return good;
}

// ---- Contact -------------------------------------------------------------------------------------

static bool bench_contact(int repeat, tnb_run* run)
{
    entry entries[] = {
        {.name = "box", .build = build_boxes, .count = 1},
        {.name = "boxes10", .build = build_boxes, .count = 10},
        {.name = "boxes50", .build = build_boxes, .count = 50},
        {.name = "chain20", .build = build_chain, .count = 20},
        {.name = "incline", .spec = "@incline"},
        {.name = "ladder", .spec = "@ladder"},
        {.name = "cradle", .spec = "@cradle"},
    };
    enum { COUNT = sizeof entries / sizeof entries[0] };
    const bool good = take_turns(entries, COUNT, repeat, steps);
    tnb_tell(
        run,
        "auxiliary, contact: a step of things that touch [us]; columns and k x k: medians\n\n");
    tnb_tell(run, "%-10s %6s %6s %6s %11s %10s %10s %10s %10s\n", "scene", "bodies", "points",
             "rows", "iterations", "min", "median", "columns", "k x k");
    for (int i = 0; good && i < COUNT; ++i) {
        entry* e = &entries[i];
        tnb_tell(run, "%-10s %6d %6d %6d %11.2f %10.1f %10.1f %10.1f %10.1f\n", e->name,
                 e->trial.counts.bodies, e->most.contact_count, e->most.auxiliary_count,
                 (double)e->iterations / (double)e->steps, least(e, PART_ALL), middle(e, PART_ALL),
                 middle(e, PART_COLUMNS), middle(e, PART_PAIRS));
        put_csv(e, e->name, "step", PART_ALL, run);
        put_csv(e, e->name, "step_columns", PART_COLUMNS, run);
        put_csv(e, e->name, "step_k_x_k", PART_PAIRS, run);
    }
    tnb_tell(run, "\n");
    close_all(entries, COUNT);
    return good;
}

static bool bench_auxiliary(tnb_run* run)
{
    const int repeat = run->repeat ? run->repeat : 20;
    bool      good   = bench_paper(100 * repeat, run);
    good             = bench_loops(repeat, run) && good;
    return bench_contact(repeat, run) && good;
}

const tnb_suite tnb_auxiliary = {
    "auxiliary", "rows beside the tree: Baraff's examples, loops in two ways, contact", NULL,
    bench_auxiliary, NULL};
