#!/usr/bin/env python3
"""A run whose actors join and leave every few seconds: what learner and replay hold stays flat. Started by script/test-churn.

usage: churn.py BUILD [--minutes M] [--insecure] [--json FILE]

Actors leave by SIGTERM, by kill -9, by a silent cut of their connections (iptables, in a network namespace made for it), and are
stopped and go on. Every ROUND_S all but the first have left, and learner and replay are measured: what grows from round to round is
a leak. The last line is "N passed, N failed". Exit code 77: everything passed but the cuts, which cannot be tried here.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import hostile
from hostile import Checks, System
from daemons import PATIENCE, wait_for

ROUND_S = 12.0
ACTORS_MAX = 4
CUT_S = 6.0  # longer than a gate waits for a sign of life
CUT_SEEN = 'octet_gate_closed_total{reason="dead"}'
DAEMONS = ("learner", "replay")
# What may be added over the whole run, by the fitted line, after the first rounds: less than one of anything for a round.
RSS_MAX = 8 << 20
SESSIONS_MAX = 16384


NAMESPACE = "OCTET_CHURN_NAMESPACE"


def enter_namespace():
    """Begins this program anew in a network of its own, if there can be one: the rules of a cut go with it."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    begin = ["unshare", "--net", "sh", "-c", 'ip link set lo up && iptables -nL >/dev/null && exec "$@"', "sh"]
    if NAMESPACE not in os.environ and subprocess.run([*begin, "true"], capture_output=True, check=False).returncode == 0:
        os.environ[NAMESPACE] = "1"
        os.execvp(begin[0], [*begin, sys.executable, *sys.argv])


def can_cut():
    """Only in a namespace of our own: the rules would be the machine's otherwise."""
    return NAMESPACE in os.environ


def ports_of(pid):
    """Local ports of a process's TCP connections."""
    inodes = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(entry)
        except OSError:
            continue
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return [int(words[1].split(":")[1], 16) for words in lines if words[9] in inodes and words[3] == "01"]


class Churn:
    def __init__(self, system, seed=1):
        self.system, self.random = system, random.Random(seed)
        self.live, self.count, self.later, self.cut_until = [], 0, [], 0.0
        self.events = dict.fromkeys(("joined", "SIGTERM", "kill -9", "stopped", "cut"), 0)
        self.ways = ["SIGTERM", "kill -9", "stopped"] + (["cut"] if can_cut() else [])

    def way(self):
        """One of those that were tried least."""
        least = min(self.events[way] for way in self.ways)
        return self.random.choice([way for way in self.ways if self.events[way] == least])

    def join(self):
        name = f"churn{self.count}"
        self.count += 1
        self.system.actor(name, measured=False)
        self.live.append(name)
        self.events["joined"] += 1

    def leave(self, name, way):
        process = self.system.processes[name]
        self.events[way] += 1
        if way == "SIGTERM":
            process.terminate()
        elif way == "kill -9":
            process.kill()
        elif way == "stopped":
            process.send_signal(signal.SIGSTOP)
            self.later.append((time.monotonic() + self.random.uniform(1, 7), lambda: process.send_signal(signal.SIGCONT)))
            return
        else:
            rules = [["INPUT", "-p", "tcp", f"--{side}port", str(port), "-j", "DROP"] for port in ports_of(process.pid)
                     for side in ("s", "d")]
            for rule in rules:
                subprocess.run(["iptables", "-A", *rule], check=True)
            self.cut_until = time.monotonic() + CUT_S
            self.later.append((self.cut_until,
                               lambda: [subprocess.run(["iptables", "-D", *rule], check=True) for rule in rules]))
            return
        self.live.remove(name)

    def step(self, now=None):
        for item in [i for i in self.later if now is None or i[0] <= now]:
            self.later.remove(item)
            item[1]()

    def round(self, end):
        """Actors come and go until then; then all have gone."""
        while time.monotonic() < end:
            self.step(time.monotonic())
            dead = [name for name in self.live if self.system.processes[name].poll() is not None]
            assert not dead, f"{dead} ended by themselves"
            if len(self.live) < ACTORS_MAX and (not self.live or self.random.random() < 0.6):
                self.join()
            else:
                self.leave(self.random.choice(self.live), self.way())
            time.sleep(self.random.uniform(0.3, 1.5))
        while time.monotonic() < self.cut_until:  # one that ends before it is noticed is none
            time.sleep(0.1)
        self.step()
        for name in list(self.live):
            self.leave(name, self.random.choice(["SIGTERM", "kill -9"]))
        for name, process in self.system.processes.items():
            if name.startswith("churn"):
                try:
                    process.wait(10 * PATIENCE)
                except subprocess.TimeoutExpired as late:
                    raise AssertionError(f"{name} does not end") from late


def slope(points):
    """Of the least squares' line through (x, y)."""
    n = len(points)
    mean_x, mean_y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else 0.0


