// assembly: the assembly tree of each joint tree, a balanced binary tree (Featherstone's divide and
// conquer). A node is a connected set of links. A leaf is one link. Node C = (A, B, joint) has the
// links of A and B; its joint leads from a link of A to the base link of B. The root has no A: its
// joint leads from the world to the base link of the whole tree.
//
// Handles of a node: its links with a joint that leads out of it. Handle 0 is its base link. Nodes
// are stored in post-order, tree after tree: children before their parent, the nodes below node i
// are first .. i. Tree t has the nodes 2 first[t] .. 2 first[t + 1] - 1 (first: tni_joint_trees),
// its root the last.
//
// The depth is O(log n) as long as no link has many children: 9 for chains of 200 links, up to 14
// for random recursive trees of 200, 27 for those of 10^5. A link is never split, so one with k
// children makes the depth at least k.
#ifndef TNI_ASSEMBLY_H
#define TNI_ASSEMBLY_H

#include "adaptive/joint_tree.h"

enum { TNI_HANDLES_MAX = 3 };

typedef struct tni_node {
    int a, b; ///< children; leaf: both -1; root: a is -1
    int up;   ///< parent; -1: a root
    /// leaf: its link; else the link that its joint leads to, the base link of b
    int     link;
    int     base;   ///< its base link
    int     first;  ///< first of the nodes at and below it; itself is the last
    int     depth;  ///< of a root: 0
    int     joints; ///< number of joints in it
    uint8_t handle_count;
    int     handles[TNI_HANDLES_MAX]; ///< links: those of a's handles that stay, then b's
    uint8_t at;                       ///< index of a's handle that its joint leads out of
    uint8_t keep_a, keep_b;           ///< how many of a's, of b's handles stay handles
    uint8_t kept_a[TNI_HANDLES_MAX], kept_b[TNI_HANDLES_MAX]; ///< which: indices among theirs
} tni_node;

typedef struct tni_assembly {
    int       count;
    tni_node* nodes;
    int*      root;  ///< by tree
    int*      leaf;  ///< by link
    int*      joint; ///< by link: the node whose joint leads to it
    int       depth; ///< the largest
} tni_assembly;

TN_NODISCARD tn_result tni_assembly_create(tni_arena* arena, const tni_joint_trees* trees,
                                           tni_assembly** assembly);

#endif
