#!/usr/bin/env bash
# Runs in the MySQL image: start-mysql.sh KIND mysqld OPTION…
# An empty data directory is filled from the template KIND; so is one of which its agent says that it is worth nothing
# (the file is named in storage-agent/data-directory.ts). A copy that was broken off begins again.
set -euo pipefail
# The first process of a container hears nothing that it does not ask for, and nothing while it waits in the foreground.
trap "exit 143" TERM INT
here() { "$@" & wait $!; }
shopt -s dotglob nullglob
data=/var/lib/mysql template=/template/$1 wanted=/var/lib/mysql/pristine-data-wanted
shift
there=("$data"/*)
if [ ${#there[@]} -eq 0 ] || [ -e "$wanted" ]; then
  for ((tries = 0; ; tries++)); do
    [ ! -d "$template" ] || break
    if [ $tries -ge 600 ]; then echo "$template was not made" >&2; exit 1; fi
    here sleep 0.2
  done
  : >"$wanted"
  for path in "$data"/*; do [ "$path" = "$wanted" ] || here rm -rf "$path"; done
  here cp -a --sparse=always "$template/." "$data/"
  here sync
  rm "$wanted"
fi
exec "$@"
