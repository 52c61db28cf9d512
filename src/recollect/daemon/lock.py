"""One daemon per home: whoever holds this lock is the daemon, and the system releases it when that process ends,
however it ends. A pid proves nothing (it may belong to another by now), nor does a socket file.

wire/lockfile.py knows how each platform locks a file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from recollect.wire import lockfile


class Lock:
    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    def stands(self) -> bool:
        """False once the file was deleted or replaced: then another daemon can hold a lock of the same name."""
        return _is_same_file(self._path, self._fd)

    def release(self) -> None:
        lockfile.release(self._fd)


def take(path: Path) -> Lock | None:
    """None where another process has it. OSError where there can be no lock at all."""
    while True:
        fd = lockfile.open_lock(str(path))
        try:
            is_ours = lockfile.try_lock(fd)
        except OSError:
            os.close(fd)
            raise
        if is_ours and _is_same_file(path, fd):
            return Lock(path, fd)
        os.close(fd)
        if not is_ours:
            return None
        # else it was replaced between opening and locking


def is_held(path: Path) -> bool:
    """Whether a daemon lives."""
    return lockfile.is_held(str(path))


def holder(path: Path) -> int | None:
    """The process that has the lock, as the system reports it; None where nobody has it or the system cannot say."""
    if sys.platform != "linux":
        return None
    with suppress(OSError, ValueError):
        found = os.stat(path)
        wanted = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == wanted:
                return int(fields[4])
    return None


def _is_same_file(path: Path, fd: int) -> bool:
    if sys.platform == "win32":
        return True  # a file that is open can be neither deleted nor replaced there
    try:
        named = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    ours = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)
