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

import bench_chart
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


SVG = "{http://www.w3.org/2000/svg}"


def points_of(line):
    return [tuple(map(float, point.split(","))) for point in line.get("points").split()]


def drawn(path, kind="polyline"):
    """Elements of a kind, and what kind of line each is: s0, s1 …, goal."""
    return [(one, one.get("class")) for one in xml.etree.ElementTree.parse(path).getroot().findall(SVG + kind)]


def texts_of(path):
    return [text.text for text in xml.etree.ElementTree.parse(path).getroot().iter(SVG + "text")]


def test_a_picture_has_a_line_for_each_seed_within_its_panel(tmp_path):
    found = {"pole": {"int8": [one(1), one(2)], "fp32": [one(3)]}, "cart": {"int8": [one(1, goal=50)]}}
    learning_grid.svg(tmp_path / "grid.svg", "All", found)
    lines = [(points_of(line), kind) for line, kind in drawn(tmp_path / "grid.svg") if kind != "goal"]
    assert [kind for _, kind in lines] == ["s0", "s0", "s1", "s0"]
    width = (bench_chart.WIDTH - 10) // learning_grid.COLUMNS
    tops = []
    for k, (points, _) in enumerate(lines):
        left = width * (k // 3) + learning_grid.MARGIN
        assert len(points) == 2 and points[0][0] < points[1][0]
        assert all(left <= x <= left + width - learning_grid.MARGIN - 14 for x, _ in points)
        tops += [y for _, y in points]
    # The higher return is higher.
    ends = [points[-1][1] for points, _ in lines]
    assert ends[0] > ends[1] > ends[2]
    goals = [points_of(line)[0][1] for line, kind in drawn(tmp_path / "grid.svg") if kind == "goal"]  # the second is beyond every return
    assert len(goals) == 2 and ends[1] > goals[0] > ends[2] and goals[1] < ends[3]
    assert max(tops) - goals[1] <= learning_grid.PANEL_HEIGHT - 50
    assert {"int8", "fp32", "goal"} <= set(texts_of(tmp_path / "grid.svg"))


@pytest.mark.parametrize("draw", ["grid", "one"])
def test_a_picture_shows_words_as_they_are(tmp_path, draw):
    words = "int8 & <fp32>"
    if draw == "grid":
        learning_grid.svg(tmp_path / "words.svg", words, {words: {words: [one(1)]}})
    else:
        bench_learning.svg(tmp_path / "words.svg", words, [(words, [[(0, 10, 1.0), (1, 20, 2.0)]])])
    assert texts_of(tmp_path / "words.svg").count(words) >= 2


def test_settings_beyond_the_colours_have_them_again_with_dashes(tmp_path):
    count = learning_grid.COLOURS
    learning_grid.svg(tmp_path / "grid.svg", "Many", {"pole": {f"s{k}": [one(1)] for k in range(count + 1)}})
    lines = [(line.get("stroke-dasharray"), kind) for line, kind in drawn(tmp_path / "grid.svg") if kind != "goal"]
    assert lines == [(None, f"s{k}") for k in range(count)] + [("4 2", "s0")]


def test_one_setting_is_highlighted_above_the_others(tmp_path):
    learning_grid.svg(tmp_path / "grid.svg", "Two", {"pole": {"recipe": [one(1)], "other": [one(2)]}}, highlight="recipe")
    assert [kind for _, kind in drawn(tmp_path / "grid.svg") if kind != "goal"] == [f"s{bench_chart.GREY}", "s0"]
    assert {"recipe", "other settings"} <= set(texts_of(tmp_path / "grid.svg")) and "other" not in texts_of(tmp_path / "grid.svg")


def test_a_mean_holds_the_last_return_of_seeds_that_have_ended():
    spread = bench_chart.mean_and_spread([[(0, 0), (10, 10)], [(2, 4), (4, 20)]], count=8)
    assert spread[0] == (2, 3.0, pytest.approx(3 - 2 ** 0.5), pytest.approx(3 + 2 ** 0.5))
    assert spread[-1] == (10, 15.0, pytest.approx(15 - 50 ** 0.5), 20)  # cut at the greatest return
    assert bench_chart.mean_and_spread([[(0, 1), (4, 5)]], count=2) == [(0, 1.0, 1.0, 1.0), (2, 3.0, 3.0, 3.0), (4, 5.0, 5.0, 5.0)]


def test_an_axis_begins_at_0_unless_a_value_is_below():
    assert bench_chart.from_zero([480, 500]).low == 0
    axis = bench_chart.from_zero([-400, -300])
    assert axis.low < -400 and -300 < axis.high < -290
    assert bench_chart.Axis(0.01, 100, log=True).share(1) == pytest.approx(0.5)


def test_labels_beside_lines_are_apart():
    assert bench_chart.apart([10, 11, 50], 15, 0, 100) == [10, 25, 50]
    assert bench_chart.apart([95, 96], 15, 0, 100) == [85, 100]


def test_a_long_line_is_thinned_and_keeps_its_end():
    points = [(x, x) for x in range(1000)]
    thin = bench_chart.thinned(points, 100)
    assert len(thin) == 100 and thin[-1] == (999, 999) and bench_chart.thinned(points[:5], 100) == points[:5]


@pytest.mark.parametrize(("low", "high", "count", "want"), [
    (0, 10, 5, [0, 2, 4, 6, 8, 10]), (-0.1, 0.1, 4, [-0.1, -0.05, 0, 0.05, 0.1]), (3, 990, 4, [250, 500, 750]), (-1700, -90, 5, [-1500, -1000, -500])])
def test_ticks_are_round_numbers_within_the_axis(low, high, count, want):
    assert bench_chart.ticks(low, high, count) == pytest.approx(want)


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
