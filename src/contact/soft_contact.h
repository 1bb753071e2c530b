// soft_contact: points in contact as stiff forces that push and never pull. See soft_contact.c.
#ifndef TNI_SOFT_CONTACT_H
#define TNI_SOFT_CONTACT_H

#include "contact/contact.h"
#include "force/force.h"

/// Speed below which friction holds by creeping [m/s].
#define TNI_CONTACT_CREEP 1e-3

typedef struct tni_contact_law {
    double stiffness; ///< [N/m]
    double damping;   ///< [N s/m]
} tni_contact_law;

/// What a search needs. Touches may be replaced by more of them between steps.
typedef struct tni_contact_room {
    tni_finder*  finder;
    tni_view*    views; ///< by body: where those with shapes are expected to end
    tni_contact* touches;
    double*      secants; ///< what friction resists slip with, by touch
    int          capacity;
    bool         keep;    ///< it is the same step again: points that were looked at still are
    int          known;   ///< those
    int          count;   ///< of them, those that push, of the last look
    uint64_t     pushing; ///< which: two sets that differ have different numbers, as good as always
} tni_contact_room;

/// Those of the settings; a stiffness of 0: by the mass of all that can be pushed, so that it would
/// sink 0.1 mm under its weight if it all stood on one point, damped within a millisecond.
tni_contact_law tni_contact_law_of(const tn_model* model, const tn_implicit_settings* settings);

/// All points in contact that will push, in a fixed order: on one body alone (TNI_SOFT_BODY), or
/// between two (TNI_SOFT_TOUCH). Rows are those of tni_contact_rows, without friction the first
/// alone. at->views and their velocities are where the step starts. Returns how many points were
/// looked at; when that is more than the room's capacity, nothing was taken.
int tni_contact_soften(const tni_scene_view* at, const tni_prediction* predicted,
                       tni_contact_law law, tni_contact_room* room, tni_take_soft* take,
                       void* user);
/// Whether, with other velocities expected in the same step, the same points push as in the last
/// look.
bool tni_contact_active_set_holds(const tni_scene_view* at, const tni_prediction* predicted,
                                  tni_contact_law law, tni_contact_room* room);
/// f += the forces where the scene is seen, a step of h having ended there that tni_contact_soften
/// has looked at. Returns as above.
int tni_contact_forces(const tni_scene_view* at, double h, tni_contact_law law,
                       tni_contact_room* room, double* f);

#endif
