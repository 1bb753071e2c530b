// rank: which hard B rows of a saddle system follow from others. See rank.c.
#ifndef TNI_RANK_H
#define TNI_RANK_H

#include "linalg/saddle.h"

/// A margin at or below this is that of a row that follows from others.
#define TNI_RANK_DEPENDENT 1e-10

/// margin[row] <- how much of a row the others leave, squared, relative to the whole: at most
/// TNI_RANK_DEPENDENT where it follows from them. The rows above that are independent and say all
/// that is said. Call after tni_saddle_factor; the factor stays. Rows of trees, soft rows and rows
/// of A nodes have margin 1. Fails with TN_ERR_MEMORY, or TN_ERR_SINGULAR where A is not positive.
TN_NODISCARD tn_result tni_rank_rows(tni_saddle* s, tni_arena* scratch, double* margin);

#endif
