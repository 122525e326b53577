#!/usr/bin/env python3
"""CPU seconds to a goal by octet train beside Stable-Baselines3's same algorithm: CartPole-v1, Pendulum-v1, Acrobot-v1, MountainCar-v0 and its continuous form.

usage: bench_train_sb3.py OCTET [--rounds 3] [--only NAME,...] [--records FILE]

Run by hand, with a Python that has stable-baselines3 (PyPI); without, it says so and ends with 0. In each round, which is a seed, both take turns:
octet train with this repository's preset, the whole command with the start of its processes and the evaluation of the result; and Stable-Baselines3
with the settings of rl-baselines3-zoo, one thread of PyTorch, environments in one process. It is evaluated greedily over 10
episodes every 500 to 5000 steps, and ends with the first 100 episodes that reach the goal, as octet train does, whose goal is the preset's and never
lower; or with its last step, or after ten minutes of CPU time, which counts as not reached. Another 100 episodes of either's policy must come near the
goal, which is said where they do not. CPU time is that of all processes, user and system. Prints medians and ratios of the rounds as a table, ratios by
CPU time without Stable-Baselines3's imports and with them, which its whole command has to do; --records adds a line of JSON a round to a file, and makes
no round that is there; train_sb3_table.py prints the table of such a file.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

from bench_records import append, lines
from train_sb3_table import HEADER, row

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ["OMP_NUM_THREADS"] = "1"
try:
    import numpy as np
    import stable_baselines3
    import torch
    from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise
except ImportError as missing:
    print(f"LEFT OUT: this Python has no {missing.name}", file=sys.stderr)
    sys.exit(0)

IMPORTS_CPU_S = time.process_time()
CPU_LIMIT_S = 600
EPISODES, FIRST_EPISODES = 100, 10
HERE = pathlib.Path(__file__).resolve().parent
PRESETS = HERE.parent / "presets"


def falling(start):
    return lambda left: left * start


# Settings of rl-baselines3-zoo, with more steps at most than its own runs have (exploration falls over as many as there).
# every: steps from one evaluation to the next; near: what another 100 episodes may fall short by.
CASES = {
    "cartpole-ppo": dict(
        algorithm=PPO, env="CartPole-v1", envs=8, goal=475, near=25, every=2048, steps=500000,
        settings=dict(n_steps=32, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=20, ent_coef=0.0,
                      learning_rate=falling(0.001), clip_range=falling(0.2))),
    "cartpole-a2c": dict(
        algorithm=A2C, env="CartPole-v1", envs=8, goal=475, near=25, every=4000, steps=500000, settings=dict(ent_coef=0.0)),
    "pendulum-ppo": dict(
        algorithm=PPO, env="Pendulum-v1", envs=4, goal=-200, near=40, every=4096, steps=500000,
        settings=dict(n_steps=1024, gae_lambda=0.95, gamma=0.9, n_epochs=10, ent_coef=0.0, learning_rate=0.001,
                      clip_range=0.2, use_sde=True, sde_sample_freq=4)),
    "pendulum-sac": dict(
        algorithm=SAC, env="Pendulum-v1", envs=1, goal=-160, near=40, every=500, steps=50000,
        settings=dict(learning_rate=0.001)),
    "cartpole": dict(
        algorithm=DQN, env="CartPole-v1", envs=1, goal=475, near=25, every=2048, steps=500000,
        settings=dict(learning_rate=2.3e-3, batch_size=64, buffer_size=100000, learning_starts=1000, gamma=0.99, target_update_interval=10,
                      train_freq=256, gradient_steps=128, exploration_fraction=0.016, exploration_final_eps=0.04,
                      policy_kwargs=dict(net_arch=[256, 256]))),
    "acrobot": dict(
        algorithm=DQN, env="Acrobot-v1", envs=1, goal=-100, near=10, every=5000, steps=500000,
        settings=dict(learning_rate=6.3e-4, batch_size=128, buffer_size=50000, learning_starts=0, gamma=0.99, target_update_interval=250,
                      train_freq=4, gradient_steps=-1, exploration_fraction=0.024, exploration_final_eps=0.1,
                      policy_kwargs=dict(net_arch=[256, 256]))),
    "mountaincar": dict(
        algorithm=DQN, env="MountainCar-v0", envs=1, goal=-110, near=10, every=5000, steps=500000,
        settings=dict(learning_rate=4e-3, batch_size=128, buffer_size=10000, learning_starts=1000, gamma=0.98, target_update_interval=600,
                      train_freq=16, gradient_steps=8, exploration_fraction=0.048, exploration_final_eps=0.07,
                      policy_kwargs=dict(net_arch=[256, 256]))),
    "mountaincar-continuous": dict(
        algorithm=TD3, env="MountainCarContinuous-v0", envs=1, goal=90, near=10, every=5000, steps=300000, ou_noise=0.5, settings={}),
}


class UntilGoal(BaseCallback):
    """Ends the training with the first 100 greedy episodes whose mean reaches the goal, or when its CPU time is spent."""

    def __init__(self, case, seed):
        super().__init__()
        self.last_cpu_s = time.process_time() + CPU_LIMIT_S
        self.case, self.reached, self.next = case, None, case["every"]
        self.env = make_vec_env(case["env"], n_envs=10, seed=10000 + seed)

    def mean(self, episodes):
        return evaluate_policy(self.model, self.env, n_eval_episodes=episodes)[0]

    def _on_step(self):
        if self.num_timesteps < self.next:
            return True
        self.next += self.case["every"]
        if self.mean(FIRST_EPISODES) >= self.case["goal"]:
            mean = self.mean(EPISODES)
            self.reached = mean if mean >= self.case["goal"] else None
        return self.reached is None and time.process_time() < self.last_cpu_s


def theirs(case, seed):
    env, settings = make_vec_env(case["env"], n_envs=case["envs"], seed=seed), dict(case["settings"])
    if "ou_noise" in case:
        settings["action_noise"] = OrnsteinUhlenbeckActionNoise(np.zeros(1), case["ou_noise"] * np.ones(1))
    model = case["algorithm"]("MlpPolicy", env, seed=seed, device="cpu", verbose=0, **settings)
    goal = UntilGoal(case, seed)
    wall, cpu = time.monotonic(), time.process_time()
    model.learn(case["steps"], callback=goal)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    return dict(wall=wall, cpu=cpu, imports_cpu=IMPORTS_CPU_S, steps=model.num_timesteps, reached=goal.reached is not None, again=goal.mean(EPISODES))


def ours(octet, name, seed):
    """What octet train took, and the commit of its learner."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        begin = time.monotonic()
        subprocess.run([octet, "train", PRESETS / f"{name}.yaml", "--seed", str(seed), "--run-dir", run, "--no-ui"],
                       capture_output=True, check=True)
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        spec = re.search(r"^ *id: *(\S+)", (PRESETS / f"{name}.yaml").read_text(encoding="utf-8"), re.MULTILINE)[1]
        answer = subprocess.run([octet, "eval", run / "policy.oct", "--env", spec, "--episodes", str(EPISODES), "--seed", str(20000 + seed)],
                                capture_output=True, text=True, check=True).stdout
    return dict(wall=wall, cpu=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, steps=summary["env_steps"],
                reached=summary["solved"], again=float(re.search(r"(-?\d+\.\d+) ±", answer)[1])), summary["commit"]


