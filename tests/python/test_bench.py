"""The benchmarks run once, so that it is noticed when they no longer do."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"


def test_the_benchmark_checks_its_answers_and_prints_its_lines():
    program = os.environ.get("OCTET_PROGRAM")
    if not program:
        pytest.skip("OCTET_PROGRAM does not name octet")
    said = subprocess.run([sys.executable, BENCH / "bench_python.py", program, "quick"], capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(lines) >= 3 and all(line["median"] > 0 and line["in_c"] > 0 for line in lines)


def test_the_benchmark_of_replay_checks_its_answers_and_prints_its_lines():
    path, daemon = os.environ.get("OCTET_BENCH_REPLAY_PATH"), os.environ.get("OCTET_REPLAY_PROGRAM")
    if not daemon or not path or not os.path.exists(path):
        pytest.skip("OCTET_BENCH_REPLAY_PATH and OCTET_REPLAY_PROGRAM do not name programs that were built")
    said = subprocess.run([sys.executable, BENCH / "bench_replay_python.py", path, daemon, "quick"], capture_output=True,
                          text=True, check=True).stdout
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(lines) >= 6 and all(line["median"] > 0 for line in lines)
    assert [line["name"] for line in lines if "ratio to C" in line] == ["replay octet.Replay, prefetch=3",
                                                                        "replay octet.Replay, prefetch=24"]


def test_the_benchmark_of_gymnasiums_environments_checks_its_answers_and_prints_its_line(monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", sys.executable)
    said = subprocess.run([sys.executable, BENCH / "bench_gym.py", "CartPole-v1", "quick"], capture_output=True, text=True,
                          check=True).stdout
    line = json.loads(said.splitlines()[-1])
    assert 0 < line["ratio"] < 3 and line["alone"] > 0


@pytest.mark.parametrize("name, arguments", [
    ("bench_learner", ["quick", "dqn_2x64_b65"]),
    ("bench_learner", ["quick", "products", "dqn_2x64_b64"]),
    ("bench_learner", ["quick", "threads=2x"]),
    ("bench_learners", ["quick", "dqn_unknown"]),
    ("bench_actorq", ["quick", "CartPole-v0"]),
    ("bench_policy_path", ["quick", "net=unknown"]),
    ("bench_replay_file", [".", "quick", "size"]),
    ("bench_replay_file", [".", "quickly"]),
])
def test_a_benchmark_refuses_what_it_does_not_know(name, arguments, tmp_path):
    program = pathlib.Path(os.environ.get("OCTET_BENCH_REPLAY_PATH", "")).parent / name
    if not program.is_file():
        pytest.skip(f"{name} was not built")
    ended = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "") and len(ended.stderr) > 20


def test_the_benchmark_of_the_learner_takes_its_options_in_any_order():
    program = pathlib.Path(os.environ.get("OCTET_BENCH_REPLAY_PATH", "")).parent / "bench_learner"
    if not program.is_file():
        pytest.skip("bench_learner was not built")
    said = subprocess.run([program, "dqn_2x64_b64", "threads=2", "quick"], capture_output=True, text=True, check=True).stdout
    assert [json.loads(line)["threads"] for line in said.splitlines()] == [2]
