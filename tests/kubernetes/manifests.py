#!/usr/bin/env python3
"""What octet cluster k8s prints, and deploy/kubernetes, without a cluster: strictly against the API's models and the daemons.

usage: manifests.py OCTET [CASE...]

OCTET is the octet executable of a build tree. Needs the package kubernetes of PyPI (script/setup test). The last line is
"N passed, N failed, N skipped".
"""

import contextlib
import copy
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
OCTET = pathlib.Path(sys.argv[1]).resolve()
FILES = ROOT / "deploy/kubernetes"
NAME = "pole" # of the run in the files of deploy/kubernetes
sys.path[:0] = [str(ROOT / "tests/kubernetes"), str(ROOT / "tools")]
import kustomize  # noqa: E402
import metric_names  # noqa: E402
import schema  # noqa: E402

# Those that the user makes of octet certs' folders.
SECRETS = [f"{NAME}-{role}-tls" for role in ("learner", "replay", "actor", "evaluator")]
COMPONENT = "app.kubernetes.io/component"


CASES = {}


class Skipped(Exception):
    pass


def case(function):
    CASES[function.__name__] = function
    return function


def octet(*words):
    """Exit code, standard output and standard error."""
    done = subprocess.run([OCTET, *words], capture_output=True, timeout=120, check=False, cwd=ROOT, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def printed(*words):
    code, out, said = octet("cluster", "k8s", *words)
    assert code == 0, said
    return kustomize.documents(out)


@contextlib.contextmanager
def kustomization():
    """deploy/kubernetes with its run.yaml, as its first lines say."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        command = re.search(r"^#   octet (.*) > deploy/kubernetes/run.yaml$", (FILES / "kustomization.yaml").read_text(encoding="utf-8"), re.M)
        code, out, said = octet(*command[1].split())
        assert code == 0, said
        (pathlib.Path(folder) / "run.yaml").write_text(out, encoding="utf-8")
        yield pathlib.Path(folder)


@functools.cache
def every():
    with kustomization() as folder:
        return {"printed": printed("presets/cartpole.yaml", "--name", NAME, "--actors", "4"), "kustomized": kustomize.build(folder)}


def the(documents, kind, name):
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} of {kind}/{name}"
    return found[0]


# ---- the files


@case
def the_files_are_valid():
    for name, documents in every().items():
        assert schema.check(documents, SECRETS) == [], f"{name}: {schema.check(documents, SECRETS)}"


@case
def the_kustomization_is_what_kubectl_makes():
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise Skipped("kubectl is not installed: the kustomization was built by tests/kubernetes/kustomize.py alone")
    with kustomization() as folder:
        done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60, check=False)
    if "unknown field" in done.stderr or "invalid Kustomization" in done.stderr:
        raise Skipped(f"this kubectl knows an older kustomize: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    ours = {schema.name_of(d): d for d in every()["kustomized"]}
    theirs = {schema.name_of(d): d for d in kustomize.documents(done.stdout)}
    assert ours == theirs, [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]


@case
def the_kustomization_changes_what_it_says():
    before, after = every()["printed"], every()["kustomized"]
    actor, learner = the(after, "Deployment", f"{NAME}-actor"), the(after, "Job", f"{NAME}-learner")
    spread = actor["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]
    assert spread == the(before, "Deployment", f"{NAME}-actor")["spec"]["selector"]["matchLabels"], spread
    resources = learner["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert number_of(resources["limits"]["memory"]) > number_of(resources["requests"]["memory"]), resources
    images = {container["image"] for _, _, spec, _ in schema.pods(after) for container in spec["containers"]}
    assert len(images) == 1 and re.fullmatch(r"registry.example.org/octet:[0-9.]+", *images), images
    assert {d["metadata"]["namespace"] for d in after if d["kind"] != "Namespace"} == {"octet"}


# Each: where it is (a document, then keys), what stands there instead (DELETED: nothing), a part of the complaint.
DELETED = object()
POD = ("spec", "template", "spec")
FAULTS = [
    ("Deployment/pole-actor", ("spec", "selectr"), {}, "unknown field of V1DeploymentSpec"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "imagePullPolicee"), "Never", "unknown field of V1Container"),
    ("Deployment/pole-actor", ("spec", "selector"), DELETED, "selector: is required"),
    ("Deployment/pole-actor", ("spec", "replicas"), "2", "int is needed"),
    ("Deployment/pole-actor", ("spec", "replicas"), True, "int is needed"),
    ("Deployment/pole-actor", ("apiVersion",), "apps/v1beta9", "unknown kind"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "args"), "octet-actor", "a list is needed"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "args", 0), 5, "str is needed"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "image"), None, "str is needed"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "resources", "limits", "memory"), "1Gib", "bad quantity"),
    ("Deployment/pole-actor", (*POD, "containers", 0, "volumeMounts", 0, "name"), "tmpp", "no volume tmpp"),
    ("Deployment/pole-actor", (*POD, "volumes", 0, "secret", "secretName"), "actors-tls", "no Secret actors-tls"),
    ("Deployment/pole-actor", ("metadata", "name"), "Actor", "is no DNS label"),
    ("Deployment/pole-actor", ("metadata", "namespace"), "a.b", "is no DNS label"),
    ("Deployment/pole-actor", ("metadata", "labels", COMPONENT), "-actor", "is no label"),
    ("Deployment/pole-actor", ("spec", "template", "metadata", "labels", COMPONENT), "act", "selects []"),
    ("StatefulSet/pole-replay", ("spec", "volumeClaimTemplates", 0, "spec", "resources", "requests", "storage"), "20 GB", "bad quantity"),
    ("StatefulSet/pole-replay", ("spec", "serviceName"), "replays", "no Service replays"),
    ("Job/pole-learner", (*POD, "volumes", 0, "persistentVolumeClaim", "claimName"), "runs", "no claim runs"),
    ("Job/pole-learner", (*POD, "volumes", 1, "configMap", "name"), "experiments", "no ConfigMap experiments"),
    ("Job/pole-learner", ("spec", "backoffLimit"), "1000", "int is needed"),
    ("Service/pole-learner", ("spec", "ports", 0, "targetPort"), "call", "no port call"),
    ("Service/pole-learner", ("spec", "ports", 0, "port"), 5550, "no port calls at 5550"),
    ("Service/pole-learner", ("spec", "selector", COMPONENT), "learners", "selects []"),
    ("PodDisruptionBudget/pole-actor", ("spec", "maxUnavailable"), 0.5, "a number or a name is needed"),
    ("PodDisruptionBudget/pole-actor", ("spec", "selector", "matchLabels"), {}, "one is meant"),
    ("NetworkPolicy/pole-actor", ("spec", "policyType"), ["Egress"], "unknown field of V1NetworkPolicySpec"),
    ("HorizontalPodAutoscaler/pole-actor", ("spec", "maxReplicas"), DELETED, "maxReplicas: is required"),
    ("HorizontalPodAutoscaler/pole-actor", ("spec", "metrics", 0, "object", "target", "averageValue"), "one", "bad quantity"),
    ("HorizontalPodAutoscaler/pole-actor", ("spec", "scaleTargetRef", "name"), "actors", "no Deployment/actors"),
]


@case
def each_seeded_fault_is_found():
    whole = every()["kustomized"]
    for where, way, value, complaint in FAULTS:
        documents = copy.deepcopy(whole)
        at = the(documents, *where.split("/"))
        for part in way[:-1]:
            at = at[part]
        if value is DELETED:
            del at[way[-1]]
        else:
            at[way[-1]] = value
        found = schema.check(documents, SECRETS)
        assert any(complaint in one for one in found), f"{where}.{way}: {found}, not {complaint!r}"


@case
def the_merge_refuses_what_it_does_not_know():
    for text in ("resources: []\nnamePrefix: a-\n",
                 "resources: []\npatches: [{target: {kind: Job}, patch: '[]'}]\n"):
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
            kustomize.build(folder)
        except AssertionError:
            continue
        finally:
            shutil.rmtree(folder)
        raise AssertionError(f"was taken: {text}")


# ---- what runs in the pods


@case
def pods_have_no_privileges():
    """As the Pod Security Standard "restricted" wants it, and more: the root file system is read-only, no token of the API."""
    for overlay, documents in every().items():
        pods = list(schema.pods(documents))
        assert {name for name, *_ in pods} == {f"{kind}/{NAME}-{name}" for kind, name in (
            ("Job", "learner"), ("StatefulSet", "replay"), ("Deployment", "actor"), ("Deployment", "evaluator"))}
        for name, _, spec, _ in pods:
            at = f"{overlay}: {name}"
            assert spec["automountServiceAccountToken"] is False and spec["enableServiceLinks"] is False, at
            secure = spec["securityContext"]
            assert secure["runAsNonRoot"] is True and secure["runAsUser"] == secure["runAsGroup"] == secure["fsGroup"] == 10001, at
            assert secure["seccompProfile"] == {"type": "RuntimeDefault"}, at
            assert not set(spec) & {"hostNetwork", "hostPID", "hostIPC"}, at
            assert all(set(v) <= {"name", "emptyDir", "secret", "configMap", "persistentVolumeClaim"} for v in spec["volumes"]), at
            for container in spec["containers"]:
                assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                        "capabilities": {"drop": ["ALL"]}}, at
                assert {"cpu", "memory"} <= set(container["resources"]["requests"]) and "memory" in container["resources"]["limits"], at
                assert all("hostPort" not in port for port in container["ports"]), at
            keys = [v for v in spec["volumes"] if "secret" in v]
            assert len(keys) == 1 and keys[0]["secret"]["defaultMode"] == 0o440, f"{at}: readable by the group alone"


@case
def probes_ask_octet_health():
    for documents in every().values():
        for name, _, spec, _ in schema.pods(documents):
            container = spec["containers"][0]
            http = container["args"][container["args"].index("--metrics") + 1]
            assert http.startswith("http://127.0.0.1:")
            alive = ["octet", "health", "--alive", http]
            assert container["startupProbe"]["exec"]["command"] == container["livenessProbe"]["exec"]["command"] == alive, name
            assert container["readinessProbe"]["exec"]["command"] == ["octet", "health", http], name


@case
def arguments_are_those_of_the_daemons():
    for documents in every().values():
        for name, _, spec, _ in schema.pods(documents):
            program, *words = spec["containers"][0]["args"]
            daemon = OCTET.parent.parent / program.replace("octet-", "") / program
            text = subprocess.run([daemon, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
            used, known = {word for word in words if word.startswith("--")}, set(re.findall(r"--[a-z-]+", text))
            assert used <= known, f"{name}: {used - known} of {program}"


@case
def the_experiment_is_resolved():
    for documents in every().values():
        experiment = the(documents, "ConfigMap", f"{NAME}-experiment")
        assert set(experiment["data"]) == {"experiment.yaml"}
        resolved = yaml.safe_load(experiment["data"]["experiment.yaml"])
        assert resolved["env"]["id"] == "CartPole-v1" and resolved["network"]["hidden"] == [32, 32]


@case
def the_job_of_the_learner_tells_an_end_from_a_stop():
    for documents in every().values():
        job = the(documents, "Job", f"{NAME}-learner")["spec"]
        words = job["template"]["spec"]["containers"][0]["args"]
        code = int(words[words.index("--exit-when-stopped") + 1])
        rules = job["podFailurePolicy"]["rules"]
        refused = [rule["onExitCodes"]["values"] for rule in rules if rule["action"] == "FailJob"]
        # docs/reference.md, Exit codes: 2 and 3 would come again.
        assert refused == [[2, 3]] and code == 128 + 15, job
        assert job["template"]["spec"]["restartPolicy"] == "Never" and job["podReplacementPolicy"] == "Failed", job
        # Of the API: rules for exit codes need that, and a container of that name.
        assert rules[0]["onExitCodes"]["containerName"] == job["template"]["spec"]["containers"][0]["name"]


# ---- the network


def policy_ports(rules, key, documents):
    """{(component, port)} that the rules let in from ("from") or out to ("to"); None for those of namespaces."""
    found = set()
    for rule in rules:
        assert rule["ports"], "every port is named"
        for peer in rule[key]:
            selector = peer.get("podSelector", {}).get("matchLabels", {})
            found |= {(selector.get(COMPONENT), port["port"]) for port in rule["ports"]}
    return found


def flows(documents):
    """({(from, to, port)} that are let in, the same that are let out) between the pods of a run."""
    into, out = set(), set()
    for one in documents:
        if one["kind"] == "NetworkPolicy":
            own = one["spec"]["podSelector"]["matchLabels"].get(COMPONENT)
            assert one["spec"]["policyTypes"] == ["Ingress", "Egress"], one["metadata"]["name"]
            if own is not None:
                into |= {(peer, own, port) for peer, port in policy_ports(one["spec"].get("ingress", []), "from", documents)}
                out |= {(own, peer, port) for peer, port in policy_ports(one["spec"].get("egress", []), "to", documents)}
    return into, out


@case
def the_network_lets_through_what_the_table_says():
    table = (ROOT / "docs/reference.md").read_text(encoding="utf-8").split("\n## Addresses")[1]
    want = set()
    for port, host, clients in re.findall(r"^\| (\d+)/tcp \| (learner|replay) \| ([a-z, ]+) \|", table, re.M):
        want |= {(client.strip().removesuffix("s"), host, int(port)) for client in clients.split(",")}
    assert len(want) >= 8, table
    for overlay, documents in every().items():
        into, out = flows(documents)
        assert into == out, f"{overlay}: only one side lets through: {into ^ out}"
        assert into == want, f"{overlay}: {into ^ want}"


@case
def the_rest_of_the_network_is_closed():
    for documents in every().values():
        wide = [d for d in documents if d["kind"] == "NetworkPolicy" and COMPONENT not in d["spec"]["podSelector"]["matchLabels"]]
        assert {d["metadata"]["name"] for d in wide} == {f"{NAME}-deny", f"{NAME}-names-and-metrics"}
        closed = the(documents, "NetworkPolicy", f"{NAME}-deny")["spec"]
        assert set(closed) == {"podSelector", "policyTypes"}, closed
        for _, labels, _, _ in schema.pods(documents):
            assert schema.fits(closed["podSelector"]["matchLabels"], labels)
        names = the(documents, "NetworkPolicy", f"{NAME}-names-and-metrics")["spec"]
        assert policy_ports(names["ingress"], "from", documents) == {(None, 9465)}
        assert policy_ports(names["egress"], "to", documents) == {(None, 53)}
        for rule, key in ((names["ingress"][0], "from"), (names["egress"][0], "to")):
            assert all("namespaceSelector" in peer and peer["namespaceSelector"]["matchLabels"] for peer in rule[key])


@case
def addresses_are_services():
    """What the daemons dial is the name and a port of a Service."""
    for documents in every().values():
        dialled = {"actor": set(), "evaluator": set(), "learner": set()}
        for name, labels, spec, _ in schema.pods(documents):
            for host, port in re.findall(r"tls\+tcp://([a-z][a-z0-9-]*):(\d+)", " ".join(spec["containers"][0]["args"])):
                service = the(documents, "Service", host)["spec"]
                assert int(port) in [p["port"] for p in service["ports"]], name
                # Before they are ready their clients look them up; and there is no virtual address in between.
                assert service["publishNotReadyAddresses"] is True and service["clusterIP"] == "None", host
                dialled[labels[COMPONENT]].add(host)
        assert dialled == {"actor": {f"{NAME}-learner"}, "evaluator": {f"{NAME}-learner"}, "learner": {f"{NAME}-replay"}}


# ---- actors


@case
def actors_follow_a_metric_that_there_is():
    documents = every()["kustomized"]
    scaler = the(documents, "HorizontalPodAutoscaler", f"{NAME}-actor")["spec"]
    metric = scaler["metrics"][0]["object"]["metric"]["name"]
    assert metric_names.documented(ROOT).get(metric) == "gauge", metric
    assert "replicas" not in the(documents, "Deployment", f"{NAME}-actor")["spec"], "applied again, it would undo the autoscaler"
    assert scaler["metrics"][0]["object"]["target"] == {"type": "AverageValue", "averageValue": "1"}


@case
def the_metric_reaches_the_autoscaler():
    """Prometheus' configuration, the adapter's rule and the autoscaler name one number of one Service."""
    folder, documents = FILES / "autoscale", every()["kustomized"]
    scaled = the(documents, "HorizontalPodAutoscaler", f"{NAME}-actor")["spec"]["metrics"][0]["object"]
    rule = yaml.safe_load((folder / "adapter.yaml").read_text(encoding="utf-8"))["rules"][0]
    assert re.match(r"\w+", rule["seriesQuery"])[0] == scaled["metric"]["name"], rule
    scrape = yaml.safe_load((folder / "prometheus.yaml").read_text(encoding="utf-8"))["scrape_configs"][0]
    labels = scrape["static_configs"][0]["labels"]
    assert set(labels) - {"run", "role"} == set(re.findall(r'(\w+)!=""', rule["seriesQuery"])) == set(rule["resources"]["overrides"]), labels
    service = the(documents, "Service", scaled["describedObject"]["name"])
    assert labels == {"service": service["metadata"]["name"], "namespace": service["metadata"]["namespace"], "role": "learner",
                      "run": service["metadata"]["labels"]["app.kubernetes.io/instance"]}, labels
    host, port = scrape["static_configs"][0]["targets"][0].split(":")
    assert host == f"{labels['service']}.{labels['namespace']}.svc" and int(port) in [p["port"] for p in service["spec"]["ports"]]
    promtool = shutil.which("promtool") or shutil.which(ROOT / "build/tools/debian/prometheus/usr/bin/promtool")
    if promtool is None:
        raise Skipped("promtool is not installed (Debian: prometheus): it was not asked about autoscale/prometheus.yaml")
    done = subprocess.run([promtool, "check", "config", "--syntax-only", folder / "prometheus.yaml"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@case
def the_run_folder_can_be_fetched():
    pod = kustomize.documents((FILES / "fetch.yaml").read_text(encoding="utf-8"))[0]
    found = []
    schema.model(pod, schema.class_of(pod), "V1Pod", "Pod/fetch", found)
    schema.names(pod, found)
    assert found == [], found
    documents = every()["printed"]
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]
    assert the(documents, "PersistentVolumeClaim", claim["claimName"]) and claim["readOnly"] is True
    # It runs as the learner did, and is none of the pods that policies let connect.
    learner = the(documents, "Job", f"{NAME}-learner")["spec"]["template"]["spec"]
    for key in ("runAsUser", "runAsGroup", "fsGroup", "runAsNonRoot", "seccompProfile"):
        assert pod["spec"]["securityContext"][key] == learner["securityContext"][key], key
    assert pod["spec"]["containers"][0]["securityContext"] == learner["containers"][0]["securityContext"]
    for key in ("image", "imagePullPolicy"):
        assert pod["spec"]["containers"][0][key] == learner["containers"][0][key], key
    policies = [d["spec"]["podSelector"]["matchLabels"] for d in documents if d["kind"] == "NetworkPolicy"]
    assert not any(schema.fits(selector, pod["metadata"]["labels"]) for selector in policies)


# ---- octet cluster k8s


def secrets_of(name):
    return [secret.replace(NAME, name, 1) for secret in SECRETS]


def number_of(quantity):
    """CPUs or bytes."""
    digits, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", quantity).groups()
    return float(digits) * {"": 1, "m": 1e-3, "Mi": 2**20, "Gi": 2**30}[unit]


def asked_for(documents):
    """What each component of a run requests: CPUs, memory, disk; and all of them."""
    asked = {"all": [0, 0, 0]}
    for document in documents:
        spec, component = document.get("spec", {}), document["metadata"].get("labels", {}).get(COMPONENT)
        claims = spec.get("volumeClaimTemplates", []) + ([document] if document["kind"] == "PersistentVolumeClaim" else [])
        disk = sum(number_of(claim["spec"]["resources"]["requests"]["storage"]) for claim in claims)
        pods = spec.get("replicas", 1) if "template" in spec else 0
        resources = spec["template"]["spec"]["containers"][0]["resources"] if pods else None
        one = [number_of(resources["requests"][name]) for name in ("cpu", "memory")] if pods else [0, 0]
        assert not pods or set(resources["limits"]) == {"memory"} and number_of(resources["limits"]["memory"]) >= one[1], component
        for name, count in ((component, 1), ("all", max(pods, 1))):
            before = asked.setdefault(name, [0, 0, 0])
            asked[name] = [before[0] + count * one[0], before[1] + count * one[1], before[2] + count * disk]
    return asked


@case
def requests_follow_from_the_experiment():
    # A node of kind or minikube as it comes: 2 CPUs, of which its own pods have nearly one, 2 GiB, 20 GB.
    cpus, memory, disk = asked_for(printed("cartpole", "--actors", "4"))["all"]
    assert cpus <= 1 and memory <= 1.5 * 2**30 and disk <= 2 * 2**30, f"{cpus}, {memory}, {disk}"
    small, large = asked_for(printed("cartpole")), asked_for(printed("dmc/humanoid_walk"))
    assert large["learner"][0] >= 1.25 and large["actor"][0] >= 0.5, large
    assert all(large[name][i] > small[name][i] for name in ("learner", "replay", "actor") for i in (0, 1)), (small, large)
    # The table: a million rows of 724 bytes in memory and in the file.
    assert large["replay"][1] > 1.5 * 724e6 and large["replay"][2] > 1.5 * 724e6, large
    half = asked_for(printed("dmc/humanoid_walk", "--set", "replay.shards=2"))
    assert 2 * half["replay"][1] < 1.5 * large["replay"][1] and half["learner"][0] == large["learner"][0], half
    ring = asked_for(printed("cartpole", "--set", "actor.ring_batches=4000"))
    assert ring["actor"][1] > small["actor"][1] and ring["learner"] == small["learner"], ring
    many = asked_for(printed("cartpole", "--actors-max", "2000"))
    assert many["learner"][1] > small["learner"][1] + 1.5 * 2000 * 20e3 and many["replay"][0] == 0.5, many
    own = asked_for(printed("examples/env/point.yaml", "--set", f"env.id={OCTET.parents[1] / 'tests/envs/point.so'}"))
    assert own["actor"][:2] == [0.5, 2**30 + 32 * 2**20] and own["evaluator"][:2] == own["actor"][:2], own
    given = asked_for(printed("dmc/humanoid_walk", "--learner-cpu", "3", "--learner-memory", "9Gi", "--run-size", "7Gi",
                              "--replay-cpu", "1500m", "--replay-memory", "8Gi", "--replay-size", "6Gi", "--actor-cpu", "1.5",
                              "--actor-memory", "5Gi"))
    gib = 2**30
    assert given["learner"] == [3, 9 * gib, 7 * gib] and given["replay"] == [1.5, 8 * gib, 6 * gib], given
    assert given["actor"] == given["evaluator"] == [1.5, 5 * gib, 0], given


@case
def what_octet_prints_is_valid():
    for name, words in {
        "plain": ("presets/cartpole.yaml",),
        "scaled": ("presets/cartpole.yaml", "--actors", "3", "--actors-max", "2048", "--evaluators", "2"),
        "classes": ("presets/pendulum.yaml", "--storage-class", "fast.ssd", "--run-size", "1.5Ti", "--replay-size", "100G",
                    "--learner-memory", "16Gi", "--replay-memory", "68719476736", "--actor-memory", "512Mi", "--actor-cpu", "1.5"),
        "a" * 40: ("presets/cartpole.yaml", "--namespace", "n" * 63, "--image", "registry.example.org:5000/a/b@sha256:" + "0" * 64,
                   "--pull", "Always", "--port", "7000", "--set", "learner.count=2", "--set", "learner.threads=2"),
    }.items():
        documents = printed(*words, "--name", name)
        assert schema.check(documents, secrets_of(name)) == [], f"{name}: {schema.check(documents, secrets_of(name))}"
        into, out = flows(documents)
        assert into == out and len(into) == 8, name
        # With room for what the controllers add to the names of pods.
        assert all(len(d["metadata"]["name"]) <= 63 - 6 or d["kind"] == "NetworkPolicy" for d in documents), name
    learner = the(documents, "Job", "a" * 40 + "-learner")["spec"]["template"]["spec"]["containers"][0]
    assert learner["resources"]["requests"]["cpu"] == "600m" and learner["env"] == [{"name": "OPENBLAS_NUM_THREADS", "value": "2"}]
    assert "net.replay=tls+tcp://" + "a" * 40 + "-replay:7005" in learner["args"]


@case
def an_image_without_a_registry_is_taken_from_the_nodes():
    """Kubernetes would pull one without a tag, or of the tag latest, although it was loaded. What a registry has is its to decide."""
    for words, policy in {
        (): "IfNotPresent",
        ("--image", "octet:latest"): "IfNotPresent",
        ("--image", "octet:0.1.0"): "IfNotPresent",
        ("--pull", "Always"): "Always",
        ("--pull", "Never"): "Never",
        ("--image", "registry.example.org/octet"): None,
        ("--image", "example/octet:latest"): None,
        ("--image", "registry.example.org/octet", "--pull", "IfNotPresent"): "IfNotPresent",
    }.items():
        pods = [d["spec"]["template"]["spec"] for d in printed("presets/cartpole.yaml", *words) if "template" in d.get("spec", {})]
        policies = [one.get("imagePullPolicy") for pod in pods for one in pod["containers"]]
        assert policies == [policy] * 4, f"{words}: {policies}"


@case
def shards_of_replay_are_pods_of_one_set():
    name, shards = "a" * 20, 3
    code, out, said = octet("cluster", "k8s", "presets/cartpole.yaml", "--name", name, "--set", f"replay.shards={shards}")
    assert code == 0, said
    documents = kustomize.documents(out)
    assert schema.check(documents, secrets_of(name)) == [], schema.check(documents, secrets_of(name))
    stateful = the(documents, "StatefulSet", f"{name}-replay")["spec"]
    assert stateful["replicas"] == the(documents, "PodDisruptionBudget", f"{name}-replay")["spec"]["minAvailable"] == shards
    # As a cluster names the pods of a set, by its headless Service.
    hosts = [f"{name}-replay-{i}.{stateful['serviceName']}" for i in range(shards)]
    words = the(documents, "Job", f"{name}-learner")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "net.replay=" + ",".join(f"tls+tcp://{host}:5560" for host in hosts) in words, words
    command = re.search(r"octet certs issue replay replay (.*) --dir ", out)[1]
    assert command.split() == [word for host in (f"{name}-replay", *hosts) for word in ("--host", host)], command
    code, out, said = octet("cluster", "k8s", "presets/cartpole.yaml", "--name", "a" * 40, "--set", "replay.shards=16")
    assert code == 2 and out == "" and "shorter --name" in said, said


RELAY_FAULTS = [
    ("StatefulSet/some-relay", ("spec", "serviceName"), "some-relays", "no Service some-relays"),
    ("StatefulSet/some-relay", (*POD, "containers", 0, "env", 0, "valueFrom", "fieldRef", "path"), "metadata.name", "unknown field of V1ObjectFieldSelector"),
    ("StatefulSet/some-relay", (*POD, "volumes", 0, "secret", "secretName"), "relay-tls", "no Secret relay-tls"),
    ("Service/some-relay", ("spec", "ports", 3, "targetPort"), "batches-2", "no port batches-2"),
    ("Service/some-relay", ("spec", "selector", COMPONENT), "relays", "selects []"),
    ("PodDisruptionBudget/some-relay", ("spec", "selector", "matchLabels", COMPONENT), "relays", "selects []"),
]


@case
def relays_are_pods_of_one_set():
    """With --relays: names that each relay announces and that its certificate has, one more way through the network, and nothing else."""
    words, shards = ("presets/cartpole.yaml", "--name", "some", "--set", "replay.shards=2"), 2
    code, out, said = octet("cluster", "k8s", *words, "--relays", "3")
    assert code == 0, said
    documents, without = kustomize.documents(out), printed(*words)
    secrets = [*secrets_of("some"), "some-relay-tls"]
    assert schema.check(documents, secrets) == [], schema.check(documents, secrets)
    for where, way, value, complaint in RELAY_FAULTS:
        broken = copy.deepcopy(documents)
        at = the(broken, *where.split("/"))
        for part in way[:-1]:
            at = at[part]
        at[way[-1]] = value
        assert any(complaint in one for one in schema.check(broken, secrets)), f"{where}.{way}: {schema.check(broken, secrets)}"
    new = {schema.name_of(d) for d in documents} - {schema.name_of(d) for d in without}
    assert new == {f"{kind}/some-relay" for kind in ("StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget")}, new
    stateful, actor = (the(documents, *name.split("/"))["spec"] for name in ("StatefulSet/some-relay", "Deployment/some-actor"))
    assert stateful["replicas"] == 3 and "volumeClaimTemplates" not in stateful
    spec = stateful["template"]["spec"]
    args, env = spec["containers"][0]["args"], spec["containers"][0]["env"]
    assert env == [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}], env
    assert args[args.index("--announce") + 1] == f"tls+tcp://$(POD_NAME).{stateful['serviceName']}:5570", args
    text = subprocess.run([OCTET.parent.parent / "relay" / args[0], "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert {word for word in args if word.startswith("--")} <= set(re.findall(r"--[a-z-]+", text)), args
    ports = [*range(5570, 5571 + 2 * shards), 9465]  # policies, then batches and acks of each shard; metrics
    assert [port["containerPort"] for port in spec["containers"][0]["ports"]] == ports, spec["containers"][0]["ports"]
    assert [port["port"] for port in the(documents, "Service", "some-relay")["spec"]["ports"]] == ports
    wait = actor["template"]["spec"]["containers"][0]["args"]
    assert int(wait[wait.index("--await-relay") + 1]) > 0 and "--relay" not in wait, wait
    # No more privileges than an actor has.
    secure = actor["template"]["spec"]
    assert {**spec, "containers": 0, "volumes": 0} == {**secure, "containers": 0, "volumes": 0}
    for key in ("securityContext", "startupProbe", "livenessProbe", "readinessProbe"):
        assert spec["containers"][0][key] == secure["containers"][0][key], key
    into, flow = flows(documents)
    assert into == flow and into - flows(without)[0] == {
        *(("actor", "relay", port) for port in range(5570, 5571 + 2 * shards)), ("relay", "learner", 5555), ("relay", "learner", 5556),
        ("relay", "replay", 5561), ("relay", "replay", 5562)}, into
    command = re.search(r"octet (certs issue relay relay .*) --dir ", out)[1].split()
    assert command[4:] == [word for i in range(3) for word in ("--host", f"some-relay-{i}.{stateful['serviceName']}")], command


@case
def as_many_relays_as_are_allowed_have_a_certificate():
    code, out, said = octet("cluster", "k8s", "presets/cartpole.yaml", "--name", "a" * 40, "--relays", "64")
    assert code == 0, said
    with tempfile.TemporaryDirectory() as folder:
        assert octet("certs", "init", "--dir", f"{folder}/certs")[0] == 0
        command = re.search(r"octet (certs issue relay relay .*) --dir ", out)[1].split()
        code, _, said = octet(*command, "--dir", f"{folder}/certs")
        assert code == 0, said


@case
def insecure_is_without_secrets():
    documents = printed("presets/cartpole.yaml", "--name", "plain", "--insecure")
    assert schema.check(documents) == [], schema.check(documents)
    for name, _, spec, _ in schema.pods(documents):
        args = spec["containers"][0]["args"]
        assert "--insecure" in args and "--tls" not in args and "tls+tcp" not in " ".join(args), name
        assert not any("secret" in volume for volume in spec["volumes"]), name


HOSTILE = ["a: b", "- x", "# not a comment", "it's \"quoted\" \\ back", "$(PATH) $$(HOME) ${X} $$ $", "{a: [b", "*anchor &x !tag", "no", "~",
           "0x10", "1e3", "\u00e9\U0001f916", "%TAG | > @ `"]


@case
def any_text_comes_through():
    """In the experiment, and in the words of a daemon, which Kubernetes expands."""
    for text in HOSTILE:
        documents = printed("presets/cartpole.yaml", "--name", "some", "--set", f"replay.path={json.dumps(text, ensure_ascii=False)}")
        assert schema.check(documents, secrets_of("some")) == [], text
        args = the(documents, "StatefulSet", "some-replay")["spec"]["template"]["spec"]["containers"][0]["args"]
        assert expanded(args[args.index("--path") + 1]) == "/var/lib/octet/" + text, text
        experiment = yaml.safe_load(the(documents, "ConfigMap", "some-experiment")["data"]["experiment.yaml"])
        assert experiment["replay"]["path"] == text, (text, experiment["replay"]["path"])


def expanded(word):
    """What the kubelet makes of a word: $$ is one $, and $(NAME) the value of a variable; here none is meant."""
    out, at = "", 0
    while at < len(word):
        if word[at] == "$" and at + 1 < len(word):
            assert word[at + 1] != "(" or ")" not in word[at:], f"{word} names a variable"
            out += "$" if word[at + 1] == "$" else word[at:at + 2]
            at += 2
        else:
            out += word[at]
            at += 1
    return out


@case
def bad_input_is_refused_in_words():
    for words, complaint in {
        ("--name", "Pole"): "--name is 'Pole'",
        ("--name", "a\nkind: Pod"): "--name",
        ("--name", "a" * 41): "at most 40",
        ("--name", "3d"): "begin with a letter",
        ("--namespace", "a.b"): "--namespace is 'a.b'",
        ("--namespace", "-a"): "allowed are a-z, 0-9",
        ("--namespace", ""): "--namespace is ''",
        ("--image", "octet octet"): "--image is 'octet octet'",
        ("--image", 'octet"\n'): "--image",
        ("--pull", "Sometimes"): "Always, IfNotPresent or Never",
        ("--storage-class", "a..b"): "--storage-class is 'a..b'",
        ("--run-size", "10Gib"): "--run-size is '10Gib'",
        ("--run-size", "0"): "--run-size",
        ("--run-size", "-1Gi"): "--run-size",
        ("--run-size", "1e3"): "--run-size",
        ("--replay-memory", "8 Gi"): "--replay-memory",
        ("--actor-memory", "1.Gi"): "--actor-memory",
        ("--learner-memory", "500m"): "such as 512Mi",
        ("--actor-cpu", "1Gi"): "such as 500m",
        ("--actors", "4", "--actors-max", "3"): "--actors-max is 3",
        ("--actors-max", "16384"): "16383",
        ("--port", "9465"): "where metrics are served",
        ("--port", "9457"): "where metrics are served",
        ("--relays", "0"): "--relays is '0'",
        ("--relays", "65"): "--relays is '65'",
        ("--relays", "many"): "--relays is 'many'",
        ("--relays", "1", "--port", "9447"): "where metrics are served",
        ("--relays", "1", "--port", "65519"): "--port is 65519; allowed are numbers up to 65518",
        ("--set", "run.deterministic=true"): "run.deterministic: a run in lock-step needs numbered actors",
        ("--run-dir", "x"): "in the learner's volume",
        ("--certs", "a b;c"): "--certs is 'a b;c'",
        ("--set", "replay.path=a\xff"): "replay.path",
    }.items():
        words = [word.encode("latin-1") if "\xff" in word else word for word in words]
        code, out, said = octet("cluster", "k8s", "presets/cartpole.yaml", *words)
        assert code in (1, 2) and out == "" and complaint in said, f"{words}: {code} {said}{out[:200]}"


@case
def given_certificates_are_named():
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        for words in (("init",), *(("issue", role, role) for role in ("learner", "replay", "actor", "evaluator"))):
            assert octet("certs", *words, "--dir", folder / "mine")[0] == 0
        code, out, said = octet("cluster", "k8s", "presets/cartpole.yaml", "--name", "some", "--certs", folder / "mine")
        assert code == 0 and f"create secret generic some-actor-tls --from-file={folder}/mine/actor\n" in out, said
        assert "octet certs issue" not in out and "some-learner, some-replay" in out, out[:2000]
    finally:
        shutil.rmtree(folder)


def main():
    passed, failed, skipped = 0, 0, 0
    for name in sys.argv[2:] or CASES:
        try:
            CASES[name]()
            passed += 1
        except Skipped as reason:
            skipped += 1
            print(f"SKIPPED: {name}: {reason}")
        except (AssertionError, KeyError, IndexError, TypeError, OSError, subprocess.SubprocessError, yaml.YAMLError):
            failed += 1
            print(f"{traceback.format_exc()}FAIL  {name}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
