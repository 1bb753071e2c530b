# tenon-bench, the benchmark suite: public headers, and what commands share; inside.c alone looks inside. Tests run a
# little of it. It lies beside the program.
file(GLOB suite_sources CONFIGURE_DEPENDS bench/suite/*.c)
add_executable(tenon_suite ${suite_sources})
target_include_directories(tenon_suite PRIVATE bench/suite)
set_source_files_properties(bench/suite/inside.c PROPERTIES INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tenon_suite PRIVATE tenon_commands)
set_target_properties(tenon_suite PROPERTIES OUTPUT_NAME tenon-bench RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
