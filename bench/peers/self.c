// self: Tenon behind the face that the other engines have. Public headers only.
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct self_world {
    tn_state*   state;
    tn_stepper* stepper;
} self_world;

static void close_world(void* world)
{
    self_world* w = world;
    tn_stepper_free(w->stepper);
    tn_state_free(w->state);
    free(w);
}

static void* open_world(const tn_model* model, const tn_state* start, const char* method,
                        double tolerance, tn_why* why)
{
    self_world* w        = calloc(1, sizeof *w);
    tn_settings settings = tn_default_settings();
    char        key[32], number[32];
    snprintf(key, sizeof key, "%s.tolerance", method);
    snprintf(number, sizeof number, "%.17g", tolerance);
    if (tn_settings_set(&settings, "method", method, why) == TN_OK &&
        (tolerance == 0 || tn_settings_set(&settings, key, number, why) == TN_OK) &&
        tn_stepper_create(model, &settings, &w->stepper, why) == TN_OK &&
        tn_state_create(model, &w->state) == TN_OK) {
        tn_state_copy(w->state, start);
        return w;
    }
    close_world(w);
    return NULL;
}

static void* open_impulse(const tn_model* model, const tn_state* start, const peer_options* options,
                          tn_why* why)
{
    return open_world(model, start, "impulse", options->tolerance, why);
}

static void* open_multiplier(const tn_model* model, const tn_state* start,
                             const peer_options* options, tn_why* why)
{
    return open_world(model, start, "multiplier", options->tolerance, why);
}

static void* open_implicit(const tn_model* model, const tn_state* start,
                           const peer_options* options, tn_why* why)
{
    return open_world(model, start, "implicit", options->tolerance, why);
}

static bool step(void* world, double h, tn_why* why)
{
    self_world* w = world;
    return tn_stepper_step(w->stepper, w->state, h, NULL, why) == TN_OK;
}

static void read_world(const void* world, tn_state* state)
{
    tn_state_copy(state, ((const self_world*)world)->state);
}

const peer_engine peer_tenon_impulse    = {"Tenon impulse", open_impulse, step, read_world,
                                           close_world};
const peer_engine peer_tenon_multiplier = {"Tenon multiplier", open_multiplier, step, read_world,
                                           close_world};
const peer_engine peer_tenon_implicit   = {"Tenon implicit", open_implicit, step, read_world,
                                           close_world};
