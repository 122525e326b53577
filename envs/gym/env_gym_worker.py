"""Steps environments of Gymnasium for a process of Octet: env_gym.c runs this text, with that of env_gym_vector.py after it,
as `python3 -c`.

argv: name of the environment, number of environments, seed, autoreset (0, 1, or 2: 1 with rows that only begin an
episode), options (key=value, with SEPARATOR between them). Descriptor 3 is a socket: a packet of one letter requests a reset
("r": of the environments in the mask) or a step ("s"); the reply is "k", or "e" with a line for the user. Packets "p" before
the reply say that a call of an environment has ended: the host limits the time of one call, not of all environments
together. The first reply also carries the memory that both sides share; HEADER describes its layout. Descriptor 4 is a pipe
whose other end only the host holds: when it closes, the kernel ends this process.
"""

import array
import ast
import contextlib
import copy
import fcntl
import importlib
import inspect
import json
import math
import mmap
import os
import re
import select
import signal
import socket
import struct
import sys
import time
import traceback
import warnings

TEXT_BYTES, REASON_BYTES = 256, 900  # of a line in the memory, and in an answer
HOST = socket.socket(fileno=3)


def end_without(error):
    """A package that this worker needs cannot be imported: the host reports it to the user."""
    line = (f"{sys.executable}: {' '.join(str(error).split())}; {sys.executable} -m pip install gymnasium installs it, "
            "OCTET_PYTHON names another Python")
    HOST.send(b"e" + line.encode(errors="replace")[:REASON_BYTES])
    sys.exit(1)


try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
    from gymnasium.error import NameNotFound, NamespaceNotFound
except ImportError as own_error:
    end_without(own_error)

# Magic; dtype, rank, 6 sides and n of observation and action; step limit; metrics; threshold; offsets of the arrays below.
HEADER = struct.Struct("=I 9I 9I 2I d 17Q")
MAGIC = 0x4D594731
F32, U8, I32 = 1, 3, 4
SEPARATOR = "\x1f"
NUMPY = {F32: np.float32, U8: np.uint8, I32: np.int32}
TERMINATED, TRUNCATED, OBS_IS_RESET, FAILED, BEGINS = 1, 2, 4, 8, 16
STEP_PARTS = ("observation", "reward", "terminated", "truncated", "info")
RANK_MAX, NUMBERS_MAX = 6, 2**24  # of a space
FLOAT_MAX = float(np.finfo(np.float32).max)
ADVICE = (b" If it is your own, register it in a module and use gym:MODULE:NAME: the Python process that steps it has not run "
          b"your script or notebook.")
METRICS_KEY, METRICS_MAX, METRIC_NAME_BYTES = "info_metrics", 64, 64  # the name's with the zero byte
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
STUCK_SECONDS = 2.0  # after which a Ctrl-C of the terminal is for the environment
PROGRESS_SECONDS = 0.25  # between two packets "p"
TRACEBACKS_MAX = int(os.environ.get("OCTET_GYM_TRACEBACKS") or 8)  # the host has checked that it is a number
TRACEBACK_FRAMES, TRACEBACK_CHARACTERS = 30, 8192  # the innermost; the last
# Frames of these files say nothing about the environment: this file, and the code between it and the environment.
GYMNASIUM = os.path.dirname(gymnasium.__file__)
BETWEEN = ("<string>", "<frozen ", os.path.dirname(importlib.__file__), *(
    os.path.join(GYMNASIUM, path) for path in ("core.py", "envs/registration.py", "utils", "wrappers")))


def keep_links():
    """Closes descriptors that child processes of environments inherit: the host must see this process end even if they
    continue."""
    for descriptor in (3, 4):
        os.set_inheritable(descriptor, False)


