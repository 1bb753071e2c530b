// batch_baseline: lanes of two copies, for any 64-bit processor and WebAssembly.
#include "batch/batch_plan.h"

#if defined(__GNUC__)
#if defined(__x86_64__)
#include <immintrin.h>
#define ROOT(x) ((vec)_mm_sqrt_pd((__m128d)(x)))
#define BITS(m) _mm_movemask_pd((__m128d)(m))
#else
#define ROOT(x) ((vec){sqrt((x)[0]), sqrt((x)[1])})
#define BITS(m) ((int)((m)[0] & 1) | (int)((m)[1] & 2))
#endif
#define BYTES 16
#include "batch/batch_step.h"

const tni_batch_kernels* tni_batch_baseline(void)
{
    return &set;
}
#else
const tni_batch_kernels* tni_batch_baseline(void)
{
    return NULL;
}
#endif
