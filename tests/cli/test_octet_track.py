#!/usr/bin/env python3
"""octet track: which rows are sent, once each, whatever happens in between; and what real trackers then have.

usage: test_octet_track.py alone|mlflow|trackio OCTET_TRACK.PY OCTET

alone uses a tracker that writes into a file; the others need the package of their name in this Python, in $OCTET_TEST_PYTHON or
in python3, and are skipped (77) without.
"""

import fcntl
import importlib.util
import json
import os
import pathlib
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest.mock

WAY, PROGRAM, OCTET = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
spec = importlib.util.spec_from_file_location("octet_track", PROGRAM)
octet_track = importlib.util.module_from_spec(spec)
spec.loader.exec_module(octet_track)

DEADLINE_S = 60
HEADER = "wall_s,time_s,env_steps,updates,loss,eval_return\n"
CONFIG = 'run:\n  seed: 3\nenv:\n  id: "CartPole-v1"\nnetwork:\n  hidden: [32, 32]\n'
OFFLINE = 'replay:\n  data: "/home/me/pole.data"\n  data_share: 1\n'
SUMMARY = {"return": {"mean": 490.5}, "env_steps": 500, "supervisor": {"exit_reason": "finished"}}


class Fake:
    """Keeps what it is sent; breaks where it is told to."""
    repeats = False
    sent, ended, started, breaks_at = [], [], [], None

    def __init__(self, project, name, place, config, again):
        self.run = again or "r1"
        Fake.started.append((project, name, place, config, again))

    def send(self, row):
        if Fake.breaks_at == len(Fake.sent):
            Fake.breaks_at = None
            raise RuntimeError("no connection")
        Fake.sent.append(row)

    def end(self, numbers, failed, time_s):
        Fake.ended.append((numbers, failed, time_s))

    def leave(self):
        Fake.ended.append(None)


class Again(Fake):
    repeats = True


def busy(signals):
    """As a package that waits for a server that is down, while these signals come."""
    for number in signals:
        os.kill(os.getpid(), number)
    threading.Event().wait(DEADLINE_S)
    raise AssertionError("signals did not end it")


class BusyFirst(Fake):
    number = signal.SIGTERM

    def __init__(self, *arguments):
        super().__init__(*arguments)
        busy([BusyFirst.number])


class BusySend(Fake):
    signals = []

    def send(self, row):
        super().send(row)
        for number in BusySend.signals[:1]:
            os.kill(os.getpid(), number)
        if BusySend.signals[1:]:
            busy(BusySend.signals[1:])


