#!/bin/sh
# interop.sh [LEG...]: our programs against the official TypeScript SDKs, in both directions.
#
# Called by "./dev interop" once build/release is built. The packages come from npm, by name and
# version, into build/interop, and the scripts of tests/interop are copied beside them, since that
# is where Node looks for what they import. Each leg is one program that prints "ok NAME" and "not
# ok NAME: why"; its output stays in build/interop/LEG.log and LEG.err. LEG is the beginning of a
# name: "ts2" runs ts2-legacy and ts2-auto. The legs that begin with "http" have a server of their
# own, on a free port, which writes to LEG.server.
set -eu
cd "$(dirname "$0")/.."

work=build/interop
bin=$PWD/build/release/bin
limit=180  # seconds; the longest leg takes five, and a leg names a hanging check by itself

packages='@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
  @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/server-everything@2026.8.31 zod@4.6.7'

say() { printf '%s\n' "$*"; }
die() { printf 'interop: %s\n' "$*" >&2; exit 1; }

. tools/node.sh
install_packages
cp tests/interop/*.mjs "$work/"
[ -x "$bin/everything" ] || die "there is no build/release/bin/everything; ./dev build makes it"

passed=0
failed=0
skipped=0
chosen=" $* "

# The server of the leg that runs.
server=
at=
stop_server() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  server=
}
trap stop_server EXIT
trap 'exit 1' HUP INT TERM

# picked NAME: whether the arguments ask for this leg.
picked() {
  [ "$chosen" != "  " ] || return 0
  for start in $chosen; do
    case $1 in "$start"*) return 0 ;; esac
  done
  return 1
}

# serve LEG COMMAND...: starts a server that says where it listens, and waits until it does. Sets
# `at`, its address without the path.
serve() {
  picked "$1" || return 0
  stop_server
  log=$work/$1.server at=
  shift
  (cd "$work" && exec "$@") >"$log" 2>&1 </dev/null &
  server=$!
  waited=0
  while [ -z "$at" ] && [ $waited -lt 200 ] && kill -0 "$server" 2>/dev/null; do
    sleep 0.1
    waited=$((waited + 1))
    at=$(sed -n -e 's|.*listening on \(http://[^/ ]*\).*|\1|p' \
      -e 's|.*on port \([0-9]*\)$|http://127.0.0.1:\1|p' "$log" | head -n 1)
  done
  [ -n "$at" ] || at=http://nobody.invalid  # so that the leg fails
}

# A port that nobody listened on a moment ago, for servers that cannot choose one.
free_port() {
  "$node" -e 'const s = require("net").createServer();
    s.listen(0, () => { console.log(s.address().port); s.close(); })'
}

# leg NAME WHAT COMMAND...
leg() {
  name=$1 what=$2
  shift 2
  picked "$name" || return 0
  case $1 in
    */interop_client)
      if [ ! -x "$1" ]; then
        say "$name: SKIPPED: $what: there is no build/release/bin/interop_client"
        skipped=$((skipped + 1))
        return 0
      fi
      ;;
  esac
  status=0
  (cd "$work" && exec timeout "$limit" "$@") >"$work/$name.log" 2>"$work/$name.err" </dev/null ||
    status=$?
  good=$(grep -c '^ok ' "$work/$name.log" || true)
  bad=$(grep -c '^not ok ' "$work/$name.log" || true)
  note=
  # A program that ends badly without having said why, or that checked nothing, has failed, too.
  if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ "$good" -eq 0 ]; }; then
    bad=1
    note=", ended with status $status"
  elif [ "$bad" -ne 0 ] && [ $status -eq 0 ]; then
    note=", but ended with status 0"
  fi
  say "$name: $what: $good passed, $bad failed$note"
  if [ "$bad" -ne 0 ]; then
    sed -n -e 's/^not ok /  not ok /p' -e 's/^# \([<-]\)/    \1/p' "$work/$name.log" | cut -c 1-400
    [ -z "$note" ] || tail -n 20 "$work/$name.err"
    case $name in
      http*)
        kill -0 "$server" 2>/dev/null || say "  the server has ended by itself"
        tail -n 5 "$work/$name.server"
        ;;
    esac
    say "  (all of it in $work/$name.log and $name.err)"
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

everything="$bin/everything"
ours="$bin/interop_client"
leg ts1 'SDK 1.x as client of ours' "$node" client_v1.mjs "$everything" --stdio
leg ts2-legacy 'SDK 2.x, stateful, as client of ours' \
  "$node" client_v2.mjs legacy "$everything" --stdio
leg ts2-auto 'SDK 2.x, automatic, as client of ours' \
  "$node" client_v2.mjs auto "$everything" --stdio
leg server1-automatic 'our client, automatic, of SDK 1.x' \
  "$ours" automatic "$node" server_v1.mjs
leg server2-automatic 'our client, automatic, of SDK 2.x' \
  "$ours" automatic "$node" server_v2.mjs
leg server2-stateful 'our client, stateful, of SDK 2.x' \
  "$ours" stateful "$node" server_v2.mjs
leg server2-stateless 'our client, stateless, of SDK 2.x' \
  "$ours" stateless "$node" server_v2.mjs
official=node_modules/@modelcontextprotocol/server-everything/dist/index.js
leg server-everything 'our client, automatic, of server-everything' \
  "$ours" automatic "$node" $official stdio

serve http-ts1 "$everything" --http 127.0.0.1:0
leg http-ts1 'SDK 1.x as client of ours, over HTTP' "$node" client_v1.mjs "$at/mcp"
serve http-ts1-sse "$everything" --http 127.0.0.1:0 --sse /sse
leg http-ts1-sse 'SDK 1.x as client of ours, over the HTTP of 2024' \
  "$node" client_v1.mjs "$at/sse"
for mode in legacy auto; do
  serve http-ts2-$mode "$everything" --http 127.0.0.1:0
  leg http-ts2-$mode "SDK 2.x, $mode, as client of ours, over HTTP" \
    "$node" client_v2.mjs $mode "$at/mcp"
done
serve http-server1-automatic "$node" server_v1.mjs --http
leg http-server1-automatic 'our client, automatic, of SDK 1.x, over HTTP' \
  "$ours" automatic "$at/mcp"
for mode in automatic stateful stateless; do
  serve http-server2-$mode "$node" server_v2.mjs --http
  leg http-server2-$mode "our client, $mode, of SDK 2.x, over HTTP" "$ours" $mode "$at/mcp"
done
serve http-server-everything env PORT="$(free_port)" "$node" $official streamableHttp
leg http-server-everything 'our client, automatic, of server-everything, over HTTP' \
  "$ours" automatic "$at/mcp"
serve http-server-everything-sse env PORT="$(free_port)" "$node" $official sse
leg http-server-everything-sse \
  'our client, automatic, of server-everything, over the HTTP of 2024' \
  "$ours" automatic "$at/sse"
stop_server

[ $((passed + failed + skipped)) -gt 0 ] || die "no leg begins with:$chosen"
[ "$skipped" -eq 0 ] || say "$skipped legs SKIPPED"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
