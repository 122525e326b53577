"""Replay: a service that stores steps from several processes and samples from them."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import fcntl
import json
import math
import numbers
import operator
import os
import pathlib
import queue
import secrets
import shutil
import subprocess
import tempfile
import threading
import time
import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _replay_lib
from ._arrays import array_of, floats_of
from ._command import path_of
from ._files import open_file, read_file
from ._lib import NotCopied, OctetError, Turns, byref, create_string_buffer, deadline_of, path_bytes, real, unclosed, whole
from ._replay_lib import SAMPLERS, lib, text

_FORMAT = 1
_SLICE_MS = 100      # between two looks whether Python has something to do
_ANSWER_MS = 1000   # the same of a call whose answer is lost when it comes later
_CALL_MS = 5000
_WORDS_SECONDS = 0.5  # for why a wait was in vain
_START_SECONDS = 30.0
_END_SECONDS = 10.0  # then it is killed
_PATH_MAX = 90       # of a socket, with what is appended: the kernel has 107 bytes
_SYNCS = ("none", "interval", "always")
_RESTARTS = 3        # in a row, of daemons that got no table or ended within a second
_FAILURE_FILE_BYTES = 4096  # of common/oct_failure.h
_DEFAULTS: dict[str, Any] = {
    "capacity": 1_000_000, "streams": 64, "sampler": "uniform", "priority_exponent": 0.6, "n_step": 1, "discount": 0.99,
    "sequence_steps": 0, "sequence_stride": 0, "reward_clip": 0.0, "min_size": 1, "samples_per_insert": 0.0, "tolerance": 0.1}
_BOUNDS: dict[str, tuple[type, float, float]] = {
    "capacity": (int, 1, 1e9), "streams": (int, 1, 65536), "priority_exponent": (float, 0, 10),
    "n_step": (int, 1, 16384), "discount": (float, 0, 1), "sequence_steps": (int, 0, 16384),
    "sequence_stride": (int, 0, 2**20), "reward_clip": (float, 0, 1e30), "min_size": (int, 1, 1e9),
    "samples_per_insert": (float, 0, 1e9), "tolerance": (float, 0, 1e9)}


class ReplayTimeoutError(OctetError, TimeoutError):
    """Nothing arrived in time; the message says what replay waits for."""


class Batch(NamedTuple):
    """Windows of n steps, one per row. The arrays belong to the caller and do not change."""

    observations: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[np.float32]
    """The sum of discount^i reward_i over the window."""
    discounts: NDArray[np.float32]
    """discount^k of a window of k steps, 0 if its episode terminated: the weight of the value of next_observations."""
    next_observations: NDArray[Any]
    weights: NDArray[np.float32]
    """Importance weights, 1 unless importance_exponent was given."""
    keys: NDArray[np.uint64]
    incarnation: int
    """The process of replay that the keys belong to."""


class Sequences(NamedTuple):
    """Sequences of T rows of a stream, one per row, across the ends of episodes. The arrays belong to the caller and do not
    change."""

    observations: NDArray[Any]
    """(batch, T + 1, …)"""
    actions: NDArray[Any]
    """(batch, T, …), as the following fields"""
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    first: NDArray[np.bool_]
    """True: the first row of an episode, or of its continuation after a cut."""
    is_step: NDArray[np.bool_]
    """False: a row without an action, which holds the last observation of an episode, or is padding."""
    weights: NDArray[np.float32]
    keys: NDArray[np.uint64]
    incarnation: int


class _Field:
    """Shape and type of one observation or action."""

    def __init__(self, name: str, given: Any) -> None:
        try:
            shape, dtype = (given.shape, given.dtype) if hasattr(given, "dtype") else given
            self.shape: tuple[int, ...] = tuple(operator.index(n) for n in shape)
            if dtype is None:  # to NumPy that is float64
                raise TypeError("no dtype")
            self.dtype = np.dtype(dtype)
        except (TypeError, ValueError) as error:
            raise OctetError(f"{name}: expected a shape and a dtype, such as ((4,), numpy.float32), or a space of "
                             f"Gymnasium, not {given!r}") from error
        # Equal numbers of more bytes may differ in those that are of no number.
        if self.dtype.kind not in "biuf" or not self.dtype.isnative or self.dtype.itemsize > 8:
            raise OctetError(f"{name}: expected numbers of up to 64 bits in the machine's byte order, not {self.dtype}")
        self.name = name
        self.bytes = self.dtype.itemsize * math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"

    @property
    def is_float32(self) -> bool:
        return bool(self.dtype == np.float32)

    def rows(self, given: Any, streams: tuple[int, ...], taken: Any = ...) -> NDArray[Any]:
        """Converts one row for each stream, as replay stores rows. Only numbers of the selected streams must be valid."""
        rows = array_of(self.name, given)
        if rows.shape != streams + self.shape:
            raise OctetError(f"{self.name} of shape {rows.shape}, expected {streams + self.shape}")
        if rows.dtype != self.dtype:
            if not np.can_cast(rows.dtype, self.dtype, "same_kind"):
                raise OctetError(f"{self.name} of type {rows.dtype}, expected {self.dtype}")
            with np.errstate(over="ignore"):  # what is infinite then is refused
                cast = rows.astype(self.dtype)
            if self.dtype.kind in "iu" and not np.array_equal(cast[taken], rows[taken]):
                raise OctetError(f"{self.name}: a number of {rows.dtype} does not fit {self.dtype}")
            rows = cast
        # float32 is checked where it is copied.
        if rows.dtype.kind == "f" and not self.is_float32 and not np.isfinite(rows[taken]).all():
            raise OctetError(f"{self.name}: a number is not finite")
        return np.asarray(rows, order="C")


def _number(name: str, given: Any) -> float:
    """Returns a setting of a table as Python's own number: NumPy's numbers cannot be written as JSON."""
    kind, low, high = _BOUNDS[name]
    number: float | None = None
    with contextlib.suppress(TypeError, OverflowError):
        number = operator.index(given) if kind is int else float(given) if isinstance(given, numbers.Real) else None
    if number is None or not low <= number <= high:
        what = "a whole number from " if kind is int else ""
        raise OctetError(f"{name} {given!r}; allowed is {what}{low:g} to {high:g}")
    return number


def _flags(name: str, given: Any, streams: tuple[int, ...]) -> NDArray[np.uint8]:
    flags = array_of(name, given)
    if flags.shape != streams:
        raise OctetError(f"{name} of shape {flags.shape}, expected {streams}")
    marks = np.asarray(flags, np.bool_, order="C")
    if flags.dtype != np.bool_ and not np.array_equal(marks, flags):
        raise OctetError(f"{name}: allowed are True and False, or 1 and 0")
    return marks.view(np.uint8)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class _Memory:
    """A block of memory from liboctet-replay. The arrays over it keep it alive through their buffer."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self) -> None:
        lib().octet_replay_batch_free(self.address)


