"""Events that no daemon was running to receive: the pointers that hooks left and have not removed (wire/pointer.py).

A pointer is deleted only after its event is committed; receiving one twice does nothing the second time. A file whose
hook is still running is left alone, one that was cut short is read as far as it goes, one that cannot be read at all is
set aside in `bad`. An empty one is removed: its hook was killed just before it wrote, which is no more of a loss than
if it had been killed just before it made the file. The words are in the transcript, to which the next event points."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from recollect.base.errors import BadInput, RecollectError, StoreBusy, StoreTooNew
from recollect.base.files import read_limited
from recollect.base.log import Log
from recollect.hooks.answer import Hooks, Received
from recollect.wire.place import Place, make_private
from recollect.wire.pointer import Pointer, file_size, parse_beginning

FOLDER = "/new"
_SET_ASIDE = "/bad"
# A hook that waits for a language model takes no longer; a process of that number is then somebody else's.
MAX_HOOK_S = 180.0


class SpoolDrain:
    def __init__(
        self, place: Place, hooks: Hooks, log: Log, report_too_new: Callable[[StoreTooNew], object]
    ) -> None:
        self._place = place
        self._hooks = hooks
        self._log = log
        self._report_too_new = report_too_new
        self._left: Iterator[tuple[str, Pointer]] | None = None
        self._refused: set[str] = (
            set()
        )  # not tried again by this process; the next may be able to receive them
        self.received = 0  # those that no daemon had received
        self.lost = 0  # of those, the ones whose words were never written down

    def receive_some(self) -> bool:
        """True: there are more."""
        self._left = self._left or drain(self._place)
        for _ in range(10):
            found = next(self._left, None)
            if found is None or not self._receive(*found):
                self._left = None
                return False
        return True

    def remove(self, name: str) -> None:
        """The pointer of an event that is written."""
        with suppress(OSError):
            os.unlink(f"{self._place.spool}{FOLDER}/{name}")

    def _receive(self, path: str, pointer: Pointer) -> bool:
        """False: the store is busy; the rest waits for the next look."""
        if path in self._refused:
            return True
        try:
            received = self._hooks.receive(pointer)
            if received is Received.NOT_YET:
                return True
            self.received += received is not Received.KNOWN
            self.lost += received is Received.LOST
        except StoreBusy:
            return False
        except BadInput:
            pass  # not an event that we know: there is nothing to read later
        except (RecollectError, OSError) as problem:
            if isinstance(problem, StoreTooNew):
                self._report_too_new(problem)
            self._log.line(
                "spool-refused", hook=pointer.get("event", ""), problem=type(problem).__name__
            )
            self._refused.add(path)
            return True
        self.remove(os.path.basename(path))
        return True


def drain(place: Place) -> Iterator[tuple[str, Pointer]]:
    """Every pointer whose hook has ended, oldest first (`at_ns`), with the path to delete once it is dealt with."""
    folder = place.spool + FOLDER
    try:
        found = [
            (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
            for entry in os.scandir(folder)
        ]
    except OSError:
        return
    for at_ns, name in sorted(found):
        if _is_in_use(name):
            continue
        path = f"{folder}/{name}"
        try:
            yield path, _read(path) | {"at_ns": at_ns}
        except FileNotFoundError:
            pass
        except (OSError, ValueError):
            with suppress(OSError):
                if file_size(path) == 0:
                    os.unlink(path)
                    continue
                make_private(place.spool + _SET_ASIDE)
                os.replace(path, f"{place.spool}{_SET_ASIDE}/{name}")


def count_lost(place: Place) -> int:
    """How many events left not even a pointer."""
    return max(file_size(place.spool + "/lost"), 0) + count_files(place.spool + _SET_ASIDE)


def count_files(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0


def _is_in_use(name: str) -> bool:
    """The name says when it was left, in nanoseconds since the machine started, and by which process."""
    left_ns, _, pid = name.partition(".")
    if (
        not (left_ns.isdigit() and pid.isdigit())
        or not 0 <= time.monotonic_ns() - int(left_ns) < MAX_HOOK_S * 1e9
    ):
        return False
    with suppress(OSError, OverflowError):  # none, or somebody else's
        if (
            sys.platform != "win32"
        ):  # where to ask for a process is to end it; to drain too early does no harm
            os.kill(int(pid) or -1, 0)
            return True
    return False


def _read(path: str) -> Pointer:
    text = read_limited(Path(path), 64 * 1024).decode("utf-8", "replace")
    try:
        pointer = json.loads(text)
    except (ValueError, RecursionError):
        pointer = parse_beginning(text)
    if not isinstance(pointer, dict) or not pointer:
        raise ValueError("not a pointer")
    return pointer
