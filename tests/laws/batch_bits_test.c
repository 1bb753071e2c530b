// A copy in a batch moves as it would alone, bit for bit: whatever its neighbours, its index and
// their number.
#include "batch/batch_lanes.h"
#include "scenes/parts.h"
#include "support/batch_rig.h"

#ifdef TENON_TEST_LIGHT
enum { STEPS = 4 };
#else
enum { STEPS = 12 };
#endif

static void run(const char* spec, const char* settings, int count, double angle, double rate,
                double h)
{
    batch_rig r = batch_rig_make(spec, settings, count, NULL);
    batch_rig_scatter(&r, 7, angle, rate);
    for (int i = 0; i < STEPS && batch_rig_step(&r, h, spec); ++i) {}
    batch_rig_free(&r);
}

TEST(every_method_is_supported)
{
    run("chain:n=5", "method=multiplier", 5, 0.4, 1, 0.002);
    run("chain:n=5", "method=impulse", 5, 0.4, 1, 0.01);
    run("pendulum:n=12", "method=adaptive adaptive.active=4", 5, 0.4, 1, 0.002);
    run("humanoid", "method=implicit implicit.form=rows", 3, 0.2, 1, 1 / 60.0);
    run("humanoid", "method=implicit implicit.integrator=bdf2", 3, 0.2, 1, 1 / 60.0);
    run("fourbar", "method=impulse", 3, 0, 0, 0.01);
    run("ragdoll_pile:n=2", "method=impulse", 3, 0, 0, 0.01);
    run("ragdoll_pile:n=2", "method=auto", 3, 0.2, 1, 1 / 60.0);
    run("gripper", "method=auto", 3, 0, 0, 1 / 60.0);
    run("heap:links=5", "method=multiplier", 2, 0, 0, 0.002);
}

TEST(any_number_of_copies)
{
    for (int count = 0; count <= 18; ++count)
        run("humanoid", "method=implicit", count, 0.3, 2, 1 / 60.0);
}

TEST(characters)
{
    run("humanoid", "method=implicit", 37, 0.8, 4, 1 / 60.0);
    run("humanoid:joints=anatomical", "method=implicit", 37, 0.8, 4, 1 / 60.0);
    run("humanoid:held=0,joints=anatomical", "method=implicit", 21, 0.5, 4, 1 / 30.0);
    run("hand", "", 13, 0.5, 3, 1 / 60.0);
    run("robot", "method=implicit", 13, 0.3, 1, 1 / 60.0);
    run("humanoid:detail=1", "method=implicit", 5, 0.1, 1, 1 / 60.0);
}

TEST(trees)
{
    run("chain:n=9", "method=implicit", 11, 1, 3, 0.02);
    run("chain:n=9,joint=hinge,stiffness=20,damping=0.1", "method=implicit", 11, 1, 3, 0.02);
    run("chain:n=9,stiffness=20,damping=0.1", "method=implicit", 11, 1, 3, 0.02);
    run("tree:depth=4", "method=implicit", 6, 1, 3, 0.02);
    run("plant:depth=3,branching=2", "method=implicit", 6, 0.3, 1, 0.02);
    run("hair:n=6,strands=2,curl=3", "method=implicit", 6, 0.3, 1, 0.02);
    run("chain:n=20,mass=0.05,tip_mass=7500,angle=1", "method=implicit", 6, 0, 0, 0.02);
    run("spider:fixed=0", "method=implicit", 6, 0.3, 1, 0.02);
}

// Steps that are too long: substeps, Newton's method, failures.
TEST(wild_copies)
{
    run("humanoid:joints=anatomical", "method=implicit", 21, 2.5, 40, 1 / 30.0);
    run("chain:n=9", "method=implicit", 21, 3, 60, 0.05);
    run("chain:n=9,joint=hinge,stiffness=1e4", "method=implicit", 21, 3, 60, 0.05);
}

