#!/usr/bin/env python3
"""Breaks a running compose stack and looks whether training goes on.

usage: stack.py ROOT LOGS     (script/test-compose builds the images and calls it, as root; OCTET_TEST_COMPOSE: Compose v2 or v1)

Every step waits for a figure, with a deadline, and prints how long it took. A step that fails leaves the
containers' logs and the numbers of the run in LOGS.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tests/support"))
import daemons  # noqa: E402
from daemons import PATIENCE  # noqa: E402

LOGS = pathlib.Path(sys.argv[2]).resolve()
PROJECT = f"octet-test-{os.getpid()}"
FILES = [ROOT / "deploy/compose.yaml", ROOT / "deploy/compose.insecure.yaml"]
IMAGE = "octet-test"
COMPOSE = os.environ["OCTET_TEST_COMPOSE"].split()
DEADLINE_S = 60
SERVICES = ["learner", "replay", "actor", "evaluator", "prometheus"]
# A run that has no end of its own, for the faults; its checkpoints come often.
ENDLESS = ("--set run.stop_at_return=none --set run.env_steps=1000000000000 "
           "--set learner.checkpoint_s=2 --set learner.metrics_s=0.2 --set actor.report_s=0.1")
# Shares of a core: the test is about faults, and others may be at work on this machine.
SHARES = {"OCTET_LEARNER_CPUS": "0.5", "OCTET_REPLAY_CPUS": "0.5", "OCTET_ACTOR_CPUS": "0.1"}
BATCH = 512  # actor.batch_steps
BEGAN = time.monotonic()


class Stack:
    """Compose with the test's names and settings."""

    def __init__(self):
        self.files = FILES
        self.env = dict(os.environ, OCTET_IMAGE=IMAGE, OCTET_ACTOR_IMAGE=IMAGE + "-actor",
                        OCTET_PROMETHEUS_IMAGE=IMAGE + "-prometheus", OCTET_RUN="faults",
                        OCTET_LEARNER_OPTIONS=ENDLESS, **SHARES)

    def compose(self, *arguments, check=True):
        command = [*COMPOSE, "-p", PROJECT]
        for file in self.files:
            command += ["-f", file]
        return run(*command, *arguments, check=check, env=self.env)

    def folder(self):
        volume = docker("volume", "inspect", "-f", "{{.Mountpoint}}", f"{PROJECT}_run")
        return pathlib.Path(volume) / self.env["OCTET_RUN"]


STACK = Stack()


def run(*command, check=True, env=None):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, text=True, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}"
    return done.stdout.strip()


def docker(*arguments, check=True):
    return run("docker", *arguments, check=check)


def wait_for(what, condition, deadline_s=DEADLINE_S):
    return daemons.wait_for(what, condition, deadline_s, pause_s=0.1, numbers=status_numbers)


def containers(service, every=False):
    """Names of a service's containers, in the order of their numbers."""
    arguments = ["ps", "--format", "{{.Names}}", "--filter", f"label=com.docker.compose.project={PROJECT}",
                 "--filter", f"label=com.docker.compose.service={service}"]
    names = docker(*arguments, *(["-a"] if every else [])).split()
    return sorted(names, key=lambda name: int(re.split("[-_]", name)[-1]))  # v2 writes "-", v1 "_"


def inspect(name, what):
    return docker("inspect", "-f", "{{" + what + "}}", name)


def state(name):
    return json.loads(docker("inspect", "-f", "{{json .State}}", name))


def pid(name):
    return int(inspect(name, ".State.Pid"))


def status_numbers():
    """The last row of the run's metrics.csv as numbers; {} before there is one."""
    try:
        lines = (STACK.folder() / "metrics.csv").read_text(encoding="utf-8").splitlines()
    except (OSError, AssertionError):
        return {}
    names = lines[0].split(",") if lines else []
    for line in reversed(lines[1:]):
        cells = line.split(",")
        if len(cells) == len(names):
            return {name: float(cell) for name, cell in zip(names, cells) if cell}
    return {}


def figure(name):
    return status_numbers().get(name, float("nan"))


def grows(what="env_steps", by=2000, deadline_s=DEADLINE_S):
    """Waits until the figure has grown by so much from now on; rows of a process that was killed count
    nothing, so the first figure is taken when it is called."""
    first = wait_for(what, lambda: status_numbers().get(what), deadline_s)
    wait_for(f"{what} to grow from {first:.0f}", lambda: figure(what) >= first + by, deadline_s)


