"""The pointers that hooks left and have not removed: events that no daemon was running to receive (pointer.py).

A pointer is deleted only after its event is committed; draining one twice does no harm. A file whose hook is still
running is left alone. One that was cut short, because its hook was killed in the middle, is read as far as it goes. A
file that cannot be read at all is set aside in `bad`.
"""

import json
import os
import sys
import time

from recollect.wire.place import Place, make_private
from recollect.wire.pointer import file_size, parse_beginning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.wire.pointer import Pointer

FOLDER = "/new"
_SET_ASIDE = "/bad"
MAX_POINTER_BYTES = 64 * 1024
# A hook that waits for a language model takes no longer; a process of that number is then somebody else's.
MAX_HOOK_S = 180.0


def drain(place: Place) -> "Iterator[tuple[str, Pointer]]":
    """Every pointer whose hook has ended, the oldest first, with the path to delete once it is dealt with. `at_ns`:
    when it was left."""
    folder = place.spool + FOLDER
    try:
        found = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in os.scandir(folder)]
    except OSError:
        return
    for at_ns, name in sorted(found):
        path = f"{folder}/{name}"
        if _is_in_use(name):
            continue
        try:
            pointer = _read(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            _set_aside(place, name)
            continue
        yield path, pointer | {"at_ns": at_ns}


def lost(place: Place) -> int:
    """How many events left not even a pointer."""
    return max(file_size(place.spool + "/lost"), 0) + _count(place.spool + _SET_ASIDE)


def waiting(place: Place) -> int:
    return _count(place.spool + FOLDER)


def _is_in_use(name: str) -> bool:
    """The name says when it was left, in nanoseconds since the machine started, and by which process."""
    left_ns, _, pid = name.partition(".")
    if not (left_ns.isdigit() and pid.isdigit()) or not 0 <= time.monotonic_ns() - int(left_ns) < MAX_HOOK_S * 1e9:
        return False
    if sys.platform == "win32":  # where to ask for a process is to end it; to drain too early does no harm
        return False
    try:
        os.kill(int(pid) or -1, 0)
    except (OSError, OverflowError):  # none, or somebody else's
        return False
    return True


def _read(path: str) -> "Pointer":
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")  # as far as the system has them
    fd = os.open(path, os.O_RDONLY | sum(getattr(os, name, 0) for name in flags))
    with open(fd, "rb") as file:
        text = file.read(MAX_POINTER_BYTES).decode("utf-8", "replace")
    try:
        pointer = json.loads(text)
    except (ValueError, RecursionError):
        pointer = parse_beginning(text)
    if not isinstance(pointer, dict) or not pointer:
        raise ValueError("not a pointer")
    return pointer


def _count(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0


def _set_aside(place: Place, name: str) -> None:
    try:
        make_private(place.spool + _SET_ASIDE)
        os.replace(f"{place.spool}{FOLDER}/{name}", f"{place.spool}{_SET_ASIDE}/{name}")
    except OSError:
        pass
