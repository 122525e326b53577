#!/usr/bin/env python3
"""A live run is attacked, one attack after the other, and measured before, during and after. Started by script/test-hostile.

usage: hostile.py BUILD [--insecure] [--short] [--json FILE] [--markdown FILE] [ATTACK...]

BUILD: a build folder. --insecure: tcp://0.0.0.0 instead of tls+tcp://. --short: small attacks, as the test of suite e2e.
Prints every requirement with "ok" or "FAIL"; the last line is "N passed, N failed". Strangers come from another address of
loopback than good actors, unless the attack is of one that shares it.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import HOME, NEVER_S, PATIENCE, certificates, free_port, get, in_time, kill_all, log_lines, wait_for  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
CARTPOLE = ROOT / "presets/cartpole.yaml"
# An endless run: the goal cannot be reached, the budget not spent.
ENDLESS = ["run.stop_at_return=501", "run.env_steps=100000000000", "learner.metrics_s=1", "evaluation.period_s=1"]
MANY = 400 # addresses of those that have many
ALL = ["learner", "policies", "replay", "batches", "acks"]
STEPS_MAX = 1e9  # that one attack lasts, and far below what an actor claims in it
GROWN_MAX = 64 << 20  # of a daemon's memory by one attack, unless its bound is another
GONE_S = 2.0
JOIN_S = 10.0


class System:
    """Replay, a learner, an actor and an evaluator on this machine; more actors come and go."""

    def __init__(self, build, folder, insecure=False, level="info", settings=()):
        self.build, self.folder, self.insecure, self.level = pathlib.Path(build).resolve(), folder, insecure, level
        self.settings, self.base = settings, free_port(24)
        self.environment, self.prefix = {}, {}  # of daemons by name: variables beside ours, a program that starts it
        self.run = folder / "run"
        begin = "tcp://0.0.0.0" if insecure else f"tls+tcp://{HOME}"
        self.learner, self.replay = f"{begin}:{self.base}", f"{begin}:{self.base + 3}"
        self.ports = dict(zip(ALL, [self.base, self.base + 1, self.base + 3, self.base + 4, self.base + 5]))
        self.certs = None if insecure else certificates(
            self.build / "cli/octet", folder / "certs", ["learner", "replay", "actor", "evaluator", "operator", ("actor", "attacker")])
        self.processes, self.metrics_port, self.joined, self.strangers = {}, {}, 0, 0

    def __enter__(self):
        try:
            self.start("replay", ["replay/octet-replay", "--listen", self.replay])
            settings = [word for s in [*ENDLESS, *self.settings, f"net.learner={self.learner}", f"net.replay={self.replay}"]
                        for word in ("--set", s)]
            self.start("learner", ["learner/octet-learner", CARTPOLE, "--run-dir", self.run, *settings])
            self.actor("actor")
            self.actor("evaluator", "--evaluate")
            wait_for("training", lambda: self.dead() or self.number("learner", "octet_learner_updates_total") > 100)
            assert not self.dead(), "".join(log.read_text() for log in self.folder.glob("*.log"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        kill_all(self.processes.values())

    def dead(self):
        return [name for name, process in self.processes.items() if process.poll() is not None]

    def start(self, name, command, measured=True):
        role = next((role for role in ("replay", "learner", "evaluator") if name.endswith(role)), "actor")
        net = ["--insecure"] if self.insecure else ["--tls", self.certs / role]
        if measured and name not in self.metrics_port:
            self.metrics_port[name] = self.base + 8 + len(self.metrics_port)
        served = [] if name not in self.metrics_port else ["--metrics", f"http://{HOME}:{self.metrics_port[name]}"]
        command = [*self.prefix.get(name, []), self.build / command[0], *command[1:], *net, *served, "--follow-parent", os.getpid(), "--log-level",
                   self.level]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log,
                                                    stderr=log, env={**os.environ, **self.environment.get(name, {})})

    def actor(self, name, *options, measured=True):
        address = self.learner.replace("0.0.0.0", HOME)
        self.start(name, ["actor/octet-actor", "--learner", address, *options], measured)

    def another(self):
        """A new good actor: seconds until its first batches are acknowledged, or None."""
        name, begin = f"joined{self.joined}", time.monotonic()
        self.joined += 1
        level, self.level = self.level, "debug"
        self.actor(name, measured=False)
        self.level = level
        try:
            wait_for("it to join", lambda: any(int(f["rows"]) > 0 for f in self.said(name, "ACTOR-ACKED")), 60)
            seconds = time.monotonic() - begin
        except AssertionError:
            seconds = None
        self.processes[name].terminate()
        self.processes[name].wait()
        return seconds

    def said(self, name, identity):
        path = self.folder / f"{name}.log"
        return list(log_lines(path, identity)) if path.exists() else []

    # ---- numbers

    def metrics(self, name):
        """{name{labels}: value} of --metrics; {} when it does not answer."""
        answer = get(self.metrics_port[name], timeout_s=10)
        if answer is None:
            return {}
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in answer[1].splitlines()
                if line and not line.startswith("#")}

    def number(self, name, metric):
        return self.metrics(name).get(metric, 0)

    def is_full(self):
        """Replay's table, but for what streams that ended leave unused of their last blocks."""
        replay = self.metrics("replay")
        return 0 < 0.9 * replay.get("octet_replay_capacity_rows", 0) <= replay.get("octet_replay_rows", 0)

    def threads_cpu_s(self, name):
        """CPU seconds of the process, and of its gate alone."""
        tick = os.sysconf("SC_CLK_TCK")
        all_s = gate_s = 0.0
        for task in pathlib.Path(f"/proc/{self.processes[name].pid}/task").iterdir():
            try:
                rest = (task / "stat").read_text().rsplit(")", 1)
            except OSError:
                continue
            spent = sum(int(n) for n in rest[1].split()[11:13]) / tick
            all_s += spent
            gate_s += spent if rest[0].endswith("(gate") else 0
        return all_s, gate_s

    def look(self):
        """One look at everything."""
        learner, replay = self.metrics("learner"), self.metrics("replay")
        now = {"at": time.monotonic(), "env_steps": learner.get("octet_env_steps_total", 0),
               "updates": learner.get("octet_learner_updates_total", 0)}
        for name, m in (("learner", learner), ("replay", replay)):
            now[name] = {"rss": m.get("process_resident_memory_bytes", 0), "threads": m.get("process_threads", 0),
                         "fds": m.get("process_open_fds", 0), "connections": 0}
            now[name]["cpu_s"], now[name]["gate_s"] = self.threads_cpu_s(name)
            now[name].update({k.replace("octet_gate_", ""): v for k, v in m.items() if k.startswith("octet_gate_")})
        return now

    def totals(self):
        """Rows (acknowledged, sent) by all actors that ended well, and what replay logged at its end."""
        acked = sent = 0
        for path in self.folder.glob("*.log"):
            for totals in log_lines(path, "ACTOR-TOTALS"):
                acked += int(totals["acked"])
                sent += int(totals["sent"])
        return acked, sent, self.said("replay", "REPLAY-STOP")[-1]

    def stop(self, names=None):
        """SIGTERM to these at once: {name: (exit code, seconds)}."""
        names = [n for n in (names or self.processes) if self.processes[n].poll() is None]
        begin, gone = time.monotonic(), {}
        for name in names:
            self.processes[name].terminate()
        while len(gone) < len(names) and time.monotonic() < begin + NEVER_S * PATIENCE:
            for name in names:
                if name not in gone and self.processes[name].poll() is not None:
                    gone[name] = (self.processes[name].returncode, time.monotonic() - begin)
            time.sleep(0.005)
        return {n: gone.get(n, ("still running", None)) for n in names}


