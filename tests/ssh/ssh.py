#!/usr/bin/env python3
"""octet cluster ssh over real sshd: four hosts made of network namespaces, each with an sshd, a home and keys of its own.
Started by script/test-ssh.

usage: ssh.py BUILD SSHD [SCENARIO...]      BUILD: a build folder; SSHD: its absolute path; without a scenario: all

Waits for conditions with a deadline. The last line is "N passed, N failed, N skipped".
"""

import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/hosts")]
import daemons  # noqa: E402
import lab  # noqa: E402
from daemons import kill_if_there  # noqa: E402
from scenarios import main  # noqa: E402

BUILD = SSHD = None
HOSTS = ["h1", "h2", "h3"]
wait_for = functools.partial(daemons.wait_for, pause_s=0.1)  # most conditions read the whole of /proc
DEADLINE_S = 120  # of a command that ends by itself or was told to
ENDLESS = ["--set", "run.stop_at_return=501", "--set", "run.env_steps=1000000000", "--set", "learner.metrics_s=0.1",
           "--set", "learner.checkpoint_s=0.5"]
# What a service manager would do with a unit, on a host that has none: it runs by the name systemd-run, and loginctl says that it
# stays without a session.
SYSTEMD_RUN = """#!/bin/sh
[ "$1" = --user ] || exit 1
folder=.
while :; do
    case "$1" in
    --user | --quiet | --collect) shift ;;
    --unit=*) echo "${1#--unit=}" >>"$HOME/units"; shift ;;
    --working-directory=*) folder=${1#*=}; shift ;;
    -p) shift 2 ;;
    -E) export "$2"; shift 2 ;;
    *) break ;;
    esac
done
[ "$1" != true ] || exit 0
cd "$folder" && setsid "$@" </dev/null >/dev/null 2>&1 &
"""
LOGINCTL = """#!/bin/sh
[ "$*" = "show-user root -p Linger --value" ] && echo yes
"""


class World:
    """Hosts desk, h1, h2, h3: sshd on all but desk, which has the keys. h3 has a service manager (SYSTEMD_RUN)."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.lab = lab.Lab(BUILD, folder, ["desk", *HOSTS])
        self.homes = {host: self.folder / f"home-{host}" for host in HOSTS}
        try:
            self.key("id")
            for host in HOSTS:
                self.serve(host)
            self.configure()
            for host in HOSTS:
                wait_for(f"sshd of {host}", lambda host=host: self.ssh(host, "true").returncode == 0)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for host in self.lab.hosts:
            for pid in self.pids(host):
                kill_if_there(pid)
        for host in self.lab.hosts:
            try:
                wait_for(f"an end on {host}", lambda host=host: not self.pids(host))
            except AssertionError as error:
                print(error, flush=True)
        self.lab.close()

    def key(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.folder / name],
                       stdin=subprocess.DEVNULL, check=True)
        return (self.folder / f"{name}.pub").read_text(encoding="utf-8")

    def home(self, host):
        return self.homes[host]

    def place(self, host):
        """Its own files of /etc."""
        return pathlib.Path("/etc/netns") / self.lab.namespace(host)

    def write_passwd(self, host):
        # In place: the sshd that runs holds this very file in its mount namespace.
        (self.place(host) / "passwd").write_text(f"root:x:0:0:root:{self.home(host)}:/bin/sh\n"
                                                 "sshd:x:65533:65533::/run/sshd:/bin/false\n", encoding="utf-8")

    def share_home(self, host, other):
        """host has the home of the other, as with NFS."""
        self.homes[host] = self.home(other)
        self.write_passwd(host)

    def serve(self, host):
        """An sshd as root whose home is a folder of the test, on a port of its own."""
        self.key(f"host-{host}")
        home = self.home(host)
        (home / "bin").mkdir(parents=True)
        if host == "h3":
            for name, text in (("systemd-run", SYSTEMD_RUN), ("loginctl", LOGINCTL)):
                (home / "bin" / name).write_text(text, encoding="utf-8")
                (home / "bin" / name).chmod(0o755)
        self.write_passwd(host)
        (self.place(host) / "shadow").write_text("root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n", encoding="utf-8")
        config = self.folder / f"sshd-{host}"
        config.write_text(f"""Port {self.port(host)}
