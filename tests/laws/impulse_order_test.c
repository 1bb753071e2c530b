// The impulse method is of second order, in positions and in velocities, in mechanisms of every
// kind: halving h divides by four the difference to the multiplier method, which is of fourth order
// and has converged.
#include "support/impulse_rig.h"
#include "support/random_web.h"

static const tn_vec3 weight = {0, 0, -9.81}, origin = {0, 0, 0};

// A mechanism, ready; the caller frees it.
typedef rig maker(const char* spec);

static rig made(maker* make, const char* spec, tn_method method)
{
    rig r                        = make(spec);
    r.settings.method            = method;
    r.settings.impulse.tolerance = 1e-13; // far below the errors that are compared
    rig_restart(&r);
    impulse_start(&r);
    return r;
}

// Orders of what is compared at h, h/2 and h/4, which is 1 ms to 5 ms.
static void check_second_order(maker* make, const char* spec, double time, int steps)
{
    enum {
        SIZES = 3,
        FINER = 2
    }; // the reference takes half the finest step, and is of fourth order
    rig           exact = made(make, spec, TN_METHOD_MULTIPLIER);
    const int     fine  = FINER * (steps << (SIZES - 1));
    impulse_apart error[SIZES];
    rig_run(&exact, time / fine, fine);
    for (int i = 0; i < SIZES; ++i) {
        rig r = made(make, spec, TN_METHOD_IMPULSE);
        for (int k = 0; k < steps << i && rig_step(&r, time / (steps << i)); ++k)
            CHECK_INT(r.report.unclosed_count, 0);
        CHECK_LESS(r.joint_error, 1.01e-13 + 1e-14 * 10); // far from the origin by rounding
        CHECK_LESS(r.velocity_error, 1e-9);
        error[i] = impulse_difference(r.state, exact.state);
        rig_free(&r);
    }
    for (int i = 0; i + 1 < SIZES; ++i) {
        const double q = rig_order(error[i].q, error[i + 1].q),
                     u = rig_order(error[i].u, error[i + 1].u);
        // The next term of the error is smaller by h or h^2.
        test_check(fabs(q - 2) < 0.1 / (1 << i) && fabs(u - 2) < 0.1 / (1 << i), __FILE__, __LINE__,
                   "%s: orders %.3f of positions, %.3f of velocities", spec, q, u);
    }
    CHECK(error[SIZES - 1].u > 1e-10); // there is something to compare
    CHECK_LESS(error[SIZES - 1].q, 1e-3);
    rig_free(&exact);
}

// ---- Built-in scenes ----------------------------------------------------------------------------

TEST(loops_converge_at_second_order)
{
    check_second_order(rig_builtin, "fourbar", 0.5, 50);
    check_second_order(rig_builtin, "slider_crank", 0.5, 50);
    check_second_order(rig_builtin, "bricard", 0.5, 50);
    check_second_order(rig_builtin, "peaucellier", 0.5, 50);
    check_second_order(rig_builtin, "scissor:segments=1", 0.25, 25);
    check_second_order(rig_builtin, "octahedron", 0.25, 25);
}

TEST(trees_converge_at_second_order)
{
    check_second_order(rig_builtin, "chain:n=4,joint=ball", 0.3, 60);
    check_second_order(rig_builtin, "tree:depth=3", 0.25, 50);
    check_second_order(rig_builtin, "planar_web", 0.2, 40);
    check_second_order(rig_builtin, "rod_and_block", 0.5, 50);
}

TEST(springs_with_damping_and_gears_converge_at_second_order)
{
    check_second_order(rig_builtin, "differential", 0.4, 40);
    check_second_order(rig_builtin, "robot:stiffness=5,damping=0.3", 0.15, 100);
    check_second_order(rig_builtin, "humanoid", 0.2, 40);
}

// ---- Others -------------------------------------------------------------------------------------

