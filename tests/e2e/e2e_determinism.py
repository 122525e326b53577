#!/usr/bin/env python3
"""End-to-end tests of runs in lock-step (docs/determinism.md): see e2e.py.

usage: e2e_determinism.py OCTET TEST

OCTET_MOMENTS: at how many random moments everything is killed (3); OCTET_SEED: which ones (1). OCTET_CPUS=all: on more CPUs.
"""

import contextlib
import os
import pathlib
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from e2e import (ACTOR, CARTPOLE, LEARNER, OCTET, PENDULUM, REPLAY, children, daemon, finish, octet, scratch,
                 small_disk, start, summary, train)
from daemons import certificates, free_port, get, kill_if_there, run_named, wait_for

SEED = int(os.environ.get("OCTET_SEED", "1"))
# Lives of 8 turns: actors begin anew several times in a run of some seconds. Which version ships is found out at the end.
SHORT = ["--set", "run.stop_at_return=none", "--set", "learner.checkpoint_turns=8", "--set", "run.hash_updates=100",
         "--set", "evaluation.period_turns=6", "--set", "evaluation.episodes=10", "--set", "evaluation.screen_episodes=5",
         "--set", "evaluation.final_share=1"]
QUICK = [*SHORT, "--set", "run.env_steps=40000"]
SLOW = [*SHORT, "--set", "run.env_steps=12000", "--set", "learner.batch_size=64", "--set", "network.hidden=[32,32]",
        "--set", "replay.sampler=prioritized"]


def hashes(run):
    return (run / "hashes.csv").read_text(encoding="utf-8")


def hashed(run):
    """Rows of hashes.csv so far."""
    try:
        return hashes(run).count("\n") - 1
    except OSError:
        return 0


def repeated(run, *settings, preset=CARTPOLE):
    finish(train(run, "--deterministic", *settings, preset=preset), run)
    rows = hashes(run).splitlines()
    assert rows[0] == "turn,updates,env_steps,weights,replay" and len(rows) > 4, rows
    assert len({row.rsplit(",", 2)[1] for row in rows}) == len(rows), "weights that do not change"
    return hashes(run)


def test_same_seed_same_run():
    with scratch() as folder:
        first = repeated(folder / "first", *QUICK)
        assert repeated(folder / "again", *QUICK) == first
        other = repeated(folder / "other", *QUICK, "--seed", "2")
        assert not set(other.splitlines()[1:]) & set(first.splitlines()[1:])


def kill_in_turn(process, run, names):
    """Kills one daemon after the other, at 2, 4 … rows; how many were there."""
    kills = 0
    for i, name in enumerate(names):
        wait_for("rows", lambda rows=2 * i + 2: hashed(run) >= rows or process.poll() is not None)
        pid = daemon(run, name)
        if pid is not None:
            kill_if_there(pid)
            kills += 1
    return kills


def test_same_seed_same_run_of_four_actors_one_of_which_dies():
    with scratch() as folder:
        four = [*QUICK, "--actors", "4"]
        first = repeated(folder / "first", *four)
        kills = 0
        for again in range(5):  # a run may end before this process looks
            run = folder / f"again-{again}"
            process = train(run, "--deterministic", *four)
            kills += kill_in_turn(process, run, ["octet-actor", "octet-actor"])
            finish(process, run)
            assert hashes(run) == first
            if kills > 0:
                return
        raise AssertionError("no actor was killed")


def test_same_seed_same_run_with_actions_in_a_box_and_priorities():
    with scratch() as folder:
        two = [*SLOW, "--actors", "2"]
        assert repeated(folder / "first", *two, preset=PENDULUM) == repeated(folder / "again", *two, preset=PENDULUM)


def test_same_seed_same_run_with_actions_that_are_drawn():
    with scratch() as folder:
        sac = [*SLOW, "--set", "algo.name=sac"]
        assert repeated(folder / "first", *sac, preset=PENDULUM) == repeated(folder / "again", *sac, preset=PENDULUM)


