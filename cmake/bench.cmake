# Every bench/micro/*.c is one program; they may look inside, as tests may.
file(GLOB bench_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" bench/micro/*.c)
foreach(file IN LISTS bench_files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(bench_${name} ${file})
    target_include_directories(bench_${name} PRIVATE src bench)
    target_link_libraries(bench_${name} PRIVATE $<TARGET_NAME_IF_EXISTS:tenon_scenes> tenon_inside)
    set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endforeach()
