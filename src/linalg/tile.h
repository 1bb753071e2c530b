// tile: dense kernels on slabs. See tile.c.
#ifndef TNI_TILE_H
#define TNI_TILE_H

#include "base/base.h"

enum {
    TNI_LANES = 8,  ///< rows of a panel
    TNI_GROUP = 4,  ///< columns that are eliminated together
    TNI_SLAB  = 64, ///< columns of a slab, at most; a multiple of TNI_LANES
    TNI_SIDES = 16  ///< right-hand sides that are solved together, at most
};

/// x rounded up to whole panels.
TNI_INLINE int tni_whole_panels(int rows)
{
    return (rows + TNI_LANES - 1) / TNI_LANES * TNI_LANES;
}

/// One set of kernels. All sets give the same bits.
///
/// rows: the columns first .. end - 1 (first and end multiples of TNI_GROUP, or end = width) of
/// `panels` panels X below a triangle T, whose scaled entries are Y_T:
///     x_ik = c_ik - sum over j < k of x_ij y_kj,    y_ik = x_ik inverse_k
/// c and x share the place X; y goes to Y.
///
/// update: `panels` panels of a slab C of `columns` columns, c_ij -= sum over k of x_ik y_jk, x
/// being the rows of C and y its columns, both of a slab of `width` columns. C starts with its own
/// diagonal; entries above it are undefined afterwards.
typedef struct tni_tiles {
    void (*rows)(int width, int first, int end, int panels, const double* Y_T,
                 const double* inverse, double* X, double* Y);
    void (*update)(int width, int columns, int panels, const double* X, const double* Y, double* C);
    /// The columns at `first` (up to TNI_GROUP of them) of one panel: subtracts the contribution of
    /// the columns before them. Y_T holds the panel's own rows.
    void (*column)(int width, int first, const double* Y_T, double* X);
    /// Solves with a slab of `panels` panels, its triangle first, for `sides` right-hand sides z,
    /// `stride` numbers apart, each with the rows of the slab.
    ///     forward   t_k = z_k inverse_k,  z_i -= x_ik t_k            k ascending
    ///     backward  z_k = (z_k - sum over i of x_ik z_i) inverse_k    k descending
    void (*forward)(int width, int panels, int sides, int stride, const double* X,
                    const double* inverse, double* z);
    void (*backward)(int width, int panels, int sides, int stride, const double* X,
                     const double* inverse, double* z);
} tni_tiles;

/// With vectors of `width` numbers (math/simd.h).
const tni_tiles* tni_tiles_of(int width);

#endif
