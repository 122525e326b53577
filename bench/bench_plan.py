#!/usr/bin/env python3
"""octet plan beside what then happened: the predicted and the actual time until the budget of runs is spent.

usage: bench_plan.py [--octet build/release/cli/octet] [--records docs/data/plan.jsonl] [--rounds 3] [--seconds 120] [PRESET...]
       bench_plan.py --table RECORDS

For each preset (default: the ten of BUDGETS), and as often as --rounds says, octet plan runs first and then octet train with
the same experiment and seed. Both have a smaller run.env_steps than the preset where all of it would take longer than
--seconds, by the first plan; the run has no goal, so that it ends with its budget. The actual time is that from the start of
the daemons to the end of training, from their logs: evaluations after training do not belong to it.

A round appends one line of JSON to RECORDS, with the load of the machine before it (/proc/loadavg, of which the processes
that run at this moment), and how busy other programs kept the cores during the plan. --table prints the table of such a
file, with the medians of a preset's rounds; so does the measurement at its end.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from bench_records import append, lines

PRESETS = ["cartpole", "cartpole-ppo", "cartpole-vtrace", "acrobot", "mountaincar", "pendulum", "pendulum-sac", "toy_text/taxi",
           "minatar/asterix-vtrace", "dmc/cheetah_run"]
NEAR = 0.25  # a prediction counts as right within this share of what happened
STEPS_LEAST = 20000
HEADER = ("| preset | env steps | predicted, s | range, s | actual, s | actual / predicted | limit | memory predicted, MiB | rounds | load |\n"
          "|---|---|---|---|---|---|---|---|---|---|")


def octet_run(octet, *arguments):
    done = subprocess.run([octet, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"octet {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def settings(steps, seed):
    return ["--set", "run.stop_at_return=none", "--seed", seed, *(["--set", f"run.env_steps={steps}"] if steps else [])]


def plan(octet, preset, steps, seed):
    return json.loads(octet_run(octet, "plan", preset, "--json", *settings(steps, seed)))


def logged(path, name):
    """When a daemon logged a line of this id, in seconds since 1970."""
    found = re.search(rf"^(\S+)Z \S+ \w {name} ", path.read_text(encoding="utf-8"), re.M)
    return datetime.datetime.fromisoformat(found[1] + "+00:00").timestamp()


def train(octet, preset, steps, seed):
    """Seconds from the start of the daemons to the end of training; and what summary.json says."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        octet_run(octet, "train", preset, "--no-ui", "--run-dir", run, *settings(steps, seed))
        seconds = logged(run / "log/learner.log", "LEARNER-STOP") - logged(run / "log/replay.log", "REPLAY-START")
        return seconds, json.loads((run / "summary.json").read_text(encoding="utf-8"))


def affordable(octet, preset, seconds):
    """A round number of steps that takes about so long, or None for all of the preset's."""
    first = plan(octet, preset, None, 1)
    time_s, budget = first["time_s"]["mid"], first["budget"]["env_steps"]
    if time_s is None or time_s <= seconds:
        return None
    digits = 10 ** (len(str(int(budget * seconds / time_s))) - 1)
    return max(STEPS_LEAST, int(budget * seconds / time_s) // digits * digits)


def load():
    return pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()


def cpu():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return found[1] if found else "unknown"


def measured(octet, preset, steps, seed):
    before = load()
    planned = plan(octet, preset, steps, seed)
    actual_s, summary = train(octet, preset, steps, seed)
    return {"bench": "plan", "preset": preset, "seed": seed, "env_steps": int(planned["budget"]["env_steps"]), "plan": planned,
            "actual_s": actual_s, "updates": summary["updates"], "run_steps": summary["env_steps"],
            "load": before, "load_after": load(), "cores": len(os.sched_getaffinity(0)), "cpu": cpu(), "commit": summary["commit"]}


def row(rounds):
    low, mid, high = (statistics.median(one["plan"]["time_s"][name] for one in rounds) for name in ("low", "mid", "high"))
    actual = statistics.median(one["actual_s"] for one in rounds)
    ratio = statistics.median(one["actual_s"] / one["plan"]["time_s"]["mid"] for one in rounds)
    memory = statistics.median(one["plan"]["memory"]["total"] for one in rounds) / 2**20
    limits = ", ".join(sorted({one["plan"]["limit"]["is"] for one in rounds}))
    loads = [float(one["load"][0]) for one in rounds]
    return (f"| {rounds[0]['preset']} | {rounds[0]['env_steps'] / 1000:.0f} k | {mid:.1f} | {low:.1f} to {high:.1f} | {actual:.1f} | "
            f"{ratio:.2f} | {limits} | {memory:.0f} | {len(rounds)} | {min(loads):.1f} to {max(loads):.1f} |"), abs(ratio - 1) <= NEAR


def table(records):
    by_preset = {}
    for record in records:
        by_preset.setdefault(record["preset"], []).append(record)
    rows = [row(rounds) for rounds in by_preset.values()]
    return "\n".join([HEADER, *(text for text, _ in rows), "",
                      f"{sum(near for _, near in rows)} of {len(rows)} presets are within {NEAR:.0%}."])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", metavar="PRESET", nargs="*")
    parser.add_argument("--octet", type=pathlib.Path, default=pathlib.Path("build/release/cli/octet"))
    parser.add_argument("--records", type=pathlib.Path, default=pathlib.Path("docs/data/plan.jsonl"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    if options.table:
        print(table(lines(options.table)))
        return
    octet, made = options.octet.resolve(), []
    steps = {preset: affordable(octet, preset, options.seconds) for preset in options.presets or PRESETS}
    for seed in range(1, options.rounds + 1):
        for preset, budget in steps.items():
            made.append(measured(octet, preset, budget, seed))
            append(options.records, made[-1])
            print(row(made[-1:])[0], flush=True)
    print(table(made))


if __name__ == "__main__":
    main()
