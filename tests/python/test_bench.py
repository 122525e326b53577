"""The benchmark runs once, so that it is noticed when it no longer does."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench" / "bench_python.py"


def test_the_benchmark_checks_its_answers_and_prints_its_lines():
    program = os.environ.get("OCTET_PROGRAM")
    if not program:
        pytest.skip("OCTET_PROGRAM does not name octet")
    said = subprocess.run([sys.executable, BENCH, program, "quick"], capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(lines) >= 3 and all(line["median"] > 0 and line["in_c"] > 0 for line in lines)
