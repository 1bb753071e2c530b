# The toolchain of the preset `wasm`: clang for wasm32-wasi with Debian's wasi-libc. Vectors have 16 bytes (simd128), so
# the kernels are those of a processor without AVX2, and the bits are those of every other build.
set(CMAKE_SYSTEM_NAME Generic) # CMake knows no WASI
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-16)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_SYSROOT /usr) # lib/wasm32-wasi and include/wasm32-wasi
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_EXECUTABLE_SUFFIX_C .wasm)
# A library is one large object: the linker takes what is used of it, and llvm-ar is not needed.
set(CMAKE_C_CREATE_STATIC_LIBRARY "wasm-ld-16 -r <OBJECTS> -o <TARGET>")

# Signals: the program may set handlers, and nobody sends any.
set(CMAKE_C_FLAGS_INIT "-msimd128 -mbulk-memory -D_WASI_EMULATED_SIGNAL")
# The stack stands first, so that one that is too deep traps instead of writing over data.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=1048576 -Wl,--stack-first -Wl,--strip-all")
set(CMAKE_C_STANDARD_LIBRARIES "-lwasi-emulated-signal")
