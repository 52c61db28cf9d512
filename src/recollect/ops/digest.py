"""Digest: what sessions left is read in their transcripts and taken in, in the background.

Hooks leave pointers; here they are followed, oldest first. Each transcript is read on from where the last look ended,
and what is new is shown to each taker. A taker looks first (and may take its time), and what it returns writes: all
of them together in one transaction with the mark of how far we read, so that nothing is taken in twice or lost when
the process is killed. A taker that breaks is logged and left out of this look.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.agents import DEFAULT_HOST, Cursor
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged, StoreFull
from recollect.base.moment import Moment
from recollect.model.act import Sitting
from recollect.model.ledger import Pointer
from recollect.model.result import Told
from recollect.model.session import EventName
from recollect.ops import acts, past_marks, tending
from recollect.ops.app import App
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

Writes = Callable[[], None]
Taker = Callable[[App, Sitting], Writes | None]

TAKERS: tuple[str, ...] = (
    "heard:take", "outcomes:take", "lessons:take", "threads:take", "aftermath:take", "endings:take",
    "doubts:take", "reviews:take",
)  # fmt: skip
"""Each looks at a sitting and says what to write: `module:function` of this room, loaded when first needed. What judges
outcomes stands behind what records them, what ends a session behind all others."""

SETTLED_S = 1.0
"""Agents write their transcripts a moment after the hook."""
ABANDONED_S = 600.0
"""A transcript so long still, and another session begins: its agent was killed."""
MOST_BYTES = 2_000_000
BACK_BYTES = 2_000_000
"""Read again, to know what went before, when nothing is held any more."""
_HELD_READINGS = 20
_FEW = 100
_MOST_POINTERS = 10_000
_MOST_SESSIONS = 300
_DIGESTED, _READS = "digested", "reads"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a transcript was read, and whether its session is over."""

    session: str
    offset: int = 0
    mark: str = ""
    ended: bool = False
    agent: str = ""
    """Whose transcript it is: a subagent's ends no session."""


@dataclass(slots=True)
class Held:
    """What is held between two looks; in memory alone. Lost, it costs one more look at the end of a transcript."""

    readings: OrderedDict[str, acts.Reading] = field(default_factory=OrderedDict)
    due: tending.Due = field(default_factory=tending.Due)

    def reading(self, app: App, host: str, path: str, mark: Mark) -> acts.Reading:
        found = self.readings.pop(path, None)
        if found is None or found.cursor.offset != mark.offset:
            found = acts.looked_back(app, host, Path(path), Cursor(mark.offset, mark.mark), BACK_BYTES)
        self.readings[path] = found
        while len(self.readings) > _HELD_READINGS:
            self.readings.popitem(last=False)
        return found


def digest(app: App) -> Told:
    """What the daemon does by itself a moment after each turn."""
    held = Held()
    store = app.reading(scope_here(app))
    before = int(store.sessions.state(_DIGESTED) or 0)
    if app.dry_run:
        waiting = len(store.sessions.received(after=before, limit=_MOST_POINTERS))
        return Told(f"{waiting} events wait to be read.", {"waiting": waiting, "dry_run": True})
    while some(app, held):
        pass
    read = int(app.reading(scope_here(app)).sessions.state(_DIGESTED) or 0) - before
    return Told(f"{read} events read." if read else "Everything is read.", {"read": read}, app.notes())


def some(app: App, held: Held) -> bool:
    """A few pointers, the oldest first. True: there is more to do at once."""
    store = app.writing(scope_here(app))
    done = int(store.sessions.state(_DIGESTED) or 0)
    found = store.sessions.received(after=done, limit=_FEW)
    before = app.clock.now().plus(seconds=-SETTLED_S)
    settled = [(seq, pointer) for seq, pointer in found if pointer.at.micros <= before.micros]
    if not settled:
        return tending.some(app, held.due)
    by_transcript: OrderedDict[str, list[Pointer]] = OrderedDict()
    for _, pointer in settled:
        by_transcript.setdefault(pointer.transcript, []).append(pointer)
    more = False
    for path, pointers in by_transcript.items():
        if path:
            more |= _follow(app, store, held, path, pointers)
    if any(pointer.name == EventName.SESSION_STARTED for _, pointer in settled):
        held.due.began = True
        _end_abandoned(app, store, held, {pointer.session for _, pointer in settled})
    for session in {pointer.session for _, pointer in settled if pointer.name == EventName.SESSION_ENDED}:
        tending.ended(app, held.due, session)
    if not more:
        store.sessions.put_state(_DIGESTED, str(settled[-1][0]))
    return more or bool(held.due) or len(settled) == _FEW


