#!/usr/bin/env python3
"""One picture and one table of several presets, from the records of bench_learning.py.

usage: learning_grid.py RECORDS... [--svg FILE] [--title TEXT] [--steps] [--by-env] [--longest]

Each panel is one preset: every seed's evaluations of the published policy against minutes (or seconds) of wall time, its
goal as a line; the last point is the result. Settings (int8, policy.precision=fp32) have a colour each, from the eighth
on with dashed lines (□). The table is Markdown, one row a preset and setting. --steps draws over million environment steps
instead of time. --by-env makes a panel of each environment, with a colour for what follows the hyphen in a preset's name (ppo, vtrace).
A seed counts once, so two lines of one are refused. --longest takes the longest of them instead, for the records of
bench_full_budget.py, in which a run that has gone on is at each of its lengths.
"""

import argparse
import html
import math
import pathlib
import statistics

from bench_learning import COLOURS, SPLIT, ticks
from bench_records import each_once, lines, longest

PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 250, 150, 4
TICKS = 4  # of an axis, about
LEGEND_HEIGHT = 18
DASHED = ' stroke-dasharray="4 2"'


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


def panel(out, x0, y0, name, settings, styles, by_steps):
    """styles: of each setting, (colour, what makes its lines dashed or "")."""
    runs = [run for group in settings.values() for run in group]
    points = [p for run in runs for p in run["points"]]
    at = 1 if by_steps else 0
    last = max(p[at] for p in points)
    unit, scale = ("million steps", 1e6) if by_steps else ("min", 60.0) if last > 180 else ("s", 1.0)
    x_max = last / scale * 1.03
    goal = runs[0]["goal"]
    values = [p[2] for p in points] + ([goal] if goal is not None else [])
    low, high = min(values), max(values)
    pad = (high - low) * 0.06 or 1.0
    low, high = low - pad, high + pad
    width, height = PANEL_WIDTH - 58, PANEL_HEIGHT - 48
    left, top = x0 + 46, y0 + 22

    def place(x, y):
        return left + width * x / x_max, top + height * (high - y) / (high - low)

    out.append(f'<text x="{left}" y="{top - 7}" font-size="12" fill="#111827">{html.escape(name)}</text>')
    for y in ticks(low, high, TICKS):
        py = place(0, y)[1]
        out.append(f'<line x1="{left}" y1="{py:.1f}" x2="{left + width}" y2="{py:.1f}" stroke="#e5e7eb"/>'
                   f'<text x="{left - 5}" y="{py + 3:.1f}" text-anchor="end" fill="#374151">{y:.4g}</text>')
    for x in ticks(0, x_max, TICKS):
        out.append(f'<text x="{place(x, low)[0]:.1f}" y="{top + height + 13}" text-anchor="middle" '
                   f'fill="#374151">{x:.3g}</text>')
    out.append(f'<text x="{left + width}" y="{top + height + 24}" text-anchor="end" fill="#374151">{unit}</text>')
    if goal is not None:
        py = place(0, goal)[1]
        out.append(f'<line x1="{left}" y1="{py:.1f}" x2="{left + width}" y2="{py:.1f}" stroke="#dc2626" '
                   'stroke-dasharray="4 3"/>')
    for setting, group in settings.items():
        colour, dash = styles[setting]
        for run in group:
            line = " ".join("{:.1f},{:.1f}".format(*place(p[at] / scale, p[2])) for p in run["points"])
            end = place(run["points"][-1][at] / scale, run["points"][-1][2])
            out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.3" '
                       f'stroke-opacity="0.8"{dash}/><circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="2.4" '
                       f'fill="{colour}"/>')


def legend(entries, width):
    """[(text, colour)] in lines of [(x, text, colour)]: columns of 190, several for a long text."""
    lines, x = [[]], 12
    for text, colour in entries:
        room = 190 * math.ceil((len(text) + 2) * 7 / 190)
        if x + room > width and lines[-1]:
            lines.append([])
            x = 12
        lines[-1].append((x, text, colour))
        x += room
    return lines


def svg(path, title, found, by_steps=False):
    columns = min(COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    labels = list(dict.fromkeys(setting for settings in found.values() for setting in settings))
    # More settings than colours: the next ones have the same again, with dashed lines.
    styles = {label: (COLOURS[i % len(COLOURS)], DASHED if i >= len(COLOURS) else "") for i, label in enumerate(labels)}
    entries = [(f"{'□' if styles[label][1] else '■'} {label}", styles[label][0]) for label in labels]
    if any(run["goal"] is not None for settings in found.values() for group in settings.values() for run in group):
        entries.append(("- - goal", "#dc2626"))
    width = columns * PANEL_WIDTH + 10
    lines = legend(entries, width)
    height = rows * PANEL_HEIGHT + 38 + LEGEND_HEIGHT * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="10">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="12" y="20" font-size="15" fill="#111827">{html.escape(title)}</text>']
    for k, (preset, settings) in enumerate(found.items()):
        panel(out, (k % columns) * PANEL_WIDTH, 28 + (k // columns) * PANEL_HEIGHT, preset, settings, styles, by_steps)
    for i, line in enumerate(lines):
        y = height - 10 - LEGEND_HEIGHT * (len(lines) - 1 - i)
        out += [f'<text x="{x}" y="{y}" font-size="12" fill="{colour}">{html.escape(text)}</text>' for x, text, colour in line]
    out.append("</svg>\n")
    pathlib.Path(path).write_text("\n".join(out), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--svg")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--by-env", action="store_true")
    parser.add_argument("--longest", action="store_true")
    parser.add_argument("--title", default="Greedy return of the published int8 policy, every seed")
    arguments = parser.parse_args()
    found = load(arguments.records, arguments.by_env, arguments.longest)
    table(found)
    if arguments.svg:
        svg(arguments.svg, arguments.title, found, arguments.steps)


if __name__ == "__main__":
    main()
