// Springs, dampers, limits and friction in implicit steps, against backward Euler by hand, and at
// rest against statics.
#include "support/implicit_rig.h"

static const tn_vec3 still = {0, 0, 0}, down = {0, 0, -9.81}, origin = {0, 0, 0},
                     along_y = {0, 1, 0};
static const double frame    = 1.0 / 60;

// A body that turns about y through its centre of mass, on a spring.
static rig wheel(tn_joint_def* def, tn_implicit_form form, tn_joint_id* hinge)
{
    rig              r       = rig_make(still);
    const tn_body_id body    = rig_add_body(&r, 1, (tn_vec3){0.2, 0.5, 0.4}, origin);
    def->body2               = body;
    *hinge                   = tn_scene_add_joint(r.scene, def);
    r.settings.method        = TN_METHOD_IMPLICIT;
    r.settings.implicit.form = form;
    rig_ready(&r);
    return r;
}

static const tn_implicit_form forms[] = {TN_IMPLICIT_ROWS, TN_IMPLICIT_NULLSPACE};

TEST(one_hinge_spring_is_backward_euler_by_hand)
{
    const double I = 0.5, z0 = 0.3, w0 = -1.5, rest = -0.2;
    for (int i = 0; i < 2; ++i) {
        for (double k = 1e-2; k <= 1e8; k *= 100) {
            tn_joint_def def = tns_joint(TN_JOINT_HINGE, TNS_GROUND, TNS_GROUND, origin, along_y);
            tn_joint_id  hinge;
            const double d = 0.1 * k * frame;
            def.stiffness = k, def.damping = d, def.rest[0] = rest;
            rig r = wheel(&def, forms[i], &hinge);
            CHECK_OK(tn_state_set_joints(r.state, &z0, &w0, NULL));
            CHECK(rig_step(&r, frame));
            const double h  = frame,
                         w1 = (w0 - h * k / I * (z0 - rest)) / (1 + h * h * k / I + h * d / I);
            CHECK_NEAR(rig_rate(&r, hinge), w1, 1e-12 * (1 + fabs(w0) + fabs(z0 - rest) / h));
            CHECK_NEAR(rig_angle(&r, hinge), z0 + h * w1, 1e-12);
            rig_free(&r);
        }
    }
}

// Two-step backward differences, after one step of backward Euler.
TEST(two_steps_of_a_hinge_spring_are_bdf2_by_hand)
{
    const double I = 0.5, k = 300, h = frame, z0 = 0.3;
    for (int i = 0; i < 2; ++i) {
        tn_joint_def def = tns_joint(TN_JOINT_HINGE, TNS_GROUND, TNS_GROUND, origin, along_y);
        tn_joint_id  hinge;
        def.stiffness                  = k;
        rig r                          = wheel(&def, forms[i], &hinge);
        r.settings.implicit.integrator = TN_IMPLICIT_BDF2;
        rig_restart(&r);
        CHECK_OK(tn_state_set_joints(r.state, &z0, NULL, NULL));
        rig_run(&r, h, 2);
        const double w1 = -h * k / I * z0 / (1 + h * h * k / I), z1 = z0 + h * w1;
        // w2 = (4 w1 - w0)/3 - 2h/3 k/I z2,  z2 = (4 z1 - z0)/3 + 2h/3 w2
        const double e  = 2 * h / 3,
                     w2 = (4 * w1 / 3 - e * k / I * (4 * z1 - z0) / 3) / (1 + e * e * k / I);
        CHECK_NEAR(rig_rate(&r, hinge), w2, 1e-12 * fabs(w2));
        CHECK_NEAR(rig_angle(&r, hinge), (4 * z1 - z0) / 3 + e * w2, 1e-12);
        rig_free(&r);
    }
}

// ---- Limits ---------------------------------------------------------------------------------------

// A bob 0.8 m from a hinge about -y, hanging; angle 0 is straight down.
static rig pendulum(const tn_limit* limit, double start, tn_joint_id* hinge)
{
    rig              r   = rig_make(down);
    const tn_body_id bob = rig_add_body(&r, 2, (tn_vec3){0.01, 0.01, 0.01}, (tn_vec3){0, 0, -0.8});
    tn_joint_def     def = tns_joint(TN_JOINT_HINGE, TNS_GROUND, bob, origin, (tn_vec3){0, -1, 0});
    def.limit            = *limit;
    *hinge               = tn_scene_add_joint(r.scene, &def);
    r.settings.method    = TN_METHOD_IMPLICIT;
    rig_ready(&r);
    CHECK_OK(tn_state_set_joints(r.state, &start, NULL, NULL));
    return r;
}

