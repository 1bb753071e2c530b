// linearise: what the forms of an implicit step have in common. See linearise.c.
#ifndef TNI_LINEARISE_H
#define TNI_LINEARISE_H

#include "force/force.h"
#include "system/implicit_contacts.h"
#include "system/implicit_system.h"

/// A step linearised at its start. Holds pointers: valid as long as what they point to.
typedef struct tni_linear {
    const tn_model*        model;
    tni_system*            system;
    tni_implicit_contacts* contacts;
    const tni_step_start*  start;
    const tni_step_scheme* scheme;
    double                 reach; ///< e = share h
    const tni_mat3*        K_g;   ///< by body; not used without start->multipliers
    tni_scene_view         scene;
    tni_prediction         predicted;
} tni_linear;

/// Evaluates the start: the system's views are set. K_g: by body, filled in.
tni_linear tni_linear_begin(tni_system* system, tni_implicit_contacts* contacts,
                            const tni_step_start* start, const tni_step_scheme* scheme,
                            tni_mat3* K_g);
/// For a movable body: A = M + e^2 K_g, and its force b becomes the impulse p + e b - e K_g h
/// drift.
void tni_linear_body(const tni_linear* l, int body, double* A, double* b);
/// J (by edge) of a constraint, its targets r, and the system's C, rate and gamma. written: all but
/// the targets is there already.
void tni_linear_rows(const tni_linear* l, int constraint, double** J, bool written, double* r);
/// Geometric stiffness of a distance joint, or a rope, across its line under the force lambda along
/// it: a soft force that is zero at the start.
void tni_linear_distance(const tni_linear* l, const tni_joint* joint, double lambda,
                         tni_soft* soft);
/// A soft force over the step: the impulse g - W J u. False: it is a contact between two movable
/// bodies, which goes into the Woodbury correction; nothing is left to do.
bool tni_linear_soft(const tni_linear* l, const tni_soft* soft, double* W, double* g, double* b);
/// All contacts. TN_ERR_MEMORY: no room for them.
TN_NODISCARD tn_result tni_linear_contacts(const tni_linear* l, tni_take_soft* take, void* user,
                                           tn_why* why);

#endif
