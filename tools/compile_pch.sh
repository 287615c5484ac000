#!/bin/sh
# Runs the command that makes a precompiled header, without ccache, and writes beside it what ccache
# is to know it by (CCACHE_PCH_EXTSUM): a checksum of every file that went into it.
#
# ccache itself must not keep it: it would take two headers that differ in a comment for the same,
# and g++ knows by the text of a header whether it has been included before.
CCACHE_DISABLE=1 "$@" || exit
previous=
output=
dependencies=
for argument in "$@"; do
  case $previous in
    -o) output=$argument ;;
    -MF) dependencies=$argument ;;
  esac
  previous=$argument
done
[ -f "$dependencies" ] || exit 0
# "target: file file \" on several lines.
sed -e 's/^[^ ]*: *//' -e 's/\\$//' "$dependencies" | tr ' ' '\n' | sed '/^$/d' |
  grep -v '/cmake_pch\.hxx' | xargs cat | sha256sum >"$output.sum"
