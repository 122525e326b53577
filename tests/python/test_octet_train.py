"""octet.train, start and sweep: whole runs from Python, what is said of those that are refused, and how they end."""

import copy
import json
import math
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import octet
import pytest

# As in a terminal, wherever the tests were started from: an ignored signal would be ignored by the runs, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).parents[2]
PRESET = ROOT / "presets/cartpole.yaml"
LONG = {"network.hidden": [8], "run.stop_at_return": "none", "run.env_steps": 10**12, "learner.metrics_s": 0.05}
SHORT = {"network.hidden": [8], "run.stop_at_return": "none", "run.env_steps": 2000, "learner.metrics_s": 0.05}


def wait_until(is_so, what):
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def ended(run_dir):
    """The summary of a run that was left alone."""
    wait_until(lambda: not octet.Run(run_dir).is_live, "the run goes on")
    return octet.Run(run_dir).summary


def program_of(tmp_path, monkeypatch, text):
    """An `octet` that does this in a shell."""
    path = tmp_path / "octet"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    monkeypatch.setenv("OCTET_PROGRAM", str(path))


def begin(tmp_path):
    """What it does in a shell when its run begins in the folder `run`."""
    return f"mkdir {tmp_path}/run; echo $$ > {tmp_path}/run/.lock; touch {tmp_path}/run/config.yaml"


def test_presets_are_those_of_the_program():
    assert octet.preset("dmc/cheetah_run") == ROOT / "presets/dmc/cheetah_run.yaml"
    with pytest.raises(octet.OctetError, match=r"^no preset 'cartpool'; did you mean 'cartpole'\?$"):
        octet.preset("cartpool")


def test_a_run_ends_with_a_summary_curves_and_a_policy(tmp_path, capsys):
    run = octet.train(PRESET, tmp_path / "run", SHORT)
    assert "CartPole-v1 finished\n" in capsys.readouterr().out
    assert run.summary["reason"] == "budget" and run.summary["env_steps"] >= 2000
    metrics = run.metrics()
    assert metrics["env_steps"].dtype == np.float64 and len({len(column) for column in metrics.values()}) == 1
    assert metrics["env_steps"][-1] == run.summary["env_steps"] and (np.diff(metrics["env_steps"]) >= 0).all()
    assert np.isnan(metrics["eval_return"]).any() and not np.isnan(metrics["updates"]).any()
    assert run.policy().act(np.zeros(4, np.float32)) in (0, 1)


@pytest.fixture
def envs_of_the_tests(monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent), prepend=":")


def test_a_small_number_is_learned_beside_large_noise(tmp_path, envs_of_the_tests):
    its = {"env.id": "gym:octet_test_envs:OctetScaled-v0", "algo.normalise_observations": True, "run.env_steps": 40000, "run.stop_at_return": 20}
    run = octet.train(ROOT / "presets/cartpole-ppo.yaml", tmp_path / "run", its, verbose=False)
    assert run.config["policy"]["precision"] == "int8" and run.summary["return"]["mean"] >= 19.5
    lines = [line for line in (tmp_path / "run/log/learner.log").read_text().splitlines() if "LEARNER-OBS-CONSTANT" in line]
    assert len(lines) == 1 and lines[0].endswith(": 2 (mean 1000, deviation 0)")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), lambda path: os.truncate(path.touch() or path, 1 << 40)])
def test_only_regular_files_of_a_run_are_read(tmp_path, make):
    (tmp_path / "config.yaml").write_text("env:\n  id: CartPole-v1\n")
    run = octet.Run(tmp_path)
    for name, read in (("summary.json", lambda: run.summary), ("metrics.csv", run.metrics), ("policy.oct", run.policy),
                       ("config.yaml", lambda: run.config)):
        (tmp_path / name).unlink(missing_ok=True)
        make(tmp_path / name)
        with pytest.raises(octet.OctetError, match=name):
            read()
    for name in (".lock", "learner.lock"):
        os.mkfifo(tmp_path / name)
    assert not run.is_live


def test_steps_that_raise_are_counted_and_the_last_cause_is_told(tmp_path, capsys, envs_of_the_tests):
    raises = {"env.id": "gym:octet_test_envs:OctetSlips-v0", "env.options": "share=0.1", "actor.report_s": 0.05, "evaluation.episodes": 10}
    run = octet.train(PRESET, tmp_path / "run", {**SHORT, **raises})
    told = run.summary["env_failures"]
    cause = r"environment \d+: ValueError: the gripper slipped \(octet_test_envs\.py:\d+\)"
    assert told > 100 and re.fullmatch(f"actor-0: {cause}", run.summary["env_failures_why"]), run.summary
    assert run.summary["return"]["failed_episodes"] > 0
    assert 0 < np.nanmax(run.metrics()["env_failures"]) <= told
    assert re.search(rf"^  failed     {told} environment steps, left out; the last in actor-0: {cause} ",
                     capsys.readouterr().out, re.M)
    unsound = [line for line in (tmp_path / "run/log/actor-0.log").read_text().splitlines() if "ACTOR-ENV-UNSOUND" in line]
    assert int(re.search(r": (\d+) steps? failed", unsound[-1])[1]) >= told and re.search(f"the last: {cause}$", unsound[-1])


