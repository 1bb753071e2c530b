# Other engines beside ours, never part of the library or its tests. See bench/peers/README.md and scripts/bench-peers:
# libode-dev, libbullet-dev, libdart-dev, libsimbody-dev from the distribution; MuJoCo (PyPI mujoco-core: TENON_MUJOCO is the
# folder with include/ and libmujoco.so.*) and Pinocchio (PyPI libpinocchio: TENON_PINOCCHIO has include/ and lib/; empty: without).
set(peers bench/peers)
option(TENON_PEERS_ALONE "Of the comparisons only Tenon's lines: no other engine is needed" OFF)
add_library(tenon_peers STATIC ${peers}/plain.c ${peers}/depth.c ${peers}/works.c ${peers}/setups.c ${peers}/run.c ${peers}/tenon.c)
target_include_directories(tenon_peers PUBLIC ${peers} PRIVATE src)
target_link_libraries(tenon_peers PUBLIC tenon_scenes tenon_inside m)
add_executable(peers ${peers}/score.c)
target_link_libraries(peers PRIVATE tenon_peers)
set_target_properties(peers PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
if(TENON_PEERS_ALONE)
    target_compile_definitions(tenon_peers PUBLIC PEERS_ALONE)
    return()
endif()

enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(TENON_MUJOCO "" CACHE PATH "Folder of the MuJoCo package")
set(TENON_PINOCCHIO "" CACHE PATH "Folder of Pinocchio and its Boost")
find_path(TENON_ODE_INCLUDE ode/ode.h REQUIRED)
find_library(TENON_ODE_LIBRARY ode REQUIRED)
find_path(TENON_BULLET_INCLUDE bullet/btBulletDynamicsCommon.h REQUIRED)
find_path(TENON_DART_INCLUDE dart/config.hpp REQUIRED)
find_path(TENON_EIGEN_INCLUDE eigen3/Eigen/Core REQUIRED)
find_path(TENON_SIMBODY_INCLUDE simbody/Simbody.h REQUIRED)
file(GLOB mujoco_library "${TENON_MUJOCO}/libmujoco.so.*")
if(NOT mujoco_library)
    message(FATAL_ERROR "no libmujoco in TENON_MUJOCO=${TENON_MUJOCO}")
endif()

target_sources(tenon_peers PRIVATE ${peers}/ode.c ${peers}/mujoco.c ${peers}/bullet.cpp ${peers}/bullet_tree.cpp ${peers}/dart.cpp
    ${peers}/simbody.cpp)
target_include_directories(tenon_peers SYSTEM PRIVATE ${TENON_ODE_INCLUDE} ${TENON_MUJOCO}/include ${TENON_DART_INCLUDE}
    ${TENON_BULLET_INCLUDE}/bullet ${TENON_EIGEN_INCLUDE}/eigen3 ${TENON_SIMBODY_INCLUDE}/simbody)
set_source_files_properties(${peers}/bullet.cpp ${peers}/bullet_tree.cpp PROPERTIES
    COMPILE_DEFINITIONS BT_USE_DOUBLE_PRECISION COMPILE_OPTIONS -O2)
set_source_files_properties(${peers}/dart.cpp ${peers}/simbody.cpp PROPERTIES COMPILE_OPTIONS -O2)
target_link_libraries(tenon_peers PUBLIC ${TENON_ODE_LIBRARY} ${mujoco_library} dart
    dart-external-odelcpsolver BulletDynamics-float64 BulletCollision-float64 LinearMath-float64 SimTKsimbody SimTKmath
    SimTKcommon)

if(TENON_PINOCCHIO)
    target_sources(tenon_peers PRIVATE ${peers}/pinocchio.cpp)
    target_compile_definitions(tenon_peers PUBLIC PEERS_PINOCCHIO)
    set_source_files_properties(${peers}/pinocchio.cpp PROPERTIES COMPILE_OPTIONS "-O2;-isystem;${TENON_PINOCCHIO}/include"
        COMPILE_DEFINITIONS "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION;BOOST_MPL_LIMIT_LIST_SIZE=30;BOOST_MPL_LIMIT_VECTOR_SIZE=30;BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS;BOOST_FUSION_INVOKE_MAX_ARITY=12")
    target_link_directories(tenon_peers PUBLIC ${TENON_PINOCCHIO}/lib)
    target_link_options(tenon_peers PUBLIC "-Wl,-rpath,${TENON_PINOCCHIO}/lib")
    target_link_libraries(tenon_peers PUBLIC pinocchio_default)
endif()

add_executable(peers_check ${peers}/check.c tests/test_main.c)
target_include_directories(peers_check PRIVATE tests src)
target_link_libraries(peers_check PRIVATE tenon_peers)
set_target_properties(peers_check PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
