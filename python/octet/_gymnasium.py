"""Gymnasium's vector classes. Private.

Gymnasium before 1.1, which programs such as CleanRL's require, has no AutoresetMode, and its vectors follow other rules.
There, single environments are Gymnasium environments as well, but vectors use Octet's own classes instead of those of 1.1.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gymnasium.vector
from gymnasium.envs.registration import EnvSpec

if TYPE_CHECKING or hasattr(gymnasium.vector, "AutoresetMode"):
    from gymnasium.vector import AutoresetMode, VectorEnv
else:
    _Obs, _Action, _Array = TypeVar("_Obs"), TypeVar("_Action"), TypeVar("_Array")

    class AutoresetMode(enum.Enum):
        """The same as in Gymnasium 1.1."""

        NEXT_STEP, SAME_STEP, DISABLED = "NextStep", "SameStep", "Disabled"

    class VectorEnv(Generic[_Obs, _Action, _Array]):
        """The part of Gymnasium's class that is not overridden."""

        spec = None

        def close(self, **kwargs: Any) -> None:
            self.close_extras(**kwargs)

        @property
        def unwrapped(self) -> Any:
            return self


__all__ = ["AutoresetMode", "VectorEnv", "told"]


def told(spec: EnvSpec | None, native_limit: int, native_threshold: float) -> EnvSpec | None:
    """Returns the registered spec with what only an open environment knows: its time limit and its threshold. If the
    environment is inside a TimeLimit, the spec of that wrapper has the limit."""
    if spec is None:
        return None
    threshold = spec.reward_threshold
    if threshold is None and math.isfinite(native_threshold):
        threshold = native_threshold
    return dataclasses.replace(spec, max_episode_steps=native_limit or None, reward_threshold=threshold)
