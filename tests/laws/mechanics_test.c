// Machines with closed forms: wheels that mesh, roll, turn screws and are driven; springs.
#include "support/rig.h"

static const double  pi = 3.141592653589793, g = 9.81;
static const tn_vec3 origin = {0, 0, 0}, weight = {0, 0, -9.81};

static void add_torque(rig* r, tn_body_id body, tn_vec3 torque)
{
    tn_load_def def = tn_default_load_def();
    def.body        = body;
    def.torque      = torque;
    def.from        = 0;
    def.until       = 1e9;
    CHECK_OK(tn_scene_add_load(r->scene, &def));
}

static void couple(rig* r, tn_coupling_type type, tn_joint_id a, tn_joint_id b, double ratio)
{
    const tn_joint_id joints[2] = {a, b};
    tn_coupling_def   def       = tn_default_coupling_def(type);
    def.joints                  = joints;
    def.joint_count             = 2;
    def.ratio                   = ratio;
    CHECK_OK(tn_scene_add_coupling(r->scene, &def));
}

// ---- Couplings ----------------------------------------------------------------------------------

TEST(gears_share_a_torque_by_the_square_of_their_ratio)
{
    const double     I1 = 0.3, I2 = 0.8, torque = 1.7, alpha = torque / (I1 + I2 / 4);
    rig              r      = rig_make(weight);
    const tn_body_id wheel1 = rig_add_body(&r, 2, (tn_vec3){0.2, 0.2, I1}, origin),
                     wheel2 = rig_add_body(&r, 5, (tn_vec3){0.5, 0.5, I2}, TNS_X);
    const tn_joint_id axle1 = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, wheel1, origin, TNS_Z),
                      axle2 = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, wheel2, TNS_X, TNS_Z);
    couple(&r, TN_COUPLING_GEAR, axle1, axle2, 2);
    add_torque(&r, wheel1, (tn_vec3){0, 0, torque});
    rig_ready(&r);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, wheel1).angular.z, alpha, 1e-12);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, wheel2).angular.z, alpha / 2, 1e-12);
    rig_run(&r, 1e-3, 2000);
    CHECK_NEAR(rig_rate(&r, axle1), 2 * alpha, 1e-10);
    CHECK_NEAR(rig_angle(&r, axle1), 0.5 * alpha * 4, 1e-10); // turns are counted
    CHECK_NEAR(rig_angle(&r, axle2), 0.25 * alpha * 4, 1e-10);
    rig_free(&r);
}

TEST(a_rack_falls_as_its_pinion_lets_it)
{
    const double     m = 3, I = 0.05, radius = 0.1, a = -g * m / (m + I / (radius * radius));
    rig              r      = rig_make(weight);
    const tn_body_id pinion = rig_add_body(&r, 2, (tn_vec3){0.04, I, 0.04}, TNS_X),
                     rack   = rig_add_body(&r, m, (tn_vec3){1, 1, 1}, origin);
    const tn_joint_id axle  = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, pinion, TNS_X, TNS_Y),
                      guide = rig_add_joint(&r, TN_JOINT_SLIDER, TNS_GROUND, rack, origin, TNS_Z);
    couple(&r, TN_COUPLING_RACK, axle, guide, radius);
    rig_ready(&r);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, rack).linear.z, a, 1e-12);
    rig_run(&r, 1e-3, 1000);
    CHECK_NEAR(rig_angle(&r, guide), 0.5 * a, 1e-11);
    CHECK_NEAR(rig_angle(&r, axle), 0.5 * a / radius, 1e-10);
    rig_free(&r);
}

