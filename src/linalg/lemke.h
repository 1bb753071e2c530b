// lemke: Lemke's method for rows within bounds; the fallback of lcp.c. See lemke.c.
#ifndef TNI_LEMKE_H
#define TNI_LEMKE_H

#include "base/base.h"

typedef struct tni_lemke tni_lemke; ///< workspace

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_lemke_create(tni_arena* arena, int capacity, tni_lemke** lemke);

/// Finds f with lower <= f <= upper, and a = W f + b zero inside, >= 0 at lower, <= 0 at upper.
/// lower <= upper, at least one finite in each row. False, f unchanged: the path ended on a ray or
/// was too long. *pivots counts steps. Accuracy: rounding grows along the path.
bool tni_lemke_solve(tni_lemke* lemke, int n, const double* W, const double* b, const double* lower,
                     const double* upper, double* f, int* pivots);

#endif
