"""Takes away what daemons and hooks of a home made for each other, once nothing calls them any more.

Both locks are held meanwhile: a daemon that lives has them, and then everything stays. One that starts just then
finds its lock's file gone and makes another (daemon/lock.py). Only names of our own are removed; a folder that holds
anything else stays.
"""

import os
import shutil
import sys
import time
from contextlib import suppress

from recollect.wire.place import Place, is_private

if sys.platform != "win32":
    import fcntl

_LOOK_S = 0.02


def clear(place: Place, until: float) -> bool:
    """Whether it is gone; False where a daemon still lives at `until`, on time.monotonic()."""
    if sys.platform == "win32":
        return False
    held: list[int] = []
    try:
        for path in (place.spawn_lock, place.lock):
            fd = _taken(path, until)
            if fd is None:
                return False
            if fd >= 0:
                held.append(fd)
        _clear_runtime(place)
        for path in (place.pointer, place.spawn_lock, place.lock):
            with suppress(OSError):
                os.unlink(path)
        return True
    finally:
        for fd in held:
            os.close(fd)


def _taken(path: str, until: float) -> int | None:
    """The lock's descriptor; -1 where there is no such file, None where somebody has it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except OSError:
            if time.monotonic() >= until:
                os.close(fd)
                return None
            time.sleep(_LOOK_S)


def _clear_runtime(place: Place) -> None:
    with suppress(OSError):
        if not is_private(place.runtime):
            return
        for path in (place.spool, place.recalls):
            shutil.rmtree(path, ignore_errors=True)
        for path in (place.socket, place.address):
            with suppress(FileNotFoundError):
                os.unlink(path)
        os.rmdir(place.runtime)
