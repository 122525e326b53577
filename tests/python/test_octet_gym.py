"""Environments of Gymnasium in Octet ("gym:NAME"): the numbers are theirs, and what goes wrong in them is told."""

import ast
import contextlib
import gc
import os
import pathlib
import pickle
import re
import select
import signal
import subprocess
import sys

import gymnasium
import numpy as np
import octet
import octet_test_envs
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

FAILS = [("Crash", "signal 11"), ("Exit", "exited with code 7"), ("Hang", "did not return within 10 s")]


@pytest.fixture(autouse=True)
def python_of_the_tests(monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent), prepend=":")


def make(name, count=2, mode="SameStep", **arguments):
    return octet.make_vec(f"gym:octet_test_envs:Octet{name}-v0", count, autoreset_mode=mode, **arguments)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_it_steps_as_gymnasium_does(mode):
    ours = octet.make_vec("gym:CartPole-v1", 3, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3, autoreset_mode=mode)
    theirs.action_space.seed(3)
    assert ours.single_observation_space == theirs.single_observation_space
    assert np.array_equal(ours.reset(seed=9)[0], theirs.reset(seed=9)[0])
    for _ in range(150):
        actions = theirs.action_space.sample()
        got, want = ours.step(actions), theirs.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(got[:4], want[:4], strict=True))
        if mode is AutoresetMode.SAME_STEP and "final_obs" in want[4]:
            for mine, its in zip(got[4]["final_obs"], want[4]["final_obs"], strict=True):
                assert (mine is None and its is None) or np.array_equal(mine, its)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("id", ["gym:CartPole-v1", "CartPole-v1"])
def test_a_step_before_a_reset_is_of_the_first_episodes(id, mode):
    made, begun = (octet.make_vec(id, 3, autoreset_mode=mode, seed=5) for _ in range(2))
    again = pickle.loads(pickle.dumps(begun))
    begun.reset()
    begun.reset(seed=9, options={"reset_mask": np.array([False, True, False])})
    made.reset(seed=9, options={"reset_mask": np.array([False, True, False])})
    again.reset(seed=9, options={"reset_mask": np.array([False, True, False])})
    for _ in range(5):
        want = begun.step(np.ones(3, int))[:4]
        for env in (made, again):
            assert all(np.array_equal(a, b) for a, b in zip(env.step(np.ones(3, int))[:4], want, strict=True))
    assert made.failures == again.failures == (0, "")


def test_one_environment_steps_before_a_reset():
    env, begun = (octet.make("gym:CartPole-v1", seed=5) for _ in range(2))
    begun.reset()
    assert np.array_equal(env.step(1)[0], begun.step(1)[0])


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("repeat", [1, 2])
def test_a_first_episode_that_cannot_begin_fails_in_the_first_step(mode, repeat):
    env = make("Port", mode=mode, refusals=0, action_repeat=repeat)
    obs, _, _, truncated, _ = env.step(np.zeros(2, int))
    assert obs.tolist() == [[repeat, 2 * repeat]] * 2 and not truncated.any()
    env = make("Answers", count=1, mode=mode, reset="None", action_repeat=repeat)
    assert env.step(np.zeros(1, int))[3].all()
    assert env.failures[0] == 1 and "reset returned a value of type NoneType" in env.failures[1]


def test_actions_begin_where_the_space_does_and_options_are_arguments():
    env = make("Counts", bonus=0.5)
    assert env.single_action_space.n == 3
    env.reset(seed=1)
    for step in range(1, 6):
        obs, rewards, *_ = env.step(np.array([0, 2]))
        assert obs.tolist() == [[step, 2 * step]] * 2 and rewards.tolist() == [1.5, 1.5]
    infos = env.step(np.array([0, 2]))[4]
    assert infos["final_info"]["episode_return"].tolist() == [9, 9]
    assert infos["final_info"]["episode_length"].tolist() == [6, 6]


KINDS = {"is_success": 1, "steps": 6, "share": 0.75, "numpy": 1, "scalar": 6, "one": 2.5}
NO_NUMBERS = ["two", "list", "text", "none", "huge", "rate", "missing"]


def last_infos(env, steps):
    """Of the last of so many steps."""
    for _ in range(steps):
        infos = env.step(np.zeros(2, int))[4]
    return infos["final_info"]


