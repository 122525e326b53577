#!/usr/bin/env python3
"""What fewer bits cost: finished policies quantised, and policies trained for it.

usage: bench_quantisation.py [--seeds 5] [--octet build/release/cli/octet] [--part ptq] [--part qat]
                             [--tasks cartpole,acrobot,mountaincar] [--set KEY=VALUE]... [--svg FOLDER]

ptq   trains each task's preset with fp32 actors and without policy.scale_observations, then quantises the policy by
      every way of choosing the range, as it is and with scaled observations (octet quantize), and plays each
      precision on the same fresh episodes. Tasks may also be dmc/NAME and minatar/NAME (bytes: never scaled).
qat   trains, at equal steps, with fp32 actors (quantised to 4 bits afterwards), with int4 actors, and with int4
      actors and learner.quantisation_aware; plays all three as int4 policies on fresh episodes. Both the best
      evaluated policy of a run and its last are measured: the last one was selected by nobody. --svg draws the
      evaluations while training, each of the policy that acts.

Prints one JSON line for each policy and, at the end, the tables in Markdown: means over seeds ± deviation.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import bench_learning
import bench_records

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPISODES = 100
FRESH_SEED = 900000  # of the episodes that are played afterwards
BUDGET = {"cartpole": 200000, "acrobot": 200000, "mountaincar": 600000}  # environment steps of part qat
WHICH = ["policy.oct", "policy_last.oct"]
PRECISIONS = ["fp32", "bf16", "fp16", "int8", "int4"]
RANGES = {  # what a table calls it: what octet quantize calls it
    "absmax": ["absmax"],
    "percentile 99": ["percentile", "--percentile", "99"],
    "mse": ["mse"],
    "absmax, calibrated": ["absmax", "--calibrate"],
    "mse, calibrated": ["mse", "--calibrate"],
}
SCALED = {
    "absmax, scaled": ["absmax", "--scale-observations"],
    "mse, scaled": ["mse", "--scale-observations"],
}
TENSOR = "absmax, tensor"
NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
ROW = re.compile(rf"^(fp32|bf16|fp16|int8|int4)\s+({NUMBER}) ± ({NUMBER})\s+({NUMBER})\s+"
                 rf"(?:-\s+-\s+-\s+-|({NUMBER}) ± ({NUMBER})\s+({NUMBER}) %\s+({NUMBER})\s+({NUMBER}))\s+(\d+)$",
                 re.M)
LAYER = re.compile(rf"error of the weights ({NUMBER}) \(relative L2\)")


def run(command):
    result = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def train(octet, task, seed, place, settings):
    """(summary, run folder, [(wall_s, steps, return)]) of a preset with some settings."""
    place.mkdir()
    arguments = [word for setting in settings for word in ("--set", setting)]
    ended, _, points = bench_learning.train(octet, ROOT / "presets" / f"{task}.yaml", seed, arguments, place)
    return ended, place / f"run-{seed}", points


def played(octet, policy, seed):
    """Mean, deviation and least of the returns of fresh episodes."""
    shown = run([octet, "eval", policy, "--episodes", EPISODES, "--seed", FRESH_SEED + seed])
    found = re.search(rf"return\s+({NUMBER}) ± ({NUMBER}) over \d+ episodes \(min ({NUMBER}),", shown)
    return [float(x) for x in found.groups()]


def quantised(octet, policy, seed, method, out, precision="int4"):
    """The table of octet quantize as {precision: numbers}, and the errors of the layers."""
    shown = run([octet, "quantize", policy, "--precision", precision, "--range", *method, "--out", out,
                 "--episodes", EPISODES, "--seed", FRESH_SEED + seed])
    rows = {}
    for row in ROW.finditer(shown):
        numbers = [math.nan if x is None else float(x) for x in row.groups()[1:]]
        rows[row[1]] = dict(zip(["return", "std", "least", "change", "change_error", "agreement", "outputs",
                                 "divergence", "bytes"], numbers))
    if set(rows) != set(PRECISIONS):
        sys.exit(f"octet quantize said\n{shown}")
    return rows, [float(x) for x in LAYER.findall(shown)]


def say(**row):
    print(json.dumps({"bench": "quantisation", **row}), flush=True)
    return row


def spread(values, digits=1):
    values = list(values)
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.{digits}f} ± {deviation:.{digits}f}"


# ---- finished policies


def ptq(octet, tasks, seeds, home, settings):
    results = []
    for task in tasks:
        for seed in seeds:
            place = home / f"ptq-{task.replace('/', '-')}-{seed}"
            _, folder, _ = train(octet, task, seed, place, ["policy.precision=fp32",
                                                            "policy.scale_observations=false", *settings])
            more = {} if task.startswith("minatar/") else SCALED
            for method, options in {**RANGES, **more, TENSOR: ["absmax", "--scale", "tensor"]}.items():
                precision = "int8" if method == TENSOR else "int4"
                rows, errors = quantised(octet, folder / "policy.oct", seed, options, place / "out.oct", precision)
                for name, numbers in rows.items():
                    scaled = name in ("int8", "int4")
                    if method == TENSOR and name != "int8" or not scaled and method != "absmax":
                        continue
                    label = method if scaled else "-"
                    results.append(say(part="ptq", task=task, seed=seed, precision=name, range=label,
                                       error=max(errors) if name == precision else None,
                                       **{k: round(v, 6) for k, v in numbers.items() if not math.isnan(v)}))
    return results


def ptq_table(results):
    tasks = list(dict.fromkeys(f["task"] for f in results))
    lines = ["| precision | range | " + " | ".join(f"{t} | agreement | KL or actions" for t in tasks) + " |",
             "|---|---|" + "---:|" * (3 * len(tasks))]
    for precision, label in dict.fromkeys((f["precision"], f["range"]) for f in
                                          sorted(results, key=lambda f: PRECISIONS.index(f["precision"]))):
        cells = []
        for task in tasks:
            some = [f for f in results if (f["task"], f["precision"], f["range"]) == (task, precision, label)]
            if not some:  # bytes are not scaled
                cells += ["-"] * 3
                continue
            far = precision != "fp32"
            cells += [spread(f["return"] for f in some),
                      f"{statistics.fmean(f['agreement'] for f in some):.2f} %" if far else "-",
                      f"{statistics.fmean(f['divergence'] for f in some):.1e}" if far else "-"]
        lines.append(f"| {precision} | {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


# ---- trained for it

INT4 = ["policy.precision=int4"]
ARMS = [
    ("fp32 actors, int4 after", ["policy.precision=fp32"]),
    ("int4 actors", INT4),
    ("int4 actors, quantisation-aware", [*INT4, "learner.quantisation_aware=true"]),
]


def as_int4(octet, policy, seed, arm, is_fp32, scratch):
    """{arm: mean, deviation, least} of a policy as int4; of an fp32 one also as it is."""
    if not is_fp32:
        return {arm: played(octet, policy, seed)}
    shown = {}
    for method, options in RANGES.items():
        rows, _ = quantised(octet, policy, seed, options, scratch)
        for name, label in [("fp32", "fp32 actors, fp32"), ("int4", f"{arm}: {method}")]:
            shown[label] = [rows[name][k] for k in ("return", "std", "least")]
    return shown


def qat(octet, tasks, seeds, home, settings, records):
    results, curves = [], {}
    for task in tasks:
        for number, (arm, extra) in enumerate(ARMS):
            for seed in seeds:
                place = home / f"qat-{task}-{number}-{seed}"
                summary, folder, points = train(octet, task, seed, place, [
                    f"run.env_steps={BUDGET[task]}", "run.stop_at_return=none", *settings, *extra])
                name = arm.split(", int4")[0]
                curves.setdefault(task, {}).setdefault(name, []).append(points)
                if records:
                    bench_records.append(records, {"bench": "quantisation", "task": task, "arm": name, "seed": seed, "points": points})
                for which in WHICH:
                    shown = as_int4(octet, folder / which, seed, arm, number == 0, place / "out.oct")
                    for label, (mean, std, least) in shown.items():
                        results.append(say(part="qat", task=task, seed=seed, policy=which, arm=label,
                                           env_steps=summary["env_steps"], updates=summary["updates"],
                                           evaluated=summary["return"] and summary["return"]["mean"],
                                           **{"return": mean, "std": std, "least": least}))
    return results, curves


def qat_table(results):
    tasks = list(dict.fromkeys(f["task"] for f in results))
    lines = ["| trained with | " + " | ".join(f"{t}, best | {t}, last" for t in tasks) + " |",
             "|---|" + "---:|" * (2 * len(tasks))]
    for arm in sorted(dict.fromkeys(f["arm"] for f in results), key=lambda a: not a.endswith("fp32")):
        cells = [spread(f["return"] for f in results
                        if (f["arm"], f["task"], f["policy"]) == (arm, task, which))
                 for task in tasks for which in WHICH]
        lines.append(f"| {arm} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--part", choices=["ptq", "qat"], action="append")
    parser.add_argument("--tasks", default="cartpole,acrobot,mountaincar")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every run")
    parser.add_argument("--svg", help="folder for quantisation-TASK.svg of part qat")
    parser.add_argument("--records", help="file for the curves of part qat, a line of JSON a run, as docs/data/quantisation.jsonl")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    tasks, parts = arguments.tasks.split(","), arguments.part or ["ptq", "qat"]
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as scratch:
        home = pathlib.Path(scratch)
        if "ptq" in parts:
            print(f"\n{ptq_table(ptq(arguments.octet, tasks, seeds, home, arguments.set))}\n", flush=True)
        if "qat" in parts:
            results, curves = qat(arguments.octet, tasks, seeds, home, arguments.set, arguments.records)
            print(f"\n{qat_table(results)}\n", flush=True)
            for task, sets in curves.items() if arguments.svg else []:
                bench_learning.svg(pathlib.Path(arguments.svg) / f"quantisation-{task}.svg",
                                   f"{task}: return of the policy that acts", list(sets.items()))


if __name__ == "__main__":
    main()
