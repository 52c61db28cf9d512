"""Reads, in the background, what sessions added to their transcripts, each from its own cursor; and captures prompts
that no hook could. Transcripts are the truth. What is new is shown to the jobs that run per turn; each looks first and
returns what to write, and all write in one transaction with the cursor. Hooks leave pointers that say where to look;
every known transcript is compared now and then."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Set
from functools import partial
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path

from recollect.agents.transcript import Cursor
from recollect.app import notices, rule_keeping, session_ledger
from recollect.app.core import App
from recollect.app.states import (
    CLAIMED_PROMPTS,
    CURSORS,
    EVENTS_READ,
    Memo,
    ReadAttempt,
    ReadTranscript,
    SetAsideLine,
)
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged, StoreFull
from recollect.base.structs import Struct, field, replace
from recollect.jobs import reading_attempts, transcript_reader, vault_sync
from recollect.jobs.runner import JOBS
from recollect.model.session import (
    EventName,
    Pointer,
    ReadAct,
    SessionPart,
    ShownMemory,
    Speaker,
    Way,
)
from recollect.store import LocalStore
from recollect.wire.pointer import checksum, file_size

Writes = Callable[[], None]

SETTLED_S = 1.0  # agents write their transcripts a moment after the hook
ABANDONED_S = 600.0  # a transcript that has not changed for so long, when another session begins: its agent was killed
MOST_BYTES = 2_000_000
COMPARE_S = 60.0  # how often transcripts are compared with their cursors
_POINTERS_AT_ONCE = 100
_NEWS_S = 86_400.0  # older words are no news: a session that is resumed is read from its beginning


class ReadingState(Struct, frozen=False):
    """What is remembered of a store's transcripts between two looks. Lost, it costs one more look at their ends."""

    readings: OrderedDict[str, transcript_reader.Reading] = field(default_factory=OrderedDict)
    notes: vault_sync.Pending = field(default_factory=vault_sync.Pending)
    sizes: dict[str, int] = field(
        default_factory=dict
    )  # at the last look: an incomplete last line is no news
    compared_s: float = -COMPARE_S  # when transcripts were last compared with their cursors

    def reading(self, app: App, one: ReadTranscript) -> transcript_reader.Reading:
        found = self.readings.pop(one.path, None)
        store = app.writer(app.scope)
        if found is not None and found.cursor.offset == one.last.cursor.offset:
            pass
        elif reading_attempts.has_line_before(store, one, transcript_reader.BACK_BYTES):
            found = transcript_reader.Reading(one.last.cursor)
        else:
            found = transcript_reader.read_back(app, one.host, Path(one.path), one.last.cursor)
        self.readings[one.path] = found
        while len(self.readings) > 20:
            self.readings.popitem(last=False)
        return found


def count_waiting(app: App) -> int:
    store = app.reader(app.scope)
    return len(store.events(after=EVENTS_READ.read(store), limit=10_000))


def work(app: App, memo: Memo) -> bool:
    return app.store_path(app.scope) is not None and read_some(
        app, memo.setdefault(ReadingState, ReadingState())
    )


def read_some(app: App, state: ReadingState) -> bool:
    """Follows a few pointers, the oldest first; without any, reads what was written without. True: there is more."""
    store = app.writer(app.scope)
    now = app.clock.now()
    found = store.events(after=EVENTS_READ.read(store), limit=_POINTERS_AT_ONCE)
    # A time in the future comes from a clock that was set back since; it would be waited for until then.
    settled = list(
        takewhile(lambda one: not 0 <= now.micros - one[1].at.micros < SETTLED_S * 1_000_000, found)
    )
    if not settled:
        return _read_unannounced(app, store, state) or vault_sync.write_some(app, state.notes)
    by_transcript: dict[str, list[Pointer]] = {}
    for _, pointer in settled:
        if pointer.transcript:
            by_transcript.setdefault(pointer.transcript, []).append(pointer)
    more = False
    for path, pointers in by_transcript.items():
        known, last = CURSORS.find(store, cursor_key(path)), pointers[-1]
        if known is None or not known.is_live:
            known = ReadTranscript(path=path)
        one = replace(
            known, session=last.session, host=last.host, agent=last.agent, cwd=last.cwd or known.cwd
        )
        more |= _read_one(app, store, state, one, {pointer.name for pointer in pointers})
    ended = {pointer.session for _, pointer in settled if pointer.name == EventName.SESSION_ENDED}
    if any(pointer.name == EventName.SESSION_STARTED for _, pointer in settled):
        state.notes.session_began = True
        # Sessions whose end nobody told: their agent was killed, or the machine was switched off.
        now_open, still = (
            {pointer.session for _, pointer in settled},
            now.plus(seconds=-ABANDONED_S),
        )
        for one in live_transcripts(store):
            if (
                one.last.ended
                or one.agent
                or one.session in now_open
                or changed_at(one.path) > still.micros
            ):
                continue
            part = one.session_part(state.reading(app, one).acts, (), ended=True)
            after = one.with_part("", one.last.cursor, ended=True)
            run_turn_jobs(
                app, store, part, partial(CURSORS.write, store, after, cursor_key(one.path))
            )
            ended.add(one.session)
    for session in ended:
        shown = app.reader(app.scope).records(ShownMemory, session=session)
        state.notes.shown |= {one.memory for one in shown if one.way is not Way.OWN}
    if not more:
        EVENTS_READ.write(store, settled[-1][0])
    return more or bool(state.notes) or len(settled) == _POINTERS_AT_ONCE


