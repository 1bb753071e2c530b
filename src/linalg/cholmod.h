// cholmod: a positive definite matrix on a plan, factored by CHOLMOD instead of ldl.c.
//
// Only with the build option TENON_CHOLMOD; without it creation fails with TN_ERR_UNSUPPORTED. Not
// bitwise reproducible, and it allocates during steps: CHOLMOD manages its own memory.
#ifndef TNI_CHOLMOD_H
#define TNI_CHOLMOD_H

#include "linalg/ldl.h"

typedef struct tni_cholmod tni_cholmod;

/// All nodes of the plan must be A nodes. Free with tni_cholmod_free before the arena is freed.
TN_NODISCARD tn_result tni_cholmod_create(tni_arena* arena, const tni_plan* plan,
                                          tni_cholmod** cholmod);
void                   tni_cholmod_free(tni_cholmod* cholmod); ///< NULL is allowed

/// As tni_ldl_factor and tni_ldl_solve, for one component; of the report only bad_row is set.
TN_NODISCARD tn_result tni_cholmod_factor(tni_cholmod* cholmod, int component,
                                          const tni_blocks* blocks, const double* raise,
                                          tni_pivot_report* report);
void                   tni_cholmod_solve(tni_cholmod* cholmod, int component, double* x);

/// Nonzeros of the factor, as CHOLMOD counts them.
double tni_cholmod_numbers(const tni_cholmod* cholmod);

#endif
