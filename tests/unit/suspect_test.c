// What a step's report calls suspect, and that a good step has none.
#include "support/contact_rig.h"

TEST(every_kind_has_a_word_and_a_reason)
{
    for (int i = 0; i < TN_SUSPECT_COUNT; ++i) {
        CHECK(strlen(tn_suspect_word((tn_suspect_kind)i)) > 0);
        CHECK(strlen(tn_suspect_why((tn_suspect_kind)i)) > 0);
    }
    CHECK(strcmp(tn_suspect_word(TN_SUSPECT_COUNT), "unknown") == 0);
}

// A ball that starts 10 cm deep in the ground is named with its depth, until it is out.
TEST(an_overlap_is_named)
{
    rig               r       = rig_make(tns_vec(0, 0, -rig_g));
    const tns_surface surface = {0.5, 0};
    r.settings                = tn_default_settings();
    tns_wall(r.scene, "floor", tns_vec(0, 0, 0), TNS_Z, surface);
    const tn_body_id ball = tns_solid(r.scene, "ball", (tn_frame){{0, 0, 0.4}, {1, 0, 0, 0}},
                                      RIG_REST, 1, rig_sphere(0.5), surface);
    rig_ready(&r);
    rig_run(&r, 1.0 / 60, 1);
    const tn_suspect* suspect = &r.report.suspects[TN_SUSPECT_PENETRATION];
    CHECK_INT(suspect->count, 1);
    CHECK_INT((int)suspect->body.bits, (int)ball.bits);
    CHECK_NEAR(suspect->amount, r.report.deepest, 0);
    rig_run(&r, 1.0 / 60, 30);
    for (int i = 0; i < TN_SUSPECT_COUNT; ++i) CHECK_INT(r.report.suspects[i].count, 0);
    rig_free(&r);
}

// d = 1 N m s/rad on I = 1e-3 kg m^2: an explicit step of h leaves 1/(1.25 h / I) of it, and h / 1000 all.
static double clamped_share(tn_method method, double h, const char** joint)
{
    rig r             = rig_make(tns_vec(0, 0, 0));
    r.settings.method = method;
    tn_joint_def def  = tn_default_joint_def(TN_JOINT_HINGE);
    def.name          = "weak";
    def.body2         = rig_add_body(&r, 1, tns_vec(1e-3, 1e-3, 1e-3), tns_vec(0, 0, 0));
    def.damping       = 0.1;
    tn_scene_add_joint(r.scene, &def);
    def.name    = "strong";
    def.body2   = rig_add_body(&r, 1, tns_vec(1e-3, 1e-3, 1e-3), tns_vec(0, 0, 0));
    def.damping = 1;
    tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    rig_run(&r, h, 2);
    const tn_suspect suspect = r.report.suspects[TN_SUSPECT_CLAMPED];
    CHECK(suspect.body.bits == 0 && (suspect.count == 1) == (suspect.amount > 0));
    if (suspect.joint.bits)
        CHECK(strcmp(tn_model_joint_name(r.model, suspect.joint), "strong") == 0);
    *joint = suspect.joint.bits ? "strong" : "";
    rig_free(&r);
    return suspect.amount;
}

TEST(a_damper_that_is_cut_is_named_with_the_share)
{
    const double h = 1.0 / 60, left = 1e-3 / (1.25 * h);
    const char*  joint;
    CHECK_NEAR(clamped_share(TN_METHOD_IMPULSE, h, &joint), 1 - left, 1e-12);
    CHECK(strcmp(joint, "strong") == 0);
    CHECK_NEAR(clamped_share(TN_METHOD_IMPULSE, 1e-4, &joint), 0, 0);
    CHECK_NEAR(clamped_share(TN_METHOD_AUTO, h, &joint), 0, 0);
}
