// soft_contact: contact points as stiff forces that push and never pull. See soft_contact.c.
#ifndef TNI_SOFT_CONTACT_H
#define TNI_SOFT_CONTACT_H

#include "contact/contact.h"
#include "force/force.h"

/// Slip speed below which friction holds by creeping [m/s].
#define TNI_CONTACT_CREEP 1e-3

typedef struct tni_contact_law {
    double stiffness; ///< [N/m]
    double damping;   ///< [N s/m]
} tni_contact_law;

/// Workspace of a search. The arrays may be replaced by larger ones between steps.
typedef struct tni_contact_room {
    tni_finder*  finder;
    tni_view*    views; ///< by body: predicted view at the end, for bodies with shapes
    tni_contact* contacts;
    double*      secants; ///< by contact: D of its friction
    int          capacity;
    bool         keep;    ///< the same step again: keep the points that were found before
    int          known;   ///< number of these points
    int          count;   ///< of them, those that push, at the last evaluation
    bool         met;     ///< one of these did not touch at the start of the step
    uint64_t     pushing; ///< hash of the set that pushes: different sets have different hashes,
                          ///< almost surely
} tni_contact_room;

/// The law of the settings. Stiffness 0: chosen by the mass of all movable bodies so that it would
/// sink 0.1 mm under its weight on one point, and damped so that nothing bounces.
tni_contact_law tni_contact_law_of(const tn_model* model, const tn_implicit_settings* settings);

/// All contact points that will push, in a fixed order: on one body (TNI_SOFT_BODY) or between two
/// (TNI_SOFT_CONTACT). Rows are those of tni_contact_rows; without friction only the first.
/// at->views are those at the start of the step. Returns the number of points found; when that is
/// more than the room's capacity, none was taken.
int tni_contact_soften(const tni_scene_view* at, const tni_prediction* predicted,
                       tni_contact_law law, tni_contact_room* room, tni_take_soft* take,
                       void* user);
/// True if, with other predicted velocities in the same step, the same points push as at the last
/// evaluation.
bool tni_contact_active_set_holds(const tni_scene_view* at, const tni_prediction* predicted,
                                  tni_contact_law law, tni_contact_room* room);
/// f += the forces at the evaluated configuration, which ended a step of h that tni_contact_soften
/// has seen. Returns as above.
int tni_contact_forces(const tni_scene_view* at, double h, tni_contact_law law,
                       tni_contact_room* room, double* f);

#endif
