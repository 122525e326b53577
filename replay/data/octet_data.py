#!/usr/bin/env python3
"""Converts data sets of Octet (docs/data.md) to and from those of Minari and NumPy. `octet data` runs it.

usage: octet_data.py export FILE --minari NAME|FOLDER     a Minari data set from FILE
       octet_data.py export FILE --npz OUT.npz            arrays of steps from FILE
       octet_data.py import --minari NAME|FOLDER --out FILE [--env ID] [--clip-actions]

Needs numpy; for Minari also minari, h5py and pillow. Exit code 1: one line on standard error has the cause. 130: interrupted.
Unfinished output is removed, but not FILE, which belongs to the caller. Also a module: read(FILE) returns header, notes and
episodes; Writer writes a file.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unicodedata
import zipfile
import zlib

try:
    import numpy as np
except ImportError:
    sys.exit(f"octet data: error: the Python at {sys.executable} has no numpy: run '{sys.executable} -m "
             "pip install numpy', or name another Python with OCTET_PYTHON")

VERSION, LAYOUT, PAGE, NONE = 1, 1, 4096, 2**64 - 1
MAGIC, BYTE_ORDER = b"OCTETDAT", 0x01020304
ROWS, NOTES_MAX, NAME_MAX, ACTIONS_MAX = 64, 1 << 20, 256, 256
F32, U8, DISCRETE, BOX = 1, 2, 1, 2
TERMINATED, TRUNCATED, FIRST, END, RANDOM, FAILED, ROLLOUT = 1, 2, 4, 8, 16, 32, 64
SPACES = "Octet supports Discrete, and Box of floats with finite bounds"
BOUND_TOLERANCE = 1e-3  # OCT_BOX_TOLERANCE of common/oct_box.h

ENV = np.dtype([("id", "S264"), ("reward_threshold", "f8"), ("obs_dtype", "u4"), ("obs_count", "u4"),
                ("obs_rank", "u4"), ("obs_shape", "u4", 6), ("action_kind", "u4"),
                ("action_count", "u4"), ("max_episode_steps", "u4"), ("action_low", "f4", 256),
                ("action_high", "f4", 256)])
HEADER = np.dtype([("magic", "S8"), ("version", "u4"), ("byte_order", "u4"), ("file_bytes", "u8"),
                   ("notes_at", "u8"), ("blocks_at", "u8"), ("run_id", "u8"), ("seed", "u8"),
                   ("made_s", "u8"), ("notes_bytes", "u4"), ("notes_crc", "u4"),
                   ("block_layout", "u4"), ("block_rows", "u4"), ("blocks", "u4"),
                   ("obs_bytes", "u4"), ("action_bytes", "u4"), ("extra_dim", "u4"),
                   ("made_by", "S64"), ("env", ENV), ("crc", "u4"), ("reserved", "u4")])
BLOCK = np.dtype([("checksum", "u4"), ("layout", "u2"), ("count", "u2"), ("serial", "u8"),
                  ("previous", "u8"), ("next", "u8"), ("session", "u8"), ("actor_id", "u4"),
                  ("stream", "u4"), ("first", "u8"), ("episode_age", "u4"), ("reserved", "u4")])


class DataError(Exception):
    """An error with a message for the user."""


def is_control(character):
    return unicodedata.category(character) == "Cc"


def up(size, step):
    return (size + step - 1) // step * step


def counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


@contextlib.contextmanager
def draft_of(path):
    """A temporary name beside path for a file or a folder, which replaces path when it is complete; otherwise it is removed,
    with the parent folders that were made for it."""
    draft = path.with_name(f"{path.name}.tmp.{os.getpid()}")
    made = [parent for parent in path.parents if not parent.exists()]
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def columns_of(header):
    """Returns name: (offset in a block, dtype of a row), and the bytes of a block."""
    env, extra = header["env"], int(header["extra_dim"])
    obs = (np.float32 if env["obs_dtype"] == F32 else np.uint8, (int(env["obs_count"]),))
    action = (np.int32, ()) if env["action_kind"] == DISCRETE else (np.float32, (int(env["action_count"]),))
    rows = [("obs", obs), ("action", action), ("reward", (np.float32, ())),
            ("version", (np.uint32, ())), ("extra", (np.float32, (extra,))), ("flags", (np.uint8, ()))]
    columns, at = {}, BLOCK.itemsize
    for name, (dtype, shape) in rows:
        columns[name] = (at, np.dtype(dtype), shape)
        at += up(int(header["block_rows"]) * np.dtype(dtype).itemsize * math.prod(shape), 64)
    return columns, at


def read(path):
    """Returns header, notes and a generator of streams, whose blocks match their checksums. `octet data info` has checked the
    file: the contents of its rows are not checked again."""
    with open(path, "rb") as file:
        bytes_ = file.read(HEADER.itemsize)
    if len(bytes_) < HEADER.itemsize or bytes_[:8] != MAGIC:
        raise DataError(f"{path} is not a data set of Octet")
    header = np.frombuffer(bytes_, HEADER)[0]
    if header["version"] != VERSION or header["block_layout"] != LAYOUT:
        raise DataError(f"{path} has version {header['version']}.{header['block_layout']} of the format, "
                        f"this program reads {VERSION}.{LAYOUT}")
    if zlib.crc32(bytes_[:HEADER.fields["crc"][1]]) != header["crc"]:
        raise DataError(f"{path}: its header is damaged")
    if os.path.getsize(path) != header["file_bytes"]:
        raise DataError(f"{path}: it was cut off")
    map_ = np.memmap(path, np.uint8, "r")
    at = int(header["notes_at"])
    notes = bytes(map_[at:at + int(header["notes_bytes"])])
    if zlib.crc32(notes) != header["notes_crc"]:
        raise DataError(f"{path}: its notes are damaged")
    return header, notes.decode(), streams(path, header, map_)


def streams(path, header, map_):
    columns, block_bytes = columns_of(header)
    blocks = map_[int(header["blocks_at"]):].reshape(-1, block_bytes)
    heads = np.ascontiguousarray(blocks[:, :BLOCK.itemsize]).view(BLOCK)[:, 0]
    begins = np.flatnonzero(heads["previous"] == NONE)
    for begin, end in zip(begins, [*begins[1:], len(heads)]):
        for block in range(begin, end):
            if zlib.crc32(blocks[block, 4:]) != heads["checksum"][block]:
                raise DataError(f"{path}: block {block} of {len(heads)}: its checksum differs")
        rows = int(heads["count"][begin:end].sum(dtype=np.int64))
        yield Stream(columns, int(header["block_rows"]), blocks[begin:end], rows)


class Stream:
    """Rows without a gap, in blocks that are full except the last; they are read on access."""

    def __init__(self, columns, block_rows, blocks, count):
        self.columns, self.block_rows, self.blocks, self.count = columns, block_rows, blocks, count

    def column(self, name, first, end):
        """Returns the rows first to end - 1."""
        at, dtype, shape = self.columns[name]
        begin = first // self.block_rows
        blocks = self.blocks[begin:(end - 1) // self.block_rows + 1]
        bytes_ = np.ascontiguousarray(blocks[:, at:at + self.block_rows * dtype.itemsize * math.prod(shape)])
        rows = bytes_.reshape(-1).view(dtype).reshape(len(blocks) * self.block_rows, *shape)
        return rows[first - begin * self.block_rows:end - begin * self.block_rows]


def episode_ranges(streams_):
    """Yields stream, first row and the row after the end row of each complete episode. ROLLOUT marks a beginning or an end
    that may be missing."""
    for stream in streams_:
        flags, first = stream.column("flags", 0, stream.count), -1
        for row in map(int, np.flatnonzero(flags & (FIRST | END))):
            is_known = not flags[row] & ROLLOUT
            if flags[row] & FIRST:
                first = row if is_known else -1
            elif first >= 0:
                if is_known:
                    yield stream, first, row + 1
                first = -1


def episodes(streams_):
    """Yields the rows first … end row of each complete episode, as arrays by column."""
    for stream, first, end in episode_ranges(streams_):
        yield {name: stream.column(name, first, end) for name in stream.columns}


class Writer:
    """Writes a data set of one stream. header: env, extra_dim, run_id and seed are set. At most BUFFER_BYTES of blocks, or
    one block, wait to be written."""

    BUFFER_BYTES = 64 << 20

    def __init__(self, path, header, notes):
        self.file, self.header = open(path, "wb"), header
        header["magic"], header["version"], header["byte_order"] = MAGIC, VERSION, BYTE_ORDER
        header["block_layout"], header["block_rows"], header["made_s"] = LAYOUT, ROWS, int(time.time())
        notes = "".join(c for c in notes if c in "\t\n\r" or not is_control(c)).encode(errors="ignore")[:NOTES_MAX]
        notes = notes.decode(errors="ignore").encode()  # not in the middle of a character
        header["notes_at"], header["notes_bytes"] = PAGE, len(notes)
        header["notes_crc"], header["blocks_at"] = zlib.crc32(notes), up(PAGE + len(notes), PAGE)
        columns, block_bytes = columns_of(header)
        for name in ("obs", "action"):
            _, dtype, shape = columns[name]
            header[f"{name}_bytes"] = dtype.itemsize * math.prod(shape)
        self.file.write(b"\0" * PAGE + notes)
        self.file.write(b"\0" * (int(header["blocks_at"]) - PAGE - len(notes)))
        self.out = np.zeros((max(self.BUFFER_BYTES // block_bytes, 1), block_bytes), np.uint8)
        self.heads = self.out[:, :BLOCK.itemsize].view(BLOCK)[:, 0]
        self.columns = {}
        for name, (at, dtype, shape) in columns.items():
            bytes_ = self.out[:, at:at + ROWS * dtype.itemsize * math.prod(shape)]
            self.columns[name] = bytes_.view(dtype).reshape(len(self.out), ROWS, *shape)
        self.held, self.rows, self.blocks = 0, 0, 0  # rows in the buffer, rows and blocks in the file

    def add(self, episode):
        """Appends all rows of an episode, including the end row, by column."""
        done, count = 0, len(episode["flags"])
        while done < count:
            if self.held == len(self.out) * ROWS:  # what comes links the last block
                self.flush(False)
            part = min(count - done, len(self.out) * ROWS - self.held)
            rows = np.arange(self.held, self.held + part)
            for name, column in self.columns.items():
                column[rows // ROWS, rows % ROWS] = episode[name][done:done + part]
            begins = rows % ROWS == 0
            self.heads["episode_age"][rows[begins] // ROWS] = done + np.flatnonzero(begins)
            self.held += part
            done += part

    def flush(self, is_last):
        blocks = (self.held + ROWS - 1) // ROWS
        if blocks == 0:
            return
        head, serial = self.heads[:blocks], np.arange(self.blocks, self.blocks + blocks, dtype=np.uint64)
        head["layout"], head["serial"], head["session"] = LAYOUT, serial, 1
        head["count"] = np.minimum(self.held - np.arange(blocks) * ROWS, ROWS)
        head["previous"], head["next"] = serial - np.uint64(1), serial + np.uint64(1)
        head["previous"][serial == 0] = NONE
        if is_last:
            head["next"][-1] = NONE
        head["first"] = self.rows + np.arange(blocks, dtype=np.uint64) * ROWS
        for i in range(blocks):
            head["checksum"][i] = zlib.crc32(self.out[i, 4:])
        self.file.write(self.out[:blocks])
        self.out[:blocks] = 0
        self.rows += self.held
        self.blocks += blocks
        self.held = 0

    def close(self):
        self.flush(True)
        self.header["blocks"] = self.blocks
        self.header["file_bytes"] = int(self.header["blocks_at"]) + self.blocks * self.out.shape[1]
        self.header["crc"] = zlib.crc32(self.header.tobytes()[:HEADER.fields["crc"][1]])
        self.file.seek(0)
        self.file.write(self.header.tobytes())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


# ---- NumPy


def export_npz(path, out):
    """Writes array by array, one episode at a time, so that only one episode is in memory."""
    header, _, streams_ = read(path)
    found, obs = list(episode_ranges(streams_)), obs_shape(header["env"])
    if not found:
        raise DataError(f"{path} has no complete episode")
    if os.path.exists(out) and not os.path.isfile(out):
        raise DataError(f"{out} cannot be written: it is a device, a pipe or a folder")
    steps = sum(end - first - 1 for _, first, end in found)
    arrays = {"observations": ("obs", 0, lambda rows, _: rows.reshape(-1, *obs)),
              "actions": ("action", 0, lambda rows, _: rows),
              "rewards": ("reward", 0, lambda rows, _: rows),
              "next_observations": ("obs", 1, lambda rows, _: rows.reshape(-1, *obs)),
              "terminations": ("flags", 0, lambda rows, _: (rows & TERMINATED) != 0),
              "truncations": ("flags", 0, lambda rows, _: (rows & TRUNCATED) != 0),
              "episodes": ("flags", 0, lambda rows, number: np.full(len(rows), number, np.int64)),
              "versions": ("version", 0, lambda rows, _: rows)}  # column, rows ahead, what the array has of it
    try:
        with draft_of(pathlib.Path(out)) as draft, open(draft, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, (column, ahead, of) in arrays.items():
                    parts = (of(stream.column(column, first + ahead, end - 1 + ahead), number)
                             for number, (stream, first, end) in enumerate(found))
                    write_array(archive, name, steps, parts)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror}") from None
    print(f"{out}: {counted(len(found), 'episode')}, {counted(steps, 'step')}")


def write_array(archive, name, rows, parts):
    """Writes an array of an .npz with this many rows, as numpy.savez writes it."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        for i, part in enumerate(parts):
            if i == 0:
                np.lib.format.write_array_header_1_0(file, {
                    "descr": np.lib.format.dtype_to_descr(part.dtype), "fortran_order": False,
                    "shape": (rows, *part.shape[1:])})
            file.write(np.ascontiguousarray(part))


