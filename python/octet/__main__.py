"""The command `octet` of the wheel, which is also `python -m octet`."""

from __future__ import annotations

import os
import sys

from ._lib import prefix, program_environ


def main() -> None:
    program = prefix() / "bin" / "octet"
    if not program.is_file():
        sys.exit(f"octet: {program} is missing: only a wheel has the programs")
    os.execve(program, ["octet", *sys.argv[1:]], program_environ())


if __name__ == "__main__":
    main()
