"""`octet train` and `octet sweep` as functions, and the run folders that they leave."""

from __future__ import annotations

import collections
import csv
import fcntl
import json
import os
import pathlib
import re
import signal
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ._command import (Child, errors_of, file_of, finished, options_of, options_of_env, path_of, set_arguments, signal_of,
                       train_arguments, yaml_of)
from ._files import METRICS_MAX, WHOLE_MAX, open_file, read_file
from ._lib import NotCopied, OctetError, deadline_of
from ._policy import Policy

_LOOK_SECONDS = 0.1  # between two looks at what a run has written


class RunTimeoutError(OctetError, TimeoutError):
    """The run has not ended within the timeout of `wait`; it continues."""


# ---- the folder

def _read(path: pathlib.Path, most: int = WHOLE_MAX) -> str:
    try:
        return read_file(path, most).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise OctetError(f"{path}: {error}") from error


def _value_of(text: str) -> Any:
    """Parses a value as octet train writes it: a text in quotes, a list of numbers, a number, true, false or another word."""
    if re.fullmatch(r'"(?:[^"\\]|\\["\\])*"', text):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if re.fullmatch(r"\[(?:\d+(?:, \d+)*)?\]", text):
        return [int(number) for number in re.findall(r"\d+", text)]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text):
        return float(text)
    if re.fullmatch(r"\w+", text):
        return {"true": True, "false": False}.get(text, text)
    raise ValueError(f"{text} is not a value")


