// A step of the impulse method depends on the state alone, bit for bit: what the stepper keeps from
// one step to the next is only what it would compute again. Evaluation through it is that of the
// multiplier method.
#include "scenes/parts.h"
#include "state/state.h"
#include "support/impulse_rig.h"

static const char* const specs[] = {"chain:n=10",
                                    "planar_web",
                                    "robot",
                                    "fourbar",
                                    "fourbar:motor=3",
                                    "peaucellier",
                                    "differential",
                                    "bricard",
                                    "strandbeest:legs=2",
                                    "octahedron",
                                    "rod_and_block:rods=5,rod_mass=1"};
enum { SPECS = sizeof specs / sizeof specs[0], STEPS = 24 };

static rig make(int n)
{
    return impulse_builtin(specs[n], 1e-9);
}

// Steps of different lengths; the last scene is stiffened.
static double step_of(int i)
{
    static const double steps[] = {4e-3, 4e-3, 1e-3, 1e-2};
    return steps[i % 4];
}

static uint64_t hash_of_run(int n)
{
    rig r = make(n);
    for (int i = 0; i < STEPS; ++i) rig_step(&r, step_of(i));
    const uint64_t hash = tn_state_hash(r.state);
    rig_free(&r);
    return hash;
}

static void renew(rig* r)
{
    tn_stepper_free(r->stepper);
    CHECK_OK(tn_stepper_create(r->model, &r->settings, &r->stepper, NULL));
}

TEST(a_new_stepper_for_every_step_gives_the_same_bits)
{
    for (int n = 0; n < SPECS; ++n) {
        rig r = make(n);
        for (int i = 0; i < STEPS; ++i) {
            rig_step(&r, step_of(i));
            renew(&r);
        }
        test_check(tn_state_hash(r.state) == hash_of_run(n), __FILE__, __LINE__, "%s", specs[n]);
        rig_free(&r);
    }
}

TEST(other_calls_between_the_steps_change_nothing)
{
    for (int n = 0; n < SPECS; ++n) {
        rig       r = make(n);
        tn_state* other; // that the same stepper moves, evaluates and applies impulses to
        tn_check  check;
        CHECK_OK(tn_state_create(r.model, &other));
        for (int i = 0; i < STEPS; ++i) {
            rig_step(&r, step_of(i));
            rig_evaluate(&r);
            if (i % 2 == 0) CHECK_OK(tn_stepper_impulse(r.stepper, other, NULL, NULL, NULL));
            if (i % 3 == 0) CHECK_OK(tn_stepper_check(r.stepper, r.state, &check, NULL));
            if (i % 4 == 0) CHECK_OK(tn_stepper_step(r.stepper, other, 2e-3, NULL, NULL));
            if (i % 5 == 0) CHECK_OK(tn_stepper_project(r.stepper, other, NULL, NULL));
        }
        test_check(tn_state_hash(r.state) == hash_of_run(n), __FILE__, __LINE__, "%s", specs[n]);
        tn_state_free(other);
        rig_free(&r);
    }
}

// A state that differs from the last step's end in its last bit, or in its time, is a different
// one.
TEST(the_kept_factorisation_is_used_for_its_state_only)
{
    for (int n = 0; n < SPECS; ++n) {
        for (int what = 0; what < 3; ++what) {
            uint64_t hash[2];
            for (int fresh = 0; fresh < 2; ++fresh) {
                rig r = make(n);
                rig_run(&r, 4e-3, 5);
                if (what == 0) {
                    const tn_body_id body = {1};
                    tn_frame         pose = tn_state_pose(r.state, body);
                    pose.position.x       = nextafter(pose.position.x, 1e9);
                    CHECK_OK(tn_state_set_pose(r.state, body, pose));
                } else if (what == 1) {
                    tn_twist v = tn_state_velocity(r.state, (tn_body_id){1});
                    v.linear.z = nextafter(v.linear.z, 1e9);
                    CHECK_OK(tn_state_set_velocity(r.state, (tn_body_id){1}, v));
                } else {
                    r.state->time = 0.5;
                }
                if (fresh) renew(&r);
                rig_step(&r, 4e-3);
                hash[fresh] = tn_state_hash(r.state);
                rig_free(&r);
            }
            CHECK(hash[0] == hash[1]);
        }
    }
}

// ---- Evaluation ---------------------------------------------------------------------------------

// How far the accelerations are from those of a stepper of the multiplier method, as a part of the
// largest.
static double evaluation_error(rig* r)
{
    tn_stepper* exact;
    tn_settings settings = r->settings;
    settings.method      = TN_METHOD_MULTIPLIER;
    CHECK_OK(tn_stepper_create(r->model, &settings, &exact, NULL));
    CHECK_OK(tn_stepper_evaluate(exact, r->state, NULL, NULL));
    rig_evaluate(r);
    const int     n = tn_state_velocity_count(r->state);
    const double *a = tn_stepper_accelerations(r->stepper), *b = tn_stepper_accelerations(exact);
    double        size = 1;
    for (int i = 0; i < n; ++i) size = fmax(size, fabs(b[i]));
    const double error = impulse_most(a, b, n) / size;
    tn_stepper_free(exact);
    return error;
}

