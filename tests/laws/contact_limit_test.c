// Hard limits and ropes against closed forms: bounces off a limit, rest on it, a mass that is
// caught by a rope and swings on it.
#include "support/contact_rig.h"

static const double mass = 2, length = 0.8;

// ---- A pendulum with a limit --------------------------------------------------------------------

typedef struct pendulum {
    rig         r;
    tn_body_id  bob;
    tn_joint_id hinge;
    double      I; ///< about the hinge
} pendulum;

// A ball at `length` from a hinge about -y at the origin, released at angle z = start from hanging
// down (towards +x), with limits at `lower` and `upper`.
static pendulum make_pendulum(double start, double lower, double upper, double e)
{
    const double  Ic   = 0.01;
    pendulum      p    = {.r = rig_make(tns_vec(0, 0, -rig_g)), .I = Ic + mass * length * length};
    const tn_vec3 hang = {0, 0, -length};
    tn_body_def   body = rig_body(mass, tns_vec(Ic, Ic, Ic), hang);
    p.bob              = tn_scene_add_body(p.r.scene, &body);
    tn_joint_def def =
        tns_joint(TN_JOINT_HINGE, TNS_GROUND, p.bob, tns_vec(0, 0, 0), tns_vec(0, -1, 0));
    def.name        = "hinge";
    def.restitution = e;
    def.limit.given = true;
    def.limit.lower = lower;
    def.limit.upper = upper;
    def.limit.hard  = true;
    p.hinge         = tn_scene_add_joint(p.r.scene, &def);
    rig_ready(&p.r);
    tn_why why = {.text = ""};
    CHECK_OK(tn_state_set_joints(p.r.state, &start, NULL, &why));
    return p;
}

static double pendulum_energy(const pendulum* p, double z, double rate)
{
    return p->I / 2 * rate * rate - mass * rig_g * length * cos(z);
}

// After n impacts the energy relative to that at the limit is e^(2n) of the first: it rises to
// smaller and smaller angles, and its speed at the limit is known.
TEST(a_pendulum_bounces_off_its_limit)
{
    const double es[] = {0.5, 0.8, 1}, steps[] = {1e-3, 5e-3};
    for (int i = 0; i < 6; ++i) {
        const double e = es[i % 3], h = steps[i / 3], stop = 0.3, start = 1.2;
        pendulum     p    = make_pendulum(start, stop, 3, e);
        const double base = pendulum_energy(&p, stop, 0);
        double       left = pendulum_energy(&p, start, 0) - base;
        int          hits = 0;
        while (hits < 5 && tn_state_time(p.r.state) < 10 && rig_step(&p.r, h)) {
            hits += p.r.report.impact_count;
            for (int k = 0; k < p.r.report.impact_count; ++k) left *= e * e;
            const double z = rig_angle(&p.r, p.hinge), rate = rig_rate(&p.r, p.hinge);
            CHECK_NEAR(pendulum_energy(&p, z, rate) - base, left, 1e-7);
            CHECK(z > stop - 1e-9);
            CHECK_NEAR(rig_energy(&p.r), pendulum_energy(&p, z, rate), 1e-12);
        }
        CHECK_INT(hits, 5);
        rig_free(&p.r);
    }
}

TEST(a_pendulum_rests_on_its_limit_with_the_torque_of_its_weight)
{
    const double es[] = {0, 0.5};
    for (int i = 0; i < 2; ++i) {
        pendulum p = make_pendulum(0.9, 0.3, 3, es[i]);
        rig_run(&p.r, 2e-3, 3000);
        CHECK_NEAR(rig_angle(&p.r, p.hinge), 0.3, 1e-9);
        CHECK_NEAR(rig_rate(&p.r, p.hinge), 0, 1e-9);
        CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.hinge), mass * rig_g * length * sin(0.3),
                   1e-9);
        rig_evaluate(&p.r);
        CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.hinge), mass * rig_g * length * sin(0.3),
                   1e-9);
        rig_free(&p.r);
    }
}

