"""Locks between processes, on every platform.

POSIX: flock, which a child holds too once it has inherited the descriptor. Windows: one byte far behind the end of the
file, because nobody else can read a locked byte there; a child inherits no lock. On both, the system releases a lock
when its process ends, however it ends.
"""

import errno
import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

INHERITED = sys.platform != "win32"
"""Whether a process that is given the descriptor holds the lock as well."""

_BUSY = frozenset((errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES))
_LOCKED_BYTE = 1 << 30
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_AS_IT_IS: int = getattr(os, "O_BINARY", 0)


def open_lock(path: str) -> int:
    """The file's descriptor; it is made where it is missing. OSError where it is a link or cannot be made."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | _AS_IT_IS, 0o600)


def open_existing(path: str, mode: int = os.O_RDONLY) -> int:
    return os.open(path, mode | _NO_LINK | _AS_IT_IS)


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Whether it is ours now; never waits. OSError where this file cannot be locked at all."""
    try:
        if sys.platform == "win32":  # there a lock is never shared
            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in _BUSY:
            return False
        raise
    return True


def release(fd: int) -> None:
    """Close it. A child that has inherited the descriptor keeps the lock."""
    if sys.platform == "win32":  # it may take a while there until the system itself lets go of a closed file's lock
        try:
            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
        except OSError:
            pass  # it was not ours
    os.close(fd)


def is_held(path: str) -> bool:
    """Whether somebody holds it. Takes the lock for an instant; a process that wants it just then has to try again."""
    try:
        fd = open_existing(path)
    except OSError:
        return False
    try:
        return not try_lock(fd, shared=True)
    except OSError:
        return False
    finally:
        release(fd)
