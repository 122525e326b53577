#!/usr/bin/env python3
"""End-to-end tests of what the daemons serve at --metrics: see e2e.py.

usage: e2e_metrics.py OCTET TEST
"""

import contextlib
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from e2e import (ACTOR, BUILD, CARTPOLE, ENDLESS, LEARNER, OCTET, REPLAY, ROOT, daemon, data, finish, interrupt, octet, ran,
                 scratch, sets, start, terminate, train)
from daemons import NEVER_S, certificates, free_port, get, run_named, wait_for

sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tests/chaos"))
import metric_names  # noqa: E402
from chaos_proxy import Proxy  # noqa: E402

NAMES = ["replay", "learner", "actor", "evaluator"]
ALL = [*NAMES, "relay"]
HANGING = BUILD / "tests/envs/bad_hang.so"
SHAPE = BUILD / "tests/envs/shape.so"


@contextlib.contextmanager
def measured(folder, names=NAMES, certs=None, settings=()):
    """The daemons by hand, each with --metrics: gives (processes, ports of their metrics, how to start one). With
    certs, a folder of certificates, they also serve https at the ports + len(ALL)."""
    base = free_port(2 * len(ALL))
    ports = {name: base + i for i, name in enumerate(ALL)}
    learner, replay = f"ipc://{folder}/learner.ipc", f"ipc://{folder}/replay.ipc"
    commands = {
        "replay": [REPLAY, "--listen", replay, "--path", folder / "replay.oct"],
        "learner": [LEARNER, CARTPOLE, "--run-dir", folder / "run", "--set", f"net.learner={learner}",
                    "--set", f"net.replay={replay}", *ENDLESS, "--set", "learner.metrics_s=0.2",
                    "--set", "evaluation.period_s=0.2", *settings],
        "actor": [ACTOR, "--learner", learner, "--plugins", HANGING, "--plugins", SHAPE],
        "evaluator": [ACTOR, "--learner", learner, "--evaluate", "--plugins", SHAPE],
        "relay": [BUILD / "relay/octet-relay", "--learner", learner, "--listen", f"ipc://{folder}/relay.ipc"],
    }
    processes = {}

    def begin(name):
        with open(folder / f"{name}.log", "a", encoding="utf-8") as log:
            options = ["--metrics", f"http://127.0.0.1:{ports[name]}"]
            if certs is not None:
                options += ["--tls", certs / name, "--metrics", f"https://127.0.0.1:{ports[name] + len(ALL)}"]
            processes[name] = start([*commands[name], *options], stdout=log, stderr=log)

    try:
        for name in names:
            begin(name)
        yield processes, ports, begin
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def health(port, *options):
    """Exit code and words of octet health."""
    done = octet("health", f"http://127.0.0.1:{port}", *options)
    return done.returncode, done.stdout + done.stderr


def healthy(port):
    return health(port) == (0, "ok\n")


