"""liboctet by ctypes: finds the library and declares its structs and functions. Private; include/octet/*.h documents them."""

from __future__ import annotations

import ctypes
import importlib.resources
import math
import numbers
import operator
import os
import pathlib
import sys
import threading
import time
import warnings
from ctypes import (CDLL, POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint8,
                    c_uint32, c_uint64, c_void_p, create_string_buffer)
from typing import Any

__all__ = ["CDLL", "Config", "Divergence", "Info", "Io", "LearnerAnswer", "LearnerBatch", "LearnerSpec", "NotCopied", "OctetError", "RenderModeError", "Rng", "Space", "Spec", "Turns", "byref", "c_double", "c_uint32",
           "check", "create_string_buffer", "deadline_of", "keep_python", "lib", "own_file", "path_bytes", "program_environ", "real", "text_bytes", "unclosed", "whole"]

ERROR_BYTES = 1024  # OCTET_VECTOR_ERROR_BYTES
RANK_MAX = 6        # OCTET_ENV_RANK_MAX
NAME_MAX = 128      # OCTET_POLICY_NAME_MAX
ACTIONS_MAX = 256   # OCTET_LEARNER_ACTIONS_MAX, as the next two
LAYERS_MAX = 16
NUMBERS_MAX = 16


class OctetError(Exception):
    """An error of Octet, with the message of its command line. `code` is an error code of include/octet/."""

    def __init__(self, text: object, code: int = 1) -> None:
        super().__init__(str(text).encode(errors="backslashreplace").decode())  # it can be printed, whatever it quotes
        self.code = code


class RenderModeError(OctetError, TypeError):
    """The environment cannot draw pictures of that kind. Also a TypeError, as for an environment without the argument
    `render_mode`: Stable-Baselines3 asks every environment for pictures, and on this error opens it without them."""


class Space(Structure):
    _fields_ = [("size", c_uint32), ("dtype", c_uint32), ("rank", c_uint32), ("shape", c_uint32 * RANK_MAX),
                ("n", c_uint32), ("low", POINTER(c_double)), ("high", POINTER(c_double))]


class Spec(Structure):
    _fields_ = [("size", c_uint32), ("id", c_char_p), ("obs", Space), ("action", Space),
                ("max_episode_steps", c_uint32), ("reward_threshold", c_double), ("reward_low", c_double),
                ("reward_high", c_double), ("metric_count", c_uint32), ("metric_names", POINTER(c_char_p)),
                ("capabilities", c_uint32), ("state_count", c_uint32), ("state_names", POINTER(c_char_p)),
                ("obs_names", POINTER(c_char_p)), ("reward_name", c_char_p), ("step_seconds", c_double)]


class Io(Structure):
    _fields_ = [("size", c_uint32), ("action", c_void_p), ("action_stride", c_uint32), ("obs", c_void_p),
                ("obs_stride", c_uint32), ("final_obs", c_void_p), ("final_obs_stride", c_uint32),
                ("reward", c_void_p), ("flags", c_void_p), ("ep_return", c_void_p), ("ep_length", c_void_p),
                ("metrics", c_void_p), ("reward64", c_void_p)]


class Config(Structure):
    _fields_ = [("size", c_uint32), ("count", c_uint32), ("threads", c_uint32), ("autoreset", c_uint32),
                ("seed", c_uint64), ("id", c_char_p), ("options", c_char_p)]


class Info(Structure):
    _fields_ = [("size", c_uint32), ("env_id", c_char * NAME_MAX), ("run_name", c_char * NAME_MAX),
                ("run_id", c_uint64), ("version", c_uint64), ("updates", c_uint64), ("env_steps", c_uint64),
                ("eval_return", c_float), ("precision", c_uint32), ("obs_dtype", c_uint32), ("obs_count", c_uint32),
                ("obs_bytes", c_uint32), ("action_kind", c_uint32), ("action_count", c_uint32),
                ("action_bytes", c_uint32), ("output_count", c_uint32), ("isa", c_char_p),
                ("obs_height", c_uint32), ("obs_width", c_uint32), ("obs_channels", c_uint32),
                ("action_low", POINTER(c_float)), ("action_high", POINTER(c_float)),
                ("metadata_count", c_uint32), ("metadata_keys", POINTER(c_char_p)), ("metadata_texts", POINTER(c_char_p))]


class Divergence(Structure):
    _fields_ = [("size", c_uint32), ("is_box", c_uint32), ("agreement", c_double), ("kl", c_double),
                ("action_l2", c_double), ("max_abs", c_double), ("relative_l2", c_double)]


class LearnerLayer(Structure):
    _fields_ = [(name, c_uint32) for name in (
        "kind", "inputs", "outputs", "activation", "layer_norm", "rows", "columns", "height", "width", "channels",
        "filters", "kernel")] + [(name, c_uint64) for name in ("weight", "bias", "gain", "offset")]


