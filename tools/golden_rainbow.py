#!/usr/bin/env python3
"""Golden values of DQN's options (C51, dueling, noisy, double, weights on a grid), in numpy float64,
for tests/algos/test_algo_rainbow_golden.c.

Written from the papers' formulas, without a backward pass: gradients come from the complex step, and
two streams are computed as two streams, not as one folded layer.

usage: golden_rainbow.py FOLDER          write the files
       golden_rainbow.py --check FOLDER  compare them with what would be written (exit 1: they differ)

One file for each of the 32 combinations of options; its format is golden.py's."""

import itertools
import math
import struct
import sys

import golden
from golden import np

OPTIONS = ["atoms", "dueling", "noisy", "double", "grid"]
OBS, ACTIONS, B, STEPS = 2, 3, 4, 2
HIDDEN = [4, 3]  # with dueling, 3 for each stream
ATOMS, LOW, HIGH = 5, -2.0, 3.0
GRID = 2.0**-3
SEED, NOISE_STREAM, BEHAVIOUR_STREAM = 1, 0x6472, 0x6473
SAMPLE = 5  # to explore with
RATE, BETA1, BETA2, EPSILON = golden.RATE, golden.BETA1, golden.BETA2, golden.EPSILON
TARGET_PERIOD, TARGET_RATE, HUBER_DELTA = 1, 0.5, 1.0
CHECK_TOLERANCE = 1e-8  # nine digits are written
MASK = 2**64 - 1


class Pcg32:
    """O'Neill's PCG-XSH-RR 64/32, and normal numbers by Marsaglia's polar method."""

    def __init__(self, seed, stream):
        self.state, self.increment = 0, (stream << 1 | 1) & MASK
        self.u32()
        self.state = (self.state + seed) & MASK
        self.u32()

    def u32(self):
        old = self.state
        self.state = (old * 6364136223846793005 + self.increment) & MASK
        word, turn = (old >> 18 ^ old) >> 27 & 0xffffffff, old >> 59
        return (word >> turn | word << (32 - turn) % 32) & 0xffffffff

    def unit(self):
        high = self.u32()
        return (high << 32 | self.u32()) >> 11

    def normal(self):
        while True:
            u, v = (2 * self.unit() * 2.0**-53 - 1 for _ in range(2))
            s = u * u + v * v
            if 0 < s < 1:
                return struct.unpack("f", struct.pack("f", u * math.sqrt(-2 * math.log(s) / s)))[0]