@contextlib.contextmanager
def running(insecure=True, settings=(), prepare=lambda system: None):
    """A run in training, on a network without certificates or over TLS; prepare(it) before its daemons start."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-hostile-"))
    try:
        system = System(BUILD, folder, insecure=insecure, settings=settings)
        prepare(system)
        with system:
            yield system
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-12:], sep="\n")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def updates(system, name):
    return system.number(name, "octet_learner_updates_total")


def all_gone(check, gone):
    """What System.stop gave: every process has ended."""
    last = max(gone, key=lambda n: gone[n][1] or float("inf"))
    seconds = gone[last][1]
    told = "never" if seconds is None else f"after {seconds:.2f} s"
    check.that(in_time(seconds, GONE_S), f"SIGTERM: {len(gone)} gone, the last {last}, {told} (required: {GONE_S:g} s)")


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, []

    def that(self, holds, text):
        print(("    ok    " if holds else "    FAIL  ") + text, flush=True)
        self.passed += bool(holds)
        if not holds:
            self.failed.append(text)
        return holds


# ---- attacks: name, what (for people), kind, ports, count in full and in short, seconds, whose certificate, source

def plan(insecure):
    """[(name, words, spec)]; count is (full, short)."""
    def attack(name, words, kind, ports, count, seconds=(6, 1.5), cert=None, source=None, **more):
        return name, words, dict(kind=kind, ports=ports, count=count, seconds=seconds, cert=cert, source=source, **more)
    pushing = ["batches"]
    every = [ # each comes from an address that nobody has met yet
        attack("garbage", "connections of garbage", "garbage", ALL, (10000, 500)),
        attack("silent", "silent connections and a byte a second", "silent", ALL, (1000, 300), (12, 4)),
        attack("silent many", "the same from 400 addresses", "silent", ALL, (1000, 300), (12, 4), many=True),
        attack("wrong CA", "handshakes, another CA", "handshakes", ALL, (3000, 50), cert="other/actor"),
        attack("wrong CA many", "the same from 400 addresses", "handshakes", ALL, (3000, 50), cert="other/actor", many=True),
        attack("wrong role", "handshakes, an operator's certificate", "handshakes", ["policies", "batches", "acks"],
               (3000, 50), cert="certs/operator"),
        attack("posing", "handshakes, an actor's certificate at replay's methods", "handshakes", ["replay"], (3000, 50),
               cert="certs/attacker"),
        attack("forged", "batches of nobody's session", "forged", pushing, (2000, 100), (8, 2), cert="certs/attacker"),
        attack("8 GiB", "messages announced as 8 GiB", "huge", ALL, (500, 50), cert="certs/attacker"),
        attack("tokens", "Register and GetPolicy with wrong tokens", "tokens", ["learner"], (10000, 300), cert="certs/attacker"),
        attack("lies", "reports that would end the run", "lies", ["learner"], (200, 20), cert="certs/attacker"),
        attack("names", "acknowledgements asked for in invented names", "names", ["acks"], (200000, 20000),
               cert="certs/attacker"),
        attack("mute", "requests whose answers are never read", "mute", ["learner"], (8, 4), (10, 4), cert="certs/attacker"),
        attack("partial", "messages of 63 MiB that never end", "partial", pushing, (24, 12), (8, 4), cert="certs/attacker",
               grown=192 << 20),
        attack("deaf", "subscribers that never read", "deaf", ["policies", "acks"], (400, 40), (12, 2), cert="certs/attacker",
               grown=128 << 20),
        attack("crowd", "connections at once", "crowd", ["learner", "policies", "batches", "acks"], (2000, 60), (6, 1),
               cert="certs/attacker", grown=128 << 20),
        attack("methods", "an actor's certificate: Stop, Checkpoint, Sample, Configure", "methods", ["learner", "replay"],
               (1, 1), (0.5, 0.5), cert="certs/attacker"),
        attack("same address", "garbage from the good actors' address", "garbage", ALL, (10000, 1000), source=HOME),
    ]
    if insecure:
        every = [a for a in every if a[0] not in ("wrong CA", "wrong CA many", "wrong role", "posing", "methods")]
    return every


SHORT = ["garbage", "silent many", "forged", "8 GiB", "tokens", "lies", "names", "partial", "deaf", "methods"]


def launch(system, spec, short, nice):
    """The process of an attack."""
    spec = dict(spec)
    cert, many = spec.pop("cert"), spec.pop("many", False)
    spec.pop("grown", None)
    system.strangers += 1
    spec["source"] = spec["source"] or f"127.0.0.{9 + system.strangers}"
    if many:
        spec["sources"] = [f"127.{system.strangers}.{i // 200}.{i % 200 + 1}" for i in range(MANY)]
    for key in ("count", "seconds"):
        spec[key] = spec[key][short]
    spec.update(host=HOME, ports={n: system.ports[n] for n in spec["ports"]}, limit_s=60 * PATIENCE, nice=nice,
                tls=None if system.insecure or cert is None else str(system.folder / cert))
    if not system.insecure and cert is None and spec["kind"] in ("garbage", "silent"):
        spec["tls"] = str(system.folder / "certs/actor")  # only tells that the ports speak TLS
    return subprocess.Popen([sys.executable, str(HERE / "attack.py"), json.dumps(spec)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True)


def rates(begin, end):
    """What a phase was, from the looks at both of its ends."""
    seconds = end["at"] - begin["at"]
    out = {"seconds": seconds}
    for key in ("env_steps", "updates"):
        out[key] = (end[key] - begin[key]) / seconds
    out["cpu"] = sum(end[n]["cpu_s"] - begin[n]["cpu_s"] for n in ("learner", "replay")) / seconds
    out["gate"] = sum(end[n]["gate_s"] - begin[n]["gate_s"] for n in ("learner", "replay")) / seconds
    return out


def phase(system, seconds):
    begin = system.look()
    time.sleep(seconds)
    return rates(begin, system.look())


def watch(system, process, every_s):
    """Until the process ends: the first and the last look, and the most that was seen."""
    begin = last = system.look()
    most = {n: dict(begin[n]) for n in ("learner", "replay")}
    while process.poll() is None:
        time.sleep(every_s)
        now = system.look()
        if process.poll() is None or last is begin:
            last = now  # not the calm after it
        for name, seen in most.items():
            for key in ("rss", "threads", "fds", "connections"):
                seen[key] = max(seen[key], now[name][key])
    return begin, last, most


def returned(system, base):
    """Waits until descriptors and threads are as before: (seconds or None, the last look)."""
    begin = time.monotonic()
    while True:
        now = system.look()
        if all(now[n]["fds"] <= base[n]["fds"] + 4 and now[n]["threads"] <= base[n]["threads"] + 2
               for n in ("learner", "replay")):
            return time.monotonic() - begin, now
        if time.monotonic() > begin + NEVER_S * PATIENCE:
            return None, now
        time.sleep(0.1)


TROUBLE = ("ACTOR-REPLAY-LOST", "ACTOR-LEARNER-LOST", "LEARNER-REPLAY-LOST", "NET-GATE-DIAL")


def troubles(system):
    """Lines that say that a good connection was lost."""
    return {name: sum(len(system.said(name, i)) for i in TROUBLE) for name in ("actor", "evaluator", "learner")}


# ---- whether an attack came to the daemons: what they count themselves, since what was sent to nobody does no harm either

def numbers(system):
    """All that learner and replay count, together."""
    total = {}
    for name in ("learner", "replay"):
        for metric, value in system.metrics(name).items():
            total[metric] = total.get(metric, 0) + value
    return total


def ended(grown, _attack):
    """Connections that gates ended by themselves."""
    return sum(n for metric, n in grown.items() if metric.startswith("octet_gate_closed_total"))


def malformed(grown, _attack):
    return grown['octet_gate_closed_total{reason="malformed"}']


def strange_bytes(grown, _attack):
    """Bytes that came to replay's gate, and were no batch or request."""
    return grown['octet_gate_bytes_total{direction="in"}'] - grown['octet_learner_bytes_total{arrow="replay_to_learner"}'] - \
        grown['octet_replay_bytes_total{direction="in"}']


