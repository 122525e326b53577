#!/usr/bin/env python3
"""End-to-end tests of sweeps and of comparisons of runs: see e2e.py.

usage: e2e_sweep.py OCTET TEST
"""

import csv
import itertools
import json
import math
import os
import re
import subprocess
import sys

from e2e import BUILD, CARTPOLE, DEADLINE_S, OCTET, children, data, finish, interrupt, printed, python_with, scratch, start, summary, train
from daemons import run_named, wait_for

SHORT = ["--set", "run.env_steps=60000", "--set", "run.stop_at_return=none"]
ENDLESS = ["--set", "run.env_steps=1e9", "--set", "run.stop_at_return=none", "--set", "learner.checkpoint_s=0.2"]


def sweep(folder, *arguments):
    """All output in FOLDER.out, as of a run."""
    command = [OCTET, "sweep", *arguments] + ([] if "--resume" in arguments else [CARTPOLE])
    return start([*command, "--sweep-dir", folder], f"{folder}.out")


def recorded(folder):
    return json.loads((folder / "sweep.json").read_text(encoding="utf-8"))


def states(folder):
    return [run["state"] for trial in recorded(folder)["trials"] for run in trial["runs"]]


def compare(*arguments):
    printed = subprocess.run([OCTET, "compare", *arguments, "--json"], capture_output=True, text=True, check=True,
                             timeout=DEADLINE_S)
    return json.loads(printed.stdout)


def reached(run, column, threshold):
    """Where the first policy was made whose last evaluation but its result is at least the threshold; None: there is none."""
    with open(run / "metrics.csv", encoding="utf-8") as file:
        last = {float(row[f"eval_{column}"]): float(row["eval_return"]) for row in csv.DictReader(file)
                if row["eval_return"] and row["eval_stage"] != "3"}
    return min((made for made, mean in last.items() if mean >= threshold), default=None)


def has_learned(run):
    """It has a checkpoint, and updates behind it."""
    path = run / "metrics.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()[:-1])) if path.exists() else []
    return (run / "checkpoint.oct").exists() and any(float(row["updates"] or 0) > 0 for row in rows)


def event_steps(run):
    """Of the records of a run's TensorBoard file; the first one, the version, has none."""
    (path,) = run.glob("events.out.tfevents.*")
    left, steps = path.read_bytes(), []
    while left:
        length = int.from_bytes(left[:8], "little")
        event, left = left[12:12 + length], left[16 + length:]
        if event[9] == 0x10:
            digits = itertools.takewhile(lambda at: at == 10 or event[at - 1] & 0x80, range(10, length))
            steps.append(sum((event[at] & 0x7F) << 7 * (at - 10) for at in digits))
    return steps


