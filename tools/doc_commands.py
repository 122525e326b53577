#!/usr/bin/env python3
"""Has Octet's own option parsers read every command line of the documentation. Runs as a test; trains nothing.

usage: doc_commands.py ROOT OCTET BUILD     OCTET is the octet executable, BUILD the folder in which the daemons were built
       doc_commands.py --self-test OCTET    checks that wrong command lines are found

Command lines are those in code blocks and backquotes of README.md and docs/ that begin with octet or the name of a daemon,
with "$ ", variables or a pipe before it. The program gets it with --help as the last option, so that it checks names and
values and prints help. If a command line ends with an option, --help is the first option, because it might become the value
of the last; then the program checks names only.
"""

import concurrent.futures
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

DAEMONS = ("octet-actor", "octet-learner", "octet-relay", "octet-replay")
PLACEHOLDER = re.compile(r"\b[A-Z][A-Zx_]*\b")  # of a usage line
OUTPUT = re.compile(r"octet(-\w+)?( \w+)*: |octet [0-9]")  # printed by a command
OPERATOR = re.compile(r"[|&;<>()]+")


def fragments(text):
    """Yields (line number, text, whether it is a whole command line) of code blocks and of what is in backquotes.
    A command line that shows an error, which is the next line, is left out."""
    is_fenced, block, block_at, prose, before = False, "", 0, [], None
    for number, line in enumerate(text.splitlines(), 1):
        prose.append("")
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith("    "):
            block_at = block_at if block else number
            block += line.strip().removesuffix("\\")
            if line.endswith("\\"):
                continue
            if before and ": error: " not in line:
                yield before
            before, block = (block_at, block, True), ""
        else:
            prose[-1] = line
    if before:
        yield before
    whole = "\n".join(prose)
    for found in re.finditer(r"`([^`]+)`", whole):
        yield whole.count("\n", 0, found.start()) + 1, " ".join(found[1].split()).replace("\\|", "|"), False


def words_of(line):
    """Splits a line as a shell does, without a remark behind the command; of alternatives, a|b, the first one stays."""
    line = re.split(r"\s#\s|(?<=\S) {4,}(?=\S)", line.removeprefix("$ ").strip())[0]
    line = re.sub(r"(?<=[^\s|])\|(?=[^\s|])\S*", "", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # an apostrophe of a sentence
        return []


def without_brackets(word):
    """A word of a usage line as it is typed."""
    word = word.lstrip("[").rstrip("….")
    while word.count("]") > word.count("["):
        word = word.removesuffix("]")
    return word


def commands(line):
    """Yields the words of each command of Octet in a line."""
    words = [] if OUTPUT.match(line) else words_of(line)
    command, is_first = [], True
    for word, following in zip(words, words[1:] + [""]):
        if OPERATOR.fullmatch(word):
            if word == "|" and following.startswith(("-", "[-")):
                continue  # alternatives of a usage line
            if command:
                yield command
            command, is_first = [], "<" not in word[-1:] and ">" not in word
        elif is_first and not re.match(r"\w+=", word):
            is_first = False
            command = [word] if word in ("octet", *DAEMONS) else []
        elif command and without_brackets(word):
            command.append(without_brackets(word))
    if command:
        yield command


def shortened(command):
    """The command without the arguments after its name, which the parser does not see, where it has no options."""
    has_options = any(word.startswith("-") for word in command)
    return command if has_options else [command[0], *itertools.takewhile(re.compile("[a-z0-9]+").fullmatch, command[1:3])]


def with_help(command):
    """The command with --help among its options."""
    end = command.index("--") if "--" in command else len(command)
    if command[end - 1].startswith("-") and "=" not in command[end - 1]:
        end = next(at for at, word in enumerate(command) if word.startswith("-"))
    return [*command[:end], "--help", *command[end:]]


def refusal(programs, command, folder):
    """What the program says of the command line in one line; "" if it takes it."""
    done = subprocess.run([programs[command[0]], *with_help(command)[1:]], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stderr.partition("\n")[0] or f"exit code {done.returncode}"


def is_expected(says, command, fragment, is_whole):
    """Returns True if a message is not about a mistake of the page, but about a placeholder, alternatives, a file of the
    reader, or an option that a sentence names without its value."""
    return (set(PLACEHOLDER.findall(says)) & set(command) or says.endswith("No such file or directory")
            or (says.endswith("cannot be used together") and " | " in fragment) or (says.endswith("needs a value") and not is_whole))


def check(programs, texts):
    """texts: (name, text). Yields a message for each command line that its program refuses."""
    found = {}
    for name, text in texts:
        for line, fragment, is_whole in fragments(text):
            for command in commands(fragment):
                found.setdefault(tuple(shortened(command)), []).append((f"{name}:{line}", fragment, is_whole))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as folder:
        for (command, places), says in zip(found.items(), pool.map(lambda words: refusal(programs, words, folder), found)):
            for place, fragment, is_whole in places:
                if says and not is_expected(says, command, fragment, is_whole):
                    yield f"{place}: {shlex.join(command)}\n  {says}"


SELF_TEST = """
Text has `octet train --nonsense`, mentions `octet config --check` and the option `--sede`.

    $ octet train pole --acotrs 2
    octet train: error: unknown option '--acotrs'
    $ A=1 octet train mine.yaml --sede 1          # a remark with octet train --no
    octet train pole --seed
    octet train pole --seed x
    cat row | octet act --polcy RUN > octet.txt
    octet train pole --dash
    octet compare RUN… [--by steps|updates|time] [--threshold R] [--svg]
    octet sweep FILE [--grid | --random N | --optuna N]
    octet completion words -- train --sede
    octet train pole \\
        --acotrs 2
"""
FOUND = ["11: octet compare RUN --by steps --threshold R --svg", "6: octet train mine.yaml --sede 1", "7: octet train pole --seed", "8: octet train pole --seed x",
         "9: octet act --polcy RUN", "14: octet train pole --acotrs 2", "2: octet train --nonsense"]


def self_test(octet):
    found = [line.partition("\n")[0] for line in check({"octet": octet}, [("page", SELF_TEST)])]
    wanted = [f"page:{line}" for line in FOUND]
    if sorted(found) != sorted(wanted):
        sys.exit("found:\n  " + "\n  ".join(found) + "\nwanted:\n  " + "\n  ".join(wanted))


def main():
    if sys.argv[1] == "--self-test":
        self_test(pathlib.Path(sys.argv[2]).resolve())
        return
    root, octet, build = (pathlib.Path(arg).resolve() for arg in sys.argv[1:4])
    programs = {"octet": octet} | {name: build / name.removeprefix("octet-") / name for name in DAEMONS}
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    problems = list(check(programs, [(str(page.relative_to(root)), page.read_text(encoding="utf-8")) for page in pages]))
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
