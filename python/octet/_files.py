"""Opens files of run folders and replay folders, which may come from another person, as common/oct_file_open.h does: no link
is followed, and only regular files are opened, so that no call writes outside a folder or waits for a pipe."""

from __future__ import annotations

import errno
import os
import stat

WHOLE_MAX = 1 << 28    # bytes of a file that is read as a whole
METRICS_MAX = 1 << 32  # of metrics.csv, as OCT_CSV_BYTES_MAX


def _check(path: str, found: os.stat_result, writes: bool, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    if not writes and found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size} bytes, and at most {most} are read", path)
    user = os.geteuid()
    is_own_folder = os.stat(os.path.dirname(path) or ".").st_uid == user
    is_kept = found.st_uid not in (user, 0) if is_own_folder else found.st_uid == user and found.st_nlink > 1
    if writes and is_kept:
        raise PermissionError(errno.EPERM, "it belongs to another user, or has another name outside", path)


def open_file(path: str | os.PathLike[str], flags: int = os.O_RDONLY, most: int = WHOLE_MAX, follows: bool = False) -> int:
    """Opens a file of at most `most` bytes to read it, or one to write to; a new one is readable by this user only. follows:
    the user named it, and it may be a link."""
    fd = os.open(path, flags & ~os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW), 0o600)
    try:
        _check(os.fspath(path), os.fstat(fd), flags & os.O_ACCMODE != os.O_RDONLY, most)
        os.set_blocking(fd, True)
        if flags & os.O_TRUNC:
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_file(path: str | os.PathLike[str], most: int = WHOLE_MAX) -> bytes:
    with open(open_file(path, most=most), "rb") as file:
        return file.read(os.fstat(file.fileno()).st_size)  # read reserves what it is given
