// Impacts: bounces against closed forms, simultaneous impacts, and conservation.
//
// Free flight is a parabola, exact in RK4. An impact is found to 1e-9 m of gap; at speed v that is
// 1e-9 / v of time, and g times it of speed.
#include "support/contact_rig.h"

static const double mass = 2;

// ---- A ball on the floor ------------------------------------------------------------------------

// Height and speed of a ball released at H over the floor, at time t; *flight: duration of this
// flight. After the last bounce: at rest.
static double bounced_height(double H, double e, double t, double* speed, double* flight)
{
    double v = sqrt(2 * rig_g * H), begin = -v / rig_g; // as if it had come up from the floor
    *flight = 2 * v / rig_g;
    while (t - begin > *flight && *flight > 1e-9) {
        begin += *flight;
        v *= e;
        *flight = 2 * v / rig_g;
    }
    const double s = t - begin;
    *speed         = *flight > 1e-9 ? v - rig_g * s : 0;
    return *flight > 1e-9 ? v * s - rig_g * s * s / 2 : 0;
}

// Flights longer than two steps are followed exactly: impacts at the speeds v, e v, ... shift the
// time by 1e-9 / v each, in all by 2e-9 / (flight g (1 - e)). A ball that is hit three times within
// a step comes to rest: e^2 of its last true flight may be missing from the time at which it rests.
static void check_bouncing(double e, double h)
{
    char         spec[80];
    const double H = 1, radius = 0.1, end = sqrt(2 * H / rig_g) * (1 + e) / (1 - e);
    snprintf(spec, sizeof spec, "bounce:height=%g,restitution=%g,radius=%g", H, e, radius);
    rig              r    = rig_builtin(spec);
    const tn_body_id ball = tn_model_find_body(r.model, "ball");
    int              hits = 0;
    for (int i = 1; i * h < end + 0.5; ++i) {
        double speed, flight;
        if (!rig_step(&r, h)) break;
        const double z     = bounced_height(H, e, i * h, &speed, &flight);
        const double found = tn_state_pose(r.state, ball).position.z - radius;
        const double rate  = tn_state_velocity(r.state, ball).linear.z;
        hits += r.report.impact_count;
        CHECK_LESS(r.report.deepest, 1e-8);
        CHECK_INT(r.report.jam_count, 0);
        if (i * h > end + 4 * h) {
            CHECK_NEAR(found, 0, 1e-9);
            CHECK_NEAR(rate, 0, 1e-9);
        } else if (flight > 2 * h) {
            CHECK_NEAR(found, z, 1e-8);
            CHECK_NEAR(rate, speed, 4e-9 / (flight * (1 - e)));
        }
    }
    if (e > 0) CHECK(hits > 5);
    rig_evaluate(&r);
    CHECK_NEAR(rig_contact_force(&r, TNS_GROUND, ball).z, rig_g, 1e-9);
    rig_free(&r);
}

TEST(a_ball_bounces_to_the_known_heights_and_rests)
{
    const double steps[] = {1e-3, 1.0 / 240, 1.0 / 60};
    for (int i = 0; i < 3; ++i) {
        check_bouncing(0, steps[i]);
        check_bouncing(0.5, steps[i]);
        check_bouncing(0.8, steps[i]);
    }
}

TEST(a_perfectly_elastic_ball_bounces_for_ever)
{
    rig              r    = rig_builtin("bounce:restitution=1");
    const double     E    = rig_energy(&r);
    const tn_body_id ball = tn_model_find_body(r.model, "ball");
    double           top  = 0;
    int              hits = 0;
    for (int i = 0; i < 2000 && rig_step(&r, 5e-3); ++i) {
        hits += r.report.impact_count;
        top = fmax(top, tn_state_pose(r.state, ball).position.z);
        CHECK_NEAR(rig_energy(&r), E, 1e-7 * E);
    }
    CHECK_INT(hits, 11); // 10 s of flights of 0.903 s, the first half
    CHECK_NEAR(top, 1.1, 1e-4);
    rig_free(&r);
}

// ---- Boxes --------------------------------------------------------------------------------------

typedef struct drop {
    rig        r;
    tn_body_id box;
    double     v; ///< speed at the impact, down
} drop;

static const tn_vec3 half = {0.3, 0.2, 0.1};

// A box rotated by th about y, its lowest point `height` over the floor, up to just after the
// impact.
static drop drop_box(double th, double height, double e, double mu, double h)
{
    drop         d   = {.r = rig_make(tns_vec(0, 0, -rig_g)), .v = sqrt(2 * rig_g * height)};
    const double low = half.x * fabs(sin(th)) + half.z * cos(th), pi = 3.14159265358979323846;
    tn_scene_set_ground(d.r.scene, mu, e);
    d.box = tns_solid(d.r.scene, "box",
                      (tn_frame){{0, 0, low + height}, tns_turn_about(TNS_Y, th / (2 * pi))},
                      RIG_REST, mass, rig_box(half), (tns_surface){mu, e});
    rig_ready(&d.r);
    while (d.r.report.impact_count == 0 && rig_step(&d.r, h)) {}
    return d;
}

