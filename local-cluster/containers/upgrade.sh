#!/usr/bin/env bash
# Takes a new version of the project into use, one kind of container after another, so that orders and payments go on:
#   bash local-cluster/containers/upgrade.sh [--built]      --built: the image is there, do not build it
# `docker compose up --wait` does the same with every process at once. Databases are made anew by neither, unless their
# image or options have changed: docs/operating.md says how to take them one at a time.
set -euo pipefail
cd "$(dirname "$0")/../.."

once() {
  docker compose up "$1"
  [ "$(docker compose ps --all --format '{{.ExitCode}}' "$1")" = 0 ] || { echo "$1 failed; nothing after it was touched" >&2; exit 1; }
}

# One at a time: of a pair the other one serves meanwhile.
one_by_one() {
  local name
  for name in $(docker compose config --services | grep -E -- "$1"); do
    # None of a kind that the settings leave out.
    [ -z "$(docker compose ps --all --quiet "$name")" ] || docker compose up --detach --wait "$name"
  done
}

[ "${1:-}" = --built ] || docker compose build set-up
once set-up
once template
once control-schema
one_by_one '-agent$'
one_by_one '^checker-'
one_by_one '-haproxy$'
once stripes
one_by_one '-service$'
one_by_one '^proxy-|^ops$'
one_by_one '^entry$'
