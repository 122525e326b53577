"""Vector environments of others: every episode of environment i is a row of numbers that can be foretold, in any mode."""

import os
import pathlib

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

if "OCTET_TEST_FOLDER" in os.environ:
    FOLDER = pathlib.Path(os.environ["OCTET_TEST_FOLDER"])
    FOLDER.mkdir(exist_ok=True)
else:
    FOLDER = None


class Ladder(gymnasium.Env):
    """Observes the number of the episode and of the step; episode e ends after 3 + e % 5 steps, by turns as terminated and as
    truncated. The reward is 10 e + step. The metric is the length."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(2)
    episode = -1

    def observe(self):
        return np.array([self.episode, self.steps], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        return self.observe(), {}

    def step(self, action):
        assert action in (0, 1)
        self.steps += 1
        has_ended = self.steps == 3 + self.episode % 5
        return (self.observe(), 10.0 * self.episode + self.steps, has_ended and self.episode % 2 == 0,
                has_ended and self.episode % 2 == 1, {"length": self.steps})


class Vector(VectorEnv):
    """Ladders side by side, without anything of Gymnasium's own vectors. raises: the step of the vector that raises."""

    def __init__(self, num_envs=1, mode="NextStep", raises=0):
        self.num_envs, self.mode, self.raises, self.steps = num_envs, mode, raises, 0
        self.ladders = [Ladder() for _ in range(num_envs)]
        self.single_observation_space, self.single_action_space = Ladder.observation_space, Ladder.action_space
        self.observation_space = batch_space(Ladder.observation_space, num_envs)
        self.action_space = batch_space(Ladder.action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode(mode)}
        self.ended = np.zeros(num_envs, bool)
        if FOLDER:
            with open(FOLDER / "vectors", "a", encoding="ascii") as file:
                file.write(f"{num_envs}\n")

    def reset(self, *, seed=None, options=None):
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        assert mask.all() or self.mode == "Disabled"
        obs = np.stack([ladder.reset()[0] if its else ladder.observe() for ladder, its in zip(self.ladders, mask, strict=True)])
        self.ended &= ~mask
        return obs, {}

    def step(self, actions):
        self.steps += 1
        if self.steps == self.raises:
            raise RuntimeError("a broken simulator")
        count = self.num_envs
        obs, reward = np.zeros((count, 2), np.float32), np.zeros(count)
        terminated, truncated, has_final = (np.zeros(count, bool) for _ in range(3))
        final, length = np.full(count, None, object), np.zeros(count)
        for i, ladder in enumerate(self.ladders):
            if self.ended[i]:
                assert self.mode == "NextStep"
                obs[i], self.ended[i] = ladder.reset()[0], False
                continue
            obs[i], reward[i], terminated[i], truncated[i], info = ladder.step(actions[i])
            length[i], self.ended[i] = info["length"], terminated[i] or truncated[i]
            if self.ended[i] and self.mode == "SameStep":
                final[i], has_final[i], self.ended[i] = obs[i].copy(), True, False
                obs[i] = ladder.reset()[0]
        infos = {"length": length, "_length": ~has_final}
        if has_final.any():
            infos |= {"final_obs": final, "_final_obs": has_final,
                      "final_info": {"length": length, "_length": has_final}, "_final_info": has_final}
        return obs, reward, terminated, truncated, infos


class Pool(Vector):
    """As EnvPool's are: next-step, and a reset of environments by their numbers."""

    def reset(self, env_id=None, *, seed=None, options=None):
        if env_id is None:
            return super().reset()
        obs = np.stack([self.ladders[i].reset()[0] for i in env_id])
        self.ended[env_id] = False
        return obs, {}


class Misspelt(Vector):
    def __init__(self, num_envs=1):
        super().__init__(num_envs, "SameStep")
        self.metadata = {"autoreset_mode": "same_step"}


def synced(num_envs=1):
    return SyncVectorEnv([Ladder] * num_envs, autoreset_mode=AutoresetMode.NEXT_STEP)


def fixed():
    return Vector(2)


gymnasium.register("OctetLadder-v0", entry_point=Ladder)
gymnasium.register("OctetVector-v0", entry_point=None, vector_entry_point=Vector)
gymnasium.register("OctetEither-v0", entry_point=Ladder, vector_entry_point=Vector)
gymnasium.register("OctetPool-v0", entry_point=Pool)
gymnasium.register("OctetMisspelt-v0", entry_point=Misspelt)
gymnasium.register("OctetSynced-v0", entry_point=f"{__name__}:synced")
gymnasium.register("OctetFixed-v0", entry_point=fixed, disable_env_checker=True)