// A body with three moments that spins about a point of its own.
static rig make_top(const char* spec)
{
    rig           r  = rig_make(weight);
    const tn_vec3 at = {0.2, 0.1, 0.4}, w = {3, -5, 20};
    tn_body_def   def   = rig_body(1.5, (tn_vec3){0.05, 0.06, 0.08}, at);
    def.velocity        = (tn_twist){tns_cross(w, at), w};
    const tn_body_id id = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, id, origin, TNS_Z);
    (void)spec;
    rig_ready(&r);
    return r;
}

// A nut with an eccentric weight runs down a leaning screw, and swings a rod.
static rig make_screw(const char* spec)
{
    rig              r   = rig_make(weight);
    const tn_body_id nut = rig_add_body(&r, 2, (tn_vec3){0.05, 0.04, 0.03}, (tn_vec3){0.1, 0, 0}),
                     rod = tns_rod(r.scene, NULL, tns_vec(0.3, 0, 0), tns_vec(0.3, 0.5, 0.1), 0.02,
                                   1);
    tn_joint_def def =
        tns_joint(TN_JOINT_SCREW, TNS_GROUND, nut, origin, tns_unit(tns_vec(1, 0, 3)));
    def.pitch = 0.3;
    tn_scene_add_joint(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_UNIVERSAL, nut, rod, (tn_vec3){0.3, 0, 0}, TNS_Z);
    (void)spec;
    rig_ready(&r);
    return r;
}

// A ball that rolls down a slope, its weight off its centre, with a pendulum on it.
static rig make_rolling(const char* spec)
{
    rig           r      = rig_make(weight);
    const tn_vec3 normal = tns_unit(tns_vec(0.3, 0.1, 1)), center = tns_scale(0.5, normal);
    tn_body_def   def     = rig_body(3, (tn_vec3){0.3, 0.35, 0.4}, center);
    def.com               = (tn_vec3){0.05, 0.1, 0.02};
    const tn_body_id ball = tn_scene_add_body(r.scene, &def),
                     rod  = tns_rod(r.scene, NULL, center, tns_add(center, tns_vec(0.3, 0.4, 0)),
                                    0.02, 1);
    tn_joint_def roll     = tns_joint(TN_JOINT_ROLLING, TNS_GROUND, ball, origin, normal);
    roll.radius           = 0.5;
    tn_scene_add_joint(r.scene, &roll);
    rig_add_joint(&r, TN_JOINT_BALL, ball, rod, center, TNS_Z);
    (void)spec;
    rig_ready(&r);
    return r;
}

// A crank, a rod and a block in the plane, and a tail with a damper.
static rig make_planar(const char* spec)
{
    const tn_vec3    B = {0.12, 0.16, 0}, C = {0.42, -0.24, 0}, D = {0.5, -0.7, 0};
    rig              r     = rig_make((tn_vec3){0, -9.81, 0});
    const tn_body_id crank = tns_planar_rod(r.scene, NULL, origin, B, 0.02, 1),
                     rod   = tns_planar_rod(r.scene, NULL, B, C, 0.02, 0.6),
                     block = tns_planar_rod(r.scene, NULL, C, tns_add(C, TNS_X), 0.02, 2),
                     tail  = tns_planar_rod(r.scene, NULL, C, D, 0.02, 0.4);
    rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, crank, origin, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, crank, rod, B, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, rod, block, C, TNS_Z);
    rig_add_joint(&r, TN_JOINT_SLIDER, TNS_GROUND, block, C, TNS_X);
    tn_joint_def def = tns_joint(TN_JOINT_HINGE, block, tail, C, TNS_Z);
    def.stiffness    = 3;
    def.damping      = 0.1;
    tn_scene_add_joint(r.scene, &def);
    (void)spec;
    rig_ready(&r);
    return r;
}

// A soft bar that hangs by one end, and a rod on its other.
static rig make_affine(const char* spec)
{
    rig         r         = rig_make(weight);
    tn_body_def def       = rig_body(2, (tn_vec3){0.02, 0.2, 0.19}, (tn_vec3){0.5, 0, 0});
    def.kind              = TN_BODY_AFFINE;
    def.young             = 2e4;
    def.volume            = 0.01;
    def.velocity.angular  = (tn_vec3){0, 0, 2};
    def.velocity.linear   = (tn_vec3){0, 1, 0};
    const tn_body_id soft = tn_scene_add_body(r.scene, &def),
                     rod  = tns_rod(r.scene, NULL, TNS_X, tns_vec(1, 0, -0.6), 0.02, 1);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, soft, origin, TNS_Z);
    rig_add_joint(&r, TN_JOINT_BALL, soft, rod, TNS_X, TNS_Z);
    (void)spec;
    rig_ready(&r);
    return r;
}