class LearnerKernel(Structure):
    _fields_ = [(name, c_uint32) for name in ("kernel", "stride", "before", "after")]


class LearnerSpec(Structure):
    _fields_ = [("size", c_uint32), ("window", c_uint32), ("env_id", c_char * NAME_MAX), ("batch_size", c_uint32),
                ("steps", c_uint32), ("n_step", c_uint32), ("obs_count", c_uint32), ("obs_rank", c_uint32),
                ("obs_shape", c_uint32 * RANK_MAX), ("action_kind", c_uint32), ("action_count", c_uint32),
                ("action_low", c_float * ACTIONS_MAX), ("action_high", c_float * ACTIONS_MAX), ("head", c_uint32),
                ("atoms", c_uint32), ("value_min", c_float), ("value_max", c_float), ("extra_count", c_uint32),
                ("has_priorities", c_uint32), ("publish_period", c_uint32), ("discount", c_double),
                ("layer_count", c_uint32), ("layers", LearnerLayer * LAYERS_MAX), ("param_count", c_uint64),
                ("deviation", c_uint64), ("number_count", c_uint32), ("number_names", (c_char * 32) * NUMBERS_MAX),
                ("kernels", (LearnerKernel * 2) * LAYERS_MAX)]


class LearnerBatch(Structure):
    _fields_ = [("size", c_uint32), ("B", c_uint32), ("T", c_uint32), ("number", c_uint64), ("learning_rate", c_float)]
    _fields_ += [(name, c_void_p) for name in ("obs", "next_obs", "action", "reward", "discount", "flags", "version",
                                               "extra", "importance")]


class LearnerAnswer(Structure):
    _fields_ = [("size", c_uint32), ("has_params", c_uint32), ("priorities", c_void_p), ("numbers", c_void_p)]


class Rng(Structure):
    _fields_ = [("state", c_uint64), ("stream", c_uint64)]


_TakeInterrupt = ctypes.CFUNCTYPE(c_int)
_ADDRESS = c_void_p  # of a NumPy array, as an integer
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "octet_version": (c_char_p, []),
    "octet_policy_load_bytes": (c_int, [POINTER(c_void_p), c_char_p, c_size_t, c_char_p, c_size_t]),
    "octet_policy_free": (None, [c_void_p]),
    "octet_policy_get_info": (c_int, [c_void_p, POINTER(Info)]),
    "octet_policy_act_batch": (c_int, [c_void_p, _ADDRESS, c_size_t, _ADDRESS]),
    "octet_policy_outputs_batch": (c_int, [c_void_p, _ADDRESS, c_size_t, _ADDRESS]),
    "octet_policy_compare": (c_int, [c_void_p, c_void_p, _ADDRESS, c_size_t, POINTER(Divergence), c_char_p, c_size_t]),
    "octet_policy_seed": (None, [_ADDRESS, c_uint64, c_uint64]),
    "octet_policy_sample_batch": (c_int, [c_void_p, _ADDRESS, c_size_t, _ADDRESS, _ADDRESS, _ADDRESS]),
    "octet_learner_open": (c_int, [POINTER(c_void_p), c_char_p, c_char_p, c_size_t]),
    "octet_learner_wait": (c_int, [c_void_p, c_int]),
    "octet_learner_get_spec": (POINTER(LearnerSpec), [c_void_p]),
    "octet_learner_params": (c_void_p, [c_void_p]),
    "octet_learner_next": (c_int, [c_void_p, c_int, POINTER(LearnerBatch)]),
    "octet_learner_update": (c_int, [c_void_p, POINTER(LearnerAnswer)]),
    "octet_learner_has_ended": (c_int, [c_void_p]),
    "octet_learner_error": (c_char_p, [c_void_p]),
    "octet_learner_leave": (None, [c_void_p]),
    "octet_learner_close": (None, [c_void_p]),
    "octet_vector_open": (c_int, [POINTER(c_void_p), POINTER(Config), c_char_p, c_size_t]),
    "octet_vector_close": (None, [c_void_p]),
    "octet_vector_spec": (POINTER(Spec), [c_void_p]),
    "octet_vector_reset": (c_int, [c_void_p, _ADDRESS, _ADDRESS, POINTER(Io)]),
    "octet_vector_step": (c_int, [c_void_p, POINTER(Io)]),
    "octet_vector_error": (c_char_p, [c_void_p]),
    "octet_vector_failures": (c_uint64, [c_void_p]),
    "octet_vector_failure": (c_char_p, [c_void_p]),
    "octet_vector_get_state": (c_int, [c_void_p, c_uint32, _ADDRESS, POINTER(c_uint32)]),
    "octet_vector_set_state": (c_int, [c_void_p, c_uint32, _ADDRESS, c_uint32, POINTER(Io)]),
    "octet_vector_picture": (c_int, [c_void_p, POINTER(c_uint32), POINTER(c_uint32), POINTER(c_double)]),
    "octet_vector_render": (c_int, [c_void_p, c_uint32, _ADDRESS, c_uint32, c_uint32, _ADDRESS]),
    "octet_vector_ids": (c_size_t, [POINTER(c_char_p), c_size_t]),
    "octet_vector_on_wait": (None, [_TakeInterrupt]),
}


