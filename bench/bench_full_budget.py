#!/usr/bin/env python3
"""Tasks with a fixed number of environment steps and no early stop: many runs in the background, one line of JSON each.

usage: bench_full_budget.py RECORDS [--steps 500000] [--tasks cheetah_run,...] [--seeds 3] [--first-seed 1] [--jobs N]
                            [--runs FOLDER] [--octet build/release/cli/octet] [--label TEXT] [--preset FILE] [-- arguments for octet train...]
       bench_full_budget.py RECORDS --table [--without SETTING]... [--alone SETTING [--brief]]

RECORDS is one line a run, as bench_learning.py writes them (learning_grid.py --longest draws them); a run that has a line there is
not made again. So the table grows whenever the command is given again, first with each task's first seed. Each task has its
own preset, or all have the one of --preset with another env.id. Runs in --runs that were cut off continue from their checkpoints,
and so do runs that ended there after fewer steps than --steps. What a folder or a line has of another preset, or with other arguments for
octet train, is refused. --jobs runs share the cores; each has a thread to learn and one
to act. Ctrl-C or SIGTERM ends them all, and they save what they have.

Results that nobody selected belong to a run: the short evaluations shortly before 0.5, 1, 2 and 4 million environment steps, its last
version, over evaluation.episodes after the end, and the policy that it ships, over 100 new ones by octet eval. --table prints
them for the longest runs of each task and setting, but those of --without, as a share of the best published return in
docs/data/control-suite-published.json; at 0.5 and 1 M all seeds that came so far. Below it, it counts the tasks by the best setting of
each, and by the setting of --alone. --brief prints one row for each task: the setting of --alone and the setting that ships most.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

from bench_jobs import Runs, run_all
from bench_learning import DONE, HERE, be_same, deviation_of, finished, mean_of, measured, own_and_octets, preset_name, record
from bench_records import append, lines, longest

# {task: {steps: {system: return}}}
PUBLISHED = json.loads((HERE.parent / "docs/data/control-suite-published.json").read_text(encoding="utf-8"))["returns"]
PRESETS = HERE.parent / "presets/dmc"


def begun(run):
    """Whether a run was cut off there: it has its configuration, and nothing that says that it is finished."""
    return (run / "config.yaml").exists() and not (run / DONE).exists()


def summary(run):
    return json.loads((run / "summary.json").read_text(encoding="utf-8"))


def be_begun_as(run, what):
    """Ends the program if the run that was begun there is another one. What it is stands beside its folder, which octet train makes."""
    path = run.with_name(f"{run.name}.json")
    if not (begun(run) or (run / DONE).exists()):
        path.write_text(json.dumps(what), encoding="utf-8")
        return
    be_same(run, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"preset": None, "arguments": None}, what)


def trained(runs, options, task, seed):
    """Makes a run or goes on with it: its folder. octet train lets no other one into it."""
    run = options.runs / options.label.replace("/", "-") / task / f"run-{seed}"
    run.parent.mkdir(parents=True, exist_ok=True)
    preset = [PRESETS / f"{task}.yaml"] if options.preset is None else [options.preset, "--set", f"env.id=dmc:{task}"]
    be_begun_as(run, {"preset": preset_name(preset[0]), "arguments": options.rest})
    if (run / DONE).exists():
        if summary(run)["env_steps"] >= options.steps:
            return run
        (run / DONE).unlink()
    what = ["--resume"] if begun(run) else [*preset, "--seed", str(seed), "--set", "run.stop_at_return=none", *options.rest]
    runs.run([options.octet, "train", *what, "--set", f"run.env_steps={options.steps}", "--run-dir", run, "--no-ui"])
    finished(run, summary(run)["learner_wall_s"])
    return run


def one(runs, options, job):
    """A line of RECORDS."""
    task, seed = job
    ended, wall_s, points = measured(options.octet, seed, trained(runs, options, task, seed))
    with runs.lock:
        append(options.records, record(f"{task}.yaml", options.label, seed, options.rest, ended, wall_s, points))
    print(f"{task:24s} seed {seed}: {wall_s / 60:5.1f} min, {ended['env_steps']} steps, {ended['updates']} updates, last version "
          f"{(ended.get('last_return') or {}).get('mean', math.nan):.1f}, policy {ended['again']:.1f}", flush=True)


def best(systems):
    return f"{max(systems.values())} {max(systems, key=systems.get)}" if systems else ""


def screens_at(lengths, mark):
    """What each seed had at a mark: a run that has gone on is in RECORDS at each of its lengths, and the shortest has that part."""
    return list({one["seed"]: one["screens_at"][mark] for length in sorted(lengths, reverse=True) for one in lengths[length]
                 if mark in one.get("screens_at", {})}.values())


def counted(what, shares, half):
    """One line: SHARES of the best published return by task, and whether HALF a million steps are enough for Acme's."""
    print(f"\n{what} Of {len(shares)} tasks, at least 95 % of the best published: {sum(share >= 0.95 for share in shares.values())}; "
          f"at least 85 %: {sum(share >= 0.85 for share in shares.values())}. "
          f"Shipped after 0.5 M steps, at least Acme's D4PG: {sum(half.values())} of {len(half)}.")


