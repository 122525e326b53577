#!/usr/bin/env python3
"""Doors that were found open at the learner, each shut: two learners on one run, two runs on one replay, an actor that
decides the network's shape.

usage: doors.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(HERE))
from attack import GET_POLICY, LEARNER, REGISTER, REPORT, ask, field, fields, registration, request, stranger  # noqa: E402
from daemons import HOME, free_port, kill_all, log_lines, run_named, wait_for  # noqa: E402
from hostile import BUILD, CARTPOLE, ENDLESS, running, updates  # noqa: E402


def another_learner(system, name, run, *options, port=None):
    """A second learner, of ports of its own unless one is given, at the same replay; the address for its actors."""
    port = port or system.base + 16
    system.start(name, ["learner/octet-learner", CARTPOLE, "--run-dir", run, *[
        word for s in [*ENDLESS, f"net.learner=tcp://0.0.0.0:{port}", f"net.replay={system.replay}"]
        for word in ("--set", s)], *options])
    return f"tcp://{HOME}:{port}"


def test_a_run_folder_has_one_learner():
    with running() as system:
        before = updates(system, "learner")
        second = subprocess.run([system.build / "learner/octet-learner", CARTPOLE, "--run-dir", system.run, "--resume"],
                                capture_output=True, text=True, check=False)
        assert second.returncode == 3, second
        pid = system.processes["learner"].pid
        assert f"is in use by octet-learner with pid {pid} on " in second.stderr, second.stderr
        wait_for("the first to train on", lambda: updates(system, "learner") > before + 1000)
        system.processes["learner"].kill()  # and the lock goes with it, however it ends
        system.processes["learner"].wait()
        another_learner(system, "next", system.run, "--resume")
        wait_for("the next one to begin", lambda: system.said("next", "LEARNER-LISTEN"))


def test_a_learner_that_was_replaced_stops():
    with running() as system:
        copy = system.folder / "copy"
        shutil.copytree(system.run, copy, ignore=shutil.ignore_patterns("*.tmp*"))
        address = another_learner(system, "newer", copy, "--resume")
        system.start("its-actor", ["actor/octet-actor", "--learner", address])
        assert system.processes["learner"].wait(60) == 3
        told = system.said("learner", "LEARNER-TAKEN-OVER")
        log = (system.folder / "learner.log").read_text()
        assert len(told) == 1 and "another learner has taken over run" in log, log
        assert not (system.run / "summary.json").exists()
        before = wait_for("the newer to train", lambda: updates(system, "newer"))
        wait_for("it to train on", lambda: updates(system, "newer") > before + 1000)
        assert len(system.said("replay", "REPLAY-CONFIGURED")) == 1  # what replay holds was kept


def test_a_replay_serves_one_run():
    with running() as system:
        address = another_learner(system, "other", system.folder / "other")
        system.start("its-actor", ["actor/octet-actor", "--learner", address])
        wait_for("the other to be refused", lambda: system.said("other", "LEARNER-WAIT-REPLAY"))
        assert "this replay serves run" in (system.folder / "other.log").read_text()
        before = updates(system, "learner")
        wait_for("the first to train on", lambda: updates(system, "learner") > before + 2000)
        assert len(system.said("replay", "REPLAY-CONFIGURED")) == 1
        assert not system.said("replay", "REPLAY-REPLACED") and updates(system, "other") == 0
        system.processes["learner"].terminate()
        assert system.processes["learner"].wait(60) == 0
        wait_for("the other to train", lambda: updates(system, "other") > 100)
        assert len(system.said("replay", "REPLAY-REPLACED")) == 1


def test_an_actor_takes_the_configuration_that_a_learner_comes_back_with():
    with running() as system:
        def comes_back(*settings):
            """The learner is killed, and starts again with these."""
            system.processes["learner"].kill()
            system.processes["learner"].wait()
            another_learner(system, "again", system.run, "--resume", *settings, port=system.base)
        before = system.said("actor", "ACTOR-START")[-1]["envs"]
        comes_back("--set", "learner.batch_size=128")  # none of the actor's business
        wait_for("the actor to register again", lambda: system.said("again", "LEARNER-JOINED"))
        wait_for("training", lambda: system.said("again", "LEARNER-START"))
        assert [line["envs"] for line in system.said("actor", "ACTOR-START")] == [before]
        assert not system.said("actor", "ACTOR-NEW-CONFIG")
        system.processes["learner"] = system.processes.pop("again")
        comes_back("--set", "actor.envs=4")
        wait_for("the actor to begin anew", lambda: len(system.said("actor", "ACTOR-START")) == 2)
        assert [line["envs"] for line in system.said("actor", "ACTOR-START")] == [before, "4"]
        assert "actor.envs changed from" in (system.folder / "actor.log").read_text()
        assert not system.said("evaluator", "ACTOR-NEW-CONFIG")
        wait_for("training", lambda: updates(system, "again") > 100)


# ---- the environment

def register(port, observed):
    """Whether an actor with so many numbers observed is accepted, and the reason why not."""
    who = stranger(HOME, {"learner": port}, HOME)
    with contextlib.closing(who.connect("learner", port)) as peer:
        got = who.exchange(peer, request(LEARNER, REGISTER, registration(observed=observed)))
    answer = fields(got[16:])
    return answer.get(1) == 1, answer.get(2, b"").decode()


@contextlib.contextmanager
def started(log, program, *options, **variables):
    """A program of the build that has ended afterwards, whatever happens."""
    with open(log, "ab") as out:
        process = subprocess.Popen([BUILD / program, *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   env={**os.environ, **variables})
    try:
        yield process
    finally:
        kill_all([process])


@contextlib.contextmanager
def scratch():
    """A folder that is there meanwhile."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-doors-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def follows():
    """Options of a daemon that ends with this process, however it ends."""
    return ["--follow-parent", str(os.getpid())]