def measured(octet, name, seed, records):
    """Both runs of a seed: those of the file where it has them."""
    for one in lines(records) if records else []:
        if (one["case"], one["seed"]) == (name, seed):
            return one
    mine, commit = ours(octet, name, seed)
    pair = dict(bench="train_sb3", case=name, env=CASES[name]["env"], algorithm=CASES[name]["algorithm"].__name__, seed=seed, goal=CASES[name]["goal"],
                octet=mine, sb3=theirs(CASES[name], seed), versions=[stable_baselines3.__version__, torch.__version__], commit=commit)
    if records:
        append(records, pair)
    return pair


def compare(octet, name, rounds, records):
    case, pairs = CASES[name], []
    for seed in range(1, rounds + 1):
        pairs.append(measured(octet, name, seed, records))
        for who in ("octet", "sb3"):
            if pairs[-1][who]["again"] < case["goal"] - case["near"]:
                print(f"{name}, seed {seed}: {who} comes to {pairs[-1][who]['again']:.1f} in other episodes", file=sys.stderr)
    print(row(pairs), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--records", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"stable-baselines3 {stable_baselines3.__version__}, torch {torch.__version__}, one thread\n\n{HEADER}")
    for name in arguments.only.split(","):
        if name not in CASES:
            parser.error(f"--only: no case '{name}'; there are {', '.join(CASES)}")
        compare(arguments.octet, name, arguments.rounds, arguments.records)


if __name__ == "__main__":
    main()