def end_with_host():
    """Ends this process when the host ends, even in the middle of a call that never returns. If memory is short, the kernel
    kills this process first, not the learner."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(4, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(4, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(4, fcntl.F_SETFL, os.O_ASYNC)
    if select.select([4], [], [], 0)[0]:
        sys.exit("octet: the process that steps this environment has ended")
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")


class Interrupted(Exception):
    """After a Ctrl-C, the call of an environment was left, or not made."""


class Patience:
    """Ctrl-C reaches all processes of a terminal. The host handles it, unless an environment hangs: a call (`with PATIENCE:`)
    that still runs STUCK_SECONDS after the command began is left then, and the command makes no other call."""

    began = None  # the command; None: there is none
    is_asked = False  # a Ctrl-C came since then
    is_over = False  # the command makes no more calls
    is_open = False  # a call runs, which may be left
    told = time.monotonic()  # when the last packet "p" was sent

    def begin(self):
        self.began = self.told = time.monotonic()
        self.is_asked = self.is_over = False

    def end(self):
        self.began = None
        if self.is_asked:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def at_interrupt(self, *_):
        if self.began is not None and not self.is_asked:
            self.is_asked = True
            signal.signal(signal.SIGALRM, self.at_end)
            signal.setitimer(signal.ITIMER_REAL, max(self.began + STUCK_SECONDS - time.monotonic(), 0.001))

    def at_end(self, *_):
        self.is_over = self.began is not None
        if self.is_open:
            self.is_open = False
            self.check()

    def check(self):
        if self.is_over:
            raise Interrupted(f"Ctrl-C, {time.monotonic() - self.began:.0f} s after the call began")

    def __enter__(self):
        self.is_open = True
        if self.is_over:  # only closing an environment is still called, and may hang, too
            signal.setitimer(signal.ITIMER_REAL, STUCK_SECONDS)

    def __exit__(self, *_):
        self.is_open = False
        now = time.monotonic()
        if now - self.told >= PROGRESS_SECONDS:
            self.told = now
            HOST.send(b"p")


PATIENCE = Patience()


def warning_line(message, category, filename, lineno, line=None):
    """A warning as one line without colours; Python's own has two, of which the second is code."""
    return f"{filename}:{lineno}: {category.__name__}: {COLOURS.sub('', ' '.join(str(message).split()))}\n"


def is_between(trace):
    return trace.tb_frame.f_code.co_filename.startswith(BETWEEN)


def origin_of(error):
    """Returns the exception, or the one that caused it, that comes from the environment's own code, and its traceback from
    there; None and None if there is none."""
    while error is not None:
        trace = error.__traceback__
        while trace and is_between(trace):
            trace = trace.tb_next
        if trace:
            return error, trace
        error = error.__cause__
    return None, None


def words_of(error):
    """Returns the exception's text, or why it has none: that is code of the environment, too."""
    try:
        return str(error)
    except Exception as own:
        return f"its text cannot be read: {type(own).__name__}"


def line_of(error, size):
    """Returns a line for the user, in at most this many bytes: the exception, and the innermost line of the environment's own
    code."""
    place, (_, trace) = "", origin_of(error)
    while trace:
        if not is_between(trace):
            place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
        trace = trace.tb_next
    words = f"{type(error).__name__}: {words_of(error)}".replace("\n", " ")
    words, place = (text.encode(errors="backslashreplace") for text in (words, place))
    return words[: max(0, size - len(place))] + place[:size]


def refusal_of(name, error):
    """Returns a line for the user that says why there is no environment."""
    is_known = not isinstance(error, (NameNotFound, NamespaceNotFound)) or name.rpartition(":")[0] not in ("", "__main__")
    advice = b"" if is_known else ADVICE
    return line_of(error, REASON_BYTES - len(advice)) + advice


class Tracebacks:
    """Prints a traceback on standard error if the line about an exception is not enough for the environment's author: one for
    each line of code that raises, and at most TRACEBACKS_MAX."""

    told = set()

    @classmethod
    def tell(cls, error):
        own, trace = origin_of(error)
        place = (type(own), *((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trace)))
        if own is None or place in cls.told or len(cls.told) >= TRACEBACKS_MAX:
            return
        cls.told.add(place)
        with contextlib.suppress(Exception):  # of a full disk, or a standard error that the environment has replaced
            lines = traceback.format_exception(type(own), own, trace, limit=-TRACEBACK_FRAMES)
            sys.stderr.write("octet: an environment raised (shown only once):\n"
                             + "".join(lines)[-TRACEBACK_CHARACTERS:])
            sys.stderr.flush()


def arguments_of(text):
    """Parses options as JSON (key:=value) or as Python literals; anything else is a word."""
    arguments = {}
    for part in filter(None, text.split(SEPARATOR)):
        key, _, value = part.partition("=")
        try:
            if key.endswith(":"):
                arguments[key[:-1]] = json.loads(value)
            else:
                arguments[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError) as error:
            if key.endswith(":"):
                raise ValueError(f"option {key}={value}: not JSON: {error}") from None
            arguments[key] = {"true": True, "false": False}.get(value, value)
    return arguments


