// implicit_contacts: contacts in an implicit step: the points found, and the room for them. See
// implicit_contacts.c.
#ifndef TNI_IMPLICIT_CONTACTS_H
#define TNI_IMPLICIT_CONTACTS_H

#include "contact/soft_contact.h"
#include "system/woodbury.h"

typedef struct tni_implicit_contacts {
    const tn_model*  model;
    bool             possible; ///< the model has shapes that may touch
    tni_contact_law  law;
    tni_contact_room room;
    tni_arena        arena;    ///< of the arrays in `room`
    tni_woodbury     woodbury; ///< contacts between two movable bodies: outside the factored matrix
    bool             full;     ///< a capacity was too small
} tni_implicit_contacts;

/// TN_ERR_MEMORY only, here and in tni_implicit_contacts_grow.
TN_NODISCARD tn_result tni_implicit_contacts_create(const tn_model*             model,
                                                    const tn_implicit_settings* settings,
                                                    tni_implicit_contacts*      contacts);
void                   tni_implicit_contacts_free(tni_implicit_contacts* contacts);
/// Doubles the capacity; between steps, or before one is repeated.
TN_NODISCARD tn_result tni_implicit_contacts_grow(tni_implicit_contacts* contacts);

/// As tni_soften, for all contacts. again: it is the same step. False: no room for them.
bool tni_implicit_contacts_soften(tni_implicit_contacts* contacts, const tni_scene_view* at,
                                  const tni_prediction* predicted, bool again, tni_take_soft* take,
                                  void* user);
/// Largest penetration at the views [m]; *count: number of contact points.
double tni_implicit_contacts_penetration(tni_implicit_contacts* contacts, const tni_view* views,
                                         int* count);

#endif
