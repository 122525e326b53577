"""Policies: the files that Octet's learner publishes, run by the kernels of its actors."""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _lib
from ._arrays import array_of
from ._command import path_of
from ._files import open_file
from ._lib import OctetError, Turns, lib, whole

_PRECISIONS = {1: "fp32", 2: "int8", 3: "bf16", 4: "fp16", 5: "int4"}
_NOT_FINITE, _NOT_FOUND, _NOT_READ = 1, 6, 7  # OCTET_POLICY_EINVAL, ENOTFOUND, EIO
_BYTES_MAX = 2**28  # POLICY_BYTES_MAX
_FLATTEN = "for a Dict or Tuple space, give the policy gymnasium.spaces.utils.flatten(space, observation)"


@dataclass(frozen=True)
class PolicyInfo:
    """What a policy is and where it comes from. eval_return is None before the policy's first evaluation.

    obs_shape is (rows, columns, channels) if the network begins with a convolution, else (obs_count,): the file does not
    store the shape of other observations. action_low and action_high are a box's, None for discrete actions; those are 0 ..
    action_count - 1, to which a Discrete space with a `start` adds its start. input_name, output_name and metadata are those of
    the model that the policy was imported from.
    """

    env_id: str
    run_name: str
    run_id: int
    version: int
    updates: int
    env_steps: int
    eval_return: float | None
    precision: str
    isa: str
    obs_dtype: np.dtype[Any]
    obs_count: int
    obs_shape: tuple[int, ...]
    discrete: bool
    action_count: int
    action_low: tuple[float, ...] | None
    action_high: tuple[float, ...] | None
    output_count: int
    input_name: str | None
    output_name: str | None
    metadata: dict[str, str] = field(hash=False)


@dataclass(frozen=True)
class PolicyDivergence:
    """How far a policy is from another. Measures for discrete actions are None for a box, and the reverse."""

    rows: int
    agreement: float               # share of equal greedy actions (box: each within 0.1 of its standard deviation)
    kl: float | None               # discrete: mean KL(other || policy); values: at the temperature of their spread
    action_distance: float | None  # box: root mean square over actions, in units of their standard deviations
    max_abs: float | None          # of outputs, as far as they decide; None: those of the two mean other things
    relative_l2: float | None


