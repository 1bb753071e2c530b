// contact_laws: contacts of one method against closed forms. A test program is this and, before it,
//
//     law_make, law_builtin   make a rig of the method, nobody sleeping
//     law_left                speed that the method may leave at a contact in a step [m/s]
//     law_finest              shortest step for the rolling disc [s]
//     law_counts_rest         whether what rests counts as no impact
//
// Constant forces make parabolas, which kicks of h/2 at both ends follow exactly whatever h: what is
// left is rounding, the 1e-9 m to which gaps are closed, and what the solver leaves. Where a slide
// ends within a step, friction of that step stops it: the position is off by less than the distance
// of one step, which is of second order there. An impact is applied at the start of the step in
// which something would be hit, up to h v above: first order in h.
#ifndef CONTACT_LAWS_H
#define CONTACT_LAWS_H

#include "support/contact_rig.h"

static const double exact = 1e-9 + 10 * law_left, coarse = 1.0 / 60;

static const double steps[] = {1e-3, 1.0 / 60, 0.1};
enum { STEPS = sizeof steps / sizeof steps[0] };

static tn_shape_def of_surface(tn_shape_def shape, double friction, double restitution)
{
    shape.friction    = friction;
    shape.restitution = restitution;
    return shape;
}

// Error of the force on the body of a ramp.
static double force_left(double h)
{
    return 1e-7 + 2 * contact_ramp_mass * law_left / h;
}

// How far a body may be off after this time.
static double strayed_left(double time, double h)
{
    return time / h * law_left * time / 2;
}

static contact_ramp make_ramp(const contact_ramp_def* def)
{
    return contact_ramp_ready(law_make(tns_vec(0, 0, -rig_g)), def);
}

static contact_ramp box_ramp(double th, double mu, double e, double speed)
{
    const contact_ramp_def def = {.th       = th,
                                  .shape    = of_surface(rig_box(tns_vec(0.3, 0.2, 0.1)), mu, e),
                                  .height   = 0.1,
                                  .lying    = TNS_UPRIGHT,
                                  .velocity = {speed, 0, 0}};
    return make_ramp(&def);
}

static const double ball_radius = 0.2;

static contact_ramp ball_ramp(double th, tn_shape_def shape, double speed, tn_vec3 spin)
{
    const contact_ramp_def def = {.th       = th,
                                  .shape    = shape,
                                  .height   = ball_radius,
                                  .lying    = TNS_UPRIGHT,
                                  .velocity = {speed, 0, 0},
                                  .spin     = spin};
    return make_ramp(&def);
}

// ---- Boxes on a ramp -----------------------------------------------------------------------------

TEST(a_box_sticks_just_above_the_threshold)
{
    for (int i = 0; i < STEPS; ++i) {
        for (double th = 0.1; th < 1; th += 0.4) {
            contact_ramp p = box_ramp(th, 1.001 * tan(th), 0, 0);
            rig_run(&p.r, steps[i], 100);
            CHECK_LESS(fabs(contact_climbed(&p)), exact);
            CHECK_LESS(contact_strayed(&p), exact);
            CHECK_INT(p.r.report.contact_count, 4);
            const tn_vec3 force = rig_contact_force(&p.r, p.plane, p.body);
            CHECK_LESS(rig_distance(force, tns_vec(0, 0, contact_ramp_mass * rig_g)),
                       force_left(steps[i]));
            rig_free(&p.r);
        }
    }
}

TEST(a_box_slides_just_below_the_threshold_as_it_must)
{
    const double shares[] = {0, 0.5, 0.9, 0.99, 0.999}, th = 0.5;
    for (int k = 0; k < 5 * STEPS; ++k) {
        const double h = steps[k / 5], mu = shares[k % 5] * tan(th);
        const double a = rig_g * (sin(th) - mu * cos(th)), N = contact_ramp_mass * rig_g * cos(th);
        contact_ramp p = box_ramp(th, mu, 0, 0);
        for (int n = 1; n <= 30 && rig_step(&p.r, h); ++n) {
            const tn_vec3 force = rig_contact_force(&p.r, p.plane, p.body);
            CHECK_NEAR(contact_climbed(&p), -a * n * h * n * h / 2, exact);
            CHECK_NEAR(contact_climbing(&p), -a * n * h, exact);
            CHECK_NEAR(tns_dot(force, p.normal), N, force_left(h));
            CHECK_NEAR(tns_dot(force, p.uphill), mu * N, force_left(h));
        }
        CHECK_LESS(contact_strayed(&p), exact);
        rig_free(&p.r);
    }
}

