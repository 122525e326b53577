"""Runs the command line `octet` as a child process: finds the program, writes keys for it, and reads its output."""

from __future__ import annotations

import ast
import atexit
import collections
import contextlib
import json
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
    """Returns $OCTET_PROGRAM, or else the program of the wheel, or else the program of the system."""
    found = os.environ.get("OCTET_PROGRAM") or own_file("bin/octet") or shutil.which("octet")
    if not found:
        raise OctetError("the program octet was not found: install the wheel, or set OCTET_PROGRAM to the program of a build", 6)
    return str(found)


def command(*arguments: str) -> list[str]:
    for one in arguments:
        path_bytes("octet", one)
    return [program(), *arguments]


def cannot_start(name: str, error: OSError) -> OctetError:
    return OctetError(f"{name} cannot be started: {error}")


def finished(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end and returns what it printed."""
    its = command(*arguments)
    try:
        return subprocess.run(its, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace",
                              env=program_environ(), check=False)
    except OSError as error:
        raise cannot_start(its[0], error) from error


# ---- what it is given

def literal_of(key: str, value: Any) -> str:
    """Formats a keyword argument as a Python literal, which another process reads as the same value."""
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
    """Formats keyword arguments as the `env.options` of an experiment: `key=value,key=value`."""
    for key in options:
        if not isinstance(key, str) or not key or set(key) & set(",=:\0"):
            raise OctetError(f"option {key!r}: not a name: it is empty, or contains a comma, a colon, an equals sign or a NUL")
    if env_id.startswith("gym:"):
        return ",".join(f"{key}={literal_of(key, value)}" for key, value in options.items())
    return ",".join(_option(key, value) for key, value in options.items())


def _option(key: str, value: Any) -> str:
    """Formats an option for an environment that reads words and JSON."""
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if "\0" in text:
        raise OctetError(f"option {key}: the value {text!r} contains a NUL")
    if isinstance(value, (bool, int, float)) or (text and isinstance(value, (str, os.PathLike)) and not set(text) & set(",=[({\"'")):
        return f"{key}={text}"
    try:
        return f"{key}:={json.dumps(value, ensure_ascii=False, allow_nan=False)}"
    except (TypeError, ValueError) as error:
        raise OctetError(f"option {key}: {value!r} is neither a word nor JSON: {error}") from None


# What a plain scalar of YAML cannot begin with, end with or hold: there the text is quoted.
_BEGINS = re.compile(r"[,\[\]{}#&*!|>'\"%@`]|[-?:](?:\s|$)|---|\.\.\.")
_HOLDS = re.compile(r":(?:\s|$)|\s#|^\s|\s$|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_LIST = re.compile(r"\[[-+.eE0-9, ]*\]")
_ESCAPED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\"\\]")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _text(text: str, in_list: bool) -> str:
    """Quotes a text so that YAML reads it back unchanged; a list of numbers in a text, such as "[64, 64]", is written as a
    list. The command line splits lists at commas outside brackets and quotes and counts every quote, so a quoted text
    cannot contain quotes."""
    text_bytes("set", text)
    if _LIST.fullmatch(text):
        return text
    if text and not _BEGINS.match(text) and not _HOLDS.search(text) and not (in_list and set(text) & set(",[]{}\"")):
        return text
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def yaml_of(value: Any, in_list: bool = False) -> str:
    """Formats the value of a key for `--set`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None:
        return "none"
    if isinstance(value, (bytes, bytearray)):
        raise OctetError(f"set: {value!r} are bytes; expected a text")
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(yaml_of(one, True) for one in value) + "]"
    return _text(str(value), in_list)


def options_of_env(options: Mapping[str, Any], env_id: str | None) -> str:
    """Formats options in the way that the environment with this ID reads them; numbers are written the same way for all
    environments."""
    texts = [options_text(one, options) for one in (["gym:", ""] if env_id is None else [env_id])]
    if texts[0] != texts[-1]:
        raise OctetError("set: env.options: the format of values other than numbers depends on the environment: give env.id, too")
    return texts[0]


def set_arguments(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns --set KEY=VALUE for each key."""
    if settings is not None and not isinstance(settings, Mapping):
        raise OctetError(f"set: {settings!r} is not a dictionary of keys, such as {{'run.seed': 3}}")
    values = dict(settings or {})
    options, env_id = values.get("env.options"), values.get("env.id")
    if isinstance(options, Mapping):
        values["env.options"] = options_of_env(options, None if env_id is None else str(env_id))
    for key in values:
        text_bytes("set", str(key))
    return [part for key, value in values.items() for part in ("--set", f"{key}={yaml_of(value)}")]


def train_arguments(experiment: str | os.PathLike[str] | None, run_dir: os.PathLike[str], arguments: Sequence[str]) -> list[str]:
    """Returns the arguments of `octet train`; with experiment None, the run in the folder continues."""
    more = options_of(arguments, "--run-dir")
    begins = [file_of("experiment", experiment)] if experiment is not None else [] if "--resume" in more else ["--resume"]
    return ["train", *begins, "--run-dir", os.fspath(run_dir), *more]


def options_of(arguments: Sequence[str], folder: str) -> list[str]:
    """Checks further options of a command. Refuses the option for its folder, even abbreviated, because it is an argument
    of the Python function: of two such options the last would win, and the run would be searched in the wrong folder."""
    if isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence):
        raise OctetError(f"arguments: {arguments!r} is not a list of texts, such as ['--resume']")
    options = [str(one) for one in arguments]
    other = next((one for one in options if len(one) > 2 and folder.startswith(one.partition("=")[0])), None)
    if other is not None:
        raise OctetError(f"arguments: {other!r}: the folder is the argument {folder[2:].replace('-', '_')}")
    return options


def path_of(name: str, path: Any) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise OctetError(f"{name}: {path!r} is not a path") from None
    path_bytes(name, text)
    return text


def file_of(name: str, path: Any) -> str:
    """Returns a path that the command line cannot take for an option."""
    text = path_of(name, path)
    return f"./{text}" if text.startswith("-") else text


# ---- what it says

def errors_of(lines: Iterable[str]) -> str:
    """Returns the output from the first error on, or the last lines if there is no error."""
    said = list(lines)
    first = next((i for i, line in enumerate(said) if "error:" in line), None)
    if first is None:
        return "\n".join(said[-5:])
    error, *rest = said[first:]
    return "\n".join([error, *rest[-(_ERROR_LINES - 1):]])


def signal_of(returncode: int) -> str | None:
    """Returns the name of the signal that killed the command or stopped it after it had saved its state, or None."""
    number = -returncode if returncode < 0 else returncode - 128
    if returncode > 0 and number not in _INTERRUPTED:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# ---- the child

class _News:
    """A condition that threads wait for. An exception from a signal handler can interrupt a wait at any point. In
    threading.Condition that is unsafe: its lock is released in Python code, where a Ctrl-C would turn into an error about
    the lock."""

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
    """`octet` with arguments, as a child process. It ends when this process ends, however that happens, and Ctrl-C does not
    reach it; `interrupt` does.

    A thread of its own starts the process and reads its output, because the kernel ends the child when the thread that
    started it ends. No signal is handled between the start of the child and the moment when it is recorded here. Any thread
    may call.
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
            raise OctetError("only the process that started a run can wait for it and stop it, not a fork of that process")

    @property
    def process_id(self) -> int | None:
        """The process ID, or None before the process has started."""
        return None if self._process is None else self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    @property
    def returncode(self) -> int:
        """The exit code of a process that has ended, or that of Ctrl-C if the process was stopped before it started."""
        if self._failure is not None:
            raise OctetError(str(self._failure), self._failure.code)
        return 128 + signal.SIGINT if self._process is None else self._process.returncode

    def look(self, seen: int, seconds: float) -> tuple[int, list[str], bool]:
        """Returns the lines printed after the first `seen` lines, as far as they are kept, and whether the process has
        ended. Waits for the first of the two."""
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
        """Does what Ctrl-C does: the process saves its state and ends. A second call ends it at once. A process that has
        not started yet never starts."""
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
        """Interrupts the process and waits for its end; a Ctrl-C meanwhile ends the process at once."""
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
