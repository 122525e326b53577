#!/usr/bin/env python3
"""What an environment of Gymnasium loses in Octet: steps per CPU second alone, and as gym:NAME (both processes), in turns.

usage: bench_gym.py NAME [quick]       NAME: as after gym:, such as CartPole-v1 or MODULE:NAME, with discrete actions

$OCTET_LIBRARY and $PYTHONPATH name the package, $OCTET_PYTHON the Python of the process, which should be this one.
Checks that both step alike, then prints one JSON line: medians, and that of each round's ratio."""

import json
import os
import statistics
import sys
import time

import gymnasium
import numpy as np
import octet

COUNT = 8


def check(name):
    alone, ours = gymnasium.make(name), octet.make_vec(f"gym:{name}", 1)
    assert np.array_equal(alone.reset(seed=1)[0], ours.reset(seed=1)[0][0])
    for _ in range(5):
        want, got = alone.step(0), ours.step(np.zeros(1, int))
        assert np.array_equal(want[0], got[0][0]) and want[1:4] == tuple(part[0] for part in got[1:4])
    ours.close()


def cpu_seconds(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(step, seconds, cpu):
    """`step` makes COUNT steps."""
    steps, start = 0, cpu()
    while (spent := cpu() - start) < seconds:
        for _ in range(20):
            step()
        steps += 20 * COUNT
    return steps / spent


def main(name, quick):
    check(name)
    rounds, seconds = (1, 0.1) if quick else (11, 1.0)
    rng = np.random.default_rng(0)
    envs = [gymnasium.make(name) for _ in range(COUNT)]
    for i, env in enumerate(envs):
        env.reset(seed=i)
    vector = octet.make_vec(f"gym:{name}", COUNT, autoreset_mode="SameStep", copy=False)
    vector.reset(seed=0)
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        (worker,) = map(int, file.read().split())
    actions = int(vector.single_action_space.n)

    def alone():
        for env, action in zip(envs, rng.integers(actions, size=COUNT), strict=True):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    def ours():
        vector.step(rng.integers(actions, size=COUNT))

    pairs = [(rate(alone, seconds, time.process_time),
              rate(ours, seconds, lambda: time.process_time() + cpu_seconds(worker))) for _ in range(rounds)]
    print(json.dumps({"name": f"gym:{name}", "unit": "steps/CPU s", "n": rounds, "envs": COUNT,
                      "alone": round(statistics.median(one for one, _ in pairs)),
                      "median": round(statistics.median(other for _, other in pairs)),
                      "ratio": round(statistics.median(other / one for one, other in pairs), 3),
                      "ratio_min": round(min(other / one for one, other in pairs), 3)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["quick"])
