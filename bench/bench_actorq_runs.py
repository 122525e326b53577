#!/usr/bin/env python3
"""Time to a threshold with int8 against fp32 actors, by task and width of the policy, where acting decides and where learning does.

usage: bench_actorq_runs.py RECORDS [--octet build/release/cli/octet] [--tasks CartPole-v1] [--hidden 256,512,2048] [--regimes acting,learning]
                            [--seeds 5] [--first-seed 1] [--jobs N] [--runs FOLDER] [--steps N]
       bench_actorq_runs.py RECORDS --table [--tasks TASKS] [--actorq LINES --svg FILE [--alone RECORDS]]

One actor, one environment a call, three hidden layers, until 100 greedy episodes of the policy that the actor has come to the task's threshold (TASKS).

- CartPole-v1 by PPO: the actor makes the next rollout of 256 steps while the learner learns from the last (algo.rollout_lag 1), so that a run takes as
  long as the slower of the two.
- Acrobot-v1 and MountainCar-v0 by DQN with their presets, to the paper's thresholds.
- The paper's tasks of the Control Suite by D4PG with the preset dmc/long and smaller batches, to its thresholds: the ratio of samples to inserts makes the
  faster of actor and learner wait, there and with DQN.

"learning" is that as it is. "acting" gives the actor a share of a core (TASKS), by a control group of its own (version 1 or 2; needs root), as if the
learner were so much faster; learner, replay and evaluator have what they want. Only CartPole has settings for "learning".

--steps N ends a run of the Control Suite after N environment steps instead of at the threshold: what a step takes needs no policy that is good. With 3x2048 the
learner then takes fewer samples (WIDE), so that acting decides. Such runs have RECORDS and a table of their own.

RECORDS is one line of JSON a run, as bench_learning.py writes them; a run that has a line there is not made again. int8 and fp32 of a seed follow each
other; --jobs runs at once, which is for "acting": each of its actors leaves most of a core to others. Ctrl-C or SIGTERM ends them all.

Seconds are learner_wall_s, from the first actor's joining to the end of the run. What comes after the goal is in them: the evaluations of the last version
and of the result, 100 episodes each. "Training" is training_s, from the first sample to the goal, which also leaves out the filling of replay.

--table prints medians and ranges, of TASKS alone if they are named; "at equal steps" compares the seconds of a step, which luck with a seed does not touch. --svg draws the map: the model
of a run, max(acting, learning) a step, beside the runs; LINES are those of bench_actorq, for environments that cost more than CartPole. --alone has
runs with --steps, for the cells that have no others.
"""

import argparse
import errno
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
import typing

from bench_chart import Axis, Picture, TOP, WIDTH, from_zero
from bench_jobs import Runs, locked, run_all
from bench_learning import DONE, HERE, finished, measured, read_run, record
from bench_records import append, lines

PRESETS = HERE.parent / "presets"
PRECISIONS = ("int8", "fp32")
# Seconds from one evaluation to the next, in which a run of CartPole makes about a thousand steps, and one of cartpole_balance one or two thousand.
CARTPOLE_EVALUATE_S = {("acting", 256): {"int8": 0.076, "fp32": 0.17}, ("acting", 512): {"int8": 0.18, "fp32": 0.72}, ("acting", 2048): {"int8": 3, "fp32": 12},
                       ("learning", 256): {"int8": 0.03, "fp32": 0.035}, ("learning", 512): {"int8": 0.1, "fp32": 0.12},
                       ("learning", 2048): {"int8": 3, "fp32": 3}}
CARTPOLE = {"run.env_steps": 200000, "network.activation": "relu", "network.critic_hidden": [64, 64], "algo.rollout_lag": 1, "algo.sequence_steps": 256,
            "algo.epochs": 4, "algo.minibatches": 4, "algo.critic_learning_rate": 0.001, "learner.batch_size": 1, "learner.metrics_s": 0.02}
