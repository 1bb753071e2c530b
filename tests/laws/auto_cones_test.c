// Forces with bounds in the step of the default method: dry friction of joints that sticks and slides, motors that stall
// and hold, springs that are cut off. At 1/60 s, without a setting.
#include "support/auto_rig.h"
#include "support/contact_rig.h"

static tn_joint_def hinge_def(tn_body_id body1, tn_body_id body2, tn_vec3 anchor)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.body1 = body1, def.body2 = body2;
    def.anchor = anchor, def.axis = tns_vec(0, 1, 0);
    return def;
}

// A body of 1 kg, half a metre from what holds it at the origin.
static tn_body_id add_arm(rig* r)
{
    return rig_add_body(r, 1, tns_vec(0.01, 0.02, 0.03), tns_vec(0.5, 0, 0));
}

static const double weight_torque = 9.81 * 0.5; // of the arm about the origin

static void check_still(rig* r, tn_body_id body, double seconds)
{
    const tn_frame start = tn_state_pose(r->state, body);
    const int      steps = (int)(60 * seconds + 0.5);
    for (int i = 0; i < steps && rig_step(r, auto_h); ++i) {
        CHECK_LESS(tns_length(tn_state_velocity(r->state, body).linear), 1e-12);
        CHECK_LESS(tns_length(tn_state_velocity(r->state, body).angular), 1e-12);
    }
    const tn_frame end = tn_state_pose(r->state, body);
    CHECK_LESS(tns_length(tns_sub(end.position, start.position)), 1e-12);
    CHECK_INT(r->report.substep_count, 1);
}

// ---- Dry friction ----------------------------------------------------------------------------------

TEST(an_arm_that_friction_can_hold_does_not_creep)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_BALL, TN_JOINT_CYLINDER,
                                          TN_JOINT_UNIVERSAL};
    for (int i = 0; i < 4; ++i) {
        rig              r   = auto_make(tns_vec(0, 0, -rig_g));
        const tn_body_id arm = add_arm(&r);
        tn_joint_def     def = hinge_def(TNS_GROUND, arm, tns_vec(0, 0, 0));
        def.type = types[i], def.axis2 = tns_vec(0, 0, 1);
        def.friction = weight_torque / 0.999;
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        rig_ready(&r);
        check_still(&r, arm, 10);
        rig_free(&r);
    }
}

// A block in a vertical guide, and on a plane joint across two of its coordinates.
TEST(a_block_in_a_guide_sticks_and_slides)
{
    for (int slides = 0; slides < 2; ++slides) {
        rig              r      = auto_make(tns_vec(0, 0, -rig_g));
        const tn_body_id box    = rig_add_body(&r, 2, tns_vec(1, 1, 1), tns_vec(0, 0, 0));
        tn_joint_def     def    = tn_default_joint_def(TN_JOINT_SLIDER);
        def.body2               = box;
        def.friction            = 2 * rig_g / (slides ? 1.001 : 0.999);
        const tn_joint_id guide = tn_scene_add_joint(r.scene, &def);
        rig_ready(&r);
        if (!slides) check_still(&r, box, 10);
        const double a = -rig_g * 0.001 / 1.001;
        for (int i = 1; slides && i <= 60 && rig_step(&r, auto_h); ++i) {
            const double t = i * auto_h;
            CHECK_NEAR(rig_rate(&r, guide), a * t, 1e-12);
            CHECK_NEAR(rig_angle(&r, guide), 0.5 * a * t * t, 1e-12);
        }
        rig_free(&r);
    }
}

