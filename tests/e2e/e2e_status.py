#!/usr/bin/env python3
"""End-to-end tests of what an operator does from another host, without the run's folder: see e2e.py.

usage: e2e_status.py OCTET TEST
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

from e2e import (ACTOR, BUILD, CARTPOLE, DEADLINE_S, ENDLESS, LEARNER, OCTET, ROOT, by_hand, octet, octet_says, scratch, start, summary,
                 terminate, wait_for_updates)
from daemons import certificates, free_port, has_signal, run_named, wait_for


@contextlib.contextmanager
def secured(folder, *settings):
    """Daemons by hand over TLS: gives (processes, run, options of an operator, folder of certificates)."""
    with by_hand(folder, how="tls", settings=[*ENDLESS, *settings]) as (processes, run, (learner, _)):
        certs = folder / "octet-certs"
        yield processes, run, ["--learner", f"tls+tcp://127.0.0.1:{learner}", "--tls", certs / "operator"], certs


def told(options):
    """What octet status --json says, None while it fails."""
    result = octet("status", "--json", *options)
    return json.loads(result.stdout) if result.returncode == 0 else None


def until(what, options, condition):
    """Asks until condition(answer) holds; gives that answer."""
    def ask():
        answer = told(options)
        return answer if answer is not None and condition(answer) else None
    return wait_for(what, ask)


def acts(answer):
    return any(p["role"] == "actor" and (p["steps_per_s"] or 0) > 0 for p in answer["peers"]["list"])


def refused(options, *words, command=("status",)):
    """Gives up by itself, with these words and without a word on standard output."""
    result = octet(*command, *options)
    assert result.returncode == 1 and result.stdout == "", result
    for word in words:
        assert word in result.stderr, result.stderr


def test_a_learner_at_another_address_than_its_folder_says():
    """It was resumed there, by hand."""
    with scratch() as folder, by_hand(folder, how="local", settings=ENDLESS) as (processes, run, _):
        wait_for_updates(run, 10)
        terminate(processes["learner"])
        learner = start([LEARNER, run / "config.yaml", "--run-dir", run, "--resume", "--set", "net.learner=ipc://other.ipc"],
                        cwd=folder, stderr=subprocess.DEVNULL)
        try:
            wait_for("its sockets", lambda: has_signal(learner.pid, "SigCgt", signal.SIGTERM))
            for command in ("status", "top"):
                refused([run], "run: the run has not ended, but its learner cannot be reached: ipc://", "learner.ipc: the socket does not exist",
                        f"octet {command} --learner ADDRESS", command=(command,))
            assert octet("status", "--learner", f"ipc://{folder}/other.ipc").returncode == 0
        finally:
            learner.kill()
            learner.wait()


def test_status_shows_each_daemon_and_its_peers():
    with scratch() as folder, secured(folder) as (processes, run, options, _):
        answer = until("an actor's rate", options, lambda a: acts(a) and a["replay"]["numbers"]["replay.insert_rate"])
        actor = next(p for p in answer["peers"]["list"] if p["role"] == "actor")
        evaluator = next(p for p in answer["peers"]["list"] if p["role"] == "evaluator")
        assert actor["pid"] == processes["actor"].pid and actor["host"] == socket.gethostname()
        assert evaluator["pid"] == processes["evaluator"].pid and evaluator["env_steps"] is None
        assert abs(sum(actor[f"{part}_share"] for part in ("infer", "env", "collect", "wait")) - 1) < 1e-6
        assert (actor["certificate"], actor["places"]) == ("actor", 1) and evaluator["certificate"] == "evaluator", actor
        assert answer["peers"]["places_max"] == 1024
        assert answer["learner"]["state"] == "training" and answer["replay"]["heard"]
        assert answer["replay"]["address"].startswith("tls+tcp://127.0.0.1:")
        assert answer["peers"]["actors"] == answer["peers"]["evaluators"] == 1
        result = octet("status", *options)
        lines = result.stdout.splitlines()
        labels = [line.split(" ")[0] for line in lines if line and line[0] != " "]
        assert result.returncode == 0 and "\x1b" not in result.stdout, result
        assert labels[:4] == ["run", "progress", "learner", "replay"], lines
        assert {"actors", "evaluation", "waiting", "peer", "cert"} <= set(labels), lines
        # A pipe has no width, so nothing is left out: a line is as long as its numbers, and is still one of a terminal.
        assert all(len(line) < 100 for line in lines), lines
        # The run's folder, where there is one, shows the same lines.
        result = octet("status", run, *options[2:])
        assert [line.split(" ")[0] for line in result.stdout.splitlines() if line[0] != " "] == labels, result
        # The folder of certificates may come from the environment.
        result = octet("status", *options[:2], env={**os.environ, "OCTET_TLS": str(options[3])})
        assert result.returncode == 0, result.stderr
        # It is meant from where the command was typed, also beside the run's folder.
        there = options[3].relative_to(folder)
        for command in (["status", run], ["top", run, "--once"], ["set", run, "replay.tolerance=1000"]):
            result = octet(*command, "--tls", there, cwd=folder)
            assert result.returncode == 0, result
            result = octet(*command, cwd=folder, env={**os.environ, "OCTET_TLS": str(there)})
            assert result.returncode == 0, result


def test_a_run_that_cannot_be_asked_has_not_ended():
    with scratch() as folder, secured(folder) as (processes, run, options, _):
        until("the learner", options, lambda a: True)
        (folder / "other").mkdir()
        stranger = ["--tls", certificates(OCTET, folder / "other") / "operator"]
        for more in ([], ["--json"], ["--watch"]):
            refused([run, *stranger, *more], "the run has not ended, but its learner cannot be reached", options[1], "certificate")
        processes["learner"].send_signal(signal.SIGSTOP)
        refused([run, *options[2:]], "the run has not ended, but its learner cannot be reached", options[1])
        processes["learner"].kill()
        processes["learner"].wait()
        result = octet("status", run, *options[2:])
        assert result.returncode == 0 and "the run has ended" in result.stdout, result


def test_status_names_who_fell_silent():
    with scratch() as folder, secured(folder) as (processes, _, options, _):
        until("an actor", options, acts)
        processes["actor"].kill()
        answer = until("its silence", options, lambda a: a["peers"]["silent"] == 1)
        silent = next(p for p in answer["peers"]["list"] if p["silent"])
        assert silent["pid"] == processes["actor"].pid and silent["heard_s"] >= 10
        assert (answer["waiting"]["who"], answer["waiting"]["for"]) == ("learner", "actors"), answer["waiting"]
        processes["replay"].kill()
        answer = until("replay's absence", options, lambda a: not a["replay"]["heard"])
        assert "refused" in answer["replay"]["why"], answer["replay"]
        assert answer["waiting"]["for"] == "replay", answer["waiting"]


def test_an_actor_whose_step_hangs_is_shown_stuck_beside_others_that_step():
    plugin = BUILD / "tests/envs/bad_hang_file.so"
    metrics = f"http://127.0.0.1:{free_port(1)}"
    with scratch() as folder:
        settings = [*ENDLESS, "--set", f"env.id={plugin}", "--set", "run.env_hang_s=4", "--metrics", metrics]
        with by_hand(folder, how="local", settings=settings, actors=["--plugins", plugin]) as (_, run, _):
            more = [start([ACTOR, "--plugins", plugin], folder / f"actor{i}.log", cwd=folder,
                          env={**os.environ, "BAD_HANG_FILE": str(folder / f"hang{i}")}) for i in range(2)]
            try:
                until("three actors that step", [run], lambda a: sum((p["steps_per_s"] or 0) > 0 for p in a["peers"]["list"]) == 3)
                (folder / "hang0").touch()
                answer = until("the stuck one", [run], lambda a: a["peers"]["stuck"] == 1)
                first, *others = answer["peers"]["list"]
                assert (first["pid"], first["health"], first["steps_per_s"]) == (more[0].pid, "stuck", 0), answer["peers"]
                assert 2 < first["stuck_s"] < 12 and not first["silent"], first
                assert all(p["health"] != "stuck" and p["resident_bytes"] > 1e6 for p in others if p["role"] == "actor"), others
                name = f"actor {socket.gethostname()}/{more[0].pid} is stuck: a step of its environment has taken "
                assert name in answer["warning"], answer["warning"]
                rows = octet_says("top", run).splitlines()
                head = next(i for i, row in enumerate(rows) if row.startswith("id "))
                assert f" {more[0].pid}  stuck " in rows[head + 1] and " · stuck 1 · " in rows[1], rows
                assert re.search(rf"^  stuck    {socket.gethostname()}/{more[0].pid} .*: a step of its environment has taken",
                                 octet_says("status", run), re.M)
                with urllib.request.urlopen(metrics + "/metrics") as page:
                    assert re.search(r"^octet_actors_stuck 1$", page.read().decode(), re.M)
                (folder / "hang0").unlink()
                until("its next steps", [run], lambda a: a["peers"]["stuck"] == 0 and not a["warning"])
            finally:
                for actor in more:
                    actor.kill()
                    actor.wait()


def test_an_actor_that_is_stuck_ends_and_its_supervisor_starts_it_again():
    """In a step, and while the environment is opened. What only hangs is not alive for a probe either."""
    plugin, opens = BUILD / "tests/envs/bad_hang_file.so", BUILD / "tests/envs/bad_create_hang.so"
    metrics = f"http://127.0.0.1:{free_port(1)}"
    with scratch() as folder:
        hang = folder / "hang"
        settings = [*ENDLESS, "--set", f"env.id={plugin}", "--set", "run.env_hang_s=1"]
        keep = ["sh", ROOT / "cli/cluster/octet_keep.sh", folder / "actor", ACTOR, "--exit-when-stuck", "auto"]
        for name in ("pid", "exit"):
            (folder / name).mkdir()
        with by_hand(folder, how="local", settings=settings, actors=["--plugins", plugin]) as (_, run, _):
            env = {**os.environ, "BAD_HANG_FILE": str(hang)}
            more = [start([ACTOR, "--plugins", plugin, "--metrics", metrics], folder / "hangs.log", cwd=folder, env=env),
                    start([*keep, "--plugins", plugin], folder / "kept.log", cwd=folder, env=env)]
            try:
                wait_for("both to act", lambda: all("ACTOR-START " in (folder / f"{name}.log").read_text() for name in ("hangs", "kept")))
                assert octet("health", "--alive", metrics).returncode == 0
                hang.touch()
                log = folder / "kept.log"
                wait_for("its end", lambda: "octet-actor died (exit code 4)" in log.read_text())
                assert re.search(r"ACTOR-STUCK-EXIT the environment has not returned for \d s; exit=4", log.read_text()), log.read_text()
                result = wait_for("a probe that fails", lambda: (lambda r: r if r.returncode else None)(octet("health", "--alive", metrics)))
                assert "a step of the environment has not ended" in result.stderr or "500" in result.stderr, result
                hang.unlink()
                wait_for("its next process", lambda: log.read_text().count("ACTOR-START ") > 1)
                until("its restart", [run], lambda a: [p["restarts"] for p in a["peers"]["list"] if p["restarts"]] == [1])
                assert octet("health", "--alive", metrics).returncode == 0
            finally:
                for process in more:
                    terminate(process)
    with scratch() as folder, by_hand(folder, how="local", settings=["--set", f"env.id={opens}"], actors=[
            "--plugins", opens, "--exit-when-stuck", "1"]) as (processes, _, _):
        assert processes["actor"].wait(DEADLINE_S) == 4
        assert "ACTOR-STUCK-EXIT" in (folder / "actor.log").read_text()


def test_an_actor_without_a_learner_gives_up():
    """When the run has ended and none follows; while a learner answers it stays."""
    with scratch() as folder, by_hand(folder, how="local", settings=ENDLESS, actors=["--give-up-after", "1"]) as (processes, run, _):
        wait_for_updates(run, 10)
        assert processes["actor"].poll() is None and processes["evaluator"].poll() is None
        processes["learner"].kill()
        for name in ("actor", "evaluator"):
            assert processes[name].wait(DEADLINE_S) == 5
            assert re.search(r"ACTOR-GAVE-UP the learner at \S+ has not answered for \d+ s; exit=5", (folder / f"{name}.log").read_text())


def test_status_watches_until_the_learner_is_gone():
    with scratch() as folder, secured(folder) as (processes, _, options, _):
        until("an actor", options, acts)
        with subprocess.Popen([str(a) for a in (OCTET, "status", "--json", "--watch", *options)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
            for _ in range(2):
                assert json.loads(watch.stdout.readline())["learner"]["heard"]
            processes["learner"].kill()
            rest, error = watch.communicate(timeout=DEADLINE_S)
            assert watch.returncode == 1 and "refused" in error, (rest, error)


def test_refusals_are_told_in_words():
    with scratch() as folder, secured(folder) as (_, _, options, certs):
        until("the learner", options, lambda a: True)
        learner = options[:2]
        refused([*learner, "--tls", certs / "actor"], "the certificate is an actor's; an operator's is needed")
        refused([*learner, "--tls", certs / "replay"], "the certificate is a replay's; an operator's is needed")
        refused([*learner, "--tls", folder], "ca.crt")
        refused(learner, "needs a certificate of the role operator")
        (folder / "other").mkdir()
        stranger = certificates(OCTET, folder / "other") / "operator"
        refused([*learner, "--tls", stranger], learner[1], "certificate")
        for command in (("stop",), ("checkpoint",), ("set", "replay.tolerance=1")):
            refused([*learner, "--tls", certs / "actor"], "an operator's is needed", command=command)
            refused([*learner, "--tls", stranger], learner[1], command=command)
        assert told(options)["learner"]["state"] == "training"


def test_a_revoked_operator_is_told():
    with scratch() as folder, secured(folder) as (_, _, options, certs):
        until("the learner", options, lambda a: True)
        octet_says("certs", "revoke", "operator", "--dir", certs)
        wait_for("the list to be taken up", lambda: octet("status", *options).returncode == 1)
        refused(options, "revoked")


def test_nobody_there_is_told():
    with scratch() as folder:
        certs = ["--tls", certificates(OCTET, folder / "octet-certs") / "operator"]
        port = free_port(1)
        refused(["--learner", f"tls+tcp://127.0.0.1:{port}", *certs], "refused")
        refused(["--learner", "tls+tcp://no.such.host.invalid:5555", *certs], "no.such.host.invalid cannot be resolved")
        refused(["--learner", "tcp://no.such.host.invalid:5555", "--insecure"], "no.such.host.invalid cannot be resolved")
        refused(["--learner", f"tcp://127.0.0.1:{port}", "--insecure"], "nothing listens there")
        refused(["--learner", f"ipc://{folder}/none.ipc"], "nothing listens there")
        with socket.create_server(("127.0.0.1", port)):  # takes connections, and never says a word
            refused(["--learner", f"tls+tcp://127.0.0.1:{port}", *certs], str(port))
            refused(["--learner", f"tcp://127.0.0.1:{port}", "--insecure"], str(port))
            refused(["--learner", f"tcp://127.0.0.1:{port}", "--insecure"], str(port), command=("stop",))


@contextlib.contextmanager
def greeter(words):
    """A service that says words to whoever connects, and hangs up: gives its port."""
    def greet():
        with contextlib.suppress(OSError):  # until the socket is shut
            while True:
                peer, _ = server.accept()
                with peer:
                    peer.sendall(words)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_plain_port_is_told_to_speak_no_tls():
    with scratch() as folder, by_hand(folder, how="insecure", settings=ENDLESS) as (_, _, (learner, _)):
        certs = ["--tls", certificates(OCTET, folder / "octet-certs") / "operator"]
        until("the learner", ["--insecure", "--learner", f"tcp://0.0.0.0:{learner}"], lambda a: True)
        refused(["--learner", f"tls+tcp://127.0.0.1:{learner}", *certs], "the peer does not speak TLS")
        with greeter(b"SSH-2.0-OpenSSH_9.2\r\n") as port:
            refused(["--learner", f"tls+tcp://127.0.0.1:{port}", *certs], "the peer does not speak TLS")


def test_the_other_daemon_is_told():
    with scratch() as folder, by_hand(folder, how="insecure", settings=ENDLESS) as (_, _, (learner, replay)):
        options = ["--insecure", "--learner", f"tcp://0.0.0.0:{learner}"]
        until("an actor", options, acts)
        refused([*options[:2], f"tcp://0.0.0.0:{replay}"], "this is the replay", "check the address")
        result = octet("status", "--learner", f"tcp://0.0.0.0:{learner}")
        assert result.returncode == 2 and "--insecure" in result.stderr, result


def test_operator_sets_saves_and_stops():
    with scratch() as folder, secured(folder) as (processes, run, options, _):
        until("an actor", options, acts)
        result = octet("set", *options, "replay.samples_per_insert=16")
        assert result.returncode == 0 and "replay.samples_per_insert=16" in result.stdout, result
        until("the limiter", options, lambda a: a["replay"]["numbers"]["replay.limiter.samples_per_insert"] == 16)
        before = (run / "checkpoint.oct").stat().st_mtime_ns
        result = octet("checkpoint", *options)
        assert (run / "checkpoint.oct").stat().st_mtime_ns > before, "it is on the disk when the command ends"
        assert result.returncode == 0 and re.search(r"on disk: [1-9]\d* updates, [1-9]\d* environment steps", result.stdout), result
        result = octet("stop", *options, "--reason", "seen enough")
        assert result.returncode == 0 and result.stdout.startswith(options[1]), result
        assert processes["learner"].wait(DEADLINE_S) == 0
        assert summary(run)["reason"] == "seen enough"
        processes["actor"].send_signal(signal.SIGTERM)


def test_what_was_set_lasts_until_the_learner_starts_again():
    with scratch() as folder, secured(folder) as (processes, run, options, _):
        def changes():
            return re.findall(r"REPLAY-CHANGED key=samples_per_insert was=(\S+) now=(\S+) by=(\S+) certificate=\"(.*)\"",
                              (folder / "replay.log").read_text(encoding="utf-8"))

        def wanted(answer):
            return answer["replay"]["numbers"]["replay.limiter.samples_per_insert"]
        before = wanted(until("an actor", options, acts))
        result = octet("set", *options, "replay.samples_per_insert=16")
        assert result.returncode == 0 and "until the learner or replay is restarted" in result.stdout, result
        assert changes() == [(f"{before:g}", "16", "operator", "operator")], changes()
        processes["learner"].kill()
        processes["learner"].wait()
        processes["learner"] = start([*processes["learner"].args, "--resume"], folder / "again.log", cwd=folder)
        until("the learner's own", options, lambda a: wanted(a) == before)
        assert changes()[1:] == [("16", f"{before:g}", "learner", "learner")], changes()


def test_a_checkpoint_that_is_not_written_is_told():
    with scratch() as folder, secured(folder, "--set", "learner.checkpoint_s=0") as (processes, run, options, _):
        # In the way of a draft's last step, as a full disk is in that of its first.
        until("an actor", options, acts)
        (run / "checkpoint.oct").unlink()
        (run / "checkpoint.oct").mkdir()
        refused(options, "checkpoint.oct cannot be written", command=("checkpoint",))
        (run / "checkpoint.oct").rmdir()
        assert octet("checkpoint", *options).returncode == 0
        # Nobody writes while the learner is stopped, and nobody after it was killed.
        processes["learner"].send_signal(signal.SIGSTOP)
        refused(options, "the TLS handshake does not progress", command=("checkpoint",))
        processes["learner"].kill()
        processes["learner"].wait()
        refused(options, "refused", command=("checkpoint",))


def test_no_checkpoint_before_an_actor():
    with scratch() as folder:
        certs, port = certificates(OCTET, folder / "octet-certs"), free_port(4)
        options = ["--learner", f"tls+tcp://127.0.0.1:{port}", "--tls", certs / "operator"]
        learner = start([LEARNER, CARTPOLE, "--run-dir", folder / "run", "--tls", certs / "learner", "--set",
                         f"net.learner=tls+tcp://0.0.0.0:{port}", "--set", f"net.replay=tls+tcp://127.0.0.1:{port + 3}"],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            refused(options, "no actor has joined yet", command=("checkpoint",))
            # It is there by an address that its certificate does not have.
            refused(["--learner", f"tls+tcp://127.0.0.2:{port}", *options[2:]], "its certificate does not name this host", "--host")
        finally:
            learner.kill()
            learner.wait()


if __name__ == "__main__":
    sys.exit(run_named(globals()))
