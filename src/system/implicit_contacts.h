// implicit_contacts: contacts in an implicit step: the points found, and the room for them. See implicit_contacts.c.
#ifndef TNI_IMPLICIT_CONTACTS_H
#define TNI_IMPLICIT_CONTACTS_H

#include "contact/soft_contact.h"
#include "system/woodbury.h"

typedef struct tni_implicit_contacts {
    const tn_model*  model;
    bool             may; ///< something may touch something
    tni_contact_law  law;
    tni_contact_room room;
    tni_arena        arena;    ///< of the room
    tni_woodbury     woodbury; ///< forces between two bodies that are in no block
    bool             full;     ///< more room is needed than there was
} tni_implicit_contacts;

/// TN_ERR_MEMORY only, here and in tni_implicit_contacts_grow.
TN_NODISCARD tn_result tni_implicit_contacts_create(const tn_model*             model,
                                                    const tn_implicit_settings* settings,
                                                    tni_implicit_contacts*      contacts);
void                   tni_implicit_contacts_free(tni_implicit_contacts* contacts);
/// Twice the room, between steps or before one is tried again.
TN_NODISCARD tn_result tni_implicit_contacts_grow(tni_implicit_contacts* contacts);

/// As tni_soften, of all contacts. False: there is no room for them.
/// again: it is the same step.
bool tni_implicit_contacts_soften(tni_implicit_contacts* contacts, const tni_scene_view* at,
                                  const tni_prediction* predicted, bool again, tni_take_soft* take,
                                  void* user);
/// Largest penetration where the views are [m]; *count: points that touch.
double tni_implicit_contacts_penetration(tni_implicit_contacts* contacts, const tni_view* views,
                                         int* count);

#endif
