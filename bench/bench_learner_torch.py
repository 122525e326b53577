#!/usr/bin/env python3
"""PyTorch's eager update of a plain network beside bench_learner's, batch 256, one thread.

usage: bench_learner_torch.py BENCH_LEARNER [--rounds 5]

Run by hand, with a Python that has torch (PyPI); without, it says so and ends with 0. Forward, mean of the
square errors, backward and Adam of four nets (24 observations, relu, 6 outputs); in each round torch and
bench_learner take turns, so that noise hits both. Prints medians in us of CPU time and how many times faster
octet is, with the bars of this project.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# Before torch is loaded: one thread, and its libraries' own choice of kernels.
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ["OMP_NUM_THREADS"] = "1"
try:
    import torch
except ImportError:
    print("LEFT OUT: this Python has no torch", file=sys.stderr)
    sys.exit(0)

NETS = {"mlp_2x64": [64] * 2, "mlp_2x256": [256] * 2, "mlp_3x512": [512] * 3, "mlp_3x2048": [2048] * 3}
BARS = {"mlp_2x64": 4, "mlp_2x256": 1.4}
BATCH, INPUTS, OUTPUTS = 256, 24, 6


class Peer:
    def __init__(self, hidden):
        widths = [INPUTS, *hidden]
        layers = []
        for i, o in zip(widths, widths[1:]):
            layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], OUTPUTS))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-5)
        self.x, self.want = torch.rand(BATCH, INPUTS), torch.rand(BATCH, OUTPUTS)

    def update(self):
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(self.net(self.x), self.want).backward()
        self.optimizer.step()

    def us(self):
        """The median of a dozen repeats of about 20 ms."""
        for _ in range(3):
            self.update()
        calls, times = 1, []
        while len(times) < 12:
            begin = time.thread_time()
            for _ in range(calls):
                self.update()
            took = time.thread_time() - begin
            if took < 0.01 and not times:
                calls *= 2
            else:
                times.append(took * 1e6 / calls)
        return statistics.median(times)


def octet_us(bench, name):
    answer = subprocess.run([bench, name], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[0])["update"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread")
    for name, hidden in NETS.items():
        peer, rounds = Peer(hidden), []
        for _ in range(arguments.rounds):
            rounds.append((peer.us(), octet_us(arguments.bench, name)))
        ratios = [theirs / ours for theirs, ours in rounds]
        theirs, ours = (statistics.median(column) for column in zip(*rounds))
        bar = f"  (bar: {BARS[name]})" if name in BARS else ""
        print(f"{name:<12} torch {theirs:9.1f} us  octet {ours:9.1f} us  {statistics.median(ratios):6.2f} times "
              f"[{min(ratios):.2f} to {max(ratios):.2f}]{bar}", flush=True)


if __name__ == "__main__":
    main()
