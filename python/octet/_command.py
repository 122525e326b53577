"""The command line `octet` as a child: which program it is, how keys are written for it, and what it says."""

from __future__ import annotations

import ast
import atexit
import collections
import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._lib import OctetError, own_file, path_bytes, program_environ, text_bytes

_LINES = 10_000    # of what it has said are kept
_ERROR_LINES = 40  # of them are an error
_SIGNAL_S = 0.5    # a wait this long at once: Python hears of a signal that comes just before it only afterwards
_INTERRUPTED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def program() -> str:
    """$OCTET_PROGRAM; else the wheel's; else the system's."""
    found = os.environ.get("OCTET_PROGRAM") or own_file("bin/octet") or shutil.which("octet")
    if not found:
        raise OctetError("there is no program octet: install the wheel, or set OCTET_PROGRAM to that of a build", 6)
    return str(found)


def command(*arguments: str) -> list[str]:
    for one in arguments:
        path_bytes("octet", one)
    return [program(), *arguments]


def cannot_start(name: str, error: OSError) -> OctetError:
    return OctetError(f"{name} cannot be started: {error}")


def finished(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What it says, when it has ended."""
    its = command(*arguments)
    try:
        return subprocess.run(its, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace",
                              env=program_environ(), check=False)
    except OSError as error:
        raise cannot_start(its[0], error) from error


# ---- what it is given

def literal_of(key: str, value: Any) -> str:
    """A keyword argument as a Python literal, which is read as the same value in another process."""
    plain = value.item() if isinstance(value, np.generic) else value
    text = ascii(plain)
    try:
        if ast.literal_eval(text) == plain:
            return text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    raise OctetError(f"option {key}: {value!r} cannot be written as a Python literal, allowed are numbers, texts, bytes, "
                     "True, False, None, and tuples, lists, dictionaries and sets of them")


def options_text(env_id: str, options: Mapping[str, Any]) -> str:
    """Keyword arguments as the `env.options` of an experiment: `key=value,key=value`."""
    for key in options:
        if not isinstance(key, str) or not key or set(key) & set(",=\0"):
            raise OctetError(f"option {key!r}: no name: it is empty, or holds a comma, an equals sign or a NUL")
    if env_id.startswith("gym:"):
        return ",".join(f"{key}={literal_of(key, value)}" for key, value in options.items())
    parts = []
    for key, value in options.items():
        text = str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value)
        if set(text) & set(",=\0"):
            raise OctetError(f"option {key}: the value {text!r} holds a comma, an equals sign or a NUL")
        parts.append(f"{key}={text}")
    return ",".join(parts)


# What a plain scalar of YAML cannot begin with, end with or hold: there the text is quoted.
_BEGINS = re.compile(r"[,\[\]{}#&*!|>'\"%@`]|[-?:](?:\s|$)|---|\.\.\.")
_HOLDS = re.compile(r":(?:\s|$)|\s#|^\s|\s$|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_LIST = re.compile(r"\[[-+.eE0-9, ]*\]")
_ESCAPED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\"\\]")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _text(text: str, in_list: bool) -> str:
    """As YAML reads it back; a text that is a list of numbers, such as "[64, 64]", stays one. A list of the command line is
    split at commas outside of brackets and of quotes, each of which counts: so a quoted text holds none."""
    text_bytes("set", text)
    if _LIST.fullmatch(text):
        return text
    if text and not _BEGINS.match(text) and not _HOLDS.search(text) and not (in_list and set(text) & set(",[]{}\"")):
        return text
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def yaml_of(value: Any, in_list: bool = False) -> str:
    """A value of a key for `--set`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None:
        return "none"
    if isinstance(value, (bytes, bytearray)):
        raise OctetError(f"set: {value!r} are bytes: a text is expected")
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(yaml_of(one, True) for one in value) + "]"
    return _text(str(value), in_list)


def options_of_env(options: Mapping[str, Any], env_id: str | None) -> str:
    """Of the environment, as its id has them written; of numbers that is the same for all."""
    texts = [options_text(one, options) for one in (["gym:", ""] if env_id is None else [env_id])]
    if texts[0] != texts[-1]:
        raise OctetError("set: env.options: how values other than numbers are written depends on the environment: give env.id, too")
    return texts[0]


def set_arguments(settings: Mapping[str, Any] | None) -> list[str]:
    """--set KEY=VALUE for each key."""
    if settings is not None and not isinstance(settings, Mapping):
        raise OctetError(f"set: {settings!r} is no dictionary of keys, such as {{'run.seed': 3}}")
    values = dict(settings or {})
    options, env_id = values.get("env.options"), values.get("env.id")
    if isinstance(options, Mapping):
        values["env.options"] = options_of_env(options, None if env_id is None else str(env_id))
    for key in values:
        text_bytes("set", str(key))
    return [part for key, value in values.items() for part in ("--set", f"{key}={yaml_of(value)}")]


def train_arguments(experiment: str | os.PathLike[str] | None, run_dir: os.PathLike[str], arguments: Sequence[str]) -> list[str]:
    """Of `octet train`; an experiment of None is that of the run in the folder, which goes on."""
    more = options_of(arguments, "--run-dir")
    begins = [file_of("experiment", experiment)] if experiment is not None else [] if "--resume" in more else ["--resume"]
    return ["train", *begins, "--run-dir", os.fspath(run_dir), *more]


def options_of(arguments: Sequence[str], folder: str) -> list[str]:
    """More options of a command. The one for its folder, which may be abbreviated, has an argument of Python's own: of two the
    last would hold, and the run would be looked for where it is not."""
    if isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence):
        raise OctetError(f"arguments: {arguments!r} is no list of texts, such as ['--resume']")
    options = [str(one) for one in arguments]
    other = next((one for one in options if len(one) > 2 and folder.startswith(one.partition("=")[0])), None)
    if other is not None:
        raise OctetError(f"arguments: {other!r}: the folder is the argument {folder[2:].replace('-', '_')}")
    return options


