"""What the tests of octet cluster share. Their programs get OCTET, the command, as their argument."""

import pathlib
import subprocess
import sys

OCTET = str(pathlib.Path(sys.argv[1]).resolve())
SHELL = pathlib.Path(__file__).resolve().parents[2] / "cli/cluster"


def octet(*arguments, status=None):
    result = subprocess.run([OCTET, "cluster", *[str(a) for a in arguments]], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=120, check=False)
    assert status is None or result.returncode == status, (arguments, result.returncode, result.stderr)
    return result


def program(path, text):
    """Writes a script. What was at path is removed first: it may be a link to a program of the system."""
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def runs(pid):
    """A process, and not what is left of one until its parent looks."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False
