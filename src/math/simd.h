// simd: numbers side by side in vectors, in the GNU dialect; other compilers take one number at a time.
// Kernels are compiled once for each length of vectors that the processors of a platform may have, and every
// length gives the same bits: what happens in a lane never depends on the others.
//
// How to write them. A header with the kernels and without a guard, say some_lanes.h, uses what
// simd_begin.h defines (vec, mask, LANES, NAME, LOAD, STORE, PICK, ...). Its functions are static
// and have names of their own for each length: NAME(add). Then
//
//     #define SIMD_KERNELS "some_lanes.h"
//     #include "math/simd_each.h"
//
// compiles it for every length, and TNI_SIMD_OF(add, width) is the one for `width` numbers. Objects
// take tni_simd_width() when they are created; tests set narrower ones.
#ifndef TNI_SIMD_H
#define TNI_SIMD_H

#include "base/base.h"

// Numbers of the narrowest vectors, which every processor of the platform has, and of the widest. To try
// what other platforms get, compile with -DTENON_SIMD_WIDTH=2, or 1.
#if defined(TENON_SIMD_WIDTH)
#define TNI_SIMD_NARROW TENON_SIMD_WIDTH
#define TNI_SIMD_WIDE   TENON_SIMD_WIDTH
#elif defined(__GNUC__) && defined(__x86_64__)
#define TNI_SIMD_NARROW 2
#define TNI_SIMD_WIDE   4
#elif defined(__GNUC__)
#define TNI_SIMD_NARROW 2
#define TNI_SIMD_WIDE   2
#else
#define TNI_SIMD_NARROW 1
#define TNI_SIMD_WIDE   1
#endif

/// Numbers of a vector that this processor handles best: TNI_SIMD_NARROW or TNI_SIMD_WIDE.
static inline int tni_simd_width(void)
{
#if TNI_SIMD_WIDE == 4
    return __builtin_cpu_supports("avx2") ? TNI_SIMD_WIDE : TNI_SIMD_NARROW;
#else
    return TNI_SIMD_NARROW;
#endif
}

/// What NAME(name) is for a width; also of an address: TNI_SIMD_OF(&name, width).
#define TNI_SIMD_JOIN_(a, b) a##_##b
#define TNI_SIMD_JOIN(a, b)  TNI_SIMD_JOIN_(a, b)
#if TNI_SIMD_WIDE == TNI_SIMD_NARROW
#define TNI_SIMD_OF(name, width) ((void)(width), TNI_SIMD_JOIN(name, TNI_SIMD_NARROW))
#else
#define TNI_SIMD_OF(name, width)                                   \
    ((width) == TNI_SIMD_WIDE ? TNI_SIMD_JOIN(name, TNI_SIMD_WIDE) \
                              : TNI_SIMD_JOIN(name, TNI_SIMD_NARROW))
#endif

// Small loops of known length are written out: what they index then stands in registers. clang does
// so by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

/// Neighbouring numbers of an array, wherever it begins; TNI_SIMD_NARROW of them.
#if TNI_SIMD_NARROW > 1
typedef double tni_numbers __attribute__((vector_size(16), aligned(8), may_alias));
#else
typedef double tni_numbers;
#endif

#endif
