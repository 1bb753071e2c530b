// cone_newton: contacts and limits in the matrix of a saddle system, solved by an augmented Lagrangian Newton
// method. See cone_newton.c.
#ifndef TNI_CONE_NEWTON_H
#define TNI_CONE_NEWTON_H

#include "base/hands.h"
#include "linalg/saddle.h"

enum { TNI_CONE_ROWS = 6 };

typedef enum tni_cone_kind {
    TNI_CONE_OPEN,      ///< no force
    TNI_CONE_EQUAL,     ///< w = 0 on all rows
    TNI_CONE_ONE_SIDED, ///< w >= 0, f >= 0, w f = 0, on the first row; no force on others
    TNI_CONE_FRICTION,  ///< the same, and Coulomb's law on the rows after it
    TNI_CONE_BOUNDED    ///< w = 0 as long as low <= f <= high, on one row; on several: |f| <= high
} tni_cone_kind;

/// The Jacobian of an element over one A node.
typedef struct tni_cone_side {
    int           edge; ///< of the plan: from the element's B node to the A node
    int           row;  ///< first row of the A node
    int           dim;
    const double* J; ///< count x dim
} tni_cone_side;

/// A unilateral constraint, with or without friction: w = J u + c and impulses f on `count` rows. The first
/// row is the normal; then come slip_count rows of sliding, spin_count of spinning and roll_count of rolling.
/// Bounded rows have no normal, and none of these.
typedef struct tni_cone_element {
    // Written by the caller.
    tni_cone_kind kind;
    int           node;       ///< B node of the plan
    int           first;      ///< its first row within that node
    int           joint_rows; ///< of a joint, before the rows of elements in that node
    int           count, slip_count, spin_count, roll_count;
    double        friction;          ///< coefficient
    double        spinning, rolling; ///< radii of their discs [m]
    double        low, high;         ///< TNI_CONE_BOUNDED: of impulses
    double compliance; ///< w + compliance f stands for w: on the normal, or on all bounded rows
    int    side_count;
    tni_cone_side side[2];
    double        c[TNI_CONE_ROWS];
    double        f[TNI_CONE_ROWS]; ///< in: a guess; out: impulses that u and mu belong to
    // Written by a solve.
    double w[TNI_CONE_ROWS];
    double
        W[TNI_CONE_ROWS]; ///< by row: J A^-1 J^T, with nothing but the joint of its node in the way
    // Private.
    double p[TNI_CONE_ROWS];     ///< multiplier estimate (proximal centre)
    double trial[TNI_CONE_ROWS]; ///< impulses by the law at w
    double next_w[TNI_CONE_ROWS],
        linear[TNI_CONE_ROWS];   ///< w and impulses at the end of a Newton step
    double moved[TNI_CONE_ROWS]; ///< change of w in the last step
    double z[TNI_CONE_ROWS];     ///< splitting: rates that belong to p by the law
    double shift;                ///< De Saxce's: friction |w_t|
    double
        weight[3]; ///< mean W of normal and slip; of spin; of roll. Bounded rows: in use; all of it
    double  radius;      ///< normal impulse that bounds spin and roll
    int     basis_count; ///< rank of dF/dw in the factored matrix
    double  basis[TNI_CONE_ROWS][TNI_CONE_ROWS], stiffness[TNI_CONE_ROWS];
    uint8_t mode; ///< active set in the factored matrix
} tni_cone_element;

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
