// plan: the symbolic analysis of a block graph, once a model. See plan.c.
#ifndef TNI_PLAN_H
#define TNI_PLAN_H

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

#endif
