// Copying a state to another model of the same bodies.
#include "scenes/scenes.h"
#include "state/state.h"
#include "tenon/tenon.h"
#include "test.h"

typedef struct made {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
} made;

static made make(const char* spec, double gravity)
{
    made m = {0};
    CHECK_OK(tns_build(NULL, spec, &m.scene, NULL));
    tn_scene_set_gravity(m.scene, (tn_vec3){0, 0, -gravity});
    CHECK_OK(tn_scene_compile(m.scene, &m.model, NULL));
    CHECK_OK(tn_state_create(m.model, &m.state));
    CHECK_OK(tn_stepper_create(m.model, NULL, &m.stepper, NULL));
    return m;
}

static void done(made* m)
{
    tn_stepper_free(m->stepper);
    tn_state_free(m->state);
    tn_model_free(m->model);
    tn_scene_free(m->scene);
}

static void steps(made* m, int count)
{
    for (int i = 0; i < count; ++i)
        CHECK_OK(tn_stepper_step(m->stepper, m->state, 0.005, NULL, NULL));
}

// Through another model of the same scene and back: the motion does not change. Multistep methods
// restart there, so they are not among these.
TEST(a_motion_continues_unchanged_in_an_equal_model)
{
    made one = make("@fourbar", 9.81), two = make("@fourbar", 9.81), alone = make("@fourbar", 9.81);
    steps(&one, 30);
    CHECK_OK(tn_state_carry(two.state, one.state));
    CHECK(tn_state_hash(two.state) == tn_state_hash(one.state));
    steps(&two, 30);
    steps(&alone, 60);
    CHECK(tn_state_hash(two.state) == tn_state_hash(alone.state));
    for (uint32_t i = 1; i <= 4; ++i) { // full turns are counted on
        double a[6] = {0}, b[6] = {0};
        tn_state_joint_position(two.state, (tn_joint_id){i}, a);
        tn_state_joint_position(alone.state, (tn_joint_id){i}, b);
        CHECK_NEAR(a[0], b[0], 0);
    }
    done(&one);
    done(&two);
    done(&alone);
}

TEST(turns_that_were_counted_are_carried_over)
{
    made one = make("@slider_crank:motor=20", 9.81), two = make("@slider_crank:motor=20", 9.81);
    steps(&one, 200); // 20 rad
    CHECK_OK(tn_state_carry(two.state, one.state));
    double a[6] = {0}, b[6] = {0}, most = 0;
    for (int i = 0; i < tn_model_counts(one.model).joints; ++i) {
        tn_state_joint_position(one.state, (tn_joint_id){(uint32_t)i + 1}, a);
        tn_state_joint_position(two.state, (tn_joint_id){(uint32_t)i + 1}, b);
        CHECK_NEAR(a[0], b[0], 0);
        most = fmax(most, fabs(a[0]));
    }
    CHECK_LESS(10, most);
    done(&one);
    done(&two);
}

TEST(handles_and_user_set_targets_are_carried_over)
{
    const tn_frame pose = {{1, 2, 3}, {1, 0, 0, 0}};
    made           one = make("@hand", 9.81), two = make("@hand", 1);
    tn_handle      a, b;
    CHECK_OK(tn_state_set_target(one.state, 1, &pose, NULL));
    CHECK_OK(tn_state_grab(one.state, 3, (tn_body_id){2}, (tn_vec3){0.1, 0, 0}, 50, 1));
    CHECK_OK(tn_state_move(one.state, 3, (tn_vec3){1, 1, 1}, (tn_vec3){0, 0, 0}));
    CHECK_OK(tn_state_carry(two.state, one.state));
    CHECK(tn_state_handle(one.state, 3, &a) && tn_state_handle(two.state, 3, &b));
    CHECK_INT(a.body.bits, b.body.bits);
    CHECK(memcmp(&a.force, &b.force, sizeof a.force) == 0);
    CHECK(memcmp(&a.point, &b.point, sizeof a.point) == 0);
    CHECK_LESS(1, fabs(a.force.x));
    const tn_vec3 drawn = tn_state_target_force(one.state, 1).force;
    CHECK_NEAR(tn_state_target_force(two.state, 1).force.x, drawn.x, 0);
    CHECK(!tn_state_handle(one.state, 0, &a));
    CHECK(!tn_state_handle(one.state, -1, &a) && !tn_state_handle(one.state, 8, &a));
    done(&one);
    done(&two);
}

TEST(what_does_not_fit_is_refused_and_changes_nothing)
{
    made           one = make("@chain:n=3", 9.81), two = make("@chain:n=4", 9.81);
    made           flat = make("@planar_web", 9.81);
    const uint64_t hash = tn_state_hash(two.state);
    CHECK_INT(tn_state_carry(two.state, one.state), TN_ERR_MODEL);
    CHECK_INT(tn_state_carry(two.state, flat.state), TN_ERR_MODEL);
    CHECK(tn_state_hash(two.state) == hash);
    done(&one);
    done(&two);
    done(&flat);
}