// A wheel of inertia I with the speed w0 stops after I w0 / friction and w0^2 I / (2 friction) radians, up to what one
// step does; a ball joint brakes along its turn.
TEST(friction_stops_a_wheel_and_lets_it_stand)
{
    for (int ball = 0; ball < 2; ++ball) {
        rig              r = auto_make(tns_vec(0, 0, 0));
        const double     I = 0.5, w0 = 2, friction = 0.7;
        const tn_body_id wheel = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
        tn_joint_def     def   = hinge_def(TNS_GROUND, wheel, tns_vec(0, 0, 0));
        def.type               = ball ? TN_JOINT_BALL : TN_JOINT_HINGE;
        def.friction           = friction;
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        rig_ready(&r);
        const tn_vec3  along = ball ? tns_vec(0.6, 0, 0.8) : tns_vec(0, 1, 0);
        const tn_twist start = {{0, 0, 0}, {w0 * along.x, w0 * along.y, w0 * along.z}};
        CHECK_OK(tn_state_set_velocity(r.state, wheel, start));
        double turned = 0, before = w0;
        for (int i = 1; i <= 120 && rig_step(&r, auto_h); ++i) {
            const tn_vec3 w     = tn_state_velocity(r.state, wheel).angular;
            const double  speed = tns_length(w), wanted = fmax(0, w0 - friction / I * i * auto_h);
            CHECK_NEAR(speed, wanted, 1e-9);
            CHECK_LESS(speed, before + 1e-12);
            turned += 0.5 * (speed + before) * auto_h;
            before = speed;
        }
        const double angle = 2 * acos(fmin(1, fabs(tn_state_pose(r.state, wheel).orientation.w)));
        const double whole = 0.5 * w0 * w0 * I / friction, h2 = auto_h * auto_h;
        CHECK_NEAR(angle, whole, friction / I * h2);
        CHECK_NEAR(turned, whole, friction / I * h2);
        rig_free(&r);
    }
}

// On an arm that turns at w the friction of a bead has m w^2 r to hold, which its rates at both ends tell nothing of: it
// is where it was after 50 turns.
TEST(a_bead_on_a_turning_arm_does_not_creep)
{
    for (int slides = 0; slides < 2; ++slides) {
        rig              r = auto_make(tns_vec(0, 0, 0));
        const double     w = 8, place = 0.5;
        const tn_vec3    I    = tns_vec(0.1, 0.1, 0.1);
        const tn_body_id arm  = rig_add_body(&r, 1, I, tns_vec(0, 0, 0)),
                         bead = rig_add_body(&r, 0.2, I, tns_vec(place, 0, 0));
        tn_joint_def drive    = hinge_def(TNS_GROUND, arm, tns_vec(0, 0, 0)),
                     guide    = tn_default_joint_def(TN_JOINT_SLIDER);
        drive.type = TN_JOINT_MOTOR, drive.velocity = w;
        guide.body1 = arm, guide.body2 = bead, guide.axis = tns_vec(1, 0, 0);
        guide.friction = 0.2 * w * w * place * (slides ? 0.9 : 1.1);
        CHECK(tn_scene_add_joint(r.scene, &drive).bits != 0);
        const tn_joint_id slide = tn_scene_add_joint(r.scene, &guide);
        rig_ready(&r);
        CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL)); // as the motor says
        rig_run(&r, auto_h, slides ? 30 : 2400);
        if (slides) CHECK(rig_angle(&r, slide) > 1e-3);
        else CHECK_NEAR(rig_angle(&r, slide), 0, 1e-6);
        rig_free(&r);
    }
}

// Three links in the air, friction in all their pins.
static rig make_chain(double friction, double friction_speed)
{
    rig        r      = auto_make(tns_vec(0, 0, -rig_g));
    tn_body_id before = TNS_GROUND;
    for (int i = 0; i < 3; ++i) {
        const tn_body_id link =
            rig_add_body(&r, 1, tns_vec(0.01, 0.08, 0.08), tns_vec(0.5 + i, 0, 0));
        tn_joint_def def   = hinge_def(before, link, tns_vec(i, 0, 0));
        def.friction       = friction;
        def.friction_speed = friction_speed;
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        before = link;
    }
    return r;
}

// The smooth law of the multiplier method, at a speed where it hardly differs.
TEST(a_chain_with_friction_moves_as_with_the_smooth_law)
{
    rig exact = make_chain(3, 1e-3), r = make_chain(3, 1e-3);
    exact.settings = rig_settings();
    rig_ready(&exact), rig_ready(&r);
    rig_run(&exact, 1e-4, 5000);
    rig_run(&r, 1e-3, 500);
    for (uint32_t i = 1; i <= 3; ++i) {
        const tn_joint_id pin = {i};
        CHECK_NEAR(rig_angle(&r, pin), rig_angle(&exact, pin), 2e-3);
        CHECK_NEAR(rig_rate(&r, pin), rig_rate(&exact, pin), 1e-2);
    }
    rig_free(&exact), rig_free(&r);
}

