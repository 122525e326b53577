"""The benchmarks that make many runs, with an octet that trains in no time: what goes on where it stopped, and what tables count."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import bench_actorq_runs
import bench_full_budget
import bench_records
import minatar_table

# Notes what it trains; where BLOCK names a pipe, it goes on when that is written to.
OCTET = f"""#!{sys.executable}
import json, os, pathlib, sys
command, *words = sys.argv[1:]
if command == "config":
    print('env:\\n  id: "Pole-v1"')
elif command == "eval":
    print("return  7.0 ± 1.0")
else:
    run = pathlib.Path(words[words.index("--run-dir") + 1])
    run.mkdir()
    with open(os.environ["TRAINED"], "a") as file:
        file.write(words[0] + "\\n")
    if "BLOCK" in os.environ:
        open(os.environ["BLOCK"]).read()
    (run / "metrics.csv").write_text("wall_s,env_steps,eval_return,eval_episodes\\n1,10,5,20\\n")
    (run / "summary.json").write_text(json.dumps(dict(
        {{"return": {{"mean": 8, "std": 1, "episodes": 100, "stage": "result"}}}}, last_return=None, last_screens=None, env="Pole-v1",
        commit="0", goal=5, solved=True, reason="solved", env_steps=10, updates=5, env_steps_per_s=1, updates_per_s=1,
        learner_wait_share=0, actor_seconds=dict(infer=1, env=1, collect=1, wait=1), energy=dict(cpu_s=1, joules=None),
        daemons={{"actor-0": dict(cpu_s=1), "learner": dict(cpu_s=1)}}, learner_wall_s=2)))