@contextlib.contextmanager
def lone_learner(folder, *options, experiment=CARTPOLE):
    """A learner that nobody has registered with: (its port, its log, the process)."""
    port, log = free_port(8), folder / "learner.log"
    with started(log, "learner/octet-learner", experiment, "--run-dir", folder / "run", "--insecure", *follows(), *options, "--set",
                 f"net.learner=tcp://{HOME}:{port}", "--set", f"net.replay=tcp://{HOME}:{port + 4}") as process:
        wait_for("it to listen", lambda: list(log_lines(log, "LEARNER-LISTEN")) or process.poll() is not None)
        yield port, log, process


def test_the_first_actor_decides_no_shape():
    """octet train has opened the environment: what it found is what the learner accepts, whoever comes first."""
    with scratch() as folder:
        run = folder / "trained"
        with started(folder / "train.log", "cli/octet", "train", CARTPOLE, "--run-dir", run, "--set", "run.env_steps=1000000000",
                     "--set", "run.stop_at_return=501") as train:
            said = wait_for("the learner to say it", lambda: (run / "log/learner.log").exists() and [
                line for line in (run / "log/learner.log").read_text().splitlines() if "LEARNER-ENVIRONMENT" in line])
            train.send_signal(signal.SIGINT)
            train.wait()
        assert "CartPole-v1: observations 4 float32, actions 2 discrete; known from environment.oct" in said[0], said
        with lone_learner(folder, "--environment", run / "environment.oct") as (port, log, process):
            accepted, why = register(port, 5)
            assert not accepted and why == (
                "this run trains on CartPole-v1: observations 4 float32, actions 2 discrete; this actor has "
                "CartPole-v1: observations 5 float32, actions 2 discrete"), why
            assert not list(log_lines(log, "LEARNER-START")) and process.poll() is None
            assert register(port, 4) == (True, "")
            assert [line["obs"] for line in log_lines(log, "LEARNER-START")] == ["4"]
            assert not register(port, 5)[0] and process.poll() is None


def test_the_environment_of_the_first_actor_stays():
    """By hand nobody knows it before: the first actor's is shown, and holds for the next processes of the run."""
    with scratch() as folder:
        with lone_learner(folder) as (port, log, _):
            assert register(port, 4) == (True, "")
            assert "known from the first actor that registered" in log.read_text()
            assert not register(port, 5)[0]
            wait_for("a checkpoint", (folder / "run/checkpoint.oct").exists)
        log.unlink()
        with lone_learner(folder, "--resume") as (port, log, process):
            accepted, why = register(port, 5)
            assert not accepted and "observations 4 float32" in why and "observations 5 float32" in why, why
            assert not list(log_lines(log, "LEARNER-START")) and process.poll() is None
            assert register(port, 4) == (True, "")


