// batch_avx2: lanes of four copies, for processors with AVX2. Everything in this file is compiled
// for it, and called only if the processor has it.
#include "batch/batch_plan.h"
#include "math/simd.h"
#include "step/stepper.h"

#if TNI_SIMD_WIDE == 4
#define WIDTH 4
#include "math/simd_begin.h"

#include "batch/batch_step.h"

#include "math/simd_end.h"
#endif

const tni_batch_kernels* tni_batch_avx2(void)
{
#if TNI_SIMD_WIDE == 4
    return &set;
#else
    return NULL;
#endif
}