def by_hand(folder, name, certs=None):
    """The daemons by hand, over TLS where there are certificates; gives the run's hashes."""
    base = free_port(8)
    learner, replay = ((f"tls+tcp://127.0.0.1:{base}", f"tls+tcp://127.0.0.1:{base + 4}") if certs else
                       (f"ipc://{folder}/{name}-learner.ipc", f"ipc://{folder}/{name}-replay.ipc"))
    run = folder / name

    def secured(role):
        return ["--tls", certs / role] if certs else []

    actors = [[ACTOR, "--learner", learner, "--index", i, *secured("actor")] for i in range(2)]
    commands = [[REPLAY, "--listen", replay, "--path", f"{run}.replay", *secured("replay")], *actors,
                [ACTOR, "--learner", learner, "--evaluate", *secured("evaluator")]]
    with open(f"{run}.out", "w", encoding="utf-8") as out:
        others = [start(command, stdout=out, stderr=out) for command in commands]
        process = start([LEARNER, CARTPOLE, "--deterministic", "--run-dir", run, "--set", f"net.learner={learner}",
                         "--set", f"net.replay={replay}", "--set", "actor.count=2", *QUICK, *secured("learner")],
                        stdout=out, stderr=out)
        try:
            finish(process, run)
        finally:
            for other in others:
                other.kill()
                other.wait()
    return hashes(run)


def test_same_seed_same_run_with_and_without_tls():
    with scratch() as folder:
        plain = by_hand(folder, "plain")
        assert by_hand(folder, "secured", certificates(OCTET, folder / "certs")) == plain
        assert repeated(folder / "local", *QUICK, "--actors", "2") == plain


# One life: an actor that begins anew does so by the program itself, which the emulator would not be any more.
BRIEF = ["--set", "run.stop_at_return=none", "--set", "learner.checkpoint_turns=100000", "--set", "run.hash_updates=20",
         "--set", "evaluation.period_turns=6", "--set", "evaluation.episodes=4", "--set", "evaluation.screen_episodes=2",
         "--set", "network.hidden=[32,32]", "--set", "run.hang_s=600", "--actors", "2"]
ALL = ("learner", "replay", "actor")


def emulated(folder, qemu, cpu, names):
    """A folder of daemons, of which these run on that CPU."""
    libexec = pathlib.Path(tempfile.mkdtemp(dir=folder))
    for name, program in (("learner", LEARNER), ("replay", REPLAY), ("actor", ACTOR)):
        daemon_path = libexec / f"octet-{name}"
        if name in names:
            daemon_path.write_text(f'#!/bin/sh\nexec {qemu} -cpu {cpu} {program} "$@"\n', encoding="utf-8")
            daemon_path.chmod(0o755)
        else:
            daemon_path.symlink_to(program)
    return libexec


def kernels(run):
    """Those of the learner's products, and of the actors' policies."""
    log = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted((run / "log").glob("*.log")))
    return re.search(r"LEARNER-BLAS tiles=(\w+)", log)[1], *sorted(set(re.findall(r"ACTOR-START .* kernel=(\w+)", log)))


def test_same_run_on_other_cpus():
    """Whole runs, all of their daemons or some on another CPU, or with other kernels: OCTET_CPUS=all tries more of them."""
    qemu, every = shutil.which("qemu-x86_64"), os.environ.get("OCTET_CPUS") == "all"
    if qemu is None or platform.machine() != "x86_64":
        print("SKIPPED: needs an x86-64 machine with qemu-x86_64 (Debian's qemu-user)")
        return 77
    runs = {"DQN": (CARTPOLE, [*BRIEF, "--set", "run.env_steps=20000"])}
    others = [("Haswell", ALL)]
    if every:
        runs["SAC"] = (PENDULUM, [*BRIEF, "--set", "run.env_steps=5000", "--set", "learner.batch_size=64", "--set",
                                  "replay.sampler=prioritized", "--set", "algo.name=sac", "--set", "run.hash_updates=200"])
        others += [("max", ALL), ("Haswell", ("learner",)), ("Haswell", ("actor",)), ("Haswell", ("replay",))]
    with scratch() as folder:
        for algorithm, (preset, settings) in runs.items():
            def came_to(name, **environment):
                run = folder / f"{algorithm} {name}"
                finish(train(run, "--deterministic", *settings, preset=preset, env=dict(os.environ, **environment)), run,
                       deadline_s=1200)
                print(f"{algorithm}, {name}: {', '.join(kernels(run))}; {hashed(run)} rows, the last "
                      f"{hashes(run).splitlines()[-1]}", flush=True)
                return hashes(run), kernels(run)
            want, _ = came_to("this CPU")
            assert want.count("\n") > 4, want
            for isa in ("ref", "avx2"):
                got, used = came_to(f"this CPU, OCTET_ISA={isa}", OCTET_ISA=isa)
                assert got == want and used[1:] == (isa,), used
            for cpu, names in others:
                got, used = came_to(f"{cpu}: {' '.join(names)}", OCTET_LIBEXEC=str(emulated(folder, qemu, cpu, names)))
                assert got == want, f"{algorithm} on {cpu} ({names}): {got} is not {want}"
                assert "learner" not in names or used[0] == "nn_tile_avx2", used
                assert "actor" not in names or used[1:] == ("avx2",), used
    return 0


