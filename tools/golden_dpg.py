#!/usr/bin/env python3
"""Golden values of updates of D4PG, DDPG and TD3, in numpy float64, for
tests/algos/test_algo_dpg_golden.c.

As in golden.py gradients come from the complex step, without a backward pass: the critics' of
their loss, dQ/da of Q itself, the policy's of sum(-clip(dQ/da) * pi) / B. The projection onto the
atoms is the kernel of the distributional DQN's authors, max(0, 1 - distance), not a split.

usage: golden_dpg.py FOLDER          write the files
       golden_dpg.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import math
import sys

from golden import (ACTIVATIONS, BETA1, BETA2, COMPLEX_STEP, EPSILON, RATE, Taken, activate, layer_norm, main, np,
                    text_of, uniform)

ALGORITHMS = ["dqn", "d4pg", "ddpg", "td3"]
OBS, DIM, B, STEPS = 3, 2, 5, 4
LOW, HIGH = [-2.0, -1.0], [2.0, 0.5]
SEED, NOISE_STREAM = 1, 0x6E64  # of the test's algorithm; algo_dpg.c
CASES = {
    "d4pg_elu_norm": dict(
        name="d4pg", activation="elu", hidden=[6, 5], critic_hidden=[7, 4], norm=1,
        grad_norm_max=0.25, action_grad_norm_max=0.03125, target_period=2, target_rate=1.0,
        policy_delay=1, critic_ratio=2.0, noise=0.0, noise_clip=0.0, atoms=[11, -3, 2], seed=11),
    "d4pg_tanh_free": dict(
        name="d4pg", activation="tanh", hidden=[5], critic_hidden=[6, 5], norm=0,
        grad_norm_max=0.0, action_grad_norm_max=0.0, target_period=1, target_rate=0.125,
        policy_delay=2, critic_ratio=1.0, noise=0.0, noise_clip=0.0, atoms=[7, -1, 4], seed=12),
    "d4pg_normalised_elu": dict(
        name="d4pg", activation="elu", hidden=[6, 5], critic_hidden=[7, 4], norm=1, normalise_observations=1,
        obs_size=[0.25, 8.0, 1.0], obs_middle=[1.0, -4.0, 0.0],
        grad_norm_max=0.5, action_grad_norm_max=0.0625, target_period=1, target_rate=0.25,
        policy_delay=1, critic_ratio=2.0, noise=0.0, noise_clip=0.0, atoms=[11, -3, 2], seed=131),
    "d4pg_pre_activation": dict(
        name="d4pg", activation="elu", hidden=[6, 5], critic_hidden=[7, 4], norm=1, pre_activation_cost=0.125,
        grad_norm_max=0.0, action_grad_norm_max=0.03125, target_period=1, target_rate=0.25,
        policy_delay=1, critic_ratio=2.0, noise=0.0, noise_clip=0.0, atoms=[11, -3, 2], seed=132),
    "ddpg_relu": dict(
        name="ddpg", activation="relu", hidden=[6, 5], critic_hidden=[7, 4], norm=0,
        grad_norm_max=0.5, action_grad_norm_max=0.25, target_period=1, target_rate=0.25,
        policy_delay=1, critic_ratio=4.0, noise=0.25, noise_clip=0.5, atoms=[2, 0, 1], seed=13),
    "td3_elu_norm": dict(
        name="td3", activation="elu", hidden=[6, 5], critic_hidden=[6, 5], norm=1,
        grad_norm_max=2.0, action_grad_norm_max=0.0, target_period=1, target_rate=0.25,
        policy_delay=2, critic_ratio=1.0, noise=0.25, noise_clip=0.3125, atoms=[2, 0, 1], seed=14),
    # Seeds of two critics: each is the smaller one for some rows, of targets and of slopes.
    "d4pg_two_elu_norm": dict(
        name="d4pg", activation="elu", hidden=[6, 5], critic_hidden=[7, 4], norm=1, critics=2,
        grad_norm_max=0.5, action_grad_norm_max=0.0625, target_period=1, target_rate=0.25,
        policy_delay=1, critic_ratio=2.0, noise=0.0, noise_clip=0.0, atoms=[11, -3, 2], seed=114),
    "ddpg_two_tanh": dict(
        name="ddpg", activation="tanh", hidden=[5], critic_hidden=[6, 5], norm=0, critics=2,
        grad_norm_max=0.0, action_grad_norm_max=0.0, target_period=2, target_rate=1.0,
        policy_delay=1, critic_ratio=1.0, noise=0.0, noise_clip=0.0, atoms=[2, 0, 1], seed=47),
    "d4pg_two_residual_relu": dict(
        name="d4pg", activation="relu", hidden=[6, 5], critic_hidden=[5] * 5, norm=1, critics=2, residual=1,
        grad_norm_max=0.0, action_grad_norm_max=0.0, target_period=1, target_rate=0.25,
        policy_delay=1, critic_ratio=1.0, noise=0.0, noise_clip=0.0, atoms=[11, -3, 2], seed=18),
    "ddpg_residual_elu": dict(
        name="ddpg", activation="elu", hidden=[5], critic_hidden=[6] * 3, norm=0, residual=1,
        grad_norm_max=0.5, action_grad_norm_max=0.25, target_period=2, target_rate=1.0,
        policy_delay=1, critic_ratio=2.0, noise=0.0, noise_clip=0.0, atoms=[2, 0, 1], seed=19),
    "td3_one_relu": dict(
        name="td3", activation="relu", hidden=[6, 5], critic_hidden=[6, 5], norm=0, critics=1,
        grad_norm_max=0.0, action_grad_norm_max=0.5, target_period=1, target_rate=0.25,
        policy_delay=2, critic_ratio=1.0, noise=0.25, noise_clip=0.3125, atoms=[2, 0, 1], seed=17),
}


class Pcg:
    """PCG32 and the polar method, as common/oct_rng.c says."""

    def __init__(self, seed, stream):
        self.state, self.stream = 0, (stream << 1) | 1
        self.u32()
        self.state += seed
        self.u32()

    def u32(self):
        old = self.state
        self.state = (old * 6364136223846793005 + self.stream) % 2**64
        shifted, rotate = (((old >> 18) ^ old) >> 27) % 2**32, old >> 59
        return ((shifted >> rotate) | (shifted << (-rotate % 32))) % 2**32

    def uniform(self):
        high = self.u32()
        return (((high << 32) | self.u32()) >> 11) * 2.0**-53

    def normal(self):
        while True:
            u = 2 * self.uniform() - 1
            v = 2 * self.uniform() - 1
            s = u * u + v * v
            if 0 < s < 1:
                return float(np.float32(u * math.sqrt(-2 * math.log(s) / s)))


class Net:
    """An MLP whose parameters lie in policy_spec's order, with Adam's moments and a target. residual:
    act(LN(.)), then blocks x + LN(W2 act(LN(W1 x))), then a linear layer."""

    def __init__(self, case, inputs, hidden, outputs, random, residual=False):
        self.case, self.sizes, self.residual = case, [inputs, *hidden, outputs], residual
        self.norms = len(hidden) if residual else 1 if case["norm"] else 0
        count = sum((i + 1) * o for i, o in zip(self.sizes, self.sizes[1:]))
        count += 2 * sum(hidden[:self.norms])
        self.params = uniform(random, -0.75, 0.75, count)
        self.target = uniform(random, -0.75, 0.75, count)
        self.m, self.v, self.steps = np.zeros(count), np.zeros(count), 0

    def forward(self, params, x):
        take, last = Taken(params), len(self.sizes) - 2
        around = None  # inputs of a block
        for layer, (inputs, outputs) in enumerate(zip(self.sizes, self.sizes[1:])):
            weight, bias = take(outputs, inputs), take(outputs)
            in_block = self.residual and 0 < layer < last
            around = x if in_block and layer % 2 == 1 else around
            x = x @ weight.T + bias
            name = self.case["activation"]
            if layer < self.norms:
                x = layer_norm(x, take(outputs), take(outputs))
                name = name if self.residual else "tanh"
            if in_block and layer % 2 == 0:
                x = around + x
            elif layer < last:
                x = activate(name, x)
        assert take.left.size == 0
        return x

    def gradient(self, function):
        """Of function(params), at the parameters as they are."""
        out = np.zeros(self.params.size)
        for i in range(out.size):
            moved = self.params.astype(complex)
            moved[i] += 1j * COMPLEX_STEP
            out[i] = function(moved).imag / COMPLEX_STEP
        return out

    def step(self, gradient, rate):
        norm = np.sqrt((gradient * gradient).sum())
        if 0 < self.case["grad_norm_max"] < norm:
            gradient = gradient * self.case["grad_norm_max"] / norm
        self.steps += 1
        self.m = BETA1 * self.m + (1 - BETA1) * gradient
        self.v = BETA2 * self.v + (1 - BETA2) * gradient**2
        self.params = self.params - rate * (self.m / (1 - BETA1**self.steps)) / (
            np.sqrt(self.v / (1 - BETA2**self.steps)) + EPSILON)

    def follow(self):
        self.target = self.target + self.case["target_rate"] * (self.params - self.target)

    def arrays(self, prefix, keys=("m", "v", "params", "target")):
        for key in keys:
            yield f"{prefix}.{key}", getattr(self, key)


class Observed:
    """algo.normalise_observations: observations less the mean and divided by the deviation of those of all updates
    before; networks are functions of such observations."""

    def __init__(self, case):
        self.is_on, self.rows = case.get("normalise_observations", 0), np.zeros((0, OBS))

    def statistics(self):
        if len(self.rows) == 0:
            return np.zeros(OBS), np.ones(OBS)
        return self.rows.mean(axis=0), self.rows.std(axis=0)

    def take(self, batch):
        mean, deviation = self.statistics()
        if self.is_on:
            self.rows = np.concatenate([self.rows, batch["obs"]])
        return dict(batch, obs=(batch["obs"] - mean) / deviation, next=(batch["next"] - mean) / deviation)

    def raw(self, policy):
        """The policy's parameters as a function of observations as they are."""
        mean, deviation = self.statistics()
        units = policy.sizes[1]
        weight, rest = policy.params[:units * OBS].reshape(units, OBS) / deviation, policy.params[units * OBS:].copy()
        rest[:units] -= weight @ mean
        return np.concatenate([weight.ravel(), rest])


