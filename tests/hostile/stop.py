#!/usr/bin/env python3
"""SIGTERM in every state that hostile or missing peers bring about: saved, and gone (within 2 s where times decide: OCTET_TEST_TIMES=1).

usage: stop.py BUILD [STATE...]      BUILD: a build folder; without a state: all

The last line is "N passed, N failed".
"""

import contextlib
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from hostile import ALL, HERE, Checks, System, all_gone
from daemons import HOME, wait_for

LONG_S = 120


def attack(system, kind, ports, count, cert=None):
    spec = {"kind": kind, "ports": {n: system.ports[n] for n in ports}, "count": count, "seconds": LONG_S, "limit_s": LONG_S,
            "host": HOME, "source": "127.0.0.66", "nice": 5, "tls": str(system.certs / (cert or "actor"))}
    return subprocess.Popen([sys.executable, str(HERE / "attack.py"), json.dumps(spec)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL)


def accepted(system, name, more):
    """Waits until so many more strangers have come."""
    before = system.number(name, "octet_gate_accepted_total")
    wait_for("strangers", lambda: system.number(name, "octet_gate_accepted_total") >= before + more)


def training(_system, _stack):
    """Nothing is wrong."""


def flood(system, stack):
    """Forged batches by an actor's certificate."""
    ended(stack, attack(system, "forged", ["batches"], 1 << 30))
    wait_for("forged batches", lambda: system.number("replay", 'octet_gate_closed_total{reason="malformed"}') > 5)


def garbage(system, stack):
    """Connections of garbage on every port."""
    ended(stack, attack(system, "garbage", ALL, 1 << 30))
    accepted(system, "learner", 100)


def stalled(system, stack):
    """200 handshakes that do not go on."""
    ended(stack, attack(system, "silent", ALL, 200))
    accepted(system, "learner", 50)


def unread(system, stack):
    """Subscribers that never read, and calls whose answers nobody reads."""
    ended(stack, attack(system, "deaf", ["policies", "acks"], 40))
    ended(stack, attack(system, "mute", ["learner"], 4))
    accepted(system, "learner", 20)


def unfinished(system, stack):
    """Messages of 63 MiB of which a part has come."""
    ended(stack, attack(system, "partial", ["batches"], 4))
    wait_for("bytes", lambda: system.number("replay", "process_resident_memory_bytes") > 100e6)


def no_replay(system, _stack):
    """Replay was killed: the others redial."""
    system.processes["replay"].kill()
    system.processes["replay"].wait()
    wait_for("the learner to redial", lambda: system.said("learner", "NET-GATE-DIAL"))


def no_learner(system, _stack):
    """The learner was killed: actors redial."""
    system.processes["learner"].kill()
    system.processes["learner"].wait()
    wait_for("actors to redial", lambda: system.said("actor", "NET-GATE-DIAL") and system.said("evaluator", "NET-GATE-DIAL"))


def mute_replay(system, stack):
    """Where replay was, somebody accepts and says nothing: handshakes of ours that do not go on."""
    system.processes["replay"].kill()
    system.processes["replay"].wait()
    for name in ("replay", "batches", "acks"):
        listener = stack.enter_context(socket.create_server((HOME, system.ports[name]), reuse_port=False))
        if name == "replay":
            listener.settimeout(30)
            stack.enter_context(listener.accept()[0])


def stopped_replay(system, stack):
    """Replay is stopped: it is there and does not answer."""
    process = system.processes["replay"]
    process.send_signal(signal.SIGSTOP)
    stack.callback(process.send_signal, signal.SIGCONT)
    before = system.number("learner", "octet_learner_updates_total")
    wait_for("the learner to stand", lambda: stands(system, before))


def stands(system, _before):
    at = system.number("learner", "octet_learner_updates_total")
    time.sleep(0.3)  # nothing tells that nothing happens
    return system.number("learner", "octet_learner_updates_total") == at


STATES = [training, flood, garbage, stalled, unread, unfinished, no_replay, no_learner, mute_replay, stopped_replay]


def ended(stack, process):
    def end():
        process.kill()
        process.wait()
    stack.callback(end)


def play(check, build, state):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-stop-"))
    print(f"{state.__name__}: {state.__doc__}", flush=True)
    try:
        with System(build, folder) as system, contextlib.ExitStack() as stack:
            state(system, stack)
            names = [n for n in ("actor", "evaluator", "learner", "replay") if system.processes[n].poll() is None]
            if state is stopped_replay:
                names.remove("replay")  # it cannot hear
            asked = time.time()
            gone = system.stop(names)
            all_gone(check, gone)
            if not check.that(all(code == 0 for code, _ in gone.values()), f"exit codes {[c for c, _ in gone.values()]}"):
                for log in sorted(folder.glob("*.log")):
                    print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-8:], sep="\n")
            if "learner" in names:
                saved = system.run / "checkpoint.oct"
                check.that(saved.exists() and saved.stat().st_mtime >= asked - 0.02 and (system.run / "summary.json").exists(),
                           "checkpoint and summary were saved")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    known = {s.__name__: s for s in STATES}
    if len(sys.argv) < 2 or any(name not in known for name in sys.argv[2:]):
        print(__doc__, "states:", *known, sep="\n")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    check = Checks()
    for state in [known[name] for name in sys.argv[2:]] or STATES:
        play(check, sys.argv[1], state)
    print(f"{check.passed} passed, {len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
