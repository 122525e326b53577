"""The code of docs/python.md, block after block, as a reader would type it."""

import pathlib
import re
import shutil

import numpy as np
import octet

ROOT = pathlib.Path(__file__).parents[2]


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.M | re.S)
    assert len(blocks) >= 5
    # A policy for four numbers and two actions, as CartPole's is.
    shutil.copy(ROOT / "tests/data/policy/relu_int8.oct", tmp_path / "policy.oct")
    octet.import_policy([(np.ones((4, 16)), np.zeros(4), None)], env="FrozenLake-v1", path=tmp_path / "frozenlake.oct")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "did you mean CartPole-v1?" in capsys.readouterr().out