# ---- Minari


def minari_modules():
    try:
        import gymnasium
        import h5py  # noqa: F401: Minari asks for it later, in other words
        import minari
        import PIL  # noqa: F401
    except ImportError as error:
        raise DataError(f"the Python at {sys.executable} has no {error.name}: run '{sys.executable} -m pip "
                        "install minari h5py pillow', or name another Python with OCTET_PYTHON") from None
    return minari, gymnasium


def minari_path(minari, target):
    """Returns where the data of a data set are, and its ID: a folder's ID is the folder's name."""
    if re.fullmatch(r"[\w-]+(/[\w-]+)*-v\d+", target) and not os.path.isdir(target):
        from minari.storage.datasets_root_dir import get_dataset_path
        return pathlib.Path(get_dataset_path(target)) / "data", target
    folder = pathlib.Path(target).absolute()
    return folder / "data", folder.name


def obs_shape(env):
    return tuple(int(n) for n in env["obs_shape"][:env["obs_rank"]]) or (int(env["obs_count"]),)


def spaces_of(env, gymnasium):
    count, shape = int(env["action_count"]), obs_shape(env)
    obs = gymnasium.spaces.Box(0, 255, shape, np.uint8) if env["obs_dtype"] == U8 else \
        gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
    action = gymnasium.spaces.Discrete(count) if env["action_kind"] == DISCRETE else \
        gymnasium.spaces.Box(env["action_low"][:count].copy(), env["action_high"][:count].copy(), dtype=np.float32)
    return obs, action


