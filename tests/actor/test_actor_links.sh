#!/usr/bin/env bash
# The actor's process holds neither OpenBLAS nor MPI nor MuJoCo nor what draws pictures: an environment
# that needs more brings it as a module. usage: test_actor_links.sh OCTET_ACTOR
set -euo pipefail
libraries=$(ldd "$1")
if found=$(grep -iE 'blas|gfortran|mpi|mujoco|cairo|X11|libGL' <<<"$libraries"); then
    printf '%s links what it must not:\n%s\n' "$1" "$found"
    exit 1
fi
grep -q libnng <<<"$libraries" || {
    printf 'ldd says nothing of %s:\n%s\n' "$1" "$libraries"
    exit 1
}
