#!/usr/bin/env python3
"""End-to-end tests of several learners that share batches (docs/scaling.md): see e2e.py.

usage: e2e_learners.py OCTET TEST
"""

import csv
import os
import signal
import subprocess
import sys

from e2e import (CARTPOLE, DEADLINE_S, ENDLESS, LEARNER, child_processes, children, column, finish, interrupt, logged,
                 octet, scratch, start, summary, train, wait_for_updates)
from e2e_determinism import QUICK, repeated
from daemons import run_named, wait_for

PPO = CARTPOLE.with_name("cartpole-ppo.yaml")
A3C = CARTPOLE.with_name("cartpole-a3c.yaml")


def learners(run):
    """Processes of octet-learner: the first learner, then its copies. Numbers of processes begin again from low ones."""
    pids = [pid for pid, command in children(run).items() if command[0].endswith("octet-learner")]
    copies = set().union(*(child_processes(pid)[0] for pid in pids))
    return sorted(pids, key=lambda pid: (pid in copies, pid))


def stop(process, run):
    interrupt(process, run)
    assert not children(run), children(run)


def test_two_learners_repeat_themselves():
    """In lock-step: the same bits again, those of one learner but for rounding."""
    with scratch() as folder:
        first = repeated(folder / "first", *QUICK, "--learners", "2")
        assert repeated(folder / "again", *QUICK, "--learners", "2") == first
        assert logged(folder / "first", "learner 1 of 2")


def test_two_learners_learn_cartpole_by_ppo():
    with scratch() as folder:
        run = folder / "run"
        finish(train(run, "--learners", "2", "--set", "run.env_steps=1000000", preset=PPO), run)
        assert summary(run)["solved"], summary(run)
        assert not children(run)


def asynchronous(count):
    return ["--learners", str(count), "--set", "learner.asynchronous=true"]


