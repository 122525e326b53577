#!/usr/bin/env python3
"""Trains Pendulum-v1 by D4PG as Acme does it (published defaults, policy 3x512) and writes the
policy's fp32 weights as policy files: a trace for bench_codec_delta. One process, one thread:
what it shows is how the weights move, not how fast one can train. Needs PyTorch.

usage: policy_trace_d4pg.py FOLDER [UPDATES] [LEARNING_RATE]

FOLDER/10 gets runs of 12 neighbours that are 10 updates apart, FOLDER/100 every 100 updates."""

import collections
import pathlib
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import golden_policy as gp  # noqa: E402

WIDTHS = [512, 512, 512]
CRITIC_WIDTHS = [512, 512, 256]
ATOMS, VALUE_MIN, VALUE_MAX = 51, -150.0, 150.0
DISCOUNT, N_STEP, BATCH, SIGMA = 0.99, 5, 256, 0.3
TARGET_PERIOD, STEPS_PER_UPDATE, REPLAY_MIN = 100, 8, 1000
ENVS = 8
REWARD_SCALE = 0.1  # Pendulum's returns then lie within the atoms' support
EPISODE = 200


class Pendulum:
    """Gymnasium's Pendulum-v1, many side by side; actions are in [-1, 1] of the range."""

    def __init__(self, count, rng):
        self.rng, self.count, self.t = rng, count, 0
        self.reset()

    def reset(self):
        self.t = 0
        self.angle = self.rng.uniform(-np.pi, np.pi, self.count)
        self.speed = self.rng.uniform(-1, 1, self.count)
        return self.obs()

    def obs(self):
        return np.stack([np.cos(self.angle), np.sin(self.angle), self.speed], 1).astype(np.float32)

    def step(self, action):
        torque = 2.0 * np.clip(action, -1, 1)
        wrapped = (self.angle + np.pi) % (2 * np.pi) - np.pi
        cost = wrapped**2 + 0.1 * self.speed**2 + 0.001 * torque**2
        speed = self.speed + (15 * np.sin(self.angle) + 3 * torque) * 0.05
        self.speed = np.clip(speed, -8, 8)
        self.angle = self.angle + self.speed * 0.05
        self.t += 1
        return self.obs(), -cost


def mlp(inputs, widths, outputs, last_scale):
    layers = []
    for i, width in enumerate(widths):
        layers.append(torch.nn.Linear(inputs, width))
        layers += [torch.nn.LayerNorm(width), torch.nn.Tanh()] if i == 0 else [torch.nn.ELU()]
        inputs = width
    layers.append(torch.nn.Linear(inputs, outputs))
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            bound = (3 * 0.333 / layer.out_features) ** 0.5
            torch.nn.init.uniform_(layer.weight, -bound, bound)
            torch.nn.init.zeros_(layer.bias)
    if last_scale is not None:
        torch.nn.init.trunc_normal_(layers[-1].weight, std=(last_scale / inputs) ** 0.5)
    return torch.nn.Sequential(*layers)


def copy(target, source):
    target.load_state_dict(source.state_dict())


def projected(support, reward, discount, p):
    """The categorical distribution p of the next value, moved and put back on the support."""
    z = (reward[:, None] + discount[:, None] * support).clamp(VALUE_MIN, VALUE_MAX)
    at = (z - VALUE_MIN) / (support[1] - support[0])
    low = at.floor().long().clamp(0, ATOMS - 2)
    high_share = at - low
    out = torch.zeros_like(p)
    out.scatter_add_(1, low, p * (1 - high_share))
    out.scatter_add_(1, low + 1, p * high_share)
    return out


class Learner:
    def __init__(self, learning_rate):
        self.policy, self.target_policy = (mlp(3, WIDTHS, 1, 1e-4) for _ in range(2))
        self.critic, self.target_critic = (mlp(4, CRITIC_WIDTHS, ATOMS, None) for _ in range(2))
        self.support = torch.linspace(VALUE_MIN, VALUE_MAX, ATOMS)
        self.policy_adam = torch.optim.Adam(self.policy.parameters(), learning_rate)
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), learning_rate)
        self.updates = 0

    def update(self, obs, action, reward, discount, next_obs):
        if self.updates % TARGET_PERIOD == 0:
            copy(self.target_policy, self.policy)
            copy(self.target_critic, self.critic)
        with torch.no_grad():
            next_action = torch.tanh(self.target_policy(next_obs))
            p = self.target_critic(torch.cat([next_obs, next_action], 1)).softmax(1)
            target = projected(self.support, reward, discount, p)
        logits = self.critic(torch.cat([obs, action], 1))
        loss = -(target * logits.log_softmax(1)).sum(1).mean()
        self.apply(loss, self.critic, self.critic_adam)

        chosen = torch.tanh(self.policy(next_obs))
        leaf = chosen.detach().requires_grad_()
        value = (self.critic(torch.cat([next_obs, leaf], 1)).softmax(1) * self.support).sum()
        (gradient,) = torch.autograd.grad(value, leaf)
        gradient = gradient / gradient.norm(dim=1, keepdim=True).clamp(min=1.0)
        policy_loss = 0.5 * ((leaf.detach() + gradient - chosen) ** 2).sum(1).mean()
        self.apply(policy_loss, self.policy, self.policy_adam)
        self.updates += 1

    @staticmethod
    def apply(loss, net, adam):
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 40.0)
        adam.step()


