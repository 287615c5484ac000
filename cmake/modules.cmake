# Reads tools/modules.txt into godwit_modules, godwit_uses_<module> and godwit_externals_<module>.
function(godwit_read_modules file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines REGEX "^[a-z]")
  set(modules "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z0-9_]+) *:([^:]*):([^:]*)$")
      message(FATAL_ERROR "${file}: cannot read the line \"${line}\"")
    endif()
    set(module "${CMAKE_MATCH_1}")
    set(used_names "${CMAKE_MATCH_2}")
    separate_arguments(externals UNIX_COMMAND "${CMAKE_MATCH_3}")
    string(REPLACE "*" "" used_names "${used_names}")  # concerns the check of includes only
    separate_arguments(uses UNIX_COMMAND "${used_names}")
    foreach(used IN LISTS uses)
      if(NOT used IN_LIST modules)
        message(FATAL_ERROR "${file}: ${module} uses ${used}, which is not a module above it")
      endif()
    endforeach()
    list(APPEND modules "${module}")
    set(godwit_uses_${module} "${uses}" PARENT_SCOPE)
    set(godwit_externals_${module} "${externals}" PARENT_SCOPE)
  endforeach()
  set(godwit_modules "${modules}" PARENT_SCOPE)
endfunction()

# godwit_module(<name>): the library godwit_<name>, known to users as godwit::<name>. A module with
# headers and no sources yet is an INTERFACE library; a module with neither is left out.
function(godwit_module module)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${module}/*.cpp")
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/godwit/${module}/*.hpp")
  if(NOT sources AND NOT headers)
    return()
  endif()

  set(target godwit_${module})
  if(sources)
    add_library(${target} ${sources})
    set(scope PUBLIC)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_definitions(${target} PRIVATE GODWIT_BUILDING)
    set_target_properties(${target} PROPERTIES
      VERSION "${PROJECT_VERSION}"
      # Before 1.0 a minor version may break the ABI.
      SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
      CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON
      # The module libraries lie beside each other, wherever the prefix is.
      INSTALL_RPATH "$<$<PLATFORM_ID:Linux>:$ORIGIN>")
    if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
      # The static libraries too, so that they can become part of somebody's plugin.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    if(BUILD_SHARED_LIBS)
      target_compile_definitions(${target} PUBLIC GODWIT_SHARED)
      if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT GODWIT_SANITIZE)
        # A module that uses another one without saying so in tools/modules.txt does not link.
        target_link_options(${target} PRIVATE -Wl,--no-undefined)
      endif()
    endif()
    godwit_own_flags(${target})
    foreach(external IN LISTS godwit_externals_${module})
      godwit_external(${external} error)
      if(error)
        message(FATAL_ERROR "godwit::${module}: ${error}")
      endif()
      if(NOT TARGET godwit::external_${external})
        continue()
      endif()
      get_target_property(header_only godwit::external_${external} GODWIT_HEADER_ONLY)
      if(header_only)
        # Compiled in: whoever links the installed library need not have it.
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:godwit::external_${external}>)
      else()
        target_link_libraries(${target} PRIVATE godwit::external_${external})
        set_property(GLOBAL APPEND PROPERTY GODWIT_LINKED_EXTERNALS ${external})
      endif()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY GODWIT_LIBRARIES ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()

  add_library(godwit::${module} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${module})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(used IN LISTS godwit_uses_${module})
    if(TARGET godwit_${used})
      target_link_libraries(${target} ${scope} godwit_${used})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GODWIT_TARGETS ${target})
endfunction()
