"""Ids: `thread_20260201_083000_abc123`. Kind, second in UTC, six hex digits. Made only here.

The digits are the millisecond (ten bits) and random bits (fourteen), and rise within a process, so ids sort by time.
Two processes may still draw the same one: the store refuses the second (IdTaken) and the operation draws again."""

from __future__ import annotations

import os
import re

from recollect.base.clock import Clock

ID_SHAPE = r"[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6}"
_SHAPE = re.compile(ID_SHAPE)
_REFERENCE = re.compile(rf"({ID_SHAPE})(?:\s*\+\s*(\d{{1,9}}))?")
_AROUND_IDS = " \t\r\n.,:;!?#'\"`()[]<>\u2018\u2019\u201c\u201d\u2026"  # what people write and copy with an id
_SHORT_REFERENCE = re.compile(
    r"([0-9a-f]{6}|[a-z]{2,12}_\d{8}_\d{6}(?:_[0-9a-f]{0,6})?)(?:\s*\+\s*(\d{1,9}))?"
)
_RANDOM_BITS = 14


class Mint:
    """Draws ids, each greater than the one before of the same process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = (0, 0)

    def draw(self, kind: str) -> str:
        now = self._clock.now()
        second, micros = divmod(now.micros, 1_000_000)
        # As `secrets` does it, which would load half a dozen modules while a hook waits for the daemon.
        bits = int.from_bytes(os.urandom(2), "big") >> (16 - _RANDOM_BITS)
        tail = (micros // 1_000) << _RANDOM_BITS | bits
        if (second, tail) <= self._last:
            second, tail = self._last[0], self._last[1] + 1
            if tail >= 1 << 24:
                second, tail = second + 1, 0
        self._last = (second, tail)
        stamp = type(now)(second * 1_000_000).stamp()
        return f"{kind}_{stamp}_{tail:06x}"


def is_id(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


def is_message_id(text: str) -> bool:
    """Of a message read from a session, the digits are twelve: a checksum, not chance (capture/turns.py)."""
    return is_id(text) or re.fullmatch(rf"{ID_SHAPE}[0-9a-f]{{6}}", text) is not None


def read_reference(text: str) -> tuple[str, int] | None:
    """`ID`, or `ID+OFFSET` to read on in a long memory: its id, and where to begin. None for any other text."""
    found = _REFERENCE.fullmatch(text.strip(_AROUND_IDS))
    return (found[1], int(found[2] or 0)) if found else None


def read_short_reference(text: str) -> tuple[str, int] | None:
    """The last six digits of an id, as lists print them, or an id from its beginning at least as far as its second; and
    where to begin. Words may look like that, too: it is a reference only if some memory's id is so."""
    found = _SHORT_REFERENCE.fullmatch(text.strip(_AROUND_IDS))
    return (found[1], int(found[2] or 0)) if found else None


def fresh_key() -> str:
    """32 random hex digits: a project's id, or the key that redaction marks are made with."""
    return os.urandom(16).hex()


def draw_numbers(count: int, below: int) -> list[int]:
    """`count` different random numbers below `below`, in any order; all of them where there are no more."""
    left = list(range(below))
    return [
        left.pop(int.from_bytes(os.urandom(8), "big") % len(left)) for _ in range(min(count, below))
    ]
