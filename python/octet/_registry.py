"""Octet's environments by id, and in Gymnasium's registry, by whose rules their time limits are. Private.

Gymnasium counts steps around an environment (TimeLimit), which hears neither of the limit that `gymnasium.make` is given nor
of an end by it. Those that it makes have no limit of their own, so that any number holds; a vector, which Gymnasium has no
such wrapper for, gets the number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from ._env import OctetEnv
from ._gymnasium import AutoresetMode
from ._lib import ids, whole
from ._vector import OctetVectorEnv

_STEPS_MAX = 10**9
_REPEAT_MAX = 64  # OCT_ACTION_REPEAT_MAX


@functools.cache
def _limit_of(env_id: str) -> int | None:
    with OctetVectorEnv(env_id) as one:
        return one._limit or None


class Spec(EnvSpec):
    """Its time limit may be a function, which is called when somebody reads it: for that the environment is opened."""

    @property
    def max_episode_steps(self) -> int | None:
        return self._steps() if callable(self._steps) else self._steps

    @max_episode_steps.setter
    def max_episode_steps(self, steps: int | None | Callable[[], int | None]) -> None:
        self._steps = steps


class RegisteredEnv(OctetEnv):
    """What `gymnasium.make` makes. Its `info` has the sums of the episode in every step: any may be the last."""

    def __init__(self, env_id: str, **arguments: Any) -> None:
        super().__init__(env_id, **{**arguments, "max_episode_steps": 0})
        self._return, self._length = 0.0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._return, self._length = 0.0, 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        self._return += reward
        self._length += 1
        return (observation, reward, terminated, truncated,
                info or {"episode_return": self._return, "episode_length": self._length})

    def set_state(self, state: Any, episode_step: int = 0) -> None:
        super().set_state(state, episode_step)
        self._return, self._length = 0.0, episode_step


def vector(env_id: str, num_envs: int = 1, *, max_episode_steps: int | None = None, **arguments: Any) -> OctetVectorEnv:
    """What `gymnasium.make_vec` makes. The limit counts calls of step, as that of `gymnasium.make`, and -1 is none."""
    if max_episode_steps is not None:
        repeat = whole("action_repeat", arguments.get("action_repeat", 1), 1, _REPEAT_MAX)
        steps = whole("max_episode_steps", max_episode_steps, -1, _STEPS_MAX // repeat)
        arguments["max_episode_steps"] = max(steps, 0) * repeat
    return OctetVectorEnv(env_id, num_envs, **arguments)


def _name_of(env_id: str) -> str:
    """In Gymnasium's registry, where a colon names a module and one slash a namespace."""
    return "octet/" + env_id.replace("/", "-").replace(":", "-")


def register() -> None:
    for env_id in ids():
        name = _name_of(env_id)
        if name not in gymnasium.registry:
            spec = Spec(name, entry_point="octet._registry:RegisteredEnv", vector_entry_point="octet._registry:vector",
                        kwargs={"env_id": env_id})
            spec.max_episode_steps = functools.partial(_limit_of, env_id)
            gymnasium.registry[name] = spec


def make(id: str, *, render_mode: str | None = None, width: int | None = None, height: int | None = None,
         seed: int | None = None,
         **options: Any) -> OctetEnv:
    """One environment by id: Octet's own, "dmc:TASK", "gym:NAME" of Gymnasium, or the path of a plug-in.

    render_mode: None, or "rgb_array" for `render`, whose pictures have this width and height (None: those that suit it).
    seed: of the first episode, where reset has none; None draws one. Other arguments are options of the environment, such as
    sutton_barto_reward=True. Of a "gym:" environment, which is not drawn here, width and height are such options, too. See
    OctetEnv.
    """
    return OctetEnv(id, render_mode=render_mode, width=width, height=height, seed=seed, **options)


def make_vec(id: str, num_envs: int = 1, *, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, copy: bool = True,
             threads: int = 1, seed: int | None = None, render_mode: str | None = None, width: int | None = None,
             height: int | None = None, **options: Any) -> OctetVectorEnv:
    """`num_envs` environments of an id (see octet.make) that are stepped together.

    autoreset_mode: what follows an episode's end, "NextStep", "SameStep" or "Disabled". copy=False: every call answers the
    same arrays, which the next call overwrites. threads: of its own, which share the environments. seed: of the first
    episodes, where reset has none; environment i gets seed + i. See OctetVectorEnv.
    """
    return OctetVectorEnv(id, num_envs, autoreset_mode=autoreset_mode, copy=copy, threads=threads, seed=seed,
                          render_mode=render_mode, width=width, height=height, **options)