def test_an_actor_has_a_limit_of_its_own():
    """A learner on another host asks for more environments than the actor's user allows."""
    with scratch() as folder:
        with lone_learner(folder, "--set", "actor.envs=1025") as (port, _, _):
            for options, limit in ((["--envs-max", "7"], "7"), ([], "1024")):
                log = folder / f"actor-{limit}.log"
                with started(log, "actor/octet-actor", "--insecure", *follows(), "--learner", f"tcp://{HOME}:{port}",
                             *options) as actor:
                    assert actor.wait() == 3
                assert ("ACTOR-ENVS the learner asks for actor.envs: 1025 environments of CartPole-v1; --envs-max of this actor "
                        f"is {limit}: raise it") in log.read_text(), log.read_text()


# ---- plug-ins

def test_an_actor_loads_no_plug_in_that_its_operator_did_not_name():
    """env.id is the learner's word: it names a file of the actor's machine only where the actor's operator says so."""
    with scratch() as folder:
        mine, others = folder / "mine", folder / "others"
        for place in (mine, others):
            place.mkdir(mode=0o755)
            shutil.copy(BUILD / "tests/envs/point.so", place)
        (mine / "link.so").symlink_to(others / "point.so")

        def comes(plug_in, *options, **variables):
            """An actor of a learner that names this plug-in: its exit status, or None when it is in, and its log."""
            said = folder / "actor.log"
            said.unlink(missing_ok=True)
            with lone_learner(folder, "--set", f"env.id={plug_in}", experiment=ROOT / "examples/env/point.yaml") as (
                    port, log, _), started(said, "actor/octet-actor", "--learner", f"tcp://{HOME}:{port}", "--insecure", *follows(),
                                           *options, **{"OCTET_PLUGINS": "", **variables}) as actor:
                wait_for("an end", lambda: actor.poll() is not None or list(log_lines(log, "LEARNER-JOINED")))
                code = actor.poll()
            shutil.rmtree(folder / "run", ignore_errors=True)
            return code, said.read_text()
        for plug_in, options, says in (
                (mine / "point.so", [], "no directory of plug-ins was allowed"),
                (others / "point.so", ["--plugins", mine], "outside of the directories that --plugins or OCTET_PLUGINS"),
                (mine / "../others/point.so", ["--plugins", mine], "outside"),
                (mine / "link.so", ["--plugins", mine], "outside"),
                ("../others/point.so", ["--plugins", mine], "outside"),
                (others / "point.so", ["--plugins", mine / "point.so"], "outside")):
            code, log = comes(plug_in, *options)
            assert code == 3 and "ACTOR-ENV" in log and says in log, (plug_in, options, code, log)
        mine.chmod(0o777)
        code, log = comes(mine / "point.so", "--plugins", mine)
        assert code == 2 and "can be written by other users: chmod go-w" in log, (code, log)
        mine.chmod(0o755)
        for plug_in, options, variables in (
                (mine / "point.so", ["--plugins", mine], {}), ("point.so", ["--plugins", others, "--plugins", mine], {}),
                (mine / "point.so", [], {"OCTET_PLUGINS": f"{others}:{mine}"}),
                (mine / "point.so", ["--plugins", mine / "point.so"], {})):
            code, log = comes(plug_in, *options, **variables)
            assert code is None, (plug_in, options, code, log)


# ---- who evaluates

