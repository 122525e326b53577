#!/usr/bin/env python3
"""The price of eight bits: methods of policy gradient with int8 and with fp32 actors, over several seeds.

usage: bench_price.py [--seeds 5] [--first-seed 1] [--octet build/release/cli/octet] [--svg FILE] [--records FILE]
                      [--runs FOLDER] [--presets cartpole-ppo,minatar/breakout-ppo,…]

Every run has the environment steps of STEPS, whatever it reaches, so that settings compare at equal experience. Prints
one line of JSON for each run and then a table in Markdown, means over seeds ± deviation:

  return    of the run's last version, which nobody selected, over evaluation.episodes greedy episodes
  ratio     mean pi(a|s) / mu(a|s) of the policy that learns and the one that acted
  clipped   share of ratios outside the clip (PPO: over all minibatches), or cut to algo.ratio_max (V-trace)
  KL        KL(mu||pi) in nats, estimated from the actions taken
  lag       versions between acting and learning

"aware" is quantisation-aware training: the learner's own products use the rounded weights. SAC has no ratio: it learns
values of its own actions, whatever was done.

The numbers of a run are means over its rows of metrics.csv. With lag 0 (PPO) ratio and KL come from eight bits alone;
elsewhere those of fp32 actors are the share of lag. The answer is checked first: fp32 actors at lag 0 must
give ratio 1 and KL 0, or nothing is measured (exit 1). --svg draws returns and divergences (at least 1e-9) with
deviations over seeds.
--records adds each run's line to a file; what it has already, at as many steps, is not run again. --runs as in
bench_learning.py.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

import bench_learning
import bench_records

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = {"cartpole-ppo": 20000, "pendulum-ppo": 150000, "cartpole-vtrace": 400000, "pendulum-vtrace": 1500000,
         "pendulum-sac": 30000, "dmc/cheetah_run-ppo": 300000, "minatar/breakout-ppo": 1000000,
         "dmc/cheetah_run-vtrace": 300000, "minatar/breakout-vtrace": 2000000, "dmc/cheetah_run-sac": 100000}
SETTINGS = {  # what the table calls it: [of which algorithms, arguments]
    "fp32": ["ppo vtrace sac", ["policy.precision=fp32"]],
    "int8": ["ppo vtrace sac", []],
    "int8, decoupled": ["ppo", ["algo.correction=decoupled"]],
    "int8, none": ["ppo", ["algo.correction=none"]],
    "int8, aware": ["ppo vtrace sac", ["learner.quantisation_aware=true"]],
}
NUMBERS = ["ratio_mean", "ratio_clipped", "kl", "sample_lag"]
CHECK = ("cartpole-ppo", 8000)  # at lag 0
SAME_RATIO, SAME_KL = 1e-6, 1e-9  # of the same policy; of its int8 form both are 40 times as far off or more


def rows_of(run):
    lines = (run / "metrics.csv").read_text(encoding="utf-8").splitlines()
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]


def means_of(rows):
    """{name: mean over the rows that have it}."""
    found = {name: [float(row[name]) for row in rows if row.get(name)] for name in NUMBERS}
    return {name: statistics.fmean(values) for name, values in found.items() if values}


def trained(octet, preset, steps, seed, settings, folder):
    """One run: its numbers."""
    arguments = []
    # Noise on the means would be in the ratio, too.
    for setting in [*settings, "algo.mean_noise=0", f"run.env_steps={steps}", "run.stop_at_return=none"]:
        arguments += ["--set", setting]
    ended, wall_s, _ = bench_learning.train(octet, ROOT / f"presets/{preset}.yaml", seed, arguments, folder)
    last = ended.get("last_return") or ended["return"]
    return {"return": last["mean"], "wall_s": wall_s, "env_steps": ended["env_steps"], "updates": ended["updates"],
            "commit": ended["commit"], **means_of(rows_of(folder / f"run-{seed}"))}


def check(octet):
    preset, steps = CHECK
    for name, wanted in (("fp32", "the same"), ("int8", "others")):
        with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
            one = trained(octet, preset, steps, 1, SETTINGS[name][1], pathlib.Path(folder))
        is_same = abs(one["ratio_mean"] - 1) < SAME_RATIO and abs(one["kl"]) < SAME_KL
        if one["sample_lag"] != 0 or is_same != (wanted == "the same"):
            sys.exit(f"{preset}, {name} actors at lag 0: ratio {one['ratio_mean']}, KL {one['kl']}, lag "
                     f"{one['sample_lag']}: the policies of actors and learner should be {wanted}")


def recorded(path):
    """{(preset, setting, seed): run}, of runs with today's STEPS."""
    if not path:
        return {}
    return {(line["preset"], line["setting"], line["seed"]): line for line in bench_records.lines(pathlib.Path(path))
            if line["steps"] == STEPS[line["preset"]]}


