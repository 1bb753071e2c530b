// limit: a built-in scene stepped or evaluated, always from its start, and how long it took; for
// bench/limits, which counts what it does.
//     limit SCENE COUNT evaluate|forward|step SETTINGS      COUNT times from the start: 8 steps, or 8 evaluations
// SETTINGS: method=implicit,implicit.form=rows,h=0.01. Prints microseconds a step.
#define _POSIX_C_SOURCE 200809L
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 8 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Settings "a=1,b=2", taken apart in place.
static bool set_all(tn_settings* settings, char* text, tn_why* why)
{
    for (char* word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char* value = strchr(word, '=');
        if (value) *value++ = '\0';
        if (tn_settings_set(settings, word, value ? value : "", why) != TN_OK) return false;
    }
    return true;
}

// What is done, and with what; joints: zeros, of coordinates, rates, accelerations.
typedef struct work {
    const char* what;
    tn_stepper* stepper;
    tn_state*   state;
    double*     joints;
    int         coordinates;
    double      h;
} work;

static tn_result once(const work* w, tn_why* why)
{
    if (strcmp(w->what, "step") == 0) return tn_stepper_step(w->stepper, w->state, w->h, NULL, why);
    if (strcmp(w->what, "evaluate") == 0)
        return tn_stepper_evaluate(w->stepper, w->state, NULL, why);
    return tn_stepper_forward(w->stepper, w->state, w->joints, w->joints + w->coordinates, NULL,
                              w->joints + 2 * w->coordinates, why);
}

static bool go(const work* w, tn_why* why)
{
    tn_state_reset(w->state);
    for (int i = 0; i < STEPS; ++i)
        if (once(w, why) != TN_OK) return false;
    return true;
}

int main(int count, char** arguments)
{
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (count != 5) return 2;
    bool        good     = tns_build(NULL, arguments[1], &scene, &why) == TN_OK;
    tn_settings settings = tn_default_settings();
    if (good) settings = tn_scene_settings(scene);
    if (settings.method == TN_METHOD_AUTO)
        settings.method = TN_METHOD_MULTIPLIER, settings.h = 1e-3;
    good = good && set_all(&settings, arguments[4], &why) &&
           tn_scene_compile(scene, &model, &why) == TN_OK &&
           tn_state_create(model, &state) == TN_OK &&
           tn_stepper_create(model, &settings, &stepper, &why) == TN_OK;
    const int    n      = good ? tn_model_coordinate_count(model) : 0;
    double*      joints = calloc(3 * (size_t)n + 1, sizeof *joints);
    const work   w      = {arguments[3], stepper, state, joints, n, settings.h};
    const int    rounds = atoi(arguments[2]);
    const double begun  = seconds();
    for (int i = 0; good && i < rounds; ++i) good = go(&w, &why);
    if (good) printf("%.6g\n", 1e6 * (seconds() - begun) / rounds / STEPS);
    else fprintf(stderr, "limit: %s\n", why.text);
    free(joints);
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return !good;
}
