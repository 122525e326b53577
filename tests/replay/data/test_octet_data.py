#!/usr/bin/env python3
"""octet data with data sets that octet_data.py, a second implementation of the format, has made: what
the one writes the other reads, and a round trip through Minari gives the same bytes of steps.

usage: test_octet_data.py numpy|minari OCTET OCTET_DATA.PY FAULTY_DISK

minari: needs that package; it is looked for in this interpreter, in $OCTET_TEST_PYTHON and in
python3. Exit code 77, with a line that says so: nobody has it."""

import importlib.util
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import tracemalloc

OCTET, PROGRAM, FAULTY_DISK = (os.path.abspath(path) for path in sys.argv[2:5])
NEEDS = {"numpy": "numpy", "minari": "numpy, minari, gymnasium, h5py, PIL"}[sys.argv[1]]


def with_packages():
    """Goes on in an interpreter that has what is needed, if there is one."""
    for python in [sys.executable, os.environ.get("OCTET_TEST_PYTHON"), "python3"]:
        found = python and subprocess.run([python, "-c", f"import {NEEDS}"], capture_output=True,
                                          check=False).returncode == 0
        if found and python == sys.executable:
            return
        if found and os.environ.get("OCTET_TEST_DATA") != "1":
            os.environ["OCTET_TEST_DATA"] = "1"
            os.execvp(python, [python, *sys.argv])
    print(f"SKIPPED: no python has {NEEDS} (from PyPI; $OCTET_TEST_PYTHON names one)")
    sys.exit(77)


with_packages()
import numpy as np  # noqa: E402: it may be another interpreter's

spec = importlib.util.spec_from_file_location("octet_data", PROGRAM)
octet_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(octet_data)

PAGE = pathlib.Path(__file__).parents[3] / "docs/data.md"
LENGTHS = [1, 2, 62, 63, 64, 65, 200, 1, 5]  # with the end row around the rows of a block


