// cone_velocity: compliant friction cones, solved for velocities. See cone_velocity.c.
#ifndef TNI_CONE_VELOCITY_H
#define TNI_CONE_VELOCITY_H

#include "linalg/cone_point.h"

/// Workspace for problems of up to capacity rows.
typedef struct tni_cone_velocity {
    int             capacity, all, n, rank, count; ///< all: rows of the problem; n: rows selected
    double *        R, *T, *H;                     ///< T: R^T, row-major
    double *        x, *dx, *a, *da, *f, *centre, *G, *tried;
    double *        slip, *held; ///< by contact: shift s = mu |a_t|; the last s minimised for
    int*            exchange;
    double          e;      ///< compliance times rho
    tni_cone_point* groups; ///< selected contacts, rows renumbered
    int*            row;    ///< by selected row: row of the problem
    double*         b;
} tni_cone_velocity;

TN_NODISCARD tn_result tni_cone_velocity_create(tni_arena* arena, int capacity,
                                                tni_cone_velocity* solver);

/// True if all groups are one-sided rows or normals with tangents only.
bool tni_cone_velocity_serves(const tni_cone_point* groups, int count);

/// Factors p->W (symmetric) and starts from the velocities of the forces p->f; near: these forces
/// are a good guess themselves. Rows with a remainder below `negligible` of their W_ii count as
/// dependent; contacts without force and with p->a above `far` are left out. False: the rank is
/// more than half of the rows; solve for forces instead.
bool tni_cone_velocity_begin(tni_cone_velocity* solver, const tni_complementarity* p,
                             const tni_cone_point* groups, int count, double negligible, double far,
                             bool near);

/// f <- the solution with W + e (f - c), e small, c the f of the previous call (first call: 0 or
/// the starting guess). Each call reduces the error from e > 0. Returns the number of Newton steps.
int tni_cone_velocity_solve(tni_cone_velocity* solver, double* f);

#endif
