// Methods keep their promised order of accuracy: halving h divides the error by 2^p. Errors are
// against closed forms, or against independent integrations in generalized coordinates that are
// far finer.
#include "support/rig.h"

static const double pi = 3.141592653589793, g = 9.81;

static double agm(double a, double b)
{
    while (fabs(a - b) > 1e-15 * a) {
        const double mean = 0.5 * (a + b);
        b                 = sqrt(a * b);
        a                 = mean;
    }
    return a;
}

// sn, cn, dn of (u | k^2) by descending Landen transformations (Abramowitz and Stegun 16.4).
static void jacobi(double u, double k2, double* sn, double* cn, double* dn)
{
    double a[20] = {1}, c[20] = {sqrt(k2)}, b = sqrt(1 - k2);
    int    n = 0;
    while (fabs(c[n]) > 1e-16 && n < 19) {
        a[n + 1] = 0.5 * (a[n] + b);
        c[n + 1] = 0.5 * (a[n] - b);
        b        = sqrt(a[n] * b);
        ++n;
    }
    double phi = ldexp(a[n] * u, n), before = phi;
    for (; n > 0; --n) {
        before = phi;
        phi    = 0.5 * (phi + asin(c[n] * sin(phi) / a[n]));
    }
    *sn = sin(phi);
    *cn = cos(phi);
    *dn = k2 > 0 ? cos(phi) / cos(before - phi) : 1;
}

// y' = f(y) by many small classical Runge-Kutta steps: the reference, without rotations in it.
typedef void rate_of(const double* y, double* rate);
static void  integrate(rate_of* f, double* y, int n, double time, int steps)
{
    double k[4][4], at[4];
    for (int s = 0; s < steps; ++s) {
        const double h = time / steps, half[4] = {0, h / 2, h / 2, h};
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < n; ++j) at[j] = y[j] + (i > 0 ? half[i] * k[i - 1][j] : 0);
            f(at, k[i]);
        }
        for (int j = 0; j < n; ++j) y[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
    }
}

// ---- The pendulum: a rod of 1 m and 2 kg on a hinge ---------------------------------------------

static const double rod_mass = 2, rod_inertia = 0.2, rod_arm = 0.5;

static double swing_rate(void) // of small swings
{
    return sqrt(rod_mass * g * rod_arm / (rod_inertia + rod_mass * rod_arm * rod_arm));
}

// Hangs at `angle` from below, at rest.
static rig make_pendulum(double angle, tn_joint_id* hinge)
{
    rig         r        = rig_make((tn_vec3){0, 0, -g});
    tn_body_def def      = rig_body(rod_mass, (tn_vec3){0.3, rod_inertia, 0.1},
                                    (tn_vec3){-rod_arm * sin(angle), 0, -rod_arm * cos(angle)});
    def.pose.orientation = (tn_quat){cos(angle / 2), 0, sin(angle / 2), 0};
    const tn_body_id rod = tn_scene_add_body(r.scene, &def);
    *hinge = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, rod, (tn_vec3){0, 0, 0}, TNS_Y);
    return r;
}

TEST(pendulum_has_the_period_of_the_elliptic_integral)
{
    static const double amplitudes[] = {0.1, 1, 2, 3, 3.1};
    for (int i = 0; i < 5; ++i) {
        const double a = amplitudes[i], T = 2 * pi / (swing_rate() * agm(1, cos(a / 2)));
        tn_joint_id  hinge;
        rig          r = make_pendulum(a, &hinge);
        rig_ready(&r);
        rig_run(&r, T / 4 / 1000, 1000); // it is at the bottom now, and fastest
        const double rate = 2 * swing_rate() * sin(a / 2);
        CHECK_NEAR(rig_angle(&r, hinge), -a, 1e-9 * T * rate);
        CHECK_NEAR(rig_rate(&r, hinge), -rate, 1e-9 * rate);
        rig_run(&r, T / 4 / 1000, 1000); // and now at rest on the other side
        CHECK_NEAR(rig_angle(&r, hinge), -2 * a, 1e-10);
        CHECK_NEAR(rig_rate(&r, hinge), 0, 1e-9);
        rig_free(&r);
    }
}

