#!/usr/bin/env python3
"""Tasks with a fixed number of environment steps and no early stop: many runs in the background, one line of JSON each.

usage: bench_full_budget.py RECORDS [--steps 500000] [--tasks cheetah_run,...] [--seeds 3] [--first-seed 1] [--jobs N]
                            [--runs FOLDER] [--octet build/release/cli/octet] [--label TEXT] [-- arguments for octet train...]
       bench_full_budget.py RECORDS --table [--steps 500000]

RECORDS is one line a run, as bench_learning.py writes them (learning_grid.py draws them); a run that has a line there is
not made again. So the table grows whenever the command is given again, first with each task's first seed. Runs that were
cut off go on from their checkpoints in --runs. --jobs runs share the cores; each has a thread to learn and one to act.
Ctrl-C ends them all, and they save what they have.

Two results that nobody selected belong to a run: its last version, over evaluation.episodes after the end, and the policy that
it ships, over 100 new ones by octet eval. --table prints both beside the published returns at as many steps.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading

from bench_learning import DONE, HERE, finished, record, train

# Acme's D4PG after 500,000 steps without action repeat: means of ten seeds, as the scores published with DreamerV3 have
# them. The other tasks of the suite are not in that list.
ACME_500K = {
    "acrobot_swingup": 127, "ball_in_cup_catch": 966, "cartpole_balance": 999, "cartpole_balance_sparse": 973,
    "cartpole_swingup": 875, "cartpole_swingup_sparse": 750, "cheetah_run": 622, "finger_spin": 822,
    "finger_turn_easy": 595, "finger_turn_hard": 430, "hopper_hop": 78, "hopper_stand": 762, "pendulum_swingup": 759,
    "reacher_easy": 961, "reacher_hard": 943, "walker_run": 615, "walker_stand": 946, "walker_walk": 969,
}
PRESETS = HERE.parent / "presets/dmc"


class Stopped(Exception):
    """Ctrl-C: what runs is saved and goes on next time."""


class Runs:
    """The processes that run now, so that Ctrl-C reaches each of them once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.live, self.is_stopped = set(), False

    def run(self, command):
        """The exit status of a command, which gets SIGINT when all are stopped."""
        with self.lock:
            if self.is_stopped:
                raise Stopped
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True, start_new_session=True)
            self.live.add(process)
        _, errors = process.communicate()
        with self.lock:
            self.live.discard(process)
            if self.is_stopped:
                raise Stopped
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {process.returncode}\n{errors}")

    def stop(self):
        with self.lock:
            self.is_stopped = True
            for process in self.live:
                process.send_signal(signal.SIGINT)


def begun(run):
    """Whether a run was cut off there: it has its configuration, and nothing that says that it is finished."""
    return (run / "config.yaml").exists() and not (run / DONE).exists()


def trained(runs, options, task, seed):
    """Makes a run or goes on with it: its folder."""
    folder = options.runs / options.label.replace("/", "-") / task
    run = folder / f"run-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    if (run / DONE).exists():
        return folder
    what = ["--resume"] if begun(run) else [PRESETS / f"{task}.yaml", "--seed", str(seed), "--set", f"run.env_steps={options.steps}",
                                            "--set", "run.stop_at_return=none", *options.rest]
    runs.run([options.octet, "train", *what, "--run-dir", run, "--no-ui"])
    ended = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    finished(run, ended["learner_wall_s"])
    return folder


def one(runs, options, job):
    """A line of RECORDS."""
    task, seed = job
    folder = trained(runs, options, task, seed)
    ended, wall_s, points = train(options.octet, PRESETS / f"{task}.yaml", seed, options.rest, folder)
    with runs.lock:
        record(options.records, f"{task}.yaml", options.label, seed, ended, wall_s, points)
    print(f"{task:24s} seed {seed}: {wall_s / 60:5.1f} min, {ended['env_steps']} steps, {ended['updates']} updates, last version "
          f"{(ended.get('last_return') or {}).get('mean', math.nan):.1f}, policy {ended['again']:.1f}", flush=True)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(path, steps):
    """Markdown: tasks in the order of the alphabet."""
    found = {}
    for line in lines(path):
        if 0.97 * steps <= line["env_steps"] <= 1.1 * steps:
            found.setdefault((line["preset"], line["setting"]), []).append(line)
    beaten = compared = 0
    print("| task | setting | seeds | last version | shipped policy | least | Acme's D4PG | updates | minutes |\n|---|---|---|---|---|---|---|---|---|")
    for (task, setting), group in sorted(found.items()):
        last, again = [one["last_return"] for one in group], [one["again"] for one in group]
        published = ACME_500K.get(task) if steps == 500000 else None
        if published is not None:
            compared += 1
            beaten += statistics.fmean(again) >= published
        spread = f" ± {statistics.stdev(again):.0f}" if len(again) > 1 else ""
        print(f"| {task} | {setting} | {len(group)} | {statistics.fmean(last):.0f} | {statistics.fmean(again):.0f}{spread} | {min(again):.0f} | "
              f"{'' if published is None else published} | {statistics.median(one['updates'] for one in group) / 1e3:.1f} k | "
              f"{statistics.median(one['wall_s'] for one in group) / 60:.1f} |")
    if compared:
        print(f"\nShipped policy at least as good as Acme's D4PG: {beaten} of {compared}.")


def parse():
    own, rest = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, rest = own[:at], own[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=500000)
    parser.add_argument("--tasks", default=",".join(ACME_500K))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/full-budget"))
    parser.add_argument("--octet", type=pathlib.Path, default=pathlib.Path("build/release/cli/octet"))
    parser.add_argument("--label", default="int8")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args(own)
    options.rest, options.runs = rest, options.runs.resolve()
    options.tasks = options.tasks.split(",")
    for task in options.tasks:
        if not (PRESETS / f"{task}.yaml").exists():
            parser.error(f"--tasks: no preset '{task}' in {PRESETS}")
    return options


def main():
    options = parse()
    if options.table:
        table(options.records, options.steps)
        return 0
    made = {(line["preset"], line["seed"]) for line in lines(options.records)
            if line["setting"] == options.label and line["env_steps"] >= options.steps}
    jobs = [(task, seed) for seed in range(options.first_seed, options.first_seed + options.seeds) for task in options.tasks
            if (task, seed) not in made]
    runs, failed = Runs(), 0
    print(f"{len(jobs)} runs to make, {options.jobs} at a time", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(one, runs, options, job) for job in jobs]
        try:
            for done in concurrent.futures.as_completed(waiting):
                if isinstance(done.exception(), RuntimeError):
                    print(done.exception(), file=sys.stderr, flush=True)
                    failed += 1
                elif done.exception() is not None and not isinstance(done.exception(), Stopped):
                    raise done.exception()
        except KeyboardInterrupt:
            print("stopping: runs that were begun go on next time", file=sys.stderr, flush=True)
            runs.stop()
            for future in waiting:
                future.cancel()
            return 130
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
