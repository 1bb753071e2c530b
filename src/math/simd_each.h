// simd_each: compiles the kernels in the header SIMD_KERNELS for each length of vectors (math/simd.h).
// There is no guard against being included twice: that is the point.
#define WIDTH TNI_SIMD_NARROW
#include "math/simd_begin.h"

#include SIMD_KERNELS

#include "math/simd_end.h"

#if TNI_SIMD_WIDE != TNI_SIMD_NARROW
#define WIDTH TNI_SIMD_WIDE
#include "math/simd_begin.h"

#include SIMD_KERNELS

#include "math/simd_end.h"
#endif
#undef SIMD_KERNELS
