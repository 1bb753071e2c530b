// Mechanics of the adaptive method: order, momenta and energies, and its error bounds.
#include "support/adaptive_rig.h"

static random_mechanism* small_scene(test_random* r, int what)
{
    return adaptive_scene(r, test_random_int(r, 2, 6), 3, what);
}

static void start(random_mechanism* m, test_random* r, double position, double velocity)
{
    const tn_adaptive_settings settings = adaptive_settings();
    adaptive_rig*              g        = adaptive_rig_make(m->model, &settings);
    adaptive_disturb(g, m, r, position, velocity);
    adaptive_rig_free(g);
}

// The largest difference of coordinates; quaternions may have either sign.
static double apart(const random_mechanism* m, const tn_state* a, const tn_state* b)
{
    double largest = 0;
    for (int i = 1; i < m->body_count; ++i) {
        const tn_body_id body = {(uint32_t)i};
        const tn_frame   p = tn_state_pose(a, body), q = tn_state_pose(b, body);
        const tn_quat    turn = tni_quat_mul(tni_quat_conjugate(p.orientation), q.orientation);
        largest               = fmax(largest, tni_norm(tni_sub(p.position, q.position)));
        largest               = fmax(largest, 2 * tni_norm(tni_vec3(turn.x, turn.y, turn.z)));
    }
    return largest;
}

// ---- Order --------------------------------------------------------------------------------------

static double error_at(const random_mechanism* m, const tn_state* from, const tn_state* wanted,
                       double duration, int steps)
{
    const tn_adaptive_settings settings = adaptive_settings();
    tn_stepper*                stepper  = adaptive_stepper(m->model, &settings);
    tn_state*                  state    = adaptive_copy(from);
    adaptive_go(stepper, state, duration / steps, steps);
    const double error = apart(m, state, wanted);
    tn_state_free(state);
    tn_stepper_free(stepper);
    return error;
}

TEST(the_error_falls_with_h)
{
    const double duration = 0.0625;
    int          cases    = 0;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        test_random       r        = {seed};
        random_mechanism* m        = small_scene(&r, ADAPTIVE_ALL);
        tn_settings       settings = tn_default_settings();
        tn_stepper*       exact;
        start(m, &r, 0.5, 0.7);
        settings.method = TN_METHOD_MULTIPLIER;
        CHECK_OK(tn_stepper_create(m->model, &settings, &exact, NULL));
        tn_state* wanted = adaptive_copy(m->state);
        for (int i = 0; i < 100; ++i)
            CHECK_OK(tn_stepper_step(exact, wanted, duration / 100, NULL, NULL));
        const double coarse = error_at(m, m->state, wanted, duration, 256),
                     fine   = error_at(m, m->state, wanted, duration, 512);
        if (coarse > 1e-7) {
            CHECK_NEAR(log2(coarse / fine), 1, 0.1);
            ++cases;
        }
        CHECK_LESS(coarse, 0.05);
        tn_state_free(wanted);
        tn_stepper_free(exact);
        random_mechanism_free(m);
    }
    CHECK(cases > 20);
}

// ---- Momentum -----------------------------------------------------------------------------------

// A floating tree with joint forces only.
static random_mechanism* floating_scene(test_random* r, int count)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_gravity(m->scene, (tn_vec3){0, 0, 0});
    for (int i = 1; i <= count; ++i) {
        const int        parent = i == 1 ? 0 : test_random_int(r, i > 4 ? i - 3 : 1, i - 1);
        const tn_body_id child  = random_add_body(m, r, RANDOM_RIGID, random_vec3(r, 1), false);
        if (i == 1) continue;
        tn_joint_def def = tree_random_joint(m, r, (tn_body_id){(uint32_t)parent}, child);
        random_actuate(m, r, &def);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    return m;
}

// Momentum of all bodies.
static double momentum_size(const random_mechanism* m)
{
    double sum = 0;
    for (int i = 1; i < m->body_count; ++i)
        sum += tn_scene_body(m->scene, i - 1)->mass *
               tni_norm(tn_state_velocity(m->state, (tn_body_id){(uint32_t)i}).linear);
    return sum;
}