def samples(text):
    """{name: {labels: value}} of Prometheus' text."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            assert found.setdefault(name, {}).setdefault(labels or "", float(value)) == float(value), line
    return found


def metrics(port):
    answer = get(port)
    return samples(answer[1]) if answer is not None and answer[0] == 200 else {}


def number(port, name, labels=""):
    return metrics(port).get(name, {}).get(labels, 0)


def promtool_check(text):
    promtool = shutil.which("promtool")
    if promtool is None:
        print("NOT CHECKED: promtool is not installed (Debian: prometheus), so the text was not given to it")
        return
    done = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def test_every_metric_is_there():
    """What the rules, the dashboard and the documentation name, a live run serves; and nothing else."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch())
        certs = certificates(OCTET, folder / "octet-certs", [*ALL, "operator"])
        shape = ["--set", f"env.id={SHAPE}", "--set", "env.options=obs=4,n=2,metrics=1"]
        _, ports, _begin = stack.enter_context(measured(folder, ALL, certs=certs, settings=shape))
        for name in ALL:
            wait_for(f"{name} to be well", lambda n=name: healthy(ports[n]))
            https = ports[name] + len(ALL)
            assert get(https, certs=certs / "operator")[0] == 200, name
            assert get(https, certs=certs / "actor") is None, f"{name} answers an actor"
            assert get(https) is None, f"{name} answers plain http"
        wait_for("an evaluation", lambda: "octet_evaluation_return" in metrics(ports["learner"]))
        wait_for("a sync", lambda: "octet_replay_disk_synced_age_seconds" in metrics(ports["replay"]))
        wait_for("a probe", lambda: "octet_policy_divergence_ratio" in metrics(ports["learner"]))
        wait_for("rows", lambda: "octet_learner_loss" in metrics(ports["learner"]) and
                 "octet_training_return" in metrics(ports["learner"]) and
                 "octet_learner_actors_wanted" in metrics(ports["learner"]))
        served = {}
        for name in ALL:
            status, text = get(ports[name])
            assert status == 200
            promtool_check(text)
            served[name] = samples(text)
            assert f'daemon="{name}"' in next(iter(served[name]["octet_build_info"]))
        every = set().union(*served.values())
        # A row in which no episode ended has no training return.
        wait_for("a row with episodes", lambda: "octet_training_return" in every or
                 every.update(metrics(ports["learner"])))
        used = metric_names.used(ROOT)
        assert len(used) > 30 and not used - every - {"up"}, f"not served: {used - every}"
        documented = set(metric_names.documented(ROOT))
        every.add("octet_replay_set_aside_rows_total")  # served from the first such row on
        assert documented == every, f"documentation and a run differ: {documented ^ every}"
        assert served["learner"]["octet_evaluation_metric"]['metric="all_steps"'] == 20
        # They are the run's: what the daemons count agrees.
        learner, replay, actor = served["learner"], served["replay"], served["actor"]
        assert learner["octet_actors"][""] == 1 and learner["octet_evaluators"][""] == 1
        assert 1 <= learner["octet_learner_actors_wanted"][""] <= 10
        assert replay["octet_replay_samples_total"][""] >= learner["octet_learner_updates_total"][""] > 0
        assert actor["octet_actor_rows_total"][""] >= 1000
        assert learner["octet_learner_phase"]['phase="training"'] == 1
        assert learner["octet_learner_offline"][""] == replay["octet_replay_data_set"][""] == 0
        before = number(ports["learner"], "octet_learner_updates_total")
        wait_for("counters to grow", lambda: number(ports["learner"], "octet_learner_updates_total") > before)


def test_health_tells_what_is_missing():
    stopped = ("--exit-when-stopped", "143")
    with scratch() as folder, measured(folder, ["actor"], settings=stopped) as (processes, ports, begin):
        wait_for("the actor to serve", lambda: get(ports["actor"]))
        code, text = health(ports["actor"])
        assert code == 1 and "503 waiting for the learner" in text, text
        code, text = health(ports["actor"], "--alive")  # it does answer
        assert code == 0 and "waiting for the learner" in text, text
        with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as other:  # is no daemon
            threading.Thread(target=other.handle_request, daemon=True).start()
            code, text = health(other.server_port, "--alive")
        assert code == 1 and " 501 " in text, text
        assert number(ports["actor"], "octet_actor_registered") == 0
        for options in ([], ["--alive"]):
            code, text = health(ports["learner"], *options)
            assert code == 1 and "refused" in text, text
        begin("learner")
        wait_for("the learner to serve", lambda: get(ports["learner"]))
        begin("replay")
        for name in ("replay", "learner", "actor"):
            wait_for(f"{name} to be well", lambda n=name: healthy(ports[n]))
        assert health(f"{ports['learner']}/") == (0, "ok\n")
        wait_for("updates", lambda: number(ports["learner"], "octet_learner_updates_total") > 0)
        # Replay goes and comes back.
        processes["replay"].kill()
        processes["replay"].wait()
        wait_for("the learner to miss replay",
                 lambda: health(ports["learner"])[1].endswith("503 replay does not answer\n"))
        assert number(ports["learner"], "octet_learner_replay_up") == 0
        begin("replay")
        wait_for("the learner to be well again", lambda: healthy(ports["learner"]))
        # A loop that does not turn.
        processes["actor"].send_signal(signal.SIGSTOP)
        for options in ([], ["--alive"]):
            code, text = health(ports["actor"], "--timeout", "0.5", *options)
            assert code == 1 and "no answer in time" in text, text
        processes["actor"].send_signal(signal.SIGCONT)
        wait_for("the actor to be well again", lambda: healthy(ports["actor"]))
        # A run that is not finished is told by the exit code, to those who asked for that.
        processes["learner"].send_signal(signal.SIGTERM)
        assert processes["learner"].wait(NEVER_S) == 143