def replay_grows():
    """Transitions arrive and batches leave."""
    grows("inserts")
    grows("updates", 100)


def healthy(count):
    def condition():
        flags = docker("ps", "--format", "{{.Status}}", "--filter",
                       f"label=com.docker.compose.project={PROJECT}").splitlines()
        return len(flags) == count and sum("(healthy)" in flag for flag in flags) == count - 1  # Prometheus has no health check
    wait_for(f"{count} healthy containers", condition)


def up(actors, *services):
    STACK.compose("up", "-d", "--no-build", "--scale", f"actor={actors}", *(services or SERVICES))


def acting(count):
    """So many actors report, and no more."""
    wait_for(f"{count} actors", lambda: figure("actors") == count)


# ---- steps


INSIDE = """
echo "uid $(id -u)"
for p in $(command -v gcc cc meson ld) $(dpkg-query -W -f '${Package}\\n' | grep -e -dev$); do echo "surplus $p"; done
for p in /usr/bin/octet*; do ldd $p; done | grep 'not found'
ldd /usr/bin/octet-actor
for e in CartPole-v1 dmc:cartpole_balance; do octet env check $e >/dev/null 2>&1 && echo "plays $e"; done
"""


def check_image():
    """What is in the images, and what the containers may do."""
    for image, plays in [(IMAGE, 2), (IMAGE + "-actor", 1)]:
        said = docker("run", "--rm", "--network=none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
                      "--entrypoint", "sh", image, "-c", INSIDE, check=False)
        assert "uid 10001" in said and said.count("plays") == plays, f"{image}: {said}"
        assert not re.search("surplus|not found|blas|mpi|mujoco|cairo", said), f"{image}: {said}"
    name = containers("learner")[0]
    host = json.loads(docker("inspect", "-f", "{{json .HostConfig}}", name))
    assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"] and host["NanoCpus"] == 500000000, host
    refused = docker("exec", name, "sh", "-c", "touch /usr/x || touch /var/lib/octet/x && rm /var/lib/octet/x")
    assert "Read-only file system" in refused, refused
    size = [int(docker("image", "inspect", "-f", "{{.Size}}", image)) // 1000000
            for image in (IMAGE, IMAGE + "-actor")]
    return f"{size[0]} MB, actors alone {size[1]} MB"


def start():
    up(2)
    healthy(6)
    replay_grows()
    status = docker("exec", containers("learner")[0], "octet", "status", f"/var/lib/octet/{STACK.env['OCTET_RUN']}")
    assert "steps" in status, status


def asked(query):
    """What Prometheus answers: {labels: value}."""
    said = docker("exec", containers("prometheus")[0], "promtool", "query", "instant", "http://127.0.0.1:9090", query,
                  check=False)
    rows = [line.split(" => ") for line in said.splitlines() if " => " in line]
    return {labels: float(value.split(" @")[0]) for labels, value in rows}


def scraped():
    """Prometheus finds each daemon by itself, also actors that were started by --scale, and they answer."""
    for query, want in [('sum(up{job="octet"})', 2), ('sum(up{job="octet-actor"})', 4)]:
        wait_for(f"{query} = {want}", lambda: list(asked(query).values()) == [want])
    for name in ["octet_env_steps_total", "octet_replay_inserts_total", "sum(octet_actor_rows_total)"]:
        value = list(asked(name).values())
        assert len(value) == 1 and value[0] > 0, f"{name}: {value}"
    series = asked('{job=~"octet.*"}')
    return f"{len(series)} series"


def scale(count):
    up(count)
    acting(count)
    replay_grows()


def kill(service):
    """kill -9 from outside, as the kernel would; docker kill would count as a stop by hand."""
    name = containers(service)[0]
    before, restarts = status_numbers(), int(inspect(name, ".RestartCount"))
    os.kill(pid(name), 9)
    wait_for(f"{name} to be started again", lambda: int(inspect(name, ".RestartCount")) > restarts)
    if service == "replay":  # its file has everything that it acknowledged
        wait_for("a replay with what it had", lambda: "state=exact" in docker("logs", name))
        wait_for("its counters", lambda: figure("inserts") >= before["inserts"])
    if service == "learner":  # from the last checkpoint: its first rows are older than the last one here
        wait_for("a learner that resumes", lambda: figure("env_steps") != before["env_steps"])
    replay_grows()
    if service == "evaluator":
        evaluations = evaluated()
        wait_for("another evaluation", lambda: evaluated() > evaluations)
    assert figure("policy_version") >= before["policy_version"], "policy versions went back"


