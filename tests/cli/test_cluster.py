#!/usr/bin/env python3
"""octet cluster without hosts: what it refuses before anything is started, and what it would start.
The job for Slurm has test_cluster_slurm.py. What runs over ssh and under Slurm is in tests/ssh and tests/slurm.

usage: test_cluster.py OCTET
"""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402
from cluster import OCTET, SHELL, octet, program, runs  # noqa: E402
from daemons import kill_if_there, wait_for  # noqa: E402

# Hosts are folders beside these programs; what a file "broken" names does not get through, what "silent" names waits for its end.
SSH = """#!/bin/bash
here=${0%/*}
[[ " $* " != *" -G "* ]] || exec echo "hostname 127.0.0.1"
while [ "$1" != -- ]; do shift; done
[ ! -e "$here/broken" ] || [[ $3 != *"$(cat "$here/broken")"* ]] || exit 255
while word=$(cat "$here/silent" 2>/dev/null) && [[ $3 = *"$word"* ]]; do sleep 0.1; done
for file in /proc/$$/fd/*; do # a host has none of those that are open here
    file=${file##*/}
    [ "$file" -le 2 ] || eval "exec $file>&-"
done
HOME=$(cd "$here/$2" && pwd -P) exec sh -c "$3"
"""
SCP = """#!/bin/bash
here=${0%/*}
while [ "$1" != -- ]; do shift; done
shift
place() { [[ $1 != *:* ]] && echo "$1" || echo "$here/${1%%:*}/${1#*:}"; }
to=$(place "${*: -1}")
for from in "${@:1:$#-1}"; do
    from=$(place "$from")
    if [ -e "$here/broken" ] && [[ $from = *"$(cat "$here/broken")"* ]]; then
        for file in $from; do
            head -c 3 "$file" >"$to/${file##*/}" # and the connection is gone
            exit 255
        done
    fi
    cp -r -p $from "$to" || exit
done
"""
DAEMON = """#!/bin/sh
[ "$1" != --version ] || exit 0
echo "LOG-$$ begins"
exec sleep 1000
"""
# It saves when it is stopped, and ends when there is a file finish.
LEARNER = """#!/bin/sh
[ "$1" != --version ] || exit 0
code=0 last=
for word; do
    [ "$last" != --exit-when-stopped ] || code=$word
    last=$word
done
trap 'echo "saved $$" >run/checkpoint.oct; exit "$code"' TERM
echo "LOG-$$ begins, with $(cat run/checkpoint.oct 2>&1)"
mkdir -p run/policy_versions
echo config >run/config.yaml
echo policy | tee run/policy.oct >run/policy_versions/1.oct
echo "begun $$" >run/checkpoint.oct
until [ -e finish ]; do sleep 0.1; done
"""