def seed_of(seed):
    """Returns a seed below 2^31: numpy.random.seed, and simulators that store it in an int, accept no larger seeds. All bits
    of a larger seed count."""
    return seed if seed < 2**31 else int(np.random.SeedSequence(seed).generate_state(1)[0]) >> 1


def metrics_of(value):
    """Returns the names of metrics that info has at the end of an episode; value: of the option METRICS_KEY."""
    if value is None:
        return ()
    names = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for name in names:
        if not isinstance(name, str) or not 1 <= len(name) < METRIC_NAME_BYTES or name[0] in "([" or not (
                name.isascii() and name.isprintable()):
            break
    else:
        if 1 <= len(names) <= METRICS_MAX and len(set(names)) == len(names):
            return names
    raise ValueError(f"option {METRICS_KEY}={value!r}: not a name, such as 'is_success', or a tuple of 1 to {METRICS_MAX} "
                     f"different names, each 1 to {METRIC_NAME_BYTES - 1} printable characters of ASCII")


def metric_of(value):
    """Returns a value of info as a number; NaN if it is not a number."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        number = np.asarray(value)
        if number.size == 1 and number.dtype.kind in "biuf":
            with np.errstate(over="ignore"):
                return number.astype(np.float32).item()
    return float("nan")


def one_of(env):
    return One(env) if is_vector(env) else env


def is_flattened(space):
    return isinstance(space, (spaces.Dict, spaces.Tuple, spaces.MultiDiscrete, spaces.MultiBinary))


def parts_of(answer, call, names):
    """Checks what a call of an environment returned; the last part is its info."""
    if not isinstance(answer, tuple) or len(answer) != len(names):
        what = f"{len(answer)} values" if isinstance(answer, tuple) else f"a value of type {type(answer).__name__}"
        raise ValueError(f"{call} returned {what}, not ({', '.join(names)})")
    if not isinstance(answer[-1], dict):
        raise TypeError(f"{call} returned an info of type {type(answer[-1]).__name__}, not a dict")
    return answer


def reward_of(value):
    try:
        reward = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"step returned a reward of {value!r}, not a number") from None
    if FLOAT_MAX < abs(reward) < float("inf"):
        raise ValueError(f"step returned a reward of {reward}, which is beyond float32")
    return reward


def array_of(value, dtype=None):
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError):
        raise TypeError(f"an observation of type {type(value).__name__}, which is not an array of numbers") from None


def exact(space, value):
    """Converts an observation to the type of its space, which has whole numbers: numbers that the type cannot hold are
    errors."""
    value = array_of(value)
    if value.dtype == space.dtype:
        return value
    with np.errstate(invalid="ignore"):
        row = value.astype(space.dtype)
    if not np.array_equal(row, value):
        raise ValueError(f"an observation has {value[row != value].flat[0]}, which its space, of {space.dtype}, cannot hold")
    return row


def index_of(space, value):
    """Returns the index of a Discrete space, starting at 0."""
    try:
        index = int(value) - int(space.start)
        is_in = int(value) == value and 0 <= index < space.n
    except (TypeError, ValueError, OverflowError):
        is_in = False
    if not is_in:
        raise ValueError(f"an observation of {value}, which is not in {space}")
    return index


def parts_check(space, value):
    """Converts an observation that is flattened, which accepts any numbers for its spaces."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            parts_check(part, value[key])
    elif isinstance(space, spaces.Tuple):
        for part, its in zip(space.spaces, value, strict=True):
            parts_check(part, its)
    elif isinstance(space, spaces.Discrete):
        index_of(space, value)
    elif space.dtype.kind in "iu":
        row = exact(space, value)
        if not isinstance(space, spaces.Box) and not space.contains(row):  # a Box of whole numbers may be left
            raise ValueError(f"an observation of {row}, which is not in {space}")


def digits_of(index, sides):
    """Splits a number whose last digit changes fastest, like numpy.unravel_index, which accepts at most 64 digits."""
    digits = []
    for side in reversed(sides):
        index, digit = divmod(index, side)
        digits.append(digit)
    return digits[::-1]


