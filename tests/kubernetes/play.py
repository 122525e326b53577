#!/usr/bin/env python3
"""Runs what `octet cluster k8s` prints: podman executes the pods, and CartPole is trained to solved over TLS.

usage: play.py OCTET PODMAN LOGS [IMAGE]     PODMAN: a command line; IMAGE: of deploy/Dockerfile, there under that name

podman plays pods, claims, secrets and ConfigMaps. What a cluster does beside that is done here, and said: it makes the pods
of a Job, a StatefulSet and a Deployment, gives a Service's name to its pod, sets the modes and the group of volumes as the
manifests say, and runs the probes. The last line is "N passed, N failed, N skipped".
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/kubernetes"), str(ROOT / "tests/support")]
from daemons import wait_for  # noqa: E402

OCTET, PODMAN, LOGS = pathlib.Path(sys.argv[1]).resolve(), shlex.split(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve()
IMAGE = sys.argv[4] if len(sys.argv) > 4 else "localhost/octet-test"
NAME = f"pole-{secrets.token_hex(4)}"
NETWORK = f"{NAME}-net"
DEADLINE_S = 60
COMPONENT = "app.kubernetes.io/component"
STOPPED = 143
SOLVED = 475
ENDLESS = ["--set", "run.stop_at_return=none", "--set", "run.env_steps=1000000000000"]


def run(*command, check=True, cwd=None, text=None):
    done = subprocess.run([str(c) for c in command], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=150, check=False, cwd=cwd)
    assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def podman(*arguments, check=True):
    return run(*PODMAN, *arguments, check=check).strip()


# ---- what a cluster would make of the manifests


class Pod:
    """A pod of a manifest: its documents for podman, and what else the manifest says of it."""

    def __init__(self, owner, number, documents):
        self.owner, kind = owner, owner["kind"]
        template = owner["spec"]["template"]
        self.component = template["metadata"]["labels"][COMPONENT]
        self.name = owner["metadata"]["name"] if kind == "Job" else f"{owner['metadata']['name']}-{number}"
        self.spec = json.loads(json.dumps(template["spec"]))
        self.container = self.spec["containers"][0]
        self.running = f"{self.name}-{self.container['name']}"  # the container's name for podman
        # A Service's name is that of its one pod; of a set it gives each its own.
        self.host = next((d["metadata"]["name"] for d in documents if d["kind"] == "Service" and
                          d["spec"]["selector"][COMPONENT] == self.component), self.name)
        if kind == "StatefulSet" and owner["spec"]["replicas"] > 1:
            self.host = f"{self.name}.{owner['spec']['serviceName']}"
        self.documents, self.volumes = [], {}
        for claim in owner["spec"].get("volumeClaimTemplates", []):
            name = f"{claim['metadata']['name']}-{self.name}"
            self.documents.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": claim["spec"]})
            self.spec["volumes"].append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        for volume in self.spec["volumes"]:
            self.take(volume, documents)
        self.spec["restartPolicy"] = "Never"  # who starts again is this test
        self.listens = {port["containerPort"] for port in self.container.pop("ports")}  # podman 4.3 would open them on this host
        self.documents.append({"apiVersion": "v1", "kind": "Pod", "spec": self.spec,
                               "metadata": {"name": self.name, "labels": template["metadata"]["labels"]}})

    def take(self, volume, documents):
        """Notes podman's name of a volume; and one's own of what is a pod's alone, because podman shares it by its name."""
        if "emptyDir" in volume:
            own = f"{volume['name']}-{self.name}"
            for mount in self.container["volumeMounts"]:
                mount["name"] = own if mount["name"] == volume["name"] else mount["name"]
            volume["name"] = own
            self.volumes[own] = volume
            return
        source = next(key for key in ("persistentVolumeClaim", "secret", "configMap") if key in volume)
        name = volume[source].get({"persistentVolumeClaim": "claimName", "secret": "secretName", "configMap": "name"}[source])
        self.volumes[name] = volume
        if source != "persistentVolumeClaim":
            volume[source]["optional"] = False  # podman 4.3 does not know the default
        kinds = {"persistentVolumeClaim": "PersistentVolumeClaim", "secret": "Secret", "configMap": "ConfigMap"}
        own = [d for d in documents if d["kind"] == kinds[source] and d["metadata"]["name"] == name]
        assert own or any(d["metadata"]["name"] == name for d in self.documents), f"no {kinds[source]} {name}"
        self.documents += own

    def play(self, folder):
        """Makes the pod, gives its volumes their modes, and starts it."""
        self.file = folder / f"{self.name}.yaml"
        self.file.write_text(yaml.safe_dump_all(self.documents), encoding="utf-8")
        podman("play", "kube", "--start=false", "--network", f"{NETWORK}:alias={self.host}", self.file)
        for name, volume in self.volumes.items():
            self.mode(pathlib.Path(podman("volume", "inspect", "--format", "{{.Mountpoint}}", name)), volume)
        podman("pod", "start", self.name)

    def mode(self, folder, volume):
        """As the kubelet does it: fsGroup owns, secrets have defaultMode, an emptyDir is everybody's."""
        group = self.spec["securityContext"]["fsGroup"]
        if "emptyDir" in volume:
            folder.chmod(0o777)
            return
        os.chown(folder, -1, group)
        if "persistentVolumeClaim" in volume:
            folder.chmod(0o2775)
            return
        files = volume.get("secret", volume.get("configMap"))
        for path in folder.iterdir():
            if "secret" in volume:  # podman 4.3 writes them as they stand in the Secret
                with contextlib.suppress(ValueError):
                    path.write_bytes(base64.b64decode(path.read_bytes(), validate=True))
            os.chown(path, 0, group)
            path.chmod(files.get("defaultMode", 0o644))

    def down(self):
        podman("play", "kube", "--down", self.file)

    def pid(self):
        return int(podman("inspect", "--format", "{{.State.Pid}}", self.running))

    def state(self):
        return json.loads(podman("inspect", "--format", "{{json .State}}", self.running))

    def address(self):
        networks = json.loads(podman("inspect", "--format", "{{json .NetworkSettings.Networks}}",
                                     podman("pod", "inspect", "--format", "{{.InfraContainerID}}", self.name)))
        return networks[NETWORK]["IPAddress"]

    def probe(self, name):
        """Exit code and words of one of its probes, run in the pod."""
        done = subprocess.run([*PODMAN, "exec", self.running, *self.container[name]["exec"]["command"]], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        return done.returncode, done.stdout.strip()

    def is_ready(self):
        return self.probe("readinessProbe") == (0, "ok")

    def log(self):
        return subprocess.run([*PODMAN, "logs", self.running], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60, check=False).stdout


def pods(documents):
    """The pods of a stream by their component."""
    found = {}
    for owner in documents:
        if owner["kind"] in ("Job", "StatefulSet", "Deployment"):
            for number in range(owner["spec"].get("replicas", 1)):
                pod = Pod(owner, number, documents)
                found.setdefault(pod.component, []).append(pod)
    return found


def stream(folder, *settings):
    """What octet cluster k8s prints for CartPole, and the Secrets of certificates made as its comment says, word by word."""
    text = run(OCTET, "cluster", "k8s", ROOT / "presets/cartpole.yaml", "--name", NAME, "--actors", "2", "--image", IMAGE,
               "--pull", "Never", *settings, cwd=folder)
    if not (folder / f"octet-certs-{NAME}").exists():
        commands = re.findall(r"^# +octet (certs .*)$", text, re.M)
        assert len(commands) == 5, text[:2000]
        for command in commands:
            run(OCTET, *command.split(), cwd=folder)
    documents = [one for one in yaml.safe_load_all(text) if one]
    for name, source in re.findall(r"^# +kubectl -n octet create secret generic (\S+) --from-file=(\S+)$", text, re.M):
        data = {path.name: base64.b64encode(path.read_bytes()).decode() for path in sorted((folder / source).iterdir())}
        documents.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})
    return documents


