#!/usr/bin/env python3
"""Adds up the results that `meson test` wrote down: "PASSED FAILED SKIPPED" on standard output, the
names of what failed on standard error. usage: test_counts.py testlog.json"""

import json
import sys

PASSED = ["OK", "EXPECTEDFAIL"]
SKIPPED = ["SKIP"]


def main(path):
    passed = failed = skipped = 0
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            if test["result"] in PASSED:
                passed += 1
            elif test["result"] in SKIPPED:
                skipped += 1
            else:
                failed += 1
                print(f"  {test['result']}: {test['name']}", file=sys.stderr)
    print(passed, failed, skipped)


if __name__ == "__main__":
    main(sys.argv[1])
