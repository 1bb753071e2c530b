// Free flight against its rule, its invariants, and the exact motion.
#include "state/state.h"
#include "support/rig.h"
#include "support/user_bodies.h"

static const tn_vec3 origin = {0, 0, 0};

// One rigid body with an orientation, and inertia that is not along its axes.
static rig make_body(tn_vec3 w)
{
    rig         r   = rig_make(origin);
    tn_body_def def = rig_body(4, (tn_vec3){1, 2, 2.7}, (tn_vec3){1, 2, 3});
    def.inertia[3] = 0.1, def.inertia[4] = -0.2, def.inertia[5] = 0.15;
    def.pose.orientation = tns_turn(TNS_Z, tns_unit((tn_vec3){1, -2, 0.5}));
    def.velocity         = (tn_twist){{0.3, -0.2, 0.7}, w};
    (void)tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    return r;
}

static void fly(rig* r, double h)
{
    double q[7], u[6];
    tni_fly(r->model, NULL, h, r->state->q, r->state->u, q, u);
    memcpy(r->state->q, q, sizeof q);
    memcpy(r->state->u, u, sizeof u);
}

static tn_quat attitude(const double* q)
{
    return (tn_quat){q[3], q[4], q[5], q[6]};
}

// ---- The rule -----------------------------------------------------------------------------------

// I W = exp(-h W / 2) R^T L,  R' = R exp(h W),  with W recovered from the orientations.
TEST(the_middle_of_the_flight_has_the_momentum_of_the_start)
{
    for (int i = 1; i <= 20; ++i) {
        const double    h = 0.01 * i, size = 2; // up to 0.4 rad a flight
        const tn_vec3   w      = {size * 0.6, size * -0.48, size * 0.64};
        rig             r      = make_body(w);
        const tn_quat   before = attitude(r.state->q);
        const tni_body* body   = &r.model->bodies[1];
        const tn_vec3   L      = tni_mul(&body->inertia, tni_rotate(tni_quat_conjugate(before), w));
        fly(&r, h);
        const tn_quat by = tni_quat_mul(tni_quat_conjugate(before), attitude(r.state->q));
        const tn_vec3 W  = tni_scale(1 / h, tni_quat_log(by));
        const tn_vec3 Lm = tni_rotate(tni_quat_exp(tni_scale(-0.5 * h, W)), L);
        // Rounding of the attitudes, over h.
        CHECK_LESS(tni_max_abs(tni_sub(tni_mul(&body->inertia, W), Lm)), 1e-14 / h);
        CHECK_NEAR(tn_state_pose(r.state, (tn_body_id){1}).position.x, 1 + 0.3 * h, 1e-15);
        CHECK_NEAR(tn_state_pose(r.state, (tn_body_id){1}).position.z, 3 + 0.7 * h, 1e-15);
        CHECK(r.state->u[0] == 0.3 && r.state->u[1] == -0.2 && r.state->u[2] == 0.7);
        rig_free(&r);
    }
}

TEST(angular_momentum_is_kept_to_rounding_whatever_the_step)
{
    static const double steps[] = {1e-3, 0.02, 0.1, 0.3};
    for (int i = 0; i < 4; ++i) {
        rig           r  = make_body((tn_vec3){1.2, -0.9, 0.8});
        const tn_vec3 L0 = tn_state_momentum(r.state).angular;
        for (int k = 0; k < 1000; ++k) fly(&r, steps[i]);
        // The body flies straight on, so its momentum about the origin is constant too. A thousand
        // roundings.
        CHECK_LESS(rig_distance(tn_state_momentum(r.state).angular, L0),
                   1e-11 * (1 + steps[i] * 1e3));
        rig_free(&r);
    }
}

