#!/usr/bin/env bash
# Prepares a machine for one purpose: `scripts/setup.sh check|demo|test|e2e|bench`. Does nothing where all is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?usage: scripts/setup.sh check|demo|test|e2e|bench}
node_major_min=20 # npm only needs it to fetch the Node.js that the project runs on
runtime_major_min=24

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

major_of() { "$1" --version | sed 's/^v\([0-9]*\).*/\1/'; }

# --- npm packages, exactly those of the lock ---

# Compared by content, not by time: git gives files the time of the checkout.
npm_is_current() { cmp -s package-lock.json node_modules/.installed-lock.json; }

install_npm() {
  command -v node >/dev/null || fail "Node.js is missing. Install any version >= $node_major_min (https://nodejs.org) and run this again."
  command -v npm >/dev/null || fail "npm is missing. On Debian: apt-get install -y npm"
  [ "$(major_of node)" -ge "$node_major_min" ] || fail "Node.js $(node --version) is too old to install the packages: >= $node_major_min is needed."
  echo "setup: npm ci"
  # No package's install script runs: none is needed, and npm 11 refuses them unless approved one by one.
  # Warnings are hidden because all they say is that the machine's own Node.js is older than the one fetched here.
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed-lock.json
}

check_runtime() {
  local node=node_modules/.bin/node
  [ -x "$node" ] || node=node
  [ "$(major_of "$node")" -ge "$runtime_major_min" ] ||
    fail "npm ci brought no Node.js for this platform, and the machine's own $("$node" --version) is older than $runtime_major_min. Install Node.js $runtime_major_min and run this again."
}

# --- Debian packages, told by what they bring, so that other distributions pass too ---

has_file() { # has_file GLOB...: is there a file that one of the globs names?
  compgen -G "$1" >/dev/null || { shift && [ $# -gt 0 ] && has_file "$@"; }
}

can_install_from_pypi() { python3 -c 'import ensurepip' 2>/dev/null || python3 -m pip --version >/dev/null 2>&1; }

has_program() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

missing_packages() {
  has_program ip || echo iproute2
  has_program nft || echo nftables
  has_file '/usr/lib/*/libnftables.so.1' '/usr/lib*/libnftables.so.1' '/lib/*/libnftables.so.1' || echo libnftables1
  # The CNI plugin is linked by a C compiler with an engine whose source comes from PyPI. The demo does with a slower one.
  if [ "$purpose" != demo ]; then
    has_program gcc || echo gcc
    has_file '/usr/lib/*/libc.a' '/usr/lib*/libc.a' || echo libc6-dev
    can_install_from_pypi || echo python3-venv
  fi
  # The plugins that ours is measured against.
  [ "$purpose" = demo ] || has_file /usr/lib/cni/ptp /opt/cni/bin/ptp || echo containernetworking-plugins
  [ "$purpose" != bench ] || has_program iperf3 || echo iperf3
  [ "$purpose" = test ] || [ "$purpose" = e2e ] || return 0
  # A container runtime to run pods with, an image to make, and what the plugin portmap calls.
  has_program containerd || echo containerd
  has_program runc || echo runc
  has_program iptables || echo iptables
  has_program busybox || echo busybox-static
  # The script for completion is run in the shell that it is for.
  has_program zsh || echo zsh
  # The certificates of a control plane.
  [ "$purpose" != e2e ] || has_program openssl || echo openssl
}

install_debian() {
  local packages
  packages=$(missing_packages | tr '\n' ' ')
  packages=${packages% }
  [ -n "$packages" ] || return 0
  local line="apt-get update && apt-get install -y --no-install-recommends $packages"
  command -v apt-get >/dev/null || fail "missing on this machine (names of the Debian packages): $packages"
  if [ "$(id -u)" -ne 0 ]; then
    printf 'setup: missing Debian packages. Install them with\n\n  sudo sh -c "%s"\n\n' "$line" >&2
    [ "$purpose" = demo ] || exit 1
    echo "setup: the demo goes on without them: in memory, with no packets" >&2
    return 0
  fi
  echo "setup: $line"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages </dev/null >/dev/null
}

npm_is_current || install_npm
check_runtime
# Network namespaces are Linux's: elsewhere the lab runs in memory and needs none of these packages.
if [ "$purpose" != check ] && [ "$(uname -s)" = Linux ]; then
  install_debian
  # They are built once for a machine; a test that needs one which is missing says so.
  case $purpose in test | e2e) scripts/build-tools.sh >/dev/null ;; esac
  [ "$purpose" != e2e ] || test/kubernetes/build-programs.sh >/dev/null
fi
