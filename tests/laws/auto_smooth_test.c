// The default method is of second order where motion is smooth: halving h divides the error by four.
// Errors are against closed forms, or against the multiplier method, of fourth order and converged.
#include "support/auto_rig.h"

static const double  g      = 9.81;
static const tn_vec3 weight = {0, 0, -9.81}, origin = {0, 0, 0};

// A mechanism, ready; the caller frees it.
typedef rig maker(const char* spec);

static double largest(const double* a, const double* b, int count)
{
    double most = 0;
    for (int i = 0; i < count; ++i) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// Velocities as the joints want them.
static void start_by(rig* r, tn_method method)
{
    r->settings        = auto_settings();
    r->settings.method = method;
    rig_restart(r);
    CHECK_OK(tn_stepper_impulse(r->stepper, r->state, NULL, NULL, NULL));
}

// Orders of positions and velocities at `time`, in so many steps, twice and four times as many.
// width: by how much an order may be off, half of it at the finer pair.
static void check_second_order(maker* make, const char* spec, double time, int steps, double width)
{
    enum { SIZES = 3, FINER = 4 };
    rig exact = make(spec);
    start_by(&exact, TN_METHOD_MULTIPLIER);
    const int fine = FINER * (steps << (SIZES - 1));
    rig_run(&exact, time / fine, fine);
    const int q_count = tn_state_coordinate_count(exact.state),
              u_count = tn_state_velocity_count(exact.state);
    double q[SIZES], u[SIZES];
    for (int i = 0; i < SIZES; ++i) {
        rig r = make(spec);
        start_by(&r, TN_METHOD_AUTO);
        for (int k = 0; k < steps << i && rig_step(&r, time / (steps << i)); ++k)
            CHECK_INT(r.report.unclosed_count, 0);
        CHECK_LESS(r.joint_error, 1.001e-9);
        q[i] = largest(tn_state_coordinates(r.state), tn_state_coordinates(exact.state), q_count);
        u[i] = largest(tn_state_velocities(r.state), tn_state_velocities(exact.state), u_count);
        rig_free(&r);
    }
    for (int i = 0; i + 1 < SIZES; ++i) {
        const double of_q = rig_order(q[i], q[i + 1]), of_u = rig_order(u[i], u[i + 1]);
        test_check(fabs(of_q - 2) < width / (1 << i) && fabs(of_u - 2) < width / (1 << i), __FILE__,
                   __LINE__, "%s: orders %.3f of positions, %.3f of velocities (%.3g, %.3g)", spec,
                   of_q, of_u, q[i], u[i]);
    }
    CHECK(q[SIZES - 1] > 1e-8); // there is something to compare
    rig_free(&exact);
}

// ---- Pendulum ------------------------------------------------------------------------------------

static double agm(double a, double b)
{
    while (fabs(a - b) > 1e-15 * a) {
        const double mean = 0.5 * (a + b);
        b                 = sqrt(a * b);
        a                 = mean;
    }
    return a;
}

// A rod of 1 m, let go at 1.2 rad from below, is at the bottom after a quarter of T, which is the
// elliptic integral's, with the speed that energy says.
static void quarter_swing(int steps, double* angle, double* rate)
{
    const double a = 1.2, I = 1.0 / 12, w = sqrt(0.5 * g / (I + 0.25));
    const double T        = 2 * 3.141592653589793 / (w * agm(1, cos(a / 2)));
    rig          r        = auto_make(weight);
    tn_body_def  def      = rig_body(1, tns_vec(I, I, 0.01), tns_vec(-sin(a) / 2, 0, -cos(a) / 2));
    def.pose.orientation  = (tn_quat){cos(a / 2), 0, sin(a / 2), 0};
    const tn_body_id  rod = tn_scene_add_body(r.scene, &def);
    const tn_joint_id hinge = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, rod, origin, TNS_Y);
    rig_ready(&r);
    rig_run(&r, T / 4 / steps, steps);
    *angle = fabs(rig_angle(&r, hinge) + a);
    *rate  = fabs(rig_rate(&r, hinge) + 2 * w * sin(a / 2));
    rig_free(&r);
}

TEST(a_pendulum_swings_as_the_elliptic_integral_says)
{
    double angle[4], rate[4];
    for (int i = 0; i < 4; ++i) quarter_swing(25 << i, &angle[i], &rate[i]); // the first: 1/56 s
    CHECK_LESS(angle[0], 1e-3);
    CHECK_LESS(rate[0], 5e-3);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(rig_order(angle[i], angle[i + 1]), 2, 0.05);
        CHECK_NEAR(rig_order(rate[i], rate[i + 1]), 2, 0.05);
    }
}

// ---- Heavy top -----------------------------------------------------------------------------------

