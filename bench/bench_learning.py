#!/usr/bin/env python3
"""Learning over several seeds: octet train as a user types it, timed from outside.

usage: bench_learning.py PRESET [--seeds 5] [--octet build/release/cli/octet] [--svg FILE]
                         [--records FILE] [--runs FOLDER] [--compare KEY=VALUE]... [-- arguments for octet train...]

Prints one line a seed and the medians: wall seconds of the whole command (process start to exit, evaluations
included); the CPU seconds of all of its processes, and joules where they were measured; the greedy return of the int8 policy that ships (the run's result, an evaluation on fresh episodes that decides
nothing, and octet eval of the file with another seed); the return of the run's last version and the mean of its last
ten short evaluations, which nothing selected; environment steps and updates. --compare runs the same
seeds again with one setting changed (policy.precision=fp32, say). --svg draws every seed's evaluations, their mean and its spread.
--records adds one line of JSON a run to FILE, for bench/learning_grid.py: summary, times and evaluations. A run that has
a line there is taken from it.
--runs keeps the run folders, FOLDER/PRESET/SETTING/SEED, and takes a run that is finished there as it is: a measurement
that was stopped continues where it stopped.
What a folder or a line has of another preset, or with other arguments for octet train, is refused.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_chart import Axis, Picture, WIDTH, from_zero
from bench_jobs import locked
from bench_records import append, key, lines

SPLIT = ("infer", "env", "collect", "wait")  # what the acting threads did
HERE = pathlib.Path(__file__).resolve().parent
DONE = "bench_learning.json"  # in a run folder: it is finished
MARKS = {"0.5M": 500000, "1M": 1000000, "2M": 2000000, "3M": 3000000, "4M": 4000000, "10M": 10000000}  # environment steps at which returns are published
NEAR, JUST = 0.12, 0.002  # evaluations count for a number of steps from this share before it to that share behind it, where a run of so many ends


def finished(run, wall_s, **what):
    """Says in the folder of a run that it is finished, and what it is, for who comes again."""
    (run / DONE).write_text(json.dumps({"wall_s": wall_s, **what}), encoding="utf-8")


def preset_name(preset):
    """As octet presets prints it, wherever the tree is; of another file its path."""
    path = pathlib.Path(preset)
    if path.suffix != ".yaml":
        return str(preset)
    parts = path.with_suffix("").parts
    return "/".join(parts[parts.index("presets") + 1:]) if "presets" in parts else str(path.resolve())


def words(preset, arguments):
    """A run's preset and arguments as one would type them; they are None where nothing says what they are."""
    return "an unknown preset" if preset is None else " ".join([preset, *(arguments or [])])


def be_same(run, there, what):
    """Ends the program if the run in a folder is another one. there, what: {"preset": …, "arguments": …}."""
    if there != what:
        sys.exit(f"{run}: the run there is of {words(**there)}, not of {words(**what)}. Name another folder.")


def own_and_octets(words):
    """Arguments of the benchmark, and those behind -- for octet train."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def made_run(octet, preset, seed, arguments, run):
    """Trains into the folder run; gives the wall seconds of the command. A run that fails ends the program."""
    command = [octet, "train", preset, "--run-dir", run, "--seed", str(seed), *arguments]
    begin = time.monotonic()
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wall_s = time.monotonic() - begin
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return wall_s


def read_run(run):
    """Summary and rows of metrics.csv."""
    lines = (run / "metrics.csv").read_text(encoding="utf-8").splitlines()
    names = lines[0].split(",")
    return (json.loads((run / "summary.json").read_text(encoding="utf-8")),
            [dict(zip(names, line.split(","))) for line in lines[1:]])


def train(octet, preset, seed, arguments, folder):
    """Makes a run, or takes the finished one of the folder: what measured() says of it."""
    run, name = folder / f"run-{seed}", preset_name(preset)
    with locked(run):
        if not (run / DONE).exists():
            shutil.rmtree(run, ignore_errors=True)
            finished(run, made_run(octet, preset, seed, arguments, run), preset=name, arguments=arguments)
        done = json.loads((run / DONE).read_text(encoding="utf-8"))
    be_same(run, {"preset": done.get("preset"), "arguments": done.get("arguments")}, {"preset": name, "arguments": arguments})
    return measured(octet, seed, run)


def measured(octet, seed, run):
    """Of a finished run: (its summary.json, wall seconds, [(wall_s, env_steps, return)])."""
    done = json.loads((run / DONE).read_text(encoding="utf-8"))
    ended, rows = read_run(run)
    shown = subprocess.run([octet, "eval", run / "policy.oct", "--episodes", "100", "--seed",
                            str(900000 + seed)], capture_output=True, text=True, check=True).stdout
    ended["again"] = float(re.search(r"(-?\d+(\.\d+)?)\s*±", shown)[1])
    rows = [row for row in rows if row["eval_return"]]
    points = sorted((made(row, "wall_s"), made(row, "env_steps"), float(row["eval_return"])) for row in rows)
    ended["screens_at"] = screens_at(rows)
    if ended["return"]:
        points.append((ended["learner_wall_s"], ended["env_steps"], ended["return"]["mean"]))
    return ended, done["wall_s"], points


def made(row, name):
    """Where the policy of a row's evaluation was made; in rows of an earlier release, where the row ended."""
    return float(row.get(f"eval_{name}", row[name]))


