"""Sessions: who is talking, which of our sessions this is, what it was shown, and what that counts for; and the
heartbeat, which counts from when anyone last spoke. All of these are counters and marks (store/database.py explains why
they are not plans). The caller decides what to do where a store cannot be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.app.states import HEARTBEAT, SESSIONS, write_project_view
from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.structs import replace
from recollect.lifecycle import strength
from recollect.model.codec import encode
from recollect.model.memory import Kind, Memory, Status
from recollect.model.query import Query
from recollect.model.result import Scope, Summary
from recollect.model.session import (
    BEAT_MINUTES,
    Event,
    Heartbeat,
    LedgerKey,
    Pointer,
    Session,
    ShownMemory,
    Way,
    memory_of,
)

if TYPE_CHECKING:
    from recollect.store import LocalStore

_MAX_TEXTS = 60
_HEADLINES = 5


def load(app: App, event: Event) -> Session | None:
    return find_session(app.reader(app.scope), event.session_id, event.agent_id)


def find_session(store: LocalStore, id: str, agent: str = "") -> Session | None:
    return next(iter(store.records(Session, id=id, agent=agent)), None)


def load_or_new(app: App, event: Event) -> Session:
    """Writes nothing."""
    return load(app, event) or Session(
        id=event.session_id,
        agent=event.agent_id,
        host=event.host,
        started_at=event.at,
        last_at=event.at,
    )


def ledger_key(app: App, event: Event) -> LedgerKey:
    return LedgerKey(event.session_id, event.agent_id, load_or_new(app, event).epoch)


def texts_shown(app: App, session: str) -> list[str]:
    """In this epoch and the one before, and the headlines that sessions begin with, unless they are its own: when the
    session repeats these words, they are not captured again."""
    texts: list[str] = []
    for _, store in app.scopes():
        known = find_session(store, session)
        epochs = range(max(0, known.epoch - 1), known.epoch + 1) if known is not None else ()
        shown = {
            memory_of(mark)
            for epoch in epochs
            for mark in store.marks(LedgerKey(session, "", epoch), Way.TOLD)
        }
        found = [store.get(id, follow=False) for id in sorted(shown, reverse=True)[:_MAX_TEXTS]]
        latest = store.find(
            Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=_HEADLINES)
        )
        found += [memory for memory in latest if memory.group != session and memory.id not in shown]
        texts += [f"{memory.title}\n{memory.body}" for memory in found if memory is not None]
    return texts


def record_message(app: App, session_id: str, host: str, at: Moment) -> None:
    """A session is counted at its first message. The user's store, which every project uses, counts for itself."""
    for scope in dict.fromkeys((app.scope, Scope.USER)):
        if scope is not app.scope and (
            app.store_path(scope) is None or find_session(app.reader(scope), session_id)
        ):
            continue
        store = app.writer(scope)
        with store.transaction():
            session = find_session(store, session_id) or Session(
                id=session_id, host=host, started_at=at, last_at=at
            )
            if not session.number:
                session = replace(session, number=SESSIONS.read(store) + 1)
                SESSIONS.write(store, session.number)
            store.put(replace(session, last_at=at))


def make_pointer(event: Event, size: int = 0, mark: str = "") -> Pointer:
    """`size`: of the transcript before the event. `mark`: of a prompt whose text we do not have."""
    return Pointer(
        name=str(event.name), host=event.host, session=event.session_id, at=event.at, agent=event.agent_id,
        prompt=event.prompt_id, calls=tuple(call.id for call in event.tools), source=event.source,
        transcript=event.transcript, size=max(0, size), cwd=event.cwd, mark=mark or event.prompt_mark,
    )  # fmt: skip


def record_shown(
    app: App, key: LedgerKey, marks: Mapping[str, Scope], *, way: Way = Way.TOLD, call: str = ""
) -> None:
    """The agent printed it. That is counted and strengthens nothing, or noise would keep itself alive. `marks`: each
    with the store that keeps its memory."""
    store, now = app.writer(app.scope), app.clock.now()
    with store.transaction():
        store.put(*(ShownMemory(mark, way, now, call, *key) for mark in marks))
        _count_shown(app, key, marks, app.scope)
    _count_shown(app, key, marks, *(scope for scope in Scope if scope is not app.scope))


