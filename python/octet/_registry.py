"""Octet's environments by ID, and in Gymnasium's registry, which decides their time limits. Private.

Gymnasium counts steps around an environment (TimeLimit), which learns neither the limit given to `gymnasium.make` nor that
an episode ended by it. Such environments have no limit of their own, so that any limit works. Gymnasium has no such wrapper
for vectors, so a vector gets the limit.
"""

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
    """A spec whose time limit may be a function, called when the limit is read: it opens the environment."""

    @property
    def max_episode_steps(self) -> int | None:
        return self._steps() if callable(self._steps) else self._steps

    @max_episode_steps.setter
    def max_episode_steps(self, steps: int | None | Callable[[], int | None]) -> None:
        self._steps = steps


class RegisteredEnv(OctetEnv):
    """The environment that `gymnasium.make` makes. Its `info` has the sums of the episode in every step, because any step
    may be the last."""

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
    """Makes the vector for `gymnasium.make_vec`. The limit counts calls of step, as with `gymnasium.make`; -1 is no limit."""
    if max_episode_steps is not None:
        repeat = whole("action_repeat", arguments.get("action_repeat", 1), 1, _REPEAT_MAX)
        steps = whole("max_episode_steps", max_episode_steps, -1, _STEPS_MAX // repeat)
        arguments["max_episode_steps"] = max(steps, 0) * repeat
    return OctetVectorEnv(env_id, num_envs, **arguments)


def _name_of(env_id: str) -> str:
    """Returns the name in Gymnasium's registry, where a colon follows a module and one slash a namespace."""
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
    """Opens an environment by its ID: an environment of Octet's, "dmc:TASK", "gym:NAME" of Gymnasium, or the path of a
    plug-in.

    render_mode: None, or "rgb_array" for `render`; width and height set the size of its pictures (None: a size that suits
    the environment). seed: the seed of the first episode if `reset` is called without one; None draws a seed. Other
    arguments are options of the environment, such as sutton_barto_reward=True. Octet does not draw "gym:" environments, so
    there width and height are options of the environment, too. See OctetEnv.
    """
    return OctetEnv(id, render_mode=render_mode, width=width, height=height, seed=seed, **options)


def make_vec(id: str, num_envs: int = 1, *, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, copy: bool = True,
             threads: int = 1, seed: int | None = None, render_mode: str | None = None, width: int | None = None,
             height: int | None = None, **options: Any) -> OctetVectorEnv:
    """Opens `num_envs` environments with the same ID (see octet.make), which are stepped together.

    autoreset_mode: what follows the end of an episode: "NextStep", "SameStep" or "Disabled". copy=False: every call returns
    the same arrays, and the next call overwrites them. threads: threads of the vector that share the environments. seed:
    the seed of the first episodes if `reset` is called without one; environment i gets seed + i. See OctetVectorEnv.
    """
    return OctetVectorEnv(id, num_envs, autoreset_mode=autoreset_mode, copy=copy, threads=threads, seed=seed,
                          render_mode=render_mode, width=width, height=height, **options)