TEST(a_hard_limit_is_never_exceeded_and_releases)
{
    tn_joint_id hinge;
    tn_limit    limit = tn_default_joint_def(TN_JOINT_HINGE).limit;
    limit.given = limit.hard = true;
    limit.lower = 0.3, limit.upper = 3;
    rig    r     = pendulum(&limit, 1.2, &hinge);
    double least = HUGE_VAL;
    for (int i = 0; i < 300 && rig_step(&r, frame); ++i) least = fmin(least, rig_angle(&r, hinge));
    CHECK(least >= 0.3 - 1e-8);
    CHECK_NEAR(rig_angle(&r, hinge), 0.3, 1e-8); // it rests on its limit
    CHECK_NEAR(rig_rate(&r, hinge), 0, 1e-8);
    const double up = 0.5;
    double       z  = rig_angle(&r, hinge);
    CHECK_OK(tn_state_set_joints(r.state, &z, &up, NULL));
    CHECK(rig_step(&r, frame));
    CHECK(rig_angle(&r, hinge) > 0.3 + 1e-3); // pushed away, it leaves
    rig_free(&r);
}

TEST(a_soft_limit_yields_by_the_torque_on_it)
{
    tn_joint_id hinge;
    tn_limit    limit = tn_default_joint_def(TN_JOINT_HINGE).limit;
    limit.given       = true;
    limit.lower = 0.3, limit.upper = 3, limit.stiffness = 1e4, limit.damping = 10;
    rig    r     = pendulum(&limit, 1.2, &hinge);
    double least = HUGE_VAL;
    for (int i = 0; i < 600 && rig_step(&r, frame); ++i) least = fmin(least, rig_angle(&r, hinge));
    const double z = rig_angle(&r, hinge), weight = 2 * 9.81 * 0.8;
    CHECK_NEAR(weight * sin(z), 1e4 * (0.3 - z), 1e-6 * weight); // statics
    CHECK_LESS(0.3 - least, 0.02);
    CHECK_LESS(fabs(rig_rate(&r, hinge)), 1e-6);
    rig_free(&r);
}

TEST(a_rope_is_never_longer_than_it_is)
{
    rig              r    = rig_make(down);
    const tn_body_id ball = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){0.5, 0, 0});
    tn_joint_def     def  = tn_default_joint_def(TN_JOINT_ROPE);
    def.body2 = ball, def.form = TN_JOINT_BY_POINTS, def.length = 1;
    const tn_joint_id rope = tn_scene_add_joint(r.scene, &def);
    r.settings.method      = TN_METHOD_IMPLICIT;
    rig_ready(&r);
    double longest = 0;
    for (int i = 0; i < 2400 && rig_step(&r, frame); ++i)
        longest = fmax(longest, rig_distance(tn_state_pose(r.state, ball).position, origin));
    CHECK(longest <= 1 + 1e-8 && longest > 1 - 1e-6);
    CHECK_LESS(tn_state_joint_error(r.state, rope), 1e-8);
    CHECK_NEAR(tn_state_pose(r.state, ball).position.z, -1, 1e-3); // it has come to rest below
    rig_free(&r);
}

TEST(dry_friction_holds_by_creeping_and_brakes_evenly)
{
    tn_joint_def def = tns_joint(TN_JOINT_HINGE, TNS_GROUND, TNS_GROUND, origin, along_y);
    tn_joint_id  hinge;
    def.friction = 2, def.friction_speed = 1e-3, def.force[0] = 1;
    rig r = wheel(&def, TN_IMPLICIT_ROWS, &hinge);
    rig_run(&r, frame, 300);
    const double v = rig_rate(&r, hinge), s = 1e-3; // 2 v/sqrt(v^2 + s^2) = 1
    CHECK_NEAR(v, s / sqrt(3), 1e-9);
    rig_free(&r);
    // Torque / inertia, for a second; the friction of a step is that of its start times the
    // remaining fraction of the speed, so the error is of first order.
    double error[2];
    def.force[0] = 0;
    for (int fine = 0; fine < 2; ++fine) {
        rig          b  = wheel(&def, TN_IMPLICIT_ROWS, &hinge);
        const double w0 = 10, z0 = 0, h = fine ? frame / 2 : frame;
        CHECK_OK(tn_state_set_joints(b.state, &z0, &w0, NULL));
        rig_run(&b, h, fine ? 120 : 60);
        error[fine] = rig_rate(&b, hinge) - (w0 - 2 / 0.5 * 1);
        rig_run(&b, h, 480);
        CHECK_LESS(fabs(rig_rate(&b, hinge)), 1e-6);
        rig_free(&b);
    }
    CHECK_NEAR(error[0], 0, 0.05);
    CHECK_NEAR(rig_order(error[0], error[1]), 1, 0.05);
}

