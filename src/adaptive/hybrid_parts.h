// hybrid_parts: shared by hybrid.c, articulated_body.c, rigidify.c and impulse_response.c only.
//
// Passes over clusters use world axes, about the origin of each cluster's own frame: between a
// cluster and its parent there is then nothing but an offset, and articulated inertias need no
// rotation.
#ifndef TNI_HYBRID_PARTS_H
#define TNI_HYBRID_PARTS_H

#include "adaptive/hybrid.h"

/// Special cases of joints in the passes.
typedef enum tni_path {
    TNI_PATH_ANY,
    TNI_PATH_HINGE, ///< S = (0, 0, sign; 0, 0, 0)
    TNI_PATH_BALL,  ///< S = (1; 0)
    TNI_PATH_FREE   ///< S = 1; no parent
} tni_path;

/// Workspace of the passes for one cluster.
typedef struct tni_cluster_work {
    int                     up;       ///< parent, if it can move; else -1
    int                     freedoms; ///< 0: held
    int                     q, v, k;  ///< start of its joint's numbers
    int                     column;   ///< of S and U: its first
    int                     square;   ///< start of its D
    tni_path                path;
    double                  sign;
    tni_transform           before; ///< hinge: from the parent's frame to the joint's
    tn_vec3                 offset; ///< of its origin from the parent's
    tni_spatial             motion;
    tni_spatial             bias; ///< acceleration if no joint accelerates; v: of its origin
    tni_articulated_inertia I;
    tni_spatial             p;    ///< force needed for the bias acceleration, less external forces
    double                  D, u; ///< hinge: 1 / (S^T I S + K), Q - S^T p
    tni_spatial             a;    ///< acceleration beyond bias
} tni_cluster_work;

/// Where an old cluster lies in the new clusters: see rigidify.c.
typedef struct tni_merged_cluster {
    int     cluster;
    tn_vec3 offset; ///< world axes
} tni_merged_cluster;

struct tni_hybrid_work {
    tni_cluster_work*   cluster_work;
    tni_spatial*        steady;   ///< S of links whose S is constant, link coordinates, by velocity
    tni_spatial *       S, *U;    ///< by velocity
    double*             D;        ///< by added inertia: Cholesky factor; ball: D^-1, six numbers
    double*             u;        ///< by velocity
    tni_link_place*     places;   ///< by link: of handles of the rigid front
    bool*               identity; ///< by link: its transform in the cluster is the identity
    int*                stack;    ///< nodes whose b is still to be visited
    tni_merged_cluster* merged;   ///< by old cluster
    int                 first, first_v, first_k;
};

/// A force of a cluster moved to its parent's origin; a motion (or acceleration) of the parent
/// moved to the cluster's origin. d: offset of the cluster from its parent.
TNI_INLINE tni_spatial tni_offset_force(tn_vec3 d, tni_spatial f)
{
    return (tni_spatial){tni_add(f.w, tni_cross(d, f.v)), f.v};
}
TNI_INLINE tni_spatial tni_offset_motion(tn_vec3 d, tni_spatial m)
{
    return (tni_spatial){m.w, tni_add(m.v, tni_cross(m.w, d))};
}

/// articulated_body.c. The rigid inertia of a cluster, in world axes, as articulated inertia m->I.
void tni_cluster_rest(const tni_cluster* cluster, tni_cluster_work* m);
/// Adds the resistances of stiff external forces to I, and, unless gravity is NULL, to p.
void tni_hybrid_add_resistances(tni_hybrid* hybrid, const tn_vec3* gravity);
/// From I and p of all clusters: inward pass, then outward pass: a of all clusters and the rates
/// (laid out as v) of their joints with
///     sum over clusters of S^T (I a + p) + K rate = Q
/// False: not positive definite.
bool tni_hybrid_inward_pass(tni_hybrid* hybrid, const double* Q, const double* K);
void tni_hybrid_outward_pass(tni_hybrid* hybrid, double* rate);

#endif