def _config_of(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    config: dict[str, dict[str, Any]] = {}
    section: dict[str, Any] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        named = re.fullmatch(r"(\w+):", line)
        given = re.fullmatch(r"  (\w+): (.+)", line)
        try:
            if named:
                section = config.setdefault(named[1], {})
            elif given and config:
                section[given[1]] = _value_of(given[2])
            else:
                raise ValueError(f"{line!r} is neither a section nor a key")
        except ValueError as error:
            raise OctetError(f"{path}:{number}: not as octet train writes it: {error}; octet config --check {path} "
                             "--resolved prints what it says") from None
    return config


def _columns_of(path: pathlib.Path, lines: Sequence[str], first: int = 2) -> tuple[list[str], list[list[float]]]:
    """Returns the names in the first line of metrics.csv and the numbers of the other lines; `first` is the line number of
    the first of them in the file. A line of a killed run may be incomplete: it is left out."""
    names, *rows = csv.reader(lines)
    numbers = []
    for at, row in enumerate(rows, first):
        if len(row) == len(names):
            try:
                numbers.append([float(value or "nan") for value in row])
            except ValueError as error:
                raise OctetError(f"{path}:{at}: {error}") from None
    return names, numbers


class Run:
    """The folder of a run, which may still continue: its settings, its summary, its curves and its policy.

    run_dir: a folder of `octet train`. Files are read only on access, and again at each access. Two runs are equal if they
    have the same folder.
    """

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.run_dir = pathlib.Path(path_of("run_dir", run_dir))
        try:
            is_there = stat.S_ISREG(os.stat(self.run_dir / "config.yaml").st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_there = False
        except OSError as error:
            raise OctetError(f"{self.run_dir}: {error.strerror}", 6) from None
        if not is_there:
            raise OctetError(f"{self.run_dir}: not a run folder: it has no config.yaml", 6)

    def __repr__(self) -> str:
        return f"Run({str(self.run_dir)!r})"

    def __eq__(self, other: object) -> bool:
        return os.path.realpath(self.run_dir) == os.path.realpath(other.run_dir) if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash(os.path.realpath(self.run_dir))

    @property
    def config(self) -> dict[str, dict[str, Any]]:
        """Every key of the experiment with its value in the run: run.config["algo"]["learning_rate"]. A word, such as the
        none of run.stop_at_return, is a text."""
        return _config_of(self.run_dir / "config.yaml")

    @property
    def is_live(self) -> bool:
        """True if the run continues: an octet train or octet-learner of this host holds the folder. Only its owner can test
        the locks of a run, so another user's run continues unless its summary.json is as new as its config.yaml."""
        try:
            return any(_is_locked(self.run_dir / name) for name in (".lock", "learner.lock"))
        except PermissionError:
            return not has_summary(self.run_dir)

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: how the run ended, what its policy reached, and the cost of the run (docs/reference.md)."""
        path = self.run_dir / "summary.json"
        if not os.path.isfile(path):
            raise OctetError(f"{path}: does not exist: the run continues, or was killed", 6)
        try:
            content = json.loads(_read(path))
        except ValueError as error:
            raise OctetError(f"{path}: {error}") from error
        if not isinstance(content, dict):
            raise OctetError(f"{path}: no JSON object")
        return content

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv: a column for each name, all of the same length; nan where there is not a value."""
        path = self.run_dir / "metrics.csv"
        if not os.path.isfile(path):
            raise OctetError(f"{path}: does not exist yet", 6)
        lines = _read(path, METRICS_MAX).rpartition("\n")[0].splitlines()  # behind the last end of line one is written
        if not lines:
            raise OctetError(f"{path}: empty: the run has not written a line yet", 6)
        names, rows = _columns_of(path, lines)
        return {name: np.array([row[column] for row in rows], np.float64) for column, name in enumerate(names)}

    def policy(self) -> Policy:
        """The published policy of the run: its best version, or the best version so far."""
        path = self.run_dir / "policy.oct"
        try:
            os.close(open_file(path))  # no link, which a path that the user names may be
        except FileNotFoundError:
            pass
        except OSError as error:
            raise OctetError(f"{path}: {error.strerror}") from error
        return Policy(path)


def _is_locked(path: pathlib.Path) -> bool:
    try:
        with open(open_file(path), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except PermissionError:
        raise
    except OSError:
        pass
    return False


def has_summary(run_dir: pathlib.Path) -> bool:
    try:
        return (run_dir / "summary.json").stat().st_mtime >= (run_dir / "config.yaml").stat().st_mtime
    except OSError:
        return False


def _version_of(path: pathlib.Path) -> tuple[int, int] | None:
    """A number that changes whenever the file is written; None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


class _Rows:
    """The rows that are added to metrics.csv from now on."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._names = b""  # its first line
        self._last = b""   # the last line that was told, or was there
        self._at = 0       # its end
        self._line = 1     # its number
        self._file = 0     # inode
        self.read()

    def read(self) -> list[dict[str, float]]:
        try:
            with open(open_file(self._path, most=METRICS_MAX), "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._file and not self._begin(file, inode):
                    return []
                file.seek(self._at)
                new = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise OctetError(f"{self._path}: {error}") from error
        new = new[:new.rfind(b"\n") + 1]
        if not new:
            return []
        first = self._line + 1
        self._last, self._at, self._line = new[new[:-1].rfind(b"\n") + 1:], self._at + len(new), self._line + new.count(b"\n")
        try:
            lines = (self._names + new).decode().splitlines()
        except UnicodeDecodeError as error:
            raise OctetError(f"{self._path}: {error}") from error
        names, rows = _columns_of(self._path, lines, first)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _begin(self, file: BinaryIO, inode: int) -> bool:
        """Begins with a new file, or with a file whose older rows were merged: there the last line has not changed."""
        names = file.readline()
        if not names.endswith(b"\n"):
            return False
        rows = file.read()
        found = rows.rfind(self._last) if self._last else -1
        told = found + len(self._last) if found >= 0 else 0
        self._names, self._at, self._line, self._file = names, len(names) + told, 1 + rows[:told].count(b"\n"), inode
        return True


# ---- a run

OnMetrics = Callable[[dict[str, float]], object]


class Job(NotCopied):
    """A run that `octet.start` has started. It continues in the background, and ends with this Python.

    As a context manager it stops the run, if it has not ended, at the end of the block.
    """

    def __init__(self, experiment: str | os.PathLike[str] | None, run_dir: str | os.PathLike[str], set: Mapping[str, Any] | None,
                 arguments: Sequence[str], verbose: bool, on_metrics: OnMetrics | None) -> None:
        if on_metrics is not None and not callable(on_metrics):
            raise OctetError(f"on_metrics: {on_metrics!r} is not a function")
        self.run_dir = pathlib.Path(path_of("run_dir", run_dir))
        self._child = Child([*train_arguments(experiment, self.run_dir, arguments), "--no-ui", *set_arguments(set)])
        self._verbose, self._on_metrics = verbose, on_metrics
        self._rows = None if on_metrics is None else _Rows(self.run_dir / "metrics.csv")
        self._untold: collections.deque[dict[str, float]] = collections.deque()
        self._seen = 0  # lines

    def __repr__(self) -> str:
        return f"<octet.Job {self.run_dir}{'' if self.is_running else ', ended'}>"

    def _begin(self) -> None:
        """Returns when the run has its folder, in which it writes its settings, or has ended."""
        before, seen, has_ended = _version_of(self.run_dir / "config.yaml"), 0, False
        self._child.start()
        while not has_ended and not self._has_folder(before):
            seen, _, has_ended = self._child.look(seen, _LOOK_SECONDS / 4)
        if has_ended and self._child.returncode != 0:
            self.wait()

    def _has_folder(self, before: tuple[int, int] | None) -> bool:
        """Returns whether the folder is this run's: another run that uses the folder writes its settings there, too, and
        then this run is about to be refused."""
        try:
            holder = read_file(self.run_dir / ".lock").decode().strip()
        except (OSError, UnicodeDecodeError):
            return False
        return holder == str(self._child.process_id) and _version_of(self.run_dir / "config.yaml") not in (None, before)

    @property
    def run(self) -> Run:
        """The folder of the run, which can be read while the run continues."""
        return Run(self.run_dir)

    @property
    def is_running(self) -> bool:
        """True while the run continues."""
        return not self._child.has_ended

    def wait(self, timeout: float | None = None) -> Run:
        """Returns the run when it has ended; if it failed, raises the error that `octet.train` would raise. Prints the
        run's lines (verbose) and calls on_metrics. Ctrl-C ends the waiting, not the run.

        timeout: seconds, after which `octet.RunTimeoutError` is raised and the run continues.
        """
        until = deadline_of(timeout)
        has_ended = False
        while not has_ended:
            left = until - time.monotonic()
            if left < 0 and not self._child.has_ended:
                raise RunTimeoutError(f"the run in {self.run_dir} continues after {timeout:g} s", 4)
            self._seen, lines, has_ended = self._child.look(self._seen, max(0.0, min(_LOOK_SECONDS, left)))
            for line in lines if self._verbose else ():
                print(line, flush=True)
            self._tell()
        return self._result()

    def _tell(self) -> None:
        """Calls on_metrics with new rows."""
        if self._rows is None or self._on_metrics is None:
            return
        self._untold.extend(self._rows.read())
        while self._untold:
            answer = self._on_metrics(self._untold.popleft())
            if isinstance(answer, (bool, np.bool_)) and not answer:
                self._rows = None
                if self.is_running:
                    self._child.interrupt()
                return

    def stop(self) -> Run:
        """Ends the run as Ctrl-C ends `octet train`, which saves a checkpoint and its policy, and returns the run. If the
        run has ended, this is `wait`."""
        self._end()
        return self.wait()

    def _end(self) -> None:
        if self.is_running:
            self._child.end()

    def _result(self) -> Run:
        code = self._child.returncode
        is_stopped = self._child.interrupts > 0 and signal_of(code) is not None and (code > 0 or code == -signal.SIGINT)
        if not (code == 0 or is_stopped and os.path.isfile(self.run_dir / "config.yaml")):
            raise OctetError(self._words(code), code)
        return Run(self.run_dir)

    def _words(self, code: int) -> str:
        name, has_begun = signal_of(code), os.path.isfile(self.run_dir / "config.yaml")
        if name is None:
            return self._child.errors() or f"octet train exited with code {code}"
        if code < 0 and has_begun:
            kept = f"octet.train(None, {str(self.run_dir)!r}) continues from its last checkpoint"
            return (f"{self.run_dir}: octet train was killed by {name}; "
                    f"{kept if (self.run_dir / 'checkpoint.oct').is_file() else 'it had saved nothing'}")
        if not has_begun:
            return f"{self.run_dir}: the run was interrupted by {name} before it began"
        return (f"the run was interrupted by {name} and has saved what it had: octet.Run({str(self.run_dir)!r}); "
                f"octet.train(None, {str(self.run_dir)!r}) continues it")

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()


def start(experiment: str | os.PathLike[str] | None, run_dir: str | os.PathLike[str], set: Mapping[str, Any] | None = None, *,
          arguments: Sequence[str] = (), verbose: bool = True, on_metrics: OnMetrics | None = None) -> Job:
    """Starts a run as `octet.train` does, and returns when the run has begun; if the run is refused, raises at once.

        with octet.start("cartpole", run_dir="run") as job:
            print(job.run.metrics()["env_steps"][-1])
            run = job.wait()

    The arguments are those of `octet.train`. `job.wait` prints the run's lines and calls on_metrics while it waits. The run
    ends with this Python, and saves a checkpoint and its policy first.
    """
    job = Job(experiment, run_dir, set, arguments, verbose, on_metrics)
    try:
        job._begin()
    except BaseException:
        job._end()
        raise
    return job


def train(experiment: str | os.PathLike[str] | None, run_dir: str | os.PathLike[str], set: Mapping[str, Any] | None = None, *,
          arguments: Sequence[str] = (), verbose: bool = True, on_metrics: OnMetrics | None = None) -> Run:
    """Trains as `octet train` does, on this machine, and returns when the run has ended.

        run = octet.train("cartpole", run_dir="run", set={"run.seed": 3})
        print(run.summary["return"], run.policy().act(observation))

    experiment: a file, or the name of a preset; None: the run in the folder continues with its own experiment. set: keys of
    the experiment. arguments: further options of `octet train`, such as ["--actors", "4"]. verbose: print the run's lines,
    about one per second, and its result. on_metrics: called with each new row of metrics.csv, a number for each column; if
    it returns False, the run is stopped, and train returns the run.

    On Ctrl-C the run saves a checkpoint and its policy and ends before KeyboardInterrupt continues; any other exception and
    the end of this Python have the same effect. If the run is refused, an `octet.OctetError` has the message of the command
    line and its exit code as `code`.
    """
    job = Job(experiment, run_dir, set, arguments, verbose, on_metrics)
    try:
        job._begin()
        return job.wait()
    except BaseException:
        job._end()
        raise


# ---- several

def _over_of(key: str, values: Any, env_id: str | None) -> list[str]:
    """Formats --over: a list, or a range as on the command line. Options of the environment with this ID may be
    dictionaries."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, str):
        return ["--over", f"{key}={values}"]
    if not isinstance(values, (list, tuple)) or not values:
        raise OctetError(f"over: {key}: {values!r} is neither a list of values nor a range such as '1e-4..1e-2'")
    if key == "env.options":
        values = [options_of_env(value, env_id) if isinstance(value, Mapping) else value for value in values]
    return ["--over", f"{key}={','.join(yaml_of(value, isinstance(value, str)) for value in values)}"]


def sweep(experiment: str | os.PathLike[str], over: Mapping[str, Any], sweep_dir: str | os.PathLike[str],
          set: Mapping[str, Any] | None = None, *, seeds: int = 1, jobs: int = 1, random: int | None = None,
          arguments: Sequence[str] = (), verbose: bool = True) -> list[Run]:
    """Trains as `octet sweep` does: each combination of the varied keys with several seeds. Returns the runs when all have
    ended.

        runs = octet.sweep("cartpole", {"algo.learning_rate": [1e-3, 1e-2]}, sweep_dir="sweep", seeds=3, jobs=2)
        for run in runs:
            print(run.config["algo"]["learning_rate"], run.config["run"]["seed"], run.summary["return"]["mean"])

    over: for each key a list of values, or a range as text, such as "1e-4..1e-2". seeds: runs of each combination, starting
    at run.seed. jobs: runs at a time. random: number of combinations to draw; without it, every combination is tried (with
    a range, 10 are drawn). set, arguments, verbose, errors, Ctrl-C and the end of this Python: as in `octet.train`. If runs
    fail, the folder still has the other runs.
    """
    if not isinstance(over, Mapping):
        raise OctetError(f"over: {over!r} is not a dictionary of keys, such as {{'algo.learning_rate': [1e-3, 1e-2]}}")
    folder = pathlib.Path(path_of("sweep_dir", sweep_dir))
    settings = set_arguments(set)
    env_id = (set or {}).get("env.id")
    drawn = [] if random is None else ["--random", str(random)]
    child = Child(["sweep", file_of("experiment", experiment), "--sweep-dir", str(folder), "--seeds", str(seeds),
                   "--jobs", str(jobs), *drawn, *(part for key, values in over.items()
                             for part in _over_of(key, values, None if env_id is None else str(env_id))),
                   *options_of(arguments, "--sweep-dir"), *settings])
    seen, has_ended = 0, False
    try:
        child.start()
        while not has_ended:
            seen, lines, has_ended = child.look(seen, _LOOK_SECONDS)
            for line in lines if verbose else ():
                print(line, flush=True)
    except BaseException:
        if not child.has_ended:
            child.end()
        raise
    if child.returncode != 0:
        name = signal_of(child.returncode)
        raise OctetError(child.errors() if name is None else f"the sweep was interrupted by {name}; octet sweep --resume "
                         f"--sweep-dir {folder} continues it", child.returncode)
    if not os.path.isfile(folder / "sweep.json"):
        return []  # --dry-run
    plan = json.loads(_read(folder / "sweep.json"))
    return [Run(folder / run["folder"]) for trial in plan["trials"] for run in trial["runs"]
            if os.path.isfile(folder / run["folder"] / "config.yaml")]


def compare(runs: Iterable[Run | str | os.PathLike[str]], *, threshold: float | None = None) -> dict[str, Any]:
    """Returns what `octet compare --json` prints about runs, or about folders of runs: runs that differ only in the seed
    form a group.

    threshold: a return, for which the result has the steps, updates and seconds that each run needed; default:
    run.stop_at_return of the configuration.
    """
    if isinstance(runs, (str, os.PathLike, Run)):
        runs = [runs]
    if not isinstance(runs, Iterable):
        raise OctetError(f"runs: {runs!r} is not a list of runs")
    folders = [str(one.run_dir) if isinstance(one, Run) else path_of("runs", one) for one in runs]
    said = finished("compare", "--json", *([] if threshold is None else ["--threshold", str(threshold)]), "--", *folders)
    if said.returncode != 0:
        raise OctetError(errors_of(said.stderr.splitlines()), said.returncode)
    content: dict[str, Any] = json.loads(said.stdout)
    return content