HostKey {self.folder}/host-{host}
AuthorizedKeysFile {self.folder}/id.pub
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv PATH={home}/bin:/usr/local/bin:/usr/bin:/bin
""", encoding="utf-8")
        # ip netns exec gives it mounts of its own.
        library = os.environ.get("OCTET_TEST_SSHD_LIBRARY", "")
        library = f"LD_LIBRARY_PATH={library} " if library else ""
        script = f"mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec env {library}{SSHD} -D -e -f {config}"
        self.lab.start(f"sshd-{host}", host, ["sh", "-c", script])

    def port(self, host):
        return 2200 + self.lab.hosts.index(host)

    def configure(self):
        """What a user has in ~/.ssh/config and known_hosts."""
        text, known = "", ""
        for host in [*HOSTS, "nobody"]:
            port, name = (self.port(host), host) if host != "nobody" else (9, "desk")
            text += f"Host {host}\n    HostName {name}\n    Port {port}\n"
            if host != "nobody":
                public = (self.folder / f"host-{host}.pub").read_text(encoding="utf-8").split()
                known += f"[{name}]:{port} {public[0]} {public[1]}\n"
        text += (f"Host *\n    User root\n    IdentityFile {self.folder}/id\n    IdentitiesOnly yes\n"
                 f"    UserKnownHostsFile {self.folder}/known\n    StrictHostKeyChecking yes\n")
        (self.folder / "known").write_text(known, encoding="utf-8")
        (self.folder / "ssh_config").write_text(text, encoding="utf-8")

    def ssh(self, host, command):
        return subprocess.run(["ip", "netns", "exec", self.lab.namespace("desk"), "ssh", "-F", self.folder / "ssh_config",
                               "-o", "BatchMode=yes", host, command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)

    def pids(self, host):
        """Of all processes of this host."""
        try:
            namespace = pathlib.Path("/run/netns", self.lab.namespace(host)).stat()
        except OSError:
            return []
        return [int(path.name) for path in pathlib.Path("/proc").glob("[1-9]*") if is_in(path, namespace)]

    def running(self, host, word):
        """Processes of this host whose command line has a word that ends so: {pid: words}."""
        found = {}
        for pid in self.pids(host):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if any(w.endswith(word) for w in words):
                found[pid] = words
        return found

    def start(self, name, *arguments, hosts="h1,h2,h3", environment=None):
        """octet cluster ssh on desk; what it says is in log/NAME.log."""
        with open(self.folder / "log" / f"{name}.log", "wb") as log:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.lab.namespace("desk"), BUILD / "cli/octet", "cluster", "ssh",
                 ROOT / "presets/cartpole.yaml",
                 "--hosts", hosts, "--ssh", f"-F {self.folder}/ssh_config", *[str(a) for a in arguments]],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.folder), **(environment or {})})

    def code(self, process):
        """The exit code of the command, which ends."""
        wait_for("octet cluster ssh to end", lambda: process.poll() is not None, DEADLINE_S,
                 numbers=lambda: f"on desk run {[' '.join(words) for words in self.running('desk', '').values()]}")
        return process.returncode

    def said(self, name):
        return (self.folder / "log" / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def remote(self, host, name):
        return self.home(host) / "octet-runs" / f"{name}.{host}"


def is_in(process, namespace):
    """Whether a folder of /proc is of a process in this network namespace."""
    try:
        return os.path.samestat((process / "ns/net").stat(), namespace)
    except OSError:
        return False


def nothing_left(check, world, name):
    """No daemon runs, no folder is on a host, no plan here."""
    for host in HOSTS:
        try:
            wait_for("an end", lambda host=host: not world.running(host, "octet_keep.sh") and
                     not world.running(host, "follow"), 60)
        except AssertionError:
            pass
        check.that(not world.running(host, "octet_keep.sh") and not world.running(host, "octet-actor") and
                   not world.remote(host, name).exists(), f"{host} holds nothing of the run")
    check.that(not list(world.folder.glob("octet-ssh-*")), "nothing is left here but the run")


def summary(world, name):
    return json.loads((world.folder / name / "summary.json").read_text(encoding="utf-8"))


def actors(world, host, program="octet-actor"):
    """Its octet-actors, or others of one program, without what keeps them."""
    return [pid for pid, words in world.running(host, program).items() if words[0].endswith(program)]


def goes_on(process):
    assert process.poll() is None, f"octet cluster ssh ended with {process.returncode}"
    return True


def updates(world, host, name):
    """Rows of metrics.csv beside the learner."""
    try:
        return len((world.remote(host, name) / "run/metrics.csv").read_text(encoding="utf-8").splitlines())
    except OSError:
        return 0


def train(check, world):
    """Three hosts and two shards of replay solve CartPole; the run is here, and nothing is there."""
    process = world.start("first", "--run-dir", "first", "--actors", 3, "--set", "replay.shards=2")
    status = world.code(process)
    check.that(status == 0, f"exit code {status}")
    check.that(summary(world, "first")["solved"] is True, "CartPole is solved")
    names = {path.name for path in (world.folder / "first").iterdir()}
    check.that({"policy.oct", "checkpoint.oct", "config.yaml", "metrics.csv", "replay.oct", "replay-1.oct"} <= names, f"collected: {sorted(names)}")
    check.that("certs" not in names, "the operator's key is gone")
    logs = {path.stem for path in (world.folder / "first/log").glob("*.log")}
    check.that(logs == {"replay", "replay-1", "learner", "evaluator", "actor-0", "actor-1", "actor-2"}, f"logs: {sorted(logs)}")
    units = (world.home("h3") / "units").read_text(encoding="utf-8").split()
    check.that(units == ["octet-first.h3-actor-1"], f"h3's service manager ran {units}")
    nothing_left(check, world, "first")


def shared(check, world):
    """Two hosts with one home, of which one has two names: they train together, the run is here, and nothing is there."""
    world.share_home("h2", "h1")
    process = world.start("shared", "--run-dir", "shared", "--actors", 4, *ENDLESS, hosts="h1,h2,root@h2")
    wait_for("updates", lambda: goes_on(process) and updates(world, "h1", "shared") > 3, numbers=lambda: world.said("shared"))
    wait_for("four actors of h2", lambda: goes_on(process) and len(actors(world, "h2")) == 4, numbers=lambda: world.said("shared"))
    kept = {host: len(world.running(host, "octet_keep.sh")) for host in HOSTS}
    check.that(kept == {"h1": 3, "h2": 4, "h3": 0}, f"daemons: {kept}")
    status = end(world, process)
    check.that(status == 143 and summary(world, "shared")["env_steps"] > 0 and "error:" not in world.said("shared"),
               f"SIGTERM: it is collected, exit code {status}")
    logs = {path.stem for path in (world.folder / "shared/log").glob("*.log")}
    check.that(logs == {"replay", "learner", "evaluator", *(f"actor-{i}" for i in range(4))}, f"logs: {sorted(logs)}")
    check.that(os.listdir(world.home("h1") / "octet-runs") == [], "the home holds nothing of it")
    nothing_left(check, world, "shared")


def peers(world, name):
    """octet status of the run, as somebody at desk sees it: {"relays": […], "list": […]}."""
    done = subprocess.run(["ip", "netns", "exec", world.lab.namespace("desk"), BUILD / "cli/octet", "status", "--json", "--learner",
                           "tls+tcp://h1:5555", "--tls", world.folder / name / "certs/operator"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["peers"] if done.returncode == 0 else {"relays": [], "list": []}


def relayed(world, name):
    """How many actors go through each relay that lives: {"ipc://…": 2}."""
    told = peers(world, name)
    ways = [peer["relay"] for peer in told["list"] if peer["role"] == "actor"]
    return {relay["address"]: ways.count(relay["address"]) for relay in told["relays"] if not relay["silent"]}


def relays(check, world):
    """A relay on each host that has actors: they go through it, a killed one is started again, and CartPole is solved."""
    process = world.start("relays", "--run-dir", "relays", "--actors", 3, "--relays")
    evaluator = wait_for("an evaluator", lambda: goes_on(process) and
                         [pid for pid in world.running("h1", "--evaluate") if pid in actors(world, "h1")])[0]
    os.kill(evaluator, signal.SIGSTOP)  # nothing is solved until all has been looked at
    through = {"ipc://relay-0.ipc": 2, "ipc://relay-1.ipc": 1}
    wait_for("three actors behind two relays", lambda: goes_on(process) and relayed(world, "relays") == through,
             numbers=lambda: f"{world.said('relays')} {relayed(world, 'relays')}")
    check.that(True, f"actors go through the relay of their host: {through}")
    keys = {host: sorted(path.name for path in (world.remote(host, "relays") / "certs").iterdir()) for host in HOSTS}
    check.that(keys == {"h1": ["evaluator", "learner", "replay"], "h2": ["actor", "relay"], "h3": ["actor", "relay"]}, f"keys: {keys}")
    kill_if_there(actors(world, "h2", "octet-relay")[0])
    log = world.remote("h2", "relays") / "log/relay-0.log"
    wait_for("another relay in its place", lambda: goes_on(process) and "relay-0: octet_keep: octet-relay died (exit code 137)" in
             world.said("relays") and log.read_text(encoding="utf-8").count("RELAY-REGISTERED") == 2)
    check.that(True, "a killed relay was started again")
    os.kill(evaluator, signal.SIGCONT)
    status = world.code(process)
    check.that(status == 0 and summary(world, "relays")["solved"] is True, f"CartPole is solved, exit code {status}")
    ended = re.search(r"RELAY-STOP batches=(\d+)", (world.folder / "relays/log/relay-1.log").read_text(encoding="utf-8"))
    check.that(ended and int(ended[1]) > 0, f"batches went through the other relay: {ended and ended[1]}")
    nothing_left(check, world, "relays")


def interrupt(check, world):
    """An actor is killed, a connection breaks, Ctrl-C saves; the run goes on with its learner on another host."""
    process = world.start("second", "--run-dir", "second", "--actors", 4, *ENDLESS)
    wait_for("updates", lambda: goes_on(process) and updates(world, "h1", "second") > 3, numbers=lambda: world.said("second"))
    roles = {host: sorted(path.name for path in (world.remote(host, "second") / "certs").iterdir()) for host in HOSTS}
    check.that(roles == {"h1": ["evaluator", "learner", "replay"], "h2": ["actor"], "h3": ["actor"]},
               f"each host has the keys of its roles: {roles}")
    modes = {oct(world.remote(host, "second").stat().st_mode & 0o777) for host in HOSTS}
    check.that(modes == {"0o700"}, f"nobody else can read them: {modes}")
    wait_for("two actors of h2", lambda: len(actors(world, "h2")) == 2)
    kill_if_there(actors(world, "h2")[0])
    wait_for("another actor in its place", lambda: "died (exit code 137)" in world.said("second") and len(actors(world, "h2")) == 2)
    kill_if_there(wait_for("a connection", lambda: [pid for pid, words in world.running("desk", "ssh").items()
                                                    if any("'follow'" in word for word in words)])[0])
    wait_for("a new connection", lambda: "the connection was lost; connecting" in world.said("second"))
    rows = updates(world, "h1", "second")
    wait_for("further updates", lambda: updates(world, "h1", "second") > rows + 3)
    check.that(True, "a killed actor and a broken connection did not end the run")
    os.killpg(process.pid, signal.SIGINT)
    status = world.code(process)
    check.that(status == 130, f"Ctrl-C: exit code {status}")
    steps = summary(world, "second")["env_steps"]
    check.that((world.folder / "second/checkpoint.oct").exists() and steps > 0, f"saved after {steps} steps")
    nothing_left(check, world, "second")
    process = world.start("resumed", "--run-dir", "second", "--resume", "--learner-host", "h2")
    status = world.code(process)
    check.that(status == 0 and summary(world, "second")["solved"] is True, f"resumed on h2: solved, exit code {status}")
    check.that(summary(world, "second")["env_steps"] >= steps, "it went on where it was")
    nothing_left(check, world, "second")


def left(check, world):
    """The command and all of it here is killed with -9: the daemons go on, and the same command again ends them, goes on with their
    run and leaves nothing of either."""
    process = world.start("third", "--run-dir", "third", *ENDLESS)
    checkpoint = world.remote("h1", "third") / "run/checkpoint.oct"
    wait_for("a checkpoint", lambda: goes_on(process) and checkpoint.exists(), numbers=lambda: world.said("third"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pid in world.running("desk", "ssh"):
        kill_if_there(pid)
    check.that(not list(world.folder.glob("octet-ssh-*/**/*.key")), "no key is left here but the operator's")
    wait_for("three daemons", lambda: len(world.running("h1", "octet_keep.sh")) == 3)
    before = set(world.running("h1", "octet_keep.sh"))
    check.that(len(before) == 3, "the daemons of the first start go on")
    status = world.code(world.start("again", "--run-dir", "third"))
    check.that(status == 0 and summary(world, "third")["solved"] is True, f"the same command again: solved, exit code {status}")
    check.that("resum" in (world.folder / "third/log/learner.log").read_text(encoding="utf-8").lower(),
               "it resumed from the checkpoint there")
    check.that(not before & set(world.pids("h1")), "none of the first start's daemons is left")
    nothing_left(check, world, "third")


def stopped(check, world):
    """The learner's host ends it and what keeps it: the command says so, and the run is here, to be continued."""
    process = world.start("stopped", "--run-dir", "stopped", *ENDLESS)
    wait_for("updates", lambda: goes_on(process) and updates(world, "h1", "stopped") > 3, numbers=lambda: world.said("stopped"))
    for pid in world.running("h1", "octet-learner"):
        kill_if_there(pid, signal.SIGTERM)
    status = world.code(process)
    check.that(status == 143 and "h1: learner was stopped there, before the end of the run" in world.said("stopped"),
               f"it says that the run has not ended, exit code {status}")
    check.that((world.folder / "stopped/checkpoint.oct").exists() and summary(world, "stopped")["solved"] is False, "it is collected")
    nothing_left(check, world, "stopped")