class Starts(Fake):
    """Starts a Python in the current folder, as wandb and trackio do."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        Starts.code = subprocess.run([sys.executable, "-m", "of_this_folder"], capture_output=True, check=False).returncode


def run_folder(home, rows, summary=SUMMARY, more=""):
    run = pathlib.Path(home) / "run"
    run.mkdir(exist_ok=True)
    (run / "config.yaml").write_text(CONFIG + more)
    (run / "metrics.csv").write_text(HEADER + "".join(rows))
    (run / "summary.json").write_text(json.dumps(summary))
    return run


def row(i, value=""):
    return f"{i}.5,{1000 + i},{100 * i},{10 * i},{0.5 * i},{value}\n"


def track(run, every=0, kind=Fake, code=0):
    octet_track.TRACKERS["wandb"] = kind
    got = octet_track.main([str(run), "wandb", "", "", "", str(every)])
    assert got == code, got
    return [r["env_steps"] for r in Fake.sent]


def clear():
    Fake.sent, Fake.ended, Fake.started, Fake.breaks_at = [], [], [], None


def check_rows_configuration_and_result(home):
    run = run_folder(home, [row(1), row(2, 7), row(3)])
    assert track(run) == [100, 200, 300]
    assert Fake.sent[1] == {"wall_s": 2.5, "time_s": 1002, "env_steps": 200, "updates": 20, "loss": 1.0, "eval_return": 7}
    assert "eval_return" not in Fake.sent[0]
    project, name, _, config, again = Fake.started[0]
    assert (project, name, again) == ("CartPole-v1", "run", None)
    assert config == {"run.seed": "3", "env.id": "CartPole-v1", "network.hidden": "[32, 32]"}, config
    assert Fake.ended == [({"final.return": 490.5, "final.env_steps": 500.0}, False, 1003.0)], Fake.ended


def check_what_a_tracker_starts_imports_nothing_from_the_current_folder(home):
    run, before = run_folder(home, [row(1)]).resolve(), os.getcwd()
    (pathlib.Path(home) / "of_this_folder.py").touch()
    os.chdir(home)
    try:
        track(run, kind=Starts)
    finally:
        os.chdir(before)
    assert Starts.code != 0 or sys.version_info < (3, 11)


def check_thinned_rows_keep_the_newest_of_each_number(home):
    run = run_folder(home, [row(1), row(2, 7), row(3), row(4), row(5)])
    assert track(run, every=3) == [100, 400, 500]
    assert Fake.sent[1]["eval_return"] == 7 and Fake.sent[1]["loss"] == 2.0


def check_again_sends_what_is_new(home):
    run = run_folder(home, [row(1), row(2)])
    assert track(run) == [100, 200]
    assert track(run) == [100, 200] and len(Fake.started) == 1
    with open(run / "metrics.csv", "a", encoding="utf-8") as file:
        file.write(row(3))
    assert track(run) == [100, 200, 300]
    assert Fake.started[1][4] == "r1"


def check_a_table_that_was_joined_is_no_new_one(home):
    run = run_folder(home, [row(1), row(2), row(3), row(4)])
    assert len(track(run)) == 4
    (run / "metrics.csv").unlink()
    run_folder(home, [row(2), row(4), row(5)])
    assert track(run) == [100, 200, 300, 400, 500]


def check_a_resumed_run_goes_on_at_earlier_steps(home):
    run = run_folder(home, [row(1), row(2), row(3)])
    track(run)
    with open(run / "metrics.csv", "a", encoding="utf-8") as file:
        file.write("2.7,1100,230,23,9,\n")
    assert track(run) == [100, 200, 300, 230]


def check_a_resumed_run_whose_clock_is_behind_loses_nothing(home):
    run = run_folder(home, [row(1), row(2), row(3)])
    track(run)
    more = [f"2.{i},70{i},23{i},23,9,\n" for i in range(1, 5)]
    with open(run / "metrics.csv", "a", encoding="utf-8") as file:
        file.write("".join(more[:2]))
    assert track(run) == [100, 200, 300, 231, 232]
    # Old rows were joined meanwhile, and these came.
    (run / "metrics.csv").unlink()
    run_folder(home, [row(3), *more[1:]])
    assert track(run) == [100, 200, 300, 231, 232, 233, 234]
    # The last one that was sent is in another row.
    (run / "metrics.csv").unlink()
    run_folder(home, [row(3), more[1], "2.9,709,239,23,9,\n"])
    assert track(run) == [100, 200, 300, 231, 232, 233, 234, 239]


def check_a_tracker_that_breaks_doubles_nothing(home):
    run = run_folder(home, [row(i) for i in range(1, 6)])
    Fake.breaks_at = 2
    assert track(run, code=1) == [100, 200]
    assert track(run) == [100, 200, 400, 500]  # 300 may have arrived
    clear()
    (run / "track-wandb.json").unlink()
    Fake.breaks_at = 2
    assert track(run, kind=Again, code=1) == [100, 200]
    assert track(run, kind=Again) == [100, 200, 300, 400, 500]  # twice would be the same


def check_half_lines_and_rubbish_are_passed_over(home):
    run = run_folder(home, [row(1), "1,2\n", "nan,nan,nan,nan,nan,nan\n", row(2), "\xff,,,,,\n", "3.5,1003,300"])
    assert track(run) == [100, 200]


def check_damaged_notes_are_told(home):
    run = run_folder(home, [row(1)])
    (run / "track-wandb.json").write_text("{")
    assert track(run, code=1) == []


def follow_while_locked(home, name):
    """The run goes on, and ends, while the tracker waits for it: it waits only for a live one."""
    run = run_folder(home, [row(1)])
    with open(run / name, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def wait(_):
            with open(run / "metrics.csv", "a", encoding="utf-8") as file:
                file.write(row(2))
            fcntl.flock(lock, fcntl.LOCK_UN)
        with unittest.mock.patch.object(octet_track.time, "sleep", wait):
            assert track(run) == [100, 200]
    assert len(Fake.ended) == 1


def check_a_live_run_is_followed_to_its_end(home):
    follow_while_locked(home, ".lock")


def check_a_live_learner_without_octet_train_is_followed(home):
    follow_while_locked(home, "learner.lock")


def check_a_run_whose_locks_are_anothers_goes_on_until_it_has_a_summary(home):
    run, user = run_folder(home, [row(1)]), os.geteuid()
    (run / "summary.json").unlink()
    (run / ".lock").touch(0)
    for ended, live in ((None, True), (-1, True), (1, False)):
        if ended:
            (run / "summary.json").write_text("{}", encoding="utf-8")
            began_ns = (run / "config.yaml").stat().st_mtime_ns
            os.utime(run / "summary.json", ns=(began_ns, began_ns + ended * 10**9))
        for path in (home, run):
            os.chmod(path, 0o755)
        if user == 0:
            os.seteuid(65534)
        try:
            assert octet_track.is_live(run) == live, ended
        finally:
            os.seteuid(user)


def check_a_signal_while_it_connects_ends_it(home):
    run = run_folder(home, [row(1)])
    for BusyFirst.number in [signal.SIGTERM, signal.SIGINT]:
        assert track(run, kind=BusyFirst, code=128 + BusyFirst.number) == []
        assert not (run / "track-wandb.json").exists()
    assert track(run) == [100]


def locked(run):
    lock = open(run / ".lock", "wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def check_a_signal_lets_the_row_arrive_and_a_second_does_not(home):
    run = run_folder(home, [row(1), row(2)])
    with locked(run), unittest.mock.patch.object(octet_track.time, "sleep", lambda _: None):
        BusySend.signals = [signal.SIGTERM]
        assert track(run, kind=BusySend) == [100]
        assert Fake.ended == [None], Fake.ended
        BusySend.signals = [signal.SIGINT, signal.SIGTERM]
        assert track(run, kind=BusySend, code=143) == [100, 200]
        assert Fake.ended == [None], Fake.ended
        (run / "metrics.csv").write_text(HEADER + row(1) + row(2) + row(3))
    assert track(run) == [100, 200, 300]


PACKAGE = '''import os, signal, time
id, summary = "r1", {}
def init(**_): import wandb; return wandb
def define_metric(*_, **__): pass
def sleeps():
    with open(f"/proc/{os.getppid()}/status") as status:
        return int(status.read().split("\\nvoluntary_ctxt_switches:")[1].split()[0])
def log(_):
    os.setpgid(0, 0)  # out of what the terminal has in front: only what octet passes on comes here
    signal.signal(signal.SIGINT, lambda *_: os.write(1, b"passed on\\n"))
    before, end = sleeps(), time.monotonic() + DEADLINE_S
    os.write(1, b"ready\\n")
    while sleeps() == before and time.monotonic() < end: pass
    os.write(1, b"octet has had it, and waits again\\n")
def finish(**_): os.write(1, b"finished\\n")
'''


def read_until(terminal, end):
    said = b""
    while end not in said:
        assert select.select([terminal], [], [], DEADLINE_S)[0], said
        said += os.read(terminal, 4096)
    return said


def check_ctrl_c_of_a_terminal_is_not_passed_on(home):
    """Octet's Python has had it from the terminal: it would be a second one. SIGTERM is passed on."""
    run = run_folder(home, [row(1)])
    (pathlib.Path(home) / "wandb.py").write_text(PACKAGE.replace("DEADLINE_S", str(DEADLINE_S)))
    with locked(run):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(OCTET, [OCTET, "track", run, "--to", "wandb", "--every", "0"],
                      {**os.environ, "OCTET_PYTHON": sys.executable, "PYTHONPATH": home})
        read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        said = read_until(terminal, b"waits again")
        os.kill(child, signal.SIGTERM)
        said += read_until(terminal, b"1 row of")
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert b"passed on" not in said and b"finished" in said, said
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM, status


