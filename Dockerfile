# The image of controller and agent: Node.js 24, the sources, the packages that they need, the agent's bundle and the compiled plugin.
#   docker build -t ghcr.io/eniwhere/eniwhere:0.1.0 .
# Build it on the platform that it is for: the plugin is compiled for the builder's own.

FROM node:24-bookworm-slim AS build
WORKDIR /work
# The plugin is linked by a C compiler with an engine whose source comes from PyPI (scripts/quickjs.ts).
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev python3-venv
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src ./src
COPY scripts ./scripts
RUN node scripts/build-cni.ts --by quickjs && node scripts/build-agent.ts && scripts/lay-out-product.sh /out

FROM node:24-bookworm-slim
# The agent writes nftables rules by it.
RUN apt-get update && apt-get install -y --no-install-recommends libnftables1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out /
CMD ["eniwhere", "--help"]
