#!/usr/bin/env python3
"""End-to-end tests of runs that begin with another (docs/transfer.md): see e2e.py.

usage: e2e_transfer.py OCTET TEST
"""

import re
import shutil
import struct
import subprocess
import sys

from e2e import CARTPOLE, OCTET, PENDULUM, ROOT, finish, logged, octet, scratch, train
from e2e_determinism import QUICK, SLOW, all_killed, hashed, killed_and_resumed, repeated, result
from e2e_resume import sections
from daemons import run_named, wait_for

SHAPE = 4 + 3 * 10  # of a saved network of three dense layers (nn/nn_saved.c)
FIRST = 32 * 4 + 32  # parameters of the first layer of presets/cartpole.yaml


def first_layer(run):
    """Bytes of the policy's first layer in the newest checkpoint of a dqn."""
    state = sections(run / "checkpoint.oct")["ALGO"]
    at = state.index(struct.pack("<I", 0x41544353)) + 40 + SHAPE
    return state[at:at + 4 * FIRST]


def told(text):
    return re.findall(r"^init: (.*)$", text, re.MULTILINE)


def refused(folder, *arguments, preset=CARTPOLE):
    done = octet("train", preset, "--run-dir", folder / "no", *arguments, cwd=folder)
    assert done.returncode == 2, done
    assert not (folder / "no").exists(), done
    return done.stderr


def test_a_run_begins_with_another():
    """In lock-step, with a frozen layer: the same bits again, and the layer's are the other run's."""
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK)
        tuned = [*QUICK, "--init-from", donor, "--freeze", "0", "--set", "env.options=max_episode_steps=400"]
        first = repeated(folder / "first", *tuned)
        assert repeated(folder / "again", *tuned) == first
        assert first_layer(folder / "first") == first_layer(donor)
        other = repeated(folder / "other", *QUICK, "--init-from", donor)
        assert other != first and first_layer(folder / "other") != first_layer(donor)
        lines = told((folder / "first.out").read_text(encoding="utf-8"))
        assert lines[0].startswith(f"from {donor}/checkpoint.oct, CartPole-v1, "), lines
        assert lines[1:] == ["policy layer 0 (4 -> 32, relu): taken", "policy layer 1 (32 -> 32, relu): taken",
                             "policy layer 2 (32 -> 2, linear): taken",
                             "mean and deviation of the observations: taken",
                             "policy layers that do not learn: 0"], lines
        for line in lines:
            assert logged(folder / "first", f"LEARNER-INIT {line}", "learner"), line


def test_a_resumed_run_takes_nothing_again():
    """The other run is gone when it goes on, and it ends as if it had never been killed."""
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK)
        tuned = ["--deterministic", *QUICK, "--init-from", donor, "--freeze", "0,2"]
        finish(train(folder / "whole", *tuned), folder / "whole")
        run = folder / "run"
        process = train(run, *tuned)
        wait_for("a checkpoint", lambda: hashed(run) >= 2 or process.poll() is not None)
        all_killed(process, run)
        shutil.rmtree(donor)
        text = finish(train(run, "--resume"), run)
        assert not [line for line in told(text) if "taken" in line], text
        assert result(run) == result(folder / "whole")
        text = finish(train(run, "--resume", "--init-from", folder / "whole"), run, 2)
        assert "start a new run" in text, text


def test_killed_at_random_moments_it_is_the_same():
    with scratch() as folder:
        repeated(folder / "donor", *SLOW, preset=PENDULUM)
        killed_and_resumed(2, *SLOW, "--init-from", folder / "donor", "--freeze", "1", preset=PENDULUM)