class Replay:
    """Every step of ENVS environments; n-step transitions are made when sampled."""

    def __init__(self, rng):
        self.rng, self.rows = rng, []

    def add(self, obs, action, reward, is_last):
        self.rows.append((obs, action, reward, is_last))

    def sample(self):
        batch = collections.defaultdict(list)
        while len(batch["obs"]) < BATCH:
            t = int(self.rng.integers(len(self.rows) - N_STEP))
            e = int(self.rng.integers(ENVS))
            rows = self.rows[t:t + N_STEP]
            if any(row[3] for row in rows):
                continue  # the episode ends within it
            batch["obs"].append(rows[0][0][e])
            batch["action"].append(rows[0][1][e])
            batch["reward"].append(sum(DISCOUNT**i * r[2][e] for i, r in enumerate(rows)))
            batch["discount"].append(DISCOUNT**N_STEP)
            batch["next_obs"].append(self.rows[t + N_STEP][0][e])
        tensor = {k: torch.tensor(np.array(v), dtype=torch.float32) for k, v in batch.items()}
        tensor["action"] = tensor["action"][:, None]
        return tensor


def write(policy, folder, updates, version, env_steps):
    layers = []
    modules = list(policy)
    for i, module in enumerate(modules):
        if not isinstance(module, torch.nn.Linear):
            continue
        layer = {"shape": tuple(module.weight.shape), "activation": gp.ELU, "norm": False,
                 "weights": module.weight.detach().numpy(), "bias": module.bias.detach().numpy()}
        if i == 0:
            layer |= {"activation": gp.TANH, "norm": True,
                      "gain": modules[1].weight.detach().numpy(),
                      "offset": modules[1].bias.detach().numpy()}
        layers.append(layer)
    layers[-1]["activation"] = gp.LINEAR
    bytes_ = gp.encode({
        "run_id": 1, "version": version, "updates": updates, "env_steps": env_steps,
        "eval_return": float("nan"), "run_name": "d4pg", "precision": gp.FP32, "per_tensor": 0,
        "env_id": "Pendulum-v1", "obs_dtype": 1, "obs_count": 3, "action_kind": gp.BOX,
        "actions": 1, "low": [-2.0], "high": [2.0], "head": gp.TANH_HEAD, "normalise": 0,
        "layers": layers})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{updates:010}.policy").write_bytes(bytes_)


def main():
    folder = pathlib.Path(sys.argv[1])
    updates_max = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
    learning_rate = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    env, learner, replay = Pendulum(ENVS, rng), Learner(learning_rate), Replay(rng)
    obs, returns, episode, env_steps, began = env.obs(), [], np.zeros(ENVS), 0, time.time()
    while learner.updates < updates_max:
        with torch.no_grad():
            action = torch.tanh(learner.policy(torch.from_numpy(obs))).numpy()[:, 0]
        action = np.clip(action + SIGMA * rng.standard_normal(ENVS), -1, 1)
        next_obs, reward = env.step(action)
        episode += reward
        is_last = env.t == EPISODE
        replay.add(obs, action.astype(np.float32), REWARD_SCALE * reward, is_last)
        env_steps += ENVS
        if is_last:
            returns.append(episode.mean())
            next_obs, episode = env.reset(), np.zeros(ENVS)
        obs = next_obs
        if env_steps < REPLAY_MIN:
            continue
        for _ in range(ENVS // STEPS_PER_UPDATE):
            u = learner.updates
            if u % 100 == 0:
                write(learner.policy, folder / "100", u, 1 + u // 100, env_steps)
            if u % 10 == 0 and u % max(updates_max // 5, 120) < 120:
                write(learner.policy, folder / "10", u, 1 + u // 10, env_steps)
            if u % 500 == 0:
                mean = np.mean(returns[-5:]) if returns else float("nan")
                print(f"{u} updates, {env_steps} steps, return {mean:.0f}, "
                      f"{time.time() - began:.0f} s", flush=True)
            learner.update(**replay.sample())


if __name__ == "__main__":
    main()
