// block_lu: block LU of a sparse matrix whose structure is known at run time only. See block_lu.c.
#ifndef TNI_BLOCK_LU_H
#define TNI_BLOCK_LU_H

#include "base/base.h"

/// Rows of blocks in the order of elimination; a row's blocks lie one after the other, columns
/// rising.
typedef struct tni_block_lu {
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
} tni_block_lu;

/// For so many nodes and numbers of blocks. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_block_lu_create(tni_arena* arena, int nodes, int rows, size_t numbers,
                                           tni_block_lu* tangle);

/// Nodes without ties, their sizes in tangle->dim. False: no room.
bool tni_block_lu_begin(tni_block_lu* tangle, int count);
void tni_block_lu_tie(tni_block_lu* tangle, int i, int j);
/// Chooses an order and finds where there will be numbers. False: no room; flops counts all the
/// same.
bool tni_block_lu_order(tni_block_lu* tangle);

/// The matrix <- the unit matrix.
void tni_block_lu_clear(tni_block_lu* tangle);
/// The block of nodes i and j, which are tied or the same: dim[i] x dim[j].
double* tni_block_lu_block(const tni_block_lu* tangle, int i, int j);
/// False: singular. Rows are exchanged within a node only.
bool tni_block_lu_factor(tni_block_lu* tangle);
void tni_block_lu_solve(const tni_block_lu* tangle, double* x); ///< in place, x[x_start[i] + k]

#endif
