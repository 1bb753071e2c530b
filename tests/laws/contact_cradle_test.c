// Newton's cradle. Equal balls on hinges, touching at rest, restitution 1. With k balls in, k go
// out at the far end with the speed that came in, and all others are at rest.
//
// Closed form of the speed: energy of a pendulum with m L^2 (1 + 2/5 (r/L)^2) about its hinge.
#include "support/contact_rig.h"

enum { BALLS_MAX = 7 };

static const double radius = 0.05, length = 1;

typedef struct cradle {
    rig         r;
    int         count, in;
    tn_joint_id hinge[BALLS_MAX];
} cradle;

static cradle make_cradle(int count, int in)
{
    cradle c = {.count = count, .in = in};
    c.r      = rig_builtin(tns_name("cradle:balls=%d,in=%d", count, in).text);
    for (int i = 0; i < count; ++i)
        c.hinge[i] = tn_model_find_joint(c.r.model, tns_name("hinge%d", i + 1).text);
    return c;
}

// Angle from hanging down, positive to the right (+x); hinges turn about y, which takes -z to -x.
static double swing_of(const cradle* c, int ball)
{
    const tn_vec3 at = tn_state_pose(c->r.state, (tn_body_id){(uint32_t)ball + 1}).position;
    return atan2(at.x - 2 * radius * ball, length + radius - at.z);
}
static double speed_of(const cradle* c, int ball)
{
    return -rig_rate(&c->r, c->hinge[ball]);
}

// Half a swing in, half a swing out: at its top on the far side each ball that left is where its
// mirror image was released.
static void check_cradle(int count, int in, double h, double duration)
{
    const double start = atan2(0.6, 0.8), inertia = 1 + 0.4 * radius * radius;
    const double most = sqrt(2 * rig_g * (1 - cos(start)) / inertia);
    cradle       c    = make_cradle(count, in);
    const double E    = rig_energy(&c.r);
    double       top = 0, fastest = 0, middle = 0;
    int          hits = 0;
    while (tn_state_time(c.r.state) < duration && rig_step(&c.r, h)) {
        hits += c.r.report.impact_count;
        CHECK_NEAR(rig_energy(&c.r), E, 1e-6);
        CHECK_LESS(c.r.report.deepest, 1e-8);
        CHECK_INT(c.r.report.jam_count, 0);
        for (int i = 0; i < count; ++i) {
            if (i < in) { // comes in, later comes back: never to the right
                CHECK_LESS(swing_of(&c, i), 1e-6);
            } else if (i >= count - in) {
                CHECK(swing_of(&c, i) > -1e-6);
                top     = fmax(top, swing_of(&c, i));
                fastest = fmax(fastest, speed_of(&c, i));
            } else {
                middle = fmax(middle, fmax(fabs(swing_of(&c, i)), fabs(speed_of(&c, i))));
            }
        }
    }
    CHECK(hits >= in * (count - in));
    CHECK_NEAR(top, start, 2e-5); // between two steps it may be higher
    CHECK_NEAR(fastest, most, 1e-2);
    CHECK_LESS(fastest, most + 1e-8);
    CHECK_LESS(middle, 1e-6);
    rig_free(&c.r);
}

TEST(one_ball_in_one_ball_out)
{
    check_cradle(5, 1, 1e-3, 4.5); // two periods of 2.1 s
    check_cradle(5, 1, 1.0 / 240, 11);
    check_cradle(2, 1, 2e-3, 6.5);
    check_cradle(7, 1, 2e-3, 3);
}

TEST(two_balls_in_two_balls_out)
{
    check_cradle(5, 2, 2e-3, 4.5);
    check_cradle(5, 2, 1.0 / 240, 6.5);
    check_cradle(4, 2, 1e-3, 3);
}

// Three of five: the one in the middle swings through with them.
TEST(three_balls_in_three_balls_out)
{
    cradle c = make_cradle(5, 3);
    while (tn_state_time(c.r.state) < 0.8 && rig_step(&c.r, 1e-3)) {}
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(swing_of(&c, i), 0, 1e-6);
        CHECK_NEAR(speed_of(&c, i), 0, 1e-6);
    }
    for (int i = 2; i < 5; ++i) {
        CHECK(swing_of(&c, i) > 0.1);
        CHECK_NEAR(swing_of(&c, i), swing_of(&c, 4), 1e-6);
    }
    rig_free(&c.r);
}

// The same without hinges: a row of free balls that touch, hit by one from the left. Nothing holds
// them, so the total momentum is checked as well.
TEST(a_row_of_free_balls_passes_the_impact_on)
{
    rig               r = rig_make(tns_vec(0, 0, 0));
    const tns_surface s = {0.3, 1};
    for (int i = 0; i < 6; ++i) {
        const tn_vec3  at = {i == 0 ? -0.5 : 0.2 * i, 0, 0};
        const tn_twist v  = {{i == 0 ? 2 : 0, 0, 0}, {0, 0, 0}};
        tns_solid(r.scene, tns_name("ball%d", i).text, tns_frame(at), v, 1, rig_sphere(0.1), s);
    }
    rig_ready(&r);
    rig_run(&r, 5e-3, 100);
    for (int i = 0; i < 6; ++i) {
        const tn_vec3 v = tn_state_velocity(r.state, (tn_body_id){(uint32_t)i + 1}).linear;
        CHECK_LESS(rig_distance(v, tns_vec(i == 5 ? 2 : 0, 0, 0)), 1e-9);
    }
    rig_free(&r);
}

// No restitution: the row shares the impact and moves on together.
TEST(a_row_of_inelastic_balls_moves_as_one)
{
    rig               r = rig_make(tns_vec(0, 0, 0));
    const tns_surface s = {0.3, 0};
    for (int i = 0; i < 6; ++i) {
        const tn_vec3  at = {i == 0 ? -0.5 : 0.2 * i, 0, 0};
        const tn_twist v  = {{i == 0 ? 3 : 0, 0, 0}, {0, 0, 0}};
        tns_solid(r.scene, tns_name("ball%d", i).text, tns_frame(at), v, i == 0 ? 2 : 0.2,
                  rig_sphere(0.1), s);
    }
    rig_ready(&r);
    rig_run(&r, 5e-3, 100);
    for (int i = 0; i < 6; ++i) {
        const tn_vec3 v = tn_state_velocity(r.state, (tn_body_id){(uint32_t)i + 1}).linear;
        CHECK_LESS(rig_distance(v, tns_vec(2, 0, 0)), 1e-9);
    }
    rig_free(&r);
}
