#!/usr/bin/env python3
"""octet data with data sets that octet_data.py, a second implementation of the format, has made: what
the one writes the other reads, and a round trip through Minari gives the same bytes of steps.

usage: test_octet_data.py numpy|minari OCTET OCTET_DATA.PY

minari: needs that package; it is looked for in this interpreter, in $OCTET_TEST_PYTHON and in
python3. Exit code 77, with a line that says so: nobody has it."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

OCTET, PROGRAM = sys.argv[2:4]
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

LENGTHS = [1, 2, 62, 63, 64, 65, 200, 1, 5]  # with the end row around the rows of a block


def octet(*arguments, python=sys.executable, code=0):
    done = subprocess.run([OCTET, "data", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, "OCTET_PYTHON": str(python)})
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


def with_numpy(folder):
    for kind in ("numbers", "pictures", "box"):
        file, out = folder / f"{kind}.data", folder / "out.data"
        episodes = make(file, kind)
        text = octet("info", file)
        assert f"steps       {sum(LENGTHS)} in 1 stretches" in text and f"Test/{kind}-v0" in text, text
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
        arrays = np.load(folder / "out.npz")
        assert len(arrays["rewards"]) == sum(LENGTHS)
        assert arrays["next_observations"][0].tobytes() == episodes[0]["obs"][1].tobytes()
        assert arrays["terminations"].sum() + arrays["truncations"].sum() >= len(LENGTHS) - 1
    large = np.random.default_rng(1).bytes(30000)  # over several flushes of the writer
    header = header_of("numbers")
    writer, rng = octet_data.Writer(folder / "large.data", header, ""), np.random.default_rng(2)
    for _ in range(300):
        writer.add(episode_of(header, rng, 1000 + large[_] % 7, False))
    writer.close()
    assert "episodes    300 complete" in octet("info", folder / "large.data")
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
    # What is wrong is said in words, and leaves nothing.
    bytes_ = bytearray((folder / "numbers.data").read_bytes())
    bytes_[-100] ^= 1
    (folder / "bad.data").write_bytes(bytes_)
    assert "bad.data: block 7 of 8: it disagrees with its sum" in octet("info", folder / "bad.data", code=1)
    octet("export", folder / "bad.data", "--out", folder / "none.data", code=1)
    assert "cannot be written" in octet("export", folder / "numbers.data", "--out", folder / "no/x.data", code=1)
    os.mkfifo(folder / "pipe")
    assert "it is a device or a pipe" in octet("export", folder / "numbers.data", "--out", folder / "pipe", code=1)
    assert (folder / "pipe").is_fifo()
    assert not (folder / "none.data").exists()
    # Nothing is written over what it is made of, whatever name that is given.
    same_ = folder / "same.data"
    same_.hardlink_to(folder / "numbers.data")
    before = same_.read_bytes()
    for option in ("--out", "--npz"):
        assert "same.data' is what is exported" in octet("export", folder / "numbers.data", option, same_, code=1)
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
    assert "OCTET_PYTHON" in octet("import", "--minari", "x", "--out", folder / "none.data",
                                   python=folder / "gone", code=1)
    assert not (folder / "none.data").exists()


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
        octet("import", "--minari", target, "--out", out, "--env", "Mine-v1")
        assert "Mine-v1" in octet("info", out)
        assert "exists" in octet("export", file, "--minari", target, code=1)
        theirs = minari.load_dataset(f"octet/{kind}-v0")
        assert (theirs.total_episodes, theirs.total_steps) == (len(LENGTHS), sum(LENGTHS))
        first = theirs[0]
        assert first.observations.reshape(2, -1).tobytes() == episodes[0]["obs"].tobytes()
    text = octet("import", "--minari", folder / "gone", "--out", folder / "none.data", code=1)
    assert "there is no data set" in text and not (folder / "none.data").exists(), text


with tempfile.TemporaryDirectory() as folder_:
    {"numpy": with_numpy, "minari": with_minari}[sys.argv[1]](pathlib.Path(folder_))
print("ok")
