// contacts: a box on three slopes; what presses it, what rubs, and whether it slides.
//
// The slope is the floor z = 0, and gravity leans. A box with the coefficient of friction 0.5 holds
// where tan(slope) < 0.5, else it slides with g (sin - 0.5 cos).
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

static const double g = 9.81, friction = 0.5;

static tn_result slide(double slope, tn_why* why)
{
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_result   result  = tn_scene_create(NULL, &scene);
    if (result != TN_OK) return result;
    tn_scene_set_gravity(scene, (tn_vec3){g * sin(slope), 0, -g * cos(slope)});
    tn_scene_set_ground(scene, friction, 0);

    tn_shape_def cube       = tn_default_shape_def(TN_SHAPE_BOX);
    cube.half_size          = (tn_vec3){0.2, 0.2, 0.1};
    cube.density            = 500; // mass and inertia follow
    cube.friction           = friction;
    tn_body_def box         = tn_default_body_def();
    box.name                = "box";
    box.pose.position       = (tn_vec3){0, 0, 0.1};
    box.shapes              = &cube;
    box.shape_count         = 1;
    const tn_body_id id     = tn_scene_add_body(scene, &box);
    tn_settings      chosen = tn_default_settings();
    chosen.method           = TN_METHOD_IMPULSE;
    chosen.impulse.sleep    = 0; // contacts of bodies that fell asleep are not listed
    result                  = tn_scene_compile(scene, &model, why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_stepper_create(model, &chosen, &stepper, why);
    for (int i = 0; i < 60 && result == TN_OK; ++i)
        result = tn_stepper_step(stepper, state, 1.0 / 60, NULL, why);
    if (result == TN_OK) {
        double     normal = 0, tangent = 0;
        tn_contact contacts[16]; // of the last step
        const int  count = tn_stepper_contacts(stepper, contacts, 16);
        for (int i = 0; i < count && i < 16; ++i) {
            normal += contacts[i].force.z;
            tangent += contacts[i].force.x;
        }
        printf("slope %.2f rad: %d contact points, normal force %.3f N, friction %.3f N, speed "
               "%.4f m/s\n",
               slope, count, normal, tangent, fabs(tn_state_velocity(state, id).linear.x));
    }
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return result;
}

int main(void)
{
    tn_why    why    = {0};
    tn_result result = TN_OK;
    for (int i = 0; i < 3 && result == TN_OK; ++i) result = slide(0.2 * (i + 1), &why);
    if (result != TN_OK) fprintf(stderr, "contacts: %s: %s\n", tn_result_text(result), why.text);
    return result == TN_OK ? 0 : 1;
}
