# What "cmake --install" puts into the prefix: headers, libraries, the CMake package, godwit.pc.
include(CMakePackageConfigHelpers)
set(godwit_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/godwit")
get_property(godwit_libraries GLOBAL PROPERTY GODWIT_LIBRARIES)
get_property(godwit_externals GLOBAL PROPERTY GODWIT_LINKED_EXTERNALS)
list(REMOVE_DUPLICATES godwit_externals)
list(REVERSE godwit_libraries)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/godwit" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(TARGETS godwit ${godwit_targets} EXPORT godwitTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(EXPORT godwitTargets NAMESPACE godwit:: DESTINATION "${godwit_cmake_dir}")

# A shared godwit carries its own list of needed libraries; only a static one hands them on.
set(godwit_handed_on "${godwit_externals}")
if(BUILD_SHARED_LIBS)
  set(godwit_handed_on "")
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/godwitConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/godwitConfig.cmake"
                              INSTALL_DESTINATION "${godwit_cmake_dir}"
                              NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break the API.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/godwitConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/godwitConfig.cmake"
              "${PROJECT_BINARY_DIR}/godwitConfigVersion.cmake"
        DESTINATION "${godwit_cmake_dir}")
if(NOT BUILD_SHARED_LIBS)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/externals.cmake"
          DESTINATION "${godwit_cmake_dir}" RENAME godwitExternals.cmake)
endif()

set(godwit_pc_libs "")
foreach(library IN LISTS godwit_libraries)
  string(APPEND godwit_pc_libs " -l${library}")
endforeach()
set(godwit_pc_requires "")
set(godwit_pc_cflags "")
foreach(external IN LISTS godwit_handed_on)
  if(external STREQUAL "threads")
    string(APPEND godwit_pc_libs " -pthread")
  else()
    # Requires and not Requires.private, so that "pkg-config --libs godwit" is enough to link the
    # static library, with or without --static.
    get_target_property(pkg_config godwit::external_${external} GODWIT_PKG_CONFIG)
    string(APPEND godwit_pc_requires " ${pkg_config}")
  endif()
endforeach()
if(BUILD_SHARED_LIBS)
  string(APPEND godwit_pc_cflags " -DGODWIT_SHARED")
endif()
if(GODWIT_COUNT_WORK)
  string(APPEND godwit_pc_cflags " -DGODWIT_COUNT_WORK")
endif()
# The .pc file finds its prefix from where it lies unless the directories were given as absolute.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(godwit_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(godwit_pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(godwit_pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH godwit_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" godwit_up "${godwit_up}")
  set(godwit_pc_prefix "\${pcfiledir}/${godwit_up}")
  set(godwit_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(godwit_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/godwit.pc.in" "${PROJECT_BINARY_DIR}/godwit.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/godwit.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
