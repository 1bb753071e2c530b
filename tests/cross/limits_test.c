// cross: auxiliary constraints and limits, against dense elimination and all subsets of limits
// (support/dense_auxiliary.h), on random mechanisms (support/random_web.h) with 1 to 30 such rows.
// Mechanisms with contradicting rows have no answer, and are skipped. Errors are relative to the
// largest acceleration or force, with and without constraints.
#include "support/random_web.h"
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { CASES = 240 };
#else
enum { CASES = 500 };
#endif

static const double tolerance  = 1e-9;
static const double complement = 1e-10;

typedef struct tally {
    const char*  name;
    int          run, unclear, redundant, pushing, unbound, rows_most;
    dense_errors worst;
} tally;

static tn_stepper* stepper_of(const tn_model* model, tn_loops loops)
{
    tn_settings settings      = rig_settings();
    settings.multiplier.loops = loops;
    tn_stepper* stepper;
    CHECK_OK(tn_stepper_create(model, &settings, &stepper, NULL));
    return stepper;
}

static void check_errors(const dense_errors* e, tally* t, uint64_t seed, const char* loops)
{
    const bool good = e->a <= tolerance && e->force <= tolerance && e->row <= tolerance &&
                      e->complementarity <= complement;
    test_check(good, __FILE__, __LINE__,
               "%s, seed %llu, %s: a %.2g, forces %.2g, rows %.2g, complementarity %.2g", t->name,
               (unsigned long long)seed, loops, e->a, e->force, e->row, e->complementarity);
    t->worst.a               = fmax(t->worst.a, e->a);
    t->worst.force           = fmax(t->worst.force, e->force);
    t->worst.row             = fmax(t->worst.row, e->row);
    t->worst.complementarity = fmax(t->worst.complementarity, e->complementarity);
}

static void compare_with(const dense_system* d, const random_mechanism* m, tn_loops loops,
                         uint64_t seed, tally* t)
{
    const char* word    = loops == TN_LOOPS_CORE ? "core" : "auxiliary";
    tn_stepper* stepper = stepper_of(m->model, loops);
    tn_why      why     = {0};
    const bool  done    = tn_stepper_evaluate(stepper, m->state, NULL, &why) == TN_OK;
    test_check(done, __FILE__, __LINE__, "%s, seed %llu, %s: %s", t->name, (unsigned long long)seed,
               word, why.text);
    if (done) {
        const dense_errors e = dense_compare(d, stepper);
        check_errors(&e, t, seed, word);
        t->pushing += loops == TN_LOOPS_CORE && e.pushing > 0;
        t->unbound += loops == TN_LOOPS_CORE && e.pushing == 0;
    }
    tn_stepper_free(stepper);
}

// Both settings against the dense answer, if the mechanism is usable.
static void compare(const random_mechanism* m, uint64_t seed, tally* t)
{
    dense_system d = dense_of(m->model, m->state);
    int          reached[DENSE_STOPS_MAX];
    const int    rows = m->model->forest.auxiliary_rows + dense_reached(&d, reached);
    const bool   ours = rows >= 1 && rows <= 30;
    if (ours) dense_solve(&d);
    const bool clear = ours && dense_is_clear(&d);
    if (clear) {
        t->run += 1;
        t->redundant += d.dependent > 0;
        t->rows_most = rows > t->rows_most ? rows : t->rows_most;
        compare_with(&d, m, TN_LOOPS_CORE, seed, t);
        compare_with(&d, m, TN_LOOPS_AUXILIARY, seed, t);
    }
    t->unclear += ours && !clear;
    dense_free(&d);
}

static void print_tally(const tally* t)
{
    if (getenv("TENON_TEST_VERBOSE") == NULL) return;
    printf("%s: %d run, %d unclear, %d redundant, %d with limits that push, %d without, at most %d "
           "rows; worst a %.2g, forces %.2g, rows %.2g, complementarity %.2g\n",
           t->name, t->run, t->unclear, t->redundant, t->pushing, t->unbound, t->rows_most,
           t->worst.a, t->worst.force, t->worst.row, t->worst.complementarity);
}

static tally compare_many(const char* name, random_web_family family, int wanted)
{
    tally t = {.name = name};
    for (uint64_t seed = 1; t.run < wanted && seed < 4 * CASES; ++seed) {
        test_random r = {seed * 3 + (uint64_t)family};
        random_web  w = random_web_make(&r, family, false);
        random_reach_limits(&w, &r, family != RANDOM_WEB_MIXED || seed % 2 == 0);
        compare(w.m, seed, &t);
        random_web_free(&w);
    }
    print_tally(&t);
    CHECK_INT(t.run, wanted);
    CHECK_LESS(t.unclear, 0.25 * t.run);
    CHECK(t.pushing > t.run / 5 && t.unbound > t.run / 5);
    return t;
}