// Uphill with v it stops after v^2 / 2 a, within a step of length h in which it goes a h^2 / 2 at most.
TEST(a_box_pushed_uphill_stops_where_it_must_to_second_order)
{
    for (int i = 0; i < STEPS; ++i) {
        const double th = 0.5, mu = 0.8, v = 2, a = rig_g * (sin(th) + mu * cos(th));
        contact_ramp p = box_ramp(th, mu, 0, v);
        rig_run(&p.r, steps[i], (int)(1.5 * v / a / steps[i]) + 2);
        CHECK_NEAR(contact_climbed(&p), v * v / (2 * a), a * steps[i] * steps[i] / 2);
        CHECK_LESS(fabs(contact_climbing(&p)), exact);
        CHECK_LESS(contact_strayed(&p), exact);
        rig_free(&p.r);
    }
}

// Spun about its axis, a box of square base slides at all four corners, d off the axis; however the
// normal forces are shared, the torque is mu m g d.
TEST(a_spinning_box_slows_down_as_it_must)
{
    const double mu = 0.4, spin = 5, side = 0.3, d = side * sqrt(2);
    const double slowing = mu * rig_g * d / (2.0 / 3 * side * side);
    for (int i = 0; i < 2; ++i) {
        const contact_ramp_def def = {.shape = of_surface(rig_box(tns_vec(side, side, 0.1)), mu, 0),
                                      .height = 0.1,
                                      .lying  = TNS_UPRIGHT,
                                      .spin   = {0, 0, spin}};
        contact_ramp           p   = make_ramp(&def);
        const double           h   = steps[i];
        for (int n = 1; (n + 1) * h < spin / slowing && rig_step(&p.r, h); ++n) {
            // Corners rotate within a step: they slide along chords, not arcs.
            CHECK_NEAR(contact_velocity(&p.r, p.body).angular.z, spin - slowing * n * h,
                       slowing * spin * spin * h * h * n * h);
        }
        rig_run(&p.r, h, 3);
        CHECK_LESS(fabs(contact_velocity(&p.r, p.body).angular.z), exact);
        CHECK_LESS(fabs(contact_climbed(&p)), 1e-6);
        rig_free(&p.r);
    }
}

// ---- Balls ---------------------------------------------------------------------------------------

TEST(a_ball_rolls_down_with_five_sevenths)
{
    const double th = 0.4, a = 5.0 / 7 * rig_g * sin(th);
    for (int i = 0; i < 2; ++i) {
        contact_ramp p =
            ball_ramp(th, of_surface(rig_sphere(ball_radius), 0.5, 0), 0, TNS_AT_REST.angular);
        for (int n = 1; n <= 40 && rig_step(&p.r, steps[i]); ++n) {
            const double t = n * steps[i];
            CHECK_NEAR(contact_climbed(&p), -a * t * t / 2, exact);
            CHECK_NEAR(contact_velocity(&p.r, p.body).angular.y, -a * t / ball_radius, 1e-8);
        }
        rig_free(&p.r);
    }
}

// About a point of the floor friction has no torque: 5/7 of the speed is left, whatever h. Until then
// v - mu g t, and the change is at 2 v / 7 mu g.
TEST(a_sliding_ball_ends_rolling)
{
    const double mu = 0.3, v = 3, t1 = 2 * v / (7 * mu * rig_g);
    for (int i = 0; i < 2; ++i) {
        contact_ramp p =
            ball_ramp(0, of_surface(rig_sphere(ball_radius), mu, 0), v, TNS_AT_REST.angular);
        const double h = steps[i];
        for (int n = 1; n * h < t1 + 10 * h && rig_step(&p.r, h); ++n) {
            const double w = contact_velocity(&p.r, p.body).angular.y;
            if (n * h < t1) CHECK_NEAR(contact_climbing(&p), v - mu * rig_g * n * h, exact);
            if (n * h > t1 + h) CHECK_NEAR(contact_climbing(&p), 5.0 / 7 * v, exact);
            if (n * h > t1 + h) CHECK_NEAR(w * ball_radius, 5.0 / 7 * v, exact);
            CHECK_NEAR(contact_climbing(&p) + 0.4 * ball_radius * w, v, exact);
        }
        rig_free(&p.r);
    }
}

