"""Events that hooks left in the spool because no daemon answered in time.

A pointer is deleted once its event is committed; receiving one twice does nothing the second time, so a daemon that
ends in between does no harm.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from recollect.base.errors import BadInput, RecollectError, StoreBusy
from recollect.base.log import Log
from recollect.hooks import Hooks, Received
from recollect.wire import spool
from recollect.wire.place import Place

FEW_POINTERS = 10


class SpoolDrain:
    def __init__(self, place: Place, hooks: Hooks, log: Log) -> None:
        self._place = place
        self._hooks = hooks
        self._log = log
        self._left: Iterator[tuple[str, dict[str, object]]] | None = None
        self._refused: set[str] = set()  # not tried again by this process; the next may be able to take them
        self.received = 0  # those that no daemon had taken
        self.lost = 0  # of those, the ones whose words were never written down

    def receive_some(self) -> bool:
        """True: there are more."""
        self._left = self._left or spool.drain(self._place)
        for _ in range(FEW_POINTERS):
            found = next(self._left, None)
            if found is None or not self._receive(*found):
                self._left = None
                return False
        return True

    def _receive(self, path: str, pointer: dict[str, object]) -> bool:
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
            self._log.line("spool-refused", hook=pointer.get("event", ""), problem=type(problem).__name__)
            self._refused.add(path)
            return True
        with suppress(OSError):
            os.unlink(path)
        return True
