// touching: contacts in an implicit step: the points found, and the room for them. See touching.c.
#ifndef TNI_TOUCHING_H
#define TNI_TOUCHING_H

#include "contact/soft.h"
#include "system/beside.h"

typedef struct tni_touching {
    const tn_model*  model;
    bool             may; ///< something may touch something
    tni_contact_law  law;
    tni_contact_room room;
    tni_arena        arena;  ///< of the room
    tni_beside       beside; ///< forces between two bodies that are in no block
    bool             full;   ///< more room is needed than there was
} tni_touching;

/// TN_ERR_MEMORY only, here and in tni_touching_grow.
TN_NODISCARD tn_result tni_touching_create(const tn_model*             model,
                                           const tn_implicit_settings* settings,
                                           tni_touching*               touching);
void                   tni_touching_free(tni_touching* touching);
/// Twice the room, between steps or before one is tried again.
TN_NODISCARD tn_result tni_touching_grow(tni_touching* touching);

/// As tni_soften, of all contacts. False: there is no room for them.
/// again: it is the same step.
bool tni_touching_soften(tni_touching* touching, const tni_scene_view* at, const tni_ahead* ahead,
                         bool again, tni_take_soft* take, void* user);
/// Largest penetration where the views are [m]; *count: points that touch.
double tni_touching_deepest(tni_touching* touching, const tni_view* views, int* count);

#endif
