#!/usr/bin/env python3
"""Environment steps that presets took to their goals, from the records in docs/data: presets/goals.csv, which octet plan reads.

usage: preset_goals.py ROOT           prints the file
       preset_goals.py ROOT --check   exits 1 where presets/goals.csv is another one, or names what is not a preset

A line has a preset, the number of its runs, and the lowest, median and highest number of steps at which one of them ended
with its goal reached. The runs are those of the presets as they are, with int8 actors, in cpu-widths.jsonl and
train-sb3.jsonl. A preset of which a run missed its goal is left out.
"""

import collections
import pathlib
import statistics
import sys

from bench_records import lines

FILE = "presets/goals.csv"
CHANGED = {"dmc/point_mass_easy"}  # has other settings now than when it was measured
HEADER = """# Environment steps that presets took to their goals (run.stop_at_return); octet plan reads this file.
# Printed by bench/preset_goals.py from docs/data.
preset,runs,low,median,high
"""


def name_of(root, short):
    """The preset of a record, which has no folder."""
    return short if (root / f"presets/{short}.yaml").exists() else f"dmc/{short}"


def steps(root):
    """Of each preset the steps of its runs; None: one missed its goal."""
    found = collections.defaultdict(list)
    for record in lines(root / "docs/data/cpu-widths.jsonl"):
        if record["setting"] == "preset int8":
            found[name_of(root, record["preset"])].append(record["env_steps"] if record["solved"] else None)
    for record in lines(root / "docs/data/train-sb3.jsonl"):
        octet = record["octet"]
        found[name_of(root, record["case"])].append(octet["steps"] if octet["reached"] else None)
    return {preset: runs for preset, runs in found.items() if preset not in CHANGED and None not in runs}


def text(root):
    rows = [f"{preset},{len(runs)},{min(runs)},{statistics.median(runs):.0f},{max(runs)}\n"
            for preset, runs in sorted(steps(root).items())]
    return HEADER + "".join(rows)


def main():
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2:] != ["--check"]:
        print(text(root), end="")
        return 0
    missing = [preset for preset in steps(root) if not (root / f"presets/{preset}.yaml").exists()]
    for preset in missing:
        print(f"{FILE}: {preset} is not a preset")
    differs = (root / FILE).read_text(encoding="utf-8") != text(root)
    if differs:
        print(f"{FILE}: differs from docs/data; this renews it: python3 bench/preset_goals.py . > {FILE}")
    return 1 if missing or differs else 0


if __name__ == "__main__":
    sys.exit(main())
