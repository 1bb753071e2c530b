// nested_dissection: nested dissection of a block graph. See nested_dissection.c.
#ifndef TNI_NESTED_DISSECTION_H
#define TNI_NESTED_DISSECTION_H

#include "linalg/order.h"

/// Sets the region (>= 0) of every node that is not skipped: a separator has a higher number than
/// everything it separates. False: out of memory.
bool tni_nested_dissection(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                           int* region);

#endif
