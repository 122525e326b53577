#!/usr/bin/env python3
"""PyTorch's dynamic int8 policy (ActorQ's runtime) beside bench_policy_forward, batch 1, one thread.

usage: bench_policy_torch.py BENCH_POLICY_FORWARD [--rounds 5] [--engine x86]

Run by hand, with a Python that has torch (PyPI). Eager quantize_dynamic and eager fp32 of the four nets
(observations of 24, relu, 6 actions); in each round torch and bench_policy_forward take turns, so that noise
hits both. Prints medians in us per call and how many times faster int8 of octet is, with the bars of this
project.
"""

import argparse
import json
import statistics
import subprocess
import time

import torch

NETS = {"2x64": [64] * 2, "2x256": [256] * 2, "3x512": [512] * 3, "3x2048": [2048] * 3}
BARS = {"2x64": 100, "2x256": 40, "3x512": 10, "3x2048": 1.5}
INPUTS, OUTPUTS = 24, 6


def build(hidden):
    widths = [INPUTS, *hidden]
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], OUTPUTS)).eval()


def us_per_call(net, x):
    """The median of a dozen repeats of about 10 ms."""
    calls, took = 1, 0.0
    while took < 0.01:
        calls *= 2
        begin = time.thread_time()
        for _ in range(calls):
            net(x)
        took = time.thread_time() - begin
    times = []
    for _ in range(12):
        begin = time.thread_time()
        for _ in range(calls):
            net(x)
        times.append((time.thread_time() - begin) * 1e6 / calls)
    return statistics.median(times)


def octet_us(program, name):
    lines = subprocess.run([program, f"net={name}", "batch=1"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return min(row["median"] for row in rows if row["precision"] == "int8" and row["isa"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", default="x86")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.backends.quantized.engine = options.engine
    print(f"# torch {torch.__version__}, engine {options.engine}, {options.rounds} rounds, us per call (medians)")
    print(f"# {'net':8} {'torch fp32':>11} {'torch int8':>11} {'octet int8':>11} {'x fp32':>8} {'x int8':>8}  bar")
    for name, hidden in NETS.items():
        fp32 = build(hidden)
        int8 = torch.ao.quantization.quantize_dynamic(fp32, {torch.nn.Linear}, dtype=torch.qint8)
        x = torch.randn(1, INPUTS)
        rounds = []
        with torch.inference_mode():
            for _ in range(options.rounds):
                rounds.append((us_per_call(fp32, x), us_per_call(int8, x), octet_us(options.program, name)))
        a, b, c = (statistics.median(column) for column in zip(*rounds))
        verdict = "pass" if b / c >= BARS[name] else "MISS"
        print(f"# {name:8} {a:11.2f} {b:11.2f} {c:11.3f} {a / c:8.1f} {b / c:8.1f}  >= {BARS[name]} {verdict}")


if __name__ == "__main__":
    main()