def calm(system, most):
    """A look once connections of those who left have gone, and their descriptors with them, unless they leak."""
    def settled(*keys):
        now = system.look()
        return now if all(now[n][key] <= most[n][key] for n in DAEMONS for key in keys) else None
    now = wait_for("connections to end", lambda: settled("connections"), 20)
    with contextlib.suppress(AssertionError):  # a leak is told by the line through all looks
        now = wait_for("descriptors to be closed", lambda: settled("connections", "fds"), 20)
    now["sessions"] = system.number("replay", "octet_replay_sessions")
    return now


def known(system):
    """Rows that actors were told are in replay: of each its last word, whatever became of it."""
    acked = 0
    for path in system.folder.glob("*.log"):
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in text.splitlines() if " ACTOR-TOTALS " in line or " ACTOR-ACKED " in line]
        if lines:
            words = dict(word.split("=", 1) for word in lines[-1].split() if "=" in word)
            acked += int(words.get("acked", words.get("rows", 0)))
    return acked


def report(check, looks, minutes):
    """Flat or not; gives the numbers."""
    numbers = {}
    begin = looks[0]["at"]
    for name in DAEMONS:
        for key, most in (("rss", RSS_MAX), ("fds", 3.0), ("threads", 2.0)):
            points = [((look["at"] - begin) / 60, look[name][key]) for look in looks]
            a_minute = slope(points)
            grown = a_minute * (points[-1][0] - points[0][0])
            numbers[f"{name} {key}"] = {"first": points[0][1], "last": points[-1][1], "a_minute": a_minute,
                                        "least": min(p[1] for p in points), "most": max(p[1] for p in points)}
            scale, unit = (1e6, " MB") if key == "rss" else (1, "")
            check.that(grown < most, f"{name}: {key} {points[0][1] / scale:.1f} → {points[-1][1] / scale:.1f}{unit}, the line has"
                       f" {a_minute / scale:+.3f}{unit} a minute over {minutes:.1f} minutes (in all less than {most / scale:g}{unit})")
    sessions = looks[-1]["sessions"]
    numbers["sessions"] = sessions
    check.that(sessions <= SESSIONS_MAX, f"replay knows {sessions:.0f} sessions (at most {SESSIONS_MAX})")
    return numbers


def play(check, system, minutes):
    churn = Churn(system)
    wait_for("the table to be full", system.is_full)
    churn.round(time.monotonic() + ROUND_S / 2)  # what the first ones make grow is not a leak
    begin = system.look()
    most = {n: {"connections": begin[n]["connections"], "fds": begin[n]["fds"]} for n in DAEMONS}
    looks = [calm(system, most)]
    for n in DAEMONS:
        most[n]["fds"] = looks[0][n]["fds"]
    end = time.monotonic() + 60 * minutes
    rounds = max(4, round(60 * minutes / ROUND_S))
    for number in range(rounds):
        churn.round(end - 60 * minutes * (1 - (number + 1) / rounds))
        looks.append(calm(system, most))
    check.that(all(churn.events[way] > 0 for way in churn.ways), f"{churn.count} actors, each way of leaving: {churn.events}")
    if can_cut():
        dead = sum(system.number(n, CUT_SEEN) for n in DAEMONS)
        check.that(dead > 0, f"cuts were seen: {dead:.0f} connections closed without a sign of life")
    check.that(looks[-1]["updates"] > looks[0]["updates"],
               f"{(looks[-1]['env_steps'] - looks[0]['env_steps']) / (looks[-1]['at'] - looks[0]['at']):.0f} env steps/s,"
               f" {(looks[-1]['updates'] - looks[0]['updates']) / (looks[-1]['at'] - looks[0]['at']):.0f} updates/s")
    numbers = report(check, looks, minutes)
    numbers["events"], numbers["actors"], numbers["minutes"] = churn.events, churn.count, minutes
    gone = system.stop(["actor", "evaluator", "learner", "replay"])
    hostile.all_gone(check, gone)
    check.that(all(code == 0 for code, _ in gone.values()), f"exit codes {gone}")
    acked, replay = known(system), system.said("replay", "REPLAY-STOP")[-1]
    taken = int(replay["rows"])
    check.that(0 < acked <= taken and replay["rejected"] == "0",
               f"nothing lost: {acked} acknowledged <= {taken} taken; {replay}")
    numbers["acked"], numbers["taken"] = acked, taken
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--json")
    asked = parser.parse_args()
    enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder, check = pathlib.Path(tempfile.mkdtemp(prefix="octet-churn-")), Checks()
    try:
        with System(asked.build, folder, asked.insecure, level="debug") as system:
            numbers = play(check, system, asked.minutes)
        if asked.json:
            pathlib.Path(asked.json).write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not can_cut():
        print("SKIPPED: churn: actors were not cut off: that needs root, for a network namespace with iptables")
    print(f"{check.passed} passed, {len(check.failed)} failed")
    return 1 if check.failed else 0 if can_cut() else 77


if __name__ == "__main__":
    sys.exit(main())