def test_refusals():
    """Wrong options and experiments end it with words that name them, before any host is spoken to."""
    refused = {
        (): "Usage: octet cluster COMMAND",
        ("shh",): "did you mean 'ssh'?",
        ("ssh", "cartpole"): "no --hosts",
        ("ssh", "cartpole", "--hosts", "a,b,a"): "--hosts has 'a' twice",
        ("ssh", "cartpole", "--hosts", "a,-oProxyCommand=x"): "--hosts has '-oProxyCommand=x'",
        ("ssh", "cartpole", "--hosts", "a,b", "--learner-host", "c"): "--learner-host is 'c', which is not one of --hosts",
        ("ssh", "cartpole", "--hosts", "a", "--actors", "0"): "--actors is '0'",
        ("ssh", "cartpole", "--hosts", "a", "--port", "80"): "--port is '80'",
        ("ssh", "cartpole", "--hosts", "a", "--port", "65524"): "--port is 65524; allowed are numbers up to 65523",
        ("slurm", "cartpole", "--port", "65509", "--set", "replay.shards=4"):
            "--port is 65509; allowed are numbers up to 65508, since with its shards of replay the run uses 27 more",
        ("k8s", "cartpole", "--port", "65535"): "--port is 65535; allowed are numbers up to 65528, since the run uses 7 more",
        ("k8s", "cartpole", "--port", "65535", "--relays", "2", "--set", "replay.shards=4"): "since with --relays the run uses 23 more",
        ("ssh", "cartpole", "--hosts", "a", "--name", "No_label"): "--name is 'No_label'",
        ("ssh", "cartpole", "--hosts", "a", "--address", "a b"): "--address is 'a b'",
        ("ssh", "cartpole", "--hosts", "a", "--address", "[fd00::1]"): "--address is '[fd00::1]'; allowed is a DNS name or an IP address",
        ("ssh", "cartpole", "--hosts", "a", "--resume"): "--resume needs --run-dir",
        ("ssh", "cartpole", "--hosts", "a", "--certs", "x", "--insecure"): "--certs and --insecure cannot be used together",
        ("ssh", "cartpole", "--hosts", "a,b", "--set", "run.deterministic=true"):
            "run.deterministic: a run in lock-step needs numbered actors",
        ("slurm", "cartpole", "--sbatch", "-p long"): "--sbatch is '-p long'",
        ("slurm", "cartpole", "--sbatch", "--time=1\nrm -rf x"): "allowed are options of sbatch on one line",
        ("slurm", "cartpole", "--actor-memory", "1"): "--actor-memory is '1'",
        ("slurm", "cartpole", "--learners", "4", "--learner-nodes", "2"): "MPI, which is not encrypted; give --insecure-mpi",
        ("slurm", "cartpole", "--learners", "4", "--learner-nodes", "3", "--insecure"):
            "--learner-nodes is 3, but learner.count is 4; every node has the same number",
        ("slurm", "cartpole", "--learner-nodes", "2", "--insecure-mpi"): "--learner-nodes is 2, but learner.count is 1",
        ("slurm", "cartpole", "--learners", "2", "--learner-nodes", "2", "--insecure", "--set", "learner.asynchronous=true"):
            "(learner.asynchronous) must run on one node",
        ("slurm", "cartpole", "--learners", "65"): "--learners is '65'",
        ("slurm", "cartpole", "--actors", "2049"): "2049 actors would share one certificate, with which at most 2048 can connect",
        ("k8s", "cartpole", "--actors-max", "2049"): "2049 actors would share one certificate, with which at most 2048 can connect",
        ("ssh", "cartpole", "--hosts", "a", "--actors", "9", "--set", "learner.actors_per_certificate=8"):
            "learner.actors_per_certificate is 8, but 9 actors would share one certificate",
        ("ssh", "cartpol", "--hosts", "a"): "did you mean 'cartpole'?",
        ("ssh", "cartpole", "--hosts", "a", "--set", "algo.n_stp=3"): "did you mean algo.n_step?",
    }
    for arguments, words in refused.items():
        result = octet(*arguments, status=2)
        assert words in result.stderr, (arguments, result)
    result = octet("ssh", "pendulum", "--hosts", "a", "--set", "algo.name=dqn", status=2)
    assert "--set algo.name=dqn: error: algo.name: dqn needs discrete actions" in result.stderr, result
    result = octet("ssh", "cartpole", "--hosts", "a", "--certs", "/nowhere", status=1)
    assert "/nowhere/learner/ca.crt; octet certs issue learner learner --dir /nowhere makes it" in result.stderr, result
    with tempfile.TemporaryDirectory() as folder:
        for role in ("learner", "replay", "actor", "evaluator"):
            (pathlib.Path(folder) / role).mkdir()
            for file in ("ca.crt", "crl.pem", "node.crt", "node.key"):
                (pathlib.Path(folder) / role / file).touch()
        result = octet("ssh", "cartpole", "--hosts", "a,b", "--certs", folder, "--relays", status=1)
        assert f"{folder}/relay/ca.crt; octet certs issue relay relay --dir {folder} makes it" in result.stderr, result


def test_how_to_look_at_a_run_on_kubernetes():
    """What the comment names works in the learner's pod: octet status needs an operator's certificate, which no pod has."""
    out = octet("k8s", "cartpole", "--name", "pole", status=0).stdout
    assert "exec job/pole-learner -- octet health http://127.0.0.1:9464\n" in out and "octet status" not in out, out[:1500]
    assert "- \"http://127.0.0.1:9464\"\n" in out, "the learner serves it"
    out = octet("k8s", "cartpole", "--name", "pole", "--insecure", status=0).stdout
    assert "exec job/pole-learner -- octet status /var/lib/octet/run --watch\n" in out, out[:1500]