# By kind: (what was counted, how much of it there is at least, in words). Peers that go by themselves are not ended by a gate.
ARRIVED = {
    "garbage": (ended, lambda a: a["connected"] / 2, "connections ended by gates"),
    "silent": (ended, lambda a: a["connected"] / 2, "connections ended by gates"),
    "handshakes": (ended, lambda a: a["connected"], "connections ended by gates"),
    "forged": (lambda grown, _: grown['octet_replay_rejected_total{reason="unregistered"}'], lambda a: 1, "batches rejected"),
    "huge": (malformed, lambda a: a["connected"] / 4, "connections ended for their messages"),
    "names": (malformed, lambda a: a["connected"] / 2, "connections ended for their messages"),
    "tokens": (lambda _, a: "unknown actor; register first" in a["words"] and "registered: 0" not in a["words"], lambda a: 1, "both answers"),
    "lies": (lambda _, a: a["answered"], lambda a: 1, "answers"),
    "mute": (lambda _, a: a["held"], lambda a: 1, "connections on which no more could be asked"),
    "partial": (strange_bytes, lambda a: a["sent"] / 4, "bytes of no message"),
    "deaf": (lambda grown, _: grown["octet_gate_opened_total"], lambda a: max(1, a["held"]), "connections that gates opened"),
    "methods": (lambda _, a: sum("learner" in w and "turned away" not in w for w in a["words"]), lambda a: 3, "answers of the learner"),
}
ARRIVED["crowd"] = ARRIVED["deaf"]


