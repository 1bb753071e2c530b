// least_norm: of all answers to a problem of complementarity.h with the same a, the least. See least_norm.c.
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

/// p->f and p->a are an answer. Moves f towards the least one, as far as the conditions allow; a
/// stays, but for the rounding it had. Leaves f alone where there is no such. Allocates nothing.
void tni_least_norm_answer(tni_least_norm* least, const tni_complementarity* p);

#endif
