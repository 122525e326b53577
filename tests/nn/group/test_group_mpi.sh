#!/usr/bin/env bash
# Groups of two and three under mpirun on this host, and one of another size than was said.
# usage: test_group_mpi.sh MPIRUN PROGRAM
set -euo pipefail
mpirun=$1 program=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI does not free what its plug-ins made, and has unloaded them when leaks are looked for: no name is
# left by which they could be let pass.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

run() {
    "$mpirun" --oversubscribe --bind-to none --host localhost:3 "$@"
}

for size in 2 3; do
    run -n "$size" "$program" "$size"
done
code=0
said=$(run -n 2 "$program" 3 2>&1) || code=$?
if [ "$code" -ne 3 ] || ! grep -q 'the number of learners is 3, but 2 were started by MPI' <<<"$said"; then
    echo "a group of another size ended with code $code and said: $said" >&2
    exit 1
fi
