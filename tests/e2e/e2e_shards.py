#!/usr/bin/env python3
"""End-to-end tests of several replays on one experiment (docs/internals/replay.md): see e2e.py.

usage: e2e_shards.py OCTET TEST
"""

import contextlib
import json
import os
import re
import signal
import struct
import sys

from e2e import (ACTOR, CARTPOLE, ENDLESS, LEARNER, REPLAY, ROOT, assert_complete, children, column, data,
                 finish, interrupt, octet, resume, scratch, start, summary, terminate, train, wait_for_updates)
from daemons import kill_all, run_named, wait_for

SHARDS = 2
# Enough that hardly ever all are of one shard, and small.
ACTORS = ["--actors", "8", "--set", "actor.envs=4", "--set", "actor.batch_steps=64"]


def log_of(run, shard):
    return run / ("log/replay.log" if shard == 0 else f"log/replay-{shard}.log")


def lines(path, name):
    """The numbers of the lines with this id, as dictionaries."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    found = [line for line in text.splitlines() if f" {name} " in line]
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in found]


def pid_of(run, shard):
    address = "ipc://replay.ipc" if shard == 0 else f"ipc://replay-{shard}.ipc"
    found = [pid for pid, command in children(run).items() if address in command]
    return found[0] if found else None


def status(run):
    done = octet("status", run, "--json")
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def sessions(run):
    """Of each shard, as octet status has it; None: not known yet."""
    now = status(run)
    if now is None or not all(shard["heard"] for shard in now["shards"]):
        return None
    found = [shard["numbers"].get("replay.sessions", 0) for shard in now["shards"]]
    return found if sum(found) >= 8 and len(found) == SHARDS else None


@contextlib.contextmanager
def endless(folder, *settings, preset=CARTPOLE):
    """A run whose actors are spread over both shards. Which one an actor is of is chance: where all have the same, another
    run begins."""
    for attempt in range(10):
        run = folder / f"run{attempt}"
        process = train(run, "--set", f"replay.shards={SHARDS}", "--set", "replay.capacity=1000000", "--set", "run.hang_s=0", *ACTORS, *ENDLESS,
                        *settings, preset=preset)
        try:
            spread = wait_for("all actors", lambda: sessions(run))
            if min(spread) > 0:
                yield run, process
                return
            interrupt(process, run)
        finally:
            kill_all([process])
    raise AssertionError("eight actors were of one shard ten times")


def ratios(run):
    """Samples per insert that the shards keep to."""
    now = status(run)
    return [(shard["numbers"] or {}).get("replay.limiter.samples_per_insert") for shard in now["shards"]] if now else None


def test_all_shards_have_one_ratio():
    with scratch() as folder, endless(folder) as (run, process):
        def octet_set(ratio):
            return octet("set", run, f"replay.samples_per_insert={ratio}")
        before = ratios(run)
        assert octet_set(4).returncode == 0
        assert ratios(run) == [4, 4] != before, before
        os.kill(pid_of(run, 1), signal.SIGKILL)
        wait_for("the ratio of the configuration", lambda: ratios(run) == before)
        changes = [(c["was"], c["now"], c["by"]) for c in lines(log_of(run, 0), "REPLAY-CHANGED")]
        assert changes == [("2", "4", "operator"), ("4", "2", "learner")], changes
        # Which shards have taken a change that another one has not.
        stopped = pid_of(run, 1)
        os.kill(stopped, signal.SIGSTOP)
        told = octet_set(8)
        os.kill(stopped, signal.SIGCONT)
        assert told.returncode == 1 and "replay-1.ipc: " in told.stderr, told
        assert "; these were changed: ipc://replay.ipc\n" in told.stderr, told
        assert octet_set(8).returncode == 0 and ratios(run) == [8, 8], ratios(run)
        interrupt(process, run)


def test_shards_learn_cartpole():
    with scratch() as folder:
        run = folder / "run"
        # Of a copy what was synced is read.
        process = train(run, "--set", f"replay.shards={SHARDS}", "--set", "replay.sync=always", "--actors", "2")
        finish(process, run)
        assert_complete(run)
        assert summary(run)["solved"], summary(run)
        stopped = [lines(log_of(run, shard), "REPLAY-STOP")[-1] for shard in range(SHARDS)]
        assert sum(int(s["inserts"]) for s in stopped) > 0, stopped
        info = json.loads(data("info", run, "--json"))
        held = [json.loads(data("info", run / name, "--json")) for name in ("replay.oct", "replay-1.oct")]
        assert info["steps"] == sum(one["steps"] for one in held) > 0, (info, held)
        # No shard is replaced by what is exported of it.
        before = (run / "replay-1.oct").read_bytes()
        told = octet("data", "export", run, "--out", run / "replay-1.oct")
        assert told.returncode == 1 and "is the file to export" in told.stderr, told
        assert (run / "replay-1.oct").read_bytes() == before
        # What is damaged is told, and nothing of it is read.
        copy = run / "copy.oct"
        full = max(range(SHARDS), key=lambda shard: held[shard]["steps"])  # the actors may be of one shard
        whole = (run / ("replay.oct", "replay-1.oct")[full]).read_bytes()
        rotten = bytearray(whole)
        for at in range(len(rotten) // 2, len(rotten), len(rotten) // 50):
            rotten[at] ^= 1
        copy.write_bytes(rotten)
        told = octet("data", "info", copy, "--json")
        damaged = json.loads(told.stdout)
        assert damaged["damaged_blocks"] > 0 and damaged["steps"] < held[full]["steps"], damaged
        assert f"is damaged: {damaged['damaged_blocks']} of its blocks" in told.stderr, told
        assert [one["damaged_blocks"] for one in held] == [0, 0], held
        # Nor is an earlier sync taken for the last one without a word.
        newest = max(struct.unpack_from("=2Q", whole, 96), key=lambda at: struct.unpack_from("=Q", whole, at))  # snapshot_at
        rotten = bytearray(whole)
        rotten[newest + 4000] ^= 1
        copy.write_bytes(rotten)
        told = octet("data", "info", copy, "--json")
        earlier = json.loads(told.stdout)
        assert (earlier["steps"] < held[full]["steps"]) == (earlier["rows_not_synced"] > 0), (earlier, held)
        note = f"{earlier['rows_not_synced']} rows are left out: they were not synced"
        assert (note in told.stderr) == (earlier["rows_not_synced"] > 0), told
        # Nor is what is left of a run taken for all of it.
        (run / "replay-1.oct").unlink()
        told = octet("data", "info", run)
        assert told.returncode == 1 and not told.stdout, told
        assert f"replay-1.oct: No such file or directory; the run has {SHARDS} shards" in told.stderr, told


def test_a_shard_dies_and_comes_back():
    """kill -9: its rows are in its file, and nothing that an actor was told of is missing. A shard that does not answer is
    left out, with its share, and taken back."""
    with scratch() as folder, endless(folder) as (run, process):
        learner = run / "log/learner.log"
        wait_for_updates(run, 200)
        os.kill(pid_of(run, 1), signal.SIGKILL)
        wait_for("a new process with the old rows", lambda: lines(log_of(run, 1), "REPLAY-FOUND"))
        wait_for("its learner", lambda: len(lines(log_of(run, 1), "REPLAY-CONFIGURED")) == 2)
        other = pid_of(run, 0)
        os.kill(other, signal.SIGSTOP)
        try:
            away = wait_for("a shard that is away", lambda: [line for line in lines(learner, "LEARNER-SHARD-AWAY")
                                                             if line["shard"] == "0"])
            before = column(run, "updates")
            wait_for_updates(run, before + 100)
            now = wait_for("its share in the status", lambda: status(run))
            assert 0 < now["learner"]["numbers"]["learner.replay_missing"] < 1, now["learner"]
        finally:
            os.kill(other, signal.SIGCONT)
        assert 0 < float(away[0]["share"]) < 1, away
        wait_for("it is back", lambda: [line for line in lines(learner, "LEARNER-SHARD-BACK") if line["shard"] == "0"])
        before = column(run, "updates")
        wait_for_updates(run, before + 100)
        interrupt(process, run)
        totals = [lines(log_of(run, shard), "REPLAY-STOP")[-1] for shard in range(SHARDS)]
        assert all(t["cut"] == "0" and t["rejected"] == "0" for t in totals), totals
        acked = [int(line["acked"]) for log in (run / "log").glob("actor-*.log") for line in lines(log, "ACTOR-TOTALS")]
        assert 0 < sum(acked) <= sum(int(t["rows"]) for t in totals), (acked, totals)
        # samples per insert are kept over both, within what the limiter's band and the windows on their way are
        inserts = sum(int(t["inserts"]) for t in totals)
        samples = sum(int(t["samples"]) for t in totals)
        assert abs(samples / inserts - 2) < 0.5, totals


def learns(name, *settings):
    """Each of the windows that are taken once is of the shard of its actor."""
    with scratch() as folder:
        run = folder / "run"
        process = train(run, "--set", f"replay.shards={SHARDS}", "--actors", "4", *settings, preset=ROOT / f"presets/cartpole-{name}.yaml")
        finish(process, run)
        assert_complete(run)
        ended = summary(run)
        assert ended["solved"] and ended["return"]["mean"] >= 460 and ended["return"]["episodes"] == 100, ended
        totals = [lines(log_of(run, shard), "REPLAY-STOP")[-1] for shard in range(SHARDS)]
        inserts, samples = (sum(int(t[key]) for t in totals) for key in ("inserts", "samples"))
        assert 0 < ended["updates"] <= samples <= inserts, (ended, totals)
        assert all(t["rejected"] == "0" for t in totals), totals
        return ended, samples


def test_ppo_learns_over_shards():
    learns("ppo", "--set", "actor.envs=2")


def test_a2c_learns_over_shards():
    learns("a2c", "--set", "actor.envs=4")


def test_vtrace_learns_over_shards():
    ended, samples = learns("vtrace", "--set", "actor.envs=4", "--set", "run.env_steps=4000000")
    # Every sequence was learned from once, but for those that are on their way at the end.
    assert 0 <= samples - 16 * ended["updates"] <= 16 * 16, (ended, samples)


def test_rollouts_go_on_without_a_shard():
    """Those of one actor are enough for an update."""
    with scratch() as folder, endless(folder, "--set", "learner.batch_size=4", preset=ROOT / "presets/cartpole-ppo.yaml") as (run, process):
        learner = run / "log/learner.log"
        wait_for_updates(run, 10)
        other = pid_of(run, 0)
        os.kill(other, signal.SIGSTOP)
        try:
            wait_for("a shard that is away", lambda: [line for line in lines(learner, "LEARNER-SHARD-AWAY") if line["shard"] == "0"])
            before = column(run, "updates")
            wait_for_updates(run, before + 5)
        finally:
            os.kill(other, signal.SIGCONT)
        wait_for("it is back", lambda: [line for line in lines(learner, "LEARNER-SHARD-BACK") if line["shard"] == "0"])
        before = column(run, "updates")
        wait_for_updates(run, before + 10)
        interrupt(process, run)
        totals = [lines(log_of(run, shard), "REPLAY-STOP")[-1] for shard in range(SHARDS)]
        assert all(t["cut"] == "0" and t["rejected"] == "0" and int(t["samples"]) > 0 for t in totals), totals


def test_a_shard_is_added_in_mid_run():
    """Daemons by hand: the learner resumes with one address more, and learns from three."""
    with scratch() as folder:
        run, processes = folder / "run", []
        addresses = [f"ipc://{folder}/r{i}" for i in range(3)]
        learner = f"ipc://{folder}/l"

        def daemon(name, *command):
            log = open(folder / f"{name}.log", "a", encoding="utf-8")
            processes.append(start(command, stdout=log, stderr=log, cwd=folder))
            return processes[-1]

        def learn(count, *more):
            return daemon("learner", LEARNER, CARTPOLE, "--run-dir", run, "--set", f"net.learner={learner}", "--set",
                          f"net.replay={','.join(addresses[:count])}", "--set", "learner.checkpoint_s=0.2", *ENDLESS, *more)
        try:
            for i, address in enumerate(addresses):
                daemon(f"replay{i}", REPLAY, "--listen", address, "--path", folder / f"r{i}.oct")
            first = learn(2)
            for i in range(3):
                daemon(f"actor{i}", ACTOR, "--learner", learner)
            wait_for("a checkpoint", lambda: (column(run, "updates") or 0) > 200 and (run / "checkpoint.oct").exists())
            terminate(first)
            refused = learn(3, "--resume")
            assert refused.wait(60) == 3
            assert "set 150000" in (folder / "learner.log").read_text(encoding="utf-8")
            before = column(run, "updates")
            learn(3, "--resume", "--set", "replay.capacity=150000")
            wait_for("the new shard", lambda: lines(folder / "replay2.log", "REPLAY-CONFIGURED"))
            wait_for_updates(run, before + 200)
        finally:
            kill_all(processes)


def test_a_resumed_run_has_one_shard_more():
    """As docs/internals/replay.md has it: the addresses are octet train's own, and follow from the number."""
    with scratch() as folder:
        run = folder / "run"
        ends = ["--set", "run.env_steps=3000", "--set", "run.stop_at_return=none"]
        finish(train(run, "--set", "replay.shards=2", "--set", "replay.capacity=100000", *ends), run)
        process = resume(run, "--set", "replay.shards=3", "--set", "replay.capacity=150000", *ENDLESS)
        try:
            wait_for("the new shard", lambda: lines(log_of(run, 2), "REPLAY-CONFIGURED") or process.poll() is not None)
            interrupt(process, run)
        finally:
            kill_all([process])
        assert lines(log_of(run, 2), "REPLAY-CONFIGURED")
        assert all(lines(log_of(run, shard), "REPLAY-FOUND") for shard in range(2))
        assert "ipc://replay-2.ipc" in (run / "config.yaml").read_text(encoding="utf-8")


