#!/usr/bin/env python3
"""Golden values of updates of TRPO, in numpy float64, for
tests/algos/test_algo_reinforce_golden.c.

Gradients and Jacobians come from the complex step (golden.py), and the Fisher matrix is formed whole, row by
row, so nothing of a forward-mode or a backward pass is used. What comes before the policy's step, and how
values learn, is golden_ppo.py's.

usage: golden_trpo.py FOLDER          write the files
       golden_trpo.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import sys

from golden import COMPLEX_STEP, RATE, main, np, text_of, uniform
from golden_dpg import log_softmax
from golden_ppo import KEYS as PPO_KEYS
from golden_ppo import PLAIN, Learner, rollout_values

TRPO = dict(PLAIN, algorithm="trpo", kl_max=2.0**-6, cg_iterations=4, cg_damping=0.125,
            line_search_steps=8, line_search_shrink=0.5)
CASES = {
    "trpo_softmax": dict(TRPO, cg_damping=2.0**-7, kl_max=0.25,
                         line_search_shrink=0.875, seed=51),
    "trpo_gaussian": dict(TRPO, box=1, dim=2, activation="elu", norm=1, normalise=0, scale_rewards=1,
                          correction="decoupled", epochs=3, minibatches=1, seed=52),
    "trpo_stays": dict(TRPO, dim=4, correction="none",
                       cg_damping=2.0**-7, kl_max=0.5, line_search_steps=1, value_clip=0.03125, seed=53),
    "trpo_softmax_normalised": dict(TRPO, normalise_observations=1, obs_spread=[0.125, 16, 0],
                                    obs_shift=[0.5, -8, 1], seed=54),
}


class Trpo(Learner):
    def outputs(self, params):
        """[N][dim] of the layers, and the log deviations."""
        layers = params[:params.size - self.policy.tail]
        return self.policy.forward(layers, self.obs), params[params.size - self.policy.tail:]

    def fisher(self):
        """The matrix itself, without damping."""
        params, tail = self.policy.params, self.policy.tail
        y, log_s = self.outputs(params)
        jacobian = np.zeros(y.shape + params.shape)
        for i in range(params.size):
            moved = params.astype(complex)
            moved[i] += 1j * COMPLEX_STEP
            jacobian[:, :, i] = self.outputs(moved)[0].imag / COMPLEX_STEP
        out = np.zeros((params.size, params.size))
        for row, j in zip(y, jacobian):
            p = np.exp(log_softmax(row[None]))[0]
            metric = np.diag(np.exp(-2 * log_s)) if tail else np.diag(p) - np.outer(p, p)
            out += j.T @ metric @ j / len(y)
        for i in range(params.size - tail, params.size):
            out[i, i] += 2
        return out

    def divergence(self, before, after):
        (y, log_s), (z, log_r) = before, after
        if not self.policy.tail:
            log_p, log_q = log_softmax(y), log_softmax(z)
            return (np.exp(log_p) * (log_p - log_q)).sum(axis=1).mean()
        s, r = np.exp(log_s), np.exp(log_r)
        return (np.log(r / s) + (s**2 + (y - z)**2) / (2 * r**2) - 0.5).sum(axis=1).mean()

    def objective(self, params):
        log_p, entropy = self.policy.distribution(params, self.obs, self.done)
        gained = self.weight * np.exp(log_p - self.centre) * self.gain
        return (gained + self.case["entropy_cost"] * entropy).mean()

    def natural_step(self, gradient):
        """The longest step that the quadratic model allows."""
        case = self.case
        matrix = self.fisher() + case["cg_damping"] * np.eye(gradient.size)
        x, residual = np.zeros(gradient.size), gradient.copy()
        towards = residual.copy()
        for _ in range(case["cg_iterations"]):
            if residual @ residual < 1e-10:
                break
            length = residual @ residual / (towards @ matrix @ towards)
            x, before = x + length * towards, residual
            residual = residual - length * (matrix @ towards)
            towards = residual + residual @ residual / (before @ before) * towards
        return np.sqrt(2 * case["kl_max"] / (x @ matrix @ x)) * x

    def update_policy(self):
        case = self.case
        self.gain = self.advantage
        if case["normalise"]:
            self.gain = (self.gain - self.gain.mean()) / (self.gain.std() + 1e-8)
        start, before = self.policy.params, self.outputs(self.policy.params)
        gradient = self.policy.gradient(self.objective)
        step, objective = self.natural_step(gradient), self.objective(start)
        yield "policy_grad_norm", [np.sqrt(gradient @ gradient)]
        tried, found, kl = 0, False, 0.0
        while tried < case["line_search_steps"] and not found:
            params = start + case["line_search_shrink"]**tried * step
            distance = self.divergence(before, self.outputs(params))
            found = distance < case["kl_max"] and self.objective(params) > objective
            tried += 1
            if found:
                self.policy.params, kl = params, distance
        yield "step_kl", [kl]
        yield "line_search_success", [found]
        yield "line_search_steps", [tried]

    def update_values(self):
        """The mean loss of a row in all epochs, and the mean norm."""
        case, losses, norms = self.case, [], []
        for rows in self.minibatches(len(self.v)):
            losses += [self.value_loss(rows, self.value.params)] * len(rows)
            gradient = self.value.gradient(
                lambda params: case["value_cost"] * self.value_loss(rows, params))
            norms.append(np.sqrt((gradient**2).sum()))
            scale = min(1.0, case["grad_norm_max"] / norms[-1]) if case["grad_norm_max"] else 1.0
            self.value.step(gradient * scale, RATE * case["critic_ratio"])
        return np.mean(losses), np.mean(norms)

    def learn(self, batch):
        """Yields what the test compares."""
        case = self.case
        self.prepare(batch)
        v = uniform(self.random, -1, 1, self.policy.params.size)
        yield "direction", v
        yield "fisher", self.fisher() @ v
        start = self.policy.params
        log_p, entropy = self.policy.distribution(start, self.obs, self.done)
        yield from self.update_policy()
        value_loss, norm = self.update_values()
        acted = np.exp(log_p - self.log_mu)
        yield "loss", [case["value_cost"] * value_loss - self.objective(start)]
        yield "value", [self.v.mean()]
        yield "grad_norm", [norm]
        yield "entropy", [entropy.mean()]
        yield "ratio_mean", [acted.mean()]
        is_cut = case["correction"] == "decoupled"
        yield "ratio_clipped", [(acted > case["ratio_max"]).mean() if is_cut else 0.0]
        yield "kl", [(acted - 1 - np.log(acted)).mean()]
        yield "value_loss", [value_loss]
        yield "explained_variance", [1 - self.advantage.var() / self.target.var()]


KEYS = PPO_KEYS + ["cg_iterations", "cg_damping", "line_search_steps", "line_search_shrink"]


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(rollout_values(Trpo(case), KEYS)))
                  for name, case in CASES.items()))
