// half_solve: products x^T H^-1 y of sparse x and y by forward solves only. See half_solve.c.
#ifndef TNI_HALF_SOLVE_H
#define TNI_HALF_SOLVE_H

#include "linalg/ldl.h"

/// L^-1 x for a few columns x.
typedef struct tni_half_solve {
    int    first, count; ///< range in places
    int    columns;
    size_t at, end; ///< range in numbers
    bool   chain;   ///< its positions are one path to the root
} tni_half_solve;

typedef struct tni_half_solves {
    int     place_count, place_capacity;
    int*    places;
    size_t  number_count, number_capacity;
    double* numbers;
} tni_half_solves;

/// Capacity in positions and numbers over all half solves. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_half_solves_create(tni_arena* arena, int places, size_t numbers,
                                              tni_half_solves* halves);
void                   tni_half_solves_clear(tni_half_solves* halves);

/// x as for tni_ldl_solve_path. False: no room, nothing was added.
bool tni_half_solves_add(tni_half_solves* halves, tni_ldl* ldl, const int* given, int given_count,
                         int count, double* x, tni_half_solve* half);
/// out[i * stride + j] = x_i^T H^-1 y_j, x_i the columns of `one` and y_j those of `other`.
void tni_half_solves_product(const tni_half_solves* halves, const tni_ldl* ldl,
                             const tni_half_solve* one, const tni_half_solve* other, double* out,
                             int stride);

#endif
