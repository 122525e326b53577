#!/usr/bin/env python3
"""A markdown table of line coverage: what llvm-cov export -summary-only writes, from standard input.

usage: coverage_table.py ROOT FILE...     FILE: the rows, relative to ROOT
"""

import json
import pathlib
import sys


def main():
    root, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    files = {f["filename"]: f["summary"]["lines"] for f in json.load(sys.stdin)["data"][0]["files"]}
    print("| decoder | lines | reached | |\n|---|---|---|---|")
    count = covered = 0
    for name in names:
        lines = files.get(str(root / name), {"count": 0, "covered": 0, "percent": 0.0})
        print(f"| {name} | {lines['count']} | {lines['covered']} | {lines['percent']:.1f} % |")
        count, covered = count + lines["count"], covered + lines["covered"]
    print(f"| all | {count} | {covered} | {100 * covered / max(count, 1):.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
