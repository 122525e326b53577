#!/usr/bin/env python3
"""Certificates of a live run: another authority, revocations whose list is lost, keys that others can read, one that misbehaves.

usage: certificates.py BUILD TEST      BUILD: a build folder. TEST: the name of a function test_… below.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from attack import LEARNER, REGISTER, STOP, field, forged_batch, header, message, registration, request, stranger  # noqa: E402
from daemons import HOME, certificates, run_named, wait_for  # noqa: E402
from hostile import BUILD, CARTPOLE, running, updates  # noqa: E402

DAEMONS = ("replay", "learner", "actor", "evaluator")
SOURCE = "127.0.0.9"  # of strangers
FAILURES = 256  # of a certificate, docs/internals/gate.md


def replace(path, content, mode=0o600):
    """As a program that copies and renames."""
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.rename(path)


def visitor(system, certificate="attacker", source=SOURCE):
    return stranger(HOME, {}, source, system.folder / "certs" / certificate)


def is_let_in(system, certificate="attacker"):
    """Whether somebody with that certificate may connect to the learner."""
    try:
        visitor(system, certificate).connect("learner", system.ports["learner"]).close()
    except OSError:
        return False
    return True


def is_closed(peer):
    """Waits for what the other side says or does next."""
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


def lines(system, identity, names=DAEMONS):
    return {name: len(system.said(name, identity)) for name in names}


def take_up(system, change, names=DAEMONS):
    """change(folder) of each daemon's certificates, and waits until each has loaded what is there now."""
    before = lines(system, "NET-TLS-NEW", names)
    for name in names:
        change(system.certs / name, name)
    wait_for("the daemons to take it up", lambda: all(now > before[name] for name, now in lines(system, "NET-TLS-NEW", names).items()),
             numbers=lambda: lines(system, "NET-TLS-NEW", names))


def goes_on(system):
    """Whether it trains on, with the processes that it had, and a new actor gets in."""
    before = updates(system, "learner")
    wait_for("training to go on", lambda: updates(system, "learner") > before + 1000)
    assert not set(system.dead()) & set(DAEMONS)
    assert len(system.said("replay", "REPLAY-CONFIGURED")) == 1  # with the table that it had
    assert system.another() is not None


def test_another_authority_takes_over_in_mid_run():
    """As docs/security.md says: nobody restarts, and with the old authority its certificates and their connections are gone."""
    with running(insecure=False) as system:
        other = certificates(BUILD / "cli/octet", system.folder / "other", DAEMONS)
        old = {name: (system.certs / "learner" / name).read_bytes() for name in ("ca.crt", "crl.pem")}
        new = {name: (other / "learner" / name).read_bytes() for name in ("ca.crt", "crl.pem")}

        def both(folder, _):
            replace(folder / "crl.pem", old["crl.pem"] + new["crl.pem"])
            replace(folder / "ca.crt", old["ca.crt"] + new["ca.crt"])

        def renew(folder, name):
            for file in ("node.key", "node.crt"):
                replace(folder / file, (other / name / file).read_bytes())

        def drop(folder, _):
            replace(folder / "ca.crt", new["ca.crt"])
            replace(folder / "crl.pem", new["crl.pem"])
        take_up(system, both)
        assert is_let_in(system)
        goes_on(system)
        take_up(system, renew)
        with contextlib.closing(visitor(system).connect("learner", system.ports["learner"])) as peer:
            goes_on(system)
            take_up(system, drop)
            assert is_closed(peer)  # its certificate is of the authority that nobody trusts any more
        assert not is_let_in(system)
        goes_on(system)
        trusted = [line["certificate"] for line in system.said("learner", "LEARNER-JOINED")]
        assert trusted.count('"actor"') >= 4, trusted


def test_a_revocation_outlives_its_list():
    """It takes effect on open connections, without a restart; a list that is removed un-revokes nobody."""
    with running(insecure=False) as system, contextlib.closing(
            visitor(system).connect("learner", system.ports["learner"])) as peer:
        before = lines(system, "NET-TLS-NEW")
        subprocess.run([BUILD / "cli/octet", "certs", "revoke", "attacker", "--dir", system.certs], check=True, capture_output=True)
        assert is_closed(peer) and not is_let_in(system)
        wait_for("all to know it", lambda: all(now > before[name] for name, now in lines(system, "NET-TLS-NEW").items()))
        for name in DAEMONS:
            (system.certs / name / "crl.pem").unlink()
        wait_for("them to keep the list", lambda: all(lines(system, "NET-TLS-LIST-KEPT").values()))
        assert not is_let_in(system)
        goes_on(system)