TEST(a_chain_with_friction_comes_to_rest_and_only_loses_energy)
{
    for (double friction = 3; friction < 100; friction *= 3) {
        rig r = make_chain(friction, 1);
        rig_ready(&r);
        double before = rig_energy(&r);
        for (int i = 0; i < 60 * 30 && rig_step(&r, auto_h); ++i) {
            CHECK_LESS(rig_energy(&r), before + 1e-3 * rig_g);
            before = fmin(before, rig_energy(&r));
        }
        const double E = rig_energy(&r);
        rig_run(&r, auto_h, 600);
        CHECK_NEAR(rig_energy(&r), E, 1e-9);
        CHECK_LESS(tn_state_energy(r.state).kinetic, 1e-18);
        rig_free(&r);
    }
}

// Thrown into space with its links turning each by themselves, a chain with friction in its balls ends as one rigid body, with
// the momentum it had.
TEST(a_thrown_chain_with_friction_becomes_rigid)
{
    for (double friction = 0.05; friction < 10; friction *= 4) {
        rig         r      = auto_make(tns_vec(0, 0, 0));
        test_random random = {.state = 11};
        tn_body_id  before = TNS_GROUND;
        for (int i = 0; i < 12; ++i) {
            const tn_body_id link =
                rig_add_body(&r, 1, tns_vec(0.01, 0.02, 0.02), tns_vec(0.4 * i, 0, 0));
            tn_joint_def def = tn_default_joint_def(TN_JOINT_BALL);
            def.body1 = before, def.body2 = link;
            def.anchor = tns_vec(0.4 * i - 0.2, 0, 0), def.friction = friction;
            if (i > 0) CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
            before = link;
        }
        rig_ready(&r);
        for (uint32_t i = 1; i <= 12; ++i) {
            const double w = 2, x = test_random_between(&random, -w, w),
                         y      = test_random_between(&random, -w, w);
            const tn_twist turn = {{0, 0, 0}, {x, y, test_random_between(&random, -w, w)}};
            CHECK_OK(tn_state_set_velocity(r.state, (tn_body_id){i}, turn));
        }
        CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
        const tn_momentum start = tn_state_momentum(r.state);
        double            E = rig_energy(&r), most = E;
        int rough = 0; // steps in which sticking and slipping are not sorted out to the last
        for (int i = 0; i < 60 * 20 && rig_step(&r, auto_h); ++i) {
            CHECK_LESS(rig_energy(&r), E + 2e-3 * most);
            CHECK_LESS(r.report.complementarity, 1e-2);
            rough += r.report.complementarity > 1e-5;
            E = fmin(E, rig_energy(&r));
        }
        CHECK(rough <= 12);
        const tn_momentum end = tn_state_momentum(r.state);
        CHECK_LESS(tns_length(tns_sub(end.angular, start.angular)), 1e-7);
        if (friction > 0.5)
            for (uint32_t i = 1; i <= 11; ++i)
                CHECK_LESS(fabs(rig_rate(&r, (tn_joint_id){i})), 1e-3);
        rig_free(&r);
    }
}

// ---- Motors ----------------------------------------------------------------------------------------

static tn_joint_def motor_def(tn_body_id body1, tn_body_id body2, tn_vec3 anchor, double velocity,
                              double most)
{
    tn_joint_def def = hinge_def(body1, body2, anchor);
    def.type         = TN_JOINT_MOTOR;
    def.velocity     = velocity;
    def.force_low = -most, def.force_high = most;
    return def;
}

// Torque of the joint on body 2 about y.
static double torque_of(rig* r, tn_joint_id joint)
{
    CHECK_OK(tn_stepper_evaluate(r->stepper, r->state, NULL, NULL));
    return tn_stepper_reaction(r->stepper, joint).torque.y;
}