"""


@pytest.fixture
def octet(tmp_path, monkeypatch):
    program = tmp_path / "octet"
    program.write_text(OCTET, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("TRAINED", str(tmp_path / "trained"))
    monkeypatch.chdir(tmp_path)
    return program


def trained():
    """The presets of the runs that were begun."""
    return pathlib.Path("trained").read_text(encoding="utf-8").split()


def command(name, *words):
    return [sys.executable, BENCH / name, *words]


def learning(octet, *words):
    return subprocess.run(command("bench_learning.py", *words[:1], "--octet", octet, *words[1:]), capture_output=True, text=True,
                          check=False)


def line(**values):
    return {"preset": "pole", "env": "Pole-v1", "setting": "int8", "seed": 1, "env_steps": 10, **values}


def written(path, *records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_a_finished_run_is_taken_for_the_same_preset_and_arguments_alone(octet):
    words = ["--seeds", "1", "--runs", "runs", "--", "--set", "a.b=1"]
    for _ in range(2):
        assert learning(octet, "pole", *words).returncode == 0
    assert trained() == ["pole"]
    assert learning(octet, "cart", *words).returncode == 0
    assert trained() == ["pole", "cart"]
    refused = learning(octet, "pole", *words[:-1], "a.b=2")
    assert refused.returncode == 1 and "runs/pole/int8/1/run-1" in refused.stderr and "pole --set a.b=1, not of pole --set a.b=2" in refused.stderr
    assert trained() == ["pole", "cart"]


def test_a_finished_run_of_which_nothing_says_what_it_is_is_refused(octet):
    words = ["pole", "--seeds", "1", "--runs", "runs"]
    assert learning(octet, *words).returncode == 0
    pathlib.Path("runs/pole/int8/1/run-1/bench_learning.json").write_text('{"wall_s": 2}', encoding="utf-8")
    refused = learning(octet, *words)
    assert refused.returncode == 1 and "unknown preset" in refused.stderr and trained() == ["pole"]


def test_a_measurement_that_goes_on_records_no_seed_twice(octet):
    assert learning(octet, "pole", "--seeds", "1", "--records", "records").returncode == 0
    again = learning(octet, "pole", "--seeds", "2", "--records", "records")
    assert again.returncode == 0 and json.loads(again.stdout.splitlines()[-1])["seeds"] == 2
    assert [one["seed"] for one in bench_records.lines(pathlib.Path("records"))] == [1, 2]
    assert trained() == ["pole", "pole"]
    # another environment is another run
    assert learning(octet, "pole", "--seeds", "1", "--records", "records", "--", "--set", "env.id=Cart-v1").returncode == 0
    assert len(trained()) == 3


def test_a_record_of_other_arguments_is_refused(octet):
    assert learning(octet, "pole", "--seeds", "1", "--records", "records").returncode == 0
    refused = learning(octet, "pole", "--seeds", "1", "--records", "records", "--", "--set", "a.b=2")
    assert refused.returncode == 1 and "seed 1 of pole" in refused.stderr and trained() == ["pole"]


def test_a_second_measurement_does_not_touch_a_run_that_is_being_made(octet):
    os.mkfifo("block")
    words = ["pole", "--octet", octet, "--seeds", "1", "--runs", "runs"]
    with subprocess.Popen(command("bench_learning.py", *words), env={**os.environ, "BLOCK": "block"}, stdout=subprocess.DEVNULL) as first:
        with open("block", "w", encoding="utf-8"):  # when the run is there
            second = learning(octet, "pole", "--seeds", "1", "--runs", "runs")
        assert second.returncode == 1 and "runs/pole/int8/1/run-1" in second.stderr and "another measurement" in second.stderr
        assert first.wait() == 0
    assert trained() == ["pole"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_measurement_begins_no_further_run(octet, stop):
    os.mkfifo("block")
    words = ["records", "--octet", octet, "--hidden", "256", "--regimes", "learning", "--seeds", "3"]
    with subprocess.Popen(command("bench_actorq_runs.py", *words), env={**os.environ, "BLOCK": "block"}, stderr=subprocess.DEVNULL) as bench:
        with open("block", "w", encoding="utf-8"):
            bench.send_signal(stop)
            assert bench.wait() == 130
    assert len(trained()) == 1 and not pathlib.Path("records").exists()


def steps_run(width, precision, ms, actor_s, **values):
    """One of a hundred steps."""
    return line(env="dmc:cheetah_run", setting=f"acting 3x{width} {precision}", arguments=["--steps", 100], env_steps=100, solved=False,
                daemon_cpu_s={"actor-0": actor_s, "learner": 0.5}, points=[], step_ms=ms, **values)


def test_what_a_step_takes_leaves_out_the_filling_of_replay_and_the_end():
    rows = [(1, 0, 0), (2, 1000, 0), (3, 1100, 5), (5, 1200, 9), (8, 1600, 30), (9, 1600, 30)]
    rows = [dict(zip(("wall_s", "env_steps", "updates"), map(str, row))) for row in rows]
    assert bench_actorq_runs.rate_ms(rows) == 10


def test_the_means_of_what_a_step_takes_are_geometric(tmp_path):
    runs = [steps_run(width, precision, ms, actor_s) for width, precision, ms, actor_s in
            ((512, "int8", 2, 0.1), (512, "fp32", 6, 0.2), (2048, "int8", 4, 0.1), (2048, "fp32", 32, 0.8))]
    shown = subprocess.run(command("bench_actorq_runs.py", written(tmp_path / "records", *runs), "--table"), capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[2:] == [
        "| dmc:cheetah_run | 3x512 | 1 | 0, 0 | 2, 6 | **3.00** | 5, 1, 2 | 2.00 |",
        "| dmc:cheetah_run | 3x2048 | 1 | 0, 0 | 4, 32 | **8.00** | 5, 1, 8 | 8.00 |",
        "| geometric mean of 1 | 3x512 | | | | **3.00** | | 2.00 |",
        "| geometric mean of 1 | 3x2048 | | | | **8.00** | | 8.00 |"]


def goal_run(env, precision, wall_s, **values):
    """To a threshold: half of it training, and evaluations at its first and last steps."""
    return line(env=env, setting=f"acting 3x256 {precision}", arguments=[], wall_s=wall_s, env_steps=100, updates=10, updates_per_s=20 / wall_s,
                again=1, solved=True, daemon_cpu_s={"actor-0": 1, "evaluator": 1}, points=[[0, 0, 0], [wall_s / 4, 100, 1], [wall_s, 100, 1]], **values)


def test_the_table_of_runs_to_thresholds_has_means_of_the_tasks_that_it_is_asked_for(tmp_path):
    records = written(tmp_path / "records", *[goal_run(env, precision, seconds) for env, precision, seconds in (
        ("Acrobot-v1", "int8", 10), ("Acrobot-v1", "fp32", 20), ("MountainCar-v0", "int8", 10), ("MountainCar-v0", "fp32", 80), ("CartPole-v1", "int8", 1),
        ("CartPole-v1", "fp32", 100))])

    def shown(tasks):
        said = subprocess.run(command("bench_actorq_runs.py", records, "--table", "--tasks", tasks), capture_output=True, text=True, check=False)
        rows = [[cell.strip() for cell in row.split("|")] for row in said.stdout.splitlines()[2:]]
        return said.stderr or {row[1]: row[7] for row in rows}

    assert shown("Acrobot-v1,MountainCar-v0") == {"Acrobot-v1, -107.45": "**2.00**", "MountainCar-v0, -120.62": "**8.00**", "geometric mean of 2": "**4.00**"}
    assert shown("CartPole-v1") == {"CartPole-v1, 475": "**100.00**"}
    assert "Cart is none of CartPole-v1" in shown("Cart")


def test_runs_of_a_number_of_steps_have_records_of_their_own(octet):
    written(pathlib.Path("records"), line(arguments=[]))
    for words, of in ((("records", "--tasks", "dmc:cheetah_run", "--regimes", "acting"), "records has runs to thresholds"),
                      (("new", "--regimes", "acting"), "not for CartPole-v1"), (("new", "--tasks", "dmc:cheetah_run"), "not for dmc:cheetah_run and acting,learning")):
        refused = subprocess.run(command("bench_actorq_runs.py", *words, "--octet", octet, "--steps", "10"), capture_output=True, text=True, check=False)
        assert refused.returncode == 2 and of in refused.stderr
    assert not pathlib.Path("trained").exists()


def test_a_run_that_went_on_counts_once_in_a_table():
    records = [line(setting="a", env_steps=500000), line(setting="a", env_steps=500032), line(setting="a", seed=2, env_steps=500016),
               line(setting="a", env_steps=1000000)]
    found = bench_full_budget.by_length(records)["pole", "a"]
    assert {steps: [(one["seed"], one["env_steps"]) for one in of] for steps, of in found.items()} == {
        5: [(1, 500032), (2, 500016)], 10: [(1, 1000000)]}


def ended(task, setting, again, env_steps=500000, **values):
    return line(preset=task, setting=setting, again=again, env_steps=env_steps, wall_s=60, last_return=again - 1,
                screens_at={"0.5M": again - 2}, **values)


def full_budget_table(path, *words):
    return subprocess.run(command("bench_full_budget.py", path, "--table", *words), capture_output=True, text=True, check=True).stdout


def test_the_table_of_all_tasks_has_one_row_for_each_task(tmp_path):
    path = written(tmp_path / "records", ended("walker_walk", "recipe", 960), ended("walker_walk", "recipe", 970, seed=2),
                   ended("walker_walk", "wide", 964), ended("cheetah_run", "recipe", 800), ended("cheetah_run", "recipe", 850, 1000000),
                   ended("cheetah_run", "wide", 900), ended("cheetah_run", "wider", 890))
    assert full_budget_table(path, "--brief", "--alone", "recipe").split("\n")[2:4] == [
        "| cheetah_run | 916 SimbaV2 1M | 622 | 798 | **850** | 1000, 1 | 93 % | wide | **900** | 500, 1 | 98 % |",
        "| walker_walk | 984 TD-MPC2 4M | 969 | 963 | **965** ± 7 | 500, 2 | 98 % | the same |  |  |  |"]
    refused = subprocess.run(command("bench_full_budget.py", path, "--table", "--brief"), capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "--brief needs --alone" in refused.stderr


def test_the_table_of_all_settings_counts_tasks(tmp_path):
    path = written(tmp_path / "records", ended("walker_walk", "recipe", 960), ended("walker_walk", "wide", 975), ended("cheetah_run", "wide", 700))
    printed = full_budget_table(path, "--alone", "recipe")
    assert "| walker_walk | wide | 1 | 500 | 1.0 | 973 |  | 974 | **975** | 99 % |" in printed
    assert "Of 2 tasks, at least 95 % of the best published: 1; at least 85 %: 1. Shipped after 0.5 M steps, at least Acme's D4PG: 2 of 2." in printed
    assert "By 'recipe' alone: Of 1 tasks, at least 95 % of the best published: 1; at least 85 %: 1. " \
           "Shipped after 0.5 M steps, at least Acme's D4PG: 0 of 1." in printed


def budget(octet, records, *more):
    return subprocess.run(command("bench_full_budget.py", records, "--octet", octet, "--tasks", "walker_run", "--seeds", "1", "--steps", "10",
                                  "--runs", "runs", "--jobs", "1", *more), capture_output=True, text=True, check=False)


def test_a_run_of_a_fixed_budget_is_taken_for_the_same_arguments_alone(octet):
    ours, others = ("--", "--set", "agent.tau=0.1"), ("--", "--set", "agent.tau=0.2")
    for records in ("records", "again"):
        assert budget(octet, records, *ours).returncode == 0
    assert len(trained()) == 1
    assert budget(octet, "records", *ours).stdout == "0 runs to make, 1 at a time\n"
    for records, of in (("records", "its line for seed 1 of walker_run (int8) is of a run with ['--set', 'agent.tau=0.1'], not with"),
                        ("new", "run-1: the run there is of dmc/walker_run --set agent.tau=0.1, not of dmc/walker_run --set agent.tau=0.2")):
        refused = budget(octet, records, *others)
        assert refused.returncode == 1 and of in refused.stderr
    pathlib.Path("runs/int8/walker_run/run-1.json").unlink()
    assert "the run there is of an unknown preset, not of" in budget(octet, "new", *ours).stderr
    assert len(trained()) == 1 and not pathlib.Path("new").exists()


@pytest.mark.parametrize("table", ["learning_grid.py", "minatar_table.py"])
def test_a_table_refuses_a_seed_that_is_there_twice(tmp_path, table):
    path = written(tmp_path / "records", line(), line(seed=2), line())
    refused = subprocess.run(command(table, path), capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "seed 1 of pole (Pole-v1, int8) has two lines" in refused.stderr


def test_the_longest_line_of_a_seed_can_count_instead():
    records = [line(env_steps=20), line(env_steps=10), line(seed=2)]
    assert bench_records.longest(records) == [records[0], records[2]]


def test_a_broken_line_is_named(tmp_path, capsys):
    path = tmp_path / "records"
    path.write_text('{"seed": 1}\n{"see\n{"seed": 3}\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=f"{path}, line 2: "):
        bench_records.lines(path)
    path.write_text('{"seed": 1}\n{"see', encoding="utf-8")
    assert bench_records.lines(path) == [{"seed": 1}]
    assert f"{path}, line 2: left out" in capsys.readouterr().err
    assert bench_records.lines(tmp_path / "none") == []


@pytest.mark.parametrize("before, after", [("", ""), ('{"seed": 1}\n', '{"seed": 1}\n'), ('{"see', '{"see\n')])
def test_a_record_begins_on_a_line_of_its_own(tmp_path, before, after):
    path = tmp_path / "records"
    path.write_text(before, encoding="utf-8")
    bench_records.append(path, {"seed": 2})
    assert path.read_text(encoding="utf-8") == after + '{"seed": 2}\n'


def test_the_result_of_a_run_is_no_evaluation_of_its_curve():
    run = {"env_steps": 3000000, "points": [[1, 2900000, 10.0], [2, 2990000, 20.0], [3, 3000000, 90.0]]}
    assert minatar_table.at(run, "3M") == 15.0 and minatar_table.at(run, "10M") is None
