// simd_begin: vectors of WIDTH numbers, under names that kernels share (math/simd.h). There is no
// include guard on purpose. simd_end.h undefines all names.
//
//     vec, mask        WIDTH numbers; WIDTH truth values, each all ones or zero
//     LANES            WIDTH
//     NAME(x)          x with a suffix for this length
//     LOAD, STORE      to and from memory, unaligned
//     AT(v, lane)      one number
//     GATHER(p, rest)  the vector of p[0] rest, p[1] rest, ...
//     ALL(x)           x in every lane
//     PICK(m, a, b)    a where m is true, else b; ONLY(m, a): a where m is true, else 0
//     NOT(m)           logical not; ANY(m): true if some lane is
//     BITS(m)          one bit for each lane of m
//     ROOT(x)          the square root
//
// Everything up to simd_end.h is compiled for a processor that has such vectors.
#include "math/simd.h"

#define NAME(x) TNI_SIMD_JOIN(x, WIDTH)
#define vec     NAME(vec)
#define mask    NAME(mask)

#define LOAD(to, from) memcpy(&(to), (from), sizeof(to))
#define STORE(to, v)   memcpy((to), &(v), sizeof(v))
#define LANES          WIDTH

#if WIDTH > 1
typedef double  vec __attribute__((vector_size(8 * WIDTH)));
typedef int64_t mask __attribute__((vector_size(8 * WIDTH)));
#define AT(v, lane)   ((v)[lane])
#define ONLY(m, a)    ((vec)((m) & (mask)(a)))
#define PICK(m, a, b) ((vec)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#define NOT(m)        (~(m))
#define ANY(m)        (BITS(m) != 0)
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#else
typedef double vec;
typedef int    mask;
#define AT(v, lane)     (*((double*)&(v) + (lane)))
#define ONLY(m, a)      ((m) ? (a) : 0)
#define PICK(m, a, b)   ((m) ? (a) : (b))
#define NOT(m)          (!(m))
#define ANY(m)          (m)
#define GATHER(p, rest) ((p)[0] rest)
#define ALL(x)          ((double)(x))
#define BITS(m)         (m)
#define ROOT(x)         sqrt(x)
#endif

#if WIDTH == 2
#define GATHER(p, rest) ((vec){(p)[0] rest, (p)[1] rest})
#define ALL(x)          ((vec){(x), (x)})
#if defined(__x86_64__)
#define BITS(m) _mm_movemask_pd((__m128d)(m))
#define ROOT(x) ((vec)_mm_sqrt_pd((__m128d)(x)))
#else
#define BITS(m) ((int)((m)[0] & 1) | (int)((m)[1] & 2))
#define ROOT(x) ((vec){sqrt((x)[0]), sqrt((x)[1])})
#endif
#endif

#if WIDTH == 4
#define GATHER(p, rest) ((vec){(p)[0] rest, (p)[1] rest, (p)[2] rest, (p)[3] rest})
#define ALL(x)          ((vec){(x), (x), (x), (x)})
#define BITS(m)         _mm256_movemask_pd((__m256d)(m))
#define ROOT(x)         ((vec)_mm256_sqrt_pd((__m256d)(x)))
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#endif