static void pendulum_rate(const double* y, double* rate)
{
    rate[0] = y[1];
    rate[1] = -swing_rate() * swing_rate() * sin(y[0]);
}

// Largest error of angle and rate at t = 1.
static double pendulum_error(tn_integrator integrator, bool project, int steps)
{
    tn_joint_id hinge;
    rig         r                    = make_pendulum(2, &hinge);
    r.settings.multiplier.integrator = integrator;
    r.settings.multiplier.project    = project;
    rig_ready(&r);
    rig_run(&r, 1.0 / steps, steps);
    double y[2] = {2, 0};
    integrate(pendulum_rate, y, 2, 1, 20000);
    const double error =
        fmax(fabs(2 + rig_angle(&r, hinge) - y[0]), fabs(rig_rate(&r, hinge) - y[1]));
    rig_free(&r);
    return error;
}

TEST(runge_kutta_is_of_fourth_order_with_and_without_projection)
{
    for (int project = 0; project < 2; ++project) {
        const double e1 = pendulum_error(TN_INTEGRATOR_RK4, project, 128),
                     e2 = pendulum_error(TN_INTEGRATOR_RK4, project, 256),
                     e3 = pendulum_error(TN_INTEGRATOR_RK4, project, 512);
        CHECK_NEAR(rig_order(e1, e2), tn_method_order(TN_METHOD_MULTIPLIER), 0.2);
        CHECK_NEAR(rig_order(e2, e3), tn_method_order(TN_METHOD_MULTIPLIER), 0.2);
        CHECK_LESS(e3, 1e-8);
    }
}

TEST(semi_implicit_euler_is_of_first_order_with_and_without_projection)
{
    for (int project = 0; project < 2; ++project) {
        const double e1 = pendulum_error(TN_INTEGRATOR_EULER, project, 1000),
                     e2 = pendulum_error(TN_INTEGRATOR_EULER, project, 2000),
                     e3 = pendulum_error(TN_INTEGRATOR_EULER, project, 4000);
        CHECK_NEAR(rig_order(e1, e2), 1, 0.1);
        CHECK_NEAR(rig_order(e2, e3), 1, 0.1);
    }
}

// ---- Free rotation: Euler's equations in Jacobi's functions -------------------------------------

// I1 < I2 < I3, started with w = (w1, 0, w3) in the body's axes.
typedef struct free_rotation {
    double I[3], w1, w3, E2, L2, rate, k2;
} free_rotation;

static free_rotation make_free_rotation(void)
{
    free_rotation f = {.I = {1, 2, 3}, .w1 = 2, .w3 = 3};
    f.E2            = f.I[0] * f.w1 * f.w1 + f.I[2] * f.w3 * f.w3;
    f.L2            = f.I[0] * f.I[0] * f.w1 * f.w1 + f.I[2] * f.I[2] * f.w3 * f.w3;
    f.rate          = sqrt((f.I[2] - f.I[1]) * (f.L2 - f.E2 * f.I[0]) / (f.I[0] * f.I[1] * f.I[2]));
    f.k2 =
        (f.I[1] - f.I[0]) * (f.E2 * f.I[2] - f.L2) / ((f.I[2] - f.I[1]) * (f.L2 - f.E2 * f.I[0]));
    return f;
}

static tn_vec3 rotation_at(const free_rotation* f, double time)
{
    double sn, cn, dn;
    jacobi(f->rate * time, f->k2, &sn, &cn, &dn);
    const double w2 = sqrt((f->E2 * f->I[2] - f->L2) / (f->I[1] * (f->I[2] - f->I[1])));
    return (tn_vec3){f->w1 * cn, w2 * sn, f->w3 * dn};
}

// How far the third axis has turned about the angular momentum (Landau and Lifshitz, Mechanics,
// 37).
static double precession_at(const free_rotation* f, double time)
{
    enum { PIECES = 2000 }; // Simpson
    double sum = 0;
    for (int i = 0; i <= PIECES; ++i) {
        const tn_vec3 w = rotation_at(f, time * i / PIECES);
        const double  x = f->I[0] * w.x * w.x, y = f->I[1] * w.y * w.y;
        const double  rate = sqrt(f->L2) * (x + y) / (f->I[0] * x + f->I[1] * y);
        sum += rate * (i == 0 || i == PIECES ? 1 : i % 2 == 1 ? 4 : 2);
    }
    return sum * time / (3 * PIECES);
}

