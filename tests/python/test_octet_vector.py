"""Vectors: against Gymnasium's own SyncVectorEnv, number by number, in each way of autoreset."""

import os
import shutil
import subprocess
import sys
import types
import warnings

import gymnasium
import numpy as np
import octet
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

COUNT, STEPS = 5, 250


def both(mode, id="CartPole-v1", threads=1):
    ours = octet.make_vec(id, COUNT, autoreset_mode=mode, threads=threads)
    theirs = SyncVectorEnv([lambda: gymnasium.make(id)] * COUNT, autoreset_mode=mode)
    return ours, theirs


@pytest.mark.parametrize("id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_spaces_are_gymnasiums(id):
    ours, theirs = both(AutoresetMode.NEXT_STEP, id)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1"])
def test_it_steps_as_gymnasium_does(mode, id, threads):
    ours, theirs = both(mode, id, threads)
    theirs.action_space.seed(3)
    assert np.array_equal(ours.reset(seed=9)[0], theirs.reset(seed=9)[0])
    ends = 0
    for _ in range(STEPS):
        actions = theirs.action_space.sample()
        got, want = ours.step(actions), theirs.step(actions)
        for mine, its in zip(got[:4], want[:4], strict=True):
            assert mine.dtype == its.dtype and mine.shape == its.shape and np.array_equal(mine, its)
        ends += int((got[2] | got[3]).sum())
        if mode is AutoresetMode.SAME_STEP and "final_obs" in want[4]:
            assert np.array_equal(got[4]["_final_obs"], want[4]["_final_obs"])
            for mine, its in zip(got[4]["final_obs"], want[4]["final_obs"], strict=True):
                assert (mine is None and its is None) or np.array_equal(mine, its) and np.asarray(mine).dtype == np.asarray(its).dtype
    assert ends > COUNT


def test_without_autoreset_the_mask_names_those_that_begin():
    ours, theirs = both(AutoresetMode.DISABLED)
    theirs.action_space.seed(3)
    ours.reset(seed=9), theirs.reset(seed=9)
    ended = np.zeros(COUNT, np.bool_)
    while not ended.any():
        actions = theirs.action_space.sample()
        got, want = ours.step(actions), theirs.step(actions)
        assert np.array_equal(got[0], want[0])
        ended = got[2] | got[3]
    with pytest.raises(octet.OctetError, match="reset_mask"):
        ours.step(actions)
    options = {"reset_mask": ended.copy()}
    obs = ours.reset(options=options)[0]
    assert options == {}
    assert np.array_equal(obs, theirs.reset(options={"reset_mask": ended})[0])
    assert np.array_equal(obs[~ended], got[0][~ended])
    ours.step(actions)


def test_a_mask_leaves_out_those_that_have_ended():
    vector = octet.make_vec("CartPole-v1", 3, autoreset_mode="Disabled")
    vector.reset(seed=1)
    for i in (0, 1):
        vector.set_state(i, [5, 0, 0, 0])
    assert vector.step([0, 0, 0])[2].tolist() == [True, True, False]
    mask = np.array([True, True, False, True, True, True])[::2]  # of every second byte
    vector.reset(options={"reset_mask": mask})
    assert [vector.get_state(i)[1] for i in range(3)] == [0, 1, 0]
    with pytest.raises(octet.OctetError, match="an episode has ended"):
        vector.step([0, 0, 0])
    vector.reset(options={"reset_mask": np.array([False, True, False])})
    vector.step([0, 0, 0])


def test_leaving_a_block_closes_it():
    with octet.make_vec("CartPole-v1", 2) as vector:
        vector.reset(seed=1)
    with pytest.raises(octet.OctetError, match="closed"):
        vector.reset(seed=1)


def test_seeds_are_for_each_environment():
    vector = octet.make_vec("CartPole-v1", 3)
    obs = vector.reset(seed=[4, None, 6])[0]
    assert np.array_equal(obs[0], vector.reset(seed=4)[0][0])
    assert np.array_equal(obs[2], vector.reset(seed=4)[0][2])
    again = vector.reset(seed=[4, None, 6])[0]
    assert np.array_equal(again[0], obs[0]) and not np.array_equal(again[1], obs[1])
    vector.step([0, 0, 0])
    last = vector.reset(seed=[4, None, 6])[0]  # one without a seed begins an episode, too
    assert not np.array_equal(last[1], again[1]) and [vector.get_state(i)[1] for i in range(3)] == [0, 0, 0]
    for bad in ([1, 2], [1, 2, 3, 4], -1, [1, 2, -3], "abc", [1, 2, "x"], 1.5, {1}):
        with pytest.raises(octet.OctetError, match="seed"):
            vector.reset(seed=bad)


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1"])
def test_copy_decides_whether_arrays_are_new(id):
    actions = np.zeros(4, np.int64)
    copies, views = octet.make_vec(id, 4), octet.make_vec(id, 4, copy=False)
    first, second = copies.reset(seed=1)[0], copies.step(actions)
    assert not np.shares_memory(first, second[0])
    assert np.array_equal(copies.observations, second[0]) and np.shares_memory(copies.observations, copies.observations)
    assert not any(np.shares_memory(a, b) for a, b in zip(second[:4], copies.step(actions)[:4], strict=True))
    first, second = views.reset(seed=1)[0], views.step(actions)
    assert np.shares_memory(first, second[0])
    assert all(np.shares_memory(a, b) for a, b in zip(second[:4], views.step(actions)[:4], strict=True))


def test_the_end_of_an_episode_is_told_with_masks():
    vector = octet.make_vec("CartPole-v1", 4)
    vector.reset(seed=1)
    returns, told = np.zeros(4), []
    for _ in range(60):
        _, rewards, terminated, truncated, infos = vector.step(np.ones(4, np.int64))
        returns += rewards
        ended = terminated | truncated
        assert set(infos) == ({"episode_return", "_episode_return", "episode_length", "_episode_length"} if ended.any() else set())
        if infos:
            told.append((infos, ended, np.where(ended, returns, 0)))
            returns[ended] = 0
    for infos, ended, want in told:  # also after later steps
        assert np.array_equal(infos["_episode_return"], ended) and np.array_equal(infos["_episode_length"], ended)
        assert np.array_equal(infos["episode_return"], want) and np.array_equal(infos["episode_length"], want)
    assert np.sum([ended for _, ended, _ in told]) > 8 and not np.all([ended for _, ended, _ in told])


def test_gymnasiums_wrappers_take_it():
    vector = gymnasium.wrappers.vector.RecordEpisodeStatistics(octet.make_vec("CartPole-v1", 4))
    vector.reset(seed=1)
    for _ in range(100):
        infos = vector.step(vector.action_space.sample())[4]
        if "episode" in infos:
            done = infos["_episode"]
            assert np.array_equal(infos["episode"]["r"][done], infos["episode_return"][done])
    assert vector.episode_count > 0


@pytest.mark.parametrize("id", ["MinAtar/Breakout-v1", "CartPole-v1"])
def test_pictures_are_one_for_each(id):
    if not octet.make("CartPole-v1").metadata["render_modes"]:
        pytest.skip("this build draws no pictures: it was configured without cairo")
    how = {"render_mode": "rgb_array", "width": 40, "height": 30}
    vector, alone = octet.make_vec(id, 3, threads=2, **how), [octet.make(id, **how) for _ in range(3)]
    vector.reset(seed=1)
    for i, env in enumerate(alone):
        env.reset(seed=1 + i)
    for _ in range(4):
        vector.step([0, 1, 0])
        for env, action in zip(alone, (0, 1, 0), strict=True):
            env.step(action)
    pictures = vector.render()
    assert len(pictures) == 3 and pictures[0].shape == (30, 40, 3) and len({picture.tobytes() for picture in pictures}) > 1
    assert all(np.array_equal(picture, env.render()) for picture, env in zip(pictures, alone, strict=True))


def test_a_step_with_one_bad_action_changes_nothing():
    vector = octet.make_vec("CartPole-v1", 4, threads=2)
    vector.reset(seed=1)
    before = [vector.get_state(i)[0].tolist() for i in range(4)]
    with pytest.raises(octet.OctetError, match="environment 3"):
        vector.step(np.array([0, 1, 0, 2]))
    assert before == [vector.get_state(i)[0].tolist() for i in range(4)]


@pytest.mark.parametrize(("arguments", "words"), [
    ({"num_envs": 0}, "num_envs: 0 is not in 1 .. 1048576"), ({"num_envs": 4, "threads": 5}, "no more than environments"),
    ({"num_envs": "3"}, "num_envs: '3' is not a whole number, allowed 1 .. 1048576"), ({"num_envs": 2.5}, "num_envs: 2.5 is not"),
    ({"threads": 0}, "threads: 0 is not in 1 .. 256"), ({"render_mode": "human"}, "rgb_array"), ({"width": -4}, "width: -4 is not"), ({"height": 8193}, "height: 8193 is not in 0 .. 8192"),
    ({"seed": 1.5}, "seed: 1.5 is not a whole number"), ({"seed": -1}, "seed: -1 is not in"),
    ({"autoreset_mode": "x"}, "autoreset_mode: 'x', allowed are NextStep, SameStep, Disabled"),
])
def test_what_cannot_be_is_refused_in_words(arguments, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.make_vec("CartPole-v1", **arguments)


def test_a_reset_refuses_what_it_would_ignore():
    for env in (octet.make_vec("CartPole-v1", 2), octet.make("CartPole-v1")):
        env.reset(seed=1, options={})
        with pytest.raises(octet.OctetError, match="reset: no option low; known: "):
            env.reset(seed=1, options={"low": -0.01})
        with pytest.raises(octet.OctetError, match="reset: no option 3, low; known: "):
            env.reset(seed=1, options={"low": -0.01, 3: 4})


def test_without_a_seed_episodes_are_others_each_time():
    made = [env.reset()[0] for env in (octet.make_vec("CartPole-v1", 2), octet.make_vec("CartPole-v1", 2), octet.make("CartPole-v1"))]
    assert len({tuple(row) for obs in made for row in obs.reshape(-1, 4).tolist()}) == 5


def test_options_that_cannot_be_changed_are_read_all_the_same():
    vector = octet.make_vec("CartPole-v1", 2)
    first = vector.reset(seed=1)[0]
    obs, _ = vector.reset(seed=7, options=types.MappingProxyType({"reset_mask": np.array([False, True])}))
    assert np.array_equal(obs[0], first[0]) and not np.array_equal(obs[1], first[1])


def test_an_action_that_no_float32_holds_is_an_error_alone():
    vector = octet.make_vec("Pendulum-v1", 2)
    vector.reset(seed=1)
    with warnings.catch_warnings(), pytest.raises(octet.OctetError, match="the action of environment 1 is not finite"):
        warnings.simplefilter("error")
        vector.step(np.array([[0.0], [1e300]]))


def test_threads_that_cannot_be_started_are_refused_and_none_is_left():
    text = """import os, pathlib, resource, octet
octet.make_vec("CartPole-v1").close()
threads = os.listdir("/proc/self/task")
used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))  # the stacks of some, not of all
try:
    octet.make_vec("CartPole-v1", 256, threads=256)
except octet.OctetError as error:
    print(error, os.listdir("/proc/self/task") == threads)"""
    said = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, check=False)
    assert said.stdout == "256 threads: the system cannot start another: Resource temporarily unavailable True\n"


def calls_refused_in_a_fork(vector):
    """How many of five calls a forked process refuses; a sixth closes the vector."""
    pid = os.fork()
    if pid == 0:
        code = 100
        try:
            code = 0
            for call in (lambda: vector.step(np.zeros(4, int)), lambda: vector.reset(), lambda: vector.get_state(0),
                         lambda: vector.render(), lambda: vector.failures):
                try:
                    call()
                except octet.OctetError as error:
                    code += "cannot be used in a forked process: open it there" in str(error)
            vector.close()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(("id", "threads", "refused"), [("CartPole-v1", 1, 0), ("CartPole-v1", 2, 5), ("gym:CartPole-v1", 1, 5)])
def test_a_fork_refuses_a_vector_whose_threads_or_process_are_its_parents(id, threads, refused, monkeypatch):
    monkeypatch.setenv("OCTET_PYTHON", sys.executable)
    vector, alone = (octet.make_vec(id, 4, threads=threads) for _ in range(2))
    vector.reset(seed=1), alone.reset(seed=1)
    assert calls_refused_in_a_fork(vector) == refused
    for _ in range(3):
        assert np.array_equal(vector.step(np.zeros(4, int))[0], alone.step(np.zeros(4, int))[0])
    assert vector.failures[0] == 0


def test_seeds_are_whole_numbers_of_any_kind():
    vector = octet.make_vec("CartPole-v1", 2)
    want = vector.reset(seed=5)[0]
    for seed in (np.array(5), np.int64(5), np.array([5, 6]), [5, np.int32(6)]):
        assert np.array_equal(vector.reset(seed=seed)[0], want)
    for seed in (np.array(5.0), {5, 6}, np.zeros((2, 2), int), [5.0, 6.0], b"56"):
        with pytest.raises(octet.OctetError, match="^seed: "):
            vector.reset(seed=seed)


def test_an_id_is_a_name():
    for bad in (5, None, b"CartPole-v1"):
        with pytest.raises(octet.OctetError, match="is not a name, such as 'CartPole-v1'"):
            octet.make(bad)


def test_masks_of_another_shape_are_refused():
    vector = octet.make_vec("CartPole-v1", 3)
    for mask in (np.ones(2, np.bool_), np.ones(3), [True] * 3, np.zeros(3, np.bool_)):
        with pytest.raises(octet.OctetError, match="reset_mask"):
            vector.reset(options={"reset_mask": mask})


def test_threads_work_in_several_vectors_at_once():
    from concurrent.futures import ThreadPoolExecutor

    def play(seed):
        vector = octet.make_vec("Acrobot-v1", 8, threads=2)
        vector.reset(seed=seed)
        return [vector.step(np.arange(8) % 3)[0].copy() for _ in range(50)]

    alone = [play(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(a, b) for a, b in zip(alone, pool.map(play, range(4)), strict=True))


def test_a_closed_one_still_says_what_it_was_and_refuses_the_rest():
    # The limit of a single one is that of the TimeLimit around it.
    for env, limit in ((gymnasium.make("octet:octet/MountainCarContinuous-v0").unwrapped, None),
                       (gymnasium.make_vec("octet:octet/MountainCarContinuous-v0", 2), 999)):
        before = env.spec
        assert (before.max_episode_steps, before.reward_threshold) == (limit, 90)
        env.close()
        vector = getattr(env, "_one", env)
        assert env.spec == before
        for call in (lambda vector: vector.get_state(0), lambda vector: vector.set_state(0, [0, 0])):
            with pytest.raises(octet.OctetError, match="the vector is closed"):
                call(vector)


def test_a_state_that_is_set_begins_an_episode_that_goes_on():
    vector = octet.make_vec("CartPole-v1", 2, autoreset_mode="Disabled")
    vector.reset(seed=1)
    vector.set_state(0, [5, 0, 0, 0])
    assert vector.step([0, 0])[2].tolist() == [True, False]
    with pytest.raises(octet.OctetError, match="an episode has ended"):
        vector.step([0, 0])
    vector.set_state(0, [0, 0, 0, 0])
    assert not vector.step([0, 0])[2].any() and vector.get_state(0)[1] == 1


def test_a_state_has_a_step_and_a_place_that_are_whole_numbers():
    vector = octet.make_vec("CartPole-v1", 2)
    vector.reset(seed=1)
    for step in (-1, 2**32, 0.5):
        with pytest.raises(octet.OctetError, match="episode_step: "):
            vector.set_state(0, [0, 0, 0, 0], step)
    for i in (-1, 2, 2**32, 0.5):
        with pytest.raises(octet.OctetError, match="^i: "):
            vector.set_state(i, [0, 0, 0, 0])
        with pytest.raises(octet.OctetError, match="^i: "):
            vector.get_state(i)
    assert vector.get_state(0)[1] == 0


@pytest.mark.parametrize(("id", "repeat"), [("CartPole-v1", 1), ("CartPole-v1", 4), ("dmc:pendulum_swingup", 1)])
def test_a_state_of_the_greatest_step_is_at_its_end(id, repeat):
    if id.startswith("dmc:") and id not in octet.ids():
        pytest.skip("octet was built without MuJoCo")
    vector = octet.make_vec(id, 1, action_repeat=repeat)
    vector.reset(seed=1)
    for step in (2**31 - 1, 2**31, 2**32 - 1):
        vector.set_state(0, vector.get_state(0)[0], step)
        _, _, _, truncated, infos = vector.step(vector.action_space.sample())
        assert truncated.tolist() == [True] and infos["episode_length"].tolist() == [2**31 - 1]
        vector.reset()


@pytest.fixture(scope="module")
def commas(tmp_path_factory):
    """What a program needs to run in a locale whose numbers have commas."""
    folder = tmp_path_factory.mktemp("locale")
    if not shutil.which("localedef") or subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
                                                       capture_output=True, check=False).returncode != 0:
        pytest.skip("localedef makes no locale de_DE here")
    return {**os.environ, "LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}


@pytest.mark.parametrize("arguments", [
    "'MinAtar/Breakout-v1', sticky_actions=0.25", "'FrozenLake-v1', success_rate=0.5, reward_schedule='1.5/0/-0.5'",
    "'dmc:reacher_easy', max_episode_steps=1e2"])
def test_options_are_read_alike_in_every_locale(commas, arguments):
    if "dmc" in arguments and "dmc:reacher_easy" not in octet.ids():
        pytest.skip("this build has no Control Suite")
    text = ("import locale, octet; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])\n"
            f"env = octet.make_vec({arguments}); env.reset(seed=1); print(env.step(env.action_space.sample() * 0)[:4])")
    said = [subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=False)
            for env in (commas, {**commas, "LC_ALL": "C"})]
    assert said[0].returncode == 0, said[0].stderr
    assert said[0].stdout.split("\n") == [",", *said[1].stdout.split("\n")[1:]]
