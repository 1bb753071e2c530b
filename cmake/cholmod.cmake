# CHOLMOD of SuiteSparse (Debian: libsuitesparse-dev). A static libtenon passes the library on by its
# full path, so a build with it is for the machine it was made on.
find_path(TENON_CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse REQUIRED)
find_library(TENON_CHOLMOD_LIBRARY cholmod REQUIRED)

function(tenon_use_cholmod target)
    target_include_directories(${target} SYSTEM PRIVATE "${TENON_CHOLMOD_INCLUDE}")
    target_compile_definitions(${target} PRIVATE TENON_HAS_CHOLMOD)
    target_link_libraries(${target} PRIVATE "${TENON_CHOLMOD_LIBRARY}")
endfunction()
