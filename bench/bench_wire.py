#!/usr/bin/env python3
"""What the quantised wire is worth on narrow networks: int8 policies sent as changes against complete fp32 ones.

usage: bench_wire.py [--build build/release] [--mbit 2,10,50] [--delay-ms 5] [--actors 2] [--seeds 1] [--limit-s 240]
                     [--preset presets/cartpole.yaml] [--set KEY=VALUE]... [--threshold 475] [--svg wire.svg]
                     [--records FILE]

Needs root (network namespaces, tests/hosts/lab.py). Learner, replay, evaluator and each actor have a host of their own; only the
actors' lines are narrow, in both directions. The network is of 3x512 neurons, so that a complete fp32 policy is 2 MiB.
Each run trains until an evaluation of 100 episodes reaches run.stop_at_return, or --limit-s. Prints one line of JSON a
run, and the table in Markdown: env steps/s over the run, seconds until an evaluation first reached --threshold, versions
behind, age (seconds from the learner's publishing of a version to an actor's first step with it), and Mbit/s that came
down each actor's line. --records adds the lines to FILE; --svg draws three of them against bandwidth.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/hosts"))
import cluster  # noqa: E402  (beside the tests that use it, too)

from bench_chart import Axis, Picture, TOP, WIDTH  # noqa: E402

LARGE = ["network.hidden=[512, 512, 512]", "algo.learning_rate=0.0005", "algo.learning_rate_final=0.0001"]
WIRES = {  # what the table calls it: settings
    "int8 changes": ["policy.precision=int8", "policy.delta=true"],
    "int8 complete": ["policy.precision=int8", "policy.delta=false"],
    "fp32 complete": ["policy.precision=fp32"],
}


def ages(system):
    """Seconds from publication to the first step with it, of every version that acted."""
    published = {}
    for when, line in system.lab.said("learner", "LEARNER-PUBLISH"):
        published[int(line["version"])] = when
    return [when - published[version] for actor in system.actors for when, version in system.acting(actor)
            if version in published]


def measure(options, wire, mbit, seed, folder):
    with cluster.Cluster(options.build, folder, actors=options.actors, debug=True) as system:
        for host in system.actors:
            system.lab.shape(host, delay_ms=options.delay_ms, mbit=mbit)
        system.start(options.preset, [*LARGE, *WIRES[wire], f"run.seed={seed}", f"run.wall_s={options.limit_s}",
                                      "run.env_steps=1000000000", *options.settings])
        before = [system.lab.counters(host)[1] for host in system.actors]
        begin = time.monotonic()
        # The line's own load is read until the end: afterwards the namespaces are still there.
        status = system.lab.process("learner").wait(options.limit_s + 180)
        seconds = time.monotonic() - begin
        down = [system.lab.counters(host)[1] - b for host, b in zip(system.actors, before)]
        system.lab.stop()
        if status != 0:
            sys.exit(f"octet-learner: exit {status}\n" + (folder / "log/learner.log").read_text()[-3000:])
        ended = json.loads((system.run / "summary.json").read_text(encoding="utf-8"))
        rows = system.rows()
        reached = [row["wall_s"] for row in rows if (row["eval_return"] or -math.inf) >= options.threshold]
        lags = [row["policy_lag"] for row in rows if row["policy_lag"] is not None]
        age = ages(system)
        sizes = [row["policy_bytes"] for row in rows if row["policy_bytes"]]
        return {"bench": "wire", "wire": wire, "mbit": mbit, "delay_ms": options.delay_ms, "actors": options.actors,
                "seed": seed, "threshold": options.threshold, "threshold_s": reached[0] if reached else None,
                "env_steps_per_s": round(ended["env_steps_per_s"] or 0),
                "updates_per_s": round(ended["updates_per_s"] or 0, 1),
                "env_steps": ended["env_steps"], "publications": ended["publications"],
                "policy_bytes": round(statistics.median(sizes)) if sizes else 0, "lag": round(statistics.fmean(lags), 2) if lags else None,
                "age_s": round(statistics.median(age), 3) if age else None,
                "down_mbit": round(8e-6 * statistics.fmean(down) / seconds, 3), "load": os.getloadavg()[0],
                "wall_s": round(seconds, 1)}


def middle(found, wire, mbit, key):
    """The median over seeds; None where a run never got there."""
    values = [f[key] for f in found if f["wire"] == wire and f["mbit"] == mbit]
    return None if not values or None in values else statistics.median(values)


def table(found, bandwidths, limit_s):
    print("\n| Mbit/s per actor | wire | env steps/s | seconds to threshold | versions behind | age, s | bytes of a version |"
          " down, Mbit/s |\n|---|---|---|---|---|---|---|---|")
    for mbit in bandwidths:
        for wire in WIRES:
            got = {k: middle(found, wire, mbit, k) for k in ("env_steps_per_s", "threshold_s", "lag", "age_s",
                                                             "policy_bytes", "down_mbit")}
            told = f"{got['threshold_s']:.1f}" if got["threshold_s"] is not None else f"not in {limit_s}"
            cells = [f"{got['lag']:.1f}" if got["lag"] is not None else "-",
                     f"{got['age_s']:.2f}" if got["age_s"] is not None else "-",
                     f"{got['policy_bytes'] / 1024:.0f} KiB", f"{got['down_mbit']:.2f}"]
            print(f"| {mbit:g} | {wire} | {got['env_steps_per_s']:.0f} | {told} | " + " | ".join(cells) + " |")


ROW, LABELS = 19, 150  # pixels: of a bar's row; of the names left of the bars


def panel(picture, left, width, title, found, bandwidths, key):
    """A bar of each wire for each bandwidth, with its number; a hollow one is that of runs that never got there."""
    rows = [(mbit, wire) for mbit in bandwidths for wire in WIRES]
    high = max([value for row in rows if (value := middle(found, row[1], row[0], key)) is not None] or [1.0]) * 1.35
    picture.text(left, TOP + 20, title, weight=600)
    for i, (mbit, wire) in enumerate(rows):
        value, colour = middle(found, wire, mbit, key), list(WIRES).index(wire)
        y = TOP + 32 + ROW * i + 12 * (i // len(WIRES))
        bar = width * (high / 1.35 if value is None else value) / high
        picture.add("rect", **{"class": f"f{colour}" if value is not None else f"s{colour} ground"}, x=left, y=y, width=float(bar), height=ROW - 5)
        picture.text(left + bar + 5, y + 12, "never" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.2g}")


def svg(path, found, bandwidths, title, threshold):
    height = TOP + 32 + (ROW * len(WIRES) + 12) * len(bandwidths) + 8
    picture = Picture(height, title, "Bars, to the right; the actors' links are as narrow as the rows say.")
    for i, mbit in enumerate(bandwidths):
        for j, wire in enumerate(WIRES):
            picture.text(LABELS - 8, TOP + 32 + ROW * (i * len(WIRES) + j) + 12 * i + 12, f"{mbit:g} Mbit/s, {wire}" if j == 0 else wire, kind=j, anchor="end")
    width = (WIDTH - LABELS - 20) // 3
    for k, (name, key) in enumerate([("env steps/s, all actors", "env_steps_per_s"), (f"s to a return of {threshold:g}", "threshold_s"),
                                     ("s from publication to first step", "age_s")]):
        panel(picture, LABELS + k * width, width - 16, name, found, bandwidths, key)
    picture.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--mbit", default="2,10,50")
    parser.add_argument("--delay-ms", type=int, default=5)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit-s", type=int, default=240)
    parser.add_argument("--preset", type=pathlib.Path, default=ROOT / "presets/cartpole.yaml")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--threshold", type=float, default=475)
    parser.add_argument("--svg")
    parser.add_argument("--records")
    options = parser.parse_args()
    options.build, options.preset = options.build.resolve(), options.preset.resolve()
    bandwidths = [float(text) for text in options.mbit.split(",")]
    found = []
    for mbit in bandwidths:
        for wire in WIRES:
            for seed in range(1, options.seeds + 1):
                with tempfile.TemporaryDirectory(prefix="octet-wire-") as place:
                    found.append(measure(options, wire, mbit, seed, pathlib.Path(place)))
                print(json.dumps(found[-1]), flush=True)
                if options.records:
                    with open(options.records, "a", encoding="utf-8") as out:
                        out.write(json.dumps(found[-1]) + "\n")
    table(found, bandwidths, options.limit_s)
    if options.svg:
        svg(options.svg, found, bandwidths, f"{options.preset.stem}, 3x512 network, {options.actors} actors,"
            f" {options.delay_ms} ms each way", options.threshold)


if __name__ == "__main__":
    main()
