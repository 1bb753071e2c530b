// least_norm: of all solutions f of a complementarity problem with the same a, the least. See
// least_norm.c.
#ifndef TNI_LEAST_NORM_H
#define TNI_LEAST_NORM_H

#include "linalg/complementarity.h"

typedef struct tni_least_norm {
    int     capacity;
    int*    free; ///< rows that may change
    double *A, *y, *g, *r, *a;
    int*    exchange;
} tni_least_norm;

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_least_norm_create(tni_arena* arena, int capacity, tni_least_norm* least);

/// Given a solution p->f, p->a: moves f towards the least-norm solution as far as the conditions
/// allow; a stays the same up to rounding. Leaves f unchanged if there is none. Allocates nothing.
void tni_least_norm_answer(tni_least_norm* least, const tni_complementarity* p);

#endif