def octet(*arguments, python=sys.executable, code=0, disk=None):
    """disk: the largest file that fits on it, in bytes."""
    full = {} if disk is None else {
        "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk)), "restore_signals": False}
    done = subprocess.run([OCTET, "data", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, "OCTET_PYTHON": str(python)}, **full)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def header_of(kind):
    header = np.zeros(1, octet_data.HEADER)[0]
    env = header["env"]
    env["id"], env["reward_threshold"], env["max_episode_steps"] = f"Test/{kind}-v0".encode(), np.nan, 200
    shape = {"numbers": (3,), "pictures": (4, 5, 3), "box": (2, 2)}[kind]
    env["obs_dtype"] = octet_data.U8 if kind == "pictures" else octet_data.F32
    env["obs_count"], env["obs_rank"] = np.prod(shape), len(shape)
    env["obs_shape"][:len(shape)] = shape
    env["action_kind"], env["action_count"] = (octet_data.BOX, 2) if kind == "box" else (octet_data.DISCRETE, 4)
    if kind == "box":
        env["action_low"][:2], env["action_high"][:2] = (-1, -2), (1, 2)
        header["extra_dim"] = 1
    header["run_id"], header["seed"], header["made_by"] = 12345, 6, b"a test"
    return header


def episode_of(header, rng, length, failed):
    env = header["env"]
    rows = length + 1
    flags = np.zeros(rows, np.uint8)
    flags[:-1] |= np.where(rng.random(length) < 0.3, octet_data.RANDOM, 0).astype(np.uint8)
    flags[0] |= octet_data.FIRST
    flags[-1] = octet_data.END | (octet_data.FAILED if failed else 0)
    if not failed:
        flags[-2] |= rng.choice([octet_data.TERMINATED, octet_data.TRUNCATED,
                                 octet_data.TERMINATED | octet_data.TRUNCATED])
    is_box = env["action_kind"] == octet_data.BOX
    shape = (rows, int(env["obs_count"]))
    out = {"obs": rng.integers(0, 256, shape, np.uint8) if env["obs_dtype"] == octet_data.U8
           else rng.standard_normal(shape).astype(np.float32),
           "action": rng.random((rows, 2)).astype(np.float32) if is_box else rng.integers(0, 4, rows, np.int32),
           "reward": rng.standard_normal(rows).astype(np.float32),
           "version": rng.integers(0, 2**32, rows, np.uint32),
           "extra": rng.standard_normal((rows, int(header["extra_dim"]))).astype(np.float32), "flags": flags}
    for name in ("action", "reward", "extra"):
        out[name][-1] = 0
    return out


def make(path, kind):
    header, rng = header_of(kind), np.random.default_rng(29)
    episodes = [episode_of(header, rng, length, i == 4) for i, length in enumerate(LENGTHS)]
    writer = octet_data.Writer(path, header, "# notes\n")
    for episode in episodes:
        writer.add(episode)
    writer.close()
    return episodes


def same(path, want):
    header, notes, streams = octet_data.read(path)
    got = list(octet_data.episodes(streams))
    assert notes == "# notes\n" and (header["run_id"], header["seed"]) == (12345, 6), (notes, header)
    assert len(got) == len(want), (len(got), len(want))
    for mine, theirs in zip(got, want):
        for name, column in mine.items():
            assert column.dtype == theirs[name].dtype and column.shape == theirs[name].shape, name
            assert column.tobytes() == theirs[name].tobytes(), name
    return header


def same_arrays(path, env, episodes):
    """The arrays of an .npz are those of the episodes, row by row."""
    shape = octet_data.obs_shape(env)
    want = {name: np.concatenate([e[column][skip:len(e["flags"]) - 1 + skip] for e in episodes])
            for name, column, skip in (("observations", "obs", 0), ("next_observations", "obs", 1), ("actions", "action", 0),
                                       ("rewards", "reward", 0), ("versions", "version", 0), ("flags", "flags", 0))}
    flags = want.pop("flags")
    want["terminations"], want["truncations"] = (flags & octet_data.TERMINATED) != 0, (flags & octet_data.TRUNCATED) != 0
    want["episodes"] = np.repeat(np.arange(len(episodes)), [len(e["flags"]) - 1 for e in episodes])
    for name in ("observations", "next_observations"):
        want[name] = want[name].reshape(-1, *shape)
    with np.load(path) as arrays:
        assert sorted(arrays) == sorted(want), sorted(arrays)
        for name, column in want.items():
            assert arrays[name].dtype == column.dtype and np.array_equal(arrays[name], column), name


def refused(path, words):
    try:
        list(octet_data.episodes(octet_data.read(path)[2]))
    except octet_data.DataError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


def peak_of(function):
    """The most bytes that it holds at once."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def memory(folder):
    """300 MB of pictures pass through a writer that holds a buffer of them."""
    header = header_of("pictures")
    header["env"]["obs_count"] = 84 * 84 * 4
    header["env"]["obs_shape"][:3] = (84, 84, 4)
    episode = episode_of(header, np.random.default_rng(3), 105, False)  # 3 MB

    def write():
        writer = octet_data.Writer(folder / "pictures.data", header, "# notes\n")
        for _ in range(100):
            writer.add(episode)
        writer.close()
    peak = peak_of(write)
    assert peak < octet_data.Writer.BUFFER_BYTES + (8 << 20), peak
    assert "episodes    100 complete" in octet("info", folder / "pictures.data")

    def read():
        for got in octet_data.episodes(octet_data.read(folder / "pictures.data")[2]):
            assert np.array_equal(got["obs"], episode["obs"])
    peak = peak_of(read)
    assert peak < 4 * episode["obs"].nbytes, peak
    (folder / "pictures.data").unlink()


INSTEAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("octet_data", sys.argv[1])
octet_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(octet_data)
def instead(*_, **__):
    {does}
{what} = instead
sys.argv = sys.argv[1:]
octet_data.main()
"""


def python_with(folder, what, does):
    """A Python whose octet_data does something else at what."""
    (folder / "instead.py").write_text(INSTEAD.format(what=what, does=does))
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {folder}/instead.py \"$@\"\n")
    python.chmod(0o755)
    return python


