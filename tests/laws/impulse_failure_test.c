// Limits of the impulse method: singular configurations are passed, or a step fails, names the
// joint and leaves the state unchanged; never a number that is not finite.
#include "scenes/linkage.h"
#include "support/impulse_rig.h"

static const tn_vec3 weight = {0, 0, -9.81}, origin = {0, 0, 0};

static bool all_finite(const tn_state* state)
{
    for (int i = 0; i < tn_state_coordinate_count(state); ++i)
        if (!isfinite(tn_state_coordinates(state)[i])) return false;
    for (int i = 0; i < tn_state_velocity_count(state); ++i)
        if (!isfinite(tn_state_velocities(state)[i])) return false;
    return isfinite(tn_state_time(state));
}

static double fastest(const tn_state* state)
{
    double most = 0;
    for (int i = 0; i < tn_state_velocity_count(state); ++i)
        most = fmax(most, fabs(tn_state_velocities(state)[i]));
    return most;
}

// A built-in scene with one more motor.
static rig driven(const char* spec, const char* body, tn_vec3 anchor, double speed)
{
    rig    r   = {.settings = rig_settings()};
    tn_why why = {.text = ""};
    bool   found;
    rig_must(tns_build(NULL, spec, &r.scene, &why), spec, &why);
    tns_drive(r.scene, "motor", TNS_GROUND, tn_scene_find_body(r.scene, body, &found), anchor,
              speed);
    r.settings.method = TN_METHOD_IMPULSE;
    rig_ready(&r);
    return r;
}

// ---- What cannot move ---------------------------------------------------------------------------

static rig make_quarrel(double accept)
{
    rig r                     = driven("fourbar:motor=1", "rocker", (tn_vec3){0.8, 0, 0}, 2);
    r.settings.impulse.accept = accept;
    rig_restart(&r);
    return r;
}

// It must fail now, name the joint and its error, and leave the state unchanged.
static void check_refusal(rig* r, double h)
{
    const uint64_t hash = tn_state_hash(r->state);
    tn_why         why  = {.text = ""};
    CHECK(tn_stepper_step(r->stepper, r->state, h, &r->report, &why) != TN_OK);
    CHECK(tn_state_hash(r->state) == hash);
    CHECK(r->report.h_taken == 0);
    CHECK(r->report.joint_error > r->settings.impulse.accept);
    CHECK(r->report.worst_joint.bits > 0);
    if (r->report.worst_joint.bits == 0) return;
    const char* name = tn_model_joint_name(r->model, r->report.worst_joint);
    char        text[64];
    snprintf(text, sizeof text, "joint '%s' does not close", name);
    test_check(strstr(why.text, text) != NULL, __FILE__, __LINE__, "'%s', not %s", why.text, text);
}

TEST(contradicting_motors_are_named_and_nothing_moves)
{
    static const double steps[] = {1e-4, 1e-3, 1e-2, 0.1};
    for (int i = 0; i < 4; ++i) {
        rig r = make_quarrel(1e-6);
        check_refusal(&r, steps[i]);
        rig_free(&r);
    }
}

// Both rotate the wrong way, and a joint opens until its error is the accepted one: 1 mm takes 10
// ms.
TEST(a_contradiction_is_not_accepted_for_long)
{
    rig r     = make_quarrel(1e-3);
    int steps = 0;
    while (steps < 20 && tn_stepper_step(r.stepper, r.state, 1e-3, &r.report, NULL) == TN_OK) {
        CHECK(r.report.unclosed_count > 0);
        CHECK(r.report.joint_error > 1e-5);
        ++steps;
    }
    CHECK(steps < 15);
    check_refusal(&r, 1e-3);
    rig_free(&r);
}

// OC = 1 cannot be exceeded: there the arms are stretched. Nor can a rocker rotate all the way
// round.
TEST(machines_driven_beyond_their_reach_fail_there)
{
    static const struct {
        const char *spec, *body;
        tn_vec3     anchor;
        double      speed, h, reach; ///< time of the dead centre
    } cases[] = {{"peaucellier", "QC", {0, 0, 3.1}, -3, 0.01, 0.35},
                 {"peaucellier", "QC", {0, 0, 3.1}, 1.5, 0.02, 1.93},
                 {"fourbar", "rocker", {0.8, 0, 0}, -1, 0.02, 0.83},
                 {"fourbar", "rocker", {0.8, 0, 0}, 1, 0.01, 0.33}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
        rig    r   = driven(cases[n].spec, cases[n].body, cases[n].anchor, cases[n].speed);
        tn_why why = {.text = ""};
        impulse_start(&r);
        tn_result result = TN_OK;
        uint64_t  hash   = 0;
        for (int i = 0; i < 1000 && result == TN_OK; ++i) {
            hash   = tn_state_hash(r.state);
            result = tn_stepper_step(r.stepper, r.state, cases[n].h, &r.report, &why);
            CHECK(all_finite(r.state));
            if (result == TN_OK) CHECK_LESS(r.report.joint_error, r.settings.impulse.accept);
        }
        CHECK(result != TN_OK);
        CHECK(tn_state_hash(r.state) == hash);
        CHECK(strstr(why.text, "joint '") != NULL);
        CHECK(r.report.joint_error > 1e-6); // its error
        CHECK_LESS(fastest(r.state), 200);  // near a dead centre the links are fast, but not wild
        CHECK_NEAR(tn_state_time(r.state), cases[n].reach, 2 * cases[n].h + 0.01);
        rig_free(&r);
    }
}