def test_evaluations_are_for_an_evaluators_certificate():
    with running(insecure=False) as system:
        def comes(role, *options):
            actor = subprocess.run([BUILD / "actor/octet-actor", "--learner", system.learner, "--tls", system.certs / role,
                                    *options], capture_output=True, text=True, check=False, timeout=60)
            return actor.returncode, actor.stderr
        code, log = comes("actor", "--evaluate")
        assert code == 2 and "the certificate is an actor's; an evaluator's is needed" in log, log
        code, log = comes("evaluator")
        assert code == 2 and "the certificate is an evaluator's; an actor's is needed" in log, log
        # A program that does not look at its own is refused all the same.
        (status, answer), = Crowd(system, "actor").ask(REGISTER, [registration(2)])
        assert status != 0 and answer.startswith(b"an actor's certificate cannot register an evaluator"), (status, answer)
        (status, answer), = Crowd(system, "evaluator").ask(REGISTER, [registration(1)])
        assert status != 0 and answer.startswith(b"an evaluator's certificate can register evaluators only"), (status, answer)
        wait_for("an evaluation", lambda: system.said("learner", "LEARNER-EVAL"))
        joined = {next(iter(line)): line["certificate"] for line in system.said("learner", "LEARNER-JOINED")}
        assert joined == {"actor": '"actor"', "evaluator": '"evaluator"'}, joined


# ---- relays

def test_a_relay_names_no_address_that_actors_cannot_use():
    """Whoever has a relay's certificate would end all actors that join, each time that they are started."""
    with running(insecure=False) as system:
        subprocess.run([BUILD / "cli/octet", "certs", "issue", "relay", "relay", "--dir", system.certs], check=True, capture_output=True)
        relay = Crowd(system, "relay")

        def announces(address):
            (status, answer), = relay.ask(REGISTER, [field(1, 4) + field(18, (os.urandom(8),)) + field(3, b"rel") + field(4, 1) +
                                                     field(20, address.encode()) + field(40, 1) + field(42, (os.urandom(8),))])
            assert status == 0, answer
            return fields(answer).get(1) == 1, fields(answer).get(2, b"").decode()
        for address, why in (("xyz", "an address is "), ("file:///etc/passwd", "an address is "), ("tls+tcp://host", "ends in :PORT"),
                             ("tcp://host:5570", "has to begin with it"), ("tls+tcp://host:65535", "no room"),
                             ("x" * 99 + "é" * 78, "an address is ")):
            accepted, said = announces(address)
            assert not accepted and said.startswith("--announce ") and why in said, (address, said)
        assert not system.said("learner", "LEARNER-RELAY")
        assert system.another() is not None
        assert announces(f"tls+tcp://{HOME}:{system.base + 16}") == (True, "")


# ---- sessions

def test_a_session_belongs_to_who_has_its_token():
    """Whoever knows all numbers of an actor, but not its token, gets a session of its own: not the actor's token, place or
    acknowledgements, and its batches are not the actor's."""
    with running(insecure=False) as system:
        def meet(certificate, *extra):
            peer = Crowd(system, certificate)
            (status, answer), = peer.ask(REGISTER, [registration(1, LABEL) + b"".join(extra)])
            assert status == 0, answer
            return peer, fields(answer)
        LABEL = os.urandom(8)
        _, actor = meet("actor", field(16, 900))
        assert actor[5] == 899 and len(actor[9]) == 16 and len(actor[15]) == 8
        assert meet("actor", field(16, 900))[1] == actor  # a request that is repeated
        thief, other = meet("attacker", field(16, 900))
        assert other[5] != actor[5]
        made_up = os.urandom(16)
        for token in (other[9], made_up):
            got = meet("attacker", field(2, (actor[15],)), field(19, token))[1]
            assert got[15] != actor[15] and got[9] != actor[9] and got[4] != actor[4], got
            # Neither its report nor its request for a policy counts as the actor's.
            answers = thief.ask(REPORT, [field(1, actor[4]) + field(2, (actor[15],)) + field(3, 1) + field(11, token) + field(12, 1)])
            answers += thief.ask(GET_POLICY, [field(1, actor[4]) + field(2, 1) + field(4, token)])
            assert [text.decode() for _, text in answers] == ["unknown actor; register first"] * 2, answers
        assert len(system.said("learner", "LEARNER-BAD-TOKEN")) == 1
        before = system.number("replay", "octet_replay_acks_refused_total")
        with contextlib.closing(thief.stranger.connect("acks", system.ports["acks"])) as peer:
            peer.sendall(ask(actor[4], actor[15], other[9]))
            wait_for("the request to be refused", lambda: system.number("replay", "octet_replay_acks_refused_total") > before)
        # With its own token it comes back as itself, whatever it says of its label and place.
        assert meet("attacker", field(2, (other[15],)), field(19, other[9]))[1][15] == other[15]
        assert meet("actor", field(16, 900))[1] == actor


