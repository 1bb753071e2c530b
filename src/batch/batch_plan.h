// batch_plan: shared by the files of batch_lanes.c: the tree of links with their constants, and the
// kernels.
#ifndef TNI_BATCH_PLAN_H
#define TNI_BATCH_PLAN_H

#include "batch/batch_lanes.h"
#include "state/state.h"
#include "system/tree_form_link.h"

/// Joint between a link and its parent.
typedef enum tni_batch_joint {
    TNI_BATCH_FREE, ///< none: a floating root
    TNI_BATCH_BALL,
    TNI_BATCH_HINGE,
    TNI_BATCH_WELD,
    TNI_BATCH_UNIVERSAL
} tni_batch_joint;

typedef struct tni_batch_link {
    const tni_link*        link;
    const tni_link_form*   form;
    const tni_joint*       joint; ///< NULL: a floating root
    const tni_joint_force* act;   ///< NULL: no joint force
    tni_batch_joint        between;
    int                    parent; ///< -1: static or kinematic, or none
    int                    z;      ///< start of its coordinates
    int                    soft;   ///< index of its tni_soft terms evaluated once a step; -1: none
    int                    target; ///< 1 + the first target on it; 0: none
    bool                   second; ///< it is body 2 of its joint
    // Pose of the static side, if there is no parent.
    tn_vec3  x;
    tni_mat3 R,
        turned; ///< R, computed by way of its quaternion as in tree_form_lanes.h
    tn_quat attitude;
    tn_quat back; ///< ball: exp(-rest)
} tni_batch_link;

typedef struct tni_batch_target {
    const tni_target* of;
    int               index, link;
    int               next; ///< 1 + the next target on the same link; 0: none
} tni_batch_target;

/// The functions for one vector length.
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
    tni_system               system; ///< of the tree only
    tni_tree_form*           tree;
    int                      count; ///< of links
    tni_batch_link*          links;
    int                      soft_count, more_count, dense_count, slot_count, target_count;
    tni_batch_target*        targets;
    bool                     has_limits; ///< some joint has soft limits
};

/// Vectors of two numbers, and of four; NULL: this platform has none.
const tni_batch_kernels* tni_batch_baseline(void);
const tni_batch_kernels* tni_batch_avx2(void);

#endif