// Two rods on an arm with prescribed motion.
static rig make_kinematic(const char* spec)
{
    const tn_key keys[2] = {{0, tns_frame(origin)},
                            {1, {{0.5, 0.3, -0.2}, tns_turn(TNS_X, tns_unit(tns_vec(1, 1, 1)))}}};
    rig          r       = rig_make(weight);
    tn_body_def  def     = tn_default_body_def();
    def.kind             = TN_BODY_KINEMATIC;
    def.keys             = keys;
    def.key_count        = 2;
    const tn_body_id arm = tn_scene_add_body(r.scene, &def),
                     one = tns_rod(r.scene, NULL, TNS_X, tns_vec(1, 0, -0.5), 0.02, 1),
                     two = tns_rod(r.scene, NULL, tns_vec(1, 0, -0.5), tns_vec(1.3, 0.4, -0.5),
                                   0.02, 1);
    rig_add_joint(&r, TN_JOINT_HINGE, arm, one, TNS_X, TNS_Y);
    rig_add_joint(&r, TN_JOINT_BALL, one, two, (tn_vec3){1, 0, -0.5}, TNS_Y);
    (void)spec;
    rig_ready(&r);
    return r;
}

TEST(bodies_and_joints_of_all_kinds_converge_at_second_order)
{
    check_second_order(make_top, "top", 0.3, 100);
    check_second_order(make_screw, "screw", 0.25, 50);
    check_second_order(make_rolling, "rolling", 0.5, 50);
    check_second_order(make_planar, "planar", 0.4, 40);
    check_second_order(make_affine, "affine", 0.1, 100);
    check_second_order(make_kinematic, "kinematic", 0.5, 50);
}

// Where motors prescribe all degrees of freedom there is nothing to integrate: each step is exact
// by itself.
TEST(driven_machines_are_exact_at_any_step)
{
    static const char* const specs[] = {"fourbar:motor=4", "slider_crank:motor=5",
                                        "strandbeest:legs=2,motor=3"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        rig exact = made(rig_builtin, specs[n], TN_METHOD_MULTIPLIER);
        rig_run(&exact, 0.5 / 200, 200);
        for (int steps = 25; steps <= 100; steps *= 2) {
            rig r = made(rig_builtin, specs[n], TN_METHOD_IMPULSE);
            rig_run(&r, 0.5 / steps, steps);
            const impulse_apart apart = impulse_difference(r.state, exact.state);
            CHECK_LESS(apart.q, 1e-11); // tolerance times steps, and what a leg makes of it
            CHECK_LESS(apart.u, 1e-10);
            rig_free(&r);
        }
        rig_free(&exact);
    }
}

// ---- Random mechanisms --------------------------------------------------------------------------

// Trees; trees with closed loops, couplers and joints given twice; plane webs; webs in space.
static random_web random_machine(test_random* r, int family)
{
    random_web w = {.relations = calloc(RANDOM_WEB_USERS, sizeof(random_relation))};
    switch (family) {
    case 0: w.m = random_forest(r, test_random_int(r, 1, 8)); break;
    case 1: random_fill_mixed(&w, r); break;
    default: random_fill_assembled(&w, r, family == 2);
    }
    if (family > 0) random_mechanism_build(w.m);
    random_disturb(w.m, r, family < 2 ? 0.05 : 0, 1);
    w.m->state->time = 0.25; // keys are at whole seconds
    return w;
}

// Results of random mechanisms.
typedef struct tally {
    int loose;                     ///< cannot be assembled, or driven into a contradiction
    int rough, still, second, off; ///< off: compared, and the order is not 2
} tally;

