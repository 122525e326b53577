#!/usr/bin/env python3
"""Writes the manual pages of all commands and daemons, from what they print with --help.

usage: man_pages.py OUTPUT ROOT DOCUMENTS VERSION PROGRAM...

OUTPUT     the folder to write, such as man1; what was in it is removed
ROOT       the sources: exit codes, files and variables are the tables of docs/
DOCUMENTS  where docs/ is installed
PROGRAM    octet and the daemons, built

A command of a family (octet env check) has a page of its own (octet-env-check.1). The pages bear the date of
$SOURCE_DATE_EPOCH, or none.
"""

import concurrent.futures
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

HELP_WIDTH = 100000  # each description on one line
LINE_WIDTH = 78
USAGE = re.compile(r"^(?:Usage|  or): +(.*)")
COMMAND = re.compile(r"^  ([a-z0-9]+) +(\S.*)$")
OPTION = re.compile(r"^ {2,6}((?:-\S, )?--\S+)(?: +(.*))?$")
FAMILY_TAIL = re.compile(r"^  octet .*--(?:help|version) ")
EXAMPLES = re.compile(r"^Examples?:$")  # each on a line of its own, indented, up to an empty line
CELL = re.compile(r"(?<!\\)\|")
PLAIN_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+[.,;:)]*")


class Page:
    """What one --help says: usage lines, commands (of a family), paragraphs, options, examples."""

    def __init__(self, name, text, summary):
        self.name, self.usage, self.about, self.commands, self.options, self.notes, self.examples = name, [], [], [], [], [], []
        self.is_in_examples = False
        for line in text.splitlines():
            self.take(line)
        self.about = " ".join(self.about)
        self.summary = summary or self.about[:1].lower() + self.about[1:].partition(". ")[0].rstrip(".")

    def take(self, line):
        if self.is_in_examples and line.startswith("  "):
            self.examples.append(line.strip())
            return
        self.is_in_examples = EXAMPLES.match(line) is not None
        usage, option, command = USAGE.match(line), OPTION.match(line), COMMAND.match(line)
        if usage:
            self.usage.append(usage[1].strip())
        elif option:
            self.options.append((option[1], option[2] or ""))
        elif line and self.options and not self.options[-1][1]:  # behind a long value argp begins a line
            self.options[-1] = (self.options[-1][0], line.strip())
        elif self.is_in_examples or FAMILY_TAIL.match(line):
            pass
        elif command:
            self.commands.append(command.groups())
        elif line and not self.options and not self.commands:
            self.about.append(line)
        else:
            self.take_note(line)

    def take_note(self, line):
        if line.startswith("Start here: "):
            self.examples.append(line.partition(": ")[2])
        elif line and not line.startswith("Mandatory or optional arguments"):
            self.notes.append(line)


def help_of(program, words):
    environment = {**os.environ, "LC_ALL": "C", "ARGP_HELP_FMT": f"rmargin={HELP_WIDTH}"}
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, encoding="utf-8", check=True, timeout=60,
                          env=environment, stdin=subprocess.DEVNULL).stdout


def pages_of(program, words=(), summary=None):
    """The page of a program or command, then those of its commands."""
    name = " ".join([program.name, *words])
    page = Page(name, help_of(program, words), summary)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        below = pool.map(lambda command: pages_of(program, (*words, command[0]), command[1]), page.commands)
        return [page, *(found for pages in below for found in pages)]


# ---- tables of docs/

def section(root, path, heading):
    text = (root / path).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    return found[1]


def table(root, path, heading):
    """The cells of the first table below a heading, its head first and without the line below that."""
    lines = re.search(r"(?:^\|.*\n)+", section(root, path, heading), re.M)[0].splitlines()
    rows = [[cell.strip().replace("\\|", "|") for cell in CELL.split(line.strip()[1:-1])] for line in lines]
    return [rows[0], *rows[2:]]


