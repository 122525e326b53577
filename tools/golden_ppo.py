#!/usr/bin/env python3
"""Golden values of updates of PPO and A2C, in numpy float64, for
tests/algos/test_algo_reinforce_golden.c.

As in golden.py gradients come from the complex step, without a backward pass. An advantage is summed
forward from its own step, not backward from the end of its rollout.

usage: golden_ppo.py FOLDER          write the files
       golden_ppo.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import sys

from golden import RATE, main, np, text_of
from golden_dpg import Pcg
from golden_reinforce import (END, FLAGS, OBS, TERMINATED, TRUNCATED, B, Reinforce, T, values)
from golden_reinforce import KEYS as REINFORCE_KEYS

ALGORITHMS = ["ppo", "a2c", "trpo"]
CORRECTIONS = ["ratio", "decoupled", "none"]
SEED, ORDER_STREAM = 1, 0x7071  # of the test's algorithm; algo_rollout.c
ROLLOUT_STEPS = 3  # whose windows have T rows: config_rollout_rows
PLAIN = dict(
    algorithm="ppo", box=0, dim=3, activation="tanh", hidden=[6, 5], critic_hidden=[7, 4], norm=0,
    grad_norm_max=0.5, discount=0.875, gae_lambda=0.75, reward_clip=0.0, normalise=1,
    ratio_max=1.5, entropy_cost=0.0625, value_cost=0.5, critic_ratio=2.0, epochs=2, minibatches=3,
    clip=0.25, value_clip=0.0, kl_max=0.0, correction="ratio", scale_rewards=0,
    mean_noise=0.0, normalise_observations=0)
CASES = {
    "ppo_softmax": dict(PLAIN, value_clip=0.03125, seed=41),
    "ppo_gaussian": dict(PLAIN, box=1, dim=2, activation="elu", normalise=0, scale_rewards=1,
                         correction="decoupled", epochs=3, minibatches=1, seed=42),
    "ppo_softmax_stops": dict(PLAIN, dim=4, activation="elu", norm=1, correction="none",
                              kl_max=2.0**-12, grad_norm_max=0.0, epochs=4, minibatches=2, seed=43),
    "a2c_softmax": dict(PLAIN, algorithm="a2c", gae_lambda=1.0, normalise=0, reward_clip=2.0,
                        seed=44),
    "a2c_gaussian": dict(PLAIN, algorithm="a2c", box=1, dim=2, ratio_max=1.0, scale_rewards=1,
                         seed=45),
    "ppo_gaussian_normalised": dict(PLAIN, box=1, dim=2, norm=1, normalise_observations=1,
                                    scale_rewards=1, correction="decoupled",
                                    obs_spread=[0.125, 16, 0], obs_shift=[0.5, -8, 1],
                                    seed=46),
    "ppo_gaussian_moved": dict(PLAIN, box=1, dim=2, mean_noise=0.5, seed=47),
}


def below(random, bound):
    """Lemire's draw, as oct_rng_below."""
    while True:
        product = random.u32() * bound
        if product % 2**32 >= 2**32 % bound:
            return product >> 32


