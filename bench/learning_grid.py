#!/usr/bin/env python3
"""One picture or one table of several presets, from the records of bench_learning.py.

usage: learning_grid.py RECORDS... [--svg FILE] [--title TEXT] [--steps] [--by-env] [--longest] [--highlight SETTING]

Without --svg it prints a Markdown table, one row a preset and setting. With --svg it draws a panel of each preset: every seed's evaluations of
the published policy against minutes (or seconds) of wall time, and its goal as a line; the last point is the result.
Settings (int8, policy.precision=fp32) have a colour each, from the ninth on with dashed lines; with --highlight one has a colour, and all
others are grey. --steps draws over million environment steps instead of time. --by-env makes a panel of each environment, with a colour for
what follows the hyphen in a preset's name (ppo, vtrace). A seed counts once, so two lines of one are refused. --longest takes the longest of
them instead, for the records of bench_full_budget.py, in which a continued run is at each of its lengths.
"""

import argparse
import math
import pathlib
import statistics

from bench_chart import Axis, GREY, Picture, TOP, WIDTH, from_zero, thinned
from bench_learning import SPLIT
from bench_records import each_once, lines, longest

COLUMNS, PANEL_HEIGHT = 4, 146
MARGIN = 48         # left of a panel's frame
LINE_POINTS = 70    # of a line: a panel is narrow
COLOURS = 8


def load(paths, by_env=False, is_longest=False):
    """{preset: {setting: [record]}} in the order of the files; by_env: {environment: {algorithm: [record]}}."""
    found = {}
    records = [one for path in paths for one in lines(path)]
    for one in longest(records) if is_longest else each_once(records):
        names = (one["env"], one["preset"].split("-")[-1]) if by_env else (one["preset"], one["setting"])
        found.setdefault(names[0], {}).setdefault(names[1], []).append(one)
    return found


def table(found):
    print("| preset | policy | seeds | reached its goal | seconds, median (most) | return: mean ± spread, least | again, least | last version: mean, least | last screens: mean | "
          "thousand env steps, median | thousand updates, median | env steps/s | acting: " + " / ".join(SPLIT) + " |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for preset, settings in found.items():
        for setting, runs in settings.items():
            def column(name, runs=runs):
                return [run[name] for run in runs]
            returns, walls = column("return"), column("wall_s")
            spread = statistics.stdev(returns) if len(runs) > 1 else 0.0
            shares = []
            for key in SPLIT:
                shares.append(statistics.fmean(run["actor_seconds"][key] / max(1e-9, sum(run["actor_seconds"].values()))
                                               for run in runs))
            rate = statistics.median(run["env_steps"] / run["wall_s"] for run in runs)
            reached = sum(column("solved")) if runs[0]["goal"] is not None else "-"
            print(f"| {preset} | {setting} | {len(runs)} | {reached} | {statistics.median(walls):.3g} "
                  f"({max(walls):.3g}) | {statistics.fmean(returns):.1f} ± {spread:.1f}, {min(returns):.1f} | "
                  f"{min(column('again')):.1f} | {statistics.fmean(column('last_return')):.1f}, "
                  f"{min(column('last_return')):.1f} | {statistics.fmean(column('last_screens')):.1f} | "
                  f"{statistics.median(column('env_steps')) / 1e3:.0f} | "
                  f"{statistics.median(column('updates')) / 1e3:.1f} | {rate:.0f} | "
                  + " / ".join(f"{100 * s:.1f}" for s in shares) + " % |")


def scaled(points, by_steps):
    """([(x, return)] of runs' points, unit of x): million steps, minutes or seconds."""
    last = max((p[1] if by_steps else p[0]) for run in points for p in run)
    unit, scale = ("M", 1e6) if by_steps else ("min", 60.0) if last > 180 else ("s", 1.0)
    return [[((p[1] if by_steps else p[0]) / scale, p[2]) for p in run] for run in points], unit


def panel(picture, box, name, settings, styles, by_steps):
    """styles: of each setting, (colour, dashes or None, opacity)."""
    curves, unit = scaled([run["points"] for group in settings.values() for run in group], by_steps)
    owners = [setting for setting, group in settings.items() for _ in group]
    goal = next(iter(settings.values()))[0]["goal"]
    last = max(p[0] for curve in curves for p in curve)
    x = Axis(0, last * 1.03, count=3)
    x.marks[-1] = (x.marks[-1][0], f"{x.marks[-1][1]} {unit}")
    values = [p[1] for curve in curves for p in curve] + ([goal] if goal is not None else [])
    frame = picture.panel(box, x, from_zero(values, count=4), name.split("/")[-1])
    if goal is not None:
        frame.across(goal)
    for setting, curve in sorted(zip(owners, curves), key=lambda pair: styles[pair[0]][0] != GREY):  # grey below colours
        colour, dashes, opacity = styles[setting]
        frame.line(thinned(curve, LINE_POINTS), colour, width=1.2, dashes=dashes, opacity=opacity)
        frame.dot(*curve[-1], colour, radius=2.4)


def svg(path, title, found, by_steps=False, highlight=None):
    columns = min(COLUMNS, len(found))
    labels = list(dict.fromkeys(setting for settings in found.values() for setting in settings))
    if highlight:
        styles = {label: (0, None, 0.8) if label == highlight else (GREY, None, 0.7) for label in labels}
        entries = [(0, highlight), (GREY, "other settings")]
    else:
        # More settings than colours: the next ones have the same again, with dashed lines.
        styles = {label: (i % COLOURS, "4 2" if i >= COLOURS else None, 0.8) for i, label in enumerate(labels)}
        entries = [(i % COLOURS, label, "dashed" if i >= COLOURS else "line") for i, label in enumerate(labels)]
    if any(run["goal"] is not None for settings in found.values() for group in settings.values() for run in group):
        entries.append(("goal", "goal", "dashed"))
    rows = math.ceil(len(found) / columns)
    picture = Picture(TOP + 44 + 18 * (len(entries) // 3) + rows * PANEL_HEIGHT, title,
                      f"Upwards: return of an evaluation. To the right: {'environment steps' if by_steps else 'wall time'}. A line is a seed, the dot its result.")
    picture.key(14, TOP + 14, entries)
    top = TOP + 50 + 18 * (len(entries) // 3)
    width = (WIDTH - 10) // COLUMNS
    for k, (preset, settings) in enumerate(found.items()):
        box = ((k % columns) * width + MARGIN, top + (k // columns) * PANEL_HEIGHT, width - MARGIN - 14, PANEL_HEIGHT - 50)
        panel(picture, box, preset, settings, styles, by_steps)
    picture.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--svg")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--by-env", action="store_true")
    parser.add_argument("--longest", action="store_true")
    parser.add_argument("--highlight", metavar="SETTING")
    parser.add_argument("--title", default="Return of the published int8 policy")
    arguments = parser.parse_args()
    found = load(arguments.records, arguments.by_env, arguments.longest)
    if arguments.svg:
        svg(arguments.svg, arguments.title, found, arguments.steps, arguments.highlight)
    else:
        table(found)


if __name__ == "__main__":
    main()