static double angle_about(tn_vec3 axis, tn_vec3 from, tn_vec3 to)
{
    const tn_vec3 n = tns_unit(axis);
    from            = tns_sub(from, tns_scale(tns_dot(n, from), n));
    to              = tns_sub(to, tns_scale(tns_dot(n, to), n));
    return atan2(tns_dot(n, tns_cross(from, to)), tns_dot(from, to));
}

typedef struct rotation_error {
    double rate, precession, energy, momentum;
} rotation_error;

static rotation_error free_rotation_error(double time, int steps)
{
    const free_rotation f     = make_free_rotation();
    rig                 r     = rig_make((tn_vec3){0, 0, 0});
    tn_body_def         def   = rig_body(4, (tn_vec3){f.I[0], f.I[1], f.I[2]}, (tn_vec3){1, 2, 3});
    const tn_quat       start = tns_turn(TNS_Z, tns_unit((tn_vec3){1, -2, 0.5}));
    def.pose.orientation      = start;
    def.velocity.angular      = tns_rotate(start, (tn_vec3){f.w1, 0, f.w3});
    const tn_body_id body     = tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    const tn_vec3 L0 = tn_state_momentum(r.state).angular, axis0 = rig_axis(&r, body, TNS_Z);
    const double  E0 = rig_energy(&r);
    double energy = 0, momentum = 0; // largest on the way: at the end they may be zero by chance
    for (int i = 0; i < steps && rig_step(&r, time / steps); ++i) {
        energy   = fmax(energy, fabs(rig_energy(&r) / E0 - 1));
        momentum = fmax(momentum, rig_distance(tn_state_momentum(r.state).angular, L0));
    }
    const tn_quat q = tn_state_pose(r.state, body).orientation;
    const tn_vec3 w =
        tns_rotate((tn_quat){q.w, -q.x, -q.y, -q.z}, tn_state_velocity(r.state, body).angular);
    const double turned = remainder(
        angle_about(L0, axis0, rig_axis(&r, body, TNS_Z)) - precession_at(&f, time), 2 * pi);
    const rotation_error error = {rig_distance(w, rotation_at(&f, time)), fabs(turned), energy,
                                  momentum / tns_length(L0)};
    rig_free(&r);
    return error;
}

TEST(a_free_body_turns_as_jacobi_says)
{
    const rotation_error error = free_rotation_error(5, 20000);
    CHECK_LESS(error.rate, 1e-10);
    CHECK_LESS(error.precession, 1e-10);
    CHECK_LESS(error.energy, 1e-12);
    CHECK_LESS(error.momentum, 1e-12);
}

TEST(free_rotation_converges_at_fourth_order)
{
    rotation_error e[3];
    for (int i = 0; i < 3; ++i) e[i] = free_rotation_error(2, 100 << i);
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(rig_order(e[i].rate, e[i + 1].rate), 4, 0.2);
        CHECK_NEAR(rig_order(e[i].precession, e[i + 1].precession), 4, 0.3);
        CHECK_NEAR(rig_order(e[i].energy, e[i + 1].energy), 4, 0.3);
        CHECK_NEAR(rig_order(e[i].momentum, e[i + 1].momentum), 4, 0.3);
    }
}

// ---- The heavy symmetric top: a ball joint at its foot ------------------------------------------

static const double top_mass = 1.5, top_arm = 0.4, top_across = 0.05, top_along = 0.08;

// Leans by `tilt` to x, turns with w.
static rig make_top(double tilt, tn_vec3 w, tn_body_id* top)
{
    rig           r    = rig_make((tn_vec3){0, 0, -g});
    const tn_vec3 axis = {sin(tilt), 0, cos(tilt)};
    tn_body_def   def =
        rig_body(top_mass, (tn_vec3){top_across, top_across, top_along}, tns_scale(top_arm, axis));
    def.pose.orientation = (tn_quat){cos(tilt / 2), 0, sin(tilt / 2), 0};
    def.velocity         = (tn_twist){tns_cross(w, def.pose.position), w};
    *top                 = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, *top, (tn_vec3){0, 0, 0}, TNS_Z);
    rig_ready(&r);
    return r;
}

