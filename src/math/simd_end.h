// simd_end: undefines what simd_begin.h, and lanes_vec3.h after it, have defined.
#if WIDTH == 4 && defined(__clang__)
#pragma clang attribute pop
#elif WIDTH == 4
#pragma GCC pop_options
#endif
#undef ROOT
#undef BITS
#undef ANY
#undef NOT
#undef ONLY
#undef PICK
#undef ALL
#undef GATHER
#undef AT
#undef LANES
#undef STORE
#undef LOAD
#undef vec3
#undef mask
#undef vec
#undef NAME
#undef WIDTH
