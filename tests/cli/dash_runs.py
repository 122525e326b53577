"""Run folders as a learner and a supervisor leave them, with numbers of a formula: for test_dash.py and
bench/bench_dash.py."""

import json
import math
import pathlib

COLUMNS = ["wall_s", "time_s", "env_steps", "updates", "env_steps_per_s", "updates_per_s", "samples_per_insert", "replay_size",
           "policy_bytes", "divergence", "agreement", "policy_lag", "train_return", "eval_return", "eval_std", "wait_share",
           "actor_infer_share", "actor_env_share", "actor_collect_share", "actor_wait_share", "loss"]


def row(i, seed):
    score = 500 * (1 - math.exp(-i / 40)) + 10 * math.sin(i + seed)
    value = {
        "wall_s": i / 2, "time_s": 1764000000 + i, "env_steps": 1000 * i, "updates": 10 * i, "env_steps_per_s": 2000 + seed,
        "updates_per_s": 20, "samples_per_insert": 2, "replay_size": min(1000 * i, 100000), "policy_bytes": 1500 - i % 500,
        "divergence": 0.01, "agreement": 0.99, "policy_lag": 1, "train_return": score / 2, "wait_share": 0.25,
        "actor_infer_share": 0.5, "actor_env_share": 0.25, "actor_collect_share": 0.05, "actor_wait_share": 0.2, "loss": 1 / (i + 1),
    }
    if i % 5 == 0:
        value |= {"eval_return": score, "eval_std": 1.5}
    return ",".join(f"{value[name]:.9g}" if name in value else "" for name in COLUMNS) + "\n"


def make_run(folder, seed=1, rows=100, ended=True, settings="", first=1):
    """A run of CartPole with this many rows; returns its summary, None while it goes on."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"env: {{id: CartPole-v1}}\nrun: {{seed: {seed}}}\n{settings}", encoding="utf-8")
    with open(folder / "metrics.csv", "w", encoding="utf-8") as out:
        out.write(",".join(COLUMNS) + "\n")
        out.writelines(row(i, seed) for i in range(first, first + rows))
    if not ended:
        return None
    summary = {"env": "CartPole-v1", "seed": seed, "reason": "solved", "solved": True, "goal": 475.0,
               "return": {"precision": "int8", "mean": 487.25 + seed, "std": 12.5, "episodes": 100, "final": True},
               "env_steps": 1000 * rows + seed, "updates": 10 * rows, "learner_wall_s": rows / 2 + 0.4, "env_steps_per_s": 1900.5 + seed,
               "learner_wait_share": 0.93, "actor_seconds": {"infer": 3.0, "env": 1.0, "collect": 0.0, "wait": 4.0}}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return summary
