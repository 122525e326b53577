#!/usr/bin/env python3
"""What a run's machine withholds: files that cannot be written for a while, memory that a control group somewhere above denies,
threads, open files.

usage: resources.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/chaos"))
from chaos_kinds import MEMORY, memory_groups  # noqa: E402
from chaos_system import CALLS, Faults  # noqa: E402
from daemons import has_signal, run_named, wait_for  # noqa: E402
from hostile import BUILD, CARTPOLE, running, updates  # noqa: E402

FOR_EVER = 1 << 60


@contextlib.contextmanager
def with_a_faulty_disk(*settings):
    """(run, what makes its learner's calls fail)."""
    faults = []

    def prepare(system):
        faults.append(Faults(system.folder / "learner.faults"))
        system.environment["learner"] = {"LD_PRELOAD": str(BUILD / "tests/chaos/libchaos_faults.so"),
                                         "CHAOS_FAULTS": str(faults[0].path)}
    with running(settings=settings, prepare=prepare) as system:
        yield system, faults[0]


def health(system):
    """As octet health shows it: exit status, words."""
    done = subprocess.run([BUILD / "cli/octet", "health", f"http://127.0.0.1:{system.metrics_port['learner']}"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def failed_writes(system):
    told = system.metrics("learner")
    return told["octet_learner_unsaved"], told["octet_learner_write_failures_total"]


def ends_well(system):
    """What failed once is not failed for ever."""
    system.processes["learner"].terminate()
    assert system.processes["learner"].wait(60) == 0, system.said("learner", "LEARNER-END")


def test_checkpoints_that_fail_are_seen_until_one_is_written():
    with with_a_faulty_disk("learner.checkpoint_s=0.1", "learner.metrics_s=1000") as (system, faults):
        assert health(system) == (0, "ok\n") and failed_writes(system) == (0, 0)
        saved = system.run / "checkpoint.oct"
        faults.begin("EIO", 1, FOR_EVER, CALLS["sync"])
        wait_for("a checkpoint to fail", lambda: "503 checkpoint.oct cannot be written: Input/output error" in health(system)[1])
        assert health(system)[0] == 1 and failed_writes(system)[0] == 1
        last, before = saved.read_bytes(), updates(system, "learner")
        wait_for("others to fail", lambda: failed_writes(system)[1] >= 3)
        wait_for("training to go on", lambda: updates(system, "learner") > before + 1000)
        assert saved.read_bytes() == last  # the old one stays
        faults.clear()
        wait_for("one to be written", lambda: health(system) == (0, "ok\n"))
        assert failed_writes(system)[0] == 0 and saved.read_bytes() != last
        log = (system.folder / "learner.log").read_text()
        assert log.count("checkpoint.oct: Input/output error; the old file is kept") == log.count("checkpoint.oct can be written again") == 1
        ends_well(system)


def test_a_row_that_fails_is_no_failed_run():
    with with_a_faulty_disk("learner.checkpoint_s=1000", "learner.metrics_s=0.05") as (system, faults):
        def rows():
            return (system.run / "metrics.csv").read_text().splitlines()
        wait_for("rows", lambda: len(rows()) > 3)
        faults.begin("ENOSPC", 1, 2, CALLS["write"])
        wait_for("a row to fail", lambda: failed_writes(system)[1] >= 1)
        before = len(rows())
        wait_for("rows to come again", lambda: len(rows()) > before + 3)
        assert health(system) == (0, "ok\n")
        assert system.said("learner", "LEARNER-WRITE") and system.said("learner", "LEARNER-WRITTEN")
        ends_well(system)
        assert len({row.count(",") for row in rows()}) == 1  # each is whole


def test_memory_that_a_group_above_denies_is_not_there():
    """As under Slurm and systemd, where the group that has the limit is one above that of the process: a table that the machine
    could hold is refused in words."""
    place = memory_groups()
    if place is None:
        print("SKIPPED: no memory control groups can be made here")
        return 77
    above = place / f"octet-hostile-{os.getpid()}"
    below = above / "step/task"
    below.mkdir(parents=True)
    try:
        (above / MEMORY[place][0]).write_text(str(256 << 20))
        with tempfile.TemporaryDirectory(prefix="octet-hostile-") as folder:
            done = subprocess.run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', below, BUILD / "cli/octet", "train",
                                   CARTPOLE, "--run-dir", pathlib.Path(folder) / "run", "--no-ui", "--set", "replay.path=none",
                                   "--set", "replay.capacity=10000000"], capture_output=True, text=True, check=False)
        told = re.search(r"replay.capacity: 10000000 rows take [0-9.]+ [MG]iB, but ([0-9.]+) MiB of memory are available", done.stderr)
        assert done.returncode == 1 and told and float(told[1]) <= 256, done
        return 0
    finally:
        wait_for("the group to be empty", lambda: not (below / "cgroup.procs").read_text())
        for group in (below, below.parent, above):
            group.rmdir()


PROGRAMS = {
    "replay": ["replay/octet-replay"],
    "relay": ["relay/octet-relay"],
    "learner": ["learner/octet-learner", CARTPOLE, "--run-dir", "run"],
    "actor": ["actor/octet-actor"],
    "octet": ["cli/octet", "status", "--learner", "ipc://learner.ipc"],
}


def played(what, command, has_handler=True, **options):
    """The exit code of a program that ends, or is up and told to end. has_handler: it is up when it can be told so."""
    process = subprocess.Popen(command, **options)
    try:
        wait_for(what, lambda: process.poll() is not None or has_signal(process.pid, "SigCgt", signal.SIGTERM))
        if has_handler:
            process.terminate()
        return process.wait(60)
    finally:
        process.kill()


def starts(folder, name, user, processes):
    """A program whose user may have so many processes and threads: None where it starts, else how many threads it says it needs."""
    program, *arguments = PROGRAMS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chown(folder, user, user)
    log = folder.parent / "log"
    with open(log, "w", encoding="utf-8") as file:
        code = played(f"{name} with {processes} processes", [BUILD / program, *arguments], name != "octet", cwd=folder, user=user,
                      group=user, extra_groups=[], stdout=file, stderr=subprocess.STDOUT,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes)))
    words = log.read_text(encoding="utf-8")
    needed = re.search(r'NET-LOOP error="no more threads can be started, and ([0-9]+) are needed here', words)
    assert code == (1 if needed or name == "octet" else 0), (name, processes, code, words)
    return None if needed is None else int(needed[1])


