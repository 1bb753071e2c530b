// simd: SIMD vectors in the GNU dialect; other compilers process one number at a time. Kernels are
// compiled once for each vector length of the platform's processors, and every length gives the
// same bits: the result in a lane never depends on the others.
//
// Usage: a header with the kernels and without an include guard, say some_lanes.h, uses the macros
// of simd_begin.h (vec, mask, LANES, NAME, LOAD, STORE, PICK, ...). Its functions are static and
// have a different name for each length: NAME(add). Then
//
//     #define SIMD_KERNELS "some_lanes.h"
//     #include "math/simd_each.h"
//
// compiles it for every length, and TNI_SIMD_OF(add, width) is the one for `width` numbers. Objects
// take tni_simd_width() when they are created; tests set narrower ones.
#ifndef TNI_SIMD_H
#define TNI_SIMD_H

#include "base/base.h"

// Lengths of the narrowest vectors, which every processor of the platform has, and of the widest
// ones. To test what other platforms use, compile with -DTENON_SIMD_WIDTH=2, or 1.
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

/// The vector length for this processor: TNI_SIMD_NARROW or TNI_SIMD_WIDE.
static inline int tni_simd_width(void)
{
#if TNI_SIMD_WIDE == 4
    return __builtin_cpu_supports("avx2") ? TNI_SIMD_WIDE : TNI_SIMD_NARROW;
#else
    return TNI_SIMD_NARROW;
#endif
}

/// The function NAME(name) of a width; for an object: TNI_SIMD_OF(&name, width).
#define TNI_SIMD_JOIN_(a, b) a##_##b
#define TNI_SIMD_JOIN(a, b)  TNI_SIMD_JOIN_(a, b)
#if TNI_SIMD_WIDE == TNI_SIMD_NARROW
#define TNI_SIMD_OF(name, width) ((void)(width), TNI_SIMD_JOIN(name, TNI_SIMD_NARROW))
#else
#define TNI_SIMD_OF(name, width)                                   \
    ((width) == TNI_SIMD_WIDE ? TNI_SIMD_JOIN(name, TNI_SIMD_WIDE) \
                              : TNI_SIMD_JOIN(name, TNI_SIMD_NARROW))
#endif

// Unrolls a small loop of constant length, so that arrays it indexes stay in registers. clang does
// so by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

/// TNI_SIMD_NARROW consecutive numbers of an array, unaligned.
#if TNI_SIMD_NARROW > 1
typedef double tni_numbers __attribute__((vector_size(16), aligned(8), may_alias));
#else
typedef double tni_numbers;
#endif

#endif
