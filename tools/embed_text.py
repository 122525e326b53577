#!/usr/bin/env python3
"""Writes text files as a C file with a function that returns the text of a file by its name, or NULL.

usage: embed_text.py OUT.c HEADER FUNCTION NAME=FILE...    HEADER declares FUNCTION: const char *FUNCTION(const char *name)

Files of one name make one text, in their order. The texts are arrays of numbers, because a C string has a length limit."""

import pathlib
import sys


def main(out, header, function, *files):
    lines = [f'#include "{header}"\n\n#include <string.h>\n']
    texts = {}
    for name, _, path in (file.partition("=") for file in files):
        texts[name] = texts.get(name, b"") + pathlib.Path(path).read_bytes()
    for i, content in enumerate(texts.values()):
        numbers = ",".join(map(str, content))
        lines.append(f"static const char text_{i}[] = {{{numbers},0}};")
    lines.append(f"\nconst char *\n{function}(const char *name)\n{{")
    lines += [f'    if (strcmp(name, "{name}") == 0) {{\n        return text_{i};\n    }}' for i, name in enumerate(texts)]
    lines.append("    return NULL;\n}\n")
    pathlib.Path(out).write_text("\n".join(lines), encoding="utf-8")


main(*sys.argv[1:])