def live_transcripts(store: LocalStore) -> list[ReadTranscript]:
    """The one that was read last comes last."""
    return sorted(
        (one for one in CURSORS.find_all(store).values() if one.is_live),
        key=lambda one: one.read_at,
    )


def cursor_key(path: str) -> str:
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _read_unannounced(app: App, store: LocalStore, state: ReadingState) -> bool:
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


def _read_one(
    app: App, store: LocalStore, state: ReadingState, one: ReadTranscript, events: Set[str]
) -> bool:
    """True: there is more in this transcript."""
    key = cursor_key(one.path)
    attempt = reading_attempts.begin(store, key, one.last.cursor.offset, MOST_BYTES)
    if reading_attempts.is_hopeless(attempt):
        _set_line_aside(app, store, one, attempt)
        return True
    try:
        return _read_piece(app, store, state, one, events, attempt)
    except Exception:
        reading_attempts.survived(store, key, attempt)
        raise


def _set_line_aside(app: App, store: LocalStore, one: ReadTranscript, attempt: ReadAttempt) -> None:
    key = cursor_key(one.path)
    with store.transaction():
        cursor = reading_attempts.set_aside(store, one, app.clock.now())
        CURSORS.write(store, one.with_part("", cursor, one.last.ended), key)
        reading_attempts.end(store, key, attempt, cursor.offset)
    app.log.line("line-set-aside", session=one.session, offset=attempt.offset)


def read_set_aside(app: App, line: SetAsideLine) -> bool:
    """Tries a line again that had been set aside. It stays in the list until it is read: if it ends this process, too,
    nothing has changed. False: its file no longer has such a line."""
    store = app.writer(app.scope)
    transcript = CURSORS.find(store, cursor_key(line.path))
    if transcript is None or file_size(line.path) < line.offset + line.size:
        reading_attempts.take_back(store, line)
        return False
    reading = transcript_reader.Reading(Cursor(line.offset))
    session = "" if transcript.agent else transcript.session
    piece = transcript_reader.read_piece(app, store, transcript, reading, 0, session=session)

    def write_as_read() -> None:
        reading_attempts.take_back(store, line)
        store.put(*map(ReadAct, piece.new))

    part = transcript.session_part(reading.acts, list(piece.new.values()))
    run_turn_jobs(app, store, part, write_as_read)
    return True


def _read_piece(
    app: App,
    store: LocalStore,
    state: ReadingState,
    one: ReadTranscript,
    events: Set[str],
    attempt: ReadAttempt,
) -> bool:
    reading = state.reading(app, one)
    piece = transcript_reader.read_piece(
        app,
        store,
        one,
        reading,
        0 if attempt.is_careful else MOST_BYTES,
        session="" if one.agent else one.session,
    )
    fresh = [
        act if act.at.micros > 0 else replace(act, at=app.clock.now()) for act in piece.new.values()
    ]
    part = one.session_part(
        reading.acts, fresh, compacting=EventName.COMPACTING in events, turned=EventName.TURN_ENDED in events,
        ended=EventName.SESSION_ENDED in events and not one.agent and not piece.more,
    )  # fmt: skip
    ended = part.ended or (one.last.ended and not fresh)
    after = replace(one.with_part("", reading.cursor, ended, fresh), read_at=app.clock.now())

    def write_cursor() -> None:
        CURSORS.write(store, after, cursor_key(one.path))
        reading_attempts.end(store, cursor_key(one.path), attempt, reading.cursor.offset)
        store.put(*map(ReadAct, piece.new))

    run_turn_jobs(app, store, part, write_cursor)
    reading.acts.extend(fresh)
    return piece.more


