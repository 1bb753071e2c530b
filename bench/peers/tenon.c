// tenon: Tenon behind the face that the other engines have. Settings are words as on the command
// line, with blanks between them.
#include "peer.h"
#include "state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tenon_world {
    tn_state*   state;
    tn_stepper* stepper;
} tenon_world;

static void close_world(void* world)
{
    tenon_world* w = world;
    tn_stepper_free(w->stepper);
    tn_state_free(w->state);
    free(w);
}

static bool set_all(tn_settings* settings, const char* words, tn_why* why)
{
    char text[256];
    snprintf(text, sizeof text, "%s", words);
    for (char* word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char* value = strchr(word, '=');
        if (!value) return peer_refuse(why, "Tenon", word);
        *value = 0;
        if (tn_settings_set(settings, word, value + 1, why) != TN_OK) return false;
    }
    return true;
}

static void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    tenon_world* w        = calloc(1, sizeof *w);
    tn_settings  settings = tn_default_settings();
    if (set_all(&settings, options->settings, why) &&
        tn_stepper_create(p->scene->model, &settings, &w->stepper, why) == TN_OK &&
        tn_state_create(p->scene->model, &w->state) == TN_OK) {
        tn_state_copy(w->state, p->scene->start);
        return w;
    }
    close_world(w);
    return NULL;
}

static bool step(void* world, double h, tn_why* why)
{
    tenon_world* w = world;
    return tn_stepper_step(w->stepper, w->state, h, NULL, why) == TN_OK;
}

static bool evaluate(void* world, double* a, tn_why* why)
{
    tenon_world* w = world;
    if (tn_stepper_evaluate(w->stepper, w->state, NULL, why) != TN_OK) return false;
    const tn_model* model = w->state->model;
    const double*   rates = tn_stepper_accelerations(w->stepper);
    for (int i = 1; a && i < model->body_count; ++i)
        memcpy(a + 6 * i, rates + model->bodies[i].u_start, 6 * sizeof *a);
    return true;
}

static void read_world(const void* world, tn_state* state)
{
    tn_state_copy(state, ((const tenon_world*)world)->state);
}

const peer_engine peer_tenon = {"Tenon", open_world, step, read_world, close_world, evaluate};