def mean_std(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else None


def assert_spread(spread, values):
    values = [v for v in values if v is not None]
    assert spread["count"] == len(values), (spread, values)
    if values:
        mean, std = mean_std(values)
        for name, want in [("mean", mean), ("std", std), ("min", min(values)), ("max", max(values))]:
            assert spread[name] == want or math.isclose(spread[name], want, rel_tol=1e-6, abs_tol=1e-9), (name, spread, values)


def test_sweep_runs_each_trial_and_compares_them():
    """What compare says is worked out again from metrics.csv and summary.json."""
    with scratch() as home:
        folder = home / "s"
        text = finish(sweep(folder, "--over", "algo.learning_rate=1e-3,5e-3", "--seeds", "2", "--jobs", "2", *SHORT), folder, 0)
        assert states(folder) == ["finished"] * 4, text
        assert (folder / "sweep.svg").exists() and "picture " in text, text
        page = (folder / "sweep.html").read_text(encoding="utf-8")
        assert all(f"trial-000{i}-seed-{k}" in page for i in [1, 2] for k in [1, 2])
        for trial in recorded(folder)["trials"]:
            rate = float(trial["values"]["algo.learning_rate"])
            for run in trial["runs"]:
                config = (folder / run["folder"] / "config.yaml").read_text(encoding="utf-8")
                assert re.search(rf"^  learning_rate: {rate!r}$", config, re.M), config
                assert re.search(rf"^  seed: {run['seed']}$", config, re.M), config
                assert run["return"] == summary(folder / run["folder"])["return"]["mean"]
        said = compare(folder, "--threshold", "40")
        assert len(said["groups"]) == 2
        for group in said["groups"]:
            runs = [folder / os.path.basename(run["folder"]) for run in group["runs"]]
            assert len(runs) == 2
            for column, spread in group["to_threshold"].items():
                assert_spread(spread, [reached(run, column, 40) for run in runs])
            finals = [summary(run)["return"] for run in runs]
            assert_spread(group["return"], [r["mean"] if r["final"] else None for r in finals])


def test_stopped_sweep_goes_on_where_its_runs_were():
    with scratch() as home:
        folder = home / "s"
        process = sweep(folder, "--over", "algo.n_step=5,20", "--seeds", "2", "--jobs", "2", *ENDLESS)
        first, second = folder / "trial-0001-seed-1", folder / "trial-0001-seed-2"
        for run in [first, second]:
            wait_for(f"{run.name} has learned", lambda r=run: has_learned(r))
        # The jobs' processes have CPUs of their own, where there are two.
        shares = [{cpu for pid in children(run) for cpu in os.sched_getaffinity(pid)} for run in [first, second]]
        assert len(os.sched_getaffinity(0)) < 2 or not shares[0] & shares[1], shares
        text = interrupt(process, folder)
        assert states(folder) == ["stopped", "stopped", "waiting", "waiting"], text
        assert "--resume --sweep-dir" in text, text
        wait_for("nobody is left", lambda: not children(first) and not children(second))
        before = summary(first)["updates"]
        assert before > 0
        # The budget is the base's: what was trained so far is beyond it, so each run ends soon.
        base = (folder / "base.yaml").read_text(encoding="utf-8")
        (folder / "base.yaml").write_text(re.sub(r"^  env_steps: \d+$", "  env_steps: 20000", base, flags=re.M),
                                          encoding="utf-8")
        for run in [first, second]:
            config = (run / "config.yaml").read_text(encoding="utf-8")
            (run / "config.yaml").write_text(re.sub(r"^  env_steps: \d+$", "  env_steps: 20000", config, flags=re.M),
                                             encoding="utf-8")
        text = finish(sweep(folder, "--resume", "--jobs", "2"), folder, 0)
        assert "0 of 4 runs are done" in text, text
        assert states(folder) == ["finished"] * 4, text
        assert "resuming from" in (folder / "log/trial-0001-seed-1.log").read_text(encoding="utf-8")
        assert summary(first)["updates"] >= before
        text = finish(sweep(folder, "--resume"), folder, 0)
        assert "4 of 4 runs are done" in text, text
        for name in ("sweep.svg", "sweep.html"):  # what cannot be written is a failure of the command
            (folder / name).unlink()
            (folder / name).mkdir()
            text = finish(sweep(folder, "--resume"), folder, 1)
            assert f"{name}': Is a directory" in text, text
            (folder / name).rmdir()


def test_killed_sweep_leaves_no_orphan_and_goes_on():
    with scratch() as home:
        folder = home / "s"
        process = sweep(folder, "--over", "algo.n_step=5,20", *ENDLESS)
        first = folder / "trial-0001-seed-1"
        wait_for("it has learned", lambda: has_learned(first))
        process.kill()
        process.wait(DEADLINE_S)
        wait_for("nobody is left", lambda: not children(first))
        assert states(folder) == ["running", "waiting"]
        for path in [folder / "base.yaml", first / "config.yaml"]:
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"^  env_steps: \d+$", "  env_steps: 20000", text, flags=re.M), encoding="utf-8")
        finish(sweep(folder, "--resume"), folder, 0)
        assert states(folder) == ["finished"] * 2