def test_a_run_of_which_no_episode_ended_has_no_return_and_says_why(tmp_path, envs_of_the_tests):
    raises = {"env.id": "gym:octet_test_envs:OctetSlips-v0", "env.options": "share=0.5"}
    summary = octet.train(PRESET, tmp_path / "run", {**SHORT, **raises}, verbose=False).summary
    assert summary["return"] is None and summary["env_failures"] > 0 and "the gripper slipped" in summary["env_failures_why"]
    assert summary["evaluation_failures"] > 0 and re.fullmatch(r"\d+ full evaluations? failed", summary["unevaluated_why"])
    assert summary["supervisor"]["exit_reason"] == "finished without a full evaluation"


def test_slow_environments_are_spread_over_actors(tmp_path, envs_of_the_tests):
    slow = {"env.id": "gym:octet_test_envs:OctetSlow-v0", "env.options": "resets=0.5"}
    with octet.start(PRESET, tmp_path / "run", {**LONG, **slow}, verbose=False) as job:
        config = job.run.config
    envs = config["actor"]["envs"]
    assert 1 <= envs <= 7 and config["evaluation"]["envs"] == envs  # 4 s for all of a process
    assert config["actor"]["count"] == min(8, math.ceil(16 / envs))


def test_episodes_without_an_end_are_truncated_in_evaluations(tmp_path, capfd, envs_of_the_tests):
    endless = {"env.id": "gym:octet_test_envs:OctetNeverEnds-v0", "evaluation.max_steps": 30, "evaluation.episodes": 10}
    run = octet.train(PRESET, tmp_path / "run", {**SHORT, **endless})
    assert run.summary["return"]["mean"] == run.summary["return"]["mean_length"] == 30
    told = capfd.readouterr()
    assert "no episode ended within" in told.out + told.err
    assert "10 of 10 episodes" in (tmp_path / "run/log/evaluator.log").read_text()


def test_a_run_may_be_quiet_and_is_found_again_in_its_folder(tmp_path, capsys):
    octet.train(PRESET, tmp_path / "run", {**SHORT, "run.seed": 3}, verbose=False)
    assert capsys.readouterr().out == ""
    assert octet.Run(tmp_path / "run").summary["seed"] == 3


def test_a_run_goes_on_with_its_own_experiment(tmp_path):
    """No preset is of this environment: the file's would be refused."""
    its = {"env.id": "Acrobot-v1", "env.options": {"max_episode_steps": 90}}
    before = octet.train(PRESET, tmp_path / "run", {**SHORT, **its}, verbose=False)
    assert before.config["env"] == {**before.config["env"], "id": "Acrobot-v1", "options": "max_episode_steps=90"}
    with pytest.raises(octet.OctetError, match="start a new run, or leave FILE out to continue that run$"):
        octet.train(PRESET, tmp_path / "run", arguments=["--resume"], verbose=False)
    steps = before.summary["env_steps"] + 5000
    again = octet.train(None, tmp_path / "run", {"run.env_steps": steps}, verbose=False)
    assert again.summary["env"] == "Acrobot-v1" and again.summary["env_steps"] >= steps


def test_a_run_goes_on_with_resume(tmp_path):
    first = octet.train(PRESET, tmp_path / "run", SHORT, verbose=False).summary
    again = octet.train(PRESET, tmp_path / "run", {"run.env_steps": 40000}, arguments=["--resume"], verbose=False).summary
    assert again["run_id"] == first["run_id"] and again["env_steps"] >= 40000 > first["env_steps"]


@pytest.mark.parametrize(("settings", "words"), [({"algo.nam": 3}, "unknown key algo.nam; did you mean algo.name"),
                                                 ({"env.id": "CartPole-v2"}, 'no environment "CartPole-v2"')])
def test_what_the_command_line_refuses_is_an_error_in_its_words(tmp_path, settings, words):
    with pytest.raises(octet.OctetError, match=words) as refused:
        octet.train(PRESET, tmp_path / "run", settings, verbose=False)
    assert refused.value.code == 2


def test_a_folder_that_holds_a_run_is_not_trained_in(tmp_path):
    octet.train(PRESET, tmp_path / "run", SHORT, verbose=False)
    before = (tmp_path / "run/summary.json").read_bytes()
    with pytest.raises(octet.OctetError, match="File exists; --resume continues it"):
        octet.train(PRESET, tmp_path / "run", SHORT, verbose=False)
    assert (tmp_path / "run/summary.json").read_bytes() == before


