"""Ends everything that an environment started. env_gym.c runs this text before that of env_gym_worker.py.

The process that the host starts becomes the keeper: it forks the worker, which steps environments, and waits.

1. Linux makes the keeper the parent of every process below it that loses its own parent (PR_SET_CHILD_SUBREAPER), also of
   processes that left its group and session. So it finds them all.
2. The worker ends: the keeper kills what is left below it, and ends as the worker did, with its exit code or by its signal.
3. The host ends, even by SIGKILL: the pipe of descriptor 4 closes. The keeper kills all. The worker is killed by the kernel.
4. The host sends SIGTERM, for a worker that hangs: the keeper kills all. A SIGINT is passed on to the worker.
5. The keeper is killed: the kernel kills the worker (PR_SET_PDEATHSIG). Only then processes that the worker started remain.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

SET_PDEATHSIG, SET_NAME, SET_CHILD_SUBREAPER = 1, 15, 36  # prctl
KILL_S = 10.0  # a process that does not die by then is stuck in the kernel, or belongs to another user


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)


def children():
    """Returns the processes whose parent this is."""
    own = str(os.getpid())
    try:
        with open(f"/proc/self/task/{own}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # Linux was built without this file
        pass
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            if file.read().rpartition(b")")[2].split()[1] == own.encode():
                found.append(int(pid))
    return found


def kill_all(statuses):
    """Kills all processes below this one. A process that loses its parent becomes a child of this one, so this repeats."""
    until = time.monotonic() + KILL_S
    while time.monotonic() < until:
        for pid in children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not reap(statuses):
            return
        time.sleep(0.002)


def reap(statuses):
    """Adds how children ended. Returns False if there are none left."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            statuses[ended[0]] = ended[1]
    except ChildProcessError:
        return False
    return True


def end_as(status):
    """Ends this process as another one ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the other one has left a core file already
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def keep(worker):
    """Waits for the end of the worker or of the host."""
    os.close(3)  # otherwise the host would not see that the worker has closed it
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the host starts this with it blocked
    prctl(SET_NAME, b"octet-keeper")
    poll, statuses = select.poll(), {}
    poll.register(woken, select.POLLIN)
    poll.register(4, 0)
    while reap(statuses) and worker not in statuses:
        ready = dict(poll.poll())
        numbers = os.read(woken, 4096) if woken in ready else b""
        if 4 in ready or signal.SIGTERM in numbers:
            break
        if signal.SIGINT in numbers:
            os.kill(worker, signal.SIGINT)
    kill_all(statuses)
    end_as(statuses.get(worker, signal.SIGKILL))


def begin():
    """Returns in the worker."""
    keeper = os.getpid()
    prctl(SET_CHILD_SUBREAPER, 1)
    sys.stdout.flush()
    worker = os.fork()
    if worker != 0:
        try:
            keep(worker)
        finally:
            os._exit(1)
    prctl(SET_CHILD_SUBREAPER, 0)
    prctl(SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)


begin()

