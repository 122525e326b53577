#!/usr/bin/env python3
"""Faults into a live run, one run for each, and after each an audit by content. Started by script/test-chaos.

usage: chaos.py BUILD [--faults N] [--seed S] [--only KIND...] [--within SECONDS] [--report FILE] [--keep] [--list]

Fault number i is of kind i modulo the number of kinds, with seed S + i / the number of kinds; with --only the kinds are these
alone. So "--only KIND --seed SEED --faults 1" is one fault again.

A fault passes when nobody but who was killed has died, every actor's rows are acknowledged again and policies come again, all end
as they are told to, and the audit finds every acknowledged row once (tests/chaos/chaos_audit.h).
--within: the rate must be back to 90 % so many seconds after the fault was healed, in one of three tries; 0: it is not measured, as
on machines where others work. The last line is "N passed, N failed, N skipped".
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import chaos_kinds
import chaos_proxy
from chaos_system import Broken, System, Train
from daemons import certificates

RATE_S = 0.5
STEP_S = 0.05
WINDOW = 6  # steps
RECOVERY_MAX_S = 20
TRIES = 3 # of what is measured by the clock
TABLE = "| kind | seed | what happened | audited | missing, doubled, foreign | back to 90 % after | result |\n|---|---|---|---|---|---|---|\n"


def may_use_root():
    """Only in namespaces of our own, which script/test-chaos makes: rules and mounts would be the machine's otherwise."""
    return os.environ.get("OCTET_CHAOS_ROOT") == "1"


def recovery(system, before):
    """Seconds until the rate over WINDOW steps is 90 % of what it was; None: not in RECOVERY_MAX_S."""
    begin, rows = time.monotonic(), [system.acked()]
    while time.monotonic() - begin < RECOVERY_MAX_S:
        time.sleep(STEP_S)
        system.tend()
        rows.append(system.acked())
        if len(rows) > WINDOW and rows[-1] - rows[-1 - WINDOW] >= 0.9 * before * WINDOW * STEP_S:
            return time.monotonic() - begin - WINDOW * STEP_S
    return None


class Fault:
    def __init__(self, build, kind, seed, certs, within):
        self.build, self.kind, self.seed, self.within = build, kind, seed, within
        self.function, self.needs = chaos_kinds.KINDS[kind]
        self.certs = certs if self.needs.get("tls") else None
        self.what, self.numbers, self.back, self.wrong = "", {}, None, ""

    @contextlib.contextmanager
    def run(self, folder, rng):
        """The run that is to be disturbed, before its daemons start."""
        disk = folder
        with contextlib.ExitStack() as stack:
            if "disk_mb" in self.needs:
                disk = folder / "disk"
                disk.mkdir()
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.needs['disk_mb']}m", "tmpfs", disk], check=True)
                stack.callback(subprocess.run, ["umount", "--lazy", disk], check=True)
            sync = rng.choice(self.needs.get("syncs", ["interval"]))
            proxied = self.needs.get("proxied", False)
            system = stack.enter_context((Train if "train" in self.needs else System)(self.build, folder, self.certs, self.needs.get("settings", ()), sync, proxied, disk))
            if proxied:
                ports = {system.seen[name] + i: system.base + at + i for name, at, count in (("learner", 0, 1), ("replay", 3, 3))
                         for i in range(count)}
                system.proxy = stack.enter_context(chaos_proxy.Proxy(ports))
            system.expected.add(self.needs.get("may_end"))
            system.disk_fails = "kill" not in self.kind
            yield system

    def disturb(self, system, rng):
        if "first" in self.needs:
            self.needs["first"](system, rng, self.seed)
        system.start(*system.NAMES)
        before = 0
        if not ("first" in self.needs and self.seed % 2 == 0):
            system.goes_on()
        if self.has_rate():
            before = system.rate(RATE_S)
        self.what = self.function(system, rng, self.seed)
        if before > 0:
            self.back = recovery(system, before)
        try:
            system.goes_on()
        except Broken as broken:
            system.kill(*system.NAMES)
            system.audit()  # says more when it fails
            raise broken
        self.end(system, rng)

    def end(self, system, rng):
        """All end, at once or as they are told to; then what is in the file is compared with what was acknowledged."""
        names = list(system.NAMES)
        rng.shuffle(names)
        system.kill(*names, how=rng.choice([signal.SIGTERM, signal.SIGKILL]))
        system.lives_of_the_learner()
        system.weights_of_the_policy()
        try:
            self.numbers = system.audit()
            if self.numbers["acked"] == 0:
                raise Broken("nothing was acknowledged that could be audited")
        except Broken as broken:
            if not self.needs.get("lenient"):
                raise
            self.what += f"; unprotected: {str(broken).splitlines()[-1]}"

    def play(self, keep):
        rng = random.Random(f"{self.kind} {self.seed}")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-chaos-"))
        try:
            with self.run(folder, rng) as system:
                self.disturb(system, rng)
            if self.is_late():
                self.wrong = f"the rate was not back within {self.within:g} s"
        except AssertionError as wrong:
            self.wrong, self.within = str(wrong), 0
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-12:], sep="\n")
        finally:
            if keep and self.wrong:
                print(f"    kept: {folder}")
            else:
                shutil.rmtree(folder, ignore_errors=True)
        return not self.wrong

    def has_rate(self):
        """A fault from the start on has no rate before it."""
        return self.within > 0 and not ("first" in self.needs and self.seed % 2 == 0)

    def is_late(self):
        return self.has_rate() and (self.back is None or self.back > self.within)

    def row(self):
        bad = ", ".join(str(self.numbers.get(key, "-")) for key in ("missing", "doubled", "foreign"))
        back = "-" if self.back is None else f"{self.back:.1f} s"
        result = "passed" if not self.wrong else "FAILED: " + " ".join(self.wrong.split())[:300]
        return f"| {self.kind} | {self.seed} | {self.what} | {self.numbers.get('acked', '-')} | {bad} | {back} | {result} |\n"


