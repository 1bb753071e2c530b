// cholmod: a positive definite matrix on a plan, factored by CHOLMOD instead of ldl.c. See
// cholmod.c.
//
// Only with the option TENON_CHOLMOD; without it creation gives TN_ERR_UNSUPPORTED. Not
// deterministic to the last bit, and it allocates in steps: CHOLMOD takes its memory itself, also
// during factorisations.
#ifndef TNI_CHOLMOD_H
#define TNI_CHOLMOD_H

#include "linalg/ldl.h"

typedef struct tni_cholmod tni_cholmod;

/// All nodes of the plan must be A nodes. Give back with tni_cholmod_free, before the arena goes.
TN_NODISCARD tn_result tni_cholmod_create(tni_arena* arena, const tni_plan* plan,
                                          tni_cholmod** cholmod);
void                   tni_cholmod_free(tni_cholmod* cholmod); ///< NULL is allowed

/// As tni_ldl_factor and tni_ldl_solve, for one component; the report says bad_row only.
TN_NODISCARD tn_result tni_cholmod_factor(tni_cholmod* cholmod, int component,
                                          const tni_blocks* blocks, const double* raise,
                                          tni_pivot_report* report);
void                   tni_cholmod_solve(tni_cholmod* cholmod, int component, double* x);

/// Numbers of the factor, as CHOLMOD counts them.
double tni_cholmod_numbers(const tni_cholmod* cholmod);

#endif
