#!/usr/bin/env python3
"""Runs the tests of the Python package against a build, by an interpreter that has what they need.

usage: run_pytest.py [--processes N] ROOT LIBOCTET PATH...      PATH: test files or folders
--processes: N processes at the same time share the cases. Every case runs in exactly one.

numpy, gymnasium and pytest come from PyPI and are looked for in $OCTET_TEST_PYTHON, in this interpreter and in
python3. Exit code 77, with a line that says so: nobody has them, or a file is skipped as a whole."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

NEEDS = "import sys, importlib.util as at; sys.exit(None in map(at.find_spec, ('numpy', 'gymnasium', 'pytest')))"
NO_TESTS = 5  # pytest's, also where the file itself skips
SKIPPED = 77


def shared(command, environment, processes):
    """pytest's exit code, or 0 or 1 of several processes."""
    if processes == 1:
        return subprocess.run(command, env=environment, check=False).returncode

    def run(i):
        mine = {**environment, "OCTET_TEST_SHARE": f"{i} {processes}"}
        return subprocess.run(command, env=mine, check=False).returncode in (0, NO_TESTS)
    return 0 if unittests.share(run, processes) else 1


def main(*arguments):
    processes = 1
    if arguments[0] == "--processes":
        processes, arguments = int(arguments[1]), arguments[2:]
    root, library, *paths = arguments
    # Only the build's own code is tested: no site-packages, no files of pytest in the tree. Hundreds of processes import
    # numpy, none multiplies large matrices: without threads the import takes half the CPU time.
    here = {**os.environ, "OCTET_LIBRARY": library, "PYTHONPATH": os.path.join(root, "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    for python in [os.environ.get("OCTET_TEST_PYTHON"), sys.executable, "python3"]:
        if python and subprocess.run([python, "-c", NEEDS], capture_output=True, check=False).returncode == 0:
            command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", root, *paths]
            code = shared(command, here, processes)
            return SKIPPED if code == NO_TESTS else code
    print("SKIPPED: no python has numpy, gymnasium and pytest (from PyPI; $OCTET_TEST_PYTHON names one)")
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
