// Coulomb friction on one plane, against closed forms. All forces here are constant between events,
// so positions are parabolas, which RK4 meets exactly: what is left is rounding, and the 1e-9 (m,
// m/s) to which the end of a slide is found. A body that sticks must not creep at all.
#include "support/contact_rig.h"

static const double mass = contact_ramp_mass;

typedef contact_ramp ramp;

static ramp make_ramp(double th, double mu, tn_shape_def shape, double height, tn_quat lying,
                      double speed, double spin)
{
    shape.friction             = mu;
    const contact_ramp_def def = {.th       = th,
                                  .shape    = shape,
                                  .height   = height,
                                  .lying    = lying,
                                  .velocity = {speed, 0, 0},
                                  .spin     = {0, 0, spin}};
    return contact_ramp_ready(rig_make(tns_vec(0, 0, -rig_g)), &def);
}

static ramp make_box(double th, double mu, double speed)
{
    return make_ramp(th, mu, rig_box(tns_vec(0.3, 0.2, 0.1)), 0.1, TNS_UPRIGHT, speed, 0);
}

// ---- Boxes --------------------------------------------------------------------------------------

TEST(a_box_sticks_where_friction_is_above_the_slope)
{
    const double steps[] = {1e-3, 1.0 / 60};
    for (int i = 0; i < 2; ++i) {
        for (double th = 0.1; th < 1; th += 0.4) {
            ramp p = make_box(th, 1.001 * tan(th), 0);
            rig_run(&p.r, steps[i], i == 0 ? 1000 : 300);
            CHECK_LESS(fabs(contact_climbed(&p)), 1e-9);
            CHECK_LESS(contact_strayed(&p), 1e-9);
            CHECK_INT(p.r.report.contact_count, 4);
            CHECK_LESS(p.r.report.deepest, 1e-9);
            rig_evaluate(&p.r);
            const tn_vec3 force = rig_contact_force(&p.r, p.plane, p.body);
            CHECK_LESS(rig_distance(force, tns_vec(0, 0, mass * rig_g)), 1e-9);
            rig_free(&p.r);
        }
    }
}

// Just below the limit it is slow for long, and friction, which is along the slip, changes
// direction with the smallest slip across: stiff.
TEST(a_box_slides_where_friction_is_below_the_slope)
{
    const double shares[] = {0, 0.3, 0.6, 0.9, 0.95, 0.99, 0.999};
    const double steps[]  = {1e-3, 1.0 / 60};
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 7; ++k) {
            const double th = 0.5, mu = shares[k] * tan(th);
            const double a = rig_g * (sin(th) - mu * cos(th));
            ramp         p = make_box(th, mu, 0);
            for (int n = 1; n * steps[i] < 0.5 && rig_step(&p.r, steps[i]); ++n) {
                const double t = n * steps[i];
                CHECK_NEAR(contact_climbed(&p), -a * t * t / 2, 1e-9);
                CHECK_NEAR(contact_climbing(&p), -a * t, 1e-9);
            }
            CHECK_LESS(contact_strayed(&p), 1e-9);
            rig_free(&p.r);
        }
    }
}

// Uphill with v: a slide that ends at t_1 = v / g (sin + mu cos), then it stays or slides back.
static void check_uphill(double th, double mu, double h)
{
    const double v = 2, up = rig_g * (sin(th) + mu * cos(th));
    const double back = fmax(0, rig_g * (sin(th) - mu * cos(th)));
    const double t1 = v / up, top = v * v / (2 * up);
    ramp         p      = make_box(th, mu, v);
    int          events = 0;
    for (int k = 1; k * h < t1 + 1 && rig_step(&p.r, h); ++k) {
        const double t = k * h, later = t - t1;
        CHECK_NEAR(contact_climbed(&p),
                   later < 0 ? v * t - up * t * t / 2 : top - back * later * later / 2, 1e-8);
        CHECK_NEAR(contact_climbing(&p), later < 0 ? v - up * t : -back * later, 1e-8);
        events += p.r.report.event_count;
        CHECK_INT(p.r.report.jam_count, 0);
    }
    CHECK_INT(events, 1);
    CHECK_LESS(contact_strayed(&p), 1e-9);
    rig_free(&p.r);
}

TEST(a_box_pushed_uphill_stops_at_the_exact_place)
{
    const double steps[] = {1e-3, 7e-3, 1.0 / 60};
    for (int i = 0; i < 3; ++i) {
        check_uphill(0.5, 0.8, steps[i]); // then stays: tan 0.5 = 0.546
        check_uphill(0.5, 0.3, steps[i]); // then slides back
        check_uphill(0, 0.5, steps[i]);   // on the flat floor: v^2 / 2 mu g
    }
}

