#!/usr/bin/env python3
"""A library or module exports the symbols that its map lists, each with its version if it has one, and nothing else; its
headers declare each of them.

usage: test_liboctet_symbols.py ROOT LIBRARY MAP HEADER...      HEADER: from ROOT"""

import pathlib
import re
import subprocess
import sys


def main(root, library, versions, *names):
    text = pathlib.Path(versions).read_text(encoding="utf-8")
    listed = {f"{name}@@{version}" if version else name
              for version, body in re.findall(r"^(?:(\w+) )?\{(.*?)^\}", text, re.M | re.S)
              for name in re.findall(r"\b(octet_\w+);", body)}
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    exported = {line.split()[2] for line in lines if line.split()[1] != "A"}
    wrong = [f"not exported: {name}" for name in sorted(listed - exported)]
    wrong += [f"not listed: {name}" for name in sorted(exported - listed)]
    headers = "".join((root / name).read_text(encoding="utf-8") for name in names)
    declared = set(re.findall(r"^(?!typedef)[^\s*/].*?\b(octet_\w+)\(", headers, re.M))
    wrong += [f"not declared: {name}" for name in sorted({name.split("@@")[0] for name in listed} - declared)]
    wrong += [f"declared and not listed: {name}" for name in sorted(declared - {name.split("@@")[0] for name in listed})]
    print("\n".join(wrong) or f"{len(listed)} symbols")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
