#!/usr/bin/env python3
"""The price of eight bits: methods of policy gradient with int8 and with fp32 actors, over several seeds.

usage: bench_price.py [--seeds 5] [--first-seed 1] [--octet build/release/cli/octet] [--svg FILE] [--records FILE]
                      [--runs FOLDER] [--presets cartpole-ppo,minatar/breakout-ppo,…]

Every run has the environment steps of STEPS, also after its goal, so that settings compare at equal experience. Prints
one line of JSON for each run and then a table in Markdown, means over seeds ± deviation:

  return    of the run's last version, which nobody selected, over evaluation.episodes greedy episodes
  ratio     mean pi(a|s) / mu(a|s) of the policy that learns and the one that acted
  clipped   share of ratios outside the clip (PPO: over all minibatches), or cut to algo.ratio_max (V-trace)
  KL        KL(mu||pi) in nats, estimated from the actions taken
  lag       versions between acting and learning

"aware" is quantisation-aware training: the learner's own products use the rounded weights. SAC has no ratio: it learns
values of its own actions, not of the actions that were taken.

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
from bench_chart import Axis, Picture, TOP, WIDTH, powers

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


LABELS, ROW = 130, 20  # pixels: of the settings' names; of a row


def rows_drawn(panel, bars):
    """bars: [(colour, mean, low, high)], one in each row."""
    for row, (colour, mean, low, high) in enumerate(bars):
        panel.line([(low, row + 0.5), (high, row + 0.5)], colour)
        panel.dot(mean, row + 0.5, colour, radius=4)


def means(found):
    """{preset: {setting: {"return": (mean, deviation), "log10_kl": the same of the logarithm of KL, which is at least 1e-9}}}"""
    return {preset: {label: {"return": spread(runs, "return"),
                             "log10_kl": spread([{"kl": math.log10(max(run["kl"], 1e-9))} for run in runs if "kl" in run], "kl")}
                     for label, runs in settings.items()} for preset, settings in found.items()}


def svg(path, found):
    """Of each preset a row of each setting: return and KL divergence. found: of means()."""
    height = sum(ROW * len(settings) + 72 for settings in found.values())
    picture = Picture(TOP + 10 + height, "What int8 actors cost: return, and how far actors are from the learner's policy",
                      "Dot: mean over seeds. Line: one standard deviation. Left: return. Right: KL divergence of the policy that acted, in nats.")
    colours = {label: i for i, label in enumerate(SETTINGS)}
    top, half = TOP + 26, (WIDTH - LABELS) // 2
    for preset, settings in found.items():
        rows = Axis(len(settings), 0, marks=[(row + 0.5, "") for row in range(len(settings))])
        for row, label in enumerate(settings):
            picture.text(LABELS - 10, top + ROW * (row + 0.5) + 4, label, kind=colours[label], anchor="end")
        returns = [(colours[label], *of["return"]) for label, of in settings.items()]
        low, high = min(mean - std for _, mean, std in returns), max(mean + std for _, mean, std in returns)
        room = 0.06 * (high - low)
        box = (LABELS, top, half - 30, ROW * len(settings))
        rows_drawn(picture.panel(box, Axis(low - room, high + room, "return"), rows, preset), [(colour, mean, mean - std, mean + std) for colour, mean, std in returns])
        logs = [(colours[label], *of.get("log10_kl", (math.nan, math.nan))) for label, of in settings.items()]
        if not any(math.isnan(mean) for _, mean, _ in logs):
            bars = [(colour, *(10 ** value for value in (mean, mean - std, mean + std))) for colour, mean, std in logs]
            least, most = min(bar[2] for bar in bars) / 1.3, max(bar[3] for bar in bars) * 1.3
            marks = [(value * step, f"{value * step:.0e}" if value * step < 1e-3 else f"{value * step:g}") for value in powers(least / 10, most)
                     for step in ((1,) if most / least > 30 else (1, 2, 5)) if least <= value * step <= most]
            panel = picture.panel((LABELS + half + 10, top, half - 30, ROW * len(settings)), Axis(least, most, "KL divergence, nats", log=True, marks=marks), rows)
            rows_drawn(panel, bars)
        top += ROW * len(settings) + 72
    picture.save(path)


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
        svg(arguments.svg, means(found))


if __name__ == "__main__":
    main()
