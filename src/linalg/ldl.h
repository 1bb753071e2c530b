// ldl: block LDL^T of a symmetric quasi-definite matrix on a graph. See ldl.c.
#ifndef TNI_LDL_H
#define TNI_LDL_H

#include "linalg/order.h"

/// One node in elimination order.
typedef struct tni_pivot {
    int    row, dim; ///< its first row, in the graph's numbering, and how many
    int    sign;
    int    slot;   ///< its off-diagonal blocks: slot .. next pivot's slot - 1
    size_t at;     ///< its diagonal block, in doubles from the start of the values
    size_t target; ///< its update targets: for each pair of its slots k < l, the slot (k, l)
} tni_pivot;

/// The block that ties a pivot to a later one, dim[pivot] x dim[place].
typedef struct tni_slot {
    int    place;
    size_t at;
} tni_slot;

/// Symbolic analysis of one graph. Never changes; may be shared. "place" is a position in the
/// elimination order; nodes, edges and rows are numbered as the graph numbers them.
typedef struct tni_plan {
    int      count, edge_count, row_count, dim_max;
    int*     dim;
    int8_t*  sign;
    int *    row_node, *col_node;
    int*     row_start;     ///< of each node; row_start[count] = row_count
    int *    order, *place; ///< order[place] = node, place[node] = place
    int*     parent;        ///< by place: elimination tree, -1 at a root
    int      component_count;
    int*     component_start; ///< places component_start[c] .. component_start[c + 1] - 1
    int*     component_of;    ///< by node
    uint8_t* tree;            ///< by component: factored exactly, leaves first, without fill
    int*     edge_start;      ///< by component, into edge_list; edge_list is ordered by place
    int*     edge_list;

    tni_pivot* pivot; ///< count + 1
    tni_slot*  slot;
    int*       target;
    int*       slot_edge;   ///< the edge that fills a slot, -1: fill
    int*       edge_slot;   ///< stored transposed where the column node comes first
    size_t     value_count; ///< doubles of the factor

    int    fill_blocks;               ///< slots that no edge has
    double factor_flops, solve_flops; ///< mul + add, predicted; solve: one right-hand side
} tni_plan;

/// All in the arena, scratch memory from the same host. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_plan_create(tni_arena* arena, const tni_graph* graph, tni_plan** plan);

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
} tni_ldl;

TN_NODISCARD tn_result tni_ldl_create(tni_arena* arena, const tni_plan* plan, tni_ldl** ldl);

/// A factorisation overwrites what was loaded: clear, load every block, factor.
/// component -1 means all of them, here and below.
void tni_ldl_clear(tni_ldl* ldl, int component); ///< loops only; a tree has no fill to clear
void tni_ldl_load_diagonal(tni_ldl* ldl, int node, const double* block);    ///< dim x dim
void tni_ldl_load_edge(tni_ldl* ldl, int edge, const double* block);        ///< as in the graph
void tni_ldl_add_diagonal(tni_ldl* ldl, int node, int index, double value); ///< after the load

/// TN_ERR_SINGULAR with report->bad_row when an A pivot is not positive or a pivot not finite.
TN_NODISCARD tn_result tni_ldl_factor(tni_ldl* ldl, int component, const tni_pivot_rule* rule,
                                      tni_pivot_report* report);

/// Blocks by node and by edge: E is given positive, as in the saddle system.
typedef struct tni_blocks {
    const double* diagonal;
    const size_t* diagonal_at; ///< by node
    const double* edge;
    const size_t* edge_at; ///< by edge, as in the graph
    bool          hard;    ///< all B blocks are zero: they need not be read
} tni_blocks;

/// Loads and factors a tree in one pass, each block when its turn comes: large trees are bound by
/// memory. Same bits as load and factor.
TN_NODISCARD tn_result tni_ldl_factor_tree(tni_ldl* ldl, int component, const tni_blocks* blocks,
                                           const tni_pivot_rule* rule, tni_pivot_report* report);

/// x <- H^-1 x for `count` right-hand sides, x[row * count + k].
void tni_ldl_solve(const tni_ldl* ldl, int component, int count, double* x);

/// The same where only the given nodes have a right-hand side and only the wanted ones are asked
/// for: visits their ancestors and nothing else, and returns how many nodes that were. On entry
/// x counts on given nodes only; on return it holds the answer on wanted nodes, anything on other
/// ancestors, and is untouched elsewhere. Same bits as tni_ldl_solve.
int tni_ldl_solve_path(tni_ldl* ldl, const int* given, int given_count, const int* wanted,
                       int wanted_count, int count, double* x);

/// The first half of it: x <- L^-1 x on the given nodes and their ancestors. These are the places
/// (rising) in *places, which hold until the next call; returns how many.
int tni_ldl_half_solve(tni_ldl* ldl, const int* given, int given_count, int count, double* x,
                       const int** places);

/// LDL^T of one n x n block in place, reciprocal pivots on the diagonal: -1, or the first row whose
/// pivot is not positive and finite. solve: x <- D^-1 x for one right-hand side.
int  tni_block_factor(int n, double* D);
void tni_block_solve(int n, const double* D, double* x);

#endif
