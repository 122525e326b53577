"""The package's types are complete and agree: it says so with py.typed."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="SKIPPED: the types of the Python package were not looked at: mypy is not installed")


def test_mypy_finds_nothing(tmp_path):
    # No path of ours: the package is looked at, not imported.
    here = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    package = pathlib.Path(__file__).parents[2] / "python" / "octet"
    said = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, package], env=here,
                          capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