// Velocity just after the impact: the state at the step's end taken back along a free flight.
static tn_twist after_blow(const drop* d)
{
    tn_twist     v     = tn_state_velocity(d->r.state, d->box);
    const double since = tn_state_time(d->r.state) - d->v / rig_g;
    v.linear.z += rig_g * since;
    return v;
}

TEST(a_box_dropped_flat_bounces_flat)
{
    const double es[] = {0, 0.5, 1}, mus[] = {0, 0.5};
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 2; ++k) {
            drop           d = drop_box(0, 0.5, es[i], mus[k], 1e-3);
            const tn_twist v = es[i] > 0 ? after_blow(&d) : tn_state_velocity(d.r.state, d.box);
            CHECK_NEAR(v.linear.z, es[i] * d.v, 1e-7);
            CHECK_LESS(tns_length(v.angular), 1e-9);
            CHECK_LESS(fabs(v.linear.x) + fabs(v.linear.y), 1e-9);
            CHECK_INT(d.r.report.impact_count, 4);
            rig_run(&d.r, 1e-3, 200);
            CHECK_LESS(d.r.report.deepest, 1e-9);
            rig_free(&d.r);
        }
    }
}

// Lands on the lower edge, at (a, -c) from the centre. W_nn = 1/m + a^2/I and so on;
//     without friction  p_n = (1 + e) v / W_nn
//     gripping          W p = ((1 + e) v, 0)
// dv = p/m, dw_y = (r x p)_y / I = (-c p_x - a p_z) / I.
static void check_edge(double th, double e, double mu)
{
    const double   c   = half.x * sin(th) + half.z * cos(th);
    const double   a   = half.x * cos(th) - half.z * sin(th);
    const double   I   = mass / 3 * (half.x * half.x + half.z * half.z);
    drop           d   = drop_box(th, 0.5, e, mu, 1e-4);
    const double   Wnn = 1 / mass + a * a / I, Wtt = 1 / mass + c * c / I, Wnt = a * c / I;
    const double   det = Wnn * Wtt - Wnt * Wnt, up = (1 + e) * d.v;
    const bool     grips = mu * Wtt >= fabs(Wnt);
    const double   Wns   = Wnn - mu * fabs(Wnt); // slides: p_t = -+mu p_n
    const double   pn = grips ? up * Wtt / det : up / Wns, pt = grips ? -up * Wnt / det : -mu * pn;
    const tn_twist v = after_blow(&d);
    // The rest of the step after the impact is not free flight where the edge stays on the floor.
    const double near = e > 0 ? 1e-6 : 2e-2;
    CHECK_INT(d.r.report.impact_count, 2);
    CHECK_NEAR(v.linear.z, -d.v + pn / mass, near);
    CHECK_NEAR(v.linear.x, pt / mass, near);
    CHECK_NEAR(v.angular.y, (-c * pt - a * pn) / I, 10 * near);
    CHECK_LESS(fabs(v.linear.y) + fabs(v.angular.x) + fabs(v.angular.z), 1e-9);
    rig_free(&d.r);
}

TEST(a_box_dropped_on_its_edge_turns_as_it_must)
{
    const double es[] = {0, 0.5, 1};
    for (int i = 0; i < 3; ++i) {
        check_edge(0.3, es[i], 0);
        check_edge(0.3, es[i], 0.1);
        check_edge(0.3, es[i], 2);
        check_edge(0.8, es[i], 0);
        check_edge(0.8, es[i], 2);
    }
}

// Tumbling to rest: a box thrown with spin loses energy only, never goes through, and lies flat on
// one of its sides in the end.
TEST(a_thrown_box_tumbles_to_rest)
{
    const double es[] = {0, 0.5}, mus[] = {0.1, 0.6}, steps[] = {1e-3, 1.0 / 120};
    for (int i = 0; i < 8; ++i) {
        const double e = es[i & 1], mu = mus[i >> 1 & 1], h = steps[i >> 2];
        rig          r = rig_make(tns_vec(0, 0, -rig_g));
        tn_scene_set_ground(r.scene, mu, e);
        const tn_frame   pose = {{0, 0, 0.8}, tns_turn(TNS_Z, tns_unit(tns_vec(1, 2, 3)))};
        const tn_twist   v    = {{1, 0.5, 0}, {3, -2, 1}};
        const tn_body_id box =
            tns_solid(r.scene, "box", pose, v, mass, rig_box(half), (tns_surface){mu, e});
        rig_ready(&r);
        rig_fall fall = rig_fall_begin(&r);
        while (tn_state_time(r.state) < 4 && rig_step(&r, h)) {
            rig_fall_note(&r, &fall);
            CHECK_LESS(r.report.deepest, 1e-8);
        }
        CHECK_LESS(fall.growth, 1e-6);
        const double z = tn_state_pose(r.state, box).position.z;
        CHECK_LESS(fmin(fabs(z - half.x), fmin(fabs(z - half.y), fabs(z - half.z))), 1e-8);
        CHECK_LESS(tns_length(tn_state_velocity(r.state, box).angular), 1e-8);
        CHECK_LESS(tns_length(tn_state_velocity(r.state, box).linear), 1e-8);
        rig_free(&r);
    }
}

