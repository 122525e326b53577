#!/usr/bin/env python3
"""CPU seconds of whole runs to their goal with int8 against fp32 actors: ten tasks, by width of the policy.

usage: bench_cpu_widths.py RECORDS [--octet build/release/cli/octet] [--tasks cartpole,...] [--widths preset,256,512] [--seeds 3] [--first-seed 1]
       bench_cpu_widths.py RECORDS --table

A run is octet train with the task's preset, as it is ("preset") or with three hidden layers of a width and the learning rate that goes with it (TASKS), until
the evaluations of the actors' policy reach the preset's goal, which 100 more episodes then measure. RECORDS is one line of JSON a run, as bench_learning.py
writes them; a run that has a line there is not made again. int8 and fp32 of a seed follow each other, first all tasks with the first seed.

--table prints, of each task and width, medians over seeds: the CPU seconds of the run with int8 and with fp32 (">": a seed did not reach the goal), and how
many times less CPU time int8's actor takes for a step; then geometric means over tasks. CPU seconds hardly depend on what else a machine does. How many
steps a seed needs is luck; it is in the run's CPU seconds, and not in the actor's for a step.
"""

import argparse
import pathlib
import statistics
import sys

from actorq_table import mean
from bench_learning import HERE, measure
from bench_records import lines

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


def label_of(width, precision):
    return f"{width if width == 'preset' else f'3x{width}'} {precision}"


def one(options, task, width, seed, precision):
    sets = {"policy.precision": precision, "run.wall_s": WALL_S}
    if width != "preset":
        sets |= {"network.hidden": [int(width)] * 3, "algo.learning_rate": TASKS[task][int(width)], "algo.learning_rate_final": "same"}
    arguments = ["--no-ui", *(part for key, value in sets.items() for part in ("--set", f"{key}={value}"))]
    measure(options.octet, PRESETS / f"{task}.yaml", [seed], arguments, label_of(width, precision), options.records)


def cells(path):
    """{task: {width: {precision: [runs]}}}, of what has both precisions."""
    found = {}
    for line in lines(path):
        width, precision = line["setting"].split()
        found.setdefault(line["env"], {}).setdefault(width, {}).setdefault(precision, []).append(line)
    return {task: {width: of for width, of in widths.items() if len(of) == len(PRECISIONS)} for task, widths in sorted(found.items())}


def acting(runs):
    """CPU seconds of the actor for a step, median."""
    return statistics.median(run["daemon_cpu_s"]["actor-0"] / run["env_steps"] for run in runs)


def whole(runs):
    return statistics.median(run["cpu_s"] for run in runs)


def table(path):
    found = cells(path)
    widths = list(dict.fromkeys(width for of in found.values() for width in of))
    print(f"| task | {' | '.join(widths)} |\n|---|{'---|' * len(widths)}")
    gains = {width: [] for width in widths}
    for task, of in found.items():
        row = []
        for width in widths:
            if width not in of:
                row.append("")
                continue
            int8, fp32 = (of[width][precision] for precision in PRECISIONS)
            gains[width].append((whole(fp32) / whole(int8), acting(fp32) / acting(int8)))
            cpu = [("" if all(run["solved"] for run in runs) else "> ") + f"{whole(runs):.{1 if whole(runs) < 10 else 0}f}" for runs in (int8, fp32)]
            row.append(f"{', '.join(cpu)}; **{gains[width][-1][1]:.2f}**")
        print(f"| {task} | {' | '.join(row)} |")
    means = {width: [mean(column) for column in zip(*ratios)] for width, ratios in gains.items()}
    print(f"| geometric mean: the run; the actor | {' | '.join(f'{run:.2f}; **{actor:.2f}**' for run, actor in means.values())} |")


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
