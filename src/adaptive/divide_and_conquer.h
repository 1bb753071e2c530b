// divide_and_conquer: accelerations of a tree with some joints held, by divide and conquer over its assembly
// tree (Redon et al. 2005, section 4.3; all joints active: Featherstone's DCA): up through touched
// nodes, then back down. Subtrees are independent of each other, so workers may share them; every
// node's result depends on its children (then its parent) only, so the bits are the same for any
// number of workers.
#ifndef TNI_DIVIDE_AND_CONQUER_H
#define TNI_DIVIDE_AND_CONQUER_H

#include "adaptive/coefficients.h"
#include "adaptive/hybrid.h"

typedef struct tni_divide_and_conquer tni_divide_and_conquer; ///< workspace for all trees

TN_NODISCARD tn_result tni_divide_and_conquer_create(tni_arena* arena, const tni_joint_trees* limbs,
                                                     const tni_assembly*      assembly,
                                                     tni_divide_and_conquer** pass);

/// What a pass looks at. By limb: active; q, v, Q, K as in tni_hybrid_accelerate; force (limb
/// coordinates; NULL: none) with `pushed` (by node: a force at or below it; NULL: none). By node:
/// touched, frames (of rigid nodes, and `join` of touched ones whose joint is held).
typedef struct tni_tree_state {
    const uint8_t *   active, *touched, *pushed;
    const tni_frames* frames;
    const double *    q, *v, *Q, *K;
    const tni_six*    force;
    tn_vec3           gravity;
} tni_tree_state;

/// qddot of active joints of trees first .. last - 1, by work shared as host->each offers (host
/// NULL: nobody helps). Calls for different trees may run at the same time. visits: nodes visited,
/// added to: touched ones, the rigid front, below it those on the way to a force. False: not
/// positive definite. Joints that are held in touched nodes cost accuracy where they tie light
/// limbs to heavy ones, or the world: at worst 2e-9 instead of 3e-11 of the largest acceleration.
bool tni_tree_accelerate(tni_divide_and_conquer* pass, const tn_host* host, int first, int last,
                         const tni_tree_state* at, double* qddot, int* visits);
/// The force through a joint on its limb, limb coordinates, of the last pass: of active joints and
/// of held ones of touched nodes.
tni_six tni_tree_reaction(const tni_divide_and_conquer* pass, int limb);

#endif
