// batch_avx2: lanes of four copies, for processors with AVX2. Everything in this file is compiled
// for it, and called only if the processor has it.
#include "batch/batch_plan.h"
#include "step/stepper.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define ROOT(x) ((vec)_mm256_sqrt_pd((__m256d)(x)))
#define BITS(m) _mm256_movemask_pd((__m256d)(m))
#define BYTES   32
#include "batch/batch_step.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const tni_batch_kernels* tni_batch_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? &set : NULL;
}
#else
const tni_batch_kernels* tni_batch_avx2(void)
{
    return NULL;
}
#endif
