#!/usr/bin/env python3
"""Golden values of DQN's update, in numpy float64, for tests/algos/test_algo_dqn_golden.c.

An implementation of its own: gradients come from the complex step (f(x + ih).imag / h, exact to
rounding, no backward pass), so a mistake in a backward pass cannot repeat here.

usage: golden.py FOLDER          write the files
       golden.py --check FOLDER  compare them with what would be written (exit 1: they differ)

A file has one array per line: name, count, values. Inputs are numbers that a float holds."""

import pathlib
import sys

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)  # meson: skipped

CHECK_TOLERANCE = 1e-10
COMPLEX_STEP = 1e-30

CASES = {
    "dqn_relu_double": dict(
        activation="relu", hidden=[6, 5], norm=0, double_q=1, huber_delta=1.0, grad_norm_max=0.0,
        target_period=2, target_rate=1.0, seed=1),
    "dqn_tanh_norm_plain": dict(
        activation="tanh", hidden=[7, 4], norm=1, double_q=0, huber_delta=0.5, grad_norm_max=0.25,
        target_period=1, target_rate=0.125, seed=2),
    "dqn_elu_double": dict(
        activation="elu", hidden=[5, 6], norm=1, double_q=1, huber_delta=2.0, grad_norm_max=0.5,
        target_period=2, target_rate=0.5, seed=3),
    "dqn_expected_sarsa_double": dict(
        activation="tanh", hidden=[5, 4], norm=0, double_q=1, huber_delta=1.0, grad_norm_max=0.0,
        target_period=1, target_rate=0.5, seed=4, bootstrap=2, epsilon=0.25),
    "dqn_sarsa": dict(
        activation="tanh", hidden=[5, 4], norm=0, double_q=0, huber_delta=1.0, grad_norm_max=0.0,
        target_period=1, target_rate=0.5, seed=5, bootstrap=1, epsilon=0.25),
}
DISCOUNT = 0.875  # of sarsa's steps
OBS, ACTIONS, B, STEPS = 3, 4, 6, 3
RATE, BETA1, BETA2, EPSILON = 2.0**-9, 0.875, 0.984375, 2.0**-13  # exact as floats
ACTIVATIONS = ["relu", "tanh", "elu"]


def activate(name, h):
    if name == "relu":
        return np.where(h.real > 0, h, 0)
    if name == "tanh":
        return np.tanh(h)
    return np.where(h.real > 0, h, np.exp(np.where(h.real > 0, 0, h)) - 1)


class Taken:
    """Parameters are taken one after the other, as they lie: take(*shape)."""

    def __init__(self, params):
        self.left = params

    def __call__(self, *shape):
        count = int(np.prod(shape))
        part, self.left = self.left[:count].reshape(shape), self.left[count:]
        return part


def layer_norm(x, gain, offset):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + offset


def forward(case, params, x):
    """Q-values [rows, ACTIONS] of the network whose parameters lie in policy_spec's order."""
    take, inputs = Taken(params), OBS
    for layer, outputs in enumerate(case["hidden"]):
        weight, bias = take(outputs, inputs), take(outputs)
        h = x @ weight.T + bias
        name = case["activation"]
        if case["norm"] and layer == 0:
            h, name = layer_norm(h, take(outputs), take(outputs)), "tanh"
        x, inputs = activate(name, h), outputs
    weight, bias = take(ACTIONS, inputs), take(ACTIONS)
    assert take.left.size == 0
    return x @ weight.T + bias


def param_count(case):
    sizes = [OBS, *case["hidden"], ACTIONS]
    dense = sum((i + 1) * o for i, o in zip(sizes, sizes[1:]))
    return dense + (2 * sizes[1] if case["norm"] else 0)


def huber(error, delta):
    size = np.where(error.real < 0, -error, error)
    return np.where(size.real <= delta, error * error / 2, delta * (size - delta / 2))


def td_errors(case, params, target, batch):
    rows = np.arange(B)
    target_next = forward(case, target, batch["next"])
    choose = forward(case, params.real, batch["next"]) if case["double_q"] else target_next
    value = target_next[rows, choose.argmax(axis=1)]
    if "epsilon" in case:
        value = (1 - case["epsilon"]) * value + case["epsilon"] * target_next.mean(axis=1)
    if "taken" in batch:
        value = np.where(batch["taken"] < 0, value, target_next[rows, batch["taken"]])
    y = batch["reward"] + batch["discount"] * value
    return y - forward(case, params, batch["obs"])[rows, batch["action"]]


def loss_of(case, params, target, batch):
    td = td_errors(case, params, target, batch)
    return (batch["weight"] * huber(td, case["huber_delta"])).mean()


def gradient_of(case, params, target, batch):
    gradient = np.zeros(params.size)
    for i in range(params.size):
        moved = params.astype(complex)
        moved[i] += 1j * COMPLEX_STEP
        gradient[i] = loss_of(case, moved, target, batch).imag / COMPLEX_STEP
    return gradient


