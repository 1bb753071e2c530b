// least: of all answers to a problem of pairs.h with the same a, the least. See least.c.
#ifndef TNI_LEAST_H
#define TNI_LEAST_H

#include "linalg/pairs.h"

typedef struct tni_least {
    int     capacity;
    int*    free; ///< rows that may change
    double *A, *y, *g, *r, *a;
    int*    exchange;
} tni_least;

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_least_create(tni_arena* arena, int capacity, tni_least* least);

/// p->f and p->a are an answer. Moves f towards the least one, as far as the conditions allow; a
/// stays, but for the rounding it had. Leaves f alone where there is no such. Allocates nothing.
void tni_least_answer(tni_least* least, const tni_pairs* p);

#endif
