// complementarity: the small problem that rows beside a factored system leave: unknowns f and a with
//
//     a = W f + b,      a condition on each pair (a_i, f_i)
//
// W is dense, n x n, usually symmetric and positive semidefinite, often singular. It is not
// symmetric where a row is met by something else than its own transpose. Whose rows these are is
// nobody's business here. lcp.h solves problems without cones, friction_cone.h those with, mixed_complementarity.h any.
#ifndef TNI_COMPLEMENTARITY_H
#define TNI_COMPLEMENTARITY_H

#include "base/base.h"

typedef enum tni_condition {
    TNI_EQUAL,     ///< a = 0
    TNI_ONE_SIDED, ///< a >= 0, f >= 0, a f = 0
    TNI_BOX,       ///< lower <= f <= upper; a = 0 inside, a >= 0 at lower, a <= 0 at upper
    TNI_NORMAL,    ///< one-sided, and f bounds the one or two tangent rows that follow
    TNI_TANGENT,   ///< |f_t| <= mu f_n; a_t = 0 inside, a_t = -s f_t with s >= 0 at the bound
    TNI_SPIN,      ///< the same of one row by itself, after the tangents, with the mu of this row
    TNI_ROLL       ///< the same of one or two rows together, after these, with the mu of the first
} tni_condition;

/// The arrays are the caller's.
typedef struct tni_complementarity {
    int           n;
    bool          symmetric; ///< W is, by construction
    const double* W;         ///< n x n, row-major
    const double* b;
    const double*
        scale; ///< what W_ii would be if nothing but the row itself were in the way, about;
               ///< an equal row is dependent beside it. NULL: W_ii
    const uint8_t* condition;     ///< tni_condition
    const double * lower, *upper; ///< boxes only; NULL when there are none
    const double*  mu;            ///< at normal, spin and first roll rows; NULL: there are none
    double         enough;        ///< residual at which it counts as solved, if more than usual
    double*        f;             ///< in: a guess; out: the answer
    double*        a;             ///< out
} tni_complementarity;

/// a <- W f + b.
void tni_complementarity_apply(const tni_complementarity* p);

/// The largest violation of the conditions by (a, f) as they stand, in units of a: equal |a|;
/// one-sided |min(a, W_ii f)|; box and cone likewise, the natural residual with the step 1/W_ii
/// (cones: 1/trace of their block); where W_ii is 0, |a| between the bounds. NaN counts as
/// infinite. *row is the row that has it, -1 when n is 0.
double tni_complementarity_residual(const tni_complementarity* p, int* row);
/// What a residual is small or large beside: the largest |b_i|, and W_ii |f_i| of the boxes that
/// are at a bound.
double tni_complementarity_scale(const tni_complementarity* p);
/// A problem counts as solved when its residual is at most this, times its scale.
#define TNI_COMPLEMENTARITY_SOLVED 1e-10

#endif