// ---- Singular configurations
// ---------------------------------------------------------------------

// A four-bar whose crank leans by one radian; all four pins are on a line at times when the
// lengths have equal sums.
static rig make_fourbar(double crank, double coupler, double rocker, double ground, double speed)
{
    const tn_vec3    B = {crank * cos(1), 0, crank * sin(1)}, D = {ground, 0, 0};
    const tn_vec3    C     = tns_meet(B, coupler, D, rocker, true);
    rig              r     = rig_make(weight);
    const tn_body_id one   = tns_rod(r.scene, "crank", origin, B, 0.02, 1),
                     two   = tns_rod(r.scene, "coupler", B, C, 0.02, 1),
                     three = tns_rod(r.scene, "rocker", C, D, 0.02, 1);
    tns_drive(r.scene, "O", TNS_GROUND, one, origin, speed);
    tns_pin(r.scene, "B", one, two, B);
    tns_pin(r.scene, "C", two, three, C);
    tns_pin(r.scene, "D", TNS_GROUND, three, D);
    r.settings.method = TN_METHOD_IMPULSE;
    rig_ready(&r);
    return r;
}

// A crank and a rod of one length: the piston passes the crank's axis, where the rod may turn.
static rig make_slider(double speed)
{
    const tn_vec3    B = {0.3, 0, 0.4}, C = {0.6, 0, 0};
    rig              r     = rig_make(weight);
    const tn_body_id crank = tns_rod(r.scene, "crank", origin, B, 0.02, 1),
                     rod   = tns_rod(r.scene, "rod", B, C, 0.02, 1),
                     piston =
                         tns_box(r.scene, "piston", tns_frame(C), tns_vec(0.05, 0.05, 0.05), 1);
    tns_drive(r.scene, "O", TNS_GROUND, crank, origin, speed);
    tns_pin(r.scene, "B", crank, rod, B);
    tns_pin(r.scene, "C", rod, piston, C);
    tns_joint_at(r.scene, "guide", TN_JOINT_SLIDER, TNS_GROUND, piston, C, TNS_X);
    r.settings.method = TN_METHOD_IMPULSE;
    rig_ready(&r);
    return r;
}

// Runs for 4 s. unclosed: how often joints may stay open, each time followed by closed joints.
static void check_passage(rig* r, double h, int unclosed)
{
    int count = 0;
    impulse_start(r);
    for (int i = 0; i < (int)(4 / h) && rig_step(r, h); ++i) {
        count += r->report.unclosed_count;
        CHECK_LESS(r->report.velocity_error, r->report.unclosed_count == 0 ? 1e-9 : 1e-6);
        if (r->report.unclosed_count == 0) CHECK_LESS(r->report.joint_error, 1.001e-9);
        else CHECK_LESS(r->report.joint_error, 1e-5);
        CHECK_LESS(fastest(r->state), 20); // no kick from the singular configuration
    }
    test_check(count <= unclosed, __FILE__, __LINE__, "unclosed %d times at h = %g", count, h);
    CHECK_LESS(r->report.joint_error, 1.001e-9);
    rig_free(r);
}

TEST(singular_configurations_are_passed)
{
    static const double steps[] = {3e-3, 7e-3, 1e-2, 2e-2, 3e-2};
    for (int i = 0; i < 5; ++i) {
        rig r = make_fourbar(0.3, 0.8, 0.3, 0.8, 3); // a parallelogram, driven
        check_passage(&r, steps[i], 0);
        r = make_fourbar(0.3, 0.8, 0.3, 0.8, 0); // swinging through its line
        check_passage(&r, steps[i], 0);
        r = make_slider(3);
        check_passage(&r, steps[i], 0);
        r = make_slider(0);
        check_passage(&r, steps[i], 0);
        r = make_fourbar(0.3, 0.3, 0.8, 0.8, 3); // a kite, which folds: twice in 4 s
        check_passage(&r, steps[i], 16);
    }
}

TEST(joints_open_beyond_accept_make_the_step_fail)
{
    rig r                     = make_fourbar(0.3, 0.3, 0.8, 0.8, 3);
    r.settings.impulse.accept = 0;
    rig_restart(&r);
    impulse_start(&r);
    tn_result result = TN_OK;
    uint64_t  hash   = 0;
    tn_why    why    = {.text = ""};
    for (int i = 0; i < 400 && result == TN_OK; ++i) {
        hash   = tn_state_hash(r.state);
        result = tn_stepper_step(r.stepper, r.state, 1e-2, &r.report, &why);
        if (result == TN_OK) CHECK_INT(r.report.unclosed_count, 0);
    }
    CHECK_INT(result, TN_ERR_DIVERGED);
    CHECK(strstr(why.text, "does not close") != NULL);
    CHECK(tn_state_hash(r.state) == hash);
    rig_free(&r);
}

