// link_contact: contact points of links, and the impulses between them: link_contact.c,
// contact_impulse.c, impulse_response.c.
#ifndef TNI_LINK_CONTACT_H
#define TNI_LINK_CONTACT_H

#include "adaptive/hybrid.h"
#include "contact/contact.h"
#include "linalg/friction_cone.h"

struct tni_adaptive;

/// impulse_response.c. Articulated inertias of a hybrid body where it was last moved to, with K as
/// for tni_hybrid_accelerate(), whose workspace it overwrites. False: not positive definite.
bool tni_hybrid_factor(tni_hybrid* hybrid, const double* K);
/// Half response of impulses on one or two clusters (-1: none), `rows` of them at once; force:
/// world axes about the cluster's origin, overwritten. Returns the number of columns: joint
/// velocity columns[i] has the values y[rows * i ... + rows - 1]. The product y_e . y_f of two such
/// lists is e^T M^-1 f.
int tni_hybrid_half_response(const tni_hybrid* hybrid, const int cluster[2], int rows,
                             tni_spatial force[2][TNI_CONTACT_ROWS], int* columns, double* y);
/// Changes of velocities from s, a sum of half responses; both laid out by velocity.
void tni_hybrid_velocity_change(tni_hybrid* hybrid, const double* s, double* change);

static const double tni_link_contact_slop = 1e-6; ///< [m]; penetration that is not corrected

enum { TNI_LINK_CONTACT_DIRECT = 96 }; ///< most rows of an island whose W is formed explicitly

/// A contact point in a step.
typedef struct tni_link_contact {
    tni_contact touch;
    int         link[2]; ///< -1: static or kinematic
    int         island;
    int         rows, slip, spin; ///< number of rows: all; sliding; spinning; rolling ones follow
    int         first;            ///< its first row in the problem of its island
    int         column, count;    ///< its columns (half response): start, count
    size_t      y;                ///< start of its values in tni_link_contacts.y
    double      gap;              ///< [m]; negative: penetration
    double      bounce;           ///< normal speed wanted after the step [m/s]; 0: none
    /// normal approach speed at the start of the step [m/s]; 0 if it carried force in the last step
    double approach;
    bool   hit;                    ///< this is an impact
    bool   immovable;              ///< its response is zero
    double P0[TNI_CONTACT_ROWS];   ///< included in the forces on links (warm start) [N s]
    double f[TNI_CONTACT_ROWS];    ///< impulses [N s]
    double rate[TNI_CONTACT_ROWS]; ///< velocities of its rows after them
} tni_link_contact;

/// Contacts of a step. Some arrays grow between steps.
typedef struct tni_link_contacts {
    const tn_model*   model;
    tni_finder*       finder;
    tni_arena         arena; ///< of the arrays that grow
    int               count, capacity;
    int               column_count, column_capacity;
    size_t            number_count, number_capacity;
    bool              full; ///< a capacity was too small
    tni_contact*      found;
    tni_link_contact* points;
    int*              order;     ///< points sorted by island
    int*              columns;   ///< half responses of all points: joint velocity of each column
    double*           y;         ///< their values
    uint8_t*          condition; ///< by row of the island being solved, as all below
    double *          mu, *b, *f, *a;
    double*           block; ///< by point: its diagonal block of W, row stride TNI_CONTACT_ROWS
    tni_cone*         far;

    // By link, by tree, by velocity: these do not grow.
    int*    loaded;      ///< by link: index in adaptive->loaded; -1: it has no shape
    double* extent;      ///< by body: radius of its shapes about its centre of mass [m]
    double* speed;       ///< by tree: speed of its fastest point [m/s]
    double  outer;       ///< the same of static and kinematic bodies
    int *   up, *number; ///< by tree: union-find parent, island number
    /// by tree: its active freedoms; then by island: its first point in `order`
    int*           size;
    uint8_t*       has_points; ///< by tree: it has contact points
    double *       s, *change, *v_kept;
    double*        q; ///< configurations at the middle of the step
    double*        W;
    tni_cone*      cone;
    tni_warm_start warm_start;
    bool           separating;         ///< v includes separation velocities; v_kept does not
    bool           normals_only;       ///< the separation problem is being solved: normal rows only
    int            first_of, count_of; ///< of the island being solved, in `order`
    int            island_count;

    double complementarity; ///< residual of the last step
    int    hits;            ///< impacts in the last step
} tni_link_contacts;

/// Fails with TN_ERR_MEMORY only, as the next ones. Call after tni_external_force_create().
TN_NODISCARD tn_result tni_link_contacts_create(tni_arena* arena, struct tni_adaptive* adaptive);
void                   tni_link_contacts_free(tni_link_contacts* contacts); ///< NULL is allowed
TN_NODISCARD tn_result tni_link_contacts_grow(tni_link_contacts* contacts);

/// Contact forces carried over from step to step.
void tni_link_contacts_load(tni_link_contacts* contacts, const tni_warm_start* pressed);
void tni_link_contacts_store(const tni_link_contacts* contacts, tni_warm_start* pressed);

/// At the start of a step, after external forces: finds contact points and adds the contact forces
/// of the last step to the forces on links. False: a capacity is too small.
bool tni_link_contacts_find(struct tni_adaptive* adaptive);
/// After all forces changed velocities and before positions move: changes velocities by contact
/// impulses. False: a capacity is too small.
bool tni_link_contacts_apply(struct tni_adaptive* adaptive);
/// After positions have moved: takes back the separation velocities.
void tni_link_contacts_finish(struct tni_adaptive* adaptive);

/// contact_impulse.c: solves the island of points first .. first + count - 1 of `order`: impulses f
/// and row velocities; s <- sum of the half responses of their changes. With normals_only:
/// separation impulses, s alone.
void tni_link_contacts_solve(tni_link_contacts* contacts, int first, int count, double h);
/// s <- 0 in the columns of these points.
void tni_link_contacts_clear(const tni_link_contacts* contacts, int first, int count);

#endif