// ---- Balls against each other -------------------------------------------------------------------

// Two balls in space meet along x, `off` apart across it.
static rig two_balls(double m1, double m2, double off, double e, double mu, tn_twist first)
{
    rig               r = rig_make(tns_vec(0, 0, 0));
    const tns_surface s = {mu, e};
    tns_solid(r.scene, "one", tns_frame(tns_vec(-1, 0, 0)), first, m1, rig_sphere(0.2), s);
    tns_solid(r.scene, "two", tns_frame(tns_vec(0, off, 0)), RIG_REST, m2, rig_sphere(0.3), s);
    rig_ready(&r);
    return r;
}

TEST(balls_that_meet_head_on_exchange_as_newton_says)
{
    for (double e = 0; e <= 1; e += 0.25) {
        const double m1 = 1, m2 = 3, v = 2;
        rig          r = two_balls(m1, m2, 0, e, 0.5, (tn_twist){{v, 0, 0}, {0, 0, 0}});
        rig_run(&r, 1e-2, 50);
        const double v1 = v * (m1 - e * m2) / (m1 + m2), v2 = v * m1 * (1 + e) / (m1 + m2);
        CHECK_NEAR(tn_state_velocity(r.state, (tn_body_id){1}).linear.x, v1, 1e-12);
        CHECK_NEAR(tn_state_velocity(r.state, (tn_body_id){2}).linear.x, v2, 1e-12);
        rig_free(&r);
    }
}

// Off centre, with spin and friction: momenta are kept, energy falls, except without friction.
TEST(balls_that_graze_keep_their_momenta)
{
    for (int i = 0; i < 12; ++i) {
        const double      e = i % 3 * 0.5, mu = i / 3 % 2 * 0.4;
        const tn_twist    first  = {{2, 0, 0.1}, {i / 6 * 3.0, -2, 4}};
        rig               r      = two_balls(1, 3, 0.25, e, mu, first);
        const tn_momentum before = tn_state_momentum(r.state);
        const double      energy = rig_energy(&r);
        int               hits   = 0;
        for (int k = 0; k < 60 && rig_step(&r, 1e-2); ++k) hits += r.report.impact_count;
        const tn_momentum after = tn_state_momentum(r.state);
        CHECK_INT(hits, 1);
        CHECK_LESS(rig_distance(before.linear, after.linear), 1e-12);
        CHECK_LESS(rig_distance(before.angular, after.angular), 1e-9);
        if (e == 1 && mu == 0) CHECK_NEAR(rig_energy(&r), energy, 1e-12);
        else CHECK(rig_energy(&r) < energy - 1e-3);
        rig_free(&r);
    }
}

// Into a corner of three walls, straight: each turns its part of the velocity round, at once.
TEST(a_ball_comes_back_from_a_corner)
{
    const double      e = 0.7;
    rig               r = rig_make(tns_vec(0, 0, 0));
    const tns_surface s = {0, e};
    tns_wall(r.scene, "x", tns_vec(0, 0, 0), TNS_X, s);
    tns_wall(r.scene, "y", tns_vec(0, 0, 0), TNS_Y, s);
    tns_wall(r.scene, "z", tns_vec(0, 0, 0), TNS_Z, s);
    const tn_body_id ball =
        tns_solid(r.scene, "ball", tns_frame(tns_vec(1.1, 1.1, 1.1)),
                  (tn_twist){{-3, -3, -3}, {0, 0, 0}}, mass, rig_sphere(0.1), s);
    rig_ready(&r);
    rig_run(&r, 7e-3, 100);
    const tn_vec3 v = tn_state_velocity(r.state, ball).linear,
                  x = tn_state_pose(r.state, ball).position;
    CHECK_LESS(rig_distance(v, tns_vec(3 * e, 3 * e, 3 * e)), 1e-9);
    const double back = 0.1 + 3 * e * (0.7 - 1.0 / 3);
    CHECK_LESS(rig_distance(x, tns_vec(back, back, back)), 1e-8);
    rig_free(&r);
}
