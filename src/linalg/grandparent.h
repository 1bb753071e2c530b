// grandparent: trees in which A nodes are also tied to the A node beyond their B node. See grandparent.c.
#ifndef TNI_GRANDPARENT_H
#define TNI_GRANDPARENT_H

#include "linalg/ldl.h"

typedef enum tni_grandparent_kind {
    TNI_GRANDPARENT_SYMMETRIC, ///< L d L^T, every block once
    TNI_GRANDPARENT_GENERAL    ///< L d U, blocks on both sides; rows are exchanged inside a node
} tni_grandparent_kind;

/// A place of the elimination order and the two later places it is tied to.
typedef struct tni_grandparent_node {
    int    row, dim, sign;
    int    parent, parent_dim; ///< place, -1 and 0 at a root
    int    other, other_dim;   ///< place of the A node beyond the parent; -1 and 0: there is none
    bool   sibling;            ///< the other one hangs on the same parent, which is a root
    size_t at;    ///< in the values: D, X and Y, then V and W if general; see grandparent.c
    size_t given; ///< in the blocks given: (this, other), then (other, this) if general
} tni_grandparent_node;

/// One matrix on a plan, all of whose components are trees. No call but the first allocates.
typedef struct tni_grandparent {
    const tni_plan*       plan;
    tni_grandparent_kind  kind;
    tni_grandparent_node* node; ///< by place
    int*                  edge; ///< by place: the edge to its parent
    double *              given, *value;
    size_t                given_count;
    uint8_t*              fetched; ///< by place
    uint8_t*         exchange; ///< by row, general only: the row of its node that it changed with
    tni_pivot_report report;   ///< of the last factorisation; nothing is ever replaced
    double factor_flops, solve_flops; ///< mul + add, predicted; solve: one right-hand side
} tni_grandparent;

/// coupled, by node: whether the two A nodes of this B node have blocks between them; NULL: all.
/// TN_ERR_UNSUPPORTED when a component is no tree, TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_grandparent_create(tni_arena* arena, const tni_plan* plan,
                                              const uint8_t* coupled, tni_grandparent_kind kind,
                                              tni_grandparent** grand);

/// The block between two A nodes, dim[row] x dim[col], to be filled before factoring; it survives
/// that. NULL where none is kept: symmetric ones keep one of (a, b) and (b, a).
double* tni_grandparent_between(tni_grandparent* grand, int row, int col);
void    tni_grandparent_clear(tni_grandparent* grand); ///< sets all of these to zero

/// Loads and factors. B nodes are tied by the same J on both sides. TN_ERR_SINGULAR with
/// report.bad_row: symmetric: an A pivot is not positive; a B pivot is next to nothing or has the
/// wrong sign; general: no row of a node has a pivot; or a number is not finite.
TN_NODISCARD tn_result tni_grandparent_factor(tni_grandparent* grand, const tni_blocks* blocks);

/// x <- H^-1 x for `count` right-hand sides, x[row * count + k], at most TNI_DIM_MAX
/// of them.
void tni_grandparent_solve(const tni_grandparent* grand, int count, double* x);

#endif
