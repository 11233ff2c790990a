#!/bin/sh
# The agent as it ships: its bundle (npm run build:agent), under settings that can only be given before Node.js starts.
#
# An agent keeps little and works seldom, so it has heaps that grow late instead of ones that are fast to fill. One arena,
# because glibc otherwise gives each of a dozen threads one of its own, which keeps what the thread has freed. Figures:
# docs/benchmarks.md.
here=$(dirname "$(readlink -f "$0")")
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-1}"
exec node --max-semi-space-size=1 --optimize-for-size --v8-pool-size=1 "$here/../../build/agent/eniwhere-agent.js" "$@"
