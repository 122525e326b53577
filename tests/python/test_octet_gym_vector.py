"""Vector environments of others in Octet ("gym:NAME"): stepped as vectors, and every row is as from single environments."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import octet
import pytest

PRESET = pathlib.Path(__file__).parents[2] / "presets/cartpole.yaml"
KINDS = [("Vector-v0", ""), ("Vector-v0", "mode='SameStep'"), ("Vector-v0", "mode='Disabled'"), ("Pool-v0", ""), ("Synced-v0", ""),
         ("Either-v0", "vectorization_mode='vector_entry_point'")]
ENVS, EPISODES = 3, 7


@pytest.fixture(autouse=True)
def python_of_the_tests(monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent), prepend=":")


def octet_run(*arguments):
    return subprocess.run([os.environ["OCTET_PROGRAM"], *map(str, arguments)], capture_output=True, text=True, check=False)


def trained(folder, name, options, *settings):
    """The summary of a run, and its rows."""
    more = [part for setting in (f"env.id=gym:octet_test_vectors:Octet{name}", f"env.options={options}", "run.env_steps=1500",
                                 "run.stop_at_return=none", f"actor.envs={ENVS}", f"evaluation.episodes={EPISODES}",
                                 "evaluation.screen_episodes=3", "evaluation.final_share=0", *settings)
            for part in ("--set", setting)]
    done = octet_run("train", PRESET, "--run-dir", folder / "run", *more)
    assert done.returncode == 0, done.stderr
    done = octet_run("data", "export", folder / "run", "--npz", folder / "rows.npz")
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "run/summary.json").read_text(encoding="utf-8")), np.load(folder / "rows.npz")


@pytest.mark.parametrize(("name", "options"), [("Ladder-v0", ""), *KINDS])
def test_an_actor_records_the_rows_of_its_episodes(tmp_path, monkeypatch, name, options):
    monkeypatch.setenv("OCTET_TEST_FOLDER", str(tmp_path / "made"))
    summary, rows = trained(tmp_path, name, f"{options},info_metrics='length'".lstrip(","))
    episodes = rows["episodes"]
    begins = np.flatnonzero(np.diff(episodes, prepend=episodes[0] - 1))
    assert len(begins) > 200
    for first, last in zip(begins, [*begins[1:] - 1, len(episodes) - 1], strict=True):
        number, count = int(rows["observations"][first, 0]), last - first + 1
        assert count == 3 + number % 5
        steps = np.arange(count)
        its = slice(first, last + 1)
        assert rows["observations"][its].tolist() == [[number, step] for step in steps]
        assert rows["next_observations"][its].tolist() == [[number, step + 1] for step in steps]
        assert rows["rewards"][its].tolist() == [10 * number + step + 1 for step in steps]
        assert rows["terminations"][its].tolist() == [step == count - 1 and number % 2 == 0 for step in steps]
        assert rows["truncations"][its].tolist() == [step == count - 1 and number % 2 == 1 for step in steps]
    # Three episodes in each of the first two environments' turns are those of numbers 0, 1 and 2, whatever steps them.
    result = summary["return"]
    assert (result["episodes"], result["failed_episodes"]) == (EPISODES, 0)
    assert result["min"] == 6 and result["mean_length"] == result["metrics"]["length"]
    if name != "Ladder-v0" and (tmp_path / "made/vectors").exists():
        assert str(ENVS) in (tmp_path / "made/vectors").read_text(encoding="ascii").split()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize(("name", "options"), [("Vector-v0", {}), ("Vector-v0", {"mode": "SameStep"}),
                                               ("Vector-v0", {"mode": "Disabled"}), ("Pool-v0", {}), ("Synced-v0", {})])
def test_a_vector_of_octet_has_the_rows_of_single_environments(mode, name, options):
    ours, theirs = (octet.make_vec(f"gym:octet_test_vectors:Octet{one}", 2, autoreset_mode=mode, **more)
                    for one, more in ((name, options), ("Ladder-v0", {})))
    assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    for _ in range(40):
        got, want = ours.step(np.zeros(2, int)), theirs.step(np.zeros(2, int))
        assert all(np.array_equal(a, b) for a, b in zip(got[:4], want[:4], strict=True))
        ended = got[2] | got[3]
        if mode == "Disabled" and ended.any():
            starts = [env.reset(options={"reset_mask": ended})[0] for env in (ours, theirs)]
            assert np.array_equal(*starts)


def test_a_vector_that_raises_fails_the_episodes_that_it_was_in(tmp_path):
    _, rows = trained(tmp_path, "Vector-v0", "raises=200")
    count = np.diff(np.flatnonzero(np.diff(rows["episodes"], prepend=-1)))
    number = rows["observations"][np.flatnonzero(np.diff(rows["episodes"], prepend=-1))[:-1], 0]
    assert 0 < (count != 3 + number % 5).sum() <= ENVS * len(rows["rewards"]) / 400  # each vector cuts one episode of each short
    assert "a broken simulator" in (tmp_path / "run/log/actor-0.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "options", "words"), [
    ("Ladder-v0", "vectorization_mode=sync", "option vectorization_mode='sync': allowed is 'vector_entry_point'"),
    ("Ladder-v0", "vectorization_mode=vector_entry_point", "vector"),
    ("Misspelt-v0", "", "metadata['autoreset_mode'] is 'same_step'; allowed are"),
    ("Fixed-v0", "", "An entry point that returns a VectorEnv has a parameter num_envs."),
])
def test_a_vector_that_cannot_be_is_refused(tmp_path, name, options, words):
    done = octet_run("train", PRESET, "--run-dir", tmp_path / "run", "--set", f"env.id=gym:octet_test_vectors:Octet{name}",
                     "--set", f"env.options={options}")
    assert done.returncode == 2 and words in done.stderr, done.stderr