static tn_stepper* stepper_of(const random_web* w, tn_method method)
{
    tn_stepper* stepper;
    tn_why      why            = {.text = ""};
    tn_settings settings       = tn_default_settings();
    settings.method            = method;
    settings.impulse.tolerance = 1e-12;
    rig_must(tn_stepper_create(w->m->model, &settings, &stepper, &why), "stepper", &why);
    return stepper;
}

// From the web's state; a new state, or NULL where the multiplier method fails.
static tn_state* run(const random_web* w, tn_method method, double time, int steps)
{
    tn_stepper*    stepper = stepper_of(w, method);
    tn_state*      state;
    tn_step_report report;
    tn_why         why = {.text = ""};
    CHECK_OK(tn_state_create(w->m->model, &state));
    tn_state_copy(state, w->m->state);
    for (int i = 0; i < steps; ++i) {
        const tn_result result = tn_stepper_step(stepper, state, time / steps, &report, &why);
        if (method != TN_METHOD_IMPULSE && result == TN_OK) continue;
        if (method != TN_METHOD_IMPULSE) { // driven into a contradiction
            tn_state_free(state);
            state = NULL;
            break;
        }
        test_check(result == TN_OK, __FILE__, __LINE__, "step %d: %s", i, why.text);
        CHECK_INT(report.unclosed_count, 0);
        CHECK_LESS(report.joint_error, 1.1e-12);
        CHECK_LESS(report.velocity_error, 1e-8);
    }
    tn_stepper_free(stepper);
    return state;
}

static impulse_apart distance_to(tn_state* state, tn_state* exact)
{
    const impulse_apart none  = {HUGE_VAL, HUGE_VAL},
                        apart = state == NULL ? none : impulse_difference(state, exact);
    tn_state_free(state);
    return apart;
}

// 8 and 16 steps of the impulse method are compared; the reference has to agree with itself at
// twice the step, which fails where a torque jumps (a target at half a turn).
static void compare(const random_web* w, tally* t)
{
    const double time  = 0.08;
    tn_state*    exact = run(w, TN_METHOD_MULTIPLIER, time, 32);
    if (exact == NULL) {
        ++t->loose;
        return;
    }
    const impulse_apart rough  = distance_to(run(w, TN_METHOD_MULTIPLIER, time, 16), exact),
                        coarse = distance_to(run(w, TN_METHOD_IMPULSE, time, 8), exact),
                        fine   = distance_to(run(w, TN_METHOD_IMPULSE, time, 16), exact);
    tn_state_free(exact);
    if (rough.u > 0.01 * fine.u && rough.u > 1e-11) {
        ++t->rough;
    } else if (coarse.u < 1e-11) { // locked, or nothing but free flight
        CHECK_LESS(coarse.q, 1e-9);
        ++t->still;
    } else {
        const double u = rig_order(coarse.u, fine.u), q = rig_order(coarse.q, fine.q);
        const bool   second = fabs(u - 2) < 0.1 && (fabs(q - 2) < 0.1 || fine.q < 1e-10);
        ++*(second ? &t->second : &t->off);
        CHECK_NEAR(u, 2, 0.4); // some are stiff for these steps
    }
}

TEST(random_mechanisms_converge_at_second_order)
{
#ifdef TENON_TEST_LIGHT
    enum { COUNT = 60 };
#else
    enum { COUNT = 400 };
#endif
    tally t = {0};
    for (int i = 0; i < COUNT; ++i) {
        test_random r       = {(uint64_t)(4000 + i)};
        random_web  w       = random_machine(&r, i % 4);
        tn_stepper* stepper = stepper_of(&w, TN_METHOD_MULTIPLIER);
        if (tn_stepper_project(stepper, w.m->state, NULL, NULL) == TN_OK) compare(&w, &t);
        else ++t.loose; // disturbed so that it cannot close
        tn_stepper_free(stepper);
        random_web_free(&w);
    }
    CHECK(t.second > 0.8 * COUNT);
    CHECK_INT(t.off, 0); // of 400: 360 second, 20 still, 17 loose, 3 rough
    CHECK(t.rough <= COUNT / 20);
    CHECK(t.loose <= COUNT / 10);
}
