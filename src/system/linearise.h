// linearise: what the forms of an implicit step lay out alike. See linearise.c.
#ifndef TNI_LINEARISE_H
#define TNI_LINEARISE_H

#include "force/force.h"
#include "system/implicit_contacts.h"
#include "system/implicit_system.h"

/// A step as it is seen from its start. Valid as long as what it is made of.
typedef struct tni_linear {
    const tn_model*        model;
    tni_system*            system;
    tni_implicit_contacts* contacts;
    const tni_step_start*  start;
    const tni_step_scheme* scheme;
    double                 reach; ///< e = share h
    const tni_mat3*        K_g;   ///< by body; of no use without start->multipliers
    tni_scene_view         scene;
    tni_prediction         predicted;
} tni_linear;

/// Looks from the start: system's views are those. K_g: room, by body.
tni_linear tni_linear_begin(tni_system* system, tni_implicit_contacts* contacts,
                            const tni_step_start* start, const tni_step_scheme* scheme,
                            tni_mat3* K_g);
/// Of a body that can be pushed: A = M + e^2 K_g, and of its forces b the impulse p + e b - e K_g h drift.
void tni_linear_body(const tni_linear* l, int body, double* A, double* b);
/// J (by edge) of a constraint, what its rows ask for, and system's C, rate and gamma. written: but
/// for what is asked for they are there already.
void tni_linear_rows(const tni_linear* l, int constraint, double** J, bool written, double* r);
/// What a joint that holds a distance, or a rope, resists with across it under the force lambda
/// along it: a soft force that is zero at the start.
void tni_linear_distance(const tni_linear* l, const tni_joint* joint, double lambda,
                         tni_soft* soft);
/// A soft force over the step: the impulse g - W J u. False: it is between bodies that touch, and
/// goes beside what is factored; nothing is left to do.
bool tni_linear_soft(const tni_linear* l, const tni_soft* soft, double* W, double* g, double* b);
/// All contacts. TN_ERR_MEMORY: there is no room for them.
TN_NODISCARD tn_result tni_linear_contacts(const tni_linear* l, tni_take_soft* take, void* user,
                                           tn_why* why);

#endif