def vanished(check, world):
    """The learner's host loses all its processes, as in a power cut: the command says so and collects the run. Resumed with a table that
    is damaged, the run ends with its replay."""
    process = world.start("vanished", "--run-dir", "vanished", *ENDLESS)
    checkpoint = world.remote("h1", "vanished") / "run/checkpoint.oct"
    wait_for("a checkpoint", lambda: goes_on(process) and checkpoint.exists(), numbers=lambda: world.said("vanished"))
    for pid in [*world.running("h1", "octet_keep.sh"), *actors(world, "h1", "octet-learner"), *actors(world, "h1", "octet-replay"),
                *actors(world, "h1")]:
        kill_if_there(pid)
    status = world.code(process)
    said = world.said("vanished")
    check.that(status == 1 and re.search("h1: (learner|replay) has ended \\(killed, or its host was restarted\\), which ends the run", said),
               f"it is not waited for, exit code {status}")
    check.that((world.folder / "vanished/checkpoint.oct").exists(), "it is collected")
    nothing_left(check, world, "vanished")
    (world.folder / "vanished/replay.oct").write_bytes(b"x" * 8192)
    process = world.start("damaged", "--run-dir", "vanished", "--resume", *ENDLESS)
    status = world.code(process)
    check.that(status == 3 and "h1: replay has ended (exit code 3), which ends the run" in world.said("damaged"),
               f"a replay that refuses its file is not waited for, exit code {status}")
    nothing_left(check, world, "vanished")