TEST(flown_back_it_is_at_its_start)
{
    rig       r = make_body((tn_vec3){2, -3, 2.5});
    double    q[7], u[6];
    const int count = 200;
    memcpy(q, r.state->q, sizeof q);
    memcpy(u, r.state->u, sizeof u);
    for (int i = 0; i < count; ++i) fly(&r, 0.05);
    CHECK(fabs(q[3] - r.state->q[3]) > 1e-3);
    for (int i = 0; i < 6; ++i) r.state->u[i] = -r.state->u[i];
    for (int i = 0; i < count; ++i) fly(&r, 0.05);
    for (int i = 0; i < 7; ++i) CHECK_NEAR(r.state->q[i], q[i], 1e-11);
    for (int i = 0; i < 6; ++i) CHECK_NEAR(r.state->u[i], -u[i], 1e-11);
    rig_free(&r);
}

// ---- Against the exact motion -------------------------------------------------------------------

static double flight_error(int steps)
{
    rig flown = make_body((tn_vec3){2, -3, 2.5}), exact = make_body((tn_vec3){2, -3, 2.5});
    for (int i = 0; i < steps; ++i) fly(&flown, 1.0 / steps);
    rig_run(&exact, 1e-3, 1000); // fourth order, on Euler's equations
    double most = 0;
    for (int i = 0; i < 7; ++i) most = fmax(most, fabs(flown.state->q[i] - exact.state->q[i]));
    for (int i = 0; i < 6; ++i) most = fmax(most, fabs(flown.state->u[i] - exact.state->u[i]));
    rig_free(&flown);
    rig_free(&exact);
    return most;
}

TEST(flight_is_of_second_order)
{
    const double coarse = flight_error(50), middle = flight_error(100), fine = flight_error(200);
    CHECK_NEAR(rig_order(coarse, middle), 2, 0.02);
    CHECK_NEAR(rig_order(middle, fine), 2, 0.01);
    CHECK_LESS(fine, 1e-3);
}

// Equal moments: the velocity is constant, and any step is exact.
TEST(a_ball_rotates_uniformly)
{
    rig         r        = rig_make(origin);
    tn_body_def def      = rig_body(1, (tn_vec3){0.4, 0.4, 0.4}, origin);
    def.velocity.angular = (tn_vec3){3, 4, 12}; // 13 rad/s
    (void)tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    for (int i = 0; i < 100; ++i) fly(&r, 0.03);
    const tn_quat wanted = tni_quat_exp(tni_scale(3, tni_vec3(3, 4, 12)));
    const double  sign   = wanted.w * r.state->q[3] < 0 ? -1 : 1;
    CHECK_NEAR(sign * r.state->q[3], wanted.w, 1e-13);
    CHECK_NEAR(sign * r.state->q[5], wanted.y, 1e-13);
    CHECK_NEAR(r.state->u[4], 4, 1e-13);
    rig_free(&r);
}

// Unstable rotation about the middle axis, for long: the energy stays bounded.
TEST(the_energy_of_a_tumbling_body_is_bounded)
{
    static const double steps[] = {1.0 / 60, 1.0 / 30}, bounds[] = {1.5e-3, 6e-3};
    for (int i = 0; i < 2; ++i) {
        rig         r        = rig_make(origin);
        tn_body_def def      = rig_body(1, (tn_vec3){1, 2, 3}, origin);
        def.velocity.angular = (tn_vec3){0.01, 10, 0.01};
        (void)tn_scene_add_body(r.scene, &def);
        rig_ready(&r);
        const double E    = rig_energy(&r);
        double       most = 0, flips = 0, before = 1;
        for (int k = 0; k < 20000; ++k) {
            fly(&r, steps[i]);
            most             = fmax(most, fabs(rig_energy(&r) / E - 1));
            const double now = tni_dot(rig_axis(&r, (tn_body_id){1}, TNS_Y), TNS_Y);
            flips += now * before < 0;
            before = now;
        }
        CHECK_LESS(most, bounds[i]);
        CHECK(flips > 20); // it does tumble
        rig_free(&r);
    }
}

// ---- The other kinds ----------------------------------------------------------------------------