class Learner(Reinforce):
    def __init__(self, case):
        super().__init__(case)
        self.order = Pcg(SEED, ORDER_STREAM)
        self.sums = []  # discounted sums of rewards, ever
        self.seen = []  # observations, ever

    def first_layers_scale(self, mean, deviation, back):
        """From functions of x to those of (x - mean) / deviation, and back."""
        for net, key in [(self.policy, "hidden"), (self.value, "critic_hidden")]:
            units = self.case[key][0]
            net.params = net.params.copy()
            weight = net.params[:units * OBS].reshape(units, OBS)
            bias = net.params[units * OBS:units * (OBS + 1)]
            if back:
                weight /= deviation
                bias -= weight @ mean
            else:
                bias += weight @ mean
                weight *= deviation

    def statistics(self):
        if not self.seen:
            return np.zeros(OBS), np.ones(OBS)
        seen = np.concatenate(self.seen)
        mean, deviation = seen.mean(axis=0), seen.std(axis=0)
        hardly = (deviation == 0) | (deviation < 1e-6 * abs(mean))
        return mean, np.where(hardly, np.exp(np.log(deviation[~hardly]).mean()), deviation)

    def update(self, batch):
        """Yields what the test compares."""
        if not self.case["normalise_observations"]:
            yield from self.learn(batch)
            return
        mean, deviation = self.statistics()
        self.first_layers_scale(mean, deviation, back=False)
        yield from self.learn(dict(batch, obs=(batch["obs"] - mean) / deviation))
        acts, obs = (FLAGS & END) == 0, batch["obs"]
        behind = [obs[b, t + 1] for b in range(B) for t in range(T)
                  if acts[b, t] and self.behind(b, t) == (False, True)]
        self.seen += [obs[:, :T][acts], np.array(behind)]
        self.first_layers_scale(*self.statistics(), back=True)

    def behind(self, b, t):
        """Returns two flags: the next row continues the episode, and the value of the next state counts."""
        goes_on = t + 1 < T and not FLAGS[b, t] & (TERMINATED | TRUNCATED) \
            and not FLAGS[b, t + 1] & END
        return goes_on, not FLAGS[b, t] & TERMINATED

    def rewards(self, batch):
        case = self.case
        clip = case["reward_clip"] or np.inf
        reward = np.clip(batch["reward"], -clip, clip)
        if not case["scale_rewards"]:
            return reward
        for b in range(B):
            total = 0.0
            for t in range(T):
                if not FLAGS[b, t] & END:
                    total = reward[b, t] + case["discount"] * total
                    self.sums.append(total)
                    total = total if self.behind(b, t)[0] else 0.0
        return np.clip(reward / np.sqrt(np.var(self.sums) + 1e-8), -10, 10)

    def advantages(self, batch, v):
        """[B][T]; NaN where there is no action. v: [B][T + 1]."""
        case, reward = self.case, self.rewards(batch)
        out = np.full((B, T), np.nan)
        for b in range(B):
            for t in range(T):
                if FLAGS[b, t] & END:
                    continue
                total, power, k, goes_on = 0.0, 1.0, t, True
                while goes_on:
                    goes_on, has_value = self.behind(b, k)
                    total += power * (reward[b, k] - v[b, k] +
                                      (case["discount"] * v[b, k + 1] if has_value else 0.0))
                    power *= case["discount"] * case["gae_lambda"]
                    k += 1
                out[b, t] = total
        return out

    def minibatches(self, count):
        """Rows of each gradient step."""
        case = self.case
        is_a2c = case["algorithm"] == "a2c"
        parts, order = 1 if is_a2c else case["minibatches"], list(range(count))
        for _ in range(1 if is_a2c else case["epochs"]):
            for i in range(count if parts > 1 else 0, 1, -1):
                other = below(self.order, i)
                order[i - 1], order[other] = order[other], order[i - 1]
            for part in range(parts):
                yield np.array(order[part * count // parts:(part + 1) * count // parts])

    def means_move(self, rows):
        """By moving what was done the other way."""
        noise = self.case["mean_noise"]
        for row in rows if noise else []:
            for i in range(self.case["dim"]):
                draw = (self.order.u32() >> 8) * 2.0**-24
                self.done[row, i] = self.done_then[row, i] - noise * (2 * draw - 1)

    def policy_loss(self, rows, advantage, params):
        """Of some rows, and which of their ratios were outside."""
        case = self.case
        log_p, entropy = self.policy.distribution(params, self.obs[rows], self.done[rows])
        ratio = np.exp(log_p - self.centre[rows])
        if case["algorithm"] == "a2c":
            weight = np.minimum(ratio.real, case["ratio_max"])  # a constant
            gained, outside = weight * advantage * log_p, ratio.real > case["ratio_max"]
        else:
            low, high = 1 - case["clip"], 1 + case["clip"]
            cut = np.clip(ratio.real, low, high)
            dead = cut * advantage < ratio.real * advantage
            gained = self.weight[rows] * np.where(dead, cut, ratio) * advantage
            outside = (ratio.real < low) | (ratio.real > high)
        return (-gained - case["entropy_cost"] * entropy).mean(), outside.mean()

    def value_loss(self, rows, params):
        case = self.case
        v = self.value.forward(params, self.obs[rows])[:, 0]
        error = v - self.target[rows]
        if case["value_clip"]:
            off = v - self.v[rows]
            inside = abs(off.real) <= case["value_clip"]
            other = error - off + np.where(inside, off, np.sign(off.real) * case["value_clip"])
            error = np.where(abs(other.real) > abs(error.real), other, error)
        return (error**2 / 2).mean()

    def prepare(self, batch):
        case = self.case
        acts = (FLAGS & END).ravel() == 0
        everywhere = self.value.forward(self.value.params, batch["obs"].reshape(-1, OBS))
        v = everywhere[:, 0].reshape(B, T + 1)
        self.obs = batch["obs"][:, :T].reshape(-1, OBS)[acts]
        self.done, self.log_mu = batch["done"][acts], batch["extra"][acts, 0]
        self.done_then = self.done.copy()
        self.advantage = self.advantages(batch, v).ravel()[acts]
        self.v = v[:, :T].ravel()[acts]
        self.target = self.advantage + self.v
        log_old, _ = self.policy.distribution(self.policy.params, self.obs, self.done)
        is_ratio = case["algorithm"] == "a2c" or case["correction"] == "ratio"
        self.centre = self.log_mu if is_ratio else log_old
        self.weight = np.ones(len(log_old))
        if not is_ratio and case["correction"] == "decoupled":
            self.weight = np.minimum(np.exp(log_old - self.log_mu), case["ratio_max"])

    def learn(self, batch):
        """Yields what the test compares."""
        case = self.case
        self.prepare(batch)
        first, means = {}, []
        for rows in self.minibatches(len(self.v)):
            advantage = self.advantage[rows]
            if case["normalise"]:
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            self.means_move(rows)
            log_p, entropy = self.policy.distribution(self.policy.params, self.obs[rows],
                                                      self.done[rows])
            ratio = np.exp(log_p - self.centre[rows])
            loss, outside = self.policy_loss(rows, advantage, self.policy.params)
            value_loss = self.value_loss(rows, self.value.params)
            gradient = self.policy.gradient(
                lambda params: self.policy_loss(rows, advantage, params)[0])
            value_gradient = self.value.gradient(
                lambda params: case["value_cost"] * self.value_loss(rows, params))
            norms = [np.sqrt((g**2).sum()) for g in (gradient, value_gradient)]
            means.append(dict(loss=loss + case["value_cost"] * value_loss, entropy=entropy.mean(),
                              ratio_clipped=outside, value_loss=value_loss,
                              policy_grad_norm=norms[0], grad_norm=norms[1]))
            acted = np.exp(log_p - self.log_mu[rows])
            first = first or dict(ratio_mean=acted.mean(),
                                  kl=(acted - 1 - np.log(acted)).mean())
            update_kl = (ratio - 1 - np.log(ratio)).mean()
            if case["algorithm"] == "ppo" and case["kl_max"] and len(means) > 1 \
                    and update_kl > case["kl_max"]:
                break
            norm = np.hypot(*norms)
            scale = min(1.0, case["grad_norm_max"] / norm) if case["grad_norm_max"] else 1.0
            self.policy.step(gradient * scale, RATE)
            self.value.step(value_gradient * scale, RATE * case["critic_ratio"])
        else:
            means.append(None)
        yield "gradient_steps", [len(means) - 1]
        means = [m for m in means if m]
        for key in means[0]:
            yield key, [np.mean([m[key] for m in means])]
        yield "ratio_mean", [first["ratio_mean"]]
        yield "kl", [first["kl"]]
        yield "update_kl", [update_kl]
        yield "value", [self.v.mean()]
        yield "explained_variance", [1 - self.advantage.var() / self.target.var()]


KEYS = REINFORCE_KEYS + ["gae_lambda", "epochs", "minibatches", "clip", "value_clip", "kl_max",
                         "scale_rewards", "mean_noise", "normalise_observations"]


def rollout_values(learner, keys):
    case = learner.case
    names = [("algorithm", ALGORITHMS.index(case["algorithm"])),
             ("correction", CORRECTIONS.index(case["correction"]))]
    return values(learner, keys, names, ROLLOUT_STEPS)


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(rollout_values(Learner(case), KEYS)))
                  for name, case in CASES.items()))