def check_updates_are_the_steps_of_a_run_without_steps(home):
    for more, key in [("", "env_steps"), (OFFLINE, "updates"), (OFFLINE.replace("share: 1", "share: 0.5"), "env_steps")]:
        config = octet_track.config_of(run_folder(home, [], more=more))
        with unittest.mock.patch.dict(sys.modules, wandb=unittest.mock.MagicMock(), trackio=unittest.mock.MagicMock()):
            octet_track.WandB("p", "n", "", config, None)
            calls = sys.modules["wandb"].init.return_value.define_metric.call_args_list
            assert calls == [unittest.mock.call(key), unittest.mock.call("*", step_metric=key)], calls
            octet_track.Trackio("p", "n", "", config, None).send({"env_steps": 700.0, "updates": 70.0})
            assert sys.modules["trackio"].log.call_args.kwargs == {"step": {"env_steps": 700, "updates": 70}[key]}


def check_places_that_mlflow_does_not_have(home):
    run = run_folder(home, [row(1)])
    done = subprocess.run([OCTET, "track", run, "--to", "mlflow", "--place", "file:./x"], capture_output=True, text=True,
                          env={**os.environ, "OCTET_PYTHON": sys.executable}, check=False, timeout=120)
    assert done.returncode == 1, done
    assert "octet track: error: " in done.stderr, done.stderr