TEST(a_differential_shares_speed_and_balances_torque)
{
    rig               r       = rig_builtin("differential");
    const char* const names[] = {"drive", "cage", "planet", "left", "right"};
    tn_joint_id       j[5];
    for (int i = 0; i < 5; ++i) j[i] = tn_model_find_joint(r.model, names[i]);
    for (int piece = 0; piece < 10; ++piece) {
        rig_run(&r, 0.002, 1000);
        const double left = rig_rate(&r, j[3]), right = rig_rate(&r, j[4]);
        CHECK_NEAR(rig_rate(&r, j[0]), 30, 1e-9);
        CHECK_NEAR(rig_rate(&r, j[1]), 10, 1e-9);
        CHECK_NEAR(left + right, 20, 1e-9);
        CHECK_NEAR(rig_rate(&r, j[2]), -0.75 * (left - right), 1e-9);
    }
    // At last both wheels feel the same torque from their drag: 0.5 w_left = 2 w_right.
    CHECK_NEAR(rig_rate(&r, j[3]), 16, 1e-6);
    CHECK_NEAR(rig_rate(&r, j[4]), 4, 1e-6);
    rig_free(&r);
}

// ---- Rolling ------------------------------------------------------------------------------------

static void roll_on(rig* r, tn_body_id body, tn_vec3 normal)
{
    rig_add_joint(r, TN_JOINT_ROLLING, TNS_GROUND, body, origin, normal);
}

static tn_body_id round_body(rig* r, tn_shape_type type, double radius, double mass,
                             tn_vec3 inertia, tn_vec3 position, tn_quat turn, tn_twist velocity)
{
    tn_shape_def shape   = tn_default_shape_def(type);
    shape.radius         = radius;
    shape.half_length    = 0.01;
    shape.collide        = false;
    tn_body_def def      = rig_body(mass, inertia, position);
    def.pose.orientation = turn;
    def.velocity         = velocity;
    def.shapes           = &shape;
    def.shape_count      = 1;
    return tn_scene_add_body(r->scene, &def);
}

TEST(a_sphere_rolls_down_at_five_sevenths)
{
    const double     tilt = 0.4, R = 0.3, m = 2, I = 0.4 * m * R * R;
    const tn_vec3    normal = {sin(tilt), 0, cos(tilt)}, down = {cos(tilt), 0, -sin(tilt)};
    rig              r = rig_make(weight);
    const tn_body_id ball =
        round_body(&r, TN_SHAPE_SPHERE, R, m, (tn_vec3){I, I, I}, tns_scale(R, normal), TNS_UPRIGHT,
                   (tn_twist){{0, 0, 0}, {0, 0, 0}});
    roll_on(&r, ball, normal);
    rig_ready(&r);
    rig_run(&r, 1e-3, 1000);
    const double  way  = 0.5 * 5.0 / 7 * g * sin(tilt);
    const tn_vec3 want = tns_add(tns_scale(R, normal), tns_scale(way, down));
    CHECK_LESS(rig_distance(tn_state_pose(r.state, ball).position, want), 1e-11);
    CHECK_NEAR(tn_state_velocity(r.state, ball).angular.y, 2 * way / R, 1e-10);
    rig_free(&r);
}

TEST(a_disc_rolls_down_at_two_thirds_and_a_hoop_at_a_half)
{
    const double  tilt = 0.3, R = 0.25, m = 1.2;
    const tn_vec3 normal = {sin(tilt), 0, cos(tilt)}, down = {cos(tilt), 0, -sin(tilt)};
    for (int hoop = 0; hoop < 2; ++hoop) {
        const double     I = (hoop ? 1 : 0.5) * m * R * R, share = hoop ? 0.5 : 2.0 / 3;
        rig              r     = rig_make(weight);
        const tn_body_id wheel = round_body(&r, TN_SHAPE_CYLINDER, R, m, (tn_vec3){I / 2, I / 2, I},
                                            tns_scale(R, normal), tns_turn(TNS_Z, TNS_Y),
                                            (tn_twist){{0, 0, 0}, {0, 0, 0}});
        roll_on(&r, wheel, normal);
        rig_ready(&r);
        rig_run(&r, 1e-3, 1000);
        const tn_vec3 want =
            tns_add(tns_scale(R, normal), tns_scale(0.5 * share * g * sin(tilt), down));
        CHECK_LESS(rig_distance(tn_state_pose(r.state, wheel).position, want), 1e-10);
        rig_free(&r);
    }
}

