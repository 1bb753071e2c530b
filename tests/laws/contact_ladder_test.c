// A ladder slides down a wall without friction and leaves it.
//
// Foot (L cos th, 0), top (0, L sin th), centre halfway, let go from rest at th_0. With inertia I,
// A = m g L / (m L^2 / 2 + 2 I) (3 g / 2 L for an even thin rod), s = sin th, s_0 = sin th_0:
//     energy                th'^2 = 2 A (s_0 - s),   th'' = -A cos th
//     wall                  N_x = m x'' = m (L/2) A cos th (3 s - 2 s_0)
//     floor                 N_z = m (g + z''),  z'' = (L/2) (cos th th'' - s th'^2)
// so the wall lets go at s = 2/3 s_0. From there on nothing acts along x: the speed of the centre
// stays (L/2) s th' = (L/3) s_0 sqrt(2/3 A s_0), for ever. The ball ends of a capsule have their
// centres on lines parallel to wall and floor: the same with any radius.
#include "support/contact_rig.h"

static const double mass = 10, length = 3, radius = 0.01, start = 1.2;

typedef struct ladder {
    rig        r;
    tn_body_id wall, floor, rod;
    bool       planar;
    double     A;
} ladder;

// In the x-z plane as a rigid body, in the x-y plane as a planar one.
static ladder make_ladder(bool planar, double inertia)
{
    const double  g = rig_g, c = cos(start), s = sin(start);
    const tn_vec3 down  = planar ? tns_vec(0, -g, 0) : tns_vec(0, 0, -g);
    const tn_vec3 up    = planar ? TNS_Y : TNS_Z;
    ladder        l     = {.r = rig_make(down), .planar = planar};
    const tn_vec3 foot  = tns_add(tns_vec(radius + length * c, 0, 0), tns_scale(radius, up));
    const tn_vec3 top   = tns_add(tns_vec(radius, 0, 0), tns_scale(radius + length * s, up));
    const tn_vec3 along = tns_unit(tns_sub(top, foot));
    l.A                 = mass * g * length / (mass * length * length / 2 + 2 * inertia);
    l.wall              = tns_wall(l.r.scene, "wall", tns_vec(0, 0, 0), TNS_X, (tns_surface){0, 0});
    l.floor             = tns_wall(l.r.scene, "floor", tns_vec(0, 0, 0), up, (tns_surface){0, 0});
    tn_shape_def shape  = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius        = radius;
    shape.half_length   = length / 2;
    shape.friction      = 0;
    if (planar) shape.pose.orientation = tns_turn(TNS_Z, TNS_X);
    tn_body_def body = rig_body(mass, tns_vec(inertia, inertia, inertia), tns_mix(foot, top, 0.5));
    body.name        = "ladder";
    body.kind        = planar ? TN_BODY_PLANAR : TN_BODY_RIGID;
    body.pose.orientation = tns_turn(planar ? TNS_X : TNS_Z, along);
    body.shapes           = &shape;
    body.shape_count      = 1;
    l.rod                 = tn_scene_add_body(l.r.scene, &body);
    rig_ready(&l.r);
    return l;
}

// sin and cos of the angle from the rod's axis; the rate of the angle.
static double sine(const ladder* l)
{
    const tn_vec3 axis = rig_axis(&l->r, l->rod, l->planar ? TNS_X : TNS_Z);
    return l->planar ? axis.y : axis.z;
}
static double cosine(const ladder* l)
{
    return -rig_axis(&l->r, l->rod, l->planar ? TNS_X : TNS_Z).x;
}
static double turning(const ladder* l)
{
    const tn_vec3 w = tn_state_velocity(l->r.state, l->rod).angular;
    return l->planar ? -w.z : w.y; // both turn th forward when the rod goes up
}

