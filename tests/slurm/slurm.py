#!/usr/bin/env python3
"""octet cluster slurm on a real slurmctld: a cluster of virtual nodes on this machine, with a munged, slurmctld and slurmds of its
own. Started by script/test-slurm.

usage: slurm.py BUILD TOOLS [SCENARIO...]      BUILD: a build folder; TOOLS: where Slurm lies, "/" or where it was unpacked

Waits for conditions with a deadline. The last line is "N passed, N failed, N skipped".
"""

import csv
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import free_port, kill_all, kill_if_there, wait_for  # noqa: E402
from scenarios import main  # noqa: E402

BUILD = TOOLS = None
NODES = 6
LIBRARIES = "usr/lib/x86_64-linux-gnu"
ENDLESS = ["--set", "run.stop_at_return=501", "--set", "run.env_steps=1000000000", "--set", "learner.metrics_s=0.1",
           "--set", "learner.checkpoint_s=0.5"]
MEMORY = ["--learner-memory", "600", "--replay-memory", "500", "--actor-memory", "200"]


def program(*names):
    """Debian's names of slurmctld have an ending, unless its alternatives have made the plain one."""
    for name in names:
        for place in ("usr/sbin", "usr/bin"):
            path = TOOLS / place / name
            if path.exists():
                return str(path)
    raise FileNotFoundError(f"no {names[0]} in {TOOLS}")


class World:
    """A cluster of NODES virtual nodes, each with 4 CPUs and 4 GB as Slurm counts them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []
        self.conf = self.folder / "slurm.conf"
        self.plugins = next(p for p in (TOOLS / LIBRARIES / "slurm-wlm", TOOLS / LIBRARIES / "slurm") if p.exists())
        # The nodes are one host: Open MPI leaves its loopback out unless it is told, and shared memory of two nodes would have one name.
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf), "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_btl": "self,tcp"}
        if str(TOOLS) != "/":
            self.environment["LD_LIBRARY_PATH"] = f"{self.plugins}:{TOOLS / LIBRARIES}"
            self.environment["PATH"] = f"{TOOLS}/usr/bin:{TOOLS}/usr/sbin:{os.environ['PATH']}"
        try:
            self.up()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def configure(self):
        for name in ("state", "spool", "log", "munge"):
            (self.folder / name).mkdir()
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        port, host = free_port(NODES + 1), socket.gethostname().split(".")[0]
        nodes = "".join(f"NodeName=node{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + i} CPUs=4 RealMemory=4000"
                        " State=UNKNOWN\n" for i in range(1, NODES + 1))
        self.conf.write_text(f"""ClusterName=octet{os.getpid()}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={self.folder}/munge/socket
PluginDir={self.plugins}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
TmpFS={self.folder}/tmp/%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmctldLogFile={self.folder}/log/slurmctld.log
SlurmdLogFile={self.folder}/log/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SlurmctldTimeout=120
SlurmdTimeout=120
KillWait=15
MessageTimeout=60
SchedulerParameters=batch_sched_delay=1,sched_interval=1,bf_interval=1
{nodes}PartitionName=main Nodes=node[1-{NODES}] Default=YES MaxTime=INFINITE State=UP
""", encoding="utf-8")

    def start(self, *command):
        with open(self.folder / f"log/{pathlib.Path(command[0]).name}.out", "ab") as log:
            self.processes.append(subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   cwd=self.folder, env=self.environment, start_new_session=True))

    def up(self):
        self.configure()
        munge = self.folder / "munge"
        self.start(program("munged"), "--foreground", "--force", "--num-threads=2", f"--key-file={munge}/key",
                   f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_for("munged", (munge / "socket").exists)
        self.start(program("slurmctld-wlm", "slurmctld"), "-D", "-i", "-f", self.conf)
        for i in range(1, NODES + 1):
            (self.folder / f"spool/node{i}").mkdir()
            (self.folder / f"tmp/node{i}").mkdir(parents=True)
            self.start(program("slurmd-wlm", "slurmd"), "-D", "-N", f"node{i}", "-f", self.conf, "-d",
                       program("slurmstepd-wlm", "slurmstepd"))
        wait_for("the nodes", lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).strip() == str(NODES))

    def close(self):
        if self.processes:
            self.run("scancel", "--quiet", "--user=root", check=False)
            try:
                wait_for("an end of all jobs", lambda: self.jobs() == "", 30)
            except AssertionError as error:
                print(error, flush=True)
        kill_all(self.processes)
        # Steps are children of nobody who is left.
        wait_for("an end of all steps", lambda: not [kill_if_there(pid) for pid in self.strays()])

    def strays(self):
        """Processes with this cluster's configuration in their environment."""
        mark, found = f"SLURM_CONF={self.conf}".encode(), []
        for place in pathlib.Path("/proc").iterdir():
            try:
                if place.name.isdigit() and mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
            except OSError:
                continue
        return found

    def run(self, *command, check=True):
        result = subprocess.run([program(command[0]), *[str(c) for c in command[1:]]], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, env=self.environment, cwd=self.folder, check=False)
        assert not check or result.returncode == 0, (command, result)
        return result.stdout

    def jobs(self):
        return self.run("squeue", "-h", "-o", "%i %T", check=False)

    def state(self, job):
        """Of the first component, with {key: value}."""
        shown = self.run("scontrol", "show", "job", job, check=False).split("\n\n")[0]
        return dict(re.findall(r"(\w+)=(\S*)", shown))

    def submit(self, name, *arguments):
        """A job of octet cluster slurm; its id and its run folder."""
        script = self.folder / f"{name}.sh"
        run = self.folder / name
        made = subprocess.run([BUILD / "cli/octet", "cluster", "slurm", ROOT / "presets/cartpole.yaml", "--run-dir", run, "--sbatch",
                               f"--output={self.folder}/log/{name}.log", *MEMORY, *[str(a) for a in arguments]],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.folder, check=True)
        script.write_text(made.stdout, encoding="utf-8")
        return self.run("sbatch", "--parsable", script).split(";")[0].strip(), run