def interrupted(folder, what, *arguments):
    """Stops a command while the program is at what: by Ctrl-C, which every process gets, and by a signal to octet."""
    held = python_with(folder, what, f"open('{folder}/begun', 'w').write('yes'), open('{folder}/never').read()")
    numbers = (signal.SIGINT, signal.SIGTERM)
    (folder / "tmp").mkdir(exist_ok=True)
    before = sorted(folder.rglob("*"))
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    for number in numbers:
        process = subprocess.Popen(
            [OCTET, "data", *map(str, arguments)], start_new_session=True, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in numbers],  # a shell may have them ignored
            env={**os.environ, "OCTET_PYTHON": str(held), "TMPDIR": str(folder / "tmp")})
        (folder / "begun").read_text()
        assert [path for path in folder.rglob("*.tmp.*") if path not in before], sorted(folder.rglob("*"))
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == -number and said == "", (process.returncode, said)
    for name in ("begun", "never"):
        (folder / name).unlink()
    assert sorted(folder.rglob("*")) == before, sorted(folder.rglob("*"))


def interrupted_everywhere(folder, file):
    """Stops the writing of a data set at each call that changes files: there is all of it, or nothing."""
    out, whole = folder / "cut.data", folder / "whole.data"

    def steps_of(path):  # the page before them has the time at which it was made
        return path.read_bytes()[octet_data.PAGE:]
    octet("export", file, "--out", whole)
    before = sorted(folder.iterdir())
    for n in range(1, 500):
        done = subprocess.run(
            [OCTET, "data", "export", file, "--out", out], capture_output=True, text=True, timeout=120, check=False,
            preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)],
            env={**os.environ, "LD_PRELOAD": FAULTY_DISK, "FAULTY_DISK": f"{n}:interrupt", "ASAN_OPTIONS": "verify_asan_link_order=0"})
        assert not out.exists() or steps_of(out) == steps_of(whole), n
        is_cut = "faulty disk" in done.stderr
        assert done.returncode == (-signal.SIGINT if is_cut else 0), (n, done)
        out.unlink(missing_ok=is_cut)
        assert sorted(folder.iterdir()) == before, (n, sorted(folder.iterdir()))
        if not is_cut:
            assert n > 3, n  # a draft, fsync and rename at least
            return
    raise AssertionError("it never comes to an end")


def learners(folder):
    """octet config --algorithms says of every algorithm whether it learns from a data set, and `octet config --check` agrees."""
    table = subprocess.run([OCTET, "config", "--algorithms", "--markdown"], capture_output=True, text=True, check=True).stdout
    head, _, *rows = ([cell.strip(" `") for cell in line.split("|")] for line in table.splitlines())
    told = {row[1]: row[head.index("data set")] for row in rows}
    words = subprocess.run([OCTET, "config", "algo.name"], capture_output=True, text=True, check=True).stdout
    assert sorted(told) == sorted(re.search(r"^ *word; (.*)$", words, re.M)[1].split(", ")), (told, words)
    for name, word in told.items():
        env = {"table": "FrozenLake-v1", **dict.fromkeys(("d4pg", "ddpg", "td3", "sac"), "Pendulum-v1")}.get(name, "CartPole-v1")
        (folder / "x.yaml").write_text(f"env: {{id: {env}}}\nalgo: {{name: {name}}}\nreplay: {{data: x.data}}\nrun: {{updates: 5}}\n")
        done = subprocess.run([OCTET, "config", "--check", folder / "x.yaml"], capture_output=True, text=True, check=False)
        is_refused = "error: replay.data: algo.name: " in done.stderr
        is_missing = done.stderr.endswith("error: replay.data is 'x.data': No such file or directory\n")
        assert done.returncode == 1 and is_refused == (word == "no") and is_missing == (word == "yes"), (name, word, done)


