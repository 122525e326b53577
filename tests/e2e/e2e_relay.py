#!/usr/bin/env python3
"""End-to-end tests of relays: see e2e.py.

usage: e2e_relay.py OCTET TEST
"""

import contextlib
import json
import os
import re
import signal
import sys

from e2e import (ACTOR, BUILD, CARTPOLE, DEADLINE_S, ENDLESS, LEARNER, OCTET, REPLAY, column, octet, ran, scratch, sets,
                 start, summary)
from daemons import HOME, certificates, free_port, run_named, wait_for

sys.path.insert(0, str(CARTPOLE.parents[1] / "tests/chaos"))
sys.path.insert(0, str(CARTPOLE.parents[1] / "tests/hostile"))
from attack import relay_name, stranger  # noqa: E402
from chaos_system import Acks  # noqa: E402

RELAY = BUILD / "relay/octet-relay"
CHAOS = BUILD / "tests/chaos"


class Swarm:
    """Daemons in a folder, over ipc, or (certs) over TLS; each is started by name. The replays are replay, replay1, …"""

    def __init__(self, folder, certs=None, settings=(), experiment=CARTPOLE, shards=1):
        self.folder, self.certs, self.settings, self.experiment = folder, certs, settings, experiment
        self.replays = ["replay", *(f"replay{i}" for i in range(1, shards))]
        self.run = folder / "run"
        self.processes = {}
        self.base = free_port(16) if certs else 0

    def url(self, name):
        places = ["learner", "replay", "top", "one", "two"]
        if self.certs:
            return f"tls+tcp://127.0.0.1:{self.base + 3 * places.index(name)}"
        return f"ipc://{self.folder}/{name}.ipc"

    def begin(self, name, role, *options, program=None, env=None):
        programs = {
            "replay": [REPLAY, "--listen", self.url(name)] if role == "replay" else [],
            "learner": [LEARNER, self.experiment, "--run-dir", self.run, "--set", f"net.learner={self.url('learner')}", "--set",
                        f"net.replay={','.join(self.url(replay) for replay in self.replays)}", "--set", "learner.metrics_s=0.2", *self.settings],
            "relay": [RELAY, "--learner", self.url("learner"), "--listen", self.url(name)] if role == "relay" else [],
            "actor": [ACTOR, "--learner", self.url("learner")],
            "evaluator": [ACTOR, "--learner", self.url("learner"), "--evaluate"],
        }
        secure = ["--tls", self.certs / role] if self.certs else []
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            command = programs[role] if program is None else [program, *programs[role][1:]]
            self.processes[name] = start([*command, *options, *secure], stdout=log, stderr=log, cwd=self.folder, env=env)

    def said(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def number(self, name, identity, key):
        """The last number of that key in a line of the log."""
        return int(re.findall(rf"{identity} .*?\b{key}=(\d+)", self.said(name))[-1])

    def end(self, name):
        self.processes[name].terminate()
        status = self.processes[name].wait(DEADLINE_S)
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


def relays_told(s):
    """Of each relay, by its address, as octet status has it: whether it is silent, and how many actors it has."""
    done = octet("status", s.run, "--json")
    peers = json.loads(done.stdout)["peers"] if done.returncode == 0 else {"relays": [], "list": []}
    return {relay["address"]: (relay["silent"], sum(peer["relay"] == relay["address"] for peer in peers["list"]))
            for relay in peers["relays"]}


@contextlib.contextmanager
def swarm(folder, of=Swarm, **options):
    s = of(folder, **options)
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
        assert relays_told(s) == {s.url(killed): (False, 1), s.url(other): (False, 1)}

        def goes_on():
            steps = column(s.run, "env_steps")
            wait_for("more experience", lambda: column(s.run, "env_steps") > steps + 20000)

        goes_on()
        s.processes[killed].kill()
        wait_for("its actor to move", lambda: f"ACTOR-MOVED policies={s.url(other)} " in s.said("first"))
        goes_on()
        wait_for("status", lambda: relays_told(s) == {s.url(killed): (True, 0), s.url(other): (False, 2)})
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


def test_relays_in_a_loop_are_refused():
    """Each of two below the other, and one below itself in other words: one of the two goes on, directly, and carries a run."""
    with scratch() as folder, swarm(folder, settings=["--set", "run.env_steps=1000000"]) as s:
        s.begin("replay", "replay")
        s.begin("learner", "learner")
        s.begin("top", "relay", "--only-relays", "--relay", f"ipc://{folder}/./top.ipc")
        assert s.processes["top"].wait(60) == 3
        s.begin("one", "relay", "--only-relays", "--relay", s.url("two"))
        s.begin("two", "relay", "--relay", s.url("one"))
        pair = ["one", "two"]
        wait_for("one to be refused", lambda: any(s.processes[name].poll() == 3 for name in pair))
        refused, other = pair if s.processes["one"].poll() == 3 else pair[::-1]
        for name in ("top", refused):
            assert "leads back to this relay" in s.said(name), s.said(name)
        wait_for("the other to go directly", lambda: f"replay={s.url('replay')}" in s.said(other))
        s.begin("evaluator", "evaluator")
        s.begin("first", "actor", "--relay", s.url(other))
        assert s.processes["learner"].wait(DEADLINE_S) == 0
        assert summary(s.run)["solved"]
        s.acknowledged(["first"])
        s.end(other)
        assert s.number(other, "RELAY-STOP", "batches") > 0


def test_an_actor_waits_for_a_relay():
    """--await-relay: an actor that comes before the relay goes through it all the same; where none comes, it goes directly."""
    with scratch() as folder, swarm(folder, settings=ENDLESS) as s:
        s.begin("replay", "replay")
        s.begin("learner", "learner")
        s.begin("patient", "actor", "--await-relay", "600")
        wait_for("it to wait", lambda: "ACTOR-AWAIT-RELAY" in s.said("patient"))
        s.begin("hasty", "actor", "--await-relay", "1")
        wait_for("it to go without", lambda: "ACTOR-START" in s.said("hasty"))
        assert "ACTOR-AWAIT-RELAY" in s.said("hasty") and "ACTOR-START" not in s.said("patient")
        s.begin("one", "relay")
        wait_for("it to act", lambda: "ACTOR-START" in s.said("patient"))
        wait_for("status", lambda: relays_told(s) == {s.url("one"): (False, 1)})
        wait_for("both", lambda: (column(s.run, "env_steps") or 0) > 5000)
        s.end("learner")
        s.acknowledged(["patient", "hasty"])


class Chaos(Swarm):
    """Two shards with files, and actors that write down which rows were acknowledged."""

    def __init__(self, folder, settings=()):
        plugin = CHAOS / "chaos.so"
        more = [f"env.id={plugin}", "env.options=pause_us=10000", "replay.capacity=2000000", *settings]
        super().__init__(folder, experiment=CARTPOLE.parents[1] / "tests/chaos/chaos.yaml", shards=2,
                         settings=sets(*more))
        self.plugin, self.actors = plugin, []

    def begin_replay(self, name):
        self.begin(name, "replay", "--path", self.folder / f"{name}.oct")

    def begin_actor(self):
        name = f"actor{len(self.actors)}"
        self.begin(name, "actor", "--plugins", self.plugin, program=CHAOS / "chaos_actor",
                   env=dict(os.environ, CHAOS_ACKS=str(self.folder / name)))
        self.actors.append(name)
        wait_for(f"{name} to act", lambda: self.acks(name).rows > 0)

    def acks(self, actor):
        return Acks(self.folder / f"{actor}.{self.processes[actor].pid}.acks")

    def shards(self, actor):
        """That its sessions were of, at each registration."""
        return [int(shard) for shard in re.findall(rf"LEARNER-JOINED actor=.* pid={self.processes[actor].pid} .*shard=(\d+)",
                                                   self.said("learner"))]

    def shard(self, actor):
        return self.shards(actor)[-1]

    def goes_on(self, actors=None, rows=400):
        """From now on rows of each of these actors are acknowledged."""
        before = {actor: self.acks(actor).rows for actor in actors or self.actors}
        wait_for("rows of each actor", lambda: all(self.acks(actor).rows > had + rows for actor, had in before.items()),
                 numbers=lambda: str({actor: self.acks(actor).rows - had for actor, had in before.items()}))

    def audit(self):
        """Ends all; every row that was acknowledged is in its own shard's file, and in both files together once."""
        for name in [*self.actors, "learner", *self.replays]:
            self.end(name)
        for shard, replay in enumerate(self.replays):
            self.check([replay], [actor for actor in self.actors if self.shard(actor) == shard])
        self.check(self.replays, self.actors)

    def check(self, replays, actors):
        """What these actors were told is in the files of these replays, once."""
        files = ",".join(str(self.folder / f"{replay}.oct") for replay in replays)
        claims = [f"{self.acks(actor).path}:{self.acks(actor).count}" for actor in actors]
        done = ran(CHAOS / "chaos_audit", "killed", files, *claims)
        assert done.returncode == 0, done.stdout + done.stderr
        acked = int(re.search(r"acked=(\d+)", done.stdout)[1])
        assert acked == sum(self.acks(actor).rows for actor in actors) > 0, done.stdout


def test_a_tree_of_relays_in_front_of_shards_loses_nothing():
    """Two shards behind a relay behind a relay, and actors of both. A shard hangs: the actors of the other go on. It is
    killed, and comes back with its file. The upper relay hangs, then the lower one, each is gone round, and goes on to send
    what it held. At the end each row that was acknowledged is there once."""
    with scratch() as folder, swarm(folder, of=Chaos) as s:
        for replay in s.replays:
            s.begin_replay(replay)
        s.begin("learner", "learner")
        s.begin("top", "relay", "--only-relays")
        s.begin("one", "relay", "--relay", s.url("top"))
        wait_for("the relays", lambda: s.said("learner").count("LEARNER-RELAY ") == 2)
        wait_for("all lines", lambda: s.said("one").count("RELAY-UP") == s.said("top").count("RELAY-UP") == 2)
        while len(s.actors) < 4 or len({s.shard(actor) for actor in s.actors}) < 2:
            s.begin_actor()
        assert set(re.findall(r"LEARNER-JOINED actor=.* relay=(\S+)", s.said("learner"))) == {s.url("one")}
        s.goes_on()

        s.processes["replay1"].send_signal(signal.SIGSTOP)
        wait_for("a shard that is away", lambda: "LEARNER-SHARD-AWAY" in s.said("learner"))
        s.goes_on([actor for actor in s.actors if s.shard(actor) == 0])
        s.processes["replay1"].send_signal(signal.SIGCONT)
        s.goes_on()

        s.processes["replay1"].kill()
        s.processes["replay1"].wait()
        s.begin_replay("replay1")
        s.goes_on()
        assert not any("ACTOR-MOVED" in s.said(actor) for actor in s.actors)

        s.processes["top"].send_signal(signal.SIGSTOP)  # the connections stay
        wait_for("the lower relay to go round it", lambda: "RELAY-ABOVE-LOST" in s.said("one"))
        s.goes_on()
        s.processes["top"].send_signal(signal.SIGCONT)
        s.goes_on()

        s.processes["one"].send_signal(signal.SIGSTOP)
        for actor in s.actors:
            wait_for(f"{actor} to move", lambda: "relay=0" in s.said(actor))  # pylint: disable=cell-var-from-loop
        s.goes_on()
        s.processes["one"].send_signal(signal.SIGCONT)
        wait_for("the relay to be back", lambda: s.said("learner").count(f"LEARNER-RELAY relay={s.url('one')} ") == 2)
        s.begin_actor()
        assert re.findall(r"LEARNER-JOINED actor=.* relay=(\S+)", s.said("learner"))[-1] == s.url("one")
        s.goes_on()
        s.processes["one"].kill()
        wait_for("its actor to move", lambda: "relay=0" in s.said(s.actors[-1]))
        s.goes_on()
        s.audit()


def test_a_shard_is_added_behind_a_relay():
    """The learner resumes with one replay more: relays take it, actors whose sessions have moved to it start over, and each
    row that was acknowledged is there once."""
    with scratch() as folder, swarm(folder, of=Chaos) as s:
        for replay in [*s.replays, "replay2"]:
            s.begin_replay(replay)
        s.begin("learner", "learner")
        s.begin("one", "relay")
        wait_for("the relay", lambda: "LEARNER-RELAY " in s.said("learner"))
        for _ in range(3):
            s.begin_actor()
        s.goes_on()
        s.end("learner")
        s.replays.append("replay2")
        s.begin("learner", "learner", "--resume", "--set", "replay.capacity=3000000")
        wait_for("a line to the new one", lambda: f"replay={s.url('replay2')}" in s.said("one"))
        while not s.actors[3:] or s.shard(s.actors[-1]) != 2:
            s.begin_actor()
        s.goes_on()
        for actor in s.actors:
            if len(set(s.shards(actor))) > 1:
                wait_for("it to start over", lambda: "starting over" in s.said(actor))  # pylint: disable=cell-var-from-loop
        assert re.search(rf"LEARNER-JOINED actor=.* pid={s.processes[s.actors[-1]].pid} .*shard=2 .*relay={s.url('one')}$",
                         s.said("learner"), re.MULTILINE)
        for name in [*s.actors, "learner", *s.replays]:
            s.end(name)
        s.check(s.replays, s.actors)


def test_a_release_that_knows_no_shards_behind_relays_is_refused():
    """Its relay would bring everything to one replay, and so would its actor at --relay; without, it goes directly."""
    with scratch() as folder, swarm(folder, settings=ENDLESS, shards=2) as s:
        for replay in s.replays:
            s.begin(replay, "replay")
        s.begin("learner", "learner")
        s.begin("old", "relay", program=BUILD / "tests/relay/relay_before_shards")
        assert s.processes["old"].wait(60) == 3
        assert "release supports only one replay, but this run has 2; upgrade the relay" in s.said("old"), s.said("old")
        s.begin("one", "relay")
        wait_for("the relay", lambda: "LEARNER-RELAY " in s.said("learner"))
        s.begin("first", "actor", "--relay", s.url("one"), program=BUILD / "tests/relay/actor_before_shards")
        assert s.processes["first"].wait(60) == 3
        assert "upgrade the actor, or start it without --relay" in s.said("first"), s.said("first")
        s.begin("second", "actor", program=BUILD / "tests/relay/actor_before_shards")
        wait_for("it to act", lambda: "ACTOR-START" in s.said("second"))
        assert "relay=none" in re.findall(r"LEARNER-JOINED actor=.*", s.said("learner"))[-1]
        s.begin("third", "actor", "--relay", s.url("one"))
        wait_for("it to act", lambda: "ACTOR-START" in s.said("third"))
        wait_for("both", lambda: (column(s.run, "env_steps") or 0) > 5000)
        s.end("learner")
        for name in ("second", "third"):
            s.end(name)
        s.end("one")
        assert s.number("one", "RELAY-STOP", "batches") > 0


def test_relays_over_tls_have_a_role_of_their_own():
    """Certificates: a relay's neither acts nor is a learner's, an actor's makes no relay, and asks for no relay's
    acknowledgements; and what comes through a relay is signed."""
    with scratch() as folder:
        certs = certificates(OCTET, folder / "octet-certs", ("learner", "replay", "actor", "evaluator", "relay"))
        with swarm(folder, certs=certs, settings=["--set", "run.env_steps=1000000"]) as s:
            s.begin("replay", "replay")
            s.begin("learner", "learner")
            with open(folder / "false.log", "w", encoding="utf-8") as log:
                false = start([RELAY, "--learner", s.url("learner"), "--listen", s.url("two"), "--tls", certs / "actor"],
                              stdout=log, stderr=log)
                assert false.wait(60) == 2
                wait_for("its refusal", lambda: "the certificate is an actor's; a relay's is needed" in s.said("false"))
                false = start([ACTOR, "--learner", s.url("learner"), "--tls", certs / "relay"], stdout=log, stderr=log)
                assert false.wait(60) == 2
                wait_for("its refusal", lambda: "the certificate is a relay's; an actor's is needed" in s.said("false"))
            s.begin("one", "relay")
            wait_for("the relay", lambda: "LEARNER-RELAY " in s.said("learner"))
            for above, refusal in (("replay", "REPLAY-BAD-ASK"), ("one", "RELAY-BAD-MESSAGE")):
                port = int(s.url(above).rsplit(":", 1)[1]) + 2
                with contextlib.closing(stranger(HOME, {"acks": port}, HOME, certs / "actor").connect("acks", port)) as peer:
                    peer.sendall(relay_name())
                    wait_for("its refusal", lambda: refusal in s.said(above))  # pylint: disable=cell-var-from-loop
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
