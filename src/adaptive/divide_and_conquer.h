// divide_and_conquer: joint accelerations with some joints held, by divide and conquer over the
// assembly tree (Redon et al. 2005, section 4.3; with all joints active Featherstone's DCA): up
// through the touched nodes, then back down. Subtrees are independent, so workers may share them.
// The result of a node depends on its children (on the way down: its parent) only, so the bits are
// the same for any number of workers.
#ifndef TNI_DIVIDE_AND_CONQUER_H
#define TNI_DIVIDE_AND_CONQUER_H

#include "adaptive/coefficients.h"
#include "adaptive/hybrid.h"

typedef struct tni_divide_and_conquer tni_divide_and_conquer; ///< workspace for all trees

TN_NODISCARD tn_result tni_divide_and_conquer_create(tni_arena* arena, const tni_joint_trees* trees,
                                                     const tni_assembly*      assembly,
                                                     tni_divide_and_conquer** pass);

/// Input. By link: active; q, v, Q, K as in tni_hybrid_accelerate(); force (link coordinates; NULL:
/// none), with `loaded` by node: a force at or below it (NULL: none). By node: touched; frames (of
/// rigid nodes, and `join` of touched ones whose joint is held).
typedef struct tni_tree_state {
    const uint8_t *    active, *touched, *loaded;
    const tni_frames*  frames;
    const double *     q, *v, *Q, *K;
    const tni_spatial* force;
    tn_vec3            gravity;
} tni_tree_state;

/// qddot of active joints of trees first .. last - 1, shared among the workers of host->each (host
/// NULL: serial). Calls for different trees may run at the same time. Adds to visits the nodes
/// visited: touched ones, the rigid front, and below it those on the way to a force. False: not
/// positive definite. Held joints of touched nodes cost accuracy where they tie light links to
/// heavy ones or to the world: the error is at worst 2e-9 of the largest acceleration, otherwise
/// 3e-11.
bool tni_tree_accelerate(tni_divide_and_conquer* pass, const tn_host* host, int first, int last,
                         const tni_tree_state* at, double* qddot, int* visits);
/// Force through a joint on its link, link coordinates, of the last call: of active joints and of
/// held ones of touched nodes.
tni_spatial tni_tree_reaction(const tni_divide_and_conquer* pass, int link);

#endif
