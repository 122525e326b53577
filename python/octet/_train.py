"""`octet train` as a function, and what a run has left in its folder."""

from __future__ import annotations

import collections
import csv
import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._command import errors_of, program, set_arguments
from ._lib import OctetError, program_environ
from ._policy import Policy

_LINES = 200  # of its words are kept for an error


class Run:
    """The folder of a run, which may still go on: its summary, its curves and its policy.

    run_dir: a folder of `octet train`. Nothing is read before it is asked for, and it is read again each time.
    """

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.run_dir = pathlib.Path(run_dir)
        if not (self.run_dir / "config.yaml").is_file():
            raise OctetError(f"{self.run_dir}: no run: it has no config.yaml", 6)

    def __repr__(self) -> str:
        return f"Run({str(self.run_dir)!r})"

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: how the run ended, what its policy reached, and what it took (docs/reference.md)."""
        path = self.run_dir / "summary.json"
        if not path.is_file():
            raise OctetError(f"{path}: not there: the run goes on, or was killed", 6)
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv: a column for each name, all of one length; nan where there was nothing to tell."""
        path = self.run_dir / "metrics.csv"
        if not path.is_file():
            raise OctetError(f"{path}: not there yet", 6)
        lines = path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()  # behind the last end of line one is written
        if not lines:
            raise OctetError(f"{path}: empty: the run has not written a line yet", 6)
        names, *rows = csv.reader(lines)
        complete = [row for row in rows if len(row) == len(names)]  # a line of a run that was killed may not be
        return {name: np.array([float(row[column] or "nan") for row in complete], np.float64)
                for column, name in enumerate(names)}

    def policy(self) -> Policy:
        """The policy that the run ships: its best version; of one that goes on, the best so far."""
        return Policy(self.run_dir / "policy.oct")


def train(experiment: str | os.PathLike[str], run_dir: str | os.PathLike[str], set: Mapping[str, Any] | None = None, *,
          arguments: Sequence[str] = (), verbose: bool = True) -> Run:
    """Trains as `octet train` does, on this machine, and returns when the run has ended.

    run = octet.train("cartpole", run_dir="run", set={"run.seed": 3})
    print(run.summary["return"], run.policy().act(observation))

    experiment: a file, or a preset's name. set: keys of the experiment. arguments: more options of `octet train`, such
    as ["--resume"]. verbose: print its lines, about one a second, and what it reached. Ctrl-C ends the run, which saves
    a checkpoint and its policy, before KeyboardInterrupt goes on; so does any other exception. What the run refuses is
    an `octet.OctetError`, in the words of the command line, with its exit code as `code`.
    """
    command = [program(), "train", os.fspath(experiment), "--run-dir", os.fspath(run_dir), "--no-ui", *arguments]
    command += set_arguments(set or {})
    said: collections.deque[str] = collections.deque(maxlen=_LINES)
    # A session of its own: Ctrl-C is this program's, which then ends the run.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          encoding="utf-8", errors="replace", start_new_session=True, env=program_environ()) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                said.append(line.rstrip("\n"))
                if verbose:
                    print(said[-1], flush=True)
        except BaseException:
            child.send_signal(signal.SIGINT)
            for _ in child.stdout:  # it must not wait for a reader
                pass
            raise
    if child.returncode != 0:
        raise OctetError(errors_of(said) or f"octet train ended with exit code {child.returncode}", child.returncode)
    return Run(run_dir)
