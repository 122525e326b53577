"""Programs of scenarios: whole systems that are started, harmed and looked at, one after the other. Each scenario is a
function with a docstring, has a folder of its own, and is heard of whatever happens to the others."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback

from daemons import in_time

SHOWN_LINES = 25  # of each log of a scenario that failed


def say(text):
    print(f"    {text}", flush=True)


class Checks:
    """Requirements of one scenario: all are looked at, then it fails if one did."""

    def __init__(self):
        self.failed = []

    def that(self, holds, text):
        say(("ok    " if holds else "FAIL  ") + text)
        if not holds:
            self.failed.append(text)

    def within(self, what, seconds, most_s):
        told = "never" if seconds is None else f"after {seconds:.2f} s"
        self.that(in_time(seconds, most_s), f"{what} {told} (required: {most_s:g} s)")


class Skipped(Exception):
    """A scenario cannot be played here, for the reason that it says."""


def play(scenario, world):
    """Whether it held ("skipped": it was not played); its logs are shown when not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="octet-test-"))
    check, begin = Checks(), time.monotonic()
    print(f"{scenario.__name__}: {scenario.__doc__}", flush=True)
    try:
        if world is None:
            scenario(check, folder)
        else:
            with world(folder) as made:
                scenario(check, made)
    except Skipped as why:
        say(f"SKIPPED: {why}")
        return "skipped"
    except Exception:  # the next scenarios are to be heard of as well
        check.failed.append("broke off")
        traceback.print_exc(file=sys.stdout)
    finally:
        if check.failed:
            for log in sorted(path for path in folder.rglob("*") if path.suffix == ".log" or path.parent.name == "log"):
                lines = [line for line in log.read_text(errors="replace").splitlines() if " D " not in line]
                print(f"--- {log.relative_to(folder)}", *lines[-SHOWN_LINES:], sep="\n")
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{scenario.__name__}: {'FAILED' if check.failed else 'passed'}, {time.monotonic() - begin:.1f} s", flush=True)
    return not check.failed


def broken_off(*_):
    sys.exit(1)  # through the finally clauses: nothing is left behind


def main(doc, scenarios, words, begin, world=None):
    """The exit code of a program whose first `words` arguments are begin's, as paths, and whose others name scenarios;
    without any all are played. world: a context manager, made of a folder, that scenarios get in place of the folder.
    The last line is "N passed, N failed, N skipped"; before it "again: NAME..." where some failed (script/test)."""
    names = {scenario.__name__: scenario for scenario in scenarios}
    given, chosen = sys.argv[1:1 + words], sys.argv[1 + words:]
    if len(given) < words or any(name not in names for name in chosen):
        print(f"{doc}\nscenarios: {' '.join(names)}", file=sys.stderr)
        return 2
    begin(*(pathlib.Path(os.path.abspath(path)) for path in given))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, broken_off)
    # Started in the background it has SIGINT ignored, and so would what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    played = list(chosen or names)
    held = [play(names[name], world) for name in played]
    passed, skipped = held.count(True), held.count("skipped")
    failed = [name for name, it_held in zip(played, held) if not it_held]
    if failed:
        print("again:", *failed)
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0