def record_asked(app: App, session: str, marks: Mapping[str, Scope]) -> None:
    """An agent asked and was answered: counted, and entered as shown where we know its session."""
    found = find_session(app.reader(app.scope), session) if session else None
    if found is not None:
        record_shown(app, LedgerKey(session, "", found.epoch), marks)
    else:
        _count_shown(app, LedgerKey(session), marks, *Scope)


def record_recalled(app: App, scope: Scope, ids: Sequence[str]) -> None:
    """A person asked for these, and they answered: each is counted and a little stronger, at most once in a beat."""
    if app.store_path(scope) is None:
        return
    store, now = app.writer(scope), app.clock.now()
    session = SESSIONS.read(store)

    def use(memory: Memory) -> Memory:
        seconds_ago = now.days_since(memory.reinforced_at) * DAY_SECONDS
        if seconds_ago < 60 * BEAT_MINUTES:
            return memory
        counted = strength.count_use(memory, session=session)
        return strength.strengthen(counted, now=now, rules=app.age_rules)

    store.use(ids, use)


def _count_shown(app: App, key: LedgerKey, marks: Mapping[str, Scope], *scopes: Scope) -> None:
    for scope in scopes:
        ids = [memory_of(mark) for mark, where in marks.items() if where is scope]
        if not ids or app.store_path(scope) is None:
            continue
        store = app.writer(scope)
        known = find_session(store, key.session)
        session = (known.number if known else 0) if scope is app.scope else SESSIONS.read(store)
        store.use(ids, partial(strength.count_use, session=session))


# The heartbeat: the state is in the project's database, or the user's; `.ai/heartbeat.json` is never read back.


def heartbeat(app: App) -> Summary:
    """What `heartbeat` shows. Writes nothing."""
    now = current_heartbeat(app)
    since = f"{now.since_last} since anyone last spoke: {now.meaning}"
    return Summary(
        f"Beat {now.beat}, {since}.",
        {**encode(now), "since_last": now.since_last, "meaning": now.meaning},
    )


def current_heartbeat(app: App) -> Heartbeat:
    return load_heartbeat(app) or Heartbeat.begin(app.clock.now())


def load_heartbeat(app: App) -> Heartbeat | None:
    """None if nobody ever spoke."""
    found = HEARTBEAT.find(app.reader(app.scope))
    return found.tick(app.clock.now()) if found else None


def tick(app: App, _memo: object = None) -> bool:
    """Job: counts the beats that passed. Where nobody ever spoke, nothing is begun."""
    if app.store_path(app.scope) is not None:
        store = app.writer(app.scope)
        with store.transaction():
            if before := HEARTBEAT.find(store):
                HEARTBEAT.write(store, before.tick(app.clock.now()))
        write_heartbeat_view(app)
    return False


def record_interaction(app: App) -> Heartbeat:
    """Someone spoke. Returns the heartbeat as it was just before, which is what an agent is told."""
    at = app.clock.now()
    store = app.writer(app.scope)
    with store.transaction():
        before = (HEARTBEAT.find(store) or Heartbeat.begin(at)).tick(at)
        HEARTBEAT.write(store, before.speak(at))
    return before


def record_late_interaction(app: App, at: Moment) -> None:
    """Someone spoke a while ago, when no hook could tell us."""
    store = app.writer(app.scope)
    now = (HEARTBEAT.find(store) or Heartbeat.begin(at)).tick(app.clock.now())
    if now.last_interaction_at < at <= now.last_beat_at or not now.beat:
        HEARTBEAT.write(store, now.speak(at))


def write_heartbeat_view(app: App) -> None:
    if (now := load_heartbeat(app)) is not None:
        write_project_view(app, "heartbeat.json", encode(now))
