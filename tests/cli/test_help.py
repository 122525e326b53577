#!/usr/bin/env python3
"""--help of every command and daemon: each option that it shows is taken, and each example can be copied and is right.

usage: test_help.py OCTET BUILD     BUILD: the folder in which the daemons were built
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import doc_commands  # noqa: E402

OCTET, BUILD = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
PROGRAMS = {"octet": OCTET} | {name: BUILD / name.removeprefix("octet-") / name for name in doc_commands.DAEMONS}
# A line about options: "  -?, --help     Give …", "      --dash[=PORT]   Show …".
OPTION = re.compile(r"^ {2}(?:(-.), | {4})--([a-z0-9-]+)(\[?=[^\s\]]+\]?)?", re.M)


def run(*words, **variables):
    return subprocess.run([PROGRAMS[words[0]], *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=60, env=os.environ | variables)


def commands(*family):
    """Every command of octet with options of its own, and every daemon."""
    names = re.findall(r"^  ([a-z0-9]+) ", run(*family, "--help").stdout, re.M)
    for name in names:
        words = (*family, name)
        if name != "octet" and run(*words, "--help").stdout.startswith(f"Usage: {' '.join(words)} COMMAND"):
            yield from commands(*words)
        elif name != "octet":  # the last line is about all
            yield words


ALL = [*commands("octet"), *((name,) for name in doc_commands.DAEMONS)]
# The same with lines of any length.
HELPS = [(words, run(*words, "--help").stdout, run(*words, "--help", ARGP_HELP_FMT="rmargin=2000").stdout) for words in ALL]


class Help(unittest.TestCase):
    def test_every_command_has_help(self):
        self.assertGreater(len(ALL), 40)
        self.assertIn(("octet", "cluster", "k8s"), ALL)
        for words, narrow, _ in HELPS:
            self.assertTrue(narrow.startswith(f"Usage: {' '.join(words)} [OPTION...]"), narrow[:200])

    def test_help_may_be_asked_for_in_every_way(self):
        for family in ([], ["env"], ["cluster"]):
            self.assertEqual(run("octet", *family, "help").stdout, run("octet", *family, "--help").stdout)
        check = run("octet", "env", "check", "--help")
        for words in (["help", "env", "check"], ["env", "help", "check"], ["env", "check", "-h"], ["env", "check", "-?"]):
            done = run("octet", *words)
            self.assertEqual((done.returncode, done.stdout), (0, check.stdout), words)
        self.assertEqual(run("octet", "help", "env", "chekc").returncode, 2)
        for words in (["-V"], ["version"]):
            self.assertEqual(run("octet", *words).stdout, run("octet", "--version").stdout)

    def test_every_option_that_is_shown_is_taken(self):
        for words, narrow, _ in HELPS:
            shown = OPTION.findall(narrow)
            self.assertGreaterEqual(len(shown), 2, words)
            names = [(name, value) for _, name, value in shown if name not in ("help", "usage", "version")]
            together = [f"--{name}" + ("=1" if value else "") for name, value in names]
            apart = [word for name, value in names for word in (f"--{name}", *(["1"] if value.startswith("=") else []))]
            for options in (together, apart):
                done = run(*words, "--help", *options)
                self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", narrow), words)
            for short, name, _ in shown:
                if short:
                    done = run(*words, short)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), words)
                    self.assertEqual(done.stdout, narrow if name == "help" else run(*words, f"--{name}").stdout, words)

    def test_no_example_is_wrapped(self):
        for words, narrow, wide in HELPS:
            for line in wide.splitlines():
                if re.match(r"  [^ -].*\boctet\b", line) and not line.startswith("  or: "):
                    self.assertIn(f"\n{line}\n", f"\n{narrow}\n", words)
                else:
                    self.assertIsNone(re.search(r"Examples?: +\S|^octet ", line), f"{words}: {line}: an example has a line of its own")

    def test_every_example_is_taken(self):
        texts = [(" ".join(words), "\n".join(f"  {line}" for line in narrow.splitlines())) for words, narrow, _ in HELPS]
        self.assertEqual([], list(doc_commands.check(PROGRAMS, texts)))
        self.assertGreater(sum("Example" in text for _, text in texts), 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