// ---- Other bodies ---------------------------------------------------------------------------------

// Masses on massless rods: bodies that cannot rotate have their geometric stiffness between them.
TEST(a_chain_of_particles_falls_calmly)
{
    rig        r    = rig_make(down);
    tn_body_id last = TNS_GROUND;
    for (int i = 1; i <= 30; ++i) {
        tn_body_def body = tn_default_body_def();
        body.kind = TN_BODY_PARTICLE, body.mass = 0.1;
        body.pose.position    = (tn_vec3){0.1 * i, 0, 0};
        const tn_body_id next = tn_scene_add_body(r.scene, &body);
        tn_joint_def     def  = tn_default_joint_def(TN_JOINT_DISTANCE);
        def.form = TN_JOINT_BY_POINTS, def.body1 = last, def.body2 = next;
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        last = next;
    }
    r.settings.method = TN_METHOD_IMPLICIT;
    rig_ready(&r);
    const implicit_run run = implicit_go(&r, frame, 600);
    CHECK_INT(run.steps, 600);
    CHECK_LESS(run.rise, 1e-12 * run.scale);
    CHECK_LESS(run.joint_error, 1e-8);
    rig_free(&r);
}

// Springs between bodies without a joint close loops of rows: fill-in, but the same answer.
TEST(springs_between_unjoined_bodies_act_implicitly)
{
    rig        r = rig_make(down);
    tn_body_id body[6];
    for (int i = 0; i < 6; ++i) {
        body[i] = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){i, 0, 0});
        rig_add_joint(&r, TN_JOINT_BALL, i == 0 ? TNS_GROUND : body[i - 1], body[i],
                      (tn_vec3){i - 0.5, 0, 0}, along_y);
    }
    for (int i = 0; i < 3; ++i) {
        tn_spring_def spring = tn_default_spring_def();
        spring.body1 = body[i], spring.body2 = body[i + 3];
        spring.stiffness = 1e6, spring.damping = 100;
        CHECK_OK(tn_scene_add_spring(r.scene, &spring));
    }
    r.settings.method = TN_METHOD_IMPLICIT;
    rig_ready(&r);
    const implicit_run run = implicit_go(&r, frame, 300);
    CHECK_INT(run.steps, 300);
    CHECK_LESS(run.rise, 1e-9 * run.scale);
    CHECK_LESS(run.joint_error, 1e-8);
    for (int i = 0; i < 3; ++i) // stiff as rods
        CHECK_NEAR(rig_distance(tn_state_pose(r.state, body[i]).position,
                                tn_state_pose(r.state, body[i + 3]).position),
                   3, 1e-3);
    rig_free(&r);
}

// Two bodies, one on a ball joint, the other joined to the first by a rod: a joint, or a spring.
static rig flail(bool joint, tn_implicit_form form, tn_body_id* end)
{
    rig              r = rig_make(down);
    const tn_body_id a = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){0.5, 0, 0});
    *end               = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){2, 0, 0});
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, a, origin, along_y);
    tn_spring_def spring = tn_default_spring_def();
    tn_joint_def  rod    = tn_default_joint_def(TN_JOINT_DISTANCE);
    spring.body1 = rod.body1 = a, spring.body2 = rod.body2 = *end;
    spring.stiffness = 1e8, rod.form = TN_JOINT_BY_POINTS;
    if (joint) CHECK(tn_scene_add_joint(r.scene, &rod).bits != 0);
    else CHECK_OK(tn_scene_add_spring(r.scene, &spring));
    r.settings.method        = TN_METHOD_IMPLICIT;
    r.settings.implicit.form = form;
    rig_ready(&r);
    return r;
}

// A swinging spring as stiff as a rod is a rod, and its length is closed like that of one; where it
// is not (form blocks) the linearised rotation of a step brakes the swing.
TEST(a_spring_as_stiff_as_a_rod_swings_like_one)
{
    tn_body_id   end;
    tn_vec3      at[3];
    const double weight = 9.81;
    for (int i = 0; i < 3; ++i) {
        rig                r = flail(i == 0, i == 2 ? TN_IMPLICIT_BLOCKS : TN_IMPLICIT_ROWS, &end);
        const implicit_run run = implicit_go(&r, frame, 40);
        CHECK_INT(run.steps, 40);
        CHECK_LESS(run.rise, 1e-8 * weight);
        at[i] = tn_state_pose(r.state, end).position;
        rig_free(&r);
    }
    // Joint and spring have the stiffness of their tension at different times of the step.
    const double rows = rig_distance(at[0], at[1]), blocks = rig_distance(at[0], at[2]);
    test_check(rows < 0.06 && blocks > 5 * rows, __FILE__, __LINE__, "off by %g and %g", rows,
               blocks);
}