def test_a_folder_without_a_run_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for folder, reason in [("", "not a run folder: it has no config.yaml"), ("loop", "Too many levels of symbolic links")]:
        with pytest.raises(octet.OctetError, match=f"^{tmp_path / folder}: {reason}$") as error:
            octet.Run(tmp_path / folder)
        assert error.value.code == 6


def test_ctrl_c_saves_the_run_before_it_reaches_the_program(tmp_path):
    text = (f"import octet\ntry:\n    octet.train({str(PRESET)!r}, {str(tmp_path / 'run')!r}, {{**{SHORT!r}, 'run.env_steps': 1000000000}})\n"
            f"except KeyboardInterrupt:\n    print('interrupted', octet.Run({str(tmp_path / 'run')!r}).summary['reason'])")
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout:
            if "policy=" in line:
                break
        program.send_signal(signal.SIGINT)
        rest = program.stdout.read()
    assert "interrupted interrupted" in rest and program.returncode == 0
    assert (tmp_path / "run/checkpoint.oct").exists() and (tmp_path / "run/policy.oct").exists()


class Alarm(Exception):
    """What a handler of a signal raises, as Python's own does KeyboardInterrupt."""


def test_a_wait_may_be_left_at_any_place():
    """A wait of threading.Condition is left with an error about its lock in three of a thousand."""
    child, left = octet._command.Child(["env", "list"]), 0  # not started: it says nothing

    def at_alarm(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, at_alarm)
    try:
        for i in range(20000):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + i % 60))
                while True:
                    child.look(0, 0.001)
            except Alarm:
                left += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert left == 20000


def test_metrics_of_a_run_that_goes_on_leave_out_an_unfinished_line(tmp_path):
    (tmp_path / "config.yaml").touch()
    (tmp_path / "metrics.csv").write_text("wall_s,eval_return\n1,\n2,10.5\n3")
    metrics = octet.Run(tmp_path).metrics()
    assert metrics["wall_s"].tolist() == [1, 2] and math.isnan(metrics["eval_return"][0]) and metrics["eval_return"][1] == 10.5
    with pytest.raises(octet.OctetError, match="summary.json: does not exist"):
        _ = octet.Run(tmp_path).summary
    (tmp_path / "metrics.csv").write_text("wall_s,eval_return\n1,\n2,1")  # 10.5 is being written
    assert octet.Run(tmp_path).metrics()["wall_s"].tolist() == [1]
    (tmp_path / "metrics.csv").write_text("wall_s,eval_return\n1,\n2\n3,4\n")  # the run was killed in its second row, and resumed
    assert octet.Run(tmp_path).metrics()["wall_s"].tolist() == [1, 3]


@pytest.mark.parametrize("content", ["", "wall_s,eval_re"])
def test_metrics_without_a_line_are_not_there_yet(tmp_path, content):
    (tmp_path / "config.yaml").touch()
    (tmp_path / "metrics.csv").write_text(content)
    with pytest.raises(octet.OctetError, match="metrics.csv: empty: the run has not written a line yet"):
        octet.Run(tmp_path).metrics()


