"""When a daemon should end by itself: nobody needs it, its home is not its own any more, or newer code is installed.

It never restarts itself: the next hook starts one of the code that is installed then.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import recollect
from recollect.daemon.lock import Lock
from recollect.wire.place import is_usable

IDLE = "nobody asked for a while"
HOME_GONE = "its home is gone or was replaced"
HOME_SHUT = "its home cannot be written"
CODE_CHANGED = "its installation changed"
NAME_GONE = "its socket was removed or replaced"
NAME_OPEN = "its runtime folder is no longer private"


class Watch:
    def __init__(self, home: Path, lock: Lock, name: str = "") -> None:
        """`name`: the file that it is met at, if it is met at one."""
        self._home = home
        self._lock = lock
        self._name = name
        self._named = _stamp(name)
        self._code = _stamp(recollect.__file__)

    def reason(self, last_request_s: float, idle_s: float) -> str:
        """Why to end now; empty where there is no reason. A few system calls."""
        if not self._lock.stands():
            return HOME_GONE
        if not os.access(self._home, os.W_OK | os.X_OK):
            return HOME_SHUT
        if _stamp(recollect.__file__) != self._code:
            return CODE_CHANGED
        if _stamp(self._name) != self._named:
            return NAME_GONE
        if self._name and not is_usable(os.path.dirname(self._name)):
            return NAME_OPEN  # no hook speaks to it any more; the next daemon finds another folder
        return IDLE if time.monotonic() - last_request_s >= idle_s else ""


def _stamp(path: str | None) -> tuple[int, int, int] | None:
    """Installing, upgrading and uninstalling all write or remove the package's first file."""
    try:
        found = os.stat(path or "")
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
