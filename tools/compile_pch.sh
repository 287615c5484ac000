#!/bin/sh
# Runs the command that makes a precompiled header, after removing the old one. The preprocessor
# would read that instead of the headers; ccache would then know the header by what it was before,
# and serve whatever somebody made out of the same one.
previous=
for argument in "$@"; do
  if [ "$previous" = -o ]; then rm -f "$argument"; fi
  previous=$argument
done
exec "$@"
