// Sleep in the impulse method: what falls asleep and wakes, and when, against the same scene
// without sleep, and against islands found by hand.
#include "support/contact_rig.h"

static const double screen = 1.0 / 60, patience = 0.5;

static rig make_rig(void)
{
    rig r                    = contact_make(tns_vec(0, 0, -rig_g));
    r.settings.impulse.sleep = patience;
    tn_scene_set_ground(r.scene, 0.5, 0);
    return r;
}

static tn_body_id add_box(rig* r, const char* name, tn_vec3 at, tn_twist velocity)
{
    return tns_solid(r->scene, name, tns_frame(at), velocity, 1, rig_box(tns_vec(0.1, 0.1, 0.1)),
                     (tns_surface){0.5, 0});
}

static tn_body_id add_ball(rig* r, const char* name, tn_vec3 at, tn_vec3 velocity)
{
    return tns_solid(r->scene, name, tns_frame(at), (tn_twist){velocity, {0, 0, 0}}, 1,
                     rig_sphere(0.1), (tns_surface){0.5, 0});
}

static bool asleep(const rig* r, tn_body_id body)
{
    return tn_state_asleep(r->state, body);
}

static int count_asleep(const rig* r)
{
    int count = 0;
    for (int i = 1; i <= tn_model_counts(r->model).bodies; ++i)
        count += asleep(r, (tn_body_id){(uint32_t)i});
    return count;
}

// ---- Falling asleep ------------------------------------------------------------------------------

TEST(a_box_at_rest_falls_asleep_when_it_is_time)
{
    rig              r   = make_rig();
    const tn_body_id box = add_box(&r, "box", tns_vec(0, 0, 0.1), TNS_AT_REST);
    rig_ready(&r);
    for (int n = 1; n <= 64 && rig_step(&r, 1.0 / 64); ++n) // sums of which are exact
        test_check(asleep(&r, box) == (n >= 32), __FILE__, __LINE__, "step %d", n);
    CHECK(tn_state_energy(r.state).kinetic == 0);
    CHECK_NEAR(contact_place(&r, box).z, 0.1, 1e-12);
    CHECK_NEAR(tn_state_time(r.state), 1, 1e-12);
    rig_free(&r);
}

// Asleep, no bit of it changes, and nothing is evaluated.
TEST(a_sleeping_body_does_not_change)
{
    rig r = make_rig();
    for (int i = 0; i < 5; ++i)
        add_box(&r, tns_name("box%d", i).text, tns_vec(0, 0, 0.1 + 0.2 * i), TNS_AT_REST);
    rig_ready(&r);
    rig_run(&r, screen, 40);
    CHECK_INT(count_asleep(&r), 5);
    const int count = tn_state_coordinate_count(r.state);
    double    q[64];
    CHECK(count <= 64);
    memcpy(q, tn_state_coordinates(r.state), sizeof(double) * (size_t)count);
    rig_run(&r, screen, 60);
    CHECK(memcmp(q, tn_state_coordinates(r.state), sizeof(double) * (size_t)count) == 0);
    CHECK_INT(r.report.auxiliary_count, 0);
    CHECK_INT(r.report.iteration_count, 0);
    rig_free(&r);
}

TEST(nothing_sleeps_where_the_setting_is_none)
{
    rig              r       = make_rig();
    const tn_body_id box     = add_box(&r, "box", tns_vec(0, 0, 0.1), TNS_AT_REST);
    r.settings.impulse.sleep = 0;
    rig_ready(&r);
    rig_run(&r, screen, 120);
    CHECK(!asleep(&r, box));
    rig_free(&r);
}

// At the top of its flight a ball is slow for a while, but touches nothing; one that rolls is not slow.
TEST(flying_and_rolling_bodies_do_not_sleep)
{
    rig r                          = make_rig();
    r.settings.impulse.sleep       = 0.1;
    r.settings.impulse.sleep_speed = 1; // 0.2 s at the top
    const tn_body_id flying        = add_ball(&r, "flying", tns_vec(0, 0, 2), tns_vec(0, 0, 2));
    const tn_body_id rolling =
        tns_solid(r.scene, "rolling", tns_frame(tns_vec(1, 0, 0.1)),
                  (tn_twist){{1, 0, 0}, {0, 10, 0}}, 1, rig_sphere(0.1), (tns_surface){0.5, 0});
    rig_ready(&r);
    for (int n = 0; n < 30 && rig_step(&r, screen); ++n)
        CHECK(!asleep(&r, flying) && !asleep(&r, rolling));
    CHECK_NEAR(contact_place(&r, rolling).x, 1.5, 1e-9);
    rig_free(&r);
}

