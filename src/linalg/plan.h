// plan: the symbolic analysis of a block graph, done once a model. See plan.c.
#ifndef TNI_PLAN_H
#define TNI_PLAN_H

#include "linalg/order.h"

/// One node in elimination order.
typedef struct tni_pivot {
    int    row, dim; ///< first row, in the graph's numbering, and number of rows
    int    sign;
    int    slot; ///< trees: its block with its parent; at a root: the next pivot's slot
    size_t at;   ///< offset in the values. Trees: its diagonal block; loops: its reciprocal pivots
} tni_pivot;

/// Trees: the block between a node and its parent, dim[pivot] x dim[place].
typedef struct tni_slot {
    int    place;
    size_t at;
} tni_slot;

/// Adjacent columns of a front, of whole nodes. tile.c describes the storage.
typedef struct tni_slab {
    int    first, end; ///< positions
    int    row;        ///< its first row in the front; rows of the slab are numbered from it
    int    width;      ///< number of columns
    size_t at;         ///< offset in the values
} tni_slab;

/// A supernode: adjacent positions whose columns are eliminated together. Its rows are its own,
/// each slab padded to whole panels, then those of its later nodes.
typedef struct tni_front {
    int    first, end;  ///< its positions
    int    own;         ///< own rows, padded; the later rows follow
    int    later, rows; ///< start in plan->later, up to the next front's; their rows
    int    slab;        ///< start in plan->slab, up to the next front's
    int    edge;        ///< start in plan->front_edge: edges of own nodes to own and later nodes
    int    child, next; ///< first child, next sibling; -1: none
    int    parent;      ///< -1 at a root
    size_t at;          ///< offset in the values: reciprocal pivots by own row
    size_t update;      ///< offset in the stack: its update, slabs of TNI_SLAB columns
} tni_front;

/// Symbolic analysis of one graph. Immutable; may be shared. "place" is a position in the
/// elimination order; nodes, edges and rows are numbered as in the graph.
typedef struct tni_plan {
    int     count, edge_count, row_count, dim_max;
    int*    dim;
    int8_t* sign;
    int *   row_node, *col_node;
    int*    row_start;     ///< first row by node; row_start[count] = row_count
    int *   order, *place; ///< order[place] = node, place[node] = place
    int*    parent; ///< by place: elimination tree, -1 at a root. In a front, each place's parent
                    ///< is the next one, the last one's the first place of the parent front
    int      component_count;
    int*     component_start; ///< positions component_start[c] .. component_start[c + 1] - 1
    int*     component_of;    ///< by node
    uint8_t* tree;            ///< by component: exact elimination without fill-in
    int*     edge_start;      ///< by component, into edge_list; edge_list is ordered by place
    int*     edge_list;

    tni_pivot* pivot; ///< count + 1
    tni_slot*  slot;
    int*       slot_edge;   ///< by slot: its edge
    size_t     value_count; ///< doubles in the factor

    int        front_count;
    tni_front* front;     ///< front_count + 1
    int*       front_of;  ///< by place; -1 in trees
    int*       front_row; ///< by place: its first row in its front
    tni_slab*  slab;
    int*       later;      ///< places of later nodes of all fronts
    int*       later_row;  ///< their first rows in the parent of the front
    int*       front_edge; ///< edges by the front of their earlier node
    int*       edge_row;   ///< by edge: the first row of its later node in that front
    int        front_rows_max;
    size_t     stack_count; ///< doubles of the update stack

    int    fill_blocks;               ///< number of fill-in blocks; zeros from merging not counted
    double factor_flops, solve_flops; ///< predicted; solve: one right-hand side
} tni_plan;

/// Allocates in the arena, scratch memory from the same host. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_plan_create(tni_arena* arena, const tni_graph* graph, tni_plan** plan);

/// The same with another fixed cost of a front [ns]. Below 0: fronts are never merged; HUGE_VAL:
/// each component with loops becomes one front.
TN_NODISCARD tn_result tni_plan_create_merged(tni_arena* arena, const tni_graph* graph,
                                              double front_cost, tni_plan** plan);

typedef struct tni_range {
    int first, end;
} tni_range;

/// The places of a component; -1: all.
TNI_INLINE tni_range tni_plan_places(const tni_plan* plan, int component)
{
    if (component < 0) return (tni_range){0, plan->count};
    return (tni_range){plan->component_start[component], plan->component_start[component + 1]};
}

#endif
