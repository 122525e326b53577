"""Octet's daemons on the hosts of a lab: started as docs/operations.md says, watched by their logs and metrics.

OCTET_HOSTS_TLS=1: they meet by tls+tcp with certificates made for the occasion; else by tcp and --insecure.
"""

import csv
import os
import pathlib
import subprocess
import sys

import lab

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import wait_for  # noqa: E402

TLS = os.environ.get("OCTET_HOSTS_TLS", "0") == "1"
SCHEME = "tls+tcp" if TLS else "tcp"
NET = [f"net.learner={SCHEME}://0.0.0.0:5555", f"net.replay={SCHEME}://replay:5560"]


class Cluster:
    """A learner host, a replay host, actors' hosts a0, a1, …, and an evaluator's."""

    def __init__(self, build, folder, actors=1, debug=False):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.run = self.folder / "run"
        self.actors = [f"a{i}" for i in range(actors)]
        self.debug = debug
        hosts = ["learner", "replay", "eval", *self.actors]
        self.folder.mkdir(parents=True, exist_ok=True)
        if TLS:
            self.certify(hosts)
        self.lab = lab.Lab(build, folder, hosts)

    def certify(self, hosts):
        """A CA, and for each host a folder as --tls wants it."""
        certs = [self.build / "cli/octet", "certs"]
        place = ["--dir", self.folder / "certs"]
        subprocess.run([*certs, "init", *place], capture_output=True, check=True)
        for host in hosts:
            role = {"learner": "learner", "replay": "replay", "eval": "evaluator"}.get(host, "actor")
            subprocess.run([*certs, "issue", role, host, *place], capture_output=True, check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lab.close()

    def common(self, host):
        level = ["--log-level", "debug"] if self.debug else []
        return ["--follow-parent", os.getpid(), *(["--tls", self.folder / "certs" / host] if TLS else ["--insecure"]),
                *level]

    def start_replay(self):
        self.lab.start("replay", "replay", [self.build / "replay/octet-replay", "--listen", f"{SCHEME}://0.0.0.0:5560",
                                            *self.common("replay")])

    def start_learner(self, preset, settings=(), resume=False):
        arguments = [word for setting in [*settings, *NET] for word in ("--set", setting)]
        self.lab.start("learner", "learner", [
            self.build / "learner/octet-learner", preset, "--run-dir", self.run, "--await-evaluator", "15",
            *(["--resume"] if resume else []), *arguments, *self.common("learner")])

    def start_actor(self, host, *arguments):
        self.lab.start(host, host, [self.build / "actor/octet-actor", "--learner", f"{SCHEME}://learner:5555",
                                    *arguments, *self.common(host)])

    def start(self, preset, settings=()):
        self.start_replay()
        self.start_learner(preset, settings)
        for host in self.actors:
            self.start_actor(host)
        self.start_actor("eval", "--evaluate")

    # ---- numbers

    def rows(self):
        """metrics.csv, every row as {column: number or None}."""
        try:
            with open(self.run / "metrics.csv", encoding="utf-8", newline="") as file:
                lines = list(csv.DictReader(file))
        except OSError:
            return []
        return [{k: float(v) if v else None for k, v in line.items() if k} for line in lines
                if None not in line.values()]

    def newest(self, column):
        values = [row[column] for row in self.rows() if row.get(column) is not None]
        return values[-1] if values else 0.0

    def acked(self, actor):
        """Transitions of this actor that replay acknowledged (of its last process; debug logs)."""
        said = self.lab.said(actor, "ACTOR-ACKED")
        return int(said[-1][1]["rows"]) if said else 0

    def acting(self, actor):
        """(UNIX time, version) of every policy that acted (debug logs)."""
        return [(when, int(line["version"])) for when, line in self.lab.said(actor, "ACTOR-POLICY")]

    def training(self):
        """All actors' batches arrive, policies reach them, updates happen."""
        wait_for("the first updates", lambda: self.newest("updates") > 0)
        for actor in self.actors:
            wait_for(f"a policy and an acknowledgement at {actor}",
                     lambda actor=actor: self.acked(actor) > 0 and self.acting(actor))

    def totals(self):
        """After everything stopped: (acknowledged, taken by replay, sent), rows of all actors, and what replay logged at its end."""
        acked = sent = 0
        for actor in self.actors:
            for _, totals in self.lab.said(actor, "ACTOR-TOTALS"):
                acked += int(totals["acked"])
                sent += int(totals["sent"])
        replay = self.lab.said("replay", "REPLAY-STOP")[-1][1]
        return acked, int(replay["rows"]), sent, replay
