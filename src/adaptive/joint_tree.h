// joint_tree: a scene's trees in joint coordinates. A limb is a rigid body with the joint that leads to it.
//
// Its frame sits on its own side of that joint: for body 2 of a joint at p2 with axes F2, for body 1
// ("reversed") at p1 with axes F1, for a root that floats at the centre of mass with body axes. Its configuration
// is where that frame stands in the parent's frame of the joint: a unit quaternion (limb axes to the parent's
// frame of the joint) and a position; for a distance joint another quaternion, whose z axis leads from anchor to
// anchor. Its velocities v are numbers of the motion S v of the limb against its parent, in limb coordinates.
//
// S by kind, R the limb's axes in the parent's frame of the joint (link_motion.c has the rates):
//     hinge (z; 0)   slider (0; z)   screw (z; size z)   cylinder (z; 0), (0; z)     reversed: negative
//     ball (1; 0)    plane (0; x), (0; y), (z; 0)        free 1       weld none      reversed: the same
//     universal (R^T z; 0), (x; 0)                       reversed: (-z; 0), (-R^T x; 0)
//     line (1; 0), (0; R^T z)                            reversed: (1; [c]), (0; z), c the point in the limb
//     surface (1; 0), (0; R^T x), (0; R^T y)             reversed: (1; [c]), (0; x), (0; y)
//     distance (1; 0), (0; R^T b_x), (0; R^T b_y)        b the second quaternion; reversed: the same
// Planar bodies: their balls are hinges about the world's z, and all of a tree is in one plane.
#ifndef TNI_JOINT_TREE_H
#define TNI_JOINT_TREE_H

#include "adaptive/spatial.h"
#include "force/force.h"

/// How a limb may move against its parent.
typedef enum tni_tree_link_kind {
    TNI_TREE_LINK_FREE,  ///< a root without a joint: S = 1
    TNI_TREE_LINK_WELD,  ///< not at all
    TNI_TREE_LINK_HINGE, ///< the first coordinate of these is the scene's, with its sign
    TNI_TREE_LINK_SLIDER,
    TNI_TREE_LINK_SCREW,
    TNI_TREE_LINK_CYLINDER,
    TNI_TREE_LINK_UNIVERSAL,
    TNI_TREE_LINK_BALL,  ///< v: angular velocity, limb axes
    TNI_TREE_LINK_PLANE, ///< also a planar body without a joint
    TNI_TREE_LINK_LINE,
    TNI_TREE_LINK_SURFACE, ///< point_on_plane
    TNI_TREE_LINK_DISTANCE
} tni_tree_link_kind;

typedef struct tni_tree_link {
    int                body;   ///< of the model
    int                parent; ///< limb, smaller than its own number; -1: the world
    int                joint;  ///< of the model; -1: a root that floats
    int                tree;   ///< the articulated body that it belongs to
    tni_tree_link_kind kind;
    bool               reversed;  ///< it is body 1 of its joint
    bool               steady;    ///< S depends on nothing
    int                freedoms;  ///< of its joint: columns of S
    int                q, v, k;   ///< where its configuration, velocities and added inertia begin
    int                actuation; ///< of the model, -1: none
    int                first_limit, limit_count; ///< hard ends, in the model's list
    int                scene;                    ///< of its joint alone, for its forces; -1: none
    int                angle;      ///< v[angle] is the rate of an angle of the scene; -1: none
    int                coordinate; ///< which: among all joints' coordinates (state z)
    double             angle_sign; ///< +1 or -1
    double             size;       ///< screw: metres a radian; distance: length
    tn_vec3            com;        ///< centre of mass, in the limb's frame
    tn_vec3   anchor;   ///< of the joint's frame on the parent, from the parent's centre of mass
    tn_quat   turn;     ///< in its body axes (or from the world): origin, and axes to those
    tn_quat   attitude; ///< body axes to limb axes
    tni_shift before;   ///< from the parent's frame (or the world) to the joint's frame there
    tni_rigid inertia;  ///< in the limb's frame
    tni_mat3  axes;     ///< attitude as a matrix
    tni_rigid outboard; ///< of it and all beyond it as they stand at the start, in its frame
    double    length;   ///< to the farthest joint of its children [m]; leaves: see joint_tree.c
    double
        reach; ///< along it and what is beyond it, stretched out, to the farthest centre of mass [m]
} tni_tree_link;

