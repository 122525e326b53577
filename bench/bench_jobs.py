"""Many runs at a time, which Ctrl-C or SIGTERM ends all together; and the lock of a folder in which one is made."""

import concurrent.futures
import contextlib
import errno
import fcntl
import signal
import subprocess
import sys
import threading

HAS_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # a file system


@contextlib.contextmanager
def locked(run):
    """Holds the folder of a run, which need not be there, by a lock beside it. Ends the program if another one holds it."""
    with open(run.with_name(f"{run.name}.lock"), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"{run}: another measurement is making this run. Wait for it, or name another folder with --runs.")
        except OSError as error:
            if error.errno not in HAS_NO_LOCKS:
                raise
        yield


class Stopped(Exception):
    """Ctrl-C: the run was ended, or not begun."""


class Runs:
    """The processes that run now, so that Ctrl-C reaches each of them once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.live, self.is_stopped = set(), False

    def run(self, command, begun=None):
        """Waits for a command, which gets SIGINT when all are stopped. begun(process) is called when it has begun."""
        with self.lock:
            if self.is_stopped:
                raise Stopped
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True, start_new_session=True)
            self.live.add(process)
        if begun:
            begun(process)
        _, errors = process.communicate()
        with self.lock:
            self.live.discard(process)
            if self.is_stopped:
                raise Stopped
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {process.returncode}\n{errors}")

    def stop(self):
        with self.lock:
            self.is_stopped = True
            for process in self.live:
                process.send_signal(signal.SIGINT)


def run_all(runs, make, jobs, at_once):
    """Calls make(job) for every job, in threads: the exit status of the program. Runs that fail are reported, and the others made."""
    failed = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(make, job) for job in jobs]
        try:
            for done in concurrent.futures.as_completed(waiting):
                if isinstance(done.exception(), (RuntimeError, SystemExit)):
                    print(done.exception(), file=sys.stderr, flush=True)
                    failed += 1
                elif done.exception() is not None and not isinstance(done.exception(), Stopped):
                    raise done.exception()
        except KeyboardInterrupt:
            print("stopping: the same command continues next time", file=sys.stderr, flush=True)
            return 130
        finally:  # nothing else begins, whatever ended it
            runs.stop()
            for future in waiting:
                future.cancel()
    return 1 if failed else 0