def evaluated():
    lines = (STACK.folder() / "metrics.csv").read_text(encoding="utf-8").splitlines()
    column = lines[0].split(",").index("eval_return")
    return sum(1 for line in lines[1:] if line.count(",") >= column and line.split(",")[column])


def partition(service):
    """All packets of one container vanish without a word; later they pass again."""
    name = containers(service)[0]
    rules = [["nsenter", "-t", str(pid(name)), "-n", "iptables"] + rule for rule in
             (["-A", "INPUT", "!", "-i", "lo", "-j", "DROP"], ["-A", "OUTPUT", "!", "-o", "lo", "-j", "DROP"])]
    for rule in rules:
        run(*rule)
    noticed = time.monotonic()
    try:
        wait_for("the learner to notice", lambda: "LEARNER-REPLAY-LOST" in log_since(noticed))
    finally:
        run(*rules[0][:5], "-F")
    replay_grows()


def log_since(began):
    """The learner's log of the time since then."""
    return docker("logs", "--since", f"{time.monotonic() - began + 0.5:.1f}s", containers("learner")[0])


def address_of(name):
    return inspect(name, f'(index .NetworkSettings.Networks "{PROJECT}_octet").IPAddress')


def move(service):
    """The service comes back under another address while somebody else has its old one."""
    name, network = containers(service)[0], f"{PROJECT}_octet"
    old, squatters = address_of(name), []
    docker("network", "disconnect", network, name)
    try:
        while not squatters or address_of(squatters[-1]) != old:
            assert len(squatters) < 20, f"nobody gets {old}"
            squatters.append(f"{PROJECT}-squatter-{len(squatters)}")
            docker("run", "-d", "--name", squatters[-1], "--network", network, "--entrypoint", "sleep", IMAGE, "600")
        docker("network", "connect", "--alias", service, network, name)
        assert address_of(name) != old
        replay_grows()
        lag = figure("policy_version")
        wait_for("actors with a newer policy", lambda: figure("policy_version") - figure("policy_lag_max") > lag)
    finally:
        docker("rm", "-f", *squatters)


def totals():
    """Replay's own account of its life, told when it stops."""
    lines = re.findall(r"REPLAY-STOP (.*)", docker("logs", containers("replay", every=True)[0]))
    return {name: float(value) for name, value in (pair.split("=") for pair in lines[-1].split())}


