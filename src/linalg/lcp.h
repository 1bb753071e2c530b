// lcp: complementarity problems without equal rows and cones. See lcp.c.
#ifndef TNI_LCP_H
#define TNI_LCP_H

#include "linalg/complementarity.h"

typedef struct tni_lcp tni_lcp; ///< workspace

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_lcp_create(tni_arena* arena, int capacity, tni_lcp** lcp);

/// Solves a problem of one-sided rows and boxes; the initial active set are the rows with p->f
/// strictly within their bounds. A normal row counts as one-sided. Boxes have lower <= upper, at
/// least one of them finite. *pivots: number of changes of the active set. True: the residual is at
/// most TNI_COMPLEMENTARITY_SOLVED of the scale. False: no solution was found; for a positive
/// semidefinite or a P-matrix W there is none, except for rounding and paths of exponential length.
/// f and a are the best found, f within its bounds if numbers are finite. Always terminates,
/// allocates nothing.
bool tni_lcp_solve(tni_lcp* lcp, const tni_complementarity* p, int* pivots);

#endif
