#!/usr/bin/env python3
"""octet compare's interquartile means, probabilities of improvement and intervals, worked out again with numpy and the
resampling rule of cli/runs/cli_bootstrap.h.

usage: test_bootstrap.py OCTET

Exit code 77, with a line that says so: there is no numpy."""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print(f"SKIPPED: {sys.executable} has no numpy")
    sys.exit(77)

RESAMPLES = 10000
WORD, LONG = 0xffffffff, 0xffffffffffffffff


class PCG32:
    """O'Neill 2014, with bounded numbers of Lemire 2019."""

    def __init__(self, seed=0, stream=0):
        self.stream, self.state = stream << 1 | 1, 0
        self.next()
        self.state = self.state + seed & LONG
        self.next()

    def next(self):
        old, self.state = self.state, self.state * 6364136223846793005 + self.stream & LONG
        shifted, rotate = (old >> 18 ^ old) >> 27 & WORD, old >> 59
        return (shifted >> rotate | shifted << (-rotate & 31)) & WORD

    def below(self, bound):
        while True:
            product = self.next() * bound
            if product & WORD >= (1 << 32) % bound:
                return product >> 32


def iqm(x):
    cut = len(x) // 4
    return np.mean(np.sort(x)[cut:len(x) - cut])


def improvement(x, y):
    return np.mean((x[:, None] > y) + 0.5 * (x[:, None] == y))


def estimate(statistic, *samples):
    """[value, low, high]"""
    samples, rng, drawn = [np.sort(sample) for sample in samples], PCG32(), []
    for _ in range(RESAMPLES):
        drawn.append(statistic(*[sample[[rng.below(len(sample)) for _ in sample]] for sample in samples]))
    return [statistic(*samples), *np.percentile(drawn, [2.5, 97.5])]


def assert_near(said, want):
    assert np.allclose([said["value"], said["low"], said["high"]], want, rtol=1e-9, atol=0), (said, want)


def main():
    octet, generator = sys.argv[1], np.random.default_rng(1)
    groups = [np.round(generator.normal(400, 60, count)) for count in (3, 2, 10, 7, 1)]
    groups[3] = np.minimum(groups[3], 420)  # ties
    groups[2][:4] = groups[3][:4]
    with tempfile.TemporaryDirectory(prefix="octet-test-") as home:
        for i, group in enumerate(groups):
            for seed, mean in enumerate(group):
                run = pathlib.Path(home, f"run-{i}-{seed}")
                run.mkdir()
                (run / "config.yaml").write_text(f"env: {{id: CartPole-v1}}\nalgo: {{n_step: {i + 1}}}\nrun: {{seed: {seed}}}\n")
                (run / "summary.json").write_text(json.dumps({"return": {"mean": mean, "final": True}}))
        printed = [subprocess.run([octet, "compare", home, *more], capture_output=True, text=True, check=True).stdout
                   for more in ([], ["--json"])]
    said = json.loads(printed[1])["groups"]
    assert [group["return"]["count"] for group in said] == list(map(len, groups))
    for group, values in zip(said[:4], groups):
        assert_near(group["iqm"], estimate(iqm, values))
    for group, values in zip(said[1:4], groups[1:]):
        assert_near(group["improvement"], estimate(improvement, values, groups[0]))
    assert said[0]["improvement"] is said[4]["iqm"] is said[4]["improvement"] is None
    assert "interquartile mean (95 %)  better than A (95 %)\nA  " in printed[0].replace("   ", "", 1), printed[0]
    assert "\nE  " not in printed[0].split("interquartile")[1], printed[0]


main()
