// What a step by auto reports of what it found, and what others leave at zero.
#include "support/contact_rig.h"

static const double h60 = 1.0 / 60;

static rig make(tn_method method)
{
    rig r                    = rig_make(tns_vec(0, 0, -rig_g));
    r.settings.method        = method;
    r.settings.impulse.sleep = 0;
    return r;
}

// A body of I = 1e-2 kg m^2 about a hinge in its centre, with a spring.
static tn_joint_id add_sprung(rig* r, double stiffness, double damping)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.body2        = rig_add_body(r, 1, tns_vec(1e-2, 1e-2, 1e-2), tns_vec(0, 0, 0));
    def.axis         = TNS_X;
    def.stiffness    = stiffness;
    def.damping      = damping;
    return tn_scene_add_joint(r->scene, &def);
}

static int stiff_rows(double stiffness, double damping)
{
    rig r = make(TN_METHOD_AUTO);
    add_sprung(&r, stiffness, damping);
    add_sprung(&r, 1e-3, 0);
    rig_ready(&r);
    rig_run(&r, h60, 3);
    const int count = r.report.automatic.stiff_count;
    rig_free(&r);
    return count;
}

// Verlet's method follows omega = sqrt(k/I) up to h omega = 2, and a damper up to h d/I = 2.
TEST(rows_are_stiff_where_an_explicit_step_would_fail)
{
    const double I = 1e-2, k = 4 * I / (h60 * h60), d = 2 * I / h60;
    CHECK_INT(stiff_rows(0.99 * k, 0), 0);
    CHECK_INT(stiff_rows(1.01 * k, 0), 1);
    CHECK_INT(stiff_rows(0, 0.99 * d), 0);
    CHECK_INT(stiff_rows(0, 1.01 * d), 1);
    CHECK_INT(stiff_rows(1e10, 0), 1);
    CHECK_INT(stiff_rows(0, 1e10), 1);
}

static void add_door(rig* r, double upper)
{
    tn_joint_def door = tn_default_joint_def(TN_JOINT_HINGE);
    door.body2        = rig_add_body(r, 1, tns_vec(0.1, 0.1, 0.1), tns_vec(0.5, 0, 0));
    door.axis         = TNS_Y; // gravity turns it towards its upper end
    door.limit.given  = true;
    door.limit.lower = -1, door.limit.upper = upper;
    door.limit.stiffness = 1e6, door.limit.damping = 1e3;
    tn_scene_add_joint(r->scene, &door);
}

// A spring between two bodies has one row, along its line. Of two doors one lies on its soft limit, m g l / k
// deep, the other falls towards its own, which it reaches after 0.27 s: limits are rows while they are reached.
TEST(springs_and_soft_limits_are_rows_too)
{
    rig           r   = make(TN_METHOD_AUTO);
    tn_body_def   def = rig_body(1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 5));
    tn_spring_def tie = tn_default_spring_def();
    tie.body1         = tn_scene_add_body(r.scene, &def);
    def.pose.position = tns_vec(1, 0, 5);
    tie.body2         = tn_scene_add_body(r.scene, &def);
    tie.stiffness = 1e6, tie.length = 1;
    CHECK(tn_scene_add_spring(r.scene, &tie).bits != 0);
    add_door(&r, -0.5 * rig_g / 1e6);
    add_door(&r, 0.5);
    rig_ready(&r);
    for (int i = 0; i < 12 && rig_step(&r, h60); ++i) CHECK_INT(r.report.automatic.stiff_count, 2);
    rig_free(&r);
}

// A box on a floor stands on four corners; a hard limit that holds a rod is one more.
TEST(contacts_and_hard_limits_that_push_are_counted)
{
    rig               r       = make(TN_METHOD_AUTO);
    const tns_surface surface = {0.5, 0};
    tns_wall(r.scene, "floor", tns_vec(0, 0, 0), TNS_Z, surface);
    tns_solid(r.scene, "box", (tn_frame){{3, 0, 0.1}, {1, 0, 0, 0}}, RIG_REST, 8,
              rig_box(tns_vec(0.1, 0.1, 0.1)), surface);
    tn_joint_def door = tn_default_joint_def(TN_JOINT_HINGE);
    door.body2        = rig_add_body(&r, 1, tns_vec(0.1, 0.1, 0.1), tns_vec(0.5, 0, 1));
    door.axis = TNS_Y, door.anchor = tns_vec(0, 0, 1);
    door.limit.given = door.limit.hard = true;
    door.limit.lower = -1, door.limit.upper = 0;
    tn_scene_add_joint(r.scene, &door);
    rig_ready(&r);
    rig_run(&r, h60, 5);
    CHECK_INT(r.report.automatic.contact_count, 5);
    CHECK_INT(r.report.contact_count, 4);
    CHECK_INT(r.report.automatic.stiff_count, 0);
    rig_free(&r);
}

TEST(loops_are_those_of_the_model)
{
    rig r             = rig_builtin("@gripper");
    r.settings.method = TN_METHOD_AUTO;
    rig_restart(&r);
    rig_run(&r, h60, 2);
    CHECK_INT(r.report.automatic.loop_count, tn_model_counts(r.model).loops);
    CHECK_INT(r.report.automatic.loop_count, 2);
    rig_free(&r);
}

TEST(other_methods_report_nothing_of_it)
{
    const tn_method methods[] = {TN_METHOD_MULTIPLIER, TN_METHOD_IMPULSE, TN_METHOD_IMPLICIT};
    for (int i = 0; i < 3; ++i) {
        rig r                      = make(methods[i]);
        r.settings.impulse.springs = TN_SPRINGS_IMPLICIT;
        add_sprung(&r, 1e4, 0);
        rig_ready(&r);
        rig_run(&r, 1e-3, 2);
        const tn_auto_report* found = &r.report.automatic;
        CHECK_INT(found->loop_count + found->stiff_count + found->contact_count, 0);
        rig_free(&r);
    }
}
