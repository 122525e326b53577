"""The numbers of the tables and pictures that are made of records of runs: worked out here by hand."""

import json
import math
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import bench_learning
import learning_grid
import minatar_table


def one(seed, **values):
    return {"preset": "pole", "env": "Pole-v1", "setting": "int8", "seed": seed, "goal": 5, "solved": True, "wall_s": 10.0 * seed, "return": 2.0 * seed,
            "again": 3.0 * seed, "last_return": 4.0 * seed, "last_screens": 5.0 * seed, "env_steps": 1000 * seed * seed, "updates": 100 * seed,
            "actor_seconds": {"infer": 1, "env": 2, "collect": 1, "wait": 4}, "points": [[1, 10, 1.0], [2 * seed, 20, 2.0 * seed]], **values}


def table_of(tmp_path, program, *records, more=()):
    (tmp_path / "records").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    said = subprocess.run([sys.executable, BENCH / program, tmp_path / "records", *more], capture_output=True, text=True, check=True).stdout
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in said.splitlines() if row.startswith("|")][2:], said


def test_the_grid_has_means_medians_and_the_least(tmp_path):
    rows, _ = table_of(tmp_path, "learning_grid.py", one(1), one(2, solved=False), one(3), one(1, setting="fp32", goal=None))
    assert rows == [
        ["pole", "int8", "3", "2", "20 (30)", "4.0 ± 2.0, 2.0", "3.0", "8.0, 4.0", "10.0", "4", "0.2", "200", "12.5 / 25.0 / 12.5 / 50.0 %"],
        ["pole", "fp32", "1", "-", "10 (10)", "2.0 ± 0.0, 2.0", "3.0", "4.0, 4.0", "5.0", "1", "0.1", "100", "12.5 / 25.0 / 12.5 / 50.0 %"]]


def test_a_grid_by_environment_has_the_algorithms_of_each(tmp_path):
    records = [one(1, preset="minatar/pole-ppo"), one(1, preset="pole-vtrace"), one(1, preset="pole-ppo", env="Cart-v1")]
    rows, _ = table_of(tmp_path, "learning_grid.py", *records, more=["--by-env"])
    assert [row[:2] for row in rows] == [["Pole-v1", "ppo"], ["Pole-v1", "vtrace"], ["Cart-v1", "ppo"]]


def test_a_grid_of_the_longest_has_each_seed_once(tmp_path):
    rows, _ = table_of(tmp_path, "learning_grid.py", one(1), one(1, env_steps=9000), one(2), more=["--longest"])
    assert [(row[2], row[9]) for row in rows] == [("2", "6")]


