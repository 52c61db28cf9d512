"""Removes the files that daemons and hooks of a home made for each other, at uninstall.

Both locks are held meanwhile: a living daemon has them, and then everything stays. A daemon that starts just then finds
its lock file gone and makes another (daemon/lock.py). Only our own names are removed; a folder that holds anything else
stays.
"""

import os
import shutil
import sys
import time
from contextlib import suppress

from recollect.wire import lockfile
from recollect.wire.place import Place, is_private

_LOOK_S = 0.02


def remove_runtime(place: Place, until: float) -> bool:
    """Whether it is gone; False where a daemon still lives at `until`, on time.monotonic()."""
    held: list[int] = []
    try:
        for path in (place.spawn_lock, place.lock):
            fd = _lock(path, until)
            if fd is None:
                return False
            if fd >= 0:
                held.append(fd)
        _clear_runtime(place)
        if sys.platform == "win32":  # where no file can be removed while it is open
            _release(held)
        for path in (place.pointer, place.spawn_lock, place.lock):
            with suppress(OSError):
                os.unlink(path)
        return True
    finally:
        _release(held)


def _release(held: list[int]) -> None:
    while held:
        lockfile.release(held.pop())


def _lock(path: str, until: float) -> int | None:
    """The lock's descriptor; -1 where there is no such file, None where somebody has it."""
    try:
        fd = lockfile.open_existing(path)
    except OSError:
        return -1
    with suppress(OSError):
        while not (is_ours := lockfile.try_lock(fd)) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        if is_ours:
            return fd
    os.close(fd)
    return None


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
