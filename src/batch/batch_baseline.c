// batch_baseline: lanes of two copies, for any 64-bit processor and WebAssembly.
#include "batch/batch_plan.h"
#include "math/simd.h"
#include "step/stepper.h"

#if TNI_SIMD_NARROW == 2
#define WIDTH 2
#include "math/simd_begin.h"

#include "batch/batch_step.h"

#include "math/simd_end.h"
#endif

const tni_batch_kernels* tni_batch_baseline(void)
{
#if TNI_SIMD_NARROW == 2
    return &set;
#else
    return NULL;
#endif
}
