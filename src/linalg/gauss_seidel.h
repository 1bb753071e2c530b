// gauss_seidel: problems of complementarity.h with W given as an operator. See gauss_seidel.c.
#ifndef TNI_GAUSS_SEIDEL_H
#define TNI_GAUSS_SEIDEL_H

#include "linalg/block_lu.h"
#include "linalg/friction_cone.h"
#include "linalg/half_solve.h"

/// The part of a row group within one component of the plan.
typedef struct tni_row_group_link {
    int    node;         ///< index of the component in the island
    int    first, count; ///< range of positions, in paths
    size_t at;           ///< offset of its part of the path, in the numbers of paths
    size_t R;            ///< offset of its columns of R, likewise
} tni_row_group_link;

/// Rows that are solved together: those of one contact, or equal rows.
typedef struct tni_row_group {
    int            row, count; ///< range in all rows
    tni_half_solve half;
    int            link, link_count;
    bool           grounded; ///< one side is fixed; set by the caller for shock propagation
    int            level;    ///< its layer in shock propagation
} tni_row_group;

/// Row groups that are coupled by common components, and to no others.
typedef struct tni_gauss_seidel_island {
    int  group, group_count;
    int  row, row_count;
    int  node, node_count; ///< range in node_dim: its components
    bool newton;           ///< small enough for Newton's method
} tni_gauss_seidel_island;

/// The rows of an island; the arrays belong to the caller.
typedef struct tni_gauss_seidel_rows {
    const double*  b;
    const uint8_t* condition;
    const double*  mu;
    double*        f;     ///< in: a guess; out: the answer
    double*        a;     ///< out
    const double*  base;  ///< b is the a at this f; NULL: at zero. Less rounding if f is near
    double         scale; ///< scale of residuals; 0: the largest |b|
} tni_gauss_seidel_rows;

typedef struct tni_gauss_seidel_report {
    double residual; ///< as tni_complementarity_residual
    int    row;      ///< row with the residual; -1: none
    int    rounds;   ///< sweeps and Newton steps
} tni_gauss_seidel_report;

typedef struct tni_gauss_seidel {
    const tni_plan* plan;
    tni_ldl*        ldl;
    int             row_count, row_capacity, group_count, link_count, link_capacity;
    int             node_count, closed; ///< closed: number of groups that are in an island

    tni_row_group*                 groups; ///< capacity: row_capacity
    tni_row_group_link*            links;
    tni_half_solves                paths;  ///< Y: L^-1 J^T times |D|^-1/2; and R
    double*                        blocks; ///< by row: diagonal block of W of its group
    int*                           node_dim;
    int*                           layer;     ///< by component: see tni_gauss_seidel_layer()
    int*                           node_of;   ///< by component, scratch
    double*                        s;         ///< by row of the plan: D^-1/2 L^-1 J^T f
    double *                       K, *h, *v; ///< of a Newton step
    tni_cone*                      cone;
    tni_block_lu                   system;
    const tni_gauss_seidel_island* island; ///< being solved
    const double*                  base;   ///< rows->base of the island being solved
} tni_gauss_seidel;

/// For up to `rows` rows; numbers: capacity of all paths. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_gauss_seidel_create(tni_arena* arena, const tni_plan* plan, int rows,
                                               size_t numbers, tni_gauss_seidel* sweep);

void tni_gauss_seidel_clear(tni_gauss_seidel* sweep, tni_ldl* ldl);
/// Adds a group of `count` rows, at most TNI_CONE_POINT_ROWS, to the next island; x as for
/// tni_ldl_solve_path. False: no room.
bool tni_gauss_seidel_add(tni_gauss_seidel* sweep, const int* given, int given_count, int count,
                          double* x);
/// Makes an island of the groups added since the last one. False: no room.
bool tni_gauss_seidel_close(tni_gauss_seidel* sweep, tni_gauss_seidel_island* island);
/// Discards the groups added since the last island.
void tni_gauss_seidel_drop(tni_gauss_seidel* sweep);
/// Fixes row i of a group: its row and column of W become zero. Before the island is closed.
void tni_gauss_seidel_hold(tni_gauss_seidel* sweep, int group, int i);
/// W of the rows of a group; row stride TNI_CONE_POINT_ROWS.
double* tni_gauss_seidel_block(const tni_gauss_seidel* sweep, int group);

/// Solves an island with at most `limit` sweeps and Newton steps, to a residual of `goal` relative
/// to the scale, or of `gain` times the first one. False: not reached.
bool tni_gauss_seidel_solve(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int limit, double goal, double gain,
                            tni_gauss_seidel_report* report);
/// Shock propagation: contacts in layers, starting from fixed components; each layer takes
/// everything below it as immovable. `sweeps` sweeps of each layer. extra: forces in addition to f
/// that act on the upper side only, i.e. on components whose layer equals the level of the group.
/// rows->a is set to the result, rows->f does not change. No effect on islands without fixed
/// components.
void tni_gauss_seidel_shock(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int sweeps, double* extra);
/// The layer of a component of an island, after tni_gauss_seidel_shock().
int tni_gauss_seidel_layer(const tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                           int component);
/// a <- W f of an island.
void tni_gauss_seidel_apply(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const double* f, double* a);

#endif