def test_certificates_of_two_runs_on_kubernetes():
    """The commands that the comments name work word by word for one run after the other, in one folder."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("pole", "pole2"):
            out = octet("k8s", "cartpole", "--name", name, "--relays", 1, status=0).stdout
            commands = [line.split()[2:] for line in out.splitlines() if line.startswith("#   octet certs ")]
            assert len(commands) == 6, out[:1500]
            said = [subprocess.run([OCTET, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
                    for words in commands]
            assert f"certificate for DNS:learner, DNS:{name}-learner;" in said[1], said
            secrets = [line.rpartition("--from-file=")[2] for line in out.splitlines() if "create secret generic" in line]
            assert len(secrets) == 5 and all((pathlib.Path(folder) / secret / "node.key").exists() for secret in secrets), secrets


def test_no_run():
    """--resume of a folder without a checkpoint is refused, and the folder left as it is."""
    with tempfile.TemporaryDirectory() as folder:
        result = octet("ssh", "cartpole", "--hosts", "a", "--resume", "--run-dir", folder, status=1)
        assert "has no checkpoint to resume from" in result.stderr, result
        assert not list(pathlib.Path(folder).iterdir())


def host(folder, command, *arguments, **environment):
    """The part of octet cluster ssh that runs on a host, as a shell there reads it."""
    script = (SHELL / "octet_host.sh").read_text(encoding="utf-8")
    return subprocess.run(["sh", "-s", "--", command, folder, "word here", *arguments], input=script, capture_output=True, text=True, check=False,
                          timeout=60, env={**os.environ, "OCTET_SYSTEMD": "0", **environment})


@contextlib.contextmanager
def prepared():
    """A folder as octet cluster ssh makes one on a host, with programs that do nothing."""
    with tempfile.TemporaryDirectory(suffix=".user@host") as name:
        folder = pathlib.Path(name)
        for part in ("bin", "log", "pid", "exit", "run"):
            (folder / part).mkdir()
        (folder / "octet_keep.sh").write_bytes((SHELL / "octet_keep.sh").read_bytes())
        for daemon in ("octet-replay", "octet-learner", "octet-actor"):
            (folder / "bin" / daemon).symlink_to("/bin/true")
        try:
            yield folder
        finally:
            host(folder, "stop", OCTET_STOP_S="2")


def begin(folder, daemon, what="setsid", **environment):
    """Starts one daemon, a script for sh; gives the processes of who keeps it and of itself."""
    (folder / "script").write_text(daemon, encoding="utf-8")
    (folder / "daemons.sh").write_text("daemon 'actor-0' '' 'sh' 'script'\n", encoding="utf-8")
    assert host(folder, "ready").returncode == 0
    result = host(folder, "start", **environment)
    assert result.returncode == 0 and result.stdout == f"{what}\n", result
    return wait_for("a daemon", lambda: len(pids := (folder / "pid/actor-0").read_text(encoding="utf-8").split()) == 2 and [int(pid) for pid in pids])


def test_host():
    """What was started earlier is neither waited for nor followed; its logs stay. A process that has gone is no error."""
    with prepared() as folder:
        (folder / "log/actor-1.log").write_text("of an earlier start\n", encoding="utf-8")
        (folder / "pid/actor-1").write_text("4194304 4194304\n", encoding="utf-8")  # no process has that
        (folder / "exit/actor-2").write_text("0\n", encoding="utf-8")
        result = host(folder, "stop")
        assert result.returncode == 0 and result.stderr == "", result
        (folder / "daemons.sh").write_text("daemon 'actor-0' '' 'true'\n", encoding="utf-8")
        assert host(folder, "ready").returncode == 0
        result = host(folder, "start")
        assert result.returncode == 0 and result.stdout == "setsid\n", result
        result = host(folder, "follow")
        assert result.stdout.endswith("@ended actor-0 0\n@over\n") and "actor-1" not in result.stdout and "actor-2" not in result.stdout, result
        assert (folder / "log/actor-1.log").read_text(encoding="utf-8") == "of an earlier start\n"
        # Stopped before it has begun: it ends by itself.
        (folder / "daemons.sh").write_text("daemon 'actor-0' '' 'sleep' '1000'\n", encoding="utf-8")
        for command in ("ready", "stop", "start"):
            assert host(folder, command).returncode == 0, command
        pid = wait_for("a process", lambda: (folder / "pid/actor-0").exists() and (folder / "pid/actor-0").read_text().strip())
        wait_for("its end", lambda: not pathlib.Path(f"/proc/{pid}").exists())
        assert not (folder / "exit/actor-0").exists()


def test_host_that_began_anew():
    """What it ran has neither a process nor an exit code, and may not even be known any more: it is lost, and is not waited for."""
    for is_known in (True, False):
        with prepared() as folder:
            for pid in begin(folder, "exec sleep 1000"):
                os.kill(pid, signal.SIGKILL)
            if not is_known:
                (folder / "started").write_text("", encoding="utf-8")
            result = host(folder, "follow", "actor-0")
            assert result.returncode == 0 and result.stdout.endswith("@ended actor-0 lost\n"), result


def test_host_log_that_was_emptied():
    """A daemon empties its log when it is large: what it says afterwards is printed as well."""
    with prepared() as folder:
        begin(folder, "echo before\nuntil [ -s seen/actor-0 ]; do sleep 0.05; done\n: >log/actor-0.log\necho after\n")
        result = host(folder, "follow")
        assert "actor-0: before\nactor-0: after\n" in result.stdout.replace("@alive\n", ""), result


def test_keep():
    """What time can heal is tried again until it works, after a minute at most; ten other deaths are the end. The daemon knows how
    often it was started again."""
    with prepared() as folder:
        program(folder / "bin/sleep", f"#!/bin/sh\necho $1 >>{folder}/slept\n")
        program(folder / "bin/octet-actor", f"#!/bin/sh\necho $OCTET_RESTARTS >>{folder}/begun\n"
                                            f"[ $OCTET_RESTARTS -lt 12 ] || exit 0\nexit $CODE\n")

        def kept(code):
            for name in ("slept", "begun"):
                (folder / name).unlink(missing_ok=True)
            done = subprocess.run(["sh", SHELL / "octet_keep.sh", "-", "octet-actor"], capture_output=True, text=True, check=False,
                                  timeout=60, env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "CODE": str(code)})
            return done, [[int(line) for line in (folder / name).read_text(encoding="utf-8").split()] for name in ("slept", "begun")]
        done, (slept, restarts) = kept(1)
        assert done.returncode == 0 and slept == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60] and restarts == list(range(13)), (done, slept)
        done, (slept, restarts) = kept(4)
        assert done.returncode == 4 and slept == [1] * 9 and restarts == list(range(10)), (done, slept)


def test_host_stop():
    """A daemon that saves is waited for, however long, also when who keeps it was killed. One that does nothing is killed."""
    saves = "trap '' TERM\n: >ready\nuntil [ -e stopped ]; do sleep 0.1; done\n" \
            "i=0; while [ $i -lt 50 ]; do i=$((i + 1)); echo $i >>run/part; sleep 0.1; done; mv run/part run/whole\n"
    for is_kept in (True, False):
        with prepared() as folder:
            keeper, daemon = begin(folder, saves)
            wait_for("the daemon", (folder / "ready").exists)
            if not is_kept:
                os.kill(keeper, signal.SIGKILL)
            result = host(folder, "stop", OCTET_STOP_S="2")
            assert result.returncode == 0 and (folder / "run/whole").exists(), (is_kept, result, os.listdir(folder / "run"))
            assert not runs(keeper) and not runs(daemon), is_kept
    with prepared() as folder:
        keeper, daemon = begin(folder, "trap '' TERM\n: >ready\nwhile :; do sleep 0.1; done\n")
        wait_for("the daemon", (folder / "ready").exists)
        result = host(folder, "stop", OCTET_STOP_S="2")
        assert result.returncode == 0 and not runs(keeper) and not runs(daemon), result


def test_host_stopped_between_two_starts():
    """A daemon that died and was not started again has not finished."""
    with prepared() as folder:
        keeper, _ = begin(folder, "exit 137\n")
        wait_for("its death", lambda: "died (exit code 137)" in (folder / "log/actor-0.log").read_text(encoding="utf-8"))
        os.kill(keeper, signal.SIGTERM)
        wait_for("what it ended with", (folder / "exit/actor-0").exists)
        assert (folder / "exit/actor-0").read_text(encoding="utf-8") == "137\n"


def test_host_systemd():
    """systemd's manager of a user ends with the user's last session, unless the user lingers: then it has the daemons. Otherwise they
    know nothing of the folder that ends with the session."""
    for linger, what in (("yes", "systemd-run --user"), ("no", "setsid")):
        with prepared() as folder, tempfile.TemporaryDirectory() as name:
            tools = pathlib.Path(name)
            program(tools / "systemd-run", "#!/bin/bash\nwhile [[ $1 = -* ]]; do [[ $1 != --unit=*@* ]] || exit 1; [[ $1 != -[pE] ]] || shift; shift; done\n"
                                           "[ \"$1\" != true ] || exit 0\n\"$@\" >/dev/null 2>&1 &\n")
            program(tools / "loginctl", f"#!/bin/sh\n[ \"$*\" = \"show-user $(id -un) -p Linger --value\" ] && echo {linger}\n")
            keeper, _ = begin(folder, "echo \"${XDG_RUNTIME_DIR-none}\" >runtime\nexec sleep 1000", what, OCTET_SYSTEMD="1",
                              PATH=f"{tools}:{os.environ['PATH']}", XDG_RUNTIME_DIR=name)
            wait_for("the daemon", lambda: (folder / "runtime").exists() and (folder / "runtime").read_text(encoding="utf-8"))
            assert linger == "yes" or (folder / "runtime").read_text(encoding="utf-8") == "none\n"
            assert host(folder, "stop").returncode == 0 and not runs(keeper)


class Hosts:
    """Where octet cluster ssh runs, with hosts that are folders beside what it calls ssh and scp, and daemons that train nothing."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.run = self.folder / "run"
        self.broken = self.folder / "broken"
        self.silent = self.folder / "silent"
        for name, text in (("ssh", SSH), ("scp", SCP)):
            program(self.folder / name, text)
        (self.folder / "programs").mkdir()
        for name in ("replay", "learner", "actor"):
            program(self.folder / "programs" / f"octet-{name}", LEARNER if name == "learner" else DAEMON)
        for name in ("a", "b"):
            (self.folder / name).mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in ("a", "b"):
            (self.remote(name) / ".owner").unlink(missing_ok=True)
            host(self.remote(name), "stop", OCTET_STOP_S="2")

    def share_home(self):
        """One home for both hosts, which are one machine as well."""
        (self.folder / "b").rmdir()
        (self.folder / "b").symlink_to("a")

    def remote(self, name):
        return (self.folder / name).resolve() / f"octet-runs/run.{name}"

    def start(self, *arguments, run="run"):
        environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", "TMPDIR": str(self.folder), "OCTET_SYSTEMD": "0",
                       "OCTET_LIBEXEC": str(self.folder / "programs")}
        return subprocess.Popen([OCTET, "cluster", "ssh", "cartpole", "--hosts", "a,b", "--run-dir", run, *arguments],
                                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True, env={**os.environ, **environment})

    def begun(self, process):
        """Waits until the learner of this start trains, and its end is what is waited for."""
        return self.heard(process, "learner: LOG-")

    def heard(self, process, words):
        """The next line of the command with these words."""
        said = []
        for line in process.stdout:
            said.append(line)
            if words in line:
                return line
        raise AssertionError(f"octet cluster ssh ended with {process.wait()}: {said}")

    def end(self, process):
        """SIGTERM; what the command said since, and its exit code."""
        process.terminate()
        return self.ended(process)

    def ended(self, process):
        with process:
            said = process.stdout.read()
        return said, process.returncode

    def log(self, name="learner"):
        return (self.run / f"log/{name}.log").read_text(encoding="utf-8")

    def plans(self):
        """The folders here that its starts work in."""
        return set(self.folder.glob("octet-ssh-*"))

    def kill_all_here(self, process):
        """The command and all that it runs on this machine; the run folder is free then."""
        with process:
            os.killpg(process.pid, signal.SIGKILL)
        self.silent.unlink(missing_ok=True)
        with open(self.run / ".lock", "rb") as lock:
            wait_for("the run folder", lambda: is_free(lock))

    def saved(self, where=None):
        return (where or self.run).joinpath("checkpoint.oct").read_text(encoding="utf-8")


