#!/usr/bin/env python3
"""Golden values of updates of V-trace, in numpy float64, for
tests/algos/test_algo_reinforce_golden.c.

As in golden.py gradients come from the complex step, without a backward pass. A target is the sum of
equation 1 as it is written, forward from its own step; not the recursion backward from the end.

usage: golden_vtrace.py FOLDER          write the files
       golden_vtrace.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import sys

from golden import RATE, main, np, text_of
from golden_ppo import Learner
from golden_reinforce import END, FLAGS, OBS, B, T, values

PLAIN = dict(
    box=0, dim=3, activation="tanh", hidden=[6, 5], critic_hidden=[7, 4], norm=0,
    grad_norm_max=0.5, discount=0.875, gae_lambda=1.0, reward_clip=0.0, normalise=0, ratio_max=1.0,
    trace_max=1.0, entropy_cost=0.0625, value_cost=0.5, critic_ratio=2.0, scale_rewards=0)
CASES = {
    "vtrace_softmax": dict(PLAIN, reward_clip=2.0, seed=51),
    "vtrace_softmax_cut": dict(PLAIN, dim=4, activation="elu", norm=1, gae_lambda=0.75,
                               ratio_max=1.5, trace_max=1.25, normalise=1, grad_norm_max=0.0,
                               seed=52),
    "vtrace_gaussian": dict(PLAIN, box=1, dim=2, activation="elu", ratio_max=1.25, trace_max=0.75,
                            scale_rewards=1, seed=53),
}


class Vtrace(Learner):
    def targets(self, reward, v, ratio):
        """Targets and advantages, [B][T]; NaN where there is no action. v: [B][T + 1]."""
        case = self.case
        discount = case["discount"]
        target, advantage = np.full((2, B, T), np.nan)
        for b, t in zip(*np.nonzero((FLAGS & END) == 0)):
            total, product, k, goes_on = v[b, t], 1.0, t, True
            while goes_on:
                goes_on, has_value = self.behind(b, k)
                delta = reward[b, k] + (discount * v[b, k + 1] if has_value else 0.0) - v[b, k]
                total += product * min(case["ratio_max"], ratio[b, k]) * delta
                product *= discount * case["gae_lambda"] * min(case["trace_max"], ratio[b, k])
                k += 1
            target[b, t] = total
        for b, t in zip(*np.nonzero((FLAGS & END) == 0)):
            goes_on, has_value = self.behind(b, t)
            behind = target[b, t + 1] if goes_on else v[b, t + 1] if has_value else 0.0
            advantage[b, t] = reward[b, t] + discount * behind - v[b, t]
        return target, advantage

    def update(self, batch):
        """Yields what the test compares."""
        case = self.case
        acts = (FLAGS & END).ravel() == 0
        v = self.value.forward(self.value.params, batch["obs"].reshape(-1, OBS))[:, 0]
        v = v.reshape(B, T + 1)
        obs = batch["obs"][:, :T].reshape(-1, OBS)
        log_pi, entropy = self.policy.distribution(self.policy.params, obs, batch["done"])
        ratio = np.exp(log_pi - batch["extra"][:, 0])
        target, advantage = self.targets(self.rewards(batch), v, ratio.reshape(B, T))
        v, obs, done = v[:, :T].ravel()[acts], obs[acts], batch["done"][acts]
        target, advantage = target.ravel()[acts], advantage.ravel()[acts]
        ratio, entropy = ratio[acts], entropy[acts]
        weight = np.minimum(ratio, case["ratio_max"])
        if case["normalise"]:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

        def policy_loss(params):
            log_p, entropy = self.policy.distribution(params, obs, done)
            return (-weight * advantage * log_p - case["entropy_cost"] * entropy).mean()

        def value_loss(params):
            error = self.value.forward(params, obs)[:, 0] - target
            return case["value_cost"] * (error**2 / 2).mean()

        gradient = self.policy.gradient(policy_loss)
        value_gradient = self.value.gradient(value_loss)
        norms = [np.sqrt((g**2).sum()) for g in (gradient, value_gradient)]
        yield "loss", [policy_loss(self.policy.params) + value_loss(self.value.params)]
        yield "value", [v.mean()]
        yield "grad_norm", [norms[1]]
        yield "policy_grad_norm", [norms[0]]
        yield "entropy", [entropy.mean()]
        yield "ratio_mean", [ratio.mean()]
        yield "ratio_clipped", [(ratio > case["ratio_max"]).mean()]
        yield "kl", [(ratio - 1 - np.log(ratio)).mean()]
        yield "value_loss", [((v - target) ** 2 / 2).mean()]
        yield "explained_variance", [1 - (v - target).var() / target.var()]
        norm = np.hypot(*norms)
        scale = min(1.0, case["grad_norm_max"] / norm) if case["grad_norm_max"] else 1.0
        self.policy.step(gradient * scale, RATE)
        self.value.step(value_gradient * scale, RATE * case["critic_ratio"])


KEYS = ["box", "norm", "grad_norm_max", "discount", "reward_clip", "normalise", "ratio_max",
        "trace_max", "entropy_cost", "value_cost", "critic_ratio", "gae_lambda", "scale_rewards"]


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(values(Vtrace(case), KEYS))) for name, case in CASES.items()))
