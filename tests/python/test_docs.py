"""The code of README.md, docs/python.md and docs/python-api.md, block after block, as a reader would type it; what docs/reference.md says of a
run folder, held against one; and names that pages share."""

import json
import pathlib
import re
import shutil

import numpy as np
import octet

ROOT = pathlib.Path(__file__).parents[2]


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def run_blocks(page, names):
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), names)


def table_names(heading):
    """What is in backquotes in the first cells of the first table below a heading of docs/reference.md."""
    text = (ROOT / "docs/reference.md").read_text()
    table = re.search(rf"^#+ {re.escape(heading)}\n.*?((?:^\|[^\n]*\n)+)", text, re.M | re.S)[1]
    return [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def is_named(path, names):
    """NAME and * stand for anything, a number for any number."""
    return any(re.fullmatch(re.sub(r"\d+", r"\\d+", re.escape(name).replace("NAME", ".+").replace(r"\*", ".+")), path)
               for name in names)


def test_the_code_of_the_readme_runs_and_its_run_folder_is_described(tmp_path, monkeypatch):
    assert len(blocks_of("README.md")) == 1
    monkeypatch.chdir(tmp_path)
    names = {}
    run_blocks("README.md", names)
    assert names["actions"].shape == (64,)
    files, keys = table_names("The run folder"), table_names("summary.json")
    left = [path.relative_to("run") for path in pathlib.Path("run").rglob("*") if not path.is_dir()]
    assert len(left) > 10 and [path for path in left if not is_named(str(path), files)] == []
    summary = json.loads(pathlib.Path("run/summary.json").read_text())
    assert len(summary) > 20 and [key for key in summary if key not in keys] == []


def test_the_code_that_trains_runs(tmp_path, monkeypatch, capsys):
    assert len(blocks_of("docs/python.md")) == 3
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/python.md", {})
    printed = capsys.readouterr().out
    assert re.search(r"^interrupted \d+$", printed, re.M), printed  # by on_metrics


def test_the_code_of_the_parts_runs(tmp_path, monkeypatch, capsys):
    assert len(blocks_of("docs/python-api.md")) >= 10
    # A policy for four numbers and two actions, as CartPole's is.
    shutil.copy(ROOT / "tests/data/policy/relu_int8.oct", tmp_path / "policy.oct")
    octet.import_policy([(np.ones((4, 16)), np.zeros(4), None)], env="FrozenLake-v1", path=tmp_path / "frozenlake.oct")
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/python-api.md", {})
    assert "did you mean CartPole-v1?" in capsys.readouterr().out


def test_daemons_start_with_the_certificates_that_are_issued():
    def found(page, pattern):
        return set(re.findall(pattern, (ROOT / page).read_text(), re.M))
    def issued(page):
        return found(page, r"^    octet certs issue \w+ +(\w+)")
    for page in ("docs/security.md", "docs/operations.md"):
        started = found(page, r"^ +octet-\w+ +--tls (\w+)")
        assert len(started) >= 4 and started <= issued(page) | issued("docs/security.md"), (page, started)
