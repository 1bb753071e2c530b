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

# Chains in engines of articulated bodies: Bullet (libbullet-dev), DART (libdart-dev), MuJoCo (PyPI mujoco-core,
# which scripts/peers puts under build/peers; TENON_MUJOCO is the folder with include/ and libmujoco.so.*).
option(TENON_PEERS_CHAIN "The comparisons of bench/peers/chain.c" OFF)
if(NOT TENON_PEERS_CHAIN)
    return()
endif()
enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(TENON_MUJOCO "" CACHE PATH "Folder of the MuJoCo package")
find_path(TENON_BULLET_INCLUDE bullet/btBulletDynamicsCommon.h REQUIRED)
find_path(TENON_DART_INCLUDE dart/config.hpp REQUIRED)
find_path(TENON_EIGEN_INCLUDE eigen3/Eigen/Core REQUIRED)
file(GLOB mujoco_library "${TENON_MUJOCO}/libmujoco.so.*")
if(NOT mujoco_library)
    message(FATAL_ERROR "no libmujoco in TENON_MUJOCO=${TENON_MUJOCO}")
endif()

add_library(tenon_peers_chain STATIC bench/peers/links.c bench/peers/mujoco.c bench/peers/bullet.cpp bench/peers/dart.cpp)
target_include_directories(tenon_peers_chain PRIVATE src)
target_include_directories(tenon_peers_chain SYSTEM PRIVATE ${TENON_MUJOCO}/include ${TENON_DART_INCLUDE}
    ${TENON_BULLET_INCLUDE}/bullet ${TENON_EIGEN_INCLUDE}/eigen3)
set_source_files_properties(bench/peers/bullet.cpp PROPERTIES COMPILE_DEFINITIONS BT_USE_DOUBLE_PRECISION
    COMPILE_OPTIONS -O2)
set_source_files_properties(bench/peers/dart.cpp PROPERTIES COMPILE_OPTIONS -O2)
target_link_libraries(tenon_peers_chain PUBLIC tenon_peers ${mujoco_library} dart dart-external-odelcpsolver
    BulletDynamics-float64 BulletCollision-float64 LinearMath-float64)

# Pinocchio (PyPI libpinocchio): TENON_PINOCCHIO is the folder with include/ and lib/; empty: without it.
set(TENON_PINOCCHIO "" CACHE PATH "Folder of Pinocchio and its Boost")
if(TENON_PINOCCHIO)
    target_sources(tenon_peers_chain PRIVATE bench/peers/pinocchio.cpp)
    target_compile_definitions(tenon_peers_chain PUBLIC PEERS_PINOCCHIO)
    set_source_files_properties(bench/peers/pinocchio.cpp PROPERTIES COMPILE_OPTIONS "-O2;-isystem;${TENON_PINOCCHIO}/include"
        COMPILE_DEFINITIONS "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION;BOOST_MPL_LIMIT_LIST_SIZE=30;BOOST_MPL_LIMIT_VECTOR_SIZE=30;BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS;BOOST_FUSION_INVOKE_MAX_ARITY=12")
    target_link_directories(tenon_peers_chain PUBLIC ${TENON_PINOCCHIO}/lib)
    target_link_options(tenon_peers_chain PUBLIC "-Wl,-rpath,${TENON_PINOCCHIO}/lib")
    target_link_libraries(tenon_peers_chain PUBLIC pinocchio_default)
endif()

add_executable(peers_chain bench/peers/chain.c)
add_executable(peers_chain_check bench/peers/chain_check.c tests/test_main.c)
target_include_directories(peers_chain_check PRIVATE tests)
foreach(target IN ITEMS peers_chain peers_chain_check)
    target_link_libraries(${target} PRIVATE tenon_peers_chain)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endforeach()