/// Numbers of its configuration.
TNI_INLINE int tni_tree_link_numbers(const tni_tree_link* limb)
{
    return limb->kind == TNI_TREE_LINK_DISTANCE ? 11 : 7;
}

/// Articulated bodies: limbs of a tree follow each other, parents first.
typedef struct tni_joint_trees {
    const tn_model*             model;
    int                         count, tree_count;
    tni_tree_link*              limbs;
    int*                        first;   ///< limb of each tree; first[tree_count] = count
    int*                        of_body; ///< limb of each body; -1: it cannot be pushed
    int                         q_count, v_count, k_count;
    bool                        actuated; ///< some joint has a force of its own
    struct tni_tree_link_scene* scenes;   ///< link_force.c
} tni_joint_trees;

/// Refuses what is no tree of rigid or planar bodies in joints that say where they are: *why names it.
TN_NODISCARD tn_result tni_joint_trees_create(tni_arena* arena, const tn_model* model,
                                              tni_joint_trees** limbs, tn_why* why);
/// link_force.c, part of creation.
TN_NODISCARD tn_result tni_tree_link_scenes_create(tni_arena* arena, tni_joint_trees* limbs);
/// Configurations and velocities of all limbs, from where bodies are (the nearest that joints allow).
void tni_joint_trees_read(const tni_joint_trees* limbs, const double* body_q, const double* body_u,
                          double* q, double* v);
/// How far bodies are from where joints want them: the largest error [m or rad], the limb that has it (-1: none), and
/// that of velocities.
typedef struct tni_joint_trees_fit {
    double error, rate;
    int    worst;
} tni_joint_trees_fit;
/// Bodies, placed by them. What cannot be pushed is left as it is. tni_joint_trees_place: those of a tree, measured, too.
void tni_joint_trees_write(const tni_joint_trees* limbs, const double* q, const double* v,
                           double* body_q, double* body_u);
tni_joint_trees_fit tni_joint_trees_place(const tni_joint_trees* limbs, int tree, const double* q,
                                          const double* v, double* body_q, double* body_u);
/// The angles of a limb's joint among all joints' coordinates z, near those that are there.
void tni_tree_link_follow(const tni_tree_link* limb, const double* q, double* z);

/// From the parent's frame (the world's) to the limb's, and S, `freedoms` columns, limb coordinates.
/// q, v here and below: of the limb itself. X, S: NULL if not wanted.
void tni_tree_link_place(const tni_tree_link* limb, const double* q, tni_shift* X, tni_six* S);
/// The rate of S times v, limb coordinates: zero where S is steady.
tni_six tni_tree_link_bend(const tni_tree_link* limb, const double* q, const double* v);
/// S v
tni_six tni_tree_link_motion(const tni_tree_link* limb, const tni_six* S, const double* v);
/// The configuration that the joint allows nearest to q, where the limb's quaternion and place are near it.
void tni_tree_link_settle(const tni_tree_link* limb, double* q);
/// q moved on by h at velocities v.
void tni_tree_link_advance(const tni_tree_link* limb, double h, const double* v, double* q);
/// q moved along a way (link_motion.c), and the rate of a way that has led to q, at velocities v.
/// TNI_TREE_LINK_FREEDOMS numbers.
void tni_tree_link_along(const tni_tree_link* limb, const double* way, double* q);
void tni_tree_link_way_rate(const tni_tree_link* limb, const double* way, const double* q,
                            const double* v, double* rate);
/// Forces of the joint itself on its freedoms, linearly implicit over h: Q at (q, v), and K, freedoms x
/// freedoms, added inertia: S^T f + K v' = Q. h = 0: explicit, K = 0, hard ends left out. z: all joints'
/// coordinates a moment ago (state z). False: there are none, Q and K are zero. One caller a limb at a time.
bool tni_tree_link_force(const tni_joint_trees* limbs, int limb, double time, const double* z,
                         const double* q, const double* v, double h, double* Q, double* K);
/// The body of a limb as it stands; world: from the world to the limb's frame; motion: of the limb, in its
/// coordinates. The view's q and u are not set.
void tni_tree_link_view(const tni_joint_trees* limbs, int limb, const tni_shift* world,
                        tni_six motion, tni_view* view);

/// One step of Newton's towards length 1: a product of unit quaternions needs no more.
TNI_INLINE tn_quat tni_quat_trimmed(tn_quat q)
{
    const double s = 1.5 - 0.5 * (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (tn_quat){s * q.w, s * q.x, s * q.y, s * q.z};
}

#endif
