#!/usr/bin/env bash
# Renders deploy/manifests/eniwhere.yaml from the chart, for those who install without Helm; `-` prints it instead.
set -euo pipefail
cd "$(dirname "$0")/.."

helm=$(test/kubernetes/build-programs.sh helm)/helm
render() {
  echo '# Rendered from deploy/chart by scripts/render-manifests.sh. Do not edit, but for the value of CLUSTER_NAME.'
  # Helm speaks of the link to the CRDs as of something unexpected.
  "$helm" template eniwhere deploy/chart --namespace kube-system --kube-version 1.34.0 --set clusterName=my-cluster \
    2> >(grep -v 'found symbolic link' >&2)
}

if [ "${1:-}" = - ]; then
  render
else
  render >deploy/manifests/eniwhere.yaml
fi