def train_refused(folder, file, experiment):
    """By octet train itself: its line."""
    (folder / "x.yaml").write_text(experiment)
    done = subprocess.run([OCTET, "train", "x.yaml", "--run-dir", "run", "--set", f"replay.data={file}"], cwd=folder, timeout=120,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and not (folder / "run").exists(), done
    return done.stderr


def without_what_is_wanted(folder):
    """A data set of another environment, and one of somebody else's for a program that learns from sequences of a distribution."""
    file, header = folder / "pole.data", header_of("numbers")
    env = header["env"]
    env["id"], env["action_count"], env["obs_count"], env["obs_rank"], env["obs_shape"][0] = b"CartPole-v1", 2, 4, 1, 4
    writer = octet_data.Writer(file, header, "# notes\n")
    episode = episode_of(header, np.random.default_rng(3), 20, False)
    writer.add({**episode, "action": episode["action"] % 2})
    writer.close()
    text = train_refused(folder, file.name, "env: {id: CartPole-v1}\nalgo: {name: external, window: sequence, sequence_steps: 2, head: logits}\n"
                   "network: {hidden: [8]}\nrun: {updates: 5}\n")
    assert text == f"--set replay.data=pole.data: error: replay.data: {file} has 0 more numbers with each action, but algo.name needs 1\n", text
    text = train_refused(folder, file.name, "env: {id: Acrobot-v1}\nrun: {updates: 5}\n").replace(str(file), file.name)
    (told,) = re.findall(r"^    (--set replay.data=pole.data: .*)$", PAGE.read_text(), re.M)
    assert re.fullmatch(re.escape(told).replace("…", ".*") + "\n", text), (told, text)


def with_numpy(folder):
    learners(folder)
    without_what_is_wanted(folder)
    for kind in ("numbers", "pictures", "box"):
        file, out = folder / f"{kind}.data", folder / "out.data"
        episodes = make(file, kind)
        text = octet("info", file)
        assert f"steps       {sum(LENGTHS)} in 1 contiguous segment\n" in text and f"Test/{kind}-v0" in text, text
        assert f"episodes    {len(LENGTHS)} complete" in text and "1 failed" in text, text
        returns = [float(e["reward"].astype(np.float64).sum()) for e in episodes]
        assert f"returns     mean {np.mean(returns):.3}"[:22] in text, (text, np.mean(returns))
        numbers = json.loads(octet("info", file, "--json"))
        assert numbers["steps"] == sum(LENGTHS) and numbers["episodes"]["complete"] == len(LENGTHS), numbers
        assert abs(numbers["episodes"]["returns"]["mean"] - np.mean(returns)) < 1e-6, (numbers, np.mean(returns))
        assert numbers["environment"]["id"] == f"Test/{kind}-v0" and numbers["run_id"] == f"{12345:016x}", numbers
        if kind != "box":
            assert sum(numbers["actions"]) == sum(LENGTHS), numbers
        octet("export", file, "--out", out, "--episodes", "complete")
        same(out, episodes)
        octet("export", file, "--out", out, "--last", 2)
        same(out, episodes[-2:])
        octet("export", file, "--npz", folder / "out.npz")
        same_arrays(folder / "out.npz", header_of(kind)["env"], episodes)
        blocks = file.read_bytes()[octet_data.PAGE:]
        for bytes_ in (1, 3 << 10, 6 << 10):  # blocks that are written one by one, and in other groups
            octet_data.Writer.BUFFER_BYTES, usual = bytes_, octet_data.Writer.BUFFER_BYTES
            make(out, kind)
            octet_data.Writer.BUFFER_BYTES = usual
            assert out.read_bytes()[octet_data.PAGE:] == blocks, (kind, bytes_)
    memory(folder)
    large = np.random.default_rng(1).bytes(30000)
    header = header_of("numbers")
    writer, rng = octet_data.Writer(folder / "large.data", header, ""), np.random.default_rng(2)
    for _ in range(300):
        writer.add(episode_of(header, rng, 1000 + large[_] % 7, False))
    writer.close()
    assert "episodes    300 complete" in octet("info", folder / "large.data")
    peak = peak_of(lambda: octet_data.export_npz(folder / "large.data", folder / "large.npz"))
    assert peak < (folder / "large.data").stat().st_size / 4, peak
    parts = [episode_of(header, rng, 5, False) for _ in range(3)]
    parts[0]["flags"][0] |= octet_data.ROLLOUT
    parts[2]["flags"][-2] &= ~np.uint8(octet_data.TERMINATED | octet_data.TRUNCATED)
    parts[2]["flags"][-1] |= octet_data.ROLLOUT
    writer = octet_data.Writer(folder / "parts.data", header_of("numbers"), "# notes\n")
    for part in parts:
        writer.add(part)
    writer.close()
    text = octet("info", folder / "parts.data")
    assert "episodes    1 complete" in text and "parts       2 " in text and "missing, 10 steps" in text, text
    same(folder / "parts.data", parts[1:2])
    octet("export", folder / "parts.data", "--out", out, "--last", 1)
    same(out, parts[1:2])
    writer = octet_data.Writer(out, header_of("numbers"), "# notes\n")
    writer.add(parts[2])
    writer.close()
    text = octet("export", out, "--out", folder / "none.data", "--last", 1, code=1)
    assert text == f"octet data export: error: '{out}' has no episode that has ended\n", text
    # What is wrong is said in words, and leaves nothing.
    bytes_ = bytearray((folder / "numbers.data").read_bytes())
    bytes_[-100] ^= 1
    (folder / "bad.data").write_bytes(bytes_)
    assert "bad.data: block 7 of 8: its checksum differs" in octet("info", folder / "bad.data", code=1)
    refused(folder / "bad.data", "block 7 of 8: its checksum differs")
    octet("export", folder / "bad.data", "--out", folder / "none.data", code=1)
    bytes_ = bytearray((folder / "numbers.data").read_bytes())
    bytes_[octet_data.PAGE] ^= 1
    (folder / "bad.data").write_bytes(bytes_)
    refused(folder / "bad.data", "its notes are damaged")
    assert "cannot be written" in octet("export", folder / "numbers.data", "--out", folder / "no/x.data", code=1)
    os.mkfifo(folder / "pipe")
    assert "it is a device, a pipe or the output of this command" in octet("export", folder / "numbers.data", "--out", folder / "pipe", code=1)
    assert (folder / "pipe").is_fifo()
    assert not (folder / "none.data").exists()
    # Nothing is written over what it is made of, whatever name that is given.
    same_ = folder / "same.data"
    same_.hardlink_to(folder / "numbers.data")
    before = same_.read_bytes()
    for option in ("--out", "--npz"):
        assert "same.data' is the file to export" in octet("export", folder / "numbers.data", option, same_, code=1)
    assert (folder / "numbers.data").read_bytes() == same_.read_bytes() == before
    assert "no such file" in octet("info", folder / "none.data", code=1).lower()
    assert "not a data set" in octet("info", PROGRAM, code=1)
    bare = folder / "bare"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
    bare.chmod(0o755)
    text = octet("export", folder / "numbers.data", "--minari", folder / "none", python=bare, code=1)
    assert "no numpy" in text and "-m pip install" in text, text
    # Ctrl-C while the program works: nothing is left of what it reads.
    (folder / "tmp").mkdir()
    os.mkfifo(folder / "begun")
    os.mkfifo(folder / "never")
    bare.write_text(f"#!/bin/sh\necho yes > {folder}/begun\nread line < {folder}/never\n")
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        process = subprocess.Popen(
            [OCTET, "data", "export", folder / "numbers.data", "--npz", folder / "no.npz"], start_new_session=True,
            preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in numbers],  # a shell may have them ignored
            env={**os.environ, "OCTET_PYTHON": str(bare), "TMPDIR": str(folder / "tmp")})
        (folder / "begun").read_text()
        assert len(list((folder / "tmp").iterdir())) == 1
        os.killpg(process.pid, number)
        assert process.wait(120) == -number, process.returncode
        assert not list((folder / "tmp").iterdir())
    # An empty TMPDIR is none.
    bare.write_text(f'#!/bin/sh\necho "$3" > {folder}/named\n')
    subprocess.run([OCTET, "data", "export", folder / "numbers.data", "--npz", folder / "no.npz"], timeout=120, check=True,
                   env={**os.environ, "OCTET_PYTHON": str(bare), "TMPDIR": ""})
    assert (folder / "named").read_text().startswith("/tmp/octet-data-"), (folder / "named").read_text()
    # What was there before stays, of whatever an export was stopped by.
    for name in ("begun", "never"):
        (folder / name).unlink()
    interrupted(folder, "octet_data.write_array", "export", folder / "numbers.data", "--npz", folder / "out.npz")
    before = (folder / "out.npz").read_bytes()
    size = (folder / "large.data").stat().st_size
    text = octet("export", folder / "large.data", "--npz", folder / "out.npz", code=1, disk=size * 5 // 4)
    assert text == f"octet data: error: {folder}/out.npz cannot be written: File too large\n", text
    python = python_with(folder, "octet_data.write_array", "raise MemoryError('Unable to allocate 9 GiB')")
    text = octet("export", folder / "numbers.data", "--npz", folder / "out.npz", python=python, code=1)
    assert text == "octet data: error: not enough memory: Unable to allocate 9 GiB\n", text
    assert (folder / "out.npz").read_bytes() == before and not list(folder.glob("*.tmp.*"))
    interrupted_everywhere(folder, folder / "numbers.data")
    text = octet("export", folder / "numbers.data", "--npz", folder / "pipe", code=1)
    assert "pipe cannot be written: it is a device" in text and (folder / "pipe").is_fifo(), text
    assert "OCTET_PYTHON" in octet("import", "--minari", "x", "--out", folder / "none.data",
                                   python=folder / "gone", code=1)
    assert not (folder / "none.data").exists()


def stranger(folder, name, action_space, actions, rewards, obs=None, **metadata):
    """A data set of somebody else's, of one episode."""
    import gymnasium
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage
    steps = len(rewards)
    where = folder / "strangers" / name / "data"
    where.mkdir(parents=True)
    storage = MinariStorage.new(where, gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32), action_space, None, "hdf5")
    storage.update_metadata({"dataset_id": name, "minari_version": "0.5.0", **metadata})
    ends = np.arange(steps) == steps - 1
    storage.update_episodes([EpisodeBuffer(
        id=0, observations=np.zeros((steps + 1, 4), np.float32) if obs is None else obs, actions=actions,
        rewards=rewards, terminations=ends, truncations=ends & False, infos={})])
    return where.parent


