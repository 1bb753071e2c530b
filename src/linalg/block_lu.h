// block_lu: block LU of a sparse matrix whose structure is known at run time only. See block_lu.c.
#ifndef TNI_BLOCK_LU_H
#define TNI_BLOCK_LU_H

#include "base/base.h"

/// Block rows are stored in elimination order; the blocks of a row are contiguous, columns
/// ascending.
typedef struct tni_block_lu {
    int       node_capacity;
    size_t    bit_capacity, entry_capacity, number_capacity;
    int       count;
    int*      dim;           ///< by node
    int *     order, *place; ///< by position: node; by node: position
    int*      x_start;       ///< by node: index of its first row in a vector
    uint64_t* bits;          ///< by node: set of its neighbours
    int       words;         ///< 64-bit words per set
    size_t*   row_start;     ///< by position: first entry in column and at
    int*      column;        ///< by entry: position of the column
    size_t*   at;            ///< by entry: offset into numbers
    double*   numbers;
    int*      exchange; ///< by row of a vector: pivoting within the node
    size_t*   mark;     ///< by position; scratch
    double    flops;    ///< of one factorisation
} tni_block_lu;

/// Allocates for so many nodes, rows and entries of blocks. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_block_lu_create(tni_arena* arena, int nodes, int rows, size_t numbers,
                                           tni_block_lu* lu);

/// Starts a graph of `count` nodes without edges, their sizes in lu->dim. False: no room.
bool tni_block_lu_begin(tni_block_lu* lu, int count);
void tni_block_lu_couple(tni_block_lu* lu, int i, int j);
/// Finds an elimination order and lays out the blocks. False: no room; `flops` is set in any case.
bool tni_block_lu_order(tni_block_lu* lu);

/// Sets the matrix to the identity.
void tni_block_lu_clear(tni_block_lu* lu);
/// The block (i, j), dim[i] x dim[j]; i and j must be coupled or equal.
double* tni_block_lu_block(const tni_block_lu* lu, int i, int j);
/// False: singular. Rows are exchanged within a node only.
bool tni_block_lu_factor(tni_block_lu* lu);
void tni_block_lu_solve(const tni_block_lu* lu, double* x); ///< in place, x[x_start[i] + k]

#endif
