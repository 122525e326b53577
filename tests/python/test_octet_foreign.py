"""Octet's environments in programs of others, which make them by name: Gymnasium's vectors, wrappers and copies, the
Gymnasium that CleanRL asks for, and Stable-Baselines3 where it is installed."""

import copy
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import octet
import pytest
from gymnasium import wrappers

CARTPOLE, PENDULUM = "octet:octet/CartPole-v1", "octet:octet/Pendulum-v1"

# Before 1.1 Gymnasium had no AutoresetMode.
OLDER = """
import gymnasium.vector, sys
del gymnasium.vector.AutoresetMode
import octet
from gymnasium.utils.env_checker import check_env
env = gymnasium.make("octet:octet/CartPole-v1")
env.reset(seed=1)
assert env.step(0)[1] == 1.0 and env.spec.max_episode_steps == 500
check_env(octet.make("Pendulum-v1"), skip_render_check=True)
with_ends = octet.make_vec("CartPole-v1", 2, autoreset_mode="SameStep")
assert not isinstance(with_ends, gymnasium.vector.VectorEnv)
with_ends.reset(seed=1)
while "final_obs" not in (infos := with_ends.step([1, 1])[4]):
    pass
with_ends.close()
"""


@pytest.mark.parametrize(("how", "arguments"), [("sync", {}), ("async", {}), ("async", {"context": "spawn"})])
def test_gymnasiums_own_vectors_hold_it(how, arguments):
    ours = gymnasium.make_vec(CARTPOLE, num_envs=2)
    theirs = gymnasium.make_vec(CARTPOLE, num_envs=2, vectorization_mode=how, vector_kwargs=arguments)
    ours.action_space.seed(3)
    assert np.array_equal(ours.reset(seed=9)[0], theirs.reset(seed=9)[0])
    for _ in range(60):
        actions = ours.action_space.sample()
        got, want = ours.step(actions), theirs.step(actions)
        assert all(np.array_equal(mine, its) for mine, its in zip(got[:4], want[:4], strict=True))
    theirs.close()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_is_made_of_the_same_arguments(again):
    env = gymnasium.make(CARTPOLE, sutton_barto_reward=True)
    env.reset(seed=4)
    other = again(env)
    assert np.array_equal(other.reset(seed=5)[0], gymnasium.make(CARTPOLE).reset(seed=5)[0])
    assert other.step(0)[1] == 0.0 and other.spec == env.spec and other.unwrapped.spec is not None
    other.close()
    assert env.step(0)[1] == 0.0
    assert np.array_equal(again(octet.make("CartPole-v1", seed=3)).reset()[0], octet.make("CartPole-v1", seed=3).reset()[0])
    if octet.make("CartPole-v1").metadata["render_modes"]:
        drawn = again(octet.make("CartPole-v1", render_mode="rgb_array", width=60, height=40))
        drawn.reset(seed=1)
        assert drawn.render_mode == "rgb_array" and drawn.render().shape == (40, 60, 3)
    vector = again(octet.make_vec("Pendulum-v1", 3, autoreset_mode="SameStep", copy=False))
    assert vector.num_envs == 3 and vector.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert np.shares_memory(vector.reset(seed=1)[0], vector.observations)


def test_its_spec_has_the_limit_and_what_counts_as_solved():
    env = gymnasium.make(CARTPOLE)
    assert (env.spec.max_episode_steps, env.spec.reward_threshold) == (500, 475.0)
    assert gymnasium.make_vec(CARTPOLE, num_envs=2).spec.max_episode_steps == 500
    assert gymnasium.make(PENDULUM).spec.reward_threshold is None
    assert octet.make("CartPole-v1").spec is None
    again = gymnasium.make(env.spec)
    assert np.array_equal(again.reset(seed=3)[0], env.reset(seed=3)[0])


@pytest.mark.parametrize("made", [lambda: gymnasium.make_vec(PENDULUM, num_envs=2, max_episode_steps=7),
                                  lambda: gymnasium.make_vec(PENDULUM, num_envs=2, max_episode_steps=7,
                                                             vectorization_mode="sync")])
