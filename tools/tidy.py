#!/usr/bin/env python3
"""Checks of form that the compiler cannot make: who may include whom, where foreign headers live,
lengths, banned calls, unique names. Runs as a test; exits 1 if untidy."""

import pathlib
import re
import sys

DAEMONS = ["actor", "replay", "learner"]

# A folder may include itself and the folders listed for it: nothing else.
MAY_INCLUDE = {
    "common": [],
    "proto": ["common"],
    "net": ["common"],
    "policy": ["common"],
    "envs": ["common"],
    "nn": ["common", "policy"],
    "algos": ["common", "policy", "nn"],
    "quantizer": ["common", "policy", "nn", "proto", "net"],
    "replay": ["common", "proto", "net"],
    "actor": ["common", "policy", "envs", "proto", "net"],
    "learner": ["common", "policy", "nn", "algos", "quantizer", "proto", "net"],
    "cli": ["common", "policy", "envs", "nn", "algos", "quantizer", "replay", "actor", "proto", "net"],
}
PUBLIC = "include"  # include/octet/*.h: everybody may include them
FREE = ["tests", "bench", "tools"]

# In a daemon folder only the shell touches the network; the rest is testable without it.
SHELL = re.compile(r"_(main|io)\.[ch]$")

# A foreign header is named in one place.
HOME = {
    r"<nng/": "net/",
    r"<uv\.h>": "net/",
    r"<cblas\.h>": "nn/nn_gemm.c",
    r"\.pb-c\.h": "proto/",
    r"<protobuf-c/": "proto/",
    r"<yaml\.h>": "common/oct_config",
    r"<mujoco/": "envs/dmc/",
}
BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atof)\s*\(": "unbounded or unchecked",
    r"\b(rand|srand|random)\s*\(": "take an oct_rng argument",
    r"\bFIXME\b": "finish it before merging",
    r"#\s*pragma once": "use an include guard",
}
FILE_LINES_MAX = {".c": 800, ".h": 320}
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100


def check_includes(rel, line):
    include = re.match(r'\s*#\s*include\s+(["<][^">]+[">])', line)
    if not include:
        return
    header, folder = include[1], rel.parts[0]
    for pattern, home in HOME.items():
        if re.search(pattern, header) and not str(rel).startswith(home):
            yield f"{header} belongs only in {home}"
    if not header.startswith('"') or header.endswith('.pb-c.h"'):
        return
    target = header[1:].split("/")[0] if "/" in header else None
    if target in (None, ".", ".."):
        yield "include by path from the root"
    elif target == PUBLIC:
        return
    elif target != folder and target not in MAY_INCLUDE[folder]:
        yield f"{folder}/ may not include {target}/"
    elif target == "net" and folder in DAEMONS and not SHELL.search(rel.name):
        yield "only *_main.c and *_io.[ch] may include net/"


def check(rel, lines):
    free = rel.parts[0] in FREE
    if len(lines) > FILE_LINES_MAX[rel.suffix]:
        yield len(lines), f"file has more than {FILE_LINES_MAX[rel.suffix]} lines"
    opened = None
    for n, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield n, f"more than {COLUMNS_MAX} columns"
        if line == "{":
            opened = n
        if line == "}" and opened:
            if n - opened + 1 > FUNCTION_LINES_MAX:
                yield opened, f"function has more than {FUNCTION_LINES_MAX} lines"
            opened = None
        if not free:
            for pattern, why in BANNED.items():
                if re.search(pattern, line):
                    yield n, f"banned: {why}"
            for what in check_includes(rel, line):
                yield n, what


def main(root):
    root = pathlib.Path(root)
    errors, names = 0, {}
    for folder in [*MAY_INCLUDE, *FREE]:
        for path in sorted((root / folder).rglob("*.[ch]")):
            rel = path.relative_to(root)
            for n, what in check(rel, path.read_text(encoding="utf-8").splitlines()):
                print(f"{rel}:{n}: {what}")
                errors += 1
            if names.setdefault(rel.name, rel) != rel:
                print(f"{rel}:1: {names[rel.name]} has the same file name")
                errors += 1
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
