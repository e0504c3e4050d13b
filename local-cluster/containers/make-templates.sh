#!/usr/bin/env bash
# Runs once in the MySQL image: make-templates.sh OPTION…
# Makes pristine data directories with the cluster's accounts in them, which every server begins as a copy of: one of a
# triple's server, one of the control database. A half-made one has another name until it is complete.
set -euo pipefail
# The first process of a container hears nothing that it does not ask for, and nothing while it waits in the foreground.
trap "exit 143" TERM INT
here() { "$@" & wait $!; }
root=/var/lib/mysql socket=/tmp/bootstrap.sock
if [ -e "$root/cluster-id" ] && ! cmp -s "$root/cluster-id" /run/secrets/cluster-id; then
  echo "the volume of secrets is not the one that these databases were made with: their accounts have other passwords." >&2
  echo "Bring that volume back from its copy (docs/operating.md), or throw everything away with down --volumes." >&2
  exit 1
fi
for kind in server control; do
  [ ! -d "$root/$kind" ] || continue
  if [ ! -d "$root/empty" ]; then
    rm -rf "$root/empty.unfinished"
    here mysqld --datadir="$root/empty.unfinished" --initialize-insecure --disable-log-bin "$@"
    here sync
    mv "$root/empty.unfinished" "$root/empty"
  fi
  data=$root/$kind.unfinished
  rm -rf "$data"
  here cp -a "$root/empty" "$data"
  mysqld --datadir="$data" --socket="$socket" --pid-file=/tmp/bootstrap.pid --skip-networking \
    --log-bin=binlog --gtid-mode=ON --enforce-gtid-consistency=ON "$@" &
  pid=$!
  for _ in $(seq 300); do
    mysqladmin --no-defaults --socket="$socket" -uroot ping >/dev/null 2>&1 && break
    sleep 0.1
  done
  mysql --no-defaults --socket="$socket" -uroot --default-character-set=utf8mb4 <"/run/secrets/$kind.sql"
  kill "$pid"
  wait "$pid"
  rm -f "$data/auto.cnf"
  here sync
  mv "$data" "$root/$kind"
  echo "made $kind"
done
[ -e "$root/cluster-id" ] || { cp /run/secrets/cluster-id "$root/cluster-id.new" && mv "$root/cluster-id.new" "$root/cluster-id"; }
