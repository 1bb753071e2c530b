// cone: problems of pairs.h with friction cones. See cone.c.
#ifndef TNI_CONE_H
#define TNI_CONE_H

#include "linalg/pairs.h"

typedef struct tni_cone tni_cone; ///< workspace

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_cone_create(tni_arena* arena, int capacity, tni_cone** cone);

/// Solves a problem without equal rows, starting from p->f. *rounds: sweeps and Newton steps spent.
/// False: the conditions are met to 1e-10 (relative to the largest |b|) nowhere that was tried; f
/// and a are the best found, f within its bounds. Always ends, allocates nothing.
bool tni_cone_solve(tni_cone* cone, const tni_pairs* p, int* rounds);

#endif