def best_of(by_setting):
    """The largest value of each task, from values by task and setting."""
    values = {}
    for (task, _), value in by_setting.items():
        values[task] = max(value, values.get(task, value))
    return values


def ships_most(ships):
    """The (task, setting) of each task with the largest of SHIPS, by task and setting."""
    return {max((key for key in ships if key[0] == task), key=ships.get) for task, _ in ships}


def by_length(records):
    """{(task, setting): {hundred thousand steps: [record]}}: of runs that ended at about the same length, each seed's longest."""
    lengths = {}
    for line in records:
        lengths.setdefault(round(line["env_steps"] / 1e5), []).append(line)
    found = {}
    for steps_e5, ended in lengths.items():
        for line in longest(ended):
            found.setdefault((line["preset"], line["setting"]), {}).setdefault(steps_e5, []).append(line)
    return found


HEADS = ("task", "setting", "seeds", "thousand steps", "minutes", "at 0.5 M", "at 1 M", "last version", "shipped policy", "share of best published")


def at_any_number_of_steps(rivals):
    """{"system steps": return}: up to 4 million steps, or at 100 million where nothing else is published."""
    comparable = {steps: systems for steps, systems in rivals.items() if steps != "100M"} or rivals
    return {f"{name} {steps}": value for steps, systems in comparable.items() for name, value in systems.items()}


def shipped(group):
    return f"**{statistics.fmean(one['again'] for one in group):.0f}**{deviation_of([one['again'] for one in group])}"


def percent(share):
    return "" if share is None else f"{100 * share:.0f} %"


def thousands(group):
    return f"{statistics.median(one['env_steps'] for one in group) / 1e3:.0f}"


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def every_setting(found, shares):
    """Markdown: a row for each task and setting, with its longest runs."""
    row(HEADS)
    print("|" + "---|" * len(HEADS))
    for (task, setting), lengths in sorted(found.items()):
        group = lengths[max(lengths)]
        row([task, setting, len(group), thousands(group), f"{statistics.median(one['wall_s'] for one in group) / 60:.1f}",
             mean_of(screens_at(lengths, "0.5M")), mean_of(screens_at(lengths, "1M")),
             f"{statistics.fmean(one['last_return'] for one in group):.0f}", shipped(group), percent(shares.get((task, setting)))])


def shipped_by(found, shares, key):
    """Three cells: what the longest runs of a task and setting ship, after how many steps with how many seeds, and its share."""
    if key not in found:
        return [""] * 3
    group = found[key][max(found[key])]
    return [shipped(group), f"{thousands(group)}, {len(group)}", percent(shares.get(key))]