BALANCE_EVALUATE_S = {("acting", 256): {"int8": 1.5, "fp32": 2.1}, ("acting", 512): {"int8": 2.2, "fp32": 6}}
BALANCE = {"run.env_steps": 1000000, "env.options": "action_repeat=2", "algo.value_max": 200, "actor.noise_correlation": 0, "learner.batch_size": 64, "learner.metrics_s": 0.1, "learner.publish_period": 200,
           "replay.samples_per_insert": 32, "replay.min_size": 1000, "actor.noise": 0.2, "actor.noise_final": "same"}

# Two to five thousand steps, of which the fp32 actor with 3x512 makes 400 a second.
DQN_EVALUATE_S = {("acting", 256): {"int8": 0.8, "fp32": 1.4}, ("acting", 512): {"int8": 1.2, "fp32": 4.5}}
DMC = {"run.env_steps": 1000000, "network.critic_hidden": [256, 256], "learner.batch_size": 128, "learner.metrics_s": 1, "learner.publish_period": 200,
       "replay.samples_per_insert": 64, "replay.min_size": 1000}
DMC_RATES = {256: 0.001, 512: 0.0005, 2048: 0.0001}

DQN = {"run.env_steps": 1000000, "learner.metrics_s": 0.1, "learner.publish_period": 50}

# Of --steps: short evaluations, for the times that come with them.
STEPS = {"run.stop_at_return": "none", "evaluation.episodes": 2, "evaluation.screen_episodes": 1, "evaluation.period_s": 2}
WIDE = {"learner.batch_size": 64, "replay.samples_per_insert": 4, "learner.publish_period": 25}  # a version every 400 steps, as in DMC
WIDE_SHARE = 0.02


def dmc_evaluate_s(by_width):
    """Of {width: (seconds with int8, with fp32)} where acting decides."""
    return {("acting", width): dict(zip(PRECISIONS, both)) for width, both in by_width.items()}


class Task(typing.NamedTuple):
    """A task, and how it is trained: the rates by width, the seconds between evaluations by regime, width and precision."""

    preset: str
    threshold: float
    shares: dict  # of a core, by width, where acting decides
    settings: dict
    rates: dict
    evaluate_s: dict
    has_long_slices: bool = False  # of the share, one in a second, so that the policy stays in the caches for hundreds of steps


TASKS = {
    "CartPole-v1": Task("cartpole-ppo", 475, dict.fromkeys((256, 512, 2048), 0.05), CARTPOLE, {256: 0.0003, 512: 0.0002, 2048: 0.00005}, CARTPOLE_EVALUATE_S),
    "Acrobot-v1": Task("acrobot", -107.45, {256: 0.015, 512: 0.015}, DQN, {256: 0.0005, 512: 0.0003}, DQN_EVALUATE_S),
    "MountainCar-v0": Task("mountaincar", -120.62, {256: 0.015, 512: 0.015}, DQN, {256: 0.0005, 512: 0.0003}, DQN_EVALUATE_S),
    "dmc:cartpole_balance": Task("dmc/long", 941, {256: 0.005, 512: 0.005}, BALANCE, {256: 0.0005, 512: 0.0005, 2048: 0.0001}, BALANCE_EVALUATE_S),
    "dmc:finger_spin": Task("dmc/long", 810.32, {256: 0.005, 512: 0.003}, DMC, DMC_RATES, dmc_evaluate_s({256: (3.6, 5.2), 512: (9, 21)}), True),
    "dmc:walker_stand": Task("dmc/long", 947.74, {256: 0.02, 512: 0.01}, DMC, DMC_RATES, dmc_evaluate_s({256: (8, 8.4), 512: (16, 20)}), True),
    "dmc:reacher_hard": Task("dmc/long", 948.12, {256: 0.005, 512: 0.006}, DMC, DMC_RATES, dmc_evaluate_s({256: (3.5, 4.8), 512: (5, 11)}), True),
    "dmc:hopper_stand": Task("dmc/long", 836.41, {256: 0.02, 512: 0.016}, DMC, DMC_RATES, dmc_evaluate_s({256: (4, 4.5), 512: (6, 10)}), True),
    "dmc:cheetah_run": Task("dmc/long", 732.31, {256: 0.009, 512: 0.008}, DMC, DMC_RATES, dmc_evaluate_s({256: (4, 5), 512: (6, 12)}), True),
    "dmc:humanoid_stand": Task("dmc/long", 884.89, {256: 0.02, 512: 0.02}, DMC, DMC_RATES, {}, True),  # with --steps alone
    "dmc:humanoid_walk": Task("dmc/long", 649.91, {256: 0.02, 512: 0.02}, DMC, DMC_RATES, {}, True),
}
QUOTA_US, PERIOD_MAX_US = 1000, 1000000  # of a control group: the shortest slice that there is, the longest from one slice to the next
GONE_S, GONE_CHECK_S = 30, 0.05
WIDTHS = (256, 512, 2048)
MAP_X, MAP_HEIGHT = (0.05, 5.0), 260  # of a panel of the map: axis, pixels
ENVIRONMENTS = {"CartPole-v1": "none", "dmc:cheetah_run": "9 4", "dmc:humanoid_stand": "2 3"}  # how their lines are drawn


