#!/usr/bin/env python3
"""Cuts C headers into their parts and writes the parts as a table of C strings.

usage: export_parts.py OUT.c HEADER...

A part is a function or a struct between empty lines, with the comment above it and an #ifdef around it, or one #define with
its comment. The part has the name of the function, the struct or the macro. Includes, guards and separate comments are left
out. export_c99.c requests parts by name.
"""

import pathlib
import re
import sys


def parts(text):
    depth, block = 0, []
    for line in [*text.splitlines(), ""]:
        if line.strip() == "" and depth == 0:
            if block:
                yield block
            block = []
            continue
        block.append(line)
        code = line.split("//")[0]
        depth += code.count("{") - code.count("}")
        if code.startswith("#define"):
            yield block
            block = []


def name_of(block):
    """Returns None for a part that no exported header has."""
    code = [line for line in block if not line.lstrip().startswith("//") and not re.match(r"#if(n)?def POLICY_\w+(?<!_H)$", line)]
    if not code or re.match(r"#\s*(include|ifndef|endif)", code[0]):
        return None
    for pattern in (r"#define (\w+)", r"typedef struct (\w+)"):
        match = re.match(pattern, code[0])
        if match:
            return match[1]
    match = re.match(r"(\w+)\(", code[1])
    if not code[0].startswith("static ") or not match:
        sys.exit(f"export_parts.py: neither a function nor macros nor a struct: {code[0]}")
    return match[1]


def quoted(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main(out, *headers):
    rows = {}
    for header in headers:
        for block in parts(pathlib.Path(header).read_text(encoding="utf-8")):
            name = name_of(block)
            if name is not None:
                rows[name] = "\n".join(quoted(line) for line in block)
    text = ["// Made by export_parts.py of " +
            " and ".join(pathlib.Path(header).name for header in headers) + ".",
            '#include "policy/export/export_parts.h"', "", "const export_part export_parts[] = {"]
    text += [f'    {{"{name}",\n{body}}},' for name, body in rows.items()]
    text += ["};", "", f"const size_t export_parts_count = {len(rows)};", ""]
    pathlib.Path(out).write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
