// Linkages against the geometry that made them famous, through whole turns and swings.
#include "support/rig.h"

static tn_vec3 pin(const rig* r, const char* name)
{
    return tn_state_joint_anchor(r->state, tn_model_find_joint(r->model, name), 0);
}

// Where the circles about p and q (in the plane y = 0) meet, left of the way from p to q.
static tn_vec3 meet(tn_vec3 p, double r, tn_vec3 q, double s)
{
    const tn_vec3 d = tns_sub(q, p), across = {-d.z, 0, d.x};
    const double  d2 = tns_dot(d, d), along = 0.5 * (d2 + r * r - s * s) / d2;
    const double  side = sqrt(fmax(0, r * r / d2 - along * along));
    return tns_add(p, tns_add(tns_scale(along, d), tns_scale(side, across)));
}

TEST(a_driven_fourbar_follows_two_circles)
{
    rig           r = rig_builtin("fourbar:crank=0.3,coupler=0.8,rocker=0.6,ground=0.8,motor=4");
    const tn_vec3 O = {0, 0, 0}, D = {0.8, 0, 0};
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
    for (int i = 1; i <= 160; ++i) {
        rig_run(&r, 1e-3, 10);
        // The hinge is about y: a positive angle leans the upright crank towards x.
        const double  a = 4 * 0.01 * i;
        const tn_vec3 B = tns_add(O, tns_scale(0.3, (tn_vec3){sin(a), 0, cos(a)}));
        CHECK_LESS(rig_distance(pin(&r, "B"), B), 1e-9);
        CHECK_LESS(rig_distance(pin(&r, "C"), meet(B, 0.8, D, 0.6)), 1e-9);
    }
    CHECK_LESS(r.joint_error, 1e-10);
    rig_free(&r);
}

TEST(a_swinging_fourbar_keeps_its_lengths_and_its_energy)
{
    rig          r     = rig_builtin("fourbar");
    const double E     = rig_energy(&r);
    double       drift = 0, fastest = 0;
    for (int i = 0; i < 3000 && rig_step(&r, 1e-3); ++i) {
        drift           = fmax(drift, fabs(rig_energy(&r) - E));
        fastest         = fmax(fastest, tn_state_energy(r.state).kinetic);
        const tn_vec3 B = pin(&r, "B"), C = pin(&r, "C");
        CHECK_NEAR(rig_distance(B, C), 0.8, 1e-10);
        CHECK_NEAR(rig_distance(C, (tn_vec3){0.8, 0, 0}), 0.6, 1e-10);
        CHECK_LESS(fabs(B.y) + fabs(C.y), 1e-10);
    }
    CHECK(fastest > 1);
    CHECK_LESS(drift, 1e-7 * fastest);
    rig_free(&r);
}

TEST(a_slider_crank_follows_its_formula)
{
    for (int driven = 0; driven < 2; ++driven) {
        rig r = rig_builtin(driven ? "slider_crank:motor=5" : "slider_crank");
        CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
        const tn_joint_id crank  = tn_model_find_joint(r.model, "O");
        const tn_body_id  piston = tn_model_find_body(r.model, "piston");
        for (int i = 1; i <= 150; ++i) {
            rig_run(&r, 1e-3, 10);
            const double a = atan2(0.8, 0.6) - rig_angle(&r, crank); // from x, towards z
            const double x = 0.3 * cos(a) + sqrt(0.8 * 0.8 - 0.3 * 0.3 * sin(a) * sin(a));
            CHECK_LESS(rig_distance(tn_state_pose(r.state, piston).position, (tn_vec3){x, 0, 0}),
                       1e-9);
            if (driven) CHECK_NEAR(rig_angle(&r, crank), 5 * 0.01 * i, 1e-9);
        }
        if (driven) CHECK(rig_angle(&r, crank) > 6.3); // a whole turn
        CHECK_LESS(r.joint_error, 1e-10);
        rig_free(&r);
    }
}

// From rest to the other side and back; the tip's line lies 5 / 1.8 below O.
TEST(peaucelliers_tip_runs_on_a_straight_line)
{
    rig           r = rig_builtin("peaucellier");
    const tn_vec3 O = pin(&r, "O1"), start = pin(&r, "tip");
    const double  E    = rig_energy(&r);
    double        left = start.x, off = 0, inversion = 0, drift = 0, fastest = 0;
    int           turned = 0; // times that the tip's x velocity changed its sign
    double        before = start.x, way = 0;
    for (int i = 0; i < 8000 && turned < 2 && rig_step(&r, 1e-3); ++i) {
        const tn_vec3 tip = pin(&r, "tip"), C = pin(&r, "C1");
        off       = fmax(off, fmax(fabs(tip.z - (O.z - 5 / 1.8)), fabs(tip.y)));
        inversion = fmax(inversion, fabs(rig_distance(C, O) * rig_distance(tip, O) - 5));
        left      = fmin(left, tip.x);
        drift     = fmax(drift, fabs(rig_energy(&r) - E));
        fastest   = fmax(fastest, tn_state_energy(r.state).kinetic);
        if (way * (tip.x - before) < 0) ++turned;
        way    = tip.x - before;
        before = tip.x;
    }
    CHECK_INT(turned, 2);
    CHECK_NEAR(left, -start.x, 1e-5);  // as far on the other side
    CHECK_NEAR(before, start.x, 1e-3); // and back, up to a step
    CHECK_LESS(off, 1e-9);
    CHECK_LESS(inversion, 1e-9);
    CHECK_LESS(drift, 1e-7 * fastest);
    CHECK_LESS(r.joint_error, 1e-10);
    rig_free(&r);
}

// Largest change of energy over a swing and back, as a part of the largest kinetic energy.
static double bricard_drift(double h, int steps)
{
    rig          r     = rig_builtin("bricard");
    const double E     = rig_energy(&r);
    double       drift = 0, fastest = 0, furthest = 0;
    for (int i = 0; i < steps && rig_step(&r, h); ++i) {
        drift    = fmax(drift, fabs(rig_energy(&r) - E));
        fastest  = fmax(fastest, tn_state_energy(r.state).kinetic);
        furthest = fmax(furthest, rig_distance(pin(&r, "P3"), (tn_vec3){1, 1, -1}));
    }
    CHECK(furthest > 0.5);
    CHECK(fastest > 1);
    CHECK_LESS(r.joint_error, 1e-10);
    rig_free(&r);
    return drift / fastest;
}

TEST(bricards_ring_moves_and_keeps_its_energy)
{
    const double coarse = bricard_drift(1e-2, 250), fine = bricard_drift(5e-3, 500),
                 finest = bricard_drift(5e-4, 5000);
    CHECK_NEAR(rig_order(coarse, fine), 4, 0.2);
    CHECK_LESS(finest, 1e-11); // no impulse on the way, however small the step
}
