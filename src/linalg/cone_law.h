// cone_law: the law of one contact, limit or bounded row: its force at given rates, the derivative of that, and how far
// it is from being met. See cone_law.c.
#ifndef TNI_CONE_LAW_H
#define TNI_CONE_LAW_H

#include "base/base.h"

#include <math.h>

enum { TNI_CONE_ROWS = 6 };

typedef enum tni_cone_kind {
    TNI_CONE_OPEN,      ///< no force
    TNI_CONE_EQUAL,     ///< w = 0 on all rows
    TNI_CONE_ONE_SIDED, ///< w >= 0, f >= 0, w f = 0, on the first row; no force on others
    TNI_CONE_FRICTION,  ///< the same, and Coulomb's law on the rows after it
    TNI_CONE_BOUNDED    ///< w = 0 as long as low <= f <= high, on one row; on several: |f| <= high
} tni_cone_kind;

/// The Jacobian of an element over one A node.
typedef struct tni_cone_side {
    int           edge; ///< of the plan: from the element's B node to the A node
    int           row;  ///< first row of the A node
    int           dim;
    const double* J; ///< count x dim
} tni_cone_side;

/// A unilateral constraint, with or without friction: w = J u + c and impulses f on `count` rows. The first
/// row is the normal; then come slip_count rows of sliding, spin_count of spinning and roll_count of rolling.
/// Bounded rows have no normal, and none of these.
typedef struct tni_cone_element {
    // Written by the caller.
    tni_cone_kind kind;
    int           node;       ///< B node of the plan
    int           first;      ///< its first row within that node
    int           joint_rows; ///< of a joint, before the rows of elements in that node
    int           count, slip_count, spin_count, roll_count;
    double        friction;          ///< coefficient
    double        spinning, rolling; ///< radii of their discs [m]
    double        low, high;         ///< TNI_CONE_BOUNDED: of impulses
    double compliance; ///< w + compliance f stands for w: on the normal, or on all bounded rows
    int    side_count;
    tni_cone_side side[2];
    double        c[TNI_CONE_ROWS];
    double        f[TNI_CONE_ROWS]; ///< in: a guess; out: impulses that u and mu belong to
    // Written by a solve.
    double w[TNI_CONE_ROWS];
    double
        W[TNI_CONE_ROWS]; ///< by row: J A^-1 J^T, with nothing but the joint of its node in the way
    // Private.
    double p[TNI_CONE_ROWS];     ///< multiplier estimate (proximal centre)
    double trial[TNI_CONE_ROWS]; ///< impulses by the law at w
    double next_w[TNI_CONE_ROWS],
        linear[TNI_CONE_ROWS];   ///< w and impulses at the end of a Newton step
    double moved[TNI_CONE_ROWS]; ///< change of w in the last step
    double z[TNI_CONE_ROWS];     ///< splitting: rates that belong to p by the law
    double shift;                ///< De Saxce's: friction |w_t|
    double
        weight[3]; ///< mean W of normal and slip; of spin; of roll. Bounded rows: in use; all of it
    double  radius;      ///< normal impulse that bounds spin and roll
    int     basis_count; ///< rank of dF/dw in the factored matrix
    double  basis[TNI_CONE_ROWS][TNI_CONE_ROWS], stiffness[TNI_CONE_ROWS];
    uint8_t mode; ///< active set in the factored matrix
} tni_cone_element;

TNI_INLINE double tni_cone_length(const double* v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += v[i] * v[i];
    return sqrt(sum);
}

/// Rows that share one penalty: normal and slip, or all bounded ones.
TNI_INLINE int tni_cone_first_rows(const tni_cone_element* e)
{
    return e->kind == TNI_CONE_BOUNDED ? e->count : 1 + e->slip_count;
}

TNI_INLINE int tni_cone_spin_row(const tni_cone_element* e)
{
    return 1 + e->slip_count;
}

TNI_INLINE int tni_cone_roll_row(const tni_cone_element* e)
{
    return 1 + e->slip_count + e->spin_count;
}

/// f = P(p - (w + s n)/R), R = kappa W; returns the active set.
uint8_t tni_cone_force(const tni_cone_element* e, double kappa, const double* w, double* f);
/// A further direction in which df/dw has this stiffness; all zero, for the caller to fill.
double* tni_cone_add_basis(tni_cone_element* e, double stiffness);
/// -df/dw at w, as basis and stiffness.
void tni_cone_linearise(tni_cone_element* e, double kappa);
/// Whether the factored matrix still has that, nearly.
bool tni_cone_stands(const tni_cone_element* e, double kappa);
/// The natural residual of the exact law, in units of w.
double tni_cone_residual(const tni_cone_element* e);

#endif
