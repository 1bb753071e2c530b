// cone_newton: contacts and limits in the matrix of a saddle system, solved by an augmented Lagrangian Newton
// method. See cone_newton.c.
#ifndef TNI_CONE_NEWTON_H
#define TNI_CONE_NEWTON_H

#include "base/hands.h"
#include "linalg/cone_law.h"
#include "linalg/saddle.h"

/// The elements of one component of the plan.
typedef struct tni_cone_island {
    int    component;
    int    first, end;    ///< in `order`
    int    bounded_count; ///< elements that are TNI_CONE_BOUNDED
    bool   active, factored, started;
    bool   bounded;  ///< its elements are all TNI_CONE_BOUNDED, or open
    bool   splits;   ///< so large that it is solved by splitting (ADMM)
    bool   refine;   ///< solves are refined through loops: rounding is in the way
    double kappa;    ///< penalty compliance relative to `weight`
    double behind;   ///< of bounded rows: that of their weights which is in use
    double residual; ///< largest of its elements
    double best;
    int    iterations, stalled, held; ///< steps: all; since the residual was halved; since p moved
    int    balanced;                  ///< splitting: how often the penalty was changed
    int    factor_count;              ///< of the last solve
} tni_cone_island;

/// What a thread has of its own: scratch of the factorisation, and a copy of the saddle that uses it.
typedef struct tni_cone_hand {
    atomic_int taken;
    tni_saddle saddle;
    tni_ldl*   ldl;
} tni_cone_hand;

typedef struct tni_cone_newton {
    tni_saddle*       saddle;
    tni_cone_element* elements;
    int               count, capacity;
    int*              order; ///< elements by island
    tni_cone_island*  islands;
    int               island_count;
    int *             largest, *spare; ///< islands, those of most elements first
    int*              island_of;       ///< by component; -1: it has no elements
    int*              free;            ///< components without elements that are awake
    int               free_count;
    uint8_t*          asleep;                   ///< by component: left out
    double *          rhs, *next, *work, *left; ///< by row of the plan
    bool              free_factored;            ///< components without elements are
    int               factor_count;             ///< of the last solve: the most of any island
    const tn_host*    host;                     ///< whose threads help
    tni_cone_hand*    hands;
    int               hand_count; ///< 0: one thread does everything
} tni_cone_newton;

/// Room for so many elements on a plan of so many rows and components.
TN_NODISCARD tn_result tni_cone_newton_create(tni_arena* arena, int elements, int rows,
                                              int components, tni_cone_newton* newton);
/// Threads of the host take part from now on, as many at most: islands are tasks. Same bits. `saddle` is that of
/// all later calls; the host must outlive the solver.
TN_NODISCARD tn_result tni_cone_newton_share(tni_arena* arena, const tn_host* host, int threads,
                                             const tni_saddle* saddle, tni_cone_newton* newton);

/// After elements[0 .. count) and the A, J and E blocks of the saddle have been written. asleep: components
/// that are left out (NULL: none).
void tni_cone_newton_begin(tni_cone_newton* newton, tni_saddle* saddle, const uint8_t* asleep);

/// After that: W of the rows of an element with more in the way than the joint of its node.
void tni_cone_newton_weigh(tni_cone_newton* newton, int element, const double* W);

typedef struct tni_cone_options {
    double tolerance;  ///< largest residual [units of w]
    double accepted;   ///< residual at which steps that no longer help end an island
    int    iterations; ///< Newton steps of an island, at most
    double
        split_tolerance; ///< the same of islands that are so large that they are solved by splitting
    int  split_iterations;
    bool refine;  ///< the last solve is refined through loops
    bool warm;    ///< x holds the answer of a solve that differs little
    bool near;    ///< u in x is that of a system with other elements
    bool crowded; ///< there are many: islands are solved by splitting early
    bool
        heavy; ///< a warm solve begins with the penalty that the last one ended with, however small
    bool frozen; ///< active sets stay as they are: one linear solve, after one that was not
} tni_cone_options;

/// Solves for x with the right-hand side rhs (rows of elements are not read). TN_ERR_SINGULAR: as the saddle's.
/// The residual of an element is |min(w_n, W f_n)|, and W |f_t - P(f_t - w_t / W)|; *worst: the element that
/// has the largest, -1: none.
TN_NODISCARD tn_result tni_cone_newton_solve(tni_cone_newton* newton, const double* rhs,
                                             const tni_cone_options* options, double* x,
                                             double* residual, int* worst);

#endif
