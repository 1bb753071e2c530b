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
