# Finds what the modules link besides each other. Used by the build, and installed beside
# godwitConfig.cmake for static builds, whose users have to link the same libraries.
#
# godwit_external(<name> <out>) makes the target godwit::external_<name>, however the library was
# found on this machine, and puts a sentence into <out> if it was not. The target's property
# GODWIT_PKG_CONFIG is the library's name in pkg-config.
function(godwit_external name out)
  set(${out} "" PARENT_SCOPE)
  if(TARGET godwit::external_${name} OR name STREQUAL "posix")
    return()
  endif()

  set(libraries "")
  set(header_only FALSE)
  set(pkg_config "${name}")
  if(name STREQUAL "threads")
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads QUIET)
    if(TARGET Threads::Threads)
      set(libraries Threads::Threads)
    else()
      set(${out} "a thread library was not found" PARENT_SCOPE)
    endif()
  elseif(name STREQUAL "simdjson")
    godwit_config_or_pkg(simdjson simdjson::simdjson simdjson libraries)
    if(NOT libraries)
      set(${out} "simdjson was not found (Debian: libsimdjson-dev)" PARENT_SCOPE)
    endif()
  elseif(name STREQUAL "re2")
    godwit_config_or_pkg(re2 re2::re2 re2 libraries)
    if(NOT libraries)
      set(${out} "RE2 was not found (Debian: libre2-dev)" PARENT_SCOPE)
    endif()
  elseif(name STREQUAL "boost")
    # Asio and what it needs are headers only.
    set(header_only TRUE)
    find_package(Boost 1.74 CONFIG QUIET)
    if(NOT TARGET Boost::headers)
      find_package(Boost 1.74 MODULE QUIET)
    endif()
    if(TARGET Boost::headers)
      set(libraries Boost::headers)
    else()
      set(${out} "the headers of Boost 1.74 or newer were not found (Debian: libboost1.81-dev)"
          PARENT_SCOPE)
    endif()
  elseif(name STREQUAL "openssl")
    # Of OpenSSL's two libraries the one without TLS.
    set(pkg_config libcrypto)
    find_package(OpenSSL 3 QUIET)
    if(TARGET OpenSSL::Crypto)
      set(libraries OpenSSL::Crypto)
    else()
      set(${out} "OpenSSL 3 was not found (Debian: libssl-dev)" PARENT_SCOPE)
    endif()
  else()
    set(${out} "cmake/externals.cmake does not know \"${name}\"" PARENT_SCOPE)
  endif()

  if(libraries)
    # GLOBAL, because a project that adds godwit as a subdirectory links it from outside.
    add_library(godwit::external_${name} INTERFACE IMPORTED GLOBAL)
    set_target_properties(godwit::external_${name} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${libraries}"
      GODWIT_HEADER_ONLY "${header_only}"
      GODWIT_PKG_CONFIG "${pkg_config}")
  endif()
endfunction()

# A library that ships a CMake package on some systems and only a pkg-config file on others.
function(godwit_config_or_pkg package target module out)
  find_package(${package} CONFIG QUIET)
  if(TARGET ${target})
    set(${out} ${target} PARENT_SCOPE)
    return()
  endif()
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(GODWIT_PKG_${package} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(TARGET PkgConfig::GODWIT_PKG_${package})
      set(${out} PkgConfig::GODWIT_PKG_${package} PARENT_SCOPE)
      return()
    endif()
  endif()
  set(${out} "" PARENT_SCOPE)
endfunction()
