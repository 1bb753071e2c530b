// give: friction cones that give a little, solved by velocities. See give.c.
#ifndef TNI_GIVE_H
#define TNI_GIVE_H

#include "linalg/grip.h"

/// Workspace for problems of up to capacity rows.
typedef struct tni_give {
    int       capacity, all, n, rank, count; ///< all: rows of the problem
    double *  R, *T, *H;                     ///< R, and R^T where rows of it are wanted
    double *  x, *dx, *a, *da, *f, *centre, *G, *tried;
    double *  slip, *held; ///< by group: mu |a_t| that the normal is raised by; for minima
    int*      exchange;
    double    e;      ///< compliance over 1/rho
    tni_grip* groups; ///< of those taken along, rows numbered anew
    int*      row;    ///< of the problem, by row here
    double*   b;
} tni_give;

TN_NODISCARD tn_result tni_give_create(tni_arena* arena, int capacity, tni_give* give);

/// Whether all groups are one-sided rows or normals with tangents, and no others.
bool tni_give_serves(const tni_grip* groups, int count);

/// Factors p->W, symmetric, and takes velocities from the forces p->f to begin with; near: they are
/// about right themselves. What moves a row by less than `nothing` of its W_ii is left out, and so
/// are groups that are open by more than `far` where p->f leads (p->a). False: the rank is more than half
/// of the rows, and forces will do as well.
bool tni_give_begin(tni_give* give, const tni_pairs* p, const tni_grip* groups, int count,
                    double nothing, double far, bool near);

/// f <- what meets the conditions with W + e (f - c), e being small, c the f of the call before; at
/// first 0, or what it began with. So each call comes nearer to e = 0. Returns the Newton steps
/// taken.
int tni_give_solve(tni_give* give, double* f);

#endif
