// hello: a pendulum, built in C without any file, swings for two seconds.
#include <tenon/tenon.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    tn_scene*      scene   = NULL;
    tn_model*      model   = NULL;
    tn_state*      state   = NULL;
    tn_stepper*    stepper = NULL;
    tn_why         why     = {0};
    tn_step_report report  = {0};
    if (tn_scene_create(NULL, &scene) != TN_OK) return 1;

    // A rod of 1 m and 1 kg along x, its middle half a metre from the pin.
    tn_body_def rod   = tn_default_body_def();
    rod.name          = "rod";
    rod.mass          = 1;
    rod.com           = (tn_vec3){0, 0, 0};
    rod.pose.position = (tn_vec3){0.5, 0, 0};

    const double I[6] = {0.001, 1.0 / 12, 1.0 / 12, 0, 0, 0}; // [kg m^2]
    memcpy(rod.inertia, I, sizeof I);

    // A hinge at the origin, about y, from the ground (the null body) to the rod.
    tn_joint_def pin        = tn_default_joint_def(TN_JOINT_HINGE);
    pin.name                = "pin";
    pin.body2               = tn_scene_add_body(scene, &rod);
    pin.anchor              = (tn_vec3){0, 0, 0};
    pin.axis                = (tn_vec3){0, 1, 0};
    const tn_joint_id hinge = tn_scene_add_joint(scene, &pin);

    // Scene (to edit) -> model (compiled) -> state (moves) and stepper (moves it).
    tn_result result = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_stepper_create(model, NULL, &stepper, &why);
    for (int i = 0; i <= 2000 && result == TN_OK; ++i) {
        double angle;
        tn_state_joint_position(state, hinge, &angle);
        if (i % 200 == 0)
            printf("t = %.1f s: angle %.6f rad, joint error %.0e\n", tn_state_time(state), angle,
                   report.joint_error);
        result = tn_stepper_step(stepper, state, 0.001, &report, &why);
    }
    if (result != TN_OK) fprintf(stderr, "hello: %s: %s\n", tn_result_text(result), why.text);

    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
