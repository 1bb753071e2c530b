// hybrid_parts: what hybrid.c, articulated_body.c and rigidify.c share. Not for others.
//
// Clusters are computed with in world axes, each about the origin of its own frame: then nothing
// but an offset lies between a cluster and its parent, and articulated inertias need not be turned.
#ifndef TNI_HYBRID_PARTS_H
#define TNI_HYBRID_PARTS_H

#include "adaptive/hybrid.h"

/// How a cluster goes through the passes.
typedef enum tni_path {
    TNI_PATH_ANY,
    TNI_PATH_HINGE, ///< S = (0, 0, sign; 0, 0, 0)
    TNI_PATH_BALL,  ///< S = (1; 0)
    TNI_PATH_FREE   ///< S = 1; it has no parent
} tni_path;

/// A cluster on its way through the passes.
typedef struct tni_mover {
    int             up;       ///< the parent, if that can move; -1
    int             freedoms; ///< 0: held
    int             q, v, k;  ///< where its joint's numbers begin
    int             column;   ///< of S and U: its first
    int             square;   ///< where its D begins
    tni_path        path;
    double          sign;
    tni_shift       before; ///< hinge: from the parent's frame to the joint's
    tn_vec3         offset; ///< of its origin, from the parent's
    tni_six         motion;
    tni_six         drift; ///< acceleration if no joint accelerates; v: of what is at its origin
    tni_articulated I;
    tni_six         p;    ///< force that it takes to drift
    double          D, u; ///< hinge: 1 / (S^T I S + K), Q - S^T p
    tni_six         a;    ///< acceleration beyond drift
} tni_mover;

/// Where an old cluster lies in new ones: see rigidify.c.
typedef struct tni_settled {
    int     cluster;
    tn_vec3 offset; ///< world axes
} tni_settled;

struct tni_hybrid_work {
    tni_mover*   movers;
    tni_six*     steady;  ///< S of limbs whose S is steady, limb coordinates, by velocity
    tni_six *    S, *U;   ///< by velocity
    double*      D;       ///< by added inertia: Cholesky's factor; ball: D^-1, six numbers
    double*      u;       ///< by velocity
    tni_seat*    where;   ///< by limb: of handles of the rigid front
    bool*        plain;   ///< by limb: that way is none
    int*         stack;   ///< nodes whose b waits
    tni_settled* settled; ///< by old cluster
    int          first, first_v, first_k;
};

/// Offset d: a force (motion, acceleration) of a cluster, seen from its parent's origin (of the
/// parent, from its).
TNI_INLINE tni_six tni_offset_force(tn_vec3 d, tni_six f)
{
    return (tni_six){tni_add(f.w, tni_cross(d, f.v)), f.v};
}
TNI_INLINE tni_six tni_offset_motion(tn_vec3 d, tni_six m)
{
    return (tni_six){m.w, tni_add(m.v, tni_cross(m.w, d))};
}

/// articulated_body.c. The rigid inertia of a cluster, in world axes, made articulated.
void tni_mover_rest(const tni_cluster* cluster, tni_mover* mover);
/// From I and p of all movers: inwards, then outwards: a of all movers and rates (laid out as v) of
/// their joints with
///     sum over clusters of S^T (I a + p) + K rate = Q
/// False: not positive definite.
/// Adds what stiff forces from outside resist with to I, and, with gravity, to p (where that is asked for).
void tni_movers_stiffen(tni_hybrid* hybrid, const tn_vec3* gravity);
bool tni_movers_reduce(tni_hybrid* hybrid, const double* Q, const double* K);
void tni_movers_spread(tni_hybrid* hybrid, double* rate);

#endif