def test_a_picture_has_a_line_for_each_seed_within_its_panel(tmp_path):
    found = {"pole": {"int8": [one(1), one(2)], "fp32": [one(3)]}, "cart": {"int8": [one(1, goal=50)]}}
    learning_grid.svg(tmp_path / "grid.svg", "All", found)
    root = xml.etree.ElementTree.parse(tmp_path / "grid.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f"{name}polyline")
    assert [line.get("stroke") for line in lines] == [bench_learning.COLOURS[k] for k in (0, 0, 1, 0)]
    for k, line in enumerate(lines):
        panel = k // 3
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        assert len(points) == 2 and points[0][0] < points[1][0]
        assert all(panel * learning_grid.PANEL_WIDTH + 46 <= x <= (panel + 1) * learning_grid.PANEL_WIDTH and 28 + 22 <= y <= 28 + 22 + 102 for x, y in points)
    # The higher return is higher.
    ends = [float(line.get("points").split()[-1].split(",")[1]) for line in lines[:3]]
    assert ends[0] > ends[1] > ends[2]
    goals = [line for line in root.findall(f"{name}line") if line.get("stroke") == "#dc2626"]
    heights = [float(line.get("y1")) for line in goals]  # the second is beyond every return
    assert len(heights) == 2 and ends[1] > heights[0] > ends[2] and 28 + 22 <= heights[1] <= 28 + 22 + 102
    assert [text.text for text in root.findall(f"{name}text")][-3:] == ["■ int8", "■ fp32", "- - goal"]


@pytest.mark.parametrize("draw", ["grid", "one"])
def test_a_picture_shows_words_as_they_are(tmp_path, draw):
    words = "int8 & <fp32>"
    if draw == "grid":
        learning_grid.svg(tmp_path / "words.svg", words, {words: {words: [one(1)]}})
    else:
        bench_learning.svg(tmp_path / "words.svg", words, [(words, [[(0, 10, 1.0), (1, 20, 2.0)]])])
    texts = [text.text for text in xml.etree.ElementTree.parse(tmp_path / "words.svg").getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert {words, f"■ {words}"} <= set(texts)


def test_settings_beyond_the_colours_have_them_again_with_dashes(tmp_path):
    count = len(bench_learning.COLOURS)
    learning_grid.svg(tmp_path / "grid.svg", "Many", {"pole": {f"s{k}": [one(1)] for k in range(count + 1)}})
    lines = [line for line in (tmp_path / "grid.svg").read_text().splitlines() if "<polyline" in line]
    assert [learning_grid.DASHED in line for line in lines] == [False] * count + [True] and f'stroke="{bench_learning.COLOURS[0]}"' in lines[-1]


@pytest.mark.parametrize(("low", "high", "count", "want"), [
    (0, 10, 5, [0, 2, 4, 6, 8, 10]), (-0.1, 0.1, 4, [-0.1, -0.05, 0, 0.05, 0.1]), (3, 990, 4, [250, 500, 750]), (-1700, -90, 5, [-1500, -1000, -500])])
def test_ticks_are_round_numbers_within_the_axis(low, high, count, want):
    assert bench_learning.ticks(low, high, count) == pytest.approx(want)


def evaluation(steps, value, episodes, **values):
    return {"env_steps": str(steps), "eval_return": str(value), "eval_episodes": str(episodes), **{name: str(one) for name, one in values.items()}}


def test_screens_are_the_evaluations_that_nothing_has_selected():
    rows = [evaluation(439_000, 1, 10), evaluation(440_000, 2, 10), evaluation(480_000, 90, 100), evaluation(501_000, 4, 10), evaluation(501_100, 50, 10),
            evaluation(985_000, 7, 10)]
    assert bench_learning.screens_at(rows) == {"0.5M": 3, "1M": 7}
    assert bench_learning.screens_at(rows[:-1]) == {"0.5M": 3} and bench_learning.screens_at([]) == {}
    # A policy may be older than the row that tells of it.
    assert bench_learning.screens_at([evaluation(600_000, 5, 10, eval_env_steps=450_000)]) == {"0.5M": 5}
    # It came to 97 % alone.
    assert bench_learning.screens_at([evaluation(970_000, 7, 10)]) == {}


def test_a_run_whose_last_version_nobody_evaluated_has_no_number_of_it():
    assert all(map(math.isnan, bench_learning.unselected({"last_return": None})))
    assert bench_learning.unselected({"last_return": {"mean": 3}, "last_screens": {"mean": 4}}) == (3, 4)


def test_a_cell_leaves_out_what_is_not_there():
    assert (bench_learning.mean_of([1, None, 2], 1), bench_learning.deviation_of([1, None, 2], 2)) == ("1.5", " ± 0.71")
    assert (bench_learning.mean_of([None]), bench_learning.deviation_of([3, None])) == ("", "")


@pytest.mark.parametrize(("path", "name"), [("/a/presets/dmc/walker_run.yaml", "dmc/walker_run"), ("cartpole", "cartpole"), ("dmc/walker_run", "dmc/walker_run")])
def test_a_preset_has_one_name_wherever_its_file_is(path, name):
    assert bench_learning.preset_name(path) == name


def test_a_file_that_is_no_preset_has_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bench_learning.preset_name("mine.yaml") == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize(("words", "own", "octets"), [
    (["pole", "--seeds", "2", "--", "--set", "a=1"], ["pole", "--seeds", "2"], ["--set", "a=1"]), (["pole"], ["pole"], []), (["pole", "--"], ["pole"], [])])
def test_what_follows_two_hyphens_is_octets(words, own, octets):
    assert bench_learning.own_and_octets(words) == (own, octets)


def test_the_table_of_minatar_has_the_best_preset_first_and_counts_games(tmp_path):
    published = minatar_table.PUBLISHED["Breakout"]
    best = max(published, key=published.get)
    high = published[best]

    def run(seed, preset, value):
        return one(seed, preset=preset, env="MinAtar/Breakout-v1", env_steps=3_000_000 * seed, wall_s=120 * seed, last_return=value - 1,
                   screens_at={"1M": value / 2, "3M": value / 4}, **{"return": value})

    rows, said = table_of(tmp_path, "minatar_table.py", run(1, "low", high / 2), run(1, "high", high - 1), run(2, "high", high + 1))
    assert [row[1] for row in rows] == ["high", "low"]
    assert rows[0] == ["Breakout", "high", "2", f"{high / 2:.1f} ± 0.7", f"{high / 4:.1f} ± 0.4", "", f"{high - 1:.1f} ± 1.4", f"**{high:.1f} ± 1.4**", "4", "3",
                       str(published["DQN 5M"]), f"{high} {best}"]
    assert "best published return in 1 of 1 games." in said
    assert "in 0 of 1 games." in table_of(tmp_path, "minatar_table.py", run(1, "low", high - 0.5))[1]


def test_the_table_beside_stable_baselines3_has_ratios_of_each_seed(tmp_path):
    def pair(seed, ours, theirs, imports):
        return {"case": "pole", "env": "Pole-v1", "algorithm": "DQN", "seed": seed,
                "sb3": {"cpu": theirs, "imports_cpu": imports, "steps": 50000, "again": 480, "reached": seed != 2},
                "octet": {"cpu": ours, "steps": 20000, "again": 500, "reached": True}}

    rows, _ = table_of(tmp_path, "train_sb3_table.py", pair(1, 1, 10, 5), pair(2, 2, 60, 2), pair(3, 4, 80, 20))
    assert rows == [["Pole-v1, DQN", "60.00, 50 k, 480, 2 of 3", "2.00, 20 k, 500, 3 of 3", "**20** [10 to 30]", "**25** [15 to 31]"]]