@pytest.mark.parametrize("executable", ["", None])
def test_a_python_inside_another_program_has_none_to_name(tmp_path, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.delenv("OCTET_PYTHON", raising=False)
    with pytest.raises(octet.OctetError, match='no environment "CartPole-v2"'):
        octet.train(PRESET, tmp_path / "run", {"env.id": "CartPole-v2"}, verbose=False)
    octet.make("CartPole-v1").close()
    assert "OCTET_PYTHON" not in {**octet._lib.program_environ(), **os.environ}


# ---- the end of this Python, of the run and of others

def python(tmp_path, text):
    """A Python with LONG and the folder RUN, which says at its very end whether that has a summary."""
    text = (f"import atexit, os, threading\nLONG, PRESET, RUN = {LONG!r}, {str(PRESET)!r}, {str(tmp_path / 'run')!r}\n"
            f"atexit.register(lambda: print('saved', os.path.exists(RUN + '/summary.json')))\nimport octet\n{text}")
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_run_ends_with_its_python_however_that_ends(tmp_path, name):
    with python(tmp_path, "octet.train(PRESET, RUN, LONG)") as program:
        for line in program.stdout:
            if "policy=" in line:
                break
        program.send_signal(getattr(signal, name))
    assert program.returncode == -getattr(signal, name)
    assert ended(tmp_path / "run")["reason"] == "interrupted"


def test_a_run_in_a_daemon_thread_is_saved_when_the_program_ends(tmp_path):
    text = ("threading.Thread(target=octet.train, args=(PRESET, RUN, LONG), kwargs={'verbose': False}, daemon=True).start()\n"
            "import time\nuntil = time.monotonic() + 60\n"
            "while not os.path.exists(RUN + '/metrics.csv') and time.monotonic() < until:\n    time.sleep(0.02)")
    with python(tmp_path, text) as program:
        assert program.stdout.read() == "saved True\n"
    run = octet.Run(tmp_path / "run")
    assert not run.is_live and run.summary["reason"] == "interrupted"


def test_ctrl_c_while_the_run_starts_leaves_none(tmp_path, monkeypatch):
    begin = threading.Thread.start

    def start(thread):
        begin(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        octet.train(PRESET, tmp_path / "run", LONG, verbose=False)
    assert not octet._command._open
    assert not (tmp_path / "run").exists() or ended(tmp_path / "run")["reason"] == "interrupted"


def test_a_second_ctrl_c_reaches_the_run(tmp_path, monkeypatch):
    first = tmp_path / "first"
    program_of(tmp_path, monkeypatch, f"trap 'if [ -e {first} ]; then exit 130; fi; touch {first}' INT; {begin(tmp_path)}; "
               "echo t=0; while :; do sleep 0.05; done")
    with python(tmp_path, "octet.train(PRESET, RUN, LONG)") as program:
        try:
            assert program.stdout.readline() == "t=0\n"
            program.send_signal(signal.SIGINT)
            wait_until(first.exists, "the first one does not reach it")
            program.send_signal(signal.SIGINT)
            assert program.wait(60) == -signal.SIGINT
        finally:
            program.kill()


def test_a_run_that_never_began_is_not_waited_for(tmp_path, monkeypatch):
    def start(thread):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        octet.train(PRESET, tmp_path / "run", LONG, verbose=False)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129)])
def test_a_run_that_somebody_else_stops_says_so(tmp_path, name, code):
    job = octet.start(PRESET, tmp_path / "run", LONG, verbose=False)  # there are its settings, and maybe not more
    os.kill(job._child._process.pid, getattr(signal, name))
    with pytest.raises(octet.OctetError, match=f"^the run was interrupted by {name} and has saved what it had: octet.Run") as told:
        job.wait()
    assert told.value.code == code and job.run.summary["reason"] == "interrupted"


def test_a_run_that_is_killed_says_so(tmp_path):
    with octet.start(PRESET, tmp_path / "run", LONG, verbose=False) as job:
        os.kill(job._child._process.pid, signal.SIGKILL)
        with pytest.raises(octet.OctetError, match="run: octet train was killed by SIGKILL; ") as told:
            job.wait()
    assert told.value.code == -9


@pytest.mark.parametrize("run", [lambda folder: octet.train(PRESET, folder, verbose=False), lambda folder: octet.Learner(PRESET, folder),
                                 lambda folder: octet.sweep(PRESET, {"run.seed": [1]}, folder, verbose=False)])
def test_an_error_has_what_follows_it(tmp_path, monkeypatch, run):
    program_of(tmp_path, monkeypatch, "seq 300; echo 'octet train: error: octet-replay has ended; the end of run/log/replay.log:' >&2\n"
               "seq 100 >&2; echo 'the disk is full' >&2; exit 1")
    with pytest.raises(octet.OctetError) as told:
        run(tmp_path / "run")
    first, *rest = str(told.value).splitlines()
    assert first.endswith("the end of run/log/replay.log:") and rest[-2:] == ["100", "the disk is full"] and len(rest) == 39


def test_without_an_error_the_last_lines_are_told(tmp_path, monkeypatch):
    program_of(tmp_path, monkeypatch, "seq 300; exit 7")
    with pytest.raises(octet.OctetError, match="^296\n297\n298\n299\n300$") as told:
        octet.train(PRESET, tmp_path / "run", verbose=False)
    assert told.value.code == 7