// The speed that counts as rest is sqrt(2 T / m): for a rolling ball, sqrt(7/5) v. What falls
// asleep is at rest from then on.
TEST(slow_bodies_stop_when_they_fall_asleep)
{
    for (int fast = 0; fast < 2; ++fast) {
        rig r                          = make_rig();
        r.settings.impulse.sleep_speed = 0.1;
        const double     v             = (fast ? 1.01 : 0.99) * 0.1 / sqrt(1.4);
        const tn_body_id ball          = tns_solid(r.scene, "ball", tns_frame(tns_vec(0, 0, 0.1)),
                                                   (tn_twist){{v, 0, 0}, {0, 10 * v, 0}}, 1, rig_sphere(0.1),
                                                   (tns_surface){0.5, 0});
        rig_ready(&r);
        for (int n = 1; n <= 64 && rig_step(&r, 1.0 / 64); ++n) {
            CHECK(asleep(&r, ball) == (n >= 32 && !fast));
            CHECK((tns_length(contact_velocity(&r, ball).linear) == 0) == asleep(&r, ball));
        }
        CHECK_NEAR(contact_place(&r, ball).x, fast ? v : 0.5 * v, 1e-9);
        rig_free(&r);
    }
}

// ---- Islands -------------------------------------------------------------------------------------

// Something moving on top of a stack keeps all of it awake: bodies in contact sleep together,
// others on their own.
TEST(islands_are_connected_by_contacts)
{
    rig              r     = make_rig();
    const tn_body_id low   = add_box(&r, "low", tns_vec(0, 0, 0.1), TNS_AT_REST);
    const tn_body_id mid   = add_box(&r, "mid", tns_vec(0, 0, 0.3), TNS_AT_REST);
    const tn_body_id alone = add_box(&r, "alone", tns_vec(1, 0, 0.1), TNS_AT_REST);
    // A spinner on top that nothing slows down: no friction about the normal.
    const tn_body_id top =
        tns_solid(r.scene, "top", tns_frame(tns_vec(0, 0, 0.5)), (tn_twist){{0, 0, 0}, {0, 0, 3}},
                  1, rig_sphere(0.1), (tns_surface){0.5, 0});
    rig_ready(&r);
    rig_run(&r, screen, 90);
    CHECK(asleep(&r, alone));
    CHECK(!asleep(&r, low) && !asleep(&r, mid) && !asleep(&r, top));
    CHECK_NEAR(contact_velocity(&r, top).angular.z, 3, 1e-9);
    CHECK_OK(tn_state_set_velocity(r.state, top, TNS_AT_REST));
    rig_run(&r, screen, 40);
    CHECK_INT(count_asleep(&r), 4);
    tn_state_wake(r.state, mid); // all of that stack, and nothing else
    CHECK(!asleep(&r, low) && !asleep(&r, mid) && !asleep(&r, top) && asleep(&r, alone));
    rig_free(&r);
}

TEST(bodies_connected_by_springs_sleep_together)
{
    rig              r   = make_rig();
    const tn_body_id one = add_box(&r, "one", tns_vec(0, 0, 0.1), TNS_AT_REST);
    const tn_body_id two = add_box(&r, "two", tns_vec(1, 0, 0.1), TNS_AT_REST);
    tn_spring_def    def = tn_default_spring_def();
    def.body1 = one, def.body2 = two;
    def.stiffness = 1; // too weak to move them
    def.length    = 0.5;
    CHECK_OK(tn_scene_add_spring(r.scene, &def));
    rig_ready(&r);
    rig_run(&r, screen, 45);
    CHECK(asleep(&r, one) && asleep(&r, two));
    tn_state_wake(r.state, two);
    CHECK(!asleep(&r, one) && !asleep(&r, two));
    rig_free(&r);
}

// ---- Waking --------------------------------------------------------------------------------------

// A ball rolls into a sleeping box: the motion is the same with sleep and without, before and
// after.
static void strike(double sleep, tn_vec3* ball, tn_vec3* box, bool* slept, int steps)
{
    rig r                    = make_rig();
    r.settings.impulse.sleep = sleep;
    const tn_body_id target  = add_box(&r, "box", tns_vec(0, 0, 0.1), TNS_AT_REST);
    const tn_body_id other   = add_box(&r, "other", tns_vec(0, 2, 0.1), TNS_AT_REST);
    const tn_body_id striker =
        tns_solid(r.scene, "ball", tns_frame(tns_vec(-2, 0, 0.1)),
                  (tn_twist){{2, 0, 0}, {0, 20, 0}}, 2, rig_sphere(0.1), (tns_surface){0.5, 0});
    rig_ready(&r);
    for (int n = 0; n < steps && rig_step(&r, screen); ++n) {
        ball[n]  = contact_place(&r, striker);
        box[n]   = contact_place(&r, target);
        slept[n] = asleep(&r, target);
        if (sleep > 0 && n * screen > sleep + 0.05) CHECK(asleep(&r, other));
    }
    rig_free(&r);
}

