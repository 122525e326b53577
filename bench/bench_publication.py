#!/usr/bin/env python3
"""What publishing costs on whole training runs: bytes, divergence and return for several ways to publish.

usage: bench_publication.py PRESET [--seeds 3] [--first-seed 1] [--octet build/release/cli/octet] [--svg FILE] [--records FILE] [--only "NAME;NAME"]
                            [-- arguments for octet train...]

Trains PRESET with three hidden layers of 512 for every way in WAYS and every seed, versions published at their full
cadence (no budget). Prints one JSON line a run and a table: bytes of a publication as a share of the fp32 weights (all
publications of the run, complete ones included), the bar, the return of the published policy over the run's final
evaluation. --svg draws bytes and divergence from the fp32 policy over the updates of each run.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from bench_chart import Axis, LETTER, Picture, TOP, WIDTH, mean_and_spread, thinned
from bench_learning import made_run, own_and_octets, read_run
from bench_records import append

# name: (settings, share of the fp32 bytes that a publication may take)
WAYS = {
    "exact, every 100": (["learner.publish_period=100"], 1 / 8),
    "exact, every 10": (["learner.publish_period=10"], 1 / 14),
    "dead band 1, every 100": (["learner.publish_period=100", "policy.dead_band=1"], 1 / 16),
    "int4, every 100": (["learner.publish_period=100", "policy.precision=int4"], 1 / 32),
    "int4 aware, every 100": (["learner.publish_period=100", "policy.precision=int4",
                               "learner.quantisation_aware=true"], 1 / 32),
    "fp32, every 100": (["learner.publish_period=100", "policy.precision=fp32"], 1.01),
}
ALWAYS = ["network.hidden=[512, 512, 512]", "learner.publish_s_min=0", "learner.publish_core_share=0",
          "learner.metrics_s=0.5"]


def weight_bytes(octet, policy):
    """Bytes of the run's weights in fp32."""
    shown = subprocess.run([octet, "inspect", policy], capture_output=True, text=True, check=True).stdout
    total = 0
    for line in shown.splitlines():
        words = line.split()
        if len(words) > 3 and words[0].isdigit() and words[2] == "->":
            total += int(words[1]) * int(words[3])
    return total * 4


def train(octet, preset, seed, settings, arguments, folder):
    made_run(octet, preset, seed, [word for setting in [*ALWAYS, *settings] for word in ("--set", setting)] + arguments, folder)
    return *read_run(folder), weight_bytes(octet, folder / "policy.oct")


def curves(rows, full):
    """[(updates, bytes of a publication / fp32 bytes)], [(updates, divergence)] between rows."""
    shares, apart = [], []
    for before, after in zip([None, *rows], rows):
        # The first row holds the first, complete publication.
        if before is not None and int(after["policy_version"]) > int(before["policy_version"]):
            count = int(after["policy_version"]) - int(before["policy_version"])
            sent = float(after["published_bytes"]) - float(before["published_bytes"])
            shares.append((float(after["updates"]), sent / count / full))
        if after["divergence"]:
            apart.append((float(after["updates"]), float(after["divergence"])))
    return shares, apart


def panel(picture, top, height, y_label, sets, targets):
    """One logarithmic panel: every seed as a thin line, the mean as a thick one, targets as dashed ones."""
    sets = [(way.replace(", every ", " / "), [[p for p in line if p[1] > 0] for line in lines]) for way, lines in sets]
    values = [p[1] for _, lines in sets for line in lines for p in line] + targets
    low, high = min(values) / 1.2, max(values) * 1.2
    marks = [(m * 10.0 ** k, f"{m * 10.0 ** k:g}") for k in range(-9, 2) for m in (1, 3) if low <= m * 10.0 ** k <= high]
    right = LETTER * max(len(way) for way, _ in sets) + 16
    frame = picture.panel((86, top, WIDTH - 86 - right, height), Axis(0, max(p[0] for _, lines in sets for line in lines for p in line), "updates"),
                          Axis(low, high, y_label, log=True, marks=marks))
    ends = []
    for i, (way, lines) in enumerate(sets):
        for line in lines:
            frame.line(thinned(line, 100), i, width=0.8, opacity=0.5)
        means = [(x, mean) for x, mean, _, _ in mean_and_spread(lines)]
        frame.line(means, i)
        ends.append((means[-1][1], way, i))
    for i, target in enumerate(targets):
        frame.line([(0, target), (frame.x.high, target)], i, width=1.2, dashes="5 4")
    frame.beside(ends)


def svg(path, title, shares, divergences, targets):
    picture = Picture(TOP + 610, f"{title}: bytes and divergence of published policies",
                      "Thin: each seed. Thick: their mean. Dashed: the most that a way may take. The number is of updates between two publications.")
    panel(picture, TOP + 12, 240, "bytes sent / bytes in fp32", shares, targets)
    panel(picture, TOP + 320, 240, "divergence from fp32 (relative L2)", divergences, [])
    picture.save(path)


def main():
    own, rest = own_and_octets(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--svg")
    parser.add_argument("--records", help="file for the curves, a line of JSON a run, as docs/data/publication-acrobot.jsonl")
    parser.add_argument("--only", help="names of ways, separated by semicolons (see WAYS)")
    arguments = parser.parse_args(own)
    ways = arguments.only.split(";") if arguments.only else list(WAYS)
    shares, divergences, table = [], [], []
    for way in ways:
        settings, bar = WAYS[way]
        ratios, returns, lines, apart = [], [], [], []
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
                ended, rows, full = train(arguments.octet, arguments.preset, seed, settings, rest,
                                          pathlib.Path(folder) / "run")
            final = ended["return"] or {"mean": math.nan}
            ratio = ended["bytes"]["learner_to_each_actor"] / ended["publications"] / full
            ratios.append(ratio)
            returns.append(final["mean"])
            share, divergence = curves(rows, full)
            lines.append(share)
            apart.append(divergence)
            if arguments.records:
                append(arguments.records, {"bench": "publication", "preset": pathlib.Path(arguments.preset).stem, "way": way, "seed": seed, "share": share,
                                           "divergence": divergence})
            print(json.dumps({"bench": "publication", "preset": pathlib.Path(arguments.preset).stem, "way": way,
                              "seed": seed, "publications": ended["publications"], "updates": ended["updates"],
                              "share": round(ratio, 5), "one_in": round(1 / ratio, 2), "bar": round(bar, 5),
                              "reason": ended["reason"], "return": final["mean"],
                              "divergence": ended["divergence"]}), flush=True)
        spread = statistics.stdev(returns) if len(returns) > 1 else 0.0
        table.append(f"| {way} | 1/{1 / statistics.fmean(ratios):.1f} | 1/{1 / max(ratios):.1f} | 1/{1 / bar:.0f} | "
                     f"{statistics.fmean(returns):.1f} ± {spread:.1f} |")
        if way != "fp32, every 100":
            shares.append((way, lines))
            divergences.append((way, apart))
    print("\n| published | share of fp32, mean of seeds | largest | bar | return ± spread |\n|---|---|---|---|---|")
    print("\n".join(table))
    if arguments.svg:
        svg(arguments.svg, pathlib.Path(arguments.preset).stem, shares, divergences,
            [WAYS[way][1] for way, _ in shares])


if __name__ == "__main__":
    main()
