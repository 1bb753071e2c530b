// woodbury: stiff forces between bodies without a block in the factored matrix. See woodbury.c.
#ifndef TNI_WOODBURY_H
#define TNI_WOODBURY_H

#include "force/force.h"

/// Solves  A u + J^T mu = b,  J u = 0  with the factored system: linear in b; u and mu laid out as
/// in tni_system, mu of limits behind.
typedef tn_result tni_woodbury_solve(void* user, const double* b, double* u, double* mu,
                                     tn_why* why);

typedef struct tni_woodbury_entry {
    int body[2];     ///< -1: none
    int first, rank; ///< rows of B
} tni_woodbury_entry;

typedef struct tni_woodbury {
    const tn_model*     model;
    tni_arena           arena; ///< its own: it may grow between steps
    int                 row_count, row_capacity;
    int                 entry_count; ///< each has one row at least
    tni_woodbury_entry* entries;
    double*             B[2]; ///< by row and side, TNI_DIM_MAX doubles each
    double*             g;    ///< by row
    double*             y;    ///< by row: impulses of the last tni_woodbury_apply
    double*             G;    ///< I + B S B^T, factored
    int*                exchange;
    double *            b, *u, *mu; ///< scratch of a solve
    bool                full;       ///< row_capacity was too small: grow, and try again
} tni_woodbury;

/// Room for so many rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_woodbury_create(const tn_model* model, int rows, tni_woodbury* woodbury);
void                   tni_woodbury_free(tni_woodbury* woodbury);
/// Doubles the capacity and clears. Not within a step.
TN_NODISCARD tn_result tni_woodbury_grow(tni_woodbury* woodbury);

void tni_woodbury_clear(tni_woodbury* woodbury);
/// Adds a soft force: its impulse over the step is g - W J u along its rows (tni_soft_impulse). The
/// part of g outside the range of W is an ordinary impulse and is added to b. False: full, nothing
/// done.
bool tni_woodbury_add(tni_woodbury* woodbury, const tni_soft* soft, const double* W,
                      const double* g, double* b);
/// After all were added, and after every factorisation of the matrix.
TN_NODISCARD tn_result tni_woodbury_factor(tni_woodbury* woodbury, tni_woodbury_solve* solve,
                                           void* user, tn_why* why);
/// u and mu: a solution without these forces becomes the one with them. whole: with g; else with
/// their stiffness alone, for corrections.
TN_NODISCARD tn_result tni_woodbury_apply(tni_woodbury* woodbury, bool whole,
                                          tni_woodbury_solve* solve, void* user, double* u,
                                          double* mu, tn_why* why);

#endif
