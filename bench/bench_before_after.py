#!/usr/bin/env python3
"""Two builds beside each other: what a change must not make worse.

usage: bench_before_after.py BEFORE AFTER [--rounds 5] [--seeds 20] [--pendulum 5] [--cheetah 0] [--only NAME]...

BEFORE and AFTER are build folders (build/release), each inside its own source tree, whose presets it trains. They take
turns in one session, the first of a pair being another one each time, so that both meet the same neighbours. Prints a
table in Markdown: the median of each, their ratio, and what is worse by more than 3 %.

  cartpole, pendulum   training until solved, --seeds and --pendulum runs: seconds of training and of the whole command,
                       user and system CPU of each process, updates; wire bytes a step; bytes of a policy
  cheetah              the same of dmc:cheetah_run to 625, --cheetah runs (10 to 20 minutes each): updates
  actor                steps/s of an acting thread (bench_actor)
  replay               rows in and out of the table, per second of CPU (bench_replay)
  path                 the same through the daemon (bench_replay_path)
  learner              an update over the matrix products in it (bench_learner), a few cases
  memory               bytes that replay holds for each row, of CartPole, cheetah_run and Breakout

A time counts only where the answer is right: each policy is measured again, by the build that made it, over 100
episodes with another seed, and must reach the task's mark in as many runs as before, one in ten excepted; the
benchmarks check their own answers. Else it says so and exits 1.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# preset, mean return over 100 fresh episodes that counts as learned
TASKS = {
    "cartpole": ("cartpole.yaml", 475),
    "pendulum": ("pendulum.yaml", -200),
    "cheetah": ("dmc/cheetah_run.yaml", 575),  # stops at 625
}
TABLES = {"CartPole": "cartpole.yaml", "cheetah_run": "dmc/cheetah_run.yaml", "Breakout": "minatar/breakout.yaml"}
TABLE_ROWS = 200000
LEARNER_CASES = ["dqn_2x64_b128", "dqn_2x256_b256", "ddpg_2x64_b100", "d4pg_2x64_b100"]
PROCESSES = ("replay", "learner", "actor-0", "evaluator")
WORSE = 1.03


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.octet = self.folder / "cli" / "octet"
        self.presets = self.folder.parent.parent / "presets"
        if not self.octet.exists():
            sys.exit(f"{folder}: no build folder: no cli/octet in it")

    def run(self, command):
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, cwd=self.folder)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def lines(self, name, *arguments):
        """JSON lines of a benchmark."""
        out = self.run([self.folder / "bench" / name, *arguments])
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


class Table:
    """Rows of figures, one list for each build."""

    def __init__(self):
        self.rows = {}

    def add(self, name, which, value, more_is_better=False):
        row = self.rows.setdefault(name, {"values": ([], []), "more": more_is_better})
        if value is not None:
            row["values"][which].append(float(value))

    def print(self):
        print("| | before | after | after / before | |\n|---|---|---|---|---|")
        for name, row in self.rows.items():
            medians = [statistics.median(values) if values else None for values in row["values"]]
            shown = [figure(value) for value in medians]
            ratio, verdict = "", ""
            if None not in medians and medians[0] > 0:
                share = medians[1] / medians[0]
                ratio = f"{share:.3f}"
                worse = 1 / share if row["more"] and share > 0 else share
                verdict = "worse" if worse > WORSE else ""
            print(f"| {name} | {shown[0]} | {shown[1]} | {ratio} | {verdict} |")


def figure(value):
    if value is None:
        return "not measured"
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def order(builds, round_number):
    """Both, whose turn it is first."""
    both = list(enumerate(builds))
    return both if round_number % 2 == 0 else both[::-1]


def log_line(run, daemon, word):
    """Numbers of the last line of that id in a daemon's log, {} when there is none."""
    found = re.findall(rf"\b{word}\b (.*)", (run / "log" / f"{daemon}.log").read_text(encoding="utf-8"))
    return {key: float(value) for key, value in re.findall(r"(\w+)=(-?[\d.]+)(?=\s|$)", found[-1])} if found else {}


def train(build, preset, run, seed, *settings):
    build.run([build.octet, "train", build.presets / preset, "--no-ui", "--run-dir", run, "--seed", seed,
               *(f"--set={setting}" for setting in settings)])
    return json.loads((run / "summary.json").read_text(encoding="utf-8"))