def test_a_limit_of_ones_own_holds(made):
    env = made()
    env.reset(seed=1)
    cut = [env.step(env.action_space.sample())[3].all() for _ in range(7)]
    assert cut == [False] * 6 + [True]


@pytest.mark.parametrize(("arguments", "steps"), [
    ({}, 200), ({"max_episode_steps": 7}, 7), ({"max_episode_steps": 300}, 300), ({"action_repeat": 3}, 200),
    ({"action_repeat": 3, "max_episode_steps": 70}, 70)])
@pytest.mark.parametrize("how", ["single", "sync", "vector_entry_point"])
def test_a_limit_is_gymnasiums_whichever_it_is(arguments, steps, how):
    if how == "single":
        env = gymnasium.make(PENDULUM, **arguments)
        act = np.zeros(1)
    else:
        env = gymnasium.make_vec(PENDULUM, num_envs=2, vectorization_mode=how, **arguments)
        act = np.zeros((2, 1))
    # Gymnasium's own vectors tell the limit of the registry, whatever they were given.
    spec = env.envs[0].spec if how == "sync" else env.spec
    assert spec.max_episode_steps == steps
    for one in [env, gymnasium.make(spec)] if how == "single" else [env]:
        one.reset(seed=1)
        ends = [one.step(act) for _ in range(steps)]
        assert [bool(np.all(end[3])) for end in ends] == [False] * (steps - 1) + [True]
        assert not any(np.any(end[2]) for end in ends)
        rewards = np.sum([end[1] for end in ends], axis=0)
        assert np.all(ends[-1][4]["episode_length"] == steps)
        assert ends[-1][4]["episode_return"] == pytest.approx(rewards, rel=1e-5)


@pytest.mark.parametrize("how", ["single", "vector_entry_point"])
def test_no_limit_is_none(how):
    env = (gymnasium.make(PENDULUM, max_episode_steps=-1) if how == "single"
           else gymnasium.make_vec(PENDULUM, num_envs=1, max_episode_steps=-1))
    assert env.spec.max_episode_steps is None
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape)
    assert not any(np.any(env.step(action)[3]) for _ in range(401))


def test_sums_are_those_of_the_episode():
    env = gymnasium.make(PENDULUM)
    for _ in range(2):
        env.reset(seed=1)
        steps = [env.step(np.zeros(1)) for _ in range(3)]
        assert [step[4]["episode_length"] for step in steps] == [1, 2, 3]
        assert steps[-1][4]["episode_return"] == pytest.approx(sum(step[1] for step in steps))
    env.unwrapped.set_state([0.5, 0.0], 7)
    _, reward, *_, info = env.step(np.zeros(1))
    assert info == {"episode_return": reward, "episode_length": 8}


def test_a_threshold_of_ones_own_holds():
    spec = copy.deepcopy(gymnasium.make(CARTPOLE).spec)
    spec.reward_threshold = 100.0
    assert gymnasium.make(spec).spec.reward_threshold == 100.0


def test_the_registry_knows_the_limit():
    assert gymnasium.spec("octet/CartPole-v1").max_episode_steps == 500
    assert gymnasium.spec("octet/CliffWalking-v1").max_episode_steps is None
    assert '"max_episode_steps": 500' in gymnasium.spec("octet/CartPole-v1").to_json()


def test_the_wrappers_of_continuous_control_hold_it():
    env = wrappers.RecordEpisodeStatistics(wrappers.FlattenObservation(gymnasium.make(PENDULUM)))
    env = wrappers.NormalizeObservation(wrappers.RescaleAction(wrappers.ClipAction(wrappers.RescaleAction(env, -1, 1)),
                                                               -np.inf, np.inf))
    env = wrappers.TransformObservation(env, lambda obs: np.clip(obs, -10, 10), env.observation_space)
    env = wrappers.TransformReward(wrappers.NormalizeReward(env), lambda reward: np.clip(reward, -10, 10))
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(200):
        obs, reward, _, truncated, info = env.step(env.action_space.sample())
        assert np.isfinite(obs).all() and -10 <= reward <= 10
    assert truncated and info["episode"]["l"] == info["episode_length"] == 200
    assert info["episode"]["r"] == pytest.approx(info["episode_return"])