def strangers(folder):
    """What no step can be is refused with its episode and step, in one line; actions may be clipped."""
    from gymnasium.spaces import Box, Discrete
    out, two = folder / "stranger.data", Discrete(2, start=5)
    five, fives, ones = np.arange(5), np.full(5, 5), np.ones(5)
    nan_obs = np.zeros((6, 4), np.float32)
    nan_obs[5, 2] = np.nan
    spaces = "Octet supports Discrete, and Box of floats with finite bounds"
    float32 = "allowed are finite numbers of float32"
    box = Box(-2, 2, (2,), np.float32)
    beyond = np.zeros((5, 2), np.float32)
    beyond[1, 0], beyond[3, 1] = 2.001, -2.1
    for name, space, actions, rewards, obs, words in (
            ("nan", two, fives, np.where(five == 3, np.nan, 1), None, f"episode 0, step 3: reward nan: {float32}"),
            ("large", two, fives, ones * 1e300, None, f"episode 0, step 0: reward 1e+300: {float32}"),
            ("obs", two, fives, ones, nan_obs, f"episode 0, step 5: observation nan: {float32}"),
            ("none", two, np.array([5, 6, 7, 5, 5]), ones, None, "episode 0, step 2: action 7: allowed are 5 to 6"),
            ("below", two, np.array([5, 6, 4, 5, 5]), ones, None, "episode 0, step 2: action 4: allowed are 5 to 6"),
            ("beyond", box, beyond, ones, None, "episode 0, step 3: number 1 of the action is -2.1: allowed are -2 to 2; "
             "--clip-actions clips such actions"),
            ("many", Discrete(257), fives, ones, None, "its actions are Discrete(257); Octet supports at most 256"),
            ("open", Box(-np.inf, np.inf, (2,), np.float32), beyond, ones, None,
             f"its actions are {Box(-np.inf, np.inf, (2,), np.float32)}: {spaces}"),
            ("whole", Box(0, 3, (2,), np.int32), beyond.astype(np.int32), ones, None,
             f"its actions are {Box(0, 3, (2,), np.int32)}: {spaces}")):
        where = stranger(folder, name, space, actions, rewards, obs)
        text = octet("import", "--minari", where, "--out", out, code=1)
        assert text == f"octet data: error: {words}\n" and not list(folder.glob("stranger.data*")), text
    text = octet("import", "--minari", folder / "strangers/beyond", "--out", out, "--clip-actions")
    assert "octet data: note: 1 of 5 actions clipped to the bounds\n" in text, text
    assert json.loads(octet("info", out, "--json"))["actions"] == [[0, 2], [-2, 0]]
    where = stranger(folder, "controls", two, fives, ones, code_permalink="tab\tbell\x07", description="\x1b[31mred \ud800é\0")
    octet("import", "--minari", where, "--out", out)
    notes = octet_data.read(out)[1]
    assert notes == "# dataset_id: controls\n# code_permalink: tab\tbell\n# description: [31mred é\n", notes
    for name, id_, told in (("lines", "a'\nb", '"a\'\\nb"'), ("long", "é" * 129, f"'{'é' * 129}'")):
        where = stranger(folder, name, two, fives, ones, octet_env={"id": id_})
        out.unlink(missing_ok=True)
        text = octet("import", "--minari", where, "--out", out, code=1)
        assert text == (f"octet data: error: its environment is {told}: allowed are up to 256 bytes without control characters; "
                        "name it with --env\n") and not list(folder.glob("stranger.data*")), text
        octet("import", "--minari", where, "--out", out, "--env", "Mine'\"-v1")
        assert json.loads(octet("info", out, "--json"))["environment"]["id"] == "Mine'\"-v1"
    text = octet("import", "--minari", stranger(folder, "tenth", two, fives[:1], ones[:1] / 10), "--out", out)
    assert "note: rounded to float32: reward\n" in text and "stranger.data: 1 episode, 1 step of " in text, text


