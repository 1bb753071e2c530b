// rank: redundant rows among the hard B rows of a saddle system. See rank.c.
#ifndef TNI_RANK_H
#define TNI_RANK_H

#include "linalg/saddle.h"

/// A row with a margin at or below this is redundant.
#define TNI_RANK_DEPENDENT 1e-10

/// margin[row] <- squared length of the part of the row that is independent of the others, relative
/// to the row: at most TNI_RANK_DEPENDENT if it is redundant. The rows above that are independent
/// and span all rows. Call after tni_saddle_factor; the factor is kept. Rows of trees, soft rows
/// and rows of A nodes have margin 1. Fails with TN_ERR_MEMORY, or TN_ERR_SINGULAR if A is not
/// positive definite.
TN_NODISCARD tn_result tni_rank_rows(tni_saddle* s, tni_arena* scratch, double* margin);

#endif
