// dense: textbook solvers for full matrices, for small problems and as reference for the sparse
// ones: LDL^T without pivoting (positive definite), LU with partial pivoting, pivoted Gram-Schmidt
// for the rank. Row-major, no allocation, O(n^3), not tuned.
#ifndef TNI_DENSE_H
#define TNI_DENSE_H

#include "base/base.h"

#include <math.h>

/// a <- L d L^T, unit L below the diagonal, d on it. TN_ERR_SINGULAR if a d is not positive.
TN_NODISCARD tn_result tni_dense_ldl(int n, double* a);
void                   tni_dense_ldl_solve(int n, const double* a, double* x); ///< in place

/// Cholesky a = L L^T in the lower half. False, and NaN in L, if a is not positive definite.
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

/// One step of a pivoted Cholesky factorisation: row <- a_p / sqrt(a_pp), a <- a - row^T row; row
/// and column p become zero.
void tni_dense_take_pivot(int n, int p, double* a, double* row);

/// P a = L U in place; exchange[n]. TN_ERR_SINGULAR if a column has no finite nonzero pivot.
TN_NODISCARD tn_result tni_dense_lu(int n, double* a, int* exchange);
void                   tni_dense_lu_solve(int n, const double* a, const int* exchange, double* x);

/// The rank of a rows x cols matrix. Rows are normalised first; a row is dependent when less than
/// `tolerance` of it remains orthogonal to the rows chosen before, the largest remainder being
/// chosen first. dependent[rows] may be NULL. Overwrites a.
int tni_dense_rank(int rows, int cols, double* a, double tolerance, uint8_t* dependent);

#endif
