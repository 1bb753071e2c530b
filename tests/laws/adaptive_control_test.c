// What controls the number of active joints: a time budget, a camera; and how the adaptive method
// fails.
#include "step/stepper.h"
#include "support/adaptive_rig.h"
#include "support/failing_host.h"
#include "support/rig.h"

// ---- Budget -------------------------------------------------------------------------------------

// A clock that charges a fixed time for every visited node.
typedef struct node_clock {
    const tn_stepper* stepper;
    int               step;
    double            time, a_node;
} node_clock;

static double read_clock(void* user)
{
    node_clock*         c = user;
    const tni_adaptive* a = c->stepper->adaptive;
    if (a->step == c->step) return c->time;
    c->step = a->step;
    for (int t = 0; t < a->trees->tree_count; ++t) c->time += c->a_node * a->figures[t].visits;
    return c->time;
}

static void settle(const char* spec, double pixels, double share)
{
    rig r                        = rig_builtin(spec);
    r.settings.method            = TN_METHOD_ADAPTIVE;
    r.settings.adaptive          = adaptive_settings();
    r.settings.adaptive.period   = 5;
    r.settings.adaptive.pixels   = pixels;
    r.settings.adaptive.camera_x = 5;
    // Time with all joints active.
    r.settings.adaptive.active = 100000;
    rig_restart(&r);
    tn_step_report report;
    CHECK_OK(tn_stepper_run(r.stepper, r.state, 1e-3, 20, &report, NULL));
    const double full          = report.adaptive.visit_count / 20.0;
    r.settings.adaptive.active = 0;
    r.settings.adaptive.budget = share * full; // 1 us a node
    rig_restart(&r);
    node_clock clock = {.stepper = r.stepper, .step = -1, .a_node = 1e-6};
    tn_stepper_set_clock(r.stepper, read_clock, &clock);
    CHECK_OK(tn_stepper_run(r.stepper, r.state, 1e-3, 100, &report, NULL));
    const double before = clock.time;
    CHECK_OK(tn_stepper_run(r.stepper, r.state, 1e-3, 100, &report, NULL));
    const double mean = (clock.time - before) / 100 / (1e-6 * r.settings.adaptive.budget);
    test_check(fabs(mean - 1) <= 0.2, __FILE__, __LINE__, "%s: %.3g of the budget is spent", spec,
               mean);
    rig_free(&r);
}

TEST(the_time_budget_is_met)
{
    settle("pendulum:n=100", 0, 0.3);
    settle("pendulum:n=100", 0, 0.6);
    settle("crowd:n=6", 0, 0.3);
    settle("crowd:n=6", 1000, 0.5);
}

// Without a clock the initial number is kept, and it is not all.
TEST(a_time_budget_without_a_clock_keeps_the_initial_number)
{
    rig r                      = rig_builtin("pendulum:n=100");
    r.settings.method          = TN_METHOD_ADAPTIVE;
    r.settings.adaptive        = adaptive_settings();
    r.settings.adaptive.budget = 1;
    rig_restart(&r);
    rig_run(&r, 1e-3, 50);
    CHECK(r.report.adaptive.active_count > 0 && r.report.adaptive.active_count < 50);
    rig_free(&r);
}

// ---- Camera -------------------------------------------------------------------------------------

enum { ROW = 6, LINKS = 12 };

// Chains that hang in a row along x, 4 m apart, all equal.
static rig row_of_chains(const tn_adaptive_settings* settings)
{
    rig r               = rig_make((tn_vec3){0, 0, -9.81});
    r.settings.method   = TN_METHOD_ADAPTIVE;
    r.settings.adaptive = *settings;
    for (int k = 0; k < ROW; ++k) {
        tn_body_id parent = {0};
        for (int i = 0; i < LINKS; ++i) {
            const tn_vec3    anchor = {4 * k, 0.2 * i, 0}, place = {4 * k, 0.2 * i + 0.1, 0};
            const tn_body_id link = rig_add_body(&r, 1, (tn_vec3){0.01, 0.01, 0.01}, place);
            rig_add_joint(&r, TN_JOINT_HINGE, parent, link, anchor, (tn_vec3){1, 0, 0});
            parent = link;
        }
    }
    rig_ready(&r);
    return r;
}

static int active_in(const rig* r, int chain)
{
    int count = 0;
    for (int i = 0; i < LINKS; ++i) {
        const tn_joint_id joint = {(uint32_t)(chain * LINKS + i + 1)};
        count += tn_state_joint_active(r->state, joint);
    }
    return count;
}