def test_sweep_over_a_data_set_is_over_updates():
    """Its runs count no steps."""
    with scratch() as home:
        first, file, folder = home / "first", home / "pole.data", home / "s"
        finish(train(first, "--set", "run.env_steps=5000", "--set", "run.stop_at_return=none"), first)
        data("export", first, "--out", file)
        text = finish(sweep(folder, "--set", f"replay.data={file}", "--set", "run.updates=300", "--set", "run.stop_at_return=none",
                            "--set", "learner.metrics_s=0.1", "--over", "algo.n_step=1,5"), folder, 0)
        assert text.count(", 300 updates, ") == 2 and "300 updates\n" in text and "updates to it" in text, text
        assert " steps" not in text, text
        said = compare(folder)
        assert said["by"] == "updates", said
        for group in said["groups"]:
            assert group["curve"][-1][0] > 0, group
        for trial in recorded(folder)["trials"]:
            steps = event_steps(folder / trial["runs"][0]["folder"])
            assert steps[-1] == 300 and steps == sorted(steps), steps


def test_failed_trial_is_told_and_the_others_go_on():
    """A plug-in that crashes in its first step can be opened."""
    with scratch() as home:
        folder = home / "s"
        plug_in = f"{BUILD}/tests/envs/bad_crash.so"
        text = finish(sweep(folder, "--over", f"env.id=CartPole-v1,{plug_in}", *SHORT), folder, 1)
        assert states(folder) == ["finished", "failed"], text
        cause = "(actor-0|evaluator) crashed 5 times in a row, last time: was killed by signal 6 (.*); for details run 'octet env check "
        assert re.search(f"^trial 2 of 2, seed 1: env.id={plug_in}: failed: {cause}{plug_in}'$", text, re.M), text
        assert "bad_crash.so failed" in text and "1 of 2 runs failed" in text, text


def study_of(python, folder):
    """Optuna's own words on each trial of the journal: number, state, value, the sweep's number, parameters."""
    program = ("import json, sys, optuna; from optuna.storages import JournalStorage; "
               "from optuna.storages.journal import JournalFileBackend; "
               "study = optuna.load_study(study_name='octet', storage=JournalStorage(JournalFileBackend(sys.argv[1]))); "
               "print(json.dumps([[t.number, t.state.name, t.value, t.user_attrs['trial'], t.params] for t in study.trials]))")
    said = subprocess.run([python, "-c", program, folder / "optuna.log"], capture_output=True, text=True, check=True,
                          timeout=DEADLINE_S)
    return json.loads(said.stdout)


def test_optuna_chooses_and_goes_on():
    python = python_with("optuna")
    if python is None:
        return 77
    os.environ["OCTET_PYTHON"] = python
    with scratch() as home:
        folder = home / "s"
        process = sweep(folder, "--over", "algo.learning_rate=1e-4..1e-2", "--over", "algo.n_step=1,20", "--optuna", "4",
                        *SHORT)
        wait_for("a trial has ended", lambda: (folder / "sweep.json").exists() and "finished" in states(folder))
        process.kill()
        process.wait(DEADLINE_S)
        text = finish(sweep(folder, "--resume"), folder, 0)
        trials, study = recorded(folder)["trials"], study_of(python, folder)
        assert len(trials) == len(study) == 4, (text, study)
        for trial, (number, state, value, index, params) in zip(trials, study):
            assert (number, index) == (trial["number"] - 1,) * 2
            assert (state, trial["runs"][0]["state"]) in [("COMPLETE", "finished"), ("PRUNED", "pruned")], study
            if state == "COMPLETE":
                assert math.isclose(value, trial["return"], rel_tol=1e-9), study
            rate = float(trial["values"]["algo.learning_rate"])
            assert 1e-4 <= rate <= 1e-2 and math.isclose(rate, params["algo.learning_rate"], rel_tol=1e-3), study
            assert trial["values"]["algo.n_step"] == params["algo.n_step"] in ["1", "20"]
    return 0


def test_sweep_that_is_stopped_while_optuna_starts_goes_on():
    with scratch() as home:
        folder, begun, python = home / "s", home / "begun", home / "python"
        python.write_text(f"#!/bin/sh\ntouch {begun}\nexec sleep {DEADLINE_S}\n", encoding="utf-8")
        python.chmod(0o755)
        os.environ["OCTET_PYTHON"] = str(python)
        for arguments in (["--over", "algo.n_step=1,2", "--optuna", "2", *SHORT], ["--resume"]):
            process = sweep(folder, *arguments)
            wait_for("Optuna is started", begun.exists)
            begun.unlink()
            process.terminate()
            assert process.wait(DEADLINE_S) != 0
            assert recorded(folder)["trials"] == [], printed(folder)
    return 0


