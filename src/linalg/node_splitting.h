// node_splitting: A nodes with many edges cut into parts that welds hold together. See node_splitting.c.
#ifndef TNI_NODE_SPLITTING_H
#define TNI_NODE_SPLITTING_H

#include "linalg/plan.h"

/// Parts are numbered A node by A node; one that is not split is a single part, a B node none.
typedef struct tni_splitting {
    int  count, weld_count;
    int* first;   ///< by node: its first part; first[nodes] = count
    int* of_edge; ///< by edge: the part of its column node that it hangs on
    int* node;    ///< by part: its A node
} tni_splitting;

/// part_edges: edges that a part of a split node carries, at most; 0: nothing is split. Fails, when
/// there is no memory, by arena->failed or scratch->failed.
void tni_splitting_find(tni_arena* arena, tni_arena* scratch, const tni_plan* plan, int part_edges,
                        tni_splitting* parts);

#endif