def test_a_program_that_cannot_be_started_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("OCTET_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(octet.OctetError, match="none cannot be started: .*No such file"):
        octet.train(PRESET, tmp_path / "run", verbose=False)


# ---- settings

@pytest.mark.parametrize("text", ["lr=3e-4 # second try", "#7", "&a", "!t", " x ", "a: b", "[x", "'q", "*a", "%x", "@x", '"', "back\\slash"])
def test_a_text_means_itself(tmp_path, text):
    with octet.start(PRESET, tmp_path / "run", {**LONG, "run.name": text}, verbose=False) as job:
        assert job.run.config["run"]["name"] == text


def test_every_text_is_read_back(tmp_path):
    texts = ["", "[x]", "- x", "-x", "-", "--- x", "...", "a:", "a :b", "a\t#b", "a#b", "{x}", "x, y", "none", "~", "1e-3", "é 漢", "`x", "a\\", '\\"', ">x",
             "? y", "?", "\u00a0x", "a\u2028", "|", "x]", "\ufeffx", "http://x", "=", "<<", "'", "''", '""', "#", " ", "a # b # c"]
    for text in texts:
        (tmp_path / "name.yaml").write_text(f"run:\n  name: {octet._command.yaml_of(text)}\nalgo:\n  name: dqn\nenv:\n  id: CartPole-v1\n")
        ran = subprocess.run([os.environ["OCTET_PROGRAM"], "config", "--check", tmp_path / "name.yaml", "--resolved"], capture_output=True,
                             text=True, check=False)
        if "control character" not in ran.stderr:  # which no text of an experiment may hold
            assert ran.returncode == 0, ran.stderr
            (tmp_path / "config.yaml").write_text(ran.stdout)
            assert octet.Run(tmp_path).config["run"]["name"] == text


def test_lists_numbers_and_none_are_what_they_are(tmp_path):
    settings = {**LONG, "network.hidden": "[16, 8]", "algo.learning_rate": "1e-3", "run.stop_at_return": None, "algo.dueling": np.True_,
                "run.seed": np.int64(3), "algo.adam_epsilon": 1e-9, "env.options": ""}
    with octet.start(PRESET, tmp_path / "run", settings, verbose=False) as job:
        config = job.run.config
    assert config["network"]["hidden"] == [16, 8] and config["network"]["conv"] == [] and config["algo"]["dueling"] is True
    assert config["algo"]["learning_rate"] == 1e-3 and config["algo"]["adam_epsilon"] == 1e-9 and config["run"]["env_steps"] == 10**12
    assert config["run"]["stop_at_return"] == "none" and config["run"]["seed"] == 3 and config["env"] == {"id": "CartPole-v1", "options": "", "mjcf_dir": ""}


def test_options_of_the_environment_keep_their_types(tmp_path, envs_of_the_tests):
    its = {"env.id": "gym:octet_test_envs:OctetSlips-v0", "env.options": {"share": 0.0}}
    with octet.start(PRESET, tmp_path / "run", {**LONG, **its}, verbose=False) as job:
        assert job.run.config["env"]["options"] == "share=0.0"


@pytest.mark.parametrize(("settings", "words"), [
    ({"env.id": "gym:X-v0", "env.options": {"size": 2.0, "name": "a", "flag": True}}, "size=2.0,name='a',flag=True"),
    ({"env.id": "CartPole-v1", "env.options": {"sutton_barto_reward": True}}, "sutton_barto_reward=1"),
    ({"env.id": "./mine.so", "env.options": {"mass": [1, 2.5], "deep": {"a": None}, "word": "a,b", "name": "c"}},
     r'"mass:=[1, 2.5],deep:={\u0022a\u0022: null},word:=\u0022a,b\u0022,name=c"'),
    ({"env.options": {"size": 2.0, "n": np.int64(3)}}, "size=2.0,n=3")])
def test_options_are_written_as_the_environment_reads_them(settings, words):
    assert octet._command.set_arguments(settings)[-1] == f"env.options={words}"


def test_options_that_depend_on_the_environment_need_its_id():
    with pytest.raises(octet.OctetError, match="set: env.options: .*: give env.id, too"):
        octet._command.set_arguments({"env.options": {"flag": True}})


def test_a_line_end_in_a_text_is_refused(tmp_path):
    with pytest.raises(octet.OctetError, match="byte 2 of the text is a control character .code 10."):
        octet.train(PRESET, tmp_path / "run", {"run.name": "a\nb"}, verbose=False)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"set": ["run.seed=3"]}, "set: .* is not a dictionary of keys"), ({"arguments": "--resume"}, "arguments: '--resume' is not a list"),
    ({"arguments": ["--run-dir", "other"]}, "arguments: '--run-dir': the folder is the argument run_dir"),
    ({"arguments": ["--actors", "2", "--run-d=other"]}, "arguments: '--run-d=other': the folder is"),
    ({"arguments": ["--run", "other"]}, "arguments: '--run': the folder is"), ({"arguments": ["--r=other"]}, "arguments: '--r=other': the folder is"),
    ({"set": {"run.name": b"name"}}, "set: b'name' are bytes; expected a text"), ({"set": {"run.name": bytearray(b"n")}}, "are bytes; expected a text"),
    ({"run_dir": None}, "run_dir: None is not a path"), ({"experiment": {}}, "experiment: {} is not a path"), ({"on_metrics": 3}, "on_metrics: 3 is not a function")])
