#!/usr/bin/env python3
"""One system over several hosts, on networks that are good, slow, lossy, narrow and cut. Started by script/test-hosts.

usage: hosts.py BUILD [SCENARIO...]      BUILD: a build folder; without a scenario: all

Prints what happened, with seconds; the last line is "N passed, N failed". Waits for conditions with a deadline. Requirements that
are times (noticed within 5 s, repaired within 5 s, gone within 2 s) decide with OCTET_TEST_TIMES=1 alone.
"""

import os
import subprocess
import sys
import time

import cluster
from cluster import ROOT
from daemons import NEVER_S, PATIENCE, wait_for
from scenarios import Skipped, main, say

CARTPOLE = ROOT / "presets/cartpole.yaml"
# An endless run: the goal cannot be reached, the budget not spent.
ENDLESS = ["run.stop_at_return=501", "run.env_steps=1000000000", "learner.metrics_s=0.1"]
NOTICED_S = 5.0
REPAIRED_S = 5.0
GONE_S = 2.0
CUT_S = 8.0
ON_ITS_WAY_S = 0.3  # what was sent before a line broke may still arrive

BUILD = None


def settle(check, system, names=None):
    """SIGTERM to everything that runs: saved, and gone in time."""
    running = [n for n in (names or system.lab.daemons) if system.lab.process(n).poll() is None]
    asked = time.time()
    gone = system.lab.stop(running)
    slowest = max(gone, key=lambda n: gone[n][1])
    check.within(f"SIGTERM: {len(gone)} daemons gone, the last {slowest},", gone[slowest][1], GONE_S)
    bad = {n: status for n, (status, _) in gone.items() if status != 0}
    check.that(not bad, f"every exit code is 0 {bad or ''}")
    if "learner" in gone:
        saved = (system.run / "checkpoint.oct").stat().st_mtime
        check.that(saved >= asked - 0.02 and (system.run / "summary.json").exists(), "checkpoint and summary were saved")


def exactly_once(check, system):
    """Replay's totals against the actors': what was acknowledged is there, nothing is there twice."""
    acked, taken, sent, replay = system.totals()
    check.that(acked <= taken <= sent and taken > 0,
               f"nothing lost, nothing twice: {acked} acknowledged <= {taken} taken <= {sent} sent"
               f" (dropped: {replay['duplicates']} duplicates, {replay['gaps']} too early)")
    check.that(replay["rejected"] == "0", f"rejected: {replay['rejected']}")


def solved(check, system, delay_s, settings=(), beside=None):
    """beside: a program that runs on the learner's host."""
    begin = time.monotonic()
    system.start(CARTPOLE, ["learner.metrics_s=0.2", *settings])
    if beside is not None:
        wait_for("the run's folder", (system.run / "config.yaml").exists)
        system.lab.start("beside", "learner", beside)
    status = system.lab.process("learner").wait(delay_s * PATIENCE)
    wall_s = time.monotonic() - begin
    last = system.lab.said("learner", "LEARNER-STOP")
    text = (system.run / "summary.json").read_text(encoding="utf-8")
    check.that(status == 0 and '"solved": true' in text, f"solved in {wall_s:.1f} s, exit {status}: {last[-1][1]}")
    say(f"{system.newest('env_steps'):.0f} steps, {system.newest('updates'):.0f} updates,"
        f" lag {system.newest('policy_lag'):.1f} versions")
    if beside is not None:
        check.that(system.lab.process("beside").wait(60 * PATIENCE) == 0, "the program beside it ends, exit 0")
    settle(check, system)
    exactly_once(check, system)


def python_with_numpy():
    for python in (ROOT / "build/tools/python/bin/python", os.environ.get("OCTET_TEST_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import numpy, gymnasium"], capture_output=True, check=False).returncode == 0:
            return python
    return None


# ---- scenarios


def plain(check, folder):
    """CartPole is solved over separate hosts."""
    with cluster.Cluster(BUILD, folder, actors=2) as system:
        solved(check, system, 60)


def own_learner(check, folder):
    """CartPole is solved by a Python program that learns beside octet-learner."""
    python, library = python_with_numpy(), BUILD / "lib/liboctet.so"
    if python is None or not library.exists():
        raise Skipped("no Python has NumPy and Gymnasium (script/setup test), or the build has no liboctet.so")
    with cluster.Cluster(BUILD, folder, actors=2) as system:
        settings = ["algo.name=external", "algo.learning_rate=0.003", "network.hidden=[32,32]"]
        solved(check, system, 60, settings,
               ["env", f"OCTET_LIBRARY={library}", f"PYTHONPATH={ROOT / 'python'}", python,
                ROOT / "examples/python/dqn_numpy.py", "--attach", system.run])
        said = (folder / "log/beside.log").read_text(encoding="utf-8")
        check.that("solved, " in said, f"the program says so: {said.strip().splitlines()[-1:]}")


