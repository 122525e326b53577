#!/usr/bin/env python3
"""End-to-end tests of runs that are killed and resumed: see e2e.py.

usage: e2e_resume.py OCTET TEST

OCTET_KILLS: how many kills each run gets (3), OCTET_SEED: which, and when.
"""

import csv
import fcntl
import json
import os
import pathlib
import random
import re
import signal
import struct
import sys

from e2e import CARTPOLE, PENDULUM, children, column, daemon, finish, octet, octet_says, resume, scratch, summary, train
from daemons import kill_if_there, run_named, wait_for

KILLS = int(os.environ.get("OCTET_KILLS", "3"))
SEED = int(os.environ.get("OCTET_SEED", "1"))
DAEMONS = {"replay": ("octet-replay", False), "learner": ("octet-learner", False),
           "actor": ("octet-actor", False), "evaluator": ("octet-actor", True)}
WHOLE = ["all", "octet train"]  # after these, --resume goes on


def sections(path):
    """{name: content} of a checkpoint of format 3."""
    data, found, at = path.read_bytes(), {}, 8
    assert data[:8] == b"OCTC" + struct.pack("<I", 3), data[:8]
    while at < len(data) - 4:
        length = struct.unpack_from("<Q", data, at + 8)[0]
        found[data[at:at + 4].decode()] = data[at + 16:at + 16 + length]
        at += 16 + length + 4
    return found


def checkpoint(run):
    """What the newest checkpoint says."""
    found = sections(run / "checkpoint.oct")
    _, version, updates, env_steps = struct.unpack_from("<QQQQ", found["RUN_"])
    table, steps, samples = struct.unpack("<QQQ", found["RPLY"])
    return {"version": version, "updates": updates, "env_steps": env_steps, "table": table, "steps": steps,
            "samples": samples}


