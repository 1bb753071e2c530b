# libFuzzer targets: every tests/fuzz/fuzz_*.c is one program. The whole library is instrumented,
# see tests/fuzz/run for the flags. That of requests takes the parsers out of the program.
file(GLOB fuzz_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" tests/fuzz/fuzz_*.c)
foreach(file IN LISTS fuzz_files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE tenon)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
target_sources(fuzz_request PRIVATE cli/request.c cli/websocket.c)
target_include_directories(fuzz_request PRIVATE cli)
target_link_libraries(fuzz_request PRIVATE tenon_stage tenon_scenes tenon)