TEST(a_motor_holds_below_its_bound_and_stalls_at_it)
{
    for (int stalls = 0; stalls < 2; ++stalls) {
        rig                r     = auto_make(tns_vec(0, 0, -rig_g));
        const tn_body_id   arm   = add_arm(&r);
        const double       most  = weight_torque * (stalls ? 0.999 : 1.001);
        const tn_joint_def def   = motor_def(TNS_GROUND, arm, tns_vec(0, 0, 0), 0, most);
        const tn_joint_id  motor = tn_scene_add_joint(r.scene, &def);
        rig_ready(&r);
        if (!stalls) {
            check_still(&r, arm, 10);
            CHECK_NEAR(torque_of(&r, motor), -weight_torque, 1e-9);
        }
        const double a = 0.001 * weight_torque / (0.02 + 0.25);
        for (int i = 1; stalls && i <= 30 && rig_step(&r, auto_h); ++i) {
            const double t = i * auto_h;
            CHECK_NEAR(rig_angle(&r, motor), 0.5 * a * t * t, 1e-3 * a * t * t);
            CHECK_NEAR(torque_of(&r, motor), -most, 1e-12);
        }
        rig_free(&r);
    }
}

// It runs up with all its torque, and then as it is told to, along keys.
TEST(a_motor_runs_up_with_its_bound)
{
    static const tn_value_key keys[] = {{0, 0}, {0.5, 0}, {0.5 + 1e-9, 3}, {1.5, 3}, {2.5, -1}};
    rig                       r      = auto_make(tns_vec(0, 0, 0));
    const double              I = 0.4, most = 2;
    const tn_body_id          rotor = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
    tn_joint_def              def   = motor_def(TNS_GROUND, rotor, tns_vec(0, 0, 0), 0, most);
    def.velocity_keys               = keys;
    def.velocity_key_count          = 5;
    const tn_joint_id motor         = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    for (int i = 1; i <= 150 && rig_step(&r, auto_h); ++i) {
        const double t = i * auto_h, w = rig_rate(&r, motor);
        const double up     = fmax(0, fmin(3, (t - 0.5) * most / I)),
                     wanted = t > 1.5 ? 3 - 4 * (t - 1.5) : up;
        CHECK_NEAR(w, wanted, 1.01 * auto_h * most / I * (up < 3 && t > 0.5) + 1e-8);
    }
    rig_free(&r);
}

static rig make_four_bar(double most, tn_joint_id* motor)
{
    rig              r        = auto_make(tns_vec(0, 0, -rig_g));
    const tn_vec3    I        = tns_vec(0.01, 0.05, 0.05);
    const tn_body_id crank    = rig_add_body(&r, 1, I, tns_vec(0, 0, 0.2)),
                     rod      = rig_add_body(&r, 2, I, tns_vec(0.6, 0, 0.7)),
                     lever    = rig_add_body(&r, 1, I, tns_vec(1.2, 0, 0.5));
    tn_joint_def def          = motor_def(TNS_GROUND, crank, tns_vec(0, 0, 0), 4, most);
    *motor                    = tn_scene_add_joint(r.scene, &def);
    const tn_joint_def pins[] = {hinge_def(crank, rod, tns_vec(0, 0, 0.4)),
                                 hinge_def(rod, lever, tns_vec(1.2, 0, 1)),
                                 hinge_def(lever, TNS_GROUND, tns_vec(1.2, 0, 0))};
    for (int i = 0; i < 3; ++i) CHECK(tn_scene_add_joint(r.scene, &pins[i]).bits != 0);
    rig_ready(&r);
    return r;
}