def own_file(path: str) -> pathlib.Path | None:
    """Returns a file of the installed package, below bin/, lib/ or share/. After `pip install -e` it is in the build folder."""
    found = importlib.resources.files(__package__).joinpath("_prefix", *path.split("/"))
    return pathlib.Path(str(found)) if found.is_file() else None


def _own_python() -> dict[str, str]:
    """Returns the Python for Gymnasium's environments ("gym:NAME") unless OCTET_PYTHON names another: this one, which has
    no file if it runs inside another program (sys.executable is "" or None)."""
    return {"OCTET_PYTHON": sys.executable} if sys.executable else {}


def keep_python() -> None:
    """Sets the Python for environments that this process opens."""
    for name, value in _own_python().items():
        os.environ.setdefault(name, value)


def program_environ() -> dict[str, str]:
    """Returns the environment variables for Octet's programs."""
    return {**_own_python(), **os.environ}


def _find() -> str:
    """Returns $OCTET_LIBRARY, or else the library of the wheel, or else the library of the system."""
    named = os.environ.get("OCTET_LIBRARY")
    if named:
        return named
    return str(own_file("lib/liboctet.so") or "liboctet.so.0")


def _load() -> CDLL:
    path = _find()
    try:
        library = CDLL(path)
    except OSError as error:
        raise ImportError(f"octet: {path} cannot be loaded: {error}; install the wheel, or set OCTET_LIBRARY to "
                          "liboctet.so of a build") from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
# Python's own function, and not one in Python: that would run the program's handler of the signal, and ctypes would drop
# the KeyboardInterrupt.
_take_interrupt = _TakeInterrupt(ctypes.pythonapi.PyOS_InterruptOccurred)
lib.octet_vector_on_wait(_take_interrupt)


def check(result: int, text: bytes | None) -> None:
    """Raises the error that a call returned. ctypes passes text as bytes."""
    if result != 0:
        raise OctetError((text or b"").decode(errors="replace"), result)


class NotCopied:
    """The owner of an object of the library, which must be freed exactly once."""

    def __reduce__(self) -> Any:
        raise TypeError(f"an octet.{type(self).__name__} cannot be copied or pickled")


def unclosed(one: Any) -> None:
    """Closes an object that is collected without `close`, with the warning that files give."""
    warnings.warn(f"unclosed {one!r}", ResourceWarning, stacklevel=3, source=one)


class Turns:
    """Makes calls take turns: `with turns():`. A forked process gets a new lock, because the thread that held the old lock
    does not exist there."""

    def __init__(self) -> None:
        self._locks: dict[int, threading.Lock] = {}

    def __call__(self) -> threading.Lock:
        pid = os.getpid()
        return self._locks.get(pid) or self._locks.setdefault(pid, threading.Lock())


def text_bytes(name: str, text: str) -> bytes:
    """Encodes a text for C, where a NUL would end it, or for a command."""
    try:
        return _without_nul(name, text, text.encode())
    except UnicodeEncodeError:
        raise OctetError(f"{name}: {text!r} contains half of a surrogate pair, which is not a character") from None


def path_bytes(name: str, text: str) -> bytes:
    """Encodes a path, whose bytes need not be characters (os.fsdecode)."""
    try:
        return _without_nul(name, text, os.fsencode(text))
    except UnicodeEncodeError:
        raise OctetError(f"{name}: {text!r} contains a character that file names cannot have here") from None


def _without_nul(name: str, text: str, encoded: bytes) -> bytes:
    if b"\0" in encoded:
        raise OctetError(f"{name}: {text!r} contains a NUL")
    return encoded


def real(name: str, value: Any) -> float:
    """Checks an argument that must be a number; infinity is allowed."""
    number = float(value) if isinstance(value, numbers.Real) else math.nan
    if math.isnan(number):
        raise OctetError(f"{name}: {value!r} is not a number")
    return number


def deadline_of(timeout: float | None) -> float:
    """Returns the deadline by time.monotonic; None waits forever."""
    return math.inf if timeout is None else time.monotonic() + real("timeout", timeout)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Checks an argument that must be a whole number from low to high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise OctetError(f"{name}: {value!r} is not a whole number, allowed {low} .. {high}") from None
    if not low <= number <= high:
        raise OctetError(f"{name}: {number} is not in {low} .. {high}")
    return number


def ids() -> list[str]:
    """Returns the IDs of the environments that come with Octet."""
    room = lib.octet_vector_ids(None, 0)
    found = (c_char_p * room)()
    count = min(room, lib.octet_vector_ids(found, room))
    return [(found[i] or b"").decode() for i in range(count)]