def plan(faults, seed, only):
    """[(kind, seed)]"""
    kinds = only or list(chaos_kinds.KINDS)
    count = faults if faults is not None else len(kinds)
    return [(kinds[i % len(kinds)], seed + i // len(kinds)) for i in range(count)]


def played(build, kind, seed, certs, asked):
    """A fault whose rate comes back late is tried again: others may have had the machine."""
    for _ in range(TRIES):
        fault = Fault(build, kind, seed, certs, asked.within)
        passed = fault.play(asked.keep)
        if passed or not fault.is_late():
            break
    return fault, passed


def summary(done):
    """What was found, kind by kind."""
    lines = ["\n| kind | faults | passed | rows audited | back to 90 %: median, most |\n|---|---|---|---|---|\n"]
    for kind in chaos_kinds.KINDS:
        mine = [fault for fault in done if fault.kind == kind]
        backs = [fault.back for fault in mine if fault.back is not None]
        back = f"{statistics.median(backs):.1f} s, {max(backs):.1f} s" if backs else "-"
        if mine:
            lines.append(f"| {kind} | {len(mine)} | {sum(not f.wrong for f in mine)} |"
                         f" {sum(f.numbers.get('acked', 0) for f in mine)} | {back} |\n")
    return "".join(lines)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(chaos_kinds.KINDS), metavar="KIND")
    parser.add_argument("--within", type=float, default=5, metavar="SECONDS")
    parser.add_argument("--report", metavar="FILE")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    asked = options()
    if asked.list:
        print(*chaos_kinds.KINDS, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    done, skipped = [], 0
    with tempfile.TemporaryDirectory(prefix="octet-chaos-certs-") as place, contextlib.ExitStack() as stack:
        build = pathlib.Path(asked.build).resolve()
        certs = certificates(build / "cli/octet", pathlib.Path(place) / "certs", ("learner", "replay", "actor"))
        report = stack.enter_context(open(asked.report, "w", encoding="utf-8")) if asked.report else None
        if report:
            report.write(TABLE)
        for kind, seed in plan(asked.faults, asked.seed, asked.only):
            needs = chaos_kinds.KINDS[kind][1]
            if needs.get("root") and not may_use_root() or needs.get("memory") and chaos_kinds.memory_groups() is None:
                skipped += 1
                continue
            begin = time.monotonic()
            fault, passed = played(build, kind, seed, certs, asked)
            done.append(fault)
            print(f"{'' if passed else fault.wrong + chr(10)}{'ok  ' if passed else 'FAIL'} {kind} seed {seed},"
                  f" {time.monotonic() - begin:.1f} s: {fault.what}", flush=True)
            if report:
                report.write(fault.row())
                report.flush()
        if report:
            report.write(summary(done))
    print(summary(done))
    if skipped:
        print(f"NOT TRIED: {skipped} faults that need root and namespaces, or memory control groups, of their own")
    wrong = [fault.kind for fault in done if fault.wrong]
    if wrong:
        print("again: --only", *dict.fromkeys(wrong))
    print(f"{len(done) - len(wrong)} passed, {len(wrong)} failed, {skipped} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