def test_what_has_no_turns_is_refused():
    with scratch() as folder:
        for setting, why in {"replay.sampler=fifo": "samples each window once", "actor.when_full=drop": "loses steps",
                             "replay.path=none": "keeps no table from which a killed run could resume",
                             "replay.samples_per_insert=0": "the number of updates"}.items():
            run = folder / "run"
            text = finish(train(run, "--deterministic", "--set", setting), run, 2)
            assert why in text and "not allowed with run.deterministic" in text, text


def result(run):
    """What a run came to: its hashes, and what was reported of its best policy."""
    said = summary(run)
    return hashes(run), said["reason"], said["env_steps"], said["updates"], said["return"]


def all_killed(process, run):
    """Everything at once, as when the machine stops; what is killed last may restart nobody."""
    for pid in [process.pid, *children(run)]:
        kill_if_there(pid)
    process.wait()
    wait_for("the end of all", lambda: not children(run))


def killed_at(run, moment_s, *arguments, **options):
    """Runs until a moment, then kills everything. False: the run had ended before."""
    process = train(run, *arguments, **options)
    try:
        process.wait(moment_s)
    except subprocess.TimeoutExpired:
        all_killed(process, run)
        return True
    finish(process, run)
    return False


def killed_and_resumed(moments, *settings, **options):
    """run(2k) == run(k), kill -9 of everything, resume(k): at random moments, of resumed runs, too."""
    chosen = random.Random(SEED)
    with scratch() as folder:
        begin_s = time.monotonic()
        repeated(folder / "whole", *settings, **options)
        whole, whole_s = result(folder / "whole"), time.monotonic() - begin_s
        print(f"OCTET_SEED={SEED}: kills within {1.1 * whole_s:.1f} s", flush=True)
        done = runs = 0
        while done < moments:
            run = folder / f"run{runs}"
            again, killed = [], True
            while killed:
                moment_s = chosen.uniform(0, 1.1 * whole_s) if done < moments else 1e6
                killed = killed_at(run, moment_s, "--deterministic", *settings, *again, **options)
                done += killed
                again = ["--resume"]
                if not (run / "config.yaml").exists(): # nothing was begun there
                    shutil.rmtree(run, ignore_errors=True)
                    again = []
            assert result(run) == whole, f"{run}: {result(run)}, wanted {whole}"
            runs += 1
        print(f"{done} moments in {runs} runs, all as if never killed")
        return whole


def test_killed_at_random_moments_and_resumed():
    killed_and_resumed(int(os.environ.get("OCTET_MOMENTS", "3")), *QUICK, "--actors", "2")


def test_killed_at_random_moments_and_resumed_with_actions_that_are_drawn():
    """SAC: noise of actors and of the learner, a temperature that is learned, two critics, priorities, an averaged policy."""
    whole = killed_and_resumed(int(os.environ.get("OCTET_MOMENTS", "2")), *SLOW, "--actors", "2",
                               "--set", "algo.name=sac", "--set", "learner.ema_decay=0.99", preset=PENDULUM)
    assert whole[1] == "budget", whole


def test_resumed_with_rounded_weights():
    """Quantisation-aware learning rounds weights with the scaling of observations of the moment, target networks too."""
    for settings, preset in (QUICK, CARTPOLE), ([*SLOW, "--set", "algo.name=td3"], PENDULUM):
        with scratch() as folder:
            run, aware = folder / "run", ["--set", "learner.quantisation_aware=true"]
            repeated(run, *settings, *aware, preset=preset)
            whole = result(run)
            finish(train(run, "--deterministic", *settings, *aware, "--resume", preset=preset), run)
            assert result(run) == whole, result(run)


