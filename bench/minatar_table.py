#!/usr/bin/env python3
"""What algorithms reach in MinAtar after a number of frames, from the records of bench_learning.py.

usage: minatar_table.py RECORDS...

Markdown, one row a game and preset, the best preset of a game first: means over seeds of the evaluations shortly before 1, 3 and 10
million frames (short evaluations, which nothing selected; records of an earlier release do not tell them from the longer evaluations of
versions that a short evaluation had found good), of the last version, which nothing selected either, and of the policy that ships, over 100
episodes that decided nothing. Beside them what is published, by docs/data/minatar-published.json. Below the table it counts the games
whose best row is at least as good as the best published return.
"""

import json
import pathlib
import statistics
import sys

from bench_learning import HERE, MARKS, deviation_of, mean_of, shortly_before
from bench_records import each_once, lines

PUBLISHED = json.loads((HERE.parent / "docs/data/minatar-published.json").read_text(encoding="utf-8"))["returns"]
FRAMES = ("1M", "3M", "10M")


def at(one, mark):
    """The mean return of a run shortly before so many frames; None if it did not come that far.

    The last point of its curve is the result of the policy that ships, and no evaluation of that time."""
    if "screens_at" in one:
        return one["screens_at"].get(mark)
    if one["env_steps"] < 0.98 * MARKS[mark]:
        return None
    return shortly_before([(steps, value) for _, steps, value in one["points"][:-1]], MARKS[mark])


def mean_and_deviation(values):
    return mean_of(values, 1) + deviation_of(values, 1)


def row(game, preset, runs):
    published = PUBLISHED[game]
    best = max(published, key=published.get)
    marks = " | ".join(mean_and_deviation([at(one, mark) for one in runs]) for mark in FRAMES)
    return (f"| {game} | {preset} | {len(runs)} | {marks} | {mean_and_deviation([one['last_return'] for one in runs])} | "
            f"**{mean_and_deviation([one['return'] for one in runs])}** | {statistics.median(one['env_steps'] for one in runs) / 1e6:.0f} | "
            f"{statistics.median(one['wall_s'] for one in runs) / 60:.0f} | {published['DQN 5M']} | {published[best]} {best} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    games = {}
    for one in each_once([one for path in sys.argv[1:] for one in lines(pathlib.Path(path))]):
        game = one["env"].removeprefix("MinAtar/").removesuffix("-v1")
        games.setdefault(game, {}).setdefault(one["preset"], []).append(one)
    print("| game | preset | seeds | at 1 M frames | at 3 M | at 10 M | last version | shipped policy | million frames | minutes | DQN published | best published |\n" + "|---" * 12 + "|")
    reached = 0
    for game, presets in sorted(games.items()):
        shipped = {preset: statistics.fmean(one["return"] for one in runs) for preset, runs in presets.items()}
        for preset in sorted(shipped, key=shipped.get, reverse=True):
            print(row(game, preset, presets[preset]))
        reached += max(shipped.values()) >= max(PUBLISHED[game].values())
    print(f"\nThe best of each game is at least the best published return in {reached} of {len(games)} games.")


if __name__ == "__main__":
    main()
