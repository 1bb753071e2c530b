// batch_plan: what the files of a flock share: the tree of links with what is constant of each, and what a set of
// lanes does. See batch_lanes.c.
#ifndef TNI_BATCH_PLAN_H
#define TNI_BATCH_PLAN_H

#include "batch/batch_lanes.h"
#include "state/state.h"
#include "system/tree_form_link.h"

/// What is between a link and its parent.
typedef enum tni_batch_joint {
    TNI_BATCH_FREE, ///< nothing: a root
    TNI_BATCH_BALL,
    TNI_BATCH_HINGE,
    TNI_BATCH_WELD,
    TNI_BATCH_UNIVERSAL
} tni_batch_joint;

typedef struct tni_batch_link {
    const tni_link*        link;
    const tni_link_form*   form;
    const tni_joint*       joint; ///< NULL: a root that floats
    const tni_joint_force* act;   ///< NULL: none
    tni_batch_joint        between;
    int                    parent; ///< -1: none that can be pushed
    int                    z;      ///< where its coordinates begin
    int                    soft; ///< of what is looked at once a step; -1: it has no such actuation
    int                    target; ///< the first target on it, + 1; 0: none
    bool                   second; ///< it is body 2 of its joint
    // The side that cannot be pushed, where there is no parent.
    tn_vec3  x;
    tni_mat3 R,
        turned; ///< turned: by way of its quaternion, as the survey of tree_form_lanes.h sees it
    tn_quat attitude;
    tn_quat back; ///< ball: exp(-rest)
} tni_batch_link;

typedef struct tni_batch_target {
    const tni_target* of;
    int               index, link;
    int               next; ///< on the same link, + 1
} tni_batch_target;

/// A set of lanes of one length.
typedef struct tni_batch_kernels {
    int lanes;
    void* (*create)(tni_arena* arena, const tni_batch_plan* plan); ///< a workspace; NULL: no memory
    unsigned (*step)(void* work, tn_state* const* states, int count, double h,
                     tn_step_report* const* reports);
} tni_batch_kernels;

struct tni_batch_plan {
    const tn_model*          model;
    tn_implicit_settings     settings;
    const tni_batch_kernels* set;
    tni_system               system; ///< of the tree alone
    tni_tree_form*           tree;
    int                      count; ///< links
    tni_batch_link*          links;
    int                      soft_count, more_count, dense_count, slot_count, target_count;
    tni_batch_target*        targets;
    bool                     sided; ///< some joint has ends
};

/// Vectors of two numbers, and of four; NULL: this platform has none.
const tni_batch_kernels* tni_batch_baseline(void);
const tni_batch_kernels* tni_batch_avx2(void);

#endif
