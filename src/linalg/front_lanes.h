// front_lanes: fronts of several places in the graph that are eliminated together. See front_lanes.c.
#ifndef TNI_FRONT_LANES_H
#define TNI_FRONT_LANES_H

#include "linalg/ldl.h"

enum {
    TNI_FRONT_GROUP       = 4, ///< fronts of a bundle, at most: lanes
    TNI_FRONT_GROUP_BLOCK = 4, ///< columns that are finished together
    TNI_FRONT_GROUP_SIDES = 8  ///< right-hand sides that are taken together, at most
};

/// An own row in a lane.
typedef struct tni_front_group_row {
    int row;  ///< of the graph; -1: the lane has no such row
    int turn; ///< rises with the elimination order
    int sign;
} tni_front_group_row;

/// A number that goes from one place to another.
typedef struct tni_front_group_move {
    int from, to;
} tni_front_group_move;

/// Fronts of about one size, a lane each. Entry (i, k) of lane l, i over own and later rows, is
/// number 4 (k (own + rows) + i) + l from `value` on; an update has columns of `rows` entries.
typedef struct tni_front_group {
    int    front[TNI_FRONT_GROUP]; ///< -1: the lane is empty
    int    own, rows;              ///< the most of all lanes
    size_t value, inverse, update;
    size_t side;                ///< in the right-hand side: own + rows numbers a lane
    int    row;                 ///< in `row`: its own rows by lane
    int    first, a, e, j, add; ///< in the lists of moves below, up to the next bundle's
    int    sum, pull;
} tni_front_group;

/// One set of kernels; every set gives the same bits. X, Y: columns of `all` rows. The columns
/// first .. first + width - 1 of the rows `row` .. end - 1:
///     apply    x_ij -= sum over k < first of x_ik y_jk
///     finish   the same, and by the columns from `first` on; y_ij = x_ij inverse_j
/// update: u_ij -= sum over k < own of x_ik y_jk, i >= j, of the rows from `own` on; fresh: u is 0.
typedef struct tni_front_kernels {
    void (*apply)(int all, int first, int width, int row, int end, double* X, const double* Y);
    void (*finish)(int all, int first, int width, int row, int end, double* X, double* Y,
                   const double* inverse);
    void (*update)(int own, int rows, bool fresh, const double* X, const double* Y, double* U);
    void (*forward)(int own, int all, const double* X, const double* inverse, double* z);
    void (*backward)(int own, int all, const double* X, const double* inverse, double* z);
} tni_front_kernels;

/// With vectors of `width` numbers (math/simd.h).
const tni_front_kernels* tni_front_kernels_of(int width);

typedef struct tni_front_groups {
    const tni_front_kernels* set;
    const size_t *           diagonal_at, *edge_at; ///< the blocks that the lists below belong to
    int                      count;
    tni_front_group*         bundle;    ///< count + 1
    int*                     start;     ///< by component, into bundle
    int *                    of, *lane; ///< by front
    tni_front_group_row*     row;       ///< by bundle, own row and lane
    tni_front_group_move*    own;       ///< between a right-hand side and z
    tni_front_group_move *   a, *e, *j; ///< from the blocks into `number`: A, E (negated), edges
    tni_front_group_move*    add;       ///< updates of children, in their order
    tni_front_group_move*    sum;       ///< the same of right-hand sides
    tni_front_group_move*    pull;      ///< later rows of answers from where they are own ones
    double *                 number, *scaled, *z, *sides;
} tni_front_groups;

/// Gives all loops of a plan to bundles, if that is predicted to be faster; `always`: if it can be
/// done at all. The offsets are those of the blocks of every factorisation to come.
TN_NODISCARD tn_result tni_front_groups_create(tni_arena* arena, tni_ldl* ldl,
                                               const size_t* diagonal_at, const size_t* edge_at,
                                               bool always);

/// As tni_ldl_factor on one component with loops; with B nodes the rule must have a scale.
bool tni_front_groups_factor(tni_ldl* ldl, int component, const tni_blocks* blocks,
                             const double* raise, const tni_pivot_rule* rule,
                             tni_pivot_report* report);

/// The reciprocal pivots from an own row of a front on; the r-th is r * step further.
const double* tni_front_groups_reciprocals(const tni_ldl* ldl, int front, int row, int* step);

/// One right-hand side on one component.
void tni_front_groups_solve(const tni_ldl* ldl, int component, double* x);

/// One front and TNI_FRONT_GROUP_SIDES right-hand sides at most, from `first` on, of `count`. Forward: its
/// children count where mark[their first place] is `stamp`, or all with mark = NULL.
void tni_front_groups_forward(const tni_ldl* ldl, int front, int first, int sides, int count,
                              const int* mark, int stamp, double* x);
void tni_front_groups_backward(const tni_ldl* ldl, int front, int first, int sides, int count,
                               double* x);

#endif
