#!/usr/bin/env python3
"""Writes tests/data/policy: policy files and what they must answer, from golden_policy.py.
usage: make_policy_golden.py FOLDER        (numpy 1.24; any version should give the same files)

NAME.oct is a policy. NAME.txt has one line for each observation: the numbers of the observation,
"|", the outputs, "|", the action; numbers as the eight hexadecimal digits of the single precision
word (of the int32 for a discrete action). NAME_change.oct is the change from NAME.oct to
NAME_next.oct. Of heads with a distribution NAME_draws.txt has a line for each observation, drawn with
the generator of seed 11 and the line's number as stream: action | log-probability and the numbers
before they were clipped or squashed. math.txt has x, exp(x), expm1(x), tanh(x) in each line."""

import pathlib
import sys

import numpy as np

import golden_policy as g
from golden_policy import F

ROWS = 24
CONTRACT = {"joint_names": "hip,thigh,calf", "octet.input": "obs", "ключ": "Größe 0,1 €", "empty": "", "octet.output": "logits",
            "long": "0.25," * 200}


def make_layer(rng, inputs, outputs, activation, norm, per_tensor):
    w = (rng.standard_normal((outputs, inputs)) * 1.5 / np.sqrt(inputs)).astype(F)
    if outputs > 3:
        w[3] = 0  # a row of zeros has scale 0
    most = np.abs(w).max(axis=1)
    scales = (np.full(outputs, most.max(), F) if per_tensor else most) / F(127)
    safe = np.where(scales == 0, F(1), scales)
    codes = np.clip(np.rint(w / safe[:, None]), -127, 127).astype(np.int8)
    return {"shape": (outputs, inputs), "conv": None, "activation": activation, "norm": norm, "weights": w,
            "scales": scales, "codes": codes,
            "bias": (rng.standard_normal(outputs) * 0.2).astype(F),
            "gain": (1 + rng.standard_normal(outputs) * 0.3).astype(F),
            "offset": (rng.standard_normal(outputs) * 0.3).astype(F)}


def to_halves(policy):
    """BF16 by its definition on the words, FP16 by numpy; both round to nearest even."""
    for layer in policy["layers"]:
        w = layer["weights"]
        if policy["precision"] == g.FP16:
            layer["halves"] = w.astype(np.float16).view(np.uint16)
        else:
            bits = w.view(np.uint32)
            layer["halves"] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_int4(policy):
    for layer in policy["layers"]:
        w = layer["weights"]
        outputs, inputs = w.shape
        groups = (inputs + g.GROUP - 1) // g.GROUP
        padded = np.zeros((outputs, groups * g.GROUP), F)
        padded[:, :inputs] = np.abs(w)
        most = padded.reshape(outputs, groups, g.GROUP).max(axis=2)
        scales = most.max(axis=1) / F(7 * 15)
        safe = np.where(scales == 0, F(1), scales)[:, None]
        multipliers = np.clip(np.rint(most / (safe * F(7))), 1, 15)
        layer["multipliers"] = np.where(most == 0, 0, multipliers).astype(np.uint8)
        step = safe * np.repeat(np.maximum(multipliers, 1), g.GROUP, axis=1)[:, :inputs].astype(F)
        layer["scales"] = scales
        layer["codes"] = np.clip(np.rint(w / step), -7, 7).astype(np.int8)


def next_version(policy, seed):
    """Changes codes slightly. In each layer, row 1 gets a coarser grid, row 2 changes its codes by more
    than eight bits can express, and row 3 gets a finer grid, which predicts codes at their limit. In
    a layer with more rows, another row gets a grid, another loses its grid, and another gets a grid
    that is too fine for any code."""
    rng = np.random.default_rng(seed)
    is_int4 = policy["precision"] == g.INT4
    limit = 7 if is_int4 else 127
    after = dict(policy, version=policy["version"] + 3, updates=policy["updates"] + 100, layers=[],
                 mean=policy["mean"] + F(0.01), eval_return=float("nan"))
    if policy.get("deviation") is not None:
        after["deviation"] = policy["deviation"] - F(0.125)
    for layer in policy["layers"]:
        new = dict(layer, scales=layer["scales"].copy(), bias=layer["bias"] * F(0.999))
        moved = rng.integers(-2, 3, layer["codes"].shape) * (rng.random(layer["codes"].shape) < 0.3)
        moved[1] = -2 * layer["codes"][1].astype(np.int64)
        new["scales"][0] *= F(1.07)
        new["scales"][2] *= F(0.8)
        if len(moved) > 6:
            new["scales"][3] = F(0.01)
            new["scales"][5] = 0
            new["scales"][6] *= F(1e-30)
            moved[5] = -layer["codes"][5].astype(np.int64)
        if is_int4:
            moved *= np.repeat(layer["multipliers"] > 0, g.GROUP, axis=1)[:, :moved.shape[1]]
            new["multipliers"] = layer["multipliers"].copy()
            new["multipliers"][2, 0] = 16 - new["multipliers"][2, 0]
        new["codes"] = np.clip(layer["codes"] + moved, -limit, limit).astype(np.int8)
        if len(moved) > 4:
            new["bias"][4] = -new["bias"][4]
        after["layers"].append(new)
    return after


def make_convs(rng, shape, kernel, filters, activation, per_tensor):
    """Convolutions over a map of rows x columns x channels, and how many numbers come out."""
    layers, (height, width, channels) = [], shape
    for count in filters:
        inputs = height * width * channels
        layer = make_layer(rng, kernel * kernel * channels, count, activation, False, per_tensor)
        layer["conv"] = (height, width, channels, count, kernel)
        height, width, channels = height - kernel + 1, width - kernel + 1, count
        layer["shape"] = (height * width * channels, inputs)
        layers.append(layer)
    return layers, height * width * channels