TEST(a_leaning_disc_rolls_in_a_circle)
{
    // Axis at angle t to the vertical, turned about it by W; w3 the spin along the axis:
    //     (C + m R^2) w3 W sin t - A W^2 sin t cos t + m g R cos t = 0
    const double   t = 1.3, R = 0.4, m = 1.5, A = 0.25 * m * R * R, C = 2 * A, W = 2.5;
    const double   w3 = (A * W * W * sin(t) - m * g * R) * cos(t) / ((C + m * R * R) * W * sin(t));
    const tn_vec3  e3 = {sin(t), 0, cos(t)}, up = {-cos(t), 0, sin(t)}, e1 = tns_cross(up, e3);
    const tn_vec3  start = tns_scale(R, up), out = tns_cross(TNS_Z, e1);
    const tn_vec3  middle   = tns_sub(start, tns_scale(R * w3 / W, out));
    rig            r        = rig_make(weight);
    const tn_twist velocity = {tns_scale(-R * w3, e1),
                               tns_add(tns_scale(W * sin(t), up), tns_scale(w3, e3))};
    const tn_body_id disc   = round_body(&r, TN_SHAPE_CYLINDER, R, m, (tn_vec3){A, A, C}, start,
                                         tns_turn(TNS_Z, e3), velocity);
    roll_on(&r, disc, TNS_Z);
    rig_ready(&r);
    rig_run(&r, 5e-4, 2000);
    const tn_quat turn = {cos(W / 2), 0, 0, sin(W / 2)};
    const tn_vec3 want = tns_add(middle, tns_rotate(turn, tns_sub(start, middle)));
    CHECK_LESS(rig_distance(tn_state_pose(r.state, disc).position, want), 1e-9);
    CHECK_LESS(rig_distance(rig_axis(&r, disc, TNS_Z), tns_rotate(turn, e3)), 1e-9);
    CHECK_LESS(r.joint_error, 1e-10);
    rig_free(&r);
}

TEST(an_upright_wheel_on_an_arm_rolls_in_a_circle)
{
    const double      a = 0.8, R = 0.2, m = 3, A = 0.04, C = 0.06, arm_inertia = 0.5, torque = 2;
    const double      alpha  = torque / (arm_inertia + m * a * a + A + C * a * a / (R * R));
    const tn_vec3     centre = {a, 0, R}, hub = {0, 0, R};
    rig               r     = rig_make(weight);
    const tn_body_id  arm   = rig_add_body(&r, 1, (tn_vec3){0.5, 0.5, arm_inertia}, hub);
    const tn_body_id  wheel = round_body(&r, TN_SHAPE_CYLINDER, R, m, (tn_vec3){A, A, C}, centre,
                                         tns_turn(TNS_Z, TNS_X), (tn_twist){{0, 0, 0}, {0, 0, 0}});
    const tn_joint_id pivot = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, arm, hub, TNS_Z),
                      axle  = rig_add_joint(&r, TN_JOINT_HINGE, arm, wheel, centre, TNS_X);
    roll_on(&r, wheel, TNS_Z);
    add_torque(&r, arm, (tn_vec3){0, 0, torque});
    rig_ready(&r);
    rig_run(&r, 1e-3, 2000);
    CHECK_NEAR(rig_angle(&r, pivot), 0.5 * alpha * 4, 1e-9);
    CHECK_NEAR(rig_angle(&r, axle), -0.5 * alpha * 4 * a / R, 1e-8);
    CHECK_LESS(r.joint_error, 1e-10);
    rig_free(&r);
}

// ---- Screws, slides, motors ---------------------------------------------------------------------

