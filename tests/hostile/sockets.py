#!/usr/bin/env python3
"""Local users at the sockets of a run's daemons: those behind the gate, and those of daemons that meet without TLS.

usage: sockets.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from attack import LEARNER, STATUS, request  # noqa: E402
from daemons import HOME, NEVER_S, free_port, get, kill_all, log_lines, run_named, wait_for  # noqa: E402
from hostile import BUILD, CARTPOLE, ENDLESS, running, updates  # noqa: E402

NOBODY = 65534
LISTENS = 0x10000  # a flag of /proc/net/unix
KNOCKS = 200  # at each socket, in a round
ROUNDS = 20


def listening(pid):
    """Where a process listens on this machine alone: absolute paths, or abstract names, which begin with '@'."""
    held, base = set(), os.readlink(f"/proc/{pid}/cwd")
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            held.add(os.readlink(descriptor))
    lines = [line.split(None, 7) for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]]
    mine = [line[7] for line in lines if len(line) == 8 and int(line[3], 16) & LISTENS and f"socket:[{line[6]}]" in held]
    return [name if name[0] == "@" else os.path.join(base, name) for name in mine]


# For the status, as NNG's ipc has it.
CALL = b"\0SP\0\0\x30\0\0\1" + request(LEARNER, STATUS)
GET = b"GET /metrics HTTP/1.0\r\n\r\n"
SP_REP = b"\0SP\0\0\x31\0\0"
GREETING = 8  # bytes that NNG sends to everybody


def call(path, data):
    """What is heard there, by one that says this, until the connection is closed."""
    got = b""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(NEVER_S)
        peer.connect(str(path))
        with contextlib.suppress(ConnectionError):
            peer.sendall(data)
            while part := peer.recv(65536):
                got += part
    return got


def start_as_another_user(function):
    """(process, pipe): a process of nobody's calls function(descriptor of the pipe), and tells the name of its error."""
    come, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            function(go)
        except OSError as error:
            os.write(go, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(go)
    return child, open(come, "rb")


def heard_by_another_user(path, data):
    """What call() gives to a process of nobody's, or the name of its error; None: only root can start one."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can start a process of another user")
        return None
    child, pipe = start_as_another_user(lambda go: os.write(go, call(path, data)))
    with pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def knock(paths):
    """Connects to each and goes at once; how many were accepted."""
    accepted = 0
    for path in paths:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.setblocking(False)
            with contextlib.suppress(BlockingIOError):  # more wait than its backlog takes
                peer.connect(path)
                accepted += 1
    return accepted


# ---- behind TLS

def test_sockets_behind_the_gate_are_the_daemons_own():
    """None is abstract, and none is within another user's reach; those of NNG answer nobody who did not come through the gate."""
    with running(insecure=False) as system:
        https = system.base + 20
        system.actor("shown", "--metrics", f"https://{HOME}:{https}", measured=False)
        wait_for("it to act", lambda: system.said("shown", "ACTOR-START"))
        status, text = get(https, certs=system.certs / "operator")
        assert status == 200 and "octet_actor_rows_total" in text
        assert get(https, certs=system.certs / "attacker") is None and get(https) is None
        for name in ("replay", "learner", "shown"):
            places = listening(system.processes[name].pid)
            assert places, name
            for place in places:
                path = pathlib.Path(place)
                assert place[0] == "/" and stat.S_IMODE(path.stat().st_mode) == 0o600, (name, place)
                assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700, (name, place)
                assert heard_by_another_user(path, GET) in (None, b"PermissionError"), (name, place)
                assert name == "shown" or len(call(path, CALL)) <= GREETING, (name, place)
        before = updates(system, "learner")
        wait_for("training to go on", lambda: updates(system, "learner") > before + 1000)


def test_sockets_behind_the_gate_outlive_who_goes_at_once():
    """Whoever connects there and goes before NNG has heard of him would make NNG 1.5 by itself take nobody any more."""
    with running(insecure=False) as system:
        for _ in range(ROUNDS):
            for name in ("replay", "learner"):
                assert knock(KNOCKS * listening(system.processes[name].pid)) > 0, name
            assert system.another() is not None
        for name in ("replay", "learner"):
            assert get(system.metrics_port[name], "/healthz") == (200, "ok\n"), name
            assert not system.said(name, "NET-GATE-STUCK"), name


def test_sockets_behind_the_gate_may_lose_their_names():
    """Their folders are gone, as those in XDG_RUNTIME_DIR when the session of the user has ended, or those that a sweeper of /tmp has
    removed: an actor and an operator get in all the same."""
    with running(insecure=False) as system:
        https = system.base + 20
        system.actor("shown", "--metrics", f"https://{HOME}:{https}", measured=False)
        wait_for("it to act", lambda: system.said("shown", "ACTOR-START"))
        for name in ("replay", "learner", "shown"):
            for folder in {os.path.dirname(place) for place in listening(system.processes[name].pid)}:
                shutil.rmtree(folder)
        assert system.another() is not None
        status, text = get(https, certs=system.certs / "operator")
        assert status == 200 and "octet_gate_relistened_total 0" in text
        for name in ("replay", "learner"):
            assert get(system.metrics_port[name], "/healthz") == (200, "ok\n"), name
            assert system.number(name, "octet_gate_relistened_total") == 0, name


# ---- without TLS

@contextlib.contextmanager
def local():
    """A run of octet train, whose daemons meet at sockets in its folder: (folder, {daemon: its sockets})."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-hostile-"))
    settings = [word for setting in ENDLESS for word in ("--set", setting)]
    train = subprocess.Popen([BUILD / "cli/octet", "train", CARTPOLE, "--run-dir", folder / "run", "--no-ui", *settings],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        log = folder / "run/log/learner.log"
        wait_for("training", lambda: log.exists() and list(log_lines(log, "LEARNER-START")))
        yield folder, train
    finally:
        train.send_signal(signal.SIGINT)
        train.wait(NEVER_S)
        shutil.rmtree(folder)


def children(process):
    """{process number: name} of the daemons that it has started."""
    found = {}
    # No pattern below the process: glob raises where one ends while it looks inside.
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, rest = (place / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if int(rest.split()[1]) == process.pid:
                found[int(place.name)] = name
    return found


def test_local_sockets_are_for_one_user():
    """Their mode keeps others out; where somebody has changed it, the daemon does."""
    with local() as (folder, train):
        places = {name: listening(pid) for pid, name in children(train).items()}
        assert sum(len(some) for some in places.values()) >= 5, places  # three of replay, two of the learner
        folder.chmod(0o755)
        (folder / "run").chmod(0o755)
        for path in (pathlib.Path(place) for some in places.values() for place in some):
            assert path.is_absolute(), path  # no abstract name
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            assert heard_by_another_user(path, CALL) in (None, b"PermissionError"), path
            path.chmod(0o666)
            assert len(heard_by_another_user(path, CALL) or b"") <= GREETING, path


def test_the_socket_of_another_user_is_not_used():
    """Whoever made a socket where the learner's should be is told nothing."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can start a process of another user")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-hostile-"))
    os.chown(folder, NOBODY, NOBODY)
    path = folder / "learner.ipc"

    def pose(go):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            while True:
                peer, _ = listener.accept()
                with peer, contextlib.suppress(OSError):
                    peer.sendall(SP_REP)
                    while part := peer.recv(65536):
                        os.write(go, part)
    child, pipe = start_as_another_user(pose)
    actors = []
    try:
        wait_for("it to listen", path.exists)
        with open(folder / "actor.log", "wb") as log:
            actors.append(subprocess.Popen([BUILD / "actor/octet-actor", "--learner", f"ipc://{path}"], stderr=log))
        wait_for("the actor to refuse", lambda: f"a process of user {NOBODY} listens there" in (folder / "actor.log").read_text())
    finally:
        kill_all(actors)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shutil.rmtree(folder)
    with pipe:
        heard = pipe.read()
    assert b"OCT" not in heard, heard
    return 0


def test_health_notices_a_socket_at_which_nobody_is_let_in():
    """Its name is gone, as of one that a sweeper of /tmp has removed. tests/net/test_net_acceptor.c shows that the process ends
    after half a minute of it."""
    folder, port = pathlib.Path(tempfile.mkdtemp(prefix="octet-hostile-")), free_port(1)
    log = folder / "replay.log"
    with open(log, "wb") as out:
        replay = subprocess.Popen([BUILD / "replay/octet-replay", "--listen", f"ipc://{folder}/replay.ipc", "--metrics",
                                   f"http://{HOME}:{port}"], stderr=out)
    try:
        wait_for("it to listen", lambda: list(log_lines(log, "REPLAY-READY")))
        assert get(port, "/healthz") == (200, "ok\n")
        os.unlink(listening(replay.pid)[0])
        said = wait_for("it to notice", lambda: (answer := get(port, "/healthz"))[0] == 503 and answer)
        assert said[1] == "1 of its local sockets accept no connections\n", said
    finally:
        kill_all([replay])
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_named(globals()))