// Through a closed loop: as the motor without a bound does, once it is up to its speed.
TEST(a_motor_with_enough_force_turns_a_four_bar_as_one_without_a_bound)
{
    tn_joint_id  motor;
    rig          strong = make_four_bar(1e3, &motor), free = make_four_bar(HUGE_VAL, &motor);
    const double h     = auto_h;
    double       least = HUGE_VAL, most = -HUGE_VAL;
    for (int i = 0; i < 180 && rig_step(&strong, h) && rig_step(&free, h); ++i) {
        CHECK_NEAR(rig_rate(&strong, motor), 4, 1e-7);
        CHECK_NEAR(rig_angle(&strong, motor), 4 * h * (i + 1), 2e-4);
        CHECK_NEAR(rig_angle(&strong, motor), rig_angle(&free, motor), 2e-4);
        const double torque = torque_of(&strong, motor);
        CHECK_NEAR(torque, torque_of(&free, motor), 1e-3 * fabs(torque) + 0.05);
        least = fmin(least, torque), most = fmax(most, torque);
    }
    CHECK(most > 5 && least < -5); // it drives, and it brakes
    rig_free(&strong), rig_free(&free);
    // With less than the hardest place takes it never gets through.
    rig weak = make_four_bar(2, &motor);
    for (int i = 0; i < 300 && rig_step(&weak, h); ++i)
        CHECK_LESS(fabs(torque_of(&weak, motor)), 2 + 1e-9);
    CHECK_LESS(fabs(rig_angle(&weak, motor)), 6);
    rig_free(&weak);
}

// ---- Springs with bounds ---------------------------------------------------------------------------

// A servo far from its place pushes with its bound, whatever its stiffness, and brakes in time.
TEST(a_spring_with_a_bound_pushes_with_it)
{
    for (double k = 100; k < 1e9; k *= 100) {
        rig              r = auto_make(tns_vec(0, 0, 0));
        const double     I = 0.5, most = 2, d = 0.5 * k;
        const tn_body_id rotor = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
        tn_joint_def     def   = hinge_def(TNS_GROUND, rotor, tns_vec(0, 0, 0));
        def.stiffness = k, def.damping = d, def.rest[0] = 3;
        def.force_low = -most, def.force_high = most;
        const tn_joint_id servo = tn_scene_add_joint(r.scene, &def);
        rig_ready(&r);
        double before = rig_energy(&r);
        for (int i = 1; i <= 1200 && rig_step(&r, auto_h); ++i) {
            const double t = i * auto_h, w = rig_rate(&r, servo), q = rig_angle(&r, servo);
            if (k * (3 - q) - d * w > most && t < 1) {
                CHECK_NEAR(w, most / I * t, 1e-9);
                CHECK_NEAR(q, 0.5 * most / I * t * t, 1e-9);
            }
            CHECK_LESS(rig_energy(&r), before + 1e-9 * fabs(before) + 1e-12);
            before = rig_energy(&r);
        }
        CHECK_NEAR(rig_angle(&r, servo), 3, 1e-6);
        CHECK_LESS(fabs(rig_rate(&r, servo)), 1e-6);
        rig_free(&r);
    }
}

// Within its bounds it is the spring that it would be without.
TEST(a_spring_within_its_bounds_is_a_spring)
{
    for (double k = 1; k < 1e7; k *= 100) {
        rig         r[2];
        tn_joint_id pin = {1};
        for (int bounded = 0; bounded < 2; ++bounded) {
            r[bounded]           = auto_make(tns_vec(0, 0, -rig_g));
            const tn_body_id arm = add_arm(&r[bounded]);
            tn_joint_def     def = hinge_def(TNS_GROUND, arm, tns_vec(0, 0, 0));
            def.stiffness = k, def.damping = 0.01 * k, def.force[0] = 1;
            if (bounded) def.force_low = -1e3, def.force_high = 1e3;
            CHECK(tn_scene_add_joint(r[bounded].scene, &def).bits != 0);
            rig_ready(&r[bounded]);
            rig_run(&r[bounded], auto_h, 60);
        }
        CHECK_NEAR(rig_angle(&r[1], pin), rig_angle(&r[0], pin), 1e-8);
        CHECK_NEAR(rig_rate(&r[1], pin), rig_rate(&r[0], pin), 1e-7);
        CHECK_NEAR(rig_energy(&r[1]), rig_energy(&r[0]), 1e-7);
        rig_free(&r[0]), rig_free(&r[1]);
    }
}