def rows(run):
    with open(run / "metrics.csv", encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


def replay_found(run):
    """The numbers of what each process of replay found in its file."""
    text = (run / "log/replay.log").read_text(encoding="utf-8")
    return [dict(word.split("=", 1) for word in line.split() if "=" in word)
            for line in text.splitlines() if " REPLAY-FOUND " in line]


def replay_ahead(run):
    """How far replay was ahead of each checkpoint that was resumed."""
    text = (run / "log/learner.log").read_text(encoding="utf-8")
    return re.findall(r"LEARNER-RESUME-REPLAY replay holds (\d+) steps from after", text)


def kill(process, run, victim):
    """One daemon, or octet train with or without its daemons, which do not outlive it. True: it is to be resumed."""
    if victim not in WHOLE:
        name, evaluates = DAEMONS[victim]
        pid = wait_for(victim, lambda: daemon(run, name, evaluates))
        os.kill(pid, signal.SIGKILL)
        wait_for(f"another {victim}", lambda: daemon(run, name, evaluates) not in (None, pid) or
                 process.poll() is not None)
        return False
    victims = [process.pid] + (list(children(run)) if victim == "all" else [])
    for pid in set(victims):
        kill_if_there(pid)
    process.wait()
    wait_for("the end of all", lambda: not children(run))
    return True


def resumed(run, before):
    """--resume alone goes on, and has all that was there."""
    found, count, told = replay_found(run), len(rows(run)), len(replay_ahead(run))
    process = resume(run)
    wait_for("training", lambda: (len(rows(run)) > count and len(replay_ahead(run)) > told) or process.poll() is not None)
    assert process.poll() in (None, 0) and len(replay_ahead(run)) > told, finish(process, run)
    now = replay_found(run)[len(found):]
    assert len(now) == 1 and now[0]["state"] == "exact", now
    assert int(now[0]["rows"]) >= before["steps"], (now, before)
    for row in rows(run)[count:]:
        assert row["env_steps"] >= before["env_steps"] and row["updates"] >= before["updates"], (row, before)
    return process


def assert_one_story(run, batch_size):
    """metrics.csv, summary.json and policy.oct say the same."""
    ended, told = summary(run), rows(run)
    assert told[-1]["env_steps"] == ended["env_steps"] and told[-1]["updates"] == ended["updates"], (told[-1], ended)
    versions = [row["policy_version"] for row in told if row.get("policy_version", 0) > 0]
    assert versions == sorted(versions) and versions[-1] <= ended["policy_version"], versions
    shown = octet_says("inspect", run / "policy.oct")
    assert re.search(rf"\bversion +{ended['return']['policy_version']}\b", shown), (shown, ended["return"])
    last = checkpoint(run)
    assert last["env_steps"] == ended["env_steps"] and last["samples"] == last["updates"] * batch_size, (last, ended)
    # What was drawn for updates that were lost was drawn again: replay counts what was learned from, and what was in
    # hand at the end, or on its way when somebody was killed.
    in_hand = told[-1]["samples"] - told[-1]["updates"] * batch_size
    assert 0 <= in_hand <= 64 * batch_size, (in_hand / batch_size, told[-1])
    return ended


def killed_and_resumed(preset, batch_size, budget, stride):
    chance = random.Random(f"{SEED} {preset.stem}")
    settings = ["--set", f"run.env_steps={budget}", "--set", "run.stop_at_return=none", "--set", "learner.metrics_s=0.1",
                "--set", "learner.checkpoint_s=0.2", "--set", "evaluation.period_s=0.3",
                "--set", "replay.capacity=500000"]  # all of the run
    victims = [chance.choice(WHOLE)] + [chance.choice([*DAEMONS, *WHOLE]) for _ in range(KILLS - 1)]
    chance.shuffle(victims)
    print("seed", SEED, *victims)
    with scratch() as folder:
        run = folder / "run"
        process = train(run, *settings, preset=preset)
        wait_for("a checkpoint that knows replay", lambda: (run / "checkpoint.oct").exists() and checkpoint(run)["table"] != 0)
        for victim in victims:
            goal = (column(run, "updates") or 0) + chance.uniform(0.2, 1) * stride
            wait_for("updates", lambda goal=goal: (column(run, "updates") or 0) >= goal or process.poll() is not None)
            if process.poll() is not None:
                break
            if kill(process, run, victim):
                process = resumed(run, checkpoint(run))
        finish(process, run)
        ended = assert_one_story(run, batch_size)
        assert ended["reason"] == "budget" and ended["env_steps"] >= budget, ended
        assert ended["return"]["episodes"] == 100, ended


def test_killed_cartpole_is_resumed():
    killed_and_resumed(CARTPOLE, 128, 450000, 1500)


def test_killed_pendulum_is_resumed():
    killed_and_resumed(PENDULUM, 64, 40000, 2000)


def test_what_a_table_was_made_with_stays():
    """Refused before anything starts; a table that is not there yet is made as wanted."""
    short = ["--set", "run.stop_at_return=none", "--set", "replay.sampler=prioritized"]
    with scratch() as folder:
        run = folder / "run"
        finish(train(run, "--set", "run.env_steps=3000", "--set", "replay.capacity=30000", *short), run)
        kept = ["summary.json", "config.yaml", "policy_last.oct", "checkpoint.oct", "log/learner.log"]
        before = [(run / name).read_bytes() for name in kept]
        more = ["--resume", "--set", f"run.env_steps={summary(run)['env_steps'] + 3000}"]
        for key, now, had in (("capacity", "20000", "30000"), ("sampler", "uniform", "prioritized"), ("sampler", "fifo", "prioritized"),
                              ("priority_exponent", "0.3", "0.6")):
            text = finish(train(run, *more, "--set", f"replay.{key}={now}"), run, 2)
            assert (f"--set replay.{key}={now}: error: replay.{key}: {now}, but the table of the run to resume was made with {had}; "
                    "for an empty table set replay.path to a new file, or to none\n") in text, text
            assert [(run / name).read_bytes() for name in kept] == before, key
        # What FILE says of it is not taken.
        text = finish(train(run, *more), run)
        assert "replay.sampler: uniform is ignored, the run has prioritized" in text, text
        (run / "replay.oct").rename(run / "away.oct")
        for capacity, path in (20000, "replay.oct"), (21000, "new.oct"), (22000, "none"):
            steps = summary(run)["env_steps"] + 3000
            text = finish(train(run, "--resume", "--set", f"run.env_steps={steps}", "--set", f"replay.capacity={capacity}", "--set",
                                f"replay.path={path}"), run)
            assert summary(run)["env_steps"] >= steps, summary(run)
            told = (run / "log/learner.log").read_text(encoding="utf-8").rsplit("LEARNER-RESUME from", 1)[1]
            assert re.search(r" W LEARNER-RESUME-REPLAY replay=ipc://replay.ipc the table is a new one: \d+ steps of the checkpoint "
                             "are lost; ", told), told
            warning = rf"warning: {run}/{path} does not exist: \d+ steps of the checkpoint are lost, and the run continues with an empty"
            assert (re.search(warning, text) is not None) == (path != "none"), text
        assert (run / "new.oct").exists() and (run / "replay.oct").exists()
        # What only replay knows of a file is told in full.
        text = finish(train(run, "--resume", "--set", f"run.env_steps={summary(run)['env_steps'] + 9000}", "--set", "replay.path=away.oct"), run, 1)
        assert "already has a table with another capacity; only the limiter and the window may change within a run (replay=" in text, text


def checked(run, code):
    """{item: (state, text)} of octet run check."""
    ended = octet("run", "check", "--json", run)
    assert ended.returncode == code, ended
    told = json.loads(ended.stdout)
    states = [item["state"] for item in told["items"]]
    assert told["complete"] == (states.count("ok") == len(states)) == (code == 0), told
    assert told["resumable"] == ("error" not in states), told
    return {item["name"]: (item["state"], item["text"]) for item in told["items"]}


def test_rows_that_are_lost_are_reported_and_damaged_ones_are_kept():
    """Two shards. A resume says what is missing before it starts, and changes nothing where a table cannot be read."""
    with scratch() as folder:
        run, other = folder / "run", folder / "other"
        finish(train(run, "--set", "run.env_steps=3000", "--set", "run.stop_at_return=none", "--set", "replay.shards=2"), run)
        finish(train(other, "--set", "run.env_steps=1500", "--set", "run.stop_at_return=none"), other)
        found = checked(run, 0)
        assert all(re.fullmatch(rf"{run}/{name}.oct: \d+ rows", found[name][1]) for name in ("replay", "replay-1")), found
        more = ["--set", f"run.env_steps={summary(run)['env_steps'] + 3000}"]
        shard = max(("replay", "replay-1"), key=lambda name: int(found[name][1].split()[-2]))
        table = run / f"{shard}.oct"
        whole = table.read_bytes()
        for content, words in ((bytes(4096) + whole[4096:], "the first page holds only zeros"), (b"Dear reader" * 999, "not a file of octet-replay"),
                               (whole[:-4096], "it was cut off")):
            table.write_bytes(content)
            kept = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
            state, text = checked(run, 1)[shard]
            assert state == "error" and words in text and "move it away to continue with an empty table" in text, text
            said = finish(resume(run, *more), run, 1)
            assert f"octet train: error: {text}\n" in said and "octet-replay refused" not in said, said
            assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == kept, words
        # After another start of the machine, each block is compared with its checksum.
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
        torn = bytearray(whole.replace(boot, boot[::-1]))
        end = len(whole.rstrip(bytes(1)))
        torn[end - 8192 : end - 4096] = b"\xff" * 4096
        table.write_bytes(torn)
        state, text = checked(run, 1)[shard]
        assert state == "warning" and re.search(r" 0 rows were not yet on the disk, and [1-9]\d* blocks have wrong", text), text
        others = {"replay": "replay-1", "replay-1": "replay"}
        for name, source, item, state, words in (
                (f"{shard}.oct", f"{others[shard]}.oct", shard, "warning", "another table of the run: "),
                (f"{shard}.oct", other / "replay.oct", shard, "error", ", not of this one; the file is kept"),
                ("policy.oct", other / "policy.oct", "policy.oct", "warning", "is not the policy of the checkpoint; it is evaluated again"),
                ("policy.oct", None, "policy.oct", "warning", "No such file or directory; a later version replaces it"),
                ("config.yaml", "policy.oct", "config", "error", "config.yaml")):
            table.write_bytes(whole)
            before = (run / name).read_bytes()
            if source is None:
                (run / name).unlink()
            else:
                (run / name).write_bytes((run / source).read_bytes())
            found = checked(run, 1)
            assert found[item][0] == state and words in found[item][1], found
            (run / name).write_bytes(before)
        kept = {path: path.read_bytes() for path in run.glob("checkpoint*.oct")}
        for path in kept:
            path.unlink()
        assert checked(run, 1)["checkpoint"] == ("error", f"{run} has no checkpoint")
        for path, content in kept.items():
            path.write_bytes(content)
        with open(run / ".lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = checked(run, 1)
            assert found["run"][0] == "error" and "is live" in found["run"][1] and len(found) == 1, found
        table.unlink()
        (run / "policy.oct").write_bytes(b"OCTP")
        (run / "token.key").unlink()
        found = checked(run, 1)
        assert [name for name, (state, _) in found.items() if state == "warning"] == [shard, "policy.oct", "token.key"], found
        lost = re.search(r"does not exist: (\d+) steps of the checkpoint are lost", found[shard][1])
        assert lost and 0 < int(lost[1]) <= summary(run)["env_steps"], found
        table.write_bytes(b"")
        said = finish(resume(run, *more), run)
        assert f"warning: {table} is empty: {lost[1]} steps of the checkpoint are lost" in said, said
        log = (run / "log/learner.log").read_text(encoding="utf-8")
        assert f"W LEARNER-RESUME-REPLAY replay=ipc://{shard}.ipc the table is a new one: {lost[1]} steps" in log, log
        assert checked(run, 0)[shard][0] == "ok"


def stopped(run):
    """Why, and after how much, each process of the learner ended training."""
    text = (run / "log/learner.log").read_text(encoding="utf-8")
    return re.findall(r"LEARNER-STOP reason=(\w+) env_steps=(\d+) updates=(\d+)", text)


def ending(run):
    """The reason in the newest checkpoint. None: it has none, or is just being replaced."""
    try:
        return sections(run / "checkpoint.oct").get("END_")
    except FileNotFoundError:
        return None


def test_killed_in_its_final_evaluation_it_learns_no_more():
    """It ends as it would have: its evaluator is stopped before, so that it is there to be killed."""
    with scratch() as folder:
        run = folder / "run"
        process = train(run, "--set", "learner.checkpoint_s=3600", "--set", "run.stop_at_return=none",
                        "--set", "run.env_steps=200000", preset=CARTPOLE)
        os.kill(wait_for("its evaluator", lambda: daemon(run, *DAEMONS["evaluator"])), signal.SIGSTOP)
        wait_for("the end of training", lambda: ending(run) or process.poll() is not None)
        assert process.poll() is None, finish(process, run)
        assert kill(process, run, "all") and ending(run) == b"budget"
        finish(resume(run), run)
        ended, told = summary(run), stopped(run)
        assert len(told) == 2 and told[0] == told[1] and told[0][0] == ended["reason"] == "budget", (told, ended)
        assert (str(ended["env_steps"]), str(ended["updates"])) == told[0][1:], (told, ended)
        assert ended["return"]["final"] and ending(run) is None, ended


if __name__ == "__main__":
    sys.exit(run_named(globals()))