def step_count(world, host, name):
    """Environment steps in the last row of metrics.csv beside the learner."""
    names, *rows = (world.remote(host, name) / "run/metrics.csv").read_text(encoding="utf-8").splitlines()
    return int(float(rows[-1].split(",")[names.split(",").index("env_steps")]))


def end(world, process):
    """The exit code of the command after SIGTERM."""
    os.kill(process.pid, signal.SIGTERM)
    return world.code(process)


def killed(check, world):
    """The command of a resumed run is killed with -9, and nothing else: the same command goes on with the run on the host, not
    with the older copy here, and no log is lost. Another run there is not replaced."""
    arguments = ["--run-dir", "killed", "--insecure", *ENDLESS]
    here, run = world.folder / "killed", world.remote("h1", "killed") / "run"
    process = world.start("begun", *arguments, hosts="h1,h2")
    wait_for("updates", lambda: goes_on(process) and updates(world, "h1", "killed") > 3, numbers=lambda: world.said("begun"))
    status = end(world, process)
    check.that(status == 143, f"SIGTERM: exit code {status}")
    first = (here / "log/learner.log").read_text(encoding="utf-8")
    process = world.start("resumed", *arguments, "--resume", hosts="h1,h2")
    wait_for("a newer checkpoint", lambda: goes_on(process) and (run / "checkpoint.oct").exists() and
             (run / "checkpoint.oct").stat().st_mtime > (here / "checkpoint.oct").stat().st_mtime + 1, numbers=lambda: world.said("resumed"))
    saved = step_count(world, "h1", "killed")
    wait_for("the checkpoint after that", lambda time=(run / "checkpoint.oct").stat().st_mtime: goes_on(process) and
             (run / "checkpoint.oct").exists() and (run / "checkpoint.oct").stat().st_mtime > time)
    process.kill()
    process.wait()
    wait_for("an end of what it left here", lambda: not world.running("desk", "octet_ssh.sh"))
    process = world.start("again", *arguments, "--resume", hosts="h1,h2")
    wait_for("a learner", lambda: goes_on(process) and "LEARNER-RESUME" in world.said("again"), numbers=lambda: world.said("again"))
    check.that("h1: continuing the run in octet-runs/killed.h1" in world.said("again"), "it says what it goes on with")
    resumed = int(re.search(r"LEARNER-RESUME .* (\d+) environment steps", world.said("again"))[1])
    check.that(resumed >= saved, f"it goes on after {resumed} steps, of {saved}")
    status = end(world, process)
    check.that(status == 143 and summary(world, "killed")["env_steps"] >= resumed, f"exit code {status}, and no step is lost")
    log = (here / "log/learner.log").read_text(encoding="utf-8")
    check.that(log.startswith(first) and log.count("LEARNER-START") == 3, "learner.log has all three starts")
    nothing_left(check, world, "killed")
    run.mkdir(parents=True)
    shutil.copy(here / "checkpoint.oct", run)
    os.utime(run / "checkpoint.oct", (1, 1))
    for name, learner in (("older", "h1"), ("elsewhere", "h2")):
        status = world.code(world.start(name, *arguments, "--resume", "--learner-host", learner, hosts="h1,h2"))
        check.that(status == 1 and "h1: cannot be prepared: octet-runs/killed.h1/run has " in world.said(name) and
                   "h1:octet-runs/killed.h1 still has a run" in world.said(name),
                   f"another run on h1 is not replaced, with the learner on {learner}")
    check.that(os.listdir(run) == ["checkpoint.oct"], "it is as it was")