def plain(text):
    """Returns Markdown as text, without marks. A link becomes its text, or nothing in parentheses or after a colon at the end."""
    text = re.sub(r" \(\[[^\]]*\]\([^)]*\)\)|: \[[^\]]*\]\([^)]*\)$", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("**", "")


def exit_codes(root, name):
    """(code, meaning) of a program or command."""
    head, *rows = table(root, "docs/reference.md", "Exit codes")
    rows = {row[0]: row[1:] for row in rows}
    return [(code, plain(text)) for code, text in zip(head[1:], rows.get(name, rows["other commands"])) if text]


# ---- roff

def escaped(text):
    text = text.replace("\\", "\\e")
    return "".join(letter if ord(letter) < 128 else f"\\[u{ord(letter):04X}]" for letter in text)


def prose(text):
    """What may be copied has minus signs; words with a hyphen have hyphens."""
    words = [word if PLAIN_WORD.fullmatch(word) else word.replace("-", "\\-") for word in escaped(text).split()]
    lines = textwrap.wrap(" ".join(words), LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line for line in lines)


def code(text):
    return ("\\&" if text[:1] in (".", "'") else "") + escaped(text).replace("-", "\\-")


def option_tag(text):
    """-i, --index=N with the names in bold and the value in italics."""
    names, separator, value = text.partition("=")
    optional = names.endswith("[")
    bold = ", ".join(f"\\fB{code(name)}\\fR" for name in names.rstrip("[").split(", "))
    return f"{bold}{'[' if optional else ''}{separator}" + (f"\\fI{code(value.rstrip(']'))}\\fR{']' if optional else ''}" if value else "")


def tagged(tag, text):
    return [".TP", tag, prose(text)]


def reference_to(name):
    return f".BR {code(name.replace(' ', '-'))} (1)"


def synopsis(usage, name):
    return f"\\fB{code(name)}\\fR {prose(usage.removeprefix(name))}"


def body(page, root):
    """Sections as (heading, lines)."""
    usage = [synopsis(line, page.name) for line in page.usage]
    yield "SYNOPSIS", [line for found in usage for line in (found, ".br")][:-1]
    yield "DESCRIPTION", [prose(page.about), *(line for note in page.notes for line in (".PP", prose(note)))]
    yield "COMMANDS", [line for name, text in page.commands
                       for line in (".TP", reference_to(f"{page.name} {name}"), prose(text))]
    yield "OPTIONS", [line for tag, text in page.options for line in tagged(option_tag(tag), text)]
    yield "EXIT STATUS", [line for number, text in exit_codes(root, page.name) for line in tagged(f"\\fB{number}\\fR", text)]
    if page.name == "octet train":
        rows = table(root, "docs/reference.md", "The run folder")[1:]
        yield "FILES", ["The run folder has:", *(line for name, text in rows for line in tagged(code(plain(name)), plain(text)))]
    if page.name == "octet":
        rows = table(root, "docs/reference.md", "Environment variables")[1:]
        yield "ENVIRONMENT", [line for name, text in rows for line in tagged(code(plain(name)), plain(text))]
    yield "EXAMPLES", [line for example in page.examples for line in (".PP", ".RS", ".nf", code(example), ".fi", ".RE")][1:]


def page_write(folder, page, root, documents, version, programs):
    name = page.name.replace(" ", "-")
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%d") if epoch else ""
    lines = [f'.TH {code(name.upper())} 1 "{date}" "Octet {version}" "Octet"', ".SH NAME", f"{code(name)} \\- {prose(page.summary)}"]
    for heading, content in body(page, root):
        if content:
            lines += [f'.SH {heading}', *content]
    parent = page.name.rpartition(" ")[0]
    others = [parent] if parent else [program.name for program in programs if program.name != page.name]
    lines += [".SH SEE ALSO", *(reference_to(other) + "," for other in others[:-1]), reference_to(others[-1]), ".PP",
              prose(f"The documentation is in {documents}; index.md lists its pages.")]
    (folder / f"{name}.1").write_text("\n".join(lines) + "\n", encoding="ascii")


def main(output, root, documents, version, *programs):
    folder, root = pathlib.Path(output), pathlib.Path(root)
    programs = [pathlib.Path(program) for program in programs]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for program in programs:
        for page in pages_of(program.resolve()):
            page_write(folder, page, root, documents, version, programs)


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
