// plan: the symbolic analysis of a block graph, once a model. See plan.c.
#ifndef TNI_PLAN_H
#define TNI_PLAN_H

#include "linalg/order.h"

/// One node in elimination order.
typedef struct tni_pivot {
    int    row, dim; ///< its first row, in the graph's numbering, and how many
    int    sign;
    int    slot; ///< trees: its block with its parent; the next pivot's slot where it has none
    size_t at;   ///< in doubles from the start of the values. Trees: its diagonal block; loops: its
                 ///< reciprocal pivots, one after the other
} tni_pivot;

/// Trees: the block that ties a pivot to its parent, dim[pivot] x dim[place].
typedef struct tni_slot {
    int    place;
    size_t at;
} tni_slot;

/// Neighbouring columns of a front, those of whole nodes. See tile.c for how it lies in memory.
typedef struct tni_slab {
    int    first, end; ///< places
    int    row;        ///< its first row in the front; slab rows are numbered from there
    int    width;      ///< columns
    size_t at;         ///< in the values
} tni_slab;

/// A supernode: neighbouring places whose columns are eliminated together. Its rows are its own,
/// each slab filled up to whole panels, then those of its later nodes.
typedef struct tni_front {
    int    first, end;  ///< own places
    int    own;         ///< own rows, filled up; the later ones follow
    int    later, rows; ///< later nodes, in plan->later up to the next front's; rows of all of them
    int    slab;        ///< own slabs, in plan->slab up to the next front's
    int    edge;        ///< in plan->front_edge: edges from own nodes to each other and later ones
    int    child, next; ///< the first of the fronts that update this one, and its next sister; -1
    int    parent;      ///< -1 at a root
    size_t at;          ///< in the values: reciprocal pivots by own row
    size_t update;      ///< in the stack: what it takes from later rows, slabs of TNI_SLAB columns
} tni_front;

/// Symbolic analysis of one graph. Never changes; may be shared. "place" is a position in the
/// elimination order; nodes, edges and rows are numbered as the graph numbers them.
typedef struct tni_plan {
    int     count, edge_count, row_count, dim_max;
    int*    dim;
    int8_t* sign;
    int *   row_node, *col_node;
    int*    row_start;     ///< of each node; row_start[count] = row_count
    int *   order, *place; ///< order[place] = node, place[node] = place
    int*    parent; ///< by place: elimination tree, -1 at a root. It goes through a front place
                    ///< by place, and on to the first place of the next one
    int      component_count;
    int*     component_start; ///< places component_start[c] .. component_start[c + 1] - 1
    int*     component_of;    ///< by node
    uint8_t* tree;            ///< by component: factored exactly, leaves first, without fill
    int*     edge_start;      ///< by component, into edge_list; edge_list is ordered by place
    int*     edge_list;

    tni_pivot* pivot; ///< count + 1
    tni_slot*  slot;
    int*       slot_edge;   ///< the edge that fills a slot
    size_t     value_count; ///< doubles of the factor

    int        front_count;
    tni_front* front;     ///< front_count + 1
    int*       front_of;  ///< by place; -1 in trees
    int*       front_row; ///< by place: its first row in its front
    tni_slab*  slab;
    int*       later;      ///< places
    int*       later_row;  ///< their first rows in the parent of the front
    int*       front_edge; ///< edges by the front of their earlier node
    int*       edge_row;   ///< by edge: the first row of its later node in that front
    int        front_rows_max;
    size_t     stack_count; ///< doubles that updates take at one moment

    int    fill_blocks;               ///< blocks of the factor that no edge has, zeros not counted
    double factor_flops, solve_flops; ///< mul + add, predicted; solve: one right-hand side
} tni_plan;

/// All in the arena, scratch memory from the same host. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_plan_create(tni_arena* arena, const tni_graph* graph, tni_plan** plan);

/// The same with another price of a front. Below 0: fronts are never merged; HUGE_VAL: each
/// component with loops becomes one front.
TN_NODISCARD tn_result tni_plan_create_merged(tni_arena* arena, const tni_graph* graph,
                                              double front_cost, tni_plan** plan);

typedef struct tni_range {
    int first, end;
} tni_range;

/// Places of a component; of all for -1.
TNI_INLINE tni_range tni_plan_places(const tni_plan* plan, int component)
{
    if (component < 0) return (tni_range){0, plan->count};
    return (tni_range){plan->component_start[component], plan->component_start[component + 1]};
}

#endif