# ---- what is looked at


def allowed(documents):
    """{(from, to, port)} that the NetworkPolicies let out."""
    found = set()
    for one in documents:
        if one["kind"] == "NetworkPolicy" and COMPONENT in one["spec"]["podSelector"]["matchLabels"]:
            for rule in one["spec"].get("egress", []):
                for peer in rule["to"]:
                    for port in rule["ports"]:
                        found.add((one["spec"]["podSelector"]["matchLabels"][COMPONENT],
                                   peer["podSelector"]["matchLabels"][COMPONENT], port["port"]))
    return found


def connections(every, owners):
    """{(from, to, port)} of the TCP connections that the pods have opened. owners: component by address."""
    found = set()
    for pod in every:
        for line in pathlib.Path(f"/proc/{pod.pid()}/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            here, there, state = line.split()[1:4]
            ip = ".".join(str(b) for b in bytes.fromhex(there.split(":")[0])[::-1])
            if state == "01" and int(here.split(":")[1], 16) not in pod.listens and ip in owners:
                found.add((pod.component, owners[ip], int(there.split(":")[1], 16)))
    return found


def check_privileges(pod):
    """The manifest's securityContext, as the kernel has it."""
    status = dict(re.findall(r"^(\w+):\s+(.*)$", pathlib.Path(f"/proc/{pod.pid()}/status").read_text(encoding="utf-8"), re.M))
    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"10001"}, f"{pod.name}: {status['Uid']} {status['Gid']}"
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, f"{pod.name}: {status['CapEff']} {status['CapBnd']}"
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"{pod.name}: {status['NoNewPrivs']} {status['Seccomp']}"
    mounts = pathlib.Path(f"/proc/{pod.pid()}/mounts").read_text(encoding="utf-8")
    options = [line.split()[3].split(",") for line in mounts.splitlines() if line.split()[1] == "/"]
    assert "ro" in options[-1], f"{pod.name}: its root file system is {options}"


