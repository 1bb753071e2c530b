// libFuzzer target: any bytes as a recorded motion. Whatever they are, reading them ends in a motion
// or in a reason with a line and a column. A motion that was read has names that differ, parents
// before their children, and finite numbers; it then drives a small person, which either takes it
// and compiles, or refuses it with a reason and is as before.
#include "tenon/mocap.h"
#include "tenon/tenon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#define REQUIRE(condition, text) ((condition) ? (void)0 : broken(#condition, text))

static _Noreturn void broken(const char* condition, const char* text)
{
    fprintf(stderr, "not so: %s: %s\n", condition, text);
    abort();
}

static void check_joint(const tn_mocap* m, int j)
{
    tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX];
    const int        count  = tn_mocap_joint_channels(m, j, channels);
    const int        frames = tn_mocap_frame_count(m);
    const tn_vec3    offset = tn_mocap_joint_offset(m, j);
    REQUIRE(tn_mocap_joint_name(m, j)[0] != '\0', "a joint without a name");
    REQUIRE(tn_mocap_joint_parent(m, j) < j, "a parent after its child");
    REQUIRE(isfinite(offset.x) && isfinite(offset.y) && isfinite(offset.z), "an offset");
    for (int f = 0; f < frames; ++f) {
        const double* values = tn_mocap_values(m, f, j);
        for (int i = 0; i < count; ++i) REQUIRE(isfinite(values[i]), "a value");
    }
    const tn_quat q = tn_mocap_pose(m, frames - 1, j).orientation;
    REQUIRE(fabs(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z - 1) < 1e-12, "not a rotation");
}

static tn_body_id add_bone(tn_scene* scene, const char* name, double y, double z, tn_body_id parent)
{
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.mass        = 1;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 0.1 : 0;
    def.pose.position     = (tn_vec3){0, y, z};
    const tn_body_id body = tn_scene_add_body(scene, &def);
    tn_joint_def     ball = tn_default_joint_def(TN_JOINT_BALL);
    ball.body1            = parent;
    ball.body2            = body;
    ball.anchor           = (tn_vec3){0, 0.9 * y, 0.9 * z};
    if (parent.bits != 0) tn_scene_add_joint(scene, &ball);
    return body;
}

// Hips, chest and arms, with a target on the chest, and a body named as the last joint is.
static tn_scene* make_person(const tn_mocap* m)
{
    tn_scene* scene;
    REQUIRE(tn_scene_create(NULL, &scene) == TN_OK, "no scene");
    const tn_body_id hips  = add_bone(scene, "pelvis", 0, 1, (tn_body_id){0});
    const tn_body_id chest = add_bone(scene, "chest", 0, 1.3, hips);
    add_bone(scene, "left_forearm", 0.8, 1.3, add_bone(scene, "left_upper_arm", 0.4, 1.3, chest));
    add_bone(scene, "right_upper_arm", -0.4, 1.3, chest);
    tn_why why = {0};
    REQUIRE(tn_scene_problem(scene, &why) == TN_OK, why.text);
    const tn_key  key    = {0, {{0, 0, 1.3}, {1, 0, 0, 0}}};
    tn_target_def target = tn_default_target_def();
    target.body          = chest;
    target.keys          = &key;
    target.key_count     = 1;
    target.stiffness     = 77;
    REQUIRE(tn_scene_add_target(scene, &target).bits == 1, "the target");
    add_bone(scene, tn_mocap_joint_name(m, tn_mocap_joint_count(m) - 1), 0, 0, hips);
    return scene; // a name that is taken, or too long, was refused: the scene knows, and goes on
}

static void check_drive(const tn_mocap* m, tn_mocap_up up)
{
    tn_scene*        scene   = make_person(m);
    const bool       whole   = tn_scene_problem(scene, NULL) == TN_OK;
    tn_mocap_options options = tn_default_mocap_options();
    tn_mocap_report  report  = {0};
    tn_why           why     = {0};
    options.up               = up;
    options.places           = up == TN_MOCAP_UP_Z ? TN_MOCAP_PLACE_ALL : TN_MOCAP_PLACE_ROOT;
    const tn_result result   = tn_mocap_drive(scene, m, &options, &report, &why);
    REQUIRE((tn_scene_problem(scene, NULL) == TN_OK) == whole, "driving left a problem");
    if (result != TN_OK) {
        REQUIRE(why.result == result && why.text[0] != '\0', "no reason given");
        REQUIRE(tn_scene_target_count(scene) == 1 && tn_scene_target(scene, 0)->stiffness == 77,
                "refused, but not as before");
    } else {
        tn_model* model = NULL;
        REQUIRE(report.driven_count > 0 && report.scale > 0 && isfinite(report.scale), "report");
        if (whole) REQUIRE(tn_scene_compile(scene, &model, &why) == TN_OK, why.text);
        tn_model_free(model);
    }
    tn_scene_free(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    tn_mocap*       m   = NULL;
    tn_why          why = {0};
    const tn_result r   = tn_mocap_read(NULL, (const char*)data, size, &m, &why);
    if (r != TN_OK) {
        REQUIRE(m == NULL, "a motion after a failure");
        REQUIRE(why.result == r && why.text[0] != '\0' && why.line > 0 && why.column > 0, why.text);
        return 0;
    }
    REQUIRE(tn_mocap_frame_count(m) > 0 && tn_mocap_frame_time(m) > 0, "frames");
    for (int j = 0; j < tn_mocap_joint_count(m); ++j) check_joint(m, j);
    check_drive(m, TN_MOCAP_UP_Y);
    check_drive(m, TN_MOCAP_UP_Z);
    tn_mocap_free(m);
    return 0;
}
