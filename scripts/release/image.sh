#!/usr/bin/env bash
# image.sh PACKAGE CACHE: builds the image of the package with our Dockerfile, as a release does, and starts its server as its user.
#
# Where the registry of the base image cannot be reached, a Debian of the same version with the Node and npm of PATH takes its place.
# Prints what it saw. 77 means that a program is missing.
set -euo pipefail
missing() { echo "$1" >&2; exit 77; }
command -v buildah >/dev/null || missing "buildah is not installed"
[ "$(id -u)" = 0 ] || missing "buildah is started as root here"

package=$1 cache=$2
cd "$(dirname "$0")/../.."
work=$(mktemp --directory)
images() { buildah --root "$cache" --runroot "$work/run" "$@"; }
container=""
finish() {
  [ -z "$container" ] || images rm "$container" >/dev/null || true
  # Where buildah was interrupted it leaves this mounted, and nobody could delete the folder.
  umount "$cache/overlay" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

base=$(sed --quiet 's/^FROM \(node:[^ ]*\).*/\1/p' Dockerfile | tail --lines 1)
stand_in=localhost/hunkwise-stand-in
# A proxy of this machine may have certificates of its own.
certificates=/etc/ssl/certs/ca-certificates.crt
make_stand_in() {
  command -v debootstrap >/dev/null || missing "docker.io cannot be reached, and debootstrap is not installed"
  local suite=${base#*-} debian=$work/debian made
  debootstrap --variant=minbase --include=ca-certificates "${suite%-slim}" "$debian"
  mkdir --parents "$debian/usr/local/lib/node_modules"
  cp "$(node --print process.execPath)" "$debian/usr/local/bin/node"
  cp --recursive "$(dirname "$(realpath "$(command -v npm)")")/.." "$debian/usr/local/lib/node_modules/npm"
  ln --symbolic ../lib/node_modules/npm/bin/npm-cli.js "$debian/usr/local/bin/npm"
  chroot "$debian" groupadd --gid 1000 node
  chroot "$debian" useradd --uid 1000 --gid node --create-home node
  cp "$certificates" "$debian$certificates"
  tar --create --file "$debian.tar" --directory "$debian" .
  made=$(images from scratch)
  images add --quiet "$made" "$debian.tar" /
  images config --env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --env "NODE_EXTRA_CA_CERTS=$certificates" "$made"
  images commit --quiet --rm "$made" "$stand_in"
}
if images pull --quiet "docker.io/library/$base" >/dev/null 2>&1; then
  from=docker.io/library/$base words=$base
else
  from=$stand_in words="a Debian of debootstrap in place of $base"
  images inspect --type image "$stand_in" >/dev/null 2>&1 || make_stand_in >&2
fi

mkdir "$work/package"
cp "$package" "$work/package"
images bud --format docker --pull-never --isolation chroot --quiet --tag hunkwise-check \
  --build-context "package=$work/package" --build-context "$base=container-image://$from" . >&2
container=$(images from --pull-never localhost/hunkwise-check)
[ "$(images run --isolation chroot "$container" id -u)" != 0 ]
images run --isolation chroot "$container" git --version >&2
# The network is that of this machine.
port=$(node --print 'const s = require("net").createServer().listen(0); s.address().port + (s.close(), "")')
# shellcheck disable=SC2016 # the shell in the container expands it
images run --isolation chroot --env "PORT=$port" --env HOST=127.0.0.1 --env HUNKWISE_METRICS_HOST=127.0.0.1 "$container" sh -c '
  node dist/cli.js serve &
  for _ in $(seq 30); do
    sleep 1
    node -e "fetch(\`http://127.0.0.1:$PORT/healthz\`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))" || continue
    kill "$!"
    exit
  done
  exit 1' >&2
echo "built on $words, with Node $(images run --isolation chroot "$container" node --version); as its user, the server answers /healthz"