def mix(state, number):
    """A round of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = ((state ^ number) + 0x9e3779b97f4a7c15) & MASK
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def shapes(case):
    """Name, outputs, inputs of every dense part, in the order in which they are learned."""
    outputs = ATOMS if case["atoms"] else 1
    first, second = HIDDEN
    if not case["dueling"]:
        return [("h1", first, OBS), ("h2", second, first), ("q", ACTIONS * outputs, second)]
    return [("h1", first, OBS), ("h2", 2 * second, first), ("value", outputs, second),
            ("advantage", ACTIONS * outputs, second)]


def split(case, block):
    parts, at = {}, 0
    for name, outputs, inputs in shapes(case):
        weight = block[at:at + outputs * inputs].reshape(outputs, inputs)
        at += weight.size
        parts[name] = [weight, block[at:at + outputs]]
        at += outputs
    return parts, at


def mean_count(case):
    return sum(outputs * (inputs + 1) for _, outputs, inputs in shapes(case))


def draw(case, random):
    """f(e_in), f(e_out) of every part."""
    def f(count):
        e = np.array([random.normal() for _ in range(count)])
        return np.sign(e) * np.sqrt(np.abs(e))

    return {name: (f(inputs), f(outputs)) for name, outputs, inputs in shapes(case)}


def weights_of(case, theta, noise):
    """The chain's weights, layer by layer: [weight, bias]; noise None: their means."""
    parts, count = split(case, theta)
    if noise is not None and case["noisy"]:
        deviations, _ = split(case, theta[count:])
        for name, (e_in, e_out) in noise.items():
            parts[name] = [parts[name][0] + deviations[name][0] * np.outer(e_out, e_in),
                           parts[name][1] + deviations[name][1] * e_out]
    if not case["dueling"]:
        return [parts["h1"], parts["h2"], parts["q"]]
    outputs = parts["value"][1].size
    advantage = [x.reshape(ACTIONS, outputs, -1) for x in parts["advantage"]]
    advantage = [x - x.mean(axis=0) for x in advantage]
    value = [np.broadcast_to(x.reshape(1, outputs, -1), (ACTIONS, outputs, x.size // outputs))
             for x in parts["value"]]
    last = np.concatenate([value[0], advantage[0]], axis=2).reshape(ACTIONS * outputs, -1)
    return [parts["h1"], parts["h2"], [last, (value[1] + advantage[1]).ravel()]]


def on_grid(x):
    """Straight through: the real part is rounded, half away from zero; a derivative passes."""
    x = np.asarray(x, dtype=complex)
    return np.sign(x.real) * np.floor(np.abs(x.real) / GRID + 0.5) * GRID + 1j * x.imag


def forward(case, theta, noise, x):
    """[rows, ACTIONS, atoms], by streams where that is what the weights stand for."""
    layers = weights_of(case, theta, noise)
    if case["grid"]:
        layers = [[on_grid(part) for part in layer] for layer in layers]
    elif case["dueling"]:
        return forward_by_streams(case, theta, noise, x)
    for weight, bias in layers[:-1]:
        x = np.tanh(x @ weight.T + bias)
    return (x @ layers[-1][0].T + layers[-1][1]).reshape(len(x), ACTIONS, -1)


def forward_by_streams(case, theta, noise, x):
    """Q = V + A - mean A (Wang et al. 2016, equation 9)."""
    parts, count = split(case, theta)
    if case["noisy"]:
        deviations, _ = split(case, theta[count:])
        for name, (e_in, e_out) in noise.items():
            parts[name] = [parts[name][0] + deviations[name][0] * np.outer(e_out, e_in),
                           parts[name][1] + deviations[name][1] * e_out]
    for name in ["h1", "h2"]:
        x = np.tanh(x @ parts[name][0].T + parts[name][1])
    half = x.shape[1] // 2
    value = x[:, :half] @ parts["value"][0].T + parts["value"][1]
    advantage = x[:, half:] @ parts["advantage"][0].T + parts["advantage"][1]
    advantage = advantage.reshape(len(x), ACTIONS, -1)
    return value[:, None, :] + advantage - advantage.mean(axis=1, keepdims=True)


def log_softmax(x):
    x = x - x.real.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def support():
    return np.linspace(LOW, HIGH, ATOMS)


def values_of(case, outputs):
    return np.exp(log_softmax(outputs)) @ support() if case["atoms"] else outputs[:, :, 0]


def projected(reward, discount, p):
    """Bellemare et al. 2017, equation 7: hat functions around the atoms."""
    z, step = support(), (HIGH - LOW) / (ATOMS - 1)
    image = np.clip(reward[:, None] + discount[:, None] * z, LOW, HIGH)
    hats = np.clip(1 - np.abs(image[:, None, :] - z[None, :, None]) / step, 0, 1)
    return (hats * p[:, None, :]).sum(axis=2)


def cut_of(reward, discount, p):
    """How far the ends move the rows' means: up at the lower one, down at the upper; means, in units of the range."""
    image = reward[:, None] + discount[:, None] * support()
    moved = ((np.clip(image, LOW, HIGH) - image) * p).sum(axis=1) / (HIGH - LOW)
    return np.array([np.maximum(moved, 0).mean(), np.maximum(-moved, 0).mean()])


def kl(wanted, log_p):
    """sum of wanted log(wanted / p), where an atom without mass adds nothing."""
    there = wanted > 0
    ratio = np.where(there, wanted, 1) / np.exp(log_p)
    return np.where(there, wanted * np.log(ratio), 0).sum(axis=1)


def errors(case, theta, target, noise, batch):
    """Returns for each row the TD error, or KL(wanted || Z(s, a)); its loss; Q(s, a); and what the support cuts."""
    rows = np.arange(B)
    below = forward(case, target, noise[1], batch["next"]).real
    choose = forward(case, theta.real, noise[0], batch["next"]).real if case["double"] else below
    best = values_of(case, choose).argmax(axis=1)
    outputs = forward(case, theta, noise[0], batch["obs"])
    value = values_of(case, outputs)[rows, batch["action"]]
    if not case["atoms"]:
        error = batch["reward"] + batch["discount"] * below[rows, best, 0] - value
        return error, golden.huber(error, HUBER_DELTA), value, []
    returns = batch["reward"], batch["discount"], np.exp(log_softmax(below[rows, best]))
    wanted = projected(*returns)
    log_p = log_softmax(outputs[rows, batch["action"]])
    return kl(wanted, log_p), -(wanted * log_p).sum(axis=1), value, cut_of(*returns)


def loss_of(case, *args):
    _, each, _, _ = errors(case, *args)
    return (args[-1]["weight"] * each).mean()


def gradient_of(case, theta, *args):
    gradient = np.zeros(theta.size)
    for i in range(theta.size):
        moved = theta.astype(complex)
        moved[i] += 1j * golden.COMPLEX_STEP
        gradient[i] = loss_of(case, moved, *args).imag / golden.COMPLEX_STEP
    return gradient


def make_batch(random):
    uniform = golden.uniform
    batch = dict(
        obs=uniform(random, -1, 1, B, OBS), next=uniform(random, -1, 1, B, OBS),
        action=random.randint(0, ACTIONS, B), reward=uniform(random, -3, 3, B),
        discount=uniform(random, 0.5, 1, B) * (np.arange(B) != 2),
        weight=uniform(random, 0.2, 1, B))
    batch["reward"][2] = 0.5  # of a terminal row: an atom exactly
    return batch


def chain_of(layers):
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def learn(case, seed):
    random = np.random.RandomState(seed)
    count = mean_count(case)

    def first():
        deviations = golden.uniform(random, 0.1, 0.5, count if case["noisy"] else 0)
        return np.concatenate([golden.uniform(random, -1, 1, count), deviations])

    theta, target = first(), first()
    m, v = np.zeros(theta.size), np.zeros(theta.size)
    generator = Pcg32(SEED, NOISE_STREAM)
    yield "options", [case[name] for name in OPTIONS]
    yield "shape", [OBS, ACTIONS, B, STEPS, *HIDDEN]
    yield "support", [ATOMS, LOW, HIGH]
    yield "target_moves", [TARGET_PERIOD, TARGET_RATE]
    yield "huber_delta", [HUBER_DELTA]
    yield "grid", [GRID]
    yield "adam", [RATE, BETA1, BETA2, EPSILON]
    yield "params", theta
    yield "target", target
    for t in range(1, STEPS + 1):
        batch = make_batch(random)
        for key, column in batch.items():
            yield f"{t}.{key}", column.ravel()
        noise = [draw(case, generator) if case["noisy"] else None for _ in range(2)]
        args = (theta, target, noise, batch)
        error, _, value, cut = errors(case, *args)
        gradient = gradient_of(case, *args)
        yield f"{t}.error", error.real
        yield f"{t}.loss", [loss_of(case, *args).real]
        yield f"{t}.value", [value.real.mean()]
        if case["atoms"]:
            yield f"{t}.cut", cut
        yield f"{t}.grad_norm", [np.sqrt((gradient * gradient).sum())]
        m = BETA1 * m + (1 - BETA1) * gradient
        v = BETA2 * v + (1 - BETA2) * gradient**2
        theta = theta - RATE * (m / (1 - BETA1**t)) / (np.sqrt(v / (1 - BETA2**t)) + EPSILON)
        target = target + TARGET_RATE * (theta - target)
        yield f"{t}.m", m
    yield "end.params", theta
    yield "end.target", target
    yield "end.policy", chain_of(weights_of(case, theta, None))
    if case["noisy"]:
        noise = draw(case, Pcg32(mix(mix(mix(0, SEED), STEPS), SAMPLE), BEHAVIOUR_STREAM))
        yield "end.behaviour", chain_of(weights_of(case, theta, noise))


def text_of(arrays):
    return "".join(
        f"{name} {len(values)} {' '.join(f'{float(x):.9g}' for x in values)}\n"
        for name, values in arrays)


def file_name(case):
    return "_".join(["rainbow", *(name for name in OPTIONS if case[name])]) + ".txt"


def all_files():
    for seed, bits in enumerate(itertools.product([0, 1], repeat=len(OPTIONS))):
        case = dict(zip(OPTIONS, bits))
        yield file_name(case), text_of(learn(case, seed))


if __name__ == "__main__":
    sys.exit(golden.main(all_files(), CHECK_TOLERANCE))