TEST(steps_of_other_lengths_and_settings)
{
    batch_rig r = batch_rig_make("humanoid", "method=implicit implicit.stiffen=false", 9, NULL);
    batch_rig_scatter(&r, 3, 0.3, 2);
    for (int i = 0; i < STEPS; ++i)
        batch_rig_step(&r, i % 2 ? 1 / 60.0 : 1 / 90.0, "not stiffened");
    batch_rig_free(&r);
    run("humanoid", "method=implicit implicit.solve=linear", 9, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.solve=newton", 5, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.iterations=1", 9, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.tolerance=1e-13", 9, 0.3, 2, 1 / 60.0);
}

// Some copies have no multipliers of a last step, or are held by a handle, beside ordinary ones;
// each has its own time.
TEST(copies_changed_from_outside)
{
    batch_rig r = batch_rig_make("humanoid", "method=implicit", 11, NULL);
    batch_rig_scatter(&r, 5, 0.3, 2);
    const tn_body_id hand = tn_model_find_body(r.model, "left_hand");
    for (int i = 0; i < 2 * STEPS; ++i) {
        const int    copy  = (5 * i) % r.count;
        tn_state*    to[2] = {r.singles[copy], tn_batch_state(r.batch, copy)};
        const double h     = 1 / 60.0;
        for (int k = 0; k < 2; ++k) {
            if (i % 4 == 0) tn_state_reset(to[k]);
            if (i % 4 == 1) CHECK_OK(tn_state_grab(to[k], 0, hand, (tn_vec3){0, 0, 0}, 100, 1));
            if (i % 4 == 2)
                CHECK_OK(tn_state_set_velocity(to[k], hand, tn_state_velocity(to[k], hand)));
            if (i % 4 == 3) tn_state_release(to[k], 0);
        }
        batch_rig_step(&r, h, "interfered with");
    }
    bool apart = false;
    for (int i = 1; i < r.count; ++i)
        apart = apart || tn_state_time(r.singles[i]) != tn_state_time(r.singles[0]);
    CHECK(apart);
    batch_rig_free(&r);
}

// ---- Trees of all supported joints -------------------------------------------------------------

static tn_vec3 random_point(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return (tn_vec3){x, y, test_random_between(r, -size, size)};
}

static tn_vec3 random_axis(test_random* r)
{
    for (;;) {
        const tn_vec3 a = random_point(r, 1);
        const double  n = tns_length(a);
        if (n > 0.2 && n < 1) return tns_scale(1 / n, a);
    }
}

static tn_body_id random_body(tn_scene* scene, test_random* r, tn_vec3 place, bool fixed)
{
    tn_body_def  def = tn_default_body_def();
    const double m   = test_random_between(r, 0.5, 3);
    def.kind         = fixed ? TN_BODY_STATIC : TN_BODY_RIGID;
    def.mass         = m;
    def.com          = random_point(r, 0.05);
    def.inertia[0]   = m * test_random_between(r, 0.02, 0.03);
    def.inertia[1]   = m * test_random_between(r, 0.02, 0.03);
    def.inertia[2]   = m * test_random_between(r, 0.01, 0.03);
    for (int k = 3; k < 6; ++k) def.inertia[k] = m * test_random_between(r, -0.002, 0.002);
    def.pose.position    = place;
    def.pose.orientation = tns_turn_about(random_axis(r), test_random_unit(r));
    return tn_scene_add_body(scene, &def);
}

// Springs, dampers, forces, and limits, or none of them.
static void random_feel(tn_joint_def* def, test_random* r)
{
    if (test_random_int(r, 0, 3) == 0 || def->type == TN_JOINT_WELD) return;
    def->stiffness = test_random_int(r, 0, 1) * test_random_between(r, 1, 50);
    def->damping   = test_random_int(r, 0, 1) * test_random_between(r, 0.01, 1);
    const int free = def->type == TN_JOINT_BALL ? 3 : def->type == TN_JOINT_HINGE ? 1 : 2;
    for (int k = 0; k < free; ++k) {
        def->rest[k]  = test_random_int(r, 0, 1) * test_random_between(r, -0.5, 0.5);
        def->force[k] = test_random_int(r, 0, 3) == 0 ? test_random_between(r, -1, 1) : 0;
    }
    if (test_random_int(r, 0, 2) == 0) return;
    def->limit.given     = true;
    def->limit.stiffness = test_random_between(r, 10, 1000);
    def->limit.damping   = test_random_int(r, 0, 1) * test_random_between(r, 0.1, 1);
    if (def->type == TN_JOINT_BALL) {
        if (test_random_int(r, 0, 2) > 0) def->limit.cone = test_random_between(r, 0.2, 1);
        if (test_random_int(r, 0, 2) == 0) return;
        def->limit.twist_lower = -test_random_between(r, 0.1, 1);
        def->limit.twist_upper = test_random_between(r, 0.1, 1);
    } else {
        def->limit.lower = -test_random_between(r, 0.1, 1);
        def->limit.upper = test_random_between(r, 0.1, 1);
    }
}

static tn_joint_def random_joint(test_random* r, tn_body_id a, tn_body_id b, tn_vec3 anchor)
{
    static const tn_joint_type types[] = {TN_JOINT_BALL, TN_JOINT_HINGE, TN_JOINT_WELD,
                                          TN_JOINT_UNIVERSAL};
    const bool                 swap    = test_random_int(r, 0, 1) == 1;
    const tn_vec3              axis    = random_axis(r);
    tn_joint_def               def =
        tns_joint(types[test_random_int(r, 0, 3)], swap ? b : a, swap ? a : b, anchor, axis);
    if (def.type == TN_JOINT_UNIVERSAL) {
        const tn_vec3 other = tns_cross(axis, random_axis(r));
        def.axis2           = tns_scale(1 / tns_length(other), other);
    }
    random_feel(&def, r);
    return def;
}

static void random_target(tn_scene* scene, test_random* r, tn_body_id body)
{
    const tn_key  keys[2] = {{0, {random_point(r, 0.5), tns_turn_about(random_axis(r), 0.1)}},
                             {1, {random_point(r, 0.5), tns_turn_about(random_axis(r), 0.1)}}};
    tn_target_def def     = tn_default_target_def();
    def.body              = body;
    def.keys              = keys;
    def.key_count         = test_random_int(r, 1, 2);
    def.point             = random_point(r, 0.1);
    def.stiffness         = test_random_between(r, 10, 500);
    def.damping           = test_random_int(r, 0, 1) * 5.0;
    def.angular_stiffness = test_random_int(r, 0, 1) * 20.0;
    def.angular_damping   = test_random_int(r, 0, 1) * 0.5;
    tn_scene_add_target(scene, &def);
}

static tn_scene* random_trees(uint64_t seed)
{
    enum { BODIES = 9 };
    test_random r = {seed};
    tn_scene*   scene;
    tn_body_id  bodies[BODIES];
    tn_vec3     places[BODIES];
    CHECK_OK(tn_scene_create(NULL, &scene));
    const tn_body_id post = random_body(scene, &r, (tn_vec3){0.3, 0.2, 0.1}, true);
    for (int i = 0; i < BODIES; ++i) {
        const int     up     = i > 0 ? test_random_int(&r, 0, i - 1) : -1;
        const bool    root   = i == 0 || test_random_int(&r, 0, 7) == 0;
        const tn_vec3 from   = root ? (tn_vec3){0, 0, 0} : places[up];
        places[i]            = tns_add(from, random_point(&r, 0.3));
        bodies[i]            = random_body(scene, &r, places[i], false);
        const tn_vec3 anchor = tns_add(from, random_point(&r, 0.1));
        const int     kind   = test_random_int(&r, 0, 2); // floating, on the ground, on the post
        if (root && kind == 0) continue;
        const tn_body_id   on  = !root ? bodies[up] : kind == 1 ? (tn_body_id){0} : post;
        const tn_joint_def def = random_joint(&r, on, bodies[i], anchor);
        tn_scene_add_joint(scene, &def);
    }
    for (int i = 0; i < 3; ++i)
        random_target(scene, &r, bodies[test_random_int(&r, 0, BODIES - 1)]);
    return scene;
}

TEST(random_trees)
{
    int lanes = 0, alone = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        batch_rig r = batch_rig_of(random_trees(seed), "method=implicit", 7, NULL);
        char      what[40];
        snprintf(what, sizeof what, "random trees %d", (int)seed);
        batch_rig_scatter(&r, seed, 0.5, 2);
        for (int i = 0; i < STEPS && batch_rig_step(&r, 0.02, what); ++i) {}
        lanes += tn_batch_lanes(r.batch) > 1;
        alone += r.alone;
        batch_rig_free(&r);
    }
    CHECK_INT(lanes, 40);
    CHECK(alone < 40 * 7 * STEPS / 4); // most of it was done in lanes
}

