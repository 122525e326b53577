"""A learner of one's own: what it gets and gives, what is refused, and how either side ends."""

import contextlib
import copy
import csv
import gc
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import warnings
from unittest import mock

import numpy as np
import octet
import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Small, and over only when it is told to be.
SMALL = {"network.hidden": [8], "run.stop_at_return": "none", "run.env_steps": 100000000, "learner.metrics_s": 0.05,
         "actor.envs": 4, "learner.batch_size": 16, "replay.min_size": 64, "algo.n_step": 3, "learner.prefetch": 1,
         "learner.batches_per_request": 1, "learner.publish_period": 1}


def started(folder, **settings):
    settings = {key.replace("__", "."): value for key, value in settings.items()}
    return octet.Learner(str(ROOT / "presets/cartpole.yaml"), folder, {**SMALL, **settings})


def layers_like(learner, value):
    return [tuple(np.full(shape, value, np.float32) for shape in layer.shapes) for layer in learner.layers]


def summary(folder):
    return json.loads((pathlib.Path(folder) / "summary.json").read_text())


def rows(folder):
    with open(pathlib.Path(folder) / "metrics.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_another_algorithm_is_refused_before_it_trains(tmp_path):
    with pytest.raises(octet.OctetError, match="algo.name: dqn: only external learns here"):
        started(tmp_path / "run", algo__name="dqn")
    assert not (tmp_path / "run").exists()


def test_options_of_the_algorithm_that_it_replaces_are_not_in_its_way(tmp_path, capfd):
    settings = {"replay.min_size": 100, "run.updates": 1, "learner.batch_size": 64}
    with octet.Learner(ROOT / "presets/pendulum-ppo.yaml", tmp_path / "run", settings, verbose=True) as learner:
        assert next(iter(learner)).actions.shape == (64, 1)
        learner.update()
    said = capfd.readouterr().err
    assert "note: algo.name: external replaces ppo, whose options are ignored: " in said
    assert "algo.scale_rewards" in said


def test_a_program_that_ends_ends_its_run(tmp_path):
    text = (f"import octet; learner = octet.Learner({str(ROOT / 'presets/cartpole.yaml')!r}, {str(tmp_path / 'run')!r}, {SMALL!r})\n"
            "for _ in range(3):\n    learner.next(), learner.update()")
    subprocess.run([sys.executable, "-c", text], check=True)
    assert summary(tmp_path / "run")["reason"] == "interrupted"


def test_a_ctrl_c_before_the_run_begins_is_a_ctrl_c(tmp_path, monkeypatch):
    program = tmp_path / "octet"  # which a signal ends: it handles none yet
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("OCTET_PROGRAM", str(program))
    monkeypatch.setattr(octet._learner.time, "sleep", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        started(tmp_path / "run")


def test_a_ctrl_c_while_it_attaches_keeps_no_place(tmp_path, monkeypatch):
    real = octet._learner.lib.octet_learner_open

    def interrupted(*arguments):
        assert real(*arguments) == 0
        raise KeyboardInterrupt

    with started(tmp_path / "run") as learner:
        octet._lib.lib.octet_learner_leave(learner._handle.pointer)  # its place is free
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as told:
            patch.setattr(octet._learner.lib, "octet_learner_open", interrupted)
            octet.Learner.attach(tmp_path / "run", timeout=30)
        with octet.Learner.attach(tmp_path / "run", timeout=30) as another:
            assert another.next() is not None, told


def test_whoever_was_refused_or_has_left_keeps_no_place(tmp_path):
    """Nor do their batches, while somebody holds them."""
    with started(tmp_path / "run") as learner:
        octet._lib.lib.octet_learner_leave(learner._handle.pointer)  # its place is free
        with pytest.raises(octet.OctetError, match="a run continues there"):
            octet.Learner("cartpole", tmp_path / "run")
        held = []
        for _ in range(2):
            with octet.Learner.attach(tmp_path / "run", timeout=30) as another:
                held.append(another.next())
        assert all(batch is not None for batch in held)


def test_a_batch_that_came_with_a_ctrl_c_is_still_to_be_answered(tmp_path, monkeypatch):
    library = octet._learner.lib
    real = library.octet_learner_next

    def interrupted(*arguments):
        result = real(*arguments)
        if result == 0:
            raise KeyboardInterrupt
        return result

    with started(tmp_path / "run") as learner:
        with monkeypatch.context() as patch:
            patch.setattr(library, "octet_learner_next", interrupted)
            with pytest.raises(KeyboardInterrupt):
                learner.next(timeout=60)
        learner.update()
        assert learner.next() is not None


def test_a_run_that_was_left_says_so(tmp_path):
    with started(tmp_path / "run") as learner:
        assert learner.next() is not None and learner.reason == ""
        assert os.getsid(learner._child.pid) == learner._child.pid  # a Ctrl-C of this terminal is for this program alone
    assert learner.reason == "interrupted" == summary(tmp_path / "run")["reason"]
    assert learner.next() is None and repr(learner).endswith("run, over>")
    with pytest.raises(octet.OctetError, match="no batch waits for an answer"):
        learner.update()


def test_one_that_nobody_closes_is_closed_and_says_so(tmp_path):
    learner = started(tmp_path / "run")
    assert learner.next() is not None
    with pytest.warns(ResourceWarning, match="unclosed <octet.Learner .*run>"):
        del learner
        gc.collect()
    assert summary(tmp_path / "run")["reason"] == "interrupted"
    with octet.Learner(None, tmp_path / "run", {"run.updates": 1}) as learner, warnings.catch_warnings(record=True) as said:
        for _ in learner:
            learner.update()
        del learner
        gc.collect()
    assert said == []


def test_a_run_that_could_not_be_saved_raises(tmp_path):
    with pytest.raises(octet.OctetError, match="could not be saved: learner was killed by signal 9"), \
            started(tmp_path / "run") as learner:
        for k, _ in enumerate(learner):
            learner.update()
            # octet train has heard of updates that would be lost.
            if k % 100 == 0 and re.search(rb"updates=[1-9]", os.pread(learner._log.fileno(), 1 << 20, 0)):
                break
        os.kill(int((tmp_path / "run" / "learner.lock").read_text().split("pid=")[1].split()[0]), signal.SIGSTOP)


def test_settings_may_be_arrays(tmp_path):
    with started(tmp_path / "run", network__hidden=np.array([8, 6]), learner__batch_size=np.int64(12),
                 network__first_layer_norm=np.False_) as learner:
        assert [layer.outputs for layer in learner.layers] == [8, 6, 2] and learner.batch_size == 12


def test_a_batch_is_what_was_sampled(tmp_path):
    with started(tmp_path / "run") as learner:
        assert (learner.env_id, learner.window, learner.head) == ("CartPole-v1", "n_step", "values")
        assert (learner.batch_size, learner.n_step, learner.obs_shape, learner.action_count) == (16, 3, (4,), 2)
        assert learner.discount == 0.99
        assert [layer.shapes for layer in learner.layers] == [[(8, 4), (8,)], [(2, 8), (2,)]]
        assert [layer.activation for layer in learner.layers] == ["relu", "linear"]
        batch = learner.next()
        assert batch.observations.shape == batch.next_observations.shape == (16, 4) and batch.observations.dtype == np.float32
        assert (batch.observations != batch.next_observations).any(1).all()
        assert batch.actions.dtype == np.int32 and set(batch.actions) <= {0, 1}
        # CartPole pays 1 a step: the sum of at most three, and its discount, belong together.
        assert all(min(abs(reward - sum(0.99**i for i in range(k))) for k in (1, 2, 3)) < 1e-4
                   for reward in batch.rewards)
        assert all(abs(d) < 1e-6 or abs(d - 0.99**3) < 1e-5 or d in np.float32([0.99, 0.99**2])
                   for d in batch.discounts)
        assert (batch.importance == 1).all() and batch.flags is None and batch.log_probs is None
        assert batch.learning_rate > 0


def test_what_is_published_acts(tmp_path):
    """The policy of the run folder has the weights that were given."""
    with started(tmp_path / "run") as learner:
        for k, batch in enumerate(learner):
            weights = layers_like(learner, 0.0)
            weights[-1][1][:] = [-1.0, 2.0]  # always the second action
            learner.update(weights=weights, metrics={"loss": 7.0})
            if k == 20:
                break
    policy = octet.Policy(tmp_path / "run" / "policy_last.oct")
    assert policy.act(np.zeros((3, 4), np.float32)).tolist() == [1, 1, 1]
    assert np.allclose(np.diff(policy.outputs(np.ones(4, np.float32))), 3, atol=0.05)  # less their mean
    assert {row["loss"] for row in rows(tmp_path / "run")} >= {"7"}
    assert {row["td_abs"] for row in rows(tmp_path / "run")} == {""}  # which nobody gave
    assert summary(tmp_path / "run")["reason"] == "interrupted"


def test_pictures_come_divided_and_what_is_published_reads_bytes(tmp_path, monkeypatch):
    """Of actors and of a data set, which does not say how large bytes may be."""
    (tmp_path / "python3").write_text("#!/bin/false\n")  # this Python steps them, and not the one on PATH
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.delenv("OCTET_PYTHON", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent), prepend=":")
    pictures = {"env__id": "gym:octet_test_envs:OctetPixels-v0", "network__hidden": [], "algo__n_step": 1, "replay__min_size": 100}
    with started(tmp_path / "run", **pictures) as learner:
        for k, batch in enumerate(learner):
            learner.update(weights=layers_like(learner, 0.25))
            if k == 20:
                break
        seen = np.unique(np.concatenate([batch.observations, batch.next_observations]))
        assert learner.obs_shape == (4, 5, 3) and np.isin(seen * 256, np.arange(7)).all() and seen.max() > 1 / 256
    # The newest one: the best evaluated one may be the first, from before the first update.
    policy = octet.Policy(tmp_path / "run" / "policy_last.oct")
    obs = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    assert np.allclose(policy.outputs(obs.reshape(-1)), 0.25 * obs.sum() / 256 + 0.25, rtol=0.02)
    recorded = tmp_path / "pictures.data"
    subprocess.run([os.environ["OCTET_PROGRAM"], "data", "export", tmp_path / "run", "--out", recorded], check=True)
    with started(tmp_path / "again", replay__data=str(recorded), replay__data_share=0.5, **pictures) as learner:
        assert np.isin(learner.next().observations * 256, np.arange(7)).all()


def test_the_budget_ends_it(tmp_path):
    with started(tmp_path / "run", run__updates=30) as learner:
        count = 0
        for _ in learner:
            learner.update()
            count += 1
        assert count == 30 and learner.reason == "budget"
        assert learner.next() is None
        assert learner._child.returncode == 0  # whoever is told the end has a folder that is complete
    assert summary(tmp_path / "run")["updates"] == 30


def test_numbers_of_other_shapes_are_refused_and_may_be_mended(tmp_path):
    with started(tmp_path / "run") as learner:
        with pytest.raises(octet.OctetError, match="no batch waits for an answer"):
            learner.update()
        learner.next()
        with pytest.raises(octet.OctetError, match="the last batch was not answered"):
            learner.next()
        good, had = layers_like(learner, 0.0), learner.weights()
        learner.weights()[0][0][:] = 7.0  # a copy of what actors have
        assert not (learner.weights()[0][0] == 7).any()
        wrong = [(np.zeros((4, 8)), np.zeros(8)), good[1]]
        for arguments, words in [
            ({"weights": wrong}, r"layer 0 has 4x8, 8, expected 8x4, 8 \(network.hidden"),
            ({"weights": good[:1]}, "weights of 1 layers, expected 2: 8x4, 8; 2x8, 2"),
            ({"weights": layers_like(learner, np.nan)}, "a weight of layer 0 is not finite"),
            ({"weights": good, "log_std": np.zeros(2)}, "log_std is for algo.head: gaussian, not values"),
            ({"priorities": np.zeros(3)}, r"priorities of shape \(3,\), expected \(16,\)"),
            ({"priorities": np.full(16, np.nan)}, "priority 0 is nan; allowed are finite numbers from 0"),
            ({"priorities": np.full(16, -1.0)}, "priority 0 is -1"),
            ({"weights": "abc"}, "weights: 'abc' is neither a module of PyTorch nor a list"),
            ({"weights": 5}, "weights: 5 is neither"), ({"weights": np.float32(5)}, "weights: .*5.* is neither"),
            ({"weights": np.array(5.0)}, "weights: array.5.. is neither"), ({"weights": [np.array(5.0), good[1]]}, "weights: array.5.. instead of"), ({"weights": ["ab", "cd"]}, "weights: 'ab' instead of"),
            ({"weights": [("a", "b"), good[1]]}, "weights of type <U1; expected real numbers"),
            ({"weights": [({}, []), good[1]]}, "weights of type object"),
            ({"weights": layers_like(learner, 0.0)[:1] + [(np.zeros((2, 8), complex), np.zeros(2))]}, "weights of type complex128"),
            ({"priorities": "abc"}, "priorities of type <U3; expected real numbers"),
            ({"priorities": np.ones(16).view([("error", float)])}, "priorities of type .*error"),
            ({"metrics": {"loss": "1"}}, "metric loss of type <U1; expected real numbers"), ({"metrics": {"loss": [1, 2]}}, r"metric loss of shape \(2,\)"),
            ({"metrics": 3}, "metrics: 3 is not a dictionary"),
            ({"metrics": {"los": 1.0}}, "no metric 'los'; known: loss, td_abs"),
            ({"metrics": {"loss": np.inf}}, "loss is infinite"),
            ({"weights": good, "metrics": {"loss": np.inf}}, "loss is infinite"),
        ]:
            with pytest.raises(octet.OctetError, match=words):
                learner.update(**arguments)
            assert all(np.array_equal(got, want) for layers in zip(learner.weights(), had, strict=True)
                       for got, want in zip(*layers, strict=True))
        learner.update(weights=good, priorities=np.ones(16))
        assert learner.next() is not None


def test_what_the_command_line_refuses_is_an_error(tmp_path):
    for settings, words in [
        ({"learner.batch_size": 0}, "learner.batch_size"),
        ({"run.deterministic": True}, "algo.name: external learns in a process that does not run in turns"),
        ({"learner.count": 2}, "learner.count: algo.name external allows only one learner, not 2"),
        ({"algo.head": "gaussian"}, "allowed are auto, values, logits and atoms"),
        ({"learner.quantisation_aware": True}, "learner.quantisation_aware"),
    ]:
        with pytest.raises(octet.OctetError, match=words):
            octet.Learner(str(ROOT / "presets/cartpole.yaml"), tmp_path / "run", {**SMALL, **settings})
    with pytest.raises(octet.OctetError, match="^octet train exited with code [12]$"):  # its words are on the terminal
        octet.Learner("cartpole", tmp_path / "run", {"learner.batch_size": 0}, verbose=True)


def test_what_replay_refuses_is_an_error_in_its_words(tmp_path):
    """The learner is told less, and sooner than octet train has ended."""
    settings = {**SMALL, "replay.capacity": 2147483648, "replay.path": "none"}
    with pytest.raises(octet.OctetError, match="^--set replay.capacity=2147483648: error: replay.capacity: 2147483648 rows take "):
        octet.Learner("minatar/breakout", tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()


FILLS = {"replay.capacity": 4_000_000, "replay.min_size": 4_000_000, "replay.path": "none"}  # no batch for a long time


def tried(monkeypatch, then):
    """Calls then(learner, result) after each try to begin."""
    real = octet.Learner._try

    def one(learner, error):
        result = real(learner, error)
        then(learner, result)
        return result

    monkeypatch.setattr(octet.Learner, "_try", one)


def test_a_run_that_ends_before_the_first_batch_says_why(tmp_path):
    with pytest.raises(octet.OctetError, match="run: the run ended before a batch was learned from: time$"):
        octet.Learner("cartpole", tmp_path / "run", {**SMALL, **FILLS, "run.wall_s": 0.5})


def test_a_run_that_a_signal_ends_before_the_first_batch_says_which(tmp_path, monkeypatch):
    for number, words in [(signal.SIGKILL, "killed by SIGKILL"), (signal.SIGTERM, "interrupted by SIGTERM")]:
        with monkeypatch.context() as context:
            tried(context, lambda learner, _, number=number: learner._handle is not None and learner._child.send_signal(number))
            with pytest.raises(octet.OctetError, match=f"/{number}: octet train was {words}$"):
                octet.Learner("cartpole", tmp_path / str(number), {**SMALL, **FILLS})


def test_whoever_attached_to_a_run_that_is_gone_is_told(tmp_path, monkeypatch):
    run, killed = tmp_path / "run", []

    def kill(learner, result):
        if learner._handle is not None:
            pid = int((run / "learner.lock").read_text().split("pid=")[1].split()[0])
            os.kill(pid, signal.SIGKILL)
            job._child._process.kill()  # which would start it again
            killed.append(pid)
        elif killed and result == 2:  # EAGAIN: nobody listens
            learner._deadline = 0

    tried(monkeypatch, kill)
    with octet.start("cartpole", run, {**SMALL, **FILLS, "algo.name": "external"}, verbose=False) as job:
        with pytest.raises(octet.OctetError, match="run: octet-learner has ended, or closed the connection; its log says why"):
            octet.Learner.attach(run)


def test_a_folder_in_which_no_run_goes_on_is_refused_at_once(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in ("nothing", "empty"):
        with pytest.raises(octet.OctetError, match=f"{folder}: not a run folder: it has no config.yaml$"):
            octet.Learner.attach(tmp_path / folder, timeout=float("inf"))
    with started(tmp_path / "run", run__updates=2) as learner:
        for _ in learner:
            learner.update()
    with pytest.raises(octet.OctetError, match=r"run: the run has ended: budget; octet\.Learner\(None, '.*run'\) continues it$"):
        octet.Learner.attach(tmp_path / "run", timeout=float("inf"))


def test_what_has_not_come_in_time_is_told(tmp_path):
    (tmp_path / "config.yaml").write_text("algo:\n  name: external\n")
    with pytest.raises(octet.OctetError, match=": no octet-learner runs in this folder$"):
        octet.Learner.attach(tmp_path, timeout=0)
    with octet.start("cartpole", tmp_path / "run", {"run.env_steps": 10**12, "run.stop_at_return": "none"}, verbose=False), \
            pytest.raises(octet.OctetError, match="run: algo.name is dqn: only a run of external provides batches$"):
        octet.Learner.attach(tmp_path / "run", timeout=0)


def test_what_a_run_that_goes_on_has_not_come_to_is_told(tmp_path, monkeypatch):
    with octet.start("cartpole", tmp_path / "run", {**SMALL, **FILLS, "algo.name": "external"}, verbose=False):
        with monkeypatch.context() as patch:
            tried(patch, lambda learner, _: learner._handle is not None and setattr(learner, "_deadline", 0))
            with pytest.raises(octet.OctetError, match="^it has handed out no batch yet$"):
                octet.Learner.attach(tmp_path / "run")
        (tmp_path / "run" / "external.sock").unlink()
        with pytest.raises(octet.OctetError, match="run: no actor has joined the run yet$"):
            octet.Learner.attach(tmp_path / "run", timeout=0)


def test_one_process_learns_and_another_may_take_its_place(tmp_path):
    with started(tmp_path / "run") as learner:
        learner.next()
        with pytest.raises(octet.OctetError, match="a run continues there; Learner.attach learns in it"):
            octet.Learner("cartpole", tmp_path / "run")
        with pytest.raises(octet.OctetError, match="another process .* already learns in this run; only one process may at a time"):
            octet.Learner.attach(tmp_path / "run")
        learner.update()


def test_a_learner_that_was_killed_is_replaced(tmp_path):
    code = f"import octet, os, signal; l = octet.Learner.attach({str(tmp_path / 'run')!r})\n" \
           "l.next(); os.kill(os.getpid(), signal.SIGKILL)"
    with started(tmp_path / "run") as learner:
        octet._lib.lib.octet_learner_leave(learner._handle.pointer)  # its place is free
        killed = subprocess.run([sys.executable, "-c", code], env=os.environ, check=False)
        assert killed.returncode == -signal.SIGKILL
        with octet.Learner.attach(tmp_path / "run") as again:
            for k, batch in enumerate(again):
                again.update(weights=layers_like(again, 0.25))
                if k == 5:
                    break
    assert summary(tmp_path / "run")["updates"] >= 5  # the last answer may come too late


def test_nobody_learns_ends_the_run_in_words(tmp_path):
    learner = started(tmp_path / "run", algo__client_wait_s=0.2)
    octet._lib.lib.octet_learner_leave(learner._handle.pointer)
    assert learner._child.wait() != 0
    with pytest.raises(octet.OctetError, match="algo.client_wait_s: no learning process connected for 0.2 s"):
        learner._look()
    learner.close()


def test_a_copy_is_refused_and_ends_no_run(tmp_path):
    with started(tmp_path / "run", run__updates=3) as learner:
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="an octet.Learner cannot be copied or pickled"):
                make(learner)
        gc.collect()
        for _ in learner:
            learner.update()
        assert learner.reason == "budget"


def test_the_folder_of_a_run_is_its_argument(tmp_path):
    with pytest.raises(octet.OctetError, match="arguments: '--run-dir=other': the folder is the argument run_dir"):
        octet.Learner(ROOT / "presets/cartpole.yaml", tmp_path / "run", SMALL, arguments=["--run-dir=other"])


def test_a_fork_is_refused_and_disturbs_nobody(tmp_path):
    settings = {**SMALL, "run.updates": 5}
    text = f"""
import os, octet
learner = octet.Learner({str(ROOT / 'presets/cartpole.yaml')!r}, {str(tmp_path / 'run')!r}, {settings!r})
learner.next()
if os.fork() == 0:
    for call in [lambda: learner.update(weights=learner.weights()), learner.next]:
        try:
            call()
        except octet.OctetError as error:
            print("cannot be used in a fork" in str(error), flush=True)
    learner.close()
    os._exit(0)
os.wait()
learner.update()
for _ in learner:
    learner.update()
print(learner.reason)
"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["True", "True", "budget"], said.stderr


def test_a_killed_octet_learner_is_an_error(tmp_path):
    with started(tmp_path / "run") as learner:
        learner.next()
        pid = int((tmp_path / "run" / "learner.lock").read_text().split("pid=")[1].split()[0])
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(octet.OctetError, match="octet-learner has ended, or closed the connection"):
            for _ in range(2):
                learner.update()
                learner.next()
        # octet train has started it again, from its checkpoint: whoever learns goes on there.
        learner.attach(tmp_path / "run").close()


def test_control_c_ends_the_run(tmp_path):
    # A shell without job control starts what runs in the background with SIGINT ignored, and Python leaves it so.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n" \
           f"sys.path.insert(0, {str(ROOT / 'tests/python')!r})\nfrom test_octet_learner import started\n" \
           f"with started({str(tmp_path / 'run')!r}) as learner:\n" \
           "    for batch in learner:\n        learner.update()\n        print('learns', flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"learns\n"
        child.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in child.communicate()[1]
    assert summary(tmp_path / "run")["reason"] == "interrupted"
    assert not (tmp_path / "run" / "external.sock").exists()


class Ending:
    """A run that takes longer to end than anybody would bound, what it was sent, and its exit code."""

    def __init__(self, waits, code=130):
        self.sent, self.waits, self.over, self.code = [], waits, False, code

    def poll(self):
        return self.code if self.over else None

    def send_signal(self, number):
        self.sent.append(number)

    def kill(self):
        self.sent.append(signal.SIGKILL)

    def wait(self, timeout=None):
        if timeout is not None:
            raise subprocess.TimeoutExpired("octet train", timeout)
        what = self.waits.pop(0)
        if what is not None:
            raise what
        self.over = True
        return self.code


@pytest.mark.parametrize(("waits", "sent"), [([None], [signal.SIGINT]),
                                             ([KeyboardInterrupt, None], [signal.SIGINT, signal.SIGINT])])
def test_a_run_is_waited_for_however_long_it_takes_to_end(tmp_path, waits, sent):
    learner = octet.Learner.__new__(octet.Learner)
    learner._begin(tmp_path)
    learner._child = child = Ending(waits)
    if len(sent) == 1:
        learner.close()
    else:
        with pytest.raises(KeyboardInterrupt):  # of who does not wait
            learner.close()
    learner.close()
    assert child.over and child.sent == sent


@pytest.mark.parametrize(("code", "reason", "words"), [
    (0, "", None), (130, "interrupted", None), (-signal.SIGINT, "interrupted", None), (143, "", None),
    (-signal.SIGTERM, "", "octet train was killed by SIGTERM$"), (7, "", "octet train exited with code 7$")])
def test_how_a_run_that_was_left_has_ended_is_told(tmp_path, code, reason, words):
    learner = octet.Learner.__new__(octet.Learner)
    learner._begin(tmp_path)
    learner._child = Ending([None], code)
    with pytest.raises(octet.OctetError, match=words) if words else contextlib.nullcontext():
        learner.close()
    assert learner.reason == reason
    learner.close()


def test_a_resumed_run_has_its_policy(tmp_path):
    with started(tmp_path / "run", run__updates=5) as learner:
        for k, _ in enumerate(learner):
            learner.update(weights=layers_like(learner, 0.125 * k))
    with octet.Learner(str(ROOT / "presets/cartpole.yaml"), tmp_path / "run", {**SMALL, "run.updates": 9},
                       arguments=["--resume"]) as learner:
        assert all((part == 0.5).all() for layer in learner.weights() for part in layer)
        numbers = []
        for batch in learner:
            numbers.append(batch.number)
            learner.update()
    assert numbers == [6, 7, 8, 9] and summary(tmp_path / "run")["updates"] == 9


def test_views_outlive_the_learner(tmp_path, monkeypatch):
    """Its memory is given back with the last of them."""
    close = mock.Mock(wraps=octet._learner.lib.octet_learner_close)
    monkeypatch.setattr(octet._learner.lib, "octet_learner_close", close)
    with started(tmp_path / "run") as learner:
        obs = learner.next().observations
    del learner
    gc.collect()
    assert not close.called and np.isfinite(obs).all()
    del obs
    gc.collect()
    close.assert_called_once()


def test_sequences_have_rows_and_flags(tmp_path):
    with started(tmp_path / "run", algo__window="sequence", algo__sequence_steps=8) as learner:
        assert (learner.window, learner.steps) == ("sequence", 8)
        batch = learner.next()
        assert batch.observations.shape == (16, 9, 4) and batch.flags.shape == batch.rewards.shape == (16, 8)
        acted = (batch.flags & octet.LearnerBatch.END) == 0
        assert (batch.rewards[acted] == 1).all() and batch.next_observations is None and acted.any()
        assert batch.versions.shape == (16, 8)


def test_flags_are_those_of_the_header():
    text = (ROOT / "include/octet/learner.h").read_text()
    flags = re.search(r"Flags of a row.*?enum \{(.*?)\};", text, re.DOTALL)[1]
    found = {name: int(value) for name, value in re.findall(r"OCTET_LEARNER_(\w+) = (\d+)", flags)}
    assert found == {name: value for name, value in vars(octet.LearnerBatch).items() if name.isupper()}
    assert sum(found.values()) == 127  # WIRE_FLAGS: all that a row can have


def test_rollouts_are_of_the_newest_policy(tmp_path):
    with started(tmp_path / "run", algo__window="rollout", algo__sequence_steps=8, algo__head="logits",
                 learner__batch_size=4, replay__min_size=1) as learner:
        assert learner.publish_period == 1
        versions = []
        for batch in learner:
            acted = (batch.flags & octet.LearnerBatch.END) == 0
            versions.append(int(batch.versions[acted].max()))
            assert len(set(batch.versions[acted])) == 1 and batch.log_probs.shape == batch.flags.shape
            assert (batch.log_probs[acted] < 0).all()
            first, end, edge = (batch.flags & bit != 0 for bit in (octet.LearnerBatch.FIRST, octet.LearnerBatch.END,
                                                                   octet.LearnerBatch.ROLLOUT_EDGE))
            assert (first & edge)[:, 0].all() and not (first & edge)[:, 1:].any()
            assert ((edge & end).sum(1) <= 1).all() and not (edge & ~first & ~end).any()
            behind = np.cumsum(edge & end, 1) - (edge & end) > 0
            assert (batch.flags[behind] == octet.LearnerBatch.END).all() and not batch.observations[:, :-1][behind].any()
            learner.update(weights=layers_like(learner, 0.01 * len(versions)))
            if len(versions) == 4:
                break
        assert versions == sorted(set(versions))


@pytest.mark.parametrize("head", ["gaussian", "tanh_gaussian"])
def test_a_box_of_actions_and_its_draws(tmp_path, head):
    settings = {**SMALL, "algo.head": head, "env.id": "Pendulum-v1"}
    squash = np.tanh if head == "tanh_gaussian" else lambda drawn: np.clip(drawn, -1, 1)
    with octet.Learner(str(ROOT / "presets/cartpole.yaml"), tmp_path / "run", settings) as learner:
        assert not learner.discrete and learner.layers[-1].outputs == (2 if head == "tanh_gaussian" else 1)
        batch = learner.next()
        assert batch.actions.shape == batch.drawn.shape == (16, 1) and batch.log_probs.shape == (16,)
        assert learner.action_low.tolist() == [-2] and learner.action_high.tolist() == [2]
        assert np.allclose(squash(batch.drawn) * 2, batch.actions, atol=1e-4)
        (weight, bias), (weight_out, bias_out) = learner.weights()
        outputs = np.maximum(batch.observations @ weight.T + bias, 0) @ weight_out.T + bias_out
        mean, log_std = outputs[:, :1], outputs[:, 1:] if head == "tanh_gaussian" else np.zeros((16, 1))
        wanted = -0.5 * ((batch.drawn - mean) / np.exp(log_std))**2 - log_std - 0.5 * np.log(2 * np.pi)
        wanted -= np.log(1 - np.tanh(batch.drawn)**2) if head == "tanh_gaussian" else 0
        assert np.allclose(batch.log_probs, wanted[:, 0], atol=0.05)  # the actors' policy is int8


def test_log_deviations_are_those_that_actors_draw_by(tmp_path):
    settings = {**SMALL, "algo.head": "gaussian", "env.id": "Pendulum-v1", "algo.window": "rollout", "algo.sequence_steps": 8,
                "learner.batch_size": 4, "replay.min_size": 1}
    with octet.Learner(str(ROOT / "presets/cartpole.yaml"), tmp_path / "run", settings) as learner:
        learner.next()
        with pytest.raises(octet.OctetError, match=r"log_std of shape \(2,\), expected \(1,\)"):
            learner.update(log_std=np.zeros(2))
        for _ in range(500):  # rollouts of the first version may still be under way
            learner.update(weights=layers_like(learner, 0.0), log_std=[-4.0])
            batch = learner.next()
            spread = batch.drawn[batch.flags & octet.LearnerBatch.END == 0].std()
            if spread < 0.1:
                break
        assert 0.001 < spread < 0.1  # exp(-4) is 0.018


def test_what_a_learner_needs_of_the_experiment_is_told(tmp_path):
    """A critic of atoms has their number and range; rates are those of the first update."""
    with started(tmp_path / "run", algo__head="atoms", algo__atoms=7, algo__value_min=-3, algo__value_max=8,
                 replay__sampler="prioritized", algo__learning_rate=0.25, algo__learning_rate_final=0.25) as learner:
        assert (learner.atoms, learner.value_range, learner.has_priorities) == (7, (-3, 8), True)
        assert learner.layers[-1].outputs == 14
        assert learner.next().learning_rate == 0.25
    with started(tmp_path / "another", replay__sampler="uniform") as learner:
        assert not learner.has_priorities


def test_a_batch_that_comes_too_late_is_none(tmp_path, monkeypatch):
    with started(tmp_path / "run") as learner:
        with monkeypatch.context() as patch:
            patch.setattr(octet._learner.lib, "octet_learner_next", mock.Mock(side_effect=[2, 2]))  # EAGAIN: none yet
            assert learner.next(timeout=0) is None and learner.next(timeout=0) is None
        assert learner.reason == "" and learner.next() is not None  # the run goes on


def test_modules_of_torch_are_read_in_octets_order():
    """Maps of channels x height x width, also as the inputs of the layer behind them and of no other; no bias is zeros."""
    def part(name, **arrays):
        return type(name, (), {"bias": None, **arrays})()

    kernels, behind = np.arange(24).reshape(2, 3, 2, 2), np.arange(24).reshape(3, 8)  # 2 filters over 3 x 3 x 3 make 2 x 2 x 2
    other, parts = np.arange(24).reshape(8, 3), []
    parts += [part("Conv2d", weight=kernels, bias=np.array([1, 2])), part("Linear", weight=behind), part("Linear", weight=other),
              part("LayerNorm", weight=np.arange(8), bias=np.arange(8, 16)), part("Linear", weight=behind)]
    module = mock.Mock(spec=["modules", "named_modules"], **{"modules.return_value": parts})
    conv, first, second, third = octet._learner._given(module, [mock.Mock(weight_shape=(2, 2, 2, 3), output_shape=(2, 2, 2))])
    assert np.array_equal(conv[0], np.moveaxis(kernels, 1, 3)) and conv[1].tolist() == [1, 2]
    assert np.array_equal(first[0].reshape(3, 2, 2, 2), np.moveaxis(behind.reshape(3, 2, 2, 2), 1, 3))
    assert first[1].tolist() == [0, 0, 0] and np.array_equal(second[0], other)
    assert [array.tolist() for array in second[1:]] == [[0] * 8, [*range(8)], [*range(8, 16)]]
    assert np.array_equal(third[0], behind)
    # More layers than the network has, or others, are told by their shapes, as those of lists.
    parts[:] = [parts[0]] * 2
    assert [layer[0].shape for layer in octet._learner._given(module, [mock.Mock(weight_shape=(2, 4), output_shape=())])] == [(2, 2, 2, 3)] * 2
    # Pools have no arrays; a sequence is a map of one column, and the layer after a pool reads what it gives.
    parts[:] = [part("Conv1d", weight=np.arange(18).reshape(2, 3, 3)), part("Linear", weight=np.arange(8).reshape(1, 8))]
    shapes = [((2, 3, 1, 3), (9, 1, 2)), ((), (4, 1, 2)), ((1, 8), ())]
    sequence, pool, last = octet._learner._given(module, [mock.Mock(weight_shape=w, output_shape=o) for w, o in shapes])
    assert pool == () and np.array_equal(sequence[0][:, :, 0], np.moveaxis(np.arange(18).reshape(2, 3, 3), 1, 2))
    assert last[0].tolist() == [[0, 4, 1, 5, 2, 6, 3, 7]]
    parts[:] = [part("LayerNorm", weight=np.ones(3), parameters=lambda self, recurse: [1])]
    with pytest.raises(octet.OctetError, match="a layer of type LayerNorm; allowed are Linear, Conv1d, Conv2d and, after one of these, LayerNorm"):
        octet._learner._given(module, [])


def test_layers_are_read_from_the_library():
    places = {"weight": 7, "bias": 8, "gain": 9, "offset": 10}
    kernels = (octet._lib.LearnerKernel * 2)((2, 3, 1, 0), (3, 1, 0, 2))
    conv = octet._learner._layer(octet._lib.LearnerLayer(kind=2, inputs=60, outputs=72, activation=3, rows=6, columns=12, height=5,
                                                         width=4, channels=3, filters=6, kernel=2, **places), kernels)
    assert (conv.kind, conv.inputs, conv.outputs, conv.activation, conv.layer_norm) == ("conv", 60, 72, "elu", False)
    assert (conv.shapes, conv.map_shape, conv._at) == ([(6, 2, 3, 3), (6,)], (5, 4, 3), (7, 8))
    assert (conv.kernel, conv.stride, conv.padding, conv.output_shape) == ((2, 3), (3, 1), ((1, 0), (0, 2)), (2, 4, 6))
    pool = octet._learner._layer(octet._lib.LearnerLayer(kind=3, height=5, width=4, channels=3, filters=3, kernel=2), kernels)
    assert (pool.kind, pool.shapes, pool.output_shape) == ("pool", [], (2, 4, 3))
    dense = octet._learner._layer(octet._lib.LearnerLayer(kind=1, inputs=4, outputs=6, activation=2, layer_norm=1, rows=6, columns=4, **places), kernels)
    assert (dense.kind, dense.activation, dense.layer_norm, dense.map_shape) == ("dense", "tanh", True, ())
    assert (dense.shapes, dense._at) == ([(6, 4), (6,), (6,), (6,)], (7, 8, 9, 10))


def test_layers_with_pools_are_learned(tmp_path):
    experiment = tmp_path / "layers.yaml"
    lines = (ROOT / "presets/cartpole.yaml").read_text().splitlines()
    experiment.write_text("\n".join(line for line in lines if not line.startswith("  hidden:")))
    small = {key: value for key, value in SMALL.items() if key != "network.hidden"}
    settings = {**small, "env.id": "MinAtar/Breakout-v1", "network.layers": ["conv 6 3x2/2+1x0", "pool 2x3/2x1", "dense 12"]}
    with octet.Learner(str(experiment), tmp_path / "run", settings) as learner:
        conv, pool, dense, last = learner.layers
        assert [layer.kind for layer in learner.layers] == ["conv", "pool", "dense", "dense"]
        assert (conv.kernel, conv.stride, conv.padding, conv.output_shape) == ((3, 2), (2, 2), ((1, 1), (0, 0)), (5, 5, 6))
        assert (pool.kernel, pool.stride, pool.output_shape, pool.shapes) == ((2, 3), (2, 1), (2, 3, 6), [])
        assert dense.inputs == 36 and last.outputs == learner.action_count
        weights = learner.weights()
        assert weights[1] == ()
        weights[0][1][:] = 0.25
        assert learner.next() is not None
        learner.update(weights=weights)
        assert (learner.weights()[0][1] == 0.25).all()
        assert learner.next() is not None
        with pytest.raises(octet.OctetError, match="3 layers, expected 4: 6x3x2x4, 6; no arrays; 12x36, 12; "):
            learner.update(weights=[weights[0], *weights[2:]])


def test_torch_modules_are_layers(tmp_path):
    torch = pytest.importorskip("torch")
    nn = torch.nn
    settings = {**SMALL, "env.id": "MinAtar/Breakout-v1", "network.conv": [6], "network.hidden": [12]}
    with octet.Learner(str(ROOT / "presets/cartpole.yaml"), tmp_path / "run", settings) as learner:
        height, width, channels = learner.obs_shape
        net = nn.Sequential(nn.Conv2d(channels, 6, 3), nn.ReLU(), nn.Flatten(),
                            nn.Linear(6 * (height - 2) * (width - 2), 12), nn.ReLU(),
                            nn.Linear(12, learner.action_count))
        obs = learner.next().observations.copy()
        learner.update(weights=net)
        for k, _ in enumerate(learner):
            learner.update()
            if k == 20:
                break
        given = learner.weights()
    with torch.no_grad():
        want = net(torch.from_numpy(obs).permute(0, 3, 1, 2)).numpy()
    # What was given computes the same with maps as Octet has them: patches of height, width and channels.
    (kernels, offsets), *dense = given
    patches = np.lib.stride_tricks.sliding_window_view(obs, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    x = np.maximum(np.einsum("byxijc,fijc->byxf", patches, kernels) + offsets, 0).reshape(len(obs), -1)
    x = np.maximum(x @ dense[0][0].T + dense[0][1], 0) @ dense[1][0].T + dense[1][1]
    assert np.allclose(x, want, atol=1e-4)
    with pytest.raises(octet.OctetError, match="a layer of type LSTM"):
        octet._learner._given(nn.Sequential(nn.LSTM(3, 3)), learner.layers)
    # NumPy has no bfloat16.
    rounded = octet._learner._given(net.bfloat16(), learner.layers)
    assert all(np.allclose(a, b, rtol=0.01) for one, other in zip(rounded, given) for a, b in zip(one, other))


@pytest.mark.parametrize("name", ["dqn_numpy", "d4pg_pytorch"])
def test_examples_say_how_they_are_used(tmp_path, name):
    if name.endswith("pytorch"):
        pytest.importorskip("torch")
    said = subprocess.run([sys.executable, ROOT / f"examples/python/{name}.py", "--help"], cwd=tmp_path, check=True,
                          capture_output=True, text=True)
    assert f"usage: {name}.py" in said.stdout and not list(tmp_path.iterdir())


def test_the_pytorch_example_learns_what_actors_compute(tmp_path):
    """Also where the first layer has another activation than the others, as with a layer norm."""
    torch = pytest.importorskip("torch")
    arguments = [str(ROOT / "presets/pendulum.yaml"), str(tmp_path / "run"), "run.updates=150", "replay.min_size=200",
                 "network.hidden=[24, 16]", "network.activation=elu", "network.first_layer_norm=true",
                 "learner.publish_period=1", "--critic", "32,16,8"]
    text = (ROOT / "examples/python/d4pg_pytorch.py").read_text()
    names = {"__name__": "example", "__doc__": ""}
    exec(compile(text, "d4pg_pytorch.py", "exec"), names)
    made = []
    kind = names["D4PG"]
    names["D4PG"] = lambda *given: made.append(kind(*given)) or made[0]
    with mock.patch.object(sys, "argv", ["d4pg_pytorch.py", *arguments]):
        names["main"](names["options"]())
    assert summary(tmp_path / "run")["reason"] == "budget"
    last = [row for row in rows(tmp_path / "run") if row["loss"]][-1]
    assert all(np.isfinite(float(last[name])) for name in ("loss", "policy_value", "grad_norm", "policy_grad_norm"))
    obs = np.random.default_rng(0).uniform(-1, 1, (50, 3)).astype(np.float32)
    with torch.no_grad():
        want = torch.tanh(made[0].policy(torch.from_numpy(obs))).numpy()
    have = octet.Policy(tmp_path / "run" / "policy_last.oct").act(obs) / 2
    assert np.abs(have - want).max() < 0.05  # int8
    assert [part.out_features for part in made[0].critic if isinstance(part, torch.nn.Linear)][:3] == [32, 16, 8]


def test_the_numpy_example_learns(tmp_path):
    """To 300 instead of 490: a policy that does not learn stays below 50."""
    text = (ROOT / "examples/python/dqn_numpy.py").read_text().replace(
        '"run.seed": seed,', '"run.seed": seed, "run.stop_at_return": 300,').replace(
        '"cartpole"', repr(str(ROOT / "presets/cartpole.yaml")))
    assert "300" in text
    names = {"__name__": "example"}
    exec(compile(text, "dqn_numpy.py", "exec"), names)
    names["main"](str(tmp_path / "run"), "1")
    assert summary(tmp_path / "run")["reason"] == "solved"
