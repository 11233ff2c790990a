#!/usr/bin/env bash
# Builds a Kubernetes control plane and node from their Go modules into a cache outside the repository and prints the
# folder they are in. `test/kubernetes/build-programs.sh [PROGRAM...]`; a program that is there is not built again.
set -euo pipefail

kubernetes=v1.34.4 # 1.34 is the last minor version whose kubelet starts on cgroup v1 unless told not to.
etcd=v3.6.16       # The etcd series that Kubernetes 1.34 is released with.
helm=v3.22.0

# PROGRAM MODULE VERSION PACKAGE. The API server comes early: most tests need no more than it and etcd.
programs="etcd go.etcd.io/etcd/server/v3 $etcd go.etcd.io/etcd/server/v3
kube-apiserver k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kube-apiserver
kubectl k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kubectl
kube-scheduler k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kube-scheduler
kube-controller-manager k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kube-controller-manager
kubelet k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kubelet
kube-proxy k8s.io/kubernetes $kubernetes k8s.io/kubernetes/cmd/kube-proxy
helm helm.sh/helm/v3 $helm helm.sh/helm/v3/cmd/helm"

# What Kubernetes' release builds write into the programs, so that they tell the version they are.
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"
export GOFLAGS=-mod=mod CGO_ENABLED=0
cache=${ENIWHERE_KUBERNETES:-${XDG_CACHE_HOME:-$HOME/.cache}/eniwhere/kubernetes-$kubernetes}
lock_wait_s=5400

fail() {
  printf 'build-programs: %s\n' "$*" >&2
  exit 1
}

# Kubernetes' module names its staging modules by folders that its zip leaves out; each is published on its own under
# the version v0.MINOR.PATCH, which is put in their place here.
make_kubernetes_module() { # make_kubernetes_module FOLDER
  local staging=v0.${kubernetes#v1.} own line
  own=$(cd "$1" && go mod download -json "k8s.io/kubernetes@$kubernetes" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  [ -f "$own" ] || fail "the Go module proxy has no k8s.io/kubernetes@$kubernetes"
  {
    printf 'module eniwhere.test/kubernetes\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes %s\n\n' "$kubernetes"
    sed -n "s|^\t\(k8s\.io/[a-z0-9-]*\) => \./staging/.*|replace \1 => \1 $staging|p" "$own"
  } >"$1/go.mod"
  grep -q '^replace k8s.io/api ' "$1/go.mod" || fail "the go.mod of k8s.io/kubernetes@$kubernetes names no staging modules as this script knows them"
}

make_module() { # make_module FOLDER MODULE VERSION: a module of our own that requires MODULE
  mkdir -p "$1"
  [ ! -f "$1/go.mod" ] || return 0
  case $2 in
    k8s.io/kubernetes) make_kubernetes_module "$1" ;;
    *) printf 'module eniwhere.test/tool\n\ngo 1.24.0\n\nrequire %s %s\n' "$2" "$3" >"$1/go.mod" ;;
  esac
}

build() { # build NAME MODULE VERSION PACKAGE
  command -v go >/dev/null || fail "$1 is built from the Go module $2, and go is missing. Install Go 1.26 or newer (https://go.dev/dl), or put the program at $cache/$1"
  local module=$aside/${2//\//_} started=$SECONDS
  make_module "$module" "$2" "$3"
  if ! (cd "$module" && go build -trimpath -ldflags "-s -w $stamp" -o "$aside/$1" "$4") >"$aside/log" 2>&1; then
    tail -n 20 "$aside/log" >&2
    fail "$4@$3 cannot be built; the lines above say why. It needs the Go module proxy"
  fi
  mv "$aside/$1" "$cache/$1"
  echo "build-programs: $1 $3 in $((SECONDS - started)) s" >&2
}

wanted=" $* "
missing() { # The lines of the wanted programs that are not there.
  local name rest
  while read -r name rest; do
    if [ "$wanted" != "  " ] && [[ $wanted != *" $name "* ]]; then continue; fi
    [ -x "$cache/$name" ] || echo "$name $rest"
  done <<<"$programs"
}

if [ -n "$(missing)" ]; then
  mkdir -p "$cache"
  # One builder at a time: the second finds built what the first has built.
  exec 9>"$cache/.lock"
  flock -w "$lock_wait_s" 9 || fail "another build has held $cache/.lock for $lock_wait_s s"
  # Built aside, on the same file system, and moved, so that a build that was cut off leaves nothing that looks whole.
  aside=$(mktemp -d "$cache/.building-XXXXXX")
  trap 'rm -rf "$aside"' EXIT
  while read -r name module version package; do
    [ -z "$name" ] || build "$name" "$module" "$version" "$package"
  done <<<"$(missing)"
fi
echo "$cache"