// ---- Vectors of any length ---------------------------------------------------------------------

// Copies in two lanes against those in the widest vectors.
static void run_narrow(batch_rig* r, double h, const char* what)
{
    const tn_host    host  = tn_default_host();
    tni_arena        arena = tni_arena_make(&host);
    tni_batch_plan*  plan  = NULL;
    tni_batch_lanes* lanes = NULL;
    tn_step_report   reports[2], own;
    tn_step_report*  to[2] = {&reports[0], &reports[1]};
    CHECK_OK(tni_batch_plan_create(&arena, r->model, &r->settings, &plan));
    CHECK(plan != NULL);
    if (plan == NULL) return;
    tni_batch_narrow(plan);
    CHECK_INT(tni_batch_lane_count(plan), 2);
    CHECK_OK(tni_batch_create(&arena, plan, &lanes));
    for (int s = 0; s < STEPS; ++s)
        for (int i = 0; i < r->count; i += 2) {
            tn_state*      states[2] = {r->singles[i], i + 1 < r->count ? r->singles[i + 1] : NULL};
            const int      count     = i + 1 < r->count ? 2 : 1;
            const unsigned left      = tni_batch_step(lanes, states, count, h, to);
            for (int k = 0; k < count; ++k) {
                tn_state* beside = tn_batch_state(r->batch, i + k);
                if (left >> k & 1) CHECK_OK(tn_stepper_step(r->stepper, states[k], h, to[k], NULL));
                CHECK_OK(tn_stepper_step(r->stepper, beside, h, &own, NULL));
                test_check(batch_same_state(beside, states[k]) && batch_same_report(to[k], &own),
                           __FILE__, __LINE__, "%s: copy %d differs in two lanes", what, i + k);
            }
        }
    tni_arena_free(&arena);
}

