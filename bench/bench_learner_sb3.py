#!/usr/bin/env python3
"""Gradient steps/s of Stable-Baselines3's DDPG and TD3 beside bench_learner's, 2x64, batch 100, one thread.

usage: bench_learner_sb3.py BENCH_LEARNER [--rounds 5]

Run by hand, with a Python that has stable-baselines3 (PyPI); without, it says so and ends with 0. Its own
train() on a replay buffer that was filled with random transitions of Pendulum's shapes (3 observations, 1
action), sampling included; octet's update has its batch at hand, as the learner's training thread does. In each
round both take turns. Prints medians of CPU time and the ratio, with the threshold of this project.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ["OMP_NUM_THREADS"] = "1"
try:
    import gymnasium
    import numpy as np
    import torch
    from stable_baselines3 import DDPG, TD3
    from stable_baselines3.common.logger import Logger
except ImportError as missing:
    print(f"LEFT OUT: this Python has no {missing.name}", file=sys.stderr)
    sys.exit(0)

BAR = 15
STEPS = 200  # in one call of train


def peer(algorithm):
    model = algorithm("MlpPolicy", "Pendulum-v1", batch_size=100, buffer_size=20000, device="cpu", verbose=0,
                      policy_kwargs={"net_arch": [64, 64]})
    model.set_logger(Logger(folder=None, output_formats=[]))
    rng = np.random.default_rng(1)
    for _ in range(10000):
        obs, later = rng.uniform(-1, 1, (2, 1, 3)).astype(np.float32)
        action = rng.uniform(-1, 1, (1, 1)).astype(np.float32)
        model.replay_buffer.add(obs, later, action, rng.uniform(-1, 0, 1).astype(np.float32), np.zeros(1), [{}])
    return model


def their_steps_per_s(model):
    model.train(gradient_steps=STEPS, batch_size=100)
    rates = []
    for _ in range(5):
        begin = time.thread_time()
        model.train(gradient_steps=STEPS, batch_size=100)
        rates.append(STEPS / (time.thread_time() - begin))
    return statistics.median(rates)


def our_steps_per_s(bench, name):
    answer = subprocess.run([bench, name], capture_output=True, text=True, check=True)
    return 1e6 / json.loads(answer.stdout.splitlines()[0])["update"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    import stable_baselines3
    print(f"stable-baselines3 {stable_baselines3.__version__}, torch {torch.__version__}, "
          f"gymnasium {gymnasium.__version__}, {torch.get_num_threads()} thread")
    for name, algorithm in (("ddpg_2x64_b100", DDPG), ("td3_2x64_b100", TD3)):
        model, rounds = peer(algorithm), []
        for _ in range(arguments.rounds):
            rounds.append((their_steps_per_s(model), our_steps_per_s(arguments.bench, name)))
        ratios = [ours / theirs for theirs, ours in rounds]
        theirs, ours = (statistics.median(column) for column in zip(*rounds))
        print(f"{name:<15} sb3 {theirs:7.0f}/s  octet {ours:7.0f}/s  {statistics.median(ratios):6.1f} times "
              f"[{min(ratios):.1f} to {max(ratios):.1f}]  (bar: {BAR})", flush=True)


if __name__ == "__main__":
    main()