// Error of the axis after one second of steady precession, at the slow or the fast rate:
//     A cos(tilt) W^2 - C w3 W + m g l = 0,   A about the foot, w3 the whole spin along the axis
static double precession_error(bool fast, int steps)
{
    const double tilt = 0.7, w3 = 40, A = top_across + top_mass * top_arm * top_arm;
    const double a = A * cos(tilt), b = top_along * w3, c = top_mass * g * top_arm;
    const double W =
        fast ? (b + sqrt(b * b - 4 * a * c)) / (2 * a) : 2 * c / (b + sqrt(b * b - 4 * a * c));
    const double spin = w3 - W * cos(tilt); // along the axis, on top of the precession
    tn_body_id   top;
    rig          r = make_top(tilt, (tn_vec3){spin * sin(tilt), 0, W + spin * cos(tilt)}, &top);
    rig_run(&r, 1.0 / steps, steps);
    const tn_vec3 wanted = {sin(tilt) * cos(W), sin(tilt) * sin(W), cos(tilt)};
    const double  error  = rig_distance(rig_axis(&r, top, TNS_Z), wanted);
    rig_free(&r);
    return error;
}

TEST(a_heavy_top_precesses_steadily_at_both_rates)
{
    for (int fast = 0; fast < 2; ++fast) {
        CHECK_LESS(precession_error(fast, 4000), 1e-9);
        CHECK_NEAR(rig_order(precession_error(fast, 500), precession_error(fast, 1000)), 4, 0.3);
    }
}

TEST(a_fast_top_nods_with_the_elliptic_period)
{
    // Let go with its axis at rest. u = cos(tilt):  u'^2 = b (u0 - u)(u - u1)(u3 - u)
    const double tilt = 0.9, w3 = 60, A = top_across + top_mass * top_arm * top_arm;
    const double a2 = pow(top_along * w3 / A, 2), b = 2 * top_mass * g * top_arm / A;
    const double u0 = cos(tilt), root = sqrt(a2 * a2 - 4 * b * (a2 * u0 - b));
    const double u3 = (a2 + root) / (2 * b), u1 = 2 * (a2 * u0 - b) / (a2 + root);
    const double T = 2 * pi / (sqrt(b) * agm(sqrt(u3 - u1), sqrt(u3 - u0)));
    tn_body_id   top;
    rig          r = make_top(tilt, (tn_vec3){w3 * sin(tilt), 0, w3 * cos(tilt)}, &top);
    CHECK_LESS(u1, u0 - 0.01); // it does nod
    rig_run(&r, T / 4000, 2000);
    CHECK_NEAR(rig_axis(&r, top, TNS_Z).z, u1, 1e-9);
    rig_run(&r, T / 4000, 2000);
    const tn_vec3 axis = rig_axis(&r, top, TNS_Z), w = tn_state_velocity(r.state, top).angular;
    CHECK_NEAR(axis.z, u0, 1e-9);
    CHECK_LESS(tns_length(tns_cross(w, axis)), 1e-7); // back on its cusp
    CHECK_NEAR(tns_dot(w, axis), w3, 1e-8);
    rig_free(&r);
}

// ---- The double pendulum, against its equations in two angles -----------------------------------

typedef struct link {
    double mass, inertia, length, arm;
} link;
static const link upper = {1.5, 0.12, 1, 0.5}, lower = {0.8, 0.05, 0.7, 0.35};

static void double_pendulum_rate(const double* y, double* rate)
{
    const double turn = y[0] - y[1], k = lower.mass * upper.length * lower.arm;
    const double a = upper.inertia + upper.mass * upper.arm * upper.arm +
                     lower.mass * upper.length * upper.length,
                 c = lower.inertia + lower.mass * lower.arm * lower.arm, b = k * cos(turn);
    const double f = -k * sin(turn) * y[3] * y[3] -
                     (upper.mass * upper.arm + lower.mass * upper.length) * g * sin(y[0]),
                 e = k * sin(turn) * y[2] * y[2] - lower.mass * lower.arm * g * sin(y[1]);
    rate[0]        = y[2];
    rate[1]        = y[3];
    rate[2]        = (c * f - b * e) / (a * c - b * b);
    rate[3]        = (a * e - b * f) / (a * c - b * b);
}

