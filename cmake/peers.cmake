# Other engines beside ours, from the distribution's packages: libode-dev. See bench/peers/README.md.
find_path(TENON_ODE_INCLUDE ode/ode.h REQUIRED)
find_library(TENON_ODE_LIBRARY ode REQUIRED)

add_library(tenon_peers STATIC bench/peers/ode.c bench/peers/self.c bench/peers/run.c)
target_include_directories(tenon_peers PUBLIC bench/peers PRIVATE src)
target_include_directories(tenon_peers SYSTEM PRIVATE ${TENON_ODE_INCLUDE})
target_link_libraries(tenon_peers PUBLIC tenon_scenes tenon_inside ${TENON_ODE_LIBRARY} m)

add_executable(peers bench/peers/peers.c)
target_link_libraries(peers PRIVATE tenon_peers)

add_executable(peers_check bench/peers/check.c tests/test_main.c)
target_include_directories(peers_check PRIVATE tests)
target_link_libraries(peers_check PRIVATE tenon_peers)
foreach(target IN ITEMS peers peers_check)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endforeach()
