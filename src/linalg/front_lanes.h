// front_lanes: several independent fronts eliminated together in SIMD lanes. See front_lanes.c.
#ifndef TNI_FRONT_LANES_H
#define TNI_FRONT_LANES_H

#include "linalg/ldl.h"

enum {
    TNI_FRONT_GROUP       = 4, ///< fronts of a group, at most: number of lanes
    TNI_FRONT_GROUP_BLOCK = 4, ///< columns that are eliminated together
    TNI_FRONT_GROUP_SIDES = 8  ///< right-hand sides that are solved together, at most
};

/// An own row of the front in one lane.
typedef struct tni_front_group_row {
    int row;  ///< of the vector x; -1: padding
    int turn; ///< ascending in elimination order
    int sign;
} tni_front_group_row;

/// Copies one number: indices of source and target.
typedef struct tni_front_group_move {
    int from, to;
} tni_front_group_move;

/// Fronts of similar size, one in each lane. Entry (i, k) of lane l, i over own and later rows, is
/// number 4 (k (own + rows) + i) + l from `value` on; the update has columns of `rows` entries.
typedef struct tni_front_group {
    int    front[TNI_FRONT_GROUP]; ///< -1: the lane is empty
    int    own, rows;              ///< maximum over the lanes
    size_t value, inverse, update;
    size_t side;                ///< offset into z and sides: own + rows numbers a lane
    int    row;                 ///< offset into the array `row`: own rows by lane
    int    first, a, e, j, add; ///< in the lists below: start of its moves; end: the next group's
    int    sum, pull;
} tni_front_group;

/// One set of kernels; all sets give the same bits. X, Y: columns of `all` rows. For the columns
/// first .. first + width - 1 of the rows `row` .. end - 1:
///     apply    x_ij -= sum over k < first of x_ik y_jk
///     finish   the same, then elimination among the columns from `first` on; y_ij = x_ij inverse_j
/// update: u_ij -= sum over k < own of x_ik y_jk, i >= j, for the rows from `own` on; fresh: u was
/// 0.
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
    const size_t *           diagonal_at, *edge_at; ///< offsets of the blocks
    int                      count;
    tni_front_group*         group;     ///< count + 1
    int*                     start;     ///< by component, into group
    int *                    of, *lane; ///< by front
    tni_front_group_row*     row;       ///< by group, own row and lane
    tni_front_group_move*    own;       ///< between x and the own rows in z
    tni_front_group_move *   a, *e, *j; ///< from the blocks into `number`: A, E (negated), edges
    tni_front_group_move*    add;       ///< updates of children into their parents, in their order
    tni_front_group_move*    sum;       ///< the same for right-hand sides
    tni_front_group_move*    pull;      ///< solution: later rows from the fronts that own them
    double *                 number, *scaled, *z, *sides;
} tni_front_groups;

/// Groups all fronts of a plan with loops, if that is predicted to be faster; `always`: if it is
/// possible. Otherwise leaves ldl->front_groups NULL. All later factorisations must use blocks with
/// these offsets.
TN_NODISCARD tn_result tni_front_groups_create(tni_arena* arena, tni_ldl* ldl,
                                               const size_t* diagonal_at, const size_t* edge_at,
                                               bool always);

/// Gives a copy of an ldl scratch of its own for them.
TN_NODISCARD tn_result tni_front_groups_share(tni_arena* arena, tni_ldl* ldl);

/// As tni_ldl_factor for one component with loops; with B nodes the rule must have a scale.
bool tni_front_groups_factor(tni_ldl* ldl, int component, const tni_blocks* blocks,
                             const double* raise, const tni_pivot_rule* rule,
                             tni_pivot_report* report);

/// Reciprocal pivots from an own row of a front on; the r-th is at index r * step.
const double* tni_front_groups_reciprocals(const tni_ldl* ldl, int front, int row, int* step);

/// One right-hand side, one component.
void tni_front_groups_solve(const tni_ldl* ldl, int component, double* x);

/// One front, right-hand sides first .. first + sides - 1 of `count`, at most
/// TNI_FRONT_GROUP_SIDES. Forward adds those children with mark[their first position] == stamp; all
/// if mark is NULL.
void tni_front_groups_forward(const tni_ldl* ldl, int front, int first, int sides, int count,
                              const int* mark, int stamp, double* x);
void tni_front_groups_backward(const tni_ldl* ldl, int front, int first, int sides, int count,
                               double* x);

#endif