def test_a_copy_that_breaks():
    """What was fetched in part is no run: the same command goes on with that on the host, when it is new and when it is resumed, and
    each log is here once."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        starts = []
        for options in ([], ["--resume"]):
            hosts.broken.unlink(missing_ok=True)
            process = hosts.start("--insecure", *options)
            starts.append(hosts.begun(process))
            before = hosts.saved() if options else None
            hosts.broken.write_text("/run/*", encoding="utf-8")
            said, code = hosts.end(process)
            assert code == 143 and f"the same command with --run-dir {hosts.run} continues it" in said, (code, said)
            assert (hosts.saved() if options else hosts.run.joinpath("checkpoint.oct").exists() or None) == before, "all or nothing"
            saved = hosts.saved(hosts.remote("a") / "run")
            moved = f"moved from a large log {len(starts)}\n"
            (hosts.remote("a") / "log/learner.first.log").write_text(moved, encoding="utf-8")
            hosts.broken.write_text("'remove'", encoding="utf-8")
            process = hosts.start("--insecure", *options)
            starts.append(hosts.begun(process))
            assert saved.strip() in starts[-1], (starts, saved)
            said, code = hosts.end(process)
            assert code == 143 and "a:octet-runs/run.a still exists" in said, (code, said)
            assert hosts.saved().startswith("saved ") and (hosts.run / "policy_versions/1.oct").exists()
            assert sorted(os.listdir(hosts.run)) == [".lock", ".owner", "checkpoint.oct", "config.yaml", "log", "policy.oct", "policy_versions"]
            assert hosts.log("learner.first") == moved
        lines = [line for line in hosts.log().splitlines() if line.startswith("LOG-")]
        assert [f"learner: {line}\n" for line in lines] == starts, (lines, starts)
        assert [hosts.log(daemon).count("LOG-") for daemon in ("replay", "evaluator", "actor-0")] == [4, 4, 4]


def test_a_home_that_hosts_share():
    """Each host has a folder of its own there: all daemons run, the run is collected, and nothing of it is left."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        hosts.share_home()
        process = hosts.start("--insecure", "--actors", "2")
        try:
            wait_for("a learner", (hosts.remote("a") / "run/checkpoint.oct").exists, 60)
            assert "begins" in hosts.begun(process)
            started = {host: (hosts.remote(host) / "started").read_text(encoding="utf-8").split() for host in ("a", "b")}
            assert started == {"a": ["replay", "learner", "evaluator"], "b": ["actor-0", "actor-1"]}, started
            kept = [int(file.read_text(encoding="utf-8").split()[0]) for host in started for file in (hosts.remote(host) / "pid").iterdir()]
        finally:
            said, code = hosts.end(process)
        assert code == 143 and "error:" not in said and hosts.saved().startswith("saved "), (code, said)
        assert sorted(os.listdir(hosts.run / "log")) == [f"{daemon}.log" for daemon in ("actor-0", "actor-1", "evaluator", "learner", "replay")]
        assert len(kept) == 5 and not any(runs(pid) for pid in kept), kept
        assert os.listdir(hosts.folder / "a/octet-runs") == []


