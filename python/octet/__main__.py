"""The programs of the wheel as commands: `octet`, which is also `python -m octet`, and the daemons."""

from __future__ import annotations

import os
import sys

from ._lib import own_file, program_environ


def run(name: str) -> None:
    program = own_file(f"bin/{name}")
    if program is None:
        sys.exit(f"{name}: this Python package has no programs; pip installs it with them")
    os.execve(program, [name, *sys.argv[1:]], program_environ())


def main() -> None:
    run("octet")


def actor() -> None:
    run("octet-actor")


def learner() -> None:
    run("octet-learner")


def relay() -> None:
    run("octet-relay")


def replay() -> None:
    run("octet-replay")


if __name__ == "__main__":
    main()