def bench_task(name, builds, table, folder, runs):
    preset, mark = TASKS[name]
    learned, returns = [0, 0], [[], []]
    for seed in range(1, runs + 1):
        for which, build in order(builds, seed):
            run = folder / f"{name}-{which}-{seed}"
            ended = train(build, preset, run, seed)
            again = build.run([build.octet, "eval", run / "policy.oct", "--env", ended["env"], "--episodes", "100",
                               "--seed", 900000 + seed])
            returned = float(re.search(r"(-?\d+(\.\d+)?)\s*±", again)[1])
            returns[which].append(returned)
            learned[which] += returned >= mark
            stop = log_line(run, "replay", "REPLAY-STOP")
            table.add(f"{name}: training, s", which, ended["training_s"])
            table.add(f"{name}: whole command, s", which, ended["supervisor"]["wall_s"])
            table.add(f"{name}: updates", which, ended["updates"])
            table.add(f"{name}: environment steps", which, ended["env_steps"])
            table.add(f"{name}: updates/s", which, ended["updates_per_s"], True)
            for process in PROCESSES:
                table.add(f"{name}: CPU of {process}, s", which, ended["daemons"].get(process, {}).get("cpu_s"))
            table.add(f"{name}: CPU of learner, us an update", which,
                      1e6 * ended["daemons"]["learner"]["cpu_s"] / ended["updates"])
            table.add(f"{name}: CPU of replay, us an update", which,
                      1e6 * ended["daemons"]["replay"]["cpu_s"] / ended["updates"])
            if stop.get("inserts"):
                table.add(f"{name}: wire, bytes a step", which, stop["bytes_in"] / stop["inserts"])
            table.add(f"{name}: policy, bytes", which, ended["last_publication"]["bytes"])
            print(f"{name} seed {seed} {'before' if which == 0 else 'after'}: {ended['reason']}, "
                  f"{ended['training_s']:.2f} s, {ended['updates']} updates, again {returned:.1f}", file=sys.stderr)
    for which, side in enumerate(("before", "after")):
        print(f"{name}, {side}: {learned[which]} of {runs} policies reach {mark} over 100 fresh episodes; mean "
              f"{statistics.mean(returns[which]):.1f}, least {min(returns[which]):.1f}")
    return learned[1] >= learned[0] - runs / 10


def bench_actor(builds, table, rounds):
    for number in range(rounds):
        for which, build in order(builds, number):
            for line in build.lines("bench_actor"):
                if "steps_per_s" in line:
                    table.add(f"actor: {line['size']} {line['precision']}, steps/s", which, line["steps_per_s"], True)


def bench_replay(builds, table, rounds):
    for number in range(rounds):
        for which, build in order(builds, number):
            for line in build.lines("bench_replay"):
                # Before steps there was one order for all streams: it stands beside one stream and many.
                streams = [line["streams"]] if "streams" in line else [1, 128]
                for count in streams if re.search("insert|sample|update_prio", line["name"]) else []:
                    table.add(f"replay: {line['name'][7:].replace('_', ' ')}, streams: {count}, rows/s of CPU", which,
                              line["median"], True)


def bench_path(builds, table, rounds):
    for number in range(rounds):
        for which, build in order(builds, number):
            for line in build.lines("bench_replay_path", build.folder / "replay" / "octet-replay"):
                if "rate" in line:
                    table.add(f"path: {line['name'][12:].replace('_', ' ')}, rows/s", which, line["rate"], True)
                if "replay_cpu_s" in line:
                    table.add("path: CPU of replay, s", which, line["replay_cpu_s"])


def bench_learner(builds, table, rounds):
    for number in range(rounds):
        for which, build in order(builds, number):
            for line in build.lines("bench_learner", *LEARNER_CASES):
                table.add(f"learner: {line['case']}, update / products", which, line["ratio"])
                table.add(f"learner: {line['case']}, update, us", which, line["update"])


def bench_memory(builds, table, folder):
    for which, build in enumerate(builds):
        for name, preset in TABLES.items():
            for sampler in ("uniform", "prioritized"):
                run = folder / f"memory-{which}-{name}-{sampler}"
                train(build, preset, run, 1, "run.env_steps=2000", "replay.min_size=500", f"replay.sampler={sampler}",
                      "learner.batch_size=32", f"replay.capacity={TABLE_ROWS}", "actor.envs=8")
                budget = log_line(run, "replay", "REPLAY-BUDGET")
                # What does not grow with the table is not of its rows.
                rows = budget["bytes"] - budget["reply"] - budget["sessions"]
                table.add(f"memory: {name}, {sampler}, bytes a row", which, rows / TABLE_ROWS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--pendulum", type=int, default=5)
    parser.add_argument("--cheetah", type=int, default=0)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    builds = [Build(arguments.before), Build(arguments.after)]
    table, right = Table(), True
    with tempfile.TemporaryDirectory() as made:
        folder, rounds = pathlib.Path(made), arguments.rounds
        parts = {
            "memory": lambda: bench_memory(builds, table, folder),
            "actor": lambda: bench_actor(builds, table, rounds),
            "replay": lambda: bench_replay(builds, table, rounds),
            "path": lambda: bench_path(builds, table, rounds),
            "learner": lambda: bench_learner(builds, table, rounds),
            "cartpole": lambda: bench_task("cartpole", builds, table, folder, arguments.seeds),
            "pendulum": lambda: bench_task("pendulum", builds, table, folder, arguments.pendulum),
            "cheetah": lambda: arguments.cheetah == 0 or bench_task("cheetah", builds, table, folder,
                                                                    arguments.cheetah),
        }
        for name in arguments.only or parts:
            if name not in parts:
                sys.exit(f"--only {name}: one of {', '.join(parts)}")
            right = parts[name]() is not False and right
    print()
    table.print()
    if not right:
        sys.exit("fewer policies reach the mark than before: the times above do not count")


if __name__ == "__main__":
    main()