TEST(a_sleeping_body_wakes_in_the_step_in_which_it_is_hit)
{
    enum { N = 90 };
    tn_vec3 ball[2][N], box[2][N];
    bool    slept[2][N];
    int     woke = -1;
    strike(patience, ball[0], box[0], slept[0], N);
    strike(0, ball[1], box[1], slept[1], N);
    for (int n = 0; n < N; ++n) {
        CHECK_LESS(rig_distance(ball[0][n], ball[1][n]), 1e-9);
        CHECK_LESS(rig_distance(box[0][n], box[1][n]), 1e-9);
        if (n > 0 && slept[0][n - 1] && !slept[0][n]) woke = n;
        if (slept[0][n]) CHECK_LESS(rig_distance(box[1][n], tns_vec(0, 0, 0.1)), 1e-9);
    }
    // The ball is 1.8 m away from it at the start, with 2 m/s: within the 54th step, or at its end.
    CHECK(woke >= 53 && woke <= 54);
    CHECK(box[0][N - 1].x > 0.01);
}

TEST(an_impact_wakes_the_whole_stack)
{
    rig        r = make_rig();
    tn_body_id box[4];
    for (int i = 0; i < 4; ++i)
        box[i] = add_box(&r, tns_name("box%d", i).text, tns_vec(0, 0, 0.1 + 0.2 * i), TNS_AT_REST);
    const tn_body_id ball = add_ball(&r, "ball", tns_vec(0, 0, 5), tns_vec(0, 0, 0));
    rig_ready(&r);
    bool before = false;
    for (int n = 0; n < 120 && rig_step(&r, screen); ++n) {
        int up = 0;
        for (int i = 0; i < 4; ++i) up += !asleep(&r, box[i]);
        const bool apart = contact_place(&r, ball).z > 0.9 + 1e-6;
        if (apart && n > 31) CHECK_INT(up, 0);
        if (!apart && before) CHECK_INT(up, 4);
        before = apart;
    }
    CHECK(!before);
    rig_free(&r);
}

TEST(handles_impulses_and_calls_wake_bodies)
{
    rig              r   = make_rig();
    const tn_body_id box = add_box(&r, "box", tns_vec(0, 0, 0.1), TNS_AT_REST);
    const tn_body_id far = add_box(&r, "far", tns_vec(3, 0, 0.1), TNS_AT_REST);
    rig_ready(&r);
    rig_run(&r, screen, 40);
    CHECK_INT(count_asleep(&r), 2);
    CHECK_OK(tn_state_grab(r.state, 0, box, tns_vec(0, 0, 0), 500, 10));
    CHECK_OK(tn_state_move(r.state, 0, tns_vec(0, 0, 0.6), tns_vec(0, 0, 0)));
    rig_run(&r, screen, 6);
    CHECK(!asleep(&r, box) && asleep(&r, far));
    CHECK(contact_place(&r, box).z > 0.11);
    tn_state_release(r.state, 0);
    rig_run(&r, screen, 120);
    CHECK_INT(count_asleep(&r), 2);
    CHECK_OK(tn_state_set_velocity(r.state, box, (tn_twist){{1, 0, 0}, {0, 0, 0}}));
    const double x = contact_place(&r, box).x;
    rig_run(&r, screen, 1);
    CHECK_NEAR(contact_place(&r, box).x, x + screen - 0.5 * 0.5 * rig_g * screen * screen, 1e-9);
    rig_run(&r, screen, 120);
    CHECK_INT(count_asleep(&r), 2);
    tn_state_wake(r.state, far);
    CHECK(!asleep(&r, far) && asleep(&r, box));
    rig_free(&r);
}

