// node_splitting: A nodes with many edges, split into parts connected by welds. See
// node_splitting.c.
#ifndef TNI_NODE_SPLITTING_H
#define TNI_NODE_SPLITTING_H

#include "linalg/plan.h"

/// Parts are numbered by A node; a node that is not split is one part, B nodes have none.
typedef struct tni_splitting {
    int  count, weld_count;
    int* first;   ///< by node: its first part; first[nodes] = count
    int* of_edge; ///< by edge: the part of its column node it belongs to
    int* node;    ///< by part: its A node
} tni_splitting;

/// part_edges: largest number of edges of a part; 0: no splitting. Out of memory: arena->failed or
/// scratch->failed is set.
void tni_splitting_find(tni_arena* arena, tni_arena* scratch, const tni_plan* plan, int part_edges,
                        tni_splitting* parts);

#endif
