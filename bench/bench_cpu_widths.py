#!/usr/bin/env python3
"""CPU seconds of whole runs to their goal with int8 against fp32 actors: ten tasks, by width of the policy.

usage: bench_cpu_widths.py RECORDS [--octet build/release/cli/octet] [--tasks cartpole,...] [--widths preset,256,512] [--seeds 3] [--first-seed 1]
       bench_cpu_widths.py RECORDS --table

A run is octet train with the task's preset, as it is ("preset") or with three hidden layers of a width and the learning rate that goes with it (TASKS), until
the evaluations of the actors' policy reach the preset's goal, which 100 more episodes then measure. RECORDS is one line of JSON a run, as bench_learning.py
writes them; a run that has a line there is not made again. int8 and fp32 of a seed follow each other, first all tasks with the first seed.

--table prints medians and the geometric means over tasks. CPU seconds hardly depend on what else a machine does, seconds do. How many steps a seed needs is
luck, and counts in the whole run's CPU seconds; the actor's and the evaluator's are for a thousand steps each, theirs and those of the run.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

from bench_learning import HERE, record, train

PRESETS = HERE.parent / "presets"
PRECISIONS = ("int8", "fp32")
# {preset: {width: learning rate}}
TASKS = {
    "cartpole": {256: 0.001, 512: 0.0005},
    "acrobot": {256: 0.0005, 512: 0.0003},
    "mountaincar": {256: 0.0005, 512: 0.0003},
    "mountaincar-continuous": {256: 0.0005},
    "pendulum": {256: 0.0005, 512: 0.0003},
    "dmc/cartpole_balance": {256: 0.0005, 512: 0.0003},
    "dmc/cartpole_balance_sparse": {256: 0.0005, 512: 0.0003},
    "dmc/point_mass_easy": {256: 0.0005, 512: 0.0003},
    "dmc/reacher_easy": {256: 0.0005, 512: 0.0003},
    "dmc/ball_in_cup_catch": {256: 0.0005, 512: 0.0003},
}
WALL_S = 300  # a run that has not reached its goal ends then, unsolved


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def label_of(width, precision):
    return f"{width if width == 'preset' else f'3x{width}'} {precision}"


def one(options, task, width, seed, precision):
    sets = {"policy.precision": precision, "run.wall_s": WALL_S}
    if width != "preset":
        sets |= {"network.hidden": [int(width)] * 3, "algo.learning_rate": TASKS[task][int(width)], "algo.learning_rate_final": "same"}
    arguments = ["--no-ui", *(part for key, value in sets.items() for part in ("--set", f"{key}={value}"))]
    label = label_of(width, precision)
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
        ended, wall_s, points = train(options.octet, PRESETS / f"{task}.yaml", seed, arguments, pathlib.Path(folder))
    record(options.records, f"{task}.yaml", label, seed, ended, wall_s, points)
    daemons = ended["daemons"]
    print(f"{task:28s} {label:12s} seed {seed}: {ended['reason']:7s} {wall_s:6.1f} s  {ended['energy']['cpu_s']:7.1f} s of CPU  actor "
          f"{daemons['actor-0']['cpu_s']:6.2f}, evaluator {daemons['evaluator']['cpu_s']:6.2f}  steps {ended['env_steps']:8d}  again {ended['again']:7.1f}", flush=True)


def cells(path):
    """{width: {task: {precision: [runs]}}}, of what has both precisions."""
    found = {}
    for line in lines(path):
        width, precision = line["setting"].split()
        found.setdefault(width, {}).setdefault(line["env"], {}).setdefault(precision, []).append(line)
    return {width: {task: of for task, of in tasks.items() if len(of) == len(PRECISIONS)} for width, tasks in found.items()}


def cpu(run, daemon):
    return sum(value for name, value in run["daemon_cpu_s"].items() if name.startswith(daemon))


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def table(path):
    print("| task | policy | seeds | reached: int8, fp32 | thousand steps | CPU s of the run | times | actor's ms of CPU for a thousand steps | times | "
          "evaluator's CPU s | return of 100 more episodes |\n|---|---|---|---|---|---|---|---|---|---|---|")
    gains = {}
    for width, tasks in cells(path).items():
        for task, of in sorted(tasks.items()):
            def pair(value, form):
                return ", ".join(format(statistics.median(map(value, of[p])), form) for p in PRECISIONS)
            def times(value):
                return statistics.median(map(value, of["fp32"])) / statistics.median(map(value, of["int8"]))
            def acting(run):
                return 1e6 * cpu(run, "actor") / run["env_steps"]
            whole = times(lambda run: run["cpu_s"])
            gains.setdefault(width, []).append((whole, times(acting)))
            print(f"| {task} | {width} | {min(map(len, of.values()))} | {', '.join(f'''{sum(r['solved'] for r in of[p])} of {len(of[p])}''' for p in PRECISIONS)} | "
                  f"{pair(lambda r: r['env_steps'] / 1e3, '.0f')} | {pair(lambda r: r['cpu_s'], '.2f')} | {whole:.2f} | {pair(acting, '.2f')} | "
                  f"**{times(acting):.2f}** | {pair(lambda r: cpu(r, 'evaluator'), '.2f')} | {pair(lambda r: r['again'], '.0f')} |")
    for width, ratios in gains.items():
        whole, acting = zip(*ratios)
        print(f"\n{width}: geometric means over {len(ratios)} tasks: the whole run {geometric(whole):.2f}, the actor for a step {geometric(acting):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--widths", default="preset,256,512")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.records)
        return 0
    tasks, widths = options.tasks.split(","), options.widths.split(",")
    for value, allowed in [*((task, TASKS) for task in tasks), *((width, ("preset", "256", "512")) for width in widths)]:
        if value not in allowed:
            parser.error(f"'{value}' is none of {', '.join(allowed)}")
    made = {(line["preset"], line["setting"], line["seed"]) for line in lines(options.records)}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for width in widths:
            for task in tasks:
                for precision in PRECISIONS if width == "preset" or int(width) in TASKS[task] else ():
                    if (pathlib.Path(task).name, label_of(width, precision), seed) not in made:
                        one(options, task, width, seed, precision)
    return 0


if __name__ == "__main__":
    sys.exit(main())
