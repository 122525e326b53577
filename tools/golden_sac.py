#!/usr/bin/env python3
"""Golden values of updates of SAC, in numpy float64, for tests/algos/test_algo_dpg_golden.c.

As in golden_dpg.py gradients come from the complex step, without a backward pass: the policy's of
mean(alpha log pi(a|s) - min Q(s, a)) as it is written, including sampled actions and critics. The density is
that of a Gaussian by the change of variables, log(1 - tanh(u)^2) = -2 log cosh(u); the numbers drawn
are the inverse distribution function of Python's statistics.

usage: golden_sac.py FOLDER          write the files
       golden_sac.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import math
import statistics
import sys

from golden import ACTIVATIONS, BETA1, BETA2, EPSILON, RATE, main, np, text_of
from golden_dpg import B, DIM, OBS, SEED, Net, Pcg, updates

DRAW_STREAM = 0x7364  # algo_sac.c
LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0
LEARNED = -1.0  # the temperature, in the files
COMMON = dict(target_period=1, critic_ratio=1.0, initial=0.5, entropy=-float(DIM), log_std_bias=[0.0, 0.0])
CASES = {
    "sac_relu": dict(
        COMMON, activation="relu", hidden=[6, 5], critic_hidden=[7, 4], norm=0, grad_norm_max=0.5,
        target_rate=0.25, policy_delay=1, temperature=LEARNED, seed=21),
    "sac_tanh_fixed": dict(
        COMMON, activation="tanh", hidden=[5], critic_hidden=[6, 5], norm=0, grad_norm_max=0.0,
        target_rate=0.125, policy_delay=2, critic_ratio=2.0, temperature=0.25, seed=22),
    # Some log deviations are beyond either end of their range.
    "sac_elu_norm_clamped": dict(
        COMMON, activation="elu", hidden=[6, 5], critic_hidden=[6, 5], norm=1, grad_norm_max=2.0,
        target_period=2, target_rate=1.0, policy_delay=1, temperature=LEARNED, initial=2.0, entropy=0.5,
        log_std_bias=[2.0, -20.0], seed=23),
    "sac_residual_relu": dict(
        COMMON, activation="relu", hidden=[5], critic_hidden=[5] * 3, norm=0, residual=1, grad_norm_max=0.0,
        target_rate=0.25, policy_delay=1, temperature=0.25, seed=25),
    "sac_normalised_relu": dict(
        COMMON, activation="relu", hidden=[6, 5], critic_hidden=[6, 5], norm=0, grad_norm_max=0.5,
        normalise_observations=1, obs_size=[0.25, 8.0, 1.0], obs_middle=[1.0, -4.0, 0.0],
        target_rate=0.25, policy_delay=2, temperature=LEARNED, seed=26),
    "sac_one_tanh": dict(
        COMMON, activation="tanh", hidden=[5], critic_hidden=[6, 5], norm=0, critics=1, grad_norm_max=0.0,
        target_rate=0.25, policy_delay=1, temperature=LEARNED, seed=24),
}


class Draws(Pcg):
    """policy/policy_draw.h: 31 bits of the lower half, and a sign."""

    def normal(self):
        bits = self.u32()
        below = statistics.NormalDist().inv_cdf(((bits & 0x7FFFFFFF) + 0.5) / 2**32)
        return -below if bits >> 31 else below


class Sac:
    def __init__(self, case, random):
        self.case = case
        self.policy = Net(case, OBS, case["hidden"], 2 * DIM, random)
        self.policy.params[-DIM:] += case["log_std_bias"]
        self.policy.params = self.policy.params.astype(np.float32).astype(np.float64)
        self.critics = [Net(case, OBS + DIM, case["critic_hidden"], 1, random, bool(case.get("residual", 0)))
                        for _ in range(case.get("critics", 2))]
        self.random = Draws(SEED, DRAW_STREAM)
        self.log_alpha, self.m, self.v, self.steps, self.updates = math.log(case["initial"]), 0.0, 0.0, 0, 0

    def nets(self):
        return dict(policy=self.policy, **{f"critic{i}": c for i, c in enumerate(self.critics)})

    def alpha(self):
        fixed = self.case["temperature"]
        return math.exp(self.log_alpha) if fixed == LEARNED else fixed

    def normals(self):
        return np.array([self.random.normal() for _ in range(B * DIM)]).reshape(B, DIM)

    def draw(self, params, obs, normals):
        """Actions and their log-probabilities."""
        y = self.policy.forward(params, obs)
        mean, log_std = y[:, :DIM], y[:, DIM:]
        log_std = np.where(log_std.real > LOG_STD_MAX, LOG_STD_MAX, log_std)
        log_std = np.where(log_std.real < LOG_STD_MIN, LOG_STD_MIN, log_std)
        u = mean + np.exp(log_std) * normals
        density = np.exp(-normals**2 / 2) / (np.exp(log_std) * math.sqrt(2 * math.pi))
        return np.tanh(u), (np.log(density) + 2 * np.log(np.cosh(u))).sum(axis=1)

    def least(self, params_of, obs, action):
        x = np.concatenate([obs, action], axis=1)
        values = np.array([c.forward(params_of(c), x)[:, 0] for c in self.critics])
        return values[np.argmin(values.real, axis=0), np.arange(B)]

    def step_alpha(self, entropy):
        gradient = entropy - self.case["entropy"]
        self.steps += 1
        self.m = BETA1 * self.m + (1 - BETA1) * gradient
        self.v = BETA2 * self.v + (1 - BETA2) * gradient**2
        self.log_alpha -= RATE * (self.m / (1 - BETA1**self.steps)) / (
            math.sqrt(self.v / (1 - BETA2**self.steps)) + EPSILON)

    def critic_gradients(self, batch, wanted):
        x = np.concatenate([batch["obs"], batch["unit_action"]], axis=1)
        losses, norms, errors, gradients = 0, [], [], []
        for critic in self.critics:
            def loss(params, critic=critic):
                return (batch["weight"] * (wanted - critic.forward(params, x)[:, 0])**2).mean()

            losses += loss(critic.params)
            gradients.append(critic.gradient(loss))
            norms.append(np.sqrt((gradients[-1]**2).sum()))
            errors.append(np.abs(wanted - critic.forward(critic.params, x)[:, 0]))
        return losses, max(norms), errors, gradients

    def update(self, batch):
        """Yields what the test compares."""
        case, alpha = self.case, self.alpha()
        self.updates += 1
        learns = self.updates % case["policy_delay"] == 0
        here = self.normals() if learns else None  # drawn first
        action, log_prob = self.draw(self.policy.params, batch["next"], self.normals())
        soft = self.least(lambda c: c.target, batch["next"], action) - alpha * log_prob
        wanted = batch["reward"] + batch["discount"] * soft
        loss, norm, errors, gradients = self.critic_gradients(batch, wanted)
        x = np.concatenate([batch["obs"], batch["unit_action"]], axis=1)
        yield "loss", [loss]
        yield "value", [self.critics[0].forward(self.critics[0].params, x).mean()]
        yield "td_abs", [errors[0].mean()]
        yield "grad_norm", [norm]
        yield "priority", np.max(errors, axis=0)
        yield "alpha", [alpha]
        if learns:
            def policy_loss(params):
                action, log_prob = self.draw(params, batch["obs"], here)
                return (alpha * log_prob - self.least(lambda c: c.params, batch["obs"], action)).mean()

            action, log_prob = self.draw(self.policy.params, batch["obs"], here)
            gradient = self.policy.gradient(policy_loss)
            yield "policy_grad_norm", [np.sqrt((gradient**2).sum())]
            yield "entropy", [-log_prob.mean()]
            yield "policy_value", [self.least(lambda c: c.params, batch["obs"], action).mean()]
        for critic, change in zip(self.critics, gradients):
            critic.step(change, RATE * case["critic_ratio"])
        if learns:
            self.policy.step(gradient, RATE)
            if case["temperature"] == LEARNED:
                self.step_alpha(-log_prob.mean())
            if self.updates % case["target_period"] == 0:
                for critic in self.critics:
                    critic.follow()
        yield "temperature", [self.log_alpha, self.m, self.v]


def sac(case):
    random = np.random.RandomState(case["seed"])
    learner = Sac(case, random)
    yield "activation", [ACTIVATIONS.index(case["activation"])]
    for key in ["hidden", "critic_hidden"]:
        yield key, case[key]
    for key in ["critics", "residual", "normalise_observations"]:
        yield key, [case.get(key, 0)]
    for key in ["norm", "grad_norm_max", "target_period", "target_rate", "policy_delay", "critic_ratio",
                "temperature", "initial", "entropy"]:
        yield key, [case[key]]
    yield from updates(case, learner, random, left_out=["policy.target"])


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(sac(case))) for name, case in CASES.items()))
