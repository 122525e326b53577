#!/usr/bin/env python3
"""A markdown table of line coverage, of what llvm-cov export -format=lcov writes, from standard input.

usage: coverage_table.py ROOT "FILE..." "FUNCTION..."     FILE: the rows, relative to ROOT; FUNCTION: is left out
"""

import pathlib
import sys


def lines_of(stream):
    """{file: ({line: how often}, {function: its first line})}"""
    files, at = {}, None
    for row in stream:
        kind, _, rest = row.strip().partition(":")
        if kind == "SF":
            at = files.setdefault(pathlib.Path(rest).resolve(), ({}, {}))
        elif kind == "FN":
            line, name = rest.split(",")
            at[1][name.split(":")[-1]] = int(line)
        elif kind == "DA":
            line, count = map(int, rest.split(",")[:2])
            at[0][line] = max(count, at[0].get(line, 0))
    return files


def main():
    root, names, left_out = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2].split(), sys.argv[3].split()
    files = lines_of(sys.stdin)
    print("| decoder | lines | reached | |\n|---|---|---|---|")
    all_lines = all_reached = 0
    for name in names:
        lines, functions = files.get(root / name, ({}, {}))
        text = (root / name).read_text(encoding="utf-8").splitlines()
        for function in set(functions) & set(left_out):
            first = functions[function]
            last = text.index("}", first) + 1  # alone at the left: the function's end
            lines = {n: c for n, c in lines.items() if not first <= n <= last}
        reached = sum(c > 0 for c in lines.values())
        all_lines, all_reached = all_lines + len(lines), all_reached + reached
        print(f"| {name} | {len(lines)} | {reached} | {100 * reached / max(len(lines), 1):.1f} % |")
    print(f"| all | {all_lines} | {all_reached} | {100 * all_reached / max(all_lines, 1):.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
