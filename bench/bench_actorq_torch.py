#!/usr/bin/env python3
"""ActorQ's actor in PyTorch beside Octet's with the same weights: environment steps a second of one thread, one environment a call.

usage: bench_actorq_torch.py OCTET BENCH_ACTORQ [--tasks TASK,...] [--hidden 256,512,2048] [--rounds 3] [--engine fbgemm] [--records FILE]
       bench_actorq_torch.py --table FILE

Run by hand, with a Python that has torch and this repository's package (PYTHONPATH=python, OCTET_LIBRARY=…/liboctet.so); without torch it says so
and ends with 0. The paper's actor: three hidden layers, PyTorch's dynamic quantisation (its Linear layers in int8) or fp32, eager, one thread, without
gradients. Its loop does what an actor must: the forward pass, exploration (random actions now and then, or noise that is clipped to the box), a step of
Octet's own environment, in the same process and without copies, and the transition into arrays that are there already. The paper's has more to do:
its replay's client, and pulling weights. Ours is bench_actorq's, which is octet-actor's own loop, with the policy that octet.import_policy makes of the
same module.

Checked first, on observations that the environment gave: our fp32 outputs are the module's; and our int8 outputs are no further from these than
twice PyTorch's (of values their differences, which are what decides). Then both take turns. Nanoseconds of the thread's CPU time a step, medians of the rounds. Ratios are of whole steps; and with what a
step of the environment alone costs from Python taken away and what it costs in C put in its place ("same_env"), which is the ratio for the threshold.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from actorq_table import mean

BAR = 20
TASKS = ("dmc:cartpole_balance", "dmc:walker_stand", "dmc:hopper_stand", "dmc:reacher_hard", "dmc:cheetah_run", "dmc:finger_spin",
         "dmc:humanoid_stand", "dmc:humanoid_walk", "CartPole-v1", "MountainCar-v0", "Acrobot-v1")
EPSILON, NOISE = 0.05, 0.2
TURN_S = 0.25


class Acting:
    """One thread's loop of an environment and a module of PyTorch; without a module, of the environment alone."""

    def __init__(self, task, net):
        self.env = octet.make_vec(task, num_envs=1, copy=False, autoreset_mode="SameStep", seed=1)
        self.net, self.space = net, self.env.single_action_space
        self.discrete = hasattr(self.space, "n")
        self.rng = np.random.default_rng(1)
        self.obs, _ = self.env.reset(seed=1)
        width = self.obs.shape[1:]
        self.action = np.zeros(1, np.int32) if self.discrete else np.zeros((1, *self.space.shape), np.float32)
        self.rows = {"obs": np.zeros((256, *width), np.float32), "action": np.zeros((256, *self.action.shape[1:]), self.action.dtype),
                     "reward": np.zeros(256, np.float32), "end": np.zeros(256, np.uint8)}

    def explore(self, out):
        if not self.discrete:
            noisy = out.numpy()[0] + NOISE * self.rng.standard_normal(self.space.shape, np.float32)
            np.clip(noisy, self.space.low, self.space.high, out=self.action[0])
        elif self.rng.random() < EPSILON:
            self.action[0] = self.rng.integers(self.space.n)
        else:
            self.action[0] = int(out.argmax())

    def steps(self, count):
        rows, step, tensor = self.rows, self.env.step, torch.from_numpy(self.obs)   # one memory: the environment writes into it
        with torch.inference_mode():
            for i in range(count):
                if self.net is not None:
                    at = i & 255
                    rows["obs"][at] = self.obs[0]
                    self.explore(self.net(tensor))
                _, reward, terminated, truncated, _ = step(self.action)
                if self.net is not None:
                    rows["action"][at], rows["reward"][at], rows["end"][at] = self.action[0], reward[0], terminated[0] + 2 * truncated[0]

    def observations(self, count):
        seen = []
        for _ in range(count):
            self.steps(1)
            seen.append(self.obs[0].copy())
        return np.array(seen, np.float32)

    def ns(self):
        """CPU nanoseconds of a step, of a turn of about TURN_S."""
        begin = time.thread_time()
        self.steps(16)
        count = max(16, int(TURN_S / max(time.thread_time() - begin, 1e-6) * 16))
        begin = time.thread_time()
        self.steps(count)
        return (time.thread_time() - begin) * 1e9 / count


def network(task, width):
    """Normal weights, so that activations keep their size, and no biases, as bench_actorq's."""
    env = octet.make_vec(task)
    inputs, space = math.prod(env.single_observation_space.shape), env.single_action_space
    env.close()
    widths = [inputs, width, width, width, int(space.n) if hasattr(space, "n") else math.prod(space.shape)]
    torch.manual_seed(7)
    layers = []
    for i, o in zip(widths, widths[1:]):
        linear = torch.nn.Linear(i, o)
        torch.nn.init.normal_(linear.weight, std=1 / math.sqrt(i))
        torch.nn.init.zeros_(linear.bias)
        layers += [linear, torch.nn.ReLU()]
    layers[-1] = torch.nn.Identity() if hasattr(space, "n") else torch.nn.Tanh()
    return torch.nn.Sequential(*layers).eval(), hasattr(space, "n")


def decisive(out, discrete):
    """What of outputs decides: of values their differences, which is all that a policy in int8 keeps of them."""
    return out - out.mean(1, keepdims=True) if discrete else out


