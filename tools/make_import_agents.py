#!/usr/bin/env python3
"""Writes tests/data/import/agents: small agents that Stable-Baselines3, sb3-contrib and PyTorch saved, and their actions.

usage: make_import_agents.py FOLDER [NAME…]        needs torch, stable-baselines3, sb3-contrib, gymnasium, numpy

NAME.zip, NAME.pt   the agent as the library saves it, packed more tightly; NAME.vec.pkl its VecNormalize
NAME.npz            observations as octet import reads them, and the actions (or, of NAME.pt, the outputs)"""

import io
import pathlib
import pickle
import sys
import warnings
import zipfile

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3 as sb3
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

ROWS, STEPS = 24, 64
NUMBERS = spaces.Box(-3, 3, (5,), np.float32)
CHOICE = spaces.Discrete(4)
BOX = spaces.Box(np.array([-2, -0.5, 0], np.float32), np.array([1, 0.5, 9], np.float32))
PARTS = spaces.Dict(a=NUMBERS, b=spaces.Discrete(3), c=spaces.Box(-1, 1, (2, 2), np.float32))


class Noise(gymnasium.Env):
    """Random observations of a space, for actions of another."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space
        observation_space.seed(1)
        action_space.seed(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(np.sum(action)), False, bool(self.np_random.random() < 0.1), {}


def on_policy(**policy):
    return {"n_steps": 32, "batch_size": 32, "policy_kwargs": {"net_arch": [6, 5], **policy}}


def on_a2c(**policy):
    return {"policy_kwargs": {"net_arch": [6, 5], **policy}}


def off_policy(**policy):
    return {"buffer_size": 64, "learning_starts": 32, "policy_kwargs": {"net_arch": [6, 5], **policy}}


def search(**policy):
    return {"n_delta": 1, "policy_kwargs": {"net_arch": [6, 5], **policy}}


PPO, A2C, DQN, SAC, TD3, DDPG = sb3.PPO, sb3.A2C, sb3.DQN, sb3.SAC, sb3.TD3, sb3.DDPG
TRPO, ARS, QRDQN, TQC, MASKED = sb3_contrib.TRPO, sb3_contrib.ARS, sb3_contrib.QRDQN, sb3_contrib.TQC, sb3_contrib.MaskablePPO

# name: algorithm, observations, actions, arguments
AGENTS = {
    "ppo": (PPO, NUMBERS, CHOICE, on_policy()),
    "ppo_box": (PPO, NUMBERS, BOX, on_policy(activation_fn=nn.ELU)),
    "ppo_apart": (PPO, NUMBERS, CHOICE, on_policy(net_arch={"pi": [7], "vf": [5, 5]}, activation_fn=nn.ReLU, share_features_extractor=False)),
    "ppo_linear": (PPO, NUMBERS, BOX, on_policy(net_arch=[])),
    "ppo_sde": (PPO, NUMBERS, BOX, {"use_sde": True, **on_policy()}),
    "ppo_sde_squashed": (PPO, NUMBERS, BOX, {"use_sde": True, **on_policy(squash_output=True)}),
    "ppo_dict": (PPO, PARTS, CHOICE, on_policy()),
    "ppo_discrete": (PPO, spaces.Discrete(7), CHOICE, on_policy()),
    "ppo_binary": (PPO, spaces.MultiBinary(6), CHOICE, on_policy()),
    "ppo_rows": (PPO, spaces.Box(-1, 1, (3, 4), np.float64), CHOICE, on_policy()),
    "ppo_bytes": (PPO, spaces.Box(0, 255, (6,), np.uint8), CHOICE, on_policy()),
    "ppo_picture": (PPO, spaces.Box(0, 255, (3, 2, 4), np.uint8), CHOICE, on_policy()),
    "a2c_choices": (A2C, spaces.MultiDiscrete([3, 2, 4]), CHOICE, on_a2c()),
    "dqn": (DQN, NUMBERS, CHOICE, off_policy()),
    "sac": (SAC, NUMBERS, BOX, off_policy(activation_fn=nn.Tanh)),
    "sac_sde": (SAC, NUMBERS, BOX, {"use_sde": True, **off_policy(clip_mean=0.5)}),
    "sac_sde_unclipped": (SAC, NUMBERS, BOX, {"use_sde": True, **off_policy(clip_mean=0.0)}),
    "td3": (TD3, NUMBERS, BOX, off_policy()),
    "ddpg": (DDPG, NUMBERS, BOX, off_policy(activation_fn=nn.Sigmoid)),
    "qrdqn": (QRDQN, NUMBERS, CHOICE, off_policy(n_quantiles=7)),
    "tqc": (TQC, NUMBERS, BOX, off_policy()),
    "trpo": (TRPO, NUMBERS, BOX, on_policy()),
    "ars": (ARS, NUMBERS, BOX, search()),
    "ars_clipped": (ARS, NUMBERS, BOX, search(squash_output=False)),
    "ars_linear": (ARS, NUMBERS, BOX, {"n_delta": 1}),
    "ars_choice": (ARS, NUMBERS, CHOICE, search()),
    "masked": (MASKED, NUMBERS, CHOICE, on_policy()),
}
NORMALISED = {"normalised": (PPO, NUMBERS, BOX, on_policy()), "normalised_dict": (PPO, PARTS, CHOICE, on_policy())}
REFUSED = {
    "crossq": (sb3_contrib.CrossQ, NUMBERS, BOX, off_policy()),
    "recurrent": (sb3_contrib.RecurrentPPO, NUMBERS, CHOICE, {"n_steps": 32, "policy_kwargs": {"net_arch": [], "lstm_hidden_size": 3}}),
    "cnn": (PPO, spaces.Box(0, 255, (1, 36, 36), np.uint8), CHOICE, on_policy(features_extractor_kwargs={"features_dim": 2})),
    "choices": (PPO, NUMBERS, spaces.MultiDiscrete([2, 3]), on_policy()),
    "gelu": (PPO, NUMBERS, CHOICE, on_policy(activation_fn=nn.GELU)),
}
POLICIES = {"ars_linear": "LinearPolicy", "recurrent": "MlpLstmPolicy", "cnn": "CnnPolicy", "ppo_dict": "MultiInputPolicy",
            "normalised_dict": "MultiInputPolicy"}


def pack(path):
    """Packs a zip file, and the zip files in it, more tightly."""
    def packed(data):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
            for name in old.namelist():
                if not name.endswith((".optimizer.pth", ".format_version", ".storage_alignment", "serialization_id")) and name != "system_info.txt":
                    inner = old.read(name)
                    new.writestr(zipfile.ZipInfo(name), packed(inner) if name.endswith(".pth") else inner, zipfile.ZIP_DEFLATED)
        return out.getvalue()
    path.write_bytes(packed(path.read_bytes()))


def flattened(space, rows):
    """Observations as octet import reads them."""
    if isinstance(space, spaces.Box):
        rows = np.stack(rows)
        return rows if rows.dtype == np.uint8 else rows.astype(np.float32)
    return np.stack([spaces.flatten(space, row) for row in rows]).astype(np.float32)


def agent(name):
    """Trains an agent for a few steps, and moves its weights so that actions differ."""
    algorithm, observations, actions, arguments = {**AGENTS, **NORMALISED, **REFUSED}[name]
    env = DummyVecEnv([lambda: Noise(observations, actions)])
    if name == "normalised":
        env = VecNormalize(env, clip_obs=1.2)
    elif name == "normalised_dict":
        env = VecNormalize(env, norm_obs_keys=["a"])
    model = algorithm(POLICIES.get(name, "MlpPolicy"), env, seed=3, device="cpu", **arguments)
    model.learn(STEPS, **({"use_masking": False} if algorithm is MASKED else {}))
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def write_agent(folder, name):
    model = agent(name)
    model.save(folder / f"{name}.zip")
    pack(folder / f"{name}.zip")
    space, env = model.observation_space, model.get_vec_normalize_env()
    if env is not None:
        env.save(folder / f"{name}.vec.pkl")
    if name in REFUSED:
        return
    rows = [space.sample() for _ in range(ROWS)]
    seen = {key: np.stack([row[key] for row in rows]) for key in space.spaces} if isinstance(space, spaces.Dict) else np.stack(rows)
    wanted = model.predict(seen if env is None else env.normalize_obs(seen), deterministic=True)[0]
    np.savez_compressed(folder / f"{name}.npz", observations=flattened(space, rows), actions=wanted)


# ---- state dicts

class Normaliser(nn.Module):
    """As EmpiricalNormalization of rsl_rl."""

    def __init__(self, size):
        super().__init__()
        self.eps = 1e-2
        self.register_buffer("_mean", torch.randn(1, size))
        self.register_buffer("_var", torch.rand(1, size) + 0.1)
        self.register_buffer("_std", self._var.sqrt())
        self.register_buffer("count", torch.tensor(100))

    def forward(self, observations):
        return (observations - self._mean) / (self._std + self.eps)


def mlp(activation=nn.ELU):
    return nn.Sequential(nn.Linear(6, 8), activation(), nn.Linear(8, 5), activation(), nn.Linear(5, 3))


def write_states(folder, names):
    torch.manual_seed(4)
    actor, critic, normaliser, other = mlp(), mlp(), Normaliser(6), mlp(nn.Tanh)
    layers = {f"{name}.{key}": value for name, net in (("actor", actor), ("critic", critic)) for key, value in net.state_dict().items()}
    optimizer = torch.optim.Adam(actor.parameters())
    actor(torch.randn(4, 6)).sum().backward()
    optimizer.step()
    layers |= {f"actor.{key}": value for key, value in actor.state_dict().items()}
    rest = {"optimizer_state_dict": optimizer.state_dict(), "iter": 7, "infos": None}
    deviation = torch.tensor([0.5, 0.1, 1.0])
    buffers = {f"actor_obs_normalizer.{key}": value for key, value in normaliser.state_dict().items()}
    new = {f"mlp.{key}": value for key, value in actor.state_dict().items()}
    new |= {f"obs_normalizer.{key}": value for key, value in normaliser.state_dict().items()}
    states = {
        "rsl_1": ({"model_state_dict": {"std": nn.Parameter(deviation), **layers}, "obs_norm_state_dict": normaliser.state_dict(), **rest}, True),
        "rsl_2": ({"model_state_dict": {"log_std": deviation.log(), **layers}, **rest}, False),
        "rsl_3": ({"model_state_dict": {"std": deviation, **layers, **buffers}, **rest}, True),
        "rsl_5": ({"actor_state_dict": {**new, "distribution.std_param": deviation}, **rest}, True),
    }
    observations = torch.randn(ROWS, 6)
    for name, (state, is_normalised) in states.items():
        if not names or name in names:
            torch.save(state, folder / f"{name}.pt")
            pack(folder / f"{name}.pt")
            with torch.no_grad():
                wanted = actor(normaliser(observations) if is_normalised else observations)
            np.savez_compressed(folder / f"{name}.npz", observations=observations, actions=wanted)
    with torch.no_grad():
        wanted = other(observations)
    for name, state in [("sequential", other.state_dict()), ("sequential_half", {key: value.double() for key, value in other.state_dict().items()})]:
        if not names or name in names:
            torch.save(state, folder / f"{name}.pt", _use_new_zipfile_serialization=name == "sequential_half")
            np.savez_compressed(folder / f"{name}.npz", observations=observations, actions=wanted)
            if name == "sequential_half":
                pack(folder / f"{name}.pt")
    if not names or "script" in names:
        torch.jit.script(nn.Linear(2, 2)).save(folder / "script.pt")
        pack(folder / "script.pt")
    if not names or "module" in names:
        torch.save(nn.Sequential(nn.Linear(2, 2)), folder / "module.pt")
        pack(folder / "module.pt")


def write_old(folder):
    """An agent of Stable-Baselines3 1.7 and before, in which actor and critic share layers."""
    model = agent("ppo")
    model.policy_class = sb3.common.policies.ActorCriticPolicy
    state = model.policy.state_dict()
    shared = {key.replace("policy_net.0", "shared_net.0").replace("policy_net.2", "policy_net.0"): value
              for key, value in state.items() if "value_net" not in key}
    path = folder / "ppo_shared.zip"
    model.save(path)
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    out = io.BytesIO()
    torch.save(shared, out)
    files |= {"policy.pth": out.getvalue(), "_stable_baselines3_version": b"1.7.0"}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)
    pack(path)
    rows = np.stack([NUMBERS.sample() for _ in range(ROWS)])
    np.savez_compressed(folder / "ppo_shared.npz", observations=rows, actions=model.predict(rows, deterministic=True)[0])


def write(folder, names=()):
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name in [*AGENTS, *NORMALISED, *REFUSED]:
        if not names or name in names:
            write_agent(folder, name)
    if not names or "ppo_shared" in names:
        write_old(folder)
    write_states(folder, names)
    if not names:
        (folder / "layers.pkl").write_bytes(pickle.dumps({"0.weight": np.ones((2, 3)), "0.bias": np.zeros(2)}, protocol=4))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), sys.argv[2:])
