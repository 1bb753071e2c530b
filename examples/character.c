// character: a person follows a recorded walk.
//
//     tenon scene humanoid >humanoid.json
//     character humanoid.json scenes/walk.bvh
//
// Each body gets a target, a spring to the recorded pose; joints and their limits stay what they are.
// The implicit method takes springs of any stiffness at frame-rate steps.
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

int main(int count, char** words)
{
    tn_scene*   scene   = NULL;
    tn_mocap*   motion  = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (count < 3) {
        fprintf(stderr, "usage: character SCENE.json MOTION.bvh\n");
        return 2;
    }
    const tn_mocap_options options = tn_default_mocap_options();
    tn_result              result  = tn_scene_read_file(NULL, words[1], &scene, &why);
    if (result == TN_OK) result = tn_mocap_read_file(NULL, words[2], &motion, &why);
    if (result == TN_OK) result = tn_mocap_drive(scene, motion, &options, NULL, &why);

    const double h        = 1.0 / 60;
    tn_settings  settings = tn_default_settings();
    settings.method       = TN_METHOD_IMPLICIT;
    if (result == TN_OK) result = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_stepper_create(model, &settings, &stepper, &why);
    if (result == TN_OK) {
        const tn_body_id pelvis = tn_model_find_body(model, "pelvis");
        const tn_vec3    start  = tn_state_pose(state, pelvis).position;
        const int        steps  = (int)(tn_mocap_duration(motion) / h);
        double           error  = 0;
        for (int i = 0; i < steps && result == TN_OK; ++i) {
            tn_step_report report;
            result = tn_stepper_step(stepper, state, h, &report, &why);
            error  = fmax(error, report.joint_error);
        }
        const tn_vec3 end = tn_state_pose(state, pelvis).position;
        printf("%.2f s: the pelvis moved %.3f m, joint error %.0e at most\n", tn_state_time(state),
               hypot(end.x - start.x, end.y - start.y), error);
    }
    if (result != TN_OK) fprintf(stderr, "character: %s: %s\n", tn_result_text(result), why.text);

    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_mocap_free(motion);
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
