#!/usr/bin/env python3
"""Walks through a page of docs/start as a newcomer would: saves the files that it shows, runs every line of its shell
blocks in an empty folder, and looks for the lines that it says one has seen.

usage: walk.py PAGE.md [--octet FOLDER] [--build BUILD] [--keep FOLDER]
       --octet FOLDER   has the programs, as a package or wheel installed them; default: those in PATH
       --build BUILD    a meson build folder, which is installed first, below a temporary folder
       --keep FOLDER    works there and keeps it

Exit code 77, and a line that says why: a tool is missing that the page asks for."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 400
# What a page asks its reader for, and the examples that it says to copy.
NEEDS = {"researcher": ["python3"], "robotics": ["cc", "arm-none-eabi-gcc"], "cluster": [], "c-programmer": ["cc", "pkg-config"]}
COPIES = {"robotics": [ROOT / "examples/robot/pole.onnx", ROOT / "examples/robot/loop.c", ROOT / "examples/robot/board.c"],
          "c-programmer": [ROOT / "examples/c/q_learner.c", ROOT / "examples/c/q_learner.yaml"]}


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


class Page:
    """What a page holds: the lines of its shell blocks, files by the names under which it says to save them, and the lines
    of its text blocks, which one has seen at the end."""

    def __init__(self, path):
        self.shell, self.files, self.seen = "", {}, []
        text, end = path.read_text(encoding="utf-8"), 0
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
            words, kind, block = text[end:found.start()], found[1], found[2]
            end = found.end()
            if kind == "sh":
                self.shell += block
            elif kind == "text":
                self.seen += block.splitlines()
            else:
                names = re.findall(r"as `([\w.]+)`", words)
                assert names, f"{path}: no name is given under which to save {block[:60]!r}"
                self.files[names[-1]] = block
        assert self.shell and self.seen, f"{path}: it has no shell block, or no text block with what one has seen"


def plain(text):
    return re.sub(r"\s+", " ", text)


def installed(build, home):
    """Environment variables for programs, libraries and headers of a build, as a user has them who installed it."""
    options = {o["name"]: o["value"] for o in json.loads((build / "meson-info/intro-buildoptions.json").read_text())}
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", home], check=True, stdout=subprocess.DEVNULL)
    prefix = home / options["prefix"].lstrip("/")
    lib = prefix / options["libdir"]
    return {"PATH": f"{prefix / options['bindir']}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(lib),
            "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(home),
            "PYTHONPATH": str(ROOT / "python"), "OCTET_LIBRARY": str(next(lib.glob("liboctet.so.?")))}


def is_group_alive(group):
    """Processes that the shell was asked to end have a second to do so."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


def use_python(environment):
    """The python3 of the walk has Octet's requirements: $OCTET_TEST_PYTHON, or the first in PATH."""
    given = environment.get("OCTET_TEST_PYTHON", "")
    if given and pathlib.Path(given).exists():
        environment["PATH"] = f"{pathlib.Path(given).parent}:{environment['PATH']}"
    python = shutil.which("python3", path=environment["PATH"])
    if subprocess.run([python, "-c", "import numpy, gymnasium"], capture_output=True, check=False).returncode != 0:
        skip("python3 has no numpy and gymnasium (from PyPI; $OCTET_TEST_PYTHON names one that has)")


def walk(page, door, folder, environment):
    for name, text in page.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for example in COPIES.get(door, []):
        shutil.copy(example, folder)
    # Own ports where the system gives a network of its own, so that no other run is met.
    alone = ["unshare", "--net", "--map-root-user", "bash", "-c", 'ip link set lo up && exec "$@"', "-"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone = []
    log = folder / "walk.log"
    with log.open("w") as file:
        shell = subprocess.Popen([*alone, "bash", "-exc", page.shell], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = shell.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            code = f"none after {LIMIT_S} s"
        left = is_group_alive(shell.pid)
        if left:
            os.killpg(shell.pid, signal.SIGKILL)
    said = log.read_text(encoding="utf-8", errors="replace")
    missing = [line for line in page.seen if plain(line) not in plain(said)]
    if code != 0 or missing or left:
        print(said)
        print(f"FAILED: exit code {code}; not seen: {missing}; processes left running: {'yes' if left else 'no'}")
        return 1
    print(f"{door}: {len(page.shell.splitlines())} lines of shell, {len(page.files)} files, all as the page says")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--octet", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    door = given.page.stem
    for tool in NEEDS[door]:
        if shutil.which(tool) is None:
            skip(f"there is no {tool}")
    with tempfile.TemporaryDirectory(prefix="octet-walk-") as temporary:
        home = pathlib.Path(temporary)
        environment = dict(os.environ)
        if given.build:
            environment.update(installed(given.build, home / "installed"))
        if given.octet:
            environment["PATH"] = f"{given.octet}:{environment['PATH']}"
        if door == "researcher":
            use_python(environment)
        folder = given.keep or home / "work"
        folder.mkdir(parents=True, exist_ok=True)
        return walk(Page(given.page), door, folder, environment)


if __name__ == "__main__":
    sys.exit(main())
