#!/usr/bin/env python3
"""Golden values of networks with convolutions and pools, in numpy float64, for tests/nn/test_nn_conv.c.

An implementation of its own: a convolution is a sum over shifted maps, a pool is taken over shifted maps, and gradients
come from the complex step (tools/golden.py), so neither patches laid side by side nor a backward pass is in it.

usage: golden_conv.py FOLDER          write the files
       golden_conv.py --check FOLDER  compare them with what would be written (exit 1: they differ)"""

import re
import sys

import golden
from golden import np

# The layers are as of policy/policy_words.h, and every kernel has two numbers.
CASES = {
    "conv_relu": dict(activation="relu", map=(5, 4, 2), words="conv 3 3x3, dense 5", seed=1),
    "conv_tanh": dict(activation="tanh", map=(4, 6, 1), words="conv 2 3x3, dense 4", seed=2),
    "conv_elu_two": dict(activation="elu", map=(7, 6, 3), words="conv 4 3x3, conv 2 3x3, dense 3", seed=3),
    "conv_stride": dict(activation="tanh", map=(9, 7, 2), words="conv 3 4x3/2x1, conv 4 2x2/2", seed=4),
    "conv_zeros": dict(activation="elu", map=(5, 6, 2), words="conv 3 3x4/2x3+1x2, dense 4", seed=5),
    "conv_max_pool": dict(activation="relu", map=(7, 6, 2), words="conv 4 3x3+1, pool 3x2/2+1x0 tanh, dense 3", seed=6),
    "conv_mean_pool": dict(activation="tanh", map=(6, 7, 2), words="conv 3 2x2, mean 3x3/2+2, conv 2 2x2", seed=7),
}
KERNEL = re.compile(r"(\d+)x(\d+)(?:/(\d+)(?:x(\d+))?)?(?:\+(\d+)(?:x(\d+))?)?")
ACTIONS, ROWS = 3, 4


class Counted:
    """As golden.Taken, but counts the parameters that are taken."""

    def __init__(self):
        self.count = 0

    def __call__(self, *shape):
        self.count += int(np.prod(shape))
        return np.zeros(shape)


def shifted_maps(text, x, zero):
    """For each number i, j of a kernel: i, j, and of each output position the number of x that is under it."""
    rows, columns, down, across, above, left = KERNEL.fullmatch(text).groups()
    rows, columns, down, above = int(rows), int(columns), int(down or 1), int(above or 0)
    across, left = int(across or down), int(left or above)
    x = np.pad(x, ((0, 0), (above, above), (left, left), (0, 0)), constant_values=zero)
    last_row, last_column = x.shape[1] - rows, x.shape[2] - columns
    for i in range(rows):
        for j in range(columns):
            yield i, j, x[:, i:i + last_row + 1:down, j:j + last_column + 1:across]


def conv(take, x, filters, kernel):
    size = [int(n) for n in KERNEL.fullmatch(kernel).groups()[:2]]
    weight, bias = take(filters, *size, x.shape[3]), take(filters)
    return bias + sum(np.einsum("byxc,fc->byxf", shifted, weight[:, i, j])
                      for i, j, shifted in shifted_maps(kernel, x, 0))


def pool(name, x, kernel):
    numbers = np.array([shifted for _, _, shifted in shifted_maps(kernel, x, np.nan)])
    if name == "mean":
        return np.nanmean(numbers, axis=0)
    largest = np.nanargmax(numbers.real, axis=0)
    return np.take_along_axis(numbers, largest[None], axis=0)[0]


def dense(take, x, outputs):
    x = x.reshape(ROWS, -1)
    weight, bias = take(outputs, x.shape[1]), take(outputs)
    return x @ weight.T + bias


def layers(case, take, x):
    """Outputs [ROWS, ACTIONS] of x [ROWS, height, width, channels]; params in policy_spec's order."""
    for word in case["words"].split(", "):
        name, *args = word.split()
        if name in ("pool", "mean"):
            x = pool(name, x, args[0])
            x = golden.activate(args[1], x) if len(args) > 1 else x
            continue
        x = conv(take, x, int(args[0]), args[1]) if name == "conv" else dense(take, x, int(args[0]))
        x = golden.activate(case["activation"], x)
    return dense(take, x, ACTIONS)


def forward(case, params, x):
    take = golden.Taken(params)
    y = layers(case, take, x)
    assert take.left.size == 0
    return y


def param_count(case):
    counted = Counted()
    layers(case, counted, np.zeros((ROWS, *case["map"])))
    return counted.count


def derivative(objective, point):
    """Of a number, at a point of any shape."""
    out = np.zeros(point.shape)
    for i in np.ndindex(point.shape):
        moved = point.astype(complex)
        moved[i] += 1j * golden.COMPLEX_STEP
        out[i] = objective(moved).imag / golden.COMPLEX_STEP
    return out


def arrays(case):
    random = np.random.RandomState(case["seed"])
    params = golden.uniform(random, -0.75, 0.75, param_count(case))
    x = golden.uniform(random, -1, 1, ROWS, *case["map"])
    dy = golden.uniform(random, -1, 1, ROWS, ACTIONS)
    yield "shape", [ROWS, ACTIONS]
    yield "params", params
    yield "x", x.ravel()
    yield "dy", dy.ravel()
    yield "y", forward(case, params, x).ravel()
    yield "gradient", derivative(lambda p: (dy * forward(case, p, x)).sum(), params)
    yield "dx", derivative(lambda v: (dy * forward(case, params, v)).sum(), x).ravel()


if __name__ == "__main__":
    sys.exit(golden.main((f"{name}.txt", golden.text_of(arrays(case))) for name, case in CASES.items()))