def test_an_actor_whose_session_is_lost_gets_another():
    """A learner without the key of its tokens knows nobody: its actors start over, and training goes on."""
    with running() as system:
        system.processes["learner"].kill()
        system.processes["learner"].wait()
        (system.run / "token.key").unlink()
        another_learner(system, "again", system.run, "--resume", port=system.base)
        wait_for("the actor to begin anew", lambda: len(system.said("actor", "ACTOR-START")) == 2)
        assert len(system.said("actor", "ACTOR-NEW-SESSION")) == 1 and system.said("again", "LEARNER-KEY")
        wait_for("training", lambda: updates(system, "again") > 100)


# ---- places

PLACES = 16384  # of a learner


class Crowd:
    """Registrations of one stranger that play nothing, and say that they do."""

    def __init__(self, system, certificate=None):
        self.port, self.places, self.round = system.ports["learner"], {}, 0
        self.stranger = stranger(HOME, {"learner": self.port}, "127.0.0.9",
                                 system.folder / "certs" / certificate if certificate else None)

    def ask(self, method, payloads):
        """[(status, answer)] of so many calls of a method, many at a time on one connection."""
        answers, got = {}, b""
        with contextlib.closing(self.stranger.connect("learner", self.port)) as peer:
            for first in range(0, len(payloads), 100):
                some = payloads[first:first + 100]
                peer.sendall(b"".join(request(LEARNER, method, p, first + i) for i, p in enumerate(some)))
                while len(answers) < first + len(some):
                    part = peer.recv(1 << 20)
                    assert part, "turned away"
                    got += part
                    while len(got) >= 8 and len(got) >= (end := 8 + int.from_bytes(got[:8], "big")):
                        answers[int.from_bytes(got[8:12], "big") & 0x7fffffff] = int.from_bytes(got[18:20], "little"), got[24:end]
                        got = got[end:]
        return [answers[i] for i in range(len(payloads))]

    def register(self, labels):
        """Refusals, in words."""
        answers = self.ask(REGISTER, [registration(1, label) for label in labels])
        for label, (status, answer) in zip(labels, answers):
            if status == 0:
                self.places[label] = fields(answer)
        return [answer.decode() for status, answer in answers if status != 0]

    def report(self):
        """Each says that it has made steps; those that have lost their place come again."""
        self.round += 1
        places = list(self.places.items())
        answers = self.ask(REPORT, [field(1, place[4]) + field(2, (place[15],)) + field(3, self.round) +
                                    field(5, 1000 * self.round) + field(11, place[9]) for _, place in places])
        self.register([label for (label, _), (status, _) in zip(places, answers) if status != 0])

    @contextlib.contextmanager
    def reporting(self):
        """All the time, meanwhile."""
        done = threading.Event()

        def go_on():
            while not done.is_set():
                self.report()
        thread = threading.Thread(target=go_on)
        self.report()
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_places_are_for_those_whose_rows_replay_takes():
    """A stranger takes all places, and says that he acts: a new actor gets in, and those that act stay."""
    with running() as system:
        crowd = Crowd(system)
        refusals = crowd.register([os.urandom(8) for _ in range(PLACES)])
        assert len(crowd.places) >= PLACES - 10 and all("no room for another actor" in words for words in refusals), refusals
        with crowd.reporting():
            assert system.another() is not None
        assert not system.said("actor", "ACTOR-WAIT-LEARNER") and not system.said("evaluator", "ACTOR-WAIT-LEARNER")
        before = updates(system, "learner")
        wait_for("training to go on", lambda: updates(system, "learner") > before + 1000)


