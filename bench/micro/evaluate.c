// evaluate: a built-in scene evaluated or stepped COUNT times and nothing else, for instruction
// counters.
//     evaluate SCENE COUNT [step]
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments)
{
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (count < 3) return 2;
    if (tns_build(NULL, arguments[1], &scene, &why) != TN_OK ||
        tn_scene_compile(scene, &model, &why) != TN_OK || tn_state_create(model, &state) != TN_OK ||
        tn_stepper_create(model, NULL, &stepper, &why) != TN_OK) {
        fprintf(stderr, "evaluate: %s\n", why.text);
        return 1;
    }
    for (int i = 0; i < atoi(arguments[2]); ++i) {
        const tn_result result = count > 3 ? tn_stepper_step(stepper, state, 1e-4, NULL, &why)
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
