// complementarity: small dense complementarity problems: unknowns f and a with
//
//     a = W f + b,      a condition on each pair (a_i, f_i)
//
// W is dense, n x n, usually symmetric and positive semidefinite, often singular. It is not
// symmetric where the force of a row acts along other directions than the row itself. Problems
// without cones: lcp.h, with cones: friction_cone.h, any: mixed_complementarity.h.
#ifndef TNI_COMPLEMENTARITY_H
#define TNI_COMPLEMENTARITY_H

#include "base/base.h"

typedef enum tni_condition {
    TNI_EQUAL,     ///< a = 0
    TNI_ONE_SIDED, ///< a >= 0, f >= 0, a f = 0
    TNI_BOX,       ///< lower <= f <= upper; a = 0 inside, a >= 0 at lower, a <= 0 at upper
    TNI_NORMAL,    ///< one-sided, and f bounds the one or two tangent rows that follow
    TNI_TANGENT,   ///< Coulomb: |f_t| <= mu f_n; a_t = 0 inside, a_t = -s f_t, s >= 0, at the bound
    TNI_SPIN,      ///< the same for one row (torsional friction), with the mu of this row
    TNI_ROLL       ///< the same for one or two rows (rolling), with the mu of the first
} tni_condition;

/// The arrays belong to the caller.
typedef struct tni_complementarity {
    int           n;
    bool          symmetric; ///< W is symmetric by construction
    const double* W;         ///< n x n, row-major
    const double* b;
    const double*
        scale; ///< scale of W_ii without other constraints; an equal row whose W_ii is tiny
               ///< relative to it is dependent. NULL: W_ii
    const uint8_t* condition;     ///< tni_condition
    const double * lower, *upper; ///< boxes only; NULL when there are none
    const double*  mu;            ///< at normal, spin and first roll rows; NULL: there are none
    double*        f;             ///< in: a guess; out: the answer
    double*        a;             ///< out
} tni_complementarity;

/// a <- W f + b.
void tni_complementarity_apply(const tni_complementarity* p);

/// The largest violation of the conditions by (a, f), in units of a: equal rows |a|; one-sided
/// |min(a, W_ii f)|; boxes and cones likewise, the natural residual with step 1/W_ii (cones:
/// 1/trace of their block); where W_ii is 0, |a| between the bounds. NaN counts as infinite. *row:
/// the row with the largest violation, -1 when n is 0.
double tni_complementarity_residual(const tni_complementarity* p, int* row);
/// The scale of residuals: the largest |b_i|, and W_ii |f_i| of the boxes that are at a bound.
double tni_complementarity_scale(const tni_complementarity* p);
/// A problem counts as solved when its residual is at most this times its scale.
#define TNI_COMPLEMENTARITY_SOLVED 1e-10

#endif