// With b the resisting torque over the normal force:  m a = -F,  2/5 m r a = F r - b m g,  so that
// a = -5/7 g b / r, and it stops after 7/10 v^2 r / (b g).
TEST(rolling_friction_stops_a_ball)
{
    const double b = 0.01, v = 1, a = 5.0 / 7 * rig_g * b / ball_radius;
    for (int i = 0; i < 2; ++i) {
        tn_shape_def shape     = of_surface(rig_sphere(ball_radius), 0.5, 0);
        shape.rolling_friction = b;
        contact_ramp p         = ball_ramp(0, shape, v, tns_vec(0, v / ball_radius, 0));
        const double h         = 4 * steps[i];
        for (int n = 1; n * h < v / a && rig_step(&p.r, h); ++n)
            CHECK_NEAR(contact_climbing(&p), v - a * n * h, exact + n * law_left);
        rig_run(&p.r, h, 5);
        CHECK_NEAR(contact_climbed(&p), 0.7 * v * v * ball_radius / (b * rig_g),
                   a * h * h + strayed_left(v / a, h));
        CHECK_LESS(fabs(contact_climbing(&p)), exact);
        rig_free(&p.r);
    }
}

// Below b / r = tan it does not start to roll at all.
TEST(rolling_friction_holds_a_ball_on_a_slope)
{
    for (int above = 0; above < 2; ++above) {
        const double th        = 0.05;
        tn_shape_def shape     = of_surface(rig_sphere(ball_radius), 0.5, 0);
        shape.rolling_friction = (above ? 1.01 : 0.99) * ball_radius * tan(th);
        contact_ramp p         = ball_ramp(th, shape, 0, TNS_AT_REST.angular);
        const double a =
            5.0 / 7 * rig_g * (sin(th) - shape.rolling_friction / ball_radius * cos(th));
        rig_run(&p.r, coarse, 60);
        CHECK_NEAR(contact_climbed(&p), above ? 0 : -a / 2, exact);
        rig_free(&p.r);
    }
}

TEST(spinning_friction_stops_a_top)
{
    const double s = 0.004, spin = 20, slowing = s * rig_g / (0.4 * ball_radius * ball_radius);
    for (int i = 0; i < 2; ++i) {
        tn_shape_def shape      = of_surface(rig_sphere(ball_radius), 0.3, 0);
        shape.spinning_friction = s;
        contact_ramp p          = ball_ramp(0, shape, 0, tns_vec(0, 0, spin));
        const double h          = 10 * steps[i];
        for (int n = 1; n * h < 1.2 * spin / slowing && rig_step(&p.r, h); ++n)
            CHECK_NEAR(contact_velocity(&p.r, p.body).angular.z, fmax(0, spin - slowing * n * h),
                       n * h < spin / slowing ? 1e-8 + law_left / s : exact + law_left / s);
        CHECK_LESS(fabs(contact_climbed(&p)), exact);
        rig_free(&p.r);
    }
}

// ---- A disc that rolls in a circle ---------------------------------------------------------------

// It is inclined by `lean`, rotates with W about the vertical and sigma about its own axis u. Its
// rim touches at -rise from its centre, so the centre moves with v = w x rise on a circle,  and
//     W z x L = -rise x m (W z x v + g z)
// which is one equation along its path, linear in sigma.
typedef struct rolling_disc {
    tn_vec3 u, rise, omega, v;
    double  W, sigma;
} rolling_disc;

static const double disc_radius = 0.05, disc_half = 0.001, disc_mass = 0.05;

static double disc_lacks(const rolling_disc* d, double sigma)
{
    const double across =
        disc_mass * (3 * disc_radius * disc_radius + 4 * disc_half * disc_half) / 12;
    const double  along = disc_mass * disc_radius * disc_radius / 2;
    const tn_vec3 W = tns_vec(0, 0, d->W), omega = tns_add(W, tns_scale(sigma, d->u));
    const double  spin = tns_dot(omega, d->u);
    const tn_vec3 L = tns_add(tns_scale(across, omega), tns_scale((along - across) * spin, d->u));
    const tn_vec3 a = tns_cross(W, tns_cross(omega, d->rise));
    const tn_vec3 force = tns_scale(disc_mass, tns_add(a, tns_vec(0, 0, rig_g)));
    return tns_add(tns_cross(W, L), tns_cross(d->rise, force)).x;
}

