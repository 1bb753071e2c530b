// assembly: how each tree of limbs is put together from pairs, as a balanced binary tree
// (Featherstone's divide and conquer). A node is a connected set of limbs. A leaf is one limb. Node
// C = (A, B, joint) holds the limbs of A and B; the joint leads from a limb of A to the base limb
// of B. The root has no A: its joint leads from the world to all limbs.
//
// Handles: limbs of a node with a joint that leads out of it. Handle 0 is its base limb. Nodes are
// stored in post-order, tree after tree: children before their parent, all nodes below node i are
// first .. i. Tree t has the nodes 2 first[t] .. 2 first[t + 1] - 1 (tni_joint_trees), its root the last.
//
// The depth is O(log n) as long as no limb has many children: chains of 200 limbs 9, random
// recursive trees of 200 up to 14, of 10^5 27. But a limb is never cut: one with k children makes
// it k, at least.
#ifndef TNI_ASSEMBLY_H
#define TNI_ASSEMBLY_H

#include "adaptive/joint_tree.h"

enum { TNI_HANDLES_MAX = 3 };

typedef struct tni_node {
    int     a, b;   ///< children; -1: none. Leaf: both; root: a
    int     up;     ///< -1: a root
    int     limb;   ///< leaf: its limb; else the limb that its joint leads to: the base limb of b
    int     base;   ///< its base limb
    int     first;  ///< of the nodes below it, itself the last
    int     depth;  ///< of a root: 0
    int     joints; ///< in it: at and below it
    uint8_t handle_count;
    int     handles[TNI_HANDLES_MAX]; ///< limbs; a's that stay, then b's
    uint8_t at;                       ///< which of a's handles its joint leads out of
    uint8_t keep_a, keep_b;           ///< how many of a's, of b's handles stay
    uint8_t kept_a[TNI_HANDLES_MAX], kept_b[TNI_HANDLES_MAX]; ///< which: indices among theirs
} tni_node;

typedef struct tni_assembly {
    int       count;
    tni_node* nodes;
    int*      root;  ///< of each tree
    int*      leaf;  ///< of each limb
    int*      joint; ///< of each limb: the node whose joint leads to it
    int       depth; ///< of the deepest
} tni_assembly;

TN_NODISCARD tn_result tni_assembly_create(tni_arena* arena, const tni_joint_trees* limbs,
                                           tni_assembly** assembly);

#endif
