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
    double*     joints; ///< coordinates, rates and room for accelerations, for tn_stepper_forward
} tenon_world;

static void close_world(void* world)
{
    tenon_world* w = world;
    tn_stepper_free(w->stepper);
    tn_state_free(w->state);
    free(w->joints);
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

static void* open_forward(const peer_plain* p, const peer_options* options, tn_why* why)
{
    const tn_model* model = p->scene->model;
    const int       n     = tn_model_coordinate_count(model);
    tenon_world*    w     = open_world(p, options, why);
    if (!w) return NULL;
    w->joints = calloc(3 * (size_t)n + 1, sizeof(double));
    for (int i = 1; i <= model->joint_count; ++i) {
        const tn_joint_id id = {(uint32_t)i};
        const int         at = tn_model_joint_coordinate_start(model, id);
        tn_state_joint_position(w->state, id, w->joints + at);
        tn_state_joint_velocity(w->state, id, w->joints + n + at);
    }
    return w;
}

// Joint coordinates in, joint accelerations out: bodies are placed by them first.
static bool evaluate_forward(void* world, double* a, tn_why* why)
{
    tenon_world* w = world;
    const int    n = tn_model_coordinate_count(w->state->model);
    if (a) return peer_refuse(why, "Tenon", "reading accelerations of bodies here");
    return tn_stepper_forward(w->stepper, w->state, w->joints, w->joints + n, NULL,
                              w->joints + 2 * n, why) == TN_OK;
}

static void read_world(const void* world, tn_state* state)
{
    tn_state_copy(state, ((const tenon_world*)world)->state);
}

const peer_engine peer_tenon = {"Tenon", open_world, step, read_world, close_world, evaluate};
const peer_engine peer_tenon_forward = {"Tenon",    open_forward, step,
                                        read_world, close_world,  evaluate_forward};
