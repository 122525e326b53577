#!/usr/bin/env python3
"""D4PG's update on a graphics card (examples/python/d4pg_pytorch.py --device cuda) beside Octet's own on the CPU.

usage: bench_learner_gpu.py BENCH_LEARNER [--device cuda] [--rounds 5] [--threads 4 8]

Run by hand, with a Python that has torch and numpy; without a card it says so and ends with 0 (--device cpu times PyTorch on the
CPU alone). First the card's weights after a few updates are compared with those of the CPU. An update includes the copies of the
batch to the card and of priorities and metrics back. In each round all take turns. Prints medians in ms of wall-clock time and
how many times faster each is than Octet with one thread; the last line is all of it as JSON.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
try:
    import torch
except ImportError:
    print("LEFT OUT: this Python has no torch", file=sys.stderr)
    sys.exit(0)

OBS, ACTIONS = 24, 6
# bench_learner's cases of these names: the policy's widths, the critic's, the batch.
CASES = {"d4pg_2x256": ([256] * 2, [], 256), "d4pg_b512_2x256": ([256] * 2, [], 512),
         "d4pg_b512_critic_2x1024": ([256] * 2, [1024] * 2, 512), "d4pg_actorq": ([2048] * 3, [512, 512, 256], 256)}


def example():
    spec = importlib.util.spec_from_file_location("d4pg_pytorch", ROOT / "examples/python/d4pg_pytorch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_learner(hidden):
    """What the example reads of an octet.Learner."""
    widths = [OBS, *hidden, ACTIONS]
    layers = [types.SimpleNamespace(inputs=i, outputs=o, layer_norm=k == 0, activation="elu" if k else "tanh")
              for k, (i, o) in enumerate(zip(widths, widths[1:]))]
    return types.SimpleNamespace(layers=layers, action_count=ACTIONS, atoms=51, value_range=(0.0, 100.0),
                                 action_low=np.full(ACTIONS, -1, np.float32), action_high=np.full(ACTIONS, 1, np.float32))


def a_batch(rng, rows):
    normal = rng.standard_normal((2, rows, OBS), np.float32)
    return types.SimpleNamespace(
        observations=normal[0], next_observations=normal[1], actions=rng.uniform(-1, 1, (rows, ACTIONS)).astype(np.float32),
        rewards=rng.uniform(0, 5, rows).astype(np.float32), discounts=np.full(rows, 0.95, np.float32),
        importance=rng.uniform(0.5, 1, rows).astype(np.float32), learning_rate=1e-4)


def check(d4pg, device, hidden, critic, rows):
    """The greatest difference of policy outputs and of priorities after 20 updates from the same weights and rows."""
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(0)
    want = d4pg.D4PG(a_learner(hidden), "cpu", critic)
    torch.manual_seed(0)
    have = d4pg.D4PG(a_learner(hidden), device, critic)
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch = a_batch(rng, rows)
        priorities, found = want.update(batch)[0], have.update(batch)[0]
    obs = torch.from_numpy(a_batch(rng, rows).observations)
    with torch.no_grad():
        outputs = (want.policy(obs) - have.policy(obs.to(device)).cpu()).abs().max().item()
    difference = max(outputs, float(np.abs(priorities - found).max()))
    if not difference < 0.01:
        sys.exit(f"{device} computes something else than the CPU: a difference of {difference}")
    torch.set_float32_matmul_precision("high")
    return difference


class Peer:
    def __init__(self, d4pg, device, hidden, critic, rows):
        self.agent = d4pg.D4PG(a_learner(hidden), device, critic)
        rng = np.random.default_rng(1)
        self.batches = [a_batch(rng, rows) for _ in range(8)]

    def ms(self):
        for batch in self.batches:
            self.agent.update(batch)
        times = []
        while len(times) < 10 or (sum(times) < 0.3 and len(times) < 1000):
            begin = time.perf_counter()
            self.agent.update(self.batches[len(times) % 8])
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3


def octet_ms(bench, name, threads):
    answer = subprocess.run([bench, f"threads={threads}", name], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    return next(row["update"] for row in rows if row["case"] == name) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[4, 8], help="of Octet's learner, beside 1 (default: 4 8)")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    arguments = parser.parse_args()
    is_card = arguments.device != "cpu"
    if is_card and not torch.cuda.is_available():
        print("LEFT OUT: torch sees no graphics card", file=sys.stderr)
        return
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    d4pg = example()
    threads = [count for count in sorted({1, *arguments.threads}) if count <= len(os.sched_getaffinity(0))]
    result = {"torch": torch.__version__, "card": torch.cuda.get_device_name() if is_card else "", "ms": {}}
    print(f"torch {result['torch']} {result['card']}")
    for name in arguments.cases:
        if is_card:
            print(f"{name}: the card and the CPU differ by {check(d4pg, arguments.device, *CASES[name]):.1e} after 20 updates")
        peers = {"PyTorch, CPU, 1 thread": Peer(d4pg, "cpu", *CASES[name])}
        if is_card:
            peers["PyTorch, card"] = Peer(d4pg, arguments.device, *CASES[name])
        own = {f"Octet, {count} thread{'s' * (count > 1)}{', bf16' * (case != name)}": (case, count)
               for case in (name, name.replace("d4pg_", "d4pg_bf16_")) for count in threads}
        rounds = {who: [] for who in (*own, *peers)}
        for _ in range(arguments.rounds):
            for who, (case, count) in own.items():
                rounds[who].append(octet_ms(arguments.bench, case, count))
            for who, peer in peers.items():
                rounds[who].append(peer.ms())
        medians = {who: statistics.median(times) for who, times in rounds.items()}
        result["ms"][name] = medians
        for who, times in rounds.items():
            print(f"{name:<24} {who:<24} {medians[who]:8.3f} ms [{min(times):.3f} to {max(times):.3f}]  "
                  f"{medians['Octet, 1 thread'] / medians[who]:6.2f} times", flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
