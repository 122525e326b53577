#!/usr/bin/env python3
"""Adds up the results that `meson test` wrote down: "PASSED FAILED SKIPPED" on standard output, the
names of what failed on standard error. A second log is of those that ran again: theirs are the results that count.
What pytest, unittest or cmocka skipped inside a test, and what a test left out with a message, is skipped as well.
usage: test_counts.py testlog.json [AGAIN.json]
       test_counts.py --failed testlog.json      the names of what failed, one on a line
       test_counts.py --skipped testlog.json     why something was skipped, and where: a reason on a line"""

import collections
import json
import re
import sys

PASSED = ["OK", "EXPECTEDFAIL"]
SKIPPED = ["SKIP"]
# pytest -rs and tests/support/unittests.py: how many, where, why; cmocka: the name alone.
COUNTED = re.compile(r"^SKIPPED \[(\d+)\] .*?: (?:SKIPPED: )?(.*)$", re.MULTILINE)
NAMED = re.compile(r"^\[  SKIPPED \] (test_\w+)$", re.MULTILINE)
SAID = re.compile(r"^(?!SKIPPED \[).*?SKIPPED: (.*)$", re.MULTILINE)


def log_of(path):
    """Returns a dictionary from the name of each test to its result."""
    with open(path, encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    return {test["name"]: test for test in tests}


def failed(of):
    return [name for name, test in of.items() if test["result"] not in PASSED + SKIPPED]


def skips(test):
    """{reason: how many} of what a test did not do."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    found = collections.Counter()
    for count, reason in COUNTED.findall(text):
        found[reason] += int(count)
    for reason in {*NAMED.findall(text), *SAID.findall(text)}:
        found[reason] += 1
    return found


def skipped(of):
    """How many: a test that was skipped as a whole is one."""
    return sum(1 if test["result"] in SKIPPED else sum(skips(test).values()) for test in of.values())


def reasons(of):
    """{reason: [where, and how often]}"""
    found = {}
    for name, test in of.items():
        short, is_whole = name.split(" / ")[-1], test["result"] in SKIPPED
        for reason, count in (skips(test) or ({"no reason given": 1} if is_whole else {})).items():
            found.setdefault(reason, []).append(short if is_whole or count == 1 else f"{count} of {short}")
    return found


def main(args):
    if args[0] == "--failed":
        for name in failed(log_of(args[1])):
            print(name)
        return
    if args[0] == "--skipped":
        for reason, places in sorted(reasons(log_of(args[1])).items()):
            print(f"{reason} ({', '.join(places)})")
        return
    of = log_of(args[0])
    if len(args) > 1:
        of.update(log_of(args[1]))
    for name in failed(of):
        print(f"  {of[name]['result']}: {name}", file=sys.stderr)
    print(len([test for test in of.values() if test["result"] in PASSED]), len(failed(of)), skipped(of))


if __name__ == "__main__":
    main(sys.argv[1:])