// A heavy weight that leaves, or a support that is removed: what rested on it falls.
TEST(bodies_that_lose_their_support_wake_and_fall)
{
    rig              r    = make_rig();
    const tn_body_id low  = add_box(&r, "low", tns_vec(0, 0, 0.1), TNS_AT_REST);
    const tn_body_id high = add_box(&r, "high", tns_vec(0, 0, 0.3), TNS_AT_REST);
    rig_ready(&r);
    rig_run(&r, screen, 40);
    CHECK_INT(count_asleep(&r), 2);
    CHECK_OK(tn_state_set_pose(r.state, low, tns_frame(tns_vec(2, 0, 0.1))));
    rig_run(&r, screen, 30);
    CHECK_NEAR(contact_place(&r, high).z, 0.1, 1e-8);
    rig_free(&r);
}

// ---- What never sleeps
// ---------------------------------------------------------------------------

TEST(bodies_on_moving_platforms_and_belts_do_not_sleep)
{
    rig r                          = make_rig();
    r.settings.impulse.sleep_speed = 0.1;
    const tn_key keys[2] = {{0, tns_frame(tns_vec(0, 0, 1))}, {10, tns_frame(tns_vec(0.01, 0, 1))}};
    tn_shape_def shape   = rig_box(tns_vec(0.5, 0.5, 0.1));
    shape.friction       = 0.5;
    tn_body_def platform = tn_default_body_def();
    platform.name        = "platform";
    platform.kind        = TN_BODY_KINEMATIC;
    platform.pose        = keys[0].pose;
    platform.keys        = keys;
    platform.key_count   = 2;
    platform.shapes      = &shape;
    platform.shape_count = 1;
    tn_scene_add_body(r.scene, &platform);
    shape.surface_velocity = tns_vec(1e-3, 0, 0);
    tns_fixed(r.scene, "belt", tns_frame(tns_vec(3, 0, 1)), shape);
    const tn_body_id box   = add_box(&r, "box", tns_vec(0, 0, 1.2), TNS_AT_REST);
    const tn_body_id rider = add_box(&r, "rider", tns_vec(3, 0, 1.2), TNS_AT_REST);
    rig_ready(&r);
    for (int n = 0; n < 120 && rig_step(&r, screen); ++n)
        CHECK(!asleep(&r, box) && !asleep(&r, rider));
    CHECK_NEAR(contact_place(&r, box).x, 2e-3, 1e-6);
    CHECK_NEAR(contact_place(&r, rider).x, 3 + 2e-3, 1e-6);
    rig_free(&r);
}

// Bodies moved by a motor, however slowly, and what lies on them. A kinematic body that rests until
// after the box has fallen asleep.
static void add_paddle(rig* r, const tn_key keys[2])
{
    const tn_shape_def shape  = rig_box(tns_vec(0.05, 0.2, 0.2));
    tn_body_def        paddle = tn_default_body_def();
    paddle.name               = "paddle";
    paddle.kind               = TN_BODY_KINEMATIC;
    paddle.pose               = keys[0].pose;
    paddle.keys               = keys;
    paddle.key_count          = 2;
    paddle.shapes             = &shape;
    paddle.shape_count        = 1;
    tn_scene_add_body(r->scene, &paddle);
}

TEST(kinematic_bodies_wake_sleeping_ones)
{
    rig              r       = make_rig();
    const tn_key     keys[2] = {{2, tns_frame(tns_vec(-1, 0, 0.3))},
                                {3, tns_frame(tns_vec(0, 0, 0.3))}};
    const tn_body_id box     = add_box(&r, "box", tns_vec(0, 0, 0.1), TNS_AT_REST);
    bool             slept   = false;
    add_paddle(&r, keys);
    rig_ready(&r);
    for (int n = 0; n < 181 && rig_step(&r, screen); ++n) slept = slept || asleep(&r, box);
    CHECK(slept);
    CHECK(contact_place(&r, box).x >= 0.15 - 1e-6); // the paddle's face and half a box
    rig_free(&r);
}

TEST(driven_bodies_do_not_sleep)
{
    rig r                          = make_rig();
    r.settings.impulse.sleep_speed = 0.1;
    const tn_body_id box           = add_box(&r, "box", tns_vec(0, 0, 0.3), TNS_AT_REST);
    const tn_body_id rider         = add_box(&r, "rider", tns_vec(0, 0, 0.5), TNS_AT_REST);
    tn_joint_def def = rig_motor(TN_JOINT_SLIDER, TNS_GROUND, box, tns_vec(0, 0, 0.3), TNS_X, 1e-3);
    tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    rig_run(&r, screen, 120);
    CHECK(!asleep(&r, box) && !asleep(&r, rider));
    CHECK_NEAR(contact_place(&r, box).x, 2e-3, 1e-6);
    CHECK_NEAR(contact_place(&r, rider).x, 2e-3, 1e-6);
    rig_free(&r);
}
