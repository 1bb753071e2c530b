// joint_tree: the joint trees of a scene, in joint coordinates. A link is a rigid body with the
// joint that leads to it.
//
// A link's frame sits on its own side of that joint: for body 2 of a joint at p2 with axes F2, for
// body 1 ("reversed") at p1 with axes F1, for a floating root at the centre of mass with body axes.
// Its configuration q is the pose of that frame in the joint's frame on the parent: a unit
// quaternion (link axes to that frame) and a position. A distance joint adds a second quaternion,
// whose z axis leads from anchor to anchor. Its velocities v are the coordinates of the motion S v
// of the link relative to its parent, in link coordinates.
//
// S by kind, R the link's axes in the joint's frame on the parent (link_motion.c has the rates):
//     hinge (z; 0)   slider (0; z)   screw (z; size z)   cylinder (z; 0), (0; z)   reversed: -S
//     ball (1; 0)    plane (0; x), (0; y), (z; 0)        free 1       weld none    reversed: same
//     universal (R^T z; 0), (x; 0)                       reversed: (-z; 0), (-R^T x; 0)
//     line (1; 0), (0; R^T z)                            reversed: (1; [c]), (0; z), c the point
//     surface (1; 0), (0; R^T x), (0; R^T y)             reversed: (1; [c]), (0; x), (0; y)
//     distance (1; 0), (0; R^T b_x), (0; R^T b_y)        b: the second quaternion; reversed: same
// In a tree of planar bodies a ball is a hinge about the world's z.
#ifndef TNI_JOINT_TREE_H
#define TNI_JOINT_TREE_H

#include "adaptive/spatial.h"
#include "force/force.h"

/// How a link may move relative to its parent.
typedef enum tni_tree_link_kind {
    TNI_TREE_LINK_FREE,  ///< a root without a joint: S = 1
    TNI_TREE_LINK_WELD,  ///< S is empty
    TNI_TREE_LINK_HINGE, ///< to universal: coordinate 0 is the scene's, signed
    TNI_TREE_LINK_SLIDER,
    TNI_TREE_LINK_SCREW,
    TNI_TREE_LINK_CYLINDER,
    TNI_TREE_LINK_UNIVERSAL,
    TNI_TREE_LINK_BALL,  ///< v: angular velocity, link axes
    TNI_TREE_LINK_PLANE, ///< also a planar body without a joint
    TNI_TREE_LINK_LINE,
    TNI_TREE_LINK_SURFACE, ///< point_on_plane
    TNI_TREE_LINK_DISTANCE
} tni_tree_link_kind;

typedef struct tni_tree_link {
    int                body;   ///< index in the model
    int                parent; ///< index of the parent link, smaller than its own; -1: the world
    int                joint;  ///< index in the model; -1: a floating root
    int                tree;   ///< index of its tree
    tni_tree_link_kind kind;
    bool               reversed; ///< it is body 1 of its joint
    bool               steady;   ///< S is constant
    int                freedoms; ///< of its joint: columns of S
    /// start of its numbers in arrays of configurations, velocities and added inertia
    int     q, v, k;
    int     actuation;                ///< joint force in the model; -1: none
    int     first_limit, limit_count; ///< its hard limits in the model's list
    int     scene;                    ///< index of its scene in link_force.c; -1: none
    int     angle;                    ///< v[angle] is the rate of an angle of the scene; -1: none
    int     coordinate;               ///< index of that angle among all joint coordinates (state z)
    double  angle_sign;               ///< +1 or -1
    double  size;                     ///< screw: [m/rad]; distance: length [m]
    tn_vec3 com;                      ///< centre of mass, in the link's frame
    /// of the joint's frame on the parent, from the parent's centre of mass, body axes
    tn_vec3 anchor;
    /// Axes of the joint's frame on the parent to the parent's body axes (to the world's)
    tn_quat turn;
    tn_quat attitude; ///< body axes to link axes
    /// from the parent's link frame (or the world) to the joint's frame on it
    tni_transform     before;
    tni_rigid_inertia inertia; ///< in the link's frame
    tni_mat3          axes;    ///< attitude as a matrix
    /// of the link and all links beyond it as they are at the start, in its frame
    tni_rigid_inertia outboard;
    /// Distance to the farthest joint of its children [m]; leaves: see joint_tree.c
    double length;
    double
        /// Distance to the farthest centre of mass of it and the links beyond, stretched out [m]
        reach;
} tni_tree_link;

