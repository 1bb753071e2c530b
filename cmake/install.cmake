# Headers, library, program, tenon.pc and the CMake package. All of it may be moved after installing.
include(CMakePackageConfigHelpers)

install(TARGETS tenon EXPORT tenon-targets)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon)
if(TARGET tenon_cli)
    install(TARGETS tenon_cli)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
install(EXPORT tenon-targets NAMESPACE tenon:: DESTINATION ${package_dir})
configure_package_config_file(cmake/tenon-config.cmake.in tenon-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(tenon-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake" DESTINATION ${package_dir})

# The prefix is written relative to the .pc file's own folder, share/pkgconfig.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR lib_is_absolute)
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_INCLUDEDIR include_is_absolute)
if(lib_is_absolute)
    set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(include_is_absolute)
    set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# A static library passes on what it needs: CMAKE_THREAD_LIBS_INIT is empty where libc has the threads.
if(BUILD_SHARED_LIBS)
    set(pc_libs "-L\${libdir} -ltenon")
    set(pc_defines " -DTN_SHARED")
else()
    string(STRIP "-L\${libdir} -ltenon -lm ${CMAKE_THREAD_LIBS_INIT}" pc_libs)
endif()
configure_file(cmake/tenon.pc.in tenon.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenon.pc" DESTINATION share/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