// The other end: the force on the coordinate is the other way.
TEST(an_upper_limit_pushes_down)
{
    pendulum p = make_pendulum(-0.9, -3, -0.3, 0);
    rig_run(&p.r, 2e-3, 1000);
    CHECK_NEAR(rig_angle(&p.r, p.hinge), -0.3, 1e-9);
    CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.hinge), -mass * rig_g * length * sin(0.3),
               1e-9);
    rig_free(&p.r);
}

// It leaves a limit beyond the vertical by itself: no force there.
TEST(a_pendulum_leaves_a_limit_without_force)
{
    pendulum p = make_pendulum(-0.4, -0.4, 3, 0);
    rig_evaluate(&p.r);
    CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.hinge), 0, 0);
    rig_run(&p.r, 1e-3, 100);
    const double z = rig_angle(&p.r, p.hinge), rate = rig_rate(&p.r, p.hinge);
    CHECK(z > -0.4 + 1e-3);
    CHECK_NEAR(pendulum_energy(&p, z, rate), pendulum_energy(&p, -0.4, 0), 1e-9);
    rig_free(&p.r);
}

// A slider without motor between two limits, at constant speed: back and forth, each impact
// multiplies it by e.
TEST(a_slider_bounces_between_its_ends)
{
    const double     e = 0.9, v = 2;
    rig              r      = rig_make(tns_vec(0, 0, 0));
    const tn_body_id b      = rig_add_body(&r, mass, tns_vec(1, 1, 1), tns_vec(0, 0, 0));
    tn_joint_def     def    = tns_joint(TN_JOINT_SLIDER, TNS_GROUND, b, tns_vec(0, 0, 0), TNS_X);
    def.restitution         = e;
    def.limit.given         = true;
    def.limit.lower         = -0.25;
    def.limit.upper         = 0.75;
    def.limit.hard          = true;
    const tn_joint_id slide = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    CHECK_OK(tn_state_set_velocity(r.state, b, (tn_twist){{v, 0, 0}, {0, 0, 0}}));
    rig_run(&r, 1.0 / 60, 180);
    // Hits at 0.375 s, then 1 / (v e), 1 / (v e^2), ... later.
    double t = 0.375, speed = v * e, end = 0.75, direction = -1;
    while (t + 1 / speed < 3) {
        t += 1 / speed;
        end += direction;
        direction = -direction;
        speed *= e;
    }
    CHECK_NEAR(rig_angle(&r, slide), end + direction * speed * (3 - t), 1e-8);
    CHECK_NEAR(rig_rate(&r, slide), direction * speed, 1e-12);
    rig_free(&r);
}

// ---- Ropes --------------------------------------------------------------------------------------

typedef struct roped {
    rig         r;
    tn_body_id  bob;
    tn_joint_id rope;
} roped;

static roped make_roped(tn_vec3 at, double e)
{
    roped       p     = {.r = rig_make(tns_vec(0, 0, -rig_g))};
    tn_body_def def   = tn_default_body_def();
    def.kind          = TN_BODY_PARTICLE;
    def.mass          = mass;
    def.pose          = tns_frame(at);
    p.bob             = tn_scene_add_body(p.r.scene, &def);
    tn_joint_def rope = tn_default_joint_def(TN_JOINT_ROPE);
    rope.body1        = TNS_GROUND;
    rope.body2        = p.bob;
    rope.length       = length;
    rope.restitution  = e;
    p.rope            = tn_scene_add_joint(p.r.scene, &rope);
    rig_ready(&p.r);
    return p;
}

static double stretch(const roped* p)
{
    return tns_length(tn_state_pose(p->r.state, p->bob).position) - length;
}

