// gauss_seidel: problems of complementarity.h whose W is too large to be written down. See gauss_seidel.c.
#ifndef TNI_GAUSS_SEIDEL_H
#define TNI_GAUSS_SEIDEL_H

#include "linalg/block_lu.h"
#include "linalg/friction_cone.h"
#include "linalg/half_solve.h"

/// The part of a bundle within one component of the plan.
typedef struct tni_piece {
    int    node;         ///< of the island
    int    first, count; ///< its places, in paths
    size_t at;           ///< its part of the path, in the numbers of paths
    size_t R;            ///< its columns of R, likewise
} tni_piece;

/// Rows that are solved for together: those of one point in contact, or equal rows.
typedef struct tni_row_group {
    int            row, count; ///< of all rows
    tni_half_solve half;
    int            link, link_count;
    bool           grounded; ///< one side of it cannot move: set by the caller, for shocks
    int            level;    ///< of a shock
} tni_row_group;

/// Bundles that share components with each other, and with no others.
typedef struct tni_gauss_seidel_island {
    int  bundle, bundle_count;
    int  row, row_count;
    int  node, node_count; ///< components, in node_dim
    bool newton;           ///< they are small enough for it
} tni_gauss_seidel_island;

/// The rows of an island; the arrays are the caller's.
typedef struct tni_gauss_seidel_rows {
    const double*  b;
    const uint8_t* condition;
    const double*  mu;
    double*        f;     ///< in: a guess; out: the answer
    double*        a;     ///< out
    const double*  base;  ///< b is a at this f; NULL: zero. What is small is then the difference
    double         scale; ///< of residuals; 0: the largest |b|
} tni_gauss_seidel_rows;

typedef struct tni_gauss_seidel_report {
    double residual; ///< as tni_complementarity_residual
    int    row;      ///< that has it; -1: none
    int    rounds;   ///< sweeps and Newton steps
} tni_gauss_seidel_report;

typedef struct tni_gauss_seidel {
    const tni_plan* plan;
    tni_ldl*        ldl;
    int             row_count, row_capacity, bundle_count, link_count, link_capacity;
    int             node_count, closed; ///< closed: bundles that are in an island

    tni_row_group*                 bundles; ///< row_capacity of them
    tni_piece*                     links;
    tni_half_solves                paths;  ///< L^-1 J^T times |D|^-1/2; and R
    double*                        blocks; ///< by row: its part of W within the bundle
    int*                           node_dim;
    int*                           layer;   ///< by node, of a shock: how far from what cannot move
    int*                           node_of; ///< by component, scratch
    double*                        s;       ///< by row of the plan: D^-1/2 L^-1 J^T f
    double *                       K, *h, *v; ///< of a Newton step
    tni_cone*                      cone;
    tni_block_lu                   tangle;
    const tni_gauss_seidel_island* island; ///< being solved
    const double*                  base;   ///< likewise
} tni_gauss_seidel;

/// For up to so many rows; numbers: of all paths. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_gauss_seidel_create(tni_arena* arena, const tni_plan* plan, int rows,
                                               size_t numbers, tni_gauss_seidel* sweep);

void tni_gauss_seidel_clear(tni_gauss_seidel* sweep, tni_ldl* ldl);
/// `count` rows, TNI_CONE_POINT_ROWS at most, of the island that comes next: x as for tni_ldl_solve_path.
/// False: no room.
bool tni_gauss_seidel_add(tni_gauss_seidel* sweep, const int* given, int given_count, int count,
                          double* x);
/// The bundles added since the last one are an island. False: no room.
bool tni_gauss_seidel_close(tni_gauss_seidel* sweep, tni_gauss_seidel_island* island);
/// Forgets what was added since the last island.
void tni_gauss_seidel_drop(tni_gauss_seidel* sweep);
/// Nothing moves row i of a bundle: W is zero there. Before it is closed.
void tni_gauss_seidel_hold(tni_gauss_seidel* sweep, int bundle, int i);
/// W of the rows of a bundle, TNI_CONE_POINT_ROWS apart.
double* tni_gauss_seidel_block(const tni_gauss_seidel* sweep, int bundle);

/// Solves an island. At most so many sweeps and Newton steps; done at a residual of `goal` relative
/// to the scale, or of `gain` times the first. False: not done.
bool tni_gauss_seidel_solve(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int limit, double goal, double gain,
                            tni_gauss_seidel_report* report);
/// Shock propagation: contacts in layers, from what cannot move upwards; what is below a contact
/// counts as immovable. extra: what is pushed in addition to f, at the upper side alone: at
/// components whose layer is the level of the bundle. Nothing happens in islands that nothing
/// holds. sweeps: of each layer. rows->a is that after it, rows->f stays.
void tni_gauss_seidel_shock(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int sweeps, double* extra);
/// The layer of a component of an island, after a shock.
int tni_gauss_seidel_layer(const tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                           int component);
/// a <- W f, of an island.
void tni_gauss_seidel_apply(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const double* f, double* a);

#endif
