// order: fill-reducing elimination orders of block graphs. See order.c.
#ifndef TNI_ORDER_H
#define TNI_ORDER_H

#include "base/base.h"

/// The block structure of a symmetric quasi-definite matrix.
typedef struct tni_graph {
    int            count;      ///< nodes
    const int*     dim;        ///< rows of each node, 1..TNI_DIM_MAX
    const int8_t*  sign;       ///< +1: A node, positive definite; -1: B node, negative semidefinite
    int            edge_count; ///< at most one edge between two nodes, no self-loops
    const int*     row_node;   ///< edge e is the block (row_node[e], col_node[e]), row-major
    const int*     col_node;
    const uint8_t* strong; ///< the block has full row rank (its row node is a B node)
    const int* hard; ///< rows of B nodes that rely on A nodes eliminated before them, other rows
                     ///< being definite by themselves; NULL: all
} tni_graph;

enum { TNI_DIM_MAX = 64 };

/// The graph as adjacency lists. An edge between an A and a B node is strong for both.
typedef struct tni_adjacency {
    int           count;
    const int*    dim;
    const int*    hard;  ///< rows of a B node that need support
    const int8_t* sign;  ///< +1 also for B nodes without such rows
    int*          start; ///< neighbours of v: node[start[v] .. start[v + 1] - 1]
    int*          node;
    uint8_t*      strong;
} tni_adjacency;

/// Memory from the arena; check arena->failed before use.
tni_adjacency tni_adjacency_make(tni_arena* arena, const tni_graph* graph);

/// Lists the nodes by component, in order of the lowest node of each; returns how many components.
/// nodes[count], start[count + 1], component_of[count].
int tni_order_components(const tni_adjacency* graph, int* nodes, int* start, int* component_of);

/// The root from which one component can be eliminated without fill-in, leaves first; -1: none.
/// work[5 * graph->count]; its first graph->count entries are -1 on entry and on return.
int tni_order_root(const tni_adjacency* graph, const int* nodes, int count, int* work);

/// Breadth-first search from root into queue; returns how many nodes. up[v]: the neighbour of v
/// towards the root; -1 for the root and, on entry, for all nodes of the component.
int tni_order_breadth(const tni_adjacency* graph, int root, int* queue, int* up);

/// The order for loops over the nodes that are not skipped, with the support rule; fills order,
/// returns how many, -1 if out of memory.
int tni_order_loops(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                    int* order);

/// Minimum degree with the support rule over the nodes that are not skipped, lower regions first
/// (NULL: one region); fills order, returns how many, -1 if out of memory.
int tni_order_minimum_degree(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                             const int* region, int* order);

/// The same with regions found by nested dissection.
int tni_order_dissected(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                        int* order);

/// The cost of a block factorisation.
typedef struct tni_order_cost {
    double flops;   ///< multiplications and additions
    double numbers; ///< nonzeros of the factor, blocks counted in full
    double front;   ///< rows of the largest column, including its own
} tni_order_cost;

/// Nodes not in the order are ignored. False: out of memory.
bool tni_order_cost_of(tni_arena* scratch, const tni_adjacency* graph, const int* order, int count,
                       tni_order_cost* cost);

/// Result of choosing an order for loops.
typedef struct tni_order_choice {
    int            dissected; ///< nodes in components for which nested dissection was cheaper
    tni_order_cost cost;      ///< of all components
} tni_order_choice;

/// tni_order_loops with a report.
int tni_order_choose(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                     int* order, tni_order_choice* choice);

/// Elimination tree: parent[p] is the position of the first later neighbour of position p after
/// fill-in. work[count].
void tni_order_parents(const tni_adjacency* graph, const int* order, const int* place, int* parent,
                       int* work);

/// Renumbers the positions first..end-1 (closed under parent) in postorder, so that subtrees are
/// contiguous; rewrites order and parent. work[4 * (end - first)].
void tni_order_postorder(int first, int end, int* order, int* parent, int* work);

#endif