TEST(a_nut_falls_down_its_screw)
{
    const double     m = 2, I = 1e-4, pitch = 0.05, turns = 2 * pi / pitch;
    const double     a      = -g / (1 + I * turns * turns / m);
    rig              r      = rig_make(weight);
    const tn_body_id nut    = rig_add_body(&r, m, (tn_vec3){1e-4, 1e-4, I}, origin);
    tn_joint_def     def    = tns_joint(TN_JOINT_SCREW, TNS_GROUND, nut, origin, TNS_Z);
    def.pitch               = pitch;
    const tn_joint_id screw = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, nut).linear.z, a, 1e-11);
    rig_run(&r, 1e-4, 5000);
    CHECK_NEAR(tn_state_pose(r.state, nut).position.z, 0.5 * a * 0.25, 1e-10);
    CHECK_NEAR(rig_angle(&r, screw), 0.5 * a * 0.25 * turns, 1e-8);
    CHECK(fabs(rig_angle(&r, screw)) > 2 * pi); // more than a turn, and still counted
    rig_free(&r);
}

TEST(a_block_slides_down_an_incline)
{
    const double      tilt = 0.6, m = 4;
    const tn_vec3     down = {cos(tilt), 0, -sin(tilt)}, normal = {sin(tilt), 0, cos(tilt)};
    rig               r     = rig_make(weight);
    const tn_body_id  block = rig_add_body(&r, m, (tn_vec3){1, 2, 3}, (tn_vec3){0.1, 0.2, 0.3});
    const tn_joint_id guide =
        rig_add_joint(&r, TN_JOINT_SLIDER, TNS_GROUND, block, (tn_vec3){0.1, 0.2, 0.3}, down);
    rig_ready(&r);
    rig_evaluate(&r);
    const tn_wrench reaction = tn_stepper_reaction(r.stepper, guide);
    CHECK_LESS(rig_distance(reaction.force, tns_scale(m * g * cos(tilt), normal)), 1e-12);
    CHECK_LESS(tns_length(reaction.torque), 1e-12);
    rig_run(&r, 1e-3, 1000);
    CHECK_NEAR(rig_angle(&r, guide), 0.5 * g * sin(tilt), 1e-11);
    rig_free(&r);
}

TEST(a_motor_keeps_its_speed_and_its_torque_is_what_the_load_asks)
{
    const double       m = 2, arm = 0.5, I = 0.3, alpha = 4;
    rig                r       = rig_make(weight);
    const tn_body_id   rod     = rig_add_body(&r, m, (tn_vec3){0.2, I, 0.2}, (tn_vec3){arm, 0, 0});
    const tn_value_key ramp[2] = {{0, 1}, {2, 1 + 2 * alpha}};
    tn_joint_def       def     = rig_motor(TN_JOINT_HINGE, TNS_GROUND, rod, origin, TNS_Y, 0);
    def.velocity_keys          = ramp;
    def.velocity_key_count     = 2;
    const tn_joint_id motor    = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL)); // starts with an impulse
    for (int i = 1; i <= 10; ++i) {
        rig_run(&r, 1e-3, 100);
        const double t = 0.1 * i, angle = t + 0.5 * alpha * t * t;
        CHECK_NEAR(rig_rate(&r, motor), 1 + alpha * t, 1e-12);
        CHECK_NEAR(rig_angle(&r, motor), angle, 1e-9);
        rig_evaluate(&r);
        const double torque = (I + m * arm * arm) * alpha - m * g * arm * cos(rig_angle(&r, motor));
        CHECK_NEAR(tn_stepper_reaction(r.stepper, motor).torque.y, torque, 1e-9);
    }
    rig_free(&r);
}

