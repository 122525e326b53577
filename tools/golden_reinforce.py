#!/usr/bin/env python3
"""Golden values of updates of REINFORCE with a baseline, in numpy float64, for
tests/algos/test_algo_reinforce_golden.c.

As in golden.py gradients come from the complex step, without a backward pass: of the loss with
weights, advantages and returns as constants. A return is summed forward from its own step, not
backward from the end of its window.

usage: golden_reinforce.py FOLDER          write the files
       golden_reinforce.py --check FOLDER  compare them with what would be written (exit 1: they
                                           differ)
"""

import sys

from golden import ACTIVATIONS, BETA1, BETA2, EPSILON, RATE, main, np, text_of, uniform
from golden_dpg import Net, log_softmax

OBS, STEPS = 3, 3
TERMINATED, TRUNCATED, FIRST, END, FAILED = 1, 2, 4, 8, 32
FLAGS = np.array([  # [B][T]
    [FIRST, 0, 0, 0],                              # cut by the window
    [FIRST, TERMINATED, END, END],
    [FIRST, 0, TRUNCATED, END],
    [FIRST, END | FAILED, END, END],
    [FIRST | TERMINATED, END, FIRST, 0],           # two episodes, the second one cut
    [0, 0, 0, TERMINATED],                         # ends with the window
    [0, 0, 0, TRUNCATED],
])
B, T = FLAGS.shape
LOW, HIGH = [-2.0, -1.0], [2.0, 0.5]
CASES = {
    "reinforce_softmax": dict(
        box=0, dim=3, activation="tanh", hidden=[6, 5], critic_hidden=[7, 4], norm=0,
        grad_norm_max=0.0, discount=0.75, reward_clip=0.0, normalise=1, ratio_max=1.5,
        entropy_cost=0.0625, value_cost=0.5, critic_ratio=2.0, seed=31),
    "reinforce_softmax_plain": dict(
        box=0, dim=4, activation="relu", hidden=[5], critic_hidden=[6], norm=1,
        grad_norm_max=0.25, discount=1.0, reward_clip=2.0, normalise=0, ratio_max=1.0,
        entropy_cost=0.0, value_cost=1.0, critic_ratio=1.0, seed=32),
    "reinforce_gaussian": dict(
        box=1, dim=2, activation="elu", hidden=[6, 5], critic_hidden=[5], norm=0,
        grad_norm_max=0.5, discount=0.875, reward_clip=0.0, normalise=1, ratio_max=2.0,
        entropy_cost=0.125, value_cost=0.25, critic_ratio=0.5, seed=33),
}


class Policy(Net):
    """Behind the layers, a Gaussian has the log deviation of each number."""

    def __init__(self, case, random):
        super().__init__(case, OBS, case["hidden"], case["dim"], random)
        self.tail = case["dim"] if case["box"] else 0
        self.params = np.concatenate([self.params, uniform(random, -1, 0, self.tail)])
        self.m = self.v = np.zeros(self.params.size)

    def distribution(self, params, obs, done):
        """log-probability of what was done, and entropy, for each row."""
        layers = params[:params.size - self.tail]
        y = self.forward(layers, obs)
        if not self.tail:
            log_p = log_softmax(y)
            return log_p[np.arange(len(y)), done], -(np.exp(log_p) * log_p).sum(axis=1)
        log_s = params[params.size - self.tail:]
        z = (done - y) / np.exp(log_s)
        log_p = (-z * z / 2 - log_s - np.log(2 * np.pi) / 2).sum(axis=1)
        return log_p, (0.5 + np.log(2 * np.pi) / 2 + log_s).sum() + 0 * log_p


def returns(case, value, batch):
    """[B][T]; NaN where there is no action."""
    out = np.full((B, T), np.nan)
    clip = case["reward_clip"] or np.inf
    for b in range(B):
        for t in range(T):
            if FLAGS[b, t] & END:
                continue
            total, power, k = 0.0, 1.0, t
            while True:
                total += power * np.clip(batch["reward"][b, k], -clip, clip)
                power *= case["discount"]
                ends = FLAGS[b, k] & (TERMINATED | TRUNCATED) or k + 1 == T or FLAGS[b, k + 1] & END
                if ends:
                    break
                k += 1
            if not FLAGS[b, k] & TERMINATED:
                total += power * value.forward(value.params, batch["obs"][b, k + 1][None])[0, 0]
            out[b, t] = total
    return out


