# Flags that every target takes. Results are the same bits with every compiler and level, so
# a * b + c is never fused behind our back, and nothing is reordered (no -ffast-math, ever).
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

add_compile_options(
    -ffp-contract=off
    -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wdouble-promotion
    -Wstrict-prototypes -Wmissing-prototypes)
# gcc 12 builds vfmaddsub out of products and sums in spite of -ffp-contract=off wherever the processor
# has it (tests/golden/run found it with -march=haswell): so the processor has none.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-6]86)$")
    add_compile_options(-mno-fma -mno-fma4 -mno-avx512f)
endif()
if(TENON_WERROR)
    add_compile_options(-Werror)
endif()
if(TENON_SANITIZE)
    add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TENON_SANITIZE})
endif()
