// cone_velocity: friction cones that give a little, solved by velocities. See cone_velocity.c.
#ifndef TNI_CONE_VELOCITY_H
#define TNI_CONE_VELOCITY_H

#include "linalg/cone_point.h"

/// Workspace for problems of up to capacity rows.
typedef struct tni_cone_velocity {
    int             capacity, all, n, rank, count; ///< all: rows of the problem
    double *        R, *T, *H;                     ///< R, and R^T where rows of it are wanted
    double *        x, *dx, *a, *da, *f, *centre, *G, *tried;
    double *        slip, *held; ///< by group: mu |a_t| that the normal is raised by; for minima
    int*            exchange;
    double          e;      ///< compliance over 1/rho
    tni_cone_point* groups; ///< of those taken along, rows numbered anew
    int*            row;    ///< of the problem, by row here
    double*         b;
} tni_cone_velocity;

TN_NODISCARD tn_result tni_cone_velocity_create(tni_arena* arena, int capacity,
                                                tni_cone_velocity* give);

/// Whether all groups are one-sided rows or normals with tangents, and no others.
bool tni_cone_velocity_serves(const tni_cone_point* groups, int count);

/// Factors p->W, symmetric, and takes velocities from the forces p->f to begin with; near: they are
/// about right themselves. What moves a row by less than `nothing` of its W_ii is left out, and so
/// are groups that are open by more than `far` where p->f leads (p->a). False: the rank is more than half
/// of the rows, and forces will do as well.
bool tni_cone_velocity_begin(tni_cone_velocity* give, const tni_complementarity* p,
                             const tni_cone_point* groups, int count, double nothing, double far,
                             bool near);

/// f <- what meets the conditions with W + e (f - c), e being small, c the f of the call before; at
/// first 0, or what it began with. So each call comes nearer to e = 0. Returns the Newton steps
/// taken.
int tni_cone_velocity_solve(tni_cone_velocity* give, double* f);

#endif
