# Every tests/<kind>/*_test.c is one program and one ctest entry, named kind/file.
# Labels: its kind; `slow` when the name ends in _slow_test.c; `threads` when it ends in _threads_test.c.
# A *_test.py is run by python3 with TENON (the program) in its environment.
# With TENON_TEST_LIGHT, as in every preset but `full`, tests of many random samples take fewer of them.
# The target tests_<kind> builds all of a kind. Under sanitizers the tests themselves are compiled without
# optimisation, in a quarter of the time: what takes theirs is the library.
option(TENON_TEST_LIGHT "Tests of many samples take fewer" ON)
find_package(Threads REQUIRED)

add_library(tenon_test_main STATIC tests/test_main.c)
target_include_directories(tenon_test_main PUBLIC tests)
target_link_libraries(tenon_test_main PUBLIC $<$<PLATFORM_ID:Linux>:m>)
if(TENON_TEST_LIGHT)
    target_compile_definitions(tenon_test_main PUBLIC TENON_TEST_LIGHT)
endif()
if(TENON_SANITIZE)
    target_compile_options(tenon_test_main PUBLIC -O0)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "Clang") # it minds NAN and INFINITY, which are floats
    target_compile_options(tenon_test_main PUBLIC -Wno-double-promotion)
endif()
set_target_properties(tenon_test_main PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

function(tenon_test_properties name file kind)
    set(labels ${kind})
    foreach(label IN ITEMS slow threads)
        if(file MATCHES "_${label}_test\\.[a-z]+$")
            list(APPEND labels ${label})
        endif()
    endforeach()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(file MATCHES "^(laws|memory)/") # the long ones first
        set_tests_properties(${name} PROPERTIES COST 10)
    endif()
    if(TARGET tenon_cli)
        set_tests_properties(${name} PROPERTIES ENVIRONMENT "TENON=$<TARGET_FILE:tenon_cli>")
    endif()
endfunction()

file(GLOB_RECURSE test_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests"
    tests/*_test.c tests/*_test.py)
foreach(file IN LISTS test_files)
    string(REGEX REPLACE "_test\\.[a-z]+$" "" name "${file}")
    string(REGEX REPLACE "/.*$" "" kind "${file}")
    if(NOT TARGET tests_${kind})
        add_custom_target(tests_${kind})
        if(TARGET tenon_cli)
            add_dependencies(tests_${kind} tenon_cli)
        endif()
    endif()
    if(file MATCHES "\\.py$")
        find_program(TENON_PYTHON python3 REQUIRED)
        add_test(NAME ${name} COMMAND ${TENON_PYTHON} "${PROJECT_SOURCE_DIR}/tests/${file}")
    else()
        string(REPLACE "/" "_" target "test_${name}")
        add_executable(${target} tests/${file})
        target_include_directories(${target} PRIVATE src tests)
        target_link_libraries(${target} PRIVATE tenon_test_main tenon_stage $<TARGET_NAME_IF_EXISTS:tenon_scenes>
            tenon_inside Threads::Threads)
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        if(TARGET tenon_cli)
            add_dependencies(${target} tenon_cli)
            target_compile_definitions(${target} PRIVATE TENON_PROGRAM="$<TARGET_FILE:tenon_cli>")
        endif()
        add_test(NAME ${name} COMMAND ${target})
        add_dependencies(tests_${kind} ${target})
    endif()
    tenon_test_properties(${name} ${file} ${kind})
endforeach()
