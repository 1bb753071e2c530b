// evaluate: a built-in scene evaluated or stepped COUNT times and nothing else, for instruction
// counters.
//     evaluate SCENE COUNT [evaluate|step [core|auxiliary]]      the last: multiplier.loops
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_stepper(const tn_scene* scene, const tn_model* model, const char* loops,
                         tn_stepper** stepper, tn_why* why)
{
    tn_settings settings = tn_scene_settings(scene);
    if (loops && tn_settings_set(&settings, "multiplier.loops", loops, why) != TN_OK) return false;
    return tn_stepper_create(model, &settings, stepper, why) == TN_OK;
}

int main(int count, char** arguments)
{
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (count < 3) return 2;
    const bool stepping = count > 3 && strcmp(arguments[3], "step") == 0;
    if (tns_build(NULL, arguments[1], &scene, &why) != TN_OK ||
        tn_scene_compile(scene, &model, &why) != TN_OK || tn_state_create(model, &state) != TN_OK ||
        !make_stepper(scene, model, count > 4 ? arguments[4] : NULL, &stepper, &why)) {
        fprintf(stderr, "evaluate: %s\n", why.text);
        return 1;
    }
    for (int i = 0; i < atoi(arguments[2]); ++i) {
        const tn_result result = stepping ? tn_stepper_step(stepper, state, 1e-4, NULL, &why)
                                          : tn_stepper_evaluate(stepper, state, NULL, &why);
        if (result != TN_OK) {
            fprintf(stderr, "evaluate: %s\n", why.text);
            return 1;
        }
    }
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return 0;
}
