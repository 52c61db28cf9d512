"""Reads in the background what sessions left in their transcripts, which are the truth: from a cursor each. What is new
is shown to the jobs that run per turn. Each of them looks first and returns what to write; all write in one transaction
with the cursor, so that nothing is recorded twice or lost. Hooks leave pointers that say where to look; without one,
every known transcript is compared with its cursor now and then.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.app.states import CURSORS, EVENTS_READ, ReadPart, ReadTranscript
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged, StoreFull
from recollect.jobs import transcript_reader, vault_sync
from recollect.jobs.job_table import JOBS, Memo, PerTurn
from recollect.model.session import EventName, Pointer, ReadAct, SessionPart
from recollect.wire.pointer import file_size

if TYPE_CHECKING:
    from recollect.store import Store

Writes = Callable[[], None]
TurnJob = Callable[[App, SessionPart], Writes | None]

SETTLED_S = 1.0  # agents write their transcripts a moment after the hook
ABANDONED_S = 600.0  # a transcript that has not changed for so long, when another session begins: its agent was killed
MOST_BYTES = 2_000_000
COMPARE_S = 60.0  # how often transcripts are compared with their cursors
_READINGS_HELD = 20
_POINTERS_AT_ONCE = 100
_MOST_POINTERS = 10_000


@dataclass(slots=True)
class ReadingState:
    """What is remembered of a store's transcripts between two looks; in memory alone. Lost, it costs one more look at
    the end of a transcript."""

    readings: OrderedDict[str, transcript_reader.Reading] = field(default_factory=OrderedDict)
    notes: vault_sync.Pending = field(default_factory=vault_sync.Pending)
    sizes: dict[str, int] = field(default_factory=dict)
    """How long transcripts were at the last look: a last line that is not complete yet is no news."""
    compared_s: float = -COMPARE_S  # when transcripts were last compared with their cursors

    def reading(self, app: App, one: ReadTranscript) -> transcript_reader.Reading:
        found = self.readings.pop(one.path, None)
        if found is None or found.cursor.offset != one.last.cursor.offset:
            found = transcript_reader.read_back(app, one.host, Path(one.path), one.last.cursor)
        self.readings[one.path] = found
        while len(self.readings) > _READINGS_HELD:
            self.readings.popitem(last=False)
        return found


def count_waiting(app: App) -> int:
    store = app.reader(app.scope)
    return len(store.events(after=EVENTS_READ.read(store), limit=_MOST_POINTERS))


def work(app: App, memo: Memo) -> bool:
    return app.store_path(app.scope) is not None and read_some(app, memo.of(ReadingState))


def read_some(app: App, state: ReadingState) -> bool:
    """Follows a few pointers, the oldest first; where there are none, reads what was written without one. True: there
    is more to do at once."""
    store = app.writer(app.scope)
    now = app.clock.now()
    found = store.events(after=EVENTS_READ.read(store), limit=_POINTERS_AT_ONCE)
    # A time in the future comes from a clock that was set back since; it would be waited for until then.
    settled = list(takewhile(lambda one: not 0 <= now.micros - one[1].at.micros < SETTLED_S * 1_000_000, found))
    if not settled:
        return _read_unannounced(app, store, state) or vault_sync.write_some(app, state.notes)
    by_transcript: dict[str, list[Pointer]] = {}
    for _, pointer in settled:
        by_transcript.setdefault(pointer.transcript, []).append(pointer)
    by_transcript.pop("", None)
    more = False
    for path, pointers in by_transcript.items():
        known, last = CURSORS.find(store, cursor_key(path)), pointers[-1]
        if known is None or not known.is_live:
            known = ReadTranscript(path=path)
        one = replace(known, session=last.session, host=last.host, agent=last.agent, cwd=last.cwd or known.cwd)
        more |= _read_one(app, store, state, one, {pointer.name for pointer in pointers})
    if any(pointer.name == EventName.SESSION_STARTED for _, pointer in settled):
        state.notes.session_began = True
        _end_abandoned(app, store, state, {pointer.session for _, pointer in settled})
    for session in {pointer.session for _, pointer in settled if pointer.name == EventName.SESSION_ENDED}:
        vault_sync.session_ended(app, state.notes, session)
    if not more:
        EVENTS_READ.write(store, settled[-1][0])
    return more or bool(state.notes) or len(settled) == _POINTERS_AT_ONCE


def live_transcripts(store: Store) -> list[ReadTranscript]:
    """The one that was read last comes last."""
    return sorted((one for one in CURSORS.find_all(store).values() if one.is_live), key=lambda one: one.read_at)


def cursor_key(path: str) -> str:
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def last_read(store: Store) -> ReadTranscript | None:
    """The transcript that was read last; of no subagent."""
    return next((one for one in reversed(live_transcripts(store)) if not one.agent), None)


def _read_unannounced(app: App, store: Store, state: ReadingState) -> bool:
    """Reads on in transcripts that grew although nobody said so. True: there is more in one of them."""
    now_s = time.monotonic()
    if now_s - state.compared_s < COMPARE_S:
        return False
    more = False
    for one in live_transcripts(store):
        size = file_size(one.path)
        if size < 0 and one.last.ended:
            CURSORS.remove(store, cursor_key(one.path))  # its agent removed it
        elif size > 0 and size not in (one.last.cursor.offset, state.sizes.get(one.path)):
            if _read_one(app, store, state, one, set()):
                more = True
            else:
                state.sizes[one.path] = size
    if not more:
        state.compared_s = now_s
    return more


def _read_one(app: App, store: Store, state: ReadingState, one: ReadTranscript, events: Set[str]) -> bool:
    """True: there is more in this transcript."""
    reading = state.reading(app, one)
    piece = transcript_reader.read_piece(app, store, one, reading, MOST_BYTES, session="" if one.agent else one.session)
    fresh = [act if act.at.micros > 0 else replace(act, at=app.clock.now()) for act in piece.new.values()]
    part = one.session_part(
        reading.acts, fresh, compacting=EventName.COMPACTING in events, turned=EventName.TURN_ENDED in events,
        ended=EventName.SESSION_ENDED in events and not one.agent and not piece.more,
    )  # fmt: skip
    ended = part.ended or (one.last.ended and not fresh)
    after = replace(one.with_part(ReadPart("", reading.cursor, ended)), read_at=app.clock.now())

    def write_cursor() -> None:
        CURSORS.write(store, after, cursor_key(one.path))
        store.put(*map(ReadAct, piece.new))

    run_turn_jobs(app, store, part, write_cursor)
    reading.acts.extend(fresh)
    return piece.more


def _end_abandoned(app: App, store: Store, state: ReadingState, now_open: set[str]) -> None:
    """Sessions whose end nobody told: their agent was killed, or the machine was switched off."""
    still = app.clock.now().plus(seconds=-ABANDONED_S)
    for one in live_transcripts(store):
        if one.last.ended or one.agent or one.session in now_open or changed_at(one.path) > still.micros:
            continue
        part = one.session_part(state.reading(app, one).acts, (), ended=True)
        after = one.with_part(replace(one.last, ended=True))
        run_turn_jobs(app, store, part, partial(CURSORS.write, store, after, cursor_key(one.path)))
        vault_sync.session_ended(app, state.notes, one.session)


def run_turn_jobs(app: App, store: Store, part: SessionPart, write_cursor: Writes) -> tuple[str, ...]:
    """Shows what is new to every job, and writes what they return together with the cursor. A job that fails is logged
    and left out. Returns the names of those that failed."""
    left, failed = dict(_turn_jobs()), []
    while True:
        name = ""
        try:
            writes = []
            for name, job in left.items():
                writes.append((name, job(app, part)))
            with store.transaction():
                for each, write in writes:
                    name = each
                    if write is not None:
                        write()
                name = ""
                write_cursor()
        except (StoreBusy, StoreFull, StoreDamaged):
            raise
        except Exception as problem:  # the edge of one job: the others go on without it
            if not name:
                raise
            said = problem.message if isinstance(problem, RecollectError) else type(problem).__name__
            app.log.line("job-failed", job=name, session=part.session, problem=said)
            del left[name]
            failed.append(name)
            continue
        return tuple(failed)


def _turn_jobs() -> list[tuple[str, TurnJob]]:
    return [(job.name, job.function) for job in JOBS if isinstance(job.when, PerTurn)]


def changed_at(path: str | Path, default: int = 0) -> int:
    """When a file was last written, in microseconds; `default` where that cannot be known."""
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except (OSError, ValueError):
        return default
