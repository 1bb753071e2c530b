// evaluate: a built-in scene evaluated or stepped COUNT times and nothing else, for instruction
// counters.
//     evaluate SCENE COUNT [evaluate|step [core|auxiliary|SETTINGS]]
// core, auxiliary: multiplier.loops. SETTINGS: method=implicit,implicit.form=rows. Steps are of 1e-4 s
// unless h is set.
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Settings "a=1,b=2", taken apart in place.
static bool set_all(tn_settings* settings, char* text, tn_why* why)
{
    for (char* next; text && *text; text = next) {
        next        = strchr(text, ',');
        char* value = strchr(text, '=');
        if (next) *next++ = '\0';
        if (value) *value++ = '\0';
        if (tn_settings_set(settings, text, value ? value : "", why) != TN_OK) return false;
    }
    return true;
}

static bool choose(tn_settings* settings, char* how, tn_why* why)
{
    settings->method = TN_METHOD_MULTIPLIER;
    settings->h      = 1e-4;
    if (how == NULL) return true;
    if (strchr(how, '=')) return set_all(settings, how, why);
    return tn_settings_set(settings, "multiplier.loops", how, why) == TN_OK;
}

int main(int count, char** arguments)
{
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (count < 3) return 2;
    tn_settings settings = tn_default_settings();
    const bool  stepping = count > 3 && strcmp(arguments[3], "step") == 0;
    bool        good     = tns_build(NULL, arguments[1], &scene, &why) == TN_OK;
    if (good) settings = tn_scene_settings(scene);
    if (!good || !choose(&settings, count > 4 ? arguments[4] : NULL, &why) ||
        tn_scene_compile(scene, &model, &why) != TN_OK || tn_state_create(model, &state) != TN_OK ||
        tn_stepper_create(model, &settings, &stepper, &why) != TN_OK) {
        fprintf(stderr, "evaluate: %s\n", why.text);
        return 1;
    }
    for (int i = 0; i < atoi(arguments[2]); ++i) {
        const tn_result result = stepping ? tn_stepper_step(stepper, state, settings.h, NULL, &why)
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
