#!/usr/bin/env python3
"""Golden values of dm_control's reward shapes, in numpy float64, for tests/envs/dmc.

The shapes are computed from what they mean (the value at the margin to the power of the squared
distance, and so on), not by the steps of the C.

usage: golden_dmc.py          writes tests/data/dmc/tolerance.txt
       golden_dmc.py --check  compares it with what would be written (exit 1: it differs)

A line: shape (0 gaussian, 1 linear, 2 quadratic, 3 long tail), x, low, high, margin, value at the
margin, result."""

import pathlib
import sys

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)  # meson: skipped

PATH = pathlib.Path(__file__).resolve().parent.parent / "tests/data/dmc/tolerance.txt"
CHECK_TOLERANCE = 1e-14
GAUSSIAN, LINEAR, QUADRATIC, LONG_TAIL = range(4)


def shape_of(shape, d, v):
    """d: distance in margins. Each is 1 at 0 and v at 1."""
    if shape == GAUSSIAN:
        return np.power(v, d * d)
    if shape == LINEAR:
        return np.clip(1 + d * (v - 1), 0, None)
    if shape == QUADRATIC:
        return np.clip(1 + d * d * (v - 1), 0, None)
    return 1 / (1 + d * d * (1 - v) / v)


def tolerance(shape, x, low, high, margin, v):
    inside = (low <= x) & (x <= high)
    outside = np.maximum(low - x, x - high)
    tail = shape_of(shape, outside / margin, v) if margin > 0 else 0 * x
    return np.where(inside, 1.0, tail)


def lines():
    x = np.array([-7, -2, -1.5, -1, -0.5, -0.25, 0, 0.125, 0.25, 0.5, 0.75, 1, 1.25, 2, 3, 11.0])
    for shape in range(4):
        for low, high in [(0, 0), (-0.5, 0.75), (1, np.inf), (-np.inf, -1)]:
            for margin in [0, 0.25, 1, 2.5]:
                for v in [0.1, 0.5] + ([0.0] if shape in (LINEAR, QUADRATIC) else []):
                    for a, y in zip(x, tolerance(shape, x, low, high, margin, v)):
                        yield shape, a, low, high, margin, v, y


def main():
    if sys.argv[1:] != ["--check"]:
        PATH.write_text("".join(" ".join(repr(float(n)) for n in row) + "\n" for row in lines()))
        return 0
    have = np.loadtxt(PATH)
    want = np.array(list(lines()), dtype=np.float64)
    same = have.shape == want.shape and np.array_equal(have[:, :6], want[:, :6]) and \
        np.max(np.abs(have[:, 6] - want[:, 6])) <= CHECK_TOLERANCE
    if not same:
        print("not what tools/golden_dmc.py writes:", PATH.name)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