TEST(other_methods_refuse_bounds_by_name)
{
    static const tn_method methods[] = {TN_METHOD_MULTIPLIER, TN_METHOD_IMPLICIT,
                                        TN_METHOD_ADAPTIVE, TN_METHOD_IMPULSE};
    rig                    r         = auto_make(tns_vec(0, 0, 0));
    const tn_joint_def     def       = motor_def(TNS_GROUND, add_arm(&r), tns_vec(0, 0, 0), 1, 5);
    CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
    rig_ready(&r);
    for (int i = 0; i < 4; ++i) {
        tn_settings settings = tn_default_settings();
        tn_stepper* stepper  = NULL;
        tn_why      why      = {.text = ""};
        settings.method      = methods[i];
        CHECK_INT(tn_stepper_create(r.model, &settings, &stepper, &why), TN_ERR_UNSUPPORTED);
        CHECK(stepper == NULL && strstr(why.text, "force_range") != NULL);
        CHECK(strstr(why.text, tn_method_word(methods[i])) != NULL);
    }
    rig_free(&r);
}

// ---- Soft contact ----------------------------------------------------------------------------------

// A ball, or a box that stands on four points, over a hard floor.
static tn_body_id add_soft(rig* r, bool box, double k, double d, double z)
{
    tn_body_def  def   = tn_default_body_def();
    tn_shape_def shape = box ? rig_box(tns_vec(0.1, 0.1, 0.1)) : rig_sphere(0.1);
    tn_scene_set_ground(r->scene, 0.5, 0);
    shape.stiffness = k, shape.damping = d;
    def.mass = 1, def.pose.position.z = z;
    def.shapes = &shape, def.shape_count = 1;
    return tn_scene_add_body(r->scene, &def);
}

static double height(const rig* r, tn_body_id body)
{
    return tn_state_pose(r->state, body).position.z;
}

TEST(what_stands_on_soft_points_sinks_by_its_weight)
{
    for (int box = 0; box < 2; ++box) {
        for (double k = 1e3; k < 2e9; k *= 100) {
            rig          r           = auto_make(tns_vec(0, 0, -rig_g));
            const double all         = box ? 4 * k : k;
            r.settings.impulse.sleep = 0; // forces on sleeping bodies are not reported
            const tn_body_id body    = add_soft(&r, box, k, 0.5 * sqrt(k), 0.1);
            rig_ready(&r);
            rig_run(&r, auto_h, 300);
            CHECK_NEAR(height(&r, body), 0.1 - rig_g / all, 1e-6 * rig_g / all + 1e-10);
            CHECK_LESS(tns_length(tn_state_velocity(r.state, body).linear), 1e-6);
            CHECK_NEAR(rig_contact_force(&r, TNS_GROUND, body).z, rig_g, 1e-6);
            CHECK(r.report.deepest == 0 && r.report.suspects[TN_SUSPECT_PENETRATION].count == 0);
            rig_free(&r);
        }
    }
}

// Verlet's period is 2 pi / w (1 - (w h)^2 / 24).
TEST(a_ball_swings_on_soft_contact_with_its_period)
{
    for (double k = 50; k < 2000; k *= 2) {
        rig              r = auto_make(tns_vec(0, 0, -rig_g));
        const double     w = sqrt(k), h = fmin(auto_h, 0.2 / w), z0 = 0.1 - rig_g / k;
        const tn_body_id ball = add_soft(&r, false, k, 0, z0 + 0.5 * rig_g / k);
        rig_ready(&r);
        double before = height(&r, ball) - z0, first = 0, last = 0, most = 0;
        int    count = 0;
        for (int i = 1; count < 11 && rig_step(&r, h); ++i) {
            const double z = height(&r, ball) - z0, t = h * (i - z / (z - before));
            if (before < 0 && z >= 0) last = t, first = count++ == 0 ? t : first;
            before = z;
            if (count == 10) most = fmax(most, z);
        }
        CHECK_NEAR((last - first) / 10, 2 * acos(-1) / w * (1 - w * w * h * h / 24), 1e-4 / w);
        CHECK_NEAR(most, 0.5 * rig_g / k, 0.01 * rig_g / k);
        rig_free(&r);
    }
}

