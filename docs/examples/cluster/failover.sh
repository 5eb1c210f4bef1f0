#!/usr/bin/env bash
# Kills the primary of the example and makes the standby the primary, as Patroni or an operator would.
#   docs/examples/cluster/failover.sh FOLDER, which the example has printed
set -euo pipefail
folder=$1
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as=()
[ "$(id -u)" -ne 0 ] || as=(runuser -u postgres --)
cd /
"${as[@]}" "$programs/pg_ctl" -D "$folder/data" -m immediate stop
"${as[@]}" "$programs/pg_ctl" -D "$folder/standby" -w promote
