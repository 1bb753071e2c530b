// cone_point: the rows of one contact, or any single row, with all others fixed. See cone_point.c.
#ifndef TNI_CONE_POINT_H
#define TNI_CONE_POINT_H

#include "linalg/complementarity.h"

enum { TNI_CONE_POINT_ROWS = 6, TNI_CONE_POINT_DISCS = 3 };

/// Rows whose force is limited together: |f| <= mu f_n.
typedef struct tni_disc {
    int    first, count; ///< rows, relative to the normal row
    double mu;
} tni_disc;

/// A normal row with its friction discs (slip, spin, roll: those present), or a single row of
/// another condition.
typedef struct tni_cone_point {
    int      first, size; ///< rows of the problem
    int      tangents;    ///< number of tangents; if not 0, disc[0] is theirs
    uint8_t  condition;   ///< of its first row
    double   lower, upper;
    int      disc_count;
    tni_disc disc[TNI_CONE_POINT_DISCS];
    double rho[TNI_CONE_POINT_ROWS]; ///< by row: 1 / trace of normal and tangents; other discs: of
                                     ///< their own block. Set by tni_cone_point_weigh()
} tni_cone_point;

/// The contact that begins at row i of n, or the single row i. lower, upper, mu as in
/// complementarity.h.
tni_cone_point tni_cone_point_find(int n, int i, const uint8_t* condition, const double* lower,
                                   const double* upper, const double* mu);
/// Sets rho from its diagonal[size] of W; from `largest` where that is relatively zero.
void tni_cone_point_weigh(tni_cone_point* g, const double* diagonal, double largest);

/// P and its derivative C at y = f - rho a, smoothed with width e times rho; f and a of these rows
/// only. Equal rows: P = y.
void tni_cone_point_project(const tni_cone_point* g, double e, const double* f, const double* a,
                            double P[TNI_CONE_POINT_ROWS],
                            double C[TNI_CONE_POINT_ROWS][TNI_CONE_POINT_ROWS]);
/// F = f - P. Returns |F / rho|^2, in units of a squared.
double tni_cone_point_residual(const tni_cone_point* g, double e, const double* f, const double* a,
                               double F[TNI_CONE_POINT_ROWS]);

/// f <- the solution of its conditions with all others fixed. B: its block of W, rows `stride`
/// apart; a: the value at the f passed in.
void tni_cone_point_solve(const tni_cone_point* g, const double* B, int stride, double* f,
                          const double* a);

#endif