def real(home, kind, config="", **more):
    run = run_folder(home, [row(i, 10 * i) for i in range(1, 6)], more=config)
    command = [OCTET, "track", run, "--to", kind, "--project", "p", "--every", "0"]
    for _ in range(2):
        subprocess.run([*map(str, command), *more.pop("options", [])], check=True, timeout=240, cwd=home,
                       env={**os.environ, "OCTET_PYTHON": sys.executable, **more})
        with open(run / "metrics.csv", "a", encoding="utf-8") as file:
            file.write(row(6, 60))
    return run


def mlflow_steps(base):
    return base.execute("select step, value from metrics where key = 'eval_return' order by step").fetchall()


def check_mlflow_has_each_number_once(home):
    real(home, "mlflow", MLFLOW_TRACKING_URI=f"sqlite:///{home}/m.db")
    with sqlite3.connect(f"{home}/m.db") as base:
        found = mlflow_steps(base)
        assert found == [(100 * i, 10.0 * i) for i in range(1, 7)], found
        assert base.execute("select value from params where key = 'network.hidden'").fetchall() == [("[32, 32]",)]
        assert base.execute("select count(*), min(status) from runs").fetchall() == [(1, "FINISHED")]
        assert base.execute("select distinct value from metrics where key = 'final.return'").fetchall() == [(490.5,)]


def check_mlflow_has_updates_as_steps_of_a_run_without_steps(home):
    real(home, "mlflow", config=OFFLINE, MLFLOW_TRACKING_URI=f"sqlite:///{home}/m.db")
    with sqlite3.connect(f"{home}/m.db") as base:
        found = mlflow_steps(base)
        assert found == [(10 * i, 10.0 * i) for i in range(1, 7)], found


def check_trackio_has_each_row_once(home):
    real(home, "trackio", TRACKIO_DIR=f"{home}/t")
    files = [path for path in pathlib.Path(home, "t").glob("*.db")]
    assert len(files) == 1, files
    with sqlite3.connect(files[0]) as base:
        found = [json.loads(text) for (text,) in base.execute("select metrics from metrics order by id")]
    steps = [numbers["env_steps"] for numbers in found if "env_steps" in numbers]
    assert steps == [100 * i for i in range(1, 7)], found


def with_package():
    """Goes on in an interpreter that has the package, if there is one."""
    for python in [sys.executable, os.environ.get("OCTET_TEST_PYTHON"), "python3"]:
        if python and subprocess.run([python, "-c", f"import {WAY}"], capture_output=True, check=False).returncode == 0:
            if python != sys.executable:
                os.execvp(python, [python, *sys.argv])
            return
    print(f"SKIPPED: no python has {WAY} (from PyPI; $OCTET_TEST_PYTHON names one)")
    sys.exit(77)


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]
REAL = {package: [check for check in CHECKS if check.__name__.startswith(f"check_{package}_")] for package in ("mlflow", "trackio")}
ALONE = [check for check in CHECKS if not any(check in checks for checks in REAL.values())]

if WAY != "alone":
    with_package()
for check in ALONE if WAY == "alone" else REAL[WAY]:
    with tempfile.TemporaryDirectory(prefix="octet-track-") as folder:
        clear()
        print(check.__name__, flush=True)
        check(folder)
