// friction_cone: problems of complementarity.h with friction cones. See friction_cone.c.
#ifndef TNI_FRICTION_CONE_H
#define TNI_FRICTION_CONE_H

#include "linalg/cone_point.h"

typedef struct tni_cone tni_cone; ///< workspace

/// W given as an operator instead of a matrix. Rows are those of the problem.
typedef struct tni_operator {
    void* user;
    /// Writes the cone points of all rows in order, with their weights; returns how many.
    int (*find)(void* user, const tni_complementarity* p, tni_cone_point* points);
    void (*apply)(void* user, const double* f, double* a); ///< a <- W f
    /// Solves each point in turn. Returns the sum of squared residuals just before, in units of a.
    double (*sweep)(void* user, const tni_complementarity* p, const tni_cone_point* points,
                    int count);
} tni_operator;

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_cone_create(tni_arena* arena, int capacity, tni_cone** cone);

/// Solves a problem without equal rows, starting from p->f. *rounds: sweeps and Newton steps used.
/// False: no f found that meets the conditions to 1e-10 (relative to the largest |b|); f and a are
/// then the best found, f within its bounds. Always terminates, allocates nothing.
bool tni_cone_solve(tni_cone* cone, const tni_complementarity* p, int* rounds);

/// The same with W as an operator; equal rows are allowed. Needs a small workspace of its own.
TN_NODISCARD tn_result tni_cone_create_operator(tni_arena* arena, int capacity, tni_cone** cone);
/// Takes at most `limit` sweeps; stops at a residual of `goal` relative to the largest |b|. p->W is not used.
/// *residual: the largest of a cone point, in units of a.
bool tni_cone_solve_operator(tni_cone* cone, const tni_complementarity* p, const tni_operator* op,
                             int limit, double goal, double* residual);

#endif
