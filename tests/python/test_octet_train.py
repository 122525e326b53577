"""octet.train: a whole run from Python, what it says of a run that is refused, and how it ends on Ctrl-C."""

import math
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import octet
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PRESET = ROOT / "presets/cartpole.yaml"
SHORT = {"network.hidden": [8], "run.stop_at_return": "none", "run.env_steps": 2000, "learner.metrics_s": 0.05}


def test_a_run_ends_with_a_summary_curves_and_a_policy(tmp_path, capsys):
    run = octet.train(PRESET, tmp_path / "run", SHORT)
    assert "CartPole-v1 finished: not solved" in capsys.readouterr().out
    assert run.summary["reason"] == "budget" and run.summary["env_steps"] >= 2000
    metrics = run.metrics()
    assert metrics["env_steps"].dtype == np.float64 and len({len(column) for column in metrics.values()}) == 1
    assert metrics["env_steps"][-1] == run.summary["env_steps"] and (np.diff(metrics["env_steps"]) >= 0).all()
    assert np.isnan(metrics["eval_return"]).any() and not np.isnan(metrics["updates"]).any()
    assert run.policy().act(np.zeros(4, np.float32)) in (0, 1)


def test_a_run_may_be_quiet_and_is_found_again_in_its_folder(tmp_path, capsys):
    octet.train(PRESET, tmp_path / "run", {**SHORT, "run.seed": 3}, verbose=False)
    assert capsys.readouterr().out == ""
    assert octet.Run(tmp_path / "run").summary["seed"] == 3


def test_a_run_goes_on_with_resume(tmp_path):
    first = octet.train(PRESET, tmp_path / "run", SHORT, verbose=False).summary
    again = octet.train(PRESET, tmp_path / "run", {"run.env_steps": 40000}, arguments=["--resume"], verbose=False).summary
    assert again["run_id"] == first["run_id"] and again["env_steps"] >= 40000 > first["env_steps"]


@pytest.mark.parametrize(("settings", "words", "code"), [({"algo.nam": 3}, "unknown key algo.nam; did you mean algo.name", 2),
                                                         ({"env.id": "CartPole-v2"}, 'no environment "CartPole-v2"', 1)])
def test_what_the_command_line_refuses_is_an_error_in_its_words(tmp_path, settings, words, code):
    with pytest.raises(octet.OctetError, match=words) as refused:
        octet.train(PRESET, tmp_path / "run", settings, verbose=False)
    assert refused.value.code == code


def test_a_folder_that_holds_a_run_is_not_trained_in(tmp_path):
    octet.train(PRESET, tmp_path / "run", SHORT, verbose=False)
    before = (tmp_path / "run/summary.json").read_bytes()
    with pytest.raises(octet.OctetError, match="File exists; --resume continues it"):
        octet.train(PRESET, tmp_path / "run", SHORT, verbose=False)
    assert (tmp_path / "run/summary.json").read_bytes() == before


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(octet.OctetError, match="no run: it has no config.yaml"):
        octet.Run(tmp_path)


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


def test_metrics_of_a_run_that_goes_on_leave_out_an_unfinished_line(tmp_path):
    (tmp_path / "config.yaml").touch()
    (tmp_path / "metrics.csv").write_text("wall_s,eval_return\n1,\n2,10.5\n3")
    metrics = octet.Run(tmp_path).metrics()
    assert metrics["wall_s"].tolist() == [1, 2] and math.isnan(metrics["eval_return"][0]) and metrics["eval_return"][1] == 10.5
    with pytest.raises(octet.OctetError, match="summary.json: not there"):
        _ = octet.Run(tmp_path).summary
    (tmp_path / "metrics.csv").write_text("wall_s,eval_return\n1,\n2,1")  # 10.5 is being written
    assert octet.Run(tmp_path).metrics()["wall_s"].tolist() == [1]


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
