"""One connection of a client: what was received so far, and when it must come to an end."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Connection:
    sock: socket.socket
    expires_s: float
    admitted: bool
    received: bytearray = field(default_factory=bytearray)
    after: Callable[[bool], None] | None = None  # called when the client has confirmed, or will not any more
    due_s: float = 0.0  # when the answer had to be there
    answered_s: float = 0.0
    waits_long: bool = False  # the thread that answers it asked for time; another has taken its place

    def close(self) -> None:
        self.received = bytearray()
        self.sock.close()


@dataclass(slots=True)
class Counters:
    """What `status` shows."""

    requests: int = 0
    busy: int = 0
    late: int = 0  # hooks that had given up when their turn or their answer came, and those that could not print it
    reasons: Counter[str] = field(default_factory=Counter)  # why they were late
    slow: int = 0  # connections that sent nothing in time
    refused: int = 0
    broken: int = 0
    failed: int = 0
    confirmed: int = 0


class Incomplete(Exception):
    """More of the request is to come."""


class BufferReader:
    """Hands out what was received so far, as a socket would."""

    def __init__(self, received: bytearray) -> None:
        self._received = received
        self._at = 0

    def recv(self, most: int) -> bytes:
        found = bytes(self._received[self._at : self._at + most])
        if not found and most:
            raise Incomplete
        self._at += len(found)
        return found