static tn_adaptive_settings camera_at(double x)
{
    tn_adaptive_settings s = adaptive_settings();
    s.active               = 30;
    s.period               = 2;
    s.pixels               = 800;
    s.camera_x             = x;
    s.detail               = 2;
    s.falloff              = 1;
    return s;
}

TEST(nearer_bodies_get_more_joints)
{
    const tn_adaptive_settings s = camera_at(-1);
    rig                        r = row_of_chains(&s);
    for (int step = 0; step < 20; ++step) {
        rig_run(&r, 1e-3, 1);
        int sum = 0;
        for (int k = 0; k < ROW; ++k) {
            sum += active_in(&r, k);
            CHECK(active_in(&r, k) >= 1);
            if (k > 0) CHECK(active_in(&r, k) <= active_in(&r, k - 1));
        }
        CHECK(sum <= s.active);
        CHECK_INT(sum, r.report.adaptive.active_count);
    }
    CHECK(active_in(&r, 0) >= active_in(&r, ROW - 1) + 4);
    rig_free(&r);
}

// Nearer than `detail` all joints; farther away by the power of the distance, as far as the sum
// allows.
TEST(quotas_fall_with_the_distance)
{
    for (int falloff = 1; falloff <= 2; ++falloff) {
        tn_adaptive_settings s = camera_at(0);
        s.active               = 0;
        s.falloff              = falloff;
        s.choice               = TN_CHOICE_CLOSED;
        rig r                  = row_of_chains(&s);
        rig_run(&r, 1e-3, 4);
        for (int k = 0; k < ROW; ++k) {
            const double far    = fmax(4 * k / s.detail, 1);
            const int    wanted = (int)floor(LINKS / pow(far, falloff) + 1e-9);
            CHECK_INT(active_in(&r, k), wanted > 1 ? wanted : 1);
        }
        rig_free(&r);
    }
}

TEST(a_moved_camera_takes_effect_at_once)
{
    const tn_adaptive_settings s     = camera_at(-1);
    rig                        r     = row_of_chains(&s);
    const tn_vec3              there = {4 * (ROW - 1) + 1, 0, 0}, bad = {NAN, 0, 0};
    rig_run(&r, 1e-3, 4);
    CHECK(active_in(&r, 0) > active_in(&r, ROW - 1));
    CHECK(tn_state_set_camera(r.state, &bad) != TN_OK);
    CHECK_OK(tn_state_set_camera(r.state, &there));
    rig_run(&r, 1e-3, 2); // all have chosen once
    CHECK(active_in(&r, 0) < active_in(&r, ROW - 1));
    CHECK_OK(tn_state_set_camera(r.state, NULL));
    rig_run(&r, 1e-3, 2);
    CHECK(active_in(&r, 0) > active_in(&r, ROW - 1));
    rig_free(&r);
}

// ---- Failure ------------------------------------------------------------------------------------

// Steps far too long: the motion diverges, and the state is that after the last good step.
TEST(a_failed_step_changes_nothing_and_gives_the_reason)
{
    rig r                      = rig_builtin("pendulum:n=30");
    r.settings.method          = TN_METHOD_ADAPTIVE;
    r.settings.adaptive        = adaptive_settings();
    r.settings.adaptive.active = 8;
    rig_restart(&r);
    tn_state *     one = adaptive_copy(r.state), *last = adaptive_copy(r.state);
    tn_why         why = {.text = ""};
    tn_step_report report;
    int            good = 0;
    while (good < 400 && tn_stepper_step(r.stepper, one, 3, &report, &why) == TN_OK) {
        tn_state_copy(last, one);
        ++good;
    }
    CHECK(good < 400);
    CHECK(adaptive_same(one, last));
    CHECK(report.h_taken == 0);
    CHECK_INT(why.result, TN_ERR_DIVERGED);
    CHECK(strstr(why.text, "smaller step") != NULL);
    for (int count = good + 1; count < good + 9; count += 3) {
        tn_state_reset(r.state);
        why = (tn_why){.text = ""};
        CHECK_INT(tn_stepper_run(r.stepper, r.state, 3, count, &report, &why), TN_ERR_DIVERGED);
        CHECK(strstr(why.text, "smaller step") != NULL);
        CHECK(adaptive_same(r.state, last));
        CHECK_NEAR(report.h_taken, 3 * good, 1e-9);
    }
    tn_state_reset(r.state); // the stepper still works
    rig_run(&r, 1e-3, 50);
    tn_stepper* fresh = adaptive_stepper(r.model, &r.settings.adaptive);
    tn_state_reset(one);
    adaptive_go(fresh, one, 1e-3, 50);
    CHECK(adaptive_same(r.state, one));
    tn_stepper_free(fresh);
    tn_state_free(one);
    tn_state_free(last);
    rig_free(&r);
}