def with_minari(folder):
    import minari
    os.environ["MINARI_DATASETS_PATH"] = str(folder / "root")
    (folder / "root").mkdir()
    for kind in ("numbers", "pictures", "box"):
        file, out = folder / f"{kind}.data", folder / "out.data"
        episodes = make(file, kind)
        for target in [f"octet/{kind}-v0", folder / "minari"][:2 if kind == "box" else 1]:
            octet("export", file, "--minari", target)
            octet("import", "--minari", target, "--out", out)
            header = same(out, episodes)
            want = header_of(kind)["env"]
            for field in octet_data.ENV.names:
                assert header["env"][field].tobytes() == want[field].tobytes(), (field, header["env"][field])
        text = octet("import", "--minari", target, "--out", out, "--env", "Mine-v1")
        assert "note: cannot check whether the steps come from environment 'Mine-v1': no environment" in text, text
        assert f"out.data: {len(LENGTHS)} episodes, {sum(LENGTHS)} steps of Mine-v1" in text, text
        assert "Mine-v1" in octet("info", out)
        held = out.read_bytes()
        text = octet("import", "--minari", target, "--out", out, "--env", "Acrobot-v1", code=1)
        assert "--env is 'Acrobot-v1', but the steps come from another environment: Acrobot-v1: observations " in text, text
        assert "episodes" not in text and out.read_bytes() == held, text
        assert "exists" in octet("export", file, "--minari", target, code=1)
        theirs = minari.load_dataset(f"octet/{kind}-v0")
        assert (theirs.total_episodes, theirs.total_steps) == (len(LENGTHS), sum(LENGTHS))
        first = theirs[0]
        assert first.observations.reshape(2, -1).tobytes() == episodes[0]["obs"].tobytes()
    text = octet("import", "--minari", folder / "gone", "--out", folder / "none.data", code=1)
    assert "there is no Minari data set" in text and not (folder / "none.data").exists(), text
    strangers(folder)
    # Whatever an exchange is stopped by, nothing is left of it.
    file, new = folder / "numbers.data", folder / "new" / "set"
    text = octet("export", file, "--minari", new, code=1, disk=file.stat().st_size + 4096)
    assert text == f"octet data: error: {new}/data cannot be written: File too large\n", text
    assert not new.parent.exists()
    interrupted(folder, "octet_data.store_apart", "export", file, "--minari", new)
    interrupted(folder, "octet_data.store_apart", "export", file, "--minari", "other/set-v0")
    interrupted(folder, "octet_data.Writer.add", "import", "--minari", "octet/numbers-v0", "--out", out)
    octet("export", file, "--minari", new)


with tempfile.TemporaryDirectory() as folder_:
    {"numpy": with_numpy, "minari": with_minari}[sys.argv[1]](pathlib.Path(folder_))
print("ok")