def spread(case, batch):
    """Numbers of different sizes, where a case has them."""
    size, middle = (np.array(case[key]) if key in case else default
                    for key, default in [("obs_size", np.ones(OBS)), ("obs_middle", np.zeros(OBS))])
    return dict(batch, obs=batch["obs"] * size + middle, next=batch["next"] * size + middle)


def log_softmax(x):
    x = x - x.real.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


class Learner:
    """One of the three algorithms; an update's gradients are all taken before any step."""

    def __init__(self, case, random):
        self.case = case
        self.categorical = case["name"] == "d4pg"
        atoms, low, high = case["atoms"]
        self.z = np.linspace(low, high, atoms)
        outputs = atoms if self.categorical else 1
        self.policy = Net(case, OBS, case["hidden"], DIM, random)
        self.critics = [Net(case, OBS + DIM, case["critic_hidden"], outputs, random, bool(case.get("residual", 0)))
                        for _ in range(case.get("critics", 2 if case["name"] == "td3" else 1))]
        self.random = Pcg(SEED, NOISE_STREAM)
        self.updates = 0

    def nets(self):
        return dict(policy=self.policy, **{f"critic{i}": c for i, c in enumerate(self.critics)})

    def act(self, params, obs):
        return np.tanh(self.policy.forward(params, obs))

    def value(self, critic, params, obs, action):
        y = critic.forward(params, np.concatenate([obs, action], axis=1))
        return np.exp(log_softmax(y)) @ self.z if self.categorical else y[:, 0]

    def target_action(self, batch):
        action = self.act(self.policy.target, batch["next"])
        if self.case["name"] == "td3":
            noise = np.array([self.random.normal() for _ in range(B * DIM)]).reshape(B, DIM)
            cut = self.case["noise_clip"]
            action = np.clip(action + np.clip(self.case["noise"] * noise, -cut, cut), -1, 1)
        return action

    def wanted(self, batch):
        """[B][atoms], or [B] values; of atoms self.cut has by how much the ends of the support move each row's mean."""
        action = self.target_action(batch)
        if not self.categorical:
            values = [self.value(c, c.target, batch["next"], action) for c in self.critics]
            return batch["reward"] + batch["discount"] * np.min(values, axis=0)
        x = np.concatenate([batch["next"], action], axis=1)
        all_p = np.array([np.exp(log_softmax(c.forward(c.target, x))) for c in self.critics])
        p = all_p[np.argmin(all_p @ self.z, axis=0), np.arange(B)]
        image = batch["reward"][:, None] + batch["discount"][:, None] * self.z
        moved = np.clip(image, self.z[0], self.z[-1])
        self.cut = (p * (moved - image)).sum(axis=1) / (self.z[-1] - self.z[0])
        image = moved
        distance = np.abs(image[:, :, None] - self.z) / (self.z[1] - self.z[0])
        return (p[:, :, None] * np.maximum(0, 1 - distance)).sum(axis=1)

    def loss_rows(self, critic, params, batch, wanted):
        x = np.concatenate([batch["obs"], batch["unit_action"]], axis=1)
        y = critic.forward(params, x)
        if self.categorical:
            return -(wanted * log_softmax(y)).sum(axis=1)
        return (wanted - y[:, 0]) ** 2

    def kl_rows(self, critic, batch, wanted):
        """sum of wanted log(wanted / p), where an atom without mass adds nothing."""
        x = np.concatenate([batch["obs"], batch["unit_action"]], axis=1)
        p = np.exp(log_softmax(critic.forward(critic.params, x)))
        there = wanted > 0
        return np.where(there, wanted * np.log(np.where(there, wanted, 1) / p), 0).sum(axis=1)

    def action_slope(self, obs, action):
        """dQ/da of the critic with the smallest value in a row, of TD3 of the first; clipped."""
        critics = self.critics[:1] if self.case["name"] == "td3" else self.critics
        values = np.array([self.value(c, c.params, obs, action) for c in critics])
        least = np.argmin(values, axis=0)
        out = np.zeros(action.shape)
        for i in range(DIM):
            moved = action.astype(complex)
            moved[:, i] += 1j * COMPLEX_STEP
            slopes = np.array([self.value(c, c.params, obs, moved).imag for c in critics])
            out[:, i] = slopes[least, np.arange(B)] / COMPLEX_STEP
        most = self.case["action_grad_norm_max"]
        norm = np.sqrt((out * out).sum(axis=1, keepdims=True))
        return out * np.where((norm > most) & (most > 0), most / norm, 1)

    def policy_gradient(self, batch):
        obs = batch["next" if self.categorical else "obs"]
        slope = self.action_slope(obs, self.act(self.policy.params, obs))
        cost = self.case.get("pre_activation_cost", 0)
        return self.policy.gradient(lambda params: (cost * (self.policy.forward(params, obs) ** 2).sum()
                                                    - (slope * self.act(params, obs)).sum()) / B)

    def update(self, batch):
        """Yields what the test compares."""
        case = self.case
        self.updates += 1
        learns = self.updates % case["policy_delay"] == 0
        wanted = self.wanted(batch)
        mean = wanted @ self.z if self.categorical else wanted
        loss, norms, priorities, gradients = 0, [], [], []
        for critic in self.critics:
            def total(params, critic=critic):
                return (batch["weight"] * self.loss_rows(critic, params, batch, wanted)).mean()

            values = self.value(critic, critic.params, batch["obs"], batch["unit_action"])
            loss += total(critic.params)
            gradients.append(critic.gradient(total))
            norms.append(np.sqrt((gradients[-1] ** 2).sum()))
            priorities.append(self.kl_rows(critic, batch, wanted) if self.categorical
                              else np.abs(mean - values))
        first = self.critics[0]
        values = self.value(first, first.params, batch["obs"], batch["unit_action"])
        yield "loss", [loss]
        yield "value", [values.mean()]
        yield "td_abs", [np.abs(mean - values).mean()]
        if self.categorical:
            yield "cut", [np.maximum(self.cut, 0).mean(), np.maximum(-self.cut, 0).mean()]
        yield "grad_norm", [max(norms)]
        yield "priority", np.max(priorities, axis=0)
        policy_gradient = self.policy_gradient(batch) if learns else None
        if learns:
            yield "policy_grad_norm", [np.sqrt((policy_gradient ** 2).sum())]
        for critic, gradient in zip(self.critics, gradients):
            critic.step(gradient, RATE * case["critic_ratio"])
        if learns:
            self.policy.step(policy_gradient, RATE)
            if self.updates % case["target_period"] == 0:
                for net in self.nets().values():
                    net.follow()