def test_killed_and_resumed_it_ends_at_its_goal_as_it_did():
    """At the end of a life, whose checkpoint says that the run is solved, and within one."""
    for turns in (6, 4):
        whole = killed_and_resumed(1, *SHORT, "--actors", "2", "--set", "run.stop_at_return=100",
                                   "--set", "run.env_steps=200000", "--set", f"learner.checkpoint_turns={turns}")
        assert whole[1] == "solved", whole


def test_daemons_that_die_change_nothing():
    """Learner and replay in turn, restarted by octet train alone. Nor does an octet set, which is refused."""
    with scratch() as folder:
        repeated(folder / "whole", *SLOW, preset=PENDULUM)
        run = folder / "run"
        process = train(run, "--deterministic", *SLOW, preset=PENDULUM)
        wait_for("a row", lambda: hashed(run) >= 1 or process.poll() is not None)
        told = octet("set", run, "replay.samples_per_insert=0")
        assert told.returncode == 1 and "in lock-step, the limiter cannot be changed" in told.stderr, told
        assert kill_in_turn(process, run, ["octet-replay", "octet-learner", "octet-replay"]) > 0
        finish(process, run)
        assert result(run) == result(folder / "whole")


def full_disk_changes_nothing(settings, fill_up, check):
    """A run on a disk that fill_up(file, disk) fills: check(what /healthz says of it, the run, the hashes of one that has
    room) while it waits, then it goes on. 77: no such disk can be made here."""
    with scratch() as folder, small_disk(folder, 60) as small:
        if small is None:
            return 77
        first = repeated(folder / "first", *settings)
        run, port = small / "run", free_port(1)
        process = train(run, "--deterministic", "--metrics", f"http://127.0.0.1:{port}", *settings)
        wait_for("a hash", lambda: hashed(run) >= 1)
        with open(small / "fill", "ab", buffering=0) as fill:
            fill_up(fill, small)
            said = wait_for("the run to wait", lambda: (answer := get(port, "/healthz")) and answer[0] == 503 and answer[1])
            check(said, run, first)
            fill.truncate(0)
        finish(process, run)
        assert hashes(run) == first
    return 0


def test_a_full_disk_is_waited_for_and_changes_nothing():
    """The run waits for the copy of replay's table that a life ends with, says so, and goes on when there is room."""
    def fill_up(fill, disk):
        os.posix_fallocate(fill.fileno(), 0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - (256 << 10))

    def check(said, run, _first):
        assert re.fullmatch(r"replay.oct.\d+ cannot be written: No space left on device\n", said), said
        wait_for("the disk on the screen", lambda: "is the disk full?" in pathlib.Path(f"{run}.out").read_text(encoding="utf-8"))
    return full_disk_changes_nothing([*QUICK, "--actors", "2"], fill_up, check)


def test_a_disk_that_is_full_in_a_life_changes_nothing():
    """The run waits for the row of hashes.csv that is due, and has each row once. It is long, so that it has not ended before
    the disk is full on a machine that is busy."""
    def fill_up(fill, _disk):
        with contextlib.suppress(OSError):  # until nothing is left
            while fill.write(bytes(65536)) == 65536:
                pass
            while fill.write(b"0") == 1:
                pass

    def check(said, run, first):
        assert said == "hashes.csv cannot be written: No space left on device\n", said
        assert hashes(run).endswith("\n") and first.startswith(hashes(run))
    return full_disk_changes_nothing(
        [*SHORT, "--actors", "2", "--set", "run.env_steps=300000", "--set", "learner.checkpoint_turns=100000",
         "--set", "run.hash_updates=20", "--set", "evaluation.period_turns=100000", "--set", "learner.metrics_s=3600"],
        fill_up, check)


def test_what_cannot_be_resumed_is_refused():
    with scratch() as folder:
        run = folder / "run"
        first = repeated(run, *QUICK)
        for setting, why in {"learner.checkpoint_turns=4": "the run in .* had 8 so far"}.items():
            text = finish(train(run, "--resume", "--set", setting), run, 1)
            assert re.search(why, text), text
        copies = list(run.glob("replay.oct.*"))
        assert 1 <= len(copies) <= 4, copies
        for copy in copies:
            copy.unlink()
        text = finish(train(run, "--resume"), run, 1)
        assert re.search(r"replay\.oct\.\d+, the copy of turn \d+, is missing", text), text
        assert hashes(run) == first


if __name__ == "__main__":
    sys.exit(run_named(globals()))