def test_episodes_become_videos(tmp_path):
    pytest.importorskip("moviepy", reason="SKIPPED: moviepy, which Gymnasium writes videos with, is not installed")
    if not octet.make("CartPole-v1").metadata["render_modes"]:
        pytest.skip("this build draws no pictures: it was configured without cairo")
    env = wrappers.RecordVideo(gymnasium.make(CARTPOLE, render_mode="rgb_array"), str(tmp_path), disable_logger=True)
    env.reset(seed=1)
    while not env.step(0)[2]:
        pass
    env.close()
    assert [file.suffix for file in tmp_path.iterdir() if file.stat().st_size > 1000] == [".mp4"]


def test_no_pictures_are_a_type_error_as_where_the_argument_is_not_known():
    with pytest.raises(TypeError, match="cannot be drawn") as caught:
        gymnasium.make("octet:octet/Taxi-v4", render_mode="rgb_array")
    assert isinstance(caught.value, octet.OctetError)


def test_an_older_gymnasium_will_do():
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", OLDER], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


# ---- Stable-Baselines3

@pytest.fixture(scope="module")
def sb3():
    why = "SKIPPED: Stable-Baselines3 and PyTorch are not installed"
    pytest.importorskip("torch", reason=why).set_num_threads(1)
    return pytest.importorskip("stable_baselines3", reason=why)


def test_ppo_by_name_is_evaluated(sb3):
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    model = sb3.PPO("MlpPolicy", CARTPOLE, n_steps=128, n_epochs=2, seed=1, device="cpu")
    model.learn(256)
    assert isinstance(model.get_env().envs[0].unwrapped, octet.OctetEnv)
    returns, lengths = evaluate_policy(model, Monitor(gymnasium.make(CARTPOLE)), n_eval_episodes=3,
                                       return_episode_rewards=True)
    assert returns == lengths and all(8 <= length <= 500 for length in lengths)


def test_sac_by_name_learns_saves_and_goes_on(sb3, tmp_path):
    model = sb3.SAC("MlpPolicy", PENDULUM, learning_starts=100, seed=1, device="cpu")
    model.learn(250)  # over the end of an episode
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    again = sb3.SAC.load(tmp_path / "model", env=gymnasium.make(PENDULUM), device="cpu")
    again.load_replay_buffer(tmp_path / "buffer")
    again.learn(20, reset_num_timesteps=False)
    assert again.num_timesteps == 270 and again.replay_buffer.pos == 270
    # The 200th step ends an episode by its limit, which is no end for its values.
    assert model.replay_buffer.dones[199] and model.replay_buffer.timeouts[199]


def test_an_environment_without_pictures_is_made_by_name(sb3):
    model = sb3.DQN("MlpPolicy", "octet:octet/Taxi-v4", learning_starts=20, buffer_size=100, device="cpu")
    assert model.learn(40).num_timesteps == 40


@pytest.mark.parametrize("processes", [False, True])
def test_vectors_of_it_are_normalised(sb3, tmp_path, processes):
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

    how = {"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {"start_method": "spawn"}} if processes else {}
    env = VecNormalize(make_vec_env(PENDULUM, n_envs=2, seed=5, **how))
    model = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, device="cpu")
    model.learn(256)
    env.save(tmp_path / "normal")
    again = VecNormalize.load(tmp_path / "normal", make_vec_env(PENDULUM, n_envs=1))
    again.training = again.norm_reward = False
    mean, _ = evaluate_policy(model, again, n_eval_episodes=2)
    assert env.obs_rms.count > 256 and -2000 < mean < 0
    env.close()
