// full_pivoting: solves W x = y for a square, possibly singular W and finds its dependent rows. See
// full_pivoting.c.
#ifndef TNI_FULL_PIVOTING_H
#define TNI_FULL_PIVOTING_H

#include "base/base.h"

/// A row whose remainder, relative to its scale, is not above this is dependent on the others.
#define TNI_FULL_PIVOTING_DEPENDENT 1e-11

typedef struct tni_full_pivoting {
    int      n, rank;
    double*  W;         ///< n x n, row-major: filled in by the caller, factored in place
    int *    row, *col; ///< of W, in pivot order
    uint8_t* dependent; ///< by row: 1 if dependent
    double*  work;
} tni_full_pivoting;

/// For matrices of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_full_pivoting_create(tni_arena* arena, int capacity,
                                                tni_full_pivoting* pivoted);

/// Factors the n x n matrix in pivoted->W. Positive semidefinite matrices use diagonal pivots, all
/// others complete pivoting. scale: replaces smaller diagonal entries as the scale of pivots of a
/// semidefinite matrix; may be NULL.
void tni_full_pivoting_factor(tni_full_pivoting* pivoted, int n, bool semidefinite,
                              const double* scale);

/// x <- a solution of the independent rows of W x = (the x passed in), zero at n - rank places; if
/// W is semidefinite, at the dependent rows. Right-hand sides of dependent rows are not read: those
/// equations hold if they are consistent.
void tni_full_pivoting_solve(tni_full_pivoting* pivoted, double* x);

#endif
