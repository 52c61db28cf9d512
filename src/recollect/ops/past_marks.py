"""How far each past transcript was read, and which acts came in from it: kept with what they brought, in one
transaction, so that an import can be killed at any moment, run again and again, and undone.

An act is known by a check sum of 64 bits: sessions that were forked or resumed copy older lines into new files. One
row of state a transcript; in it one part for each import that read from it. A part whose import was undone counts
as not read.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from recollect.agents import Cursor
from recollect.base.errors import Conflict
from recollect.model.act import Act

if TYPE_CHECKING:
    from recollect.store import Store

_PREFIX = "past:"
_COMPARED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Part:
    """What one import read of a transcript, up to this cursor."""

    change: str
    cursor: Cursor = field(default_factory=Cursor)
    ended: bool = False
    """Its session was told to be over."""
    acts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PastMark:
    path: str
    parts: tuple[Part, ...] = ()
    followed: bool = False
    """It came in while it was written."""

    @property
    def last(self) -> Part:
        return self.parts[-1] if self.parts else Part("")

    def read_on(self, part: Part) -> PastMark:
        """With more read by the same import, or by the next one."""
        if self.parts and self.last.change == part.change:
            return replace(self, parts=(*self.parts[:-1], replace(part, acts=self.last.acts + part.acts)))
        return replace(self, parts=(*self.parts, part))


def key(act: Act) -> int:
    """The same for a copy in another file, which may have got another id and another session's name."""
    said = f"call {act.id}" if act.doing else f"{act.at.micros} {act.speaker} {act.text[:_COMPARED_CHARS]}"
    return int.from_bytes(blake2b(said.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def load(store: Store) -> tuple[dict[str, PastMark], set[int]]:
    """By path, as far as they stand; and every act that came in."""
    marks: dict[str, PastMark] = {}
    seen: set[int] = set()
    undone: dict[str, bool] = {}
    for value in store.sessions.states(_PREFIX).values():
        mark = _decoded(value)
        if mark is None:
            continue
        standing: list[Part] = []
        broken = False
        for part in mark.parts:
            if part.change not in undone:
                undone[part.change] = _is_undone(store, part.change)
            if undone[part.change]:
                broken = True
                continue
            seen.update(part.acts)
            if not broken:
                standing.append(part)
        marks[mark.path] = replace(mark, parts=tuple(standing))
    return marks, seen


def put(store: Store, before: PastMark, after: PastMark) -> None:
    """Only where nobody else read on meanwhile."""
    name = _name(after.path)
    kept = _decoded(store.sessions.state(name) or "")
    if kept is not None and kept.last not in (before.last, after.last) and not _is_undone(store, kept.last.change):
        raise Conflict("Another import reads the same sessions.", hint="Wait for it, or run this one again later.")
    store.sessions.put_state(name, _encoded(after))


def put_followed(store: Store, path: str) -> None:
    """For good, when the list of those that are followed is full."""
    if store.sessions.state(_name(path)) is None:
        store.sessions.put_state(_name(path), _encoded(PastMark(path, followed=True)))


def _is_undone(store: Store, change: str) -> bool:
    found = store.log(limit=1, change=change) if change else []
    return bool(found and found[0].undone_by)


def _name(path: str) -> str:
    return _PREFIX + blake2b(path.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _encoded(mark: PastMark) -> str:
    parts = [[one.change, one.cursor.offset, one.cursor.mark, one.ended, _packed(one.acts)] for one in mark.parts]
    return json.dumps({"path": mark.path, "followed": mark.followed, "parts": parts})


def _decoded(value: str) -> PastMark | None:
    try:
        kept = json.loads(value)
        parts = tuple(
            Part(change, Cursor(int(offset), hash), bool(ended), _unpacked(acts))
            for change, offset, hash, ended, acts in kept["parts"]
        )
        return PastMark(str(kept["path"]), parts, bool(kept["followed"]))
    except (ValueError, TypeError, KeyError):
        return None


def _packed(acts: Iterable[int]) -> str:
    return base64.b64encode(array("Q", acts).tobytes()).decode()


def _unpacked(text: str) -> tuple[int, ...]:
    found = array("Q")
    found.frombytes(base64.b64decode(text, validate=True))
    return tuple(found)
