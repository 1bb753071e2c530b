// Redundant rows change nothing; contradicting rows are refused, by name, and nothing moves.
#include "support/rig.h"

static const tn_vec3 weight = {0, 0, -9.81};

static tn_check check_of(rig* r)
{
    tn_check check;
    CHECK_OK(tn_stepper_check(r->stepper, r->state, &check, NULL));
    return check;
}

// Two rods on hinges, each hinge `copies` times.
static rig make_twofold(int copies)
{
    rig              r  = rig_make(weight);
    const tn_body_id b1 = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.02}, (tn_vec3){0.5, 0, 0}),
                     b2 = rig_add_body(&r, 2, (tn_vec3){0.1, 0.1, 0.02}, (tn_vec3){1.5, 0, 0.3});
    for (int i = 0; i < copies; ++i) {
        char         name[32];
        tn_joint_def def = tns_joint(TN_JOINT_HINGE, TNS_GROUND, b1, (tn_vec3){0, 0, 0}, TNS_Y);
        snprintf(name, sizeof name, "shoulder%d", i);
        def.name = name;
        tn_scene_add_joint(r.scene, &def);
        def = tns_joint(TN_JOINT_HINGE, b1, b2, (tn_vec3){1, 0, 0}, (tn_vec3){1, 0, 1});
        snprintf(name, sizeof name, "elbow%d", i);
        def.name = name;
        tn_scene_add_joint(r.scene, &def);
    }
    rig_ready(&r);
    return r;
}