def test_a_certificate_holds_so_many_places():
    """Registrations with one certificate take no place from those with others, whatever they say."""
    held = 64
    with running(insecure=False, settings=[f"learner.actors_per_certificate={held}"]) as system:
        crowd = Crowd(system, "attacker")
        # Where so many take longer than a place is held without a row, none is refused: it comes again.
        refusals = wait_for("one to be refused", lambda: crowd.register([os.urandom(8) for _ in range(4 * held)]))
        with crowd.reporting():
            assert system.another() is not None
        assert refusals and all(re.fullmatch(
            r"the certificate attacker \(SHA-256 begins [0-9a-f]{8}\) has as many registered actors as it may: "
            f"learner.actors_per_certificate: {held}", words) for words in refusals), refusals[:3]
        told = system.metrics("learner")
        assert told["octet_learner_places_refused_total"] >= len(refusals) and told["octet_actors"] <= held + 2, told
        assert len(system.said("learner", "LEARNER-PLACES")) == 1
        assert not system.said("actor", "ACTOR-WAIT-LEARNER") and not system.said("evaluator", "ACTOR-WAIT-LEARNER")


def test_a_certificate_fills_no_log():
    """Registrations in a loop: so many lines at once, then one now and then, which counts the others."""
    lines = 1024
    with running(insecure=False) as system:
        def told(certificate):
            return [line for line in system.said("learner", "LEARNER-JOINED") if line["certificate"] == f'"{certificate}"']
        crowd, label = Crowd(system, "attacker"), os.urandom(8)
        for _ in range(2):
            assert not crowd.register([label] * lines)
        assert lines <= len(told("attacker")) < lines + 100
        before = len(told("actor"))
        assert system.another() is not None and len(told("actor")) == before + 1
        def left_out():
            assert not crowd.register([label])
            said = system.said("learner", "LEARNER-UNLOGGED")
            assert {line["certificate"] for line in said} <= {'"attacker"'}, said
            return sum(int(line["lines"]) for line in said) >= lines - 100
        wait_for("lines to count them", left_out)


def test_actors_wait_for_a_place_of_their_certificate():
    """Who finds none tries again, and gets the place of one that has ended."""
    with running(insecure=False, settings=["learner.actors_per_certificate=1"]) as system:
        system.actor("second", measured=False)
        words = "has as many registered actors as it may: learner.actors_per_certificate: 1"
        wait_for("it to be refused", lambda: system.said("second", "ACTOR-WAIT-LEARNER"))
        assert "the certificate actor (SHA-256 begins " in (system.folder / "second.log").read_text()
        assert words in (system.folder / "second.log").read_text()
        wait_for("it to try again", lambda: system.number("learner", "octet_learner_places_refused_total") >= 3)
        system.processes.pop("actor").terminate()
        wait_for("it to act", lambda: system.said("second", "ACTOR-START"))


def test_an_actor_that_ends_gives_up_its_place():
    """A job that is started again at once is not refused for its own place of before."""
    with running(insecure=False, settings=["learner.actors_per_certificate=1"]) as system:
        def peers():
            out = subprocess.run([BUILD / "cli/octet", "status", "--learner", system.learner, "--tls", system.certs / "operator",
                                  "--json"], capture_output=True, text=True, check=True).stdout
            return json.loads(out)["peers"]
        system.processes.pop("actor").terminate()
        wait_for("it to leave", lambda: system.said("learner", "LEARNER-LEFT"))
        wait_for("its place to be free", lambda: [peers()[key] for key in ("actors", "silent", "gone")] == [0, 0, 0])
        system.actor("second", measured=False)
        wait_for("another to act", lambda: system.said("second", "ACTOR-START"))
        assert not system.said("second", "ACTOR-WAIT-LEARNER") and not system.said("learner", "LEARNER-PLACES")


# ---- who the learner is, without TLS

BETWEEN = "127.0.0.2"  # where the one between listens


def key_of(log):
    return next(log_lines(log, "LEARNER-SIGNS"))["key"]


