#!/usr/bin/env python3
"""End-to-end tests of relays: see e2e.py.

usage: e2e_relay.py OCTET TEST
"""

import contextlib
import re
import signal
import sys

from e2e import ACTOR, BUILD, CARTPOLE, DEADLINE_S, ENDLESS, LEARNER, OCTET, REPLAY, column, scratch, start, summary
from daemons import certificates, free_port, run_named, wait_for

RELAY = BUILD / "relay/octet-relay"


class Swarm:
    """Daemons in a folder, over ipc, or (certs) over TLS; each is started by name."""

    def __init__(self, folder, certs=None, settings=()):
        self.folder, self.certs, self.settings = folder, certs, settings
        self.run = folder / "run"
        self.processes = {}
        self.base = free_port(16) if certs else 0

    def url(self, name):
        places = ["learner", "replay", "top", "one", "two"]
        if self.certs:
            return f"tls+tcp://127.0.0.1:{self.base + 3 * places.index(name)}"
        return f"ipc://{self.folder}/{name}.ipc"

    def begin(self, name, role, *options):
        programs = {
            "replay": [REPLAY, "--listen", self.url("replay")] if role == "replay" else [],
            "learner": [LEARNER, CARTPOLE, "--run-dir", self.run, "--set", f"net.learner={self.url('learner')}", "--set",
                        f"net.replay={self.url('replay')}", "--set", "learner.metrics_s=0.2", *self.settings],
            "relay": [RELAY, "--learner", self.url("learner"), "--listen", self.url(name)] if role == "relay" else [],
            "actor": [ACTOR, "--learner", self.url("learner")],
            "evaluator": [ACTOR, "--learner", self.url("learner"), "--evaluate"],
        }
        secure = ["--tls", self.certs / role] if self.certs else []
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            self.processes[name] = start([*programs[role], *options, *secure], stdout=log, stderr=log, cwd=self.folder)

    def said(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def number(self, name, identity, key):
        """The last number of that key in a line of the log."""
        return int(re.findall(rf"{identity} .*?\b{key}=(\d+)", self.said(name))[-1])

    def end(self, name):
        self.processes[name].terminate()
        status = self.processes[name].wait(30)
        assert status == 0, f"{name}: exit {status}"

    def acknowledged(self, actors):
        """Ends actors, then replay: nothing that was acknowledged is lost, and nothing is there twice."""
        for name in actors:
            self.end(name)
        self.end("replay")
        acked = sum(self.number(name, "ACTOR-TOTALS", "acked") for name in actors)
        sent = sum(self.number(name, "ACTOR-TOTALS", "sent") for name in actors)
        rows = self.number("replay", "REPLAY-STOP", "rows")
        assert 0 < acked <= rows <= sent, (acked, rows, sent)
        assert self.number("replay", "REPLAY-STOP", "rejected") == 0


@contextlib.contextmanager
def swarm(folder, **options):
    s = Swarm(folder, **options)
    try:
        yield s
    finally:
        for process in s.processes.values():
            process.kill()
            process.wait()


def test_a_tree_of_relays_carries_a_run():
    """One relay below another; actors reach learner and replay through both alone, and solve their task."""
    with scratch() as folder, swarm(folder, settings=["--set", "run.env_steps=1000000"]) as s:
        s.begin("replay", "replay")
        s.begin("learner", "learner")
        s.begin("top", "relay", "--only-relays")
        s.begin("one", "relay", "--relay", s.url("top"))
        wait_for("the relays", lambda: s.said("learner").count("LEARNER-RELAY ") == 2)
        s.begin("evaluator", "evaluator")
        for actor in ("first", "second"):
            s.begin(actor, "actor")
        assert s.processes["learner"].wait(DEADLINE_S) == 0
        assert summary(s.run)["solved"]
        assert s.said("learner").count(f"relay={s.url('one')}") >= 3  # itself, and both actors
        s.acknowledged(["first", "second"])
        for relay in ("one", "top"):
            s.end(relay)
            assert s.number(relay, "RELAY-STOP", "bad") == 0
            assert 0 < s.number(relay, "RELAY-STOP", "messages") <= s.number(relay, "RELAY-STOP", "batches")
            assert s.number(relay, "RELAY-STOP", "policies") > 0


def test_a_killed_relay_is_gone_round():
    """Two relays. One with an actor is killed: the actor goes to the other; that one hangs: all go directly. Then a new
    one serves who joins."""
    with scratch() as folder, swarm(folder, settings=ENDLESS) as s:
        s.begin("replay", "replay")
        s.begin("learner", "learner")
        for relay in ("one", "two"):
            s.begin(relay, "relay")
        wait_for("the relays", lambda: s.said("learner").count("LEARNER-RELAY ") == 2)
        actors = ["first", "second"]
        for actor in actors:
            s.begin(actor, "actor")
            wait_for(f"the {actor}", lambda: "ACTOR-START" in s.said(actor))  # pylint: disable=cell-var-from-loop
        joined = re.findall(r"LEARNER-JOINED actor=.* relay=(\S+)", s.said("learner"))
        assert set(joined) <= {s.url("one"), s.url("two")}, joined
        killed, other = ("one", "two") if joined[0] == s.url("one") else ("two", "one")
        wait_for("training", lambda: (column(s.run, "env_steps") or 0) > 0)

        def goes_on():
            steps = column(s.run, "env_steps")
            wait_for("more experience", lambda: column(s.run, "env_steps") > steps + 20000)

        goes_on()
        s.processes[killed].kill()
        wait_for("its actor to move", lambda: f"ACTOR-MOVED policies={s.url(other)} " in s.said("first"))
        goes_on()
        s.processes[other].send_signal(signal.SIGSTOP)  # the connections stay, nothing comes through them
        for actor in actors:
            wait_for(f"the {actor} to move", lambda: "relay=0" in s.said(actor))  # pylint: disable=cell-var-from-loop
        goes_on()
        s.processes[killed].wait()
        s.begin(killed, "relay")
        wait_for("the relay", lambda: s.said("learner").count("LEARNER-RELAY ") == 3)
        s.begin("third", "actor")
        wait_for("the third", lambda: re.findall(r"JOINED actor=.* index=2 .* relay=(\S+)", s.said("learner")))
        assert re.findall(r"JOINED actor=.* index=2 .* relay=(\S+)", s.said("learner")) == [s.url(killed)]
        wait_for("the third's first batch", lambda: "ACTOR-START" in s.said("third"))
        goes_on()
        s.end("learner")
        s.acknowledged([*actors, "third"])


def test_relays_over_tls_have_a_role_of_their_own():
    """Certificates: a relay's neither acts nor is a learner's, an actor's makes no relay; and what comes through a relay
    is signed."""
    with scratch() as folder:
        certs = certificates(OCTET, folder / "octet-certs", ("learner", "replay", "actor", "evaluator", "relay"))
        with swarm(folder, certs=certs, settings=["--set", "run.env_steps=1000000"]) as s:
            s.begin("replay", "replay")
            s.begin("learner", "learner")
            with open(folder / "false.log", "w", encoding="utf-8") as log:
                false = start([RELAY, "--learner", s.url("learner"), "--listen", s.url("two"), "--tls", certs / "actor"],
                              stdout=log, stderr=log)
                assert false.wait(60) == 3
                wait_for("its refusal", lambda: "registers no relay" in s.said("false"))
                false = start([ACTOR, "--learner", s.url("learner"), "--tls", certs / "relay"], stdout=log, stderr=log)
                assert false.wait(60) == 3
                wait_for("its refusal", lambda: "registers relays alone" in s.said("false"))
            s.begin("one", "relay")
            wait_for("the relay", lambda: "LEARNER-RELAY " in s.said("learner"))
            s.begin("evaluator", "evaluator")
            s.begin("first", "actor")
            assert s.processes["learner"].wait(DEADLINE_S) == 0
            assert summary(s.run)["solved"]
            s.acknowledged(["first"])
            assert "BAD" not in s.said("first") and f"relay={s.url('one')}" in s.said("learner")
            s.end("one")
            assert s.number("one", "RELAY-STOP", "batches") > 0 and s.number("one", "RELAY-STOP", "policies") > 0


if __name__ == "__main__":
    sys.exit(run_named(globals()))
