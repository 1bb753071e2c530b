// hybrid: an articulated body some of whose joints are held, as a small mechanism of rigid clusters
// (Redon's hybrid body).
//
// Joints are active (simulated) or held. A node of the assembly tree is touched when a joint at or
// below it is active; the root always is. All other nodes are rigid. The rigid nodes below touched
// ones (the rigid front) are what clusters are composed of: nothing below them is visited.
#ifndef TNI_HYBRID_H
#define TNI_HYBRID_H

#include "adaptive/assembly.h"

/// Frames of a node: of its joint, and, if it is rigid, of all of it.
typedef struct tni_frames {
    tni_transform     join; ///< of its joint, from the link it leads out of to the one it leads to
    tni_transform     to_b; ///< from its base link to b's
    tni_transform     handle[TNI_HANDLES_MAX]; ///< from its base link to each handle
    tni_rigid_inertia inertia;                 ///< of all its links, in the frame of its base link
} tni_frames;

/// Frames of a leaf, and of a node from those of its children (a: NULL for the root) and its
/// joint's transform.
void tni_leaf_frames(const tni_tree_link* link, tni_frames* out);
void tni_join_frames(const tni_node* node, const tni_frames* a, const tni_frames* b,
                     const tni_transform* join, tni_frames* out);

/// A rigid cluster: links that move as one. Its frame is that of its base link.
typedef struct tni_cluster {
    /// Its base link; the joint of that link moves the cluster, unless it is held
    int  link;
    int  parent; ///< smaller than its own index; -1: the world
    bool held;   ///< first cluster only: its joint is held
    /// from the parent's frame to that of the link that its joint leads out of
    tni_transform     to_predecessor;
    tni_rigid_inertia inertia;
    // Set by tni_hybrid_move().
    tni_transform X;     ///< from the parent's (the world's) frame to its own
    tni_transform world; ///< from the world to its own
    tni_spatial   v;     ///< motion, in its own frame
    tni_spatial   force; ///< external, in its own frame
} tni_cluster;

/// The cluster of a link, and its frame there.
typedef struct tni_link_place {
    int           cluster;
    tni_transform to_link; ///< from the cluster's frame to the link's
} tni_link_place;

/// An articulated inertia: torque = A w + H v, force = H^T w + M v. A and M: xx, xy, xz, yy, yz,
/// zz.
typedef struct tni_articulated_inertia {
    double A[6], H[9], M[6];
} tni_articulated_inertia;

/// Added inertia of a stiff external force, linearly implicit, at a point of a cluster.
typedef struct tni_resistance {
    int                     cluster;
    tn_vec3                 offset; ///< of the point from the cluster's origin, world axes
    tni_articulated_inertia I;      ///< about the point, world axes
} tni_resistance;

/// One tree with some joints held.
typedef struct tni_hybrid {
    const tni_joint_trees*  trees;
    const tni_assembly*     assembly;
    int                     tree;
    int                     count;
    tni_cluster*            clusters; ///< capacity: all links of the tree
    struct tni_hybrid_work* work;     ///< hybrid_parts.h
    tni_resistance* resistances; ///< allocated by the caller; tni_hybrid_move() clears the list
    int             resistance_count;
    int             visits; ///< nodes visited since this was last set to 0
} tni_hybrid;

TN_NODISCARD tn_result tni_hybrid_create(tni_arena* arena, const tni_joint_trees* trees,
                                         const tni_assembly* assembly, int tree,
                                         tni_hybrid* hybrid);
/// Clusters for a set of active joints (by link). touched, frames: by node; frames are complete for
/// rigid nodes, and have `join` for held joints of touched nodes.
void tni_hybrid_build(tni_hybrid* hybrid, const uint8_t* active, const uint8_t* touched,
                      const tni_frames* frames);
/// The cluster of a link, as last built: walks up from its leaf to the rigid front.
tni_link_place tni_hybrid_locate(const tni_hybrid* hybrid, int link, const uint8_t* touched,
                                 const tni_frames* frames);

/// Poses and motions of all clusters at (q, v), arrays of all links (tni_joint_trees). Clears
/// external forces.
void tni_hybrid_move(tni_hybrid* hybrid, const double* q, const double* v);
/// Adds a force on a link, in link coordinates.
void tni_hybrid_add_force(tni_hybrid* hybrid, const tni_link_place* seat, tni_spatial force);
/// Accelerations of active joints by the articulated-body algorithm, into qddot (laid out as v). Q,
/// K: of active joints, laid out by link.v and link.k; may be NULL. A floating root has no K.
/// Numbers of held joints are neither read nor written. False: the articulated inertia of a joint
/// is not positive definite.
bool tni_hybrid_accelerate(tni_hybrid* hybrid, tn_vec3 gravity, const double* q, const double* v,
                           const double* Q, const double* K, double* qddot);
/// Rigidification: velocities of `to`, whose active joints are among those of `from` at the same
/// positions, with the momentum of `from`, which has been moved to its velocities. Writes v of
/// joints that stay active and sets it to 0 of those that do not; v is unchanged, to the bit, if
/// none becomes held. Kinetic energy never grows; returns the loss [J], or HUGE_VAL, with v
/// unchanged, if an inertia is not positive definite. `to` has still to be moved to the new
/// velocities.
double tni_hybrid_rigidify(const tni_hybrid* from, tni_hybrid* to, const double* q, double* v);
/// Kinetic energy as last moved [J].
double tni_hybrid_kinetic(const tni_hybrid* hybrid);

#endif
