#!/usr/bin/env python3
"""What options of the learner bring: one table and one picture of runs that differ by one option.

usage: ablations.py RECORDS... --baseline SETTING [--tasks cheetah_run,...] [--steps 500000] [--without SETTING]... [--svg FILE] [--title TEXT]

RECORDS are lines of JSON, as bench_full_budget.py writes them. The runs of SETTING are what the others are compared with, task by task. Only runs
that came to --steps count, with what they were at that point; longer runs are cut there.

A run's return is the mean of its evaluations shortly before --steps: screens_at of the record, which nothing selected, or, in records without it,
the curve without the last point, which is the shipped policy. Such a curve also has the longer evaluations of versions that a short evaluation had found good.
A cell of the table (Markdown) has the mean over seeds, its ratio to the baseline's and, in parentheses, the policies that were shipped, seed by
seed, if the run ended there. In the picture a dot is a seed, and the line the baseline's mean.
"""

import argparse
import pathlib
import statistics
import textwrap

from actorq_table import mean as geometric_mean
from bench_chart import Axis, LETTER, Picture, TOP, WIDTH, from_zero
from bench_learning import JUST, MARKS, shortly_before
from bench_records import lines

LABEL_LETTERS, LINE_PX = 44, 16  # of a setting's name
NONE = "none"  # the baseline's row


def returned(run, steps):
    """The mean return of evaluations shortly before so many steps; None if the run did not come that far."""
    names = [name for name, mark in MARKS.items() if mark == steps]
    if names and names[0] in run.get("screens_at", {}):
        return run["screens_at"][names[0]]
    if run["env_steps"] < steps:
        return None
    return shortly_before([(at, value) for _, at, value in run["points"][:-1]], steps)


def load(paths, tasks, steps, without):
    """{setting: {task: [(return, shipped return or None)]}} in the order of the files, each seed once."""
    found = {}
    for path in paths:
        for run in lines(path):
            value = returned(run, steps)
            if value is None or run["preset"] not in tasks or run["setting"] in without:
                continue
            shipped = run["again"] if run["env_steps"] <= (1 + JUST) * steps else None
            seeds = found.setdefault(run["setting"], {}).setdefault(run["preset"], {})
            seeds.setdefault(run["seed"], (value, shipped))  # a run that went on is in the file twice
    return {setting: {task: [seeds[seed] for seed in sorted(seeds)] for task, seeds in of.items()} for setting, of in found.items()}


def mean_return(runs):
    return statistics.fmean(value for value, _ in runs)


def cell(runs, base):
    if not runs:
        return ""
    mean = mean_return(runs)
    shipped = ", ".join("–" if one is None else f"{one:.0f}" for _, one in runs)
    return f"**{mean:.0f}**, {mean / base:.2f} ({shipped})"


def table(found, tasks):
    print(f"| option | {' | '.join(tasks)} | geometric mean of ratios |\n|---|{'---|' * len(tasks)}---|")
    means = {task: mean_return(found[NONE][task]) for task in tasks}
    for setting, of in found.items():
        # a return of 0 would make the mean 0, so that nothing else counted
        ratios = [max(mean_return(of[task]), 1) / means[task] for task in tasks if task in of]
        print(f"| {setting} | {' | '.join(cell(of.get(task), means[task]) for task in tasks)} | {geometric_mean(ratios):.2f} of {len(ratios)} |")


def svg(path, title, found, tasks):
    """A column of each task and a row of each setting; a dot is a seed, the dashed line the baseline's mean."""
    names = {setting: textwrap.wrap(setting, LABEL_LETTERS) for setting in found}
    ends, total = {}, 0
    for setting, lines_of in names.items():
        total += LINE_PX * len(lines_of) + 6
        ends[setting] = total
    labels = 20 + LETTER * max(len(line) for lines_of in names.values() for line in lines_of)
    top, width = TOP + 46, (WIDTH - labels - 8) // len(tasks)
    picture = Picture(top + total + 44, title, "A dot is a seed. Dashed: the mean of the baseline, in the first row. To the right: return.")
    for setting, lines_of in names.items():
        for k, line in enumerate(lines_of):
            picture.text(labels - 8, top + ends[setting] - 6 - LINE_PX * (len(lines_of) - 1 - k), line, anchor="end")
    for column, task in enumerate(tasks):
        x = from_zero([value for of in found.values() for value, _ in of.get(task, [])], "return", count=2)
        left, (first, _, rest) = labels + width * column + 8, task.partition("_")
        panel = picture.panel((left, top, width - 20, total), x, Axis(total, 0, marks=[(end, "") for end in ends.values()]))
        for words, y in [(first + ("_" if rest else ""), top - 24), (rest, top - 8)]:
            picture.text(left, y, words, weight=600)
        mean = mean_return(found[NONE][task])
        panel.line([(mean, 0), (mean, total)], 0, width=1.2, dashes="4 3")
        for setting, of in found.items():
            for value, _ in of.get(task, []):
                panel.dot(value, ends[setting] - (LINE_PX * len(names[setting]) + 6) / 2, 0 if setting == NONE else 1, radius=4, opacity=0.75)
    picture.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--baseline", required=True)
    parser.add_argument("--tasks", default="cheetah_run,hopper_hop,acrobot_swingup")
    parser.add_argument("--steps", type=int, default=500000)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--title")
    options = parser.parse_args()
    tasks = options.tasks.split(",")
    for path in options.records:
        if not path.exists():
            parser.error(f"no file {path}")
    found = load(options.records, tasks, options.steps, options.without)
    missing = [task for task in tasks if task not in found.get(options.baseline, {})]
    if missing:
        parser.error(f"no run of '{options.baseline}' with {options.steps} steps of {', '.join(missing)}; settings there: {', '.join(found)}")
    found = {NONE: found.pop(options.baseline), **found}
    table(found, tasks)
    if options.svg:
        svg(options.svg, options.title or f"D4PG with one option changed: return after {options.steps / 1e6:g} million steps", found, tasks)


if __name__ == "__main__":
    main()
