"""The run that is disturbed: octet-replay with a file, octet-learner and two actors on this machine, and its audit.

Actors are octet-actor with a log of what was acknowledged (chaos_actor.c), their environments say which row is which
(chaos_env.c), and every daemon has a library before libc that fails as it is told (chaos_faults.c).
"""

import mmap
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import HOME, PATIENCE, free_port, kill_all, kill_if_there, wait_for  # noqa: E402

PORTS = 16
PAUSE_US = 2000  # of a step of eight environments: at most 4000 rows/s from each actor
SYNC_S = 0.05
DEADLINE_S = 60
# From chaos_faults.h.
FAULTS = ("none", "kill", "kill half", "EIO", "ENOSPC", "short")
CALLS = {"write": 1, "sync": 2, "name": 4, "size": 8}
ANY = 15


class Faults:
    """What one daemon's calls do; it outlives the daemon."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)
        struct.pack_into("<I", self.map, 28, ANY)

    def clear(self):
        struct.pack_into("<Q", self.map, 8, 0)

    def begin(self, what, after, count=1, kinds=ANY):
        """From the call that is so many after the last one on, so many calls of these kinds."""
        self.clear()
        struct.pack_into("<I", self.map, 28, kinds)
        at = self.calls + after
        struct.pack_into("<Q", self.map, 16, at + count - 1)
        struct.pack_into("<I", self.map, 24, FAULTS.index(what))
        struct.pack_into("<Q", self.map, 8, at)

    def skew(self, seconds):
        struct.pack_into("<q", self.map, 40, int(seconds * 1e9))

    @property
    def calls(self):
        return struct.unpack_from("<Q", self.map, 0)[0]

    @property
    def hits(self):
        return struct.unpack_from("<Q", self.map, 32)[0]

    @property
    def where(self):
        return self.map[48:176].split(b"\0")[0].decode()

    @property
    def shifted(self):
        return struct.unpack_from("<Q", self.map, 176)[0]


class Acks:
    """What one life of an actor was told."""

    def __init__(self, path):
        self.path, self.map = path, None

    def _read(self, at):
        if self.map is None:
            if not self.path.exists() or self.path.stat().st_size < 32:
                return 0
            with open(self.path, "rb") as file:
                self.map = mmap.mmap(file.fileno(), 32, prot=mmap.PROT_READ)
        return struct.unpack_from("<Q", self.map, at)[0]

    @property
    def count(self):
        return self._read(8)

    @property
    def rows(self):
        return self._read(16)

    @property
    def version(self):
        return self._read(24)


class Broken(AssertionError):
    """A promise did not hold."""


class System:
    NAMES = ("replay", "learner", "a0", "a1")
    ACTORS = ("a0", "a1")

    def __init__(self, build, folder, certs=None, settings=(), sync="interval", proxied=False, disk=None):
        self.build, self.folder, self.certs = pathlib.Path(build).resolve(), folder, certs
        self.disk = disk or folder
        self.settings, self.sync = list(settings), sync
        self.base = free_port(PORTS)
        self.scheme = "tcp" if certs is None else "tls+tcp"
        # Where the others look for them: the proxy's ports, if there is one.
        self.seen = {"learner": self.base + (6 if proxied else 0), "replay": self.base + 3 + (6 if proxied else 0)}
        self.processes, self.lives, self.acks, self.faults = {}, {}, {}, {}
        self.ended, self.prefix, self.programs = [], {}, {}
        self.expected = set()  # of those that may end by themselves
        self.at_end = []  # functions, when all have ended
        self.disk_fails = True  # so that a file may not be written
        for name in self.NAMES:
            self.add(name)

    def add(self, name):
        self.faults[name] = Faults(self.folder / f"{name}.faults")
        self.lives[name], self.acks[name] = 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_all(self.processes.values())
        for function in self.at_end:
            function()

    # ---- daemons

    def url(self, port):
        return f"{self.scheme}://{HOME}:{port}"

    def command(self, name):
        if name == "replay":
            return [self.programs.get(name, self.build / "replay/octet-replay"), "--listen", self.url(self.base + 3), "--path",
                    self.disk / "replay.oct", "--sync", self.sync, "--sync-interval", SYNC_S]
        plugin = self.build / "tests/chaos/chaos.so"
        if name == "learner":
            settings = [f"env.id={plugin}", f"env.options=pause_us={PAUSE_US}",
                        f"net.learner={self.url(self.base)}", f"net.replay={self.url(self.seen['replay'])}", *self.settings]
            return [self.build / "learner/octet-learner", HERE / "chaos.yaml", "--run-dir", self.disk / "run", "--resume",
                    *(word for setting in settings for word in ("--set", setting))]
        return [self.programs.get(name, self.build / "tests/chaos/chaos_actor"), "--learner", self.url(self.seen["learner"]),
                "--plugins", plugin]

    def environment(self, name):
        return dict(os.environ, CHAOS_ACKS=str(self.folder / name), CHAOS_FAULTS=str(self.faults[name].path),
                    LD_PRELOAD=str(self.build / "tests/chaos/libchaos_faults.so"))

    def start(self, *names):
        for name in names:
            role = name if name in ("replay", "learner") else "actor"
            trust = ["--insecure"] if self.certs is None else ["--tls", self.certs / role]
            command = [*self.prefix.get(name, []), *self.command(name), *trust, "--follow-parent", os.getpid()]
            with open(self.folder / f"{name}.log", "ab") as log:
                self.processes[name] = subprocess.Popen([str(c) for c in command], env=self.environment(name), cwd=self.folder,
                                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.lives[name] += 1
            self.acks[name].append(Acks(self.folder / f"{name}.{self.processes[name].pid}.acks"))

    def runs(self, name):
        return name in self.processes and self.processes[name].poll() is None

    def kill(self, *names, how=signal.SIGKILL):
        """These end, and have ended; gives those that did not run, or ended otherwise than by the signal that kills."""
        absent = [name for name in names if not self.runs(name)]
        names = [name for name in names if name not in absent]
        for name in names:
            self.processes[name].send_signal(how)
        for name in names:
            code = self.processes[name].wait(DEADLINE_S * PATIENCE)
            if how == signal.SIGTERM and code != 0:
                raise Broken(f"{name} was told to end, and its exit code is {code}")
            if how == signal.SIGKILL and code != -signal.SIGKILL:
                absent.append(name)
        return absent

    def tend(self):
        """Starts again who has ended: only a kill, and a refusal in words, may end a daemon."""
        for name in self.NAMES:
            if name not in self.processes or self.runs(name):
                continue
            code = self.processes[name].returncode
            if code not in (-signal.SIGKILL, 0) and not (name in self.expected and code in (1, 2, 3)):
                raise Broken(f"{name} ended with {code}: {self.last_words(name)}")
            self.ended.append((name, code))
            if name == "learner":  # nobody is writing them
                self.weights_of_the_policy()
            self.start(name)

    def last_words(self, name):
        lines = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else ""

    def said(self, name, identity):
        """Texts of all lines with this id."""
        found = []
        path = self.folder / f"{name}.log"
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
            words = line.split(" ", 4)
            if len(words) >= 4 and words[3] == identity:
                found.append(words[4] if len(words) > 4 else "")
        return found

    # ---- progress

    def rows(self, name):
        return self.acks[name][-1].rows

    def acked(self):
        return sum(acks.rows for name in self.ACTORS for acks in self.acks[name])

    def goes_on(self, rows=200, versions=1, actors=ACTORS):
        """From now on rows of every actor are acknowledged, and policies come that were learned."""
        self.tend()
        begin = {name: (self.lives[name], self.rows(name), self.acks[name][-1].version) for name in actors}

        def is_on():
            self.tend()
            for name in actors:
                life, row, version = begin[name]
                if life != self.lives[name]:
                    begin[name] = life, row, version = self.lives[name], 0, version
                if self.rows(name) < row + rows or self.acks[name][-1].version < version + versions:
                    return False
            return True

        def numbers():
            return "; ".join(f"{name}: {self.rows(name)} rows, version {self.acks[name][-1].version}, was {begin[name]}"
                             for name in actors)
        try:
            wait_for("all to go on", is_on, DEADLINE_S, numbers=numbers)
        except Broken:
            raise
        except AssertionError as late:
            raise Broken(str(late)) from late

    def rate(self, seconds):
        """Rows acknowledged in a second, over these seconds."""
        rows, begin = self.acked(), time.monotonic()
        time.sleep(seconds)
        return (self.acked() - rows) / (time.monotonic() - begin)

    # ---- the audit

    def learner_log(self):
        return "learner"

    def lives_of_the_learner(self):
        """Every life of the learner is of the same run, and begins where one before it has saved."""
        lives = [re.search(r"run=(\w+) updates=(\d+)", line) for line in self.said(self.learner_log(), "LEARNER-START")]
        runs, updates = [life[1] for life in lives], [int(life[2]) for life in lives]
        if not lives or len(set(runs)) > 1 or updates != sorted(updates):
            raise Broken(f"the learner came back as another run, or before what it had saved: {list(zip(runs, updates))}")

    def weights_of_the_policy(self):
        """The weights in fp32 that policy.oct was made of are there, or are waiting for their name: whatever was killed when."""
        if self.disk_fails:
            return
        policy, weights = [version_of(self.build, self.disk / "run" / name) for name in ("policy.oct", "policy.fp32.oct")]
        if policy is not None and policy not in (weights, version_of(self.build, self.disk / "run" / "policy.fp32.next")):
            raise Broken(f"policy.oct is version {policy}, policy.fp32.oct is {weights or 'not there'}")

    def claims(self):
        """Arguments of chaos_audit: all that was acknowledged by now."""
        return [f"{acks.path}:{acks.count}" for lives in self.acks.values() for acks in lives if acks.count > 0]

    def audit(self, mode="killed", path=None, claims=None):
        """{number: value} of a file that nobody has open."""
        done = subprocess.run([self.build / "tests/chaos/chaos_audit", mode, path or self.disk / "replay.oct",
                               *(self.claims() if claims is None else claims)], capture_output=True, text=True, check=False)
        numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", done.stdout.splitlines()[-1])} if done.stdout else {}
        if done.returncode != 0:
            raise Broken(f"audit ({mode}): {done.stdout}{done.stderr}".strip())
        return numbers


class Train(System):
    """The same by octet train: its supervisor, its daemons and sockets, its run folder."""

    NAMES = ("train",)
    ACTORS = ()
    DAEMONS = ("replay", "learner", "actor")

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        libexec = self.folder / "libexec"
        libexec.mkdir()
        for name, program in (("replay", "replay/octet-replay"), ("learner", "learner/octet-learner"), ("actor", "tests/chaos/chaos_actor")):
            (libexec / f"octet-{name}").symlink_to(self.build / program)
        self.env = dict(os.environ, OCTET_LIBEXEC=str(libexec), CHAOS_ACKS=str(self.folder / "actor"))
        self.found = {}  # by process: Acks

    def start(self, *_):
        resume = (self.disk / "run/config.yaml").exists()
        settings = [f"env.id={self.build / 'tests/chaos/chaos.so'}", f"env.options=pause_us={PAUSE_US}", f"replay.sync={self.sync}"]
        command = [self.build / "cli/octet", "train", *([] if resume else [HERE / "chaos.yaml"]), "--run-dir", self.disk / "run",
                   "--no-ui", "--actors", "2", *(["--resume"] if resume else [w for s in settings for w in ("--set", s)])]
        with open(self.folder / "train.log", "ab") as log:
            self.processes["train"] = subprocess.Popen([str(c) for c in command], env=self.env, cwd=self.folder,
                                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def learner_log(self):
        return "disk/run/log/learner" if self.disk != self.folder else "run/log/learner"

    def daemons(self):
        """{process: name} of those that octet train has started and that run."""
        found = {}
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (place / "cmdline").read_bytes().split(b"\0")[0].decode()
                parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            name = command.rsplit("octet-", 1)[-1]
            if parent == self.processes["train"].pid and name in self.DAEMONS:
                found[int(place.name)] = name
        return found

    def known(self):
        for path in self.folder.glob("actor.*.acks"):
            self.found.setdefault(int(path.name.split(".")[1]), Acks(path))
        return self.found

    def acked(self):
        return sum(acks.rows for acks in self.known().values())

    def claims(self):
        return [f"{acks.path}:{acks.count}" for acks in self.known().values() if acks.count > 0]

    def audit(self, mode="killed", path=None, claims=None):
        return super().audit(mode, path or self.disk / "run/replay.oct", claims)

    def goes_on(self, rows=200, versions=1, actors=()):
        self.tend()
        before = {pid: (acks.rows, acks.version) for pid, acks in self.known().items()}

        def is_on():
            self.tend()
            running = self.daemons()
            on = [pid for pid, acks in self.known().items() if pid in running
                  and acks.rows >= before.get(pid, (0, 0))[0] + rows and acks.version >= before.get(pid, (0, 0))[1] + versions]
            return len(on) >= 2
        try:
            wait_for("all to go on", is_on, DEADLINE_S)
        except Broken:
            raise
        except AssertionError as late:
            raise Broken(str(late)) from late

    def end_daemons(self, pids):
        """Kills these, and waits until they are gone."""
        for pid in pids:
            kill_if_there(pid)
        wait_for("them to end", lambda: not set(pids) & set(self.daemons()), DEADLINE_S)

    def kill(self, *_names, how=signal.SIGKILL):
        """All: by Ctrl-C, or at once; gives what did not run of octet train and its daemons."""
        found = self.daemons()
        pids = list(found)
        process = self.processes["train"]
        process.send_signal(signal.SIGINT if how == signal.SIGTERM else how)
        if how == signal.SIGKILL:
            for pid in pids:
                kill_if_there(pid)
        code = process.wait(DEADLINE_S * PATIENCE)
        wait_for("the daemons to end", lambda: not any(is_alive(pid) for pid in pids), DEADLINE_S)
        if how == signal.SIGTERM and code != 130:
            raise Broken(f"octet train was told to end, and its exit code is {code}: {self.last_words('train')}")
        return [name for name in self.DAEMONS if name not in found.values()]

    def __exit__(self, *args):
        if self.runs("train"):
            self.kill()
        super().__exit__(*args)


def version_of(build, path):
    """None: there is no such policy."""
    if not path.exists():
        return None
    shown = subprocess.run([build / "cli/octet", "inspect", path], capture_output=True, text=True, check=False)
    return re.search(r"version +(\d+)", shown.stdout)[1] if shown.returncode == 0 else f"damaged ({shown.stderr.strip()})"


def is_alive(pid):
    """Also while its first thread has ended and others have not: they still hold its files and locks."""
    try:
        place = pathlib.Path("/proc") / str(pid)
        return (place / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" or len(list((place / "task").iterdir())) > 1
    except OSError:
        return False