TEST(bodies_without_rotation_fly_straight)
{
    rig          r     = rig_make(origin);
    user_body    own   = {2, tni_identity3(), origin, 0};
    const double q0[3] = {0, 0, 0};
    for (int kind = 0; kind < 4; ++kind) {
        static const tn_body_kind kinds[] = {TN_BODY_PLANAR, TN_BODY_PARTICLE, TN_BODY_AFFINE,
                                             TN_BODY_USER};
        tn_body_def               def     = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, origin);
        def.kind                          = kinds[kind];
        if (def.kind == TN_BODY_AFFINE) def.young = 10, def.volume = 0.1;
        if (def.kind == TN_BODY_USER)
            def.table = &user_point_table, def.data = &own, def.user_q = q0;
        (void)tn_scene_add_body(r.scene, &def);
    }
    rig_ready(&r);
    double    q[64], u[64];
    const int nq = r.model->q_count, nu = r.model->u_count;
    for (int i = 0; i < nu; ++i) r.state->u[i] = sin(i + 1.0);
    tni_fly(r.model, NULL, 0.25, r.state->q, r.state->u, q, u);
    CHECK_INT(nq, nu); // one coordinate a velocity in all of these
    for (int i = 0; i < nu; ++i) {
        CHECK_NEAR(q[i], r.state->q[i] + 0.25 * r.state->u[i], 1e-15);
        CHECK(u[i] == r.state->u[i]);
    }
    rig_free(&r);
}

// ---- Four at a time
// ------------------------------------------------------------------------------

// Alone: all others sleep. Some rotate by more than a radian, one is not finite, two are at rest.
TEST(bodies_rotated_together_have_the_bits_of_one_alone)
{
    enum { COUNT = 23 };
    test_random random = {5};
    for (int trial = 0; trial < 40; ++trial) {
        rig    r = rig_make(origin);
        double q[2][7 * COUNT], u[2][6 * COUNT];
        for (int i = 0; i < COUNT; ++i) {
            tn_body_def  def  = rig_body(4, (tn_vec3){1, 2, 2.7}, (tn_vec3){1, 2, 3});
            const double fast = trial % 2 == 1 && i % 7 == 3 ? 80 : i % 11 == 0 ? 0 : 3;
            def.inertia[0]    = test_random_between(&random, 1, 1.5);
            def.inertia[3] = 0.1, def.inertia[4] = -0.2, def.inertia[5] = 0.15;
            def.pose.orientation =
                tns_turn(TNS_Z, tns_unit((tn_vec3){test_random_unit(&random), -2, 0.5}));
            def.velocity = (tn_twist){{0.3, -0.2, 0.7},
                                      {fast * test_random_between(&random, -1, 1),
                                       fast * test_random_between(&random, -1, 1), fast}};
            (void)tn_scene_add_body(r.scene, &def);
        }
        rig_ready(&r);
        if (trial == 7) r.state->u[6 * 8 + 4] = (double)NAN;
        for (int wide = 0; wide < 2; ++wide) {
            if (wide == 1) tni_fly(r.model, NULL, 0.05, r.state->q, r.state->u, q[0], u[0]);
            else tni_fly_as(r.model, NULL, 0.05, r.state->q, r.state->u, false, q[0], u[0]);
            for (int i = 0; i < COUNT; ++i) {
                uint8_t asleep[COUNT + 1];
                memset(asleep, 1, sizeof asleep);
                asleep[i + 1] = 0;
                tni_fly(r.model, asleep, 0.05, r.state->q, r.state->u, q[1], u[1]);
                if (trial == 7 && i == 8) continue; // not finite in both
                CHECK(memcmp(q[0] + 7 * i, q[1] + 7 * i, 7 * sizeof **q) == 0);
                CHECK(memcmp(u[0] + 6 * i, u[1] + 6 * i, 6 * sizeof **u) == 0);
            }
        }
        rig_free(&r);
    }
}
