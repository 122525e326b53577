"""Environments for test_octet_gym.py, which import of this module registers: each obeys Gymnasium's rules but one."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

import gymnasium
import numpy as np
from gymnasium import spaces


class Counts(gymnasium.Env):
    """Observes (steps, 2 * steps); ends after 6 steps with reward 1 for each."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(3, start=5)

    def __init__(self, bonus=0.0):
        self.bonus, self.steps = bonus, 0

    def observe(self):
        return np.array([self.steps, 2 * self.steps], np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {}

    def step(self, action):
        assert 5 <= action < 8, action
        self.steps += 1
        self.trouble()
        return self.observe(), 1.0 + self.bonus, self.steps == 6, False, {}

    def trouble(self):
        pass


class Slow(Counts):
    """Each call takes as long as it is told."""

    def __init__(self, makes=0.0, resets=0.0, steps=0.0):
        time.sleep(makes)
        super().__init__()
        self.reset_s, self.step_s = resets, steps

    def reset(self, **keywords):
        time.sleep(self.reset_s)
        return super().reset(**keywords)

    def trouble(self):
        time.sleep(self.step_s)


class NeverEnds(Counts):
    def step(self, action):
        obs, reward, _, _, info = super().step(action)
        return obs, reward, False, False, info


class Warns(Counts):
    """Takes any keyword everywhere, warns of itself, and prints."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn("made the old way")

    def reset(self, **kwargs):
        gymnasium.logger.warn("reset is slow")
        return super().reset(**kwargs)

    def step(self, action, **kwargs):
        warnings.warn(f"step {self.steps + 1} is slow")
        print("a step")
        return super().step(action)


class Measures(Counts):
    """info has numbers of all kinds, and values that are none; "late" is there from the second episode on."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        return super().reset(seed=seed, options=options)

    def step(self, action):
        obs, reward, terminated, truncated, _ = super().step(action)
        info = {"is_success": self.steps == 6, "steps": self.steps, "share": self.steps / 8, "pid": os.getpid(),
                "numpy": np.bool_(True), "scalar": np.array(self.steps), "one": np.array([[2.5]], np.float32),
                "two": np.ones(2), "list": [1], "text": np.str_("7"), "none": None, "huge": 10**400, "rate": np.complex64(1j)}
        if self.episodes > 1:
            info["late"] = self.episodes
        return obs, reward, terminated, truncated, info


class Crash(Counts):
    def trouble(self):
        if self.steps == 3:
            os.kill(os.getpid(), signal.SIGSEGV)


class Leaves(Counts):
    """Crashes, and leaves a process, a program or a fork, that would live until somebody writes to the fifo."""

    def __init__(self, fifo, is_fork):
        super().__init__()
        self.fifo, self.is_fork = fifo, is_fork

    def trouble(self):
        if self.steps == 3:
            if not self.is_fork:
                os.system(f"cat {self.fifo} >/dev/null 2>&1 &")
            elif os.fork() == 0:
                pathlib.Path(self.fifo).read_bytes()
                os._exit(0)
            os.kill(os.getpid(), signal.SIGSEGV)


class Pair(Counts):
    """Of a process only the first ends."""

    made = 0

    def __init__(self):
        super().__init__()
        self.is_first = Pair.made == 0
        Pair.made += 1

    def step(self, action):
        obs, reward, terminated, *rest = super().step(action)
        return obs, reward, terminated and self.is_first, *rest


class PairCrash(Pair):
    def trouble(self):
        if self.steps == 7:
            os.kill(os.getpid(), signal.SIGSEGV)


class PairReset(Pair):
    """Its process dies in a reset of the first, as often as the file says."""

    def __init__(self, path):
        super().__init__()
        self.path = pathlib.Path(path)

    def reset(self, *, seed=None, options=None):
        deaths = int(self.path.read_text())
        if self.is_first and deaths > 0:
            self.path.write_text(str(deaths - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reset(seed=seed, options=options)


class Exit(Counts):
    def trouble(self):
        if self.steps == 3:
            os._exit(7)


class Slips(Counts):
    """Raises in this share of its steps."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def trouble(self):
        if self.np_random.random() < self.share:
            raise ValueError("the gripper slipped")


class Hang(Counts):
    def trouble(self):
        if self.steps == 3:
            threading.Event().wait()


class Spin(Counts):
    """Never answers, and says who it is."""

    def trouble(self):
        if self.steps == 3:
            print(os.getpid(), flush=True)
            while True:
                pass


class Stuck(Counts):
    """As one that hangs, under somebody who presses Ctrl-C until something happens."""

    def trouble(self):
        while self.steps == 3:
            os.kill(os.getpid(), signal.SIGINT)


class Pressed(Counts):
    """All hang in their third step, the first after one early Ctrl-C."""

    is_pressed = False

    def trouble(self):
        if self.steps == 3:
            if not Pressed.is_pressed:
                Pressed.is_pressed = True
                os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()


class Interrupts(Counts):
    """Hangs in its third step, after a SIGINT to the program that steps it, and to nobody else. All do that, or those whose
    seed is even. The first SIGINT that the worker gets is lost if it misses one."""

    def __init__(self, all=True, misses=False):
        super().__init__()
        self.all, self.hangs, self.misses = all, True, misses

    def reset(self, *, seed=None, options=None):
        self.hangs = self.hangs if seed is None else self.all or seed % 2 == 0
        return super().reset(seed=seed, options=options)

    def trouble(self):
        if self.steps == 3 and self.hangs:
            if self.misses:
                own = signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, own))
            os.kill(host(), signal.SIGINT)
            threading.Event().wait()


class PressedReset(Counts):
    """Hangs in its second reset, after one early Ctrl-C, and where it is closed."""

    resets = 0

    def reset(self, *, seed=None, options=None):
        PressedReset.resets += 1
        if PressedReset.resets == 2:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        return super().reset(seed=seed, options=options)

    def close(self):
        if PressedReset.resets == 2:
            threading.Event().wait()


class Grows(Counts):
    """Has more memory from its 100th step on."""

    all_steps, kept = 0, []

    def trouble(self):
        Grows.all_steps += 1
        if Grows.all_steps == 100:
            self.kept.append(np.ones(30_000_000))


class Numbered(Counts):
    """Observes its process, and writes a letter to a file where it is closed."""

    def __init__(self, path=""):
        super().__init__()
        self.path = path

    def observe(self):
        return np.array([os.getpid(), 0])

    def close(self):
        if self.path:
            with open(self.path, "a") as file:
                file.write("c")


class ResetCrash(Counts):
    """The second reset, by a process that says so, is its last."""

    made = 0

    def reset(self, *, seed=None, options=None):
        ResetCrash.made += 1
        if ResetCrash.made == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().reset(seed=seed, options=options)


class Resized(Counts):
    """Observes more numbers in each process after the first, which makes a file, and ends its process in the third step."""

    def __init__(self, path):
        super().__init__()
        self.size = 40 if pathlib.Path(path).exists() else 2
        pathlib.Path(path).touch()
        self.observation_space = spaces.Box(-1, 1, (self.size,), np.float32)

    def observe(self):
        return np.full(self.size, 0.5, np.float32)

    def trouble(self):
        if self.steps == 3:
            os._exit(7)


class Port(Counts):
    """Holds one of two ports until it is closed. `refusals` resets on the first port fail, from the second reset on."""

    taken, resets = set(), 0

    def __init__(self, refusals=1):
        super().__init__()
        self.refusals = refusals
        self.port = min({0, 1} - Port.taken)
        Port.taken.add(self.port)

    def close(self):
        Port.taken.discard(self.port)

    def reset(self, *, seed=None, options=None):
        Port.resets += self.port == 0
        if self.port == 0 and 2 <= Port.resets < 2 + self.refusals:
            raise RuntimeError("the simulator is not ready")
        return super().reset(seed=seed, options=options)


class NotFinitePort(Port):
    def observe(self):
        return np.array([np.nan if self.steps == 3 else self.steps, 2 * self.steps])


class Seeded(Counts):
    """Observes what its seed drew, by a generator that takes no more than 32 bits, and its process."""

    def reset(self, *, seed=None, options=None):
        self.drawn = np.random.RandomState(seed).randint(2**20)
        return super().reset(seed=seed, options=options)

    def observe(self):
        return np.array([self.drawn, os.getpid()])


class SeededOnce(Seeded):
    """Begins one episode, and has to be made anew for the next."""

    begun = False

    def reset(self, *, seed=None, options=None):
        if self.begun:
            raise RuntimeError("it is worn out")
        self.begun = True
        return super().reset(seed=seed, options=options)


class Levels(Counts):
    """Observes what it drew for its level; one draw in three is of none."""

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed)
        self.drawn = self.np_random.random()
        if self.drawn < 1 / 3:
            raise RuntimeError("no level for this draw")
        return self.observe(), info

    def observe(self):
        return np.array([getattr(self, "drawn", 0), self.steps])


class Raises(Counts):
    def trouble(self):
        if self.steps == 3:
            raise RuntimeError("the gripper\nis stuck")


class Unsayable(Exception):
    def __str__(self):
        raise KeyError("words")


class Untellable(Counts):
    """Raises what it is told to, after it has spoilt standard error as it is told to; in the constructor, if `begins` is 0."""

    def __init__(self, error="RuntimeError('stuck')", stderr="sys.stderr", begins=1):
        super().__init__()
        self.error, self.stderr, self.steps = error, stderr, 0 if begins else 3
        self.trouble()

    def trouble(self):
        if self.steps == 3:
            sys.stderr = eval(self.stderr)
            exec(compile(f"raise {self.error}", os.fsdecode(b"map-\xff.py"), "exec"))


class Asserts(Counts):
    """Raises without a word, at one of two lines: in step and, where it is told to, in the constructor."""

    def __init__(self, begins=True, deep=0):
        super().__init__()
        self.deep = deep
        assert begins

    def trouble(self):
        if self.steps == 3:
            self.descend(self.deep)

    def descend(self, more):
        assert more > 0
        self.descend(more - 1)


class NotFinite(Counts):
    def observe(self):
        return np.array([np.nan if self.steps == 3 else 0, 0])


class RewardNotFinite(Counts):
    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, np.nan if self.steps >= 3 else 1.0, *rest


class Shape(Counts):
    def observe(self):
        return np.zeros(3 if self.steps == 3 else 2)


class Mixed(Counts):
    observation_space = spaces.Dict({"where": spaces.Box(-9, 9, (2,), np.float32), "door": spaces.Discrete(3)})

    def observe(self):
        return {"where": np.array([self.steps, 0.5], np.float32), "door": 1}


class Pixels(Counts):
    observation_space = spaces.Box(0, 255, (4, 5, 3), np.uint8)
    action_space = spaces.Box(-1, 1, (2,), np.float64)

    def observe(self):
        return np.full((4, 5, 3), self.steps, np.uint8)

    def step(self, action):
        assert action.dtype == np.float64 and (np.abs(action) <= 1).all()
        return super().step(5)


class Says(Counts):
    """Observes, from its third step on, what it is told to, in a space that it is told: in each episode the next of thirds."""

    episodes = 0

    def __init__(self, space, first, thirds):
        super().__init__()
        self.observation_space, self.first, self.thirds = eval(space), eval(first), [eval(third) for third in thirds]

    def reset(self, **keywords):
        self.episodes += 1
        return super().reset(**keywords)

    def observe(self):
        return self.thirds[(self.episodes - 1) % len(self.thirds)] if self.steps >= 3 else self.first


class Answers(Counts):
    """Returns what it is told from reset, and from step from the third one on: in each episode the next of steps."""

    episodes = 0

    def __init__(self, reset="self.observe(), {}", steps=("self.observe(), 1.0, False, False, {}",)):
        super().__init__()
        self.says = {"reset": reset, "steps": steps}

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        super().reset(seed=seed)
        return eval(self.says["reset"])

    def step(self, action):
        answer = super().step(action)
        return eval(self.says["steps"][(self.episodes - 1) % len(self.says["steps"])]) if self.steps >= 3 else answer


class Options(Counts):
    """Is refused with its arguments in words."""

    def __init__(self, **arguments):
        raise LookupError(f"got {arguments}")


class ChannelsFirst(Counts):
    observation_space = spaces.Box(0, 255, (4, 20, 20), np.uint8)

    def observe(self):
        return np.full((4, 20, 20), self.steps, np.uint8)


class Maps(Counts):
    """Few rows and columns of more channels."""

    observation_space = spaces.Box(0, 255, (5, 5, 7), np.uint8)

    def observe(self):
        return np.full((5, 5, 7), self.steps, np.uint8)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def host():
    """The process that steps this one: the parent of its keeper."""
    return parent_of(os.getppid())


def processes_of(parent):
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                yield stat


class Alone(Counts):
    """Notes who made its process, and how many such processes there are when it begins to step."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def reset(self, *, seed=None, options=None):
        if self.path:
            maker = pathlib.Path(f"/proc/{host()}/cmdline").read_text()
            with open(self.path, "a") as file:
                file.write(f"{os.path.basename(maker.split(chr(0))[0])} {'evaluate' in maker} {len(list(processes_of(host())))}\n")
            self.path = ""
        return super().reset(seed=seed, options=options)


class Spawns(Counts):
    """Starts processes that stay: of its own group, of another session, and one whose parent has ended. Their ids are in `path`
    as soon as all are there. The third step never returns if it `hangs`."""

    def __init__(self, path, hangs=False):
        super().__init__()
        self.hangs = hangs
        sleep = ["sleep", "10000"]
        ids = [subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True, env={"PATH": os.environ["PATH"]}).pid]
        ids.append(subprocess.run(["setsid", "sh", "-c", "sleep 10000 >&- 2>&- & echo $!"], stdout=subprocess.PIPE, check=True).stdout)
        pathlib.Path(path + ".new").write_text(" ".join(str(int(id)) for id in ids))
        os.rename(path + ".new", path)

    def trouble(self):
        if self.hangs and self.steps == 3:
            time.sleep(10_000)


class Lasting(Counts):
    """Does not end. Leaves files in `folder` when it begins to step, is closed, and hangs: as long as there is a file hang."""

    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)

    def tell(self, what):
        (self.folder / f"{what}-{os.getpid()}").touch()

    def step(self, action):
        obs, reward, _, *rest = super().step(action)
        return obs, reward, False, *rest

    def trouble(self):
        if self.steps == 1:
            self.tell("steps")
        if (self.folder / "hang").exists():
            self.tell("hangs")
            threading.Event().wait()

    def close(self):
        self.tell("closed")


class ManyActions(Counts):
    """Observes what was done: space is a MultiDiscrete or MultiBinary, as Python says it."""

    def __init__(self, space="spaces.MultiDiscrete([2, 3], start=[5, -1])"):
        super().__init__()
        self.action_space = eval(space)
        self.observation_space = spaces.Box(-9, 9, (int(np.prod(self.action_space.shape)),), np.float32)

    def observe(self):
        return np.zeros(self.observation_space.shape, np.float32)

    def step(self, action):
        assert self.action_space.contains(action), action
        return np.ravel(action).astype(np.float32), *super().step(5)[1:]


class DictActions(Counts):
    action_space = spaces.Dict(a=spaces.Discrete(2))


class Words(Counts):
    observation_space = spaces.Text(5)


class Whole(Counts):
    """Observes what was done."""

    action_space = spaces.Box(-2, 3, (2,), np.int32)

    def step(self, action):
        assert self.action_space.contains(action)
        return action.astype(np.float64), *super().step(5)[1:]


class WholeBytes(Whole):
    action_space = spaces.Box(0, 255, (2,), np.uint8)


class Deep(Counts):
    observation_space = spaces.Box(-1, 1, (1,) * 7)


class Empty(Counts):
    observation_space = spaces.Box(-1, 1, (0,))


class EmptyActions(Counts):
    action_space = spaces.Box(-1, 1, (2, 0))


class Large(Counts):
    observation_space = spaces.Box(0, 1, (4097, 4096), np.uint8)


class Endless(Counts):
    action_space = spaces.Discrete(2**40)


class Scaled(gymnasium.Env):
    """The sign of a small number is the right action; beside it are large noise and a constant. Ends after 20 steps."""

    observation_space = spaces.Box(-1e5, 1e5, (3,), np.float32)
    action_space = spaces.Discrete(2)

    def observe(self):
        self.number = self.np_random.choice([-1e-4, 1e-4])
        return np.array([self.number, self.np_random.uniform(-1e5, 1e5), 1000], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {}

    def step(self, action):
        self.steps += 1
        reward = float((self.number > 0) == bool(action))
        return self.observe(), reward, False, self.steps == 20, {}


class Unknown(spaces.Space):
    """A space that Gymnasium cannot flatten."""

    def __init__(self):
        super().__init__((2,), np.float32)


class UnknownPart(Counts):
    observation_space = spaces.Dict(a=spaces.Box(0, 1), b=spaces.Tuple([spaces.Discrete(2), Unknown()]))


for kind in (Counts, Slow, NeverEnds, Warns, Measures, Slips, Crash, Pair, PairCrash, PairReset, Leaves, Exit, Hang, Spin, Stuck, Pressed, Interrupts, PressedReset, Grows, Numbered, ResetCrash, Resized, Port, NotFinitePort, Seeded, SeededOnce, Levels, Raises, Untellable, Asserts, NotFinite, RewardNotFinite, Shape, Mixed, Pixels, Says, Answers, Options, ChannelsFirst, Maps, Alone, Lasting, ManyActions, DictActions, Words, Whole, WholeBytes, Deep, Empty, EmptyActions,
             Large, Endless, Spawns, Scaled, UnknownPart):
    gymnasium.register(f"Octet{kind.__name__}-v0", entry_point=kind, disable_env_checker=True)
