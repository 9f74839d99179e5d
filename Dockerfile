# syntax=docker/dockerfile:1

# --- build: the package, as `npm pack` makes it
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN mkdir /package && npm pack --pack-destination /package

# --- package: a release puts the published one in its place, with --build-context package=FOLDER
FROM scratch AS package
COPY --from=build /package/ /

# --- install: the package, and what it depends on in the versions of the lock file; nothing of it runs yet
FROM node:24-bookworm-slim AS install
WORKDIR /app
COPY package-lock.json ./
RUN --mount=type=bind,from=package,target=/package \
    tar --extract --gzip --file /package/hunkwise-*.tgz --strip-components=1 --no-same-owner \
 && npm ci --omit=dev --ignore-scripts \
 # The parsers of other platforms are 75 MB.
 && find dist/grammars -mindepth 1 -maxdepth 1 -type d ! -name "linux-$(node --print process.arch)" -exec rm -r {} +

FROM node:24-bookworm-slim
# git is the one program a review needs beside node; ripgrep comes inside its package. The commands of /fix run in bubblewrap, where the
# host allows it. Debian keeps one version of each, the one with its corrections: a pinned one could not be installed after the next.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends git bubblewrap ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 # Nobody becomes somebody else here, also where the container is started without no-new-privileges.
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && mkdir -m 700 /data && chown node:node /data
COPY --from=install /app /app
WORKDIR /app
# What Node compiled, in a folder that it names after the user: a review process then loads in two thirds of the processor time. It is
# run like the code, so nobody may write to it afterwards. Without a parent the review process ends by itself.
RUN cache=/app/node_modules/.cache/hunkwise && mkdir -p "$cache" && chown node "$cache" \
 && NODE_COMPILE_CACHE="$cache" setpriv --reuid=node --regid=node --clear-groups \
      node dist/border/review-process.js </dev/null \
 && chown -R root:root "$cache" && chmod -R a+rX,go-w "$cache"

# The user node, by its number: Kubernetes' runAsNonRoot does not look up names.
USER 1000
# Nothing is written but /data and /tmp: start it with --read-only --tmpfs /tmp, --cap-drop ALL and --security-opt no-new-privileges,
# as compose.yml does. Whether others reach its ports is said where they are published.
ENV HOST=0.0.0.0 PORT=3000 HUNKWISE_METRICS_HOST=0.0.0.0 HUNKWISE_DATA_DIR=/data
VOLUME /data
EXPOSE 3000 9464
# A worker has the port of the metrics alone, the setup page the other one.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "const alive = (port) => fetch(`http://127.0.0.1:${port}/healthz`).then((r) => r.ok || Promise.reject()); Promise.any([process.env.HUNKWISE_METRICS_PORT, process.env.PORT].filter(Boolean).map(alive)).then(() => process.exit(0), () => process.exit(1))"]
# node itself, not npm: npm hands no signal on, and a stop must drain the worker. Start it with --init (compose.yml does):
# as the first process of a container it would have to reap what git leaves behind.
CMD ["node", "dist/cli.js", "serve"]