def unknown_part(space, name):
    """Returns the first part of an observation that has no fixed number of numbers, with its class; None if there is none."""
    parts = space.spaces.items() if isinstance(space, spaces.Dict) else (
        enumerate(space.spaces) if isinstance(space, spaces.Tuple) else ())
    for key, part in parts:
        if found := unknown_part(part, f"{name}[{key!r}]"):
            return found
    with contextlib.suppress(NotImplementedError):
        if isinstance(space, (spaces.Dict, spaces.Tuple)) or isinstance(spaces.flatten_space(space), spaces.Box):
            return None
    return f"{name} is of the class {type(space).__module__}.{type(space).__qualname__}"


class Shape:
    """A space in Octet's form: n indices, or numbers of a type and shape. Actions with several choices are indices of all
    combinations; sides has the number of values of each choice."""

    def __init__(self, space, what):
        self.space, self.n, self.start, self.flat = space, 0, 0, is_flattened(space)
        self.sides = ()
        if what == "action" and isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
            self.sides = tuple(map(int, np.ravel(space.nvec))) if isinstance(space, spaces.MultiDiscrete) else (
                2,) * int(np.prod(space.shape))
            self.n, self.dtype, self.shape, self.flat = math.prod(self.sides), I32, (), False
            self.start = getattr(space, "start", 0)
            return
        if self.flat and what == "action":
            raise TypeError(f"actions of {space} are not supported; allowed are Discrete, MultiDiscrete, MultiBinary and Box")
        if isinstance(space, spaces.Discrete):
            self.n, self.start, self.dtype, self.shape = int(space.n), int(space.start), I32, ()
            return
        if self.flat and (part := unknown_part(space, what)):
            raise TypeError(f"{part}, which cannot be flattened to a fixed number of numbers; wrap the environment with "
                            "gymnasium.wrappers.TransformObservation")
        box = spaces.flatten_space(space) if self.flat else space
        if not isinstance(box, spaces.Box):
            raise TypeError(f"{what}s of {space} are not supported: no fixed number of numbers")
        if len(box.shape) > RANK_MAX or not 1 <= np.prod(box.shape, dtype=np.int64) <= NUMBERS_MAX:
            raise TypeError(f"{what}s of shape {box.shape} are not supported; allowed are up to {RANK_MAX} "
                            f"sides and 1 to {NUMBERS_MAX} numbers")
        self.dtype = U8 if box.dtype == np.uint8 and what == "observation" else F32
        self.shape = box.shape if box.shape else (1,)
        self.low, self.high = (np.asarray(bound, np.float64).reshape(self.shape) for bound in (box.low, box.high))

    def row(self, value):
        """Returns the value as a row; wrong shapes, and numbers outside the space, are errors."""
        if self.n:
            return index_of(self.space, value)
        if self.flat:
            parts_check(self.space, value)
            value = spaces.flatten(self.space, value)
        row = exact(self.space, value) if self.dtype == U8 and not self.flat else array_of(value, NUMPY[self.dtype])
        if row.shape != self.shape and not (row.shape == () and self.shape == (1,)):
            raise ValueError(f"an observation of shape {row.shape}, but its space says {self.shape}")
        return row

    def words(self):
        sides = [*self.shape, *[0] * (RANK_MAX - len(self.shape))]
        return [self.dtype, len(self.shape), *sides, min(self.n, 2**32 - 1)]  # the host refuses those above 2^31 - 1