@pytest.mark.parametrize("repeat", [1, 4])
def test_info_of_the_last_step_is_measured(repeat):
    env = make("Measures", info_metrics=(*KINDS, *NO_NUMBERS, "late"), action_repeat=repeat)
    env.reset(seed=1)
    infos = last_infos(env, -(-6 // repeat))
    assert {key: infos[key].tolist() for key in KINDS} == {key: [value] * 2 for key, value in KINDS.items()}
    assert all(np.isnan(infos[key]).all() for key in [*NO_NUMBERS, "late"])
    infos = last_infos(env, -(-6 // repeat))
    assert infos["late"].tolist() == [2, 2] and infos["steps"].tolist() == [6, 6]


def test_one_environment_measures_and_says_why_it_failed():
    env = octet.make("gym:octet_test_envs:OctetMeasures-v0", info_metrics=("steps", "is_success"))
    env.reset(seed=1)
    infos = [env.step(0)[4] for _ in range(6)]
    assert infos[:5] == [{}] * 5 and (infos[5]["steps"], infos[5]["is_success"], infos[5]["episode_length"]) == (6, 1, 6)
    env = octet.make("gym:octet_test_envs:OctetRaises-v0")
    env.reset(seed=1)
    *_, terminated, truncated, info = [env.step(0) for _ in range(3)][-1]
    assert truncated and not terminated and "RuntimeError: the gripper is stuck" in info["failed"]


def test_a_name_of_info_needs_no_tuple():
    env = make("Measures", info_metrics="is_success", bonus=0.5)
    env.reset(seed=1)
    assert last_infos(env, 6)["is_success"].tolist() == [1, 1]
    assert "steps" not in last_infos(env, 6)


@pytest.mark.parametrize("value", [
    (), ("a", "a"), ("a", 5), 5, "", "a" * 64, "a\nb", "ä", tuple(f"m{k}" for k in range(65)), "(a,b)"])
def test_what_names_no_value_of_info_is_refused(value):
    with pytest.raises(octet.OctetError, match=r"option info_metrics=.*: not a name, such as 'is_success', or a tuple of 1 to 64 "
                                               "different names, each 1 to 63 printable characters of ASCII"):
        make("Measures", info_metrics=value)


@pytest.mark.parametrize(("name", "steps"), [("Raises", 3), ("Crash", 3), ("Port", 6)])
def test_nothing_is_measured_of_an_episode_that_failed(name, steps):
    env = make(name, info_metrics="steps", **({"refusals": 6} if name == "Port" else {}))
    env.reset(seed=1)
    infos = last_infos(env, steps)
    assert infos["failed"][0] and np.isnan(infos["steps"][0])


def test_a_process_that_was_lost_measures_again():
    env = make("Measures", info_metrics=("pid", "steps"))
    env.reset(seed=1)
    pids = last_infos(env, 6)["pid"].astype(int)
    os.kill(pids[0], signal.SIGKILL)
    assert np.isnan(last_infos(env, 1)["pid"]).all()
    infos = last_infos(env, 6)
    assert infos["steps"].tolist() == [6, 6] and infos["pid"][0] == infos["pid"][1] != pids[0]


@pytest.mark.parametrize(("name", "words"), FAILS)
def test_a_process_that_is_lost_is_started_again_and_its_episodes_are_told(name, words, monkeypatch):
    if name == "Hang":  # and not so short that a busy machine counts as one
        monkeypatch.setenv("OCTET_GYM_TIMEOUT_S", "10")
    env = make(name)
    env.reset(seed=1)
    for _ in range(2):
        assert not env.step(np.zeros(2, int))[3].any()
    obs, rewards, terminated, truncated, infos = env.step(np.zeros(2, int))
    assert truncated.all() and not terminated.any() and not rewards.any() and not obs.any()
    assert infos["final_info"]["failed"].all()
    assert env.failures[0] == 2 and words in env.failures[1] and "restarted" in env.failures[1]
    assert env.step(np.zeros(2, int))[0].tolist() == [[1, 2]] * 2


@pytest.mark.parametrize("call", ["resets", "steps"])
def test_the_time_limit_is_of_one_environment_and_not_of_all(call, monkeypatch):
    monkeypatch.setenv("OCTET_GYM_TIMEOUT_S", "3")
    env = make("Slow", count=8, **{call: 0.6})  # 4.8 s together
    env.reset(seed=1)
    assert env.step(np.zeros(8, int))[0].tolist() == [[1, 2]] * 8
    assert env.failures == (0, "")


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_one_that_had_ended_when_the_process_was_lost_keeps_its_end(mode):
    env = make("PairCrash", mode=mode, action_repeat=4)  # the first ends in the second step, before the other fails
    env.reset(seed=1)
    env.step(np.zeros(2, int))
    obs, rewards, terminated, truncated, infos = env.step(np.zeros(2, int))
    assert terminated.tolist() == [True, False] and truncated.tolist() == [False, True] and rewards.tolist() == [2, 0]
    if mode == "SameStep":
        assert infos["final_obs"][0].tolist() == [6, 12] and infos["final_info"]["failed"].tolist() == [False, True]
        assert env.step(np.zeros(2, int))[0].tolist() == [[4, 8]] * 2
    else:
        assert obs[0].tolist() == [6, 12]


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_process_that_is_not_started_again_at_once_has_ended_the_episodes_of_all(repeat, tmp_path):
    deaths = tmp_path / "deaths"
    deaths.write_text("0")
    env = make("PairReset", mode="Disabled", action_repeat=repeat, path=str(deaths))
    env.reset(seed=1)
    env.step(np.zeros(2, int))
    deaths.write_text("2")  # the process, and the one in its place
    with pytest.raises(octet.OctetError, match="cannot be restarted"):
        env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(np.zeros(2, int))[3].all() and env.failures[0] == 2 and "restarted" in env.failures[1]
    env.reset(options={"reset_mask": np.array([True, True])})
    assert env.step(np.zeros(2, int))[0].tolist() == [[repeat, 2 * repeat]] * 2


def test_so_has_one_that_is_lost_between_repeated_actions(tmp_path):
    deaths = tmp_path / "deaths"
    deaths.write_text("0")
    env = make("PairReset", action_repeat=2, path=str(deaths))
    env.reset(seed=1)
    list(steps_of(env, 2))
    deaths.write_text("3")  # also the one that was to begin the first alone
    assert env.step(np.zeros(2, int))[3].tolist() == [True, False]
    assert env.step(np.zeros(2, int))[3].all() and "restarted" in env.failures[1]
    (obs, truncated), = steps_of(env, 1)
    assert obs == [[2, 4]] * 2 and truncated == [False, False]


@pytest.mark.parametrize("is_fork", [False, True])
def test_a_process_that_crashes_is_lost_with_what_it_started(is_fork, tmp_path, monkeypatch):
    monkeypatch.setenv("OCTET_GYM_TIMEOUT_S", "10")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    env = make("Leaves", fifo=str(fifo), is_fork=is_fork)
    env.reset(seed=1)
    for _ in range(3):
        truncated = env.step(np.zeros(2, int))[3]
    with pytest.raises(OSError, match="No such device or address"):  # nobody reads the fifo
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    assert truncated.all() and env.failures[0] == 2 and "signal 11" in env.failures[1]


def test_a_process_that_is_lost_in_a_reset_of_one_ends_the_episodes_of_all():
    env = make("ResetCrash")
    env.reset(seed=1)
    env.step(np.zeros(2, int))
    assert env.reset(options={"reset_mask": np.array([True, False])})[0][0].tolist() == [0, 0]
    assert env.step(np.zeros(2, int))[3].all() and "restarted" in env.failures[1]
    assert env.step(np.zeros(2, int))[0].tolist() == [[1, 2]] * 2


def test_a_seeded_reset_of_a_process_that_was_lost_has_its_seeds():
    env = make("Seeded")
    want = env.reset(seed=7)[0].copy()
    for pick in [np.array([True, True]), np.array([False, True])]:
        pid = int(env.reset(seed=100)[0][0, 1])
        os.kill(pid, signal.SIGKILL)
        got = env.reset(seed=7, options={"reset_mask": pick})[0]
        assert got[pick, 0].tolist() == want[pick, 0].tolist() and got[1, 1] != pid
        # A reset of all lost no episode; of the others the next step says that it ended.
        failures = env.failures[0]
        assert env.step(np.zeros(2, int))[3].tolist() == [not pick.all()] * 2
        assert failures == 2 and env.failures[0] == 2 + 2 * (not pick.all())
        assert "signal 9" in env.failures[1] and "restarted" in env.failures[1]


def test_a_reset_of_all_ends_what_was_lost_in_a_reset_of_one():
    env = make("Seeded")
    os.kill(int(env.reset(seed=7)[0][0, 1]), signal.SIGKILL)
    env.reset(options={"reset_mask": np.array([False, True])})
    env.reset(seed=7)
    assert not env.step(np.zeros(2, int))[3].any() and env.failures[0] == 0


def drawn_after_a_loss(seed):
    """What two environments drew for their episodes, of which a lost process ended each but the last."""
    env = make("Seeded")
    obs, drawn = env.reset(seed=seed)[0], []
    for _ in range(2):
        drawn += obs[:, 0].tolist()
        os.kill(int(obs[0, 1]), signal.SIGKILL)
        env.step(np.zeros(2, int))
        obs = env.step(np.zeros(2, int))[0]
    return drawn + obs[:, 0].tolist()


def test_a_process_that_was_lost_goes_on_with_seeds_of_its_own():
    one, other = drawn_after_a_loss(1000), drawn_after_a_loss(2000)
    assert len({*one, *other}) == 12 and one == drawn_after_a_loss(1000)


def drawn_when_made_anew(env, seed):
    """What two environments drew for their first three episodes, which end after six steps."""
    drawn = env.reset(seed=seed)[0][:, 0].tolist()
    for _ in range(2):
        for _ in range(7):
            obs = env.step(np.zeros(2, int))[0]
        drawn += obs[:, 0].tolist()
    return drawn


def test_an_environment_that_is_made_anew_goes_on_with_seeds_of_its_own():
    env = make("SeededOnce")
    one, other = drawn_when_made_anew(env, 1000), drawn_when_made_anew(env, 2000)
    assert len({*one, *other}) == 12 and one == drawn_when_made_anew(env, 1000) == drawn_when_made_anew(make("SeededOnce"), 1000)


def resets_after_a_refusal(seed):
    """The first draw that is not refused after the one of this seed, and how many are."""
    env = make("Levels", count=1, mode="Disabled")
    with pytest.raises(octet.OctetError, match="environment 0: RuntimeError: no level for this draw"):
        env.reset(seed=seed)
    for refused in range(20):
        with contextlib.suppress(octet.OctetError):
            return env.reset()[0][0, 0], refused
    raise AssertionError("each of 20 resets is refused")


def test_a_seed_whose_reset_raises_is_followed_by_others():
    first, second, *_ = (seed for seed in range(20) if gymnasium.utils.seeding.np_random(seed)[0].random() < 1 / 3)
    assert resets_after_a_refusal(first) == resets_after_a_refusal(first) != resets_after_a_refusal(second)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_environments_whose_resets_raise_for_some_draws_all_go_on(mode):
    env = make("Levels", count=8, mode=mode)
    for seed in range(99):  # one at which all of them begin
        with contextlib.suppress(octet.OctetError):
            env.reset(seed=[100 * seed + i for i in range(8)])
            break
    failed = np.zeros(8, int)  # steps in a row
    for _ in range(500):
        infos = env.step(np.zeros(8, int))[4]
        failed = np.where(infos.get("final_info", infos).get("failed", False), failed + 1, 0)
        assert failed.max() < 10
    assert env.failures[0] > 10


def test_a_process_with_other_spaces_is_refused_each_time(tmp_path):
    env = make("Resized", count=1, path=str(tmp_path / "made"))
    env.reset(seed=1)
    for _ in range(2):
        env.step(np.zeros(1, int))
    for _ in range(3):
        with pytest.raises(octet.OctetError, match="it cannot be restarted: its spaces have changed"):
            env.step(np.zeros(1, int))
    with pytest.raises(octet.OctetError, match="its spaces have changed"):
        env.reset(seed=1)


def test_seeds_are_those_that_any_environment_takes():
    env = make("Seeded", seed=2**63 + 5)
    first = env.reset()[0][:, 0].tolist()
    assert env.reset(seed=[2**63 + 5, 2**63 + 6])[0][:, 0].tolist() == first
    env.reset(seed=[2**64 - 1, 6])
    for small in (5, 2**31 - 1):  # as it is
        assert env.reset(seed=[small, 6])[0][0, 0] == np.random.RandomState(small).randint(2**20)


def test_all_bits_of_a_seed_count():
    seed = 2**31 + 1000003  # as that of an evaluation, whose high half is the run's
    env = make("Seeded")
    for bit in range(64):
        drawn = env.reset(seed=[seed, seed ^ 2**bit])[0][:, 0]
        assert drawn[0] != drawn[1]


def steps_of(env, count):
    """What both environments see and whether they were ended in each of so many steps."""
    for _ in range(count):
        obs, _, _, truncated, _ = env.step(np.zeros(env.num_envs, int))
        yield obs.tolist(), truncated.tolist()


def test_an_environment_that_cannot_be_reset_is_closed_and_made_anew():
    env = make("Port", refusals=1)
    env.reset(seed=1)
    *_, (obs, truncated) = steps_of(env, 6)
    assert obs == [[0, 0]] * 2 and truncated == [False, False] and env.failures[0] == 0
    assert env.step(np.zeros(2, int))[0].tolist() == [[1, 2]] * 2


@pytest.mark.parametrize(("name", "mode", "begin", "refusals"), [
    ("Port", "SameStep", 6, 3), ("Port", "NextStep", 7, 5), ("NotFinitePort", "SameStep", 3, 4)])
def test_an_environment_that_cannot_be_made_anew_tries_again_and_the_others_go_on(name, mode, begin, refusals):
    env = make(name, mode=mode, refusals=refusals)
    env.reset(seed=1)
    *_, (obs, truncated) = steps_of(env, begin)  # up to the one that resets
    assert truncated == [True, name != "Port"] and obs[1] == [0, 0]
    (obs, truncated), (after, still) = steps_of(env, 2)
    assert obs[1] == [1, 2] and after[1] == [2, 4]
    assert truncated[0] and still[0] == (mode == "SameStep") and not truncated[1] and not still[1]
    assert env.failures[0] >= 2 and "the simulator is not ready" in env.failures[1]
    assert [obs[0] for obs, _ in steps_of(env, 2)] == [[1, 2], [2, 4]]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_reward_that_is_not_finite_is_one_failure(mode):
    env = make("RewardNotFinite", mode=mode)
    env.reset(seed=1)
    for _ in range(3):
        truncated = env.step(np.zeros(2, int))[3]
    assert truncated.all() and env.failures == (2, "environment 1: the reward is not finite")
    if mode == "Disabled":
        env.reset(options={"reset_mask": np.ones(2, np.bool_)})
    assert not env.step(np.zeros(2, int))[3].any() and env.failures[0] == 2
    for _ in range(3 if mode == "NextStep" else 2):
        env.step(np.zeros(2, int))
    assert env.failures[0] == 4


@pytest.mark.parametrize("repeat", [2, 3])
def test_so_do_those_whose_actions_are_repeated(repeat):
    env = make("Port", refusals=6, action_repeat=repeat)
    env.reset(seed=1)
    *_, (obs, truncated) = steps_of(env, 6 // repeat)
    assert truncated == [True, False] and obs[1] == [0, 0]
    assert env.failures[0] == 1 and "the simulator is not ready" in env.failures[1]
    while truncated[0]:
        (obs, truncated), = steps_of(env, 1)
        assert not truncated[1]
    assert obs[0] == [repeat, 2 * repeat]


def test_a_reset_that_is_refused_says_why_and_the_next_one_makes_it():
    env = make("Port", mode="Disabled", refusals=2)
    env.reset(seed=1)
    with pytest.raises(octet.OctetError, match="environment 0: RuntimeError: the simulator is not ready"):
        env.reset(seed=1)
    assert env.step(np.zeros(2, int))[3].tolist() == [True, False]
    assert env.reset(seed=1)[0].tolist() == [[0, 0]] * 2
    assert env.step(np.zeros(2, int))[0].tolist() == [[1, 2]] * 2


def test_a_process_that_leaks_is_started_again(monkeypatch):
    monkeypatch.setenv("OCTET_GYM_MEMORY_MB", "200")
    env = make("Grows", count=1)
    env.reset(seed=1)
    for _ in range(150):
        if env.step(np.zeros(1, int))[3].any():
            break
    assert env.failures[0] == 1 and "MB, but OCTET_GYM_MEMORY_MB allows 200; it was restarted" in env.failures[1]
    assert env.step(np.zeros(1, int))[0].tolist() == [[1, 2]]


def test_where_memory_is_short_its_process_goes_first():
    env = make("Numbered")
    pid = int(env.reset(seed=1)[0][0, 0])
    assert pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text() == "500\n"


def test_its_limit_and_threshold_are_those_that_are_registered():
    env = octet.make_vec("gym:CartPole-v1")
    assert (env._limit, env._threshold) == (500, 475)
    env = make("Counts")
    assert env._limit == 0 and np.isnan(env._threshold)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_of_the_terminal_is_not_for_the_process(number):
    env = make("Numbered")
    pid = int(env.reset(seed=1)[0][0, 0])
    for _ in range(5):
        os.kill(pid, number)
        assert env.step(np.zeros(2, int))[0].tolist() == [[pid, 0]] * 2
    assert env.failures[0] == 0


def test_ctrl_c_ends_a_step_that_hangs():
    env = make("Stuck", count=1)
    env.reset(seed=1)
    env.step(np.zeros(1, int)), env.step(np.zeros(1, int))
    assert env.step(np.zeros(1, int))[3].all()
    assert env.failures[0] == 1 and "Ctrl-C" in env.failures[1] and "restarted" not in env.failures[1]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_an_early_ctrl_c_ends_a_step_in_which_all_hang(mode):
    env = make("Pressed", count=3, mode=mode)
    env.reset(seed=1)
    *_, (obs, truncated) = steps_of(env, 3)
    assert truncated == [True] * 3 and obs == [[0, 0]] * 3
    assert env.failures[0] == 3 and "Ctrl-C" in env.failures[1] and "restarted" not in env.failures[1]
    assert [obs for obs, _ in steps_of(env, 3)][1:] == [[[1, 2]] * 3, [[2, 4]] * 3]


@pytest.mark.parametrize(("threads", "all"), [(1, True), (2, True), (2, False)])
def test_a_signal_to_the_program_alone_ends_a_step_that_hangs(threads, all):
    env = make("Interrupts", mode="NextStep", threads=threads, all=all)
    env.reset(seed=1)
    assert list(steps_of(env, 2))[-1] == ([[2, 4]] * 2, [False] * 2)
    with pytest.raises(KeyboardInterrupt):
        env.step(np.zeros(2, int))
    assert env.failures[0] == 1 + all and "Ctrl-C" in env.failures[1] and "restarted" not in env.failures[1]
    assert [obs[1] for obs, _ in steps_of(env, 2)] == [[0, 0], [1, 2]]


def test_a_ctrl_c_while_the_process_imports_is_not_its_own(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    env = make("Numbered")
    env.reset(seed=1)
    assert len(list(steps_of(env, 3))) == 3 and env.failures[0] == 0


@pytest.mark.parametrize("misses", [False, True])
def test_a_program_handles_its_signal_once(misses):
    seen = []
    env = make("Interrupts", count=1, misses=misses)
    env.reset(seed=1)
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        assert list(steps_of(env, 3))[-1] == ([[0, 0]], [True])
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 1 and "Ctrl-C" in env.failures[1]


def processes():
    """Those that this one has started."""
    return {child for task in pathlib.Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()}


@pytest.mark.parametrize("make_it", [lambda id: octet.make_vec(id, 2), octet.make])
def test_a_ctrl_c_while_one_is_made_leaves_no_process(monkeypatch, make_it):
    real, before = octet._vector.lib.octet_vector_open, processes()

    def interrupted(*arguments):
        assert real(*arguments) == 0 and processes() != before
        raise KeyboardInterrupt

    monkeypatch.setattr(octet._vector.lib, "octet_vector_open", interrupted)
    with pytest.raises(KeyboardInterrupt) as told:  # whose traceback has the frame, and that has what was made
        make_it("gym:CartPole-v1")
    assert processes() == before, told


def test_an_early_ctrl_c_ends_a_reset_and_a_close_that_hang():
    env = make("PressedReset", count=1)
    env.reset(seed=1)
    with pytest.raises(octet.OctetError, match=r"environment 0: Interrupted: Ctrl-C, \d+ s after the call began"):
        env.reset()
    assert env.reset()[0].tolist() == [[0, 0]]
    assert env.step(np.zeros(1, int))[0].tolist() == [[1, 2]]


def test_a_process_that_hangs_does_not_outlive_who_was_killed():
    text = "import octet; env = octet.make('gym:octet_test_envs:OctetSpin-v0'); env.reset(seed=1); [env.step(0) for _ in range(3)]"
    with subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True) as host:
        worker = os.pidfd_open(int(host.stderr.readline()))
        assert not select.select([worker], [], [], 0)[0]
        host.kill()
    assert select.select([worker], [], [], 60)[0]
    os.close(worker)


def spawned(path):
    """Returns descriptors of the processes of a Spawns."""
    return [os.pidfd_open(int(pid)) for pid in path.read_text().split()]


def have_ended(processes):
    """Waits for them, and closes their descriptors."""
    for process in processes:
        assert select.select([process], [], [], 60)[0]
        os.close(process)


def test_processes_of_an_environment_end_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OCTET_GYM_TIMEOUT_S", "2")
    env = make("Spawns", count=1, path=str(tmp_path / "ids"), hangs=True)
    env.reset(seed=1)
    first = spawned(tmp_path / "ids")
    for _ in range(3):
        env.step(np.zeros(1, int))
    assert "a call of one environment did not return within 2 s; it was restarted" in env.failures[1]
    have_ended(first)
    second = spawned(tmp_path / "ids")
    assert not select.select(second, [], [], 0)[0]
    env.close()
    have_ended(second)


@pytest.mark.parametrize("victim", ["host", "worker"])
def test_processes_of_an_environment_end_with_what_is_killed(tmp_path, victim):
    text = (f"import octet, os; env = octet.make('gym:octet_test_envs:OctetSpawns-v0', path={str(tmp_path / 'ids')!r}); "
            "env.reset(seed=1); print(env.unwrapped, flush=True); os.read(0, 1)")
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        host.stdout.readline()
        ids = spawned(tmp_path / "ids")
        parent = octet_test_envs.parent_of(int((tmp_path / "ids").read_text().split()[0]))
        os.kill(host.pid if victim == "host" else parent, signal.SIGKILL)
        have_ended(ids)
        host.kill()


@pytest.mark.parametrize("is_collected", [False, True])
def test_environments_are_closed(tmp_path, is_collected):
    env = make("Numbered", path=str(tmp_path / "closed"))
    env.reset(seed=1)
    if is_collected:
        del env
        gc.collect()
    else:
        env.close()
    assert (tmp_path / "closed").read_text() == "cc"


def test_environments_are_closed_while_a_fork_lives(tmp_path):
    env = make("Numbered", count=1, path=str(tmp_path / "closed"))
    env.reset(seed=1)
    until, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        os.read(until, 1)
        os._exit(0)
    env.close()
    os.close(end)
    os.waitpid(pid, 0)
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize(("name", "words"), [
    ("Raises", "RuntimeError: the gripper is stuck"), ("NotFinite", "not finite"), ("Shape", r"of shape \(3,\)")])
def test_one_environment_that_goes_wrong_ends_its_own_episode(name, words):
    env = make(name)
    env.reset(seed=1)
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(np.zeros(2, int))
    env.reset(options={"reset_mask": np.array([False, True])})
    env.step(np.zeros(2, int))
    truncated = env.step(np.zeros(2, int))[3]
    assert truncated.tolist() == [True, False]
    count, why = env.failures
    assert count == 1
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(why)


@pytest.mark.parametrize(("name", "words"), [("Raises", "RuntimeError: the gripper is stuck"), FAILS[0]])
@pytest.mark.parametrize("repeat", [2, 3])
def test_a_failure_in_a_repeated_action_says_why(name, words, repeat):
    env = make(name, action_repeat=repeat)
    env.reset(seed=1)
    while not env.step(np.zeros(2, int))[3].any():
        pass
    assert env.failures[0] == 2 and words in env.failures[1]


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_an_observation_between_repeated_actions_that_is_not_finite_fails(mode):
    env = make("NotFinite", mode=mode, action_repeat=4)  # in the third step
    env.reset(seed=1)
    assert env.step(np.zeros(2, int))[3].all()
    assert env.failures[0] == 2 and re.fullmatch("environment [01]: the observation is not finite", env.failures[1])


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_failure_counts_once(mode):
    env = make("Raises", mode=mode)
    env.reset(seed=1)
    for steps in range(3 if mode == "SameStep" else 4):  # in the last one of the others, the next episodes begin
        assert env.step(np.zeros(2, int))[3].all() == (steps == 2)
    assert env.failures[0] == 2


def steps_told(capfd, env, steps):
    env.reset(seed=1)
    for _ in range(steps):
        env.step(np.zeros(env.num_envs, int))
    return capfd.readouterr().err


def test_what_an_environment_raises_is_traced_once(capfd):
    told = steps_told(capfd, make("Raises"), 20)
    assert told.count("Traceback") == 1 and told.endswith("RuntimeError: the gripper\nis stuck\n")
    assert 'octet_test_envs.py", line' in told and "in trouble" in told
    assert "gymnasium" not in told and "<string>" not in told


def test_a_traceback_has_its_innermost_part_and_an_end(capfd):
    told = steps_told(capfd, make("Asserts", deep=500), 20)
    assert told.count("Traceback") == 1 and len(told) < 9000 and told.endswith("AssertionError\n")


@pytest.mark.parametrize(("most", "count"), [("0", 0), ("1", 1), ("", 1)])
def test_so_many_tracebacks_as_are_asked_for(capfd, monkeypatch, most, count):
    monkeypatch.setenv("OCTET_GYM_TRACEBACKS", most)
    assert steps_told(capfd, make("Raises"), 5).count("Traceback") == count


@pytest.mark.parametrize(("name", "value", "allowed"), [
    ("OCTET_GYM_TIMEOUT_S", "0.5", "1 to 86400"), ("OCTET_GYM_TIMEOUT_S", "5min", "1 to 86400"), ("OCTET_GYM_TIMEOUT_S", "0", "1 to 86400"),
    ("OCTET_GYM_TIMEOUT_S", "86401", "1 to 86400"), ("OCTET_GYM_MEMORY_MB", "8GB", "1 to 1073741824"), ("OCTET_GYM_MEMORY_MB", "-1", "1 to "),
    ("OCTET_GYM_MEMORY_MB", " 8", "1 to "), ("OCTET_GYM_MEMORY_MB", "9" * 30, "1 to "), ("OCTET_GYM_TRACEBACKS", "x", "0 to 1000000")])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, name, value, allowed):
    monkeypatch.setenv(name, value)
    with pytest.raises(octet.OctetError, match=f"{name} is '{re.escape(value)}'; allowed is a whole number from {allowed}"):
        make("Raises")


def test_an_exception_without_words_has_a_place(capfd):
    line = 1 + pathlib.Path(__file__).with_name("octet_test_envs.py").read_text().split("\n").index("        assert more > 0")
    env = make("Asserts")
    steps_told(capfd, env, 3)
    assert env.failures[1].endswith(f"AssertionError:  (octet_test_envs.py:{line})")
    with pytest.raises(octet.OctetError, match=r"OctetAsserts-v0: AssertionError: .*\(octet_test_envs.py:\d+\)"):
        make("Asserts", begins=0)
    told = capfd.readouterr().err
    assert told.count("Traceback") == 1 and "assert begins" in told


@pytest.mark.parametrize(("error", "words"), [
    (r"RuntimeError('no file \udcff.npy')", r"RuntimeError: no file \udcff.npy"),
    (f"RuntimeError('{'x' * 999}')", f"RuntimeError: {'x' * 208}"),  # as much as there is room for
    ("Unsayable", "Unsayable: its text cannot be read: KeyError")])
@pytest.mark.parametrize("stderr", ["sys.stderr", "None", "open('/dev/full', 'w')", "open('/dev/null')"])
def test_what_cannot_be_told_of_an_exception_fails_no_more_than_its_episode(error, words, stderr):
    env = make("Untellable", error=error, stderr=stderr)
    env.reset(seed=1)
    *_, (_, truncated), (obs, _) = steps_of(env, 4)
    assert truncated == [True, True] and obs == [[1, 2]] * 2
    assert env.failures == (2, f"environment 1: {words} (map-\\udcff.py:1)")
    with pytest.raises(octet.OctetError, match=re.escape(words)):
        make("Untellable", error=error, stderr=stderr, begins=0)


@pytest.mark.parametrize("id", ["gym:NoSuch-v0", "gym:no_such_module:Name-v0", "gym:octet_test_envs:OctetDictActions-v0"])
def test_what_comes_from_no_environment_is_not_traced(capfd, id):
    with pytest.raises(octet.OctetError):
        octet.make_vec(id, 1)
    assert "Traceback" not in capfd.readouterr().err


def test_octet_env_check_says_what_was_raised():
    command = [os.environ["OCTET_PROGRAM"], "env", "check", "gym:octet_test_envs:OctetRaises-v0"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert re.search(r"step 3: the environment reports a failure: environment \d: RuntimeError: the gripper is stuck "
                     r"\(octet_test_envs.py:\d+\)", ran.stdout), ran.stdout
    assert "PASS  options " in ran.stdout and "PASS  stays " in ran.stdout, ran.stdout
    assert ran.stderr.count("Traceback") == 1, ran.stderr


def test_octet_env_check_counts_warnings_and_takes_any_keyword_and_an_environment_without_chance():
    command = [os.environ["OCTET_PROGRAM"], "env", "check", "gym:octet_test_envs:OctetWarns-v0"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "FAIL" not in ran.stdout, ran.stdout
    assert "SKIP  options       an unknown option is refused\n      its constructor accepts any option (**kwargs)" in ran.stdout
    title, *lines = ran.stderr.splitlines()
    assert title == "standard error of the environment, each line once:"
    assert len(lines) == 4, ran.stderr
    assert re.search(r"^  .*octet_test_envs.py:\d+: UserWarning: made the old way \(\d+ times\)$", lines[0]), ran.stderr
    assert re.search(r"^  .*octet_test_envs.py:\d+: UserWarning: WARN: reset is slow \(\d+ times\)$", lines[1]), ran.stderr
    assert re.search(r"^  .*octet_test_envs.py:\d+: UserWarning: step 1 is slow \(\d+ times, with different numbers\)$", lines[2]), ran.stderr
    assert re.search(r"^  a step \(\d+ times\)$", lines[3]), ran.stderr
    assert "right if nothing in it is random" in ran.stdout and "OCTET_ENV_NO_RANDOM" not in ran.stdout, ran.stdout


def test_dictionaries_are_flattened_as_gymnasium_does():
    env = make("Mixed")
    obs, _ = env.reset(seed=1)
    assert obs.tolist() == [[0, 1, 0, 0, 0.5]] * 2 and obs.dtype == np.float32


def test_a_dictionary_of_bytes_stays_bytes():
    (_, (obs, *_)), = third_steps(f"spaces.Dict(a={BYTES})", ["dict(a=[7, 255])"])
    assert obs.tolist() == [[7, 255]]
    env = octet.make_vec("gym:octet_test_envs:OctetSays-v0", 1, space=f"spaces.Tuple([{BYTES}])", first="[[0, 0]]", thirds=["[[0, 0]]"])
    assert env.single_observation_space == gymnasium.spaces.Box(0, 255, (2,), np.uint8)


def test_pictures_stay_bytes_and_actions_are_clipped():
    env = make("Pixels")
    assert env.single_observation_space.shape == (4, 5, 3) and env.single_observation_space.dtype == np.uint8
    env.reset(seed=1)
    assert (env.step(np.array([[9.0, -9.0]] * 2))[0] == 1).all()


VALUES = {"a": True, "b": "2", "c": (3, 3), "d": [1, [2.5, None]], "e": {"k, l": ("it's", 'a "b", c')}, "f": b"x,y", "g": "a=b,c",
          "h": -1e-300, "i": "München\x1f\n", "j": {1, 2}, "k": "", "l": 2**70}


def arguments_of(*command):
    """What an environment was made with, as it says itself."""
    ran = subprocess.run([os.environ["OCTET_PROGRAM"], *command], capture_output=True, text=True, check=False)
    return ast.literal_eval(re.search(r"LookupError: got (\{.*\}) \(", ran.stdout + ran.stderr)[1])


def test_options_keep_their_type():
    values = {**VALUES, "m": np.int64(3), "n": np.float32(0.5), "o": np.bool_(False)}
    with pytest.raises(octet.OctetError) as refused:
        make("Options", **values)
    assert f"got {VALUES | {'m': 3, 'n': 0.5, 'o': False}} (" in str(refused.value)


@pytest.mark.parametrize("made", [octet.make, octet.make_vec])
def test_arguments_of_pictures_are_its_own(made):
    with pytest.raises(octet.OctetError) as refused:
        made("gym:octet_test_envs:OctetOptions-v0", width=9, height=7.5, size=3)
    assert f"got {({'width': 9, 'height': 7.5, 'size': 3})} (" in str(refused.value)


def test_arguments_of_vectors_are_those_of_a_single_environment():
    values = {"num_envs": 3, "autoreset_mode": "x", "copy": False, "threads": 2}
    with pytest.raises(octet.OctetError) as refused:
        octet.make("gym:octet_test_envs:OctetOptions-v0", **values)
    assert f"got {values} (" in str(refused.value)


@pytest.mark.parametrize("value", [len, np.zeros(2), float("nan"), object(), [np.zeros(2)], AutoresetMode.SAME_STEP])
def test_options_that_are_no_literals_are_refused_by_name(value):
    with pytest.raises(octet.OctetError, match=r"option c: .* cannot be written as a Python literal"):
        make("Options", c=value)


def test_options_of_the_command_line_and_of_a_file_may_hold_commas(tmp_path):
    text = "size=(3,3),name='a,b',word=ab,on=true"
    want = {"size": (3, 3), "name": "a,b", "word": "ab", "on": True}
    id = "gym:octet_test_envs:OctetOptions-v0"
    assert arguments_of("env", "check", id, "--options", text) == want
    (tmp_path / "mine.yaml").write_text(f'env: {{id: "{id}", options: "{text}"}}\nalgo: {{name: dqn}}\n')
    assert arguments_of("train", str(tmp_path / "mine.yaml"), "--run-dir", str(tmp_path / "run")) == want
    assert arguments_of("train", str(tmp_path / "mine.yaml"), "--run-dir", str(tmp_path / "run"),
                        "--set", "env.options=size=[1,2]") == {"size": [1, 2]}


def test_options_in_a_section_keep_their_types(tmp_path):
    """Each reaches gymnasium.make as YAML says it, also with others on the command line."""
    (tmp_path / "mine.yaml").write_text(f"""
env:
  id: gym:octet_test_envs:OctetOptions-v0
  options:
    mass: [1, 2.5]
    word: ab
    label: "3"
    path: ../a b
    flag: false
    none:
    deep: {{on: true, list: [[x, "a, \\"b\\"", ~], {{}}]}}
algo: {{name: dqn}}
""")
    want = {"mass": [1, 2.5], "word": "ab", "label": "3", "path": "../a b", "flag": False, "none": None,
            "deep": {"on": True, "list": [["x", 'a, "b"', None], {}]}}
    command = ("train", str(tmp_path / "mine.yaml"), "--run-dir", str(tmp_path / "run"))
    assert arguments_of(*command) == want
    del want["flag"]
    assert arguments_of(*command, "--set", "env.options.mass={a: 1}", "--set", "env.options.flag=true") == {**want, "mass": {"a": 1}, "flag": True}
    refused = subprocess.run([os.environ["OCTET_PROGRAM"], "env", "check", "gym:octet_test_envs:OctetOptions-v0", "--options", "a:=[1 2]"],
                             capture_output=True, text=True, check=False)
    assert "option a:=[1 2]: not JSON: " in refused.stdout + refused.stderr


BYTES = "spaces.Box(0, 255, (2,), np.uint8)"
BOTH = f"spaces.Dict(a={BYTES}, b=spaces.Tuple([spaces.Discrete(3)]))"
NUMBER = "spaces.Box(0, 1, ())"
LEFT = "spaces.Dict(a=spaces.Box(0, 9, (2,), np.uint8))"
BEGIN = {BYTES: "[0, 0]", NUMBER: "0.25", f"spaces.Dict(a={BYTES})": "dict(a=[0, 0])", "spaces.Discrete(4)": "0", "spaces.Discrete(4, start=5)": "5", LEFT: "dict(a=[0, 0])", BOTH: "dict(a=[0, 0], b=[0])", "spaces.MultiDiscrete([2, 3])": "[0, 0]"}


def third_steps(space, thirds):
    """An environment, and its third step of an episode for each of these observations."""
    env = octet.make_vec("gym:octet_test_envs:OctetSays-v0", 1, autoreset_mode="SameStep", space=space, first=BEGIN[space],
                         thirds=thirds)
    return third_steps_of(env, len(thirds))


def third_steps_of(env, episodes):
    env.reset(seed=1)
    for _ in range(episodes):
        steps = [env.step(np.zeros(1, int)) for _ in range(3)]
        assert [ended.any() for step in steps[:2] for ended in step[2:4]] == [False] * 4
        yield env, steps[2]
        while not (steps[-1][2] | steps[-1][3]).any():
            steps.append(env.step(np.zeros(1, int)))


def by_space(cases):
    """All that is told of a space by one process: (space, [(observation, what is expected), ...])."""
    return [(space, [case[1:] for case in cases if case[0] == space]) for space in dict.fromkeys(case[0] for case in cases)]


@pytest.mark.parametrize(("space", "cases"), by_space([
    (BYTES, "np.array([-1.0, 3])", "an observation has -1.0, which its space, of uint8, cannot hold"),
    (BYTES, "np.array([3, 300])", "300, which its space, of uint8"), (BYTES, "[0.9, 0]", "0.9, which"),
    (BYTES, "np.array([0, -5])", "-5, which"), (BYTES, "np.array([np.nan, 0])", "nan, which"), (BYTES, "[256, 0]", "256, which"),
    ("spaces.Discrete(4)", "2.7", "an observation of 2.7, which is not in Discrete(4)"),
    ("spaces.Discrete(4)", "4", "4, which is not in"), ("spaces.Discrete(4)", "-1", "-1, which is not in"),
    ("spaces.Discrete(4)", "np.float32('nan')", "an observation of nan, which is not in Discrete(4)"), ("spaces.Discrete(4)", "None", "None, which is not in"), ("spaces.Discrete(4)", "2**40", "which is not in"),
    (BOTH, "dict(a=np.array([300, 0]), b=[0])", "300, which"), (BOTH, "dict(a=[0, 0], b=[-1])", "-1, which is not in Discrete(3)"),
    (BOTH, "dict(a=[0, 0.9], b=[0])", "0.9, which"), (BOTH, "dict(a=[0, 0], b=[1.5])", "1.5, which"),
    ("spaces.MultiDiscrete([2, 3])", "[0.5, 1]", "0.5, which"),
    ("spaces.MultiDiscrete([2, 3])", "[2, 0]", "[2 0], which is not in MultiDiscrete([2 3])"),
]))
def test_observations_that_their_space_does_not_hold_fail(space, cases):
    thirds, expected = zip(*cases)
    for k, (env, (_, _, _, truncated, _)) in enumerate(third_steps(space, thirds)):
        assert truncated.all() and env.failures[0] == k + 1 and expected[k] in env.failures[1], thirds[k]


STEP = "(observation, reward, terminated, truncated, info)"


WRONG_STEPS = [
    ("self.observe(), None, False, False, {}", "step returned a reward of None, not a number"),
    ("self.observe(), np.ones(2), False, False, {}", "step returned a reward of array([1., 1.]), not a number"),
    ("self.observe(), 1e39, False, False, {}", "step returned a reward of 1e+39, which is beyond float32"),
    ("self.observe(), -1e39, False, False, {}", "step returned a reward of -1e+39, which is beyond float32"),
    ("self.observe(), np.inf, False, False, {}", "the reward is not finite"),
    ("self.observe(), 1.0, False, {}", f"step returned 4 values, not {STEP}"), ("None", f"step returned a value of type NoneType, not {STEP}"),
    ("dict(a=0), 1.0, False, False, {}", "an observation of type dict, which is not an array of numbers"),
    ("[[0], [1, 2]], 1.0, False, False, {}", "an observation of type list, which is not an array of numbers"),
    ("self.observe(), 1.0, False, False, None", "environment 0: TypeError: step returned an info of type NoneType, not a dict"),
    ("self.observe(), 1.0, True, False, [1]", "environment 0: TypeError: step returned an info of type list, not a dict"),
]


def test_a_failure_names_the_part_of_an_answer_that_is_wrong():
    env = make("Answers", count=1, steps=[answer for answer, _ in WRONG_STEPS])
    for k, (_, (_, _, _, truncated, _)) in enumerate(third_steps_of(env, len(WRONG_STEPS))):
        assert truncated.all() and env.failures[0] == k + 1 and WRONG_STEPS[k][1] in env.failures[1], WRONG_STEPS[k]


def test_a_failure_is_told_without_the_end_of_a_longer_one():
    env = make("Answers", count=1, steps=["[].a_long_name_of_no_attribute if self.says.setdefault('left', [1]).pop() else None"])
    env.reset(seed=1)
    for words in ("AttributeError: 'list' object has no attribute 'a_long_name_of_no_attribute'", "IndexError: pop from empty list"):
        assert list(steps_of(env, 3))[-1][1] == [True]
        assert re.fullmatch(rf"environment 0: {words} \(octet_test_envs\.py:\d+\)", env.failures[1])


@pytest.mark.parametrize(("answer", "words"), [
    ("self.observe()", "ValueError: reset returned a value of type ndarray, not (observation, info)"),
    ("(self.observe(),)", "ValueError: reset returned 1 values, not (observation, info)"),
    ("(self.observe(), None)", "environment 0: TypeError: reset returned an info of type NoneType, not a dict"),
])
def test_a_reset_names_the_part_of_an_answer_that_is_wrong(answer, words):
    env = make("Answers", count=1, reset=answer)
    with pytest.raises(octet.OctetError, match=re.escape(words)):
        env.reset(seed=1)


@pytest.mark.parametrize(("space", "cases"), by_space([
    (BYTES, "np.array([1.0, 255.0])", [1, 255]), (BYTES, "[True, False]", [1, 0]), (BYTES, "np.array([7, 9])", [7, 9]),
    ("spaces.Discrete(4)", "np.float32(3)", 3), (NUMBER, "np.float32(0.5)", [0.5]), (NUMBER, "0.75", [0.75]), (BOTH, "dict(a=[1, 2.0], b=[2])", [1, 2, 0, 0, 1]),
    ("spaces.Discrete(4, start=5)", "8", 3), (LEFT, "dict(a=[7, 200])", [7, 200]),
]))
def test_observations_of_another_type_are_those_that_they_equal(space, cases):
    thirds, expected = zip(*cases)
    for k, (env, (obs, *_)) in enumerate(third_steps(space, thirds)):
        assert env.failures[0] == 0 and obs[0].tolist() == expected[k], thirds[k]


def test_actions_of_whole_numbers_are_the_nearest():
    env = make("Whole")
    assert env.single_action_space.dtype == np.float32
    env.reset(seed=1)
    for actions, done in [([[-1.6, 2.6], [-9, 9]], [[-2, 3], [-2, 3]]), ([[0.4, -0.6], [1.9, 2.4]], [[0, -1], [2, 2]])]:
        assert env.step(np.array(actions, np.float32))[0].tolist() == done


def test_actions_of_bytes_are_the_nearest():
    env = make("WholeBytes")
    assert env.single_action_space == gymnasium.spaces.Box(0, 255, (2,), np.float32)
    env.reset(seed=1)
    assert env.step(np.array([[-1.6, 2.6], [254.4, 999]], np.float32))[0].tolist() == [[0, 3], [254, 255]]


@pytest.mark.parametrize(("space", "want"), [
    ("spaces.MultiDiscrete([2, 3], start=[5, -1])", [[5, -1], [5, 0], [5, 1], [6, -1], [6, 0], [6, 1]]),
    ("spaces.MultiDiscrete(np.array([[2, 1], [1, 2]]))", [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 1]]),
    ("spaces.MultiBinary(2)", [[0, 0], [0, 1], [1, 0], [1, 1]]),
])
def test_several_choices_are_one_index(space, want):
    """All combinations, the last choice fastest."""
    env = octet.make_vec("gym:octet_test_envs:OctetManyActions-v0", len(want), space=space)
    assert env.single_action_space.n == len(want)
    env.reset(seed=1)
    assert env.step(np.arange(len(want)))[0].tolist() == want


def test_too_many_combinations_are_refused(tmp_path):
    settings = {"env.id": "gym:octet_test_envs:OctetManyActions-v0", "env.options": "space='spaces.MultiBinary(9)'"}
    with pytest.raises(octet.OctetError, match="512 actions.* 256; a MultiDiscrete or MultiBinary has one for each combination of its parts"):
        octet.train(pathlib.Path(__file__).parents[2] / "presets/cartpole.yaml", tmp_path / "run", settings)


@pytest.mark.parametrize(("id", "words"), [
    ("gym:octet_test_envs:OctetDeep-v0", r"observations of shape \(1, 1, 1, 1, 1, 1, 1\) are not supported; allowed are up to 6 sides"),
    ("gym:octet_test_envs:OctetEmpty-v0", r"observations of shape \(0,\) are not supported; .* 1 to 16777216 numbers"),
    ("gym:octet_test_envs:OctetEmptyActions-v0", r"actions of shape \(2, 0\) are not supported"),
    ("gym:octet_test_envs:OctetLarge-v0", r"observations of shape \(4097, 4096\) are not supported"),
    ("gym:octet_test_envs:OctetEndless-v0", r"its action space has more than 2\^31 - 1 values"),
    ("gym:NoSuch-v0", "NameNotFound"), ("gym:no_such_module:Name-v0", "ModuleNotFoundError"),
    ("gym:octet_test_envs:OctetDictActions-v0", r"actions of Dict\(.*\) are not supported; allowed are Discrete, MultiDiscrete, "),
    ("gym:octet_test_envs:OctetWords-v0", "are not supported"), ("gym:", "gym:"),
])
def test_what_cannot_be_is_refused_in_words(id, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.make_vec(id, 1)


@pytest.mark.parametrize(("id", "is_advised"), [
    ("CartPole-v9", False), ("octet_test_envs:Here-v0", False), ("Here-v0", True), ("__main__:Here-v0", True), ("mine/Here-v0", True),
    (f"{'long' * 80}-v0", True),
])
def test_what_this_process_registered_is_told_to_go_into_a_module(id, is_advised):
    with pytest.raises(octet.OctetError, match="NotFound") as refused:
        octet.make_vec(f"gym:{id}", 1)
    assert ("If it is your own, register it in a module and use gym:MODULE:NAME" in str(refused.value)) == is_advised


@pytest.mark.parametrize("id", ["gym:./some/reach.py:Reach-v0", "./some/reach.py:Reach-v0"])
def test_a_file_in_place_of_a_module_is_told_to_be_named(id):
    with pytest.raises(octet.OctetError, match=r"write gym:reach:Reach-v0, with the folder \./some in PYTHONPATH"):
        octet.make_vec(id, 1)


def test_a_class_that_is_not_registered_is_made_by_its_name():
    env = octet.make_vec("gym:octet_test_envs:Counts", 2, bonus=0.5)
    env.reset(seed=1)
    assert env.step(np.zeros(2, int))[:2][1].tolist() == [1.5, 1.5]
    with pytest.raises(octet.OctetError, match="NameNotFound"):
        octet.make_vec("gym:octet_test_envs:np", 1)


def test_a_part_of_an_unknown_class_is_named():
    with pytest.raises(octet.OctetError, match=r"observation\['b'\]\[1\] is of the class octet_test_envs\.Unknown, which cannot be flattened"):
        make("UnknownPart")


def test_without_a_python_it_says_how_to_name_one(monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", "/nowhere/python")
    with pytest.raises(octet.OctetError, match="OCTET_PYTHON"):
        octet.make_vec("gym:CartPole-v1", 1)


def test_the_python_that_runs_steps_them_unless_another_is_named(tmp_path, monkeypatch):
    """One on PATH would be another: it is none."""
    (tmp_path / "python3").write_text("#!/bin/false\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("OCTET_PYTHON")
    text = "import octet; print(octet.make('gym:CartPole-v1').reset(seed=1)[0].shape, octet.make_vec('gym:CartPole-v1').num_envs)"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.stdout == "(4,) 1\n", ran.stderr


def test_octet_env_bench_measures_no_time_of_the_program_alone():
    command = [os.environ["OCTET_PROGRAM"], "env", "bench", "gym:octet_test_envs:OctetCounts-v0", "--seconds", "0.01"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and " steps/s of wall time\n" in ran.stdout and "CPU" not in ran.stdout, ran


def test_what_draws_it_is_told_where_octet_does_not():
    with pytest.raises(octet.RenderModeError, match=r"gym:CartPole-v1 cannot be drawn here: gymnasium.wrappers.RecordVideo"):
        octet.make("gym:CartPole-v1", render_mode="rgb_array")


@pytest.mark.parametrize(("name", "conv", "noted"), [("ChannelsFirst", "[4]", True), ("ChannelsFirst", "[]", False), ("Maps", "[4]", False)])
def test_octet_train_notes_channels_that_come_first(tmp_path, name, conv, noted):
    command = [os.environ["OCTET_PROGRAM"], "train", str(pathlib.Path(__file__).parents[2] / "presets/cartpole.yaml"), "--run-dir",
               str(tmp_path / "run"), "--set", f"env.id=gym:octet_test_envs:Octet{name}-v0", "--set", f"network.conv={conv}",
               "--set", "run.env_steps=1000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ("note: convolutions: observations of 4 x 20 x 20 are taken as 4 rows and 20 columns of 20 channels" in ran.stderr) == noted


def test_an_actor_has_one_process_and_an_evaluator_one_for_each_evaluation(tmp_path):
    command = [os.environ["OCTET_PROGRAM"], "train", str(pathlib.Path(__file__).parents[2] / "presets/cartpole.yaml"), "--run-dir",
               str(tmp_path / "run"), "--set", "env.id=gym:octet_test_envs:OctetAlone-v0", "--set", f"env.options=path={tmp_path}/told",
               "--set", "run.env_steps=1000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = (tmp_path / "told").read_text().splitlines()
    assert {line for line in told if line.startswith("octet-actor")} == {"octet-actor False 1", "octet-actor True 1"}


def test_octet_train_finds_modules_and_python_from_where_it_was_started(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import octet_test_envs, beside")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/beside.py").touch()
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PYTHONPATH", f"lib:{pathlib.Path(__file__).parent}:{os.path.dirname(gymnasium.__path__[0])}")
    monkeypatch.setenv("OCTET_PYTHON", "./python")
    command = [os.environ["OCTET_PROGRAM"], "train", str(pathlib.Path(__file__).parents[2] / "presets/cartpole.yaml"), "--run-dir",
               "run", "--set", "env.id=gym:mine:OctetCounts-v0", "--set", "run.env_steps=2000"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "6.00 ± 0.00 over 100 episodes" in ran.stdout, ran.stdout + ran.stderr


def test_modules_of_a_folder_that_is_not_the_users_own_are_not_imported(tmp_path, monkeypatch):
    """The files here have the names of modules that the worker imports."""
    for name in ("importlib", "gymnasium", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(7)")
    (tmp_path / "alone.py").write_text("from octet_test_envs import *")
    (tmp_path / ".unpacked").touch()
    monkeypatch.chdir(tmp_path)
    env = make("Counts")
    env.reset(seed=1)
    assert env.step(np.zeros(2, int))[0].tolist() == [[1, 2]] * 2
    with pytest.raises(Exception, match=r"ModuleNotFoundError.*; the current folder is not searched for modules: .* came out of a pack"):
        octet.make_vec("gym:alone:OctetCounts-v0", 1)
    assert not (tmp_path / "ran").exists()
    for path in (".unpacked", "gymnasium.py", "numpy.py", "importlib.py"):
        (tmp_path / path).unlink()
    octet.make_vec("gym:alone:OctetCounts-v0", 1)