def lost(check, world):
    """A host of actors cannot be reached when the run ends: the run is collected, and what stays is named. When it is the
    learner's host, the same command collects the run later."""
    process = world.start("lost", "--run-dir", "lost", "--insecure", *ENDLESS)
    wait_for("updates", lambda: goes_on(process) and updates(world, "h1", "lost") > 3, numbers=lambda: world.said("lost"))
    world.lab.cut("h3")
    status = end(world, process)
    check.that(status == 143 and "h3:octet-runs/lost.h3 still exists" in world.said("lost"), f"what stays on h3 is named, exit code {status}")
    names = {path.name for path in (world.folder / "lost").rglob("*")}
    check.that({"checkpoint.oct", "summary.json", "learner.log", "actor-0.log"} <= names, f"collected: {sorted(names)}")
    check.that(not world.remote("h1", "lost").exists() and not world.remote("h2", "lost").exists(), "the others hold nothing of it")
    world.lab.heal("h3")
    for pid in world.running("h3", "octet_keep.sh"):
        kill_if_there(pid)
    process = world.start("apart", "--run-dir", "apart", "--insecure", *ENDLESS, hosts="h1,h2")
    wait_for("a checkpoint", lambda: goes_on(process) and (world.remote("h1", "apart") / "run/checkpoint.oct").exists(),
             numbers=lambda: world.said("apart"))
    world.lab.cut("h1")
    status = end(world, process)
    said = world.said("apart")
    check.that(status == 143 and f"the same command with --run-dir {world.folder}/apart" in said and "h1:octet-runs/apart.h1" in said,
               f"the run is said to be on h1, exit code {status}")
    world.lab.heal("h1")
    process = world.start("found", "--run-dir", "apart", "--insecure", *ENDLESS, hosts="h1,h2")
    wait_for("a learner", lambda: goes_on(process) and "LEARNER-RESUME" in world.said("found"), numbers=lambda: world.said("found"))
    status = end(world, process)
    check.that(status == 143 and (world.folder / "apart/checkpoint.oct").exists(), f"it is collected, exit code {status}")
    nothing_left(check, world, "apart")


