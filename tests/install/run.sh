#!/bin/sh
# run.sh SOURCE_DIR BUILD_DIR CMAKE COMPILER [LAUNCHER]
#
# Builds and runs the consumer against the installed static build (find_package, pkg-config), as
# part of a bigger project (add_subdirectory, FetchContent), and against an installed shared build.
# Everything happens under BUILD_DIR/install_test; the shared build stays there for the next run.
set -eu
source=$1 build=$2 cmake=$3 compiler=$4 launcher=${5:-}
here=$source/tests/install/consumer
work=$build/install_test
log=$work/log
mkdir -p "$work"
version=$(sed -n 's/.*define *GODWIT_VERSION_[A-Z]* *\([0-9][0-9]*\).*/\1/p' \
  "$source/include/godwit/base/version.hpp" | paste -sd. -)

quietly() {
  if ! "$@" >"$log" 2>&1; then
    echo "failed: $*"
    cat "$log"
    exit 1
  fi
}

# consumer NAME EXECUTABLE CMAKE_ARGUMENT...
consumer() {
  name=$1 program=$2
  shift 2
  rm -rf "${work:?}/$name"
  quietly "$cmake" -G Ninja -S "$here" -B "$work/$name" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" "$@"
  quietly "$cmake" --build "$work/$name" -j2 --target "$program"
  expect_version "$name" "$work/$name/$program"
}

expect_version() {
  said=$("$2") || { echo "$1: the program failed: $said"; exit 1; }
  [ "$said" = "$version" ] || { echo "$1: the program says $said, not $version"; exit 1; }
  echo "$1: ok"
}

# pkg NAME PREFIX PKG_CONFIG_FLAG...
pkg() {
  name=$1 prefix=$2
  shift 2
  pc=$(find "$prefix" -name godwit.pc)
  [ "$(PKG_CONFIG_PATH=${pc%/*} pkg-config --modversion godwit)" = "$version" ] ||
    { echo "$name: godwit.pc does not say $version"; exit 1; }
  flags=$(PKG_CONFIG_PATH=${pc%/*} pkg-config "$@" --cflags --libs godwit)
  # shellcheck disable=SC2086 # the flags are several words
  quietly "$compiler" -std=c++20 "$here/main.cpp" -o "$work/$name" $flags
  LD_LIBRARY_PATH=$(dirname "${pc%/*}") expect_version "$name" "$work/$name"
}

rm -rf "$work/static" "$work/shared"

quietly "$cmake" --install "$build" --prefix "$work/static"
consumer static_package consumer_of_all -DWAY=package -DCMAKE_PREFIX_PATH="$work/static"
if command -v pkg-config >/dev/null; then
  pkg static_pkg_config "$work/static"
  pkg static_pkg_config_static "$work/static" --static
fi
consumer subdirectory consumer -DWAY=subdirectory -DGODWIT_SOURCE="$source"
consumer fetch consumer -DWAY=fetch -DFETCHCONTENT_SOURCE_DIR_GODWIT="$source"

quietly "$cmake" -G Ninja -S "$source" -B "$work/shared_build" -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DGODWIT_BUILD_TESTS=OFF -DGODWIT_BUILD_EXAMPLES=OFF
quietly "$cmake" --build "$work/shared_build" -j2
quietly "$cmake" --install "$work/shared_build" --prefix "$work/shared"
consumer shared_package consumer_of_all -DWAY=package -DCMAKE_PREFIX_PATH="$work/shared"
if command -v pkg-config >/dev/null; then
  pkg shared_pkg_config "$work/shared"
fi