def _follow(app: App, store: Store, held: Held, path: str, pointers: list[Pointer]) -> bool:
    """True: there is more in this transcript."""
    last = pointers[-1]
    names = {pointer.name for pointer in pointers}
    mark = _marks(store).get(path) or Mark(last.session)
    reading = held.reading(app, last.host, path, mark)
    session = store.sessions.session(last.session)
    since = session.started_at if session and not last.agent else Moment(0)
    new = acts.read_on(app, last.host, Path(path), reading, since=since, max_bytes=MOST_BYTES)
    more = _size(path) - reading.cursor.offset > MOST_BYTES
    sitting = Sitting(
        host=last.host,
        session=last.session,
        agent=last.agent,
        cwd=last.cwd,
        transcript=path,
        acts=(*reading.acts, *new),
        new_from=len(reading.acts),
        compacting=EventName.COMPACTING in names,
        turned=EventName.TURN_ENDED in names,
        ended=EventName.SESSION_ENDED in names and not last.agent and not more,
    )
    ended = sitting.ended or (mark.ended and not new)
    at = reading.cursor
    _take(app, store, sitting, path, Mark(last.session, at.offset, at.mark, ended, last.agent))
    reading.acts.extend(new)
    return more


def _end_abandoned(app: App, store: Store, held: Held, now_open: set[str]) -> None:
    """Sessions whose end nobody told: their agent was killed, or the machine was switched off."""
    still = app.clock.now().plus(seconds=-ABANDONED_S)
    for path, mark in _marks(store).items():
        if mark.ended or mark.agent or mark.session in now_open or _changed(path) > still.micros:
            continue
        known = store.sessions.session(mark.session)
        host = known.host if known else DEFAULT_HOST
        reading = held.reading(app, host, path, mark)
        seen = tuple(reading.acts)
        sitting = Sitting(
            host=host, session=mark.session, transcript=path, acts=seen, new_from=len(seen), ended=True
        )  # fmt: skip
        _take(app, store, sitting, path, Mark(mark.session, mark.offset, mark.mark, ended=True))
        tending.ended(app, held.due, mark.session)


def _take(app: App, store: Store, sitting: Sitting, path: str, mark: Mark) -> None:
    take(app, store, sitting, lambda: _put_mark(store, path, mark))


def take(app: App, store: Store, sitting: Sitting, put_mark: Writes) -> tuple[str, ...]:
    """Shows a sitting to every taker, and writes what they say together with the mark. Names those that broke."""
    left, broke = dict(_takers()), []
    while True:
        name = ""
        try:
            writes = []
            for name, taker in left.items():
                found = taker(app, sitting)
                if found is not None:
                    writes.append((name, found))
            with store.together():
                for each, write in writes:
                    name = each
                    write()
                name = ""
                put_mark()
        except (StoreBusy, StoreFull, StoreDamaged):
            raise
        except Exception as problem:  # one taker's edge: the others go on without it
            if not name:
                raise
            said = problem.message if isinstance(problem, RecollectError) else type(problem).__name__
            app.log.line("not-taken", taker=name, session=sitting.session, problem=said)
            del left[name]
            broke.append(name)
            continue
        return tuple(broke)


def _takers() -> list[tuple[str, Taker]]:
    found = []
    for target in TAKERS:
        module, name = target.split(":")
        found.append((target, getattr(import_module(f"recollect.ops.{module}"), name)))
    return found


def followed(store: Store) -> frozenset[str]:
    """Transcripts whose words came in, or will, while they were written."""
    return frozenset(_marks(store))


def last_read(store: Store) -> tuple[str, str] | None:
    """The transcript that was read on last, and its session; of no subagent."""
    return next(((path, mark.session) for path, mark in reversed(_marks(store).items()) if not mark.agent), None)


def _marks(store: Store) -> OrderedDict[str, Mark]:
    """The oldest first."""
    try:
        kept = json.loads(store.sessions.state(_READS) or "{}")
        return OrderedDict((path, Mark(*fields)) for path, fields in kept.items())
    except (ValueError, TypeError, AttributeError):
        return OrderedDict()


def _put_mark(store: Store, path: str, mark: Mark) -> None:
    marks = _marks(store)
    marks[path] = mark
    marks.move_to_end(path)
    while len(marks) > _MOST_SESSIONS:
        past_marks.put_followed(store, marks.popitem(last=False)[0])
    plain = {path: [one.session, one.offset, one.mark, one.ended, one.agent] for path, one in marks.items()}
    store.sessions.put_state(_READS, json.dumps(plain))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except (OSError, ValueError):
        return 0