def run_turn_jobs(
    app: App, store: LocalStore, part: SessionPart, write_cursor: Writes
) -> tuple[str, ...]:
    """Writes what the jobs return together with the cursor. One that fails is logged, left out, and named."""
    left = dict(_turn_jobs())
    failed: list[str] = []
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
            return tuple(failed)
        except (StoreBusy, StoreFull, StoreDamaged):
            raise
        except Exception as problem:  # the edge of one job: the others go on without it
            if not name:
                raise
            said = (
                problem.message if isinstance(problem, RecollectError) else type(problem).__name__
            )
            app.log.line("job-failed", job=name, session=part.session, problem=said)
            del left[name]
            failed.append(name)


def _turn_jobs() -> list[tuple[str, Callable[[App, SessionPart], Writes | None]]]:
    return [(job.name, job.function) for job in JOBS if not job.every_s]


def changed_at(path: str | Path, default: int = 0) -> int:
    """When a file was last written, in microseconds; `default` where that cannot be known."""
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except (OSError, ValueError):
        return default


# Prompts. One is seen twice, by its hook and in the transcript, and either may come first: a daemon can be held up.
# Whoever comes first claims it, by its session and a checksum, and captures it in the same transaction; the other finds
# the claim and settles it.


def claim_prompt(app: App, session: str, text: str) -> bool:
    """For a hook: whether the prompt is still to be captured. To be called in the transaction that captures it."""
    return _claim(app, _key(session, transcript_reader.clean(app, text)), 1)


def prompt_mark(text: str) -> str:
    """A checksum of a prompt, however it is spaced."""
    return checksum(" ".join(text.split())[:2_000])


def capture_late_prompts(app: App, part: SessionPart) -> Writes | None:
    """Per turn: prompts that no hook could look at when they came (no daemon, no time left)."""
    found = [
        act
        for act in part.new
        if act.speaker is Speaker.PERSON and not act.agent and not part.agent
    ]
    if not found:
        return None
    claims = CLAIMED_PROMPTS.read(app.reader(app.scope))
    # Judging a prompt takes long; one that its hook has claimed need not be judged.
    drafts = [
        None
        if claims.get(_key_in(claims, part.session, act.text), 0) > 0
        else rule_keeping.read_prompt(app, act.text)
        for act in found
    ]

    def write() -> None:
        for act, judged in zip(found, drafts, strict=True):
            held = CLAIMED_PROMPTS.read(app.writer(app.scope))
            key = _key_in(held, part.session, act.text)
            if not _claim(app, key, -1, is_past=part.past):
                continue
            if not part.past:
                session_ledger.record_message(app, part.session, part.host, act.at)
                session_ledger.record_late_interaction(app, act.at)
            draft = judged or rule_keeping.read_prompt(app, act.text)
            try:
                notice = rule_keeping.capture_prompt(
                    app, draft, session=part.session, at=act.at, refuses=act.refuses
                )
            except RecollectError as problem:
                app.log.line(
                    "not-kept", of="capture", session=part.session, problem=problem.message
                )
                continue
            is_news = abs(app.clock.now().micros - act.at.micros) < _NEWS_S * 1_000_000
            if notice and not part.past and is_news:
                notices.add(app, notice)

    return write


def _claim(app: App, key: str, side: int, *, is_past: bool = False) -> bool:
    """`side`: 1 for a hook, -1 for a transcript. Each adds its own; what the other has added before is settled by it.
    No hook will come for a past session any more, so nothing is left for one."""
    store = app.writer(app.scope)  # the reader does not see what this transaction claimed before
    claims = dict(CLAIMED_PROMPTS.read(store))
    before = claims.pop(key, 0)
    if before + side and not (is_past and before + side < 0):
        claims[key] = before + side
    CLAIMED_PROMPTS.write(store, claims)
    return before * side >= 0


def _key(session: str, text: str) -> str:
    return f"{session} {prompt_mark(text)}"


def _key_in(claims: Mapping[str, int], session: str, text: str) -> str:
    """The claim that a line of a transcript settles: its own session's; else one that a hook made for the same words in
    another session, because a fork begins with a copy of its parent's lines and may be read first."""
    own = _key(session, text)
    if own in claims:
        return own
    mark = prompt_mark(text)
    copied_from = (key for key, held in claims.items() if held > 0 and key.endswith(f" {mark}"))
    return next(copied_from, own)
