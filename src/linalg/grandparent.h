// grandparent: factorisation of trees with blocks between grandparents. See grandparent.c.
#ifndef TNI_GRANDPARENT_H
#define TNI_GRANDPARENT_H

#include "linalg/ldl.h"

typedef enum tni_grandparent_kind {
    TNI_GRANDPARENT_SYMMETRIC, ///< L d L^T, each block stored once
    TNI_GRANDPARENT_GENERAL    ///< L d U, blocks on both sides; row exchanges inside a node
} tni_grandparent_kind;

/// A node, by position in the elimination order, and the two later positions it is coupled to.
typedef struct tni_grandparent_node {
    int    row, dim, sign;
    int    parent, parent_dim; ///< position of the parent; -1 and 0 at a root
    int    other, other_dim;   ///< position of the A node beyond the parent; -1 and 0: none
    bool   sibling; ///< the other A node is the second child of the same parent, which is a root
    size_t at;      ///< offset in value: D, X and Y, then V and W if general; see grandparent.c
    size_t given;   ///< offset in given: block (this, other), then (other, this) if general
} tni_grandparent_node;

/// One matrix on a plan, all of whose components are trees. Only tni_grandparent_create allocates.
typedef struct tni_grandparent {
    const tni_plan*       plan;
    tni_grandparent_kind  kind;
    tni_grandparent_node* node; ///< by position
    int*                  edge; ///< by position: the edge to its parent
    double *              given, *value;
    size_t                given_count;
    uint8_t*              fetched;  ///< by position: loaded
    uint8_t*              exchange; ///< by row, general only: row of its node it was exchanged with
    tni_pivot_report      report;   ///< of the last factorisation; pivots are never replaced
    double                factor_flops, solve_flops; ///< predicted; solve: one right-hand side
} tni_grandparent;

/// coupled, by node: whether there are blocks between the two A nodes of this B node; NULL:
/// everywhere. Fails with TN_ERR_UNSUPPORTED if a component is not a tree, or TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_grandparent_create(tni_arena* arena, const tni_plan* plan,
                                              const uint8_t* coupled, tni_grandparent_kind kind,
                                              tni_grandparent** grand);

/// The block between two A nodes, dim[row] x dim[col]; the caller fills it before factoring, which
/// keeps it. NULL if there is none: symmetric ones store only one of (a, b) and (b, a).
double* tni_grandparent_between(tni_grandparent* grand, int row, int col);
void    tni_grandparent_clear(tni_grandparent* grand); ///< sets all of these to zero

/// Loads and factors. B nodes have the same J on both sides. TN_ERR_SINGULAR with report.bad_row.
/// Symmetric: an A pivot is not positive, a B pivot is relatively zero or has the wrong sign;
/// general: no usable pivot in a node; or a number is not finite.
TN_NODISCARD tn_result tni_grandparent_factor(tni_grandparent* grand, const tni_blocks* blocks);

/// x <- H^-1 x for `count` right-hand sides, x[row * count + k]; count <= TNI_DIM_MAX.
void tni_grandparent_solve(const tni_grandparent* grand, int count, double* x);

#endif