// Spun about its axis, a box of square base slides at all four corners, d off the axis; however the
// normal forces are shared (they are not determined), the torque is mu m g d. All stop at once.
TEST(a_spinning_box_stops_at_the_exact_time)
{
    const double mu = 0.4, spin = 5, a = 0.3, d = a * sqrt(2), I = mass / 3 * 2 * a * a;
    const double slowing = mu * mass * rig_g * d / I, t1 = spin / slowing;
    const double steps[] = {1e-3, 1.0 / 60};
    for (int i = 0; i < 2; ++i) {
        ramp p = make_ramp(0, mu, rig_box(tns_vec(a, a, 0.1)), 0.1, TNS_UPRIGHT, 0, spin);
        for (int k = 1; k * steps[i] < 2 * t1 && rig_step(&p.r, steps[i]); ++k) {
            const double t = k * steps[i];
            CHECK_NEAR(tn_state_velocity(p.r.state, p.body).angular.z, fmax(0, spin - slowing * t),
                       1e-8);
            CHECK_LESS(fabs(contact_climbed(&p)), 1e-8);
        }
        CHECK_LESS(fabs(tn_state_velocity(p.r.state, p.body).angular.z), 1e-9);
        rig_free(&p.r);
    }
}

// ---- Round things -------------------------------------------------------------------------------

// No spin at first: slides until 2 v / 7 mu g, then rolls with 5/7 v.
TEST(a_sliding_ball_ends_rolling)
{
    const double mu = 0.3, v = 3, radius = 0.2, t1 = 2 * v / (7 * mu * rig_g);
    const double steps[] = {1e-3, 7e-3, 1.0 / 60};
    for (int i = 0; i < 3; ++i) {
        ramp p = make_ramp(0, mu, rig_sphere(radius), radius, TNS_UPRIGHT, v, 0);
        for (int k = 1; k * steps[i] < 2 * t1 && rig_step(&p.r, steps[i]); ++k) {
            const double t = fmin(k * steps[i], t1);
            const double x = v * t - mu * rig_g * t * t / 2 + 5.0 / 7 * v * (k * steps[i] - t);
            CHECK_NEAR(contact_climbing(&p), v - mu * rig_g * t, 1e-8);
            CHECK_NEAR(tn_state_velocity(p.r.state, p.body).angular.y,
                       2.5 * mu * rig_g * t / radius, 1e-7);
            CHECK_NEAR(contact_climbed(&p), x, 1e-8);
        }
        CHECK_NEAR(contact_climbing(&p), 5.0 / 7 * v, 1e-8);
        rig_evaluate(&p.r);
        const tn_vec3 force = rig_contact_force(&p.r, p.plane, p.body);
        CHECK_LESS(rig_distance(force, tns_vec(0, 0, mass * rig_g)), 1e-8);
        rig_free(&p.r);
    }
}

// A ball with backspin slides, stops, comes back rolling: v_end = (5 v - 2 r w) / 7, all while it
// slides one way.
TEST(a_ball_with_backspin_comes_back)
{
    const double mu = 0.2, v = 1, radius = 0.2, back = 25,
                 t1 = 2 * (v + radius * back) / (7 * mu * rig_g);
    ramp p          = make_ramp(0, mu, rig_sphere(radius), radius, TNS_UPRIGHT, v, 0);
    CHECK_OK(tn_state_set_velocity(p.r.state, p.body, (tn_twist){{v, 0, 0}, {0, -back, 0}}));
    rig_run(&p.r, 2e-3, (int)(1.5 * t1 / 2e-3));
    CHECK_NEAR(contact_climbing(&p), (5 * v - 2 * radius * back) / 7, 1e-8);
    CHECK(contact_climbing(&p) < 0);
    rig_free(&p.r);
}

// Down a slope from rest: a = g sin / (1 + k), k = I / m r^2, needs mu >= tan k / (1 + k); else
// it slips with a = g (sin - mu cos) and turns with mu g cos / k r.
static void check_rolling(ramp* p, double th, double mu, double k, double radius)
{
    const double h = 2e-3, needed = tan(th) * k / (1 + k);
    const double a    = mu >= needed ? rig_g * sin(th) / (1 + k) : rig_g * (sin(th) - mu * cos(th));
    const double turn = mu >= needed ? a / radius : mu * rig_g * cos(th) / (k * radius);
    for (int i = 1; i <= 400 && rig_step(&p->r, h); ++i) {
        const double t = i * h;
        CHECK_NEAR(contact_climbed(p), -a * t * t / 2, 1e-8);
        CHECK_NEAR(tns_dot(TNS_Y, tn_state_velocity(p->r.state, p->body).angular), -turn * t, 1e-7);
    }
    CHECK_LESS(p->r.report.deepest, 1e-9);
    rig_free(&p->r);
}