def refusals(check, world):
    """A host that refuses, one without room, programs without their libraries: said, with the host's name; nothing is left."""
    small = f"mkdir -p {world.home('h3')}/octet-runs && mount -t tmpfs -o size=1m none {world.home('h3')}/octet-runs"
    session = world.lab.process("sshd-h3").pid
    subprocess.run(["nsenter", "-t", str(session), "-m", "-n", "sh", "-c", small], check=True)
    status = world.code(world.start("refused", "--run-dir", "refused", hosts="h1,nobody,h3"))
    said = world.said("refused")
    check.that(status == 1 and "nobody: cannot be used: " in said and "refused" in said, "a host that refuses")
    check.that("h3: cannot be used: no room: " in said, "a host without room")
    check.that(not (world.folder / "refused").exists() and not world.remote("h1", "refused").exists(), "nothing is left")
    subprocess.run(["nsenter", "-t", str(session), "-m", "-n", "umount", f"{world.home('h3')}/octet-runs"], check=True)
    programs = world.folder / "programs"
    programs.mkdir()
    for daemon in ("replay", "learner", "actor"):
        data = (BUILD / daemon / f"octet-{daemon}").read_bytes()
        if daemon == "actor":
            data = data.replace(b"libnng.so.1\0", b"libnnx.so.1\0")
        (programs / f"octet-{daemon}").write_bytes(data)
        (programs / f"octet-{daemon}").chmod(0o755)
    status = world.code(world.start("lacks", "--run-dir", "lacks", environment={"OCTET_LIBEXEC": str(programs)}))
    said = world.said("lacks")
    check.that(status == 1 and all(f"{h}: cannot be prepared: octet-actor lacks the libraries libnnx.so.1" in said for h in HOSTS),
               "libraries that a host lacks")
    status = world.code(world.start("bare", "--run-dir", "bare", "--installed"))
    check.that(status == 1 and "octet-replay is neither copied nor on the PATH" in world.said("bare"), "--installed, and is not")
    for name in ("refused", "lacks", "bare"):
        nothing_left(check, world, name)


SCENARIOS = [train, shared, relays, interrupt, left, stopped, vanished, killed, lost, refusals]


def begin(build, sshd):
    global BUILD, SSHD
    BUILD, SSHD = build, sshd


if __name__ == "__main__":
    sys.exit(main(__doc__, SCENARIOS, 2, begin, World))
