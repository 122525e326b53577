#!/usr/bin/env python3
"""CPU time of replay by inserted and by sampled window: one replay against several shards.

usage: bench_shards.py OCTET [quick]     (OCTET: path of the octet executable in a build tree)

Runs presets/cartpole.yaml with a fixed budget and eight actors, in turn with one replay and with two shards: once with hardly
any samples (what an insert costs), once with many (what a sample costs, less the inserts). The band of replay's limiter is wide, so that
neither side waits for the other at each request: that would measure round trips. CPU time is what the daemons
say of themselves when they stop, all their threads. Prints a JSON line for each number of shards, medians over the rounds, and the ratio to one replay.
Checks that every run inserted and sampled what it was to.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

OCTET = pathlib.Path(sys.argv[1]).resolve()
QUICK = "quick" in sys.argv[2:]
ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUNDS = 1 if QUICK else 5
SHARDS = (1, 2)
# name: samples per insert, its tolerance, environment steps
KINDS = {"insert": (0.02, 1000, 100_000 if QUICK else 10_000_000), "sample": (16, 10, 20_000 if QUICK else 500_000)}


def numbers(log, name):
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if f" {name} " in line]
    return dict(re.findall(r"(\w+)=([0-9.]+)", lines[-1]))


def run(shards, kind):
    """Windows inserted, windows sampled, CPU seconds of all replays, of the learner."""
    ratio, tolerance, steps = KINDS[kind]
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
        done = subprocess.run(
            [OCTET, "train", ROOT / "presets/cartpole.yaml", "--run-dir", f"{folder}/run", "--actors", "8", "--set",
             f"replay.shards={shards}", "--set", f"replay.samples_per_insert={ratio}", "--set", f"replay.tolerance={tolerance}",
             "--set", f"run.env_steps={steps}", "--set", "run.stop_at_return=501", "--set", "replay.path=none", "--set", "evaluation.period_s=1000"],
            capture_output=True, text=True, check=True)
        stops = [numbers(log, "REPLAY-STOP") for log in pathlib.Path(folder).glob("run/log/replay*.log")]
        summary = json.loads(pathlib.Path(folder, "run/summary.json").read_text(encoding="utf-8"))
        inserts, samples = (sum(int(s[key]) for s in stops) for key in ("inserts", "samples"))
        assert len(stops) == shards and inserts >= 0.9 * steps, (stops, done.stdout)
        assert samples >= ratio * (inserts * 0.5 - 1000 * tolerance), stops
        assert samples <= ratio * (inserts * 1.5 + 1000 * tolerance) + 20_000, stops
        return inserts, samples, sum(float(s["cpu_s"]) for s in stops), summary


def measure(shards):
    inserts, _, cpu_s, _ = run(shards, "insert")
    insert_us = 1e6 * cpu_s / inserts
    inserts, samples, cpu_s, _ = run(shards, "sample")
    return insert_us, 1e6 * (cpu_s - 1e-6 * insert_us * inserts) / samples


def main():
    found = {shards: [] for shards in SHARDS}
    for _ in range(ROUNDS):
        for shards in SHARDS:  # in turn: the machine does other things meanwhile
            found[shards].append(measure(shards))
    medians = {shards: [statistics.median(column) for column in zip(*found[shards])] for shards in SHARDS}
    for shards, (insert_us, sample_us) in medians.items():
        print(json.dumps({"bench": "shards", "shards": shards, "rounds": ROUNDS, "cpu_us_per_insert": round(insert_us, 4),
                          "cpu_us_per_sample": round(sample_us, 4), "insert_ratio": round(insert_us / medians[1][0], 3),
                          "sample_ratio": round(sample_us / medians[1][1], 3)}), flush=True)


if __name__ == "__main__":
    main()
