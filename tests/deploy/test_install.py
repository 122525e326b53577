#!/usr/bin/env python3
"""Octet as those who package it meet it: what meson setup refuses, and what is installed.

usage: test_install.py ROOT BUILD"""

import json
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

ROOT = BUILD = None
LIMIT_S = 120


def run(*command, code=0, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S, check=False, **more)
    assert done.returncode == code, (command, done.returncode, done.stdout)
    return done.stdout


def option(name):
    """Of the build's configuration, a folder from the prefix."""
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(o["value"] for o in options if o["name"] == name)


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

    def test_missing_libraries_are_named_by_their_packages(self):
        (self.home / "yaml-0.1.pc").write_text("Name: yaml\nDescription: -\nVersion: 1\nLibs:\nCflags:\n")
        said = run("meson", "setup", self.home / "build", ROOT, code=1, env={**os.environ, "PKG_CONFIG_LIBDIR": str(self.home)})
        self.assertRegex(said, r"libraries that are not installed; Debian's packages are: libjansson-dev .*libopenblas-pthread-dev\. On Debian script/setup")
        self.assertNotIn("libyaml-dev", said)

    def commit_in(self, sources):
        """The commit that a build of these sources names."""
        text = (ROOT / "common/meson.build").read_text()
        rule = re.search(r"^oct_archived = .*'oct_commit.h'\)$", text, re.M | re.S)[0]
        (sources / "meson.build").write_text(f"project('of a commit', meson_version: '>=1.0')\n{rule}\n")
        shutil.copy(ROOT / "common/oct_commit.h.in", sources)
        build = sources.with_suffix(".build")
        run("meson", "setup", build, sources)
        run("meson", "compile", "-C", build)
        return re.search(r'OCT_COMMIT "(.*)"', (build / "oct_commit.h").read_text())[1]

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_commit_is_of_the_sources_own_repository(self):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
        sources = self.home / "package/octet"
        sources.mkdir(parents=True)
        shutil.copy(ROOT / ".git_archival.txt", sources)
        for folder, commit in [(self.home / "package", "unknown"), (sources, r"[0-9a-f]{8,}(-dirty)?")]:
            run("git", "init", "--quiet", folder)
            run(*git, "-C", folder, "commit", "--quiet", "--allow-empty", "--message", "one")
            self.assertRegex(self.commit_in(sources), f"^{commit}$")
            shutil.rmtree(sources.with_suffix(".build"))

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_source_archive_names_its_commit(self):
        repository, sources = self.home / "repository", self.home / "package/octet"
        git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org"]
        run("git", "init", "--quiet", repository)
        for name in [".gitattributes", ".git_archival.txt"]:
            shutil.copy(ROOT / name, repository)
        run(*git, "add", ".")
        run(*git, "commit", "--quiet", "--message", "one")
        run(*git, "archive", "--output", self.home / "archive.tar", "HEAD")
        sources.mkdir(parents=True)
        run("tar", "-xf", self.home / "archive.tar", "-C", sources)
        self.assertEqual(self.commit_in(sources), run(*git, "rev-parse", "HEAD")[:8])


class Install(Case):
    def setUp(self):
        super().setUp()
        self.prefix = self.home / option("prefix").lstrip("/")

    def install(self, *tags):
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", self.home, "--tags", ",".join(tags))
        return {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}

    def test_runtime_is_what_programs_need(self):
        there = self.install("runtime")
        share, lib = option("datadir"), option("libdir")
        for path in [f"{option('bindir')}/octet-relay", f"{lib}/liboctet.so.0", f"{lib}/liboctet-replay.so.0",
                     f"{share}/octet/octet_ssh.sh", f"{share}/doc/octet/LICENSE", f"{share}/doc/octet/NOTICE"]:
            self.assertIn(path, there)
        self.assertFalse([path for path in there if re.search(r"\.(h|a|pc|so)$", path) and "env_dmc" not in path])
        presets = re.findall(r"^\S+", run(self.prefix / option("bindir") / "octet", "presets"), re.MULTILINE)
        self.assertEqual(len(presets), len(list((ROOT / "presets").rglob("*.yaml"))))

    def test_shells_find_their_completion(self):
        self.install("runtime")
        for shell, path in [("bash", "bash-completion/completions/octet"), ("zsh", "zsh/site-functions/_octet"),
                            ("fish", "fish/vendor_completions.d/octet.fish")]:
            shown = run(self.prefix / option("bindir") / "octet", "completion", shell)
            self.assertEqual(shown, (self.prefix / option("datadir") / path).read_text(encoding="utf-8"))
            self.assertIn("completion words", shown)

    def test_manual_pages_are_installed(self):
        self.assertLess({f"{option('mandir')}/man1/{name}.1" for name in ["octet", "octet-env-check", "octet-relay"]}, self.install("man"))

    def test_documents_lie_where_other_texts_say(self):
        there = self.install("doc")
        for path in ["docs/operations.md", "docs/img/architecture.svg", "examples/env/point.c"]:
            self.assertIn(f"{option('datadir')}/doc/octet/{path}", there)
        self.assertFalse([path for path in there if "docs/data/" in path])

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_programs_are_built_with_pkg_config(self):
        self.install("runtime", "devel")
        lib = self.prefix / option("libdir")
        config = {**os.environ, "PKG_CONFIG_PATH": f"{lib}/pkgconfig"}
        for name, header, call in [
                ("octet", "octet/octet.h", 'return octet_vector_ids(NULL, 0) == 0'),
                ("octet", "octet/learner.h", 'octet_learner_close(NULL)'),
                ("octet-replay", "octet/replay.h", 'octet_replay_close(NULL)'),
                ("octet_policy", "octet/policy.h", 'octet_policy_free(NULL)')]:
            flags = run("pkg-config", f"--define-variable=prefix={self.prefix}", "--cflags", "--libs", name, env=config).split()
            run("cc", "-x", "c", "-", "-x", "none", "-o", self.home / "program", *flags,
                input=f"#include <stdio.h>\n#include <{header}>\nint main(void) {{ {call}; return 0; }}\n")
            run(self.home / "program", env={**os.environ, "LD_LIBRARY_PATH": str(lib)})


if __name__ == "__main__":
    ROOT, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    unittests.main(sys.argv[:1] + sys.argv[3:])