class _Service:
    """The file in a folder that describes its service: its settings and its key. The key is as secret as the folder."""

    def __init__(self, folder: pathlib.Path, said: dict[str, Any]) -> None:
        self.folder = folder
        self.said = {**said, **{name: _number(name, said[name]) for name in _BOUNDS}}
        self.observation = _Field("observation", said["observation"])
        self.action = _Field("action", said["action"])
        self.run_id = int(said["run_id"], 16)
        self.url = path_bytes("url", said["url"])
        self.key = bytes.fromhex(said["key"])
        if len(self.key) != _replay_lib.KEY_BYTES:
            raise OctetError(f"key: expected {2 * _replay_lib.KEY_BYTES} digits")
        self.seed = whole("seed", said["seed"], 0, 2**64 - 1)

    @staticmethod
    def read(folder: pathlib.Path) -> _Service | None:
        path = folder / "service.json"
        try:
            said = json.loads(read_file(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise OctetError(f"{path}: {error}") from error
        if not isinstance(said, dict) or said.get("format") != _FORMAT:
            raise OctetError(f"{path}: not from this version of Octet")
        try:
            return _Service(folder, {**_DEFAULTS, **said})
        except KeyError as error:
            raise OctetError(f"{path}: it has no {error}") from error
        except (OctetError, TypeError, ValueError) as error:
            raise OctetError(f"{path}: {error}") from error

    def write(self) -> None:
        """Writes the file, readable by this user only. The table is read with it, so it is on the disk when this returns."""
        path, content = self.folder / "service.json", json.dumps(self.said, indent=1, sort_keys=True).encode()
        if not path.exists() or read_file(path) != content:
            temporary = self.folder / "service.json.new"
            with open(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, path)
        _sync_folder(self.folder)

    def table(self) -> _replay_lib.Table:
        said = self.said
        sampler = SAMPLERS.get(said["sampler"]) if isinstance(said["sampler"], str) else None
        if sampler is None:
            raise OctetError(f"sampler {said['sampler']!r}; allowed are {', '.join(SAMPLERS)}")
        if self.action.bytes % 4 != 0 or not 4 <= self.action.bytes <= 1024:
            raise OctetError(f"action {self.action}: allowed are multiples of 4 bytes up to 1024, not "
                             f"{self.action.bytes}")
        if not 1 <= self.observation.bytes <= 2**20:
            raise OctetError(f"observation {self.observation}: allowed are 1 to {2**20} bytes, not "
                             f"{self.observation.bytes}")
        table = _replay_lib.Table(
            size=ctypes.sizeof(_replay_lib.Table), streams=said["streams"], capacity=said["capacity"],
            observation_bytes=self.observation.bytes, observation_is_float=self.observation.is_float32,
            action_bytes=self.action.bytes, action_is_float=self.action.is_float32, sampler=sampler,
            window=_replay_lib.SEQUENCE if said["sequence_steps"] else _replay_lib.N_STEP,
            steps=said["sequence_steps"] or said["n_step"], stride=said["sequence_stride"], priority_exponent=said["priority_exponent"],
            discount=said["discount"], reward_clip=said["reward_clip"], min_size=said["min_size"],
            samples_per_insert=said["samples_per_insert"], tolerance=said["tolerance"], seed=self.seed)
        table.key[:] = self.key
        return table

    def handle(self) -> ctypes.c_void_p:
        handle, error = ctypes.c_void_p(), create_string_buffer(_replay_lib.ERROR_BYTES)
        _check(lib().octet_replay_open(byref(handle), self.url, self.run_id, error, len(error)), error.value)
        return handle


def _sync_folder(folder: pathlib.Path) -> None:
    """Syncs the names in a folder to disk where that is possible: some file systems sync no folders (EINVAL), and a folder
    of another user may be writable but not readable."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def _check(result: int, words: bytes | None) -> None:
    if result != 0:
        raise OctetError(text(words), result)


class _Daemon:
    """octet-replay as a child process: it is restarted when it dies, and ends with this process."""

    def __init__(self, service: _Service, sync: str, sync_interval: float, owner: _Owner) -> None:
        folder = service.folder
        self._owner = owner
        self.service = service
        self.command = [_replay_lib.program(), "--listen", service.said["url"], "--path", str(folder / "replay.oct"),
                        "--sync", sync, "--sync-interval", repr(float(sync_interval)),
                        "--follow-parent", str(os.getpid())]
        self.log = folder / "replay.log"
        # octet-replay records the last error in it: common/oct_failure.h.
        self._failure = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self.failure: OctetError | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self._ends = False
        self._end: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._handle = service.handle()
        # The kernel ends the daemon when the thread that started it ends: this one stays.
        self._thread = threading.Thread(target=self._run, name="octet-replay", daemon=True)
        self._thread.start()

    def _start(self) -> None:
        with self._lock, open(open_file(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as log:
            if not self._ends:
                failure = self._failure.fileno()
                os.pwrite(failure, bytes(_FAILURE_FILE_BYTES), 0)
                env = {**os.environ, "OCTET_FAILURE_FD": str(failure),
                       "OCT_FILE_CONFINED": f"{os.environ.get('OCT_FILE_CONFINED', '')}{self.service.folder}\n"}
                self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                                                pass_fds=(failure,))

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._end.get()
            lib().octet_replay_close(self._handle)
            self._failure.close()
            sockets = _socket_folder(self.service.said["url"])
            if sockets != self.service.folder:
                shutil.rmtree(sockets, ignore_errors=True)
            self._owner.end()

    def _serve(self) -> None:
        in_a_row = 0
        try:
            while not self._ends:
                began = time.monotonic()
                self._ready.clear()
                self._start()
                if self.process is None:
                    break
                is_configured = self._configure(self.process)
                if is_configured:
                    self._ready.set()
                self.process.wait()
                is_short = not is_configured or time.monotonic() - began < 1
                in_a_row = in_a_row + 1 if is_short else 0
                if in_a_row > _RESTARTS:
                    raise OctetError(f"octet-replay keeps ending: {self._last_words()}")
        except OctetError as error:
            self.failure = error
        except OSError as error:
            self.failure = OctetError(f"octet-replay cannot be started: {error}", _replay_lib.NO_CONNECTION)
        finally:
            self._ready.set()

    def _configure(self, process: subprocess.Popen[bytes]) -> bool:
        """Returns whether octet-replay has its table; False if it was killed before, or this process is ending."""
        table, until = self.service.table(), time.monotonic() + _START_SECONDS
        while not self._ends:
            result = lib().octet_replay_configure(self._handle, byref(table), 500)
            if result == 0:
                return True
            words = text(lib().octet_replay_error(self._handle))
            if result not in (_replay_lib.TIMED_OUT, _replay_lib.NO_CONNECTION):
                raise OctetError(words, result)
            if process.poll() is not None and process.returncode < 0:
                return False
            if process.poll() is not None:
                raise OctetError(self._last_words(), _replay_lib.NO_CONNECTION)
            if time.monotonic() > until:
                raise OctetError(words, result)
        return False

    def _last_words(self) -> str:
        """Returns the last error that octet-replay recorded since its start, else its exit code."""
        record, end, _ = os.pread(self._failure.fileno(), _FAILURE_FILE_BYTES, 0).partition(b"\n")
        code = self.process.returncode if self.process else None
        words = text(record).partition(" ")[2].removeprefix("- ") if end else f"octet-replay exited with {code}"
        return f"{self.service.folder}: {words}"

    def check(self) -> None:
        """Raises the error for which it was given up: a new exception each time, because a traceback grows with every
        raise."""
        if self.failure is not None:
            raise OctetError(str(self.failure), self.failure.code)

    def wait(self) -> None:
        """Waits until the octet-replay that runs, or starts again, has its table."""
        self._ready.wait()
        self.check()

    def end(self) -> None:
        """Ends octet-replay and waits for the thread, which then releases the folder. A Ctrl-C ends only the waiting; the
        call can be repeated."""
        self._ends = True
        self._end.put(None)
        with self._lock:
            process = self.process
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join()


class _Owner:
    """The owner of a folder: a lock of this process, which a fork does not inherit."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = os.path.realpath(folder)
        if self._folder in _owned:
            raise OctetError(f"{folder} is in use by this process")
        self._file = open(open_file(folder / "lock", os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = self._file.read(32).strip()
            self._file.close()
            raise OctetError(f"{folder} is in use by process {holder}: octet.Replay.connect joins it") from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()
        _owned.add(self._folder)

    def end(self) -> None:
        if not self._file.closed:
            self._file.close()
            _owned.discard(self._folder)


_owned: set[str] = set()


def _forget(folder: pathlib.Path) -> None:
    """Removes a folder that was made for nothing; files that octet-replay has written stay."""
    (folder / "lock").unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _wait_for_table(path: pathlib.Path) -> None:
    """Waits for an octet-replay that is still ending after its process was killed."""
    until = time.monotonic() + _START_SECONDS
    while path.exists():
        with open(open_file(path, most=2**63), "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > until:
                    raise OctetError(f"{path} is in use by another octet-replay") from None
        time.sleep(0.02)


def _socket_url(folder: pathlib.Path) -> str:
    """Returns the address of a socket in the folder or, if that path is too long, in a private folder of the system."""
    path = folder / "s"
    if len(os.fsencode(path)) > _PATH_MAX:
        path = pathlib.Path(tempfile.mkdtemp(prefix="octet-replay-")) / "s"
    return f"ipc://{path}"


def _socket_folder(url: str) -> pathlib.Path:
    return pathlib.Path(url.removeprefix("ipc://")).parent


def _settle(folder: pathlib.Path, given: dict[str, Any], observation: Any, action: Any) -> _Service:
    """Merges the folder's settings with the given arguments; what neither has gets its default."""
    before = _Service.read(folder) if (folder / "replay.oct").exists() else None
    said: dict[str, Any]
    if before is None:
        if observation is None or action is None:
            raise OctetError(f"{folder} has no replay yet: give observation=(shape, dtype) and action=(shape, dtype)")
        fields = {"observation": _Field("observation", observation), "action": _Field("action", action)}
        said = {"format": _FORMAT, "run_id": secrets.token_hex(8), "key": secrets.token_hex(_replay_lib.KEY_BYTES),
                "seed": secrets.randbits(63), "url": _socket_url(folder), **_DEFAULTS,
                **{name: [list(field.shape), field.dtype.name] for name, field in fields.items()}}
    else:
        said = dict(before.said)
        for name, now in [("observation", observation), ("action", action)]:
            field = _Field(name, now) if now is not None else None
            known = before.observation if name == "observation" else before.action
            if field is not None and str(field) != str(known):
                raise OctetError(f"{folder} has {name}s of {known}, not {field}")
        said["url"] = _socket_url(folder)
    said.update({name: value for name, value in given.items() if value is not None})
    return _Service(folder, said)


_open: weakref.WeakSet[Replay] = weakref.WeakSet()


class Replay(NotCopied):
    """A table of steps in its own process, octet-replay, which stores it in a folder.

        with octet.Replay("folder", observation=((4,), "float32"), action=((), "int32")) as replay:
            writer = replay.writer(streams=8)
            writer.append(observations, actions, rewards, terminated, truncated, next_observations)
            writer.flush()
            batch = replay.sample(256)

    Other processes of the same user join with `octet.Replay.connect("folder")`. octet-replay is a child of the process that
    made the Replay, which restarts it when it dies, and ends it with itself. A folder that was used before continues with
    its table, also after a kill.

    observation, action: (shape, dtype) of one observation or action, or a space of Gymnasium. Arguments that are left out
    (None) come from the folder or, for a new folder, from these defaults: capacity=1_000_000 rows, streams=64 for all
    writers together, sampler="uniform" ("prioritized" with priority_exponent=0.6, "fifo"), n_step=1, discount=0.99,
    sequence_steps=0 (windows of n steps; otherwise sequences of that many rows, with sequence_stride), reward_clip=0
    (none), min_size=1 windows before the first sample, samples_per_insert=0 (no limit), tolerance=0.1.
    docs/internals/replay.md explains them.

    prefetch: batches that are kept ready for the next calls of `sample`; 0 samples during the call. Any thread may call;
    calls take turns.
    """

    _daemon: _Daemon | None

    def __init__(self, folder: str | os.PathLike[str], *, observation: Any = None, action: Any = None,
                 capacity: int | None = None, streams: int | None = None, sampler: str | None = None,
                 priority_exponent: float | None = None, n_step: int | None = None, discount: float | None = None,
                 sequence_steps: int | None = None, sequence_stride: int | None = None, reward_clip: float | None = None,
                 min_size: int | None = None, samples_per_insert: float | None = None, tolerance: float | None = None,
                 prefetch: int = 0, sync: str = "interval", sync_interval: float = 1.0) -> None:
        if not isinstance(sync_interval, numbers.Real):
            raise OctetError(f"sync_interval: {sync_interval!r}; expected seconds")
        if sync not in _SYNCS:
            raise OctetError(f"sync {sync!r}; allowed are {', '.join(_SYNCS)}")
        table = {"capacity": capacity, "streams": streams, "sampler": sampler, "priority_exponent": priority_exponent,
                 "n_step": n_step, "discount": discount, "sequence_steps": sequence_steps, "sequence_stride": sequence_stride,
                 "reward_clip": reward_clip, "min_size": min_size, "samples_per_insert": samples_per_insert,
                 "tolerance": tolerance}
        self._begin(prefetch)
        path = pathlib.Path(path_of("folder", folder)).absolute()
        try:
            new = [one for one in (path, *path.parents) if not one.exists()]
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for one in new:
                _sync_folder(one.parent)
            owner = _Owner(path)
            try:
                service = _settle(path, table, observation, action)
                service.table()
                _wait_for_table(path / "replay.oct")
                if not (path / "replay.oct").exists():
                    service.write()
                self._daemon = _Daemon(service, sync, sync_interval, owner)
                self._daemon.wait()
                service.write()
                self._join(service)
            except BaseException:
                if self._daemon is not None:
                    self._daemon.end()
                owner.end()
                if new:
                    _forget(path)
                raise
        except OSError as error:
            raise OctetError(f"{path}: {error}") from error

    @classmethod
    def connect(cls, folder: str | os.PathLike[str], *, prefetch: int = 0,
                timeout: float | None = 10.0) -> Replay:
        """Joins the service of a folder that another process has opened. Raises OctetError if it does not answer within the
        timeout, in seconds; None waits forever."""
        self = cls.__new__(cls)
        self._begin(prefetch)
        path = pathlib.Path(path_of("folder", folder)).absolute()
        service = _Service.read(path)
        if service is None:
            raise OctetError(f"{path} has no replay: octet.Replay(folder, observation=…, action=…) makes one", 6)
        self._join(service)
        try:
            self._stats(timeout)
        except OctetError as error:
            self.close()
            raise OctetError(f"no replay answers at {path}: does the process that opened it still run? ({error})",
                             error.code) from None
        except BaseException:
            self.close()
            raise
        return self

    def _begin(self, prefetch: int) -> None:
        self._pid = os.getpid()
        self._turn = Turns()
        self._handle: ctypes.c_void_p | None = None
        self._closes = False
        self._daemon = None
        self._writers: weakref.WeakSet[Writer] = weakref.WeakSet()
        self.prefetch = whole("prefetch", prefetch, 0, _replay_lib.PREFETCH_MAX)
        _open.add(self)

    def _join(self, service: _Service) -> None:
        self._service = service
        self.folder = service.folder
        self._handle = service.handle()

    def __repr__(self) -> str:
        return f"<octet.Replay {self.folder}{'' if self._handle else ', closed'}>"

    @property
    def observation(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype of an observation."""
        return self._service.observation.shape, self._service.observation.dtype

    @property
    def action(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype of an action."""
        return self._service.action.shape, self._service.action.dtype

    @property
    def pid(self) -> int | None:
        """The process ID of octet-replay, in the process that started it."""
        process = self._daemon.process if self._daemon else None
        return process.pid if process else None

    def _live(self) -> ctypes.c_void_p:
        if self._handle is None or self._closes:
            raise OctetError("the replay is closed")
        if self._daemon is not None:
            self._daemon.check()
        return self._handle

    def _call(self, function: Any, *arguments: Any) -> None:
        with self._turn():
            handle = self._live()
            result = function(handle, *arguments)
            if result != 0:
                raise OctetError(text(lib().octet_replay_error(handle)), result)

    def writer(self, streams: int | None = None) -> Writer:
        """Returns a writer for steps of `streams` environments together; None: of one environment, without the first axis."""
        return Writer(self, streams)

    def sample(self, batch_size: int, *, timeout: float | None = 60.0, prefetch: int | None = None,
               importance_exponent: float = 0.0) -> Batch:
        """Returns `batch_size` windows, chosen by the sampler. Raises TimeoutError (octet.ReplayTimeoutError) if replay
        cannot provide them within the timeout, in seconds; None waits forever."""
        if self._service.said["sequence_steps"]:
            raise OctetError(f"{self.folder} gives sequences: call sample_sequences")
        return Batch(*self._sample(batch_size, timeout, prefetch, importance_exponent))

    def sample_sequences(self, batch_size: int, *, timeout: float | None = 60.0, prefetch: int | None = None,
                         importance_exponent: float = 0.0) -> Sequences:
        """Like sample, for a replay that was made with sequence_steps."""
        if not self._service.said["sequence_steps"]:
            raise OctetError(f"{self.folder} gives windows of n steps: call sample, or give sequence_steps")
        return Sequences(*self._sample(batch_size, timeout, prefetch, importance_exponent))

    def _sample(self, batch_size: int, timeout: float | None, prefetch: int | None, exponent: float) -> tuple[Any, ...]:
        count = whole("batch_size", batch_size, 1, 2**32 - 1)
        exponent = real("importance_exponent", exponent)
        ahead = whole("prefetch", self.prefetch if prefetch is None else prefetch, 0, _replay_lib.PREFETCH_MAX)
        found = _replay_lib.Batch(ctypes.sizeof(_replay_lib.Batch))
        until = _until(timeout)
        sample, reference = lib().octet_replay_sample, byref(found)
        while True:
            with self._turn():
                handle = self._live()
                result = sample(handle, count, ahead, exponent, _slice_ms(until), reference)
                if result == 0:
                    return self._columns(found)
                if result != _replay_lib.TIMED_OUT:
                    raise OctetError(text(lib().octet_replay_error(handle)), result)
            if until is not None and time.monotonic() >= until:
                raise ReplayTimeoutError(f"no batch of {count} in {timeout:g} s: {self._shortage()}", result)

    def _columns(self, found: _replay_lib.Batch) -> tuple[Any, ...]:
        """Returns the columns of a Batch, or of Sequences."""
        address, count, steps, service = found.memory, found.count, found.steps, self._service
        block = (ctypes.c_uint8 * found.memory_bytes).from_address(address)
        block.memory = _Memory(address)
        seen, done = service.observation, service.action
        if (found.observation_bytes, found.action_bytes) != (seen.bytes, done.bytes):
            raise OctetError("the observations or actions of replay differ from those that its folder names", 5)
        if bool(steps) != bool(service.said["sequence_steps"]):
            raise OctetError("the windows of replay differ from those that its folder named when this object was opened", 5)

        def column(at: int, dtype: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
            return np.ndarray((count, *shape), dtype, block, at - address)

        weights, keys = column(found.weights, np.float32), column(found.keys, np.uint64)
        if steps == 0:
            return (column(found.observations, seen.dtype, seen.shape), column(found.actions, done.dtype, done.shape),
                    column(found.rewards, np.float32), column(found.discounts, np.float32),
                    column(found.next_observations, seen.dtype, seen.shape), weights, keys, found.incarnation)
        flags = column(found.flags, np.uint8, (steps,))
        return (column(found.observations, seen.dtype, (steps + 1, *seen.shape)),
                column(found.actions, done.dtype, (steps, *done.shape)), column(found.rewards, np.float32, (steps,)),
                flags & _replay_lib.TERMINATED != 0, flags & _replay_lib.TRUNCATED != 0, flags & _replay_lib.FIRST != 0,
                flags & _replay_lib.END == 0, weights, keys, found.incarnation)

    def update_priorities(self, batch: Batch | Sequences, values: Any) -> None:
        """Sets new priorities for a batch's windows, such as |TD errors|. Windows that have left the table are ignored, and
        so is a batch from before a restart of replay.

        Raises:
            OctetError: a priority is negative or not finite; then no priority was set.
        """
        if not isinstance(batch, (Batch, Sequences)):
            raise OctetError(f"batch: {batch!r} does not come from sample or sample_sequences")
        priorities = floats_of("priorities", values)
        if priorities.shape != batch.keys.shape:
            raise OctetError(f"priorities of shape {priorities.shape}, expected {batch.keys.shape}")
        keys = np.ascontiguousarray(batch.keys)
        self._call(lib().octet_replay_update, batch.incarnation, len(keys), _address(keys), _address(priorities), _CALL_MS)

    def _stats(self, timeout: float | None) -> tuple[dict[str, float], str]:
        stats, count = (_replay_lib.Stat * _replay_lib.STATS)(), ctypes.c_size_t()
        state = create_string_buffer(_replay_lib.ERROR_BYTES)
        until = _until(timeout)
        while True:
            try:
                self._call(lib().octet_replay_stats, stats, len(stats), byref(count), state, len(state),
                           _slice_ms(until, _ANSWER_MS))
                break
            except OctetError as error:
                if error.code != _replay_lib.TIMED_OUT or (until is not None and time.monotonic() >= until):
                    raise
        found = stats[:min(count.value, len(stats))]
        return {one.name.decode(): one.value for one in found}, text(state.value)

    def stats(self) -> dict[str, float]:
        """Returns the metrics of octet-replay; docs/reference.md has the names. Waits while octet-replay starts again."""
        until = time.monotonic() + _CALL_MS / 1000
        while True:
            found, state = self._stats(max(0.0, until - time.monotonic()))
            if found["replay.capacity"] > 0:  # not before the table is taken up
                return found
            if time.monotonic() >= until:
                raise OctetError(f"octet-replay has no table: {state}", _replay_lib.TIMED_OUT)
            time.sleep(0.02)

    def state(self) -> str:
        """Returns what replay does or waits for, as text."""
        return self._state(_CALL_MS / 1000)

    def _state(self, timeout: float) -> str:
        try:
            return self._stats(timeout)[1]
        except OctetError as error:
            return str(error)

    def _shortage(self) -> str:
        """Returns why no batch came. Replay knows only requests that still wait, and this one was given up."""
        try:
            found, state = self._stats(_WORDS_SECONDS)
        except OctetError as error:
            return str(error)
        return f"{state}; {found['replay.size']:.0f} windows held" if state.startswith("serving") else state

    def close(self) -> None:
        """Closes this object without flushing. The process that started octet-replay ends it; the files in the folder stay.
        Calls of other threads end first, and calls that wait end soon (OctetError). A Ctrl-C ends only the waiting, and
        octet-replay ends anyway; another call waits again."""
        self._closes = True  # or a call that waits, which takes turn after turn, would keep the lock
        try:
            self._leave()
        finally:
            if self._daemon is not None and os.getpid() == self._pid:
                self._daemon.end()

    def _leave(self) -> None:
        for writer in list(self._writers):
            writer._end()
        if self._handle is None:
            return
        close = lib().octet_replay_close
        with self._turn():
            handle, self._handle = self._handle, None
            if handle is not None:  # no other thread was first
                close(handle)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not hasattr(self, "prefetch"):  # never begun
            return
        try:
            if self._handle is not None and not self._closes and os.getpid() == self._pid:
                unclosed(self)
        finally:
            self.close()


def _until(timeout: float | None) -> float | None:
    """Returns the time at which a call gives up; None: never."""
    until = deadline_of(timeout)
    return None if until == math.inf else until


def _slice_ms(until: float | None, most: int = _SLICE_MS) -> int:
    """Returns how long a call may wait before Python must check for signals."""
    return most if until is None else max(0, min(most, int((until - time.monotonic()) * 1000) + 1))


class Writer(NotCopied):
    """Appends steps to a replay. `Replay.writer` makes it.

    Steps of one writer keep their order. Appended steps are sent when there are enough of them, or by a call at least 0.1 s
    after the first of them; `flush` returns when they are safe. Any thread may call; calls take turns.
    """

    def __init__(self, replay: Replay, streams: int | None) -> None:
        self._replay = replay
        self._turn = Turns()
        self._handle: ctypes.c_void_p | None = None
        self._closes = False
        self._has_unsent = False  # by what was confirmed
        self._pid = os.getpid()
        service = replay._service
        replay._live()
        most = min(service.said["streams"], _replay_lib.STREAMS_MAX)
        self._streams = () if streams is None else (whole("streams", streams, 1, most),)
        self._observation, self._action = service.observation, service.action
        self._next = _Field("next_observation", service.observation)
        self._reward = _Field("reward", ((), np.float32))
        table = service.table()
        config = _replay_lib.WriterConfig(ctypes.sizeof(_replay_lib.WriterConfig), *(self._streams or (1,)),
                                          service.url, service.run_id, _next_number(service.folder), 0,
                                          ctypes.pointer(table))
        handle, error = ctypes.c_void_p(), create_string_buffer(_replay_lib.ERROR_BYTES)
        _check(lib().octet_replay_writer_open(byref(handle), byref(config), error, len(error)), error.value)
        self._handle = handle
        replay._writers.add(self)

    def _live(self) -> ctypes.c_void_p:
        if self._handle is None or self._closes:
            raise OctetError("the writer is closed")
        self._replay._live()
        return self._handle

    def _wait(self, what: str, timeout: float | None, call: Any, *arguments: Any) -> None:
        until = _until(timeout)
        while True:
            with self._turn():
                handle = self._live()
                result = call(handle, *arguments, _slice_ms(until))
                if result not in (0, _replay_lib.TIMED_OUT):
                    raise OctetError(text(lib().octet_replay_writer_error(handle)), result)
            if result == 0:
                return
            if until is not None and time.monotonic() >= until:
                raise ReplayTimeoutError(f"{what} in {timeout:g} s: {self._replay._state(_WORDS_SECONDS)}", result)

    def append(self, observation: Any, action: Any, reward: Any, terminated: Any, truncated: Any, next_observation: Any,
               *, mask: Any = None, timeout: float | None = 60.0) -> None:
        """Appends one step of each stream: the arguments and results of a VectorEnv's step. next_observation is the true
        next observation, before any reset; mask (bool) leaves streams out, such as those that NEXT_STEP has just reset.

        Nothing is appended if an argument is wrong (OctetError), or if replay has no room within `timeout` seconds
        (octet.ReplayTimeoutError).
        """
        streams = self._streams
        masks = [] if mask is None else [_flags("mask", mask, streams)]
        taken = masks[0].view(np.bool_) if masks else ...
        columns = [self._observation.rows(observation, streams, taken), self._action.rows(action, streams, taken),
                   self._reward.rows(reward, streams, taken), _flags("terminated", terminated, streams),
                   _flags("truncated", truncated, streams), self._next.rows(next_observation, streams, taken), *masks]
        steps = _replay_lib.Steps(ctypes.sizeof(_replay_lib.Steps), 0, *(_address(column) for column in columns))
        self._has_unsent = True
        self._wait("a step was not stored", timeout, lib().octet_replay_append, byref(steps))

    def flush(self, timeout: float | None = 60.0) -> None:
        """Returns when replay has stored everything that was appended: it is in the table once and can be sampled,
        whichever process is killed from now on. Windows of n steps do not cross a flush."""
        self._has_unsent = False
        try:
            self._wait("not every step was confirmed", timeout, lib().octet_replay_flush)
        except BaseException:
            self._has_unsent = True
            raise

    def close(self) -> None:
        """Flushes, and closes the writer."""
        if self._handle is not None and os.getpid() == self._pid:
            try:
                self.flush()
            finally:
                self._end()

    def _end(self) -> None:
        if getattr(self, "_handle", None) is None:  # closed, or never made
            return
        self._closes = True
        close = lib().octet_replay_writer_close
        with self._turn():
            handle, self._handle = self._handle, None
            if handle is not None:
                close(handle)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            self.close()
        else:
            self._end()

    def __repr__(self) -> str:
        return f"<octet.Writer of {self._replay.folder}{'' if self._handle else ', closed'}>"

    def __del__(self) -> None:
        """Warns that steps without a flush may be lost."""
        try:
            if getattr(self, "_handle", None) is not None and self._has_unsent and os.getpid() == self._pid:
                unclosed(self)
        finally:
            self._end()


def _next_number(folder: pathlib.Path) -> int:
    """Returns a number that no other writer of the folder has had; it is on the disk before it is used."""
    path = folder / "writers"
    try:
        with open(open_file(path, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            number = int(file.read(32) or 0) + 1
            file.seek(0)
            file.write(str(number))
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(folder)
    except (OSError, ValueError) as error:
        raise OctetError(f"{path}: {error}") from error
    return number


@atexit.register
def _close_all() -> None:
    for replay in list(_open):
        replay.close()