def test_arguments_are_looked_at(tmp_path, arguments, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.train(**{"experiment": PRESET, "run_dir": tmp_path / "run", **arguments})


# ---- the folder

@pytest.mark.parametrize(("name", "content", "read", "words"), [
    ("summary.json", b"{bad", lambda run: run.summary, "summary.json: Expecting"), ("summary.json", b"", lambda run: run.summary, "summary.json: "),
    ("summary.json", b"[]", lambda run: run.summary, "summary.json: no JSON object"), ("summary.json", b"\xff", lambda run: run.summary, "summary.json: 'utf-8'"),
    ("metrics.csv", b"\xff\xfe\n1\n", lambda run: run.metrics(), "metrics.csv: 'utf-8'"),
    ("metrics.csv", b"wall_s,name\n1,2\n1,abc\n", lambda run: run.metrics(), "metrics.csv:3: could not convert"),
    ("config.yaml", b"run:\n  seed: {1: 2}\n", lambda run: run.config, "config.yaml:2: not as octet train writes it"),
    ("config.yaml", b"model\n", lambda run: run.config, "config.yaml:1: not as octet train writes it"),
    ("config.yaml", b"  seed: 1\n", lambda run: run.config, "config.yaml:1: not as octet train writes it"),
    ("config.yaml", b"\xff", lambda run: run.config, "config.yaml: 'utf-8'"), ("policy.oct", b"hello", lambda run: run.policy(), "policy.oct")])
def test_what_is_broken_is_named(tmp_path, name, content, read, words):
    (tmp_path / "config.yaml").touch()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(octet.OctetError, match=words):
        read(octet.Run(tmp_path))


def test_runs_of_one_folder_are_equal(tmp_path):
    (tmp_path / "config.yaml").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/config.yaml").touch()
    run = octet.Run(tmp_path)
    assert run == octet.Run(tmp_path / "link") != octet.Run(tmp_path / "b") and run != str(tmp_path)
    assert len({run, octet.Run(tmp_path / "link"), octet.Run(tmp_path / "b")}) == 2 and not run.is_live


def test_a_run_whose_locks_are_anothers_is_live_until_it_has_a_summary(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").touch()
    (tmp_path / ".lock").touch()

    def refuse(*_):
        raise PermissionError
    monkeypatch.setattr("octet._train.open", refuse, raising=False)  # as of a file that is its owner's alone
    began_ns = (tmp_path / "config.yaml").stat().st_mtime_ns
    assert octet.Run(tmp_path).is_live
    (tmp_path / "summary.json").touch()
    for later, is_live in ((-1, True), (0, False), (1, False)):
        os.utime(tmp_path / "summary.json", ns=(began_ns, began_ns + later * 10**9))
        assert octet.Run(tmp_path).is_live == is_live


# ---- in the background

def test_a_run_goes_on_in_the_background_until_it_is_stopped(tmp_path, capsys):
    job = octet.start(PRESET, tmp_path / "run", LONG)
    assert job.is_running and job.run.is_live and job.run == octet.Run(tmp_path / "run")
    with pytest.raises(octet.RunTimeoutError, match="continues after 0 s"):
        job.wait(0)
    with pytest.raises(TimeoutError):
        job.wait(timeout=0.01)
    wait_until((tmp_path / "run/policy.oct").exists, "the run does not begin")
    run = job.stop()
    assert run == job.run == job.wait() == job.stop() and not job.is_running and not run.is_live
    assert run.summary["reason"] == "interrupted" and (run.run_dir / "checkpoint.oct").exists()
    assert "CartPole-v1 interrupted\n" in capsys.readouterr().out


def test_a_run_in_the_background_ends_by_itself(tmp_path, capsys):
    with octet.start(PRESET, tmp_path / "run", SHORT, verbose=False) as job:
        assert job.wait(60).summary["reason"] == "budget"
    assert capsys.readouterr().out == ""


def test_a_block_that_is_left_stops_its_run(tmp_path):
    with pytest.raises(KeyError), octet.start(PRESET, tmp_path / "run", LONG, verbose=False):
        raise KeyError
    assert octet.Run(tmp_path / "run").summary["reason"] == "interrupted"


def test_what_is_refused_is_raised_when_it_starts(tmp_path):
    with pytest.raises(octet.OctetError, match="unknown key algo.nam"):
        octet.start(PRESET, tmp_path / "run", {"algo.nam": 3}, verbose=False)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(octet.OctetError, match="File exists"):
        octet.start(PRESET, tmp_path, SHORT, verbose=False)


def test_a_run_is_not_begun_where_another_writes_its_settings(tmp_path):
    is_over = threading.Event()
    with octet.start(PRESET, tmp_path / "run", LONG, verbose=False) as job:
        def write():
            while not is_over.is_set():
                os.utime(job.run_dir / "config.yaml")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with pytest.raises(octet.OctetError, match="the run in .* is live|File exists"):
                octet.start(PRESET, tmp_path / "run", LONG, verbose=False)
        finally:
            is_over.set()
            writer.join()
        assert job.is_running


def test_a_run_is_not_copied(tmp_path):
    with octet.start(PRESET, tmp_path / "run", LONG, verbose=False) as job:
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="an octet.Job cannot be copied or pickled"):
                make(job)


def test_a_thread_that_starts_a_run_may_end(tmp_path):
    jobs = []
    thread = threading.Thread(target=lambda: jobs.append(octet.start(PRESET, tmp_path / "run", LONG, verbose=False)))
    thread.start()
    thread.join()
    with pytest.raises(octet.RunTimeoutError):
        jobs[0].wait(0.5)
    jobs[0].stop()


def test_a_fork_refuses_its_parents_run(tmp_path):
    with octet.start(PRESET, tmp_path / "run", LONG, verbose=False) as job:
        pid = os.fork()
        if pid == 0:
            try:
                job.stop()
            except octet.OctetError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7 and job.is_running


# ---- rows as they come

def test_every_row_is_told_once_and_as_metrics_has_it(tmp_path):
    rows, threads = [], set()
    run = octet.train(PRESET, tmp_path / "run", {**SHORT, "run.env_steps": 60000}, verbose=False,
                      on_metrics=lambda row: (rows.append(row), threads.add(threading.current_thread()))[0])
    columns = run.metrics()
    assert len(rows) == len(columns["env_steps"]) > 1 and threads == {threading.current_thread()}
    for i, row in enumerate(rows):
        assert list(row) == list(columns) and all(np.array_equal(row[name], columns[name][i], equal_nan=True) for name in row)
    more = []
    again = octet.train(PRESET, tmp_path / "run", {"run.env_steps": 120000}, arguments=["--resume"], verbose=False, on_metrics=more.append)
    assert [row["env_steps"] for row in rows + more] == again.metrics()["env_steps"].tolist() and more


def test_rows_of_a_file_that_is_written_anew_are_told_once(tmp_path):
    path = tmp_path / "metrics.csv"
    rows = octet._train._Rows(path)
    assert rows.read() == []
    path.write_text("a,b\n1,2\n3,\n5")
    assert [row["a"] for row in rows.read()] == [1, 3] and rows.read() == []
    (tmp_path / "new").write_text("a,b\n2,2\n3,\n5,6\n")  # older rows were joined
    os.replace(tmp_path / "new", path)
    assert rows.read() == [{"a": 5, "b": 6}]
    (tmp_path / "new").write_text("c\n7\n")
    os.replace(tmp_path / "new", path)
    assert rows.read() == [{"c": 7}]
    with open(path, "a") as file:
        file.write("x\n")
    with pytest.raises(octet.OctetError, match="metrics.csv:3: could not convert"):
        rows.read()


def test_false_stops_the_run(tmp_path):
    seen = []
    run = octet.train(PRESET, tmp_path / "run", LONG, verbose=False, on_metrics=lambda row: seen.append(row) or np.bool_(len(seen) < 3))
    assert len(seen) == 3 and run.summary["reason"] == "interrupted" and run.policy().info.env_id == "CartPole-v1"


def test_what_the_function_raises_stops_the_run(tmp_path):
    def fail(row):
        raise KeyError(row["env_steps"])

    with pytest.raises(KeyError):
        octet.train(PRESET, tmp_path / "run", LONG, verbose=False, on_metrics=fail)
    assert octet.Run(tmp_path / "run").summary["reason"] == "interrupted"


def test_rows_are_told_after_one_that_raised(tmp_path, monkeypatch):
    told = []

    def fail_once(row):
        told.append(row["a"])
        if len(told) == 1:
            raise KeyError("once")

    program_of(tmp_path, monkeypatch, f"{begin(tmp_path)}; "
               f"printf 'a\\n1\\n2\\n3\\n' > {tmp_path}/run/metrics.csv")
    job = octet.start(PRESET, tmp_path / "run", verbose=False, on_metrics=fail_once)
    with pytest.raises(KeyError):
        job.wait()
    job.wait()
    assert told == [1, 2, 3]


def test_a_run_that_crashes_while_it_is_stopped_says_so(tmp_path, monkeypatch):
    program_of(tmp_path, monkeypatch, f"trap 'kill -SEGV $$' INT; {begin(tmp_path)}; "
               "while :; do sleep 0.05; done")
    job = octet.start(PRESET, tmp_path / "run", verbose=False)
    with pytest.raises(octet.OctetError, match="was killed by SIGSEGV"):
        job.stop()


# ---- several

@pytest.mark.parametrize("values", [["a[b", "c"], ['x"y', 'z"w'], ['q",r', "s"], ["a]b,c", "\\d"]])
def test_a_sweep_varies_each_text(tmp_path, capsys, values):
    run = octet.train(PRESET, tmp_path / "run", SHORT, verbose=False)
    for name in values:
        (tmp_path / name).symlink_to(run.run_dir)
    folders = [str(tmp_path / name) for name in values]
    capsys.readouterr()
    assert octet.sweep(PRESET, {"learner.init_from": folders}, tmp_path / "sweep", SHORT, arguments=["--dry-run"]) == []
    assert capsys.readouterr().out.startswith("2 trials")


def test_a_sweep_varies_options_of_the_environment(tmp_path, capsys, envs_of_the_tests):
    varied = [{"g": 9.5, "max_episode_steps": 100}, "g=9.8"]
    assert octet.sweep(ROOT / "presets/pendulum.yaml", {"env.options": varied}, tmp_path / "sweep", arguments=["--dry-run"]) == []
    said = capsys.readouterr().out
    assert said.startswith("2 trials") and "g=9.5,max_episode_steps=100" in said
    with pytest.raises(octet.OctetError, match="depends on the environment: give env.id, too"):
        octet.sweep(PRESET, {"env.options": [{"flag": True}]}, tmp_path / "sweep")


def test_a_sweep_returns_its_runs_which_are_compared(tmp_path, capsys):
    runs = octet.sweep(PRESET, {"algo.learning_rate": [1e-3, np.float64(1e-2)], "network.hidden": [[8], [4, 4]]}, tmp_path / "sweep",
                       {key: value for key, value in SHORT.items() if key != "network.hidden"}, seeds=2, jobs=2)
    assert "finished, return" in capsys.readouterr().out
    assert [(run.config["algo"]["learning_rate"], run.config["network"]["hidden"], run.config["run"]["seed"]) for run in runs] == [
        (rate, hidden, seed) for rate in (1e-3, 1e-2) for hidden in ([8], [4, 4]) for seed in (1, 2)]
    said = octet.compare(runs, threshold=1)
    assert len(said["groups"]) == 4 and all(group["threshold"] == 1 and len(group["runs"]) == 2 for group in said["groups"])
    assert octet.compare(tmp_path / "sweep")["groups"] == octet.compare([str(run.run_dir) for run in runs])["groups"]


def test_a_sweep_draws_from_a_range(tmp_path):
    runs = octet.sweep(PRESET, {"algo.learning_rate": "1e-4..1e-2"}, sweep_dir=tmp_path / "sweep", set=SHORT, random=2, verbose=False)
    rates = [run.config["algo"]["learning_rate"] for run in runs]
    assert len(set(rates)) == 2 and all(1e-4 <= rate <= 1e-2 for rate in rates)


@pytest.mark.parametrize(("over", "words"), [
    ({"algo.nam": [1]}, "algo.nam"), ({"algo.learning_rate": []}, "over: algo.learning_rate: \\[\\] is neither a list"), (["x"], "is not a dictionary of keys"),
    ({"algo.learning_rate": 3}, "3 is neither a list"), ({}, "nothing to vary")])
def test_a_sweep_that_cannot_be_is_refused(tmp_path, over, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.sweep(PRESET, over, tmp_path / "sweep", SHORT, verbose=False)
    with pytest.raises(octet.OctetError, match="nowhere"):
        octet.compare([tmp_path / "nowhere"])


def test_the_folder_of_a_sweep_is_its_argument(tmp_path):
    with pytest.raises(octet.OctetError, match="arguments: '--sweep=other': the folder is the argument sweep_dir"):
        octet.sweep(PRESET, {"algo.learning_rate": [1e-3]}, tmp_path / "sweep", SHORT, arguments=["--sweep=other"])


@pytest.mark.parametrize(("code", "words"), [
    (130, "the sweep was interrupted by SIGINT; octet sweep --resume --sweep-dir .*sweep continues it$"), (137, "^the last line$"), (3, "^the last line$")])
def test_a_sweep_that_ends_early_says_how(tmp_path, monkeypatch, code, words):
    program_of(tmp_path, monkeypatch, f"echo the last line; exit {code}")
    with pytest.raises(octet.OctetError, match=words) as told:
        octet.sweep(PRESET, {"run.seed": [1]}, tmp_path / "sweep", verbose=False)
    assert told.value.code == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_sweep_ends_with_its_python(tmp_path, name):
    with python(tmp_path, "octet.sweep(PRESET, {'algo.learning_rate': [1e-3]}, RUN, LONG, verbose=False)") as program:
        folder = tmp_path / "run/trial-0001-seed-1"
        wait_until((folder / "policy.oct").exists, "the run does not begin")
        program.send_signal(getattr(signal, name))
    assert program.returncode != 0 and ended(folder)["reason"] == "interrupted"
    assert name == "SIGKILL" or json.loads((tmp_path / "run/sweep.json").read_text())["trials"][0]["runs"][0]["state"] != "running"
