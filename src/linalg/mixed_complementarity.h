// mixed_complementarity: any problem of complementarity.h. See mixed_complementarity.c.
#ifndef TNI_MIXED_COMPLEMENTARITY_H
#define TNI_MIXED_COMPLEMENTARITY_H

#include "linalg/complementarity.h"

typedef struct tni_mixed tni_mixed; ///< workspace

typedef struct tni_mixed_report {
    double residual;        ///< largest violation of a condition, in units of a
    int    residual_row;    ///< row of it; -1: none
    int    dependent_count; ///< equal rows that depend on the other equal rows
    int    pivot_count;     ///< changes of the active set, or sweeps and Newton steps
} tni_mixed_report;

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_mixed_create(tni_arena* arena, int capacity, tni_mixed** mixed);

/// Solves for f and a, starting from p->f. False: no f was found that meets the conditions (there
/// may be none if W is not symmetric, or if equal rows contradict each other); f and a are the best
/// found, the report has the residual. Always terminates, allocates nothing.
bool tni_mixed_solve(tni_mixed* mixed, const tni_complementarity* p, tni_mixed_report* report);
/// True if equal row i was dependent on the other equal rows in the last solve.
bool tni_mixed_dependent(const tni_mixed* mixed, int i);

#endif
