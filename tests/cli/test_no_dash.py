#!/usr/bin/env python3
"""Of a build without dygraphs: what shows the page says so before it does anything. usage: test_no_dash.py OCTET"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

OCTET = pathlib.Path(sys.argv[1]).resolve()


class NoPage(unittest.TestCase):
    def test_commands_that_show_it_fail_with_the_reason(self):
        for words in (["dash"], ["report", "."], ["train", "cartpole", "--dash"], ["train", "cartpole", "--dash-stay"]):
            with self.subTest(words=words), tempfile.TemporaryDirectory(prefix="octet-no-dash-") as folder:
                done = subprocess.run([OCTET, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, rf"^octet {words[0]}: error: .*built without dygraphs.*-Ddygraphs=FOLDER, and build again\n$")
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittests.main(sys.argv[:1])
