#!/usr/bin/env python3
"""How fast octet.Replay gives samples and takes steps, beside octet-replay's client in C (bench_replay_path) and, where
they are installed, the buffers of TorchRL and Reverb. Steps of 16 floats, batches of 256, by priority.

usage: bench_replay_python.py BENCH_REPLAY_PATH OCTET-REPLAY [quick]      $OCTET_LIBRARY and $PYTHONPATH name the package

Everybody's samples are checked: step i was seen at i and led to i + 1. In each round all take turns. Prints one JSON line
for each, of rates per second of wall time. TorchRL's buffer lies in the process that samples it, Reverb's server is a
thread of that process; octet-replay is a process of its own, with its table in a file. bench_replay_path has two requests in flight, of 1 batch
or of 8; so has octet.Replay with prefetch 3 or 24, and takes the batches of a third meanwhile."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import octet

FLOATS, BATCH, STREAMS = 16, 256, 64


def steps_of(count):
    """A stream that never ends: observation, reward i, observation i + 1."""
    seen = np.repeat(np.arange(count + 1, dtype=np.float32)[:, None], FLOATS, 1)
    return seen[:-1], np.arange(count, dtype=np.float32), seen[1:]


def check(seen, reward, behind):
    assert seen.shape == behind.shape == (BATCH, FLOATS) and reward.shape == (BATCH,)
    assert (seen[:, 0] == reward).all() and (behind[:, -1] == reward + 1).all()


def rate(call, seconds, count):
    """Of what call gives count of."""
    call()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        call()
        done += count
    return done / (time.perf_counter() - start)


class Octet:
    def __init__(self, rows, seconds):
        self.rows, self.seconds = rows, seconds
        self.folder = tempfile.TemporaryDirectory()
        self.replay = octet.Replay(self.folder.name, observation=((FLOATS,), "float32"), action=((), "int32"),
                                   capacity=max(rows, 20_000), streams=STREAMS, sampler="prioritized")
        seen, reward, behind = steps_of(rows)
        with self.replay.writer() as writer:
            for row in zip(seen, reward, behind, strict=True):
                writer.append(row[0], 0, row[1], False, False, row[2])

    def sample(self, prefetch):
        def one():
            batch = self.replay.sample(BATCH, prefetch=prefetch)
            check(batch.observations, batch.rewards, batch.next_observations)

        def unchecked():
            self.replay.sample(BATCH, prefetch=prefetch)

        one()
        return rate(unchecked, self.seconds, BATCH)

    def append(self):
        """Steps of 64 streams at a time, and a flush at the end."""
        with self.replay.writer(STREAMS) as writer:
            seen, no, still = np.zeros((STREAMS, FLOATS), np.float32), np.zeros(STREAMS, np.int32), np.zeros(STREAMS, bool)
            reward = np.zeros(STREAMS, np.float32)
            start, count = time.perf_counter(), self.rows // STREAMS
            for i in range(count):
                behind = np.full((STREAMS, FLOATS), i + 1, np.float32)
                writer.append(seen, no, reward + i, still, still, behind)
                seen = behind
            writer.flush()
            return count * STREAMS / (time.perf_counter() - start)

    def rates(self):
        return {"octet.Replay, drawn at the call": self.sample(0), "octet.Replay, prefetch=3": self.sample(3),
                "octet.Replay, prefetch=24": self.sample(24), "octet.Replay, append": self.append()}

    def close(self):
        self.replay.close()
        self.folder.cleanup()


class TorchRL:
    def __init__(self, rows, seconds):
        import torch
        from tensordict import TensorDict
        from torchrl.data import LazyTensorStorage, TensorDictPrioritizedReplayBuffer

        torch.set_num_threads(1)
        self.seconds = seconds
        self.buffer = TensorDictPrioritizedReplayBuffer(alpha=0.6, beta=0.0, storage=LazyTensorStorage(rows),
                                                        batch_size=BATCH)
        seen, reward, behind = steps_of(rows)
        self.buffer.extend(TensorDict({
            "observation": torch.from_numpy(seen.copy()), "action": torch.zeros(rows, dtype=torch.int32),
            "reward": torch.from_numpy(reward), "next_observation": torch.from_numpy(behind.copy()),
            "td_error": torch.ones(rows)}, batch_size=[rows]))

    def rates(self):
        batch = self.buffer.sample()
        check(batch["observation"].numpy(), batch["reward"].numpy(), batch["next_observation"].numpy())
        return {"TorchRL, in the same process": rate(self.buffer.sample, self.seconds, BATCH)}

    def close(self):
        pass


class Reverb:
    def __init__(self, rows, seconds):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import reverb
        import tensorflow as tf

        self.seconds = seconds
        self.server = reverb.Server(tables=[reverb.Table("steps", reverb.selectors.Prioritized(0.6),
                                                         reverb.selectors.Fifo(), rows, reverb.rate_limiters.MinSize(1))])
        client = self.server.localhost_client()
        seen, reward, behind = steps_of(rows)
        with client.trajectory_writer(num_keep_alive_refs=1) as writer:
            for row in zip(seen, reward, behind, strict=True):
                writer.append([row[0], np.int32(0), row[1], row[2]])
                writer.create_item("steps", 1.0, [column[-1] for column in writer.history])
                if int(row[1]) % 1000 == 999:
                    writer.flush()
        spec = [tf.TensorSpec(shape, kind) for shape, kind in [((FLOATS,), tf.float32), ((), tf.int32), ((), tf.float32),
                                                               ((FLOATS,), tf.float32)]]
        table = reverb.TrajectoryDataset(f"localhost:{self.server.port}", "steps", [one.dtype for one in spec],
                                         [one.shape for one in spec], max_in_flight_samples_per_worker=2 * BATCH)
        self.batches = table.batch(BATCH).prefetch(2).as_numpy_iterator()

    def rates(self):
        seen, _, reward, behind = next(self.batches).data
        check(seen, reward, behind)
        return {"Reverb, TrajectoryDataset": rate(lambda: next(self.batches), self.seconds, BATCH)}

    def close(self):
        self.server.stop()


def rates_in_c(program, daemon, quick):
    lines = subprocess.run([program, daemon, *(["quick"] if quick else [])], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    found = {line["name"]: line.get("rate") for line in map(json.loads, (line for line in lines if line.startswith("{")))}
    return {"C, a batch a request": found["replay_path_sample"], "C, 8 a request": found["replay_path_sample_8_a_request"]}


def peers_of(rows, seconds):
    for peer in (Octet, TorchRL, Reverb):
        try:
            yield peer(rows, seconds)
        except ImportError as error:
            print(f"LEFT OUT: {peer.__name__}: {error}", file=sys.stderr)


def main(program, daemon, quick):
    rounds, seconds, rows = (1, 0.05, 5_000) if quick else (7, 1.0, 200_000)
    peers, rates = list(peers_of(rows, seconds)), {}
    for _ in range(rounds):
        now = rates_in_c(program, daemon, quick)
        for peer in peers:
            now.update(peer.rates())
        for name, value in now.items():
            rates.setdefault(name, []).append(value)
    for peer in peers:
        peer.close()
    beside = {"octet.Replay, prefetch=3": "C, a batch a request", "octet.Replay, prefetch=24": "C, 8 a request"}
    for name, found in rates.items():
        line = {"name": f"replay {name}", "batch": BATCH, "n": rounds, "median": round(statistics.median(found)),
                "best": round(max(found)), "unit": "windows/s"}
        if name in beside:
            of_c = [ours / theirs for ours, theirs in zip(found, rates[beside[name]], strict=True)]
            line["ratio to C"] = round(statistics.median(of_c), 3)
        print(json.dumps(line))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(str(pathlib.Path(sys.argv[1]).absolute()), str(pathlib.Path(sys.argv[2]).absolute()), "quick" in sys.argv[3:])