def shortly_before(curve, steps):
    """The mean return of [(env_steps, return)] shortly before so many steps; None if nothing is there."""
    near = [value for at, value in curve if (1 - NEAR) * steps <= at <= (1 + JUST) * steps]
    return statistics.fmean(near) if near else None


def screens_at(rows):
    """Means of the evaluations shortly before so many environment steps, of versions that nothing had selected.

    A screen has fewer episodes than the evaluation that confirms a good one. rows: those of metrics.csv with a return.
    """
    fewest = min((float(row["eval_episodes"]) for row in rows), default=0)
    screens = [(made(row, "env_steps"), float(row["eval_return"])) for row in rows if float(row["eval_episodes"]) == fewest]
    found = {}
    for name, steps in MARKS.items():
        mean = shortly_before(screens, steps)
        if mean is not None and float(rows[-1]["env_steps"]) >= 0.98 * steps:  # the run came that far
            found[name] = mean
    return found


def unselected(ended):
    """Returns of the run's last version and of its last ten screens; NaN where there were none."""
    last, screens = ended.get("last_return") or {}, ended.get("last_screens") or {}
    return last.get("mean", math.nan), screens.get("mean", math.nan)


def record(preset, label, seed, arguments, ended, wall_s, points):
    """What the tables and pictures of several presets are made of: a line of RECORDS."""
    final = ended["return"] or {}
    last, screens = unselected(ended)
    return {
        "preset": pathlib.Path(preset).stem, "env": ended["env"], "setting": label, "seed": seed,
        "arguments": arguments, "commit": ended["commit"], "goal": ended["goal"], "solved": ended["solved"],
        "reason": ended["reason"], "wall_s": wall_s, "return": final.get("mean", math.nan), "std": final.get("std", math.nan),
        "episodes": final.get("episodes"), "stage": final.get("stage"), "last_return": last,
        "last_screens": screens, "screens_at": ended["screens_at"], "again": ended["again"], "env_steps": ended["env_steps"],
        "updates": ended["updates"], "env_steps_per_s": ended["env_steps_per_s"],
        "updates_per_s": ended["updates_per_s"], "learner_wait_share": ended["learner_wait_share"],
        "actor_seconds": ended["actor_seconds"], "cpu_s": ended["energy"]["cpu_s"],
        "daemon_cpu_s": {name: daemon["cpu_s"] for name, daemon in ended["daemons"].items()},
        "joules": ended["energy"]["joules"], "points": points}


def env_of(octet, preset, arguments):
    """The environment in which octet train runs a preset with these arguments."""
    named = [word for word in arguments if word.removeprefix("--set=").startswith("env.id=")]
    if named:
        return named[-1].partition("env.id=")[2]
    shown = subprocess.run([octet, "config", "--check", preset, "--resolved"], capture_output=True, text=True, check=False)
    found = re.search(r'^env:\n  id: "(.*)"$', shown.stdout, re.M)
    if not found:
        sys.exit(f"{preset}: {shown.stdout}{shown.stderr}")
    return found[1]


def recorded(octet, preset, arguments, label, records):
    """{seed: record} of the runs that RECORDS has already."""
    known = {key(line): line for line in lines(pathlib.Path(records))} if records else {}
    env = env_of(octet, preset, arguments) if known else None
    found = {seed: line for (*of, seed), line in known.items() if of == [pathlib.Path(preset).stem, env, label]}
    for seed, line in found.items():
        if line.get("arguments") != arguments:
            sys.exit(f"{records}: its line for seed {seed} of {line['preset']} ({env}, {label}) is of a run with "
                     f"{line.get('arguments', 'unknown arguments')}, not with {arguments}. Name another file.")
    return found


def mean_of(values, digits=0):
    """For a cell of a table; "" if there is none. Values that are None do not count."""
    values = [value for value in values if value is not None]
    return f"{statistics.fmean(values):.{digits}f}" if values else ""


