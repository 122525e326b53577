#!/usr/bin/env bash
# Runs one fuzz target over its seeds, made now, and its corpus, then over inputs made of them.
# usage: fuzz.sh libfuzzer|RUNS PROGRAM CORPUS [FOUND]
# libfuzzer goes on for OCTET_FUZZ_SECONDS (60; 0: no limit), and for OCTET_FUZZ_RUNS inputs at most if
# that is set; our own driver for RUNS inputs. An input that makes the target fail is left beside
# PROGRAM in findings/; those that reach something new in FOUND.
set -euo pipefail
driver=$1 program=$2 corpus=$3 found=${4-}

seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
"$program" --seeds="$seeds"
folders=("$seeds")
[ -z "$found" ] || folders=("$found" "$seeds")
[ ! -d "$corpus" ] || folders+=("$corpus")

case $driver in
libfuzzer)
    mkdir -p "$(dirname "$program")/findings"
    # An input may take long, but not hang; no decoder may reserve 2 GB. Entropic weights cost more time
    # than the targets themselves. A failure's own code, 77, would mean "skipped" to meson.
    "$program" -max_total_time="${OCTET_FUZZ_SECONDS:-60}" -runs="${OCTET_FUZZ_RUNS:--1}" -timeout=120 -rss_limit_mb=2048 \
        -entropic=0 -reload=0 -print_final_stats=1 -verbosity=0 -error_exitcode=1 \
        -artifact_prefix="$(dirname "$program")/findings/$(basename "$program")_" "${folders[@]}"
    ;;
*) "$program" -runs="$driver" "${folders[@]}" ;;
esac