def uniform(random, low, high, *shape):
    return random.uniform(low, high, shape).astype(np.float32).astype(np.float64)


def make_batch(random):
    return dict(
        obs=uniform(random, -1, 1, B, OBS), next=uniform(random, -1, 1, B, OBS),
        action=random.randint(0, ACTIONS, B), reward=uniform(random, -3, 3, B),
        discount=uniform(random, 0.5, 1, B) * (np.arange(B) != 2),
        weight=uniform(random, 0.2, 1, B))


def make_steps(random):
    """What is taken next; the third row terminates, the fifth is cut."""
    batch = make_batch(random)
    batch["discount"] = DISCOUNT * (np.arange(B) != 2)
    batch["taken"] = np.where(np.isin(np.arange(B), [2, 4]), -1, random.randint(0, ACTIONS, B))
    return batch


def dqn(case):
    random = np.random.RandomState(case["seed"])
    params = uniform(random, -0.75, 0.75, param_count(case))
    target = uniform(random, -0.75, 0.75, param_count(case))
    m, v = np.zeros(params.size), np.zeros(params.size)
    yield "activation", [ACTIVATIONS.index(case["activation"])]
    yield "hidden", case["hidden"]
    for key in ["norm", "double_q", "huber_delta", "grad_norm_max", "target_period", "target_rate"]:
        yield key, [case[key]]
    if "bootstrap" in case:
        yield "bootstrap", [case["bootstrap"]]
        yield "epsilon", [case["epsilon"]]
    yield "shape", [OBS, ACTIONS, B, STEPS]
    yield "adam", [RATE, BETA1, BETA2, EPSILON]
    yield "params", params
    yield "target", target
    for t in range(1, STEPS + 1):
        batch = make_steps(random) if case.get("bootstrap") == 1 else make_batch(random)
        for key, column in batch.items():
            yield f"{t}.{key}", column.ravel()
        td = td_errors(case, params, target, batch)
        gradient = gradient_of(case, params, target, batch)
        norm = np.sqrt((gradient * gradient).sum())
        yield f"{t}.td", td
        yield f"{t}.loss", [loss_of(case, params, target, batch)]
        yield f"{t}.value", [forward(case, params, batch["obs"])[np.arange(B), batch["action"]].mean()]
        yield f"{t}.grad_norm", [norm]
        if 0 < case["grad_norm_max"] < norm:
            gradient = gradient * case["grad_norm_max"] / norm
        m = BETA1 * m + (1 - BETA1) * gradient
        v = BETA2 * v + (1 - BETA2) * gradient**2
        params = params - RATE * (m / (1 - BETA1**t)) / (np.sqrt(v / (1 - BETA2**t)) + EPSILON)
        if t % case["target_period"] == 0:
            target = target + case["target_rate"] * (params - target)
        yield f"{t}.m", m
        yield f"{t}.v", v
        yield f"{t}.params", params
        yield f"{t}.target", target


def huber_table():
    error = np.array([-4, -2.5, -1, -0.75, -0.25, 0, 0.125, 0.5, 0.75, 1, 3, 100])
    yield "delta", [0.75]
    yield "error", error
    yield "loss", huber(error, 0.75)
    yield "slope", np.array([huber(e + 1j * COMPLEX_STEP, 0.75).imag for e in error]) / COMPLEX_STEP


def text_of(arrays):
    return "".join(
        f"{name} {len(values)} {' '.join(f'{float(x):.12g}' for x in values)}\n"
        for name, values in arrays)


def same(text, other, tolerance=CHECK_TOLERANCE):
    """True when both hold the same names and, within the tolerance, the same numbers."""
    lines, others = [t.splitlines() for t in (text, other)]
    for line, wanted in zip(lines, others):
        (name, *values), (name_wanted, *values_wanted) = line.split(), wanted.split()
        if name != name_wanted or len(values) != len(values_wanted):
            return False
        if not np.allclose([float(x) for x in values], [float(x) for x in values_wanted],
                           rtol=tolerance, atol=tolerance):
            return False
    return len(lines) == len(others)


def main(files, tolerance=CHECK_TOLERANCE):
    """The command line of every script that makes golden files: writes files, pairs of name and
    text, into the folder that is named last, or compares them with what is there."""
    folder, is_stale = pathlib.Path(sys.argv[-1]), False
    for name, text in files:
        path = folder / name
        if sys.argv[1] != "--check":
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or not same(path.read_text(encoding="utf-8"), text, tolerance):
            print(f"{path}: differs from what tools/{pathlib.Path(sys.argv[0]).name} computes")
            is_stale = True
    return int(is_stale)


def all_files():
    for name, case in CASES.items():
        yield f"{name}.txt", text_of(dqn(case))
    yield "huber.txt", text_of(huber_table())


if __name__ == "__main__":
    sys.exit(main(all_files()))