// The same bits from a stepper that has done nothing yet.
static bool evaluates_like_a_new_one(rig* r)
{
    const size_t bytes  = sizeof(double) * (size_t)tn_state_velocity_count(r->state);
    double*      before = malloc(bytes);
    rig_evaluate(r);
    memcpy(before, tn_stepper_accelerations(r->stepper), bytes);
    renew(r);
    rig_evaluate(r);
    const bool same = memcmp(before, tn_stepper_accelerations(r->stepper), bytes) == 0;
    free(before);
    return same;
}

TEST(evaluation_is_that_of_the_multiplier_method)
{
    for (int n = 0; n < SPECS; ++n) {
        rig r = make(n);
        impulse_start(&r);
        for (int i = 0; i < 4; ++i) {
            CHECK_LESS(evaluation_error(&r), 1e-9); // of rows that loops make redundant: 1e-10
            rig_run(&r, 4e-3, 5); // five rods are stiffened; the evaluation is not
        }
        rig_free(&r);
    }
}

TEST(evaluation_depends_on_the_state_alone)
{
    for (int n = 0; n < SPECS; ++n) {
        rig r                             = make(n);
        r.settings.impulse.regularisation = 1e-8; // other than that of other methods
        rig_restart(&r);
        rig_run(&r, 4e-3, 5);
        test_check(evaluates_like_a_new_one(&r), __FILE__, __LINE__, "%s", specs[n]);
        rig_free(&r);
    }
}

// A stepper that has failed is as good as new, and the state as it was.
TEST(a_failed_step_leaves_no_trace)
{
    int failures = 0;
    for (int n = 0; n < SPECS; ++n) {
        rig r = make(n);
        rig_run(&r, 4e-3, 5);
        const uint64_t hash           = tn_state_hash(r.state);
        r.settings.impulse.accept     = 0;
        r.settings.impulse.iterations = 1; // so that nothing closes
        r.settings.impulse.tolerance  = 1e-15;
        renew(&r);
        const tn_result result = tn_stepper_step(r.stepper, r.state, 0.5, &r.report, NULL);
        failures += result != TN_OK;
        CHECK((result == TN_OK) == (tn_state_hash(r.state) != hash));
        const double error = evaluation_error(&r);
        test_check(error < 1e-9, __FILE__, __LINE__, "%s: off by %.3g", specs[n], error);
        CHECK(evaluates_like_a_new_one(&r));
        rig_free(&r);
    }
    CHECK(failures > SPECS / 2);
}

TEST(assembling_another_state_between_steps_changes_nothing)
{
    for (int n = 0; n < SPECS; ++n) {
        rig       r = make(n);
        tn_state* other;
        CHECK_OK(tn_state_create(r.model, &other));
        for (int i = 0; i < STEPS; ++i) {
            rig_step(&r, step_of(i));
            CHECK_OK(tn_stepper_assemble(r.stepper, other, NULL, NULL));
        }
        test_check(tn_state_hash(r.state) == hash_of_run(n), __FILE__, __LINE__, "%s", specs[n]);
        tn_state_free(other);
        rig_free(&r);
    }
}

// A flywheel with a keyed speed takes several substeps a step; their ends add up to the step's only
// up to rounding.
TEST(substeps_of_a_keyed_motor_depend_on_the_state_alone)
{
    uint64_t hashes[2];
    for (int fresh = 0; fresh < 2; ++fresh) {
        const tn_value_key keys[3] = {{0, 40}, {0.3, 90}, {1, 20}};
        rig                r       = rig_make((tn_vec3){0, 0, -9.81});
        const tn_body_id   wheel =
            tns_rod(r.scene, "wheel", (tn_vec3){0, 0, 0}, (tn_vec3){0.3, 0.1, 0}, 0.05, 2);
        tn_joint_def motor       = tn_default_joint_def(TN_JOINT_MOTOR);
        motor.body2              = wheel;
        motor.axis               = (tn_vec3){0, 1, 0};
        motor.velocity_keys      = keys;
        motor.velocity_key_count = 3;
        tn_scene_add_joint(r.scene, &motor);
        r.settings.method = TN_METHOD_IMPULSE;
        rig_ready(&r);
        for (int i = 0; i < 30; ++i) {
            rig_step(&r, 0.0307);
            if (fresh) renew(&r);
        }
        CHECK(r.report.substep_count > 1);
        hashes[fresh] = tn_state_hash(r.state);
        rig_free(&r);
    }
    CHECK(hashes[0] == hashes[1]);
}

TEST(forward_dynamics_are_those_of_the_multiplier_method)
{
    rig       r = impulse_builtin("chain:n=3,joint=hinge", 1e-9);
    tn_state* other;
    double    q[3] = {0.3, -0.2, 0.1}, v[3] = {1, 2, -1}, force[3] = {0.5, -0.25, 0.125}, a[2][3];
    CHECK_OK(tn_state_create(r.model, &other));
    CHECK_OK(tn_stepper_forward(r.stepper, other, q, v, force, a[0], NULL));
    r.settings.method = TN_METHOD_MULTIPLIER;
    renew(&r);
    CHECK_OK(tn_stepper_forward(r.stepper, other, q, v, force, a[1], NULL));
    for (int i = 0; i < 3; ++i) CHECK_NEAR(a[0][i], a[1][i], 1e-12 * fabs(a[1][i]));
    tn_state_free(other);
    rig_free(&r);
}
