#!/usr/bin/env bash
# usage: bash run_server.sh PORT
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
export PATH="$PATH:/usr/bin:/usr/local/go/bin"
export GOFLAGS=-mod=mod GOPROXY=off GO111MODULE=on
tmp="${TMPDIR:-/tmp}"
if [ -z "${HOME:-}" ]; then export GOCACHE="$tmp/entityserver-gocache"; fi

# One binary per state of the sources; built again only when they differ.
key="$(cat go.mod ./*.go | cksum | tr ' ' '-')"
bin="$tmp/entityserver-$(id -u)-$key"
if [ ! -x "$bin" ]; then
    work="$(mktemp -d "$tmp/entityserver-build.XXXXXX")"
    go build -buildvcs=false -o "$work/server" . >&2
    mv -f "$work/server" "$bin"
    rmdir "$work"
fi
exec "$bin" "$1"
