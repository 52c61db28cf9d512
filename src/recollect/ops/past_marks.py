"""How far each past transcript was read by which import: kept with what it brought, in one transaction, so that an
import can be killed at any moment, run again and again, and undone.

One row of state per transcript; in it one part for each import that read from it. A part whose import was undone counts
as not read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from recollect.agents import Cursor
from recollect.base.errors import Conflict
from recollect.ops.cursors import is_undone, state_name

if TYPE_CHECKING:
    from recollect.store import Store

_PREFIX = "past:"


@dataclass(frozen=True, slots=True)
class Part:
    """What one import read of a transcript, up to this cursor."""

    change: str
    cursor: Cursor = field(default_factory=Cursor)
    ended: bool = False
    """Its session was told to be over."""


@dataclass(frozen=True, slots=True)
class PastMark:
    path: str
    parts: tuple[Part, ...] = ()

    @property
    def last(self) -> Part:
        return self.parts[-1] if self.parts else Part("")

    def read_on(self, part: Part) -> PastMark:
        """With more read by the same import, or by the next one."""
        if self.parts and self.last.change == part.change:
            return replace(self, parts=(*self.parts[:-1], part))
        return replace(self, parts=(*self.parts, part))


def load(store: Store) -> dict[str, PastMark]:
    """By path, as far as they stand."""
    marks: dict[str, PastMark] = {}
    undone: dict[str, bool] = {}
    for value in store.sessions.states(_PREFIX).values():
        mark = _decode(value)
        if mark is None:
            continue
        for part in mark.parts:
            if part.change not in undone:
                undone[part.change] = is_undone(store, part.change)
        standing = tuple(takewhile(lambda part: not undone[part.change], mark.parts))
        marks[mark.path] = replace(mark, parts=standing)
    return marks


def put(store: Store, before: PastMark, after: PastMark) -> None:
    """Only where nobody else read on meanwhile."""
    name = state_name(_PREFIX, after.path)
    kept = _decode(store.sessions.state(name) or "")
    if kept is not None and kept.last not in (before.last, after.last) and not is_undone(store, kept.last.change):
        raise Conflict("Another import reads the same sessions.", hint="Wait for it, or run this one again later.")
    store.sessions.put_state(name, _encode(after))


def _encode(mark: PastMark) -> str:
    parts = [[one.change, one.cursor.offset, one.cursor.mark, one.ended] for one in mark.parts]
    return json.dumps({"path": mark.path, "parts": parts})


def _decode(value: str) -> PastMark | None:
    try:
        kept = json.loads(value)
        parts = tuple(
            Part(change, Cursor(int(offset), hash), bool(ended)) for change, offset, hash, ended in kept["parts"]
        )
        return PastMark(str(kept["path"]), parts)
    except (ValueError, TypeError, KeyError):
        return None
