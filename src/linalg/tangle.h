// tangle: block LU of a sparse matrix whose structure is known at run time only. See tangle.c.
#ifndef TNI_TANGLE_H
#define TNI_TANGLE_H

#include "base/base.h"

/// Rows of blocks in the order of elimination; a row's blocks lie one after the other, columns
/// rising.
typedef struct tni_tangle {
    int       node_capacity;
    size_t    bit_capacity, entry_capacity, number_capacity;
    int       count;
    int*      dim;           ///< by node
    int *     order, *place; ///< node at a place, place of a node
    int*      x_start;       ///< by node: its rows in a vector
    uint64_t* bits;          ///< ties, by node
    int       words;         ///< of bits, a node
    size_t*   row_start;     ///< by place, into column and at
    int*      column;        ///< places
    size_t*   at;            ///< into numbers
    double*   numbers;
    int*      exchange; ///< by row of a vector
    size_t*   mark;     ///< scratch, by place
    double    flops;    ///< of a factorisation
} tni_tangle;

/// For so many nodes and numbers of blocks. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_tangle_create(tni_arena* arena, int nodes, int rows, size_t numbers,
                                         tni_tangle* tangle);

/// Nodes without ties, their sizes in tangle->dim. False: no room.
bool tni_tangle_begin(tni_tangle* tangle, int count);
void tni_tangle_tie(tni_tangle* tangle, int i, int j);
/// Chooses an order and finds where there will be numbers. False: no room; flops counts all the
/// same.
bool tni_tangle_order(tni_tangle* tangle);

/// The matrix <- the unit matrix.
void tni_tangle_clear(tni_tangle* tangle);
/// The block of nodes i and j, which are tied or the same: dim[i] x dim[j].
double* tni_tangle_block(const tni_tangle* tangle, int i, int j);
/// False: singular. Rows are exchanged within a node only.
bool tni_tangle_factor(tni_tangle* tangle);
void tni_tangle_solve(const tni_tangle* tangle, double* x); ///< in place, x[x_start[i] + k]

#endif