def metrics(name):
    """What a container serves at /metrics: each family, summed over its labels."""
    url = f"http://{address_of(name)}:9464/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    sums = {}
    for series, value in (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#")):
        family = series.split("{")[0]
        sums[family] = sums.get(family, 0) + float(value)
    return sums


def account():
    """Rows made by the actors that run now, the batches that they still hold, and rows that replay took."""
    actors = [metrics(name) for name in containers("actor")]
    replay = metrics(containers("replay")[0])
    return (sum(actor["octet_actor_rows_total"] for actor in actors),
            sum(actor["octet_actor_unacknowledged_batches"] for actor in actors),
            replay["octet_replay_rows_total"])


def at_rest(ask):
    """The answer once it is the same for a second."""
    last = {"answer": None}

    def same():
        answer, now = ask(), time.monotonic()
        if answer != last["answer"]:
            last.update(answer=answer, since=now)
        return now - last["since"] >= 1 and [answer]
    return wait_for("numbers that stand still", same)[0]


def faults():
    """Every row that these actors made is in replay, once, or still held by its actor: while
    packets vanished and addresses changed, nothing that replay had acknowledged was lost."""
    STACK.compose("stop", "actor")
    before = at_rest(account)[2]
    up(3)
    replay_grows()
    step("replay cut off and healed", partition, "replay")
    step("learner under another address", move, "learner")
    learner = containers("learner")[0]
    docker("pause", learner)  # nobody samples: replay's limiter stops the actors
    made, held, taken = at_rest(account)
    docker("unpause", learner)
    missing = made - (taken - before)
    room = (held + len(containers("actor"))) * 2 * BATCH  # steps and ends; one batch of each may be unfinished
    assert 0 <= missing <= room, f"{made:.0f} made, {taken - before:.0f} taken, {held:.0f} batches held"
    replay_grows()
    return f"{made:.0f} made = {taken - before:.0f} taken + {missing:.0f} that actors hold"


def stop():
    STACK.compose("stop")
    for service in SERVICES:
        for name in containers(service, every=True):
            assert state(name)["ExitCode"] == 0, f"{name}: {state(name)}"
    age = time.time() - (STACK.folder() / "checkpoint.oct").stat().st_mtime
    assert age < 20 * PATIENCE, f"the checkpoint is {age:.0f} s old"
    count = totals()
    assert count["rejected"] == 0, count
    return f"replay took {count['inserts']:.0f}, {count['duplicates']:.0f} again"


def resume():
    before = status_numbers()
    up(3)
    wait_for("steps beyond the last ones", lambda: figure("env_steps") > before["env_steps"])
    replay_grows()
    after = status_numbers()
    assert after["policy_version"] > before["policy_version"] and after["wall_s"] > before["wall_s"]
    return f"{before['env_steps']:.0f} to {after['env_steps']:.0f} steps"


def timed(action, *arguments):
    """What it gives, and the seconds that it takes."""
    began = time.monotonic()
    said = action(*arguments)
    return said, time.monotonic() - began


def certificates(folder):
    for certs in ["init", "issue learner learner", "issue replay replay", "issue actor actor",
                  "issue evaluator evaluator", "issue operator prometheus"]:
        docker("run", "--rm", "--network=none", "-v", f"{folder}:/work", "-w", "/work", IMAGE, "certs", *certs.split())


def down():
    STACK.compose("down", "--volumes", "--timeout", "5")


def solve(run_name):
    """A run of the preset as it is, to its goal; then the learner ends and stays ended."""
    STACK.env.update(OCTET_RUN=run_name, OCTET_LEARNER_OPTIONS="")
    for share in SHARES:
        STACK.env.pop(share, None)
    _, up_s = timed(up, 2)
    name = containers("learner", every=True)[0]
    wait_for("the run's end", lambda: state(name)["Status"] == "exited", 120)
    summary = json.loads((STACK.folder() / "summary.json").read_text(encoding="utf-8"))
    assert state(name)["ExitCode"] == 0 and summary["solved"], summary
    return (f"return {summary['return']['mean']:.1f} after {summary['env_steps']:.0f} steps; "
            f"up {up_s:.1f} s, the run {summary['learner_wall_s']:.1f} s")


def solve_with_tls():
    """The same with compose.yaml alone: certificates made by the image, given as secrets."""
    _, before_s = timed(down)
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 10001, 10001)
        os.chmod(folder, 0o755)
        _, certificates_s = timed(certificates, folder)
        STACK.files = FILES[:1]
        STACK.env.update(OCTET_CERTS=f"{folder}/octet-certs", OCTET_LISTEN="127.0.0.77",
                         OCTET_PROMETHEUS_LISTEN="127.0.0.77")
        said = solve("tls")
        log = docker("logs", containers("actor")[0])
        assert "tls+tcp://learner" in log, log
        _, after_s = timed(down)
    return f"{said}; down before and after {before_s:.1f} s and {after_s:.1f} s, certificates {certificates_s:.1f} s"


def step(what, action, *arguments):
    began = time.monotonic()
    said = action(*arguments)
    now = time.monotonic()
    print(f"{now - BEGAN:4.0f} s  {what} ({now - began:.1f} s)" + (f": {said}" if said else ""), flush=True)


def keep_logs():
    for service in SERVICES:
        for name in containers(service, every=True):
            (LOGS / f"{name}.log").write_text(docker("logs", name, check=False), encoding="utf-8")
            (LOGS / f"{name}.json").write_text(docker("inspect", name, check=False), encoding="utf-8")
    print(f"logs: {LOGS}", flush=True)


def main():
    try:
        step("up, 2 actors", start)
        step("image", check_image)
        step("8 actors", scale, 8)
        step("3 actors", scale, 3)
        step("scraped by Prometheus", scraped)
        for service in ["actor", "evaluator", "learner", "replay"]:
            step(f"kill -9 {service}", kill, service)
        step("each row accounted for", faults)
        step("stop", stop)
        step("start again", resume)
        step("stop again", stop)
        step("CartPole solved", solve, "solve")
        step("CartPole solved with TLS", solve_with_tls)
        return 0
    except Exception as failure:
        print(f"FAIL: {type(failure).__name__}: {failure}", flush=True)
        keep_logs()
        return 1
    finally:
        STACK.compose("down", "--volumes", "--timeout", "5", check=False)


sys.exit(main())
