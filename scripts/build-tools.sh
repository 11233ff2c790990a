#!/usr/bin/env bash
# Builds the tools that the runtime tests drive us with, from their Go modules, into a cache outside the repository, and
# prints their paths. `scripts/build-tools.sh [TOOL...]`; a tool that is there is not built again.
set -euo pipefail

# NAME MODULE VERSION. A version is part of the file's name in the cache, so that a new one is built beside the old.
tools='crictl sigs.k8s.io/cri-tools/cmd/crictl v1.37.0
cnitool github.com/containernetworking/cni/cnitool v1.3.1
containerd github.com/containerd/containerd/v2/cmd/containerd v2.1.4'
# containerd's own storage drivers that need C libraries or kernel modules.
export GOFLAGS=-trimpath CGO_ENABLED=0
tags=no_btrfs,no_devmapper,no_zfs

cache=${ENIWHERE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/eniwhere/tools}

fail() {
  printf 'build-tools: %s\n' "$*" >&2
  exit 1
}

build() { # build NAME MODULE VERSION
  local target=$cache/$1-$3
  if [ -x "$target" ]; then
    echo "$target"
    return 0
  fi
  command -v go >/dev/null || fail "$1 is built from the Go module $2, and go is missing. Install Go 1.26 or newer (https://go.dev/dl), or put the program at $target"
  echo "build-tools: building $2@$3" >&2
  # Built aside and moved, so that a build that was cut off leaves nothing that looks whole.
  local aside
  aside=$(mktemp -d "$cache/.building-XXXXXX")
  # Through a module of our own: `go install` refuses a program whose module excludes versions of others, as containerd's does.
  if ! (cd "$aside" && go mod init eniwhere.test/tools && go get -tool "$2@$3" &&
    go build -tags "$tags" -ldflags '-s -w' -o "$1" "$2") >"$aside/log" 2>&1; then
    tail -n 20 "$aside/log" >&2
    rm -rf "$aside"
    fail "$2@$3 cannot be built; the lines above say why. It needs the Go module proxy"
  fi
  mv "$aside/$1" "$target"
  rm -rf "$aside"
  echo "$target"
}

mkdir -p "$cache"
wanted=" ${*:-crictl cnitool containerd} "
while read -r name module version; do
  case $wanted in *" $name "*) build "$name" "$module" "$version" ;; esac
done <<<"$tools"