def rows(run):
    try:
        with open(run / "metrics.csv", encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if None not in row.values()]
    except OSError:
        return []


def newest(run, column):
    values = [float(row[column]) for row in rows(run) if row.get(column)]
    return values[-1] if values else 0.0


def ended(world, job):
    return world.state(job).get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


def train(check, world):
    """A job of two components solves CartPole, and leaves its run and no keys."""
    job, run = world.submit("first", "--actors", 3)
    wait_for("an end", lambda: ended(world, job), numbers=world.jobs)
    state = world.state(job)
    check.that(state["JobState"] == "COMPLETED" and state["ExitCode"] == "0:0", f"{state['JobState']} {state['ExitCode']}")
    check.that(json.loads((run / "summary.json").read_text(encoding="utf-8"))["solved"] is True, "CartPole is solved")
    logs = {path.stem for path in (run / "log").glob("*.log")}
    check.that(logs == {"replay-0", "learner-0", "evaluator-0", "actor-0", "actor-1", "actor-2"}, f"logs: {sorted(logs)}")
    check.that(not (run / "job").exists(), "the job's folder with its keys is gone")
    wait_for("an end of both components", lambda: world.jobs() == "", numbers=world.jobs)


def requeue(check, world):
    """Actors of an array come; the learner's node is drained and the job requeued: it resumes elsewhere, the array follows and grows;
    SIGTERM saves."""
    job, run = world.submit("second", "--actors", 2, *ENDLESS)
    wait_for("updates of two actors", lambda: newest(run, "updates") > 0 and newest(run, "actors") == 2, numbers=world.jobs)
    check.that(oct((run / "job").stat().st_mode & 0o777) == "0o700", "the job's folder is private")
    shown = [dict(re.findall(r"(\w+)=(\S*)", step)) for step in world.run("scontrol", "show", "steps").split("\n\n")]
    given = {step["Name"]: step["TRES"].rsplit(",", 1)[0] for step in shown if step.get("Name") not in (None, "batch", "extern")}
    check.that(given == {"replay": "cpu=1,mem=500M", "learner": "cpu=2,mem=600M", "evaluator": "cpu=1,mem=200M",
                         "actor": "cpu=2,mem=400M"}, f"each step has CPUs and memory of its own: {given}")
    node = world.state(job)["BatchHost"]
    actors = world.run("sbatch", "--parsable", "--array=0-1", run / "actors.sh").strip()
    other = world.run("sbatch", "--parsable", world.folder / "second.sh").strip()
    wait_for("an end of the same script", lambda: ended(world, other), numbers=world.jobs)
    check.that(world.state(other)["ExitCode"] == "1:0" and f"job {job} is using {run} (RUNNING); wait for it to end, or scancel {job}" in
               (world.folder / "log/second.log").read_text(encoding="utf-8"), "the same script again leaves the run to this job")
    wait_for("four actors", lambda: newest(run, "actors") == 4, numbers=world.jobs)
    check.that(True, "an array of two actors takes part")
    world.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    wait_for("a checkpoint", (run / "checkpoint.oct").exists)
    steps_before = newest(run, "env_steps")
    world.run("scontrol", "requeue", job)
    wait_for("a requeued job", lambda: world.state(job).get("Restarts") == "1", numbers=world.jobs)

    def again():
        """Slurm holds back what was requeued for two minutes, unless somebody says now."""
        for component in world.run("squeue", "-h", "-o", "%i", "-t", "PD", check=False).split():
            world.run("scontrol", "update", f"jobid={component}", "starttime=now", check=False)
        return world.state(job).get("JobState") == "RUNNING"

    wait_for("another start", again, numbers=world.jobs)
    other = world.state(job)["BatchHost"]
    check.that(other != node, f"it was drained from {node}, and runs on {other}")
    # Rows of the first start have four actors, too.
    log = run / "log/learner-0.log"
    wait_for("a learner that resumes", lambda: "LEARNER-RESUME" in log.read_text(encoding="utf-8"), numbers=world.jobs)
    steps_resumed = newest(run, "env_steps")
    wait_for("more steps of four actors", lambda: newest(run, "env_steps") > steps_resumed and newest(run, "actors") == 4,
             numbers=world.jobs)
    check.that(steps_resumed >= steps_before, "the learner resumed, and the array has followed it")
    more = world.run("sbatch", "--parsable", "--array=2-3", run / "actors.sh").strip()
    wait_for("six actors", lambda: newest(run, "actors") == 6, numbers=world.jobs)
    check.that(True, "the array has grown by two")
    world.run("scancel", "--batch", "--signal=TERM", job)
    wait_for("an end", lambda: ended(world, job), numbers=world.jobs)
    state = world.state(job)
    check.that(state["JobState"] == "FAILED" and state["ExitCode"] == "143:0", f"SIGTERM, as before a time limit: {state['JobState']} {state['ExitCode']}")
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    check.that(summary["env_steps"] > steps_before and (run / "checkpoint.oct").exists(), f"saved after {summary['env_steps']} steps")
    wait_for(f"an end of the arrays {actors} and {more}", lambda: world.jobs() == "", numbers=world.jobs)
    check.that(True, "the arrays have ended by themselves")