// From (x, 0, 0), x < length: falls freely until the rope is taut at z = -sqrt(L^2 - x^2), loses
// its speed along it, and swings: tension m (g cos th + v^2 / L), energy constant.
TEST(a_rope_catches_a_falling_mass_which_then_swings)
{
    const double x = 0.3, z = -sqrt(length * length - x * x), steps[] = {1e-3, 5e-3};
    for (int i = 0; i < 2; ++i) {
        roped        p = make_roped(tns_vec(x, 0, 0), 0);
        const double v = sqrt(-2 * rig_g * z), across = v * x / length; // v sin of the angle
        const double after = mass * (across * across / 2 + rig_g * z);
        int          hits  = 0;
        while (hits == 0 && rig_step(&p.r, steps[i])) {
            hits += p.r.report.impact_count;
            if (hits == 0) {
                CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.rope), 0, 0);
                CHECK_NEAR(tn_state_velocity(p.r.state, p.bob).linear.z,
                           -rig_g * tn_state_time(p.r.state), 1e-12);
            }
        }
        CHECK_INT(hits, 1);
        for (int k = 0; k < 1000 && rig_step(&p.r, steps[i]); ++k) {
            const tn_vec3 at = tn_state_pose(p.r.state, p.bob).position;
            const tn_vec3 u  = tn_state_velocity(p.r.state, p.bob).linear;
            CHECK_NEAR(rig_energy(&p.r), after, 1e-6);
            CHECK_NEAR(stretch(&p), 0, 1e-9);
            CHECK_NEAR(tns_dot(at, u), 0, 1e-9);
            rig_evaluate(&p.r);
            CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.rope),
                       mass * (rig_g * -at.z / length + tns_dot(u, u) / length), 1e-6);
            CHECK_INT(p.r.report.impact_count, 0);
        }
        rig_free(&p.r);
    }
}

// Swung up with too little speed to go round, the rope goes slack where g cos a = v^2 / L, a the
// angle from straight up; from there the mass is thrown.
TEST(a_rope_goes_slack_where_its_tension_ends)
{
    const double v0 = sqrt(3.5 * rig_g * length), h = 1e-3; // slack at cos a = 1/2
    roped        p = make_roped(tns_vec(0, 0, -length), 0);
    CHECK_OK(tn_state_set_velocity(p.r.state, p.bob, (tn_twist){{v0, 0, 0}, {0, 0, 0}}));
    while (stretch(&p) > -1e-8 && tn_state_time(p.r.state) < 2 && rig_step(&p.r, h)) {}
    const tn_vec3 at = tn_state_pose(p.r.state, p.bob).position;
    const tn_vec3 u  = tn_state_velocity(p.r.state, p.bob).linear;
    CHECK_NEAR(at.z / length, 0.5, 2e-2); // within a few steps of it: it leaves very slowly
    // From then on a thrown mass: speed along x as at that point, v = sqrt(g L / 2), times 1/2.
    CHECK_NEAR(u.x, -0.5 * sqrt(rig_g * length / 2), 1e-4);
    rig_run(&p.r, h, 100);
    CHECK_NEAR(tn_state_velocity(p.r.state, p.bob).linear.x, u.x, 1e-9);
    CHECK_NEAR(rig_energy(&p.r), mass * (v0 * v0 / 2 - rig_g * length), 1e-6);
    rig_free(&p.r);
}

// Straight down with e: comes back up with e times the speed, to e^2 of the height.
TEST(an_elastic_rope_throws_back)
{
    const double e = 0.6;
    roped        p = make_roped(tns_vec(0, 0, 0.2), e);
    const double v = sqrt(2 * rig_g * (length + 0.2));
    while (p.r.report.impact_count == 0 && rig_step(&p.r, 1e-3)) {}
    const double top = rig_energy(&p.r) / (mass * rig_g);
    CHECK_NEAR(top, -length + e * e * v * v / (2 * rig_g), 1e-8);
    rig_run(&p.r, 2e-3, 3000);
    CHECK_NEAR(tn_state_pose(p.r.state, p.bob).position.z, -length, 1e-9);
    CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.rope), mass * rig_g, 1e-9);
    rig_free(&p.r);
}