def run_folder(pod):
    claim = next(name for name, volume in pod.volumes.items() if "persistentVolumeClaim" in volume)
    return pathlib.Path(podman("volume", "inspect", "--format", "{{.Mountpoint}}", claim)) / "run"


def metrics(pod, name):
    """The last figure of a column of the learner's metrics.csv, or None."""
    try:
        head, *rows = (run_folder(pod) / "metrics.csv").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    cells = [row.split(",")[head.split(",").index(name)] for row in rows if row.count(",") == head.count(",")]
    return float(cells[-1]) if cells and cells[-1] else None


# ---- the run


def solves(folder, playing):
    """The pods, in whatever order they come, train until the task is solved; the learner's ends, as its Job wants it."""
    made = pods(stream(folder))
    assert {name: len(some) for name, some in made.items()} == {"learner": 1, "replay": 1, "actor": 2, "evaluator": 1}
    for component in ("actor", "learner", "evaluator", "replay"):
        for pod in made[component]:
            playing.append(pod)
            pod.play(folder)
    learner = made["learner"][0]
    wait_for("the end of the run", lambda: learner.state()["Status"] == "exited", DEADLINE_S, 0.2,
             lambda: "\n".join(pod.log() for pod in playing))
    assert learner.state()["ExitCode"] == 0, learner.log()
    summary = json.loads((run_folder(learner) / "summary.json").read_text(encoding="utf-8"))
    result = summary["return"]
    assert summary["solved"] and result["precision"] == "int8" and result["mean"] >= SOLVED, summary
    print(f"CartPole: {summary['reason']}, {result['mean']} over {result['episodes']} episodes after {summary['env_steps']} steps")
    learner.down()
    return made