TEST(two_lanes)
{
    static const char* const specs[] = {"humanoid:joints=anatomical", "humanoid:detail=1", "hand",
                                        "chain:n=9,joint=hinge,stiffness=20"};
    for (int i = 0; i < 4; ++i) {
        batch_rig r = batch_rig_make(specs[i], "method=implicit", 5, NULL);
        batch_rig_scatter(&r, 2, 0.4, 2);
        run_narrow(&r, 1 / 60.0, specs[i]);
        batch_rig_free(&r);
    }
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        batch_rig r = batch_rig_of(random_trees(seed), "method=implicit", 5, NULL);
        batch_rig_scatter(&r, seed, 0.4, 2);
        run_narrow(&r, 0.02, "random trees");
        batch_rig_free(&r);
    }
}

// A copy that fails is unchanged, and the report names it; its neighbours move on.
TEST(a_copy_that_fails)
{
    batch_rig        r    = batch_rig_make("chain:n=6", "method=implicit", 10, NULL);
    const tn_body_id body = {3};
    tn_batch_report  report;
    tn_why           why;
    batch_rig_scatter(&r, 9, 0.3, 1);
    for (int i = 2; i < 10; i += 3) {
        const tn_twist fast = {{1e200, 0, 0}, {0, 1e200, 0}};
        CHECK_OK(tn_state_set_velocity(r.singles[i], body, fast));
        tn_state_copy(tn_batch_state(r.batch, i), r.singles[i]);
    }
    for (int i = 0; i < 5; ++i) batch_rig_step(&r, 0.02, "fails");
    const tn_result result = tn_batch_step(r.batch, 0.02, &report, &why);
    CHECK(result != TN_OK && result == tn_batch_outcome(r.batch, 2, NULL));
    CHECK(strncmp(why.text, "copy 2: ", 8) == 0);
    CHECK_INT(report.failed_count, 3);
    CHECK_INT(report.failed_copy, 2);
    CHECK(tn_state_time(tn_batch_view(r.batch, 2)) == 0);
    CHECK_NEAR(tn_state_time(tn_batch_view(r.batch, 3)), 0.12, 1e-12);
    CHECK(tn_batch_step(r.batch, 0, &report, &why) == TN_ERR_MODEL);
    batch_rig_free(&r);
}
