#!/usr/bin/env python3
"""octet train at full rate while actors join and leave: nothing of its daemons grows. Started by script/soak.

usage: soak.py BUILD [--minutes M] [--round SECONDS] [--json FILE]

Guests are actors beside those that octet train supervises. They leave by SIGTERM and kill -9. At the end of each round all guests have
left, and every daemon is measured: anonymous memory, descriptors, threads, CPU time; and the run folder. Prints a table, and fails where
one of the bounds below is passed. The last line is "N passed, N failed".
"""

import argparse
import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from daemons import wait_for  # noqa: E402

GUESTS_MAX = 4
ACTORS = 2
PATIENCE_S = 60
METRICS_S = 0.05        # rows of metrics come so fast that they are joined within minutes
METRICS_ROWS = 1000
ROW_BYTES_MAX = 4096    # of metrics.csv and TensorBoard together
LOG_BYTES_MAX = 3 * (8 << 20)
# What a daemon may have more at the end of the run than after the first rounds.
ANON_GROWTH_MAX = 16 << 20
FDS_GROWTH_MAX = 4
THREADS_GROWTH_MAX = 2
REST_GROWTH_MAX = 2 << 20   # bytes of the run folder without metrics and logs
CONFIG = """env:
  id: CartPole-v1
run:
  env_steps: 1000000000000
evaluation:
  period_s: 1
learner:
  checkpoint_s: 2
"""