def content_of(source: Any) -> tuple[bytes, str]:
    """Returns the bytes of a policy, and the beginning of errors about it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), ""
    path = path_of("source", source)
    try:
        with open(open_file(path, most=2**63, follows=True), "rb") as file:
            return file.read(_BYTES_MAX + 1), f"{path}: "
    except (OSError, ValueError) as error:
        code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_READ
        raise OctetError(f"{path}: {getattr(error, 'strerror', None) or error}", code) from error


class Policy:
    """A policy file, ready to act: it computes the same bits as Octet's actors, alone or in a batch.

    `observations` is one observation (obs_count numbers in any shape), or a batch of observations along the first of at
    least two axes; a batch may be empty. Numbers that are not finite are an error. Any thread may call; calls take turns. A
    copy or a pickle has the same bytes, even if the file changes.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> None:
        error = _lib.create_string_buffer(_lib.ERROR_BYTES)
        handle = ctypes.c_void_p()
        content, place = content_of(source)
        result = lib.octet_policy_load_bytes(_lib.byref(handle), content, len(content), error, len(error))
        self._handle: int | None = None
        self._turn = Turns()
        _lib.check(result, os.fsencode(place) + error.value)
        self._content = content
        self._handle = handle.value
        info = _lib.Info(ctypes.sizeof(_lib.Info))
        _lib.check(lib.octet_policy_get_info(self._handle, _lib.byref(info)), b"the policy has no info")
        metadata = {info.metadata_keys[i].decode(): info.metadata_texts[i].decode() for i in range(info.metadata_count)}
        self.info = PolicyInfo(
            env_id=info.env_id.decode(errors="replace"), run_name=info.run_name.decode(errors="replace"),
            run_id=info.run_id, version=info.version,
            updates=info.updates, env_steps=info.env_steps,
            eval_return=None if np.isnan(info.eval_return) else float(info.eval_return),
            precision=_PRECISIONS.get(info.precision, str(info.precision)), isa=info.isa.decode(),
            obs_dtype=np.dtype(np.uint8 if info.obs_dtype == 2 else np.float32), obs_count=info.obs_count,
            obs_shape=(info.obs_height, info.obs_width, info.obs_channels) if info.obs_height else (info.obs_count,),
            discrete=info.action_kind == 1, action_count=info.action_count,
            action_low=tuple(info.action_low[: info.action_count]) if info.action_low else None,
            action_high=tuple(info.action_high[: info.action_count]) if info.action_high else None,
            output_count=info.output_count, input_name=metadata.pop("octet.input", None),
            output_name=metadata.pop("octet.output", None), metadata=metadata)

    def __reduce__(self) -> tuple[Any, ...]:
        self._live()
        return type(self), (self._content,)

    def __repr__(self) -> str:
        info = self.info
        return f"<octet.Policy {info.env_id} version {info.version}, {info.precision}>"

    def _rows(self, observations: Any) -> tuple[NDArray[Any], int, bool]:
        """Returns contiguous rows, their number, and whether they were a batch."""
        try:
            given = array_of("observations", observations)
        except OctetError as error:  # parts of several shapes, or a dictionary
            raise OctetError(f"{error}; {_FLATTEN}") from error
        kinds = "u" if self.info.obs_dtype == np.uint8 else "fiu"
        if given.dtype.kind not in kinds:
            raise OctetError(f"observations of type {given.dtype}, expected {self.info.obs_dtype}")
        if given.dtype.kind == "u" and given.dtype.itemsize > 1 and self.info.obs_dtype == np.uint8:
            raise OctetError(f"observations of type {given.dtype}, expected uint8")
        with np.errstate(over="ignore"):  # what is infinite then is refused
            rows = np.ascontiguousarray(given, self.info.obs_dtype)
        count = self.info.obs_count
        if given.ndim >= 2 and int(np.prod(given.shape[1:])) == count:
            return rows, given.shape[0], True
        if given.size == count:
            return rows, 1, False
        raise OctetError(f"observations of shape {given.shape}, expected {count} numbers, or (batch, {count})")

    def _actions(self, rows: int) -> NDArray[Any]:
        if self.info.discrete:
            return np.zeros(rows, np.int32)
        return np.zeros((rows, self.info.action_count), np.float32)

    def _live(self) -> int:
        if self._handle is None:
            raise OctetError("the policy is closed")
        return self._handle

    def _call(self, function: Any, rows: NDArray[Any], count: int, out: NDArray[Any]) -> None:
        with self._turn():
            handle = self._live()
            result = function(handle, rows.ctypes.data, count, out.ctypes.data) if count > 0 else 0
        _lib.check(result, b"an observation is not finite" if result == _NOT_FINITE else b"the policy failed")

    def act(self, observations: Any) -> NDArray[Any]:
        """Returns greedy actions: int32, or float32 within the bounds of the box."""
        rows, count, batch = self._rows(observations)
        actions = self._actions(count)
        self._call(lib.octet_policy_act_batch, rows, count, actions)
        return actions if batch else actions[0]

    def outputs(self, observations: Any) -> NDArray[np.float32]:
        """Returns the network's outputs: Q-values or logits, less their mean over actions except in fp32, or what box actions
        are computed from (include/octet/policy.h)."""
        rows, count, batch = self._rows(observations)
        outputs = np.zeros((count, self.info.output_count), np.float32)
        self._call(lib.octet_policy_outputs_batch, rows, count, outputs)
        return outputs if batch else outputs[0]

    def compare(self, other: Policy, observations: Any) -> PolicyDivergence:
        """Compares this policy with another policy of the same task, such as the fp32 policy from which it was quantised
        (`policy.fp32.oct` of a run folder), on a batch of observations: recorded observations are better than random ones."""
        if not isinstance(other, Policy):
            raise OctetError(f"other: {other!r} is not an octet.Policy")
        rows, count, _ = self._rows(observations)
        if count == 0:
            raise OctetError("no observations; expected at least one")
        found, error = _lib.Divergence(ctypes.sizeof(_lib.Divergence)), _lib.create_string_buffer(_lib.ERROR_BYTES)
        with contextlib.ExitStack() as locks:
            for one in sorted({self, other}, key=id):  # in one order, wherever they are compared
                locks.enter_context(one._turn())
            result = lib.octet_policy_compare(self._live(), other._live(), rows.ctypes.data, count, _lib.byref(found),
                                              error, len(error))
        _lib.check(result, error.value)

        def measure(value: float) -> float | None:
            return None if np.isnan(value) else value

        return PolicyDivergence(count, found.agreement, measure(found.kl), measure(found.action_l2), measure(found.max_abs),
                                measure(found.relative_l2))

    def sampler(self, seed: int, rows: int = 1) -> Sampler:
        """Returns a sampler of actions from the policy's distribution, for `rows` observations at a time: each row has its
        own generator."""
        return Sampler(self, seed, rows)

    def close(self) -> None:
        """Frees the policy. The garbage collector frees it, too."""
        with self._turn():  # a call may be using it
            self._free()

    def __enter__(self) -> Policy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _free(self) -> None:
        handle, self._handle, self._content = self._handle, None, b""
        if handle is not None:
            lib.octet_policy_free(handle)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):  # else it was never made
            self._free()


class Sampler:
    """Random generators for the rows of a batch. The same seed samples the same actions on every machine.

    A copy or a pickle continues with the same samples.
    """

    def __init__(self, policy: Policy, seed: int, rows: int) -> None:
        seed, rows = whole("seed", seed, 0, 2**64 - 1), whole("rows", rows, 1, 2**31 - 1)
        self._policy = policy
        self._generators = np.zeros((rows, 2), np.uint64)
        for row in range(rows):
            lib.octet_policy_seed(self._generators[row].ctypes.data, seed, row)

    def __getstate__(self) -> dict[str, Any]:
        with self._policy._turn():  # a call may be drawing
            return {"_policy": self._policy, "_generators": self._generators.copy()}

    def sample(self, observations: Any) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Returns actions, and the logarithms of their probabilities (for a box: densities)."""
        policy = self._policy
        rows, count, batch = policy._rows(observations)
        if count != len(self._generators):
            raise OctetError(f"{count} observations, but the sampler has {len(self._generators)} rows")
        if not np.isfinite(rows).all():
            raise OctetError("an observation is not finite")
        actions, log_probs = policy._actions(count), np.zeros(count, np.float32)
        with policy._turn():
            result = lib.octet_policy_sample_batch(policy._live(), rows.ctypes.data, count,
                                                   self._generators.ctypes.data, actions.ctypes.data,
                                                   log_probs.ctypes.data)
        _lib.check(result, b"the policy has no distribution: it has Q-values or deterministic actions")
        return (actions, log_probs) if batch else (actions[0], log_probs[0])
