#!/usr/bin/env python3
"""Daemons of two releases work together: CartPole with every mixture of learner, replay and actors, and a run whose daemons
are replaced one by one. See script/test-upgrade.

usage: upgrade.py NEW OLD     two build folders

The evaluator is of the actors' release. Each run is in a folder of its own, over sockets in it. The last line says how many passed.
"""

import contextlib
import csv
import itertools
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import PATIENCE, kill_all, wait_for  # noqa: E402
from scenarios import broken_off  # noqa: E402

DEADLINE_S = 150 * PATIENCE
PROGRAMS = {"replay": "replay/octet-replay", "learner": "learner/octet-learner", "actor": "actor/octet-actor",
            "evaluator": "actor/octet-actor", "octet": "cli/octet"}
DAEMONS = [name for name in PROGRAMS if name != "octet"]
# An old learner takes the settings of the old release, so that the old tree's preset is taken by both.
SETTINGS = ["--set", "run.env_steps=3000000", "--set", "learner.metrics_s=0.2"]


class Run:
    """Daemons by hand, each of a build that the test chooses."""

    def __init__(self, folder, preset):
        self.folder, self.preset, self.processes = folder, preset, {}

    def start(self, name, build, *more):
        arguments = {"replay": ["--path", "replay.oct"], "learner": [self.preset, "--run-dir", "run", *SETTINGS, *more],
                     "actor": [], "evaluator": ["--evaluate"]}[name]
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen([str(a) for a in (build / PROGRAMS[name], *arguments)], stdin=subprocess.DEVNULL,
                                                    stdout=log, stderr=log, cwd=self.folder)

    def replace(self, name, build, *more):
        """By its successor: told to end, ended, begun again."""
        self.processes[name].send_signal(signal.SIGTERM)
        assert self.processes[name].wait(DEADLINE_S) in (0, 143, -signal.SIGTERM), f"{name}: {self.processes[name].returncode}"
        self.start(name, build, *more)

    def column(self, name):
        try:
            with open(self.folder / "run/metrics.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        except OSError:
            return 0
        return float(rows[-1][name]) if rows and rows[-1].get(name) else 0

    def numbers(self):
        return {name: process.poll() for name, process in self.processes.items()}

    def continues(self, what, *builds):
        """It learns, and octet status and octet top of each build say so."""
        updates = self.column("updates")
        wait_for(f"more updates {what}", lambda: self.column("updates") > updates + 100, DEADLINE_S, numbers=self.numbers)
        for build in builds:
            status = json.loads(self.octet(build, "status", "run", "--json"))
            assert status["learner"]["numbers"]["learner.updates"] > updates, status
            wait_for(f"actor and evaluator in octet top of {build}",
                     lambda build=build: {"actor", "evaluator"} <= set(self.octet(build, "top", "run", "--once").split()), DEADLINE_S)

    def octet(self, build, *arguments):
        done = subprocess.run([build / PROGRAMS["octet"], *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=DEADLINE_S)
        assert done.returncode == 0 and done.stderr == "", f"{build}: octet {' '.join(arguments)}: {done.returncode}: {done.stderr}"
        return done.stdout

    def solves(self):
        assert self.processes["learner"].wait(DEADLINE_S) == 0, self.numbers()
        summary = json.loads((self.folder / "run/summary.json").read_text(encoding="utf-8"))
        assert summary["solved"], summary


@contextlib.contextmanager
def scratch(preset):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-upgrade-"))
    run = Run(folder, preset)
    try:
        yield run
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}", log.read_text(errors="replace")[-1500:], sep="\n")
        raise
    finally:
        kill_all(run.processes.values())
        shutil.rmtree(folder, ignore_errors=True)


def mixture(preset, learner, replay, actor):
    with scratch(preset) as run:
        for name, build in (("replay", replay), ("learner", learner), ("actor", actor), ("evaluator", actor)):
            run.start(name, build)
        run.solves()


def rolling(preset, new, old, order):
    """Daemons of the old release are replaced in this order while their run continues."""
    with scratch(preset) as run:
        endless = ["--set", "run.stop_at_return=501"]
        for name in DAEMONS:
            run.start(name, old, *(endless if name == "learner" else []))
        run.continues("in the beginning", new, old)
        for name in order:
            run.replace(name, new, *(["--resume", *endless] if name == "learner" else []))
            run.continues(f"with the new {name}", new, old)
        run.replace("learner", new, "--resume")
        run.solves()


def main():
    signal.signal(signal.SIGTERM, broken_off)
    new, old = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    preset = ROOT / "presets/cartpole.yaml"
    names = {new: "new", old: "old"}
    cases = [(f"learner {names[learner]}, replay {names[replay]}, actors {names[actor]}",
              lambda chosen=(learner, replay, actor): mixture(preset, *chosen))
             for learner, replay, actor in itertools.product((new, old), repeat=3)]
    for order in (["replay", "learner", "actor", "evaluator"], ["evaluator", "actor", "learner", "replay"]):
        cases.append((f"one after the other: {', '.join(order)}", lambda order=order: rolling(preset, new, old, order)))
    failed = 0
    for name, run in cases:
        try:
            run()
            print(f"passed: {name}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED: {name}: {error}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
