// friction_cone: problems of complementarity.h with friction cones. See friction_cone.c.
#ifndef TNI_FRICTION_CONE_H
#define TNI_FRICTION_CONE_H

#include "linalg/cone_point.h"

typedef struct tni_cone tni_cone; ///< workspace

/// W that is not written down: what is needed of it. Rows are those of the problem.
typedef struct tni_far {
    void* user;
    /// The grips of all rows, in their order, with their weights; returns how many.
    int (*find)(void* user, const tni_complementarity* p, tni_cone_point* grips);
    void (*apply)(void* user, const double* f, double* a); ///< a <- W f
    /// Solves each grip in turn. Returns the sum of squared residuals just before, in units of a.
    double (*sweep)(void* user, const tni_complementarity* p, const tni_cone_point* grips,
                    int count);
    /// step <- -(G + delta E)^-1 F, see friction_cone.c, corners rounded off by e. False: cannot. NULL:
    /// never.
    bool (*step)(void* user, const tni_complementarity* p, const tni_cone_point* grips, int count,
                 double e, double delta, const double* F, double* step);
} tni_far;

/// For problems of up to capacity rows. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_cone_create(tni_arena* arena, int capacity, tni_cone** cone);

/// Solves a problem without equal rows, starting from p->f. *rounds: sweeps and Newton steps spent.
/// False: the conditions are met to 1e-10 (relative to the largest |b|) nowhere that was tried; f
/// and a are the best found, f within its bounds. Always ends, allocates nothing.
bool tni_cone_solve(tni_cone* cone, const tni_complementarity* p, int* rounds);

/// The same for a W that is far; equal rows are allowed. Needs a workspace of its own, small.
TN_NODISCARD tn_result tni_cone_create_far(tni_arena* arena, int capacity, tni_cone** cone);
/// At most so many sweeps and Newton steps; done at a residual of `goal` relative to scale (0: the
/// largest |b|), or when what it begins with is down to `gain` of it.
/// p->W is not looked at. *residual: the largest of a grip, in units of a, that at *row.
bool tni_cone_solve_far(tni_cone* cone, const tni_complementarity* p, const tni_far* far,
                        double scale, int limit, double goal, double gain, int* rounds,
                        double* residual, int* row);

#endif