def arrive(check, system, kind, before, attack):
    """The gates have accepted its connections, and the daemons had to do with what it said."""
    made, (count, least, words) = attack.get("connected", 0), ARRIVED[kind]
    deadline = time.monotonic() + NEVER_S * PATIENCE
    while True:
        after = numbers(system)
        grown = {metric: after[metric] - before.get(metric, 0) for metric in after}
        accepted = grown.get("octet_gate_accepted_total", 0)
        holds = 0 < made <= accepted and count(grown, attack) >= least(attack)
        if holds or made == 0 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    came = count(grown, attack) if made else 0
    check.that(holds, f"it came to the daemons: {made} connections of it, {accepted:.0f} accepted; {came:.0f} {words}")


def play(check, system, name, words, spec, short, nice, calm_s):
    """One attack: the row of the table."""
    print(f"{name}: {words}", flush=True)
    base, lost, counted_before = system.look(), troubles(system), numbers(system)
    before = phase(system, calm_s)
    spin = launch(system, dict(spec, kind="spin", count=(0, 0), seconds=(calm_s + 0.5, calm_s + 0.5)), short, nice)
    busy = phase(system, calm_s)
    spin.communicate()
    process = launch(system, spec, short, nice)
    joined = []
    joiner = threading.Thread(target=lambda: (time.sleep(0.5 if short else 4), joined.append(system.another())))
    if name != "methods":
        joiner.start()
    begin, last, most = watch(system, process, 0.25)
    attack = json.loads(process.communicate()[0] or "{}")
    during = rates(begin, last)
    if name != "methods":
        joiner.join()
    back_s, end = returned(system, base)
    after = phase(system, calm_s)
    counted = {k: sum(end[n].get(k, 0) - base[n].get(k, 0) for n in ("learner", "replay")) for k in end["learner"]
               if "total" in k and "bytes" not in k}
    grown = {n: end[n]["rss"] - base[n]["rss"] for n in ("learner", "replay")}
    peak = {n: most[n]["rss"] - base[n]["rss"] for n in ("learner", "replay")}
    row = {"name": name, "words": words, "attack": attack, "before": before, "busy": busy, "during": during, "after": after,
           "joined_s": joined[0] if joined else None, "back_s": back_s, "gate": counted, "base": base, "most": most,
           "end": end, "peak_grown": peak, "end_grown": grown}
    check.that(attack.get("done", 0) > 0, f"{attack.get('done')} done, {attack.get('refused')} turned away in"
               f" {attack.get('seconds', 0):.1f} s with {attack.get('cpu_s', 0):.1f} s of CPU {attack.get('words')}")
    check.that(during["updates"] > 0 and during["env_steps"] > 0,
               "env steps/s, updates/s: " + ", ".join(
                   f"{n} {p['env_steps']:.0f} {p['updates']:.0f}" for n, p in
                   (("before", before), ("busy", busy), ("during", during), ("after", after))) +
               f"; gates' cores: {before['gate']:.2f} before, {during['gate']:.2f} during")
    check.that(max(peak.values()) < spec.get("grown", GROWN_MAX), f"memory grew by {peak['learner'] / 1e6:.1f} MB (learner),"
               f" {peak['replay'] / 1e6:.1f} MB (replay) at most; afterwards {grown['learner'] / 1e6:.1f}, {grown['replay'] / 1e6:.1f}")
    check.that(back_s is not None, f"descriptors and threads as before after {back_s if back_s is None else round(back_s, 1)} s:"
               f" {[(n, base[n]['fds'], most[n]['fds'], end[n]['fds']) for n in ('learner', 'replay')]}")
    check.that(troubles(system) == lost, f"no good connection was lost {[] if troubles(system) == lost else (lost, troubles(system))}")
    arrive(check, system, spec["kind"], counted_before, attack)
    if name != "methods":
        # Who shares the attacker's address must wait until it stops.
        most_s = JOIN_S + (attack.get("seconds", 0) if spec["source"] == HOME else 0)
        check.that(in_time(joined[0], most_s), f"a new actor was in after {joined[0]} s (required: {most_s:.0f} s)")
    if name == "lies":
        taken = end["env_steps"] - base["env_steps"]
        check.that(0 < taken < STEPS_MAX, f"steps are those that replay took: {taken:.0f} more")
        words = [w for w in attack.get("words", []) if "evaluation" in w]
        check.that(len(words) >= 2 and not any("GIVEN" in w or "taken" in w for w in words),
                   f"it is given no evaluation, and none is taken from it: {words}")
    if name == "methods":
        answers = attack.get("words", [])
        check.that(len(answers) >= 6 and not any("DONE" in a for a in answers), "all refused")
    return row


