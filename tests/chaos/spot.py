#!/usr/bin/env python3
"""Half of all actors are killed again and again while a run goes on, as hosts are that are lent until somebody wants them back.
Started by script/test-spot.

usage: spot.py BUILD [--minutes M] [--period S] [--rounds N] [--seed S] [--actors N] [--keep]

octet-replay with a file, octet-learner on presets/cartpole.yaml, an evaluator, and actors. Every period half of the actors get kill -9
or, in other rounds, SIGTERM, as the seed has it, and as many new ones come. With --rounds the next kill comes as soon as every actor goes on,
and after the last one the run goes on until a policy has solved the task; without, the run ends when its time is over.

Checked: nobody ended but who was killed; every new actor's rows are acknowledged; an actor that got SIGTERM ends well, and all that
it sent was acknowledged; the task is solved (a mean return of 475 over 100 greedy episodes of a policy as it ships: with --rounds of one that
was evaluated, else of policy.oct); and every row that was acknowledged to any actor is in replay's file,
once, as it was sent (chaos_audit.h). The last line is "N passed, N failed".
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

from chaos_system import DEADLINE_S, HERE, Broken, System
from daemons import PATIENCE, wait_for
from scenarios import Checks, say

CARTPOLE = HERE.parents[1] / "presets/cartpole.yaml"
SOLVED = 475
ROUND_ROWS = 1000  # of each actor between two kills, at least
SOLVED_S = 150  # after the last kill, at most; a run that nobody disturbs takes some seconds
END_S = 30  # of a run's time, for the actors that are left when the last period is over
# The goal cannot be reached and the budget not spent. Nothing leaves the table, so all of it is audited: there are more samples
# for each step than the preset has, so that it holds ten minutes.
SETTINGS = ("run.stop_at_return=501", "run.env_steps=100000000000", "replay.samples_per_insert=32",
            "actor.envs=4", "actor.batch_steps=64", "evaluation.period_s=0.5")
# Learned over and over again, so that the steps of the preset are too long: with them good policies are soon lost again.
LASTS = ("algo.learning_rate=0.0005", "replay.capacity=20000000")
SHORT = ("replay.capacity=1000000",)
GONE = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 0}


class Spot(System):
    NAMES = ("replay", "learner", "evaluator")

    def __init__(self, build, folder, settings, actors, rng):
        super().__init__(build, folder, settings=settings)
        self.size, self.rng = actors, rng
        self.live, self.ordinal = [], 0
        self.told = []  # actors that got SIGTERM

    def add(self, name):
        self.lives[name], self.acks[name] = 0, []

    def environment(self, name):
        return dict(os.environ, CHAOS_ACKS=str(self.folder / name))

    def command(self, name):
        if name == "learner":
            settings = [*self.settings, f"net.learner={self.url(self.base)}", f"net.replay={self.url(self.base + 3)}"]
            return [self.build / "learner/octet-learner", CARTPOLE, "--run-dir", self.folder / "run",
                    *(word for setting in settings for word in ("--set", setting))]
        if name == "evaluator":
            return [self.build / "actor/octet-actor", "--learner", self.url(self.base), "--evaluate"]
        return super().command(name) if name == "replay" else [self.build / "tests/chaos/chaos_actor", "--learner", self.url(self.base)]

    def tend(self):
        """Nobody has ended that should not have."""
        for name in (*self.NAMES, *self.live):
            if not self.runs(name):
                raise Broken(f"{name} ended with {self.processes[name].returncode}: {self.last_words(name)}")

    def fill(self):
        """As many actors as there should be."""
        while len(self.live) < self.size:
            name = f"a{self.ordinal}"
            self.ordinal += 1
            self.add(name)
            self.start(name)
            self.live.append(name)

    def acked_rows(self):
        return sum(acks.rows for lives in self.acks.values() for acks in lives)

    def all_go_on(self):
        """Rows of every actor are acknowledged from now on, and some are of a newer policy."""
        self.goes_on(ROUND_ROWS, 1, tuple(self.live))

    def take_half(self, how):
        """Half of the actors are told to end, or end, and are replaced at once; gives their names."""
        chosen = self.rng.sample(self.live, len(self.live) // 2)
        for name in chosen:
            self.processes[name].send_signal(how)
            self.live.remove(name)
        self.fill()
        for name in chosen:
            code = self.processes[name].wait(DEADLINE_S * PATIENCE)
            if code != GONE[how]:
                raise Broken(f"{name} got {how.name}, and its exit code is {code}: {self.last_words(name)}")
        if how == signal.SIGTERM:
            self.told += chosen
        return chosen

    def evaluations(self):
        """Mean returns of policies over as many episodes as solve a task, in order."""
        found = [dict(word.split("=", 1) for word in text.split() if "=" in word) for text in self.said("learner", "LEARNER-EVAL")]
        return [float(one["mean"]) for one in found if one["stage"] in ("full", "confirm")]

    def drained(self):
        """[(acknowledged, sent)] of the actors that got SIGTERM, by their last words."""
        totals = [self.said(name, "ACTOR-TOTALS")[-1] for name in self.told]
        return [tuple(int(re.search(rf"\b{key}=(\d+)", text)[1]) for key in ("acked", "sent")) for text in totals]


def ways(rng, rounds):
    """As many rounds of the one signal as of the other, in an order that follows from the seed."""
    half = [signal.SIGKILL, signal.SIGTERM] * ((rounds + 1) // 2)
    order = half[:rounds]
    rng.shuffle(order)
    return order


def wait_period(system, begin, number, period):
    """Until the time of this kill has come, while nobody ends."""
    while time.monotonic() < begin + number * period:
        system.tend()
        time.sleep(0.1)


def play(check, system, asked):
    rounds = asked.rounds or max(2, round(60 * asked.minutes / asked.period) - 1)  # the last period ends without one
    system.start("replay", "learner", "evaluator")
    system.fill()
    system.all_go_on()
    begin, taken = time.monotonic(), 0
    for number, how in enumerate(ways(system.rng, rounds), 1):
        if not asked.rounds:
            wait_period(system, begin, number, asked.period)
        chosen, solved = system.take_half(how), sum(mean >= SOLVED for mean in system.evaluations())
        taken += len(chosen)
        system.all_go_on()
        say(f"{time.monotonic() - begin:6.1f} s, round {number}: {how.name} to {' '.join(chosen)}; {system.acked_rows()} rows acknowledged,"
            f" {len(system.evaluations())} evaluations, {solved} of them solved")
    if not asked.rounds:
        wait_period(system, begin, rounds + 1, asked.period)
        end_actors(system)
    result = solve(system) if asked.rounds else result_of(system)
    seconds = time.monotonic() - begin
    check.that(result >= SOLVED, f"the task is solved: a mean return of {result:.1f} over 100 episodes ({SOLVED} are required)")
    end_actors(system)
    system.kill("evaluator", "learner", "replay", how=signal.SIGTERM)
    finish(check, system, taken, seconds, asked)


def end_actors(system):
    """Those that are left drain as well."""
    system.kill(*system.live, how=signal.SIGTERM)
    system.told += system.live
    system.live = []


def solve(system):
    """The best evaluation, when there is one that solves the task, or it took too long."""
    try:
        wait_for("the task to be solved", lambda: system.tend() or max(system.evaluations(), default=0) >= SOLVED, SOLVED_S)
    except Broken:
        raise
    except AssertionError:
        pass  # the caller says it
    return max(system.evaluations(), default=0)


def result_of(system):
    """Of a run whose time is over: what policy.oct has reached."""
    wait_for("the run to end", lambda: not system.runs("learner"), END_S + SOLVED_S)
    summary = json.loads((system.folder / "run/summary.json").read_text(encoding="utf-8"))
    if system.processes["learner"].returncode != 0 or summary["reason"] != "time":
        raise Broken(f"the learner ended with {system.processes['learner'].returncode}: {system.last_words('learner')}")
    say(f"{summary['env_steps']} env steps, {summary['updates']} updates, {summary['policy_version']} versions; the last one has a mean return of"
        f" {summary['last_return']['mean']:.1f}")
    return summary["return"]["mean"]


def finish(check, system, taken, seconds, asked):
    """What is left when all have ended."""
    drained = system.drained()
    late = [(acked, sent) for acked, sent in drained if acked < sent]
    # 1.5 s of a machine that others use as well may be too short: with --rounds it is enough that most did it.
    enough = len(late) < len(drained) / 2 if asked.rounds else not late
    check.that(drained and all(0 < acked <= sent for acked, sent in drained) and enough,
               f"drained: of {len(drained)} actors that got SIGTERM {len(drained) - len(late)} had all acknowledged that they had sent"
               f" ({sum(acked for acked, _ in drained)} of {sum(sent for _, sent in drained)} rows)")
    numbers = system.audit()
    stop = system.said("replay", "REPLAY-STOP")[-1]
    check.that(" rejected=0" in f" {stop}" and " cut=0" in f" {stop}", f"replay refused nothing: {stop}")
    check.that(numbers["acked"] == system.acked_rows() > 0 and numbers["left"] == 0,
               f"nothing lost: {numbers['acked']} rows acknowledged to {system.ordinal} actors, {numbers['taken']} taken; missing, doubled, of another"
               f" content: {numbers['missing']}, {numbers['doubled']}, {numbers['foreign']}")
    say(f"{taken} of {system.ordinal} actors taken in {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--period", type=float, default=30, metavar="SECONDS")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--actors", type=int, default=8)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    if asked.actors < 2 or asked.period <= 0 or (asked.rounds is not None and asked.rounds < 2):
        parser.error("--actors and --rounds are 2 or more, --period is more than 0")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder, check, passed = pathlib.Path(tempfile.mkdtemp(prefix="octet-spot-")), Checks(), False
    try:
        more = SHORT if asked.rounds else (*LASTS, f"run.wall_s={60 * asked.minutes + END_S}")
        settings = (*SETTINGS, *more)
        with Spot(asked.build, folder, settings, asked.actors, random.Random(asked.seed)) as system:
            try:
                play(check, system, asked)
            except Broken as wrong:
                check.that(False, str(wrong))
        passed = not check.failed
    finally:
        if not passed:
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-12 if log.stem in Spot.NAMES else -2:], sep="\n")
        if asked.keep:
            print(f"    kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{'1 passed, 0' if passed else '0 passed, 1'} failed")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
