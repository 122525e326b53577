"""Single environments: Gymnasium's own checker, its numbers, and what is refused."""

import inspect
import subprocess
import sys
import textwrap

import gymnasium
import numpy as np
import octet
import pytest
from gymnasium.utils.env_checker import check_env

SAME_RULES = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1",
              "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("id", octet.ids())
def test_gymnasiums_checker_passes(id):
    env = octet.make(id)
    check_env(env, skip_render_check=id.startswith("dmc:"))  # needs OpenGL
    env.close()
    env.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("id", SAME_RULES)
def test_a_seed_gives_gymnasiums_own_episodes(id):
    if id not in gymnasium.registry:
        pytest.skip(f"this Gymnasium has no {id}")
    # Since NumPy 2 Gymnasium's sums are float32 where an action or a state is.
    options = {"numpy": int(np.__version__[0])} if id in ("MountainCarContinuous-v0", "Pendulum-v1") else {}
    ours, theirs = octet.make(id, **options), gymnasium.make(id)
    theirs.action_space.seed(7)
    obs, want = ours.reset(seed=11)[0], theirs.reset(seed=11)[0]
    ends = 0
    for _ in range(600):
        assert np.array_equal(obs, want)
        action = theirs.action_space.sample()
        obs, reward, terminated, truncated, info = ours.step(action)
        want, *expected, _ = theirs.step(action)
        assert reward == expected[0] and [terminated, truncated] == expected[1:]
        if terminated or truncated:
            ends += 1
            assert info["episode_length"] > 0 and isinstance(info["episode_return"], float)
            obs, want = ours.reset()[0], theirs.reset()[0]
    assert ends > 0 or id in ("MountainCarContinuous-v0", "CliffWalking-v1")


def test_gymnasium_makes_it_by_name():
    env = gymnasium.make("octet:octet/MinAtar-Breakout-v1")
    assert isinstance(env.unwrapped, octet.OctetEnv)
    assert env.reset(seed=1)[0].shape == env.observation_space.shape == (10, 10, 4)
    vector = gymnasium.make_vec("octet:octet/CartPole-v1", num_envs=3)
    assert isinstance(vector.unwrapped, octet.OctetVectorEnv)
    assert vector.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


def test_any_whole_number_is_a_seed():
    env = octet.make("CartPole-v1")
    assert all(np.array_equal(env.reset(seed=seed)[0], env.reset(seed=5)[0]) for seed in (np.array(5), np.int64(5), np.uint8(5)))


def test_a_seed_of_reset_is_that_of_its_random_numbers_too():
    """As Gymnasium's own environments have it, for wrappers and programs that draw from np_random."""
    env, want = octet.make("CartPole-v1"), np.random.default_rng(5)
    env.reset(seed=5)
    assert env.np_random.random() == want.random() and env.np_random_seed == 5
    env.reset()
    assert env.np_random.random() == want.random()


def test_signatures_name_the_arguments():
    assert {"autoreset_mode", "copy", "threads", "seed"} <= set(inspect.signature(octet.make_vec).parameters)
    assert {"render_mode", "width", "height", "seed"} <= set(inspect.signature(octet.make).parameters)
    assert set(octet._replay._DEFAULTS) <= set(inspect.signature(octet.Replay).parameters)
    assert {"min_size", "sync"} <= set(inspect.signature(octet.Replay).parameters)
    for make in (octet.make, octet.make_vec):
        own = octet.OctetEnv if make is octet.make else octet.OctetVectorEnv
        given = {name: one.default for name, one in inspect.signature(make).parameters.items() if name != "id"}
        assert given == {name: one.default for name, one in inspect.signature(own).parameters.items() if name != "env_id"}


def test_observations_share_no_memory():
    env = octet.make("CartPole-v1")
    first, _ = env.reset(seed=1)
    second = env.step(0)[0]
    assert not np.shares_memory(first, second) and first.dtype == second.dtype == np.float32


def test_options_are_those_of_the_experiment_file():
    for given, reward in ((True, 0), (np.True_, 0), (1, 0), (False, 1), (np.False_, 1)):
        env = octet.make("CartPole-v1", sutton_barto_reward=given)
        env.reset(seed=1)
        assert env.step(0)[1] == reward


def test_states_are_set_and_told():
    env = octet.make("Pendulum-v1")
    env.reset(seed=1)
    env.set_state([0.5, -1.0], 7)
    state, step = env.get_state()
    assert state.tolist() == [0.5, -1.0] and step == 7