def env_words(env):
    return {"id": env["id"].decode(), "max_episode_steps": int(env["max_episode_steps"]),
            "reward_threshold": None if np.isnan(env["reward_threshold"]) else float(env["reward_threshold"]),
            "obs_rank": int(env["obs_rank"])}


def buffers(streams_, env, minari):
    """Stores in infos what Octet knows about each row and Minari does not: T + 1 rows, as for observations."""
    for number, e in enumerate(episodes(streams_)):
        flags = e["flags"]
        infos = {"octet_version": e["version"], "octet_random": (flags & RANDOM) != 0,
                 "octet_failed": (flags & FAILED) != 0}
        if e["extra"].shape[1] > 0:
            infos["octet_extra"] = e["extra"]
        yield minari.data_collector.EpisodeBuffer(
            id=number, observations=e["obs"].reshape(-1, *obs_shape(env)),
            actions=e["action"][:-1].astype(np.int64 if env["action_kind"] == DISCRETE else np.float32),
            rewards=e["reward"][:-1].astype(np.float64), terminations=(flags[:-1] & TERMINATED) != 0,
            truncations=(flags[:-1] & TRUNCATED) != 0, infos=infos)


def store_minari(path, where, name):
    """Writes the data of a Minari data set to the new folder; prints its episodes and steps."""
    minari, gymnasium = minari_modules()
    from minari.dataset.minari_storage import MinariStorage
    header, notes, streams_ = read(path)
    env = header["env"]
    obs_space, action_space = spaces_of(env, gymnasium)
    try:
        spec = gymnasium.spec(env["id"].decode())
    except Exception:  # of no environment that Gymnasium knows: Minari does without
        spec = None
    storage = MinariStorage.new(where, obs_space, action_space, spec, "hdf5", jpeg_encoding=False)
    storage.update_metadata({
        "dataset_id": name, "minari_version": minari.__version__, "code_permalink": "", "author": {"octet"},
        "algorithm_name": "octet", "octet_env": env_words(env), "octet_notes": notes,
        "octet_run": f"{int(header['run_id']):016x}", "octet_seed": int(header["seed"])})
    storage.update_episodes(buffers(streams_, env, minari))
    print(storage.total_episodes, storage.total_steps)