def every_task(found, shares, ships, alone):
    """Markdown: a row for each task, with the setting ALONE and the one that ships more than it, if there is one."""
    row(["task", "best published", "Acme's D4PG, 0.5 M", f"{alone}: at 0.5 M", "shipped", "thousand steps, seeds", "share", "best setting", "shipped",
         "thousand steps, seeds", "share"])
    print("|" + "---|" * 11)
    for task, setting in sorted(ships_most(ships)):
        rivals = PUBLISHED.get(task, {})
        is_alone = round(ships.get((task, alone), -1)) >= round(ships[task, setting])
        others = ["the same", "", "", ""] if is_alone else [setting, *shipped_by(found, shares, (task, setting))]
        row([task, best(at_any_number_of_steps(rivals)), rivals.get("0.5M", {}).get("Acme D4PG", ""),
             mean_of(screens_at(found.get((task, alone), {}), "0.5M")), *shipped_by(found, shares, (task, alone)), *others])


def table(path, without, alone, is_brief):
    """Markdown: tasks in the order of the alphabet. The share is that of the best return that is published at any number of steps up to 4 million."""
    settings = {line["setting"] for line in lines(path)}
    for name in [*without, *([] if alone is None else [alone])]:
        if name not in settings:
            sys.exit(f"{path}: no line has the setting '{name}', only {sorted(settings)}")
    found = by_length([line for line in lines(path) if line["setting"] not in without])
    ships = {key: statistics.fmean(one["again"] for one in lengths[max(lengths)]) for key, lengths in found.items()}
    everybody = {task: at_any_number_of_steps(PUBLISHED.get(task, {})) for task, _ in found}
    shares = {(task, setting): value / max(everybody[task].values()) for (task, setting), value in ships.items() if everybody[task]}
    half = {(task, setting): statistics.fmean(one["again"] for one in lengths[5]) >= PUBLISHED[task]["0.5M"]["Acme D4PG"]
            for (task, setting), lengths in found.items() if 5 in lengths and "Acme D4PG" in PUBLISHED.get(task, {}).get("0.5M", {})}
    if is_brief:
        every_task(found, shares, ships, alone)
    else:
        every_setting(found, shares)
    counted("By the best setting of each task:", best_of(shares), best_of(half))
    if alone is not None:
        counted(f"By '{alone}' alone:", *({task: value for (task, setting), value in values.items() if setting == alone}
                                          for values in (shares, half)))


def parse():
    own, rest = own_and_octets(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=500000)
    parser.add_argument("--tasks", default=",".join(PUBLISHED))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/full-budget"))
    parser.add_argument("--octet", type=pathlib.Path, default=pathlib.Path("build/release/cli/octet"))
    parser.add_argument("--label", default="int8")
    parser.add_argument("--preset", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--alone")
    options = parser.parse_args(own)
    if options.brief and options.alone is None:
        parser.error("--brief needs --alone SETTING")
    options.rest, options.runs = rest, options.runs.resolve()
    options.tasks = options.tasks.split(",")
    for task in options.tasks:
        if not (PRESETS / f"{task}.yaml").exists():
            parser.error(f"--tasks: no preset '{task}' in {PRESETS}")
    return options


def main():
    options = parse()
    if options.table:
        table(options.records, options.without, options.alone, options.brief)
        return 0
    wanted = [(task, seed) for seed in range(options.first_seed, options.first_seed + options.seeds) for task in options.tasks]
    made = {(line["preset"], line["seed"]): line.get("arguments", options.rest) for line in lines(options.records)  # old lines have none
            if line["setting"] == options.label and line["env_steps"] >= options.steps}
    for task, seed in wanted:
        if made.get((task, seed), options.rest) != options.rest:
            sys.exit(f"{options.records}: its line for seed {seed} of {task} ({options.label}) is of a run with {made[task, seed]}, not with "
                     f"{options.rest}. Choose another --label or file.")
    jobs = [job for job in wanted if job not in made]
    print(f"{len(jobs)} runs to make, {options.jobs} at a time", flush=True)
    runs = Runs()
    return run_all(runs, lambda job: one(runs, options, job), jobs, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