def is_free(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def test_a_command_that_is_killed():
    """The same command goes on with what the killed one left, though that has made an operator's key in the run folder."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        with hosts.start() as process:
            hosts.begun(process)
            process.kill()
        assert (hosts.run / "certs/operator/node.key").exists()
        wait_for("an end of what it left here", lambda: not hosts.plans())
        with open(hosts.run / ".lock", "rb") as lock:  # until its last child has ended, too
            wait_for("the run folder", lambda: is_free(lock))
        process = hosts.start()
        assert "saved " in hosts.begun(process)
        said, code = hosts.end(process)
        assert code == 143 and hosts.saved().startswith("saved ") and not (hosts.run / "certs").exists(), (code, said)
        assert not hosts.remote("a").exists() and not hosts.remote("b").exists()
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:  # certificates of somebody are no such key
        (hosts.run / "certs/ca").mkdir(parents=True)
        said, code = hosts.ended(hosts.start())
        assert code == 1 and "cannot make folder 'run': File exists" in said, (code, said)


def test_a_link_in_the_run_folder():
    """It is refused by name before anything is written through it."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        victim = hosts.folder / "victim"
        victim.write_text("mine\n", encoding="utf-8")
        hosts.run.mkdir()
        (hosts.run / "checkpoint.oct").write_text("saved 1\n", encoding="utf-8")
        for link in (hosts.run / ".owner", hosts.run / "certs"):
            link.symlink_to(victim)
            said, code = hosts.ended(hosts.start("--insecure", "--resume"))
            assert code == 1 and f"run/{link.name} is a link or a pipe" in said, (code, said)
            assert victim.read_text(encoding="utf-8") == "mine\n" and not hosts.plans()
            link.unlink()


def test_another_run_of_the_same_name():
    """It is refused, and the first one goes on; so it is where the first one is only left there."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        (hosts.folder / "other").mkdir()
        process = hosts.start("--insecure")
        hosts.begun(process)
        said, code = hosts.ended(hosts.start("--insecure", run="other/run"))
        assert code == 1 and all(f"octet-runs/run.{host} has the run of {os.uname().nodename}:{hosts.run}" in said for host in "ab"), (code, said)
        assert not (hosts.folder / "other/run").exists()
        # Nor does a command go on whose folder another one has taken meanwhile.
        (hosts.remote("b") / "mine").touch()
        for command in ("stop", "ready", "start", "remove"):
            result = host(hosts.remote("b"), command)
            assert result.returncode == 1 and f" now belongs to {os.uname().nodename}:{hosts.run}" in result.stderr, result
        assert (hosts.remote("b") / "mine").exists()
        kept = [int(file.read_text(encoding="utf-8").split()[0]) for host in "ab" for file in (hosts.remote(host) / "pid").iterdir()]
        assert len(kept) == 4 and all(runs(pid) for pid in kept), kept
        hosts.broken.write_text("/run/*", encoding="utf-8")
        said, code = hosts.end(process)
        assert code == 143 and hosts.remote("a").exists(), (code, said)
        said, code = hosts.ended(hosts.start("--insecure", run="other/run"))
        assert code == 1 and "octet-runs/run.a has the run of" in said, (code, said)
        hosts.broken.unlink()
        process = hosts.start("--insecure")
        assert "saved " in hosts.begun(process)
        said, code = hosts.end(process)
        assert code == 143 and hosts.saved().startswith("saved "), (code, said)


def test_keys_of_a_command_that_is_killed():
    """No key is here once the hosts have them, but the operator's; what a killed command left here goes with the next start."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        hosts.silent.write_text("'stop'", encoding="utf-8")  # before anything is copied
        process = hosts.start()
        wait_for("what is to be copied", lambda: list(hosts.folder.glob("octet-ssh-*/host.1/certs/actor/node.key")))
        hosts.kill_all_here(process)
        first = hosts.plans()
        assert [plan for plan in first if (plan / "certs/ca.key").exists()], "the key of the run's authority"
        process = hosts.start()
        hosts.begun(process)
        second = hosts.plans()
        assert len(second) == 1 and not first & second, (first, second)
        assert not list(hosts.folder.glob("octet-ssh-*/**/*.key")) and (hosts.run / "certs/operator/node.key").exists()
        hosts.kill_all_here(process)
        assert hosts.plans() == second
        process = hosts.start()
        assert "saved " in hosts.begun(process)
        third = hosts.plans()
        assert len(third) == 1 and not second & third, (second, third)
        said, code = hosts.end(process)
        assert code == 143 and hosts.saved().startswith("saved ") and not hosts.plans(), (code, said)
        assert sorted(os.listdir(hosts.run)) == [".lock", "checkpoint.oct", "config.yaml", "log", "policy.oct", "policy_versions"]
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:  # what is no folder of a start stays
        (hosts.folder / "theirs").mkdir()
        hosts.run.mkdir()
        (hosts.run / ".plan").symlink_to(hosts.folder / "theirs")
        process = hosts.start("--insecure")
        hosts.begun(process)
        said, code = hosts.end(process)
        assert code == 143 and (hosts.folder / "theirs").is_dir() and not (hosts.run / ".plan").is_symlink(), (code, said)


def test_a_learner_that_is_stopped():
    """Who stops the learner on its host has not finished the run; the learner has, when it ends by itself."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        process = hosts.start("--insecure")
        hosts.begun(process)
        for pid in (hosts.remote("a") / "pid/learner").read_text(encoding="utf-8").split():
            kill_if_there(pid, signal.SIGTERM)  # as an orderly shutdown does
        said, code = hosts.ended(process)
        assert code == 143 and "a: learner was stopped there, before the end of the run" in said, (code, said)
        assert hosts.saved().startswith("saved ")
        process = hosts.start("--insecure", "--resume")
        hosts.begun(process)
        (hosts.remote("a") / "finish").touch()
        said, code = hosts.ended(process)
        assert code == 0 and "stopped" not in said, (code, said)


def test_a_replay_that_gives_up():
    """A replay that is not started again is the end of its run, which is saved; so is one that was stopped on its host."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        program(hosts.folder / "programs/octet-replay", DAEMON.replace("exec sleep 1000", "until [ -e refuse ]; do sleep 0.1; done; exit 3"))
        process = hosts.start("--insecure", "--set", "replay.shards=2")
        hosts.begun(process)
        (hosts.remote("a") / "refuse").touch()
        said, code = hosts.ended(process)
        assert code == 3 and ": replay" in said and "has ended (exit code 3), which ends the run\n" in said, (code, said)
        assert "octet cluster ssh: --resume continues from what was saved\n" in said, said
        assert hosts.saved().startswith("saved ") and not hosts.remote("a").exists()
        process = hosts.start("--insecure", "--resume")
        hosts.begun(process)
        for pid in (hosts.remote("a") / "pid/replay").read_text(encoding="utf-8").split():
            kill_if_there(pid, signal.SIGTERM)
        said, code = hosts.ended(process)
        assert code == 143 and "a: replay was stopped there, before the end of the run" in said, (code, said)
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:  # nothing came to be that could be resumed
        program(hosts.folder / "programs/octet-learner", DAEMON)
        program(hosts.folder / "programs/octet-replay", DAEMON.replace("exec sleep 1000", "exit 3"))
        said, code = hosts.ended(hosts.start("--insecure"))
        assert code == 3 and "has ended (exit code 3), which ends the run\n" in said and "--resume" not in said, (code, said)


def test_daemons_that_vanish():
    """They leave no exit code, as after a power cut: of an actor it is told, and with the learner the run ends and is collected."""
    with tempfile.TemporaryDirectory() as name, Hosts(name) as hosts:
        process = hosts.start("--insecure", "--actors", "2")
        hosts.begun(process)
        for host, daemon, words in (("b", "actor-1", "the others continue"), ("a", "learner", "which ends the run")):
            for pid in (hosts.remote(host) / f"pid/{daemon}").read_text(encoding="utf-8").split():
                kill_if_there(pid)
            line = hosts.heard(process, f"{daemon} has ended")
            assert f"{host}: {daemon} has ended (killed, or its host was restarted)" in line and words in line, line
        said, code = hosts.ended(process)
        assert code == 1 and "actor-0 has ended" not in said, (code, said)
        assert hosts.saved().startswith("begun ") and not hosts.remote("a").exists() and not hosts.remote("b").exists()


def test_break_off():
    """SIGTERM while a host is silent: the command ends, and leaves nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program(folder / "ssh", "#!/bin/sh\ncase \"$*\" in *check*) : >silent; exec sleep 1000 ;; esac\n")
        with subprocess.Popen([OCTET, "cluster", "ssh", "cartpole", "--hosts", "a,b", "--insecure", "--run-dir", "run"], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                              env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": name}) as process:
            wait_for("a silent host", (folder / "silent").exists)
            process.terminate()
            try:
                assert process.wait(60) == 143
            finally:
                process.kill()
        assert sorted(os.listdir(folder)) == ["silent", "ssh"]


if __name__ == "__main__":
    sys.exit(0 if unittests.share_functions([
        test_host, test_host_log_that_was_emptied, test_keep, test_host_stop,
        test_host_stopped_between_two_starts, test_host_systemd, test_host_that_began_anew,
        test_a_copy_that_breaks, test_a_home_that_hosts_share, test_a_command_that_is_killed,
        test_a_link_in_the_run_folder, test_another_run_of_the_same_name,
        test_keys_of_a_command_that_is_killed, test_a_learner_that_is_stopped, test_a_replay_that_gives_up,
        test_daemons_that_vanish, test_break_off, test_refusals, test_how_to_look_at_a_run_on_kubernetes,
        test_certificates_of_two_runs_on_kubernetes, test_no_run], processes=3) else 1)
