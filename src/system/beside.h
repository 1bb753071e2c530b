// beside: stiff forces between bodies that the factored matrix has no blocks for. See beside.c.
#ifndef TNI_BESIDE_H
#define TNI_BESIDE_H

#include "force/force.h"

/// Solves  A u + J^T mu = b,  J u = 0  with what is factored: linear in b, u laid out as in tni_system,
/// mu too, with those of limits behind.
typedef tn_result tni_beside_solve(void* user, const double* b, double* u, double* mu, tn_why* why);

typedef struct tni_beside_entry {
    int body[2];     ///< -1: none
    int first, rank; ///< rows of B
} tni_beside_entry;

typedef struct tni_beside {
    const tn_model*   model;
    tni_arena         arena; ///< its own: it may grow between steps
    int               row_count, row_capacity;
    int               entry_count; ///< each has a row at least
    tni_beside_entry* entries;
    double*           B[2]; ///< by row and side, TNI_DIM_MAX numbers
    double*           g;    ///< by row
    double*           y;    ///< by row: impulses of the last tni_beside_apply
    double*           G;    ///< I + B S B^T, factored
    int*              exchange;
    double *          b, *u, *mu; ///< of a solve
    bool              full;       ///< something did not fit: grow, and try again
} tni_beside;

/// Room for so many rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_beside_create(const tn_model* model, int rows, tni_beside* beside);
void                   tni_beside_free(tni_beside* beside);
/// Twice the room, and empty. Not within a step.
TN_NODISCARD tn_result tni_beside_grow(tni_beside* beside);

void tni_beside_clear(tni_beside* beside);
/// A soft force as it acts over the step, the impulse g - W J u along its rows (tni_soft_impulse).
/// What W does not resist of g is an ordinary impulse and goes into b. False: full, nothing done.
bool tni_beside_add(tni_beside* beside, const tni_soft* soft, const double* W, const double* g,
                    double* b);
/// After what was added, and whenever the matrix was factored anew.
TN_NODISCARD tn_result tni_beside_factor(tni_beside* beside, tni_beside_solve* solve, void* user,
                                         tn_why* why);
/// u and mu: a solution without these forces becomes the one with them. whole: with g, else with
/// the stiffness alone, as corrections want it.
TN_NODISCARD tn_result tni_beside_apply(tni_beside* beside, bool whole, tni_beside_solve* solve,
                                        void* user, double* u, double* mu, tn_why* why);

#endif