class Sampler:
    """The dialogue with octet_optuna.py."""

    def __init__(self, python, home, space):
        self.child = subprocess.Popen([python, OCTET.parent / "octet_optuna.py", home / "optuna.log", json.dumps(space), "0"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert "optuna" in json.loads(self.child.stdout.readline())

    def call(self, **request):
        print(json.dumps(request), file=self.child.stdin, flush=True)
        return json.loads(self.child.stdout.readline())

    def end(self):
        self.child.stdin.close()
        return self.child.wait(DEADLINE_S)


def test_optuna_tries_nothing_twice():
    python = python_with("optuna")
    if python is None:
        return 77
    with scratch() as home:
        space = [{"name": name, "kind": "list", "whole": False, "low": 0, "high": 0, "values": ["1", "2"]} for name in "xy"]
        tried = []
        for start_at in [0, 3]:  # and again, from the journal
            sampler = Sampler(python, home, space)
            for trial in range(start_at, start_at + 3):
                values = sampler.call(op="ask", trial=trial)["values"]
                assert (values is None) == (trial >= 4), (trial, values)
                if values is not None:
                    assert values not in tried, (values, tried)
                    tried.append(values)
                    sampler.call(op="tell", trial=trial, value=trial, pruned=False)
            assert sampler.end() == 0
    return 0


def test_optuna_finds_all_points_without_results():
    """Its sampler learns nothing while runs go on, and suggests the same point again and again."""
    python = python_with("optuna")
    if python is None:
        return 77
    with scratch() as home:
        space = [{"name": name, "kind": "list", "whole": False, "low": 0, "high": 0, "values": ["1", "2", "3", "4"]} for name in "xy"]
        space.append({"name": "z", "kind": "log", "whole": True, "low": 1, "high": 2, "values": []})
        sampler = Sampler(python, home, space)
        tried = set()
        for trial in range(32):
            values = sampler.call(op="ask", trial=trial)["values"]
            assert values is not None and values[2] in ("1", "2"), (trial, values)
            tried.add(tuple(values))
            if trial < 12:  # the others go on
                sampler.call(op="tell", trial=trial, value=1 if values[0] == "2" else 0, pruned=False)
        assert len(tried) == 32, tried
        assert sampler.call(op="ask", trial=32)["values"] is None
        assert sampler.end() == 0
    return 0


def test_optuna_prunes_below_the_median():
    python = python_with("optuna")
    if python is None:
        return 77
    with scratch() as home:
        space = [{"name": "x", "kind": "linear", "whole": False, "low": 0, "high": 1, "values": []}]
        sampler = Sampler(python, home, space)
        call = sampler.call
        for trial in range(6):
            first, again = call(op="ask", trial=trial), call(op="ask", trial=trial)
            assert first == again and 0 <= float(first["values"][0]) <= 1
            for step in [1, 10]:
                assert call(op="report", trial=trial, step=step, value=100 + trial) == {"prune": False}
            assert call(op="tell", trial=trial, value=100 + trial, pruned=False) == {}
        call(op="ask", trial=6)
        assert call(op="report", trial=6, step=1, value=1) == {"prune": False}  # too early
        assert call(op="report", trial=6, step=10, value=1) == {"prune": True}
        assert call(op="report", trial=6, step=10, value=500) == {"prune": True}  # it was said already
        for _ in range(2):
            assert call(op="tell", trial=6, value=None, pruned=True) == {}
        assert "error" in call(op="report", trial=77, step=1, value=1)
        assert sampler.end() == 1
        assert [state for _, state, *_ in study_of(python, home)] == ["COMPLETE"] * 6 + ["PRUNED"]
    return 0


if __name__ == "__main__":
    sys.exit(run_named(globals()))
