"""liboctet-replay by ctypes, loaded at its first use: `import octet` starts no threads. Private; include/octet/replay.h
documents it."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _lib
from ._lib import OctetError

ERROR_BYTES = 1024  # OCTET_REPLAY_ERROR_BYTES
KEY_BYTES = 32      # OCTET_REPLAY_KEY_BYTES
PREFETCH_MAX = 64   # OCTET_REPLAY_PREFETCH_MAX
STREAMS_MAX = 4096  # OCTET_REPLAY_STREAMS_MAX
STATS = 512
INVALID, NOT_NOW, TIMED_OUT, NO_CONNECTION = 1, 2, 4, 7
SAMPLERS = {"uniform": 1, "prioritized": 2, "fifo": 3}
N_STEP, SEQUENCE = 1, 2
TERMINATED, TRUNCATED, FIRST, END = 1, 2, 4, 8


class Table(Structure):
    _fields_ = [("size", c_uint32), ("streams", c_uint32), ("capacity", c_uint64), ("observation_bytes", c_uint32),
                ("observation_is_float", c_uint32), ("action_bytes", c_uint32), ("action_is_float", c_uint32),
                ("sampler", c_uint32), ("window", c_uint32), ("steps", c_uint32), ("stride", c_uint32),
                ("priority_exponent", c_double), ("discount", c_double), ("reward_clip", c_double),
                ("min_size", c_uint64), ("samples_per_insert", c_double), ("tolerance", c_double), ("seed", c_uint64),
                ("key", c_uint8 * KEY_BYTES)]


class Batch(Structure):
    _fields_ = [("size", c_uint32), ("count", c_uint32), ("steps", c_uint32), ("observation_bytes", c_uint32),
                ("action_bytes", c_uint32), ("reserved", c_uint32), ("incarnation", c_uint64),
                ("observations", c_size_t), ("next_observations", c_size_t), ("actions", c_size_t),
                ("rewards", c_size_t), ("discounts", c_size_t), ("flags", c_size_t), ("weights", c_size_t),
                ("probabilities", c_size_t), ("keys", c_size_t), ("windows", c_uint64), ("inserts", c_uint64),
                ("samples", c_uint64), ("memory", c_size_t), ("memory_bytes", c_uint64)]


class Stat(Structure):
    _fields_ = [("name", c_char * 64), ("value", c_double)]


class WriterConfig(Structure):
    _fields_ = [("size", c_uint32), ("streams", c_uint32), ("url", c_char_p), ("run_id", c_uint64),
                ("number", c_uint32), ("reserved", c_uint32), ("table", POINTER(Table))]


class Steps(Structure):
    _fields_ = [("size", c_uint32), ("reserved", c_uint32), ("observations", c_size_t), ("actions", c_size_t),
                ("rewards", c_size_t), ("terminated", c_size_t), ("truncated", c_size_t),
                ("next_observations", c_size_t), ("mask", c_size_t)]


_ADDRESS = c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "octet_replay_open": (c_int, [POINTER(c_void_p), c_char_p, c_uint64, c_char_p, c_size_t]),
    "octet_replay_close": (None, [c_void_p]),
    "octet_replay_error": (c_char_p, [c_void_p]),
    "octet_replay_configure": (c_int, [c_void_p, POINTER(Table), c_uint32]),
    "octet_replay_sample": (c_int, [c_void_p, c_uint32, c_uint32, c_double, c_uint32, POINTER(Batch)]),
    "octet_replay_batch_free": (None, [_ADDRESS]),
    "octet_replay_update": (c_int, [c_void_p, c_uint64, c_uint32, _ADDRESS, _ADDRESS, c_uint32]),
    "octet_replay_stats": (c_int, [c_void_p, POINTER(Stat), c_size_t, POINTER(c_size_t), c_char_p, c_size_t,
                                   c_uint32]),
    "octet_replay_writer_open": (c_int, [POINTER(c_void_p), POINTER(WriterConfig), c_char_p, c_size_t]),
    "octet_replay_writer_close": (None, [c_void_p]),
    "octet_replay_writer_error": (c_char_p, [c_void_p]),
    "octet_replay_append": (c_int, [c_void_p, POINTER(Steps), c_uint32]),
    "octet_replay_flush": (c_int, [c_void_p, c_uint32]),
}


def _of_build(path: str) -> pathlib.Path | None:
    """Returns a file of the build that $OCTET_LIBRARY belongs to."""
    library = os.environ.get("OCTET_LIBRARY")
    found = pathlib.Path(library).absolute().parent.parent / path if library else None
    return found if found is not None and found.exists() else None


@functools.cache
def lib() -> ctypes.CDLL:
    path = str(_of_build("lib/liboctet-replay.so.0") or _lib.own_file("lib/liboctet-replay.so") or "liboctet-replay.so.0")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OctetError(f"{path} cannot be loaded: {error}") from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def program() -> str:
    """Returns octet-replay of the build, or of the wheel, or of the system."""
    path = _of_build("replay/octet-replay") or _lib.own_file("bin/octet-replay") or shutil.which("octet-replay")
    if path is None:
        raise OctetError("octet-replay was not found: install the wheel, or add its folder to PATH")
    return str(path)


def text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")