def slow(check, folder):
    """CartPole is solved with 50 ms each way and 1 % loss at every actor."""
    with cluster.Cluster(BUILD, folder, actors=2) as system:
        for host in system.actors:
            system.lab.shape(host, delay_ms=50, loss=0.01)
        round_trip_s = system.lab.round_trip_s("a0", "replay")
        check.that(round_trip_s >= 0.1, f"the line is long: a round trip of {1e3 * round_trip_s:.0f} ms")
        solved(check, system, 90)
        check.that(system.lab.lost("a0") > 0, f"the line is lossy: {system.lab.lost('a0')} packets of a0 were lost")


def narrow(check, folder):
    """At 10 Mbit/s an actor of a large network acts on newer policies by int8 changes than by complete fp32 ones."""
    ages = {}
    for name, settings in (("int8", ["policy.precision=int8"]),
                           ("fp32", ["policy.precision=fp32"])):
        with cluster.Cluster(BUILD, folder / name, actors=1, debug=True) as system:
            system.lab.shape("a0", mbit=10)
            system.start(CARTPOLE, [*ENDLESS, "network.hidden=[512, 512, 512]", *settings])
            system.training()
            begin, before, bytes_before = time.time(), system.newest("env_steps"), system.lab.counters("a0")
            wait_for("policies", lambda: len(system.acting("a0")) > 5 and time.time() > begin + 6)
            seconds = time.time() - begin
            lags = [row["policy_lag"] for row in system.rows() if row["policy_lag"] is not None]
            ages[name] = sum(lags[len(lags) // 2:]) / len(lags[len(lags) // 2:])
            up, down = [8e-6 * (b - a) / seconds for a, b in zip(bytes_before, system.lab.counters("a0"))]
            check.that(max(up, down) < 10.5, f"the line is narrow: {up:.1f} Mbit/s up, {down:.1f} down")
            taken = sum(when > begin for when, _ in system.acting("a0"))
            say(f"{name}: {(system.newest('env_steps') - before) / seconds:.0f} env steps/s,"
                f" {taken / seconds:.1f} policies/s taken, {ages[name]:.1f} versions behind,"
                f" {system.newest('policy_bytes') / 1024:.0f} KiB each")
            settle(check, system)
            exactly_once(check, system)
    check.that(ages["int8"] < ages["fp32"], "int8 changes keep the actor nearer to the learner")


def heard(system, actor, since, version):
    """UNIX time by which the actor both got something acknowledged and acted on a newer policy; None: not yet."""
    acks = [when for when, _ in system.lab.said(actor, "ACTOR-ACKED") if when > since]
    policies = [when for when, v in system.acting(actor) if when > since and v > version]
    return max(acks[0], policies[0]) if acks and policies else None


def back(check, system, actors, since, version, what, most_s=REPAIRED_S, grace_s=0.0):
    """Each actor's batches are acknowledged and it acts on new policies again, required most_s after since."""
    end = time.monotonic() + NEVER_S * PATIENCE + grace_s
    while time.monotonic() < end and any(heard(system, a, since + grace_s, version) is None for a in actors):
        time.sleep(0.05)
    for actor in actors:
        when = heard(system, actor, since + grace_s, version)
        check.within(f"{actor}: {what}", None if when is None else when - since, most_s)


def noticed(check, system, daemon, identities, since):
    """The daemon says that a peer has gone, while it is cut off."""
    end = time.monotonic() + NEVER_S * PATIENCE
    first = []
    while not first and time.monotonic() < end:
        first = [when for i in identities for when, _ in system.lab.said(daemon, i) if when > since]
        time.sleep(0.05)
    check.within(f"{daemon}: noticed", min(first) - since if first else None, NOTICED_S)


LOST = ["ACTOR-REPLAY-LOST", "ACTOR-LEARNER-LOST"]
BOTH_WAYS = ["-i", "-o"]


def cut(check, folder, host, ways, watching, others=()):
    """Cuts one host off, for 8 s and until all have noticed, and heals it."""
    with cluster.Cluster(BUILD, folder, actors=2, debug=True) as system:
        system.start(CARTPOLE, ENDLESS)
        system.training()
        since, before = time.time(), {other: system.acked(other) for other in others}
        system.lab.cut(host, ways)
        for daemon, identities in watching.items():
            noticed(check, system, daemon, identities, since)
        time.sleep(max(0.0, since + CUT_S - time.time()))
        for other in others:
            went = system.acked(other) - before[other]
            check.that(went > 0, f"{other} went on: {went} rows meanwhile")
        version, healed = system.newest("policy_version"), time.time()
        system.lab.heal(host, ways)
        back(check, system, [a for a in system.actors if a not in others], healed, version, "back")
        settle(check, system)
        exactly_once(check, system)


def cut_actor(check, folder):
    """An actor's host is cut off silently for 8 s; the other actor goes on."""
    cut(check, folder, "a0", BOTH_WAYS, {"a0": LOST}, others=["a1"])


def cut_replay(check, folder):
    """Replay's host is cut off silently for 8 s."""
    cut(check, folder, "replay", BOTH_WAYS, {"learner": ["LEARNER-REPLAY-LOST"], "a0": ["ACTOR-REPLAY-LOST"]})


def cut_learner(check, folder):
    """The learner's host is cut off silently for 8 s."""
    cut(check, folder, "learner", BOTH_WAYS, {"learner": ["LEARNER-REPLAY-LOST"], "a0": ["ACTOR-LEARNER-LOST"]})


def cut_one_way(check, folder):
    """Nothing comes from replay's host for 8 s, while everything still reaches it: batches arrive, acknowledgements do not."""
    cut(check, folder, "replay", ["-i"], {"learner": ["LEARNER-REPLAY-LOST"], "a0": ["ACTOR-REPLAY-LOST"]})


def moved(check, folder, host):
    """The host gets another address; its name resolves to that."""
    with cluster.Cluster(BUILD, folder, actors=2, debug=True) as system:
        system.start(CARTPOLE, ENDLESS)
        system.training()
        old = system.lab.address(host)
        system.lab.move(host)
        say(f"{host}: {old} is {system.lab.address(host)} now")
        # Noticed within 5 s, and repaired within another 5 s.
        back(check, system, system.actors, time.time(), system.newest("policy_version"), "back",
             NOTICED_S + REPAIRED_S, ON_ITS_WAY_S)
        settle(check, system)
        exactly_once(check, system)


def moved_replay(check, folder):
    """Replay's host gets another address, and its name says so."""
    moved(check, folder, "replay")


def moved_learner(check, folder):
    """The learner's host gets another address, and its name says so."""
    moved(check, folder, "learner")


def power(check, folder, host):
    """A host loses power without a word and is started again, its daemons with it."""
    settings = [*ENDLESS, "learner.checkpoint_s=1"]
    with cluster.Cluster(BUILD, folder, actors=2, debug=True) as system:
        system.start(CARTPOLE, settings)
        system.training()
        wait_for("a checkpoint", (system.run / "checkpoint.oct").exists)
        inserts, cut_s = system.newest("inserts"), time.time()
        system.lab.power_cut(host)
        time.sleep(2)  # nobody answers, for longer than any first retry
        version = system.newest("policy_version")
        system.lab.power_on(host)
        if host == "replay":
            system.start_replay()
        elif host == "learner":
            system.start_learner(CARTPOLE, settings, resume=True)
        else:
            system.start_actor(host)
        since = time.time()
        say(f"{host}: without power for {since - cut_s:.1f} s, after {inserts:.0f} windows")
        # The others still hold connections of which this host knows nothing.
        back(check, system, system.actors, since, version, "back")
        updates = system.newest("updates")
        try:
            wait_for("further updates", lambda: system.newest("updates") > updates, NEVER_S)
        except AssertionError:
            pass
        check.that(system.newest("updates") > updates, "training goes on")
        settle(check, system)
        if host == "learner":
            exactly_once(check, system)


def power_actor(check, folder):
    """An actor's host loses power and comes back."""
    power(check, folder, "a0")


def power_replay(check, folder):
    """Replay's host loses power and comes back, empty."""
    power(check, folder, "replay")


def power_learner(check, folder):
    """The learner's host loses power and comes back; the run is resumed."""
    power(check, folder, "learner")


def stop(check, folder):
    """SIGTERM in every state: saved and gone, required within 2 s."""
    states = {
        "training": lambda system: None,
        "50 ms, 1 % loss": lambda system: [system.lab.shape(h, delay_ms=50, loss=0.01) for h in system.lab.hosts],
        "actor cut off": lambda system: system.lab.cut("a0"),
        "replay cut off": lambda system: system.lab.cut("replay"),
        "learner cut off": lambda system: system.lab.cut("learner"),
        "replay moved": lambda system: system.lab.move("replay"),
        "replay without power": lambda system: system.lab.power_cut("replay"),
        "actor without power": lambda system: system.lab.power_cut("a0"),
    }
    for number, (state, put) in enumerate(states.items()):
        with cluster.Cluster(BUILD, folder / str(number), actors=2, debug=True) as system:
            system.start(CARTPOLE, ENDLESS)
            system.training()
            say(state)
            put(system)
            time.sleep(1.0)  # peers redial, queues are full
            settle(check, system)


SCENARIOS = [plain, own_learner, slow, narrow, cut_actor, cut_replay, cut_learner, cut_one_way, moved_replay, moved_learner, power_actor,
             power_replay, power_learner, stop]


def begin(build):
    global BUILD
    BUILD = build


if __name__ == "__main__":
    sys.exit(main(__doc__, SCENARIOS, 1, begin))