def make_batch(random):
    low, high = np.array(LOW), np.array(HIGH)
    unit = np.round(uniform(random, -1, 1, B, DIM) * 64) / 64  # exact in every unit
    return dict(
        obs=uniform(random, -1, 1, B, OBS), next=uniform(random, -1, 1, B, OBS),
        action=low + (unit + 1) / 2 * (high - low), reward=uniform(random, -3, 3, B),
        discount=uniform(random, 0.5, 1, B) * (np.arange(B) != 2),
        weight=uniform(random, 0.2, 1, B), unit_action=unit)


def updates(case, learner, random, left_out=()):
    """Of a file all that follows the case: the networks, then each batch and what its update gives. left_out: arrays of
    networks that the learner has not."""
    yield "shape", [OBS, DIM, B, STEPS]
    yield "low", LOW
    yield "high", HIGH
    yield "adam", [RATE, BETA1, BETA2, EPSILON]
    for name, net in learner.nets().items():
        for key, values in net.arrays(name, ["params", "target"]):
            if key not in left_out:
                yield key, values
    observed = Observed(case)
    for t in range(1, STEPS + 1):
        batch = spread(case, make_batch(random))
        for key in ["obs", "next", "action", "reward", "discount", "weight"]:
            yield f"{t}.{key}", batch[key].ravel()
        for key, values in learner.update(observed.take(batch)):
            yield f"{t}.{key}", values
        if observed.is_on:
            yield f"{t}.ships", observed.raw(learner.policy)
        for name, net in learner.nets().items():
            for key, values in net.arrays(name):
                if key not in left_out:
                    yield f"{t}.{key}", values


def dpg(case):
    random = np.random.RandomState(case["seed"])
    learner = Learner(case, random)
    yield "algorithm", [ALGORITHMS.index(case["name"])]
    yield "activation", [ACTIVATIONS.index(case["activation"])]
    for key in ["hidden", "critic_hidden", "atoms"]:
        yield key, case[key]
    for key in ["critics", "residual", "normalise_observations", "pre_activation_cost"]:
        yield key, [case.get(key, 0)]
    for key in ["norm", "grad_norm_max", "action_grad_norm_max", "target_period", "target_rate",
                "policy_delay", "critic_ratio", "noise", "noise_clip"]:
        yield key, [case[key]]
    yield from updates(case, learner, random)


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(dpg(case))) for name, case in CASES.items()))