// ---- Refusals -----------------------------------------------------------------------------------

static void check_refused(rig* r, const char* culprit)
{
    tn_why      why      = {.text = ""};
    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_ADAPTIVE;
    rig_must(tn_scene_compile(r->scene, &r->model, &why), culprit, &why);
    CHECK_INT(tn_stepper_create(r->model, &settings, &r->stepper, &why), TN_ERR_UNSUPPORTED);
    CHECK(r->stepper == NULL);
    CHECK_INT(why.result, TN_ERR_UNSUPPORTED);
    test_check(strstr(why.text, culprit) != NULL, __FILE__, __LINE__, "'%s' is not in: %s", culprit,
               why.text);
    rig_free(r);
}

static tn_body_id add_named(rig* r, const char* name, tn_body_kind kind, double x)
{
    tn_body_def def = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){x, 0, 0});
    def.name        = name;
    def.kind        = kind;
    return tn_scene_add_body(r->scene, &def);
}

static void add_joint(rig* r, const char* name, tn_joint_type type, tn_body_id one, tn_body_id two,
                      double x)
{
    tn_joint_def def = tns_joint(type, one, two, (tn_vec3){x, 0, 0}, (tn_vec3){0, 0, 1});
    def.name         = name;
    if (type == TN_JOINT_MOTOR) def.of = TN_JOINT_HINGE, def.velocity = 1;
    if (type == TN_JOINT_ROPE) def.form = TN_JOINT_BY_POINTS;
    (void)tn_scene_add_joint(r->scene, &def);
}

TEST(scenes_that_are_not_trees_of_rigid_bodies_are_refused_by_name)
{
    const tn_vec3    down   = {0, 0, -9.81};
    const tn_body_id ground = {0};

    rig        r = rig_make(down);
    tn_body_id a = add_named(&r, "a", TN_BODY_RIGID, 0), b = add_named(&r, "b", TN_BODY_RIGID, 1);
    add_joint(&r, "first", TN_JOINT_HINGE, ground, a, 0);
    add_joint(&r, "second", TN_JOINT_HINGE, a, b, 0.5);
    add_joint(&r, "closing", TN_JOINT_HINGE, b, ground, 1);
    check_refused(&r, "closing");

    const tn_joint_type types[] = {TN_JOINT_MOTOR, TN_JOINT_ROPE, TN_JOINT_ROLLING};
    for (int i = 0; i < 3; ++i) {
        r = rig_make(down);
        a = add_named(&r, "a", TN_BODY_RIGID, 0), b = add_named(&r, "b", TN_BODY_RIGID, 1);
        add_joint(&r, "good", TN_JOINT_HINGE, ground, a, 0);
        tn_joint_def def = tns_joint(types[i], a, b, (tn_vec3){0.5, 0, 0}, (tn_vec3){0, 0, 1});
        def.name = "culprit", def.of = TN_JOINT_HINGE, def.velocity = 1, def.radius = 0.3;
        if (types[i] == TN_JOINT_ROPE) def.form = TN_JOINT_BY_POINTS;
        (void)tn_scene_add_joint(r.scene, &def);
        check_refused(&r, "culprit");
    }

    const tn_body_kind kinds[] = {TN_BODY_PARTICLE, TN_BODY_AFFINE};
    for (int i = 0; i < 2; ++i) {
        r               = rig_make(down);
        tn_body_def def = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){1, 0, 0});
        def.name = "odd", def.kind = kinds[i], def.volume = 0.1;
        add_named(&r, "a", TN_BODY_RIGID, 0);
        (void)tn_scene_add_body(r.scene, &def);
        check_refused(&r, "odd");
    }

    r                 = rig_make(down); // attached to a kinematic body
    const tn_key key  = {0, {{0, 0, 0}, {1, 0, 0, 0}}};
    tn_body_def  hand = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){0, 0, 0});
    hand.kind = TN_BODY_KINEMATIC, hand.keys = &key, hand.key_count = 1;
    a = tn_scene_add_body(r.scene, &hand);
    b = add_named(&r, "b", TN_BODY_RIGID, 1);
    add_joint(&r, "wrist", TN_JOINT_BALL, a, b, 0.5);
    check_refused(&r, "wrist");

    r = rig_make(down); // planar to rigid
    a = add_named(&r, "a", TN_BODY_RIGID, 0), b = add_named(&r, "flat", TN_BODY_PLANAR, 1);
    add_joint(&r, "mixed", TN_JOINT_DISTANCE, a, b, 0.5);
    check_refused(&r, "mixed");
}

