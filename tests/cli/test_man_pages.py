#!/usr/bin/env python3
"""The manual pages: each command and daemon has one, with every option of its --help.

usage: test_man_pages.py ROOT PAGES PROGRAM...     PAGES: the folder that the build made; octet is the first program
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

ROOT = PAGES = None
PROGRAMS = []
# Option or command, and a part of a sentence.
HELP_PARTS = re.compile(r" {2,6}((?:-\S, )?--\S+)(?: +(.*))?|  [a-z0-9]+ +(\S.*)|(?:Usage:|  or:|Start here:|Examples?:)?(.*)")
UNSHOWN = re.compile(r"  octet .*(?:COMMAND --help|--version) .*")


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120, check=False, **more)
    assert done.returncode == 0, (command, done.returncode, done.stdout)
    return done.stdout


def commands():
    """The words of every command, as shells complete them: [[], ["train"], …, ["env", "check"], …]."""
    def below(words):
        offered = run(PROGRAMS[0], "completion", "words", "--", *words, "").splitlines()
        return [word for word in offered if re.fullmatch(r"[a-z0-9]+", word)] if "--help" in offered else []
    found = [[]]
    for words in found:
        found += [[*words, word] for word in below(words)]
    return found


def helps():
    """{name of the page: what --help says}"""
    pages = {"-".join(["octet", *words]): run(PROGRAMS[0], *words, "--help") for words in commands()}
    return pages | {program.name: run(program, "--help") for program in PROGRAMS[1:]}


def source(name, folder=None):
    return ((folder or PAGES) / f"{name}.1").read_text(encoding="ascii")


def plain(text):
    """A page without fonts and escapes, on one line."""
    text = re.sub(r"\\\[u(\w{4})\]", lambda code: chr(int(code[1], 16)), text.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\"))
    return re.sub(r"\s+", " ", re.sub(r"\\f[BIR]", "", text))


def tool(output, **environment):
    run(sys.executable, ROOT / "tools/man_pages.py", output, ROOT, "/usr/share/doc/octet/docs", "1.2.3", *PROGRAMS,
        env={**{name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}, **environment})


class Pages(unittest.TestCase):
    def test_each_command_and_daemon_has_a_page(self):
        self.assertEqual({path.name for path in PAGES.iterdir()}, {f"{name}.1" for name in helps()})

    def test_a_page_has_every_line_of_help(self):
        for name, text in helps().items():
            page, before, is_example = plain(source(name)), "", False
            for line in text.splitlines():
                is_example = line.startswith("  ") and (is_example or before in ("Example:", "Examples:"))
                before = line
                if is_example:
                    self.assertIn(" ".join(line.split()), page[page.index(".SH EXAMPLES"):], name)
                elif not UNSHOWN.fullmatch(line):
                    for part in HELP_PARTS.fullmatch(line).groups(default=""):
                        self.assertIn(part.strip().removesuffix(","), page, (name, line))

    def test_each_option_has_its_description(self):
        for path in PAGES.iterdir():
            self.assertNotRegex(path.read_text(encoding="ascii"), r"\.TP\n.*\n\s*(\.TP|\.SH)", path.name)

    def test_exit_codes_are_those_of_the_program(self):
        self.assertIn("SH EXIT STATUS .TP 0 stopped by a signal", plain(source("octet-relay")))
        self.assertIn(".TP 3 its file is damaged", plain(source("octet-replay")))
        self.assertIn(".TP 0 finished, solved or not", plain(source("octet-train")))
        self.assertIn(".TP 0 done .TP 1 failed", plain(source("octet-env-check")))

    def test_the_run_folder_and_the_variables_are_described(self):
        self.assertIn("SH FILES The run folder has: .TP config.yaml the experiment", plain(source("octet-train")))
        self.assertIn(".TP OCTET_TLS folder of certificates", plain(source("octet")))

    def test_the_same_programs_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory(prefix="octet-man-") as home:
            one, two = pathlib.Path(home, "one"), pathlib.Path(home, "two")
            tool(one, SOURCE_DATE_EPOCH="1767225600", LANG="C.UTF-8", COLUMNS="40")
            tool(two, SOURCE_DATE_EPOCH="1767225600", LC_ALL="C", TZ="Asia/Tokyo")
            self.assertEqual(*({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (one, two)))
            self.assertIn('"2026-01-01" "Octet 1.2.3"', source("octet-train", one))
            tool(two)
            self.assertIn('1 "" "Octet 1.2.3"', source("octet-train", two))

    def test_they_are_sound(self):
        with tempfile.TemporaryDirectory(prefix="octet-man-") as home:
            tool(home, SOURCE_DATE_EPOCH="1767225600")
            pages = sorted(pathlib.Path(home).iterdir())
            checks = {"groff": ["groff", "-man", "-Tutf8", "-ww", "-z"], "mandoc": ["mandoc", "-T", "lint", "-W", "warning"]}
            there = [command for name, command in checks.items() if shutil.which(name)]
            if not there:
                self.skipTest("neither groff nor mandoc is installed")
            for command in there:
                self.assertEqual(run(*command, *pages), "", command[0])


if __name__ == "__main__":
    ROOT, PAGES, *PROGRAMS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    unittests.main(sys.argv[:1])