def test_an_actor_that_waits_for_replay_is_told_from_one_that_hangs():
    """It holds all batches that may be out, which are fewer than its ring has."""
    with scratch() as folder, measured(folder, ["replay", "learner", "actor"]) as (processes, ports, _begin):
        def holds_all():
            now = metrics(ports["actor"])
            unacknowledged, circulating, ring = (now.get(f"octet_actor_{name}_batches", {}).get("") for name in
                                                 ("unacknowledged", "circulating", "ring"))
            assert circulating is None or 2 <= circulating <= ring, now
            return circulating is not None and unacknowledged == circulating

        wait_for("updates", lambda: number(ports["learner"], "octet_learner_updates_total") > 0)
        processes["replay"].send_signal(signal.SIGSTOP)
        wait_for("the learner to miss replay", lambda: number(ports["learner"], "octet_learner_replay_up") == 0)
        wait_for("the actor to hold all that it may", holds_all)
        rows = number(ports["actor"], "octet_actor_rows_total")
        assert number(ports["learner"], "octet_learner_phase", 'phase="training"') == 1
        processes["replay"].send_signal(signal.SIGCONT)
        wait_for("the actor to go on", lambda: number(ports["actor"], "octet_actor_rows_total") > rows + 1000)


def test_a_run_of_a_data_set_is_told_from_one_without_actors():
    with scratch() as folder:
        first, file = folder / "first", folder / "pole.data"
        finish(train(first, *sets("run.env_steps=3000", "run.stop_at_return=none", "evaluation.episodes=10")), first)
        data("export", first, "--out", file)
        port, run = free_port(1), folder / "run"
        process = train(run, "--data", file, "--metrics", f"http://127.0.0.1:{port}",
                        *sets("run.updates=1000000000", "run.stop_at_return=none"))
        wait_for("updates", lambda: number(port, "octet_learner_updates_total") > 0)
        now = metrics(port)
        assert now["octet_learner_offline"][""] == 1 and now["octet_actors"][""] == 0, now
        assert now["octet_learner_phase"]['phase="training"'] == 1
        interrupt(process, run)
        replay = start([REPLAY, "--listen", f"ipc://{folder}/replay.ipc", "--data", file, "--metrics", f"http://127.0.0.1:{port}"])
        wait_for("replay to serve", lambda: number(port, "octet_replay_data_set") == 1)
        terminate(replay)


def test_health_tells_of_an_environment_that_hangs():
    """The actor's door stays open and says why the actor is not well."""
    settings = ["--set", f"env.id={HANGING}"]
    with scratch() as folder, measured(folder, ["replay", "learner", "actor"], settings=settings) as (_, ports, _begin):
        wait_for("the actor to serve", lambda: get(ports["actor"]))
        wait_for("the warning", lambda: "ACTOR-ENV-STUCK" in (folder / "actor.log").read_text(encoding="utf-8"))
        code, text = health(ports["actor"])
        assert code == 1 and "503 " in text and "environment" in text, text
        assert number(ports["actor"], "octet_actor_registered") == 1
        assert health(ports["learner"]) == (0, "ok\n")


def test_an_idle_evaluator_tells_whether_its_learner_answers():
    """It has nothing to report, and its question for the next evaluation may wait for a minute."""
    base = free_port(2 * len(ALL) + 6) + 2 * len(ALL)  # behind those of measured
    metrics_port, near, far = base, base + 1, base + 2  # and more of the learner's
    settings = ["--insecure", "--resume", "--set", f"net.learner=tcp://127.0.0.1:{far}"]

    def is_alone():
        return health(metrics_port)[1].endswith("503 the learner does not answer\n")

    with scratch() as folder, measured(folder, ["learner"], settings=settings) as (processes, _, begin):
        log = folder / "evaluator.log"
        processes["evaluator"] = start([ACTOR, "--learner", f"tcp://127.0.0.1:{near}", "--insecure", "--evaluate",
                                        "--metrics", f"http://127.0.0.1:{metrics_port}"], log)
        with Proxy({near: far}):
            wait_for("the evaluator to be well", lambda: healthy(metrics_port))
        wait_for("the evaluator to miss the learner", is_alone, deadline_s=30)
        assert number(metrics_port, "octet_actor_learner_up") == 0
        assert "ACTOR-LEARNER-LOST" in log.read_text(encoding="utf-8")
        with Proxy({near: far}):
            wait_for("the evaluator to be well again", lambda: healthy(metrics_port))
            assert "ACTOR-LEARNER-BACK" in log.read_text(encoding="utf-8")
            assert "ACTOR-REGISTER-AGAIN" not in log.read_text(encoding="utf-8")
            processes["learner"].kill()
            processes["learner"].wait()
            wait_for("the evaluator to miss the learner", is_alone, deadline_s=30)
            begin("learner")  # which does not know the evaluator: it registers again
            wait_for("the evaluator to be well once more", lambda: healthy(metrics_port))
            assert log.read_text(encoding="utf-8").count("ACTOR-LEARNER-BACK") == 2