// Steps so short that only rigidification matters, which occurs in every one of them.
TEST(momentum_is_kept_by_rigidification)
{
    double linear = 0, angular = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = floating_scene(&r, 12);
        start(m, &r, 0.7, 1);
        const tn_momentum    before   = tn_state_momentum(m->state);
        const double         size     = momentum_size(m);
        tn_adaptive_settings settings = adaptive_settings();
        settings.active               = test_random_int(&r, 1, 9);
        settings.period               = 1;
        settings.choice               = (tn_choice)(seed % 4);
        tn_stepper*    stepper        = adaptive_stepper(m->model, &settings);
        tn_step_report report;
        CHECK_OK(tn_stepper_run(stepper, m->state, 1e-16, 8, &report, NULL));
        const tn_momentum after = tn_state_momentum(m->state);
        linear  = fmax(linear, tni_norm(tni_sub(after.linear, before.linear)) / size);
        angular = fmax(angular, tni_norm(tni_sub(after.angular, before.angular)) / size);
        lost += report.adaptive.kinetic_loss;
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
    CHECK(lost > 60); // [J]
    CHECK_LESS(linear, 1e-12);
    CHECK_LESS(angular, 1e-12);
}

// A step keeps momentum to second order, like positions: at half of h a quarter of the drift, with
// or without choices.
TEST(momentum_drifts_with_h)
{
    double drift[2][2] = {{0, 0}, {0, 0}};
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = floating_scene(&r, 8);
        start(m, &r, 0.7, 0.5);
        const tn_momentum before = tn_state_momentum(m->state);
        for (int k = 0; k < 4; ++k) {
            tn_adaptive_settings settings = adaptive_settings();
            settings.active               = k / 2 == 0 ? 0 : 4;
            settings.period               = 5 << k % 2; // at the same times
            tn_stepper* stepper           = adaptive_stepper(m->model, &settings);
            tn_state*   state             = adaptive_copy(m->state);
            adaptive_go(stepper, state, 1e-3 / (1 + k % 2), 20 << k % 2);
            const tn_momentum after = tn_state_momentum(state);
            drift[k / 2][k % 2] += tni_norm(tni_sub(after.linear, before.linear)) +
                                   tni_norm(tni_sub(after.angular, before.angular));
            tn_state_free(state);
            tn_stepper_free(stepper);
        }
        random_mechanism_free(m);
    }
    CHECK_NEAR(drift[0][0] / drift[0][1], 4, 0.1); // second order
    CHECK_NEAR(drift[1][0] / drift[1][1], 4, 0.2);
}

// ---- Energy -------------------------------------------------------------------------------------