TEST(a_linear_motor_pushes_with_mass_times_acceleration)
{
    rig                r       = rig_make(weight);
    const tn_body_id   block   = rig_add_body(&r, 3, (tn_vec3){1, 1, 1}, origin);
    const tn_value_key ramp[2] = {{0, 0}, {1, 2}};
    tn_joint_def       def     = rig_motor(TN_JOINT_SLIDER, TNS_GROUND, block, origin, TNS_Z, 0);
    def.velocity_keys          = ramp;
    def.velocity_key_count     = 2;
    const tn_joint_id lift     = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    rig_run(&r, 1e-3, 500);
    CHECK_NEAR(tn_state_pose(r.state, block).position.z, 0.25, 1e-12);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_reaction(r.stepper, lift).force.z, 3 * (g + 2), 1e-9);
    rig_run(&r, 1e-3, 1000); // past the last key it goes on at 2 m/s
    CHECK_NEAR(rig_rate(&r, lift), 2, 1e-12);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_reaction(r.stepper, lift).force.z, 3 * g, 1e-9);
    rig_free(&r);
}

TEST(hookes_joint_passes_an_uneven_speed)
{
    // tan(out) = cos(bend) tan(in): the output's speed is cos b / (1 - sin^2 b sin^2 in) of the
    // input's.
    const double     bend = 0.8, w = 3;
    const tn_vec3    along = {cos(bend), sin(bend), 0}, across = {-sin(bend), cos(bend), 0};
    rig              r     = rig_make(weight);
    const tn_body_id in    = rig_add_body(&r, 1, (tn_vec3){0.1, 0.2, 0.2}, (tn_vec3){-0.5, 0, 0});
    tn_body_def      shaft = rig_body(1, (tn_vec3){0.1, 0.2, 0.2}, tns_scale(0.5, along));
    shaft.pose.orientation = tns_turn(TNS_X, along);
    const tn_body_id out   = tn_scene_add_body(r.scene, &shaft);
    tn_joint_def     def = rig_motor(TN_JOINT_HINGE, TNS_GROUND, in, (tn_vec3){-1, 0, 0}, TNS_X, w);
    const tn_joint_id motor = tn_scene_add_joint(r.scene, &def);
    def                     = tns_joint(TN_JOINT_UNIVERSAL, in, out, origin, TNS_Z);
    def.axis2               = across;
    tn_scene_add_joint(r.scene, &def);
    const tn_joint_id axle = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, out, along, along);
    rig_ready(&r);
    tn_check check;
    CHECK_OK(tn_stepper_check(r.stepper, r.state, &check, NULL));
    CHECK_INT(check.mobility, 0);
    CHECK_INT(check.redundant_count, 3);
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
    for (int i = 0; i < 220; ++i) {
        rig_run(&r, 1e-3, 10);
        const double a = rig_angle(&r, motor), s = sin(bend) * sin(a);
        CHECK_NEAR(rig_rate(&r, motor), w, 1e-10);
        CHECK_NEAR(rig_rate(&r, axle), w * cos(bend) / (1 - s * s), 1e-9);
        CHECK_NEAR(remainder(rig_angle(&r, axle) - atan2(cos(bend) * sin(a), cos(a)), 2 * pi), 0,
                   1e-9);
    }
    CHECK(rig_angle(&r, axle) > 2 * pi); // a whole turn
    rig_free(&r);
}

// ---- Springs ------------------------------------------------------------------------------------

TEST(a_mass_on_a_spring_swings_harmonically)
{
    const double m = 2, k = 50, rest = 1.5, amplitude = 0.4, w = sqrt(k / m);
    rig          r          = rig_make(origin);
    tn_body_def  def        = tn_default_body_def();
    def.kind                = TN_BODY_PARTICLE;
    def.mass                = m;
    def.pose.position       = (tn_vec3){0, rest + amplitude, 0};
    const tn_body_id ball   = tn_scene_add_body(r.scene, &def);
    tn_spring_def    spring = tn_default_spring_def();
    spring.body2            = ball;
    spring.stiffness        = k;
    spring.length           = rest;
    CHECK_OK(tn_scene_add_spring(r.scene, &spring));
    rig_ready(&r);
    for (int i = 1; i <= 8; ++i) {
        const double T = 2 * pi / w;
        rig_run(&r, T / 4000, 500);
        const tn_vec3 place = tn_state_pose(r.state, ball).position;
        CHECK_NEAR(place.y, rest + amplitude * cos(2 * pi * i / 8), 1e-11);
        CHECK_NEAR(rig_energy(&r), 0.5 * k * amplitude * amplitude, 1e-11);
    }
    rig_free(&r);
}