def learners(check, world):
    """Two learners on two nodes by MPI share each batch; one is killed: both go on from the checkpoint; SIGTERM saves."""
    job, run = world.submit("third", "--actors", 1, "--learners", 2, "--learner-nodes", 2, "--insecure-mpi", *ENDLESS)
    wait_for("updates", lambda: newest(run, "updates") > 100, numbers=world.jobs)
    shown = [dict(re.findall(r"(\w+)=(\S*)", step)) for step in world.run("scontrol", "show", "steps").split("\n\n")]
    step = next(step for step in shown if step.get("Name") == "learner")
    check.that(step["Nodes"] == "2" and step["Tasks"] == "2", f"a step of two learners on {step['NodeList']}: {step['TRES']}")
    wait_for("a checkpoint", (run / "checkpoint.oct").exists)
    log, other = run / "log/learner-0.log", (run / "log/learner-1.log").read_text(encoding="utf-8")
    kill_if_there(re.search(r"LEARNER-RANK learner 1 of 2, process (\d+)", other)[1])
    wait_for("both again", lambda: log.read_text(encoding="utf-8").count("LEARNER-LISTEN") == 2, numbers=world.jobs)
    check.that("LEARNER-RESUME" in log.read_text(encoding="utf-8"), "both began again, and went on from the checkpoint")
    updates = newest(run, "updates")
    wait_for("more updates", lambda: newest(run, "updates") > updates + 100, numbers=world.jobs)
    world.run("scancel", "--batch", "--signal=TERM", job)
    wait_for("an end", lambda: ended(world, job), numbers=world.jobs)
    state = world.state(job)
    check.that(state["JobState"] == "FAILED" and state["ExitCode"] == "143:0", f"SIGTERM, as before a time limit: {state['JobState']} {state['ExitCode']}")
    check.that("LEARNER-STOP reason=interrupted" in log.read_text(encoding="utf-8"), "rank 0 has saved the run")
    check.that(json.loads((run / "summary.json").read_text(encoding="utf-8"))["updates"] > updates, "its summary says so")


def refusal(check, world):
    """A replay that refuses its file is the end of the job, with its exit code."""
    run = world.folder / "fourth"
    run.mkdir()
    (run / "replay.oct").write_bytes(b"x" * 8192)
    job, _ = world.submit("fourth", "--actors", 1, *ENDLESS)
    wait_for("an end", lambda: ended(world, job), numbers=world.jobs)
    state = world.state(job)
    check.that(state["JobState"] == "FAILED" and state["ExitCode"] == "3:0", f"{state['JobState']} {state['ExitCode']}")
    said = (world.folder / "log/fourth.log").read_text(encoding="utf-8")
    check.that("replay has exited (code 3), and the learner cannot continue without it" in said, "its log says why")
    check.that(not (run / "job").exists(), "the job's folder with its keys is gone")
    wait_for("an end of both components", lambda: world.jobs() == "", numbers=world.jobs)


SCENARIOS = [train, requeue, learners, refusal]


def begin(build, tools):
    global BUILD, TOOLS
    BUILD, TOOLS = build, tools


if __name__ == "__main__":
    sys.exit(main(__doc__, SCENARIOS, 2, begin, World))
