"""A single environment of Octet's with the interface of Gymnasium."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from ._gymnasium import AutoresetMode, told
from ._lib import OctetError, lib, whole
from ._vector import _FAILED, _SEED_MAX, _TERMINATED, _TRUNCATED, OctetVectorEnv, actions_of, options_check


class OctetEnv(gymnasium.Env[Any, Any]):
    """An environment, opened by its ID. Observations are copies, and an ended episode stays ended until `reset`.

    At the end of an episode, `info` has `episode_return`, `episode_length` and the environment's own metrics. A vector
    (`octet.make_vec`) is many times faster per step.

    Unpickling opens a new environment with the same arguments; the state of the episode and of the random numbers is lost.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, env_id: str, *, render_mode: str | None = None, width: int | None = None, height: int | None = None,
                 seed: int | None = None, **options: Any) -> None:
        self._registered: EnvSpec | None = None
        self._again = functools.partial(type(self), env_id, render_mode=render_mode, width=width, height=height, seed=seed,
                                        **options)
        self._one = OctetVectorEnv.__new__(OctetVectorEnv)
        self._one._make(env_id, 1, AutoresetMode.DISABLED, True, 1, seed, render_mode, width, height, options)
        self.observation_space = self._one.single_observation_space
        self.action_space = self._one.single_action_space
        self.render_mode = render_mode
        self.metadata = {key: self._one.metadata[key] for key in ("render_modes", "render_fps")}
        self._discrete = self._one._wide is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, (), {"_registered": self._registered}

    @property
    def spec(self) -> EnvSpec | None:
        """The spec in Gymnasium's registry, with time limit and threshold; None if the environment was not made by the
        registry."""
        return told(self._registered, self._one._limit, self._one._threshold)

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._registered = spec

    def _observation(self) -> Any:
        return np.int64(self._one._obs[0]) if self._discrete else self._one._obs[0].copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode. The same seed starts the same episode; for environments with an ID of Gymnasium's, the same as
        there."""
        options_check(options)
        seed = None if seed is None else whole("seed", seed, 0, _SEED_MAX)
        super().reset(seed=seed)
        self._one.reset(seed=seed)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        one = self._one
        taken = actions_of(action)
        if taken.shape != one._actions.shape[1:]:
            raise OctetError(f"an action of shape {taken.shape}, expected {one._actions.shape[1:]}")
        one._take_actions(taken[np.newaxis])
        result = lib.octet_vector_step(one._live(), one._io_pointer)
        if result != 0:
            one._check(result)
        flags = int(one._flags[0])
        info: dict[str, Any] = {}
        if flags & (_TERMINATED | _TRUNCATED):
            info = {"episode_return": float(one._returns[0]), "episode_length": int(one._lengths[0])}
            info.update((name, float(one._metrics[0, k])) for k, name in enumerate(one._metric_names))
            if flags & _FAILED:
                info["failed"] = one.failures[1]
        return self._observation(), float(one._rewards[0]), bool(flags & _TERMINATED), bool(flags & _TRUNCATED), info

    def render(self) -> NDArray[np.uint8] | None:
        """Returns the picture (height, width, 3) in render_mode "rgb_array"."""
        pictures = self._one.render()
        return None if pictures is None else pictures[0]

    def get_state(self) -> tuple[NDArray[np.float64], int]:
        """Returns the documented physical state, and the number of steps of the current episode."""
        return self._one.get_state(0)

    def set_state(self, state: Any, episode_step: int = 0) -> None:
        """Sets the state that get_state returns."""
        self._one.set_state(0, state, episode_step)

    def close(self) -> None:
        self._one.close()