static double largest_difference(const double* a, const double* b, int count)
{
    double most = 0;
    for (int i = 0; i < count; ++i) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

TEST(a_joint_given_twice_moves_as_given_once)
{
    rig once = make_twofold(1), twice = make_twofold(2);
    for (int i = 0; i < 20; ++i) {
        const int n = tn_state_velocity_count(once.state),
                  m = tn_state_coordinate_count(once.state);
        rig_evaluate(&once);
        rig_evaluate(&twice);
        CHECK_LESS(largest_difference(tn_stepper_accelerations(once.stepper),
                                      tn_stepper_accelerations(twice.stepper), n),
                   1e-9);
        rig_run(&once, 1e-3, 50);
        rig_run(&twice, 1e-3, 50);
        CHECK_LESS(largest_difference(tn_state_velocities(once.state),
                                      tn_state_velocities(twice.state), n),
                   1e-9);
        CHECK_LESS(largest_difference(tn_state_coordinates(once.state),
                                      tn_state_coordinates(twice.state), m),
                   1e-9);
    }
    rig_free(&once);
    rig_free(&twice);
}

TEST(a_joint_given_twice_is_reported_by_name)
{
    rig            r     = make_twofold(2);
    const tn_check check = check_of(&r);
    CHECK_INT(check.redundant_count, 10);
    CHECK_INT(check.mobility, 2);
    CHECK(!check.contradictory);
    int shoulders = 0, elbows = 0;
    for (int i = 0; i < check.redundant_count; ++i) {
        const tn_row_name row  = tn_stepper_redundant_row(r.stepper, i);
        const char*       name = tn_model_joint_name(r.model, row.joint);
        CHECK(strlen(tn_model_row_text(r.model, row.joint, row.row)) > 0);
        shoulders += strncmp(name, "shoulder", 8) == 0;
        elbows += strncmp(name, "elbow", 5) == 0;
    }
    CHECK_INT(shoulders, 5);
    CHECK_INT(elbows, 5);
    rig_free(&r);
}

TEST(famous_loops_have_their_redundancy)
{
    static const struct {
        const char* spec;
        int         redundant, mobility;
    } loops[] = {{"fourbar", 3, 1},
                 {"slider_crank", 3, 1},
                 {"peaucellier", 9, 1},
                 {"bricard", 1, 1},
                 {"fourbar:motor=2", 3, 0},
                 {"chain:n=10", 0, 30},
                 {"octahedron_cube:n=1", 7, 1},
                 {"scissor:segments=2", 32, 5}};
    for (size_t n = 0; n < sizeof loops / sizeof loops[0]; ++n) {
        rig            r     = rig_builtin(loops[n].spec);
        const tn_check check = check_of(&r);
        test_check(
            check.redundant_count == loops[n].redundant && check.mobility == loops[n].mobility,
            __FILE__, __LINE__, "%s: %d redundant, mobility %d; wanted %d, %d", loops[n].spec,
            check.redundant_count, check.mobility, loops[n].redundant, loops[n].mobility);
        CHECK(!check.contradictory || strstr(loops[n].spec, "motor") != NULL);
        rig_free(&r);
    }
}

// ---- Contradictions -----------------------------------------------------------------------------

// A plane four-bar whose crank and rocker are driven at speeds that contradict each other.
static rig make_quarrel(void)
{
    const tn_vec3    O = {0, 0, 0}, B = {0, 0, 0.3}, C = {1, 0, 0.3}, D = {1, 0, 0};
    rig              r      = rig_make(weight);
    const tn_body_id crank  = tns_rod(r.scene, "crank", O, B, 0.01, 1),
                     rod    = tns_rod(r.scene, "rod", B, C, 0.01, 1),
                     rocker = tns_rod(r.scene, "rocker", D, C, 0.01, 1);
    tn_joint_def def        = rig_motor(TN_JOINT_HINGE, TNS_GROUND, crank, O, TNS_Y, 1);
    def.name                = "left motor";
    tn_scene_add_joint(r.scene, &def);
    def      = rig_motor(TN_JOINT_HINGE, TNS_GROUND, rocker, D, TNS_Y, 2);
    def.name = "right motor";
    tn_scene_add_joint(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_HINGE, crank, rod, B, TNS_Y);
    rig_add_joint(&r, TN_JOINT_HINGE, rod, rocker, C, TNS_Y);
    rig_ready(&r);
    return r;
}

TEST(two_contradicting_motors_are_refused_by_name_and_nothing_moves)
{
    rig            r     = make_quarrel();
    const uint64_t hash  = tn_state_hash(r.state);
    const tn_check check = check_of(&r);
    CHECK(check.contradictory);
    CHECK(strstr(tn_model_joint_name(r.model, check.contradiction.joint), "motor") != NULL);
    tn_why why = {.text = ""};
    CHECK_INT(tn_stepper_step(r.stepper, r.state, 1e-3, NULL, &why), TN_ERR_SINGULAR);
    CHECK(strstr(why.text, "motor") != NULL);
    CHECK(tn_state_hash(r.state) == hash);
    CHECK(tn_state_time(r.state) == 0);
    rig_free(&r);
}

TEST(motors_that_agree_are_redundant_and_run) // the same parallelogram, both at one speed
{
    const tn_vec3    O = {0, 0, 0}, B = {0, 0, 0.3}, C = {1, 0, 0.3}, D = {1, 0, 0};
    rig              r      = rig_make(weight);
    const tn_body_id crank  = tns_rod(r.scene, "crank", O, B, 0.01, 1),
                     rod    = tns_rod(r.scene, "rod", B, C, 0.01, 1),
                     rocker = tns_rod(r.scene, "rocker", D, C, 0.01, 1);
    tn_joint_def def        = rig_motor(TN_JOINT_HINGE, TNS_GROUND, crank, O, TNS_Y, 1);
    tn_scene_add_joint(r.scene, &def);
    def                  = rig_motor(TN_JOINT_HINGE, TNS_GROUND, rocker, D, TNS_Y, 1);
    const tn_joint_id id = tn_scene_add_joint(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_HINGE, crank, rod, B, TNS_Y);
    rig_add_joint(&r, TN_JOINT_HINGE, rod, rocker, C, TNS_Y);
    rig_ready(&r);
    const tn_check check = check_of(&r);
    CHECK_INT(check.redundant_count, 4);
    CHECK(!check.contradictory);
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
    rig_run(&r, 1e-3, 1000);
    CHECK_NEAR(rig_angle(&r, id), 1, 1e-9);
    rig_free(&r);
}

TEST(a_joint_that_cannot_close_is_named_and_nothing_moves)
{
    rig              r   = rig_make(weight); // a rod of 1 m between pins 1.2 m apart
    const tn_body_id rod = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.02}, (tn_vec3){0.5, 0, 0});
    for (int i = 0; i < 2; ++i) {
        tn_joint_def def    = tn_default_joint_def(TN_JOINT_BALL);
        def.name            = i == 0 ? "near pin" : "far pin";
        def.body2           = rod;
        def.form            = TN_JOINT_BY_FRAMES;
        def.frame1.position = (tn_vec3){i == 0 ? 0 : 1.2, 0, 0};
        def.frame2.position = (tn_vec3){i == 0 ? -0.5 : 0.5, 0, 0};
        tn_scene_add_joint(r.scene, &def);
    }
    rig_ready(&r);
    const uint64_t hash = tn_state_hash(r.state);
    tn_why         why  = {.text = ""};
    CHECK_INT(tn_stepper_project(r.stepper, r.state, NULL, &why), TN_ERR_SINGULAR);
    CHECK(strstr(why.text, "pin") != NULL);
    CHECK(tn_state_hash(r.state) == hash);
    CHECK_INT(tn_stepper_step(r.stepper, r.state, 1e-3, &r.report, &why), TN_ERR_SINGULAR);
    CHECK(tn_state_hash(r.state) == hash);
    CHECK(r.report.h_taken == 0);
    rig_free(&r);
}

TEST(a_step_that_diverges_leaves_the_state)
{
    rig r                            = rig_builtin("chain:n=5,stiffness=1000000");
    r.settings.multiplier.integrator = TN_INTEGRATOR_EULER;
    rig_restart(&r);
    tn_why    why;
    tn_result result = TN_OK;
    uint64_t  before = 0;
    double    time   = 0;
    for (int i = 0; i < 2000 && result == TN_OK; ++i) { // far too stiff for this step
        before = tn_state_hash(r.state);
        time   = tn_state_time(r.state);
        result = tn_stepper_step(r.stepper, r.state, 0.1, NULL, &why);
    }
    CHECK(result != TN_OK);
    CHECK(tn_state_hash(r.state) == before);
    CHECK(tn_state_time(r.state) == time);
    CHECK_INT(tn_stepper_step(r.stepper, r.state, -1, NULL, &why),
              TN_ERR_MODEL); // an invalid argument too
    CHECK(tn_state_hash(r.state) == before);
    rig_free(&r);
}