def test_a_picture_is_of_the_size():
    env = octet.make("CartPole-v1")
    assert env.metadata["render_fps"] == 50 and env.render() is None
    assert octet.make("Taxi-v4").metadata["render_modes"] == []
    if not env.metadata["render_modes"]:
        pytest.skip("this build draws no pictures: it was configured without cairo")
    env = octet.make("CartPole-v1", render_mode="rgb_array", width=60, height=40)
    env.reset(seed=1)
    picture = env.render()
    assert picture.shape == (40, 60, 3) and picture.dtype == np.uint8 and len(np.unique(picture)) > 2
    assert env.metadata["render_modes"] == ["rgb_array"]


@pytest.mark.parametrize(("make", "words"), [
    (lambda: octet.make("CartPole-v2"), "did you mean CartPole-v1?"),
    (lambda: octet.make("./nowhere.so"), "nowhere.so"),
    (lambda: octet.make("dmc:cheetah_rum"), "cheetah_run|Control Suite"),
    (lambda: octet.make("CartPole-v1", gravity=3), "gravity"),
    (lambda: octet.make("CartPole-v1", **{"a,b": 1}), "comma"),
    (lambda: octet.make("CartPole-v1", text="a=b"), 'CartPole-v1 has no option "text"'),
    (lambda: octet.make("CartPole-v1", text=object), "option text: <class 'object'> is neither a word nor JSON"),
    (lambda: octet.make("CartPole-v1", **{"": 1}), "option '': not a name: it is empty, or contains a comma, a colon, an equals sign or a NUL"),
    (lambda: octet.make("CartPole-v1", threads=2), 'no option "threads"; it has: max_episode_steps'),
    (lambda: octet.make("CartPole-v1", num_envs=2), 'no option "num_envs"; it has: '),
    (lambda: octet.make("Taxi-v4", width=60), "width: .*Taxi-v4.* cannot be drawn"),
    (lambda: octet.make("CartPole-v1").reset(options=3), "reset: options: 3 is not a dictionary"),
    (lambda: octet.make("CartPole-v1", render_mode="human"), "rgb_array"),
    (lambda: octet.make("Taxi-v4", render_mode="rgb_array"), "cannot be drawn"),
    (lambda: octet.make("CartPole-v1").step(2), "action 2 of environment 0 is not in 0 .. 1"),
    (lambda: octet.make("CartPole-v1").step(0.5), "float64, expected int32"),
    (lambda: octet.make("CartPole-v1").step(True), "actions of type bool, expected int32"),
    (lambda: octet.make("Pendulum-v1").step([True]), "actions of type bool, expected float32"),
    (lambda: octet.make("CartPole-v1").step(2**32), "does not fit int32"),
    (lambda: octet.make("Pendulum-v1").step([np.nan]), "is not finite"),
    (lambda: octet.make("Pendulum-v1").step([0.0, 1.0]), r"an action of shape \(2,\), expected \(1,\)"),
    (lambda: octet.make("CartPole-v1").step([0]), r"an action of shape \(1,\), expected \(\)"),
    (lambda: octet.make("Pendulum-v1").step([[0.0], [1.0, 2.0]]), "actions: "),
    (lambda: octet.make("CartPole-v1").reset(seed=np.array([5])), "seed: .* is not a whole number"),
    (lambda: octet.make("CartPole-v1").reset(seed="5"), "seed: '5' is not a whole number"),
    (lambda: octet.make("Pendulum-v1").set_state([0.0]), "shape"),
    (lambda: octet.make("CartPole-v1", seed=-1), "seed"),
    (lambda: octet.make("CartPole-v1").reset(seed=2**64), "seed"),
])
def test_what_cannot_be_is_refused_in_words(make, words):
    with pytest.raises(octet.OctetError, match=words):
        make()


def test_a_closed_one_is_refused():
    env = octet.make("CartPole-v1")
    env.close()
    with pytest.raises(octet.OctetError, match="closed"):
        env.step(0)


def test_all_but_environments_works_without_gymnasium():
    """Debian's python3-octet is there without it."""
    program = textwrap.dedent("""
        import importlib.util, sys
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *more: None if name == "gymnasium" else found(name, *more)
        sys.modules["gymnasium"] = None
        from octet import *
        import octet
        assert octet.preset("cartpole").is_file() and "OctetEnv" not in globals() and "Policy" in globals()
        for name in ("make", "other"):
            try:
                getattr(octet, name)
            except AttributeError as error:
                print(error)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("octet.make needs Gymnasium, which this Python does not have: pip install gymnasium\n"
                                          "module 'octet' has no attribute 'other'\n", "")