def deviation_of(values, digits=0):
    """What follows the mean of several seeds."""
    values = [value for value in values if value is not None]
    return f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""


def measure(octet, preset, seeds, arguments, label, records, runs=None):
    """Prints each run and the medians: ([curve] of the seeds, their goal or None)."""
    rows, curves, splits = [], [], []
    known = recorded(octet, preset, arguments, label, records)
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
        for seed in seeds:
            one = known.get(seed)
            if one is None:
                place = pathlib.Path(runs or folder) / pathlib.Path(preset).stem / label.replace("/", "-") / f"{seed}"
                place.mkdir(parents=True, exist_ok=True)
                one = record(preset, label, seed, arguments, *train(octet, preset, seed, arguments, place))
                if records:
                    append(records, one)
            rows.append([one[name] for name in ("wall_s", "return", "again", "env_steps", "updates", "solved", "last_return",
                                                "last_screens", "cpu_s")])
            curves.append(one["points"])
            total = sum(one["actor_seconds"].values()) or 1.0
            splits.append([one["actor_seconds"][k] / total for k in SPLIT])
            print(f"{label:24s} seed {seed}: {one['reason']:7s} {one['wall_s']:6.2f} s  return "
                  f"{one['return']:8.2f} ± {one['std']:6.2f}  again {one['again']:8.2f}  last {one['last_return']:8.2f}  "
                  f"screens {one['last_screens']:8.2f}  steps {one['env_steps']:8d}  updates {one['updates']:7d}", flush=True)
    columns = list(zip(*rows))
    spread = statistics.stdev(columns[1]) if len(rows) > 1 else 0.0
    print(json.dumps({
        "bench": "learning", "preset": pathlib.Path(preset).stem, "setting": label, "seeds": len(rows),
        "solved": sum(columns[5]), "wall_s_median": round(statistics.median(columns[0]), 3),
        "wall_s_max": round(max(columns[0]), 3), "cpu_s_median": round(statistics.median(columns[8]), 3), "return_median": round(statistics.median(columns[1]), 2),
        "return_mean": round(statistics.fmean(columns[1]), 2), "return_spread": round(spread, 2),
        "return_min": round(min(columns[1]), 2), "again_min": round(min(columns[2]), 2),
        "last_mean": round(statistics.fmean(columns[6]), 2), "last_min": round(min(columns[6]), 2),
        "screens_mean": round(statistics.fmean(columns[7]), 2),
        "env_steps_median": statistics.median(columns[3]), "updates_median": statistics.median(columns[4]),
        "env_steps_per_s_median": round(statistics.median(c[3] / c[0] for c in rows)),
        "actor_share": {k: round(statistics.fmean(c), 4) for k, c in zip(SPLIT, zip(*splits))},
    }), flush=True)
    return curves, one["goal"]


def svg(path, title, sets, goal=None):
    """Evaluations over environment steps, a panel of each setting: each seed, their mean and its spread. sets: [(label, [points of a seed])]."""
    sets = [(label, [[(p[1], p[2]) for p in curve] for curve in curves]) for label, curves in sets]
    points = [p for _, curves in sets for curve in curves for p in curve]
    picture = Picture(400, title, f"Thick: mean of {len(sets[0][1])} seeds. Band: one standard deviation. Thin: each seed; one that has ended keeps its last return.")
    x = Axis(0, max(p[0] for p in points) * 1.01, "environment steps", count=6 // len(sets))
    width = (WIDTH - 62) // len(sets)
    for k, (label, curves) in enumerate(sets):
        y = from_zero([*(p[1] for p in points), *([goal] if goal is not None else [])], "return of an evaluation" if k == 0 else "", count=7)
        panel = picture.panel((72 + width * k, 82, width - 32, 262), x, y, label)
        if goal is not None:
            panel.across(goal, f"goal {goal:g}")
        panel.curves(curves, k)
    picture.save(path)


def main():
    own, rest = own_and_octets(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--svg")
    parser.add_argument("--records")
    parser.add_argument("--runs")
    parser.add_argument("--compare", action="append", default=[])
    arguments = parser.parse_args(own)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    settings = [("int8", rest), *((setting, [*rest, "--set", setting]) for setting in arguments.compare)]
    sets = []
    for label, words_of in settings:
        curves, goal = measure(arguments.octet, arguments.preset, seeds, words_of, label, arguments.records, arguments.runs)
        sets.append((label, curves))
    if arguments.svg:
        svg(arguments.svg, f"{pathlib.Path(arguments.preset).stem}: return of the published policy", sets, goal=goal)


if __name__ == "__main__":
    main()
