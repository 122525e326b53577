"""Octet from Python: environments, policies, and the command line.

    octet.make("CartPole-v1")                           a gymnasium.Env
    octet.make_vec("dmc:cheetah_run", num_envs=64)      a gymnasium.vector.VectorEnv
    gymnasium.make("octet:octet/CartPole-v1")           the same by Gymnasium's registry
    octet.train("cartpole", run_dir="run")              `octet train` as a function; octet.Run("run") is what it left
    octet.start("cartpole", run_dir="run")              the same in the background
    octet.sweep("cartpole", {KEY: VALUES}, "sweep")     runs of many settings; octet.compare(runs) compares them
    octet.Policy("policy.oct").act(observation)         what a run published
    octet.import_policy(model, observations)            a policy of a network that was trained elsewhere
    octet.Learner("cartpole", run_dir="run")            a learner of your own on Octet's actors and replay
    octet.Replay("folder", observation=…, action=…)     a replay service for anybody's steps
    octet.preset("cartpole")                            the path of an experiment for `octet train`

Errors are `octet.OctetError`, with the words of the command line. docs/python.md has more.
"""

from __future__ import annotations

import pathlib
from typing import Any

from . import _lib, _registry
from ._command import finished
from ._env import OctetEnv
from ._gymnasium import AutoresetMode
from ._import import Imported, ImportReport, import_policy
from ._lib import OctetError, RenderModeError, ids
from ._learner import Layer, Learner, LearnerBatch
from ._policy import Policy, PolicyDivergence, PolicyInfo, Sampler
from ._replay import Batch, Replay, ReplayTimeoutError, Sequences, Writer
from ._train import Job, Run, RunTimeoutError, compare, start, sweep, train
from ._vector import OctetVectorEnv

__all__ = ["Batch", "ImportReport", "Imported", "Job", "Layer", "Learner", "LearnerBatch", "OctetEnv", "OctetError",
           "OctetVectorEnv", "Policy", "PolicyDivergence", "PolicyInfo", "RenderModeError", "Replay", "ReplayTimeoutError",
           "Run", "RunTimeoutError", "Sampler", "Sequences", "Writer", "__version__", "compare", "ids", "import_policy",
           "make", "make_vec", "preset", "start", "sweep", "train"]
__version__: str = _lib.lib.octet_version().decode()


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


def preset(name: str) -> pathlib.Path:
    """The experiment file of that name that comes with the program octet, such as "cartpole" or "dmc/cheetah_run"."""
    if not isinstance(name, str):
        raise OctetError(f"preset: {name!r} is no name, such as 'cartpole'")
    done = finished("presets", "--", name)
    if done.returncode != 0:
        raise OctetError(done.stderr.strip().removeprefix("octet presets: error: "), 6)
    return pathlib.Path(done.stdout.removesuffix("\n"))


_registry.register()
