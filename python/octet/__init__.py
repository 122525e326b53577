"""Octet from Python: environments, policies, and the command line.

    octet.make("CartPole-v1")                           a gymnasium.Env
    octet.make_vec("dmc:cheetah_run", num_envs=64)      a gymnasium.vector.VectorEnv
    gymnasium.make("octet:octet/CartPole-v1")           the same from Gymnasium's registry
    octet.train("cartpole", run_dir="run")              `octet train` as a function; octet.Run("run") reads its folder
    octet.start("cartpole", run_dir="run")              the same in the background
    octet.sweep("cartpole", {KEY: VALUES}, "sweep")     runs of many settings; octet.compare(runs) compares them
    octet.Policy("policy.oct").act(observation)         the policy that a run published
    octet.import_policy(model, observations)            a policy from a network that was trained elsewhere
    octet.Learner("cartpole", run_dir="run")            a learner of your own on Octet's actors and replay
    octet.Replay("folder", observation=…, action=…)     a replay service for any program's steps
    octet.preset("cartpole")                            the path of an experiment for `octet train`

Errors are `octet.OctetError`, with the message of the command line. docs/python.md explains more.
"""

from __future__ import annotations

import importlib.util
import pathlib
from typing import TYPE_CHECKING, Any

from . import _lib
from ._command import finished
from ._import import Imported, ImportReport, import_policy
from ._lib import OctetError, RenderModeError, ids
from ._learner import Layer, Learner, LearnerBatch
from ._policy import Policy, PolicyDivergence, PolicyInfo, Sampler
from ._replay import Batch, Replay, ReplayTimeoutError, Sequences, Writer
from ._train import Job, Run, RunTimeoutError, compare, start, sweep, train

__all__ = ["Batch", "ImportReport", "Imported", "Job", "Layer", "Learner", "LearnerBatch", "OctetEnv", "OctetError",
           "OctetVectorEnv", "Policy", "PolicyDivergence", "PolicyInfo", "RenderModeError", "Replay", "ReplayTimeoutError",
           "Run", "RunTimeoutError", "Sampler", "Sequences", "Writer", "__version__", "compare", "ids", "import_policy",
           "make", "make_vec", "preset", "start", "sweep", "train"]
__version__: str = _lib.lib.octet_version().decode()

# Debian has no Gymnasium. Without it all is there but the environments.
_OF_GYMNASIUM = ("AutoresetMode", "OctetEnv", "OctetVectorEnv", "make", "make_vec")
if TYPE_CHECKING or importlib.util.find_spec("gymnasium") is not None:
    from ._env import OctetEnv
    from ._gymnasium import AutoresetMode
    from ._registry import make, make_vec, register
    from ._vector import OctetVectorEnv
    register()
else:
    __all__ = [name for name in __all__ if name not in _OF_GYMNASIUM]

    def __getattr__(name: str) -> Any:
        if name in _OF_GYMNASIUM:
            raise AttributeError(f"octet.{name} needs Gymnasium, which this Python does not have: pip install gymnasium")
        raise AttributeError(f"module 'octet' has no attribute {name!r}")


def preset(name: str) -> pathlib.Path:
    """Returns the path of a preset: an experiment file that comes with the program octet, such as "cartpole" or
    "dmc/cheetah_run"."""
    if not isinstance(name, str):
        raise OctetError(f"preset: {name!r} is not a name, such as 'cartpole'")
    done = finished("presets", "--", name)
    if done.returncode != 0:
        raise OctetError(done.stderr.strip().removeprefix("octet presets: error: "), 6)
    return pathlib.Path(done.stdout.removesuffix("\n"))