static rolling_disc make_disc(double lean, double W)
{
    const double s = cos(lean), c = sin(lean);
    rolling_disc d   = {.u = {0, s, -c}, .W = W};
    d.rise           = tns_sub(tns_scale(disc_radius, tns_vec(0, c, s)), tns_scale(disc_half, d.u));
    const double at0 = disc_lacks(&d, 0), at1 = disc_lacks(&d, 1);
    d.sigma = at0 / (at0 - at1);
    d.omega = tns_add(tns_vec(0, 0, W), tns_scale(d.sigma, d.u));
    d.v     = tns_cross(d.omega, d.rise);
    return d;
}

// Its error after a third of a round: of its middle, and of its axis.
static double roll_round(const rolling_disc* d, double h_wanted, double* growth)
{
    const double time  = 2.0943951023931953 / d->W;
    const int    n     = (int)ceil(time / h_wanted);
    rig          r     = law_make(tns_vec(0, 0, -rig_g));
    tn_shape_def shape = of_surface(tn_default_shape_def(TN_SHAPE_CYLINDER), 0.8, 0);
    shape.radius       = disc_radius;
    shape.half_length  = disc_half;
    tn_scene_set_ground(r.scene, 0.8, 0);
    const tn_body_id id =
        tns_solid(r.scene, "disc", (tn_frame){d->rise, tns_turn(TNS_Z, d->u)},
                  (tn_twist){d->v, d->omega}, disc_mass, shape, (tns_surface){0.8, 0});
    rig_ready(&r);
    const double E = rig_energy(&r);
    for (int i = 0; i < n && rig_step(&r, time / n); ++i)
        *growth = fmax(*growth, (rig_energy(&r) - E) / E);
    // About the axis of the circle: v = W z x (x - axis).
    const tn_vec3 arm = tns_vec(d->v.y / d->W, -d->v.x / d->W, 0), axis = tns_sub(d->rise, arm);
    const tn_quat turn  = tns_turn_about(TNS_Z, 1.0 / 3);
    const tn_vec3 place = tns_add(axis, tns_rotate(turn, arm));
    const double  error =
        fmax(rig_distance(contact_place(&r, id), place),
             disc_radius * rig_distance(rig_axis(&r, id, TNS_Z), tns_rotate(turn, d->u)));
    rig_free(&r);
    return error;
}

TEST(a_disc_rolls_in_its_circle_to_second_order)
{
    for (int k = 0; k < 3; ++k) {
        const double       leans[] = {0.1, 0.3, 0.7}, turns[] = {3, 5, 9};
        const rolling_disc d      = make_disc(leans[k], turns[k]);
        double             growth = 0, before = 0;
        for (int i = 0; 0.008 / (1 << i) >= law_finest; ++i) {
            const double h = 0.008 / (1 << i), error = roll_round(&d, h, &growth);
            if (contact_tells())
                printf("disc lean %g W %g h %.4g error %.3g growth %.3g\n", leans[k], turns[k], h,
                       error, growth);
            if (i > 0) CHECK(rig_order(before, error) > 1.8);
            before = error;
        }
        CHECK_LESS(before, 1e-4);
    }
}

// ---- A belt --------------------------------------------------------------------------------------

// Slides until v / mu g, v^2 / 2 mu g behind, then rides with the belt.
TEST(a_belt_carries_a_box)
{
    const double mu = 0.4, v = 1.5, t1 = v / (mu * rig_g);
    for (int i = 0; i < 2; ++i) {
        rig          r        = law_make(tns_vec(0, 0, -rig_g));
        tn_shape_def belt     = of_surface(rig_box(tns_vec(20, 1, 0.1)), mu, 0);
        belt.surface_velocity = tns_vec(v, 0, 0);
        tns_fixed(r.scene, "belt", tns_frame(tns_vec(0, 0, -0.1)), belt);
        const tn_body_id box = tns_solid(r.scene, "box", tns_frame(tns_vec(0, 0, 0.1)), TNS_AT_REST,
                                         3, rig_box(tns_vec(0.1, 0.1, 0.1)), (tns_surface){mu, 0});
        rig_ready(&r);
        const double h = steps[i];
        for (int n = 1; n * h < 2 * t1 && rig_step(&r, h); ++n) {
            const double t = n * h, speed = contact_velocity(&r, box).linear.x;
            CHECK_NEAR(speed, fmin(v, mu * rig_g * t), exact);
            CHECK_NEAR(contact_place(&r, box).x,
                       t < t1 ? mu * rig_g * t * t / 2 : v * t - v * t1 / 2,
                       t < t1 ? exact : mu * rig_g * h * h);
            CHECK_NEAR(contact_place(&r, box).z, 0.1, exact);
        }
        rig_free(&r);
    }
}

