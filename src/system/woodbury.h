// woodbury: stiff forces between bodies that the factored matrix has no blocks for. See woodbury.c.
#ifndef TNI_WOODBURY_H
#define TNI_WOODBURY_H

#include "force/force.h"

/// Solves  A u + J^T mu = b,  J u = 0  with what is factored: linear in b, u laid out as in tni_system,
/// mu too, with those of limits behind.
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
    int                 entry_count; ///< each has a row at least
    tni_woodbury_entry* entries;
    double*             B[2]; ///< by row and side, TNI_DIM_MAX numbers
    double*             g;    ///< by row
    double*             y;    ///< by row: impulses of the last tni_woodbury_apply
    double*             G;    ///< I + B S B^T, factored
    int*                exchange;
    double *            b, *u, *mu; ///< of a solve
    bool                full;       ///< something did not fit: grow, and try again
} tni_woodbury;

/// Room for so many rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_woodbury_create(const tn_model* model, int rows, tni_woodbury* beside);
void                   tni_woodbury_free(tni_woodbury* beside);
/// Twice the room, and empty. Not within a step.
TN_NODISCARD tn_result tni_woodbury_grow(tni_woodbury* beside);

void tni_woodbury_clear(tni_woodbury* beside);
/// A soft force as it acts over the step, the impulse g - W J u along its rows (tni_soft_impulse).
/// What W does not resist of g is an ordinary impulse and goes into b. False: full, nothing done.
bool tni_woodbury_add(tni_woodbury* beside, const tni_soft* soft, const double* W, const double* g,
                      double* b);
/// After what was added, and whenever the matrix was factored anew.
TN_NODISCARD tn_result tni_woodbury_factor(tni_woodbury* beside, tni_woodbury_solve* solve,
                                           void* user, tn_why* why);
/// u and mu: a solution without these forces becomes the one with them. whole: with g, else with
/// the stiffness alone, as corrections want it.
TN_NODISCARD tn_result tni_woodbury_apply(tni_woodbury* beside, bool whole,
                                          tni_woodbury_solve* solve, void* user, double* u,
                                          double* mu, tn_why* why);

#endif
