"""What the tests of running daemons share: conditions with a deadline, the end of processes, free ports,
certificates, metrics, tests by name.

OCTET_TEST_PATIENCE (1): deadlines are that many times as long, for slow machines.
OCTET_TEST_TIMES (0): 1 makes requirements that are times decide, on a machine that does nothing else (in_time).
"""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

PATIENCE = float(os.environ.get("OCTET_TEST_PATIENCE", "1"))
HOME = "127.0.0.1"
NEVER_S = 60  # without the event that is waited for: it does not come
PORTS_MAX = 32  # of one test
_port_blocks = []  # sockets whose names say which blocks of ports this process has


def wait_for(what, condition, deadline_s=150, pause_s=0.02, numbers=lambda: ""):
    """Polls until condition() gives something true, and gives that; fails at the deadline (times PATIENCE), with what
    numbers() says."""
    end = time.monotonic() + deadline_s * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {deadline_s * PATIENCE:.0f} s for {what}; {numbers()}".rstrip("; ")
        time.sleep(pause_s)


def has_signal(pid, which, number):
    """Whether a process catches (SigCgt) or ignores (SigIgn) a signal. A daemon catches SIGTERM when its sockets are open."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return bool(int(re.search(which + r":\s*([0-9a-f]+)", status)[1], 16) >> (number - 1) & 1)


def in_time(seconds, most_s):
    """Whether a requirement that is a time is met by what took seconds (None: it never came). Other programs of the machine take
    time as well, so that how long it took decides only where somebody asked for that."""
    return seconds is not None and (os.environ.get("OCTET_TEST_TIMES") != "1" or seconds <= most_s * PATIENCE)


def kill_if_there(pid, number=signal.SIGKILL):
    """What was looked up may have ended before it is sent a signal."""
    try:
        os.kill(int(pid), number)
    except ProcessLookupError:
        pass


def kill_all(processes):
    """Those that still run end at once, also those that are stopped, and have ended."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def free_port(count):
    """A port with count free ones from it on, below those that the kernel gives to outgoing connections. They are this process's
    as long as it lives: no test that runs at the same time is given them."""
    assert count <= PORTS_MAX
    blocks = 20000 // PORTS_MAX
    for tried in range(blocks):
        block = (os.getpid() + tried) % blocks
        base = 10000 + block * PORTS_MAX
        with contextlib.ExitStack() as held:
            try:
                mine = held.enter_context(socket.socket(socket.AF_UNIX))
                mine.bind(f"\0octet-test-ports-{block}")  # no file: the name goes with the process
                for port in range(base, base + count):
                    held.enter_context(socket.socket()).bind(("", port))
            except OSError:
                continue
            _port_blocks.append(mine.dup())
            return base
    raise AssertionError("no free ports")


def certificates(octet, folder, roles=("learner", "replay", "actor", "evaluator", "operator")):
    """A CA in folder, and in it a folder of certificates for each role (or role and name), for this machine; gives folder."""
    subprocess.run([octet, "certs", "init", "--dir", folder], check=True, capture_output=True)
    for role in roles:
        role, name = role if isinstance(role, tuple) else (role, role)
        subprocess.run([octet, "certs", "issue", role, name, "--host", HOME, "--host", "localhost", "--dir", folder],
                       check=True, capture_output=True)
    return folder


def get(port, path="/metrics", certs=None, timeout_s=30):
    """Status and body, with certs by https with the certificate in that folder; None when there is no answer."""
    if certs is None:
        connection = http.client.HTTPConnection(HOME, port, timeout=timeout_s)
    else:
        tls = ssl.create_default_context(cafile=certs / "ca.crt")
        tls.load_cert_chain(certs / "node.crt", certs / "node.key")
        connection = http.client.HTTPSConnection(HOME, port, timeout=timeout_s, context=tls)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def log_lines(log, identity):
    """The fields of each whole line of a daemon's log with this id, as dictionaries."""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        words = line.split(None, 4)
        if len(words) >= 4 and words[3] == identity and line.endswith("\n"):
            yield dict(re.findall(r'(?<!\S)([^\s="]+)=("[^"]*"|\S*)', words[4] if len(words) > 4 else ""))


def run_named(module):
    """PROGRAM OCTET TEST: runs the function test_… of module (its globals()); the exit status."""
    tests = {name: test for name, test in module.items() if name.startswith("test_")}
    if len(sys.argv) != 3 or sys.argv[2] not in tests:
        print(module["__doc__"], "tests:", *tests, sep="\n")
        return 2
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under nohup: what is started would ignore it, too
        signal.signal(signal.SIGHUP, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the finally clauses: nothing is left behind
    return tests[sys.argv[2]]() or 0
