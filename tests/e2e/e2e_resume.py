#!/usr/bin/env python3
"""End-to-end tests of runs that are killed and resumed: see e2e.py.

usage: e2e_resume.py OCTET TEST

OCTET_KILLS: how many kills each run gets (3), OCTET_SEED: which, and when.
"""

import csv
import os
import random
import re
import signal
import struct
import sys

from e2e import CARTPOLE, PENDULUM, children, column, daemon, finish, octet_says, resume, scratch, summary, train
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
            finish(train(run, "--resume", "--set", f"run.env_steps={steps}", "--set", f"replay.capacity={capacity}", "--set",
                         f"replay.path={path}"), run)
            assert summary(run)["env_steps"] >= steps, summary(run)
            told = (run / "log/learner.log").read_text(encoding="utf-8").rsplit("LEARNER-RESUME from", 1)[1]
            assert "replay's table is not this checkpoint's; it starts empty" in told, told
        assert (run / "new.oct").exists() and (run / "replay.oct").exists()
        # What only replay knows of a file is told in full.
        text = finish(train(run, "--resume", "--set", f"run.env_steps={steps + 9000}", "--set", "replay.path=away.oct"), run, 1)
        assert "already has a table with another capacity; only the limiter and the window may change within a run (replay=" in text, text


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