class Worker:
    """Steps environments one by one. An exception of an environment's code fails its step and ends its episode; the others
    continue."""

    def __init__(self, first, name, count, seed, autoreset, arguments, metric_names):
        """first: what the name stands for, the first environment or, in VectorWorker, the vector."""
        self.name, self.count, self.autoreset = name, count, autoreset
        self.arguments, self.metric_names = arguments, metric_names
        obs_space, action_space, self.spec = self.open(first)
        self.obs_shape, self.action_shape = Shape(obs_space, "observation"), Shape(action_space, "action")
        self.given = [seed + i for i in range(count)]  # the last seeds that were given
        self.next_seeds = list(self.given)  # of the next reset; None: the generator continues
        self.renewed = [0] * count  # how often it was opened again with a seed that follows from the given one
        self.ended = [None] * count  # the flags of the end; 0 while an episode runs, None before the first
        self.sums, self.counts = [0.0] * count, [0] * count
        self.reserve()

    def open(self, first):
        """Makes the other environments; returns the spaces and the spec."""
        self.envs = [one_of(first), *(self.made() for _ in range(1, self.count))]
        return self.envs[0].observation_space, self.envs[0].action_space, self.envs[0].spec

    def made(self):
        with PATIENCE:
            return one_of(opened(self.name, self.arguments, 1))

    def reserve(self):
        """Makes the shared memory and the arrays in it, in the order of env_gym.c."""
        obs, action, count = self.obs_shape, self.action_shape, self.count
        parts = {"obs_low": (obs.shape, np.float64), "obs_high": (obs.shape, np.float64),
                 "action_low": (action.shape, np.float64), "action_high": (action.shape, np.float64),
                 "action": ((count, *action.shape), NUMPY[action.dtype]),
                 "obs": ((count, *obs.shape), NUMPY[obs.dtype]), "final": ((count, *obs.shape), NUMPY[obs.dtype]),
                 "reward": ((count,), np.float64), "returns": ((count,), np.float64),
                 "seeds": ((count,), np.uint64), "lengths": ((count,), np.int32), "flags": ((count,), np.uint8),
                 "mask": ((count,), np.uint8), "seeded": ((count,), np.uint8), "text": ((TEXT_BYTES,), np.uint8),
                 "metrics": ((count, len(self.metric_names)), np.float32),
                 "names": ((len(self.metric_names),), f"S{METRIC_NAME_BYTES}")}
        offsets, size = [], 512
        for shape, dtype in parts.values():
            offsets.append(size)
            size += (int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize + 63) // 64 * 64
        self.file = os.memfd_create("octet-gym")
        os.ftruncate(self.file, size)
        memory = mmap.mmap(self.file, size)
        for (key, (shape, dtype)), offset in zip(parts.items(), offsets):
            setattr(self, key, np.ndarray(shape, dtype, memory, offset))
        for key, shape in (("obs", obs), ("action", action)):
            if not shape.n:
                getattr(self, key + "_low")[...], getattr(self, key + "_high")[...] = shape.low, shape.high
        self.names[...] = self.metric_names
        limit = getattr(self.spec, "max_episode_steps", None) or 0
        threshold = getattr(self.spec, "reward_threshold", None)
        threshold = float("nan") if threshold is None else threshold
        HEADER.pack_into(memory, 0, MAGIC, *obs.words(), *action.words(), limit, len(self.metric_names), threshold,
                         *offsets)

    def say(self, i, error):
        """Writes the reason of a failure into the memory."""
        Tracebacks.tell(error)
        who = f"environment {i}: ".encode()
        line = who + line_of(error, TEXT_BYTES - 1 - len(who))
        self.text[: len(line)] = np.frombuffer(line, np.uint8)
        self.text[len(line) :] = 0

    def refusal(self):
        """Returns the reply with the last line that was said."""
        return b"e" + bytes(self.text).rstrip(b"\0")

    def close(self, i):
        env, self.envs[i] = self.envs[i], None
        with contextlib.suppress(Exception), PATIENCE:
            if env is not None:
                env.close()

    def begin(self, i):
        """Starts an episode; an environment that cannot start is closed and opened again once. Returns False if there is no
        environment now; the next try opens it with another seed, because the seed may be the cause."""
        for _ in range(2 if self.envs[i] is not None else 1):
            if PATIENCE.is_over:
                break
            try:
                if self.envs[i] is None:
                    self.envs[i] = self.made()
                    self.seed_renewed(i)
                seed = self.next_seeds[i]
                with PATIENCE:
                    answer = self.envs[i].reset(seed=None if seed is None else seed_of(seed))
                self.obs[i] = self.obs_shape.row(parts_of(answer, "reset", ("observation", "info"))[0])
                self.next_seeds[i], self.ended[i], self.sums[i], self.counts[i] = None, 0, 0.0, 0
                return True
            except Exception as error:  # whatever the user's code raises
                self.say(i, error)
                self.close(i)
        self.next_seeds[i], self.ended[i], self.obs[i] = None, TRUNCATED, 0
        return False

    def seed_renewed(self, i):
        """Sets the seed of an environment that was opened again: the same run has the same seeds, and other runs have others."""
        if self.next_seeds[i] is None:
            self.renewed[i] += 1
            sequence = np.random.SeedSequence((self.given[i], self.renewed[i]))
            self.next_seeds[i] = int(sequence.generate_state(1, np.uint64)[0])

    def seed_take(self, i):
        """Takes the seed that the host gives with a reset, if it gives one."""
        if self.seeded[i]:
            self.given[i] = self.next_seeds[i] = int(self.seeds[i])
            self.renewed[i] = 0

    def reset(self):
        """Returns the reply, with the flags of the environments in the mask."""
        answer = b"k"
        for i in np.flatnonzero(self.mask):
            self.seed_take(i)
            self.flags[i] = OBS_IS_RESET if self.begin(i) else 0
            if not self.flags[i]:
                answer = self.refusal()
        return answer

    def metrics_take(self, i, info):
        self.metrics[i] = [metric_of(info.get(name)) for name in self.metric_names]

    def numbers_of(self, rows):
        """Returns actions of a Box, of one environment or of all, within its bounds and in its type and shape."""
        shape = self.action_shape
        bounded = np.clip(rows, shape.low, shape.high)
        if shape.space.dtype.kind != "f":
            bounded = np.rint(bounded)
        return bounded.astype(shape.space.dtype).reshape(*rows.shape[: rows.ndim - len(shape.shape)], *shape.space.shape)

    def action_of(self, i):
        shape = self.action_shape
        if shape.sides:
            digits = np.reshape(digits_of(int(self.action[i]), shape.sides), shape.space.shape)
            return (digits + shape.start).astype(shape.space.dtype)
        if shape.n:
            return int(self.action[i]) + shape.start
        return self.numbers_of(self.action[i])

    def advance(self, i):
        """Makes a step within an episode; returns its flags."""
        try:
            PATIENCE.check()
            with PATIENCE:
                answer = self.envs[i].step(self.action_of(i))
            obs, reward, terminated, truncated, info = parts_of(answer, "step", STEP_PARTS)
            self.obs[i], self.reward[i] = self.obs_shape.row(obs), reward_of(reward)
            flags = TERMINATED * bool(terminated) | TRUNCATED * bool(truncated)
            if flags:
                self.metrics_take(i, info)
            return flags
        except Exception as error:  # whatever the user's code raises
            self.say(i, error)
            self.obs[i], self.reward[i] = 0, 0
            return FAILED | TRUNCATED

    def step_one(self, i):
        """Steps environment i, and begins its next episode with autoreset. Its flags say what happened."""
        if self.ended[i] and not self.autoreset:
            self.flags[i], self.reward[i] = self.ended[i], 0
            return
        if self.ended[i] is None:
            self.begin(i)
        # An environment that has ended here could not begin an episode.
        flags = FAILED | TRUNCATED if self.ended[i] else self.advance(i)
        self.sums[i] += float(self.reward[i])
        self.counts[i] += 1
        if flags:
            self.final[i] = self.obs[i]
            self.returns[i], self.lengths[i] = (0, 0) if flags & FAILED else (self.sums[i], self.counts[i])
            self.ended[i] = flags
            if self.autoreset and self.begin(i):
                flags |= OBS_IS_RESET
            elif self.autoreset:
                flags, self.reward[i], self.returns[i], self.lengths[i] = FAILED | TRUNCATED, 0, 0, 0
            if flags & FAILED:
                self.metrics[i] = np.nan
        self.flags[i] = flags

    def step(self):
        for i in range(self.count):
            self.step_one(i)
        return b"k"

    def close_all(self):
        for i in range(self.count):
            self.close(i)


def serve():
    """Makes the environments, then answers commands until the host closes the socket."""
    warnings.formatwarning = warning_line
    name, count, seed, autoreset, options = sys.argv[1:6]
    keep_links()
    end_with_host()
    signal.signal(signal.SIGINT, PATIENCE.at_interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the host starts this with it blocked
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # of a terminal: the host ends in order, and this with it
    try:
        worker = worker_of(name, int(count), int(seed), int(autoreset), options)
    except Exception as error:  # the host tells the user
        Tracebacks.tell(error)
        HOST.send(b"e" + refusal_of(name, error))
        return
    HOST.sendmsg([b"k"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [worker.file]))])
    while command := HOST.recv(1):
        PATIENCE.begin()
        try:
            answer = worker.reset() if command == b"r" else worker.step()
        except Exception as error:
            answer = b"e" + line_of(error, REASON_BYTES)
        PATIENCE.end()
        HOST.send(answer)
    worker.close_all()
