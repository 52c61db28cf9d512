"""For programs that live longer than a hook: one question to the daemon, and, at uninstall, removing its files.

Starts no daemon (spawn.py).
"""

import os
import shutil
import sys
import time
from contextlib import suppress

from recollect.wire import lockfile
from recollect.wire.frame import PROTOCOL, BadFrame, encode_request, read_reply
from recollect.wire.place import Place, follow, is_private
from recollect.wire.transport import connect, remove_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_RETRY_S = 0.02


class Unanswered(Exception):
    """There is no daemon, it is not ours, or it did not answer in time."""


def ask(place: Place, header: "Mapping[str, str]", body: bytes, timeout_s: float) -> tuple[str, bytes]:
    """The reply's kind and body."""
    until = time.monotonic() + timeout_s
    full = {"protocol": str(PROTOCOL), "home": place.home, **header}
    try:
        try:
            line = connect(place, timeout_s)
        except (FileNotFoundError, ConnectionRefusedError):
            if (elsewhere := follow(place)) is place:
                raise
            line = connect(elsewhere, timeout_s)

        def receive(most: int) -> bytes:
            line.settimeout(max(until - time.monotonic(), 0.001))
            return line.recv(most)

        try:
            line.sendall(encode_request(full, body))
            return read_reply(receive)
        finally:
            line.close()
    except (OSError, BadFrame) as problem:
        raise Unanswered(str(problem)) from problem


def remove_runtime(place: Place, until: float) -> bool:
    """Remove what daemons and hooks of a home made for each other; False where a daemon still lives at `until`, on
    time.monotonic(), and then everything stays.

    Both locks are held meanwhile. A daemon that starts just then finds its lock file gone and makes another. Only our
    own names are removed; a folder that holds anything else stays.
    """
    held: list[int] = []
    try:
        with suppress(OSError):  # a home that can hold no lock has no daemon
            for path in (place.spawn_lock, place.lock):
                while (fd := lockfile.acquire(path)) is None:
                    if time.monotonic() >= until:
                        return False
                    time.sleep(_RETRY_S)
                held.append(fd)
        with suppress(OSError):
            if is_private(place.runtime):
                for folder in (place.spool, place.recalls):
                    shutil.rmtree(folder, ignore_errors=True)
                remove_socket(place)
                os.rmdir(place.runtime)
        while held and sys.platform == "win32":  # where no file can be removed while it is open
            lockfile.release(held.pop())
        for path in (place.daemon_file, place.spawn_lock, place.lock):
            with suppress(OSError):
                os.unlink(path)
        return True
    finally:
        for fd in held:
            lockfile.release(fd)
