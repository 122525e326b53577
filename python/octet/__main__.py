"""The command `octet` of the wheel, which is also `python -m octet`."""

from __future__ import annotations

import os
import sys

from ._lib import own_file, program_environ


def main() -> None:
    program = own_file("bin/octet")
    if program is None:
        sys.exit("octet: this Python package has no programs; pip installs it with them")
    os.execve(program, ["octet", *sys.argv[1:]], program_environ())


if __name__ == "__main__":
    main()
