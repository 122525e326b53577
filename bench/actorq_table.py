#!/usr/bin/env python3
"""Tables of bench_actorq's lines: environment steps a second of one acting core, and how many times fp32's each precision has.

usage: actorq_table.py LINES [--svg FILE]

For each width and number of environments a row a task, and the geometric means over the paper's eight tasks of the Control Suite and over all.
"""

import argparse
import json
import math
import pathlib

from bench_chart import Axis, GREY, Picture, TOP, WIDTH, powers

PRECISIONS = ("fp32", "bf16", "int8", "int4")


def load(path):
    """{(hidden, envs): {task: {precision: line}}} in the order of the file."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if '"bench": "actorq"' in line:
            one = json.loads(line)
            found.setdefault((one["hidden"], one["envs"]), {}).setdefault(one["task"], {})[one["precision"]] = one
    return found


def mean(ratios):
    """Geometric; NaN of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def means(tasks, precision):
    """Over the tasks of the Control Suite, and over all."""
    suite = [rows[precision]["over_fp32"] for task, rows in tasks.items() if task.startswith("dmc:")]
    return mean(suite), mean([rows[precision]["over_fp32"] for rows in tasks.values()])


def summary(found):
    print("| policy | environments a call | " + " | ".join(f"{p} over fp32: Control Suite (all)" for p in PRECISIONS[1:]) + " |")
    print("|---|---|" + "---|" * len(PRECISIONS[1:]))
    for (hidden, envs), tasks in sorted(found.items(), key=lambda item: (int(item[0][0][2:]), item[0][1])):
        cells = ["{:.2f} ({:.2f})".format(*means(tasks, precision)) for precision in PRECISIONS[1:]]
        print(f"| {hidden} | {envs} | " + " | ".join(cells) + " |")


def table(hidden, envs, tasks):
    print(f"\n{hidden}, {envs} environment{'s' if envs > 1 else ''} a call, thousand steps/s:\n")
    print("| task | environment alone | " + " | ".join(PRECISIONS) + " | int8 over fp32 |\n|---|---|" + "---|" * (len(PRECISIONS) + 1))
    for task, rows in tasks.items():
        alone = 1e6 / rows["fp32"]["env_alone"]
        cells = [f"{rows[p]['steps_per_s'] / 1e3:.1f}" for p in PRECISIONS]
        print(f"| {task} | {alone:.0f} | " + " | ".join(cells) + f" | {rows['int8']['over_fp32']:.2f} |")


def svg(path, found, machine=""):
    """int8 over fp32 against the environment's own cost, a panel a width; a line where nothing is gained."""
    points = [(rows["int8"]["env_alone"] / 1e3, rows["int8"]["over_fp32"], hidden, envs)
              for (hidden, envs), tasks in found.items() for rows in tasks.values()]
    low, high = min(p[0] for p in points) / 1.5, max(p[0] for p in points) * 1.5
    hiddens = sorted({p[2] for p in points}, key=lambda text: int(text[2:]))
    calls = sorted({p[3] for p in points})
    picture = Picture(TOP + 360, f"Steps per second of an acting core: int8 over fp32{machine}", "A dot is a task. To the right: what a step of its environment costs without a policy.")
    picture.key(14, TOP + 14, [(i, f"{count} environment{'s' if count > 1 else ''} a call", "dot") for i, count in enumerate(calls)])
    width = (WIDTH - 50) // len(hiddens)
    for k, hidden in enumerate(hiddens):
        y = Axis(0, max(p[1] for p in points) * 1.06, "int8 over fp32" if k == 0 else "")
        panel = picture.panel((50 + width * k, TOP + 56, width - 22, 250), Axis(low, high, "µs of a step", log=True, marks=powers(low, high)), y, f"Policy of {hidden}")
        panel.across(1, "1: no gain" if k == 0 else "", GREY)
        for cost, ratio, of, envs in points:
            if of == hidden:
                panel.dot(cost, ratio, calls.index(envs), opacity=0.75)
    picture.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    arguments = parser.parse_args()
    found = load(arguments.lines)
    summary(found)
    for (hidden, envs), tasks in found.items():
        table(hidden, envs, tasks)
    if arguments.svg:
        svg(arguments.svg, found)


if __name__ == "__main__":
    main()