def distance(got, want):
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def check(name, fp32, int8, files, discrete, obs):
    """Relative distances of int8 outputs from the module's: (PyTorch's, ours)."""
    with torch.inference_mode():
        want = decisive(fp32(torch.from_numpy(obs)).numpy(), discrete)
        theirs = distance(decisive(np.concatenate([int8(torch.from_numpy(row[None])).numpy() for row in obs]), discrete), want)
    ours = {}
    for precision, file in files.items():
        policy = octet.Policy(file)
        ours[precision] = distance(decisive(policy.outputs(obs) if discrete else policy.act(obs), discrete), want)
    if not (ours["fp32"] < 1e-4 and ours["int8"] <= max(2 * theirs, 0.01) and theirs < 0.2):
        sys.exit(f"{name}: relative distances from the module: ours {ours}, PyTorch's int8 {theirs:.4f}")
    return theirs, ours["int8"]


def ours(program, file):
    return json.loads(subprocess.run([program, f"policy={file}"], capture_output=True, text=True, check=True).stdout)


def compare(options, task, width, folder):
    """A line of JSON."""
    fp32, discrete = network(task, width)
    int8 = torch.ao.quantization.quantize_dynamic(fp32, {torch.nn.Linear}, dtype=torch.qint8)
    acting = {"fp32": Acting(task, fp32), "int8": Acting(task, int8), "env": Acting(task, None)}
    obs = acting["fp32"].observations(200)
    files = {"int8": folder / "policy.oct", "fp32": folder / "policy.fp32.oct"}
    octet.import_policy(fp32, obs, task, path=files["int8"], head="values" if discrete else None)
    theirs, own = check(f"{task}, 3x{width}", fp32, int8, files, discrete, obs)
    torch_ns, octet_ns, env_ns = {"fp32": [], "int8": [], "env": []}, {"fp32": [], "int8": []}, []
    for _ in range(options.rounds):
        for name, one in acting.items():
            torch_ns[name].append(one.ns())
        for name, file in files.items():
            line = ours(options.bench_actorq, file)
            octet_ns[name].append(line["median"])
            env_ns.append(line["env_alone"])
    torch_ns, octet_ns = ({name: statistics.median(values) for name, values in of.items()} for of in (torch_ns, octet_ns))
    env = statistics.median(env_ns)
    whole = {name: torch_ns[name] / octet_ns[name] for name in octet_ns}
    same = {name: (torch_ns[name] - torch_ns["env"] + env) / octet_ns[name] for name in octet_ns}
    return dict(bench="actorq_torch", task=task, hidden=f"3x{width}", unit="ns per env step, CPU of the thread", torch=torch_ns, octet=octet_ns, octet_env=env,
                whole=whole, same_env=same, torch_int8_over_fp32=torch_ns["fp32"] / torch_ns["int8"], octet_int8_over_fp32=octet_ns["fp32"] / octet_ns["int8"],
                distance=dict(torch=theirs, octet=own), kernel=line["kernel"], engine=options.engine, rounds=options.rounds, version=torch.__version__,
                commit=line["commit"])


def table(path):
    """Markdown: what each task takes by width, and geometric means over the tasks of the Control Suite and over all."""
    found, tasks = {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault(one["hidden"], []).append(one)
        tasks.setdefault(one["task"], {})[one["hidden"]] = one
    print("| task | environment: from Python, in C | " + " | ".join(f"{hidden}: PyTorch fp32, int8; Octet fp32, int8; times" for hidden in found) +
          " |\n|---|---|" + "---|" * len(found))
    for task, of in tasks.items():
        some = next(iter(of.values()))
        cells = [f"{one['torch']['fp32'] / 1e3:.0f}, {one['torch']['int8'] / 1e3:.0f}; {one['octet']['fp32'] / 1e3:.3g}, {one['octet']['int8'] / 1e3:.3g}; "
                 f"**{one['same_env']['int8']:.1f}**" for one in of.values()]
        print(f"| {task} | {some['torch']['env'] / 1e3:.1f}, {some['octet_env'] / 1e3:.1f} | " + " | ".join(cells) + " |")
    print(f"\n| policy | same environment: Control Suite, all [least to most] | whole steps: Control Suite, all | at least {BAR} | int8 over fp32: PyTorch, Octet |"
          "\n|---|---|---|---|---|")
    for hidden, rows in found.items():
        same, whole = ([[one[key]["int8"] for one in rows if is_all or one["task"].startswith("dmc:")] for is_all in (False, True)]
                       for key in ("same_env", "whole"))
        print(f"| {hidden} | {mean(same[0]):.1f}, {mean(same[1]):.1f} [{min(same[1]):.1f} to {max(same[1]):.1f}] | {mean(whole[0]):.1f}, {mean(whole[1]):.1f} | "
              f"{sum(ratio >= BAR for ratio in same[1])} of {len(rows)} | "
              f"{mean([one['torch_int8_over_fp32'] for one in rows]):.2f}, {mean([one['octet_int8_over_fp32'] for one in rows]):.2f} |")


def load():
    """The modules that --table does without."""
    global np, torch, octet
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import numpy as np
        import torch
        import octet
    except ImportError as missing:
        print(f"LEFT OUT: this Python has no {missing.name}", file=sys.stderr)
        sys.exit(0)
    torch.set_num_threads(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octet", nargs="?")
    parser.add_argument("bench_actorq", nargs="?")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--hidden", default="256,512,2048")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", default="fbgemm")
    parser.add_argument("--records", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    if options.table:
        table(options.table)
        return
    if not options.bench_actorq:
        parser.error("OCTET and BENCH_ACTORQ are needed")
    load()
    torch.backends.quantized.engine = options.engine
    os.environ["OCTET_PROGRAM"] = options.octet
    for width in map(int, options.hidden.split(",")):
        for task in options.tasks.split(","):
            with tempfile.TemporaryDirectory(prefix="octet-bench-") as folder:
                line = json.dumps(compare(options, task, width, pathlib.Path(folder)))
            print(line, flush=True)
            if options.records:
                with options.records.open("a", encoding="utf-8") as out:
                    out.write(line + "\n")


if __name__ == "__main__":
    main()
