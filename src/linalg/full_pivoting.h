// full_pivoting: solves W x = y for a square W that may be singular, and names the rows that follow from
// others. See full_pivoting.c.
#ifndef TNI_FULL_PIVOTING_H
#define TNI_FULL_PIVOTING_H

#include "base/base.h"

/// A row with no more than this left of it, relative to what it was, follows from the others.
#define TNI_FULL_PIVOTING_DEPENDENT 1e-11

typedef struct tni_full_pivoting {
    int      n, rank;
    double*  W;         ///< n x n, row-major: fill in, then factor in place
    int *    row, *col; ///< of W, in the order in which they were chosen
    uint8_t* dependent; ///< by row
    double*  work;
} tni_full_pivoting;

/// For matrices of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_full_pivoting_create(tni_arena* arena, int capacity,
                                                tni_full_pivoting* pivoted);

/// Factors the n x n matrix in pivoted->W. Positive semidefinite matrices take their pivots from
/// the diagonal, all others from anywhere. scale: what the diagonal of a semidefinite one is
/// measured by where it is larger; NULL: the diagonal alone.
void tni_full_pivoting_factor(tni_full_pivoting* pivoted, int n, bool semidefinite,
                              const double* scale);

/// x <- a solution of W x = (the x that comes in) by the independent rows, zero at n - rank places;
/// with a semidefinite W these are the places of the dependent rows. What the dependent rows say is
/// not read: they hold as far as they agree with the others.
void tni_full_pivoting_solve(tni_full_pivoting* pivoted, double* x);

#endif
