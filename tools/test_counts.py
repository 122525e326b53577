#!/usr/bin/env python3
"""Adds up the results that `meson test` wrote down: "PASSED FAILED SKIPPED" on standard output, the
names of what failed on standard error. A second log is of those that ran again: theirs are the results that count.
usage: test_counts.py testlog.json [AGAIN.json]
       test_counts.py --failed testlog.json      the names of what failed, one on a line"""

import json
import sys

PASSED = ["OK", "EXPECTEDFAIL"]
SKIPPED = ["SKIP"]


def results(path):
    """What became of each test: a dictionary from its name."""
    with open(path, encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    return {test["name"]: test["result"] for test in tests}


def failed(of):
    return [name for name, result in of.items() if result not in PASSED + SKIPPED]


def main(args):
    if args[0] == "--failed":
        for name in failed(results(args[1])):
            print(name)
        return
    of = results(args[0])
    if len(args) > 1:
        of.update(results(args[1]))
    for name in failed(of):
        print(f"  {of[name]}: {name}", file=sys.stderr)
    counts = [len([result for result in of.values() if result in group]) for group in (PASSED, SKIPPED)]
    print(counts[0], len(failed(of)), counts[1])


if __name__ == "__main__":
    main(sys.argv[1:])
