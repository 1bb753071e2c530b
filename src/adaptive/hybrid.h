// hybrid: an articulated body some of whose joints are held, as a small mechanism of rigid
// clusters.
//
// Joints are active (simulated) or held. A node of the assembly tree is touched when a joint at or
// below it is active, and so is the root in any case; all others are rigid. Rigid nodes below
// touched ones (the rigid front) are what clusters are put together from: nothing below them is
// looked at.
#ifndef TNI_HYBRID_H
#define TNI_HYBRID_H

#include "adaptive/assembly.h"

/// A node as it stands: its joint, and, as long as it is rigid, all of it.
typedef struct tni_frames {
    tni_shift join; ///< of its joint, from the limb it leads out of to the one it leads to
    tni_shift to_b; ///< from its base limb to b's
    tni_shift handle[TNI_HANDLES_MAX]; ///< from its base limb to each handle: the first is none
    tni_rigid inertia;                 ///< of all its limbs, in the frame of its base limb
} tni_frames;

/// Frames of a leaf, and of a node from its children's (A: NULL for the root) and its joint's
/// place.
void tni_leaf_frames(const tni_tree_link* limb, tni_frames* out);
void tni_join_frames(const tni_node* node, const tni_frames* a, const tni_frames* b,
                     const tni_shift* join, tni_frames* out);

/// A set of limbs that moves as one. Its frame is that of its base limb.
typedef struct tni_cluster {
    int       limb;   ///< its base limb, whose joint moves it; the root's may be held
    int       parent; ///< smaller than its own number; -1: the world
    bool      held;   ///< only the first: its joint is not active
    tni_shift way;    ///< from the parent's frame to that of the limb its joint leads out of
    tni_rigid inertia;
    // Where tni_hybrid_move left it.
    tni_shift X;     ///< from the parent's frame (the world) to its own
    tni_shift world; ///< from the world to its own
    tni_six   v;     ///< its motion, in its own frame
    tni_six   force; ///< from outside, on it
} tni_cluster;

/// Where a limb is: in a cluster, and how its frame lies there.
typedef struct tni_seat {
    int       cluster;
    tni_shift way; ///< from the cluster's frame to the limb's
} tni_seat;

/// An articulated inertia: torque = A w + H v, force = H^T w + M v. A and M: xx, xy, xz, yy, yz,
/// zz.
typedef struct tni_articulated {
    double A[6], H[9], M[6];
} tni_articulated;

/// What a stiff force from outside resists the acceleration of a point with, linearly implicit: added inertia there.
typedef struct tni_resistance {
    int             cluster;
    tn_vec3         offset; ///< of the point, from the cluster's origin, world axes
    tni_articulated I;      ///< about the point, world axes
} tni_resistance;

/// One tree with some joints held.
typedef struct tni_hybrid {
    const tni_joint_trees*  limbs;
    const tni_assembly*     assembly;
    int                     tree;
    int                     count;
    tni_cluster*            clusters;    ///< room for all limbs of the tree
    struct tni_hybrid_work* work;        ///< hybrid_parts.h
    tni_resistance*         resistances; ///< given room by the caller; tni_hybrid_move clears them
    int                     resistance_count;
    int                     visits; ///< nodes that were visited since this was last set to 0
} tni_hybrid;

TN_NODISCARD tn_result tni_hybrid_create(tni_arena* arena, const tni_joint_trees* limbs,
                                         const tni_assembly* assembly, int tree,
                                         tni_hybrid* hybrid);
/// Clusters for a set of active joints (by limb). touched, frames: by node. frames hold for rigid
/// nodes entirely, and for held joints of touched nodes (join).
void tni_hybrid_build(tni_hybrid* hybrid, const uint8_t* active, const uint8_t* touched,
                      const tni_frames* frames);
/// Where a limb is, as last built: walks up from its leaf to the rigid front.
tni_seat tni_hybrid_seat(const tni_hybrid* hybrid, int limb, const uint8_t* touched,
                         const tni_frames* frames);

/// Places and motions of all clusters at (q, v), by limb (tni_joint_trees). Outside forces are cleared.
void tni_hybrid_move(tni_hybrid* hybrid, const double* q, const double* v);
/// A force on a limb, in limb coordinates.
void tni_hybrid_push(tni_hybrid* hybrid, const tni_seat* seat, tni_six force);
/// Accelerations of active joints, by the articulated-body algorithm: qddot (laid out as v). Q, K:
/// of active joints, laid out as v and as limb.k says; NULL: none. A root that floats has no K.
/// What belongs to held joints is neither read nor written. False: the articulated inertia of a
/// joint is not positive definite.
bool tni_hybrid_accelerate(tni_hybrid* hybrid, tn_vec3 gravity, const double* q, const double* v,
                           const double* Q, const double* K, double* qddot);
/// Velocities of `to` (whose active joints are among those of `from`, at the same positions) with
/// the momentum of `from`, which has been moved to its velocities (tni_hybrid_move): v of joints
/// that stay active is written, v of those that do not is set to 0; all stays as it is, to the bit,
/// where none is held. Kinetic energy never grows: returns what it lost; HUGE_VAL, and v as it was,
/// if inertias are not positive definite. `to` has still to be moved to the new velocities.
double tni_hybrid_rigidify(const tni_hybrid* from, tni_hybrid* to, const double* q, double* v);
/// Kinetic energy as last moved.
double tni_hybrid_kinetic(const tni_hybrid* hybrid);

#endif
