// drop_self: Tenon's impulse method behind the face of drop.h.
#include "drop.h"

#include <stdlib.h>

typedef struct world_of_tenon {
    const drop* d;
    void*       world;
    tn_state*   state;
} world_of_tenon;

static void close_world(void* world)
{
    world_of_tenon* w = world;
    if (w->world) peer_tenon_impulse.close(w->world);
    tn_state_free(w->state);
    free(w);
}

static void* open_world(const drop* d, const drop_options* options, tn_why* why)
{
    const peer_options self = {.tolerance = options->tolerance};
    world_of_tenon*    w    = calloc(1, sizeof *w);
    w->d                    = d;
    w->world                = peer_tenon_impulse.open(d->scene->model, d->scene->start, &self, why);
    if (w->world && tn_state_create(d->scene->model, &w->state) == TN_OK) return w;
    close_world(w);
    return NULL;
}

static bool step(void* world, double h, tn_why* why)
{
    return peer_tenon_impulse.step(((world_of_tenon*)world)->world, h, why);
}

static void read_world(const void* world, drop_pose* poses)
{
    const world_of_tenon* w = world;
    peer_tenon_impulse.read(w->world, w->state);
    drop_read(w->d, w->state, poses);
}

const drop_engine drop_tenon = {"Tenon", open_world, step, read_world, close_world};
