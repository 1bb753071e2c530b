// halves: products x^T H^-1 y of sparse x and y by the first half of a solve alone. See halves.c.
#ifndef TNI_HALVES_H
#define TNI_HALVES_H

#include "linalg/ldl.h"

/// L^-1 x for up to a few columns x.
typedef struct tni_half {
    int    first, count; ///< its places
    int    columns;
    size_t at, end; ///< its numbers
    bool   chain;   ///< its places are one path to the root
} tni_half;

typedef struct tni_halves {
    int     place_count, place_capacity;
    int*    places;
    size_t  number_count, number_capacity;
    double* numbers;
} tni_halves;

/// Room for so many places and numbers, over all halves. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_halves_create(tni_arena* arena, int places, size_t numbers,
                                         tni_halves* halves);
void                   tni_halves_clear(tni_halves* halves);

/// x as for tni_ldl_solve_path. False: no room, and nothing was added.
bool tni_halves_add(tni_halves* halves, tni_ldl* ldl, const int* given, int given_count, int count,
                    double* x, tni_half* half);
/// out[i * stride + j] = x_i^T H^-1 y_j, x being the columns of one half and y those of the other.
void tni_halves_product(const tni_halves* halves, const tni_ldl* ldl, const tni_half* one,
                        const tni_half* other, double* out, int stride);

#endif