def pose(check, system):
    """An actor's certificate where replay and the learner should be: nobody talks to it."""
    print("impostor: an actor's certificate poses as a learner, and as replay", flush=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(system.certs / "actor/node.crt", system.certs / "actor/node.key")
    listener = socket.create_server((HOME, system.base + 22))
    heard, stop = [], []

    def serve():
        listener.settimeout(0.1)
        while not stop:
            try:
                peer, _ = listener.accept()
                peer.settimeout(2)
                with context.wrap_socket(peer, server_side=True) as tls:
                    heard.append(tls.recv(100))
            except OSError:
                continue
    thread = threading.Thread(target=serve)
    thread.start()
    address = f"tls+tcp://{HOME}:{system.base + 22}"
    try:
        system.start("deceived", ["actor/octet-actor", "--learner", address], measured=False)
        system.start("second-learner", ["learner/octet-learner", CARTPOLE, "--run-dir", system.folder / "second", "--set",
                                        f"net.learner=tls+tcp://{HOME}:{system.base + 16}", "--set", f"net.replay={address}"],
                     measured=False)
        for name in ("deceived", "second-learner"):
            why = wait_for(f"{name} to refuse", lambda n=name: system.said(n, "NET-GATE-DIAL"))
            check.that(True, f"{name} refuses: {why[0].get('error')}")
        check.that(not any(b"OCT" in h or b"SP" in h for h in heard), f"nothing was said to it in {len(heard)} handshakes")
    finally:
        stop.append(1)
        thread.join()
        listener.close()
        for name in ("deceived", "second-learner"):
            if name in system.processes:
                system.processes[name].kill()
                system.processes[name].wait()


def settle(check, system):
    """SIGTERM: saved and gone in time; nothing acknowledged is lost."""
    asked = time.time()
    gone = system.stop(["actor", "evaluator", "learner", "replay"])
    all_gone(check, gone)
    check.that(all(code == 0 for code, _ in gone.values()), f"exit codes {gone}")
    saved = system.run / "checkpoint.oct"
    check.that(saved.exists() and saved.stat().st_mtime >= asked - 0.02, "the checkpoint was saved")
    acked, sent, replay = system.totals()
    taken = int(replay["rows"])
    check.that(acked <= taken <= sent and acked > 0,
               f"nothing lost, nothing twice: {acked} acknowledged <= {taken} taken <= {sent} sent;"
               f" rejected {replay['rejected']}, for their token {replay['rejected_token']}")
    if not system.insecure:
        check.that(replay["rejected"] == replay["rejected_token"] and replay["gaps"] == "0", "nothing else was rejected")


# ---- the table

def markdown(rows):
    """What docs/results/security.md shows."""
    out = ["| attack | done | env steps/s, ratio to before (busy loop) | updates/s, likewise | gates, cores | memory at most, MB"
           " (learner, replay) | descriptors (learner, replay) | a new actor is in after |", "|" + "---|" * 8]
    for r in rows:
        def ratio(key, phase_name, r=r):
            calm = (r["before"][key] + r["after"][key]) / 2
            return r[phase_name][key] / calm if calm > 0 else float("nan")
        fds = ", ".join(f"{r['base'][n]['fds']:.0f} → {r['most'][n]['fds']:.0f} → {r['end'][n]['fds']:.0f}" for n in ("learner", "replay"))
        joined = "" if r["joined_s"] is None else f"{r['joined_s']:.1f} s"
        out.append(f"| {r['words']} | {r['attack']['done']:,} in {r['attack']['seconds']:.0f} s |"
                   f" {r['during']['env_steps']:,.0f}, {ratio('env_steps', 'during'):.2f} ({ratio('env_steps', 'busy'):.2f}) |"
                   f" {r['during']['updates']:,.0f}, {ratio('updates', 'during'):.2f} ({ratio('updates', 'busy'):.2f}) |"
                   f" {r['before']['gate']:.2f} → {r['during']['gate']:.2f} |"
                   f" {r['peak_grown']['learner'] / 1e6:+.1f}, {r['peak_grown']['replay'] / 1e6:+.1f} | {fds} | {joined} |")
    return "\n".join(out) + "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("attacks", nargs="*")
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--nice", type=int, default=10, help="of the attacker")
    return parser.parse_intermixed_args()


def main():
    asked = arguments()
    attacks = [a for a in plan(asked.insecure) if a[0] in (asked.attacks or (SHORT if asked.short else [a[0]]))]
    if not attacks:
        print("attacks:", *[f'"{a[0]}"' for a in plan(asked.insecure)])
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder, check, rows = pathlib.Path(tempfile.mkdtemp(prefix="octet-hostile-")), Checks(), []
    try:
        with System(asked.build, folder, asked.insecure) as system:
            if not asked.insecure:
                (folder / "elsewhere").mkdir()
                certificates(system.build / "cli/octet", folder / "other", ["actor"])
            wait_for("the table to be full", system.is_full)
            check.that(True, f"in calm a new actor is in after {system.another():.1f} s")
            for name, words, spec in attacks:
                rows.append(play(check, system, name, words, spec, asked.short, asked.nice, 0.7 if asked.short else 4))
            if not asked.insecure and (not asked.attacks or "impostor" in asked.attacks):
                pose(check, system)
            settle(check, system)
            if check.failed:
                for log in sorted(folder.glob("*.log")):
                    lines = [l for l in log.read_text(errors="replace").splitlines() if " D " not in l]
                    print(f"--- {log.name}", *lines[-12:], sep="\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for path, text in ((asked.json, json.dumps(rows, indent=1)), (asked.markdown, markdown(rows))):
        if path:
            pathlib.Path(path).write_text(text, encoding="utf-8")
    if not asked.short:
        print(markdown(rows))
    print(f"{check.passed} passed, {len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
