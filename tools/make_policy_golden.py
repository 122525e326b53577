#!/usr/bin/env python3
"""Writes tests/data/policy: policy files and what they must answer, from golden_policy.py.
usage: make_policy_golden.py FOLDER        (numpy 1.24; any version should give the same files)

NAME.oct is a policy. NAME.txt has one line for each observation: the numbers of the observation,
"|", the outputs, "|", the action; numbers as the eight hexadecimal digits of the single precision
word (of the int32 for a discrete action). math.txt has x, exp(x), expm1(x), tanh(x) in each line."""

import pathlib
import sys

import numpy as np

import golden_policy as g
from golden_policy import F

ROWS = 24


def make_layer(rng, inputs, outputs, activation, norm, per_tensor):
    w = (rng.standard_normal((outputs, inputs)) * 1.5 / np.sqrt(inputs)).astype(F)
    if outputs > 3:
        w[3] = 0  # a row of zeros has scale 0
    most = np.abs(w).max(axis=1)
    scales = (np.full(outputs, most.max(), F) if per_tensor else most) / F(127)
    safe = np.where(scales == 0, F(1), scales)
    codes = np.clip(np.rint(w / safe[:, None]), -127, 127).astype(np.int8)
    return {"shape": (outputs, inputs), "activation": activation, "norm": norm, "weights": w,
            "scales": scales, "codes": codes,
            "bias": (rng.standard_normal(outputs) * 0.2).astype(F),
            "gain": (1 + rng.standard_normal(outputs) * 0.3).astype(F),
            "offset": (rng.standard_normal(outputs) * 0.3).astype(F)}


def make_policy(seed, widths, activation, norm, per_tensor=False, **fields):
    rng = np.random.default_rng(seed)
    layers = []
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        last = i == len(widths) - 2
        layers.append(make_layer(rng, inputs, outputs, g.LINEAR if last else
                                 g.TANH if norm and i == 0 else activation, norm and i == 0,
                                 per_tensor))
    policy = {"run_id": 0x0123456789ABCDEF, "version": 42, "updates": 1000, "env_steps": 50000,
              "eval_return": 487.25, "run_name": "golden", "per_tensor": per_tensor,
              "env_id": "Golden-v0", "obs_dtype": 1, "obs_count": widths[0], "normalise": False,
              "action_kind": g.DISCRETE, "actions": widths[-1], "head": g.VALUES,
              "mean": rng.standard_normal(widths[0]).astype(F),
              "inverse_std": (0.5 + rng.random(widths[0])).astype(F), "layers": layers}
    policy.update(fields)
    return policy


def observations(policy, rng):
    count = policy["obs_count"]
    if policy["obs_dtype"] == 2:
        return rng.integers(0, 256, (ROWS, count)).astype(F)
    obs = rng.standard_normal((ROWS, count)).astype(F)
    obs[0] = 0
    obs[1] = 1
    obs[2] = -np.abs(obs[2])
    obs[3] *= F(1e15) if policy["normalise"] else F(1e30)  # squares must fit where there are any
    obs[4] *= F(1e-39)
    return obs


def words(values, dtype):
    return " ".join(f"{w:08x}" for w in np.atleast_1d(values).astype(dtype).view(np.uint32))


def write(folder, name, policy):
    (folder / f"{name}.oct").write_bytes(g.encode(policy))
    forward = g.forward_int8 if policy["precision"] == g.INT8 else g.forward_double
    lines = []
    for obs in observations(policy, np.random.default_rng(7)):
        y = forward(policy, obs)
        is_box = policy["action_kind"] == g.BOX
        lines.append(" | ".join([words(obs, F), words(y, F),
                                 words(g.act(policy, y), F if is_box else np.int32)]))
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


def write_math(folder):
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.uniform(-90, 90, 400), rng.standard_normal(400),
                        rng.standard_normal(100) * 1e-4, [0, -0.0, 9.02, -17.4, 1e30, -1e30, 1e-45]])
    x = x.astype(F)
    lines = [words(row, F) for row in np.stack([x, g.exp(x), g.expm1(x), g.tanh(x)], axis=1)]
    (folder / "math.txt").write_text("\n".join(lines) + "\n")


def main(folder):
    write_math(folder)
    box = {"action_kind": g.BOX, "head": g.TANH_HEAD, "normalise": True,
           "low": np.array([-1, -2, 0.5], F), "high": np.array([1, 3, 0.75], F)}
    atoms = {"obs_dtype": 2, "head": g.ATOMS, "actions": 3, "atoms": 11, "value_min": -5.0,
             "value_max": 20.0}
    write(folder, "relu_int8", make_policy(1, [4, 32, 32, 2], g.RELU, False, precision=g.INT8))
    write(folder, "relu_int8_per_tensor",
          make_policy(2, [4, 40, 2], g.RELU, False, per_tensor=True, precision=g.INT8))
    write(folder, "box_int8", make_policy(3, [5, 33, 20, 3], g.ELU, True, precision=g.INT8, **box))
    write(folder, "box_fp32", make_policy(3, [5, 33, 20, 3], g.ELU, True, precision=g.FP32, **box))
    write(folder, "atoms_int8", make_policy(4, [6, 17, 33], g.TANH, False, precision=g.INT8, **atoms))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(pathlib.Path(sys.argv[1]))
