#!/usr/bin/env python3
"""Golden values of updates of tables, in numpy float64, for tests/algos/test_algo_table_golden.c.

Each episode is taken out of its window as lists of states, actions and rewards first, and learned
from step by step after Sutton and Barto (2018), equations 6.7 to 6.9 and 7.4.

usage: golden_table.py FOLDER          write the files
       golden_table.py --check FOLDER  compare them with what would be written (exit 1: they differ)
"""

import sys

from golden import main, np, text_of, uniform

STATES, ACTIONS, STRIDE, STEPS = 5, 3, 4, 3
TERMINATED, TRUNCATED, FIRST, END, RANDOM, FAILED = 1, 2, 4, 8, 16, 32
TARGETS = ["q_learning", "sarsa", "expected_sarsa"]
# Rows of a window: STRIDE that are learned from, and two more.
FLAGS = np.array([
    [FIRST, 0, RANDOM, 0, 0, 0],                         # goes on behind the window
    [FIRST, TERMINATED, END, FIRST, 0, TERMINATED],      # an end, another within reach
    [0, TRUNCATED, END, FIRST, TRUNCATED, END],
    [0, 0, END | FAILED, FIRST, 0, 0],                   # what failed has no row of its own
    [FIRST, 0, 0, TERMINATED, END, FIRST],
])
CASES = {
    "table_q_learning": dict(target=0, n=1, discount=0.875, epsilon=0.0, reward_clip=0.0, rate=0.5,
                             initial=0.0, seed=11),
    "table_sarsa": dict(target=1, n=1, discount=0.875, epsilon=0.25, reward_clip=2.0, rate=0.25,
                        initial=1.0, seed=12),
    "table_expected_sarsa": dict(target=2, n=1, discount=1.0, epsilon=0.25, reward_clip=0.0,
                                 rate=1.0, initial=-0.5, seed=13),
    "table_sarsa_2": dict(target=1, n=2, discount=0.75, epsilon=0.125, reward_clip=0.0, rate=0.5,
                          initial=0.0, seed=14),
    "table_q_learning_2": dict(target=0, n=2, discount=0.75, epsilon=0.0, reward_clip=1.0, rate=0.5,
                               initial=0.0, seed=15),
}


def policy(q, epsilon):
    """Probabilities of the epsilon-greedy policy; the best share."""
    best = q == q.max()
    return (1 - epsilon) * best / best.sum() + epsilon / q.size


def bootstrap(case, q, taken):
    if TARGETS[case["target"]] == "q_learning":
        return q.max()
    if TARGETS[case["target"]] == "sarsa" and taken is not None:
        return q[taken]
    return (policy(q, case["epsilon"]) * q).sum()


def episodes(flags):
    """(first row, rows with an action, how it ends) of each piece of an episode in a window."""
    begin = None
    for row, flag in enumerate(flags):
        if flag & END:
            if begin is not None:
                yield begin, row, "cut"
            begin = None
            continue
        begin = row if begin is None else begin
        if flag & (TERMINATED | TRUNCATED):
            yield begin, row + 1, "terminated" if flag & TERMINATED else "cut"
            begin = None
    if begin is not None:
        yield begin, len(flags), "open"


def learn(case, q, window):
    """Learns from one window, in place; gives the errors and the values before."""
    errors, values = [], []
    clip = case["reward_clip"] or np.inf
    for first, end, how in episodes(window["flags"]):
        for t in range(first, min(end, STRIDE)):
            last = min(t + case["n"], end)
            target = sum(case["discount"]**k * np.clip(r, -clip, clip)
                         for k, r in enumerate(window["reward"][t:last]))
            if not (last == end and how == "terminated"):
                taken = None if last == end and how == "cut" else window["action"][last]
                target += case["discount"]**(last - t) * bootstrap(
                    case, q[window["state"][last]], taken)
            s, a = window["state"][t], window["action"][t]
            values.append(q[s, a])
            errors.append(target - q[s, a])
            q[s, a] += case["rate"] * errors[-1]
    return errors, values


def table(case):
    random = np.random.RandomState(case["seed"])
    T = STRIDE + case["n"]
    q = np.full((STATES, ACTIONS), case["initial"])
    flags = FLAGS[:, :T]
    yield "shape", [STATES, ACTIONS, len(flags), STRIDE, STEPS]
    for key in ["target", "n", "discount", "epsilon", "reward_clip", "rate", "initial"]:
        yield key, [case[key]]
    for step in range(1, STEPS + 1):
        windows = [dict(flags=row, state=random.randint(0, STATES, T + 1),
                        action=random.randint(0, ACTIONS, T) * ((row & END) == 0),
                        reward=uniform(random, -3, 3, T) * ((row & END) == 0)) for row in flags]
        for key in ["flags", "state", "action", "reward"]:
            yield f"{step}.{key}", np.concatenate([w[key] for w in windows])
        learned = [learn(case, q, w) for w in windows]
        errors = np.concatenate([e for e, _ in learned])
        yield f"{step}.priority", [np.abs(e).max() for e, _ in learned]
        yield f"{step}.loss", [(errors**2).mean() / 2]
        yield f"{step}.td_abs", [np.abs(errors).mean()]
        yield f"{step}.value", [np.concatenate([v for _, v in learned]).mean()]
        yield f"{step}.q", q.T.ravel()


if __name__ == "__main__":
    sys.exit(main((f"{name}.txt", text_of(table(case))) for name, case in CASES.items()))