// ---- Restitution ---------------------------------------------------------------------------------

// The impact is applied up to h v above the floor, where v^2 / 2 g and not the height is scaled by
// e^2: the next top is e^2 of this one and up to (1 - e^2) h v more.
static void check_heights(double e, double h)
{
    const double H = 1, radius = 0.1;
    rig          r = law_make(tns_vec(0, 0, -rig_g));
    tn_scene_set_ground(r.scene, 0.5, e);
    tns_solid(r.scene, "ball", tns_frame(tns_vec(0, 0, H + radius)), TNS_AT_REST, 1,
              rig_sphere(radius), (tns_surface){0.5, e});
    rig_ready(&r);
    const double E   = rig_energy(&r);
    double       low = H, high = H;
    for (int hits = 0, n = 0; hits < 5 && rig_step(&r, h); ++n) {
        const double v = sqrt(2 * rig_g * high);
        hits += r.report.impact_count;
        if (r.report.impact_count > 0) low *= e * e, high = e * e * high + (1 - e * e) * h * v;
        const double top = rig_energy(&r) / rig_g - radius;
        CHECK(top > low - exact);
        CHECK(top < high + exact);
        CHECK_LESS(rig_energy(&r), E + exact);
        CHECK_LESS(r.report.deepest, exact);
        CHECK_INT(r.report.impact_count <= 1, 1);
        if (n == 6000) {
            CHECK(hits >= 5);
            break;
        }
    }
    rig_free(&r);
}

TEST(a_ball_bounces_to_the_known_heights)
{
    for (int i = 0; i < 3; ++i) {
        const double h = i == 0 ? 1e-3 : i == 1 ? 1.0 / 240 : coarse;
        check_heights(1, h);
        check_heights(0.8, h);
        check_heights(0.5, h);
    }
}

// Momentum along the row and energy through all impacts: without friction, and without a floor.
static void check_row(int in)
{
    rig    r = law_make(tns_vec(0, 0, 0));
    double end[5];
    for (int i = 0; i < 5; ++i) {
        const tn_vec3  at = {i < in ? 0.2 * i - 0.5 : 0.2 * i, 0, 0};
        const tn_twist v  = {{i < in ? 2 : 0, 0, 0}, {0, 0, 0}};
        tns_solid(r.scene, tns_name("ball%d", i).text, tns_frame(at), v, 1, rig_sphere(0.1),
                  (tns_surface){0.3, 1});
    }
    rig_ready(&r);
    for (int n = 0; n < 60 && rig_step(&r, coarse); ++n) {
        CHECK_NEAR(tn_state_momentum(r.state).linear.x, 2 * in, exact);
        CHECK_NEAR(rig_energy(&r), 2 * in, exact);
        CHECK_LESS(r.report.deepest, exact);
    }
    for (int i = 0; i < 5; ++i) {
        end[i] = contact_velocity(&r, (tn_body_id){(uint32_t)i + 1}).linear.x;
        CHECK_NEAR(end[i], i >= 5 - in ? 2 : 0, exact);
    }
    rig_free(&r);
}

TEST(a_row_of_free_balls_passes_impacts_on)
{
    check_row(1);
    check_row(2);
}