// The angle by its own equation, th'' = -A cos th, in steps so small that they are exact here.
static double angle_at(double A, double t)
{
    enum { STEPS = 2000 };
    const double h  = t / STEPS;
    double       th = start, w = 0;
    for (int i = 0; i < STEPS; ++i) {
        const double k1 = -A * cos(th), w1 = w;
        const double k2 = -A * cos(th + h / 2 * w1), w2 = w + h / 2 * k1;
        const double k3 = -A * cos(th + h / 2 * w2), w3 = w + h / 2 * k2;
        const double k4 = -A * cos(th + h * w3), w4 = w + h * k3;
        th += h / 6 * (w1 + 2 * w2 + 2 * w3 + w4);
        w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return th;
}

static void check_forces(ladder* l)
{
    const double g = rig_g, A = l->A, s = sine(l), c = cosine(l), w = turning(l);
    const double wall  = mass * length / 2 * A * c * (3 * s - 2 * sin(start));
    const double floor = mass * (g + length / 2 * (-A * c * c - s * w * w));
    rig_evaluate(&l->r);
    const tn_vec3 fw = rig_contact_force(&l->r, l->wall, l->rod);
    const tn_vec3 ff = rig_contact_force(&l->r, l->floor, l->rod);
    CHECK_NEAR(fw.x, wall, 1e-7);
    CHECK_NEAR(l->planar ? ff.y : ff.z, floor, 1e-7);
    CHECK_LESS(fabs(fw.y) + fabs(fw.z) + fabs(ff.x), 1e-12);
}

// RK4 at h = 4 ms leaves 1e-10 of the angle over the 0.7 s on the wall. Separation is a kink in the
// force, somewhere within a step: it costs h^2 / 8 times the jump in the slope of the acceleration,
// 15 m/s^3, and half of it is usual; once.
static void check_ladder(bool planar, double inertia, double h)
{
    ladder       l  = make_ladder(planar, inertia);
    const double s0 = sin(start), A = l.A;
    bool         on_wall = true;
    for (int i = 1; i * h < 3 && on_wall; ++i) {
        if (!rig_step(&l.r, h)) break;
        const double s = sine(&l);
        on_wall        = s > 2.0 / 3 * s0;
        CHECK_LESS(l.r.report.deepest, 1e-9);
        CHECK_INT(l.r.report.jam_count, 0);
        if (!on_wall) break;
        CHECK_NEAR(turning(&l) * turning(&l), 2 * A * (s0 - s), 1e-8);
        CHECK_NEAR(tn_state_pose(l.r.state, l.rod).position.x, radius + length / 2 * cosine(&l),
                   1e-9);
        CHECK_NEAR(atan2(s, cosine(&l)), angle_at(A, i * h), 1e-9);
        check_forces(&l);
        CHECK_INT(rig_contacts_between(&l.r, l.wall, l.rod), 1);
    }
    CHECK(!on_wall);
    const double speed = length / 3 * s0 * sqrt(2.0 / 3 * A * s0);
    for (int i = 0; i < 20; ++i) {
        rig_evaluate(&l.r);
        CHECK_INT(rig_contacts_between(&l.r, l.floor, l.rod), 1);
        CHECK_NEAR(tns_length(rig_contact_force(&l.r, l.wall, l.rod)), 0, 0);
        CHECK_NEAR(tn_state_velocity(l.r.state, l.rod).linear.x, speed, 4 * h * h);
        rig_step(&l.r, h);
    }
    CHECK_INT(rig_contacts_between(&l.r, l.wall, l.rod), 0);
    rig_free(&l.r);
}

TEST(a_rigid_ladder_leaves_the_wall_at_two_thirds)
{
    check_ladder(false, mass * length * length / 12, 1e-3);
    check_ladder(false, mass * length * length / 12, 4e-3);
}

TEST(a_planar_ladder_leaves_the_wall_at_two_thirds)
{
    check_ladder(true, mass * length * length / 12, 1e-3);
    check_ladder(true, mass * length * length / 12, 4e-3);
}

TEST(a_ladder_of_another_inertia_leaves_at_the_same_angle)
{
    check_ladder(false, mass * length * length / 5, 2e-3);
    check_ladder(true, mass * length * length / 40, 2e-3);
}

// Whatever the step: energy is constant up to the impact at the end, then lost in it, never gained.
TEST(energy_stays_until_the_ladder_lies_down)
{
    const double steps[] = {1e-3, 1.0 / 300, 1e-2};
    for (int i = 0; i < 3; ++i) {
        rig              r       = rig_builtin("ladder");
        const double     before  = rig_energy(&r);
        rig_fall         fall    = rig_fall_begin(&r);
        int              impacts = 0;
        const tn_body_id rod     = tn_model_find_body(r.model, "ladder");
        while (tn_state_time(r.state) < 2 && rig_step(&r, steps[i])) {
            impacts += r.report.impact_count;
            if (impacts == 0) CHECK_NEAR(rig_energy(&r), before, 1e-6 * before);
            rig_fall_note(&r, &fall);
            CHECK_LESS(r.report.deepest, 1e-9);
        }
        CHECK(impacts > 0);
        CHECK_LESS(fall.growth, 1e-6 * before);
        CHECK_NEAR(tn_state_pose(r.state, rod).position.z, 0.01, 1e-9);
        rig_free(&r);
    }
}

// With friction mu at both ends a ladder stays above cot th = 2 mu / (1 - mu^2).
TEST(a_rough_ladder_stays_above_the_angle_of_friction)
{
    rig              r = rig_builtin("ladder:friction=0.4,angle=1.2"); // cot 1.2 = 0.389 < 0.952
    const uint64_t   before = tn_state_hash(r.state);
    const tn_body_id rod    = tn_model_find_body(r.model, "ladder");
    const tn_vec3    at     = tn_state_pose(r.state, rod).position;
    rig_run(&r, 2e-3, 500);
    CHECK(before != tn_state_hash(r.state)); // time went on
    CHECK_LESS(rig_distance(tn_state_pose(r.state, rod).position, at), 1e-9);
    rig_free(&r);
    r = rig_builtin("ladder:friction=0.4,angle=0.8"); // cot 0.8 = 0.971
    rig_run(&r, 2e-3, 500);
    CHECK(rig_distance(tn_state_pose(r.state, rod).position, at) > 0.01);
    rig_free(&r);
}