def test_a_limit_on_processes_is_told():
    """As ulimit -u and the pids.max of a container: with too few threads a program says how many it needs, with more it works."""
    user = (1 << 30) + os.getpid()  # nobody else's, as the limit is of all processes of a user
    with tempfile.TemporaryDirectory(prefix="octet-hostile-") as folder:
        os.chmod(folder, 0o755)
        may_run = os.geteuid() == 0 and subprocess.run([BUILD / "cli/octet", "--version"], user=user, group=user, extra_groups=[],
                                                       stdout=subprocess.DEVNULL, check=False).returncode == 0
        if not may_run:
            print("SKIPPED: not root, or another user may not run the programs here")
            return 77
        place = pathlib.Path(folder) / "work"
        for name in PROGRAMS:
            needed = starts(place, name, user, 1)
            limits = set(range(2, 20)) | set(range(needed - 1, needed + 2))
            told = {limit: starts(place, name, user, limit) for limit in limits}
            assert all(told[limit] == needed for limit in limits if limit <= needed), (name, told)
            assert told[needed + 1] is None, (name, told)  # and with the main thread
    return 0


def starts_with_files(folder, name, files):
    """A program that may have so many files open: whether it starts; else it says what it needs."""
    program, *arguments = PROGRAMS[name]
    folder.mkdir(exist_ok=True)
    log = folder / f"{name}.log"
    with open(log, "w", encoding="utf-8") as file:
        code = played(f"{name} with {files} files", [BUILD / program, *arguments], name != "octet", cwd=folder, stdout=file,
                      stderr=subprocess.STDOUT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    words = log.read_text(encoding="utf-8")
    is_told = "NET-LOOP error=\"Too many open files: " in words and "raise the limit on open files (ulimit -n" in words
    assert code == (1 if is_told or name == "octet" else 0), (name, files, code, words)
    return not is_told


def test_a_limit_on_open_files_is_told():
    """As ulimit -n: with too few files a program says how many it needs, with more it works."""
    with tempfile.TemporaryDirectory(prefix="octet-hostile-") as folder:
        for name in PROGRAMS:
            told = {files: starts_with_files(pathlib.Path(folder), name, files) for files in (8, 16, 32, 64, 128)}
            assert told == {8: False, 16: False, 32: False, 64: False, 128: True}, (name, told)


def test_programs_start_without_standard_descriptors():
    """What they open is not taken for their output."""
    with tempfile.TemporaryDirectory(prefix="octet-hostile-") as folder:
        for name in ("replay", "relay", "learner", "actor"):
            program, *arguments = PROGRAMS[name]
            code = played(f"{program} to be up", ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BUILD / program, *arguments], cwd=folder)
            assert code == 0, (name, code)


def test_a_limit_on_addresses_ends_in_words():
    """As ulimit -v and -d: what OpenBLAS wants for the threads that it would start keeps no program from its end."""
    if len(os.sched_getaffinity(0)) < 2:
        print("SKIPPED: OpenBLAS starts no threads where there is one CPU")
        return 77
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    with tempfile.TemporaryDirectory(prefix="octet-hostile-") as folder:
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            def few(program, *arguments, limit=limit):
                return subprocess.run([BUILD / program, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                                      check=False, timeout=120, preexec_fn=lambda: resource.setrlimit(limit, (200 << 20, 200 << 20)))
            done = few("cli/octet", "--version")
            assert done.returncode == 0 and done.stdout.startswith("octet "), done
            done = few("learner/octet-learner", CARTPOLE, "--run-dir", "run")
            assert re.search(r"raise the limit on processes or on memory \(ulimit -u, ulimit -v|out of memory: [0-9]+ bytes", done.stderr), done
    return 0


if __name__ == "__main__":
    sys.exit(run_named(globals()))
