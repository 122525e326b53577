#!/usr/bin/env python3
"""Golden values of networks with convolutions, in numpy float64, for tests/nn/test_nn_conv.c.

An implementation of its own: a convolution is a sum over shifted maps, gradients come from the
complex step (tools/golden.py), so neither patches laid side by side nor a backward pass is in it.

usage: golden_conv.py FOLDER          write the files
       golden_conv.py --check FOLDER  compare them with what would be written (exit 1: they differ)"""

import sys

import golden
from golden import np

CASES = {
    "conv_relu": dict(activation="relu", map=(5, 4, 2), filters=[3], hidden=5, seed=1),
    "conv_tanh": dict(activation="tanh", map=(4, 6, 1), filters=[2], hidden=4, seed=2),
    "conv_elu_two": dict(activation="elu", map=(7, 6, 3), filters=[4, 2], hidden=3, seed=3),
}
KERNEL, ACTIONS, ROWS = 3, 3, 4


def forward(case, params, x):
    """Outputs [ROWS, ACTIONS] of x [ROWS, height, width, channels]; params in policy_spec's order."""
    take = golden.Taken(params)
    for filters in case["filters"]:
        weight, bias = take(filters, KERNEL, KERNEL, x.shape[3]), take(filters)
        down, across = x.shape[1] - KERNEL + 1, x.shape[2] - KERNEL + 1
        h = np.zeros((ROWS, down, across, filters), params.dtype) + bias
        for i in range(KERNEL):
            for j in range(KERNEL):
                shifted = x[:, i:i + down, j:j + across]
                h = h + np.einsum("byxc,fc->byxf", shifted, weight[:, i, j])
        x = golden.activate(case["activation"], h)
    x = x.reshape(ROWS, -1)
    weight, bias = take(case["hidden"], x.shape[1]), take(case["hidden"])
    x = golden.activate(case["activation"], x @ weight.T + bias)
    weight, bias = take(ACTIONS, case["hidden"]), take(ACTIONS)
    assert take.left.size == 0
    return x @ weight.T + bias


def param_count(case):
    height, width, channels = case["map"]
    count = 0
    for filters in case["filters"]:
        count += filters * (KERNEL * KERNEL * channels + 1)
        height, width, channels = height - KERNEL + 1, width - KERNEL + 1, filters
    return (count + case["hidden"] * (height * width * channels + 1) +
            ACTIONS * (case["hidden"] + 1))


def derivative(objective, point):
    """Of a number, at a point of any shape."""
    out = np.zeros(point.shape)
    for i in np.ndindex(point.shape):
        moved = point.astype(complex)
        moved[i] += 1j * golden.COMPLEX_STEP
        out[i] = objective(moved).imag / golden.COMPLEX_STEP
    return out


def conv(case):
    random = np.random.RandomState(case["seed"])
    params = golden.uniform(random, -0.75, 0.75, param_count(case))
    x = golden.uniform(random, -1, 1, ROWS, *case["map"])
    dy = golden.uniform(random, -1, 1, ROWS, ACTIONS)
    yield "activation", [golden.ACTIVATIONS.index(case["activation"])]
    yield "map", case["map"]
    yield "filters", case["filters"]
    yield "hidden", [case["hidden"]]
    yield "shape", [ROWS, ACTIONS]
    yield "params", params
    yield "x", x.ravel()
    yield "dy", dy.ravel()
    yield "y", forward(case, params, x).ravel()
    yield "gradient", derivative(lambda p: (dy * forward(case, p, x)).sum(), params)
    yield "dx", derivative(lambda v: (dy * forward(case, params, v)).sum(), x).ravel()


if __name__ == "__main__":
    sys.exit(golden.main((f"{name}.txt", golden.text_of(conv(case))) for name, case in CASES.items()))
