#!/bin/sh
# conformance.sh [LEG...]: our server and client against the official MCP conformance suite.
#
# Called by "./dev conformance" once build/release is built. The suite comes from npm, by name and
# version, into build/conformance. The legs are server-2025-11-25, server-2026-07-28, server-all,
# client-2025-11-25 and client-2026-07-28; LEG is the beginning of a name. What the suite finds is
# in build/conformance/out/LEG, and conformance_verdict.py reads the verdict from it: the suite's
# own exit code leaves out what it does not score. Client scenarios that need authorization are
# left out.
set -eu
cd "$(dirname "$0")/.."

work=build/conformance
out=$work/out
bin=$PWD/build/release/bin
packages='@modelcontextprotocol/conformance@0.2.0-alpha.12'
revisions='2025-11-25 2026-07-28'
# In seconds; the longest takes twelve, and each scenario has thirty of its own.
server_limit=600
client_limit=60

say() { printf 'conformance: %s\n' "$*"; }
die() { printf 'conformance: %s\n' "$*" >&2; exit 1; }

for program in conformance_server conformance_client; do
  [ -x "$bin/$program" ] || die "there is no build/release/bin/$program; ./dev build makes it"
done
. tools/node.sh
install_packages
suite=$PWD/$work/node_modules/@modelcontextprotocol/conformance/dist/index.js
rm -rf "$out"
mkdir -p "$out"

chosen=" $* "
wanted_leg() {
  [ "$chosen" != "  " ] || return 0
  for start in $chosen; do
    case $1 in "$start"*) return 0 ;; esac
  done
  return 1
}

# scenarios SIDE [LIST OPTION...]: the names of all scenarios for a server or a client.
scenarios() {
  side=$1
  shift
  timeout 60 "$node" "$suite" list "$@" | awk -v side="$side" '
    /^Server scenarios/ { part = "server" }
    /^Client scenarios/ { part = "client" }
    /^(Authorization|Run and reported)/ { part = "" }
    /^ +- / {
      of = part
      if ($3 == "[server]" || $3 == "[client]") of = substr($3, 2, length($3) - 2)
      if (of == side) print $2
    }'
}

# The verdict also wants to know what was to be run: what is missing has failed.
expect() {
  mkdir -p "$out/$1"
  cat >"$out/$1/expected"
  [ -s "$out/$1/expected" ] || die "the suite lists no scenarios for $1"
}

server=
stop_server() {
  [ -n "$server" ] || return 0
  kill "$server" 2>/dev/null || true
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.5
  done
  kill -KILL "$server" 2>/dev/null || true
  status=0
  wait "$server" || status=$?
  server=
  return $status
}
trap 'stop_server || true' EXIT
trap 'exit 1' HUP INT TERM

start_server() {
  "$bin/conformance_server" --http 127.0.0.1:0 >"$work/server.log" 2>&1 </dev/null &
  server=$!
  url=
  for _ in $(seq 100); do
    url=$(sed -n 's/^listening on \(http:.*\)$/\1/p' "$work/server.log" | head -n 1)
    if [ -n "$url" ] && timeout 5 "$node" -e \
      'fetch(process.argv[1]).then(() => process.exit(0), () => process.exit(1))' "$url"; then
      return 0
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/server.log" >&2
  die "conformance_server does not answer"
}

# server_leg LEG OPTION...
server_leg() {
  leg=$1
  shift
  [ -n "$server" ] || start_server
  timeout "$server_limit" "$node" "$suite" server --url "$url" "$@" -o "$out/$leg" \
    >"$out/$leg/log" 2>&1 </dev/null || true
}

failed=
for revision in $revisions; do
  leg=server-$revision
  wanted_leg "$leg" || continue
  scenarios server --requirements "$revision" | expect "$leg"
  server_leg "$leg" --requirements "$revision"
done
if wanted_leg server-all; then
  scenarios server | expect server-all
  server_leg server-all --suite all
fi
if [ -n "$server" ] && ! stop_server; then
  tail -n 20 "$work/server.log" >&2
  say "conformance_server ended with status $status; all it said is in $work/server.log"
  failed=yes
fi

for revision in $revisions; do
  leg=client-$revision
  wanted_leg "$leg" || continue
  scenarios client --requirements "$revision" | grep -v '^auth/' | expect "$leg"
  # One after the other: they measure time, and the suite would start them all at once.
  while read -r scenario; do
    mkdir -p "$out/$leg/$scenario"
    status=0
    timeout "$client_limit" "$node" "$suite" client --command "$bin/conformance_client" \
      --scenario "$scenario" --spec-version "$revision" -o "$out/$leg/$scenario" \
      >"$out/$leg/$scenario/log" 2>&1 </dev/null || status=$?
    echo "$status" >"$out/$leg/$scenario/status"
  done <"$out/$leg/expected"
done

[ -n "$(ls "$out")" ] || die "no leg begins with:$chosen"
python3 tools/conformance_verdict.py "$out" || failed=yes
[ -z "$failed" ]
