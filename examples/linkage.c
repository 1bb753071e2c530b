// linkage: a four-bar linkage, drawn open, is assembled and driven by a motor.
//
// Joints are given by frames in their two bodies, so nobody has to compute where the bars lie.
#include <tenon/tenon.h>

#include <stdio.h>
#include <string.h>

static const double span = 0.8, crank = 0.3, coupler = 0.8, rocker = 0.6; // [m]

static tn_body_id add_bar(tn_scene* scene, const char* name, double length, double x, double y)
{
    tn_body_def bar   = tn_default_body_def();
    bar.name          = name;
    bar.mass          = 1;
    bar.com           = (tn_vec3){0, 0, 0};
    bar.pose.position = (tn_vec3){x, y, 0}; // about where it belongs
    const double I[6] = {0.001, length * length / 12, length * length / 12, 0, 0, 0};
    memcpy(bar.inertia, I, sizeof I);
    return tn_scene_add_body(scene, &bar);
}

// A hinge about z, at the distance x1 along the x axis of one body and x2 along that of the other.
static tn_joint_def hinge(tn_body_id body1, double x1, tn_body_id body2, double x2)
{
    tn_joint_def def    = tn_default_joint_def(TN_JOINT_HINGE);
    def.form            = TN_JOINT_BY_FRAMES;
    def.body1           = body1;
    def.body2           = body2;
    def.frame1.position = (tn_vec3){x1, 0, 0};
    def.frame2.position = (tn_vec3){x2, 0, 0};
    return def;
}

int main(void)
{
    const tn_body_id ground  = {0};
    tn_scene*        scene   = NULL;
    tn_model*        model   = NULL;
    tn_state*        state   = NULL;
    tn_stepper*      stepper = NULL;
    tn_why           why     = {0};
    tn_step_report   report  = {0};
    tn_assembly      closed  = {0};
    if (tn_scene_create(NULL, &scene) != TN_OK) return 1;
    tn_scene_set_gravity(scene, (tn_vec3){0, -9.81, 0});

    const tn_body_id a      = add_bar(scene, "crank", crank, 0.05, 0.2),
                     b      = add_bar(scene, "coupler", coupler, 0.4, 0.4),
                     c      = add_bar(scene, "rocker", rocker, 1, 0.3);
    tn_joint_def motor      = hinge(ground, 0, a, -crank / 2);
    motor.type              = TN_JOINT_MOTOR;
    motor.of                = TN_JOINT_HINGE;
    motor.velocity          = 3; // [rad/s]
    const tn_joint_def ab   = hinge(a, crank / 2, b, -coupler / 2),
                       bc   = hinge(b, coupler / 2, c, -rocker / 2),
                       cd   = hinge(ground, span, c, rocker / 2);
    const tn_joint_id drive = tn_scene_add_joint(scene, &motor);
    tn_scene_add_joint(scene, &ab);
    tn_scene_add_joint(scene, &bc);
    const tn_joint_id output = tn_scene_add_joint(scene, &cd);

    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_IMPULSE;
    tn_result result     = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_stepper_create(model, &settings, &stepper, &why);
    if (result == TN_OK) result = tn_stepper_assemble(stepper, state, &closed, &why);
    if (result == TN_OK)
        printf("assembled: joint error %.2g -> %.0e\n", closed.error_before, closed.error_after);
    for (int i = 0; i <= 210 && result == TN_OK; ++i) {
        double in, out;
        tn_state_joint_position(state, drive, &in);
        tn_state_joint_position(state, output, &out);
        if (i % 21 == 0)
            printf("crank %7.4f rad, rocker %7.4f rad, joint error %.0e\n", in, out,
                   report.joint_error);
        result = tn_stepper_step(stepper, state, 0.01, &report, &why);
    }
    if (result != TN_OK) fprintf(stderr, "linkage: %s: %s\n", tn_result_text(result), why.text);

    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
