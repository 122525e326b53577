"""`octet train` and `octet sweep` as functions, and what a run has left in its folder."""

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
from ._lib import NotCopied, OctetError, deadline_of
from ._policy import Policy

_LOOK_SECONDS = 0.1  # between two looks at what a run has written


class RunTimeoutError(OctetError, TimeoutError):
    """The run goes on: it has not ended in the time that `wait` was given."""


# ---- the folder

def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OctetError(f"{path}: {error}") from error


def _value_of(text: str) -> Any:
    """A value as octet train writes it: a text in quotes, a list of numbers, a number, true, false or another word."""
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
    raise ValueError(f"{text} is no value")


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
    """The names in the first of the lines of metrics.csv, and the numbers of the others, the first of which is of that number
    in the file. A line of a run that was killed may have fewer of them: it is left out."""
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
    """The folder of a run, which may still go on: its settings, its summary, its curves and its policy.

    run_dir: a folder of `octet train`. Nothing is read before it is asked for, and it is read again each time. Two are equal
    that are of one folder.
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
            raise OctetError(f"{self.run_dir}: no run: it has no config.yaml", 6)

    def __repr__(self) -> str:
        return f"Run({str(self.run_dir)!r})"

    def __eq__(self, other: object) -> bool:
        return os.path.realpath(self.run_dir) == os.path.realpath(other.run_dir) if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash(os.path.realpath(self.run_dir))

    @property
    def config(self) -> dict[str, dict[str, Any]]:
        """Every key of the experiment with the value that the run has: run.config["algo"]["learning_rate"]. A word, such as
        the none of run.stop_at_return, is a text."""
        return _config_of(self.run_dir / "config.yaml")

    @property
    def is_live(self) -> bool:
        """Whether it goes on: an octet train or octet-learner of this host has the folder. Of another user's run, whose locks
        only that user may look at: whether it has no summary.json that is as new as its config.yaml."""
        try:
            return any(_is_locked(self.run_dir / name) for name in (".lock", "learner.lock"))
        except PermissionError:
            return not has_summary(self.run_dir)

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: how the run ended, what its policy reached, and what it took (docs/reference.md)."""
        path = self.run_dir / "summary.json"
        if not os.path.isfile(path):
            raise OctetError(f"{path}: not there: the run goes on, or was killed", 6)
        try:
            content = json.loads(_read(path))
        except ValueError as error:
            raise OctetError(f"{path}: {error}") from error
        if not isinstance(content, dict):
            raise OctetError(f"{path}: no JSON object")
        return content

    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv: a column for each name, all of one length; nan where there was nothing to tell."""
        path = self.run_dir / "metrics.csv"
        if not os.path.isfile(path):
            raise OctetError(f"{path}: not there yet", 6)
        lines = _read(path).rpartition("\n")[0].splitlines()  # behind the last end of line one is written
        if not lines:
            raise OctetError(f"{path}: empty: the run has not written a line yet", 6)
        names, rows = _columns_of(path, lines)
        return {name: np.array([row[column] for row in rows], np.float64) for column, name in enumerate(names)}

    def policy(self) -> Policy:
        """The policy that the run ships: its best version; of one that goes on, the best so far."""
        return Policy(self.run_dir / "policy.oct")


def _is_locked(path: pathlib.Path) -> bool:
    try:
        with open(path, "rb") as file:
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
    """Another one for each time that a file was written; None: it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


