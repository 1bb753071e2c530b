# libFuzzer targets: every tests/fuzz/fuzz_*.c is one program. That of requests takes the parsers out of the program.
# The paths that a fuzzer looks for are those of the whole library when TENON_SANITIZE says so, see
# tests/fuzz/run; else, as in the preset `asan`, those of what reads.
if(NOT TENON_SANITIZE MATCHES "fuzzer")
    file(GLOB reader_sources src/io/*.c src/model/*.c src/geom/*.c stage/*.c cli/request.c cli/websocket.c)
    set_source_files_properties(${reader_sources} PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
endif()
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