// ---- Absurd steps, absurd velocities ------------------------------------------------------------

static const char* const specs[] = {"chain:n=6",
                                    "planar_web",
                                    "robot",
                                    "humanoid",
                                    "hand",
                                    "fourbar",
                                    "slider_crank",
                                    "peaucellier",
                                    "bricard",
                                    "octahedron",
                                    "rod_and_block",
                                    "differential",
                                    "scissor:segments=1",
                                    "strandbeest:legs=2"};
enum { SPECS = sizeof specs / sizeof specs[0] };

TEST(a_step_of_ten_seconds_fails_or_is_fine)
{
    for (int n = 0; n < SPECS; ++n) {
        for (double h = 0.3; h < 1e4; h *= 6) {
            rig r = impulse_builtin(specs[n], 1e-9);
            for (int i = 0; i < 3; ++i) {
                const uint64_t  hash   = tn_state_hash(r.state);
                tn_why          why    = {.text = ""};
                const tn_result result = tn_stepper_step(r.stepper, r.state, h, &r.report, &why);
                CHECK(all_finite(r.state));
                if (result == TN_OK) {
                    CHECK_LESS(r.report.joint_error, r.settings.impulse.accept);
                    continue;
                }
                CHECK(tn_state_hash(r.state) == hash);
                CHECK(why.text[0] != '\0');
                break;
            }
            rig_free(&r);
        }
    }
}

// Scenes without damping: the first kick has the same forces.
static const char* const corrected[] = {
    "chain:n=6", "scissor:segments=1", "fourbar",       "slider_crank", "peaucellier",
    "bricard",   "octahedron",         "rod_and_block", "differential", "strandbeest:legs=2"};
enum { CORRECTED = sizeof corrected / sizeof corrected[0] };

static void disturb(rig* r, test_random* random)
{
    for (uint32_t i = 1; i <= (uint32_t)tn_model_counts(r->model).bodies; ++i) {
        tn_twist v = tn_state_velocity(r->state, (tn_body_id){i});
        v.linear   = tns_add(v.linear, tns_vec(test_random_between(random, -1, 1), 0,
                                               test_random_between(random, -1, 1)));
        v.angular.y += test_random_between(random, -1, 1);
        CHECK_OK(tn_state_set_velocity(r->state, (tn_body_id){i}, v));
    }
}

// Velocities that no joint allows are gone after the first step, as an impulse without a wrench
// removes them. Only gamma and drag depend on the old velocities, for half a step.
TEST(velocities_that_do_not_fit_are_corrected)
{
    test_random random = {7};
    for (int n = 0; n < CORRECTED; ++n) {
        rig          r = impulse_builtin(corrected[n], 1e-9);
        const double h = 1e-4;
        tn_state*    struck;
        disturb(&r, &random);
        CHECK_OK(tn_state_create(r.model, &struck));
        tn_state_copy(struck, r.state);
        CHECK_OK(tn_stepper_impulse(r.stepper, struck, NULL, NULL, NULL));
        CHECK(impulse_difference(r.state, struck).u > 0.1);
        rig_step(&r, h);
        CHECK_LESS(r.report.joint_error, 1.001e-9);
        CHECK_LESS(r.report.velocity_error, 1e-9);
        CHECK_OK(tn_stepper_step(r.stepper, struck, h, NULL, NULL));
        const impulse_apart apart = impulse_difference(r.state, struck);
        test_check(apart.u < h, __FILE__, __LINE__, "%s: off by %.3g", corrected[n], apart.u);
        tn_state_free(struck);
        rig_free(&r);
    }
}

// ---- Fast turning -------------------------------------------------------------------------------

// 20 rad a step are cut into substeps of half a radian; the count of turns is right.
TEST(a_flywheel_turns_as_far_as_it_should)
{
    rig         r         = rig_make(weight);
    tn_body_def def       = rig_body(2, (tn_vec3){0.02, 0.03, 0.04}, origin);
    def.velocity.angular  = (tn_vec3){0, 0, 1000};
    const tn_body_id  id  = tn_scene_add_body(r.scene, &def);
    const tn_joint_id pin = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, id, origin, TNS_Z);
    r.settings.method     = TN_METHOD_IMPULSE;
    rig_ready(&r);
    for (int i = 1; i <= 50; ++i) {
        rig_step(&r, 0.02);
        CHECK(r.report.substep_count == 40 || r.report.substep_count == 41);
        CHECK_NEAR(rig_angle(&r, pin), 20 * i, 1e-9);
        CHECK_NEAR(rig_rate(&r, pin), 1000, 1e-9);
    }
    CHECK_LESS(rig_distance(rig_axis(&r, id, TNS_X), tns_vec(cos(1000), sin(1000), 0)), 1e-9);
    CHECK_LESS(r.joint_error, 1e-12);
    tn_why why = {.text = ""}; // and for more than it supports:
    CHECK_INT(tn_stepper_step(r.stepper, r.state, 1, NULL, &why), TN_ERR_DIVERGED);
    CHECK(strstr(why.text, "smaller") != NULL);
    rig_free(&r);
}
