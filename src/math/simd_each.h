// simd_each: compiles the kernels in the header SIMD_KERNELS for each vector length (math/simd.h).
// There is no include guard on purpose.
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
