// grip: the rows of one point in contact, or any row by itself, the others fixed. See grip.c.
#ifndef TNI_GRIP_H
#define TNI_GRIP_H

#include "linalg/pairs.h"

enum { TNI_GRIP_ROWS = 6, TNI_GRIP_DISCS = 3 };

/// Rows whose f is held together within mu f_n.
typedef struct tni_disc {
    int    first, count; ///< of its rows; the normal's is 0
    double mu;
} tni_disc;

/// A normal with its discs (slip, spin, roll: those that are there), or rows that are bound to
/// none.
typedef struct tni_grip {
    int      first, size; ///< in the problem
    int      tangents;    ///< the first disc is theirs, where there are any
    uint8_t  condition;   ///< of its first row
    double   lower, upper;
    int      disc_count;
    tni_disc disc[TNI_GRIP_DISCS];
    double   rho[TNI_GRIP_ROWS]; ///< by row: one over the trace of the normal and its tangents; of
                                 ///< other discs, of their own. Set by tni_grip_weigh
} tni_grip;

/// The grip that begins at row i of so many; a row that is bound to nothing, if it is none. lower,
/// upper, mu as in pairs.h.
tni_grip tni_grip_find(int n, int i, const uint8_t* condition, const double* lower,
                       const double* upper, const double* mu);
/// rho from W_ii of its rows, diagonal[size]; where they are nothing beside `largest`, from that.
void tni_grip_weigh(tni_grip* g, const double* diagonal, double largest);

/// P and its derivative C at y = f - rho a, corners rounded off by e times rho; f and a are those
/// of the grip. Equal rows: P = y.
void tni_grip_project(const tni_grip* g, double e, const double* f, const double* a,
                      double P[TNI_GRIP_ROWS], double C[TNI_GRIP_ROWS][TNI_GRIP_ROWS]);
/// F = f - P. Returns the square of |F / rho|, in units of a.
double tni_grip_residual(const tni_grip* g, double e, const double* f, const double* a,
                         double F[TNI_GRIP_ROWS]);

/// f <- what meets the conditions while all others stay. B: its block of W, rows `stride` apart; a
/// at f as it comes.
void tni_grip_solve(const tni_grip* g, const double* B, int stride, double* f, const double* a);

#endif