class Group:
    """A control group whose processes have a share of a core together."""

    def __init__(self, name, share, is_long):
        one = pathlib.Path("/sys/fs/cgroup/cpu")
        self.path = (one if one.is_dir() else one.parent) / name
        self.path.mkdir()
        period = PERIOD_MAX_US if is_long else round(QUOTA_US / share)
        quota = round(share * period)
        if one.is_dir():
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            self.limit, self.none = self.path / "cpu.cfs_quota_us", "-1"
            self.limit.write_text(str(quota))
        else:
            self.limit, self.none = self.path / "cpu.max", "max"
            self.limit.write_text(f"{quota} {period}")

    def take(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def close(self):
        """With its share, a process that was stopped is still there for seconds."""
        self.limit.write_text(self.none)
        for _ in range(round(GONE_S / GONE_CHECK_S)):
            try:
                self.path.rmdir()
                return
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            time.sleep(GONE_CHECK_S)
        self.path.rmdir()


def child(parent, name):
    """The process that parent has started by that name; None while there is none."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            said, _, rest = (entry / "stat").read_text().rpartition(")") if entry.name.isdigit() else ("", "", "")
        except OSError:
            continue
        if said.endswith(f"({name}") and int(rest.split()[1]) == parent:
            return int(entry.name)
    return None


def share(name, width):
    """Of a core, that the actor has where acting decides."""
    return TASKS[name].shares.get(width, WIDE_SHARE)


def preset(name):
    return PRESETS / f"{TASKS[name].preset}.yaml"


def trained(runs, options, job, run):
    name, regime, width, seed, precision = job
    task = TASKS[name]
    is_wide = width not in task.shares
    shutil.rmtree(run, ignore_errors=True)  # one that was cut off
    sets = {**task.settings, "env.id": name, "actor.envs": 1, "network.hidden": [width] * 3, "algo.learning_rate": task.rates[width], "policy.precision": precision}
    if options.steps:
        sets |= {**STEPS, "run.env_steps": options.steps, **(WIDE if is_wide else {})}
    else:
        sets |= {"run.stop_at_return": task.threshold, "evaluation.period_s": task.evaluate_s[regime, width][precision]}
    command = [options.octet, "train", preset(name), "--seed", str(seed), "--run-dir", run, "--no-ui"]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    group = Group(f"octet-bench-{os.getpid()}-{threading.get_ident()}", share(name, width), task.has_long_slices or is_wide) if regime == "acting" else None

    def hold(process):
        """Puts the actor into the group as soon as there is one."""
        while process.poll() is None:
            pid = child(process.pid, "octet-actor")
            if pid:
                group.take(pid)
                return
            time.sleep(0.002)

    try:
        runs.run(command, hold if group else None)
    finally:
        if group:
            group.close()
    finished(run, json.loads((run / "summary.json").read_text(encoding="utf-8"))["learner_wall_s"])


def one(runs, options, job):
    name, regime, width, seed, precision = job
    label = f"{regime} 3x{width} {precision}"
    with tempfile.TemporaryDirectory(prefix="octet-bench-") as temporary:
        place = label.replace(" ", "-") + (f"-{options.steps}" if options.steps else "")
        folder = (options.runs / name.replace(":", "-") / place) if options.runs else pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / f"run-{seed}"
        with locked(run):
            if not (run / DONE).exists():
                trained(runs, options, job, run)
        ended, wall_s, points = measured(options.octet, seed, run)
        more = {"step_ms": rate_ms(read_run(run)[1])} if options.steps else {}
    with runs.lock:
        append(options.records, {**record(preset(name), label, seed, ["--steps", options.steps] if options.steps else [], ended, wall_s, points), **more})
    print(f"{name} {label:24s} seed {seed}: {ended['reason']:7s} {wall_s:7.2f} s  steps {ended['env_steps']:7d}  again {ended['again']:6.1f}  "
          f"actor {ended['daemons']['actor-0']['cpu_s']:6.2f} s of CPU, learner {ended['daemons']['learner']['cpu_s']:6.2f}", flush=True)


def cells(path):
    """{(task, regime, width): {precision: [runs]}}, sorted."""
    found = {}
    for line in lines(path):
        regime, width, precision = line["setting"].split()
        found.setdefault((line["env"], regime, int(width[2:])), {}).setdefault(precision, []).append(line)
    return {key: of for key, of in sorted(found.items()) if len(of) == len(PRECISIONS)}


def median(runs, value):
    return statistics.median(map(value, runs))


def rate_ms(rows):
    """What a step takes, from the first row of metrics.csv with an update to the first one with all steps."""
    learning = [(float(row["wall_s"]), int(row["env_steps"])) for row in rows if int(row["updates"]) > 0]
    (began_s, first), (ended_s, last) = learning[0], next(row for row in learning if row[1] == learning[-1][1])
    return 1e3 * (ended_s - began_s) / (last - first)


def step_ms(run):
    """From the first evaluation to the last but the result's, so that neither the start nor the end is in it; short runs have it from rate_ms."""
    if "step_ms" in run:
        return run["step_ms"]
    points = run["points"][:-1]
    if len(points) > 1 and points[-1][1] > points[0][1]:
        return 1e3 * (points[-1][0] - points[0][0]) / (points[-1][1] - points[0][1])
    return 1e3 * run["wall_s"] / run["env_steps"]


def training_s(run):
    """By its rate, which is of that time."""
    return run["updates"] / run["updates_per_s"]


def place(name, regime, width, of):
    """A cell on the map: what learning from a step takes over what the fp32 actor takes for it, and int8's gain at equal steps."""
    fp32 = of["fp32"]
    acting = median(fp32, lambda run: run["daemon_cpu_s"]["actor-0"] / run["env_steps"]) / (share(name, width) if regime == "acting" else 1)
    return median(fp32, lambda run: run["daemon_cpu_s"]["learner"] / run["env_steps"]) / acting, median(fp32, step_ms) / median(of["int8"], step_ms)


def geometric_means(rows):
    """Of the columns of these ratios."""
    return [statistics.geometric_mean(column) for column in zip(*rows)]


def steps_table(found):
    """Of runs with --steps: what a step takes, and how much of it the learner would need."""
    print("| task | policy | seeds | thousand steps: int8, fp32 | ms a step: int8, fp32 | times | CPU ms a step: learner, int8 actor, fp32 actor | times, actor |\n"
          "|---|---|---|---|---|---|---|---|")
    means = {}
    for (name, _, width), of in found.items():
        def cpu_ms(precision, daemon):
            return median(of[precision], lambda run: 1e3 * run["daemon_cpu_s"][daemon] / run["env_steps"])
        ms = [median(of[p], step_ms) for p in PRECISIONS]
        cpu = [cpu_ms(p, "actor-0") for p in PRECISIONS]
        means.setdefault(width, []).append((ms[1] / ms[0], cpu[1] / cpu[0]))
        steps = ", ".join(f"{median(of[p], lambda run: run['env_steps'] / 1e3):.0f}" for p in PRECISIONS)
        print(f"| {name} | 3x{width} | {min(map(len, of.values()))} | {steps} | {ms[0]:.3g}, {ms[1]:.3g} | **{ms[1] / ms[0]:.2f}** | "
              f"{cpu_ms('fp32', 'learner'):.2g}, {cpu[0]:.2g}, {cpu[1]:.2g} | {cpu[1] / cpu[0]:.2f} |")
    for width, ratios in sorted(means.items()):
        run, actor = geometric_means(ratios)
        print(f"| geometric mean of {len(ratios)} | 3x{width} | | | | **{run:.2f}** | | {actor:.2f} |")


def table(found):
    if any(run.get("arguments") for of in found.values() for run in of["int8"]):
        steps_table(found)
        return
    print("| task, return | regime | policy | seeds | seconds of the run: int8 | fp32 | times | seconds of training: int8, fp32, times | steps: int8, fp32 | at equal steps | return of 100 more episodes: int8, fp32 | "
          "CPU s of the actor: int8, fp32 | CPU s of the evaluator |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    means = {}
    for (name, regime, width), of in found.items():
        def cell(precision):
            seconds = [run["wall_s"] for run in of[precision]]
            missed = sum(not run["solved"] for run in of[precision])
            return f"{statistics.median(seconds):.1f} [{min(seconds):.1f} to {max(seconds):.1f}]" + (f", {missed} not reached" if missed else "")
        def pair(value, form):
            return ", ".join(format(median(of[p], value), form) for p in PRECISIONS)
        ratio = median(of["fp32"], lambda r: r["wall_s"]) / median(of["int8"], lambda r: r["wall_s"])
        training = median(of["fp32"], training_s) / median(of["int8"], training_s)
        equal = median(of["fp32"], step_ms) / median(of["int8"], step_ms)
        means.setdefault((regime, width), []).append((ratio, training, equal))
        print(f"| {name}, {TASKS[name].threshold:g} | {regime} | 3x{width} | {min(map(len, of.values()))} | {cell('int8')} | {cell('fp32')} | **{ratio:.2f}** | "
              f"{pair(training_s, '.1f')}, {training:.2f} | "
              f"{pair(lambda r: r['env_steps'] / 1e3, '.0f')} k | {equal:.2f} | {pair(lambda r: r['again'], '.0f')} | "
              f"{pair(lambda r: r['daemon_cpu_s']['actor-0'], '.2f')} | {pair(lambda r: r['daemon_cpu_s']['evaluator'], '.2f')} |")
    has_tasks = len({name for name, *_ in found}) > 1
    for (regime, width), ratios in sorted(means.items()) if has_tasks else []:
        ratio, training, equal = geometric_means(ratios)
        print(f"| geometric mean of {len(ratios)} | {regime} | 3x{width} | | | | **{ratio:.2f}** | {training:.2f} | | {equal:.2f} | | | |")


def gains(path):
    """{(task, width): steps a second of an acting core with int8 over fp32's}, one environment a call, of bench_actorq's lines."""
    found = {(line["task"], int(line["hidden"][2:])): line["over_fp32"] for line in lines(path)
             if line["envs"] == 1 and line["precision"] == "int8"}
    return {key: gain for key, gain in found.items() if key[0] in ENVIRONMENTS}


def svg(path, reached, alone, core):
    """A panel of each width. Curves: max(acting, learning) a step with fp32 over the same with int8, for what an acting core gains; circles: the cells that were run."""
    low, high = MAP_X
    found = dict(sorted({**alone, **reached}.items()))
    picture = Picture(TOP + 30 + (MAP_HEIGHT + 74) * len(WIDTHS), "How many times as fast a run is with int8 actors",
                      "To the right: the learner's time for a step over the time of all fp32 actors for a step (n actors: n times as far to the right).")
    picture.key(14, TOP + 14, [(0, "model: CartPole"), (1, "model: cheetah_run", "dashed"), (2, "model: humanoid_stand", "dashed"), (3, "run, actors decide", "dot"),
                               (3, "run, the learner decides", "ring")])
    for k, hidden in enumerate(WIDTHS):
        cells_of = {key: place(*key, of) for key, of in found.items() if key[2] == hidden}
        gains_of = {task: core[task, hidden] for task in ENVIRONMENTS if (task, hidden) in core}
        panel = picture.panel((60, TOP + 62 + (MAP_HEIGHT + 74) * k, WIDTH - 84, MAP_HEIGHT),
                              Axis(low, high, "learning / acting with fp32" if k == len(WIDTHS) - 1 else "", log=True, marks=[0.1, 0.3, 1, 3]),
                              from_zero([*gains_of.values(), *(y for _, y in cells_of.values())], "times as fast"), f"Policy of 3x{hidden}")
        for i, (task, gain) in enumerate(gains_of.items()):
            xs = [low * (high / low) ** (n / 150) for n in range(151)]
            panel.line([(x, max(1, x) / max(1 / gain, x)) for x in xs], i, dashes=ENVIRONMENTS[task])
        runs_of = sorted((x, y, name.removeprefix("dmc:").removesuffix("-v1").removesuffix("-v0"), regime) for (name, regime, _), (x, y) in cells_of.items())
        for x, y, _, regime in runs_of:
            panel.dot(x, y, 3, radius=4, is_hollow=regime != "acting")
        panel.names([(x, y, name) for x, y, name, _ in runs_of])
    picture.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--octet", default="build/release/cli/octet")
    parser.add_argument("--tasks")
    parser.add_argument("--hidden", default="256,512,2048")
    parser.add_argument("--regimes", default="acting,learning")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--actorq", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--alone", type=pathlib.Path)
    options = parser.parse_args()
    unknown = set(options.tasks.split(",")) - set(TASKS) if options.tasks else set()
    if unknown:
        parser.error(f"--tasks: {', '.join(sorted(unknown))} is none of {', '.join(TASKS)}")
    if options.table:
        table({key: of for key, of in cells(options.records).items() if not options.tasks or key[0] in options.tasks.split(",")})
        if options.svg:
            svg(options.svg, cells(options.records), cells(options.alone) if options.alone else {}, gains(options.actorq))
        return 0
    tasks = (options.tasks or "CartPole-v1").split(",")
    for name in tasks:
        cells_of = TASKS[name].evaluate_s
        if options.steps:
            if options.regimes != "acting" or TASKS[name].preset != "dmc/long":
                parser.error(f"--steps is for the Control Suite and --regimes acting, not for {name} and {options.regimes}")
            continue
        for cell in [(regime, int(width)) for regime in options.regimes.split(",") for width in options.hidden.split(",")]:
            if cell not in cells_of:
                parser.error(f"{name} has no {cell[0]} 3x{cell[1]}, but {', '.join(f'{regime} 3x{width}' for regime, width in cells_of)}")
    known = lines(options.records)
    if any(bool(line.get("arguments")) != bool(options.steps) for line in known):
        parser.error(f"{options.records} has runs {'to thresholds' if options.steps else 'with --steps'}. Name another file.")
    made = {(line["env"], line["setting"], line["seed"]) for line in known}
    jobs = [(name, regime, int(width), seed, precision) for name in tasks for regime in options.regimes.split(",")
            for width in options.hidden.split(",") for seed in range(options.first_seed, options.first_seed + options.seeds) for precision in PRECISIONS
            if (name, f"{regime} 3x{width} {precision}", seed) not in made]
    runs = Runs()
    return run_all(runs, lambda job: one(runs, options, job), jobs, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