// On hinges: joints take part in the sequence of impacts. The impact is applied where balls are h v
// apart at most; energy is kept up to the error of the pendulum's own step.
static void check_cradle(int in, double h)
{
    rig    r     = law_builtin(tns_name("cradle:in=%d", in).text);
    double drift = 0, E = rig_energy(&r), out = 0, middle = 0;
    int    hits = 0;
    for (int n = 0; n * h < 1 && rig_step(&r, h); ++n) {
        const double now = rig_energy(&r);
        if (r.report.impact_count > 0) drift = fmax(drift, fabs(now - E));
        hits += r.report.impact_count;
        E = now;
        for (int i = in; i < 5; ++i) {
            const double v = tns_length(contact_velocity(&r, (tn_body_id){(uint32_t)i + 1}).linear);
            if (i >= 5 - in) out = fmax(out, v);
            else middle = fmax(middle, v);
        }
    }
    const double most = sqrt(2 * rig_g * 0.2 / (1 + 0.4 * 0.05 * 0.05));
    CHECK(hits >= in * (5 - in));
    CHECK_NEAR(out, most, 0.02 * most);
    CHECK_LESS(middle, 0.02 * most);
    CHECK_LESS(drift, h); // an impact is applied where balls are h v apart at most
    CHECK_LESS(r.joint_error, exact);
    rig_free(&r);
}

TEST(a_cradle_lets_as_many_out_as_come_in)
{
    check_cradle(1, 1e-3);
    check_cradle(2, 1e-3);
}

// No threshold tells impact from rest: a resting body has no speed to bounce with.
TEST(what_rests_does_not_bounce)
{
    rig r = law_make(tns_vec(0, 0, -rig_g));
    tn_scene_set_ground(r.scene, 0.5, 1);
    const tn_body_id ball = tns_solid(r.scene, "ball", tns_frame(tns_vec(0, 0, 0.1)), TNS_AT_REST,
                                      1, rig_sphere(0.1), (tns_surface){0.5, 1});
    const tn_body_id box  = tns_solid(r.scene, "box", tns_frame(tns_vec(1, 0, 0.1)), TNS_AT_REST, 1,
                                      rig_box(tns_vec(0.1, 0.1, 0.1)), (tns_surface){0.5, 1});
    rig_ready(&r);
    for (int n = 0; n < 120 && rig_step(&r, coarse); ++n) {
        CHECK_NEAR(contact_place(&r, ball).z, 0.1, exact);
        CHECK_NEAR(contact_place(&r, box).z, 0.1, exact);
        if (law_counts_rest) CHECK_INT(r.report.impact_count, 0);
    }
    CHECK_LESS(tn_state_energy(r.state).kinetic, 1e-15);
    rig_free(&r);
}

TEST(a_bouncy_box_slides_down_without_a_jump)
{
    const double th = 0.5, mu = 0.3, a = rig_g * (sin(th) - mu * cos(th));
    for (int i = 0; i < 2; ++i) {
        contact_ramp p = box_ramp(th, mu, 0.5, 0);
        for (int n = 1; n * steps[i] < 1 && rig_step(&p.r, steps[i]); ++n) {
            CHECK_NEAR(contact_climbed(&p), -a * n * steps[i] * n * steps[i] / 2,
                       exact + strayed_left(n * steps[i], steps[i]));
            CHECK_LESS(contact_strayed(&p), exact);
            if (law_counts_rest) CHECK_INT(p.r.report.impact_count, 0);
        }
        rig_free(&p.r);
    }
}

// An explicit damper with h d / I = 6: unclamped, each half of a kick would remove more than the
// whole velocity, and the speed would change its sign and grow.
TEST(a_damper_never_reverses_the_motion)
{
    rig              r    = law_make(tns_vec(0, 0, 0));
    const tn_body_id body = rig_add_body(&r, 1, tns_vec(0.01, 0.01, 0.01), tns_vec(0, 0, 1));
    tn_joint_def     pin  = tn_default_joint_def(TN_JOINT_HINGE);
    pin.body2             = body;
    pin.anchor            = tns_vec(0, 0, 1);
    pin.damping           = 6 * 0.01 * 60;
    tn_scene_add_joint(r.scene, &pin);
    rig_ready(&r);
    CHECK_OK(tn_state_set_velocity(r.state, body, (tn_twist){{0, 0, 0}, {0, 0, 5}}));
    double before = rig_energy(&r);
    for (int n = 0; n < 60 && rig_step(&r, 1.0 / 60); ++n) {
        const double now = rig_energy(&r);
        CHECK(now <= before);
        before = now;
    }
    CHECK_LESS(before, 1e-9);
    rig_free(&r);
}

#endif
