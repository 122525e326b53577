#!/usr/bin/env python3
"""End-to-end tests of runs in lock-step (docs/determinism.md): see e2e.py.

usage: e2e_determinism.py OCTET TEST
"""

import os
import signal
import sys

from e2e import ACTOR, CARTPOLE, LEARNER, PENDULUM, REPLAY, OCTET, daemon, finish, scratch, start, train
from daemons import certificates, free_port, run_named, wait_for

# Lives of 8 turns: actors begin anew several times in a run of some seconds.
SHORT = ["--set", "run.stop_at_return=none", "--set", "learner.checkpoint_turns=8", "--set", "run.hash_updates=100",
         "--set", "evaluation.period_turns=6", "--set", "evaluation.episodes=10", "--set", "evaluation.screen_episodes=5"]
QUICK = [*SHORT, "--set", "run.env_steps=40000"]
SLOW = [*SHORT, "--set", "run.env_steps=12000", "--set", "learner.batch_size=64", "--set", "network.hidden=[32,32]",
        "--set", "replay.sampler=prioritized"]


def hashes(run):
    return (run / "hashes.csv").read_text(encoding="utf-8")


def hashed(run):
    """Rows of hashes.csv so far."""
    try:
        return hashes(run).count("\n") - 1
    except OSError:
        return 0


def repeated(run, *settings, preset=CARTPOLE):
    finish(train(run, "--deterministic", *settings, preset=preset), run)
    rows = hashes(run).splitlines()
    assert rows[0] == "turn,updates,env_steps,weights,replay" and len(rows) > 4, rows
    assert len({row.rsplit(",", 2)[1] for row in rows}) == len(rows), "weights that do not change"
    return hashes(run)


def test_same_seed_same_run():
    with scratch() as folder:
        first = repeated(folder / "first", *QUICK)
        assert repeated(folder / "again", *QUICK) == first
        other = repeated(folder / "other", *QUICK, "--seed", "2")
        assert not set(other.splitlines()[1:]) & set(first.splitlines()[1:])


def test_same_seed_same_run_of_four_actors_one_of_which_dies():
    with scratch() as folder:
        four = [*QUICK, "--actors", "4"]
        first = repeated(folder / "first", *four)
        run = folder / "again"
        process = train(run, "--deterministic", *four)
        for rows in (2, 4):
            wait_for("rows", lambda: hashed(run) >= rows or process.poll() is not None)
            pid = daemon(run, "octet-actor")
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        finish(process, run)
        assert hashes(run) == first


def test_same_seed_same_run_with_actions_in_a_box_and_priorities():
    with scratch() as folder:
        two = [*SLOW, "--actors", "2"]
        assert repeated(folder / "first", *two, preset=PENDULUM) == repeated(folder / "again", *two, preset=PENDULUM)


def test_same_seed_same_run_with_actions_that_are_drawn():
    with scratch() as folder:
        sac = [*SLOW, "--set", "algo.name=sac"]
        assert repeated(folder / "first", *sac, preset=PENDULUM) == repeated(folder / "again", *sac, preset=PENDULUM)


def by_hand(folder, name, certs=None):
    """The daemons by hand, over TLS where there are certificates; gives the run's hashes."""
    base = free_port(8)
    learner, replay = ((f"tls+tcp://127.0.0.1:{base}", f"tls+tcp://127.0.0.1:{base + 4}") if certs else
                       (f"ipc://{folder}/{name}-learner.ipc", f"ipc://{folder}/{name}-replay.ipc"))
    run = folder / name

    def secured(role):
        return ["--tls", certs / role] if certs else []

    actors = [[ACTOR, "--learner", learner, "--index", i, *secured("actor")] for i in range(2)]
    commands = [[REPLAY, "--listen", replay, *secured("replay")], *actors,
                [ACTOR, "--learner", learner, "--evaluate", *secured("evaluator")]]
    with open(f"{run}.out", "w", encoding="utf-8") as out:
        others = [start(command, stdout=out, stderr=out) for command in commands]
        process = start([LEARNER, CARTPOLE, "--deterministic", "--run-dir", run, "--set", f"net.learner={learner}",
                         "--set", f"net.replay={replay}", "--set", "actor.count=2", *QUICK, *secured("learner")],
                        stdout=out, stderr=out)
        try:
            finish(process, run)
        finally:
            for other in others:
                other.kill()
                other.wait()
    return hashes(run)


def test_same_seed_same_run_with_and_without_tls():
    with scratch() as folder:
        plain = by_hand(folder, "plain")
        assert by_hand(folder, "secured", certificates(OCTET, folder / "certs")) == plain
        assert repeated(folder / "local", *QUICK, "--actors", "2") == plain


def test_what_has_no_turns_is_refused():
    with scratch() as folder:
        for setting, why in {"replay.sampler=fifo": "takes each window once", "actor.when_full=drop": "loses steps",
                             "replay.samples_per_insert=0": "how many updates"}.items():
            run = folder / "run"
            text = finish(train(run, "--deterministic", "--set", setting), run, 2)
            assert why in text and "not with run.deterministic" in text, text


def test_resume_is_refused():
    with scratch() as folder:
        run = folder / "run"
        first = repeated(run, *QUICK)
        text = finish(train(run, "--resume"), run, 1)
        assert "a run in lock-step cannot go on from a checkpoint" in text, text
        assert hashes(run) == first


def test_a_killed_replay_ends_the_run_in_words():
    """What it had taken is not known, and nothing that was promised may be lost in silence."""
    with scratch() as folder:
        run = folder / "run"
        process = train(run, "--deterministic", *SHORT, "--set", "run.env_steps=100000000")
        wait_for("rows", lambda: hashed(run) >= 3 or process.poll() is not None)
        os.kill(daemon(run, "octet-replay"), signal.SIGKILL)
        finish(process, run, 1)
        log = (run / "log/learner.log").read_text(encoding="utf-8")
        assert "the run goes on from turn 0, the table has turn" in log or "LEARNER-TURN-LOST" in log, log


if __name__ == "__main__":
    sys.exit(run_named(globals()))