def measure(arguments):
    """{preset: {setting: [run]}}."""
    found, known = {}, recorded(arguments.records)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
        for preset in arguments.presets.split(","):
            for label, (algorithms, settings) in SETTINGS.items():
                if preset.split("-")[-1] not in algorithms:
                    continue
                place = pathlib.Path(arguments.runs or folder) / preset / label.replace(", ", "-")
                place.mkdir(parents=True, exist_ok=True)
                for seed in seeds:
                    if (preset, label, seed) in known:
                        found.setdefault(preset, {}).setdefault(label, []).append(known[preset, label, seed])
                        continue
                    one = trained(arguments.octet, preset, STEPS[preset], seed, settings, place)
                    found.setdefault(preset, {}).setdefault(label, []).append(one)
                    line = {"bench": "price", "preset": preset, "setting": label, "seed": seed, "steps": STEPS[preset], **one}
                    print(json.dumps(line), flush=True)
                    if arguments.records:
                        bench_records.append(arguments.records, line)
    return found


def spread(runs, name):
    """(mean, deviation) over seeds."""
    values = [run[name] for run in runs if name in run]
    if not values:
        return math.nan, math.nan
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def table(found):
    print("| preset | actors, correction | thousand env steps | return: mean ± deviation, least | ratio | clipped | KL | lag |")
    print("|---|---|---|---|---|---|---|---|")
    for preset, settings in found.items():
        for label, runs in settings.items():
            value, deviation = spread(runs, "return")
            ratio, clipped, divergence, lag = (spread(runs, name) for name in NUMBERS)
            compared = (f"{ratio[0]:.4f} ± {ratio[1]:.4f} | {100 * clipped[0]:.1f} ± {100 * clipped[1]:.1f} % | "
                        f"{divergence[0]:.2g} ± {divergence[1]:.2g}" if not math.isnan(ratio[0]) else "– | – | –")
            print(f"| {preset} | {label} | {statistics.fmean(run['env_steps'] for run in runs) / 1e3:.0f} | "
                  f"{value:.1f} ± {deviation:.1f}, {min(run['return'] for run in runs):.1f} | "
                  f"{compared} |" + (" – |" if math.isnan(lag[0]) else f" {lag[0]:.1f} |"))


PANEL, GAP, LEFT, TOP, HEIGHT = 180, 60, 70, 46, 170


def panel(out, x0, y0, title, bars, exponents):
    """bars: [(colour, mean, deviation)]; exponents: the values are logarithms of base 10."""
    low = min(mean - deviation for _, mean, deviation in bars)
    high = max(mean + deviation for _, mean, deviation in bars)
    pad = (high - low) * 0.1 or 1.0
    low, high = low - pad, high + pad

    def place(y):
        return y0 + HEIGHT * (high - y) / (high - low)

    out.append(f'<text x="{x0}" y="{y0 - 8}" fill="#111827">{title}</text>')
    for y in bench_learning.ticks(low, high, 4):
        shown = f"{10 ** y:.2g}" if exponents else f"{y:.4g}"
        out += [f'<line x1="{x0}" y1="{place(y):.1f}" x2="{x0 + PANEL}" y2="{place(y):.1f}" stroke="#e5e7eb"/>',
                f'<text x="{x0 - 6}" y="{place(y) + 4:.1f}" text-anchor="end" fill="#374151">{shown}</text>']
    for i, (colour, mean, deviation) in enumerate(bars):
        x = x0 + PANEL * (i + 0.5) / len(bars)
        out += [f'<line x1="{x:.1f}" y1="{place(mean - deviation):.1f}" x2="{x:.1f}" '
                f'y2="{place(mean + deviation):.1f}" stroke="{colour}" stroke-width="2"/>',
                f'<circle cx="{x:.1f}" cy="{place(mean):.1f}" r="4" fill="{colour}"/>']


def svg(path, found):
    """Above returns, below divergences, whose means and deviations are those of their logarithms."""
    width, height = LEFT + len(found) * (PANEL + GAP), TOP + 2 * (HEIGHT + GAP)
    colours = dict(zip(SETTINGS, [*bench_learning.COLOURS, "#dc2626"]))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for i, (preset, settings) in enumerate(found.items()):
        x0 = LEFT + i * (PANEL + GAP)
        returns, divergences = [], []
        for label, runs in settings.items():
            returns.append((colours[label], *spread(runs, "return")))
            logs = [{"kl": math.log10(max(run["kl"], 1e-9))} for run in runs if "kl" in run]
            divergences.append((colours[label], *spread(logs, "kl")))
        panel(out, x0, TOP, f"{preset}: return", returns, False)
        if not any(math.isnan(mean) for _, mean, _ in divergences):
            panel(out, x0, TOP + HEIGHT + GAP, "KL(mu||pi), nats", divergences, True)
    for i, (label, colour) in enumerate(colours.items()):
        out.append(f'<text x="{LEFT + 150 * i}" y="{height - 20}" fill="{colour}">■ {label}</text>')
    out.append("</svg>\n")
    pathlib.Path(path).write_text("\n".join(out), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--presets", default=",".join(STEPS))
    parser.add_argument("--svg")
    parser.add_argument("--records")
    parser.add_argument("--runs")
    arguments = parser.parse_args()
    check(arguments.octet)
    found = measure(arguments)
    table(found)
    if arguments.svg:
        svg(arguments.svg, found)


if __name__ == "__main__":
    main()
