"""One daemon to a home: whoever holds this lock is it, and the system lets go of it when that process ends, however
it ends. A pid proves nothing (it may be another's by now), nor does a socket that is there.

POSIX only until the transport has its Windows half; there `take` raises OSError.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})


class Lock:
    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    def stands(self) -> bool:
        """False once the file was deleted or replaced: then another daemon can hold a lock of the same name."""
        return _same(self._path, self._fd)

    def release(self) -> None:
        os.close(self._fd)


def take(path: Path) -> Lock | None:
    """None where another process has it. OSError where there can be no lock at all."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "No lifetime lock on this system", str(path))
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(fd)
            if problem.errno in _BUSY:
                return None
            raise
        if _same(path, fd):
            return Lock(path, fd)
        os.close(fd)  # it was replaced between opening and locking


def is_held(path: Path) -> bool:
    """Whether a daemon lives. Touches the lock for an instant, which a daemon that starts just then waits out."""
    if fcntl is None:
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as problem:
        return problem.errno in _BUSY
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> int | None:
    """The process that has the lock, as the system itself says; None where nobody has it or the system is silent."""
    with suppress(OSError, ValueError):
        found = os.stat(path)
        wanted = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == wanted:
                return int(fields[4])
    return None


def _same(path: Path, fd: int) -> bool:
    try:
        named = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    ours = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)
