#!/usr/bin/env python3
"""Doors that were found open at the learner, each shut: two learners on one run, two runs on one replay, an actor that
decides the network's shape.

usage: doors.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(HERE))
from attack import LEARNER, REGISTER, Attack, fields, registration, request  # noqa: E402
from daemons import HOME, free_port, run_named, wait_for  # noqa: E402
from hostile import CARTPOLE, ENDLESS, System, log_lines  # noqa: E402


@contextlib.contextmanager
def running():
    """A run in training, on a network without certificates."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-doors-"))
    try:
        with System(BUILD, folder, insecure=True) as system:
            yield system
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-12:], sep="\n")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def another_learner(system, name, run, *options, port=None):
    """A second learner, of ports of its own unless one is given, at the same replay; the address for its actors."""
    port = port or system.base + 16
    system.start(name, ["learner/octet-learner", CARTPOLE, "--run-dir", run, *[
        word for s in [*ENDLESS, f"net.learner=tcp://0.0.0.0:{port}", f"net.replay={system.replay}"]
        for word in ("--set", s)], *options])
    return f"tcp://{HOME}:{port}"


def updates(system, name):
    return system.number(name, "octet_learner_updates_total")


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
        assert "actor.envs was" in (system.folder / "actor.log").read_text()
        assert not system.said("evaluator", "ACTOR-NEW-CONFIG")
        wait_for("training", lambda: updates(system, "again") > 100)


# ---- the environment

def register(port, observed):
    """Whether an actor with so many numbers observed is accepted, and the reason why not."""
    stranger = Attack(dict(ports={"learner": port}, tls=None, source=HOME, host=HOME, seconds=0, limit_s=60, count=1))
    with contextlib.closing(stranger.connect("learner", port)) as peer:
        got = stranger.exchange(peer, request(LEARNER, REGISTER, registration(observed=observed)))
    answer = fields(got[16:])
    return answer.get(1) == 1, answer.get(2, b"").decode()


@contextlib.contextmanager
def lone_learner(folder, *options, experiment=CARTPOLE):
    """A learner that nobody has registered with: (its port, its log, the process)."""
    port, log = free_port(8), folder / "learner.log"
    with open(log, "ab") as out:
        process = subprocess.Popen([BUILD / "learner/octet-learner", experiment, "--run-dir", folder / "run", "--insecure", *options,
                                    "--set", f"net.learner=tcp://{HOME}:{port}", "--set",
                                    f"net.replay=tcp://{HOME}:{port + 4}"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        wait_for("it to listen", lambda: list(log_lines(log, "LEARNER-LISTEN")) or process.poll() is not None)
        yield port, log, process
    finally:
        process.kill()
        process.wait()


def test_the_first_actor_decides_no_shape():
    """octet train has opened the environment: what it found is what the learner accepts, whoever comes first."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-doors-"))
    try:
        run = folder / "trained"
        with open(folder / "train.log", "wb") as log:
            train = subprocess.Popen([BUILD / "cli/octet", "train", CARTPOLE, "--run-dir", run, "--set",
                                      "run.env_steps=1000000000", "--set", "run.stop_at_return=501"], stdout=log, stderr=log)
        said = wait_for("the learner to say it", lambda: (run / "log/learner.log").exists() and [
            line for line in (run / "log/learner.log").read_text().splitlines() if "LEARNER-ENVIRONMENT" in line])
        train.send_signal(signal.SIGINT)
        train.wait()
        assert "CartPole-v1: observations 4 float32, actions 2 to choose from; known from environment.oct" in said[0], said
        with lone_learner(folder, "--environment", run / "environment.oct") as (port, log, process):
            accepted, why = register(port, 5)
            assert not accepted and why == (
                "this run trains on CartPole-v1: observations 4 float32, actions 2 to choose from; this actor has "
                "CartPole-v1: observations 5 float32, actions 2 to choose from"), why
            assert not list(log_lines(log, "LEARNER-START")) and process.poll() is None
            assert register(port, 4) == (True, "")
            assert [line["obs"] for line in log_lines(log, "LEARNER-START")] == ["4"]
            assert not register(port, 5)[0] and process.poll() is None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_environment_of_the_first_actor_stays():
    """By hand nobody knows it before: the first actor's is shown, and holds for the next processes of the run."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-doors-"))
    try:
        with lone_learner(folder) as (port, log, _):
            assert register(port, 4) == (True, "")
            assert "known from the first that registered" in log.read_text()
            assert not register(port, 5)[0]
            wait_for("a checkpoint", (folder / "run/checkpoint.oct").exists)
        log.unlink()
        with lone_learner(folder, "--resume") as (port, log, process):
            accepted, why = register(port, 5)
            assert not accepted and "observations 4 float32" in why and "observations 5 float32" in why, why
            assert not list(log_lines(log, "LEARNER-START")) and process.poll() is None
            assert register(port, 4) == (True, "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- plug-ins

def test_an_actor_loads_no_plug_in_that_its_operator_did_not_name():
    """env.id is the learner's word: it names a file of the actor's machine only where the actor's operator says so."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-doors-"))
    mine, others = folder / "mine", folder / "others"
    try:
        for place in (mine, others):
            place.mkdir(mode=0o755)
            shutil.copy(BUILD / "tests/envs/point.so", place)
        (mine / "link.so").symlink_to(others / "point.so")

        def comes(plug_in, *options, **variables):
            """An actor of a learner that names this plug-in: its exit status, or None when it is in, and its log."""
            with lone_learner(folder, "--set", f"env.id={plug_in}", experiment=ROOT / "examples/env/point.yaml") as (
                    port, log, _):
                actor = subprocess.Popen(
                    [BUILD / "actor/octet-actor", "--learner", f"tcp://{HOME}:{port}", "--insecure", *options], text=True,
                    stderr=subprocess.PIPE, env={**os.environ, "OCTET_PLUGINS": "", **variables})
                wait_for("an end", lambda: actor.poll() is not None or list(log_lines(log, "LEARNER-JOINED")))
                code = actor.poll()
                actor.kill()
                shutil.rmtree(folder / "run", ignore_errors=True)
                return code, actor.communicate()[1]
        for plug_in, options, says in (
                (mine / "point.so", [], "no directory was named"),
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    sys.exit(run_named(globals()))