def make_policy(seed, widths, activation, norm, per_tensor=False, convs=None, **fields):
    """convs: map, kernel, filters of convolutions before the layers; widths[0] is then 0."""
    rng = np.random.default_rng(seed)
    layers = []
    if convs is not None:
        layers, inputs = make_convs(rng, *convs, activation, per_tensor)
        widths = [inputs, *widths[1:]]
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        last = i == len(widths) - 2
        layers.append(make_layer(rng, inputs, outputs, g.LINEAR if last else
                                 g.TANH if norm and i == 0 else activation, norm and i == 0,
                                 per_tensor))
    widths[0] = layers[0]["shape"][1]
    policy = {"run_id": 0x0123456789ABCDEF, "version": 42, "updates": 1000, "env_steps": 50000,
              "eval_return": 487.25, "run_name": "golden", "per_tensor": per_tensor,
              "env_id": "Golden-v0", "obs_dtype": 1, "obs_count": widths[0], "normalise": False,
              "action_kind": g.DISCRETE, "actions": widths[-1], "head": g.VALUES,
              "mean": rng.standard_normal(widths[0]).astype(F),
              "inverse_std": (0.5 + rng.random(widths[0])).astype(F), "layers": layers}
    policy.update(fields)
    if policy["precision"] in (g.BF16, g.FP16):
        to_halves(policy)
    if policy["precision"] == g.INT4:
        to_int4(policy)
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
    is_integer = policy["precision"] in (g.INT8, g.INT4)
    forward = g.forward_integer if is_integer else g.forward_double
    lines = []
    for obs in observations(policy, np.random.default_rng(7)):
        y = forward(policy, obs)
        is_box = policy["action_kind"] == g.BOX
        lines.append(" | ".join([words(obs, F), words(y, F),
                                 words(g.act(policy, y), F if is_box else np.int32)]))
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


def write_draws(folder, name, policy):
    lines = []
    for row, obs in enumerate(observations(policy, np.random.default_rng(7))):
        action, extra = g.sample(policy, g.forward_integer(policy, obs), g.Generator(11, row))
        is_box = policy["action_kind"] == g.BOX
        lines.append(" | ".join([words(action, F if is_box else np.int32), words(extra, F)]))
    (folder / f"{name}_draws.txt").write_text("\n".join(lines) + "\n")


def write_change(folder, name, policy):
    after = next_version(policy, 5)
    (folder / f"{name}_next.oct").write_bytes(g.encode(after))
    (folder / f"{name}_change.oct").write_bytes(g.change(policy, after))


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
    for name, precision in [("fp32", g.FP32), ("int8", g.INT8), ("bf16", g.BF16), ("fp16", g.FP16),
                            ("int4", g.INT4)]:
        policy = make_policy(3, [5, 33, 20, 3], g.ELU, True, precision=precision, **box)
        write(folder, f"box_{name}", policy)
        if precision in (g.INT8, g.INT4):
            write_change(folder, f"box_{name}", policy)
    for name, precision in [("fp32", g.FP32), ("int8", g.INT8), ("fp16", g.FP16), ("int4", g.INT4)]:
        policy = make_policy(5, [0, 17, 3], g.ELU, False, precision=precision,
                             convs=((5, 6, 2), 2, [5, 19]), **box)
        write(folder, f"conv_box_{name}", policy)
        if precision in (g.INT8, g.INT4):
            write_change(folder, f"conv_box_{name}", policy)
    write(folder, "conv_bytes_int8", make_policy(6, [0, 32, 3], g.RELU, False, precision=g.INT8,
                                                 convs=((4, 5, 3), 3, [16]), obs_dtype=2))
    own = dict(box, head=g.GAUSSIAN, deviation=np.array([-0.5, 3.0, -1.25], F))
    by_state = dict(box, head=g.GAUSSIAN, deviation=None, actions=3)
    squashed = dict(box, head=g.TANH_GAUSSIAN, actions=3)
    for name, widths, fields in [("gauss", [5, 33, 3], own), ("gauss_state", [5, 21, 6], by_state),
                                 ("squash", [5, 33, 6], squashed),
                                 ("logits", [5, 20, 7], {"head": g.LOGITS})]:
        policy = make_policy(8, widths, g.TANH, False, precision=g.INT8, **fields)
        write(folder, f"{name}_int8", policy)
        write_draws(folder, f"{name}_int8", policy)
    policy = make_policy(8, [5, 33, 20, 3], g.TANH, False, precision=g.INT4, **own)
    write(folder, "gauss_int4", policy)
    write_draws(folder, "gauss_int4", policy)
    write_change(folder, "gauss_int4", policy)
    ends = {"low": np.array([-np.inf, -2, -np.inf], F), "high": np.array([np.inf, 3, 0.5], F)}
    policy = make_policy(9, [5, 33, 20, 3], g.ELU, False, precision=g.INT8, **dict(own, direct=True, **ends))
    write(folder, "direct_int8", policy)
    write_draws(folder, "direct_int8", policy)
    write_change(folder, "direct_int8", policy)
    write(folder, "contract_fp32", make_policy(10, [5, 20, 7], g.TANH, False, precision=g.FP32, head=g.LOGITS, contract=CONTRACT))
    write(folder, "atoms_int8", make_policy(4, [6, 17, 33], g.TANH, False, precision=g.INT8, **atoms))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(pathlib.Path(sys.argv[1]))