// Trees attached to the world, dampers in all joints, gravity, springs.
static random_mechanism* damped_scene(test_random* r, int count)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int i = 1; i <= count; ++i) {
        const int               parent  = i == 1 ? 0 : test_random_int(r, i > 3 ? i - 2 : 1, i - 1);
        const tn_vec3           place   = tni_add(m->poses[parent].position, random_direction(r));
        const tn_body_id        child   = random_add_body(m, r, RANDOM_RIGID, place, false);
        const random_joint_type types[] = {{TN_JOINT_HINGE, 0}, {TN_JOINT_BALL, 0}};
        tn_joint_def            def     = random_joint(m, r, types[test_random_int(r, 0, 1)],
                                                       (tn_body_id){(uint32_t)parent}, child);
        def.damping                     = 2;
        def.stiffness                   = test_random_unit(r) < 0.5 ? 0 : 5;
        (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    return m;
}

static double energy_of(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

TEST(energy_never_rises_with_damped_joints)
{
    const double h     = 1e-4;
    double       least = 1e9, most = -1e9;
    for (uint64_t seed = 1; seed <= 24; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = damped_scene(&r, 10);
        start(m, &r, 0.7, 0.5);
        tn_adaptive_settings settings = adaptive_settings();
        settings.active               = (int)(seed % 6);
        settings.period               = 1 + (int)(seed % 5);
        settings.choice               = (tn_choice)(seed % 4);
        settings.solver               = (tn_adaptive_solver)(seed % 2);
        tn_stepper* stepper           = adaptive_stepper(m->model, &settings);
        double      energy = energy_of(m->state), first = energy;
        for (int i = 0; i < 100; ++i) {
            adaptive_go(stepper, m->state, h, 10);
            const double now = energy_of(m->state);
            most             = fmax(most, now - energy);
            energy           = now;
        }
        least = fmin(least, first - energy);
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
    CHECK_LESS(most, 1e-9); // [J]; rounding
    CHECK(least > 1e-3);
}

// ---- Error bounds -------------------------------------------------------------------------------

TEST(acceleration_error_stays_within_its_bound)
{
    const double errors[] = {0.3, 3, 30};
    int          some = 0, looked[3] = {0, 0, 0};
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = adaptive_scene(&r, 16, 4, ADAPTIVE_ALL);
        start(m, &r, 0.7, 1);
        for (int k = 0; k < 3; ++k) {
            tn_adaptive_settings settings = adaptive_settings();
            settings.acceleration_error   = errors[k];
            settings.velocity_error       = 0.1 * errors[k];
            settings.period               = 3;
            settings.weights              = seed % 2 ? TN_WEIGHTS_ONE : TN_WEIGHTS_LENGTH;
            tn_stepper* stepper           = adaptive_stepper(m->model, &settings);
            tn_state*   state             = adaptive_copy(m->state);
            for (int i = 0; i < 12; ++i) {
                tn_step_report report;
                CHECK_OK(tn_stepper_step(stepper, state, 1e-3, &report, NULL));
                CHECK(report.adaptive.left_out <= errors[k]);
                some += report.adaptive.left_out > 0;
                looked[k] += report.adaptive.active_count;
            }
            tn_state_free(state);
            tn_stepper_free(stepper);
        }
        random_mechanism_free(m);
    }
    CHECK(some > 100);
    CHECK(looked[0] > looked[1] && looked[1] > looked[2]);
}

// In pixels over a period: a joint's acceleration times its reach, times the scale of the camera.
TEST(pixel_error_stays_within_its_bound)
{
    int some = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = damped_scene(&r, 12);
        start(m, &r, 0.7, 1);
        tn_adaptive_settings settings = adaptive_settings();
        settings.pixel_error          = random_log_uniform(&r, 1e-3, 1);
        settings.weights              = TN_WEIGHTS_PIXELS;
        settings.pixels               = 1000;
        settings.camera_x             = 20;
        settings.period               = 10;
        adaptive_rig*     g           = adaptive_rig_make(m->model, &settings);
        const double      h = 1e-3, tau = settings.period * h;
        const tni_figure* figure = &g->a->figures[0];
        for (int i = 0; i < 2; ++i) {
            m->state->reduced.known = false; // a choice in every step
            CHECK(adaptive_step(g, m->state, h));
            const tn_vec3 at    = figure->now.clusters[0].world.r;
            const double  scale = settings.pixels / tni_norm(tni_sub(at, tni_vec3(20, 0, 0)));
            CHECK(g->report.left_out * scale * tau * tau / 2 <= settings.pixel_error * (1 + 1e-9));
            some += g->report.left_out > 0;
            adaptive_keep(g, m->state);
        }
        adaptive_rig_free(g);
        random_mechanism_free(m);
    }
    CHECK(some > 10);
}

// ---- Bounded ------------------------------------------------------------------------------------

static double bounded_error(const random_mechanism* m, double acceleration, double velocity,
                            double h, int steps)
{
    tn_adaptive_settings full    = adaptive_settings();
    full.bounded                 = true; // springs to points are explicit in this mode
    tn_adaptive_settings bounded = full;
    bounded.acceleration_error   = acceleration;
    bounded.velocity_error       = velocity;
    tn_stepper *one              = adaptive_stepper(m->model, &full),
               *two              = adaptive_stepper(m->model, &bounded);
    tn_state *a = adaptive_copy(m->state), *b = adaptive_copy(m->state);
    adaptive_go(one, a, h, steps);
    for (int i = 0; i < steps; ++i) {
        tn_step_report report;
        CHECK_OK(tn_stepper_step(two, b, h, &report, NULL));
        CHECK(report.adaptive.left_out <= acceleration);
    }
    const double error = apart(m, a, b);
    tn_state_free(a), tn_state_free(b);
    tn_stepper_free(one), tn_stepper_free(two);
    return error;
}

// Errors so small that all joints are expanded: the same motion but for rounding. No external
// springs and drag, which are implicit in the full motion only.
TEST(bounded_mode_with_tiny_errors_moves_all_joints)
{
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = adaptive_scene(&r, 12, 4, ADAPTIVE_PLANAR | ADAPTIVE_ACTUATED);
        start(m, &r, 0.7, 1);
        CHECK_LESS(bounded_error(m, 1e-13, 1e-13, 1e-3, 40), 1e-10);
        random_mechanism_free(m);
    }
}

// Held joints lack at most e of acceleration, and lose at most d of velocity in a step, which is
// d/h of acceleration: over t that is t^2/2 times both in angle, times the reach of a joint, a few
// metres.
TEST(bounded_motion_follows_the_full_motion)
{
    const double h = 1e-3, t = 0.04;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = damped_scene(&r, 12);
        start(m, &r, 0.7, 1);
        for (double e = 10; e > 1e-3; e *= 0.1) {
            const double error = bounded_error(m, e, 0.1 * e * h, h, 40);
            CHECK_LESS(error, 10 * 1.1 * e * t * t / 2);
        }
        random_mechanism_free(m);
    }
}
