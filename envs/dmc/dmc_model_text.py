#!/usr/bin/env python3
"""Writes the MJCF files as a C file with dmc_model_text, as numbers: a C string has a length limit.

usage: dmc_model_text.py OUT.c MODEL.xml...
"""

import pathlib
import sys

HEAD = """#include "envs/dmc/dmc_task.h"

#include <string.h>
"""
TAIL = """
const char *
dmc_model_text(const char *name)
{
    for (const struct model *model = models; model->name != NULL; model++) {
        if (strcmp(model->name, name) == 0) {
            return model->text;
        }
    }
    return NULL;
}
"""


def main():
    out, paths = pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]]
    lines = [HEAD]
    for path in paths:
        text = ",".join(str(byte) for byte in path.read_bytes())
        lines.append(f"static const char model_{path.stem}[] = {{{text},0}};")
    lines.append("static const struct model {\n    const char *name, *text;\n} models[] = {")
    lines += [f'    {{"{path.stem}", model_{path.stem}}},' for path in paths]
    lines += ["    {NULL, NULL},\n};", TAIL]
    out.write_text("\n".join(lines))


main()