def make_batch(case, policy, random):
    """Behaviour is the policy as it is, with other log-probabilities: as if an older one."""
    dim = case["dim"]
    obs = uniform(random, -1, 1, B, T + 1, OBS)
    if "obs_spread" in case:
        obs = (obs * case["obs_spread"] + case["obs_shift"]).astype(np.float32).astype(float)
    batch = dict(obs=obs, reward=uniform(random, -3, 3, B, T))
    rows = obs[:, :T].reshape(-1, OBS)
    if case["box"]:
        layers = policy.params[:-dim]
        drawn = policy.forward(layers, rows) + uniform(random, -1, 1, B * T, dim)
        drawn = drawn.astype(np.float32).astype(float)
        low, high = np.array(LOW), np.array(HIGH)
        batch["action"] = (low + (np.clip(drawn, -1, 1) + 1) / 2 * (high - low)).astype(
            np.float32).astype(float).reshape(B, T, dim)
        batch["done"] = drawn
    else:
        batch["done"] = random.randint(0, dim, B * T)
        batch["action"] = batch["done"].reshape(B, T)
    log_pi, _ = policy.distribution(policy.params, rows, batch["done"])
    log_mu = (log_pi + uniform(random, -1, 1, B * T)).astype(np.float32).astype(float)
    extra = [log_mu[:, None]] + ([batch["done"]] if case["box"] else [])
    batch["extra"] = np.concatenate(extra, axis=1)
    return batch


def update(case, policy, value, batch):
    """Yields what the test compares."""
    acts = (FLAGS & END).ravel() == 0
    obs = batch["obs"][:, :T].reshape(-1, OBS)[acts]
    done, log_mu = batch["done"][acts], batch["extra"][acts, 0]
    target = returns(case, value, batch).ravel()[acts]
    v = value.forward(value.params, obs)[:, 0]
    error = target - v
    advantage = (error - error.mean()) / (error.std() + 1e-8) if case["normalise"] else error
    log_pi, _ = policy.distribution(policy.params, obs, done)
    ratio = np.exp(log_pi - log_mu)
    weight = np.minimum(ratio, case["ratio_max"])

    def policy_loss(params):
        log_p, entropy = policy.distribution(params, obs, done)
        return (-weight * advantage * log_p - case["entropy_cost"] * entropy).mean()

    def value_loss(params):
        return case["value_cost"] * ((value.forward(params, obs)[:, 0] - target) ** 2 / 2).mean()

    gradient, value_gradient = policy.gradient(policy_loss), value.gradient(value_loss)
    yield "loss", [policy_loss(policy.params) + value_loss(value.params)]
    yield "value", [v.mean()]
    yield "grad_norm", [np.sqrt((value_gradient**2).sum())]
    yield "policy_grad_norm", [np.sqrt((gradient**2).sum())]
    yield "entropy", [policy.distribution(policy.params, obs, done)[1].mean()]
    yield "ratio_mean", [ratio.mean()]
    yield "ratio_clipped", [(ratio > case["ratio_max"]).mean()]
    yield "kl", [(ratio - 1 - np.log(ratio)).mean()]
    yield "value_loss", [(error**2 / 2).mean()]
    yield "explained_variance", [1 - error.var() / target.var()]
    value.step(value_gradient, RATE * case["critic_ratio"])
    policy.step(gradient, RATE)


class Reinforce:
    def __init__(self, case):
        self.case, self.random = case, np.random.RandomState(case["seed"])
        self.policy = Policy(case, self.random)
        self.value = Net(case, OBS, case["critic_hidden"], 1, self.random)

    def update(self, batch):
        return update(self.case, self.policy, self.value, batch)


KEYS = ["box", "norm", "grad_norm_max", "discount", "reward_clip", "normalise", "ratio_max",
        "entropy_cost", "value_cost", "critic_ratio"]


def values(learner, keys, names=(), rollout_steps=None):
    """What a golden file holds: the settings of keys, first weights, and each batch with what its
    update gives. names: of settings that are chosen from a list, with the number of the choice."""
    case = learner.case
    yield "activation", [ACTIVATIONS.index(case["activation"])]
    for name, number in names:
        yield name, [number]
    for key in ["hidden", "critic_hidden"]:
        yield key, case[key]
    for key in keys:
        yield key, [case[key]]
    yield "shape", [OBS, case["dim"], B, T, STEPS]
    if rollout_steps is not None:
        yield "rollout_steps", [rollout_steps]
    yield "low", LOW
    yield "high", HIGH
    yield "adam", [RATE, BETA1, BETA2, EPSILON]
    yield "flags", FLAGS.ravel()
    nets = dict(policy=learner.policy, value=learner.value)
    for name, net in nets.items():
        yield f"{name}.params", net.params
    for t in range(1, STEPS + 1):
        batch = make_batch(case, learner.policy, learner.random)
        for key in ["obs", "action", "reward", "extra"]:
            yield f"{t}.{key}", batch[key].ravel()
        for key, numbers in learner.update(batch):
            yield f"{t}.{key}", numbers
        for name, net in nets.items():
            for key in ["m", "v", "params"]:
                yield f"{t}.{name}.{key}", getattr(net, key)


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(values(Reinforce(case), KEYS)))
                  for name, case in CASES.items()))
