#!/usr/bin/env python3
"""What stepping environments through Python costs: CartPole-v1 with 4096 environments and cheetah_run with 64, beside
the same environment in C (octet env bench), in the same round. Medians of rates per CPU second of one thread.

usage: bench_python.py OCTET [quick]      OCTET: the octet program; $OCTET_LIBRARY and $PYTHONPATH name the package

Checks that three threads give what one gives, then prints one JSON line for each measurement."""

import json
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import octet

TASKS = [("CartPole-v1", 4096), ("dmc:cheetah_run", 64)]
WAYS = [("copy", {}), ("no copy", {"copy": False}), ("no copy, SameStep", {"copy": False, "autoreset_mode": "SameStep"})]


def check():
    one, three = (octet.make_vec("CartPole-v1", 100, threads=threads) for threads in (1, 3))
    one.action_space.seed(1)
    assert np.array_equal(one.reset(seed=1)[0], three.reset(seed=1)[0])
    for _ in range(100):
        actions = one.action_space.sample()
        assert all(np.array_equal(a, b) for a, b in zip(one.step(actions)[:4], three.step(actions)[:4], strict=True))


def rate_in_python(id, count, seconds, **arguments):
    env = octet.make_vec(id, count, **arguments)
    env.reset(seed=1)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(16)]
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for row in actions:
            env.step(row)
        steps += 16 * count
    return steps / (time.process_time() - start)


def rate_in_c(program, id, count, seconds):
    text = subprocess.run([program, "env", "bench", id, "--envs", str(count), "--seconds", str(seconds)],
                          capture_output=True, text=True, check=True).stdout
    return 1e9 / float(re.search(r"\(([\d.]+) ns per step\)", text)[1])


def main(program, quick):
    check()
    rounds, seconds = (1, 0.05) if quick else (11, 0.5)
    for id, count in TASKS:
        if id not in octet.ids():
            print(f"{id}: not in this build")
            continue
        in_c, in_python = [], {name: [] for name, _ in WAYS}
        for _ in range(rounds):
            in_c.append(rate_in_c(program, id, count, seconds))
            for name, arguments in WAYS:
                in_python[name].append(rate_in_python(id, count, seconds, **arguments))
        for name, rates in in_python.items():
            ratios = [ours / theirs for ours, theirs in zip(rates, in_c, strict=True)]
            print(json.dumps({"name": f"python {id}, {name}", "envs": count, "n": rounds,
                              "median": round(statistics.median(rates)), "best": round(max(rates)),
                              "in_c": round(statistics.median(in_c)), "ratio": round(statistics.median(ratios), 3),
                              "unit": "steps per CPU second"}))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(sys.argv[1], "quick" in sys.argv[2:])
