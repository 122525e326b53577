#!/usr/bin/env python3
"""Writes the files of a page as a C file that has their bytes (cli/dash/cli_dash_page.h).

usage: embed.py OUT.c LICENCE=FILE PATH=FILE…    LICENCE is put in front of the library's two files,
                                                 which are those of paths that begin with /dygraph"""

import base64
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
HEAD = """// Written by cli/dash/embed.py when Octet was built.
#include "cli/dash/cli_dash_page.h"

#include <string.h>

"""
FOOT = """
const cli_dash_file *
cli_dash_file_find(const char *path)
{
    for (size_t i = 0; i < cli_dash_file_count; i++) {
        if (strcmp(cli_dash_files[i].path, path) == 0) {
            return &cli_dash_files[i];
        }
    }
    return NULL;
}
"""


def numbers(data):
    return "\n".join(",".join(str(byte) for byte in data[at:at + 40]) + "," for at in range(0, len(data), 40))


def main(out, licence, *files):
    text, rows = HEAD, []
    notice = pathlib.Path(licence.partition("=")[2]).read_text(encoding="utf-8")
    for i, (path, _, name) in enumerate(file.partition("=") for file in files):
        data = pathlib.Path(name).read_bytes()
        if path.startswith("/dygraph"):
            data = b"/*!\n" + notice.encode() + b"*/\n" + data
        # It also stands within a page.
        if path != "/" and (b"</script" in data or b"</style" in data):
            sys.exit(f"embed: {name} cannot be part of a page")
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        text += f"static const unsigned char file_{i}[] = {{\n{numbers(data)}\n}};\n"
        kind = TYPES[pathlib.Path(name).suffix]
        rows.append(f'    {{"{path}", "{kind}", (const char *)file_{i}, sizeof(file_{i}), "\'sha256-{digest}\'"}},\n')
    text += "\nconst cli_dash_file cli_dash_files[] = {\n" + "".join(rows) + "};\n"
    text += f"const size_t cli_dash_file_count = {len(rows)};\n" + FOOT
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
