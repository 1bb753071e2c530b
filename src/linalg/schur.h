// schur: the multipliers of a saddle system from S = J A^-1 J^T + E, with A nodes whole or split.
// See schur.c.
#ifndef TNI_SCHUR_H
#define TNI_SCHUR_H

#include "linalg/ldl.h"
#include "linalg/node_splitting.h"

/// The nodes of S are the B nodes of the saddle in their order, then the welds. An end couples a
/// node of S to a part of an A node.
typedef struct tni_end {
    int    owner; ///< node of S
    int    part;
    int    edge; ///< edge of the saddle; -1 and -2: the two sides of a weld
    size_t at;   ///< offset of its block z, dim[A node] x dim[owner]
} tni_end;

/// S_ij is the sum of z^T z over the pairs of ends that i and j have on common parts.
typedef struct tni_schur {
    const tni_plan* whole; ///< of the saddle
    tni_splitting   parts;
    tni_plan*       plan;         ///< of S
    int*            source;       ///< by node of S: its B node in the saddle; of a weld its A node
    int*            component_of; ///< by component of the saddle: component of S, -1: no B node
    int*            end_start;    ///< by node of S
    tni_end*        ends;
    int*            pair_start; ///< by edge of S, into pairs
    int (*pairs)[2];            ///< ends of its row node and of its column node
    double flops;               ///< predicted flops of assembly and factorisation

    tni_ldl*            ldl;     ///< factor of S; NULL:
    struct tni_cholmod* cholmod; ///< CHOLMOD is used
    double *            z, *diagonal, *edge, *raise, *work;
    size_t *            diagonal_at, *edge_at;
} tni_schur;

/// The blocks that S is made of, in the saddle's numbering: A (factored, block.h), E and J.
typedef struct tni_schur_blocks {
    const double* a_factor;
    const double* diagonal; ///< E of B nodes; NULL: all zero
    const size_t* diagonal_at;
    const double* j;
    const size_t* j_at;
} tni_schur_blocks;

enum { TNI_WHOLE = -1, TNI_SPLITTING_CHOSEN = 0 };

/// part_edges: edges on a part of a split A node; TNI_SPLITTING_CHOSEN: the predicted cheapest,
/// TNI_WHOLE: no splitting. TN_ERR_MEMORY also if S would have so many blocks that it would take
/// hours (a clique of thousands of B nodes), TN_ERR_UNSUPPORTED without CHOLMOD.
TN_NODISCARD tn_result tni_schur_create(tni_arena* arena, const tni_plan* whole, int part_edges,
                                        bool cholmod, tni_schur** schur);
void                   tni_schur_free(tni_schur* schur); ///< needed for CHOLMOD only

/// Predicted flops of assembly and factorisation; infinite if creation would fail, or if the
/// largest clique alone exceeds the limit.
double tni_schur_flops(const tn_host* host, const tni_plan* whole, int part_edges, double limit);
/// True if TNI_SPLITTING_CHOSEN has nodes to split.
bool tni_schur_splits(const tn_host* host, const tni_plan* whole);

/// Computes S of one component of the saddle; its B rows of scale <- (J A^-1 J^T)_ii.
void tni_schur_load(tni_schur* schur, int component, const tni_schur_blocks* blocks, double* scale);

/// Factors S + raise; raise is given on B rows, weld rows are raised in proportion to eps, or by
/// `same` if it is positive. TN_ERR_SINGULAR if a pivot is not positive; report->bad_row is a row
/// of the saddle.
TN_NODISCARD tn_result tni_schur_factor(tni_schur* schur, int component, const double* raise,
                                        double eps, double same, tni_pivot_report* report);

/// B rows of x <- (S + raise)^-1 x, for one component; A rows are unchanged.
void tni_schur_solve(tni_schur* schur, int component, double* x);

#endif
