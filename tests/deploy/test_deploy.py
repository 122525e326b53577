#!/usr/bin/env python3
"""The files of deploy/ that systemd, Prometheus and Grafana read, without starting any of them.

usage: test_deploy.py ROOT OCTET systemd      the units: systemd-analyze verify and security
       test_deploy.py ROOT OCTET prometheus   rules, their tests, configurations: promtool
       test_deploy.py ROOT OCTET grafana      the dashboard's form
       test_deploy.py ROOT OCTET compose      the files of compose by its published schema (check-jsonschema of PyPI)

OCTET is the octet executable of a build tree. Exit status 77: skipped, the tool is not here.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, OCTET = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BUILD = OCTET.parent.parent
DEPLOY = ROOT / "deploy"
NOBODY, GROUP = 65534, 54321  # of a service, and of those who may read its certificates
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import HOME, certificates, free_port, wait_for  # noqa: E402
# systemd's own scale: 0 is best, 10 is a service without any protection. What is left is the network,
# and calls that threads need.
EXPOSURE_MAX = 2.0


def tool(name, package):
    path = shutil.which(name)
    if path is None:
        print(f"SKIPPED: {name} is not installed (Debian: {package}); its checks were NOT made")
        sys.exit(77)
    return path


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout


# ---- systemd

def unit_copy(folder, path):
    """The unit as installed, but with the executable of this build."""
    text = path.read_text(encoding="utf-8")
    for daemon in ("learner", "replay", "relay", "actor"):
        text = text.replace(f"/usr/bin/octet-{daemon}", str(BUILD / daemon / f"octet-{daemon}"))
    name = path.name.replace("@.", "@1.")
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def options_of(daemon):
    _, text = run(BUILD / daemon / f"octet-{daemon}", "--help")
    return set(re.findall(r"--[a-z-]+", text))


def test_units_are_sound(analyze, folder):
    units = sorted((DEPLOY / "systemd").glob("*.service"))
    assert len(units) >= 4, units
    for path in units:
        copy = unit_copy(folder, path)
        code, text = run(analyze, "verify", "--man=no", copy)
        # Unknown keys are only told, with code 0; other units of this machine may be told, too.
        complaints = [line for line in text.splitlines() if copy.name in line]
        assert code == 0 and not complaints, f"{path.name}: exit {code}\n{text}"
        code, text = run(analyze, "security", "--offline=true", "--no-pager", copy)
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", text)
        assert exposure, f"{path.name}: {text}"
        assert float(exposure[1]) <= EXPOSURE_MAX, f"{path.name}: exposure {exposure[1]}\n{text}"
        print(f"{path.name}: exposure {exposure[1]} of at most {EXPOSURE_MAX}")


def test_units_use_options_that_there_are():
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        text = path.read_text(encoding="utf-8")
        daemon = re.search(r"^ExecStart=/usr/bin/octet-(\w+)", text, re.M)[1]
        settings = [line for line in text.splitlines() if line.startswith(("ExecStart=", "Environment="))]
        used = set(re.findall(r"(?<![\w-])--[a-z-]+", " ".join(settings)))
        assert used <= options_of(daemon), f"{path.name}: {used - options_of(daemon)} of octet-{daemon}"


def test_a_broken_unit_is_found(analyze, folder):
    path = folder / "broken.service"
    path.write_text("[Service]\nExecStart=/bin/true\nWatchdogSecs=3\n", encoding="utf-8")
    _, text = run(analyze, "verify", "--man=no", path)
    assert any(path.name in line for line in text.splitlines()), text


def test_units_read_certificates_by_their_group():
    """Not copies of them, which would not change while the service runs."""
    groups = set(re.findall(r"^g (\S+) -$", (DEPLOY / "systemd/octet.sysusers").read_text(encoding="utf-8"), re.M))
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        text = path.read_text(encoding="utf-8")
        role = re.match(r"octet-(\w+)", path.name)[1]
        assert "LoadCredential" not in text, path.name
        assert f"\nSupplementaryGroups=octet-{role}\n" in text and f"octet-{role}" in groups, path.name
        assert f"\nEnvironment=OCTET_TLS=/etc/octet/tls/{role}\n" in text, path.name


def test_a_service_takes_up_a_revocation(folder):
    """As the README places the files: of root, and for the group of a service that runs as nobody in particular."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can start a service as another user")
        return
    folder.chmod(0o755)
    certs, tls, log = certificates(OCTET, folder / "certs", ["replay", "actor"]), folder / "tls", folder / "replay.log"
    tls.mkdir()
    os.chown(tls, 0, GROUP)
    tls.chmod(0o750)

    def install(name):
        shutil.copy(certs / "replay" / name, tls / f".{name}")
        os.chown(tls / f".{name}", 0, GROUP)
        (tls / f".{name}").chmod(0o640)
        (tls / f".{name}").rename(tls / name)

    for name in ("ca.crt", "node.crt", "node.key", "crl.pem"):
        install(name)
    shutil.copy(BUILD / "replay/octet-replay", folder)  # where this user may read
    with open(log, "wb") as out:
        service = subprocess.Popen([folder / "octet-replay", "--tls", tls, "--listen", f"tls+tcp://{HOME}:{free_port(3)}"],
                                   stderr=out, cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[GROUP],
                                   env={"PATH": os.environ["PATH"]})
    try:
        wait_for("it to listen", lambda: " REPLAY-READY " in log.read_text() or service.poll() is not None)
        assert service.poll() is None, log.read_text()
        run(OCTET, "certs", "revoke", "actor", "--dir", certs)
        install("crl.pem")
        wait_for("the revocation to be taken up", lambda: " NET-TLS-NEW " in log.read_text(), numbers=log.read_text)
        assert service.poll() is None
    finally:
        service.kill()
        service.wait()