def test_a_policy_file_gives_its_layers():
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK)
        for policy, words in (("policy.fp32.oct", []), ("policy.oct", ["its weights are int8 and are converted "
                                                                        "to fp32; its values lack the "
                                                                        "part that all actions share"])):
            run = folder / policy
            lines = told(finish(train(run, *QUICK, "--init-from", donor / policy), run))
            assert [line for line in lines if "int8" in line] == words, lines
            assert len([line for line in lines if line.endswith(": taken")]) == 3, lines
            assert lines[-1] == "mean and deviation of the observations: not taken", lines
        student = folder / "student"  # as octet distill makes them: no run, but its policies
        student.mkdir()
        shutil.copy(donor / "policy.fp32.oct", student)
        run = folder / "of_student"
        lines = told(finish(train(run, *QUICK, "--init-from", student), run))
        assert lines[0].startswith(f"from {student}/policy.fp32.oct, CartPole-v1, "), lines
        # Of one that was imported without an environment, only what is known is told.
        stranger = folder / "stranger.oct"
        subprocess.run([OCTET, "import", ROOT / "tests/data/import/tanh.onnx", "--actions", "2", "--precision", "fp32",
                        "--out", stranger], capture_output=True, check=True)
        run = folder / "of_stranger"
        text = finish(train(run, *QUICK, "--init-from", stranger, "--set", "network.hidden=[16,16]", "--set",
                            "network.activation=tanh"), run)
        assert told(text)[0] == f"from {stranger}", text
        ppo = folder / "ppo"  # hidden layers of another algorithm
        text = finish(train(ppo, "--init-from", donor, "--set", "network.hidden=[32,32]", "--set", "run.env_steps=4000",
                            "--set", "network.activation=relu", preset=ROOT / "presets/cartpole-ppo.yaml"), ppo)
        assert "policy layer 1 (32 -> 32, relu): taken" in told(text), text
        assert "policy layer 2 (32 -> 2, linear): initialised: values in the source, logits in this run" in told(text), text
        assert "value layer 0 (4 -> 32, relu): initialised: learned by dqn in the source" in told(text), text


def test_an_average_is_what_is_taken():
    """Of a run that publishes the average of its policy: the one that acted."""
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK, "--set", "learner.ema_decay=0.99")
        state = sections(donor / "checkpoint.oct")["ALGO"]
        at = state.index(b"EMA ") + 8
        average = state[at:at + 4 * FIRST]
        run = folder / "run"
        repeated(run, *QUICK, "--init-from", donor, "--freeze", "0")
        assert first_layer(run) == average != first_layer(donor)
        lines = told((folder / "run.out").read_text(encoding="utf-8"))
        assert lines[1] == "its policy is the average of learner.ema_decay, with which actors acted", lines
        assert "mean and deviation of the observations: taken" in lines, lines


def test_learners_of_all_kinds_freeze():
    """Two that share batches, and two that wait for nobody."""
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK)
        tuned = ["--init-from", donor, "--freeze", "0", "--learners", "2"]
        repeated(folder / "two", *QUICK, *tuned)
        assert first_layer(folder / "two") == first_layer(donor)
        run = folder / "async"
        finish(train(run, *tuned, "--set", "learner.asynchronous=true", "--set", "run.stop_at_return=none",
                     "--set", "run.env_steps=100000"), run)
        assert first_layer(run) == first_layer(donor)


def test_what_cannot_be_taken_is_refused():
    with scratch() as folder:
        donor = folder / "donor"
        repeated(donor, *QUICK)
        text = refused(folder, "--init-from", "nowhere", preset=PENDULUM)
        assert "--set learner.init_from=nowhere: error: learner.init_from is 'nowhere': No such file" in text, text
        text = refused(folder, "--init-from", donor, "--set", "network.hidden=[24, 24]", preset=PENDULUM)
        assert f"no layer of {donor} fits the networks of this run" in text, text
        (folder / "empty").mkdir()
        assert "config.yaml" in refused(folder, "--init-from", "empty")
        (folder / "foreign").write_bytes(b"#!/bin/sh\n" * 40)
        assert "foreign: " in refused(folder, "--init-from", "foreign")
        policy = (donor / "policy.oct").read_bytes()
        (folder / "cut.oct").write_bytes(policy[:-9])
        assert "cut.oct: " in refused(folder, "--init-from", "cut.oct")
        early = folder / "early"  # in lock-step, shorter than its period of checkpoints
        repeated(early, *QUICK, "--set", "learner.checkpoint_turns=100000")
        assert "is from before the first update" in refused(folder, "--init-from", early)
        bare = folder / "bare"
        bare.mkdir()
        for name in ("config.yaml", "environment.oct"):
            shutil.copy(donor / name, bare / name)
        assert "has no checkpoint" in refused(folder, "--init-from", bare)
        for path in donor.glob("checkpoint*.oct"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        assert "damaged" in refused(folder, "--init-from", donor)
        for layers, why in {"0,x": "--freeze is '0,x'; allowed are layer numbers such as 0,1",
                            "3": "there is no layer 3; the policy has layers 0 to 2",
                            "0,1,2": "lists all 3 layers of the policy"}.items():
            assert why in refused(folder, "--freeze", layers), layers
        text = refused(folder, "--freeze", "0", "--set", "algo.name=table")
        assert "algo.name: a table has no layers" in text, text


if __name__ == "__main__":
    sys.exit(run_named(globals()))
