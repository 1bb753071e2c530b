// Unilaterals and joints: they share a solve, not the motion; and a unilateral that follows from
// joints changes nothing.
#include "support/contact_rig.h"

static tn_body_id add_planar(tn_scene* scene, const char* name, double x, double y)
{
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.kind        = TN_BODY_PLANAR;
    def.mass        = 1;
    def.inertia[0]  = 0.1;
    def.inertia[1]  = 0.1;
    def.inertia[2]  = 0.1;
    def.inertia[3] = def.inertia[4] = def.inertia[5] = 0;
    def.com                                          = tns_vec(0, 0, 0);
    def.pose.position                                = tns_vec(x, y, 0);
    return tn_scene_add_body(scene, &def);
}

static void pin(tn_scene* scene, tn_body_id one, tn_body_id two, double x, double y)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.body1        = one;
    def.body2        = two;
    def.anchor       = tns_vec(x, y, 0);
    CHECK(tn_scene_add_joint(scene, &def).bits != 0);
}

static void tie(tn_scene* scene, tn_body_id one, tn_vec3 at_one, tn_body_id two, tn_vec3 at_two)
{
    tn_joint_def def    = tn_default_joint_def(TN_JOINT_ROPE);
    def.form            = TN_JOINT_BY_POINTS;
    def.body1           = one;
    def.body2           = two;
    def.frame1.position = at_one;
    def.frame2.position = at_two;
    CHECK(tn_scene_add_joint(scene, &def).bits != 0);
}

static tn_body_id add_particle(tn_scene* scene, double x, double y)
{
    tn_body_def def   = tn_default_body_def();
    def.kind          = TN_BODY_PARTICLE;
    def.mass          = 1;
    def.pose.position = tns_vec(x, y, 0);
    return tn_scene_add_body(scene, &def);
}

static void add_four_bar(tn_scene* scene)
{
    const tn_body_id a = add_planar(scene, "a", 0, 0.5), b = add_planar(scene, "b", 0.5, 1),
                     c = add_planar(scene, "c", 1.1, 0.6);
    pin(scene, TNS_GROUND, a, 0, 0);
    pin(scene, a, b, 0, 1);
    pin(scene, b, c, 1, 1);
    pin(scene, c, TNS_GROUND, 1.2, 0.2);
}

// A particle swings on a rope, next to a closed four-bar: they are independent.
static double drift_beside_a_loop(double h, tn_loops loops)
{
    rig r = rig_make(tns_vec(0, -rig_g, 0));
    tie(r.scene, TNS_GROUND, tns_vec(2, 0, 0), add_particle(r.scene, 3, 0), tns_vec(0, 0, 0));
    add_four_bar(r.scene);
    r.settings.multiplier.loops = loops;
    rig_ready(&r);
    const double start = rig_energy(&r);
    double       drift = 0;
    for (int i = 0; i * h < 0.4; ++i) {
        rig_run(&r, h, 1);
        drift = fmax(drift, fabs(rig_energy(&r) - start));
        CHECK_INT(r.report.jam_count + r.report.coarse_count, 0);
    }
    rig_free(&r);
    return drift;
}

TEST(a_rope_next_to_a_closed_loop_keeps_the_order)
{
    for (int loops = 0; loops < 2; ++loops) {
        const double coarse = drift_beside_a_loop(0.01, (tn_loops)loops);
        const double fine   = drift_beside_a_loop(0.005, (tn_loops)loops);
        CHECK_LESS(coarse, 1e-6);
        CHECK_LESS(fine, coarse / 10); // 16 for order four
    }
}

// A rope from the pin of a pendulum to its end: as long as the pendulum, always taut, never needed.
TEST(a_rope_along_a_link_changes_nothing)
{
    tn_vec3 end[2];
    for (int with = 0; with < 2; ++with) {
        rig              r    = rig_make(tns_vec(0, -rig_g, 0));
        const tn_body_id link = add_planar(r.scene, "link", 0.5, 0);
        pin(r.scene, TNS_GROUND, link, 0, 0);
        if (with) tie(r.scene, TNS_GROUND, tns_vec(0, 0, 0), link, tns_vec(0.3, 0, 0));
        rig_ready(&r);
        const double start = rig_energy(&r);
        rig_run(&r, 0.01, 100);
        CHECK_NEAR(rig_energy(&r), start, 1e-5);
        CHECK_INT(r.report.jam_count + r.report.coarse_count, 0);
        end[with] = tn_state_pose(r.state, link).position;
        rig_free(&r);
    }
    CHECK_LESS(tns_length(tns_sub(end[0], end[1])), 1e-8);
}