def systemd():
    analyze = tool("systemd-analyze", "systemd")
    test_units_read_certificates_by_their_group()
    with tempfile.TemporaryDirectory() as name:
        test_a_service_takes_up_a_revocation(pathlib.Path(name))
    with tempfile.TemporaryDirectory() as name:
        test_units_are_sound(analyze, pathlib.Path(name))
        test_units_use_options_that_there_are()
        test_a_broken_unit_is_found(analyze, pathlib.Path(name))


# ---- Prometheus

def mutations(text):
    """The rules with each alert made impossible, in turn."""
    for match in re.finditer(r"- alert: (\w+)\n +expr: (?:>\n +)?", text):
        yield match[1], text[:match.end()] + "(vector(0) > 1) and on () " + text[match.end():]


def prometheus():
    promtool = tool("promtool", "prometheus")
    rules = DEPLOY / "prometheus/octet.rules.yaml"
    tests = DEPLOY / "prometheus/octet.rules_test.yaml"
    code, text = run(promtool, "check", "rules", "--lint-fatal", rules)
    assert code == 0, text
    code, text = run(promtool, "test", "rules", tests)
    assert code == 0, text
    for config in sorted((DEPLOY / "prometheus").glob("prometheus*.y*ml")):
        code, text = run(promtool, "check", "config", "--syntax-only", config)
        assert code == 0, f"{config.name}: {text}"
    # An alert that never fires is noticed.
    alerts = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(tests, folder)
        for alert, changed in mutations(rules.read_text(encoding="utf-8")):
            (folder / rules.name).write_text(changed, encoding="utf-8")
            code, text = run(promtool, "check", "rules", folder / rules.name)
            assert code == 0, f"{alert}: {text}"
            code, text = run(promtool, "test", "rules", folder / tests.name)
            assert code != 0, f"no test of {tests.name} notices that {alert} never fires"
            alerts += 1
    assert alerts >= 10, alerts
    dashboard_queries(promtool)
    print(f"{alerts} alerts, each tested")


def dashboard_queries(promtool):
    """Every query of the dashboard, as a recording rule: promtool reads its PromQL."""
    rules = [{"record": f"query:{i}", "expr": expr.replace("$__rate_interval", "5m")}
             for i, (_, expr) in enumerate(queries(dashboard()))]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as out:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, out)  # JSON is YAML
        out.flush()
        code, text = run(promtool, "check", "rules", out.name)
    assert code == 0, text


# ---- Grafana

def dashboard():
    return json.loads((DEPLOY / "grafana/octet.json").read_text(encoding="utf-8"))