def store_apart(path, where, name):
    """Does the same in a separate process: on a full disk HDF5 prints thousands of lines and crashes."""
    done = subprocess.run([sys.executable, __file__, "store", path, str(where), name], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        code = re.search(r"errno = (\d+)|\[Errno (\d+)\]", done.stderr)  # of HDF5 or of Python
        raise OSError(int(code[1] or code[2]), os.strerror(int(code[1] or code[2]))) if code else \
            DataError((done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[-1])
    return [int(number) for number in done.stdout.split()[-2:]]


def export_minari(path, target):
    minari, _ = minari_modules()
    from minari.namespace import create_namespace, list_local_namespaces
    where, name = minari_path(minari, target)
    if where.exists():
        raise DataError(f"{where} already exists")
    try:
        with draft_of(where) as draft:
            draft.mkdir(parents=True)
            episodes_, steps = store_apart(path, draft, name)
            namespace = name.rpartition("/")[0]
            if namespace and namespace not in list_local_namespaces():
                create_namespace(namespace)
    except OSError as error:
        raise DataError(f"{where} cannot be written: {error.strerror}") from None
    print(f"{where.parent}: {counted(episodes_, 'episode')}, {counted(steps, 'step')}, data set {name}")


def env_of(metadata, storage, gymnasium, env_id, name):
    """Returns the environment of a data set."""
    env = np.zeros(1, ENV)[0]
    spec = metadata.get("env_spec")
    spec = json.loads(spec) if isinstance(spec, str) else {}
    known = metadata.get("octet_env", {})
    id_ = env_id or known.get("id") or spec.get("id") or name
    if len(id_.encode(errors="replace")) > NAME_MAX or any(map(is_control, id_)):
        raise DataError(f"its environment is {id_!r}: allowed are up to {NAME_MAX} bytes without control characters; "
                        "name it with --env")
    env["id"] = id_.encode()
    threshold = known.get("reward_threshold", spec.get("reward_threshold"))
    env["reward_threshold"] = np.nan if threshold is None else threshold
    env["max_episode_steps"] = known.get("max_episode_steps", spec.get("max_episode_steps")) or 0
    obs, action = storage.observation_space, storage.action_space
    if not isinstance(obs, gymnasium.spaces.Box) or obs.dtype.kind not in "fu" or len(obs.shape) > 6:
        raise DataError(f"its observations are {obs}; Octet supports arrays of float32 or uint8")
    env["obs_dtype"] = U8 if obs.dtype == np.uint8 else F32
    env["obs_count"] = math.prod(obs.shape)
    if known.get("obs_rank", 1) > 0:
        env["obs_rank"] = len(obs.shape)
        env["obs_shape"][:len(obs.shape)] = obs.shape
    if isinstance(action, gymnasium.spaces.Discrete):
        if action.n > ACTIONS_MAX:
            raise DataError(f"its actions are {action}; Octet supports at most {ACTIONS_MAX}")
        env["action_kind"], env["action_count"] = DISCRETE, action.n
    elif isinstance(action, gymnasium.spaces.Box) and action.dtype.kind == "f":
        count = math.prod(action.shape)
        if count > ACTIONS_MAX:
            raise DataError(f"its actions are {action}; Octet supports at most {ACTIONS_MAX} numbers")
        env["action_kind"], env["action_count"] = BOX, count
        if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
            raise DataError(f"its actions are {action}: {SPACES}")
        env["action_low"][:count], env["action_high"][:count] = action.low.reshape(-1), action.high.reshape(-1)
    else:
        raise DataError(f"its actions are {action}: {SPACES}")
    return env


class Told:
    """What an import reports about all its steps."""

    def __init__(self, clips):
        self.clips, self.rounded, self.actions, self.clipped = clips, set(), 0, 0


def floats(values, what, number, told):
    """Converts the numbers of each row to float32, which must be able to hold them."""
    with np.errstate(over="ignore"):
        out = values.astype(np.float32)
    bad = np.argwhere(~np.isfinite(out))
    if len(bad):
        raise DataError(f"episode {number}, step {bad[0][0]}: {what} {values[tuple(bad[0])]:g}: allowed are finite "
                        "numbers of float32")
    if not np.array_equal(out, values):
        told.rounded.add(what)
    return out


def discrete_actions(action, env, number, start):
    bad = np.flatnonzero((action < 0) | (action >= env["action_count"]))
    if len(bad):
        raise DataError(f"episode {number}, step {bad[0]}: action {action[bad[0]] + start}: allowed are {start} to "
                        f"{start + int(env['action_count']) - 1}")
    return action


def box_actions(action, env, number, told):
    count = int(env["action_count"])
    low, high = env["action_low"][:count], env["action_high"][:count]
    with np.errstate(invalid="ignore", divide="ignore"):  # of infinite bounds, and of equal ones
        bad = np.abs((action - low) * (2 / (high - low)) - 1) > 1 + BOUND_TOLERANCE
    if bad.any() and not told.clips:
        step, i = np.argwhere(bad)[0]
        raise DataError(f"episode {number}, step {step}: number {i} of the action is {action[step, i]:g}: allowed are "
                        f"{low[i]:g} to {high[i]:g}; --clip-actions clips such actions")
    told.actions += len(action)
    told.clipped += int(bad.any(axis=1).sum())
    return np.clip(action, low, high) if told.clips else action


def rows_of(episode, env, start, told):
    """Returns the rows of an episode, including the end row, by column."""
    T, infos = len(episode["rewards"]), episode["infos"] or {}
    number = episode["id"]
    ended = (episode["terminations"] | episode["truncations"]).astype(bool)
    if T == 0 or ended[:-1].any() or len(episode["observations"]) != T + 1:
        raise DataError(f"episode {number} has {T} steps, {len(episode['observations'])} observations"
                        + (", and continues after its end" if ended[:-1].any() else ""))
    flags = np.zeros(T + 1, np.uint8)
    flags[0] |= FIRST
    flags[:-1][episode["terminations"].astype(bool)] |= TERMINATED
    flags[:-1][episode["truncations"].astype(bool)] |= TRUNCATED
    flags[T] |= END
    if "octet_random" in infos:
        flags[infos["octet_random"]] |= RANDOM
    if not ended[-1]:  # left open: its last observation is there to bootstrap from
        flags[T if infos.get("octet_failed", [False])[-1] else T - 1] |= \
            FAILED if infos.get("octet_failed", [False])[-1] else TRUNCATED
    action = np.asarray(episode["actions"]).reshape(T, -1)
    action = discrete_actions(action[:, 0] - start, env, number, start) if env["action_kind"] == DISCRETE else \
        box_actions(floats(action, "action", number, told), env, number, told)
    obs = np.asarray(episode["observations"]).reshape(T + 1, -1)
    zero = np.zeros((1, *action.shape[1:]), action.dtype)
    extra = infos.get("octet_extra", np.zeros((T + 1, 0), np.float32))
    return {"obs": obs if env["obs_dtype"] == U8 else floats(obs, "observation", number, told), "flags": flags,
            "action": np.concatenate([action, zero]), "extra": extra,
            "reward": np.append(floats(np.asarray(episode["rewards"]), "reward", number, told), np.float32(0)),
            "version": infos.get("octet_version", np.zeros(T + 1, np.uint32))}


def import_minari(target, out, env_id, clips):
    minari, gymnasium = minari_modules()
    from minari.dataset.minari_storage import MinariStorage
    where, name = minari_path(minari, target)
    if not (where / "metadata.json").exists():
        raise DataError(f"there is no Minari data set at {where}; 'minari list local' lists data sets by name, "
                        f"'minari download {target}' may fetch one")
    metadata, storage = MinariStorage.read_raw_metadata(where), MinariStorage.read(where)
    header = np.zeros(1, HEADER)[0]
    header["env"] = env_of(metadata, storage, gymnasium, env_id, name)
    header["run_id"], header["seed"] = int(metadata.get("octet_run", "0"), 16), metadata.get("octet_seed", 0)
    header["made_by"] = f"minari {minari.__version__}".encode()
    notes = metadata.get("octet_notes") or "".join(
        f"# {key}: {str(metadata[key]).splitlines()[0] if str(metadata[key]) else ''}\n" for key in
        ("dataset_id", "algorithm_name", "author", "code_permalink", "description") if key in metadata)
    writer, told = None, Told(clips)
    start = int(getattr(storage.action_space, "start", 0))
    for episode in storage.get_episodes(range(storage.total_episodes)):
        rows = rows_of(episode, header["env"], start, told)
        if writer is None:
            header["extra_dim"] = rows["extra"].shape[1]
            writer = Writer(out, header, notes)
        writer.add(rows)
    if writer is None:
        raise DataError(f"{where} has no episodes")
    writer.close()
    if told.rounded:
        print(f"octet data: note: rounded to float32: {', '.join(sorted(told.rounded))}", file=sys.stderr)
    if told.clips and header["env"]["action_kind"] == BOX:
        print(f"octet data: note: {told.clipped} of {counted(told.actions, 'action')} clipped to the bounds",
              file=sys.stderr)


INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt(*_):
    for number in INTERRUPTS:  # the others, and a second one, wait until what was begun is removed
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export")
    export.add_argument("file")
    export.add_argument("--minari")
    export.add_argument("--npz")
    store = commands.add_parser("store")  # of export
    for name in ("file", "where", "name"):
        store.add_argument(name)
    import_ = commands.add_parser("import")
    import_.add_argument("--minari", required=True)
    import_.add_argument("--out", required=True)
    import_.add_argument("--env")
    import_.add_argument("--clip-actions", action="store_true")
    options = parser.parse_args()
    if options.command == "store":
        store_minari(options.file, options.where, options.name)
        return
    for number in INTERRUPTS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        if options.command == "import":
            import_minari(options.minari, options.out, options.env, options.clip_actions)
        elif options.npz:
            export_npz(options.file, options.npz)
        else:
            export_minari(options.file, options.minari)
    except KeyboardInterrupt:
        sys.exit(130)
    except (DataError, OSError, ValueError) as error:
        sys.exit(f"octet data: error: {error}")
    except MemoryError as error:
        sys.exit(f"octet data: error: not enough memory{f': {error}' if str(error) else ''}")


if __name__ == "__main__":
    main()
