// cone_point: the rows of one point in contact, or any row by itself, the others fixed. See cone_point.c.
#ifndef TNI_CONE_POINT_H
#define TNI_CONE_POINT_H

#include "linalg/complementarity.h"

enum { TNI_CONE_POINT_ROWS = 6, TNI_CONE_POINT_DISCS = 3 };

/// Rows whose f is held together within mu f_n.
typedef struct tni_disc {
    int    first, count; ///< of its rows; the normal's is 0
    double mu;
} tni_disc;

/// A normal with its discs (slip, spin, roll: those that are there), or rows that are bound to
/// none.
typedef struct tni_cone_point {
    int      first, size; ///< in the problem
    int      tangents;    ///< the first disc is theirs, where there are any
    uint8_t  condition;   ///< of its first row
    double   lower, upper;
    int      disc_count;
    tni_disc disc[TNI_CONE_POINT_DISCS];
    double
        rho[TNI_CONE_POINT_ROWS]; ///< by row: one over the trace of the normal and its tangents; of
                                  ///< other discs, of their own. Set by tni_cone_point_weigh
} tni_cone_point;

/// The grip that begins at row i of so many; a row that is bound to nothing, if it is none. lower,
/// upper, mu as in complementarity.h.
tni_cone_point tni_cone_point_find(int n, int i, const uint8_t* condition, const double* lower,
                                   const double* upper, const double* mu);
/// rho from W_ii of its rows, diagonal[size]; where they are nothing beside `largest`, from that.
void tni_cone_point_weigh(tni_cone_point* g, const double* diagonal, double largest);

/// P and its derivative C at y = f - rho a, corners rounded off by e times rho; f and a are those
/// of the grip. Equal rows: P = y.
void tni_cone_point_project(const tni_cone_point* g, double e, const double* f, const double* a,
                            double P[TNI_CONE_POINT_ROWS],
                            double C[TNI_CONE_POINT_ROWS][TNI_CONE_POINT_ROWS]);
/// F = f - P. Returns the square of |F / rho|, in units of a.
double tni_cone_point_residual(const tni_cone_point* g, double e, const double* f, const double* a,
                               double F[TNI_CONE_POINT_ROWS]);

/// f <- what meets the conditions while all others stay. B: its block of W, rows `stride` apart; a
/// at f as it comes.
void tni_cone_point_solve(const tni_cone_point* g, const double* B, int stride, double* f,
                          const double* a);

#endif
