"""Locks between processes, on every platform.

POSIX: flock, which a child holds too once it has inherited the descriptor. Windows: one byte far behind the end of the
file, because nobody else can read a locked byte there. The system releases a lock when its process ends, however it
ends: so whoever holds a lock is alive, which neither a pid nor a socket file proves."""

import errno
import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Whether a process that is given the descriptor holds the lock as well.
INHERITED = sys.platform != "win32"

_LOCKED_BYTE = 1 << 30
_FLAGS: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def acquire(path: str) -> int | None:
    """The descriptor that holds the lock; None where another process has it, OSError where there can be no lock."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        try:
            is_ours = _try_lock(fd)
        except OSError:
            os.close(fd)
            raise
        if is_ours and is_same_file(path, fd):
            return fd
        os.close(fd)
        if not is_ours:
            return None
        # else it was replaced between opening and locking


def is_same_file(path: str, fd: int) -> bool:
    """False once the file was deleted or replaced: then another process can hold a lock of the same name."""
    if sys.platform == "win32":
        return True  # a file that is open can be neither deleted nor replaced there
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except OSError:
        return False


def is_held(path: str) -> bool:
    """Whether somebody holds it. Takes the lock for an instant; a process that wants it just then has to try again."""
    try:
        fd = open_existing(path)
        try:
            return not _try_lock(fd, shared=True)
        finally:
            release(fd)
    except OSError:
        return False


def release(fd: int) -> None:
    """Close it. A child that has inherited the descriptor keeps the lock."""
    if (
        sys.platform == "win32"
    ):  # it may take a while there until the system itself lets go of a closed file's lock
        try:
            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
        except OSError:
            pass  # it was not ours
    os.close(fd)


def open_existing(path: str, mode: int = os.O_RDONLY) -> int:
    return os.open(path, mode | _FLAGS)


def _try_lock(fd: int, *, shared: bool = False) -> bool:
    """Whether it is ours now; never waits. OSError where this file cannot be locked at all."""
    try:
        if sys.platform == "win32":  # there a lock is never shared
            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