TEST(a_damped_slide_loses_its_logarithmic_decrement)
{
    const double     m = 1.5, k = 60, c = 2, decay = c / (2 * m), w = sqrt(k / m - decay * decay);
    rig              r      = rig_make(origin);
    const tn_body_id body   = rig_add_body(&r, m, (tn_vec3){1, 1, 1}, origin);
    tn_joint_def     def    = tns_joint(TN_JOINT_SLIDER, TNS_GROUND, body, origin, TNS_X);
    def.stiffness           = k;
    def.damping             = c;
    def.rest[0]             = -0.3;
    const tn_joint_id slide = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    double before = 0.3;
    for (int i = 0; i < 5; ++i) {
        rig_run(&r, 2 * pi / w / 2000, 2000);
        const double stretch = rig_angle(&r, slide) + 0.3;
        CHECK_NEAR(log(before / stretch), decay * 2 * pi / w, 1e-9);
        CHECK_NEAR(rig_rate(&r, slide), 0, 1e-9);
        before = stretch;
    }
    rig_free(&r);
}

TEST(a_torsion_spring_turns_a_hinge_harmonically)
{
    const double     I = 0.4, k = 10, w = sqrt(k / I);
    rig              r      = rig_make(origin);
    const tn_body_id body   = rig_add_body(&r, 1, (tn_vec3){1, 1, I}, origin);
    tn_joint_def     def    = tns_joint(TN_JOINT_HINGE, TNS_GROUND, body, origin, TNS_Z);
    def.stiffness           = k;
    def.rest[0]             = 4; // more than half a turn
    const tn_joint_id hinge = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    for (int i = 1; i <= 8; ++i) {
        rig_run(&r, 2 * pi / w / 4000, 500);
        CHECK_NEAR(rig_angle(&r, hinge), 4 - 4 * cos(2 * pi * i / 8), 1e-10);
        CHECK_NEAR(rig_energy(&r), 0.5 * k * 16, 1e-9);
    }
    rig_free(&r);
}

TEST(a_torsion_spring_turns_a_ball_about_one_axis)
{
    // A body of equal moments that is let go at the rotation vector v swings along v.
    const double  I = 0.4, k = 10, w = sqrt(k / I), size = 1.5;
    const tn_vec3 axis     = tns_unit((tn_vec3){1, -2, 0.5});
    rig           r        = rig_make(origin);
    tn_body_def   body     = rig_body(1, (tn_vec3){I, I, I}, origin);
    body.pose.orientation  = tns_turn_about(axis, size / (2 * pi));
    const tn_body_id id    = tn_scene_add_body(r.scene, &body);
    tn_joint_def     def   = tns_joint(TN_JOINT_BALL, TNS_GROUND, id, origin, TNS_Z);
    def.form               = TN_JOINT_BY_FRAMES;
    def.stiffness          = k;
    const tn_joint_id ball = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    for (int i = 1; i <= 8; ++i) {
        double z[3];
        rig_run(&r, 2 * pi / w / 4000, 500);
        tn_state_joint_position(r.state, ball, z);
        const tn_vec3 want = tns_scale(size * cos(2 * pi * i / 8), axis);
        CHECK_LESS(rig_distance((tn_vec3){z[0], z[1], z[2]}, want), 1e-10);
        CHECK_NEAR(rig_energy(&r), 0.5 * k * size * size, 1e-10);
    }
    rig_free(&r);
}