def test_keys_that_others_can_read_are_refused():
    """At the start, and as news of a daemon that runs, which keeps what it has."""
    with running(insecure=False) as system:
        commands = {"replay": ["replay/octet-replay", "--listen", f"tls+tcp://{HOME}:{system.base + 18}"],
                    "learner": ["learner/octet-learner", CARTPOLE, "--run-dir", system.folder / "second",
                                "--set", f"net.learner=tls+tcp://{HOME}:{system.base + 16}", "--set", f"net.replay={system.replay}"],
                    "actor": ["actor/octet-actor", "--learner", system.learner]}
        for name, (program, *arguments) in commands.items():
            key = system.certs / name / "node.key"
            replace(key, key.read_bytes(), 0o644)
            done = subprocess.run([BUILD / program, *arguments, "--tls", system.certs / name], capture_output=True, text=True,
                                  check=False, timeout=60)
            assert done.returncode != 0 and f"other users can read this key (mode 0644): chmod 600 {key}" in done.stderr, done
        wait_for("those that run to keep theirs", lambda: all(lines(system, "NET-TLS-KEPT", commands).values()))
        for name in commands:
            (system.certs / name / "node.key").chmod(0o600)
        goes_on(system)


def test_failures_of_a_certificate_are_its_own():
    """One that has failed too often is not heard, from wherever it comes; others at its address are."""
    with running(insecure=False) as system:
        def overflowed():
            return system.number("learner", 'octet_gate_closed_total{reason="overflowed"}')

        def fail():
            """The handshake is right, what follows is not."""
            with contextlib.suppress(OSError), visitor(system, source=HOME).tls(system.ports["learner"]) as peer:
                peer.sendall(header(0x70))
                is_closed(peer)
        def fails_too_often():
            for _ in range(FAILURES // 8):  # 16 are forgiven each second
                fail()
            return overflowed() > before
        before = overflowed()
        wait_for("it to be turned away", fails_too_often)
        wait_for("it to be so from elsewhere", lambda: fail() or not is_let_in(system))
        assert system.another() is not None  # from HOME, as the failures
        assert lines(system, "ACTOR-LEARNER-LOST", ["actor", "evaluator"]) == {"actor": 0, "evaluator": 0}


def test_the_first_forged_batch_closes_its_connection():
    with running(insecure=False) as system:
        def refused():
            return system.number("replay", 'octet_replay_rejected_total{reason="unregistered"}')
        with contextlib.closing(visitor(system).connect("batches", system.ports["batches"])) as peer:
            peer.sendall(message(forged_batch()))
            assert is_closed(peer)
        assert refused() == 1
        goes_on(system)


def test_the_log_names_the_certificate_that_misbehaves():
    """It is what to revoke. A peer's host is quoted: no field of a line can be forged by it."""
    with running(insecure=False) as system:
        peer = visitor(system)
        with contextlib.closing(peer.connect("batches", system.ports["batches"])) as sender:
            sender.sendall(message(forged_batch()))
            assert is_closed(sender)
        with contextlib.closing(peer.connect("learner", system.ports["learner"])) as caller:
            peer.exchange(caller, request(LEARNER, STOP))
            peer.exchange(caller, request(LEARNER, REGISTER, registration() + field(3, b"x pid=1 certificate=learner")))
            got = peer.exchange(caller, request(LEARNER, REGISTER, registration() + field(3, b'x" certificate="learner')))
        assert got[16:] == b"bad request: register.host: a quotation mark", got
        for name, identity in (("replay", "REPLAY-BAD-TOKEN"), ("replay", "NET-GATE-REFUSED"), ("learner", "LEARNER-BAD-REQUEST")):
            said = system.said(name, identity)
            assert [line["certificate"] for line in said] == ['"attacker"'], (identity, said)
        joined = system.said("learner", "LEARNER-JOINED")[-1]
        assert (joined["host"], joined["certificate"]) == ('"x pid=1 certificate=learner"', '"attacker"'), joined


if __name__ == "__main__":
    sys.exit(run_named(globals()))
