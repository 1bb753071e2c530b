// schur: the multipliers of a saddle system from S = J A^-1 J^T + E, its A nodes whole or split.
// See schur.c.
#ifndef TNI_SCHUR_H
#define TNI_SCHUR_H

#include "linalg/ldl.h"
#include "linalg/node_splitting.h"

/// The nodes of S are the B nodes of the saddle in their order, then the welds. An end
/// is where a node of S hangs on a part of an A node.
typedef struct tni_end {
    int    owner; ///< node of S
    int    part;
    int    edge; ///< of the saddle; -1 and -2: the two sides of a weld
    size_t at;   ///< its block, dim[A node] x dim[owner], into z
} tni_end;

/// S_ij is the sum of z^T z over the pairs of ends that i and j have on the same parts.
typedef struct tni_schur {
    const tni_plan* whole; ///< the saddle's
    tni_splitting   parts;
    tni_plan*       plan;         ///< of S
    int*            source;       ///< by node of S: the saddle's B node; of a weld the A node
    int*            component_of; ///< by component of the saddle: that of S, -1: no B node
    int*            end_start;    ///< by node of S
    tni_end*        ends;
    int*            pair_start; ///< by edge of S, into pairs
    int (*pairs)[2];            ///< ends of its row node and of its column node
    double flops;               ///< predicted: assembly and factorisation

    tni_ldl*            ldl;     ///< of S, or NULL:
    struct tni_cholmod* cholmod; ///< where CHOLMOD factors it
    double *            z, *diagonal, *edge, *raise, *work;
    size_t *            diagonal_at, *edge_at;
} tni_schur;

/// What S is made of, by the saddle's numbering: blocks of A (factored, block.h), E and J.
typedef struct tni_schur_blocks {
    const double* a_factor;
    const double* diagonal; ///< E of B nodes; NULL: all zero
    const size_t* diagonal_at;
    const double* j;
    const size_t* j_at;
} tni_schur_blocks;

enum { TNI_WHOLE = -1, TNI_SPLITTING_CHOSEN = 0 };

/// part_edges: edges on a part of a split A node; TNI_SPLITTING_CHOSEN: what is predicted to be
/// cheapest, TNI_WHOLE: none is split. TN_ERR_MEMORY also where S would have so many blocks that it
/// would take hours (a clique of thousands of B nodes), TN_ERR_UNSUPPORTED without CHOLMOD.
TN_NODISCARD tn_result tni_schur_create(tni_arena* arena, const tni_plan* whole, int part_edges,
                                        bool cholmod, tni_schur** schur);
void                   tni_schur_free(tni_schur* schur); ///< only CHOLMOD holds what is no arena's

/// Predicted flops of assembly and factorisation; infinite where creation would fail, and where it
/// is plain without an order that they are above the limit.
double tni_schur_flops(const tn_host* host, const tni_plan* whole, int part_edges, double limit);
/// Whether TNI_SPLITTING_CHOSEN has anything to split.
bool tni_schur_splits(const tn_host* host, const tni_plan* whole);

/// Forms S of one component of the saddle. scale, on its B rows <- (J A^-1 J^T)_ii.
void tni_schur_load(tni_schur* schur, int component, const tni_schur_blocks* blocks, double* scale);

/// Factors S + raise, raise being given on B rows; weld rows in proportion to eps, or by `same`
/// where it is positive. TN_ERR_SINGULAR when a pivot is not positive, report->bad_row being a row
/// of the saddle.
TN_NODISCARD tn_result tni_schur_factor(tni_schur* schur, int component, const double* raise,
                                        double eps, double same, tni_pivot_report* report);

/// B rows of x <- (S + raise)^-1 x, for one component; A rows are left alone.
void tni_schur_solve(tni_schur* schur, int component, double* x);

#endif
