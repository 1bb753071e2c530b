// ldl: block LDL^T of a symmetric quasi-definite matrix on a graph. See ldl.c.
#ifndef TNI_LDL_H
#define TNI_LDL_H

#include "linalg/plan.h"

struct tni_tiles;
struct tni_front_groups;

/// The pivot rule of one factorisation. Arrays by row; scale may be NULL.
typedef struct tni_pivot_rule {
    const double* scale; ///< NULL: for B rows, the diagonal before the node's elimination
    const double* alpha; ///< replacement of a B pivot below tolerance * scale; NULL: scale
    double        tolerance;
} tni_pivot_rule;

typedef struct tni_pivot_report {
    double smallest;     ///< |pivot| / scale over B rows, INFINITY if there are none
    int    smallest_row; ///< row of it; -1: none
    int    replaced;     ///< number of pivots replaced
    int    bad_row; ///< row of an A pivot that is not positive, or any that is not finite; -1: none
} tni_pivot_report;

/// One matrix on a plan. Only the creating functions allocate.
typedef struct tni_ldl {
    const tni_plan* plan;
    double*         value;
    double*         relative; ///< by row: |pivot| / scale; 1 on A rows if no scale was given
    uint8_t*        fetched;  ///< by position: the diagonal block is loaded (and updates added)
    int *           path, *segment, *mark, stamp;

    const struct tni_tiles* tiles; ///< kernels and workspace of fronts, see front.c
    double *                stack, *scaled, *sides;
    int *                   map, *row;
    size_t*                 row_at;

    struct tni_front_groups* front_groups; ///< if not NULL, used for all fronts; see front_lanes.c
} tni_ldl;

TN_NODISCARD tn_result tni_ldl_create(tni_arena* arena, const tni_plan* plan, tni_ldl** ldl);

/// Uses front_lanes.c from now on, if that is predicted to be faster. All later factorisations must
/// use blocks with these offsets, and a rule with a scale if there are B nodes.
TN_NODISCARD tn_result tni_ldl_group_fronts(tni_arena* arena, tni_ldl* ldl,
                                            const size_t* diagonal_at, const size_t* edge_at);

/// The same matrix with scratch of its own: factors and solves other components at the same time.
/// Not for solves on a few nodes.
TN_NODISCARD tn_result tni_ldl_share(tni_arena* arena, const tni_ldl* ldl, tni_ldl** shared);

/// Blocks by node and by edge. E is passed positive; it is negated in the matrix.
typedef struct tni_blocks {
    const double* diagonal;
    const size_t* diagonal_at; ///< by node
    const double* edge;
    const size_t* edge_at; ///< by edge, row_node x col_node as in the graph
    bool          hard;    ///< all B blocks are zero and not read
} tni_blocks;

/// Loads and factors one component; -1: all, here and below. raise, by row, is added to the
/// diagonals of A and E; may be NULL. TN_ERR_SINGULAR with report->bad_row if an A pivot is not
/// positive or a pivot not finite.
TN_NODISCARD tn_result tni_ldl_factor(tni_ldl* ldl, int component, const tni_blocks* blocks,
                                      const double* raise, const tni_pivot_rule* rule,
                                      tni_pivot_report* report);

/// x <- H^-1 x for `count` right-hand sides, x[row * count + k].
void tni_ldl_solve(const tni_ldl* ldl, int component, int count, double* x);

/// The same for right-hand sides that are nonzero on the `given` nodes only, with the solution
/// needed on the `wanted` nodes only: visits just their ancestors (whole fronts in loops) and
/// returns the number of nodes visited. Of x only given nodes are read; on return wanted nodes hold
/// the solution, other visited nodes arbitrary values; the rest is unchanged. Same bits as
/// tni_ldl_solve.
int tni_ldl_solve_path(tni_ldl* ldl, const int* given, int given_count, const int* wanted,
                       int wanted_count, int count, double* x);

/// The forward half of it: x <- L^-1 x on the given nodes and their ancestors, whole fronts.
/// *places: these positions, ascending, valid until the next call. Returns how many.
int tni_ldl_half_solve(tni_ldl* ldl, const int* given, int given_count, int count, double* x,
                       const int** places);

/// The reciprocal pivots of a position; the r-th is at index r * step.
const double* tni_ldl_reciprocals(const tni_ldl* ldl, int place, int* step);

/// LDL^T of one n x n block in place, reciprocal pivots on the diagonal. Returns -1, or the first
/// row whose pivot is not positive and finite. solve: x <- D^-1 x, one right-hand side.
int  tni_block_factor(int n, double* D);
void tni_block_solve(int n, const double* D, double* x);

#endif
