#!/usr/bin/env python3
"""Writes a trajectory of dm_control itself, to hold octet env replay against.

usage: dmc_trace.py ID STEPS SEED ACTIONS FILE.csv
       ID: humanoid_run, ball_in_cup_catch, …; ACTIONS: hold, sine, bang or white

Needs dm_control 1.0.7 with mujoco 2.2.2, which have packages on PyPI for Python 3.10:
    pip install mujoco==2.2.2 dm_control==1.0.7 'numpy<2'; MUJOCO_GL=disabled
Columns as in tests/data/dmc/README.md, with the reward of the one task. Then:
    octet env replay dmc:ID FILE.csv
"""

import csv
import sys

import numpy as np
from dm_control import suite

DOMAINS = ["acrobot", "ball_in_cup", "cartpole", "cheetah", "finger", "fish", "hopper", "humanoid", "pendulum",
           "point_mass", "reacher", "swimmer", "walker"]


def actions_of(kind, rng, low, high):
    """Endless actions of an episode: float32 numbers, as the environment gets them."""
    phase, pace = rng.uniform(0, 2 * np.pi, len(low)), rng.uniform(0.05, 0.6, len(low))
    action, t = np.zeros_like(low), 0
    while True:
        if kind == "white" or (kind == "hold" and t % rng.integers(3, 25) == 0):
            action = rng.uniform(low, high)
        elif kind == "sine":
            action = low + (high - low) * (0.5 + 0.5 * np.sin(pace * t + phase))
        elif kind == "bang" and t % 7 == 0:
            action = np.where(rng.random(len(low)) < 0.5, low, high)
        yield np.asarray(action, dtype=np.float32).astype(float)
        t += 1


def keep_start_of_settling(env, kept):
    """Cheetah's first state, before the 200 steps in which it settles."""
    initialize = env.task.initialize_episode

    def recorded(physics):
        step = physics.step
        kept.clear()

        def first_seen(**arguments):
            if not kept:
                kept.extend(physics.data.qpos)
            step(**arguments)
        physics.step = first_seen
        initialize(physics)
        physics.step = step
    env.task.initialize_episode = recorded


def model_columns(domain, task, physics, settling):
    """What the reset wrote into the model, or threw away."""
    if domain == "reacher" or domain == "swimmer":
        return {f"model.target_xy[{i}]": x for i, x in enumerate(physics.named.model.geom_pos["target"][:2])}
    if domain == "finger" and task != "spin":
        return {f"model.target_xz[{i}]": x for i, x in enumerate(physics.named.model.site_pos["target"][[0, 2]])}
    if domain == "fish" and task == "swim":
        return {f"model.target_xyz[{i}]": x for i, x in enumerate(physics.named.model.geom_pos["target"])}
    return {f"model.pre_settle_qpos[{i}]": x for i, x in enumerate(settling)}


def reward_column(domain, task):
    if domain == "cartpole":
        return "r_sparse" if task.endswith("sparse") else "r_dense"
    return "r_swim" if domain == "swimmer" else f"r_{task}"


def row_of(env, domain, task, settling, now, action):
    physics = env.physics
    row = {f"u{i}": None if now.first() else x for i, x in enumerate(action)}
    row |= {f"qpos{i}": x for i, x in enumerate(physics.data.qpos)}
    row |= {f"qvel{i}": x for i, x in enumerate(physics.data.qvel)}
    for key, value in now.observation.items():
        row |= {f"{key}[{i}]": x for i, x in enumerate(np.ravel(value))}
    row[reward_column(domain, task)] = now.reward
    model = model_columns(domain, task, physics, settling)
    row |= model if now.first() else dict.fromkeys(model)
    return {name: "" if x is None else repr(float(x)) for name, x in row.items()}


def main(name, steps, seed, kind, path):
    domain = next(d for d in DOMAINS if name.startswith(d + "_"))
    task = name[len(domain) + 1:]
    env = suite.load(domain, task, task_kwargs={"random": int(seed)})
    rng, settling = np.random.default_rng(int(seed)), []
    if domain == "cheetah":
        keep_start_of_settling(env, settling)
    low, high = env.action_spec().minimum, env.action_spec().maximum
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer, episode, left = None, 0, int(steps)
        while left > 0:
            now, t, actions = env.reset(), 0, actions_of(kind, rng, low, high)
            action = np.zeros_like(low)
            while True:
                row = {"ep": episode, "t": t} | row_of(env, domain, task, settling, now, action)
                if writer is None:
                    writer = csv.DictWriter(file, row, lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
                if now.last() or left == 0:
                    break
                action = next(actions)
                now, t, left = env.step(action), t + 1, left - 1
            episode += 1


if __name__ == "__main__":
    if len(sys.argv) != 6 or sys.argv[4] not in ("hold", "sine", "bang", "white"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
