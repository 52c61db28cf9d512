"""Connections: how long a stranger may hold one, and how many of them there may be.

A stranger is a connection that has not yet shown both keys (guard.py). It lives for a few seconds, whatever it sends or
leaves unread, and when there are many the oldest is cut off. So half-open and slow requests, however many, take nothing
from the person whose page it is: theirs are trusted from the first request on, and never cut off for somebody else."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

STRANGER_S = 10.0
MAX_STRANGERS = 256
_FILES_WANTED = 4_096
_STATE = "connection"


def trust(scope: Scope) -> None:
    """The connection that this request came over has shown the keys."""
    connection = scope.get("state", {}).get(_STATE)
    if connection is not None:
        connection.trust()


def limited_protocol(max_strangers: int) -> Any:
    """For uvicorn's `http`: makes the protocol of each connection of one server."""
    return partial(Connection, strangers={}, max_strangers=max_strangers)


class Connection(H11Protocol):
    """`strangers`: those of the same server, the oldest first."""

    def __init__(
        self, *args: Any, strangers: dict[Connection, None], max_strangers: int, **named: Any
    ) -> None:
        super().__init__(*args, **named)
        self.app_state = {**self.app_state, _STATE: self}
        self._strangers = strangers
        self._max_strangers = max_strangers
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(STRANGER_S, self._cut_off)
        self._strangers[self] = None
        if len(self._strangers) > self._max_strangers:
            next(iter(self._strangers))._cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        self.trust()  # the deadline is over
        super().connection_lost(exc)

    def trust(self) -> None:
        self._strangers.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        """At once: what it has not read yet is not waited for."""
        self._strangers.pop(self, None)
        self.transport.abort()


def count_strangers() -> int:
    """How many there may be: an eighth of the files that this process may open. A few times as many are accepted
    before the first is cut off, and requests need the rest."""
    if sys.platform == "win32":
        return MAX_STRANGERS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_WANTED if hard == resource.RLIM_INFINITY else min(_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # a system that allows less than it says
            pass
    if soft == resource.RLIM_INFINITY:
        return MAX_STRANGERS
    return max(16, min(MAX_STRANGERS, soft // 8))