// What it stores is no part of the energies: it is added here. Every bounce is lower than the one before; where steps
// resolve the contact, hardly.
TEST(a_ball_that_bounces_on_soft_contact_gains_no_energy)
{
    for (double k = 100; k < 1e8; k *= 3) {
        for (int start = 0; start < 5; ++start) {
            rig              r    = auto_make(tns_vec(0, 0, -rig_g));
            const tn_body_id ball = add_soft(&r, false, k, 0, 0.3 + 0.011 * start);
            rig_ready(&r);
            const double E = rig_energy(&r), z = auto_h * auto_h * k; // Verlet's own, as of springs
            const double within = 1 + fmin(1.001 * z / fmax(4 - z, 1e-9), 0.5);
            double       peak = HUGE_VAL, before = rig_g;
            for (int i = 0; i < 240 && rig_step(&r, auto_h); ++i) {
                const double depth = fmax(0, 0.1 - height(&r, ball)),
                             v     = tn_state_velocity(r.state, ball).linear.z;
                CHECK_LESS(rig_energy(&r) + 0.5 * k * depth * depth, E * within);
                if (before > 0 && v <= 0 && depth == 0) {
                    CHECK_LESS(rig_energy(&r), fmin(peak, E) * 1.002);
                    peak = rig_energy(&r);
                }
                before = v;
            }
            if (k <= 300) CHECK(peak > 0.98 * E);
            rig_free(&r);
        }
    }
}

TEST(a_soft_box_sticks_and_slides_on_a_slope)
{
    for (int slides = 0; slides < 2; ++slides) {
        const double     angle = atan(0.5) + (slides ? 0.002 : -0.002);
        rig              r     = auto_make(tns_vec(rig_g * sin(angle), 0, -rig_g * cos(angle)));
        const tn_body_id box   = add_soft(&r, true, 1e4, 50, 0.1 - 0.25 * rig_g * cos(angle) / 1e4);
        rig_ready(&r);
        rig_run(&r, auto_h, 60);
        const double v0 = tn_state_velocity(r.state, box).linear.x;
        rig_run(&r, auto_h, 60);
        const double v = tn_state_velocity(r.state, box).linear.x;
        const double a = rig_g * (sin(angle) - 0.5 * cos(angle));
        if (slides) CHECK_NEAR(v - v0, a, 0.02 * a);
        else CHECK_LESS(fabs(v), 1e-6);
        rig_free(&r);
    }
}

// A pair decides for its two bodies; two soft shapes are springs in a row.
TEST(soft_shapes_in_a_row_and_pairs)
{
    for (int pair = 0; pair < 2; ++pair) {
        rig              r    = auto_make(tns_vec(0, 0, -rig_g));
        const tn_body_id low  = add_soft(&r, true, 4e3, 50, 0.1),
                         high = add_soft(&r, true, 1e3, 50, 0.3);
        tn_pair_def def       = tn_default_pair_def();
        def.body1 = low, def.body2 = high, def.stiffness = 2e3, def.damping = 80;
        if (pair) CHECK_OK(tn_scene_add_pair(r.scene, &def));
        rig_ready(&r);
        rig_run(&r, auto_h, 600);
        const double k = pair ? 2e3 : 1 / (1 / 4e3 + 1 / 1e3);
        CHECK_NEAR(height(&r, high) - height(&r, low), 0.2 - rig_g / (4 * k), 1e-7);
        CHECK_NEAR(height(&r, low), 0.1 - 2 * rig_g / (4 * 4e3), 1e-7);
        rig_free(&r);
    }
}

// The damped swing, exact: exp(-d t / 2) (cos v t + d / 2v sin v t) of what it starts with.
TEST(a_ball_on_damped_soft_contact_swings_down_as_it_should)
{
    for (double d = 0.5; d < 40; d *= 3) {
        const double k = 400, z0 = 0.1 - rig_g / k, x0 = 0.5 * rig_g / k,
                     v        = sqrt(k - 0.25 * d * d);
        rig              r    = auto_make(tns_vec(0, 0, -rig_g));
        const tn_body_id ball = add_soft(&r, false, k, d, z0 + x0);
        rig_ready(&r);
        for (int i = 1; i <= 240 && rig_step(&r, auto_h / 4); ++i) {
            const double t = i * auto_h / 4;
            const double x = x0 * exp(-0.5 * d * t) * (cos(v * t) + 0.5 * d / v * sin(v * t));
            CHECK_NEAR(height(&r, ball) - z0, x, 0.02 * x0);
        }
        rig_free(&r);
    }
}
