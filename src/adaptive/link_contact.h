// link_contact: points in contact of limbs, and the impulses between them. See link_contact.c, contact_impulse.c, impulse_response.c.
#ifndef TNI_LINK_CONTACT_H
#define TNI_LINK_CONTACT_H

#include "adaptive/hybrid.h"
#include "contact/contact.h"
#include "linalg/friction_cone.h"

struct tni_adaptive;

/// impulse_response.c. Articulated inertias of a hybrid body where it was moved to, with K as for
/// tni_hybrid_accelerate, which leaves the same. False: not positive definite.
bool tni_hybrid_factor(tni_hybrid* hybrid, const double* K);
/// Impulses on one or two clusters (-1: none; world axes about their origins; lost), `rows` of them at once: how
/// they act on the joints inwards of there. Returns the number of columns: velocity columns[i] has
/// y[rows * i ... + rows - 1]. Products of such lists are M^-1 between the impulses.
int tni_hybrid_halve(const tni_hybrid* hybrid, const int cluster[2], int rows,
                     tni_six force[2][TNI_CONTACT_ROWS], int* columns, double* y);
/// s, by velocity: a sum of such lists. The changes of velocities, laid out alike.
void tni_hybrid_answer(tni_hybrid* hybrid, const double* s, double* change);

static const double tni_link_contact_slop = 1e-6; ///< [m]; penetration that is left alone

enum { TNI_LINK_CONTACT_DIRECT = 96 }; ///< rows of an island whose W is written down, at most

/// A point in contact in a step.
typedef struct tni_link_contact {
    tni_contact touch;
    int         limb[2]; ///< -1: it cannot be pushed
    int         island;
    int         rows, slip, spin; ///< all; of them after the normal; roll follows
    int         first;            ///< of its rows in the problem
    int         column, count;    ///< of its columns
    size_t      y;
    double      gap;
    double      bounce; ///< speed that it is to leave with; 0: none
    double      coming; ///< speed at the start of the step, where it did not press before
    bool        hit;    ///< it came flying
    bool        out;    ///< nothing can move it
    double      before[TNI_CONTACT_ROWS]; ///< impulses that are in the forces already
    double      f[TNI_CONTACT_ROWS];      ///< impulses
    double      rate[TNI_CONTACT_ROWS];   ///< after them
} tni_link_contact;

/// Room for them, which grows between steps.
typedef struct tni_link_contacts {
    const tn_model*   model;
    tni_finder*       finder;
    tni_arena         arena; ///< of what grows
    int               count, capacity;
    int               column_count, column_capacity;
    size_t            number_count, number_capacity;
    bool              full;
    tni_contact*      found;
    tni_link_contact* footings;
    int*              order; ///< by island
    int*              columns;
    double*           y;
    uint8_t*          condition; ///< by row of the island that is solved, as all below
    double *          mu, *b, *f, *a;
    double*           block; ///< by footing, in their order: its rows of W, TNI_CONTACT_ROWS apart
    tni_cone*         far;

    // By limb, by tree, by velocity: these do not grow.
    int*           pushed;      ///< by limb: in adaptive->pushed; -1: it has no shape
    double*        extent;      ///< by body: of its shapes about its centre of mass
    double*        speed;       ///< by tree: of the fastest point of a shape
    double         outer;       ///< likewise of what cannot be pushed
    int *          up, *number; ///< by tree
    int*           size;        ///< by tree: its active freedoms; by island: where it begins
    uint8_t*       near;        ///< by tree: it has footings
    double *       s, *change, *kept;
    double*        q; ///< in the middle of the step
    double*        W;
    tni_cone*      cone;
    tni_warm_start warm_start;
    bool           parting;            ///< v is more than what is kept of it
    bool           quiet;              ///< normals alone are solved for
    int            first_of, count_of; ///< of the island being solved, in order
    int            island_count;

    double complementarity; ///< of the last step
    int    hits;            ///< likewise
} tni_link_contacts;

/// TN_ERR_MEMORY only, here and below. After tni_outside_create.
TN_NODISCARD tn_result tni_link_contacts_create(tni_arena* arena, struct tni_adaptive* adaptive);
void                   tni_link_contacts_free(tni_link_contacts* footings); ///< NULL is allowed
TN_NODISCARD tn_result tni_link_contacts_grow(tni_link_contacts* footings);

/// What pressed in the step before.
void tni_link_contacts_load(tni_link_contacts* footings, const tni_warm_start* pressed);
void tni_link_contacts_store(const tni_link_contacts* footings, tni_warm_start* pressed);

/// At the start of a step, when outside forces are known: finds points, adds what pressed in the step before to
/// the forces on limbs. False: full.
bool tni_link_contacts_find(struct tni_adaptive* adaptive);
/// Once velocities have been changed by all forces, before places are: changes them by impulses. False: full.
bool tni_link_contacts_meet(struct tni_adaptive* adaptive);
/// After places have been changed: velocities that were only to part things are forgotten.
void tni_link_contacts_part(struct tni_adaptive* adaptive);

/// contact_impulse.c: impulses f of the points first .. first + count - 1 of the order, an island, and their rates; s <- the sum
/// of their lists that this adds. quiet: velocities that part them, s alone.
void tni_link_contacts_solve(tni_link_contacts* footings, int first, int count, double h);
/// s <- 0 where these points reach.
void tni_link_contacts_clear(const tni_link_contacts* footings, int first, int count);

#endif
