#!/usr/bin/env python3
"""Tables of bench_actorq's lines: environment steps a second of one acting core, and how many times fp32's each precision has.

usage: actorq_table.py LINES [--svg FILE]

For each width and number of environments a row a task, and the geometric means over the paper's eight tasks of the Control Suite and over all.
"""

import argparse
import json
import math
import pathlib

from bench_learning import COLOURS, ticks

PRECISIONS = ("fp32", "bf16", "int8", "int4")
LEFT, UP = 60, 40  # of a chart


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


def chart(title, below, xs, top, size, foot):
    """What is below the points of a picture, with powers of ten from 10^xs[0] to 10^xs[1] across and 0 to top upwards: (place, lines of SVG).
    place(x, y) is where that is; foot is the room for a legend under the axis, which below names."""
    (low, high), (width, height), left, up = xs, size, LEFT, UP

    def place(x, y):
        return left + width * (math.log10(x) - low) / (high - low), up + height * (1 - y / top)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {up + height + foot}" font-family="sans-serif" font-size="12">',
           f'<rect width="{left + width + 20}" height="{up + height + foot}" fill="#ffffff"/>',
           f'<text x="{left}" y="22" font-size="15" fill="#111827">{title}</text>']
    for y in sorted({*ticks(0, top), 1}):
        py = place(1, y)[1]
        out.append(f'<line x1="{left}" y1="{py:.1f}" x2="{left + width}" y2="{py:.1f}" stroke="{"#9ca3af" if y == 1 else "#e5e7eb"}"/>'
                   f'<text x="{left - 8}" y="{py + 4:.1f}" text-anchor="end" fill="#374151">{y:.3g}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        out.append(f'<text x="{place(10.0 ** power, 0)[0]:.1f}" y="{up + height + 18}" text-anchor="middle" fill="#374151">{10.0 ** power:g}</text>')
    out.append(f'<text x="{left + width / 2}" y="{up + height + 36}" text-anchor="middle" fill="#374151">{below}</text>')
    return place, out


def svg(path, found):
    """int8 over fp32 against the environment's own cost, a colour a width; a line where nothing is gained."""
    points = [(rows["int8"]["env_alone"] / 1e3, rows["int8"]["over_fp32"], hidden, envs)
              for (hidden, envs), tasks in found.items() for rows in tasks.values()]
    low, high = math.log10(min(p[0] for p in points)) - 0.1, math.log10(max(p[0] for p in points)) + 0.1
    top = max(p[1] for p in points) * 1.08
    width, height = 640, 320
    place, out = chart("Steps a second of an acting core: int8 over fp32, by what the environment costs", "µs of a step of the environment alone",
                       (low, high), top, (width, height), 70)
    hiddens = sorted({p[2] for p in points}, key=lambda text: int(text[2:]))
    for cost, ratio, hidden, envs in points:
        x, y = place(cost, ratio)
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + math.log2(envs):.1f}" fill="{COLOURS[hiddens.index(hidden)]}" fill-opacity="0.55"/>')
    for i, hidden in enumerate(hiddens):
        out.append(f'<text x="{LEFT + 110 * i}" y="{UP + height + 60}" fill="{COLOURS[i]}">● {hidden}</text>')
    out.append(f'<text x="{LEFT + 110 * len(hiddens)}" y="{UP + height + 60}" fill="#374151">larger: 1, 4, 16 environments a call</text>')
    out.append("</svg>\n")
    path.write_text("\n".join(out), encoding="utf-8")


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
