"""The command line `octet` as a child: which program it is, how keys are written for it, and what it says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._lib import OctetError, prefix


def program() -> str:
    """$OCTET_PROGRAM; else the wheel's; else the system's."""
    own = prefix() / "bin" / "octet"
    found = os.environ.get("OCTET_PROGRAM") or (str(own) if own.is_file() else shutil.which("octet"))
    if not found:
        raise OctetError("there is no program octet: install the wheel, or set OCTET_PROGRAM to that of a build", 6)
    return found


def _yaml(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return str(value)


def set_arguments(settings: Mapping[str, Any]) -> list[str]:
    """--set KEY=VALUE for each key."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={_yaml(value)}")]


def errors_of(lines: Iterable[str]) -> str:
    """The errors among the lines that it has printed; without any the last lines."""
    said = list(lines)
    return "\n".join([line for line in said if "error:" in line] or said[-5:])