def goes_on(folder, playing, made):
    """Another Job of the run, without an end, goes on from the volume: every pod is ready, and what runs is what the manifests
    allow."""
    documents = stream(folder, *ENDLESS)
    learner = pods(documents)["learner"][0]
    before = metrics(learner, "updates")
    # Volumes and Secrets are there already, as in a cluster; podman makes the ConfigMap's anew.
    learner.documents = [d for d in learner.documents if d["kind"] in ("Pod", "ConfigMap")]
    podman("volume", "rm", f"{NAME}-experiment")
    playing.append(learner)
    made["learner"] = [learner]
    learner.play(folder)
    every = [pod for some in made.values() for pod in some]
    for pod in every:
        wait_for(f"{pod.name} to be ready", pod.is_ready, DEADLINE_S, 0.2, lambda p=pod: f"{p.probe('readinessProbe')}\n{p.log()}")
        assert pod.probe("livenessProbe")[0] == pod.probe("startupProbe")[0] == 0, pod.name
        check_privileges(pod)
    wait_for("updates", lambda: metrics(learner, "updates") > before, DEADLINE_S, 0.2, learner.log)
    wait_for("both actors", lambda: metrics(learner, "actors") == 2, DEADLINE_S, 0.2, learner.log)
    owners = {pod.address(): pod.component for pod in every}
    want = {flow for flow in allowed(documents) if "operator" not in flow}
    wait_for("each connection that a policy lets out", lambda: connections(every, owners) == want, DEADLINE_S, 0.2,
             lambda: f"{connections(every, owners) ^ want}")


def stops_and_goes_on(made):
    """A learner that is stopped ends with the code that its Job starts again; the others live, and say what they miss."""
    learner, actor = made["learner"][0], made["actor"][0]
    podman("stop", "--time", "60", learner.running)
    state = learner.state()
    assert state["Status"] == "exited" and state["ExitCode"] == STOPPED, f"{state}\n{learner.log()}"
    wait_for("the actor to miss the learner", lambda: actor.probe("readinessProbe")[0] == 1, DEADLINE_S, 0.2)
    code, words = actor.probe("livenessProbe")
    assert code == 0 and "learner" in words, words
    before = metrics(learner, "updates")
    podman("start", learner.running)
    wait_for("updates", lambda: metrics(learner, "updates") > before, DEADLINE_S, 0.2, learner.log)
    wait_for("the actor to be ready again", actor.is_ready, DEADLINE_S, 0.2)
    assert learner.log().count("LEARNER-RESUME from") == 2, learner.log()


def ends(playing):
    """SIGTERM ends actors, evaluator and replay well; and nothing is left."""
    *others, learner = [pod for pod in playing if pod.component != "learner"] + playing[-1:]
    for pod in others:
        podman("stop", "--time", "60", pod.running)
        assert pod.state()["ExitCode"] == 0, f"{pod.name}: {pod.state()}\n{pod.log()}"
    for pod in (*others, learner):
        pod.down()
    assert podman("ps", "--all", "--quiet", "--filter", f"network={NETWORK}") == "" and podman("pod", "ls", "--quiet") == ""


@contextlib.contextmanager
def scratch(playing):
    """A folder, a network; and nothing of either afterwards."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-kubernetes."))
    podman("network", "create", "--internal", NETWORK)
    try:
        yield folder
    except Exception:
        for number, pod in enumerate(playing):
            (LOGS / f"{number}-{pod.name}.log").write_text(pod.log(), encoding="utf-8")
        raise
    finally:
        for pod in playing:
            podman("pod", "rm", "--force", pod.name, check=False)
        podman("network", "rm", "--force", NETWORK, check=False)
        for kind in ("volume", "secret"):
            for name in podman(kind, "ls", "--format", "{{.Name}}", check=False).split():
                if NAME in name:
                    podman(kind, "rm", name, check=False)
        shutil.rmtree(folder)


def main():
    playing, passed = [], 0
    try:
        with scratch(playing) as folder:
            made = solves(folder, playing)
            passed += 1
            goes_on(folder, playing, made)
            passed += 1
            stops_and_goes_on(made)
            passed += 1
            ends(playing)
            passed += 1
    except (AssertionError, KeyError, ValueError, OSError, subprocess.SubprocessError, StopIteration):
        print(f"{traceback.format_exc()}FAIL  after {passed} of 4 parts; logs in {LOGS}")
        print(f"{passed} passed, 1 failed, 0 skipped")
        return 1
    print(f"{passed} passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