TEST(couplings_are_refused_by_name)
{
    rig              r          = rig_make((tn_vec3){0, 0, -9.81});
    const tn_body_id a          = add_named(&r, "a", TN_BODY_RIGID, 0),
                     b          = add_named(&r, "b", TN_BODY_RIGID, 1);
    const tn_joint_id joints[2] = {
        rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, a, (tn_vec3){0, 0, 0}, TNS_Z),
        rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, b, (tn_vec3){1, 0, 0}, TNS_Z)};
    tn_coupling_def gear = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.name = "teeth", gear.joints = joints, gear.joint_count = 2, gear.ratio = 2;
    CHECK(tn_scene_add_coupling(r.scene, &gear).bits != 0);
    check_refused(&r, "teeth");
}

// ---- Memory -------------------------------------------------------------------------------------

static void step_without_memory(const char* spec, tn_adaptive_settings settings)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = {.settings = tn_default_settings()};
    tn_why        why  = {.text = ""};
    rig_must(tns_build(&host, spec, &r.scene, &why), spec, &why);
    r.settings.method   = TN_METHOD_ADAPTIVE;
    r.settings.adaptive = settings;
    rig_ready(&r);
    failing_host_rewind(&f, 1); // every allocation fails
    rig_run(&r, 1e-3, 12);
    CHECK_OK(tn_stepper_run(r.stepper, r.state, 1e-3, 12, NULL, &why));
    CHECK_OK(tn_state_grab(r.state, 0, (tn_body_id){3}, (tn_vec3){0, 0, 0}, 10, 1));
    rig_run(&r, 1e-3, 6);
    (void)!tn_stepper_run(r.stepper, r.state, 10, 50, NULL, NULL); // may fail
    CHECK_INT(f.count, 0);
    failing_host_rewind(&f, 0);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.size_errors, 0);
}

TEST(nothing_is_allocated_within_a_step)
{
    static const char* const specs[] = {"pendulum:n=20", "tree:depth=4", "crowd:n=2", "robot"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        tn_adaptive_settings s = adaptive_settings();
        step_without_memory(specs[i], s);
        s.solver = TN_ADAPTIVE_TREE;
        step_without_memory(specs[i], s);
        s.active = 5, s.period = 3;
        step_without_memory(specs[i], s);
        s.choice = TN_CHOICE_MIXED;
        step_without_memory(specs[i], s);
        s.pixels = 100, s.weights = TN_WEIGHTS_PIXELS, s.pixel_error = 0.1;
        step_without_memory(specs[i], s);
        s.bounded = true;
        step_without_memory(specs[i], s);
        s.choice = TN_CHOICE_FIXED;
        step_without_memory(specs[i], s);
    }
}

static tn_result live(const tn_host* host, const char* spec)
{
    rig         r            = {.scene = NULL};
    tn_settings settings     = tn_default_settings();
    tn_result   result       = tns_build(host, spec, &r.scene, NULL);
    settings.method          = TN_METHOD_ADAPTIVE;
    settings.adaptive.active = 3;
    settings.adaptive.solver = TN_ADAPTIVE_TREE;
    if (result == TN_OK) result = tn_scene_compile(r.scene, &r.model, NULL);
    if (result == TN_OK) result = tn_state_create(r.model, &r.state);
    if (result == TN_OK) result = tn_stepper_create(r.model, &settings, &r.stepper, NULL);
    CHECK((result == TN_OK) == (r.stepper != NULL));
    if (result == TN_OK) result = tn_stepper_step(r.stepper, r.state, 1e-3, NULL, NULL);
    rig_free(&r);
    return result;
}

TEST(every_refused_allocation_is_survived)
{
    failing_host  f      = failing_host_make();
    const tn_host host   = failing_host_of(&f);
    tn_result     result = TN_ERR_MEMORY;
    for (int n = 1; result == TN_ERR_MEMORY && n < 100000; ++n) {
        failing_host_rewind(&f, n);
        result = live(&host, "spring_pendulum:n=6");
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        CHECK((f.refused > 0) == (result != TN_OK));
    }
    CHECK_OK(result);
}
