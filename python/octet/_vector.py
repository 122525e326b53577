"""Vectors of Octet's environments with the interface of Gymnasium."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import secrets
from collections.abc import Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import Any, SupportsFloat

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _lib, _spaces
from ._arrays import array_of, floats_of
from ._command import options_text
from ._gymnasium import AutoresetMode, VectorEnv, told
from ._lib import OctetError, RenderModeError, keep_python, lib, path_bytes, text_bytes, whole

_AUTORESET = {AutoresetMode.DISABLED: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.NEXT_STEP: 2}
_TERMINATED, _TRUNCATED, _FAILED = 1, 2, 8
_SEED_MAX = 2**64 - 1
_SIDE_MAX = 8192  # RENDER_SIDE_MAX


def seeds_of(seed: int | Sequence[int | None] | None, count: int) -> tuple[NDArray[np.uint64] | None,
                                                                           NDArray[np.bool_] | None]:
    """Returns a seed for each environment, and which environments have one. None and None: all continue."""
    if seed is None:
        return None, None
    try:
        first = operator.index(seed)  # type: ignore[arg-type]
        seed = [first + i for i in range(count)]
    except TypeError:
        pass
    if isinstance(seed, np.ndarray):
        seed = seed.tolist()
    if isinstance(seed, (str, bytes)) or not isinstance(seed, Sequence):
        raise OctetError(f"seed: {seed!r} is neither a whole number nor a list of them")
    if len(seed) != count:
        raise OctetError(f"seed: a list of {len(seed)}, for {count} environments")
    numbers = [0 if one is None else whole("seed", one, 0, _SEED_MAX) for one in seed]
    return np.array(numbers, np.uint64), np.array([one is not None for one in seed])


def mode_of(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        allowed = ", ".join(one.value for one in AutoresetMode)
        raise OctetError(f"autoreset_mode: {mode!r}, allowed are {allowed}") from None


def options_check(options: Mapping[str, Any] | None, *known: str) -> None:
    """Checks the options of a reset; an option without effect is refused."""
    if options is not None and not isinstance(options, Mapping):
        raise OctetError(f"reset: options: {options!r} is not a dictionary")
    unknown = sorted(str(key) for key in options or {} if key not in known)
    if unknown:
        raise OctetError(f"reset: no option {', '.join(unknown)}; known: {', '.join(known) or 'none'}")


def actions_of(given: Any) -> NDArray[Any]:
    return array_of("actions", given)


class OctetVectorEnv(VectorEnv[Any, Any, Any]):
    """`num_envs` environments with the same ID, which liboctet steps together.

    The interface is that of Gymnasium's vectors: `reset(seed=, options={"reset_mask": …})`, `step(actions)`, rewards in
    float64. When episodes end, `infos` has `episode_return`, `episode_length`, the environment's own metrics, and `failed`
    if the environment returned numbers that are not finite and its episode was ended for that reason. With SAME_STEP these
    are in `final_info`, beside `final_obs`.

    copy=True: every call returns new arrays. False: views of the same buffers, which the next call overwrites.

    Unpickling opens a new vector with the same arguments; the state of the episodes and of the random numbers is lost.
    """

    def __init__(self, env_id: str, num_envs: int = 1, *, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
                 copy: bool = True, threads: int = 1, seed: int | None = None, render_mode: str | None = None,
                 width: int | None = None, height: int | None = None, **options: Any) -> None:
        self._make(env_id, num_envs, mode_of(autoreset_mode), copy, threads, seed, render_mode, width, height, options)
        self._again = functools.partial(type(self), env_id, num_envs, autoreset_mode=self._mode, copy=copy, threads=threads,
                                        seed=seed, render_mode=render_mode, width=width, height=height, **options)

    def _make(self, env_id: str, num_envs: int, mode: AutoresetMode, copy: bool, threads: int, seed: int | None,
              render_mode: str | None, width: int | None, height: int | None, options: Mapping[str, Any]) -> None:
        """Opens the vector. options: the options of the environment, which may have any name."""
        if not isinstance(env_id, str):
            raise OctetError(f"id: {env_id!r} is not a name, such as 'CartPole-v1'")
        if render_mode not in (None, "rgb_array"):
            raise RenderModeError(f"render_mode: {render_mode!r}, allowed are None and 'rgb_array'")
        num_envs, threads = whole("num_envs", num_envs, 1, 2**20), whole("threads", threads, 1, 256)
        sides = {name: side for name, side in (("width", width), ("height", height)) if side is not None}
        if env_id.startswith("gym:"):  # drawn by nobody here: these are its own
            options, sides = {**sides, **options}, {}
        self._size = tuple(whole(name, sides.get(name, 0), 0, _SIDE_MAX) for name in ("width", "height"))
        self._opened = ctypes.c_void_p()  # which the library writes: a Ctrl-C between its answer and `_open` leaves none behind
        self._handle: int | None = None
        # Of the process that has its threads, or the child that steps a "gym:" environment.
        self._pid = os.getpid() if threads > 1 or env_id.startswith("gym:") else 0
        self._registered: EnvSpec | None = None
        self._open(env_id, num_envs, mode, threads,
                   secrets.randbits(63) if seed is None else whole("seed", seed, 0, _SEED_MAX), options)
        self.num_envs, self.render_mode, self._copy = num_envs, render_mode, copy
        self._mode = mode
        # The library's, until it is closed: what is asked for later is copied.
        spec: _lib.Spec = lib.octet_vector_spec(self._handle).contents
        self._limit, self._threshold, self._state_count = spec.max_episode_steps, spec.reward_threshold, spec.state_count
        self.single_observation_space = _spaces.of(spec.obs)
        self.single_action_space = _spaces.of(spec.action)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        natural, _, rate = self._picture()
        if natural == 0 and (render_mode is not None or sides):
            why = lib.octet_vector_error(self._handle).decode(errors="replace")
            raise RenderModeError(f"{', '.join(sides)}: {why}" if render_mode is None else why, 6)
        self.metadata = {"autoreset_mode": mode, "render_modes": ["rgb_array"] if natural else [], "render_fps": rate}
        self._buffers(spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, (), {"_registered": self._registered}

    @property
    def spec(self) -> EnvSpec | None:
        """The spec in Gymnasium's registry, with time limit and threshold; None if the vector was not made by the registry.
        """
        return told(self._registered, self._limit, self._threshold)

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._registered = spec

    def _open(self, env_id: str, num_envs: int, mode: AutoresetMode, threads: int, seed: int,
              options: Mapping[str, Any]) -> None:
        config = _lib.Config(ctypes.sizeof(_lib.Config), num_envs, threads, _AUTORESET[mode], seed,
                             path_bytes("id", env_id), text_bytes("options", options_text(env_id, options)))
        if env_id.startswith("gym:"):
            keep_python()
        error = _lib.create_string_buffer(_lib.ERROR_BYTES)
        try:
            _lib.check(lib.octet_vector_open(_lib.byref(self._opened), _lib.byref(config), error, len(error)), error.value)
            self._handle = self._opened.value
        except BaseException:
            self.close_extras()
            raise

    def _buffers(self, spec: _lib.Spec) -> None:
        """Makes the buffers that the library reads and writes, and the struct with their addresses, once."""
        count = self.num_envs
        obs_shape, obs_dtype = _spaces.rows(spec.obs)
        action_shape, action_dtype = _spaces.rows(spec.action)
        self._actions: NDArray[Any] = np.zeros((count, *action_shape), action_dtype)
        self._obs: NDArray[Any] = np.zeros((count, *obs_shape), obs_dtype)
        self._final: NDArray[Any] = np.zeros((count, *obs_shape), obs_dtype)
        self._wide = np.zeros((count, *obs_shape), np.int64) if spec.obs.n > 0 else None
        self._rewards = np.zeros(count, np.float64)
        self._flags = np.zeros(count, np.uint8)
        self._bits = np.zeros(count, np.uint8)
        self._terminated = np.zeros(count, np.bool_)
        self._truncated = np.zeros(count, np.bool_)
        self._returns = np.zeros(count, np.float32)
        self._lengths = np.zeros(count, np.int32)
        self._metric_names = [spec.metric_names[k].decode() for k in range(spec.metric_count)]
        self._metrics = np.zeros((count, spec.metric_count), np.float32)
        # Where an episode ended whose end was already told: NEXT_STEP, DISABLED.
        self._ended = np.zeros(count, np.bool_)
        io = _lib.Io(ctypes.sizeof(_lib.Io), self._actions.ctypes.data, self._actions.nbytes // count,
                     self._obs.ctypes.data, self._obs.nbytes // count, self._final.ctypes.data,
                     self._final.nbytes // count, None, self._flags.ctypes.data, self._returns.ctypes.data,
                     self._lengths.ctypes.data, self._metrics.ctypes.data if spec.metric_count else None,
                     self._rewards.ctypes.data)
        self._io = io
        self._io_pointer = _lib.byref(io)
        self._action_dtype = np.dtype(action_dtype)

    def _live(self) -> int:
        if self._handle is None:
            raise OctetError("the vector is closed")
        if self._pid > 0 and self._pid != os.getpid():
            raise OctetError("a vector of a \"gym:\" environment, or with threads above 1, cannot be used in a forked process: "
                             "open it there, or start the process by \"spawn\" or \"forkserver\"")
        return self._handle

    def _check(self, result: int) -> None:
        if result != 0:
            _lib.check(result, lib.octet_vector_error(self._handle))

    def _observations(self) -> NDArray[Any]:
        """Returns the library's observations, with Discrete ones in Gymnasium's int64."""
        if self._wide is not None:
            self._wide[...] = self._obs
            return self._wide.copy() if self._copy else self._wide
        return self._obs.copy() if self._copy else self._obs

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begins new episodes in all environments, or in those that options["reset_mask"] selects. Environment i gets seed
        + i."""
        handle = self._live()
        options_check(options, "reset_mask")
        mask = self._mask(options)
        seeds, given = seeds_of(seed, self.num_envs)
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        for names, values in (((mask, None),) if given is None or seeds is None
                              else ((mask & given, seeds), (mask & ~given, None))):
            if names.any():
                self._check(lib.octet_vector_reset(handle, names.ctypes.data,
                                                   None if values is None else values.ctypes.data, self._io_pointer))
        self._ended &= ~mask
        return self._observations(), {}

    def _mask(self, options: Mapping[str, Any] | None) -> NDArray[np.bool_] | None:
        mask = options.get("reset_mask") if options else None
        if isinstance(options, MutableMapping):  # Gymnasium's own vectors take the key away, too
            options.pop("reset_mask", None)
        if mask is None:
            return None
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise OctetError(f"reset_mask: not an array of {self.num_envs} bool")
        if not mask.any():
            raise OctetError("reset_mask: it selects no environment")
        return np.ascontiguousarray(mask)

    def _take_actions(self, actions: Any) -> None:
        taken = actions_of(actions)
        if taken.shape != self._actions.shape:
            raise OctetError(f"actions of shape {taken.shape}, expected {self._actions.shape}")
        is_whole = self._action_dtype.kind != "f"
        if taken.dtype.kind not in ("iu" if is_whole else "fiu"):
            raise OctetError(f"actions of type {taken.dtype}, expected {self._action_dtype}")
        if is_whole or taken.dtype == self._action_dtype:
            np.copyto(self._actions, taken, casting="unsafe")
        else:
            with np.errstate(over="ignore"):  # what is infinite then is refused
                np.copyto(self._actions, taken, casting="unsafe")
        if is_whole and taken.dtype != self._action_dtype and not np.array_equal(self._actions, taken):
            raise OctetError(f"actions: a number that does not fit {self._action_dtype}")

    def step(self, actions: Any) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_],
                                          dict[str, Any]]:
        """Steps all environments. An action outside its space is an error, and then no environment is stepped."""
        self._take_actions(actions)
        if self._mode is AutoresetMode.DISABLED and self._ended.any():
            raise OctetError("an episode has ended: reset it first, with options={'reset_mask': …}")
        result = lib.octet_vector_step(self._live(), self._io_pointer)
        if result != 0:
            self._check(result)
        flags, bits = self._flags, self._bits
        np.not_equal(np.bitwise_and(flags, _TERMINATED, out=bits), 0, out=self._terminated)
        np.not_equal(np.bitwise_and(flags, _TRUNCATED, out=bits), 0, out=self._truncated)
        np.not_equal(np.bitwise_and(flags, _TERMINATED | _TRUNCATED, out=bits), 0, out=self._ended)
        infos = self._infos() if self._ended.any() else {}
        if self._copy:
            return (self._observations(), self._rewards.copy(), self._terminated.copy(), self._truncated.copy(),
                    infos)
        return self._observations(), self._rewards, self._terminated, self._truncated, infos

    def _infos(self) -> dict[str, Any]:
        """Returns the infos at the end of episodes, with Gymnasium's masks."""
        ended = self._ended.copy()
        about: dict[str, Any] = {}

        def put(key: str, values: NDArray[Any]) -> None:
            about[key] = np.where(ended, values, 0).astype(values.dtype)
            about["_" + key] = ended

        put("episode_return", self._returns)
        put("episode_length", self._lengths)
        for k, name in enumerate(self._metric_names):
            put(name, self._metrics[:, k])
        failed = np.bitwise_and(self._flags, _FAILED) != 0
        if failed.any():
            about["failed"] = about["_failed"] = failed
        if self._mode is not AutoresetMode.SAME_STEP:
            return about
        final = np.full(self.num_envs, None, object)
        places = np.flatnonzero(ended)
        # The rows of a copy: nothing that the next step writes.
        rows = self._final[places] if self._wide is None else self._final[places].astype(np.int64)
        for place, row in zip(places.tolist(), rows, strict=True):
            final[place] = row
        return {"final_obs": final, "_final_obs": ended, "final_info": about, "_final_info": ended}

    def _picture(self) -> tuple[int, int, float]:
        """Returns width, height and pictures per second; 0 if the environment cannot be drawn."""
        width, height, rate = _lib.c_uint32(), _lib.c_uint32(), _lib.c_double()
        result = lib.octet_vector_picture(self._handle, _lib.byref(width), _lib.byref(height), _lib.byref(rate))
        return (width.value, height.value, rate.value) if result == 0 else (0, 0, 30.0)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns the pictures of all environments, each (height, width, 3), in render_mode "rgb_array"."""
        handle = self._live()
        if self.render_mode is None:
            return None
        width, height, _ = self._picture()
        width, height = self._size[0] or width, self._size[1] or height
        pictures = np.zeros((self.num_envs, height, width, 3), np.uint8)
        for i in range(self.num_envs):
            self._check(lib.octet_vector_render(handle, i, self._obs[i : i + 1].ctypes.data, width, height,
                                                pictures[i].ctypes.data))
        return tuple(pictures)

    def get_state(self, i: int) -> tuple[NDArray[np.float64], int]:
        """Returns the documented physical state of environment i, and the number of steps of its current episode."""
        handle, state, step = self._live(), np.zeros(self._state_count, np.float64), _lib.c_uint32()
        self._check(lib.octet_vector_get_state(handle, whole("i", i, 0, self.num_envs - 1), state.ctypes.data, _lib.byref(step)))
        return state, step.value

    def set_state(self, i: int, state: Sequence[SupportsFloat] | NDArray[Any], episode_step: int = 0) -> None:
        """Sets the state that get_state returns. The random generator is unchanged; the sum of the episode's return starts
        again at 0."""
        handle, i, step = self._live(), whole("i", i, 0, self.num_envs - 1), whole("episode_step", episode_step, 0, 2**32 - 1)
        numbers = floats_of("state", state, np.float64)
        if numbers.shape != (self._state_count,):
            raise OctetError(f"a state of shape {numbers.shape}, expected ({self._state_count},)")
        self._check(lib.octet_vector_set_state(handle, i, numbers.ctypes.data, step, self._io_pointer))
        self._ended[i] = False

    @property
    def observations(self) -> NDArray[Any]:
        """The current observations, as the last call returned them: a view, also with copy=True."""
        return self._obs

    @property
    def failures(self) -> tuple[int, str]:
        """The number of failures of an environment, and the cause of the last."""
        handle = self._live()
        return lib.octet_vector_failures(handle), lib.octet_vector_failure(handle).decode(errors="replace")

    def close_extras(self, **kwargs: Any) -> None:
        opened, self._opened, self._handle = getattr(self, "_opened", None), ctypes.c_void_p(), None
        if opened and (self._pid == 0 or self._pid == os.getpid()):  # they are not a fork's to end
            lib.octet_vector_close(opened)

    def __enter__(self) -> OctetVectorEnv:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close_extras()
