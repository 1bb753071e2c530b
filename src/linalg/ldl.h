// ldl: block LDL^T of a symmetric quasi-definite matrix on a graph. See ldl.c.
#ifndef TNI_LDL_H
#define TNI_LDL_H

#include "linalg/plan.h"

struct tni_tiles;
struct tni_front_groups;

/// The rule for pivots of one factorisation. Arrays by row; scale may be NULL.
typedef struct tni_pivot_rule {
    const double* scale; ///< NULL: the diagonal when the node's turn comes, for B rows
    const double* alpha; ///< what a B pivot below tolerance * scale is replaced by; NULL: scale
    double        tolerance;
} tni_pivot_rule;

typedef struct tni_pivot_report {
    double smallest;     ///< |pivot| / scale over B rows, INFINITY when there is none
    int    smallest_row; ///< -1 when there is none
    int    replaced;     ///< pivots replaced
    int    bad_row;      ///< an A pivot not positive, or any not finite; -1: none
} tni_pivot_report;

/// One matrix on a plan. No call below allocates, and only tni_ldl_create can fail for memory.
typedef struct tni_ldl {
    const tni_plan* plan;
    double*         value;
    double*         relative; ///< by row: |pivot| / scale; 1 on A rows when no scale was given
    uint8_t*        fetched;  ///< by place: its diagonal has come, and updates of children with it
    int *           path, *segment, *mark, stamp;

    const struct tni_tiles* tiles; ///< kernels of fronts; here and below see front.c
    double *                stack, *scaled, *sides;
    int *                   map, *row;
    size_t*                 row_at;

    struct tni_front_groups*
        bundles; ///< what takes all fronts instead; usually NULL. See front_lanes.c
} tni_ldl;

TN_NODISCARD tn_result tni_ldl_create(tni_arena* arena, const tni_plan* plan, tni_ldl** ldl);

/// From now on fronts go in bundles, where that is predicted to be faster: the offsets are those of
/// the blocks of all factorisations to come, and these have a rule with a scale if there are B nodes.
TN_NODISCARD tn_result tni_ldl_bundle(tni_arena* arena, tni_ldl* ldl, const size_t* diagonal_at,
                                      const size_t* edge_at);

/// Blocks by node and by edge: E is given positive, as in the saddle system.
typedef struct tni_blocks {
    const double* diagonal;
    const size_t* diagonal_at; ///< by node
    const double* edge;
    const size_t* edge_at; ///< by edge, row_node x col_node as in the graph
    bool          hard;    ///< all B blocks are zero: they need not be read
} tni_blocks;

/// Loads and factors one component, or all with -1, here and below. raise, by row, is added to A
/// and to E alike, on their diagonals; NULL: nothing is. TN_ERR_SINGULAR with report->bad_row when
/// an A pivot is not positive or a pivot not finite.
TN_NODISCARD tn_result tni_ldl_factor(tni_ldl* ldl, int component, const tni_blocks* blocks,
                                      const double* raise, const tni_pivot_rule* rule,
                                      tni_pivot_report* report);

/// x <- H^-1 x for `count` right-hand sides, x[row * count + k].
void tni_ldl_solve(const tni_ldl* ldl, int component, int count, double* x);

/// The same where only the given nodes have a right-hand side and only the wanted ones are asked
/// for: visits their ancestors and nothing else, whole fronts in loops, and returns how many nodes
/// that were. On entry x counts on given nodes only; on return it holds the answer on wanted nodes,
/// anything on others that were visited, and is untouched elsewhere. Same bits as tni_ldl_solve.
int tni_ldl_solve_path(tni_ldl* ldl, const int* given, int given_count, const int* wanted,
                       int wanted_count, int count, double* x);

/// The first half of it: x <- L^-1 x on the given nodes and their ancestors, whole fronts. These
/// are the places (rising) in *places, which hold until the next call; returns how many.
int tni_ldl_half_solve(tni_ldl* ldl, const int* given, int given_count, int count, double* x,
                       const int** places);

/// The reciprocal pivots of a place: the r-th is r * step further on.
const double* tni_ldl_reciprocals(const tni_ldl* ldl, int place, int* step);

/// LDL^T of one n x n block in place, reciprocal pivots on the diagonal: -1, or the first row whose
/// pivot is not positive and finite. solve: x <- D^-1 x for one right-hand side.
int  tni_block_factor(int n, double* D);
void tni_block_solve(int n, const double* D, double* x);

#endif
