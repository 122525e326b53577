#!/usr/bin/env python3
"""What publishing costs on whole training runs: bytes, divergence and return for several ways to publish.

usage: bench_publication.py PRESET [--seeds 3] [--first-seed 1] [--octet build/release/cli/octet] [--svg FILE] [--only "NAME;NAME"]
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

from bench_learning import made_run, own_and_octets, read_run, ticks

COLOURS = ["#2563eb", "#d97706", "#059669", "#9333ea", "#dc2626"]

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


def panel(out, title, sets, top, bars):
    """One logarithmic panel."""
    left, width, height = 80, 640, 230
    points = [p for _, lines in sets for line in lines for p in line if p[1] > 0]
    if not points:
        return
    x_max = max(p[0] for p in points) * 1.02
    values = [p[1] for p in points] + bars
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1

    def place(x, y):
        return left + width * x / x_max, top + height * (high - math.log10(y)) / (high - low)

    out.append(f'<text x="{left}" y="{top - 12}" font-size="15" fill="#111827">{title}</text>')
    for power in range(math.floor(low), math.ceil(high) + 1):
        for y in (10.0 ** power, 3 * 10.0 ** power):
            if low <= math.log10(y) <= high:
                _, py = place(0, y)
                out += [f'<line x1="{left}" y1="{py:.1f}" x2="{left + width}" y2="{py:.1f}" stroke="#e5e7eb"/>',
                        f'<text x="{left - 8}" y="{py + 4:.1f}" text-anchor="end" fill="#374151">{y:g}</text>']
    for i, bar in enumerate(bars):
        _, py = place(0, bar)
        out.append(f'<line x1="{left}" y1="{py:.1f}" x2="{left + width}" y2="{py:.1f}" '
                   f'stroke="{COLOURS[i % 5]}" stroke-dasharray="5 4"/>')
    for x in ticks(0, x_max):
        px, _ = place(x, 10 ** low)
        out.append(f'<text x="{px:.1f}" y="{top + height + 18}" text-anchor="middle" fill="#374151">{x:g}</text>')
    for i, (_, lines) in enumerate(sets):
        for line in lines:
            drawn = " ".join("{:.1f},{:.1f}".format(*place(*p)) for p in line if p[1] > 0)
            out.append(f'<polyline points="{drawn}" fill="none" stroke="{COLOURS[i % 5]}" stroke-width="1.6" '
                       'stroke-opacity="0.8"/>')


def svg(path, title, shares, divergences, bars):
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 640" font-family="sans-serif" font-size="13">',
           '<rect width="760" height="640" fill="#ffffff"/>']
    panel(out, f"{title}: bytes of a publication / bytes of the fp32 weights (dashed: the bar)", shares, 36, bars)
    panel(out, "divergence from the fp32 policy, relative L2 of the outputs", divergences, 330, [])
    out.append('<text x="400" y="600" text-anchor="middle" fill="#374151">updates</text>')
    for i, (label, _) in enumerate(shares):
        out.append(f'<text x="{15 + 150 * i}" y="625" font-size="12" fill="{COLOURS[i % 5]}">■ {label.replace(", every ", " / ")}</text>')
    out.append("</svg>\n")
    pathlib.Path(path).write_text("\n".join(out), encoding="utf-8")


def main():
    own, rest = own_and_octets(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--svg")
    parser.add_argument("--only", help="names of ways, parted by semicolons (see WAYS)")
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
