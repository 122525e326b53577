#!/usr/bin/env python3
"""Draws the pictures of docs/img that show measurements, from docs/data: all of them, or those that are named.

usage: pictures.py [--out docs/img] [NAME...]        NAME: cartpole, say

tests/python/test_pictures.py checks that docs/img has what this script draws.
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ablations  # noqa: E402
import actorq_table  # noqa: E402
import bench_actorq_runs  # noqa: E402
import bench_learning  # noqa: E402
import bench_price  # noqa: E402
import bench_publication  # noqa: E402
import bench_scaling  # noqa: E402
import bench_swarm_grid  # noqa: E402
import bench_wire  # noqa: E402
import learning_grid  # noqa: E402
from bench_records import lines  # noqa: E402

DATA = HERE.parent / "docs/data"
RECIPE_TASKS = ["walker_run", "cheetah_run", "acrobot_swingup", "hopper_hop", "finger_turn_hard"]


def data(name):
    return DATA / name


def by(records, *keys):
    """{value of the first key: {value of the second: [record]}}, as deep as there are keys, in the order of the records."""
    found = {}
    for one in records:
        at = found
        for key in keys[:-1]:
            at = at.setdefault(one[key], {})
        at.setdefault(one[keys[-1]], []).append(one)
    return found


def cartpole(path):
    runs = lines(data("cartpole.jsonl"))
    bench_learning.svg(path, "CartPole-v1 by DQN: return of the published int8 policy", [("int8", [run["points"] for run in runs])], goal=runs[0]["goal"])


def grid(name, title):
    return lambda path: learning_grid.svg(path, title, learning_grid.load([data(name)]))


def control_suite(path):
    learning_grid.svg(path, "D4PG on 27 tasks of the Control Suite: return of the published int8 policy",
                      learning_grid.load([data("control-suite-recipe.jsonl")], is_longest=True), by_steps=True, highlight="recipe")


def two_million(path):
    learning_grid.svg(path, "Two million steps: return of the published int8 policy", learning_grid.load([data("control-suite-2m.jsonl")]), by_steps=True)


def minatar(path):
    learning_grid.svg(path, "MinAtar: return of the published int8 policy",
                      learning_grid.load([data("minatar-values.jsonl"), data("minatar-policy-gradients.jsonl")], by_env=True), by_steps=True)


def ablations_of(title, names, baseline, tasks, without=()):
    def draw(path):
        found = ablations.load([data(name) for name in names], tasks, 500000, without)
        ablations.svg(path, title, {ablations.NONE: found.pop(baseline), **found}, tasks)
    return draw


def price(path):
    found = by(lines(data("price-means.jsonl")), "preset", "setting")
    bench_price.svg(path, {preset: {label: one for label, (one,) in settings.items()} for preset, settings in found.items()})


def price_more(path):
    found = by(lines(data("price.jsonl")), "preset", "setting")
    bench_price.svg(path, bench_price.means(found))


def publication(path):
    ways = by(lines(data("publication-acrobot.jsonl")), "way")
    bench_publication.svg(path, "acrobot", [(way, [run["share"] for run in runs]) for way, runs in ways.items()],
                          [(way, [run["divergence"] for run in runs]) for way, runs in ways.items()], [bench_publication.WAYS[way][1] for way in ways])


def quantisation(task):
    def draw(path):
        arms = by((one for one in lines(data("quantisation.jsonl")) if one["task"] == task), "arm")
        bench_learning.svg(path, f"{task}: return of the policy that acts", [(arm, [run["points"] for run in runs]) for arm, runs in arms.items()])
    return draw


def scaling(of):
    return json.loads(data("scaling.json").read_text(encoding="utf-8"))[of]


def wire(path):
    found = lines(data("wire.jsonl"))
    bench_wire.svg(path, found, list(by(found, "mbit")), "CartPole, 3x512 network, two actors, 5 ms each way", found[0]["threshold"])


def actorq_map(path):
    cells = bench_actorq_runs.cells
    bench_actorq_runs.svg(path, cells(data("actorq-runs.jsonl")), cells(data("actorq-steps.jsonl")), bench_actorq_runs.gains(data("actorq-vnni.jsonl")))


PICTURES = {
    "cartpole": cartpole,
    "learning-results": grid("learning-results.jsonl", "Presets: return of the published int8 policy"),
    "learning-box": grid("learning-box.jsonl", "Box actions by D4PG: return of the published int8 policy"),
    "learning-more": grid("learning-more.jsonl", "Other tasks of the Control Suite by D4PG: return of the published int8 policy"),
    "control-suite-recipe": control_suite,
    "control-suite-2m": two_million,
    "minatar": minatar,
    "ablations-presets": ablations_of("D4PG by the presets, one option changed: return after half a million steps", ["control-suite-500k.jsonl", "ablations-500k.jsonl"],
                                      "samples_per_insert 32", ["cheetah_run", "hopper_hop", "acrobot_swingup"]),
    "ablations-recipe": ablations_of("D4PG by the recipe, one option changed: return after half a million steps", ["control-suite-recipe.jsonl", "control-suite-variations.jsonl"],
                                     "noise of 0.2", RECIPE_TASKS, ["64 samples for each insert"]),
    "price": price,
    "price-more": price_more,
    "publication-acrobot": publication,
    "quantisation-acrobot": quantisation("acrobot"),
    "quantisation-mountaincar": quantisation("mountaincar"),
    "scaling-actors": lambda path: bench_scaling.draw(path, scaling("actors")),
    "scaling-swarm": lambda path: bench_swarm_grid.draw(path, scaling("swarm")["runs"]),
    "wire": wire,
    "actorq-throughput": lambda path: actorq_table.svg(path, actorq_table.load(data("actorq-vnni.jsonl")), " (AMD Zen 5, AVX-512 and VNNI)"),
    "actorq-map": actorq_map,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "docs/img")
    options = parser.parse_args()
    unknown = set(options.names) - set(PICTURES)
    if unknown:
        parser.error(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    for name in options.names or PICTURES:
        PICTURES[name](options.out / f"{name}.svg")


if __name__ == "__main__":
    main()
