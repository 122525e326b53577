#!/usr/bin/env python3
"""octet plan beside what then happened: the predicted and the actual time until the budget of runs is spent.

usage: bench_plan.py [--octet build/release/cli/octet] [--records docs/data/plan.jsonl] [--page docs/results/plan.md]
                     [--rounds 3] [--seconds 60] [PRESET...]
       bench_plan.py --table RECORDS

For each preset (default: the ten of PRESETS), and as often as --rounds says, octet plan runs first and then octet train with
the same experiment and seed. Both have a smaller run.env_steps than the preset where all of it would take longer than
--seconds, by a first plan; the run has no goal, so that it ends with its budget. The actual time is that from the start of
the daemons to the end of training, from their logs: evaluations after training do not belong to it.

Each round is one line of JSON in RECORDS, which is replaced, with the load of the machine before it (/proc/loadavg, whose
first number is the mean of a minute) and the cores that other programs kept busy, during the plan and during the run. Then
the table in PAGE is replaced, and the line below it that says where it was measured. --table prints the table of RECORDS
alone, with the medians of a preset's rounds.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from bench_records import append, lines

PRESETS = ["cartpole", "cartpole-ppo", "cartpole-vtrace", "acrobot", "mountaincar", "pendulum", "pendulum-sac", "toy_text/taxi",
           "minatar/asterix-vtrace", "dmc/cheetah_run"]
NEAR = 0.25  # a prediction counts as right within this share of what happened
STEPS_LEAST = 20000
HEADER = ("| preset | env steps | predicted, s | range, s | actual, s | actual / predicted | limit | memory, MiB | cores of others: plan, run |\n"
          "|---|---|---|---|---|---|---|---|---|")
PRINTED = re.compile(r"(<!-- printed: bench/bench_plan\.py .*? -->\n\n)((?:\|.*\n)+)")
WHERE = re.compile(r"^Measured on\b.*$", re.M)


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


def busy_s():
    """Seconds in which the machine's cores were busy, and those of our programs that have ended."""
    first = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, first[:7])
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime


def train(octet, preset, steps, seed):
    """Seconds from the start of the daemons to the end of training; cores that other programs kept busy; and summary.json."""
    begin, (machine, own) = time.monotonic(), busy_s()
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        octet_run(octet, "train", preset, "--no-ui", "--run-dir", run, *settings(steps, seed))
        machine_end, own_end = busy_s()
        others = (machine_end - machine - (own_end - own)) / (time.monotonic() - begin)
        seconds = logged(run / "log/learner.log", "LEARNER-STOP") - logged(run / "log/replay.log", "REPLAY-START")
        return seconds, max(0, others), json.loads((run / "summary.json").read_text(encoding="utf-8"))


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
    del planned["disk"]["folder"]  # a path of this machine
    actual_s, others, summary = train(octet, preset, steps, seed)
    return {"bench": "plan", "preset": preset, "seed": seed, "env_steps": int(planned["budget"]["env_steps"]), "plan": planned,
            "actual_s": actual_s, "others_cores": others, "updates": summary["updates"], "run_steps": summary["env_steps"],
            "load": before, "load_after": load(), "cores": len(os.sched_getaffinity(0)), "cpu": cpu(), "commit": summary["commit"]}


def row(rounds):
    """A line of the table, and whether the prediction was near."""
    low, mid, high = (statistics.median(one["plan"]["time_s"][name] for one in rounds) for name in ("low", "mid", "high"))
    actual = statistics.median(one["actual_s"] for one in rounds)
    ratio = statistics.median(one["actual_s"] / one["plan"]["time_s"]["mid"] for one in rounds)
    memory = statistics.median(one["plan"]["memory"]["total"] for one in rounds) / 2**20
    limits = ", ".join(sorted({one["plan"]["limit"]["is"] for one in rounds}))
    before = statistics.median(one["plan"]["cores"]["others"] for one in rounds)
    during = statistics.median(one["others_cores"] for one in rounds)
    return (f"| {rounds[0]['preset']} | {rounds[0]['env_steps'] / 1000:.0f} k | {mid:.1f} | {low:.1f} to {high:.1f} | {actual:.1f} | "
            f"{ratio:.2f} | {limits} | {memory:.0f} | {before:.1f}, {during:.1f} |"), abs(ratio - 1) <= NEAR


def table(records):
    by_preset = {}
    for record in records:
        by_preset.setdefault(record["preset"], []).append(record)
    rows = [row(rounds) for rounds in by_preset.values()]
    return "\n".join([HEADER, *(text for text, _ in rows), ""]), sum(near for _, near in rows), len(rows)


def page_write(page, records):
    """Puts the table of records into the page, and where they were measured."""
    text, near, count = table(records)
    loads = [float(record["load"][0]) for record in records]
    times = [(record["plan"]["time_s"], record["actual_s"]) for record in records]
    single = sum(abs(actual / time_s["mid"] - 1) <= NEAR for time_s, actual in times)
    inside = sum(time_s["low"] <= actual <= time_s["high"] for time_s, actual in times)
    where = (f"Measured on {records[0]['cpu']} with {records[0]['cores']} cores, commit {records[0]['commit']}, load {min(loads):.1f} to "
             f"{max(loads):.1f}. Medians of {len(records) / count:.0f} rounds: {near} of {count} predictions are within {NEAR:.0%}. Of the "
             f"{len(records)} single rounds {single} are within {NEAR:.0%}, and {inside} within the range that was printed.")
    old = page.read_text(encoding="utf-8")
    new = WHERE.sub(where, PRINTED.sub(lambda found: found[1] + text, old))
    page.write_text(new, encoding="utf-8")
    return where


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", metavar="PRESET", nargs="*")
    parser.add_argument("--octet", type=pathlib.Path, default=pathlib.Path("build/release/cli/octet"))
    parser.add_argument("--records", type=pathlib.Path, default=pathlib.Path("docs/data/plan.jsonl"))
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path("docs/results/plan.md"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    if options.table:
        print(table(lines(options.table))[0])
        return
    octet, made = options.octet.resolve(), []
    options.records.write_text("", encoding="utf-8")
    steps = {preset: affordable(octet, preset, options.seconds) for preset in options.presets or PRESETS}
    for seed in range(1, options.rounds + 1):
        for preset, budget in steps.items():
            made.append(measured(octet, preset, budget, seed))
            append(options.records, made[-1])
            print(row(made[-1:])[0], flush=True)
    print(table(made)[0])
    print(page_write(options.page, made))


if __name__ == "__main__":
    main()