def queries(board):
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def grafana():
    """Grafana has no checker of its own to install: this is what its import needs."""
    board = dashboard()
    for key, kind in {"title": str, "uid": str, "schemaVersion": int, "panels": list, "templating": dict,
                      "time": dict, "annotations": dict, "tags": list}.items():
        assert isinstance(board.get(key), kind), f"{key} is no {kind.__name__}"
    assert "id" not in board, "an id is of one Grafana"
    variables = {v["name"] for v in board["templating"]["list"]}
    ids, cells = set(), {}
    for panel in board["panels"]:
        title = panel["title"]
        assert panel["id"] not in ids, f"{title}: id {panel['id']} twice"
        ids.add(panel["id"])
        assert panel["type"] in ("row", "timeseries", "stat"), title
        at = panel["gridPos"]
        assert at["x"] >= 0 and at["x"] + at["w"] <= 24 and at["h"] > 0, f"{title}: {at}"
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert (x, y) not in cells, f"{title} lies over {cells[x, y]}"
                cells[x, y] = title
        if panel["type"] == "row":
            continue
        assert panel["fieldConfig"]["defaults"]["unit"] and panel["targets"], title
        refs = [target["refId"] for target in panel["targets"]]
        assert len(refs) == len(set(refs)), title
        for target in panel["targets"]:
            assert target["expr"] and target["datasource"]["type"] == "prometheus", title
        for name in re.findall(r"\$\{(\w+)\}", json.dumps(panel)):
            assert name in variables, f"{title}: ${{{name}}} is not defined"
    print(f"{len(ids)} panels")


# ---- compose


def compose_complaints(python, path):
    """Exit code and words of the published schema about a file."""
    return run(python, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", path)


def test_compose_files_fit_the_schema(python):
    for path in sorted(DEPLOY.glob("compose*.yaml")):
        code, text = compose_complaints(python, path)
        assert code == 0, f"{path.name}: {text}"


def test_a_broken_compose_file_is_found(python, folder):
    whole = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    for right, wrong in (("cap_drop:", "cap_dropp:"), ("pids_limit: 512", "pids_limit: [512]"), ("retries: 3", "retries: true")):
        assert right in whole, right
        (folder / "broken.yaml").write_text(whole.replace(right, wrong), encoding="utf-8")
        code, text = compose_complaints(python, folder / "broken.yaml")
        assert code == 1 and wrong.split(":")[0] in text, f"{wrong}: {text}"


def test_the_image_has_every_program():
    """One that is installed and not copied would be missing."""
    recipe, programs = (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), []
    for path in ROOT.glob("*/meson.build"):
        programs += [f"{path.parent.name}/{name}" for name, rest in
                     re.findall(r"^\w+ = executable\('(octet[\w-]*)',(.*?)^(?=\S)", path.read_text(encoding="utf-8") + "\nend", re.M | re.S)
                     if "install: true" in rest]
    assert len(programs) == 5, programs
    for program in programs:
        assert f"/out/usr/bin/{program.split('/')[1]} " in recipe, f"deploy/Dockerfile: {program}"


def test_prometheus_expects_the_certificate_of_each_service():
    """Services that are found by their name have certificates of it (docs/compose.md), and no addresses in them."""
    text, found = (DEPLOY / "prometheus/prometheus.yaml").read_text(encoding="utf-8"), []
    for job in text.split("- job_name: ")[1:]:
        for names in re.findall(r"\{names: \[([^]]*)\]", job):
            assert re.findall(r"server_name: (\S+)", job) == re.findall(r'"([^"]+)"', names), job
            found.append(names)
    assert len(found) == 2, found


def compose():
    test_the_image_has_every_program()
    test_prometheus_expects_the_certificate_of_each_service()
    python = os.environ.get("OCTET_TEST_PYTHON", sys.executable)
    if shutil.which(python) is None or run(python, "-c", "import check_jsonschema")[0] != 0:
        print("SKIPPED: check-jsonschema is not there (script/setup test fetches it from PyPI): compose files were NOT checked by the schema")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        test_compose_files_fit_the_schema(python)
        test_a_broken_compose_file_is_found(python, pathlib.Path(folder))


if __name__ == "__main__":
    {"systemd": systemd, "prometheus": prometheus, "grafana": grafana, "compose": compose}[sys.argv[3]]()
