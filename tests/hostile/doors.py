#!/usr/bin/env python3
"""Doors that were found open at the learner, each shut: two learners on one run, two runs on one replay.

usage: doors.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(HERE))
from daemons import HOME, run_named, wait_for  # noqa: E402
from hostile import CARTPOLE, ENDLESS, System  # noqa: E402


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


def another_learner(system, name, run, *options):
    """A second learner, of ports of its own, at the same replay; the address for its actors."""
    port = system.base + 16
    system.start(name, ["learner/octet-learner", CARTPOLE, "--run-dir", run, *options, *[
        word for s in [*ENDLESS, f"net.learner=tcp://0.0.0.0:{port}", f"net.replay={system.replay}"]
        for word in ("--set", s)]])
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


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    sys.exit(run_named(globals()))
