"""DQN in NumPy on Octet's actors: solves CartPole-v1. usage: dqn_numpy.py [RUN_FOLDER [SEED]], or
dqn_numpy.py --attach RUN_FOLDER, which learns for an octet-learner that runs already, with actors on any hosts.

Actors, replay, evaluations, the int8 policy and the run folder are Octet's; the network, its gradient and Adam are
the 40 lines below. The run ends when 100 greedy episodes of the int8 policy have a mean return of 490."""

import sys

import numpy as np
import octet

HIDDEN, RATE, TARGET_PERIOD = [32, 32], 0.003, 50


class Network:
    """ReLU layers, and Adam on all their parameters."""

    def __init__(self, sizes, rng):
        self.layers = [(rng.normal(0, 1 / np.sqrt(n), (m, n)).astype(np.float32), np.zeros(m, np.float32))
                       for n, m in zip(sizes, sizes[1:])]
        self.moments = [[np.zeros_like(p) for p in (*layer, *layer)] for layer in self.layers]
        self.steps = 0

    def forward(self, x):
        self.inputs = [x]
        for i, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias
            x = np.maximum(x, 0) if i + 1 < len(self.layers) else x
            self.inputs.append(x)
        return x

    def backward(self, dy):
        gradients = []
        for (weight, _), x in zip(reversed(self.layers), reversed(self.inputs[:-1])):
            gradients.insert(0, (dy.T @ x, dy.sum(0)))
            dy = (dy @ weight) * (x > 0)
        return gradients

    def adam(self, gradients, rate):
        self.steps += 1
        scale = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for parameters, moments, gradient in zip(self.layers, self.moments, gradients):
            for k in range(2):
                moments[k] += 0.1 * (gradient[k] - moments[k])
                moments[k + 2] += 0.001 * (gradient[k]**2 - moments[k + 2])
                parameters[k][...] -= scale * moments[k] / (np.sqrt(moments[k + 2]) + 1e-8)


def copied(network):
    return [(weight.copy(), bias.copy()) for weight, bias in network.layers]


def main(folder="dqn-numpy", seed="1"):
    settings = {"run.seed": seed, "network.hidden": HIDDEN, "algo.learning_rate": RATE}
    with octet.Learner.attach(seed) if folder == "--attach" else octet.Learner("cartpole", folder, settings) as learner:
        rng = np.random.default_rng(1 if folder == "--attach" else int(seed))
        sizes = [learner.layers[0].inputs, *(layer.outputs for layer in learner.layers)]
        online, target = (Network(sizes, rng) for _ in range(2))
        target.layers = copied(online)
        for batch in learner:
            rows = np.arange(len(batch.rewards))
            best = online.forward(batch.next_observations).argmax(1)  # double Q-learning
            wanted = batch.rewards + batch.discounts * target.forward(batch.next_observations)[rows, best]
            values = online.forward(batch.observations)
            error = values[rows, batch.actions] - wanted
            slope = np.zeros_like(values)
            slope[rows, batch.actions] = batch.importance * np.clip(error, -1, 1) / len(rows)  # Huber
            online.adam(online.backward(slope), batch.learning_rate)
            if online.steps % TARGET_PERIOD == 0:
                target.layers = copied(online)
            is_due = online.steps % learner.publish_period == 0
            learner.update(priorities=np.abs(error), weights=online.layers if is_due else None,
                           metrics={"td_abs": np.abs(error).mean(), "value": values.mean()})
        print(f"{learner.run_dir}: {learner.reason}, {online.steps} updates")
    return online


if __name__ == "__main__":
    print(__doc__) if "--help" in sys.argv else main(*sys.argv[1:])
