"""octet.Replay: what was appended is what is sampled, once, whoever was killed meanwhile; and what is refused."""

import ast
import collections
import copy
import errno
import gc
import json
import os
import pathlib
import pickle
import re
import signal
import stat
import subprocess
import sys
import threading
import warnings

import numpy as np
import octet
import pytest
from gymnasium import spaces
from octet import _replay

HERE = pathlib.Path(__file__).parent
WRITER = HERE / "octet_replay_writer.py"
FOUR = {"observation": ((4,), "float32"), "action": ((), "int32"), "capacity": 4096, "streams": 8}
# Observations that name the step.
NAMED = {"observation": ((2,), "int64"), "action": ((2,), "float32"), "capacity": 100_000, "streams": 16,
         "sampler": "fifo"}


@pytest.fixture
def replay(tmp_path):
    with octet.Replay(tmp_path / "replay", **FOUR) as replay:
        yield replay


def rows(numbers):
    return np.repeat(np.asarray(numbers, np.float32)[..., None], 4, -1)


def walk(writer, steps, streams=3, first=0, **ends):
    """Steps whose observation is 100 * stream + number."""
    base = 100.0 * np.arange(streams)
    for i in range(first, first + steps):
        writer.append(rows(base + i), np.arange(streams), base + i, np.full(streams, ends.get("terminated") == i),
                      np.full(streams, ends.get("truncated") == i), rows(base + i + 1))


def drained(replay, count):
    """All windows of a FIFO table, each once."""
    found = []
    while len(found) < count:
        batch = replay.sample(min(100, count - len(found)), timeout=20)
        found += [(*map(int, seen), *map(int, behind), float(action[0]), float(reward), float(discount))
                  for seen, action, reward, discount, behind in zip(batch.observations, batch.actions, batch.rewards,
                                                                    batch.discounts, batch.next_observations,
                                                                    strict=True)]
    return found