// Where the axis is after half a second of steady precession, and how far its spin is off:
//     A cos(tilt) W^2 - C w3 W + m g l = 0,   A about the foot, w3 the whole spin along the axis
static double precession_error(bool fast, int steps)
{
    const double tilt = 0.7, w3 = 40, time = 0.5, mass = 1.5, arm = 0.4, across = 0.05, C = 0.08;
    const double a = (across + mass * arm * arm) * cos(tilt), b = C * w3, c = mass * g * arm;
    const double root    = sqrt(b * b - 4 * a * c),
                 W       = fast ? (b + root) / (2 * a) : 2 * c / (b + root);
    const double  spin   = w3 - W * cos(tilt); // along the axis, on top of the precession
    const tn_vec3 axis   = {sin(tilt), 0, cos(tilt)};
    const tn_vec3 w      = tns_add(tns_vec(0, 0, W), tns_scale(spin, axis));
    rig           r      = auto_make(weight);
    tn_body_def   def    = rig_body(mass, tns_vec(across, across, C), tns_scale(arm, axis));
    def.pose.orientation = (tn_quat){cos(tilt / 2), 0, sin(tilt / 2), 0};
    def.velocity         = (tn_twist){tns_cross(w, def.pose.position), w};
    const tn_body_id top = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, top, origin, TNS_Z);
    rig_ready(&r);
    rig_run(&r, time / steps, steps);
    const tn_vec3 wanted = {sin(tilt) * cos(W * time), sin(tilt) * sin(W * time), cos(tilt)};
    const tn_vec3 now    = rig_axis(&r, top, TNS_Z);
    CHECK_NEAR(tns_dot(now, tn_state_velocity(r.state, top).angular), w3, 1e-6); // L3 is conserved
    rig_free(&r);
    return rig_distance(now, wanted);
}

TEST(a_heavy_top_precesses_steadily_at_both_rates)
{
    for (int fast = 0; fast < 2; ++fast) {
        double error[3];
        for (int i = 0; i < 3; ++i) error[i] = precession_error(fast, 120 << i); // 1/240 s
        CHECK_LESS(error[0], 1e-2);
        for (int i = 0; i < 2; ++i) CHECK_NEAR(rig_order(error[i], error[i + 1]), 2, 0.1);
    }
}

// ---- Free body -----------------------------------------------------------------------------------

// Moments 1:2:3 and a spin near the middle axis, which tumbles.
static rig make_free_body(const char* spec)
{
    rig         r        = auto_make(origin);
    tn_body_def def      = rig_body(4, tns_vec(1, 2, 3), tns_vec(1, 2, 3));
    def.pose.orientation = tns_turn(TNS_Z, tns_unit(tns_vec(1, -2, 0.5)));
    def.velocity.angular = tns_rotate(def.pose.orientation, tns_vec(0.5, 5, 1));
    (void)spec;
    CHECK(tn_scene_add_body(r.scene, &def).bits != 0);
    rig_ready(&r);
    return r;
}

TEST(a_free_body_tumbles_to_second_order)
{
    check_second_order(make_free_body, "free body", 1, 60, 0.1);
}

TEST(a_free_body_keeps_its_momentum_at_any_step)
{
    rig           r     = make_free_body("");
    const tn_vec3 start = tn_state_momentum(r.state).angular;
    const double  E     = rig_energy(&r);
    double        least = E, most = E;
    for (int i = 0; i < 3000 && rig_step(&r, auto_h); ++i) {
        CHECK_LESS(rig_distance(tn_state_momentum(r.state).angular, start), 1e-11);
        least = fmin(least, rig_energy(&r)), most = fmax(most, rig_energy(&r));
    }
    CHECK_LESS(most - least, 1e-3 * E);
    rig_free(&r);
}

// ---- Loops ---------------------------------------------------------------------------------------

TEST(loops_converge_at_second_order)
{
    check_second_order(rig_builtin, "fourbar", 0.5, 30, 0.2); // from 1/60 s
    check_second_order(rig_builtin, "bricard", 0.5, 30, 0.2);
    check_second_order(rig_builtin, "slider_crank", 0.5, 60, 0.2);
    check_second_order(rig_builtin, "peaucellier", 0.5, 30, 0.2);
}

TEST(springs_with_damping_and_gears_converge_at_second_order)
{
    check_second_order(rig_builtin, "differential", 0.4, 40, 0.2);
    check_second_order(rig_builtin, "robot:stiffness=5,damping=0.3", 0.15, 100, 0.2);
    check_second_order(rig_builtin, "humanoid", 0.2, 40, 0.9); // 2.4: dampers are better yet
}

// ---- Andrews' squeezer ---------------------------------------------------------------------------

// Seven bodies in the plane, three loops, no gravity: a torque on the crank K1 stretches a spring
// on K3. Data, start and the angles at 0.03 s from E. Hairer, G. Wanner, Solving Ordinary
// Differential Equations II, sec. VII.7, and the test set for IVP solvers (Bari), problem andrews.
//
//     O --K1-- . --K2-- P          P is where K2, K3, K4 and K6 meet; K3 turns about B, K5 and K7
//     P --K3-- B,  P --K4-- . --K5-- A,  P --K6-- . --K7-- A                         about A
static const double squeezer_time = 0.03;

typedef struct squeezer {
    rig         r;
    tn_joint_id crank, triangle; ///< hinges of K1 and K3 on the ground: their turns
} squeezer;

static tn_vec3 at_angle(tn_vec3 from, double length, double angle)
{
    return tns_vec(from.x + length * cos(angle), from.y + length * sin(angle), 0);
}

