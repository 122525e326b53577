#!/usr/bin/env python3
"""Writes the tables of docs/reference.md that are made of the registries of numbers (common/oct_numbers.h).

usage: reference.py ROOT PRINT_NUMBERS           prints the page as it should be
       reference.py ROOT PRINT_NUMBERS --write   writes it

PRINT_NUMBERS is tools/print_numbers.c, built. A table stands between two lines, <!-- numbers: PREFIX --> and
<!-- end -->. With <!-- numbers: PREFIX csv --> it has the columns of metrics.csv alone, and with
<!-- numbers: PREFIX other --> all other numbers. tools/check_docs.py compares the page with the sources.
"""

import pathlib
import re
import subprocess
import sys

PAGE = "docs/reference.md"
MARKED = re.compile(r"(<!-- numbers: (\w+)(?: (csv|other))? -->\n).*?(<!-- end -->)", re.S)
KEYS = re.compile(r"(?<![`\w])((?:run|env|actor|algo|network|replay|learner|policy|evaluation|net)\.[a-z_]+)")
FIELDS = ["prefix", "name", "unit", "kind", "shown", "family", "label", "value", "help", "over"]


def rows(print_numbers):
    """Every row as a dictionary, in the registry's order."""
    text = subprocess.run([print_numbers], capture_output=True, text=True, check=True, timeout=60).stdout
    return [dict(zip(FIELDS, line.split("\t"))) for line in text.splitlines()]


def families(found):
    """{family: kind} of all rows that Prometheus gets."""
    return {row["family"]: row["kind"] for row in found if row["family"]}


def merged(found):
    """Neighbours that differ in name and label alone are one line: [rows]."""
    groups = []
    for row in found:
        last = groups[-1][-1] if groups else None
        if last and all(last[key] == row[key] for key in ("unit", "kind", "shown", "family", "label", "help", "over")):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def line(group):
    first = group[0]
    names = []
    if first["shown"]:
        names.append("` … `".join(dict.fromkeys(row["name"] for row in (first, group[-1]))))
    if first["family"]:
        values = ",".join(row["value"] for row in group)
        names.append(first["family"] + (f'{{{first["label"]}="{values}"}}' if first["label"] else ""))
    text = KEYS.sub(r"`\1`", first["help"]).replace("|", "\\|")
    return f"| {'<br>'.join(f'`{name}`' for name in names)} | {first['unit']} | {text} |"


def table(found, prefix, part):
    mine = [row for row in found if row["prefix"] == prefix + "."]
    if part:
        mine = [row for row in mine if ("csv" in row["shown"].split(",")) == (part == "csv")]
    return "| number | unit | meaning |\n|---|---|---|\n" + "".join(line(group) + "\n" for group in merged(mine))


def page(root, print_numbers):
    """The page with tables of today."""
    found = rows(print_numbers)
    text = (root / PAGE).read_text(encoding="utf-8")
    return MARKED.sub(lambda match: match[1] + table(found, match[2], match[3]) + match[4], text)


def main(arguments):
    write = arguments[2:] == ["--write"]
    if len(arguments) != 2 and not write:
        print(__doc__)
        return 2
    root = pathlib.Path(arguments[0]).resolve()
    text = page(root, pathlib.Path(arguments[1]).resolve())
    if write:
        (root / PAGE).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
