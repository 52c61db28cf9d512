"""Digest: what sessions left is read in their transcripts and taken in, in the background.

The transcript is the truth. Each one is read on from its cursor (cursors.py), and what is new is shown to each taker. A
taker looks first (and may take its time), and what it returns writes: all of them together in one transaction with the
cursor, so that nothing is taken in twice or lost when the process is killed. A taker that breaks is logged and left out
of this look.

Hooks leave pointers, which say where to look and what just happened there. A pointer that was never left costs only
time: now and then every known transcript is compared with its cursor.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged, StoreFull
from recollect.base.moment import Moment
from recollect.model.act import Sitting
from recollect.model.ledger import Pointer
from recollect.model.result import Told
from recollect.model.session import EventName
from recollect.ops import acts, cursors, sessions, tending
from recollect.ops.app import App
from recollect.ops.cursors import Followed
from recollect.ops.here import scope_here
from recollect.wire.pointer import file_size

if TYPE_CHECKING:
    from recollect.store import Store

Writes = Callable[[], None]
Taker = Callable[[App, Sitting], Writes | None]

TAKERS: tuple[str, ...] = (
    "heard:take", "outcomes:take", "lessons:take", "threads:take", "endings:take", "doubts:take",
    "reviews:take",
)  # fmt: skip
"""Each looks at a sitting and says what to write: `module:function` of this room, loaded when first needed. What ends
a session stands behind all others."""

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
COMPARE_S = 60.0
"""How often the transcripts of a store are compared with their cursors."""
_DIGESTED = "digested"


@dataclass(slots=True)
class Held:
    """What is held between two looks; in memory alone. Lost, it costs one more look at the end of a transcript."""

    readings: OrderedDict[str, acts.Reading] = field(default_factory=OrderedDict)
    due: tending.Due = field(default_factory=tending.Due)
    sizes: dict[str, int] = field(default_factory=dict)
    """How long transcripts were at the last look: a last line that is not whole yet is no news."""
    compared_s: dict[Path | None, float] = field(default_factory=dict)
    """When the transcripts of a store were last compared with their cursors."""

    def reading(self, app: App, one: Followed) -> acts.Reading:
        found = self.readings.pop(one.path, None)
        if found is None or found.cursor.offset != one.cursor.offset:
            found = acts.looked_back(app, one.host, Path(one.path), one.cursor, BACK_BYTES)
        self.readings[one.path] = found
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
    """A few pointers, the oldest first; where there are none, what was written without one. True: there is more to do
    at once."""
    store = app.writing(scope_here(app))
    done = int(store.sessions.state(_DIGESTED) or 0)
    found = store.sessions.received(after=done, limit=_FEW)
    now = app.clock.now()
    settled = list(takewhile(lambda one: _is_settled(one[1].at, now), found))
    if not settled:
        return _catch_up(app, store, held) or tending.some(app, held.due)
    by_transcript: OrderedDict[str, list[Pointer]] = OrderedDict()
    for _, pointer in settled:
        by_transcript.setdefault(pointer.transcript, []).append(pointer)
    more = False
    for path, pointers in by_transcript.items():
        if path:
            names = frozenset(pointer.name for pointer in pointers)
            more |= _follow(app, store, held, _followed(store, path, pointers[-1]), names)
    if any(pointer.name == EventName.SESSION_STARTED for _, pointer in settled):
        held.due.began = True
        _end_abandoned(app, store, held, {pointer.session for _, pointer in settled})
    for session in {pointer.session for _, pointer in settled if pointer.name == EventName.SESSION_ENDED}:
        tending.ended(app, held.due, session)
    if not more:
        store.sessions.put_state(_DIGESTED, str(settled[-1][0]))
    return more or bool(held.due) or len(settled) == _FEW


def _is_settled(at: Moment, now: Moment) -> bool:
    """What is of the future is of a clock that was set back since; it would be waited for until then."""
    return not 0 <= now.micros - at.micros < SETTLED_S * 1_000_000


def _followed(store: Store, path: str, last: Pointer) -> Followed:
    known = cursors.find(store, path) or Followed(path=path, session=last.session)
    return replace(known, session=last.session, host=last.host, agent=last.agent, cwd=last.cwd or known.cwd)


def _catch_up(app: App, store: Store, held: Held) -> bool:
    """Reads on in transcripts that grew although nobody said so. True: there is more in one of them."""
    now_s = time.monotonic()
    if now_s - held.compared_s.get(store.path, -COMPARE_S) < COMPARE_S:
        return False
    more = False
    for one in cursors.load(store):
        size = file_size(one.path)
        if size < 0 and one.ended:
            cursors.drop(store, one.path)  # its agent tidied up
        elif size > 0 and size not in (one.cursor.offset, held.sizes.get(one.path)):
            if _follow(app, store, held, one, frozenset()):
                more = True
            else:
                held.sizes[one.path] = size
    if not more:
        held.compared_s[store.path] = now_s
    return more


def _follow(app: App, store: Store, held: Held, one: Followed, names: frozenset[str]) -> bool:
    """True: there is more in this transcript."""
    reading = held.reading(app, one)
    before = reading.cursor.offset
    found = acts.read_on(
        app, one.host, Path(one.path), reading, session="" if one.agent else one.session, max_bytes=MOST_BYTES
    )  # fmt: skip
    at = reading.cursor.offset
    more = at - (before if at >= before else 0) > MOST_BYTES  # a file that was written anew is read from its beginning
    new = cursors.unknown_acts(store, found)
    reading.acts.extend(act for act in found if cursors.act_key(act) not in new)
    fresh = [act if act.at.micros > 0 else replace(act, at=app.clock.now()) for act in new.values()]
    if not before and fresh and not one.agent:
        sessions.set_start(store, one.session, fresh[0].at, now=app.clock.now())
    sitting = Sitting(
        host=one.host,
        session=one.session,
        agent=one.agent,
        cwd=one.cwd,
        transcript=one.path,
        acts=(*reading.acts, *fresh),
        new_from=len(reading.acts),
        compacting=EventName.COMPACTING in names,
        turned=EventName.TURN_ENDED in names,
        ended=EventName.SESSION_ENDED in names and not one.agent and not more,
    )
    ended = sitting.ended or (one.ended and not fresh)
    after = replace(one, cursor=reading.cursor, ended=ended, read_at=app.clock.now())

    def put_cursor() -> None:
        cursors.put(store, after)
        store.sessions.put_acts(list(new))

    take(app, store, sitting, put_cursor)
    reading.acts.extend(fresh)
    return more


def _end_abandoned(app: App, store: Store, held: Held, now_open: set[str]) -> None:
    """Sessions whose end nobody told: their agent was killed, or the machine was switched off."""
    still = app.clock.now().plus(seconds=-ABANDONED_S)
    for one in cursors.load(store):
        if one.ended or one.agent or one.session in now_open or _changed(one.path) > still.micros:
            continue
        seen = tuple(held.reading(app, one).acts)
        sitting = Sitting(
            host=one.host, session=one.session, transcript=one.path, acts=seen, new_from=len(seen), ended=True
        )  # fmt: skip
        after = replace(one, ended=True)
        take(app, store, sitting, lambda after=after: cursors.put(store, after))  # type: ignore[misc]
        tending.ended(app, held.due, one.session)


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


def last_read(store: Store) -> tuple[str, str] | None:
    """The transcript that was read on last, and its session; of no subagent."""
    return next(((one.path, one.session) for one in reversed(cursors.load(store)) if not one.agent), None)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except (OSError, ValueError):
        return 0