def test_actor_serves_again_after_it_began_anew():
    """Another run: the actor starts itself again, and takes the same port."""
    with scratch() as folder, measured(folder, ["replay", "learner", "actor"]) as (processes, ports, begin):
        wait_for("the actor to be well", lambda: healthy(ports["actor"]))
        processes["learner"].kill()
        processes["learner"].wait()
        shutil.rmtree(folder / "run")
        begin("learner")
        wait_for("a new run", lambda: "ACTOR-NEW-RUN" in (folder / "actor.log").read_text(encoding="utf-8"))
        wait_for("the actor to be well again", lambda: healthy(ports["actor"]))
        assert processes["actor"].poll() is None


def test_peers_of_the_metrics_leave_training_alone():
    """Silent connections, garbage and floods; and SIGTERM ends each daemon in spite of them."""
    with scratch() as folder, measured(folder) as (processes, ports, _begin):
        wait_for("updates", lambda: number(ports["learner"], "octet_learner_updates_total") > 0)
        before = number(ports["learner"], "process_resident_memory_bytes")
        for _ in range(2000):
            with socket.create_connection(("127.0.0.1", ports["learner"]), timeout=30) as peer:
                with contextlib.suppress(OSError):
                    peer.sendall(b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03garbage\r\n\r\n")
        with contextlib.ExitStack() as held:
            for name in NAMES:
                for _ in range(40):
                    peer = held.enter_context(socket.create_connection(("127.0.0.1", ports[name]), timeout=30))
                    peer.sendall(b"GET /met")
            updates = number(ports["learner"], "octet_learner_updates_total")  # waits until they are cut
            grown = number(ports["learner"], "process_resident_memory_bytes") - before
            assert grown < 16 << 20, f"{grown} bytes more"
            wait_for("further updates", lambda: number(ports["learner"], "octet_learner_updates_total") > updates)
            for name in NAMES:
                for _ in range(20):
                    peer = held.enter_context(socket.create_connection(("127.0.0.1", ports[name]), timeout=30))
                    peer.sendall(b"GET /met")
            for name in ("evaluator", "actor", "learner", "replay"):
                terminate(processes[name])


def test_metrics_address_is_checked():
    with scratch() as folder:
        port = free_port(1)
        taken = socket.create_server(("127.0.0.1", port))
        for url, options, code, words in [
                ("http://0.0.0.0:9464", [], 2, "give --insecure if the network is trusted"),
                ("http://127.0.0.1", [], 2, "ends in :PORT"),
                ("ftp://127.0.0.1:1", [], 2, "http://HOST:PORT"),
                (f"http://127.0.0.1:{port}", [], 1, "another process listens on this port"),
                ("http://127.0.0.1:9464", ["--metrics", "http://127.0.0.1:9464"], 2, "--metrics=http://127.0.0.1:9464: given twice"),
                ("https://127.0.0.1:9465", [], 2, "--metrics https://127.0.0.1:9465: https needs certificates: --tls FOLDER"),
                ("http://127.0.0.1:9464/metrics", [], 2, "the address must end after the port")]:
            done = ran(REPLAY, "--listen", f"ipc://{folder}/replay.ipc", "--metrics", url, *options)
            assert done.returncode == code and words in done.stderr, (url, done)
        taken.close()
    environment = {name: value for name, value in os.environ.items() if name != "OCTET_TLS"}
    here = ["--metrics", "http://127.0.0.1:9464"]
    for arguments, words in [(["--metrics", "http://0.0.0.0:9464"], "without encryption or authentication: use https://\n"),
                             (["--metrics", "https://127.0.0.1:9465"], "https needs certificates: OCTET_TLS=FOLDER, with those of the learner"),
                             ([*here, *here], "--metrics http://127.0.0.1:9464: given twice"),
                             ([*here, "--metrics", "http://127.0.0.1:1", "--metrics", "http://127.0.0.1:2"], "more than 2 --metrics")]:
        done = octet("train", "cartpole", *arguments, env=environment)
        assert done.returncode == 2 and words in done.stderr and "--tls" not in done.stderr, (arguments, done)
    for arguments, words in [([], "no URL given"), (["127.0.0.1:9464"], "http://HOST:PORT"),
                             (["http://127.0.0.1:1", "--timeout", "-1"], "--timeout is '-1'"),
                             (["https://127.0.0.1:1"], "health checks use an http address of the same host"),
                             (["http://127.0.0.1:1/metrics"], "the address must end after the port, as in http://HOST:PORT\n"),
                             (["http://127.0.0.1:1/healthz"], "the address must end after the port"),
                             (["http://127.0.0.1:1", "x"], "two addresses, 'http://127.0.0.1:1' and 'x'; name one")]:
        done = octet("health", *arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done)


def test_train_serves_the_learners_metrics():
    with scratch() as folder:
        port, run = free_port(1), folder / "run"
        process = train(run, "--metrics", f"http://127.0.0.1:{port}", *ENDLESS)
        wait_for("updates", lambda: number(port, "octet_learner_updates_total") > 0)
        before = number(port, "octet_run_updates")
        interrupt(process, run)
        process = train(run, "--resume", "--metrics", f"http://127.0.0.1:{port}", *ENDLESS)
        wait_for("updates again", lambda: number(port, "octet_learner_updates_total") > 0)
        now = metrics(port)
        assert now["octet_run_updates"][""] - now["octet_learner_updates_total"][""] >= before > 0, now
        interrupt(process, run)


def test_train_serves_both_addresses_of_the_learners_metrics():
    """http for this machine and https for others, with certificates of a folder that the environment names."""
    with scratch() as folder:
        port, run = free_port(2), folder / "run"
        both = ["--metrics", f"http://127.0.0.1:{port}", "--metrics", f"https://127.0.0.1:{port + 1}"]
        certs = certificates(OCTET, folder / "octet-certs")

        def with_certs(role):
            return {"cwd": folder, "env": {**os.environ, "OCTET_TLS": f"octet-certs/{role}"}}  # seen from there

        text = finish(train(run, *both, *ENDLESS, **with_certs("operator")), run, 1)
        assert "the certificate is an operator's; a learner's is needed" in text, text
        process = train(run, *both, *ENDLESS, **with_certs("learner"))
        wait_for("updates", lambda: number(port, "octet_learner_updates_total") > 0)
        status, text = get(port + 1, certs=certs / "operator")
        assert status == 200 and samples(text)["octet_learner_updates_total"][""] > 0, text
        interrupt(process, run)


def test_train_counts_restarts_and_hangs():
    with scratch() as folder:
        port, run = free_port(1), folder / "run"
        process = train(run, "--metrics", f"http://127.0.0.1:{port}", "--set", "run.hang_s=3", *ENDLESS)

        def counted():
            now = metrics(port)
            return [now.get(f"octet_supervisor_{what}_total", {}).get("") for what in ("restarts", "hangs")]

        wait_for("updates", lambda: number(port, "octet_learner_updates_total") > 0)
        assert counted() == [0, 0]
        os.kill(daemon(run, "octet-actor"), signal.SIGKILL)
        wait_for("a restart", lambda: counted() == [1, 0])
        os.kill(daemon(run, "octet-replay"), signal.SIGSTOP)
        wait_for("a restart after a hang", lambda: counted() == [2, 1])
        os.kill(daemon(run, "octet-learner"), signal.SIGKILL)
        wait_for("the next learner to know it", lambda: counted() == [3, 1])
        interrupt(process, run)


if __name__ == "__main__":
    sys.exit(run_named(globals()))