def test_a_table_of_another_shard_is_refused():
    """Files that have changed places would count the steps of each twice."""
    with scratch() as folder, endless(folder) as (run, process):
        def change_places():
            (run / "replay.oct").rename(run / "0.oct")
            (run / "replay-1.oct").rename(run / "replay.oct")
            (run / "0.oct").rename(run / "replay-1.oct")

        wait_for_updates(run, 200)
        interrupt(process, run)
        change_places()
        told = finish(train(run, "--resume"), run, 1)
        assert re.search(r"replay has the table of shard [01] \(ipc://replay(-1)?\.ipc\), where its steps are counted: each shard "
                         r"must keep its file \(--path\) and its position in net\.replay", told), told
        change_places()
        updates = summary(run)["updates"]
        process = train(run, "--resume")
        wait_for_updates(run, updates + 100)
        interrupt(process, run)


def test_what_has_one_table_is_refused():
    with scratch() as folder:
        for settings, key in ((["--deterministic"], "run.deterministic"), (["--set", "algo.name=external"], "algo.name")):
            done = octet("train", CARTPOLE, "--run-dir", folder / "no", "--set", "replay.shards=2", *settings, cwd=folder)
            assert done.returncode == 2 and not (folder / "no").exists(), done
            assert re.search(rf"error: replay\.shards: 2 shards .*{re.escape(key)}", done.stderr), done.stderr


if __name__ == "__main__":
    sys.exit(run_named(globals()))