TEST(balls_and_cylinders_roll_or_slip_down_a_slope)
{
    const double  th = 0.6, radius = 0.2;
    tn_shape_def  log   = tn_default_shape_def(TN_SHAPE_CYLINDER);
    const tn_quat lying = tns_turn(TNS_Z, TNS_Y);
    log.radius          = radius;
    log.half_length     = 0.3;
    for (double share = 0.5; share < 3; share += 1) {
        const double mu_ball = share * 2.0 / 7 * tan(th), mu_log = share / 3 * tan(th);
        ramp         ball = make_ramp(th, mu_ball, rig_sphere(radius), radius, TNS_UPRIGHT, 0, 0);
        check_rolling(&ball, th, mu_ball, 0.4, radius);
        ramp cylinder = make_ramp(th, mu_log, log, radius, lying, 0, 0);
        check_rolling(&cylinder, th, mu_log, 0.5, radius);
    }
}

// Slides until v / mu g, v^2 / 2 mu g behind, then rides with the belt.
TEST(a_belt_carries_a_box)
{
    const double mu = 0.4, v = 1.5, t1 = v / (mu * rig_g), h = 5e-3;
    rig          r        = rig_make(tns_vec(0, 0, -rig_g));
    tn_shape_def belt     = rig_box(tns_vec(20, 1, 0.1));
    belt.friction         = mu;
    belt.surface_velocity = tns_vec(v, 0, 0);
    tns_fixed(r.scene, "belt", tns_frame(tns_vec(0, 0, -0.1)), belt);
    const tn_body_id box = tns_solid(r.scene, "box", tns_frame(tns_vec(0, 0, 0.1)), TNS_AT_REST, 3,
                                     rig_box(tns_vec(0.1, 0.1, 0.1)), (tns_surface){mu, 0});
    rig_ready(&r);
    for (int n = 1; n * h < 2 * t1 && rig_step(&r, h); ++n) {
        const double t = n * h;
        CHECK_NEAR(contact_velocity(&r, box).linear.x, fmin(v, mu * rig_g * t), 1e-8);
        CHECK_NEAR(contact_place(&r, box).x, t < t1 ? mu * rig_g * t * t / 2 : v * t - v * t1 / 2,
                   1e-8);
    }
    rig_free(&r);
}

// A disc in the plane, gravity along -y.
TEST(a_planar_disc_rolls_or_slips_down_a_slope)
{
    const double th = 0.6, radius = 0.2, k = 0.5, h = 2e-3;
    for (double share = 0.5; share < 3; share += 1) {
        const double  mu = share * tan(th) * k / (1 + k);
        const double  a  = share > 1 ? rig_g * sin(th) / (1 + k) : rig_g * (sin(th) - mu * cos(th));
        const tn_vec3 uphill = {cos(th), sin(th), 0}, normal = {-sin(th), cos(th), 0};
        rig           r = rig_make(tns_vec(0, -rig_g, 0));
        tns_wall(r.scene, "ramp", tns_vec(0, 0, 0), normal, (tns_surface){mu, 0});
        tn_shape_def shape  = rig_sphere(radius);
        shape.friction      = mu;
        const double I      = k * mass * radius * radius;
        tn_body_def  def    = rig_body(mass, tns_vec(I, I, I), tns_scale(radius, normal));
        def.kind            = TN_BODY_PLANAR;
        def.shapes          = &shape;
        def.shape_count     = 1;
        const tn_body_id id = tn_scene_add_body(r.scene, &def);
        rig_ready(&r);
        for (int i = 1; i <= 400 && rig_step(&r, h); ++i) {
            const double t = i * h;
            CHECK_NEAR(tns_dot(uphill, tn_state_pose(r.state, id).position), -a * t * t / 2, 1e-8);
        }
        rig_free(&r);
    }
}

// ---- Tipping ------------------------------------------------------------------------------------

// A tall box on a slope that holds it stands while its centre is over its base: tan th < x / z.
TEST(a_tall_box_stands_or_tips_over_its_edge)
{
    const tn_vec3 half = {0.1, 0.2, 0.4};
    for (int tips = 0; tips < 2; ++tips) {
        const double th = tips ? 0.26 : 0.23; // atan 1/4 = 0.245
        ramp         p  = make_ramp(th, 2, rig_box(half), half.z, TNS_UPRIGHT, 0, 0);
        rig_evaluate(&p.r);
        // About the lower edge: I = m (4/3) (x^2 + z^2); torque of gravity about it.
        const double I      = mass * 4.0 / 3 * (half.x * half.x + half.z * half.z);
        const double torque = mass * rig_g * (half.z * sin(th) - half.x * cos(th));
        CHECK_NEAR(tn_stepper_acceleration(p.r.stepper, p.body).angular.y, tips ? -torque / I : 0,
                   1e-9);
        rig_run(&p.r, 1e-3, 300);
        if (tips) CHECK(contact_strayed(&p) > 0.01);
        else CHECK_LESS(contact_strayed(&p), 1e-9);
        CHECK_LESS(p.r.report.deepest, 1e-9);
        rig_free(&p.r);
    }
}
