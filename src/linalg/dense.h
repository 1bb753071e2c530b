// dense: plain solvers for full matrices. The oracle of the sparse ones, and small problems.
//
// Row-major, memory handed in, textbook algorithms: LDL^T without pivoting for positive definite
// matrices, LU with row exchanges for any square one, Gram-Schmidt with row exchanges for rank.
// O(n^3). Nothing here is tuned; what is to be checked against it is.
#ifndef TNI_DENSE_H
#define TNI_DENSE_H

#include "base/base.h"

#include <math.h>

/// a <- L d L^T, unit L below the diagonal, d on it. TN_ERR_SINGULAR when d is not positive.
TN_NODISCARD tn_result tni_dense_ldl(int n, double* a);
void                   tni_dense_ldl_solve(int n, const double* a, double* x); ///< in place

/// a <- L with a = L L^T, from and in the lower half. False, with NaN in it: not positive definite.
TNI_INLINE bool tni_dense_cholesky(int n, double* a)
{
    bool good = true;
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            double sum = a[n * i + j];
            for (int k = 0; k < j; ++k) sum -= a[n * i + k] * a[n * j + k];
            if (i == j) good = good && sum > 0;
            a[n * i + j] = i == j ? sqrt(sum) : sum / a[n * j + j];
        }
    }
    return good;
}

/// One step of a Cholesky factorisation with chosen pivots: row <- a_p / sqrt(a_pp), a <- a - row^T row,
/// and row and column p become zero.
void tni_dense_take_pivot(int n, int p, double* a, double* row);

/// P a = L U in place; exchange[n]. TN_ERR_SINGULAR when a column has no finite nonzero pivot.
TN_NODISCARD tn_result tni_dense_lu(int n, double* a, int* exchange);
void                   tni_dense_lu_solve(int n, const double* a, const int* exchange, double* x);

/// How many rows of the rows x cols matrix are independent. Each row is first brought to length
/// one; a row is dependent when less than `tolerance` of it is left beside the rows chosen before
/// it, the longest remainder coming first. dependent[rows] may be NULL. Overwrites a.
int tni_dense_rank(int rows, int cols, double* a, double tolerance, uint8_t* dependent);

#endif