TEST(rows_of_all_kinds_beside_the_tree_agree_with_dense)
{
    const tally t = compare_many("mixed", RANDOM_WEB_MIXED, CASES / 2);
    CHECK(t.redundant > t.run / 5);
}

TEST(redundant_loops_in_the_plane_agree_with_dense)
{
    const tally t = compare_many("flat", RANDOM_WEB_FLAT, CASES / 4);
    CHECK(t.redundant > t.run / 2 && t.rows_most >= 20);
}

TEST(loops_in_space_agree_with_dense)
{
    const tally t = compare_many("space", RANDOM_WEB_SPACE, CASES / 4);
    CHECK(t.redundant > t.run / 4 && t.rows_most >= 20);
}

// ---- Closed forms -------------------------------------------------------------------------------

static const double g = 9.81;

// A ball on a rope of length l, leaning by `lean` from straight down, with speed v along its circle
// and no other. The rope pulls with m (g cos(lean) + v^2/l), or not at all where that is negative.
TEST(a_rope_pulls_as_much_as_the_circle_needs)
{
    const double mass = 2, l = 0.5;
    const double cases[][2] = {{0, 0}, {0.4, 1}, {1.2, 0.3}, {2.5, 3}, {2.5, 1.5}, {3.1, 0.2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const double  lean = cases[i][0], v = cases[i][1];
        const tn_vec3 out = {sin(lean), 0, -cos(lean)}, along = {cos(lean), 0, sin(lean)};
        rig           r   = rig_make((tn_vec3){0, 0, -g});
        tn_body_def   def = tn_default_body_def();
        def.kind = TN_BODY_PARTICLE, def.mass = mass;
        def.pose.position     = tns_scale(l, out);
        def.velocity.linear   = tns_scale(v, along);
        const tn_body_id ball = tn_scene_add_body(r.scene, &def);
        tn_joint_def     rope = tn_default_joint_def(TN_JOINT_ROPE);
        rope.form = TN_JOINT_BY_POINTS, rope.body2 = ball;
        const tn_joint_id id = tn_scene_add_joint(r.scene, &rope);
        rig_ready(&r);
        rig_evaluate(&r);
        const double  pull = fmax(0, mass * (g * cos(lean) + v * v / l));
        const tn_vec3 a    = tn_stepper_acceleration(r.stepper, ball).linear;
        CHECK_NEAR(tn_stepper_limit_force(r.stepper, id), pull, 1e-12 * fmax(1, pull));
        CHECK_NEAR(a.x, -pull / mass * out.x, 1e-12 * fmax(1, pull));
        CHECK_NEAR(a.z, -g - pull / mass * out.z, 1e-12 * fmax(1, pull));
        rig_free(&r);
    }
}

// A rod on a hinge at one of its limits: held there if its weight presses it there, otherwise not,
// and not while it moves away. The force has the sign of the coordinate along which it pushes.
TEST(a_rod_rests_on_the_end_of_its_range)
{
    const double mass = 3, l = 0.7, I = 0.2;
    for (int i = 0; i < 8; ++i) {
        const bool   upper = (i & 1) != 0, pressed = (i & 2) != 0, opens = (i & 4) != 0;
        const double side    = upper == pressed ? 1 : -1; // a positive turn about y takes x down
        rig          r       = rig_make((tn_vec3){0, 0, -g});
        tn_body_def  def     = rig_body(mass, (tn_vec3){I, I, I}, (tn_vec3){side * l, 0, 0});
        const double w       = opens ? (upper ? -0.5 : 0.5) : 0;
        def.velocity.angular = (tn_vec3){0, w, 0};
        def.velocity.linear  = (tn_vec3){0, 0, -w * side * l};
        const tn_body_id rod = tn_scene_add_body(r.scene, &def);
        tn_joint_def pin = tns_joint(TN_JOINT_HINGE, TNS_GROUND, rod, (tn_vec3){0, 0, 0}, TNS_Y);
        pin.limit.given = pin.limit.hard = true;
        pin.limit.lower = upper ? -1 : 0, pin.limit.upper = upper ? 0 : 1;
        const tn_joint_id id = tn_scene_add_joint(r.scene, &pin);
        rig_ready(&r);
        rig_evaluate(&r);
        const double weight = side * mass * g * l; // torque about y
        const double held   = pressed && !opens ? -weight : 0;
        CHECK_NEAR(tn_stepper_limit_force(r.stepper, id), held, 1e-12 * mass * g);
        CHECK_NEAR(tn_stepper_acceleration(r.stepper, rod).angular.y,
                   (weight + held) / (I + mass * l * l), 1e-12 * g);
        rig_free(&r);
    }
}