def status_of(pid):
    """{field: text} of /proc/PID/status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def measure(pid):
    fields = status_of(pid)
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return {"anon": int(fields["RssAnon"].split()[0]) << 10, "threads": int(fields["Threads"]),
            "fds": len(os.listdir(f"/proc/{pid}/fd")),
            "cpu_s": (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")}


class Soak:
    def __init__(self, build, folder):
        self.build, self.folder, self.run = build, folder, folder / "run"
        self.random = random.Random(1)
        self.guests, self.joined, self.left = [], 0, collections.Counter()
        (folder / "soak.yaml").write_text(CONFIG, encoding="utf-8")
        self.train = subprocess.Popen(
            [build / "cli/octet", "train", "soak.yaml", "--run-dir", "run", "--no-ui", "--actors", str(ACTORS),
             "--set", f"learner.metrics_s={METRICS_S}", "--set", f"learner.metrics_rows={METRICS_ROWS}"],
            cwd=folder, stdout=open(folder / "train.out", "w", encoding="utf-8"), stderr=subprocess.STDOUT)
        wait_for("training", lambda: (self.run / "metrics.csv").exists()
                 and (self.run / "metrics.csv").read_text(encoding="utf-8").count("\n") > 20)
        self.pids = {"octet": self.train.pid} | self.children()

    def children(self):
        """{name: pid} of the supervised daemons."""
        found = {}
        for pid in pathlib.Path(f"/proc/{self.train.pid}/task/{self.train.pid}/children").read_text(encoding="ascii").split():
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            name = words[0].removeprefix("octet-")
            if name == "actor":
                name = f"actor-{words[words.index('--index') + 1]}" if "--index" in words else "evaluator"
            found[name] = int(pid)
        return found

    def join(self):
        log = open(self.folder / "guest.log", "ab")
        self.guests.append(subprocess.Popen([self.build / "actor/octet-actor", "--learner", "ipc://learner.ipc"], cwd=self.run,
                                            stdout=log, stderr=log))
        self.joined += 1

    def leave(self):
        guest = self.guests.pop(self.random.randrange(len(self.guests)))
        way = self.random.choice([signal.SIGTERM, signal.SIGKILL])
        guest.send_signal(way)
        guest.wait(PATIENCE_S)
        self.left[way.name] += 1

    def round(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.train.poll() is None, "octet train has ended"
            assert not [guest for guest in self.guests if guest.poll() is not None], "a guest ended by itself"
            if len(self.guests) < GUESTS_MAX and (not self.guests or self.random.random() < 0.6):
                self.join()
            else:
                self.leave()
            time.sleep(self.random.uniform(0.2, 0.8))
        while self.guests:
            self.leave()

    def disk(self):
        """Bytes that the run folder takes, by kind."""
        kinds = collections.Counter()
        for path in self.run.rglob("*"):
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue  # a draft
            name = path.name
            kind = ("metrics" if name.startswith(("metrics", "events.")) else
                    "logs" if path.parent.name == "log" else "drafts" if ".tmp." in name else "rest")
            kinds[kind] += found.st_size
        return kinds

    def calm(self, fds):
        """A look once the connections of those who left have gone."""
        wait_for("connections to end", lambda: all(measure(self.pids[name])["fds"] <= fds[name] + FDS_GROWTH_MAX
                                                   for name in ("learner", "replay")))
        return self.look()

    def look(self):
        return {"daemons": {name: measure(pid) for name, pid in self.pids.items()}, "disk": self.disk()}

    def end(self):
        for guest in self.guests:
            guest.kill()
            guest.wait()
        if self.train.poll() is None:
            self.train.send_signal(signal.SIGINT)
        try:
            return self.train.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.train.kill()
            return self.train.wait()


def compare(first, last, restarts, code):
    """[(what, passed, words)]"""
    found = []
    for name, now in last["daemons"].items():
        before = first["daemons"][name]
        for what, most in (("anon", ANON_GROWTH_MAX), ("fds", FDS_GROWTH_MAX), ("threads", THREADS_GROWTH_MAX)):
            grew = now[what] - before[what]
            found.append((f"{name}: {what}", grew <= most, f"{before[what]} -> {now[what]}, at most {most} more"))
    metrics = 3 * METRICS_ROWS * ROW_BYTES_MAX // 2
    for what, most in (("metrics", metrics), ("logs", LOG_BYTES_MAX * (len(last["daemons"]) + 1)),
                       ("rest", first["disk"]["rest"] + REST_GROWTH_MAX)):
        found.append((f"disk: {what}", last["disk"][what] <= most, f"{last['disk'][what]}, at most {most}"))
    found.append(("nobody was restarted", restarts == 0, f"{restarts} restarts"))
    found.append(("octet train ends as it is told", code == 130, f"exit code {code}"))
    return found


def table(looks, seconds):
    print(f"{'daemon':12}{'anon MiB':>22}{'descriptors':>16}{'threads':>12}{'CPU s':>10}")
    first, last = looks[0], looks[-1]
    for name, now in last["daemons"].items():
        before = first["daemons"][name]
        most = max(look["daemons"][name]["anon"] for look in looks)
        print(f"{name:12}{before['anon'] / 2**20:8.1f} {now['anon'] / 2**20:6.1f} ({most / 2**20:5.1f}){before['fds']:9} {now['fds']:6}"
              f"{before['threads']:6} {now['threads']:5}{now['cpu_s']:10.1f}")
    for kind in sorted(last["disk"]):
        print(f"disk {kind:10} {first['disk'][kind] / 2**20:9.2f} -> {last['disk'][kind] / 2**20:.2f} MiB")
    print(f"{len(looks)} looks in {seconds:.0f} s; of memory in brackets: the most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--round", type=float, default=10)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="octet-soak-") as folder:
        soak = Soak(options.build.resolve(), pathlib.Path(folder))
        began, looks, code = time.monotonic(), [], None
        try:
            soak.round(options.round)  # warm
            time.sleep(1)
            fds = {name: measure(pid)["fds"] for name, pid in soak.pids.items()}
            looks.append(soak.look())
            while len(looks) < 2 or time.monotonic() - began < 60 * options.minutes:
                soak.round(options.round)
                looks.append(soak.calm(fds))
        finally:
            code = soak.end()
        seconds = time.monotonic() - began
        summary = json.loads((soak.run / "summary.json").read_text(encoding="utf-8"))
        rows = (soak.run / "metrics.csv").read_text(encoding="utf-8").count("\n") - 1
        table(looks, seconds)
        print(f"{soak.joined} joined, {dict(soak.left)} left; {summary['env_steps']} environment steps, {summary['updates']} updates; "
              f"{rows} rows of metrics")
        found = compare(looks[0], looks[-1], summary["supervisor"]["restarts"], code)
        found.append(("rows of metrics", rows <= METRICS_ROWS + 1, f"{rows}, at most {METRICS_ROWS + 1}"))
        left = [path.name for path in soak.run.glob("*.tmp.*")]
        found.append(("no draft is left", not left, " ".join(left) or "none"))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"looks": looks, "seconds": seconds}), encoding="utf-8")
    bad = [entry for entry in found if not entry[1]]
    for what, _, words in bad:
        print(f"FAILED {what}: {words}")
    print(f"{len(found) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