/// Number of configuration coordinates.
TNI_INLINE int tni_tree_link_numbers(const tni_tree_link* link)
{
    return link->kind == TNI_TREE_LINK_DISTANCE ? 11 : 7;
}

/// The links of all trees, tree after tree, parents first.
typedef struct tni_joint_trees {
    const tn_model*             model;
    int                         count, tree_count;
    tni_tree_link*              links;
    int*                        first;   ///< first link of each tree; first[tree_count] = count
    int*                        of_body; ///< link of each body; -1: a static or kinematic body
    int                         q_count, v_count, k_count;
    bool                        actuated; ///< some joint has a force or a hard limit
    struct tni_tree_link_scene* scenes;   ///< link_force.c
} tni_joint_trees;

/// Fails (*why names the culprit) unless the scene is a forest of rigid or planar bodies in joints
/// that have coordinates.
TN_NODISCARD tn_result tni_joint_trees_create(tni_arena* arena, const tn_model* model,
                                              tni_joint_trees** trees, tn_why* why);
/// link_force.c, part of creation.
TN_NODISCARD tn_result tni_tree_link_scenes_create(tni_arena* arena, tni_joint_trees* trees);
/// Configurations and velocities of all links from those of bodies, the nearest that the joints
/// allow.
void tni_joint_trees_read(const tni_joint_trees* trees, const double* body_q, const double* body_u,
                          double* q, double* v);
/// How well bodies fit the joints: the largest position error [m or rad], the link that has it (-1:
/// none), and the largest velocity error [m/s or rad/s].
typedef struct tni_joint_trees_fit {
    double error, rate;
    int    worst;
} tni_joint_trees_fit;
/// Writes bodies from joint coordinates; static and kinematic ones stay. tni_joint_trees_place():
/// one tree only, and measures the fit.
void tni_joint_trees_write(const tni_joint_trees* trees, const double* q, const double* v,
                           double* body_q, double* body_u);
tni_joint_trees_fit tni_joint_trees_place(const tni_joint_trees* trees, int tree, const double* q,
                                          const double* v, double* body_q, double* body_u);
/// Writes a link's joint angles into z (all joint coordinates), each the value nearest to the old
/// one.
void tni_tree_link_track_angle(const tni_tree_link* link, const double* q, double* z);

/// X: transform from the parent's (the world's) frame to the link's; S: `freedoms` columns, link
/// coordinates. X, S may be NULL. q, v here and below: numbers of this link alone.
void tni_tree_link_place(const tni_tree_link* link, const double* q, tni_transform* X,
                         tni_spatial* S);
/// S' v, link coordinates: zero where S is constant.
tni_spatial tni_tree_link_bias(const tni_tree_link* link, const double* q, const double* v);
/// S v
tni_spatial tni_tree_link_motion(const tni_tree_link* link, const tni_spatial* S, const double* v);
/// Projects q, near a configuration of the joint, onto the nearest one that the joint allows.
void tni_tree_link_project(const tni_tree_link* link, double* q);
/// Advances q by h at constant velocities v.
void tni_tree_link_advance(const tni_tree_link* link, double h, const double* v, double* q);
/// Applies a displacement d to q (link_motion.c); and d' at velocities v, where q is the
/// configuration displaced by d. d has TNI_TREE_LINK_FREEDOMS numbers.
void tni_tree_link_displace(const tni_tree_link* link, const double* d, double* q);
void tni_tree_link_displacement_rate(const tni_tree_link* link, const double* d, const double* q,
                                     const double* v, double* rate);
/// Forces of the joint itself (springs, dampers, limits, friction), linearly implicit over h: Q
/// (freedoms) and K (freedoms x freedoms, added inertia) with S^T f + K v' = Q. h = 0: explicit, K
/// = 0, no hard limits. z: all joint coordinates (state z), to tell the turns of angles. False:
/// there are none, Q and K are zero. Not thread-safe for one link.
bool tni_tree_link_force(const tni_joint_trees* trees, int link, double time, const double* z,
                         const double* q, const double* v, double h, double* Q, double* K);
/// View of the body of a link. world: from the world to the link's frame; motion: of the link, in
/// its coordinates. The view's q and u are not set.
void tni_tree_link_view(const tni_joint_trees* trees, int link, const tni_transform* world,
                        tni_spatial motion, tni_view* view);

/// Normalises an almost-unit quaternion by one Newton step; enough after a product of unit
/// quaternions.
TNI_INLINE tn_quat tni_quat_trimmed(tn_quat q)
{
    const double s = 1.5 - 0.5 * (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (tn_quat){s * q.w, s * q.x, s * q.y, s * q.z};
}

#endif