def test_a_sample_holds_what_was_appended(replay):
    with replay.writer(3) as writer:
        walk(writer, 50, terminated=19, truncated=39)
    batch = replay.sample(500)
    assert batch.observations.shape == batch.next_observations.shape == (500, 4)
    assert batch.observations.dtype == np.float32 and batch.actions.dtype == np.int32
    first = batch.observations[:, 0]
    assert (batch.observations == first[:, None]).all()
    assert (batch.actions == first // 100).all()
    assert (batch.rewards == first).all()
    assert (batch.next_observations == first[:, None] + 1).all()
    assert (batch.discounts == np.where(first % 100 == 19, 0, np.float32(0.99))).all()
    assert (batch.weights == 1).all()
    # Each of the 150 was there to be drawn; 500 draws leave out few.
    assert set(first) <= {100.0 * stream + i for stream in range(3) for i in range(50)} and len(set(first)) > 100
    stats = replay.stats()
    assert stats["replay.size"] == 150 and stats["replay.rejected"] == 0


def test_arrays_of_a_batch_stay_as_they_are(replay):
    with replay.writer(1) as writer:
        walk(writer, 20, streams=1)
    one = replay.sample(8, prefetch=2)
    copies = [np.array(column) for column in one]
    view = one.rewards[2:]
    for _ in range(50):
        replay.sample(8, prefetch=2)
    assert all(np.array_equal(a, b) for a, b in zip(one, copies, strict=True))
    del one
    replay.close()
    assert (view == copies[2][2:]).all()
    view[:] = 1  # the caller's own


def test_a_call_has_its_own_prefetch(tmp_path, monkeypatch):
    real, asked = octet._replay.lib().octet_replay_sample, []
    monkeypatch.setattr(octet._replay.lib(), "octet_replay_sample",
                        lambda handle, count, ahead, *rest: asked.append(ahead) or real(handle, count, ahead, *rest))
    with octet.Replay(tmp_path, **FOUR, prefetch=3) as replay:
        with replay.writer(1) as writer:
            walk(writer, 3, streams=1)
        for arguments in ({}, {"prefetch": 0}, {"prefetch": 2}):
            asked.clear()
            replay.sample(2, **arguments)
            assert set(asked) == {arguments.get("prefetch", 3)}


def test_n_steps_end_with_the_episode(tmp_path):
    with octet.Replay(tmp_path, **{**FOUR, "sampler": "fifo"}, n_step=3, discount=0.5) as replay:
        writer = replay.writer()
        for i in range(5):
            writer.append(rows(i), i, 1, i == 4, False, rows(i + 1))
        writer.flush()
        batch = replay.sample(5)
        assert batch.observations[:, 0].tolist() == [0, 1, 2, 3, 4]
        assert batch.rewards.tolist() == [1.75, 1.75, 1.75, 1.5, 1]
        assert batch.discounts.tolist() == [0.125, 0.125, 0, 0, 0]
        assert batch.next_observations[:, 0].tolist() == [3, 4, 5, 5, 5]


def test_a_fifo_replay_says_once_that_it_drops_what_nobody_had(tmp_path):
    with octet.Replay(tmp_path, **FOUR | {"capacity": 256, "streams": 1, "sampler": "fifo"}) as replay:
        with pytest.raises(octet.OctetError, match=r"batch_size 65; allowed are 1 to 64"):
            replay.sample(65)
        found = []
        waits = threading.Thread(target=lambda: found.append(replay.sample(20, timeout=60)))
        waits.start()
        for _ in range(6):  # four blocks are there, and each needs one
            with replay.writer() as writer:
                for i in range(3):
                    writer.append(rows(i), 0, 0, False, False, rows(i + 1))
        with replay.writer() as writer:
            for i in range(30):
                writer.append(rows(i), 0, 0, False, False, rows(i + 1))
        waits.join()
        assert len(found[0].keys) == 20
        assert replay.stats()["replay.overrun"] > 0
        assert (tmp_path / "replay.log").read_text().count("REPLAY-OVERRUN") == 1


def test_sequences_have_every_row_of_their_stretch(tmp_path):
    with octet.Replay(tmp_path, **FOUR | {"sampler": "fifo"}, sequence_steps=4, sequence_stride=3) as replay:
        with replay.writer() as writer:
            for i in range(8):  # the episode's end row is row 4
                writer.append(rows(i), i, i, i == 3, False, rows(i + 1))
        batch = replay.sample_sequences(2)
        assert batch.observations[:, :, 0].tolist() == [[0, 1, 2, 3, 4], [3, 4, 4, 5, 6]]
        assert batch.actions.tolist() == batch.rewards.tolist() == [[0, 1, 2, 3], [3, 0, 4, 5]]
        assert batch.terminated.tolist() == [[False, False, False, True], [True, False, False, False]]
        assert batch.is_step.tolist() == [[True] * 4, [True, False, True, True]]
        assert batch.first.tolist() == [[True, False, False, False], [False, False, True, False]]
        assert not batch.truncated.any()
        with pytest.raises(octet.OctetError, match="call sample_sequences"):
            replay.sample(1)
    with octet.Replay(tmp_path, sequence_steps=0) as replay, pytest.raises(octet.OctetError, match="call sample"):
        replay.sample_sequences(1)


def test_sequences_tell_a_cut_from_an_end(tmp_path):
    with octet.Replay(tmp_path, **FOUR | {"sampler": "fifo"}, sequence_steps=4) as replay:
        with replay.writer() as writer:
            for i in range(3):
                writer.append(rows(i), i, i, False, i == 1, rows(i + 1))
        batch = replay.sample_sequences(1)
        assert batch.truncated.tolist() == [[False, True, False, False]] and not batch.terminated.any()
        replay.update_priorities(batch, [1])  # which a FIFO table has no use for


def test_a_step_that_does_not_lead_to_the_next_is_kept_as_it_is(tmp_path):
    with octet.Replay(tmp_path, **{**FOUR, "sampler": "fifo"}, n_step=2) as replay:
        writer = replay.writer(2)
        still = np.zeros(2, bool)
        # Stream 1 jumps after each step, and is left out of the third.
        for i in range(4):
            writer.append(rows([i, 10 * i]), [i, i], [1, 1], still, still, rows([i + 1, 10 * i + 5]),
                          mask=[True, i != 2])
        writer.flush()
        batch = replay.sample(7)
        found = sorted(zip(batch.observations[:, 0], batch.next_observations[:, 0], batch.rewards, strict=True))
        power = np.float32(0.99)
        assert found == sorted([(0, 2, 1 + power), (1, 3, 1 + power), (2, 4, 1 + power), (3, 4, 1),
                                (0, 5, 1), (10, 15, 1), (30, 35, 1)])


@pytest.mark.parametrize("observation, action", [
    (((3, 2), "uint8"), ((), "int64")), ((((5,)), "float64"), ((3,), "float32")), (((), "int16"), ((4,), "int8")),
    (((84, 84, 4), "uint8"), ((), "int32"))])
def test_any_numbers_can_be_observations_and_actions(tmp_path, observation, action):
    rng = np.random.default_rng(1)
    seen = rng.integers(0, 100, (21, *observation[0])).astype(observation[1])
    done = rng.integers(0, 100, (20, *action[0])).astype(action[1])
    with octet.Replay(tmp_path, observation=observation, action=action, capacity=1000, streams=1,
                      sampler="fifo") as replay:
        with replay.writer() as writer:
            for i in range(20):
                writer.append(seen[i], done[i], 0.5, False, i == 19, seen[i + 1])
        batch = replay.sample(20)
        assert np.array_equal(batch.observations, seen[:-1]) and batch.observations.dtype == seen.dtype
        assert np.array_equal(batch.next_observations, seen[1:])
        assert np.array_equal(batch.actions, done) and batch.actions.dtype == done.dtype


def test_priorities_decide_what_is_drawn(tmp_path):
    with octet.Replay(tmp_path, **FOUR | {"sampler": "prioritized", "priority_exponent": 1.0}) as replay:
        with replay.writer(1) as writer:
            walk(writer, 30, streams=1)
        for _ in range(20):
            batch = replay.sample(100)
            assert (batch.weights == 1).all()
            replay.update_priorities(batch, (batch.observations[:, 0] < 2) * (1 + 2 * batch.observations[:, 0]))
        batch = replay.sample(1000, importance_exponent=1.0)
        seen = batch.observations[:, 0]
        assert set(seen) == {0, 1} and 650 < (seen == 1).sum() < 850  # 3 of 4
        assert np.allclose(batch.weights, np.where(seen == 0, 1, 1 / 3))
        keys = np.repeat([batch.keys[seen == n][0] for n in (0, 1)], 2)
        replay.update_priorities(batch._replace(keys=keys[::2]), [0, 1])  # which do not lie one behind another
        assert set(replay.sample(100).observations[:, 0]) == {1}
        with pytest.raises(octet.OctetError, match="priority 3 is nan"):
            replay.update_priorities(batch, np.where(np.arange(1000) == 3, np.nan, 1))
        with pytest.raises(octet.OctetError, match="shape"):
            replay.update_priorities(batch, [1, 2])


# ---- once, whoever is killed


def writer_start(folder, number, count, every):
    return subprocess.Popen([sys.executable, WRITER, folder, str(number), str(count), str(every)],
                            stdout=subprocess.PIPE, text=True)


def step_named(writer, i):
    power = np.float32(0.99)
    return (writer, i, writer, i + 1, float(i), float(i), 0.0 if i % 7 == 6 else float(power))


def test_nothing_is_lost_or_doubled_when_replay_and_a_writer_are_killed(tmp_path):
    with octet.Replay(tmp_path, **NAMED) as replay:
        writers = [writer_start(tmp_path, number, 2000, 20) for number in (1, 2)]
        victim = writer_start(tmp_path, 3, 1_000_000, 20)
        for _ in range(10):
            confirmed = int(victim.stdout.readline())
        for _ in range(2):
            killed = replay.pid
            os.kill(killed, signal.SIGKILL)
            while replay.pid == killed:  # until another was started for it
                replay.state()
            for _ in range(5):
                confirmed = int(victim.stdout.readline())
        victim.kill()
        confirmed = max([confirmed, *map(int, victim.communicate()[0].split())])
        for process in writers:
            assert process.communicate()[0].split()[-1] == "2000" and process.returncode == 0
        count = int(replay.stats()["replay.size"])
        found = drained(replay, count)
        assert len(set(found)) == len(found) == count
        by_writer = collections.Counter(one[0] for one in found)
        assert by_writer[1] == by_writer[2] == 2000, (by_writer, confirmed, (tmp_path / "replay.log").read_text())
        for number in (1, 2):
            assert sorted(one for one in found if one[0] == number) == [step_named(number, i) for i in range(2000)]
        left = sorted(one for one in found if one[0] == 3)
        assert len(left) >= confirmed
        assert left == [step_named(3, i) for i in range(len(left))]


def test_one_that_is_killed_while_it_starts_is_started_again(tmp_path):
    with octet.Replay(tmp_path, **NAMED) as replay, replay.writer() as writer:
        for _ in range(2):
            killed = replay.pid
            os.kill(killed, signal.SIGKILL)
            while replay.pid == killed:
                assert "octet-replay ended" not in replay.state()
        writer.append([1, 0], [0, 0], 1, True, False, [1, 1])
        writer.flush()
        assert replay.stats()["replay.size"] == 1


def test_a_folder_is_taken_up_as_its_killed_process_left_it(tmp_path):
    text = f"""
import os, signal, numpy as np, octet
replay = octet.Replay({str(tmp_path)!r}, **{NAMED!r})
writer = replay.writer()
for i in range(300):
    writer.append([7, i], [i, 0], i, i % 7 == 6, i % 11 == 10, [7, i + 1])
writer.flush()
assert len(replay.sample(100).keys) == 100
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == -signal.SIGKILL
    for _ in range(2):
        with octet.Replay(tmp_path) as replay:  # what it is, the folder knows
            assert replay.observation == ((2,), np.dtype("int64"))
    with octet.Replay(tmp_path) as replay:
        found = drained(replay, 200)
        assert found == [step_named(7, i) for i in range(100, 300)]
        with pytest.raises(octet.ReplayTimeoutError):
            replay.sample(1, timeout=0)


def test_what_a_folder_says_is_on_the_disk_before_it_is_relied_on(tmp_path, monkeypatch):
    folder, done = tmp_path / "above" / "replay", []

    def records(what, where, name, of):
        call = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *arguments: (done.append((what, of(*arguments))), call(*arguments))[1])

    def relative(path):
        return os.path.relpath(os.path.realpath(path), os.path.realpath(tmp_path))

    records("sync", os, "fsync", lambda file: relative(f"/proc/self/fd/{file}"))
    records("rename", os, "rename", lambda old, new: relative(old) + " " + relative(new))
    records("start", octet._replay, "_Daemon", lambda *_: "")
    records("write", octet._replay.lib(), "octet_replay_writer_open", lambda *_: "")
    made, here = [("sync", "above"), ("sync", ".")], [("sync", "above/replay")]
    written = [("sync", "above/replay/service.json.new"),
               ("rename", "above/replay/service.json.new above/replay/service.json"), *here]
    numbered = [("sync", "above/replay/writers"), *here, ("write", "")]
    for arguments, wanted in [(FOUR, [*made, *written, ("start", ""), *here]), ({}, [("start", ""), *here]),
                              ({"n_step": 2}, [("start", ""), *written])]:
        with octet.Replay(folder, **arguments) as replay:
            replay.writer().close()
        assert done == wanted + numbered
        done.clear()


def test_a_folder_that_cannot_be_synced_has_a_replay(tmp_path, monkeypatch):
    """Names in it reach the disk when the file system pleases."""
    real_open, real_sync = os.open, os.fsync

    def sync(file):
        if os.path.isdir(f"/proc/self/fd/{file}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        real_sync(file)

    def open_but_not_here(path, *arguments, **more):
        if os.fspath(path) == str(tmp_path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(path, *arguments, **more)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "open", open_but_not_here)
    with octet.Replay(tmp_path / "replay", **FOUR) as replay:
        replay.writer().close()


@pytest.mark.parametrize("name", ["lock", "replay.log", "service.json.new", "writers", "replay.oct"])
def test_a_link_in_a_folder_is_not_written_through(tmp_path, name):
    folder, victim = tmp_path / "replay", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("7")
    (folder / name).symlink_to(victim)
    with pytest.raises(octet.OctetError, match=name.removesuffix(".new")), octet.Replay(folder, **FOUR) as replay:
        replay.writer(streams=1)
    assert victim.read_text() == "7"


@pytest.mark.parametrize("name", ["lock", "service.json"])
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path, name):
    (tmp_path / "replay.oct").touch()
    os.mkfifo(tmp_path / name)
    with pytest.raises(octet.OctetError, match="not a regular file"):
        octet.Replay(tmp_path, **FOUR)


def test_those_who_joined_outlive_the_owner(tmp_path):
    text = """
import sys, octet
with octet.Replay(sys.argv[1], **eval(sys.argv[2])) as replay:
    print("open", flush=True)
    sys.stdin.read()
"""
    def owner():
        process = subprocess.Popen([sys.executable, "-c", text, tmp_path, repr(NAMED)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "open\n"
        return process

    first = owner()
    with octet.Replay.connect(tmp_path) as replay:
        writer, found = replay.writer(), []
        for i in range(900):
            writer.append([4, i], [i, 0], i, i % 7 == 6, i % 11 == 10, [4, i + 1])
            if i == 300:
                writer.flush()
                found += drained(replay, 100)
                first.kill()
                first.communicate()
            if i == 600:
                second = owner()
        writer.flush()
        found += drained(replay, 800)
        assert found == [step_named(4, i) for i in range(900)]
        second.communicate()
        assert second.returncode == 0
        with pytest.raises(octet.ReplayTimeoutError, match="does not answer"):
            replay.sample(1, timeout=0.1)


def test_samplers_of_several_processes_share_a_table(tmp_path):
    text = """
import sys, numpy as np, octet
with octet.Replay.connect(sys.argv[1]) as replay:
    print(*(i for _ in range(20) for i in replay.sample(10).observations[:, 1].tolist()))
"""
    with octet.Replay(tmp_path, **NAMED) as replay:
        with replay.writer() as writer:
            for i in range(600):
                writer.append([1, i], [i, 0], i, False, False, [1, i + 1])
        samplers = [subprocess.Popen([sys.executable, "-c", text, tmp_path], stdout=subprocess.PIPE, text=True)
                    for _ in range(3)]
        found = [int(i) for sampler in samplers for i in sampler.communicate()[0].split()]
        assert sorted(found) == list(range(600))


# ---- refusals


@pytest.mark.filterwarnings("error")
def test_a_step_that_is_wrong_is_refused_and_nothing_is_appended(replay):
    writer, still = replay.writer(2), [False, False]
    good = {"observation": rows([1, 2]), "action": [0, 1], "reward": [0, 0], "terminated": still, "truncated": still,
            "next_observation": rows([3, 4])}
    for change, words in [
            ({"observation": rows([1, np.nan])}, "stream 1: its observation is not finite"),
            ({"next_observation": rows([np.inf, 1])}, "stream 0: its next observation is not finite"),
            ({"observation": np.full((2, 4), 1e300)}, "stream 0: its observation is not finite"),
            ({"reward": [0, np.nan]}, "stream 1: its reward is not finite"),
            ({"observation": rows([1])}, r"observation of shape \(1, 4\), expected \(2, 4\)"),
            ({"next_observation": rows([1])}, r"next_observation of shape"),
            ({"action": [0.5, 1]}, "action of type float64, expected int32"),
            ({"action": [0, 2**40]}, "action: a number of int64 does not fit int32"),
            ({"terminated": [True]}, "terminated of shape"),
            ({"terminated": [0, 2]}, "terminated: allowed are True and False, or 1 and 0"),
            ({"mask": [0.5, 1]}, "mask: allowed are True and False, or 1 and 0"),
            ({"mask": [True]}, "mask of shape")]:
        with pytest.raises(octet.OctetError, match=words):
            writer.append(**{**good, **change})
    writer.append(**good)
    # What is left out is not looked at.
    writer.append(**{**good, "observation": rows([5, np.nan])}, mask=[1, 0])
    writer.close()
    assert replay.stats()["replay.size"] == 3
    with pytest.raises(octet.OctetError, match="the writer is closed"):
        writer.append(**good)


def test_an_action_that_is_not_finite_is_refused(tmp_path):
    with octet.Replay(tmp_path, **NAMED) as replay, replay.writer() as writer:
        with pytest.raises(octet.OctetError, match="its action is not finite"):
            writer.append([1, 0], [0, np.nan], 0, False, False, [1, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_rows_of_streams_that_are_left_out_are_not_looked_at(tmp_path, dtype):
    bad = np.array([[1, 2], [np.nan, 3]]) if dtype.startswith("float") else np.array([[1, 2], [2**40, 3]])
    with octet.Replay(tmp_path, observation=((2,), dtype), action=((), "int32"), capacity=1000, streams=2) as replay:
        arguments = ([0, 2**40], [0, np.nan], [False] * 2, [True] * 2, bad)
        with replay.writer(2) as writer:
            with pytest.raises(octet.OctetError):
                writer.append(bad, *arguments)
            writer.append(bad, *arguments, mask=[True, False])
        batch = replay.sample(1)
        assert batch.observations.tolist() == batch.next_observations.tolist() == [[1, 2]]


@pytest.mark.parametrize("arguments, words", [
    ({}, "give observation="), ({"observation": ((4,), "float32")}, "give observation="),
    (FOUR | {"observation": 4}, "expected a shape and a dtype, such"),
    (FOUR | {"observation": ((4,), "complex64")}, "not complex64"),
    (FOUR | {"observation": ((4,), "longdouble")}, f"of up to 64 bits .* not {np.dtype('longdouble')}"),
    (FOUR | {"observation": ((4,), ">f4")}, "in the machine's byte order, not >f4"),
    (FOUR | {"observation": ((4,), [("x", "f4")])}, "expected numbers .*, not"),
    (FOUR | {"observation": ((4,), None)}, "a shape and a dtype"), (FOUR | {"observation": ((2.5,), "f4")}, "a shape and a dtype"),
    (FOUR | {"observation": ((float("inf"),), "f4")}, "a shape and a dtype"),
    (FOUR | {"observation": ((2**40, 2**40), "f4")}, "observation .*: allowed are 1 to 1048576 bytes"),
    (FOUR | {"sampler": ["uniform"]}, r"sampler \['uniform'\]; allowed are uniform"),
    (FOUR | {"action": ((), "int8")}, r"action \(\) int8: allowed are multiples of 4 bytes"),
    (FOUR | {"sampler": "newest"}, "sampler 'newest'; allowed are uniform, prioritized, fifo"),
    (FOUR | {"capacity": 100}, "replay.capacity: 8 streams"), (FOUR | {"discount": 2}, "discount 2; allowed is 0 to 1"),
    (FOUR | {"discount": "1"}, "discount '1'; allowed is 0 to 1"), (FOUR | {"discount": np.nan}, "discount nan; allowed is 0 to 1"),
    (FOUR | {"n_step": 0}, "n_step 0; allowed is a whole number from 1 to 16384"), (FOUR | {"n_step": 1.5}, "n_step 1.5; allowed is a whole number"),
    (FOUR | {"sequence_steps": 4, "reward_clip": 2}, "reward_clip 2: rewards of sequences are not clipped"),
    (FOUR | {"min_size": 10**9}, "min_size 1000000000 is above capacity"),
    (FOUR | {"capacity": 10**12}, "capacity 1000000000000; allowed is a whole number")])
def test_a_table_that_cannot_be_is_refused_in_words(tmp_path, arguments, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.Replay(tmp_path, **arguments)
    octet.Replay(tmp_path, **FOUR).close()  # the folder is as before
    with pytest.raises(octet.OctetError, match=words):
        octet.Replay(tmp_path / "new", **arguments)
    assert not (tmp_path / "new").exists() or (tmp_path / "new/replay.log").exists()  # octet-replay has refused it


def test_numbers_of_a_table_may_be_numpys(tmp_path):
    one = {"capacity": np.int64(4096), "streams": np.uint8(8), "discount": np.float32(0.5), "n_step": np.array(2)}
    for _ in range(2):
        with octet.Replay(tmp_path, **FOUR | one, sync="always", sync_interval=np.float32(0.5)) as replay:
            command = pathlib.Path(f"/proc/{replay.pid}/cmdline").read_text().split("\0")
            assert command[5:9] == ["--sync", "always", "--sync-interval", "0.5"]
            said = json.loads((tmp_path / "service.json").read_text())
            assert all(said[name] == value for name, value in one.items())


def test_each_number_of_a_table_reaches_octet_replay(tmp_path):
    given = {"capacity": 5000, "streams": 7, "priority_exponent": 0.25, "n_step": 3, "discount": 0.5, "sequence_stride": 2,
             "reward_clip": 4.0, "min_size": 11, "samples_per_insert": 1.5, "tolerance": 0.75}
    service = octet._replay._settle(tmp_path, given, ((4,), "float32"), ((2,), "int32"))
    table, other = service.table(), {"n_step": "steps", "sequence_stride": "stride"}
    assert {name: getattr(table, other.get(name, name)) for name in given} == given and table.seed == service.seed
    assert (table.observation_is_float, table.observation_bytes, table.action_is_float, table.action_bytes) == (1, 16, 0, 8)


def test_a_space_of_gymnasium_says_what_one_is():
    for space, words in [(spaces.Box(0, 255, (3, 2), np.uint8), "(3, 2) uint8"), (spaces.Discrete(4), "() int64"),
                         (spaces.MultiDiscrete([2, 3]), "(2,) int64")]:
        assert str(octet._replay._Field("observation", space)) == words
    with pytest.raises(octet.OctetError, match="observation: expected a shape and a dtype, such"):
        octet._replay._Field("observation", spaces.Dict(a=spaces.Discrete(4)))


def test_defaults_are_those_that_it_says():
    said = {name: ast.literal_eval(value) for name, value in re.findall(r'(\w+)=("\w+"|[\d_]+(?:\.\d+)?)', octet.Replay.__doc__)}
    assert {**said, "sequence_stride": 0} == octet._replay._DEFAULTS


def test_a_folder_may_be_moved(tmp_path):
    with octet.Replay(tmp_path / "one", **FOUR) as replay, replay.writer(1) as writer:
        walk(writer, 3, streams=1)
    (tmp_path / "one").rename(tmp_path / "another")
    with octet.Replay(tmp_path / "another") as replay, octet.Replay.connect(tmp_path / "another") as joined:
        assert joined.stats()["replay.size"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["another"]


def test_a_folder_keeps_what_it_is(tmp_path):
    octet.Replay(tmp_path, **FOUR).close()
    for change, words in [({"observation": ((5,), "float32")}, "has observations of"),
                          ({"action": ((2,), "float32")}, "has actions of"),
                          ({"capacity": 8192}, "already has a table with another capacity"),
                          ({"sampler": "fifo"}, "already has a table with another sampler")]:
        with pytest.raises(octet.OctetError, match=words):
            octet.Replay(tmp_path, **change)
    with octet.Replay(tmp_path, n_step=2, discount=0.5) as replay, replay.writer() as writer:
        for i in range(3):
            writer.append(rows(i), 0, 1, False, i == 2, rows(i + 1))
        writer.flush()
        assert set(replay.sample(50).rewards) == {1.0, 1.5}
    (tmp_path / "service.json").write_text("{")
    with pytest.raises(octet.OctetError, match="service.json"):
        octet.Replay(tmp_path)


def test_one_service_a_folder(tmp_path, replay):
    with pytest.raises(octet.OctetError, match="in use by this process"):
        octet.Replay(replay.folder)
    text = "import sys, octet; octet.Replay(sys.argv[1])"
    said = subprocess.run([sys.executable, "-c", text, replay.folder], stderr=subprocess.PIPE, text=True, check=False)
    assert f"is in use by process {os.getpid()}: octet.Replay.connect joins it" in said.stderr
    with pytest.raises(octet.OctetError, match="has no replay"):
        octet.Replay.connect(tmp_path / "other")
    replay.close()
    replay.close()
    with pytest.raises(octet.OctetError, match="the replay is closed"):
        replay.sample(1)
    for timeout in (0.2, 0, -1):
        with pytest.raises(octet.OctetError, match="no replay answers"):
            octet.Replay.connect(replay.folder, timeout=timeout)


def test_a_lock_is_of_the_folder_by_any_name_and_tells_its_process(tmp_path):
    (tmp_path / "lock").write_text("9" * 20)
    (tmp_path / "link").symlink_to(tmp_path)
    owner = octet._replay._Owner(tmp_path)
    try:
        assert (tmp_path / "lock").read_text() == str(os.getpid())
        with pytest.raises(octet.OctetError, match="link is in use by this process"):
            octet._replay._Owner(tmp_path / "link")
    finally:
        owner.end()
    octet._replay._Owner(tmp_path / "link").end()


@pytest.mark.parametrize(("arguments", "words"), [
    ({"prefetch": 100}, "prefetch: 100 is not in 0 .. 64"), ({"prefetch": "x"}, "prefetch: 'x' is not a whole number"),
    ({"sync_interval": "1"}, "sync_interval: '1'; expected seconds"), ({"sync": ["none"]}, "sync .'none'.; allowed are none,"), ({"sync": "often"}, "sync 'often'; allowed are none, interval, always"), ({"folder": None}, "folder: None is not a path")])
def test_what_a_replay_cannot_be_made_with_is_refused_before_it_is_made(tmp_path, arguments, words):
    with pytest.raises(octet.OctetError, match=words):
        octet.Replay(**FOUR | {"folder": tmp_path / "new"} | arguments)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("call", "words"), [
    (lambda replay, batch: replay.sample(4, importance_exponent="a"), "importance_exponent: 'a' is not a number"),
    (lambda replay, batch: replay.sample(4, importance_exponent=None), "importance_exponent: None is not a number"),
    (lambda replay, batch: replay.sample(4, timeout="x"), "timeout: 'x' is not a number"),
    (lambda replay, batch: replay.update_priorities(None, [1]), "batch: None does not come from sample"),
    (lambda replay, batch: replay.update_priorities(batch, ["1"] * 4), "priorities of type <U1; expected real numbers"),
    (lambda replay, batch: replay.update_priorities(batch, None), "priorities"),
    (lambda replay, batch: octet.Replay.connect(replay.folder, timeout="x"), "timeout: 'x' is not a number"),
    (lambda replay, batch: octet.Replay.connect(replay.folder, prefetch=65), "prefetch: 65 is not in")])
def test_arguments_of_calls_are_refused_in_words(tmp_path, call, words):
    with octet.Replay(tmp_path, **FOUR) as replay:
        writer = replay.writer(1)
        walk(writer, 20, streams=1)
        writer.flush()
        with pytest.raises(octet.OctetError, match=words):
            call(replay, replay.sample(4))


def test_a_wait_in_vain_says_what_replay_waits_for(tmp_path):
    with octet.Replay(tmp_path, **FOUR | {"min_size": 50, "samples_per_insert": 1.0}) as replay:
        writer = replay.writer(1)
        walk(writer, 20, streams=1)
        writer.flush()
        with pytest.raises(TimeoutError, match="no batch of 10 in 0.1 s: .*50"):
            replay.sample(10, timeout=0.1)
        walk(writer, 30, streams=1, first=20)
        writer.flush()
        assert len(replay.sample(10).keys) == 10
        with pytest.raises(octet.OctetError, match="batch_size: 0 is not in 1 "):
            replay.sample(0)
        with pytest.raises(octet.OctetError, match="batch_size 1000000"):
            replay.sample(1_000_000)
        with pytest.raises(octet.OctetError, match="batch_size: 2.5 is not a whole number"):
            replay.sample(2.5)
        with pytest.raises(octet.OctetError, match="prefetch: 1.5 is not a whole number"):
            replay.sample(10, prefetch=1.5)
        with pytest.raises(octet.OctetError, match="streams: 1.5 is not a whole number"):
            replay.writer(1.5)
        with pytest.raises(octet.OctetError, match="streams: 9 is not in 1 .. 8"):
            replay.writer(9)
        assert len(replay.sample(10, timeout=float("inf")).keys) == 10
        writer.flush(timeout=float("inf"))
        with octet.Replay.connect(tmp_path, timeout=float("inf")) as other:
            assert other.stats()["replay.size"] == 50
        # The band of inserts: replay takes no more until something is drawn.
        with pytest.raises(TimeoutError, match="in 0.1 s: "):
            for i in range(100):
                walk(writer, 40, streams=1, first=50 + 40 * i)
                writer.flush(timeout=0.1)


@pytest.mark.parametrize(("sampler", "words"), [
    ("uniform", "3 of the first 10 windows (min_size)"), ("prioritized", "3 of the first 10 windows (min_size)"), ("fifo", "3 windows held")])
def test_a_sample_in_vain_says_what_is_missing(tmp_path, sampler, words):
    """Whether or not the request is still with octet-replay."""
    with octet.Replay(tmp_path, **{**FOUR, "sampler": sampler}, **({} if sampler == "fifo" else {"min_size": 10})) as replay:
        for _ in range(5):
            with pytest.raises(octet.ReplayTimeoutError, match=r"no batch of 4 in 0 s: samples wait for inserts: 0 "):
                replay.sample(4, timeout=0)
        assert replay.state().startswith("samples wait for inserts: 0 ")
        with replay.writer(streams=1) as writer:
            walk(writer, 3, streams=1)
            writer.flush()
            with pytest.raises(octet.ReplayTimeoutError, match=re.escape(words)):
                replay.sample(4, timeout=0)


def test_a_wait_in_vain_does_not_wait_for_a_replay_that_is_gone(replay, monkeypatch):
    stats, waits = replay._stats, []
    monkeypatch.setattr(replay, "_stats", lambda timeout: (waits.append(timeout), stats(timeout))[1])
    with replay.writer() as writer:
        with pytest.raises(octet.ReplayTimeoutError):
            replay.sample(1, timeout=0)
        monkeypatch.setattr(octet._replay.lib(), "octet_replay_flush", lambda *_: octet._replay_lib.TIMED_OUT)
        with pytest.raises(octet.ReplayTimeoutError):
            writer.flush(timeout=0)
        monkeypatch.undo()
    assert len(waits) == 2 and max(waits) <= 0.5


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_a_replay_nor_a_writer_is_copied(replay, again):
    with pytest.raises(TypeError, match="Replay cannot be copied or pickled"):
        again(replay)
    with replay.writer() as writer, pytest.raises(TypeError, match="Writer cannot be copied or pickled"):
        again(writer)


@pytest.mark.parametrize("is_gone", [False, True])
def test_signals_reach_a_caller_that_waits(replay, is_gone):
    if is_gone:
        replay.close()

    def alarm(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            if is_gone:
                octet.Replay.connect(replay.folder, timeout=None)
            else:
                replay.sample(1, timeout=None)
    finally:
        signal.signal(signal.SIGALRM, before)


class Turns:
    """A lock that says when it is waited for."""

    def __init__(self):
        self.lock = threading.Lock()
        self.waited_for = threading.Event()

    def __enter__(self):
        if not self.lock.acquire(blocking=False):
            self.waited_for.set()
            self.lock.acquire()

    def __exit__(self, *exception):
        self.lock.release()


@pytest.mark.parametrize("name", ["octet_replay_stats", "octet_replay_update", "octet_replay_sample",
                                  "octet_replay_append"])
def test_a_call_that_fails_while_another_thread_closes_is_said(replay, monkeypatch, name):
    lib = octet._replay.lib()
    writer = replay.writer(1)
    walk(writer, 20, streams=1)
    writer.flush()
    batch = replay.sample(8)
    calls = {"octet_replay_stats": replay.stats, "octet_replay_sample": lambda: replay.sample(8),
             "octet_replay_update": lambda: replay.update_priorities(batch, np.ones(8)),
             "octet_replay_append": lambda: walk(writer, 1, streams=1)}
    whose = writer if name == "octet_replay_append" else replay
    turns = Turns()
    whose._turn = lambda: turns
    closer = threading.Thread(target=replay.close)
    asked = []

    def fails(handle, *_):
        closer.start()
        turns.waited_for.wait()
        asked.append(handle)
        return 1

    def error(handle):
        asked.append(handle)
        return b"it fails"

    monkeypatch.setattr(lib, name, fails)
    monkeypatch.setattr(lib, "octet_replay_writer_error" if whose is writer else "octet_replay_error", error)
    with pytest.raises(octet.OctetError, match="it fails"):
        calls[name]()
    closer.join()
    assert asked[0] is asked[1] is not None


def test_a_wait_ends_when_another_thread_closes(replay, monkeypatch):
    lib = octet._replay.lib()
    waits, sample = threading.Event(), lib.octet_replay_sample
    said = []

    def sample_of(*arguments):
        waits.set()
        return sample(*arguments)

    def wait():
        try:
            replay.sample(1, timeout=None)
        except octet.OctetError as error:
            said.append(str(error))

    monkeypatch.setattr(lib, "octet_replay_sample", sample_of)
    waiter = threading.Thread(target=wait)
    waiter.start()
    waits.wait()
    replay.close()
    waiter.join()
    assert said == ["the replay is closed"]


def test_a_replay_that_does_not_end_is_killed(replay, monkeypatch):
    monkeypatch.setattr(octet._replay, "_END_SECONDS", 0)
    process = replay._daemon.process
    os.kill(replay.pid, signal.SIGSTOP)
    replay.close()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["terminate", "wait"])
def test_a_ctrl_c_while_it_closes_locks_no_folder(tmp_path, monkeypatch, name):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    replay = octet.Replay(tmp_path, **FOUR)
    with monkeypatch.context() as patch:
        patch.setattr(replay._daemon.process, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            replay.close()
    if name == "wait":  # octet-replay was told, and nobody has to close once more
        replay._daemon._thread.join()
    else:
        replay.close()
    octet.Replay(tmp_path).close()
    replay.close()  # that of then is nothing to it


def test_what_nobody_closes_is_closed_and_says_so(tmp_path, monkeypatch):
    replay = octet.Replay(tmp_path, **FOUR)
    process = replay._daemon.process
    writer = replay.writer(1)
    walk(writer, 3, streams=1)
    with monkeypatch.context() as patch, pytest.raises(octet.ReplayTimeoutError):
        patch.setattr(octet._replay.lib(), "octet_replay_flush", lambda *_: octet._replay_lib.TIMED_OUT)
        writer.flush(timeout=0)  # what it has is still not there
    with pytest.warns(ResourceWarning, match=f"unclosed <octet.Writer of {tmp_path}>"):
        del writer
        gc.collect()
    with pytest.warns(ResourceWarning, match=f"unclosed <octet.Replay {tmp_path}>"):
        del replay
        gc.collect()
    assert process.returncode == 0
    with warnings.catch_warnings(record=True) as said, octet.Replay(tmp_path) as replay:
        writer = replay.writer(1)
        walk(writer, 3, streams=1)
        writer.flush()
        del writer  # nothing is lost
        gc.collect()
    assert said == []


@pytest.mark.parametrize(("file", "content", "words"), [
    ("service.json", b"\xff", "service.json: "), ("service.json", b'{"format": 1}', "service.json: it has no 'observation'"),
    ("service.json", b"[1]", "service.json: not from this version"), ("service.json", ("format", 2), "service.json: not from this version"),
    ("service.json", ("run_id", None), "service.json: "), ("service.json", ("run_id", "zz"), "service.json: "),
    ("service.json", ("url", 3), "service.json: "), ("service.json", ("key", "00"), "service.json: key: expected 64 digits"),
    ("service.json", ("seed", "x"), "service.json: seed: 'x' is not a whole number"), ("writers", b"x", "writers: invalid literal")])
def test_a_folder_whose_files_somebody_has_changed_is_refused_in_words(tmp_path, file, content, words):
    octet.Replay(tmp_path, **FOUR).close()
    path = tmp_path / file
    if isinstance(content, tuple):
        content = json.dumps({**json.loads(path.read_text()), content[0]: content[1]}).encode()
    path.write_bytes(content)
    with pytest.raises(octet.OctetError, match=words), octet.Replay(tmp_path) as replay:
        replay.writer(1)


@pytest.mark.parametrize(("change", "call", "words"), [
    ({"observation": [[8], "float32"]}, octet.Replay.sample, "the observations or actions of replay differ from those that its folder names"),
    ({"action": [[2], "int32"]}, octet.Replay.sample, "the observations or actions of replay differ from those that its folder names"),
    ({"sequence_steps": 4}, octet.Replay.sample_sequences, "windows of replay differ from those that its folder named")])
def test_samples_of_another_kind_than_the_folder_tells_are_refused(replay, change, call, words):
    with replay.writer(1) as writer:
        walk(writer, 9, streams=1)
    path = replay.folder / "service.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with octet.Replay.connect(replay.folder) as joined, pytest.raises(octet.OctetError, match=words):
        call(joined, 4)


def test_a_writer_that_cannot_flush_is_closed_all_the_same(replay, monkeypatch):
    writer = replay.writer(1)
    with monkeypatch.context() as patch:
        patch.setattr(octet.Writer, "flush", lambda self: replay.sample(0))
        with pytest.raises(octet.OctetError, match="batch_size"):
            writer.close()
    with pytest.raises(octet.OctetError, match="the writer is closed"):
        writer.flush()


def test_a_replay_that_cannot_be_started_again_is_said(tmp_path):
    with octet.Replay(tmp_path, **FOUR) as replay:
        (tmp_path / "replay.oct").write_bytes(b"no table")
        os.kill(replay.pid, signal.SIGKILL)
        with pytest.raises(octet.OctetError, match="replay.oct"):
            while True:
                replay.sample(1, timeout=None)


def test_a_replay_that_cannot_be_started_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(octet._replay._replay_lib, "program", lambda: str(tmp_path / "none"))
    with pytest.raises(octet.OctetError, match="octet-replay cannot be started: .*No such file"):
        octet.Replay(tmp_path, **FOUR)


def test_one_that_is_killed_now_and_then_is_started_again_each_time(tmp_path, monkeypatch):
    """It is given up where it ends again and again within a second: by this clock each lives for longer."""
    real, late = octet._replay.time.monotonic, [0]
    monkeypatch.setattr(octet._replay.time, "monotonic", lambda: real() + late[0])
    with octet.Replay(tmp_path, **FOUR) as replay:
        for _ in range(octet._replay._RESTARTS + 2):
            killed = replay.pid
            replay._daemon.wait()  # What is killed before its start is known to have succeeded counts as short-lived.
            late[0] += 2
            os.kill(killed, signal.SIGKILL)
            while replay.pid == killed:
                replay.state()
                replay._live()
        assert replay.stats()["replay.size"] == 0


def test_why_it_ended_is_not_what_an_earlier_one_said(tmp_path, monkeypatch):
    octet.Replay(tmp_path, **FOUR).close()
    with open(tmp_path / "replay.log", "a", encoding="utf-8") as log:
        log.write("2026-01-01T00:00:00Z E replay: an error of weeks ago\n")
    program = tmp_path / "killed"
    program.write_text("#!/bin/sh\nkill -KILL $$\n")
    program.chmod(0o700)
    monkeypatch.setattr(octet._replay._replay_lib, "program", lambda: str(program))
    with pytest.raises(octet.OctetError, match="keeps ending: .*: octet-replay exited with -9$"):
        octet.Replay(tmp_path)


# ---- processes


def test_a_fork_is_told_that_it_has_no_threads(replay):
    text = f"""
import os, octet
replay = octet.Replay.connect({str(replay.folder)!r})
writer = replay.writer()
if os.fork() == 0:
    for call in [lambda: replay.sample(1), lambda: octet.Replay.connect({str(replay.folder)!r}), writer.flush]:
        try:
            call()
        except octet.OctetError as error:
            print("is a fork of" in str(error), flush=True)
    os._exit(0)
os.wait()
print(int(replay.stats()["replay.size"]))
"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["True", "True", "True", "0"], said.stderr


def test_stats_wait_until_a_replay_that_starts_again_has_its_table(replay, monkeypatch):
    """octet-replay answers before it is configured, with a capacity of 0."""
    call, answers = _replay.lib().octet_replay_stats, []

    def early(handle, stats, *rest):
        answers.append(call(handle, stats, *rest))
        for one in stats:
            if one.name == b"replay.capacity" and len(answers) < 3:
                one.value = 0
        return answers[-1]

    monkeypatch.setattr(_replay.lib(), "octet_replay_stats", early)
    assert replay.stats()["replay.capacity"] == 4096 and len(answers) == 3


@pytest.mark.parametrize("end", ["replay.stats()", "writer.flush()", "sys.exit(0)"])
def test_a_fork_does_not_wait_for_threads_that_it_has_not(replay, end):
    """Another thread has its turn at the replay and at its writer while the process forks."""
    text = f"""
import os, signal, sys, threading, octet
from octet import _replay
replay = octet.Replay.connect({str(replay.folder)!r})
writer = replay.writer()
forked = threading.Event()
def holds(one, name):
    within, call = threading.Event(), getattr(_replay.lib(), name)
    def waits(*arguments):
        within.set()
        forked.wait()
        return call(*arguments)
    setattr(_replay.lib(), name, waits)
    thread = threading.Thread(target=one, daemon=True) # a failure ends the process
    thread.start()
    within.wait()
    setattr(_replay.lib(), name, call)
    return thread
threads = [holds(replay.stats, "octet_replay_stats"), holds(writer.flush, "octet_replay_flush")]
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    try:
        {end}
    except octet.OctetError as error:
        assert "is a fork of" in str(error)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
forked.set()
for thread in threads:
    thread.join()
print(int(replay.stats()["replay.size"]))
"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (said.stdout, said.returncode) == ("0\n", 0), said.stderr


def test_environments_alone_load_no_network(tmp_path):
    text = "import octet; octet.make('CartPole-v1').reset(); print('nng' in open('/proc/self/maps').read())"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          check=True).stdout.strip() == "False"


def test_only_this_user_may_look(replay):
    assert stat.S_IMODE(replay.folder.stat().st_mode) == 0o700
    for path in replay.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_long_path_is_no_hindrance(tmp_path):
    folder = tmp_path / ("x" * 100)
    with octet.Replay(folder, **FOUR) as replay, octet.Replay.connect(folder) as other:
        with other.writer(1) as writer:
            walk(writer, 3, streams=1)
        assert replay.stats()["replay.size"] == 3
        sockets = pathlib.Path(json.loads((folder / "service.json").read_text())["url"].removeprefix("ipc://")).parent
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not sockets.exists()


def test_a_full_disk_is_said_and_does_no_harm(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], capture_output=True,
                      check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with pytest.raises(octet.OctetError, match="room|space"):
            octet.Replay(small / "replay", **FOUR | {"capacity": 1_000_000})
        with octet.Replay(small / "replay", **FOUR | {"capacity": 2048}) as replay, replay.writer(1) as writer:
            walk(writer, 5, streams=1)
            writer.flush()
            assert replay.stats()["replay.size"] == 5
    finally:
        subprocess.run(["umount", "-l", small], check=True)
