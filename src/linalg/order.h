// order: in which order the nodes of a block graph are eliminated. See order.c.
#ifndef TNI_ORDER_H
#define TNI_ORDER_H

#include "base/base.h"

/// The block structure of a symmetric quasi-definite matrix.
typedef struct tni_graph {
    int            count;      ///< nodes
    const int*     dim;        ///< rows of each node, 1..TNI_DIM_MAX
    const int8_t*  sign;       ///< +1: A node, positive definite; -1: B node, negative semidefinite
    int            edge_count; ///< at most one edge a pair of nodes, none from a node to itself
    const int*     row_node;   ///< edge e is the block (row_node[e], col_node[e]), row-major
    const int*     col_node;
    const uint8_t* strong; ///< the block alone has full row rank, its row node being a B node
} tni_graph;

enum { TNI_DIM_MAX = 64 };

/// The graph as lists of neighbours. An edge between an A and a B node is strong for both.
typedef struct tni_adjacency {
    int           count;
    const int*    dim;
    const int8_t* sign;
    int*          start; ///< neighbours of v: node[start[v] .. start[v + 1] - 1]
    int*          node;
    uint8_t*      strong;
} tni_adjacency;

/// Memory from the arena; look at arena->failed before using the result.
tni_adjacency tni_adjacency_make(tni_arena* arena, const tni_graph* graph);

/// Lists the nodes component by component, in order of the lowest node of each; returns how many.
/// nodes[count], start[count + 1], component_of[count].
int tni_order_components(const tni_adjacency* graph, int* nodes, int* start, int* component_of);

/// The root from which one component can be eliminated exactly, leaves first; -1: there is none.
/// work[5 * graph->count], its first graph->count entries -1, and left so.
int tni_order_root(const tni_adjacency* graph, const int* nodes, int count, int* work);

/// The component of root, nearest first, into queue; returns how many. up[v] is the neighbour
/// of v towards the root, -1 for the root itself and, on entry, for all nodes of the component.
int tni_order_breadth(const tni_adjacency* graph, int root, int* queue, int* up);

/// The order for loops, over the nodes that are not skipped, with the local rule; fills order,
/// returns how many, or -1 when there is no memory.
int tni_order_loops(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                    int* order);

/// Minimum degree with the local rule over the nodes that are not skipped, those of lower regions
/// first (NULL: all of one); fills order, returns how many, or -1 when there is no memory.
int tni_order_minimum_degree(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                             const int* region, int* order);

/// As above, in regions made by nested dissection.
int tni_order_dissected(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                        int* order);

/// What a block factor costs.
typedef struct tni_order_cost {
    double flops;   ///< mul + add of one factorisation
    double numbers; ///< of the factor, blocks whole
    double front;   ///< rows of the widest column, its own counted in
} tni_order_cost;

/// The nodes that are not in the order take no part. False when there is no memory.
bool tni_order_cost_of(tni_arena* scratch, const tni_adjacency* graph, const int* order, int count,
                       tni_order_cost* cost);

/// How the order of loops was found.
typedef struct tni_order_choice {
    int            dissected; ///< nodes in components for which nested dissection was cheaper
    tni_order_cost cost;      ///< of all components
} tni_order_choice;

/// tni_order_loops with a report.
int tni_order_choose(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                     int* order, tni_order_choice* choice);

/// Elimination tree: parent[p] is the place of the first later neighbour of place p after fill.
/// work[count].
void tni_order_parents(const tni_adjacency* graph, const int* order, const int* place, int* parent,
                       int* work);

/// Renumbers the places first..end-1 (closed under parent) so that each subtree is contiguous:
/// order and parent are rewritten. work[4 * (end - first)].
void tni_order_postorder(int first, int end, int* order, int* parent, int* work);

#endif
