#!/usr/bin/env python3
"""What options of the learner bring: one table and one picture of runs that differ by one option.

usage: ablations.py RECORDS... --baseline SETTING [--tasks cheetah_run,...] [--steps 500000] [--without SETTING]... [--svg FILE] [--title TEXT]

RECORDS are lines of JSON, as bench_full_budget.py writes them. The runs of SETTING are what the others are compared with, task by task. Only runs
that came to --steps count, with what they were at that point; runs that went on are cut there.

A run's return is the mean of its evaluations shortly before --steps: screens_at of the record, which nothing selected, or, in records without it,
the curve without the last point, which is the shipped policy. Such a curve also has the longer evaluations of versions that a screen had found good.
A cell of the table (Markdown) has the mean over seeds, its ratio to the baseline's and, in parentheses, the policies that were shipped, seed by
seed, if the run ended there. In the picture a dot is a seed, and the line the baseline's mean.
"""

import argparse
import pathlib
import statistics

from actorq_table import mean as geometric_mean
from bench_learning import COLOURS, JUST, MARKS, shortly_before, ticks
from bench_records import lines

PANEL_WIDTH, ROW_HEIGHT, TOP = 190, 22, 62
LETTER_WIDTH = 6.2  # of the labels, about
NONE = "none"  # the baseline's row
TICKS = 3  # of an axis, about


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


def panel(out, x0, task, found):
    """One task: dots of all settings, a row each."""
    values = [value for of in found.values() for value, _ in of.get(task, [])]
    low, high = min(0, *values), max(values) * 1.06
    left, width, bottom = x0 + 10, PANEL_WIDTH - 20, TOP + ROW_HEIGHT * len(found)

    def place(value):
        return left + width * (value - low) / (high - low)

    out.append(f'<text x="{left}" y="{TOP - 10}" font-size="12" fill="#111827">{task}</text>')
    for value in ticks(low, high, TICKS):
        out.append(f'<line x1="{place(value):.1f}" y1="{TOP}" x2="{place(value):.1f}" y2="{bottom}" stroke="#e5e7eb"/>'
                   f'<text x="{place(value):.1f}" y="{bottom + 13}" text-anchor="middle" fill="#374151">{value:.4g}</text>')
    mean = place(mean_return(found[NONE][task]))
    out.append(f'<line x1="{mean:.1f}" y1="{TOP}" x2="{mean:.1f}" y2="{bottom}" stroke="{COLOURS[0]}" stroke-dasharray="4 3"/>')
    for row, (setting, of) in enumerate(found.items()):
        colour = COLOURS[0] if setting == NONE else COLOURS[1]
        for value, _ in of.get(task, []):
            out.append(f'<circle cx="{place(value):.1f}" cy="{TOP + ROW_HEIGHT * (row + 0.5):.1f}" r="4" fill="{colour}" fill-opacity="0.75"/>')


def svg(path, title, found, tasks):
    labels = 10 + round(LETTER_WIDTH * max(len(setting) for setting in found))
    width, height = labels + PANEL_WIDTH * len(tasks) + 10, TOP + ROW_HEIGHT * len(found) + 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>', f'<text x="12" y="20" font-size="15" fill="#111827">{title}</text>']
    for row, setting in enumerate(found):
        y = TOP + ROW_HEIGHT * (row + 0.5)
        out.append(f'<text x="{labels - 4}" y="{y + 4:.1f}" text-anchor="end" font-size="12" fill="#111827">{setting}</text>'
                   f'<line x1="{labels}" y1="{y:.1f}" x2="{width - 10}" y2="{y:.1f}" stroke="#f3f4f6"/>')
    for column, task in enumerate(tasks):
        panel(out, labels + PANEL_WIDTH * column, task, found)
    out.append("</svg>\n")
    path.write_text("\n".join(out), encoding="utf-8")


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
        svg(options.svg, options.title or f"Return after {options.steps / 1e6:g} million steps, a dot a seed", found, tasks)


if __name__ == "__main__":
    main()
