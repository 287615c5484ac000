# Warnings and sanitizers of godwit's own targets. They are PRIVATE everywhere: nothing of this
# reaches a project that uses the library.
add_library(godwit_warnings INTERFACE)
if(GODWIT_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(godwit_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor)
endif()
if(GODWIT_WARNINGS_AS_ERRORS)
  target_compile_options(godwit_warnings INTERFACE -Werror)
endif()

add_library(godwit_sanitizers INTERFACE)
if(GODWIT_SANITIZE)
  set(flags "-fsanitize=${GODWIT_SANITIZE}" -fno-omit-frame-pointer)
  if(GODWIT_SANITIZE MATCHES "undefined")
    list(APPEND flags -fno-sanitize-recover=all)
  endif()
  target_compile_options(godwit_sanitizers INTERFACE ${flags})
  target_link_options(godwit_sanitizers INTERFACE ${flags})
endif()

# g++ compares the definitions of a name in all objects while it links with -flto. Fat objects hold
# ordinary code too, so every program but tests/odr is linked without it, as fast as before.
if(GODWIT_CHECK_ODR AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "godwit: the check for two definitions of a name needs g++ and is left out")
  set(GODWIT_CHECK_ODR OFF)
endif()
if(GODWIT_CHECK_ODR)
  add_link_options(-fno-lto)
endif()

function(godwit_own_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # BUILD_INTERFACE keeps the two out of the installed package.
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:godwit_warnings> $<BUILD_INTERFACE:godwit_sanitizers>)
endfunction()

# godwit_executable(<name> <libraries> <sources>...): an example, a benchmark, a test.
function(godwit_executable name libraries)
  add_executable(${name} ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${libraries})
  godwit_own_flags(${name})
  if(GODWIT_TOP_LEVEL)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  endif()
endfunction()
