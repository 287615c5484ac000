#!/bin/sh
# compile_fail.sh COMPILER INCLUDE_DIR FILE
#
# FILE begins with one or more lines "// expect: <sentence>". Passes only if FILE does not compile
# and the compiler's output holds every sentence. "// expect: compiles" is the opposite, a control
# that shows the mistake, and not something else, to be what fails. A line "// flags: ..." among
# them adds compiler flags.
set -eu
compiler=$1 include=$2 file=$3
export LC_ALL=C

output=$(mktemp)
trap 'rm -f "$output"' EXIT
expected=$(sed -n -e '/^\/\/ \(expect\|flags\): /!q' -e 's/^\/\/ expect: //p' "$file")
flags=$(sed -n -e '/^\/\/ \(expect\|flags\): /!q' -e 's/^\/\/ flags: //p' "$file")
if [ -z "$expected" ]; then
  echo "$file: the first line must be \"// expect: <sentence>\" or \"// expect: compiles\""
  exit 1
fi

# Not -fsyntax-only: some errors appear only when templates are instantiated.
# shellcheck disable=SC2086 # the flags are several words
if "$compiler" -std=c++20 -Wall -Wextra -fmessage-length=0 $flags -I "$include" -S -o /dev/null \
    "$file" >"$output" 2>&1; then
  compiled=yes
else
  compiled=no
fi

if [ "$expected" = compiles ]; then
  [ $compiled = yes ] && exit 0
  echo "$file: should compile, but:"
  cat "$output"
  exit 1
fi
if [ $compiled = yes ]; then
  echo "$file: compiles, but should fail with: $expected"
  exit 1
fi
printf '%s\n' "$expected" | while IFS= read -r sentence; do
  if ! grep -qF -e "$sentence" "$output"; then
    echo "$file: fails to compile as it should, but the compiler does not say: $sentence"
    cat "$output"
    exit 1
  fi
done
