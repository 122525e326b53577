#!/usr/bin/env bash
# The tables of 200 actors and of real actors on one machine in docs/results/scaling.md, in less than six minutes: builds what is
# needed, runs bench_swarm_grid.py and bench_scaling.py, writes docs/data/scaling.json and docs/img/scaling-*.svg. The machine should do nothing else.
# usage: bench/run_scaling.sh [FOLDER]     FOLDER: for the tables (default build/scaling)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=${1:-build/scaling}
mkdir -p "$out"
[ -f build/release/build.ninja ] || meson setup build/release --buildtype=release >"$out/setup.log"
ninja -C build/release learner/octet-learner replay/octet-replay actor/octet-actor bench/bench_swarm \
    >"$out/build.log"
{
    echo "commit $(git rev-parse --short HEAD), $(date -u +%F)"
    grep -m1 'model name' /proc/cpuinfo
    echo "cores $(nproc), load before: $(cut -d' ' -f1-3 /proc/loadavg)"
} | tee "$out/machine.txt"
python3 bench/bench_swarm_grid.py --seconds 2 --out "$out/swarm.json" |
    tee "$out/swarm.txt"
python3 bench/bench_scaling.py --repeats 3 --seconds 1.5 --out "$out/actors.json" |
    tee "$out/actors.txt"
python3 - "$out" <<'END'
import json
import pathlib
import sys

out = pathlib.Path(sys.argv[1])
whole = {"machine": (out / "machine.txt").read_text(encoding="utf-8").splitlines()}
for name in ("swarm", "actors"):
    whole[name] = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
pathlib.Path("docs/data/scaling.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
END
python3 bench/pictures.py scaling-swarm scaling-actors
echo "results: docs/data/scaling.json; pictures: docs/img/scaling-swarm.svg docs/img/scaling-actors.svg"
