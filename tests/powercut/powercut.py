#!/usr/bin/env python3
"""Cuts the power of a virtual machine, and looks at what its disk has then. Started by script/test-powercut.

usage: powercut.py BUILD [--cuts N] [--seed S] [--only KIND...] [--report FILE] [--keep] [--list] [--without-sync] [--quick]

A life is a machine with a new disk, seeded by S, S + 1 and so on; lives follow one another until there were N cuts of each kind. Most cuts
are looked at without the machine: its disk is asked what a cut at this moment would leave (powercut_disk.py), so that one life has
many. At the last ones the machine is killed and started again, and all must go on.
--without-sync: fsync, fdatasync and msync do nothing in the machine; then this must fail.
--quick: without KVM the kinds that take minutes then are left out.
The last line is "N passed, N failed, N skipped", of cuts; before it "again: --only KIND..." where some failed.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "chaos"), str(HERE.parent / "support")]
os.environ.setdefault("OCTET_TEST_PATIENCE", "5")  # without KVM all is ten times as slow
import powercut_kinds  # noqa: E402
import powercut_machine  # noqa: E402

SKIPPED = 77


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def life(kind, seed, build, folder, asked, cuts):
    """Plays one; gives its kind's object, whose cuts are done."""
    rng = random.Random(f"{kind} {seed}")
    place = folder / f"{kind}-{seed}"
    place.mkdir()
    one = powercut_kinds.KINDS[kind](kind, seed, build, place, rng, asked.without_sync)
    try:
        one.play(cuts)
    except AssertionError as wrong:
        one.wrong = str(wrong)
    if one.wrong and asked.keep:
        print(f"    kept: {place}")
    else:
        shutil.rmtree(place, ignore_errors=True)
    return one


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(powercut_kinds.KINDS), metavar="KIND")
    parser.add_argument("--report", metavar="FILE")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without-sync", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def cut_all(kinds, folder, asked):
    """All cuts of each kind: how many passed, and the kind of each that did not."""
    passed, wrong, build = 0, [], pathlib.Path(asked.build).resolve()
    for kind in kinds:
        seed, begin, done = asked.seed, time.monotonic(), 0
        while done < asked.cuts:
            one = life(kind, seed, build, folder, asked, asked.cuts - done)
            passed += len(one.cuts)
            done += len(one.cuts) + bool(one.wrong)
            wrong += [kind] if one.wrong else []
            print(f"{one.wrong + chr(10) if one.wrong else ''}{'FAIL' if one.wrong else 'ok  '} {kind} seed {seed}, {plural(len(one.cuts), 'cut')},"
                  f" {time.monotonic() - begin:.0f} s: {one.summary()}", flush=True)
            if asked.report:
                with open(asked.report, "a", encoding="utf-8") as report:
                    report.writelines(one.rows())
            seed += 1
    return passed, wrong


def main():
    asked = options()
    if asked.list:
        print(*powercut_kinds.KINDS, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the machine ends with it
    why = powercut_machine.missing()
    if why:
        print(f"SKIPPED: no power was cut: {why}")
        return SKIPPED
    kinds = asked.only or list(powercut_kinds.KINDS)
    skipped = powercut_kinds.SLOW if asked.quick and powercut_machine.accelerator() != "kvm" else ()
    if skipped:
        print(f"SKIPPED: no power was cut of {' and '.join(skipped)}: they take minutes without KVM")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-powercut-"))
    print(f"machines by {powercut_machine.accelerator()}, {powercut_machine.kernel().name}", flush=True)
    try:
        passed, wrong = cut_all([kind for kind in kinds if kind not in skipped], folder, asked)
    finally:
        if not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if wrong:
        print("again: --only", *dict.fromkeys(wrong))
    print(f"{passed} passed, {len(wrong)} failed, {len(skipped) * asked.cuts} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