def test_an_actor_knows_its_learner_again():
    """Another learner at the address of the first is not obeyed, whichever run it names; the first one is, when it is back."""
    with running() as system:
        system.processes["learner"].kill()
        system.processes["learner"].wait()
        another_learner(system, "stranger", system.folder / "other", port=system.base)
        wait_for("it to be told from the first", lambda: system.said("actor", "ACTOR-FORGED"))
        assert "its key is not that of the learner that this actor knows" in (system.folder / "actor.log").read_text()
        assert not system.said("actor", "ACTOR-NEW-RUN")
        system.processes["stranger"].kill()
        system.processes["stranger"].wait()
        another_learner(system, "again", system.run, "--resume", port=system.base)
        wait_for("training", lambda: updates(system, "again") > 100)
        assert key_of(system.folder / "again.log") == key_of(system.folder / "learner.log")
        assert len(system.said("actor", "ACTOR-START")) == 1 and system.processes["actor"].poll() is None


def test_a_pinned_learner_is_the_only_one():
    with running() as system:
        key = key_of(system.folder / "learner.log")
        assert (system.run / "learner.key").stat().st_mode & 0o777 == 0o600
        other = ("0" if key[0] != "0" else "1") + key[1:]
        system.actor("deceived", "--pin", other, measured=False)
        wait_for("the other key to be noticed", lambda: system.said("deceived", "ACTOR-FORGED"))
        system.actor("pinned", "--pin", key, measured=False)
        wait_for("the right key to be taken", lambda: system.said("pinned", "ACTOR-START"))
        assert not system.said("deceived", "ACTOR-START")
        bad = subprocess.run([BUILD / "actor/octet-actor", "--pin", key[1:]], capture_output=True, text=True, check=False)
        assert bad.returncode == 2 and "a key is 64 hexadecimal digits" in bad.stderr, bad


def unsigned(messages):
    """Messages of NNG's stream (an 8-byte length before each) without their last field, if that is a signature."""
    out = b""
    while len(messages) >= 8 and len(messages) >= 8 + int.from_bytes(messages[:8], "big"):
        end = 8 + int.from_bytes(messages[:8], "big")
        one, messages = messages[8:end], messages[end:]
        one = one[:-66] if len(one) > 66 and one[-66:-64] == b"\x32\x40" else one
        out += len(one).to_bytes(8, "big") + one
    return out, messages


def carry(source, sink, strip):
    with contextlib.suppress(OSError), source, sink:
        if strip:
            sink.sendall(source.recv(8, socket.MSG_WAITALL))  # NNG's header
        left = b""
        while received := source.recv(1 << 16):
            sending, left = unsigned(left + received) if strip else (received, b"")
            sink.sendall(sending)


def stand_between(stack, ports, stripped):
    """Forwards connections to BETWEEN to this machine's ports; of one of them policies lose their signatures."""
    def serve(listener, port):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                try:
                    target = socket.create_connection((HOME, port))
                except OSError:  # nobody is there yet
                    peer.close()
                    continue
                for source, sink, strip in ((peer, target, False), (target, peer, port == stripped)):
                    threading.Thread(target=carry, args=(source, sink, strip), daemon=True).start()
    for port in ports:
        listener = stack.enter_context(socket.create_server((BETWEEN, port)))
        threading.Thread(target=serve, args=(listener, port), daemon=True).start()


def test_a_policy_without_signature_is_dropped():
    settings = [word for s in ENDLESS for word in ("--set", s)]
    with scratch() as folder, lone_learner(folder, "--log-level", "debug", *settings) as (port, log, _), \
            started(folder / "replay.log", "replay/octet-replay", "--insecure", *follows(), "--listen", f"tcp://{HOME}:{port + 4}"), \
            contextlib.ExitStack() as stack:
        stand_between(stack, [port, port + 1, *range(port + 4, port + 7)], port + 1)
        actor = stack.enter_context(started(folder / "actor.log", "actor/octet-actor", "--insecure", *follows(), "--log-level", "debug",
                                            "--learner", f"tcp://{BETWEEN}:{port}"))
        told = lambda name: list(log_lines(folder / "actor.log", name))
        wait_for("a policy to be dropped", lambda: told("ACTOR-BAD-POLICY"))
        assert "it is not signed with the learner's key" in (folder / "actor.log").read_text()
        wait_for("policies to be published on", lambda: len(list(log_lines(log, "LEARNER-PUBLISH"))) > 30)
        assert len(told("ACTOR-BAD-POLICY")) == 1 and told("ACTOR-START") and actor.poll() is None


if __name__ == "__main__":
    sys.exit(run_named(globals()))
