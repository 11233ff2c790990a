#!/usr/bin/env bash
# Lays out what a container image holds of Eniwhere: `scripts/lay-out-product.sh ROOT` fills ROOT/opt/eniwhere with the
# sources, the packages that they need, the agent's bundle and the compiled plugin, and ROOT/usr/local/bin with the commands.
# To be run after npm ci, npm run build:cni and npm run build:agent.
set -euo pipefail
root=${1:?usage: scripts/lay-out-product.sh ROOT}
cd "$(dirname "$0")/.."

[ -x build/eniwhere-cni ] || { echo "lay-out-product: build/eniwhere-cni is missing: npm run build:cni" >&2; exit 1; }
[ -f build/agent/eniwhere-agent.js ] || { echo "lay-out-product: build/agent is missing: npm run build:agent" >&2; exit 1; }
target=$root/opt/eniwhere
mkdir -p "$target/build" "$target/node_modules" "$root/usr/local/bin"

# Sources run as they are. Tests, and what only they use, stay behind.
tar -c --exclude='*.test.ts' --exclude='*.contract.ts' --exclude='testing*.ts' src package.json | tar -x -C "$target"
cp -r build/eniwhere-cni build/agent "$target/build/"

# The packages of production, but for the Node.js and the compiler that the lock brings: the image has the one, and the
# other has done its work.
npm ls --omit=dev --all --parseable | sed -n "s|^$PWD/node_modules/||p" | grep -v -e '^@oven/' -e '^node-linux-' |
  tar -c -C node_modules -T - | tar -x -C "$target/node_modules"

for command in "$target"/src/bin/eniwhere*.ts; do
  # Parts of a command lie beside it; a command begins with a line that says how it is run.
  head -n 1 "$command" | grep -q '^#!' || continue
  chmod 755 "$command"
  ln -sf "/opt/eniwhere/src/bin/$(basename "$command")" "$root/usr/local/bin/$(basename "$command" .ts)"
done
# Of the agent, the bundle instead.
ln -sf /opt/eniwhere/src/bin/eniwhere-agent.sh "$root/usr/local/bin/eniwhere-agent"
