// tile: dense kernels on slabs, register-tiled; all sets give the same bits.
//
// A slab holds `width` adjacent columns of a lower triangular or trapezoidal matrix. Its rows are
// grouped in panels of 8, padded with zero rows; entry (i, k) of a slab has index
//
//     (i / 8) * 8 width  +  8 k  +  i % 8
//
// so that a panel is contiguous, and 8 rows of 4 columns are contiguous 256 bytes.
//
// Order of operations. Elimination of columns 0, 1, ... of C with pivots d_k:
//
//     x_ik = remainder of c_ik,   y_jk = x_jk (1 / d_k),   c_ij -= x_ik y_jk   for k = 0, 1, ...
//
// Each entry c_ij is a chain of one product and one difference at a time, both rounded, k
// ascending, and y is rounded once. Tiles, vector lengths and the order of the tiles decide which
// entries are computed at the same time, never the operations on one of them. No FMA: it would
// round once instead of twice (cmake/flags.cmake).
//
// Solves with one right-hand side read each number once and are limited by memory: forward, a panel
// with all its columns; backward, 4 columns with all their panels. Sums of the latter: the panels
// below that of k are summed in 8 lanes, row i in lane i % 8, the last panel first; lanes are added
// by halves, i with i + 4, then i + 2, then i + 1. The rows of the diagonal square are then
// subtracted one at a time, the last one first: the most recently computed row comes last, so that
// a column waits for 12 cycles, not for a sum over lanes.
//
// tile_kernels.h has the kernels; it is compiled once for each vector length. Vectors use the GNU
// extension; other compilers process one number at a time, with the same bits.
//
// Measured, one EPYC core (Zen 3) shared with other work, 1024 rows, 64 columns, gcc 12 -O3, best
// of many: update 43 Gflop/s with AVX2, 16 with SSE2; rows 41 and 14. Without FMA the core can do
// 16 flops a cycle, 39 Gflop/s at its nominal 2.45 GHz and some 55 at the most it clocks to.
#include "linalg/tile.h"

#include "math/simd.h"

enum {
    CHUNK = 16, // panels that are used for all right-hand sides while they are in the cache
    AHEAD = 512 // prefetch distance, in numbers
};

// Fronts are small, and their access patterns too short for the hardware prefetcher to predict the
// next front, which is stored after (forward) or before (backward). Prefetching any address is
// safe.
#if defined(__GNUC__)
#define ASK(x, by) \
    __builtin_prefetch((const void*)((uintptr_t)(x) + (uintptr_t)(by) * sizeof(double)))
#else
#define ASK(x, by) ((void)0)
#endif

#define SIMD_KERNELS "linalg/tile_kernels.h"
#include "math/simd_each.h"

const tni_tiles* tni_tiles_of(int width)
{
    return TNI_SIMD_OF(&tiles, width);
}