class _Rows:
    """The rows that metrics.csv gets from now on."""

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
            with open(self._path, "rb") as file:
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
        """Of a file that is new, or written anew with its older rows joined: there the last line is as it was."""
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
    """A run that `octet.start` has started. It goes on in the background, and ends with this Python.

    As a context manager it stops the run, where that still goes on, when the block is left.
    """

    def __init__(self, experiment: str | os.PathLike[str] | None, run_dir: str | os.PathLike[str], set: Mapping[str, Any] | None,
                 arguments: Sequence[str], verbose: bool, on_metrics: OnMetrics | None) -> None:
        if on_metrics is not None and not callable(on_metrics):
            raise OctetError(f"on_metrics: {on_metrics!r} is no function")
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
        """Another run, which goes on in the folder, writes its settings there as well: this one is about to be refused."""
        try:
            holder = (self.run_dir / ".lock").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return False
        return holder == str(self._child.process_id) and _version_of(self.run_dir / "config.yaml") not in (None, before)

    @property
    def run(self) -> Run:
        """Its folder, which can be read while it goes on."""
        return Run(self.run_dir)

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return not self._child.has_ended

    def wait(self, timeout: float | None = None) -> Run:
        """Returns the run when it has ended; one that failed raises as `octet.train` does. Prints what the run says
        (verbose) and calls on_metrics. Ctrl-C ends the waiting, and not the run.

        timeout: seconds, after which `octet.RunTimeoutError` is raised and the run goes on."""
        until = deadline_of(timeout)
        has_ended = False
        while not has_ended:
            left = until - time.monotonic()
            if left < 0 and not self._child.has_ended:
                raise RunTimeoutError(f"the run in {self.run_dir} goes on after {timeout:g} s", 4)
            self._seen, lines, has_ended = self._child.look(self._seen, max(0.0, min(_LOOK_SECONDS, left)))
            for line in lines if self._verbose else ():
                print(line, flush=True)
            self._tell()
        return self._result()

    def _tell(self) -> None:
        """Of new rows."""
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
        """Ends the run as Ctrl-C ends `octet train`, which saves a checkpoint and its policy, and returns it. Of one that
        has ended it is `wait`."""
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
            return self._child.errors() or f"octet train ended with exit code {code}"
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
    """Begins what `octet.train` does, and returns when the run has begun; what it refuses raises at once.

    with octet.start("cartpole", run_dir="run") as job:
        print(job.run.metrics()["env_steps"][-1])
        run = job.wait()

    The arguments are those of `octet.train`. The run's lines are printed, and on_metrics is called, while `job.wait` waits.
    The run ends with this Python, and first saves a checkpoint and its policy.
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

    experiment: a file, or a preset's name; None: the run in the folder goes on with its own experiment. set: keys of the
    experiment. arguments: more options of `octet train`, such as ["--actors", "4"]. verbose: print its lines, about one a second, and what it reached. on_metrics: is called with each new
    row of metrics.csv, a number for each column; where it returns False the run is stopped, and train returns it.

    Ctrl-C ends the run, which saves a checkpoint and its policy, before KeyboardInterrupt goes on; so does any other
    exception, and the end of this Python. What the run refuses is an `octet.OctetError`, in the words of the command line,
    with its exit code as `code`.
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
    """--over: a list, or a range as the command line has it. Options of the environment, whose id is this one, may be
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
    """Trains as `octet sweep` does: each choice of the varied keys with several seeds. Returns the runs when all have ended.

    runs = octet.sweep("cartpole", {"algo.learning_rate": [1e-3, 1e-2]}, sweep_dir="sweep", seeds=3, jobs=2)
    for run in runs:
        print(run.config["algo"]["learning_rate"], run.config["run"]["seed"], run.summary["return"]["mean"])

    over: for each key a list of values, or a range as text, such as "1e-4..1e-2". seeds: runs of each choice, from run.seed
    on. jobs: runs at a time. random: so many choices are drawn; without it every combination is taken (10 are drawn where
    there is a range). set, arguments, verbose, errors, Ctrl-C and the end of this Python are as in `octet.train`. Where runs
    fail, the others are in the folder all the same.
    """
    if not isinstance(over, Mapping):
        raise OctetError(f"over: {over!r} is no dictionary of keys, such as {{'algo.learning_rate': [1e-3, 1e-2]}}")
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
    """What `octet compare --json` says of runs, or of folders of runs: they are grouped where they differ in the seed alone.

    threshold: a return; the steps, updates and seconds to it are told. Without it, it is run.stop_at_return of the configuration.
    """
    if isinstance(runs, (str, os.PathLike, Run)):
        runs = [runs]
    if not isinstance(runs, Iterable):
        raise OctetError(f"runs: {runs!r} is no list of runs")
    folders = [str(one.run_dir) if isinstance(one, Run) else path_of("runs", one) for one in runs]
    said = finished("compare", "--json", *([] if threshold is None else ["--threshold", str(threshold)]), "--", *folders)
    if said.returncode != 0:
        raise OctetError(errors_of(said.stderr.splitlines()), said.returncode)
    content: dict[str, Any] = json.loads(said.stdout)
    return content