static tn_body_id add_planar(rig* r, double mass, double inertia, tn_vec3 com, double angle)
{
    tn_body_def def      = rig_body(mass, tns_vec(inertia, inertia, inertia), com);
    def.kind             = TN_BODY_PLANAR;
    def.pose.orientation = (tn_quat){cos(angle / 2), 0, 0, sin(angle / 2)};
    return tn_scene_add_body(r->scene, &def);
}

static squeezer make_squeezer(void)
{
    const double quarter = 1.5707963267948966;
    const double beta = -0.0617138900142764496358948458001, Theta = 0,
                 gamma = 0.455279819163070380255912382449, Phi = 0.222668390165885884674473185609,
                 delta   = 0.487364979543842550225598953530,
                 Omega   = -0.222668390165885884674473185609,
                 epsilon = 1.23054744454982119249735015568;
    const double d = 0.028, da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092,
                 l0 = 0.07785, ss = 0.035, sa = 0.01874, sb = 0.01043, sc = 0.018, sd = 0.02,
                 ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228, ub = 0.00449, zf = 0.02,
                 zt = 0.04, fa = 0.01421, c0 = 4530, torque = 0.033;
    const tn_vec3 A = {-0.06934, -0.00227, 0}, B = {-0.03635, 0.03273, 0}, C = {0.014, 0.072, 0};
    const tn_vec3 K = at_angle(origin, rr, beta), P = at_angle(K, -d, beta + Theta);
    const tn_vec3 E = at_angle(A, zt, delta), G = at_angle(A, u, epsilon - quarter);
    CHECK_LESS(rig_distance(P, at_angle(B, ss, gamma - quarter)), 1e-12); // the loop closes
    squeezer         s  = {.r = auto_make(origin)};
    rig*             r  = &s.r;
    const tn_body_id k1 = add_planar(r, 0.04325, 2.194e-6, at_angle(origin, ra, beta), beta),
                     k2 = add_planar(r, 0.00365, 4.410e-7, at_angle(K, -da, beta + Theta),
                                     beta + Theta),
                     k3 = add_planar(r, 0.02373, 5.255e-6,
                                     at_angle(at_angle(B, sa, gamma - quarter), sb, gamma), gamma),
                     k4 = add_planar(r, 0.00706, 5.667e-7,
                                     at_angle(E, e - ea, Phi + delta - quarter), Phi + delta),
                     k5 = add_planar(r, 0.07050, 1.169e-5,
                                     at_angle(at_angle(A, ta, delta), tb, delta + quarter), delta),
                     k6 = add_planar(r, 0.00706, 5.667e-7, at_angle(G, zf - fa, Omega + epsilon),
                                     Omega + epsilon),
                     k7 = add_planar(r, 0.05498, 1.912e-5,
                                     at_angle(at_angle(A, ua, epsilon - quarter), -ub, epsilon),
                                     epsilon);
    tn_joint_def drive  = tns_joint(TN_JOINT_HINGE, TNS_GROUND, k1, origin, TNS_Z);
    drive.force[0]      = torque;
    s.crank             = tn_scene_add_joint(r->scene, &drive);
    s.triangle          = rig_add_joint(r, TN_JOINT_HINGE, TNS_GROUND, k3, B, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k1, k2, K, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k2, k3, P, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k2, k4, P, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k2, k6, P, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k4, k5, E, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, TNS_GROUND, k5, A, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, k6, k7, G, TNS_Z);
    rig_add_joint(r, TN_JOINT_HINGE, TNS_GROUND, k7, A, TNS_Z);
    tn_spring_def spring = tn_default_spring_def();
    spring.body2         = k3;
    spring.anchor1       = C;
    spring.anchor2       = tns_vec(sd - sb, sa - sc, 0);
    spring.stiffness     = c0;
    spring.length        = l0;
    CHECK(tn_scene_add_spring(r->scene, &spring).bits != 0);
    rig_ready(r);
    return s;
}

TEST(andrews_squeezer_is_where_the_test_set_says_to_second_order)
{
    const double crank    = 15.81077119629904 + 0.0617138900142764496,
                 triangle = 0.04082224013073101 - 0.455279819163070380;
    double of_crank[3], of_triangle[3];
    for (int i = 0; i < 3; ++i) {
        const int steps = 600 << i;
        squeezer  s     = make_squeezer();
        for (int k = 0; k < steps && rig_step(&s.r, squeezer_time / steps); ++k)
            CHECK_INT(s.r.report.unclosed_count, 0);
        CHECK_LESS(s.r.joint_error, 1.001e-9);
        of_crank[i]    = fabs(rig_angle(&s.r, s.crank) - crank);
        of_triangle[i] = fabs(rig_angle(&s.r, s.triangle) - triangle);
        rig_free(&s.r);
    }
    CHECK_LESS(of_crank[2], 2e-4);
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(rig_order(of_crank[i], of_crank[i + 1]), 2, 0.2 / (1 << i));
        CHECK_NEAR(rig_order(of_triangle[i], of_triangle[i + 1]), 2, 0.2 / (1 << i));
    }
}