static tn_vec3 hanging(double length, double angle)
{
    return (tn_vec3){length * sin(angle), 0, -length * cos(angle)};
}

// Angles about -y from straight down; the second joint's coordinate is the difference.
static rig make_double_pendulum(double first, double second, tn_joint_id joints[2])
{
    rig           r     = rig_make((tn_vec3){0, 0, -g});
    const tn_vec3 elbow = hanging(upper.length, first);
    tn_body_def   def =
        rig_body(upper.mass, (tn_vec3){0.2, upper.inertia, 0.1}, hanging(upper.arm, first));
    def.pose.orientation  = (tn_quat){cos(first / 2), 0, -sin(first / 2), 0};
    const tn_body_id rod  = tn_scene_add_body(r.scene, &def);
    def                   = rig_body(lower.mass, (tn_vec3){0.06, lower.inertia, 0.02},
                                     tns_add(elbow, hanging(lower.arm, second)));
    def.pose.orientation  = (tn_quat){cos(second / 2), 0, -sin(second / 2), 0};
    const tn_body_id tip  = tn_scene_add_body(r.scene, &def);
    const tn_vec3    axis = {0, -1, 0};
    joints[0] = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, rod, (tn_vec3){0, 0, 0}, axis);
    joints[1] = rig_add_joint(&r, TN_JOINT_HINGE, rod, tip, elbow, axis);
    return r;
}

// Error of both angles and rates at t = 2.
static double double_pendulum_error(const tn_settings* settings, int steps, double* energy,
                                    int* pieces)
{
    const double first = 2, second = 1.2;
    tn_joint_id  joints[2];
    rig          r = make_double_pendulum(first, second, joints);
    r.settings     = *settings;
    rig_ready(&r);
    const double E0 = rig_energy(&r);
    *pieces         = 0;
    *energy         = 0;
    for (int i = 0; i < steps && rig_step(&r, 2.0 / steps); ++i) {
        *pieces += r.report.substep_count;
        *energy = fmax(*energy, fabs(rig_energy(&r) - E0));
    }
    double y[4] = {first, second, 0, 0};
    integrate(double_pendulum_rate, y, 4, 2, 20000);
    const double a0 = rig_angle(&r, joints[0]), a1 = rig_angle(&r, joints[1]);
    const double w0 = rig_rate(&r, joints[0]), w1 = rig_rate(&r, joints[1]);
    const double places = fmax(fabs(first + a0 - y[0]), fabs(second + a0 + a1 - y[1]));
    const double rates  = fmax(fabs(w0 - y[2]), fabs(w0 + w1 - y[3]));
    rig_free(&r);
    return fmax(places, rates);
}

TEST(the_double_pendulum_agrees_with_generalized_coordinates)
{
    for (int project = 0; project < 2; ++project) {
        tn_settings settings        = rig_settings();
        settings.multiplier.project = project;
        double error[4], energy[4];
        int    pieces;
        for (int i = 0; i < 4; ++i)
            error[i] = double_pendulum_error(&settings, 250 << i, &energy[i], &pieces);
        CHECK_LESS(error[3], 1e-8);
        for (int i = 1; i < 3; ++i) {
            CHECK_NEAR(rig_order(error[i], error[i + 1]), 4, 0.3);
            CHECK_NEAR(rig_order(energy[i], energy[i + 1]), 4, 0.3);
        }
    }
}

TEST(the_adaptive_integrator_meets_its_tolerance)
{
    double errors[4], energy;
    int    pieces[4];
    for (int i = 0; i < 4; ++i) {
        const double tolerance              = pow(10, -6 - 2 * i);
        tn_settings  settings               = rig_settings();
        settings.multiplier.integrator      = TN_INTEGRATOR_ADAPTIVE;
        settings.multiplier.error_tolerance = tolerance;
        errors[i] = double_pendulum_error(&settings, 4, &energy, &pieces[i]);
        CHECK_LESS(errors[i], 100 * tolerance);
        CHECK(pieces[i] > 4);
    }
    for (int i = 0; i < 3; ++i) {
        CHECK_LESS(errors[i + 1], 0.05 * errors[i]);
        CHECK(pieces[i + 1] > pieces[i]);
    }
}
