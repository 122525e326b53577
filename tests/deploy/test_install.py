#!/usr/bin/env python3
"""Octet as those who package it meet it: what meson setup refuses.

usage: test_install.py ROOT BUILD"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = BUILD = None
LIMIT_S = 120


def run(*command, code=0, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S, check=False, **more)
    assert done.returncode == code, (command, done.returncode, done.stdout)
    return done.stdout


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="octet-install-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)


class Setup(Case):
    def test_floats_are_computed_as_written_or_not_at_all(self):
        plain = {name: value for name, value in os.environ.items() if name not in ["CFLAGS", "LDFLAGS"]}
        for name, flags in [("CFLAGS", "-O2 -ffast-math"), ("CFLAGS", "-Ofast"), ("CFLAGS", "-ffinite-math-only"),
                            ("CFLAGS", "-ffp-contract=fast"), ("LDFLAGS", "-ffast-math")]:
            said = run("meson", "setup", self.home / "build", ROOT, code=1, env={**plain, name: flags})
            self.assertIn("floats must be computed as written", said, flags)
            shutil.rmtree(self.home / "build")


if __name__ == "__main__":
    ROOT, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