def path_of(name: str, path: Any) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise OctetError(f"{name}: {path!r} is no path") from None
    path_bytes(name, text)
    return text


def file_of(name: str, path: Any) -> str:
    """The same as an argument by itself, which is no option, whatever it begins with."""
    text = path_of(name, path)
    return f"./{text}" if text.startswith("-") else text


# ---- what it says

def errors_of(lines: Iterable[str]) -> str:
    """What it has printed from the first error on; without any the last lines."""
    said = list(lines)
    first = next((i for i, line in enumerate(said) if "error:" in line), None)
    if first is None:
        return "\n".join(said[-5:])
    error, *rest = said[first:]
    return "\n".join([error, *rest[-(_ERROR_LINES - 1):]])


def signal_of(returncode: int) -> str | None:
    """The name of the signal that it was stopped by, after it had saved what there was, or killed by."""
    number = -returncode if returncode < 0 else returncode - 128
    if returncode > 0 and number not in _INTERRUPTED:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# ---- the child

class _News:
    """What threads wait for. An exception of a signal's handler may leave a wait at any place, which it may not leave a wait of
    threading.Condition: that gives its lock back in Python's own code, and a Ctrl-C there becomes an error about the lock."""

    def __init__(self) -> None:
        self._waiting: dict[int, threading.Lock] = {}

    def tell(self) -> None:
        for lock in list(self._waiting.values()):
            with contextlib.suppress(RuntimeError):  # was told, and has not looked yet
                lock.release()

    def wait_for(self, is_there: Callable[[], bool], seconds: float = math.inf) -> None:
        until, lock = time.monotonic() + seconds, threading.Lock()
        self._waiting[id(lock)] = lock
        try:
            while not is_there() and (left := until - time.monotonic()) > 0:
                lock.acquire(timeout=min(left, _SIGNAL_S))
        finally:
            del self._waiting[id(lock)]


class Child:
    """`octet` with arguments. It ends with this process, however that ends, and Ctrl-C does not reach it: `interrupt` does.

    A thread of its own starts it and reads what it says. The kernel ends the child when the thread that started it ends, and
    no signal is handled between its start and its entry here. Any thread may call.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._command = command(*arguments, "--follow-parent", str(os.getpid()))
        self._news = _News()
        self._said: collections.deque[str] = collections.deque(maxlen=_LINES)
        self._count = 0  # of all lines
        self._saying = threading.Lock()  # of these two
        self._has_ended = False
        self._failure: OctetError | None = None
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.RLock()
        self.pid = os.getpid()
        self.interrupts = 0
        self._thread = threading.Thread(target=self._run, name=f"octet {arguments[0]}", daemon=True)

    def start(self) -> None:
        _open.add(self)
        self._thread.start()

    def _open_process(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self.interrupts == 0:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    encoding="utf-8", errors="replace", start_new_session=True, env=program_environ())
            return self._process

    def _run(self) -> None:
        try:
            process = self._open_process()
            if process is not None:
                with process:
                    assert process.stdout is not None
                    for line in process.stdout:
                        self._tell(line.rstrip("\n"))
        except OSError as error:
            self._failure = cannot_start(self._command[0], error)
        finally:
            self._ended()

    def _ended(self) -> None:
        _open.discard(self)
        self._has_ended = True
        self._news.tell()

    def _tell(self, line: str) -> None:
        with self._saying:
            self._said.append(line)
            self._count += 1
        self._news.tell()

    def _check(self) -> None:
        if os.getpid() != self.pid:
            raise OctetError("a run can be waited for and stopped by the process that started it, not by a fork of that")

    @property
    def process_id(self) -> int | None:
        """None: it has not begun."""
        return None if self._process is None else self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    @property
    def returncode(self) -> int:
        """Of one that has ended; that of Ctrl-C where it was stopped before it began."""
        if self._failure is not None:
            raise OctetError(str(self._failure), self._failure.code)
        return 128 + signal.SIGINT if self._process is None else self._process.returncode

    def look(self, seen: int, seconds: float) -> tuple[int, list[str], bool]:
        """What it has said since it had said `seen` lines, as far as it is kept, and whether it has ended. Waits for either."""
        self._check()
        self._news.wait_for(lambda: self._has_ended or self._count > seen, seconds)
        has_ended = self._has_ended  # asked first: then all lines are there
        with self._saying:
            new = min(self._count - seen, len(self._said))
            lines = list(self._said)[len(self._said) - new:] if new > 0 else []
            return self._count, lines, has_ended

    def errors(self) -> str:
        with self._saying:
            return errors_of(self._said)

    def interrupt(self) -> None:
        """As Ctrl-C: it saves what it has, and ends. A second one ends it at once. Where it has not begun it never does."""
        self._check()
        with self._lock:
            self.interrupts += 1
            if self._process is not None:
                self._process.send_signal(signal.SIGINT)
                return
        self._ended()

    def join(self) -> None:
        self._news.wait_for(lambda: self._has_ended)

    def end(self) -> None:
        """Interrupts it, and waits for it; a Ctrl-C meanwhile ends it at once."""
        end_all([self])


def end_all(children: Sequence[Child]) -> None:
    try:
        for child in children:
            child.interrupt()
        for child in children:
            child.join()
    except BaseException:
        for child in children:
            child.interrupt()
        for child in children:
            child.join()
        raise


_open: set[Child] = set()


@atexit.register
def _end_with_python() -> None:
    end_all([child for child in list(_open) if child.pid == os.getpid()])