def learns_asynchronously(preset):
    """Learns (a few runs of a3c need more than 1.5 million steps), and its staleness is known."""
    with scratch() as folder:
        run = folder / "run"
        finish(train(run, *asynchronous(2), "--set", "run.env_steps=6000000", preset=preset), run)
        assert summary(run)["solved"], summary(run)
        with open(run / "metrics.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        staleness = [(float(row["staleness"]), int(row["staleness_max"])) for row in rows if row["staleness"]]
        assert staleness and all(0 <= mean <= most <= 32 for mean, most in staleness), staleness
        assert not children(run)
        # The second one learns, too. A short run may be over before it has begun.
        run = folder / "both"
        process = train(run, *ENDLESS, *asynchronous(2), preset=preset)
        wait_for("a stale gradient", lambda: (column(run, "staleness_max") or 0) > 0)
        stop(process, run)


def test_asynchronous_learners_learn_cartpole():
    learns_asynchronously(CARTPOLE)


def test_asynchronous_actor_critics_learn_cartpole():
    learns_asynchronously(A3C)


def test_a_learner_that_dies_ends_the_others_and_all_begin_again():
    a_learner_that_dies(["--learners", "3", "--set", "learner.batch_size=96"])


def test_an_asynchronous_learner_that_dies_ends_the_others_and_all_begin_again():
    a_learner_that_dies(asynchronous(3))


def a_learner_that_dies(three_learners):
    with scratch() as folder:
        run = folder / "run"
        process = train(run, *ENDLESS, *three_learners)
        wait_for_updates(run, 300)
        before = learners(run)
        assert len(before) == 3, before
        wait_for("learners=3", lambda: "learners=3" in (folder / "run.out").read_text(encoding="utf-8"))
        os.kill(before[2], signal.SIGKILL)
        wait_for("what has died", lambda: logged(run, "was killed by signal 9", "learner"))
        wait_for("other learners", lambda: len(learners(run)) == 3 and not set(learners(run)) & set(before))
        updates = column(run, "updates")
        wait_for_updates(run, updates + 300)
        # And the first one leaves nobody behind.
        before = learners(run)
        os.kill(before[0], signal.SIGKILL)
        wait_for("other learners", lambda: len(learners(run)) == 3 and not set(learners(run)) & set(before))
        stop(process, run)


def test_a_learner_that_hangs_is_killed_though_policies_are_written():
    """The training thread of the first one waits for the other; its loop goes on."""
    with scratch() as folder:
        run = folder / "run"
        process = train(run, *ENDLESS, "--learners", "2", "--set", "run.hang_s=3", "--set", "learner.checkpoint_s=1")
        wait_for_updates(run, 300)
        before = learners(run)
        assert len(before) == 2, before
        os.kill(before[1], signal.SIGSTOP)
        wait_for("what hangs", lambda: "(its working thread); killed after 3 s (run.hang_s)"
                 in (folder / "run.out").read_text(encoding="utf-8"))
        wait_for("other learners", lambda: len(learners(run)) == 2 and not set(learners(run)) & set(before))
        updates = column(run, "updates")
        wait_for_updates(run, updates + 300)
        stop(process, run)
        assert summary(run)["daemons"]["learner"]["hangs"] == 1, summary(run)["daemons"]


def test_a_run_goes_on_with_another_number_of_learners():
    with scratch() as folder:
        run, updates = folder / "run", 0
        for count, arguments in ((2, ["--learners", "2"]), (4, ["--resume", "--learners", "4"]),
                                 (3, ["--resume", *asynchronous(3)]), (1, ["--resume", "--learners", "1"])):
            process = train(run, *ENDLESS, *arguments)
            wait_for_updates(run, updates + 300)
            assert len(learners(run)) == count
            stop(process, run)
            assert summary(run)["updates"] > updates
            updates = summary(run)["updates"]


def test_what_a_launcher_started_alone_makes_its_own_learners():
    """mpirun and srun say that they have started octet train, or one octet-learner: neither is one of several."""
    with scratch() as folder:
        run = folder / "run"
        finish(train(run, *QUICK, "--learners", "2", env={**os.environ, "PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "4"}), run)
        assert logged(run, "learner 1 of 2")

        def by_hand(*settings, **variables):
            return start([LEARNER, CARTPOLE, "--run-dir", folder / "hand", "--set", f"net.learner=ipc://{folder}/learner.ipc",
                          *settings], stderr=subprocess.PIPE, env={**os.environ, **variables})

        process = by_hand("--set", "learner.count=2", SLURM_STEP_NUM_TASKS="1", PMIX_RANK="0")
        said = ""
        while "LEARNER-LISTEN" not in said or "learner 1 of 2" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        # One beside other programs of a launch; of two in one folder the second is told what may have been meant.
        first = by_hand("--resume", SLURM_STEP_NUM_TASKS="4")
        wait_for("the first to have the folder", lambda: "LEARNER-LISTEN" in first.stderr.readline())
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
            process = by_hand(**{variable: "4"})
            _, said = process.communicate(timeout=DEADLINE_S)
            assert process.returncode == 3 and "is in use by octet-learner" in said, said
            assert "mpirun or srun has started 4 processes: --set learner.count=4 makes them the learners of one run" in said, said
        first.send_signal(signal.SIGTERM)
        assert first.wait(DEADLINE_S) == 0


def test_what_learners_cannot_share_is_refused():
    with scratch() as folder:
        def said(*arguments):
            done = octet("train", CARTPOLE, "--run-dir", folder / "run", *arguments)
            assert done.returncode != 0, done
            return done.stderr

        assert "3 learners cannot share learner.batch_size" in said("--learners", "3", "--set", "learner.batch_size=64")
        assert "learner.quantisation_aware: true allows only one" in said("--learners", "2", "--set",
                                                               "learner.quantisation_aware=true")
        assert "run.deterministic" in said(*asynchronous(2), "--deterministic")
        done = octet("train", PPO, "--run-dir", folder / "run", *asynchronous(2))
        assert done.returncode != 0 and "learner.asynchronous: algo.name ppo" in done.stderr, done
        table = CARTPOLE.parent / "toy_text" / "taxi.yaml"
        done = octet("train", table, "--run-dir", folder / "run", "--learners", "2")
        assert done.returncode != 0 and "algo.name table allows only one learner, not 2" in done.stderr, done


if __name__ == "__main__":
    sys.exit(run_named(globals()))
