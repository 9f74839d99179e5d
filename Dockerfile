# syntax=docker/dockerfile:1

# --- build: few files of the code and of most packages, made with the development dependencies
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY scripts/build.ts scripts/bundle.ts ./scripts/
COPY src ./src
RUN npm run build

# --- dependencies: only what runs; the image has a current node of its own
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev \
 # Each grammar brings its C source and binaries for every platform, most of 200 MB.
 && rm -rf node_modules/@ast-grep/lang-*/src \
      node_modules/@ast-grep/lang-*/prebuilds/prebuild-Windows-* \
      node_modules/@ast-grep/lang-*/prebuilds/prebuild-macOS-*

FROM node:24-bookworm-slim
# git is the one program a review needs beside node; ripgrep comes inside its package.
RUN apt-get update \
 && apt-get install -y --no-install-recommends git ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 # Nobody becomes somebody else here, also where the container is started without no-new-privileges.
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && mkdir -m 700 /data && chown node:node /data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json app.yml app.contents-write.yml LICENSE ./
COPY rules ./rules
# What Node compiled, in a folder that it names after the user: a review process then loads in two thirds of the processor time. It is
# run like the code, so nobody may write to it afterwards. Without a parent the review process ends by itself.
RUN cache=/app/node_modules/.cache/hunkwise && mkdir -p "$cache" && chown node "$cache" \
 && NODE_COMPILE_CACHE="$cache" setpriv --reuid=node --regid=node --clear-groups \
      node dist/process/review-process.js </dev/null \
 && chown -R root:root "$cache" && chmod -R a+rX,go-w "$cache"

USER node
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
