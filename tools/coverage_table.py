#!/usr/bin/env python3
"""Prints a Markdown table of line coverage, from the output of llvm-cov export -format=lcov on standard input.

usage: coverage_table.py ROOT "FILE..." "FUNCTION..."     FILE: the rows, relative to ROOT; FILE:FUNCTION+... only
these functions of the file; FUNCTION: is left out
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


def lines_within(lines, text, functions):
    """Those of lines that belong to the functions, which are given by their first lines."""
    kept = {}
    for first in functions:
        last = text.index("}", first) + 1  # alone at the left: the function's end
        kept.update({n: c for n, c in lines.items() if first <= n <= last})
    return kept


def main():
    root, names, left_out = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2].split(), sys.argv[3].split()
    files = lines_of(sys.stdin)
    print("| decoder | lines | reached | |\n|---|---|---|---|")
    all_lines = all_reached = 0
    for name in names:
        path, _, only = name.partition(":")
        lines, functions = files.get(root / path, ({}, {}))
        text = (root / path).read_text(encoding="utf-8").splitlines()
        if only:
            lines = lines_within(lines, text, [functions[function] for function in only.split("+")])
        for n in lines_within(lines, text, [functions[f] for f in set(functions) & set(left_out)]):
            del lines[n]
        reached = sum(c > 0 for c in lines.values())
        all_lines, all_reached = all_lines + len(lines), all_reached + reached
        print(f"| {name} | {len(lines)} | {reached} | {100 * reached / max(len(lines), 1):.1f} % |")
    print(f"| all | {all_lines} | {all_reached} | {100 * all_reached / max(all_lines, 1):.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
